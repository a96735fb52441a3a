/* SPDX-License-Identifier: Apache-2.0 */
/* A PostgreSQL server of this program's own that crashes and is restarted, connections that are
 * killed, a pgbouncer that is killed: under load, and in the middle of everything. */
#include "pg.h"

#include <stdatomic.h>

#include "base/thread.h"
#include "own_server.h"
#include "support/wpt_odbc.h"

enum { PRODUCERS = 2, WORKERS = 2, THREADS = 3, EACH = FAULT_ROUNDS(300), CRASHES = 3 };

/* Leases outlast a crash; whatever fails is tried again at once. */
static const char options[] =
    "worker.lease_ms=60000 worker.reap_ms=50 worker.poll_min_ms=1 "
    "worker.poll_max_ms=50 worker.backoff_base_ms=1 worker.backoff_max_ms=20 "
    "worker.max_attempts=1000000 worker.concurrency=3 store.busy_timeout_ms=20000";

/* ---- the app ------------------------------------------------------------------------------ */

typedef struct producer {
    wp_store *store;
    const char *url;
    PGconn *pg;
    int first;
    wp__thread thread;
} producer;

static void reconnect(producer *p)
{
    const int64_t give_up = fault_now_ms() + PATIENCE_MS;
    while (PQstatus(p->pg) != CONNECTION_OK || !pg_try(p->pg, "SELECT 1")) {
        MUST(fault_now_ms() < give_up);
        fault_nap_us(5000);
        PQfinish(p->pg);
        p->pg = PQconnectdb(p->url);
    }
}

static bool enqueue_lent(producer *p, const wp_message *message)
{
    wp_conn *conn = pg_lend(p->store, p->pg);
    wp_error *err = NULL;
    wp_id id;
    wp_status st = wp_outbox_enqueue(&id, NULL, p->store, conn, message, &err);
    if (st != WP_OK && !wp_error_retriable(err))
        fault_die(__FILE__, __LINE__, wp_error_message(err));
    wp_error_free(err);
    wp_conn_free(conn);
    return st == WP_OK;
}

static bool is_ordered(producer *p, int number)
{
    int64_t count;
    do {
        reconnect(p);
        count = pg_try_number(p->pg, "SELECT count(*) FROM orders WHERE number = %d", number);
    } while (count < 0);
    return count == 1;
}

/* An order and its message in one transaction, of which every fourth is rolled back. What became of a
 * COMMIT that was not answered can be seen by the order. */
static void order(producer *p, int number, const wp_message *message)
{
    for (bool done = false; !done;) {
        reconnect(p);
        if (!pg_try(p->pg, "BEGIN") || !pg_try(p->pg, "INSERT INTO orders VALUES (%d)", number) ||
            !enqueue_lent(p, message)) {
            (void)pg_try(p->pg, "ROLLBACK");
            continue;
        }
        done = pg_try(p->pg, number % 4 == 0 ? "ROLLBACK" : "COMMIT") || number % 4 == 0;
        if (!done)
            done = is_ordered(p, number);
    }
}

/* A message without a transaction of the app's: it is stored or not, or the error says that this is not
 * known. */
static void enqueue_alone(producer *p, int number, const wp_message *message)
{
    for (bool done = false; !done;) {
        wp_error *err = NULL;
        wp_id id;
        done = wp_outbox_enqueue(&id, NULL, p->store, NULL, message, &err) == WP_OK;
        if (!done && !wp_error_retriable(err))
            fault_die(__FILE__, __LINE__, wp_error_message(err));
        while (!done && wp_error_outcome_unknown(err)) {
            reconnect(p);
            done = pg_try(p->pg, "INSERT INTO unsure VALUES (%d)", number);
        }
        wp_error_free(err);
    }
}

static void *produce(void *arg)
{
    producer *p = arg;
    p->pg = PQconnectdb(p->url);
    for (int number = p->first; number < p->first + EACH; number++) {
        char text[16];
        wp_message *message;
        (void)snprintf(text, sizeof text, "%d", number);
        message = fault_message("t", text);
        if (number % 5 == 0)
            enqueue_alone(p, number, message);
        else
            order(p, number, message);
        wp_message_free(message);
    }
    PQfinish(p->pg);
    return NULL;
}

/* ---- what goes wrong ---------------------------------------------------------------------- */

/* Some of those that are connected to the database, but not its own connection. */
static void kill_some(const char *url, unsigned rounds)
{
    PGconn *pg = PQconnectdb(url);
    for (unsigned i = 0; i < rounds && PQstatus(pg) == CONNECTION_OK; i++) {
        (void)pg_try(pg,
                     "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
                     "current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1");
        fault_nap_us(fault_random(20000));
    }
    PQfinish(pg);
}

