/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of the inbox as a queue: claimed, finished, given back, recovered. */
#include <stdatomic.h>

#include <waypost/dead.h>

#include "bed.h"
#include "inbox_bed.h"

static void send(bed *b, const char *name)
{
    assert_int_equal(ib_enqueue(b->store, NULL, "src", name, "t", name), WP_INBOX_NEW);
}

static size_t fail_one(bed *b, int owner, const wp_id *id, const char *reason)
{
    const wp_id token = wpt_owner(owner);
    size_t changed = 99;
    WPT_OK(wp_inbox_fail(&changed, b->store, NULL, &token, id, NULL, 1, reason, WPT_ERR));
    return changed;
}

/* ---- claim -------------------------------------------------------------------------------- */

/* scenario: INB-010 */
/* proves: IBX-030, IBX-031, IBX-033..037, IBX-039, IBX-106 */
static void test_claim__of_ready_messages__takes_each_once_up_to_the_batch(void **state)
{
    bed *b = *state;
    wp_claim *first, *second, *third;
    wp_inbox_key *k = ib_key("src", "2");
    wp_outbox_info *info = NULL;
    send(b, "1");
    send(b, "2");
    send(b, "3");
    assert_int_equal(ib_check(b->store, NULL, "src", "seen"), WP_INBOX_NEW);
    first = ib_claim(b->store, 1, 2, 1000);
    second = ib_claim(b->store, 2, 2, 1000);
    third = ib_claim(b->store, 3, 2, 1000);
    assert_int_equal(wp_claim_count(first), 2);
    assert_int_equal(wp_claim_count(second), 1);
    assert_int_equal(wp_claim_count(third), 0);
    assert_string_equal(wp_received_message_id(wp_claim_at(first, 0)), "1");
    assert_string_equal(wp_received_message_id(wp_claim_at(first, 1)), "2");
    assert_string_equal(wp_received_message_id(wp_claim_at(second, 0)), "3");
    WPT_OK(wp_inbox_get(&info, b->store, k, WPT_ERR));
    assert_int_equal(wp_outbox_info_locked_until_us(info), WPT_START_US + WPT_SECOND_US);
    wp_outbox_info_free(info);
    wp_inbox_key_free(k);
    wp_claim_free(first);
    wp_claim_free(second);
    wp_claim_free(third);
}

/* proves: IBX-031, IBX-038 */
static void test_claim__of_done_and_dead_messages__takes_none(void **state)
{
    bed *b = *state;
    wp_id id;
    send(b, "done");
    id = ib_claim_one(b->store, 1, 1000);
    assert_int_equal(ib_ack(b->store, 1, &id, 1), 1);
    send(b, "dead");
    id = ib_claim_one(b->store, 1, 1000);
    assert_int_equal(fail_one(b, 1, &id, "bad"), 1);
    wpt_advance_ms(b->clock, 100000000);
    WPT_OK(wp_inbox_reap(NULL, b->store, WPT_ERR));
    assert_int_equal(ib_claimable(b->store), 0);
}

/* proves: IBX-040, IBX-041, IBX-043, IBX-119, IBX-120, IBX-130 */
static void test_claim__bad_arguments__are_named(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    const wp_id none = {{0}};
    wp_claim *claim = NULL;
    static const int64_t leases[] = {0, -1, WP_LEASE_MS_MAX + INT64_C(1), INT64_MIN};
    static const int64_t batches[] = {0, -1, WP_BATCH_MAX + 1, INT64_MIN};
    for (size_t i = 0; i < 4; i++) {
        WPT_FAILS(wp_inbox_claim(&claim, b->store, &owner, NULL, 0, 1, leases[i], WPT_ERR),
                  WP_E_RANGE, "lease_ms");
        WPT_FAILS(wp_inbox_claim(&claim, b->store, &owner, NULL, 0, batches[i], 1, WPT_ERR),
                  WP_E_RANGE, "batch");
    }
    WPT_FAILS(wp_inbox_claim(&claim, b->store, &none, NULL, 0, 1, 1, WPT_ERR), WP_E_ARGUMENT,
              "owner");
    WPT_FAILS(wp_inbox_claim(&claim, b->store, NULL, NULL, 0, 1, 1, WPT_ERR), WP_E_ARGUMENT,
              "owner");
    assert_null(claim);
    for (int64_t lease = 10000; lease <= 300000; lease += 290000) { /* what is recommended */
        WPT_OK(wp_inbox_claim(&claim, b->store, &owner, NULL, 0, 100, lease, WPT_ERR));
        wp_claim_free(claim);
    }
}

/* ---- finish ------------------------------------------------------------------------------- */

