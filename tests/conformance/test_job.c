/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of jobs: schedules that become runs, whoever and however many make them. */
#include <inttypes.h>
#include <stdatomic.h>
#include <waypost/dead.h>

#include "bed.h"
#include "db/store.h"

/* 2027-01-15T08:00:00Z is where the clock begins: a whole hour. */
enum { MINUTE_MS = 60000, HOUR_MS = 3600000 };
#define MINUTE_US INT64_C(60000000)

static wp_job *job_of(const char *name, const char *expression)
{
    wp_job *job = NULL;
    WPT_OK(wp_job_new(&job, name, "t", "p", 1, WPT_ERR));
    if (expression)
        WPT_OK(wp_job_set_schedule(job, expression, NULL, WPT_ERR));
    return job;
}

static void put(bed *b, WP_OWN wp_job *job)
{
    WPT_OK(wp_job_put(b->store, job, WPT_ERR));
    wp_job_free(job);
}

static wp_jobs *get(bed *b, const char *name)
{
    wp_jobs *jobs = NULL;
    WPT_OK(wp_job_get(&jobs, b->store, name, WPT_ERR));
    assert_int_equal(wp_jobs_count(jobs), 1);
    return jobs;
}

/* When it is due next, in us from the clock's beginning; -1: never. */
static int64_t next_of(bed *b, const char *name)
{
    wp_jobs *jobs = get(b, name);
    const int64_t due = wp_job_info_next_due_us(wp_jobs_at(jobs, 0));
    wp_jobs_free(jobs);
    return due ? due - WPT_START_US : -1;
}

static size_t schedule(wp_store *store)
{
    size_t made = 99;
    WPT_OK(wp_job_schedule_due(&made, store, WPT_ERR));
    return made;
}

static wp_job_runs *runs_of(bed *b, const char *name)
{
    wp_job_runs *runs = NULL;
    WPT_OK(wp_job_run_list(&runs, b->store, name, NULL, WP_BATCH_MAX, WPT_ERR));
    return runs;
}

static size_t run_count(bed *b, const char *name)
{
    wp_job_runs *runs = runs_of(b, name);
    const size_t count = wp_job_runs_count(runs);
    wp_job_runs_free(runs);
    return count;
}

/* The latest run of a job: its status, and when it was due from the clock's beginning on. */
static wp_run_status last_status(bed *b, const char *name)
{
    wp_job_runs *runs = runs_of(b, name);
    const wp_run_status status = wp_job_run_status(wp_job_runs_at(runs, 0));
    wp_job_runs_free(runs);
    return status;
}

