/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that are killed, or kill themselves, at any moment. */
#include "fault.h"

#include <signal.h>
#include <sys/wait.h>

enum { ROUNDS = FAULT_ROUNDS(100), BATCH = 5, HANDLE_US = 1500, KILL_WITHIN_US = 2000 };

/* A lease is over soon, is looked for at once, and never uses the message up. */
static const char brief[] =
    "worker.lease_ms=100 worker.reap_ms=10 worker.poll_min_ms=1 worker.poll_max_ms=5 "
    "worker.batch_size=4 worker.backoff_base_ms=1 worker.backoff_max_ms=1 "
    "worker.max_attempts=1000000";

static int history;

/* ---- the worker is killed ----------------------------------------------------------------- */

static int play_worker(const char *path, const char *topic)
{
    wp_store *store = fault_store(path, brief);
    fault_handling h = {
        .store = store, .path = path, .history = history_open(path), .work_us = HANDLE_US};
    wp_worker *worker = fault_worker(
        store, topic, strcmp(topic, "once") == 0 ? fault_handle_once : fault_handle, &h);
    parent_tell();
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    parent_await_end();
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wp_store_close(store);
    return 0;
}

/* Let a child work on up to three messages more, and kill it a random time later. */
static void kill_soon(child *c)
{
    for (unsigned i = fault_random(4); i > 0; i--)
        MUST(child_hear(c));
    fault_nap_us(fault_random(KILL_WITHIN_US));
    child_kill(c);
}

/* Kill a worker in every round while it works. Returns how many died with claims in hand. */
static int kill_workers(const char *path, const char *topic)
{
    wp_store *store = fault_store(path, "");
    int held = 0;
    for (int round = 0; round < ROUNDS; round++) {
        child worker;
        for (int i = 0; i < BATCH; i++) {
            char number[16];
            (void)snprintf(number, sizeof number, "%d", round * BATCH + i);
            (void)fault_enqueue(store, topic, number);
        }
        worker = child_start("worker", path, topic);
        MUST(child_hear(&worker));
        kill_soon(&worker);
        held += count_of(path, HELD) > 0;
    }
    wp_store_close(store);
    return held;
}

/* Each message was handled at least once; each claim of it at most once, in the order of their
 * numbers; and the claim that finished it is the last one that was handled. */
static void check_history(const char *path, int total)
{
    sqlite3 *db = app_open(path);
    int64_t *last = calloc((size_t)total, sizeof *last);
    size_t count = 0;
    event *events = history_read(&count, path);
    assert_non_null(last);
    for (size_t i = 0; i < count; i++) {
        assert_in_range(events[i].number, 0, total - 1);
        assert_true(events[i].claim > last[events[i].number]);
        last[events[i].number] = events[i].claim;
    }
    for (int i = 0; i < total; i++) {
        char query[160];
        (void)snprintf(query, sizeof query,
                       "SELECT f.claim_number FROM infra_outbox_finished f JOIN infra_outbox m "
                       "USING (seq) WHERE f.status = 2 AND m.payload = '%d'",
                       i);
        assert_true(last[i] > 0);
        assert_int_equal(app_int(db, query), last[i]);
    }
    assert_int_equal(app_int(db, ALL), total);
    assert_int_equal(app_int(db, DONE), total);
    assert_int_equal(app_int(db, UNFINISHED), 0);
    (void)sqlite3_close(db);
    free(events);
    free(last);
}

static void work_off(const char *path, const char *topic)
{
    child worker = child_start("worker", path, topic);
    AWAIT(count_of(path, UNFINISHED) == 0);
    assert_ended_well(&worker);
}

/* proves: OBX-017, OBX-024, OBX-030, OBX-035, OBX-049..051, OBX-053, OBX-058 */
static void test_worker_killed__between_claim_and_ack__each_message_is_finished_once(void **state)
{
    const place *p = *state;
    const int held = kill_workers(p->path, "any");
    work_off(p->path, "any");
    check_history(p->path, ROUNDS * BATCH);
    assert_true(held >= ROUNDS / 4); /* or the kills came at the wrong moments */
}

