/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's insides on a manual clock: how far it claims ahead, when it renews, what stopping
 * does in which order, who frees what. */
#include "support/wpt.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/worker.h"

/* ---- the ground --------------------------------------------------------------------------- */

/* A store in memory, and a handler that waits at a gate. */
typedef struct ground {
    wp_clock *clock;
    wp_store *store;
    wp_worker *worker;
    wpt_gate gate;
    wp_outcome outcome;
    atomic_int calls;
    atomic_int finish; /* what finishing in the handler said; -1: not yet */
    atomic_int cancel;
    wp_delivery *_Atomic delivery; /* the last one */
    atomic_int destroyed;
} ground;

static int ground_setup(void **state)
{
    ground *g = calloc(1, sizeof *g);
    assert_non_null(g);
    g->clock = wpt_clock();
    g->store = wpt_store("sqlite::memory:", g->clock, NULL);
    wpt_gate_init(&g->gate);
    g->outcome = WP_OUTCOME_DONE;
    atomic_store(&g->finish, -1);
    *state = g;
    return 0;
}

static int ground_teardown(void **state)
{
    ground *g = *state;
    wpt_gate_open(&g->gate, SIZE_MAX);
    if (g->worker) /* waits for handlers, which use the ground */
        WPT_OK(wp_worker_stop(NULL, g->worker, 60000, WPT_ERR));
    wp_worker_free(g->worker);
    wp_store_close(g->store);
    wp_clock_free(g->clock);
    wpt_gate_fini(&g->gate);
    free(g);
    return 0;
}

static wp_outcome at_gate(wp_delivery *delivery, void *user)
{
    ground *g = user;
    atomic_store(&g->delivery, delivery);
    atomic_fetch_add(&g->calls, 1);
    wpt_gate_pass(&g->gate);
    atomic_store(&g->cancel, (int)wp_delivery_cancelled(delivery));
    atomic_store(&g->finish, (int)wp_delivery_finish(delivery, g->outcome, NULL, 0, NULL));
    return g->outcome;
}

static void count_destroy(void *user)
{
    ground *g = user;
    atomic_fetch_add(&g->destroyed, 1);
}

static wp_worker *worker_new(ground *g, const char *const *options)
{
    wp_config *config = wpt_config(g->clock, options);
    wp_worker *worker = NULL;
    WPT_OK(wp_worker_new(&worker, g->store, config, WPT_ERR));
    wp_config_free(config);
    return worker;
}

/* The ground's worker, with its handler for the topic "t". */
static void use_worker(ground *g, const char *const *options)
{
    g->worker = worker_new(g, options);
    WPT_OK(wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "t", at_gate, g, count_destroy, WPT_ERR));
}

static void enqueue(ground *g, int count)
{
    for (int i = 0; i < count; i++)
        (void)wpt_enqueue(g->store, "t", "x");
}

static void start_at_gate(ground *g, unsigned threads, size_t waiting)
{
    WPT_OK(wp_worker_start(g->worker, threads, WPT_ERR));
    WPT_AWAIT(wpt_gate_waiting(&g->gate) == waiting);
}

static int64_t counter(const ground *g, wp_counter which)
{
    return wp_worker_counter(g->worker, which);
}

static size_t held(ground *g)
{
    size_t count;
    wp__mutex_lock(&g->worker->mutex);
    count = g->worker->parts->held;
    wp__mutex_unlock(&g->worker->mutex);
    return count;
}

static void stop(ground *g)
{
    WPT_OK(wp_worker_stop(NULL, g->worker, 60000, WPT_ERR));
}

static wp_delivery *next(ground *g)
{
    wp_delivery *delivery = NULL;
    WPT_OK(wp_worker_next(&delivery, g->worker, 60000, WPT_ERR));
    return delivery;
}

/* A worker whose topic "t" is pulled. */
static void use_pulling(ground *g, const char *const *options)
{
    g->worker = worker_new(g, options);
    WPT_OK(wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "t", NULL, NULL, NULL, WPT_ERR));
}

/* Another thread that stops the worker. */
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

static void stopper_start(stopper *s, wp_worker *worker, int64_t deadline_ms)
{
    *s = (stopper){.worker = worker, .deadline_ms = deadline_ms, .abandoned = 99};
    WPT_OK(wp__thread_start(&s->thread, "stop", stop_it, s, WPT_ERR));
}

/* It has returned, without an error. */
static void stopper_join(stopper *s, size_t abandoned)
{
    wp__thread_join(&s->thread);
    assert_int_equal(s->st, WP_OK);
    assert_int_equal(s->abandoned, abandoned);
}

/* ---- how far it claims ahead -------------------------------------------------------------- */

/* proves: WRK-003 */
static void test_prefetch__handlers_of_unknown_speed__no_more_than_can_run(void **state)
{
    ground *g = *state;
    use_worker(g, WPT_OPTIONS("worker.concurrency", "4", "worker.batch_size", "10"));
    enqueue(g, 50);
    start_at_gate(g, 4, 4);
    assert_int_equal(held(g), 4);
    assert_int_equal(counter(g, WP_COUNTER_CLAIMED), 4);
    assert_int_equal(wpt_stat(g->store, "t", WP_STAT_READY), 46);
}

/* Handlers that take `ms` each, four at a time: no more than `most` of the messages that wait may be
 * held at any time, and more than are being handled. */
static void works_with_at_most(ground *g, int64_t ms, size_t most)
{
    size_t greatest = 0;
    start_at_gate(g, 4, 4);
    for (size_t round = 1; round <= 10; round++) {
        wpt_advance_ms(g->clock, ms);
        wpt_gate_open(&g->gate, 4);
        WPT_AWAIT(wpt_gate_passed(&g->gate) == round * 4 && wpt_gate_waiting(&g->gate) == 4);
        greatest = held(g) > greatest ? held(g) : greatest;
        assert_true(held(g) <= most);
        if (round < 9) /* there are more, and they are fetched while these are handled */
            WPT_AWAIT((greatest = held(g) > greatest ? held(g) : greatest) > 4);
    }
}

static void holds_at_most(ground *g, int64_t ms, size_t most)
{
    enqueue(g, 100);
    works_with_at_most(g, ms, most);
}

static void test_prefetch__large_messages__no_more_than_memory_is_meant_for(void **state)
{
    enum { SIZE = 4 << 20 };
    ground *g = *state;
    char *payload = malloc(SIZE + 1);
    assert_non_null(payload);
    memset(payload, 'x', SIZE);
    payload[SIZE] = '\0';
    use_worker(g, WPT_OPTIONS("worker.concurrency", "4", "worker.batch_size", "10"));
    for (int i = 0; i < 44; i++)
        (void)wpt_enqueue(g->store, "t", payload);
    free(payload);
    works_with_at_most(g, 0, 4 + (16 << 20) / SIZE);
}

static void test_prefetch__fast_handlers__two_batches_ahead_and_no_more(void **state)
{
    ground *g = *state;
    use_worker(g, WPT_OPTIONS("worker.concurrency", "4", "worker.batch_size", "10"));
    holds_at_most(g, 0, 24);
}

static void test_prefetch__slow_handlers__only_what_is_used_up_within_a_second(void **state)
{
    ground *g = *state;
    use_worker(g, WPT_OPTIONS("worker.concurrency", "4", "worker.batch_size", "10"));
    holds_at_most(g, 500, 4 + 4 * 1000 / 500);
}

static void test_prefetch__short_lease__only_what_is_used_up_within_a_quarter_of_it(void **state)
{
    ground *g = *state;
    use_worker(g, WPT_OPTIONS("worker.concurrency", "4", "worker.batch_size", "10",
                              "worker.lease_ms", "2000"));
    holds_at_most(g, 250, 4 + 4 * 500 / 250);
}

