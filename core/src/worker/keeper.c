/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper: renews the leases of running work before they end, and enforces timeouts, on a thread
 * and a connection of its own that neither handlers nor the pump can block. It is there as long as
 * something is held, and a little longer. */
#include <stdlib.h>

#include "worker/worker.h"

enum {
    LOOK_MAX_US = 1000000,
    RETRY_MIN_US = 20000,
    IDLE_US = 10000000 /* it ends when nothing was held for so long */
};

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void log_lease(const wp__part *part, const wp_delivery *delivery, const char *message)
{
    WP__LOG(part->worker->log, WP_LOG_WARNING, message, WP__F_TEXT("StoreId", part->id),
            WP__F_TEXT("WorkerId", part->worker->name),
            WP__F_TEXT("Topic", delivery->message->topic),
            WP__F_ID("MessageId", &delivery->message->id));
}

/* A lease that could not be renewed in time, or a timeout whose handler goes on. @locks mutex */
static void let_go(wp_delivery *delivery)
{
    if (delivery->timed_out && !delivery->completed) { /* else the app's transaction holds it */
        /* Give it back while the lease may still stand; the handler's own answer comes too late. */
        delivery->lost = true;
        wp__delivery_cancel(delivery, WP_CANCEL_LEASE_LOST);
        wp__delivery_end(delivery,
                         delivery->asked ? WP__FINISH_CANCEL
                         : delivery->message->attempt + 1 >= delivery->options.max_attempts
                             ? WP__FINISH_FAIL
                             : WP__FINISH_RETRY,
                         delivery->asked ? "cancelled" : "timeout", 0);
    } else {
        wp__delivery_cancel(delivery, WP_CANCEL_LEASE_LOST);
    }
    delivery->renew_at = WP__FOREVER;
}

/* Timeouts and leases that have run out; *next gets the instant at which to look again. Returns a
 * reference to the first delivery that was let go, so that it is logged outside the lock, or NULL
 * when all were looked at. @locks mutex */
static wp_delivery *enforce(wp__part *part, int64_t now, int64_t *next)
{
    *next = now + LOOK_MAX_US;
    for (wp_delivery *delivery = part->out.first; delivery; delivery = delivery->next) {
        if (delivery->timeout_at <= now) {
            wp__delivery_cancel(delivery, WP_CANCEL_TIMEOUT);
            delivery->timeout_at = WP__FOREVER;
            delivery->renew_at =
                delivery->lease_until - delivery->group->lane->options.lease_ms * 100;
            delivery->timed_out = true;
        }
        if ((delivery->timed_out && delivery->renew_at <= now) ||
            (delivery->renew_at != WP__FOREVER && delivery->renew_at > now &&
             delivery->lease_until <= now)) { /* and the last try to renew it has failed */
            wp_delivery_ref(delivery);
            let_go(delivery);
            return delivery;
        }
        *next = sooner(*next, sooner(delivery->timeout_at, delivery->renew_at));
        if (delivery->renew_at != WP__FOREVER)
            *next = sooner(*next, delivery->lease_until);
    }
    /* Nobody signals when one of these is taken by a handler. */
    for (const wp_delivery *delivery = part->ready.first; delivery; delivery = delivery->next)
        *next = sooner(*next, delivery->renew_at);
    return NULL;
}

/* The leases to renew now, all of one queue and one length. */
typedef struct renewal {
    const wp__queue *queue;
    wp_delivery **items;
    bool *lost;
    size_t count;
    int64_t lease_us;
} renewal;

static void collect(renewal *r, wp__list *list, int64_t now)
{
    for (wp_delivery *d = list->first; d; d = d->next) {
        int64_t lease_us = d->group->lane->options.lease_ms * 1000;
        if (d->renew_at > now || d->timed_out ||
            (r->count && (lease_us != r->lease_us || d->group->lane->queue != r->queue)))
            continue;
        r->queue = d->group->lane->queue;
        r->lease_us = lease_us;
        r->items[r->count++] = wp_delivery_ref(d);
    }
}

