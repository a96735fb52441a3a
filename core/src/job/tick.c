/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the runs of jobs that are due. Any number of schedulers may do so at once, without a leader:
 * each occurrence is taken by moving the job on from it, which one of them can do, and the index on
 * job and occurrence would not let a second run in anyway. Whoever is late has nothing to do. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/store.h"
#include "job/job.h"
#include "queue/queue.h"

enum { PAGE = 100, PAGES_AHEAD = 100, RUNS_MAX = 1000, WAIT_MAX = 1000, STUCK_US = 1000000 };

/* What is to be done for a job. */
typedef struct plan {
    int64_t *runs; /* occurrences, in order */
    size_t count;
    bool skips;       /* the one there is is only noted */
    bool misfired;    /* some were missed */
    bool anew;        /* no runs: the clock was ahead, and the job goes on from now */
    int64_t fired_us; /* the last occurrence that is dealt with */
    int64_t next_us;  /* INT64_MIN: none */
} plan;

/* A job that is due, and what became of it. */
typedef struct due_job {
    int64_t seq;
    wp_id id;
    char *name;
    char *expression; /* NULL: once */
    char *zone;
    wp__job_options options;
    int64_t version;
    int64_t due_us; /* INT64_MIN: it is not scheduled any more */
    plan plan;      /* neither runs nor anew: it cannot be scheduled */
    bool advanced;  /* by this scheduler */
    size_t made;    /* runs that are not skipped */
} due_job;

/* ---- what is due -------------------------------------------------------------------------- */

typedef struct due_op {
    wp_op base;
    bool ahead; /* not those that are due, but those that were dealt with in the future */
    int step;
    int64_t after_us; /* behind the job that was due then */
    int64_t after_seq;
    int64_t now_us;
    due_job jobs[PAGE];
    size_t count;
} due_op;

static wp_status due_next(wp_op *op, wp_error **err)
{
    due_op *self = (due_op *)op;
    (void)err;
    if (self->step++ == 0) {
        wp__op_set_now(op);
        wp__op_set_int(op, WP__P_SINCE, self->after_us);
        wp__op_set_int(op, WP__P_NUMBER, self->after_seq);
        wp__op_set_int(op, WP__P_BATCH, PAGE);
        wp__op_set_int(op, WP__P_DELAY, WP_JOB_CLOCKS_DIFFER_US);
        wp__op_use(op, self->ahead ? WP__SQL_JOB_AHEAD : WP__SQL_JOB_DUE, 9);
    }
    return WP_OK;
}

static wp_status take_text(char **out, const wp__value *value, wp_error **err)
{
    if (value->type != WP_VALUE_TEXT)
        return WP_OK;
    *out = wp__text_ndup(value->p, value->len);
    return *out ? WP_OK : wp__fail_nomem(err);
}

static wp_status due_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    due_op *self = (due_op *)op;
    due_job *job = &self->jobs[self->count];
    wp_status st;
    if (self->count == PAGE)
        return wp__fail(err, WP_E_INTERNAL, "a page of jobs is longer than a page");
    *job = (due_job){0};
    self->count++;
    if ((st = wp__column_int(&self->now_us, &columns[0], err)) != WP_OK ||
        (st = wp__column_int(&job->seq, &columns[1], err)) != WP_OK ||
        (st = wp__column_id(&job->id, &columns[2], err)) != WP_OK ||
        (st = take_text(&job->name, &columns[3], err)) != WP_OK ||
        (st = take_text(&job->expression, &columns[4], err)) != WP_OK ||
        (st = take_text(&job->zone, &columns[5], err)) != WP_OK ||
        (st = wp__column_int(&job->version, &columns[7], err)) != WP_OK ||
        (st = wp__column_int_or(&job->due_us, &columns[8], INT64_MIN, err)) != WP_OK)
        return st;
    wp__job_options_read(&job->options, columns[6].p, columns[6].len);
    return WP_OK;
}

static void due_clear(due_op *self)
{
    for (size_t i = 0; i < self->count; i++) {
        free(self->jobs[i].name);
        free(self->jobs[i].expression);
        free(self->jobs[i].zone);
        free(self->jobs[i].plan.runs);
    }
    self->count = 0;
}

static void due_rewind(wp_op *op)
{
    due_clear((due_op *)op);
    ((due_op *)op)->step = 0;
}

