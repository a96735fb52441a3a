/* SPDX-License-Identifier: Apache-2.0 */
/* What piles up: finished messages that are kept or removed, a backlog, a write-ahead log behind a reader. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bench_pg.h"

enum { BATCH = 100, THREADS = 2 };

/* ---- finished messages ---- */

enum { SLICE = 20000, FINISHED_ROUNDS = 9 };

/* A database that lives as long as the benchmark, and how fast its slices were enqueued. */
typedef struct store_kept {
    bench_db db;
    double enqueued[BENCH_ROUNDS];
    int round;
} store_kept;

/* Enqueue a slice and handle it; returns the rate of the latter. */
static double slice(bench_db *db, double *enqueued)
{
    int64_t started = bench_now_us();
    bench_load(db, SLICE);
    *enqueued = SLICE * 1e6 / (double)(bench_now_us() - started);
    return bench_handle(db->store, SLICE, THREADS, NULL);
}

static double slice_kept(void *arg)
{
    store_kept *self = arg;
    return slice(&self->db, &self->enqueued[self->round++]);
}

/* In a database that has just one slice behind it: its files have grown already. */
static double slice_few(void *arg)
{
    store_kept *self = arg;
    double result;
    bench_db_new(&self->db);
    (void)slice(&self->db, &self->enqueued[self->round]);
    result = slice(&self->db, &self->enqueued[self->round++]);
    bench_db_drop(&self->db);
    return result;
}

static double slice_kept_raw(void *arg)
{
    store_kept *self = arg;
    bench_load(&self->db, SLICE);
    return bench_handle_raw(self->db.path, SLICE, BATCH, false, false, NULL);
}

void bench_finished(void)
{
    size_t count = bench_opt.full ? 1000000 : 200000;
    store_kept kept = {.round = 0};
    store_kept few = {.round = 0};
    bench_samples handled;
    bench_samples enqueued;
    char title[96];
    const bench_side sides[] = {{slice_kept, &kept}, {slice_few, &few}, {slice_kept_raw, &kept}};
    (void)snprintf(title, sizeof title, "%zu finished messages kept", count);
    bench_db_new(&kept.db);
    bench_load_finished(&kept.db, count);
    bench_heading(title);
    if (!bench_opt.full)
        bench_note("--full: 1,000,000");
    bench_sample(&handled, "finished", sides, 3,
                 bench_opt.rounds < FINISHED_ROUNDS ? FINISHED_ROUNDS : bench_opt.rounds);
    enqueued.rounds = handled.rounds;
    memcpy(enqueued.values[0], kept.enqueued, sizeof kept.enqueued);
    memcpy(enqueued.values[1], few.enqueued, sizeof few.enqueued);
    bench_note("raw: the same, with 20,000 kept");
    bench_report_pair("finished", "handlers", "messages/s", &handled, 0, 1, 0.9);
    bench_report_pair("finished", "enqueue, 1,000 a transaction", "messages/s", &enqueued, 0, 1,
                      0.9);
    bench_note("raw: plain statements in the same database");
    bench_report_pair("finished", "handlers, beside plain statements", "messages/s", &handled, 0, 2,
                      0);
    bench_db_drop(&kept.db);
}

/* ---- cleanup ---- */

enum { OLD = 400000 };

typedef struct cleaned {
    bench_db *db;
    bool cleans;
    size_t removed; /* in all */
    double seconds;
    atomic_bool ended;
} cleaned;

static void *clean(void *arg)
{
    cleaned *self = arg;
    wp_error *err = NULL;
    size_t removed = 0;
    while (!atomic_load(&self->ended)) {
        bench_ok(wp_cleanup(&removed, self->db->store, WP_SOURCE_OUTBOX, 0, &err), &err, "cleanup");
        self->removed += removed;
    }
    return NULL;
}

/* Handle a slice, while what is finished is removed or not. */
static double slice_cleaned(void *arg)
{
    cleaned *self = arg;
    int64_t started;
    pthread_t thread = 0;
    double result;
    bench_load(self->db, SLICE);
    atomic_store(&self->ended, false);
    if (self->cleans && pthread_create(&thread, NULL, clean, self) != 0)
        bench_die("no thread");
    started = bench_now_us();
    result = bench_handle(self->db->store, SLICE, THREADS, NULL);
    atomic_store(&self->ended, true);
    if (self->cleans)
        (void)pthread_join(thread, NULL);
    self->seconds += (double)(bench_now_us() - started) / 1e6;
    return result;
}

static void cleanup(const char *group, bench_db *db)
{
    cleaned with = {.db = db, .cleans = true};
    cleaned without = {.db = db};
    bench_samples handled;
    bench_figure removed = {.group = group, .unit = "messages/s"};
    const bench_side sides[] = {{slice_cleaned, &with}, {slice_cleaned, &without}};
    bench_sample(&handled, group, sides, 2, bench_opt.rounds);
    bench_note("raw: the same without cleanup");
    bench_report_pair(group, "handlers", "messages/s", &handled, 0, 1, 0);
    (void)snprintf(removed.name, sizeof removed.name, "removed meanwhile");
    removed.ours = (double)with.removed / with.seconds;
    bench_report(&removed);
}