/* scenario: INB-010, INB-011 */
/* proves: IBX-025, IBX-026 */
static void test_claim__of_a_message__tells_what_it_is_known_by(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    wp_inbox_key *k = ib_key("src", "1");
    wp_message *m = wpt_message("t", "x");
    wp_claim *claim;
    wp_outbox_info *info = NULL;
    size_t changed = 9, len = 0;
    wp_id id;
    WPT_OK(wp_inbox_key_set_consumer(k, "billing", WPT_ERR));
    WPT_OK(wp_inbox_key_set_hash(k, "\1\0\2", 3, "crc", WPT_ERR));
    WPT_OK(wp_inbox_enqueue(&id, NULL, NULL, b->store, NULL, k, m, WPT_ERR));
    claim = ib_claim(b->store, 1, 1, 1000);
    assert_true(wpt_claim_is(claim, &id, 1));
    assert_string_equal(wp_received_source(wp_claim_at(claim, 0)), "src");
    assert_string_equal(wp_received_message_id(wp_claim_at(claim, 0)), "1");
    assert_string_equal(wp_received_consumer(wp_claim_at(claim, 0)), "billing");
    assert_memory_equal(wp_received_hash(&len, wp_claim_at(claim, 0)), "\1\0\2", 3);
    assert_int_equal(len, 3);
    assert_string_equal(wp_received_hash_algorithm(wp_claim_at(claim, 0)), "crc");
    wp_claim_free(claim);
    /* prolonged, it outlives its first lease; released, it is ready with no attempt */
    wpt_advance_ms(b->clock, 999);
    WPT_OK(wp_inbox_renew(&changed, b->store, NULL, &owner, &id, NULL, 1, 1000, WPT_ERR));
    assert_int_equal(changed, 1);
    wpt_advance_ms(b->clock, 999);
    WPT_OK(wp_inbox_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 0);
    WPT_OK(wp_inbox_get_by_id(&info, b->store, &id, WPT_ERR));
    assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_IN_PROGRESS);
    assert_string_equal(wp_received_consumer(wp_outbox_info_message(info)), "billing");
    wp_outbox_info_free(info);
    WPT_OK(wp_inbox_release(&changed, b->store, NULL, &owner, &id, NULL, 1, WPT_ERR));
    assert_int_equal(changed, 1);
    WPT_OK(wp_inbox_get(&info, b->store, k, WPT_ERR));
    assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_READY);
    assert_int_equal(wp_received_attempt(wp_outbox_info_message(info)), 0);
    wp_outbox_info_free(info);
    wp_id_new(&id);
    WPT_STATUS(wp_inbox_get_by_id(&info, b->store, &id, WPT_ERR), WP_E_NOT_FOUND);
    wp_message_free(m);
    wp_inbox_key_free(k);
}

static int64_t stat_of(bed *b, const char *topic, wp_outbox_stat stat)
{
    wp_outbox_stats *stats = NULL;
    int64_t value = 0;
    WPT_OK(wp_inbox_stats_read(&stats, b->store, 1, WPT_ERR));
    for (size_t i = 0; i < wp_outbox_stats_count(stats); i++)
        if (strcmp(wp_outbox_stats_topic(stats, i), topic) == 0)
            value = wp_outbox_stats_value(stats, i, stat);
    wp_outbox_stats_free(stats);
    return value;
}

/* scenario: INB-011 */
static void test_look__in_each_state__and_counted_by_topic(void **state)
{
    bed *b = *state;
    wp_inbox_key *marked = ib_key("src", "marked");
    wp_id id;
    assert_int_equal(ib_check(b->store, NULL, "src", "seen"), WP_INBOX_NEW);
    assert_int_equal(ib_status(b->store, "src", "seen"), WP_MESSAGE_SEEN);
    send(b, "done");
    id = ib_claim_one(b->store, 1, 60000);
    assert_int_equal(ib_ack(b->store, 1, &id, 1), 1);
    send(b, "dead");
    id = ib_claim_one(b->store, 1, 60000);
    assert_int_equal(fail_one(b, 1, &id, "bad"), 1);
    send(b, "claimed");
    (void)ib_claim_one(b->store, 1, 60000);
    send(b, "ready");
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "other", "T", "x"), WP_INBOX_NEW);
    assert_int_equal(ib_check(b->store, NULL, "src", "marked"), WP_INBOX_NEW);
    WPT_OK(wp_inbox_mark_processing(b->store, NULL, marked, WPT_ERR));
    assert_int_equal(ib_status(b->store, "src", "done"), WP_MESSAGE_DONE);
    assert_int_equal(ib_status(b->store, "src", "dead"), WP_MESSAGE_FAILED);
    assert_int_equal(ib_status(b->store, "src", "claimed"), WP_MESSAGE_IN_PROGRESS);
    assert_int_equal(ib_status(b->store, "src", "ready"), WP_MESSAGE_READY);
    assert_int_equal(ib_status(b->store, "src", "marked"), WP_MESSAGE_IN_PROGRESS);
    assert_int_equal(stat_of(b, "t", WP_STAT_DONE), 1);
    assert_int_equal(stat_of(b, "t", WP_STAT_FAILED), 1);
    assert_int_equal(stat_of(b, "t", WP_STAT_IN_PROGRESS), 1);
    assert_int_equal(stat_of(b, "t", WP_STAT_READY), 1);
    assert_int_equal(stat_of(b, "T", WP_STAT_READY), 1);
    assert_int_equal(stat_of(b, "", WP_STAT_IN_PROGRESS), 1);
    wp_inbox_key_free(marked);
}

/* scenario: INB-010 */
/* proves: IBX-044..047, IBX-049 */
static void test_ack__by_the_owner__finishes_and_others_change_nothing(void **state)
{
    bed *b = *state;
    wp_inbox_key *k = ib_key("src", "1");
    wp_outbox_info *info = NULL;
    wp_id ids[3];
    send(b, "1");
    ids[0] = ids[2] = ib_claim_one(b->store, 1, 1000);
    wp_id_new(&ids[1]); /* of no message */
    assert_int_equal(ib_ack(b->store, 2, ids, 3), 0);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_IN_PROGRESS);
    assert_int_equal(ib_ack(b->store, 1, ids, 3), 1);
    assert_int_equal(ib_ack(b->store, 1, ids, 3), 0);
    WPT_OK(wp_inbox_get(&info, b->store, k, WPT_ERR));
    assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_DONE);
    assert_int_equal(wp_outbox_info_locked_until_us(info), 0);
    assert_int_equal(wp_outbox_info_finished_us(info), WPT_START_US);
    wpt_advance_ms(b->clock, 5000);
    assert_int_equal(ib_claimable(b->store), 0);
    wp_outbox_info_free(info);
    wp_inbox_key_free(k);
}

