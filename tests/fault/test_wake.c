/* SPDX-License-Identifier: Apache-2.0 */
/* A commit wakes the worker; polls are an hour apart unless a test says otherwise. */
#include "fault.h"

#include <stdatomic.h>

enum { COMMITS = FAULT_ROUNDS(30) + 1 };

static const char only_wakeups[] = "worker.poll_min_ms=3600000 worker.poll_max_ms=3600000";

static wp_outcome count_one(wp_delivery *delivery, void *user)
{
    (void)delivery;
    atomic_fetch_add((atomic_int *)user, 1);
    return WP_OUTCOME_DONE;
}

/* An app: its own connection, its own transaction. */
typedef struct app {
    wp_store *store;
    sqlite3 *db;
    wp_conn *conn;
} app;

static app app_begin(const char *path)
{
    app a = {.store = fault_store(path, ""), .db = app_open(path)};
    MUST_OK(wp_conn_borrow_sqlite(&a.conn, a.store, a.db, &must_err));
    return a;
}

static void app_end(app *a)
{
    wp_conn_free(a->conn);
    (void)sqlite3_close(a->db);
    wp_store_close(a->store);
}

static void app_commit_one(app *a)
{
    wp_message *message = fault_message("t", "x");
    wp_id id;
    app_exec(a->db, "BEGIN IMMEDIATE");
    MUST_OK(wp_outbox_enqueue(&id, NULL, a->store, a->conn, message, &must_err));
    app_exec(a->db, "COMMIT");
    wp_message_free(message);
}

/* Commits one message for each byte of the parent's. */
static int play_app(const char *path, const char *argument)
{
    app a = app_begin(path);
    char byte;
    (void)argument;
    parent_tell();
    while (read(STDIN_FILENO, &byte, 1) == 1)
        app_commit_one(&a);
    app_end(&a);
    return 0;
}

/* ---- a disk that takes its time ----------------------------------------------------------- */

enum { SLOW_SYNC_US = 1000000 };

static sqlite3_io_methods slow_methods;
static int (*quick_sync)(sqlite3_file *file, int flags);
static int (*quick_open)(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                         int *out_flags);

static int slow_sync(sqlite3_file *file, int flags)
{
    fault_nap_us(SLOW_SYNC_US);
    return quick_sync(file, flags);
}

static int slow_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *out_flags)
{
    int rc = quick_open(vfs, name, file, flags, out_flags);
    if (rc == SQLITE_OK && file->pMethods && (flags & SQLITE_OPEN_WAL)) {
        slow_methods = *file->pMethods;
        quick_sync = slow_methods.xSync;
        slow_methods.xSync = slow_sync;
        file->pMethods = &slow_methods;
    }
    return rc;
}

/* As play_app(), but between the write of a commit and the moment at which it can be seen there is
 * a second. */
static int play_slow_app(const char *path, const char *argument)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    app a;
    char byte;
    (void)argument;
    quick_open = vfs->xOpen;
    vfs->xOpen = slow_open;
    a = app_begin(path);
    app_exec(a.db, "PRAGMA synchronous = FULL");
    parent_tell();
    while (read(STDIN_FILENO, &byte, 1) == 1)
        app_commit_one(&a);
    app_end(&a);
    return 0;
}

static void commit_in_another_process(child *c)
{
    MUST(write(c->in, "!", 1) == 1);
}

/* A worker that has looked for work, found none, and looks no more by itself. */
static wp_worker *sleeping_worker(wp_store *store, atomic_int *handled)
{
    wp_worker *worker = fault_worker(store, "t", count_one, handled);
    int64_t polls = -1;
    MUST_OK(wp_worker_start(worker, 1, &must_err));
    AWAIT(wp_worker_counter(worker, WP_COUNTER_POLLS) > 0);
    while (polls != wp_worker_counter(worker, WP_COUNTER_POLLS)) {
        polls = wp_worker_counter(worker, WP_COUNTER_POLLS);
        fault_nap_us(20000);
    }
    return worker;
}

