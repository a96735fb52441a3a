/* SPDX-License-Identifier: Apache-2.0 */
#include "wpt_mssql.h"

#include <stdatomic.h>
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
} database;
static database made[16];
static size_t made_count;
static long maker; /* the process; its children own none of them */

static void on_server(const char *format, const char *name)
{
    SQLHDBC dbc = wpt_odbc_connect(server());
    char sql[192];
    (void)snprintf(sql, sizeof sql, format, name);
    wpt_odbc_exec(dbc, sql);
    wpt_odbc_close(dbc);
}

static void drop(size_t i)
{
    wpt_odbc_close(made[i].dbc);
    on_server("DROP DATABASE %.63s", made[i].name);
    made[i] = made[--made_count];
}

static void drop_all(void)
{
    while (maker == (long)getpid() && made_count)
        drop(made_count - 1);
}

/* How many columns and procedures there are. */
static int64_t fingerprint(SQLHDBC dbc)
{
    return wpt_odbc_number(dbc,
                           "SELECT (SELECT COUNT(*) FROM sys.columns AS c JOIN sys.tables AS t"
                           " ON t.object_id = c.object_id WHERE t.name NOT IN ('orders', 'mine'))"
                           " + 1000 * (SELECT COUNT(*) FROM sys.procedures)");
}

/* Delete all rows but the journal's. */
static void empty(SQLHDBC dbc)
{
    SQLHSTMT names = SQL_NULL_HSTMT;
    char sql[64][600];
    size_t count = 0;
    SQLLEN len;
    assert_int_equal(SQLAllocHandle(SQL_HANDLE_STMT, dbc, &names), SQL_SUCCESS);
    assert_int_equal(
        SQLExecDirect(
            names,
            (SQLCHAR *)"SELECT 'DELETE FROM ' + QUOTENAME(s.name) + '.' + QUOTENAME(t.name)"
                       " FROM sys.tables AS t JOIN sys.schemas AS s"
                       " ON s.schema_id = t.schema_id WHERE t.name <> 'migration'",
            SQL_NTS),
        SQL_SUCCESS);
    while (count < WPT_COUNT(sql) && SQL_SUCCEEDED(SQLFetch(names)))
        (void)SQLGetData(names, 1, SQL_C_CHAR, sql[count++], sizeof sql[0], &len);
    (void)SQLFreeHandle(SQL_HANDLE_STMT, names);
    for (size_t i = 0; i < count; i++)
        wpt_odbc_exec(dbc, sql[i]);
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
            empty(d->dbc);
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
    on_server("CREATE DATABASE %.63s", d->name);
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
        if (strcmp(made[i].name, database_of(url)) == 0) {
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
