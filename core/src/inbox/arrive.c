/* SPDX-License-Identifier: Apache-2.0 */
/* What arrives: checked, enqueued, or processed at once. One statement notes it and tells in which state
 * it was; what more there is to do depends on that. The statement holds the message's row, so arrivals
 * of one message follow each other; workers go on meanwhile, and may finish a message between one
 * statement and the next. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/store.h"
#include "inbox/inbox.h"

typedef enum arrival { CHECK, ENQUEUE, ONCE } arrival;

/* The statement under way. */
typedef enum stage {
    NONE,
    ARRIVE,
    STATE,    /* again: what was to be moved was finished meanwhile */
    UNMARK,   /* the app does not process it itself any more */
    MOVE,     /* its work gets the new topic and due time */
    FILL,     /* it gets the new values */
    ADD_WORK, /* and is to be processed */
    REPLAY,   /* it is dead no more */
    SETTLE,   /* it is done, with this transaction */
    SIGNAL
} stage;

enum { STATUS_NEW = -1, STATUS_TAKEN = -2 /* another transaction is processing it */ };

typedef struct arrive_op {
    wp_op base;
    arrival kind;
    const wp_inbox_key *const *keys;
    const wp_message *const *messages; /* ENQUEUE */
    size_t count;
    wp_inbox_key **own_keys; /* for a host; keys points at them */
    wp_message **own_messages;
    size_t *order; /* they are stored by key; NULL: there is one */
    size_t at;     /* in that order */
    bool joins;    /* runs in a transaction of the app's, which commits unseen */
    stage stage;
    bool row_seen;
    int64_t status; /* of the message under way, as it is */
    int64_t seq;
    int replay_step;
    char seqs[24];
    wp__op_result *results; /* `count` of them; results == &one for a single message */
    wp__op_result one;
} arrive_op;

wp_inbox_state wp__inbox_state(int64_t status)
{
    switch (status) {
    case STATUS_NEW:
        return WP_INBOX_NEW;
    case WP_MESSAGE_SEEN:
        return WP_INBOX_SEEN;
    case WP_MESSAGE_DONE:
        return WP_INBOX_DONE;
    case WP_MESSAGE_FAILED:
        return WP_INBOX_DEAD;
    default:
        return WP_INBOX_PROCESSING;
    }
}

/* Which of keys, messages and results is under way. */
static size_t current(const arrive_op *self)
{
    return self->order ? self->order[self->at] : self->at;
}

/* ---- what is told ------------------------------------------------------------------------- */

static void log_mismatch(const arrive_op *self, size_t i)
{
    WP__LOG(wp__store_log(self->base.store), WP_LOG_WARNING,
            "a message arrived again with another content hash",
            WP__F_TEXT("StoreId", wp_store_id(self->base.store)),
            WP__F_TEXT("Source", self->keys[i]->source),
            WP__F_TEXT("SourceMessageId", self->keys[i]->message_id),
            WP__F_TEXT("Consumer", self->keys[i]->consumer),
            WP__F_ID("MessageId", &self->results[i].id));
}

static void log_arrival(const arrive_op *self, size_t i)
{
    static const char *const states[] = {"unknown", "new", "seen", "processing", "done", "dead"};
    static const char *const sentences[] = {
        [CHECK] = "checked", [ENQUEUE] = "enqueued in the inbox", [ONCE] = "checked, to process"};
    WP__LOG(wp__store_log(self->base.store), self->kind == ENQUEUE ? WP_LOG_INFO : WP_LOG_DEBUG,
            sentences[self->kind], WP__F_TEXT("StoreId", wp_store_id(self->base.store)),
            WP__F_TEXT("Topic", self->kind == ENQUEUE ? self->messages[i]->topic : NULL),
            WP__F_TEXT("Source", self->keys[i]->source),
            WP__F_TEXT("SourceMessageId", self->keys[i]->message_id),
            WP__F_TEXT("Consumer", self->keys[i]->consumer),
            WP__F_ID("MessageId", &self->results[i].id),
            WP__F_TEXT("Found", states[self->results[i].found]));
}

