/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of dead letters and of the cleanup, for every queue alike. */
#include "bed.h"
#include "inbox_bed.h"

static const wp_source sources[] = {WP_SOURCE_OUTBOX, WP_SOURCE_INBOX};

/* Send one to a queue; its id. */
static wp_id send(bed *b, wp_source source, const char *name, const char *topic)
{
    if (source == WP_SOURCE_OUTBOX)
        return wpt_enqueue(b->store, topic, name);
    (void)ib_enqueue(b->store, NULL, "src", name, topic, name);
    return ib_id(b->store, "src", name);
}

static wp_claim *claim_all(bed *b, wp_source source)
{
    return source == WP_SOURCE_OUTBOX ? wpt_claim(b->store, 1, 100, 1000)
                                      : ib_claim(b->store, 1, 100, 1000);
}

/* Claim what there is; the number. */
static size_t claimable(bed *b, wp_source source)
{
    return source == WP_SOURCE_OUTBOX ? wpt_claimable(b->store) : ib_claimable(b->store);
}

static void bury(bed *b, wp_source source, const wp_id *id, const char *reason)
{
    const wp_id owner = wpt_owner(1);
    size_t changed = 0;
    wp_claim_free(claim_all(b, source));
    if (source == WP_SOURCE_OUTBOX)
        WPT_OK(wp_outbox_fail(&changed, b->store, NULL, &owner, id, NULL, 1, reason, WPT_ERR));
    else
        WPT_OK(wp_inbox_fail(&changed, b->store, NULL, &owner, id, NULL, 1, reason, WPT_ERR));
    assert_int_equal(changed, 1);
    wpt_advance_ms(b->clock, 1);
}

static void ack(bed *b, wp_source source, const wp_id *id)
{
    const wp_id owner = wpt_owner(1);
    size_t changed = 0;
    wp_claim_free(claim_all(b, source));
    if (source == WP_SOURCE_OUTBOX)
        WPT_OK(wp_outbox_ack(&changed, b->store, NULL, &owner, id, NULL, 1, NULL, WPT_ERR));
    else
        WPT_OK(wp_inbox_ack(&changed, b->store, NULL, &owner, id, NULL, 1, NULL, WPT_ERR));
    assert_int_equal(changed, 1);
}

static size_t count(bed *b, wp_source source, const wp_dead_filter *filter)
{
    wp_dead_list *list = NULL;
    size_t n;
    WPT_OK(wp_dead_list_read(&list, b->store, source, filter, NULL, WP_DEAD_PAGE_MAX, WPT_ERR));
    n = wp_dead_list_count(list);
    wp_dead_list_free(list);
    return n;
}

/* proves: DLQ-001 */
static void test_dead__listed_by_pages_and_filters__are_those_that_died(void **state)
{
    bed *b = *state;
    for (size_t s = 0; s < WPT_COUNT(sources); s++) {
        const wp_source source = sources[s];
        wp_dead_filter *filter = NULL;
        wp_dead_list *page = NULL, *next = NULL;
        const int64_t from = wp_clock_utc_us(b->clock);
        wp_id ids[5];
        for (size_t i = 0; i < 5; i++) {
            char name[8];
            (void)snprintf(name, sizeof name, "m%zu", i);
            ids[i] = send(b, source, name, i % 2 ? "odd" : "even");
            bury(b, source, &ids[i], i < 2 ? "broken pipe" : "no such order");
        }
        WPT_OK(wp_dead_list_read(&page, b->store, source, NULL, NULL, 3, WPT_ERR));
        assert_int_equal(wp_dead_list_count(page), 3);
        for (size_t i = 0; i < 3; i++) {
            const wp_outbox_info *info = wp_dead_list_at(page, i);
            assert_true(wpt_id_equal(wp_received_id(wp_outbox_info_message(info)), &ids[i]));
            assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_FAILED);
            assert_int_equal(wp_outbox_info_finished_us(info), from + (int64_t)i * 1000);
            assert_string_equal(wp_outbox_info_last_error(info),
                                i < 2 ? "broken pipe" : "no such order");
        }
        assert_null(wp_dead_list_at(page, 3));
        WPT_OK(wp_dead_list_read(&next, b->store, source, NULL, page, 3, WPT_ERR));
        assert_int_equal(wp_dead_list_count(next), 2);
        wp_dead_list_free(page);
        wp_dead_list_free(next);
        WPT_OK(wp_dead_filter_new(&filter, WPT_ERR));
        assert_int_equal(count(b, source, filter), 5);
        WPT_OK(wp_dead_filter_set_topic(filter, "odd", WPT_ERR));
        assert_int_equal(count(b, source, filter), 2);
        WPT_OK(wp_dead_filter_set_reason(filter, "pipe", WPT_ERR));
        assert_int_equal(count(b, source, filter), 1);
        WPT_OK(wp_dead_filter_set_topic(filter, NULL, WPT_ERR));
        assert_int_equal(count(b, source, filter), 2);
        WPT_OK(wp_dead_filter_set_reason(filter, NULL, WPT_ERR));
        WPT_OK(wp_dead_filter_set_time_us(filter, from + 1000, from + 3000, WPT_ERR));
        assert_int_equal(count(b, source, filter), 3);
        WPT_OK(wp_dead_filter_set_ids(filter, ids, 2, WPT_ERR));
        assert_int_equal(count(b, source, filter), 1);
        WPT_OK(wp_dead_filter_set_ids(filter, NULL, 0, WPT_ERR));
        assert_int_equal(count(b, source, filter), 3);
        WPT_STATUS(wp_dead_filter_set_time_us(filter, 2, 1, WPT_ERR), WP_E_RANGE);
        wp_dead_filter_free(filter);
    }
    WPT_STATUS(
        wp_dead_list_read(&(wp_dead_list *){NULL}, b->store, (wp_source)9, NULL, NULL, 1, WPT_ERR),
        WP_E_ARGUMENT);
    WPT_STATUS(wp_dead_list_read(&(wp_dead_list *){NULL}, b->store, WP_SOURCE_INBOX, NULL, NULL, 0,
                                 WPT_ERR),
               WP_E_RANGE);
}

