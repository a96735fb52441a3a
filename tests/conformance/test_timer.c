/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of timers: when they are due, and what can be done to them before. What they have in
 * common with the outbox is tested there; here, that it is there. */
#include <inttypes.h>
#include <stdatomic.h>

#include "bed.h"

static wp_message *timer_at(const char *topic, int64_t due_us)
{
    wp_message *message = wpt_message(topic, "x");
    WPT_OK(wp_message_set_due_us(message, due_us, WPT_ERR));
    return message;
}

static wp_id schedule(bed *b, wp_conn *conn, WP_OWN wp_message *message)
{
    wp_id id;
    WPT_OK(wp_timer_schedule(&id, NULL, b->store, conn, message, WPT_ERR));
    wp_message_free(message);
    return id;
}

static wp_id schedule_in(bed *b, int64_t delay_ms)
{
    wp_message *message = wpt_message("t", "x");
    WPT_OK(wp_message_set_delay_ms(message, delay_ms, WPT_ERR));
    return schedule(b, NULL, message);
}

static wp_claim *claim_timers(bed *b, int owner, int64_t batch)
{
    const wp_id token = wpt_owner(owner);
    wp_claim *claim = NULL;
    WPT_OK(wp_timer_claim(&claim, b->store, &token, NULL, 0, batch, 60000, WPT_ERR));
    return claim;
}

/* A claim gives these, in order, and nothing else. */
static void claims_are(bed *b, const wp_id *ids, size_t count)
{
    wp_claim *claim = claim_timers(b, 1, 100);
    assert_int_equal(wp_claim_count(claim), count);
    assert_true(wpt_claim_is(claim, ids, count));
    wp_claim_free(claim);
}

static wp_message_status status_of(bed *b, const wp_id *id)
{
    wp_outbox_info *info = NULL;
    wp_message_status status;
    WPT_OK(wp_timer_get(&info, b->store, id, WPT_ERR));
    status = wp_outbox_info_status(info);
    wp_outbox_info_free(info);
    return status;
}

static int64_t due_of(bed *b, const wp_id *id)
{
    wp_outbox_info *info = NULL;
    int64_t due;
    WPT_OK(wp_timer_get(&info, b->store, id, WPT_ERR));
    due = wp_received_due_us(wp_outbox_info_message(info));
    assert_int_equal(wp_outbox_info_next_attempt_us(info), due);
    wp_outbox_info_free(info);
    return due;
}

static int cancel(bed *b, const wp_id *id)
{
    int cancelled = 7;
    WPT_OK(wp_timer_cancel(&cancelled, b->store, NULL, id, WPT_ERR));
    return cancelled;
}

static int move_to(bed *b, const wp_id *id, int64_t due_us)
{
    int moved = 7;
    WPT_OK(wp_timer_reschedule(&moved, b->store, NULL, id, due_us, WPT_ERR));
    return moved;
}

/* ---- schedule ----------------------------------------------------------------------------- */

/* scenario: TIM-002 */
/* proves: TMR-001, TMR-003 */
static void test_timer__due_at_an_instant__not_before_and_by_due_time_then_creation(void **state)
{
    static const int64_t due_s[] = {5, 3, 5, 1, 3, 9};
    static const int order[] = {3, 1, 4, 0, 2, 5};
    bed *b = *state;
    wp_id ids[6], wanted[6];
    for (int i = 0; i < 6; i++)
        ids[i] = schedule(
            b, NULL, timer_at(i % 2 ? "odd" : "even", WPT_START_US + due_s[i] * WPT_SECOND_US + 1));
    for (int i = 0; i < 6; i++)
        wanted[i] = ids[order[i]];
    wpt_advance_ms(b->clock, 5000);
    claims_are(b, wanted, 3); /* the next is a microsecond early */
    WPT_OK(wp_clock_advance_us(b->clock, 1, WPT_ERR));
    claims_are(b, wanted + 3, 2);
    wpt_advance_ms(b->clock, 3999);
    claims_are(b, NULL, 0);
    wpt_advance_ms(b->clock, 1);
    claims_are(b, wanted + 5, 1);
    wpt_advance_ms(b->clock, 1000000);
    claims_are(b, NULL, 0);
}