/* All has run; a retry would count again, so it is told at the end. */
static void tell(const arrive_op *self)
{
    wp_store *store = self->base.store;
    for (size_t i = 0; i < self->count; i++) {
        const wp__op_result *result = &self->results[i];
        const bool duplicate = result->found >= WP_INBOX_PROCESSING;
        if (self->kind != ENQUEUE)
            wp__store_count(store, WP_INBOX_COUNTER_CHECKED);
        else if (!duplicate)
            wp__store_count(store, WP_INBOX_COUNTER_ENQUEUED);
        if (duplicate)
            wp__store_count(store, WP_INBOX_COUNTER_DUPLICATES);
        if (result->mismatch) {
            wp__store_count(store, WP_INBOX_COUNTER_MISMATCHES);
            log_mismatch(self, i);
        }
        log_arrival(self, i);
    }
}

/* ---- statements --------------------------------------------------------------------------- */

static void set_values(arrive_op *self, const wp_message *m)
{
    wp_op *op = &self->base;
    wp__op_set_text(op, WP__P_TOPIC, m->topic);
    wp__op_set_textn(op, WP__P_PAYLOAD, m->payload, m->payload_len);
    wp__op_set_text(op, WP__P_HEADERS, m->headers);
    wp__op_set_text(op, WP__P_CORRELATION_ID, m->correlation_id);
    wp__op_set_text(op, WP__P_ORDERING_KEY, m->ordering_key);
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

static void use(arrive_op *self, stage next, wp__sql_id statement, size_t columns)
{
    self->stage = next;
    self->row_seen = false;
    wp__op_use(&self->base, statement, columns);
}

static void use_arrive(arrive_op *self)
{
    static const wp__sql_id statements[] = {[CHECK] = WP__SQL_INBOX_CHECK,
                                            [ENQUEUE] = WP__SQL_INBOX_ENQUEUE,
                                            [ONCE] = WP__SQL_INBOX_ONCE};
    const size_t i = current(self);
    const wp_inbox_key *key = self->keys[i];
    wp_op *op = &self->base;
    wp__sql_id statement = statements[self->kind];
    if (!wp__op_has(op, statement)) /* one writer at a time: a check is enough */
        statement = WP__SQL_INBOX_CHECK;
    wp__op_set_id(op, WP__P_ID, &self->results[i].own);
    wp__inbox_key_use(op, key);
    wp__op_set_text(op, WP__P_HASH, key->hash);
    wp__op_set_text(op, WP__P_HASH_ALGORITHM, key->hash_algorithm);
    wp__op_set_now(op);
    if (self->kind == ENQUEUE)
        set_values(self, self->messages[i]);
    self->results[i].mismatch = 0;
    self->status = STATUS_TAKEN;
    use(self, ARRIVE, statement, 5);
}

static void use_settle(arrive_op *self)
{
    wp__op_set_int(&self->base, WP__P_STATUS, WP_MESSAGE_DONE);
    wp__op_set_text(&self->base, WP__P_WORKER, NULL);
    wp__op_set_text(&self->base, WP__P_REASON, NULL);
    use(self, SETTLE, WP__SQL_INBOX_SETTLE, 1);
}

/* The message is dead, has the new values, and may be made ready again. */
static bool use_replay(arrive_op *self)
{
    wp_op *op = &self->base;
    if (!wp__store_config(op->store)->revive_dead)
        return false;
    (void)snprintf(self->seqs, sizeof self->seqs, "[%lld]", (long long)self->seq);
    wp__op_set_text(op, WP__P_SEQS, self->seqs);
    wp__op_set_int(op, WP__P_DELAY, 0);
    wp__op_set_int(op, WP__P_COUNT_, 0);
    wp__op_set_text(op, WP__P_WORKER, "enqueue");
    self->stage = REPLAY;
    return wp__replay_use_next(op, &self->replay_step);
}

/* ---- what comes after which --------------------------------------------------------------- */

/* The message under way is dealt with. */
static void next_message(arrive_op *self)
{
    self->stage = NONE;
    self->at++;
    self->base.result_count = self->at;
}

/* Its state is known: begin what there is to do. False: nothing. */
static bool use_by_status(arrive_op *self)
{
    const bool seen = self->status == STATUS_NEW || self->status == WP_MESSAGE_SEEN;
    wp__op_set_int(&self->base, WP__P_NUMBER, self->seq);
    if (self->kind == ONCE && seen) {
        use_settle(self);
        return true;
    }
    if (self->kind != ENQUEUE || self->status == WP_MESSAGE_DONE)
        return false;
    if (self->status == STATUS_NEW && self->base.engine->joint_writes)
        return false; /* it has its work row */
    if (self->status == STATUS_NEW)
        use(self, ADD_WORK, WP__SQL_INBOX_ADD_WORK, 0);
    else if (self->status == WP__MARKED)
        use(self, UNMARK, WP__SQL_INBOX_UNMARK, 0);
    else if (self->status == WP_MESSAGE_SEEN || self->status == WP_MESSAGE_FAILED)
        use(self, FILL, WP__SQL_INBOX_FILL, 0);
    else
        use(self, MOVE, WP__SQL_INBOX_MOVE, 2);
    return true;
}

/* What follows the statement that has run. False: nothing, for this message. */
static bool use_after(arrive_op *self, wp_error **err, wp_status *st)
{
    switch (self->stage) {
    case ARRIVE:
        self->results[current(self)].found = wp__inbox_state(self->status);
        return use_by_status(self);
    case STATE:
        return use_by_status(self);
    case UNMARK:
        self->status = WP_MESSAGE_SEEN;
        return use_by_status(self);
    case MOVE:
        if (self->row_seen)
            use(self, FILL, WP__SQL_INBOX_FILL, 0);
        else
            use(self, STATE, WP__SQL_INBOX_FIND_STATE, 1);
        return true;
    case FILL:
        if (self->status == WP_MESSAGE_FAILED)
            return use_replay(self);
        if (self->status != WP_MESSAGE_SEEN)
            return false;
        use(self, ADD_WORK, WP__SQL_INBOX_ADD_WORK, 0);
        return true;
    case REPLAY:
        return wp__replay_use_next(&self->base, &self->replay_step);
    case SETTLE:
        if (!self->row_seen)
            *st = wp__fail(err, WP_E_INTERNAL, "a message was finished while its row was held");
        return false;
    default:
        return false;
    }
}

static wp_status arrive_next(wp_op *op, wp_error **err)
{
    arrive_op *self = (arrive_op *)op;
    wp_status st = WP_OK;
    if (self->stage == SIGNAL)
        return WP_OK;
    if (self->stage != NONE) {
        if (use_after(self, err, &st))
            return WP_OK;
        if (st != WP_OK)
            return st;
        next_message(self);
    }
    if (self->at < self->count) {
        self->replay_step = 0;
        use_arrive(self);
        return WP_OK;
    }
    tell(self);
    if (self->kind == ENQUEUE && self->joins && self->count && wp__store_may_signal(op->store)) {
        wp__op_set_text(op, WP__P_NAME, wp__store_channel(op->store));
        use(self, SIGNAL, WP__SQL_OUTBOX_SIGNAL, 1);
    }
    return WP_OK;
}

/* ---- rows --------------------------------------------------------------------------------- */

static bool equals(const wp__value *value, const char *text)
{
    return value->type == WP_VALUE_TEXT && text && strlen(text) == value->len &&
           memcmp(value->p, text, value->len) == 0;
}

/* Hashes of the same algorithm that differ. */
static bool differs(const wp_inbox_key *key, const wp__value *hash, const wp__value *algorithm)
{
    return key->hash && hash->type == WP_VALUE_TEXT && equals(algorithm, key->hash_algorithm) &&
           !equals(hash, key->hash);
}

static wp_status note_arrival(arrive_op *self, const wp__value *columns, wp_error **err)
{
    const size_t i = current(self);
    wp__op_result *result = &self->results[i];
    wp_status st;
    if ((st = wp__column_id(&result->id, &columns[0], err)) != WP_OK ||
        (st = wp__column_int(&self->seq, &columns[1], err)) != WP_OK ||
        (st = wp__column_int_or(&self->status, &columns[4], STATUS_NEW, err)) != WP_OK)
        return st;
    result->mismatch = differs(self->keys[i], &columns[2], &columns[3]);
    return WP_OK;
}

static wp_status arrive_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    arrive_op *self = (arrive_op *)op;
    self->row_seen = true;
    if (self->stage == ARRIVE)
        return note_arrival(self, columns, err);
    if (self->stage == STATE)
        return wp__column_int(&self->status, &columns[0], err);
    if (self->stage == MOVE) { /* one time for both rows */
        int64_t due_us = 0;
        wp_status st = wp__column_int(&due_us, &columns[1], err);
        wp__op_set_int(op, WP__P_DUE_AT, due_us);
        return st;
    }
    if (self->stage == SETTLE && columns[0].type == WP_VALUE_NULL)
        return wp__fail_triggers(err); /* told of, but not done */
    return WP_OK;
}