/* proves: DLQ-001 */
static void test_dead__replayed__are_ready_with_no_attempts_and_recorded(void **state)
{
    bed *b = *state;
    wpt_log log;
    wpt_log_init(&log);
    ib_reopen_logged(b, &log, "info");
    for (size_t s = 0; s < WPT_COUNT(sources); s++) {
        const wp_source source = sources[s];
        size_t replayed = 0;
        wp_claim *claim;
        int64_t claim_number = 0;
        const wp_id id = send(b, source, "1", "t");
        const wp_id owner = wpt_owner(1);
        claim = claim_all(b, source);
        if (source == WP_SOURCE_OUTBOX)
            WPT_OK(wp_outbox_abandon(NULL, b->store, NULL, &owner, &id, NULL, 1, 1, "x", WPT_ERR));
        else
            WPT_OK(wp_inbox_abandon(NULL, b->store, NULL, &owner, &id, NULL, 1, 1, "x", WPT_ERR));
        claim_number = wp_received_claim_number(wp_claim_at(claim, 0));
        wp_claim_free(claim);
        wpt_advance_ms(b->clock, 1);
        bury(b, source, &id, "broken");
        assert_int_equal(claimable(b, source), 0);
        WPT_OK(wp_dead_replay(&replayed, b->store, source, NULL, 10, 0, "me", WPT_ERR));
        assert_int_equal(replayed, 1);
        assert_int_equal(count(b, source, NULL), 0);
        claim = claim_all(b, source);
        assert_int_equal(wp_claim_count(claim), 1);
        assert_int_equal(wp_received_attempt(wp_claim_at(claim, 0)), 0);
        assert_true(wp_received_claim_number(wp_claim_at(claim, 0)) > claim_number + 1);
        wp_claim_free(claim);
        ack(b, source, &id);
        WPT_OK(wp_dead_replay(&replayed, b->store, source, NULL, 10, 0, NULL, WPT_ERR));
        assert_int_equal(replayed, 0);
    }
    assert_int_equal(wpt_log_count(&log, "info", "replayed", "\"By\":\"me\""), 2);
    ib_close_logged(b, &log);
}

/* proves: DLQ-001 */
static void test_dead__replayed_at_a_rate__come_due_one_after_the_other(void **state)
{
    bed *b = *state;
    for (size_t s = 0; s < WPT_COUNT(sources); s++) {
        const wp_source source = sources[s];
        size_t replayed = 0;
        for (size_t i = 0; i < 4; i++) {
            char name[8];
            wp_id id;
            (void)snprintf(name, sizeof name, "m%zu", i);
            id = send(b, source, name, "t");
            bury(b, source, &id, "broken");
        }
        WPT_OK(wp_dead_replay(&replayed, b->store, source, NULL, 3, 2, NULL, WPT_ERR));
        assert_int_equal(replayed, 3);
        assert_int_equal(count(b, source, NULL), 1);
        for (size_t due = 1; due <= 3; due++) {
            assert_int_equal(claimable(b, source), due);
            wpt_advance_ms(b->clock, 499);
            assert_int_equal(claimable(b, source), due);
            wpt_advance_ms(b->clock, 1);
        }
        assert_int_equal(claimable(b, source), 3);
    }
    WPT_STATUS(wp_dead_replay(NULL, b->store, WP_SOURCE_OUTBOX, NULL, 0, 0, NULL, WPT_ERR),
               WP_E_RANGE);
    WPT_STATUS(wp_dead_replay(NULL, b->store, WP_SOURCE_OUTBOX, NULL, 1, -1, NULL, WPT_ERR),
               WP_E_RANGE);
}

