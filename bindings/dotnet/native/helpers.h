/* SPDX-License-Identifier: Apache-2.0 */
/* What the binding adds to the C API: calls that save it round trips through P/Invoke. */
#ifndef WAYPOST_NET_HELPERS_H
#define WAYPOST_NET_HELPERS_H

#include <sqlite3.h>
#include <waypost/waypost.h>

/* What finishes a claim by hand. */
typedef enum wpn_finishing {
    WPN_ACK = 0,
    WPN_ABANDON = 1,
    WPN_FAIL = 2,
    WPN_RELEASE = 3,
    WPN_RENEW = 4
} wpn_finishing;

#ifndef SWIG
/* A received message at once. What it points to is borrowed from where the message is of. */
typedef struct wpn_message {
    wp_id id;
    const char *topic;
    const char *payload;
    size_t payload_len;
    const char *correlation_id;
    const char *ordering_key;
    const char *headers;
    const char *last_error;
    int64_t attempt;
    int64_t claim_number;
    int64_t created_us;
    int64_t due_us;
    int64_t expires_us;
    int64_t queue; /* wp_source; 0: not a delivery */
    const char *job;
    const char *source; /* of the inbox; else NULL, as what follows */
    const char *message_id;
    const char *consumer;
    const char *hash;
    size_t hash_len;
    const char *hash_algorithm;
    int64_t last_seen_us;
} wpn_message;

/* A message and where it stands, likewise. */
typedef struct wpn_info {
    wpn_message message;
    int64_t status; /* wp_message_status */
    int64_t source; /* wp_source */
    int64_t next_attempt_us;
    int64_t locked_until_us;
    int64_t finished_us;
    const char *finished_by;
} wpn_info;

/* A parameter of an operation's statement. */
typedef struct wpn_param {
    int64_t type; /* wp_value_type */
    int64_t integer;
    const char *name;
    const char *data;
    size_t len;
} wpn_param;

static void wpn_read(wpn_message *out, const wp_received *message)
{
    out->id = *wp_received_id(message);
    out->topic = wp_received_topic(message);
    out->payload = wp_received_payload(&out->payload_len, message);
    out->correlation_id = wp_received_correlation_id(message);
    out->ordering_key = wp_received_ordering_key(message);
    out->headers = wp_received_headers(message);
    out->attempt = wp_received_attempt(message);
    out->last_error = wp_received_last_error(message);
    out->claim_number = wp_received_claim_number(message);
    out->created_us = wp_received_created_us(message);
    out->due_us = wp_received_due_us(message);
    out->expires_us = wp_received_expires_us(message);
    out->queue = 0;
    out->job = wp_received_job(message);
    out->hash_len = 0;
    out->source = wp_received_source(message);
    out->message_id = wp_received_message_id(message);
    out->consumer = wp_received_consumer(message);
    out->hash = wp_received_hash(&out->hash_len, message);
    out->hash_algorithm = wp_received_hash_algorithm(message);
    out->last_seen_us = wp_received_last_seen_us(message);
}

static void wpn_delivery_read(wpn_message *out, const wp_delivery *delivery)
{
    wpn_read(out, wp_delivery_message(delivery));
    out->queue = (int64_t)wp_delivery_source(delivery);
}

static void wpn_info_read(wpn_info *out, const wp_outbox_info *info)
{
    wpn_read(&out->message, wp_outbox_info_message(info));
    out->status = (int64_t)wp_outbox_info_status(info);
    out->source = (int64_t)wp_outbox_info_source(info);
    out->next_attempt_us = wp_outbox_info_next_attempt_us(info);
    out->locked_until_us = wp_outbox_info_locked_until_us(info);
    out->finished_us = wp_outbox_info_finished_us(info);
    out->finished_by = wp_outbox_info_finished_by(info);
}

/* What pages lend. */
static void wpn_dead_read(wpn_info *out, const wp_dead_list *list, size_t index)
{
    wpn_info_read(out, wp_dead_list_at(list, index));
}

static void wpn_timer_read(wpn_info *out, const wp_timers *timers, size_t index)
{
    wpn_info_read(out, wp_timers_at(timers, index));
}

