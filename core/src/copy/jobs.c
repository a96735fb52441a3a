/* SPDX-License-Identifier: Apache-2.0 */
/* One job of a move, with all of its runs. It is held in the source and stored in the target, is scheduled in neither
 * meanwhile, and what is to be done after a crash follows from where it is, as with messages: see page.c. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "copy/copy.h"

static const char not_given_back[] = "the target does not give back what was stored there";

static const char gone_there[] = "it was deleted in the target while it was moved";

enum { HERE, THERE, ENDS };

/* What there is of one job. */
typedef struct moving {
    wp_copy *copy;
    const wp__copy_job *jobs[ENDS]; /* NULL: it is not on its way there */
    wp__copy_batch runs;
} moving;

static const wp__copy_end *end_of(const wp_copy *copy, size_t e)
{
    return e == HERE ? &copy->source : &copy->target;
}

static const wp__copy_job *find(const wp__copy_jobs *jobs, const wp_id *id)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (memcmp(&jobs->items[i].id, id, sizeof *id) == 0)
            return &jobs->items[i];
    return NULL;
}

/* ---- its runs ----------------------------------------------------------------------------- */

static void keep_runs_of(wp__copy_items *runs, const wp_id *job)
{
    size_t kept = 0;
    for (size_t i = 0; i < runs->count; i++) {
        if (memcmp(&runs->items[i].job, job, sizeof *job) == 0)
            runs->items[kept++] = runs->items[i];
        else
            free(runs->items[i].why);
    }
    runs->count = kept;
}

static wp_status look(moving *m, wp_error **err)
{
    const wp_id *id = m->jobs[HERE] ? &m->jobs[HERE]->id : &m->jobs[THERE]->id;
    wp_status st;
    m->runs.copy = m->copy;
    m->runs.queue = &wp__job_run;
    wp__copy_batch_clear(&m->runs);
    if ((st = wp__copy_list(&m->runs.there, &m->copy->target, &wp__job_run, err)) != WP_OK ||
        (st = wp__copy_list(&m->runs.here, &m->copy->source, &wp__job_run, err)) != WP_OK)
        return st;
    keep_runs_of(&m->runs.here, id);
    keep_runs_of(&m->runs.there, id);
    wp__copy_batch_match(&m->runs);
    return WP_OK;
}

/* Those of an end, with a status or (-1) all. */
static wp_status seqs_of(wp__copy_seqs *out, const moving *m, size_t e, int64_t status,
                         wp_error **err)
{
    const wp__copy_items *runs = e == HERE ? &m->runs.here : &m->runs.there;
    for (size_t i = 0; i < runs->count; i++)
        if (status < 0 || runs->items[i].status == status)
            wp__copy_seqs_add(out, runs->items[i].seq);
    return out->count ? wp__copy_seqs_end(out, err) : WP_OK;
}

/* ---- what becomes of it ------------------------------------------------------------------- */

static wp_status let_go(moving *m, size_t e, bool dead_ones_only, wp_error **err)
{
    wp__copy_seqs seqs = {0};
    wp_status st = seqs_of(&seqs, m, e, dead_ones_only ? WP_MESSAGE_FAILED : -1, err);
    if (st == WP_OK && (seqs.count || !dead_ones_only)) {
        st = wp__copy_job_free(end_of(m->copy, e), m->jobs[e], &seqs, !dead_ones_only, err);
        wp__store_announce(end_of(m->copy, e)->store);
        st = wp__copy_committed(m->copy, st, err);
    }
    wp__buf_free(&seqs.json);
    return st;
}

static wp_status drop(moving *m, size_t e, int64_t status, wp_error **err)
{
    wp__copy_seqs seqs = {0};
    wp_status st = seqs_of(&seqs, m, e, status, err);
    if (st == WP_OK) {
        st = wp__copy_job_drop(end_of(m->copy, e), m->jobs[e], &seqs, err);
        st = wp__copy_committed(m->copy, st, err);
    }
    wp__buf_free(&seqs.json);
    return st;
}

/* Somebody has deleted the job where it was: what is dead is history there, and the rest goes, as it would have. */
static wp_status forget(moving *m, wp_error **err)
{
    const wp_status st = let_go(m, HERE, true, err);
    return st == WP_OK ? drop(m, HERE, 0, err) : st;
}

