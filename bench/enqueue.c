/* SPDX-License-Identifier: Apache-2.0 */
/* Enqueue: one message a transaction, on the library's connection and on the app's; and a hundred. */
#include <string.h>

#include "bench.h"

enum { SINGLE = 4000, BATCH = 100, BATCHES = 200 };

static wp_message *new_message(void)
{
    wp_message *message = NULL;
    wp_error *err = NULL;
    bench_ok(wp_message_new(&message, BENCH_TOPIC, bench_payload(), BENCH_PAYLOAD, &err), &err,
             "message");
    return message;
}

static double rate(size_t count, int64_t started)
{
    return (double)count * 1e6 / (double)(bench_now_us() - started);
}

/* ---- one a transaction ---- */

static double own_single(void *arg)
{
    bench_db db;
    wp_error *err = NULL;
    double result;
    int64_t started;
    bench_db_new_sync(&db, arg);
    started = bench_now_us();
    for (int i = 0; i < SINGLE; i++) {
        wp_message *message = new_message();
        wp_id id;
        bench_ok(wp_outbox_enqueue(&id, NULL, db.store, NULL, message, &err), &err, "enqueue");
        wp_message_free(message);
    }
    result = rate(SINGLE, started);
    bench_db_drop(&db);
    return result;
}

static double raw_single(void *arg)
{
    bench_db db;
    bench_raw raw;
    double result;
    int64_t started;
    bench_db_new(&db);
    bench_raw_open(&raw, db.path, 1);
    if (strcmp(arg, "full") == 0)
        bench_exec(raw.db, "PRAGMA synchronous = FULL");
    started = bench_now_us();
    for (int i = 0; i < SINGLE; i++)
        bench_raw_enqueue(&raw);
    result = rate(SINGLE, started);
    bench_raw_close(&raw);
    bench_db_drop(&db);
    return result;
}

/* ---- with a row of the app's, on its connection ---- */

static sqlite3_stmt *business(sqlite3 *app)
{
    bench_exec(app, "CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER, note TEXT)");
    return bench_prepare(app, "INSERT INTO orders (total, note) VALUES (4711, 'a note')");
}

static double app_single(void *arg)
{
    bench_db db;
    wp_conn *conn = NULL;
    wp_error *err = NULL;
    sqlite3 *app;
    sqlite3_stmt *begin, *commit, *order;
    double result;
    int64_t started;
    (void)arg;
    bench_db_new(&db);
    app = bench_connect(db.path);
    begin = bench_prepare(app, "BEGIN IMMEDIATE");
    commit = bench_prepare(app, "COMMIT");
    order = business(app);
    bench_ok(wp_conn_borrow_sqlite(&conn, db.store, app, &err), &err, "lend");
    started = bench_now_us();
    for (int i = 0; i < SINGLE; i++) {
        wp_message *message = new_message();
        wp_id id;
        bench_step(begin);
        bench_step(order);
        bench_ok(wp_outbox_enqueue(&id, NULL, db.store, conn, message, &err), &err, "enqueue");
        bench_step(commit);
        wp_message_free(message);
    }
    result = rate(SINGLE, started);
    wp_conn_free(conn);
    (void)sqlite3_finalize(begin);
    (void)sqlite3_finalize(commit);
    (void)sqlite3_finalize(order);
    (void)sqlite3_close(app);
    bench_db_drop(&db);
    return result;
}

static double raw_app_single(void *arg)
{
    bench_db db;
    bench_raw raw;
    sqlite3_stmt *order;
    double result;
    int64_t started;
    (void)arg;
    bench_db_new(&db);
    bench_raw_open(&raw, db.path, 1);
    order = business(raw.db);
    started = bench_now_us();
    for (int i = 0; i < SINGLE; i++) {
        bench_step(raw.begin);
        bench_step(order);
        bench_raw_enqueue(&raw);
        bench_step(raw.commit);
    }
    result = rate(SINGLE, started);
    (void)sqlite3_finalize(order);
    bench_raw_close(&raw);
    bench_db_drop(&db);
    return result;
}

/* ---- a hundred a transaction ---- */

static double own_batch(void *arg)
{
    bench_db db;
    wp_message *messages[BATCH];
    wp_id ids[BATCH];
    wp_error *err = NULL;
    double result;
    int64_t started;
    bench_db_new_sync(&db, arg);
    started = bench_now_us();
    for (int i = 0; i < BATCHES; i++) {
        for (int j = 0; j < BATCH; j++)
            messages[j] = new_message();
        bench_ok(wp_outbox_enqueue_many(ids, NULL, db.store, NULL,
                                        (const wp_message *const *)messages, BATCH, &err),
                 &err, "enqueue");
        for (int j = 0; j < BATCH; j++)
            wp_message_free(messages[j]);
    }
    result = rate((size_t)BATCH * BATCHES, started);
    bench_db_drop(&db);
    return result;
}

static double raw_batch(void *arg)
{
    bench_db db;
    bench_raw raw;
    double result;
    int64_t started;
    bench_db_new(&db);
    bench_raw_open(&raw, db.path, 1);
    if (strcmp(arg, "full") == 0)
        bench_exec(raw.db, "PRAGMA synchronous = FULL");
    started = bench_now_us();
    for (int i = 0; i < BATCHES; i++) {
        bench_step(raw.begin);
        for (int j = 0; j < BATCH; j++)
            bench_raw_enqueue(&raw);
        bench_step(raw.commit);
    }
    result = rate((size_t)BATCH * BATCHES, started);
    bench_raw_close(&raw);
    bench_db_drop(&db);
    return result;
}

void bench_enqueue(void)
{
    static char normal[] = "normal";
    static char full[] = "full";
    static const struct {
        const char *name;
        bench_side sides[2];
    } cases[] = {
        {"1 a transaction", {{own_single, normal}, {raw_single, normal}}},
        {"1 a transaction, synchronous FULL", {{own_single, full}, {raw_single, full}}},
        {"1 with a row of the app's, on its connection",
         {{app_single, NULL}, {raw_app_single, NULL}}},
        {"100 a transaction", {{own_batch, normal}, {raw_batch, normal}}},
        {"100 a transaction, synchronous FULL", {{own_batch, full}, {raw_batch, full}}},
    };
    bench_samples samples;
    bench_heading("Enqueue");
    bench_note("synchronous NORMAL but where it says FULL, the default of what a store commits");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench_sample(&samples, cases[i].name, cases[i].sides, 2, bench_opt.rounds);
        bench_report_pair("enqueue", cases[i].name, "messages/s", &samples, 0, 1, 0);
    }
}
