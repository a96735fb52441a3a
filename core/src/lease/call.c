/* SPDX-License-Identifier: Apache-2.0 */
/* The operations on leases and semaphores, and the calls that run one. They differ in the statement,
 * and an acquire may take a few. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "lease/lease.h"

enum { START, EXPIRED, ACQUIRED, SETTLED, LOOKED, MADE, ASKED }; /* the last statement */
enum { TRIES_MAX = 20 };

/* Index: kind - 1. */
static const wp__sql_id statements[WP__LEASE_VERBS][2] = {
    [WP__LEASE_ACQUIRE] = {WP__SQL_LEASE_ACQUIRE, WP__SQL_SEMAPHORE_ACQUIRE},
    [WP__LEASE_RENEW] = {WP__SQL_LEASE_RENEW, WP__SQL_SEMAPHORE_RENEW},
    [WP__LEASE_RELEASE] = {WP__SQL_LEASE_RELEASE, WP__SQL_SEMAPHORE_RELEASE},
    [WP__LEASE_GET] = {WP__SQL_LEASE_GET, WP__SQL_SEMAPHORE_GET},
    [WP__LEASE_SET] = {WP__SQL_SEMAPHORE_SET, WP__SQL_SEMAPHORE_SET},
    [WP__LEASE_KEEP] = {WP__SQL_LEASE_KEEP, WP__SQL_SEMAPHORE_KEEP},
    [WP__LEASE_CLEAN] = {WP__SQL_LEASE_CLEAN, WP__SQL_SEMAPHORE_CLEAN},
};

static void use(wp__lease_op *self, int step, wp__sql_id statement, size_t columns)
{
    self->step = step;
    if (self->by_us)
        wp__op_set_now_at(&self->base, self->by_us);
    else
        wp__op_set_now(&self->base);
    wp__op_use(&self->base, statement, columns);
}

static void use_verb(wp__lease_op *self, wp__lease_verb verb, int step, size_t columns)
{
    use(self, step, statements[verb][self->kind - 1], columns);
}

/* {"fence":duration, ...} or [[fence,duration], ...], as the engine takes them */
static wp_status write_items(wp__lease_op *self, wp_error **err)
{
    const bool pairs = wp__store_engine(self->base.store)->claim_pairs;
    wp__buf_clear(&self->json);
    wp__buf_text(&self->json, pairs ? "[" : "{");
    for (size_t i = 0; i < self->item_count; i++) {
        wp__buf_text(&self->json, i ? "," : "");
        wp__buf_text(&self->json, pairs ? "[" : "\"");
        wp__buf_int(&self->json, self->items[i].fence);
        wp__buf_text(&self->json, pairs ? "," : "\":");
        wp__buf_int(&self->json, self->items[i].duration_us);
        wp__buf_text(&self->json, pairs ? "]" : "");
    }
    wp__buf_text(&self->json, pairs ? "]" : "}");
    if (self->json.failed)
        return wp__fail_nomem(err);
    wp__op_set_textn(&self->base, WP__P_LEASES, self->json.data, self->json.len);
    return WP_OK;
}

static void set_params(wp__lease_op *self)
{
    wp_op *op = &self->base;
    wp__op_set_text(op, WP__P_NAME, self->name);
    wp__op_set_text(op, WP__P_OWNER, self->owner);
    wp__op_set_int(op, WP__P_LEASE, self->duration_us);
    wp__op_set_int(op, WP__P_SLOTS, self->limit);
    wp__op_set_int(op, WP__P_DELAY, self->keep_us);
    wp__op_set_int(op, WP__P_BATCH, WP__LEASE_CLEAN_BATCH);
    if (self->fence)
        wp__op_set_int(op, WP__P_FENCE, self->fence);
    else
        wp__op_set_null(op, WP__P_FENCE);
}

static wp_status fail_unknown(const wp__lease_op *self, wp_error **err)
{
    if (self->kind == WP_LEASE_SHARED)
        return wp__fail(err, WP_E_NOT_FOUND, "there is no semaphore \"%s\": set its limit",
                        self->name);
    return wp__fail(err, WP_E_NOT_FOUND, "nobody has held the lease \"%s\" lately", self->name);
}

