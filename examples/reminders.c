/* SPDX-License-Identifier: Apache-2.0 */
/* Reminders of unpaid orders: timers that are set in the app's transaction, moved, and cancelled by the
 * payment. A clock that moves by hand stands in for the days.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <waypost/waypost.h>

#define HOUR_US INT64_C(3600000000)
#define DAY_US (24 * HOUR_US)

typedef struct shop {
    sqlite3 *db; /* the app's */
    wp_clock *clock;
    wp_store *store;
    wp_conn *conn; /* db, lent to the store */
    wp_worker *worker;
    int64_t start_us;
    char sent[8]; /* the orders that it reminded of, a letter each */
} shop;

static void check(wp_status status, wp_error **err)
{
    if (status == WP_OK)
        return;
    (void)fprintf(stderr, "%s: %s\n", wp_status_name(status), wp_error_message(*err));
    exit(EXIT_FAILURE);
}

static void sql(shop *s, const char *text)
{
    if (sqlite3_exec(s->db, text, NULL, NULL, NULL) != SQLITE_OK)
        exit(EXIT_FAILURE);
}

static wp_outcome remind(wp_delivery *delivery, void *user)
{
    shop *s = user;
    const wp_received *timer = wp_delivery_message(delivery);
    const char *order = wp_received_payload(NULL, timer);
    printf("hour %3" PRId64 ": order %s is not paid\n",
           (wp_clock_utc_us(s->clock) - s->start_us) / HOUR_US, order);
    (void)strncat(s->sent, order, sizeof s->sent - strlen(s->sent) - 1);
    return WP_OUTCOME_DONE;
}

/* The order and its reminder in three days, both or neither. */
static wp_id place_order(shop *s, const char *order, const char *end)
{
    wp_error *err = NULL;
    wp_message *timer = NULL;
    wp_id id;
    sql(s, "BEGIN");
    sql(s, "INSERT INTO orders DEFAULT VALUES");
    check(wp_message_new(&timer, "order.unpaid", order, strlen(order), &err), &err);
    check(wp_message_set_due_us(timer, wp_clock_utc_us(s->clock) + 3 * DAY_US, &err), &err);
    check(wp_timer_schedule(&id, NULL, s->store, s->conn, timer, &err), &err);
    sql(s, end);
    wp_message_free(timer);
    return id;
}

/* Time goes by, and the worker does what is due; a service calls wp_worker_run(). */
static void wait_hours(shop *s, int64_t hours)
{
    wp_error *err = NULL;
    check(wp_clock_advance_us(s->clock, hours * HOUR_US, &err), &err);
    check(wp_worker_drain(NULL, s->worker, 10000, &err), &err);
}

static void open_shop(shop *s)
{
    wp_error *err = NULL;
    wp_config *config = NULL;
    s->start_us = INT64_C(1800000000000000);
    check(wp_clock_new_manual(&s->clock, s->start_us, &err), &err);
    check(wp_config_new(&config, &err), &err);
    check(wp_config_set(config, "store.url", "sqlite:reminders.db", &err), &err);
    check(wp_config_set(config, "store.deploy", "true", &err), &err);
    check(wp_config_set_clock(config, s->clock, &err), &err);
    check(wp_store_open(&s->store, config, &err), &err);
    wp_config_free(config);
    if (sqlite3_open("reminders.db", &s->db) != SQLITE_OK)
        exit(EXIT_FAILURE);
    sql(s, "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY)");
    check(wp_conn_borrow_sqlite(&s->conn, s->store, s->db, &err), &err);
    check(wp_worker_new(&s->worker, s->store, NULL, &err), &err);
    check(wp_worker_handle(s->worker, WP_SOURCE_TIMER, "order.unpaid", remind, s, NULL, &err),
          &err);
}

int main(void)
{
    shop s = {0};
    wp_error *err = NULL;
    wp_id b, c;
    int cancelled = 0, moved = 0;
    open_shop(&s);
    (void)place_order(&s, "A", "COMMIT");
    b = place_order(&s, "B", "COMMIT");
    c = place_order(&s, "C", "COMMIT");
    (void)place_order(&s, "D", "ROLLBACK"); /* no order, no reminder */

    wait_hours(&s, 71); /* one hour to go: nothing fires early */
    check(wp_timer_cancel(&cancelled, s.store, NULL, &b, &err), &err); /* B is paid */
    check(wp_timer_reschedule_in(&moved, s.store, NULL, &c, 86400000, &err), &err);
    wait_hours(&s, 1);
    wait_hours(&s, 23);
    check(wp_timer_cancel(&cancelled, s.store, NULL, &b, &err), &err);
    printf("reminded of %s; B was %s\n", s.sent, cancelled ? "?" : "cancelled before");

    wp_worker_free(s.worker);
    wp_conn_free(s.conn);
    sqlite3_close(s.db);
    wp_store_close(s.store);
    wp_clock_free(s.clock);
    return moved && strcmp(s.sent, "AC") == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
