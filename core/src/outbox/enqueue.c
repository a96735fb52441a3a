/* SPDX-License-Identifier: Apache-2.0 */
/* Enqueue: one insert for each message, in the app's transaction or one of our own. */
#include <stdlib.h>
#include <string.h>

#include "db/store.h"
#include "outbox/outbox.h"

typedef struct enqueue_op {
    wp_op base;
    const wp_message *const *messages;
    wp_message **copies; /* owned, for a host; messages points at them */
    size_t count;
    size_t at; /* the message under way */
    enum { PLAIN, UNIQUE, FIND } stage;
    bool row_seen;
    wp__op_result *results; /* `count` of them; results == &one for a single message */
    wp__op_result one;
} enqueue_op;

static void set_params(enqueue_op *self, const wp_message *m)
{
    wp_op *op = &self->base;
    wp__op_set_id(op, WP__P_ID, &self->results[self->at].id);
    wp__op_set_text(op, WP__P_TOPIC, m->topic);
    wp__op_set_textn(op, WP__P_PAYLOAD, m->payload, m->payload_len);
    wp__op_set_text(op, WP__P_HEADERS, m->headers);
    wp__op_set_text(op, WP__P_CORRELATION_ID, m->correlation_id);
    wp__op_set_text(op, WP__P_ORDERING_KEY, m->ordering_key);
    wp__op_set_text(op, WP__P_UNIQUE_KEY, m->unique_key);
    wp__op_set_int(op, WP__P_NOW, wp__store_now_us(op->store));
    wp__op_set_int(op, WP__P_DELAY, m->delay_us);
    if (m->has_due)
        wp__op_set_int(op, WP__P_DUE_AT, m->due_us);
    else
        wp__op_set_null(op, WP__P_DUE_AT);
    if (m->has_expires)
        wp__op_set_int(op, WP__P_EXPIRES_AT, m->expires_us);
    else
        wp__op_set_null(op, WP__P_EXPIRES_AT);
}

static void log_enqueued(const enqueue_op *self)
{
    wp__log *log = wp__store_log(self->base.store);
    if (!wp__log_wants(log, WP_LOG_INFO))
        return;
    for (size_t i = 0; i < self->count; i++)
        WP__LOG(log, WP_LOG_INFO, self->results[i].duplicate ? "duplicate enqueue" : "enqueued",
                WP__F_TEXT("StoreId", wp_store_id(self->base.store)),
                WP__F_TEXT("Topic", self->messages[i]->topic),
                WP__F_TEXT("CorrelationId", self->messages[i]->correlation_id),
                WP__F_ID("MessageId", &self->results[i].id));
}

/* After the statement for the current message: settle its result, or ask whose key it met. */
static wp_status settle(enqueue_op *self, bool *ask, wp_error **err)
{
    *ask = false;
    if (self->stage == FIND) {
        if (!self->row_seen)
            return wp__fail_db(err, WP_E_UNAVAILABLE, NULL, 0, true,
                               "the message with the unique key was finished meanwhile: try again");
        self->results[self->at].duplicate = 1;
    } else if (self->stage == UNIQUE && !self->row_seen) {
        *ask = true;
        return WP_OK;
    }
    self->at++;
    self->base.result_count = self->at;
    return WP_OK;
}

static wp_status enqueue_next(wp_op *op, wp_error **err)
{
    enqueue_op *self = (enqueue_op *)op;
    const wp_message *message;
    bool ask = false;
    wp_status st = WP_OK;
    if (op->columns || op->statement == WP__SQL_OUTBOX_ENQUEUE) /* a statement was run */
        st = settle(self, &ask, err);
    op->columns = 0;
    op->statement = WP__SQL_COUNT;
    if (st != WP_OK)
        return st;
    self->row_seen = false;
    if (ask) {
        self->stage = FIND;
        wp__op_use(op, WP__SQL_OUTBOX_FIND_UNIQUE, 1);
        return WP_OK;
    }
    if (self->at == self->count) {
        log_enqueued(self);
        return WP_OK;
    }
    message = self->messages[self->at];
    self->results[self->at].duplicate = 0;
    wp_id_new(&self->results[self->at].id);
    set_params(self, message);
    self->stage = message->unique_key ? UNIQUE : PLAIN;
    if (self->stage == UNIQUE)
        wp__op_use(op, WP__SQL_OUTBOX_ENQUEUE_UNIQUE, 1);
    else
        wp__op_use(op, WP__SQL_OUTBOX_ENQUEUE, 0);
    return WP_OK;
}

static wp_status enqueue_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    enqueue_op *self = (enqueue_op *)op;
    self->row_seen = true;
    return wp__column_id(&self->results[self->at].id, &columns[0], err);
}

static void enqueue_rewind(wp_op *op)
{
    enqueue_op *self = (enqueue_op *)op;
    self->at = 0;
    op->columns = 0;
    op->statement = WP__SQL_COUNT;
}

