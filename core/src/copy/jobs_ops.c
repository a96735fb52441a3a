/* SPDX-License-Identifier: Apache-2.0 */
/* The operations that a job is moved by, with its runs: each is one transaction in one of the stores, which begins as
 * those of ops.c do. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "copy/copy.h"
#include "queue/pause.h"

void wp__copy_jobs_free(wp__copy_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++)
        free(jobs->items[i].name);
    free(jobs->items);
    memset(jobs, 0, sizeof *jobs);
}

/* ---- a list of statements ----------------------------------------------------------------- */

/* Whose a statement is, and what its rows are. */
typedef enum how {
    JUST_RUN, /* a job's */
    MUST,     /* it must give a row, else nothing is done */
    NONE,     /* it must give none, else nothing is done */
    NUMBERS,  /* of runs, which those after it are about */
    ABOUT,    /* a queue's, about runs; left out without any, or where the engine lacks it */
    ALL_HELD  /* likewise, and it must give all, else nothing is done */
} how;

typedef struct step {
    how how;
    wp__sql_id job; /* one of these two */
    wp__queue_sql run;
    uint8_t columns;
} step;

typedef struct job_op {
    wp_op base;
    const wp__copy_end *end;
    const wp__copy_job *job;
    const step *steps;
    size_t count;
    const wp__copy_seqs *given; /* to begin with, or NULL */
    int64_t status;             /* 0: null */
    /* under way */
    size_t at; /* the next one */
    const step *current;
    bool fenced;
    bool held;
    size_t rows; /* of the current one */
    const wp__buf *about;
    size_t wanted;
    wp__buf list;
    wp__buf lists[2]; /* those that statements had, which are borrowed until they are done */
    size_t used;
    bool missed;
} job_op;

static void set_params(job_op *self)
{
    wp_op *op = &self->base;
    wp__op_set_int(op, WP__P_NUMBER, self->job->seq);
    wp__op_set_id(op, WP__P_ID, &self->job->id);
    wp__op_set_id(op, WP__P_OWNER, &self->end->peer);
    wp__op_set_text(op, WP__P_NAME, wp__queue_word(op->queue));
    wp__op_set_int(op, WP__P_UNTIL, WP_TIME_US_MAX); /* how long they are held */
    wp__op_set_text(op, WP__P_WORKER, WP__COPY_OWNER);
    wp__op_set_now(op);
    if (self->status)
        wp__op_set_int(op, WP__P_STATUS, self->status);
    else
        wp__op_set_null(op, WP__P_STATUS);
    if (self->about)
        wp__op_set_textn(op, WP__P_SEQS, self->about->data, self->about->len);
}

/* What the rows of the last one come to. */
static wp_status look_back(job_op *self, wp_error **err)
{
    const how was = self->current ? self->current->how : JUST_RUN;
    if ((was == MUST && !self->rows) || (was == NONE && self->rows) ||
        (was == ALL_HELD && self->rows < self->wanted)) {
        self->missed = true;
        return wp__fail(err, WP_E_STATE, "a job is not as it was any more");
    }
    if (was != NUMBERS)
        return WP_OK;
    self->about = NULL;
    self->wanted = self->rows;
    if (!self->rows)
        return WP_OK;
    wp__buf_text(&self->list, "]");
    if (self->list.failed)
        return wp__fail_nomem(err);
    self->lists[self->used] = self->list;
    self->list = (wp__buf){0};
    self->about = &self->lists[self->used++];
    return WP_OK;
}

static bool is_left_out(const job_op *self, const step *next)
{
    if (next->how < ABOUT)
        return false;
    return !self->about || (next->how == ABOUT &&
                            !wp__op_has(&self->base, wp__queue_sql_id(&wp__job_run, next->run)));
}