/* proves: IBX-048, IBX-059, IBX-066, IBX-067, IBX-130 */
static void test_finish__null_and_empty_lists__refused_and_harmless(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    const wp_id none = {{0}};
    wp_id id;
    size_t changed = 9;
    wp_id_new(&id);
    WPT_FAILS(wp_inbox_ack(NULL, b->store, NULL, &owner, NULL, NULL, 1, NULL, WPT_ERR),
              WP_E_ARGUMENT, "ids");
    WPT_FAILS(wp_inbox_abandon(NULL, b->store, NULL, &owner, NULL, NULL, 1, 0, NULL, WPT_ERR),
              WP_E_ARGUMENT, "ids");
    WPT_FAILS(wp_inbox_fail(NULL, b->store, NULL, &owner, NULL, NULL, 1, "x", WPT_ERR),
              WP_E_ARGUMENT, "ids");
    WPT_FAILS(wp_inbox_fail(NULL, b->store, NULL, &owner, &id, NULL, 1, NULL, WPT_ERR),
              WP_E_ARGUMENT, "reason");
    WPT_FAILS(wp_inbox_ack(NULL, b->store, NULL, &none, &id, NULL, 1, NULL, WPT_ERR), WP_E_ARGUMENT,
              "owner");
    WPT_FAILS(wp_inbox_abandon(NULL, b->store, NULL, &none, &id, NULL, 1, 0, NULL, WPT_ERR),
              WP_E_ARGUMENT, "owner");
    WPT_FAILS(wp_inbox_fail(NULL, b->store, NULL, &none, &id, NULL, 1, "x", WPT_ERR), WP_E_ARGUMENT,
              "owner");
    WPT_OK(wp_inbox_ack(&changed, b->store, NULL, &owner, &id, NULL, 0, NULL, WPT_ERR));
    assert_int_equal(changed, 0);
    WPT_OK(wp_inbox_abandon(&changed, b->store, NULL, &owner, &id, NULL, 0, 0, NULL, WPT_ERR));
    WPT_OK(wp_inbox_fail(&changed, b->store, NULL, &owner, &id, NULL, 0, "x", WPT_ERR));
}

/* scenario: INB-010 */
/* proves: IBX-042, IBX-050, IBX-051, IBX-053..058 */
static void test_abandon__with_a_delay__comes_back_after_it(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    const wp_id other = wpt_owner(2);
    wp_id ids[2];
    size_t changed = 9;
    send(b, "1");
    ids[0] = ib_claim_one(b->store, 1, 60000);
    wp_id_new(&ids[1]);
    WPT_OK(wp_inbox_abandon(&changed, b->store, NULL, &other, ids, NULL, 2, 1, "x", WPT_ERR));
    assert_int_equal(changed, 0);
    WPT_FAILS(wp_inbox_abandon(&changed, b->store, NULL, &owner, ids, NULL, 2, -1, "x", WPT_ERR),
              WP_E_RANGE, "delay_ms");
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_IN_PROGRESS);
    WPT_OK(wp_inbox_abandon(&changed, b->store, NULL, &owner, ids, NULL, 2, 3000, "why", WPT_ERR));
    assert_int_equal(changed, 1);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_READY);
    assert_int_equal(ib_attempt(b->store, "src", "1"), 1);
    ib_last_error_is(b->store, "src", "1", "why");
    wpt_advance_ms(b->clock, 2999);
    assert_int_equal(ib_claimable(b->store), 0);
    wpt_advance_ms(b->clock, 1);
    assert_int_equal(ib_claimable(b->store), 1);
}

/* min(2^attempt s, 60 s), by default */
/* proves: IBX-052, IBX-080..082 */
static void test_abandon__without_a_delay__backs_off_exponentially(void **state)
{
    bed *b = *state;
    bed_reopen(b, WPT_OPTIONS("worker.backoff_jitter", "0"));
    send(b, "1");
    for (int64_t attempt = 0; attempt < 9; attempt++) {
        const int64_t delay = attempt < 6 ? 1000 << attempt : 60000;
        const wp_id id = ib_claim_one(b->store, 1, 60000);
        ib_abandon(b->store, 1, &id, 0, NULL);
        wpt_advance_ms(b->clock, delay - 1);
        assert_int_equal(ib_claimable(b->store), 0);
        wpt_advance_ms(b->clock, 1);
    }
    assert_int_equal(ib_claimable(b->store), 1);
}

/* scenario: INB-010 */
/* proves: IBX-060..065 */
static void test_fail__by_the_owner__is_dead_for_ever(void **state)
{
    bed *b = *state;
    wp_id id;
    send(b, "1");
    id = ib_claim_one(b->store, 1, 1000);
    assert_int_equal(fail_one(b, 2, &id, "no"), 0);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_IN_PROGRESS);
    assert_int_equal(fail_one(b, 1, &id, "poison"), 1);
    assert_int_equal(fail_one(b, 1, &id, "again"), 0);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_FAILED);
    ib_last_error_is(b->store, "src", "1", "poison");
    assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_DEAD);
    wpt_advance_ms(b->clock, 100000);
    assert_int_equal(ib_claimable(b->store), 0);
}

/* ---- reap --------------------------------------------------------------------------------- */

