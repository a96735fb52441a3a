/* SPDX-License-Identifier: Apache-2.0 */
/* The outbox as a queue: its public calls. */
#include "queue/queue.h"

const wp__queue wp__outbox = {.name = "outbox", .first_sql = WP__SQL_FIRST_OF_OUTBOX};

wp_status wp_outbox_enqueue(wp_id *id, int *duplicate, wp_store *store, wp_conn *conn,
                            const wp_message *message, wp_error **err)
{
    return wp__queue_enqueue_one(id, duplicate, store, conn, &wp__outbox, message, err);
}

wp_status wp_outbox_enqueue_many(wp_id *ids, int *duplicates, wp_store *store, wp_conn *conn,
                                 const wp_message *const *messages, size_t count, wp_error **err)
{
    return wp__queue_enqueue(ids, duplicates, store, conn, &wp__outbox, messages, count, err);
}

wp_status wp_outbox_enqueue_op(wp_op **out, wp_store *store, const wp_message *const *messages,
                               size_t count, wp_error **err)
{
    return wp__queue_enqueue_op(out, store, &wp__outbox, messages, count, err);
}

wp_status wp_outbox_claim(wp_claim **out, wp_store *store, const wp_id *owner,
                          const char *const *topics, size_t topic_count, int64_t batch,
                          int64_t lease_ms, wp_error **err)
{
    return wp__queue_claim(out, store, &wp__outbox, owner, topics, topic_count, batch, lease_ms,
                           err);
}

wp_status wp_outbox_ack(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                        const wp_id *ids, const int64_t *claims, size_t count, const char *worker,
                        wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .worker = worker};
    return wp__queue_finish(changed, store, conn, &wp__outbox, WP__FINISH_ACK, &r, err);
}

wp_status wp_outbox_ack_op(wp_op **out, wp_store *store, const wp_id *owner, const wp_id *ids,
                           const int64_t *claims, size_t count, const char *worker, wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .worker = worker};
    return wp__queue_finish_op(out, store, &wp__outbox, WP__FINISH_ACK, &r, err);
}

wp_status wp_outbox_abandon(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                            const wp_id *ids, const int64_t *claims, size_t count, int64_t delay_ms,
                            const char *reason, wp_error **err)
{
    const wp__finish_request r = {.owner = owner,
                                  .ids = ids,
                                  .claims = claims,
                                  .count = count,
                                  .delay_ms = delay_ms,
                                  .reason = reason};
    return wp__queue_finish(changed, store, conn, &wp__outbox, WP__FINISH_RETRY, &r, err);
}

wp_status wp_outbox_fail(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                         const wp_id *ids, const int64_t *claims, size_t count, const char *reason,
                         wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .reason = reason};
    return wp__queue_finish(changed, store, conn, &wp__outbox, WP__FINISH_FAIL, &r, err);
}

wp_status wp_outbox_release(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                            const wp_id *ids, const int64_t *claims, size_t count, wp_error **err)
{
    const wp__finish_request r = {.owner = owner, .ids = ids, .claims = claims, .count = count};
    return wp__queue_finish(changed, store, conn, &wp__outbox, WP__FINISH_RELEASE, &r, err);
}

wp_status wp_outbox_renew(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                          const wp_id *ids, const int64_t *claims, size_t count, int64_t lease_ms,
                          wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .lease_ms = lease_ms};
    return wp__queue_finish(changed, store, conn, &wp__outbox, WP__FINISH_RENEW, &r, err);
}

wp_status wp_outbox_reap(size_t *changed, wp_store *store, wp_error **err)
{
    return wp__queue_reap(changed, store, &wp__outbox, err);
}

wp_status wp_outbox_get(wp_outbox_info **out, wp_store *store, const wp_id *id, wp_error **err)
{
    return wp__queue_get(out, store, &wp__outbox, id, err);
}

wp_status wp_outbox_stats_read(wp_outbox_stats **out, wp_store *store, int finished, wp_error **err)
{
    return wp__queue_stats(out, store, &wp__outbox, finished, err);
}
