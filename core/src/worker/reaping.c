/* SPDX-License-Identifier: Apache-2.0 */
/* Reaping: leases that ran out and messages that expired, of each queue, and joins past their deadline. On
 * the pump's thread. */
#include "join/join.h"
#include "worker/worker.h"

enum { REAP_MARGIN_US = 10000000 /* claims may commit so much later than they wrote */ };

/* The same mark for leases: those that ended before it are dealt with. */
static int64_t reap_since(const wp__reaping *reaping, int64_t now)
{
    return now >= reaping->sweep_at ? INT64_MIN : reaping->since_us;
}

static void move_reap_since(wp__part *part, wp__reaping *reaping, int64_t start)
{
    if (part->server_offset != INT64_MIN)
        reaping->since_us = part->server_offset + start - REAP_MARGIN_US;
}

static void note_reaped(wp__part *part, const wp__reap_op *op)
{
    /* A run that was lost is for somebody to look at (JOB-015). */
    wp_log_level level = op->base.queue->runs && op->leases ? WP_LOG_WARNING : WP_LOG_INFO;
    const size_t reaped = op->retried + op->failed + op->cancelled;
    wp__part_count(part, WP_COUNTER_REAPED, (int64_t)reaped);
    atomic_fetch_add_explicit(&part->reaped[wp__queue_index(op->base.queue)], (int64_t)reaped,
                              memory_order_relaxed);
    wp__part_count(part, WP_COUNTER_CANCELLED, (int64_t)op->cancelled);
    wp__part_count(part, WP_COUNTER_FAILED, (int64_t)(op->failed + op->expired + op->unreadable));
    WP__LOG(part->worker->log, level, "reaped", WP__F_TEXT("StoreId", part->id),
            WP__F_TEXT("WorkerId", part->worker->name), WP__F_TEXT("Queue", op->base.queue->name),
            WP__F_INT("Count", reaped), WP__F_INT("Dead", op->failed),
            WP__F_INT("Expired", op->expired), WP__F_INT("Unreadable", op->unreadable));
    part->worked = true;
    wp__pump_work_made(part);
}

static wp_status reap_queue(wp__part *part, const wp__queue *queue, wp_error **err)
{
    wp__reaping *reaping = &part->reaping[wp__queue_index(queue)];
    bool more = false;
    int64_t start = wp__worker_now(part->worker);
    int64_t since_us = reap_since(reaping, start);
    /* By the wall clock as it was when it was last found not to have been set: it may be set at any
     * moment, also between that and this. */
    int64_t now_us = part->clock_offset + wp__worker_now(part->worker);
    wp_status st =
        wp__queue_reap_needed(&more, part->store, part->pump_conn, queue, now_us, since_us, err);
    while (st == WP_OK && more) {
        wp__reap_op op;
        wp__reap_op_init(&op, part->store, queue, part->worker->name, now_us, since_us);
        st = wp__conn_run(part->pump_conn, &op.base, err);
        more = wp__reap_op_is_full(&op);
        if (st == WP_OK) {
            note_reaped(part, &op);
            st = wp__reap_op_tell(&op, part->pump_conn, part->worker->log, part->worker->name, err);
        }
        wp__op_fini(&op.base);
    }
    if (st == WP_OK) {
        move_reap_since(part, reaping, start);
        wp__swept(&reaping->sweep_at, since_us, start, wp__worker_now(part->worker));
    }
    return st;
}

static wp_status reap_joins(wp__part *part, wp_error **err)
{
    size_t failed = 0;
    bool more = false;
    wp_status st = wp__join_reap_needed(&more, part->store, part->pump_conn, err);
    while (st == WP_OK && more) {
        st = wp__join_reap_page(&failed, &more, part->store, part->pump_conn, err);
        if (st == WP_OK && failed) {
            WP__LOG(part->worker->log, WP_LOG_INFO, "joins failed by their deadline",
                    WP__F_TEXT("StoreId", part->id), WP__F_TEXT("WorkerId", part->worker->name),
                    WP__F_INT("Count", failed));
            wp__pump_work_made(part);
        }
    }
    return st;
}

wp_status wp__part_reap(wp__part *part, wp_error **err)
{
    wp_status st = WP_OK;
    for (size_t i = 0; i < WP__QUEUES && st == WP_OK; i++)
        if (wp__queues[i] == &wp__outbox || wp__worker_uses(part->worker, wp__queues[i]))
            st = reap_queue(part, wp__queues[i], err);
    if (st == WP_OK)
        st = reap_joins(part, err);
    return st;
}
