/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of the worker: what handlers get, what their answers do, and how it stops. */
#include <stdatomic.h>

#include "bed.h"

static wp_worker *worker_on(wp_store *store, bed *b, const char *const *options)
{
    wp_config *config = wpt_config(b->clock, options);
    wp_worker *worker = NULL;
    WPT_OK(wp_worker_new(&worker, store, config, WPT_ERR));
    wp_config_free(config);
    return worker;
}

static wp_worker *worker_new(bed *b, const char *const *options)
{
    return worker_on(b->store, b, options);
}

static void handle(wp_worker *worker, const char *topic, wp_handler_fn fn, void *user)
{
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, topic, fn, user, NULL, WPT_ERR));
}

/* Handle on this thread all that is due; how many that were. */
static size_t drain(wp_worker *worker)
{
    size_t handled = 99;
    WPT_OK(wp_worker_drain(&handled, worker, 60000, WPT_ERR));
    return handled;
}

/* What a handler does, and what it saw. */
typedef struct script {
    wp_outcome outcome;
    bool finish; /* by wp_delivery_finish(), with these */
    const char *reason;
    int64_t delay_ms;
    size_t calls;
    wp_id id;
    int64_t attempt;
} script;

static wp_outcome play(wp_delivery *delivery, void *user)
{
    script *s = user;
    const wp_received *m = wp_delivery_message(delivery);
    s->calls++;
    s->id = *wp_received_id(m);
    s->attempt = wp_received_attempt(m);
    if (s->finish &&
        wp_delivery_finish(delivery, s->outcome, s->reason, s->delay_ms, NULL) != WP_OK)
        return WP_OUTCOME_NONE;
    return s->outcome;
}

/* ---- outcomes ----------------------------------------------------------------------------- */

typedef struct seen {
    bool whole;
    wp_cancel cancel;
} seen;

static wp_outcome look(wp_delivery *delivery, void *user)
{
    seen *s = user;
    const wp_received *m = wp_delivery_message(delivery);
    size_t len = 0;
    s->whole = strcmp(wp_received_topic(m), "orders") == 0 &&
               strcmp(wp_received_payload(&len, m), "pay") == 0 && len == 3 &&
               strcmp(wp_received_correlation_id(m), "c") == 0 &&
               strcmp(wp_received_ordering_key(m), "o") == 0 &&
               strcmp(wp_received_headers(m), "{\"traceparent\":\"00-1\"}") == 0 &&
               wp_received_attempt(m) == 0 && wp_received_claim_number(m) == 1 &&
               wp_received_created_us(m) == WPT_START_US && wp_received_due_us(m) == 5 &&
               wp_received_expires_us(m) == WP_TIME_US_MAX;
    s->cancel = wp_delivery_cancelled(delivery);
    return WP_OUTCOME_DONE;
}

/* scenario: WRK-101 */
/* proves: OBX-054, OBX-057, OBX-032, OBX-112, BND-003 */
static void test_worker__handler_of_the_topic__gets_the_whole_message_and_acks_it(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, WPT_OPTIONS("worker.name", "w1"));
    wp_message *message = wpt_message("orders", "pay");
    script other = {.outcome = WP_OUTCOME_DONE};
    seen s = {.cancel = WP_CANCEL_STOP};
    wp_outbox_info *info;
    wp_id id;
    WPT_OK(wp_message_set_correlation_id(message, "c", WPT_ERR));
    WPT_OK(wp_message_set_ordering_key(message, "o", WPT_ERR));
    WPT_OK(wp_message_set_header(message, "traceparent", "00-1", WPT_ERR));
    WPT_OK(wp_message_set_due_us(message, 5, WPT_ERR));
    WPT_OK(wp_message_set_expires_us(message, WP_TIME_US_MAX, WPT_ERR));
    id = wpt_send(b->store, NULL, message);
    handle(worker, "orders", look, &s);
    handle(worker, "Orders", play, &other);
    assert_int_equal(drain(worker), 1);
    assert_true(s.whole);
    assert_int_equal(s.cancel, WP_CANCEL_NONE);
    assert_int_equal(other.calls, 0);
    info = wpt_info(b->store, &id);
    assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_DONE);
    assert_string_equal(wp_outbox_info_finished_by(info), "w1");
    wp_outbox_info_free(info);
    wp_worker_free(worker);
}

/* scenario: WRK-102 */
/* proves: WRK-004, OBX-056, OBX-058 */
static void test_worker__retry_with_delay_and_reason__comes_again_with_attempt_1(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, NULL);
    script s = {.outcome = WP_OUTCOME_RETRY, .finish = true, .reason = "later", .delay_ms = 7000};
    wp_id id = wpt_enqueue(b->store, "t", "x");
    handle(worker, "t", play, &s);
    assert_int_equal(drain(worker), 1);
    assert_int_equal(s.attempt, 0);
    wpt_last_error_is(b->store, &id, "later");
    wpt_advance_ms(b->clock, 6999);
    assert_int_equal(drain(worker), 0);
    wpt_advance_ms(b->clock, 1);
    s.outcome = WP_OUTCOME_DONE;
    assert_int_equal(drain(worker), 1);
    assert_int_equal(s.attempt, 1);
    assert_true(wpt_id_equal(&s.id, &id));
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_DONE);
    wp_worker_free(worker);
}

/* scenario: WRK-103 */
/* proves: BND-003, OBX-056, OBX-061, OBX-062 */
static void test_worker__no_useful_answer__is_retried_after_the_backoff(void **state)
{
    static const wp_outcome answers[] = {WP_OUTCOME_NONE, (wp_outcome)99, (wp_outcome)-1,
                                         WP_OUTCOME_RETRY};
    bed *b = *state;
    wp_worker *worker = worker_new(b, NULL);
    script s = {.outcome = WP_OUTCOME_NONE};
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    handle(worker, "t", play, &s);
    for (size_t i = 0; i < WPT_COUNT(answers); i++) {
        const int64_t full = INT64_C(1000000) << i;
        wp_outbox_info *info;
        s.outcome = answers[i];
        assert_int_equal(drain(worker), 1);
        assert_int_equal(s.attempt, i);
        info = wpt_info(b->store, &id);
        assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_READY);
        assert_in_range(wp_outbox_info_next_attempt_us(info) - wp_clock_utc_us(b->clock),
                        full * 8 / 10, full);
        assert_string_equal(wp_outbox_info_last_error(info),
                            answers[i] == WP_OUTCOME_RETRY ? "the handler asked for a retry"
                                                           : "the handler gave no known outcome");
        wp_outbox_info_free(info);
        wpt_advance_ms(b->clock, full / 1000);
    }
    wp_worker_free(worker);
}

