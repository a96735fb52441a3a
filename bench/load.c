/* SPDX-License-Identifier: Apache-2.0 */
/* Stores and databases, filled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static void set(wp_config *config, const char *key, const char *value)
{
    wp_error *err = NULL;
    bench_ok(wp_config_set(config, key, value, &err), &err, key);
}

static wp_config *new_config(const char *path, const char *sync)
{
    wp_config *config = NULL;
    wp_error *err = NULL;
    char url[BENCH_PATH + 8];
    bench_ok(wp_config_new(&config, &err), &err, "configuration");
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    set(config, "store.url", url);
    set(config, "store.deploy", "true");
    set(config, "store.sqlite_synchronous", sync);
    set(config, "log.level", "warning"); /* below, there is a line for every message */
    return config;
}

static void open_store(bench_db *db, const char *path, const char *sync)
{
    wp_error *err = NULL;
    wp_config *config = new_config(path, sync);
    *db = (bench_db){.store = NULL};
    (void)snprintf(db->path, sizeof db->path, "%s", path);
    bench_ok(wp_store_open(&db->store, config, &err), &err, "open");
    wp_config_free(config);
}

void bench_db_open(bench_db *db, const char *path)
{
    open_store(db, path, "normal");
}

void bench_db_new_sync(bench_db *db, const char *sync)
{
    char path[BENCH_PATH];
    bench_path(path);
    open_store(db, path, sync);
}

void bench_db_new(bench_db *db)
{
    bench_db_new_sync(db, "normal");
}

void bench_db_drop(bench_db *db)
{
    wp_store_close(db->store);
    bench_unlink(db->path);
}

static bool heading(const char *title)
{
    bench_heading(title);
    return true;
}

const bench_place bench_on_sqlite = {"", heading, bench_db_new, bench_db_drop, NULL, NULL};

void bench_load_sized(bench_db *db, size_t count, size_t payload_len)
{
    enum { BATCH = 1000 };
    const wp_message *batch[BATCH];
    wp_id ids[BATCH];
    wp_message *message = NULL;
    wp_error *err = NULL;
    char *payload = malloc(payload_len + 1);
    if (!payload)
        bench_die("out of memory");
    memset(payload, 'x', payload_len);
    if (payload_len == BENCH_PAYLOAD)
        memcpy(payload, bench_payload(), payload_len);
    bench_ok(wp_message_new(&message, BENCH_TOPIC, payload, payload_len, &err), &err, "message");
    for (size_t i = 0; i < BATCH; i++)
        batch[i] = message;
    for (size_t done = 0; done < count; done += BATCH) {
        size_t now = count - done < BATCH ? count - done : BATCH;
        bench_ok(wp_outbox_enqueue_many(ids, NULL, db->store, NULL, batch, now, &err), &err,
                 "load");
    }
    wp_message_free(message);
    free(payload);
}

void bench_load(bench_db *db, size_t count)
{
    bench_load_sized(db, count, BENCH_PAYLOAD);
}

/* As a life of the table would leave it, only faster: pages of work that came and went. */
void bench_load_finished(bench_db *db, size_t count)
{
    enum { STEP = 50000 };
    sqlite3 *app = bench_connect(db->path);
    sqlite3_stmt *finish = bench_prepare(
        app, "INSERT INTO infra_outbox_finished (seq, status, attempt, claim_number, finished_at, "
             "finished_by) SELECT seq, 2, 0, 1, next_attempt_at, 'bench' FROM infra_outbox_work");
    for (size_t done = 0; done < count; done += STEP) {
        size_t now = count - done < STEP ? count - done : STEP;
        bench_progress("finishing messages: %zu of %zu", done, count);
        bench_load(db, now);
        bench_step(finish);
    }
    bench_progress("%s", "");
    (void)sqlite3_finalize(finish);
    (void)sqlite3_close(app);
}

sqlite3 *bench_connect(const char *path)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(
        path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    bench_sqlite(rc, db, path);
    bench_sqlite(sqlite3_busy_timeout(db, 10000), db, "busy timeout");
    bench_exec(db, "PRAGMA journal_mode = WAL");
    bench_exec(db, "PRAGMA synchronous = NORMAL");
    return db;
}

sqlite3_stmt *bench_prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    bench_sqlite(sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL), db,
                 sql);
    return statement;
}

void bench_exec(sqlite3 *db, const char *sql)
{
    bench_sqlite(sqlite3_exec(db, sql, NULL, NULL, NULL), db, sql);
}

void bench_step(sqlite3_stmt *statement)
{
    bench_sqlite(sqlite3_step(statement), sqlite3_db_handle(statement), sqlite3_sql(statement));
    (void)sqlite3_reset(statement);
}
