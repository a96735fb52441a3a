/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: a report each night in Berlin and a chore that skips what it missed, as a program registers them;
 * what an operator does to them; and the history of their runs. A clock that moves by hand stands in for
 * the nights.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <waypost/waypost.h>

#define HOUR_US INT64_C(3600000000)
#define START_US INT64_C(1800000000000000) /* 2027-01-15 08:00 UTC */

static void check(wp_status status, wp_error **err)
{
    if (status == WP_OK)
        return;
    (void)fprintf(stderr, "%s: %s\n", wp_status_name(status), wp_error_message(*err));
    exit(EXIT_FAILURE);
}

/* The first attempt of each report fails; what a run returns is kept with it. */
static wp_outcome report(wp_delivery *delivery, void *user)
{
    const wp_received *run = wp_delivery_message(delivery);
    wp_error *err = NULL;
    (void)user;
    if (wp_received_attempt(run) == 0)
        return WP_OUTCOME_RETRY;
    check(wp_delivery_set_output(delivery, "42 orders", strlen("42 orders"), &err), &err);
    return WP_OUTCOME_DONE;
}

static wp_outcome tidy(wp_delivery *delivery, void *user)
{
    (void)delivery;
    ++*(int *)user;
    return WP_OUTCOME_DONE;
}

/* The jobs of this program's code. What it has no more is switched off when it next registers. */
static void register_jobs(wp_store *store)
{
    wp_error *err = NULL;
    wp_job *nightly = NULL, *chore = NULL;
    check(wp_job_new(&nightly, "nightly", "report", "{}", 2, &err), &err);
    check(wp_job_set_schedule(nightly, "0 3 * * *", "Europe/Berlin", &err), &err);
    check(wp_job_set_retry(nightly, 3, 60000, 600000, &err), &err);
    check(wp_job_set_timeout_ms(nightly, 600000, &err), &err);
    check(wp_job_new(&chore, "chore", "tidy", "", 0, &err), &err);
    check(wp_job_set_schedule(chore, "@hourly", NULL, &err), &err);
    check(wp_job_set_overlap(chore, WP_OVERLAP_SKIP, &err), &err);
    check(wp_job_set_misfire(chore, WP_MISFIRE_SKIP, 60000, 0, &err), &err);
    check(wp_job_register(store, "examples/jobs", (const wp_job *const[]){nightly, chore}, 2, &err),
          &err);
    wp_job_free(nightly);
    wp_job_free(chore);
}

/* Time goes by, and the worker does what is due; a service calls wp_worker_run(). */
static void wait_us(wp_clock *clock, wp_worker *worker, int64_t us)
{
    wp_error *err = NULL;
    check(wp_clock_advance_us(clock, us, &err), &err);
    check(wp_worker_drain(NULL, worker, 10000, &err), &err);
}

static const char *status_of(const wp_job_run *run)
{
    switch (wp_job_run_status(run)) {
    case WP_RUN_PENDING:
        return "pending";
    case WP_RUN_RUNNING:
        return "running";
    case WP_RUN_SUCCEEDED:
        return "succeeded";
    case WP_RUN_FAILED:
        return "failed";
    case WP_RUN_TIMED_OUT:
        return "timed out";
    case WP_RUN_CANCELLED:
        return "cancelled";
    case WP_RUN_SKIPPED:
        return "skipped";
    default:
        return "none";
    }
}

/* Print a job's runs; returns how many of them stand so. */
static int history(wp_store *store, const char *name, wp_run_status wanted)
{
    wp_error *err = NULL;
    wp_job_runs *runs = NULL;
    int found = 0;
    check(wp_job_run_list(&runs, store, name, NULL, 100, &err), &err);
    for (size_t i = wp_job_runs_count(runs); i-- > 0;) {
        const wp_job_run *run = wp_job_runs_at(runs, i);
        const char *output = wp_job_run_output(run), *error = wp_job_run_error(run);
        printf("%-8s hour %5.2f  %-9s  %s\n", name,
               (double)(wp_job_run_due_us(run) - START_US) / (double)HOUR_US, status_of(run),
               output  ? output
               : error ? error
                       : "");
        found += wp_job_run_status(run) == wanted;
    }
    wp_job_runs_free(runs);
    return found;
}

int main(void)
{
    wp_error *err = NULL;
    wp_config *config = NULL;
    wp_clock *clock = NULL;
    wp_store *store = NULL;
    wp_worker *worker = NULL;
    wp_job *once = NULL;
    int tidied = 0, reports;
    check(wp_clock_new_manual(&clock, START_US, &err), &err);
    check(wp_config_new(&config, &err), &err);
    check(wp_config_set(config, "store.url", "sqlite:jobs.db", &err), &err);
    check(wp_config_set(config, "store.deploy", "true", &err), &err);
    check(wp_config_set_clock(config, clock, &err), &err);
    check(wp_store_open(&store, config, &err), &err);
    check(wp_worker_new(&worker, store, NULL, &err), &err);
    check(wp_worker_handle(worker, WP_SOURCE_JOB, "report", report, NULL, NULL, &err), &err);
    check(wp_worker_handle(worker, WP_SOURCE_JOB, "tidy", tidy, &tidied, NULL, &err), &err);
    register_jobs(store);

    wait_us(clock, worker, HOUR_US); /* 09:00: the chore runs */
    wait_us(clock, worker,
            20 * HOUR_US); /* nobody was there: the chore skips, the report is made up */
    wait_us(clock, worker, INT64_C(61000000));                /* its second attempt */
    check(wp_job_set_enabled(store, "chore", 0, &err), &err); /* an operator */
    wait_us(clock, worker, 2 * HOUR_US);
    check(wp_job_trigger(NULL, store, "chore", &err), &err); /* once, all the same */
    wait_us(clock, worker, 0);

    check(wp_job_new(&once, "migrate", "tidy", "", 0, &err), &err); /* a one-time job, in an hour */
    check(wp_job_set_once_us(once, wp_clock_utc_us(clock) + HOUR_US, &err), &err);
    check(wp_job_put(store, once, &err), &err);
    wp_job_free(once);
    wait_us(clock, worker, HOUR_US);

    reports = history(store, "nightly", WP_RUN_SUCCEEDED);
    (void)history(store, "chore", WP_RUN_SKIPPED);
    (void)history(store, "migrate", WP_RUN_SUCCEEDED);
    printf("tidied %d times\n", tidied);

    wp_worker_free(worker);
    wp_store_close(store);
    wp_config_free(config);
    wp_clock_free(clock);
    return reports == 1 && tidied == 3 ? EXIT_SUCCESS : EXIT_FAILURE;
}