/* The runs were due at these instants, in us from the clock's beginning; and there are no others. */
static void dues_are(bed *b, const char *name, const int64_t *dues, size_t count)
{
    wp_job_runs *runs = runs_of(b, name);
    assert_int_equal(wp_job_runs_count(runs), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(wp_job_run_due_us(wp_job_runs_at(runs, count - 1 - i)) - WPT_START_US,
                         dues[i]);
    wp_job_runs_free(runs);
}

static wp_claim *claim_runs(bed *b, int64_t batch)
{
    const wp_id owner = wpt_owner(1);
    wp_claim *claim = NULL;
    WPT_OK(wp_job_run_claim(&claim, b->store, &owner, NULL, 0, batch, MINUTE_MS, WPT_ERR));
    return claim;
}

/* Claim what there is and end it as done; how many. */
static size_t finish_all(bed *b)
{
    const wp_id owner = wpt_owner(1);
    size_t total = 0;
    for (;;) {
        wp_claim *claim = claim_runs(b, 100);
        const size_t count = wp_claim_count(claim);
        for (size_t i = 0; i < count; i++)
            WPT_OK(wp_job_run_ack(NULL, b->store, NULL, &owner,
                                  wp_received_id(wp_claim_at(claim, i)), NULL, 1, "w", WPT_ERR));
        wp_claim_free(claim);
        total += count;
        if (!count)
            return total;
    }
}

/* ---- create, update, delete --------------------------------------------------------------- */

/* scenario: RUN-001 */
/* proves: JOB-001, JOB-005, JOB-014 */
static void test_put__new_and_changed__one_job_a_name_and_nothing_for_the_past(void **state)
{
    bed *b = *state;
    wp_job *job = job_of("nightly", "0 3 * * *");
    wp_jobs *jobs;
    const wp_job_info *info;
    put(b, job);
    put(b, job_of("Nightly", "30 8 * * *"));
    put(b, job_of("nightly ", "45 8 * * *"));
    jobs = get(b, "nightly");
    info = wp_jobs_at(jobs, 0);
    assert_string_equal(wp_job_info_name(info), "nightly");
    assert_string_equal(wp_job_info_topic(info), "t");
    assert_string_equal(wp_job_info_payload(info), "p");
    assert_string_equal(wp_job_info_expression(info), "0 3 * * *");
    assert_string_equal(wp_job_info_zone(info), "UTC");
    assert_null(wp_job_info_registrar(info));
    assert_true(wp_job_info_enabled(info));
    assert_int_equal(wp_job_info_next_due_us(info), WPT_START_US + 19 * 60 * MINUTE_US);
    assert_int_equal(wp_job_info_last_status(info), WP_RUN_NONE);
    wp_jobs_free(jobs);
    /* the schedule is changed: from now on; it did not fire at 08:00 or before */
    put(b, job_of("nightly", "*/10 * * * *"));
    assert_int_equal(next_of(b, "nightly"), 10 * MINUTE_US);
    assert_int_equal(next_of(b, "Nightly"), 30 * MINUTE_US);
    assert_int_equal(schedule(b->store), 0);
    /* anything else is changed: what is due stays due */
    wpt_advance_ms(b->clock, 10 * MINUTE_MS);
    job = job_of("nightly", "*/10 * * * *");
    WPT_OK(wp_job_set_timeout_ms(job, 5000, WPT_ERR));
    put(b, job);
    assert_int_equal(next_of(b, "nightly"), 10 * MINUTE_US);
    assert_int_equal(schedule(b->store), 1);
    WPT_OK(wp_job_list(&jobs, b->store, NULL, 10, WPT_ERR));
    assert_int_equal(wp_jobs_count(jobs), 3);
    assert_string_equal(wp_job_info_name(wp_jobs_at(jobs, 0)), "Nightly");
    assert_string_equal(wp_job_info_name(wp_jobs_at(jobs, 2)), "nightly ");
    wp_jobs_free(jobs);
    WPT_OK(wp_job_list(&jobs, b->store, "Nightly", 1, WPT_ERR));
    assert_string_equal(wp_job_info_name(wp_jobs_at(jobs, 0)), "nightly");
    wp_jobs_free(jobs);
}

/* The expression stays as it is: the same time of another day begins now. */
/* proves: JOB-014 */
static void test_put__zone_alone_is_changed__from_now_on_in_that_zone(void **state)
{
    bed *b = *state;
    wp_job *job = job_of("j", "0 3 * * *");
    put(b, job);
    assert_int_equal(next_of(b, "j"), 19 * 60 * MINUTE_US); /* it is 08:00 UTC */
    job = job_of("j", NULL);
    WPT_OK(wp_job_set_schedule(job, "0 3 * * *", "Europe/Vienna", WPT_ERR));
    put(b, job);
    assert_int_equal(next_of(b, "j"), 18 * 60 * MINUTE_US);
    job = job_of("j", NULL);
    WPT_OK(wp_job_set_schedule(job, "0 3 * * *", "America/New_York", WPT_ERR));
    put(b, job);
    assert_int_equal(next_of(b, "j"), 24 * 60 * MINUTE_US); /* 03:00 there is now: tomorrow */
    job = job_of("j", NULL);
    WPT_OK(wp_job_set_schedule(job, "0 3 * * *", "Asia/Tokyo", WPT_ERR));
    put(b, job);
    assert_int_equal(next_of(b, "j"), 10 * 60 * MINUTE_US);
    assert_int_equal(schedule(b->store), 0); /* nothing is made up for */
}

/* scenario: RUN-001 */
/* proves: JOB-001 */
static void test_put__malformed__is_refused_and_changes_nothing(void **state)
{
    bed *b = *state;
    wp_job *job = job_of("j", NULL);
    wp_jobs *jobs = NULL;
    WPT_FAILS(wp_job_put(b->store, job, WPT_ERR), WP_E_ARGUMENT, "schedule");
    WPT_OK(wp_job_set_schedule(job, "61 * * * *", NULL, WPT_ERR));
    WPT_FAILS(wp_job_put(b->store, job, WPT_ERR), WP_E_ARGUMENT, "minute");
    WPT_OK(wp_job_set_schedule(job, "@daily", "Nowhere/Land", WPT_ERR));
    WPT_STATUS(wp_job_put(b->store, job, WPT_ERR), WP_E_NOT_FOUND);
    wp_job_free(job);
    job = NULL;
    WPT_STATUS(wp_job_get(&jobs, b->store, "j", WPT_ERR), WP_E_NOT_FOUND);
    WPT_STATUS(wp_job_new(&job, "", "t", "p", 1, WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_job_new(&job, "j", "", "p", 1, WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_job_new(&job, "j", "t", NULL, 0, WPT_ERR), WP_E_ARGUMENT);
    assert_null(job);
    job = job_of("j", NULL);
    WPT_STATUS(wp_job_set_once_us(job, -1, WPT_ERR), WP_E_RANGE);
    WPT_STATUS(wp_job_set_timeout_ms(job, -1, WPT_ERR), WP_E_RANGE);
    WPT_STATUS(wp_job_set_overlap(job, (wp_overlap)9, WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_job_set_misfire(job, WP_MISFIRE_CATCH_UP, 0, 0, WPT_ERR), WP_E_RANGE);
    WPT_STATUS(wp_job_set_retry(job, -1, 0, 0, WPT_ERR), WP_E_RANGE);
    wp_job_free(job);
}

/* scenario: RUN-001, RUN-003 */
/* proves: JOB-002, JOB-003 */
static void test_delete__pending_and_running_runs__goes_with_the_former_alone(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    wp_id done, running, pending;
    wp_claim *claim;
    wp_job_runs *runs = NULL;
    int deleted = 7;
    put(b, job_of("j", "@hourly"));
    WPT_OK(wp_job_trigger(&done, b->store, "j", WPT_ERR));
    assert_int_equal(finish_all(b), 1);
    WPT_OK(wp_job_trigger(&running, b->store, "j", WPT_ERR));
    claim = claim_runs(b, 1);
    assert_true(wpt_claim_is(claim, &running, 1));
    assert_string_equal(wp_received_job(wp_claim_at(claim, 0)), "j");
    wp_claim_free(claim);
    WPT_OK(wp_job_trigger(&pending, b->store, "j", WPT_ERR));
    WPT_OK(wp_job_delete(&deleted, b->store, "j", WPT_ERR));
    assert_int_equal(deleted, 1);
    WPT_OK(wp_job_delete(&deleted, b->store, "j", WPT_ERR));
    assert_int_equal(deleted, 0);
    WPT_STATUS(wp_job_run_get(&runs, b->store, &pending, WPT_ERR), WP_E_NOT_FOUND);
    WPT_STATUS(wp_job_trigger(&pending, b->store, "j", WPT_ERR), WP_E_NOT_FOUND);
    assert_int_equal(run_count(b, "j"), 2);
    assert_int_equal(last_status(b, "j"), WP_RUN_RUNNING);
    /* a running one is not tried again */
    WPT_OK(wp_job_run_abandon(NULL, b->store, NULL, &owner, &running, NULL, 1, 1, "no", WPT_ERR));
    wpt_advance_ms(b->clock, 2 * HOUR_MS);
    assert_int_equal(finish_all(b), 0);
    assert_int_equal(last_status(b, "j"), WP_RUN_CANCELLED);
    assert_int_equal(schedule(b->store), 0);
}

/* proves: JOB-002 */
static void test_delete__while_a_run_is_running__lets_it_finish(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    wp_id running;
    size_t changed = 0;
    put(b, job_of("j", "@hourly"));
    WPT_OK(wp_job_trigger(&running, b->store, "j", WPT_ERR));
    wp_claim_free(claim_runs(b, 1));
    WPT_OK(wp_job_delete(NULL, b->store, "j", WPT_ERR));
    WPT_OK(wp_job_run_ack(&changed, b->store, NULL, &owner, &running, NULL, 1, "w", WPT_ERR));
    assert_int_equal(changed, 1);
    assert_int_equal(last_status(b, "j"), WP_RUN_SUCCEEDED);
}

/* scenario: RUN-004 */
/* proves: JOB-004 */
static void test_disable__holds_until_enabled__and_nothing_is_made_up_for(void **state)
{
    bed *b = *state;
    wp_job *job = job_of("j", "*/10 * * * *");
    const wp_job *code[] = {job};
    wp_jobs *jobs;
    WPT_OK(wp_job_register(b->store, "app", code, 1, WPT_ERR));
    wpt_advance_ms(b->clock, 10 * MINUTE_MS);
    assert_int_equal(schedule(b->store), 1);
    WPT_OK(wp_job_set_enabled(b->store, "j", 0, WPT_ERR));
    WPT_OK(wp_job_set_enabled(b->store, "j", 0, WPT_ERR));
    assert_int_equal(finish_all(b), 1); /* a run that finishes meanwhile */
    WPT_OK(wp_job_register(b->store, "app", code, 1, WPT_ERR));
    WPT_OK(wp_job_set_schedule(job, "*/5 * * * *", NULL, WPT_ERR));
    WPT_OK(wp_job_register(b->store, "app", code, 1, WPT_ERR));
    WPT_OK(wp_job_put(b->store, job, WPT_ERR));
    bed_reopen(b, NULL);
    if (b->engine->opens_new) { /* the database is gone */
        wp_job_free(job);
        return;
    }
    wpt_advance_ms(b->clock, 31 * MINUTE_MS);
    assert_int_equal(schedule(b->store), 0);
    jobs = get(b, "j");
    assert_false(wp_job_info_enabled(wp_jobs_at(jobs, 0)));
    assert_int_equal(wp_job_info_next_due_us(wp_jobs_at(jobs, 0)), 0);
    wp_jobs_free(jobs);
    WPT_OK(wp_job_trigger(NULL, b->store, "j", WPT_ERR)); /* by hand it runs */
    assert_int_equal(finish_all(b), 1);
    WPT_OK(wp_job_set_enabled(b->store, "j", 1, WPT_ERR));
    assert_int_equal(schedule(b->store), 0);
    assert_int_equal(next_of(b, "j"), 45 * MINUTE_US);
    WPT_STATUS(wp_job_set_enabled(b->store, "x", 1, WPT_ERR), WP_E_NOT_FOUND);
    wp_job_free(job);
}

/* scenario: RUN-005 */
/* proves: JOB-001, JOB-004, JOB-014 */
static void test_register__again__updates_retires_and_loses_no_missed_run(void **state)
{
    bed *b = *state;
    wp_job *stays = job_of("stays", "*/10 * * * *"), *goes = job_of("goes", "*/10 * * * *"),
           *once = job_of("once", NULL), *bad, *fresh;
    wp_jobs *none = NULL;
    const wp_job *both[] = {stays, goes};
    WPT_OK(wp_job_set_once_us(once, WPT_START_US + 5 * MINUTE_US, WPT_ERR));
    put(b, once);
    put(b, job_of("by hand", "@hourly"));
    WPT_OK(wp_job_register(b->store, "app", both, 2, WPT_ERR));
    WPT_OK(wp_job_register(b->store, "other", NULL, 0, WPT_ERR));
    assert_int_equal(next_of(b, "goes"), 10 * MINUTE_US);
    /* a restart that takes longer than an occurrence */
    wpt_advance_ms(b->clock, 10 * MINUTE_MS + 30000);
    WPT_OK(wp_job_register(b->store, "app", both, 1, WPT_ERR));
    assert_int_equal(next_of(b, "stays"), 10 * MINUTE_US);
    assert_int_equal(next_of(b, "goes"), -1);
    assert_int_equal(schedule(b->store), 2); /* once, and stays */
    assert_int_equal(run_count(b, "goes"), 0);
    assert_int_equal(run_count(b, "once"), 1);
    assert_int_equal(next_of(b, "by hand"), 60 * MINUTE_US);
    /* back again: from now on */
    WPT_OK(wp_job_register(b->store, "app", both, 2, WPT_ERR));
    assert_int_equal(next_of(b, "goes"), 20 * MINUTE_US);
    WPT_FAILS(wp_job_register(b->store, "app", (const wp_job *[]){stays, stays}, 2, WPT_ERR),
              WP_E_ARGUMENT, "twice");
    WPT_FAILS(wp_job_register(b->store, "", both, 2, WPT_ERR), WP_E_ARGUMENT, "registrar");
    /* one that is malformed: none of them is stored, none retired */
    bad = job_of("bad", "61 * * * *");
    fresh = job_of("fresh", "@hourly");
    WPT_FAILS(wp_job_register(b->store, "app", (const wp_job *[]){fresh, bad}, 2, WPT_ERR),
              WP_E_ARGUMENT, "minute");
    WPT_STATUS(wp_job_get(&none, b->store, "fresh", WPT_ERR), WP_E_NOT_FOUND);
    assert_int_equal(next_of(b, "goes"), 20 * MINUTE_US);
    wp_job_free(bad);
    wp_job_free(fresh);
    wp_job_free(stays);
    wp_job_free(goes);
}

static void reopen_with_log(bed *b, wpt_log *log, const char *overrides)
{
    wp_config *config = bed_config(b, WPT_OPTIONS("job.cron_overrides", overrides));
    wpt_log_init(log);
    wpt_log_attach(log, config, "warning");
    bed_reopen_with(b, config);
}

/* proves: JOB-018 */
static void
test_override__of_the_configuration__replaces_the_expression_if_it_is_valid(void **state)
{
    bed *b = *state;
    wp_jobs *jobs;
    wpt_log log;
    reopen_with_log(b, &log, "{\"a\": \"*/7 * * * *\", \"b\": \"*/99 * * * *\", \"c\": 1}");
    put(b, job_of("a", "@daily"));
    put(b, job_of("b", "@hourly"));
    put(b, job_of("c", "@hourly"));
    assert_int_equal(next_of(b, "a"), 7 * MINUTE_US);
    assert_int_equal(next_of(b, "b"), 60 * MINUTE_US);
    assert_int_equal(next_of(b, "c"), 60 * MINUTE_US);
    jobs = get(b, "a");
    assert_string_equal(wp_job_info_expression(wp_jobs_at(jobs, 0)), "*/7 * * * *");
    wp_jobs_free(jobs);
    assert_int_equal(wpt_log_count(&log, "error", "invalid override", "\"Job\":\"a\""), 0);
    assert_int_equal(wpt_log_count(&log, "error", "invalid override", "\"Job\":\"b\""), 1);
    assert_int_equal(wpt_log_count(&log, "error", "invalid override", "\"Job\":\"c\""), 1);
    bed_reopen(b, WPT_OPTIONS(NULL, NULL));
    wpt_log_fini(&log);
}

/* proves: JOB-018 */
static void test_override__that_is_no_json_object__is_logged_and_changes_nothing(void **state)
{
    bed *b = *state;
    wpt_log log;
    reopen_with_log(b, &log, "a: @yearly");
    put(b, job_of("a", "@hourly"));
    assert_int_equal(next_of(b, "a"), 60 * MINUTE_US);
    assert_int_equal(wpt_log_count(&log, "error", "invalid override", "job.cron_overrides"), 1);
    bed_reopen(b, WPT_OPTIONS(NULL, NULL));
    wpt_log_fini(&log);
}

/* proves: JOB-018 */
static void
test_override__of_a_job_that_is_not_there__is_logged_when_jobs_are_registered(void **state)
{
    bed *b = *state;
    wp_job *job = job_of("nightly", "@hourly");
    const wp_job *jobs[] = {job};
    wpt_log log;
    reopen_with_log(b, &log,
                    "{\"nightly\": \"@daily\", \"nigthly\": \"@daily\", \"\": \"@daily\"}");
    WPT_OK(wp_job_register(b->store, "app", jobs, 1, WPT_ERR));
    assert_int_equal(wpt_log_count(&log, "warning", "not there", "\"Job\":\"nightly\""), 0);
    assert_int_equal(wpt_log_count(&log, "warning", "not there", "\"Job\":\"nigthly\""), 1);
    assert_int_equal(wpt_log_count(&log, "warning", "not there", "\"Job\":\"\""), 1);
    bed_reopen(b, WPT_OPTIONS(NULL, NULL));
    wp_job_free(job);
    wpt_log_fini(&log);
}

/* proves: JOB-004 */
static void test_register__job_of_another_program__is_told_to_the_log(void **state)
{
    bed *b = *state;
    wp_job *job = job_of("report", "@hourly");
    const wp_job *jobs[] = {job};
    wpt_log log;
    reopen_with_log(b, &log, "");
    WPT_OK(wp_job_register(b->store, "p", jobs, 1, WPT_ERR));
    WPT_OK(wp_job_register(b->store, "p", jobs, 1, WPT_ERR));
    assert_int_equal(wpt_log_count(&log, "warning", "another program", NULL), 0);
    WPT_OK(wp_job_register(b->store, "q", jobs, 1, WPT_ERR));
    assert_int_equal(wpt_log_count(&log, "warning", "another program", "\"From\":\"p\""), 1);
    WPT_OK(wp_job_register(b->store, "q", NULL, 0, WPT_ERR)); /* it gives it up */
    WPT_FAILS(wp_job_set_enabled(b->store, "report", 1, WPT_ERR), WP_E_STATE, "program");
    WPT_OK(wp_job_set_enabled(b->store, "report", 0, WPT_ERR));
    WPT_OK(wp_job_set_enabled(b->store, "report", 1, WPT_ERR)); /* for when it comes back */
    WPT_OK(wp_job_register(b->store, "p", jobs, 1, WPT_ERR));
    assert_int_equal(wpt_log_count(&log, "warning", "another program", NULL), 1);
    assert_int_equal(next_of(b, "report"), 60 * MINUTE_US);
    bed_reopen(b, WPT_OPTIONS(NULL, NULL));
    wp_job_free(job);
    wpt_log_fini(&log);
}

/* scenario: RUN-013 */
/* proves: JOB-018 */
static void test_override__that_is_taken_away__leaves_what_the_code_has(void **state)
{
    bed *b = *state;
    wpt_log log;
    reopen_with_log(b, &log, "{\"a\": \"*/7 * * * *\"}");
    put(b, job_of("a", "@hourly"));
    assert_int_equal(next_of(b, "a"), 7 * MINUTE_US);
    bed_reopen(b, WPT_OPTIONS(NULL, NULL));
    wpt_log_fini(&log);
    if (!b->engine->opens_new)
        assert_int_equal(next_of(b, "a"), 7 * MINUTE_US); /* until the code stores it again */
    put(b, job_of("a", "@hourly"));
    assert_int_equal(next_of(b, "a"), 60 * MINUTE_US);
}

/* proves: JOB-001 */
static void test_get__of_a_job__shows_what_it_was_stored_with(void **state)
{
    bed *b = *state;
    wp_job *job = job_of("all", "@daily");
    wp_jobs *jobs;
    const wp_job_info *info;
    WPT_OK(wp_job_set_overlap(job, WP_OVERLAP_SKIP, WPT_ERR));
    WPT_OK(wp_job_set_misfire(job, WP_MISFIRE_CATCH_UP, 5000, 9, WPT_ERR));
    WPT_OK(wp_job_set_timeout_ms(job, 8000, WPT_ERR));
    WPT_OK(wp_job_set_retry(job, 4, 6000, 7000, WPT_ERR));
    put(b, job);
    jobs = get(b, "all");
    info = wp_jobs_at(jobs, 0);
    assert_int_equal(wp_job_info_overlap(info), WP_OVERLAP_SKIP);
    assert_int_equal(wp_job_info_misfire(info), WP_MISFIRE_CATCH_UP);
    assert_int_equal(wp_job_info_misfire_ms(info), 5000);
    assert_int_equal(wp_job_info_catch_up(info), 9);
    assert_int_equal(wp_job_info_timeout_ms(info), 8000);
    assert_int_equal(wp_job_info_max_attempts(info), 4);
    assert_int_equal(wp_job_info_backoff_base_ms(info), 6000);
    assert_int_equal(wp_job_info_backoff_max_ms(info), 7000);
    wp_jobs_free(jobs);
    put(b, job_of("none", "@daily"));
    jobs = get(b, "none");
    info = wp_jobs_at(jobs, 0);
    assert_int_equal(wp_job_info_overlap(info), WP_OVERLAP_QUEUE);
    assert_int_equal(wp_job_info_misfire(info), WP_MISFIRE_FIRE);
    assert_int_equal(wp_job_info_misfire_ms(info), 60000);
    assert_int_equal(wp_job_info_catch_up(info) + wp_job_info_timeout_ms(info) +
                         wp_job_info_max_attempts(info) + wp_job_info_backoff_base_ms(info) +
                         wp_job_info_backoff_max_ms(info),
                     0);
    wp_jobs_free(jobs);
    assert_int_equal(wp_job_info_misfire_ms(NULL), 60000); /* of none: the defaults */
}

/* ---- once --------------------------------------------------------------------------------- */

static wp_job *once_at(const char *name, int64_t at_us)
{
    wp_job *job = job_of(name, NULL);
    WPT_OK(wp_job_set_once_us(job, at_us, WPT_ERR));
    return job;
}

/* scenario: RUN-001, RUN-006 */
/* proves: JOB-010, JOB-014 */
static void test_once__in_the_future__fires_once_and_its_name_is_free_again(void **state)
{
    bed *b = *state;
    wp_job *job = once_at("o", WPT_START_US + MINUTE_US), *past = once_at("p", WPT_START_US);
    wp_jobs *jobs = NULL;
    WPT_FAILS(wp_job_put(b->store, past, WPT_ERR), WP_E_RANGE, "past");
    WPT_STATUS(wp_job_get(&jobs, b->store, "p", WPT_ERR), WP_E_NOT_FOUND);
    wp_job_free(past);
    WPT_OK(wp_job_put(b->store, job, WPT_ERR));
    WPT_STATUS(wp_job_put(b->store, job, WPT_ERR), WP_E_STATE);
    wp_job_free(job);
    wpt_advance_ms(b->clock, MINUTE_MS - 1);
    assert_int_equal(schedule(b->store), 0);
    wpt_advance_ms(b->clock, 2 * HOUR_MS); /* long missed: it fires all the same */
    assert_int_equal(schedule(b->store), 1);
    assert_int_equal(schedule(b->store), 0);
    dues_are(b, "o", (int64_t[]){MINUTE_US}, 1);
    job = once_at("o", wp_clock_utc_us(b->clock) + MINUTE_US);
    WPT_STATUS(wp_job_put(b->store, job, WPT_ERR), WP_E_STATE); /* its run is unfinished */
    assert_int_equal(finish_all(b), 1);
    put(b, job);
    wpt_advance_ms(b->clock, MINUTE_MS);
    assert_int_equal(schedule(b->store), 1);
    assert_int_equal(run_count(b, "o"), 2);
    /* disabled over its time: at once when it is enabled */
    assert_int_equal(finish_all(b), 1);
    put(b, once_at("o", wp_clock_utc_us(b->clock) + MINUTE_US));
    WPT_OK(wp_job_set_enabled(b->store, "o", 0, WPT_ERR));
    wpt_advance_ms(b->clock, HOUR_MS);
    assert_int_equal(schedule(b->store), 0);
    WPT_OK(wp_job_set_enabled(b->store, "o", 1, WPT_ERR));
    assert_int_equal(schedule(b->store), 1);
}

/* ---- occurrences -------------------------------------------------------------------------- */

/* scenario: RUN-002 */
/* proves: JOB-006, JOB-007 */
static void test_schedule__due__one_run_at_the_schedules_instant(void **state)
{
    bed *b = *state;
    put(b, job_of("j", "*/10 * * * *"));
    wpt_advance_ms(b->clock, 10 * MINUTE_MS - 1);
    assert_int_equal(schedule(b->store), 0);
    wpt_advance_ms(b->clock, 12345); /* late: the run is due when the schedule says */
    assert_int_equal(schedule(b->store), 1);
    assert_int_equal(schedule(b->store), 0);
    dues_are(b, "j", (int64_t[]){10 * MINUTE_US}, 1);
    assert_int_equal(next_of(b, "j"), 20 * MINUTE_US);
    /* an edit in between: no occurrence again that had its run */
    put(b, job_of("j", "*/5 * * * *"));
    assert_int_equal(next_of(b, "j"), 15 * MINUTE_US);
    assert_int_equal(schedule(b->store), 0);
}

/* proves: CRN-006, JOB-007 */
static void test_schedule__clocks_are_set__once_a_day_in_the_zone(void **state)
{
    bed *b = *state;
    wp_job *job = job_of("j", NULL);
    /* 02:30 does not exist in Vienna on 28 March 2027, and twice on 31 October */
    WPT_OK(wp_job_set_schedule(job, "30 2 * * *", "Europe/Vienna", WPT_ERR));
    put(b, job);
    wpt_advance_ms(b->clock, INT64_C(70) * 24 * HOUR_MS);
    assert_int_equal(schedule(b->store), 1);
    for (int day = 0; day < 4; day++) {
        wpt_advance_ms(b->clock, 24 * HOUR_MS);
        (void)schedule(b->store);
    }
    assert_int_equal(run_count(b, "j"), 5);
    wpt_advance_ms(b->clock, INT64_C(212) * 24 * HOUR_MS);
    assert_int_equal(schedule(b->store), 1);
    for (int day = 0; day < 5; day++) {
        wpt_advance_ms(b->clock, 24 * HOUR_MS);
        (void)schedule(b->store);
    }
    assert_int_equal(run_count(b, "j"), 11);
    {
        wp_job_runs *runs = runs_of(b, "j");
        bool gap = false, overlap = false;
        for (size_t i = 0; i < wp_job_runs_count(runs); i++) {
            const int64_t due = wp_job_run_due_us(wp_job_runs_at(runs, i));
            gap = gap || due == INT64_C(1806195600000000); /* 03:00 when 02:30 is not there */
            overlap = overlap || due == INT64_C(1824942600000000); /* the first of two 02:30 */
        }
        wp_job_runs_free(runs);
        assert_true(gap);
        assert_true(overlap);
    }
}

/* scenario: RUN-009 */
/* proves: JOB-014 */
static void test_misfire__after_an_hour__by_policy(void **state)
{
    static const struct {
        const char *name;
        wp_misfire misfire;
        int64_t catch_up;
        size_t runs;
    } cases[] = {{"fire", WP_MISFIRE_FIRE, 0, 1},
                 {"skip", WP_MISFIRE_SKIP, 0, 0},
                 {"catch 5", WP_MISFIRE_CATCH_UP, 5, 5},
                 {"catch 100", WP_MISFIRE_CATCH_UP, 100, 60}};
    bed *b = *state;
    size_t all = 0;
    wpt_log log;
    reopen_with_log(b, &log, "");
    for (size_t i = 0; i < WPT_COUNT(cases); i++) {
        wp_job *job = job_of(cases[i].name, "* * * * *");
        WPT_OK(wp_job_set_misfire(job, cases[i].misfire, 60000, cases[i].catch_up, WPT_ERR));
        put(b, job);
        all += cases[i].runs;
    }
    wpt_advance_ms(b->clock, HOUR_MS + 1000);
    assert_int_equal(schedule(b->store), all);
    for (size_t i = 0; i < WPT_COUNT(cases); i++) {
        wp_job_runs *runs = runs_of(b, cases[i].name);
        const size_t count = cases[i].runs ? cases[i].runs : 1;
        assert_int_equal(wp_job_runs_count(runs), count);
        for (size_t r = 0; r < count; r++) { /* the latest ones */
            const wp_job_run *run = wp_job_runs_at(runs, r);
            assert_int_equal(wp_job_run_due_us(run), WPT_START_US + (60 - (int64_t)r) * MINUTE_US);
            assert_int_equal(wp_job_run_status(run),
                             cases[i].runs ? WP_RUN_PENDING : WP_RUN_SKIPPED);
        }
        wp_job_runs_free(runs);
        assert_int_equal(next_of(b, cases[i].name), 61 * MINUTE_US);
    }
    /* within the threshold each occurrence has its run */
    (void)finish_all(b);
    put(b, job_of("each", "*/15 * * * * *"));
    wpt_advance_ms(b->clock, 59000);
    WPT_OK(wp_job_schedule_due(NULL, b->store, WPT_ERR));
    assert_int_equal(run_count(b, "each"), 4);
    assert_int_equal(wpt_log_count(&log, "warning", "missed its time", "\"Job\":\"skip\""), 1);
    assert_int_equal(wpt_log_count(&log, "warning", "\"Job\":\"skip\"", "\"Next\":"), 1);
    assert_int_equal(wpt_log_count(&log, "warning", "", "\"Job\":\"each\""), 0);
    bed_reopen(b, WPT_OPTIONS(NULL, NULL));
    wpt_log_fini(&log);
}

/* scenario: RUN-008 */
/* proves: JOB-012 */
static void test_overlap__while_a_run_is_unfinished__by_policy(void **state)
{
    static const wp_overlap policies[] = {WP_OVERLAP_QUEUE, WP_OVERLAP_SKIP, WP_OVERLAP_ALLOW};
    static const char *const names[] = {"queue", "skip", "allow"};
    static const size_t claimed[] = {1, 1, 3};
    static const size_t rest[] = {2, 0, 0};
    bed *b = *state;
    for (int p = 0; p < 3; p++) {
        const wp_id owner = wpt_owner(1);
        wp_job *job = job_of(names[p], "* * * * *");
        wp_claim *claim;
        wp_job_runs *runs;
        size_t skipped = 0;
        WPT_OK(wp_job_set_overlap(job, policies[p], WPT_ERR));
        put(b, job);
        for (int i = 0; i < 3; i++) {
            wpt_advance_ms(b->clock, MINUTE_MS);
            (void)schedule(b->store);
        }
        claim = claim_runs(b, 10);
        assert_int_equal(wp_claim_count(claim), claimed[p]);
        for (size_t i = 0; i < claimed[p]; i++)
            WPT_OK(wp_job_run_ack(NULL, b->store, NULL, &owner,
                                  wp_received_id(wp_claim_at(claim, i)), NULL, 1, "w", WPT_ERR));
        wp_claim_free(claim);
        assert_int_equal(finish_all(b), rest[p]);
        runs = runs_of(b, names[p]);
        for (size_t i = 0; i < wp_job_runs_count(runs); i++)
            skipped += wp_job_run_status(wp_job_runs_at(runs, i)) == WP_RUN_SKIPPED;
        wp_job_runs_free(runs);
        assert_int_equal(skipped, policies[p] == WP_OVERLAP_SKIP ? 2 : 0);
        WPT_OK(wp_job_delete(NULL, b->store, names[p], WPT_ERR));
    }
}

/* ---- many schedulers ---------------------------------------------------------------------- */

enum { SCHEDULERS = 10, SECONDS = 16 };

/* A clock is set, and set back when that was found to be wrong: what was made then is not made again, and
 * nothing else is missed. */
/* proves: JOB-005, JOB-006 */
static void test_schedule__after_the_clock_was_ahead__goes_on_from_now(void **state)
{
    const int64_t day_ms = 24 * HOUR_MS;
    bed *b = *state;
    put(b, job_of("every", "* * * * *"));
    put(b, job_of("changed", "* * * * *"));
    put(b, job_of("off", "* * * * *"));
    put(b, job_of("daily", "0 9 * * *"));
    wpt_advance_ms(b->clock, MINUTE_MS);
    assert_int_equal(schedule(b->store), 3);
    wpt_advance_ms(b->clock, day_ms); /* each has a run for all that were missed; daily: today's */
    assert_int_equal(schedule(b->store), 4);
    (void)finish_all(b);
    WPT_OK(wp_clock_jump_us(b->clock, -day_ms * 1000, WPT_ERR));
    put(b, job_of("changed", "*/2 * * * *"));
    WPT_OK(wp_job_set_enabled(b->store, "off", 0, WPT_ERR));
    WPT_OK(wp_job_set_enabled(b->store, "off", 1, WPT_ERR));
    assert_int_equal(schedule(b->store), 0);
    assert_int_equal(next_of(b, "every"), 2 * MINUTE_US);
    assert_int_equal(next_of(b, "changed"), 2 * MINUTE_US);
    assert_int_equal(next_of(b, "off"), 2 * MINUTE_US);
    assert_int_equal(next_of(b, "daily"), 60 * MINUTE_US);
    wpt_advance_ms(b->clock, MINUTE_MS);
    assert_int_equal(schedule(b->store), 3);
    wpt_advance_ms(b->clock, HOUR_MS);
    assert_int_equal(schedule(b->store), 3); /* daily has had its run */
    wpt_advance_ms(b->clock, day_ms);
    assert_int_equal(schedule(b->store), 4);
    assert_int_equal(run_count(b, "daily"), 2);
}

/* Hosts' clocks differ a little: whoever is behind does not take a job back. */
/* proves: JOB-005, JOB-006 */
static void test_schedule__by_clocks_that_differ_a_little__leaves_the_job_alone(void **state)
{
    bed *b = *state;
    put(b, job_of("j", "* * * * *"));
    wpt_advance_ms(b->clock, MINUTE_MS);
    assert_int_equal(schedule(b->store), 1);
    for (int i = 0; i < 3; i++) {
        WPT_OK(wp_clock_jump_us(b->clock, -WP_JOB_CLOCKS_DIFFER_US, WPT_ERR));
        assert_int_equal(schedule(b->store), 0);
        assert_int_equal(next_of(b, "j"), 2 * MINUTE_US);
        WPT_OK(wp_clock_jump_us(b->clock, WP_JOB_CLOCKS_DIFFER_US, WPT_ERR));
        assert_int_equal(schedule(b->store), 0);
    }
    WPT_OK(wp_clock_jump_us(b->clock, -WP_JOB_CLOCKS_DIFFER_US - 1, WPT_ERR));
    assert_int_equal(schedule(b->store), 0);
    assert_int_equal(next_of(b, "j"), MINUTE_US); /* that one was ahead */
    WPT_OK(wp_clock_jump_us(b->clock, WP_JOB_CLOCKS_DIFFER_US + 1, WPT_ERR));
    assert_int_equal(schedule(b->store), 0); /* it has had that run */
    assert_int_equal(run_count(b, "j"), 1);
}

typedef struct scheduler {
    wp_store *store;
    wp_clock *clock;
    wp__thread thread;
    wpt_gate *gate;
    size_t made;
} scheduler;

static void *scheduler_main(void *arg)
{
    scheduler *s = arg;
    for (int i = 0; i < SECONDS; i++) {
        size_t made = 0;
        wpt_gate_pass(s->gate);
        /* a busy database is no harm: the next time does it */
        if (wp_job_schedule_due(&made, s->store, NULL) == WP_OK)
            s->made += made;
    }
    return NULL;
}

/* proves: JOB-006, JOB-007 */
static void test_schedule__ten_schedulers_with_clocks_that_differ__the_planned_runs(void **state)
{
    bed *b = *state;
    scheduler s[SCHEDULERS] = {0};
    int64_t dues[SECONDS];
    wpt_gate gate;
    wpt_log log;
    size_t made = 0, planned = 0;
    if (b->engine->opens_new)
        return; /* each store would have a database of its own */
    wpt_gate_init(&gate);
    wpt_log_init(&log);
    put(b, job_of("j", "*/5 * * * * *"));
    for (int i = 0; i < SCHEDULERS; i++) {
        wp_config *config;
        /* -2 s to 1.6 s */
        WPT_OK(wp_clock_new_manual(&s[i].clock, WPT_START_US + (i - 5) * 400000, WPT_ERR));
        s[i].gate = &gate;
        config = bed_config(b, WPT_OPTIONS("store.pool_size", "1"));
        WPT_OK(wp_config_set_clock(config, s[i].clock, WPT_ERR));
        wpt_log_attach(&log, config, "info"); /* who loses a race says nothing of it */
        WPT_OK(wp_store_open(&s[i].store, config, WPT_ERR));
        wp_config_free(config);
        WPT_OK(wp__thread_start(&s[i].thread, "scheduler", scheduler_main, &s[i], WPT_ERR));
    }
    for (int second = 0; second < SECONDS; second++) {
        WPT_AWAIT(wpt_gate_waiting(&gate) == SCHEDULERS);
        wpt_advance_ms(b->clock, 1000);
        for (int i = 0; i < SCHEDULERS; i++)
            wpt_advance_ms(s[i].clock, 1000);
        wpt_gate_open(&gate, SCHEDULERS);
        WPT_AWAIT(wpt_gate_passed(&gate) == (size_t)(second + 1) * SCHEDULERS);
    }
    for (int i = 0; i < SCHEDULERS; i++) {
        wp__thread_join(&s[i].thread);
        made += s[i].made;
    }
    made += schedule(s[SCHEDULERS - 1].store);
    /* up to what the fastest clock has seen: each occurrence once */
    for (int64_t at = 5; at * WPT_SECOND_US <= SECONDS * WPT_SECOND_US + 1600000; at += 5)
        dues[planned++] = at * WPT_SECOND_US;
    assert_true(made <= planned);
    dues_are(b, "j", dues, planned);
    assert_int_equal(wpt_log_count(&log, "", "job", NULL), 0);
    for (int i = 0; i < SCHEDULERS; i++) {
        wp_store_close(s[i].store);
        wp_clock_free(s[i].clock);
    }
    wpt_log_fini(&log);
    wpt_gate_fini(&gate);
}

/* ---- programs that start at once ------------------------------------------------------------ */

enum { STARTERS = 4, MANY_JOBS = 500 };

typedef struct starter {
    wp_store *store;
    wp__thread thread;
    const char *registrar;
    const char *expression;
    int first; /* of its jobs; then it goes round */
    int count;
    int times;
    wp_status st;
} starter;

static void *starter_main(void *arg)
{
    starter *s = arg;
    wp_job *jobs[MANY_JOBS];
    for (int i = 0; i < s->count; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "job %d", (s->first + i) % s->count);
        jobs[i] = job_of(name, s->expression);
    }
    for (int i = 0; i < s->times && s->st == WP_OK; i++)
        s->st = wp_job_register(s->store, s->registrar, (const wp_job *const *)jobs,
                                (size_t)s->count, WPT_ERR);
    for (int i = 0; i < s->count; i++)
        wp_job_free(jobs[i]);
    return NULL;
}

/* Each with a store of its own, as processes have. */
static void start_all(bed *b, starter *s, wpt_log *log)
{
    for (int i = 0; i < STARTERS; i++) {
        wp_config *config = bed_config(b, WPT_OPTIONS("store.pool_size", "1"));
        wpt_log_attach(log, config, "warning");
        if (b->engine->opens_new)
            s[i].store = wp_store_ref(b->store);
        else
            WPT_OK(wp_store_open(&s[i].store, config, WPT_ERR));
        wp_config_free(config);
    }
    for (int i = 0; i < STARTERS; i++)
        WPT_OK(wp__thread_start(&s[i].thread, "starter", starter_main, &s[i], WPT_ERR));
    for (int i = 0; i < STARTERS; i++) {
        wp__thread_join(&s[i].thread);
        WPT_STATUS(s[i].st, WP_OK);
        wp_store_close(s[i].store);
    }
}

/* proves: JOB-001, JOB-004 */
static void test_register__500_jobs_by_four_processes_at_once__each_is_there_once(void **state)
{
    bed *b = *state;
    starter s[STARTERS] = {{0}};
    wp_jobs *all = NULL;
    wpt_log log;
    wpt_log_init(&log);
    for (int i = 0; i < STARTERS; i++)
        s[i] = (starter){.registrar = "app",
                         .expression = "0 * * * *",
                         .first = i * MANY_JOBS / STARTERS,
                         .count = MANY_JOBS,
                         .times = 1};
    start_all(b, s, &log);
    WPT_OK(wp_job_list(&all, b->store, NULL, 1000, WPT_ERR));
    assert_int_equal(wp_jobs_count(all), MANY_JOBS);
    for (size_t i = 0; i < MANY_JOBS; i++) {
        const wp_job_info *info = wp_jobs_at(all, i);
        assert_true(wp_job_info_enabled(info));
        assert_string_equal(wp_job_info_registrar(info), "app");
        assert_int_equal(wp_job_info_next_due_us(info) - WPT_START_US, 60 * MINUTE_US);
    }
    wp_jobs_free(all);
    assert_int_equal(wpt_log_count(&log, "", "", ""), 0);
    wpt_log_fini(&log);
}

/* Two versions of two programs take a job from each other: whoever was last has it whole, and it is never
 * made twice, nor fires for the past. */
/* proves: JOB-001, JOB-014 */
static void test_register__one_job_by_two_programs_again_and_again__is_of_the_last(void **state)
{
    bed *b = *state;
    starter s[STARTERS] = {{0}};
    wp_jobs *jobs;
    const wp_job_info *info;
    bool hourly;
    wpt_log log;
    wpt_log_init(&log);
    wpt_advance_ms(b->clock, 90 * MINUTE_MS);
    for (int i = 0; i < STARTERS; i++)
        s[i] = (starter){.registrar = i % 2 ? "one" : "two",
                         .expression = i % 2 ? "@hourly" : "@daily",
                         .count = 1,
                         .times = 25};
    start_all(b, s, &log);
    assert_int_equal(schedule(b->store), 0);
    jobs = get(b, "job 0");
    info = wp_jobs_at(jobs, 0);
    hourly = strcmp(wp_job_info_registrar(info), "one") == 0;
    assert_string_equal(wp_job_info_expression(info), hourly ? "@hourly" : "@daily");
    assert_true(wp_job_info_enabled(info));
    assert_int_equal(next_of(b, "job 0"), (hourly ? 120 : 16 * 60) * MINUTE_US);
    wp_jobs_free(jobs);
    WPT_OK(wp_job_list(&jobs, b->store, NULL, 9, WPT_ERR));
    assert_int_equal(wp_jobs_count(jobs), 1);
    wp_jobs_free(jobs);
    if (!b->engine->opens_new)
        assert_true(wpt_log_count(&log, "warning", "taken from another program", "") > 0);
    wpt_log_fini(&log);
}

/* ---- in the app's transaction --------------------------------------------------------------- */

/* scenario: RUN-012 */
/* proves: JOB-001, JOB-009, BND-002 */
static void test_lent__put_trigger_and_delete__count_with_the_apps_commit(void **state)
{
    bed *b = *state;
    wp_job *job = job_of("j", "@daily");
    wp_jobs *jobs = NULL;
    wp_job_runs *runs = NULL;
    int deleted = 9;
    wp_id id;
    for (int i = 0; i < 2; i++) { /* rolled back, and committed */
        bed_exec(b, b->engine->begin);
        WPT_OK(wp_job_put_in(b->store, b->conn, job, WPT_ERR));
        WPT_OK(wp_job_get_in(&jobs, b->store, b->conn, "j", WPT_ERR)); /* the app sees it */
        wp_jobs_free(jobs);
        WPT_OK(wp_job_trigger_in(&id, b->store, b->conn, "j", WPT_ERR));
        bed_exec(b, i ? b->engine->commit : b->engine->rollback);
        WPT_STATUS(wp_job_get(&jobs, b->store, "j", WPT_ERR), i ? WP_OK : WP_E_NOT_FOUND);
        WPT_STATUS(wp_job_run_get(&runs, b->store, &id, WPT_ERR), i ? WP_OK : WP_E_NOT_FOUND);
    }
    wp_jobs_free(jobs);
    wp_job_runs_free(runs);
    for (int i = 0; i < 2; i++) {
        bed_exec(b, b->engine->begin);
        WPT_OK(wp_job_delete_in(&deleted, b->store, b->conn, "j", WPT_ERR));
        assert_int_equal(deleted, 1);
        WPT_STATUS(wp_job_trigger_in(&id, b->store, b->conn, "j", WPT_ERR), WP_E_NOT_FOUND);
        bed_exec(b, i ? b->engine->commit : b->engine->rollback);
        WPT_STATUS(wp_job_get(&jobs, b->store, "j", WPT_ERR), i ? WP_E_NOT_FOUND : WP_OK);
    }
    wp_jobs_free(jobs);
    wp_job_free(job);
    assert_int_equal(finish_all(b), 0);
}

/* ---- runs --------------------------------------------------------------------------------- */

/* scenario: RUN-011 */
/* proves: JOB-009, JOB-015, JOB-008 */
static void test_run__claim_and_what_ends_it__as_in_the_outbox(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    wp_job *job = job_of("j", "@daily");
    wp_id id;
    size_t changed = 9;
    WPT_OK(wp_job_set_retry(job, 2, 1000, 1000, WPT_ERR));
    put(b, job);
    WPT_OK(wp_job_trigger(&id, b->store, "j", WPT_ERR));
    wp_claim_free(claim_runs(b, 1));
    assert_int_equal(last_status(b, "j"), WP_RUN_RUNNING);
    WPT_OK(
        wp_job_run_renew(&changed, b->store, NULL, &owner, &id, NULL, 1, 2 * MINUTE_MS, WPT_ERR));
    wpt_advance_ms(b->clock, MINUTE_MS);
    WPT_OK(wp_job_run_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 0); /* alive */
    wpt_advance_ms(b->clock, MINUTE_MS);
    WPT_OK(wp_job_run_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 1);
    assert_int_equal(last_status(b, "j"), WP_RUN_PENDING);
    wpt_advance_ms(b->clock, MINUTE_MS);
    wp_claim_free(claim_runs(b, 1));
    wpt_advance_ms(b->clock, MINUTE_MS);
    WPT_OK(wp_job_run_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 1);
    assert_int_equal(last_status(b, "j"), WP_RUN_FAILED); /* its job allows two attempts */
    WPT_OK(wp_job_trigger(&id, b->store, "j", WPT_ERR));
    wp_claim_free(claim_runs(b, 1));
    WPT_OK(wp_job_run_release(&changed, b->store, NULL, &owner, &id, NULL, 1, WPT_ERR));
    assert_int_equal(changed, 1);
    wp_claim_free(claim_runs(b, 1));
    WPT_OK(wp_job_run_abandon(&changed, b->store, NULL, &owner, &id, NULL, 1, 5000, "no", WPT_ERR));
    assert_int_equal(changed, 1);
    assert_int_equal(last_status(b, "j"), WP_RUN_PENDING);
    wpt_advance_ms(b->clock, 4999);
    wp_claim_free(claim_runs(b, 1));
    assert_int_equal(last_status(b, "j"), WP_RUN_PENDING);
    wpt_advance_ms(b->clock, 1);
    wp_claim_free(claim_runs(b, 1));
    WPT_OK(wp_job_run_fail(&changed, b->store, NULL, &owner, &id, NULL, 1, "bad", WPT_ERR));
    assert_int_equal(changed, 1);
    assert_int_equal(last_status(b, "j"), WP_RUN_FAILED);
}

/* scenario: RUN-011 */
/* proves: JOB-016, JOB-002 */
static void test_purge__old_runs__go_and_others_stay(void **state)
{
    bed *b = *state;
    size_t purged = 99;
    put(b, job_of("j", "@daily"));
    for (int i = 0; i < 3; i++)
        WPT_OK(wp_job_trigger(NULL, b->store, "j", WPT_ERR));
    assert_int_equal(finish_all(b), 3);
    wpt_advance_ms(b->clock, HOUR_MS);
    WPT_OK(wp_job_trigger(NULL, b->store, "j", WPT_ERR));
    assert_int_equal(finish_all(b), 1);
    WPT_OK(wp_job_trigger(NULL, b->store, "j", WPT_ERR)); /* pending */
    WPT_OK(wp_job_run_purge(&purged, b->store, HOUR_MS + 1, WPT_ERR));
    assert_int_equal(purged, 0);
    WPT_OK(wp_job_run_purge(&purged, b->store, HOUR_MS, WPT_ERR));
    assert_int_equal(purged, 3);
    assert_int_equal(run_count(b, "j"), 2);
    WPT_OK(wp_job_run_purge(&purged, b->store, 0, WPT_ERR));
    assert_int_equal(purged, 1);
    assert_int_equal(finish_all(b), 1);
    WPT_STATUS(wp_job_run_purge(&purged, b->store, -1, WPT_ERR), WP_E_RANGE);
}

/* They are deleted page by page. */
/* proves: JOB-016 */
static void test_purge__more_than_a_page__deletes_all(void **state)
{
    enum { RUNS = 1001 };
    bed *b = *state;
    size_t purged = 0;
    if (b->engine->unchecked)
        return; /* it is there for its names */
    put(b, job_of("j", "@daily"));
    for (int i = 0; i < RUNS; i++)
        WPT_OK(wp_job_trigger(NULL, b->store, "j", WPT_ERR));
    assert_int_equal(finish_all(b), RUNS);
    WPT_OK(wp_job_run_purge(&purged, b->store, 0, WPT_ERR));
    assert_int_equal(purged, RUNS);
    assert_int_equal(run_count(b, "j"), 0);
}

/* scenario: RUN-010 */
/* proves: JOB-008 */
static void test_cancel__pending_run__ends_and_others_do_not(void **state)
{
    bed *b = *state;
    wp_id id, unknown;
    int cancelled = 7;
    wp_id_new(&unknown);
    put(b, job_of("j", "@daily"));
    WPT_OK(wp_job_trigger(&id, b->store, "j", WPT_ERR));
    WPT_OK(wp_job_run_cancel(&cancelled, b->store, &id, WPT_ERR));
    assert_int_equal(cancelled, 1);
    WPT_OK(wp_job_run_cancel(&cancelled, b->store, &id, WPT_ERR));
    assert_int_equal(cancelled, 0);
    WPT_OK(wp_job_run_cancel(&cancelled, b->store, &unknown, WPT_ERR));
    assert_int_equal(cancelled, 0);
    assert_int_equal(last_status(b, "j"), WP_RUN_CANCELLED);
    assert_int_equal(finish_all(b), 0);
}

/* Its job's retry policy holds too when it is finished or reaped by hand. */
/* proves: JOB-013, JOB-015 */
static void test_run__abandoned_and_reaped__by_its_jobs_policy(void **state)
{
    bed *b = *state;
    wp_job *job = job_of("j", "@yearly");
    const wp_id owner = wpt_owner(1);
    size_t changed = 9;
    wp_id id;
    WPT_OK(wp_job_set_retry(job, 3, 20 * MINUTE_MS, 20 * MINUTE_MS, WPT_ERR));
    put(b, job);
    WPT_OK(wp_job_trigger(&id, b->store, "j", WPT_ERR));
    wp_claim_free(claim_runs(b, 1));
    wpt_advance_ms(b->clock, MINUTE_MS); /* the lease */
    WPT_OK(wp_job_run_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 1);
    wpt_advance_ms(b->clock, 5 * MINUTE_MS); /* much more than the store's first delay */
    assert_int_equal(finish_all(b), 0);
    wpt_advance_ms(b->clock, 15 * MINUTE_MS);
    for (int i = 0; i < 2; i++) {
        wp_claim *claim = claim_runs(b, 1);
        assert_int_equal(wp_claim_count(claim), 1);
        wp_claim_free(claim);
        assert_int_equal(last_status(b, "j"), WP_RUN_RUNNING);
        WPT_OK(
            wp_job_run_abandon(&changed, b->store, NULL, &owner, &id, NULL, 1, 1, "no", WPT_ERR));
        assert_int_equal(changed, 1);
        wpt_advance_ms(b->clock, 1);
    }
    assert_int_equal(last_status(b, "j"), WP_RUN_FAILED);
    assert_int_equal(finish_all(b), 0);
}

/* A run does not end, and the job is due each second: so many wait, and no more. */
/* proves: JOB-012 */
static void test_overlap__queue_behind_a_run_that_is_stuck__is_bounded(void **state)
{
    enum { MOST = 1000 };
    bed *b = *state;
    wp_job *job = job_of("j", "* * * * * *");
    wp_outbox_stats *stats = NULL;
    int64_t unfinished;
    WPT_OK(wp_job_set_misfire(job, WP_MISFIRE_CATCH_UP, 60000, MOST, WPT_ERR));
    put(b, job);
    wpt_advance_ms(b->clock, 1000);
    assert_int_equal(schedule(b->store), 1);
    wp_claim_free(claim_runs(b, 1));
    wpt_advance_ms(b->clock, 2 * MOST * INT64_C(1000));
    assert_int_equal(schedule(b->store), MOST - 1);
    wpt_advance_ms(b->clock, 1000);
    assert_int_equal(schedule(b->store), 0);
    assert_int_equal(last_status(b, "j"), WP_RUN_SKIPPED);
    WPT_OK(wp_job_run_stats_read(&stats, b->store, 0, WPT_ERR));
    unfinished = wp_outbox_stats_total(stats, WP_STAT_READY) +
                 wp_outbox_stats_total(stats, WP_STAT_BLOCKED) +
                 wp_outbox_stats_total(stats, WP_STAT_IN_PROGRESS);
    wp_outbox_stats_free(stats);
    assert_int_equal(unfinished, MOST);
}

/* Whoever is asked to end a run and dies over it does not get it run once more; a replay does. */
/* scenario: RUN-010 */
/* proves: JOB-008, JOB-015, DLQ-001 */
static void test_cancel__of_a_run_whose_holder_died__ends_it_as_cancelled(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    wp_job *once = job_of("once", "@daily");
    wp_dead_list *dead = NULL;
    wp_claim *claim;
    wp_id ids[3];
    wp_id id;
    size_t changed = 9;
    WPT_OK(wp_job_set_retry(once, 1, 0, 0, WPT_ERR)); /* its only attempt */
    put(b, once);
    put(b, job_of("j", "@daily"));
    put(b, job_of("k", "@daily"));
    WPT_OK(wp_job_trigger(&ids[0], b->store, "once", WPT_ERR));
    WPT_OK(wp_job_trigger(&ids[1], b->store, "j", WPT_ERR));
    WPT_OK(wp_job_trigger(&ids[2], b->store, "k", WPT_ERR));
    wp_claim_free(claim_runs(b, 3));
    for (int i = 0; i < 2; i++) {
        int cancelled = 7;
        WPT_OK(wp_job_run_cancel(&cancelled, b->store, &ids[i], WPT_ERR));
        assert_int_equal(cancelled, 1);
    }
    wpt_advance_ms(b->clock, MINUTE_MS);
    WPT_OK(wp_job_run_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 3);
    assert_int_equal(last_status(b, "once"), WP_RUN_CANCELLED);
    assert_int_equal(last_status(b, "j"), WP_RUN_CANCELLED);
    WPT_OK(wp_dead_list_read(&dead, b->store, WP_SOURCE_JOB, NULL, NULL, 9, WPT_ERR));
    assert_int_equal(wp_dead_list_count(dead), 0);
    wp_dead_list_free(dead);
    wpt_advance_ms(b->clock, MINUTE_MS);
    claim = claim_runs(b, 3);
    assert_true(wpt_claim_is(claim, &ids[2], 1));
    wp_claim_free(claim);
    /* given back by hand all the same: the next claim ends it */
    WPT_OK(wp_job_trigger(&id, b->store, "j", WPT_ERR));
    wp_claim_free(claim_runs(b, 1));
    WPT_OK(wp_job_run_cancel(NULL, b->store, &id, WPT_ERR));
    WPT_OK(wp_job_run_release(&changed, b->store, NULL, &owner, &id, NULL, 1, WPT_ERR));
    assert_int_equal(changed, 1);
    claim = claim_runs(b, 1);
    assert_int_equal(wp_claim_count(claim), 0);
    wp_claim_free(claim);
    assert_int_equal(last_status(b, "j"), WP_RUN_CANCELLED);
    /* it ended as failed, is replayed, and runs as if nobody had asked */
    WPT_OK(wp_job_trigger(&id, b->store, "j", WPT_ERR));
    wp_claim_free(claim_runs(b, 1));
    WPT_OK(wp_job_run_cancel(NULL, b->store, &id, WPT_ERR));
    WPT_OK(wp_job_run_fail(&changed, b->store, NULL, &owner, &id, NULL, 1, "cancelled", WPT_ERR));
    assert_int_equal(last_status(b, "j"), WP_RUN_CANCELLED);
    WPT_OK(wp_dead_replay(&changed, b->store, WP_SOURCE_JOB, NULL, 9, 0, NULL, WPT_ERR));
    assert_int_equal(changed, 1);
    claim = claim_runs(b, 1);
    assert_true(wpt_claim_is(claim, &id, 1));
    wp_claim_free(claim);
}

/* scenario: RUN-012 */
/* proves: JOB-005, BND-002 */
static void test_get__as_an_operation__finds_what_the_apps_transaction_sees(void **state)
{
    bed *b = *state;
    wp_op *op = NULL;
    wp_jobs *found = NULL, *same = NULL;
    wp_job *job = job_of("j", "@daily");
    WPT_OK(wp_job_set_retry(job, 3, 4, 5, WPT_ERR));
    bed_exec(b, b->engine->begin);
    WPT_OK(wp_job_put_in(b->store, b->conn, job, WPT_ERR));
    for (int i = 0; i < 2; i++) { /* uncommitted, and rolled back */
        WPT_OK(wp_job_get_op(&op, b->store, "j", WPT_ERR));
        WPT_STATUS(wp_op_result_jobs(&found, op, WPT_ERR), WP_E_STATE);
        WPT_STATUS(wp__store_run(b->store, b->conn, op, WPT_ERR), i ? WP_E_NOT_FOUND : WP_OK);
        if (i) {
            WPT_STATUS(wp_op_result_jobs(&found, op, WPT_ERR), WP_E_STATE);
        } else {
            WPT_OK(wp_op_result_jobs(&found, op, WPT_ERR));
            WPT_OK(wp_op_result_jobs(&same, op, WPT_ERR)); /* a copy, which outlives it */
            assert_int_equal(wp_op_result_count(op), 1);
        }
        wp_op_free(op);
        if (!i)
            bed_exec(b, b->engine->rollback);
    }
    for (int i = 0; i < 2; i++) {
        const wp_job_info *info = wp_jobs_at(i ? same : found, 0);
        assert_string_equal(wp_job_info_name(info), "j");
        assert_string_equal(wp_job_info_expression(info), "@daily");
        assert_null(wp_job_info_registrar(info));
        assert_int_equal(wp_job_info_max_attempts(info), 3);
        assert_int_equal(wp_job_info_last_status(info), WP_RUN_NONE);
    }
    wp_jobs_free(found);
    wp_jobs_free(same);
    WPT_STATUS(wp_job_get_op(&op, b->store, "", WPT_ERR), WP_E_ARGUMENT);
    WPT_OK(wp_job_delete_op(&op, b->store, "j", WPT_ERR));
    WPT_STATUS(wp_op_result_jobs(&found, op, WPT_ERR), WP_E_STATE);
    wp_op_free(op);
    wp_job_free(job);
}

/* ---- worker ------------------------------------------------------------------------------- */

typedef struct seen {
    atomic_int count;
    atomic_int cancel;
    atomic_bool wait; /* until it is told to stop */
    _Atomic int64_t due;
    _Atomic wp_outcome answer;
    const char *output;
} seen;

static wp_outcome see(wp_delivery *delivery, void *user)
{
    seen *s = user;
    assert_int_equal(wp_delivery_source(delivery), WP_SOURCE_JOB);
    atomic_store(&s->due, wp_received_due_us(wp_delivery_message(delivery)) - WPT_START_US);
    atomic_fetch_add(&s->count, 1);
    while (s->wait && !wp_delivery_cancelled(delivery))
        wp__sleep_us(1000);
    atomic_store(&s->cancel, (int)wp_delivery_cancelled(delivery));
    if (s->output)
        WPT_OK(wp_delivery_set_output(delivery, s->output, strlen(s->output), NULL));
    return s->answer;
}

static wp_worker *worker_of(bed *b, seen *s)
{
    wp_worker *worker = NULL;
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_JOB, "t", see, s, NULL, WPT_ERR));
    return worker;
}

static size_t drain(wp_worker *worker)
{
    size_t handled = 99;
    WPT_OK(wp_worker_drain(&handled, worker, 60000, WPT_ERR));
    return handled;
}

/* scenario: RUN-002 */
/* proves: JOB-008, JOB-005, JOB-017, JOB-019 */
static void test_worker__due_job__runs_and_its_history_tells(void **state)
{
    bed *b = *state;
    seen s = {.answer = WP_OUTCOME_DONE, .output = "42 rows"};
    wp_worker *worker = worker_of(b, &s); /* of jobs alone */
    wp_job_runs *runs;
    wp_jobs *jobs;
    const wp_job_run *run;
    put(b, job_of("j", "*/10 * * * *"));
    assert_int_equal(drain(worker), 0);
    wpt_advance_ms(b->clock, 10 * MINUTE_MS + 250);
    assert_int_equal(drain(worker), 1);
    assert_int_equal(s.due, 10 * MINUTE_US);
    runs = runs_of(b, "j");
    assert_int_equal(wp_job_runs_count(runs), 1);
    run = wp_job_runs_at(runs, 0);
    assert_string_equal(wp_job_run_name(run), "j");
    assert_int_equal(wp_job_run_status(run), WP_RUN_SUCCEEDED);
    assert_int_equal(wp_job_run_due_us(run), WPT_START_US + 10 * MINUTE_US);
    assert_int_equal(wp_job_run_started_us(run), WPT_START_US + 10 * MINUTE_US + 250000);
    assert_int_equal(wp_job_run_ended_us(run), WPT_START_US + 10 * MINUTE_US + 250000);
    assert_int_equal(wp_job_run_attempt(run), 0);
    assert_true(wp_job_run_is_scheduled(run));
    assert_string_equal(wp_job_run_output(run), "42 rows");
    assert_null(wp_job_run_error(run));
    wp_job_runs_free(runs);
    jobs = get(b, "j");
    assert_int_equal(wp_job_info_last_due_us(wp_jobs_at(jobs, 0)), WPT_START_US + 10 * MINUTE_US);
    assert_int_equal(wp_job_info_last_started_us(wp_jobs_at(jobs, 0)),
                     WPT_START_US + 10 * MINUTE_US + 250000);
    assert_int_equal(wp_job_info_last_duration_us(wp_jobs_at(jobs, 0)), 0);
    assert_int_equal(wp_job_info_last_status(wp_jobs_at(jobs, 0)), WP_RUN_SUCCEEDED);
    assert_int_equal(wp_job_info_next_due_us(wp_jobs_at(jobs, 0)), WPT_START_US + 20 * MINUTE_US);
    wp_jobs_free(jobs);
    wp_worker_free(worker);
}

/* scenario: RUN-007 */
/* proves: JOB-013, JOB-008 */
static void test_worker__failing_run__is_retried_by_its_jobs_policy(void **state)
{
    bed *b = *state;
    seen s = {.answer = WP_OUTCOME_RETRY};
    wp_worker *worker = worker_of(b, &s);
    wp_job *job = job_of("j", "@daily");
    wp_job_runs *runs;
    WPT_OK(wp_job_set_retry(job, 3, 30000, 30000, WPT_ERR));
    put(b, job);
    WPT_OK(wp_job_trigger(NULL, b->store, "j", WPT_ERR));
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(drain(worker), 1);
        wpt_advance_ms(b->clock, 20000); /* the backoff is shortened by 20 % at most */
        assert_int_equal(drain(worker), 0);
        wpt_advance_ms(b->clock, 10000);
    }
    assert_int_equal(drain(worker), 0);
    runs = runs_of(b, "j");
    assert_int_equal(wp_job_run_status(wp_job_runs_at(runs, 0)), WP_RUN_FAILED);
    assert_int_equal(wp_job_run_attempt(wp_job_runs_at(runs, 0)), 3);
    assert_non_null(wp_job_run_error(wp_job_runs_at(runs, 0)));
    assert_false(wp_job_run_is_scheduled(wp_job_runs_at(runs, 0)));
    wp_job_runs_free(runs);
    wp_worker_free(worker);
}

