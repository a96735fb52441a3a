/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters: filters, lists, replays and purges; and the cleanup of what is done. What changes many
 * goes page by page, each in a transaction of its own. */
#include "queue/dead.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/thread.h"
#include "db/store.h"

enum { PAGE = 1000, PAUSE_US = 2000 };

/* ---- filters ------------------------------------------------------------------------------ */

wp_status wp_dead_filter_new(wp_dead_filter **out, wp_error **err)
{
    wp_dead_filter *filter;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    filter = calloc(1, sizeof *filter);
    if (!filter)
        return wp__fail_nomem(err);
    filter->until_us = WP_TIME_US_MAX;
    *out = filter;
    return WP_OK;
}

void wp_dead_filter_free(wp_dead_filter *filter)
{
    if (!filter)
        return;
    free(filter->topic);
    free(filter->reason);
    free(filter->ids);
    free(filter);
}

static wp_status set_text(char **field, const wp_dead_filter *filter, const char *argument,
                          const char *text, size_t max, wp_error **err)
{
    char *copy = NULL;
    size_t len = 0;
    wp_status st;
    if (!filter)
        return wp__fail(err, WP_E_ARGUMENT, "filter is NULL");
    if ((st = wp__check_text(&len, argument, text, max, false, err)) != WP_OK)
        return st;
    if (len && !(copy = wp__text_dup(text)))
        return wp__fail_nomem(err);
    free(*field);
    *field = copy;
    return WP_OK;
}

wp_status wp_dead_filter_set_topic(wp_dead_filter *filter, const char *topic, wp_error **err)
{
    return set_text(filter ? &filter->topic : NULL, filter, "topic", topic, WP_NAME_MAX, err);
}

wp_status wp_dead_filter_set_reason(wp_dead_filter *filter, const char *reason, wp_error **err)
{
    return set_text(filter ? &filter->reason : NULL, filter, "reason", reason, WP_REASON_MAX, err);
}

wp_status wp_dead_filter_set_time_us(wp_dead_filter *filter, int64_t from_us, int64_t until_us,
                                     wp_error **err)
{
    if (!filter)
        return wp__fail(err, WP_E_ARGUMENT, "filter is NULL");
    if (from_us < 0 || until_us > WP_TIME_US_MAX || from_us > until_us)
        return wp__fail(err, WP_E_RANGE, "from_us %lld and until_us %lld are no range of time",
                        (long long)from_us, (long long)until_us);
    filter->from_us = from_us;
    filter->until_us = until_us;
    return WP_OK;
}

wp_status wp_dead_filter_set_ids(wp_dead_filter *filter, const wp_id *ids, size_t count,
                                 wp_error **err)
{
    wp__buf json = {0};
    char *text = NULL;
    if (!filter)
        return wp__fail(err, WP_E_ARGUMENT, "filter is NULL");
    if (count && !ids)
        return wp__fail(err, WP_E_ARGUMENT, "ids is NULL");
    if (count > WP_BATCH_MAX)
        return wp__fail(err, WP_E_RANGE, "count is %zu, more than %d", count, WP_BATCH_MAX);
    for (size_t i = 0; i < count; i++) {
        char hex[2 * sizeof ids->bytes + 1];
        wp__hex_encode(hex, ids[i].bytes, sizeof ids->bytes);
        wp__buf_fmt(&json, "%s\"%s\"%s", i ? "," : "[", hex, i + 1 == count ? "]" : "");
    }
    if (count && !(text = wp__buf_take(&json)))
        return wp__fail_nomem(err);
    free(filter->ids);
    filter->ids = text;
    return WP_OK;
}

/* Where to go on: behind this one. */
typedef struct place {
    int64_t died_us;
    int64_t seq;
} place;

