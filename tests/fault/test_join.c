/* SPDX-License-Identifier: Apache-2.0 */
/* Joins whose workers are killed at any moment, and on servers what meets in two transactions. */
#include "pg.h"

#include "base/thread.h"
#include "support/wpt_mariadb.h"

enum { JOINS = FAULT_ROUNDS(1000), KILLS = FAULT_ROUNDS(20) };

/* A lease is over soon, is looked for at once, and never uses the message up. */
static const char brief[] =
    "worker.lease_ms=100 worker.reap_ms=10 worker.poll_min_ms=1 worker.poll_max_ms=5 "
    "worker.batch_size=16 worker.backoff_base_ms=1 worker.backoff_max_ms=1 "
    "worker.max_attempts=1000000";

/* ---- killed workers ----------------------------------------------------------------------- */

/* Every fifth fails, every third is tried twice. */
static wp_outcome step(wp_delivery *delivery, void *user)
{
    const wp_received *m = wp_delivery_message(delivery);
    const int number = atoi(wp_received_payload(NULL, m));
    (void)user;
    fault_nap_us(fault_random(1000));
    if (number % 5 == 0)
        return WP_OUTCOME_REJECT;
    return number % 3 == 0 && wp_received_attempt(m) == 0 ? WP_OUTCOME_RETRY : WP_OUTCOME_DONE;
}

/* What waits for a join is given out when that is over, and not before. */
static wp_outcome look(wp_delivery *delivery, void *user)
{
    wp_store *store = user;
    wp_join_info *info = NULL;
    wp_id join;
    bool over;
    MUST_OK(
        wp_id_parse(&join, wp_received_correlation_id(wp_delivery_message(delivery)), &must_err));
    MUST_OK(wp_join_get(&info, store, &join, &must_err));
    over = wp_join_info_status(info) != WP_JOIN_OPEN;
    wp_join_info_free(info);
    fault_nap_us(fault_random(1000));
    return over ? WP_OUTCOME_DONE : WP_OUTCOME_REJECT;
}

static int play_worker(const char *path, const char *argument)
{
    wp_store *store = fault_store(path, brief);
    wp_worker *worker = fault_worker(store, "step", step, NULL);
    (void)argument;
    MUST_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, WP_JOIN_WAIT_TOPIC, look, store, NULL,
                             &must_err));
    parent_tell();
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    parent_await_end();
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wp_store_close(store);
    return 0;
}

/* The joins that message `i` is a member of. */
static int joins_of(int i, int which[2])
{
    which[0] = i;
    which[1] = (i * 7 + 3) % JOINS;
    return which[1] == i ? 1 : 2;
}

static wp_id start_join(wp_store *store, int number, int64_t expected)
{
    wp_join *join = NULL;
    char text[16];
    wp_message *ok, *bad;
    wp_id id;
    (void)snprintf(text, sizeof text, "%d", number);
    ok = fault_message("ok", text);
    bad = fault_message("bad", text);
    MUST_OK(wp_join_new(&join, expected, &must_err));
    MUST_OK(wp_join_set_fail_if_any(join, number % 2, &must_err));
    MUST_OK(wp_join_set_success(join, ok, &must_err));
    MUST_OK(wp_join_set_failure(join, bad, &must_err));
    MUST_OK(wp_join_start(&id, store, NULL, join, &must_err));
    wp_message_free(ok);
    wp_message_free(bad);
    wp_join_free(join);
    return id;
}

static void start_joins(wp_store *store, wp_id *joins)
{
    int *expected = calloc(JOINS, sizeof *expected);
    MUST(expected);
    for (int i = 0; i < JOINS; i++) {
        int which[2];
        const int count = joins_of(i, which);
        for (int j = 0; j < count; j++)
            expected[which[j]]++;
    }
    for (int i = 0; i < JOINS; i++)
        joins[i] = start_join(store, i, expected[i]);
    free(expected);
}

