/* SPDX-License-Identifier: Apache-2.0 */
/* Two workers and one message: whoever lost the lease is told, and changes nothing. */
#include "fault.h"

#include <signal.h>
#include <sys/wait.h>

enum { LONG_LEASES = 3 };

static const char fast[] = "worker.lease_ms=1000 worker.reap_ms=10 worker.poll_min_ms=1 "
                           "worker.poll_max_ms=5 worker.backoff_base_ms=1 worker.backoff_max_ms=1";

static int history;
static wp_store *the_store;
static const char *database;

/* 'l' in the history: refused because the lease was lost. */
static void note_refusal(wp_delivery *delivery, wp_status st)
{
    if (st == WP_OK)
        st = wp_delivery_settle(delivery, PATIENCE_MS, NULL);
    history_write(history, st == WP_E_LEASE_LOST ? 'l' : '?', wp_delivery_message(delivery));
}

static wp_status complete(wp_delivery *delivery)
{
    sqlite3 *db = app_open(database);
    wp_conn *conn = NULL;
    wp_status st;
    MUST_OK(wp_conn_borrow_sqlite(&conn, the_store, db, &must_err));
    app_exec(db, "BEGIN IMMEDIATE; INSERT INTO effects DEFAULT VALUES");
    st = wp_delivery_complete(delivery, conn, NULL);
    app_exec(db, st == WP_OK ? "COMMIT" : "ROLLBACK");
    wp_conn_free(conn);
    (void)sqlite3_close(db);
    return st;
}

/* Each message's number says how its outcome is tried after the lease was lost. */
enum { TRY_DONE, TRY_RETRY, TRY_REJECT, TRY_COMPLETE, TRIES };

/* Holds on until it is told that the lease is lost, then insists on an outcome. */
static wp_outcome insist(wp_delivery *delivery, void *user)
{
    static const wp_outcome outcomes[] = {WP_OUTCOME_DONE, WP_OUTCOME_RETRY, WP_OUTCOME_REJECT};
    const int number = atoi(wp_received_payload(NULL, wp_delivery_message(delivery)));
    (void)user;
    history_write(history, 'b', wp_delivery_message(delivery));
    AWAIT(wp_delivery_cancelled(delivery) == WP_CANCEL_LEASE_LOST);
    history_write(history, 't', wp_delivery_message(delivery));
    if (number == TRY_COMPLETE)
        note_refusal(delivery, complete(delivery));
    else
        note_refusal(delivery, wp_delivery_finish(delivery, outcomes[number], "too late", 0, NULL));
    return WP_OUTCOME_DONE;
}

static wp_outcome take_over(wp_delivery *delivery, void *user)
{
    (void)user;
    history_write(history, 'o', wp_delivery_message(delivery));
    return WP_OUTCOME_DONE;
}

/* Lasts for several leases; renewed, it is not taken by the other. */
static wp_outcome work_long(wp_delivery *delivery, void *user)
{
    const int64_t until = fault_now_ms() + LONG_LEASES * 1000;
    (void)user;
    history_write(history, 'b', wp_delivery_message(delivery));
    while (fault_now_ms() < until)
        continue; /* never yields */
    history_write(history, 'e', wp_delivery_message(delivery));
    return WP_OUTCOME_DONE;
}

static int play(const char *path, const char *name, wp_handler_fn fn, int64_t lost, int64_t acked)
{
    char options[256];
    wp_worker *worker;
    bool right;
    (void)snprintf(options, sizeof options, "%s worker.name=%s", fast, name);
    the_store = fault_store(path, options);
    database = path;
    worker = fault_worker(the_store, "t", fn, NULL);
    history = history_open(path);
    MUST_OK(wp_worker_start(worker, TRIES, &must_err));
    parent_tell();
    parent_await_end();
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    right = wp_worker_counter(worker, WP_COUNTER_ACKED) == acked &&
            (lost ? wp_worker_counter(worker, WP_COUNTER_LEASES_LOST) > 0
                  : wp_worker_counter(worker, WP_COUNTER_LEASES_LOST) == 0) &&
            wp_worker_counter(worker, WP_COUNTER_ABANDONED) == 0 &&
            wp_worker_counter(worker, WP_COUNTER_FAILED) == 0;
    for (int i = 0; i <= WP_COUNTER_ERRORS && !right; i++)
        (void)fprintf(stderr, "%s: counter %d is %d\n", name, i,
                      (int)wp_worker_counter(worker, (wp_counter)i));
    wp_worker_free(worker);
    wp_store_close(the_store);
    return !right;
}

