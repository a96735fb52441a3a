/* SPDX-License-Identifier: Apache-2.0 */
/* After a claim whose outcome is unknown, because the connection died before the answer came: what
 * the database says is ours, and we do not hold, was never started and goes back at once. */
#include <stdlib.h>

#include "worker/worker.h"

typedef struct owned_op {
    wp_op base;
    const wp_id *owner;
    int step;
    wp__refs refs;
} owned_op;

static wp_status owned_next(wp_op *op, wp_error **err)
{
    owned_op *self = (owned_op *)op;
    (void)err;
    if (self->step++ == 0) {
        wp__op_set_id(op, WP__P_OWNER, self->owner);
        wp__op_use_queue(op, WP__QUEUE_FIND_OWNED, 2);
    }
    return WP_OK;
}

static wp_status owned_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    int64_t seq = 0;
    int64_t claim_number = 0;
    wp_status st;
    if ((st = wp__column_int(&seq, &columns[0], err)) != WP_OK ||
        (st = wp__column_int(&claim_number, &columns[1], err)) != WP_OK)
        return st;
    return wp__refs_add(&((owned_op *)op)->refs, seq, claim_number, 0, err);
}

static void owned_rewind(wp_op *op)
{
    ((owned_op *)op)->step = 0;
    ((owned_op *)op)->refs.count = 0;
}

static void owned_destroy(wp_op *op)
{
    wp__refs_free(&((owned_op *)op)->refs);
}

static const wp__op_class owned_class = {.next = owned_next,
                                         .row = owned_row,
                                         .rewind = owned_rewind,
                                         .destroy = owned_destroy,
                                         .single = true};

static bool list_holds(const wp__list *list, const wp__queue *queue, const wp__claim_ref *ref)
{
    for (const wp_delivery *d = list->first; d; d = d->next)
        if (d->group->lane->queue == queue && d->message->seq == ref->seq &&
            d->message->claim_number == ref->claim_number)
            return true;
    return false;
}

/* Leave those that the part does not hold. The pump alone claims and writes outcomes, so nothing is
 * on its way meanwhile. */
static void drop_held(wp__part *part, const wp__queue *queue, wp__refs *refs)
{
    size_t kept = 0;
    wp__mutex_lock(&part->worker->mutex);
    for (size_t i = 0; i < refs->count; i++) {
        const wp__claim_ref *ref = &refs->items[i];
        if (!list_holds(&part->ready, queue, ref) && !list_holds(&part->out, queue, ref) &&
            !list_holds(&part->finished, queue, ref))
            refs->items[kept++] = *ref;
    }
    wp__mutex_unlock(&part->worker->mutex);
    refs->count = kept;
}

static wp_status give_back(wp__part *part, const wp__queue *queue, wp__refs *refs, wp_error **err)
{
    wp__finish_op op;
    wp_status st;
    wp__finish_op_init(&op, part->store, queue, WP__FINISH_RELEASE, &part->owner);
    op.refs = *refs;
    *refs = (wp__refs){0};
    st = wp__conn_run(part->pump_conn, &op.base, err);
    if (st == WP_OK && op.base.result_count) {
        wp__part_count(part, WP_COUNTER_RELEASED, (int64_t)op.base.result_count);
        WP__LOG(part->worker->log, WP_LOG_INFO, "gave back what a lost connection had claimed",
                WP__F_TEXT("StoreId", part->id), WP__F_TEXT("WorkerId", part->worker->name),
                WP__F_INT("Count", op.base.result_count));
        wp__pump_work_made(part);
    }
    wp__op_fini(&op.base);
    return st;
}

static wp_status recover_queue(wp__part *part, const wp__queue *queue, wp_error **err)
{
    owned_op op = {.owner = &part->owner};
    wp_status st;
    wp__op_init(&op.base, &owned_class, part->store);
    op.base.queue = queue;
    st = wp__conn_run(part->pump_conn, &op.base, err);
    if (st == WP_OK)
        drop_held(part, queue, &op.refs);
    if (st == WP_OK && op.refs.count)
        st = give_back(part, queue, &op.refs, err);
    wp__op_fini(&op.base);
    return st;
}

wp_status wp__recover_claims(wp__part *part, wp_error **err)
{
    wp_status st = WP_OK;
    const wp__queue *last = NULL; /* a queue's lanes stand together */
    for (const wp__lane *lane = part->worker->lanes; lane && st == WP_OK; lane = lane->next) {
        if (lane->queue != last)
            st = recover_queue(part, lane->queue, err);
        last = lane->queue;
    }
    return st;
}
