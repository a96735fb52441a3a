/* SPDX-License-Identifier: Apache-2.0 */
/* MariaDB by ODBC: errors of statements that are prepared, connections that are killed, locks that are held,
 * deployments that were cut off, and apps' connections as they may be. */
#include "base/thread.h"
#include "support/proxy.h"
#include "support/wpt_mariadb.h"

typedef struct place {
    char url[256];
    SQLHDBC dbc; /* sees what was committed */
    wp_store *store;
} place;

static int setup(void **state)
{
    place *p = calloc(1, sizeof *p);
    assert_non_null(p);
    wpt_mariadb_name(p->url, sizeof p->url, "fault");
    p->dbc = wpt_mariadb_create(p->url, sizeof p->url, NULL);
    p->store = wpt_store(p->url, NULL, NULL);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    place *p = *state;
    wp_store_close(p->store);
    wpt_mariadb_release();
    free(p);
    return 0;
}

static wp_id enqueue(wp_store *store, wp_conn *conn, const char *unique_key)
{
    wp_message *m = wpt_message("a", "x");
    wp_id id;
    if (unique_key)
        WPT_OK(wp_message_set_unique_key(m, unique_key, WPT_ERR));
    WPT_OK(wp_outbox_enqueue(&id, NULL, store, conn, m, WPT_ERR));
    wp_message_free(m);
    return id;
}

static void enqueue_fails(wp_store *store, wp_status as, bool retriable)
{
    wp_message *m = wpt_message("a", "x");
    wp_id id;
    WPT_STATUS(wp_outbox_enqueue(&id, NULL, store, NULL, m, WPT_ERR), as);
    assert_int_equal(wpt_last_retriable(), retriable);
    wp_message_free(m);
}

/* The driver cannot use a prepared statement again after an error. */
static void test_enqueue__after_an_error__works_again(void **state)
{
    place *p = *state;
    (void)enqueue(p->store, NULL, NULL);
    wpt_odbc_exec(p->dbc, "RENAME TABLE infra_outbox_work TO elsewhere");
    for (int i = 0; i < 3; i++)
        enqueue_fails(p->store, WP_E_SCHEMA, false);
    wpt_odbc_exec(p->dbc, "RENAME TABLE elsewhere TO infra_outbox_work");
    (void)enqueue(p->store, NULL, NULL);
    assert_int_equal(wpt_odbc_number(p->dbc, "SELECT COUNT(*) FROM infra_outbox"), 2);
    assert_int_equal(wpt_odbc_number(p->dbc, "SELECT COUNT(*) FROM infra_outbox_work"), 2);
}

static void test_enqueue__lock_wait_timeout__is_retriable_and_stores_nothing(void **state)
{
    place *p = *state;
    wp_store *hasty =
        wpt_store(p->url, NULL,
                  WPT_OPTIONS("store.busy_timeout_ms", "100", "store.response_timeout_ms", "1000"));
    SQLHDBC other = wpt_mariadb_connect(p->url);
    wp_message *m = wpt_message("a", "x");
    int duplicate = 0;
    wp_id id;
    WPT_OK(wp_message_set_unique_key(m, "k", WPT_ERR));
    WPT_OK(wp_outbox_enqueue(&id, NULL, hasty, NULL, m, WPT_ERR));
    wpt_odbc_exec(other, "BEGIN");
    wpt_odbc_exec(other, "SELECT * FROM infra_outbox_work FOR UPDATE");
    for (int i = 0; i < 2; i++) {
        WPT_STATUS(wp_outbox_enqueue(&id, NULL, hasty, NULL, m, WPT_ERR), WP_E_UNAVAILABLE);
        assert_true(wpt_last_retriable());
    }
    wpt_odbc_exec(other, "ROLLBACK");
    WPT_OK(wp_outbox_enqueue(&id, &duplicate, hasty, NULL, m, WPT_ERR));
    assert_int_equal(duplicate, 1);
    assert_int_equal(wpt_odbc_number(p->dbc, "SELECT COUNT(*) FROM infra_outbox"), 1);
    wp_message_free(m);
    wpt_odbc_close(other);
    wp_store_close(hasty);
}

