/* SPDX-License-Identifier: Apache-2.0 */
/* On PostgreSQL: the server that WAYPOST_TEST_POSTGRESQL names, beside plain libpq, and beside other
 * job queues where --peers names them. Each sample has a database of its own. All commits are
 * synchronous, as the server's default is. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_pg.h"

/* ---- databases and stores ---- */

static const char *server(void)
{
    const char *url = getenv("WAYPOST_TEST_POSTGRESQL");
    return url && *url ? url : NULL;
}

bool bench_pg_heading(const char *title)
{
    bench_heading(title);
    if (!server())
        bench_note("left out: WAYPOST_TEST_POSTGRESQL names no server");
    return server() != NULL;
}

void bench_pg_new(char url[BENCH_PATH])
{
    static int number;
    char sql[128];
    const char *slash = strrchr(server(), '/');
    PGconn *pg = bench_pg_connect(server());
    (void)snprintf(url, BENCH_PATH, "%.*s/bench%lld_%d", (int)(slash - server()), server(),
                   (long long)bench_now_us(), number++);
    (void)snprintf(sql, sizeof sql, "CREATE DATABASE %s TEMPLATE template0", strrchr(url, '/') + 1);
    bench_pg_exec(pg, sql);
    PQfinish(pg);
}

void bench_pg_drop(const char *url)
{
    char sql[128];
    PGconn *pg = bench_pg_connect(server());
    (void)snprintf(sql, sizeof sql, "DROP DATABASE %s WITH (FORCE)", strrchr(url, '/') + 1);
    bench_pg_exec(pg, sql);
    PQfinish(pg);
}

static void set(wp_config *config, const char *key, const char *value)
{
    wp_error *err = NULL;
    bench_ok(wp_config_set(config, key, value, &err), &err, key);
}

static wp_store *open_store(const char *url)
{
    wp_config *config = NULL;
    wp_store *store = NULL;
    wp_error *err = NULL;
    bench_ok(wp_config_new(&config, &err), &err, "configuration");
    set(config, "store.url", url);
    set(config, "store.deploy", "true");
    set(config, "log.level", "error");
    bench_ok(wp_store_open(&store, config, &err), &err, "open");
    wp_config_free(config);
    return store;
}

void bench_pg_db_new(bench_db *db)
{
    bench_pg_new(db->path);
    db->store = open_store(db->path);
}

void bench_pg_db_drop(bench_db *db)
{
    wp_store_close(db->store);
    bench_pg_drop(db->path);
}

const bench_place bench_on_postgresql = {
    "postgresql ", bench_pg_heading, bench_pg_db_new, bench_pg_db_drop, NULL, NULL};

static wp_message *new_message(const char *payload)
{
    wp_message *message = NULL;
    wp_error *err = NULL;
    bench_ok(wp_message_new(&message, BENCH_TOPIC, payload, strlen(payload), &err), &err,
             "message");
    return message;
}

static double rate(size_t count, int64_t started)
{
    return (double)count * 1e6 / (double)(bench_now_us() - started);
}

/* ---- enqueue ---- */

enum { SINGLE = 1000, BATCH = 100, BATCHES = 100 };

static double own_single(void *arg)
{
    bench_db db;
    wp_error *err = NULL;
    double result;
    int64_t started;
    (void)arg;
    bench_pg_db_new(&db);
    started = bench_now_us();
    for (int i = 0; i < SINGLE; i++) {
        wp_message *message = new_message(bench_payload());
        wp_id id;
        bench_ok(wp_outbox_enqueue(&id, NULL, db.store, NULL, message, &err), &err, "enqueue");
        wp_message_free(message);
    }
    result = rate(SINGLE, started);
    bench_pg_db_drop(&db);
    return result;
}

static double raw_single(void *arg)
{
    bench_db db;
    bench_raw_pg raw;
    double result;
    int64_t started;
    (void)arg;
    bench_pg_db_new(&db);
    bench_raw_pg_open(&raw, db.path, 1);
    started = bench_now_us();
    for (int i = 0; i < SINGLE; i++)
        bench_raw_pg_enqueue(&raw);
    result = rate(SINGLE, started);
    bench_raw_pg_close(&raw);
    bench_pg_db_drop(&db);
    return result;
}

