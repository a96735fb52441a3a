/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of leases and of semaphores, by name. */
#include <stdlib.h>

#include "base/text.h"
#include "lease/lease.h"

enum { COL_NAME, COL_OWNER, COL_UNTIL, COL_LIMIT, COL_HOLDERS, COLUMNS };

typedef struct listed {
    char *name;
    char *owner;
    int64_t until_us, limit, holders;
} listed;

struct wp_leases {
    listed *items;
    size_t count;
};

typedef struct list_op {
    wp_op base;
    wp__sql_id statement;
    const char *after;
    int64_t limit;
    int step;
    wp_leases *list;
} list_op;

static wp_status list_next(wp_op *op, wp_error **err)
{
    list_op *self = (list_op *)op;
    (void)err;
    if (self->step++ == 0) {
        wp__op_set_now(op);
        wp__op_set_text(op, WP__P_AFTER, self->after);
        wp__op_set_int(op, WP__P_BATCH, self->limit);
        wp__op_use(op, self->statement, COLUMNS);
    }
    return WP_OK;
}

static wp_status list_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    wp_leases *list = ((list_op *)op)->list;
    listed *item = &list->items[list->count];
    wp_status st;
    if (list->count == (size_t)((list_op *)op)->limit)
        return wp__fail(err, WP_E_INTERNAL, "a page of leases is longer than a page");
    if (columns[COL_NAME].type != WP_VALUE_TEXT)
        return WP_OK;
    list->count++;
    *item = (listed){.name = wp__text_ndup(columns[COL_NAME].p, columns[COL_NAME].len)};
    if (columns[COL_OWNER].type == WP_VALUE_TEXT)
        item->owner = wp__text_ndup(columns[COL_OWNER].p, columns[COL_OWNER].len);
    if (!item->name || (columns[COL_OWNER].type == WP_VALUE_TEXT && !item->owner))
        return wp__fail_nomem(err);
    if ((st = wp__column_int(&item->until_us, &columns[COL_UNTIL], err)) != WP_OK ||
        (st = wp__column_int(&item->limit, &columns[COL_LIMIT], err)) != WP_OK)
        return st;
    return wp__column_int(&item->holders, &columns[COL_HOLDERS], err);
}

static void clear(wp_leases *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        free(list->items[i].owner);
    }
    list->count = 0;
}

static void list_rewind(wp_op *op)
{
    ((list_op *)op)->step = 0;
    clear(((list_op *)op)->list);
}

wp_status wp_lease_list(wp_leases **out, wp_store *store, wp_lease_kind kind, const char *after,
                        int64_t limit, wp_error **err)
{
    static const wp__op_class cls = {
        .next = list_next, .row = list_row, .rewind = list_rewind, .single = true};
    list_op op = {.statement =
                      kind == WP_LEASE_SHARED ? WP__SQL_SEMAPHORE_LIST : WP__SQL_LEASE_LIST,
                  .after = after ? after : "",
                  .limit = limit};
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (st = wp__check_text(NULL, "after", after, WP_NAME_MAX, false, err)) != WP_OK)
        return st;
    if (kind != WP_LEASE_SHARED && kind != WP_LEASE_EXCLUSIVE)
        return wp__fail(err, WP_E_ARGUMENT, "kind is %d", (int)kind);
    if (limit < 1 || limit > WP_BATCH_MAX)
        return wp__fail(err, WP_E_RANGE, "limit is %lld, not in 1..%d", (long long)limit,
                        WP_BATCH_MAX);
    op.list = calloc(1, sizeof *op.list);
    if (!op.list || !(op.list->items = calloc((size_t)limit, sizeof *op.list->items))) {
        wp_leases_free(op.list);
        return wp__fail_nomem(err);
    }
    wp__op_init(&op.base, &cls, store);
    st = wp__store_run(store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    if (st == WP_OK)
        *out = op.list;
    else
        wp_leases_free(op.list);
    wp__log_pump(wp__store_log(store));
    return st;
}

size_t wp_leases_count(const wp_leases *list)
{
    return list ? list->count : 0;
}

static const listed *at(const wp_leases *list, size_t index)
{
    return index < wp_leases_count(list) ? &list->items[index] : NULL;
}

const char *wp_leases_name(const wp_leases *list, size_t index)
{
    const listed *item = at(list, index);
    return item ? item->name : NULL;
}

const char *wp_leases_owner(const wp_leases *list, size_t index)
{
    const listed *item = at(list, index);
    return item ? item->owner : NULL;
}

int64_t wp_leases_until_us(const wp_leases *list, size_t index)
{
    const listed *item = at(list, index);
    return item ? item->until_us : 0;
}

int64_t wp_leases_limit(const wp_leases *list, size_t index)
{
    const listed *item = at(list, index);
    return item ? item->limit : 0;
}

int64_t wp_leases_holders(const wp_leases *list, size_t index)
{
    const listed *item = at(list, index);
    return item ? item->holders : 0;
}

void wp_leases_free(wp_leases *list)
{
    if (!list)
        return;
    clear(list);
    free(list->items);
    free(list);
}