/* For each join a message waits. */
static void start_waiters(wp_store *store, const wp_id *joins)
{
    for (int i = 0; i < JOINS; i++) {
        char id[37], payload[64];
        wp_message *message;
        wp_id made;
        wp_id_format(id, &joins[i]);
        (void)snprintf(payload, sizeof payload, "{\"join\": \"%s\"}", id);
        message = fault_message(WP_JOIN_WAIT_TOPIC, payload);
        MUST_OK(wp_message_set_correlation_id(message, id, &must_err));
        MUST_OK(wp_outbox_enqueue(&made, NULL, store, NULL, message, &must_err));
        wp_message_free(message);
    }
}

/* Half of them are members from the start, the others become so while they may be being finished. */
static void send_step(wp_store *store, const wp_id *joins, int number)
{
    char text[16];
    wp_message *message;
    int which[2];
    const int count = joins_of(number, which);
    const bool at_once = fault_random(2);
    wp_id id;
    (void)snprintf(text, sizeof text, "%d", number);
    message = fault_message("step", text);
    for (int j = 0; at_once && j < count; j++)
        MUST_OK(wp_message_add_join(message, &joins[which[j]], &must_err));
    MUST_OK(wp_outbox_enqueue(&id, NULL, store, NULL, message, &must_err));
    wp_message_free(message);
    for (int j = 0; !at_once && j < count; j++)
        MUST_OK(wp_join_attach(NULL, store, NULL, &joins[which[j]], &id, 1, &must_err));
}

typedef int64_t number_fn(const char *url, const char *sql);

static int64_t number_sqlite(const char *url, const char *sql)
{
    return count_of(url, sql);
}

static int64_t number_pg(const char *url, const char *sql)
{
    PGconn *pg = wpt_pg_connect(url);
    const int64_t number = pg_number(pg, "SELECT (%s)", sql);
    PQfinish(pg);
    return number;
}

static int64_t number_mariadb(const char *url, const char *sql)
{
    SQLHDBC dbc = wpt_mariadb_connect(url);
    const int64_t number = wpt_odbc_number(dbc, sql);
    wpt_odbc_close(dbc);
    return number;
}

/* P is what names begin with. What is true at any moment: the counters are what the members say, and no
 * member says other than its message; and of a join that is over: its message is there. */
#define TORN(P)                                                                                    \
    "SELECT (SELECT count(*) FROM " P "join j WHERE completed + failed > expected OR "             \
    "completed <> (SELECT count(*) FROM " P "join_member m WHERE m.join_seq = j.seq AND "          \
    "m.status = 1) OR failed <> (SELECT count(*) FROM " P "join_member m WHERE m.join_seq = "      \
    "j.seq AND m.status = 2)) + (SELECT count(*) FROM " P "join_member m JOIN " P                  \
    "outbox_finished f ON f.seq = m.seq WHERE m.status <> CASE f.status WHEN 2 THEN 1 ELSE 2 "     \
    "END) + (SELECT count(*) FROM " P "join j WHERE (status = 0) <> (completed + failed < "        \
    "expected) OR (status <> 0) <> EXISTS (SELECT 1 FROM " P "join_next n JOIN " P "outbox o "     \
    "ON o.id = n.id WHERE n.join_seq = j.seq AND n.status = j.status))"
#define OPEN(P) "SELECT count(*) FROM " P "join WHERE status = 0"
#define WRONG_END(P)                                                                               \
    "SELECT count(*) FROM " P "join WHERE status <> CASE WHEN fail_if_any = 1 AND failed > 0 "     \
    "THEN 2 ELSE 1 END"
/* Of those that wait: not handled yet; and given out while the join was open. */
#define WAITING(P)                                                                                 \
    "SELECT count(*) FROM " P "outbox o JOIN " P "outbox_work w ON w.seq = o.seq WHERE o.topic = " \
    "'join.wait'"
#define WAITED(P)                                                                                  \
    "SELECT count(*) FROM " P "outbox o JOIN " P "outbox_finished f ON f.seq = o.seq WHERE "       \
    "o.topic = 'join.wait' AND f.status = 2"
