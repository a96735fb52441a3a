/* SPDX-License-Identifier: Apache-2.0 */
/* What is done to a job by hand, by its name: delete and trigger; in a transaction of ours or the app's, or
 * as an operation for a host. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/store.h"
#include "job/job.h"
#include "queue/audit.h"

typedef struct hand_op {
    wp_op base;
    const char *name;
    char *own_name;
    bool joins; /* runs in a transaction of the app's, which commits unseen */
    int step;
    bool there; /* trigger: the job was found; delete: it was there */
    bool made;  /* trigger: its run was */
    int64_t seq;
    wp_id id;
    wp__job_options options;
    wp__new_run run;
    wp__op_result result; /* trigger: the run */
    bool audits;
    const char *by;
    char *own_by;
    bool noted;     /* trigger: the audit has it */
    bool signalled; /* trigger: workers hear of it with the app's commit */
} hand_op;

static wp_status fail_unknown(const hand_op *self, wp_error **err)
{
    return wp__fail(err, WP_E_NOT_FOUND, "there is no job \"%s\"", self->name);
}

static void hand_rewind(wp_op *op)
{
    hand_op *self = (hand_op *)op;
    self->step = 0;
    self->there = self->made = self->noted = self->signalled = false;
}

static void hand_destroy(wp_op *op)
{
    free(((hand_op *)op)->own_name);
    free(((hand_op *)op)->own_by);
}

/* ---- delete ------------------------------------------------------------------------------- */

static wp_status delete_next(wp_op *op, wp_error **err)
{
    static const wp__sql_id statements[] = {WP__SQL_JOB_DROP_WORK, WP__SQL_JOB_DROP_RUNS,
                                            WP__SQL_JOB_DELETE};
    hand_op *self = (hand_op *)op;
    int step = self->step++;
    (void)err;
    wp__op_set_text(op, WP__P_NAME, self->name);
    if (step < 3 && !wp__op_has(op, statements[step])) /* the one before has done it */
        step = self->step++;
    if (step < 3)
        wp__op_use(op, statements[step], step == 2 ? 1 : 0);
    else
        op->result_count = self->there;
    return WP_OK;
}

static wp_status delete_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    (void)columns;
    (void)err;
    ((hand_op *)op)->there = true;
    return WP_OK;
}

static const wp__op_class delete_class = {.next = delete_next,
                                          .row = delete_row,
                                          .rewind = hand_rewind,
                                          .destroy = hand_destroy,
                                          .writes = true};

/* ---- trigger ------------------------------------------------------------------------------ */

static wp_status trigger_next(wp_op *op, wp_error **err)
{
    hand_op *self = (hand_op *)op;
    const int step = self->step++;
    if (step == 0) {
        wp__op_set_now(op);
        wp__op_set_text(op, WP__P_NAME, self->name);
        wp__op_use(op, WP__SQL_JOB_FIND, WP__JOB_FIND_COLUMNS);
        return WP_OK;
    }
    if (step == 1) {
        if (!self->there)
            return fail_unknown(self, err);
        wp__job_use_run(op, &self->run, self->seq, &self->id, &self->options, INT64_MIN,
                        WP__RUN_PLAIN, NULL);
        return WP_OK;
    }
    if (!self->made) /* the job was deleted in between */
        return fail_unknown(self, err);
    if (self->audits && !self->noted) {
        self->noted = true;
        wp__audit_use(op, "job.trigger", &wp__job_run, self->name, self->by, NULL);
        return WP_OK;
    }
    if (self->joins && !self->signalled && wp__store_may_signal(op->store)) {
        self->signalled = true;
        wp__op_set_text(op, WP__P_NAME, wp__store_channel(op->store));
        wp__op_use(op, WP__SQL_OUTBOX_SIGNAL, 1);
        return WP_OK;
    }
    self->result = (wp__op_result){.id = self->run.id};
    op->results = &self->result;
    op->result_count = 1;
    return WP_OK;
}

static wp_status trigger_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    hand_op *self = (hand_op *)op;
    const wp__value *options = &columns[WP__JOB_FIND_OPTIONS];
    wp_status st;
    if (self->step > 1) {
        self->made = true;
        return WP_OK;
    }
    if (columns[1].type == WP_VALUE_NULL)
        return WP_OK;
    if ((st = wp__column_int(&self->seq, &columns[1], err)) != WP_OK ||
        (st = wp__column_id(&self->id, &columns[2], err)) != WP_OK)
        return st;
    wp__job_options_read(&self->options, options->type == WP_VALUE_TEXT ? options->p : NULL,
                         options->len);
    self->there = true;
    return WP_OK;
}