/* scenario: INB-010 */
/* proves: IBX-068..071, IBX-112, IBX-033, IBX-051 */
static void test_reap__of_expired_leases__gives_them_back_with_an_attempt(void **state)
{
    bed *b = *state;
    wpt_log log;
    size_t changed = 9;
    wp_id done, dead;
    wpt_log_init(&log);
    ib_reopen_logged(b, &log, "info");
    send(b, "done");
    done = ib_claim_one(b->store, 1, 1000);
    (void)ib_ack(b->store, 1, &done, 1);
    send(b, "dead");
    dead = ib_claim_one(b->store, 1, 1000);
    (void)fail_one(b, 1, &dead, "x");
    send(b, "short");
    (void)ib_claim_one(b->store, 1, 1000);
    send(b, "long");
    (void)ib_claim_one(b->store, 2, 5000);
    wpt_advance_ms(b->clock, 2000);
    WPT_OK(wp_inbox_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 1);
    assert_int_equal(ib_status(b->store, "src", "short"), WP_MESSAGE_READY);
    assert_int_equal(ib_attempt(b->store, "src", "short"), 1);
    ib_last_error_is(b->store, "src", "short", "lease expired");
    assert_int_equal(ib_status(b->store, "src", "long"), WP_MESSAGE_IN_PROGRESS);
    assert_int_equal(ib_status(b->store, "src", "done"), WP_MESSAGE_DONE);
    assert_int_equal(ib_status(b->store, "src", "dead"), WP_MESSAGE_FAILED);
    assert_int_equal(ib_claimable(b->store), 0); /* it backs off */
    wpt_advance_ms(b->clock, 1000);
    assert_int_equal(ib_claimable(b->store), 1);
    assert_int_equal(wpt_log_count(&log, "info", "reaped", "\"Count\":1"), 1);
    ib_close_logged(b, &log);
}

/* proves: IBX-083, IBX-084, IBX-033 */
static void test_reap__at_the_limit_of_attempts__makes_a_dead_letter(void **state)
{
    bed *b = *state;
    bed_reopen(b, WPT_OPTIONS("worker.max_attempts", "2", "worker.backoff_jitter", "0"));
    send(b, "1");
    (void)ib_claim_one(b->store, 1, 1000);
    wpt_advance_ms(b->clock, 1000);
    WPT_OK(wp_inbox_reap(NULL, b->store, WPT_ERR));
    wpt_advance_ms(b->clock, 1000);
    (void)ib_claim_one(b->store, 1, 1000);
    wpt_advance_ms(b->clock, 1000);
    WPT_OK(wp_inbox_reap(NULL, b->store, WPT_ERR));
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_FAILED);
    assert_int_equal(ib_attempt(b->store, "src", "1"), 2);
    ib_last_error_is(b->store, "src", "1", "lease expired");
}

/* ---- a worker ----------------------------------------------------------------------------- */

typedef struct seen {
    size_t count;
    wp_outcome outcome;
    char message_id[64];
    char payload[64];
} seen;

static wp_outcome handle(wp_delivery *delivery, void *user)
{
    seen *s = user;
    const wp_received *m = wp_delivery_message(delivery);
    s->count++;
    (void)snprintf(s->message_id, sizeof s->message_id, "%s", wp_received_message_id(m));
    (void)snprintf(s->payload, sizeof s->payload, "%s", wp_received_payload(NULL, m));
    assert_string_equal(wp_received_source(m), "src");
    assert_int_equal(wp_delivery_source(delivery), WP_SOURCE_INBOX);
    assert_int_equal(wp_delivery_cancelled(delivery), WP_CANCEL_NONE);
    if (s->outcome == WP_OUTCOME_NONE)
        (void)wp_delivery_finish(delivery, WP_OUTCOME_NONE, "it broke", 0, NULL);
    return s->outcome;
}

static wp_outcome handle_outbox(wp_delivery *delivery, void *user)
{
    seen *s = user;
    const wp_received *m = wp_delivery_message(delivery);
    s->count++;
    (void)snprintf(s->payload, sizeof s->payload, "%s", wp_received_payload(NULL, m));
    assert_null(wp_received_source(m));
    assert_int_equal(wp_delivery_source(delivery), WP_SOURCE_OUTBOX);
    return s->outcome;
}

/* scenario: INB-012 */
/* proves: IBX-073, IBX-076, IBX-110, IBX-044 */
static void test_worker__with_handlers__gets_the_messages_of_its_topic(void **state)
{
    bed *b = *state;
    wpt_log log;
    wp_worker *worker = NULL;
    seen mine = {.outcome = WP_OUTCOME_DONE};
    seen other = {.outcome = WP_OUTCOME_DONE};
    wp_id outbox_id;
    size_t handled = 0;
    wpt_log_init(&log);
    ib_reopen_logged(b, &log, "info");
    outbox_id = wpt_enqueue(b->store, "t", "of the outbox");
    send(b, "m-1");
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_INBOX, "t", handle, &mine, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_INBOX, "T", handle, &other, NULL, WPT_ERR));
    WPT_OK(wp_worker_drain(&handled, worker, 60000, WPT_ERR));
    assert_int_equal(handled, 1);
    assert_int_equal(mine.count, 1);
    assert_int_equal(other.count, 0);
    assert_string_equal(mine.message_id, "m-1");
    assert_string_equal(mine.payload, "m-1");
    assert_int_equal(ib_status(b->store, "src", "m-1"), WP_MESSAGE_DONE);
    assert_int_equal(wpt_claimable(b->store), 1); /* the outbox's is not the inbox's */
    assert_int_equal(wpt_log_count(&log, "info", "handling", "\"Topic\":\"t\""), 1);
    wp_worker_free(worker);
    /* one topic in two queues: a handler for each */
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_INBOX, "t", handle, &mine, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t", handle_outbox, &other, NULL, WPT_ERR));
    send(b, "m-2");
    WPT_OK(wp_worker_drain(&handled, worker, 60000, WPT_ERR));
    assert_int_equal(handled, 2);
    assert_int_equal(mine.count, 2);
    assert_string_equal(mine.message_id, "m-2");
    assert_int_equal(other.count, 1);
    assert_string_equal(other.payload, "of the outbox");
    assert_int_equal(wpt_status_of(b->store, &outbox_id), WP_MESSAGE_DONE);
    wp_worker_free(worker);
    ib_close_logged(b, &log);
}