/* A message that waited too long for a handler goes back while its lease is good. */
/* proves: OBX-116 */
static void test_prefetch__waited_half_its_lease__is_given_back_unchanged(void **state)
{
    ground *g = *state;
    wp_delivery *first;
    use_pulling(g, WPT_OPTIONS("worker.concurrency", "2", "worker.lease_ms", "10000"));
    enqueue(g, 2);
    first = next(g);
    WPT_AWAIT(held(g) == 2);
    WPT_OK(wp_clock_advance_us(g->clock, 5000001, WPT_ERR));
    WPT_OK(wp_delivery_finish(first, WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
    wp_delivery_free(first);
    first = next(g); /* the second one, of a new claim */
    assert_int_equal(wp_received_claim_number(wp_delivery_message(first)), 2);
    assert_int_equal(wp_received_attempt(wp_delivery_message(first)), 0);
    assert_int_equal(counter(g, WP_COUNTER_RELEASED), 1);
    WPT_OK(wp_delivery_finish(first, WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
    wp_delivery_free(first);
    stop(g);
    assert_int_equal(wpt_stat(g->store, "t", WP_STAT_DONE), 2);
}

/* proves: EXP-001 */
static void test_prefetch__expired_while_it_waited__fails_undispatched(void **state)
{
    ground *g = *state;
    wp_message *message = wpt_message("t", "x");
    wp_delivery *first, *second = NULL;
    wp_id id;
    use_pulling(g, WPT_OPTIONS("worker.concurrency", "2"));
    enqueue(g, 1);
    WPT_OK(wp_message_set_expires_us(message, WPT_START_US + 1000, WPT_ERR));
    id = wpt_send(g->store, NULL, message);
    first = next(g);
    WPT_AWAIT(held(g) == 2);
    wpt_advance_ms(g->clock, 1);
    WPT_STATUS(wp_worker_next(&second, g->worker, 0, WPT_ERR), WP_E_TIMEOUT);
    WPT_OK(wp_delivery_finish(first, WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
    wp_delivery_free(first);
    stop(g);
    assert_int_equal(wpt_status_of(g->store, &id), WP_MESSAGE_FAILED);
    wpt_last_error_is(g->store, &id, "expired");
}

/* proves: WRK-003 */
static void test_topic_options__concurrency_of_one_topic__holds_beside_the_workers(void **state)
{
    ground *g = *state;
    use_worker(g, WPT_OPTIONS("worker.concurrency", "3"));
    WPT_OK(wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "one", at_gate, g, NULL, WPT_ERR));
    WPT_OK(wp_worker_topic_set(g->worker, WP_SOURCE_OUTBOX, "one", "concurrency", "1", WPT_ERR));
    for (int i = 0; i < 5; i++)
        (void)wpt_enqueue(g->store, "one", "x");
    enqueue(g, 5);
    start_at_gate(g, 5, 3); /* one of "one", two of "t" */
    WPT_AWAIT(wpt_stat(g->store, "one", WP_STAT_IN_PROGRESS) == 1);
    wp__mutex_lock(&g->worker->mutex);
    for (const wp__group *group = g->worker->parts->groups; group; group = group->next)
        assert_true(group->out <= (size_t)group->lane->options.concurrency);
    assert_int_equal(g->worker->parts->out.count, 3);
    wp__mutex_unlock(&g->worker->mutex);
}

/* ---- leases ------------------------------------------------------------------------------- */

static int64_t locked_until(ground *g, const wp_id *id)
{
    wp_outbox_info *info = wpt_info(g->store, id);
    const int64_t until = wp_outbox_info_locked_until_us(info);
    wp_outbox_info_free(info);
    return until;
}

/* proves: OBX-115 */
static void test_keeper__handler_runs_on__lease_renewed_at_60_percent(void **state)
{
    ground *g = *state;
    const wp_id id = wpt_enqueue(g->store, "t", "x");
    use_worker(g, WPT_OPTIONS("worker.lease_ms", "10000"));
    start_at_gate(g, 1, 1);
    WPT_OK(wp_clock_advance_us(g->clock, 5999999, WPT_ERR));
    assert_int_equal(locked_until(g, &id), WPT_START_US + 10000000);
    WPT_OK(wp_clock_advance_us(g->clock, 1, WPT_ERR));
    WPT_AWAIT(counter(g, WP_COUNTER_RENEWED) == 1); /* so it did not at 5.999999 s */
    assert_int_equal(locked_until(g, &id), WPT_START_US + 16000000);
    for (int i = 2; i < 6; i++) { /* and so on, as long as it takes */
        wpt_advance_ms(g->clock, 6000);
        WPT_AWAIT(counter(g, WP_COUNTER_RENEWED) == i);
    }
    assert_int_equal(atomic_load(&g->calls), 1);
    wpt_gate_open(&g->gate, SIZE_MAX);
    WPT_AWAIT(atomic_load(&g->finish) == WP_OK);
    stop(g);
    assert_int_equal(wpt_status_of(g->store, &id), WP_MESSAGE_DONE);
    assert_int_equal(counter(g, WP_COUNTER_LEASES_LOST), 0);
}

/* proves: OBX-115, OBX-116 */
static void test_keeper__handler_ignores_its_timeout__given_up_and_retried(void **state)
{
    ground *g = *state;
    const wp_id id = wpt_enqueue(g->store, "t", "x");
    use_worker(g, WPT_OPTIONS("worker.lease_ms", "10000", "worker.timeout_ms", "3000",
                              "worker.flush_ms", "0"));
    start_at_gate(g, 2, 1);
    wpt_advance_ms(g->clock, 3000);
    WPT_AWAIT(wp_delivery_cancelled(atomic_load(&g->delivery)) == WP_CANCEL_TIMEOUT);
    assert_int_equal(wpt_status_of(g->store, &id), WP_MESSAGE_IN_PROGRESS);
    for (int i = 0; i < 6; i++)
        wpt_advance_ms(g->clock, 1000); /* not renewed, and given back before it lapses */
    WPT_AWAIT(counter(g, WP_COUNTER_ABANDONED) == 1);
    wpt_last_error_is(g->store, &id, "timeout");
    assert_int_equal(wpt_attempt_of(g->store, &id), 1);
    assert_int_equal(counter(g, WP_COUNTER_RENEWED), 0);
    wpt_gate_open(&g->gate, SIZE_MAX);
    WPT_AWAIT(atomic_load(&g->finish) == WP_E_LEASE_LOST); /* its answer comes too late */
    stop(g);
}

/* ---- cancellations ------------------------------------------------------------------------ */

/* proves: OBX-057, OBX-115 */
static void test_next_cancelled__each_reason__once_for_each_delivery(void **state)
{
    ground *g = *state;
    wp_delivery *one, *two, *told = NULL;
    stopper s;
    use_pulling(g, WPT_OPTIONS("worker.timeout_ms", "1000"));
    enqueue(g, 2);
    one = next(g);
    WPT_STATUS(wp_worker_next_cancelled(&told, g->worker, 0, WPT_ERR), WP_E_TIMEOUT);
    wpt_advance_ms(g->clock, 1000);
    WPT_OK(wp_worker_next_cancelled(&told, g->worker, 60000, WPT_ERR));
    assert_ptr_equal(told, one);
    assert_int_equal(wp_delivery_cancelled(told), WP_CANCEL_TIMEOUT);
    wp_delivery_free(told);
    told = NULL;
    WPT_STATUS(wp_worker_next_cancelled(&told, g->worker, 0, WPT_ERR), WP_E_TIMEOUT);
    two = next(g);
    stopper_start(&s, g->worker, 60000);
    WPT_OK(wp_worker_next_cancelled(&told, g->worker, 60000, WPT_ERR));
    assert_ptr_equal(told, two);
    assert_int_equal(wp_delivery_cancelled(told), WP_CANCEL_STOP);
    wp_delivery_free(told);
    WPT_OK(wp_delivery_finish(one, WP_OUTCOME_RETRY, NULL, 0, WPT_ERR));
    WPT_OK(wp_delivery_finish(two, WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
    wp_delivery_free(one);
    wp_delivery_free(two);
    stopper_join(&s, 0);
    WPT_STATUS(wp_worker_next_cancelled(&told, g->worker, 60000, WPT_ERR), WP_E_STOPPED);
}

static void test_next_cancelled__cancelled_before_anyone_asked__is_told(void **state)
{
    ground *g = *state;
    wp_delivery *one, *told = NULL;
    use_pulling(g, WPT_OPTIONS("worker.timeout_ms", "1000"));
    enqueue(g, 1);
    one = next(g);
    wpt_advance_ms(g->clock, 1000);
    WPT_AWAIT(wp_delivery_cancelled(one) == WP_CANCEL_TIMEOUT);
    WPT_OK(wp_worker_next_cancelled(&told, g->worker, 60000, WPT_ERR));
    assert_ptr_equal(told, one);
    wp_delivery_free(one);
    wp_worker_free(g->worker); /* with the told one still held */
    g->worker = NULL;
    assert_string_equal(wp_received_topic(wp_delivery_message(told)), "t");
    wp_delivery_free(told);
}

/* ---- finishing ---------------------------------------------------------------------------- */

/* proves: WRK-004 */
static void test_finish__bad_outcomes_and_delays__are_refused(void **state)
{
    ground *g = *state;
    wp_delivery *delivery;
    use_pulling(g, NULL);
    enqueue(g, 1);
    delivery = next(g);
    WPT_STATUS(wp_delivery_finish(delivery, WP_OUTCOME_DEFERRED, NULL, 0, WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_delivery_finish(delivery, WP_OUTCOME_RETRY, NULL, -1, WPT_ERR), WP_E_RANGE);
    WPT_STATUS(wp_delivery_finish(delivery, WP_OUTCOME_RETRY, NULL, WP_DELAY_MS_MAX + 1, WPT_ERR),
               WP_E_RANGE);
    WPT_OK(wp_delivery_finish(delivery, WP_OUTCOME_RETRY, "a\x01\xff", WP_DELAY_MS_MAX, WPT_ERR));
    WPT_STATUS(wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, WPT_ERR), WP_E_STATE);
    WPT_OK(wp_delivery_settle(delivery, -1, WPT_ERR));
    WPT_OK(wp_delivery_settle(delivery, INT64_MAX, WPT_ERR)); /* at any later time, too */
    WPT_STATUS(wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, WPT_ERR), WP_E_STATE);
    wpt_last_error_is(g->store, wp_received_id(wp_delivery_message(delivery)), "a??");
    wp_delivery_free(delivery);
}

/* proves: OBX-116 */
static void test_finish__after_the_worker_was_freed__is_stopped(void **state)
{
    ground *g = *state;
    wp_delivery *delivery;
    use_pulling(g, NULL);
    enqueue(g, 1);
    delivery = next(g);
    wp_worker_free(g->worker);
    g->worker = NULL;
    WPT_STATUS(wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, WPT_ERR), WP_E_STOPPED);
    WPT_STATUS(wp_delivery_settle(delivery, 0, WPT_ERR), WP_E_STOPPED);
    assert_int_equal(wp_delivery_cancelled(delivery), WP_CANCEL_LEASE_LOST);
    assert_string_equal(wp_received_topic(wp_delivery_message(delivery)), "t"); /* still valid */
    wp_delivery_free(delivery);
}

/* Nobody else knows that it will never be finished. */
/* proves: OBX-116 */
static void test_stop__by_the_thread_that_pulled__finds_it_abandoned_at_the_deadline(void **state)
{
    ground *g = *state;
    wp_delivery *delivery;
    size_t abandoned = 99;
    use_pulling(g, NULL);
    enqueue(g, 1);
    delivery = next(g);
    WPT_OK(wp_worker_stop(&abandoned, g->worker, 20, WPT_ERR));
    assert_int_equal(abandoned, 1);
    assert_int_equal(wp_delivery_cancelled(delivery), WP_CANCEL_LEASE_LOST);
    WPT_STATUS(wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, WPT_ERR), WP_E_STOPPED);
    wp_delivery_free(delivery);
}

typedef struct finisher {
    wp_delivery *delivery;
    wp__thread thread;
} finisher;

static void *finish_when_told(void *arg)
{
    finisher *self = arg;
    WPT_AWAIT(wp_delivery_cancelled(self->delivery) == WP_CANCEL_STOP);
    (void)wp_delivery_finish(self->delivery, WP_OUTCOME_DONE, NULL, 0, NULL);
    return NULL;
}

/* Pulled by the thread that stops, and finished by another. */
/* proves: OBX-116 */
static void test_stop__pulled_one_is_with_another_thread__waits_for_its_outcome(void **state)
{
    ground *g = *state;
    finisher f;
    size_t abandoned = 99;
    use_pulling(g, NULL);
    enqueue(g, 1);
    f.delivery = next(g);
    WPT_OK(wp__thread_start(&f.thread, "finish", finish_when_told, &f, WPT_ERR));
    WPT_OK(wp_worker_stop(&abandoned, g->worker, 60000, WPT_ERR));
    assert_int_equal(abandoned, 0);
    assert_int_equal(wpt_status_of(g->store, wp_received_id(wp_delivery_message(f.delivery))),
                     WP_MESSAGE_DONE);
    wp__thread_join(&f.thread);
    wp_delivery_free(f.delivery);
}

/* Given up after it was taken, before its handler was called. */
/* proves: OBX-116 */
static void test_stop__handler_not_called_yet__is_not_called_afterwards(void **state)
{
    ground *g = *state;
    wp_delivery *delivery;
    use_worker(g, NULL);
    enqueue(g, 1);
    delivery = next(g);
    WPT_OK(wp_worker_stop(NULL, g->worker, 0, WPT_ERR));
    wpt_gate_open(&g->gate, SIZE_MAX);
    wp__dispatch_handle(delivery);
    assert_int_equal(atomic_load(&g->calls), 0);
}

/* proves: WRK-004 */
static void test_delivery__freed_unfinished__is_retried(void **state)
{
    ground *g = *state;
    wp_delivery *delivery;
    wp_id id;
    use_pulling(g, NULL);
    enqueue(g, 1);
    delivery = next(g);
    id = *wp_received_id(wp_delivery_message(delivery));
    wp_delivery_free(wp_delivery_ref(delivery)); /* not the last reference */
    assert_int_equal(wpt_status_of(g->store, &id), WP_MESSAGE_IN_PROGRESS);
    wp_delivery_free(delivery);
    stop(g);
    assert_int_equal(wpt_status_of(g->store, &id), WP_MESSAGE_READY);
    assert_int_equal(wpt_attempt_of(g->store, &id), 1);
    wpt_last_error_is(g->store, &id, "the delivery was freed unfinished");
}

/* proves: WRK-004, OBX-064 */
static void test_delivery__freed_unfinished_at_the_limit__is_a_dead_letter(void **state)
{
    ground *g = *state;
    wp_delivery *delivery;
    wp_id id;
    use_pulling(g, WPT_OPTIONS("worker.max_attempts", "1"));
    enqueue(g, 1);
    delivery = next(g);
    id = *wp_received_id(wp_delivery_message(delivery));
    wp_delivery_free(delivery);
    stop(g);
    assert_int_equal(wpt_status_of(g->store, &id), WP_MESSAGE_FAILED);
    assert_int_equal(wpt_attempt_of(g->store, &id), 1);
}

static wp_outcome finish_twice(wp_delivery *delivery, void *user)
{
    ground *g = user;
    atomic_fetch_add(&g->calls, 1);
    (void)wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, NULL);
    atomic_store(&g->finish, (int)wp_delivery_finish(delivery, WP_OUTCOME_REJECT, "no", 0, NULL));
    return WP_OUTCOME_RETRY; /* comes too late as well */
}

/* proves: WRK-004 */
static void test_handler__finishes_twice__the_first_counts(void **state)
{
    ground *g = *state;
    const wp_id id = wpt_enqueue(g->store, "t", "x");
    g->worker = worker_new(g, NULL);
    WPT_OK(wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "t", finish_twice, g, NULL, WPT_ERR));
    WPT_OK(wp_worker_drain(NULL, g->worker, 60000, WPT_ERR));
    assert_int_equal(atomic_load(&g->finish), WP_E_STATE);
    assert_int_equal(wpt_status_of(g->store, &id), WP_MESSAGE_DONE);
    assert_int_equal(counter(g, WP_COUNTER_ACKED), 1);
    assert_int_equal(counter(g, WP_COUNTER_ABANDONED) + counter(g, WP_COUNTER_FAILED), 0);
}

/* ---- outcomes that may have been written before ------------------------------------------- */

/* Change the message's row as an earlier try of its worker would have. */
static void write_by_hand(ground *g, const wp_received *m, wp_outcome outcome)
{
    const wp_id *owner = &g->worker->parts->owner;
    size_t changed = 0;
    switch (outcome) {
    case WP_OUTCOME_DONE:
        WPT_OK(wp_outbox_ack(&changed, g->store, NULL, owner, &m->id, NULL, 1, NULL, WPT_ERR));
        break;
    case WP_OUTCOME_REJECT:
        WPT_OK(wp_outbox_fail(&changed, g->store, NULL, owner, &m->id, NULL, 1, NULL, WPT_ERR));
        break;
    default:
        WPT_OK(
            wp_outbox_abandon(&changed, g->store, NULL, owner, &m->id, NULL, 1, 1, "no", WPT_ERR));
    }
    assert_int_equal(changed, 1);
}

typedef struct doubt {
    wp_outcome written; /* by the earlier try */
    wp_outcome outcome; /* what is asked for */
    bool unsure;
    bool again; /* and it was claimed again since */
    wp_status fate;
} doubt;

/* proves: OBX-113, OBX-114 */
static void test_flush__earlier_try_of_unknown_outcome__is_looked_up(void **state)
{
    static const doubt cases[] = {
        {WP_OUTCOME_DONE, WP_OUTCOME_DONE, true, false, WP_OK},
        {WP_OUTCOME_REJECT, WP_OUTCOME_REJECT, true, false, WP_OK},
        {WP_OUTCOME_RETRY, WP_OUTCOME_RETRY, true, false, WP_OK},
        {WP_OUTCOME_RETRY, WP_OUTCOME_RETRY, true, true, WP_OK},
        {WP_OUTCOME_RETRY, WP_OUTCOME_DONE, true, false, WP_E_LEASE_LOST},
        {WP_OUTCOME_REJECT, WP_OUTCOME_DONE, true, false, WP_E_LEASE_LOST},
        {WP_OUTCOME_DONE, WP_OUTCOME_RETRY, true, false, WP_E_LEASE_LOST},
        {WP_OUTCOME_DONE, WP_OUTCOME_DONE, false, false, WP_E_LEASE_LOST},
        {WP_OUTCOME_RETRY, WP_OUTCOME_RETRY, false, false, WP_E_LEASE_LOST},
    };
    static const wp_counter counters[] = {[WP_OUTCOME_DONE] = WP_COUNTER_ACKED,
                                          [WP_OUTCOME_RETRY] = WP_COUNTER_ABANDONED,
                                          [WP_OUTCOME_REJECT] = WP_COUNTER_FAILED};
    ground *g = *state;
    for (size_t i = 0; i < WPT_COUNT(cases); i++) {
        const doubt *c = &cases[i];
        wp_delivery *delivery;
        wp_id id;
        size_t claimed = 0;
        use_pulling(g, NULL);
        enqueue(g, 1);
        WPT_OK(wp__worker_plan(g->worker, WPT_ERR));
        g->worker->manual = true; /* as in a step */
        WPT_OK(wp__pump_round(g->worker->parts, 1, &claimed, WPT_ERR));
        wp__mutex_lock(&g->worker->mutex);
        delivery = wp__dispatch_take(g->worker);
        wp__mutex_unlock(&g->worker->mutex);
        assert_non_null(delivery);
        id = delivery->message->id;
        write_by_hand(g, delivery->message, c->written);
        wpt_advance_ms(g->clock, 10);
        if (c->again)
            (void)wpt_claim_one(g->store, 9, &id, 1000);
        WPT_OK(wp_delivery_finish(delivery, c->outcome, NULL, 0, WPT_ERR));
        delivery->unsure = c->unsure;
        WPT_OK(wp__pump_round(g->worker->parts, 0, &claimed, WPT_ERR));
        WPT_STATUS(wp_delivery_settle(delivery, 0, WPT_ERR), c->fate);
        assert_int_equal(counter(g, counters[c->outcome]), c->fate == WP_OK);
        assert_int_equal(counter(g, WP_COUNTER_LEASES_LOST), c->fate != WP_OK);
        wp_delivery_free(delivery);
        wp__pump_close(g->worker->parts);
        wp_worker_free(g->worker);
        g->worker = NULL;
        wp_store_close(g->store);
        g->store = wpt_store("sqlite::memory:", g->clock, NULL);
    }
}

/* The look-up failed: nobody is told anything yet, and the next round tries again. */
static void test_flush__could_not_be_looked_up__is_tried_again(void **state)
{
    ground *g = *state;
    wp_delivery *delivery;
    wp__flush f = {0};
    size_t claimed = 0;
    use_pulling(g, NULL);
    enqueue(g, 1);
    WPT_OK(wp__worker_plan(g->worker, WPT_ERR));
    g->worker->manual = true; /* as in a step */
    WPT_OK(wp__pump_round(g->worker->parts, 1, &claimed, WPT_ERR));
    wp__mutex_lock(&g->worker->mutex);
    delivery = wp__dispatch_take(g->worker);
    wp__mutex_unlock(&g->worker->mutex);
    WPT_OK(wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
    wp__mutex_lock(&g->worker->mutex);
    WPT_OK(wp__flush_take(&f, g->worker->parts, WPT_ERR));
    wp__mutex_unlock(&g->worker->mutex);
    f.written[0] = WP__NOT_KNOWN;
    wp__flush_settle(&f, g->worker->parts);
    wp__flush_free(&f);
    assert_int_equal(g->worker->parts->writing, 0);
    WPT_STATUS(wp_delivery_settle(delivery, 0, WPT_ERR), WP_E_TIMEOUT);
    WPT_OK(wp__pump_round(g->worker->parts, 0, &claimed, WPT_ERR));
    WPT_OK(wp_delivery_settle(delivery, 0, WPT_ERR));
    assert_int_equal(counter(g, WP_COUNTER_ACKED), 1);
    wp_delivery_free(delivery);
    wp__pump_close(g->worker->parts);
}

/* ---- counters ----------------------------------------------------------------------------- */

static wp_outcome by_payload(wp_delivery *delivery, void *user)
{
    (void)user;
    switch (*wp_received_payload(NULL, wp_delivery_message(delivery))) {
    case 'd':
        return WP_OUTCOME_DONE;
    case 'r':
        return WP_OUTCOME_RETRY;
    default:
        return WP_OUTCOME_REJECT;
    }
}

static void test_counters__each_outcome__counts_rows_changed(void **state)
{
    ground *g = *state;
    g->worker = worker_new(g, NULL);
    WPT_OK(wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "t", by_payload, NULL, NULL, WPT_ERR));
    for (const char *p = "dddrrx"; *p; p++)
        (void)wpt_enqueue(g->store, "t", p);
    WPT_OK(wp_worker_drain(NULL, g->worker, 60000, WPT_ERR));
    assert_int_equal(counter(g, WP_COUNTER_CLAIMED), 6);
    assert_int_equal(counter(g, WP_COUNTER_ACKED), 3);
    assert_int_equal(counter(g, WP_COUNTER_ABANDONED), 2);
    assert_int_equal(counter(g, WP_COUNTER_FAILED), 1);
    assert_int_equal(counter(g, WP_COUNTER_RELEASED), 0);
    assert_int_equal(counter(g, WP_COUNTER_LEASES_LOST), 0);
    assert_int_equal(counter(g, WP_COUNTER_ERRORS), 0);
    assert_true(counter(g, WP_COUNTER_POLLS) >= 2);
    assert_int_equal(counter(g, (wp_counter)99), 0);
    assert_int_equal(counter(g, (wp_counter)-1), 0);
    assert_int_equal(wp_worker_counter(NULL, WP_COUNTER_ACKED), 0);
}

/* ---- polling ------------------------------------------------------------------------------ */

static void polls_are(ground *g, int64_t count)
{
    WPT_AWAIT(counter(g, WP_COUNTER_POLLS) == count);
}

static int64_t next_poll(ground *g)
{
    int64_t at;
    wp__mutex_lock(&g->worker->mutex);
    at = g->worker->parts->groups->next_poll_us;
    wp__mutex_unlock(&g->worker->mutex);
    return at;
}

/* proves: WRK-001, OBX-103 */
static void test_poll__nothing_there__doubles_to_a_second(void **state)
{
    static const int64_t waits_ms[] = {250, 500, 1000, 1000, 1000};
    ground *g = *state;
    use_worker(g, WPT_OPTIONS("worker.reap_ms", "3600000"));
    WPT_OK(wp_worker_start(g->worker, 1, WPT_ERR));
    polls_are(g, 2); /* a claim, and a look at when there will be something */
    for (size_t i = 0; i < WPT_COUNT(waits_ms); i++) {
        /* jittered: it comes up to an eighth early, and not before that */
        const int64_t early_us = waits_ms[i] * 875 - 1;
        WPT_OK(wp_clock_advance_us(g->clock, early_us, WPT_ERR));
        WPT_OK(wp_clock_advance_us(g->clock, waits_ms[i] * 1000 - early_us, WPT_ERR));
        polls_are(g, (int64_t)i + 3);
    }
}

/* proves: WRK-001 */
static void test_poll__longest_wait_alone_is_set__no_wait_is_longer(void **state)
{
    ground *g = *state;
    use_worker(g, WPT_OPTIONS("worker.reap_ms", "3600000", "worker.poll_max_ms", "20"));
    WPT_OK(wp_worker_start(g->worker, 1, WPT_ERR));
    polls_are(g, 2);
    for (int i = 3; i < 8; i++) {
        wpt_advance_ms(g->clock, 20);
        polls_are(g, i);
    }
}

/* proves: WRK-001 */
static void test_poll__work_found__interval_starts_anew(void **state)
{
    ground *g = *state;
    int64_t polls, now;
    wpt_gate_open(&g->gate, SIZE_MAX);
    use_worker(g, WPT_OPTIONS("worker.wakeups", "false", "worker.reap_ms", "3600000",
                              "worker.flush_ms", "0"));
    WPT_OK(wp_worker_start(g->worker, 1, WPT_ERR));
    polls_are(g, 2);
    for (int i = 3; i < 6; i++) { /* as idle as it gets */
        wpt_advance_ms(g->clock, 1000);
        polls_are(g, i);
    }
    enqueue(g, 1);
    assert_int_equal(atomic_load(&g->calls), 0); /* without wake-ups it waits for the poll */
    wpt_advance_ms(g->clock, 1000);
    WPT_AWAIT(counter(g, WP_COUNTER_ACKED) == 1);
    assert_int_equal(counter(g, WP_COUNTER_WAKES), 0);
    polls = counter(g, WP_COUNTER_POLLS);
    now = wp__clock_mono_us(g->clock);
    WPT_AWAIT(next_poll(g) > now); /* it looked again, found nothing, and sleeps */
    assert_true(next_poll(g) <= now + 250000);
    assert_true(counter(g, WP_COUNTER_POLLS) >= polls);
}

/* proves: WRK-001 */
static void test_poll__last_claim_was_full__fetches_again_at_once(void **state)
{
    ground *g = *state;
    wpt_gate_open(&g->gate, SIZE_MAX);
    use_worker(g, WPT_OPTIONS("worker.wakeups", "false", "worker.batch_size", "5",
                              "worker.concurrency", "5", "worker.flush_ms", "0"));
    enqueue(g, 103);
    WPT_OK(wp_worker_start(g->worker, 2, WPT_ERR));
    WPT_AWAIT(counter(g, WP_COUNTER_ACKED) == 103); /* with the clock standing still */
    assert_true(counter(g, WP_COUNTER_POLLS) >= 21);
}

/* proves: WRK-001, OBX-103 */
static void test_wake__enqueue_in_this_process__is_taken_without_a_poll(void **state)
{
    ground *g = *state;
    wpt_gate_open(&g->gate, SIZE_MAX);
    use_worker(g, WPT_OPTIONS("worker.flush_ms", "0"));
    WPT_OK(wp_worker_start(g->worker, 1, WPT_ERR));
    polls_are(g, 2);
    enqueue(g, 1);
    WPT_AWAIT(counter(g, WP_COUNTER_ACKED) == 1); /* the clock stands still */
    assert_true(counter(g, WP_COUNTER_WAKES) >= 1);
}

/* proves: WRK-001 */
static void test_poll__message_due_before_the_next_poll__is_taken_when_due(void **state)
{
    ground *g = *state;
    wp_message *message = wpt_message("t", "x");
    wpt_gate_open(&g->gate, SIZE_MAX);
    use_worker(g, WPT_OPTIONS("worker.flush_ms", "0", "worker.poll_min_ms", "60000",
                              "worker.poll_max_ms", "60000"));
    WPT_OK(wp_message_set_delay_ms(message, 100, WPT_ERR));
    (void)wpt_send(g->store, NULL, message);
    WPT_OK(wp_worker_start(g->worker, 1, WPT_ERR));
    WPT_AWAIT(next_poll(g) == wp__clock_mono_us(g->clock) + 100000);
    wpt_advance_ms(g->clock, 99);
    assert_int_equal(atomic_load(&g->calls), 0);
    wpt_advance_ms(g->clock, 1);
    WPT_AWAIT(counter(g, WP_COUNTER_ACKED) == 1);
}

/* Writing an outcome can make work: the clock stands still, and nothing waits for a poll. */
/* proves: WRK-001, ORD-001 */
static void test_wake__acked_message_unblocks_its_key__next_one_runs_without_a_poll(void **state)
{
    ground *g = *state;
    for (int i = 0; i < 30; i++) {
        wp_message *message = wpt_message("t", "x");
        WPT_OK(wp_message_set_ordering_key(message, "k", WPT_ERR));
        (void)wpt_send(g->store, NULL, message);
    }
    wpt_gate_open(&g->gate, SIZE_MAX);
    use_worker(g, WPT_OPTIONS("worker.wakeups", "false", "worker.flush_ms", "0"));
    WPT_OK(wp_worker_start(g->worker, 1, WPT_ERR));
    WPT_AWAIT(counter(g, WP_COUNTER_ACKED) == 30);
}

/* proves: WRK-001, ORD-001 */
static void test_wake__key_unblocked_for_another_worker__it_runs_without_a_poll(void **state)
{
    ground *g = *state;
    wp_worker *other = worker_new(g, NULL);
    wp_message *message;
    const char *const topics[] = {"t", "u"};
    WPT_OK(wp_worker_handle(other, WP_SOURCE_OUTBOX, "u", at_gate, g, NULL, WPT_ERR));
    use_worker(g, WPT_OPTIONS("worker.flush_ms", "0"));
    for (int i = 0; i < 2; i++) {
        message = wpt_message(topics[i], "x");
        WPT_OK(wp_message_set_ordering_key(message, "k", WPT_ERR));
        (void)wpt_send(g->store, NULL, message);
    }
    WPT_OK(wp_worker_start(other, 1, WPT_ERR));
    start_at_gate(g, 1, 1);
    WPT_AWAIT(wp_worker_counter(other, WP_COUNTER_POLLS) >= 2);
    wpt_gate_open(&g->gate, SIZE_MAX);
    WPT_AWAIT(atomic_load(&g->calls) == 2);
    WPT_OK(wp_worker_stop(NULL, other, 60000, WPT_ERR));
    assert_int_equal(wp_worker_counter(other, WP_COUNTER_ACKED), 1);
    wp_worker_free(other);
}

/* A retry is due long before the next poll would be. */
/* proves: WRK-001, OBX-042 */
static void test_poll__retry_written__is_taken_when_its_delay_is_over(void **state)
{
    ground *g = *state;
    g->outcome = WP_OUTCOME_RETRY;
    use_worker(g, WPT_OPTIONS("worker.flush_ms", "0", "worker.poll_min_ms", "60000",
                              "worker.poll_max_ms", "60000", "worker.backoff_jitter", "0",
                              "worker.wakeups", "false"));
    enqueue(g, 1);
    start_at_gate(g, 1, 1);
    wpt_advance_ms(g->clock, 100);
    wpt_gate_open(&g->gate, 1);
    WPT_AWAIT(counter(g, WP_COUNTER_ABANDONED) == 1);
    wpt_advance_ms(g->clock, 999);
    assert_int_equal(atomic_load(&g->calls), 1);
    wpt_advance_ms(g->clock, 1);
    WPT_AWAIT(atomic_load(&g->calls) == 2);
}

/* proves: WRK-001 */
static void test_wake__by_hand__looks_at_once(void **state)
{
    ground *g = *state;
    use_worker(g, WPT_OPTIONS("worker.wakeups", "false"));
    WPT_OK(wp_worker_start(g->worker, 1, WPT_ERR));
    polls_are(g, 2);
    wp_worker_wake(g->worker);
    polls_are(g, 3);
    wp_worker_wake(NULL);
}

/* ---- reaping ------------------------------------------------------------------------------ */

/* proves: OBX-053, OBX-049 */
static void test_reap__while_it_runs__recovers_topics_it_does_not_handle(void **state)
{
    ground *g = *state;
    const wp_id id = wpt_enqueue(g->store, "not mine", "x");
    (void)wpt_claim_one(g->store, 9, &id, 5000);
    use_worker(g, NULL);
    WPT_OK(wp_worker_start(g->worker, 1, WPT_ERR));
    polls_are(g, 2);
    wpt_advance_ms(g->clock, 5000);
    WPT_AWAIT(counter(g, WP_COUNTER_REAPED) == 1);
    assert_int_equal(wpt_attempt_of(g->store, &id), 1);
    assert_int_equal(wpt_status_of(g->store, &id), WP_MESSAGE_READY);
    assert_int_equal(counter(g, WP_COUNTER_CLAIMED), 0);
}

/* ---- stopping ----------------------------------------------------------------------------- */

/* proves: OBX-116 */
static void test_stop__before_the_start__ends_it(void **state)
{
    ground *g = *state;
    wp_delivery *delivery = NULL;
    size_t abandoned = 99;
    use_worker(g, NULL);
    enqueue(g, 1);
    WPT_OK(wp_worker_stop(&abandoned, g->worker, 0, WPT_ERR));
    assert_int_equal(abandoned, 0);
    WPT_STATUS(wp_worker_start(g->worker, 1, WPT_ERR), WP_E_STOPPED);
    WPT_OK(wp_worker_run(g->worker, WPT_ERR)); /* returns at once, as it would later */
    WPT_STATUS(wp_worker_next(&delivery, g->worker, -1, WPT_ERR), WP_E_STOPPED);
    assert_int_equal(atomic_load(&g->calls), 0);
}

static void test_stop__deadlines_out_of_range__are_refused(void **state)
{
    ground *g = *state;
    use_worker(g, NULL);
    WPT_STATUS(wp_worker_stop(NULL, g->worker, -1, WPT_ERR), WP_E_RANGE);
    WPT_STATUS(wp_worker_stop(NULL, g->worker, WP_LEASE_MS_MAX + 1, WPT_ERR), WP_E_RANGE);
    WPT_STATUS(wp_worker_start(g->worker, 0, WPT_ERR), WP_E_RANGE);
    WPT_STATUS(wp_worker_start(g->worker, 1025, WPT_ERR), WP_E_RANGE);
    WPT_OK(wp_worker_start(g->worker, 1, WPT_ERR));
    WPT_STATUS(wp_worker_start(g->worker, 1, WPT_ERR), WP_E_STATE);
}

static wp_outcome stop_inside(wp_delivery *delivery, void *user)
{
    ground *g = user;
    size_t abandoned = 99;
    atomic_fetch_add(&g->calls, 1);
    atomic_store(&g->finish,
                 (int)wp_worker_stop(&abandoned, g->worker, 60000, NULL) + (int)abandoned * 100);
    atomic_store(&g->cancel, (int)wp_delivery_cancelled(delivery));
    return WP_OUTCOME_DONE;
}

/* proves: OBX-116 */
static void test_stop__from_a_handler__its_own_outcome_still_counts(void **state)
{
    ground *g = *state;
    const wp_id id = wpt_enqueue(g->store, "t", "x");
    g->worker = worker_new(g, NULL);
    WPT_OK(wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "t", stop_inside, g, NULL, WPT_ERR));
    enqueue(g, 5);
    WPT_OK(wp_worker_run(g->worker, WPT_ERR)); /* returns, since the handler stopped it */
    assert_int_equal(atomic_load(&g->calls), 1);
    assert_int_equal(atomic_load(&g->finish), WP_OK);
    assert_int_equal(atomic_load(&g->cancel), WP_CANCEL_STOP);
    stop(g); /* waits for the outcome to be written */
    assert_int_equal(wpt_status_of(g->store, &id), WP_MESSAGE_DONE);
    assert_int_equal(wpt_stat(g->store, "t", WP_STAT_READY), 5);
    assert_int_equal(atomic_load(&g->calls), 1);
}

/* proves: OBX-116 */
static void test_run__stopped_by_a_handler__has_its_outcome_written(void **state)
{
    ground *g = *state;
    for (int round = 0; round < 10; round++) {
        const wp_id id = wpt_enqueue(g->store, "t", "x");
        g->worker = worker_new(g, NULL);
        WPT_OK(wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "t", stop_inside, g, NULL, WPT_ERR));
        WPT_OK(wp_worker_run(g->worker, WPT_ERR));
        wp_worker_free(g->worker);
        g->worker = NULL;
        assert_int_equal(wpt_status_of(g->store, &id), WP_MESSAGE_DONE);
    }
}

