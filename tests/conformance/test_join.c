/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of joins: what counts and what does not, what happens when one is over, messages that wait
 * for one. */
#include <stdatomic.h>

#include "bed.h"

static wp_join *a_join(int64_t expected)
{
    wp_join *join = NULL;
    WPT_OK(wp_join_new(&join, expected, WPT_ERR));
    return join;
}

/* Whether it fails if any fails; "ok" is enqueued on success, "bad" on failure. */
static wp_join *a_join_with_next(int64_t expected, int fail_if_any)
{
    wp_join *join = a_join(expected);
    wp_message *ok = wpt_message("ok", "it went well");
    wp_message *bad = wpt_message("bad", "it did not");
    WPT_OK(wp_join_set_fail_if_any(join, fail_if_any, WPT_ERR));
    WPT_OK(wp_message_set_header(ok, "kind", "news", WPT_ERR));
    WPT_OK(wp_message_set_correlation_id(ok, "order 7", WPT_ERR));
    WPT_OK(wp_join_set_success(join, ok, WPT_ERR));
    WPT_OK(wp_join_set_failure(join, bad, WPT_ERR));
    wp_message_free(ok);
    wp_message_free(bad);
    return join;
}

static wp_id start(bed *b, wp_conn *conn, WP_OWN wp_join *join)
{
    wp_id id;
    WPT_OK(wp_join_start(&id, b->store, conn, join, WPT_ERR));
    wp_join_free(join);
    return id;
}

static size_t attach(bed *b, const wp_id *join, const wp_id *messages, size_t count)
{
    size_t attached = 99;
    WPT_OK(wp_join_attach(&attached, b->store, NULL, join, messages, count, WPT_ERR));
    return attached;
}

static size_t report(bed *b, const wp_id *join, const wp_id *messages, size_t count, int failed)
{
    size_t counted = 99;
    WPT_OK(wp_join_report(&counted, b->store, NULL, join, messages, count, failed, WPT_ERR));
    return counted;
}

/* Enqueue a message that is a member of up to two joins. */
static wp_id send_to(bed *b, wp_conn *conn, const wp_id *join, const wp_id *other)
{
    wp_message *message = wpt_message("step", "x");
    WPT_OK(wp_message_add_join(message, join, WPT_ERR));
    if (other)
        WPT_OK(wp_message_add_join(message, other, WPT_ERR));
    return wpt_send(b->store, conn, message);
}

static void send_many(bed *b, const wp_id *join, wp_id *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ids[i] = send_to(b, NULL, join, NULL);
}

static wp_claim *claim_topic(bed *b, const char *topic)
{
    const wp_id owner = wpt_owner(1);
    wp_claim *claim = NULL;
    WPT_OK(wp_outbox_claim(&claim, b->store, &owner, &topic, 1, 100, 60000, WPT_ERR));
    return claim;
}

static size_t claim_count(bed *b, const char *topic)
{
    wp_claim *claim = claim_topic(b, topic);
    const size_t count = wp_claim_count(claim);
    wp_claim_free(claim);
    return count;
}

static void claim_steps(bed *b, size_t count)
{
    assert_int_equal(claim_count(b, "step"), count);
}

static size_t ack(bed *b, const wp_id *ids, size_t count)
{
    const wp_id owner = wpt_owner(1);
    size_t changed = 0;
    WPT_OK(wp_outbox_ack(&changed, b->store, NULL, &owner, ids, NULL, count, "w", WPT_ERR));
    return changed;
}

static size_t fail_them(bed *b, const wp_id *ids, size_t count)
{
    const wp_id owner = wpt_owner(1);
    size_t changed = 0;
    WPT_OK(wp_outbox_fail(&changed, b->store, NULL, &owner, ids, NULL, count, "no", WPT_ERR));
    return changed;
}

static void join_is(bed *b, const wp_id *id, wp_join_status status, int64_t completed,
                    int64_t failed)
{
    wp_join_info *info = NULL;
    WPT_OK(wp_join_get(&info, b->store, id, WPT_ERR));
    assert_int_equal(wp_join_info_status(info), status);
    assert_int_equal(wp_join_info_completed(info), completed);
    assert_int_equal(wp_join_info_failed(info), failed);
    assert_int_equal(wp_join_info_ended_us(info) != 0, status != WP_JOIN_OPEN);
    wp_join_info_free(info);
}

/* ---- start -------------------------------------------------------------------------------- */

