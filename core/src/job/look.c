/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of jobs and of runs. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/store.h"
#include "job/job.h"
#include "queue/queue.h"

/* ---- a list of anything ------------------------------------------------------------------- */

enum { TEXTS_MAX = 8, NUMBERS_MAX = 8 };

/* A row: some texts and some numbers. */
typedef struct entry {
    int64_t seq;
    wp_id id;
    char *texts[TEXTS_MAX];
    int64_t numbers[NUMBERS_MAX];
    wp__job_options options; /* of a job */
} entry;

struct wp_job_info {
    entry e;
};
struct wp_job_run {
    entry e;
};

typedef struct entries {
    entry *items;
    size_t count;
    size_t cap;
} entries;

struct wp_jobs {
    entries list;
};
struct wp_job_runs {
    entries list;
};

/* Where the columns of a statement go, from the first on: i id, s seq, t the next text, n the next
 * number (null: 0). */
typedef struct look_op {
    wp_op base;
    wp__sql_id statement;
    const char *shape;
    const char *name;
    const wp_id *id;
    int64_t number;
    int64_t limit;
    bool payloads;
    wp_conn *conn; /* NULL: of the pool */
    int step;
    entries *list;
} look_op;

static wp_status look_next(wp_op *op, wp_error **err)
{
    look_op *self = (look_op *)op;
    (void)err;
    if (self->step++ > 0)
        return WP_OK;
    wp__op_set_text(op, WP__P_NAME, self->name);
    if (self->id)
        wp__op_set_id(op, WP__P_ID, self->id);
    wp__op_set_int(op, WP__P_NUMBER, self->number);
    wp__op_set_int(op, WP__P_BATCH, self->limit);
    wp__op_set_int(op, WP__P_PAYLOADS, self->payloads);
    wp__op_use(op, self->statement, strlen(self->shape));
    return WP_OK;
}

static wp_status grow(entries *list, wp_error **err)
{
    size_t cap = list->cap ? list->cap * 2 : 16;
    entry *items;
    if (list->count < list->cap)
        return WP_OK;
    items = realloc(list->items, cap * sizeof *items);
    if (!items)
        return wp__fail_nomem(err);
    list->items = items;
    list->cap = cap;
    return WP_OK;
}

static wp_status look_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    look_op *self = (look_op *)op;
    size_t texts = 0, numbers = 0;
    wp_status st = grow(self->list, err);
    entry *e;
    if (st != WP_OK)
        return st;
    e = &self->list->items[self->list->count++];
    *e = (entry){0};
    for (size_t i = 0; self->shape[i] && st == WP_OK; i++) {
        const wp__value *value = &columns[i];
        if (self->shape[i] == 'i') {
            st = wp__column_id(&e->id, value, err);
        } else if (self->shape[i] == 's') {
            st = wp__column_int(&e->seq, value, err);
        } else if (self->shape[i] == 'n') {
            st = wp__column_int_or(&e->numbers[numbers++], value, 0, err);
        } else if (value->type == WP_VALUE_TEXT) {
            e->texts[texts++] = wp__text_ndup(value->p, value->len);
            if (!e->texts[texts - 1])
                st = wp__fail_nomem(err);
        } else {
            texts++;
        }
    }
    return st;
}

static void entries_clear(entries *list)
{
    for (size_t i = 0; i < list->count; i++)
        for (size_t t = 0; t < TEXTS_MAX; t++)
            free(list->items[i].texts[t]);
    list->count = 0;
}

static void look_rewind(wp_op *op)
{
    ((look_op *)op)->step = 0;
    entries_clear(((look_op *)op)->list);
}

/* Fill a list that was made with calloc(); free it where this fails. */
static wp_status look(entries *list, wp_store *store, look_op *op, wp_error **err)
{
    static const wp__op_class cls = {
        .next = look_next, .row = look_row, .rewind = look_rewind, .single = true};
    wp_status st;
    op->list = list;
    wp__op_init(&op->base, &cls, store);
    st = wp__store_run(store, op->conn, &op->base, err);
    wp__op_fini(&op->base);
    return st;
}

