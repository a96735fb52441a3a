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
    int64_t connection; /* what the server calls it */
    bool idle;
    const char *kept_for;
    int64_t fingerprint;
    bool limited; /* the limited user has its rights */
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

/* A test that has failed leaves its connections, in transactions that a DROP would wait for. Those that are about to end
 * are let: the server may have given their threads to others. */
static void cut_off(const char *name)
{
    enum { PATIENCE_MS = 1000 };
    SQLHDBC dbc = wpt_odbc_connect(server() + strlen("odbc:"));
    char sql[200];
    int64_t id;
    (void)snprintf(
        sql, sizeof sql,
        "SELECT COALESCE(MAX(id), 0) FROM information_schema.processlist WHERE db = '%.63s'", name);
    for (int ms = 0; ms < PATIENCE_MS && wpt_odbc_number(dbc, sql) != 0; ms += 2)
        (void)usleep(2000);
    for (int tries = 0; tries < 10000 && (id = wpt_odbc_number(dbc, sql)) != 0; tries++) {
        SQLHSTMT statement = SQL_NULL_HSTMT;
        char kill[64];
        (void)snprintf(kill, sizeof kill, "KILL %lld", (long long)id);
        assert_int_equal(SQLAllocHandle(SQL_HANDLE_STMT, dbc, &statement), SQL_SUCCESS);
        (void)SQLExecDirect(statement, (SQLCHAR *)kill, SQL_NTS); /* it may be gone by now */
        (void)SQLFreeHandle(SQL_HANDLE_STMT, statement);
    }
    wpt_odbc_close(dbc);
}

static void drop(size_t i)
{
    wpt_odbc_close(made[i].dbc);
    cut_off(made[i].name);
    on_server("DROP", made[i].name);
    made[i] = made[--made_count];
}

static void drop_all(void)
{
    while (maker == (long)getpid() && made_count)
        drop(made_count - 1);
}

/* What the journals of migrations say; 0: there are none. */
static int64_t journals(SQLHDBC dbc)
{
    SQLHSTMT statement = SQL_NULL_HSTMT;
    char text[300] = "";
    int64_t sum = 0;
    SQLLEN len;
    assert_int_equal(SQLAllocHandle(SQL_HANDLE_STMT, dbc, &statement), SQL_SUCCESS);
    assert_int_equal(
        SQLExecDirect(
            statement,
            (SQLCHAR *)"SELECT CONCAT('SELECT COALESCE(SUM(number + 1000000), 0) FROM `',"
                       " REPLACE(table_name, '`', '``'), '`') FROM information_schema.tables"
                       " WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'"
                       " AND table_name LIKE '%migration'",
            SQL_NTS),
        SQL_SUCCESS);
    if (SQL_SUCCEEDED(SQLFetch(statement)))
        (void)SQLGetData(statement, 1, SQL_C_CHAR, text, sizeof text, &len);
    (void)SQLFreeHandle(SQL_HANDLE_STMT, statement);
    if (text[0])
        sum = wpt_odbc_number(dbc, text);
    return sum;
}

/* What the server has logged about a connection, and what the driver says of it: for whoever finds out why it hangs up. */
static void tell_of(int64_t connection, SQLHSTMT statement)
{
    SQLCHAR state[6] = "", text[300] = "";
    SQLINTEGER native = 0;
    const char *dir = getenv("WAYPOST_TEST_MARIADB_DIR");
    char path[512], line[512], id[32];
    FILE *f;
    (void)SQLGetDiagRec(SQL_HANDLE_STMT, statement, 1, state, &native, text, sizeof text, NULL);
    (void)fprintf(stderr, "MariaDB's connection %lld: %s %d %s\n", (long long)connection,
                  (const char *)state, (int)native, (const char *)text);
    (void)snprintf(path, sizeof path, "%s/log", dir ? dir : "");
    (void)snprintf(id, sizeof id, " %lld ", (long long)connection);
    if (!(f = fopen(path, "r")))
        return;
    while (fgets(line, sizeof line, f))
        if (strstr(line, id))
            (void)fputs(line, stderr);
    (void)fclose(f);
}

/* Names and columns of all tables, how many routines and triggers there are, and the journal; -1: the server has hung
 * up, as it does once in some thousand times while others make and drop databases, which is told. Routines are
 * counted in mysql.proc, by its key: information_schema reads those of all databases. */