/* proves: TMR-001 */
static void test_timer__claimed__comes_whole(void **state)
{
    bed *b = *state;
    wp_message *message = timer_at("topic", WPT_START_US + 2000000);
    wp_claim *claim;
    const wp_received *m;
    wp_id id;
    size_t len = 0;
    WPT_OK(wp_message_set_correlation_id(message, "order 7", WPT_ERR));
    WPT_OK(wp_message_set_header(message, "traceparent", "00-a", WPT_ERR));
    id = schedule(b, NULL, message);
    wpt_advance_ms(b->clock, 2500);
    claim = claim_timers(b, 1, 10);
    assert_true(wpt_claim_is(claim, &id, 1));
    m = wp_claim_at(claim, 0);
    assert_string_equal(wp_received_topic(m), "topic");
    assert_string_equal(wp_received_payload(&len, m), "x");
    assert_int_equal(len, 1);
    assert_string_equal(wp_received_correlation_id(m), "order 7");
    assert_string_equal(wp_received_headers(m), "{\"traceparent\":\"00-a\"}");
    assert_int_equal(wp_received_due_us(m), WPT_START_US + 2000000);
    assert_int_equal(wp_received_created_us(m), WPT_START_US);
    assert_int_equal(wp_received_attempt(m), 0);
    wp_claim_free(claim);
    /* it is no message of the outbox */
    bed_has_no(b, &id);
    assert_int_equal(wpt_claimable(b->store), 0);
}

/* scenario: TIM-005 */
/* proves: TMR-006 */
static void test_timer__any_instant__from_1970_to_9999_and_no_delay_is_now(void **state)
{
    bed *b = *state;
    int moved;
    wp_id ids[4], last = schedule(b, NULL, timer_at("t", WP_TIME_US_MAX));
    ids[0] = schedule(b, NULL, timer_at("t", 0));
    ids[1] = schedule(b, NULL, timer_at("t", 1));
    ids[2] = schedule_in(b, 0);
    ids[3] = schedule_in(b, -5000);
    assert_int_equal(due_of(b, &ids[3]), WPT_START_US);
    assert_int_equal(due_of(b, &last), WP_TIME_US_MAX);
    claims_are(b, ids, 4);
    WPT_FAILS(wp_timer_reschedule(&moved, b->store, NULL, &last, -1, WPT_ERR), WP_E_RANGE,
              "due_us");
    WPT_FAILS(wp_timer_reschedule(&moved, b->store, NULL, &last, WP_TIME_US_MAX + 1, WPT_ERR),
              WP_E_RANGE, "due_us");
    WPT_FAILS(wp_timer_reschedule_in(&moved, b->store, NULL, &last, WP_DELAY_MS_MAX + 1, WPT_ERR),
              WP_E_RANGE, "delay_ms");
    WPT_FAILS(wp_timer_reschedule_in(&moved, b->store, NULL, &last, INT64_MAX, WPT_ERR), WP_E_RANGE,
              "delay_ms");
    assert_int_equal(due_of(b, &last), WP_TIME_US_MAX);
}

/* scenario: TIM-001 */
/* proves: TMR-008, TMR-001 */
static void test_timer__many_in_the_apps_transaction__all_or_nothing(void **state)
{
    enum { COUNT = 300 };
    bed *b = *state;
    wp_message *messages[COUNT];
    wp_id ids[COUNT], none[COUNT];
    wp_timers *list = NULL;
    for (int i = 0; i < COUNT; i++)
        messages[i] = timer_at("t", WPT_START_US + 1000000 + i);
    bed_exec(b, b->engine->begin);
    WPT_OK(wp_timer_schedule_many(none, NULL, b->store, b->conn,
                                  (const wp_message *const *)messages, COUNT, WPT_ERR));
    bed_exec(b, b->engine->rollback);
    bed_exec(b, b->engine->begin);
    WPT_OK(wp_timer_schedule_many(ids, NULL, b->store, b->conn, (const wp_message *const *)messages,
                                  COUNT, WPT_ERR));
    bed_exec(b, b->engine->commit);
    WPT_OK(wp_timer_list(&list, b->store, NULL, NULL, WP_BATCH_MAX, WPT_ERR));
    assert_int_equal(wp_timers_count(list), COUNT);
    wp_timers_free(list);
    wpt_advance_ms(b->clock, 2000);
    {
        wp_claim *claim = claim_timers(b, 1, COUNT + 1);
        assert_int_equal(wp_claim_count(claim), COUNT);
        assert_true(wpt_claim_is(claim, ids, COUNT));
        wp_claim_free(claim);
    }
    for (int i = 0; i < COUNT; i++)
        wp_message_free(messages[i]);
}