/* The page after another one; NULL or an empty one: the first. */
static wp_status wpn_timer_list(wp_timers **out, wp_store *store, const char *correlation_id,
                                const wp_timers *after, int64_t limit, wp_error **err)
{
    const size_t count = after ? wp_timers_count(after) : 0;
    return wp_timer_list(out, store, correlation_id,
                         count > 0 ? wp_timers_at(after, count - 1) : NULL, limit, err);
}

static wp_status wpn_job_run_list(wp_job_runs **out, wp_store *store, const char *name,
                                  const wp_job_runs *before, int64_t limit, wp_error **err)
{
    const size_t count = before ? wp_job_runs_count(before) : 0;
    return wp_job_run_list(out, store, name, count > 0 ? wp_job_runs_at(before, count - 1) : NULL,
                           limit, err);
}

static wp_status wpn_join_list(wp_joins **out, wp_store *store, const char *grouping_key,
                               const wp_joins *after, int64_t limit, wp_error **err)
{
    const size_t count = after ? wp_joins_count(after) : 0;
    return wp_join_list(out, store, grouping_key,
                        count > 0 ? wp_joins_at(after, count - 1) : NULL, limit, err);
}

/* What every queue has, by its wp_source. */
typedef struct wpn_queue {
    wp_status (*claim)(wp_claim **, wp_store *, const wp_id *, const char *const *, size_t, int64_t,
                       int64_t, wp_error **);
    wp_status (*ack)(size_t *, wp_store *, wp_conn *, const wp_id *, const wp_id *, const int64_t *,
                     size_t, const char *, wp_error **);
    wp_status (*abandon)(size_t *, wp_store *, wp_conn *, const wp_id *, const wp_id *,
                         const int64_t *, size_t, int64_t, const char *, wp_error **);
    wp_status (*fail)(size_t *, wp_store *, wp_conn *, const wp_id *, const wp_id *,
                      const int64_t *, size_t, const char *, wp_error **);
    wp_status (*release)(size_t *, wp_store *, wp_conn *, const wp_id *, const wp_id *,
                         const int64_t *, size_t, wp_error **);
    wp_status (*renew)(size_t *, wp_store *, wp_conn *, const wp_id *, const wp_id *,
                       const int64_t *, size_t, int64_t, wp_error **);
    wp_status (*reap)(size_t *, wp_store *, wp_error **);
    wp_status (*stats)(wp_outbox_stats **, wp_store *, int, wp_error **);
} wpn_queue;

#define WPN_QUEUE(name)                                                                            \
    {                                                                                              \
        wp_##name##_claim, wp_##name##_ack, wp_##name##_abandon, wp_##name##_fail,                 \
            wp_##name##_release, wp_##name##_renew, wp_##name##_reap, wp_##name##_stats_read       \
    }

static const wpn_queue wpn_queues[] = {
    [WP_SOURCE_OUTBOX] = WPN_QUEUE(outbox),
    [WP_SOURCE_INBOX] = WPN_QUEUE(inbox),
    [WP_SOURCE_TIMER] = WPN_QUEUE(timer),
    [WP_SOURCE_JOB] = WPN_QUEUE(job_run),
};

static wp_status wpn_claim(wp_claim **out, wp_store *store, wp_source queue, const wp_id *owner,
                           const char *const *topics, size_t topic_count, int64_t batch,
                           int64_t lease_ms, wp_error **err)
{
    return wpn_queues[queue].claim(out, store, owner, topics, topic_count, batch, lease_ms, err);
}

static wp_status wpn_finish(size_t *changed, wp_store *store, wp_source queue, wpn_finishing how,
                            const wp_id *owner, const wp_id *ids, const int64_t *claims,
                            size_t count, const char *text, int64_t ms, wp_error **err)
{
    const wpn_queue *q = &wpn_queues[queue];
    switch (how) {
    case WPN_ACK:
        return q->ack(changed, store, NULL, owner, ids, claims, count, text, err);
    case WPN_ABANDON:
        return q->abandon(changed, store, NULL, owner, ids, claims, count, ms, text, err);
    case WPN_FAIL:
        return q->fail(changed, store, NULL, owner, ids, claims, count, text, err);
    case WPN_RELEASE:
        return q->release(changed, store, NULL, owner, ids, claims, count, err);
    default:
        return q->renew(changed, store, NULL, owner, ids, claims, count, ms, err);
    }
}