/* A lock that outlasts the lease: the outcome that is held is written before leases are reaped. */
/* proves: OBX-053 */
static void test_reap__own_outcome_waits_for_a_lock__is_written_first(void **state)
{
    ground *g = *state;
    wpt_dir dir;
    char url[256];
    sqlite3 *db = NULL;
    wp_id id;
    wp_outbox_info *info = NULL;
    wpt_dir_make(&dir);
    (void)snprintf(url, sizeof url, "sqlite:%s/locked.db", dir.path);
    wp_store_close(g->store);
    g->store = wpt_store(url, g->clock, WPT_OPTIONS("store.busy_timeout_ms", "1"));
    id = wpt_enqueue(g->store, "t", "x");
    use_worker(g, WPT_OPTIONS("worker.lease_ms", "1000", "worker.reap_ms", "10"));
    start_at_gate(g, 1, 1);
    assert_int_equal(sqlite3_open(url + strlen("sqlite:"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    wpt_gate_open(&g->gate, SIZE_MAX);
    WPT_AWAIT(counter(g, WP_COUNTER_ERRORS) > 0 && atomic_load(&g->finish) == WP_OK);
    wpt_advance_ms(g->clock, 60000);
    assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    WPT_AWAIT(wpt_status_of(g->store, &id) != WP_MESSAGE_IN_PROGRESS);
    WPT_OK(wp_outbox_get(&info, g->store, &id, WPT_ERR));
    assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_DONE);
    wp_outbox_info_free(info);
    stop(g);
    assert_int_equal(atomic_load(&g->calls), 1);
    (void)sqlite3_close(db);
    wp_worker_free(g->worker);
    g->worker = NULL;
    wp_store_close(g->store);
    g->store = NULL;
    wpt_dir_remove(&dir);
}

/* How many handlers are inside wp_worker_stop(). */
static size_t stopping(ground *g)
{
    size_t count = 0;
    wp__mutex_lock(&g->worker->mutex);
    for (const wp_delivery *d = g->worker->parts->out.first; d; d = d->next)
        count += d->stopping;
    wp__mutex_unlock(&g->worker->mutex);
    return count;
}

static wp_outcome stop_at_gate(wp_delivery *delivery, void *user)
{
    ground *g = user;
    wpt_gate_pass(&g->gate);
    return stop_inside(delivery, g);
}

/* Each waits for all others, but not for the one that waits for it. */
/* proves: OBX-116 */
static void test_stop__from_two_handlers_at_once__both_outcomes_count(void **state)
{
    ground *g = *state;
    g->worker = worker_new(g, NULL);
    WPT_OK(wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "t", stop_at_gate, g, NULL, WPT_ERR));
    enqueue(g, 2);
    start_at_gate(g, 2, 2);
    wpt_gate_open(&g->gate, SIZE_MAX);
    stop(g);
    assert_int_equal(atomic_load(&g->calls), 2);
    assert_int_equal(atomic_load(&g->finish), WP_OK);
    assert_int_equal(wpt_stat(g->store, "t", WP_STAT_DONE), 2);
}

static wp_outcome finish_and_stop(wp_delivery *delivery, void *user)
{
    ground *g = user;
    wpt_gate_pass(&g->gate);
    (void)wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, NULL);
    return stop_inside(delivery, g);
}

