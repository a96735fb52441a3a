/* SPDX-License-Identifier: Apache-2.0 */
/* How joins end otherwise: cancelled, by their deadline, and at last removed. */
#include <stdlib.h>

#include "base/thread.h"
#include "db/store.h"
#include "join/join.h"

enum {
    PAGE = 100, /* joins; each may have many members */
    PAUSE_US = 2000
};

typedef enum kind { CANCEL, EXPIRE, REMOVE, PROBE } kind;

typedef struct end_op {
    wp_op base;
    kind kind;
    wp_id id;         /* CANCEL */
    int64_t older_us; /* REMOVE */
    int64_t needed;   /* PROBE */
    int step;
} end_op;

static wp_status end_next(wp_op *op, wp_error **err)
{
    static const wp__sql_id statements[] = {[CANCEL] = WP__SQL_JOIN_CANCEL,
                                            [EXPIRE] = WP__SQL_JOIN_EXPIRE,
                                            [REMOVE] = WP__SQL_JOIN_REMOVE,
                                            [PROBE] = WP__SQL_JOIN_REAP_PROBE};
    end_op *self = (end_op *)op;
    (void)err;
    if (self->step++ > 0)
        return WP_OK;
    wp__op_set_id(op, WP__P_ID, &self->id);
    wp__op_set_now(op);
    wp__op_set_text(op, WP__P_REASON, "timeout");
    wp__op_set_int(op, WP__P_LEASE, self->older_us);
    wp__op_set_int(op, WP__P_BATCH, PAGE);
    wp__op_use(op, statements[self->kind], 1);
    return WP_OK;
}

static wp_status end_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    end_op *self = (end_op *)op;
    int64_t value = 0;
    wp_status st = wp__column_int(&value, &columns[0], err);
    if (st != WP_OK)
        return st;
    if (self->kind == PROBE)
        self->needed = value;
    else if (self->kind != REMOVE && value == WP_JOIN_OPEN)
        return wp__fail_triggers(err); /* told of, but not done */
    else
        op->result_count++;
    return WP_OK;
}

static void end_rewind(wp_op *op)
{
    ((end_op *)op)->step = 0;
}

static const wp__op_class end_class = {
    .next = end_next, .row = end_row, .rewind = end_rewind, .writes = true, .single = true};
static const wp__op_class read_class = {
    .next = end_next, .row = end_row, .rewind = end_rewind, .single = true};

static wp_status run(end_op *op, wp_store *store, wp_conn *conn, wp_error **err)
{
    wp_status st;
    wp__op_init(&op->base, op->kind == PROBE ? &read_class : &end_class, store);
    st = wp__store_run(store, conn, &op->base, err);
    wp__op_fini(&op->base);
    return st;
}

/* ---- cancel ------------------------------------------------------------------------------- */

static wp_status check(const wp_store *store, const wp_conn *conn, const wp_id *id, wp_error **err)
{
    wp_status st = wp__store_check_conn(store, conn, err);
    if (st == WP_OK && !id)
        st = wp__fail(err, WP_E_ARGUMENT, "id is NULL");
    return st;
}

wp_status wp_join_cancel(int *cancelled, wp_store *store, wp_conn *conn, const wp_id *id,
                         wp_error **err)
{
    end_op op = {.kind = CANCEL};
    wp_status st = check(store, conn, id, err);
    if (st != WP_OK)
        return st;
    op.id = *id;
    if ((st = run(&op, store, conn, err)) != WP_OK)
        return st;
    if (cancelled)
        *cancelled = op.base.result_count > 0;
    if (!conn && op.base.result_count)
        wp__store_announce(store); /* messages may have waited for it */
    wp__log_pump(wp__store_log(store));
    return WP_OK;
}

wp_status wp_join_cancel_op(wp_op **out, wp_store *store, const wp_id *id, wp_error **err)
{
    end_op *op;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = check(store, NULL, id, err)) != WP_OK)
        return st;
    op = calloc(1, sizeof *op);
    if (!op)
        return wp__fail_nomem(err);
    op->id = *id;
    wp__op_init(&op->base, &end_class, store);
    op->base.owns_store = true;
    wp__store_ref(store);
    *out = &op->base;
    return WP_OK;
}

/* ---- deadlines ---------------------------------------------------------------------------- */

wp_status wp__join_reap_needed(bool *out, wp_store *store, wp_conn *conn, wp_error **err)
{
    end_op op = {.kind = PROBE};
    wp_status st = run(&op, store, conn, err);
    if (st == WP_OK)
        *out = op.needed != 0;
    return st;
}

wp_status wp__join_reap_page(size_t *failed, bool *more, wp_store *store, wp_conn *conn,
                             wp_error **err)
{
    end_op op = {.kind = EXPIRE};
    wp_status st = run(&op, store, conn, err);
    if (st != WP_OK)
        return st;
    *failed = op.base.result_count;
    *more = op.base.result_count == PAGE;
    return WP_OK;
}

wp_status wp_join_reap(size_t *failed, wp_store *store, wp_error **err)
{
    size_t total = 0;
    bool more = true;
    wp_status st = wp__store_check(store, err);
    if (st != WP_OK)
        return st;
    while (st == WP_OK && more) {
        size_t count = 0;
        st = wp__join_reap_page(&count, &more, store, NULL, err);
        total += count;
    }
    if (total) {
        WP__LOG(wp__store_log(store), WP_LOG_INFO, "joins failed by their deadline",
                WP__F_TEXT("StoreId", wp_store_id(store)), WP__F_INT("Count", total));
        wp__store_announce(store);
    }
    wp__log_pump(wp__store_log(store));
    if (st == WP_OK && failed)
        *failed = total;
    return st;
}

/* ---- cleanup ------------------------------------------------------------------------------ */

wp_status wp__join_cleanup_page(size_t *removed, bool *more, wp_store *store, wp_conn *conn,
                                int64_t older_us, wp_error **err)
{
    end_op op = {.kind = REMOVE, .older_us = older_us};
    wp_status st = run(&op, store, conn, err);
    *removed = st == WP_OK ? op.base.result_count : 0;
    *more = *removed == PAGE;
    return st;
}

wp_status wp_join_cleanup(size_t *removed, wp_store *store, int64_t older_than_ms, wp_error **err)
{
    size_t total = 0;
    bool more = true;
    wp_status st = wp__store_check(store, err);
    if (st != WP_OK)
        return st;
    if (older_than_ms < 0 || older_than_ms > WP_TIME_US_MAX / 1000)
        return wp__fail(err, WP_E_RANGE, "older_than_ms is %lld, not in 0..%lld",
                        (long long)older_than_ms, (long long)(WP_TIME_US_MAX / 1000));
    while (st == WP_OK && more) {
        size_t count = 0;
        st = wp__join_cleanup_page(&count, &more, store, NULL, older_than_ms * 1000, err);
        total += count;
        if (more)
            wp__sleep_us(PAUSE_US); /* others want the tables, too */
    }
    if (total)
        WP__LOG(wp__store_log(store), WP_LOG_INFO, "cleaned up",
                WP__F_TEXT("StoreId", wp_store_id(store)), WP__F_TEXT("Queue", "joins"),
                WP__F_INT("Count", total));
    wp__log_pump(wp__store_log(store));
    if (removed)
        *removed = total;
    return st;
}