/* Kill another connection to the database; it may be gone by then. */
static void kill_one(SQLHDBC dbc)
{
    SQLHSTMT statement = SQL_NULL_HSTMT;
    char sql[64];
    (void)snprintf(sql, sizeof sql, "KILL %lld",
                   (long long)wpt_odbc_number(
                       dbc, "SELECT COALESCE(MAX(id), 0) FROM information_schema.processlist"
                            " WHERE db = DATABASE() AND id <> CONNECTION_ID()"));
    assert_int_equal(SQLAllocHandle(SQL_HANDLE_STMT, dbc, &statement), SQL_SUCCESS);
    (void)SQLExecDirect(statement, (SQLCHAR *)sql, SQL_NTS);
    (void)SQLFreeHandle(SQL_HANDLE_STMT, statement);
}

/* Every connection of a store is killed, again and again. */
static void test_enqueue__connections_killed__nothing_is_lost_or_doubled(void **state)
{
    place *p = *state;
    for (int i = 0; i < 20; i++) {
        kill_one(p->dbc);
        (void)enqueue(p->store, NULL, i % 2 ? "same" : NULL);
    }
    assert_int_equal(wpt_odbc_number(p->dbc, "SELECT COUNT(*) FROM infra_outbox"), 11);
}

/* ---- deployments -------------------------------------------------------------------------- */

/* DDL commits by itself: whatever a killed deployment has left, the next one completes. */
static void test_deploy__cut_off_anywhere__is_completed_by_the_next(void **state)
{
    static const char *const undone[] = {
        "DROP VIEW infra_outbox_all",         "DROP VIEW infra_outbox_heads",
        "DROP TRIGGER infra_outbox_enqueued", "DROP TRIGGER infra_outbox_numbered",
        "DROP TABLE infra_outbox_replayed",   "DROP TABLE infra_outbox_finished",
        "DROP TABLE infra_outbox_work",       "DROP TABLE infra_outbox",
        "DROP SEQUENCE infra_outbox_seq",
    };
    place *p = *state;
    wpt_odbc_exec(p->dbc, "DROP PROCEDURE infra_outbox_retry");
    for (size_t left = 0; left <= WPT_COUNT(undone); left += 3) {
        wp_store *store;
        for (size_t i = 0; i < left; i++)
            wpt_odbc_exec(p->dbc, undone[i]);
        wpt_odbc_exec(p->dbc, "DELETE FROM infra_migration WHERE number = 1");
        store = wpt_store(p->url, NULL, NULL);
        (void)enqueue(store, NULL, "k");
        assert_int_equal(wpt_claimable(store), 1);
        wp_store_close(store);
        wpt_odbc_exec(p->dbc, "DELETE FROM infra_outbox");
        wpt_odbc_exec(p->dbc, "DELETE FROM infra_outbox_work");
    }
}

/* ---- the app's connection ----------------------------------------------------------------- */

static wp_conn *lend(wp_store *store, SQLHDBC dbc)
{
    wp_conn *conn = NULL;
    WPT_OK(wp_conn_borrow_odbc(&conn, store, dbc, WPT_ERR));
    return conn;
}

/* Names lead to the store's database, whichever one the app uses meanwhile. */
static void test_lent__in_another_database__the_stores_tables_are_meant(void **state)
{
    place *p = *state;
    SQLHDBC app = wpt_mariadb_connect(p->url);
    wp_conn *conn = lend(p->store, app);
    wpt_odbc_exec(app, "USE information_schema");
    (void)enqueue(p->store, conn, NULL);
    (void)enqueue(p->store, conn, "k");
    assert_int_equal(wpt_odbc_number(p->dbc, "SELECT COUNT(*) FROM infra_outbox_work"), 2);
    wp_conn_free(conn);
    wpt_odbc_close(app);
}