/* proves: JOB-015 */
static void test_worker__meets_lost_runs__warns_and_runs_them_again(void **state)
{
    bed *b = *state;
    seen s = {.answer = WP_OUTCOME_DONE};
    wp_worker *worker;
    wpt_log log;
    reopen_with_log(b, &log, "");
    put(b, job_of("j", "@daily"));
    WPT_OK(wp_job_trigger(NULL, b->store, "j", WPT_ERR));
    wp_claim_free(claim_runs(b, 1));
    wpt_advance_ms(b->clock, MINUTE_MS);
    worker = worker_of(b, &s);
    assert_int_equal(drain(worker), 0); /* given back, with a delay */
    wpt_advance_ms(b->clock, MINUTE_MS);
    assert_int_equal(drain(worker), 1);
    assert_int_equal(last_status(b, "j"), WP_RUN_SUCCEEDED);
    assert_int_equal(wpt_log_count(&log, "warning", "reaped", "\"Count\":1"), 1);
    wp_worker_free(worker);
    bed_reopen(b, WPT_OPTIONS(NULL, NULL));
    wpt_log_fini(&log);
}

/* scenario: RUN-007 */
/* proves: JOB-011 */
static void test_worker__run_over_its_time__is_told_to_stop_and_timed_out(void **state)
{
    bed *b = *state;
    seen s = {.answer = WP_OUTCOME_NONE, .wait = true};
    wp_worker *worker = worker_of(b, &s);
    wp_job *job = job_of("j", "@daily");
    WPT_OK(wp_job_set_timeout_ms(job, 5000, WPT_ERR));
    WPT_OK(wp_job_set_retry(job, 1, 0, 0, WPT_ERR));
    put(b, job);
    WPT_OK(wp_job_trigger(NULL, b->store, "j", WPT_ERR));
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    WPT_AWAIT(s.count == 1);
    wpt_advance_ms(b->clock, 4999);
    assert_int_equal(s.cancel, 0);
    wpt_advance_ms(b->clock, 1);
    WPT_AWAIT(last_status(b, "j") == WP_RUN_TIMED_OUT);
    assert_int_equal(s.cancel, WP_CANCEL_TIMEOUT);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
    assert_int_equal(s.count, 1);
}