static wp_status job_next(wp_op *op, wp_error **err)
{
    job_op *self = (job_op *)op;
    wp_status st;
    if (!self->fenced) {
        self->fenced = true;
        wp__copy_use_fence(op, self->end);
        return WP_OK;
    }
    if (!self->held)
        return wp__copy_fail_fenced(self->end, err);
    if ((st = look_back(self, err)) != WP_OK)
        return st;
    while (self->at < self->count && is_left_out(self, &self->steps[self->at]))
        self->at++;
    self->current = self->at < self->count ? &self->steps[self->at++] : NULL;
    self->rows = 0;
    if (!self->current)
        return WP_OK;
    set_params(self);
    if (self->current->how < ABOUT)
        wp__op_use(op, self->current->job, self->current->columns);
    else
        wp__op_use_queue(op, self->current->run, self->current->columns);
    return WP_OK;
}

/* Of a run that was read: whether it was asked to end since. */
static wp_status held_row(job_op *self, const wp__value *columns, wp_error **err)
{
    const wp__copy_items *as_read = self->given->as_read;
    wp__copy_item key = {0};
    const wp__copy_item *item = NULL;
    int64_t asked_us = 0;
    wp_status st;
    if ((st = wp__column_int(&key.seq, &columns[0], err)) != WP_OK ||
        (st = wp__column_int(&asked_us, &columns[1], err)) != WP_OK)
        return st;
    if (as_read)
        item = bsearch(&key, as_read->items, as_read->count, sizeof key, wp__copy_by_seq);
    self->rows += !item || !item->given || item->seen_us == asked_us;
    return WP_OK;
}

static wp_status job_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    job_op *self = (job_op *)op;
    int64_t seq = 0;
    wp_status st;
    if (!self->current) {
        self->held = true;
        return WP_OK;
    }
    if (self->current->how == ALL_HELD)
        return held_row(self, columns, err);
    if (self->current->how == NUMBERS) {
        if ((st = wp__column_int(&seq, &columns[0], err)) != WP_OK)
            return st;
        wp__buf_text(&self->list, self->rows ? "," : "[");
        wp__buf_int(&self->list, seq);
    }
    self->rows++;
    return WP_OK;
}

static void job_rewind(wp_op *op)
{
    job_op *self = (job_op *)op;
    self->at = self->rows = 0;
    self->current = NULL;
    self->fenced = self->held = self->missed = false;
    self->about = self->given && self->given->count ? &self->given->json : NULL;
    self->wanted = self->given ? self->given->count : 0;
    wp__buf_free(&self->list);
    while (self->used)
        wp__buf_free(&self->lists[--self->used]);
}

static wp_status run(bool *missed, job_op *op, const wp__copy_end *end, const wp__copy_job *job,
                     wp_error **err)
{
    static const wp__op_class cls = {
        .next = job_next, .row = job_row, .rewind = job_rewind, .writes = true, .races = true};
    wp_error *cause = NULL;
    wp_status st;
    op->end = end;
    op->job = job;
    wp__op_init(&op->base, &cls, end->store);
    op->base.queue = &wp__job_run;
    job_rewind(&op->base);
    st = wp__store_run(end->store, NULL, &op->base, &cause);
    wp__op_fini(&op->base);
    if (missed)
        *missed = st == WP_E_STATE && op->missed;
    if (missed && *missed) {
        wp_error_free(cause);
        cause = NULL;
        st = WP_OK;
    }
    if (cause)
        wp__error_move(err, cause);
    job_rewind(&op->base); /* frees the lists */
    return st;
}

#define OF_JOB(name, columns) WP__SQL_COPY_JOB_##name, 0, columns
#define OF_RUNS(name, columns) 0, WP__QUEUE_##name, columns

