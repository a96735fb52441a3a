/* SPDX-License-Identifier: Apache-2.0 */
/* Stopping while the database is locked, from many threads, from a handler, again and again. */
#include "fault.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum {
    CYCLES = FAULT_ROUNDS(200),
    STOPPERS = 10,
    DEADLINE_MS = 300,
    SLACK_MS = 10000 /* far less than the busy time that a stop must not wait for */
};

static const char quick[] = "worker.poll_min_ms=1 worker.poll_max_ms=5 worker.reap_ms=10 "
                            "worker.backoff_base_ms=1 worker.backoff_max_ms=5";

typedef struct scene {
    atomic_int handled;
    atomic_bool open;    /* handlers may return */
    atomic_bool stopped; /* a stop has returned: no handler may begin any more */
    wp_worker *worker;
} scene;

static wp_outcome pass(wp_delivery *delivery, void *user)
{
    scene *s = user;
    (void)delivery;
    MUST(!atomic_load(&s->stopped));
    atomic_fetch_add(&s->handled, 1);
    while (!atomic_load(&s->open))
        fault_nap_us(500);
    return WP_OUTCOME_DONE;
}

static int play_locker(const char *path, const char *argument)
{
    sqlite3 *db = app_open(path);
    (void)argument;
    app_exec(db, "BEGIN IMMEDIATE");
    parent_tell();
    parent_await_end();
    (void)sqlite3_close(db);
    return 0;
}

/* How long a stop took. */
static int64_t stop(wp_worker *worker, int64_t deadline_ms, size_t *abandoned)
{
    const int64_t begin = fault_now_ms();
    MUST_OK(wp_worker_stop(abandoned, worker, deadline_ms, &must_err));
    return fault_now_ms() - begin;
}

static void work_off(const char *path, int total)
{
    wp_store *store = fault_store(path, quick);
    scene s = {.open = true};
    wp_worker *worker = fault_worker(store, "t", pass, &s);
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    AWAIT(count_of(path, DONE) == total);
    (void)stop(worker, PATIENCE_MS, NULL);
    wp_worker_free(worker);
    wp_store_close(store);
}

/* proves: OBX-116 */
static void test_stop__database_locked__returns_by_its_deadline_and_loses_nothing(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(
        p->path, "store.busy_timeout_ms=600000 worker.lease_ms=500 worker.concurrency=4");
    scene s = {.open = false};
    wp_worker *worker = fault_worker(store, "t", pass, &s);
    child locker;
    size_t abandoned = 99;
    for (int i = 0; i < 20; i++)
        (void)fault_enqueue(store, "t", "x");
    MUST_OK(wp_worker_start(worker, 4, &must_err));
    AWAIT(atomic_load(&s.handled) == 4);
    locker = child_start("locker", p->path, "");
    assert_true(child_hear(&locker));
    atomic_store(&s.open, true);
    assert_true(stop(worker, DEADLINE_MS, &abandoned) < DEADLINE_MS + SLACK_MS);
    atomic_store(&s.stopped, true);
    assert_true(stop(worker, DEADLINE_MS, &abandoned) < DEADLINE_MS + SLACK_MS);
    assert_int_equal(abandoned, 0);
    wp_worker_free(worker);
    assert_ended_well(&locker);
    wp_store_close(store);
    work_off(p->path, 20);
}

static void *stop_from_thread(void *arg)
{
    scene *s = arg;
    MUST_OK(wp_worker_stop(NULL, s->worker, PATIENCE_MS, &must_err));
    atomic_store(&s->stopped, true);
    return NULL;
}

/* proves: OBX-116 */
static void test_stop__10_threads_at_once__all_return_and_no_handler_runs_after(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(p->path, "");
    scene s = {.open = true};
    pthread_t stoppers[STOPPERS];
    const int total = FAULT_ROUNDS(2000);
    sqlite3 *db = app_open(p->path);
    s.worker = fault_worker(store, "t", pass, &s);
    app_exec(db, "BEGIN IMMEDIATE");
    for (int i = 0; i < total; i++) {
        wp_message *message = fault_message("t", "x");
        wp_conn *conn = NULL;
        wp_id id;
        MUST_OK(wp_conn_borrow_sqlite(&conn, store, db, &must_err));
        MUST_OK(wp_outbox_enqueue(&id, NULL, store, conn, message, &must_err));
        wp_conn_free(conn);
        wp_message_free(message);
    }
    app_exec(db, "COMMIT");
    MUST_OK(wp_worker_start(s.worker, 4, &must_err));
    AWAIT(atomic_load(&s.handled) > 0);
    for (int i = 0; i < STOPPERS; i++)
        assert_int_equal(pthread_create(&stoppers[i], NULL, stop_from_thread, &s), 0);
    for (int i = 0; i < STOPPERS; i++)
        assert_int_equal(pthread_join(stoppers[i], NULL), 0);
    assert_int_equal(app_int(db, DONE), atomic_load(&s.handled));
    assert_int_equal(app_int(db, UNFINISHED), total - atomic_load(&s.handled));
    assert_int_equal(
        app_int(db, "SELECT count(*) FROM infra_outbox_work WHERE status <> 0 OR attempt <> 0"), 0);
    wp_worker_free(s.worker);
    wp_store_close(store);
    (void)sqlite3_close(db);
}

