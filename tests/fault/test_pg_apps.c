/* SPDX-License-Identifier: Apache-2.0 */
/* Apps on PostgreSQL that get in each other's way, and processes of theirs that are killed. */
#include "pg.h"

#include <signal.h>

#include "base/thread.h"
#include "db/store.h"

/* ---- errors in the app's transaction ------------------------------------------------------ */

/* An app in its transaction, on a connection that it has lent. */
typedef struct app {
    wp_store *store;
    PGconn *pg;
    wp_conn *conn;
    const char *key; /* what it enqueues next */
    char sqlstate[6];
    bool retriable, unknown;
} app;

static void app_start(app *a, const pg_place *p, wp_store *store, const char *begin)
{
    *a = (app){.store = store, .pg = wpt_pg_connect(p->url)};
    a->conn = pg_lend(store, a->pg);
    pg_exec(a->pg, "SET deadlock_timeout = '10ms'");
    pg_exec(a->pg, "%s", begin);
}

static void app_quit(app *a)
{
    wp_conn_free(a->conn);
    PQfinish(a->pg);
}

/* Enqueue with a unique key, and keep what came of it. */
static void *app_enqueue_key(void *arg)
{
    app *a = arg;
    wp_message *message = fault_message("t", "1");
    wp_error *err = NULL;
    wp_id id;
    MUST_OK(wp_message_set_unique_key(message, a->key, &must_err));
    a->sqlstate[0] = '\0';
    if (wp_outbox_enqueue(&id, NULL, a->store, a->conn, message, &err) != WP_OK)
        (void)snprintf(a->sqlstate, sizeof a->sqlstate, "%s", wp_error_sqlstate(err));
    a->retriable = wp_error_retriable(err);
    a->unknown = wp_error_outcome_unknown(err);
    wp_error_free(err);
    wp_message_free(message);
    return NULL;
}

/* It failed as it would have without us: the transaction waits to be rolled back. */
static void check_failed(app *a, const char *sqlstate)
{
    assert_string_equal(a->sqlstate, sqlstate);
    assert_true(a->retriable);
    assert_false(a->unknown);
    assert_int_equal(PQtransactionStatus(a->pg), PQTRANS_INERROR);
    pg_exec(a->pg, "ROLLBACK");
}

/* proves: OBX-082 */
static void test_deadlock__of_two_apps__one_is_told_to_try_again(void **state)
{
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "store.signals=false");
    wp__thread thread = {0};
    app a, b;
    app *lost;
    app_start(&a, p, store, "BEGIN");
    app_start(&b, p, store, "BEGIN");
    a.key = "a";
    (void)app_enqueue_key(&a);
    b.key = "b";
    (void)app_enqueue_key(&b);
    a.key = "b";
    MUST_OK(wp__thread_start(&thread, "a", app_enqueue_key, &a, &must_err));
    AWAIT(pg_number(p->db, PG_WAITING) == 1);
    b.key = "a";
    (void)app_enqueue_key(&b);
    lost = *b.sqlstate ? &b : &a;
    if (lost == &b)
        check_failed(&b, "40P01");
    else
        pg_exec(b.pg, "COMMIT");
    wp__thread_join(&thread);
    if (lost == &a)
        check_failed(&a, "40P01");
    else
        pg_exec(a.pg, "COMMIT");
    assert_int_equal(pg_number(p->db, PG_ALL), 2);
    app_quit(&a);
    app_quit(&b);
    wp_store_close(store);
}

/* proves: OBX-082 */
static void test_serialization__key_taken_since_the_snapshot__is_told_to_try_again(void **state)
{
    static const char *const levels[] = {"REPEATABLE READ", "SERIALIZABLE"};
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "store.signals=false");
    for (size_t i = 0; i < WPT_COUNT(levels); i++) {
        app early, late;
        app_start(&early, p, store, "BEGIN");
        app_start(&late, p, store, "BEGIN");
        pg_exec(late.pg, "SET TRANSACTION ISOLATION LEVEL %s; SELECT 1", levels[i]);
        late.key = early.key = levels[i];
        (void)app_enqueue_key(&early);
        pg_exec(early.pg, "COMMIT");
        (void)app_enqueue_key(&late);
        check_failed(&late, "40001");
        app_quit(&early);
        app_quit(&late);
    }
    assert_int_equal(pg_number(p->db, PG_ALL), WPT_COUNT(levels));
    wp_store_close(store);
}