/* The copy goes, and the original is as it was. */
static wp_status take_back(moving *m, wp_error **err)
{
    const wp__copy_job *here = m->jobs[HERE], *there = m->jobs[THERE];
    const bool back = here && there && here->arrived && !there->arrived;
    wp_status st;
    if (!here)
        return let_go(m, THERE, false, err);
    if (back) { /* the move that it is of went the other way */
        st = drop(m, HERE, -1, err);
        return st == WP_OK ? let_go(m, THERE, false, err) : st;
    }
    if (there && (st = drop(m, THERE, -1, err)) != WP_OK)
        return st;
    return here->state == WP__COPY_JOB_GONE ? forget(m, err) : let_go(m, HERE, false, err);
}

/* It stays. It may have been deleted since it was looked at, and some of its runs may be there by now. */
static wp_status refuse(moving *m, const char *why, wp_error **err)
{
    const wp__copy_job *was = m->jobs[HERE], *is;
    wp__copy_jobs now = {0};
    wp_status st = wp__copy_note_job(m->copy, was->name, why, err);
    if (st == WP_OK && (st = wp__copy_job_list(&now, &m->copy->source, err)) == WP_OK &&
        (st = look(m, err)) == WP_OK) {
        is = find(&now, &was->id);
        m->jobs[HERE] = is ? is : was;
        st = take_back(m, err);
        m->jobs[HERE] = was;
    }
    wp__copy_jobs_free(&now);
    return st;
}

/* It was changed while it was moved: it is given back, and the next pass moves it as it is then. */
static wp_status try_later(moving *m, const char *why, wp_error **err)
{
    m->copy->changed = true;
    return refuse(m, why, err);
}

/* ---- storing and comparing ---------------------------------------------------------------- */

/* A job as it was read from each end. */
typedef struct readings {
    wp__copy_rows rows[ENDS];
    unsigned char hashes[ENDS][WP__COPY_HASH_BYTES];
    char *why; /* it is refused */
} readings;

static void readings_free(readings *r)
{
    for (size_t e = 0; e < ENDS; e++)
        wp__copy_rows_free(&r->rows[e]);
    free(r->why);
}

static wp_status set_why(readings *r, const char *why, wp_error **err)
{
    r->why = wp__text_dup(why);
    return r->why ? WP_OK : wp__fail_nomem(err);
}

static wp_status read_one(readings *r, const moving *m, size_t e, int64_t seq, wp_error **err)
{
    const wp_status st = wp__copy_job_read(&r->rows[e], end_of(m->copy, e), seq, err);
    return st == WP_OK && r->rows[e].count
               ? wp__copy_row_hash(r->hashes[e], &r->rows[e].items[0], err)
               : st;
}

/* Have the job in the target; its number there. */
static wp_status store_job(int64_t *there, readings *r, moving *m, wp_error **err)
{
    wp_error *cause = NULL;
    wp__copy_row *row;
    const char *fault;
    wp_status st = read_one(r, m, HERE, m->jobs[HERE]->seq, err);
    *there = m->jobs[THERE] ? m->jobs[THERE]->seq : 0;
    if (st == WP_OK && !r->rows[HERE].count)
        return set_why(r, "it was deleted meanwhile", err);
    if (st != WP_OK || *there)
        return st;
    row = &r->rows[HERE].items[0];
    fault = wp__copy_row_fault(row);
    if (fault || (fault = wp__copy_too_large(&m->copy->target, row)))
        return set_why(r, fault, err);
    st = wp__copy_job_put(row, &m->copy->target, &cause);
    if (st != WP_OK && wp__copy_is_refused(&m->copy->target, row, cause)) {
        st = set_why(r, wp_error_message(cause), err);
        wp_error_free(cause);
        return st;
    }
    if (cause)
        wp__error_move(err, cause);
    if (st == WP_OK && !row->there)
        return set_why(r, "the target has a job of its name, or with its id", err);
    *there = row->there;
    return wp__copy_committed(m->copy, st, err);
}

/* The jobs on their way to the target, anew: what became of this one. */
static wp_status state_there(int *state, wp__copy_jobs *there, moving *m, wp_error **err)
{
    wp_status st;
    wp__copy_jobs_free(there);
    st = wp__copy_job_list(there, &m->copy->target, err);
    m->jobs[THERE] = st == WP_OK ? find(there, &m->jobs[HERE]->id) : NULL;
    *state = m->jobs[THERE] ? (int)m->jobs[THERE]->state : WP__COPY_JOB_GONE;
    return st;
}

