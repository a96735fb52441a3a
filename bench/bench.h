/* SPDX-License-Identifier: Apache-2.0 */
/* The benchmarks' insides, shared by the files of this directory:
 *   main.c       options, the list of benchmarks
 *   report.c     figures: as a table, and as JSON
 *   sample.c     paired samples in turn, medians, ratios
 *   util.c       time, temporary files, child processes
 *   load.c       stores and databases, filled
 *   raw.c        the same work by plain libsqlite3: the statements of sql/ as they are
 *   raw_rows.c   and row by row, as an app might write it by hand
 *   enqueue.c, claim.c, inbox.c, lease.c, handlers.c, kept.c, latency.c, timers.c, jobs.c, joins.c, cron.c,
 *   footprint.c, languages.c, stores.c, postgresql.c, odbc.c   the benchmarks
 *
 * Nothing here goes on after an error: it says what went wrong and exits with 1. */
#ifndef BENCH_H
#define BENCH_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <waypost/waypost.h>

enum { BENCH_PAYLOAD = 300, BENCH_CONCURRENCY = 16, BENCH_PATH = 512 };
#define BENCH_TOPIC "bench.topic"

typedef struct bench_options {
    bool full;
    int rounds;
    const char *python; /* an interpreter that has the binding; NULL: none */
    const char *dotnet; /* bench/dotnet, built; NULL: none */
    const char *go;     /* bench/go, built; NULL: none */
    const char *cronos; /* bench/cronos, built; NULL: none */
    const char *peers;  /* bench/peers, installed; NULL: none */
    const char *json;   /* a file to write the figures to, or NULL */
} bench_options;
extern bench_options bench_opt;

/* ---- util.c ---- */
__attribute__((noreturn, format(printf, 1, 2))) void bench_die(const char *format, ...);
/* Die of an error of the library, unless it is WP_OK. Frees it. */
void bench_ok(wp_status st, wp_error **err, const char *doing);
/* Die of an error of SQLite. */
void bench_sqlite(int rc, sqlite3 *db, const char *doing);
int64_t bench_now_us(void); /* monotonic, the same in all processes */
int64_t bench_utc_us(void);
double bench_cpu_ms(void); /* of this process */
void bench_sleep_us(int64_t us);
void bench_dir_make(void);
void bench_dir_remove(void);
/* A fresh path in the directory, for a database. */
void bench_path(char out[BENCH_PATH]);
void bench_unlink(const char *path);
const char *bench_payload(void); /* BENCH_PAYLOAD bytes of JSON */
/* Run this program, or another, with arguments that end with NULL; *out gets its standard output.
 * Returns its process id. */
int64_t bench_spawn(int *out, const char *const *arguments);
/* Read what the child wrote to its end, and wait for it; it must exit with 0. The caller frees. */
char *bench_collect(int64_t pid, int out);

/* ---- load.c ---- */
typedef struct bench_db {
    char path[BENCH_PATH];
    wp_store *store;
} bench_db;
/* Open a store on a fresh database file, or on an existing one. What it commits is synchronous
 * NORMAL, as workers are, unless `sync` is "full". */
void bench_db_new(bench_db *db);
void bench_db_new_sync(bench_db *db, const char *sync);
void bench_db_open(bench_db *db, const char *path);
/* Close the store and remove the file. */
void bench_db_drop(bench_db *db);
/* An engine, for what is measured on each: a store on a fresh database, and the end of both. */
typedef struct bench_place {
    const char *name;                   /* begins the group of its figures; "" for SQLite */
    bool (*heading)(const char *title); /* false: there is no server, which it says */
    void (*make)(bench_db *db);
    void (*drop)(bench_db *db);
    /* Plain statements beside it, or NULL: `count` messages a second are claimed and finished by hundreds, of
     * timers that are due, or of runs that are made of the jobs that are due. */
    double (*raw_timers)(const bench_db *db, size_t count);
    double (*raw_runs)(const bench_db *db, size_t count);
} bench_place;
extern const bench_place bench_on_sqlite, bench_on_postgresql, bench_on_mariadb;
/* Put `count` messages of `payload_len` bytes into it. */
void bench_load(bench_db *db, size_t count);
void bench_load_sized(bench_db *db, size_t count, size_t payload_len);
/* Put `count` messages into it and finish them all. */
void bench_load_finished(bench_db *db, size_t count);
/* Open a connection as a careful app does: WAL, synchronous NORMAL, a busy timeout. */
sqlite3 *bench_connect(const char *path);
sqlite3_stmt *bench_prepare(sqlite3 *db, const char *sql);
void bench_exec(sqlite3 *db, const char *sql);
/* Step a statement that returns nothing, and reset it. */
void bench_step(sqlite3_stmt *statement);

/* ---- raw.c, raw_rows.c ---- */
typedef struct bench_message {
    int64_t seq, claim_number;
    uint8_t id[16];
    char payload[BENCH_PAYLOAD + 1];
} bench_message;

