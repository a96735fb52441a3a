/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of moving jobs, with their runs, to another store: what is planned is run once, whatever happens meanwhile. */
#include <inttypes.h>
#include <waypost/dead.h>

#include "base/thread.h"
#include "copy_bed.h"

enum { MINUTE_MS = 60000, LOG = 8000 };
#define MINUTE_US INT64_C(60000000)

/* Every minute; none that was missed is left out. */
static wp_job *minutely(const char *name, const char *payload)
{
    wp_job *job = NULL;
    WPT_OK(wp_job_new(&job, name, "t", payload, strlen(payload), WPT_ERR));
    WPT_OK(wp_job_set_schedule(job, "* * * * *", NULL, WPT_ERR));
    WPT_OK(wp_job_set_misfire(job, WP_MISFIRE_CATCH_UP, MINUTE_MS, 100, WPT_ERR));
    return job;
}

static void put(wp_store *store, WP_OWN wp_job *job)
{
    WPT_OK(wp_job_put(store, job, WPT_ERR));
    wp_job_free(job);
}

static void put_once(wp_store *store, const char *name, int64_t in_ms, const wp_clock *clock)
{
    wp_job *job = NULL;
    WPT_OK(wp_job_new(&job, name, "t", name, strlen(name), WPT_ERR));
    WPT_OK(wp_job_set_once_us(job, wp_clock_utc_us(clock) + in_ms * 1000, WPT_ERR));
    put(store, job);
}

static bool has_job(wp_store *store, const char *name)
{
    wp_jobs *jobs = NULL;
    const bool has = wp_job_get(&jobs, store, name, NULL) == WP_OK;
    wp_jobs_free(jobs);
    return has;
}

static bool is_enabled(wp_store *store, const char *name)
{
    wp_jobs *jobs = NULL;
    bool enabled;
    WPT_OK(wp_job_get(&jobs, store, name, WPT_ERR));
    enabled = wp_job_info_enabled(wp_jobs_at(jobs, 0)) != 0;
    wp_jobs_free(jobs);
    return enabled;
}

/* Claim the next run; NULL: there is none. */
static wp_claim *claim(wp_store *store)
{
    const wp_id owner = wpt_owner(1);
    wp_claim *claim = NULL;
    WPT_OK(wp_job_run_claim(&claim, store, &owner, NULL, 0, 1, MINUTE_MS * 60, WPT_ERR));
    if (wp_claim_count(claim))
        return claim;
    wp_claim_free(claim);
    return NULL;
}

static void end_run(wp_store *store, wp_claim *claim, const char *reason)
{
    const wp_id owner = wpt_owner(1);
    const wp_id *id = wp_received_id(wp_claim_at(claim, 0));
    size_t changed = 0;
    if (reason)
        WPT_OK(wp_job_run_fail(&changed, store, NULL, &owner, id, NULL, 1, reason, WPT_ERR));
    else
        WPT_OK(wp_job_run_ack(&changed, store, NULL, &owner, id, NULL, 1, "w", WPT_ERR));
    assert_int_equal(changed, 1);
    wp_claim_free(claim);
}

/* What a worker does: make what is due, and run it. Appends "<payload>@<minute>," for each run. */
static void work(char *out, wp_store *store)
{
    size_t len = strlen(out);
    wp_claim *run;
    WPT_OK(wp_job_schedule_due(NULL, store, WPT_ERR));
    while ((run = claim(store))) {
        const wp_received *message = wp_claim_at(run, 0);
        const int64_t minute = (wp_received_due_us(message) - WPT_START_US) / MINUTE_US;
        assert_true(len + 60 < LOG);
        len += (size_t)snprintf(out + len, LOG - len, "%s@%" PRId64 ",",
                                wp_received_payload(NULL, message), minute);
        end_run(store, run, NULL);
    }
}

static void work_on_both(char *out, pair *p)
{
    work(out, p->to);
    work(out, p->from);
}

