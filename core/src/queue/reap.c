/* SPDX-License-Identifier: Apache-2.0 */
/* Reap: expired leases become retries or dead letters, and messages past their expiry fail. One
 * operation deals with one page, in one transaction; the caller goes on while pages are full. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/store.h"
#include "job/job.h"
#include "queue/queue.h"

enum { PHASE_START, PHASE_FIND, PHASE_ODD, PHASE_ASIDE, PHASE_CHANGE, PHASE_EXPIRE, PHASE_END };

/* What becomes of a claim whose lease is over. */
typedef enum wp__expired_end { RETRIED, AT_LIMIT, PAST_EXPIRY, ASKED } wp__expired_end;

static const char *const reasons[] = {[RETRIED] = WP__LEASE_EXPIRED,
                                      [AT_LIMIT] = WP__LEASE_EXPIRED,
                                      [PAST_EXPIRY] = "expired",
                                      [ASKED] = "cancelled"};

typedef struct wp__expired {
    wp__claim_ref ref;
    wp_id owner;
    wp__expired_end end;
    int64_t backoff_base_ms, backoff_max_ms; /* of a run's job; 0: the store's */
} wp__expired;

/* Those that fail go together, owner by owner and reason by reason. Each of the others gets a delay of its own: claims
 * that a crash ended together must not come due together, lest the one that caused it takes its
 * neighbours down with it every time. */
static int compare_expired(const void *left, const void *right)
{
    const wp__expired *a = left;
    const wp__expired *b = right;
    int order = memcmp(a->owner.bytes, b->owner.bytes, sizeof a->owner.bytes);
    if (order == 0)
        order = (int)a->end - (int)b->end;
    if (order == 0)
        order = (a->ref.seq > b->ref.seq) - (a->ref.seq < b->ref.seq);
    return order;
}

static bool same_group(const wp__expired *a, const wp__expired *b)
{
    return a == b || (a->end != RETRIED && a->end == b->end &&
                      memcmp(a->owner.bytes, b->owner.bytes, sizeof a->owner.bytes) == 0);
}

/* The delay of one that is tried again. */
static int64_t delay_of(const wp__expired *row, const wp_config *config)
{
    wp__worker_options options = config->worker;
    if (row->backoff_base_ms)
        options.backoff_base_ms = row->backoff_base_ms;
    if (row->backoff_max_ms)
        options.backoff_max_ms = row->backoff_max_ms;
    return wp__backoff_us(row->ref.attempt, &options, config->worker_jitter);
}

static wp_status use_group(wp__reap_op *self, wp_error **err)
{
    const wp__expired *first = &self->rows[self->done];
    wp_op *op = &self->base;
    wp__refs refs = {0};
    wp_status st = WP_OK;
    while (st == WP_OK && self->done < self->row_count &&
           same_group(first, &self->rows[self->done])) {
        const wp__claim_ref *ref = &self->rows[self->done++].ref;
        st = wp__refs_add(&refs, ref->seq, ref->claim_number, ref->attempt, err);
    }
    wp__buf_clear(&self->json);
    if (st == WP_OK)
        wp__refs_json(&self->json, &refs, 0, refs.count, op->engine);
    wp__refs_free(&refs);
    if (st == WP_OK && self->json.failed)
        st = wp__fail_nomem(err);
    if (st != WP_OK)
        return st;
    wp__op_set_textn(op, WP__P_CLAIMS, self->json.data, self->json.len);
    wp__op_set_id(op, WP__P_OWNER, &first->owner);
    wp__op_set_text(op, WP__P_REASON, reasons[first->end]);
    self->end = (int)first->end;
    wp__op_set_int(op, WP__P_STATUS,
                   first->end == ASKED ? WP_MESSAGE_CANCELLED : WP_MESSAGE_FAILED);
    wp__op_set_int(op, WP__P_ATTEMPTS, 1);
    wp__op_set_int(op, WP__P_DELAY, delay_of(first, wp__store_config(op->store)));
    if (first->end != RETRIED)
        wp__op_use_queue(op, WP__QUEUE_FINISH, 3);
    else
        wp__op_use_queue(op, WP__QUEUE_RETRY, 2);
    return WP_OK;
}

