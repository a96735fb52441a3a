/* SPDX-License-Identifier: Apache-2.0 */
/* Replays and purges of dead letters, and the cleanup of what is done: page by page, each in a
 * transaction of its own. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/thread.h"
#include "db/store.h"
#include "queue/audit.h"
#include "queue/dead.h"

enum { PAGE = 1000, PAUSE_US = 2000 };

typedef enum change { REPLAY, PURGE, CLEANUP, EDIT } change;

enum { START, FIND, LOOK, REPLAYING, FINISHED, MESSAGES, REPLAYED, EDITED, AUDITED };

typedef struct page_op {
    wp_op base;
    change change;
    const wp_dead_filter *filter;
    wp__dead_place after; /* where the page begins */
    int64_t limit;
    int64_t delay_us; /* REPLAY: between two; CLEANUP: how old */
    int64_t before;   /* REPLAY: so many were replayed before */
    int64_t until_us; /* those that die later are left */
    const char *by;
    const char *payload; /* EDIT: the new one */
    size_t payload_len;
    int64_t old_bytes; /* how long the old one was */
    int step;
    int replay_step;
    wp__buf detail; /* for the audit */
    wp__buf seqs;   /* that were found */
    wp__buf gone;   /* of them, removed */
    /* results */
    size_t found; /* rows met: fewer than `limit` at the end */
    size_t changed;
    wp__dead_place last;
    bool young; /* CLEANUP: what follows is not so old */
} page_op;

static void add_seq(wp__buf *json, int64_t seq)
{
    wp__buf_text(json, json->len ? "," : "[");
    wp__buf_int(json, seq);
}

static wp_status use_seqs(page_op *self, wp__buf *seqs, wp_error **err)
{
    wp__buf_text(seqs, "]");
    if (seqs->failed)
        return wp__fail_nomem(err);
    wp__op_set_textn(&self->base, WP__P_SEQS, seqs->data, seqs->len);
    return WP_OK;
}

static void page_start(page_op *self)
{
    wp_op *op = &self->base;
    wp__op_set_now(op);
    wp__op_set_int(op, WP__P_DELAY, self->delay_us);
    self->step = FIND;
    if (self->change == CLEANUP) {
        wp__op_set_int(op, WP__P_NUMBER, self->after.seq);
        wp__op_set_int(op, WP__P_BATCH, self->limit);
        wp__op_use_queue(op, WP__QUEUE_FIND_OLD, 3);
    } else {
        wp__dead_use_filter(op, self->filter, &self->after, self->limit);
        if (!self->filter || self->filter->until_us > self->until_us)
            wp__op_set_int(op, WP__P_UNTIL, self->until_us);
        wp__op_use_queue(op, WP__QUEUE_FIND_DEAD, 2);
    }
}

/* Ids, if they are several, the first ones of them, and a range of time. */
static void note_which(json_t *detail, const wp_dead_filter *f)
{
    enum { NOTED_MAX = 100 };
    json_t *ids = f && f->ids && !f->one[0] ? json_loads(f->ids, 0, NULL) : NULL;
    if (ids) {
        json_t *noted = json_array();
        for (size_t i = 0; i < json_array_size(ids) && i < NOTED_MAX; i++) {
            const char *hex = json_string_value(json_array_get(ids, i));
            (void)json_array_append_new(noted, json_sprintf("%.8s-%.4s-%.4s-%.4s-%.12s", hex,
                                                            hex + 8, hex + 12, hex + 16, hex + 20));
        }
        (void)json_object_set_new(detail, "idCount",
                                  json_integer((json_int_t)json_array_size(ids)));
        (void)json_object_set_new(detail, "ids", noted);
        json_decref(ids);
    }
    if (f && f->from_us > 0)
        (void)json_object_set_new(detail, "fromUs", json_integer(f->from_us));
    if (f && f->until_us < WP_TIME_US_MAX)
        (void)json_object_set_new(detail, "untilUs", json_integer(f->until_us));
}

/* What was changed by hand is noted. An id stands for itself; a filter stands in the detail. */
static wp_status use_audit(page_op *self, wp_error **err)
{
    static const char *const actions[] = {
        [REPLAY] = "dead.replay", [PURGE] = "dead.purge", [EDIT] = "dead.edit"};
    const wp_dead_filter *f = self->filter;
    wp_op *op = &self->base;
    json_t *detail;
    char *text;
    if (self->step == AUDITED || self->change == CLEANUP || !self->changed)
        return WP_OK;
    self->step = AUDITED;
    detail = json_pack("{s:I,s:s*,s:s*}", "count", (json_int_t)self->changed, "topic",
                       f ? f->topic : NULL, "reason", f ? f->reason : NULL);
    note_which(detail, f);
    if (detail && self->change == EDIT) {
        (void)json_object_set_new(detail, "oldBytes", json_integer(self->old_bytes));
        (void)json_object_set_new(detail, "newBytes", json_integer((json_int_t)self->payload_len));
    }
    text = detail ? json_dumps(detail, JSON_COMPACT) : NULL;
    json_decref(detail);
    wp__buf_clear(&self->detail);
    if (text)
        wp__buf_text(&self->detail, text);
    free(text);
    if (!text || self->detail.failed)
        return wp__fail_nomem(err);
    wp__audit_use(op, actions[self->change], op->queue, f && f->one[0] ? f->one : NULL, self->by,
                  self->detail.data);
    return WP_OK;
}