static void use_filter(wp_op *op, const wp_dead_filter *filter, const place *after, int64_t limit)
{
    wp__op_set_text(op, WP__P_TOPIC, filter ? filter->topic : NULL);
    wp__op_set_text(op, WP__P_REASON, filter ? filter->reason : NULL);
    wp__op_set_text(op, WP__P_IDS, filter ? filter->ids : NULL);
    wp__op_set_int(op, WP__P_SINCE, after->died_us);
    wp__op_set_int(op, WP__P_NUMBER, after->seq);
    wp__op_set_int(op, WP__P_UNTIL, filter ? filter->until_us : INT64_MAX);
    wp__op_set_int(op, WP__P_BATCH, limit);
}

static place first_place(const wp_dead_filter *filter)
{
    return (place){filter ? filter->from_us : INT64_MIN, -1};
}

static wp_status check_source(const wp__queue **queue, const wp_store *store, wp_source source,
                              wp_error **err)
{
    wp_status st = wp__store_check(store, err);
    if (st != WP_OK)
        return st;
    *queue = wp__source_queue(source);
    if (!*queue)
        return wp__fail(err, WP_E_ARGUMENT, "source is %d, not one of wp_source", (int)source);
    return WP_OK;
}

/* ---- lists -------------------------------------------------------------------------------- */

struct wp_dead_list {
    wp_outbox_info **items;
    size_t count;
    size_t cap;
    place last;
};

typedef struct list_op {
    wp_op base;
    const wp_dead_filter *filter;
    place after;
    int64_t limit;
    int step;
    wp_dead_list *list;
} list_op;

static wp_status list_next(wp_op *op, wp_error **err)
{
    list_op *self = (list_op *)op;
    (void)err;
    if (self->step++ == 0) {
        use_filter(op, self->filter, &self->after, self->limit);
        wp__op_use_queue(op, WP__QUEUE_LIST_DEAD, WP__INFO_COLUMNS + op->queue->columns);
    }
    return WP_OK;
}

static wp_status list_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    wp_dead_list *list = ((list_op *)op)->list;
    wp_status st;
    if (list->count == list->cap)
        return wp__fail(err, WP_E_INTERNAL, "a page of dead letters is longer than a page");
    st = wp__info_new(&list->items[list->count], op->queue, columns, err);
    if (st != WP_OK)
        return st;
    list->last =
        (place){wp_outbox_info_finished_us(list->items[list->count]), columns[WP__COL_SEQ].i};
    list->count++;
    return WP_OK;
}

static void list_rewind(wp_op *op)
{
    wp_dead_list *list = ((list_op *)op)->list;
    ((list_op *)op)->step = 0;
    while (list->count)
        wp_outbox_info_free(list->items[--list->count]);
}

wp_status wp_dead_list_read(wp_dead_list **out, wp_store *store, wp_source source,
                            const wp_dead_filter *filter, const wp_dead_list *after, int64_t limit,
                            wp_error **err)
{
    static const wp__op_class cls = {
        .next = list_next, .row = list_row, .rewind = list_rewind, .single = true};
    list_op op = {.filter = filter, .limit = limit};
    const wp__queue *queue = NULL;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = check_source(&queue, store, source, err)) != WP_OK)
        return st;
    if (limit < 1 || limit > WP_DEAD_PAGE_MAX)
        return wp__fail(err, WP_E_RANGE, "limit is %lld, not in 1..%d", (long long)limit,
                        WP_DEAD_PAGE_MAX);
    op.after = after ? after->last : first_place(filter);
    op.list = calloc(1, sizeof *op.list);
    if (op.list)
        op.list->items = calloc((size_t)limit, sizeof(wp_outbox_info *));
    if (!op.list || !op.list->items) {
        wp_dead_list_free(op.list);
        return wp__fail_nomem(err);
    }
    op.list->cap = (size_t)limit;
    op.list->last = op.after;
    wp__op_init(&op.base, &cls, store);
    op.base.queue = queue;
    st = wp__store_run(store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    if (st != WP_OK) {
        wp_dead_list_free(op.list);
        return st;
    }
    *out = op.list;
    return WP_OK;
}