/* scenario: INB-013 */
/* proves: IBX-075, IBX-077, IBX-083, IBX-084, IBX-111 */
static void test_worker__whose_handler_fails__retries_up_to_the_limit(void **state)
{
    bed *b = *state;
    wp_worker *worker = NULL;
    seen s = {.outcome = WP_OUTCOME_NONE};
    wpt_log log;
    wpt_log_init(&log);
    ib_reopen_logged_with(b, &log, "error",
                          WPT_OPTIONS("worker.max_attempts", "3", "worker.backoff_jitter", "0"));
    send(b, "1");
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_INBOX, "t", handle, &s, NULL, WPT_ERR));
    for (size_t i = 1; i <= 3; i++) {
        WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
        assert_int_equal(s.count, i);
        wpt_advance_ms(b->clock, 10000);
    }
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_FAILED);
    ib_last_error_is(b->store, "src", "1", "it broke");
    assert_int_equal(wpt_log_count(&log, "error", "\"Exception\":\"it broke\"", "\"MessageId\":"),
                     3);
    wp_worker_free(worker);
    ib_close_logged(b, &log);
}

/* scenario: INB-013 */
/* proves: IBX-060, IBX-111 */
static void test_worker__whose_handler_rejects__makes_a_dead_letter_at_once(void **state)
{
    bed *b = *state;
    wp_worker *worker = NULL;
    seen s = {.outcome = WP_OUTCOME_REJECT};
    wpt_log log;
    wpt_log_init(&log);
    ib_reopen_logged(b, &log, "error");
    send(b, "1");
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_INBOX, "t", handle, &s, NULL, WPT_ERR));
    WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(s.count, 1);
    assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_DEAD);
    assert_int_equal(wpt_log_count(&log, "error", "dead letter", "\"Topic\":\"t\""), 1);
    wp_worker_free(worker);
    ib_close_logged(b, &log);
}

typedef struct completer {
    bed *bed;
    bool commit;
    int calls;
} completer;

/* Its effect and its end in one transaction of the app's. */
static wp_outcome complete(wp_delivery *delivery, void *user)
{
    completer *c = user;
    bed *b = c->bed;
    c->calls++;
    bed_exec(b, b->engine->begin);
    bed_exec(b, "INSERT INTO orders VALUES (1)");
    assert_int_equal(wp_delivery_complete(delivery, b->conn, NULL), WP_OK);
    bed_exec(b, c->commit ? b->engine->commit : b->engine->rollback);
    return WP_OUTCOME_DONE;
}

/* scenario: INB-013 */
/* proves: OBX-113, IBX-102 */
static void test_worker__completed_in_the_apps_transaction__both_or_neither(void **state)
{
    bed *b = *state;
    wp_worker *worker = NULL;
    completer c = {.bed = b};
    send(b, "1");
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_INBOX, "t", complete, &c, NULL, WPT_ERR));
    WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(bed_number(b, "SELECT count(*) FROM orders"), 0);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_READY);
    assert_int_equal(ib_attempt(b->store, "src", "1"), 1);
    wpt_advance_ms(b->clock, 60000);
    c.commit = true;
    WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(c.calls, 2);
    assert_int_equal(bed_number(b, "SELECT count(*) FROM orders"), 1);
    assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_DONE);
    wp_worker_free(worker);
}

/* proves: IBX-074 */
static void test_worker__without_a_handler_for_a_topic__warns_and_gives_it_back(void **state)
{
    bed *b = *state;
    wpt_log log;
    wp_worker *worker = NULL;
    seen s = {.outcome = WP_OUTCOME_DONE};
    wpt_log_init(&log);
    ib_reopen_logged_with(b, &log, "warning", WPT_OPTIONS("worker.all_topics", "true"));
    send(b, "1");
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_INBOX, "other", handle, &s, NULL, WPT_ERR));
    WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(s.count, 0);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_READY);
    assert_int_equal(ib_attempt(b->store, "src", "1"), 1);
    assert_int_equal(wpt_log_count(&log, "warning", "no handler", "\"Topic\":\"t\""), 1);
    wp_worker_free(worker);
    ib_close_logged(b, &log);
}

static wp_outcome wait_at_gate(wp_delivery *delivery, void *user)
{
    (void)delivery;
    wpt_gate_pass(user);
    return WP_OUTCOME_DONE;
}