/* What LAST_INSERT_ID() tells the app is its own; its transaction goes on. */
static void test_lent__last_insert_id__stays_the_apps(void **state)
{
    place *p = *state;
    SQLHDBC app = wpt_mariadb_connect(p->url);
    wp_conn *conn = lend(p->store, app);
    int64_t own;
    wpt_odbc_exec(app, "CREATE TABLE numbered (n INTEGER AUTO_INCREMENT PRIMARY KEY)");
    wpt_odbc_exec(app, "BEGIN");
    wpt_odbc_exec(app, "INSERT INTO numbered VALUES (41), (NULL)");
    own = wpt_odbc_number(app, "SELECT LAST_INSERT_ID()");
    (void)enqueue(p->store, conn, NULL);
    (void)enqueue(p->store, conn, "k");
    (void)enqueue(p->store, conn, "k");
    assert_int_equal(wpt_odbc_number(app, "SELECT LAST_INSERT_ID()"), own);
    assert_int_equal(wpt_odbc_number(p->dbc, "SELECT COUNT(*) FROM infra_outbox"), 0);
    wpt_odbc_exec(app, "ROLLBACK");
    assert_int_equal(wpt_odbc_number(p->dbc, "SELECT COUNT(*) FROM infra_outbox"), 0);
    wp_conn_free(conn);
    wpt_odbc_close(app);
}

static void test_lent__client_encoding__other_than_utf8mb4_is_refused(void **state)
{
    static const char *const names[] = {"client = latin1", "results = utf8mb3"};
    place *p = *state;
    for (size_t i = 0; i < WPT_COUNT(names); i++) {
        SQLHDBC app = wpt_mariadb_connect(p->url);
        wp_conn *conn = lend(p->store, app);
        wp_message *m = wpt_message("a", "x");
        char sql[64];
        wp_id id;
        (void)snprintf(sql, sizeof sql, "SET character_set_%s", names[i]);
        wpt_odbc_exec(app, sql);
        WPT_FAILS(wp_outbox_enqueue(&id, NULL, p->store, conn, m, WPT_ERR), WP_E_STATE,
                  "CHARSET=utf8mb4");
        wp_message_free(m);
        wp_conn_free(conn);
        wpt_odbc_close(app);
    }
}

/* What is done to some messages waits for no transaction of an app's that has enqueued others, with an ordering key
 * or without, or that holds others; however few there are, and the server would rather look at them all. */
