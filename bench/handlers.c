/* SPDX-License-Identifier: Apache-2.0 */
/* End to end in C: a worker with a handler that does nothing, beside plain claim and ack. */
#include <stdatomic.h>
#include <stdio.h>

#include "bench.h"

/* ---- a worker ---- */

typedef struct run {
    size_t count;
    atomic_size_t handled;
    int64_t *marks;
    wp_worker *worker;
} run;

static wp_outcome handle(wp_delivery *delivery, void *user)
{
    run *self = user;
    size_t done = atomic_fetch_add_explicit(&self->handled, 1, memory_order_relaxed) + 1;
    (void)delivery;
    if (self->marks && done % (self->count / 10) == 0)
        self->marks[done / (self->count / 10)] = bench_now_us();
    return WP_OUTCOME_DONE;
}

double bench_handle(wp_store *store, size_t count, unsigned threads, int64_t marks[11])
{
    return bench_handle_from(store, WP_SOURCE_OUTBOX, count, threads, marks);
}

double bench_handle_from(wp_store *store, wp_source source, size_t count, unsigned threads,
                         int64_t marks[11])
{
    run self = {.count = count, .marks = marks};
    wp_error *err = NULL;
    int64_t started;
    int64_t took;
    int64_t acked = 0;
    bench_ok(wp_worker_new(&self.worker, store, NULL, &err), &err, "worker");
    bench_ok(wp_worker_handle(self.worker, source, BENCH_TOPIC, handle, &self, NULL, &err), &err,
             "handler");
    started = bench_now_us();
    if (marks)
        marks[0] = started;
    bench_ok(wp_worker_start(self.worker, threads, &err), &err, "start");
    while ((acked = wp_worker_counter(self.worker, WP_COUNTER_ACKED)) < (int64_t)count) {
        if (bench_now_us() - started > 120000000)
            bench_die("only %lld of %zu messages were handled", (long long)acked, count);
        bench_sleep_us(200);
    }
    took = bench_now_us() - started;
    bench_ok(wp_worker_stop(NULL, self.worker, 10000, &err), &err, "stop");
    wp_worker_free(self.worker);
    return (double)count * 1e6 / (double)took;
}

/* ---- plain statements ---- */

static void mark(int64_t *marks, size_t done, size_t count)
{
    if (marks && !marks[done * 10 / count])
        marks[done * 10 / count] = bench_now_us();
}

double bench_handle_raw(const char *path, size_t count, size_t batch, bool together, bool by_rows,
                        int64_t marks[11])
{
    bench_raw raw;
    size_t done = 0;
    size_t got = 0;
    int64_t started;
    int64_t took;
    bench_raw_open(&raw, path, batch);
    started = bench_now_us();
    mark(marks, 0, count);
    while (done < count) {
        if (together) {
            got = by_rows ? bench_rows_exchange(&raw, got) : bench_raw_exchange(&raw, got);
        } else {
            got = by_rows ? bench_rows_claim(&raw) : bench_raw_claim(&raw);
            if (by_rows)
                bench_rows_ack(&raw, got);
            else
                bench_raw_ack(&raw, got);
        }
        if (!got)
            bench_die("the raw statements found %zu of %zu messages", done, count);
        done += got;
        mark(marks, done < count ? done : count, count);
    }
    if (together)
        bench_raw_ack(&raw, got);
    took = bench_now_us() - started;
    bench_raw_close(&raw);
    return (double)done * 1e6 / (double)took;
}

/* ---- the benchmark ---- */

enum { COUNT = 40000, BATCH = 100 };

static double worker(void *arg)
{
    bench_db db;
    double result;
    bench_db_new(&db);
    bench_load(&db, COUNT);
    result = bench_handle(db.store, COUNT, *(const unsigned *)arg, NULL);
    bench_db_drop(&db);
    return result;
}

typedef struct way {
    bool together, by_rows;
} way;

static double statements(void *arg)
{
    const way *how = arg;
    bench_db db;
    double result;
    bench_db_new(&db);
    bench_load(&db, COUNT);
    result = bench_handle_raw(db.path, COUNT, BATCH, how->together, how->by_rows, NULL);
    bench_db_drop(&db);
    return result;
}

void bench_handlers(void)
{
    static unsigned threads[] = {1, 2, 4, 16};
    static way ways[] = {{false, false}, {true, false}};
    const bench_side sides[] = {{worker, &threads[0]},  {worker, &threads[1]},
                                {worker, &threads[2]},  {worker, &threads[3]},
                                {statements, &ways[0]}, {statements, &ways[1]}};
    bench_samples samples;
    char name[64];
    bench_heading("Handlers in C, end to end");
    bench_note("concurrency 16, payload 300 bytes; raw: claim 100, ack 100, one thread");
    bench_sample(&samples, "handlers", sides, 6, bench_opt.rounds);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof name, "%u thread%s", threads[i], threads[i] > 1 ? "s" : "");
        bench_report_pair("handlers", name, "messages/s", &samples, i, 4, 0.8);
    }
    for (int i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof name, "%u thread%s; raw: ack with the next claim", threads[i],
                       threads[i] > 1 ? "s" : "");
        bench_report_pair("handlers", name, "messages/s", &samples, i, 5, 0);
    }
}
