/* SPDX-License-Identifier: Apache-2.0 */
/* Enqueue: one insert for each message, or one for many where the engine can, in the app's transaction
 * or one of our own. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "db/store.h"
#include "join/join.h"
#include "queue/queue.h"

/* The statement under way. */
typedef enum stage {
    NONE,
    CHECK, /* after a try whose outcome is unknown: what of it was stored */
    PLAIN,
    UNIQUE,
    MANY,
    FIND,   /* who has the unique key */
    JOINS,  /* whether the joins are there that messages are to be members of */
    ATTACH, /* make them so */
    SIGNAL
} stage;

enum {
    MISSES_MAX = 100,
    CHUNK_MESSAGES = 1000, /* most in one statement */
    CHUNK_BYTES = 1 << 22  /* about so much payload */
};

typedef struct enqueue_op {
    wp_op base;
    const wp_message *const *messages;
    wp_message **copies; /* owned, for a host; messages points at them */
    size_t count;
    size_t at;   /* the first message that is not settled */
    size_t upto; /* MANY: messages [at, upto) are under way */
    size_t fed;  /* MANY: where the next row may belong */
    int misses;  /* how often the owner of a unique key was gone when it was asked for */
    stage stage;
    bool joins; /* runs in a transaction of the app's, which commits unseen */
    bool row_seen;
    bool attaches;       /* messages are to be members of joins */
    bool attached;       /* they are */
    bool looked;         /* their joins were looked for */
    wp__members members; /* where `attaches` */
    wp_id *stored;       /* likewise: the ids of all */
    wp__buf json;
    wp__op_result *results; /* `count` of them; results == &one for a single message */
    wp__op_result one;
} enqueue_op;

static void set_params(enqueue_op *self, const wp_message *m)
{
    wp_op *op = &self->base;
    wp__op_set_id(op, WP__P_ID, &self->results[self->at].own);
    wp__op_set_text(op, WP__P_TOPIC, m->topic);
    wp__op_set_textn(op, WP__P_PAYLOAD, m->payload, m->payload_len);
    wp__op_set_text(op, WP__P_HEADERS, m->headers);
    wp__op_set_text(op, WP__P_CORRELATION_ID, m->correlation_id);
    wp__op_set_text(op, WP__P_ORDERING_KEY, m->ordering_key);
    wp__op_set_text(op, WP__P_UNIQUE_KEY, m->unique_key);
    wp__op_set_now(op);
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
                WP__F_TEXT("Queue", self->base.queue->name),
                WP__F_TEXT("Topic", self->messages[i]->topic),
                WP__F_TEXT("CorrelationId", self->messages[i]->correlation_id),
                WP__F_ID("MessageId", &self->results[i].id));
}

/* ---- many in one statement ---------------------------------------------------------------- */

static void add_text(json_t *row, const char *name, const char *text, size_t len, bool *failed)
{
    if (text && json_object_set_new_nocheck(row, name, json_stringn_nocheck(text, len)) != 0)
        *failed = true;
}

static void add_int(json_t *row, const char *name, bool there, int64_t value, bool *failed)
{
    if (there && json_object_set_new_nocheck(row, name, json_integer(value)) != 0)
        *failed = true;
}

static size_t length(const char *text)
{
    return text ? strlen(text) : 0;
}

/* Append one message as a JSON object. */
static wp_status add_row(wp__buf *out, const wp_message *m, const wp_id *id, wp_error **err)
{
    json_t *row = json_object();
    char text[37];
    char *object;
    bool failed = !row;
    wp_id_format(text, id);
    add_text(row, "id", text, strlen(text), &failed);
    add_text(row, "topic", m->topic, strlen(m->topic), &failed);
    add_text(row, "payload", m->payload, m->payload_len, &failed);
    add_text(row, "headers", m->headers, length(m->headers), &failed);
    add_text(row, "correlation_id", m->correlation_id, length(m->correlation_id), &failed);
    add_text(row, "ordering_key", m->ordering_key, length(m->ordering_key), &failed);
    add_text(row, "unique_key", m->unique_key, length(m->unique_key), &failed);
    add_int(row, "due_at", m->has_due, m->due_us, &failed);
    add_int(row, "delay", true, m->delay_us, &failed);
    add_int(row, "expires_at", m->has_expires, m->expires_us, &failed);
    object = failed ? NULL : json_dumps(row, JSON_COMPACT);
    json_decref(row);
    if (!object)
        return wp__fail_nomem(err);
    wp__buf_text(out, out->len ? "," : "[");
    wp__buf_text(out, object);
    free(object);
    return WP_OK;
}