static void other_process_wakes(const char *path, const char *journal_mode)
{
    sqlite3 *db = app_open(path);
    atomic_int handled = 0;
    wp_worker *worker;
    wp_store *store;
    child c;
    app_exec(db, journal_mode);
    (void)sqlite3_close(db);
    store = fault_store(path, only_wakeups);
    worker = sleeping_worker(store, &handled);
    c = child_start("app", path, "");
    assert_true(child_hear(&c));
    for (int i = 1; i <= COMMITS; i++) {
        commit_in_another_process(&c);
        AWAIT(atomic_load(&handled) == i);
        fault_nap_us(fault_random(5000)); /* the worker is anywhere on its way to sleep */
    }
    assert_true(wp_worker_counter(worker, WP_COUNTER_WAKES) > 0);
    assert_ended_well(&c);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wp_store_close(store);
}

/* proves: WRK-001 */
static void test_wake__commit_of_another_process_on_wal__is_handled_without_a_poll(void **state)
{
    other_process_wakes(((place *)*state)->path, "PRAGMA journal_mode = WAL");
}

/* proves: WRK-001 */
static void test_wake__commit_of_another_process_on_rollback_journal__is_handled(void **state)
{
    other_process_wakes(((place *)*state)->path, "PRAGMA journal_mode = DELETE");
}

/* proves: WRK-001 */
static void test_wake__commit_that_takes_a_second_to_sync__is_handled_without_a_poll(void **state)
{
    const place *p = *state;
    atomic_int handled = 0;
    /* nor reaps, whose checkpoint would be a change that wakes */
    wp_store *store = fault_store(p->path, "worker.poll_min_ms=3600000 worker.poll_max_ms=3600000 "
                                           "worker.reap_ms=3600000");
    wp_worker *worker = sleeping_worker(store, &handled);
    child c = child_start("slow app", p->path, "");
    assert_true(child_hear(&c));
    for (int i = 1; i <= 2; i++) {
        commit_in_another_process(&c);
        AWAIT(atomic_load(&handled) == i);
    }
    assert_ended_well(&c);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wp_store_close(store);
}

/* proves: WRK-001 */
static void test_wake__same_process__both_ways_of_enqueueing_are_handled(void **state)
{
    const place *p = *state;
    atomic_int handled = 0;
    wp_store *store = fault_store(p->path, only_wakeups);
    wp_worker *worker = sleeping_worker(store, &handled);
    app a = app_begin(p->path); /* another store and connection on the same file */
    for (int i = 0; i < COMMITS; i++) {
        (void)fault_enqueue(store, "t", "x");
        AWAIT(atomic_load(&handled) == 2 * i + 1);
        fault_nap_us(fault_random(3000));
        app_commit_one(&a);
        AWAIT(atomic_load(&handled) == 2 * i + 2);
        fault_nap_us(fault_random(3000));
    }
    app_end(&a);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wp_store_close(store);
}

/* proves: WRK-001, OBX-103 */
static void test_wakeups_off__another_process_commits__polling_finds_it(void **state)
{
    const place *p = *state;
    atomic_int handled = 0;
    wp_store *store =
        fault_store(p->path, "worker.wakeups=false worker.poll_min_ms=1 worker.poll_max_ms=20");
    wp_worker *worker = fault_worker(store, "t", count_one, &handled);
    child c = child_start("app", p->path, "");
    MUST_OK(wp_worker_start(worker, 1, &must_err));
    assert_true(child_hear(&c));
    for (int i = 1; i <= COMMITS; i++) {
        commit_in_another_process(&c);
        AWAIT(atomic_load(&handled) == i);
    }
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_WAKES), 0);
    assert_ended_well(&c);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wp_store_close(store);
}

static const role roles[] = {{"app", play_app}, {"slow app", play_slow_app}};

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DATABASE(test_wake__commit_of_another_process_on_wal__is_handled_without_a_poll),
        WITH_DATABASE(test_wake__commit_of_another_process_on_rollback_journal__is_handled),
        WITH_DATABASE(test_wake__commit_that_takes_a_second_to_sync__is_handled_without_a_poll),
        WITH_DATABASE(test_wake__same_process__both_ways_of_enqueueing_are_handled),
        WITH_DATABASE(test_wakeups_off__another_process_commits__polling_finds_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, roles, sizeof roles / sizeof roles[0], suite);
}
