/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of what operators change by hand, and of what is noted of it; and of lists of leases. */
#include "bed.h"

#include <string.h>

#include "db/store.h"

/* The latest note. */
static void noted(bed *b, const char *action, wp_source source, const char *subject,
                  const char *actor, const char *detail)
{
    wp_audit *page = NULL;
    WPT_OK(wp_audit_read(&page, b->store, 0, 1, WPT_ERR));
    assert_int_equal(wp_audit_count(page), 1);
    assert_string_equal(wp_audit_action(page, 0), action);
    assert_int_equal(wp_audit_source(page, 0), source);
    assert_string_equal(wp_audit_subject(page, 0) ? wp_audit_subject(page, 0) : "-",
                        subject ? subject : "-");
    assert_string_equal(wp_audit_actor(page, 0) ? wp_audit_actor(page, 0) : "-",
                        actor ? actor : "-");
    assert_string_equal(wp_audit_detail(page, 0) ? wp_audit_detail(page, 0) : "-",
                        detail ? detail : "-");
    wp_audit_free(page);
}

static size_t notes(bed *b)
{
    wp_audit *page = NULL;
    size_t count;
    WPT_OK(wp_audit_read(&page, b->store, 0, WP_BATCH_MAX, WPT_ERR));
    count = wp_audit_count(page);
    wp_audit_free(page);
    return count;
}

static wp_id bury(bed *b, const char *topic)
{
    const wp_id id = wpt_enqueue(b->store, topic, "before");
    const wp_id owner = wpt_owner(1);
    wp_claim *claim = wpt_claim(b->store, 1, 10, 30000);
    WPT_OK(wp_outbox_fail(NULL, b->store, NULL, &owner, &id, NULL, 1, "no", WPT_ERR));
    wp_claim_free(claim);
    return id;
}

/* scenario: AUD-001 */
/* proves: DLQ-001 */
static void test_dead__replayed_and_purged__noted_with_who_and_how_many(void **state)
{
    bed *b = *state;
    wp_dead_filter *filter = NULL;
    char text[37];
    size_t changed = 0;
    wp_id ids[3];
    for (int i = 0; i < 3; i++)
        ids[i] = bury(b, "t");
    assert_int_equal(notes(b), 0);
    WPT_OK(wp_dead_filter_new(&filter, WPT_ERR));
    WPT_OK(wp_dead_filter_set_ids(filter, &ids[0], 1, WPT_ERR));
    WPT_OK(wp_dead_replay(&changed, b->store, WP_SOURCE_OUTBOX, filter, 5, 0, "me", WPT_ERR));
    assert_int_equal(changed, 1);
    wp_id_format(text, &ids[0]);
    noted(b, "dead.replay", WP_SOURCE_OUTBOX, text, "me", "{\"count\":1}");
    WPT_OK(wp_dead_replay(&changed, b->store, WP_SOURCE_OUTBOX, filter, 5, 0, "me", WPT_ERR));
    assert_int_equal(notes(b), 1); /* it changed nothing */
    WPT_OK(wp_dead_filter_set_ids(filter, NULL, 0, WPT_ERR));
    WPT_OK(wp_dead_filter_set_topic(filter, "t", WPT_ERR));
    WPT_OK(wp_dead_purge_by(&changed, b->store, WP_SOURCE_ALL, filter, 5, NULL, WPT_ERR));
    assert_int_equal(changed, 2);
    noted(b, "dead.purge", WP_SOURCE_OUTBOX, NULL, NULL, "{\"count\":2,\"topic\":\"t\"}");
    /* several ids, and a range of time, are told */
    for (int i = 0; i < 2; i++)
        ids[i] = bury(b, "t");
    {
        char other[37], detail[200];
        wp_id_format(text, &ids[0]);
        wp_id_format(other, &ids[1]);
        (void)snprintf(detail, sizeof detail,
                       "{\"count\":2,\"idCount\":2,\"ids\":[\"%s\",\"%s\"],\"fromUs\":5}", text,
                       other);
        WPT_OK(wp_dead_filter_set_topic(filter, NULL, WPT_ERR));
        WPT_OK(wp_dead_filter_set_ids(filter, ids, 2, WPT_ERR));
        WPT_OK(wp_dead_filter_set_time_us(filter, 5, WP_TIME_US_MAX, WPT_ERR));
        WPT_OK(wp_dead_purge_by(&changed, b->store, WP_SOURCE_OUTBOX, filter, 5, NULL, WPT_ERR));
        noted(b, "dead.purge", WP_SOURCE_OUTBOX, NULL, NULL, detail);
    }
    wp_dead_filter_free(filter);
}

