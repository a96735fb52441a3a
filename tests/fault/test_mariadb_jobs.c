/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs on MariaDB: schedulers that fight for rows with each other and with apps, deadlocks, locks that are held,
 * connections and processes that are killed. */
#include "fault.h"

#include "support/wpt_mariadb.h"

enum { KILLS = FAULT_ROUNDS(30), RUNS = FAULT_ROUNDS(100), SECONDS = 100 };
enum { NAP_US = 1500, KILL_WITHIN_US = 8000 };

typedef struct ground {
    place *place; /* for histories */
    char url[256];
    SQLHDBC dbc; /* sees what was committed */
    wp_clock *clock;
    wp_store *store;
    SQLHDBC app;
    wp_conn *conn; /* the app's, lent to the store */
} ground;

static int setup(void **state)
{
    ground *g = calloc(1, sizeof *g);
    assert_non_null(g);
    (void)place_setup((void **)&g->place);
    wpt_mariadb_name(g->url, sizeof g->url, "jobs");
    g->dbc = wpt_mariadb_create(g->url, sizeof g->url, "jobs");
    g->clock = wpt_clock();
    g->store = wpt_store(g->url, g->clock, NULL);
    wpt_mariadb_keep(g->url, "jobs");
    g->app = wpt_mariadb_connect(g->url);
    WPT_OK(wp_conn_borrow_odbc(&g->conn, g->store, g->app, WPT_ERR));
    *state = g;
    return 0;
}

static int teardown(void **state)
{
    ground *g = *state;
    wp_conn_free(g->conn);
    wpt_odbc_close(g->app);
    wp_store_close(g->store);
    wp_clock_free(g->clock);
    wpt_mariadb_release();
    (void)place_teardown((void **)&g->place);
    free(g);
    return 0;
}

/* ---- jobs --------------------------------------------------------------------------------- */

static wp_job *job_of(const char *name, const char *expression)
{
    wp_job *job = NULL;
    MUST_OK(wp_job_new(&job, name, "t", name, strlen(name), &must_err));
    MUST_OK(wp_job_set_schedule(job, expression, NULL, &must_err));
    MUST_OK(wp_job_set_misfire(job, WP_MISFIRE_FIRE, 3600000, 0, &must_err));
    return job;
}

static void put(ground *g, const char *name)
{
    wp_job *job = job_of(name, "* * * * * *");
    WPT_OK(wp_job_put(g->store, job, WPT_ERR));
    wp_job_free(job);
}

static int64_t number(ground *g, const char *sql)
{
    return wpt_odbc_number(g->dbc, sql);
}

static int64_t runs(ground *g)
{
    return number(g, "SELECT COUNT(*) FROM infra_job_run");
}

/* So many connections to this database wait for a lock. The server tells what it knew when it was asked last, if
 * that was less than 100 ms ago. */
static int64_t waiting(ground *g)
{
    fault_nap_us(150000);
    return number(g, "SELECT COUNT(*) FROM information_schema.innodb_trx AS t"
                     " JOIN information_schema.processlist AS p ON p.id = t.trx_mysql_thread_id"
                     " WHERE p.db = DATABASE() AND t.trx_state = 'LOCK WAIT'");
}

/* The jobs are due one second on, and a thread with a store of its own makes their runs. */
typedef struct scheduler {
    wp_store *store;
    wp__thread thread;
    size_t made;
    wp_status st;
    bool retriable;
} scheduler;

static void *schedule(void *arg)
{
    scheduler *s = arg;
    wp_error *err = NULL;
    s->st = wp_job_schedule_due(&s->made, s->store, &err);
    s->retriable = wp_error_retriable(err);
    wp_error_free(err);
    return NULL;
}

static void scheduler_start(scheduler *s, ground *g, const char *const *options)
{
    *s = (scheduler){.store = wpt_store(g->url, g->clock, options)};
    WPT_OK(wp__thread_start(&s->thread, "scheduler", schedule, s, WPT_ERR));
}

static void scheduler_join(scheduler *s)
{
    wp__thread_join(&s->thread);
    wp_store_close(s->store);
}

/* ---- apps' transactions ------------------------------------------------------------------- */

/* A deadlock while runs are made, with a job of two moved on: the server rolls all of it back, it is done again
 * from the start, and each occurrence has one run. */