/* ---- cancel ------------------------------------------------------------------------------- */

/* scenario: TIM-003 */
/* proves: TMR-002 */
static void test_cancel__before_it_was_claimed__never_fires(void **state)
{
    bed *b = *state;
    const wp_id later = schedule_in(b, 1000), due = schedule_in(b, 0), kept = schedule_in(b, 1000);
    wp_outbox_info *info = NULL;
    wp_id unknown;
    wp_id_new(&unknown);
    wpt_advance_ms(b->clock, 500);
    assert_int_equal(cancel(b, &later), 1);
    assert_int_equal(cancel(b, &due), 1); /* due, but nobody has it */
    assert_int_equal(cancel(b, &later), 0);
    assert_int_equal(cancel(b, &unknown), 0);
    WPT_OK(wp_timer_cancel(NULL, b->store, NULL, &unknown, WPT_ERR));
    WPT_FAILS(wp_timer_cancel(NULL, b->store, NULL, NULL, WPT_ERR), WP_E_ARGUMENT, "id");
    WPT_OK(wp_timer_get(&info, b->store, &later, WPT_ERR));
    assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_CANCELLED);
    assert_int_equal(wp_outbox_info_finished_us(info), WPT_START_US + 500000);
    assert_int_equal(wp_outbox_info_next_attempt_us(info), 0);
    wp_outbox_info_free(info);
    assert_int_equal(move_to(b, &later, WPT_START_US), 0);
    wpt_advance_ms(b->clock, 100000);
    claims_are(b, &kept, 1);
}

/* scenario: TIM-003 */
/* proves: TMR-002 */
static void test_cancel__claimed__is_refused_and_what_was_never_started_is_not(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    const wp_id id = schedule_in(b, 0);
    claims_are(b, &id, 1);
    assert_int_equal(cancel(b, &id), 0);
    assert_int_equal(move_to(b, &id, WPT_START_US + 1), 0);
    assert_int_equal(status_of(b, &id), WP_MESSAGE_IN_PROGRESS);
    /* given back unstarted: it has not fired */
    WPT_OK(wp_timer_release(NULL, b->store, NULL, &owner, &id, NULL, 1, WPT_ERR));
    assert_int_equal(move_to(b, &id, WPT_START_US + 1000000), 1);
    claims_are(b, NULL, 0);
    wpt_advance_ms(b->clock, 1000);
    claims_are(b, &id, 1);
    /* a retry waits: it has fired */
    WPT_OK(wp_timer_abandon(NULL, b->store, NULL, &owner, &id, NULL, 1, 5000, "why", WPT_ERR));
    assert_int_equal(cancel(b, &id), 0);
    assert_int_equal(move_to(b, &id, WPT_START_US), 0);
    wpt_advance_ms(b->clock, 5000);
    claims_are(b, &id, 1);
    WPT_OK(wp_timer_ack(NULL, b->store, NULL, &owner, &id, NULL, 1, "w", WPT_ERR));
    assert_int_equal(cancel(b, &id), 0);
    assert_int_equal(status_of(b, &id), WP_MESSAGE_DONE);
}

/* proves: TMR-002, TMR-007 */
static void test_cancel__in_the_apps_transaction__goes_with_its_rollback(void **state)
{
    bed *b = *state;
    const wp_id a = schedule_in(b, 1000), m = schedule_in(b, 1000);
    int changed = 7;
    bed_exec(b, b->engine->begin);
    WPT_OK(wp_timer_cancel(&changed, b->store, b->conn, &a, WPT_ERR));
    assert_int_equal(changed, 1);
    WPT_OK(wp_timer_reschedule(&changed, b->store, b->conn, &m, WPT_START_US + 9000000, WPT_ERR));
    assert_int_equal(changed, 1);
    bed_exec(b, b->engine->rollback);
    assert_int_equal(status_of(b, &a), WP_MESSAGE_READY);
    assert_int_equal(due_of(b, &m), WPT_START_US + 1000000);
    bed_exec(b, b->engine->begin);
    WPT_OK(wp_timer_cancel(&changed, b->store, b->conn, &a, WPT_ERR));
    WPT_OK(wp_timer_reschedule(&changed, b->store, b->conn, &m, WPT_START_US + 2000000, WPT_ERR));
    bed_exec(b, b->engine->commit);
    wpt_advance_ms(b->clock, 2000);
    claims_are(b, &m, 1);
}