static size_t times(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

static void pass_minute(pair *p)
{
    wpt_advance_ms(p->b->clock, MINUTE_MS);
}

static int64_t minute_of(pair *p)
{
    return (wp_clock_utc_us(p->b->clock) - WPT_START_US) / MINUTE_US;
}

/* Each of these minutes was run once, and no other one. */
static void ran_each_minute(const char *log, const char *payload, int64_t first, int64_t last)
{
    char part[40];
    for (int64_t minute = first; minute <= last; minute++) {
        (void)snprintf(part, sizeof part, "%s@%" PRId64 ",", payload, minute);
        if (times(log, part) != 1)
            fail_msg("%s was run %zu times: %s", part, times(log, part), log);
    }
    (void)snprintf(part, sizeof part, "%s@", payload);
    assert_int_equal(times(log, part), last - first + 1);
}

static size_t dead_of(wp_store *store)
{
    wp_dead_list *list = NULL;
    size_t count;
    WPT_OK(wp_dead_list_read(&list, store, WP_SOURCE_JOB, NULL, NULL, 100, WPT_ERR));
    count = wp_dead_list_count(list);
    wp_dead_list_free(list);
    return count;
}

/* ---- what is moved ------------------------------------------------------------------------ */

static void same_text(const char *a, const char *b)
{
    assert_true((a == NULL) == (b == NULL));
    if (a)
        assert_string_equal(a, b);
}

static void same_job(const wp_job_info *a, const wp_job_info *b)
{
    same_text(wp_job_info_name(a), wp_job_info_name(b));
    same_text(wp_job_info_topic(a), wp_job_info_topic(b));
    same_text(wp_job_info_payload(a), wp_job_info_payload(b));
    same_text(wp_job_info_expression(a), wp_job_info_expression(b));
    same_text(wp_job_info_zone(a), wp_job_info_zone(b));
    same_text(wp_job_info_registrar(a), wp_job_info_registrar(b));
    assert_int_equal(wp_job_info_enabled(a), wp_job_info_enabled(b));
    assert_int_equal(wp_job_info_vanished(a), wp_job_info_vanished(b));
    assert_int_equal(wp_job_info_overlap(a), wp_job_info_overlap(b));
    assert_int_equal(wp_job_info_misfire_ms(a), wp_job_info_misfire_ms(b));
    assert_int_equal(wp_job_info_timeout_ms(a), wp_job_info_timeout_ms(b));
    assert_int_equal(wp_job_info_max_attempts(a), wp_job_info_max_attempts(b));
    assert_int_equal(wp_job_info_next_due_us(a), wp_job_info_next_due_us(b));
}

/* Definition, next instant, waiting and dead runs; also of those that are disabled, or in nobody's code any more. */
static void keeps_all(pair *p)
{
    static const char *const names[] = {"a", "b\xF0\x9F\x98\x80'; --", "c", "o"};
    wp_jobs *before[WPT_COUNT(names)] = {NULL};
    wp_job *job = minutely(names[1], "p\xC3\xA4");
    char log[LOG] = "";
    wp_copy *copy;
    wp_claim *run;
    put(p->from, minutely("a", "a"));
    WPT_OK(wp_job_set_schedule(job, "30 4 * * *", "Europe/Berlin", WPT_ERR));
    WPT_OK(wp_job_set_timeout_ms(job, 1234, WPT_ERR));
    WPT_OK(wp_job_set_retry(job, 3, 10, 20, WPT_ERR));
    put(p->from, job);
    job = minutely("c", "c");
    WPT_OK(wp_job_register(p->from, "code", (const wp_job *const[]){job}, 1, WPT_ERR));
    WPT_OK(wp_job_register(p->from, "code", NULL, 0, WPT_ERR)); /* it has vanished */
    wp_job_free(job);
    put_once(p->from, "o", 5 * MINUTE_MS, p->b->clock);
    WPT_OK(wp_job_set_enabled(p->from, names[1], 0, WPT_ERR));
    pass_minute(p);
    WPT_OK(wp_job_schedule_due(NULL, p->from, WPT_ERR));
    run = claim(p->from);
    assert_non_null(run);
    end_run(p->from, run, "why");
    WPT_OK(wp_job_trigger(NULL, p->from, "a", WPT_ERR));
    pass_minute(p);
    WPT_OK(wp_job_schedule_due(NULL, p->from, WPT_ERR));
    for (size_t i = 0; i < WPT_COUNT(names); i++)
        WPT_OK(wp_job_get(&before[i], p->from, names[i], WPT_ERR));
    copy = cb_copy(p);
    WPT_OK(wp_copy_look(copy, WPT_ERR));
    assert_int_equal(wp_copy_jobs(copy), 4);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_JOB, WP_COPY_WAITING), 2);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_JOB, WP_COPY_DEAD), 1);
    cb_run(copy);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_JOB, WP_COPY_MOVED), 3);
    assert_int_equal(wp_copy_jobs_moved(copy), 4);
    assert_int_equal(wp_copy_jobs(copy), 0);
    assert_int_equal(wp_copy_refused_count(copy), 0);
    assert_string_equal(wp_copy_checksum(copy, 0), wp_copy_checksum(copy, 1));
    wp_copy_free(copy);
    for (size_t i = 0; i < WPT_COUNT(names); i++) {
        wp_jobs *after = NULL;
        WPT_OK(wp_job_get(&after, p->to, names[i], WPT_ERR));
        same_job(wp_jobs_at(before[i], 0), wp_jobs_at(after, 0));
        assert_false(has_job(p->from, names[i]));
        wp_jobs_free(after);
        wp_jobs_free(before[i]);
    }
    assert_int_equal(dead_of(p->from), 0);
    assert_int_equal(dead_of(p->to), 1);
    work(log, p->from);
    assert_string_equal(log, "");
    work(log, p->to);
    assert_string_equal(
        log, "a@1,a@2,"); /* the trigger's is due when it was made; then the schedule's */
    {
        size_t replayed = 0;
        WPT_OK(wp_dead_replay(&replayed, p->to, WP_SOURCE_JOB, NULL, 10, 0, NULL, WPT_ERR));
        assert_int_equal(replayed, 1);
    }
    work(log, p->to);
    assert_string_equal(log, "a@1,a@2,a@1,");
    for (int i = 0; i < 4; i++)
        pass_minute(p);
    work(log, p->to);
    ran_each_minute(log, "o", 5, 5);
    assert_int_equal(times(log, "p\xC3\xA4"), 0);
    assert_int_equal(times(log, "c@"), 0);
    assert_int_equal(cb_move(p), 0);
}