/* Their deliveries are written, but their threads still run. */
/* proves: OBX-116 */
static void
test_stop__from_two_handlers_that_finished_before__neither_waits_for_the_other(void **state)
{
    ground *g = *state;
    g->worker = worker_new(g, NULL);
    WPT_OK(wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "t", finish_and_stop, g, NULL, WPT_ERR));
    enqueue(g, 2);
    start_at_gate(g, 2, 2);
    wpt_gate_open(&g->gate, SIZE_MAX);
    WPT_AWAIT(atomic_load(&g->finish) == WP_OK);
    stop(g);
    assert_int_equal(atomic_load(&g->calls), 2);
    assert_int_equal(wpt_stat(g->store, "t", WP_STAT_DONE), 2);
}

/* The one that stops waits for the one that hangs; whoever stops at once gives up the latter. */
/* proves: OBX-116 */
static void test_stop__deadline_passes_while_a_handler_stops__that_one_may_finish(void **state)
{
    ground *g = *state;
    wp_id stops;
    size_t abandoned = 99;
    use_worker(g, NULL);
    WPT_OK(wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "stops", stop_inside, g, NULL, WPT_ERR));
    enqueue(g, 1);
    start_at_gate(g, 2, 1);
    stops = wpt_enqueue(g->store, "stops", "x");
    WPT_AWAIT(stopping(g) == 1);
    WPT_OK(wp_worker_stop(&abandoned, g->worker, 0, WPT_ERR));
    assert_int_equal(abandoned, 1);
    WPT_AWAIT(wpt_status_of(g->store, &stops) == WP_MESSAGE_DONE);
    wpt_gate_open(&g->gate, SIZE_MAX);
    WPT_AWAIT(atomic_load(&g->finish) == WP_E_STOPPED); /* the other's */
}