/* ---- reschedule, look --------------------------------------------------------------------- */

/* scenario: TIM-004 */
/* proves: TMR-007 */
static void test_reschedule__sooner_later_and_to_now__fires_then(void **state)
{
    bed *b = *state;
    const wp_id sooner = schedule_in(b, 60000), later = schedule_in(b, 1000),
                now = schedule_in(b, 60000), past = schedule_in(b, 60000);
    int moved = 7;
    assert_int_equal(move_to(b, &sooner, WPT_START_US + 500000), 1);
    assert_int_equal(move_to(b, &later, WPT_START_US + 9000000), 1);
    assert_int_equal(move_to(b, &later, WPT_START_US + 8000000), 1);
    WPT_OK(wp_timer_reschedule_in(&moved, b->store, NULL, &now, -3, WPT_ERR));
    assert_int_equal(moved, 1);
    assert_int_equal(move_to(b, &past, 0), 1);
    assert_int_equal(due_of(b, &sooner), WPT_START_US + 500000);
    assert_int_equal(due_of(b, &now), WPT_START_US);
    claims_are(b, (wp_id[]){past, now}, 2);
    wpt_advance_ms(b->clock, 499);
    claims_are(b, NULL, 0);
    wpt_advance_ms(b->clock, 1);
    claims_are(b, &sooner, 1);
    wpt_advance_ms(b->clock, 7499);
    claims_are(b, NULL, 0);
    WPT_OK(wp_timer_reschedule_in(&moved, b->store, NULL, &later, 2000, WPT_ERR));
    wpt_advance_ms(b->clock, 1999);
    claims_are(b, NULL, 0);
    wpt_advance_ms(b->clock, 1);
    claims_are(b, &later, 1);
}

static void list_is(bed *b, const char *correlation_id, int64_t limit, const wp_id *ids,
                    size_t count)
{
    const wp_outbox_info *after = NULL;
    wp_timers *page = NULL, *before = NULL;
    size_t seen = 0;
    do {
        WPT_OK(wp_timer_list(&page, b->store, correlation_id, after, limit, WPT_ERR));
        for (size_t i = 0; i < wp_timers_count(page); i++, seen++) {
            const wp_received *m = wp_outbox_info_message(wp_timers_at(page, i));
            assert_true(seen < count);
            assert_true(wpt_id_equal(wp_received_id(m), &ids[seen]));
        }
        assert_null(wp_timers_at(page, wp_timers_count(page)));
        wp_timers_free(before);
        before = page;
        after = wp_timers_at(page, wp_timers_count(page) - 1);
    } while (wp_timers_count(page) == (size_t)limit);
    wp_timers_free(page);
    assert_int_equal(seen, count);
}

/* scenario: TIM-004 */
/* proves: TMR-007 */
static void test_list__by_correlation_id_or_unfinished__page_by_page(void **state)
{
    bed *b = *state;
    wp_id all[6], mine[3], left[4];
    wp_timers *list = NULL;
    wp_outbox_info *info = NULL;
    for (int i = 0; i < 6; i++) {
        wp_message *message = timer_at("t", WPT_START_US + (9 - i) * WPT_SECOND_US);
        WPT_OK(wp_message_set_correlation_id(message, i % 2 ? "Order" : "order", WPT_ERR));
        all[i] = schedule(b, NULL, message);
    }
    for (int i = 0; i < 3; i++)
        mine[i] = all[2 * i + 1];
    assert_int_equal(cancel(b, &all[1]), 1);
    assert_int_equal(cancel(b, &all[2]), 1);
    left[0] = all[0];
    memcpy(&left[1], &all[3], 3 * sizeof *left);
    for (int64_t limit = 1; limit <= 7; limit++) {
        list_is(b, "Order", limit, mine, 3);
        list_is(b, NULL, limit, left, 4);
        list_is(b, "ORDER", limit, NULL, 0);
    }
    WPT_FAILS(wp_timer_list(&list, b->store, NULL, NULL, 0, WPT_ERR), WP_E_RANGE, "limit");
    WPT_FAILS(wp_timer_list(&list, b->store, "", NULL, 1, WPT_ERR), WP_E_ARGUMENT,
              "correlation_id");
    assert_null(list);
    wp_id_new(&all[0]);
    WPT_STATUS(wp_timer_get(&info, b->store, &all[0], WPT_ERR), WP_E_NOT_FOUND);
}