static void due_destroy(wp_op *op)
{
    due_clear((due_op *)op);
}

/* ---- which occurrences -------------------------------------------------------------------- */

static wp_status next_of(int64_t *out, const wp_schedule *schedule, int64_t after_us,
                         wp_error **err)
{
    wp_error *cause = NULL;
    wp_status st = wp_schedule_next(out, schedule, after_us, &cause);
    if (st == WP_E_NOT_FOUND) { /* the end of time */
        *out = INT64_MIN;
        wp_error_free(cause);
        return WP_OK;
    }
    if (cause)
        wp__error_move(err, cause);
    return st;
}

/* Keep the last `keep` of the occurrences from `first` to `now`. They may be very many: they are
 * looked for in spans before now, each twice as long as the last, until one holds enough. */
static wp_status latest(plan *p, const wp_schedule *schedule, int64_t first_us, int64_t now_us,
                        size_t keep, wp_error **err)
{
    wp_status st = WP_OK;
    for (int64_t span = 1000000;; span *= 2) {
        const bool all = span >= now_us - first_us;
        int64_t at = all ? first_us : INT64_MIN;
        size_t seen = 0;
        if (!all && (st = next_of(&at, schedule, now_us - span, err)) != WP_OK)
            return st;
        while (at != INT64_MIN && at <= now_us) {
            p->runs[seen++ % keep] = at;
            if ((st = next_of(&at, schedule, at, err)) != WP_OK)
                return st;
        }
        p->next_us = at;
        if (seen < keep && !all)
            continue;
        p->count = seen < keep ? seen : keep;
        if (seen > keep) { /* a ring: bring it in order */
            int64_t ordered[RUNS_MAX] = {0};
            for (size_t i = 0; i < keep; i++)
                ordered[i] = p->runs[(seen + i) % keep];
            memcpy(p->runs, ordered, keep * sizeof *ordered);
        }
        p->fired_us = p->runs[p->count - 1];
        return WP_OK;
    }
}

/* `p->runs` has room for RUNS_MAX. */
static wp_status make_plan(plan *p, const due_job *job, const wp_schedule *schedule, int64_t now_us,
                           wp_error **err)
{
    const wp__job_options *o = &job->options;
    size_t keep = 1;
    p->runs[0] = p->fired_us = job->due_us;
    p->count = 1;
    p->next_us = INT64_MIN;
    if (!schedule)
        return WP_OK; /* once: it always fires */
    if (now_us - job->due_us <= o->misfire_ms * 1000)
        return next_of(&p->next_us, schedule, job->due_us, err);
    p->misfired = true;
    p->skips = o->misfire == WP_MISFIRE_SKIP;
    if (o->misfire == WP_MISFIRE_CATCH_UP && o->catch_up > 1)
        keep = o->catch_up < RUNS_MAX ? (size_t)o->catch_up : RUNS_MAX;
    return latest(p, schedule, job->due_us, now_us, keep, err);
}

/* The clock was ahead, and is not any more: the job goes on from now. What it has had makes no second run. */
static wp_status make_plan_anew(plan *p, const due_job *job, const wp_schedule *schedule,
                                int64_t now_us, wp_error **err)
{
    p->anew = true;
    p->fired_us = now_us;
    p->next_us = job->due_us;
    if (!schedule || job->due_us == INT64_MIN)
        return WP_OK;
    return next_of(&p->next_us, schedule, now_us, err);
}

/* A schedule that cannot be read any more (a zone is gone): the others must go on. */
static void log_odd(wp_store *store, const due_job *job, const wp_error *cause)
{
    WP__LOG(wp__store_log(store), WP_LOG_ERROR, "job cannot be scheduled",
            WP__F_TEXT("StoreId", wp_store_id(store)), WP__F_TEXT("Job", job->name),
            WP__F_TEXT("Exception", wp_error_message(cause)));
}

