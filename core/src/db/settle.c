/* SPDX-License-Identifier: Apache-2.0 */
/* What is set on a connection to a server that is ours alone. */
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
        wp__op_use(op, WP__SQL_CONNECTION_SETTLE, 1);
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
