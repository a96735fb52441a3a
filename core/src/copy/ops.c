/* SPDX-License-Identifier: Apache-2.0 */
/* The operations that a move is made of. Each is one transaction in one of the stores; those that write
 * begin by renewing the lease there, so that nothing is written by one that another has followed. */
#include <stdlib.h>
#include <string.h>
#include <waypost/join.h>

#include "base/text.h"
#include "copy/copy.h"
#include "queue/pause.h"

enum { LEASE_COLUMNS = 7 };

/* ---- which store it is -------------------------------------------------------------------- */

typedef struct self_op {
    wp_op base;
    wp_id fresh;
    wp_id id;
    bool make;
    bool there;
    int step;
} self_op;

static wp_status self_next(wp_op *op, wp_error **err)
{
    self_op *self = (self_op *)op;
    (void)err;
    if (self->step == 0 && self->make) {
        self->step = 1;
        wp__op_set_id(op, WP__P_ID, &self->fresh);
        wp__op_use(op, WP__SQL_COPY_SELF_MAKE, 0);
    } else if (self->step < 2) {
        self->step = 2;
        wp__op_use(op, WP__SQL_COPY_SELF, 1);
    }
    return WP_OK;
}

static wp_status self_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    self_op *self = (self_op *)op;
    self->there = true;
    return wp__column_id(&self->id, &columns[0], err);
}

static void self_rewind(wp_op *op)
{
    ((self_op *)op)->step = 0;
    ((self_op *)op)->there = false;
}

wp_status wp__copy_self(wp_id *id, bool *there, wp_store *store, bool make, wp_error **err)
{
    static const wp__op_class makes = {
        .next = self_next, .row = self_row, .rewind = self_rewind, .writes = true};
    static const wp__op_class reads = {
        .next = self_next, .row = self_row, .rewind = self_rewind, .single = true};
    self_op op = {.make = make};
    wp_status st;
    wp_id_new(&op.fresh);
    wp__op_init(&op.base, make ? &makes : &reads, store);
    st = wp__store_run(store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    *id = op.id;
    *there = op.there;
    return st == WP_OK && make && !op.there
               ? wp__fail(err, WP_E_INTERNAL, "a store did not get its id")
               : st;
}

/* ---- counts ------------------------------------------------------------------------------- */

typedef struct count_op {
    wp_op base;
    const wp_id *peer;
    wp__sql_id statement; /* without a queue */
    size_t columns;
    int64_t counts[5];
    int step;
} count_op;

static wp_status count_next(wp_op *op, wp_error **err)
{
    count_op *self = (count_op *)op;
    (void)err;
    if (self->step++)
        return WP_OK;
    if (!op->queue) {
        wp__op_set_text(op, WP__P_TOPIC, WP_JOIN_WAIT_TOPIC);
        if (self->peer)
            wp__op_set_id(op, WP__P_OWNER, self->peer);
        wp__op_use(op, self->statement, self->columns);
        return WP_OK;
    }
    wp__op_set_id(op, WP__P_OWNER, self->peer);
    wp__op_set_text(op, WP__P_NAME, wp__copy_word(op->queue));
    wp__op_use_queue(op, WP__QUEUE_COPY_COUNT, self->columns);
    return WP_OK;
}

static wp_status count_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    count_op *self = (count_op *)op;
    wp_status st = WP_OK;
    for (size_t i = 0; i < self->columns && st == WP_OK; i++)
        st = wp__column_int(&self->counts[i], &columns[i], err);
    return st;
}

static void count_rewind(wp_op *op)
{
    ((count_op *)op)->step = 0;
}

static wp_status count(count_op *op, wp_store *store, const wp__queue *queue, wp_error **err)
{
    static const wp__op_class cls = {
        .next = count_next, .row = count_row, .rewind = count_rewind, .single = true};
    wp_status st;
    wp__op_init(&op->base, &cls, store);
    op->base.queue = queue;
    st = wp__store_run(store, NULL, &op->base, err);
    wp__op_fini(&op->base);
    return st;
}