static wp_status fail_unsteady(const wp__lease_op *self, wp_error **err)
{
    return wp__fail_db(err, WP_E_UNAVAILABLE, NULL, 0, true,
                       "the lease \"%s\" changed hands too fast to tell whose it is", self->name);
}

/* An engine either tells whose it is with the acquire, or is asked; what became free meanwhile is
 * tried for again. */
static wp_status acquire_next(wp__lease_op *self, wp_error **err)
{
    wp_op *op = &self->base;
    bool shared = self->kind == WP_LEASE_SHARED;
    bool makes = !shared && wp__op_has(op, WP__SQL_LEASE_MAKE);
    bool told = self->step == LOOKED || (self->step == ACQUIRED && self->found);
    wp__sql_id settle = shared ? WP__SQL_SEMAPHORE_SETTLE : WP__SQL_LEASE_SETTLE;
    if (self->found && (self->info.granted || wp__lease_info_is_taken(&self->info)))
        return WP_OK;
    if (self->step == LOOKED && !self->found && shared)
        return fail_unknown(self, err);
    if (self->step == ACQUIRED && !self->found) {
        if (makes)
            use(self, MADE, WP__SQL_LEASE_MAKE, 0);
        else if (wp__op_has(op, settle)) /* the clock may have been ahead when it was given */
            use(self, SETTLED, settle, 0);
        else
            use_verb(self, WP__LEASE_GET, LOOKED, WP__LEASE_COLUMNS);
    } else if (self->step == SETTLED) {
        use_verb(self, WP__LEASE_GET, LOOKED, WP__LEASE_COLUMNS);
    } else if (told && self->tries >= TRIES_MAX) {
        return self->found ? WP_OK : fail_unsteady(self, err);
    } else if (self->step != EXPIRED && shared && wp__op_has(op, WP__SQL_SEMAPHORE_EXPIRE)) {
        use(self, EXPIRED, WP__SQL_SEMAPHORE_EXPIRE, 0);
    } else {
        self->tries++;
        self->found = false;
        use_verb(self, WP__LEASE_ACQUIRE, ACQUIRED, WP__LEASE_COLUMNS);
    }
    return WP_OK;
}

static wp_status other_next(wp__lease_op *self, wp_error **err)
{
    static const size_t columns[WP__LEASE_VERBS] = {[WP__LEASE_RENEW] = WP__LEASE_COLUMNS,
                                                    [WP__LEASE_RELEASE] = 1,
                                                    [WP__LEASE_GET] = WP__LEASE_COLUMNS,
                                                    [WP__LEASE_SET] = 0,
                                                    [WP__LEASE_KEEP] = 2,
                                                    [WP__LEASE_CLEAN] = 1};
    if (self->step == START) {
        use_verb(self, self->verb, ASKED, columns[self->verb]);
        return self->verb == WP__LEASE_KEEP ? write_items(self, err) : WP_OK;
    }
    if (self->verb == WP__LEASE_RENEW && !self->found)
        return wp__fail(err, WP_E_LEASE_LOST, "the %s \"%s\" was lost: nothing was changed",
                        wp__lease_noun(self->kind), self->name);
    return self->verb == WP__LEASE_GET && !self->found ? fail_unknown(self, err) : WP_OK;
}

static wp_status lease_next(wp_op *op, wp_error **err)
{
    wp__lease_op *self = (wp__lease_op *)op;
    if (self->step == START)
        set_params(self);
    return self->verb == WP__LEASE_ACQUIRE ? acquire_next(self, err) : other_next(self, err);
}

static int compare_fences(const void *left, const void *right)
{
    const wp__lease_item *a = left;
    const wp__lease_item *b = right;
    return (a->fence > b->fence) - (a->fence < b->fence);
}

static wp_status lease_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    wp__lease_op *self = (wp__lease_op *)op;
    wp__lease_item wanted = {0}, *item;
    int64_t kept = 0;
    wp_status st;
    op->result_count++;
    if (op->columns == WP__LEASE_COLUMNS) {
        self->found = true;
        st = wp__lease_info_read(&self->info, columns, err);
        self->info.poll_max_ms = wp__store_config(op->store)->lease_poll_ms;
        return st;
    }
    if (self->verb != WP__LEASE_KEEP)
        return WP_OK;
    if ((st = wp__column_int(&wanted.fence, &columns[0], err)) != WP_OK ||
        (st = wp__column_int(&kept, &columns[1], err)) != WP_OK)
        return st;
    item = bsearch(&wanted, self->items, self->item_count, sizeof wanted, compare_fences);
    if (item) {
        item->kept = kept != 0;
        item->locked = kept == 0;
    }
    return WP_OK;
}