static wp_status check_limit(int64_t limit, wp_error **err)
{
    if (limit >= 1 && limit <= WP_BATCH_MAX)
        return WP_OK;
    return wp__fail(err, WP_E_RANGE, "limit is %lld, not in 1..%d", (long long)limit, WP_BATCH_MAX);
}

/* ---- jobs --------------------------------------------------------------------------------- */

/* The order of the columns of job_get and job_list. */
enum { J_NAME, J_TOPIC, J_PAYLOAD, J_EXPRESSION, J_ZONE, J_OPTIONS, J_REGISTRAR, J_LAST_ERROR };
enum { J_ABSENT, J_DISABLED, J_NEXT, J_LAST_DUE, J_LAST_STARTED, J_LAST_ENDED, J_LAST_STATUS };
static const char job_shape[] = "itttttttnnnnnnnt";

static void read_options(wp_jobs *jobs)
{
    for (size_t i = 0; i < jobs->list.count; i++) {
        entry *e = &jobs->list.items[i];
        const char *json = e->texts[J_OPTIONS];
        wp__job_options_read(&e->options, json, json ? strlen(json) : 0);
    }
}

static wp_status look_jobs(wp_jobs **out, wp_store *store, look_op *op, wp_error **err)
{
    wp_jobs *jobs = calloc(1, sizeof *jobs);
    wp_status st;
    if (!jobs)
        return wp__fail_nomem(err);
    op->shape = job_shape;
    st = look(&jobs->list, store, op, err);
    read_options(jobs);
    if (st == WP_OK && op->statement == WP__SQL_JOB_GET && !jobs->list.count)
        st = wp__fail(err, WP_E_NOT_FOUND, "there is no job \"%s\"", op->name);
    if (st == WP_OK)
        *out = jobs;
    else
        wp_jobs_free(jobs);
    return st;
}

wp_status wp_job_get_in(wp_jobs **out, wp_store *store, wp_conn *conn, const char *name,
                        wp_error **err)
{
    look_op op = {.statement = WP__SQL_JOB_GET, .name = name, .conn = conn};
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    st = wp__job_check_name(store, conn, name, err);
    return st == WP_OK ? look_jobs(out, store, &op, err) : st;
}

wp_status wp_job_get(wp_jobs **out, wp_store *store, const char *name, wp_error **err)
{
    return wp_job_get_in(out, store, NULL, name, err);
}

/* The same for a host's connection, with what it found. */
typedef struct get_op {
    look_op look;
    char *name;
    wp_jobs jobs;
} get_op;

static wp_status get_next(wp_op *op, wp_error **err)
{
    get_op *self = (get_op *)op;
    if (self->look.step == 0)
        return look_next(op, err);
    if (!self->jobs.list.count)
        return wp__fail(err, WP_E_NOT_FOUND, "there is no job \"%s\"", self->name);
    op->result_count = self->jobs.list.count;
    return WP_OK;
}

static void get_destroy(wp_op *op)
{
    get_op *self = (get_op *)op;
    entries_clear(&self->jobs.list);
    free(self->jobs.list.items);
    free(self->name);
}

wp_status wp_job_get_op(wp_op **out, wp_store *store, const char *name, wp_error **err)
{
    static const wp__op_class cls = {.next = get_next,
                                     .row = look_row,
                                     .rewind = look_rewind,
                                     .destroy = get_destroy,
                                     .single = true};
    get_op *op;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__job_check_name(store, NULL, name, err)) != WP_OK)
        return st;
    op = calloc(1, sizeof *op);
    if (!op || !(op->name = wp__text_dup(name))) {
        free(op);
        return wp__fail_nomem(err);
    }
    op->look.statement = WP__SQL_JOB_GET;
    op->look.shape = job_shape;
    op->look.name = op->name;
    op->look.list = &op->jobs.list;
    wp__op_init(&op->look.base, &cls, store);
    op->look.base.owns_store = true;
    wp__store_ref(store);
    *out = &op->look.base;
    return WP_OK;
}