static const wp__op_class trigger_class = {.next = trigger_next,
                                           .row = trigger_row,
                                           .rewind = hand_rewind,
                                           .destroy = hand_destroy,
                                           .writes = true};

/* ---- the calls ---------------------------------------------------------------------------- */

wp_status wp__job_check_name(const wp_store *store, const wp_conn *conn, const char *name,
                             wp_error **err)
{
    wp_status st = wp__store_check_conn(store, conn, err);
    return st == WP_OK ? wp__check_text(NULL, "name", name, WP_NAME_MAX, true, err) : st;
}

static wp_status run(hand_op *op, const wp__op_class *cls, wp_store *store, wp_conn *conn,
                     const char *name, wp_error **err)
{
    wp_status st = wp__job_check_name(store, conn, name, err);
    if (st != WP_OK)
        return st;
    op->name = name;
    op->joins = conn != NULL;
    wp__op_init(&op->base, cls, store);
    st = wp__store_run(store, conn, &op->base, err);
    wp__op_fini(&op->base);
    if (st == WP_OK && !conn)
        wp__store_announce(store);
    return st;
}

/* With `audits` it is noted that `by`, which may be NULL, did it. */
static wp_status make_op(wp_op **out, const wp__op_class *cls, wp_store *store, const char *name,
                         bool audits, const char *by, wp_error **err)
{
    hand_op *op;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__job_check_name(store, NULL, name, err)) != WP_OK)
        return st;
    op = calloc(1, sizeof *op);
    if (!op || !(op->own_name = wp__text_dup(name)) || (by && !(op->own_by = wp__text_dup(by)))) {
        if (op)
            free(op->own_name);
        free(op);
        return wp__fail_nomem(err);
    }
    op->name = op->own_name;
    op->audits = audits;
    op->by = op->own_by;
    op->joins = true;
    wp__op_init(&op->base, cls, store);
    op->base.owns_store = true;
    wp__store_ref(store);
    *out = &op->base;
    return WP_OK;
}

wp_status wp_job_delete_in(int *deleted, wp_store *store, wp_conn *conn, const char *name,
                           wp_error **err)
{
    hand_op op = {0};
    wp_status st = run(&op, &delete_class, store, conn, name, err);
    if (st == WP_OK && deleted)
        *deleted = op.there;
    return st;
}

wp_status wp_job_delete(int *deleted, wp_store *store, const char *name, wp_error **err)
{
    return wp_job_delete_in(deleted, store, NULL, name, err);
}

wp_status wp_job_delete_op(wp_op **out, wp_store *store, const char *name, wp_error **err)
{
    return make_op(out, &delete_class, store, name, false, NULL, err);
}

wp_status wp_job_trigger_in(wp_id *run_id, wp_store *store, wp_conn *conn, const char *name,
                            wp_error **err)
{
    hand_op op = {0};
    wp_status st = run(&op, &trigger_class, store, conn, name, err);
    if (st == WP_OK && run_id)
        *run_id = op.run.id;
    return st;
}

wp_status wp_job_trigger_by(wp_id *run_id, wp_store *store, const char *name, const char *by,
                            wp_error **err)
{
    hand_op op = {.audits = true, .by = by};
    wp_status st = wp__check_text(NULL, "by", by, WP_NAME_MAX, false, err);
    if (st == WP_OK)
        st = run(&op, &trigger_class, store, NULL, name, err);
    if (st == WP_OK && run_id)
        *run_id = op.run.id;
    return st;
}

wp_status wp_job_trigger(wp_id *run_id, wp_store *store, const char *name, wp_error **err)
{
    return wp_job_trigger_in(run_id, store, NULL, name, err);
}

wp_status wp_job_trigger_op(wp_op **out, wp_store *store, const char *name, wp_error **err)
{
    return make_op(out, &trigger_class, store, name, false, NULL, err);
}

wp_status wp_job_trigger_by_op(wp_op **out, wp_store *store, const char *name, const char *by,
                               wp_error **err)
{
    wp_status st = wp__check_text(NULL, "by", by, WP_NAME_MAX, false, err);
    return st == WP_OK ? make_op(out, &trigger_class, store, name, true, by, err) : st;
}
