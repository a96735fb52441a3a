/* SPDX-License-Identifier: Apache-2.0 */
/* Database files that are missing, not writable, not databases, broken, locked, full or deleted. */
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char quick[] = "worker.poll_min_ms=1 worker.poll_max_ms=5 worker.reap_ms=10 "
                            "worker.backoff_base_ms=1 worker.backoff_max_ms=5";

/* Try to open, with deployment or without, and expect a failure that says something. */
static void refuses(const char *path, const char *options, wp_status status, int native)
{
    wp_config *config = fault_config(path, options);
    wp_store *store = NULL;
    wp_error *err = NULL;
    MUST(wp_store_open(&store, config, &err) == status);
    MUST(!store);
    MUST(wp_error_code(err) == status && strlen(wp_error_message(err)) > 10);
    MUST(!native || (wp_error_native_code(err) & 0xff) == native);
    wp_error_free(err);
    wp_config_free(config);
}

static void write_file(const char *path, off_t at, size_t len, int byte)
{
    char block[4096];
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    MUST(fd >= 0);
    memset(block, byte, sizeof block);
    for (size_t done = 0; done < len; done += sizeof block)
        MUST(pwrite(fd, block, sizeof block, at + (off_t)done) == (ssize_t)sizeof block);
    (void)close(fd);
}

/* Run a function in a forked process, because it gives something up for good. */
static void in_a_child(void (*fn)(const place *p), const place *p)
{
    int status = 0;
    pid_t pid;
    (void)fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        fn(p);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ---- what cannot be opened ---------------------------------------------------------------- */

/* proves: SDP-002, OBX-092 */
static void test_open__missing_file__is_unavailable_and_makes_none(void **state)
{
    const place *p = *state;
    refuses(p->path, "", WP_E_UNAVAILABLE, 0);
    assert_int_equal(file_size(p->path), -1);
    refuses("/nonexistent/app.db", "", WP_E_UNAVAILABLE, 0);
    refuses("/nonexistent/app.db", "store.deploy=true", WP_E_UNAVAILABLE, 0);
}

/* Open what `url` names, and expect an error that says `text`. */
static void refuses_url(const char *url, const char *deploy, wp_status status, const char *text)
{
    wp_config *config = fault_config("unused", "");
    wp_store *store = NULL;
    wp_error *err = NULL;
    MUST_OK(wp_config_set(config, "store.url", url, &must_err));
    MUST_OK(wp_config_set(config, "store.deploy", deploy, &must_err));
    MUST(wp_store_open(&store, config, &err) == status);
    if (!strstr(wp_error_message(err), text))
        fail_msg("\"%s\" does not say \"%s\"", wp_error_message(err), text);
    wp_error_free(err);
    wp_config_free(config);
}

/* proves: SDP-002 */
static void test_open__missing_directory__says_so(void **state)
{
    (void)state;
    refuses_url("sqlite:/nonexistent/app.db", "false", WP_E_UNAVAILABLE,
                "/nonexistent/app.db cannot be opened: its directory does not exist");
    refuses_url("sqlite:nonexistent/app.db", "true", WP_E_UNAVAILABLE, "directory does not exist");
    refuses_url("sqlite:nonexistent.db", "false", WP_E_UNAVAILABLE, "deploy");
}

/* To some it is a path from the current directory, to others an absolute one. */
static void test_open__url_with_slashes__says_how_to_write_it(void **state)
{
    static const char *const urls[] = {"sqlite://app.db", "sqlite:///app.db", "sqlite:////tmp/a"};
    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        refuses_url(urls[i], "false", WP_E_CONFIG, "sqlite:PATH");
        refuses_url(urls[i], "true", WP_E_CONFIG, "sqlite:PATH");
    }
}

static void test_open__directory__is_unavailable(void **state)
{
    const place *p = *state;
    refuses(p->directory, "", WP_E_UNAVAILABLE, 0);
    refuses(p->directory, "store.deploy=true", WP_E_UNAVAILABLE, 0);
}

