/* SPDX-License-Identifier: Apache-2.0 */
/* Runs as a queue: the public calls that every queue has, and what can be done to a run besides. */
#include <stdlib.h>

#include "base/text.h"
#include "db/store.h"
#include "job/job.h"
#include "queue/queue.h"

const wp__queue wp__job_run = {
    .name = "job runs", .first_sql = WP__SQL_FIRST_OF_JOB_RUN, .runs = true};

wp_status wp_job_run_claim(wp_claim **out, wp_store *store, const wp_id *owner,
                           const char *const *topics, size_t topic_count, int64_t batch,
                           int64_t lease_ms, wp_error **err)
{
    return wp__queue_claim(out, store, &wp__job_run, owner, topics, topic_count, batch, lease_ms,
                           err);
}

wp_status wp_job_run_ack(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                         const wp_id *ids, const int64_t *claims, size_t count, const char *worker,
                         wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .worker = worker};
    return wp__queue_finish(changed, store, conn, &wp__job_run, WP__FINISH_ACK, &r, err);
}

wp_status wp_job_run_ack_op(wp_op **out, wp_store *store, const wp_id *owner, const wp_id *ids,
                            const int64_t *claims, size_t count, const char *worker, wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .worker = worker};
    return wp__queue_finish_op(out, store, &wp__job_run, WP__FINISH_ACK, &r, err);
}

wp_status wp_job_run_abandon(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                             const wp_id *ids, const int64_t *claims, size_t count,
                             int64_t delay_ms, const char *reason, wp_error **err)
{
    const wp__finish_request r = {.owner = owner,
                                  .ids = ids,
                                  .claims = claims,
                                  .count = count,
                                  .delay_ms = delay_ms,
                                  .reason = reason};
    return wp__queue_finish(changed, store, conn, &wp__job_run, WP__FINISH_RETRY, &r, err);
}

wp_status wp_job_run_fail(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                          const wp_id *ids, const int64_t *claims, size_t count, const char *reason,
                          wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .reason = reason};
    return wp__queue_finish(changed, store, conn, &wp__job_run, WP__FINISH_FAIL, &r, err);
}

wp_status wp_job_run_release(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                             const wp_id *ids, const int64_t *claims, size_t count, wp_error **err)
{
    const wp__finish_request r = {.owner = owner, .ids = ids, .claims = claims, .count = count};
    return wp__queue_finish(changed, store, conn, &wp__job_run, WP__FINISH_RELEASE, &r, err);
}

wp_status wp_job_run_renew(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                           const wp_id *ids, const int64_t *claims, size_t count, int64_t lease_ms,
                           wp_error **err)
{
    const wp__finish_request r = {
        .owner = owner, .ids = ids, .claims = claims, .count = count, .lease_ms = lease_ms};
    return wp__queue_finish(changed, store, conn, &wp__job_run, WP__FINISH_RENEW, &r, err);
}

wp_status wp_job_run_reap(size_t *changed, wp_store *store, wp_error **err)
{
    return wp__queue_reap(changed, store, &wp__job_run, err);
}

wp_status wp_job_run_stats_read(wp_outbox_stats **out, wp_store *store, int finished,
                                wp_error **err)
{
    return wp__queue_stats(out, store, &wp__job_run, finished, err);
}

/* ---- a few statements ------------------------------------------------------------------- */

typedef struct run_op {
    wp_op base;
    wp__sql_id statements[3];
    size_t columns[3]; /* 0: there is no such statement */
    bool all; /* the others, too, for what the first one found; else only if it found nothing */
    int step;
    const wp_id *id;
    const char *seqs_given;
    int64_t delay_us;
    wp__buf seqs; /* of the rows, as a JSON array */
    bool closed;  /* the array is */
    size_t rows;
    void (*found)(void *user, int64_t seq);
    void *user;
} run_op;

enum { PURGE_PAGE = 1000 };

