/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that cannot be read, by the hand of someone else: each is failed by a statement of its own, so
 * that the others go on. Only engines whose columns take any value have that statement. */
#include <stdlib.h>

#include "base/log.h"
#include "db/store.h"
#include "queue/queue.h"

bool wp__aside_is_possible(const wp_op *op)
{
    return wp__op_has(op, wp__queue_sql_id(op->queue, WP__QUEUE_SET_ASIDE));
}

wp_status wp__aside_add(wp__aside *aside, int64_t seq, const char *column, wp_error **err)
{
    if (aside->count == aside->cap) {
        size_t cap = aside->cap ? aside->cap * 2 : 8;
        wp__odd_row *rows = realloc(aside->rows, cap * sizeof *rows);
        if (!rows)
            return wp__fail_nomem(err);
        aside->rows = rows;
        aside->cap = cap;
    }
    aside->rows[aside->count++] = (wp__odd_row){seq, column};
    return WP_OK;
}

bool wp__aside_use_next(wp__aside *aside, wp_op *op)
{
    const wp__odd_row *row;
    if (aside->done == aside->count)
        return false;
    row = &aside->rows[aside->done++];
    wp__buf_clear(&aside->reason);
    wp__buf_fmt(&aside->reason, "unreadable row: %s", row->column);
    wp__op_set_int(op, WP__P_NUMBER, row->seq);
    wp__op_set_textn(op, WP__P_REASON, aside->reason.data, aside->reason.len);
    wp__op_use_queue(op, WP__QUEUE_SET_ASIDE, 0);
    WP__LOG(wp__store_log(op->store), WP_LOG_ERROR, "unreadable row set aside",
            WP__F_TEXT("StoreId", wp_store_id(op->store)), WP__F_INT("Seq", row->seq),
            WP__F_TEXT("Column", row->column));
    return true;
}

void wp__aside_clear(wp__aside *aside)
{
    aside->count = 0;
    aside->done = 0;
}

void wp__aside_free(wp__aside *aside)
{
    free(aside->rows);
    wp__buf_free(&aside->reason);
}
