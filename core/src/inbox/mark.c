/* SPDX-License-Identifier: Apache-2.0 */
/* States by key: what the app tells of messages that no worker handles, or in a worker's place. The
 * message's row is held, so what arrives and what is told follow each other. */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "db/store.h"
#include "inbox/inbox.h"

enum { START, HOLD, CHANGE, AGAIN, REPLAY, END, SIGNAL };

typedef struct mark_op {
    wp_op base;
    const wp_inbox_key *key;
    wp_inbox_mark mark;
    const char *reason;
    wp_inbox_key *own_key;
    char *own_reason;
    bool joins; /* runs in a transaction of the app's, which commits unseen */
    int step;
    int replay_step;
    bool row_seen;
    int64_t seq;
    int64_t status;
    char seqs[24];
} mark_op;

static wp_status fail_state(const mark_op *self, wp_error **err)
{
    static const char *const states[] = {"not told of",     "not known", "only seen",
                                         "being processed", "done",      "dead"};
    return wp__fail(err, WP_E_STATE, "message \"%s\" of \"%s\" is %s", self->key->message_id,
                    self->key->source, states[wp__inbox_state(self->status)]);
}

static wp_status fail_unknown(const mark_op *self, wp_error **err)
{
    return wp__fail(err, WP_E_NOT_FOUND, "the inbox has no message \"%s\" of \"%s\"",
                    self->key->message_id, self->key->source);
}

static void use_settle(mark_op *self, wp_message_status status)
{
    wp_op *op = &self->base;
    wp__op_set_int(op, WP__P_STATUS, status);
    wp__op_set_text(op, WP__P_WORKER, NULL);
    wp__op_set_text(op, WP__P_REASON, self->reason);
    self->step = CHANGE;
    wp__op_use(op, WP__SQL_INBOX_SETTLE, 1);
}

static wp_status use_change(mark_op *self, wp_error **err)
{
    wp_op *op = &self->base;
    const wp_inbox_state state = wp__inbox_state(self->status);
    const bool ended = state == WP_INBOX_DONE || state == WP_INBOX_DEAD;
    wp__op_set_int(op, WP__P_NUMBER, self->seq);
    wp__op_set_now(op);
    self->row_seen = false;
    self->step = END;
    switch (self->mark) {
    case WP_INBOX_MARK_PROCESSING:
        if (ended)
            return fail_state(self, err);
        if (state == WP_INBOX_SEEN)
            wp__op_use(op, WP__SQL_INBOX_MARK, 0);
        return WP_OK;
    case WP_INBOX_MARK_PROCESSED:
        if (state != WP_INBOX_DONE)
            use_settle(self, WP_MESSAGE_DONE);
        return WP_OK;
    case WP_INBOX_MARK_DEAD:
        if (state == WP_INBOX_DONE)
            return fail_state(self, err);
        use_settle(self, WP_MESSAGE_FAILED);
        return WP_OK;
    default:
        if (state != WP_INBOX_DEAD)
            return fail_state(self, err);
        (void)snprintf(self->seqs, sizeof self->seqs, "[%lld]", (long long)self->seq);
        wp__op_set_text(op, WP__P_SEQS, self->seqs);
        wp__op_set_int(op, WP__P_DELAY, 0);
        wp__op_set_int(op, WP__P_COUNT_, 0);
        wp__op_set_text(op, WP__P_WORKER, "revive");
        self->step = REPLAY;
        (void)wp__replay_use_next(op, &self->replay_step);
        return WP_OK;
    }
}

/* What waited behind its ordering key may run, or it itself: workers are to be told with the commit. */
static bool makes_work(const mark_op *self)
{
    return self->joins && self->mark != WP_INBOX_MARK_PROCESSING;
}

static wp_status mark_next(wp_op *op, wp_error **err)
{
    mark_op *self = (mark_op *)op;
    if (self->step == START) {
        wp__inbox_key_use(op, self->key);
        self->row_seen = false;
        self->step = HOLD;
        wp__op_use(op, wp__op_has(op, WP__SQL_INBOX_HOLD) ? WP__SQL_INBOX_HOLD : WP__SQL_INBOX_FIND,
                   3);
        return WP_OK;
    }
    if (self->step == HOLD)
        return self->row_seen ? use_change(self, err) : fail_unknown(self, err);
    if (self->step == CHANGE && !self->row_seen) { /* a worker was faster, and it is done */
        self->step = AGAIN;
        wp__op_use(op, WP__SQL_INBOX_FIND_STATE, 1);
        return WP_OK;
    }
    if (self->step == AGAIN)
        return use_change(self, err);
    if (self->step == REPLAY && wp__replay_use_next(op, &self->replay_step))
        return WP_OK;
    if (self->step != SIGNAL && makes_work(self) && wp__store_may_signal(op->store)) {
        self->step = SIGNAL;
        wp__op_set_text(op, WP__P_NAME, wp__store_channel(op->store));
        wp__op_use(op, WP__SQL_OUTBOX_SIGNAL, 1);
        return WP_OK;
    }
    op->result_count = 1;
    return WP_OK;
}

static wp_status mark_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    mark_op *self = (mark_op *)op;
    wp_status st;
    self->row_seen = true;
    if (self->step == CHANGE && columns[0].type == WP_VALUE_NULL)
        return wp__fail_triggers(err); /* told of, but not done */
    if (self->step == AGAIN)
        return wp__column_int(&self->status, &columns[0], err);
    if (self->step != HOLD)
        return WP_OK;
    st = wp__column_int(&self->seq, &columns[1], err);
    return st == WP_OK ? wp__column_int(&self->status, &columns[2], err) : st;
}