static wp_status reap_next(wp_op *op, wp_error **err)
{
    wp__reap_op *self = (wp__reap_op *)op;
    if (self->phase == PHASE_START) {
        wp__op_set_now_at(op, self->now_us);
        wp__op_set_int(op, WP__P_SINCE, self->since_us);
        wp__op_set_int(op, WP__P_BATCH, WP__REAP_PAGE);
        wp__op_set_text(op, WP__P_WORKER, self->worker);
        self->phase = PHASE_FIND;
        wp__op_use_queue(op, WP__QUEUE_FIND_EXPIRED, op->queue->runs ? 8 : 6);
        return WP_OK;
    }
    if (self->phase == PHASE_FIND) {
        if (self->row_count > 1)
            qsort(self->rows, self->row_count, sizeof *self->rows, compare_expired);
        self->leases = self->row_count + self->aside.count;
        self->phase = PHASE_ODD;
        if (wp__aside_is_possible(op)) {
            wp__op_use_queue(op, WP__QUEUE_FIND_ODD, 1);
            return WP_OK;
        }
    }
    if (self->phase == PHASE_ODD || self->phase == PHASE_ASIDE) {
        self->phase = PHASE_ASIDE;
        if (wp__aside_use_next(&self->aside, op))
            return WP_OK;
        self->unreadable = self->aside.count;
        self->phase = PHASE_CHANGE;
    }
    if (self->phase == PHASE_CHANGE && self->done < self->row_count)
        return use_group(self, err);
    if (self->phase == PHASE_CHANGE) {
        self->phase = PHASE_EXPIRE;
        wp__op_set_text(op, WP__P_REASON, "expired");
        wp__op_use_queue(op, WP__QUEUE_EXPIRE, 1);
    } else if (self->phase == PHASE_EXPIRE) {
        self->phase = PHASE_END;
    }
    return WP_OK;
}

/* The name of the first column of an expired lease that cannot be read, or NULL. */
static const char *unreadable(const wp__value *columns)
{
    static const char *const names[] = {"seq", "attempt", "claim_number", "max_attempts",
                                        "owner_token"};
    int64_t number = 0;
    wp_id id;
    for (size_t i = 0; i < 4; i++)
        if (wp__column_int_or(&number, &columns[i], 0, NULL) != WP_OK ||
            (i < 3 && columns[i].type == WP_VALUE_NULL))
            return names[i];
    return wp__column_id(&id, &columns[4], NULL) == WP_OK ? NULL : names[4];
}

static wp_status note_expired(wp__reap_op *self, const wp__value *columns, wp_error **err)
{
    wp__expired *row;
    int64_t max_attempts = 0;
    int64_t past_expiry = 0;
    int64_t asked = 0; /* to end a run */
    const char *odd = wp__aside_is_possible(&self->base) ? unreadable(columns) : NULL;
    wp_status st;
    if (odd && columns[0].type == WP_VALUE_INT64)
        return wp__aside_add(&self->aside, columns[0].i, odd, err);
    if (!self->rows && !(self->rows = calloc(WP__REAP_PAGE, sizeof *self->rows)))
        return wp__fail_nomem(err);
    if (self->row_count == WP__REAP_PAGE)
        return wp__fail(err, WP_E_INTERNAL, "a page of expired leases is longer than a page");
    row = &self->rows[self->row_count];
    if ((st = wp__column_int(&row->ref.seq, &columns[0], err)) != WP_OK ||
        (st = wp__column_int(&row->ref.attempt, &columns[1], err)) != WP_OK ||
        (st = wp__column_int(&row->ref.claim_number, &columns[2], err)) != WP_OK ||
        (st = wp__column_int_or(&max_attempts, &columns[3], 0, err)) != WP_OK ||
        (st = wp__column_id(&row->owner, &columns[4], err)) != WP_OK ||
        (st = wp__column_int(&past_expiry, &columns[5], err)) != WP_OK ||
        (self->base.queue->runs && (st = wp__column_int(&asked, &columns[7], err)) != WP_OK))
        return st;
    if (max_attempts <= 0) /* claimed by hand */
        max_attempts = wp__store_config(self->base.store)->worker.max_attempts;
    row->backoff_base_ms = row->backoff_max_ms = 0;
    if (self->base.queue->runs && columns[6].type == WP_VALUE_TEXT) {
        wp__job_options options;
        wp__job_options_read(&options, columns[6].p, columns[6].len);
        row->backoff_base_ms = options.backoff_base_ms;
        row->backoff_max_ms = options.backoff_max_ms;
    }
    row->end = asked                                  ? ASKED
               : past_expiry                          ? PAST_EXPIRY
               : row->ref.attempt + 1 >= max_attempts ? AT_LIMIT
                                                      : RETRIED;
    self->row_count++;
    return WP_OK;
}

