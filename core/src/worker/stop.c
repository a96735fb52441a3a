/* SPDX-License-Identifier: Apache-2.0 */
/* Stopping, by a deadline that always holds. */
#include <stdlib.h>

#include "worker/worker.h"

enum { GRACE_US = 200000 }; /* for internal threads to end once they are interrupted */

/* Claim no more; what was not started goes back; handlers are told. @locks mutex */
static void begin_stop(wp_worker *worker)
{
    if (worker->state == WP__NEW)
        worker->state = WP__STOPPED;
    if (worker->state == WP__RUNNING) {
        worker->state = WP__STOPPING;
        while (worker->ready.first)
            wp__delivery_end(worker->ready.first, WP__FINISH_RELEASE, NULL, 0);
        for (wp_delivery *d = worker->out.first; d; d = d->next)
            if (wp_delivery_cancelled(d) == WP_CANCEL_NONE)
                wp__delivery_cancel(d, WP_CANCEL_STOP);
    }
    wp__cond_broadcast(&worker->available);
    wp__cond_broadcast(&worker->cancels);
    wp__waiter_signal(worker->waiter);
    wp__waiter_signal(worker->keeper_waiter);
}

/* True if this thread runs one of the worker's handlers. @locks mutex */
static bool is_in_handler(const wp_worker *worker)
{
    for (const wp_delivery *d = worker->out.first; d; d = d->next)
        if (atomic_load(&d->handled_by) == wp__dispatch_self())
            return true;
    return false;
}

/* Handlers that are inside wp_worker_stop() must not be waited for there: neither by themselves nor
 * by one another. @locks mutex */
static void mark_stopping(wp_worker *worker, bool stopping)
{
    for (wp_delivery *d = worker->out.first; d; d = d->next)
        if (atomic_load(&d->handled_by) == wp__dispatch_self())
            d->stopping = stopping;
}

/* @locks mutex */
static size_t count_stopping(const wp_worker *worker)
{
    size_t count = 0;
    for (const wp_delivery *d = worker->out.first; d; d = d->next)
        count += d->stopping;
    return count;
}

/* True if none of the worker's own threads runs; if this is one of them, but those that wait here,
 * too. @locks mutex */
static bool threads_done(const wp_worker *worker)
{
    return worker->threads_running <=
           (wp__dispatch_is_thread_of(worker) ? worker->threads_stopping : 0);
}

/* True once there is nothing more to wait for. @locks mutex */
static bool quiet(const wp_worker *worker)
{
    if (worker->out.count > count_stopping(worker) || worker->finished.count || worker->writing)
        return false;
    if (is_in_handler(worker))
        return true; /* pump and keeper go on until our own handler has returned */
    return !worker->pump_running && !worker->keeper_running && threads_done(worker);
}

/* The time is over: give up handlers that still run. @locks mutex */
static size_t abandon(wp_worker *worker)
{
    size_t count = 0;
    wp_delivery *next;
    for (wp_delivery *d = worker->out.first; d; d = next) {
        next = d->next;
        if (d->stopping)
            continue; /* it will return, now that the others are given up */
        wp__delivery_cancel(d, WP_CANCEL_LEASE_LOST);
        wp__delivery_detach(d);
        count++;
    }
    return count;
}

/* Make threads that hang in the database come out. @locks mutex */
static void interrupt(wp_worker *worker)
{
    worker->pump_exit = true;
    worker->keeper_exit = true;
    if (worker->pump_conn)
        worker->pump_conn->driver->interrupt(worker->pump_conn);
    if (worker->keeper_conn)
        worker->keeper_conn->driver->interrupt(worker->keeper_conn);
    wp__waiter_signal(worker->waiter);
    wp__waiter_signal(worker->keeper_waiter);
}

/* Internal threads have ended, and so have those that run handlers, unless a handler was given up.
 * @locks mutex */
static bool threads_ended(const wp_worker *worker, bool abandoned)
{
    return !worker->pump_running && !worker->keeper_running && (abandoned || threads_done(worker));
}