static int play_first(const char *path, const char *argument)
{
    (void)argument;
    return play(path, "first", insist, 1, 0);
}

static int play_second(const char *path, const char *argument)
{
    (void)argument;
    return play(path, "second", take_over, 0, TRIES);
}

static int play_long(const char *path, const char *argument)
{
    (void)argument;
    return play(path, "long", work_long, 0, 1);
}

static int play_idle(const char *path, const char *argument)
{
    (void)argument;
    return play(path, "idle", take_over, 0, 0);
}

static void enqueue_numbers(const char *path, int count)
{
    wp_store *store = fault_store(path, "");
    for (int i = 0; i < count; i++) {
        char number[16];
        (void)snprintf(number, sizeof number, "%d", i);
        (void)fault_enqueue(store, "t", number);
    }
    wp_store_close(store);
}

/* proves: OBX-019, OBX-033, OBX-040, OBX-046, OBX-113..115 */
static void test_frozen_worker__taken_over_and_thawed__is_told_and_changes_nothing(void **state)
{
    const place *p = *state;
    sqlite3 *db = app_open(p->path);
    child first, second;
    app_exec(db, "CREATE TABLE effects (number INTEGER PRIMARY KEY)");
    enqueue_numbers(p->path, TRIES);
    first = child_start("first", p->path, "");
    AWAIT(history_count(p->path, 'b') == TRIES);
    assert_int_equal(kill(first.pid, SIGSTOP), 0);
    second = child_start("second", p->path, "");
    AWAIT(app_int(db, DONE) == TRIES);
    assert_int_equal(history_count(p->path, 't'), 0);
    assert_int_equal(kill(first.pid, SIGCONT), 0);
    AWAIT(history_count(p->path, 'l') + history_count(p->path, '?') == TRIES);
    assert_ended_well(&first);
    assert_ended_well(&second);
    assert_int_equal(history_count(p->path, 't'), TRIES);
    assert_int_equal(history_count(p->path, 'l'), TRIES);
    assert_int_equal(history_count(p->path, 'o'), TRIES);
    assert_int_equal(app_int(db, "SELECT count(*) FROM effects"), 0);
    assert_int_equal(app_int(db,
                             "SELECT count(*) FROM infra_outbox_finished WHERE status = 2 "
                             "AND finished_by = 'second' AND claim_number >= 2 AND attempt >= 1"),
                     TRIES);
    assert_int_equal(app_int(db, UNFINISHED), 0);
    (void)sqlite3_close(db);
}

/* proves: OBX-059, OBX-084, OBX-115 */
static void test_long_handler__second_worker_polls__runs_once(void **state)
{
    const place *p = *state;
    child first, second;
    enqueue_numbers(p->path, 1);
    first = child_start("long", p->path, "");
    AWAIT(history_count(p->path, 'b') == 1);
    second = child_start("idle", p->path, "");
    AWAIT(count_of(p->path, DONE) == 1);
    assert_ended_well(&first);
    assert_ended_well(&second);
    assert_int_equal(history_count(p->path, 'b'), 1);
    assert_int_equal(history_count(p->path, 'e'), 1);
    assert_int_equal(history_count(p->path, 'o'), 0);
    assert_int_equal(count_of(p->path, "SELECT max(claim_number) FROM infra_outbox_finished"), 1);
}

static const role roles[] = {
    {"first", play_first}, {"second", play_second}, {"long", play_long}, {"idle", play_idle}};

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DATABASE(test_frozen_worker__taken_over_and_thawed__is_told_and_changes_nothing),
        WITH_DATABASE(test_long_handler__second_worker_polls__runs_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, roles, sizeof roles / sizeof roles[0], suite);
}
