/* SPDX-License-Identifier: Apache-2.0 */
/* On MariaDB and SQL Server, by ODBC: the servers that WAYPOST_TEST_MARIADB and WAYPOST_TEST_MSSQL name, beside plain
 * statements on the same tables, as an app might write them by hand. Each sample has a database of its own. All
 * commits are synchronous, as the servers' defaults are. */
#include <sql.h>
#include <sqlext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* ---- what differs ------------------------------------------------------------------------- */

typedef struct dialect {
    const char *name, *group; /* in headings, and of figures */
    const char *variable;     /* names the server */
    const char *prefix;       /* makes a store's URL of it, unless it begins so */
    const char *own;          /* of the app's connections */
    const char *begin, *commit;
    const char *enqueue; /* a message's row; its payload is the parameter */
    const char *pick;    /* the first hundred numbers that are ready, locked */
    const char *claim;   /* these and the next two: of the numbers at %s */
    const char *read;
    const char *finish[2]; /* the second one may be missing */
    const char *due;       /* the first hundred jobs that are due, locked */
    const char *make[2];   /* their runs: what is done about the numbers at %s */
    const char *seen;      /* a table of an app's */
    const char *upsert;    /* into it, of the number at %d, committed */
    size_t count;          /* messages that are handled */
} dialect;

#define MARIA_NOW "TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))"

static dialect mariadb = {
    .name = "MariaDB",
    .group = "mariadb ",
    .variable = "WAYPOST_TEST_MARIADB",
    .prefix = "odbc:",
    .own = ";CHARSET=utf8mb4",
    .begin = "START TRANSACTION",
    .commit = "COMMIT",
    .enqueue =
        "INSERT INTO infra_outbox (id, topic, payload, created_at, due_at) VALUES "
        "(UNHEX(REPLACE(UUID(), '-', '')), '" BENCH_TOPIC "', ?, " MARIA_NOW ", " MARIA_NOW ")",
    .pick = "SELECT seq FROM infra_outbox_work FORCE INDEX (ready) WHERE topic = '" BENCH_TOPIC
            "' AND status = 0 AND next_attempt_at <= " MARIA_NOW
            " ORDER BY next_attempt_at, seq LIMIT 100 FOR UPDATE SKIP LOCKED",
    .claim = "UPDATE infra_outbox_work SET status = 1, owner_token = REPEAT('x', 16), "
             "locked_until = " MARIA_NOW
             " + 30000000, claim_number = claim_number + 1 WHERE seq IN (%s)",
    .read = "SELECT SUM(LENGTH(payload)) FROM infra_outbox WHERE seq IN (%s)",
    .finish = {"INSERT INTO infra_outbox_finished (seq, status, attempt, claim_number, "
               "finished_at, finished_by) SELECT seq, 2, attempt, claim_number, " MARIA_NOW
               ", 'bench' FROM infra_outbox_work WHERE seq IN (%s)",
               "DELETE FROM infra_outbox_work WHERE seq IN (%s)"},
    .due = "SELECT seq FROM infra_job FORCE INDEX (due) WHERE next_due_at <= " MARIA_NOW
           " ORDER BY next_due_at, seq LIMIT 100 FOR UPDATE",
    .make = {"UPDATE infra_job SET fired_at = next_due_at, next_due_at = next_due_at + 1000000, "
             "version = version + 1 WHERE seq IN (%s)",
             "INSERT INTO infra_job_run (id, topic, payload, created_at, due_at, job_id, job_name, "
             "occurrence_at, options) SELECT UNHEX(REPLACE(UUID(), '-', '')), topic, "
             "payload, " MARIA_NOW
             ", fired_at, id, name, fired_at, options FROM infra_job WHERE seq IN (%s)"},
    .seen = "CREATE TABLE seen (source VARCHAR(255) COLLATE utf8mb4_nopad_bin, id "
            "VARCHAR(255) COLLATE utf8mb4_nopad_bin, "
            "at BIGINT, PRIMARY KEY (source, id)) CHARACTER SET utf8mb4",
    .upsert = "INSERT INTO seen VALUES ('bench', '%d', " MARIA_NOW
              ") ON DUPLICATE KEY UPDATE at = VALUES(at)",
    .count = 10000,
};

