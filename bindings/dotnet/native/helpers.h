/* SPDX-License-Identifier: Apache-2.0 */
/* What the binding adds to the C API: calls that save it round trips through P/Invoke. */
#ifndef WAYPOST_NET_HELPERS_H
#define WAYPOST_NET_HELPERS_H

#include <sqlite3.h>
#include <waypost/waypost.h>

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
    int64_t attempt;
    int64_t claim_number;
    int64_t created_us;
    int64_t due_us;
    int64_t expires_us;
} wpn_message;

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
    out->claim_number = wp_received_claim_number(message);
    out->created_us = wp_received_created_us(message);
    out->due_us = wp_received_due_us(message);
    out->expires_us = wp_received_expires_us(message);
}

/* Take the next delivery, and read its message. */
static wp_status wpn_next(wp_delivery **out, wpn_message *message, wp_worker *worker,
                          int64_t timeout_ms)
{
    wp_status st = wp_worker_next(out, worker, timeout_ms, NULL);
    if (st == WP_OK)
        wpn_read(message, wp_delivery_message(*out));
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
    wpn_read(message, wp_delivery_message(delivery));
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
wp_status wpn_next(wp_delivery **out, wpn_message *message, wp_worker *worker, int64_t timeout_ms);
wp_status wpn_next_cancelled(wp_delivery **out, wp_worker *worker, int64_t timeout_ms);
wp_delivery *wpn_lent(void *delivery, wpn_message *message);
void wpn_param_read(wpn_param *out, const wp_op *op, size_t index);
const char *wpn_delivery_engine(const wp_delivery *delivery);
void *wpn_sqlite(void);
#endif

#endif
