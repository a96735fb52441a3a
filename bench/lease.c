/* SPDX-License-Identifier: Apache-2.0 */
/* Leases: acquire, renew and release by hand beside the upsert that an app would write, and many that one
 * process holds; on SQLite and on PostgreSQL. */
#include <stdio.h>
#include <string.h>

#include "bench_pg.h"

enum { VERBS = 3, NAMES = 100, LEASE_MS = 30000, CYCLES_MAX = 3000, HELD = 10000, WATCH_S = 40 };

static const char *const verbs[VERBS] = {"acquire", "renew", "release"};

/* One way to do it, on an engine, and what it took. */
typedef struct way {
    bool on_pg;
    bool raw;
    int cycles; /* of a round */
    int round;
    double rates[VERBS][BENCH_ROUNDS];
    double ms[VERBS][CYCLES_MAX * BENCH_ROUNDS]; /* of each call */
} way;

static void open_db(bench_db *db, bool on_pg)
{
    if (on_pg)
        bench_pg_db_new(db);
    else
        bench_db_new(db);
}

static void close_db(bench_db *db, bool on_pg)
{
    if (on_pg)
        bench_pg_db_drop(db);
    else
        bench_db_drop(db);
}

/* ---- the upsert --------------------------------------------------------------------------- */

/* Statements of the name, the owner and, on SQLite, the time. */
typedef struct upsert {
    sqlite3 *db;
    sqlite3_stmt *statements[VERBS];
    PGconn *pg;
} upsert;

#define TABLE                                                                                      \
    "CREATE TABLE raw_lease (name TEXT PRIMARY KEY, owner TEXT NOT NULL, "                         \
    "held_until BIGINT NOT NULL, fence BIGINT NOT NULL)"
/* With the parameters' names, and an expression for the time. */
#define ACQUIRE(name, owner, now)                                                                  \
    "INSERT INTO raw_lease VALUES (" name ", " owner ", " now " + 30000000, 1) "                   \
    "ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, held_until = excluded.held_until, "  \
    "fence = raw_lease.fence + 1 WHERE raw_lease.held_until <= " now " "                           \
    "OR raw_lease.owner = excluded.owner RETURNING fence"
#define CHANGE(name, owner, now, until)                                                            \
    "UPDATE raw_lease SET held_until = " until " WHERE name = " name " AND owner = " owner         \
    " AND held_until > " now " RETURNING fence"
#define PG_NOW "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"

static void open_upsert(upsert *u, const bench_db *db, bool on_pg)
{
    static const char *const on_sqlite[VERBS] = {ACQUIRE("?1", "?2", "?3"),
                                                 CHANGE("?1", "?2", "?3", "?3 + 30000000"),
                                                 CHANGE("?1", "?2", "?3", "0")};
    static const char *const on_postgresql[VERBS] = {
        ACQUIRE("$1", "$2", PG_NOW), CHANGE("$1", "$2", PG_NOW, PG_NOW " + 30000000"),
        CHANGE("$1", "$2", PG_NOW, "0")};
    *u = (upsert){0};
    if (on_pg) {
        u->pg = bench_pg_connect(db->path);
        bench_pg_exec(u->pg, TABLE);
    } else {
        u->db = bench_connect(db->path);
        bench_exec(u->db, TABLE);
    }
    for (int v = 0; v < VERBS; v++)
        if (on_pg)
            PQclear(PQprepare(u->pg, verbs[v], on_postgresql[v], 0, NULL));
        else
            u->statements[v] = bench_prepare(u->db, on_sqlite[v]);
}

static void close_upsert(upsert *u)
{
    for (int v = 0; v < VERBS; v++)
        (void)sqlite3_finalize(u->statements[v]);
    (void)sqlite3_close(u->db);
    PQfinish(u->pg);
}

