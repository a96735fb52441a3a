/* SPDX-License-Identifier: Apache-2.0 */
/* What the binding adds to the C API: one call where the API has several, since each call from Go
 * costs, and user data that are numbers, since C must not keep pointers to Go memory. */
#ifndef WAYPOST_GO_NATIVE_H
#define WAYPOST_GO_NATIVE_H

#include <stdlib.h>
#include <string.h>
#include <waypost/waypost.h>

/* ---- callbacks: native.c leads them to Go ---- */

wp_status wpg_config_set_log(wp_config *config, uintptr_t user, wp_error **err);
wp_status wpg_worker_set_selector(wp_worker *worker, uintptr_t user, wp_error **err);
wp_status wpg_worker_handle(wp_worker *worker, wp_source source, const char *topic, uintptr_t user,
                            wp_error **err);

/* ---- what all queues have: native_queue.c ---- */

typedef enum wpg_how { WPG_ACK, WPG_ABANDON, WPG_FAIL, WPG_RELEASE, WPG_RENEW } wpg_how;

wp_status wpg_enqueue(wp_id *ids, int *duplicates, wp_source source, wp_store *store,
                      wp_message **messages, size_t count, wp_error **err);
wp_status wpg_enqueue_op(wp_op **out, wp_source source, wp_store *store, wp_message **messages,
                         size_t count, wp_error **err);
wp_status wpg_claim(wp_claim **out, wp_source source, wp_store *store, const wp_id *owner,
                    char **topics, size_t topic_count, int64_t batch, int64_t lease_ms,
                    wp_error **err);
/* `text` is a worker's name or a reason, `ms` a delay or a lease. */
wp_status wpg_finish(size_t *changed, wp_source source, wpg_how how, wp_store *store,
                     const wp_id *owner, const wp_id *ids, const int64_t *claims, size_t count,
                     const char *text, int64_t ms, wp_error **err);
wp_status wpg_finish_op(wp_op **out, wp_source source, wpg_how how, wp_store *store,
                        const wp_id *owner, const wp_id *ids, const int64_t *claims, size_t count,
                        const char *text, int64_t ms, wp_error **err);
wp_status wpg_reap(size_t *changed, wp_source source, wp_store *store, wp_error **err);
wp_status wpg_get(wp_outbox_info **out, wp_source source, wp_store *store, const wp_id *id,
                  wp_error **err);
wp_status wpg_stats(wp_outbox_stats **out, wp_source source, wp_store *store, int finished,
                    wp_error **err);

/* ---- messages ---- */

enum { WPG_DUE = 1, WPG_DELAY = 2, WPG_EXPIRES = 4 };

/* The next of several texts that stand one after the other, each with its NUL. */
static inline const char *wpg_text(const char **at)
{
    const char *text = *at;
    *at += strlen(text) + 1;
    return text;
}

/* Make a message. `texts`: topic, correlation id, ordering key, unique key, and `headers` names and
 * values, each followed by a NUL. `set`: which times are given. */
static inline wp_status wpg_message_new(wp_message **out, const char *texts, size_t headers,
                                        const char *payload, size_t payload_len, int set,
                                        int64_t due_us, int64_t delay_ms, int64_t expires_us,
                                        const wp_id *joins, size_t join_count, wp_error **err)
{
    wp_message *m = NULL;
    wp_status st = wp_message_new(&m, wpg_text(&texts), payload, payload_len, err);
    if (st == WP_OK)
        st = wp_message_set_correlation_id(m, wpg_text(&texts), err);
    if (st == WP_OK)
        st = wp_message_set_ordering_key(m, wpg_text(&texts), err);
    if (st == WP_OK)
        st = wp_message_set_unique_key(m, wpg_text(&texts), err);
    if (st == WP_OK && (set & WPG_DUE))
        st = wp_message_set_due_us(m, due_us, err);
    if (st == WP_OK && (set & WPG_DELAY))
        st = wp_message_set_delay_ms(m, delay_ms, err);
    if (st == WP_OK && (set & WPG_EXPIRES))
        st = wp_message_set_expires_us(m, expires_us, err);
    for (size_t i = 0; i < headers && st == WP_OK; i++) {
        const char *name = wpg_text(&texts);
        st = wp_message_set_header(m, name, wpg_text(&texts), err);
    }
    for (size_t i = 0; i < join_count && st == WP_OK; i++)
        st = wp_message_add_join(m, &joins[i], err);
    if (st == WP_OK)
        *out = m;
    else
        wp_message_free(m);
    return st;
}