static wp_status page_next(wp_op *op, wp_error **err)
{
    page_op *self = (page_op *)op;
    wp_status st;
    if (self->step == START) {
        page_start(self);
        return WP_OK;
    }
    if (self->step == FIND && self->change == EDIT && self->seqs.len) { /* it is ours now */
        self->step = LOOK;                                              /* at that one alone */
        wp__op_set_int(op, WP__P_PAYLOADS, 0);
        wp__op_set_int(op, WP__P_SINCE, self->last.died_us);
        wp__op_set_int(op, WP__P_NUMBER, self->last.seq - 1);
        wp__op_set_int(op, WP__P_UNTIL, self->last.died_us);
        wp__op_use_queue(op, WP__QUEUE_LIST_DEAD, WP__INFO_COLUMNS + op->queue->columns + 1);
        return WP_OK;
    }
    if (self->step == FIND || self->step == LOOK) {
        if (!self->seqs.len)
            return WP_OK;
        if ((st = use_seqs(self, &self->seqs, err)) != WP_OK)
            return st;
        wp__op_set_text(op, WP__P_WORKER, self->by);
        wp__op_set_int(op, WP__P_COUNT_, self->before);
        wp__op_set_int(op, WP__P_STATUS,
                       self->change == PURGE ? WP_MESSAGE_FAILED : WP_MESSAGE_DONE);
        if (self->change == EDIT) {
            self->step = EDITED;
            wp__op_set_int(op, WP__P_NUMBER, self->last.seq);
            wp__op_set_textn(op, WP__P_PAYLOAD, self->payload, self->payload_len);
            wp__op_use_queue(op, WP__QUEUE_EDIT, 0);
            self->changed = 1;
            return WP_OK;
        }
        self->step = self->change == REPLAY ? REPLAYING : FINISHED;
        if (self->change != REPLAY) {
            wp__op_use_queue(op, WP__QUEUE_REMOVE_FINISHED, 1);
            return WP_OK;
        }
    }
    if (self->step == REPLAYING)
        return wp__replay_use_next(op, &self->replay_step) ? WP_OK : use_audit(self, err);
    if (self->step == FINISHED) {
        if (!self->gone.len)
            return WP_OK;
        if ((st = use_seqs(self, &self->gone, err)) != WP_OK)
            return st;
        self->step =
            wp__op_has(op, wp__queue_sql_id(op->queue, WP__QUEUE_REMOVE)) ? MESSAGES : REPLAYED;
        wp__op_use_queue(op, self->step == MESSAGES ? WP__QUEUE_REMOVE : WP__QUEUE_REMOVE_REPLAYED,
                         0);
    } else if (self->step == MESSAGES) {
        self->step = REPLAYED;
        wp__op_use_queue(op, WP__QUEUE_REMOVE_REPLAYED, 0);
    } else {
        return use_audit(self, err);
    }
    return WP_OK;
}

static wp_status note_old(page_op *self, const wp__value *columns, wp_error **err)
{
    int64_t go = 0;
    int64_t young = 0;
    wp_status st;
    if ((st = wp__column_int(&self->last.seq, &columns[0], err)) != WP_OK ||
        (st = wp__column_int(&go, &columns[1], err)) != WP_OK ||
        (st = wp__column_int(&young, &columns[2], err)) != WP_OK)
        return st;
    self->found++;
    self->young = young != 0;
    if (go)
        add_seq(&self->seqs, self->last.seq);
    return WP_OK;
}

static wp_status page_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    page_op *self = (page_op *)op;
    int64_t seq = 0;
    wp_status st;
    if (self->step == FIND && self->change == CLEANUP)
        return note_old(self, columns, err);
    if (self->step == LOOK)
        return wp__column_int_or(&self->old_bytes, &columns[WP__INFO_COLUMNS + op->queue->columns],
                                 0, err); /* of the inbox: it may have none */
    if (self->step == FIND) {
        if ((st = wp__column_int(&self->last.died_us, &columns[0], err)) != WP_OK ||
            (st = wp__column_int(&self->last.seq, &columns[1], err)) != WP_OK)
            return st;
        self->found++;
        add_seq(&self->seqs, self->last.seq);
        return WP_OK;
    }
    if ((st = wp__column_int(&seq, &columns[0], err)) != WP_OK)
        return st;
    self->changed++;
    if (self->step == FINISHED)
        add_seq(&self->gone, seq);
    return WP_OK;
}