static wp_status note_dead(wp__reap_op *self, const wp__value *columns, wp_error **err)
{
    int64_t seq = 0;
    wp_status st = wp__column_int(&seq, &columns[0], err);
    if (st != WP_OK)
        return st;
    wp__buf_text(&self->dead, self->dead.len ? "," : "[");
    wp__buf_int(&self->dead, seq);
    return WP_OK;
}

static wp_status reap_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    wp__reap_op *self = (wp__reap_op *)op;
    const bool dies = self->phase == PHASE_EXPIRE || (self->end != RETRIED && self->end != ASKED);
    if (self->phase == PHASE_FIND)
        return note_expired(self, columns, err);
    if (self->phase == PHASE_ODD)
        return columns[0].type == WP_VALUE_INT64
                   ? wp__aside_add(&self->aside, columns[0].i, "topic", err)
                   : WP_OK;
    if (self->phase == PHASE_EXPIRE || self->end == PAST_EXPIRY)
        self->expired++;
    else if (self->end == AT_LIMIT)
        self->failed++;
    else if (self->end == ASKED)
        self->cancelled++;
    else
        self->retried++;
    return dies ? note_dead(self, columns, err) : WP_OK;
}

static void reap_rewind(wp_op *op)
{
    wp__reap_op *self = (wp__reap_op *)op;
    self->phase = PHASE_START;
    self->done = 0;
    self->row_count = 0;
    self->leases = self->retried = self->failed = self->cancelled = 0;
    self->expired = self->unreadable = 0;
    wp__buf_clear(&self->dead);
    wp__aside_clear(&self->aside);
}

static void reap_destroy(wp_op *op)
{
    wp__reap_op *self = (wp__reap_op *)op;
    free(self->rows);
    wp__aside_free(&self->aside);
    wp__buf_free(&self->json);
    wp__buf_free(&self->dead);
}

static const wp__op_class reap_class = {.next = reap_next,
                                        .row = reap_row,
                                        .rewind = reap_rewind,
                                        .destroy = reap_destroy,
                                        .writes = true};

void wp__reap_op_init(wp__reap_op *op, wp_store *store, const wp__queue *queue, const char *worker,
                      int64_t now_us, int64_t since_us)
{
    *op = (wp__reap_op){.worker = worker, .now_us = now_us, .since_us = since_us};
    wp__op_init(&op->base, &reap_class, store);
    op->base.queue = queue;
}

bool wp__reap_op_is_full(const wp__reap_op *op)
{
    return op->leases == WP__REAP_PAGE || op->expired >= WP__REAP_PAGE ||
           op->unreadable >= WP__REAP_PAGE;
}

/* ---- telling of dead letters -------------------------------------------------------------- */

typedef struct tell_op {
    wp_op base;
    const char *seqs;
    wp__log *log;
    const char *worker;
    int step;
} tell_op;

static wp_status tell_next(wp_op *op, wp_error **err)
{
    (void)err;
    if (((tell_op *)op)->step++ == 0) {
        wp__op_set_text(op, WP__P_SEQS, ((tell_op *)op)->seqs);
        wp__op_use_queue(op, WP__QUEUE_TELL_DEAD, 4);
    }
    return WP_OK;
}