#define NEXT(P) "SELECT count(*) FROM " P "outbox WHERE topic IN ('ok', 'bad')"
#define NEXT_OF(P) "SELECT count(DISTINCT payload) FROM " P "outbox WHERE topic IN ('ok', 'bad')"

typedef struct questions {
    number_fn *number;
    const char *torn, *open, *wrong_end, *next, *next_of, *waiting, *waited;
} questions;

#define QUESTIONS(NUMBER, P)                                                                       \
    {                                                                                              \
        NUMBER, TORN(P), OPEN(P), WRONG_END(P), NEXT(P), NEXT_OF(P), WAITING(P), WAITED(P)         \
    }

static void kill_workers(const char *url, const questions *q)
{
    wp_store *store = fault_store(url, brief);
    wp_id *joins = calloc(JOINS, sizeof *joins);
    child workers[2];
    MUST(joins);
    start_joins(store, joins);
    start_waiters(store, joins);
    for (int i = 0; i < 2; i++)
        workers[i] = child_start("worker", url, "");
    for (int k = 0; k < KILLS; k++) {
        MUST(child_hear(&workers[k % 2]));
        for (int i = k * (JOINS / KILLS); i < (k + 1) * (JOINS / KILLS); i++)
            send_step(store, joins, i);
        child_kill(&workers[k % 2]);
        assert_int_equal(q->number(url, q->torn), 0);
        workers[k % 2] = child_start("worker", url, "");
    }
    AWAIT(q->number(url, q->open) == 0);
    AWAIT(q->number(url, q->waiting) == 0);
    for (int i = 0; i < 2; i++)
        assert_ended_well(&workers[i]);
    assert_int_equal(q->number(url, q->torn), 0);
    assert_int_equal(q->number(url, q->wrong_end), 0);
    assert_int_equal(q->number(url, q->waited), JOINS);
    assert_int_equal(q->number(url, q->next), JOINS);
    assert_int_equal(q->number(url, q->next_of), JOINS);
    free(joins);
    wp_store_close(store);
}

/* proves: JOIN-020..034, JOIN-040..043, JOIN-050..057, JOIN-060..092 */
static void test_killed__workers_of_a_thousand_joins__each_goes_on_once(void **state)
{
    static const questions q = QUESTIONS(number_sqlite, "infra_");
    const place *p = *state;
    kill_workers(p->path, &q);
}

/* proves: JOIN-020..034, JOIN-040..043, JOIN-050..057, JOIN-060..092 */
static void test_killed__on_postgresql__each_goes_on_once(void **state)
{
    static const questions q = QUESTIONS(number_pg, "infra.");
    const pg_place *p = *state;
    kill_workers(p->url, &q);
}

typedef struct maria {
    char url[256];
    SQLHDBC dbc;
    wp_store *store;
} maria;

static maria maria_open(void)
{
    maria m;
    wpt_mariadb_name(m.url, sizeof m.url, "join");
    m.dbc = wpt_mariadb_create(m.url, sizeof m.url, NULL);
    m.store = fault_store_at(m.url);
    return m;
}

static void maria_close(maria *m)
{
    wp_store_close(m->store);
    wpt_mariadb_release();
}

/* proves: JOIN-020..034, JOIN-040..043, JOIN-050..057, JOIN-060..092 */
static void test_killed__on_mariadb__each_goes_on_once(void **state)
{
    static const questions q = QUESTIONS(number_mariadb, "infra_");
    maria m = maria_open();
    (void)state;
    kill_workers(m.url, &q);
    maria_close(&m);
}

/* ---- two transactions ---------------------------------------------------------------------- */

/* An app's connection, and what it does on a thread. */
typedef struct app {
    PGconn *pg;
    wp_store *store;
    wp_conn *conn;
    wp_id owner, message, join;
    bool attaches;
    wp_id others[2]; /* that are attached, too */
    size_t other_count;
    wp_status status;
    size_t changed;
    int retriable;
    wp__thread thread;
} app;

