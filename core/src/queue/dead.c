/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters: filters and lists. */
#include "queue/dead.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/store.h"

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
                          const char *text, size_t max, bool full, wp_error **err)
{
    char *copy = NULL;
    size_t len = 0;
    wp_status st;
    if (!filter)
        return wp__fail(err, WP_E_ARGUMENT, "filter is NULL");
    if ((st = wp__check_text(&len, argument, text, max, full, err)) != WP_OK)
        return st;
    if (len && !(copy = wp__text_dup(text)))
        return wp__fail_nomem(err);
    free(*field);
    *field = copy;
    return WP_OK;
}

wp_status wp_dead_filter_set_topic(wp_dead_filter *filter, const char *topic, wp_error **err)
{
    return set_text(filter ? &filter->topic : NULL, filter, "topic", topic, WP_NAME_MAX,
                    topic != NULL, err);
}

wp_status wp_dead_filter_set_reason(wp_dead_filter *filter, const char *reason, wp_error **err)
{
    return set_text(filter ? &filter->reason : NULL, filter, "reason", reason, WP_REASON_MAX, false,
                    err);
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
    filter->one[0] = '\0';
    if (count == 1)
        wp_id_format(filter->one, ids);
    return WP_OK;
}

void wp__dead_use_filter(wp_op *op, const wp_dead_filter *filter, const wp__dead_place *after,
                         int64_t limit)
{
    wp__op_set_text(op, WP__P_TOPIC, filter ? filter->topic : NULL);
    wp__op_set_text(op, WP__P_REASON, filter ? filter->reason : NULL);
    wp__op_set_text(op, WP__P_IDS, filter ? filter->ids : NULL);
    wp__op_set_int(op, WP__P_SINCE, after->died_us);
    wp__op_set_int(op, WP__P_NUMBER, after->seq);
    wp__op_set_int(op, WP__P_UNTIL, filter ? filter->until_us : INT64_MAX);
    wp__op_set_int(op, WP__P_BATCH, limit);
}

wp__dead_place wp__dead_first_place(const wp_dead_filter *filter)
{
    return (wp__dead_place){filter ? filter->from_us : INT64_MIN, -1};
}

wp_status wp__dead_check_source(wp__queue_range *range, const wp_store *store, wp_source source,
                                wp_error **err)
{
    const wp__queue *queue = wp__source_queue(source);
    wp_status st = wp__store_check(store, err);
    if (st != WP_OK)
        return st;
    if (!queue && source != WP_SOURCE_ALL)
        return wp__fail(err, WP_E_ARGUMENT, "source is %d, not one of wp_source", (int)source);
    range->from = queue ? wp__queue_index(queue) : 0;
    range->to = queue ? range->from + 1 : WP__QUEUES;
    return WP_OK;
}

/* ---- lists -------------------------------------------------------------------------------- */

struct wp_dead_list {
    wp_outbox_info **items;
    size_t count;
    size_t cap;
    wp__dead_place last[WP__QUEUES]; /* how far this and the pages before came in each queue */
};

/* Reads a page of each queue, and keeps what died first. */
typedef struct list_op {
    wp_op base;
    const wp_dead_filter *filter;
    wp__queue_range range;
    wp__dead_place after[WP__QUEUES];
    int64_t limit;
    bool payloads;
    size_t at; /* the queue to read next */
    wp_dead_list *list;
} list_op;

static size_t queue_of(const wp_outbox_info *info)
{
    return wp__queue_index(wp__source_queue(wp_outbox_info_source(info)));
}

static wp__dead_place place_of(const wp_outbox_info *info)
{
    return (wp__dead_place){wp_outbox_info_finished_us(info), wp_outbox_info_message(info)->seq};
}

/* By when they died, then by queue and number. */
static int compare_infos(const void *left, const void *right)
{
    const wp_outbox_info *const *a = left;
    const wp_outbox_info *const *b = right;
    const wp__dead_place x = place_of(*a);
    const wp__dead_place y = place_of(*b);
    int order = (x.died_us > y.died_us) - (x.died_us < y.died_us);
    if (order == 0)
        order = (queue_of(*a) > queue_of(*b)) - (queue_of(*a) < queue_of(*b));
    return order ? order : (x.seq > y.seq) - (x.seq < y.seq);
}

/* Keep the first of what is there, in order. */
static void trim(wp_dead_list *list, size_t limit)
{
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, compare_infos);
    while (list->count > limit)
        wp_outbox_info_free(list->items[--list->count]);
}