/* proves: OBX-113, OBX-114 */
static void test_worker_killed__effects_in_the_apps_transaction__happen_exactly_once(void **state)
{
    const place *p = *state;
    sqlite3 *db = app_open(p->path);
    int held;
    app_exec(db, "CREATE TABLE effects (number INTEGER NOT NULL)");
    held = kill_workers(p->path, "once");
    work_off(p->path, "once");
    check_history(p->path, ROUNDS * BATCH);
    assert_int_equal(app_int(db, "SELECT count(*) FROM effects"), ROUNDS * BATCH);
    assert_int_equal(app_int(db, "SELECT count(DISTINCT number) FROM effects"), ROUNDS * BATCH);
    assert_true(held >= ROUNDS / 4);
    (void)sqlite3_close(db);
}

/* ---- a worker of two stores is killed ------------------------------------------------------ */

static int play_pair(const char *path, const char *other)
{
    wp_store *store = fault_store(path, brief), *beside;
    wp_config *config = fault_config(other, brief);
    fault_handling h = {
        .store = store, .path = path, .history = history_open(path), .work_us = HANDLE_US};
    wp_worker *worker = fault_worker(store, "any", fault_handle, &h);
    MUST_OK(wp_config_set(config, "store.id", "beside", &must_err));
    MUST_OK(wp_store_open(&beside, config, &must_err));
    MUST_OK(wp_worker_add_store(worker, beside, NULL, &must_err));
    parent_tell();
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    parent_await_end();
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wp_config_free(config);
    wp_store_close(beside);
    wp_store_close(store);
    return 0;
}

/* Each message of both stores is done; each claim of it was handled at most once. */
static void check_pair(const char *const *paths, int64_t total)
{
    int64_t *last = calloc((size_t)total, sizeof *last);
    size_t count = 0;
    event *events = history_read(&count, paths[0]);
    assert_non_null(last);
    for (size_t i = 0; i < count; i++) {
        assert_in_range(events[i].number, 0, total - 1);
        assert_true(events[i].claim > last[events[i].number]);
        last[events[i].number] = events[i].claim;
    }
    for (int64_t i = 0; i < total; i++)
        assert_true(last[i] > 0);
    assert_int_equal(count_of(paths[0], DONE) + count_of(paths[1], DONE), total);
    assert_int_equal(count_of(paths[0], UNFINISHED) + count_of(paths[1], UNFINISHED), 0);
    free(events);
    free(last);
}

/* proves: MDB-001 */
static void test_worker_of_two_stores_killed__each_message_of_both_is_finished(void **state)
{
    const place *p = *state;
    char other[128];
    const char *const paths[] = {p->path, other};
    wp_store *stores[2];
    child worker;
    int held = 0;
    (void)snprintf(other, sizeof other, "%s.beside", p->path);
    fault_deploy(other);
    for (int i = 0; i < 2; i++)
        stores[i] = fault_store(paths[i], "");
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2 * BATCH; i++) {
            char number[16];
            (void)snprintf(number, sizeof number, "%d", round * 2 * BATCH + i);
            (void)fault_enqueue(stores[i % 2], "any", number);
        }
        worker = child_start("pair", p->path, other);
        MUST(child_hear(&worker));
        kill_soon(&worker);
        held += count_of(paths[0], HELD) > 0 && count_of(paths[1], HELD) > 0;
    }
    worker = child_start("pair", p->path, other);
    AWAIT(count_of(paths[0], UNFINISHED) + count_of(paths[1], UNFINISHED) == 0);
    assert_ended_well(&worker);
    check_pair(paths, ROUNDS * 2 * BATCH);
    assert_true(held > 0); /* or the kills came at the wrong moments */
    for (int i = 0; i < 2; i++)
        wp_store_close(stores[i]);
}