/* scenario: JNN-001 */
/* proves: JOIN-001..006 */
static void test_start__all_that_it_has__is_found_again(void **state)
{
    bed *b = *state;
    wp_join *join = a_join_with_next(3, 1);
    wp_join_info *info = NULL;
    wp_id id;
    WPT_OK(wp_join_set_grouping_key(join, "batch 7", WPT_ERR));
    WPT_OK(wp_join_set_metadata(join, "{\"from\":\"'test'\"}", WPT_ERR));
    WPT_OK(wp_join_set_timeout_ms(join, 5000, WPT_ERR));
    id = start(b, NULL, join);
    WPT_OK(wp_join_get(&info, b->store, &id, WPT_ERR));
    assert_true(wpt_id_equal(wp_join_info_id(info), &id));
    assert_int_equal(wp_join_info_status(info), WP_JOIN_OPEN);
    assert_int_equal(wp_join_info_expected(info), 3);
    assert_int_equal(wp_join_info_completed(info) + wp_join_info_failed(info), 0);
    assert_int_equal(wp_join_info_fail_if_any(info), 1);
    assert_string_equal(wp_join_info_grouping_key(info), "batch 7");
    assert_string_equal(wp_join_info_metadata(info), "{\"from\":\"'test'\"}");
    assert_int_equal(wp_join_info_created_us(info), WPT_START_US);
    assert_int_equal(wp_join_info_deadline_us(info), WPT_START_US + 5 * WPT_SECOND_US);
    assert_int_equal(wp_join_info_ended_us(info), 0);
    assert_null(wp_join_info_reason(info));
    assert_null(wp_join_info_continuation(info));
    wp_join_info_free(info);
    WPT_STATUS(wp_join_get(&info, b->store, &(wp_id){{7}}, WPT_ERR), WP_E_NOT_FOUND);
}

/* scenario: JNN-002 */
/* proves: JOIN-001..006 */
static void test_start__bad_arguments__are_refused(void **state)
{
    char key[300];
    wp_join *join = a_join(1);
    wp_join *none = NULL;
    wp_message *message = wpt_message("t", "x");
    (void)state;
    WPT_FAILS(wp_join_new(&none, 0, WPT_ERR), WP_E_ARGUMENT, "expected");
    WPT_FAILS(wp_join_new(&none, -1, WPT_ERR), WP_E_ARGUMENT, "expected");
    WPT_FAILS(wp_join_new(&none, WP_JOIN_EXPECTED_MAX + 1, WPT_ERR), WP_E_RANGE, "expected");
    memset(key, 'k', sizeof key);
    key[255] = '\0';
    WPT_OK(wp_join_set_grouping_key(join, key, WPT_ERR));
    key[255] = 'k';
    key[256] = '\0';
    WPT_FAILS(wp_join_set_grouping_key(join, key, WPT_ERR), WP_E_ARGUMENT, "grouping_key");
    WPT_FAILS(wp_join_set_metadata(join, "\xff", WPT_ERR), WP_E_ARGUMENT, "metadata");
    WPT_FAILS(wp_join_set_timeout_ms(join, 0, WPT_ERR), WP_E_RANGE, "timeout_ms");
    WPT_FAILS(wp_join_set_deadline_us(join, -1, WPT_ERR), WP_E_RANGE, "deadline_us");
    WPT_FAILS(wp_join_set_deadline_us(join, 0, WPT_ERR), WP_E_RANGE, "deadline_us");
    WPT_OK(wp_message_set_unique_key(message, "k", WPT_ERR));
    WPT_FAILS(wp_join_set_success(join, message, WPT_ERR), WP_E_ARGUMENT, "unique key");
    WPT_OK(wp_message_set_unique_key(message, NULL, WPT_ERR));
    WPT_OK(wp_message_set_delay_ms(message, 1, WPT_ERR));
    WPT_FAILS(wp_join_set_failure(join, message, WPT_ERR), WP_E_ARGUMENT, "due time");
    wp_message_free(message);
    wp_join_free(join);
}

/* scenario: JNN-003 */
/* proves: JOIN-001..006, JOIN-060..092 */
static void test_start__in_the_apps_transaction__goes_with_its_rollback(void **state)
{
    bed *b = *state;
    wp_join_info *info = NULL;
    wp_id join, message;
    bed_exec(b, b->engine->begin);
    join = start(b, b->conn, a_join(2));
    message = send_to(b, b->conn, &join, NULL);
    bed_exec(b, b->engine->rollback);
    WPT_STATUS(wp_join_get(&info, b->store, &join, WPT_ERR), WP_E_NOT_FOUND);
    bed_has_no(b, &message);
    bed_exec(b, b->engine->begin);
    join = start(b, b->conn, a_join(1));
    message = send_to(b, b->conn, &join, NULL);
    bed_exec(b, b->engine->commit);
    claim_steps(b, 1);
    ack(b, &message, 1);
    join_is(b, &join, WP_JOIN_COMPLETED, 1, 0);
}

/* ---- members ------------------------------------------------------------------------------ */

