/* SPDX-License-Identifier: Apache-2.0 */
/* Many stores in one worker: what they take when there is nothing to do, how evenly they are served, and
 * how soon those come back that could not be written. Each in a process of its own. */
#include <dirent.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench_pg.h"

enum { EACH = 20, THREADS = 16, MOST = 2048, IDLE_S = 10, LOCKED_SHARE = 20, HANDLE_US = 500 };

/* ---- what is measured ---------------------------------------------------------------------- */

static atomic_int statements;

static int count_statement(unsigned kind, void *user, void *statement, void *text)
{
    (void)kind;
    (void)user;
    (void)statement;
    (void)text;
    (void)atomic_fetch_add(&statements, 1);
    return 0;
}

static int watch_connection(sqlite3 *db, const char **message, const void *api)
{
    (void)message;
    (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count_statement, NULL);
}

/* A number of /proc/self/status. */
static double status_of(const char *key)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double value = 0;
    if (!file)
        bench_die("/proc/self/status cannot be read");
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtod(line + strlen(key), NULL);
    (void)fclose(file);
    return value;
}

static double open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    double count = 0;
    /* cppcheck-suppress readdirCalled ; the stream is this function's own */
    while (dir && readdir(dir))
        count++;
    if (dir)
        (void)closedir(dir);
    return count;
}

static double pg_number(PGconn *pg, const char *sql)
{
    PGresult *result = pg ? PQexec(pg, sql) : NULL;
    double value = 0;
    if (pg && PQresultStatus(result) != PGRES_TUPLES_OK)
        bench_die("%s: %s", sql, PQerrorMessage(pg));
    if (pg)
        value = strtod(PQgetvalue(result, 0, 0), NULL);
    PQclear(result);
    return value;
}

#define CONNECTIONS                                                                                \
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "                    \
    "AND pid <> pg_backend_pid()"
#define TRANSACTIONS                                                                               \
    "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"

/* ---- the stores ---------------------------------------------------------------------------- */

typedef struct many {
    size_t files, schemas, count;
    wp_router *router;
    wp_worker *worker;
    PGconn *pg;
    sqlite3 *locks[MOST];
    atomic_int done[MOST]; /* by store */
    atomic_int total;
    int at_half[MOST];
} many;

static void id_of(char out[24], size_t index)
{
    (void)snprintf(out, 24, "%zu", index);
}

static wp_config *config_of(const many *m, size_t index, const char *directory, const char *url)
{
    wp_config *config = NULL;
    wp_error *err = NULL;
    char id[24];
    char text[BENCH_PATH + 64];
    id_of(id, index);
    bench_ok(wp_config_new(&config, &err), &err, "configure");
    if (index < m->files) {
        (void)snprintf(text, sizeof text, "sqlite:%s/store%zu.db", directory, index);
        bench_ok(wp_config_set(config, "store.url", text, &err), &err, "configure");
    } else {
        bench_ok(wp_config_set(config, "store.url", url, &err), &err, "configure");
        (void)snprintf(text, sizeof text, "store%zu", index);
        bench_ok(wp_config_set(config, "store.schema", text, &err), &err, "configure");
    }
    bench_ok(wp_config_set(config, "store.id", id, &err), &err, "configure");
    bench_ok(wp_config_set(config, "store.deploy", "true", &err), &err, "configure");
    return config;
}

static void route(many *m, const char *directory, const char *url)
{
    wp_config **configs = calloc(m->count, sizeof(wp_config *));
    wp_error *err = NULL;
    if (!configs)
        bench_die("out of memory");
    for (size_t i = 0; i < m->count; i++)
        configs[i] = config_of(m, i, directory, url);
    bench_ok(wp_router_new(&m->router, &err), &err, "make a router");
    bench_ok(wp_router_set(m->router, (const wp_config *const *)configs, m->count, &err), &err,
             "set the stores");
    for (size_t i = 0; i < m->count; i++)
        wp_config_free(configs[i]);
    free(configs);
}

