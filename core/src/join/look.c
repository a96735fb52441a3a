/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at joins: one, lists of them, their members. */
#include <stdlib.h>

#include "base/text.h"
#include "db/store.h"
#include "join/join.h"

/* The columns of join_get and join_list. */
enum {
    COL_SEQ,
    COL_ID,
    COL_STATUS,
    COL_EXPECTED,
    COL_COMPLETED,
    COL_FAILED,
    COL_FAIL_IF_ANY,
    COL_GROUPING_KEY,
    COL_METADATA,
    COL_CREATED_AT,
    COL_DEADLINE_AT,
    COL_ENDED_AT,
    COL_REASON,
    COL_CONTINUATION,
    COLUMNS
};

struct wp_join_info {
    int64_t seq;
    wp_id id;
    int64_t status;
    int64_t expected;
    int64_t completed;
    int64_t failed;
    int64_t fail_if_any;
    char *grouping_key;
    char *metadata;
    int64_t created_us;
    int64_t deadline_us;
    int64_t ended_us;
    char *reason;
    bool has_continuation;
    wp_id continuation;
};

struct wp_joins {
    wp_join_info **items;
    size_t count;
};

/* ---- one ---------------------------------------------------------------------------------- */

static wp_status read_numbers(wp_join_info *info, const wp__value *c, wp_error **err)
{
    wp_status st;
    if ((st = wp__column_int(&info->seq, &c[COL_SEQ], err)) != WP_OK ||
        (st = wp__column_id(&info->id, &c[COL_ID], err)) != WP_OK ||
        (st = wp__column_int(&info->status, &c[COL_STATUS], err)) != WP_OK ||
        (st = wp__column_int(&info->expected, &c[COL_EXPECTED], err)) != WP_OK ||
        (st = wp__column_int(&info->completed, &c[COL_COMPLETED], err)) != WP_OK ||
        (st = wp__column_int(&info->failed, &c[COL_FAILED], err)) != WP_OK ||
        (st = wp__column_int(&info->fail_if_any, &c[COL_FAIL_IF_ANY], err)) != WP_OK ||
        (st = wp__column_int(&info->created_us, &c[COL_CREATED_AT], err)) != WP_OK ||
        (st = wp__column_int_or(&info->deadline_us, &c[COL_DEADLINE_AT], 0, err)) != WP_OK)
        return st;
    return wp__column_int_or(&info->ended_us, &c[COL_ENDED_AT], 0, err);
}

static wp_status read_text(char **out, const wp__value *value, wp_error **err)
{
    if (value->type != WP_VALUE_TEXT)
        return WP_OK;
    *out = wp__text_ndup(value->p, value->len);
    return *out ? WP_OK : wp__fail_nomem(err);
}

static wp_status info_new(wp_join_info **out, const wp__value *c, wp_error **err)
{
    wp_join_info *info = calloc(1, sizeof *info);
    wp_status st;
    if (!info)
        return wp__fail_nomem(err);
    info->has_continuation = c[COL_CONTINUATION].type != WP_VALUE_NULL;
    if ((st = read_numbers(info, c, err)) != WP_OK ||
        (st = read_text(&info->grouping_key, &c[COL_GROUPING_KEY], err)) != WP_OK ||
        (st = read_text(&info->metadata, &c[COL_METADATA], err)) != WP_OK ||
        (st = read_text(&info->reason, &c[COL_REASON], err)) != WP_OK ||
        (info->has_continuation &&
         (st = wp__column_id(&info->continuation, &c[COL_CONTINUATION], err)) != WP_OK)) {
        wp_join_info_free(info);
        return st;
    }
    *out = info;
    return WP_OK;
}

void wp_join_info_free(wp_join_info *info)
{
    if (!info)
        return;
    free(info->grouping_key);
    free(info->metadata);
    free(info->reason);
    free(info);
}

const wp_id *wp_join_info_id(const wp_join_info *info)
{
    return info ? &info->id : NULL;
}

wp_join_status wp_join_info_status(const wp_join_info *info)
{
    return info ? (wp_join_status)info->status : WP_JOIN_OPEN;
}

int64_t wp_join_info_expected(const wp_join_info *info)
{
    return info ? info->expected : 0;
}

int64_t wp_join_info_completed(const wp_join_info *info)
{
    return info ? info->completed : 0;
}

int64_t wp_join_info_failed(const wp_join_info *info)
{
    return info ? info->failed : 0;
}

