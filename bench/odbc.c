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
    const char *seen;      /* a table of an app's */
    const char *upsert;    /* into it, of the number at %d, committed */
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
    .seen = "CREATE TABLE seen (source VARCHAR(255) COLLATE utf8mb4_nopad_bin, id "
            "VARCHAR(255) COLLATE utf8mb4_nopad_bin, "
            "at BIGINT, PRIMARY KEY (source, id)) CHARACTER SET utf8mb4",
    .upsert = "INSERT INTO seen VALUES ('bench', '%d', " MARIA_NOW
              ") ON DUPLICATE KEY UPDATE at = VALUES(at)",
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

const bench_place bench_on_mariadb = {"mariadb ", maria_heading, maria_new, maria_drop};

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

enum { COUNT = 10000, THREADS = 4, PULLED = 100 };

static double worker(void *arg)
{
    const dialect *d = arg;
    bench_db db;
    double result;
    db_new(&db, d);
    bench_load(&db, COUNT);
    result = bench_handle(db.store, COUNT, THREADS, NULL);
    db_drop(&db, d);
    return result;
}

/* Run a statement with the list of numbers in it, at each %s. */
static int64_t raw_of(raw_odbc *raw, const char *format, const char *list)
{
    static char sql[8192];
    (void)snprintf(sql, sizeof sql, format, list); /* NOLINT: formats of this file */
    return raw_run(raw, sql);
}

/* The first numbers that are ready, locked, as a list; how many they are. */
static size_t raw_pick(raw_odbc *raw, const dialect *d, char *list, size_t size)
{
    SQLHSTMT pick = prepared(raw, d->pick);
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

/* Claim a batch in one transaction, read it, end it in another. */
static double statements(void *arg)
{
    const dialect *d = arg;
    char list[4096];
    bench_db db;
    raw_odbc raw;
    double result;
    int64_t started;
    size_t done = 0;
    db_new(&db, d);
    bench_load(&db, COUNT);
    raw_open(&raw, d, string_of(d, &db));
    started = bench_now_us();
    while (done < COUNT) {
        (void)raw_run(&raw, d->begin);
        done += raw_pick(&raw, d, list, sizeof list);
        (void)raw_of(&raw, d->claim, list);
        (void)raw_run(&raw, d->commit);
        (void)raw_of(&raw, d->read, list);
        (void)raw_run(&raw, d->begin);
        for (size_t i = 0; i < 2 && d->finish[i]; i++)
            (void)raw_of(&raw, d->finish[i], list);
        (void)raw_run(&raw, d->commit);
    }
    result = rate(COUNT, started);
    raw_close(&raw);
    db_drop(&db, d);
    return result;
}

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

enum { CHECKS = 500 };

/* Each call is a transaction of its own. */
static double own_calls(const dialect *d, void (*call)(wp_store *store, const char *key))
{
    bench_db db;
    double result;
    int64_t started;
    db_new(&db, d);
    started = bench_now_us();
    for (int i = 0; i < CHECKS; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%d", i);
        call(db.store, key);
    }
    result = rate(CHECKS, started);
    db_drop(&db, d);
    return result;
}

static void check_key(wp_store *store, const char *id)
{
    wp_inbox_key *key = NULL;
    wp_error *err = NULL;
    bench_ok(wp_inbox_key_new(&key, "bench", id, &err), &err, "key");
    bench_ok(wp_inbox_check(NULL, NULL, store, NULL, key, &err), &err, "check");
    wp_inbox_key_free(key);
}

static double own_check(void *arg)
{
    return own_calls(arg, check_key);
}

static void acquire(wp_store *store, const char *name)
{
    wp_lease_info *info = NULL;
    wp_error *err = NULL;
    bench_ok(wp_lease_acquire(&info, store, NULL, WP_LEASE_EXCLUSIVE, name, "me", 30000, &err),
             &err, "acquire");
    wp_lease_info_free(info);
}

static double own_lease(void *arg)
{
    return own_calls(arg, acquire);
}

/* Beside both: an upsert. */
static double raw_check(void *arg)
{
    const dialect *d = arg;
    bench_db db;
    raw_odbc raw;
    double result;
    int64_t started;
    db_new(&db, d);
    raw_open(&raw, d, string_of(d, &db));
    (void)raw_run(&raw, d->seen);
    started = bench_now_us();
    for (int i = 0; i < CHECKS; i++) {
        char sql[512];
        (void)snprintf(sql, sizeof sql, d->upsert, i, i); /* NOLINT: formats of this file */
        (void)raw_run(&raw, sql);
    }
    result = rate(CHECKS, started);
    raw_close(&raw);
    db_drop(&db, d);
    return result;
}

static void keys_on(dialect *d, const char *title)
{
    if (!heading(d, title))
        return;
    pair(d, "keys", "dedup check of a new message, beside an upsert", own_check, raw_check, 0.5);
    pair(d, "keys", "lease, acquired, beside an upsert", own_lease, raw_check, 0);
}

void bench_maria_keys(void)
{
    keys_on(&mariadb, "MariaDB: inbox and leases, each a transaction");
}

void bench_mssql_keys(void)
{
    keys_on(&sqlserver, "SQL Server: inbox and leases, each a transaction");
}