/* scenario: JNN-004 */
/* proves: JOIN-010..014 */
static void test_attach__again_unknown_or_over__changes_nothing(void **state)
{
    bed *b = *state;
    const wp_id join = start(b, NULL, a_join(2));
    wp_id ids[3] = {wpt_enqueue(b->store, "step", "1"), wpt_enqueue(b->store, "step", "2"), {{9}}};
    const wp_id twice[] = {ids[0], ids[1], ids[0]};
    wp_message *message = wpt_message("step", "x");
    wp_id id;
    size_t attached = 99;
    assert_int_equal(attach(b, &join, ids, 0), 0);
    assert_int_equal(attach(b, &join, ids, 1), 1);
    assert_int_equal(attach(b, &join, twice, 3), 1);
    assert_int_equal(attach(b, &join, ids, 2), 0);
    WPT_FAILS(wp_join_attach(&attached, b->store, NULL, &join, ids, 3, WPT_ERR), WP_E_NOT_FOUND,
              "message");
    WPT_FAILS(wp_join_attach(&attached, b->store, NULL, &ids[2], ids, 2, WPT_ERR), WP_E_NOT_FOUND,
              "join");
    WPT_OK(wp_message_add_join(message, &ids[2], WPT_ERR));
    WPT_FAILS(wp_outbox_enqueue(&id, NULL, b->store, NULL, message, WPT_ERR), WP_E_NOT_FOUND,
              "join");
    WPT_FAILS(wp_timer_schedule(&id, NULL, b->store, NULL, message, WPT_ERR), WP_E_ARGUMENT,
              "join");
    wp_message_free(message);
    join_is(b, &join, WP_JOIN_OPEN, 0, 0);
    claim_steps(b, 2); /* and nothing else was enqueued */
    ack(b, ids, 2);
    join_is(b, &join, WP_JOIN_COMPLETED, 2, 0);
    assert_int_equal(attach(b, &join, ids, 2), 0);
    ids[2] = wpt_enqueue(b->store, "step", "3");
    WPT_FAILS(wp_join_attach(&attached, b->store, NULL, &join, ids, 3, WPT_ERR), WP_E_STATE,
              "over");
    message = wpt_message("step", "x");
    WPT_OK(wp_message_add_join(message, &join, WPT_ERR));
    WPT_FAILS(wp_outbox_enqueue(&id, NULL, b->store, NULL, message, WPT_ERR), WP_E_STATE, "over");
    wp_message_free(message);
    claim_steps(b, 1);
}

/* scenario: JNN-005 */
/* proves: JOIN-010..014, JOIN-020..034 */
static void test_attach__finished_before__counts_at_once(void **state)
{
    bed *b = *state;
    const wp_id join = start(b, NULL, a_join_with_next(2, 1));
    wp_id ids[4];
    for (size_t i = 0; i < 4; i++)
        ids[i] = wpt_enqueue(b->store, "step", "x");
    claim_steps(b, 4);
    ack(b, ids, 2);
    fail_them(b, &ids[2], 1);
    assert_int_equal(attach(b, &join, ids, 1), 1);
    join_is(b, &join, WP_JOIN_OPEN, 1, 0);
    assert_int_equal(attach(b, &join, ids, 1), 0);
    join_is(b, &join, WP_JOIN_OPEN, 1, 0);
    assert_int_equal(attach(b, &join, &ids[2], 2), 2);
    join_is(b, &join, WP_JOIN_FAILED, 1, 1);
    assert_int_equal(claim_count(b, "bad"), 1);
    ack(b, &ids[3], 1);
    join_is(b, &join, WP_JOIN_FAILED, 1, 1);
}

/* scenario: JNN-006 */
/* proves: JOIN-020..034, JOIN-040..043 */
static void test_count__ack_and_fail_once__abandon_and_lost_leases_never(void **state)
{
    bed *b = *state;
    const wp_id join = start(b, NULL, a_join(3));
    const wp_id owner = wpt_owner(1);
    const wp_id other = wpt_owner(2);
    const int64_t stale[] = {1, 1, 9};
    size_t changed = 0;
    wp_id ids[3];
    send_many(b, &join, ids, 3);
    claim_steps(b, 3);
    WPT_OK(wp_outbox_ack(&changed, b->store, NULL, &other, ids, NULL, 3, "w", WPT_ERR));
    assert_int_equal(changed, 0);
    WPT_OK(wp_outbox_abandon(NULL, b->store, NULL, &owner, &ids[1], NULL, 1, 1, "later", WPT_ERR));
    join_is(b, &join, WP_JOIN_OPEN, 0, 0);
    WPT_OK(wp_outbox_ack(&changed, b->store, NULL, &owner, ids, stale, 3, "w", WPT_ERR));
    assert_int_equal(changed, 1); /* one was given back, one has another claim number */
    join_is(b, &join, WP_JOIN_OPEN, 1, 0);
    ack(b, ids, 1);
    join_is(b, &join, WP_JOIN_OPEN, 1, 0);
    wpt_advance_ms(b->clock, 61000); /* the lease of the third is lost */
    WPT_OK(wp_outbox_reap(NULL, b->store, WPT_ERR));
    assert_int_equal(ack(b, &ids[2], 1), 0);
    join_is(b, &join, WP_JOIN_OPEN, 1, 0);
    wpt_advance_ms(b->clock, 600000);
    claim_steps(b, 2);
    fail_them(b, &ids[1], 1);
    join_is(b, &join, WP_JOIN_OPEN, 1, 1);
    ack(b, &ids[2], 1);
    join_is(b, &join, WP_JOIN_COMPLETED, 2, 1); /* it does not fail if any fails */
}