/* proves: JOB-006 */
static void test_schedule__deadlock_with_an_app__is_made_again_and_once(void **state)
{
    ground *g = *state;
    scheduler s;
    put(g, "a");
    put(g, "b");
    wpt_advance_ms(g->clock, 1000);
    /* whoever has changed less is rolled back: not the app */
    wpt_odbc_exec(g->app, "CREATE TABLE much (n BIGINT PRIMARY KEY)");
    wpt_odbc_exec(g->app, "BEGIN");
    wpt_odbc_exec(g->app, "INSERT INTO much SELECT seq FROM seq_1_to_2000");
    wpt_odbc_exec(g->app, "UPDATE infra_job SET payload = 'changed' WHERE name = 'b'");
    scheduler_start(&s, g, NULL);
    WPT_AWAIT(waiting(g) == 1); /* it has a, and wants b */
    wpt_odbc_exec(g->app, "UPDATE infra_job SET payload = 'changed' WHERE name = 'a'");
    assert_int_equal(runs(g), 0);
    wpt_odbc_exec(g->app, "COMMIT");
    scheduler_join(&s);
    assert_int_equal(s.st, WP_OK);
    assert_int_equal(s.made, 2);
    assert_int_equal(runs(g), 2);
    assert_int_equal(number(g, "SELECT COUNT(*) FROM infra_job_run WHERE payload = 'changed'"), 2);
    assert_int_equal(number(g, "SELECT COUNT(*) FROM infra_job_run_work"), 2);
    assert_int_equal(number(g, "SELECT SUM(version) FROM infra_job"), 4);
}

/* A statement that waits, on a connection of another app's. */
typedef struct rival {
    SQLHDBC dbc;
    const char *sql;
    wp__thread thread;
} rival;

static void *rival_main(void *arg)
{
    rival *r = arg;
    wpt_odbc_exec(r->dbc, r->sql);
    return NULL;
}

/* The same, and the app is the one that is rolled back: its call says so, and all that it did is gone. */
static void test_delete__deadlock_in_the_apps_transaction__is_retriable_and_undoes_all(void **state)
{
    ground *g = *state;
    rival r = {.dbc = wpt_mariadb_connect(g->url),
               .sql = "UPDATE infra_job SET payload = 'rival' WHERE name = 'b'"};
    put(g, "a");
    put(g, "b");
    wpt_odbc_exec(g->app, "CREATE TABLE orders (n INTEGER)");
    wpt_odbc_exec(g->app, "CREATE TABLE much (n BIGINT PRIMARY KEY)");
    wpt_odbc_exec(r.dbc, "BEGIN");
    wpt_odbc_exec(r.dbc, "INSERT INTO much SELECT seq FROM seq_1_to_2000");
    wpt_odbc_exec(r.dbc, "UPDATE infra_job SET payload = 'rival' WHERE name = 'a'");
    wpt_odbc_exec(g->app, "BEGIN");
    wpt_odbc_exec(g->app, "INSERT INTO orders VALUES (1)");
    WPT_OK(wp_job_delete_in(NULL, g->store, g->conn, "b", WPT_ERR));
    WPT_OK(wp__thread_start(&r.thread, "rival", rival_main, &r, WPT_ERR));
    WPT_AWAIT(waiting(g) == 1);
    WPT_STATUS(wp_job_delete_in(NULL, g->store, g->conn, "a", WPT_ERR), WP_E_UNAVAILABLE);
    assert_true(wpt_last_retriable());
    wp__thread_join(&r.thread);
    wpt_odbc_exec(r.dbc, "COMMIT");
    wpt_odbc_exec(g->app, "COMMIT"); /* there is nothing left to be committed */
    assert_int_equal(number(g, "SELECT COUNT(*) FROM infra_job WHERE payload = 'rival'"), 2);
    assert_int_equal(number(g, "SELECT COUNT(*) FROM orders"), 0);
    wpt_odbc_exec(g->app, "BEGIN");
    WPT_OK(wp_job_delete_in(NULL, g->store, g->conn, "b", WPT_ERR));
    WPT_OK(wp_job_delete_in(NULL, g->store, g->conn, "a", WPT_ERR));
    wpt_odbc_exec(g->app, "COMMIT");
    assert_int_equal(number(g, "SELECT COUNT(*) FROM infra_job"), 0);
    wpt_odbc_close(r.dbc);
}

