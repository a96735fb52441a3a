/* SPDX-License-Identifier: Apache-2.0 */
/* PostgreSQL by ODBC: the app's own connection, and what becomes of lost ones. */
#include "support/proxy.h"
#include "support/wpt_odbc.h"
#include "support/wpt_pg.h"

#include "base/buf.h"
#include "db/store.h"

typedef struct place {
    char pg_url[256];
    char url[256];
    wp_store *store;
    PGconn *pg; /* sees what was committed */
} place;

static wp_store *open_store(const char *url, const char *const *options)
{
    return wpt_store(url, NULL, options);
}

static int setup(void **state)
{
    place *p = calloc(1, sizeof *p);
    assert_non_null(p);
    wpt_pg_name(p->pg_url, sizeof p->pg_url, "odbc");
    p->pg = wpt_pg_create(p->pg_url, sizeof p->pg_url, NULL);
    wpt_odbc_url(p->url, sizeof p->url, p->pg_url);
    p->store = open_store(p->url, NULL);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    place *p = *state;
    wp_store_close(p->store);
    wpt_pg_release();
    free(p);
    return 0;
}

static int64_t stored(const place *p)
{
    return wpt_pg_number(p->pg, "SELECT count(*) FROM infra.outbox");
}

static SQLULEN attribute(SQLHDBC dbc, SQLINTEGER which)
{
    SQLUINTEGER value = 99;
    assert_int_equal(SQLGetConnectAttr(dbc, which, &value, SQL_IS_UINTEGER, NULL), SQL_SUCCESS);
    return value;
}

static wp_conn *lend(wp_store *store, SQLHDBC dbc)
{
    wp_conn *conn = NULL;
    WPT_OK(wp_conn_borrow_odbc(&conn, store, dbc, WPT_ERR));
    return conn;
}

/* ---- the app's connection ----------------------------------------------------------------- */

/* proves: BND-002 */
static void test_lend__in_each_mode__attributes_stay_and_the_app_decides(void **state)
{
    place *p = *state;
    SQLHDBC dbc = wpt_odbc_connect(p->url + strlen("odbc:"));
    wp_conn *conn = lend(p->store, dbc);
    SQLULEN isolation = attribute(dbc, SQL_ATTR_TXN_ISOLATION);
    (void)wpt_send(p->store, conn, wpt_message("a", "1"));
    assert_int_equal(stored(p), 1); /* autocommit */
    assert_int_equal(attribute(dbc, SQL_ATTR_AUTOCOMMIT), SQL_AUTOCOMMIT_ON);
    wpt_odbc_exec(dbc, "BEGIN");
    (void)wpt_send(p->store, conn, wpt_message("a", "2"));
    assert_int_equal(attribute(dbc, SQL_ATTR_AUTOCOMMIT), SQL_AUTOCOMMIT_OFF);
    assert_int_equal(stored(p), 1);
    wpt_odbc_exec(dbc, "COMMIT");
    assert_int_equal(stored(p), 2);
    wpt_odbc_exec(dbc, "BEGIN");
    (void)wpt_send(p->store, conn, wpt_message("a", "3"));
    wpt_odbc_exec(dbc, "SAVEPOINT s");
    (void)wpt_send(p->store, conn, wpt_message("a", "4"));
    wpt_odbc_exec(dbc, "ROLLBACK TO s");
    wpt_odbc_exec(dbc, "COMMIT");
    assert_int_equal(stored(p), 3);
    wpt_odbc_exec(dbc, "BEGIN");
    (void)wpt_send(p->store, conn, wpt_message("a", "5"));
    wpt_odbc_exec(dbc, "ROLLBACK");
    assert_int_equal(stored(p), 3);
    assert_int_equal(attribute(dbc, SQL_ATTR_TXN_ISOLATION), isolation);
    wp_conn_free(conn);
    wpt_odbc_exec(dbc, "SELECT 1"); /* still the app's */
    wpt_odbc_close(dbc);
}

