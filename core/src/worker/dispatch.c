/* SPDX-License-Identifier: Apache-2.0 */
/* Handing deliveries to the host's threads, and running handlers on them. */
#include <stdlib.h>

#include "worker/worker.h"

enum { OUTCOMES_US = 5000000 }; /* the database may be busy with somebody else */

void *wp__dispatch_self(void)
{
    static _Thread_local char self;
    return &self;
}

static _Thread_local const wp_worker *made_for;

bool wp__dispatch_is_thread_of(const wp_worker *worker)
{
    return made_for == worker;
}

/* A message that must not be handed out: waited too long for its lease, or expired meanwhile. */
static bool set_aside(wp_delivery *delivery, int64_t now)
{
    const wp_received *message = delivery->message;
    int64_t lease_us = delivery->group->lane->options.lease_ms * 1000;
    if (now - delivery->claimed_at > lease_us / 2) {
        wp__delivery_end(delivery, WP__FINISH_RELEASE, NULL, 0);
        return true;
    }
    if (message->expires_us &&
        delivery->now_us + (now - delivery->claimed_at) >= message->expires_us) {
        wp__delivery_end(delivery, WP__FINISH_FAIL, "expired", 0);
        return true;
    }
    return false;
}

/* It goes to a handler. @locks mutex */
static wp_delivery *hand_out(wp_delivery *delivery, int64_t now)
{
    wp__part *part = delivery->part;
    wp__group *group = delivery->group;
    wp__share_unready(delivery);
    wp__list_push(&part->out, delivery);
    delivery->state = WP__OUT;
    delivery->out_at = now;
    if (delivery->topic && delivery->options.timeout_ms)
        delivery->timeout_at = now + delivery->options.timeout_ms * 1000;
    part->worker->out_count++;
    group->lane->out++;
    group->out++;
    /* the keeper looks again at its own pace; only a timeout can come before that */
    if (delivery->timeout_at != WP__FOREVER)
        wp__cond_signal(&part->keep);
    if (wp__pump_wants(group))
        wp__waiter_signal(part->waiter);
    return wp_delivery_ref(delivery);
}

/* @locks mutex */
static wp_delivery *take_from(wp__part *part, int64_t now)
{
    wp_delivery *next = NULL;
    for (wp_delivery *delivery = part->ready.first; delivery; delivery = next) {
        const wp__lane *lane = delivery->group->lane;
        next = delivery->next;
        if (delivery == part->suspect && (part->finished.count || part->writing))
            continue; /* if it kills the process, outcomes must not be lost with it */
        if (lane->out < (size_t)lane->options.concurrency && !set_aside(delivery, now))
            return hand_out(delivery, now);
    }
    return NULL;
}

/* @locks mutex */
static bool has_place(const wp_worker *worker)
{
    return worker->ready_count && worker->out_count < (size_t)worker->config->worker.concurrency;
}

wp_delivery *wp__dispatch_take(wp_worker *worker)
{
    wp_delivery *taken = NULL;
    wp__part *part = NULL;
    int64_t now;
    if (has_place(worker))
        part = wp__share_select(worker); /* other threads may have come in between */
    now = wp__worker_now(worker);
    if (!has_place(worker))
        return NULL;
    if (part)
        taken = take_from(part, now);
    for (wp__part *next, *p = worker->turn_first; p && !taken; p = next) {
        next = p->turn_next;
        taken = take_from(p, now);
    }
    if (taken)
        wp__share_took_turn(taken->part);
    return taken;
}

wp_status wp_worker_next(wp_delivery **out, wp_worker *worker, int64_t timeout_ms, wp_error **err)
{
    int64_t deadline;
    wp_delivery *delivery = NULL;
    bool timed_out = false;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__worker_check(worker, err)) != WP_OK)
        return st;
    deadline = wp__worker_deadline(timeout_ms);
    wp__mutex_lock(&worker->mutex);
    if (worker->state != WP__RUNNING) {
        wp__mutex_unlock(&worker->mutex);
        if ((st = wp__worker_ensure(worker, err)) != WP_OK)
            return st;
        wp__mutex_lock(&worker->mutex);
    }
    while (worker->state == WP__RUNNING && !(delivery = wp__dispatch_take(worker)) && !timed_out) {
        if (worker->to_sweep) {
            wp__mutex_unlock(&worker->mutex);
            wp__worker_sweep(worker);
            wp__mutex_lock(&worker->mutex);
        } else {
            timed_out = !wp__cond_wait_until(&worker->available, &worker->mutex, deadline);
        }
    }
    if (!delivery)
        st = worker->state == WP__RUNNING
                 ? wp__fail(err, WP_E_TIMEOUT, "nothing came within the time")
                 : wp__fail(err, WP_E_STOPPED, "the worker is stopped");
    wp__mutex_unlock(&worker->mutex);
    if (st == WP_OK)
        *out = delivery;
    wp__log_pump(worker->log);
    return st;
}