static void page_rewind(wp_op *op)
{
    page_op *self = (page_op *)op;
    self->step = START;
    self->replay_step = 0;
    self->found = self->changed = 0;
    self->young = false;
    wp__buf_clear(&self->seqs);
    wp__buf_clear(&self->gone);
}

static void page_destroy(wp_op *op)
{
    wp__buf_free(&((page_op *)op)->seqs);
    wp__buf_free(&((page_op *)op)->gone);
    wp__buf_free(&((page_op *)op)->detail);
}

static const wp__op_class page_class = {.next = page_next,
                                        .row = page_row,
                                        .rewind = page_rewind,
                                        .destroy = page_destroy,
                                        .writes = true};

/* *more: there may be more behind the place where `op` was to begin, which moves on. */
static wp_status run_page(page_op *op, bool *more, wp_store *store, wp_conn *conn,
                          const wp__queue *queue, wp_error **err)
{
    wp_status st;
    op->last = op->after;
    wp__op_init(&op->base, &page_class, store);
    op->base.queue = queue;
    st = wp__store_run(store, conn, &op->base, err);
    *more = (int64_t)op->found == op->limit && !op->young;
    op->after = op->last;
    wp__op_fini(&op->base);
    return st;
}

wp_status wp__cleanup_page(size_t *removed, bool *more, int64_t *after, wp_store *store,
                           wp_conn *conn, const wp__queue *queue, int64_t older_us, wp_error **err)
{
    page_op op = {.change = CLEANUP, .after = {0, *after}, .limit = PAGE, .delay_us = older_us};
    wp_status st = run_page(&op, more, store, conn, queue, err);
    if (st == WP_OK) {
        *removed = op.changed;
        *after = op.after.seq;
    }
    return st;
}

/* Go through one queue; up to `limit` are changed, and counted in *total. */
static wp_status run_pages(size_t *total, wp_store *store, const wp__queue *queue, page_op want,
                           int64_t limit, wp_error **err)
{
    static const char *const sentences[] = {[REPLAY] = "replayed dead letters",
                                            [PURGE] = "purged dead letters",
                                            [CLEANUP] = "cleaned up"};
    const int64_t before = (int64_t)*total;
    bool more = true;
    wp_status st = WP_OK;
    while (st == WP_OK && more && (int64_t)*total < limit) {
        page_op op = want;
        const int64_t left = limit - (int64_t)*total;
        op.limit = left < PAGE ? left : PAGE;
        op.before = (int64_t)*total;
        st = run_page(&op, &more, store, NULL, queue, err);
        if (st == WP_OK)
            *total += op.changed;
        want.after = op.after;
        if (more && op.changed)
            wp__sleep_us(PAUSE_US); /* others want the tables, too */
    }
    if ((int64_t)*total > before)
        WP__LOG(wp__store_log(store), WP_LOG_INFO, sentences[want.change],
                WP__F_TEXT("StoreId", wp_store_id(store)), WP__F_TEXT("Queue", queue->name),
                WP__F_INT("Count", (int64_t)*total - before), WP__F_TEXT("By", want.by));
    return st;
}

/* When the last dead letter of each queue died; INT64_MIN: there is none. */
typedef struct last_op {
    wp_op base;
    wp__queue_range range;
    size_t at;
    int64_t died_us[WP__QUEUES];
} last_op;

static wp_status last_next(wp_op *op, wp_error **err)
{
    last_op *self = (last_op *)op;
    (void)err;
    if (self->at == self->range.to)
        return WP_OK;
    op->queue = wp__queues[self->at++];
    wp__op_use_queue(op, WP__QUEUE_LAST_DEAD, 1);
    return WP_OK;
}

static wp_status last_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    last_op *self = (last_op *)op;
    return wp__column_int_or(&self->died_us[self->at - 1], &columns[0], INT64_MIN, err);
}

static void last_rewind(wp_op *op)
{
    ((last_op *)op)->at = ((last_op *)op)->range.from;
}

/* Go through some queues, one after the other. `want` says what to do. */
static wp_status run_queues(size_t *changed, wp_store *store, const wp__queue_range *range,
                            page_op want, int64_t limit, wp_error **err)
{
    static const wp__op_class cls = {.next = last_next, .row = last_row, .rewind = last_rewind};
    last_op last = {.range = *range, .at = range->from};
    size_t total = 0;
    wp_status st = WP_OK;
    if (want.change != CLEANUP) {
        wp__op_init(&last.base, &cls, store);
        st = wp__store_run(store, NULL, &last.base, err);
        wp__op_fini(&last.base);
    }
    for (size_t i = range->from; i < range->to && st == WP_OK; i++) {
        want.until_us = last.died_us[i];
        st = run_pages(&total, store, wp__queues[i], want, limit, err);
    }
    if (total && want.change == REPLAY)
        wp__store_announce(store);
    wp__log_pump(wp__store_log(store));
    if (changed)
        *changed = total;
    return st;
}