/* scenario: JNN-007 */
/* proves: JOIN-020..034, JOIN-060..092 */
static void test_count__one_batch_of_many_members_of_many_joins__each_by_set(void **state)
{
    bed *b = *state;
    wp_id joins[3];
    wp_id ids[9];
    for (size_t i = 0; i < 3; i++)
        joins[i] = start(b, NULL, a_join_with_next(6, 1));
    for (size_t i = 0; i < 9; i++)
        ids[i] = send_to(b, NULL, &joins[i % 3], &joins[(i + 1) % 3]);
    claim_steps(b, 9);
    assert_int_equal(ack(b, ids, 7), 7);
    /* messages 0..6: each join has its own i % 3 and those of the one before */
    join_is(b, &joins[0], WP_JOIN_OPEN, 5, 0);
    join_is(b, &joins[1], WP_JOIN_OPEN, 5, 0);
    join_is(b, &joins[2], WP_JOIN_OPEN, 4, 0);
    assert_int_equal(fail_them(b, &ids[7], 2), 2);
    for (size_t i = 0; i < 3; i++)
        join_is(b, &joins[i], WP_JOIN_FAILED, i == 2 ? 4 : 5, i == 2 ? 2 : 1);
    assert_int_equal(claim_count(b, "bad"), 3);
    assert_int_equal(claim_count(b, "ok"), 0);
}

/* scenario: JNN-008 */
/* proves: JOIN-020..034 */
static void test_report__by_hand__as_if_it_were_finished(void **state)
{
    bed *b = *state;
    const wp_id join = start(b, NULL, a_join_with_next(3, 0));
    size_t counted = 99;
    wp_id ids[4];
    send_many(b, &join, ids, 3);
    ids[3] = wpt_enqueue(b->store, "step", "x"); /* no member */
    assert_int_equal(report(b, &join, &ids[2], 2, 0), 1);
    assert_int_equal(report(b, &join, &ids[2], 1, 1), 0);
    join_is(b, &join, WP_JOIN_OPEN, 1, 0);
    claim_steps(b, 4);
    ack(b, &ids[2], 1); /* counted before */
    join_is(b, &join, WP_JOIN_OPEN, 1, 0);
    assert_int_equal(report(b, &join, &ids[0], 1, 1), 1);
    ack(b, &ids[1], 1);
    join_is(b, &join, WP_JOIN_COMPLETED, 2, 1);
    assert_int_equal(claim_count(b, "ok"), 1);
    assert_int_equal(report(b, &join, ids, 4, 0), 0);
    WPT_STATUS(wp_join_report(&counted, b->store, NULL, &ids[3], ids, 1, 0, WPT_ERR),
               WP_E_NOT_FOUND);
}

/* scenario: JNN-009 */
/* proves: JOIN-020..034 */
static void test_count__expired_reaped_and_replayed__once_as_failed(void **state)
{
    bed *b = *state;
    const wp_id join = start(b, NULL, a_join_with_next(3, 1));
    wp_message *brief = wpt_message("step", "x");
    wp_id ids[3];
    size_t replayed = 0;
    WPT_OK(wp_message_add_join(brief, &join, WPT_ERR));
    WPT_OK(wp_message_set_expires_us(brief, WPT_START_US + WPT_SECOND_US, WPT_ERR));
    ids[0] = wpt_send(b->store, NULL, brief);
    send_many(b, &join, ids + 1, 2);
    wpt_advance_ms(b->clock, 2000);
    WPT_OK(wp_outbox_reap(NULL, b->store, WPT_ERR));
    join_is(b, &join, WP_JOIN_OPEN, 0, 1);
    for (int i = 0; wpt_status_of(b->store, &ids[1]) != WP_MESSAGE_FAILED; i++) {
        assert_true(i < 20); /* attempts are spent by leases that run out */
        wp_claim_free(wpt_claim(b->store, 1, 100, 1000));
        wpt_advance_ms(b->clock, 600000);
        WPT_OK(wp_outbox_reap(NULL, b->store, WPT_ERR));
    }
    join_is(b, &join, WP_JOIN_FAILED, 0, 3);
    WPT_OK(wp_dead_replay(&replayed, b->store, WP_SOURCE_OUTBOX, NULL, 10, 0, "test", WPT_ERR));
    assert_int_equal(replayed, 3);
    claim_steps(b, 3);
    ack(b, ids, 3);
    join_is(b, &join, WP_JOIN_FAILED, 0, 3);
    assert_int_equal(claim_count(b, "bad"), 1);
}

