/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters made ready again: the statements that do it, for operations that have such a step. */
#include "queue/queue.h"

bool wp__replay_use_next(wp_op *op, int *step)
{
    static const wp__queue_sql steps[] = {WP__QUEUE_REPLAY, WP__QUEUE_REPLAY_NOTE,
                                          WP__QUEUE_REPLAY_END, WP__QUEUE_UNBLOCK};
    while (*step < (int)(sizeof steps / sizeof steps[0])) {
        const wp__queue_sql statement = steps[(*step)++];
        if (!wp__op_has(op, wp__queue_sql_id(op->queue, statement)))
            continue; /* the engine works out what is blocked when it claims */
        wp__op_use_queue(op, statement, statement == WP__QUEUE_REPLAY_END ? 1 : 0);
        return true;
    }
    return false;
}