void bench_cleanup(void)
{
    bench_db db;
    bench_heading("Cleanup by call while a worker handles messages");
    bench_db_new(&db);
    bench_load_finished(&db, OLD);
    cleanup("cleanup", &db);
    bench_db_drop(&db);
    if (!bench_pg_heading("The same on PostgreSQL"))
        return;
    bench_pg_db_new(&db);
    bench_pg_load_finished(&db, OLD);
    cleanup("cleanup postgresql", &db);
    bench_pg_db_drop(&db);
}

/* ---- a backlog ---- */

enum { BACKLOG = 200000 };

static double backlog_slice(void *arg)
{
    const bench_db *db = arg;
    return bench_handle(db->store, SLICE, THREADS, NULL);
}

static double backlog_slice_raw(void *arg)
{
    const bench_db *db = arg;
    return bench_handle_raw(db->path, SLICE, BATCH, false, false, NULL);
}

/* The two take slices of one backlog in turn; it is topped up to stay as long as it was. */
void bench_backlog(void)
{
    bench_db db;
    store_kept few = {.round = 0};
    bench_samples samples;
    const bench_side sides[] = {{backlog_slice, &db}, {backlog_slice_raw, &db}, {slice_few, &few}};
    samples.rounds = bench_opt.rounds;
    bench_db_new(&db);
    bench_load(&db, BACKLOG);
    bench_heading("A backlog of 200,000");
    for (int round = 0; round < samples.rounds; round++) {
        bench_progress("backlog: round %d of %d", round + 1, samples.rounds);
        for (int i = 0; i < 3; i++) {
            int side = (i + round) % 3;
            samples.values[side][round] = sides[side].run(sides[side].arg);
            if (side < 2)
                bench_load(&db, SLICE);
        }
    }
    bench_report_pair("backlog", "handlers, beside plain statements", "messages/s", &samples, 0, 1,
                      0);
    bench_note("raw: the same without a backlog");
    bench_report_pair("backlog", "handlers, beside no backlog", "messages/s", &samples, 0, 2, 0);
    bench_db_drop(&db);
}

/* ---- a reader held open ---- */

enum { READ_COUNT = 100000 };

typedef struct held {
    bool raw;
    double decay[BENCH_ROUNDS]; /* speed of the last tenth over the first */
    double wal_mib;
    int round;
} held;

static double wal_mib(const char *path)
{
    char name[BENCH_PATH + 8];
    struct stat info;
    (void)snprintf(name, sizeof name, "%s-wal", path);
    return stat(name, &info) == 0 ? (double)info.st_size / 1048576 : 0;
}

static double with_reader(void *arg)
{
    held *self = arg;
    bench_db db;
    int64_t marks[11] = {0};
    double result;
    sqlite3 *reader;
    bench_db_new(&db);
    bench_load(&db, READ_COUNT);
    reader = bench_connect(db.path);
    bench_exec(reader, "BEGIN; SELECT count(*) FROM infra_outbox_work");
    result = self->raw ? bench_handle_raw(db.path, READ_COUNT, BATCH, false, false, marks)
                       : bench_handle(db.store, READ_COUNT, THREADS, marks);
    self->decay[self->round++] = (double)(marks[1] - marks[0]) / (double)(marks[10] - marks[9]);
    self->wal_mib = wal_mib(db.path);
    bench_exec(reader, "COMMIT");
    (void)sqlite3_close(reader);
    bench_db_drop(&db);
    return result;
}

void bench_reader(void)
{
    held ours = {.raw = false};
    held raw = {.raw = true};
    const bench_side sides[] = {{with_reader, &ours}, {with_reader, &raw}};
    bench_samples samples;
    bench_figure last = {.group = "reader", .unit = "speed ratio"};
    bench_figure wal = {.group = "reader", .unit = "MiB"};
    int rounds = bench_opt.rounds < 3 ? bench_opt.rounds : 3;
    bench_heading("A reader held open, 100,000 messages");
    bench_sample(&samples, "reader", sides, 2, rounds);
    bench_report_pair("reader", "handlers", "messages/s", &samples, 0, 1, 0);
    (void)snprintf(last.name, sizeof last.name, "the last tenth beside the first");
    last.ours = bench_median(ours.decay, rounds);
    last.raw = bench_median(raw.decay, rounds);
    bench_report(&last);
    (void)snprintf(wal.name, sizeof wal.name, "write-ahead log at the end");
    wal.ours = ours.wal_mib;
    wal.raw = raw.wal_mib;
    bench_report(&wal);
}
