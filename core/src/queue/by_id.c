/* SPDX-License-Identifier: Apache-2.0 */
/* Ack, abandon, fail, release and renew as callers ask for them: by id, checked, in a transaction of
 * ours or the app's, or as an operation for a host. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/store.h"
#include "queue/queue.h"

static wp_status check_lengths(wp__finish_kind kind, const wp__finish_request *r, wp_error **err)
{
    if (kind == WP__FINISH_RETRY && (r->delay_ms < 0 || r->delay_ms > WP_DELAY_MS_MAX))
        return wp__fail(err, WP_E_RANGE, "delay_ms is %lld, not in 0..%lld", (long long)r->delay_ms,
                        (long long)WP_DELAY_MS_MAX);
    if (kind == WP__FINISH_RENEW && (r->lease_ms < 1 || r->lease_ms > WP_LEASE_MS_MAX))
        return wp__fail(err, WP_E_RANGE, "lease_ms is %lld, not in 1..%d", (long long)r->lease_ms,
                        WP_LEASE_MS_MAX);
    return WP_OK;
}

static wp_status check(const wp_store *store, const wp_conn *conn, wp__finish_kind kind,
                       const wp__finish_request *r, wp_error **err)
{
    static const wp_id none;
    wp_status st;
    if ((st = check_lengths(kind, r, err)) != WP_OK ||
        (st = wp__store_check_conn(store, conn, err)) != WP_OK)
        return st;
    if (!r->owner || memcmp(r->owner, &none, sizeof none) == 0)
        return wp__fail(err, WP_E_ARGUMENT, "owner is %s", r->owner ? "empty" : "NULL");
    if (!r->ids)
        return wp__fail(err, WP_E_ARGUMENT, "ids is NULL");
    if (r->count > WP_BATCH_MAX)
        return wp__fail(err, WP_E_RANGE, "count is %zu, more than %d", r->count, WP_BATCH_MAX);
    for (size_t i = 0; r->claims && i < r->count; i++)
        if (r->claims[i] < 1)
            return wp__fail(err, WP_E_RANGE, "claims[%zu] is %lld: claim numbers begin at 1", i,
                            (long long)r->claims[i]);
    return wp__check_text(NULL, "worker", r->worker, WP_NAME_MAX, false, err);
}

/* Make the operation of a request that was checked; its reason is cleaned. wp__op_fini() it, also when
 * this fails. */
static wp_status fill(wp__finish_op *op, wp_store *store, const wp__queue *queue,
                      wp__finish_kind kind, const wp__finish_request *r, wp_error **err)
{
    bool failed = false;
    wp__finish_op_init_by_ids(op, store, queue, kind, r->owner);
    op->ids = r->ids;
    op->claims = r->claims;
    op->id_count = r->count;
    op->worker = r->worker;
    op->delay_us = r->delay_ms * 1000;
    op->lease_us = r->lease_ms * 1000;
    op->owned[0] = wp__text_clean(r->reason, WP_REASON_MAX, &failed);
    op->reason = op->owned[0];
    return failed ? wp__fail_nomem(err) : WP_OK;
}

wp_status wp__queue_finish(size_t *changed, wp_store *store, wp_conn *conn, const wp__queue *queue,
                           wp__finish_kind kind, const wp__finish_request *request, wp_error **err)
{
    wp__finish_op op;
    size_t count = 0;
    wp_status st = check(store, conn, kind, request, err);
    if (st != WP_OK)
        return st;
    st = fill(&op, store, queue, kind, request, err);
    op.announces = conn != NULL;
    if (st == WP_OK && request->count) {
        st = wp__store_run(store, conn, &op.base, err);
        count = op.base.result_count;
    }
    wp__op_fini(&op.base);
    if (st == WP_OK && changed)
        *changed = count;
    if (st == WP_OK && !conn && count)
        wp__store_announce(store);
    wp__log_pump(wp__store_log(store));
    return st;
}

/* Copies of what the host gave, since the operation outlives the call. */
static wp_status own_arguments(wp__finish_op *op, wp_error **err)
{
    const size_t count = op->id_count;
    op->owned[1] = wp__text_ndup((const char *)op->ids, count * sizeof *op->ids);
    op->owned[2] =
        op->claims ? wp__text_ndup((const char *)op->claims, count * sizeof *op->claims) : NULL;
    op->owned[3] = wp__text_dup(op->worker);
    if (!op->owned[1] || (op->claims && !op->owned[2]) || (op->worker && !op->owned[3]))
        return wp__fail_nomem(err);
    op->ids = op->owned[1];
    op->claims = op->owned[2];
    op->worker = op->owned[3];
    return WP_OK;
}

wp_status wp__queue_finish_op(wp_op **out, wp_store *store, const wp__queue *queue,
                              wp__finish_kind kind, const wp__finish_request *request,
                              wp_error **err)
{
    wp__finish_op *op;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = check(store, NULL, kind, request, err)) != WP_OK)
        return st;
    op = calloc(1, sizeof *op);
    if (!op)
        return wp__fail_nomem(err);
    if ((st = fill(op, store, queue, kind, request, err)) != WP_OK ||
        (st = own_arguments(op, err)) != WP_OK) {
        wp_op_free(&op->base);
        return st;
    }
    op->announces = true;
    op->base.owns_store = true;
    wp__store_ref(store);
    *out = &op->base;
    return WP_OK;
}
