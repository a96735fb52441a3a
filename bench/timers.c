/* SPDX-License-Identifier: Apache-2.0 */
/* Timers: very many that are due at once, and how punctual they are; on each engine, beside raw statements on SQLite. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { DUE = 100000, DUE_ON_SERVER = 20000, BATCH = 100, EACH_MS = 10000 };

/* Schedule `count` timers, the first at `first_us` and each `step_us` after the one before. */
static void load(bench_db *db, size_t count, int64_t first_us, int64_t step_us)
{
    enum { PAGE = 1000 };
    wp_message *batch[PAGE];
    wp_id ids[PAGE];
    wp_error *err = NULL;
    for (size_t done = 0; done < count; done += PAGE) {
        size_t now = count - done < PAGE ? count - done : PAGE;
        for (size_t i = 0; i < now; i++) {
            bench_ok(wp_message_new(&batch[i], BENCH_TOPIC, bench_payload(), BENCH_PAYLOAD, &err),
                     &err, "message");
            bench_ok(
                wp_message_set_due_us(batch[i], first_us + (int64_t)(done + i) * step_us, &err),
                &err, "due time");
        }
        bench_ok(wp_timer_schedule_many(ids, NULL, db->store, NULL,
                                        (const wp_message *const *)batch, now, &err),
                 &err, "schedule");
        for (size_t i = 0; i < now; i++)
            wp_message_free(batch[i]);
    }
}

/* ---- due at once -------------------------------------------------------------------------- */

/* The clocks of the host and of its servers are one. */
static double drain(const bench_place *place, size_t count, unsigned threads)
{
    bench_db db;
    double result;
    place->make(&db);
    load(&db, count, bench_utc_us() - 1000000, 0);
    result = bench_handle_from(db.store, WP_SOURCE_TIMER, count, threads, NULL);
    place->drop(&db);
    return result;
}

static double worker(void *arg)
{
    return drain(&bench_on_sqlite, DUE, *(const unsigned *)arg);
}

static double on_server(void *arg)
{
    return drain(arg, DUE_ON_SERVER, 4);
}

static double on_server_raw(void *arg)
{
    const bench_place *place = arg;
    bench_db db;
    double result;
    place->make(&db);
    load(&db, DUE_ON_SERVER, bench_utc_us() - 1000000, 0);
    result = place->raw_timers(&db, DUE_ON_SERVER);
    place->drop(&db);
    return result;
}

static double statements(void *arg)
{
    bench_db db;
    bench_raw raw;
    size_t done = 0;
    int64_t started;
    (void)arg;
    bench_db_new(&db);
    load(&db, DUE, bench_utc_us() - 1000000, 0);
    bench_raw_open_timers(&raw, db.path, BATCH);
    started = bench_now_us();
    while (done < DUE) {
        size_t got = bench_raw_claim(&raw);
        if (!got)
            bench_die("the raw statements found %zu of %d timers", done, DUE);
        bench_raw_ack(&raw, got);
        done += got;
    }
    started = bench_now_us() - started;
    bench_raw_close(&raw);
    bench_db_drop(&db);
    return DUE * 1e6 / (double)started;
}

static void due_at_once(void)
{
    static unsigned threads[] = {1, 4};
    const bench_side sides[] = {{worker, &threads[0]}, {worker, &threads[1]}, {statements, NULL}};
    bench_samples samples;
    bench_heading("100,000 timers that are due at once");
    bench_note("concurrency 16, payload 300 bytes; raw: claim 100, ack 100, one thread");
    bench_sample(&samples, "timers", sides, 3, bench_opt.rounds);
    bench_report_pair("timers", "1 thread", "timers/s", &samples, 0, 2, 0);
    bench_report_pair("timers", "4 threads", "timers/s", &samples, 1, 2, 0);
}

/* ---- punctual ----------------------------------------------------------------------------- */

