/* SPDX-License-Identifier: Apache-2.0 */
/* The inbox: checks, messages enqueued and handled, and process-once, beside the same statements in a
 * plain loop. */
#include <stdio.h>

#include "base/heap.h"
#include "base/thread.h"
#include "bench.h"
#include "op/engine.h"

enum { COUNT = 4000, BATCH = 500, THREADS = 16, LEASE_US = 30000000 };

static double rate(size_t count, int64_t started)
{
    return (double)count * 1e6 / (double)(bench_now_us() - started);
}

/* ---- the same by plain libsqlite3 --------------------------------------------------------- */

typedef struct raw_inbox {
    sqlite3 *db;
    sqlite3_stmt *begin, *commit, *order;
    sqlite3_stmt *check, *enqueue, *add_work, *settle, *claim, *read, *finish;
    wp_id owner;
    char seqs[BATCH * 24], claims[BATCH * 24];
} raw_inbox;

static sqlite3_stmt *prepare(sqlite3 *db, const wp__sql_set *set, wp__sql_id id)
{
    return bench_prepare(db, wp__sql_get(set, id, WP_PARAM_NAMED)->text);
}

static void raw_open(raw_inbox *raw, const char *path)
{
    static const wp__sql_names names = {.schema = "infra", .outbox = "outbox", .inbox = "inbox"};
    wp__sql_set *set = NULL;
    wp_error *err = NULL;
    *raw = (raw_inbox){.db = bench_connect(path)};
    wp__heap_settle();
    wp_id_new(&raw->owner);
    bench_exec(raw->db, "CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER, note TEXT)");
    bench_ok(wp__sql_set_new(&set, wp__engine_sqlite.statements, &names, &err), &err, "statements");
    bench_ok(wp__sql_set_style(set, WP_PARAM_NAMED, &err), &err, "statements");
    raw->begin = bench_prepare(raw->db, "BEGIN IMMEDIATE");
    raw->commit = bench_prepare(raw->db, "COMMIT");
    raw->order = bench_prepare(raw->db, "INSERT INTO orders (total, note) VALUES (4711, 'a note')");
    raw->check = prepare(raw->db, set, WP__SQL_INBOX_CHECK);
    raw->enqueue = prepare(raw->db, set, WP__SQL_INBOX_ENQUEUE);
    raw->add_work = prepare(raw->db, set, WP__SQL_INBOX_ADD_WORK);
    raw->settle = prepare(raw->db, set, WP__SQL_INBOX_SETTLE);
    raw->claim = prepare(raw->db, set, WP__SQL_INBOX_CLAIM);
    raw->read = prepare(raw->db, set, WP__SQL_INBOX_READ_CLAIMED);
    raw->finish = prepare(raw->db, set, WP__SQL_INBOX_FINISH);
    wp__sql_set_free(set);
    bench_bind_text(raw->claim, ":topics", "[\"" BENCH_TOPIC "\"]");
    bench_bind_int(raw->claim, ":lease", LEASE_US);
    bench_bind_int(raw->claim, ":batch", BATCH);
    bench_bind_int(raw->claim, ":max_attempts", 10);
    bench_bind_int(raw->finish, ":status", 2);
    bench_bind_int(raw->finish, ":attempts", 0);
    bench_bind_text(raw->finish, ":worker", "bench");
    bench_bind_int(raw->settle, ":status", 2);
    for (int i = 0; i < 2; i++)
        (void)sqlite3_bind_blob(
            i ? raw->claim : raw->finish,
            sqlite3_bind_parameter_index(i ? raw->claim : raw->finish, ":owner"), &raw->owner,
            sizeof raw->owner, SQLITE_STATIC);
}

static void raw_close(raw_inbox *raw)
{
    sqlite3_stmt *const all[] = {raw->begin,    raw->commit, raw->order, raw->check, raw->enqueue,
                                 raw->add_work, raw->settle, raw->claim, raw->read,  raw->finish};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        (void)sqlite3_finalize(all[i]);
    (void)sqlite3_close(raw->db);
}

/* Its number. */
static int64_t raw_arrive(sqlite3_stmt *statement, int number)
{
    char key[16];
    wp_id id;
    int64_t seq;
    (void)snprintf(key, sizeof key, "%d", number);
    wp_id_new(&id);
    (void)sqlite3_bind_blob(statement, sqlite3_bind_parameter_index(statement, ":id"), &id,
                            sizeof id, SQLITE_STATIC);
    bench_bind_text(statement, ":source", "bench");
    bench_bind_text(statement, ":message_id", key);
    bench_bind_text(statement, ":consumer", "");
    bench_bind_text(statement, ":topic", BENCH_TOPIC);
    (void)sqlite3_bind_text(statement, sqlite3_bind_parameter_index(statement, ":payload"),
                            bench_payload(), BENCH_PAYLOAD, SQLITE_STATIC);
    bench_bind_int(statement, ":delay", 0);
    bench_bind_int(statement, ":now", bench_utc_us());
    if (sqlite3_step(statement) != SQLITE_ROW)
        bench_die("an arrival tells nothing");
    seq = sqlite3_column_int64(statement, 1);
    while (sqlite3_step(statement) == SQLITE_ROW) {
    }
    bench_sqlite(sqlite3_reset(statement), sqlite3_db_handle(statement), "arrive");
    return seq;
}

