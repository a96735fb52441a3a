/* SPDX-License-Identifier: Apache-2.0 */
/* What a PostgreSQL server does to its clients while the network stands: locks that others hold,
 * settings of roles and databases. */
#include "pg.h"

#include <unistd.h>
#include <waypost/dead.h>
#include <waypost/inbox.h>

#include "base/buf.h"
#include "base/thread.h"
#include "db/store.h"
#include "support/wpt_odbc.h"

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

/* A limit that is lower than ours stays. */
static void test_settings__lock_timeout_of_the_database__ends_the_wait(void **state)
{
    pg_place *p = *state;
    wp_message *message = fault_message("t", "1");
    wp_store *store;
    wp_conn *conn;
    wp_id id;
    set_default(p, "lock_timeout = 50");
    store = fault_store(p->url, "store.busy_timeout_ms=0");
    conn = pg_lend(store, p->db);
    MUST_OK(wp_message_set_unique_key(message, "k", &must_err));
    pg_exec(p->db, "BEGIN");
    MUST_OK(wp_outbox_enqueue(&id, NULL, store, conn, message, &must_err));
    WPT_FAILS(wp_outbox_enqueue(&id, NULL, store, NULL, message, WPT_ERR), WP_E_UNAVAILABLE,
              "lock timeout");
    assert_true(wpt_last_retriable());
    pg_exec(p->db, "ROLLBACK");
    MUST_OK(wp_outbox_enqueue(&id, NULL, store, NULL, message, &must_err));
    assert_int_equal(pg_number(p->db, PG_ALL), 1);
    wp_conn_free(conn);
    wp_message_free(message);
    wp_store_close(store);
}

/* ---- rights ------------------------------------------------------------------------------- */

static wp_outcome count_call(wp_delivery *delivery, void *user)
{
    (void)delivery;
    atomic_fetch_add((atomic_int *)user, 1);
    return WP_OUTCOME_DONE;
}

/* The same database as another role. */
static void url_as(char *out, size_t size, const char *url, const char *user)
{
    const char *at = strchr(url, '@');
    assert_non_null(at);
    (void)snprintf(out, size, "postgresql://%s%s", user, at);
}

/* Everything an app and its worker do with the inbox and the outbox. */
static void work_with_inbox(wp_store *store)
{
    wp_worker *worker = NULL;
    wp_inbox_key *keys[3];
    wp_message *message = fault_message("t", "1");
    wp_inbox_state found;
    atomic_int calls = 0;
    for (size_t i = 0; i < WPT_COUNT(keys); i++)
        MUST_OK(wp_inbox_key_new(&keys[i], "src", i == 0 ? "a" : i == 1 ? "b" : "c", &must_err));
    MUST_OK(wp_inbox_check(&found, NULL, store, NULL, keys[0], &must_err));
    MUST_OK(wp_inbox_mark_processing(store, NULL, keys[0], &must_err));
    MUST_OK(wp_inbox_mark_dead(store, NULL, keys[0], "no", &must_err));
    MUST_OK(wp_inbox_enqueue(NULL, &found, NULL, store, NULL, keys[0], message, &must_err));
    MUST_OK(wp_inbox_revive(store, NULL, keys[0], &must_err));
    MUST_OK(wp_inbox_enqueue(NULL, &found, NULL, store, NULL, keys[1], message, &must_err));
    MUST_OK(wp_inbox_enqueue(NULL, &found, NULL, store, NULL, keys[1], message, &must_err));
    (void)fault_enqueue(store, "t", "1");
    MUST_OK(wp_worker_new(&worker, store, NULL, &must_err));
    MUST_OK(wp_worker_handle(worker, WP_SOURCE_INBOX, "t", count_call, &calls, NULL, &must_err));
    MUST_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t", count_call, &calls, NULL, &must_err));
    MUST_OK(wp_worker_drain(NULL, worker, PATIENCE_MS, &must_err));
    assert_int_equal(calls, 3);
    MUST_OK(wp_inbox_enqueue(NULL, &found, NULL, store, NULL, keys[2], message, &must_err));
    MUST_OK(wp_inbox_mark_dead(store, NULL, keys[2], "no", &must_err));
    MUST_OK(wp_dead_replay(NULL, store, WP_SOURCE_INBOX, NULL, 9, 0, NULL, &must_err));
    MUST_OK(wp_inbox_mark_dead(store, NULL, keys[2], "no", &must_err));
    MUST_OK(wp_dead_purge(NULL, store, WP_SOURCE_INBOX, NULL, 9, &must_err));
    MUST_OK(wp_cleanup(NULL, store, WP_SOURCE_INBOX, 0, &must_err));
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_ERRORS), 0);
    wp_worker_free(worker);
    wp_message_free(message);
    for (size_t i = 0; i < WPT_COUNT(keys); i++)
        wp_inbox_key_free(keys[i]);
}