/* A job that an app is deleting gets no more runs, and no deadlock comes of it, under REPEATABLE READ too. */
/* proves: JOB-002 */
static void test_delete__in_the_apps_transaction__holds_schedulers_up_until_it_ends(void **state)
{
    ground *g = *state;
    scheduler s;
    wp_id triggered;
    put(g, "a");
    WPT_OK(wp_job_trigger(&triggered, g->store, "a", WPT_ERR));
    wpt_advance_ms(g->clock, 1000);
    for (int i = 0; i < 2; i++) { /* rolled back, and committed */
        wpt_odbc_exec(g->app, "BEGIN");
        (void)wpt_odbc_number(g->app, "SELECT COUNT(*) FROM infra_job_run"); /* what it sees */
        WPT_OK(wp_job_delete_in(NULL, g->store, g->conn, "a", WPT_ERR));
        scheduler_start(&s, g, NULL);
        WPT_AWAIT(waiting(g) == 1);
        wpt_odbc_exec(g->app, i ? "COMMIT" : "ROLLBACK");
        scheduler_join(&s);
        assert_int_equal(s.st, WP_OK);
        assert_int_equal(s.made, i ? 0 : 1);
        assert_int_equal(runs(g), i ? 0 : 2);
        assert_int_equal(number(g, "SELECT COUNT(*) FROM infra_job_run_work"), i ? 0 : 2);
        wpt_advance_ms(g->clock, 1000);
    }
    assert_int_equal(number(g, "SELECT COUNT(*) FROM infra_job"), 0);
}

/* A trigger in a long transaction of the app's holds nobody up. */
static void test_trigger__in_the_apps_transaction__waits_for_nobody_and_nobody_for_it(void **state)
{
    ground *g = *state;
    size_t made = 0;
    wp_claim *claim = NULL;
    wp_job *job = job_of("b", "@daily");
    const wp_id owner = wpt_owner(1);
    put(g, "a");
    wpt_odbc_exec(g->app, "SET innodb_lock_wait_timeout = 1");
    wpt_odbc_exec(g->app, "BEGIN");
    WPT_OK(wp_job_trigger_in(NULL, g->store, g->conn, "a", WPT_ERR));
    WPT_OK(wp_job_put_in(g->store, g->conn, job, WPT_ERR));
    wpt_advance_ms(g->clock, 1000);
    WPT_OK(wp_job_schedule_due(&made, g->store, WPT_ERR));
    assert_int_equal(made, 1);
    WPT_OK(wp_job_run_claim(&claim, g->store, &owner, NULL, 0, 10, 60000, WPT_ERR));
    assert_int_equal(wp_claim_count(claim), 1);
    WPT_OK(wp_job_run_ack(NULL, g->store, NULL, &owner, wp_received_id(wp_claim_at(claim, 0)), NULL,
                          1, NULL, WPT_ERR));
    WPT_OK(wp_job_run_purge(NULL, g->store, 0, WPT_ERR));
    assert_int_equal(runs(g), 0);
    wpt_odbc_exec(g->app, "COMMIT");
    assert_int_equal(runs(g), 1);
    wp_claim_free(claim);
    wp_job_free(job);
}

/* ---- locks and connections ---------------------------------------------------------------- */

static void test_schedule__lock_wait_timeout__is_retriable_and_makes_nothing(void **state)
{
    ground *g = *state;
    scheduler s;
    size_t made = 0;
    put(g, "a");
    put(g, "b");
    wpt_advance_ms(g->clock, 1000);
    wpt_odbc_exec(g->app, "BEGIN");
    (void)wpt_odbc_number(g->app, "SELECT seq FROM infra_job WHERE name = 'b' FOR UPDATE");
    scheduler_start(
        &s, g, WPT_OPTIONS("store.busy_timeout_ms", "100", "store.response_timeout_ms", "1000"));
    scheduler_join(&s);
    assert_int_equal(s.st, WP_E_UNAVAILABLE);
    assert_true(s.retriable);
    assert_int_equal(runs(g), 0);
    assert_int_equal(number(g, "SELECT SUM(version) FROM infra_job"), 2);
    wpt_odbc_exec(g->app, "ROLLBACK");
    WPT_OK(wp_job_schedule_due(&made, g->store, WPT_ERR));
    assert_int_equal(made, 2);
}

/* Kill a connection to the database that is neither of the two that may be there; false: there was none. */
static bool kill_connection(ground *g, const char *which)
{
    SQLHSTMT statement = SQL_NULL_HSTMT;
    char sql[400];
    int64_t id;
    (void)snprintf(sql, sizeof sql,
                   "SELECT COALESCE(MAX(p.id), 0) FROM information_schema.processlist AS p"
                   " LEFT JOIN information_schema.innodb_trx AS t ON t.trx_mysql_thread_id = p.id"
                   " WHERE p.db = DATABASE() AND p.id NOT IN (CONNECTION_ID(), %lld) AND %s",
                   (long long)wpt_odbc_number(g->app, "SELECT CONNECTION_ID()"), which);
    id = number(g, sql);
    (void)snprintf(sql, sizeof sql, "KILL %lld", (long long)id);
    assert_int_equal(SQLAllocHandle(SQL_HANDLE_STMT, g->dbc, &statement), SQL_SUCCESS);
    (void)SQLExecDirect(statement, (SQLCHAR *)sql, SQL_NTS); /* it may be gone by now */
    (void)SQLFreeHandle(SQL_HANDLE_STMT, statement);
    return id != 0;
}