static void test_lend__statement_fails__transaction_is_the_apps_to_roll_back(void **state)
{
    place *p = *state;
    SQLHDBC dbc = wpt_odbc_connect(wp_store_location(p->store));
    wp_conn *conn = lend(p->store, dbc);
    wp_message *m = wpt_message("a", "x");
    wp_id id;
    wpt_odbc_exec(dbc, "CREATE TABLE mine (n int)");
    wpt_odbc_exec(dbc, "BEGIN");
    wpt_odbc_exec(dbc, "INSERT INTO mine VALUES (1)");
    wpt_odbc_exec(dbc, "SET LOCAL transaction_read_only = on");
    WPT_FAILS(wp_outbox_enqueue(&id, NULL, p->store, conn, m, WPT_ERR), WP_E_STATE,
              "may only read");
    WPT_FAILS(wp_outbox_enqueue(&id, NULL, p->store, conn, m, WPT_ERR), WP_E_DB, "aborted");
    wpt_odbc_exec(dbc, "ROLLBACK");
    assert_int_equal(wpt_pg_number(p->pg, "SELECT count(*) FROM mine"), 0);
    WPT_OK(wp_outbox_enqueue(&id, NULL, p->store, conn, m, WPT_ERR));
    assert_int_equal(stored(p), 1);
    wp_message_free(m);
    wp_conn_free(conn);
    wpt_odbc_close(dbc);
}

/* proves: BND-002 */
static void test_lend__to_a_store_of_the_other_driver__works_both_ways(void **state)
{
    place *p = *state;
    wp_store *native = open_store(p->pg_url, NULL);
    SQLHDBC dbc = wpt_odbc_connect(wp_store_location(p->store));
    wp_conn *conn = lend(native, dbc);
    (void)wpt_send(native, conn, wpt_message("a", "by odbc"));
    wp_conn_free(conn);
    WPT_OK(wp_conn_borrow_pq(&conn, p->store, p->pg, WPT_ERR));
    (void)wpt_send(p->store, conn, wpt_message("a", "by libpq"));
    wp_conn_free(conn);
    assert_int_equal(stored(p), 2);
    wpt_odbc_close(dbc);
    wp_store_close(native);
}

static void test_lend__what_is_no_connection_to_the_engine__is_an_argument_error(void **state)
{
    place *p = *state;
    wp_store *other = open_store("sqlite::memory:", NULL);
    SQLHDBC dbc = wpt_odbc_connect(wp_store_location(p->store));
    wp_conn *conn = NULL;
    WPT_STATUS(wp_conn_borrow_odbc(&conn, p->store, NULL, WPT_ERR), WP_E_ARGUMENT);
    WPT_FAILS(wp_conn_borrow_odbc(&conn, other, dbc, WPT_ERR), WP_E_ARGUMENT, "sqlite");
    (void)SQLDisconnect(dbc);
    WPT_FAILS(wp_conn_borrow_odbc(&conn, p->store, dbc, WPT_ERR), WP_E_ARGUMENT, "not an open");
    (void)SQLFreeHandle(SQL_HANDLE_DBC, dbc);
    wp_store_close(other);
}

/* What double encoding would store cannot be told from what was meant. */
static void test_lend__with_an_encoding_that_changes_texts__is_refused_at_its_use(void **state)
{
    place *p = *state;
    SQLHDBC dbc = wpt_odbc_connect(p->url + strlen("odbc:"));
    wp_conn *conn = lend(p->store, dbc);
    wp_message *m = wpt_message("a", "\xc3\xa9");
    wp_id id;
    wpt_odbc_exec(dbc, "SET client_encoding TO 'LATIN1'");
    WPT_FAILS(wp_outbox_enqueue(&id, NULL, p->store, conn, m, WPT_ERR), WP_E_STATE, "encoding");
    assert_int_equal(stored(p), 0);
    wpt_odbc_exec(dbc, "SET client_encoding TO 'UTF8'");
    WPT_OK(wp_outbox_enqueue(&id, NULL, p->store, conn, m, WPT_ERR));
    assert_int_equal(wpt_pg_number(p->pg, "SELECT ascii(payload) FROM infra.outbox"), 0xe9);
    wp_message_free(m);
    wp_conn_free(conn);
    wpt_odbc_close(dbc);
}

/* ---- opening ------------------------------------------------------------------------------ */

