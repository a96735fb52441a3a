/* SPDX-License-Identifier: Apache-2.0 */
/* What changes jobs: put, register, enable. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/store.h"
#include "job/job.h"
#include "queue/audit.h"
#include "queue/queue.h"

/* ---- the job that there is ---------------------------------------------------------------- */

/* A job as it was found, and the time. */
typedef struct found_job {
    int64_t now_us;
    bool there;
    int64_t seq;
    wp_id id;
    char *texts[6]; /* by the enum */
    bool absent;
    bool disabled;
    int64_t version;
    int64_t due_us; /* INT64_MIN: not scheduled */
    bool busy;      /* a run is unfinished */
} found_job;
enum { TOPIC, PAYLOAD, EXPRESSION, ZONE, OPTIONS, REGISTRAR, TEXTS };

static void found_clear(found_job *found)
{
    for (size_t i = 0; i < TEXTS; i++)
        free(found->texts[i]);
    *found = (found_job){0};
}

static wp_status found_row(found_job *out, const wp__value *columns, wp_error **err)
{
    int64_t flags[3] = {0};
    wp_status st = wp__column_int(&out->now_us, &columns[0], err);
    if (st != WP_OK || columns[1].type == WP_VALUE_NULL)
        return st;
    out->there = true;
    for (size_t i = 0; i < TEXTS; i++) {
        const wp__value *text = &columns[3 + i];
        if (text->type != WP_VALUE_TEXT)
            continue;
        free(out->texts[i]);
        if (!(out->texts[i] = wp__text_ndup(text->p, text->len)))
            return wp__fail_nomem(err);
    }
    if ((st = wp__column_int(&out->seq, &columns[1], err)) != WP_OK ||
        (st = wp__column_id(&out->id, &columns[2], err)) != WP_OK ||
        (st = wp__column_int(&flags[0], &columns[9], err)) != WP_OK ||
        (st = wp__column_int(&flags[1], &columns[10], err)) != WP_OK ||
        (st = wp__column_int(&out->version, &columns[11], err)) != WP_OK ||
        (st = wp__column_int_or(&out->due_us, &columns[12], INT64_MIN, err)) != WP_OK ||
        (st = wp__column_int(&flags[2], &columns[13], err)) != WP_OK)
        return st;
    out->absent = flags[0] != 0;
    out->disabled = flags[1] != 0;
    out->busy = flags[2] != 0;
    return WP_OK;
}

/* ---- put and enable ----------------------------------------------------------------------- */

typedef struct put_op {
    wp_op base;
    const char *name;
    const wp_job *job; /* NULL: only `enable` */
    const wp_schedule *schedule;
    const char *expression; /* in force */
    const char *options;
    const char *registrar;
    bool enable;
    wp_job *own_job; /* of one that outlives the call; the rest is of every put */
    wp_schedule *own_schedule;
    char *own_expression;
    wp__buf own_options;
    bool joins;     /* runs in a transaction of the app's, which commits unseen */
    const char *by; /* with `enable`: who says so */
    enum { FIND, WRITE, AUDIT, END, SIGNAL } step;
    bool inserts;
    bool written;
    found_job found;
    wp_id id;
} put_op;

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The first occurrence that is not past; INT64_MIN: none. If it was dealt with (when the clock was ahead), it
 * makes no second run. */
static wp_status first_due(int64_t *out, const put_op *self, const wp_schedule *schedule,
                           wp_error **err)
{
    wp_error *cause = NULL;
    wp_status st = wp_schedule_next(out, schedule, self->found.now_us, &cause);
    if (st == WP_E_NOT_FOUND) {
        wp_error_free(cause);
        *out = INT64_MIN;
        return WP_OK;
    }
    if (cause)
        wp__error_move(err, cause);
    return st;
}

static void set_due(wp_op *op, int64_t due_us)
{
    if (due_us == INT64_MIN)
        wp__op_set_null(op, WP__P_DUE_AT);
    else
        wp__op_set_int(op, WP__P_DUE_AT, due_us);
}