/* ---- what stays --------------------------------------------------------------------------- */

static void leaves_running_ones(pair *p)
{
    wp_copy *copy = cb_copy(p);
    char log[LOG] = "";
    wp_claim *run;
    put(p->from, minutely("a", "a"));
    put(p->from, minutely("b", "b"));
    pass_minute(p);
    WPT_OK(wp_job_schedule_due(NULL, p->from, WPT_ERR));
    run = claim(p->from);
    cb_run(copy);
    assert_int_equal(wp_copy_jobs_moved(copy), 1);
    assert_int_equal(wp_copy_jobs(copy), 1);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_JOB, WP_COPY_HELD), 1);
    assert_int_equal(wp_copy_refused_count(copy), 1);
    assert_non_null(strstr(wp_copy_refused_at(copy, 0), "running"));
    wp_copy_free(copy);
    pass_minute(p);
    WPT_OK(wp_job_schedule_due(NULL, p->from, WPT_ERR));
    (void)snprintf(log, sizeof log, "%s@1,", wp_received_payload(NULL, wp_claim_at(run, 0)));
    end_run(p->from, run, NULL);
    assert_int_equal(cb_move(p), 1); /* with its next run */
    pass_minute(p);
    work_on_both(log, p);
    ran_each_minute(log, "a", 1, 3);
    ran_each_minute(log, "b", 1, 3);
}

static void leaves_known_names(pair *p)
{
    wp_copy *copy = cb_copy(p);
    char log[LOG] = "";
    put(p->from, minutely("a", "old"));
    put(p->from, minutely("b", "b"));
    put(p->to, minutely("a", "new"));
    pass_minute(p);
    WPT_OK(wp_job_schedule_due(NULL, p->from, WPT_ERR));
    cb_run(copy);
    assert_int_equal(wp_copy_jobs_moved(copy), 1);
    assert_int_equal(wp_copy_jobs(copy), 1);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_JOB, WP_COPY_WAITING), 1);
    assert_int_equal(wp_copy_refused_count(copy), 1);
    assert_non_null(strstr(wp_copy_refused_at(copy, 0), "job \"a\": the target has a job"));
    wp_copy_free(copy);
    pass_minute(p);
    work_on_both(log, p);
    ran_each_minute(log, "old", 1, 2);
    ran_each_minute(log, "new", 1, 2);
    ran_each_minute(log, "b", 1, 2);
}