/* scenario: WRK-104 */
/* proves: WRK-004 */
static void test_worker__reject__dead_letter_at_once(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, NULL);
    script s = {.outcome = WP_OUTCOME_REJECT, .finish = true, .reason = "no such order"};
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    handle(worker, "t", play, &s);
    assert_int_equal(drain(worker), 1);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_FAILED);
    wpt_last_error_is(b->store, &id, "no such order");
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_FAILED), 1);
    wp_worker_free(worker);
}

static wp_outcome release_twice(wp_delivery *delivery, void *user)
{
    script *s = user;
    s->attempt += wp_received_attempt(wp_delivery_message(delivery));
    if (++s->calls == 1)
        return WP_OUTCOME_RELEASE;
    if (s->calls > 2)
        return WP_OUTCOME_DONE;
    return wp_delivery_finish(delivery, WP_OUTCOME_RELEASE, "unused", 0, NULL) == WP_OK
               ? WP_OUTCOME_RELEASE
               : WP_OUTCOME_REJECT;
}

/* proves: WRK-004, OBX-116 */
static void test_worker__release__comes_again_at_once_with_the_same_attempt(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, WPT_OPTIONS("worker.max_attempts", "1"));
    script s = {0};
    wp_outbox_info *info;
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    handle(worker, "t", release_twice, &s);
    assert_int_equal(drain(worker), 3);
    assert_int_equal(s.attempt, 0);
    info = wpt_info(b->store, &id);
    assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_DONE);
    assert_int_equal(wp_received_attempt(wp_outbox_info_message(info)), 0);
    assert_int_equal(wp_received_claim_number(wp_outbox_info_message(info)), 3);
    assert_null(wp_outbox_info_last_error(info));
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_RELEASED), 2);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_ABANDONED), 0);
    wp_outbox_info_free(info);
    wp_worker_free(worker);
}

/* scenario: WRK-105 */
/* proves: OBX-064, OBX-065, OBX-056 */
static void test_worker__past_max_attempts__dead_letter(void **state)
{
    bed *b = *state;
    wp_worker *three = worker_new(b, WPT_OPTIONS("worker.max_attempts", "3"));
    wp_worker *ten = worker_new(b, NULL);
    script s = {.outcome = WP_OUTCOME_RETRY, .finish = true, .reason = "bad", .delay_ms = 1};
    wp_id id = wpt_enqueue(b->store, "three", "x");
    handle(three, "three", play, &s);
    handle(ten, "ten", play, &s);
    for (int i = 0; i < 20; i++) {
        (void)drain(three);
        wpt_advance_ms(b->clock, 1);
    }
    assert_int_equal(s.calls, 3);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_FAILED);
    assert_int_equal(wpt_attempt_of(b->store, &id), 3);
    wpt_last_error_is(b->store, &id, "bad");
    s.calls = 0;
    id = wpt_enqueue(b->store, "ten", "x");
    for (int i = 0; i < 20; i++) {
        (void)drain(ten);
        wpt_advance_ms(b->clock, 1);
    }
    assert_int_equal(s.calls, 10); /* the default */
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_FAILED);
    wp_worker_free(three);
    wp_worker_free(ten);
}

static wp_outcome defer(wp_delivery *delivery, void *user)
{
    wp_delivery **kept = user;
    *kept = wp_delivery_ref(delivery);
    return WP_OUTCOME_DEFERRED;
}

static void *finish_done(void *arg)
{
    wp_delivery *delivery = arg;
    (void)wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, NULL);
    return NULL;
}

/* scenario: WRK-106 */
/* proves: WRK-004 */
static void test_worker__deferred__finished_later_from_another_thread(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, NULL);
    wp_delivery *kept = NULL;
    wp__thread thread;
    size_t handled = 0;
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    handle(worker, "t", defer, &kept);
    WPT_OK(wp_worker_step(&handled, worker, WPT_ERR));
    assert_int_equal(handled, 1);
    assert_non_null(kept);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_IN_PROGRESS);
    WPT_STATUS(wp_delivery_settle(kept, 0, WPT_ERR), WP_E_STATE);
    WPT_OK(wp__thread_start(&thread, "finish", finish_done, kept, WPT_ERR));
    wp__thread_join(&thread);
    WPT_STATUS(wp_delivery_finish(kept, WP_OUTCOME_RETRY, NULL, 0, WPT_ERR), WP_E_STATE);
    assert_int_equal(drain(worker), 0);
    WPT_OK(wp_delivery_settle(kept, 0, WPT_ERR));
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_DONE);
    wp_delivery_free(kept);
    wp_worker_free(worker);
}

/* scenario: WRK-107 */
/* proves: WRK-004 */
static void test_worker__pulled__finished_and_written(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, NULL);
    wp_delivery *delivery = NULL;
    wp_id ids[2];
    handle(worker, "t", NULL, NULL);
    WPT_STATUS(wp_worker_next(&delivery, worker, 0, WPT_ERR), WP_E_TIMEOUT);
    assert_null(delivery);
    ids[0] = wpt_enqueue(b->store, "t", "1");
    WPT_OK(wp_worker_next(&delivery, worker, 60000, WPT_ERR));
    assert_true(wpt_id_equal(wp_received_id(wp_delivery_message(delivery)), &ids[0]));
    WPT_STATUS(wp_delivery_settle(delivery, 0, WPT_ERR), WP_E_STATE);
    WPT_OK(wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
    WPT_OK(wp_delivery_settle(delivery, 60000, WPT_ERR));
    assert_int_equal(wpt_status_of(b->store, &ids[0]), WP_MESSAGE_DONE);
    wp_delivery_free(delivery);
    /* one that is dropped unfinished is retried */
    ids[1] = wpt_enqueue(b->store, "t", "2");
    WPT_OK(wp_worker_next(&delivery, worker, 60000, WPT_ERR));
    wp_delivery_free(delivery);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(wpt_attempt_of(b->store, &ids[1]), 1);
    WPT_STATUS(wp_worker_next(&delivery, worker, 0, WPT_ERR), WP_E_STOPPED);
    wp_worker_free(worker);
}

