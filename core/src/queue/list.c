/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of what is not finished, page by page; and of timers, which are the same. */
#include <stdlib.h>
#include <waypost/timer.h>
#include <waypost/unfinished.h>

#include "base/text.h"
#include "db/store.h"
#include "queue/dead.h"

struct wp_unfinished {
    wp_outbox_info **items;
    size_t count;
};

typedef struct list_op {
    wp_op base;
    const char *topic;
    const char *correlation_id; /* of timers: also the finished ones that have it */
    int64_t after;
    int64_t limit;
    bool payloads;
    int step;
    wp_unfinished *page;
} list_op;

static wp_status list_next(wp_op *op, wp_error **err)
{
    list_op *self = (list_op *)op;
    (void)err;
    if (self->step++ > 0)
        return WP_OK;
    wp__op_set_int(op, WP__P_NUMBER, self->after);
    wp__op_set_int(op, WP__P_BATCH, self->limit);
    wp__op_set_int(op, WP__P_PAYLOADS, self->payloads);
    if (self->correlation_id) {
        wp__op_set_text(op, WP__P_CORRELATION_ID, self->correlation_id);
        wp__op_use(op, WP__SQL_TIMER_LIST_CORRELATED, WP__INFO_COLUMNS + 1);
        return WP_OK;
    }
    wp__op_set_text(op, WP__P_TOPIC, self->topic);
    wp__op_use_queue(op, WP__QUEUE_LIST_UNFINISHED, WP__INFO_COLUMNS + op->queue->columns + 1);
    return WP_OK;
}

static wp_status list_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    const list_op *self = (list_op *)op;
    wp_unfinished *page = self->page;
    wp_status st;
    if (page->count == (size_t)self->limit)
        return wp__fail(err, WP_E_INTERNAL, "a page of messages is longer than a page");
    if ((st = wp__info_new(&page->items[page->count], op->queue, columns,
                           &columns[WP__INFO_COLUMNS + op->queue->columns], err)) == WP_OK)
        page->count++;
    return st;
}

static void list_rewind(wp_op *op)
{
    list_op *self = (list_op *)op;
    self->step = 0;
    for (size_t i = 0; i < self->page->count; i++)
        wp_outbox_info_free(self->page->items[i]);
    self->page->count = 0;
}

static const wp__op_class list_class = {
    .next = list_next, .row = list_row, .rewind = list_rewind, .single = true};

static wp_status list(wp_unfinished **out, wp_store *store, const wp__queue *queue, list_op *op,
                      wp_error **err)
{
    wp_status st;
    if (op->limit < 1 || op->limit > WP_BATCH_MAX)
        return wp__fail(err, WP_E_RANGE, "limit is %lld, not in 1..%d", (long long)op->limit,
                        WP_BATCH_MAX);
    op->page = calloc(1, sizeof *op->page);
    if (op->page)
        op->page->items = calloc((size_t)op->limit, sizeof(wp_outbox_info *));
    if (!op->page || !op->page->items) {
        wp_unfinished_free(op->page);
        return wp__fail_nomem(err);
    }
    wp__op_init(&op->base, &list_class, store);
    op->base.queue = queue;
    st = wp__store_run(store, NULL, &op->base, err);
    wp__op_fini(&op->base);
    if (st == WP_OK)
        *out = op->page;
    else
        wp_unfinished_free(op->page);
    return st;
}

wp_status wp__unfinished_read(wp_unfinished **out, wp_store *store, const wp__queue *queue,
                              const char *topic, int64_t after, int64_t limit, wp_error **err)
{
    list_op op = {.topic = topic, .limit = limit, .after = after};
    return list(out, store, queue, &op, err);
}

static int64_t number_of(const wp_outbox_info *info)
{
    return info ? wp_outbox_info_message(info)->seq : INT64_MIN;
}

static wp_status read_unfinished(wp_unfinished **out, wp_store *store, wp_source source, list_op op,
                                 wp_error **err)
{
    const char *topic = op.topic;
    const wp__queue *queue = wp__source_queue(source);
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK)
        return st;
    if (!queue)
        return wp__fail(err, WP_E_ARGUMENT, "source is %d, not a queue", (int)source);
    if (topic && (st = wp__check_text(NULL, "topic", topic, WP_NAME_MAX, true, err)) != WP_OK)
        return st;
    return list(out, store, queue, &op, err);
}

wp_status wp_unfinished_read(wp_unfinished **out, wp_store *store, wp_source source,
                             const char *topic, const wp_outbox_info *after, int64_t limit,
                             wp_error **err)
{
    const list_op op = {
        .topic = topic, .limit = limit, .after = number_of(after), .payloads = true};
    return read_unfinished(out, store, source, op, err);
}

wp_status wp_unfinished_read_brief(wp_unfinished **out, wp_store *store, wp_source source,
                                   const char *topic, const wp_outbox_info *after, int64_t limit,
                                   wp_error **err)
{
    const list_op op = {.topic = topic, .limit = limit, .after = number_of(after)};
    return read_unfinished(out, store, source, op, err);
}

static wp_status read_timers(wp_timers **out, wp_store *store, list_op op, wp_error **err)
{
    const char *correlation_id = op.correlation_id;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (correlation_id && (st = wp__check_text(NULL, "correlation_id", correlation_id, WP_NAME_MAX,
                                                true, err)) != WP_OK))
        return st;
    return list(out, store, &wp__timer, &op, err);
}

wp_status wp_timer_list(wp_timers **out, wp_store *store, const char *correlation_id,
                        const wp_outbox_info *after, int64_t limit, wp_error **err)
{
    const list_op op = {.correlation_id = correlation_id,
                        .limit = limit,
                        .after = number_of(after),
                        .payloads = true};
    return read_timers(out, store, op, err);
}

wp_status wp_timer_list_brief(wp_timers **out, wp_store *store, const char *correlation_id,
                              const wp_outbox_info *after, int64_t limit, wp_error **err)
{
    const list_op op = {
        .correlation_id = correlation_id, .limit = limit, .after = number_of(after)};
    return read_timers(out, store, op, err);
}

size_t wp_unfinished_count(const wp_unfinished *page)
{
    return page ? page->count : 0;
}

const wp_outbox_info *wp_unfinished_at(const wp_unfinished *page, size_t index)
{
    return page && index < page->count ? page->items[index] : NULL;
}

void wp_unfinished_free(wp_unfinished *page)
{
    if (!page)
        return;
    for (size_t i = 0; i < page->count; i++)
        wp_outbox_info_free(page->items[i]);
    free(page->items);
    free(page);
}

size_t wp_timers_count(const wp_timers *timers)
{
    return wp_unfinished_count(timers);
}

const wp_outbox_info *wp_timers_at(const wp_timers *timers, size_t index)
{
    return wp_unfinished_at(timers, index);
}

void wp_timers_free(wp_timers *timers)
{
    wp_unfinished_free(timers);
}