static void leaves_dead_runs_if_told(pair *p)
{
    wp_copy *copy = cb_copy(p);
    put(p->from, minutely("a", "a"));
    pass_minute(p);
    WPT_OK(wp_job_schedule_due(NULL, p->from, WPT_ERR));
    end_run(p->from, claim(p->from), "why");
    WPT_OK(wp_copy_set_dead_letters(copy, 0, WPT_ERR));
    cb_run(copy);
    assert_int_equal(wp_copy_jobs_moved(copy), 1);
    wp_copy_free(copy);
    assert_int_equal(dead_of(p->from), 1);
    assert_int_equal(dead_of(p->to), 0);
}

/* ---- what goes wrong ---------------------------------------------------------------------- */

/* Three jobs: one that runs each minute and has runs that wait and one that is dead, one that runs once, one that is disabled.
 * The first minute that is run. */
static int64_t prepare(pair *p, int64_t round)
{
    char name[32];
    const int64_t first = minute_of(p) + 2; /* one before it is dead */
    wp_claim *run;
    (void)snprintf(name, sizeof name, "a%" PRId64, round);
    put(p->from, minutely(name, "a"));
    pass_minute(p);
    WPT_OK(wp_job_schedule_due(NULL, p->from, WPT_ERR));
    run = claim(p->from);
    assert_non_null(run);
    end_run(p->from, run, "why");
    for (int i = 0; i < 2; i++) {
        pass_minute(p);
        WPT_OK(wp_job_schedule_due(NULL, p->from, WPT_ERR));
    }
    (void)snprintf(name, sizeof name, "o%" PRId64, round);
    put_once(p->from, name, 2 * MINUTE_MS, p->b->clock);
    (void)snprintf(name, sizeof name, "c%" PRId64, round);
    put(p->from, minutely(name, "c"));
    WPT_OK(wp_job_set_enabled(p->from, name, 0, WPT_ERR));
    return first;
}

static void check(pair *p, const char *log, int64_t round, int64_t first)
{
    char once[40];
    (void)snprintf(once, sizeof once, "o%" PRId64, round);
    ran_each_minute(log, "a", first, minute_of(p));
    ran_each_minute(log, once, first + 3, first + 3);
    assert_int_equal(times(log, "c@"), 0);
    assert_int_equal(dead_of(p->from) + dead_of(p->to), 1);
}

/* So that the next round stops at the same places. */
static void clean(pair *p, int64_t round)
{
    static const char kinds[] = "aoc";
    wp_store *stores[] = {p->from, p->to};
    size_t purged = 0, dead = 0;
    for (size_t i = 0; i < sizeof kinds - 1; i++)
        for (size_t s = 0; s < 2; s++) {
            char name[32];
            (void)snprintf(name, sizeof name, "%c%" PRId64, kinds[i], round);
            WPT_OK(wp_job_delete(NULL, stores[s], name, WPT_ERR));
        }
    for (size_t s = 0; s < 2; s++) {
        WPT_OK(wp_dead_purge(&purged, stores[s], WP_SOURCE_JOB, NULL, 100, WPT_ERR));
        dead += purged;
    }
    assert_int_equal(dead, 1);
}

/* The process dies after so many transactions, or comes to the end. */
static wp_status move_until(pair *p, int after)
{
    wp_copy *copy = cb_copy(p);
    wp_status st = WP_OK;
    wp__copy_stop_after(copy, after);
    for (int more = 1; more && st == WP_OK;)
        st = wp_copy_step(&more, copy, WPT_ERR);
    assert_true(st == WP_OK || st == WP_E_STOPPED);
    wp_copy_free(copy);
    return st;
}

/* The process dies after each transaction in turn; workers make and run in both stores what they can. */
static void dies_anywhere(pair *p)
{
    bool whole = p->b->engine->again; /* then another bed does this with the same SQL */
    for (int64_t after = 0; !whole; after++) {
        char log[LOG] = "", name[32];
        const int64_t first = prepare(p, after);
        wp_copy *copy;
        assert_true(after < 40);
        whole = move_until(p, (int)after) == WP_OK;
        for (int i = 0; i < 3; i++) {
            work_on_both(log, p);
            pass_minute(p);
        }
        (void)cb_move(p);
        for (int i = 0; i < 2; i++) {
            work_on_both(log, p);
            pass_minute(p);
        }
        work_on_both(log, p);
        check(p, log, after, first);
        copy = cb_copy(p);
        cb_run(copy);
        assert_int_equal(wp_copy_jobs(copy), 0);
        assert_int_equal(wp_copy_refused_count(copy), 0);
        wp_copy_free(copy);
        (void)snprintf(name, sizeof name, "c%" PRId64, after);
        assert_false(is_enabled(p->to, name));
        assert_int_equal(dead_of(p->to), 1);
        clean(p, after);
    }
}

