/* SPDX-License-Identifier: Apache-2.0 */
/* A process forked from one with an open store and a running worker. */
#include "fault.h"

#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { FORKS = FAULT_ROUNDS(20), OPERATIONS = FAULT_ROUNDS(1000), CHILD_S = 30 };

static bool is_child;

#if defined(__SANITIZE_ADDRESS__)
/* What only the parent's other threads point to looks like a leak in the child. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return is_child;
}
#endif

/* Everything that the parent holds when it forks. */
typedef struct scene {
    const char *path;
    wp_store *store;
    wp_worker *worker; /* running */
    wp_worker *puller;
    wp_delivery *delivery;
    sqlite3 *db;
    wp_conn *conn;
    atomic_int handled;
} scene;

static wp_outcome count_one(wp_delivery *delivery, void *user)
{
    (void)delivery;
    atomic_fetch_add((atomic_int *)user, 1);
    return WP_OUTCOME_DONE;
}

/* A call that says that the process was forked. */
#define REFUSED(call)                                                                              \
    do {                                                                                           \
        wp_error *err = NULL;                                                                      \
        MUST((call) == WP_E_STATE);                                                                \
        MUST(strstr(wp_error_message(err), "fork"));                                               \
        wp_error_free(err);                                                                        \
    } while (0)

static void use_store(const scene *s)
{
    wp_message *message = fault_message("t", "x");
    wp_config *config = fault_config(s->path, "");
    wp_outbox_stats *stats = NULL;
    wp_outbox_info *info = NULL;
    wp_worker *worker = NULL;
    wp_store *store = NULL;
    wp_claim *claim = NULL;
    wp_conn *conn = NULL;
    wp_op *op = NULL;
    const wp_message *const messages[] = {message};
    wp_id id;
    wp_id_new(&id);
    REFUSED(wp_outbox_enqueue(&id, NULL, s->store, NULL, message, &err));
    REFUSED(wp_outbox_enqueue(&id, NULL, s->store, s->conn, message, &err));
    REFUSED(wp_outbox_enqueue_op(&op, s->store, messages, 1, &err));
    REFUSED(wp_outbox_claim(&claim, s->store, &id, NULL, 0, 1, 1000, &err));
    REFUSED(wp_outbox_ack(NULL, s->store, NULL, &id, &id, NULL, 1, NULL, &err));
    REFUSED(wp_outbox_reap(NULL, s->store, &err));
    REFUSED(wp_outbox_stats_read(&stats, s->store, 0, &err));
    REFUSED(wp_outbox_get(&info, s->store, &id, &err));
    REFUSED(wp_conn_borrow_sqlite(&conn, s->store, s->db, &err));
    REFUSED(wp_worker_new(&worker, s->store, NULL, &err));
    REFUSED(wp_store_open(&store, config, &err));
    wp_message_free(message);
    wp_config_free(config);
}

static void use_worker(const scene *s)
{
    wp_delivery *delivery = NULL;
    REFUSED(wp_worker_next(&delivery, s->worker, -1, &err));
    REFUSED(wp_worker_run(s->worker, &err));
    REFUSED(wp_worker_start(s->worker, 1, &err));
    REFUSED(wp_worker_drain(NULL, s->puller, -1, &err));
    REFUSED(wp_worker_stop(NULL, s->worker, 1000, &err));
    REFUSED(wp_delivery_finish(s->delivery, WP_OUTCOME_DONE, NULL, 0, &err));
    REFUSED(wp_delivery_settle(s->delivery, -1, &err));
    REFUSED(wp_delivery_complete(s->delivery, s->conn, &err));
    wp_worker_wake(s->worker);
    (void)wp_worker_counter(s->worker, WP_COUNTER_CLAIMED);
    (void)wp_delivery_cancelled(s->delivery);
}