static void test_workers_calls__while_an_app_has_other_messages__do_not_wait(void **state)
{
    static const char *const keys[] = {NULL, "a", "k", "z"};
    enum { CLAIMED = 6 };
    place *p = *state;
    wp_store *hasty =
        wpt_store(p->url, NULL,
                  WPT_OPTIONS("store.busy_timeout_ms", "100", "store.response_timeout_ms", "2000"));
    SQLHDBC app = wpt_mariadb_connect(p->url);
    wp_conn *conn = lend(p->store, app);
    const wp_id owner = wpt_owner(1);
    wp_id ids[CLAIMED];
    wp_claim *claim;
    size_t done = 0;
    (void)enqueue(p->store, NULL, NULL);
    wpt_odbc_exec(app, "BEGIN");
    (void)wpt_odbc_number(app, "SELECT seq FROM infra_outbox_work WHERE seq = 1 FOR UPDATE");
    for (size_t i = 0; i < WPT_COUNT(keys); i++) {
        wp_message *m = wpt_message("a", "x");
        WPT_OK(wp_message_set_ordering_key(m, keys[i], WPT_ERR));
        (void)wpt_send(p->store, conn, m);
    }
    for (size_t i = 0; i < CLAIMED; i++) {
        wp_message *m = wpt_message("a", "x");
        WPT_OK(wp_message_set_ordering_key(m, i ? NULL : "k", WPT_ERR));
        ids[i] = wpt_send(hasty, NULL, m);
    }
    claim = wpt_claim(hasty, 1, 10, 60000);
    assert_int_equal(wp_claim_count(claim), CLAIMED);
    WPT_OK(wp_outbox_renew(&done, hasty, NULL, &owner, ids, NULL, CLAIMED, 60000, WPT_ERR));
    assert_int_equal(done, CLAIMED);
    WPT_OK(wp_outbox_ack(&done, hasty, NULL, &owner, &ids[0], NULL, 2, NULL, WPT_ERR));
    assert_int_equal(done, 2);
    WPT_OK(wp_outbox_abandon(&done, hasty, NULL, &owner, &ids[2], NULL, 1, 1, NULL, WPT_ERR));
    assert_int_equal(done, 1);
    WPT_OK(wp_outbox_release(&done, hasty, NULL, &owner, &ids[3], NULL, 1, WPT_ERR));
    assert_int_equal(done, 1);
    WPT_OK(wp_outbox_fail(&done, hasty, NULL, &owner, &ids[4], NULL, 2, "odd", WPT_ERR));
    assert_int_equal(done, 2);
    WPT_OK(wp_outbox_reap(&done, hasty, WPT_ERR));
    WPT_OK(wp_dead_replay(&done, hasty, WP_SOURCE_OUTBOX, NULL, 1, 0, NULL, WPT_ERR));
    assert_int_equal(done, 1);
    WPT_OK(wp_dead_purge(&done, hasty, WP_SOURCE_OUTBOX, NULL, 10, WPT_ERR));
    assert_int_equal(done, 1);
    WPT_OK(wp_cleanup(&done, hasty, WP_SOURCE_OUTBOX, 0, WPT_ERR));
    assert_int_equal(done, 2);
    wpt_odbc_exec(app, "COMMIT");
    wp_claim_free(claim);
    wp_conn_free(conn);
    wpt_odbc_close(app);
    wp_store_close(hasty);
}

/* An app's user needs no right on the tables but to insert messages. */
static void test_lent__user_with_few_rights__may_enqueue_and_finish(void **state)
{
    place *p = *state;
    char string[512], sql[300];
    SQLHDBC app;
    wp_conn *conn;
    const char *database = strstr(p->url, ";Database=") + strlen(";Database=");
    const char *uid = strstr(p->url, "Uid=");
    wpt_odbc_exec(p->dbc, "CREATE OR REPLACE USER poor@'%'");
    (void)snprintf(sql, sizeof sql, "GRANT INSERT ON `%s`.infra_outbox TO poor@'%%'", database);
    wpt_odbc_exec(p->dbc, sql);
    (void)snprintf(sql, sizeof sql, "GRANT EXECUTE ON `%s`.* TO poor@'%%'", database);
    wpt_odbc_exec(p->dbc, sql);
    (void)snprintf(string, sizeof string, "%.*sUid=poor;CHARSET=utf8mb4;Database=%s",
                   (int)(uid - p->url - (ptrdiff_t)strlen("odbc:")), p->url + strlen("odbc:"),
                   database);
    app = wpt_odbc_connect(string);
    conn = lend(p->store, app);
    (void)enqueue(p->store, conn, NULL);
    (void)enqueue(p->store, conn, "k");
    assert_int_equal(wpt_claimable(p->store), 2);
    wp_conn_free(conn);
    wpt_odbc_close(app);
    wpt_odbc_exec(p->dbc, "DROP USER poor@'%'");
}