/* In a transaction of the app's, with a row of its own; by the library, or by hand. */
static double in_transaction(bool by_hand)
{
    bench_db db;
    bench_raw_pg raw;
    wp_conn *conn = NULL;
    wp_error *err = NULL;
    double result;
    int64_t started;
    bench_pg_db_new(&db);
    bench_raw_pg_open(&raw, db.path, 1);
    bench_pg_exec(raw.pg, "CREATE TABLE orders (id bigserial PRIMARY KEY, total int, note text)");
    bench_ok(wp_conn_borrow_pq(&conn, db.store, raw.pg, &err), &err, "lend");
    started = bench_now_us();
    for (int i = 0; i < SINGLE; i++) {
        bench_pg_exec(raw.pg, "BEGIN");
        bench_pg_exec(raw.pg, "INSERT INTO orders (total, note) VALUES (4711, 'a note')");
        if (by_hand) {
            bench_raw_pg_enqueue(&raw);
        } else {
            wp_message *message = new_message(bench_payload());
            wp_id id;
            bench_ok(wp_outbox_enqueue(&id, NULL, db.store, conn, message, &err), &err, "enqueue");
            wp_message_free(message);
        }
        bench_pg_exec(raw.pg, "COMMIT");
    }
    result = rate(SINGLE, started);
    wp_conn_free(conn);
    bench_raw_pg_close(&raw);
    bench_pg_db_drop(&db);
    return result;
}

static double app_single(void *arg)
{
    (void)arg;
    return in_transaction(false);
}

static double raw_app_single(void *arg)
{
    (void)arg;
    return in_transaction(true);
}

static double own_batch(void *arg)
{
    bench_db db;
    wp_message *messages[BATCH];
    wp_id ids[BATCH];
    wp_error *err = NULL;
    double result;
    int64_t started;
    (void)arg;
    bench_pg_db_new(&db);
    started = bench_now_us();
    for (int i = 0; i < BATCHES; i++) {
        for (int j = 0; j < BATCH; j++)
            messages[j] = new_message(bench_payload());
        bench_ok(wp_outbox_enqueue_many(ids, NULL, db.store, NULL,
                                        (const wp_message *const *)messages, BATCH, &err),
                 &err, "enqueue");
        for (int j = 0; j < BATCH; j++)
            wp_message_free(messages[j]);
    }
    result = rate((size_t)BATCH * BATCHES, started);
    bench_pg_db_drop(&db);
    return result;
}

static double raw_batch(void *arg)
{
    bench_db db;
    bench_raw_pg raw;
    double result;
    int64_t started;
    (void)arg;
    bench_pg_db_new(&db);
    bench_raw_pg_open(&raw, db.path, BATCH);
    started = bench_now_us();
    for (int i = 0; i < BATCHES; i++)
        bench_raw_pg_enqueue_many(&raw);
    result = rate((size_t)BATCH * BATCHES, started);
    bench_raw_pg_close(&raw);
    bench_pg_db_drop(&db);
    return result;
}

static void enqueue(void)
{
    static const struct {
        const char *name;
        bench_side sides[2];
        double aim;
    } cases[] = {
        {"1 a transaction", {{own_single, NULL}, {raw_single, NULL}}, 0.5},
        {"1 with a row of the app's, on its connection",
         {{app_single, NULL}, {raw_app_single, NULL}},
         0.5},
        {"100 a transaction", {{own_batch, NULL}, {raw_batch, NULL}}, 0.5},
    };
    bench_samples samples;
    bench_heading("PostgreSQL: enqueue");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench_sample(&samples, cases[i].name, cases[i].sides, 2, bench_opt.rounds);
        bench_report_pair("postgresql enqueue", cases[i].name, "messages/s", &samples, 0, 1,
                          cases[i].aim);
    }
}

/* ---- handlers, end to end ---- */

/* MANY: starting up takes all of them a tenth of a second, which shall not count. */
enum { COUNT = 40000, MANY = 100000, THREADS = 4 };

void bench_pg_settle(const char *url)
{
    PGconn *pg = bench_pg_connect(url);
    bench_pg_exec(pg, "VACUUM ANALYZE");
    PQfinish(pg);
}

