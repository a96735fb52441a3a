/* SPDX-License-Identifier: Apache-2.0 */
/* What became of claims: looked up where a change that was asked for changed nothing, and it may be
 * because it was made before. One read tells, and changes nothing itself. */
#include <stdlib.h>

#include "queue/queue.h"

static wp_status standing_next(wp_op *op, wp_error **err)
{
    wp__standing_op *self = (wp__standing_op *)op;
    if (self->step++ > 0 || self->refs.count == 0)
        return WP_OK;
    wp__buf_clear(&self->json);
    wp__refs_json(&self->json, &self->refs, 0, self->refs.count, self->base.engine);
    if (self->json.failed)
        return wp__fail_nomem(err);
    wp__op_set_textn(op, WP__P_CLAIMS, self->json.data, self->json.len);
    wp__op_use_queue(op, WP__QUEUE_FIND_STANDING, 3);
    return WP_OK;
}

static wp_status standing_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    wp__standing_op *self = (wp__standing_op *)op;
    int64_t seq = 0;
    int64_t status = 0;
    int64_t claim_number = 0;
    wp_status st;
    if ((st = wp__column_int(&seq, &columns[0], err)) != WP_OK ||
        (st = wp__column_int(&status, &columns[1], err)) != WP_OK ||
        (st = wp__column_int(&claim_number, &columns[2], err)) != WP_OK)
        return st;
    if (self->row_count == self->refs.count)
        return wp__fail(err, WP_E_INTERNAL, "more claims were found than were asked for");
    self->rows[self->row_count++] = (wp__standing_row){seq, claim_number, (int)status};
    return WP_OK;
}

static int compare_rows(const void *left, const void *right)
{
    const wp__standing_row *a = left;
    const wp__standing_row *b = right;
    return (a->seq > b->seq) - (a->seq < b->seq);
}

wp__standing wp__standing_op_of(wp__standing_op *op, const wp_received *message)
{
    const wp__standing_row key = {.seq = message->seq};
    const wp__standing_row *row;
    if (!op->row_count)
        return WP__GONE;
    if (!op->sorted)
        qsort(op->rows, op->row_count, sizeof key, compare_rows);
    op->sorted = true;
    row = bsearch(&key, op->rows, op->row_count, sizeof key, compare_rows);
    if (!row || row->claim_number < message->claim_number)
        return WP__GONE;
    if (row->claim_number > message->claim_number)
        return WP__GIVEN_BACK;
    return row->status == WP_MESSAGE_DONE          ? WP__DONE
           : row->status == WP_MESSAGE_FAILED      ? WP__FAILED
           : row->status == WP_MESSAGE_CANCELLED   ? WP__FAILED
           : row->status == WP_MESSAGE_IN_PROGRESS ? WP__HELD
                                                   : WP__GIVEN_BACK;
}

static void standing_rewind(wp_op *op)
{
    wp__standing_op *self = (wp__standing_op *)op;
    self->step = 0;
    self->row_count = 0;
}

static void standing_destroy(wp_op *op)
{
    wp__standing_op *self = (wp__standing_op *)op;
    wp__refs_free(&self->refs);
    wp__buf_free(&self->json);
    free(self->rows);
}

wp_status wp__standing_op_init(wp__standing_op *op, wp_store *store, const wp__queue *queue,
                               size_t max, wp_error **err)
{
    static const wp__op_class cls = {.next = standing_next,
                                     .row = standing_row,
                                     .rewind = standing_rewind,
                                     .destroy = standing_destroy,
                                     .single = true};
    *op = (wp__standing_op){0};
    wp__op_init(&op->base, &cls, store);
    op->base.queue = queue;
    op->rows = calloc(max, sizeof *op->rows);
    return op->rows ? WP_OK : wp__fail_nomem(err);
}