/* Whether the target gives it back as it was stored; one that was changed there since is that store's business. */
static wp_status compare_job(bool *same, readings *r, wp__copy_jobs *there, moving *m,
                             wp_error **err)
{
    int state = WP__COPY_JOB_HELD;
    wp_status st = read_one(r, m, THERE, m->runs.job, err);
    *same = st == WP_OK && r->rows[HERE].count && r->rows[THERE].count &&
            memcmp(r->hashes[HERE], r->hashes[THERE], WP__COPY_HASH_BYTES) == 0;
    if (st != WP_OK || *same || (st = state_there(&state, there, m, err)) != WP_OK)
        return st;
    if (state == WP__COPY_JOB_GONE)
        return set_why(r, gone_there, err);
    if (state == WP__COPY_JOB_CHANGED) {
        memcpy(r->hashes[THERE], r->hashes[HERE], WP__COPY_HASH_BYTES);
        *same = true;
    }
    return WP_OK;
}

static wp_status why_of_runs(readings *r, const moving *m, wp_error **err)
{
    for (size_t i = 0; i < m->runs.here.count; i++) {
        const wp__copy_item *run = &m->runs.here.items[i];
        wp__buf text = {0};
        char id[37];
        const char *why = run->refused                 ? run->refused
                          : run->held != WP__COPY_KEPT ? "it is not held any more"
                          : !run->there || run->there_held != WP__COPY_KEPT ? not_given_back
                                                                            : NULL;
        if (!why)
            continue;
        wp_id_format(id, &run->id);
        wp__buf_fmt(&text, "its run %s: %s", id, why);
        r->why = wp__buf_take(&text);
        return r->why ? WP_OK : wp__fail_nomem(err);
    }
    return WP_OK;
}

static void count_moved(const moving *m, const readings *r)
{
    wp_copy *copy = m->copy;
    wp__copy_sum_add(&copy->sums[0], r->hashes[HERE]);
    wp__copy_sum_add(&copy->sums[1], r->hashes[THERE]);
    for (size_t i = 0; i < m->runs.here.count; i++) {
        wp__copy_sum_add(&copy->sums[0], m->runs.here.items[i].hash);
        wp__copy_sum_add(&copy->sums[1], m->runs.here.items[i].back);
    }
    copy->counts[wp__queue_index(&wp__job_run)][WP_COPY_MOVED] += (int64_t)m->runs.here.count;
    copy->jobs_moved++;
}

/* The target has what the source has: it is deleted here, and let go there. */
static wp_status part(moving *m, const readings *r, wp_error **err)
{
    wp__copy_seqs seqs = {.as_read = &m->runs.here};
    bool missed = false;
    wp_status st = seqs_of(&seqs, m, HERE, -1, err);
    if (st == WP_OK)
        st = wp__copy_job_settle(&missed, &m->copy->source, m->jobs[HERE], &seqs, err);
    wp__buf_free(&seqs.json);
    if (st == WP_OK && missed)
        return try_later(m, "it was changed, or given a run, while it was moved", err);
    if (st == WP_OK)
        count_moved(m, r);
    if ((st = wp__copy_committed(m->copy, st, err)) != WP_OK || (st = look(m, err)) != WP_OK)
        return st;
    return let_go(m, THERE, false, err);
}

/* Compare; and take it back where something differs. */
static wp_status verify_or_take_back(moving *m, readings *r, wp__copy_jobs *there, wp_error **err)
{
    bool same = true;
    wp_status st = wp__copy_batch_verify(&m->runs, err);
    if (st == WP_OK)
        st = compare_job(&same, r, there, m, err);
    if (!m->runs.differs && (st != WP_OK || same || r->why))
        return st;
    if (look(m, NULL) == WP_OK)
        (void)take_back(m, NULL); /* else the next one does */
    return st != WP_OK ? st
                       : wp__fail(err, WP_E_DB,
                                  "job \"%s\": what the target gives back is not what was stored "
                                  "there: nothing is deleted in the source",
                                  m->jobs[HERE]->name);
}

/* Store it and its runs, compare them, and part. `there`: to be filled. */
static wp_status move_on(moving *m, readings *r, wp__copy_jobs *there, wp_error **err)
{
    int state = WP__COPY_JOB_HELD;
    wp_status st = store_job(&m->runs.job, r, m, err);
    if (st != WP_OK || r->why)
        return st == WP_OK ? refuse(m, r->why, err) : st;
    if ((st = state_there(&state, there, m, err)) != WP_OK)
        return st;
    if (state == WP__COPY_JOB_GONE)
        return refuse(m, gone_there, err);
    if ((st = wp__copy_batch_store(&m->runs, err)) != WP_OK ||
        (st = why_of_runs(r, m, err)) != WP_OK)
        return st;
    if (r->why)
        return refuse(m, r->why, err);
    if ((st = verify_or_take_back(m, r, there, err)) != WP_OK ||
        (!r->why && (st = why_of_runs(r, m, err)) != WP_OK))
        return st;
    if (m->runs.missed || r->why)
        return try_later(m, r->why ? r->why : not_given_back, err);
    return part(m, r, err);
}

