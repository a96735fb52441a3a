/* SPDX-License-Identifier: Apache-2.0 */
/* Very many recurring jobs: how many runs a worker makes and handles, and how late they are. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { JOBS = 10000, SECONDS = 20 };

/* A schedule: every how many seconds each job runs; the jobs are spread over them. */
typedef struct load {
    const char *name;
    int period; /* a divisor of 60 */
    const char *zone;
} load;

static wp_outcome note_time(wp_delivery *delivery, void *user)
{
    bench_late_add(user, bench_utc_us() - wp_received_due_us(wp_delivery_message(delivery)));
    return WP_OUTCOME_DONE;
}

static double put_jobs(bench_db *db, const load *l)
{
    static wp_job *jobs[JOBS];
    wp_error *err = NULL;
    int64_t started;
    for (int i = 0; i < JOBS; i++) {
        char name[32], expression[32];
        (void)snprintf(name, sizeof name, "job %d", i);
        if (l->period == 60)
            (void)snprintf(expression, sizeof expression, "%d * * * * *", i % 60);
        else
            (void)snprintf(expression, sizeof expression, "%d/%d * * * * *", i % l->period,
                           l->period);
        bench_ok(wp_job_new(&jobs[i], name, BENCH_TOPIC, "", 0, &err), &err, "job");
        bench_ok(wp_job_set_schedule(jobs[i], expression, l->zone, &err), &err, "schedule");
    }
    started = bench_now_us();
    bench_ok(wp_job_register(db->store, "bench", (const wp_job *const *)jobs, JOBS, &err), &err,
             "register");
    started = bench_now_us() - started;
    for (int i = 0; i < JOBS; i++)
        wp_job_free(jobs[i]);
    return (double)started / 1e6;
}

static void run(const bench_place *place, const load *l)
{
    static bench_late late;
    bench_db db;
    wp_worker *w = NULL;
    wp_error *err = NULL;
    char name[64], group[32];
    double took;
    atomic_store(&late.count, 0);
    (void)snprintf(group, sizeof group, "%sjobs", place->name);
    place->make(&db);
    bench_progress("jobs: %s", l->name);
    took = put_jobs(&db, l);
    bench_ok(wp_worker_new(&w, db.store, NULL, &err), &err, "worker");
    bench_ok(wp_worker_handle(w, WP_SOURCE_JOB, BENCH_TOPIC, note_time, &late, NULL, &err), &err,
             "handler");
    bench_ok(wp_worker_start(w, 4, &err), &err, "start");
    bench_sleep_us(3000000); /* what was due while they were stored */
    atomic_store(&late.count, 0);
    bench_sleep_us(SECONDS * INT64_C(1000000));
    (void)snprintf(name, sizeof name, "%s: %d planned", l->name, JOBS / l->period);
    bench_report_one(group, name, "runs/s", (double)atomic_load(&late.count) / SECONDS);
    bench_late_report(&late, group, "late");
    bench_report_one(group, "all jobs registered in", "s", took);
    bench_ok(wp_worker_stop(NULL, w, 10000, &err), &err, "stop");
    wp_worker_free(w);
    place->drop(&db);
}

/* How many runs a second plain statements make and handle, of jobs that run every second. */
static void raw(const bench_place *place)
{
    static const load every_second = {"every second", 1, "UTC"};
    char group[32];
    bench_db db;
    place->make(&db);
    (void)put_jobs(&db, &every_second);
    bench_sleep_us(1100000); /* until all are due */
    (void)snprintf(group, sizeof group, "%sjobs", place->name);
    bench_report_one(group, "raw, a hundred at a time, one connection", "runs/s",
                     place->raw_runs(&db, JOBS));
    place->drop(&db);
}

static void jobs_on(const bench_place *place, const char *title)
{
    static const load loads[] = {{"each once a minute", 60, "UTC"},
                                 {"each once in 10 s, in Berlin", 10, "Europe/Berlin"},
                                 {"each every second", 1, "UTC"}};
    if (!place->heading(title))
        return;
    bench_note("the jobs are spread evenly; a handler that does nothing, 4 threads, 20 s; an empty "
               "payload");
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++)
        run(place, &loads[i]);
    if (place->raw_runs)
        raw(place);
}

void bench_jobs(void)
{
    jobs_on(&bench_on_sqlite, "10,000 recurring jobs, in one worker");
}

void bench_pg_jobs(void)
{
    jobs_on(&bench_on_postgresql, "PostgreSQL: 10,000 recurring jobs, in one worker");
}

void bench_maria_jobs(void)
{
    jobs_on(&bench_on_mariadb, "MariaDB: 10,000 recurring jobs, in one worker");
}