/* Join what has ended, let go of what has not. One caller does it. */
static void collect_threads(wp_worker *worker)
{
    wp__thread pump, keeper, *threads;
    bool pump_ended, keeper_ended, all_ended;
    size_t count;
    wp__mutex_lock(&worker->mutex);
    pump = worker->pump_thread;
    keeper = worker->keeper_thread;
    threads = worker->threads;
    count = worker->thread_count;
    pump_ended = !worker->pump_running;
    keeper_ended = !worker->keeper_running;
    all_ended = worker->threads_running == 0;
    worker->pump_thread.started = worker->keeper_thread.started = false;
    worker->threads = NULL;
    worker->thread_count = 0;
    wp__mutex_unlock(&worker->mutex);
    if (pump.started)
        pump_ended ? wp__thread_join(&pump) : wp__thread_detach(&pump);
    if (keeper.started)
        keeper_ended ? wp__thread_join(&keeper) : wp__thread_detach(&keeper);
    for (size_t i = 0; i < count; i++) {
        if (all_ended && !wp__thread_is_self(&threads[i]))
            wp__thread_join(&threads[i]);
        else
            wp__thread_detach(&threads[i]);
    }
    free(threads);
}

/* Whoever frees the worker is in no handler, whatever it says: none is spared. */
static void disown(wp_worker *worker)
{
    wp__mutex_lock(&worker->mutex);
    for (wp_delivery *d = worker->out.first; d; d = d->next) {
        atomic_store(&d->handled_by, NULL);
        d->stopping = false;
    }
    wp__mutex_unlock(&worker->mutex);
}

void wp__worker_end(wp_worker *worker)
{
    disown(worker);
    (void)wp_worker_stop(NULL, worker, 0, NULL);
}

/* Wait for what still runs, and at the deadline give it up. Returns how many deliveries were given
 * up. @locks mutex */
static size_t wait_and_abandon(wp_worker *worker, int64_t deadline)
{
    size_t count;
    while (!quiet(worker) && wp__cond_wait_until(&worker->settled, &worker->mutex, deadline))
        continue;
    if (quiet(worker))
        return 0;
    count = abandon(worker);
    if (count_stopping(worker))
        return count; /* pump and keeper go on for these */
    interrupt(worker);
    deadline = wp__real_mono_us() + GRACE_US;
    while (!threads_ended(worker, count > 0) &&
           wp__cond_wait_until(&worker->settled, &worker->mutex, deadline))
        continue;
    return count;
}

wp_status wp_worker_stop(size_t *abandoned, wp_worker *worker, int64_t deadline_ms, wp_error **err)
{
    size_t count = 0;
    int64_t deadline;
    bool last;
    wp_status st = wp__worker_check(worker, err);
    if (st != WP_OK)
        return st;
    if (deadline_ms < 0 || deadline_ms > WP_LEASE_MS_MAX)
        return wp__fail(err, WP_E_RANGE, "deadline_ms is %lld, not in 0..%d",
                        (long long)deadline_ms, WP_LEASE_MS_MAX);
    deadline = wp__real_mono_us() + deadline_ms * 1000;
    wp__worker_ref(worker);
    wp__mutex_lock(&worker->mutex);
    begin_stop(worker);
    worker->threads_stopping += wp__dispatch_is_thread_of(worker);
    mark_stopping(worker, true);
    wp__cond_broadcast(&worker->settled); /* there is one less to wait for */
    count = wait_and_abandon(worker, deadline);
    last = count_stopping(worker) == 0;
    if (last)
        worker->state = WP__STOPPED;
    mark_stopping(worker, false);
    worker->threads_stopping -= wp__dispatch_is_thread_of(worker);
    wp__cond_broadcast(&worker->cancels);
    wp__mutex_unlock(&worker->mutex);
    if (last)
        collect_threads(worker);
    wp__log_pump(worker->log);
    wp__worker_unref(worker);
    if (abandoned)
        *abandoned = count;
    return WP_OK;
}