static void test_timeout__of_the_apps_statement_or_lock__is_told_to_try_again(void **state)
{
    static const char *const cases[][2] = {{"SET statement_timeout = 50", "57014"},
                                           {"SET lock_timeout = 50", "55P03"}};
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "store.signals=false");
    pg_exec(p->db, "BEGIN; LOCK TABLE infra.outbox_work");
    for (size_t i = 0; i < WPT_COUNT(cases); i++) {
        app a;
        app_start(&a, p, store, "BEGIN");
        pg_exec(a.pg, "%s", cases[i][0]);
        a.key = "k";
        (void)app_enqueue_key(&a);
        check_failed(&a, cases[i][1]);
        app_quit(&a);
    }
    pg_exec(p->db, "ROLLBACK");
    assert_int_equal(pg_number(p->db, PG_ALL), 0);
    wp_store_close(store);
}

/* An app enqueued and acked, and thinks: only what is its own waits. */
static void test_idle_app__in_its_transaction__nobody_else_waits(void **state)
{
    enum { OTHERS = 30 };
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "worker.reap_ms=20");
    pg_handling handling = {.store = store, .history = history_open(p->files.path)};
    const wp_id owner = wpt_owner(1);
    wp_id held = fault_enqueue(store, "t", "0");
    wp_message *message = fault_message("t", "1");
    wp_worker *worker;
    wp_id id;
    app a;
    (void)wpt_claim_one(store, 1, &held, 10); /* expires while it is locked */
    app_start(&a, p, store, "BEGIN");
    MUST_OK(wp_outbox_ack(NULL, store, a.conn, &owner, &held, NULL, 1, NULL, &must_err));
    MUST_OK(wp_message_set_ordering_key(message, "k", &must_err));
    MUST_OK(wp_outbox_enqueue(&id, NULL, store, a.conn, message, &must_err));
    for (int i = 2; i < OTHERS + 2; i++) {
        wp_message *other;
        char number[16];
        (void)snprintf(number, sizeof number, "%d", i);
        other = fault_message("t", number);
        MUST_OK(wp_message_set_ordering_key(other, i % 2 ? "k" : NULL, &must_err));
        MUST_OK(wp_outbox_enqueue(&id, NULL, store, NULL, other, &must_err));
        wp_message_free(other);
    }
    worker = fault_worker(store, "t", pg_handle, &handling);
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    AWAIT(pg_number(p->db, PG_DONE) == OTHERS);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_ERRORS), 0);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_REAPED), 0);
    pg_exec(a.pg, "COMMIT");
    AWAIT(pg_number(p->db, PG_DONE) == OTHERS + 2);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    pg_check_history(p->files.path, OTHERS + 2);
    assert_int_equal(history_count(p->files.path, 'b'), OTHERS + 1);
    app_quit(&a);
    wp_message_free(message);
    pg_handling_end(&handling);
    wp_store_close(store);
}

/* Messages that count as finished already, by a foreign hand: the inbox's are ended (an older library left
 * such ones behind), the outbox's are left, and hold up nobody. */
/* proves: WRK-002, IBX-099 */
static void test_worker__finished_rows_that_are_there__hold_up_nobody(void **state)
{
    enum { OTHERS = 10 };
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "");
    pg_handling handling = {.store = store, .history = history_open(p->files.path)};
    wp_worker *worker = fault_worker(store, "t", pg_handle, &handling);
    wp_inbox_key *key = NULL;
    wp_message *message = fault_message("t", "0");
    MUST_OK(wp_worker_handle(worker, WP_SOURCE_INBOX, "t", pg_handle, &handling, NULL, &must_err));
    MUST_OK(wp_inbox_key_new(&key, "src", "1", &must_err));
    MUST_OK(wp_inbox_enqueue(NULL, NULL, NULL, store, NULL, key, message, &must_err));
    pg_enqueue_numbers(store, "t", 1, 1);
    pg_exec(p->db, "INSERT INTO infra.inbox_finished SELECT seq, 3, 0, 0, 1 FROM infra.inbox;"
                   "INSERT INTO infra.outbox_finished SELECT seq, 3, 0, 0, 1 FROM infra.outbox");
    pg_enqueue_numbers(store, "t", 2, OTHERS);
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    AWAIT(pg_number(p->db, PG_DONE) == OTHERS);
    AWAIT(pg_number(p->db, "SELECT count(*) FROM infra.inbox_finished WHERE status = 2") == 1);
    pg_enqueue_numbers(store, "t", OTHERS + 2, OTHERS);
    AWAIT(pg_number(p->db, PG_DONE) == 2 * OTHERS);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    assert_int_equal(pg_number(p->db, PG_UNFINISHED), 1);
    assert_int_equal(pg_number(p->db, "SELECT count(*) FROM infra.inbox_work"), 0);
    wp_worker_free(worker);
    wp_message_free(message);
    wp_inbox_key_free(key);
    pg_handling_end(&handling);
    wp_store_close(store);
}