static void arrive_rewind(wp_op *op)
{
    arrive_op *self = (arrive_op *)op;
    self->at = 0;
    self->stage = NONE;
}

static void arrive_destroy(wp_op *op)
{
    arrive_op *self = (arrive_op *)op;
    for (size_t i = 0; self->own_keys && i < self->count; i++)
        wp_inbox_key_free(self->own_keys[i]);
    for (size_t i = 0; self->own_messages && i < self->count; i++)
        wp_message_free(self->own_messages[i]);
    free(self->own_keys);
    free(self->own_messages);
    free(self->order);
    if (self->results != &self->one)
        free(self->results);
}

/* `checks`: after a try whose outcome is unknown they are run again, and a row with the id of that try
 * is as new as it was then. */
static const wp__op_class check_class = {.next = arrive_next,
                                         .row = arrive_row,
                                         .rewind = arrive_rewind,
                                         .destroy = arrive_destroy,
                                         .writes = true,
                                         .single = true,
                                         .checks = true,
                                         .races = true};
static const wp__op_class arrive_class = {.next = arrive_next,
                                          .row = arrive_row,
                                          .rewind = arrive_rewind,
                                          .destroy = arrive_destroy,
                                          .writes = true,
                                          .checks = true,
                                          .races = true};

/* ---- made of arguments that were checked -------------------------------------------------- */