/* ---- running handlers --------------------------------------------------------------------- */

static void finish_for(wp_delivery *delivery, wp_outcome outcome, const char *reason)
{
    wp_error *err = NULL;
    /* The handler may have finished it by itself: then this is refused, as it should be. */
    if (wp_delivery_finish(delivery, outcome, reason, 0, &err) == WP_E_LEASE_LOST)
        WP__LOG(delivery->worker->log, WP_LOG_WARNING, "handler finished after its lease was lost",
                WP__F_TEXT("StoreId", delivery->part->id),
                WP__F_TEXT("WorkerId", delivery->worker->name),
                WP__F_TEXT("Topic", delivery->message->topic),
                WP__F_ID("MessageId", &delivery->message->id));
    wp_error_free(err);
}

/* The handler is about to be called on this thread. False if it was given up meanwhile: no handler
 * is called after a stop. */
static bool begin_handling(wp_delivery *delivery)
{
    bool begins;
    wp__mutex_lock(&delivery->worker->mutex);
    begins = delivery->state == WP__OUT;
    if (begins)
        atomic_store(&delivery->handled_by, wp__dispatch_self());
    wp__mutex_unlock(&delivery->worker->mutex);
    return begins;
}

static wp_outcome call_handler(wp_delivery *delivery)
{
    wp_outcome outcome = delivery->topic->fn(delivery, delivery->topic->user);
    atomic_store(&delivery->handled_by, NULL);
    return outcome;
}

void wp__dispatch_handle(wp_delivery *delivery)
{
    wp__topic *topic = delivery->topic;
    wp_worker *worker = delivery->worker;
    if (!begin_handling(delivery)) {
        wp_delivery_free(delivery);
        return;
    }
    WP__LOG(worker->log, WP_LOG_INFO, "handling", WP__F_TEXT("StoreId", delivery->part->id),
            WP__F_TEXT("WorkerId", worker->name), WP__F_TEXT("Topic", delivery->message->topic),
            WP__F_ID("MessageId", &delivery->message->id),
            WP__F_INT("Attempt", delivery->message->attempt));
    if (topic && topic->fn) {
        wp_outcome outcome = call_handler(delivery);
        if (outcome != WP_OUTCOME_DEFERRED)
            finish_for(delivery, outcome, NULL);
    } else {
        WP__LOG(worker->log, WP_LOG_WARNING, "no handler",
                WP__F_TEXT("StoreId", delivery->part->id), WP__F_TEXT("WorkerId", worker->name),
                WP__F_TEXT("Topic", delivery->message->topic),
                WP__F_ID("MessageId", &delivery->message->id));
        finish_for(delivery, WP_OUTCOME_NONE, "no handler for the topic");
    }
    wp_delivery_free(delivery);
}

static void enter(wp_worker *worker)
{
    wp__mutex_lock(&worker->mutex);
    worker->calls++;
    wp__mutex_unlock(&worker->mutex);
}

static wp_status run_until_stopped(wp_worker *worker, wp_error **err)
{
    wp_delivery *delivery = NULL;
    wp_error *cause = NULL;
    wp_status st;
    while ((st = wp_worker_next(&delivery, worker, -1, &cause)) == WP_OK)
        wp__dispatch_handle(delivery);
    if (st == WP_E_STOPPED) {
        wp_error_free(cause);
        return WP_OK;
    }
    wp__error_move(err, cause);
    return st;
}

/* @locks mutex */
static bool outcomes_wait(const wp_worker *worker)
{
    for (const wp__part *part = worker->parts; part; part = part->next)
        if (part->pump_running && (part->finished.count || part->writing))
            return true;
    return false;
}

/* A handler that stops the worker does not wait for its own outcome; then this thread does, so that the
 * worker can be freed without losing it. */