/* proves: IBX-078, IBX-079 */
static void test_worker__with_two_threads__runs_two_messages_at_once_each_once(void **state)
{
    bed *b = *state;
    wp_worker *worker = NULL;
    wpt_gate gate;
    wpt_gate_init(&gate);
    send(b, "1");
    send(b, "2");
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_INBOX, "t", wait_at_gate, &gate, NULL, WPT_ERR));
    WPT_OK(wp_worker_start(worker, 2, WPT_ERR));
    WPT_AWAIT(wpt_gate_waiting(&gate) == 2);
    wpt_gate_open(&gate, SIZE_MAX);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(wpt_gate_passed(&gate), 2);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_DONE);
    assert_int_equal(ib_status(b->store, "src", "2"), WP_MESSAGE_DONE);
    wp_worker_free(worker);
    wpt_gate_fini(&gate);
}

static int64_t polls(const wp_worker *worker)
{
    return wp_worker_counter(worker, WP_COUNTER_POLLS);
}

/* Each wait for messages that do not come is twice as long as the one before, up to a limit. */
/* proves: IBX-124 */
static void test_worker__without_messages__polls_less_and_less(void **state)
{
    static const int64_t waits_ms[] = {100, 200, 400, 800, 800};
    bed *b = *state;
    wp_worker *worker = NULL;
    seen s = {.outcome = WP_OUTCOME_DONE};
    bed_reopen(b, WPT_OPTIONS("worker.poll_min_ms", "100", "worker.poll_max_ms", "800",
                              "worker.wakeups", "false", "worker.reap_ms", "3600000"));
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_INBOX, "t", handle, &s, NULL, WPT_ERR));
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    WPT_AWAIT(polls(worker) == 2); /* a claim, and a look at when there will be something */
    for (size_t i = 0; i < WPT_COUNT(waits_ms); i++) {
        wpt_advance_ms(b->clock, waits_ms[i] / 2); /* jitter takes an eighth at most */
        assert_int_equal(polls(worker), (int64_t)i + 2);
        wpt_advance_ms(b->clock, waits_ms[i] - waits_ms[i] / 2);
        WPT_AWAIT(polls(worker) == (int64_t)i + 3);
    }
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
}

static wp_outcome count_up(wp_delivery *delivery, void *user)
{
    (void)delivery;
    atomic_fetch_add((atomic_int *)user, 1);
    return WP_OUTCOME_DONE;
}

/* How many a second, `./dev bench inbox` tells; here, that none of thousands is lost or run twice. */
/* proves: IBX-121 */
static void test_worker__thousands_of_messages__each_once(void **state)
{
    enum {
        COUNT = 2000,
        PIECE = 250 /* a transaction: some servers have a small table of locks */
    };
    bed *b = *state;
    const size_t count = (size_t)bed_times(b, COUNT);
    wp_worker *worker = NULL;
    atomic_int calls = 0;
    wp_message *m = wpt_message("t", "x");
    wp_inbox_key *keys[COUNT];
    const wp_message *messages[COUNT];
    for (size_t i = 0; i < count; i++) {
        char id[24];
        (void)snprintf(id, sizeof id, "%zu", i);
        keys[i] = ib_key("src", id);
        messages[i] = m;
    }
    for (int repeat = 0; repeat < 2; repeat++)
        for (size_t i = 0; i < count; i += PIECE)
            WPT_OK(wp_inbox_enqueue_many(NULL, NULL, NULL, b->store, NULL,
                                         (const wp_inbox_key *const *)&keys[i], &messages[i],
                                         count - i < PIECE ? count - i : PIECE, WPT_ERR));
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_INBOX, "t", count_up, &calls, NULL, WPT_ERR));
    WPT_OK(wp_worker_start(worker, 2, WPT_ERR));
    WPT_AWAIT(wp_worker_counter(worker, WP_COUNTER_ACKED) == (int64_t)count);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(calls, count);
    assert_int_equal(stat_of(b, "t", WP_STAT_DONE), count);
    wp_worker_free(worker);
    wp_message_free(m);
    for (size_t i = 0; i < count; i++)
        wp_inbox_key_free(keys[i]);
}

/* proves: IBX-072 */
static void test_worker__that_runs__reaps_the_inbox(void **state)
{
    bed *b = *state;
    wp_worker *worker = NULL;
    seen s = {.outcome = WP_OUTCOME_DONE};
    send(b, "1");
    (void)ib_claim_one(b->store, 9, 1000); /* by one that died */
    wpt_advance_ms(b->clock, 1000);
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_INBOX, "t", handle, &s, NULL, WPT_ERR));
    WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(s.count, 0);
    wpt_advance_ms(b->clock, 1000);
    WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(s.count, 1);
    assert_int_equal(ib_attempt(b->store, "src", "1"), 1);
    wp_worker_free(worker);
}

/* ---- two deliveries at once --------------------------------------------------------------- */