wp_status wp__copy_look_at(int64_t counts[5], wp_store *store, const wp_id *peer,
                           const wp__queue *queue, wp_error **err)
{
    count_op op = {.peer = peer, .columns = 5};
    wp_status st = count(&op, store, queue, err);
    memcpy(counts, op.counts, sizeof op.counts);
    return st;
}

wp_status wp__copy_look_at_joins(int64_t counts[2], wp_store *store, wp_error **err)
{
    count_op op = {.statement = WP__SQL_COPY_JOINED, .columns = 2};
    wp_status st = count(&op, store, NULL, err);
    counts[0] = op.counts[0];
    counts[1] = op.counts[1];
    return st;
}

wp_status wp__copy_look_at_joined(int64_t *held, wp_store *store, const wp_id *peer, wp_error **err)
{
    count_op op = {.statement = WP__SQL_COPY_JOIN_HELD, .columns = 1, .peer = peer};
    wp_status st = WP_OK;
    if (wp__store_engine(store)->statements[WP__SQL_COPY_JOIN_HELD].text)
        st = count(&op, store, NULL, err);
    *held = op.counts[0];
    return st;
}

wp_status wp__copy_limit(int64_t *bytes, wp_store *store, wp_error **err)
{
    count_op op = {.statement = WP__SQL_COPY_LIMIT, .columns = 1};
    wp_status st = WP_OK;
    if (wp__store_engine(store)->statements[WP__SQL_COPY_LIMIT].text)
        st = count(&op, store, NULL, err);
    *bytes = op.counts[0];
    return st;
}

wp_status wp__copy_look_at_jobs(int64_t *jobs, wp_store *store, wp_error **err)
{
    count_op op = {.statement = WP__SQL_COPY_JOBS, .columns = 1};
    wp_status st = count(&op, store, NULL, err);
    *jobs = op.counts[0];
    return st;
}

/* ---- a list of statements ----------------------------------------------------------------- */

/* One statement. One with columns gives numbers, which those after it are about instead of the ones before it. */
typedef struct step {
    wp__queue_sql statement;
    uint8_t columns;
    uint8_t seq; /* in which column the number is */
    uint8_t how;
} step;

/* HELD: it must give all numbers that were asked for, else nothing is done; those after it are about the same.
 * UNATTACHED: not the queue's; of the outbox's messages none became a member of a join, else nothing is done. COUNTED: likewise;
 * those that did and are dead count. Others are left out where another one does what they do. */
enum { ALWAYS, COUNTED, HELD, UNATTACHED };

typedef struct plan_op {
    wp_op base;
    const wp__copy_end *end;
    const step *steps;
    size_t count;
    const wp__buf *given; /* numbers to begin with, or NULL */
    size_t wanted;        /* how many of them must be held */
    wp__copy_place place;
    int64_t limit;
    int64_t status; /* 0: null */
    /* under way */
    size_t at; /* the next one */
    const step *current;
    bool fenced;
    bool held;
    const wp__buf *about;
    wp__buf lists[2];
    size_t list;
    size_t rows_seen; /* of the current one */
    const wp__copy_items *as_read;
    /* results */
    bool missed;  /* not all were held */
    size_t found; /* by the first statement */
    wp__copy_place next;
    wp__copy_rows *rows;
    wp__copy_items *items;
} plan_op;

void wp__copy_use_fence(wp_op *op, const wp__copy_end *end)
{
    wp__op_set_now(op);
    wp__op_set_text(op, WP__P_NAME, end->lease);
    wp__op_set_text(op, WP__P_OWNER, WP__COPY_OWNER);
    wp__op_set_int(op, WP__P_FENCE, end->fence);
    wp__op_set_int(op, WP__P_LEASE, WP__COPY_LEASE_US);
    wp__op_use(op, WP__SQL_LEASE_RENEW, LEASE_COLUMNS);
}

wp_status wp__copy_fail_fenced(const wp__copy_end *end, wp_error **err)
{
    return wp__fail(err, WP_E_LEASE_LOST,
                    "store %s: another one has begun to move between the same two stores",
                    wp_store_id(end->store));
}