/* Make a key of the inbox. `texts`: source, message id, consumer, algorithm ("": the default). */
static inline wp_status wpg_key_new(wp_inbox_key **out, const char *texts, const char *hash,
                                    size_t hash_len, wp_error **err)
{
    wp_inbox_key *key = NULL;
    const char *source = wpg_text(&texts), *id = wpg_text(&texts);
    const char *consumer = wpg_text(&texts), *algorithm = wpg_text(&texts);
    wp_status st = wp_inbox_key_new(&key, source, id, err);
    if (st == WP_OK)
        st = wp_inbox_key_set_consumer(key, consumer, err);
    if (st == WP_OK && hash_len)
        st = wp_inbox_key_set_hash(key, hash, hash_len, *algorithm ? algorithm : NULL, err);
    if (st == WP_OK)
        *out = key;
    else
        wp_inbox_key_free(key);
    return st;
}

static inline wp_status wpg_inbox_mark(wp_store *store, const wp_inbox_key *key, wp_inbox_mark mark,
                                       const char *reason, wp_error **err)
{
    switch (mark) {
    case WP_INBOX_MARK_PROCESSING:
        return wp_inbox_mark_processing(store, NULL, key, err);
    case WP_INBOX_MARK_PROCESSED:
        return wp_inbox_mark_processed(store, NULL, key, err);
    case WP_INBOX_MARK_DEAD:
        return wp_inbox_mark_dead(store, NULL, key, reason, err);
    case WP_INBOX_MARK_REVIVED:
        return wp_inbox_revive(store, NULL, key, err);
    }
    return WP_E_INTERNAL;
}

/* `texts`: topic, reason; "": any. */
static inline wp_status wpg_dead_filter_new(wp_dead_filter **out, const char *texts,
                                            int64_t from_us, int64_t until_us, const wp_id *ids,
                                            size_t count, wp_error **err)
{
    wp_dead_filter *filter = NULL;
    const char *topic = wpg_text(&texts), *reason = wpg_text(&texts);
    wp_status st = wp_dead_filter_new(&filter, err);
    if (st == WP_OK)
        st = wp_dead_filter_set_topic(filter, *topic ? topic : NULL, err);
    if (st == WP_OK)
        st = wp_dead_filter_set_reason(filter, reason, err);
    if (st == WP_OK)
        st = wp_dead_filter_set_time_us(filter, from_us, until_us, err);
    if (st == WP_OK)
        st = wp_dead_filter_set_ids(filter, ids, count, err);
    if (st == WP_OK)
        *out = filter;
    else
        wp_dead_filter_free(filter);
    return st;
}

/* ---- joins ---- */

enum { WPG_DEADLINE = 1, WPG_TIMEOUT = 2 };

/* Make a join. `texts`: grouping key, metadata; "": none. `set`: which time is given. */
static inline wp_status wpg_join_new(wp_join **out, int64_t expected, const char *texts,
                                     int fail_if_any, const wp_message *success,
                                     const wp_message *failure, int set, int64_t deadline_us,
                                     int64_t timeout_ms, wp_error **err)
{
    wp_join *join = NULL;
    const char *grouping_key = wpg_text(&texts), *metadata = wpg_text(&texts);
    wp_status st = wp_join_new(&join, expected, err);
    if (st == WP_OK)
        st = wp_join_set_grouping_key(join, grouping_key, err);
    if (st == WP_OK)
        st = wp_join_set_metadata(join, *metadata ? metadata : NULL, err);
    if (st == WP_OK)
        st = wp_join_set_fail_if_any(join, fail_if_any, err);
    if (st == WP_OK)
        st = wp_join_set_success(join, success, err);
    if (st == WP_OK)
        st = wp_join_set_failure(join, failure, err);
    if (st == WP_OK && (set & WPG_DEADLINE))
        st = wp_join_set_deadline_us(join, deadline_us, err);
    if (st == WP_OK && (set & WPG_TIMEOUT))
        st = wp_join_set_timeout_ms(join, timeout_ms, err);
    if (st == WP_OK)
        *out = join;
    else
        wp_join_free(join);
    return st;
}

/* ---- jobs ---- */