/* ---- topics ------------------------------------------------------------------------------- */

/* scenario: WRK-108 */
/* proves: OBX-110, OBX-055 */
static void
test_worker__topic_without_a_handler__left_alone_and_seen_in_the_statistics(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, NULL);
    wp_worker *all = worker_new(b, WPT_OPTIONS("worker.all_topics", "true"));
    script s = {.outcome = WP_OUTCOME_DONE};
    const wp_id id = wpt_enqueue(b->store, "nobody's", "x");
    (void)wpt_enqueue(b->store, "t", "x");
    handle(worker, "t", play, &s);
    assert_int_equal(drain(worker), 1);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_READY);
    assert_int_equal(wpt_attempt_of(b->store, &id), 0);
    assert_int_equal(wpt_stat(b->store, "nobody's", WP_STAT_READY), 1);
    /* one that claims all topics gives it back as failed */
    handle(all, "t", play, &s);
    assert_int_equal(drain(all), 1);
    assert_int_equal(s.calls, 1);
    assert_int_equal(wpt_attempt_of(b->store, &id), 1);
    wpt_last_error_is(b->store, &id, "no handler for the topic");
    wp_worker_free(worker);
    wp_worker_free(all);
}

/* scenario: WRK-119 */
/* proves: WRK-003, OBX-063 */
static void test_worker__options_of_one_topic__differ_from_the_workers(void **state)
{
    bed *b = *state;
    wp_worker *worker =
        worker_new(b, WPT_OPTIONS("worker.max_attempts", "5", "worker.backoff_jitter", "0",
                                  "worker.backoff_base_ms", "100"));
    script s = {.outcome = WP_OUTCOME_RETRY};
    const wp_id once = wpt_enqueue(b->store, "once", "x");
    const wp_id slow = wpt_enqueue(b->store, "slow", "x");
    const wp_id plain = wpt_enqueue(b->store, "plain", "x");
    wp_outbox_info *info;
    handle(worker, "once", play, &s);
    handle(worker, "slow", play, &s);
    handle(worker, "plain", play, &s);
    WPT_OK(wp_worker_topic_set(worker, WP_SOURCE_OUTBOX, "once", "max_attempts", "1", WPT_ERR));
    WPT_OK(
        wp_worker_topic_set(worker, WP_SOURCE_OUTBOX, "slow", "backoff_base_ms", "9000", WPT_ERR));
    WPT_STATUS(wp_worker_topic_set(worker, WP_SOURCE_OUTBOX, "slow", "flush_ms", "1", WPT_ERR),
               WP_E_CONFIG);
    WPT_STATUS(wp_worker_topic_set(worker, WP_SOURCE_OUTBOX, "slow", "max_attempts", "0", WPT_ERR),
               WP_E_CONFIG);
    assert_int_equal(drain(worker), 3);
    assert_int_equal(wpt_status_of(b->store, &once), WP_MESSAGE_FAILED);
    info = wpt_info(b->store, &slow);
    assert_int_equal(wp_outbox_info_next_attempt_us(info), WPT_START_US + 9000000);
    wp_outbox_info_free(info);
    info = wpt_info(b->store, &plain);
    assert_int_equal(wp_outbox_info_next_attempt_us(info), WPT_START_US + 100000);
    wp_outbox_info_free(info);
    WPT_STATUS(wp_worker_topic_set(worker, WP_SOURCE_OUTBOX, "slow", "lease_ms", "1000", WPT_ERR),
               WP_E_STATE); /* it has run */
    wp_worker_free(worker);
}

/* ---- time --------------------------------------------------------------------------------- */

/* A handler that waits at a gate, and what it learns there. */
typedef struct waiting {
    wpt_gate gate;
    wp_outcome outcome;
    const char *reason;
    atomic_int cancel; /* of the last one, when it went on */
    atomic_int finish; /* what finishing said */
    wp_delivery *_Atomic delivery;
} waiting;

static void waiting_init(waiting *w, wp_outcome outcome)
{
    *w = (waiting){.outcome = outcome};
    wpt_gate_init(&w->gate);
}

static wp_outcome wait_at_gate(wp_delivery *delivery, void *user)
{
    waiting *w = user;
    atomic_store(&w->delivery, delivery);
    wpt_gate_pass(&w->gate);
    atomic_store(&w->cancel, (int)wp_delivery_cancelled(delivery));
    atomic_store(&w->finish, (int)wp_delivery_finish(delivery, w->outcome, w->reason, 0, NULL));
    return w->outcome;
}

static bool is_cancelled(waiting *w, wp_cancel why)
{
    wp_delivery *delivery = atomic_load(&w->delivery);
    return delivery && wp_delivery_cancelled(delivery) == why;
}

/* scenario: WRK-109 */
/* proves: WRK-003, OBX-057, OBX-060 */
static void test_worker__handler_past_its_timeout__told_and_retried_while_others_go_on(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, WPT_OPTIONS("worker.flush_ms", "0"));
    waiting w;
    script other = {.outcome = WP_OUTCOME_DONE};
    wp_id slow = wpt_enqueue(b->store, "slow", "x"), quick;
    waiting_init(&w, WP_OUTCOME_RETRY);
    w.reason = "told to";
    handle(worker, "slow", wait_at_gate, &w);
    handle(worker, "quick", play, &other);
    WPT_OK(wp_worker_topic_set(worker, WP_SOURCE_OUTBOX, "slow", "timeout_ms", "5000", WPT_ERR));
    WPT_OK(wp_worker_start(worker, 2, WPT_ERR));
    WPT_AWAIT(wpt_gate_waiting(&w.gate) == 1);
    assert_true(is_cancelled(&w, WP_CANCEL_NONE));
    quick = wpt_enqueue(b->store, "quick", "x");
    WPT_AWAIT(wp_worker_counter(worker, WP_COUNTER_ACKED) == 1);
    assert_int_equal(wpt_status_of(b->store, &quick), WP_MESSAGE_DONE);
    wpt_advance_ms(b->clock, 5000);
    WPT_AWAIT(is_cancelled(&w, WP_CANCEL_TIMEOUT));
    wpt_gate_open(&w.gate, SIZE_MAX);
    WPT_AWAIT(wp_worker_counter(worker, WP_COUNTER_ABANDONED) == 1);
    assert_int_equal(wpt_attempt_of(b->store, &slow), 1);
    wpt_last_error_is(b->store, &slow, "timeout: told to");
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
    wpt_gate_fini(&w.gate);
}