static dialect sqlserver = {
    .name = "SQL Server",
    .group = "sqlserver ",
    .variable = "WAYPOST_TEST_MSSQL",
    .prefix = "odbc:",
    .own = "",
    .begin = "BEGIN TRANSACTION",
    .commit = "COMMIT TRANSACTION",
    .enqueue = "INSERT INTO infra.Outbox (Topic, Payload, CreatedAt, DueAt, NextAttemptAt) VALUES "
               "(N'" BENCH_TOPIC "', ?, SYSUTCDATETIME(), SYSUTCDATETIME(), SYSUTCDATETIME())",
    .pick = "SELECT TOP (100) Seq FROM infra.Outbox WITH (UPDLOCK, READPAST, ROWLOCK) WHERE "
            "Topic = N'" BENCH_TOPIC "' AND Status = 0 AND OrderedKey IS NULL AND NextAttemptAt <= "
            "SYSUTCDATETIME() ORDER BY NextAttemptAt, Seq",
    .claim = "UPDATE infra.Outbox SET Status = 1, OwnerToken = NEWID(), LockedUntil = "
             "DATEADD(SECOND, 30, SYSUTCDATETIME()), ClaimNumber = ClaimNumber + 1 WHERE Seq IN "
             "(%s)",
    .read = "SELECT SUM(LEN(Payload)) FROM infra.Outbox WHERE Seq IN (%s)",
    .finish = {"UPDATE infra.Outbox SET Status = 2, OwnerToken = NULL, LockedUntil = NULL, "
               "ProcessedAt = SYSUTCDATETIME(), ProcessedBy = N'bench' WHERE Seq IN (%s)",
               NULL},
    .seen = "CREATE TABLE seen (source NVARCHAR(255) NOT NULL, id NVARCHAR(255) NOT NULL, "
            "at DATETIME2(6), PRIMARY KEY (source, id))",
    .upsert = "BEGIN TRANSACTION; UPDATE seen SET at = SYSUTCDATETIME() WHERE source = N'bench' "
              "AND id = N'%d'; IF @@ROWCOUNT = 0 INSERT INTO seen VALUES (N'bench', N'%d', "
              "SYSUTCDATETIME()); COMMIT TRANSACTION",
    .count = 2000,
};

/* ---- databases ---------------------------------------------------------------------------- */

static const char *server(const dialect *d)
{
    const char *name = getenv(d->variable);
    if (!name || !*name)
        return NULL;
    return strncmp(name, d->prefix, strlen(d->prefix)) == 0 ? name + strlen(d->prefix) : name;
}

static bool heading(const dialect *d, const char *title)
{
    char text[100];
    bench_heading(title);
    if (server(d))
        return true;
    (void)snprintf(text, sizeof text, "left out: %s names no server", d->variable);
    bench_note(text);
    return false;
}

/* A connection of the app's. */
typedef struct raw_odbc {
    SQLHENV env;
    SQLHDBC dbc;
} raw_odbc;

static void check(SQLRETURN rc, SQLSMALLINT kind, SQLHANDLE handle, const char *doing)
{
    SQLCHAR state[6] = "", text[300] = "";
    if (SQL_SUCCEEDED(rc) || rc == SQL_NO_DATA)
        return;
    (void)SQLGetDiagRec(kind, handle, 1, state, NULL, text, sizeof text, NULL);
    bench_die("%s: %s %s", doing, (const char *)state, (const char *)text);
}

static void raw_open(raw_odbc *raw, const dialect *d, const char *string)
{
    char text[BENCH_PATH + 64];
    (void)snprintf(text, sizeof text, "%s%s", string, d->own);
    if (SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &raw->env) != SQL_SUCCESS)
        bench_die("no ODBC environment");
    (void)SQLSetEnvAttr(raw->env, SQL_ATTR_ODBC_VERSION,
                        (SQLPOINTER)SQL_OV_ODBC3, /* NOLINT: what ODBC takes */
                        0);
    check(SQLAllocHandle(SQL_HANDLE_DBC, raw->env, &raw->dbc), SQL_HANDLE_ENV, raw->env, "connect");
    check(SQLDriverConnect(raw->dbc, NULL, (SQLCHAR *)text, SQL_NTS, NULL, 0, NULL,
                           SQL_DRIVER_NOPROMPT),
          SQL_HANDLE_DBC, raw->dbc, "connect");
}