/* A role that may read and change the tables' rows and take numbers from their sequences, and nothing else,
 * can do all of it. */
/* proves: IBX-126, OBX-104 */
static void test_rights__on_rows_alone__are_enough(void **state)
{
    pg_place *p = *state;
    char limited[40], url[256];
    wp_config *config;
    wp_store *store = NULL;
    (void)snprintf(limited, sizeof limited, "limited_%d", (int)getpid());
    pg_exec(p->db, "CREATE ROLE %s LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE", limited);
    pg_exec(p->db, "GRANT USAGE ON SCHEMA infra TO %s", limited);
    pg_exec(p->db, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA infra TO %s",
            limited);
    pg_exec(p->db, "GRANT USAGE ON ALL SEQUENCES IN SCHEMA infra TO %s", limited);
    url_as(url, sizeof url, p->url, limited);
    store = fault_store(url, "");
    work_with_inbox(store);
    wp_store_close(store);
    /* without one of them it is told which right is missing, and nothing is deployed */
    pg_exec(p->db, "REVOKE INSERT ON ALL TABLES IN SCHEMA infra FROM %s", limited);
    config = fault_config(url, "");
    MUST_OK(wp_store_open(&store, config, &must_err));
    {
        wp_inbox_key *key = NULL;
        MUST_OK(wp_inbox_key_new(&key, "src", "new", &must_err));
        WPT_FAILS(wp_inbox_check(NULL, NULL, store, NULL, key, WPT_ERR), WP_E_DB,
                  "permission denied");
        wp_inbox_key_free(key);
    }
    wp_store_close(store);
    wp_config_free(config);
    pg_exec(p->db, "DROP OWNED BY %s; DROP ROLE %s", limited, limited);
}

/* What docs/rights.md says of roles that do some things alone. */
/* proves: SEC-001 */
static void test_rights__of_the_calls_alone__are_enough_for_those(void **state)
{
    static const char *const rights[] = {
        "USAGE ON SCHEMA infra",
        "SELECT ON infra.migration",
        "SELECT, INSERT ON infra.outbox, infra.join",
        "INSERT ON infra.outbox_work, infra.join_next",
        "SELECT, INSERT, UPDATE ON infra.lease",
        "USAGE ON SEQUENCE infra.outbox_seq, infra.join_seq, infra.lease_fence",
    };
    pg_place *p = *state;
    char limited[40], url[256];
    wp_store *store;
    wp_message *message = fault_message("t", "x");
    wp_join *join = NULL;
    wp_lease_info *info = NULL;
    wp_outbox_stats *stats = NULL;
    wp_id id;
    (void)snprintf(limited, sizeof limited, "few_%d", (int)getpid());
    pg_exec(p->db, "CREATE ROLE %s LOGIN NOSUPERUSER", limited);
    for (size_t i = 0; i < WPT_COUNT(rights); i++)
        pg_exec(p->db, "GRANT %s TO %s", rights[i], limited);
    url_as(url, sizeof url, p->url, limited);
    store = fault_store(url, "");
    MUST_OK(wp_outbox_enqueue(&id, NULL, store, NULL, message, &must_err));
    MUST_OK(wp_join_new(&join, 1, &must_err));
    MUST_OK(wp_join_set_success(join, message, &must_err));
    MUST_OK(wp_join_start(&id, store, NULL, join, &must_err));
    MUST_OK(wp_lease_acquire(&info, store, NULL, WP_LEASE_EXCLUSIVE, "n", "o", 60000, &must_err));
    MUST_OK(wp_lease_release(NULL, store, NULL, WP_LEASE_EXCLUSIVE, "n", "o", 0, &must_err));
    WPT_FAILS(wp_outbox_stats_read(&stats, store, 0, WPT_ERR), WP_E_DB, "permission denied");
    wp_lease_info_free(info);
    wp_join_free(join);
    wp_message_free(message);
    wp_store_close(store);
    pg_exec(p->db, "DROP OWNED BY %s; DROP ROLE %s", limited, limited);
}