/* ---- what workers and rows are told ------------------------------------------------------- */

/* A message that comes again with a delay is due at one instant, whatever the server's clock says between
 * two statements. */
/* proves: IBX-001 */
static void test_inbox__comes_again_with_a_delay__is_due_at_one_time(void **state)
{
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "store.signals=false");
    wp_message *message = fault_message("t", "0");
    wp_inbox_key *key = NULL;
    MUST_OK(wp_message_set_delay_ms(message, 1000000, &must_err));
    MUST_OK(wp_inbox_key_new(&key, "src", "1", &must_err));
    for (int i = 0; i < 2; i++) {
        MUST_OK(wp_inbox_enqueue(NULL, NULL, NULL, store, NULL, key, message, &must_err));
        assert_int_equal(pg_number(p->db,
                                   "SELECT m.due_at - w.next_attempt_at FROM infra.inbox AS m "
                                   "JOIN infra.inbox_work AS w ON w.seq = m.seq"),
                         0);
    }
    wp_inbox_key_free(key);
    wp_message_free(message);
    wp_store_close(store);
}

static bool was_told(PGconn *listener)
{
    PGnotify *told;
    MUST(PQconsumeInput(listener));
    told = PQnotifies(listener);
    PQfreemem(told);
    return told != NULL;
}

/* What an app marks in its transaction may be work: workers hear of it with the commit. */
/* proves: WRK-002, IBX-099 */
static void test_marks__in_the_apps_transaction__are_announced(void **state)
{
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "");
    wp_message *message = fault_message("t", "0");
    wp_inbox_key *key = NULL;
    app a;
    MUST_OK(wp_inbox_key_new(&key, "src", "1", &must_err));
    MUST_OK(wp_inbox_enqueue(NULL, NULL, NULL, store, NULL, key, message, &must_err));
    for (int i = 0; i < 2; i++) {
        PGconn *listener;
        app_start(&a, p, store, "BEGIN");
        listener = wpt_pg_connect(p->url);
        pg_exec(listener, "LISTEN \"%s\"", wp__store_channel(store));
        if (i)
            MUST_OK(wp_inbox_revive(store, a.conn, key, &must_err));
        else
            MUST_OK(wp_inbox_mark_dead(store, a.conn, key, "no", &must_err));
        assert_false(was_told(listener));
        pg_exec(a.pg, "COMMIT");
        AWAIT(was_told(listener));
        PQfinish(listener);
        app_quit(&a);
    }
    wp_inbox_key_free(key);
    wp_message_free(message);
    wp_store_close(store);
}

/* An ack by hand lets the next message of its ordering key go: workers hear of it with the app's commit, and
 * of nothing else. Jobs that are put and triggered are told, too; what ends is not. */
/* proves: WRK-002, BND-002 */
static void test_acks_and_jobs__in_the_apps_transaction__are_announced(void **state)
{
    enum { ACK_KEYED, ACK_PLAIN, PUT, TRIGGER, DELETE, CALLS };
    static const bool tells[CALLS] = {[ACK_KEYED] = true, [PUT] = true, [TRIGGER] = true};
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "store.signals=false");
    wp_store *loud = fault_store(p->url, "");
    const wp_id owner = wpt_owner(1);
    wp_message *message = fault_message("t", "0");
    wp_claim *claim = NULL;
    wp_id ids[2];
    wp_job *job = NULL;
    MUST_OK(wp_outbox_enqueue(&ids[1], NULL, store, NULL, message, &must_err));
    MUST_OK(wp_message_set_ordering_key(message, "k", &must_err));
    MUST_OK(wp_outbox_enqueue(&ids[0], NULL, store, NULL, message, &must_err));
    MUST_OK(wp_outbox_claim(&claim, store, &owner, NULL, 0, 9, 600000, &must_err));
    assert_int_equal(wp_claim_count(claim), 2);
    wp_claim_free(claim);
    MUST_OK(wp_job_new(&job, "j", "t", "x", 1, &must_err));
    MUST_OK(wp_job_set_schedule(job, "@yearly", NULL, &must_err));
    for (int i = 0; i < CALLS; i++) {
        PGconn *listener = wpt_pg_connect(p->url);
        size_t changed = 1;
        app a;
        pg_exec(listener, "LISTEN \"%s\"", wp__store_channel(loud));
        app_start(&a, p, loud, "BEGIN");
        if (i == ACK_KEYED || i == ACK_PLAIN)
            MUST_OK(
                wp_outbox_ack(&changed, loud, a.conn, &owner, &ids[i], NULL, 1, NULL, &must_err));
        else if (i == PUT)
            MUST_OK(wp_job_put_in(loud, a.conn, job, &must_err));
        else if (i == TRIGGER)
            MUST_OK(wp_job_trigger_in(NULL, loud, a.conn, "j", &must_err));
        else
            MUST_OK(wp_job_delete_in(NULL, loud, a.conn, "j", &must_err));
        assert_int_equal(changed, 1);
        assert_false(was_told(listener));
        pg_exec(a.pg, "COMMIT");
        if (tells[i])
            AWAIT(was_told(listener));
        else /* what it had been told would be there with the answer */
            pg_exec(listener, "SELECT 1");
        assert_false(was_told(listener));
        PQfinish(listener);
        app_quit(&a);
    }
    wp_job_free(job);
    wp_message_free(message);
    wp_store_close(loud);
    wp_store_close(store);
}