/* The wall clock was set: leases that end by it are renewed at once. @locks mutex */
static void renew_all(wp__part *part, int64_t now)
{
    wp__list *lists[] = {&part->ready, &part->out, &part->finished};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (wp_delivery *d = lists[i]->first; d; d = d->next)
            if (d->renew_at != WP__FOREVER && !d->timed_out)
                d->renew_at = now;
}

/* What is due for renewal: running work, and outcomes that could not be written yet.
 * @locks mutex */
static bool renewal_take(renewal *r, wp__part *part, int64_t now)
{
    size_t max = part->ready.count + part->out.count + part->finished.count;
    r->count = 0;
    r->items = max ? calloc(max, sizeof(wp_delivery *)) : NULL;
    r->lost = max ? calloc(max, sizeof *r->lost) : NULL;
    if (!r->items || !r->lost)
        return false;
    collect(r, &part->ready, now);
    collect(r, &part->out, now);
    collect(r, &part->finished, now);
    return r->count > 0;
}

/* Soon: several times before the lease ends. */
static int64_t again_at(const wp_worker *worker, const renewal *r)
{
    int64_t pause = r->lease_us / 20;
    return wp__worker_now(worker) + (pause > RETRY_MIN_US ? pause : RETRY_MIN_US);
}

/* The database has answered. @locks mutex */
static void renewed(wp__part *part, const renewal *r, wp__finish_op *op, int64_t sent_at)
{
    for (size_t i = 0; i < r->count; i++) {
        wp_delivery *delivery = r->items[i];
        bool kept = wp__finish_op_changed(op, delivery->message);
        int64_t span = r->lease_us * 6 / 10;
        if (wp__finish_op_passed(op, delivery->message)) { /* the app's transaction acks it, say */
            delivery->renew_at = again_at(part->worker, r);
            continue;
        }
        delivery->lease_until = sent_at + r->lease_us;
        delivery->renew_at = sent_at + span - (int64_t)(wp__random() % (uint64_t)(span / 10 + 1));
        /* Written or acked by the app meanwhile: not lost. */
        if (kept || delivery->state != WP__OUT || delivery->completed)
            continue;
        r->lost[i] = true;
        wp__part_count(part, WP_COUNTER_LEASES_LOST, 1);
        wp__delivery_cancel(delivery, WP_CANCEL_LEASE_LOST);
        delivery->lost = true;
        wp__delivery_detach(delivery);
    }
    wp__part_count(part, WP_COUNTER_RENEWED, (int64_t)op->base.result_count);
}

/* Once a lease is over, its handler must be told: no answer is waited for longer. @locks mutex */
static int64_t first_to_end(const renewal *r, int64_t now)
{
    int64_t first = WP__FOREVER;
    for (size_t i = 0; i < r->count; i++)
        if (r->items[i]->lease_until > now)
            first = sooner(first, r->items[i]->lease_until);
    return first == WP__FOREVER ? 0 : first;
}

static wp_status renew(wp__part *part, const renewal *r, wp_error **err)
{
    wp__finish_op op;
    int64_t sent_at = wp__worker_now(part->worker);
    int64_t give_up_at;
    wp_status st = wp__part_connect(part, &part->keeper_conn, err);
    wp__mutex_lock(&part->worker->mutex);
    give_up_at = first_to_end(r, sent_at);
    wp__mutex_unlock(&part->worker->mutex);
    wp__finish_op_init(&op, part->store, r->queue, WP__FINISH_RENEW, &part->owner);
    op.lease_us = r->lease_us;
    op.pass_locked = true;
    for (size_t i = 0; i < r->count && st == WP_OK; i++)
        st = wp__refs_add(&op.refs, r->items[i]->message->seq, r->items[i]->message->claim_number,
                          0, err);
    if (st == WP_OK) {
        if (!wp__clock_is_manual(part->worker->clock))
            part->keeper_conn->give_up_at = give_up_at;
        st = wp__conn_run(part->keeper_conn, &op.base, err);
    }
    wp__mutex_lock(&part->worker->mutex);
    if (st == WP_OK) {
        renewed(part, r, &op, sent_at);
    } else {
        for (size_t i = 0; i < r->count; i++)
            r->items[i]->renew_at = again_at(part->worker, r);
    }
    wp__mutex_unlock(&part->worker->mutex);
    wp__op_fini(&op.base);
    return st;
}