static void wait_for_outcomes(wp_worker *worker)
{
    int64_t deadline = wp__real_mono_us() + OUTCOMES_US;
    wp__mutex_lock(&worker->mutex);
    if (worker->stop_until > deadline)
        deadline = worker->stop_until;
    while (outcomes_wait(worker) && wp__cond_wait_until(&worker->settled, &worker->mutex, deadline))
        continue;
    wp__mutex_unlock(&worker->mutex);
}

wp_status wp_worker_run(wp_worker *worker, wp_error **err)
{
    wp_status st = wp__worker_check(worker, err);
    if (st != WP_OK)
        return st;
    wp__worker_ref(worker);
    enter(worker);
    st = run_until_stopped(worker, err);
    wait_for_outcomes(worker);
    wp__worker_leave(worker);
    wp__worker_unref(worker);
    return st;
}

static void *thread_main(void *arg)
{
    wp_worker *worker = arg;
    made_for = worker;
    (void)run_until_stopped(worker, NULL);
    wp__worker_leave(worker);
    wp__mutex_lock(&worker->mutex);
    worker->threads_running--;
    wp__cond_broadcast(&worker->settled);
    wp__mutex_unlock(&worker->mutex);
    wp__worker_unref(worker);
    return NULL;
}

/* Start one more thread. @locks mutex */
static wp_status add_thread(wp_worker *worker, wp_error **err)
{
    wp_status st;
    wp__worker_ref(worker);
    worker->calls++;
    worker->threads_running++;
    st = wp__thread_start(&worker->threads[worker->thread_count], "waypost-run", thread_main,
                          worker, err);
    if (st == WP_OK) {
        worker->thread_count++;
        return WP_OK;
    }
    worker->calls--;
    worker->threads_running--;
    atomic_fetch_sub(&worker->refs, 1); /* not the last one: the caller has another */
    return st;
}

wp_status wp_worker_start(wp_worker *worker, unsigned threads, wp_error **err)
{
    wp_status st = wp__worker_check(worker, err);
    if (st != WP_OK)
        return st;
    if (threads < 1 || threads > 1024)
        return wp__fail(err, WP_E_RANGE, "threads is %u, not in 1..1024", threads);
    if ((st = wp__worker_ensure(worker, err)) != WP_OK)
        return st;
    wp__mutex_lock(&worker->mutex);
    if (worker->threads)
        st = wp__fail(err, WP_E_STATE, "the worker was started already");
    else if (!(worker->threads = calloc(threads, sizeof *worker->threads)))
        st = wp__fail_nomem(err);
    for (unsigned i = 0; i < threads && st == WP_OK; i++)
        st = add_thread(worker, err);
    wp__mutex_unlock(&worker->mutex);
    if (st != WP_OK && st != WP_E_STATE)
        (void)wp_worker_stop(NULL, worker, 0, NULL);
    return st;
}

/* ---- cancellations ------------------------------------------------------------------------ */

static void cancel_again(wp_delivery *delivery)
{
    wp_cancel cancel = atomic_load(&delivery->cancel);
    if (cancel == WP_CANCEL_NONE)
        return;
    atomic_store(&delivery->cancel, WP_CANCEL_NONE);
    wp__delivery_cancel(delivery, cancel);
}

/* From now on cancellations are queued; those that came before are put there. @locks mutex */
static void want_cancels(wp_worker *worker)
{
    if (worker->cancels_wanted)
        return;
    worker->cancels_wanted = true;
    for (wp__part *part = worker->parts; part; part = part->next)
        for (wp_delivery *d = part->out.first; d; d = d->next)
            cancel_again(d);
}

static wp_delivery *take_cancelled(wp_worker *worker)
{
    wp_delivery *delivery = worker->cancelled_first;
    if (!delivery)
        return NULL;
    worker->cancelled_first = delivery->next_cancelled;
    if (!worker->cancelled_first)
        worker->cancelled_last = NULL;
    delivery->cancel_queued = false;
    return delivery; /* with the queue's reference */
}