/* And is given up then, from either side, which may die, too. */
static void gives_up_anywhere(pair *p)
{
    pair back = {.b = p->b, .from = p->to, .to = p->from};
    const int most = p->b->engine->again ? 3 : 40;
    bool whole = false;
    for (int after = 0; !whole && after < most; after++) {
        char log[LOG] = "";
        const int64_t first = prepare(p, after);
        wp_copy *copy;
        wp_status st;
        int64_t let_go = -1;
        whole = move_until(p, after) == WP_OK;
        copy = cb_copy(after % 3 ? p : &back);
        wp__copy_stop_after(copy, after % 2);
        st = wp_copy_cancel(NULL, copy, WPT_ERR);
        assert_true(st == WP_OK || st == WP_E_STOPPED);
        wp_copy_free(copy);
        work_on_both(log, p);
        pass_minute(p);
        copy = cb_copy(after % 3 ? p : &back);
        WPT_OK(wp_copy_cancel(&let_go, copy, WPT_ERR));
        WPT_OK(wp_copy_cancel(&let_go, copy, WPT_ERR));
        assert_int_equal(let_go, 0);
        assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_HELD), 0);
        wp_copy_free(copy);
        for (int i = 0; i < 3; i++) {
            work_on_both(log, p);
            pass_minute(p);
        }
        work_on_both(log, p);
        check(p, log, after, first);
        clean(p, after);
    }
    assert_true(whole || p->b->engine->again);
}

/* There, part of the way back, and given up: what came whole is not given up for what came back in part. */
static void gives_up_the_way_back(pair *p)
{
    pair back = {.b = p->b, .from = p->to, .to = p->from};
    if (p->b->engine->again)
        return;
    for (int n = 0; n < 12; n++) {
        char log[LOG] = "";
        const int64_t first = prepare(p, n);
        int64_t let_go = -1;
        wp_copy *copy;
        (void)move_until(p, n / 4 + 3);
        (void)move_until(&back, n % 4);
        copy = cb_copy(p);
        WPT_OK(wp_copy_cancel(NULL, copy, WPT_ERR));
        WPT_OK(wp_copy_cancel(&let_go, copy, WPT_ERR));
        assert_int_equal(let_go, 0);
        wp_copy_free(copy);
        for (int i = 0; i < 4; i++) {
            work_on_both(log, p);
            pass_minute(p);
        }
        work_on_both(log, p);
        check(p, log, n, first);
        clean(p, n);
    }
}

/* ---- what happens meanwhile --------------------------------------------------------------- */

typedef enum event {
    REGISTERED_THERE, /* the same, by the code of the target's program */
    CHANGED_THERE,
    TRIGGERED_HERE,
    TRIGGERED_THERE,
    DISABLED_HERE,
    DISABLED_THERE,
    DELETED_HERE,
    CHANGED_HERE,
    CANCELLED_HERE, /* the run that waits */
    EVENTS
} event;

typedef struct meanwhile {
    pair *p;
    event event;
    int after; /* so many transactions */
    bool happened;
    char name[32];
    wp_id run; /* that waits */
} meanwhile;

static bool is_here(event what)
{
    return what == TRIGGERED_HERE || what == DISABLED_HERE || what == DELETED_HERE ||
           what == CHANGED_HERE || what == CANCELLED_HERE;
}

static void happen(void *user)
{
    meanwhile *m = user;
    wp_store *store = is_here(m->event) ? m->p->from : m->p->to;
    wp_job *job;
    int yes = 0;
    if (m->after-- != 0)
        return;
    if (m->event == CANCELLED_HERE) {
        m->happened = wp_job_run_cancel(&yes, m->p->from, &m->run, NULL) == WP_OK && yes;
        return;
    }
    if (!has_job(store, m->name))
        return;
    job = minutely(m->name, m->event == CHANGED_HERE || m->event == CHANGED_THERE ? "new" : "a");
    switch (m->event) {
    case REGISTERED_THERE:
    case CHANGED_THERE:
    case CHANGED_HERE:
        WPT_OK(wp_job_put(store, job, WPT_ERR));
        m->happened = true;
        break;
    case TRIGGERED_HERE:
    case TRIGGERED_THERE:
        m->happened = wp_job_trigger(NULL, store, m->name, NULL) == WP_OK;
        break;
    case DISABLED_HERE:
    case DISABLED_THERE:
        WPT_OK(wp_job_set_enabled(store, m->name, 0, WPT_ERR));
        m->happened = true;
        break;
    default:
        WPT_OK(wp_job_delete(NULL, store, m->name, WPT_ERR));
        m->happened = true;
        break;
    }
    wp_job_free(job);
}