static wp_status run_next(wp_op *op, wp_error **err)
{
    run_op *self = (run_op *)op;
    int step = self->step++;
    if (step == 1 && self->all &&
        !wp__op_has(op, self->statements[1])) /* the one before has done it */
        step = self->step++;
    if (step == 0) {
        wp__op_set_now(op);
        if (self->id)
            wp__op_set_id(op, WP__P_ID, self->id);
        wp__op_set_text(op, WP__P_REASON, "cancelled");
        wp__op_set_text(op, WP__P_SEQS, self->seqs_given);
        wp__op_set_int(op, WP__P_DELAY, self->delay_us);
        wp__op_set_int(op, WP__P_BATCH, PURGE_PAGE);
    }
    if (step > 2 || !self->columns[step] || (step > 0 && self->all == (self->rows == 0)))
        return WP_OK;
    if (step > 0 && self->all && !self->closed) {
        self->closed = true;
        wp__buf_text(&self->seqs, "]");
        if (self->seqs.failed)
            return wp__fail_nomem(err);
        wp__op_set_text(op, WP__P_SEQS, self->seqs.data);
    }
    /* forgetting returns no rows */
    wp__op_use(op, self->statements[step], step > 0 && self->all ? 0 : 1);
    return WP_OK;
}

static wp_status run_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    run_op *self = (run_op *)op;
    int64_t seq = 0;
    wp_status st;
    if (columns[0].type == WP_VALUE_NULL)
        return wp__fail_triggers(err);
    if ((st = wp__column_int(&seq, &columns[0], err)) != WP_OK)
        return st;
    wp__buf_text(&self->seqs, self->rows++ ? "," : "[");
    wp__buf_int(&self->seqs, seq);
    if (self->found)
        self->found(self->user, seq);
    return WP_OK;
}

static void run_rewind(wp_op *op)
{
    run_op *self = (run_op *)op;
    self->step = 0;
    self->rows = 0;
    self->closed = false;
    wp__buf_clear(&self->seqs);
}

static void run_destroy(wp_op *op)
{
    wp__buf_free(&((run_op *)op)->seqs);
}

static const wp__op_class run_class = {
    .next = run_next, .row = run_row, .rewind = run_rewind, .destroy = run_destroy, .writes = true};
static const wp__op_class read_class = {
    .next = run_next, .row = run_row, .rewind = run_rewind, .destroy = run_destroy, .single = true};

wp_status wp_job_run_cancel(int *cancelled, wp_store *store, const wp_id *id, wp_error **err)
{
    run_op op = {
        .statements = {WP__SQL_JOB_RUN_CANCEL, WP__SQL_JOB_RUN_ASK}, .columns = {1, 1}, .id = id};
    wp_status st = wp__store_check(store, err);
    if (st != WP_OK)
        return st;
    if (!id)
        return wp__fail(err, WP_E_ARGUMENT, "id is NULL");
    wp__op_init(&op.base, &run_class, store);
    st = wp__store_run(store, NULL, &op.base, err);
    if (st == WP_OK && cancelled)
        *cancelled = op.rows > 0;
    if (st == WP_OK && op.rows) /* what waited behind it may run */
        wp__store_announce(store);
    wp__op_fini(&op.base);
    return st;
}

wp_status wp_job_run_purge(size_t *purged, wp_store *store, int64_t older_than_ms, wp_error **err)
{
    size_t total = 0;
    size_t rows = PURGE_PAGE;
    wp_status st = wp__store_check(store, err);
    if (st != WP_OK)
        return st;
    if (older_than_ms < 0 || older_than_ms > WP_DELAY_MS_MAX)
        return wp__fail(err, WP_E_RANGE, "older_than_ms is %lld, not in 0..%lld",
                        (long long)older_than_ms, (long long)WP_DELAY_MS_MAX);
    while (st == WP_OK && rows == PURGE_PAGE) {
        run_op op = {.statements = {WP__SQL_JOB_RUN_PURGE, WP__SQL_JOB_RUN_FORGET,
                                    WP__SQL_JOB_RUN_REMOVE_REPLAYED},
                     .columns = {1, 1, 1},
                     .all = true,
                     .delay_us = older_than_ms * 1000};
        wp__op_init(&op.base, &run_class, store);
        st = wp__store_run(store, NULL, &op.base, err);
        rows = op.rows;
        total += st == WP_OK ? rows : 0;
        wp__op_fini(&op.base);
    }
    if (st == WP_OK && purged)
        *purged = total;
    return st;
}

wp_status wp__job_run_asked(wp_store *store, wp_conn *conn, const char *seqs,
                            void (*found)(void *user, int64_t seq), void *user, wp_error **err)
{
    run_op op = {.statements = {WP__SQL_JOB_RUN_ASKED},
                 .columns = {1, 0},
                 .seqs_given = seqs,
                 .found = found,
                 .user = user};
    wp_status st;
    wp__op_init(&op.base, &read_class, store);
    st = wp__store_run(store, conn, &op.base, err);
    wp__op_fini(&op.base);
    return st;
}