static wp_outcome fails_with(wp_delivery *delivery, void *user)
{
    const bool late = wp_received_attempt(wp_delivery_message(delivery)) > 0;
    WPT_OK(
        wp_delivery_finish(delivery, late ? WP_OUTCOME_REJECT : WP_OUTCOME_NONE, user, 0, WPT_ERR));
    return WP_OUTCOME_DEFERRED;
}

/* What a handler says of its failure is its own: a service that did not answer in time is no timeout of the run. */
/* proves: JOB-011 */
static void test_worker__run_that_fails_with_the_word_timeout__has_failed(void **state)
{
    static const struct {
        const char *reason, *told;
    } cases[] = {{"timeout", "failed: timeout"},
                 {"timeout: of the bank", "failed: timeout: of the bank"},
                 {"cancelled: by the bank", "failed: cancelled: by the bank"},
                 {"timeouts", "timeouts"}};
    bed *b = *state;
    for (size_t i = 0; i < WPT_COUNT(cases); i++) {
        char name[] = "0";
        wp_worker *worker = NULL;
        wp_job_runs *runs = NULL;
        wp_job *job;
        name[0] = (char)('0' + i);
        job = job_of(name, "@daily");
        WPT_OK(wp_job_set_retry(job, 2, 0, 0, WPT_ERR));
        WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
        WPT_OK(wp_worker_handle(worker, WP_SOURCE_JOB, "t", fails_with, (void *)cases[i].reason,
                                NULL, WPT_ERR));
        put(b, job);
        WPT_OK(wp_job_trigger(NULL, b->store, name, WPT_ERR));
        assert_int_equal(drain(worker), 1);
        wpt_advance_ms(b->clock, MINUTE_MS);
        assert_int_equal(drain(worker), 1);
        WPT_OK(wp_job_run_list(&runs, b->store, name, NULL, 9, WPT_ERR));
        assert_int_equal(wp_job_run_status(wp_job_runs_at(runs, 0)), WP_RUN_FAILED);
        assert_string_equal(wp_job_run_error(wp_job_runs_at(runs, 0)), cases[i].told);
        wp_job_runs_free(runs);
        wp_worker_free(worker);
    }
}

