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

/* Deliveries that this thread itself is handling: a handler that stops the worker cannot wait for
 * itself. @locks mutex */
static size_t own(const wp_worker *worker)
{
    size_t count = 0;
    for (const wp_delivery *d = worker->out.first; d; d = d->next)
        count += d->taken_by == wp__dispatch_self();
    return count;
}

static size_t own_threads(const wp_worker *worker)
{
    for (size_t i = 0; i < worker->thread_count; i++)
        if (wp__thread_is_self(&worker->threads[i]))
            return 1;
    return 0;
}

/* True once there is nothing more to wait for. @locks mutex */
static bool quiet(const wp_worker *worker)
{
    if (worker->out.count > own(worker) || worker->finished.count || worker->writing)
        return false;
    if (own(worker))
        return true; /* pump and keeper go on until our own handler has returned */
    return !worker->pump_running && !worker->keeper_running &&
           worker->threads_running <= own_threads(worker);
}

/* The time is over: give up handlers that still run. @locks mutex */
static size_t abandon(wp_worker *worker)
{
    size_t count = 0;
    wp_delivery *next;
    for (wp_delivery *d = worker->out.first; d; d = next) {
        next = d->next;
        if (d->taken_by == wp__dispatch_self())
            continue;
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
    return !worker->pump_running && !worker->keeper_running &&
           (abandoned || worker->threads_running <= own_threads(worker));
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

/* A delivery that its last owner holds while it frees the worker is not in a handler. */
static void disown(wp_worker *worker)
{
    wp__mutex_lock(&worker->mutex);
    for (wp_delivery *d = worker->out.first; d; d = d->next)
        d->taken_by = NULL;
    wp__mutex_unlock(&worker->mutex);
}

void wp__worker_end(wp_worker *worker)
{
    disown(worker);
    (void)wp_worker_stop(NULL, worker, 0, NULL);
}

wp_status wp_worker_stop(size_t *abandoned, wp_worker *worker, int64_t deadline_ms, wp_error **err)
{
    size_t count = 0;
    int64_t deadline;
    bool mine;
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
    while (!quiet(worker) && wp__cond_wait_until(&worker->settled, &worker->mutex, deadline))
        continue;
    if (!quiet(worker)) {
        count = abandon(worker);
        if (!own(worker)) {
            interrupt(worker);
            deadline = wp__real_mono_us() + GRACE_US;
            while (!threads_ended(worker, count > 0) &&
                   wp__cond_wait_until(&worker->settled, &worker->mutex, deadline))
                continue;
        }
    }
    mine = !own(worker);
    if (mine)
        worker->state = WP__STOPPED;
    wp__cond_broadcast(&worker->cancels);
    wp__mutex_unlock(&worker->mutex);
    if (mine)
        collect_threads(worker);
    wp__log_pump(worker->log);
    wp__worker_unref(worker);
    if (abandoned)
        *abandoned = count;
    return WP_OK;
}