static void become_nobody(void)
{
    if (geteuid() == 0)
        MUST(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
}

static void open_as_nobody(const place *p)
{
    become_nobody();
    refuses(p->path, "", WP_E_UNAVAILABLE, 0);
    refuses(p->path, "store.deploy=true", WP_E_UNAVAILABLE, 0);
}

static void test_open__read_only_file__is_unavailable(void **state)
{
    const place *p = *state;
    const int64_t size = file_size(p->path);
    assert_int_equal(chmod(p->directory, 0777), 0);
    assert_int_equal(chmod(p->path, 0444), 0);
    in_a_child(open_as_nobody, p);
    assert_int_equal(chmod(p->directory, 0555), 0);
    in_a_child(open_as_nobody, p);
    assert_int_equal(chmod(p->directory, 0700), 0);
    assert_int_equal(chmod(p->path, 0600), 0);
    assert_int_equal(file_size(p->path), size);
    wp_store_close(fault_store(p->path, ""));
}

/* The file can be written, but nothing can be made beside it. */
static void open_without_wal(const place *p)
{
    wp_config *config = fault_config(p->path, "");
    wp_store *store = NULL;
    wp_error *err = NULL;
    wp_status st;
    become_nobody();
    st = wp_store_open(&store, config, &err);
    MUST(st == WP_E_UNAVAILABLE || st == WP_E_DB);
    MUST(wp_error_native_code(err) != 0);
    wp_error_free(err);
    wp_config_free(config);
}

static void test_open__read_only_directory__is_an_error(void **state)
{
    const place *p = *state;
    if (geteuid() != 0) {
        print_message("skipped: needs root, to drop it in a child\n");
        skip();
    }
    assert_int_equal(chmod(p->path, 0666), 0);
    assert_int_equal(chmod(p->directory, 0555), 0);
    in_a_child(open_without_wal, p);
    assert_int_equal(chmod(p->directory, 0700), 0);
    wp_store_close(fault_store(p->path, ""));
}

static void test_open__garbage_header__is_a_database_error_and_changes_nothing(void **state)
{
    const place *p = *state;
    write_file(p->path, 0, 8192, 'x');
    refuses(p->path, "", WP_E_DB, SQLITE_NOTADB);
    refuses(p->path, "store.deploy=true", WP_E_DB, SQLITE_NOTADB);
    assert_int_equal(file_size(p->path), 8192);
}

/* ---- broken inside ------------------------------------------------------------------------ */

static wp_outcome count_one(wp_delivery *delivery, void *user)
{
    (void)delivery;
    atomic_fetch_add((atomic_int *)user, 1);
    return WP_OUTCOME_DONE;
}

/* Each of these may fail, with a database error; none may do harm. */
static void try_everything(wp_store *store)
{
    wp_message *message = fault_message("t", "x");
    wp_outbox_stats *stats = NULL;
    wp_claim *claim = NULL;
    size_t changed = 0;
    wp_id id;
    wp_status sts[4];
    wp_id_new(&id);
    sts[0] = wp_outbox_claim(&claim, store, &id, NULL, 0, 10, 60000, NULL);
    sts[1] = wp_outbox_stats_read(&stats, store, 1, NULL);
    sts[2] = wp_outbox_reap(&changed, store, NULL);
    sts[3] = wp_outbox_enqueue(&id, NULL, store, NULL, message, NULL);
    for (size_t i = 0; i < sizeof sts / sizeof sts[0]; i++)
        MUST(sts[i] == WP_OK || sts[i] == WP_E_DB);
    MUST(sts[0] == WP_E_DB);
    wp_claim_free(claim);
    wp_outbox_stats_free(stats);
    wp_message_free(message);
}

static void put_all_into_the_file(const char *path)
{
    sqlite3 *db = app_open(path);
    app_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    (void)sqlite3_close(db);
}

static void test_corrupt__schema__is_a_database_error_at_open(void **state)
{
    const place *p = *state;
    put_all_into_the_file(p->path);
    write_file(p->path, 4096, (size_t)file_size(p->path) - 4096, 0xa5);
    refuses(p->path, "", WP_E_DB, SQLITE_CORRUPT);
    refuses(p->path, "store.deploy=true", WP_E_DB, SQLITE_CORRUPT);
}

/* Overwrite the first page of each of the outbox's tables and indexes. */
static void ruin_tables(const char *path)
{
    sqlite3 *db = app_open(path);
    sqlite3_stmt *statement = NULL;
    int64_t pages[32];
    size_t count = 0;
    MUST(sqlite3_prepare_v2(db,
                            "SELECT rootpage FROM sqlite_master WHERE rootpage > 0 "
                            "AND tbl_name LIKE 'infra_outbox%'",
                            -1, &statement, NULL) == SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW && count < sizeof pages / sizeof pages[0])
        pages[count++] = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    MUST(count >= 8);
    for (size_t i = 0; i < count; i++)
        write_file(path, (off_t)(pages[i] - 1) * 4096, 4096, 0xa5);
}

/* proves: WRK-002 */
static void test_corrupt__tables__calls_fail_and_the_worker_stays(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(p->path, quick);
    wp_delivery *none = NULL;
    wp_worker *worker;
    atomic_int handled = 0;
    for (int i = 0; i < 50; i++)
        (void)fault_enqueue(store, "t", "x");
    wp_store_close(store);
    put_all_into_the_file(p->path);
    ruin_tables(p->path);
    store = fault_store(p->path, quick);
    try_everything(store);
    worker = fault_worker(store, "t", count_one, &handled);
    MUST_OK(wp_worker_start(worker, 1, &must_err));
    AWAIT(wp_worker_counter(worker, WP_COUNTER_ERRORS) >= 3);
    assert_int_equal(wp_worker_next(&none, worker, 0, NULL), WP_E_TIMEOUT);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    assert_int_equal(atomic_load(&handled), 0);
    wp_worker_free(worker);
    wp_store_close(store);
}

/* ---- locked ------------------------------------------------------------------------------- */

/* Hold the write lock until told to end. */
static int play_locker(const char *path, const char *argument)
{
    sqlite3 *db = app_open(path);
    (void)argument;
    app_exec(db, "BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS locked (x)");
    parent_tell();
    parent_await_end();
    app_exec(db, "ROLLBACK");
    (void)sqlite3_close(db);
    return 0;
}

static child lock(const char *path)
{
    child locker = child_start("locker", path, "");
    MUST(child_hear(&locker));
    return locker;
}

/* proves: OBX-082 */
static void test_locked__short_busy_timeout__is_unavailable_and_retriable(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(p->path, "store.busy_timeout_ms=20");
    wp_message *message = fault_message("t", "x");
    wp_error *err = NULL;
    child locker = lock(p->path);
    wp_id id;
    assert_int_equal(wp_outbox_enqueue(&id, NULL, store, NULL, message, &err), WP_E_UNAVAILABLE);
    assert_true(wp_error_retriable(err));
    assert_false(wp_error_outcome_unknown(err));
    assert_int_equal(wp_error_native_code(err) & 0xff, SQLITE_BUSY);
    wp_error_free(err);
    assert_ended_well(&locker);
    MUST_OK(wp_outbox_enqueue(&id, NULL, store, NULL, message, &must_err));
    assert_int_equal(count_of(p->path, ALL), 1);
    wp_message_free(message);
    wp_store_close(store);
}

/* On the app's own connection: reported, and the app's transaction is as it was. */
/* proves: OBX-003, OBX-082 */
static void test_locked__on_the_apps_connection__is_reported_and_can_be_repeated(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(p->path, "");
    wp_message *message = fault_message("t", "x");
    sqlite3 *db = app_open(p->path);
    wp_error *err = NULL;
    wp_conn *conn = NULL;
    child locker = lock(p->path);
    wp_id id;
    (void)sqlite3_busy_timeout(db, 10);
    MUST_OK(wp_conn_borrow_sqlite(&conn, store, db, &must_err));
    app_exec(db, "BEGIN");
    assert_int_equal(wp_outbox_enqueue(&id, NULL, store, conn, message, &err), WP_E_UNAVAILABLE);
    assert_true(wp_error_retriable(err));
    assert_false(sqlite3_get_autocommit(db));
    assert_ended_well(&locker);
    MUST_OK(wp_outbox_enqueue(&id, NULL, store, conn, message, &must_err));
    app_exec(db, "COMMIT");
    assert_int_equal(count_of(p->path, ALL), 1);
    wp_error_free(err);
    wp_conn_free(conn);
    (void)sqlite3_close(db);
    wp_message_free(message);
    wp_store_close(store);
}

/* proves: OBX-082 */
static void test_locked__by_the_app_itself__the_error_says_what_may_be_the_matter(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(p->path, "store.busy_timeout_ms=20");
    wp_message *message = fault_message("t", "x");
    sqlite3 *db = app_open(p->path);
    wp_error *err = NULL;
    wp_id id;
    app_exec(db, "BEGIN IMMEDIATE");
    assert_int_equal(wp_outbox_enqueue(&id, NULL, store, NULL, message, &err), WP_E_UNAVAILABLE);
    assert_non_null(strstr(wp_error_message(err), "another transaction of this process"));
    wp_error_free(err);
    app_exec(db, "ROLLBACK");
    (void)sqlite3_close(db);
    wp_message_free(message);
    wp_store_close(store);
}

typedef struct gate {
    atomic_bool entered;
    atomic_bool open;
    atomic_int cancel;
} gate;

static wp_outcome wait_at_gate(wp_delivery *delivery, void *user)
{
    gate *g = user;
    atomic_store(&g->entered, true);
    while (!atomic_load(&g->open))
        fault_nap_us(500);
    atomic_store(&g->cancel, (int)wp_delivery_cancelled(delivery));
    return WP_OUTCOME_DONE;
}

/* Let a handler run while the database is locked for `lock_ms`, with busy time to spare. */
static void run_while_locked(const place *p, const char *options, int lock_ms, gate *g,
                             int64_t counters[11])
{
    wp_store *store = fault_store(p->path, options);
    wp_worker *worker = fault_worker(store, "t", wait_at_gate, g);
    child locker;
    (void)fault_enqueue(store, "t", "1");
    MUST_OK(wp_worker_start(worker, 1, &must_err));
    AWAIT(atomic_load(&g->entered));
    locker = lock(p->path);
    fault_nap_us(lock_ms * 1000);
    assert_ended_well(&locker);
    atomic_store(&g->open, true);
    AWAIT(count_of(p->path, DONE) == 1);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    for (int i = 0; i <= WP_COUNTER_ERRORS; i++)
        counters[i] = wp_worker_counter(worker, (wp_counter)i);
    wp_worker_free(worker);
    wp_store_close(store);
}

/* proves: OBX-115, WRK-002 */
static void test_locked__part_of_the_lease__worker_waits_and_keeps_it(void **state)
{
    const place *p = *state;
    gate g = {.entered = false};
    int64_t counters[11];
    /* the renewal is due at 60 % of the lease and waits for the lock */
    run_while_locked(p, "worker.lease_ms=10000 worker.reap_ms=10", 6500, &g, counters);
    assert_int_equal(counters[WP_COUNTER_CLAIMED], 1);
    assert_int_equal(counters[WP_COUNTER_ACKED], 1);
    assert_int_equal(counters[WP_COUNTER_LEASES_LOST], 0);
    assert_int_equal(counters[WP_COUNTER_ERRORS], 0);
    assert_int_equal(atomic_load(&g.cancel), WP_CANCEL_NONE);
}

static void test_locked__longer_than_the_lease__message_is_finished_once(void **state)
{
    const place *p = *state;
    gate g = {.entered = false};
    int64_t counters[11];
    run_while_locked(p,
                     "worker.lease_ms=200 worker.reap_ms=10 store.busy_timeout_ms=50 "
                     "worker.poll_min_ms=1 worker.poll_max_ms=5 worker.backoff_base_ms=1",
                     700, &g, counters);
    assert_int_equal(count_of(p->path, UNFINISHED), 0);
    assert_int_equal(counters[WP_COUNTER_ACKED], 1);
    assert_true(counters[WP_COUNTER_ERRORS] > 0);
}

/* ---- full --------------------------------------------------------------------------------- */

/* Enqueue until it fails. Returns how many were stored. */
static int fill(wp_store *store, wp_conn *conn, int most, wp_error **err)
{
    char *payload = malloc(20001);
    wp_message *message = NULL;
    int count = 0;
    wp_id id;
    MUST(payload);
    memset(payload, 'x', 20000);
    MUST_OK(wp_message_new(&message, "t", payload, 20000, &must_err));
    while (count < most && wp_outbox_enqueue(&id, NULL, store, conn, message, err) == WP_OK)
        count++;
    wp_message_free(message);
    free(payload);
    return count;
}

static void fill_to_file_size(const place *p)
{
    const struct rlimit limit = {400000, 400000};
    wp_store *store;
    wp_error *err = NULL;
    int stored;
    (void)signal(SIGXFSZ, SIG_IGN);
    MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    store = fault_store(p->path, "");
    stored = fill(store, NULL, 1000, &err);
    MUST(stored > 0 && stored < 1000);
    MUST(wp_error_code(err) == WP_E_DB);
    wp_error_free(err);
    MUST(count_of(p->path, ALL) == stored && count_of(p->path, UNFINISHED) == stored);
    wp_store_close(store);
}

static void test_full__file_size_limit__fails_clearly_and_keeps_what_was_stored(void **state)
{
    const place *p = *state;
    wp_store *store;
    wp_worker *worker;
    atomic_int handled = 0;
    size_t count = 0;
    const int stored = (in_a_child(fill_to_file_size, p), (int)count_of(p->path, ALL));
    store = fault_store(p->path, "");
    worker = fault_worker(store, "t", count_one, &handled);
    MUST_OK(wp_worker_drain(&count, worker, PATIENCE_MS, &must_err));
    assert_int_equal(count, stored);
    wp_worker_free(worker);
    wp_store_close(store);
}

/* proves: OBX-080 */
static void test_full__in_the_apps_transaction__is_reported_and_the_rest_can_commit(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(p->path, "");
    sqlite3 *db = app_open(p->path);
    wp_conn *conn = NULL;
    wp_error *err = NULL;
    char limit[64];
    int stored;
    (void)snprintf(limit, sizeof limit, "PRAGMA max_page_count = %d",
                   (int)app_int(db, "PRAGMA page_count") + 20);
    app_exec(db, limit);
    MUST_OK(wp_conn_borrow_sqlite(&conn, store, db, &must_err));
    app_exec(db, "BEGIN IMMEDIATE");
    stored = fill(store, conn, 1000, &err);
    assert_true(stored > 0 && stored < 1000);
    assert_int_equal(wp_error_code(err), WP_E_DB);
    assert_int_equal(wp_error_native_code(err) & 0xff, SQLITE_FULL);
    assert_true(wp_error_retriable(err));
    if (sqlite3_get_autocommit(db)) /* SQLite may roll back by itself then */
        stored = 0;
    else
        app_exec(db, "COMMIT");
    assert_int_equal(count_of(p->path, ALL), stored);
    assert_int_equal(count_of(p->path, UNFINISHED), stored);
    wp_error_free(err);
    wp_conn_free(conn);
    (void)sqlite3_close(db);
    wp_store_close(store);
}

static bool mount_small(const place *p)
{
    return mount("tmpfs", p->directory, "tmpfs", 0, "size=2400k") == 0;
}

/* proves: WRK-002 */
static void test_full__disk_for_a_while__worker_goes_on_once_there_is_room(void **state)
{
    const place *p = *state;
    atomic_int handled = 0;
    wp_worker *worker;
    wp_store *store;
    wp_error *err = NULL;
    int stored;
    if (!mount_small(p)) {
        print_message("skipped: a small file system cannot be mounted here\n");
        skip();
    }
    write_file(place_file(p->path, ".ballast"), 0, 900 * 1024, 'x');
    fault_deploy(p->path);
    store = fault_store(p->path, quick);
    stored = fill(store, NULL, 1000, &err);
    assert_true(stored > 0 && stored < 1000);
    assert_int_equal(wp_error_native_code(err) & 0xff, SQLITE_FULL);
    assert_true(wp_error_retriable(err));
    wp_error_free(err);
    /* and not a byte more */
    for (int fd = open(place_file(p->path, ".rest"), O_WRONLY | O_CREAT, 0600); fd >= 0;
         (void)close(fd), fd = -1)
        while (write(fd, "xxxxxxxxxxxxxxxx", 16) > 0)
            continue;
    worker = fault_worker(store, "t", count_one, &handled);
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    AWAIT(wp_worker_counter(worker, WP_COUNTER_ERRORS) >= 2);
    assert_int_equal(unlink(place_file(p->path, ".ballast")), 0);
    AWAIT(count_of(p->path, DONE) == stored);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    assert_int_equal(count_of(p->path, UNFINISHED), 0);
    wp_worker_free(worker);
    wp_store_close(store);
}

/* ---- deleted ------------------------------------------------------------------------------ */

/* SQLite would go on with the file that has no name any more. */
typedef struct absence {
    wp_store *store;
    wp_worker *worker;
    wp_message *message;
    atomic_int handled;
} absence;

static void absence_begin(absence *a, const char *path)
{
    a->store = fault_store(path, quick);
    a->worker = fault_worker(a->store, "t", count_one, &a->handled);
    a->message = fault_message("t", "x");
    MUST_OK(wp_worker_start(a->worker, 1, &must_err));
    (void)fault_enqueue(a->store, "t", "x");
    AWAIT(atomic_load(&a->handled) == 1);
}

static void absence_end(absence *a)
{
    MUST_OK(wp_worker_stop(NULL, a->worker, PATIENCE_MS, &must_err));
    wp_worker_free(a->worker);
    wp_store_close(a->store);
    wp_message_free(a->message);
}

/* Calls fail with `status`, and say why. */
static void absence_is(absence *a, wp_status status, const char *text)
{
    wp_outbox_stats *stats = NULL;
    wp_error *err = NULL;
    wp_id id;
    assert_int_equal(wp_outbox_enqueue(&id, NULL, a->store, NULL, a->message, &err), status);
    if (!strstr(wp_error_message(err), text))
        fail_msg("\"%s\" does not say \"%s\"", wp_error_message(err), text);
    assert_int_equal(wp_error_retriable(err), status == WP_E_UNAVAILABLE);
    wp_error_free(err);
    assert_int_equal(wp_outbox_stats_read(&stats, a->store, 0, NULL), status);
}

static void remove_all(const char *path)
{
    assert_int_equal(unlink(path), 0);
    (void)unlink(place_file(path, "-wal"));
    (void)unlink(place_file(path, "-shm"));
}

static int play_deployer(const char *path, const char *argument)
{
    (void)argument;
    fault_deploy(path);
    return 0;
}

static void deploy_in_another_process(const char *path)
{
    child c = child_start("deployer", path, "");
    assert_ended_well(&c);
}

/* What is enqueued now is in the file of that name, and the worker finds it. */
static void goes_on(absence *a, const char *path, int64_t done)
{
    const int handled = atomic_load(&a->handled);
    (void)fault_enqueue(a->store, "t", "x");
    AWAIT(atomic_load(&a->handled) == handled + 1);
    AWAIT(count_of(path, DONE) == done);
}

/* proves: WRK-002, OBX-092 */
static void test_deleted__while_open__calls_fail_until_it_is_deployed_again(void **state)
{
    const place *p = *state;
    absence a = {.store = NULL};
    int64_t errors;
    absence_begin(&a, p->path);
    remove_all(p->path);
    absence_is(&a, WP_E_UNAVAILABLE, "is not there any more");
    errors = wp_worker_counter(a.worker, WP_COUNTER_ERRORS);
    AWAIT(wp_worker_counter(a.worker, WP_COUNTER_ERRORS) > errors); /* the worker knows, too */
    assert_int_equal(file_size(p->path), -1);
    write_file(p->path, 0, 0, 0); /* a new database without our schema */
    absence_is(&a, WP_E_SCHEMA, "no such table");
    deploy_in_another_process(p->path);
    goes_on(&a, p->path, 1);
    absence_end(&a);
}

/* proves: WRK-002 */
static void test_moved__while_open__calls_fail_until_it_is_back(void **state)
{
    const place *p = *state;
    char away[128];
    absence a = {.store = NULL};
    (void)snprintf(away, sizeof away, "%s", place_file(p->path, ".away"));
    absence_begin(&a, p->path);
    put_all_into_the_file(p->path);
    assert_int_equal(rename(p->path, away), 0);
    absence_is(&a, WP_E_UNAVAILABLE, "is not there any more");
    AWAIT(wp_worker_counter(a.worker, WP_COUNTER_ERRORS) > 0);
    assert_int_equal(rename(away, p->path), 0);
    goes_on(&a, p->path, 2);
    assert_int_equal(count_of(p->path, ALL), 2);
    absence_end(&a);
}

/* proves: WRK-002 */
static void test_replaced__while_open__the_new_file_is_used(void **state)
{
    const place *p = *state;
    place other = *p;
    absence a = {.store = NULL};
    (void)snprintf(other.path, sizeof other.path, "%.80s.new", p->path);
    deploy_in_another_process(other.path);
    put_all_into_the_file(other.path);
    absence_begin(&a, p->path);
    remove_all(p->path);
    assert_int_equal(rename(other.path, p->path), 0);
    goes_on(&a, p->path, 1);
    assert_int_equal(count_of(p->path, ALL), 1);
    absence_end(&a);
}

static const char *to_steal;

/* Called by SQLite in the middle of the transaction. */
static void steal(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    (void)values;
    (void)unlink(to_steal);
    sqlite3_result_null(context);
}

static int add_steal(sqlite3 *db, char **message, const void *routines)
{
    (void)message;
    (void)routines;
    return sqlite3_create_function(db, "steal", 0, SQLITE_UTF8 | SQLITE_INNOCUOUS, NULL, steal,
                                   NULL, NULL);
}

/* proves: OBX-080 */
static void test_deleted__in_a_transaction__is_not_committed(void **state)
{
    const place *p = *state;
    wp_store *store;
    sqlite3 *db;
    wp_message *message = fault_message("t", "x");
    wp_error *err = NULL;
    wp_id id;
    to_steal = p->path;
    MUST(sqlite3_auto_extension((void (*)(void))add_steal) == SQLITE_OK);
    db = app_open(p->path);
    app_exec(db, "CREATE TRIGGER t AFTER INSERT ON infra_outbox BEGIN SELECT steal(); END");
    (void)sqlite3_close(db);
    store = fault_store(p->path, "");
    MUST_OK(wp_message_set_unique_key(message, "k", &must_err)); /* two statements at most */
    assert_int_equal(wp_outbox_enqueue(&id, NULL, store, NULL, message, &err), WP_E_UNAVAILABLE);
    assert_non_null(strstr(wp_error_message(err), "deleted, moved or replaced"));
    assert_true(wp_error_retriable(err));
    wp_error_free(err);
    (void)sqlite3_cancel_auto_extension((void (*)(void))add_steal);
    wp_message_free(message);
    wp_store_close(store);
}

/* Only the worker has it open, and it was asleep. */
/* proves: WRK-002 */
static void test_replaced__under_a_sleeping_worker__it_handles_what_is_in_the_new_file(void **state)
{
    static const char *const options[] = {
        "worker.poll_min_ms=3600000 worker.poll_max_ms=3600000 worker.reap_ms=3600000",
        "worker.poll_min_ms=10 worker.poll_max_ms=100 worker.reap_ms=10 worker.wakeups=false"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const place *p = *state;
        place other = *p;
        wp_store *store = fault_store(p->path, options[i]);
        atomic_int handled = 0;
        wp_worker *worker = fault_worker(store, "t", count_one, &handled);
        wp_store *filled;
        (void)snprintf(other.path, sizeof other.path, "%.80s.new", p->path);
        deploy_in_another_process(other.path);
        filled = fault_store(other.path, "");
        (void)fault_enqueue(filled, "t", "x");
        wp_store_close(filled);
        put_all_into_the_file(other.path);
        MUST_OK(wp_worker_start(worker, 1, &must_err));
        AWAIT(wp_worker_counter(worker, WP_COUNTER_POLLS) > 0);
        remove_all(p->path);
        assert_int_equal(rename(other.path, p->path), 0);
        AWAIT(atomic_load(&handled) == 1);
        MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
        assert_int_equal(count_of(p->path, DONE), 1);
        wp_worker_free(worker);
        wp_store_close(store);
    }
}

static const role roles[] = {{"locker", play_locker}, {"deployer", play_deployer}};

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(test_open__missing_file__is_unavailable_and_makes_none),
        WITH_PLACE(test_open__missing_directory__says_so),
        WITH_PLACE(test_open__url_with_slashes__says_how_to_write_it),
        WITH_PLACE(test_open__directory__is_unavailable),
        WITH_DATABASE(test_open__read_only_file__is_unavailable),
        WITH_DATABASE(test_open__read_only_directory__is_an_error),
        WITH_PLACE(test_open__garbage_header__is_a_database_error_and_changes_nothing),
        WITH_DATABASE(test_corrupt__schema__is_a_database_error_at_open),
        WITH_DATABASE(test_corrupt__tables__calls_fail_and_the_worker_stays),
        WITH_DATABASE(test_locked__short_busy_timeout__is_unavailable_and_retriable),
        WITH_DATABASE(test_locked__on_the_apps_connection__is_reported_and_can_be_repeated),
        WITH_DATABASE(test_locked__by_the_app_itself__the_error_says_what_may_be_the_matter),
        WITH_DATABASE(test_locked__part_of_the_lease__worker_waits_and_keeps_it),
        WITH_DATABASE(test_locked__longer_than_the_lease__message_is_finished_once),
        WITH_DATABASE(test_full__file_size_limit__fails_clearly_and_keeps_what_was_stored),
        WITH_DATABASE(test_full__in_the_apps_transaction__is_reported_and_the_rest_can_commit),
        WITH_PLACE(test_full__disk_for_a_while__worker_goes_on_once_there_is_room),
        WITH_DATABASE(test_deleted__while_open__calls_fail_until_it_is_deployed_again),
        WITH_DATABASE(test_moved__while_open__calls_fail_until_it_is_back),
        WITH_DATABASE(test_replaced__while_open__the_new_file_is_used),
        WITH_DATABASE(test_deleted__in_a_transaction__is_not_committed),
        WITH_DATABASE(test_replaced__under_a_sleeping_worker__it_handles_what_is_in_the_new_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, roles, sizeof roles / sizeof roles[0], suite);
}