typedef struct wpg_job {
    int once; /* at_us stands for the expression */
    int64_t at_us;
    wp_overlap overlap;
    wp_misfire misfire;
    int64_t misfire_ms, catch_up, timeout_ms, max_attempts, base_ms, max_ms;
} wpg_job;

static inline wp_status wpg_job_schedule(wp_job *job, const char *expression, const char *zone,
                                         const wpg_job *settings, wp_error **err)
{
    if (settings->once)
        return wp_job_set_once_us(job, settings->at_us, err);
    return *expression ? wp_job_set_schedule(job, expression, *zone ? zone : NULL, err) : WP_OK;
}

/* Make a job. `texts`: name, topic, expression ("": none), zone ("": UTC). */
static inline wp_status wpg_job_new(wp_job **out, const char *texts, const char *payload,
                                    size_t payload_len, const wpg_job *settings, wp_error **err)
{
    wp_job *job = NULL;
    const char *name = wpg_text(&texts), *topic = wpg_text(&texts);
    const char *expression = wpg_text(&texts), *zone = wpg_text(&texts);
    wp_status st = wp_job_new(&job, name, topic, payload, payload_len, err);
    if (st == WP_OK)
        st = wpg_job_schedule(job, expression, zone, settings, err);
    if (st == WP_OK)
        st = wp_job_set_overlap(job, settings->overlap, err);
    if (st == WP_OK)
        st = wp_job_set_misfire(job, settings->misfire, settings->misfire_ms, settings->catch_up,
                                err);
    if (st == WP_OK)
        st = wp_job_set_timeout_ms(job, settings->timeout_ms, err);
    if (st == WP_OK)
        st =
            wp_job_set_retry(job, settings->max_attempts, settings->base_ms, settings->max_ms, err);
    if (st == WP_OK)
        *out = job;
    else
        wp_job_free(job);
    return st;
}

/* ---- leases ---- */

typedef enum wpg_lease_how {
    WPG_LEASE_ACQUIRE,
    WPG_LEASE_RENEW,
    WPG_LEASE_RELEASE,
    WPG_LEASE_GET,
    WPG_LEASE_LIMIT
} wpg_lease_how;

/* `ms` is a duration, or the limit of a semaphore. */
static inline wp_status wpg_lease_call(wp_lease_info **out, int *released, wpg_lease_how how,
                                       wp_store *store, wp_lease_kind kind, const char *name,
                                       const char *owner, int64_t fence, int64_t ms, wp_error **err)
{
    switch (how) {
    case WPG_LEASE_ACQUIRE:
        return wp_lease_acquire(out, store, NULL, kind, name, owner, ms, err);
    case WPG_LEASE_RENEW:
        return wp_lease_renew(out, store, NULL, kind, name, owner, fence, ms, err);
    case WPG_LEASE_RELEASE:
        return wp_lease_release(released, store, NULL, kind, name, owner, fence, err);
    case WPG_LEASE_GET:
        return wp_lease_get(out, store, NULL, kind, name, err);
    case WPG_LEASE_LIMIT:
        return wp_semaphore_set_limit(store, NULL, name, ms, err);
    }
    return WP_E_INTERNAL;
}

static inline wp_status wpg_lease_op(wp_op **out, wpg_lease_how how, wp_store *store,
                                     wp_lease_kind kind, const char *name, const char *owner,
                                     int64_t fence, int64_t ms, wp_error **err)
{
    switch (how) {
    case WPG_LEASE_ACQUIRE:
        return wp_lease_acquire_op(out, store, kind, name, owner, ms, err);
    case WPG_LEASE_RENEW:
        return wp_lease_renew_op(out, store, kind, name, owner, fence, ms, err);
    case WPG_LEASE_RELEASE:
        return wp_lease_release_op(out, store, kind, name, owner, fence, err);
    case WPG_LEASE_GET:
        return wp_lease_get_op(out, store, kind, name, err);
    case WPG_LEASE_LIMIT:
        return wp_semaphore_set_limit_op(out, store, name, ms, err);
    }
    return WP_E_INTERNAL;
}

/* ---- messages received ---- */

typedef struct wpg_received {
    wp_id id;
    const char *topic, *payload, *correlation_id, *ordering_key, *headers, *last_error;
    size_t topic_len, payload_len;
    int64_t attempt, claim_number, created_us, due_us, expires_us;
    const char *source, *message_id, *consumer, *hash, *hash_algorithm; /* NULL: not of the inbox */
    size_t hash_len;
    int64_t last_seen_us;
    const char *job; /* NULL: no run */
} wpg_received;