static void lease_rewind(wp_op *op)
{
    wp__lease_op *self = (wp__lease_op *)op;
    self->step = START;
    self->tries = 0;
    self->found = false;
    for (size_t i = 0; i < self->item_count; i++)
        self->items[i].kept = self->items[i].locked = false;
}

static void lease_destroy(wp_op *op)
{
    wp__lease_op *self = (wp__lease_op *)op;
    wp__buf_free(&self->json);
    wp__lease_info_fini(&self->info);
    free(self->owned[0]);
    free(self->owned[1]);
}

/* Each operation may be run again, whether or not it had been committed. Each statement stands for
 * itself, but an engine that is told the time is told it when the transaction has the lock: else an acquire
 * that waited would be older than the release that it waited for. */
#define LEASE_CLASS                                                                                \
    .next = lease_next, .row = lease_row, .rewind = lease_rewind, .destroy = lease_destroy,        \
    .writes = true, .checks = true, .races = true
static const wp__op_class by_statement = {LEASE_CLASS, .single = true};
static const wp__op_class in_transaction = {LEASE_CLASS};

void wp__lease_op_init(wp__lease_op *op, wp_store *store, wp__lease_verb verb, wp_lease_kind kind)
{
    bool told = !wp__store_engine(store)->own_clock;
    *op = (wp__lease_op){.verb = verb, .kind = kind};
    wp__op_init(&op->base, told && verb == WP__LEASE_ACQUIRE ? &in_transaction : &by_statement,
                store);
}

/* ---- the public calls --------------------------------------------------------------------- */

const char *wp__lease_noun(wp_lease_kind kind)
{
    return kind == WP_LEASE_SHARED ? "slot of" : "lease";
}

wp_status wp__lease_check_kind(wp_lease_kind kind, wp_error **err)
{
    if (kind == WP_LEASE_EXCLUSIVE || kind == WP_LEASE_SHARED)
        return WP_OK;
    return wp__fail(err, WP_E_ARGUMENT, "kind is %d, not WP_LEASE_EXCLUSIVE or WP_LEASE_SHARED",
                    (int)kind);
}

wp_status wp__lease_check_name(const char *argument, const char *text, wp_error **err)
{
    return wp__check_text(NULL, argument, text, WP_NAME_MAX, true, err);
}

wp_status wp__lease_check_duration(int64_t duration_ms, int64_t min_ms, wp_error **err)
{
    if (duration_ms >= min_ms && duration_ms <= WP_LEASE_MS_MAX)
        return WP_OK;
    return wp__fail(err, WP_E_RANGE, "duration_ms is %lld, not in %lld..%d", (long long)duration_ms,
                    (long long)min_ms, WP_LEASE_MS_MAX);
}

static wp_status check_limit(int64_t limit, wp_error **err)
{
    if (limit >= 0 && limit <= WP_SEMAPHORE_LIMIT_MAX)
        return WP_OK;
    return wp__fail(err, WP_E_RANGE, "limit is %lld, not in 0..%d", (long long)limit,
                    WP_SEMAPHORE_LIMIT_MAX);
}

/* What the verb needs of the request is there and sound. */
static wp_status check_request(const wp__lease_op *request, int64_t duration_ms, wp_error **err)
{
    wp__lease_verb verb = request->verb;
    bool owned = verb == WP__LEASE_ACQUIRE || verb == WP__LEASE_RENEW || verb == WP__LEASE_RELEASE;
    bool timed = verb == WP__LEASE_ACQUIRE || verb == WP__LEASE_RENEW;
    wp_status st;
    if ((st = wp__lease_check_kind(request->kind, err)) != WP_OK ||
        (st = wp__lease_check_name("name", request->name, err)) != WP_OK ||
        (owned && (st = wp__lease_check_name("owner", request->owner, err)) != WP_OK) ||
        (timed && (st = wp__lease_check_duration(duration_ms, 1, err)) != WP_OK) ||
        (verb == WP__LEASE_SET && (st = check_limit(request->limit, err)) != WP_OK))
        return st;
    if (request->fence < 0)
        return wp__fail(err, WP_E_RANGE, "fence is %lld: fences begin at 1",
                        (long long)request->fence);
    return WP_OK;
}