static wp_status entry_copy(entry *out, const entry *e, wp_error **err)
{
    *out = *e;
    for (size_t i = 0; i < TEXTS_MAX; i++)
        out->texts[i] = NULL;
    for (size_t i = 0; i < TEXTS_MAX; i++)
        if (e->texts[i] && !(out->texts[i] = wp__text_dup(e->texts[i])))
            return wp__fail_nomem(err);
    return WP_OK;
}

wp_status wp_op_result_jobs(wp_jobs **out, const wp_op *op, wp_error **err)
{
    const get_op *self = (const get_op *)op;
    wp_jobs *jobs;
    wp_status st = WP_OK;
    if (!out || !op)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", out ? "op" : "out");
    if (op->cls->next != get_next || !op->finished)
        return wp__fail(err, WP_E_STATE, "the operation is not finished, or has no such result");
    if (!(jobs = calloc(1, sizeof *jobs)))
        return wp__fail_nomem(err);
    for (size_t i = 0; st == WP_OK && i < self->jobs.list.count; i++)
        if ((st = grow(&jobs->list, err)) == WP_OK)
            st = entry_copy(&jobs->list.items[jobs->list.count++], &self->jobs.list.items[i], err);
    read_options(jobs);
    if (st == WP_OK)
        *out = jobs;
    else
        wp_jobs_free(jobs);
    return st;
}

static wp_status list_jobs(wp_jobs **out, wp_store *store, const char *after, int64_t limit,
                           bool payloads, wp_error **err)
{
    look_op op = {.statement = WP__SQL_JOB_LIST,
                  .name = after ? after : "",
                  .limit = limit,
                  .payloads = payloads};
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK || (st = check_limit(limit, err)) != WP_OK ||
        (st = wp__check_text(NULL, "after", after, WP_NAME_MAX, false, err)) != WP_OK)
        return st;
    return look_jobs(out, store, &op, err);
}

wp_status wp_job_list(wp_jobs **out, wp_store *store, const char *after, int64_t limit,
                      wp_error **err)
{
    return list_jobs(out, store, after, limit, true, err);
}

wp_status wp_job_list_brief(wp_jobs **out, wp_store *store, const char *after, int64_t limit,
                            wp_error **err)
{
    return list_jobs(out, store, after, limit, false, err);
}

size_t wp_jobs_count(const wp_jobs *jobs)
{
    return jobs ? jobs->list.count : 0;
}

const wp_job_info *wp_jobs_at(const wp_jobs *jobs, size_t index)
{
    return index < wp_jobs_count(jobs) ? (const wp_job_info *)&jobs->list.items[index] : NULL;
}

void wp_jobs_free(wp_jobs *jobs)
{
    if (!jobs)
        return;
    entries_clear(&jobs->list);
    free(jobs->list.items);
    free(jobs);
}

static const char *job_text(const wp_job_info *info, size_t which)
{
    return info ? info->e.texts[which] : NULL;
}

static int64_t job_number(const wp_job_info *info, size_t which)
{
    return info ? info->e.numbers[which] : 0;
}

const char *wp_job_info_name(const wp_job_info *info)
{
    return job_text(info, J_NAME);
}

const char *wp_job_info_topic(const wp_job_info *info)
{
    return job_text(info, J_TOPIC);
}

const char *wp_job_info_payload(const wp_job_info *info)
{
    return job_text(info, J_PAYLOAD);
}

const char *wp_job_info_expression(const wp_job_info *info)
{
    return job_text(info, J_EXPRESSION);
}

const char *wp_job_info_zone(const wp_job_info *info)
{
    return job_text(info, J_EXPRESSION) ? job_text(info, J_ZONE) : NULL;
}

