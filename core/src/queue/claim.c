/* SPDX-License-Identifier: Apache-2.0 */
/* Claim: lease what is due, then read it. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <waypost/join.h>

#include "base/text.h"
#include "db/store.h"
#include "queue/pause.h"

enum { START, TOPICS, CLAIM, READ, ASIDE };

/* What follows the message, and what more where the claim itself returns it. */
enum {
    COL_LAST_ERROR = WP__RECEIVED_COLUMNS,
    READ_COLUMNS,
    COL_NEXT_ATTEMPT = READ_COLUMNS,
    COL_NOW,
    CLAIM_COLUMNS
};

/* Append one text to a JSON array that is being written. */
static wp_status add_topic(wp__buf *array, const char *topic, size_t len, wp_error **err)
{
    json_t *text = json_stringn(topic, len);
    char *quoted = text ? json_dumps(text, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    wp__buf_text(array, array->len ? "," : "[");
    if (quoted)
        wp__buf_text(array, quoted);
    json_decref(text);
    free(quoted);
    return quoted && !array->failed ? WP_OK : wp__fail_nomem(err);
}

static void use_claim(wp__claim_op *self, const char *topics)
{
    wp_op *op = &self->base;
    if (wp__store_has_host_clock(op->store))
        self->now_us = wp__store_now_us(op->store);
    wp__op_set_text(op, WP__P_TOPICS, topics);
    wp__op_set_id(op, WP__P_OWNER, &self->owner);
    wp__op_set_now(op);
    wp__op_set_int(op, WP__P_SINCE, self->since_us);
    wp__op_set_text(op, WP__P_AFTER, self->after ? self->after : "");
    wp__op_set_int(op, WP__P_LEASE, self->lease_us);
    wp__op_set_int(op, WP__P_BATCH, self->batch);
    if (self->max_attempts > 0)
        wp__op_set_int(op, WP__P_MAX_ATTEMPTS, self->max_attempts);
    else
        wp__op_set_null(op, WP__P_MAX_ATTEMPTS);
    self->step = CLAIM;
    wp__op_use_queue(op, WP__QUEUE_CLAIM,
                     op->engine->claim_reads ? CLAIM_COLUMNS + op->queue->columns : 1);
}

/* All messages are there: what else is to be done with some of them. */
static wp_status next_of_messages(wp__claim_op *self, wp_error **err)
{
    return self->base.queue == &wp__outbox ? wp__waits_next(self, err) : wp__starts_next(self, err);
}

static wp_status claim_next(wp_op *op, wp_error **err)
{
    wp__claim_op *self = (wp__claim_op *)op;
    if (self->step == START && !self->topics) {
        self->step = TOPICS;
        wp__op_use_queue(op, WP__QUEUE_READY_TOPICS, 1);
    } else if (self->step == START) {
        use_claim(self, self->topics);
    } else if (self->step == TOPICS && self->found_topics.len) {
        wp__buf_text(&self->found_topics, "]");
        use_claim(self, self->found_topics.data);
    } else if (self->step == CLAIM && self->seqs.len) { /* the engine reads by a statement more */
        wp__buf_text(&self->seqs, "]");
        wp__op_set_text(op, WP__P_SEQS, self->seqs.data);
        self->step = READ;
        wp__op_use_queue(op, WP__QUEUE_READ_CLAIMED, READ_COLUMNS + op->queue->columns);
    } else if (self->step == READ || self->step == ASIDE) {
        self->step = ASIDE;
        wp__op_set_text(op, WP__P_WORKER, NULL);
        if (!wp__aside_use_next(&self->aside, op))
            return next_of_messages(self, err);
    } else if (self->step == CLAIM) {
        return next_of_messages(self, err);
    }
    return self->found_topics.failed || self->seqs.failed ? wp__fail_nomem(err) : WP_OK;
}

static wp_status keep_message(wp__claim_op *self, const wp__value *columns, wp_error **err)
{
    const wp__value *more =
        self->base.queue->columns ? columns + self->base.columns - self->base.queue->columns : NULL;
    const char *odd =
        wp__aside_is_possible(&self->base) ? wp__received_unreadable(columns, more) : NULL;
    wp_received *message;
    wp_status st;
    if (odd && columns[WP__COL_SEQ].type == WP_VALUE_INT64)
        return wp__aside_add(&self->aside, columns[WP__COL_SEQ].i, odd, err);
    if (!self->received) {
        self->received = calloc((size_t)self->batch, sizeof(wp_received *));
        if (!self->received)
            return wp__fail_nomem(err);
    }
    if (self->count == (size_t)self->batch)
        return wp__fail(err, WP_E_INTERNAL, "a claim returned more than its batch");
    st = wp__received_new(&message, columns, &columns[COL_LAST_ERROR], more, err);
    if (st != WP_OK)
        return st;
    message->suspect = message->last_error && strcmp(message->last_error, WP__LEASE_EXPIRED) == 0;
    self->received[self->count++] = message;
    return WP_OK;
}

static wp_status claim_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    wp__claim_op *self = (wp__claim_op *)op;
    int64_t seq = 0;
    wp_status st;
    if (wp__starts_is_at(self))
        return wp__starts_row(self, columns, err);
    if (wp__waits_is_at(self))
        return wp__waits_row(self, columns, err);
    if (self->step == TOPICS && columns[0].type != WP_VALUE_TEXT)
        return WP_OK; /* the reaper fails its messages */
    if (self->step == TOPICS &&
        wp__pauses_have(self->paused, op->queue, columns[0].p, columns[0].len))
        return WP_OK;
    if (self->step == TOPICS)
        return add_topic(&self->found_topics, columns[0].p, columns[0].len, err);
    if (self->step == CLAIM && op->engine->claim_reads) {
        int64_t next_attempt_us = 0;
        if (columns[WP__COL_SEQ].type == WP_VALUE_NULL) {
            self->reached = wp__text_dup(columns[WP__COL_ORDERING_KEY].p);
            return self->reached ? WP_OK : wp__fail_nomem(err);
        }
        if ((st = wp__column_int(&next_attempt_us, &columns[COL_NEXT_ATTEMPT], err)) != WP_OK ||
            (st = wp__column_int(&self->now_us, &columns[COL_NOW], err)) != WP_OK)
            return st;
        if (self->count == 0)
            self->first_us = next_attempt_us;
        return keep_message(self, columns, err);
    }
    if (self->step == READ)
        return keep_message(self, columns, err);
    if ((st = wp__column_int(&seq, &columns[0], err)) != WP_OK)
        return st;
    wp__buf_text(&self->seqs, self->seqs.len ? "," : "[");
    wp__buf_int(&self->seqs, seq);
    return WP_OK;
}