static wp_outcome note_time(wp_delivery *delivery, void *user)
{
    bench_late *late = user;
    const int64_t due = wp_received_due_us(wp_delivery_message(delivery));
    bench_late_add(late, bench_utc_us() - due);
    return WP_OUTCOME_DONE;
}

void bench_late_add(bench_late *late, int64_t us)
{
    const size_t at = atomic_fetch_add(&late->count, 1);
    if (us < 0)
        bench_die("a handler was %lld us early", (long long)-us);
    if (at < BENCH_LATE_MAX)
        late->ms[at] = (double)us / 1000;
}

void bench_late_report(bench_late *late, const char *group, const char *name)
{
    static const struct {
        double q;
        const char *name;
    } parts[] = {{0.5, "p50"}, {0.99, "p99"}, {1, "at most"}};
    size_t all = atomic_load(&late->count);
    int count = (int)(all < BENCH_LATE_MAX ? all : BENCH_LATE_MAX);
    char text[96];
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        (void)snprintf(text, sizeof text, "%s, %s", name, parts[i].name);
        bench_report_one(group, text, "ms", bench_quantile(late->ms, count, parts[i].q));
    }
}

static void punctual(const bench_place *place, size_t a_second)
{
    enum { LEAD_US = 2000000 };
    static bench_late late;
    bench_db db;
    wp_worker *w = NULL;
    wp_error *err = NULL;
    char name[64], group[32];
    const size_t count = a_second * EACH_MS / 1000;
    int64_t give_up;
    atomic_store(&late.count, 0);
    place->make(&db);
    load(&db, count, bench_utc_us() + LEAD_US, (int64_t)(1000000 / a_second));
    bench_ok(wp_worker_new(&w, db.store, NULL, &err), &err, "worker");
    bench_ok(wp_worker_handle(w, WP_SOURCE_TIMER, BENCH_TOPIC, note_time, &late, NULL, &err), &err,
             "handler");
    bench_progress("%zu timers a second", a_second);
    bench_ok(wp_worker_start(w, 4, &err), &err, "start");
    give_up = bench_now_us() + 60000000;
    while (atomic_load(&late.count) < count) {
        if (bench_now_us() > give_up)
            bench_die("only %zu of %zu timers fired", atomic_load(&late.count), count);
        bench_sleep_us(1000);
    }
    bench_ok(wp_worker_stop(NULL, w, 10000, &err), &err, "stop");
    wp_worker_free(w);
    place->drop(&db);
    (void)snprintf(name, sizeof name, "%zu due a second", a_second);
    (void)snprintf(group, sizeof group, "%stimers", place->name);
    bench_late_report(&late, group, name);
}

static void punctual_on(const bench_place *place)
{
    bench_heading("Punctual timers: from the due time to the handler");
    bench_note("one after the other at even steps, for 10 s; 4 threads");
    punctual(place, 10);
    punctual(place, 1000);
}

void bench_timers(void)
{
    due_at_once();
    punctual_on(&bench_on_sqlite);
}

static void server_timers(const bench_place *place, const char *title)
{
    const bench_side sides[] = {{on_server, (void *)place}, {on_server_raw, (void *)place}};
    char group[32];
    bench_samples samples;
    if (!place->heading(title))
        return;
    bench_note("20,000, 4 threads, payload 300 bytes; raw: claim 100, finish 100, one connection");
    bench_sample(&samples, "timers", sides, place->raw_timers ? 2 : 1, bench_opt.rounds);
    (void)snprintf(group, sizeof group, "%stimers", place->name);
    if (place->raw_timers)
        bench_report_pair(group, "due at once", "timers/s", &samples, 0, 1, 0);
    else
        bench_report_one(group, "due at once", "timers/s", bench_samples_median(&samples, 0));
    punctual_on(place);
}

void bench_pg_timers(void)
{
    server_timers(&bench_on_postgresql, "PostgreSQL: timers that are due at once");
}

void bench_maria_timers(void)
{
    server_timers(&bench_on_mariadb, "MariaDB: timers that are due at once");
}