static wp_status open_url(const char *url, wp_error **err)
{
    wp_store *store = NULL;
    wp_config *config = wpt_config(NULL, WPT_OPTIONS("store.url", url));
    wp_status st = wp_store_open(&store, config, err);
    wp_config_free(config);
    wp_store_close(store);
    return st;
}

static void test_open__refused__says_why_and_no_password(void **state)
{
    (void)state;
    WPT_STATUS(open_url("odbc:Driver=PostgreSQL Unicode;Servername=127.0.0.1;Port=1;Database=d;"
                        "Uid=u;Pwd=Hush4Ever",
                        WPT_ERR),
               WP_E_UNAVAILABLE);
    assert_null(strstr(wpt_message_of_last(), "Hush4Ever"));
    WPT_STATUS(open_url("odbc:Driver=PostgreSQL Unicode;Servername=127.0.0.1;Port=1;Database=d;"
                        "Uid=u;pqopt={password=my Hush4Ever}",
                        WPT_ERR),
               WP_E_UNAVAILABLE);
    assert_null(strstr(wpt_message_of_last(), "Hush4Ever"));
    WPT_STATUS(open_url("odbc:Driver=No Such Driver;Pwd=Hush4Ever", WPT_ERR), WP_E_CONFIG);
    assert_null(strstr(wpt_message_of_last(), "Hush4Ever"));
    WPT_STATUS(open_url("odbc:", WPT_ERR), WP_E_CONFIG);
}

/* ---- lost connections --------------------------------------------------------------------- */

static void kill_others(const place *p)
{
    (void)wpt_pg_number(p->pg,
                        "SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity "
                        "WHERE datname = current_database() AND pid <> pg_backend_pid()");
}

static void test_pool__connections_killed__calls_go_on_with_new_ones(void **state)
{
    place *p = *state;
    for (int i = 1; i <= 3; i++) {
        kill_others(p);
        (void)wpt_enqueue(p->store, "a", "x");
        assert_int_equal(stored(p), i);
    }
    assert_int_equal(wpt_claimable(p->store), 3);
}

static void test_execute__server_takes_too_long__is_retriable_and_the_connection_lives(void **state)
{
    place *p = *state;
    wp_store *hasty = open_store(
        p->url, WPT_OPTIONS("store.response_timeout_ms", "1000", "store.busy_timeout_ms", "0"));
    wp_message *m = wpt_message("a", "x");
    wp_id id;
    wpt_pg_exec(p->pg, "BEGIN; LOCK TABLE infra.outbox");
    WPT_STATUS(wp_outbox_enqueue(&id, NULL, hasty, NULL, m, WPT_ERR), WP_E_UNAVAILABLE);
    assert_true(wpt_last_retriable());
    wpt_pg_exec(p->pg, "ROLLBACK");
    WPT_OK(wp_outbox_enqueue(&id, NULL, hasty, NULL, m, WPT_ERR));
    assert_int_equal(stored(p), 1);
    wp_message_free(m);
    wp_store_close(hasty);
}

/* ---- a network that fails ----------------------------------------------------------------- */

/* A store on the same database by way of a proxy. */
static wp_store *open_behind(proxy **out, const place *p, const char *const *options)
{
    char pg_url[256], url[512];
    *out = proxy_open(proxy_port_of(p->pg_url));
    proxy_url(pg_url, sizeof pg_url, *out, p->pg_url);
    wpt_odbc_url(url, sizeof url, pg_url);
    return open_store(url, options);
}

/* Cut off at its COMMIT, an enqueue finds out what became of it. */
static void cut_at_commit(const place *p, proxy_when when)
{
    proxy *network = NULL;
    wp_store *store = open_behind(&network, p,
                                  WPT_OPTIONS("store.prepared_statements", "false", "store.signals",
                                              "false")); /* texts are on the wire */
    wp_message *m = wpt_message("a", "x");
    int duplicate = 1;
    wp_id id;
    WPT_OK(wp_message_set_unique_key(m, "k", WPT_ERR));
    proxy_cut_at(network, "COMMIT", when);
    WPT_OK(wp_outbox_enqueue(&id, &duplicate, store, NULL, m, WPT_ERR));
    assert_int_equal(proxy_fired(network), 1);
    assert_int_equal(duplicate, 0);
    assert_int_equal(stored(p), 1);
    assert_int_equal(wpt_status_of(store, &id), WP_MESSAGE_READY);
    wp_message_free(m);
    wp_store_close(store);
    proxy_close(network);
}