/* scenario: WRK-117 */
/* proves: CLK-001 */
static void test_worker__wall_clock_jumps__no_lease_of_running_work_is_lost(void **state)
{
    static const int64_t jumps_s[] = {-3600, 3600, 3600, -7200};
    bed *b = *state;
    wp_worker *worker = worker_new(b, WPT_OPTIONS("worker.lease_ms", "10000"));
    waiting w;
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    waiting_init(&w, WP_OUTCOME_DONE);
    handle(worker, "t", wait_at_gate, &w);
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    WPT_AWAIT(wpt_gate_waiting(&w.gate) == 1);
    for (size_t i = 0; i < WPT_COUNT(jumps_s); i++) {
        const int64_t before = wp_worker_counter(worker, WP_COUNTER_RENEWED);
        WPT_OK(wp_clock_jump_us(b->clock, jumps_s[i] * WPT_SECOND_US, WPT_ERR));
        wpt_advance_ms(b->clock, 1000); /* renewed as soon as it is seen */
        WPT_AWAIT(wp_worker_counter(worker, WP_COUNTER_RENEWED) > before);
        assert_true(is_cancelled(&w, WP_CANCEL_NONE));
    }
    wpt_gate_open(&w.gate, SIZE_MAX);
    WPT_AWAIT(wp_worker_counter(worker, WP_COUNTER_ACKED) == 1);
    assert_int_equal(atomic_load(&w.finish), WP_OK);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_LEASES_LOST), 0);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_DONE);
    wp_worker_free(worker);
    wpt_gate_fini(&w.gate);
}

/* ---- leases ------------------------------------------------------------------------------- */

/* scenario: WRK-112 */
/* proves: OBX-114, OBX-115 */
static void test_worker__lease_taken_away__told_and_finishing_says_so(void **state)
{
    bed *b = *state;
    wp_worker *worker;
    wp_clock *ahead = wpt_clock();
    waiting w;
    wp_store *other;
    wp_config *config;
    wp_id id;
    if (b->engine->opens_new) { /* nobody else can reach its database */
        wp_clock_free(ahead);
        return;
    }
    worker = worker_new(b, NULL);
    id = wpt_enqueue(b->store, "t", "x");
    waiting_init(&w, WP_OUTCOME_DONE);
    handle(worker, "t", wait_at_gate, &w);
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    WPT_AWAIT(wpt_gate_waiting(&w.gate) == 1);
    /* Another process, whose clock is far ahead, takes it over. */
    config = bed_config(b, NULL);
    WPT_OK(wp_config_set_clock(config, ahead, WPT_ERR));
    WPT_OK(wp_store_open(&other, config, WPT_ERR));
    wp_config_free(config);
    wpt_advance_ms(ahead, 3600000);
    WPT_OK(wp_outbox_reap(NULL, other, WPT_ERR));
    wpt_advance_ms(ahead, 60000);
    assert_int_equal(wpt_claim_one(other, 9, &id, 3600000), 2);
    wpt_advance_ms(b->clock, 18000); /* 60 % of the lease */
    WPT_AWAIT(is_cancelled(&w, WP_CANCEL_LEASE_LOST));
    wpt_gate_open(&w.gate, SIZE_MAX);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(atomic_load(&w.finish), WP_E_LEASE_LOST);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_LEASES_LOST), 1);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_ACKED), 0);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_IN_PROGRESS); /* the other's */
    wp_worker_free(worker);
    wp_store_close(other);
    wp_clock_free(ahead);
    wpt_gate_fini(&w.gate);
}

/* proves: OBX-114 */
static void test_worker__reaped_unseen__finishing_is_accepted_and_settling_says_so(void **state)
{
    bed *b = *state;
    wp_clock *ahead = wpt_clock();
    wp_delivery *delivery = NULL;
    wp_worker *worker;
    wp_config *config;
    wp_store *other;
    wp_id id;
    if (b->engine->opens_new) { /* nobody else can reach its database */
        wp_clock_free(ahead);
        return;
    }
    worker = worker_new(b, NULL);
    id = wpt_enqueue(b->store, "t", "x");
    handle(worker, "t", NULL, NULL);
    WPT_OK(wp_worker_next(&delivery, worker, 60000, WPT_ERR));
    config = bed_config(b, NULL);
    WPT_OK(wp_config_set_clock(config, ahead, WPT_ERR));
    WPT_OK(wp_store_open(&other, config, WPT_ERR));
    wp_config_free(config);
    wpt_advance_ms(ahead, 3600000);
    WPT_OK(wp_outbox_reap(NULL, other, WPT_ERR));
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_READY);
    WPT_OK(wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
    WPT_STATUS(wp_delivery_settle(delivery, 60000, WPT_ERR), WP_E_LEASE_LOST);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_LEASES_LOST), 1);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_READY);
    assert_int_equal(wpt_attempt_of(b->store, &id), 1);
    wp_delivery_free(delivery);
    wp_worker_free(worker);
    wp_store_close(other);
    wp_clock_free(ahead);
}

