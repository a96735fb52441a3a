/* SPDX-License-Identifier: Apache-2.0 */
/* The audit: notes written, and listed. */
#include "queue/audit.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/store.h"
#include "queue/dead.h"
#include "queue/pause.h"

void wp__audit_use(wp_op *op, const char *action, const wp__queue *queue, const char *subject,
                   const char *by, const char *detail)
{
    wp__op_set_text(op, WP__P_ACTION, action);
    wp__op_set_text(op, WP__P_SOURCE, queue ? wp__queue_word(queue) : NULL);
    wp__op_set_text(op, WP__P_SUBJECT, subject);
    wp__op_set_text(op, WP__P_WORKER, by);
    wp__op_set_text(op, WP__P_DETAIL, detail);
    wp__op_set_now(op);
    wp__op_use(op, WP__SQL_AUDIT_ADD, 0);
}

enum { COL_SEQ, COL_AT, COL_ACTOR, COL_ACTION, COL_QUEUE, COL_SUBJECT, COL_DETAIL, COLUMNS };

/* The texts of a note. */
enum { ACTOR, ACTION, SUBJECT, DETAIL, TEXTS };

typedef struct note {
    int64_t seq;
    int64_t at_us;
    const wp__queue *queue;
    char *texts[TEXTS];
} note;

struct wp_audit {
    note *items;
    size_t count;
};

typedef struct read_op {
    wp_op base;
    int64_t before;
    int64_t limit;
    int step;
    wp_audit *page;
} read_op;

static wp_status read_next(wp_op *op, wp_error **err)
{
    read_op *self = (read_op *)op;
    (void)err;
    if (self->step++ == 0) {
        wp__op_set_int(op, WP__P_NUMBER, self->before);
        wp__op_set_int(op, WP__P_BATCH, self->limit);
        wp__op_use(op, WP__SQL_AUDIT_LIST, COLUMNS);
    }
    return WP_OK;
}

static wp_status read_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    static const int of_text[TEXTS] = {
        [ACTOR] = COL_ACTOR, [ACTION] = COL_ACTION, [SUBJECT] = COL_SUBJECT, [DETAIL] = COL_DETAIL};
    read_op *self = (read_op *)op;
    note *item;
    wp_status st;
    if (self->page->count == (size_t)self->limit)
        return wp__fail(err, WP_E_INTERNAL, "a page is longer than its limit");
    item = &self->page->items[self->page->count++];
    *item = (note){0};
    if ((st = wp__column_int(&item->seq, &columns[COL_SEQ], err)) != WP_OK ||
        (st = wp__column_int(&item->at_us, &columns[COL_AT], err)) != WP_OK)
        return st;
    if (columns[COL_QUEUE].type == WP_VALUE_TEXT)
        item->queue = wp__queue_of_word(columns[COL_QUEUE].p);
    for (size_t i = 0; i < TEXTS; i++) {
        const wp__value *text = &columns[of_text[i]];
        if (text->type == WP_VALUE_TEXT && !(item->texts[i] = wp__text_ndup(text->p, text->len)))
            return wp__fail_nomem(err);
    }
    return WP_OK;
}

static void clear(wp_audit *page)
{
    for (size_t i = 0; i < page->count; i++)
        for (size_t t = 0; t < TEXTS; t++)
            free(page->items[i].texts[t]);
    page->count = 0;
}

static void read_rewind(wp_op *op)
{
    ((read_op *)op)->step = 0;
    clear(((read_op *)op)->page);
}

wp_status wp_audit_read(wp_audit **out, wp_store *store, int64_t before, int64_t limit,
                        wp_error **err)
{
    static const wp__op_class cls = {
        .next = read_next, .row = read_row, .rewind = read_rewind, .single = true};
    read_op op = {.before = before ? before : INT64_MAX, .limit = limit};
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK)
        return st;
    if (limit < 1 || limit > WP_BATCH_MAX || before < 0)
        return wp__fail(err, WP_E_RANGE, "limit is %lld, before %lld: not in 1..%d and 0..",
                        (long long)limit, (long long)before, WP_BATCH_MAX);
    if (!(op.page = calloc(1, sizeof *op.page)) ||
        !(op.page->items = calloc((size_t)limit, sizeof *op.page->items))) {
        wp_audit_free(op.page);
        return wp__fail_nomem(err);
    }
    wp__op_init(&op.base, &cls, store);
    st = wp__store_run(store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    if (st == WP_OK)
        *out = op.page;
    else
        wp_audit_free(op.page);
    wp__log_pump(wp__store_log(store));
    return st;
}

size_t wp_audit_count(const wp_audit *page)
{
    return page ? page->count : 0;
}

int64_t wp_audit_number(const wp_audit *page, size_t index)
{
    return index < wp_audit_count(page) ? page->items[index].seq : 0;
}

int64_t wp_audit_at_us(const wp_audit *page, size_t index)
{
    return index < wp_audit_count(page) ? page->items[index].at_us : 0;
}

static const char *text_of(const wp_audit *page, size_t index, size_t text)
{
    return index < wp_audit_count(page) ? page->items[index].texts[text] : NULL;
}

const char *wp_audit_actor(const wp_audit *page, size_t index)
{
    return text_of(page, index, ACTOR);
}

const char *wp_audit_action(const wp_audit *page, size_t index)
{
    return text_of(page, index, ACTION);
}

wp_source wp_audit_source(const wp_audit *page, size_t index)
{
    return index < wp_audit_count(page) && page->items[index].queue
               ? wp__queue_source(page->items[index].queue)
               : WP_SOURCE_ALL;
}

const char *wp_audit_subject(const wp_audit *page, size_t index)
{
    return text_of(page, index, SUBJECT);
}

const char *wp_audit_detail(const wp_audit *page, size_t index)
{
    return text_of(page, index, DETAIL);
}

void wp_audit_free(wp_audit *page)
{
    if (!page)
        return;
    clear(page);
    free(page->items);
    free(page);
}