static wp_id waiting_run(wp_store *store, const char *name)
{
    wp_job_runs *runs = NULL;
    wp_id id;
    WPT_OK(wp_job_run_list(&runs, store, name, NULL, 1, WPT_ERR));
    assert_int_equal(wp_job_runs_count(runs), 1);
    id = *wp_job_run_id(wp_job_runs_at(runs, 0));
    wp_job_runs_free(runs);
    return id;
}

/* Whatever anybody does with the job between any two transactions, in either store. */
static bool heeds(pair *p, event what, int after)
{
    meanwhile m = {.p = p, .event = what, .after = after};
    const int64_t first = minute_of(p) + 1;
    wp_copy *copy = cb_copy(p);
    char log[LOG] = "", part[40];
    size_t runs = 0;
    (void)snprintf(m.name, sizeof m.name, "%d-%d", (int)what, after);
    put(p->from, minutely(m.name, "a"));
    pass_minute(p);
    WPT_OK(wp_job_schedule_due(NULL, p->from, WPT_ERR));
    m.run = waiting_run(p->from, m.name);
    wp__copy_do_between(copy, happen, &m);
    cb_run(copy);
    assert_string_equal(wp_copy_checksum(copy, 0), wp_copy_checksum(copy, 1));
    wp_copy_free(copy);
    work_on_both(log, p);
    pass_minute(p);
    work_on_both(log, p);
    for (int64_t minute = first; minute <= first + 1; minute++) {
        (void)snprintf(part, sizeof part, "@%" PRId64 ",", minute);
        runs = times(log, part);
        if ((what == TRIGGERED_HERE || what == TRIGGERED_THERE) && m.happened && minute == first)
            assert_int_equal(runs, 2);
        else if (m.happened && (what == DISABLED_HERE || what == DISABLED_THERE))
            assert_int_equal(runs, minute == first);
        else if (m.happened && what == DELETED_HERE)
            assert_int_equal(runs, 0);
        else if (m.happened && what == CANCELLED_HERE && minute == first)
            assert_int_equal(runs, 0);
        else if (runs != 1)
            fail_msg("event %d after %d: %s was run %zu times: %s", (int)what, after, part, runs,
                     log);
    }
    assert_false(has_job(p->from, m.name) && has_job(p->to, m.name));
    copy = cb_copy(p); /* nothing is left behind */
    cb_run(copy);
    assert_int_equal(wp_copy_jobs(copy), 0);
    wp_copy_free(copy);
    WPT_OK(wp_job_delete(NULL, p->to, m.name, WPT_ERR));
    return m.happened;
}

/* A run that was cancelled when the move had died is not run in the target. */
static void heeds_cancels_when_it_has_died(pair *p)
{
    int cancelled = 0;
    for (int after = 0; after < 6; after++) {
        char name[32], log[LOG] = "", part[40];
        const int64_t first = minute_of(p) + 1;
        int yes = 0;
        wp_id run;
        (void)snprintf(name, sizeof name, "died-%d", after);
        put(p->from, minutely(name, "a"));
        pass_minute(p);
        WPT_OK(wp_job_schedule_due(NULL, p->from, WPT_ERR));
        run = waiting_run(p->from, name);
        (void)move_until(p, after);
        if (wp_job_run_cancel(&yes, p->from, &run, NULL) != WP_OK)
            yes = 0; /* it is not there any more */
        cancelled += yes;
        (void)cb_move(p);
        work_on_both(log, p);
        (void)snprintf(part, sizeof part, "a@%" PRId64 ",", first);
        assert_int_equal(times(log, part), yes ? 0 : 1);
        WPT_OK(wp_job_delete(NULL, p->to, name, WPT_ERR));
    }
    assert_true(cancelled >= 2);
}