void bench_pg_load_finished(bench_db *db, size_t count)
{
    PGconn *pg = bench_pg_connect(db->path);
    bench_progress("finishing %zu messages", count);
    bench_load(db, count);
    bench_pg_exec(pg, "WITH gone AS (DELETE FROM infra.outbox_work RETURNING seq, next_attempt_at) "
                      "INSERT INTO infra.outbox_finished (seq, status, attempt, claim_number, "
                      "finished_at, finished_by) SELECT seq, 2, 0, 1, next_attempt_at, 'bench' "
                      "FROM gone");
    PQfinish(pg);
    bench_pg_settle(db->path);
}

static double worker(void *arg)
{
    bench_db db;
    double result;
    (void)arg;
    bench_pg_db_new(&db);
    bench_load(&db, MANY);
    bench_pg_settle(db.path);
    result = bench_handle(db.store, MANY, THREADS, NULL);
    bench_pg_db_drop(&db);
    return result;
}

typedef struct puller {
    const char *url;
    size_t batch;
    size_t done;
    pthread_barrier_t *start;
} puller;

static void *pull(void *arg)
{
    puller *self = arg;
    bench_raw_pg raw;
    bench_raw_pg_open(&raw, self->url, self->batch);
    (void)pthread_barrier_wait(self->start);
    for (size_t got; (got = bench_raw_pg_claim(&raw)) > 0; self->done += got)
        bench_raw_pg_ack(&raw, got);
    bench_raw_pg_close(&raw);
    return NULL;
}

typedef struct way {
    unsigned connections;
    size_t batch;
} way;

static double statements(void *arg)
{
    enum { MOST = 4 };
    const way *how = arg;
    bench_db db;
    pthread_t threads[MOST];
    puller pullers[MOST];
    pthread_barrier_t start;
    size_t done = 0;
    int64_t started;
    double result;
    bench_pg_db_new(&db);
    bench_load(&db, MANY);
    bench_pg_settle(db.path);
    (void)pthread_barrier_init(&start, NULL, how->connections + 1);
    for (unsigned i = 0; i < how->connections; i++) {
        pullers[i] = (puller){.url = db.path, .batch = how->batch, .start = &start};
        if (pthread_create(&threads[i], NULL, pull, &pullers[i]) != 0)
            bench_die("no thread");
    }
    (void)pthread_barrier_wait(&start);
    started = bench_now_us();
    for (unsigned i = 0; i < how->connections; i++) {
        (void)pthread_join(threads[i], NULL);
        done += pullers[i].done;
    }
    result = rate(MANY, started);
    if (done != MANY)
        bench_die("the raw statements ended %zu of %d messages", done, MANY);
    (void)pthread_barrier_destroy(&start);
    bench_pg_db_drop(&db);
    return result;
}

static double peer_rate(void *arg)
{
    return bench_peer(arg, "throughput", MANY, "rate");
}

static void handlers(void)
{
    static way ways[] = {{1, 100}, {2, 100}, {2, 500}};
    static char graphile[] = "graphile";
    static char graphile_kept[] = "graphile-kept";
    static char pgboss[] = "pgboss";
    const bench_side sides[] = {{worker, NULL},         {statements, &ways[0]},
                                {statements, &ways[1]}, {statements, &ways[2]},
                                {peer_rate, graphile},  {peer_rate, graphile_kept},
                                {peer_rate, pgboss}};
    bench_samples samples;
    char name[64];
    bench_heading("PostgreSQL: handlers in C, end to end");
    bench_note("100,000 messages, 4 threads, concurrency 16, payload 300 bytes; raw: claim, ack, "
               "by libpq");
    bench_sample(&samples, "handlers", sides, bench_opt.peers ? 7 : 4, bench_opt.rounds);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "beside %u connection%s, %zu at a time",
                       ways[i].connections, ways[i].connections > 1 ? "s" : "", ways[i].batch);
        bench_report_pair("postgresql handlers", name, "messages/s", &samples, 0, i + 1,
                          ways[i].batch == 100 ? 0.8 : 0);
    }
    if (!bench_opt.peers)
        return;
    bench_note(
        "raw: a peer; graphile-worker deletes what is finished, or a trigger keeps it; pg-boss "
        "keeps it, as we do");
    bench_report_pair("postgresql handlers", "beside graphile-worker, which keeps nothing",
                      "messages/s", &samples, 0, 4, 0);
    bench_report_pair("postgresql handlers", "beside graphile-worker, finished kept", "messages/s",
                      &samples, 0, 5, 1.5);
    bench_report_pair("postgresql handlers", "beside pg-boss", "messages/s", &samples, 0, 6, 1.5);
}