enum { STOPPERS = 10 };

/* proves: OBX-116 */
static void test_stop__from_ten_threads_at_once__all_return(void **state)
{
    ground *g = *state;
    stopper stoppers[STOPPERS];
    use_worker(g, NULL);
    enqueue(g, 1);
    start_at_gate(g, 2, 1);
    for (int i = 0; i < STOPPERS; i++) {
        stopper_start(&stoppers[i], g->worker, 60000);
    }
    WPT_AWAIT(wp_delivery_cancelled(atomic_load(&g->delivery)) == WP_CANCEL_STOP);
    wpt_gate_open(&g->gate, SIZE_MAX);
    for (int i = 0; i < STOPPERS; i++)
        stopper_join(&stoppers[i], 0);
    assert_int_equal(counter(g, WP_COUNTER_ACKED), 1);
}

/* How many entries a directory of /proc/self has. */
static int entries(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

/* proves: OBX-116 */
static void test_stop__started_and_stopped_many_times__no_thread_or_descriptor_stays(void **state)
{
    ground *g = *state;
    int threads = 0, files = 0;
    wpt_gate_open(&g->gate, SIZE_MAX);
    for (int i = 0; i < 60; i++) {
        use_worker(g, NULL);
        WPT_OK(wp_worker_start(g->worker, 2, WPT_ERR));
        stop(g);
        wp_worker_free(g->worker);
        g->worker = NULL;
        if (i == 5) {
            threads = entries("/proc/self/task");
            files = entries("/proc/self/fd");
        }
    }
    assert_int_equal(entries("/proc/self/fd"), files);
    WPT_AWAIT(entries("/proc/self/task") <= threads); /* the kernel clears up after a join */
    assert_int_equal(atomic_load(&g->destroyed), 60);
}

static void *run_it(void *arg)
{
    stopper *self = arg;
    self->st = wp_worker_run(self->worker, NULL);
    return NULL;
}

/* Several host threads lend themselves. */
/* proves: WRK-004 */
static void test_run__several_host_threads__all_return_when_it_stops(void **state)
{
    ground *g = *state;
    stopper runners[3];
    use_worker(g, NULL);
    enqueue(g, 3);
    for (int i = 0; i < 3; i++) {
        runners[i] = (stopper){.worker = g->worker, .st = WP_E_INTERNAL};
        WPT_OK(wp__thread_start(&runners[i].thread, "run", run_it, &runners[i], WPT_ERR));
    }
    WPT_AWAIT(wpt_gate_waiting(&g->gate) == 3);
    wpt_gate_open(&g->gate, SIZE_MAX);
    WPT_AWAIT(atomic_load(&g->calls) == 3);
    stop(g);
    for (int i = 0; i < 3; i++) {
        wp__thread_join(&runners[i].thread);
        assert_int_equal(runners[i].st, WP_OK);
    }
    assert_int_equal(counter(g, WP_COUNTER_ACKED), 3);
}

/* ---- user data ---------------------------------------------------------------------------- */

/* proves: WRK-004 */
static void test_handle__refused__destroys_its_user_data_once(void **state)
{
    ground *g = *state;
    int want = 0;
    use_worker(g, NULL);
    WPT_STATUS(
        wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "t", at_gate, g, count_destroy, WPT_ERR),
        WP_E_STATE); /* it has a handler */
    assert_int_equal(atomic_load(&g->destroyed), ++want);
    WPT_STATUS(
        wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "", at_gate, g, count_destroy, WPT_ERR),
        WP_E_ARGUMENT);
    assert_int_equal(atomic_load(&g->destroyed), ++want);
    WPT_STATUS(wp_worker_handle(g->worker, (wp_source)9, "u", at_gate, g, count_destroy, WPT_ERR),
               WP_E_ARGUMENT);
    assert_int_equal(atomic_load(&g->destroyed), ++want);
    WPT_STATUS(wp_worker_handle(NULL, WP_SOURCE_OUTBOX, "u", at_gate, g, count_destroy, WPT_ERR),
               WP_E_ARGUMENT);
    assert_int_equal(atomic_load(&g->destroyed), ++want);
    WPT_OK(wp_worker_drain(NULL, g->worker, 60000, WPT_ERR));
    WPT_STATUS(
        wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "u", at_gate, g, count_destroy, WPT_ERR),
        WP_E_STATE); /* it has run */
    assert_int_equal(atomic_load(&g->destroyed), ++want);
    wp_worker_free(g->worker);
    g->worker = NULL;
    assert_int_equal(atomic_load(&g->destroyed), ++want);
}