static void renew_due(wp__part *part, renewal *r)
{
    wp_error *err = NULL;
    if (renew(part, r, &err) != WP_OK) {
        wp__part_count(part, WP_COUNTER_ERRORS, 1);
        WP__LOG(part->worker->log, WP_LOG_WARNING, "leases could not be renewed, will try again",
                WP__F_TEXT("StoreId", part->id), WP__F_TEXT("WorkerId", part->worker->name),
                WP__F_INT("Count", r->count), WP__F_TEXT("Exception", wp_error_message(err)));
        wp_error_free(err);
    }
    for (size_t i = 0; i < r->count; i++) {
        if (r->lost[i])
            log_lease(part, r->items[i], "lease lost");
        wp_delivery_free(r->items[i]);
    }
}

/* True if there is nothing left to keep; *idle_at is when there was something last. @locks mutex */
static bool may_end(const wp__part *part, int64_t now, int64_t *idle_at)
{
    const size_t held = part->ready.count + part->out.count + part->finished.count;
    if (held)
        *idle_at = now;
    return part->keeper_exit ||
           (part->out.count == 0 && part->state != WP__RUNNING && !part->pump_running) ||
           (held == 0 && part->writing == 0 && now - *idle_at >= IDLE_US);
}

/* Look at all that is held and do one thing that is due, or wait. False: there is nothing more to keep. */
static bool look(wp__part *part, int64_t *idle_at)
{
    wp_worker *worker = part->worker;
    renewal r = {0};
    wp_delivery *gone = NULL;
    int64_t now = wp__worker_now(worker);
    int64_t next;
    bool end;
    wp__mutex_lock(&worker->mutex);
    end = may_end(part, now, idle_at);
    if (!end && wp__worker_clock_was_set(worker, &part->keeper_clock_offset))
        renew_all(part, now);
    if (!end && !(gone = enforce(part, now, &next)) && !renewal_take(&r, part, now))
        (void)wp__cond_wait_until(&part->keep, &worker->mutex, next);
    wp__mutex_unlock(&worker->mutex);
    if (gone) {
        log_lease(part, gone,
                  gone->timed_out ? "handler ignores its timeout, given up" : "lease ran out");
        wp_delivery_free(gone);
    } else if (r.count) {
        renew_due(part, &r);
    }
    free(r.items);
    free(r.lost);
    return !end;
}

static void *keeper_main(void *arg)
{
    wp__part *part = arg;
    wp_worker *worker = part->worker;
    int64_t idle_at = wp__worker_now(worker);
    bool end = false;
    while (!end) {
        while (look(part, &idle_at))
            continue;
        wp__part_close(part, &part->keeper_conn);
        wp__mutex_lock(&worker->mutex);
        end = may_end(part, wp__worker_now(worker), &idle_at); /* still, and nobody can miss it */
        if (end) {
            part->keeper_running = false;
            wp__part_thread_ended(part);
        }
        wp__mutex_unlock(&worker->mutex);
    }
    wp__part_unref(part);
    wp__worker_unref(worker);
    return NULL;
}

wp_status wp__keeper_ensure(wp__part *part, wp_error **err)
{
    wp_status st;
    if (part->keeper_running)
        return WP_OK;
    wp__thread_join(&part->keeper_thread); /* the last one has ended */
    part->keeper_clock_offset = part->clock_offset;
    wp__worker_ref(part->worker);
    wp__part_ref(part);
    part->keeper_running = true;
    st = wp__thread_start(&part->keeper_thread, "waypost-keep", keeper_main, part, err);
    if (st != WP_OK) {
        part->keeper_running = false;
        wp__part_unref(part);
        wp__worker_unref(part->worker);
    }
    return st;
}