/* An app's transaction that has finished a message holds up nobody who finishes another one, however few there are. */
static void test_finish__while_an_app_is_finishing__does_not_wait(void **state)
{
    place *p = *state;
    SQLHDBC app = wpt_mariadb_connect(p->url);
    wp_conn *conn = lend(p->store, app);
    wp_claim *claim = NULL;
    size_t changed = 0;
    wp_id owner, ids[4];
    wp_id_new(&owner);
    for (int i = 0; i < 4; i++)
        ids[i] = enqueue(p->store, NULL, NULL);
    WPT_OK(wp_outbox_claim(&claim, p->store, &owner, NULL, 0, 10, 60000, WPT_ERR));
    assert_int_equal(wp_claim_count(claim), 4);
    wp_claim_free(claim);
    wpt_odbc_exec(app, "BEGIN");
    WPT_OK(wp_outbox_ack(&changed, p->store, conn, &owner, &ids[1], NULL, 1, "a", WPT_ERR));
    assert_int_equal(changed, 1);
    WPT_OK(wp_outbox_ack(&changed, p->store, NULL, &owner, &ids[2], NULL, 1, "b", WPT_ERR));
    assert_int_equal(changed, 1);
    WPT_OK(wp_outbox_renew(&changed, p->store, NULL, &owner, &ids[0], NULL, 1, 60000, WPT_ERR));
    assert_int_equal(changed, 1);
    WPT_OK(wp_outbox_abandon(&changed, p->store, NULL, &owner, &ids[3], NULL, 1, 0, "b", WPT_ERR));
    assert_int_equal(changed, 1);
    wpt_odbc_exec(app, "ROLLBACK");
    wp_conn_free(conn);
    wpt_odbc_close(app);
}

static bool may(SQLHDBC dbc, const char *sql)
{
    SQLHSTMT statement = SQL_NULL_HSTMT;
    bool done;
    assert_int_equal(SQLAllocHandle(SQL_HANDLE_STMT, dbc, &statement), SQL_SUCCESS);
    done = SQL_SUCCEEDED(SQLExecDirect(statement, (SQLCHAR *)sql, SQL_NTS));
    (void)SQLFreeHandle(SQL_HANDLE_STMT, statement);
    return done;
}

/* sql/rights/mariadb.sql: the conformance suite runs with what it gives, and this is not in it. */
/* proves: SDP-004, SEC-001 */
static void test_rights__of_the_script__are_for_rows_alone(void **state)
{
    static const char *const refused[] = {
        "DROP TABLE infra_outbox",           "ALTER TABLE infra_outbox ADD COLUMN mine INTEGER",
        "DROP PROCEDURE infra_outbox_claim", "DROP TRIGGER infra_outbox_enqueued",
        "CREATE TABLE mine (n INTEGER)",     "TRUNCATE TABLE infra_outbox",
        "DELETE FROM infra_migration",       "SELECT * FROM orders",
        "SELECT NEXTVAL(infra_outbox_seq)",
    };
    place *p = *state;
    char url[256];
    SQLHDBC limited;
    wp_store *store;
    wpt_odbc_exec(p->dbc, "CREATE TABLE orders (n INTEGER)");
    (void)snprintf(url, sizeof url, "%s", p->url);
    wpt_mariadb_limit(url, sizeof url);
    limited = wpt_mariadb_connect(url);
    for (size_t i = 0; i < WPT_COUNT(refused); i++)
        if (may(limited, refused[i]))
            fail_msg("it may: %s", refused[i]);
    assert_true(may(limited, "SELECT * FROM infra_outbox_all"));
    store = wpt_store(url, NULL, NULL);
    (void)enqueue(store, NULL, NULL);
    assert_int_equal(wpt_claimable(store), 1);
    wp_store_close(store);
    wpt_odbc_close(limited);
}

