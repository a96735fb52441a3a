/* SPDX-License-Identifier: Apache-2.0 */
#include "wpt_mariadb.h"

#include <stdatomic.h>
#include <unistd.h>

static const char *server(void)
{
    const char *url = getenv("WAYPOST_TEST_MARIADB");
    if (!url || !*url)
        fail_msg("WAYPOST_TEST_MARIADB is not set: run the tests by tools/with_servers.sh");
    return url;
}

void wpt_mariadb_name(char *url, size_t size, const char *name)
{
    static atomic_int count;
    assert_true(snprintf(url, size, "%s;Database=t%ld_%d_%s", server(), (long)getpid(),
                         atomic_fetch_add(&count, 1), name) < (int)size);
}

static const char *database_of(const char *url)
{
    return strstr(url, ";Database=") + strlen(";Database=");
}

/* A schema takes the server a good part of a second: a database that was deployed is used again. */
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

static void on_server(const char *what, const char *name)
{
    SQLHDBC dbc = wpt_odbc_connect(server() + strlen("odbc:"));
    char sql[128];
    (void)snprintf(sql, sizeof sql, "%s DATABASE %.63s", what, name);
    wpt_odbc_exec(dbc, sql);
    wpt_odbc_close(dbc);
}

static void drop(size_t i)
{
    wpt_odbc_close(made[i].dbc);
    on_server("DROP", made[i].name);
    made[i] = made[--made_count];
}

static void drop_all(void)
{
    while (maker == (long)getpid() && made_count)
        drop(made_count - 1);
}

/* Names and columns of all tables, and how many routines and triggers there are. */
static int64_t fingerprint(SQLHDBC dbc)
{
    return wpt_odbc_number(
        dbc,
        "SELECT (SELECT COALESCE(SUM(CRC32(CONCAT(table_name, '.', column_name, column_type))), 0)"
        " FROM information_schema.columns WHERE table_schema = DATABASE()"
        " AND table_name NOT IN ('orders', 'mine'))"
        " + (SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = DATABASE())"
        " + (SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE())");
}

/* Delete all rows but the journal's. */
static void empty(SQLHDBC dbc)
{
    SQLHSTMT names = SQL_NULL_HSTMT;
    char sql[64][300];
    size_t count = 0;
    SQLLEN len;
    assert_int_equal(SQLAllocHandle(SQL_HANDLE_STMT, dbc, &names), SQL_SUCCESS);
    assert_int_equal(
        SQLExecDirect(
            names,
            (SQLCHAR *)"SELECT CONCAT('DELETE FROM `', REPLACE(table_name, '`', '``'), '`')"
                       " FROM information_schema.tables WHERE table_schema = DATABASE()"
                       " AND table_type = 'BASE TABLE'"
                       " AND table_name NOT LIKE '%migration'",
            SQL_NTS),
        SQL_SUCCESS);
    while (count < WPT_COUNT(sql) && SQL_SUCCEEDED(SQLFetch(names)))
        (void)SQLGetData(names, 1, SQL_C_CHAR, sql[count++], sizeof sql[0], &len);
    (void)SQLFreeHandle(SQL_HANDLE_STMT, names);
    for (size_t i = 0; i < count; i++)
        wpt_odbc_exec(dbc, sql[i]);
}

SQLHDBC wpt_mariadb_create(char *url, size_t size, const char *kept_for)
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
            (void)snprintf(url, size, "%s;Database=%s", server(), d->name);
            return d->dbc;
        }
        drop(i);
    }
    assert_true(made_count < WPT_COUNT(made));
    d = &made[made_count];
    *d = (database){.idle = false};
    (void)snprintf(d->name, sizeof d->name, "%s", database_of(url));
    on_server("CREATE", d->name);
    d->dbc = wpt_mariadb_connect(url);
    made_count++;
    if (!maker)
        (void)atexit(drop_all);
    maker = (long)getpid();
    return d->dbc;
}

void wpt_mariadb_keep(const char *url, const char *kept_for)
{
    for (size_t i = 0; i < made_count; i++)
        if (strcmp(made[i].name, database_of(url)) == 0) {
            made[i].kept_for = kept_for;
            made[i].fingerprint = fingerprint(made[i].dbc);
        }
}

SQLHDBC wpt_mariadb_connect(const char *url)
{
    char string[512];
    (void)snprintf(string, sizeof string, "%s;OPTION=2;CHARSET=utf8mb4", url + strlen("odbc:"));
    return wpt_odbc_connect(string);
}

void wpt_mariadb_release(void)
{
    for (size_t i = 0; i < made_count; i++)
        made[i].idle = true;
}