/* Messages with an ordering key run one at a time, in their order, also when they come back. */
/* proves: DLQ-001, ORD-001 */
static void test_dead__replayed_with_an_ordering_key__run_one_at_a_time(void **state)
{
    bed *b = *state;
    wp_id ids[3];
    for (size_t i = 0; i < 3; i++) {
        wp_message *m = wpt_message("t", "x");
        WPT_OK(wp_message_set_ordering_key(m, "k", WPT_ERR));
        ids[i] = wpt_send(b->store, NULL, m);
    }
    bury(b, WP_SOURCE_OUTBOX, &ids[0], "broken");
    bury(b, WP_SOURCE_OUTBOX, &ids[1], "broken");
    WPT_OK(wp_dead_replay(NULL, b->store, WP_SOURCE_OUTBOX, NULL, 10, 0, NULL, WPT_ERR));
    for (int round = 0; round < 3; round++) {
        wp_claim *claim = claim_all(b, WP_SOURCE_OUTBOX);
        const wp_id owner = wpt_owner(1);
        assert_int_equal(wp_claim_count(claim), 1);
        WPT_OK(wp_outbox_ack(NULL, b->store, NULL, &owner, wp_received_id(wp_claim_at(claim, 0)),
                             NULL, 1, NULL, WPT_ERR));
        wp_claim_free(claim);
    }
    assert_int_equal(claimable(b, WP_SOURCE_OUTBOX), 0);
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_DONE), 3);
}

/* proves: DLQ-001, UNQ-001 */
static void test_dead__replayed_while_its_unique_key_is_taken__stays_dead(void **state)
{
    bed *b = *state;
    wp_message *m = wpt_message("t", "x");
    size_t replayed = 9;
    wp_id id;
    WPT_OK(wp_message_set_unique_key(m, "u", WPT_ERR));
    WPT_OK(wp_outbox_enqueue(&id, NULL, b->store, NULL, m, WPT_ERR));
    bury(b, WP_SOURCE_OUTBOX, &id, "broken");
    (void)wpt_send(b->store, NULL, m);
    WPT_OK(wp_dead_replay(&replayed, b->store, WP_SOURCE_OUTBOX, NULL, 10, 0, NULL, WPT_ERR));
    assert_int_equal(replayed, 0);
    assert_int_equal(count(b, WP_SOURCE_OUTBOX, NULL), 1);
    assert_int_equal(claimable(b, WP_SOURCE_OUTBOX), 1);
}

/* proves: DLQ-001 */
static void test_dead__purged__are_gone_and_nothing_else_is(void **state)
{
    bed *b = *state;
    for (size_t s = 0; s < WPT_COUNT(sources); s++) {
        const wp_source source = sources[s];
        size_t purged = 0;
        wp_dead_filter *filter = NULL;
        const wp_id done = send(b, source, "done", "t");
        wp_id dead[2];
        ack(b, source, &done);
        dead[0] = send(b, source, "a", "t");
        bury(b, source, &dead[0], "broken");
        dead[1] = send(b, source, "b", "t");
        bury(b, source, &dead[1], "broken");
        (void)send(b, source, "ready", "t");
        WPT_OK(wp_dead_filter_new(&filter, WPT_ERR));
        WPT_OK(wp_dead_filter_set_ids(filter, dead, 1, WPT_ERR));
        WPT_OK(wp_dead_purge(&purged, b->store, source, filter, 10, WPT_ERR));
        assert_int_equal(purged, 1);
        assert_int_equal(count(b, source, NULL), 1);
        WPT_OK(wp_dead_purge(&purged, b->store, source, NULL, 10, WPT_ERR));
        assert_int_equal(purged, 1);
        assert_int_equal(count(b, source, NULL), 0);
        assert_int_equal(claimable(b, source), 1);
        if (source == WP_SOURCE_INBOX) {
            assert_int_equal(ib_check(b->store, NULL, "src", "done"), WP_INBOX_DONE);
            assert_int_equal(ib_check(b->store, NULL, "src", "a"), WP_INBOX_NEW);
        } else {
            assert_int_equal(wpt_status_of(b->store, &done), WP_MESSAGE_DONE);
            bed_has_no(b, &dead[0]);
        }
        wp_dead_filter_free(filter);
    }
}

/* ---- cleanup ------------------------------------------------------------------------------ */