/* Run a request at once. `out`: where its answer goes; `count`: how many rows it changed. */
static wp_status run_request(wp_lease_info **out, size_t *count, wp_store *store, wp_conn *conn,
                             const wp__lease_op *request, int64_t duration_ms, wp_error **err)
{
    wp__lease_op op;
    wp_status st;
    if ((st = wp__store_check_conn(store, conn, err)) != WP_OK ||
        (st = check_request(request, duration_ms, err)) != WP_OK)
        return st;
    wp__lease_op_init(&op, store, request->verb, request->kind);
    op.name = request->name;
    op.owner = request->owner;
    op.fence = request->fence;
    op.limit = request->limit;
    op.duration_us = duration_ms * 1000;
    op.base.asks =
        request->verb == WP__LEASE_RELEASE; /* what a lost try leaves undone is taken for done */
    st = wp__store_run(store, conn, &op.base, err);
    if (st == WP_OK && out)
        st = wp__lease_info_copy(out, &op.info, err);
    /* Nothing was left to do: an earlier try, whose answer was lost, had done it. */
    if (st == WP_OK && count)
        *count = op.base.result_count || op.base.unsure;
    wp__op_fini(&op.base);
    wp__log_pump(wp__store_log(store));
    return st;
}

static wp_status make_op(wp_op **out, wp_store *store, const wp__lease_op *request,
                         int64_t duration_ms, wp_error **err)
{
    wp__lease_op *op;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (st = check_request(request, duration_ms, err)) != WP_OK)
        return st;
    op = malloc(sizeof *op);
    if (!op)
        return wp__fail_nomem(err);
    wp__lease_op_init(op, store, request->verb, request->kind);
    op->fence = request->fence;
    op->limit = request->limit;
    op->duration_us = duration_ms * 1000;
    op->name = op->owned[0] = wp__text_dup(request->name);
    op->owner = op->owned[1] = wp__text_dup(request->owner);
    if (!op->name || (request->owner && !op->owner)) {
        lease_destroy(&op->base);
        free(op);
        return wp__fail_nomem(err);
    }
    op->base.owns_store = true;
    wp__store_ref(store);
    *out = &op->base;
    return WP_OK;
}

wp_status wp_lease_acquire(wp_lease_info **out, wp_store *store, wp_conn *conn, wp_lease_kind kind,
                           const char *name, const char *owner, int64_t duration_ms, wp_error **err)
{
    const wp__lease_op request = {
        .verb = WP__LEASE_ACQUIRE, .kind = kind, .name = name, .owner = owner};
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    return run_request(out, NULL, store, conn, &request, duration_ms, err);
}

wp_status wp_lease_renew(wp_lease_info **out, wp_store *store, wp_conn *conn, wp_lease_kind kind,
                         const char *name, const char *owner, int64_t fence, int64_t duration_ms,
                         wp_error **err)
{
    const wp__lease_op request = {
        .verb = WP__LEASE_RENEW, .kind = kind, .name = name, .owner = owner, .fence = fence};
    return run_request(out, NULL, store, conn, &request, duration_ms, err);
}

wp_status wp_lease_release(int *released, wp_store *store, wp_conn *conn, wp_lease_kind kind,
                           const char *name, const char *owner, int64_t fence, wp_error **err)
{
    const wp__lease_op request = {
        .verb = WP__LEASE_RELEASE, .kind = kind, .name = name, .owner = owner, .fence = fence};
    size_t count = 0;
    wp_status st = run_request(NULL, &count, store, conn, &request, 0, err);
    if (st == WP_OK && released)
        *released = count > 0;
    return st;
}

wp_status wp_lease_get(wp_lease_info **out, wp_store *store, wp_conn *conn, wp_lease_kind kind,
                       const char *name, wp_error **err)
{
    const wp__lease_op request = {.verb = WP__LEASE_GET, .kind = kind, .name = name};
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    return run_request(out, NULL, store, conn, &request, 0, err);
}