static void raw_close(raw_odbc *raw)
{
    (void)SQLDisconnect(raw->dbc);
    (void)SQLFreeHandle(SQL_HANDLE_DBC, raw->dbc);
    (void)SQLFreeHandle(SQL_HANDLE_ENV, raw->env);
}

/* Run a statement; the number in its first row, or how many rows it changed. */
static int64_t raw_run(raw_odbc *raw, const char *sql)
{
    SQLHSTMT statement = SQL_NULL_HSTMT;
    SQLSMALLINT columns = 0;
    SQLLEN changed = 0;
    SQLBIGINT number = 0;
    check(SQLAllocHandle(SQL_HANDLE_STMT, raw->dbc, &statement), SQL_HANDLE_DBC, raw->dbc,
          "statement");
    check(SQLExecDirect(statement, (SQLCHAR *)sql, SQL_NTS), SQL_HANDLE_STMT, statement, sql);
    (void)SQLNumResultCols(statement, &columns);
    (void)SQLRowCount(statement, &changed);
    if (columns && SQL_SUCCEEDED(SQLFetch(statement)))
        (void)SQLGetData(statement, 1, SQL_C_SBIGINT, &number, sizeof number, NULL);
    while (SQL_SUCCEEDED(SQLMoreResults(statement))) /* what is left unread, a driver cancels */
        continue;
    (void)SQLFreeHandle(SQL_HANDLE_STMT, statement);
    return columns ? number : changed;
}

static void on_server(const dialect *d, const char *what, const char *name)
{
    raw_odbc raw;
    char sql[128];
    raw_open(&raw, d, server(d));
    (void)snprintf(sql, sizeof sql, "%s DATABASE %s", what, name);
    (void)raw_run(&raw, sql);
    raw_close(&raw);
}

static void set(wp_config *config, const char *key, const char *value)
{
    wp_error *err = NULL;
    bench_ok(wp_config_set(config, key, value, &err), &err, key);
}

static const char *name_in(const bench_db *db)
{
    return strstr(db->path, ";Database=") + strlen(";Database=");
}

/* What the app's connections to it are opened with. */
static const char *string_of(const dialect *d, const bench_db *db)
{
    return db->path + strlen(d->prefix);
}

static void db_new(bench_db *db, const dialect *d)
{
    static int number;
    wp_config *config = NULL;
    wp_error *err = NULL;
    *db = (bench_db){.store = NULL};
    (void)snprintf(db->path, sizeof db->path, "%s%s;Database=bench%lld_%d", d->prefix, server(d),
                   (long long)bench_now_us(), number++);
    on_server(d, "CREATE", name_in(db));
    bench_ok(wp_config_new(&config, &err), &err, "configuration");
    set(config, "store.url", db->path);
    set(config, "store.deploy", "true");
    set(config, "log.level", "error");
    bench_ok(wp_store_open(&db->store, config, &err), &err, "open");
    wp_config_free(config);
}

static void db_drop(bench_db *db, const dialect *d)
{
    wp_store_close(db->store);
    on_server(d, "DROP", name_in(db));
}

static bool maria_heading(const char *title)
{
    return heading(&mariadb, title);
}

static void maria_new(bench_db *db)
{
    db_new(db, &mariadb);
}

static void maria_drop(bench_db *db)
{
    db_drop(db, &mariadb);
}

static double rate(size_t count, int64_t started)
{
    return (double)count * 1e6 / (double)(bench_now_us() - started);
}

/* ---- enqueue ------------------------------------------------------------------------------ */

enum { SINGLE = 500, BATCH = 100, BATCHES = 50 };

static wp_message *new_message(void)
{
    wp_message *message = NULL;
    wp_error *err = NULL;
    bench_ok(wp_message_new(&message, BENCH_TOPIC, bench_payload(), strlen(bench_payload()), &err),
             &err, "message");
    return message;
}

static double own_enqueue(const dialect *d, size_t in_one, size_t times)
{
    wp_message *messages[BATCH];
    wp_id ids[BATCH];
    wp_error *err = NULL;
    bench_db db;
    double result;
    int64_t started;
    db_new(&db, d);
    for (size_t i = 0; i < in_one; i++)
        messages[i] = new_message();
    started = bench_now_us();
    for (size_t i = 0; i < times; i++)
        bench_ok(wp_outbox_enqueue_many(ids, NULL, db.store, NULL,
                                        (const wp_message *const *)messages, in_one, &err),
                 &err, "enqueue");
    result = rate(in_one * times, started);
    for (size_t i = 0; i < in_one; i++)
        wp_message_free(messages[i]);
    db_drop(&db, d);
    return result;
}