/* ---- numbers and names -------------------------------------------------------------------- */

/* Enqueue three, two of them with a key; handle them all, each at its second try. */
static void work_off_three(const char *url)
{
    wp_store *store = fault_store(url, "worker.backoff_base_ms=1");
    wp_worker *worker;
    wp_message *messages[3];
    wp_id ids[3];
    for (int i = 0; i < 3; i++) {
        messages[i] = fault_message("t", "1");
        if (i)
            MUST_OK(wp_message_set_ordering_key(messages[i], "k", &must_err));
    }
    MUST_OK(wp_outbox_enqueue_many(ids, NULL, store, NULL, (const wp_message *const *)messages, 3,
                                   &must_err));
    worker = fault_worker(store, "t", succeed_at_the_second_try, NULL);
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    for (int i = 0; i < 3; i++) {
        AWAIT(wpt_status_of(store, &ids[i]) == WP_MESSAGE_DONE);
        assert_int_equal(wpt_attempt_of(store, &ids[i]), 1);
        wp_message_free(messages[i]);
    }
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_LEASES_LOST), 0);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wp_store_close(store);
}

static void test_sequence__past_what_other_types_hold__works(void **state)
{
    static const char *const begins[] = {"2147483647", "4294967295", "9007199254740991"};
    pg_place *p = *state;
    char odbc[512];
    wpt_odbc_url(odbc, sizeof odbc, p->url);
    for (size_t i = 0; i < WPT_COUNT(begins); i++) {
        pg_exec(p->db, "ALTER SEQUENCE infra.outbox_seq RESTART WITH %s", begins[i]);
        work_off_three(p->url);
        work_off_three(odbc);
    }
    assert_int_equal(pg_number(p->db, PG_DONE), 6 * WPT_COUNT(begins));
}

/* Claims of a message that had very many. */
static void test_claim_number__past_what_other_types_hold__works(void **state)
{
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "store.signals=false");
    const wp_id owner = wpt_owner(1);
    wp_id id = fault_enqueue(store, "t", "1");
    int64_t claim;
    size_t changed = 9;
    pg_exec(p->db, "UPDATE infra.outbox_work SET claim_number = 9007199254740992");
    claim = wpt_claim_one(store, 1, &id, 60000);
    assert_int_equal(claim, INT64_C(9007199254740993));
    claim--;
    MUST_OK(wp_outbox_ack(&changed, store, NULL, &owner, &id, &claim, 1, NULL, &must_err));
    assert_int_equal(changed, 0);
    claim++;
    MUST_OK(wp_outbox_ack(&changed, store, NULL, &owner, &id, &claim, 1, NULL, &must_err));
    assert_int_equal(changed, 1);
    wp_store_close(store);
}

