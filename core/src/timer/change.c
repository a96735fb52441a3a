/* SPDX-License-Identifier: Apache-2.0 */
/* What can be done to a timer before it fires: cancel and reschedule. Both are guarded: they change
 * only one that was never claimed. */
#include <stdlib.h>
#include <waypost/timer.h>

#include "db/store.h"
#include "queue/queue.h"

enum { START, CHANGE, MOVE, SIGNAL, END };

typedef struct change_op {
    wp_op base;
    wp_id id;
    bool cancels;
    bool has_due;
    int64_t due_us;
    int64_t delay_us;
    bool joins; /* runs in a transaction of the app's, which commits unseen */
    int step;
    int64_t seq;
} change_op;

static void use_change(change_op *self)
{
    wp_op *op = &self->base;
    wp__op_set_id(op, WP__P_ID, &self->id);
    wp__op_set_now(op);
    self->step = CHANGE;
    if (self->cancels) {
        wp__op_set_int(op, WP__P_STATUS, WP_MESSAGE_CANCELLED);
        wp__op_use(op, WP__SQL_TIMER_CANCEL, 1);
        return;
    }
    wp__op_set_int(op, WP__P_DELAY, self->delay_us);
    if (self->has_due)
        wp__op_set_int(op, WP__P_DUE_AT, self->due_us);
    else
        wp__op_set_null(op, WP__P_DUE_AT);
    wp__op_use(op, WP__SQL_TIMER_RESCHEDULE, 2);
}

static wp_status change_next(wp_op *op, wp_error **err)
{
    change_op *self = (change_op *)op;
    (void)err;
    if (self->step == START) {
        use_change(self);
    } else if (self->step == CHANGE && op->result_count && !self->cancels) {
        self->step = MOVE;
        wp__op_set_int(op, WP__P_NUMBER, self->seq);
        wp__op_set_int(op, WP__P_DUE_AT, self->due_us);
        wp__op_use(op, WP__SQL_TIMER_MOVE, 0);
    } else if (self->step == MOVE && self->joins && wp__store_may_signal(op->store)) {
        self->step = SIGNAL;
        wp__op_set_text(op, WP__P_NAME, wp__store_channel(op->store));
        wp__op_use(op, WP__SQL_OUTBOX_SIGNAL, 1);
    } else {
        self->step = END;
    }
    return WP_OK;
}

static wp_status change_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    change_op *self = (change_op *)op;
    wp_status st;
    if (self->step != CHANGE)
        return WP_OK;
    if (columns[0].type == WP_VALUE_NULL)
        return wp__fail_triggers(err); /* told of, but not done */
    st = wp__column_int(&self->seq, &columns[0], err);
    if (st == WP_OK && !self->cancels)
        st = wp__column_int(&self->due_us, &columns[1], err);
    op->result_count = 1;
    return st;
}

static void change_rewind(wp_op *op)
{
    ((change_op *)op)->step = START;
}

static const wp__op_class cancel_class = {.next = change_next,
                                          .row = change_row,
                                          .rewind = change_rewind,
                                          .writes = true,
                                          .single = true};
static const wp__op_class reschedule_class = {
    .next = change_next, .row = change_row, .rewind = change_rewind, .writes = true};

static wp_status check(const wp_store *store, const wp_conn *conn, const change_op *change,
                       const wp_id *id, wp_error **err)
{
    wp_status st;
    if ((st = wp__store_check_conn(store, conn, err)) != WP_OK)
        return st;
    if (!id)
        return wp__fail(err, WP_E_ARGUMENT, "id is NULL");
    if (change->has_due && (change->due_us < 0 || change->due_us > WP_TIME_US_MAX))
        return wp__fail(err, WP_E_RANGE, "due_us is %lld, not in 0..%lld",
                        (long long)change->due_us, (long long)WP_TIME_US_MAX);
    if (change->delay_us / 1000 > WP_DELAY_MS_MAX)
        return wp__fail(err, WP_E_RANGE, "delay_ms is %lld, not in 0..%lld",
                        (long long)change->delay_us / 1000, (long long)WP_DELAY_MS_MAX);
    return WP_OK;
}

static void begin(change_op *op, wp_store *store, const wp_id *id)
{
    op->id = *id;
    wp__op_init(&op->base, op->cancels ? &cancel_class : &reschedule_class, store);
}

static wp_status run(int *changed, wp_store *store, wp_conn *conn, change_op op, const wp_id *id,
                     wp_error **err)
{
    wp_status st = check(store, conn, &op, id, err);
    if (st != WP_OK)
        return st;
    begin(&op, store, id);
    op.joins = conn != NULL;
    st = wp__store_run(store, conn, &op.base, err);
    if (st == WP_OK && changed)
        *changed = op.base.result_count > 0;
    if (st == WP_OK && !conn && op.base.result_count)
        wp__store_announce(store);
    wp__op_fini(&op.base);
    wp__log_pump(wp__store_log(store));
    return st;
}

static wp_status make_op(wp_op **out, wp_store *store, change_op change, const wp_id *id,
                         wp_error **err)
{
    change_op *op;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = check(store, NULL, &change, id, err)) != WP_OK)
        return st;
    op = malloc(sizeof *op);
    if (!op)
        return wp__fail_nomem(err);
    *op = change;
    begin(op, store, id);
    op->joins = true;
    op->base.owns_store = true;
    wp__store_ref(store);
    *out = &op->base;
    return WP_OK;
}

wp_status wp_timer_cancel(int *cancelled, wp_store *store, wp_conn *conn, const wp_id *id,
                          wp_error **err)
{
    return run(cancelled, store, conn, (change_op){.cancels = true}, id, err);
}

wp_status wp_timer_cancel_op(wp_op **out, wp_store *store, const wp_id *id, wp_error **err)
{
    return make_op(out, store, (change_op){.cancels = true}, id, err);
}

wp_status wp_timer_reschedule(int *moved, wp_store *store, wp_conn *conn, const wp_id *id,
                              int64_t due_us, wp_error **err)
{
    return run(moved, store, conn, (change_op){.has_due = true, .due_us = due_us}, id, err);
}

static change_op after(int64_t delay_ms)
{
    /* what is too long stays so when it is cut */
    const int64_t ms = delay_ms < 0                 ? 0
                       : delay_ms > WP_DELAY_MS_MAX ? WP_DELAY_MS_MAX + 1
                                                    : delay_ms;
    return (change_op){.delay_us = ms * 1000};
}

wp_status wp_timer_reschedule_in(int *moved, wp_store *store, wp_conn *conn, const wp_id *id,
                                 int64_t delay_ms, wp_error **err)
{
    return run(moved, store, conn, after(delay_ms), id, err);
}

wp_status wp_timer_reschedule_in_op(wp_op **out, wp_store *store, const wp_id *id, int64_t delay_ms,
                                    wp_error **err)
{
    return make_op(out, store, after(delay_ms), id, err);
}

wp_status wp_timer_reschedule_op(wp_op **out, wp_store *store, const wp_id *id, int64_t due_us,
                                 wp_error **err)
{
    return make_op(out, store, (change_op){.has_due = true, .due_us = due_us}, id, err);
}
