/* SPDX-License-Identifier: Apache-2.0 */
#include "wpt_pg.h"

#include <stdatomic.h>
#include <unistd.h>

static const char *server(const char *variable)
{
    const char *url = getenv(variable);
    if (!url || !*url)
        fail_msg("%s is not set: run the tests by tools/with_servers.sh", variable);
    return url;
}

/* `url` with another database. */
static void with_database(char *out, size_t size, const char *url, const char *database)
{
    const char *slash = strrchr(url, '/');
    assert_non_null(slash);
    (void)snprintf(out, size, "%.*s/%s", (int)(slash - url), url, database);
}

static const char *database_of(const char *url)
{
    return strrchr(url, '/') + 1;
}

void wpt_pg_name(char *url, size_t size, const char *name)
{
    static atomic_int count;
    char database[64];
    (void)snprintf(database, sizeof database, "t%ld_%d_%s", (long)getpid(),
                   atomic_fetch_add(&count, 1), name);
    with_database(url, size, server("WAYPOST_TEST_POSTGRESQL"), database);
}

void wpt_pg_create(const char *url)
{
    PGconn *pg = wpt_pg_connect(server("WAYPOST_TEST_POSTGRESQL"));
    char sql[256];
    (void)snprintf(sql, sizeof sql, "CREATE DATABASE %s TEMPLATE template0", database_of(url));
    wpt_pg_exec(pg, sql);
    PQfinish(pg);
}

void wpt_pg_drop_all(void)
{
    PGconn *pg = wpt_pg_connect(server("WAYPOST_TEST_POSTGRESQL"));
    char sql[256];
    PGresult *names;
    (void)snprintf(sql, sizeof sql,
                   "SELECT datname FROM pg_database WHERE datname LIKE 't%ld\\_%%'",
                   (long)getpid());
    names = PQexec(pg, sql);
    for (int i = 0; i < PQntuples(names); i++) {
        (void)snprintf(sql, sizeof sql, "DROP DATABASE %s WITH (FORCE)", PQgetvalue(names, i, 0));
        wpt_pg_exec(pg, sql);
    }
    PQclear(names);
    PQfinish(pg);
}

void wpt_pg_through_pgbouncer(char *out, size_t size, const char *url)
{
    with_database(out, size, server("WAYPOST_TEST_PGBOUNCER"), database_of(url));
}

static void ignore_notice(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result;
}

PGconn *wpt_pg_connect(const char *url)
{
    PGconn *pg = PQconnectdb(url);
    if (PQstatus(pg) != CONNECTION_OK)
        fail_msg("%s: %s", url, PQerrorMessage(pg));
    (void)PQsetNoticeReceiver(pg, ignore_notice, NULL);
    return pg;
}

void wpt_pg_exec(PGconn *pg, const char *sql)
{
    PGresult *result = PQexec(pg, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(pg));
    PQclear(result);
}

int64_t wpt_pg_number(PGconn *pg, const char *sql)
{
    PGresult *result = PQexec(pg, sql);
    int64_t value;
    if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) < 1)
        fail_msg("%s: %s", sql, PQerrorMessage(pg));
    value = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return value;
}
