/* SPDX-License-Identifier: Apache-2.0 */
/* The demo's worker in C: demo_worker URL NAME TOPIC...
 * Each handler writes what it saw and the acknowledgement in one transaction of its own. Runs until
 * its standard input ends. */
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <waypost/waypost.h>

enum { THREADS = 2, STOP_MS = 10000 };

typedef struct shop {
    const char *name;
    wp_store *store;
} shop;

static int fail(const char *doing, wp_error *err)
{
    (void)fprintf(stderr, "%s: %s\n", doing, wp_error_message(err));
    wp_error_free(err);
    return EXIT_FAILURE;
}

/* ---- on SQLite ---------------------------------------------------------------------------- */

/* The effect: one row for each time that a message was handled. */
static int record(sqlite3 *db, const shop *s, const wp_received *message)
{
    sqlite3_stmt *insert = NULL;
    size_t len = 0;
    const char *payload = wp_received_payload(&len, message);
    int rc = sqlite3_prepare_v2(
        db, "INSERT INTO effects (order_id, worker, topic, payload) VALUES (?, ?, ?, ?)", -1,
        &insert, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_text(insert, 1, wp_received_correlation_id(message), -1, SQLITE_STATIC);
        sqlite3_bind_text(insert, 2, s->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(insert, 3, wp_received_topic(message), -1, SQLITE_STATIC);
        sqlite3_bind_text64(insert, 4, payload, len, SQLITE_STATIC, SQLITE_UTF8);
        rc = sqlite3_step(insert) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
    }
    sqlite3_finalize(insert);
    return rc;
}

/* Effect and acknowledgement commit together, or not at all. */
static wp_outcome handle_on_sqlite(wp_delivery *delivery, const shop *s)
{
    wp_outcome outcome = WP_OUTCOME_RETRY;
    wp_conn *conn = NULL;
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(wp_store_location(s->store), &db, SQLITE_OPEN_READWRITE, NULL) ==
            SQLITE_OK &&
        sqlite3_busy_timeout(db, STOP_MS) == SQLITE_OK &&
        wp_conn_borrow_sqlite(&conn, s->store, db, NULL) == WP_OK &&
        sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
        record(db, s, wp_delivery_message(delivery)) == SQLITE_OK &&
        wp_delivery_complete(delivery, conn, NULL) == WP_OK &&
        sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
        outcome = WP_OUTCOME_DONE;
    wp_conn_free(conn);
    sqlite3_close(db); /* rolls back what is open */
    return outcome;
}

/* ---- on PostgreSQL ------------------------------------------------------------------------ */

static int command(PGconn *pg, const char *sql, int count, const char *const *values)
{
    PGresult *result = PQexecParams(pg, sql, count, NULL, values, NULL, NULL, 0);
    int well = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return well;
}

static wp_outcome handle_on_postgresql(wp_delivery *delivery, const shop *s)
{
    const wp_received *message = wp_delivery_message(delivery);
    size_t len = 0;
    const char *values[] = {wp_received_correlation_id(message), s->name,
                            wp_received_topic(message), wp_received_payload(&len, message)};
    wp_outcome outcome = WP_OUTCOME_RETRY;
    wp_conn *conn = NULL;
    PGconn *pg = PQconnectdb(wp_store_location(s->store));
    if (PQstatus(pg) == CONNECTION_OK && wp_conn_borrow_pq(&conn, s->store, pg, NULL) == WP_OK &&
        command(pg, "BEGIN", 0, NULL) &&
        command(pg,
                "INSERT INTO effects (order_id, worker, topic, payload) VALUES ($1, $2, $3, $4)", 4,
                values) &&
        wp_delivery_complete(delivery, conn, NULL) == WP_OK && command(pg, "COMMIT", 0, NULL))
        outcome = WP_OUTCOME_DONE;
    wp_conn_free(conn);
    PQfinish(pg); /* rolls back what is open */
    return outcome;
}

/* ---- the worker --------------------------------------------------------------------------- */

static wp_outcome on_message(wp_delivery *delivery, void *user)
{
    const shop *s = user;
    return strcmp(wp_store_engine(s->store), "sqlite") == 0 ? handle_on_sqlite(delivery, s)
                                                            : handle_on_postgresql(delivery, s);
}

static wp_status run(shop *s, int topics, char **topic, wp_error **err)
{
    wp_worker *worker = NULL;
    wp_status st = wp_worker_new(&worker, s->store, NULL, err);
    for (int i = 0; i < topics && st == WP_OK; i++)
        st = wp_worker_handle(worker, WP_SOURCE_OUTBOX, topic[i], on_message, s, NULL, err);
    if (st == WP_OK)
        st = wp_worker_start(worker, THREADS, err);
    if (st == WP_OK) {
        while (getchar() != EOF)
            continue;
        st = wp_worker_stop(NULL, worker, STOP_MS, err);
    }
    wp_worker_free(worker);
    return st;
}

int main(int argc, char **argv)
{
    wp_error *err = NULL;
    wp_config *config = NULL;
    shop s = {0};
    int rc = EXIT_SUCCESS;
    if (argc < 4) {
        (void)fprintf(stderr, "usage: %s URL NAME TOPIC...\n", argv[0]);
        return 2;
    }
    s.name = argv[2];
    if (wp_config_new(&config, &err) != WP_OK ||
        wp_config_set(config, "store.url", argv[1], &err) != WP_OK ||
        wp_config_set(config, "worker.name", s.name, &err) != WP_OK ||
        wp_store_open(&s.store, config, &err) != WP_OK ||
        run(&s, argc - 3, argv + 3, &err) != WP_OK)
        rc = fail("demo_worker", err);
    wp_store_close(s.store);
    wp_config_free(config);
    return rc;
}