/* ---- the app is killed -------------------------------------------------------------------- */

/* Note in a file that survives this process what became of an order. */
static void note(int fd, char what, int number)
{
    char line[32];
    int len = snprintf(line, sizeof line, "%c %d 0 0 0 -\n", what, number);
    MUST(write(fd, line, (size_t)len) == len);
}

/* Orders with their events, some of them rolled back, until it is killed. */
static int play_app(const char *path, const char *first)
{
    int number = atoi(first);
    wp_store *store = fault_store(path, "");
    sqlite3 *db = app_open(path);
    wp_conn *conn = NULL;
    MUST_OK(wp_conn_borrow_sqlite(&conn, store, db, &must_err));
    history = history_open(path);
    for (; getppid() != 1; number++) {
        char text[80];
        wp_message *message;
        wp_id id;
        (void)snprintf(text, sizeof text, "%d", number);
        message = fault_message("order", text);
        (void)snprintf(text, sizeof text, "INSERT INTO orders (number) VALUES (%d)", number);
        app_exec(db, "BEGIN IMMEDIATE");
        app_exec(db, text);
        MUST_OK(wp_outbox_enqueue(&id, NULL, store, conn, message, &must_err));
        fault_nap_us(fault_random(200));
        if (fault_random(4) == 0) {
            note(history, 'r', number);
            app_exec(db, "ROLLBACK");
        } else {
            app_exec(db, "COMMIT");
            note(history, 'c', number);
        }
        parent_tell();
        wp_message_free(message);
    }
    return 1;
}

static wp_outcome mark_order(wp_delivery *delivery, void *user)
{
    bool *handled = user;
    handled[atoi(wp_received_payload(NULL, wp_delivery_message(delivery)))] = true;
    return WP_OUTCOME_DONE;
}

enum { ORDERS_A_ROUND = 10000 };

static void check_orders(const char *path, const bool *handled)
{
    sqlite3 *db = app_open(path);
    size_t count = 0;
    size_t committed = 0;
    size_t rolled_back = 0;
    event *events = history_read(&count, path);
    assert_int_equal(app_int(db, "SELECT count(*) FROM infra_outbox m JOIN orders o "
                                 "ON o.number = CAST(m.payload AS INTEGER)"),
                     app_int(db, "SELECT count(*) FROM orders"));
    assert_int_equal(app_int(db, ALL), app_int(db, "SELECT count(*) FROM orders"));
    for (size_t i = 0; i < count; i++) {
        char query[80];
        bool there = events[i].what == 'c';
        (void)snprintf(query, sizeof query, "SELECT count(*) FROM orders WHERE number = %d",
                       (int)events[i].number);
        assert_int_equal(app_int(db, query), there);
        assert_int_equal(handled[events[i].number], there);
        committed += there;
        rolled_back += !there;
    }
    assert_true(committed >= (size_t)ROUNDS / 2 && rolled_back > 0);
    (void)sqlite3_close(db);
    free(events);
}

/* proves: OBX-001, OBX-003 */
static void test_app_killed__between_write_and_commit__orders_and_events_agree(void **state)
{
    const place *p = *state;
    sqlite3 *db = app_open(p->path);
    bool *handled = calloc((size_t)ROUNDS * ORDERS_A_ROUND, sizeof *handled);
    wp_store *store = fault_store(p->path, brief);
    wp_worker *worker = fault_worker(store, "order", mark_order, handled);
    size_t count = 0;
    assert_non_null(handled);
    app_exec(db, "CREATE TABLE orders (number INTEGER PRIMARY KEY)");
    for (int round = 0; round < ROUNDS; round++) {
        char first[16];
        child app;
        (void)snprintf(first, sizeof first, "%d", round * ORDERS_A_ROUND);
        app = child_start("app", p->path, first);
        MUST(child_hear(&app));
        kill_soon(&app);
    }
    MUST_OK(wp_worker_drain(&count, worker, PATIENCE_MS, &must_err));
    assert_int_equal(count, app_int(db, "SELECT count(*) FROM orders"));
    assert_int_equal(count, app_int(db, DONE));
    assert_int_equal(app_int(db, UNFINISHED), 0);
    check_orders(p->path, handled);
    assert_int_equal(app_int(db, "SELECT count(*) FROM pragma_integrity_check() "
                                 "WHERE integrity_check <> 'ok'"),
                     0);
    wp_worker_free(worker);
    wp_store_close(store);
    (void)sqlite3_close(db);
    free(handled);
}

