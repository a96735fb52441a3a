/* SPDX-License-Identifier: Apache-2.0 */
/* An order and its event in one transaction, on a connection of the app's own; a second one that is
 * rolled back; and a worker that handles what was committed.
 *
 *     cc outbox.c $(pkg-config --cflags --libs waypost sqlite3) && ./a.out
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <waypost/waypost.h>

/* What a program does with errors it does not expect. */
static void check(wp_status status, wp_error **err)
{
    if (status == WP_OK)
        return;
    (void)fprintf(stderr, "%s: %s\n", wp_status_name(status), wp_error_message(*err));
    exit(EXIT_FAILURE);
}

static void sql(sqlite3 *db, const char *text)
{
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK) {
        (void)fprintf(stderr, "%s: %s\n", text, sqlite3_errmsg(db));
        exit(EXIT_FAILURE);
    }
}

/* The business row and the message, in the transaction that is open on `db`. */
static void place_order(sqlite3 *db, wp_store *store, wp_conn *conn, const char *customer)
{
    wp_error *err = NULL;
    wp_message *message = NULL;
    wp_id id;
    char *insert = sqlite3_mprintf("INSERT INTO orders (customer) VALUES (%Q)", customer);
    char *payload = sqlite3_mprintf("{\"customer\": \"%s\"}", customer);
    sql(db, insert);
    check(wp_message_new(&message, "order.placed", payload, strlen(payload), &err), &err);
    check(wp_outbox_enqueue(&id, NULL, store, conn, message, &err), &err);
    wp_message_free(message);
    sqlite3_free(payload);
    sqlite3_free(insert);
}

/* Runs on the thread that called wp_worker_drain(), or in a service wp_worker_run(). */
static wp_outcome on_order(wp_delivery *delivery, void *user)
{
    int *handled = user;
    const wp_received *message = wp_delivery_message(delivery);
    printf("handling %s %s\n", wp_received_topic(message), wp_received_payload(NULL, message));
    ++*handled;
    return WP_OUTCOME_DONE;
}

int main(void)
{
    wp_error *err = NULL;
    wp_config *config = NULL;
    wp_store *store = NULL;
    wp_conn *conn = NULL;
    wp_worker *worker = NULL;
    sqlite3 *db = NULL;
    int handled = 0;

    check(wp_config_new(&config, &err), &err);
    check(wp_config_set(config, "store.url", "sqlite:orders.db", &err), &err);
    check(wp_config_set(config, "store.deploy", "true", &err), &err);
    check(wp_store_open(&store, config, &err), &err);
    if (sqlite3_open("orders.db", &db) != SQLITE_OK)
        return EXIT_FAILURE;
    sql(db, "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, customer TEXT)");
    check(wp_conn_borrow_sqlite(&conn, store, db, &err), &err);

    sql(db, "BEGIN");
    place_order(db, store, conn, "Ada");
    sql(db, "COMMIT");

    sql(db, "BEGIN");
    place_order(db, store, conn, "nobody");
    sql(db, "ROLLBACK"); /* neither the order nor the message has ever been there */

    check(wp_worker_new(&worker, store, NULL, &err), &err);
    check(
        wp_worker_handle(worker, WP_SOURCE_OUTBOX, "order.placed", on_order, &handled, NULL, &err),
        &err);
    check(wp_worker_drain(NULL, worker, 10000, &err), &err);
    printf("%d handled\n", handled);

    wp_worker_free(worker);
    wp_conn_free(conn);
    sqlite3_close(db);
    wp_store_close(store);
    wp_config_free(config);
    return handled == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