static SQLHSTMT prepared(raw_odbc *raw, const char *sql)
{
    SQLHSTMT statement = SQL_NULL_HSTMT;
    check(SQLAllocHandle(SQL_HANDLE_STMT, raw->dbc, &statement), SQL_HANDLE_DBC, raw->dbc,
          "statement");
    check(SQLPrepare(statement, (SQLCHAR *)sql, SQL_NTS), SQL_HANDLE_STMT, statement, sql);
    return statement;
}

/* One row after the other, by a prepared statement, in a transaction. */
static double raw_enqueue(const dialect *d, size_t in_one, size_t times)
{
    bench_db db;
    raw_odbc raw;
    SQLHSTMT insert;
    SQLLEN length = (SQLLEN)strlen(bench_payload());
    double result;
    int64_t started;
    db_new(&db, d);
    raw_open(&raw, d, string_of(d, &db));
    insert = prepared(&raw, d->enqueue);
    check(SQLBindParameter(insert, 1, SQL_PARAM_INPUT, SQL_C_CHAR, SQL_VARCHAR, (SQLULEN)length, 0,
                           (SQLPOINTER)bench_payload(), length, &length),
          SQL_HANDLE_STMT, insert, "bind");
    (void)SQLSetConnectAttr(raw.dbc, SQL_ATTR_AUTOCOMMIT, (SQLPOINTER)SQL_AUTOCOMMIT_OFF, 0);
    started = bench_now_us();
    for (size_t i = 0; i < times; i++) {
        for (size_t j = 0; j < in_one; j++)
            check(SQLExecute(insert), SQL_HANDLE_STMT, insert, "insert");
        check(SQLEndTran(SQL_HANDLE_DBC, raw.dbc, SQL_COMMIT), SQL_HANDLE_DBC, raw.dbc, "commit");
    }
    result = rate(in_one * times, started);
    (void)SQLFreeHandle(SQL_HANDLE_STMT, insert);
    raw_close(&raw);
    db_drop(&db, d);
    return result;
}

static double own_single(void *arg)
{
    return own_enqueue(arg, 1, SINGLE);
}

static double raw_single(void *arg)
{
    return raw_enqueue(arg, 1, SINGLE);
}

static double own_batch(void *arg)
{
    return own_enqueue(arg, BATCH, BATCHES);
}

static double raw_batch(void *arg)
{
    return raw_enqueue(arg, BATCH, BATCHES);
}

static void pair(dialect *d, const char *group, const char *name, double (*own)(void *),
                 double (*raw)(void *), double aim)
{
    const bench_side sides[] = {{own, d}, {raw, d}};
    bench_samples samples;
    char full[64];
    (void)snprintf(full, sizeof full, "%s%s", d->group, group);
    bench_sample(&samples, name, sides, 2, bench_opt.rounds);
    bench_report_pair(full, name, "messages/s", &samples, 0, 1, aim);
}

static void enqueue_on(dialect *d, const char *title)
{
    if (!heading(d, title))
        return;
    pair(d, "enqueue", "1 a transaction", own_single, raw_single, 0.5);
    pair(d, "enqueue", "100 a transaction", own_batch, raw_batch, 0.5);
}

void bench_maria_enqueue(void)
{
    enqueue_on(&mariadb, "MariaDB: enqueue");
}

void bench_mssql_enqueue(void)
{
    enqueue_on(&sqlserver, "SQL Server: enqueue");
}

/* ---- handlers ----------------------------------------------------------------------------- */

enum { THREADS = 4 };

static double worker(void *arg)
{
    const dialect *d = arg;
    bench_db db;
    double result;
    db_new(&db, d);
    bench_load(&db, d->count);
    result = bench_handle(db.store, d->count, THREADS, NULL);
    db_drop(&db, d);
    return result;
}

enum { SQL_MAX = 8192 };

/* The same statement on another queue's tables. */
static const char *on_queue(char out[SQL_MAX], const char *sql, const char *queue)
{
    static const char outbox[] = "infra_outbox";
    size_t used = 0;
    for (const char *at; (at = strstr(sql, outbox)) != NULL; sql = at + sizeof outbox - 1)
        used += (size_t)snprintf(out + used, SQL_MAX - used, "%.*s%s", (int)(at - sql), sql, queue);
    (void)snprintf(out + used, SQL_MAX - used, "%s", sql);
    return out;
}