static void heeds_what_happens_meanwhile(pair *p)
{
    const int events = p->b->engine->again ? CHANGED_THERE : EVENTS;
    for (int what = 0; what < events; what++) {
        int happened = 0;
        if (is_here((event)what) != (p->from == p->b->store)) /* the other way has the same SQL */
            continue;
        for (int after = 0; after < 5; after++)
            happened += heeds(p, (event)what, after);
        assert_true(happened >= 1);
    }
}

/* Deleted in the target before it is let go there: it is the source's again. */
static void is_deleted_in_the_target(pair *p)
{
    wp_copy *copy;
    char log[LOG] = "";
    put(p->from, minutely("a", "a"));
    pass_minute(p);
    WPT_OK(wp_job_schedule_due(NULL, p->from, WPT_ERR));
    assert_int_equal(move_until(p, 2), WP_E_STOPPED);
    WPT_OK(wp_job_delete(NULL, p->to, "a", WPT_ERR));
    copy = cb_copy(p);
    cb_run(copy);
    wp_copy_free(copy);
    work_on_both(log, p);
    pass_minute(p);
    work_on_both(log, p);
    ran_each_minute(log, "a", 1, 2);
}

typedef struct mover {
    pair *p;
    wp_status st;
    wp__thread thread;
} mover;

static void *move_main(void *arg)
{
    mover *m = arg;
    wp_copy *copy = NULL;
    m->st = wp_copy_new(&copy, m->p->from, m->p->to, NULL);
    for (int more = 1; more && m->st == WP_OK;) {
        wp_error *err = NULL;
        m->st = wp_copy_step(&more, copy, &err);
        if (m->st != WP_OK && wp_error_retriable(err))
            m->st = WP_OK;
        wp_error_free(err);
    }
    wp_copy_free(copy);
    return NULL;
}

/* The app has triggered it and not committed yet when it is to be deleted in the source. */
static void waits_for_the_apps_trigger(pair *p)
{
    bed *b = p->b;
    mover m = {.p = p};
    wp_copy *copy = cb_copy(p);
    char log[LOG] = "";
    wp_status st = WP_OK;
    put(p->from, minutely("a", "a"));
    wp__copy_stop_after(copy, 0);
    for (int more = 1; more && st == WP_OK;)
        st = wp_copy_step(&more, copy, WPT_ERR);
    WPT_STATUS(st, WP_E_STOPPED);
    wp_copy_free(copy);
    bed_exec(b, b->engine->begin);
    WPT_OK(wp_job_trigger_in(NULL, b->store, b->conn, "a", WPT_ERR));
    WPT_OK(wp__thread_start(&m.thread, "mover", move_main, &m, WPT_ERR));
    if (!b->engine->one_writer)
        WPT_AWAIT(has_job(p->to, "a"));
    bed_exec(b, b->engine->commit);
    wp__thread_join(&m.thread);
    WPT_STATUS(m.st, WP_OK);
    (void)cb_move(p);
    work_on_both(log, p);
    ran_each_minute(log, "a", 0, 0);
}

/* A one-time job that is on its way is neither replaced by another one of its name nor forgotten when it is disabled. */
static void keeps_one_time_jobs(pair *p)
{
    wp_copy *copy = cb_copy(p);
    char log[LOG] = "";
    wp_job *other = NULL;
    wp_status st = WP_OK;
    put_once(p->from, "o", 2 * MINUTE_MS, p->b->clock);
    wp__copy_stop_after(copy, 0);
    for (int more = 1; more && st == WP_OK;)
        st = wp_copy_step(&more, copy, WPT_ERR);
    wp_copy_free(copy);
    WPT_OK(wp_job_new(&other, "o", "t", "other", 5, WPT_ERR));
    WPT_OK(wp_job_set_once_us(other, WPT_START_US + 3 * MINUTE_US, WPT_ERR));
    WPT_STATUS(wp_job_put(p->from, other, WPT_ERR), WP_E_STATE);
    wp_job_free(other);
    WPT_OK(wp_job_set_enabled(p->from, "o", 0, WPT_ERR));
    assert_int_equal(cb_move(p), 0);
    for (int i = 0; i < 3; i++)
        pass_minute(p);
    work_on_both(log, p);
    assert_string_equal(log, "");
    WPT_OK(wp_job_set_enabled(p->to, "o", 1, WPT_ERR));
    work_on_both(log, p);
    ran_each_minute(log, "o", 2, 2);
}