/* Step a statement through all of its rows; how many. */
static size_t raw_rows(sqlite3_stmt *statement)
{
    size_t rows = 0;
    while (sqlite3_step(statement) == SQLITE_ROW)
        rows++;
    bench_sqlite(sqlite3_reset(statement), sqlite3_db_handle(statement), "rows");
    return rows;
}

/* ---- checks ------------------------------------------------------------------------------- */

static wp_inbox_key *key_of(int number)
{
    wp_inbox_key *key = NULL;
    wp_error *err = NULL;
    char id[16];
    (void)snprintf(id, sizeof id, "%d", number);
    bench_ok(wp_inbox_key_new(&key, "bench", id, &err), &err, "key");
    return key;
}

static void check(wp_store *store, int number)
{
    wp_inbox_key *key = key_of(number);
    wp_inbox_state found;
    wp_error *err = NULL;
    bench_ok(wp_inbox_check(&found, NULL, store, NULL, key, &err), &err, "check");
    wp_inbox_key_free(key);
}

/* *arg: how many times each is checked before. */
static double own_check(void *arg)
{
    bench_db db;
    double result;
    int64_t started;
    bench_db_new(&db);
    for (int i = 0; *(const int *)arg && i < COUNT; i++)
        check(db.store, i);
    started = bench_now_us();
    for (int i = 0; i < COUNT; i++)
        check(db.store, i);
    result = rate(COUNT, started);
    bench_db_drop(&db);
    return result;
}

static double raw_check(void *arg)
{
    bench_db db;
    raw_inbox raw;
    double result;
    int64_t started;
    bench_db_new(&db);
    raw_open(&raw, db.path);
    for (int i = 0; *(const int *)arg && i < COUNT; i++)
        (void)raw_arrive(raw.check, i);
    started = bench_now_us();
    for (int i = 0; i < COUNT; i++)
        (void)raw_arrive(raw.check, i);
    result = rate(COUNT, started);
    raw_close(&raw);
    bench_db_drop(&db);
    return result;
}

static void *check_one_key(void *arg)
{
    for (int i = 0; i < COUNT / THREADS; i++)
        check(arg, 0);
    return NULL;
}

static double own_one_key(void *arg)
{
    bench_db db;
    wp__thread threads[THREADS];
    wp_error *err = NULL;
    double result;
    int64_t started;
    (void)arg;
    bench_db_new(&db);
    started = bench_now_us();
    for (int i = 0; i < THREADS; i++)
        bench_ok(wp__thread_start(&threads[i], "check", check_one_key, db.store, &err), &err,
                 "thread");
    for (int i = 0; i < THREADS; i++)
        wp__thread_join(&threads[i]);
    result = rate(COUNT, started);
    bench_db_drop(&db);
    return result;
}

/* ---- enqueued and handled ----------------------------------------------------------------- */

static wp_outcome done(wp_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return WP_OUTCOME_DONE;
}

static double own_handle(void *arg)
{
    bench_db db;
    wp_worker *worker = NULL;
    wp_message *message = NULL;
    wp_error *err = NULL;
    double result;
    int64_t started;
    (void)arg;
    bench_db_new(&db);
    bench_ok(wp_message_new(&message, BENCH_TOPIC, bench_payload(), BENCH_PAYLOAD, &err), &err,
             "message");
    started = bench_now_us();
    for (int i = 0; i < COUNT; i++) {
        wp_inbox_key *key = key_of(i);
        bench_ok(wp_inbox_enqueue(NULL, NULL, NULL, db.store, NULL, key, message, &err), &err,
                 "enqueue");
        wp_inbox_key_free(key);
    }
    bench_ok(wp_worker_new(&worker, db.store, NULL, &err), &err, "worker");
    bench_ok(wp_worker_handle(worker, WP_SOURCE_INBOX, BENCH_TOPIC, done, NULL, NULL, &err), &err,
             "handle");
    bench_ok(wp_worker_start(worker, 1, &err), &err, "start");
    while (wp_worker_counter(worker, WP_COUNTER_ACKED) < COUNT)
        bench_sleep_us(200);
    result = rate(COUNT, started);
    bench_ok(wp_worker_stop(NULL, worker, 60000, &err), &err, "stop");
    wp_worker_free(worker);
    wp_message_free(message);
    bench_db_drop(&db);
    return result;
}

static void raw_enqueue(raw_inbox *raw, int number)
{
    bench_step(raw->begin);
    bench_bind_int(raw->add_work, ":number", raw_arrive(raw->enqueue, number));
    bench_bind_int(raw->add_work, ":now", bench_utc_us());
    bench_step(raw->add_work);
    bench_step(raw->commit);
}