static void test_free__handler_still_runs__user_data_goes_after_it(void **state)
{
    ground *g = *state;
    use_worker(g, NULL);
    enqueue(g, 1);
    start_at_gate(g, 1, 1);
    wp_worker_free(g->worker);
    g->worker = NULL;
    assert_int_equal(atomic_load(&g->destroyed), 0);
    wpt_gate_open(&g->gate, SIZE_MAX);
    WPT_AWAIT(atomic_load(&g->destroyed) == 1);
    assert_int_equal(atomic_load(&g->finish), WP_E_STOPPED);
}

/* ---- errors ------------------------------------------------------------------------------- */

/* The ground's store on a file, and another connection to it. */
typedef struct file_ground {
    wpt_dir dir;
    wp_store *memory;
    sqlite3 *db;
} file_ground;

static void use_file(ground *g, file_ground *f, const char *busy_ms)
{
    char url[256];
    wpt_dir_make(&f->dir);
    (void)snprintf(url, sizeof url, "sqlite:%s/app.db", f->dir.path);
    f->memory = g->store;
    g->store = wpt_store(
        url, g->clock,
        WPT_OPTIONS("store.busy_timeout_ms", busy_ms, "store.sqlite_synchronous", "normal"));
    assert_int_equal(sqlite3_open(wp_store_location(g->store), &f->db), SQLITE_OK);
}