/* The server ends a call that takes too long, in the midst of its procedure. */
static void test_call__cut_off_by_its_time_limit__leaves_no_transaction_open(void **state)
{
    place *p = *state;
    wp_store *hasty =
        wpt_store(p->url, NULL,
                  WPT_OPTIONS("store.busy_timeout_ms", "0", "store.response_timeout_ms", "300"));
    SQLHDBC other = wpt_mariadb_connect(p->url);
    wp_lease_info *info = NULL;
    WPT_OK(wp_semaphore_set_limit(p->store, NULL, "s", 1, WPT_ERR));
    WPT_OK(wp_lease_acquire(&info, p->store, NULL, WP_LEASE_SHARED, "s", "a", 60000, WPT_ERR));
    wp_lease_info_free(info);
    wpt_odbc_exec(other, "BEGIN");
    wpt_odbc_exec(other, "SELECT * FROM infra_semaphore_holder FOR UPDATE");
    assert_int_not_equal(wp_lease_release(NULL, hasty, NULL, WP_LEASE_SHARED, "s", "a", 0, NULL),
                         WP_OK);
    wpt_odbc_exec(p->dbc, "SELECT * FROM infra_semaphore FOR UPDATE NOWAIT");
    wpt_odbc_exec(other, "ROLLBACK");
    wpt_odbc_close(other);
    wp_store_close(hasty);
}

/* ---- many at once ------------------------------------------------------------------------- */

enum { RIVALS = 4, MESSAGES = 400 };

typedef struct rival {
    wp_store *store;
    size_t acked;
    wp_status st;
} rival;

static void *claim_and_ack(void *arg)
{
    rival *self = arg;
    size_t count = 1;
    while (count && self->st == WP_OK) {
        wp_claim *claim = NULL;
        wp_id owner;
        wp_id_new(&owner);
        self->st = wp_outbox_claim(&claim, self->store, &owner, NULL, 0, 10, 60000, NULL);
        count = wp_claim_count(claim);
        for (size_t i = 0; i < count && self->st == WP_OK; i++) {
            size_t changed = 0;
            self->st = wp_outbox_ack(&changed, self->store, NULL, &owner,
                                     wp_received_id(wp_claim_at(claim, i)), NULL, 1, NULL, NULL);
            self->acked += changed;
        }
        wp_claim_free(claim);
    }
    return NULL;
}

static void test_claim__by_many_at_once__each_message_once(void **state)
{
    place *p = *state;
    rival rivals[RIVALS] = {{0}};
    wp__thread threads[RIVALS] = {{0}};
    size_t acked = 0;
    for (int i = 0; i < MESSAGES; i++)
        (void)enqueue(p->store, NULL, NULL);
    for (size_t i = 0; i < RIVALS; i++) {
        rivals[i].store = wpt_store(p->url, NULL, NULL);
        WPT_OK(wp__thread_start(&threads[i], "rival", claim_and_ack, &rivals[i], WPT_ERR));
    }
    for (size_t i = 0; i < RIVALS; i++) {
        wp__thread_join(&threads[i]);
        assert_int_equal(rivals[i].st, WP_OK);
        acked += rivals[i].acked;
        wp_store_close(rivals[i].store);
    }
    assert_int_equal(acked, MESSAGES);
    assert_int_equal(wpt_odbc_number(p->dbc, "SELECT COUNT(*) FROM infra_outbox_finished"),
                     MESSAGES);
    assert_int_equal(wpt_odbc_number(p->dbc, "SELECT COUNT(*) FROM infra_outbox_work"), 0);
}

/* ---- what arrives ------------------------------------------------------------------------- */

static bool proceeds(place *p, SQLHDBC app, const char *message_id)
{
    wp_inbox_key *key = NULL;
    wp_conn *conn = lend(p->store, app);
    wp_inbox_state found = WP_INBOX_NEW;
    int proceed = 0, mismatch = 0;
    WPT_OK(wp_inbox_key_new(&key, "shop", message_id, WPT_ERR));
    WPT_OK(wp_inbox_once(&proceed, &found, &mismatch, p->store, conn, key, WPT_ERR));
    wp_inbox_key_free(key);
    wp_conn_free(conn);
    return proceed != 0;
}