typedef struct sortable {
    const wp_inbox_key *key;
    size_t index;
} sortable;

static int compare(const void *left, const void *right)
{
    const sortable *a = left;
    const sortable *b = right;
    const int order = wp__inbox_key_compare(a->key, b->key);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* Everyone stores messages in one order, so that nobody waits for each other. */
static wp_status sort(arrive_op *self, wp_error **err)
{
    sortable *all = calloc(self->count, sizeof *all);
    self->order = calloc(self->count, sizeof *self->order);
    if (!all || !self->order) {
        free(all);
        return wp__fail_nomem(err);
    }
    for (size_t i = 0; i < self->count; i++)
        all[i] = (sortable){self->keys[i], i};
    qsort(all, self->count, sizeof *all, compare);
    for (size_t i = 0; i < self->count; i++)
        self->order[i] = all[i].index;
    free(all);
    return WP_OK;
}

/* `self` holds kind, keys, messages and count. wp__op_fini() it, also when this fails. */
static wp_status init(arrive_op *self, wp_store *store, wp_error **err)
{
    self->results = &self->one;
    wp__op_init(&self->base, self->kind == CHECK ? &check_class : &arrive_class, store);
    self->base.queue = &wp__inbox;
    if (self->count > 1) {
        wp_status st;
        self->results = calloc(self->count, sizeof *self->results);
        if (!self->results) {
            self->results = &self->one;
            return wp__fail_nomem(err);
        }
        if ((st = sort(self, err)) != WP_OK)
            return st;
    }
    for (size_t i = 0; i < self->count; i++)
        wp_id_new(&self->results[i].own);
    self->base.results = self->results;
    return WP_OK;
}

static wp_status check_arguments(arrival kind, const wp_inbox_key *const *keys,
                                 const wp_message *const *messages, size_t count, wp_error **err)
{
    if (!keys || (kind == ENQUEUE && !messages))
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", keys ? "messages" : "keys");
    if (count > WP_BATCH_MAX)
        return wp__fail(err, WP_E_RANGE, "count is %zu, more than %d", count, WP_BATCH_MAX);
    for (size_t i = 0; i < count; i++) {
        if (!keys[i])
            return wp__fail(err, WP_E_ARGUMENT, count > 1 ? "keys[%zu] is NULL" : "key is NULL", i);
        if (kind == ENQUEUE && !messages[i])
            return wp__fail(err, WP_E_ARGUMENT,
                            count > 1 ? "messages[%zu] is NULL" : "message is NULL", i);
        if (kind == ENQUEUE && messages[i]->unique_key)
            return wp__fail(err, WP_E_ARGUMENT,
                            "message has a unique key: in the inbox source and message id are it");
        if (kind == ENQUEUE && messages[i]->join_count)
            return wp__fail(err, WP_E_ARGUMENT,
                            "message is to be a member of a join: only the outbox has those");
    }
    return WP_OK;
}

/* Run one to its end, and copy its results; any place for them may be NULL. */
static wp_status run(arrive_op *self, wp_id *ids, wp_inbox_state *found, int *mismatches,
                     wp_store *store, wp_conn *conn, wp_error **err)
{
    wp_status st = init(self, store, err);
    self->joins = conn != NULL;
    if (st == WP_OK)
        st = wp__store_run(store, conn, &self->base, err);
    for (size_t i = 0; st == WP_OK && i < self->count; i++) {
        if (ids)
            ids[i] = self->results[i].id;
        if (found)
            found[i] = self->results[i].found;
        if (mismatches)
            mismatches[i] = self->results[i].mismatch;
    }
    if (st == WP_OK && !conn && self->kind == ENQUEUE)
        wp__store_announce(store);
    wp__op_fini(&self->base);
    wp__log_pump(wp__store_log(store));
    return st;
}

static wp_status copy_arguments(arrive_op *self, const wp_inbox_key *const *keys,
                                const wp_message *const *messages, wp_error **err)
{
    const size_t size = self->count ? self->count : 1;
    wp_status st = WP_OK;
    self->own_keys = calloc(size, sizeof *self->own_keys);
    self->own_messages = calloc(size, sizeof *self->own_messages);
    if (!self->own_keys || !self->own_messages)
        return wp__fail_nomem(err);
    for (size_t i = 0; i < self->count && st == WP_OK; i++) {
        st = wp__inbox_key_copy(&self->own_keys[i], keys[i], err);
        if (st == WP_OK && self->kind == ENQUEUE)
            st = wp__message_copy(&self->own_messages[i], messages[i], err);
    }
    self->keys = (const wp_inbox_key *const *)self->own_keys;
    self->messages = (const wp_message *const *)self->own_messages;
    return st;
}

/* Make one for a host. */
static wp_status make(wp_op **out, arrival kind, wp_store *store, const wp_inbox_key *const *keys,
                      const wp_message *const *messages, size_t count, wp_error **err)
{
    arrive_op *op;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (st = check_arguments(kind, keys, messages, count, err)) != WP_OK)
        return st;
    op = calloc(1, sizeof *op);
    if (!op)
        return wp__fail_nomem(err);
    op->kind = kind;
    op->count = count;
    op->results = &op->one;
    if ((st = copy_arguments(op, keys, messages, err)) != WP_OK ||
        (st = init(op, store, err)) != WP_OK) {
        arrive_destroy(&op->base);
        free(op);
        return st;
    }
    op->joins = true;
    op->base.owns_store = true;
    wp__store_ref(store);
    *out = &op->base;
    return WP_OK;
}