static void enqueue_destroy(wp_op *op)
{
    enqueue_op *self = (enqueue_op *)op;
    if (self->results != &self->one)
        free(self->results);
    if (self->copies)
        for (size_t i = 0; i < self->count; i++)
            wp_message_free(self->copies[i]);
    free(self->copies);
}

static const wp__op_class enqueue_single = {.next = enqueue_next,
                                            .row = enqueue_row,
                                            .rewind = enqueue_rewind,
                                            .destroy = enqueue_destroy,
                                            .writes = true,
                                            .single = true};
static const wp__op_class enqueue_many = {.next = enqueue_next,
                                          .row = enqueue_row,
                                          .rewind = enqueue_rewind,
                                          .destroy = enqueue_destroy,
                                          .writes = true};

static wp_status check_messages(const wp_message *const *messages, size_t count, wp_error **err)
{
    if (!messages)
        return wp__fail(err, WP_E_ARGUMENT, "messages is NULL");
    if (count > WP_BATCH_MAX)
        return wp__fail(err, WP_E_RANGE, "count is %zu, more than %d", count, WP_BATCH_MAX);
    for (size_t i = 0; i < count; i++)
        if (!messages[i])
            return wp__fail(err, WP_E_ARGUMENT, "messages[%zu] is NULL", i);
    return WP_OK;
}

static wp_status enqueue_init(enqueue_op *self, wp_store *store, const wp_message *const *messages,
                              size_t count, wp_error **err)
{
    bool single = count == 1 && !messages[0]->unique_key;
    self->messages = messages;
    self->count = count;
    self->results = &self->one;
    if (count > 1) {
        self->results = calloc(count, sizeof *self->results);
        if (!self->results)
            return wp__fail_nomem(err);
    }
    wp__op_init(&self->base, single ? &enqueue_single : &enqueue_many, store);
    self->base.results = self->results;
    self->base.statement = WP__SQL_COUNT;
    return WP_OK;
}

wp_status wp_outbox_enqueue_many(wp_id *ids, int *duplicates, wp_store *store, wp_conn *conn,
                                 const wp_message *const *messages, size_t count, wp_error **err)
{
    enqueue_op op = {0};
    wp_status st;
    if ((st = wp__store_check_conn(store, conn, err)) != WP_OK ||
        (st = check_messages(messages, count, err)) != WP_OK)
        return st;
    if (count == 0)
        return WP_OK;
    if (!ids)
        return wp__fail(err, WP_E_ARGUMENT, "ids is NULL");
    if ((st = enqueue_init(&op, store, messages, count, err)) != WP_OK)
        return st;
    st = wp__store_run(store, conn, &op.base, err);
    if (st == WP_OK) {
        for (size_t i = 0; i < count; i++) {
            ids[i] = op.results[i].id;
            if (duplicates)
                duplicates[i] = op.results[i].duplicate;
        }
        if (!conn)
            wp__store_notify(store, NULL);
    }
    wp__op_fini(&op.base);
    wp__log_pump(wp__store_log(store));
    return st;
}

wp_status wp_outbox_enqueue(wp_id *id, int *duplicate, wp_store *store, wp_conn *conn,
                            const wp_message *message, wp_error **err)
{
    if (!id)
        return wp__fail(err, WP_E_ARGUMENT, "id is NULL");
    if (!message)
        return wp__fail(err, WP_E_ARGUMENT, "message is NULL");
    return wp_outbox_enqueue_many(id, duplicate, store, conn, &message, 1, err);
}

static wp_status copy_messages(enqueue_op *self, const wp_message *const *messages, size_t count,
                               wp_error **err)
{
    wp_status st = WP_OK;
    self->count = count;
    self->copies = calloc(count ? count : 1, sizeof *self->copies);
    if (!self->copies)
        return wp__fail_nomem(err);
    for (size_t i = 0; i < count && st == WP_OK; i++)
        st = wp__message_copy(&self->copies[i], messages[i], err);
    return st;
}

wp_status wp_outbox_enqueue_op(wp_op **out, wp_store *store, const wp_message *const *messages,
                               size_t count, wp_error **err)
{
    enqueue_op *op;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (st = check_messages(messages, count, err)) != WP_OK)
        return st;
    op = calloc(1, sizeof *op);
    if (!op)
        return wp__fail_nomem(err);
    op->results = &op->one;
    if ((st = copy_messages(op, messages, count, err)) != WP_OK ||
        (st = enqueue_init(op, store, (const wp_message *const *)op->copies, count, err)) !=
            WP_OK) {
        enqueue_destroy(&op->base);
        free(op);
        return st;
    }
    op->base.owns_store = true;
    wp__store_ref(store);
    *out = &op->base;
    return WP_OK;
}