static void live_as_child(scene *s, bool free_all)
{
    use_store(s);
    use_worker(s);
    if (!free_all)
        return;
    wp_delivery_free(s->delivery);
    wp_worker_free(s->puller);
    wp_worker_free(s->worker);
    wp_conn_free(s->conn);
    wp_store_close(s->store);
}

/* A child that hangs, in a lock that another thread of the parent held, tells where. */
static void say_where(int signal_number)
{
    void *frames[32];
    (void)signal_number;
    backtrace_symbols_fd(frames, backtrace(frames, 32), STDERR_FILENO);
    _exit(9);
}

static void fork_one(scene *s, int round)
{
    int status = 0;
    pid_t pid;
    (void)fflush(NULL);
    pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        is_child = true;
        (void)signal(SIGALRM, say_where);
        (void)alarm(CHILD_S);
        live_as_child(s, round % 4 < 2);
        if (round % 2)
            exit(0);
        _exit(0);
    }
    AWAIT(waitpid(pid, &status, WNOHANG) == pid);
    assert_int_equal(status, 0);
}

/* proves: WRK-006 */
static void test_fork__open_store_and_worker__child_is_refused_and_parent_goes_on(void **state)
{
    const place *p = *state;
    scene s = {.path = p->path};
    void *frames[1];
    (void)backtrace(frames, 1); /* loads what it needs while that is safe */
    s.store = fault_store(p->path, "worker.poll_min_ms=1 worker.poll_max_ms=5");
    s.db = app_open(p->path);
    MUST_OK(wp_conn_borrow_sqlite(&s.conn, s.store, s.db, &must_err));
    s.worker = fault_worker(s.store, "t", count_one, &s.handled);
    s.puller = fault_worker(s.store, "pulled", NULL, NULL);
    MUST_OK(wp_worker_start(s.worker, 2, &must_err));
    (void)fault_enqueue(s.store, "pulled", "x");
    MUST_OK(wp_worker_next(&s.delivery, s.puller, PATIENCE_MS, &must_err));
    for (int i = 0; i < OPERATIONS; i++) {
        (void)fault_enqueue(s.store, "t", "x");
        if (i % (OPERATIONS / FORKS) == 0)
            fork_one(&s, i / (OPERATIONS / FORKS));
    }
    AWAIT(app_int(s.db, DONE) == OPERATIONS);
    assert_int_equal(atomic_load(&s.handled), OPERATIONS);
    MUST_OK(wp_delivery_finish(s.delivery, WP_OUTCOME_DONE, NULL, 0, &must_err));
    MUST_OK(wp_delivery_settle(s.delivery, PATIENCE_MS, &must_err));
    MUST_OK(wp_worker_stop(NULL, s.worker, PATIENCE_MS, &must_err));
    assert_int_equal(wp_worker_counter(s.worker, WP_COUNTER_ERRORS), 0);
    assert_int_equal(app_int(s.db, UNFINISHED), 0);
    wp_delivery_free(s.delivery);
    wp_worker_free(s.puller);
    wp_worker_free(s.worker);
    wp_conn_free(s.conn);
    (void)sqlite3_close(s.db);
    wp_store_close(s.store);
}

static void child_works(const place *p)
{
    wp_store *store = fault_store(p->path, "");
    for (int i = 0; i < 10; i++)
        (void)fault_enqueue(store, "t", "x");
    wp_store_close(store);
}

/* The way that works: the store is closed before the fork, or opened after it. */
/* proves: WRK-006 */
static void test_fork__store_was_closed_before__child_opens_its_own(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(p->path, "");
    (void)fault_enqueue(store, "t", "x");
    wp_store_close(store);
    for (int i = 0; i < 4; i++) {
        int status = 0;
        pid_t pid;
        (void)fflush(NULL);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            child_works(p);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_of(p->path, ALL), 41);
}

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DATABASE(test_fork__store_was_closed_before__child_opens_its_own),
        WITH_DATABASE(test_fork__open_store_and_worker__child_is_refused_and_parent_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, NULL, 0, suite);
}