/* scenario: DED-006 */
/* proves: DLQ-001 */
static void test_dead__edited__is_replayed_with_the_new_payload(void **state)
{
    bed *b = *state;
    const wp_id id = bury(b, "t"), alive = wpt_enqueue(b->store, "u", "stays");
    wp_id unknown;
    wp_outbox_info *info;
    char text[37];
    int edited = 99;
    wp_id_new(&unknown);
    wp_id_format(text, &id);
    WPT_OK(wp_dead_edit(&edited, b->store, WP_SOURCE_OUTBOX, &id, "{\"x\":\"\xe2\x98\x83\"}", 11,
                        "me", WPT_ERR));
    assert_int_equal(edited, 1);
    noted(b, "dead.edit", WP_SOURCE_OUTBOX, text, "me",
          "{\"count\":1,\"oldBytes\":6,\"newBytes\":11}");
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_FAILED);
    WPT_OK(wp_dead_replay(NULL, b->store, WP_SOURCE_OUTBOX, NULL, 5, 0, NULL, WPT_ERR));
    info = wpt_info(b->store, &id);
    assert_string_equal(wp_received_payload(NULL, wp_outbox_info_message(info)),
                        "{\"x\":\"\xe2\x98\x83\"}");
    wp_outbox_info_free(info);
    /* what is alive, or not there, stays as it is */
    WPT_OK(wp_dead_edit(&edited, b->store, WP_SOURCE_OUTBOX, &alive, "", 0, NULL, WPT_ERR));
    assert_int_equal(edited, 0);
    WPT_OK(wp_dead_edit(&edited, b->store, WP_SOURCE_OUTBOX, &unknown, "", 0, NULL, WPT_ERR));
    assert_int_equal(edited, 0);
    info = wpt_info(b->store, &alive);
    assert_string_equal(wp_received_payload(NULL, wp_outbox_info_message(info)), "stays");
    wp_outbox_info_free(info);
    WPT_FAILS(wp_dead_edit(NULL, b->store, WP_SOURCE_OUTBOX, &id, "a\xff", 2, NULL, WPT_ERR),
              WP_E_ARGUMENT, "payload");
    WPT_FAILS(wp_dead_edit(NULL, b->store, WP_SOURCE_OUTBOX, &id, NULL, 0, NULL, WPT_ERR),
              WP_E_ARGUMENT, "payload");
    WPT_FAILS(wp_dead_edit(NULL, b->store, WP_SOURCE_ALL, &id, "", 0, NULL, WPT_ERR), WP_E_ARGUMENT,
              "source");
    WPT_FAILS(wp_dead_edit(NULL, b->store, WP_SOURCE_OUTBOX, NULL, "", 0, NULL, WPT_ERR),
              WP_E_ARGUMENT, "id");
}

/* proves: WRK-008 */
static void test_job__paused_resumed_and_triggered_by_hand__noted(void **state)
{
    bed *b = *state;
    wp_job *job = NULL;
    WPT_OK(wp_job_new(&job, "j", "t", "x", 1, WPT_ERR));
    WPT_OK(wp_job_set_schedule(job, "@hourly", NULL, WPT_ERR));
    WPT_OK(wp_job_put(b->store, job, WPT_ERR));
    wp_job_free(job);
    WPT_OK(wp_job_trigger(NULL, b->store, "j", WPT_ERR)); /* the app's own */
    assert_int_equal(notes(b), 0);
    WPT_OK(wp_job_set_enabled_by(b->store, "j", 0, "me", WPT_ERR));
    noted(b, "job.pause", WP_SOURCE_JOB, "j", "me", NULL);
    WPT_OK(wp_job_set_enabled_by(b->store, "j", 0, "me", WPT_ERR));
    assert_int_equal(notes(b), 1);
    WPT_OK(wp_job_set_enabled(b->store, "j", 1, WPT_ERR));
    noted(b, "job.resume", WP_SOURCE_JOB, "j", NULL, NULL);
    WPT_OK(wp_job_trigger_by(NULL, b->store, "j", NULL, WPT_ERR));
    noted(b, "job.trigger", WP_SOURCE_JOB, "j", NULL, NULL);
    WPT_STATUS(wp_job_trigger_by(NULL, b->store, "none", NULL, WPT_ERR), WP_E_NOT_FOUND);
    assert_int_equal(notes(b), 3);
}