/* As many as fit into one statement, if they are more than one. */
static wp_status use_many(enqueue_op *self, bool *used, wp_error **err)
{
    size_t bytes = 0;
    wp_status st = WP_OK;
    *used = false;
    if (!self->base.engine->enqueues_many)
        return WP_OK;
    self->upto = self->at;
    while (self->upto < self->count && self->upto - self->at < CHUNK_MESSAGES) {
        bytes += self->messages[self->upto]->payload_len;
        if (bytes > CHUNK_BYTES)
            break;
        self->upto++;
    }
    if (self->upto < self->at + 2)
        return WP_OK;
    wp__buf_clear(&self->json);
    for (size_t i = self->at; i < self->upto && st == WP_OK; i++) {
        st = add_row(&self->json, self->messages[i], &self->results[i].own, err);
        self->results[i].duplicate = 1; /* until its row comes */
    }
    wp__buf_text(&self->json, "]");
    if (st == WP_OK && self->json.failed)
        st = wp__fail_nomem(err);
    if (st != WP_OK)
        return st;
    wp__op_set_textn(&self->base, WP__P_MESSAGES, self->json.data, self->json.len);
    wp__op_set_now(&self->base);
    self->fed = self->at;
    self->stage = MANY;
    wp__op_use_queue(&self->base, WP__QUEUE_ENQUEUE_MANY, 1);
    *used = true;
    return WP_OK;
}

/* ---- members of joins ---------------------------------------------------------------------- */

/* Note which messages are to be members of which joins. */
static wp_status note_joins(enqueue_op *self, wp_error **err)
{
    wp__join_pair *pairs;
    size_t count = 0;
    for (size_t i = 0; i < self->count; i++)
        count += self->messages[i]->join_count;
    self->attaches = count > 0;
    if (!self->attaches)
        return WP_OK;
    pairs = calloc(count, sizeof *pairs);
    self->stored = calloc(self->count, sizeof *self->stored);
    if (!pairs || !self->stored) {
        free(pairs);
        return wp__fail_nomem(err);
    }
    count = 0;
    for (size_t i = 0; i < self->count; i++)
        for (size_t j = 0; j < self->messages[i]->join_count; j++)
            pairs[count++] = (wp__join_pair){self->messages[i]->joins[j], i};
    self->members.messages = self->stored;
    self->members.message_count = self->count;
    return wp__members_init(&self->members, pairs, count, err);
}

/* All messages are stored: the next statement that makes them members. */
static wp_status use_attach(enqueue_op *self, bool *used, wp_error **err)
{
    wp_status st;
    *used = false;
    if (!self->attaches || self->attached)
        return WP_OK;
    for (size_t i = 0; i < self->count; i++)
        self->stored[i] = self->results[i].id;
    self->stage = ATTACH;
    st = wp__members_use_next(&self->members, &self->base, used, err);
    self->attached = !*used;
    return st;
}

/* ---- the operation ------------------------------------------------------------------------ */

/* Ask which of the messages an earlier try has stored. */
static wp_status use_check(enqueue_op *self, wp_error **err)
{
    wp__buf_clear(&self->json);
    for (size_t i = 0; i < self->count; i++) {
        char text[37];
        wp_id_format(text, &self->results[i].own);
        wp__buf_fmt(&self->json, "%s\"%s\"", i ? "," : "[", text);
        self->results[i].duplicate = 1;
    }
    wp__buf_text(&self->json, "]");
    if (self->json.failed)
        return wp__fail_nomem(err);
    wp__op_set_textn(&self->base, WP__P_IDS, self->json.data, self->json.len);
    self->stage = CHECK;
    wp__op_use_queue(&self->base, WP__QUEUE_RESOLVE, 3);
    return WP_OK;
}

static void use_find(enqueue_op *self)
{
    wp__op_set_text(&self->base, WP__P_UNIQUE_KEY, self->messages[self->at]->unique_key);
    self->row_seen = false;
    self->stage = FIND;
    wp__op_use_queue(&self->base, WP__QUEUE_FIND_UNIQUE, 1);
}

/* The message under way is stored under its own id, or is a duplicate of another. */
static void settle(enqueue_op *self)
{
    wp__op_result *result = &self->results[self->at];
    if (!result->duplicate)
        result->id = result->own;
    self->at++;
    self->base.result_count = self->at;
}

/* What the statement that was run means for the message under way. *ask: whose key has it met?
 * *again: the one that it met was finished meanwhile, so it can be stored now. */