/* Names of 63 bytes, the most, that differ in the last one: as channels they would be cut. */
static void test_channel__long_names_that_begin_alike__wake_nobody_else(void **state)
{
    pg_place *p = *state;
    char names[2][64];
    wp_store *stores[2];
    wpt_gate gate;
    wp_worker *worker;
    for (int i = 0; i < 2; i++) {
        memset(names[i], 's', 63);
        names[i][62] = (char)('1' + i);
        names[i][63] = '\0';
        stores[i] = wpt_store(p->url, NULL,
                              WPT_OPTIONS("store.schema", names[i], "worker.poll_min_ms", "3600000",
                                          "worker.poll_max_ms", "3600000", "worker.reap_ms", "10"));
    }
    assert_string_not_equal(wp__store_channel(stores[0]), wp__store_channel(stores[1]));
    wpt_gate_init(&gate);
    wpt_gate_open(&gate, SIZE_MAX);
    worker = fault_worker(stores[0], "t", pass, &gate);
    MUST_OK(wp_worker_start(worker, 1, &must_err));
    AWAIT(wp_worker_counter(worker, WP_COUNTER_WAKES) > 0); /* the channel was tried */
    pg_exec(p->db, "LISTEN %s", wp__store_channel(stores[0]));
    pg_exec(p->db, "LISTEN %s", wp__store_channel(stores[1]));
    for (int i = 0; i < 2; i++)
        (void)fault_enqueue(stores[1], "t", "1");
    for (bool heard = false;
         !heard;) { /* the signal of this store, and before it none of the other */
        PGnotify *notify;
        MUST(PQconsumeInput(p->db));
        while ((notify = PQnotifies(p->db))) {
            heard = true;
            assert_string_equal(notify->relname, wp__store_channel(stores[1]));
            PQfreemem(notify);
        }
    }
    (void)fault_enqueue(stores[0], "t", "1");
    AWAIT(wpt_gate_passed(&gate) == 1);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wpt_gate_fini(&gate);
    wp_store_close(stores[0]);
    wp_store_close(stores[1]);
}

/* ---- listening ---------------------------------------------------------------------------- */

/* Polls would come once an hour. */
static void test_listener__killed__listens_again(void **state)
{
    pg_place *p = *state;
    wp_store *store = fault_store(
        p->url, "worker.poll_min_ms=3600000 worker.poll_max_ms=3600000 worker.reap_ms=3600000");
    wp_store *other = fault_store(p->url, "");
    wpt_gate gate;
    wp_worker *worker;
    wpt_gate_init(&gate);
    wpt_gate_open(&gate, SIZE_MAX);
    worker = fault_worker(store, "t", pass, &gate);
    MUST_OK(wp_worker_start(worker, 1, &must_err));
    for (unsigned round = 1; round <= 5; round++) {
        (void)fault_enqueue(other, "t", "1");
        AWAIT(wpt_gate_passed(&gate) == round);
        AWAIT(pg_number(p->db, PG_UNFINISHED) == 0);
        AWAIT(
            pg_number(p->db,
                      "SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity WHERE "
                      "datname = "
                      "current_database() AND query LIKE 'LISTEN %%' OR pid IN (SELECT pid FROM "
                      "pg_stat_activity WHERE datname = current_database() AND application_name = "
                      "'waypost')") > 0);
    }
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wpt_gate_fini(&gate);
    wp_store_close(store);
    wp_store_close(other);
}

/* The pump is always about to run a statement: signals come in with the answers. Polls would come once an
 * hour. */
static void test_listener__signals_with_the_answers_to_statements__are_heard(void **state)
{
    enum { ROUNDS = FAULT_ROUNDS(200) };
    pg_place *p = *state;
    wp_store *store = fault_store(
        p->url, "worker.poll_min_ms=3600000 worker.poll_max_ms=3600000 worker.reap_ms=10");
    wp_store *other = fault_store(p->url, "");
    wpt_gate gate;
    wp_worker *worker;
    wpt_gate_init(&gate);
    wpt_gate_open(&gate, SIZE_MAX);
    worker = fault_worker(store, "t", pass, &gate);
    MUST_OK(wp_worker_start(worker, 1, &must_err));
    for (unsigned round = 1; round <= ROUNDS; round++) {
        (void)fault_enqueue(other, "t", "1");
        AWAIT(wpt_gate_passed(&gate) == round);
    }
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wpt_gate_fini(&gate);
    wp_store_close(store);
    wp_store_close(other);
}