static void test_enqueue__cut_before_its_commit__is_stored_once(void **state)
{
    cut_at_commit(*state, PROXY_BEFORE);
}

static void test_enqueue__the_answer_to_its_commit_lost__is_no_duplicate(void **state)
{
    cut_at_commit(*state, PROXY_AFTER);
}

static wp_outcome pass(wp_delivery *delivery, void *user)
{
    (void)delivery;
    wpt_gate_pass(user);
    return WP_OUTCOME_DONE;
}

/* Calls of the driver do not come back: they are left behind. */
/* proves: OBX-116 */
static void test_stop__while_all_is_swallowed__returns_and_so_does_close(void **state)
{
    place *p = *state;
    proxy *network = NULL;
    wp_store *store = open_behind(&network, p, WPT_OPTIONS("worker.concurrency", "2"));
    wp_worker *worker = NULL;
    size_t abandoned = 0;
    wpt_gate gate;
    wpt_gate_init(&gate);
    for (int i = 0; i < 4; i++)
        (void)wpt_enqueue(p->store, "a", "x");
    WPT_OK(wp_worker_new(&worker, store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "a", pass, &gate, NULL, WPT_ERR));
    WPT_OK(wp_worker_start(worker, 2, WPT_ERR));
    WPT_AWAIT(wpt_gate_waiting(&gate) == 2);
    proxy_set(network, PROXY_BLACK_HOLE);
    wp__store_announce(store);
    WPT_AWAIT(proxy_swallowed(network) > 0);
    WPT_OK(wp_worker_stop(&abandoned, worker, 300, WPT_ERR));
    assert_int_equal(abandoned, 2);
    wpt_gate_open(&gate, SIZE_MAX);
    WPT_AWAIT(wpt_gate_passed(&gate) == 2);
    wp_worker_free(worker);
    wp_store_close(store);
    proxy_close(network); /* now they come back */
    wpt_gate_fini(&gate);
}

/* ---- texts -------------------------------------------------------------------------------- */

static void test_payload__long_and_with_line_ends__comes_back_as_it_was(void **state)
{
    place *p = *state;
    static const char piece[] = "\r\n\n\r\\'\"?{}\xc3\xa9\xf0\x9f\x98\x80";
    size_t count = (size_t)(5 << 20) / (sizeof piece - 1);
    wp__buf payload = {0};
    wp_outbox_info *info;
    wp_id id;
    for (size_t i = 0; i < count; i++)
        wp__buf_text(&payload, piece);
    id = wpt_enqueue(p->store, "a", payload.data);
    info = wpt_info(p->store, &id);
    {
        size_t len = 0;
        const char *got = wp_received_payload(&len, wp_outbox_info_message(info));
        assert_int_equal(len, payload.len);
        assert_memory_equal(got, payload.data, len);
    }
    wp_outbox_info_free(info);
    wp__buf_free(&payload);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(test_lend__in_each_mode__attributes_stay_and_the_app_decides),
        WITH_PLACE(test_lend__statement_fails__transaction_is_the_apps_to_roll_back),
        WITH_PLACE(test_lend__to_a_store_of_the_other_driver__works_both_ways),
        WITH_PLACE(test_lend__what_is_no_connection_to_the_engine__is_an_argument_error),
        WITH_PLACE(test_lend__with_an_encoding_that_changes_texts__is_refused_at_its_use),
        cmocka_unit_test(test_open__refused__says_why_and_no_password),
        WITH_PLACE(test_pool__connections_killed__calls_go_on_with_new_ones),
        WITH_PLACE(test_execute__server_takes_too_long__is_retriable_and_the_connection_lives),
        WITH_PLACE(test_enqueue__cut_before_its_commit__is_stored_once),
        WITH_PLACE(test_enqueue__the_answer_to_its_commit_lost__is_no_duplicate),
        WITH_PLACE(test_stop__while_all_is_swallowed__returns_and_so_does_close),
        WITH_PLACE(test_payload__long_and_with_line_ends__comes_back_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
