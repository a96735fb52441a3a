/* SPDX-License-Identifier: Apache-2.0 */
/* What the fault tests share: a directory with a database for each test, the app's own connection
 * to it, and child processes that play a role of the same program. */
#ifndef FAULT_H
#define FAULT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <waypost/waypost.h>

/* A sanitizer makes everything several times slower: fewer rounds then, nothing else is less. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FAULT_ROUNDS(full) ((full) / 10)
#else
#define FAULT_ROUNDS(full) (full)
#endif

/* How long a condition is awaited before the test fails. Nothing depends on its being short. */
enum { PATIENCE_MS = 180000 };

/* For children, handlers and helpers, where cmocka's assertions cannot be used. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fault_die(__FILE__, __LINE__, #condition);                                             \
    } while (0)
void fault_die(const char *file, int line, const char *what);

/* Wait until the expression is true. */
#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        const int64_t give_up_ = fault_now_ms() + PATIENCE_MS;                                     \
        while (!(condition)) {                                                                     \
            if (fault_now_ms() > give_up_)                                                         \
                fault_die(__FILE__, __LINE__, "in time: " #condition);                             \
            fault_nap_us(500);                                                                     \
        }                                                                                          \
    } while (0)

/* A call that succeeds; its last argument is &must_err. */
#define MUST_OK(call)                                                                              \
    do {                                                                                           \
        wp_error *must_err = NULL;                                                                 \
        if ((call) != WP_OK)                                                                       \
            fault_die(__FILE__, __LINE__, wp_error_message(must_err));                             \
        wp_error_free(must_err);                                                                   \
    } while (0)

int64_t fault_now_ms(void); /* elapsed */
void fault_nap_us(int64_t us);
/* 0 .. below - 1; another sequence in each process. */
unsigned fault_random(unsigned below);

/* ---- a place ------------------------------------------------------------------------------ */

typedef struct place {
    char directory[64];
    char path[96]; /* of the database */
} place;

/* cmocka fixtures: *state is a place whose directory is empty; or has a deployed database. */
int place_setup(void **state);
int place_setup_deployed(void **state);
int place_teardown(void **state);
#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)
#define WITH_DATABASE(test)                                                                        \
    cmocka_unit_test_setup_teardown(test, place_setup_deployed, place_teardown)

/* "<path><suffix>", in a static buffer. */
const char *place_file(const char *path, const char *suffix);
/* The size of a file, -1 if there is none. */
int64_t file_size(const char *path);

/* ---- stores and apps ---------------------------------------------------------------------- */

/* A configuration for a database, by its path on SQLite or its URL: no log, no waiting for the disk
 * (processes die here, not machines), and `options`: "key=value key=value". */
wp_config *fault_config(const char *path, const char *options);
wp_store *fault_store(const char *path, const char *options);
/* The same by URL, on any engine; it is deployed if need be. */
wp_store *fault_store_at(const char *url);
void fault_deploy(const char *path);
wp_message *fault_message(const char *topic, const char *payload);
/* Enqueue in a transaction of its own. */
wp_id fault_enqueue(wp_store *store, const char *topic, const char *payload);

/* A worker for one topic, not started, with the options that the store was opened with. */
wp_worker *fault_worker(wp_store *store, const char *topic, wp_handler_fn fn, void *user);

/* The app's own connection; waits for locks as long as tests are patient. */
sqlite3 *app_open(const char *path);
void app_exec(sqlite3 *db, const char *sql);
/* The only value of a query. */
int64_t app_int(sqlite3 *db, const char *sql);
/* The same on a connection of its own. */
int64_t count_of(const char *path, const char *sql);

#define ALL "SELECT count(*) FROM infra_outbox"
#define UNFINISHED "SELECT count(*) FROM infra_outbox_work"
#define DONE "SELECT count(*) FROM infra_outbox_finished WHERE status = 2"
#define FAILED "SELECT count(*) FROM infra_outbox_finished WHERE status = 3"
#define HELD "SELECT count(*) FROM infra_outbox_work WHERE status = 1"

/* ---- history ------------------------------------------------------------------------------ */

/* One line that a handler wrote when it began or ended: lines are appended whole, so their order in
 * the file is the order in which all processes wrote them. */
typedef struct event {
    char what; /* 'b'egin, 'e'nd, or the test's own */
    int64_t number;
    int64_t claim;
    int64_t attempt;
    int64_t pid;
    char key[32];
} event;

/* Append to "<path>.history". `number` is the payload of `message`. */
void history_write(int fd, char what, const wp_received *message);
int history_open(const char *path);
/* All of it. free() */
event *history_read(size_t *count, const char *path);
/* How many events of a kind there are. */
size_t history_count(const char *path, char what);

/* ---- handlers ----------------------------------------------------------------------------- */

/* What the handlers of a child need; `user` is one. They write 'b' to the history and tell the parent. */
typedef struct fault_handling {
    wp_store *store;
    const char *path; /* of the database */
    int history;
    unsigned work_us; /* at most: how long they take */
} fault_handling;
/* Done, without an effect. */
wp_outcome fault_handle(wp_delivery *delivery, void *user);
/* A row in the app's table effects and the end in one transaction of the app's. */
wp_outcome fault_handle_once(wp_delivery *delivery, void *user);

/* ---- children ----------------------------------------------------------------------------- */

typedef struct child {
    pid_t pid;
    int in;  /* its standard input: closed to ask it to end */
    int out; /* its standard output */
} child;

/* One role that this program can be started in: returns its exit code. */
typedef struct role {
    const char *name;
    int (*play)(const char *path, const char *argument);
} role;

/* Play the role that the arguments name, or run the tests; with one argument, those it matches. */
int fault_main(int argc, char **argv, const role *roles, size_t role_count, int (*suite)(void));

child child_start(const char *name, const char *path, const char *argument);
/* Wait for one byte of the child's; false at its end. */
bool child_hear(child *c);
/* In the child: say one byte; and wait until the parent closes its end. */
void parent_tell(void);
void parent_await_end(void);
/* Ask it to end, and wait for it. Returns its status as waitpid() does. */
int child_end(child *c);
int child_wait(child *c);
bool child_has_ended(child *c, int *status);
void child_kill(child *c);
#define assert_ended_well(c) assert_int_equal(child_end(c), 0)

#endif
