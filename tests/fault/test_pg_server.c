/* SPDX-License-Identifier: Apache-2.0 */
/* What a PostgreSQL server does to its clients while the network stands: locks that others hold,
 * settings of roles and databases. */
#include "pg.h"

#include "base/thread.h"

/* ---- locks -------------------------------------------------------------------------------- */

static wp_outcome pass(wp_delivery *delivery, void *user)
{
    (void)delivery;
    wpt_gate_pass(user);
    return WP_OUTCOME_DONE;
}

static int64_t lease_of(PGconn *pg, int nth)
{
    return pg_number(pg, "SELECT locked_until FROM infra.outbox_work ORDER BY seq OFFSET %d", nth);
}

/* proves: OBX-115 */
static void test_renew__a_claim_that_another_transaction_has_locked__holds_up_no_other(void **state)
{
    pg_place *p = *state;
    wp_clock *clock = wpt_clock();
    wp_store *store = wpt_store(p->url, clock,
                                WPT_OPTIONS("worker.concurrency", "2", "worker.lease_ms", "10000"));
    PGconn *app = wpt_pg_connect(p->url);
    wpt_gate gate;
    wp_worker *worker;
    int64_t first;
    wpt_gate_init(&gate);
    pg_enqueue_numbers(store, "t", 0, 2);
    worker = fault_worker(store, "t", pass, &gate);
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    AWAIT(wpt_gate_waiting(&gate) == 2);
    first = lease_of(p->db, 0);
    pg_exec(app, "BEGIN; SELECT FROM infra.outbox_work WHERE seq = (SELECT min(seq) FROM "
                 "infra.outbox_work) FOR UPDATE");
    wpt_advance_ms(clock, 7000);
    AWAIT(wp_worker_counter(worker, WP_COUNTER_RENEWED) == 1);
    assert_int_equal(lease_of(p->db, 1), first + 7000000);
    assert_int_equal(lease_of(p->db, 0), first);
    pg_exec(app, "COMMIT");
    wpt_advance_ms(clock, 600); /* it is not lost, but tried again soon */
    AWAIT(wp_worker_counter(worker, WP_COUNTER_RENEWED) == 2);
    assert_int_equal(lease_of(p->db, 0), first + 7600000);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_LEASES_LOST), 0);
    wpt_gate_open(&gate, SIZE_MAX);
    AWAIT(pg_number(p->db, PG_DONE) == 2);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wpt_gate_fini(&gate);
    PQfinish(app);
    wp_store_close(store);
    wp_clock_free(clock);
}

typedef struct renewing {
    wp_store *store;
    wp_id id;
    size_t changed;
} renewing;

static void *renew(void *arg)
{
    renewing *r = arg;
    const wp_id owner = wpt_owner(1);
    MUST_OK(
        wp_outbox_renew(&r->changed, r->store, NULL, &owner, &r->id, NULL, 1, 60000, &must_err));
    return NULL;
}

/* The app's own call waits for the one who has it locked, and then knows. */
static void test_renew__by_the_app_while_it_is_locked__waits_and_tells_the_truth(void **state)
{
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "store.signals=false");
    const wp_id owner = wpt_owner(1);
    renewing r = {.store = store, .id = fault_enqueue(store, "t", "1")};
    PGconn *app = wpt_pg_connect(p->url);
    wp_conn *conn = pg_lend(store, app);
    wp__thread thread = {0};
    (void)wpt_claim_one(store, 1, &r.id, 60000);
    pg_exec(app, "BEGIN");
    MUST_OK(wp_outbox_ack(NULL, store, conn, &owner, &r.id, NULL, 1, NULL, &must_err));
    MUST_OK(wp__thread_start(&thread, "renew", renew, &r, &must_err));
    AWAIT(pg_number(p->db, PG_WAITING) == 1);
    pg_exec(app, "ROLLBACK");
    wp__thread_join(&thread);
    assert_int_equal(r.changed, 1);
    wp_conn_free(conn);
    PQfinish(app);
    wp_store_close(store);
}

/* ---- settings ----------------------------------------------------------------------------- */