/* scenario: INB-008 */
/* proves: IBX-006, IBX-103..105 */
static void test_once__delivered_twice_at_once__runs_once(void **state)
{
    bed *b = *state;
    app *other;
    wp_conn *conn;
    wp_inbox_key *k;
    wp_inbox_state found = WP_INBOX_NEW;
    int proceed = -1;
    bed_needs_locks(b);
    other = b->engine->open(b->store, false);
    conn = b->engine->lend(other, b->store);
    k = ib_key("src", "1");
    for (int seen_before = 0; seen_before < 2; seen_before++) {
        if (seen_before) {
            wp_inbox_key_free(k);
            k = ib_key("src", "2");
            assert_int_equal(ib_check(b->store, NULL, "src", "2"), WP_INBOX_NEW);
        }
        bed_exec(b, b->engine->begin);
        WPT_OK(wp_inbox_once(&proceed, NULL, NULL, b->store, b->conn, k, WPT_ERR));
        assert_int_equal(proceed, 1);
        b->engine->exec(other, b->engine->begin);
        if (b->engine->one_writer) {
            WPT_STATUS(wp_inbox_once(&proceed, &found, NULL, b->store, conn, k, WPT_ERR),
                       WP_E_UNAVAILABLE);
            assert_int_equal(wpt_last_retriable(), 1);
        } else {
            WPT_OK(wp_inbox_once(&proceed, &found, NULL, b->store, conn, k, WPT_ERR));
            assert_int_equal(proceed, 0);
            assert_int_equal(found, WP_INBOX_PROCESSING);
        }
        b->engine->exec(other, b->engine->rollback);
        bed_exec(b, "INSERT INTO orders VALUES (1)");
        bed_exec(b, b->engine->commit);
        b->engine->exec(other, b->engine->begin);
        WPT_OK(wp_inbox_once(&proceed, &found, NULL, b->store, conn, k, WPT_ERR));
        assert_int_equal(proceed, 0);
        assert_int_equal(found, WP_INBOX_DONE);
        b->engine->exec(other, b->engine->rollback);
    }
    wp_inbox_key_free(k);
    wp_conn_free(conn);
    b->engine->close(other);
}

/* The first one dies in the middle: the second one runs. */
static void test_once__whose_first_delivery_dies__runs_for_the_second(void **state)
{
    bed *b = *state;
    app *other = b->engine->open(b->store, false);
    wp_conn *conn = b->engine->lend(other, b->store);
    b->engine->exec(other, b->engine->begin);
    assert_int_equal(ib_once(b->store, conn, "src", "1", NULL), 1);
    wp_conn_free(conn);
    b->engine->close(other); /* without commit */
    bed_exec(b, b->engine->begin);
    while (ib_once(b->store, b->conn, "src", "1", NULL) ==
           0) { /* the server is told a moment later */
        bed_exec(b, b->engine->rollback);
        bed_exec(b, b->engine->begin);
    }
    bed_exec(b, b->engine->commit);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_DONE);
}