/* The connection dies when a job was moved on and has its run, and another one is to follow. */
/* proves: JOB-006 */
static void
test_schedule__connection_killed_between_two_statements__is_made_again_and_once(void **state)
{
    ground *g = *state;
    scheduler s;
    put(g, "a");
    put(g, "b");
    wpt_advance_ms(g->clock, 1000);
    for (int i = 0; i < 5; i++) {
        const int64_t before = runs(g);
        wpt_odbc_exec(g->app, "BEGIN");
        (void)wpt_odbc_number(g->app, "SELECT seq FROM infra_job WHERE name = 'b' FOR UPDATE");
        scheduler_start(&s, g, NULL);
        for (int k = 0; k < 2; k++) {
            WPT_AWAIT(waiting(g) == 1);
            assert_true(kill_connection(g, "t.trx_state = 'LOCK WAIT'"));
            assert_int_equal(runs(g), before);
        }
        WPT_AWAIT(waiting(g) == 1);
        wpt_odbc_exec(g->app, "ROLLBACK");
        scheduler_join(&s);
        assert_int_equal(s.st, WP_OK);
        assert_int_equal(s.made, 2);
        assert_int_equal(runs(g), before + 2);
        wpt_advance_ms(g->clock, 1000);
    }
    assert_int_equal(number(g, "SELECT COUNT(DISTINCT job_id, occurrence_at) FROM infra_job_run"),
                     10);
}

/* ---- processes ---------------------------------------------------------------------------- */

/* A lease is over soon, is looked for at once, and never uses the run up. */
static const char brief[] =
    "worker.job_lease_ms=300 worker.reap_ms=10 worker.poll_min_ms=1 worker.poll_max_ms=5 "
    "worker.batch_size=4 worker.backoff_base_ms=1 worker.backoff_max_ms=1 "
    "worker.max_attempts=1000000";

/* `argument` is where its history is. */
static int play_worker(const char *url, const char *argument)
{
    wp_store *store = fault_store(url, brief);
    fault_handling h = {
        .store = store, .path = url, .history = history_open(argument), .work_us = NAP_US};
    wp_worker *worker = NULL;
    MUST_OK(wp_worker_new(&worker, store, NULL, &must_err));
    MUST_OK(wp_worker_handle(worker, WP_SOURCE_JOB, "t", fault_handle, &h, NULL, &must_err));
    parent_tell();
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    parent_await_end();
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wp_store_close(store);
    return 0;
}

#define UNFINISHED_RUNS "SELECT COUNT(*) FROM infra_job_run_work"

/* No claim was handled twice, and those of each run came one after the other. */
static void check_claims(const char *path, int total)
{
    int64_t *last = calloc((size_t)total, sizeof *last);
    size_t count = 0;
    event *events = history_read(&count, path);
    assert_non_null(last);
    for (size_t i = 0; i < count; i++) {
        assert_in_range(events[i].number, 0, total - 1);
        assert_true(events[i].claim > last[events[i].number]);
        last[events[i].number] = events[i].claim;
    }
    for (int i = 0; i < total; i++)
        assert_true(last[i] > 0);
    free(events);
    free(last);
}

/* Workers and connections are killed while they handle runs: none is lost, none ends twice. */
/* proves: JOB-009, JOB-015 */
static void test_workers_killed__in_the_middle_of_runs__none_is_lost_or_ends_twice(void **state)
{
    ground *g = *state;
    wp_store *store = fault_store(g->url, "");
    child worker, last;
    for (int i = 0; i < RUNS; i++) {
        char name[16];
        wp_job *job;
        (void)snprintf(name, sizeof name, "%d", i);
        job = job_of(name, "@yearly");
        MUST_OK(wp_job_put(store, job, &must_err));
        MUST_OK(wp_job_trigger(NULL, store, name, &must_err));
        wp_job_free(job);
    }
    for (int i = 0; i < KILLS; i++) {
        worker = child_start("worker", g->url, g->place->path);
        MUST(child_hear(&worker));
        if (number(g, UNFINISHED_RUNS) > 0 && fault_random(2))
            MUST(child_hear(&worker)); /* one is being handled */
        fault_nap_us(fault_random(KILL_WITHIN_US));
        (void)kill_connection(g, "TRUE");
        fault_nap_us(fault_random(KILL_WITHIN_US));
        child_kill(&worker);
    }
    last = child_start("worker", g->url, g->place->path);
    AWAIT(number(g, UNFINISHED_RUNS) == 0);
    assert_ended_well(&last);
    check_claims(g->place->path, RUNS);
    assert_int_equal(runs(g), RUNS);
    assert_int_equal(number(g, "SELECT COUNT(*) FROM infra_job_run_finished WHERE status = 2"),
                     RUNS);
    assert_int_equal(
        number(g, "SELECT COUNT(*) FROM infra_job_run_finished WHERE claim_number < attempt + 1"),
        0);
    wp_store_close(store);
}