static void app_begin(app *a, const pg_place *p, wp_store *store, const char *begin)
{
    *a = (app){.store = store};
    memset(&a->owner, 1, sizeof a->owner);
    a->pg = wpt_pg_connect(p->url);
    a->conn = pg_lend(store, a->pg);
    pg_exec(a->pg, "%s", begin);
}

static void app_end(app *a)
{
    wp_conn_free(a->conn);
    PQfinish(a->pg);
}

static void *act(void *arg)
{
    app *a = arg;
    const wp_id all[] = {a->message, a->others[0], a->others[1]};
    wp_error *err = NULL;
    a->status = a->attaches ? wp_join_attach(&a->changed, a->store, a->conn, &a->join, all,
                                             1 + a->other_count, &err)
                            : wp_outbox_ack(&a->changed, a->store, a->conn, &a->owner, &a->message,
                                            NULL, 1, "w", &err);
    a->retriable = wp_error_retriable(err);
    wp_error_free(err);
    return NULL;
}

/* `a` is at it in the background until it waits for another one's lock. */
static void act_until_it_waits(app *a, const pg_place *p)
{
    MUST_OK(wp__thread_start(&a->thread, "app", act, a, &must_err));
    AWAIT(pg_number(p->db, PG_WAITING) == 1);
}

static void commit(app *a)
{
    pg_exec(a->pg, "COMMIT");
}

static const char repeatable[] = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1";
static const char serializable[] = "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT 1";

/* Two claimed messages. */
static void claim_two(wp_store *store, wp_id ids[2])
{
    wp_claim *claim = NULL;
    wp_id owner;
    memset(&owner, 1, sizeof owner);
    for (int i = 0; i < 2; i++)
        ids[i] = fault_enqueue(store, "step", "x");
    MUST_OK(wp_outbox_claim(&claim, store, &owner, NULL, 0, 10, 60000, &must_err));
    assert_int_equal(wp_claim_count(claim), 2);
    wp_claim_free(claim);
}

static void check_over(const pg_place *p, wp_store *store, const wp_id *join)
{
    wp_join_info *info = NULL;
    MUST_OK(wp_join_get(&info, store, join, &must_err));
    assert_int_equal(wp_join_info_status(info), WP_JOIN_COMPLETED);
    assert_int_equal(wp_join_info_completed(info), 2);
    wp_join_info_free(info);
    assert_int_equal(pg_number(p->db, "SELECT count(*) FROM infra.outbox WHERE topic = 'ok'"), 1);
}

/* The last two members are acked at the same moment. With an older snapshot the later one is told to try
 * again, never counted wrongly. */
/* proves: JOIN-020..034, JOIN-040..043, JOIN-060..092 */
static void test_last_two__at_the_same_moment__end_the_join_once(void **state)
{
    const pg_place *p = *state;
    wp_store *store = fault_store(p->url, "");
    const char *const begins[] = {"BEGIN", repeatable, serializable};
    for (size_t i = 0; i < 3; i++) {
        app first, second;
        wp_id ids[2];
        wp_id join = start_join(store, 0, 2);
        pg_exec(p->db, "DELETE FROM infra.outbox WHERE topic = 'ok'");
        pg_exec(p->db, "DELETE FROM infra.outbox_work WHERE topic = 'ok'");
        claim_two(store, ids);
        MUST_OK(wp_join_attach(NULL, store, NULL, &join, ids, 2, &must_err));
        app_begin(&first, p, store, begins[i]);
        app_begin(&second, p, store, begins[i]);
        first.message = ids[0];
        second.message = ids[1];
        (void)act(&first);
        assert_int_equal(first.changed, 1);
        act_until_it_waits(&second, p);
        commit(&first);
        wp__thread_join(&second.thread);
        if (i == 0) {
            assert_int_equal(second.status, WP_OK);
            commit(&second);
        } else {
            assert_int_not_equal(second.status, WP_OK);
            assert_true(second.retriable);
            pg_exec(second.pg, "ROLLBACK");
            pg_exec(second.pg, "%s", begins[i]);
            (void)act(&second);
            assert_int_equal(second.status, WP_OK);
            commit(&second);
        }
        check_over(p, store, &join);
        app_end(&first);
        app_end(&second);
    }
    wp_store_close(store);
}

