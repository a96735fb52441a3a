/* SPDX-License-Identifier: Apache-2.0 */
/* From just before the commit to the start of the handler, one message at a time. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

enum { COUNT_MAX = 500, GAP_US = 5000, POLL_US = 1000 };

/* Shared by the producer and the handler, which may be in two processes: a file mapped into both. */
typedef struct times {
    _Atomic int64_t committed[COUNT_MAX];
    _Atomic int64_t handled[COUNT_MAX];
} times;

static times *map_times(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    times *map = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, sizeof(times)) == 0)
        map = mmap(NULL, sizeof(times), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        bench_die("%s cannot be mapped", path);
    (void)close(fd);
    return map;
}

static int count_of(void)
{
    return bench_opt.full ? COUNT_MAX : 300;
}

/* ---- producers ---- */

/* Wait for the handler, then a little: it is asleep when the next one comes. */
static void await_handled(times *t, int i)
{
    int64_t started = bench_now_us();
    while (!atomic_load(&t->handled[i])) {
        if (bench_now_us() - started > 60000000)
            bench_die("message %d was not handled", i);
        bench_sleep_us(50);
    }
    bench_sleep_us(GAP_US + i * 37 % 3000);
}

static void produce(times *t, const bench_db *db, bool app, int count)
{
    sqlite3 *own = app ? bench_connect(db->path) : NULL;
    wp_conn *conn = NULL;
    wp_error *err = NULL;
    if (app)
        bench_ok(wp_conn_borrow_sqlite(&conn, db->store, own, &err), &err, "lend");
    for (int i = 0; i < count; i++) {
        char payload[32];
        int len = snprintf(payload, sizeof payload, "%d", i);
        wp_message *message = NULL;
        wp_id id;
        bench_ok(wp_message_new(&message, BENCH_TOPIC, payload, (size_t)len, &err), &err,
                 "message");
        if (app)
            bench_exec(own, "BEGIN IMMEDIATE");
        else
            atomic_store(&t->committed[i], bench_now_us());
        bench_ok(wp_outbox_enqueue(&id, NULL, db->store, conn, message, &err), &err, "enqueue");
        if (app) {
            atomic_store(&t->committed[i], bench_now_us());
            bench_exec(own, "COMMIT");
        }
        wp_message_free(message);
        await_handled(t, i);
    }
    wp_conn_free(conn);
    (void)sqlite3_close(own);
}

int bench_child_latency(char **arguments)
{
    times *t = map_times(arguments[1]);
    bench_db db;
    bench_db_open(&db, arguments[0]);
    produce(t, &db, strcmp(arguments[2], "app") == 0, (int)strtol(arguments[3], NULL, 10));
    wp_store_close(db.store);
    return 0;
}

/* Produce here or in another process, and wait until that is done. */
static void produce_somewhere(times *t, const bench_db *db, const char *map_path, bool app,
                              bool elsewhere)
{
    char count[16];
    int out = -1;
    const char *const arguments[] = {"/proc/self/exe", "--child",           "latency", db->path,
                                     map_path,         app ? "app" : "own", count,     NULL};
    (void)snprintf(count, sizeof count, "%d", count_of());
    if (elsewhere) {
        int64_t pid = bench_spawn(&out, arguments);
        free(bench_collect(pid, out));
    } else {
        produce(t, db, app, count_of());
    }
}

/* ---- handlers ---- */

static wp_outcome handle(wp_delivery *delivery, void *user)
{
    int64_t now = bench_now_us();
    const char *payload = wp_received_payload(NULL, wp_delivery_message(delivery));
    times *t = user;
    atomic_store(&t->handled[strtol(payload, NULL, 10)], now);
    return WP_OUTCOME_DONE;
}

typedef struct poller {
    const char *path;
    times *t;
    atomic_bool stop;
} poller;