/* Again where a COMMIT's answer was lost: what was made is not made twice. */
static void schedule_due(wp_store *store)
{
    wp_error *err = NULL;
    wp_status st;
    while ((st = wp_job_schedule_due(NULL, store, &err)) == WP_E_UNAVAILABLE) {
        wp_error_free(err);
        err = NULL;
    }
    MUST(st == WP_OK);
}

/* A scheduler whose clock begins at the start and goes on by a second at a time. */
static int play_scheduler(const char *url, const char *argument)
{
    wp_config *config = fault_config(url, "");
    wp_store *store = NULL;
    wp_clock *clock = NULL;
    (void)argument;
    MUST_OK(wp_clock_new_manual(&clock, WPT_START_US, &must_err));
    MUST_OK(wp_config_set_clock(config, clock, &must_err));
    MUST_OK(wp_store_open(&store, config, &must_err));
    parent_tell();
    for (int i = 0; i <= SECONDS; i++) {
        schedule_due(store);
        MUST_OK(wp_clock_advance_us(clock, WPT_SECOND_US, &must_err));
        fault_nap_us(fault_random(NAP_US));
    }
    parent_await_end();
    wp_store_close(store);
    wp_clock_free(clock);
    wp_config_free(config);
    return 0;
}

/* Three schedulers race for each occurrence, and processes and connections are killed: never more than one
 * run of each, and none is left out. */
/* proves: JOB-006, JOB-007 */
static void test_schedulers_killed__at_any_moment__make_the_planned_runs(void **state)
{
    ground *g = *state;
    child schedulers[3];
    put(g, "a");
    put(g, "b");
    for (int i = 0; i < 3; i++) {
        schedulers[i] = child_start("scheduler", g->url, "");
        MUST(child_hear(&schedulers[i]));
    }
    for (int i = 0; i < KILLS; i++) {
        child *c = &schedulers[fault_random(3)];
        (void)kill_connection(g, "TRUE");
        fault_nap_us(fault_random(KILL_WITHIN_US));
        child_kill(c);
        assert_int_equal(
            number(g, "SELECT COUNT(*) FROM (SELECT COUNT(*) AS n, MAX(occurrence_at) AS last "
                      "FROM infra_job_run GROUP BY job_id) AS j "
                      "WHERE n <> (last - 1800000000000000) / 1000000"),
            0);
        *c = child_start("scheduler", g->url, "");
        MUST(child_hear(c));
    }
    for (int i = 0; i < 3; i++)
        assert_ended_well(&schedulers[i]);
    assert_int_equal(runs(g), 2 * SECONDS);
    assert_int_equal(number(g, "SELECT COUNT(DISTINCT job_id, occurrence_at) FROM infra_job_run"),
                     2 * SECONDS);
}

static int suite(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_schedule__deadlock_with_an_app__is_made_again_and_once),
        TEST(test_delete__deadlock_in_the_apps_transaction__is_retriable_and_undoes_all),
        TEST(test_delete__in_the_apps_transaction__holds_schedulers_up_until_it_ends),
        TEST(test_trigger__in_the_apps_transaction__waits_for_nobody_and_nobody_for_it),
        TEST(test_schedule__lock_wait_timeout__is_retriable_and_makes_nothing),
        TEST(test_schedule__connection_killed_between_two_statements__is_made_again_and_once),
        TEST(test_workers_killed__in_the_middle_of_runs__none_is_lost_or_ends_twice),
        TEST(test_schedulers_killed__at_any_moment__make_the_planned_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    static const role roles[] = {{"worker", play_worker}, {"scheduler", play_scheduler}};
    return fault_main(argc, argv, roles, sizeof roles / sizeof roles[0], suite);
}