static wp_status wpn_reap(size_t *changed, wp_store *store, wp_source queue, wp_error **err)
{
    return wpn_queues[queue].reap(changed, store, err);
}

static wp_status wpn_stats(wp_outbox_stats **out, wp_store *store, wp_source queue, int finished,
                           wp_error **err)
{
    return wpn_queues[queue].stats(out, store, finished, err);
}

/* Take the next delivery, and read its message. */
static wp_status wpn_next(wp_delivery **out, wpn_message *message, wp_worker *worker,
                          int64_t timeout_ms)
{
    wp_status st = wp_worker_next(out, worker, timeout_ms, NULL);
    if (st == WP_OK)
        wpn_delivery_read(message, *out);
    return st;
}

/* The engine of the store that a delivery came from. */
static const char *wpn_delivery_engine(const wp_delivery *delivery)
{
    return wp_store_engine(wp_delivery_store(delivery));
}

/* The next delivery that should stop, as its address alone: a key, not to be used. Still owned. */
static wp_status wpn_next_cancelled(wp_delivery **out, wp_worker *worker, int64_t timeout_ms)
{
    return wp_worker_next_cancelled(out, worker, timeout_ms, NULL);
}

/* A delivery that a callback lends, with a reference of its own. */
static wp_delivery *wpn_lent(void *delivery, wpn_message *message)
{
    wpn_delivery_read(message, delivery);
    return wp_delivery_ref(delivery);
}

static void wpn_param_read(wpn_param *out, const wp_op *op, size_t index)
{
    out->type = (int64_t)wp_op_param_type(op, index);
    out->integer = wp_op_param_int64(op, index);
    out->name = wp_op_param_name(op, index);
    out->data = wp_op_param_data(&out->len, op, index);
}

/* Where the SQLite is that the core calls. */
static void *wpn_sqlite(void)
{
    return (void *)(uintptr_t)sqlite3_libversion;
}
#else
void wpn_read(wpn_message *out, const wp_received *message);
void wpn_info_read(wpn_info *out, const wp_outbox_info *info);
void wpn_dead_read(wpn_info *out, const wp_dead_list *list, size_t index);
void wpn_timer_read(wpn_info *out, const wp_timers *timers, size_t index);
wp_status wpn_timer_list(wp_timers **out, wp_store *store, const char *correlation_id,
                         const wp_timers *after, int64_t limit, wp_error **err);
wp_status wpn_job_run_list(wp_job_runs **out, wp_store *store, const char *name,
                           const wp_job_runs *before, int64_t limit, wp_error **err);
wp_status wpn_join_list(wp_joins **out, wp_store *store, const char *grouping_key,
                        const wp_joins *after, int64_t limit, wp_error **err);
wp_status wpn_claim(wp_claim **out, wp_store *store, wp_source queue, const wp_id *owner,
                    const char *const *topics, size_t topic_count, int64_t batch, int64_t lease_ms,
                    wp_error **err);
wp_status wpn_finish(size_t *changed, wp_store *store, wp_source queue, wpn_finishing how,
                     const wp_id *owner, const wp_id *ids, const int64_t *claims, size_t count,
                     const char *text, int64_t ms, wp_error **err);
wp_status wpn_reap(size_t *changed, wp_store *store, wp_source queue, wp_error **err);
wp_status wpn_stats(wp_outbox_stats **out, wp_store *store, wp_source queue, int finished,
                    wp_error **err);
wp_status wpn_next(wp_delivery **out, wpn_message *message, wp_worker *worker, int64_t timeout_ms);
wp_status wpn_next_cancelled(wp_delivery **out, wp_worker *worker, int64_t timeout_ms);
wp_delivery *wpn_lent(void *delivery, wpn_message *message);
void wpn_param_read(wpn_param *out, const wp_op *op, size_t index);
const char *wpn_delivery_engine(const wp_delivery *delivery);
void *wpn_sqlite(void);
#endif

#endif