/* ---- ordering keys ------------------------------------------------------------------------ */

enum { WRITERS = 4, KEYS = 3, EACH = FAULT_ROUNDS(150) };

typedef struct writer {
    const pg_place *p;
    wp_store *store;
    int first;
    wp__thread thread;
} writer;

/* Its messages one after another, each in a transaction that commits late. */
static void *write_keys(void *arg)
{
    const writer *w = arg;
    app a;
    app_start(&a, w->p, w->store, "SELECT 1");
    for (int number = w->first; number < w->first + EACH; number++) {
        char text[16];
        wp_message *message;
        wp_id id;
        (void)snprintf(text, sizeof text, "%d", number);
        message = fault_message("t", text);
        (void)snprintf(text, sizeof text, "k%u", fault_random(KEYS));
        MUST_OK(wp_message_set_ordering_key(message, text, &must_err));
        pg_exec(a.pg, "BEGIN");
        MUST_OK(wp_outbox_enqueue(&id, NULL, w->store, a.conn, message, &must_err));
        fault_nap_us(fault_random(3000));
        pg_exec(a.pg, "COMMIT");
        wp_message_free(message);
    }
    app_quit(&a);
    return NULL;
}

static wp_outcome handle_or_retry(wp_delivery *delivery, void *user)
{
    (void)pg_handle(delivery, user);
    return fault_random(10) == 0 ? WP_OUTCOME_RETRY : WP_OUTCOME_DONE;
}

/* No two of a key at once; and of one writer none before an earlier one was done with. */
static void check_order(const char *path)
{
    char busy[KEYS] = {0};
    int64_t last[KEYS][WRITERS] = {{0}};
    size_t count = 0;
    event *events = history_read(&count, path);
    for (size_t i = 0; i < count; i++) {
        const event *e = &events[i];
        int key = e->key[1] - '0';
        assert_int_equal(busy[key], e->what == 'e');
        busy[key] = e->what == 'b';
        assert_true(e->number >= last[key][e->number / EACH]);
        last[key][e->number / EACH] = e->number;
    }
    free(events);
}

/* proves: ORD-001 */
static void test_ordering__late_commits_and_retries__keys_stay_in_order(void **state)
{
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "worker.backoff_base_ms=1 worker.backoff_max_ms=3 "
                                          "worker.poll_max_ms=20 worker.max_attempts=1000");
    pg_handling handling = {.store = store, .history = history_open(p->files.path), .work_us = 500};
    wp_worker *workers[2];
    writer writers[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer){.p = p, .store = store, .first = i * EACH};
        MUST_OK(wp__thread_start(&writers[i].thread, "writer", write_keys, &writers[i], &must_err));
    }
    for (int i = 0; i < 2; i++) {
        workers[i] = fault_worker(store, "t", handle_or_retry, &handling);
        MUST_OK(wp_worker_start(workers[i], 3, &must_err));
    }
    for (int i = 0; i < WRITERS; i++)
        wp__thread_join(&writers[i].thread);
    AWAIT(pg_number(p->db, PG_DONE) == WRITERS * EACH);
    for (int i = 0; i < 2; i++) {
        MUST_OK(wp_worker_stop(NULL, workers[i], PATIENCE_MS, &must_err));
        wp_worker_free(workers[i]);
    }
    check_order(p->files.path);
    pg_handling_end(&handling);
    wp_store_close(store);
}

/* ---- processes ---------------------------------------------------------------------------- */

static int play_deployer(const char *url, const char *argument)
{
    wp_config *config = fault_config(url, "");
    (void)argument;
    parent_tell();
    parent_await_end(); /* so that all begin at once */
    MUST_OK(wp_schema_deploy(config, &must_err));
    wp_config_free(config);
    return 0;
}