/* ---- the public calls --------------------------------------------------------------------- */

wp_status wp_inbox_check(wp_inbox_state *found, int *mismatch, wp_store *store, wp_conn *conn,
                         const wp_inbox_key *key, wp_error **err)
{
    arrive_op op = {.kind = CHECK, .keys = &key, .count = 1};
    wp_status st;
    if ((st = wp__store_check_conn(store, conn, err)) != WP_OK ||
        (st = check_arguments(CHECK, &key, NULL, 1, err)) != WP_OK)
        return st;
    return run(&op, NULL, found, mismatch, store, conn, err);
}

wp_status wp_inbox_check_op(wp_op **out, wp_store *store, const wp_inbox_key *key, wp_error **err)
{
    return make(out, CHECK, store, &key, NULL, 1, err);
}

wp_status wp_inbox_enqueue_many(wp_id *ids, wp_inbox_state *found, int *mismatches, wp_store *store,
                                wp_conn *conn, const wp_inbox_key *const *keys,
                                const wp_message *const *messages, size_t count, wp_error **err)
{
    arrive_op op = {.kind = ENQUEUE, .keys = keys, .messages = messages, .count = count};
    wp_status st;
    if ((st = wp__store_check_conn(store, conn, err)) != WP_OK ||
        (st = check_arguments(ENQUEUE, keys, messages, count, err)) != WP_OK)
        return st;
    return count ? run(&op, ids, found, mismatches, store, conn, err) : WP_OK;
}