wp_status wp__copy_job_take(bool *missed, const wp__copy_end *end, const wp__copy_job *job,
                            bool dead, wp_error **err)
{
    enum { DEAD = 4 };
    static const step steps[] = {{MUST, OF_JOB(LOCK, 1)},
                                 {JUST_RUN, OF_JOB(NOTE, 0)},
                                 {JUST_RUN, OF_JOB(HOLD, 0)},
                                 {NUMBERS, OF_JOB(RUNS, 1)},
                                 {ABOUT, OF_RUNS(COPY_TAKE, 0)},
                                 {ABOUT, OF_RUNS(COPY_NOTE, 0)},
                                 {NONE, OF_JOB(OTHERS, 1)},
                                 {NUMBERS, OF_JOB(DEAD, 1)},
                                 {ABOUT, OF_RUNS(COPY_NOTE_DEAD, 0)},
                                 {ABOUT, OF_RUNS(COPY_HOLD_DEAD, 0)},
                                 {ABOUT, OF_RUNS(COPY_EXHUME, 0)}};
    job_op op = {.steps = steps, .count = sizeof steps / sizeof steps[0] - (dead ? 0 : DEAD)};
    return run(missed, &op, end, job, err);
}

wp_status wp__copy_job_settle(bool *missed, const wp__copy_end *end, const wp__copy_job *job,
                              const wp__copy_seqs *seqs, wp_error **err)
{
    static const step steps[] = {
        {MUST, OF_JOB(HELD, 1)},           {NONE, OF_JOB(OTHERS, 1)},
        {ALL_HELD, OF_RUNS(COPY_HELD, 2)}, {ABOUT, OF_RUNS(COPY_CLEAR, 0)},
        {ABOUT, OF_RUNS(COPY_REMOVE, 0)},  {ABOUT, OF_RUNS(REMOVE_REPLAYED, 0)},
        {ABOUT, OF_RUNS(COPY_FORGET, 0)},  {JUST_RUN, OF_JOB(REMOVE, 0)},
        {JUST_RUN, OF_JOB(FORGET, 0)}};
    job_op op = {.steps = steps, .count = sizeof steps / sizeof steps[0], .given = seqs};
    return run(missed, &op, end, job, err);
}

wp_status wp__copy_job_drop(const wp__copy_end *end, const wp__copy_job *job,
                            const wp__copy_seqs *seqs, wp_error **err)
{
    static const step steps[] = {
        {ABOUT, OF_RUNS(COPY_CLEAR, 0)},      {ABOUT, OF_RUNS(COPY_REMOVE, 0)},
        {ABOUT, OF_RUNS(REMOVE_REPLAYED, 0)}, {ABOUT, OF_RUNS(COPY_FORGET, 0)},
        {JUST_RUN, OF_JOB(REMOVE, 0)},        {JUST_RUN, OF_JOB(FORGET, 0)}};
    job_op op = {.steps = steps, .count = sizeof steps / sizeof steps[0], .given = seqs};
    return run(NULL, &op, end, job, err);
}

wp_status wp__copy_job_free(const wp__copy_end *end, const wp__copy_job *job,
                            const wp__copy_seqs *seqs, bool job_too, wp_error **err)
{
    enum { OF_THE_JOB = 2 };
    static const step steps[] = {{ABOUT, OF_RUNS(COPY_FREE, 0)},   {ABOUT, OF_RUNS(UNBLOCK, 0)},
                                 {ABOUT, OF_RUNS(COPY_BURY, 0)},   {ABOUT, OF_RUNS(COPY_CLEAR, 0)},
                                 {ABOUT, OF_RUNS(COPY_FORGET, 0)}, {JUST_RUN, OF_JOB(FREE, 0)},
                                 {JUST_RUN, OF_JOB(FORGET, 0)}};
    job_op op = {.steps = steps,
                 .count = sizeof steps / sizeof steps[0] - (job_too ? 0 : OF_THE_JOB),
                 .given = seqs,
                 .status = WP_MESSAGE_FAILED};
    return run(NULL, &op, end, job, err);
}

/* ---- reading ------------------------------------------------------------------------------ */