/* ---- the handler kills its process -------------------------------------------------------- */

static const char three_tries[] =
    "worker.lease_ms=800 worker.reap_ms=10 worker.poll_min_ms=1 worker.poll_max_ms=5 "
    "worker.concurrency=1 worker.batch_size=1 worker.backoff_base_ms=20 worker.max_attempts=3";

static wp_outcome die_of_poison(wp_delivery *delivery, void *user)
{
    (void)user;
    if (strcmp(wp_received_payload(NULL, wp_delivery_message(delivery)), "0") == 0) {
        history_write(history, 'p', wp_delivery_message(delivery));
        abort();
    }
    return WP_OUTCOME_DONE;
}

static int play_victim(const char *path, const char *topic)
{
    wp_store *store = fault_store(path, three_tries);
    wp_worker *worker = fault_worker(store, topic, die_of_poison, NULL);
    history = history_open(path);
    MUST_OK(wp_worker_start(worker, 1, &must_err));
    parent_await_end();
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wp_store_close(store);
    return 0;
}

/* Start it again whenever it dies, each time with more work behind the poison, until all is done.
 * Returns how often it died. */
static int supervise(wp_store *store, const char *path)
{
    child victim = child_start("victim", path, "t");
    int deaths = 0;
    const int64_t give_up = fault_now_ms() + PATIENCE_MS;
    while (count_of(path, UNFINISHED) > 0) {
        int status = 0;
        MUST(fault_now_ms() < give_up);
        if (child_has_ended(&victim, &status)) {
            MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
            deaths++;
            (void)fault_enqueue(store, "t", "1");
            victim = child_start("victim", path, "t");
        }
        fault_nap_us(500);
    }
    MUST(child_end(&victim) == 0);
    return deaths;
}

/* proves: OBX-049, OBX-053, OBX-064 */
static void test_handler_aborts_the_process__max_attempts__is_failed_and_others_go_on(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(p->path, "");
    const wp_id poison = fault_enqueue(store, "t", "0");
    wp_outbox_info *info = NULL;
    int deaths;
    (void)fault_enqueue(store, "t", "1");
    deaths = supervise(store, p->path);
    assert_in_range(deaths, 1, 3);
    assert_int_equal(history_count(p->path, 'p'), deaths);
    MUST_OK(wp_outbox_get(&info, store, &poison, &must_err));
    assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_FAILED);
    assert_int_equal(wp_received_attempt(wp_outbox_info_message(info)), 3);
    assert_true(wp_received_claim_number(wp_outbox_info_message(info)) >= 3);
    assert_string_equal(wp_outbox_info_last_error(info), "lease expired");
    assert_int_equal(count_of(p->path, DONE), deaths + 1);
    assert_int_equal(count_of(p->path, FAILED), 1);
    wp_outbox_info_free(info);
    wp_store_close(store);
}

static const char five_tries[] =
    "worker.lease_ms=800 worker.reap_ms=10 worker.poll_min_ms=1 worker.poll_max_ms=5 "
    "worker.concurrency=8 worker.batch_size=50 worker.backoff_base_ms=1 worker.backoff_max_ms=1 "
    "worker.max_attempts=5";