static wp_outcome stop_inside(wp_delivery *delivery, void *user)
{
    scene *s = user;
    (void)delivery;
    MUST(!atomic_load(&s->stopped));
    MUST_OK(wp_worker_stop(NULL, s->worker, PATIENCE_MS, &must_err));
    atomic_fetch_add(&s->handled, 1);
    return WP_OUTCOME_DONE;
}

/* proves: OBX-116 */
static void test_stop__from_a_handler__its_outcome_counts_and_it_is_the_last(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(p->path, "worker.concurrency=1");
    scene s = {.open = true};
    s.worker = fault_worker(store, "t", stop_inside, &s);
    for (int i = 0; i < 5; i++)
        (void)fault_enqueue(store, "t", "x");
    MUST_OK(wp_worker_start(s.worker, 1, &must_err));
    AWAIT(atomic_load(&s.handled) == 1);
    (void)stop(s.worker, PATIENCE_MS, NULL);
    atomic_store(&s.stopped, true);
    assert_int_equal(count_of(p->path, DONE), 1);
    assert_int_equal(count_of(p->path, "SELECT count(*) FROM infra_outbox_work WHERE status = 0"),
                     4);
    wp_worker_free(s.worker);
    wp_store_close(store);
}

/* How many entries there are in a folder of this process's. */
static int count_own(const char *folder)
{
    DIR *directory = opendir(folder);
    int count = 0;
    MUST(directory);
    while (readdir(directory))
        count++;
    (void)closedir(directory);
    return count;
}

static void cycle(wp_store *store)
{
    scene s = {.open = true};
    wp_worker *worker = fault_worker(store, "t", pass, &s);
    (void)fault_enqueue(store, "t", "x");
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    AWAIT(atomic_load(&s.handled) == 1);
    (void)stop(worker, PATIENCE_MS, NULL);
    wp_worker_free(worker);
}

/* proves: OBX-116 */
static void test_stop__start_and_stop_200_times__no_thread_or_descriptor_stays(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(p->path, quick);
    int threads, fds;
    for (int i = 0; i < 3; i++)
        cycle(store);
    threads = count_own("/proc/self/task");
    fds = count_own("/proc/self/fd");
    for (int i = 0; i < CYCLES; i++)
        cycle(store);
    assert_int_equal(count_own("/proc/self/fd"), fds);
    AWAIT(count_own("/proc/self/task") <= threads);
    assert_int_equal(count_of(p->path, DONE), CYCLES + 3);
    wp_store_close(store);
}

/* proves: OBX-116 */
static void test_stop__before_the_start__start_is_refused(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(p->path, "");
    scene s = {.stopped = true};
    wp_worker *worker = fault_worker(store, "t", pass, &s);
    (void)fault_enqueue(store, "t", "x");
    (void)stop(worker, 0, NULL);
    assert_int_equal(wp_worker_start(worker, 1, NULL), WP_E_STOPPED);
    (void)stop(worker, 0, NULL);
    assert_int_equal(count_of(p->path, HELD), 0);
    wp_worker_free(worker);
    wp_store_close(store);
}

/* As a user who may have no further thread. */
static void start_without_threads(const char *path)
{
    const struct rlimit one = {1, 1};
    scene s = {.open = true};
    wp_error *err = NULL;
    wp_worker *worker;
    wp_store *store;
    MUST(setgid(65534) == 0 && setrlimit(RLIMIT_NPROC, &one) == 0 && setuid(65534) == 0);
    store = fault_store(path, "");
    worker = fault_worker(store, "t", pass, &s);
    MUST(wp_worker_start(worker, 4, &err) != WP_OK);
    MUST(wp_error_code(err) != WP_OK && wp_error_message(err)[0]);
    wp_error_free(err);
    MUST(stop(worker, DEADLINE_MS, NULL) < DEADLINE_MS + SLACK_MS);
    MUST(atomic_load(&s.handled) == 0);
    wp_worker_free(worker);
    wp_store_close(store);
}

/* proves: OBX-116 */
static void test_stop__after_a_failed_start__returns(void **state)
{
    const place *p = *state;
    int status = 0;
    pid_t pid;
    if (geteuid() != 0) {
        print_message("skipped: needs root, to drop it in a child\n");
        skip();
    }
    (void)chmod(p->directory, 0777);
    (void)chmod(p->path, 0666);
    (void)fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        start_without_threads(p->path);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static const role roles[] = {{"locker", play_locker}};

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DATABASE(test_stop__after_a_failed_start__returns),
        WITH_DATABASE(test_stop__database_locked__returns_by_its_deadline_and_loses_nothing),
        WITH_DATABASE(test_stop__10_threads_at_once__all_return_and_no_handler_runs_after),
        WITH_DATABASE(test_stop__from_a_handler__its_outcome_counts_and_it_is_the_last),
        WITH_DATABASE(test_stop__start_and_stop_200_times__no_thread_or_descriptor_stays),
        WITH_DATABASE(test_stop__before_the_start__start_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, roles, sizeof roles / sizeof roles[0], suite);
}