/* ---- the queue ---------------------------------------------------------------------------- */

/* scenario: TIM-006 */
/* proves: TMR-004 */
static void test_timer__claim_and_what_ends_it__as_in_the_outbox(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1), other = wpt_owner(2);
    wp_id ids[4];
    wp_outbox_stats *stats = NULL;
    size_t changed = 0;
    for (int i = 0; i < 4; i++)
        ids[i] = schedule_in(b, 0);
    claims_are(b, ids, 4);
    WPT_OK(wp_timer_ack(&changed, b->store, NULL, &other, ids, NULL, 4, "w", WPT_ERR));
    assert_int_equal(changed, 0);
    WPT_OK(wp_timer_ack(&changed, b->store, NULL, &owner, ids, (int64_t[]){1}, 1, "w", WPT_ERR));
    assert_int_equal(changed, 1);
    WPT_OK(wp_timer_fail(&changed, b->store, NULL, &owner, &ids[1], NULL, 1, "no", WPT_ERR));
    assert_int_equal(changed, 1);
    WPT_OK(wp_timer_renew(&changed, b->store, NULL, &owner, &ids[3], NULL, 1, 600000, WPT_ERR));
    assert_int_equal(changed, 1);
    wpt_advance_ms(b->clock, 60000);
    WPT_OK(wp_timer_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 1);
    assert_int_equal(status_of(b, &ids[0]), WP_MESSAGE_DONE);
    assert_int_equal(status_of(b, &ids[1]), WP_MESSAGE_FAILED);
    assert_int_equal(status_of(b, &ids[2]), WP_MESSAGE_READY);
    assert_int_equal(status_of(b, &ids[3]), WP_MESSAGE_IN_PROGRESS);
    WPT_OK(wp_timer_stats_read(&stats, b->store, 1, WPT_ERR));
    assert_int_equal(wp_outbox_stats_total(stats, WP_STAT_DONE), 1);
    assert_int_equal(wp_outbox_stats_total(stats, WP_STAT_FAILED), 1);
    assert_int_equal(wp_outbox_stats_total(stats, WP_STAT_IN_PROGRESS), 1);
    wp_outbox_stats_free(stats);
    WPT_OK(
        wp_timer_abandon(&changed, b->store, NULL, &owner, &ids[3], NULL, 1, 5000, "no", WPT_ERR));
    assert_int_equal(changed, 1);
    wpt_advance_ms(b->clock, 4999);
    claims_are(b, &ids[2], 1); /* reaped: its backoff is over */
    WPT_OK(wp_timer_release(&changed, b->store, NULL, &owner, &ids[2], NULL, 1, WPT_ERR));
    assert_int_equal(changed, 1);
    wpt_advance_ms(b->clock, 1);
    claims_are(b, &ids[2], 2);
}

/* ---- worker ------------------------------------------------------------------------------- */

typedef struct seen {
    atomic_int count;
    atomic_int source;
    _Atomic int64_t at; /* the clock's time of the last one */
    _Atomic int64_t due;
    wp_clock *clock;
} seen;

static wp_outcome see(wp_delivery *delivery, void *user)
{
    seen *s = user;
    atomic_store(&s->source, (int)wp_delivery_source(delivery));
    atomic_store(&s->at, wp_clock_utc_us(s->clock));
    atomic_store(&s->due, wp_received_due_us(wp_delivery_message(delivery)));
    atomic_fetch_add(&s->count, 1);
    return wp_received_attempt(wp_delivery_message(delivery)) == 0 ? WP_OUTCOME_RETRY
                                                                   : WP_OUTCOME_DONE;
}