/* scenario: WRK-113 */
/* proves: OBX-049, OBX-053, OBX-064 */
static void test_worker__poison_message__dead_letter_when_its_workers_die_at_it(void **state)
{
    bed *b = *state;
    wp_worker *reaper = worker_new(b, NULL); /* knows nothing of the topic */
    script s = {.outcome = WP_OUTCOME_DONE};
    const wp_id id = wpt_enqueue(b->store, "poison", "x");
    handle(reaper, "other", play, &s);
    for (int i = 0; i < 3; i++) {
        wp_worker *victim =
            worker_new(b, WPT_OPTIONS("worker.max_attempts", "3", "worker.lease_ms", "10000"));
        wp_delivery *delivery = NULL;
        handle(victim, "poison", NULL, NULL);
        WPT_OK(wp_worker_next(&delivery, victim, 60000, WPT_ERR));
        assert_int_equal(wp_received_attempt(wp_delivery_message(delivery)), i);
        wp_worker_free(victim); /* as good as dead: it will not renew, nor finish */
        WPT_STATUS(wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, WPT_ERR), WP_E_STOPPED);
        wp_delivery_free(delivery);
        assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_IN_PROGRESS);
        wpt_advance_ms(b->clock, 10000);
        assert_int_equal(drain(reaper), 0);
        wpt_advance_ms(b->clock, 60000);
        (void)wpt_enqueue(b->store, "other", "x"); /* goes on all the time */
        assert_int_equal(drain(reaper), 1);
    }
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_FAILED);
    assert_int_equal(wpt_attempt_of(b->store, &id), 3);
    wpt_last_error_is(b->store, &id, "lease expired");
    assert_int_equal(wp_worker_counter(reaper, WP_COUNTER_REAPED), 3);
    wp_worker_free(reaper);
}

/* Any of them may be what killed the process that held them. */
/* proves: OBX-053, OBX-064 */
static void test_worker__leases_ran_out__those_messages_run_alone_one_by_one(void **state)
{
    enum { LOST = 4, SOUND = 3 };
    bed *b = *state;
    wp_worker *worker = worker_new(b, WPT_OPTIONS("worker.concurrency", "4"));
    waiting w;
    wp_claim *claim = NULL;
    wp_id owner;
    wp_id_new(&owner);
    for (int i = 0; i < LOST; i++)
        (void)wpt_enqueue(b->store, "t", "lost");
    WPT_OK(wp_outbox_claim(&claim, b->store, &owner, NULL, 0, LOST, 1000, WPT_ERR));
    assert_int_equal(wp_claim_count(claim), LOST);
    wp_claim_free(claim);
    wpt_advance_ms(b->clock, 1000);
    WPT_OK(wp_outbox_reap(NULL, b->store, WPT_ERR));
    wpt_advance_ms(b->clock, 60000);
    for (int i = 0; i < SOUND; i++)
        (void)wpt_enqueue(b->store, "t", "sound");
    waiting_init(&w, WP_OUTCOME_DONE);
    handle(worker, "t", wait_at_gate, &w);
    WPT_OK(wp_worker_start(worker, 4, WPT_ERR));
    for (size_t i = 0; i < LOST - 1; i++) {
        WPT_AWAIT(wpt_gate_passed(&w.gate) == i && wpt_gate_waiting(&w.gate) == 1);
        assert_int_equal(wpt_stat(b->store, "t", WP_STAT_IN_PROGRESS), 1);
        assert_int_equal(wpt_stat(b->store, "t", WP_STAT_DONE), i);
        wpt_gate_open(&w.gate, 1);
    }
    WPT_AWAIT(wpt_gate_passed(&w.gate) == LOST - 1 && wpt_gate_waiting(&w.gate) == 1);
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_IN_PROGRESS), 1);
    wpt_advance_ms(b->clock, 5000); /* it has not killed this one: others go on beside it */
    WPT_AWAIT(wpt_gate_waiting(&w.gate) == 1 + SOUND);
    wpt_gate_open(&w.gate, SIZE_MAX);
    WPT_AWAIT(wp_worker_counter(worker, WP_COUNTER_ACKED) == LOST + SOUND);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
    wpt_gate_fini(&w.gate);
}

/* ---- parallel ----------------------------------------------------------------------------- */

enum { PARALLEL = 4, WORKERS = 2, MANY = 200 };

typedef struct crowd {
    wpt_gate gate;
    atomic_int running[MANY]; /* by message */
    atomic_int calls[MANY];
    atomic_int twice;
} crowd;

static wp_outcome join_crowd(wp_delivery *delivery, void *user)
{
    crowd *c = user;
    const long n = strtol(wp_received_payload(NULL, wp_delivery_message(delivery)), NULL, 10);
    if (atomic_fetch_add(&c->running[n], 1) > 0)
        atomic_fetch_add(&c->twice, 1);
    wpt_gate_pass(&c->gate);
    atomic_fetch_add(&c->calls[n], 1);
    atomic_fetch_sub(&c->running[n], 1);
    return WP_OUTCOME_DONE;
}

/* scenario: WRK-114 */
/* proves: OBX-059, OBX-060, OBX-083, WRK-003 */
static void test_worker__many_messages__parallel_up_to_the_concurrency_and_none_twice(void **state)
{
    bed *b = *state;
    wp_worker *workers[WORKERS];
    crowd *c = calloc(1, sizeof *c);
    int64_t acked = 0;
    assert_non_null(c);
    wpt_gate_init(&c->gate);
    for (int i = 0; i < MANY; i++) {
        char payload[16];
        (void)snprintf(payload, sizeof payload, "%d", i);
        (void)wpt_enqueue(b->store, "t", payload);
    }
    for (int i = 0; i < WORKERS; i++) {
        workers[i] =
            worker_new(b, WPT_OPTIONS("worker.concurrency", "4", "worker.batch_size", "10"));
        handle(workers[i], "t", join_crowd, c);
        WPT_OK(wp_worker_start(workers[i], PARALLEL + 3, WPT_ERR)); /* more than may run */
    }
    WPT_AWAIT(wpt_gate_waiting(&c->gate) == (size_t)PARALLEL * WORKERS);
    wpt_gate_open(&c->gate, 1);
    WPT_AWAIT(wpt_gate_passed(&c->gate) == 1);
    WPT_AWAIT(wpt_gate_waiting(&c->gate) == (size_t)PARALLEL * WORKERS); /* one took its place */
    wpt_gate_open(&c->gate, SIZE_MAX);
    WPT_AWAIT(wpt_gate_passed(&c->gate) == MANY);
    for (int i = 0; i < WORKERS; i++)
        WPT_OK(wp_worker_stop(NULL, workers[i], 60000, WPT_ERR));
    for (int i = 0; i < WORKERS; i++) {
        acked += wp_worker_counter(workers[i], WP_COUNTER_ACKED);
        assert_int_equal(wp_worker_counter(workers[i], WP_COUNTER_LEASES_LOST), 0);
        wp_worker_free(workers[i]);
    }
    assert_int_equal(acked, MANY);
    assert_int_equal(atomic_load(&c->twice), 0);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(atomic_load(&c->calls[i]), 1);
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_DONE), MANY);
    wpt_gate_fini(&c->gate);
    free(c);
}