wp_status wp_worker_next_cancelled(wp_delivery **out, wp_worker *worker, int64_t timeout_ms,
                                   wp_error **err)
{
    wp_delivery *delivery = NULL;
    bool timed_out = false;
    int64_t deadline;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__worker_check(worker, err)) != WP_OK)
        return st;
    deadline = wp__worker_deadline(timeout_ms);
    wp__mutex_lock(&worker->mutex);
    want_cancels(worker);
    while (!(delivery = take_cancelled(worker)) && worker->state != WP__STOPPED && !timed_out)
        timed_out = !wp__cond_wait_until(&worker->cancels, &worker->mutex, deadline);
    if (!delivery)
        st = worker->state == WP__STOPPED
                 ? wp__fail(err, WP_E_STOPPED, "the worker has ended")
                 : wp__fail(err, WP_E_TIMEOUT, "nothing was cancelled within the time");
    wp__mutex_unlock(&worker->mutex);
    if (st == WP_OK)
        *out = delivery;
    return st;
}

/* ---- for tests: without threads ----------------------------------------------------------- */

static wp_status manual_begin(wp_worker *worker, wp_error **err)
{
    wp_status st = wp__worker_check(worker, err);
    if (st != WP_OK || (st = wp__worker_plan(worker, err)) != WP_OK)
        return st;
    wp__mutex_lock(&worker->mutex);
    if (worker->state != WP__NEW || worker->manual)
        st = wp__fail(err, worker->state == WP__STOPPED ? WP_E_STOPPED : WP_E_STATE,
                      "drain and step are for a worker that is not running");
    else
        worker->manual = true;
    wp__mutex_unlock(&worker->mutex);
    return st;
}

static void manual_end(wp_worker *worker)
{
    for (wp__part *part = worker->parts; part; part = part->next)
        wp__pump_close(part);
    wp__mutex_lock(&worker->mutex);
    worker->manual = false;
    wp__mutex_unlock(&worker->mutex);
    wp__log_pump(worker->log);
}

/* A round of each part, claiming up to `limit` in all. */
static wp_status manual_round(wp_worker *worker, size_t limit, size_t *claimed, wp_error **err)
{
    wp_status st = WP_OK;
    *claimed = 0;
    for (wp__part *part = worker->parts; part && st == WP_OK; part = part->next) {
        size_t got = 0;
        st = wp__pump_round(part, limit - *claimed, &got, err);
        *claimed += got;
    }
    return st;
}

/* Nothing is held and nothing waits to be written. */
static bool manual_idle(wp_worker *worker)
{
    bool idle = true;
    wp__mutex_lock(&worker->mutex);
    for (const wp__part *part = worker->parts; part && idle; part = part->next)
        idle = part->held == 0 && part->finished.count == 0;
    wp__mutex_unlock(&worker->mutex);
    return idle;
}

static wp_delivery *take_now(wp_worker *worker)
{
    wp_delivery *delivery;
    wp__mutex_lock(&worker->mutex);
    delivery = wp__dispatch_take(worker);
    wp__mutex_unlock(&worker->mutex);
    return delivery;
}

wp_status wp_worker_drain(size_t *handled, wp_worker *worker, int64_t timeout_ms, wp_error **err)
{
    int64_t deadline = wp__worker_deadline(timeout_ms);
    size_t total = 0;
    bool idle = false;
    wp_status st = manual_begin(worker, err);
    if (st != WP_OK)
        return st;
    while (st == WP_OK && !idle) {
        wp_delivery *delivery;
        size_t claimed = 0;
        st = manual_round(worker, SIZE_MAX, &claimed, err);
        for (; st == WP_OK && (delivery = take_now(worker)); total++)
            wp__dispatch_handle(delivery);
        idle = claimed == 0 && manual_idle(worker);
        if (st == WP_OK && !idle && wp__real_mono_us() >= deadline)
            st = wp__fail(err, WP_E_TIMEOUT, "there was still work when the time was over");
        if (st == WP_OK && !idle && claimed == 0)
            wp__sleep_us(100); /* a deferred delivery is still out */
    }
    manual_end(worker);
    if (st == WP_OK && handled)
        *handled = total;
    return st;
}

wp_status wp_worker_step(size_t *handled, wp_worker *worker, wp_error **err)
{
    wp_delivery *delivery = NULL;
    size_t claimed = 0;
    wp_status st = manual_begin(worker, err);
    if (st != WP_OK)
        return st;
    st = manual_round(worker, 1, &claimed, err);
    if (st == WP_OK && (delivery = take_now(worker)))
        wp__dispatch_handle(delivery);
    if (st == WP_OK && delivery)
        st = manual_round(worker, 0, &claimed, err);
    manual_end(worker);
    if (st == WP_OK && handled)
        *handled = delivery != NULL;
    return st;
}