/* So that what is finished by now is written: worker.flush_ms. */
static bool passed(bed *b, int64_t ms)
{
    wpt_advance_ms(b->clock, ms);
    return true;
}

static wp_outcome done_late(wp_delivery *delivery, void *user)
{
    bed *b = user;
    WPT_OK(wp_delivery_set_output(delivery, "half of it", 10, WPT_ERR));
    wpt_advance_ms(b->clock, 5000);
    return WP_OUTCOME_DONE;
}

/* Whoever returns when he is told to stop has not done his work: he gets no success for it. */
/* proves: JOB-011 */
static void test_worker__run_that_ends_well_after_its_time__has_failed_and_is_retried(void **state)
{
    bed *b = *state;
    wp_worker *worker = NULL;
    wp_job *job = job_of("j", "@daily");
    wp_job_runs *runs = NULL;
    wpt_log log;
    reopen_with_log(b, &log, "{}");
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_JOB, "t", done_late, b, NULL, WPT_ERR));
    WPT_OK(wp_job_set_timeout_ms(job, 5000, WPT_ERR));
    WPT_OK(wp_job_set_retry(job, 2, 0, 0, WPT_ERR));
    put(b, job);
    WPT_OK(wp_job_trigger(NULL, b->store, "j", WPT_ERR));
    assert_int_equal(drain(worker), 1);
    assert_int_equal(last_status(b, "j"), WP_RUN_PENDING);
    wpt_advance_ms(b->clock, MINUTE_MS);
    assert_int_equal(drain(worker), 1);
    WPT_OK(wp_job_run_list(&runs, b->store, "j", NULL, 9, WPT_ERR));
    assert_int_equal(wp_job_runs_count(runs), 1);
    assert_int_equal(wp_job_run_status(wp_job_runs_at(runs, 0)), WP_RUN_TIMED_OUT);
    assert_int_equal(wp_job_run_attempt(wp_job_runs_at(runs, 0)), 2);
    assert_string_equal(wp_job_run_output(wp_job_runs_at(runs, 0)), "half of it");
    assert_string_equal(wp_job_run_error(wp_job_runs_at(runs, 0)),
                        "timeout: the handler ended well, but too late");
    assert_int_equal(wpt_log_count(&log, "error handler failed, will retry", "timeout", NULL), 1);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_ACKED), 0);
    wp_job_runs_free(runs);
    wp_worker_free(worker);
    bed_reopen(b, WPT_OPTIONS(NULL, NULL));
    wpt_log_fini(&log);
}