/* scenario: WRK-118 */
/* proves: WRK-005 */
static void test_worker__two_stores_in_one_process__do_not_mix(void **state)
{
    bed *b = *state;
    char url[256];
    wp_config *config = bed_config(b, WPT_OPTIONS("store.deploy", "true"));
    wp_store *other = NULL;
    wp_worker *here, *there;
    script s = {.outcome = WP_OUTCOME_DONE}, t = {.outcome = WP_OUTCOME_REJECT};
    wp_id id, other_id;
    b->engine->url(url, sizeof url, &b->dir, "other");
    if (b->engine->made_first)
        b->engine->make(url, sizeof url, NULL);
    WPT_OK(wp_config_set(config, "store.url", url, WPT_ERR));
    WPT_OK(wp_store_open(&other, config, WPT_ERR));
    wp_config_free(config);
    here = worker_on(b->store, b, NULL);
    there = worker_on(other, b, NULL);
    handle(here, "t", play, &s);
    handle(there, "t", play, &t);
    id = wpt_enqueue(b->store, "t", "x");
    assert_int_equal(drain(there), 0);
    other_id = wpt_enqueue(other, "t", "x");
    assert_int_equal(drain(there), 1);
    assert_int_equal(drain(here), 1);
    assert_true(wpt_id_equal(&s.id, &id));
    assert_true(wpt_id_equal(&t.id, &other_id));
    WPT_OK(wp_worker_stop(NULL, there, 60000, WPT_ERR));
    wp_worker_free(there);
    wp_store_close(other);
    (void)wpt_enqueue(b->store, "t", "x"); /* the first goes on */
    assert_int_equal(drain(here), 1);
    assert_int_equal(s.calls, 2);
    assert_int_equal(t.calls, 1);
    wp_worker_free(here);
}

/* ---- stopping ----------------------------------------------------------------------------- */

typedef struct stopper {
    wp_worker *worker;
    int64_t deadline_ms;
    size_t abandoned;
    wp_status st;
    wp__thread thread;
} stopper;

static void *stop_it(void *arg)
{
    stopper *self = arg;
    self->st = wp_worker_stop(&self->abandoned, self->worker, self->deadline_ms, NULL);
    return NULL;
}

/* scenario: WRK-110 */
/* proves: OBX-116 */
static void test_stop__handler_running__finishes_and_unstarted_claims_go_back(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, WPT_OPTIONS("worker.concurrency", "4"));
    stopper s = {.worker = worker, .deadline_ms = 60000, .abandoned = 99};
    waiting w;
    wp_id ids[6];
    int done = 0;
    size_t passed;
    waiting_init(&w, WP_OUTCOME_DONE);
    for (int i = 0; i < 6; i++)
        ids[i] = wpt_enqueue(b->store, "t", "x");
    handle(worker, "t", wait_at_gate, &w);
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR)); /* one runs, three are claimed and wait */
    WPT_AWAIT(wpt_gate_waiting(&w.gate) == 1);
    WPT_AWAIT(wpt_stat(b->store, "t", WP_STAT_IN_PROGRESS) == 4);
    WPT_OK(wp__thread_start(&s.thread, "stop", stop_it, &s, WPT_ERR));
    WPT_AWAIT(wpt_stat(b->store, "t", WP_STAT_READY) == 5); /* at once, while the handler runs */
    WPT_AWAIT(is_cancelled(&w, WP_CANCEL_STOP));
    wpt_gate_open(&w.gate, SIZE_MAX);
    wp__thread_join(&s.thread);
    assert_int_equal(s.st, WP_OK);
    assert_int_equal(s.abandoned, 0);
    passed = wpt_gate_passed(&w.gate);
    assert_int_equal(passed, 1);
    assert_int_equal(atomic_load(&w.finish), WP_OK); /* finishing in time still counts */
    for (int i = 0; i < 6; i++) {
        done += wpt_status_of(b->store, &ids[i]) == WP_MESSAGE_DONE;
        assert_int_equal(wpt_attempt_of(b->store, &ids[i]), 0);
    }
    assert_int_equal(done, 1);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_RELEASED), 3);
    (void)wpt_enqueue(b->store, "t", "x");
    WPT_OK(wp_worker_stop(&s.abandoned, worker, 0, WPT_ERR)); /* again */
    assert_int_equal(s.abandoned, 0);
    WPT_STATUS(wp_worker_start(worker, 1, WPT_ERR), WP_E_STOPPED);
    WPT_STATUS(wp_worker_drain(NULL, worker, 0, WPT_ERR), WP_E_STOPPED);
    wp_worker_free(worker);
    assert_int_equal(wpt_gate_passed(&w.gate), 1);
    wpt_gate_fini(&w.gate);
}

/* scenario: WRK-111 */
/* proves: OBX-116 */
static void test_stop__handler_does_not_return__the_deadline_holds(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, NULL);
    waiting w;
    size_t abandoned = 0;
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    wp_id later;
    waiting_init(&w, WP_OUTCOME_DONE);
    atomic_store(&w.finish, -1);
    handle(worker, "t", wait_at_gate, &w);
    WPT_OK(wp_worker_start(worker, 2, WPT_ERR));
    WPT_AWAIT(wpt_gate_waiting(&w.gate) == 1);
    WPT_OK(wp_worker_stop(&abandoned, worker, 20, WPT_ERR)); /* it returns, with the gate closed */
    assert_int_equal(abandoned, 1);
    assert_true(is_cancelled(&w, WP_CANCEL_LEASE_LOST));
    later = wpt_enqueue(b->store, "t", "x");
    wpt_gate_open(&w.gate, SIZE_MAX);
    WPT_AWAIT(atomic_load(&w.finish) >= 0);
    assert_int_equal(atomic_load(&w.finish), WP_E_STOPPED);
    wp_worker_free(worker);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_IN_PROGRESS); /* its lease lapses */
    assert_int_equal(wpt_attempt_of(b->store, &later), 0);
    assert_int_equal(wpt_gate_passed(&w.gate), 1);
    wpt_gate_fini(&w.gate);
}