static wp_status take_answer(enqueue_op *self, bool *ask, bool *again, wp_error **err)
{
    const stage was = self->stage;
    wp__op_result *result = &self->results[self->at];
    *ask = *again = false;
    self->stage = NONE;
    if (was == FIND && !self->row_seen) {
        /* In a transaction of ours all is begun anew: keys are taken in one order, and two that took
         * them in different ones would wait for each other. */
        if (!self->joins || ++self->misses == MISSES_MAX)
            return wp__fail_db(err, WP_E_UNAVAILABLE, NULL, 0, true,
                               "the message with the unique key was finished meanwhile: try again");
        *again = true;
        return WP_OK;
    }
    if (was == FIND) {
        /* its own row, if a try that seemed lost was committed after all */
        result->duplicate = memcmp(&result->id, &result->own, sizeof result->id) != 0;
        settle(self);
    } else if (was == UNIQUE && !self->row_seen) {
        *ask = true;
    } else if (was == PLAIN || was == UNIQUE) {
        result->duplicate = 0;
        settle(self);
    } else if (was == CHECK) {
        self->upto = self->row_seen ? self->count : 0; /* all of it was committed, or nothing */
        self->attached = self->row_seen;
    }
    /* after a statement for many: those that were stored, up to one that was not */
    while (self->at < self->upto && !*ask) {
        *ask = self->results[self->at].duplicate && self->messages[self->at]->unique_key;
        if (!*ask)
            settle(self);
    }
    return WP_OK;
}

static void use_one(enqueue_op *self)
{
    wp_op *op = &self->base;
    const wp_message *message = self->messages[self->at];
    self->row_seen = false;
    set_params(self, message);
    self->stage = message->unique_key ? UNIQUE : PLAIN;
    if (self->stage == UNIQUE)
        wp__op_use_queue(op, WP__QUEUE_ENQUEUE_UNIQUE, 1);
    else
        wp__op_use_queue(op, WP__QUEUE_ENQUEUE, 0);
}

static wp_status use_next(enqueue_op *self, wp_error **err)
{
    bool used = false;
    wp_status st = use_many(self, &used, err);
    if (st != WP_OK || used)
        return st;
    self->upto = 0;
    use_one(self);
    return WP_OK;
}

static wp_status enqueue_next(wp_op *op, wp_error **err)
{
    enqueue_op *self = (enqueue_op *)op;
    bool ask = false;
    bool again = false;
    bool used = false;
    wp_status st = WP_OK;
    if (self->stage == SIGNAL)
        return WP_OK;
    if (self->stage == NONE && self->at == 0 && op->unsure && self->count)
        return use_check(self, err);
    if (self->stage == JOINS && (st = wp__members_check(&self->members, true, err)) != WP_OK)
        return st;
    if (self->stage != NONE && self->stage != ATTACH &&
        (st = take_answer(self, &ask, &again, err)) != WP_OK)
        return st;
    if (ask || again) {
        ask ? use_find(self) : use_one(self);
        return WP_OK;
    }
    if (self->attaches && !self->attached && !self->looked) {
        self->looked = true;
        self->stage = JOINS;
        return wp__members_use_find(&self->members, op, err);
    }
    if (self->at < self->count)
        return use_next(self, err);
    if ((st = use_attach(self, &used, err)) != WP_OK || used)
        return st;
    log_enqueued(self);
    if (self->joins && self->count && wp__store_may_signal(op->store)) {
        wp__op_set_text(op, WP__P_NAME, wp__store_channel(op->store));
        self->stage = SIGNAL;
        wp__op_use(op, WP__SQL_OUTBOX_SIGNAL, 1);
    }
    return WP_OK;
}

static wp_status enqueue_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    enqueue_op *self = (enqueue_op *)op;
    int64_t place = 0;
    wp_id id;
    wp_status st;
    self->row_seen = true;
    if (self->stage == SIGNAL)
        return WP_OK;
    if (self->stage == JOINS || self->stage == ATTACH)
        return wp__members_row(&self->members, op, columns, err);
    if (self->stage == CHECK) {
        if ((st = wp__column_int(&place, &columns[0], err)) != WP_OK)
            return st;
        if (place >= 0 && (size_t)place < self->count)
            self->results[place].duplicate = 0;
        return WP_OK;
    }
    if (self->stage == UNIQUE && columns[0].type == WP_VALUE_NULL)
        return wp__fail_triggers(err); /* told of, but not done */
    if (self->stage != MANY)
        return wp__column_id(&self->results[self->at].id, &columns[0], err);
    if ((st = wp__column_id(&id, &columns[0], err)) != WP_OK)
        return st;
    while (self->fed < self->upto && memcmp(&self->results[self->fed].own, &id, sizeof id) != 0)
        self->fed++; /* rows come in the order of the messages */
    if (self->fed == self->upto)
        return wp__fail(err, WP_E_INTERNAL, "a message was stored that was not sent");
    self->results[self->fed++].duplicate = 0;
    return WP_OK;
}

static void enqueue_rewind(wp_op *op)
{
    enqueue_op *self = (enqueue_op *)op;
    self->at = self->upto = 0;
    self->misses = 0;
    self->stage = NONE;
    self->attached = self->looked = false;
    wp__members_rewind(&self->members);
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
    free(self->stored);
    wp__members_fini(&self->members);
    wp__buf_free(&self->json);
}