/* Plan for a job; one that cannot be scheduled gets no runs. */
static wp_status plan_job(due_job *job, bool ahead, wp_store *store, int64_t now_us, wp_error **err)
{
    int64_t runs[RUNS_MAX];
    plan p = {.runs = runs};
    wp_schedule *schedule = NULL;
    wp_error *cause = NULL;
    wp_status st = WP_OK;
    if (job->expression)
        st =
            wp_schedule_new(&schedule, job->expression, job->zone, wp__store_config(store), &cause);
    if (st == WP_OK)
        st = ahead ? make_plan_anew(&p, job, schedule, now_us, &cause)
                   : make_plan(&p, job, schedule, now_us, &cause);
    wp_schedule_free(schedule);
    if (st != WP_OK) {
        log_odd(store, job, cause);
        wp_error_free(cause);
        return WP_OK;
    }
    p.runs = p.count ? malloc(p.count * sizeof *p.runs) : NULL;
    if (p.count && !p.runs)
        return wp__fail_nomem(err);
    if (p.runs)
        memcpy(p.runs, runs, p.count * sizeof *runs);
    job->plan = p;
    return WP_OK;
}

/* ---- some jobs ---------------------------------------------------------------------------- */

void wp__job_use_run(wp_op *op, wp__new_run *run, int64_t job, const wp_id *job_id,
                     const wp__job_options *options, int64_t occurrence, int how,
                     const char *reason)
{
    wp_id_new(&run->id);
    wp_id_format(run->key, job_id);
    wp__op_set_id(op, WP__P_ID, &run->id);
    wp__op_set_int(op, WP__P_NUMBER, job);
    wp__op_set_text(op, WP__P_ORDERING_KEY, options->overlap == WP_OVERLAP_ALLOW ? NULL : run->key);
    if (occurrence == INT64_MIN)
        wp__op_set_null(op, WP__P_OCCURRENCE);
    else
        wp__op_set_int(op, WP__P_OCCURRENCE, occurrence);
    wp__op_set_int(op, WP__P_STATUS, how);
    wp__op_set_int(op, WP__P_BATCH, WAIT_MAX);
    wp__op_set_text(op, WP__P_REASON, reason);
    wp__op_set_now(op);
    wp__op_use(op, WP__SQL_JOB_RUN_ADD, 1);
}

/* Some jobs in one transaction. */
typedef struct advance_op {
    wp_op base;
    due_job *jobs;
    size_t count;
    size_t at;   /* the job whose turn it is */
    size_t step; /* of it: 0: not begun; then how many of its runs were added, and one */
    wp__new_run run;
} advance_op;

static void use_advance(wp_op *op, const due_job *job)
{
    wp__op_set_int(op, WP__P_NUMBER, job->seq);
    wp__op_set_int(op, WP__P_VERSION, job->version);
    if (job->due_us == INT64_MIN)
        wp__op_set_null(op, WP__P_SINCE);
    else
        wp__op_set_int(op, WP__P_SINCE, job->due_us);
    wp__op_set_int(op, WP__P_FIRED_AT, job->plan.fired_us);
    if (job->plan.next_us == INT64_MIN)
        wp__op_set_null(op, WP__P_DUE_AT);
    else
        wp__op_set_int(op, WP__P_DUE_AT, job->plan.next_us);
    wp__op_use(op, WP__SQL_JOB_ADVANCE, 1);
}

static void use_run(advance_op *self, const due_job *job, int64_t occurrence)
{
    const int64_t overlap = job->options.overlap;
    wp__job_use_run(&self->base, &self->run, job->seq, &job->id, &job->options, occurrence,
                    job->plan.skips               ? WP__RUN_SKIPPED
                    : overlap == WP_OVERLAP_SKIP  ? WP__RUN_UNLESS_BUSY
                    : overlap == WP_OVERLAP_QUEUE ? WP__RUN_UNLESS_FULL
                                                  : WP__RUN_PLAIN,
                    job->plan.skips               ? "missed"
                    : overlap == WP_OVERLAP_QUEUE ? "too many runs were waiting"
                                                  : "another run was unfinished");
}

static bool is_planned(const due_job *job)
{
    return job->plan.count || job->plan.anew;
}

static wp_status advance_next(wp_op *op, wp_error **err)
{
    advance_op *self = (advance_op *)op;
    (void)err;
    for (; self->at < self->count; self->at++, self->step = 0) {
        const due_job *job = &self->jobs[self->at];
        const size_t step = self->step++;
        if (step == 0 && is_planned(job)) {
            use_advance(op, job);
            break;
        }
        if (step > 0 && job->advanced && step <= job->plan.count) {
            use_run(self, job, job->plan.runs[step - 1]);
            break;
        }
    }
    return WP_OK;
}