/* proves: IBX-098..101 */
static void test_cleanup__of_what_is_done__leaves_all_else(void **state)
{
    bed *b = *state;
    wp_inbox_key *dead = ib_key("src", "dead");
    wp_id id;
    size_t removed = 0;
    assert_int_equal(ib_check(b->store, NULL, "src", "seen"), WP_INBOX_NEW);
    assert_int_equal(ib_check(b->store, NULL, "src", "dead"), WP_INBOX_NEW);
    WPT_OK(wp_inbox_mark_dead(b->store, NULL, dead, NULL, WPT_ERR));
    id = send(b, WP_SOURCE_INBOX, "old", "t");
    ack(b, WP_SOURCE_INBOX, &id);
    id = send(b, WP_SOURCE_INBOX, "repeated", "t");
    ack(b, WP_SOURCE_INBOX, &id);
    wpt_advance_ms(b->clock, 10000);
    assert_int_equal(ib_check(b->store, NULL, "src", "repeated"), WP_INBOX_DONE);
    id = send(b, WP_SOURCE_INBOX, "young", "t");
    ack(b, WP_SOURCE_INBOX, &id);
    (void)send(b, WP_SOURCE_INBOX, "ready", "t");
    WPT_OK(wp_cleanup(&removed, b->store, WP_SOURCE_INBOX, 10001, WPT_ERR));
    assert_int_equal(removed, 0);
    WPT_OK(wp_cleanup(&removed, b->store, WP_SOURCE_INBOX, 10000, WPT_ERR));
    assert_int_equal(removed, 1);
    ib_is_unknown(b->store, "src", "old");
    assert_int_equal(ib_status(b->store, "src", "repeated"), WP_MESSAGE_DONE);
    assert_int_equal(ib_status(b->store, "src", "young"), WP_MESSAGE_DONE);
    WPT_OK(wp_cleanup(&removed, b->store, WP_SOURCE_INBOX, 0, WPT_ERR));
    assert_int_equal(removed, 2);
    assert_int_equal(ib_status(b->store, "src", "seen"), WP_MESSAGE_SEEN);
    assert_int_equal(ib_status(b->store, "src", "dead"), WP_MESSAGE_FAILED);
    assert_int_equal(claimable(b, WP_SOURCE_INBOX), 1);
    assert_int_equal(ib_check(b->store, NULL, "src", "old"), WP_INBOX_NEW);
    WPT_STATUS(wp_cleanup(NULL, b->store, WP_SOURCE_INBOX, -1, WPT_ERR), WP_E_RANGE);
    wp_inbox_key_free(dead);
}

/* More than a batch, behind rows that stay. */
/* proves: IBX-101 */
static void test_cleanup__of_more_than_a_batch__removes_all_of_it(void **state)
{
    enum { COUNT = 2100 };
    bed *b = *state;
    wp_message *m = wpt_message("t", "x");
    const wp_message **messages = calloc(COUNT, sizeof *messages);
    wp_id *ids = calloc(COUNT, sizeof *ids);
    const wp_id owner = wpt_owner(1);
    size_t removed = 0;
    size_t changed = 0;
    wp_id dead;
    assert_non_null(messages);
    assert_non_null(ids);
    dead = send(b, WP_SOURCE_OUTBOX, "dead", "t");
    bury(b, WP_SOURCE_OUTBOX, &dead, "broken");
    for (size_t i = 0; i < COUNT; i++)
        messages[i] = m;
    WPT_OK(wp_outbox_enqueue_many(ids, NULL, b->store, NULL, messages, COUNT, WPT_ERR));
    wp_claim_free(wpt_claim(b->store, 1, COUNT, 1000));
    WPT_OK(wp_outbox_ack(&changed, b->store, NULL, &owner, ids, NULL, COUNT, NULL, WPT_ERR));
    assert_int_equal(changed, COUNT);
    WPT_OK(wp_cleanup(&removed, b->store, WP_SOURCE_OUTBOX, 0, WPT_ERR));
    assert_int_equal(removed, COUNT);
    assert_int_equal(count(b, WP_SOURCE_OUTBOX, NULL), 1);
    wp_message_free(m);
    free(messages);
    free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_dead__listed_by_pages_and_filters__are_those_that_died),
        BED_TEST(test_dead__replayed__are_ready_with_no_attempts_and_recorded),
        BED_TEST(test_dead__replayed_at_a_rate__come_due_one_after_the_other),
        BED_TEST(test_dead__replayed_with_an_ordering_key__run_one_at_a_time),
        BED_TEST(test_dead__replayed_while_its_unique_key_is_taken__stays_dead),
        BED_TEST(test_dead__purged__are_gone_and_nothing_else_is),
        BED_TEST(test_cleanup__of_what_is_done__leaves_all_else),
        BED_TEST(test_cleanup__of_more_than_a_batch__removes_all_of_it),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
