/* SPDX-License-Identifier: Apache-2.0 */
/* The inbox as a queue: its public calls that all queues have. */
#include "inbox/inbox.h"

#include "db/store.h"

const wp__queue wp__inbox = {
    .name = "inbox", .first_sql = WP__SQL_FIRST_OF_INBOX, .columns = WP__INBOX_COLUMNS};

wp_status wp_inbox_claim(wp_claim **out, wp_store *store, const wp_id *owner,
                         const char *const *topics, size_t topic_count, int64_t batch,
                         int64_t lease_ms, wp_error **err)
{
    return wp__queue_claim(out, store, &wp__inbox, owner, topics, topic_count, batch, lease_ms,
                           err);
}

wp_status wp_inbox_ack(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                       const wp_id *ids, const int64_t *claims, size_t count, const char *worker,
                       wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .worker = worker};
    return wp__queue_finish(changed, store, conn, &wp__inbox, WP__FINISH_ACK, &r, err);
}

wp_status wp_inbox_ack_op(wp_op **out, wp_store *store, const wp_id *owner, const wp_id *ids,
                          const int64_t *claims, size_t count, const char *worker, wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .worker = worker};
    return wp__queue_finish_op(out, store, &wp__inbox, WP__FINISH_ACK, &r, err);
}

wp_status wp_inbox_abandon(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                           const wp_id *ids, const int64_t *claims, size_t count, int64_t delay_ms,
                           const char *reason, wp_error **err)
{
    const wp__finish_request r = {.owner = owner,
                                  .ids = ids,
                                  .claims = claims,
                                  .count = count,
                                  .delay_ms = delay_ms,
                                  .reason = reason};
    return wp__queue_finish(changed, store, conn, &wp__inbox, WP__FINISH_RETRY, &r, err);
}

wp_status wp_inbox_abandon_op(wp_op **out, wp_store *store, const wp_id *owner, const wp_id *ids,
                              const int64_t *claims, size_t count, int64_t delay_ms,
                              const char *reason, wp_error **err)
{
    const wp__finish_request r = {.owner = owner,
                                  .ids = ids,
                                  .claims = claims,
                                  .count = count,
                                  .delay_ms = delay_ms,
                                  .reason = reason};
    return wp__queue_finish_op(out, store, &wp__inbox, WP__FINISH_RETRY, &r, err);
}

wp_status wp_inbox_fail(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                        const wp_id *ids, const int64_t *claims, size_t count, const char *reason,
                        wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .reason = reason};
    if (!reason)
        return wp__fail(err, WP_E_ARGUMENT, "reason is NULL");
    return wp__queue_finish(changed, store, conn, &wp__inbox, WP__FINISH_FAIL, &r, err);
}

wp_status wp_inbox_fail_op(wp_op **out, wp_store *store, const wp_id *owner, const wp_id *ids,
                           const int64_t *claims, size_t count, const char *reason, wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .reason = reason};
    if (!reason)
        return wp__fail(err, WP_E_ARGUMENT, "reason is NULL");
    return wp__queue_finish_op(out, store, &wp__inbox, WP__FINISH_FAIL, &r, err);
}

wp_status wp_inbox_release(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                           const wp_id *ids, const int64_t *claims, size_t count, wp_error **err)
{
    const wp__finish_request r = {.owner = owner, .ids = ids, .claims = claims, .count = count};
    return wp__queue_finish(changed, store, conn, &wp__inbox, WP__FINISH_RELEASE, &r, err);
}

wp_status wp_inbox_renew(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                         const wp_id *ids, const int64_t *claims, size_t count, int64_t lease_ms,
                         wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .lease_ms = lease_ms};
    return wp__queue_finish(changed, store, conn, &wp__inbox, WP__FINISH_RENEW, &r, err);
}

wp_status wp_inbox_reap(size_t *changed, wp_store *store, wp_error **err)
{
    return wp__queue_reap(changed, store, &wp__inbox, err);
}

wp_status wp_inbox_get_by_id(wp_outbox_info **out, wp_store *store, const wp_id *id, wp_error **err)
{
    return wp__queue_get(out, store, &wp__inbox, id, err);
}

wp_status wp_inbox_stats_read(wp_outbox_stats **out, wp_store *store, int finished, wp_error **err)
{
    return wp__queue_stats(out, store, &wp__inbox, finished, err);
}

int64_t wp_inbox_counter(const wp_store *store, wp_inbox_counter_id counter)
{
    const bool known = store && (int)counter >= 0 && (int)counter < WP__STORE_COUNTERS;
    return known ? wp__store_counted(store, (int)counter) : 0;
}