size_t wp_dead_list_count(const wp_dead_list *list)
{
    return list ? list->count : 0;
}

const wp_outbox_info *wp_dead_list_at(const wp_dead_list *list, size_t index)
{
    return list && index < list->count ? list->items[index] : NULL;
}

void wp_dead_list_free(wp_dead_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        wp_outbox_info_free(list->items[i]);
    free(list->items);
    free(list);
}

/* ---- pages that are changed --------------------------------------------------------------- */

typedef enum change { REPLAY, PURGE, CLEANUP } change;

enum { START, LAST, FIND, REPLAYING, FINISHED, MESSAGES, REPLAYED };

typedef struct page_op {
    wp_op base;
    change change;
    const wp_dead_filter *filter;
    place after; /* where the page begins */
    int64_t limit;
    int64_t delay_us; /* REPLAY: between two; CLEANUP: how old */
    int64_t before;   /* REPLAY: so many were replayed before */
    int64_t until_us; /* those that die later are left: INT64_MAX: to be found out first */
    const char *by;
    int step;
    int replay_step;
    wp__buf seqs; /* that were found */
    wp__buf gone; /* of them, removed */
    /* results */
    size_t found; /* rows met: fewer than `limit` at the end */
    size_t changed;
    place last;
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
    if (self->change != CLEANUP && self->until_us == INT64_MAX) {
        self->step = LAST;
        wp__op_use_queue(op, WP__QUEUE_LAST_DEAD, 1);
        return;
    }
    self->step = FIND;
    if (self->change == CLEANUP) {
        wp__op_set_int(op, WP__P_NUMBER, self->after.seq);
        wp__op_set_int(op, WP__P_BATCH, self->limit);
        wp__op_use_queue(op, WP__QUEUE_FIND_OLD, 3);
    } else {
        use_filter(op, self->filter, &self->after, self->limit);
        if (!self->filter || self->filter->until_us > self->until_us)
            wp__op_set_int(op, WP__P_UNTIL, self->until_us);
        wp__op_use_queue(op, WP__QUEUE_FIND_DEAD, 2);
    }
}