/* ---- plans -------------------------------------------------------------------------------- */

static void enqueue_batch(wp_store *store, int count)
{
    wp_message **messages = calloc((size_t)count, sizeof(wp_message *));
    wp_id *ids = calloc((size_t)count, sizeof *ids);
    MUST(messages && ids);
    for (int i = 0; i < count; i++)
        messages[i] = fault_message("t", "1");
    MUST_OK(wp_outbox_enqueue_many(ids, NULL, store, NULL, (const wp_message *const *)messages,
                                   (size_t)count, &must_err));
    for (int i = 0; i < count; i++)
        wp_message_free(messages[i]);
    free(messages);
    free(ids);
}

/* Rows of finished messages cannot go while somebody reads an old snapshot. Claims stay right, read by
 * indexes alone, and do not read what is finished again and again. */
static void test_old_snapshot__held_while_thousands_finish__claims_stay_cheap(void **state)
{
    enum { COUNT = 3000 };
    pg_place *p = *state;
    wp_store *store =
        fault_store(p->url, "worker.concurrency=50 worker.batch_size=50 store.signals=false");
    PGconn *reader = wpt_pg_connect(p->url);
    wpt_gate gate;
    wp_worker *worker;
    int64_t scans;
    wpt_gate_init(&gate);
    wpt_gate_open(&gate, SIZE_MAX);
    for (int i = 0; i < 3; i++)
        enqueue_batch(store, COUNT / 3);
    pg_exec(
        p->db,
        "UPDATE infra.outbox_work SET next_attempt_at = next_attempt_at - 10000000 + seq * 1000");
    pg_exec(p->db, "VACUUM infra.outbox_work"); /* a millisecond apart */
    pg_exec(p->db, "SELECT pg_stat_force_next_flush()");
    pg_exec(reader, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM infra.outbox LIMIT 1");
    scans = pg_number(
        p->db,
        "SELECT seq_scan FROM pg_stat_user_tables WHERE relid = 'infra.outbox_work'::regclass");
    worker = fault_worker(store, "t", pass, &gate);
    MUST_OK(wp_worker_start(worker, 4, &must_err));
    AWAIT(wp_worker_counter(worker, WP_COUNTER_ACKED) == COUNT);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    assert_int_equal(wpt_gate_passed(&gate), COUNT);
    wp_worker_free(worker);
    wp_store_close(store); /* its sessions end, and tell what they have read */
    AWAIT(pg_number(p->db, "SELECT n_tup_del FROM pg_stat_user_tables WHERE relid = "
                           "'infra.outbox_work'::regclass") == COUNT);
    assert_int_equal(
        pg_number(
            p->db,
            "SELECT seq_scan FROM pg_stat_user_tables WHERE relid = 'infra.outbox_work'::regclass"),
        scans);
    assert_in_range(pg_number(p->db, "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE "
                                     "indexrelid = 'infra.outbox_work_ready'::regclass"),
                    COUNT, 10 * COUNT);
    wpt_gate_fini(&gate);
    PQfinish(reader);
}

/* The sum of rows that the nodes of a plan gave or left out, in all their loops. */
static int64_t rows_of_plan(PGconn *pg, const char *explain)
{
    PGresult *plan = PQexec(pg, explain);
    int64_t sum = 0;
    double loops = 1;
    if (PQresultStatus(plan) != PGRES_TUPLES_OK)
        fail_msg("%s", PQerrorMessage(pg));
    for (int i = 0; i < PQntuples(plan); i++) {
        const char *line = PQgetvalue(plan, i, 0);
        const char *actual = strstr(line, "(actual rows=");
        const char *removed = strstr(line, "Rows Removed by ");
        double rows;
        if (actual && sscanf(actual, "(actual rows=%lf loops=%lf", &rows, &loops) == 2)
            sum += (int64_t)(rows * loops);
        else if (removed && (removed = strchr(removed, ':')))
            sum += (int64_t)(strtod(removed + 1, NULL) * loops);
    }
    PQclear(plan);
    return sum;
}

/* What the statement that finishes claims goes through for so many. */
static int64_t rows_to_finish(PGconn *pg, const wp_store *store, int count)
{
    const wp__sql_text *text =
        wp__sql_get(wp__store_sql(store), WP__SQL_OUTBOX_FINISH, WP_PARAM_NUMERIC);
    wp__buf sql = {0};
    char claims[160];
    PGresult *result;
    int64_t rows;
    (void)snprintf(
        claims, sizeof claims,
        "SELECT json_object_agg(seq, claim_number), min(owner_token::text) FROM (SELECT * FROM "
        "infra.outbox_work ORDER BY seq LIMIT %d) AS w",
        count);
    result = PQexec(pg, claims);
    MUST(PQresultStatus(result) == PGRES_TUPLES_OK);
    wp__buf_text(&sql, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE finish(");
    for (size_t i = 0; i < text->param_count; i++) {
        const int which = text->params[i];
        wp__buf_text(&sql, i ? ", " : "");
        if (which == WP__P_CLAIMS || which == WP__P_OWNER)
            wp__buf_fmt(&sql, "'%s'", PQgetvalue(result, 0, which == WP__P_OWNER));
        else
            wp__buf_text(&sql, which == WP__P_STATUS     ? "2"
                               : which == WP__P_ATTEMPTS ? "0"
                                                         : "NULL");
    }
    wp__buf_text(&sql, ")");
    PQclear(result);
    pg_exec(pg, "BEGIN");
    rows = rows_of_plan(pg, sql.data);
    pg_exec(pg, "ROLLBACK");
    wp__buf_free(&sql);
    return rows;
}

/* Ten times as many take ten times as much. */
static void test_finish__many_claims__reads_each_once(void **state)
{
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "store.signals=false");
    wp__buf prepare = {0};
    int64_t few;
    enqueue_batch(store, 1000);
    wp_claim_free(wpt_claim(store, 1, 1000, 60000));
    wpt_pg_exec(p->db, wp__engine_postgresql.steady);
    wp__buf_fmt(&prepare, "PREPARE finish AS %s",
                wp__sql_get(wp__store_sql(store), WP__SQL_OUTBOX_FINISH, WP_PARAM_NUMERIC)->text);
    wpt_pg_exec(p->db, prepare.data);
    few = rows_to_finish(p->db, store, 100);
    assert_in_range(few, 100, 1000);
    assert_in_range(rows_to_finish(p->db, store, 1000), 1000, 11 * few);
    wp__buf_free(&prepare);
    wp_store_close(store);
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
        WITH_PG(test_settings__lock_timeout_of_the_database__ends_the_wait),
        WITH_PG(test_rights__on_rows_alone__are_enough),
        WITH_PG(test_rights__of_the_calls_alone__are_enough_for_those),
        WITH_PG(test_sequence__past_what_other_types_hold__works),
        WITH_PG(test_claim_number__past_what_other_types_hold__works),
        WITH_PG(test_channel__long_names_that_begin_alike__wake_nobody_else),
        WITH_PG(test_listener__killed__listens_again),
        WITH_PG(test_listener__signals_with_the_answers_to_statements__are_heard),
        WITH_PG(test_old_snapshot__held_while_thousands_finish__claims_stay_cheap),
        WITH_PG(test_finish__many_claims__reads_each_once),
        WITH_PG(test_encoding__of_the_apps_connection_is_not_utf8__is_refused_until_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, NULL, 0, suite);
}