/* A message is attached while it is being finished: whoever comes second waits, and it counts. */
/* proves: JOIN-010..014, JOIN-060..092 */
static void test_attach__while_it_is_finished__counts_in_either_order(void **state)
{
    const pg_place *p = *state;
    wp_store *store = fault_store(p->url, "");
    for (int i = 0; i < 3; i++) {
        app attacher, finisher;
        app *first = i == 0 ? &finisher : &attacher;
        app *second = i == 0 ? &attacher : &finisher;
        wp_id ids[2];
        wp_id join = start_join(store, 0, 2);
        pg_exec(p->db, "DELETE FROM infra.outbox WHERE topic = 'ok'");
        pg_exec(p->db, "DELETE FROM infra.outbox_work WHERE topic = 'ok'");
        claim_two(store, ids);
        MUST_OK(wp_join_attach(NULL, store, NULL, &join, &ids[1], 1, &must_err));
        app_begin(&attacher, p, store, "BEGIN");
        app_begin(&finisher, p, store, i == 2 ? repeatable : "BEGIN");
        attacher.attaches = true;
        attacher.join = join;
        attacher.message = finisher.message = ids[0];
        (void)act(first);
        assert_int_equal(first->status, WP_OK);
        act_until_it_waits(second, p);
        commit(first);
        wp__thread_join(&second->thread);
        if (i == 2) { /* its snapshot does not know of the member */
            assert_int_not_equal(second->status, WP_OK);
            assert_true(second->retriable);
            pg_exec(second->pg, "ROLLBACK");
            pg_exec(second->pg, "BEGIN");
            (void)act(second);
        }
        assert_int_equal(second->status, WP_OK);
        commit(second);
        app_end(&attacher);
        app_end(&finisher);
        app_begin(&finisher, p, store, "BEGIN");
        finisher.message = ids[1];
        (void)act(&finisher);
        assert_int_equal(finisher.changed, 1);
        commit(&finisher);
        check_over(p, store, &join);
        app_end(&finisher);
    }
    wp_store_close(store);
}

static void replay(wp_store *store, const wp_id *id)
{
    wp_dead_filter *filter = NULL;
    size_t count = 0;
    MUST_OK(wp_dead_filter_new(&filter, &must_err));
    MUST_OK(wp_dead_filter_set_ids(filter, id, 1, &must_err));
    MUST_OK(wp_dead_replay(&count, store, WP_SOURCE_OUTBOX, filter, 10, 0, "x", &must_err));
    assert_int_equal(count, 1);
    wp_dead_filter_free(filter);
}

/* Two dead letters are replayed while they are attached, the second one after those that were replayed by then
 * had been looked for: it is a member that waits like any other. */