static int play_crowd(const char *path, const char *topic)
{
    wp_store *store = fault_store(path, five_tries);
    wp_worker *worker = fault_worker(store, topic, die_of_poison, NULL);
    history = history_open(path);
    MUST_OK(wp_worker_start(worker, 8, &must_err));
    parent_await_end();
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wp_store_close(store);
    return 0;
}

/* proves: OBX-049, OBX-053, OBX-064 */
static void test_handler_aborts_the_process__neighbours__lose_one_attempt_and_no_more(void **state)
{
    enum { NEIGHBOURS = 30 };
    const place *p = *state;
    wp_store *store = fault_store(p->path, "");
    wp_id poison;
    wp_outbox_info *info = NULL;
    int deaths = 0;
    child crowd;
    for (int i = 0; i < NEIGHBOURS / 2; i++)
        (void)fault_enqueue(store, "t", "1");
    poison = fault_enqueue(store, "t", "0");
    for (int i = 0; i < NEIGHBOURS / 2; i++)
        (void)fault_enqueue(store, "t", "1");
    crowd = child_start("crowd", p->path, "t");
    while (count_of(p->path, UNFINISHED) > 0) {
        int status = 0;
        if (child_has_ended(&crowd, &status)) {
            MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
            MUST(++deaths <= 5);
            crowd = child_start("crowd", p->path, "t");
        }
        fault_nap_us(500);
    }
    assert_ended_well(&crowd);
    assert_int_equal(deaths, 5);
    MUST_OK(wp_outbox_get(&info, store, &poison, &must_err));
    assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_FAILED);
    assert_string_equal(wp_outbox_info_last_error(info), "lease expired");
    wp_outbox_info_free(info);
    assert_int_equal(count_of(p->path, DONE), NEIGHBOURS);
    assert_in_range(
        count_of(p->path, "SELECT max(attempt) FROM infra_outbox_finished WHERE status = 2"), 0, 1);
    wp_store_close(store);
}

/* Else a message that kills its worker would take its neighbours down with it every time. */
/* proves: OBX-051, OBX-061 */
static void test_reap__claims_that_ended_together__come_due_apart(void **state)
{
    enum { COUNT = 20 };
    const place *p = *state;
    wp_store *store = fault_store(p->path, "");
    wp_claim *claim = NULL;
    size_t reaped = 0;
    wp_id owner;
    wp_id_new(&owner);
    for (int i = 0; i < COUNT; i++)
        (void)fault_enqueue(store, "t", "x");
    MUST_OK(wp_outbox_claim(&claim, store, &owner, NULL, 0, COUNT, 1, &must_err));
    assert_int_equal(wp_claim_count(claim), COUNT);
    for (size_t total = 0; total < COUNT; total += reaped) /* once the lease is over */
        MUST_OK(wp_outbox_reap(&reaped, store, &must_err));
    assert_true(
        count_of(p->path, "SELECT count(DISTINCT next_attempt_at) FROM infra_outbox_work") >=
        COUNT / 2);
    wp_claim_free(claim);
    wp_store_close(store);
}

static const role roles[] = {{"worker", play_worker},
                             {"pair", play_pair},
                             {"app", play_app},
                             {"victim", play_victim},
                             {"crowd", play_crowd}};

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DATABASE(test_worker_killed__between_claim_and_ack__each_message_is_finished_once),
        WITH_DATABASE(test_worker_killed__effects_in_the_apps_transaction__happen_exactly_once),
        WITH_DATABASE(test_worker_of_two_stores_killed__each_message_of_both_is_finished),
        WITH_DATABASE(test_app_killed__between_write_and_commit__orders_and_events_agree),
        WITH_DATABASE(test_reap__claims_that_ended_together__come_due_apart),
        WITH_DATABASE(test_handler_aborts_the_process__neighbours__lose_one_attempt_and_no_more),
        WITH_DATABASE(test_handler_aborts_the_process__max_attempts__is_failed_and_others_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, roles, sizeof roles / sizeof roles[0], suite);
}
