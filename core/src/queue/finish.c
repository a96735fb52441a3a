/* SPDX-License-Identifier: Apache-2.0 */
/* What ends or prolongs a claim: ack, abandon, fail, release, renew. One statement guarded by
 * owner and claim number does each; requests by id look up the rows first, and an abandon that leaves
 * the delay to the backoff looks up the attempts. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/store.h"
#include "queue/queue.h"

enum {
    PHASE_START,
    PHASE_RESOLVE,
    PHASE_SPEND,
    PHASE_HELD,
    PHASE_CHANGE,
    PHASE_OUTPUT,
    PHASE_SIGNAL
};

/* ---- lists of claims ---------------------------------------------------------------------- */

wp_status wp__refs_add(wp__refs *refs, int64_t seq, int64_t claim_number, int64_t attempt,
                       wp_error **err)
{
    if (refs->count == refs->cap) {
        size_t cap = refs->cap ? refs->cap * 2 : 64;
        wp__claim_ref *items = realloc(refs->items, cap * sizeof *items);
        if (!items)
            return wp__fail_nomem(err);
        refs->items = items;
        refs->cap = cap;
    }
    refs->items[refs->count++] = (wp__claim_ref){seq, claim_number, attempt};
    return WP_OK;
}

void wp__refs_free(wp__refs *refs)
{
    free(refs->items);
    *refs = (wp__refs){0};
}

static int compare_refs(const void *left, const void *right)
{
    const wp__claim_ref *a = left;
    const wp__claim_ref *b = right;
    if (a->seq != b->seq)
        return a->seq < b->seq ? -1 : 1;
    return (a->claim_number > b->claim_number) - (a->claim_number < b->claim_number);
}

void wp__refs_sort(wp__refs *refs)
{
    size_t kept = 0;
    if (refs->count > 1)
        qsort(refs->items, refs->count, sizeof *refs->items, compare_refs);
    for (size_t i = 0; i < refs->count; i++) {
        const wp__claim_ref *last = kept ? &refs->items[kept - 1] : NULL;
        /* "any claim" sorts first and covers the rest of its row */
        if (last && last->seq == refs->items[i].seq &&
            (last->claim_number == WP__ANY_CLAIM ||
             last->claim_number == refs->items[i].claim_number))
            continue;
        refs->items[kept++] = refs->items[i];
    }
    refs->count = kept;
}

void wp__refs_json(wp__buf *out, const wp__refs *refs, size_t from, size_t to,
                   const wp__engine *engine)
{
    const bool pairs = engine && engine->claim_pairs;
    wp__buf_text(out, pairs ? "[" : "{");
    for (size_t i = from; i < to; i++) {
        const wp__claim_ref *ref = &refs->items[i];
        wp__buf_text(out, i == from ? "" : ",");
        wp__buf_text(out, pairs ? "[" : "\"");
        wp__buf_int(out, ref->seq);
        wp__buf_text(out, pairs ? "," : "\":");
        if (ref->claim_number == WP__ANY_CLAIM)
            wp__buf_text(out, "null");
        else
            wp__buf_int(out, ref->claim_number);
        wp__buf_text(out, pairs ? "]" : "");
    }
    wp__buf_text(out, pairs ? "]" : "}");
}

/* ---- the operation ------------------------------------------------------------------------ */

static wp_status use_refs(wp__finish_op *self, size_t from, size_t to, wp_error **err)
{
    wp__buf_clear(&self->json);
    wp__refs_json(&self->json, &self->refs, from, to, self->base.engine);
    if (self->json.failed)
        return wp__fail_nomem(err);
    wp__op_set_textn(&self->base, WP__P_CLAIMS, self->json.data, self->json.len);
    wp__op_set_id(&self->base, WP__P_OWNER, &self->owner);
    wp__op_set_now(&self->base);
    return WP_OK;
}