/* A message that is known already is held alone: what is new beside it is not told to be in progress. */
static void test_once__beside_a_known_message_of_an_open_transaction__proceeds(void **state)
{
    place *p = *state;
    SQLHDBC one = wpt_mariadb_connect(p->url), other = wpt_mariadb_connect(p->url);
    wpt_odbc_exec(one, "START TRANSACTION");
    assert_true(proceeds(p, one, "5"));
    wpt_odbc_exec(one, "COMMIT");
    wpt_odbc_exec(one, "START TRANSACTION");
    assert_false(proceeds(p, one, "5"));
    wpt_odbc_exec(other, "START TRANSACTION");
    assert_true(proceeds(p, other, "4"));
    assert_true(proceeds(p, other, "6"));
    assert_false(proceeds(p, other, "5")); /* its row is held */
    wpt_odbc_exec(other, "COMMIT");
    wpt_odbc_exec(one, "COMMIT");
    assert_int_equal(wpt_odbc_number(p->dbc, "SELECT COUNT(*) FROM infra_inbox_finished"), 3);
    wpt_odbc_close(one);
    wpt_odbc_close(other);
}

/* The driver itself would wait for ever. */
static void test_open__server_that_says_nothing__is_unavailable_in_time(void **state)
{
    const place *p = *state;
    const char *port = strstr(p->url, "Port=") + strlen("Port=");
    proxy *network = proxy_open((int)strtol(port, NULL, 10));
    wp_config *config = wpt_config(NULL, WPT_OPTIONS("store.connect_timeout_ms", "100"));
    wp_store *store = NULL;
    char url[300];
    (void)snprintf(url, sizeof url, "%.*s%d%s", (int)(port - p->url), p->url, proxy_port(network),
                   strchr(port, ';'));
    WPT_OK(wp_config_set(config, "store.url", url, WPT_ERR));
    proxy_set(network, PROXY_BLACK_HOLE);
    for (int i = 0; i < 4; i++) {
        WPT_FAILS(wp_store_open(&store, config, WPT_ERR), WP_E_UNAVAILABLE, "in time");
        assert_true(wpt_last_retriable());
    }
    /* each of those still has a thread and a socket; no more of them are made */
    WPT_FAILS(wp_store_open(&store, config, WPT_ERR), WP_E_UNAVAILABLE, "before");
    assert_true(wpt_last_retriable());
    /* they end by themselves, though the network keeps silent about what it swallowed */
    proxy_set(network, PROXY_FORWARD);
    WPT_OK(wp_config_set(config, "store.connect_timeout_ms", "30000", WPT_ERR));
    WPT_AWAIT(wp_store_open(&store, config, NULL) == WP_OK);
    wp_store_close(store);
    wp_config_free(config);
    proxy_close(network);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_enqueue__after_an_error__works_again),
        TEST(test_open__server_that_says_nothing__is_unavailable_in_time),
        TEST(test_enqueue__lock_wait_timeout__is_retriable_and_stores_nothing),
        TEST(test_enqueue__connections_killed__nothing_is_lost_or_doubled),
        TEST(test_deploy__cut_off_anywhere__is_completed_by_the_next),
        TEST(test_lent__in_another_database__the_stores_tables_are_meant),
        TEST(test_lent__last_insert_id__stays_the_apps),
        TEST(test_lent__client_encoding__other_than_utf8mb4_is_refused),
        TEST(test_workers_calls__while_an_app_has_other_messages__do_not_wait),
        TEST(test_lent__user_with_few_rights__may_enqueue_and_finish),
        TEST(test_rights__of_the_script__are_for_rows_alone),
        TEST(test_finish__while_an_app_is_finishing__does_not_wait),
        TEST(test_call__cut_off_by_its_time_limit__leaves_no_transaction_open),
        TEST(test_claim__by_many_at_once__each_message_once),
        TEST(test_once__beside_a_known_message_of_an_open_transaction__proceeds),
    };
    cmocka_set_test_filter(getenv("WAYPOST_TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