/* ---- the app's transaction ---------------------------------------------------------------- */

typedef struct completer {
    bed *bed;
    bool commit;
    wp_status st;
    size_t calls;
} completer;

static wp_outcome complete(wp_delivery *delivery, void *user)
{
    completer *c = user;
    bed *b = c->bed;
    c->calls++;
    bed_exec(b, b->engine->begin);
    bed_exec(b, "INSERT INTO orders VALUES (1)");
    c->st = wp_delivery_complete(delivery, b->conn, NULL);
    bed_exec(b, c->st == WP_OK && c->commit ? b->engine->commit : b->engine->rollback);
    return WP_OUTCOME_DONE;
}

/* scenario: WRK-115 */
/* proves: OBX-113 */
static void test_worker__completed_in_the_apps_transaction__both_or_neither(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, WPT_OPTIONS("worker.name", "w1"));
    completer c = {.bed = b, .commit = false};
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    wp_outbox_info *info;
    handle(worker, "t", complete, &c);
    assert_int_equal(drain(worker), 1); /* rolled back: DONE does not count */
    assert_int_equal(c.st, WP_OK);
    assert_int_equal(bed_number(b, "SELECT count(*) FROM orders"), 0);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_READY);
    assert_int_equal(wpt_attempt_of(b->store, &id), 1);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_ACKED), 0);
    wpt_advance_ms(b->clock, 60000);
    c.commit = true;
    assert_int_equal(drain(worker), 1);
    assert_int_equal(c.calls, 2);
    assert_int_equal(bed_number(b, "SELECT count(*) FROM orders"), 1);
    info = wpt_info(b->store, &id);
    assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_DONE);
    assert_string_equal(wp_outbox_info_finished_by(info), "w1");
    wp_outbox_info_free(info);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_ACKED), 1);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_LEASES_LOST), 0);
    wp_worker_free(worker);
}

/* proves: OBX-113, OBX-116 */
static void test_worker__completed_after_the_worker_was_stopped__is_refused(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, NULL);
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    wp_delivery *delivery = NULL;
    wp_op *op = NULL;
    size_t abandoned = 99;
    handle(worker, "t", NULL, NULL);
    WPT_OK(wp_worker_next(&delivery, worker, 60000, WPT_ERR));
    WPT_OK(wp_worker_stop(&abandoned, worker, 0, WPT_ERR));
    assert_int_equal(abandoned, 1);
    for (int freed = 0; freed < 2; freed++) {
        bed_exec(b, b->engine->begin);
        WPT_STATUS(wp_delivery_complete(delivery, b->conn, WPT_ERR), WP_E_STOPPED);
        WPT_STATUS(wp_delivery_complete_op(&op, delivery, WPT_ERR), WP_E_STOPPED);
        bed_exec(b, b->engine->commit);
        assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_IN_PROGRESS);
        if (!freed)
            wp_worker_free(worker);
    }
    wp_delivery_free(delivery);
}

/* proves: OBX-064, OBX-113 */
static void test_worker__completed_but_never_committed__dead_letter_at_the_limit(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, WPT_OPTIONS("worker.max_attempts", "2"));
    completer c = {.bed = b, .commit = false};
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    handle(worker, "t", complete, &c);
    for (int i = 0; i < 4; i++) {
        (void)drain(worker);
        wpt_advance_ms(b->clock, 60000);
    }
    assert_int_equal(c.calls, 2);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_FAILED);
    assert_int_equal(wpt_attempt_of(b->store, &id), 2);
    wpt_last_error_is(b->store, &id, "the transaction that completed it did not commit");
    wp_worker_free(worker);
}

/* How a handler that completes ends, and what must come of it. */
typedef struct completion {
    bool commit;
    bool lose; /* its lease runs out meanwhile, and it is reaped */
    wp_outcome outcome;
    wp_status fate;
    wp_message_status status;
    wp_counter counter; /* the one that counts it */
    bed *bed;
    wp_delivery *delivery;
} completion;

static wp_outcome complete_as_told(wp_delivery *delivery, void *user)
{
    completion *c = user;
    bed *b = c->bed;
    c->delivery = wp_delivery_ref(delivery);
    bed_exec(b, b->engine->begin);
    WPT_OK(wp_delivery_complete(delivery, b->conn, WPT_ERR));
    bed_exec(b, c->commit ? b->engine->commit : b->engine->rollback);
    if (c->lose) {
        wpt_advance_ms(b->clock, 30000);
        WPT_OK(wp_outbox_reap(NULL, b->store, WPT_ERR));
    }
    return c->outcome;
}