static void use_insert(put_op *self, int64_t due_us)
{
    wp_op *op = &self->base;
    wp_id_new(&self->id);
    wp__op_set_id(op, WP__P_ID, &self->id);
    wp__op_set_text(op, WP__P_NAME, self->name);
    wp__op_set_text(op, WP__P_TOPIC, self->job->topic);
    wp__op_set_textn(op, WP__P_PAYLOAD, self->job->payload, self->job->payload_len);
    wp__op_set_text(op, WP__P_EXPRESSION, self->expression);
    wp__op_set_text(op, WP__P_ZONE, self->job->zone);
    wp__op_set_text(op, WP__P_OPTIONS, self->options);
    wp__op_set_text(op, WP__P_REGISTRAR, self->registrar);
    set_due(op, due_us);
    wp__op_set_now(op);
    self->inserts = true;
    self->step = WRITE;
    wp__op_use(op, WP__SQL_JOB_INSERT, 0);
}

static void use_update(put_op *self, const char *const *texts, bool absent, bool disabled,
                       int64_t due_us)
{
    wp_op *op = &self->base;
    wp__op_set_int(op, WP__P_NUMBER, self->found.seq);
    wp__op_set_int(op, WP__P_VERSION, self->found.version);
    wp__op_set_text(op, WP__P_TOPIC, texts[TOPIC]);
    wp__op_set_text(op, WP__P_PAYLOAD, texts[PAYLOAD]);
    wp__op_set_text(op, WP__P_EXPRESSION, texts[EXPRESSION]);
    wp__op_set_text(op, WP__P_ZONE, texts[ZONE]);
    wp__op_set_text(op, WP__P_OPTIONS, texts[OPTIONS]);
    wp__op_set_text(op, WP__P_REGISTRAR, texts[REGISTRAR]);
    wp__op_set_int(op, WP__P_STATUS, disabled);
    wp__op_set_int(op, WP__P_COUNT_, absent);
    set_due(op, due_us);
    self->step = WRITE;
    wp__op_use(op, WP__SQL_JOB_UPDATE, 1);
}

static wp_status put_once(put_op *self, int64_t *due_us, wp_error **err)
{
    const found_job *found = &self->found;
    if (self->job->once_us <= found->now_us)
        return wp__fail(err, WP_E_RANGE, "the job's instant is in the past");
    if (found->there && (found->due_us != INT64_MIN || found->busy || found->disabled))
        return wp__fail(err, WP_E_STATE, "there is a job \"%s\" that has not ended", self->name);
    *due_us = self->job->once_us;
    return WP_OK;
}

/* Two programs that have a job of one name take it from each other, each time that they start. */
static void warn_of_another(const put_op *self)
{
    const found_job *found = &self->found;
    const char *was = found->texts[REGISTRAR];
    if (found->there && !found->absent && was && self->registrar &&
        strcmp(was, self->registrar) != 0)
        WP__LOG(wp__store_log(self->base.store), WP_LOG_WARNING,
                "job is taken from another program",
                WP__F_TEXT("StoreId", wp_store_id(self->base.store)), WP__F_TEXT("Job", self->name),
                WP__F_TEXT("Registrar", self->registrar), WP__F_TEXT("From", was));
}

static wp_status put_found(put_op *self, wp_error **err)
{
    const wp_job *job = self->job;
    found_job *found = &self->found;
    const char *const texts[TEXTS] = {job->topic, job->payload,  self->expression,
                                      job->zone,  self->options, self->registrar};
    int64_t due_us = found->due_us;
    bool same = found->there && !found->absent;
    wp_status st = WP_OK;
    warn_of_another(self);
    for (size_t i = 0; i < TEXTS && same; i++)
        same = same_text(texts[i], found->texts[i]);
    if (job->once) {
        if ((st = put_once(self, &due_us, err)) != WP_OK)
            return st;
        same = false;
    }
    if (same) {
        self->step = END;
        return WP_OK;
    }
    if (!job->once &&
        !(found->there && !found->absent && same_text(self->expression, found->texts[EXPRESSION]) &&
          same_text(job->zone, found->texts[ZONE])))
        st = first_due(&due_us, self, self->schedule, err);
    if (st != WP_OK)
        return st;
    if (!found->there)
        use_insert(self, due_us);
    else
        use_update(self, texts, false, found->disabled, found->disabled ? INT64_MIN : due_us);
    return WP_OK;
}

/* The instant of a one-time job waits in the place of its zone, which it does not need, while the job
 * is disabled. */