/* proves: SDP-001 */
static void test_deploy__16_processes_at_once__one_schema(void **state)
{
    pg_place *p = *state;
    child children[16];
    int64_t tables = pg_number(
        p->db, "SELECT count(*) FROM pg_class WHERE relnamespace = 'infra'::regnamespace");
    pg_exec(p->db, "DROP SCHEMA infra CASCADE");
    for (size_t i = 0; i < WPT_COUNT(children); i++)
        children[i] = child_start("deployer", p->url, "");
    for (size_t i = 0; i < WPT_COUNT(children); i++)
        MUST(child_hear(&children[i]));
    for (size_t i = 0; i < WPT_COUNT(children); i++) {
        (void)close(children[i].in);
        children[i].in = -1;
    }
    for (size_t i = 0; i < WPT_COUNT(children); i++)
        assert_int_equal(child_wait(&children[i]), 0);
    assert_int_equal(
        pg_number(p->db,
                  "SELECT count(*) FROM pg_class WHERE relnamespace = 'infra'::regnamespace"),
        tables);
    assert_int_equal(
        pg_number(p->db, "SELECT count(*) - count(DISTINCT number) FROM infra.migration"), 0);
}

/* `path` is of the history. */
static int play_worker(const char *url, const char *path)
{
    wp_store *store =
        fault_store(url, "worker.lease_ms=300 worker.reap_ms=20 worker.poll_min_ms=1 "
                         "worker.poll_max_ms=20 worker.backoff_base_ms=1 worker.backoff_max_ms=1 "
                         "worker.max_attempts=1000000");
    pg_handling handling = {
        .store = store, .url = url, .history = history_open(path), .work_us = 3000};
    wp_worker *worker = fault_worker(store, "t", pg_handle_once, &handling);
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    parent_tell();
    parent_await_end();
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    pg_handling_end(&handling);
    wp_store_close(store);
    return 0;
}

/* Each claim of a message was handled once at most, and in the order of their numbers. */
static void check_claims(const char *path, int total)
{
    int64_t *last = calloc((size_t)total, sizeof *last);
    size_t count = 0;
    event *events = history_read(&count, path);
    MUST(last);
    for (size_t i = 0; i < count; i++) {
        if (events[i].what != 'b')
            continue;
        assert_in_range(events[i].number, 0, total - 1);
        assert_true(events[i].claim > last[events[i].number]);
        last[events[i].number] = events[i].claim;
    }
    free(events);
    free(last);
}

/* proves: OBX-113, OBX-114 */
static void test_workers_killed__round_after_round__effects_happen_once(void **state)
{
    enum { KILLS = FAULT_ROUNDS(20) + 2, BATCH = 10 };
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "");
    child survivor = child_start("worker", p->url, p->files.path);
    for (int i = 0; i < KILLS; i++) {
        child victim = child_start("worker", p->url, p->files.path);
        MUST(child_hear(&victim));
        pg_enqueue_numbers(store, "t", i * BATCH, BATCH);
        fault_nap_us(fault_random(10000));
        child_kill(&victim);
    }
    AWAIT(pg_number(p->db, PG_DONE) == KILLS * BATCH);
    assert_ended_well(&survivor);
    assert_int_equal(pg_number(p->db, PG_UNFINISHED), 0);
    pg_check_effects(p->db, KILLS * BATCH);
    check_claims(p->files.path, KILLS * BATCH);
    wp_store_close(store);
}

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PG(test_deadlock__of_two_apps__one_is_told_to_try_again),
        WITH_PG(test_serialization__key_taken_since_the_snapshot__is_told_to_try_again),
        WITH_PG(test_timeout__of_the_apps_statement_or_lock__is_told_to_try_again),
        WITH_PG(test_idle_app__in_its_transaction__nobody_else_waits),
        WITH_PG(test_worker__finished_rows_that_are_there__hold_up_nobody),
        WITH_PG(test_inbox__comes_again_with_a_delay__is_due_at_one_time),
        WITH_PG(test_marks__in_the_apps_transaction__are_announced),
        WITH_PG(test_acks_and_jobs__in_the_apps_transaction__are_announced),
        WITH_PG(test_ordering__late_commits_and_retries__keys_stay_in_order),
        WITH_PG(test_deploy__16_processes_at_once__one_schema),
        WITH_PG(test_workers_killed__round_after_round__effects_happen_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    static const role roles[] = {{"deployer", play_deployer}, {"worker", play_worker}};
    return fault_main(argc, argv, roles, WPT_COUNT(roles), suite);
}