static wp_outcome completed_late(wp_delivery *delivery, void *user)
{
    bed *b = user;
    bed_exec(b, b->engine->begin);
    WPT_OK(wp_delivery_complete(delivery, b->conn, WPT_ERR));
    bed_exec(b, b->engine->commit);
    wpt_advance_ms(b->clock, 5000);
    return WP_OUTCOME_DONE;
}

/* proves: JOB-011 */
static void test_worker__run_completed_in_a_transaction__is_done_however_late(void **state)
{
    bed *b = *state;
    wp_worker *worker = NULL;
    wp_job *job = job_of("j", "@daily");
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_JOB, "t", completed_late, b, NULL, WPT_ERR));
    WPT_OK(wp_job_set_timeout_ms(job, 5000, WPT_ERR));
    put(b, job);
    WPT_OK(wp_job_trigger(NULL, b->store, "j", WPT_ERR));
    assert_int_equal(drain(worker), 1);
    assert_int_equal(last_status(b, "j"), WP_RUN_SUCCEEDED);
    wp_worker_free(worker);
}

/* Past its timeout it has failed, also when its worker is told only then that it is over. */
/* proves: JOB-011 */
static void test_delivery__done_after_the_time_of_its_run__is_told_that_it_failed(void **state)
{
    bed *b = *state;
    wp_worker *worker = NULL;
    wp_delivery *delivery = NULL;
    wp_job *job = job_of("j", "@daily");
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_JOB, "t", NULL, NULL, NULL, WPT_ERR));
    WPT_OK(wp_job_set_timeout_ms(job, 5000, WPT_ERR));
    WPT_OK(wp_job_set_retry(job, 1, 0, 0, WPT_ERR));
    put(b, job);
    for (int i = 0; i < 2; i++) { /* at its edge */
        WPT_OK(wp_job_trigger(NULL, b->store, "j", WPT_ERR));
        WPT_OK(wp_worker_next(&delivery, worker, 60000, WPT_ERR));
        wpt_advance_ms(b->clock, i ? 5000 : 4999);
        WPT_OK(wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
        wpt_advance_ms(b->clock, 1000);
        WPT_STATUS(wp_delivery_settle(delivery, 60000, WPT_ERR), i ? WP_E_LEASE_LOST : WP_OK);
        wp_delivery_free(delivery);
        assert_int_equal(last_status(b, "j"), i ? WP_RUN_TIMED_OUT : WP_RUN_SUCCEEDED);
    }
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
}