/* ---- latency ---- */

enum { SENT = 300, SENT_FULL = 1000, GAP_US = 5000 };

static wp_outcome note_time(wp_delivery *delivery, void *user)
{
    (void)delivery;
    atomic_store((_Atomic int64_t *)user, bench_now_us());
    return WP_OUTCOME_DONE;
}

/* One message; returns from just before its commit to its handler, in ms. */
static double send_one(wp_store *store, wp_conn *conn, PGconn *pg, _Atomic int64_t *handled)
{
    wp_message *message = new_message("1");
    wp_error *err = NULL;
    wp_id id;
    int64_t committed;
    atomic_store(handled, 0);
    if (conn)
        bench_pg_exec(pg, "BEGIN");
    committed = bench_now_us();
    bench_ok(wp_outbox_enqueue(&id, NULL, store, conn, message, &err), &err, "enqueue");
    if (conn) {
        committed = bench_now_us();
        bench_pg_exec(pg, "COMMIT");
    }
    wp_message_free(message);
    while (!atomic_load(handled)) {
        if (bench_now_us() - committed > 60000000)
            bench_die("a message was not handled");
        bench_sleep_us(50);
    }
    return (double)(atomic_load(handled) - committed) / 1000;
}

/* The sender has a store of its own: what it tells the worker goes through the server. */
static void measure(bool app, double *p50, double *p99)
{
    enum { MOST = SENT_FULL };
    static double values[MOST];
    int count = bench_opt.full ? SENT_FULL : SENT;
    bench_db db;
    _Atomic int64_t handled = 0;
    wp_store *sender;
    wp_worker *worker_ = NULL;
    wp_conn *conn = NULL;
    wp_error *err = NULL;
    PGconn *pg;
    bench_pg_db_new(&db);
    sender = open_store(db.path);
    pg = bench_pg_connect(db.path);
    if (app)
        bench_ok(wp_conn_borrow_pq(&conn, sender, pg, &err), &err, "lend");
    bench_ok(wp_worker_new(&worker_, db.store, NULL, &err), &err, "worker");
    bench_ok(
        wp_worker_handle(worker_, WP_SOURCE_OUTBOX, BENCH_TOPIC, note_time, &handled, NULL, &err),
        &err, "handler");
    bench_ok(wp_worker_start(worker_, 2, &err), &err, "start");
    bench_sleep_us(500000); /* it listens */
    for (int i = 0; i < count; i++) {
        values[i] = send_one(sender, conn, pg, &handled);
        bench_sleep_us(GAP_US + i * 37 % 3000);
    }
    *p50 = bench_quantile(values, count, 0.5);
    *p99 = bench_quantile(values, count, 0.99);
    wp_worker_free(worker_);
    wp_conn_free(conn);
    PQfinish(pg);
    wp_store_close(sender);
    bench_pg_db_drop(&db);
}

static void latency(void)
{
    static const char *const peers[] = {"graphile", "pgboss"};
    bench_heading("PostgreSQL: latency, from before the commit to the handler");
    for (int app = 0; app < 2; app++) {
        const char *name = app ? "app's own connection" : "by enqueue";
        char text[64];
        double p50, p99;
        bench_progress("latency: %s", name);
        measure(app, &p50, &p99);
        (void)snprintf(text, sizeof text, "another store, %s, p50", name);
        bench_report_aim("postgresql latency", text, "ms", p50, 0, 3);
        (void)snprintf(text, sizeof text, "another store, %s, p99", name);
        bench_report_one("postgresql latency", text, "ms", p99);
    }
    for (int i = 0; bench_opt.peers && i < 2; i++) {
        static const char *const figures[] = {"p50", "p99"};
        for (int j = 0; j < 2; j++) {
            bench_figure f = {.group = "postgresql latency", .unit = "ms"};
            (void)snprintf(f.name, sizeof f.name, "%s, %s", peers[i], figures[j]);
            f.raw = bench_peer(peers[i], "latency", SENT, figures[j]);
            bench_report(&f);
        }
    }
}