int wp_join_info_fail_if_any(const wp_join_info *info)
{
    return info && info->fail_if_any;
}

const char *wp_join_info_grouping_key(const wp_join_info *info)
{
    return info ? info->grouping_key : NULL;
}

const char *wp_join_info_metadata(const wp_join_info *info)
{
    return info ? info->metadata : NULL;
}

int64_t wp_join_info_created_us(const wp_join_info *info)
{
    return info ? info->created_us : 0;
}

int64_t wp_join_info_deadline_us(const wp_join_info *info)
{
    return info ? info->deadline_us : 0;
}

int64_t wp_join_info_ended_us(const wp_join_info *info)
{
    return info ? info->ended_us : 0;
}

const char *wp_join_info_reason(const wp_join_info *info)
{
    return info ? info->reason : NULL;
}

const wp_id *wp_join_info_continuation(const wp_join_info *info)
{
    return info && info->has_continuation ? &info->continuation : NULL;
}

/* ---- lists -------------------------------------------------------------------------------- */

typedef struct list_op {
    wp_op base;
    const wp_id *id; /* one; NULL: a page */
    const char *grouping_key;
    int64_t after;
    int64_t limit;
    int step;
    wp_joins *joins;
} list_op;

static wp_status list_next(wp_op *op, wp_error **err)
{
    list_op *self = (list_op *)op;
    (void)err;
    if (self->step++ > 0)
        return WP_OK;
    wp__op_set_int(op, WP__P_NUMBER, self->after);
    wp__op_set_int(op, WP__P_BATCH, self->limit);
    wp__op_set_text(op, WP__P_NAME, self->grouping_key);
    if (self->id)
        wp__op_set_id(op, WP__P_ID, self->id);
    wp__op_use(op,
               self->id             ? WP__SQL_JOIN_GET
               : self->grouping_key ? WP__SQL_JOIN_LIST_OF
                                    : WP__SQL_JOIN_LIST,
               COLUMNS);
    return WP_OK;
}

static wp_status list_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    const list_op *self = (list_op *)op;
    wp_joins *joins = self->joins;
    wp_status st;
    if (joins->count == (size_t)self->limit)
        return wp__fail(err, WP_E_INTERNAL, "a page of joins is longer than a page");
    if ((st = info_new(&joins->items[joins->count], columns, err)) == WP_OK)
        joins->count++;
    return st;
}

static void list_rewind(wp_op *op)
{
    list_op *self = (list_op *)op;
    self->step = 0;
    while (self->joins->count)
        wp_join_info_free(self->joins->items[--self->joins->count]);
}

static wp_status list_run(wp_joins **out, wp_store *store, list_op *op, wp_error **err)
{
    static const wp__op_class cls = {
        .next = list_next, .row = list_row, .rewind = list_rewind, .single = true};
    wp_status st;
    op->joins = calloc(1, sizeof *op->joins);
    if (op->joins)
        op->joins->items = calloc((size_t)op->limit, sizeof(wp_join_info *));
    if (!op->joins || !op->joins->items) {
        wp_joins_free(op->joins);
        return wp__fail_nomem(err);
    }
    wp__op_init(&op->base, &cls, store);
    st = wp__store_run(store, NULL, &op->base, err);
    wp__op_fini(&op->base);
    if (st == WP_OK)
        *out = op->joins;
    else
        wp_joins_free(op->joins);
    return st;
}

static wp_status check_limit(int64_t limit, wp_error **err)
{
    if (limit < 1 || limit > WP_BATCH_MAX)
        return wp__fail(err, WP_E_RANGE, "limit is %lld, not in 1..%d", (long long)limit,
                        WP_BATCH_MAX);
    return WP_OK;
}

wp_status wp_join_get(wp_join_info **out, wp_store *store, const wp_id *id, wp_error **err)
{
    list_op op = {.id = id, .limit = 1};
    wp_joins *found = NULL;
    wp_status st;
    if (!out || !id)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", out ? "id" : "out");
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (st = list_run(&found, store, &op, err)) != WP_OK)
        return st;
    if (found->count) {
        *out = found->items[--found->count];
    } else {
        char text[37];
        wp_id_format(text, id);
        st = wp__fail(err, WP_E_NOT_FOUND, "there is no join %s", text);
    }
    wp_joins_free(found);
    return st;
}

