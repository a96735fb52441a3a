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
wp_status wpg_worker_handle(wp_worker *worker, const char *topic, uintptr_t user, wp_error **err);

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
                                        wp_error **err)
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
    if (st == WP_OK)
        *out = m;
    else
        wp_message_free(m);
    return st;
}

/* ---- messages received ---- */

typedef struct wpg_received {
    wp_id id;
    const char *topic, *payload, *correlation_id, *ordering_key, *headers;
    size_t topic_len, payload_len;
    int64_t attempt, claim_number, created_us, due_us, expires_us;
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
    out->claim_number = wp_received_claim_number(m);
    out->created_us = wp_received_created_us(m);
    out->due_us = wp_received_due_us(m);
    out->expires_us = wp_received_expires_us(m);
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
        n++;
    }
    *count = n;
    return n ? WP_OK : st;
}

static inline wp_status wpg_worker_next_cancelled(wp_delivery **out, int *reason,
                                                  wp_worker *worker, int64_t timeout_ms)
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