/* proves: OBX-113, OBX-114 */
static void test_worker__completed_and_answered_otherwise__the_commit_decides(void **state)
{
    completion cases[] = {
        {true, false, WP_OUTCOME_DONE, WP_OK, WP_MESSAGE_DONE, WP_COUNTER_ACKED, NULL, NULL},
        {true, false, WP_OUTCOME_RETRY, WP_OK, WP_MESSAGE_DONE, WP_COUNTER_ACKED, NULL, NULL},
        {true, false, WP_OUTCOME_REJECT, WP_OK, WP_MESSAGE_DONE, WP_COUNTER_ACKED, NULL, NULL},
        {true, false, WP_OUTCOME_NONE, WP_OK, WP_MESSAGE_DONE, WP_COUNTER_ACKED, NULL, NULL},
        {true, true, WP_OUTCOME_DONE, WP_OK, WP_MESSAGE_DONE, WP_COUNTER_ACKED, NULL, NULL},
        {false, false, WP_OUTCOME_RETRY, WP_OK, WP_MESSAGE_READY, WP_COUNTER_ABANDONED, NULL, NULL},
        {false, false, WP_OUTCOME_REJECT, WP_OK, WP_MESSAGE_FAILED, WP_COUNTER_FAILED, NULL, NULL},
        {false, false, WP_OUTCOME_DONE, WP_E_LEASE_LOST, WP_MESSAGE_READY, WP_COUNTER_ABANDONED,
         NULL, NULL},
        {false, true, WP_OUTCOME_DONE, WP_E_LEASE_LOST, WP_MESSAGE_READY, WP_COUNTER_LEASES_LOST,
         NULL, NULL},
        {false, true, WP_OUTCOME_REJECT, WP_E_LEASE_LOST, WP_MESSAGE_READY, WP_COUNTER_LEASES_LOST,
         NULL, NULL},
    };
    static const wp_counter counters[] = {WP_COUNTER_ACKED, WP_COUNTER_ABANDONED, WP_COUNTER_FAILED,
                                          WP_COUNTER_RELEASED, WP_COUNTER_LEASES_LOST};
    bed *b = *state;
    for (size_t i = 0; i < WPT_COUNT(cases); i++) {
        completion *c = &cases[i];
        wp_worker *worker = worker_new(b, NULL);
        size_t handled = 0;
        const wp_id id = wpt_enqueue(b->store, "t", "x");
        c->bed = b;
        handle(worker, "t", complete_as_told, c);
        WPT_OK(wp_worker_step(&handled, worker, WPT_ERR));
        assert_int_equal(handled, 1);
        WPT_STATUS(wp_delivery_settle(c->delivery, 0, WPT_ERR), c->fate);
        assert_int_equal(wpt_status_of(b->store, &id), c->status);
        for (size_t j = 0; j < WPT_COUNT(counters); j++)
            assert_int_equal(wp_worker_counter(worker, counters[j]), counters[j] == c->counter);
        wp_delivery_free(c->delivery);
        wp_worker_free(worker);
        if (c->status == WP_MESSAGE_READY) { /* out of the next one's way */
            const wp_id owner = wpt_owner(9);
            wpt_advance_ms(b->clock, 60000);
            (void)wpt_claim_one(b->store, 9, &id, 1000);
            WPT_OK(wp_outbox_ack(NULL, b->store, NULL, &owner, &id, NULL, 1, NULL, WPT_ERR));
        }
    }
}

/* ---- for tests ---------------------------------------------------------------------------- */

/* scenario: WRK-116 */
/* proves: WRK-007 */
static void test_drain__due_and_later__handles_what_is_due_and_step_handles_one(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, NULL);
    script s = {.outcome = WP_OUTCOME_DONE};
    wp_message *message = wpt_message("t", "later");
    size_t handled = 99;
    wp_id later;
    WPT_OK(wp_message_set_delay_ms(message, 1000, WPT_ERR));
    later = wpt_send(b->store, NULL, message);
    handle(worker, "t", play, &s);
    WPT_OK(wp_worker_step(&handled, worker, WPT_ERR));
    assert_int_equal(handled, 0);
    for (int i = 0; i < 250; i++) /* more than a claim takes */
        (void)wpt_enqueue(b->store, "t", "x");
    WPT_OK(wp_worker_step(&handled, worker, WPT_ERR));
    assert_int_equal(handled, 1);
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_DONE), 1);
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_IN_PROGRESS), 0);
    assert_int_equal(drain(worker), 249);
    assert_int_equal(wpt_status_of(b->store, &later), WP_MESSAGE_READY);
    wpt_advance_ms(b->clock, 1000);
    assert_int_equal(drain(worker), 1);
    assert_true(wpt_id_equal(&s.id, &later));
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    WPT_STATUS(wp_worker_drain(NULL, worker, 0, WPT_ERR), WP_E_STATE); /* it is running */
    WPT_STATUS(wp_worker_step(NULL, worker, WPT_ERR), WP_E_STATE);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    WPT_STATUS(wp_worker_step(NULL, worker, WPT_ERR), WP_E_STOPPED);
    wp_worker_free(worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_worker__handler_of_the_topic__gets_the_whole_message_and_acks_it),
        BED_TEST(test_worker__retry_with_delay_and_reason__comes_again_with_attempt_1),
        BED_TEST(test_worker__no_useful_answer__is_retried_after_the_backoff),
        BED_TEST(test_worker__reject__dead_letter_at_once),
        BED_TEST(test_worker__release__comes_again_at_once_with_the_same_attempt),
        BED_TEST(test_worker__past_max_attempts__dead_letter),
        BED_TEST(test_worker__deferred__finished_later_from_another_thread),
        BED_TEST(test_worker__pulled__finished_and_written),
        BED_TEST(test_worker__topic_without_a_handler__left_alone_and_seen_in_the_statistics),
        BED_TEST(test_worker__options_of_one_topic__differ_from_the_workers),
        BED_TEST(test_worker__handler_past_its_timeout__told_and_retried_while_others_go_on),
        BED_TEST(test_worker__wall_clock_jumps__no_lease_of_running_work_is_lost),
        BED_TEST(test_worker__lease_taken_away__told_and_finishing_says_so),
        BED_TEST(test_worker__reaped_unseen__finishing_is_accepted_and_settling_says_so),
        BED_TEST(test_worker__poison_message__dead_letter_when_its_workers_die_at_it),
        BED_TEST(test_worker__leases_ran_out__those_messages_run_alone_one_by_one),
        BED_TEST(test_worker__many_messages__parallel_up_to_the_concurrency_and_none_twice),
        BED_TEST(test_worker__two_stores_in_one_process__do_not_mix),
        BED_TEST(test_stop__handler_running__finishes_and_unstarted_claims_go_back),
        BED_TEST(test_stop__handler_does_not_return__the_deadline_holds),
        BED_TEST(test_worker__completed_in_the_apps_transaction__both_or_neither),
        BED_TEST(test_worker__completed_after_the_worker_was_stopped__is_refused),
        BED_TEST(test_worker__completed_but_never_committed__dead_letter_at_the_limit),
        BED_TEST(test_worker__completed_and_answered_otherwise__the_commit_decides),
        BED_TEST(test_drain__due_and_later__handles_what_is_due_and_step_handles_one),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