static void enqueue(const many *m, size_t index, int times)
{
    wp_store *store = NULL;
    wp_message *message = NULL;
    wp_error *err = NULL;
    wp_id id;
    char key[24];
    id_of(key, index);
    bench_ok(wp_router_get(&store, m->router, key, &err), &err, "open a store");
    bench_ok(wp_message_new(&message, BENCH_TOPIC, bench_payload(), BENCH_PAYLOAD, &err), &err,
             "make a message");
    for (int i = 0; i < times; i++)
        bench_ok(wp_outbox_enqueue(&id, NULL, store, NULL, message, &err), &err, "enqueue");
    wp_message_free(message);
    wp_store_close(store);
}

static wp_outcome handle(wp_delivery *delivery, void *user)
{
    many *m = user;
    const size_t index = strtoul(wp_delivery_store_id(delivery), NULL, 10);
    bench_sleep_us(HANDLE_US);
    (void)atomic_fetch_add(&m->done[index], 1);
    if ((size_t)atomic_fetch_add(&m->total, 1) + 1 == m->count * EACH / 2)
        for (size_t i = 0; i < m->count; i++)
            m->at_half[i] = atomic_load(&m->done[i]);
    return WP_OUTCOME_DONE;
}

/* Hold the write lock of one file in LOCKED_SHARE; how many. */
static size_t lock_some(many *m, const char *directory)
{
    size_t count = 0;
    for (size_t i = 0; m->files >= LOCKED_SHARE && i < m->files; i += LOCKED_SHARE, count++) {
        char path[BENCH_PATH + 32];
        (void)snprintf(path, sizeof path, "%s/store%zu.db", directory, i);
        m->locks[i] = bench_connect(path);
        bench_exec(m->locks[i], "BEGIN IMMEDIATE");
    }
    return count;
}

static void unlock(many *m)
{
    for (size_t i = 0; i < m->files; i++) {
        if (!m->locks[i])
            continue;
        bench_exec(m->locks[i], "ROLLBACK");
        (void)sqlite3_close(m->locks[i]);
    }
}

static void await_total(const many *m, size_t total)
{
    const int64_t limit = bench_now_us() + 300000000;
    while ((size_t)atomic_load(&m->total) < total)
        if (bench_now_us() > limit)
            bench_die("only %d of %zu messages were handled", atomic_load(&m->total), total);
        else
            bench_sleep_us(1000);
}

/* Jain's index of how far the stores had come at half time: 1 is even, 1/n is one store alone. */
static double evenness(const many *m)
{
    double sum = 0, squares = 0, n = 0;
    for (size_t i = 0; i < m->count; i++) {
        if (m->locks[i])
            continue;
        sum += m->at_half[i];
        squares += (double)m->at_half[i] * m->at_half[i];
        n++;
    }
    return squares > 0 ? sum * sum / (n * squares) : 0;
}

static void work(many *m, const char *directory, json_t *out)
{
    wp_error *err = NULL;
    int64_t start;
    size_t locked;
    for (size_t i = 0; i < m->count; i++)
        enqueue(m, i, EACH);
    locked = lock_some(m, directory);
    bench_ok(wp_worker_new_on_router(&m->worker, m->router, NULL, &err), &err, "make a worker");
    bench_ok(wp_worker_handle(m->worker, WP_SOURCE_OUTBOX, BENCH_TOPIC, handle, m, NULL, &err),
             &err, "register");
    start = bench_now_us();
    bench_ok(wp_worker_start(m->worker, THREADS, &err), &err, "start");
    await_total(m, (m->count - locked) * EACH);
    json_object_set_new(out, "busy_s", json_real((double)(bench_now_us() - start) / 1e6));
    json_object_set_new(out, "even", json_real(evenness(m)));
    start = bench_now_us();
    unlock(m);
    await_total(m, m->count * EACH);
    json_object_set_new(out, "recovery_s", json_real((double)(bench_now_us() - start) / 1e6));
}