static const wp__op_class enqueue_single = {.next = enqueue_next,
                                            .row = enqueue_row,
                                            .rewind = enqueue_rewind,
                                            .destroy = enqueue_destroy,
                                            .writes = true,
                                            .single = true,
                                            .checks = true};
static const wp__op_class enqueue_many = {.next = enqueue_next,
                                          .row = enqueue_row,
                                          .rewind = enqueue_rewind,
                                          .destroy = enqueue_destroy,
                                          .writes = true,
                                          .checks = true};

static wp_status check_messages(const wp__queue *queue, const wp_message *const *messages,
                                size_t count, wp_error **err)
{
    if (!messages)
        return wp__fail(err, WP_E_ARGUMENT, "messages is NULL");
    if (count > WP_BATCH_MAX)
        return wp__fail(err, WP_E_RANGE, "count is %zu, more than %d", count, WP_BATCH_MAX);
    for (size_t i = 0; i < count; i++)
        if (!messages[i])
            return wp__fail(err, WP_E_ARGUMENT, "messages[%zu] is NULL", i);
        else if (messages[i]->join_count && queue != &wp__outbox)
            return wp__fail(err, WP_E_ARGUMENT,
                            "messages[%zu] is to be a member of a join: only the outbox has those",
                            i);
    return WP_OK;
}

static wp_status enqueue_init(enqueue_op *self, wp_store *store, const wp__queue *queue,
                              const wp_message *const *messages, size_t count, wp_error **err)
{
    bool single = count == 1 && !messages[0]->unique_key && !messages[0]->join_count;
    self->messages = messages;
    self->count = count;
    self->results = &self->one;
    if (count > 1) {
        self->results = calloc(count, sizeof *self->results);
        if (!self->results)
            return wp__fail_nomem(err);
    }
    for (size_t i = 0; i < count; i++)
        wp_id_new(&self->results[i].own);
    wp__op_init(&self->base, single ? &enqueue_single : &enqueue_many, store);
    self->base.queue = queue;
    self->base.results = self->results;
    return note_joins(self, err);
}

wp_status wp__queue_enqueue(wp_id *ids, int *duplicates, wp_store *store, wp_conn *conn,
                            const wp__queue *queue, const wp_message *const *messages, size_t count,
                            wp_error **err)
{
    enqueue_op op = {0};
    wp_status st;
    if ((st = wp__store_check_conn(store, conn, err)) != WP_OK ||
        (st = check_messages(queue, messages, count, err)) != WP_OK)
        return st;
    if (count == 0)
        return WP_OK;
    if (!ids)
        return wp__fail(err, WP_E_ARGUMENT, "ids is NULL");
    if ((st = enqueue_init(&op, store, queue, messages, count, err)) != WP_OK) {
        enqueue_destroy(&op.base);
        return st;
    }
    op.joins = conn != NULL;
    st = wp__store_run(store, conn, &op.base, err);
    if (st == WP_OK) {
        for (size_t i = 0; i < count; i++) {
            ids[i] = op.results[i].id;
            if (duplicates)
                duplicates[i] = op.results[i].duplicate;
        }
        if (!conn)
            wp__store_announce(store);
    }
    wp__op_fini(&op.base);
    wp__log_pump(wp__store_log(store));
    return st;
}

wp_status wp__queue_enqueue_one(wp_id *id, int *duplicate, wp_store *store, wp_conn *conn,
                                const wp__queue *queue, const wp_message *message, wp_error **err)
{
    if (!id)
        return wp__fail(err, WP_E_ARGUMENT, "id is NULL");
    if (!message)
        return wp__fail(err, WP_E_ARGUMENT, "message is NULL");
    return wp__queue_enqueue(id, duplicate, store, conn, queue, &message, 1, err);
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

wp_status wp__queue_enqueue_op(wp_op **out, wp_store *store, const wp__queue *queue,
                               const wp_message *const *messages, size_t count, wp_error **err)
{
    enqueue_op *op;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (st = check_messages(queue, messages, count, err)) != WP_OK)
        return st;
    op = calloc(1, sizeof *op);
    if (!op)
        return wp__fail_nomem(err);
    op->results = &op->one;
    if ((st = copy_messages(op, messages, count, err)) != WP_OK ||
        (st = enqueue_init(op, store, queue, (const wp_message *const *)op->copies, count, err)) !=
            WP_OK) {
        enqueue_destroy(&op->base);
        free(op);
        return st;
    }
    op->joins = true;
    op->base.owns_store = true;
    wp__store_ref(store);
    *out = &op->base;
    return WP_OK;
}