static void mark_rewind(wp_op *op)
{
    ((mark_op *)op)->step = START;
    ((mark_op *)op)->replay_step = 0;
}

static void mark_destroy(wp_op *op)
{
    wp_inbox_key_free(((mark_op *)op)->own_key);
    free(((mark_op *)op)->own_reason);
}

static const wp__op_class mark_class = {.next = mark_next,
                                        .row = mark_row,
                                        .rewind = mark_rewind,
                                        .destroy = mark_destroy,
                                        .writes = true};

/* Check, and begin one with a clean copy of the reason. wp__op_fini() it once this succeeded. */
static wp_status init(mark_op *op, wp_store *store, const wp_conn *conn, const wp_inbox_key *key,
                      wp_inbox_mark mark, const char *reason, wp_error **err)
{
    bool failed = false;
    wp_status st = wp__store_check_conn(store, conn, err);
    if (st != WP_OK)
        return st;
    if (!key)
        return wp__fail(err, WP_E_ARGUMENT, "key is NULL");
    if ((int)mark < WP_INBOX_MARK_PROCESSING || (int)mark > WP_INBOX_MARK_REVIVED)
        return wp__fail(err, WP_E_ARGUMENT, "mark is %d, not one of WP_INBOX_MARK_*", (int)mark);
    op->own_reason =
        wp__text_clean(mark == WP_INBOX_MARK_DEAD ? reason : NULL, WP_REASON_MAX, &failed);
    if (failed)
        return wp__fail_nomem(err);
    op->key = key;
    op->mark = mark;
    op->reason = op->own_reason;
    wp__op_init(&op->base, &mark_class, store);
    op->base.queue = &wp__inbox;
    return WP_OK;
}

static wp_status run(wp_store *store, wp_conn *conn, const wp_inbox_key *key, wp_inbox_mark mark,
                     const char *reason, wp_error **err)
{
    mark_op op = {0};
    wp_status st = init(&op, store, conn, key, mark, reason, err);
    if (st != WP_OK)
        return st;
    op.joins = conn != NULL;
    st = wp__store_run(store, conn, &op.base, err);
    wp__op_fini(&op.base);
    if (st == WP_OK && !conn && mark != WP_INBOX_MARK_PROCESSING)
        wp__store_announce(store);
    wp__log_pump(wp__store_log(store));
    return st;
}

wp_status wp_inbox_mark_op(wp_op **out, wp_store *store, const wp_inbox_key *key,
                           wp_inbox_mark mark, const char *reason, wp_error **err)
{
    mark_op *op;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    op = calloc(1, sizeof *op);
    if (!op)
        return wp__fail_nomem(err);
    if ((st = init(op, store, NULL, key, mark, reason, err)) != WP_OK ||
        (st = wp__inbox_key_copy(&op->own_key, key, err)) != WP_OK) {
        mark_destroy(&op->base);
        free(op);
        return st;
    }
    op->key = op->own_key;
    op->joins = true;
    op->base.owns_store = true;
    wp__store_ref(store);
    *out = &op->base;
    return WP_OK;
}

wp_status wp_inbox_mark_processing(wp_store *store, wp_conn *conn, const wp_inbox_key *key,
                                   wp_error **err)
{
    return run(store, conn, key, WP_INBOX_MARK_PROCESSING, NULL, err);
}

wp_status wp_inbox_mark_processed(wp_store *store, wp_conn *conn, const wp_inbox_key *key,
                                  wp_error **err)
{
    return run(store, conn, key, WP_INBOX_MARK_PROCESSED, NULL, err);
}

wp_status wp_inbox_mark_dead(wp_store *store, wp_conn *conn, const wp_inbox_key *key,
                             const char *reason, wp_error **err)
{
    return run(store, conn, key, WP_INBOX_MARK_DEAD, reason, err);
}

wp_status wp_inbox_revive(wp_store *store, wp_conn *conn, const wp_inbox_key *key, wp_error **err)
{
    return run(store, conn, key, WP_INBOX_MARK_REVIVED, NULL, err);
}

/* ---- looking one up by its key ------------------------------------------------------------ */

typedef struct find_op {
    wp_op base;
    const wp_inbox_key *key;
    int step;
    bool found;
    wp_id id;
} find_op;

static wp_status find_next(wp_op *op, wp_error **err)
{
    (void)err;
    if (((find_op *)op)->step++ == 0) {
        wp__inbox_key_use(op, ((find_op *)op)->key);
        wp__op_use(op, WP__SQL_INBOX_FIND, 3);
    }
    return WP_OK;
}

static wp_status find_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    ((find_op *)op)->found = true;
    return wp__column_id(&((find_op *)op)->id, &columns[0], err);
}

static void find_rewind(wp_op *op)
{
    ((find_op *)op)->step = 0;
}

wp_status wp_inbox_get(wp_outbox_info **out, wp_store *store, const wp_inbox_key *key,
                       wp_error **err)
{
    static const wp__op_class cls = {
        .next = find_next, .row = find_row, .rewind = find_rewind, .single = true};
    find_op op = {.key = key};
    wp_status st;
    if (!out || !key)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", out ? "key" : "out");
    if ((st = wp__store_check(store, err)) != WP_OK)
        return st;
    wp__op_init(&op.base, &cls, store);
    st = wp__store_run(store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    if (st == WP_OK && !op.found)
        st = wp__fail(err, WP_E_NOT_FOUND, "the inbox has no message \"%s\" of \"%s\"",
                      key->message_id, key->source);
    return st == WP_OK ? wp_inbox_get_by_id(out, store, &op.id, err) : st;
}