static wp_status page_next(wp_op *op, wp_error **err)
{
    page_op *self = (page_op *)op;
    wp_status st;
    if (self->step == START || self->step == LAST) {
        page_start(self);
        return WP_OK;
    }
    if (self->step == FIND) {
        if (!self->seqs.len)
            return WP_OK;
        if ((st = use_seqs(self, &self->seqs, err)) != WP_OK)
            return st;
        wp__op_set_text(op, WP__P_WORKER, self->by);
        wp__op_set_int(op, WP__P_COUNT_, self->before);
        wp__op_set_int(op, WP__P_STATUS,
                       self->change == PURGE ? WP_MESSAGE_FAILED : WP_MESSAGE_DONE);
        self->step = self->change == REPLAY ? REPLAYING : FINISHED;
        if (self->change != REPLAY) {
            wp__op_use_queue(op, WP__QUEUE_REMOVE_FINISHED, 1);
            return WP_OK;
        }
    }
    if (self->step == REPLAYING) {
        (void)wp__replay_use_next(op, &self->replay_step);
        return WP_OK;
    }
    if (self->step == FINISHED) {
        if (!self->gone.len)
            return WP_OK;
        if ((st = use_seqs(self, &self->gone, err)) != WP_OK)
            return st;
        self->step = MESSAGES;
        wp__op_use_queue(op, WP__QUEUE_REMOVE, 0);
    } else if (self->step == MESSAGES) {
        self->step = REPLAYED;
        wp__op_use_queue(op, WP__QUEUE_REMOVE_REPLAYED, 0);
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
    if (self->step == LAST)
        return wp__column_int_or(&self->until_us, &columns[0], INT64_MIN, err);
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

/* `want` says what to do; up to `limit` are changed. */
static wp_status run_pages(size_t *changed, wp_store *store, const wp__queue *queue, page_op want,
                           int64_t limit, wp_error **err)
{
    static const char *const sentences[] = {[REPLAY] = "replayed dead letters",
                                            [PURGE] = "purged dead letters",
                                            [CLEANUP] = "cleaned up"};
    size_t total = 0;
    bool more = true;
    wp_status st = WP_OK;
    while (st == WP_OK && more && (int64_t)total < limit) {
        page_op op = want;
        const int64_t left = limit - (int64_t)total;
        op.limit = left < PAGE ? left : PAGE;
        op.before = (int64_t)total;
        st = run_page(&op, &more, store, NULL, queue, err);
        if (st == WP_OK)
            total += op.changed;
        want.after = op.after;
        want.until_us = op.until_us;
        if (more && op.changed)
            wp__sleep_us(PAUSE_US); /* others want the tables, too */
    }
    if (total)
        WP__LOG(wp__store_log(store), WP_LOG_INFO, sentences[want.change],
                WP__F_TEXT("StoreId", wp_store_id(store)), WP__F_TEXT("Queue", queue->name),
                WP__F_INT("Count", total), WP__F_TEXT("By", want.by));
    if (total && want.change == REPLAY)
        wp__store_announce(store);
    wp__log_pump(wp__store_log(store));
    if (changed)
        *changed = total;
    return st;
}

wp_status wp_dead_replay(size_t *replayed, wp_store *store, wp_source source,
                         const wp_dead_filter *filter, int64_t limit, int64_t per_second,
                         const char *by, wp_error **err)
{
    page_op want = {.change = REPLAY, .filter = filter, .by = by, .until_us = INT64_MAX};
    const wp__queue *queue = NULL;
    wp_status st;
    if ((st = check_source(&queue, store, source, err)) != WP_OK ||
        (st = wp__check_text(NULL, "by", by, WP_NAME_MAX, false, err)) != WP_OK)
        return st;
    if (limit < 1)
        return wp__fail(err, WP_E_RANGE, "limit is %lld, less than 1", (long long)limit);
    if (per_second < 0 || per_second > 1000000)
        return wp__fail(err, WP_E_RANGE, "per_second is %lld, not in 0..1000000",
                        (long long)per_second);
    want.delay_us = per_second ? 1000000 / per_second : 0;
    want.after = first_place(filter);
    return run_pages(replayed, store, queue, want, limit, err);
}

wp_status wp_dead_purge(size_t *purged, wp_store *store, wp_source source,
                        const wp_dead_filter *filter, int64_t limit, wp_error **err)
{
    page_op want = {.change = PURGE, .filter = filter, .until_us = INT64_MAX};
    const wp__queue *queue = NULL;
    wp_status st;
    if ((st = check_source(&queue, store, source, err)) != WP_OK)
        return st;
    if (limit < 1)
        return wp__fail(err, WP_E_RANGE, "limit is %lld, less than 1", (long long)limit);
    want.after = first_place(filter);
    return run_pages(purged, store, queue, want, limit, err);
}

wp_status wp_cleanup(size_t *removed, wp_store *store, wp_source source, int64_t older_than_ms,
                     wp_error **err)
{
    page_op want = {.change = CLEANUP, .after = {0, -1}};
    const wp__queue *queue = NULL;
    wp_status st;
    if ((st = check_source(&queue, store, source, err)) != WP_OK)
        return st;
    if (older_than_ms < 0 || older_than_ms > WP_TIME_US_MAX / 1000)
        return wp__fail(err, WP_E_RANGE, "older_than_ms is %lld, not in 0..%lld",
                        (long long)older_than_ms, (long long)(WP_TIME_US_MAX / 1000));
    want.delay_us = older_than_ms * 1000;
    return run_pages(removed, store, queue, want, INT64_MAX, err);
}