static wp_status advance_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    advance_op *self = (advance_op *)op;
    due_job *job = &self->jobs[self->at];
    int64_t made = 0;
    wp_status st = wp__column_int(&made, &columns[0], err);
    if (st != WP_OK)
        return st;
    if (self->step == 1)
        job->advanced = true;
    else
        job->made += made != 0;
    return WP_OK;
}

static void advance_rewind(wp_op *op)
{
    advance_op *self = (advance_op *)op;
    for (size_t i = 0; i < self->count; i++) {
        self->jobs[i].advanced = false;
        self->jobs[i].made = 0;
    }
    self->at = self->step = 0;
}

static void log_advance(wp_store *store, const due_job *job)
{
    const plan *p = &job->plan;
    char due[28], next[28] = "never";
    const wp_log_level level = p->misfired && job->advanced ? WP_LOG_WARNING : WP_LOG_DEBUG;
    if (!wp__log_wants(wp__store_log(store), level))
        return;
    wp__clock_format_utc(due, p->anew ? p->fired_us : job->due_us);
    if (p->next_us != INT64_MIN)
        wp__clock_format_utc(next, p->next_us);
    WP__LOG(wp__store_log(store), level,
            !job->advanced ? "another scheduler was faster"
            : p->anew      ? "the clock was set back, job goes on from now"
            : p->skips     ? "job missed its time, skipped"
            : p->misfired  ? "job missed its time, runs now"
                           : "job is due",
            WP__F_TEXT("StoreId", wp_store_id(store)), WP__F_TEXT("Job", job->name),
            WP__F_TEXT("Due", due), WP__F_TEXT("Next", next));
}

/* Move jobs on that have plans, and add their runs. */
static wp_status advance(size_t *made, wp_store *store, wp_conn *conn, due_job *jobs, size_t count,
                         wp_error **err)
{
    static const wp__op_class cls = {
        .next = advance_next, .row = advance_row, .rewind = advance_rewind, .writes = true};
    advance_op op = {.jobs = jobs, .count = count};
    wp_status st;
    wp__op_init(&op.base, &cls, store);
    st = wp__store_run(store, conn, &op.base, err);
    for (size_t i = 0; i < count && st == WP_OK; i++) {
        *made += jobs[i].made;
        if (is_planned(&jobs[i]))
            log_advance(store, &jobs[i]);
    }
    wp__op_fini(&op.base);
    return st;
}

/* So many that a transaction adds no more than RUNS_MAX runs, unless one job alone does. */
static size_t some(const due_job *jobs, size_t count)
{
    size_t runs = 0, taken = 0;
    while (taken < count && (taken == 0 || runs + jobs[taken].plan.count <= RUNS_MAX))
        runs += jobs[taken++].plan.count;
    return taken;
}

/* ---- all of them -------------------------------------------------------------------------- */

typedef struct when_op {
    wp_op base;
    int step;
    int64_t in_us;
    int64_t ahead; /* jobs were dealt with in the future */
} when_op;

static wp_status when_next(wp_op *op, wp_error **err)
{
    (void)err;
    if (((when_op *)op)->step++ == 0) {
        wp__op_set_now(op);
        wp__op_set_int(op, WP__P_DELAY, WP_JOB_CLOCKS_DIFFER_US);
        wp__op_use(op, WP__SQL_JOB_NEXT_DUE, 2);
    }
    return WP_OK;
}

static wp_status when_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    when_op *self = (when_op *)op;
    wp_status st = wp__column_int_or(&self->in_us, &columns[0], INT64_MAX, err);
    return st == WP_OK ? wp__column_int(&self->ahead, &columns[1], err) : st;
}

static void when_rewind(wp_op *op)
{
    ((when_op *)op)->step = 0;
}

wp_status wp__job_when_due(int64_t *in_us, bool *ahead, wp_store *store, wp_conn *conn,
                           wp_error **err)
{
    static const wp__op_class cls = {
        .next = when_next, .row = when_row, .rewind = when_rewind, .single = true};
    when_op op = {.in_us = INT64_MAX};
    wp_status st;
    wp__op_init(&op.base, &cls, store);
    st = wp__store_run(store, conn, &op.base, err);
    *in_us = op.in_us;
    *ahead = op.ahead != 0;
    wp__op_fini(&op.base);
    return st;
}