static void crash(const char *url)
{
    kill_some(url, 30);
    own_server_do("restart");
}

static void kill_pgbouncer(const char *url)
{
    (void)url;
    fault_nap_us(fault_random(500000));
    own_server_do("restart-pgbouncer");
}

/* ---- all of it ---------------------------------------------------------------------------- */

/* What was committed was handled, once, and what was rolled back was not. */
static void check_outcome(const pg_place *p, const char *path)
{
    pg_check_history(path, PRODUCERS * EACH);
    pg_exec(p->db,
            "INSERT INTO orders SELECT n FROM generate_series(0, %d, 5) AS n WHERE n NOT IN "
            "(SELECT number FROM unsure)",
            PRODUCERS * EACH - 1);
    assert_int_equal(pg_number(p->db, "SELECT count(*) FROM orders WHERE number::text NOT IN "
                                      "(SELECT payload FROM infra.outbox)"),
                     0);
    assert_int_equal(
        pg_number(p->db, "SELECT count(*) FROM infra.outbox WHERE payload NOT IN "
                         "(SELECT number::text FROM orders UNION SELECT number::text FROM unsure)"),
        0);
    assert_int_equal(
        pg_number(p->db, "SELECT count(payload) - count(DISTINCT payload) FROM infra.outbox"), 0);
    /* each message has had its effect, and just one */
    assert_int_equal(
        pg_number(p->db,
                  "SELECT count(*) FROM ((SELECT payload FROM infra.outbox EXCEPT ALL SELECT "
                  "number::text FROM effects) UNION ALL (SELECT number::text FROM effects "
                  "EXCEPT ALL SELECT payload FROM infra.outbox)) AS other"),
        0);
    assert_int_equal(pg_number(p->db, PG_DONE), pg_number(p->db, PG_ALL));
}

/* A store by `url` under load, while `strike` strikes again and again. */
static void under_load(pg_place *p, const char *url, void (*strike)(const char *url))
{
    wp_store *store = fault_store(url, options);
    pg_handling handling = {
        .store = store, .url = p->url, .history = history_open(p->files.path), .work_us = 3000};
    producer producers[PRODUCERS] = {{0}};
    wp_worker *workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = fault_worker(store, "t", pg_handle_once, &handling);
        MUST_OK(wp_worker_start(workers[i], THREADS, &must_err));
    }
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = (producer){.store = store, .url = p->url, .first = i * EACH};
        MUST_OK(
            wp__thread_start(&producers[i].thread, "producer", produce, &producers[i], &must_err));
    }
    for (int i = 0; i < CRASHES; i++)
        strike(p->url);
    for (int i = 0; i < PRODUCERS; i++)
        wp__thread_join(&producers[i].thread);
    PQfinish(p->db);
    p->db = wpt_pg_connect(p->url);
    AWAIT(pg_number(p->db, PG_UNFINISHED) == 0);
    for (int i = 0; i < WORKERS; i++) {
        MUST_OK(wp_worker_stop(NULL, workers[i], PATIENCE_MS, &must_err));
        wp_worker_free(workers[i]);
    }
    pg_handling_end(&handling);
    wp_store_close(store);
    check_outcome(p, p->files.path);
}

/* proves: WRK-002, OBX-001, OBX-113 */
static void test_crash__under_load__what_was_committed_is_done_once(void **state)
{
    pg_place *p = *state;
    under_load(p, p->url, crash);
}

/* proves: WRK-002 */
static void test_crash__under_load_by_odbc__what_was_committed_is_done_once(void **state)
{
    pg_place *p = *state;
    char url[512];
    wpt_odbc_url(url, sizeof url, p->url);
    under_load(p, url, crash);
}

/* proves: WRK-002 */
static void test_pgbouncer__killed_under_load__what_was_committed_is_done_once(void **state)
{
    pg_place *p = *state;
    char url[256];
    wpt_pg_through_pgbouncer(url, sizeof url, p->url);
    under_load(p, url, kill_pgbouncer);
}

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PG(test_crash__under_load__what_was_committed_is_done_once),
        WITH_PG(test_crash__under_load_by_odbc__what_was_committed_is_done_once),
        WITH_PG(test_pgbouncer__killed_under_load__what_was_committed_is_done_once),
    };
    return cmocka_run_group_tests(tests, own_server_start, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, NULL, 0, suite);
}