static wp_outcome done_when_time_is_over(wp_delivery *delivery, void *user)
{
    atomic_int *told = user;
    atomic_store(told, (int)WP_CANCEL_NONE);
    while (wp_delivery_cancelled(delivery) != WP_CANCEL_TIMEOUT) {
        atomic_store(told, (int)wp_delivery_cancelled(delivery));
        wp__sleep_us(1000);
    }
    return WP_OUTCOME_DONE;
}

/* proves: JOB-011 */
static void test_worker__run_that_is_cancelled_and_overruns__ends_as_cancelled(void **state)
{
    bed *b = *state;
    atomic_int told = -1;
    wp_worker *worker = NULL;
    wp_job *job = job_of("j", "@daily");
    wp_id id;
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(
        wp_worker_handle(worker, WP_SOURCE_JOB, "t", done_when_time_is_over, &told, NULL, WPT_ERR));
    WPT_OK(wp_job_set_timeout_ms(job, 60000, WPT_ERR));
    put(b, job);
    WPT_OK(wp_job_trigger(&id, b->store, "j", WPT_ERR));
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    WPT_AWAIT(told == WP_CANCEL_NONE);
    WPT_OK(wp_job_run_cancel(NULL, b->store, &id, WPT_ERR));
    wpt_advance_ms(b->clock, 1000); /* worker.reap_ms */
    WPT_AWAIT(told == WP_CANCEL_REQUESTED);
    wpt_advance_ms(b->clock, 60000);
    WPT_AWAIT(last_status(b, "j") == WP_RUN_CANCELLED);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
}

/* Where a worker hears of changes it hears of a cancel, too; elsewhere it asks now and then. */
/* proves: JOB-008 */
static void test_worker__run_cancelled_elsewhere__is_told_before_it_reaps(void **state)
{
    bed *b = *state;
    const bool hears = wp__store_listens(b->store) ? !b->engine->deaf : b->engine->one_writer;
    const char *reap_ms = hears ? "3600000" : "500";
    seen s = {.answer = WP_OUTCOME_NONE, .wait = true};
    wp_config *config = bed_config(b, NULL);
    wp_store *operators = NULL; /* as in another process */
    wp_worker *worker;
    wp_id id;
    bed_reopen(b, WPT_OPTIONS("worker.reap_ms", reap_ms));
    if (b->engine->opens_new)
        operators = wp_store_ref(b->store);
    else
        WPT_OK(wp_store_open(&operators, config, WPT_ERR));
    wp_config_free(config);
    worker = worker_of(b, &s);
    put(b, job_of("j", "@daily"));
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    for (int i = 1; i <= 3; i++) {
        WPT_OK(wp_job_trigger(&id, operators, "j", WPT_ERR));
        WPT_AWAIT(passed(b, 10) && s.count == i);
        WPT_OK(wp_job_run_cancel(NULL, operators, &id, WPT_ERR));
        WPT_AWAIT(passed(b, 10) && last_status(b, "j") == WP_RUN_CANCELLED);
        assert_int_equal(s.cancel, WP_CANCEL_REQUESTED);
    }
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
    wp_store_close(operators);
}

/* A worker with a run of "own", whose job has a timeout, and one of "other", whose job has none: told to
 * stop after the worker's. */
static void runs_for(bed *b, const char *name, int64_t ms, int64_t timeout_ms)
{
    seen s = {.answer = WP_OUTCOME_NONE, .wait = true};
    wp_config *config = bed_config(b, WPT_OPTIONS("worker.timeout_ms", "3000"));
    wp_worker *worker = NULL;
    wp_job *job = job_of(name, "@daily");
    WPT_OK(wp_worker_new(&worker, b->store, config, WPT_ERR));
    wp_config_free(config);
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_JOB, "t", see, &s, NULL, WPT_ERR));
    WPT_OK(wp_job_set_timeout_ms(job, timeout_ms, WPT_ERR));
    WPT_OK(wp_job_set_retry(job, 1, 0, 0, WPT_ERR));
    put(b, job);
    WPT_OK(wp_job_trigger(NULL, b->store, name, WPT_ERR));
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    WPT_AWAIT(s.count == 1);
    wpt_advance_ms(b->clock, ms - 1);
    assert_int_equal(s.cancel, 0);
    wpt_advance_ms(b->clock, 1);
    WPT_AWAIT(last_status(b, name) == WP_RUN_TIMED_OUT);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
}

/* proves: JOB-011 */
static void test_worker__timeout_of_a_run__is_the_jobs_and_else_the_workers(void **state)
{
    runs_for(*state, "own", 5000, 5000);
    runs_for(*state, "other", 3000, 0);
}

/* How many claims of runs are over by a clock that is ahead of the bed's, which nobody else has: nobody reaps. */
static int64_t expired_claims(bed *b, int64_t ahead_us)
{
    wp_config *config = bed_config(b, NULL);
    wp_clock *clock = NULL;
    wp_store *store = NULL;
    wp_outbox_stats *stats = NULL;
    int64_t count;
    WPT_OK(wp_clock_new_manual(&clock, wp_clock_utc_us(b->clock) + ahead_us, WPT_ERR));
    WPT_OK(wp_config_set_clock(config, clock, WPT_ERR));
    WPT_OK(wp_store_open(&store, config, WPT_ERR));
    WPT_OK(wp_job_run_stats_read(&stats, store, 0, WPT_ERR));
    count = wp_outbox_stats_total(stats, WP_STAT_LEASE_EXPIRED);
    wp_outbox_stats_free(stats);
    wp_store_close(store);
    wp_config_free(config);
    wp_clock_free(clock);
    return count;
}

/* proves: JOB-009 */
static void test_worker__claims_of_runs__last_as_long_as_a_worker_says_for_jobs(void **state)
{
    static const int64_t leases[] = {300000, 60000}; /* the first by default */
    bed *b = *state;
    put(b, job_of("j", "@daily"));
    for (size_t i = 0; i < WPT_COUNT(leases); i++) {
        wp_config *config = bed_config(b, i ? WPT_OPTIONS("worker.job_lease_ms", "60000") : NULL);
        wp_worker *worker = NULL;
        wp_delivery *delivery = NULL;
        WPT_OK(wp_job_trigger(NULL, b->store, "j", WPT_ERR));
        WPT_OK(wp_worker_new(&worker, b->store, config, WPT_ERR));
        wp_config_free(config);
        WPT_OK(wp_worker_handle(worker, WP_SOURCE_JOB, "t", NULL, NULL, NULL, WPT_ERR));
        WPT_OK(wp_worker_next(&delivery, worker, 60000, WPT_ERR));
        if (!b->engine->opens_new) {
            assert_int_equal(expired_claims(b, leases[i] * 1000 - 1), 0);
            assert_int_equal(expired_claims(b, leases[i] * 1000), 1);
        }
        WPT_OK(wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
        wp_delivery_free(delivery);
        WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
        wp_worker_free(worker);
    }
}

typedef struct stuck {
    wpt_gate gate;
    atomic_int others;
} stuck;

static wp_outcome ignore_or_count(wp_delivery *delivery, void *user)
{
    stuck *s = user;
    if (strcmp(wp_received_job(wp_delivery_message(delivery)), "stuck") == 0)
        wpt_gate_pass(&s->gate); /* whatever it is told */
    else
        atomic_fetch_add(&s->others, 1);
    return WP_OUTCOME_DONE;
}

/* proves: JOB-011 */
static void test_worker__run_that_ignores_its_timeout__does_not_hold_up_others(void **state)
{
    bed *b = *state;
    stuck s = {.others = 0};
    wp_worker *worker = NULL;
    wp_job *job = job_of("stuck", "@daily");
    wpt_gate_init(&s.gate);
    WPT_OK(wp_job_set_timeout_ms(job, 5000, WPT_ERR));
    WPT_OK(wp_job_set_retry(job, 1, 0, 0, WPT_ERR));
    put(b, job);
    put(b, job_of("other", "@daily"));
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_JOB, "t", ignore_or_count, &s, NULL, WPT_ERR));
    WPT_OK(wp_job_trigger(NULL, b->store, "stuck", WPT_ERR));
    WPT_OK(wp_worker_start(worker, 2, WPT_ERR));
    WPT_AWAIT(wpt_gate_waiting(&s.gate) == 1);
    wpt_advance_ms(b->clock, 5000);
    for (int i = 1; i <= 3; i++) {
        WPT_OK(wp_job_trigger(NULL, b->store, "other", WPT_ERR));
        WPT_AWAIT(s.others == i);
        WPT_AWAIT(passed(b, 10) && last_status(b, "other") == WP_RUN_SUCCEEDED);
    }
    assert_int_equal(wpt_gate_waiting(&s.gate), 1);
    wpt_gate_open(&s.gate, SIZE_MAX);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
    wpt_gate_fini(&s.gate);
}

/* Though its lease would be over again and again. */
/* proves: JOB-009, JOB-015 */
static void test_worker__long_run__is_renewed_and_never_taken(void **state)
{
    bed *b = *state;
    stuck s = {.others = 0};
    wp_worker *worker = NULL;
    wpt_gate_init(&s.gate);
    put(b, job_of("stuck", "@yearly"));
    WPT_OK(wp_job_trigger(NULL, b->store, "stuck", WPT_ERR));
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_JOB, "t", ignore_or_count, &s, NULL, WPT_ERR));
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    WPT_AWAIT(wpt_gate_waiting(&s.gate) == 1);
    for (int i = 1; i <= 4; i++) {
        size_t reaped = 9;
        wpt_advance_ms(b->clock, 200000); /* of 300 s */
        WPT_AWAIT(wp_worker_counter(worker, WP_COUNTER_RENEWED) >= i);
        WPT_OK(wp_job_run_reap(&reaped, b->store, WPT_ERR));
        assert_int_equal(reaped, 0);
    }
    wpt_gate_open(&s.gate, SIZE_MAX);
    WPT_AWAIT(last_status(b, "stuck") == WP_RUN_SUCCEEDED);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_CLAIMED), 1);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
    wpt_gate_fini(&s.gate);
}

static wp_outcome count_own(wp_delivery *delivery, void *user)
{
    char topic[16];
    atomic_int *own = user;
    (void)snprintf(topic, sizeof topic, "t%d", atomic_load(own));
    assert_string_equal(wp_received_topic(wp_delivery_message(delivery)), topic);
    atomic_fetch_add(own, 1000);
    return WP_OUTCOME_DONE;
}

/* More topics than the index of handlers has slots: each run reaches the handler of its own. */
/* proves: JOB-019 */
static void test_worker__with_many_topics__each_run_reaches_its_handler(void **state)
{
    enum { TOPICS = 300, JOBS = 30 };
    bed *b = *state;
    static atomic_int own[TOPICS];
    wp_worker *worker = NULL;
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    for (int i = 0; i < TOPICS; i++) {
        char topic[16];
        wp_job *job = NULL;
        (void)snprintf(topic, sizeof topic, "t%d", i);
        atomic_store(&own[i], i);
        WPT_OK(wp_worker_handle(worker, WP_SOURCE_JOB, topic, count_own, &own[i], NULL, WPT_ERR));
        if (i % (TOPICS / JOBS) != 0)
            continue;
        WPT_OK(wp_job_new(&job, topic, topic, "p", 1, WPT_ERR));
        WPT_OK(wp_job_set_schedule(job, "@daily", NULL, WPT_ERR));
        put(b, job);
        WPT_OK(wp_job_trigger(NULL, b->store, topic, WPT_ERR));
    }
    while (drain(worker) > 0) {
    }
    for (int i = 0; i < TOPICS; i++)
        assert_int_equal(own[i], i % (TOPICS / JOBS) == 0 ? i + 1000 : i);
    wp_worker_free(worker);
}

