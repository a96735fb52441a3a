/* SPDX-License-Identifier: Apache-2.0 */
/* The engines that the suite runs on. */
#include <sqlite3.h>

#include "bed.h"
#include "support/wpt_mariadb.h"
#include "support/wpt_mssql.h"
#include "support/wpt_odbc.h"
#include "support/wpt_pg.h"

struct app {
    sqlite3 *db;
    PGconn *pg;
    SQLHDBC dbc;
};

/* ---- SQLite ------------------------------------------------------------------------------- */

static void exec(app *a, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(a->db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
}

static int64_t number(app *a, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t value;
    assert_int_equal(sqlite3_prepare_v2(a->db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static app *open_at(const char *location, bool patient)
{
    app *a = calloc(1, sizeof *a);
    assert_non_null(a);
    assert_int_equal(
        sqlite3_open_v2(location, &a->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL),
        SQLITE_OK);
    (void)sqlite3_busy_timeout(a->db, patient ? 60000 : 0);
    return a;
}

static app *sqlite_open(wp_store *store, bool patient)
{
    return open_at(wp_store_location(store), patient);
}

static void sqlite_close(app *a)
{
    assert_int_equal(sqlite3_close(a->db), SQLITE_OK);
    free(a);
}

static wp_conn *sqlite_lend(app *a, wp_store *store)
{
    wp_conn *conn = NULL;
    WPT_OK(wp_conn_borrow_sqlite(&conn, store, a->db, WPT_ERR));
    return conn;
}

/* What an app may have on its connection: TEMP tables that are called as ours are, and a schema that
 * may not call everything. */
static wp_conn *sqlite_lend_strange(app *a, wp_store *store)
{
    sqlite3_stmt *names = NULL;
    exec(a, "PRAGMA trusted_schema = OFF");
    assert_int_equal(
        sqlite3_prepare_v2(a->db,
                           "SELECT format('CREATE TEMP TABLE IF NOT EXISTS \"%w\" (x)', name)"
                           " FROM main.sqlite_master WHERE type IN ('table', 'view')"
                           " AND name NOT LIKE 'sqlite_%' AND name <> 'orders'",
                           -1, &names, NULL),
        SQLITE_OK);
    while (sqlite3_step(names) == SQLITE_ROW)
        exec(a, (const char *)sqlite3_column_text(names, 0));
    assert_int_equal(sqlite3_finalize(names), SQLITE_OK);
    return sqlite_lend(a, store);
}

static void file_url(char *out, size_t size, const wpt_dir *dir, const char *name)
{
    (void)snprintf(out, size, "sqlite:%s/%s.db", dir->path, name);
}

static void memory_url(char *out, size_t size, const wpt_dir *dir, const char *name)
{
    (void)dir;
    (void)name;
    (void)snprintf(out, size, "sqlite::memory:");
}

static void file_make(char *url, size_t size, const char *kept_for)
{
    sqlite3 *db = NULL;
    (void)size;
    (void)kept_for;
    assert_int_equal(sqlite3_open(url + strlen("sqlite:"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE mine (n)", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int64_t file_number(const char *url, const char *sql)
{
    app *a = open_at(url + strlen("sqlite:"), true);
    int64_t value = number(a, sql);
    sqlite_close(a);
    return value;
}

static void use_rollback_journal(const char *url)
{
    app *a = open_at(url + strlen("sqlite:"), true);
    exec(a, "PRAGMA journal_mode = DELETE");
    sqlite_close(a);
}

#define SQLITE_APP SQLITE_APP_LENT(sqlite_lend)
#define SQLITE_APP_LENT(how)                                                                       \
    .open = sqlite_open, .close = sqlite_close, .lend = (how), .exec = exec, .number = number,     \
    .begin = "BEGIN", .commit = "COMMIT", .rollback = "ROLLBACK", .savepoint = "SAVEPOINT s",      \
    .rollback_to = "ROLLBACK TO s", .one_writer = true, .due_stays = true, .make = file_make,      \
    .number_at = file_number, .count_objects = "SELECT count(*) FROM sqlite_master",               \
    .count_outbox = "SELECT count(*) FROM sqlite_master WHERE name = %Q || '_' || %Q",             \
    .count_others = "SELECT count(*) FROM sqlite_master WHERE name <> 'orders'"                    \
                    " AND name NOT LIKE 'sqlite_%%' AND instr(name, %Q || '_') <> 1",              \
    .journal = "main.\"%w_migration\""

static const engine sqlite_file = {.name = "sqlite, a file", .url = file_url, SQLITE_APP};

static const engine sqlite_memory = {.again = true,
                                     .name = "sqlite, in memory",
                                     .url = memory_url,
                                     SQLITE_APP,
                                     .opens_new = true,
                                     .writer_blocks_readers = true};

static const engine sqlite_journal = {.again = true,
                                      .unchecked = true,
                                      .name = "sqlite, a file with a rollback journal",
                                      .url = file_url,
                                      .deployed = use_rollback_journal,
                                      SQLITE_APP};

static const engine sqlite_hostile = {.again = true,
                                      .unchecked = true,
                                      .name = "sqlite, a file with hostile names",
                                      .schema = "a\"b; DROP TABLE orders; -- ''[`Ünï%s",
                                      .outbox = "\"; out box\\ 😀] {outbox} :id ?1",
                                      .inbox = "'; in box\"\\ 😀] {inbox_id} :now %s",
                                      .url = file_url,
                                      SQLITE_APP_LENT(sqlite_lend_strange)};

/* ---- PostgreSQL --------------------------------------------------------------------------- */

static void pg_url(char *out, size_t size, const wpt_dir *dir, const char *name)
{
    (void)dir;
    wpt_pg_name(out, size, name);
}

static void pgbouncer_url(char *out, size_t size, const wpt_dir *dir, const char *name)
{
    char url[256];
    (void)dir;
    wpt_pg_name(url, sizeof url, name);
    wpt_pg_through_pgbouncer(out, size, url);
}

static void pg_make(char *url, size_t size, const char *kept_for)
{
    wpt_pg_exec(wpt_pg_create(url, size, kept_for), "CREATE TABLE IF NOT EXISTS mine (n INTEGER)");
}

/* The store is a limited role's, unless it is to be deployed anew. */
static void pg_make_limited(char *url, size_t size, const char *kept_for)
{
    pg_make(url, size, kept_for);
    if (kept_for)
        wpt_pg_limit(url, size);
}

static void pgbouncer_make(char *url, size_t size, const char *kept_for)
{
    char direct[256];
    (void)snprintf(direct, sizeof direct, "%s", url);
    pg_make(direct, sizeof direct, kept_for);
    wpt_pg_through_pgbouncer(url, size, direct);
}

static int64_t pg_number_at(const char *url, const char *sql)
{
    PGconn *pg = wpt_pg_connect(url);
    int64_t value = wpt_pg_number(pg, sql);
    PQfinish(pg);
    return value;
}

static app *pg_open_at(const char *url)
{
    app *a = calloc(1, sizeof *a);
    assert_non_null(a);
    a->pg = wpt_pg_connect(url);
    return a;
}

static app *pg_open(wp_store *store, bool patient)
{
    (void)patient; /* nothing that tests do waits for a lock */
    return pg_open_at(wp_store_location(store));
}

/* The app has its own tables, and looks into ours as tests do. */
static app *pg_open_unlimited(wp_store *store, bool patient)
{
    char url[256];
    (void)patient;
    wpt_pg_unlimited(url, sizeof url, wp_store_location(store));
    return pg_open_at(url);
}

static void pg_close(app *a)
{
    PQfinish(a->pg);
    free(a);
}

static wp_conn *pg_lend(app *a, wp_store *store)
{
    wp_conn *conn = NULL;
    WPT_OK(wp_conn_borrow_pq(&conn, store, a->pg, WPT_ERR));
    return conn;
}

static void pg_exec(app *a, const char *sql)
{
    wpt_pg_exec(a->pg, sql);
}

static int64_t pg_number(app *a, const char *sql)
{
    return wpt_pg_number(a->pg, sql);
}

#define PG_RELATIONS                                                                               \
    "SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS s ON s.oid = c.relnamespace WHERE "
#define PG_APP                                                                                     \
    PG_SQL, .keep = wpt_pg_keep, .number_at = pg_number_at, .close = pg_close, .lend = pg_lend,    \
            .exec = pg_exec, .number = pg_number
#define PG_SQL                                                                                     \
    .release = wpt_pg_release, .begin = "BEGIN", .commit = "COMMIT", .rollback = "ROLLBACK",       \
    .savepoint = "SAVEPOINT s", .rollback_to = "ROLLBACK TO s",                                    \
    .count_objects =                                                                               \
        PG_RELATIONS "s.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')",          \
    .count_outbox = PG_RELATIONS "s.nspname = %Q AND c.relname = %Q",                              \
    .count_others =                                                                                \
        PG_RELATIONS "s.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast', %Q)"       \
                     " AND c.relname NOT IN ('orders', 'mine')",                                   \
    .journal = "\"%w\".\"migration\"", .made_first = true

static const engine pg = {.name = "postgresql, libpq, as a role with few rights",
                          .url = pg_url,
                          .make = pg_make_limited,
                          .deployer = wpt_pg_unlimited,
                          .open = pg_open_unlimited,
                          PG_APP};

static const engine pg_hostile = {.again = true,
                                  .unchecked = true,
                                  .name = "postgresql, libpq, with hostile names",
                                  .schema = "a\"b; DROP TABLE orders; -- ''[`Ünï%s$$",
                                  .outbox = "\"; out box\\ 😀] {outbox} :id ?1",
                                  .inbox = "'; in box\"\\ 😀] {inbox_id} :now %s",
                                  .url = pg_url,
                                  .make = pg_make,
                                  .open = pg_open,
                                  PG_APP};

static const engine pg_bouncer = {.again = true,
                                  .unchecked = true,
                                  .name = "postgresql, libpq, through pgbouncer",
                                  .deaf = true,
                                  .url = pgbouncer_url,
                                  .make = pgbouncer_make,
                                  .open = pg_open,
                                  PG_APP};

/* ---- PostgreSQL by ODBC ------------------------------------------------------------------- */

static void odbc_url(char *out, size_t size, const wpt_dir *dir, const char *name)
{
    char url[256];
    (void)dir;
    wpt_pg_name(url, sizeof url, name);
    wpt_odbc_url(out, size, url);
}

static void odbc_make(char *url, size_t size, const char *kept_for)
{
    char same[256];
    wpt_odbc_pg_url(same, sizeof same, url);
    pg_make(same, sizeof same, kept_for);
    wpt_odbc_url(url, size, same);
}

static void odbc_keep(const char *url, const char *kept_for)
{
    char same[256];
    wpt_odbc_pg_url(same, sizeof same, url);
    wpt_pg_keep(same, kept_for);
}

static int64_t odbc_number_at(const char *url, const char *sql)
{
    char same[256];
    wpt_odbc_pg_url(same, sizeof same, url);
    return pg_number_at(same, sql);
}

static app *odbc_open(wp_store *store, bool patient)
{
    app *a = calloc(1, sizeof *a);
    assert_non_null(a);
    a->dbc = wpt_odbc_connect(wp_store_location(store));
    if (!patient)
        wpt_odbc_exec(a->dbc, "SET lock_timeout = 3000");
    return a;
}

static void odbc_close(app *a)
{
    wpt_odbc_close(a->dbc);
    free(a);
}

static wp_conn *odbc_lend(app *a, wp_store *store)
{
    wp_conn *conn = NULL;
    WPT_OK(wp_conn_borrow_odbc(&conn, store, a->dbc, WPT_ERR));
    return conn;
}

static void odbc_exec(app *a, const char *sql)
{
    wpt_odbc_exec(a->dbc, sql);
}

static int64_t odbc_number(app *a, const char *sql)
{
    return wpt_odbc_number(a->dbc, sql);
}

#define ODBC_APP                                                                                   \
    PG_SQL, .url = odbc_url, .make = odbc_make, .keep = odbc_keep, .number_at = odbc_number_at,    \
            .open = odbc_open, .hides_transactions = true, .close = odbc_close, .lend = odbc_lend, \
            .exec = odbc_exec, .number = odbc_number

/* What works with these names works with others. */
static const engine odbc_hostile = {.unchecked = true,
                                    .name = "postgresql, odbc, with hostile names",
                                    .schema = "a\"b; DROP TABLE orders; -- ''[`Ünï%s$$",
                                    .outbox = "\"; out box\\ 😀] {outbox} :id ?1",
                                    .inbox = "'; in box\"\\ 😀] {inbox_id} :now %s",
                                    ODBC_APP};

/* ---- MariaDB by ODBC ---------------------------------------------------------------------- */

static void maria_url(char *out, size_t size, const wpt_dir *dir, const char *name)
{
    (void)dir;
    wpt_mariadb_name(out, size, name);
}

static int64_t maria_number_at(const char *url, const char *sql)
{
    SQLHDBC dbc = wpt_mariadb_connect(url);
    int64_t value = wpt_odbc_number(dbc, sql);
    wpt_odbc_close(dbc);
    return value;
}

static void maria_make(char *url, size_t size, const char *kept_for)
{
    wpt_odbc_exec(wpt_mariadb_create(url, size, kept_for),
                  "CREATE TABLE IF NOT EXISTS mine (n INTEGER)");
}

/* The store is a limited user's, unless it is to be deployed anew. */
static void maria_make_limited(char *url, size_t size, const char *kept_for)
{
    maria_make(url, size, kept_for);
    if (kept_for)
        wpt_mariadb_limit(url, size);
}

static app *maria_open_at(const char *location, bool patient)
{
    app *a = calloc(1, sizeof *a);
    assert_non_null(a);
    a->dbc = wpt_odbc_connect(location);
    /* what an app may have set, and nothing of ours may heed */
    wpt_odbc_exec(a->dbc, "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT',"
                          " time_zone = '-09:30'");
    if (!patient)
        wpt_odbc_exec(a->dbc, "SET innodb_lock_wait_timeout = 3");
    return a;
}

static app *maria_open(wp_store *store, bool patient)
{
    return maria_open_at(wp_store_location(store), patient);
}

/* The app has its own tables, and looks into ours as tests do. */
static app *maria_open_unlimited(wp_store *store, bool patient)
{
    char location[512];
    wpt_mariadb_unlimited(location, sizeof location, wp_store_location(store));
    return maria_open_at(location, patient);
}

#define MARIA_TABLES                                                                               \
    "SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE()"
#define MARIA_APP                                                                                  \
    .url = maria_url, .release = wpt_mariadb_release, .made_first = true,                          \
    .number_at = maria_number_at, .close = odbc_close, .lend = odbc_lend, .exec = odbc_exec,       \
    .number = odbc_number, .hides_transactions = true, .begin = "BEGIN", .commit = "COMMIT",       \
    .rollback = "ROLLBACK", .savepoint = "SAVEPOINT s", .rollback_to = "ROLLBACK TO s",            \
    .keep = wpt_mariadb_keep, .count_objects = MARIA_TABLES,                                       \
    .count_outbox = MARIA_TABLES " AND table_name = CONCAT(%Q, '_', %Q)",                          \
    .count_others = MARIA_TABLES " AND table_name NOT IN ('orders', 'mine')"                       \
                                 " AND INSTR(table_name, CONCAT(%Q, '_')) <> 1",                   \
    .journal = "\"%w_migration\"", .isolates_first = true, .inbox_is_read_anew = true

/* fault.mariadb runs the driver under sanitizers. */
static const engine maria = {.unchecked = true,
                             .name = "mariadb, odbc, as a user with few rights",
                             .make = maria_make_limited,
                             .deployer = wpt_mariadb_unlimited,
                             .open = maria_open_unlimited,
                             MARIA_APP};

static const engine maria_hostile = {.again = true,
                                     .unchecked = true,
                                     .name = "mariadb, odbc, with hostile names",
                                     .schema = "a`b; DROP -- '\"Ün%s",
                                     .outbox = "`; out\\ ] {outbox} ?1",
                                     .inbox = "'; in`\\ ] {inbox_id} %s",
                                     .make = maria_make,
                                     .open = maria_open,
                                     MARIA_APP};

/* ---- SQL Server by ODBC ------------------------------------------------------------------- */

static void mssql_url(char *out, size_t size, const wpt_dir *dir, const char *name)
{
    (void)dir;
    wpt_mssql_name(out, size, name);
}

static int64_t mssql_number_at(const char *url, const char *sql)
{
    SQLHDBC dbc = wpt_mssql_connect(url);
    int64_t value = wpt_odbc_number(dbc, sql);
    wpt_odbc_close(dbc);
    return value;
}

static void mssql_make(char *url, size_t size, const char *kept_for)
{
    wpt_odbc_exec(wpt_mssql_create(url, size, kept_for),
                  "IF OBJECT_ID('dbo.mine') IS NULL CREATE TABLE mine (n INTEGER)");
}

static app *mssql_open(wp_store *store, bool patient)
{
    app *a = calloc(1, sizeof *a);
    assert_non_null(a);
    a->dbc = wpt_odbc_connect(wp_store_location(store));
    /* what an app may have set, and nothing of ours may heed */
    wpt_odbc_exec(a->dbc, "SET XACT_ABORT ON; SET ARITHABORT OFF");
    if (!patient)
        wpt_odbc_exec(a->dbc, "SET LOCK_TIMEOUT 3000");
    return a;
}

#define MSSQL_TABLES                                                                               \
    "SELECT count(*) FROM sys.tables AS t JOIN sys.schemas AS s ON s.schema_id = t.schema_id"
#define MSSQL_APP                                                                                  \
    .reads_json = wpt_mssql_reads_json, .counts_bytes = wpt_mssql_counts_bytes,                    \
    .takes_levels = wpt_mssql_takes_levels, .heeds_locks = wpt_mssql_heeds_locks,                  \
    .dead_letters = "DeadLetters", .url = mssql_url, .make = mssql_make,                           \
    .release = wpt_mssql_release, .made_first = true, .number_at = mssql_number_at,                \
    .open = mssql_open, .close = odbc_close, .lend = odbc_lend, .exec = odbc_exec,                 \
    .number = odbc_number, .hides_transactions = true, .begin = "BEGIN TRANSACTION",               \
    .commit = "COMMIT TRANSACTION", .rollback = "ROLLBACK TRANSACTION",                            \
    .savepoint = "SAVE TRANSACTION s", .rollback_to = "ROLLBACK TRANSACTION s",                    \
    .keep = wpt_mssql_keep, .remade_by = 10, .limit = wpt_mssql_limit,                             \
    .older = "ALTER PROCEDURE infra.Outbox_Release @OwnerToken UNIQUEIDENTIFIER AS"                \
             " THROW 50000, N'older', 1",                                                          \
    .may_call = "SELECT HAS_PERMS_BY_NAME('infra.%s', 'OBJECT', 'EXECUTE')",                       \
    .orders = "IF OBJECT_ID('dbo.orders') IS NULL CREATE TABLE orders (n INTEGER)",                \
    .count_objects = "SELECT (SELECT count(*) FROM sys.tables) + (SELECT count(*) FROM "           \
                     "sys.procedures)",                                                            \
    .count_outbox = MSSQL_TABLES " WHERE s.name = %Q AND t.name = %Q",                             \
    .count_others = MSSQL_TABLES " WHERE t.name NOT IN ('orders', 'mine') AND s.name <> %Q",       \
    .journal = "\"%w\".\"migration\"", .starts_slowly = true, .isolates_first = true,              \
    .inbox_is_read_anew = true

static const engine mssql = {
    .unchecked = true, .is_there = wpt_mssql_is_there, .name = "sqlserver, odbc", MSSQL_APP};

static const engine mssql_hostile = {.again = true,
                                     .unchecked = true,
                                     .is_there = wpt_mssql_takes_brackets,
                                     .name = "sqlserver, odbc, with hostile names",
                                     .schema = "a]b; DROP -- '\"%s",
                                     .outbox = "]; out\\ ] {outbox} ?1",
                                     .inbox = "'; in[\\ ] {inbox_id} %s",
                                     MSSQL_APP};

const engine *const engines[] = {&sqlite_file, &sqlite_memory, &sqlite_journal, &sqlite_hostile,
                                 &pg,          &pg_hostile,    &pg_bouncer,     &odbc_hostile,
                                 &maria,       &maria_hostile, &mssql,          &mssql_hostile};
const size_t engine_count = WPT_COUNT(engines);