/* Run a statement with the list of numbers in it, at each %s. */
static int64_t raw_of(raw_odbc *raw, const char *format, const char *queue, const char *list)
{
    static char own[SQL_MAX], sql[SQL_MAX];
    (void)snprintf(sql, sizeof sql, on_queue(own, format, queue), /* NOLINT: formats of this file */
                   list);
    return raw_run(raw, sql);
}

/* The first numbers that are ready, locked, as a list; how many they are. */
static size_t raw_pick(raw_odbc *raw, const char *sql, char *list, size_t size)
{
    SQLHSTMT pick = prepared(raw, sql);
    size_t count = 0, used = 0;
    SQLBIGINT seq = 0;
    check(SQLExecute(pick), SQL_HANDLE_STMT, pick, "pick");
    while (SQL_SUCCEEDED(SQLFetch(pick))) {
        (void)SQLGetData(pick, 1, SQL_C_SBIGINT, &seq, sizeof seq, NULL);
        used += (size_t)snprintf(list + used, size - used, "%s%lld", count++ ? "," : "",
                                 (long long)seq);
    }
    (void)SQLFreeHandle(SQL_HANDLE_STMT, pick);
    return count;
}

/* Claim a batch in one transaction, read it, end it in another; how many there were. */
static size_t raw_batch_of(raw_odbc *raw, const dialect *d, const char *queue)
{
    static char list[4096], sql[SQL_MAX];
    size_t count;
    (void)raw_run(raw, d->begin);
    count = raw_pick(raw, on_queue(sql, d->pick, queue), list, sizeof list);
    if (count)
        (void)raw_of(raw, d->claim, queue, list);
    (void)raw_run(raw, d->commit);
    if (!count)
        return 0;
    (void)raw_of(raw, d->read, queue, list);
    (void)raw_run(raw, d->begin);
    for (size_t i = 0; i < 2 && d->finish[i]; i++)
        (void)raw_of(raw, d->finish[i], queue, list);
    (void)raw_run(raw, d->commit);
    return count;
}

/* The runs of up to a hundred jobs that are due, in one transaction. */
static void raw_make_runs(raw_odbc *raw, const dialect *d)
{
    static char list[4096];
    (void)raw_run(raw, d->begin);
    if (raw_pick(raw, d->due, list, sizeof list))
        for (size_t i = 0; i < 2; i++)
            (void)raw_of(raw, d->make[i], "infra_outbox", list);
    (void)raw_run(raw, d->commit);
}

static double raw_drain(const bench_db *db, const dialect *d, const char *queue, size_t count,
                        bool jobs)
{
    raw_odbc raw;
    double result;
    int64_t started;
    raw_open(&raw, d, string_of(d, db));
    started = bench_now_us();
    for (size_t done = 0; done < count;) {
        if (jobs)
            raw_make_runs(&raw, d);
        done += raw_batch_of(&raw, d, queue);
    }
    result = rate(count, started);
    raw_close(&raw);
    return result;
}

static double statements(void *arg)
{
    const dialect *d = arg;
    bench_db db;
    double result;
    db_new(&db, d);
    bench_load(&db, d->count);
    result = raw_drain(&db, d, "infra_outbox", d->count, false);
    db_drop(&db, d);
    return result;
}

static double maria_timers(const bench_db *db, size_t count)
{
    return raw_drain(db, &mariadb, "infra_timer", count, false);
}

static double maria_runs(const bench_db *db, size_t count)
{
    return raw_drain(db, &mariadb, "infra_job_run", count, true);
}

const bench_place bench_on_mariadb = {"mariadb ", maria_heading, maria_new,
                                      maria_drop, maria_timers,  maria_runs};

static void handlers_on(dialect *d, const char *title)
{
    if (heading(d, title))
        pair(d, "handlers", "worker in C, beside plain statements in batches of 100", worker,
             statements, 0.5);
}

void bench_maria_handlers(void)
{
    handlers_on(&mariadb, "MariaDB: handlers, end to end");
}

void bench_mssql_handlers(void)
{
    handlers_on(&sqlserver, "SQL Server: handlers, end to end");
}

/* ---- inbox and leases --------------------------------------------------------------------- */

enum { SLICE = 25, CALLS = SLICE * BENCH_ROUNDS, WARM = 20 };