static void by_hand(upsert *u, int verb, const char *name)
{
    if (u->pg) {
        const char *const values[] = {name, "owner"};
        PGresult *result = PQexecPrepared(u->pg, verbs[verb], 2, values, NULL, NULL, 0);
        if (PQntuples(result) != 1)
            bench_die("%s by hand: %s", verbs[verb], PQerrorMessage(u->pg));
        PQclear(result);
        return;
    }
    (void)sqlite3_bind_text(u->statements[verb], 1, name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(u->statements[verb], 2, "owner", -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(u->statements[verb], 3, bench_utc_us());
    if (sqlite3_step(u->statements[verb]) != SQLITE_ROW)
        bench_die("%s by hand: %s", verbs[verb], sqlite3_errmsg(u->db));
    while (sqlite3_step(u->statements[verb]) == SQLITE_ROW) {
    }
    bench_sqlite(sqlite3_reset(u->statements[verb]), u->db, verbs[verb]);
}

/* ---- the library -------------------------------------------------------------------------- */

static void by_library(wp_store *store, int verb, const char *name)
{
    const wp_lease_kind kind = WP_LEASE_EXCLUSIVE;
    wp_lease_info *info = NULL;
    wp_error *err = NULL;
    int released = 0;
    wp_status st;
    if (verb == 0)
        st = wp_lease_acquire(&info, store, NULL, kind, name, "owner", LEASE_MS, &err);
    else if (verb == 1)
        st = wp_lease_renew(&info, store, NULL, kind, name, "owner", 0, LEASE_MS, &err);
    else
        st = wp_lease_release(&released, store, NULL, kind, name, "owner", 0, &err);
    bench_ok(st, &err, verbs[verb]);
    if (!released && !wp_lease_info_granted(info))
        bench_die("%s was refused", verbs[verb]);
    wp_lease_info_free(info);
}

/* ---- calls -------------------------------------------------------------------------------- */

/* The rate of all calls together; those of each kind are noted. */
static double run(void *arg)
{
    way *w = arg;
    bench_db db;
    upsert u;
    double seconds[VERBS] = {0};
    double all = 0;
    open_db(&db, w->on_pg);
    open_upsert(&u, &db, w->on_pg);
    for (int i = -NAMES; i < w->cycles; i++) { /* the first ones make the rows */
        char name[16];
        (void)snprintf(name, sizeof name, "name%d", (i + NAMES) % NAMES);
        for (int v = 0; v < VERBS; v++) {
            const int64_t started = bench_now_us();
            double took;
            if (w->raw)
                by_hand(&u, v, name);
            else
                by_library(db.store, v, name);
            took = (double)(bench_now_us() - started);
            if (i < 0)
                continue;
            seconds[v] += took / 1e6;
            w->ms[v][w->round * w->cycles + i] = took / 1e3;
        }
    }
    for (int v = 0; v < VERBS; v++) {
        w->rates[v][w->round] = w->cycles / seconds[v];
        all += seconds[v];
    }
    w->round++;
    close_upsert(&u);
    close_db(&db, w->on_pg);
    return VERBS * w->cycles / all;
}

static void calls(const char *group, bool on_pg)
{
    static way ours, raw; /* large */
    const bench_side sides[] = {{run, &ours}, {run, &raw}};
    bench_samples samples;
    ours = (way){.on_pg = on_pg, .cycles = on_pg ? 300 : CYCLES_MAX};
    raw = (way){.on_pg = on_pg, .raw = true, .cycles = ours.cycles};
    bench_sample(&samples, group, sides, 2, bench_opt.rounds);
    for (int v = 0; v < VERBS; v++) {
        const int calls_made = ours.round * ours.cycles;
        bench_figure p99 = {.group = group, .unit = "ms"};
        memcpy(samples.values[0], ours.rates[v], sizeof ours.rates[v]);
        memcpy(samples.values[1], raw.rates[v], sizeof raw.rates[v]);
        bench_report_pair(group, verbs[v], "calls/s", &samples, 0, 1, 0);
        (void)snprintf(p99.name, sizeof p99.name, "%s, p99", verbs[v]);
        p99.ours = bench_quantile(ours.ms[v], calls_made, 0.99);
        p99.raw = bench_quantile(raw.ms[v], calls_made, 0.99);
        bench_report(&p99);
    }
}

/* ---- many that are held ------------------------------------------------------------------- */

static double counted(const bench_db *db, wp_lease_counter counter)
{
    return (double)wp_lease_counter_read(db->store, counter);
}

static void held(const char *group, bool on_pg)
{
    static wp_lease *leases[HELD];
    bench_db db;
    double renewed, statements, cpu;
    int64_t started = bench_now_us();
    open_db(&db, on_pg);
    bench_progress("%s: %d leases", group, HELD);
    for (int i = 0; i < HELD; i++) {
        char name[16];
        wp_error *err = NULL;
        (void)snprintf(name, sizeof name, "name%d", i);
        bench_ok(wp_lease_hold(&leases[i], NULL, db.store, WP_LEASE_EXCLUSIVE, name, NULL, LEASE_MS,
                               0, &err),
                 &err, "hold");
    }
    bench_report_one(group, "10,000 are acquired and kept", "leases/s",
                     HELD * 1e6 / (double)(bench_now_us() - started));
    renewed = counted(&db, WP_LEASE_COUNTER_RENEWED);
    statements = counted(&db, WP_LEASE_COUNTER_BATCHES);
    cpu = bench_cpu_ms();
    bench_sleep_us((int64_t)WATCH_S * 1000000);
    cpu = bench_cpu_ms() - cpu;
    renewed = counted(&db, WP_LEASE_COUNTER_RENEWED) - renewed;
    statements = counted(&db, WP_LEASE_COUNTER_BATCHES) - statements;
    bench_report_one(group, "10,000 are held: renewals", "1/s", renewed / WATCH_S);
    bench_report_one(group, "10,000 are held: statements", "1/minute", statements * 60 / WATCH_S);
    bench_report_one(group, "10,000 are held: processor time", "ms/minute", cpu * 60 / WATCH_S);
    bench_report_aim(group, "10,000 are held: lost", "leases", counted(&db, WP_LEASE_COUNTER_LOST),
                     0, 0.5);
    for (int i = 0; i < HELD; i++)
        wp_lease_free(leases[i]);
    close_db(&db, on_pg);
}

void bench_leases(void)
{
    bench_heading("Leases");
    bench_note(
        "raw: an upsert, and updates, of a table with a name, an owner, an end and a number");
    calls("leases", false);
    held("leases", false);
    if (bench_pg_heading("Leases on PostgreSQL")) {
        calls("leases postgresql", true);
        held("leases postgresql", true);
    }
}