static int64_t put_aside_instant(found_job *found, bool enable)
{
    int64_t due_us = INT64_MIN;
    char instant[24];
    if (enable && found->texts[ZONE])
        due_us = strtoll(found->texts[ZONE], NULL, 10);
    free(found->texts[ZONE]);
    found->texts[ZONE] = NULL;
    (void)snprintf(instant, sizeof instant, "%lld", (long long)found->due_us);
    if (!enable && found->due_us != INT64_MIN)
        found->texts[ZONE] = wp__text_dup(instant);
    return due_us;
}

static wp_status enable_found(put_op *self, wp_error **err)
{
    found_job *found = &self->found;
    const wp_config *config = wp__store_config(self->base.store);
    wp_schedule *schedule = NULL;
    int64_t due_us = INT64_MIN;
    wp_status st = WP_OK;
    if (!found->there)
        return wp__fail(err, WP_E_NOT_FOUND, "there is no job \"%s\"", self->name);
    if (self->enable && found->absent && !found->disabled)
        return wp__fail(
            err, WP_E_STATE,
            "job \"%s\" is not in the code of its program any more; it comes back with it",
            self->name);
    if (found->disabled == !self->enable) {
        self->step = END;
        return WP_OK;
    }
    if (!found->texts[EXPRESSION]) {
        due_us = put_aside_instant(found, self->enable);
    } else if (self->enable && !found->absent) {
        st = wp_schedule_new(&schedule, found->texts[EXPRESSION], found->texts[ZONE], config, err);
        if (st == WP_OK)
            st = first_due(&due_us, self, schedule, err);
        wp_schedule_free(schedule);
    }
    if (st == WP_OK)
        use_update(self, (const char *const *)found->texts, found->absent, !self->enable, due_us);
    return st;
}

static wp_status put_next(wp_op *op, wp_error **err)
{
    put_op *self = (put_op *)op;
    if (self->step == FIND && !self->found.now_us) {
        wp__op_set_now(op);
        wp__op_set_text(op, WP__P_NAME, self->name);
        wp__op_use(op, WP__SQL_JOB_FIND, WP__JOB_FIND_COLUMNS);
        return WP_OK;
    }
    op->result_count = 1;
    if (self->step == FIND)
        return self->job ? put_found(self, err) : enable_found(self, err);
    if (self->step == WRITE && !self->inserts && !self->written)
        return wp__fail_db(err, WP_E_UNAVAILABLE, NULL, 0, true,
                           "the job \"%s\" was changed meanwhile: try again", self->name);
    if (self->step == WRITE && !self->job) {
        self->step = AUDIT;
        wp__audit_use(op, self->enable ? "job.resume" : "job.pause", &wp__job_run, self->name,
                      self->by, NULL);
        return WP_OK;
    }
    if ((self->step == WRITE || self->step == AUDIT) && self->joins &&
        wp__store_may_signal(op->store)) {
        self->step = SIGNAL; /* workers sleep until the next job is due: they are told of another */
        wp__op_set_text(op, WP__P_NAME, wp__store_channel(op->store));
        wp__op_use(op, WP__SQL_OUTBOX_SIGNAL, 1);
        return WP_OK;
    }
    self->step = END;
    return WP_OK;
}

static wp_status put_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    put_op *self = (put_op *)op;
    if (self->step == FIND)
        return found_row(&self->found, columns, err);
    self->written = true;
    return WP_OK;
}

static void put_rewind(wp_op *op)
{
    put_op *self = (put_op *)op;
    found_clear(&self->found);
    self->step = FIND;
    self->inserts = self->written = false;
}

static void put_destroy(wp_op *op)
{
    put_op *self = (put_op *)op;
    found_clear(&self->found);
    wp_job_free(self->own_job);
    wp_schedule_free(self->own_schedule);
    free(self->own_expression);
    wp__buf_free(&self->own_options);
}

static const wp__op_class put_class = {.next = put_next,
                                       .row = put_row,
                                       .rewind = put_rewind,
                                       .destroy = put_destroy,
                                       .writes = true,
                                       .checks = true, /* a second time it changes nothing */
                                       .races = true};