wp_status wp_semaphore_set_limit(wp_store *store, wp_conn *conn, const char *name, int64_t limit,
                                 wp_error **err)
{
    const wp__lease_op request = {
        .verb = WP__LEASE_SET, .kind = WP_LEASE_SHARED, .name = name, .limit = limit};
    return run_request(NULL, NULL, store, conn, &request, 0, err);
}

wp_status wp_lease_acquire_op(wp_op **out, wp_store *store, wp_lease_kind kind, const char *name,
                              const char *owner, int64_t duration_ms, wp_error **err)
{
    const wp__lease_op request = {
        .verb = WP__LEASE_ACQUIRE, .kind = kind, .name = name, .owner = owner};
    return make_op(out, store, &request, duration_ms, err);
}

wp_status wp_lease_renew_op(wp_op **out, wp_store *store, wp_lease_kind kind, const char *name,
                            const char *owner, int64_t fence, int64_t duration_ms, wp_error **err)
{
    const wp__lease_op request = {
        .verb = WP__LEASE_RENEW, .kind = kind, .name = name, .owner = owner, .fence = fence};
    return make_op(out, store, &request, duration_ms, err);
}

wp_status wp_lease_release_op(wp_op **out, wp_store *store, wp_lease_kind kind, const char *name,
                              const char *owner, int64_t fence, wp_error **err)
{
    const wp__lease_op request = {
        .verb = WP__LEASE_RELEASE, .kind = kind, .name = name, .owner = owner, .fence = fence};
    return make_op(out, store, &request, 0, err);
}

wp_status wp_lease_get_op(wp_op **out, wp_store *store, wp_lease_kind kind, const char *name,
                          wp_error **err)
{
    const wp__lease_op request = {.verb = WP__LEASE_GET, .kind = kind, .name = name};
    return make_op(out, store, &request, 0, err);
}

wp_status wp_semaphore_set_limit_op(wp_op **out, wp_store *store, const char *name, int64_t limit,
                                    wp_error **err)
{
    const wp__lease_op request = {
        .verb = WP__LEASE_SET, .kind = WP_LEASE_SHARED, .name = name, .limit = limit};
    return make_op(out, store, &request, 0, err);
}

wp_status wp_op_result_lease(wp_lease_info **out, const wp_op *op, wp_error **err)
{
    const wp__lease_op *self = (const wp__lease_op *)op;
    if (!out || !op)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", out ? "op" : "out");
    if (op->cls->next != lease_next || !op->finished || !self->found)
        return wp__fail(err, WP_E_STATE, "the operation is not finished, or has no such result");
    return wp__lease_info_copy(out, &self->info, err);
}

/* ---- cleaning ----------------------------------------------------------------------------- */

static wp_status clean(size_t *removed, wp_store *store, wp_lease_kind kind, int64_t keep_ms,
                       wp_error **err)
{
    size_t count;
    wp_status st;
    do {
        wp__lease_op op;
        wp__lease_op_init(&op, store, WP__LEASE_CLEAN, kind);
        op.keep_us = keep_ms * 1000;
        st = wp__store_run(store, NULL, &op.base, err);
        count = op.base.result_count;
        wp__op_fini(&op.base);
        *removed += count;
    } while (st == WP_OK && count >= WP__LEASE_CLEAN_BATCH);
    return st;
}

wp_status wp_lease_cleanup(size_t *removed, wp_store *store, int64_t keep_ms, wp_error **err)
{
    size_t count = 0;
    wp_status st;
    if (keep_ms < 0 || keep_ms > WP_DELAY_MS_MAX)
        return wp__fail(err, WP_E_RANGE, "keep_ms is %lld, not in 0..%lld", (long long)keep_ms,
                        (long long)WP_DELAY_MS_MAX);
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (st = clean(&count, store, WP_LEASE_EXCLUSIVE, keep_ms, err)) != WP_OK ||
        (st = clean(&count, store, WP_LEASE_SHARED, keep_ms, err)) != WP_OK)
        return st;
    if (removed)
        *removed = count;
    return WP_OK;
}
