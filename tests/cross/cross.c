/* SPDX-License-Identifier: Apache-2.0 */
/* One language's part of the cross-language test (run.py says what each program does):
 *   cross_c produce URL FILE
 *   cross_c consume URL TOPIC COUNT FILE */
#include <jansson.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <waypost/waypost.h>

enum { BATCH = 100 };

static void die(const char *doing, wp_error *err)
{
    (void)fprintf(stderr, "cross_c: %s: %s\n", doing, wp_error_message(err));
    exit(EXIT_FAILURE);
}

static void check(wp_status st, const char *doing, wp_error *err)
{
    if (st != WP_OK)
        die(doing, err);
}

static wp_store *open_store(const char *url)
{
    wp_config *config = NULL;
    wp_store *store = NULL;
    wp_error *err = NULL;
    check(wp_config_new(&config, &err), "config", err);
    check(wp_config_set(config, "store.url", url, &err), "url", err);
    check(wp_store_open(&store, config, &err), "open", err);
    wp_config_free(config);
    return store;
}

/* ---- produce ------------------------------------------------------------------------------ */

/* The app's connection. */
typedef struct app {
    sqlite3 *db;
    PGconn *pg;
    wp_conn *conn;
} app;

static void run_sql(app *a, const char *sql)
{
    bool well;
    if (a->db) {
        well = sqlite3_exec(a->db, sql, NULL, NULL, NULL) == SQLITE_OK;
    } else {
        PGresult *result = PQexec(a->pg, sql);
        well = PQresultStatus(result) == PGRES_COMMAND_OK;
        PQclear(result);
    }
    if (!well)
        die(sql, NULL);
}

static void open_app(app *a, wp_store *store)
{
    wp_error *err = NULL;
    if (strcmp(wp_store_engine(store), "sqlite") == 0) {
        if (sqlite3_open(wp_store_location(store), &a->db) != SQLITE_OK)
            die("sqlite3_open", NULL);
        (void)sqlite3_busy_timeout(a->db, 30000);
        check(wp_conn_borrow_sqlite(&a->conn, store, a->db, &err), "borrow", err);
    } else {
        a->pg = PQconnectdb(wp_store_location(store));
        check(wp_conn_borrow_pq(&a->conn, store, a->pg, &err), "borrow", err);
    }
}

static void close_app(app *a)
{
    wp_conn_free(a->conn);
    (void)sqlite3_close(a->db);
    if (a->pg)
        PQfinish(a->pg);
}

static wp_message *message_of(const char *line)
{
    json_t *row = json_loads(line, 0, NULL);
    json_t *payload = json_object_get(row, "payload");
    json_t *due = json_object_get(row, "due_us");
    const char *correlation = json_string_value(json_object_get(row, "correlation_id"));
    const char *name;
    json_t *value;
    wp_message *message = NULL;
    wp_error *err = NULL;
    check(wp_message_new(&message, json_string_value(json_object_get(row, "topic")),
                         json_string_value(payload), json_string_length(payload), &err),
          "message", err);
    json_object_foreach(json_object_get(row, "headers"), name, value)
        check(wp_message_set_header(message, name, json_string_value(value), &err), "header", err);
    if (correlation)
        check(wp_message_set_correlation_id(message, correlation, &err), "correlation id", err);
    if (json_is_integer(due))
        check(wp_message_set_due_us(message, json_integer_value(due), &err), "due", err);
    json_decref(row);
    return message;
}

static void send(app *a, wp_store *store, wp_message **messages, size_t count)
{
    wp_id ids[BATCH];
    wp_error *err = NULL;
    check(wp_outbox_enqueue_many(ids, NULL, store, a->conn, (const wp_message *const *)messages,
                                 count, &err),
          "enqueue", err);
    for (size_t i = 0; i < count; i++)
        wp_message_free(messages[i]);
}

static void produce(const char *url, const char *path)
{
    wp_store *store = open_store(url);
    app a = {0};
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    wp_message *messages[BATCH];
    size_t count = 0;
    if (!file)
        die(path, NULL);
    open_app(&a, store);
    run_sql(&a, "BEGIN");
    while (getline(&line, &size, file) > 0) {
        messages[count++] = message_of(line);
        if (count == BATCH) {
            send(&a, store, messages, count);
            count = 0;
        }
    }
    if (count)
        send(&a, store, messages, count);
    run_sql(&a, "COMMIT");
    free(line);
    (void)fclose(file);
    close_app(&a);
    wp_store_close(store);
}

/* ---- consume ------------------------------------------------------------------------------ */

static void put(FILE *file, const wp_received *message)
{
    size_t len = 0;
    const char *payload = wp_received_payload(&len, message);
    const char *correlation = wp_received_correlation_id(message);
    json_t *headers = json_loads(wp_received_headers(message), 0, NULL);
    json_t *row = json_pack("{s:s, s:o, s:o?, s:o, s:I}", "topic", wp_received_topic(message),
                            "payload", json_stringn(payload, len), "correlation_id",
                            correlation ? json_string(correlation) : NULL, "headers",
                            headers ? headers : json_object(), "due_us",
                            (json_int_t)wp_received_due_us(message));
    if (!row || json_dumpf(row, file, JSON_COMPACT) != 0)
        die("write", NULL);
    (void)fputc('\n', file);
    json_decref(row);
}

static void consume(const char *url, const char *topic, long count, const char *path)
{
    wp_store *store = open_store(url);
    wp_worker *worker = NULL;
    wp_error *err = NULL;
    FILE *file = fopen(path, "w");
    if (!file)
        die(path, NULL);
    check(wp_worker_new(&worker, store, NULL, &err), "worker", err);
    check(wp_worker_handle(worker, WP_SOURCE_OUTBOX, topic, NULL, NULL, NULL, &err), "topic", err);
    while (count--) {
        wp_delivery *delivery = NULL;
        check(wp_worker_next(&delivery, worker, 60000, &err), "next", err);
        put(file, wp_delivery_message(delivery));
        check(wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, &err), "finish", err);
        wp_delivery_free(delivery);
    }
    check(wp_worker_stop(NULL, worker, 10000, &err), "stop", err);
    wp_worker_free(worker);
    wp_store_close(store);
    if (fclose(file) != 0)
        die(path, NULL);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "produce") == 0)
        produce(argv[2], argv[3]);
    else if (argc == 6 && strcmp(argv[1], "consume") == 0)
        consume(argv[2], argv[3], strtol(argv[4], NULL, 10), argv[5]);
    else
        return 2;
    return EXIT_SUCCESS;
}
