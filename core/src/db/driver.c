/* SPDX-License-Identifier: Apache-2.0 */
/* Running operations on connections: transactions, and retries where they are ours. */
#include "db/driver.h"

#include <string.h>

#include "base/thread.h"
#include "db/store.h"

bool wp__conn_is_sound(wp_conn *conn)
{
    return conn && !conn->broken && !(conn->driver->gone && conn->driver->gone(conn));
}

static wp_status run_statements(wp_conn *conn, wp_op *op, wp_error **err)
{
    bool more = false;
    wp_status st;
    op->style = conn->driver->style;
    while ((st = wp__op_next(&more, op, err)) == WP_OK && more)
        if ((st = conn->driver->execute(conn, op, err)) != WP_OK)
            break;
    return st;
}

static wp_status run_in_transaction(wp_conn *conn, wp_op *op, wp_error **err)
{
    wp_status st;
    if (op->cls->single)
        return run_statements(conn, op, err);
    if ((st = conn->driver->begin(conn, op->cls->writes, err)) != WP_OK)
        return st;
    if ((st = run_statements(conn, op, err)) == WP_OK)
        st = conn->driver->commit(conn, err);
    if (st != WP_OK)
        conn->driver->rollback(conn);
    return st;
}

/* Full jitter between half and the whole of an exponential delay, at most 100 ms. */
static void back_off(int attempt)
{
    uint64_t ceiling = UINT64_C(500) << (attempt < 8 ? attempt : 8);
    wp__sleep_us((int64_t)(ceiling / 2 + wp__random() % (ceiling / 2)));
}

/* A unique violation that only means that another connection was faster, maybe one of ours that was
 * lost on the way (SQLSTATE 23505, and 23000 of the engines that do not tell them apart). */
static bool lost_race(const wp_op *op, const wp_error *err)
{
    const char *sqlstate = wp_error_sqlstate(err);
    return (op->cls->races || op->unsure) &&
           (strcmp(sqlstate, "23505") == 0 || strcmp(sqlstate, "23000") == 0);
}

wp_status wp__conn_run(wp_conn *conn, wp_op *op, wp_error **err)
{
    int64_t give_up;
    wp_status st;
    if (conn->lent)
        return run_statements(conn, op, err);
    give_up = wp__real_mono_us() + wp__store_busy_us(conn->store);
    if (conn->give_up_at && conn->give_up_at < give_up)
        give_up = conn->give_up_at;
    for (int attempt = 0;; attempt++) {
        wp_error *cause = NULL;
        bool again;
        st = run_in_transaction(conn, op, &cause);
        again = st != WP_OK && !conn->broken && (wp_error_retriable(cause) || lost_race(op, cause));
        /* A driver that waits for locks has used up the busy time by now; what comes back sooner, such
         * as a snapshot conflict or a deadlock, is worth some quick tries. */
        if (!again || attempt >= 20 || wp__real_mono_us() >= give_up) {
            if (st != WP_OK)
                wp__error_move(err, cause);
            return st;
        }
        wp_error_free(cause);
        wp__op_rewind(op);
        back_off(attempt);
    }
}

wp_status wp__conn_run_all(wp_conn *conn, wp_op *const *ops, size_t count, wp_error **err)
{
    wp_status st = conn->driver->begin(conn, true, err);
    if (st != WP_OK)
        return st;
    for (size_t i = 0; i < count && st == WP_OK; i++)
        st = run_statements(conn, ops[i], err);
    if (st == WP_OK)
        st = conn->driver->commit(conn, err);
    if (st != WP_OK)
        conn->driver->rollback(conn);
    return st;
}

/* Whether it makes a difference that its first try was lost with the connection. */
static bool minds_a_lost_try(const wp_op *op)
{
    return op->asks || (op->cls->writes && op->cls->single && !op->cls->checks);
}

wp_status wp__store_run(wp_store *store, wp_conn *conn, wp_op *op, wp_error **err)
{
    int64_t give_up;
    if (conn)
        return wp__conn_run(conn, op, err);
    give_up = wp__real_mono_us() + wp__store_busy_us(store);
    for (int attempt = 0;; attempt++) {
        wp_conn *pooled = NULL;
        wp_error *cause = NULL;
        wp_status st = wp__pool_take(&pooled, store, attempt > 0 || minds_a_lost_try(op), &cause);
        bool again = false;
        if (st == WP_OK) {
            st = wp__conn_run(pooled, op, &cause);
            /* The connection died. What may have been committed is run again only by an operation
             * that finds out. */
            again = st != WP_OK && pooled->broken && pooled->driver->alive &&
                    wp_error_retriable(cause) &&
                    (!wp_error_outcome_unknown(cause) || op->cls->checks);
            if (wp_error_outcome_unknown(cause))
                op->unsure = true;
            wp__pool_give(store, pooled);
        } else {
            again = attempt > 0 && wp_error_retriable(cause); /* it was there before */
        }
        if (!again || attempt >= 8 || wp__real_mono_us() >= give_up) {
            if (st != WP_OK && op->unsure) /* an earlier try may have been committed */
                wp__error_set_outcome_unknown(&cause);
            if (st != WP_OK)
                wp__error_move(err, cause);
            return st;
        }
        wp_error_free(cause);
        wp__op_rewind(op);
        back_off(attempt + 4);
    }
}