static wp_status tell_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    const tell_op *self = (tell_op *)op;
    const bool has_topic = columns[1].type == WP_VALUE_TEXT;
    const bool has_reason = columns[3].type == WP_VALUE_TEXT;
    char *topic = has_topic ? wp__text_ndup(columns[1].p, columns[1].len) : NULL;
    char *reason = has_reason ? wp__text_ndup(columns[3].p, columns[3].len) : NULL;
    int64_t attempt = 0;
    wp_id id;
    wp_status st = wp__column_id(&id, &columns[0], err);
    if (st == WP_OK)
        st = wp__column_int(&attempt, &columns[2], err);
    if (st == WP_OK && ((has_topic && !topic) || (has_reason && !reason)))
        st = wp__fail_nomem(err);
    if (st == WP_OK)
        WP__LOG(self->log, WP_LOG_ERROR, "dead letter",
                WP__F_TEXT("StoreId", wp_store_id(op->store)), WP__F_TEXT("WorkerId", self->worker),
                WP__F_TEXT("Queue", op->queue->name), WP__F_TEXT("Topic", topic),
                WP__F_ID("MessageId", &id), WP__F_INT("Attempt", attempt),
                WP__F_TEXT("Exception", reason));
    free(topic);
    free(reason);
    return st;
}

static void tell_rewind(wp_op *op)
{
    ((tell_op *)op)->step = 0;
}

wp_status wp__reap_op_tell(wp__reap_op *op, wp_conn *conn, wp__log *log, const char *worker,
                           wp_error **err)
{
    static const wp__op_class cls = {
        .next = tell_next, .row = tell_row, .rewind = tell_rewind, .single = true};
    tell_op tell = {.log = log, .worker = worker};
    wp_status st;
    if (!op->dead.len || !wp__log_wants(log, WP_LOG_ERROR))
        return WP_OK;
    wp__buf_text(&op->dead, "]");
    if (op->dead.failed)
        return wp__fail_nomem(err);
    tell.seqs = op->dead.data;
    wp__op_init(&tell.base, &cls, op->base.store);
    tell.base.queue = op->base.queue;
    st = wp__store_run(op->base.store, conn, &tell.base, err);
    wp__op_fini(&tell.base);
    return st;
}

/* ---- is there anything? ------------------------------------------------------------------- */

typedef struct probe_op {
    wp_op base;
    int64_t now_us;
    int64_t since_us;
    int step;
    int64_t needed;
} probe_op;

static wp_status probe_next(wp_op *op, wp_error **err)
{
    (void)err;
    if (((probe_op *)op)->step++ == 0) {
        wp__op_set_now_at(op, ((probe_op *)op)->now_us);
        wp__op_set_int(op, WP__P_SINCE, ((probe_op *)op)->since_us);
        wp__op_use_queue(op, WP__QUEUE_REAP_PROBE, 1);
    }
    return WP_OK;
}

static wp_status probe_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    return wp__column_int(&((probe_op *)op)->needed, &columns[0], err);
}

static void probe_rewind(wp_op *op)
{
    ((probe_op *)op)->step = 0;
}

wp_status wp__queue_reap_needed(bool *out, wp_store *store, wp_conn *conn, const wp__queue *queue,
                                int64_t now_us, int64_t since_us, wp_error **err)
{
    static const wp__op_class cls = {
        .next = probe_next, .row = probe_row, .rewind = probe_rewind, .single = true};
    probe_op op = {.now_us = now_us, .since_us = since_us};
    wp_status st;
    wp__op_init(&op.base, &cls, store);
    op.base.queue = queue;
    st = wp__store_run(store, conn, &op.base, err);
    if (st == WP_OK)
        *out = op.needed != 0;
    wp__op_fini(&op.base);
    return st;
}

wp_status wp__queue_reap(size_t *changed, wp_store *store, const wp__queue *queue, wp_error **err)
{
    size_t total = 0;
    bool full = true;
    wp_status st = wp__store_check(store, err);
    while (st == WP_OK && full) {
        wp__reap_op op;
        wp__reap_op_init(&op, store, queue, NULL, wp__store_now_us(store), INT64_MIN);
        st = wp__store_run(store, NULL, &op.base, err);
        if (st == WP_OK)
            (void)wp__reap_op_tell(&op, NULL, wp__store_log(store), NULL, NULL); /* it is done */
        total += op.retried + op.failed + op.cancelled + op.expired + op.unreadable;
        full = wp__reap_op_is_full(&op);
        wp__op_fini(&op.base);
    }
    if (st != WP_OK)
        return st;
    if (total) {
        WP__LOG(wp__store_log(store), WP_LOG_INFO, "reaped",
                WP__F_TEXT("StoreId", wp_store_id(store)), WP__F_INT("Count", total));
        wp__store_announce(store);
    }
    wp__log_pump(wp__store_log(store));
    if (changed)
        *changed = total;
    return WP_OK;
}
