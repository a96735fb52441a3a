/* SPDX-License-Identifier: Apache-2.0 */
/* Stopping, by a deadline that always holds. */
#include <stdlib.h>

#include "worker/worker.h"

enum { GRACE_US = 200000 }; /* for internal threads to end once they are interrupted */

/* Claim no more; what was not started goes back; handlers are told. @locks mutex */
void wp__part_begin_stop(wp__part *part)
{
    if (part->state == WP__NEW)
        part->state = WP__STOPPED;
    if (part->state == WP__RUNNING) {
        part->state = WP__STOPPING;
        while (part->ready.first)
            wp__delivery_end(part->ready.first, WP__FINISH_RELEASE, NULL, 0);
        for (wp_delivery *d = part->out.first; d; d = d->next)
            if (wp_delivery_cancelled(d) == WP_CANCEL_NONE)
                wp__delivery_cancel(d, WP_CANCEL_STOP);
        wp__share_left(part);
    }
    wp__waiter_signal(part->waiter);
    wp__cond_signal(&part->keep);
}

/* @locks mutex */
static void begin_stop(wp_worker *worker)
{
    if (worker->state == WP__NEW)
        worker->state = WP__STOPPED;
    if (worker->state == WP__RUNNING)
        worker->state = WP__STOPPING;
    for (wp__part *part = worker->parts; part; part = part->next)
        wp__part_begin_stop(part);
    wp__cond_broadcast(&worker->available);
    wp__cond_broadcast(&worker->cancels);
}

/* True if this thread runs the delivery's handler. */
static bool is_ours(const wp_delivery *delivery)
{
    return atomic_load(&delivery->handled_by) == wp__dispatch_self();
}

/* True if this thread runs one of the part's handlers. @locks mutex */
static bool is_in_handler_of(const wp__part *part)
{
    for (const wp_delivery *d = part->out.first; d; d = d->next)
        if (is_ours(d))
            return true;
    return false;
}

/* The same for any of the worker's. @locks mutex */
static bool is_in_handler(const wp_worker *worker)
{
    for (const wp__part *part = worker->parts; part; part = part->next)
        if (is_in_handler_of(part))
            return true;
    return false;
}

/* Handlers that are inside wp_worker_stop() must not be waited for there: neither by themselves nor
 * by one another. @locks mutex */
static void mark_stopping_in(wp__part *part, bool stopping)
{
    for (wp_delivery *d = part->out.first; d; d = d->next)
        if (is_ours(d))
            d->stopping = stopping;
}

/* @locks mutex */
static void mark_stopping(wp_worker *worker, bool stopping)
{
    for (wp__part *part = worker->parts; part; part = part->next)
        mark_stopping_in(part, stopping);
}

/* @locks mutex */
static size_t count_stopping(const wp__part *part)
{
    size_t count = 0;
    for (const wp_delivery *d = part->out.first; d; d = d->next)
        count += d->stopping;
    return count;
}

/* @locks mutex */
static size_t count_all_stopping(const wp_worker *worker)
{
    size_t count = 0;
    for (const wp__part *part = worker->parts; part; part = part->next)
        count += count_stopping(part);
    return count;
}

/* True if none of the worker's own threads runs; if this is one of them, but those that wait here,
 * too. @locks mutex */
static bool threads_done(const wp_worker *worker)
{
    return worker->threads_running <=
           (wp__dispatch_is_thread_of(worker) ? worker->threads_stopping : 0);
}

/* True if the part waits for no handler and no outcome. @locks mutex */
static bool part_quiet(const wp__part *part)
{
    return part->out.count <= count_stopping(part) && !part->finished.count && !part->writing;
}

/* @locks mutex */
static bool pumps_ended(const wp_worker *worker)
{
    for (const wp__part *part = worker->parts; part; part = part->next)
        if (part->pump_running || part->keeper_running)
            return false;
    return true;
}

/* True once there is nothing more to wait for. @locks mutex */
static bool quiet(const wp_worker *worker)
{
    for (const wp__part *part = worker->parts; part; part = part->next)
        if (!part_quiet(part))
            return false;
    if (is_in_handler(worker))
        return true; /* pump and keeper go on until our own handler has returned */
    return pumps_ended(worker) && threads_done(worker);
}