/* Run it, and end it. */
static wp_status run_put(wp_store *store, wp_conn *conn, put_op *op, wp_error **err)
{
    wp_status st;
    wp__op_init(&op->base, &put_class, store);
    op->joins = conn != NULL;
    st = wp__store_run(store, conn, &op->base, err);
    wp__op_fini(&op->base);
    if (st == WP_OK &&
        !conn) /* workers sleep until the next job is due: they are told of another */
        wp__store_announce(store);
    return st;
}

/* Check, and begin a put. put_destroy() it, also when this fails. */
static wp_status put_init(put_op *op, wp_store *store, const wp_job *job, const char *registrar,
                          wp_error **err)
{
    const wp_config *config = wp__store_config(store);
    wp_status st = WP_OK;
    if (!job->once && !job->expression)
        return wp__fail(err, WP_E_ARGUMENT, "job \"%s\" has no schedule", job->name);
    op->name = job->name;
    op->job = job;
    op->registrar = registrar;
    wp__job_options_write(&op->own_options, &job->options);
    if (op->own_options.failed)
        return wp__fail_nomem(err);
    if (!job->once) { /* the job's own is checked, also where it is not used */
        st = wp_schedule_new(&op->own_schedule, job->expression, job->zone, config, err);
        op->own_expression = st == WP_OK ? wp__job_override(store, job) : NULL;
        if (op->own_expression) {
            wp_schedule_free(op->own_schedule);
            op->own_schedule = NULL;
            st = wp_schedule_new(&op->own_schedule, op->own_expression, job->zone, config, err);
        }
    }
    op->schedule = op->own_schedule;
    op->expression = op->own_expression ? op->own_expression : job->expression;
    op->options = op->own_options.data;
    return st;
}

static wp_status put(wp_store *store, wp_conn *conn, const wp_job *job, const char *registrar,
                     wp_error **err)
{
    put_op op = {0};
    wp_status st = put_init(&op, store, job, registrar, err);
    if (st == WP_OK)
        return run_put(store, conn, &op, err);
    put_destroy(&op.base);
    return st;
}

static wp_status check_put(const wp_store *store, const wp_conn *conn, const wp_job *job,
                           wp_error **err)
{
    wp_status st = wp__store_check_conn(store, conn, err);
    if (st == WP_OK && !job)
        st = wp__fail(err, WP_E_ARGUMENT, "job is NULL");
    return st;
}

wp_status wp_job_put_in(wp_store *store, wp_conn *conn, const wp_job *job, wp_error **err)
{
    wp_status st = check_put(store, conn, job, err);
    if (st != WP_OK)
        return st;
    st = put(store, conn, job, NULL, err);
    wp__log_pump(wp__store_log(store));
    return st;
}

wp_status wp_job_put(wp_store *store, const wp_job *job, wp_error **err)
{
    return wp_job_put_in(store, NULL, job, err);
}

wp_status wp_job_put_op(wp_op **out, wp_store *store, const wp_job *job, wp_error **err)
{
    put_op *op;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = check_put(store, NULL, job, err)) != WP_OK)
        return st;
    if (!(op = calloc(1, sizeof *op)))
        return wp__fail_nomem(err);
    if ((st = wp__job_copy(&op->own_job, job, err)) != WP_OK ||
        (st = put_init(op, store, op->own_job, NULL, err)) != WP_OK) {
        put_destroy(&op->base);
        free(op);
        return st;
    }
    wp__op_init(&op->base, &put_class, store);
    op->joins = true;
    op->base.owns_store = true;
    wp__store_ref(store);
    *out = &op->base;
    wp__log_pump(wp__store_log(store));
    return WP_OK;
}

wp_status wp_job_set_enabled(wp_store *store, const char *name, int enabled, wp_error **err)
{
    return wp_job_set_enabled_by(store, name, enabled, NULL, err);
}

wp_status wp_job_set_enabled_by(wp_store *store, const char *name, int enabled, const char *by,
                                wp_error **err)
{
    put_op op = {.name = name, .enable = enabled != 0, .by = by};
    wp_status st = wp__job_check_name(store, NULL, name, err);
    if (st == WP_OK)
        st = wp__check_text(NULL, "by", by, WP_NAME_MAX, false, err);
    return st == WP_OK ? run_put(store, NULL, &op, err) : st;
}

/* ---- register ----------------------------------------------------------------------------- */

