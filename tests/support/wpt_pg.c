/* SPDX-License-Identifier: Apache-2.0 */
#include "wpt_pg.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/buf.h"

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

/* The databases of this process, each with a connection of ours. To make one takes the server a good part
 * of a second, and a connection much of the rest of a test; so both are kept, and used again. */
typedef struct database {
    char name[64];
    PGconn *pg;
    bool idle;
    const char *kept_for; /* who may have it with its schema, if that is still the one it was */
    char fingerprint[33];
} database;
static database made[16];
static size_t made_count;
static long maker; /* the process; its children own none of them */

static void on_server(const char *format, const char *name)
{
    PGconn *pg = wpt_pg_connect(server("WAYPOST_TEST_POSTGRESQL"));
    char sql[256];
    (void)snprintf(sql, sizeof sql, format, name);
    wpt_pg_exec(pg, sql);
    PQfinish(pg);
}

static void drop(size_t i)
{
    PQfinish(made[i].pg);
    on_server("DROP DATABASE %.63s WITH (FORCE)", made[i].name);
    made[i] = made[--made_count];
}

/* At exit; the server may be gone by then. */
static void drop_all(void)
{
    PGconn *pg;
    char sql[256];
    if (maker != (long)getpid())
        return;
    pg = PQconnectdb(server("WAYPOST_TEST_POSTGRESQL"));
    for (size_t i = 0; i < made_count; i++) {
        PQfinish(made[i].pg);
        (void)snprintf(sql, sizeof sql, "DROP DATABASE %.63s WITH (FORCE)", made[i].name);
        PQclear(PQexec(pg, sql));
    }
    PQfinish(pg);
}

static database *make(const char *url)
{
    database *d = &made[made_count];
    assert_true(made_count < WPT_COUNT(made));
    (void)snprintf(d->name, sizeof d->name, "%s", database_of(url));
    on_server("CREATE DATABASE %s TEMPLATE template0 STRATEGY file_copy", d->name);
    d->pg = wpt_pg_connect(url);
    d->kept_for = NULL;
    made_count++;
    if (!maker)
        (void)atexit(drop_all);
    maker = (long)getpid();
    return d;
}

static bool succeeds(PGconn *pg, const char *sql)
{
    PGresult *result = PQexec(pg, sql);
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* The statement of a file beside this one. */
static const char *statement_of(char *sql, size_t size, const char *path)
{
    if (!*sql) {
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        sql[fread(sql, 1, size - 1, file)] = '\0';
        (void)fclose(file);
    }
    return sql;
}

/* False if something cannot be undone. */
static bool empty(database *d)
{
    static char sql[4096];
    d->kept_for = NULL;
    return succeeds(d->pg, statement_of(sql, sizeof sql, WPT_SUPPORT "/empty_postgresql.sql"));
}

static void take_fingerprint(char out[33], const database *d)
{
    static char sql[4096];
    PGresult *result =
        PQexec(d->pg, statement_of(sql, sizeof sql, WPT_SUPPORT "/fingerprint_postgresql.sql"));
    assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
    (void)snprintf(out, 33, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
}

/* False if the schema is not what it was. */
static bool clean(const database *d)
{
    static char sql[4096];
    char now[33];
    take_fingerprint(now, d);
    return strcmp(now, d->fingerprint) == 0 &&
           succeeds(d->pg, statement_of(sql, sizeof sql, WPT_SUPPORT "/clean_postgresql.sql"));
}

static database *find(const char *kept_for)
{
    for (size_t i = made_count; kept_for && i-- > 0;)
        if (made[i].idle && made[i].kept_for && strcmp(made[i].kept_for, kept_for) == 0 &&
            clean(&made[i]))
            return &made[i];
    for (size_t i = made_count; i-- > 0;) {
        if (!made[i].idle)
            continue;
        if (empty(&made[i]))
            return &made[i];
        drop(i);
    }
    return NULL;
}

PGconn *wpt_pg_create(char *url, size_t size, const char *kept_for)
{
    database *d = find(kept_for);
    if (!d)
        d = make(url);
    d->idle = false;
    with_database(url, size, server("WAYPOST_TEST_POSTGRESQL"), d->name);
    return d->pg;
}

void wpt_pg_keep(const char *url, const char *kept_for)
{
    for (size_t i = 0; i < made_count; i++)
        if (strcmp(made[i].name, database_of(url)) == 0) {
            made[i].kept_for = kept_for;
            take_fingerprint(made[i].fingerprint, &made[i]);
        }
}

/* ---- a role with few rights --------------------------------------------------------------- */

/* The script with what psql would put in for its variables. */
static void grant(PGconn *pg)
{
    static const char *const values[][2] = {{":\"schema\"", "\"infra\""},
                                            {":\"role\"", "\"waypost_limited\""}};
    static char script[4096];
    wp__buf sql = {0};
    const char *at =
        statement_of(script, sizeof script, WPT_SUPPORT "/../../sql/rights/postgresql.sql");
    at = strstr(at, "\nGRANT");
    assert_non_null(at);
    while (*at) {
        size_t i = 0;
        while (i < WPT_COUNT(values) && strncmp(at, values[i][0], strlen(values[i][0])) != 0)
            i++;
        wp__buf_add(&sql, i < WPT_COUNT(values) ? values[i][1] : at,
                    i < WPT_COUNT(values) ? strlen(values[i][1]) : 1);
        at += i < WPT_COUNT(values) ? strlen(values[i][0]) : 1;
    }
    assert_false(sql.failed);
    wpt_pg_exec(pg,
                "DO $$ BEGIN CREATE ROLE waypost_limited LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;"
                " EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$");
    wpt_pg_exec(pg, sql.data);
    wp__buf_free(&sql);
}

/* `url` with what stands before the @ in another one. */
static void with_user(char *out, size_t size, const char *url, const char *user)
{
    const char *at = strchr(url, '@');
    assert_non_null(at);
    assert_true(snprintf(out, size, "%s%s", user, at) < (int)size);
}

void wpt_pg_limit(char *url, size_t size)
{
    char same[256];
    wp_config *config = wpt_config(NULL, WPT_OPTIONS("store.url", url));
    for (size_t i = 0; i < made_count; i++)
        if (strcmp(made[i].name, database_of(url)) == 0) {
            WPT_OK(wp_schema_deploy(config, WPT_ERR));
            grant(made[i].pg);
        }
    wp_config_free(config);
    with_user(same, sizeof same, url, "postgresql://waypost_limited");
    (void)snprintf(url, size, "%s", same);
}

void wpt_pg_unlimited(char *out, size_t size, const char *url)
{
    with_database(out, size, server("WAYPOST_TEST_POSTGRESQL"), database_of(url));
}

/* Cut off whoever else is connected, and wait until they are gone. */
static bool cut_off(PGconn *pg)
{
#define OTHERS                                                                                     \
    " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    if (!succeeds(pg, "SELECT pg_terminate_backend(pid)" OTHERS))
        return false;
    WPT_AWAIT(wpt_pg_number(pg, "SELECT count(*)" OTHERS) == 0);
    return true;
}

void wpt_pg_release(void)
{
    for (size_t i = made_count; i-- > 0;) {
        if (!made[i].idle && !cut_off(made[i].pg))
            drop(i);
        else
            made[i].idle = true;
    }
}

void wpt_pg_cut_off_but(int64_t spared)
{
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "SELECT count(pg_terminate_backend(pid, 60000))" OTHERS " AND pid <> %" PRId64,
                   spared);
    for (size_t i = 0; i < made_count; i++)
        if (!made[i].idle)
            (void)wpt_pg_number(made[i].pg, sql);
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