typedef struct read_op {
    wp_op base;
    const wp__copy_end *end;
    wp__sql_id statement;
    size_t columns;
    int64_t number;
    wp__copy_jobs *jobs; /* or */
    wp__copy_rows *rows;
    bool finds; /* the fourth column tells whether a run of it is running */
    bool running;
    int step;
} read_op;

static wp_status read_next(wp_op *op, wp_error **err)
{
    read_op *self = (read_op *)op;
    (void)err;
    if (self->step++)
        return WP_OK;
    wp__op_set_int(op, WP__P_NUMBER, self->number);
    wp__op_set_id(op, WP__P_OWNER, &self->end->peer);
    wp__op_use(op, self->statement, self->columns);
    return WP_OK;
}

static wp_status add_job(read_op *self, const wp__value *columns, wp_error **err)
{
    wp__copy_jobs *jobs = self->jobs;
    wp__copy_job *job;
    int64_t numbers[2] = {0};
    wp_status st;
    if (jobs->count == jobs->cap) {
        const size_t cap = jobs->cap ? jobs->cap * 2 : 4;
        wp__copy_job *grown = realloc(jobs->items, cap * sizeof *grown);
        if (!grown)
            return wp__fail_nomem(err);
        jobs->items = grown;
        jobs->cap = cap;
    }
    job = &jobs->items[jobs->count];
    *job = (wp__copy_job){.state = WP__COPY_JOB_HELD};
    if ((st = wp__column_int(&job->seq, &columns[0], err)) != WP_OK ||
        (st = wp__column_id(&job->id, &columns[1], err)) != WP_OK)
        return st;
    for (size_t i = 3; i < self->columns; i++)
        if ((st = wp__column_int(&numbers[i - 3], &columns[i], err)) != WP_OK)
            return st;
    if (columns[2].type == WP_VALUE_TEXT &&
        !(job->name = wp__text_ndup(columns[2].p, columns[2].len)))
        return wp__fail_nomem(err);
    jobs->count++;
    if (self->finds) {
        self->running = numbers[0] != 0;
        return WP_OK;
    }
    job->state = numbers[0] == 1   ? WP__COPY_JOB_HELD
                 : numbers[0] == 2 ? WP__COPY_JOB_CHANGED
                                   : WP__COPY_JOB_GONE;
    job->arrived = numbers[1] != 0;
    return WP_OK;
}

static wp_status read_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    read_op *self = (read_op *)op;
    return self->rows ? wp__copy_rows_add(self->rows, &wp__copy_of_jobs, columns, err)
                      : add_job(self, columns, err);
}

static void read_rewind(wp_op *op)
{
    read_op *self = (read_op *)op;
    self->step = 0;
    if (self->rows)
        wp__copy_rows_free(self->rows);
    if (self->jobs)
        wp__copy_jobs_free(self->jobs);
}

static wp_status read_with(read_op *op, const wp__copy_end *end, wp_error **err)
{
    static const wp__op_class cls = {
        .next = read_next, .row = read_row, .rewind = read_rewind, .single = true};
    wp_status st;
    op->end = end;
    wp__op_init(&op->base, &cls, end->store);
    st = wp__store_run(end->store, NULL, &op->base, err);
    wp__op_fini(&op->base);
    return st;
}

wp_status wp__copy_job_list(wp__copy_jobs *out, const wp__copy_end *end, wp_error **err)
{
    read_op op = {.statement = WP__SQL_COPY_JOB_LIST, .columns = 5, .jobs = out};
    return read_with(&op, end, err);
}

wp_status wp__copy_job_find(wp__copy_jobs *out, bool *running, const wp__copy_end *end,
                            int64_t after, wp_error **err)
{
    read_op op = {.statement = WP__SQL_COPY_JOB_FIND,
                  .columns = 4,
                  .number = after,
                  .jobs = out,
                  .finds = true};
    const wp_status st = read_with(&op, end, err);
    *running = op.running;
    return st;
}