static inline void wpg_received_read(wpg_received *out, const wp_received *m)
{
    out->id = *wp_received_id(m);
    out->topic = wp_received_topic(m);
    out->topic_len = strlen(out->topic);
    out->payload = wp_received_payload(&out->payload_len, m);
    out->correlation_id = wp_received_correlation_id(m);
    out->ordering_key = wp_received_ordering_key(m);
    out->headers = wp_received_headers(m);
    out->attempt = wp_received_attempt(m);
    out->last_error = wp_received_last_error(m);
    out->claim_number = wp_received_claim_number(m);
    out->created_us = wp_received_created_us(m);
    out->due_us = wp_received_due_us(m);
    out->expires_us = wp_received_expires_us(m);
    out->job = wp_received_job(m);
    out->source = wp_received_source(m);
    if (!out->source)
        return;
    out->message_id = wp_received_message_id(m);
    out->consumer = wp_received_consumer(m);
    out->hash = wp_received_hash(&out->hash_len, m);
    out->hash_algorithm = wp_received_hash_algorithm(m);
    out->last_seen_us = wp_received_last_seen_us(m);
}

/* ---- operations ---- */

typedef struct wpg_param {
    int type; /* wp_value_type */
    int64_t i;
    const char *name, *data;
    size_t len;
} wpg_param;

/* Go to the next statement and fill `params` with at most `max` of its parameters; *count gets how
 * many there are. *sql is NULL when there is none. */
static inline wp_status wpg_op_next(const char **sql, int *returns_rows, size_t *count,
                                    wpg_param *params, size_t max, wp_op *op, wp_error **err)
{
    int more = 0;
    wp_status st = wp_op_next(&more, op, err);
    *sql = st == WP_OK && more ? wp_op_sql(op) : NULL;
    *returns_rows = wp_op_returns_rows(op);
    *count = *sql ? wp_op_param_count(op) : 0;
    for (size_t i = 0; i < *count && i < max; i++) {
        params[i].type = (int)wp_op_param_type(op, i);
        params[i].i = wp_op_param_int64(op, i);
        params[i].name = wp_op_param_name(op, i);
        params[i].data = wp_op_param_data(&params[i].len, op, i);
    }
    return st;
}

/* ---- workers ---- */

typedef struct wpg_item {
    wp_delivery *delivery;
    const char *store_id, *engine;
    wp_source source;
    wpg_received message;
} wpg_item;

/* Take deliveries: wait for the first one, and take what else is there, up to `max`. */
static inline wp_status wpg_worker_next(wpg_item *items, size_t *count, size_t max,
                                        wp_worker *worker, int64_t timeout_ms, wp_error **err)
{
    wp_status st = WP_OK;
    size_t n = 0;
    while (n < max) {
        st = wp_worker_next(&items[n].delivery, worker, n ? 0 : timeout_ms, n ? NULL : err);
        if (st != WP_OK)
            break;
        wpg_received_read(&items[n].message, wp_delivery_message(items[n].delivery));
        items[n].store_id = wp_delivery_store_id(items[n].delivery);
        items[n].engine = wp_store_engine(wp_delivery_store(items[n].delivery));
        items[n].source = wp_delivery_source(items[n].delivery);
        n++;
    }
    *count = n;
    return n ? WP_OK : st;
}

static inline wp_status wpg_worker_next_cancelled(wp_delivery **out, int *reason, wp_worker *worker,
                                                  int64_t timeout_ms)
{
    wp_status st = wp_worker_next_cancelled(out, worker, timeout_ms, NULL);
    if (st == WP_OK)
        *reason = (int)wp_delivery_cancelled(*out);
    return st;
}

static inline void wpg_delivery_read(wpg_received *out, const wp_delivery *delivery)
{
    wpg_received_read(out, wp_delivery_message(delivery));
}

/* Finish a delivery and drop the reference to it. */
static inline wp_status wpg_delivery_end(wp_delivery *delivery, wp_outcome outcome,
                                         const char *reason, int64_t delay_ms, wp_error **err)
{
    wp_status st = wp_delivery_finish(delivery, outcome, reason, delay_ms, err);
    wp_delivery_free(delivery);
    return st;
}

#endif