const char *wp_job_info_registrar(const wp_job_info *info)
{
    return job_text(info, J_REGISTRAR);
}

int wp_job_info_vanished(const wp_job_info *info)
{
    return info && job_number(info, J_ABSENT);
}

int wp_job_info_enabled(const wp_job_info *info)
{
    return info && !job_number(info, J_DISABLED) && !job_number(info, J_ABSENT);
}

/* What the definition had beside the schedule, or the defaults. */
static wp__job_options job_options(const wp_job_info *info)
{
    wp__job_options defaults;
    if (info)
        return info->e.options;
    wp__job_options_read(&defaults, NULL, 0);
    return defaults;
}

wp_overlap wp_job_info_overlap(const wp_job_info *info)
{
    return (wp_overlap)job_options(info).overlap;
}

wp_misfire wp_job_info_misfire(const wp_job_info *info)
{
    return (wp_misfire)job_options(info).misfire;
}

int64_t wp_job_info_misfire_ms(const wp_job_info *info)
{
    return job_options(info).misfire_ms;
}

int64_t wp_job_info_catch_up(const wp_job_info *info)
{
    return job_options(info).catch_up;
}

int64_t wp_job_info_timeout_ms(const wp_job_info *info)
{
    return job_options(info).timeout_ms;
}

int64_t wp_job_info_max_attempts(const wp_job_info *info)
{
    return job_options(info).max_attempts;
}

int64_t wp_job_info_backoff_base_ms(const wp_job_info *info)
{
    return job_options(info).backoff_base_ms;
}

int64_t wp_job_info_backoff_max_ms(const wp_job_info *info)
{
    return job_options(info).backoff_max_ms;
}

int64_t wp_job_info_next_due_us(const wp_job_info *info)
{
    return job_number(info, J_NEXT);
}

int64_t wp_job_info_last_due_us(const wp_job_info *info)
{
    return job_number(info, J_LAST_DUE);
}

int64_t wp_job_info_last_started_us(const wp_job_info *info)
{
    return job_number(info, J_LAST_STARTED);
}

int64_t wp_job_info_last_duration_us(const wp_job_info *info)
{
    const int64_t ended = job_number(info, J_LAST_ENDED);
    return ended ? ended - job_number(info, J_LAST_STARTED) : 0;
}

/* Whether a reason is `what`, alone or followed by what the handler said. */
static bool says(const char *reason, const char *what)
{
    const size_t len = strlen(what);
    return reason && strncmp(reason, what, len) == 0 &&
           (reason[len] == '\0' || strncmp(reason + len, ": ", 2) == 0);
}

bool wp__job_reason_is_ours(const char *reason)
{
    return says(reason, "timeout") || says(reason, "cancelled");
}

/* A run's status, from its queue's and the reason of its failure. */
static wp_run_status run_status(int64_t status, const char *error)
{
    if (status == WP_MESSAGE_BLOCKED)
        return WP_RUN_PENDING;
    if (status == WP_MESSAGE_FAILED && says(error, "timeout"))
        return WP_RUN_TIMED_OUT;
    if (status == WP_MESSAGE_FAILED && says(error, "cancelled"))
        return WP_RUN_CANCELLED;
    return (wp_run_status)status;
}

wp_run_status wp_job_info_last_status(const wp_job_info *info)
{
    if (!job_number(info, J_LAST_STARTED))
        return WP_RUN_NONE;
    return run_status(job_number(info, J_LAST_STATUS), job_text(info, J_LAST_ERROR));
}

/* ---- runs --------------------------------------------------------------------------------- */

enum { R_NAME, R_TOPIC, R_OUTPUT, R_ERROR };
enum { R_DUE, R_OCCURRENCE, R_CREATED, R_STARTED, R_ENDED, R_STATUS, R_ATTEMPT };
static const char run_shape[] = "sittnnnnnnntt";