static void set_params(plan_op *self, const step *next)
{
    wp_op *op = &self->base;
    const bool dead = next->statement == WP__QUEUE_FIND_DEAD;
    wp__op_set_int(op, WP__P_SINCE, self->place.died_us);
    wp__op_set_int(op, WP__P_NUMBER, dead ? self->place.dead_seq : self->place.seq);
    wp__op_set_int(op, WP__P_UNTIL, dead ? INT64_MAX : WP_TIME_US_MAX); /* how long it is held */
    wp__op_set_int(op, WP__P_BATCH, self->limit);
    wp__op_set_text(op, WP__P_NAME, wp__copy_word(op->queue));
    wp__op_set_id(op, WP__P_OWNER, &self->end->peer);
    wp__op_set_now(op);
    wp__op_set_text(op, WP__P_WORKER, WP__COPY_OWNER);
    if (self->status)
        wp__op_set_int(op, WP__P_STATUS, self->status);
    if (self->about)
        wp__op_set_textn(op, WP__P_SEQS, self->about->data, self->about->len);
}

static bool is_left_out(const wp_op *op, const step *next)
{
    if (next->how == UNATTACHED || next->how == COUNTED)
        return op->queue != &wp__outbox ||
               !wp__op_has(op, next->how == COUNTED ? WP__SQL_COPY_BURIED : WP__SQL_COPY_ATTACHED);
    return next->how != HELD && !wp__op_has(op, wp__queue_sql_id(op->queue, next->statement));
}

static wp_status plan_next(wp_op *op, wp_error **err)
{
    plan_op *self = (plan_op *)op;
    if (op->cls->writes && !self->fenced) {
        self->fenced = true;
        wp__copy_use_fence(op, self->end);
        return WP_OK;
    }
    if (op->cls->writes && !self->held)
        return wp__copy_fail_fenced(self->end, err);
    if (self->current && self->current->how >= HELD) {
        self->missed =
            self->current->how == HELD ? self->rows_seen < self->wanted : self->rows_seen > 0;
        if (self->missed)
            return wp__fail(err, WP_E_STATE, "something that was held is not any more");
    } else if (self->current && self->current->columns && op->cls->writes) { /* it gave numbers */
        wp__buf *list = &self->lists[self->list];
        if (!list->len)
            return WP_OK;
        wp__buf_text(list, "]");
        if (list->failed)
            return wp__fail_nomem(err);
        self->about = list;
        self->list = !self->list;
        wp__buf_clear(&self->lists[self->list]);
    }
    while (self->at < self->count && is_left_out(op, &self->steps[self->at]))
        self->at++;
    if (self->at == self->count)
        return WP_OK;
    self->current = &self->steps[self->at++];
    self->rows_seen = 0;
    set_params(self, self->current);
    if (self->current->how == UNATTACHED)
        wp__op_use(op, WP__SQL_COPY_ATTACHED, 2);
    else if (self->current->how == COUNTED)
        wp__op_use(op, WP__SQL_COPY_BURIED, 0);
    else
        wp__op_use_queue(op, self->current->statement, self->current->columns);
    return WP_OK;
}

static wp_status items_add(wp__copy_items *items, const wp__queue *queue, const wp__value *columns,
                           wp_error **err)
{
    wp__copy_item *item;
    int64_t held = 0, arrived = 0;
    wp_status st;
    if (items->count == items->cap) {
        const size_t cap = items->cap ? items->cap * 2 : 256;
        wp__copy_item *grown = realloc(items->items, cap * sizeof *grown);
        if (!grown)
            return wp__fail_nomem(err);
        items->items = grown;
        items->cap = cap;
    }
    item = &items->items[items->count];
    memset(item, 0, sizeof *item);
    if ((st = wp__column_int(&item->seq, &columns[0], err)) != WP_OK ||
        (st = wp__column_id(&item->id, &columns[1], err)) != WP_OK ||
        (st = wp__column_int(&item->status, &columns[2], err)) != WP_OK ||
        (st = wp__column_int_or(&item->bytes, &columns[3], 0, err)) != WP_OK ||
        (st = wp__column_int(&held, &columns[5], err)) != WP_OK ||
        (st = wp__column_int(&arrived, &columns[6], err)) != WP_OK)
        return st;
    item->held = held == 1 ? WP__COPY_KEPT : held == 2 ? WP__COPY_ENDED : WP__COPY_LOST;
    item->arrived = arrived != 0;
    if (queue == &wp__job_run) {
        if ((st = wp__column_id(&item->job, &columns[4], err)) != WP_OK)
            return st;
    } else if (columns[4].type == WP_VALUE_TEXT) {
        item->key = wp__text_ndup(columns[4].p, columns[4].len);
        if (!item->key)
            return wp__fail_nomem(err);
    }
    items->count++;
    return WP_OK;
}