/* proves: JOIN-010..014, JOIN-060..092 */
static void test_attach__while_dead_letters_are_replayed__none_is_overlooked(void **state)
{
    static const char lock[] =
        "BEGIN; SELECT 1 FROM infra.outbox_work WHERE topic = '%s' FOR UPDATE";
    static const char *const topics[] = {"t0", "t1", "t2"};
    const pg_place *p = *state;
    wp_store *store = fault_store(p->url, "");
    wp_id join = start_join(store, 0, 5), ids[3], owner;
    PGconn *locks[2] = {wpt_pg_connect(p->url), wpt_pg_connect(p->url)};
    wp_claim *claim = NULL;
    size_t changed = 0;
    app a;
    memset(&owner, 1, sizeof owner);
    for (int i = 0; i < 3; i++)
        ids[i] = fault_enqueue(store, topics[i], "x");
    for (int i = 1; i < 3; i++) {
        MUST_OK(wp_outbox_claim(&claim, store, &owner, &topics[i], 1, 10, 60000, &must_err));
        wp_claim_free(claim);
        MUST_OK(wp_outbox_fail(NULL, store, NULL, &owner, &ids[i], NULL, 1, "no", &must_err));
    }
    app_begin(&a, p, store, "BEGIN");
    a.attaches = true;
    a.join = join;
    a.message = ids[0];
    memcpy(a.others, &ids[1], sizeof a.others);
    a.other_count = 2;
    pg_exec(locks[0], lock, topics[0]);
    act_until_it_waits(&a, p);
    replay(store, &ids[2]);
    pg_exec(locks[1], lock, topics[2]);
    pg_exec(locks[0], "COMMIT");
    AWAIT(pg_number(p->db, PG_WAITING " AND %d = ANY (pg_blocking_pids(pid))",
                    PQbackendPID(locks[1])) == 1);
    replay(store, &ids[1]);
    pg_exec(locks[1], "COMMIT");
    wp__thread_join(&a.thread);
    assert_int_equal(a.status, WP_OK);
    assert_int_equal(a.changed, 3);
    /* nobody finishes it before it is known that it counts */
    MUST_OK(wp_outbox_claim(&claim, store, &owner, &topics[1], 1, 10, 60000, &must_err));
    assert_int_equal(wp_claim_count(claim), 0);
    wp_claim_free(claim);
    commit(&a);
    for (int i = 1; i < 3; i++) {
        MUST_OK(wp_outbox_claim(&claim, store, &owner, &topics[i], 1, 10, 60000, &must_err));
        assert_int_equal(wp_claim_count(claim), 1);
        wp_claim_free(claim);
        MUST_OK(wp_outbox_ack(&changed, store, NULL, &owner, &ids[i], NULL, 1, "w", &must_err));
        assert_int_equal(changed, 1);
    }
    assert_int_equal(pg_number(p->db, "SELECT completed FROM infra.join"), 2);
    app_end(&a);
    PQfinish(locks[0]);
    PQfinish(locks[1]);
    wp_store_close(store);
}

/* ---- two transactions on MariaDB ----------------------------------------------------------- */

/* An app's connection, in a transaction that has looked at the tables already. */
typedef struct maria_app {
    SQLHDBC dbc;
    wp_store *store;
    wp_conn *conn;
    wp_id message, join;
    bool attaches;
    wp_status status;
    size_t changed;
    wp__thread thread;
} maria_app;

static void maria_begin(maria_app *a, const maria *m, const char *isolation)
{
    char sql[96];
    *a = (maria_app){.store = m->store, .dbc = wpt_mariadb_connect(m->url)};
    (void)snprintf(sql, sizeof sql, "SET SESSION TRANSACTION ISOLATION LEVEL %s", isolation);
    wpt_odbc_exec(a->dbc, sql);
    MUST_OK(wp_conn_borrow_odbc(&a->conn, m->store, a->dbc, &must_err));
    wpt_odbc_exec(a->dbc, "BEGIN");
    (void)wpt_odbc_number(a->dbc, "SELECT COUNT(*) FROM infra_migration");
}

static void maria_commit(maria_app *a)
{
    wpt_odbc_exec(a->dbc, "COMMIT");
    wp_conn_free(a->conn);
    wpt_odbc_close(a->dbc);
}

static void *maria_act(void *arg)
{
    maria_app *a = arg;
    wp_id owner;
    memset(&owner, 1, sizeof owner);
    a->status = a->attaches
                    ? wp_join_attach(&a->changed, a->store, a->conn, &a->join, &a->message, 1, NULL)
                    : wp_outbox_ack(&a->changed, a->store, a->conn, &owner, &a->message, NULL, 1,
                                    "w", NULL);
    return NULL;
}

