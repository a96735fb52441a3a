/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of timers, page by page. */
#include <stdlib.h>
#include <waypost/timer.h>

#include "base/text.h"
#include "db/store.h"
#include "queue/queue.h"

struct wp_timers {
    wp_outbox_info **items;
    size_t count;
};

typedef struct list_op {
    wp_op base;
    const char *correlation_id;
    int64_t after;
    int64_t limit;
    int step;
    wp_timers *timers;
} list_op;

static wp_status list_next(wp_op *op, wp_error **err)
{
    list_op *self = (list_op *)op;
    (void)err;
    if (self->step++ > 0)
        return WP_OK;
    wp__op_set_int(op, WP__P_NUMBER, self->after);
    wp__op_set_int(op, WP__P_BATCH, self->limit);
    wp__op_set_text(op, WP__P_CORRELATION_ID, self->correlation_id);
    wp__op_use(op, self->correlation_id ? WP__SQL_TIMER_LIST_CORRELATED : WP__SQL_TIMER_LIST,
               WP__INFO_COLUMNS);
    return WP_OK;
}

static wp_status list_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    const list_op *self = (list_op *)op;
    wp_timers *timers = self->timers;
    wp_status st;
    if (timers->count == (size_t)self->limit)
        return wp__fail(err, WP_E_INTERNAL, "a page of timers is longer than a page");
    if ((st = wp__info_new(&timers->items[timers->count], &wp__timer, columns, err)) == WP_OK)
        timers->count++;
    return st;
}

static void list_rewind(wp_op *op)
{
    list_op *self = (list_op *)op;
    self->step = 0;
    for (size_t i = 0; i < self->timers->count; i++)
        wp_outbox_info_free(self->timers->items[i]);
    self->timers->count = 0;
}

static const wp__op_class list_class = {
    .next = list_next, .row = list_row, .rewind = list_rewind, .single = true};

wp_status wp_timer_list(wp_timers **out, wp_store *store, const char *correlation_id,
                        const wp_outbox_info *after, int64_t limit, wp_error **err)
{
    list_op op = {.correlation_id = correlation_id, .limit = limit};
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (correlation_id && (st = wp__check_text(NULL, "correlation_id", correlation_id, WP_NAME_MAX,
                                                true, err)) != WP_OK))
        return st;
    if (limit < 1 || limit > WP_BATCH_MAX)
        return wp__fail(err, WP_E_RANGE, "limit is %lld, not in 1..%d", (long long)limit,
                        WP_BATCH_MAX);
    op.after = after ? wp_outbox_info_message(after)->seq : INT64_MIN;
    op.timers = calloc(1, sizeof *op.timers);
    if (op.timers)
        op.timers->items = calloc((size_t)limit, sizeof(wp_outbox_info *));
    if (!op.timers || !op.timers->items) {
        wp_timers_free(op.timers);
        return wp__fail_nomem(err);
    }
    wp__op_init(&op.base, &list_class, store);
    st = wp__store_run(store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    if (st == WP_OK)
        *out = op.timers;
    else
        wp_timers_free(op.timers);
    return st;
}

size_t wp_timers_count(const wp_timers *timers)
{
    return timers ? timers->count : 0;
}

const wp_outbox_info *wp_timers_at(const wp_timers *timers, size_t index)
{
    return timers && index < timers->count ? timers->items[index] : NULL;
}

void wp_timers_free(wp_timers *timers)
{
    if (!timers)
        return;
    for (size_t i = 0; i < timers->count; i++)
        wp_outbox_info_free(timers->items[i]);
    free(timers->items);
    free(timers);
}
