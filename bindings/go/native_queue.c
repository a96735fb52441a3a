/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that all queues have, by queue. */
#include "native.h"

typedef wp_status finish_fn(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                            const wp_id *ids, const int64_t *claims, size_t count, wp_error **err);
typedef wp_status finish_text_fn(size_t *changed, wp_store *store, wp_conn *conn,
                                 const wp_id *owner, const wp_id *ids, const int64_t *claims,
                                 size_t count, const char *text, wp_error **err);
typedef wp_status finish_ms_fn(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                               const wp_id *ids, const int64_t *claims, size_t count, int64_t ms,
                               wp_error **err);

typedef struct queue_calls {
    wp_status (*enqueue)(wp_id *ids, int *duplicates, wp_store *store, wp_conn *conn,
                         const wp_message *const *messages, size_t count, wp_error **err);
    wp_status (*enqueue_op)(wp_op **out, wp_store *store, const wp_message *const *messages,
                            size_t count, wp_error **err);
    wp_status (*claim)(wp_claim **out, wp_store *store, const wp_id *owner,
                       const char *const *topics, size_t topic_count, int64_t batch,
                       int64_t lease_ms, wp_error **err);
    finish_text_fn *ack, *fail;
    wp_status (*abandon)(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                         const wp_id *ids, const int64_t *claims, size_t count, int64_t delay_ms,
                         const char *reason, wp_error **err);
    finish_fn *release;
    finish_ms_fn *renew;
    wp_status (*ack_op)(wp_op **out, wp_store *store, const wp_id *owner, const wp_id *ids,
                        const int64_t *claims, size_t count, const char *worker, wp_error **err);
    wp_status (*reap)(size_t *changed, wp_store *store, wp_error **err);
    wp_status (*get)(wp_outbox_info **out, wp_store *store, const wp_id *id, wp_error **err);
    wp_status (*stats)(wp_outbox_stats **out, wp_store *store, int finished, wp_error **err);
} queue_calls;

/* Where a queue lacks a call, Go does not make it. */
static const queue_calls queues[] = {
    [WP_SOURCE_OUTBOX] = {wp_outbox_enqueue_many, wp_outbox_enqueue_op, wp_outbox_claim,
                          wp_outbox_ack, wp_outbox_fail, wp_outbox_abandon, wp_outbox_release,
                          wp_outbox_renew, wp_outbox_ack_op, wp_outbox_reap, wp_outbox_get,
                          wp_outbox_stats_read},
    [WP_SOURCE_INBOX] = {NULL, NULL, wp_inbox_claim, wp_inbox_ack, wp_inbox_fail, wp_inbox_abandon,
                         wp_inbox_release, wp_inbox_renew, wp_inbox_ack_op, wp_inbox_reap,
                         wp_inbox_get_by_id, wp_inbox_stats_read},
    [WP_SOURCE_TIMER] = {wp_timer_schedule_many, wp_timer_schedule_op, wp_timer_claim, wp_timer_ack,
                         wp_timer_fail, wp_timer_abandon, wp_timer_release, wp_timer_renew,
                         wp_timer_ack_op, wp_timer_reap, wp_timer_get, wp_timer_stats_read},
    [WP_SOURCE_JOB] = {NULL, NULL, wp_job_run_claim, wp_job_run_ack, wp_job_run_fail,
                       wp_job_run_abandon, wp_job_run_release, wp_job_run_renew,
                       wp_job_run_ack_op, wp_job_run_reap, NULL, wp_job_run_stats_read},
};

wp_status wpg_enqueue(wp_id *ids, int *duplicates, wp_source source, wp_store *store,
                      wp_message **messages, size_t count, wp_error **err)
{
    return queues[source].enqueue(ids, duplicates, store, NULL, (const wp_message *const *)messages,
                                  count, err);
}

wp_status wpg_enqueue_op(wp_op **out, wp_source source, wp_store *store, wp_message **messages,
                         size_t count, wp_error **err)
{
    return queues[source].enqueue_op(out, store, (const wp_message *const *)messages, count, err);
}

wp_status wpg_claim(wp_claim **out, wp_source source, wp_store *store, const wp_id *owner,
                    char **topics, size_t topic_count, int64_t batch, int64_t lease_ms,
                    wp_error **err)
{
    return queues[source].claim(out, store, owner, (const char *const *)topics, topic_count, batch,
                                lease_ms, err);
}

wp_status wpg_finish(size_t *changed, wp_source source, wpg_how how, wp_store *store,
                     const wp_id *owner, const wp_id *ids, const int64_t *claims, size_t count,
                     const char *text, int64_t ms, wp_error **err)
{
    const queue_calls *calls = &queues[source];
    switch (how) {
    case WPG_ACK:
        return calls->ack(changed, store, NULL, owner, ids, claims, count, text, err);
    case WPG_ABANDON:
        return calls->abandon(changed, store, NULL, owner, ids, claims, count, ms, text, err);
    case WPG_FAIL:
        return calls->fail(changed, store, NULL, owner, ids, claims, count, text, err);
    case WPG_RELEASE:
        return calls->release(changed, store, NULL, owner, ids, claims, count, err);
    case WPG_RENEW:
        return calls->renew(changed, store, NULL, owner, ids, claims, count, ms, err);
    }
    return WP_E_INTERNAL;
}

wp_status wpg_finish_op(wp_op **out, wp_source source, wpg_how how, wp_store *store,
                        const wp_id *owner, const wp_id *ids, const int64_t *claims, size_t count,
                        const char *text, int64_t ms, wp_error **err)
{
    switch (how) {
    case WPG_ACK:
        return queues[source].ack_op(out, store, owner, ids, claims, count, text, err);
    case WPG_ABANDON: /* of the inbox alone, as the next */
        return wp_inbox_abandon_op(out, store, owner, ids, claims, count, ms, text, err);
    case WPG_FAIL:
        return wp_inbox_fail_op(out, store, owner, ids, claims, count, text, err);
    default:
        return WP_E_INTERNAL;
    }
}

wp_status wpg_reap(size_t *changed, wp_source source, wp_store *store, wp_error **err)
{
    return queues[source].reap(changed, store, err);
}

wp_status wpg_get(wp_outbox_info **out, wp_source source, wp_store *store, const wp_id *id,
                  wp_error **err)
{
    return queues[source].get(out, store, id, err);
}

wp_status wpg_stats(wp_outbox_stats **out, wp_source source, wp_store *store, int finished,
                    wp_error **err)
{
    return queues[source].stats(out, store, finished, err);
}