static void check_key(wp_store *store, const char *id)
{
    wp_inbox_key *key = NULL;
    wp_error *err = NULL;
    bench_ok(wp_inbox_key_new(&key, "bench", id, &err), &err, "key");
    bench_ok(wp_inbox_check(NULL, NULL, store, NULL, key, &err), &err, "check");
    wp_inbox_key_free(key);
}

static void acquire(wp_store *store, const char *name)
{
    wp_lease_info *info = NULL;
    wp_error *err = NULL;
    bench_ok(wp_lease_acquire(&info, store, NULL, WP_LEASE_EXCLUSIVE, name, "me", 600000, &err),
             &err, "acquire");
    wp_lease_info_free(info);
}

static void renew(wp_store *store, const char *name)
{
    wp_lease_info *info = NULL;
    wp_error *err = NULL;
    bench_ok(wp_lease_renew(&info, store, NULL, WP_LEASE_EXCLUSIVE, name, "me", 0, 600000, &err),
             &err, "renew");
    wp_lease_info_free(info);
}

static void release(wp_store *store, const char *name)
{
    wp_error *err = NULL;
    bench_ok(wp_lease_release(NULL, store, NULL, WP_LEASE_EXCLUSIVE, name, "me", 0, &err), &err,
             "release");
}

/* Each call is a transaction of its own, and so is each statement beside it: an upsert, of a row that is new, or that
 * is there if `before` makes what the call needs. */
typedef struct keyed {
    const char *name;
    void (*before)(wp_store *store, const char *key);
    void (*call)(wp_store *store, const char *key);
    double aim;
} keyed;

static void own_calls(wp_store *store, void (*call)(wp_store *store, const char *key), int first,
                      int count)
{
    for (int i = first; i < first + count; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%d", i);
        call(store, key);
    }
}

static void raw_calls(raw_odbc *raw, const dialect *d, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        char sql[512];
        (void)snprintf(sql, sizeof sql, d->upsert, i, i); /* NOLINT: formats of this file */
        (void)raw_run(raw, sql);
    }
}

/* They take turns, a few calls each. */
static void keyed_turns(const dialect *d, const bench_db *db, raw_odbc *raw, const keyed *k,
                        int first)
{
    bench_samples samples = {.rounds = BENCH_ROUNDS};
    char group[64];
    bench_progress("%s", k->name);
    if (k->before) {
        own_calls(db->store, k->before, first, WARM + CALLS);
        raw_calls(raw, d, first, WARM + CALLS);
    }
    own_calls(db->store, k->call, first, WARM);
    raw_calls(raw, d, first, WARM);
    for (int round = 0; round < BENCH_ROUNDS; round++)
        for (int i = 0; i < 2; i++) {
            const int at = first + WARM + round * SLICE;
            const int side = (round + i) % 2;
            const int64_t started = bench_now_us();
            if (side == 0)
                own_calls(db->store, k->call, at, SLICE);
            else
                raw_calls(raw, d, at, SLICE);
            samples.values[side][round] = rate(SLICE, started);
        }
    bench_progress("%s", "");
    (void)snprintf(group, sizeof group, "%skeys", d->group);
    bench_report_pair(group, k->name, "calls/s", &samples, 0, 1, k->aim);
}

static void keys_on(dialect *d, const char *title)
{
    static const keyed figures[] = {
        {"dedup check of a new message, beside an upsert", NULL, check_key, 0.5},
        {"lease, acquired, beside an upsert", NULL, acquire, 0},
        {"lease, renewed, beside an update", acquire, renew, 0},
        {"lease, released, beside an update", acquire, release, 0},
    };
    bench_db db;
    raw_odbc raw;
    if (!heading(d, title))
        return;
    db_new(&db, d);
    raw_open(&raw, d, string_of(d, &db));
    (void)raw_run(&raw, d->seen);
    for (int i = 0; i < (int)(sizeof figures / sizeof figures[0]); i++)
        keyed_turns(d, &db, &raw, &figures[i], i * 10000);
    raw_close(&raw);
    db_drop(&db, d);
}

void bench_maria_keys(void)
{
    keys_on(&mariadb, "MariaDB: inbox and leases, each a transaction");
}

void bench_mssql_keys(void)
{
    keys_on(&sqlserver, "SQL Server: inbox and leases, each a transaction");
}