/* Claim and read a batch in one transaction, and end it in another; how many. */
static size_t raw_batch(raw_inbox *raw)
{
    size_t count = 0, seqs = 0, claims = 0;
    bench_step(raw->begin);
    bench_bind_int(raw->claim, ":now", bench_utc_us());
    while (sqlite3_step(raw->claim) == SQLITE_ROW) {
        const long long seq = sqlite3_column_int64(raw->claim, 0);
        seqs += (size_t)sprintf(raw->seqs + seqs, "%s%lld", count ? "," : "[", seq);
        claims += (size_t)sprintf(raw->claims + claims, "%s\"%lld\":1", count ? "," : "{", seq);
        count++;
    }
    bench_sqlite(sqlite3_reset(raw->claim), raw->db, "claim");
    (void)sprintf(raw->seqs + seqs, "]");
    (void)sprintf(raw->claims + claims, "}");
    bench_bind_text(raw->read, ":seqs", raw->seqs);
    if (!count || raw_rows(raw->read) != count)
        bench_die("claimed %zu messages", count);
    bench_step(raw->commit);
    bench_bind_text(raw->finish, ":claims", raw->claims);
    bench_bind_int(raw->finish, ":now", bench_utc_us());
    return raw_rows(raw->finish);
}

static double raw_handle(void *arg)
{
    bench_db db;
    raw_inbox raw;
    double result;
    int64_t started;
    size_t ended = 0;
    (void)arg;
    bench_db_new(&db);
    raw_open(&raw, db.path);
    started = bench_now_us();
    for (int i = 0; i < COUNT; i++)
        raw_enqueue(&raw, i);
    while (ended < COUNT)
        ended += raw_batch(&raw);
    result = rate(COUNT, started);
    raw_close(&raw);
    bench_db_drop(&db);
    return result;
}

/* ---- process-once ------------------------------------------------------------------------- */

static double own_once(void *arg)
{
    bench_db db;
    raw_inbox app; /* for its connection */
    wp_conn *conn = NULL;
    wp_error *err = NULL;
    double result;
    int64_t started;
    (void)arg;
    bench_db_new(&db);
    raw_open(&app, db.path);
    bench_ok(wp_conn_borrow_sqlite(&conn, db.store, app.db, &err), &err, "lend");
    started = bench_now_us();
    for (int i = 0; i < COUNT; i++) {
        wp_inbox_key *key = key_of(i);
        int proceed = 0;
        bench_step(app.begin);
        bench_ok(wp_inbox_once(&proceed, NULL, NULL, db.store, conn, key, &err), &err, "once");
        if (!proceed)
            bench_die("a new message is not to be processed");
        bench_step(app.order);
        bench_step(app.commit);
        wp_inbox_key_free(key);
    }
    result = rate(COUNT, started);
    wp_conn_free(conn);
    raw_close(&app);
    bench_db_drop(&db);
    return result;
}

static double raw_once(void *arg)
{
    bench_db db;
    raw_inbox raw;
    double result;
    int64_t started;
    (void)arg;
    bench_db_new(&db);
    raw_open(&raw, db.path);
    started = bench_now_us();
    for (int i = 0; i < COUNT; i++) {
        bench_step(raw.begin);
        bench_bind_int(raw.settle, ":number", raw_arrive(raw.check, i));
        bench_bind_int(raw.settle, ":now", bench_utc_us());
        (void)raw_rows(raw.settle);
        bench_step(raw.order);
        bench_step(raw.commit);
    }
    result = rate(COUNT, started);
    raw_close(&raw);
    bench_db_drop(&db);
    return result;
}

void bench_inbox(void)
{
    static int new_ones = 0, known_ones = 1;
    static const struct {
        const char *name;
        bench_side sides[2];
    } cases[] = {{"checks of new messages", {{own_check, &new_ones}, {raw_check, &new_ones}}},
                 {"checks of known messages", {{own_check, &known_ones}, {raw_check, &known_ones}}},
                 {"enqueued one by one, and handled", {{own_handle, NULL}, {raw_handle, NULL}}},
                 {"processed once, with a row of the app's", {{own_once, NULL}, {raw_once, NULL}}}};
    static const bench_side one_key = {own_one_key, NULL};
    bench_samples samples;
    bench_heading("The inbox");
    bench_note("raw: the same statements in a plain loop, each arrival a transaction");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench_sample(&samples, cases[i].name, cases[i].sides, 2, bench_opt.rounds);
        bench_report_pair("inbox", cases[i].name, "messages/s", &samples, 0, 1, 0);
    }
    bench_sample(&samples, "16 threads on one key", &one_key, 1, bench_opt.rounds);
    bench_report_one("inbox", "checks by 16 threads of one key", "messages/s",
                     bench_samples_median(&samples, 0));
}