/* ---- an old snapshot ---- */

/* COUNT messages as fast as it goes; returns their rate. */
static double burst(bench_db *db)
{
    bench_load(db, COUNT);
    return bench_handle(db->store, COUNT, THREADS, NULL);
}

/* Work at 1,000 messages a second for `seconds`. */
static void work_on(bench_db *db, int seconds)
{
    enum { TICK_US = 100000, TICKS = 10 };
    _Atomic int64_t handled = 0;
    wp_worker *worker_ = NULL;
    wp_error *err = NULL;
    size_t sent = (size_t)seconds * TICKS * 100;
    int64_t next = bench_now_us();
    bench_ok(wp_worker_new(&worker_, db->store, NULL, &err), &err, "worker");
    bench_ok(
        wp_worker_handle(worker_, WP_SOURCE_OUTBOX, BENCH_TOPIC, note_time, &handled, NULL, &err),
        &err, "handler");
    bench_ok(wp_worker_start(worker_, THREADS, &err), &err, "start");
    for (int i = 0; i < seconds * TICKS; i++) {
        int64_t now = bench_now_us();
        bench_load(db, 100);
        next += TICK_US;
        if (next > now)
            bench_sleep_us(next - now);
        bench_progress("snapshot: %d of %d s", i / TICKS, seconds);
    }
    next = bench_now_us();
    while (wp_worker_counter(worker_, WP_COUNTER_ACKED) < (int64_t)sent) {
        if (bench_now_us() - next > 60000000)
            bench_die("the worker does not keep up with 1,000 messages a second");
        bench_sleep_us(1000);
    }
    wp_worker_free(worker_);
}

/* The rates 30 s after the end of each snapshot that was held. */
static double recovered[BENCH_ROUNDS];
static int ended;

static double snapshot(void *arg)
{
    enum { RECOVERY_US = 30000000 };
    bool held = *(const bool *)arg;
    bench_db db;
    double result;
    PGconn *pg;
    bench_pg_db_new(&db);
    pg = bench_pg_connect(db.path);
    if (held)
        bench_pg_exec(pg, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class");
    work_on(&db, bench_opt.full ? 600 : 20);
    result = burst(&db);
    PQfinish(pg);
    if (held) {
        bench_sleep_us(RECOVERY_US);
        recovered[ended++] = burst(&db);
    }
    bench_pg_db_drop(&db);
    return result;
}

static void old_snapshot(void)
{
    static bool held = true;
    static bool free_ = false;
    const bench_side sides[] = {{snapshot, &held}, {snapshot, &free_}};
    bench_samples samples;
    bench_heading("PostgreSQL: a REPEATABLE READ snapshot held");
    bench_note(bench_opt.full
                   ? "1,000 messages/s for 10 minutes, then 40,000 at once; raw: none held"
                   : "1,000 messages/s for 20 s, then 40,000 at once; raw: none held");
    if (!bench_opt.full)
        bench_note("--full: 10 minutes, once");
    bench_sample(&samples, "snapshot", sides, 2,
                 bench_opt.full         ? 1
                 : bench_opt.rounds < 3 ? bench_opt.rounds
                                        : 3);
    memcpy(samples.values[2], recovered, sizeof recovered);
    bench_report_pair("postgresql snapshot", "handlers", "messages/s", &samples, 0, 1, 0.8);
    bench_report_pair("postgresql snapshot", "30 s after its end", "messages/s", &samples, 2, 1,
                      0.8);
}

static void run(void (*benchmark)(void))
{
    if (server())
        benchmark();
    else
        (void)bench_pg_heading("PostgreSQL");
}

void bench_pg_enqueue(void)
{
    run(enqueue);
}

void bench_pg_handlers(void)
{
    run(handlers);
}

void bench_pg_latency(void)
{
    run(latency);
}

void bench_pg_snapshot(void)
{
    run(old_snapshot);
}