/* What one may write by hand: ask each millisecond whether the file has changed, then claim. */
static void *poll_raw(void *arg)
{
    poller *self = arg;
    bench_raw raw;
    sqlite3_stmt *version;
    int64_t seen = -1;
    bench_raw_open(&raw, self->path, 10);
    version = bench_prepare(raw.db, "PRAGMA main.data_version");
    while (!atomic_load(&self->stop)) {
        int64_t now;
        bench_sqlite(sqlite3_step(version), raw.db, "data_version");
        now = sqlite3_column_int64(version, 0);
        (void)sqlite3_reset(version);
        if (now == seen) {
            bench_sleep_us(POLL_US);
            continue;
        }
        seen = now;
        for (size_t got; (got = bench_raw_claim(&raw)) > 0; bench_raw_ack(&raw, got))
            for (size_t i = 0; i < got; i++)
                atomic_store(&self->t->handled[strtol(raw.batch[i].payload, NULL, 10)],
                             bench_now_us());
    }
    (void)sqlite3_finalize(version);
    bench_raw_close(&raw);
    return NULL;
}

static void with_worker(times *t, const bench_db *db, const char *map_path, bool app,
                        bool elsewhere)
{
    wp_worker *worker = NULL;
    wp_error *err = NULL;
    bench_ok(wp_worker_new(&worker, db->store, NULL, &err), &err, "worker");
    bench_ok(wp_worker_handle(worker, WP_SOURCE_OUTBOX, BENCH_TOPIC, handle, t, NULL, &err), &err,
             "handler");
    bench_ok(wp_worker_start(worker, 2, &err), &err, "start");
    bench_sleep_us(50000);
    produce_somewhere(t, db, map_path, app, elsewhere);
    wp_worker_free(worker);
}

static void with_poller(times *t, const bench_db *db, const char *map_path, bool app,
                        bool elsewhere)
{
    poller self = {.path = db->path, .t = t};
    pthread_t thread;
    if (pthread_create(&thread, NULL, poll_raw, &self) != 0)
        bench_die("no thread");
    produce_somewhere(t, db, map_path, app, elsewhere);
    atomic_store(&self.stop, true);
    (void)pthread_join(thread, NULL);
}

/* ---- the benchmark ---- */

typedef struct quantiles {
    double p50, p99;
} quantiles;

static quantiles measure(bool app, bool elsewhere, bool raw)
{
    bench_db db;
    char map_path[BENCH_PATH];
    double values[COUNT_MAX];
    quantiles q;
    times *t;
    bench_path(map_path);
    t = map_times(map_path);
    bench_db_new(&db);
    if (raw)
        with_poller(t, &db, map_path, app, elsewhere);
    else
        with_worker(t, &db, map_path, app, elsewhere);
    for (int i = 0; i < count_of(); i++)
        values[i] = (double)(t->handled[i] - t->committed[i]) / 1000;
    q.p50 = bench_quantile(values, count_of(), 0.5);
    q.p99 = bench_quantile(values, count_of(), 0.99);
    bench_db_drop(&db);
    (void)munmap(t, sizeof *t);
    (void)unlink(map_path);
    return q;
}

static void report(const char *name, const char *which, double ours, double raw, double most)
{
    bench_figure f = {.group = "latency", .unit = "ms", .ours = ours, .raw = raw};
    (void)snprintf(f.name, sizeof f.name, "%s, %s", name, which);
    f.ratio = ours / raw;
    if (most > 0) {
        (void)snprintf(f.aim, sizeof f.aim, "< %g ms", most);
        f.met = ours < most ? BENCH_MET : BENCH_MISSED;
    }
    bench_report(&f);
}

void bench_latency(void)
{
    static const struct {
        const char *name;
        bool app, elsewhere;
        double aim;
    } cases[] = {{"same process, by enqueue", false, false, 2},
                 {"same process, app's own connection", true, false, 2},
                 {"other process, by enqueue", false, true, 10},
                 {"other process, app's own connection", true, true, 10}};
    bench_heading("Latency, from the commit to the handler");
    bench_note("raw: asks each millisecond whether the file has changed");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        quantiles ours;
        quantiles raw;
        bench_progress("latency: %s", cases[i].name);
        ours = measure(cases[i].app, cases[i].elsewhere, false);
        raw = measure(cases[i].app, cases[i].elsewhere, true);
        report(cases[i].name, "p50", ours.p50, raw.p50, cases[i].aim);
        report(cases[i].name, "p99", ours.p99, raw.p99, 0);
    }
}