/* One that was read, and was not seen again since, counts. */
static wp_status held_row(plan_op *self, const wp__value *columns, wp_error **err)
{
    wp__copy_item key = {0};
    const wp__copy_item *item = NULL;
    int64_t seen_us = 0;
    wp_status st;
    if ((st = wp__column_int(&key.seq, &columns[0], err)) != WP_OK ||
        (st = wp__column_int(&seen_us, &columns[1], err)) != WP_OK)
        return st;
    if (self->as_read)
        item =
            bsearch(&key, self->as_read->items, self->as_read->count, sizeof key, wp__copy_by_seq);
    self->rows_seen += !item || !item->given || item->seen_us == seen_us;
    return WP_OK;
}

static wp_status plan_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    plan_op *self = (plan_op *)op;
    wp__buf *list = &self->lists[self->list];
    int64_t seq = 0;
    wp_status st;
    if (!self->current) {
        self->held = true;
        return WP_OK;
    }
    if (self->current->how == HELD)
        return held_row(self, columns, err);
    if (self->current->how == UNATTACHED) {
        self->rows_seen++;
        return WP_OK;
    }
    if (self->items)
        return items_add(self->items, op->queue, columns, err);
    if (self->rows)
        return wp__copy_rows_add(self->rows, op->queue, columns, err);
    if ((st = wp__column_int(&seq, &columns[self->current->seq], err)) != WP_OK)
        return st;
    wp__buf_text(list, list->len ? "," : "[");
    wp__buf_int(list, seq);
    if (self->current != self->steps)
        return WP_OK;
    self->found++;
    if (self->current->statement != WP__QUEUE_FIND_DEAD)
        return wp__column_int(&self->next.seq, &columns[1], err);
    self->next.dead_seq = seq;
    return wp__column_int(&self->next.died_us, &columns[0], err);
}

static void plan_rewind(wp_op *op)
{
    plan_op *self = (plan_op *)op;
    self->at = self->list = self->found = self->rows_seen = 0;
    self->missed = false;
    self->current = NULL;
    self->fenced = self->held = false;
    self->about = self->given;
    self->next = self->place;
    wp__buf_clear(&self->lists[0]);
    wp__buf_clear(&self->lists[1]);
    if (self->rows)
        wp__copy_rows_free(self->rows);
    if (self->items)
        wp__copy_items_free(self->items);
}

static wp_status run(plan_op *op, bool writes, const wp__queue *queue, wp_error **err)
{
    static const wp__op_class reads = {
        .next = plan_next, .row = plan_row, .rewind = plan_rewind, .single = true};
    static const wp__op_class changes = {
        .next = plan_next, .row = plan_row, .rewind = plan_rewind, .writes = true};
    wp_status st;
    wp__op_init(&op->base, writes ? &changes : &reads, op->end->store);
    op->base.queue = queue;
    op->about = op->given;
    op->next = op->place;
    st = wp__store_run(op->end->store, NULL, &op->base, err);
    wp__op_fini(&op->base);
    wp__buf_free(&op->lists[0]);
    wp__buf_free(&op->lists[1]);
    return st;
}

static wp_status take(plan_op *op, size_t *found, wp__copy_place *place, const wp__queue *queue,
                      wp_error **err)
{
    wp_status st;
    op->place = *place;
    st = run(op, true, queue, err);
    if (st == WP_OK) {
        *found = op->found;
        *place = op->next;
    }
    return st;
}