/* scenario: TIM-002 */
/* proves: TMR-005, TMR-003, OBX-110 */
static void test_worker__due_timer__reaches_the_handler_of_its_topic(void **state)
{
    bed *b = *state;
    seen timers = {.clock = b->clock}, messages = {.clock = b->clock};
    wp_worker *worker = NULL;
    size_t handled = 9;
    const wp_id id = schedule_in(b, 5000);
    const wp_id other = schedule(b, NULL, timer_at("other", WPT_START_US));
    wp_outbox_info *info = NULL;
    (void)wpt_enqueue(b->store, "t", "message");
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_TIMER, "t", see, &timers, NULL, WPT_ERR));
    WPT_STATUS(wp_worker_handle(worker, WP_SOURCE_TIMER, "t", see, NULL, NULL, WPT_ERR),
               WP_E_STATE);
    WPT_OK(wp_worker_drain(&handled, worker, 60000, WPT_ERR));
    assert_int_equal(handled, 0); /* neither what is not due nor the outbox's */
    wpt_advance_ms(b->clock, 4999);
    WPT_OK(wp_worker_drain(&handled, worker, 60000, WPT_ERR));
    assert_int_equal(handled, 0);
    wpt_advance_ms(b->clock, 1);
    WPT_OK(wp_worker_drain(&handled, worker, 60000, WPT_ERR));
    assert_int_equal(handled, 1);
    assert_int_equal(timers.source, WP_SOURCE_TIMER);
    assert_int_equal(timers.due, WPT_START_US + 5000000);
    wpt_advance_ms(b->clock, 1000);
    WPT_OK(wp_worker_drain(&handled, worker, 60000, WPT_ERR));
    assert_int_equal(handled, 1); /* the retry */
    WPT_OK(wp_timer_get(&info, b->store, &id, WPT_ERR));
    assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_DONE);
    assert_int_equal(wp_received_attempt(wp_outbox_info_message(info)), 1);
    wp_outbox_info_free(info);
    assert_int_equal(status_of(b, &other), WP_MESSAGE_READY);
    wp_worker_free(worker);
    /* one topic in two queues: a handler for each */
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_TIMER, "t", see, &timers, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t", see, &messages, NULL, WPT_ERR));
    (void)schedule_in(b, 0);
    WPT_OK(wp_worker_drain(&handled, worker, 60000, WPT_ERR));
    assert_int_equal(handled, 2);
    assert_int_equal(messages.count, 1);
    assert_int_equal(messages.source, WP_SOURCE_OUTBOX);
    assert_int_equal(timers.count, 3);
    wp_worker_free(worker);
}

/* proves: TMR-003, TMR-005, TMR-007 */
static void test_worker__running__sleeps_until_the_timer_is_due(void **state)
{
    bed *b = *state;
    seen s = {.clock = b->clock};
    wp_worker *worker = NULL;
    const wp_id id = schedule_in(b, 3600000);
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_TIMER, "t", see, &s, NULL, WPT_ERR));
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    WPT_AWAIT(wp_worker_counter(worker, WP_COUNTER_POLLS) > 0);
    wpt_advance_ms(b->clock, 3599999);
    assert_int_equal(s.count, 0);
    wpt_advance_ms(b->clock, 1);
    WPT_AWAIT(s.count == 1);
    assert_int_equal(s.at, WPT_START_US + INT64_C(3600000000));
    WPT_AWAIT(status_of(b, &id) == WP_MESSAGE_READY); /* the retry is written */
    wpt_advance_ms(b->clock, 1000);
    WPT_AWAIT(status_of(b, &id) == WP_MESSAGE_DONE);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
    assert_int_equal(s.count, 2);
}

/* ---- random histories --------------------------------------------------------------------- */

enum { TIMERS = 200, STEPS = 400 };

/* A timer as it should be. */
typedef struct item {
    wp_id id;
    wp_message_status status;
    int64_t due;
    bool fired; /* an attempt has ended */
} item;

typedef struct history {
    uint64_t state;
    item items[TIMERS];
    size_t count;
} history;

static uint64_t below(history *h, uint64_t limit)
{
    h->state ^= h->state << 13; /* xorshift64 */
    h->state ^= h->state >> 7;
    h->state ^= h->state << 17;
    return (h->state >> 16) % limit;
}

static int64_t now_of(const bed *b)
{
    return wp_clock_utc_us(b->clock);
}

static void step_schedule(bed *b, history *h)
{
    item *m = &h->items[h->count];
    if (h->count == TIMERS)
        return;
    *m = (item){.due = now_of(b) + ((int64_t)below(h, 30) - 3) * WPT_SECOND_US};
    m->id = schedule(b, NULL, timer_at("t", m->due));
    h->count++;
}

/* Cancel or reschedule one at random. */
static void step_change(bed *b, history *h)
{
    item *m = &h->items[below(h, h->count)];
    const bool may = m->status == WP_MESSAGE_READY && !m->fired;
    const int64_t due = now_of(b) + ((int64_t)below(h, 30) - 3) * WPT_SECOND_US;
    if (below(h, 2)) {
        assert_int_equal(cancel(b, &m->id), may);
        if (may)
            m->status = WP_MESSAGE_CANCELLED;
    } else {
        assert_int_equal(move_to(b, &m->id, due), may);
        if (may)
            m->due = due;
    }
}