static wp_status check_limit(int64_t limit, wp_error **err)
{
    return limit >= 1 ? WP_OK
                      : wp__fail(err, WP_E_RANGE, "limit is %lld, less than 1", (long long)limit);
}

wp_status wp_dead_replay(size_t *replayed, wp_store *store, wp_source source,
                         const wp_dead_filter *filter, int64_t limit, int64_t per_second,
                         const char *by, wp_error **err)
{
    page_op want = {.change = REPLAY, .filter = filter, .by = by};
    wp__queue_range range;
    wp_status st;
    if ((st = wp__dead_check_source(&range, store, source, err)) != WP_OK ||
        (st = wp__check_text(NULL, "by", by, WP_NAME_MAX, false, err)) != WP_OK ||
        (st = check_limit(limit, err)) != WP_OK)
        return st;
    if (per_second < 0 || per_second > 1000000)
        return wp__fail(err, WP_E_RANGE, "per_second is %lld, not in 0..1000000",
                        (long long)per_second);
    want.delay_us = per_second ? 1000000 / per_second : 0;
    want.after = wp__dead_first_place(filter);
    return run_queues(replayed, store, &range, want, limit, err);
}

wp_status wp_dead_purge(size_t *purged, wp_store *store, wp_source source,
                        const wp_dead_filter *filter, int64_t limit, wp_error **err)
{
    return wp_dead_purge_by(purged, store, source, filter, limit, NULL, err);
}

wp_status wp_dead_purge_by(size_t *purged, wp_store *store, wp_source source,
                           const wp_dead_filter *filter, int64_t limit, const char *by,
                           wp_error **err)
{
    page_op want = {.change = PURGE, .filter = filter, .by = by};
    wp__queue_range range;
    wp_status st;
    if ((st = wp__dead_check_source(&range, store, source, err)) != WP_OK ||
        (st = wp__check_text(NULL, "by", by, WP_NAME_MAX, false, err)) != WP_OK ||
        (st = check_limit(limit, err)) != WP_OK)
        return st;
    want.after = wp__dead_first_place(filter);
    return run_queues(purged, store, &range, want, limit, err);
}

wp_status wp_dead_edit(int *edited, wp_store *store, wp_source source, const wp_id *id,
                       const char *payload, size_t payload_len, const char *by, wp_error **err)
{
    page_op op = {.change = EDIT, .limit = 1, .until_us = INT64_MAX, .by = by};
    const wp__queue *queue = wp__source_queue(source);
    wp_dead_filter *filter = NULL;
    bool more = false;
    wp_status st;
    if ((st = wp__store_check(store, err)) != WP_OK)
        return st;
    if (!queue || !id)
        return wp__fail(err, WP_E_ARGUMENT, queue ? "id is NULL" : "source is %d, not a queue",
                        (int)source);
    if ((st = wp__check_text(NULL, "by", by, WP_NAME_MAX, false, err)) != WP_OK ||
        (st = wp__message_check_payload(payload, payload_len, err)) != WP_OK ||
        (st = wp_dead_filter_new(&filter, err)) != WP_OK)
        return st;
    if ((st = wp_dead_filter_set_ids(filter, id, 1, err)) == WP_OK) {
        op.filter = filter;
        op.after = wp__dead_first_place(filter);
        op.payload = payload;
        op.payload_len = payload_len;
        st = run_page(&op, &more, store, NULL, queue, err);
    }
    if (st == WP_OK && edited)
        *edited = op.changed > 0;
    wp_dead_filter_free(filter);
    wp__log_pump(wp__store_log(store));
    return st;
}

wp_status wp_cleanup(size_t *removed, wp_store *store, wp_source source, int64_t older_than_ms,
                     wp_error **err)
{
    page_op want = {.change = CLEANUP, .after = {0, -1}};
    wp__queue_range range;
    wp_status st;
    if ((st = wp__dead_check_source(&range, store, source, err)) != WP_OK)
        return st;
    if (older_than_ms < 0 || older_than_ms > WP_TIME_US_MAX / 1000)
        return wp__fail(err, WP_E_RANGE, "older_than_ms is %lld, not in 0..%lld",
                        (long long)older_than_ms, (long long)(WP_TIME_US_MAX / 1000));
    want.delay_us = older_than_ms * 1000;
    return run_queues(removed, store, &range, want, INT64_MAX, err);
}