/* proves: JOIN-020..034 */
static void test_count__replayed_while_the_join_is_open__not_again(void **state)
{
    bed *b = *state;
    const wp_id join = start(b, NULL, a_join(2));
    const wp_id other = start(b, NULL, a_join(1));
    wp_id ids[2];
    send_many(b, &join, ids, 2);
    claim_steps(b, 2);
    fail_them(b, ids, 1);
    WPT_OK(wp_dead_replay(NULL, b->store, WP_SOURCE_OUTBOX, NULL, 10, 0, NULL, WPT_ERR));
    assert_int_equal(attach(b, &other, ids, 1),
                     1); /* ready again: it counts here when it is done */
    join_is(b, &other, WP_JOIN_OPEN, 0, 0);
    claim_steps(b, 1);
    ack(b, ids, 1);
    join_is(b, &join, WP_JOIN_OPEN, 0, 1);
    join_is(b, &other, WP_JOIN_COMPLETED, 1, 0);
    ack(b, &ids[1], 1);
    join_is(b, &join, WP_JOIN_COMPLETED, 1, 1);
}

/* proves: JOIN-020..034, JOIN-040..043 */
static void test_count__more_members_than_expected__never_more_counted(void **state)
{
    bed *b = *state;
    const wp_id join = start(b, NULL, a_join_with_next(3, 1));
    wp_id ids[6];
    send_many(b, &join, ids, 6);
    claim_steps(b, 6);
    ack(b, ids, 2);
    ack(b, ids + 2, 4);
    join_is(b, &join, WP_JOIN_COMPLETED, 3, 0);
    assert_int_equal(claim_count(b, "ok"), 1);
}

/* ---- the end ------------------------------------------------------------------------------ */

/* scenario: JNN-010 */
/* proves: JOIN-040..043, JOIN-050..057 */
static void test_over__success__its_message_comes_whole_and_once(void **state)
{
    bed *b = *state;
    const wp_received *m;
    wp_join_info *info = NULL;
    wp_claim *claim;
    wp_id join, id;
    if (b->engine->reads_json && !b->engine->reads_json()) {
        print_message("skipped: this server's OPENJSON leaves escapes in texts\n");
        skip();
    }
    join = start(b, NULL, a_join_with_next(1, 1));
    id = send_to(b, NULL, &join, NULL);
    claim_steps(b, 1);
    assert_int_equal(claim_count(b, "ok"), 0);
    wpt_advance_ms(b->clock, 1000);
    ack(b, &id, 1);
    claim = claim_topic(b, "ok");
    assert_int_equal(wp_claim_count(claim), 1);
    m = wp_claim_at(claim, 0);
    assert_string_equal(wp_received_payload(NULL, m), "it went well");
    assert_string_equal(wp_received_headers(m), "{\"kind\":\"news\"}");
    assert_string_equal(wp_received_correlation_id(m), "order 7");
    assert_int_equal(wp_received_due_us(m), WPT_START_US + WPT_SECOND_US);
    WPT_OK(wp_join_get(&info, b->store, &join, WPT_ERR));
    assert_true(wpt_id_equal(wp_join_info_continuation(info), wp_received_id(m)));
    assert_int_equal(wp_join_info_ended_us(info), WPT_START_US + WPT_SECOND_US);
    wp_join_info_free(info);
    wp_claim_free(claim);
    assert_int_equal(claim_count(b, "ok") + claim_count(b, "bad"), 0);
}

/* scenario: JNN-011 */
/* proves: JOIN-040..043, JOIN-100 */
static void test_deadline__passed__fails_with_timeout_and_is_frozen(void **state)
{
    bed *b = *state;
    wp_join *join = a_join_with_next(2, 0);
    wp_join_info *info = NULL;
    size_t failed = 99;
    wp_id id, ids[2];
    WPT_OK(wp_join_set_deadline_us(join, WPT_START_US + WPT_SECOND_US, WPT_ERR));
    id = start(b, NULL, join);
    send_many(b, &id, ids, 2);
    claim_steps(b, 2);
    ack(b, ids, 1);
    WPT_OK(wp_join_reap(&failed, b->store, WPT_ERR));
    assert_int_equal(failed, 0);
    wpt_advance_ms(b->clock, 1000);
    WPT_OK(wp_join_reap(&failed, b->store, WPT_ERR));
    assert_int_equal(failed, 1);
    WPT_OK(wp_join_get(&info, b->store, &id, WPT_ERR));
    assert_int_equal(wp_join_info_status(info), WP_JOIN_FAILED);
    assert_string_equal(wp_join_info_reason(info), "timeout");
    wp_join_info_free(info);
    assert_int_equal(claim_count(b, "bad"), 1);
    ack(b, ids + 1, 1);
    join_is(b, &id, WP_JOIN_FAILED, 1, 0);
    WPT_OK(wp_join_reap(&failed, b->store, WPT_ERR));
    assert_int_equal(failed, 0);
    assert_int_equal(claim_count(b, "ok") + claim_count(b, "bad"), 0);
}

