/* SPDX-License-Identifier: Apache-2.0 */
/* What is set on a connection to a server that is ours alone, and what is asked of any. */
#include <string.h>

#include "db/store.h"

typedef struct settle_op {
    wp_op base;
    int64_t limit_ms;
    bool sent;
} settle_op;

static wp_status settle_next(wp_op *op, wp_error **err)
{
    settle_op *self = (settle_op *)op;
    (void)err;
    if (!self->sent) {
        self->sent = true;
        wp__op_set_int(op, WP__P_NUMBER, self->limit_ms);
        wp__op_use(op, WP__SQL_CONNECTION_SETTLE, op->engine->settles_silently ? 0 : 1);
    }
    return WP_OK;
}

static wp_status settle_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    (void)op;
    (void)columns;
    (void)err;
    return WP_OK;
}

static void settle_rewind(wp_op *op)
{
    ((settle_op *)op)->sent = false;
}

static const wp__op_class settle_class = {
    .next = settle_next, .row = settle_row, .rewind = settle_rewind, .single = true};

wp_status wp__conn_settle(wp_conn *conn, wp__open how, int64_t answer_us, wp_error **err)
{
    settle_op op = {.limit_ms = how == WP__OPEN_DEPLOY ? 0 : answer_us / 1000 * 9 / 10 + 1};
    wp_status st;
    wp__op_init(&op.base, &settle_class, conn->store);
    st = wp__conn_run(conn, &op.base, err);
    wp__op_fini(&op.base);
    return st;
}

/* ---- texts -------------------------------------------------------------------------------- */

static const char e_acute[] = "\xc3\xa9";

typedef struct encoding_op {
    wp_op base;
    bool sent;
    bool same; /* it came back as it was */
} encoding_op;

static wp_status encoding_next(wp_op *op, wp_error **err)
{
    encoding_op *self = (encoding_op *)op;
    (void)err;
    if (!self->sent) {
        self->sent = true;
        wp__op_set_text(op, WP__P_NAME, e_acute);
        wp__op_use(op, WP__SQL_CONNECTION_ENCODING, 1);
    }
    return WP_OK;
}

static wp_status encoding_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    (void)err;
    ((encoding_op *)op)->same = columns[0].type == WP_VALUE_TEXT &&
                                columns[0].len == strlen(e_acute) &&
                                memcmp(columns[0].p, e_acute, columns[0].len) == 0;
    return WP_OK;
}

static void encoding_rewind(wp_op *op)
{
    ((encoding_op *)op)->sent = false;
}

static const wp__op_class encoding_class = {
    .next = encoding_next, .row = encoding_row, .rewind = encoding_rewind, .single = true};

wp_status wp__fail_encoding(const char *encoding, const wp__engine *engine, wp_error **err)
{
    return wp__fail(err, WP_E_STATE,
                    "the connection's client encoding%s%s would change texts, which are UTF-8: %s",
                    *encoding ? " " : "", encoding, engine->text_hint);
}

wp_status wp__conn_check_encoding(wp_conn *conn, wp_error **err)
{
    encoding_op op = {.sent = false};
    wp_status st;
    wp__op_init(&op.base, &encoding_class, conn->store);
    st = wp__conn_run(conn, &op.base, err);
    if (st == WP_OK && !op.same)
        st = wp__fail_encoding("", wp__store_engine(conn->store), err);
    wp__op_fini(&op.base);
    return st;
}