static wp_status check_schedule(const wp_store *store, const wp_job *job, wp_error **err)
{
    wp_schedule *schedule = NULL;
    wp_status st =
        wp_schedule_new(&schedule, job->expression, job->zone, wp__store_config(store), err);
    wp_schedule_free(schedule);
    return st;
}

/* All of them, so that a bad one changes nothing. */
static wp_status check_jobs(const wp_store *store, const wp_job *const *jobs, size_t count,
                            wp_error **err)
{
    wp_status st = WP_OK;
    if (!jobs && count)
        return wp__fail(err, WP_E_ARGUMENT, "jobs is NULL");
    for (size_t i = 0; i < count; i++) {
        if (!jobs[i])
            return wp__fail(err, WP_E_ARGUMENT, "jobs[%zu] is NULL", i);
        if (!jobs[i]->expression)
            return wp__fail(err, WP_E_ARGUMENT,
                            "job \"%s\" has no schedule: only recurring jobs "
                            "are registered",
                            jobs[i]->name);
        for (size_t j = 0; j < i; j++)
            if (strcmp(jobs[i]->name, jobs[j]->name) == 0)
                return wp__fail(err, WP_E_ARGUMENT, "job \"%s\" is there twice", jobs[i]->name);
        if ((st = check_schedule(store, jobs[i], err)) != WP_OK)
            return st;
    }
    return WP_OK;
}

/* Switch off what is not registered any more. */
typedef struct retire_op {
    wp_op base;
    const char *registrar;
    const char *names; /* a JSON array: those that stay */
    int step;
    size_t rows;
} retire_op;

static wp_status retire_next(wp_op *op, wp_error **err)
{
    retire_op *self = (retire_op *)op;
    (void)err;
    if (self->step++ == 0) {
        wp__op_set_text(op, WP__P_REGISTRAR, self->registrar);
        wp__op_set_text(op, WP__P_TOPICS, self->names);
        wp__op_use(op, WP__SQL_JOB_RETIRE, 1);
    }
    return WP_OK;
}

static wp_status retire_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    (void)columns;
    (void)err;
    ((retire_op *)op)->rows++;
    return WP_OK;
}

static void retire_rewind(wp_op *op)
{
    ((retire_op *)op)->step = 0;
    ((retire_op *)op)->rows = 0;
}

static wp_status retire(wp_store *store, const char *registrar, const wp_job *const *jobs,
                        size_t count, wp_error **err)
{
    static const wp__op_class cls = {.next = retire_next,
                                     .row = retire_row,
                                     .rewind = retire_rewind,
                                     .writes = true,
                                     .single = true};
    retire_op op = {.registrar = registrar};
    json_t *names = json_array();
    char *text = NULL;
    wp_status st = WP_OK;
    bool failed = !names;
    for (size_t i = 0; i < count && !failed; i++)
        failed = json_array_append_new(names, json_string(jobs[i]->name)) != 0;
    text = failed ? NULL : json_dumps(names, JSON_COMPACT);
    json_decref(names);
    if (!text)
        return wp__fail_nomem(err);
    op.names = text;
    wp__op_init(&op.base, &cls, store);
    st = wp__store_run(store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    if (st == WP_OK && op.rows)
        WP__LOG(wp__store_log(store), WP_LOG_INFO, "jobs switched off that are not registered",
                WP__F_TEXT("StoreId", wp_store_id(store)), WP__F_TEXT("Registrar", registrar),
                WP__F_INT("Count", op.rows));
    free(text);
    return st;
}

wp_status wp_job_register(wp_store *store, const char *registrar, const wp_job *const *jobs,
                          size_t count, wp_error **err)
{
    wp_status st;
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (st = wp__check_text(NULL, "registrar", registrar, WP_NAME_MAX, true, err)) != WP_OK ||
        (st = check_jobs(store, jobs, count, err)) != WP_OK)
        return st;
    for (size_t i = 0; i < count && st == WP_OK; i++)
        st = put(store, NULL, jobs[i], registrar, err);
    if (st == WP_OK)
        st = retire(store, registrar, jobs, count, err);
    if (st == WP_OK)
        wp__job_overrides_check(store);
    wp__log_pump(wp__store_log(store));
    return st;
}