/* scenario: JNN-012 */
/* proves: JOIN-100 */
static void test_cancel__open__once_and_nothing_is_enqueued(void **state)
{
    bed *b = *state;
    const wp_id join = start(b, NULL, a_join_with_next(1, 1));
    int cancelled = 99;
    wp_id id = send_to(b, NULL, &join, NULL);
    WPT_OK(wp_join_cancel(&cancelled, b->store, NULL, &id, WPT_ERR));
    assert_int_equal(cancelled, 0);
    bed_exec(b, b->engine->begin);
    WPT_OK(wp_join_cancel(&cancelled, b->store, b->conn, &join, WPT_ERR));
    assert_int_equal(cancelled, 1);
    bed_exec(b, b->engine->rollback);
    join_is(b, &join, WP_JOIN_OPEN, 0, 0);
    WPT_OK(wp_join_cancel(&cancelled, b->store, NULL, &join, WPT_ERR));
    assert_int_equal(cancelled, 1);
    WPT_OK(wp_join_cancel(&cancelled, b->store, NULL, &join, WPT_ERR));
    assert_int_equal(cancelled, 0);
    claim_steps(b, 1);
    ack(b, &id, 1);
    join_is(b, &join, WP_JOIN_CANCELLED, 0, 0);
    assert_int_equal(claim_count(b, "ok") + claim_count(b, "bad"), 0);
}

/* scenario: JNN-013 */
/* proves: JOIN-001..006, JOIN-100 */
static void test_list_and_cleanup__by_grouping_key__and_what_was_over_long_ago_goes(void **state)
{
    bed *b = *state;
    wp_id joins[5];
    wp_id ids[3];
    wp_joins *page = NULL;
    wp_join_members *members = NULL;
    wp_join_members *rest = NULL;
    size_t removed = 99;
    for (size_t i = 0; i < 5; i++) {
        wp_join *join = a_join(i < 2 ? 1 : 3);
        WPT_OK(wp_join_set_grouping_key(join, i % 2 ? "odd" : "even", WPT_ERR));
        joins[i] = start(b, NULL, join);
    }
    WPT_OK(wp_join_list(&page, b->store, "even", NULL, 2, WPT_ERR));
    assert_int_equal(wp_joins_count(page), 2);
    assert_true(wpt_id_equal(wp_join_info_id(wp_joins_at(page, 1)), &joins[2]));
    {
        wp_joins *next = NULL;
        WPT_OK(wp_join_list(&next, b->store, "even", wp_joins_at(page, 1), 2, WPT_ERR));
        assert_int_equal(wp_joins_count(next), 1);
        assert_true(wpt_id_equal(wp_join_info_id(wp_joins_at(next, 0)), &joins[4]));
        wp_joins_free(next);
    }
    wp_joins_free(page);
    send_many(b, &joins[4], ids, 3);
    assert_int_equal(report(b, &joins[4], &ids[1], 1, 1), 1);
    WPT_OK(wp_join_members_list(&members, b->store, &joins[4], NULL, 2, WPT_ERR));
    WPT_OK(wp_join_members_list(&rest, b->store, &joins[4], members, 2, WPT_ERR));
    assert_int_equal(wp_join_members_count(members), 2);
    assert_int_equal(wp_join_members_count(rest), 1);
    assert_true(wpt_id_equal(wp_join_members_id(members, 1), &ids[1]));
    assert_true(wpt_id_equal(wp_join_members_id(rest, 0), &ids[2]));
    assert_int_equal(wp_join_members_status(members, 0), WP_JOIN_MEMBER_WAITING);
    assert_int_equal(wp_join_members_status(members, 1), WP_JOIN_MEMBER_FAILED);
    wp_join_members_free(members);
    wp_join_members_free(rest);
    ids[0] = send_to(b, NULL, &joins[0], NULL);
    assert_int_equal(report(b, &joins[0], ids, 1, 0), 1);
    wpt_advance_ms(b->clock, 1000);
    WPT_OK(wp_join_cancel(NULL, b->store, NULL, &joins[1], WPT_ERR));
    WPT_OK(wp_join_cleanup(&removed, b->store, 1000, WPT_ERR));
    assert_int_equal(removed, 1);
    WPT_OK(wp_join_cleanup(&removed, b->store, 0, WPT_ERR));
    assert_int_equal(removed, 1);
    WPT_OK(wp_join_list(&page, b->store, NULL, NULL, 10, WPT_ERR));
    assert_int_equal(wp_joins_count(page), 3);
    wp_joins_free(page);
    WPT_OK(wp_join_members_list(&members, b->store, &joins[0], NULL, 2, WPT_ERR));
    assert_int_equal(wp_join_members_count(members), 0);
    wp_join_members_free(members);
}