/* The server looks anew when nobody has asked for a tenth of a second. */
static bool maria_waits(const maria *m)
{
    fault_nap_us(150000);
    return wpt_odbc_number(m->dbc, "SELECT COUNT(*) FROM information_schema.innodb_trx t"
                                   " JOIN information_schema.processlist p"
                                   " ON p.id = t.trx_mysql_thread_id"
                                   " WHERE t.trx_state = 'LOCK WAIT' AND p.db = DATABASE()") == 1;
}

static void maria_act_until_it_waits(maria_app *a, const maria *m)
{
    MUST_OK(wp__thread_start(&a->thread, "app", maria_act, a, &must_err));
    AWAIT(maria_waits(m));
}

static void maria_check_over(const maria *m, const wp_id *join)
{
    wp_join_info *info = NULL;
    MUST_OK(wp_join_get(&info, m->store, join, &must_err));
    assert_int_equal(wp_join_info_status(info), WP_JOIN_COMPLETED);
    assert_int_equal(wp_join_info_completed(info), 2);
    wp_join_info_free(info);
    assert_int_equal(
        wpt_odbc_number(m->dbc, "SELECT COUNT(*) FROM infra_outbox WHERE topic = 'ok'"), 1);
    wpt_odbc_exec(m->dbc, "DELETE FROM infra_outbox_work WHERE topic = 'ok'");
    wpt_odbc_exec(m->dbc, "DELETE FROM infra_outbox WHERE topic = 'ok'");
}

static const char *const levels[] = {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"};

/* The last two members are acked at the same moment: the later one waits, and counts, whatever it had seen. */
/* proves: JOIN-020..034, JOIN-040..043, JOIN-060..092 */
static void test_last_two__on_mariadb_at_the_same_moment__end_the_join_once(void **state)
{
    maria m = maria_open();
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        maria_app first, second;
        wp_id ids[2];
        wp_id join = start_join(m.store, 0, 2);
        claim_two(m.store, ids);
        MUST_OK(wp_join_attach(NULL, m.store, NULL, &join, ids, 2, &must_err));
        maria_begin(&first, &m, levels[i]);
        maria_begin(&second, &m, levels[i]);
        first.message = ids[0];
        second.message = ids[1];
        (void)maria_act(&first);
        assert_int_equal(first.changed, 1);
        maria_act_until_it_waits(&second, &m);
        maria_commit(&first);
        wp__thread_join(&second.thread);
        assert_int_equal(second.status, WP_OK);
        assert_int_equal(second.changed, 1);
        maria_commit(&second);
        maria_check_over(&m, &join);
    }
    maria_close(&m);
}

/* A message is attached while it is being finished: whoever comes second waits, and it counts, also where its
 * transaction sees the tables as they were before. */
/* proves: JOIN-010..014, JOIN-060..092 */
static void test_attach__on_mariadb_while_it_is_finished__counts_in_either_order(void **state)
{
    maria m = maria_open();
    (void)state;
    for (int i = 0; i < 6; i++) {
        maria_app attacher, finisher;
        maria_app *first = i % 2 ? &attacher : &finisher;
        maria_app *second = i % 2 ? &finisher : &attacher;
        wp_id ids[2];
        wp_id join = start_join(m.store, 0, 2);
        claim_two(m.store, ids);
        MUST_OK(wp_join_attach(NULL, m.store, NULL, &join, &ids[1], 1, &must_err));
        maria_begin(&attacher, &m, levels[i / 2]);
        maria_begin(&finisher, &m, levels[i / 2]);
        attacher.attaches = true;
        attacher.join = join;
        attacher.message = finisher.message = ids[0];
        (void)maria_act(first);
        assert_int_equal(first->status, WP_OK);
        maria_act_until_it_waits(second, &m);
        maria_commit(first);
        wp__thread_join(&second->thread);
        assert_int_equal(second->status, WP_OK);
        assert_int_equal(second->changed, 1);
        maria_commit(second);
        maria_begin(&finisher, &m, levels[i / 2]);
        finisher.message = ids[1];
        (void)maria_act(&finisher);
        assert_int_equal(finisher.changed, 1);
        maria_commit(&finisher);
        maria_check_over(&m, &join);
    }
    maria_close(&m);
}