static int64_t fingerprint(const database *d)
{
    static const char sql[] =
        "SELECT (SELECT COALESCE(SUM(CRC32(CONCAT(table_name, '.', column_name, column_type))), 0)"
        " FROM information_schema.columns WHERE table_schema = DATABASE()"
        " AND table_name NOT IN ('orders', 'mine'))"
        " + (SELECT COUNT(*) FROM mysql.proc WHERE db = DATABASE())"
        " + (SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE())";
    SQLHSTMT statement = SQL_NULL_HSTMT;
    SQLBIGINT sum = -1;
    SQLLEN len;
    if (SQLAllocHandle(SQL_HANDLE_STMT, d->dbc, &statement) != SQL_SUCCESS)
        return -1;
    if (!SQL_SUCCEEDED(SQLExecDirect(statement, (SQLCHAR *)(uintptr_t)sql, SQL_NTS)) ||
        !SQL_SUCCEEDED(SQLFetch(statement)) ||
        !SQL_SUCCEEDED(SQLGetData(statement, 1, SQL_C_SBIGINT, &sum, sizeof sum, &len))) {
        tell_of(d->connection, statement);
        sum = -1;
    }
    (void)SQLFreeHandle(SQL_HANDLE_STMT, statement);
    return sum < 0 ? -1 : sum + journals(d->dbc);
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
        if (kept_for && d->kept_for && strcmp(d->kept_for, kept_for) == 0 && d->fingerprint >= 0 &&
            fingerprint(d) == d->fingerprint) {
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
    d->connection = wpt_odbc_number(d->dbc, "SELECT CONNECTION_ID()");
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
            made[i].fingerprint = fingerprint(&made[i]);
        }
}

/* ---- a user with few rights --------------------------------------------------------------- */

#define OWNER "Uid=waypost;"
#define LIMITED "Uid=waypost_limited;"

static void replace(char *out, size_t size, const char *url, const char *from, const char *to)
{
    const char *at = strstr(url, from);
    assert_non_null(at);
    assert_true(snprintf(out, size, "%.*s%s%s", (int)(at - url), url, to, at + strlen(from)) <
                (int)size);
}

/* What the script prints is what the user gets. */
static void grant(SQLHDBC dbc)
{
    static char script[8192], lines[256][300];
    SQLHSTMT statement = SQL_NULL_HSTMT;
    size_t count = 0;
    SQLLEN len;
    FILE *f = fopen(WPT_SUPPORT "/../../sql/rights/mariadb.sql", "r");
    assert_non_null(f);
    script[fread(script, 1, sizeof script - 1, f)] = '\0';
    (void)fclose(f);
    *strrchr(script, ';') = '\0';
    wpt_odbc_exec(dbc, "CREATE USER IF NOT EXISTS waypost_limited@'%'");
    wpt_odbc_exec(dbc, "SET @waypost_schema = 'infra', @waypost_user = 'waypost_limited@''%'''");
    assert_int_equal(SQLAllocHandle(SQL_HANDLE_STMT, dbc, &statement), SQL_SUCCESS);
    assert_int_equal(SQLExecDirect(statement, (SQLCHAR *)strstr(script, "\nSELECT"), SQL_NTS),
                     SQL_SUCCESS);
    for (; SQL_SUCCEEDED(SQLFetch(statement)); count++) {
        assert_true(count < WPT_COUNT(lines));
        (void)SQLGetData(statement, 1, SQL_C_CHAR, lines[count], sizeof lines[0], &len);
    }
    (void)SQLFreeHandle(SQL_HANDLE_STMT, statement);
    assert_true(count > 50);
    for (size_t i = 0; i < count; i++)
        wpt_odbc_exec(dbc, lines[i]);
}

void wpt_mariadb_limit(char *url, size_t size)
{
    char same[256];
    database *d = NULL;
    for (size_t i = 0; i < made_count; i++)
        if (strcmp(made[i].name, database_of(url)) == 0)
            d = &made[i];
    assert_non_null(d);
    if (!d->limited) {
        wp_config *config = wpt_config(NULL, WPT_OPTIONS("store.url", url));
        WPT_OK(wp_schema_deploy(config, WPT_ERR));
        wp_config_free(config);
        grant(d->dbc);
        d->limited = true;
    }
    replace(same, sizeof same, url, OWNER, LIMITED);
    (void)snprintf(url, size, "%s", same);
}

void wpt_mariadb_unlimited(char *out, size_t size, const char *url)
{
    replace(out, size, url, LIMITED, OWNER);
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