wp_status wp_join_list(wp_joins **out, wp_store *store, const char *grouping_key,
                       const wp_join_info *after, int64_t limit, wp_error **err)
{
    list_op op = {.grouping_key = grouping_key, .limit = limit};
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK || (st = check_limit(limit, err)) != WP_OK ||
        (grouping_key && (st = wp__check_text(NULL, "grouping_key", grouping_key, WP_NAME_MAX, true,
                                              err)) != WP_OK))
        return st;
    op.after = after ? after->seq : INT64_MIN;
    return list_run(out, store, &op, err);
}

size_t wp_joins_count(const wp_joins *joins)
{
    return joins ? joins->count : 0;
}

const wp_join_info *wp_joins_at(const wp_joins *joins, size_t index)
{
    return joins && index < joins->count ? joins->items[index] : NULL;
}

void wp_joins_free(wp_joins *joins)
{
    if (!joins)
        return;
    for (size_t i = 0; i < joins->count; i++)
        wp_join_info_free(joins->items[i]);
    free(joins->items);
    free(joins);
}

/* ---- members ------------------------------------------------------------------------------ */

typedef struct member {
    wp_id id;
    int64_t status;
} member;

struct wp_join_members {
    member *items;
    size_t count;
    int64_t last; /* the number of the last one */
};

typedef struct members_op {
    wp_op base;
    wp_id join;
    int64_t after;
    int64_t limit;
    int step;
    wp_join_members *members;
} members_op;

static wp_status members_next(wp_op *op, wp_error **err)
{
    members_op *self = (members_op *)op;
    (void)err;
    if (self->step++ > 0)
        return WP_OK;
    wp__op_set_id(op, WP__P_ID, &self->join);
    wp__op_set_int(op, WP__P_NUMBER, self->after);
    wp__op_set_int(op, WP__P_BATCH, self->limit);
    wp__op_use(op, WP__SQL_JOIN_MEMBERS, 3);
    return WP_OK;
}

static wp_status members_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    const members_op *self = (members_op *)op;
    wp_join_members *members = self->members;
    member *next = &members->items[members->count];
    wp_status st;
    if (members->count == (size_t)self->limit)
        return wp__fail(err, WP_E_INTERNAL, "a page of members is longer than a page");
    if ((st = wp__column_int(&members->last, &columns[0], err)) != WP_OK ||
        (st = wp__column_id(&next->id, &columns[1], err)) != WP_OK ||
        (st = wp__column_int(&next->status, &columns[2], err)) != WP_OK)
        return st;
    members->count++;
    return WP_OK;
}

static void members_rewind(wp_op *op)
{
    ((members_op *)op)->step = 0;
    ((members_op *)op)->members->count = 0;
}

wp_status wp_join_members_list(wp_join_members **out, wp_store *store, const wp_id *join,
                               const wp_join_members *after, int64_t limit, wp_error **err)
{
    static const wp__op_class cls = {
        .next = members_next, .row = members_row, .rewind = members_rewind, .single = true};
    members_op op = {.after = after ? after->last : INT64_MIN, .limit = limit};
    wp_status st;
    if (!out || !join)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", out ? "join" : "out");
    if ((st = wp__store_check(store, err)) != WP_OK || (st = check_limit(limit, err)) != WP_OK)
        return st;
    op.join = *join;
    op.members = calloc(1, sizeof *op.members);
    if (op.members)
        op.members->items = calloc((size_t)limit, sizeof *op.members->items);
    if (!op.members || !op.members->items) {
        wp_join_members_free(op.members);
        return wp__fail_nomem(err);
    }
    op.members->last = op.after;
    wp__op_init(&op.base, &cls, store);
    st = wp__store_run(store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    if (st == WP_OK)
        *out = op.members;
    else
        wp_join_members_free(op.members);
    return st;
}

size_t wp_join_members_count(const wp_join_members *members)
{
    return members ? members->count : 0;
}

const wp_id *wp_join_members_id(const wp_join_members *members, size_t index)
{
    return members && index < members->count ? &members->items[index].id : NULL;
}

wp_join_member_status wp_join_members_status(const wp_join_members *members, size_t index)
{
    return members && index < members->count ? (wp_join_member_status)members->items[index].status
                                             : WP_JOIN_MEMBER_WAITING;
}

void wp_join_members_free(wp_join_members *members)
{
    if (!members)
        return;
    free(members->items);
    free(members);
}