/* ---- messages that wait ------------------------------------------------------------------- */

static wp_id send_waiting(bed *b, const wp_id *join)
{
    char id[37];
    char payload[100];
    wp_id_format(id, join);
    (void)snprintf(payload, sizeof payload, "{\"mine\":[1,2],\"join\":\"%s\"}", id);
    return wpt_enqueue(b->store, WP_JOIN_WAIT_TOPIC, payload);
}

/* scenario: JNN-014 */
/* proves: JOIN-050..057 */
static void test_wait__until_the_join_is_over__then_it_is_given_out(void **state)
{
    bed *b = *state;
    const wp_id join = start(b, NULL, a_join(2));
    const wp_id cancelled = start(b, NULL, a_join(2));
    const wp_id waits[] = {send_waiting(b, &join), send_waiting(b, &join),
                           send_waiting(b, &cancelled)};
    wp_id ids[2];
    wp_id late;
    send_many(b, &join, ids, 2);
    assert_int_equal(claim_count(b, WP_JOIN_WAIT_TOPIC), 0);
    assert_int_equal(claim_count(b, "step"), 2);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(wpt_status_of(b->store, &waits[i]), WP_MESSAGE_READY);
        assert_int_equal(wpt_attempt_of(b->store, &waits[i]), 0);
    }
    ack(b, ids, 1);
    wpt_advance_ms(b->clock, 40000); /* looked at again, and not ready */
    assert_int_equal(wpt_claimable(b->store), 0);
    ack(b, ids + 1, 1);
    wpt_advance_ms(b->clock, 1);
    assert_int_equal(claim_count(b, WP_JOIN_WAIT_TOPIC), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(wpt_status_of(b->store, &waits[i]), WP_MESSAGE_IN_PROGRESS);
        assert_int_equal(wpt_attempt_of(b->store, &waits[i]), 0);
    }
    assert_int_equal(ack(b, waits, 2), 2);
    WPT_OK(wp_join_cancel(NULL, b->store, NULL, &cancelled, WPT_ERR));
    assert_int_equal(claim_count(b, WP_JOIN_WAIT_TOPIC), 1);
    late = send_waiting(b, &join);
    assert_int_equal(claim_count(b, WP_JOIN_WAIT_TOPIC), 1);
    assert_int_equal(ack(b, &late, 1), 1);
}

/* scenario: JNN-015 */
/* proves: JOIN-050..057 */
static void test_wait__for_no_join__is_a_dead_letter(void **state)
{
    static const char *const payloads[] = {"",   "no JSON",      "[]",
                                           "{}", "{\"join\":7}", "{\"join\":\"x\"}"};
    bed *b = *state;
    wp_id ids[WPT_COUNT(payloads) + 1];
    for (size_t i = 0; i < WPT_COUNT(payloads); i++)
        ids[i] = wpt_enqueue(b->store, WP_JOIN_WAIT_TOPIC, payloads[i]);
    ids[WPT_COUNT(payloads)] = send_waiting(b, &ids[0]);
    assert_int_equal(claim_count(b, WP_JOIN_WAIT_TOPIC), 0);
    for (size_t i = 0; i < WPT_COUNT(ids); i++) {
        assert_int_equal(wpt_status_of(b->store, &ids[i]), WP_MESSAGE_FAILED);
        wpt_last_error_is(
            b->store, &ids[i],
            "join.wait: the payload's \"join\" is not the id of a join, or that was deleted");
    }
}

/* ---- workers ------------------------------------------------------------------------------ */

typedef struct handled {
    atomic_size_t steps;
    atomic_size_t ok;
    atomic_size_t bad;
    atomic_size_t waited;
} handled;

static wp_outcome do_step(wp_delivery *delivery, void *user)
{
    handled *h = user;
    const bool odd = atomic_fetch_add(&h->steps, 1) % 2;
    (void)delivery;
    return odd ? WP_OUTCOME_REJECT : WP_OUTCOME_DONE;
}

static wp_outcome do_count(wp_delivery *delivery, void *user)
{
    (void)delivery;
    atomic_fetch_add((atomic_size_t *)user, 1);
    return WP_OUTCOME_DONE;
}