static wp_status look_runs(wp_job_runs **out, wp_store *store, look_op *op, wp_error **err)
{
    wp_job_runs *runs = calloc(1, sizeof *runs);
    wp_status st;
    if (!runs)
        return wp__fail_nomem(err);
    op->shape = run_shape;
    st = look(&runs->list, store, op, err);
    if (st == WP_OK && op->id && !runs->list.count) {
        char text[37];
        wp_id_format(text, op->id);
        st = wp__fail(err, WP_E_NOT_FOUND, "there is no run %s", text);
    }
    if (st == WP_OK)
        *out = runs;
    else
        wp_job_runs_free(runs);
    return st;
}

wp_status wp_job_run_get(wp_job_runs **out, wp_store *store, const wp_id *id, wp_error **err)
{
    look_op op = {.statement = WP__SQL_JOB_RUN_LOOK, .id = id};
    wp_status st;
    if (!out || !id)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", out ? "id" : "out");
    if ((st = wp__store_check(store, err)) != WP_OK)
        return st;
    return look_runs(out, store, &op, err);
}

wp_status wp_job_run_list(wp_job_runs **out, wp_store *store, const char *name,
                          const wp_job_run *before, int64_t limit, wp_error **err)
{
    return wp__job_run_list(out, store, name, before ? before->e.seq : INT64_MAX, limit, err);
}

int64_t wp__job_run_number(const wp_job_run *run)
{
    return run->e.seq;
}

wp_status wp__job_run_list(wp_job_runs **out, wp_store *store, const char *name, int64_t before,
                           int64_t limit, wp_error **err)
{
    look_op op = {.statement = name ? WP__SQL_JOB_RUN_LIST_OF : WP__SQL_JOB_RUN_LIST,
                  .name = name,
                  .number = before,
                  .limit = limit};
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK || (st = check_limit(limit, err)) != WP_OK ||
        (name && (st = wp__check_text(NULL, "name", name, WP_NAME_MAX, true, err)) != WP_OK))
        return st;
    return look_runs(out, store, &op, err);
}

size_t wp_job_runs_count(const wp_job_runs *runs)
{
    return runs ? runs->list.count : 0;
}

const wp_job_run *wp_job_runs_at(const wp_job_runs *runs, size_t index)
{
    return index < wp_job_runs_count(runs) ? (const wp_job_run *)&runs->list.items[index] : NULL;
}

void wp_job_runs_free(wp_job_runs *runs)
{
    if (!runs)
        return;
    entries_clear(&runs->list);
    free(runs->list.items);
    free(runs);
}

static int64_t run_number(const wp_job_run *run, size_t which)
{
    return run ? run->e.numbers[which] : 0;
}

const wp_id *wp_job_run_id(const wp_job_run *run)
{
    return run ? &run->e.id : NULL;
}

const char *wp_job_run_name(const wp_job_run *run)
{
    return run ? run->e.texts[R_NAME] : NULL;
}

wp_run_status wp_job_run_status(const wp_job_run *run)
{
    return run ? run_status(run->e.numbers[R_STATUS], run->e.texts[R_ERROR]) : WP_RUN_NONE;
}

int64_t wp_job_run_due_us(const wp_job_run *run)
{
    return run_number(run, R_DUE);
}

int wp_job_run_is_scheduled(const wp_job_run *run)
{
    return run_number(run, R_OCCURRENCE) != 0;
}

int64_t wp_job_run_started_us(const wp_job_run *run)
{
    return run_number(run, R_STARTED);
}

int64_t wp_job_run_ended_us(const wp_job_run *run)
{
    return run_number(run, R_ENDED);
}

int64_t wp_job_run_attempt(const wp_job_run *run)
{
    return run_number(run, R_ATTEMPT);
}

const char *wp_job_run_output(const wp_job_run *run)
{
    return run ? run->e.texts[R_OUTPUT] : NULL;
}

const char *wp_job_run_error(const wp_job_run *run)
{
    return run ? run->e.texts[R_ERROR] : NULL;
}