static void claim_rewind(wp_op *op)
{
    wp__claim_op *self = (wp__claim_op *)op;
    for (size_t i = 0; i < self->count; i++)
        wp__received_free(self->received[i]);
    self->count = 0;
    free(self->reached);
    self->reached = NULL;
    self->step = START;
    wp__aside_clear(&self->aside);
    self->starts.phase = 0;
    self->starts.at = 0;
    wp__waits_rewind(&self->waits);
    wp__buf_clear(&self->found_topics);
    wp__buf_clear(&self->seqs);
}

static void claim_destroy(wp_op *op)
{
    wp__claim_op *self = (wp__claim_op *)op;
    claim_rewind(op);
    free(self->received);
    wp__aside_free(&self->aside);
    wp__buf_free(&self->starts.json);
    wp__waits_fini(&self->waits);
    wp__buf_free(&self->found_topics);
    wp__buf_free(&self->seqs);
}

static const wp__op_class claim_class = {.next = claim_next,
                                         .row = claim_row,
                                         .rewind = claim_rewind,
                                         .destroy = claim_destroy,
                                         .writes = true};

/* One statement, unless it must find topics first, and even then all of it is the last one. */
static const wp__op_class claim_reading_class = {.next = claim_next,
                                                 .row = claim_row,
                                                 .rewind = claim_rewind,
                                                 .destroy = claim_destroy,
                                                 .writes = true,
                                                 .single = true,
                                                 .races = true};

/* The same, but something is done with what was claimed. */
static const wp__op_class claim_starting_class = {.next = claim_next,
                                                  .row = claim_row,
                                                  .rewind = claim_rewind,
                                                  .destroy = claim_destroy,
                                                  .writes = true,
                                                  .races = true};

void wp__claim_op_init(wp__claim_op *op, wp_store *store, const wp__queue *queue)
{
    *op = (wp__claim_op){.since_us = INT64_MIN};
    wp__op_init(&op->base, &claim_class, store);
    op->base.queue = queue;
    if (op->base.engine->claim_reads)
        op->base.cls = queue->runs ? &claim_starting_class : &claim_reading_class;
}

void wp__claim_op_set_topics(wp__claim_op *op, const char *topics)
{
    op->topics = topics;
    /* more than one statement: those that wait for joins are looked after */
    if (op->base.cls == &claim_reading_class && op->base.queue == &wp__outbox &&
        (!topics || strstr(topics, "\"" WP_JOIN_WAIT_TOPIC "\"")))
        op->base.cls = &claim_starting_class;
}

/* ---- when there will be something to claim ------------------------------------------------ */

typedef struct due_op {
    wp_op base;
    const char *topics;
    int64_t since_us;
    int step;
    int64_t in_us;
} due_op;

static wp_status due_next(wp_op *op, wp_error **err)
{
    due_op *self = (due_op *)op;
    (void)err;
    if (self->step++ == 0) {
        wp__op_set_text(op, WP__P_TOPICS, self->topics);
        wp__op_set_int(op, WP__P_SINCE, self->since_us);
        wp__op_set_now(op);
        wp__op_use_queue(op, WP__QUEUE_NEXT_DUE, 1);
    }
    return WP_OK;
}