/* Apps enqueue members of one join, and finish others, each in a transaction that stays open: none waits for another,
 * and no worker for one of them. */
/* proves: JOIN-010..014, JOIN-060..092 */
static void test_members__on_mariadb_enqueued_in_open_transactions__hold_up_nobody(void **state)
{
    maria m = maria_open();
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        maria_app apps[2];
        wp_id ids[2], own;
        wp_id join = start_join(m.store, 0, 6);
        claim_two(m.store, ids);
        MUST_OK(wp_join_attach(NULL, m.store, NULL, &join, ids, 2, &must_err));
        for (int k = 0; k < 2; k++)
            maria_begin(&apps[k], &m, levels[i]);
        for (int k = 0; k < 4; k++) {
            wp_message *message = fault_message("later", "x");
            MUST_OK(wp_message_add_join(message, &join, &must_err));
            MUST_OK(wp_outbox_enqueue(&own, NULL, m.store, apps[k % 2].conn, message, &must_err));
            wp_message_free(message);
        }
        for (int k = 0; k < 2; k++) {
            maria_app worker = {.store = m.store, .message = ids[k]};
            (void)maria_act(&worker);
            assert_int_equal(worker.status, WP_OK);
            assert_int_equal(worker.changed, 1);
        }
        for (int k = 0; k < 2; k++)
            maria_commit(&apps[k]);
        assert_int_equal(
            wpt_odbc_number(m.dbc, "SELECT COUNT(*) FROM infra_join_member m JOIN infra_join j"
                                   " ON j.seq = m.join_seq WHERE j.status = 0"),
            6 * (int64_t)(i + 1));
        assert_int_equal(
            wpt_odbc_number(m.dbc, "SELECT SUM(completed) FROM infra_join WHERE status = 0"),
            2 * (int64_t)(i + 1));
        wpt_odbc_exec(m.dbc, "DELETE FROM infra_outbox_work"); /* none is claimed the next time */
    }
    maria_close(&m);
}

/* A join that was started since the app's transaction has looked is not in its view, and is cancelled all the same. */
/* proves: JOIN-060..092 */
static void test_cancel__on_mariadb_in_an_older_view__ends_the_join(void **state)
{
    maria m = maria_open();
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        maria_app late;
        int cancelled = 0;
        wp_id join;
        maria_begin(&late, &m, levels[i]);
        join = start_join(m.store, 0, 2);
        MUST_OK(wp_join_cancel(&cancelled, m.store, late.conn, &join, &must_err));
        assert_int_equal(cancelled, 1);
        maria_commit(&late);
        assert_int_equal(wpt_odbc_number(m.dbc, "SELECT COUNT(*) FROM infra_join WHERE status = 0"),
                         0);
    }
    maria_close(&m);
}

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DATABASE(test_killed__workers_of_a_thousand_joins__each_goes_on_once),
        WITH_PG(test_killed__on_postgresql__each_goes_on_once),
        cmocka_unit_test(test_killed__on_mariadb__each_goes_on_once),
        cmocka_unit_test(test_last_two__on_mariadb_at_the_same_moment__end_the_join_once),
        cmocka_unit_test(test_attach__on_mariadb_while_it_is_finished__counts_in_either_order),
        cmocka_unit_test(test_cancel__on_mariadb_in_an_older_view__ends_the_join),
        cmocka_unit_test(test_members__on_mariadb_enqueued_in_open_transactions__hold_up_nobody),
        WITH_PG(test_last_two__at_the_same_moment__end_the_join_once),
        WITH_PG(test_attach__while_it_is_finished__counts_in_either_order),
        WITH_PG(test_attach__while_dead_letters_are_replayed__none_is_overlooked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    static const role roles[] = {{"worker", play_worker}};
    return fault_main(argc, argv, roles, sizeof roles / sizeof roles[0], suite);
}
