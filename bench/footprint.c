/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker takes: memory under load, and time when there is nothing to do. Each in a process
 * of its own. */
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static json_t *run_child(const char *name, const char *first, const char *second, const char *third)
{
    const char *const arguments[] = {"/proc/self/exe", "--child", name, first, second, third, NULL};
    int out = -1;
    int64_t pid = bench_spawn(&out, arguments);
    char *text = bench_collect(pid, out);
    json_t *object = json_loads(text, 0, NULL);
    if (!object)
        bench_die("the child %s wrote: %s", name, text);
    free(text);
    return object;
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* ---- memory ---- */

/* A line of /proc/self/status, such as "VmHWM:", in MiB. */
static double status_mib(const char *key)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double mib = 0;
    if (!file)
        bench_die("/proc/self/status cannot be read");
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            mib = strtod(line + strlen(key), NULL) / 1024;
    (void)fclose(file);
    return mib;
}

int bench_child_memory(char **arguments)
{
    bench_db db;
    double before;
    bench_db_open(&db, arguments[0]);
    before = status_mib("VmRSS:");
    (void)bench_handle(db.store, (size_t)strtol(arguments[1], NULL, 10), BENCH_CONCURRENCY, NULL);
    (void)printf("{\"peak\": %.2f, \"before\": %.2f}\n", status_mib("VmHWM:"), before);
    wp_store_close(db.store);
    return 0;
}

static void measure_memory(const char *name, size_t count, size_t payload, double aim)
{
    bench_db db;
    char text[24];
    json_t *object;
    (void)snprintf(text, sizeof text, "%zu", count);
    bench_progress("memory: %s", name);
    bench_db_new(&db);
    bench_load_sized(&db, count, payload);
    object = run_child("memory", db.path, text, NULL);
    bench_report_aim("memory", name, "MiB", number_of(object, "peak"), 0, aim);
    json_decref(object);
    bench_db_drop(&db);
}

void bench_memory(void)
{
    bench_heading("Peak memory of a worker under load");
    bench_note("the whole process, concurrency 16, 16 threads");
    measure_memory("100,000 messages of 300 bytes", 100000, BENCH_PAYLOAD, 64);
    measure_memory("10,000 messages of 16 KiB", 10000, 16384, 64);
}

/* ---- idle ---- */

static atomic_int statements_run;

static int count_statement(unsigned kind, void *user, void *statement, void *text)
{
    (void)kind;
    (void)user;
    (void)statement;
    (void)text;
    (void)atomic_fetch_add(&statements_run, 1);
    return 0;
}

/* SQLite calls this for every connection that is opened: count what runs on it. */
static int watch_connection(sqlite3 *db, const char **message, const void *api)
{
    (void)message;
    (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count_statement, NULL);
}

static wp_outcome no_op(wp_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return WP_OUTCOME_DONE;
}

int bench_child_idle(char **arguments)
{
    bench_db db;
    wp_worker *worker = NULL;
    wp_error *err = NULL;
    double seconds = strtod(arguments[1], NULL);
    double cpu;
    int64_t polls;
    int count;
    (void)sqlite3_auto_extension((void (*)(void))watch_connection);
    bench_db_open(&db, arguments[0]);
    bench_ok(wp_worker_new(&worker, db.store, NULL, &err), &err, "worker");
    for (int source = WP_SOURCE_OUTBOX; source <= WP_SOURCE_JOB; source++)
        if (source == WP_SOURCE_OUTBOX || strcmp(arguments[2], "all") == 0)
            bench_ok(
                wp_worker_handle(worker, (wp_source)source, BENCH_TOPIC, no_op, NULL, NULL, &err),
                &err, "handler");
    bench_ok(wp_worker_start(worker, BENCH_CONCURRENCY, &err), &err, "start");
    bench_sleep_us(10000000); /* the polls become rarer at first */
    cpu = bench_cpu_ms();
    polls = wp_worker_counter(worker, WP_COUNTER_POLLS);
    count = atomic_load(&statements_run);
    bench_sleep_us((int64_t)(seconds * 1e6));
    cpu = bench_cpu_ms() - cpu;
    polls = wp_worker_counter(worker, WP_COUNTER_POLLS) - polls;
    count = atomic_load(&statements_run) - count;
    wp_worker_free(worker);
    wp_store_close(db.store);
    (void)printf("{\"cpu\": %.3f, \"polls\": %.1f, \"statements\": %.1f}\n", cpu * 60 / seconds,
                 (double)polls * 60 / seconds, (double)count * 60 / seconds);
    return 0;
}

/* Jobs and timers that are due tomorrow and later. */
static void load_waiting(bench_db *db)
{
    enum { TIMERS = 10000, JOBS = 1000 };
    wp_message *timer = NULL;
    wp_error *err = NULL;
    static const wp_message *timers[TIMERS];
    static wp_id ids[TIMERS];
    bench_ok(wp_message_new(&timer, BENCH_TOPIC, "", 0, &err), &err, "message");
    bench_ok(wp_message_set_delay_ms(timer, 86400000, &err), &err, "delay");
    for (int i = 0; i < TIMERS; i++)
        timers[i] = timer;
    bench_ok(wp_timer_schedule_many(ids, NULL, db->store, NULL, timers, TIMERS, &err), &err,
             "schedule");
    wp_message_free(timer);
    for (int i = 0; i < JOBS; i++) {
        wp_job *job = NULL;
        char name[32];
        (void)snprintf(name, sizeof name, "job %d", i);
        bench_ok(wp_job_new(&job, name, BENCH_TOPIC, "", 0, &err), &err, "job");
        bench_ok(wp_job_set_schedule(job, "0 0 1 1 *", NULL, &err), &err, "schedule");
        bench_ok(wp_job_put(db->store, job, &err), &err, "put");
        wp_job_free(job);
    }
}

static void measure_idle(const char *what, bool waiting)
{
    bench_db db;
    json_t *object;
    char name[64];
    bench_progress("%s: wait and see", what);
    bench_db_new(&db);
    if (waiting)
        load_waiting(&db);
    object = run_child("idle", db.path, bench_opt.full ? "60" : "10", waiting ? "all" : "outbox");
    (void)snprintf(name, sizeof name, "%s: processor time", what);
    bench_report_one("idle", name, "ms/minute", number_of(object, "cpu"));
    (void)snprintf(name, sizeof name, "%s: statements", what);
    bench_report_one("idle", name, "1/minute", number_of(object, "statements"));
    (void)snprintf(name, sizeof name, "%s: polls among them", what);
    bench_report_one("idle", name, "1/minute", number_of(object, "polls"));
    json_decref(object);
    bench_db_drop(&db);
}

void bench_idle(void)
{
    bench_heading("An idle worker");
    bench_note("on all its connections; waiting: 10,000 timers and 1,000 jobs that are due later");
    measure_idle("outbox", false);
    measure_idle("all queues, waiting", true);
}