wp_status wp__copy_take(size_t *found, wp__copy_place *place, const wp__copy_end *end,
                        const wp__queue *queue, int64_t limit, wp_error **err)
{
    static const step steps[] = {
        {WP__QUEUE_COPY_FIND, 2, 0, ALWAYS},  {WP__QUEUE_COPY_TAKE, 0, 0, ALWAYS},
        {WP__QUEUE_COPY_NOTE, 0, 0, ALWAYS},  {WP__QUEUE_COPY_SPLIT, 1, 0, ALWAYS},
        {WP__QUEUE_COPY_FREE, 0, 0, ALWAYS},  {WP__QUEUE_UNBLOCK, 0, 0, ALWAYS},
        {WP__QUEUE_COPY_FORGET, 0, 0, ALWAYS}};
    plan_op op = {
        .end = end, .steps = steps, .count = sizeof steps / sizeof steps[0], .limit = limit};
    return take(&op, found, place, queue, err);
}

wp_status wp__copy_take_dead(size_t *found, wp__copy_place *place, const wp__copy_end *end,
                             const wp__queue *queue, int64_t limit, wp_error **err)
{
    static const step steps[] = {{WP__QUEUE_FIND_DEAD, 2, 1, ALWAYS},
                                 {WP__QUEUE_COPY_NOTE_DEAD, 0, 0, ALWAYS},
                                 {WP__QUEUE_COPY_HOLD_DEAD, 0, 0, ALWAYS},
                                 {WP__QUEUE_COPY_EXHUME, 0, 0, ALWAYS}};
    plan_op op = {
        .end = end, .steps = steps, .count = sizeof steps / sizeof steps[0], .limit = limit};
    return take(&op, found, place, queue, err);
}

wp_status wp__copy_list(wp__copy_items *out, const wp__copy_end *end, const wp__queue *queue,
                        wp_error **err)
{
    static const step steps[] = {{WP__QUEUE_COPY_LIST, 7, 0, ALWAYS}};
    plan_op op = {.end = end, .steps = steps, .count = 1, .items = out};
    return run(&op, false, queue, err);
}

wp_status wp__copy_read(wp__copy_rows *out, const wp__copy_end *end, const wp__queue *queue,
                        const wp__buf *seqs, wp_error **err)
{
    const step steps[] = {{WP__QUEUE_COPY_READ, (uint8_t)wp__copy_columns(queue), 0, ALWAYS}};
    plan_op op = {.end = end, .steps = steps, .count = 1, .given = seqs, .rows = out};
    return run(&op, false, queue, err);
}

wp_status wp__copy_free_held(const wp__copy_end *end, const wp__queue *queue,
                             const wp__copy_seqs *seqs, wp_error **err)
{
    static const step steps[] = {
        {WP__QUEUE_COPY_FREE, 0, 0, ALWAYS},  {WP__QUEUE_UNBLOCK, 0, 0, ALWAYS},
        {WP__QUEUE_COPY_BURY, 0, 0, ALWAYS},  {0, 0, 0, COUNTED},
        {WP__QUEUE_COPY_CLEAR, 0, 0, ALWAYS}, {WP__QUEUE_COPY_FORGET, 0, 0, ALWAYS}};
    plan_op op = {.end = end,
                  .steps = steps,
                  .count = sizeof steps / sizeof steps[0],
                  .given = &seqs->json,
                  .status = WP_MESSAGE_FAILED};
    return run(&op, true, queue, err);
}

static wp_status run_on_held(bool *missed, plan_op *op, const wp__queue *queue,
                             const wp__copy_seqs *seqs, wp_error **err)
{
    wp_error *cause = NULL;
    wp_status st;
    op->given = &seqs->json;
    op->wanted = seqs->count;
    op->as_read = seqs->as_read;
    st = run(op, true, queue, &cause);
    *missed = st == WP_E_STATE && op->missed;
    if (*missed) {
        wp_error_free(cause);
        return WP_OK;
    }
    if (cause)
        wp__error_move(err, cause);
    return st;
}