/* The first of those that are due. */
static item *model_next(history *h, int64_t now)
{
    item *best = NULL;
    for (size_t i = 0; i < h->count; i++) {
        item *m = &h->items[i];
        if (m->status == WP_MESSAGE_READY && m->due <= now && (!best || m->due < best->due))
            best = m;
    }
    return best;
}

static void step_claim(bed *b, history *h)
{
    const size_t batch = 1 + below(h, 5);
    wp_claim *claim = claim_timers(b, 1, (int64_t)batch);
    size_t count = 0;
    for (item *m; count < batch && (m = model_next(h, now_of(b))); count++) {
        assert_true(count < wp_claim_count(claim));
        assert_true(wpt_id_equal(wp_received_id(wp_claim_at(claim, count)), &m->id));
        m->status = WP_MESSAGE_IN_PROGRESS;
    }
    assert_int_equal(wp_claim_count(claim), count);
    wp_claim_free(claim);
}

static void step_finish(bed *b, history *h)
{
    const wp_id owner = wpt_owner(1);
    item *m = &h->items[below(h, h->count)];
    const int64_t delay_ms = 1000 * (1 + (int64_t)below(h, 5));
    if (m->status != WP_MESSAGE_IN_PROGRESS)
        return;
    switch (below(h, 3)) {
    case 0:
        WPT_OK(wp_timer_ack(NULL, b->store, NULL, &owner, &m->id, NULL, 1, "w", WPT_ERR));
        m->status = WP_MESSAGE_DONE;
        break;
    case 1:
        WPT_OK(wp_timer_abandon(NULL, b->store, NULL, &owner, &m->id, NULL, 1, delay_ms, "e",
                                WPT_ERR));
        *m = (item){m->id, WP_MESSAGE_READY, now_of(b) + delay_ms * 1000, true};
        break;
    default:
        WPT_OK(wp_timer_release(NULL, b->store, NULL, &owner, &m->id, NULL, 1, WPT_ERR));
        m->status = WP_MESSAGE_READY;
        break;
    }
}

/* proves: TMR-002, TMR-003, TMR-004, TMR-007 */
static void test_timer__random_history__is_the_models(void **state)
{
    bed *b = *state;
    const char *text = getenv("WAYPOST_TEST_SEED");
    history *h = calloc(1, sizeof *h);
    assert_non_null(h);
    h->state = text ? strtoull(text, NULL, 10) : (uint64_t)wp__real_mono_us() | 1;
    print_message("WAYPOST_TEST_SEED=%" PRIu64 "\n", h->state);
    step_schedule(b, h);
    for (int i = 0; i < STEPS; i++) {
        switch (below(h, 6)) {
        case 0:
            step_schedule(b, h);
            break;
        case 1:
            step_change(b, h);
            break;
        case 2:
            step_claim(b, h);
            break;
        case 3:
        case 4:
            step_finish(b, h);
            break;
        default:
            WPT_OK(wp_clock_advance_us(b->clock, (int64_t)below(h, 1500000), WPT_ERR));
            break;
        }
    }
    for (size_t i = 0; i < h->count; i++)
        assert_int_equal(status_of(b, &h->items[i].id), h->items[i].status);
    free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_timer__due_at_an_instant__not_before_and_by_due_time_then_creation),
        BED_TEST(test_timer__claimed__comes_whole),
        BED_TEST(test_timer__any_instant__from_1970_to_9999_and_no_delay_is_now),
        BED_TEST(test_timer__many_in_the_apps_transaction__all_or_nothing),
        BED_TEST(test_cancel__before_it_was_claimed__never_fires),
        BED_TEST(test_cancel__claimed__is_refused_and_what_was_never_started_is_not),
        BED_TEST(test_cancel__in_the_apps_transaction__goes_with_its_rollback),
        BED_TEST(test_reschedule__sooner_later_and_to_now__fires_then),
        BED_TEST(test_list__by_correlation_id_or_unfinished__page_by_page),
        BED_TEST(test_timer__claim_and_what_ends_it__as_in_the_outbox),
        BED_TEST(test_worker__due_timer__reaches_the_handler_of_its_topic),
        BED_TEST(test_worker__running__sleeps_until_the_timer_is_due),
        BED_TEST(test_timer__random_history__is_the_models),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
