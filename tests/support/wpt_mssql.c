/* SPDX-License-Identifier: Apache-2.0 */
#include "wpt_mssql.h"

#include <stdatomic.h>
#include <strings.h>
#include <unistd.h>

static const char *server(void)
{
    return getenv("WAYPOST_TEST_MSSQL");
}

bool wpt_mssql_is_there(void)
{
    static bool told;
    const bool there = server() && *server();
    if (!there && !told)
        print_message(
            "# SKIPPED: SQL Server. WAYPOST_TEST_MSSQL is not set: nothing here has run on one\n");
    told = true;
    return there;
}

void wpt_mssql_name(char *url, size_t size, const char *name)
{
    static atomic_int count;
    assert_true(snprintf(url, size, "odbc:%s;Database=t%ld_%d_%s", server(), (long)getpid(),
                         atomic_fetch_add(&count, 1), name) < (int)size);
}

bool wpt_mssql_takes_brackets(void)
{
    static int takes = -1;
    if (!wpt_mssql_is_there() || takes >= 0)
        return takes == 1;
    SQLHDBC dbc = wpt_odbc_connect(server());
    SQLHSTMT statement = SQL_NULL_HSTMT;
    assert_int_equal(SQLAllocHandle(SQL_HANDLE_STMT, dbc, &statement), SQL_SUCCESS);
    wpt_odbc_exec(dbc, "BEGIN TRANSACTION");
    takes = SQL_SUCCEEDED(
        SQLExecDirect(statement, (SQLCHAR *)"CREATE SCHEMA [waypost ]] probe]", SQL_NTS));
    (void)SQLFreeHandle(SQL_HANDLE_STMT, statement);
    wpt_odbc_exec(dbc, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION");
    wpt_odbc_close(dbc);
    if (!takes)
        print_message(
            "# SKIPPED: SQL Server with hostile names. CREATE SCHEMA [a]]b] is not taken\n");
    return takes == 1;
}

bool wpt_mssql_reads_json(void)
{
    static int reads = -1;
    if (reads < 0) {
        SQLHDBC dbc = wpt_odbc_connect(server());
        reads = wpt_odbc_number(dbc, "SELECT COUNT(*) FROM OPENJSON(N'[\"a\\\"\"]') AS j"
                                     " WHERE j.value = N'a\"'") == 1;
        wpt_odbc_close(dbc);
        if (!reads)
            print_message("# SKIPPED: SQL Server with escapes in JSON. OPENJSON leaves them in\n");
    }
    return reads == 1;
}

/* Whether a batch is taken by the server that the string leads to. */
static bool takes_at(const char *string, const char *sql)
{
    SQLHDBC dbc = wpt_odbc_connect(string);
    SQLHSTMT statement = SQL_NULL_HSTMT;
    SQLRETURN rc;
    assert_int_equal(SQLAllocHandle(SQL_HANDLE_STMT, dbc, &statement), SQL_SUCCESS);
    rc = SQLExecDirect(statement, (SQLCHAR *)(uintptr_t)sql, SQL_NTS);
    (void)SQLFreeHandle(SQL_HANDLE_STMT, statement);
    wpt_odbc_close(dbc);
    return SQL_SUCCEEDED(rc) || rc == SQL_NO_DATA;
}

static bool takes(const char *sql)
{
    return takes_at(server(), sql);
}

bool wpt_mssql_takes_levels(void)
{
    static int found = -1;
    if (found < 0) {
        found = takes("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
        if (!found)
            print_message("# SKIPPED: SQL Server at REPEATABLE READ. It is not taken\n");
    }
    return found == 1;
}

bool wpt_mssql_heeds_locks(const char *url)
{
    static int found = -1;
    if (found < 0) {
        SQLHDBC writer = wpt_mssql_connect(url), reader = wpt_mssql_connect(url);
        wpt_odbc_exec(writer, "INSERT INTO mine VALUES (-1)");
        wpt_odbc_exec(writer, "BEGIN TRANSACTION");
        wpt_odbc_exec(writer, "UPDATE mine SET n = -1 WHERE n = -1");
        found = wpt_odbc_number(reader, "SELECT COUNT(*) FROM mine WITH (READPAST, ROWLOCK,"
                                        " READCOMMITTEDLOCK) WHERE n = -1") == 0;
        wpt_odbc_exec(writer, "ROLLBACK TRANSACTION");
        wpt_odbc_exec(writer, "DELETE FROM mine WHERE n = -1");
        wpt_odbc_close(reader);
        wpt_odbc_close(writer);
        if (!found)
            print_message("# SKIPPED: SQL Server where rows are locked. READPAST is not heeded\n");
    }
    return found == 1;
}

bool wpt_mssql_counts_bytes(void)
{
    static int counts = -1;
    if (counts < 0) {
        SQLHDBC dbc = wpt_odbc_connect(server());
        counts =
            wpt_odbc_number(
                dbc,
                "SELECT CASE WHEN DATALENGTH(N'x') = 1 OR COLLATIONPROPERTY("
                "'Latin1_General_100_CI_AS_SC_UTF8', 'CodePage') = 65001 THEN 1 ELSE 0 END") == 1;
        wpt_odbc_close(dbc);
    }
    return counts == 1;
}

static const char *database_of(const char *url)
{
    return strstr(url, ";Database=") + strlen(";Database=");
}

/* A schema takes the server a while: a database that was deployed is used again. */
typedef struct database {
    char name[64];
    SQLHDBC dbc;
    bool idle;
    const char *kept_for;
    int64_t fingerprint;
    char clear[64][600]; /* statements that delete all rows, once they were found out */
    size_t clear_count;
} database;
static database made[16];
static size_t made_count;
static long maker; /* the process; its children own none of them */

static void create_on_server(const char *name)
{
    SQLHDBC dbc = wpt_odbc_connect(server());
    char sql[192];
    (void)snprintf(sql, sizeof sql, "CREATE DATABASE %.63s", name);
    wpt_odbc_exec(dbc, sql);
    wpt_odbc_close(dbc);
}

static void drop(size_t i)
{
    char sql[192];
    (void)snprintf(sql, sizeof sql, "DROP DATABASE %.63s", made[i].name);
    wpt_odbc_close(made[i].dbc);
    WPT_AWAIT(takes(sql)); /* when its last connection has ended, and nobody drops another */
    made[i] = made[--made_count];
}

/* The login of limited users, in the databases that have one. */
static char limited[32];

static void drop_all(void)
{
    char sql[64];
    if (maker != (long)getpid())
        return;
    while (made_count)
        drop(made_count - 1);
    (void)snprintf(sql, sizeof sql, "DROP LOGIN %s", limited);
    if (*limited)
        WPT_AWAIT(takes(sql));
}

/* How many notes the journal has. */
static int64_t notes(SQLHDBC dbc)
{
    SQLHSTMT names = SQL_NULL_HSTMT;
    char sql[600] = "SELECT 0";
    SQLLEN len;
    assert_int_equal(SQLAllocHandle(SQL_HANDLE_STMT, dbc, &names), SQL_SUCCESS);
    assert_int_equal(
        SQLExecDirect(names,
                      (SQLCHAR *)"SELECT 'SELECT COUNT(*) FROM ' + QUOTENAME(s.name) + '.migration'"
                                 " FROM sys.tables AS t JOIN sys.schemas AS s"
                                 " ON s.schema_id = t.schema_id WHERE t.name = 'migration'",
                      SQL_NTS),
        SQL_SUCCESS);
    if (SQL_SUCCEEDED(SQLFetch(names)))
        (void)SQLGetData(names, 1, SQL_C_CHAR, sql, sizeof sql, &len);
    (void)SQLFreeHandle(SQL_HANDLE_STMT, names);
    return wpt_odbc_number(dbc, sql);
}

/* How many columns, procedures and notes in the journal there are. */
static int64_t fingerprint(SQLHDBC dbc)
{
    return 1000000 * notes(dbc) +
           wpt_odbc_number(dbc,
                           "SELECT (SELECT COUNT(*) FROM sys.columns AS c JOIN sys.tables AS t"
                           " ON t.object_id = c.object_id WHERE t.name NOT IN ('orders', 'mine'))"
                           " + 1000 * (SELECT COUNT(*) FROM sys.procedures)");
}

/* Delete all rows but the journal's. */
static void empty(database *d)
{
    SQLHSTMT names = SQL_NULL_HSTMT;
    SQLLEN len;
    if (!d->clear_count) {
        assert_int_equal(SQLAllocHandle(SQL_HANDLE_STMT, d->dbc, &names), SQL_SUCCESS);
        assert_int_equal(
            SQLExecDirect(
                names,
                (SQLCHAR *)"SELECT 'DELETE FROM ' + QUOTENAME(s.name) + '.' + QUOTENAME(t.name)"
                           " FROM sys.tables AS t JOIN sys.schemas AS s"
                           " ON s.schema_id = t.schema_id WHERE t.name <> 'migration'",
                SQL_NTS),
            SQL_SUCCESS);
        while (d->clear_count < WPT_COUNT(d->clear) && SQL_SUCCEEDED(SQLFetch(names)))
            (void)SQLGetData(names, 1, SQL_C_CHAR, d->clear[d->clear_count++], sizeof d->clear[0],
                             &len);
        (void)SQLFreeHandle(SQL_HANDLE_STMT, names);
    }
    for (size_t i = 0; i < d->clear_count; i++)
        wpt_odbc_exec(d->dbc, d->clear[i]);
}

SQLHDBC wpt_mssql_create(char *url, size_t size, const char *kept_for)
{
    database *d;
    for (size_t i = made_count; i-- > 0;) {
        d = &made[i];
        if (!d->idle)
            continue;
        if (kept_for && d->kept_for && strcmp(d->kept_for, kept_for) == 0 &&
            fingerprint(d->dbc) == d->fingerprint) {
            empty(d);
            d->idle = false;
            (void)snprintf(url, size, "odbc:%s;Database=%s", server(), d->name);
            return d->dbc;
        }
        drop(i);
    }
    assert_true(made_count < WPT_COUNT(made));
    d = &made[made_count];
    *d = (database){.idle = false};
    (void)snprintf(d->name, sizeof d->name, "%s", database_of(url));
    create_on_server(d->name);
    d->dbc = wpt_mssql_connect(url);
    made_count++;
    if (!maker)
        (void)atexit(drop_all);
    maker = (long)getpid();
    return d->dbc;
}

void wpt_mssql_keep(const char *url, const char *kept_for)
{
    for (size_t i = 0; i < made_count; i++)
        if (strcmp(made[i].name, database_of(url)) == 0 && !made[i].kept_for) {
            made[i].kept_for = kept_for;
            made[i].fingerprint = fingerprint(made[i].dbc);
        }
}

SQLHDBC wpt_mssql_connect(const char *url)
{
    return wpt_odbc_connect(url + strlen("odbc:"));
}

void wpt_mssql_release(void)
{
    for (size_t i = 0; i < made_count; i++)
        made[i].idle = true;
}

/* ---- a user with few rights --------------------------------------------------------------- */

#define PASSWORD "Waypost-1"

/* An ODBC connection string as another login; values have no semicolons in them. */
static void as_limited(char *out, size_t size, const char *url)
{
    static const char *const whose[] = {"UID=", "PWD=", "User ID=", "User=", "Password="};
    char items[256], *rest = items;
    size_t used = (size_t)snprintf(out, size, "odbc:UID=%s;PWD=" PASSWORD, limited);
    (void)snprintf(items, sizeof items, "%s", url + strlen("odbc:"));
    for (char *item; (item = strtok_r(rest, ";", &rest)) != NULL;) {
        bool other = true;
        for (size_t i = 0; i < WPT_COUNT(whose); i++)
            other = other && strncasecmp(item, whose[i], strlen(whose[i])) != 0;
        if (other)
            used += (size_t)snprintf(out + used, size - used, ";%s", item);
        assert_true(used < size);
    }
}

static void substitute(char *out, size_t size, const char *text, const char *name,
                       const char *value)
{
    const char *at = strstr(text, name);
    assert_non_null(at);
    assert_true(snprintf(out, size, "%.*s%s%s", (int)(at - text), text, value, at + strlen(name)) <
                (int)size);
}

/* What the script grants, on the schema infra. */
static void grant(SQLHDBC dbc)
{
    static char script[2048], called[2048], sql[2048];
    FILE *f = fopen(WPT_SUPPORT "/../../sql/rights/sqlserver.sql", "r");
    assert_non_null(f);
    script[fread(script, 1, sizeof script - 1, f)] = '\0';
    (void)fclose(f);
    assert_non_null(strstr(script, "\nGRANT"));
    substitute(called, sizeof called, strstr(script, "\nGRANT"), "$(schema)", "infra");
    substitute(sql, sizeof sql, called, "$(role)", limited);
    wpt_odbc_exec(dbc, sql);
}

bool wpt_mssql_limit(char *out, size_t size, const char *url)
{
    static int reaches = -1;
    SQLHDBC dbc = wpt_mssql_connect(url);
    char sql[128];
    if (!*limited) {
        (void)snprintf(limited, sizeof limited, "t%ld_limited", (long)getpid());
        (void)snprintf(sql, sizeof sql, "CREATE LOGIN %s WITH PASSWORD = '" PASSWORD "'", limited);
        wpt_odbc_exec(dbc, sql);
    }
    (void)snprintf(sql, sizeof sql,
                   "SELECT COUNT(*) FROM sys.database_principals WHERE name = '%s'", limited);
    if (!wpt_odbc_number(dbc, sql)) {
        (void)snprintf(sql, sizeof sql, "CREATE USER %s FOR LOGIN %s", limited, limited);
        wpt_odbc_exec(dbc, sql);
    }
    grant(dbc);
    as_limited(out, size, url);
    if (reaches < 0) {
        (void)snprintf(sql, sizeof sql, "GRANT EXECUTE ON OBJECT::dbo.reach TO %s", limited);
        wpt_odbc_exec(dbc, "CREATE PROCEDURE dbo.reach AS SELECT COUNT(*) FROM dbo.mine");
        wpt_odbc_exec(dbc, sql);
        reaches = takes_at(out + strlen("odbc:"), "EXEC dbo.reach");
        wpt_odbc_exec(dbc, "DROP PROCEDURE dbo.reach");
        if (!reaches)
            print_message("# SKIPPED: SQL Server as a user who may call procedures alone. They do "
                          "not reach their owner's tables\n");
    }
    wpt_odbc_close(dbc);
    return reaches == 1;
}