/* Where a tick stands. */
typedef struct ticking {
    size_t stuck; /* jobs that cannot be scheduled, and stay due: what is behind them comes next */
    int64_t after_us, after_seq;
    bool full;  /* the last page was */
    bool moved; /* a page had others */
} ticking;

/* Plan for a page of jobs. */
static wp_status plan_page(ticking *t, due_op *due, wp_store *store, wp_error **err)
{
    size_t stuck = 0;
    for (size_t i = 0; i < due->count; i++) {
        wp_status st = plan_job(&due->jobs[i], due->ahead, store, due->now_us, err);
        if (st != WP_OK)
            return st;
        stuck += !is_planned(&due->jobs[i]);
    }
    if (due->ahead) /* one that is stuck is met again when it is due */
        return WP_OK;
    t->stuck += stuck;
    t->full = due->count == PAGE;
    t->moved = stuck < due->count;
    if (t->stuck && due->count) {
        t->after_us = due->jobs[due->count - 1].due_us;
        t->after_seq = due->jobs[due->count - 1].seq;
    }
    return WP_OK;
}

static wp_status page(size_t *made, ticking *t, bool ahead, wp_store *store, wp_conn *conn,
                      wp_error **err)
{
    static const wp__op_class cls = {.next = due_next,
                                     .row = due_row,
                                     .rewind = due_rewind,
                                     .destroy = due_destroy,
                                     .single = true};
    due_op *due = calloc(1, sizeof *due);
    wp_status st;
    if (!due)
        return wp__fail_nomem(err);
    due->ahead = ahead;
    due->after_us = t->after_us;
    due->after_seq = t->after_seq;
    wp__op_init(&due->base, &cls, store);
    if ((st = wp__store_run(store, conn, &due->base, err)) == WP_OK)
        st = plan_page(t, due, store, err);
    for (size_t i = 0, count = 0; i < due->count && st == WP_OK; i += count) {
        count = some(&due->jobs[i], due->count - i);
        st = advance(made, store, conn, &due->jobs[i], count, err);
    }
    wp__op_fini(&due->base);
    free(due);
    return st;
}

wp_status wp__job_go_on(wp_store *store, wp_error **err)
{
    ticking t = {.after_us = INT64_MIN, .after_seq = -1};
    int64_t next_us = 0;
    size_t made = 0;
    bool ahead = false;
    wp_status st = wp__job_when_due(&next_us, &ahead, store, NULL, err);
    for (int pages = 0; st == WP_OK && ahead && pages < PAGES_AHEAD; pages++)
        if ((st = page(&made, &t, true, store, NULL, err)) == WP_OK)
            st = wp__job_when_due(&next_us, &ahead, store, NULL, err);
    return st;
}

/* One page of jobs at a time: where they come due faster than this makes their runs, those must be handled
 * in between. */
wp_status wp__job_tick(size_t *made, int64_t *next_us, wp_store *store, wp_conn *conn,
                       wp_error **err)
{
    ticking t = {.after_us = INT64_MIN, .after_seq = -1};
    bool ahead = false;
    wp_status st = wp__job_when_due(next_us, &ahead, store, conn, err);
    *made = 0;
    if (st == WP_OK && ahead && (st = page(made, &t, true, store, conn, err)) == WP_OK)
        st = wp__job_when_due(next_us, &ahead, store, conn, err);
    while (st == WP_OK && *next_us <= 0 && !t.moved) {
        st = page(made, &t, false, store, conn, err);
        if (st != WP_OK || !(t.moved || !t.stuck || t.full)) {
            /* what cannot be scheduled hides when the others are due: look again soon */
            *next_us = STUCK_US;
            return st;
        }
        st = wp__job_when_due(next_us, &ahead, store, conn, err);
    }
    return st;
}

wp_status wp_job_schedule_due(size_t *made, wp_store *store, wp_error **err)
{
    size_t count = 0, total = 0;
    int64_t next_us = 0;
    wp_status st = wp__store_check(store, err);
    while (st == WP_OK && next_us <= 0) {
        st = wp__job_tick(&count, &next_us, store, NULL, err);
        total += count;
    }
    if (st == WP_OK && total)
        wp__store_announce(store);
    if (st == WP_OK && made)
        *made = total;
    if (store)
        wp__log_pump(wp__store_log(store));
    return st;
}