static wp_status use_change(wp__finish_op *self, size_t from, size_t to, int64_t delay_us,
                            wp_error **err)
{
    static const wp__queue_sql statements[] = {
        [WP__FINISH_ACK] = WP__QUEUE_FINISH,  [WP__FINISH_RETRY] = WP__QUEUE_RETRY,
        [WP__FINISH_FAIL] = WP__QUEUE_FINISH, [WP__FINISH_RELEASE] = WP__QUEUE_RELEASE,
        [WP__FINISH_RENEW] = WP__QUEUE_RENEW, [WP__FINISH_CANCEL] = WP__QUEUE_FINISH,
    };
    static const wp_message_status ends[] = {
        [WP__FINISH_ACK] = WP_MESSAGE_DONE,
        [WP__FINISH_FAIL] = WP_MESSAGE_FAILED,
        [WP__FINISH_RENEW] = WP_MESSAGE_IN_PROGRESS,
        [WP__FINISH_CANCEL] = WP_MESSAGE_CANCELLED,
    };
    wp_op *op = &self->base;
    bool pass = self->pass_locked && op->engine->row_locks;
    wp_status st = use_refs(self, from, to, err);
    if (st != WP_OK)
        return st;
    wp__op_set_int(op, WP__P_STATUS, ends[self->kind]);
    wp__op_set_int(op, WP__P_ATTEMPTS,
                   self->kind == WP__FINISH_FAIL || self->kind == WP__FINISH_CANCEL);
    wp__op_set_text(op, WP__P_WORKER, self->worker);
    wp__op_set_text(op, WP__P_REASON, self->reason);
    wp__op_set_int(op, WP__P_DELAY, delay_us);
    wp__op_set_int(op, WP__P_LEASE, self->lease_us);
    self->phase = PHASE_CHANGE;
    self->done = to;
    wp__op_use_queue(op, pass ? WP__QUEUE_RENEW_FREE : statements[self->kind],
                     pass || statements[self->kind] == WP__QUEUE_FINISH ? 3 : 2);
    return WP_OK;
}

/* Retry by backoff: the rows that were found held, those with the same attempt together. */
static wp_status next_backoff(wp__finish_op *self, wp_error **err)
{
    const wp_config *config = wp__store_config(self->base.store);
    const wp__claim_ref *items = self->refs.items;
    size_t to = self->done + 1;
    if (self->done >= self->refs.count)
        return WP_OK;
    while (to < self->refs.count && items[to].attempt == items[self->done].attempt)
        to++;
    return use_change(
        self, self->done, to,
        wp__backoff_us(items[self->done].attempt, &config->worker, config->worker_jitter), err);
}

static int compare_attempts(const void *left, const void *right)
{
    const wp__claim_ref *a = left;
    const wp__claim_ref *b = right;
    if (a->attempt != b->attempt)
        return a->attempt < b->attempt ? -1 : 1;
    return compare_refs(left, right);
}

static bool needs_backoff(const wp__finish_op *self)
{
    return self->kind == WP__FINISH_RETRY && self->delay_us == 0;
}

static wp_status finish_next(wp_op *op, wp_error **err)
{
    wp__finish_op *self = (wp__finish_op *)op;
    if (self->phase == PHASE_START && self->ids && self->id_count) {
        self->phase = PHASE_RESOLVE;
        wp__op_use_queue(op, WP__QUEUE_RESOLVE, 3);
        return wp__op_set_ids(op, &self->json, self->ids, self->id_count, err); /* their rows */
    }
    if (self->phase < PHASE_SPEND) {
        wp__refs_sort(&self->refs);
        if (self->refs.count && self->ids && self->kind == WP__FINISH_RETRY && op->queue->runs) {
            wp_status st = use_refs(self, 0, self->refs.count, err);
            wp__op_set_text(op, WP__P_REASON, self->reason);
            self->phase = PHASE_SPEND;
            wp__op_use(op, WP__SQL_JOB_RUN_SPEND, 2);
            return st;
        }
    }
    if (self->phase <= PHASE_SPEND) {
        if (self->refs.count && !needs_backoff(self))
            return use_change(self, 0, self->refs.count, self->delay_us, err);
        if (self->refs.count) {
            wp_status st = use_refs(self, 0, self->refs.count, err);
            self->refs.count = 0;
            self->phase = PHASE_HELD;
            wp__op_use_queue(op, WP__QUEUE_FIND_HELD, 3);
            return st;
        }
    } else if (needs_backoff(self)) {
        if (self->phase == PHASE_HELD && self->refs.count > 1)
            qsort(self->refs.items, self->refs.count, sizeof *self->refs.items, compare_attempts);
        if (self->done < self->refs.count)
            return next_backoff(self, err);
    }
    if (self->output && self->phase == PHASE_CHANGE && op->result_count) {
        self->phase = PHASE_OUTPUT;
        wp__op_set_int(op, WP__P_NUMBER, self->refs.items[0].seq);
        wp__op_set_text(op, WP__P_PAYLOAD, self->output);
        wp__op_use(op, WP__SQL_JOB_RUN_OUTPUT, 0);
        return WP_OK;
    }
    if (self->must_change && op->result_count == 0)
        return wp__fail(err, WP_E_LEASE_LOST, "the lease was lost: nothing was changed");
    if (self->announces && self->ordered && op->result_count && self->kind != WP__FINISH_RENEW &&
        self->phase != PHASE_SIGNAL && wp__store_may_signal(op->store)) {
        self->phase = PHASE_SIGNAL;
        wp__op_set_text(op, WP__P_NAME, wp__store_channel(op->store));
        wp__op_use(op, WP__SQL_OUTBOX_SIGNAL, 1);
    }
    return WP_OK;
}