static wp_worker *a_worker(bed *b, handled *h)
{
    wp_worker *w = NULL;
    WPT_OK(wp_worker_new(&w, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(w, WP_SOURCE_OUTBOX, "step", do_step, h, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(w, WP_SOURCE_OUTBOX, "ok", do_count, &h->ok, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(w, WP_SOURCE_OUTBOX, "bad", do_count, &h->bad, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(w, WP_SOURCE_OUTBOX, WP_JOIN_WAIT_TOPIC, do_count, &h->waited, NULL,
                            WPT_ERR));
    return w;
}

/* scenario: JNN-016 */
/* proves: JOIN-020..034, JOIN-040..043, JOIN-050..057 */
static void test_worker__handles_all_members__and_what_comes_after_them(void **state)
{
    bed *b = *state;
    handled h = {0};
    wp_worker *worker = a_worker(b, &h);
    const wp_id lenient = start(b, NULL, a_join_with_next(6, 0));
    const wp_id strict = start(b, NULL, a_join_with_next(6, 1));
    size_t count = 0;
    (void)send_waiting(b, &strict);
    for (int i = 0; i < 6; i++)
        (void)send_to(b, NULL, &lenient, &strict);
    WPT_OK(wp_worker_drain(&count, worker, 60000, WPT_ERR));
    assert_int_equal(count, 9);
    join_is(b, &lenient, WP_JOIN_COMPLETED, 3, 3);
    join_is(b, &strict, WP_JOIN_FAILED, 3, 3);
    assert_int_equal(h.ok, 1);
    assert_int_equal(h.bad, 1);
    assert_int_equal(h.waited, 1);
    wp_worker_free(worker);
}

static bool is_gone(bed *b, const wp_id *join)
{
    wp_join_info *info = NULL;
    const wp_status st = wp_join_get(&info, b->store, join, NULL);
    assert_true(st == WP_OK || st == WP_E_NOT_FOUND);
    wp_join_info_free(info);
    return st == WP_E_NOT_FOUND;
}

/* Once it was handled; for a minute of real time. */
static void await_as_time_goes(bed *b, const atomic_size_t *count)
{
    const int64_t give_up = wp__real_mono_us() + 60000000;
    while (*count == 0 && wp__real_mono_us() < give_up) {
        wpt_advance_ms(b->clock, 500);
        wp__sleep_us(5000);
    }
    assert_int_equal(*count, 1);
}

/* Nothing but the worker itself tells it that there is more to do. */
/* proves: JOIN-050..057, JOIN-100 */
static void test_worker__running__sees_to_continuations_deadlines_and_cleaning(void **state)
{
    bed *b = *state;
    handled h = {0};
    wp_worker *worker;
    wp_join *join = a_join_with_next(1, 0);
    wp_id ended, open, late;
    bed_reopen(b, WPT_OPTIONS("worker.poll_max_ms", "60000", "join.keep_ms", "86400000"));
    worker = a_worker(b, &h);
    open = start(b, NULL, a_join(1));
    ended = start(b, NULL, join);
    (void)send_to(b, NULL, &ended, NULL);
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    if (b->engine->one_writer) /* whoever wrote it knows, though the clock stands still */
        WPT_AWAIT(h.ok == 1);
    await_as_time_goes(b, &h.ok); /* elsewhere it hears, or polls */
    join = a_join_with_next(1, 0);
    WPT_OK(wp_join_set_timeout_ms(join, 60000, WPT_ERR));
    late = start(b, NULL, join);
    await_as_time_goes(b, &h.bad);
    join_is(b, &late, WP_JOIN_FAILED, 0, 0);
    for (int i = 0; i < 10000 && !is_gone(b, &ended); i++) {
        wpt_advance_ms(b->clock, 3600000);
        wp__sleep_us(5000);
    }
    assert_true(is_gone(b, &ended));
    join_is(b, &open, WP_JOIN_OPEN, 0, 0);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_ERRORS), 0);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_start__all_that_it_has__is_found_again),
        BED_TEST(test_start__bad_arguments__are_refused),
        BED_TEST(test_start__in_the_apps_transaction__goes_with_its_rollback),
        BED_TEST(test_attach__again_unknown_or_over__changes_nothing),
        BED_TEST(test_attach__finished_before__counts_at_once),
        BED_TEST(test_count__ack_and_fail_once__abandon_and_lost_leases_never),
        BED_TEST(test_count__one_batch_of_many_members_of_many_joins__each_by_set),
        BED_TEST(test_report__by_hand__as_if_it_were_finished),
        BED_TEST(test_count__expired_reaped_and_replayed__once_as_failed),
        BED_TEST(test_count__replayed_while_the_join_is_open__not_again),
        BED_TEST(test_count__more_members_than_expected__never_more_counted),
        BED_TEST(test_over__success__its_message_comes_whole_and_once),
        BED_TEST(test_deadline__passed__fails_with_timeout_and_is_frozen),
        BED_TEST(test_cancel__open__once_and_nothing_is_enqueued),
        BED_TEST(test_list_and_cleanup__by_grouping_key__and_what_was_over_long_ago_goes),
        BED_TEST(test_wait__until_the_join_is_over__then_it_is_given_out),
        BED_TEST(test_wait__for_no_join__is_a_dead_letter),
        BED_TEST(test_worker__handles_all_members__and_what_comes_after_them),
        BED_TEST(test_worker__running__sees_to_continuations_deadlines_and_cleaning),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
