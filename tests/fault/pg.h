/* SPDX-License-Identifier: Apache-2.0 */
/* What the fault tests on PostgreSQL share besides fault.h: a deployed database for each test, and
 * handlers whose effects are rows. */
#ifndef FAULT_PG_H
#define FAULT_PG_H

#include "fault.h"

#include <stdatomic.h>

#include "support/proxy.h"
#include "support/wpt_pg.h"

typedef struct pg_place {
    place files;   /* a directory, for histories */
    char url[256]; /* the database */
    PGconn *db;    /* the test's own connection to it */
} pg_place;

/* *state is a pg_place: empty, but for the app's tables effects, orders and unsure, of numbers. */
int pg_setup(void **state);
int pg_teardown(void **state);
#define WITH_PG(test) cmocka_unit_test_setup_teardown(test, pg_setup, pg_teardown)

#define PG_ALL "SELECT count(*) FROM infra.outbox"
#define PG_UNFINISHED "SELECT count(*) FROM infra.outbox_work"
#define PG_DONE "SELECT count(*) FROM infra.outbox_finished WHERE status = 2"
#define PG_HELD "SELECT count(*) FROM infra.outbox_work WHERE status = 1"

/* Sessions that wait for a lock. */
#define PG_WAITING                                                                                 \
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = "          \
    "current_database()"

/* A statement for which printf's rules hold; and a number. Any failure ends the test. */
void pg_exec(PGconn *pg, const char *format, ...) __attribute__((format(printf, 2, 3)));
int64_t pg_number(PGconn *pg, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for threads and for connections that may be lost. */
bool pg_try(PGconn *pg, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* -1: it failed. */
int64_t pg_try_number(PGconn *pg, const char *format, ...) __attribute__((format(printf, 2, 3)));
wp_conn *pg_lend(wp_store *store, PGconn *pg);

/* Handlers. `user` is a pg_handling. Both write 'b' and 'e' to the history. */
typedef struct pg_handling {
    wp_store *store;
    const char *url; /* of the connections of the handlers' own */
    int history;
    unsigned work_us; /* at most: how long they take */
    _Atomic(PGconn *) idle[8];
} pg_handling;
/* Close what it has open. */
void pg_handling_end(pg_handling *h);
/* Done, without an effect. */
wp_outcome pg_handle(wp_delivery *delivery, void *user);
/* A row in effects and the ack in one transaction of its own; RETRY if anything fails. */
wp_outcome pg_handle_once(wp_delivery *delivery, void *user);
/* Of messages 0 .. total - 1 none was begun while it was under way, and all that were begun ended. */
void pg_check_history(const char *path, int total);
/* Each has one row in effects. */
void pg_check_effects(PGconn *pg, int total);

/* Enqueue messages first .. first + count - 1 of a topic, their numbers as payloads. */
void pg_enqueue_numbers(wp_store *store, const char *topic, int first, int count);

#endif
