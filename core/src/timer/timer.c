/* SPDX-License-Identifier: Apache-2.0 */
/* Timers as a queue: the public calls that every queue has. */
#include <waypost/timer.h>

#include "queue/queue.h"

const wp__queue wp__timer = {.name = "timers", .first_sql = WP__SQL_FIRST_OF_TIMER};

wp_status wp_timer_schedule(wp_id *id, int *duplicate, wp_store *store, wp_conn *conn,
                            const wp_message *message, wp_error **err)
{
    return wp__queue_enqueue_one(id, duplicate, store, conn, &wp__timer, message, err);
}

wp_status wp_timer_schedule_many(wp_id *ids, int *duplicates, wp_store *store, wp_conn *conn,
                                 const wp_message *const *messages, size_t count, wp_error **err)
{
    return wp__queue_enqueue(ids, duplicates, store, conn, &wp__timer, messages, count, err);
}

wp_status wp_timer_schedule_op(wp_op **out, wp_store *store, const wp_message *const *messages,
                               size_t count, wp_error **err)
{
    return wp__queue_enqueue_op(out, store, &wp__timer, messages, count, err);
}

wp_status wp_timer_claim(wp_claim **out, wp_store *store, const wp_id *owner,
                         const char *const *topics, size_t topic_count, int64_t batch,
                         int64_t lease_ms, wp_error **err)
{
    return wp__queue_claim(out, store, &wp__timer, owner, topics, topic_count, batch, lease_ms,
                           err);
}

wp_status wp_timer_ack(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                       const wp_id *ids, const int64_t *claims, size_t count, const char *worker,
                       wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .worker = worker};
    return wp__queue_finish(changed, store, conn, &wp__timer, WP__FINISH_ACK, &r, err);
}

wp_status wp_timer_ack_op(wp_op **out, wp_store *store, const wp_id *owner, const wp_id *ids,
                          const int64_t *claims, size_t count, const char *worker, wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .worker = worker};
    return wp__queue_finish_op(out, store, &wp__timer, WP__FINISH_ACK, &r, err);
}

wp_status wp_timer_abandon(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                           const wp_id *ids, const int64_t *claims, size_t count, int64_t delay_ms,
                           const char *reason, wp_error **err)
{
    const wp__finish_request r = {.owner = owner,
                                  .ids = ids,
                                  .claims = claims,
                                  .count = count,
                                  .delay_ms = delay_ms,
                                  .reason = reason};
    return wp__queue_finish(changed, store, conn, &wp__timer, WP__FINISH_RETRY, &r, err);
}

wp_status wp_timer_fail(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                        const wp_id *ids, const int64_t *claims, size_t count, const char *reason,
                        wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .reason = reason};
    return wp__queue_finish(changed, store, conn, &wp__timer, WP__FINISH_FAIL, &r, err);
}

wp_status wp_timer_release(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                           const wp_id *ids, const int64_t *claims, size_t count, wp_error **err)
{
    const wp__finish_request r = {.owner = owner, .ids = ids, .claims = claims, .count = count};
    return wp__queue_finish(changed, store, conn, &wp__timer, WP__FINISH_RELEASE, &r, err);
}

wp_status wp_timer_renew(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                         const wp_id *ids, const int64_t *claims, size_t count, int64_t lease_ms,
                         wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .lease_ms = lease_ms};
    return wp__queue_finish(changed, store, conn, &wp__timer, WP__FINISH_RENEW, &r, err);
}

wp_status wp_timer_reap(size_t *changed, wp_store *store, wp_error **err)
{
    return wp__queue_reap(changed, store, &wp__timer, err);
}

wp_status wp_timer_get(wp_outbox_info **out, wp_store *store, const wp_id *id, wp_error **err)
{
    return wp__queue_get(out, store, &wp__timer, id, err);
}

wp_status wp_timer_stats_read(wp_outbox_stats **out, wp_store *store, int finished, wp_error **err)
{
    return wp__queue_stats(out, store, &wp__timer, finished, err);
}