wp_status wp__copy_settle(bool *missed, const wp__copy_end *end, const wp__queue *queue,
                          const wp__copy_seqs *seqs, wp_error **err)
{
    static const step steps[] = {{WP__QUEUE_COPY_HELD, 2, 0, HELD},
                                 {WP__QUEUE_COPY_SETTLE, 0, 0, ALWAYS},
                                 {WP__QUEUE_COPY_CLEAR, 0, 0, ALWAYS},
                                 {WP__QUEUE_COPY_FORGET, 0, 0, ALWAYS}};
    static const step deletes[] = {
        {WP__QUEUE_COPY_HELD, 2, 0, HELD},         {0, 2, 0, UNATTACHED},
        {WP__QUEUE_COPY_CLEAR, 0, 0, ALWAYS},      {WP__QUEUE_COPY_REMOVE, 0, 0, ALWAYS},
        {WP__QUEUE_REMOVE_REPLAYED, 0, 0, ALWAYS}, {WP__QUEUE_COPY_FORGET, 0, 0, ALWAYS}};
    plan_op op = {.end = end, .steps = steps, .count = sizeof steps / sizeof steps[0]};
    if (queue != &wp__inbox) {
        op.steps = deletes;
        op.count = sizeof deletes / sizeof deletes[0];
    }
    return run_on_held(missed, &op, queue, seqs, err);
}

wp_status wp__copy_drop(bool *missed, const wp__copy_end *end, const wp__queue *queue,
                        const wp__copy_seqs *seqs, wp_error **err)
{
    static const step steps[] = {{WP__QUEUE_COPY_HELD, 2, 0, HELD},
                                 {WP__QUEUE_COPY_CLEAR, 0, 0, ALWAYS},
                                 {WP__QUEUE_COPY_REMOVE, 0, 0, ALWAYS},
                                 {WP__QUEUE_REMOVE_REPLAYED, 0, 0, ALWAYS},
                                 {WP__QUEUE_COPY_FORGET, 0, 0, ALWAYS}};
    plan_op op = {.end = end, .steps = steps, .count = sizeof steps / sizeof steps[0]};
    return run_on_held(missed, &op, queue, seqs, err);
}

wp_status wp__copy_refuse_attached(bool *any, wp__copy_items *items, const wp__copy_end *end,
                                   wp_error **err)
{
    wp__copy_pairs found = {0};
    wp__copy_seqs seqs = {0};
    wp_status st = WP_OK;
    *any = false;
    if (!items->count || !wp__store_engine(end->store)->statements[WP__SQL_COPY_ATTACHED].text)
        return WP_OK;
    for (size_t i = 0; i < items->count; i++)
        wp__copy_seqs_add(&seqs, items->items[i].seq);
    if ((st = wp__copy_seqs_end(&seqs, err)) == WP_OK)
        st = wp__copy_join_pairs(&found, end, WP__SQL_COPY_ATTACHED, &seqs.json, err);
    for (size_t i = 0; i < found.count && st == WP_OK; i++) {
        const wp__copy_item key = {.seq = found.items[i].seq};
        wp__copy_item *item =
            bsearch(&key, items->items, items->count, sizeof key, wp__copy_by_seq);
        if (item && !item->refused)
            item->refused = "it was made a member of a join meanwhile";
        *any = *any || item;
    }
    free(found.items);
    wp__buf_free(&seqs.json);
    return st;
}

/* ---- what is done ------------------------------------------------------------------------- */

typedef struct memory_op {
    wp_op base;
    int64_t after;
    int64_t since;
    int64_t limit;
    const wp__buf *seqs; /* these, or NULL */
    wp__copy_rows *rows;
    int step;
} memory_op;

static wp_status memory_next(wp_op *op, wp_error **err)
{
    memory_op *self = (memory_op *)op;
    (void)err;
    if (self->step++)
        return WP_OK;
    wp__op_set_int(op, WP__P_NUMBER, self->after);
    wp__op_set_int(op, WP__P_SINCE, self->since);
    wp__op_set_int(op, WP__P_BATCH, self->limit);
    if (self->seqs)
        wp__op_set_textn(op, WP__P_SEQS, self->seqs->data, self->seqs->len);
    wp__op_use(op, self->seqs ? WP__SQL_INBOX_COPY_RECALL : WP__SQL_INBOX_COPY_MEMORY,
               WP__COPY_INBOX_COLUMNS);
    return WP_OK;
}

static wp_status memory_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    return wp__copy_rows_add(((memory_op *)op)->rows, &wp__inbox, columns, err);
}

static void memory_rewind(wp_op *op)
{
    ((memory_op *)op)->step = 0;
    wp__copy_rows_free(((memory_op *)op)->rows);
}