static void leave_file(ground *g, file_ground *f)
{
    wp_worker_free(g->worker);
    g->worker = NULL;
    assert_int_equal(sqlite3_close(f->db), SQLITE_OK);
    wp_store_close(g->store);
    g->store = f->memory;
    wpt_dir_remove(&f->dir);
}

static void exec(const file_ground *f, const char *sql)
{
    assert_int_equal(sqlite3_exec(f->db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* proves: WRK-002 */
static void test_worker__database_locked_for_long__goes_on_by_itself_afterwards(void **state)
{
    ground *g = *state;
    file_ground f;
    use_file(g, &f, "5");
    wpt_gate_open(&g->gate, SIZE_MAX);
    use_worker(g, WPT_OPTIONS("worker.flush_ms", "0"));
    enqueue(g, 3);
    exec(&f, "BEGIN IMMEDIATE");
    WPT_OK(wp_worker_start(g->worker, 1, WPT_ERR));
    for (int i = 1; i < 6; i++) { /* it tries again and again, with growing pauses */
        WPT_AWAIT(counter(g, WP_COUNTER_ERRORS) >= i);
        wpt_advance_ms(g->clock, 5000);
    }
    assert_int_equal(atomic_load(&g->calls), 0);
    exec(&f, "ROLLBACK");
    wpt_advance_ms(g->clock, 5000);
    WPT_AWAIT(counter(g, WP_COUNTER_ACKED) == 3);
    stop(g);
    leave_file(g, &f);
}

/* proves: OBX-115, WRK-002 */
static void test_keeper__cannot_renew_until_the_lease_runs_out__handler_is_told(void **state)
{
    ground *g = *state;
    file_ground f;
    int64_t errors = 0;
    use_file(g, &f, "5");
    use_worker(g, WPT_OPTIONS("worker.lease_ms", "10000", "worker.reap_ms", "3600000"));
    enqueue(g, 1);
    start_at_gate(g, 1, 1);
    exec(&f, "BEGIN IMMEDIATE");
    wpt_advance_ms(g->clock, 6000);
    for (int i = 0; i < 8; i++) { /* it tries again, every twentieth of the lease */
        WPT_AWAIT(counter(g, WP_COUNTER_ERRORS) > errors);
        errors = counter(g, WP_COUNTER_ERRORS);
        assert_int_equal(wp_delivery_cancelled(atomic_load(&g->delivery)), WP_CANCEL_NONE);
        wpt_advance_ms(g->clock, 500);
    }
    WPT_AWAIT(wp_delivery_cancelled(atomic_load(&g->delivery)) == WP_CANCEL_LEASE_LOST);
    exec(&f, "ROLLBACK");
    wpt_gate_open(&g->gate, SIZE_MAX);
    stop(g);
    assert_int_equal(atomic_load(&g->finish), WP_OK);
    assert_int_equal(counter(g, WP_COUNTER_ACKED), 1); /* nobody has taken it meanwhile */
    assert_int_equal(counter(g, WP_COUNTER_LEASES_LOST), 0);
    leave_file(g, &f);
}

static off_t wal_size(const wpt_dir *dir)
{
    char path[256];
    struct stat info;
    (void)snprintf(path, sizeof path, "%s/app.db-wal", dir->path);
    return stat(path, &info) == 0 ? info.st_size : 0;
}

static void test_worker__idle_after_work__the_wal_is_truncated(void **state)
{
    ground *g = *state;
    file_ground f;
    use_file(g, &f, "60000");
    wpt_gate_open(&g->gate, SIZE_MAX);
    use_worker(g, WPT_OPTIONS("worker.flush_ms", "0"));
    WPT_OK(wp_worker_start(g->worker, 1, WPT_ERR));
    enqueue(g, 100);
    WPT_AWAIT(counter(g, WP_COUNTER_ACKED) == 100);
    assert_true(wal_size(&f.dir) > 0);
    wpt_advance_ms(g->clock, 1000);
    WPT_AWAIT(wal_size(&f.dir) == 0);
    stop(g);
    leave_file(g, &f);
}

/* ---- the log ------------------------------------------------------------------------------ */

static wp_outcome reject_secret(wp_delivery *delivery, void *user)
{
    (void)user;
    (void)wp_delivery_finish(delivery, WP_OUTCOME_RETRY, "boom", 0, NULL);
    return WP_OUTCOME_RETRY;
}

static wp_outcome fail_or_ask(wp_delivery *delivery, void *user)
{
    (void)delivery;
    return *(wp_outcome *)user;
}

/* proves: OBX-088 */
static void test_log__failed_or_asked_for_a_retry__level_and_attempt(void **state)
{
    ground *g = *state;
    wpt_log log;
    wp_store *store = NULL;
    wp_worker *worker = NULL;
    wp_outcome answer = WP_OUTCOME_NONE;
    wp_config *config =
        wpt_config(g->clock, WPT_OPTIONS("store.url", "sqlite::memory:", "store.deploy", "true",
                                         "worker.max_attempts", "3"));
    wpt_log_init(&log);
    wpt_log_attach(&log, config, "info");
    WPT_OK(wp_store_open(&store, config, WPT_ERR));
    WPT_OK(wp_worker_new(&worker, store, config, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t", fail_or_ask, &answer, NULL, WPT_ERR));
    (void)wpt_enqueue(store, "t", "x");
    WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(
        wpt_log_count(&log, "error handler failed, will retry", "\"Attempt\":0,", "no known"), 1);
    answer = WP_OUTCOME_RETRY;
    wpt_advance_ms(g->clock, 60000);
    WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(
        wpt_log_count(&log, "info handler asked for a retry", "\"Attempt\":1,", "asked for"), 1);
    wpt_advance_ms(g->clock, 60000);
    WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(wpt_log_count(&log, "error dead letter", "\"Attempt\":2,", "asked for"), 1);
    for (int i = 0; i < 3; i++) {
        char attempt[24];
        (void)snprintf(attempt, sizeof attempt, "\"Attempt\":%d}", i);
        assert_int_equal(wpt_log_count(&log, "info handling", attempt, NULL), 1);
    }
    wp_worker_free(worker);
    wp_store_close(store);
    wp_config_free(config);
    wpt_log_fini(&log);
}

/* Whether the one that is with a handler is cancelled so. */
static bool worker_has_told(wp_worker *worker, wp_cancel cancel)
{
    bool told;
    wp__mutex_lock(&worker->mutex);
    told = worker->parts->out.first && wp_delivery_cancelled(worker->parts->out.first) == cancel;
    wp__mutex_unlock(&worker->mutex);
    return told;
}

static wp_outcome ask_at_its_timeout(wp_delivery *delivery, void *user)
{
    wpt_gate_pass(user);
    assert_int_equal(wp_delivery_cancelled(delivery), WP_CANCEL_TIMEOUT);
    return WP_OUTCOME_RETRY;
}

/* proves: OBX-116, JOB-011 */
static void test_log__asked_for_a_retry_at_its_timeout__is_a_failure(void **state)
{
    ground *g = *state;
    wpt_log log;
    wp_store *store = NULL;
    wp_worker *worker = NULL;
    wp_config *config =
        wpt_config(g->clock, WPT_OPTIONS("store.url", "sqlite::memory:", "store.deploy", "true",
                                         "worker.timeout_ms", "3000", "worker.flush_ms", "0"));
    wpt_log_init(&log);
    wpt_log_attach(&log, config, "info");
    WPT_OK(wp_store_open(&store, config, WPT_ERR));
    WPT_OK(wp_worker_new(&worker, store, config, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t", ask_at_its_timeout, &g->gate, NULL,
                            WPT_ERR));
    (void)wpt_enqueue(store, "t", "x");
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    WPT_AWAIT(wpt_gate_waiting(&g->gate) == 1);
    wpt_advance_ms(g->clock, 3000);
    WPT_AWAIT(worker_has_told(worker, WP_CANCEL_TIMEOUT));
    wpt_gate_open(&g->gate, SIZE_MAX);
    WPT_AWAIT(wp_worker_counter(worker, WP_COUNTER_ABANDONED) == 1);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(wpt_log_count(&log, "error handler failed, will retry", "timeout", NULL), 1);
    wp_worker_free(worker);
    wp_store_close(store);
    wp_config_free(config);
    wpt_log_fini(&log);
}

/* proves: OBX-085..090, OBX-106, OBX-055 */
static void test_log__enqueue_to_dead_letter__levels_fields_and_no_payload(void **state)
{
    ground *g = *state;
    wpt_log log;
    wp_store *store = NULL;
    wp_worker *worker = NULL;
    wp_config *config = wpt_config(
        g->clock, WPT_OPTIONS("store.url", "sqlite::memory:", "store.deploy", "true", "store.id",
                              "S1", "worker.max_attempts", "2", "worker.all_topics", "true"));
    wp_message *message = wpt_message("orders", "the secret payload");
    char id_text[37];
    wp_id id, other;
    wpt_log_init(&log);
    wpt_log_attach(&log, config, "debug");
    WPT_OK(wp_store_open(&store, config, WPT_ERR));
    WPT_OK(wp_worker_new(&worker, store, config, WPT_ERR));
    WPT_OK(wp_message_set_correlation_id(message, "corr-7", WPT_ERR));
    WPT_OK(wp_message_set_header(message, "h", "the secret header", WPT_ERR));
    id = wpt_send(store, NULL, message);
    wp_id_format(id_text, &id);
    assert_int_equal(wpt_log_count(&log, "info enqueued", "\"orders\"", "\"corr-7\""), 1);
    assert_int_equal(wpt_log_count(&log, "info enqueued", id_text, "\"S1\""), 1);
    WPT_OK(
        wp_worker_handle(worker, WP_SOURCE_OUTBOX, "orders", reject_secret, NULL, NULL, WPT_ERR));
    WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
    assert_true(wpt_log_count(&log, "debug claimed", "\"Count\":1", "\"S1\"") >= 1);
    assert_int_equal(wpt_log_count(&log, "info handling", "\"orders\"", id_text), 1);
    assert_int_equal(wpt_log_count(&log, "info handler asked for a retry", "\"boom\"", id_text), 1);
    wpt_advance_ms(g->clock, 60000);
    WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(wpt_log_count(&log, "error dead letter", "\"boom\"", id_text), 1);
    other = wpt_enqueue(store, "nobody's", "the secret payload");
    WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
    wp_id_format(id_text, &other);
    assert_int_equal(wpt_log_count(&log, "warning no handler", "nobody's", id_text), 1);
    wpt_advance_ms(g->clock, 60000);
    (void)wpt_claim_one(store, 1, &other, 1000);
    assert_true(wpt_log_count(&log, "debug claimed", "\"Count\":1", NULL) >= 3);
    wpt_advance_ms(g->clock, 1000);
    WPT_OK(wp_outbox_reap(NULL, store, WPT_ERR));
    assert_int_equal(wpt_log_count(&log, "info reaped", "\"Count\":1", "\"S1\""), 1);
    assert_int_equal(wpt_log_count(&log, "", "secret", NULL), 0);
    assert_int_equal(wpt_log_count(&log, "", NULL, NULL),
                     wpt_log_count(&log, "", "\"StoreId\":\"S1\"", NULL));
    wp_worker_free(worker);
    wp_store_close(store);
    wp_config_free(config);
    assert_int_equal(log.destroyed, 1);
    wpt_log_fini(&log);
}

/* ---- forks -------------------------------------------------------------------------------- */

/* What the child sees of its parent's handles; 0: all as it should be. */
static int in_the_child(ground *g, wp_message *message, wp_delivery *delivery)
{
    const wp_id owner = wpt_owner(1);
    wp_id id;
    wp_op *op = NULL;
    wp_claim *claim = NULL;
    wp_delivery *other = NULL;
    if (wp_outbox_enqueue(&id, NULL, g->store, NULL, message, NULL) != WP_E_STATE)
        return 1;
    if (wp_outbox_enqueue_op(&op, g->store, (const wp_message *const *)&message, 1, NULL) !=
        WP_E_STATE)
        return 2;
    if (wp_outbox_claim(&claim, g->store, &owner, NULL, 0, 1, 1000, NULL) != WP_E_STATE)
        return 3;
    if (wp_worker_next(&other, g->worker, 0, NULL) != WP_E_STATE)
        return 4;
    if (wp_worker_stop(NULL, g->worker, 0, NULL) != WP_E_STATE)
        return 5;
    if (wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, NULL) != WP_E_STATE)
        return 6;
    wp_delivery_free(delivery);
    wp_worker_wake(g->worker);
    wp_worker_free(g->worker); /* none of these waits for a lock of the parent's */
    wp_store_close(g->store);
    return 0;
}

/* proves: WRK-006 */
static void test_fork__child_uses_the_parents_handles__state_errors_and_parent_goes_on(void **state)
{
    ground *g = *state;
    wp_message *message = wpt_message("t", "x");
    wp_delivery *delivery;
    int status = -1;
    pid_t child;
    use_pulling(g, NULL);
    enqueue(g, 1);
    delivery = next(g);
    child = fork();
    if (child == 0)
        _exit(in_the_child(g, message, delivery));
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    WPT_OK(wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
    WPT_OK(wp_delivery_settle(delivery, 60000, WPT_ERR));
    wp_delivery_free(delivery);
    (void)wpt_send(g->store, NULL, message);
    delivery = next(g);
    wp_delivery_free(delivery);
}

#define GROUND(test) cmocka_unit_test_setup_teardown(test, ground_setup, ground_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUND(test_prefetch__handlers_of_unknown_speed__no_more_than_can_run),
        GROUND(test_prefetch__large_messages__no_more_than_memory_is_meant_for),
        GROUND(test_prefetch__fast_handlers__two_batches_ahead_and_no_more),
        GROUND(test_prefetch__slow_handlers__only_what_is_used_up_within_a_second),
        GROUND(test_prefetch__short_lease__only_what_is_used_up_within_a_quarter_of_it),
        GROUND(test_prefetch__waited_half_its_lease__is_given_back_unchanged),
        GROUND(test_prefetch__expired_while_it_waited__fails_undispatched),
        GROUND(test_topic_options__concurrency_of_one_topic__holds_beside_the_workers),
        GROUND(test_keeper__handler_runs_on__lease_renewed_at_60_percent),
        GROUND(test_keeper__handler_ignores_its_timeout__given_up_and_retried),
        GROUND(test_next_cancelled__each_reason__once_for_each_delivery),
        GROUND(test_next_cancelled__cancelled_before_anyone_asked__is_told),
        GROUND(test_finish__bad_outcomes_and_delays__are_refused),
        GROUND(test_finish__after_the_worker_was_freed__is_stopped),
        GROUND(test_stop__by_the_thread_that_pulled__finds_it_abandoned_at_the_deadline),
        GROUND(test_stop__pulled_one_is_with_another_thread__waits_for_its_outcome),
        GROUND(test_stop__handler_not_called_yet__is_not_called_afterwards),
        GROUND(test_delivery__freed_unfinished__is_retried),
        GROUND(test_delivery__freed_unfinished_at_the_limit__is_a_dead_letter),
        GROUND(test_handler__finishes_twice__the_first_counts),
        GROUND(test_flush__earlier_try_of_unknown_outcome__is_looked_up),
        GROUND(test_flush__could_not_be_looked_up__is_tried_again),
        GROUND(test_counters__each_outcome__counts_rows_changed),
        GROUND(test_poll__nothing_there__doubles_to_a_second),
        GROUND(test_poll__longest_wait_alone_is_set__no_wait_is_longer),
        GROUND(test_poll__work_found__interval_starts_anew),
        GROUND(test_poll__last_claim_was_full__fetches_again_at_once),
        GROUND(test_wake__enqueue_in_this_process__is_taken_without_a_poll),
        GROUND(test_poll__message_due_before_the_next_poll__is_taken_when_due),
        GROUND(test_wake__acked_message_unblocks_its_key__next_one_runs_without_a_poll),
        GROUND(test_wake__key_unblocked_for_another_worker__it_runs_without_a_poll),
        GROUND(test_poll__retry_written__is_taken_when_its_delay_is_over),
        GROUND(test_wake__by_hand__looks_at_once),
        GROUND(test_reap__while_it_runs__recovers_topics_it_does_not_handle),
        GROUND(test_stop__before_the_start__ends_it),
        GROUND(test_stop__deadlines_out_of_range__are_refused),
        GROUND(test_stop__from_a_handler__its_own_outcome_still_counts),
        GROUND(test_run__stopped_by_a_handler__has_its_outcome_written),
        GROUND(test_reap__own_outcome_waits_for_a_lock__is_written_first),
        GROUND(test_stop__from_two_handlers_at_once__both_outcomes_count),
        GROUND(test_stop__from_two_handlers_that_finished_before__neither_waits_for_the_other),
        GROUND(test_stop__deadline_passes_while_a_handler_stops__that_one_may_finish),
        GROUND(test_stop__from_ten_threads_at_once__all_return),
        GROUND(test_stop__started_and_stopped_many_times__no_thread_or_descriptor_stays),
        GROUND(test_run__several_host_threads__all_return_when_it_stops),
        GROUND(test_handle__refused__destroys_its_user_data_once),
        GROUND(test_free__handler_still_runs__user_data_goes_after_it),
        GROUND(test_worker__database_locked_for_long__goes_on_by_itself_afterwards),
        GROUND(test_keeper__cannot_renew_until_the_lease_runs_out__handler_is_told),
        GROUND(test_worker__idle_after_work__the_wal_is_truncated),
        GROUND(test_log__failed_or_asked_for_a_retry__level_and_attempt),
        GROUND(test_log__asked_for_a_retry_at_its_timeout__is_a_failure),
        GROUND(test_log__enqueue_to_dead_letter__levels_fields_and_no_payload),
        GROUND(test_fork__child_uses_the_parents_handles__state_errors_and_parent_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