/* The time is over: give up handlers that still run. @locks mutex */
static size_t abandon(wp__part *part)
{
    size_t count = 0;
    wp_delivery *next;
    for (wp_delivery *d = part->out.first; d; d = next) {
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
static void interrupt(wp__part *part)
{
    part->pump_exit = true;
    part->keeper_exit = true;
    if (part->pump_conn)
        part->pump_conn->driver->interrupt(part->pump_conn);
    if (part->keeper_conn)
        part->keeper_conn->driver->interrupt(part->keeper_conn);
    if (part->second_conn)
        part->second_conn->driver->interrupt(part->second_conn);
    wp__waiter_signal(part->waiter);
    wp__cond_signal(&part->keep);
}

/* Internal threads have ended, and so have those that run handlers, unless a handler was given up.
 * @locks mutex */
static bool threads_ended(const wp_worker *worker, bool abandoned)
{
    return pumps_ended(worker) && (abandoned || threads_done(worker));
}

/* Join what has ended, let go of what has not. */
static void collect(wp__thread *thread, bool ended)
{
    if (!thread->started)
        return;
    ended ? wp__thread_join(thread) : wp__thread_detach(thread);
}

void wp__part_collect(wp__part *part)
{
    wp_worker *worker = part->worker;
    wp__thread pump, keeper;
    bool pump_ended, keeper_ended;
    wp__mutex_lock(&worker->mutex);
    pump = part->pump_thread;
    keeper = part->keeper_thread;
    pump_ended = !part->pump_running;
    keeper_ended = !part->keeper_running;
    part->pump_thread.started = part->keeper_thread.started = false;
    wp__mutex_unlock(&worker->mutex);
    collect(&pump, pump_ended);
    collect(&keeper, keeper_ended);
}

/* The threads of all parts. The list may change while no lock is held. */
static void collect_parts(wp_worker *worker)
{
    wp__part *part = NULL;
    do {
        wp__mutex_lock(&worker->mutex);
        for (part = worker->parts; part; part = part->next)
            if (part->pump_thread.started || part->keeper_thread.started)
                break;
        if (part)
            wp__part_ref(part);
        wp__mutex_unlock(&worker->mutex);
        if (part) {
            wp__part_collect(part);
            wp__part_unref(part);
        }
    } while (part);
}

/* Those that run handlers. One caller does it. */
static void collect_threads(wp_worker *worker)
{
    wp__thread *threads;
    bool all_ended;
    size_t count;
    wp__mutex_lock(&worker->mutex);
    threads = worker->threads;
    count = worker->thread_count;
    all_ended = worker->threads_running == 0;
    worker->threads = NULL;
    worker->thread_count = 0;
    wp__mutex_unlock(&worker->mutex);
    for (size_t i = 0; i < count; i++)
        collect(&threads[i], all_ended && !wp__thread_is_self(&threads[i]));
    free(threads);
}

/* Whoever frees the worker is in no handler, whatever it says: none is spared. */
static void disown(wp_worker *worker)
{
    wp__mutex_lock(&worker->mutex);
    for (wp__part *part = worker->parts; part; part = part->next)
        for (wp_delivery *d = part->out.first; d; d = d->next) {
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
    size_t count = 0;
    while (!quiet(worker) && wp__cond_wait_until(&worker->settled, &worker->mutex, deadline))
        continue;
    if (quiet(worker))
        return 0;
    for (wp__part *part = worker->parts; part; part = part->next)
        count += abandon(part);
    if (count_all_stopping(worker))
        return count; /* pump and keeper go on for these */
    for (wp__part *part = worker->parts; part; part = part->next)
        interrupt(part);
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
    if (worker->stop_until < deadline)
        worker->stop_until = deadline;
    worker->threads_stopping += wp__dispatch_is_thread_of(worker);
    mark_stopping(worker, true);
    wp__cond_broadcast(&worker->settled); /* there is one less to wait for */
    count = wait_and_abandon(worker, deadline);
    last = count_all_stopping(worker) == 0;
    if (last)
        worker->state = WP__STOPPED;
    mark_stopping(worker, false);
    worker->threads_stopping -= wp__dispatch_is_thread_of(worker);
    wp__cond_broadcast(&worker->cancels);
    wp__mutex_unlock(&worker->mutex);
    if (last) {
        collect_parts(worker);
        collect_threads(worker);
        wp__worker_refuse(worker);
    }
    wp__log_pump(worker->log);
    wp__worker_unref(worker);
    if (abandoned)
        *abandoned = count;
    return WP_OK;
}

/* ---- one store ----------------------------------------------------------------------------- */

/* True once the part has nothing more to wait for. @locks mutex */
static bool part_done(const wp__part *part)
{
    return part_quiet(part) &&
           (is_in_handler_of(part) || (!part->pump_running && !part->keeper_running));
}

/* @locks mutex */
static size_t part_wait_and_abandon(wp__part *part, int64_t deadline)
{
    wp_worker *worker = part->worker;
    size_t count;
    while (!part_done(part) && wp__cond_wait_until(&worker->settled, &worker->mutex, deadline))
        continue;
    if (part_done(part))
        return 0;
    count = abandon(part);
    if (count_stopping(part))
        return count; /* pump and keeper go on for these */
    interrupt(part);
    deadline = wp__real_mono_us() + GRACE_US;
    while ((part->pump_running || part->keeper_running) &&
           wp__cond_wait_until(&worker->settled, &worker->mutex, deadline))
        continue;
    return count;
}

size_t wp__part_end(wp__part *part, int64_t deadline)
{
    wp_worker *worker = part->worker;
    size_t count;
    mark_stopping_in(part, true);
    wp__cond_broadcast(&worker->settled); /* there is one less to wait for */
    count = part_wait_and_abandon(part, deadline);
    mark_stopping_in(part, false);
    return count;
}