wp_status wp__copy_job_read(wp__copy_rows *out, const wp__copy_end *end, int64_t job,
                            wp_error **err)
{
    read_op op = {.statement = WP__SQL_COPY_JOB_READ,
                  .columns = WP__COPY_JOB_COLUMNS,
                  .number = job,
                  .rows = out};
    return read_with(&op, end, err);
}

/* ---- storing ------------------------------------------------------------------------------ */

typedef struct put_op {
    wp_op base;
    const wp__copy_end *end;
    wp__copy_row *row;
    enum { FENCE, KNOWN, PUT, ARRIVE, END } step;
    bool seen; /* the statement gave a row */
} put_op;

static void set_row(wp_op *op, const wp__copy_row *row)
{
    static const struct {
        uint8_t param, column;
    } map[] = {
        {WP__P_NAME, WP__COPY_JOB_ITS_NAME},       {WP__P_TOPIC, WP__COPY_JOB_TOPIC},
        {WP__P_PAYLOAD, WP__COPY_JOB_PAYLOAD},     {WP__P_EXPRESSION, WP__COPY_JOB_EXPRESSION},
        {WP__P_ZONE, WP__COPY_JOB_ZONE},           {WP__P_OPTIONS, WP__COPY_JOB_OPTIONS},
        {WP__P_REGISTRAR, WP__COPY_JOB_REGISTRAR}, {WP__P_COUNT_, WP__COPY_JOB_ABSENT},
        {WP__P_STATUS, WP__COPY_JOB_DISABLED},     {WP__P_DUE_AT, WP__COPY_JOB_NEXT_DUE},
        {WP__P_SINCE, WP__COPY_JOB_CREATED_AT},
    };
    wp__op_set_id(op, WP__P_ID, &row->id);
    wp__op_set_int(op, WP__P_NUMBER, row->there);
    for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
        op->params[map[i].param] = row->columns[map[i].column];
}

static wp_status put_next(wp_op *op, wp_error **err)
{
    static const wp__sql_id statements[] = {[KNOWN] = WP__SQL_COPY_JOB_KNOWN,
                                            [PUT] = WP__SQL_COPY_JOB_PUT,
                                            [ARRIVE] = WP__SQL_COPY_JOB_ARRIVE};
    put_op *self = (put_op *)op;
    const int at = self->step;
    const bool seen = self->seen;
    self->seen = false;
    if (at == FENCE) {
        self->step = KNOWN;
        wp__copy_use_fence(op, self->end);
        return WP_OK;
    }
    if (at == KNOWN && !seen)
        return wp__copy_fail_fenced(self->end, err);
    if (at == END || (at == PUT && seen)) /* there is one of that name */
        return WP_OK;
    if (at == ARRIVE && !self->row->there)
        return wp__fail(err, WP_E_INTERNAL, "a job got no number");
    self->step++;
    set_row(op, self->row);
    wp__op_set_id(op, WP__P_OWNER, &self->end->peer);
    wp__op_use(op, statements[at], at == ARRIVE ? 0 : 1);
    return WP_OK;
}

static wp_status put_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    put_op *self = (put_op *)op;
    self->seen = true;
    /* of the statement before this step */
    return self->step == ARRIVE ? wp__column_int(&self->row->there, &columns[0], err) : WP_OK;
}

static void put_rewind(wp_op *op)
{
    put_op *self = (put_op *)op;
    self->step = FENCE;
    self->seen = false;
    self->row->there = 0;
}

wp_status wp__copy_job_put(wp__copy_row *row, const wp__copy_end *end, wp_error **err)
{
    static const wp__op_class cls = {
        .next = put_next, .row = put_row, .rewind = put_rewind, .writes = true, .races = true};
    put_op op = {.end = end, .row = row};
    wp_status st;
    wp__op_init(&op.base, &cls, end->store);
    st = wp__store_run(end->store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    return st;
}