typedef struct bench_raw {
    sqlite3 *db;
    sqlite3_stmt *begin, *commit;
    sqlite3_stmt *enqueue, *claim, *read, *finish;
    sqlite3_stmt *find, *take, *end; /* row by row */
    wp_id owner;
    char *text; /* for JSON arguments */
    bench_message *batch;
    size_t capacity;
} bench_raw;
void bench_raw_open(bench_raw *raw, const char *path, size_t batch);
/* The same on the timers' tables; not row by row. */
void bench_raw_open_timers(bench_raw *raw, const char *path, size_t batch);
void bench_raw_close(bench_raw *raw);
void bench_raw_enqueue(bench_raw *raw);
/* Claim up to the batch; the messages are in raw->batch. Each in a transaction of its own. */
size_t bench_raw_claim(bench_raw *raw);
void bench_raw_ack(bench_raw *raw, size_t count);
/* Both in one transaction: end `count` messages, claim the next. */
size_t bench_raw_exchange(bench_raw *raw, size_t count);
size_t bench_rows_claim(bench_raw *raw);
void bench_rows_ack(bench_raw *raw, size_t count);
size_t bench_rows_exchange(bench_raw *raw, size_t count);
/* For these files alone. */
void bench_bind_text(sqlite3_stmt *statement, const char *name, const char *text);
void bench_bind_int(sqlite3_stmt *statement, const char *name, int64_t value);
void bench_bind_owner(sqlite3_stmt *statement, const bench_raw *raw);
void bench_rows_open(bench_raw *raw);
void bench_rows_close(bench_raw *raw);
void bench_keep_message(bench_message *message, sqlite3_stmt *statement, int seq, int claim, int id,
                        int payload);

/* ---- sample.c ---- */
/* One thing to measure. It returns a rate, or whatever the figure is of. */
typedef struct bench_side {
    double (*run)(void *arg);
    void *arg;
} bench_side;

enum { BENCH_SIDES = 7, BENCH_ROUNDS = 50 };
typedef struct bench_samples {
    double values[BENCH_SIDES][BENCH_ROUNDS];
    int rounds;
} bench_samples;

/* Run each side once a round, beginning with another one each time. */
void bench_sample(bench_samples *out, const char *label, const bench_side *sides, int count,
                  int rounds);
double bench_median(double *values, int count);
double bench_quantile(double *values, int count, double q); /* sorts them */
double bench_samples_median(const bench_samples *samples, int side);
/* The side with the higher median. */
int bench_samples_best(const bench_samples *samples, int a, int b);

/* ---- report.c ---- */
typedef enum bench_met { BENCH_NO_AIM, BENCH_MET, BENCH_MISSED } bench_met;
typedef struct bench_figure {
    const char *group;
    char name[64];
    const char *unit;
    double ours;
    double raw;                          /* 0: none */
    double ratio, ratio_low, ratio_high; /* ours to raw, or 0 */
    char aim[48];
    bench_met met;
} bench_figure;

void bench_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void bench_heading(const char *title);
/* A line of explanation below a heading. */
void bench_note(const char *text);
/* Show a figure and keep it for the JSON file. */
void bench_report(const bench_figure *figure);
/* One side of samples beside another: the median of the ratios of each round. */
void bench_report_pair(const char *group, const char *name, const char *unit,
                       const bench_samples *samples, int ours, int raw, double aim);
void bench_report_one(const char *group, const char *name, const char *unit, double value);
/* With an aim to stay below (`most`) or reach (`least`); the other one is 0. */
void bench_report_aim(const char *group, const char *name, const char *unit, double value,
                      double least, double most);
/* Say what was met; write the JSON file. */
void bench_report_end(void);

/* ---- the benchmarks ---- */
void bench_enqueue(void);
void bench_claim(void);
void bench_inbox(void);
void bench_leases(void);
void bench_joins(void);
void bench_handlers(void);
void bench_finished(void);
void bench_cleanup(void);
void bench_backlog(void);
void bench_reader(void);
void bench_latency(void);
void bench_memory(void);
void bench_idle(void);
void bench_python(void);
void bench_dotnet(void);
void bench_go(void);
void bench_timers(void);
void bench_jobs(void);
void bench_cron(void);
void bench_pg_enqueue(void);
void bench_pg_handlers(void);
void bench_pg_languages(void);
void bench_pg_latency(void);
void bench_pg_snapshot(void);
void bench_pg_timers(void);
void bench_pg_jobs(void);
void bench_maria_timers(void);
void bench_maria_jobs(void);
void bench_maria_enqueue(void);
void bench_maria_handlers(void);
void bench_maria_keys(void);
void bench_mssql_enqueue(void);
void bench_mssql_handlers(void);
void bench_mssql_keys(void);
void bench_stores(void);

/* Handle `count` messages that are there with a C worker on `threads` threads; returns messages
 * a second, from the start to the last outcome written. marks (may be NULL) gets the time at each
 * tenth. */
double bench_handle(wp_store *store, size_t count, unsigned threads, int64_t marks[11]);
/* The same from another queue. */
double bench_handle_from(wp_store *store, wp_source source, size_t count, unsigned threads,
                         int64_t marks[11]);
/* The same by plain statements: claim a batch, then end it; or in one transaction. */
double bench_handle_raw(const char *path, size_t count, size_t batch, bool together, bool rows,
                        int64_t marks[11]);

/* How late handlers were. */
enum { BENCH_LATE_MAX = 400000 };
typedef struct bench_late {
    _Atomic size_t count;
    double ms[BENCH_LATE_MAX];
} bench_late;
/* By any thread; dies if it is early. */
void bench_late_add(bench_late *late, int64_t us);
void bench_late_report(bench_late *late, const char *group, const char *name);

/* Children: run with `--child NAME ARGUMENTS`. */
int bench_child_latency(char **arguments);
int bench_child_memory(char **arguments);
int bench_child_idle(char **arguments);
int bench_child_stores(char **arguments);

#endif