static void idle(const many *m, json_t *out)
{
    double cpu, transactions;
    int ran;
    bench_sleep_us(15000000); /* keepers end, polls grow long */
    ran = atomic_load(&statements);
    transactions = pg_number(m->pg, TRANSACTIONS);
    cpu = bench_cpu_ms();
    bench_sleep_us((int64_t)IDLE_S * 1000000);
    cpu = bench_cpu_ms() - cpu;
    ran = atomic_load(&statements) - ran;
    bench_sleep_us(1500000); /* PostgreSQL counts with delay */
    transactions = pg_number(m->pg, TRANSACTIONS) - transactions;
    json_object_set_new(out, "idle_cpu", json_real(cpu / IDLE_S));
    json_object_set_new(out, "idle_sqlite", json_real((double)ran / IDLE_S));
    json_object_set_new(out, "idle_pg", json_real(transactions / (IDLE_S + 1.5)));
    json_object_set_new(out, "rss", json_real(status_of("VmRSS:") / 1024));
    json_object_set_new(out, "threads", json_real(status_of("Threads:")));
    json_object_set_new(out, "files", json_real(open_files()));
    json_object_set_new(out, "connections", json_real(pg_number(m->pg, CONNECTIONS)));
}

/* Arguments: how many files and schemas, their directory, the URL of the database ("": none). */
int bench_child_stores(char **arguments)
{
    static many m;
    struct rlimit limit;
    json_t *out = json_object();
    m.files = strtoul(arguments[0], NULL, 10);
    m.schemas = strtoul(arguments[1], NULL, 10);
    m.count = m.files + m.schemas;
    if (m.count > MOST || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        bench_die("too many stores");
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    (void)sqlite3_auto_extension((void (*)(void))watch_connection);
    if (m.schemas)
        m.pg = bench_pg_connect(arguments[3]);
    json_object_set_new(out, "rss_before", json_real(status_of("VmRSS:") / 1024));
    route(&m, arguments[2], arguments[3]);
    work(&m, arguments[2], out);
    idle(&m, out);
    (void)wp_worker_stop(NULL, m.worker, 10000, NULL);
    wp_worker_free(m.worker);
    wp_router_free(m.router);
    PQfinish(m.pg);
    (void)json_dumpf(out, stdout, JSON_COMPACT);
    json_decref(out);
    return 0;
}

/* ---- the benchmark ------------------------------------------------------------------------- */

static void measure(const char *name, size_t files, size_t schemas)
{
    static const struct {
        const char *key, *what, *unit;
    } figures[] = {
        {"rss", "memory", "MiB"},
        {"rss_before", "of it before any store", "MiB"},
        {"threads", "threads, idle", ""},
        {"files", "open files, idle", ""},
        {"connections", "PostgreSQL connections, idle", ""},
        {"idle_cpu", "CPU, idle", "ms/s"},
        {"idle_sqlite", "SQLite statements, idle", "/s"},
        {"idle_pg", "PostgreSQL transactions, idle", "/s"},
        {"busy_s", "20 messages each, handled", "s"},
        {"even", "evenness at half time (1: even)", ""},
        {"recovery_s", "locked ones, after the lock", "s"},
    };
    char path[BENCH_PATH], url[BENCH_PATH] = "", counts[2][24];
    const char *const arguments[] = {"/proc/self/exe", "--child", "stores", counts[0],
                                     counts[1],        path,      url,      NULL};
    json_t *object;
    char *text;
    int out = -1;
    int64_t pid;
    bench_progress("stores: %s", name);
    bench_path(path);
    *strrchr(path, '/') = '\0';
    if (schemas)
        bench_pg_new(url);
    (void)snprintf(counts[0], sizeof counts[0], "%zu", files);
    (void)snprintf(counts[1], sizeof counts[1], "%zu", schemas);
    pid = bench_spawn(&out, arguments);
    text = bench_collect(pid, out);
    if (!(object = json_loads(text, 0, NULL)))
        bench_die("the child wrote: %s", text);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        const double value = json_number_value(json_object_get(object, figures[i].key));
        char label[64];
        (void)snprintf(label, sizeof label, "%s: %s", name, figures[i].what);
        bench_report_one("stores", label, figures[i].unit, value);
    }
    json_decref(object);
    free(text);
    if (schemas)
        bench_pg_drop(url);
}

void bench_stores(void)
{
    bench_heading("Many stores in one worker");
    bench_note("concurrency 16, 16 threads, handlers take 0.5 ms; one file in 20 locked at first");
    measure("1 file", 1, 0);
    measure("200 files, 50 schemas", 200, 50);
    measure("1,000 files", 1000, 0);
}