static wp_status due_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    return wp__column_int_or(&((due_op *)op)->in_us, &columns[0], INT64_MAX, err);
}

static void due_rewind(wp_op *op)
{
    ((due_op *)op)->step = 0;
}

wp_status wp__queue_next_due(int64_t *in_us, wp_store *store, wp_conn *conn, const wp__queue *queue,
                             const char *topics, int64_t since_us, wp_error **err)
{
    static const wp__op_class cls = {
        .next = due_next, .row = due_row, .rewind = due_rewind, .single = true};
    due_op op = {.topics = topics, .since_us = since_us, .in_us = INT64_MAX};
    wp_status st;
    wp__op_init(&op.base, &cls, store);
    op.base.queue = queue;
    st = wp__store_run(store, conn, &op.base, err);
    if (st == WP_OK)
        *in_us = op.in_us;
    wp__op_fini(&op.base);
    return st;
}

/* ---- by hand ------------------------------------------------------------------------------ */

struct wp_claim {
    wp_received **received;
    size_t count;
};

static wp_status check_claim(const wp_id *owner, const char *const *topics, size_t topic_count,
                             int64_t batch, int64_t lease_ms, wp_error **err)
{
    static const wp_id none;
    wp_status st = WP_OK;
    if (!owner || memcmp(owner, &none, sizeof none) == 0)
        return wp__fail(err, WP_E_ARGUMENT, "owner is %s", owner ? "empty" : "NULL");
    if (batch < 1 || batch > WP_BATCH_MAX)
        return wp__fail(err, WP_E_RANGE, "batch is %lld, not in 1..%d", (long long)batch,
                        WP_BATCH_MAX);
    if (lease_ms < 1 || lease_ms > WP_LEASE_MS_MAX)
        return wp__fail(err, WP_E_RANGE, "lease_ms is %lld, not in 1..%d", (long long)lease_ms,
                        WP_LEASE_MS_MAX);
    for (size_t i = 0; topics && i < topic_count && st == WP_OK; i++)
        st = wp__check_text(NULL, "topic", topics[i], WP_NAME_MAX, true, err);
    return st;
}

static wp_status topics_json(wp__buf *out, const char *const *topics, size_t count, wp_error **err)
{
    wp_status st = WP_OK;
    for (size_t i = 0; i < count && st == WP_OK; i++) {
        bool seen = false; /* a repeated topic would be claimed twice over */
        for (size_t j = 0; j < i && !seen; j++)
            seen = strcmp(topics[i], topics[j]) == 0;
        if (!seen)
            st = add_topic(out, topics[i], strlen(topics[i]), err);
    }
    wp__buf_text(out, out->len ? "]" : "[]");
    return st == WP_OK && out->failed ? wp__fail_nomem(err) : st;
}

wp_status wp__queue_claim(wp_claim **out, wp_store *store, const wp__queue *queue,
                          const wp_id *owner, const char *const *topics, size_t topic_count,
                          int64_t batch, int64_t lease_ms, wp_error **err)
{
    wp__claim_op op;
    wp__buf json = {0};
    wp_claim *claim = NULL;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (st = check_claim(owner, topics, topic_count, batch, lease_ms, err)) != WP_OK)
        return st;
    wp__claim_op_init(&op, store, queue);
    op.owner = *owner;
    op.batch = batch;
    op.lease_us = lease_ms * 1000;
    if (topics && (st = topics_json(&json, topics, topic_count, err)) != WP_OK)
        goto done;
    wp__claim_op_set_topics(&op, topics ? json.data : NULL);
    if (!(claim = calloc(1, sizeof *claim))) {
        st = wp__fail_nomem(err);
        goto done;
    }
    if ((st = wp__store_run(store, NULL, &op.base, err)) != WP_OK)
        goto done;
    WP__LOG(wp__store_log(store), WP_LOG_DEBUG, "claimed",
            WP__F_TEXT("StoreId", wp_store_id(store)), WP__F_INT("Count", op.count));
    wp__waits_tell(&op, NULL);
    claim->received = op.received;
    claim->count = op.count;
    op.received = NULL;
    op.count = 0;
    *out = claim;
    claim = NULL;
done:
    free(claim);
    wp__op_fini(&op.base);
    wp__buf_free(&json);
    wp__log_pump(wp__store_log(store));
    return st;
}

size_t wp_claim_count(const wp_claim *claim)
{
    return claim ? claim->count : 0;
}

const wp_received *wp_claim_at(const wp_claim *claim, size_t index)
{
    return claim && index < claim->count ? claim->received[index] : NULL;
}

void wp_claim_free(wp_claim *claim)
{
    if (!claim)
        return;
    for (size_t i = 0; i < claim->count; i++)
        wp__received_free(claim->received[i]);
    free(claim->received);
    free(claim);
}
