/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks on PostgreSQL share:
 *   raw_pg.c       the same work by plain libpq
 *   postgresql.c   the benchmark; leases and cleanup are measured on both engines
 *   peers.c        other job queues on the same server */
#ifndef BENCH_PG_H
#define BENCH_PG_H

#include <libpq-fe.h>

#include "bench.h"

/* ---- raw_pg.c ---- */
typedef struct bench_raw_pg {
    PGconn *pg;
    size_t batch;
    char batch_text[24];
    char owner[40];
    char *text; /* the seqs that were claimed last, as an array */
} bench_raw_pg;
PGconn *bench_pg_connect(const char *url);
void bench_pg_exec(PGconn *pg, const char *sql);
void bench_raw_pg_open(bench_raw_pg *raw, const char *url, size_t batch);
void bench_raw_pg_close(bench_raw_pg *raw);
void bench_raw_pg_enqueue(bench_raw_pg *raw);
/* A batch in one statement. */
void bench_raw_pg_enqueue_many(bench_raw_pg *raw);
size_t bench_raw_pg_claim(bench_raw_pg *raw);
/* End what was claimed last. */
void bench_raw_pg_ack(bench_raw_pg *raw, size_t count);

/* ---- postgresql.c ---- */
/* The URL for a fresh database, which is made; and its end. */
void bench_pg_new(char url[BENCH_PATH]);
void bench_pg_drop(const char *url);
/* A heading; false: there is no server, which it says. */
bool bench_pg_heading(const char *title);
/* Put `count` messages into a store's database and finish them all. */
void bench_pg_load_finished(bench_db *db, size_t count);
/* VACUUM, as autovacuum would find time to; the peers' tables get the same. */
void bench_pg_settle(const char *url);
/* A store on a fresh database; and the end of both. */
void bench_pg_db_new(bench_db *db);
void bench_pg_db_drop(bench_db *db);

/* ---- peers.c ---- */
/* A figure of a peer, run for itself: "added" or "rate" a second, "p50" or "p99" in ms. */
double bench_peer(const char *peer, const char *mode, size_t count, const char *figure);

#endif