static wp_status list_next(wp_op *op, wp_error **err)
{
    list_op *self = (list_op *)op;
    wp_dead_list *list = self->list;
    (void)err;
    if (self->at > self->range.from)
        trim(list, (size_t)self->limit);
    if (self->at == self->range.to) {
        for (size_t i = 0; i < list->count; i++)
            list->last[queue_of(list->items[i])] = place_of(list->items[i]);
        return WP_OK;
    }
    op->queue = wp__queues[self->at];
    wp__dead_use_filter(op, self->filter, &self->after[self->at], self->limit);
    if (list->count == (size_t)self->limit) /* the page is full: only what died before its end */
        wp__op_set_int(op, WP__P_UNTIL, place_of(list->items[list->count - 1]).died_us);
    wp__op_set_int(op, WP__P_PAYLOADS, self->payloads);
    wp__op_use_queue(op, WP__QUEUE_LIST_DEAD, WP__INFO_COLUMNS + op->queue->columns + 1);
    self->at++;
    return WP_OK;
}

static wp_status list_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    wp_dead_list *list = ((list_op *)op)->list;
    wp_status st;
    if (list->count == list->cap)
        return wp__fail(err, WP_E_INTERNAL, "a page of dead letters is longer than a page");
    st = wp__info_new(&list->items[list->count], op->queue, columns,
                      &columns[WP__INFO_COLUMNS + op->queue->columns], err);
    if (st == WP_OK)
        list->count++;
    return st;
}

static void list_rewind(wp_op *op)
{
    list_op *self = (list_op *)op;
    self->at = self->range.from;
    trim(self->list, 0);
}

static wp_status list_new(wp_dead_list **out, size_t cap, wp_error **err)
{
    wp_dead_list *list = calloc(1, sizeof *list);
    if (list)
        list->items = calloc(cap, sizeof(wp_outbox_info *));
    if (!list || !list->items) {
        wp_dead_list_free(list);
        return wp__fail_nomem(err);
    }
    list->cap = cap;
    *out = list;
    return WP_OK;
}

static wp_status read_list(wp_dead_list **out, wp_store *store, wp_source source,
                           const wp_dead_filter *filter, const wp_dead_list *after, int64_t limit,
                           bool payloads, wp_error **err)
{
    static const wp__op_class one = {
        .next = list_next, .row = list_row, .rewind = list_rewind, .single = true};
    static const wp__op_class all = {.next = list_next, .row = list_row, .rewind = list_rewind};
    list_op op = {.filter = filter, .limit = limit, .payloads = payloads};
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__dead_check_source(&op.range, store, source, err)) != WP_OK)
        return st;
    if (limit < 1 || limit > WP_DEAD_PAGE_MAX)
        return wp__fail(err, WP_E_RANGE, "limit is %lld, not in 1..%d", (long long)limit,
                        WP_DEAD_PAGE_MAX);
    if ((st = list_new(&op.list, 2 * (size_t)limit, err)) != WP_OK)
        return st;
    for (size_t i = 0; i < WP__QUEUES; i++)
        op.after[i] = op.list->last[i] = after ? after->last[i] : wp__dead_first_place(filter);
    op.at = op.range.from;
    wp__op_init(&op.base, source == WP_SOURCE_ALL ? &all : &one, store);
    st = wp__store_run(store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    if (st != WP_OK) {
        wp_dead_list_free(op.list);
        return st;
    }
    *out = op.list;
    return WP_OK;
}

wp_status wp_dead_list_read(wp_dead_list **out, wp_store *store, wp_source source,
                            const wp_dead_filter *filter, const wp_dead_list *after, int64_t limit,
                            wp_error **err)
{
    return read_list(out, store, source, filter, after, limit, true, err);
}

wp_status wp_dead_list_read_brief(wp_dead_list **out, wp_store *store, wp_source source,
                                  const wp_dead_filter *filter, const wp_dead_list *after,
                                  int64_t limit, wp_error **err)
{
    return read_list(out, store, source, filter, after, limit, false, err);
}

void wp__dead_list_write_place(wp__buf *out, const wp_dead_list *list)
{
    for (size_t i = 0; i < WP__QUEUES; i++)
        wp__buf_fmt(out, "%s%lld.%lld", i ? "_" : "", (long long)list->last[i].died_us,
                    (long long)list->last[i].seq);
}

wp_status wp__dead_list_at_place(wp_dead_list **out, const char *text, wp_error **err)
{
    wp_dead_list *list = NULL;
    wp_status st = list_new(&list, 1, err);
    if (st != WP_OK)
        return st;
    for (size_t i = 0; i < WP__QUEUES && st == WP_OK; i++) {
        char *end = NULL;
        list->last[i].died_us = strtoll(text, &end, 10);
        if (*end != '.') {
            st = wp__fail(err, WP_E_ARGUMENT, "\"after\" is no place in a list of dead letters");
            break;
        }
        list->last[i].seq = strtoll(end + 1, &end, 10);
        if (*end != (i + 1 < WP__QUEUES ? '_' : '\0'))
            st = wp__fail(err, WP_E_ARGUMENT, "\"after\" is no place in a list of dead letters");
        text = end + 1;
    }
    if (st == WP_OK)
        *out = list;
    else
        wp_dead_list_free(list);
    return st;
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