wp_status wp_inbox_enqueue(wp_id *id, wp_inbox_state *found, int *mismatch, wp_store *store,
                           wp_conn *conn, const wp_inbox_key *key, const wp_message *message,
                           wp_error **err)
{
    return wp_inbox_enqueue_many(id, found, mismatch, store, conn, &key, &message, 1, err);
}

wp_status wp_inbox_enqueue_op(wp_op **out, wp_store *store, const wp_inbox_key *const *keys,
                              const wp_message *const *messages, size_t count, wp_error **err)
{
    return make(out, ENQUEUE, store, keys, messages, count, err);
}

wp_status wp_inbox_once(int *proceed, wp_inbox_state *found, int *mismatch, wp_store *store,
                        wp_conn *conn, const wp_inbox_key *key, wp_error **err)
{
    arrive_op op = {.kind = ONCE, .keys = &key, .count = 1};
    wp_inbox_state state = WP_INBOX_UNKNOWN;
    wp_status st;
    if (!proceed || !conn)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", proceed ? "conn" : "proceed");
    if ((st = wp__store_check_conn(store, conn, err)) != WP_OK ||
        (st = check_arguments(ONCE, &key, NULL, 1, err)) != WP_OK)
        return st;
    if (conn->driver->in_transaction && !conn->driver->in_transaction(conn))
        return wp__fail(
            err, WP_E_STATE,
            "no transaction is open on conn: begin one, and commit it after the writes");
    if ((st = run(&op, NULL, &state, mismatch, store, conn, err)) != WP_OK)
        return st;
    *proceed = state == WP_INBOX_NEW || state == WP_INBOX_SEEN;
    if (found)
        *found = state;
    return WP_OK;
}

wp_status wp_inbox_once_op(wp_op **out, wp_store *store, const wp_inbox_key *key, wp_error **err)
{
    return make(out, ONCE, store, &key, NULL, 1, err);
}