/* scenario: RUN-010 */
/* proves: JOB-008, JOB-011 */
static void test_worker__run_that_is_cancelled__is_told_to_stop_and_not_tried_again(void **state)
{
    bed *b = *state;
    static const wp_outcome answers[] = {WP_OUTCOME_RETRY, WP_OUTCOME_REJECT, WP_OUTCOME_NONE,
                                         WP_OUTCOME_DONE};
    seen s = {.wait = true};
    wp_worker *worker = worker_of(b, &s);
    wp_config *config = bed_config(b, WPT_OPTIONS(NULL, NULL));
    wp_store *operators = NULL; /* as in another process */
    size_t replayed = 9;
    if (b->engine->opens_new)
        operators = wp_store_ref(b->store);
    else
        WPT_OK(wp_store_open(&operators, config, WPT_ERR));
    wp_config_free(config);
    put(b, job_of("j", "@daily"));
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    for (size_t i = 0; i < WPT_COUNT(answers); i++) {
        int cancelled = 7;
        wp_id id;
        s.answer = answers[i];
        s.count = 0;
        WPT_OK(wp_job_trigger(&id, b->store, "j", WPT_ERR));
        WPT_AWAIT(s.count == 1);
        WPT_OK(wp_job_run_cancel(&cancelled, operators, &id, WPT_ERR));
        assert_int_equal(cancelled, 1);
        wpt_advance_ms(b->clock, 1000); /* worker.reap_ms */
        WPT_AWAIT(last_status(b, "j") ==
                  (answers[i] == WP_OUTCOME_DONE ? WP_RUN_SUCCEEDED : WP_RUN_CANCELLED));
        assert_int_equal(s.cancel, WP_CANCEL_REQUESTED);
    }
    /* it is no dead letter, and no replay of those brings it back */
    WPT_OK(wp_dead_replay(&replayed, b->store, WP_SOURCE_JOB, NULL, 9, 0, NULL, WPT_ERR));
    assert_int_equal(replayed, 0);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(s.count, 1);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_FAILED), 0);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_CANCELLED), 3);
    wp_worker_free(worker);
    wp_store_close(operators);
}

/* proves: JOB-006, JOB-017 */
static void test_worker__running__sleeps_until_the_job_is_due(void **state)
{
    bed *b = *state;
    seen s = {.answer = WP_OUTCOME_DONE};
    wp_worker *worker = worker_of(b, &s);
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    WPT_AWAIT(wp_worker_counter(worker, WP_COUNTER_POLLS) > 0);
    put(b, job_of("j", "@hourly"));
    for (int i = 1; i <= 3; i++) {
        wpt_advance_ms(b->clock, HOUR_MS);
        WPT_AWAIT(s.count == i);
        WPT_AWAIT(last_status(b, "j") == WP_RUN_SUCCEEDED);
    }
    dues_are(b, "j", (int64_t[]){60 * MINUTE_US, 120 * MINUTE_US, 180 * MINUTE_US}, 3);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
}

/* Jobs whose zone is gone are told of, and hold up none of the others, however many they are. */
/* proves: JOB-007, CRN-005 */
static void test_worker__job_that_cannot_be_scheduled__does_not_hold_up_others(void **state)
{
    bed *b = *state;
    seen s = {.answer = WP_OUTCOME_DONE};
    wp_worker *worker;
    wp_job *job;
    wp_config *config;
    wpt_log log;
    for (int i = 0; i < 120; i++) { /* more than a page */
        char name[16];
        (void)snprintf(name, sizeof name, i ? "lost %d" : "lost", i);
        job = job_of(name, NULL);
        WPT_OK(wp_job_set_schedule(job, "* * * * * *", "Europe/Vienna", WPT_ERR));
        put(b, job);
    }
    if (b->engine->opens_new)
        return; /* the database would be gone */
    config = bed_config(b, WPT_OPTIONS("schedule.zone_directory", "/nowhere"));
    wpt_log_init(&log);
    wpt_log_attach(&log, config, "error");
    bed_reopen_with(b, config);
    job = job_of("j", "* * * * * *");
    WPT_OK(wp_job_set_overlap(job, WP_OVERLAP_ALLOW, WPT_ERR)); /* no run wakes the next one */
    put(b, job);
    worker = worker_of(b, &s);
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    for (int i = 1; i <= 5; i++) {
        wpt_advance_ms(b->clock, 1000);
        WPT_AWAIT(run_count(b, "j") >= (size_t)i - 1);
    }
    assert_int_equal(run_count(b, "lost"), 0);
    assert_true(wpt_log_count(&log, "error", "cannot be scheduled", "\"Job\":\"lost\"") > 0);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
    bed_reopen(b, WPT_OPTIONS(NULL, NULL));
    wpt_log_fini(&log);
}

/* Where jobs come due faster than a worker makes their runs, it still handles some. */
/* proves: JOB-006 */
static void test_worker__very_many_jobs_are_due__handles_runs_before_all_are_made(void **state)
{
    enum { DUE = 250 };
    bed *b = *state;
    seen s = {.answer = WP_OUTCOME_DONE};
    wp_job *jobs[DUE];
    wp_worker *worker = worker_of(b, &s);
    size_t handled = 0;
    for (int i = 0; i < DUE; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%d", i);
        jobs[i] = job_of(name, "* * * * * *");
    }
    WPT_OK(wp_job_register(b->store, "app", (const wp_job *const *)jobs, DUE, WPT_ERR));
    for (int i = 0; i < DUE; i++)
        wp_job_free(jobs[i]);
    wpt_advance_ms(b->clock, 1000);
    WPT_OK(wp_worker_step(&handled, worker, WPT_ERR));
    assert_int_equal(handled, 1);
    assert_in_range(run_count(b, NULL), 1, DUE - 1);
    WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR)); /* and so all are made in the end */
    assert_int_equal(run_count(b, NULL), DUE);
    assert_int_equal(s.count, DUE);
    wp_worker_free(worker);
}

/* proves: JOB-008 */
static void test_output__too_long_or_no_run__is_refused(void **state)
{
    bed *b = *state;
    seen s = {.answer = WP_OUTCOME_DONE};
    wp_worker *worker = NULL;
    wp_delivery *delivery = NULL;
    char *text = calloc(1, WP_OUTPUT_MAX + 2);
    wp_job_runs *runs;
    (void)s;
    assert_non_null(text);
    memset(text, 'x', WP_OUTPUT_MAX + 1);
    put(b, job_of("j", "@daily"));
    WPT_OK(wp_job_trigger(NULL, b->store, "j", WPT_ERR));
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_JOB, "t", NULL, NULL, NULL, WPT_ERR));
    WPT_OK(wp_worker_next(&delivery, worker, 60000, WPT_ERR));
    WPT_FAILS(wp_delivery_set_output(delivery, text, WP_OUTPUT_MAX + 1, WPT_ERR), WP_E_RANGE,
              "output");
    WPT_FAILS(wp_delivery_set_output(delivery, "\xff", 1, WPT_ERR), WP_E_ARGUMENT, "output");
    WPT_OK(wp_delivery_set_output(delivery, text, WP_OUTPUT_MAX, WPT_ERR));
    WPT_OK(wp_delivery_finish(delivery, WP_OUTCOME_REJECT, "no", 0, WPT_ERR));
    WPT_OK(wp_delivery_settle(delivery, 60000, WPT_ERR));
    WPT_STATUS(wp_delivery_set_output(delivery, "x", 1, WPT_ERR), WP_E_STATE);
    wp_delivery_free(delivery);
    runs = runs_of(b, "j");
    assert_int_equal(wp_job_run_status(wp_job_runs_at(runs, 0)), WP_RUN_FAILED);
    assert_string_equal(wp_job_run_error(wp_job_runs_at(runs, 0)), "no");
    assert_int_equal(strlen(wp_job_run_output(wp_job_runs_at(runs, 0))), WP_OUTPUT_MAX);
    wp_job_runs_free(runs);
    wp_worker_free(worker);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_put__new_and_changed__one_job_a_name_and_nothing_for_the_past),
        BED_TEST(test_put__zone_alone_is_changed__from_now_on_in_that_zone),
        BED_TEST(test_put__malformed__is_refused_and_changes_nothing),
        BED_TEST(test_delete__pending_and_running_runs__goes_with_the_former_alone),
        BED_TEST(test_delete__while_a_run_is_running__lets_it_finish),
        BED_TEST(test_disable__holds_until_enabled__and_nothing_is_made_up_for),
        BED_TEST(test_register__again__updates_retires_and_loses_no_missed_run),
        BED_TEST(test_override__of_the_configuration__replaces_the_expression_if_it_is_valid),
        BED_TEST(test_override__that_is_no_json_object__is_logged_and_changes_nothing),
        BED_TEST(test_override__of_a_job_that_is_not_there__is_logged_when_jobs_are_registered),
        BED_TEST(test_register__job_of_another_program__is_told_to_the_log),
        BED_TEST(test_override__that_is_taken_away__leaves_what_the_code_has),
        BED_TEST(test_get__of_a_job__shows_what_it_was_stored_with),
        BED_TEST(test_once__in_the_future__fires_once_and_its_name_is_free_again),
        BED_TEST(test_schedule__due__one_run_at_the_schedules_instant),
        BED_TEST(test_schedule__clocks_are_set__once_a_day_in_the_zone),
        BED_TEST(test_misfire__after_an_hour__by_policy),
        BED_TEST(test_overlap__while_a_run_is_unfinished__by_policy),
        BED_TEST(test_schedule__after_the_clock_was_ahead__goes_on_from_now),
        BED_TEST(test_schedule__by_clocks_that_differ_a_little__leaves_the_job_alone),
        BED_TEST(test_schedule__ten_schedulers_with_clocks_that_differ__the_planned_runs),
        BED_TEST(test_register__500_jobs_by_four_processes_at_once__each_is_there_once),
        BED_TEST(test_register__one_job_by_two_programs_again_and_again__is_of_the_last),
        BED_TEST(test_lent__put_trigger_and_delete__count_with_the_apps_commit),
        BED_TEST(test_run__claim_and_what_ends_it__as_in_the_outbox),
        BED_TEST(test_purge__old_runs__go_and_others_stay),
        BED_TEST(test_purge__more_than_a_page__deletes_all),
        BED_TEST(test_cancel__pending_run__ends_and_others_do_not),
        BED_TEST(test_run__abandoned_and_reaped__by_its_jobs_policy),
        BED_TEST(test_overlap__queue_behind_a_run_that_is_stuck__is_bounded),
        BED_TEST(test_cancel__of_a_run_whose_holder_died__ends_it_as_cancelled),
        BED_TEST(test_worker__due_job__runs_and_its_history_tells),
        BED_TEST(test_worker__failing_run__is_retried_by_its_jobs_policy),
        BED_TEST(test_worker__meets_lost_runs__warns_and_runs_them_again),
        BED_TEST(test_worker__run_over_its_time__is_told_to_stop_and_timed_out),
        BED_TEST(test_worker__run_that_ends_well_after_its_time__has_failed_and_is_retried),
        BED_TEST(test_worker__run_that_fails_with_the_word_timeout__has_failed),
        BED_TEST(test_worker__run_completed_in_a_transaction__is_done_however_late),
        BED_TEST(test_delivery__done_after_the_time_of_its_run__is_told_that_it_failed),
        BED_TEST(test_worker__run_that_is_cancelled_and_overruns__ends_as_cancelled),
        BED_TEST(test_worker__run_cancelled_elsewhere__is_told_before_it_reaps),
        BED_TEST(test_get__as_an_operation__finds_what_the_apps_transaction_sees),
        BED_TEST(test_worker__timeout_of_a_run__is_the_jobs_and_else_the_workers),
        BED_TEST(test_worker__claims_of_runs__last_as_long_as_a_worker_says_for_jobs),
        BED_TEST(test_worker__run_that_ignores_its_timeout__does_not_hold_up_others),
        BED_TEST(test_worker__long_run__is_renewed_and_never_taken),
        BED_TEST(test_worker__with_many_topics__each_run_reaches_its_handler),
        BED_TEST(test_worker__run_that_is_cancelled__is_told_to_stop_and_not_tried_again),
        BED_TEST(test_worker__running__sleeps_until_the_job_is_due),
        BED_TEST(test_worker__job_that_cannot_be_scheduled__does_not_hold_up_others),
        BED_TEST(test_worker__very_many_jobs_are_due__handles_runs_before_all_are_made),
        BED_TEST(test_output__too_long_or_no_run__is_refused),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