/* proves: WRK-008, BND-002 */
static void test_job__triggered_by_hand_in_the_apps_transaction__noted_with_its_commit(void **state)
{
    bed *b = *state;
    char too_long[257];
    wp_job *job = NULL;
    wp_op *op = NULL;
    WPT_OK(wp_job_new(&job, "j", "t", "x", 1, WPT_ERR));
    WPT_OK(wp_job_set_schedule(job, "@hourly", NULL, WPT_ERR));
    WPT_OK(wp_job_put(b->store, job, WPT_ERR));
    wp_job_free(job);
    for (int i = 0; i < 2; i++) {
        char by[] = "me";
        WPT_OK(wp_job_trigger_by_op(&op, b->store, "j", by, WPT_ERR));
        by[0] = 'w'; /* it was copied */
        bed_exec(b, b->engine->begin);
        WPT_OK(wp__store_run(b->store, b->conn, op, WPT_ERR));
        assert_int_equal(wp_op_result_count(op), 1);
        bed_exec(b, i ? b->engine->commit : b->engine->rollback);
        wp_op_free(op);
        assert_int_equal(notes(b), i);
    }
    noted(b, "job.trigger", WP_SOURCE_JOB, "j", "me", NULL);
    (void)memset(too_long, 'x', 256);
    too_long[256] = '\0';
    WPT_FAILS(wp_job_trigger_by_op(&op, b->store, "j", too_long, WPT_ERR), WP_E_ARGUMENT, "by");
    WPT_FAILS(wp_job_trigger_by_op(NULL, b->store, "j", "me", WPT_ERR), WP_E_ARGUMENT, "out");
}

/* scenario: LEA-010 */
/* proves: CLI-001, LSE-001 */
static void test_leases__of_both_kinds__listed_in_pages(void **state)
{
    bed *b = *state;
    wp_leases *page = NULL;
    wp_lease_info *info = NULL;
    static const char *const names[] = {"a", "b", "c"};
    for (size_t i = 0; i < WPT_COUNT(names); i++) {
        WPT_OK(wp_lease_acquire(&info, b->store, NULL, WP_LEASE_EXCLUSIVE, names[i], "o", 1000,
                                WPT_ERR));
        wp_lease_info_free(info);
    }
    WPT_OK(wp_semaphore_set_limit(b->store, NULL, "s", 2, WPT_ERR));
    WPT_OK(wp_lease_acquire(&info, b->store, NULL, WP_LEASE_SHARED, "s", "o", 1000, WPT_ERR));
    wp_lease_info_free(info);
    WPT_OK(wp_lease_list(&page, b->store, WP_LEASE_EXCLUSIVE, NULL, 2, WPT_ERR));
    assert_int_equal(wp_leases_count(page), 2);
    assert_string_equal(wp_leases_name(page, 0), "a");
    assert_string_equal(wp_leases_owner(page, 0), "o");
    assert_int_equal(wp_leases_until_us(page, 0), WPT_START_US + 1000000);
    assert_int_equal(wp_leases_holders(page, 1), 1);
    assert_null(wp_leases_name(page, 2));
    wp_leases_free(page);
    wpt_advance_ms(b->clock, 1000);
    WPT_OK(wp_lease_list(&page, b->store, WP_LEASE_EXCLUSIVE, "b", 2, WPT_ERR));
    assert_int_equal(wp_leases_count(page), 1);
    assert_string_equal(wp_leases_name(page, 0), "c");
    assert_int_equal(wp_leases_holders(page, 0), 0);
    wp_leases_free(page);
    WPT_OK(wp_lease_list(&page, b->store, WP_LEASE_SHARED, NULL, 10, WPT_ERR));
    assert_int_equal(wp_leases_count(page), 1);
    assert_int_equal(wp_leases_limit(page, 0), 2);
    assert_int_equal(wp_leases_holders(page, 0), 0);
    assert_null(wp_leases_owner(page, 0));
    wp_leases_free(page);
    WPT_STATUS(wp_lease_list(&page, b->store, WP_LEASE_SHARED, NULL, 0, WPT_ERR), WP_E_RANGE);
    WPT_FAILS(wp_lease_list(&page, b->store, (wp_lease_kind)9, NULL, 1, WPT_ERR), WP_E_ARGUMENT,
              "kind");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        BED_TEST(test_dead__replayed_and_purged__noted_with_who_and_how_many),
        BED_TEST(test_dead__edited__is_replayed_with_the_new_payload),
        BED_TEST(test_job__paused_resumed_and_triggered_by_hand__noted),
        BED_TEST(test_job__triggered_by_hand_in_the_apps_transaction__noted_with_its_commit),
        BED_TEST(test_leases__of_both_kinds__listed_in_pages),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