#define BOTH_WAYS(name, scenario)                                                                  \
    static void test_copy_job__to_a_file__##name(void **state)                                     \
    {                                                                                              \
        cb_with_pair(state, TO_FILE, scenario);                                                    \
    }                                                                                              \
    static void test_copy_job__from_a_file__##name(void **state)                                   \
    {                                                                                              \
        cb_with_pair(state, FROM_FILE, scenario);                                                  \
    }

/* proves: CLI-001 */
static void test_copy_job__to_a_file__hostile_and_disabled__arrive_as_they_were(void **state)
{
    cb_with_pair(state, TO_FILE, keeps_all);
}

/* proves: CLI-001 */
static void test_copy_job__from_a_file__hostile_and_disabled__arrive_as_they_were(void **state)
{
    cb_with_pair(state, FROM_FILE, keeps_all);
}

/* proves: CLI-001 */
static void test_copy_job__to_a_file__the_process_dies_anywhere__each_is_run_once(void **state)
{
    cb_with_pair(state, TO_FILE, dies_anywhere);
}

/* proves: CLI-001 */
static void test_copy_job__from_a_file__the_process_dies_anywhere__each_is_run_once(void **state)
{
    cb_with_pair(state, FROM_FILE, dies_anywhere);
}

/* proves: CLI-001 */
static void
test_copy_job__to_another_schema__the_process_dies_anywhere__each_is_run_once(void **state)
{
    cb_with_pair(state, TO_SCHEMA, dies_anywhere);
}

/* proves: CLI-001 */
static void test_copy_job__to_a_file__given_up_anywhere__each_is_run_once(void **state)
{
    cb_with_pair(state, TO_FILE, gives_up_anywhere);
}

/* proves: CLI-001 */
static void test_copy_job__from_a_file__given_up_anywhere__each_is_run_once(void **state)
{
    cb_with_pair(state, FROM_FILE, gives_up_anywhere);
}

/* proves: CLI-001 */
static void test_copy_job__to_a_file__changed_meanwhile__each_is_run_once(void **state)
{
    cb_with_pair(state, TO_FILE, heeds_what_happens_meanwhile);
}

/* proves: CLI-001 */
static void test_copy_job__from_a_file__changed_meanwhile__each_is_run_once(void **state)
{
    cb_with_pair(state, FROM_FILE, heeds_what_happens_meanwhile);
}

BOTH_WAYS(one_that_runs__stays_and_is_moved_later, leaves_running_ones)
BOTH_WAYS(name_that_the_target_has__stays, leaves_known_names)
BOTH_WAYS(without_dead_letters__they_stay, leaves_dead_runs_if_told)
BOTH_WAYS(deleted_in_the_target__is_the_sources_again, is_deleted_in_the_target)
BOTH_WAYS(once__is_not_replaced_meanwhile, keeps_one_time_jobs)
BOTH_WAYS(way_back_is_given_up__each_is_run_once, gives_up_the_way_back)
BOTH_WAYS(cancelled_when_it_has_died__is_not_run, heeds_cancels_when_it_has_died)

/* proves: CLI-001 */
static void test_copy_job__to_a_file__triggered_by_an_app_that_commits_late__runs(void **state)
{
    cb_with_pair(state, TO_FILE, waits_for_the_apps_trigger);
}

#define BOTH_TESTS(name)                                                                           \
    BED_TEST(test_copy_job__to_a_file__##name), BED_TEST(test_copy_job__from_a_file__##name)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        BOTH_TESTS(hostile_and_disabled__arrive_as_they_were),
        BOTH_TESTS(one_that_runs__stays_and_is_moved_later),
        BOTH_TESTS(way_back_is_given_up__each_is_run_once),
        BOTH_TESTS(cancelled_when_it_has_died__is_not_run),
        BOTH_TESTS(name_that_the_target_has__stays),
        BOTH_TESTS(without_dead_letters__they_stay),
        BOTH_TESTS(the_process_dies_anywhere__each_is_run_once),
        BED_TEST(test_copy_job__to_another_schema__the_process_dies_anywhere__each_is_run_once),
        BOTH_TESTS(given_up_anywhere__each_is_run_once),
        BOTH_TESTS(changed_meanwhile__each_is_run_once),
        BED_TEST(test_copy_job__to_a_file__triggered_by_an_app_that_commits_late__runs),
        BOTH_TESTS(deleted_in_the_target__is_the_sources_again),
        BOTH_TESTS(once__is_not_replaced_meanwhile),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
