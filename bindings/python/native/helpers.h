/* SPDX-License-Identifier: Apache-2.0 */
/* What the binding adds to the C API: calls that save it round trips. Each call from Python gives
 * up the interpreter lock and takes it again, so that one call in place of three counts. */
#include <sqlite3.h>
#include <waypost/waypost.h>

/* A parameter of an operation's statement. */
typedef struct wpy_param {
    int type; /* wp_value_type */
    int64_t i;
    const char *data;
    size_t len;
} wpy_param;

/* Fill `out` with at most `max` parameters; returns how many there are. */
static size_t wpy_op_params(wpy_param *out, size_t max, const wp_op *op)
{
    const size_t count = wp_op_param_count(op);
    for (size_t i = 0; i < count && i < max; i++) {
        out[i].type = (int)wp_op_param_type(op, i);
        out[i].i = wp_op_param_int64(op, i);
        out[i].data = wp_op_param_data(&out[i].len, op, i);
    }
    return count;
}

/* Finish the delivery in the slot with success and free it, if there is one; then take the next
 * one into the slot. */
static wp_status wpy_cycle(wp_delivery **slot, wp_worker *worker, int64_t timeout_ms,
                           wp_error **err)
{
    if (*slot) {
        wp_delivery *old = *slot;
        *slot = NULL;
        (void)wp_delivery_finish(old, WP_OUTCOME_DONE, NULL, 0, NULL);
        wp_delivery_free(old);
    }
    return wp_worker_next(slot, worker, timeout_ms, err);
}

static const char *wpy_topic(const wp_delivery *delivery)
{
    return wp_received_topic(wp_delivery_message(delivery));
}

static const char *wpy_payload(size_t *len, const wp_delivery *delivery)
{
    return wp_received_payload(len, wp_delivery_message(delivery));
}

static int wpy_has_headers(const wp_delivery *delivery)
{
    return wp_received_headers(wp_delivery_message(delivery))[1] != '}';
}

/* The SQLite that the core calls. */
static const char *wpy_sqlite_version(void)
{
    return sqlite3_libversion();
}