wp_status wp__copy_read_memory(wp__copy_rows *out, wp_store *store, int64_t after, int64_t since,
                               int64_t limit, const wp__buf *seqs, wp_error **err)
{
    static const wp__op_class cls = {
        .next = memory_next, .row = memory_row, .rewind = memory_rewind, .single = true};
    memory_op op = {.after = after, .since = since, .limit = limit, .seqs = seqs, .rows = out};
    wp_status st;
    wp__op_init(&op.base, &cls, store);
    st = wp__store_run(store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    return st;
}

/* ---- storing ------------------------------------------------------------------------------ */

enum { KNOWN, PUT, HOLD, ARRIVE, NAME };

typedef struct put_op {
    wp_op base;
    const wp__copy_end *end;
    wp__copy_rows *rows;
    size_t at;
    int verb; /* the next statement of that row */
    bool fenced;
    bool held;
    bool known; /* what the row was to be is there already */
    int asked;  /* the statement that gives rows */
    bool done;  /* of the inbox: they are only to be known */
} put_op;

static void set_value(wp_op *op, wp__param param, const wp__value *value)
{
    op->params[param] = *value;
}

static void set_row(wp_op *op, const wp__copy_row *row)
{
    static const struct {
        uint8_t param, column;
    } map[] = {
        {WP__P_STATUS, WP__COPY_STATUS},
        {WP__P_ATTEMPTS, WP__COPY_ATTEMPT},
        {WP__P_VERSION, WP__COPY_CLAIM_NUMBER},
        {WP__P_FIRED_AT, WP__COPY_NEXT_ATTEMPT},
        {WP__P_UNTIL, WP__COPY_WORK_EXPIRES},
        {WP__P_REASON, WP__COPY_LAST_ERROR},
        {WP__P_OCCURRENCE, WP__COPY_FINISHED_AT},
        {WP__P_WORKER, WP__COPY_FINISHED_BY},
        {WP__P_TOPIC, WP__COPY_TOPIC},
        {WP__P_PAYLOAD, WP__COPY_PAYLOAD},
        {WP__P_HEADERS, WP__COPY_HEADERS},
        {WP__P_CORRELATION_ID, WP__COPY_CORRELATION},
        {WP__P_ORDERING_KEY, WP__COPY_ORDERING_KEY},
        {WP__P_SINCE, WP__COPY_CREATED_AT},
        {WP__P_DUE_AT, WP__COPY_DUE_AT},
        {WP__P_EXPIRES_AT, WP__COPY_EXPIRES_AT},
    };
    static const uint8_t inbox[] = {WP__P_SOURCE, WP__P_MESSAGE_ID,     WP__P_CONSUMER,
                                    WP__P_HASH,   WP__P_HASH_ALGORITHM, WP__P_DELAY};
    static const struct {
        uint8_t param, column;
    } run[] = {
        {WP__P_DELAY, WP__COPY_RUN_OCCURRENCE},    {WP__P_OPTIONS, WP__COPY_RUN_OPTIONS},
        {WP__P_MAX_ATTEMPTS, WP__COPY_STARTED_AT}, {WP__P_COUNT_, WP__COPY_CANCEL_AT},
        {WP__P_DETAIL, WP__COPY_OUTPUT},
    };
    for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
        set_value(op, (wp__param)map[i].param, &row->columns[map[i].column]);
    for (size_t i = 0; row->queue == &wp__inbox && i < sizeof inbox; i++)
        set_value(op, (wp__param)inbox[i], &row->columns[WP__COPY_SOURCE + i]);
    for (size_t i = 0; row->queue == &wp__job_run && i < sizeof run / sizeof run[0]; i++)
        set_value(op, (wp__param)run[i].param, &row->columns[run[i].column]);
    if (row->queue != &wp__inbox && row->queue != &wp__job_run)
        set_value(op, WP__P_UNIQUE_KEY, &row->columns[WP__COPY_UNIQUE_KEY]);
}

static wp__sql_id statement_of(const wp_op *op, int verb)
{
    static const wp__queue_sql statements[] = {[KNOWN] = WP__QUEUE_COPY_KNOWN,
                                               [PUT] = WP__QUEUE_COPY_PUT,
                                               [HOLD] = WP__QUEUE_COPY_HOLD,
                                               [ARRIVE] = WP__QUEUE_COPY_ARRIVE,
                                               [NAME] = WP__QUEUE_COPY_NAME};
    if (((const put_op *)op)->done && verb == PUT && wp__op_has(op, WP__SQL_INBOX_COPY_REMEMBER))
        return WP__SQL_INBOX_COPY_REMEMBER;
    if (((const put_op *)op)->done && verb == HOLD)
        return WP__SQL_INBOX_COPY_END;
    return wp__queue_sql_id(op->queue, statements[verb]);
}

/* Whether a statement is there, and to be run for the row. */
static bool wants(const wp_op *op, const wp__copy_row *row, int verb)
{
    if (verb == PUT)
        return !((const put_op *)op)->known;
    if (!wp__op_has(op, statement_of(op, verb)) || (verb != KNOWN && !row->there))
        return false;
    if (verb > HOLD && ((const put_op *)op)->done)
        return false;
    return verb != NAME || (row->columns[WP__COPY_STATUS].i == WP_MESSAGE_FAILED &&
                            row->columns[WP__COPY_UNIQUE_KEY].type != WP_VALUE_NULL);
}

static wp_status put_next(wp_op *op, wp_error **err)
{
    put_op *self = (put_op *)op;
    if (!self->fenced) {
        self->fenced = true;
        wp__copy_use_fence(op, self->end);
        return WP_OK;
    }
    if (!self->held)
        return wp__copy_fail_fenced(self->end, err);
    while (self->at < self->rows->count) {
        const wp__copy_row *row = &self->rows->items[self->at];
        const int verb = self->verb;
        self->verb = verb == NAME ? KNOWN : verb + 1;
        self->known = self->known && verb != KNOWN;
        if (wants(op, row, verb)) {
            set_row(op, row);
            wp__op_set_int(op, WP__P_NUMBER, row->there);
            wp__op_set_int(op, WP__P_FENCE, self->rows->job);
            wp__op_set_int(op, WP__P_LEASE, WP_TIME_US_MAX);
            wp__op_set_text(op, WP__P_NAME, wp__copy_word(op->queue));
            wp__op_set_id(op, WP__P_ID, &row->id);
            wp__op_set_id(op, WP__P_OWNER, &self->end->peer);
            wp__op_use(op, statement_of(op, verb), verb <= PUT);
            self->asked = verb;
        }
        self->at += verb == NAME;
        if (op->pending)
            return WP_OK;
    }
    return WP_OK;
}

static wp_status put_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    put_op *self = (put_op *)op;
    if (!self->held) {
        self->held = true;
        return WP_OK;
    }
    if (self->asked == KNOWN) {
        self->known = true;
        return WP_OK;
    }
    return wp__column_int(&self->rows->items[self->at].there, &columns[0], err);
}

static void put_rewind(wp_op *op)
{
    put_op *self = (put_op *)op;
    self->at = 0;
    self->verb = KNOWN;
    self->fenced = self->held = self->known = false;
    for (size_t i = 0; i < self->rows->count; i++)
        self->rows->items[i].there = 0;
}

static wp_status put(wp__copy_rows *rows, const wp__copy_end *end, const wp__queue *queue,
                     bool done, wp_error **err)
{
    static const wp__op_class cls = {
        .next = put_next, .row = put_row, .rewind = put_rewind, .writes = true, .races = true};
    put_op op = {.end = end, .rows = rows, .done = done};
    wp_status st;
    wp__op_init(&op.base, &cls, end->store);
    op.base.queue = queue;
    put_rewind(&op.base); /* a try before this one was rolled back: its numbers are others' */
    st = wp__store_run(end->store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    return st;
}

wp_status wp__copy_put(wp__copy_rows *rows, const wp__copy_end *end, const wp__queue *queue,
                       wp_error **err)
{
    return put(rows, end, queue, false, err);
}

wp_status wp__copy_remember(wp__copy_rows *rows, const wp__copy_end *end, wp_error **err)
{
    return put(rows, end, &wp__inbox, true, err);
}