static wp_status note_changed(wp__finish_op *self, int64_t seq, int64_t claim_number,
                              wp_error **err)
{
    wp_status st = wp__refs_add(&self->changed, seq, claim_number, 0, err);
    self->base.result_count = self->changed.count;
    return st;
}

static bool is_in(const wp__refs *refs, wp__finish_op *op, const wp_received *message)
{
    const wp__claim_ref ref = {.seq = message->seq, .claim_number = message->claim_number};
    if (!op->sorted) {
        wp__refs_sort(&op->changed);
        wp__refs_sort(&op->locked);
        op->sorted = true;
    }
    return refs->count && bsearch(&ref, refs->items, refs->count, sizeof ref, compare_refs);
}

bool wp__finish_op_changed(wp__finish_op *op, const wp_received *message)
{
    return is_in(&op->changed, op, message);
}

bool wp__finish_op_passed(wp__finish_op *op, const wp_received *message)
{
    return is_in(&op->locked, op, message);
}

static wp_status finish_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    wp__finish_op *self = (wp__finish_op *)op;
    int64_t n[3] = {0};
    wp_status st = WP_OK;
    const bool changes = self->phase == PHASE_CHANGE || self->phase == PHASE_SPEND;
    if (self->phase == PHASE_SIGNAL)
        return WP_OK;
    if (changes && columns[0].type == WP_VALUE_NULL)
        return wp__fail_triggers(err); /* told of, but not done */
    for (size_t i = 0; i < op->columns && st == WP_OK; i++)
        st = wp__column_int(&n[i], &columns[i], err);
    if (st != WP_OK)
        return st;
    if (self->phase == PHASE_CHANGE && self->kind == WP__FINISH_RENEW && op->columns == 3 && !n[2])
        return wp__refs_add(&self->locked, n[0], n[1], 0, err);
    if (changes) {
        self->joined = self->joined || (self->kind != WP__FINISH_RENEW && n[2]);
        return note_changed(self, n[0], n[1], err);
    }
    if (self->phase == PHASE_HELD)
        return wp__refs_add(&self->refs, n[0], n[2], n[1], err);
    if (n[0] < 0 || (size_t)n[0] >= self->id_count)
        return wp__fail(err, WP_E_INTERNAL, "an id was resolved that was not asked for");
    self->ordered = self->ordered || n[2];
    return wp__refs_add(&self->refs, n[1], self->claims ? self->claims[n[0]] : WP__ANY_CLAIM, 0,
                        err);
}

static void finish_rewind(wp_op *op)
{
    wp__finish_op *self = (wp__finish_op *)op;
    if (self->ids) {
        self->refs.count = 0;
        self->ordered = false;
    }
    self->changed.count = self->locked.count = 0;
    self->sorted = self->joined = false;
    self->phase = PHASE_START;
    self->done = 0;
}

static void finish_destroy(wp_op *op)
{
    wp__finish_op *self = (wp__finish_op *)op;
    wp__refs_free(&self->refs);
    wp__buf_free(&self->json);
    wp__refs_free(&self->changed);
    wp__refs_free(&self->locked);
    for (size_t i = 0; i < sizeof self->owned / sizeof self->owned[0]; i++)
        free(self->owned[i]);
}

static const wp__op_class by_refs = {.next = finish_next,
                                     .row = finish_row,
                                     .rewind = finish_rewind,
                                     .destroy = finish_destroy,
                                     .writes = true,
                                     .single = true};
static const wp__op_class by_ids = {.next = finish_next,
                                    .row = finish_row,
                                    .rewind = finish_rewind,
                                    .destroy = finish_destroy,
                                    .writes = true};

static const wp__op_class by_ref_and_more = {.next = finish_next,
                                             .row = finish_row,
                                             .rewind = finish_rewind,
                                             .destroy = finish_destroy,
                                             .writes = true};

void wp__finish_op_set_output(wp__finish_op *op, const char *output)
{
    op->output = output;
    op->base.cls = &by_ref_and_more;
}

void wp__finish_op_set_announces(wp__finish_op *op, bool ordered)
{
    op->announces = true;
    op->ordered = ordered;
    if (ordered)
        op->base.cls = &by_ref_and_more;
}

void wp__finish_op_init(wp__finish_op *op, wp_store *store, const wp__queue *queue,
                        wp__finish_kind kind, const wp_id *owner)
{
    *op = (wp__finish_op){.kind = kind, .owner = *owner};
    wp__op_init(&op->base, &by_refs, store);
    op->base.queue = queue;
}

void wp__finish_op_init_by_ids(wp__finish_op *op, wp_store *store, const wp__queue *queue,
                               wp__finish_kind kind, const wp_id *owner)
{
    wp__finish_op_init(op, store, queue, kind, owner);
    op->base.cls = &by_ids;
}