static const char *const levels[] = {"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                                     "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"};

static void needs_levels(bed *b)
{
    if (b->engine->takes_levels && !b->engine->takes_levels()) {
        print_message("skipped: this server has no REPEATABLE READ\n");
        skip();
    }
}

/* Begin a transaction, with its snapshot. */
static void begin_at(bed *b, app *a, const char *level)
{
    const bool first = b->engine->isolates_first;
    b->engine->exec(a, first ? level : b->engine->begin);
    b->engine->exec(a, first ? b->engine->begin : level);
    (void)b->engine->number(a, "SELECT count(*) FROM orders");
}

/* On stricter levels of isolation, a transaction that began before the other one committed does not
 * process it again: it sees that it is done, or is told to begin anew. */
/* proves: IBX-103, IBX-104 */
static void test_once__in_a_transaction_that_began_before__does_not_proceed(void **state)
{
    bed *b = *state;
    app *other;
    wp_conn *conn;
    if (b->engine->one_writer)
        return;
    needs_levels(b);
    other = b->engine->open(b->store, false);
    conn = b->engine->lend(other, b->store);
    for (size_t i = 0; i < WPT_COUNT(levels); i++) {
        wp_inbox_key *k = ib_key("iso", i ? "b" : "a");
        wp_inbox_key *known = ib_key("known", i ? "b" : "a");
        int proceed = -1;
        assert_int_equal(ib_check(b->store, NULL, "known", i ? "b" : "a"), WP_INBOX_NEW);
        for (int which = 0; which < 2; which++) {
            const wp_inbox_key *key = which ? known : k;
            begin_at(b, other, levels[i]);
            bed_exec(b, b->engine->begin);
            WPT_OK(wp_inbox_once(&proceed, NULL, NULL, b->store, b->conn, key, WPT_ERR));
            assert_int_equal(proceed, 1);
            bed_exec(b, b->engine->commit);
            if (!b->engine->inbox_is_read_anew) {
                WPT_STATUS(wp_inbox_once(&proceed, NULL, NULL, b->store, conn, key, WPT_ERR),
                           WP_E_UNAVAILABLE);
                assert_int_equal(wpt_last_retriable(), 1);
                b->engine->exec(other, b->engine->rollback);
                begin_at(b, other, levels[i]);
            }
            WPT_OK(wp_inbox_once(&proceed, NULL, NULL, b->store, conn, key, WPT_ERR));
            assert_int_equal(proceed, 0);
            b->engine->exec(other, b->engine->commit);
        }
        wp_inbox_key_free(k);
        wp_inbox_key_free(known);
    }
    wp_conn_free(conn);
    b->engine->close(other);
}

/* What the app does in its transaction. */
static wp_status change(int how, bed *b, wp_conn *conn, const wp_inbox_key *key)
{
    wp_inbox_state found;
    int proceed = 0;
    switch (how) {
    case 0:
        return wp_inbox_mark_processed(b->store, conn, key, WPT_ERR);
    case 1:
        return wp_inbox_mark_dead(b->store, conn, key, "by hand", WPT_ERR);
    case 2:
        return wp_inbox_once(&proceed, &found, NULL, b->store, conn, key, WPT_ERR);
    default:
        return wp_inbox_check(&found, NULL, b->store, conn, key, WPT_ERR);
    }
}

/* What another one has committed meanwhile; the message was dead, or only seen. */
static void meanwhile(bed *b, int what, const wp_inbox_key *key)
{
    size_t replayed = 0;
    if (what == 0)
        WPT_OK(wp_dead_replay(&replayed, b->store, WP_SOURCE_INBOX, NULL, 10, 0, NULL, WPT_ERR));
    else if (what == 1)
        WPT_OK(wp_inbox_revive(b->store, NULL, key, WPT_ERR));
    else
        WPT_OK(wp_inbox_mark_processing(b->store, NULL, key, WPT_ERR));
    assert_int_equal(replayed, what == 0);
}

/* A transaction that sees a message as it was before it was replayed, revived or marked would leave it
 * both finished and unfinished: it sees it as it is, or is told to begin anew. */
/* proves: IBX-103, IBX-104, DLQ-001 */
static void
test_change__in_a_transaction_that_began_before__sees_what_is_or_must_begin_anew(void **state)
{
    bed *b = *state;
    needs_levels(b);
    for (int i = 0; !b->engine->one_writer && i < 2 * 3 * 4; i++) {
        const int what = i / 2 % 3;
        char name[16];
        wp_inbox_key *key;
        (void)snprintf(name, sizeof name, "%d", i);
        key = ib_key("src", name);
        if (what == 2) {
            assert_int_equal(ib_check(b->store, NULL, "src", name), WP_INBOX_NEW);
        } else {
            (void)ib_enqueue(b->store, NULL, "src", name, "t", "x");
            WPT_OK(wp_inbox_mark_dead(b->store, NULL, key, "no", WPT_ERR));
        }
        begin_at(b, b->app, levels[i % 2]);
        meanwhile(b, what, key);
        if (b->engine->inbox_is_read_anew) {
            WPT_OK(change(i / 6, b, b->conn, key));
            bed_exec(b, b->engine->commit);
        } else {
            WPT_STATUS(change(i / 6, b, b->conn, key), WP_E_UNAVAILABLE);
            assert_int_equal(wpt_last_retriable(), 1);
            bed_exec(b, b->engine->rollback);
        }
        WPT_OK(wp_inbox_mark_processed(b->store, NULL, key, WPT_ERR));
        assert_int_equal(ib_status(b->store, "src", name), WP_MESSAGE_DONE);
        wp_inbox_key_free(key);
    }
    assert_int_equal(ib_claimable(b->store), 0);
}

typedef struct racer {
    bed *b;
    wp__thread thread;
    size_t news;
} racer;

static void *race(void *arg)
{
    racer *r = arg;
    for (int i = 0; i < 20; i++) {
        char id[16];
        wp_inbox_key *key = NULL;
        wp_inbox_state found = WP_INBOX_DEAD;
        (void)snprintf(id, sizeof id, "%d", i);
        if (wp_inbox_key_new(&key, "race", id, NULL) == WP_OK &&
            wp_inbox_check(&found, NULL, r->b->store, NULL, key, NULL) == WP_OK)
            r->news += found == WP_INBOX_NEW;
        wp_inbox_key_free(key);
    }
    return NULL;
}

/* proves: IBX-002, IBX-006, IBX-105 */
static void test_check__by_many_threads__is_new_for_one_of_them(void **state)
{
    bed *b = *state;
    racer racers[4];
    size_t news = 0;
    for (size_t i = 0; i < WPT_COUNT(racers); i++) {
        racers[i] = (racer){.b = b};
        WPT_OK(wp__thread_start(&racers[i].thread, "racer", race, &racers[i], WPT_ERR));
    }
    for (size_t i = 0; i < WPT_COUNT(racers); i++) {
        wp__thread_join(&racers[i].thread);
        news += racers[i].news;
    }
    assert_int_equal(news, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_claim__of_ready_messages__takes_each_once_up_to_the_batch),
        BED_TEST(test_claim__of_done_and_dead_messages__takes_none),
        BED_TEST(test_claim__bad_arguments__are_named),
        BED_TEST(test_claim__of_a_message__tells_what_it_is_known_by),
        BED_TEST(test_look__in_each_state__and_counted_by_topic),
        BED_TEST(test_ack__by_the_owner__finishes_and_others_change_nothing),
        BED_TEST(test_finish__null_and_empty_lists__refused_and_harmless),
        BED_TEST(test_abandon__with_a_delay__comes_back_after_it),
        BED_TEST(test_abandon__without_a_delay__backs_off_exponentially),
        BED_TEST(test_fail__by_the_owner__is_dead_for_ever),
        BED_TEST(test_reap__of_expired_leases__gives_them_back_with_an_attempt),
        BED_TEST(test_reap__at_the_limit_of_attempts__makes_a_dead_letter),
        BED_TEST(test_worker__with_handlers__gets_the_messages_of_its_topic),
        BED_TEST(test_worker__whose_handler_fails__retries_up_to_the_limit),
        BED_TEST(test_worker__whose_handler_rejects__makes_a_dead_letter_at_once),
        BED_TEST(test_worker__completed_in_the_apps_transaction__both_or_neither),
        BED_TEST(test_worker__without_a_handler_for_a_topic__warns_and_gives_it_back),
        BED_TEST(test_worker__with_two_threads__runs_two_messages_at_once_each_once),
        BED_TEST(test_worker__without_messages__polls_less_and_less),
        BED_TEST(test_worker__thousands_of_messages__each_once),
        BED_TEST(test_worker__that_runs__reaps_the_inbox),
        BED_TEST(test_once__delivered_twice_at_once__runs_once),
        BED_TEST(test_once__whose_first_delivery_dies__runs_for_the_second),
        BED_TEST(test_once__in_a_transaction_that_began_before__does_not_proceed),
        BED_TEST(test_change__in_a_transaction_that_began_before__sees_what_is_or_must_begin_anew),
        BED_TEST(test_check__by_many_threads__is_new_for_one_of_them),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