/* ---- the page ----------------------------------------------------------------------------- */

/* One that is on its way in the source. */
static wp_status resolve(moving *m, wp_error **err)
{
    const wp__copy_job *here = m->jobs[HERE], *there = m->jobs[THERE];
    readings r = {0};
    wp__copy_jobs fresh = {0};
    wp_status st;
    if ((here->arrived && there && !there->arrived) || here->state == WP__COPY_JOB_GONE)
        return take_back(m, err);
    if (here->arrived && !there) /* it came from there, whole: it is this store's, and taken anew */
        return let_go(m, HERE, false, err);
    if (here->state == WP__COPY_JOB_CHANGED)
        return try_later(m, "it was changed while it was moved", err);
    if (there && there->state == WP__COPY_JOB_GONE)
        return refuse(m, gone_there, err);
    st = move_on(m, &r, &fresh, err);
    readings_free(&r);
    wp__copy_jobs_free(&fresh);
    return st;
}

typedef wp_status (*on_job)(moving *m, wp_error **err);

/* Do something with each that is on its way; how many jobs and runs these were. The target is read first. */
static wp_status each_on_its_way(int64_t *count, wp_copy *copy, on_job fn, wp_error **err)
{
    wp__copy_jobs jobs[ENDS] = {{0}};
    wp_status st;
    *count = 0;
    if ((st = wp__copy_job_list(&jobs[THERE], &copy->target, err)) == WP_OK)
        st = wp__copy_job_list(&jobs[HERE], &copy->source, err);
    for (size_t e = ENDS; e-- > 0 && st == WP_OK;) /* first those that are in the target alone */
        for (size_t i = 0; i < jobs[e].count && st == WP_OK; i++) {
            const wp__copy_job *job = &jobs[e].items[i];
            moving m = {.copy = copy};
            m.jobs[e] = job;
            m.jobs[!e] = find(&jobs[!e], &job->id);
            if (e == THERE && m.jobs[HERE])
                continue;
            if ((st = look(&m, err)) == WP_OK) {
                *count += 1 + (int64_t)(e == HERE ? m.runs.here.count : m.runs.there.count);
                st = e == HERE ? fn(&m, err) : take_back(&m, err);
            }
            wp__copy_batch_clear(&m.runs);
        }
    for (size_t e = 0; e < ENDS; e++)
        wp__copy_jobs_free(&jobs[e]);
    return st;
}

static const char running[] = "one of its runs is running";

/* Hold the next one that can be. */
static wp_status take(bool *taken, wp_copy *copy, wp_error **err)
{
    wp_status st = WP_OK;
    *taken = false;
    while (st == WP_OK && !*taken) {
        wp__copy_jobs next = {0};
        bool busy = false;
        st = wp__copy_job_find(&next, &busy, &copy->source, copy->place.seq, err);
        if (st != WP_OK || !next.count) {
            wp__copy_jobs_free(&next);
            break;
        }
        copy->place.seq = next.items[0].seq;
        if (!busy)
            st = wp__copy_job_take(&busy, &copy->source, &next.items[0], copy->dead, err);
        if (st == WP_OK && busy)
            st = wp__copy_note_job(copy, next.items[0].name, running, err);
        else
            st = wp__copy_committed(copy, st, err);
        *taken = st == WP_OK && !busy;
        wp__copy_jobs_free(&next);
    }
    return st;
}

wp_status wp__copy_job_page(bool *more, wp_copy *copy, wp_error **err)
{
    int64_t count = 0;
    bool taken = false;
    wp_status st = each_on_its_way(&count, copy, resolve, err);
    if (st == WP_OK && !count && (st = take(&taken, copy, err)) == WP_OK && taken)
        st = each_on_its_way(&count, copy, resolve, err);
    *more = count > 0 || taken;
    return st;
}

wp_status wp__copy_give_up_jobs(int64_t *let_go, wp_copy *copy, wp_error **err)
{
    int64_t count = 0;
    const wp_status st = each_on_its_way(&count, copy, take_back, err);
    if (st == WP_OK)
        *let_go += count;
    return st;
}