static void reset_all(pg_place *p)
{
    pg_exec(p->db, "SET default_transaction_read_only = off");
    pg_exec(
        p->db,
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I RESET ALL', current_database()); END $$");
}

/* Set for all that connect to the database from now on; p->db is not. */
static void set_default(pg_place *p, const char *setting)
{
    pg_exec(p->db,
            "DO $do$ BEGIN EXECUTE format('ALTER DATABASE %%I SET ', current_database()) || "
            "$set$%s$set$; END $do$",
            setting);
}

static wp_outcome succeed_at_the_second_try(wp_delivery *delivery, void *user)
{
    (void)user;
    return wp_received_attempt(wp_delivery_message(delivery)) ? WP_OUTCOME_DONE : WP_OUTCOME_RETRY;
}

/* Everything that a store and a worker do, once. */
static void use_all(const pg_place *p, const char *schema)
{
    wp_store *store =
        wpt_store(p->url, NULL, WPT_OPTIONS("store.schema", schema, "worker.backoff_base_ms", "1"));
    wp_message *messages[3];
    wp_id ids[3];
    wp_worker *worker;
    for (int i = 0; i < 3; i++) {
        messages[i] = fault_message("t", "\\ ' \" \xc3\xa9");
        if (i)
            MUST_OK(wp_message_set_ordering_key(messages[i], "k\\", &must_err));
    }
    MUST_OK(wp_message_set_unique_key(messages[0], "u'\\", &must_err));
    MUST_OK(wp_outbox_enqueue(&ids[0], NULL, store, NULL, messages[0], &must_err));
    MUST_OK(wp_outbox_enqueue_many(&ids[1], NULL, store, NULL,
                                   (const wp_message *const *)&messages[1], 2, &must_err));
    worker = fault_worker(store, "t", succeed_at_the_second_try, NULL);
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    for (int i = 0; i < 3; i++) {
        wp_outbox_info *info;
        AWAIT(wpt_status_of(store, &ids[i]) == WP_MESSAGE_DONE);
        info = wpt_info(store, &ids[i]);
        assert_string_equal(wp_received_payload(NULL, wp_outbox_info_message(info)),
                            "\\ ' \" \xc3\xa9");
        assert_int_equal(wpt_attempt_of(store, &ids[i]), 1);
        wp_outbox_info_free(info);
        wp_message_free(messages[i]);
    }
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_ERRORS), 0);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wp_store_close(store);
}

/* proves: SDP-003 */
static void test_settings__of_the_database__change_nothing(void **state)
{
    static const char *const settings[] = {
        "default_transaction_isolation = 'serializable'",
        "default_transaction_isolation = 'repeatable read'",
        "default_transaction_read_only = on",
        "search_path = nowhere",
        "timezone = 'Asia/Kathmandu'",
        "datestyle = 'SQL, DMY'",
        "standard_conforming_strings = off",
        "bytea_output = 'escape'",
        "client_encoding = 'LATIN1'",
        "enable_indexscan = off",
        "lock_timeout = 5000",
    };
    pg_place *p = *state;
    for (size_t i = 0; i < WPT_COUNT(settings); i++) {
        char schema[32];
        (void)snprintf(schema, sizeof schema, "s\\'\"%zu", i);
        set_default(p, settings[i]);
        use_all(p, schema);
        reset_all(p);
    }
    set_default(p, "default_transaction_isolation = 'serializable'");
    set_default(p, "default_transaction_deferrable = on");
    set_default(p, "default_transaction_read_only = on");
    set_default(p, "search_path = ''");
    use_all(p, "all");
}

/* What double encoding would store cannot be told from what was meant. */
static void test_encoding__of_the_apps_connection_is_not_utf8__is_refused_until_it_is(void **state)
{
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "store.signals=false");
    wp_conn *conn = pg_lend(store, p->db);
    wp_message *message = fault_message("t", "\xc3\xa9");
    wp_id id;
    pg_exec(p->db, "SET client_encoding TO 'LATIN1'");
    WPT_FAILS(wp_outbox_enqueue(&id, NULL, store, conn, message, WPT_ERR), WP_E_STATE, "LATIN1");
    pg_exec(p->db, "SET client_encoding TO 'UTF8'");
    MUST_OK(wp_outbox_enqueue(&id, NULL, store, conn, message, &must_err));
    pg_exec(p->db, "SET client_encoding TO 'SQL_ASCII'"); /* nothing is converted */
    MUST_OK(wp_outbox_enqueue(&id, NULL, store, conn, message, &must_err));
    assert_int_equal(
        pg_number(p->db, "SELECT count(*) FROM infra.outbox WHERE ascii(payload) = 233"), 2);
    wp_message_free(message);
    wp_conn_free(conn);
    wp_store_close(store);
}

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PG(test_renew__a_claim_that_another_transaction_has_locked__holds_up_no_other),
        WITH_PG(test_renew__by_the_app_while_it_is_locked__waits_and_tells_the_truth),
        WITH_PG(test_settings__of_the_database__change_nothing),
        WITH_PG(test_encoding__of_the_apps_connection_is_not_utf8__is_refused_until_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, NULL, 0, suite);
}
