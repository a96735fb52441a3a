/* SPDX-License-Identifier: Apache-2.0 */
/* A store: a configuration made real. Opening, closing, and who may use it. */
#include "db/store.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/heap.h"
#include "base/text.h"
#include "base/thread.h"

/* Made when it is needed first. */
typedef struct wp__made {
    void *it;
    void (*destroy)(void *it);
} wp__made;

struct wp_store {
    atomic_int refs;
    atomic_int looks; /* that lookers-on have under way */
    int64_t pid;
    wp_config *config;
    const wp__driver *driver;
    const wp__engine *engine;
    wp__sql_names names;
    wp__sql_set *sql;
    wp_clock *clock;
    wp__log *log;
    char *location;
    char *database; /* that it leads to, where names begin with it */
    bool memory;    /* the database lives in this process alone */
    bool watched;   /* it is a file */
    wp__file_mark *mark;
    wp_conn *anchor; /* keeps a database in memory alive */
    wp__pool pool;
    wp__mutex listen_mutex;
    wp__listener *listeners;
    wp__signaller signaller;
    char channel[32];
    atomic_bool unprepared; /* statements are not prepared any more */
    _Atomic int64_t counters[WP__STORE_COUNTERS];
    wp__mutex made_mutex; /* of all that is made when it is needed first */
    wp__made leases;
    wp__made probes;
};

wp_status wp__store_check(const wp_store *store, wp_error **err)
{
    if (!store)
        return wp__fail(err, WP_E_ARGUMENT, "store is NULL");
    if (store->pid != wp__process_id())
        return wp__fail(
            err, WP_E_STATE,
            "store \"%s\" was opened by process %lld: fork first and open stores afterwards",
            store->config->store_id, (long long)store->pid);
    return WP_OK;
}

wp_status wp__store_check_conn(const wp_store *store, const wp_conn *conn, wp_error **err)
{
    wp_status st = wp__store_check(store, err);
    if (st == WP_OK && conn && conn->store != store)
        st = wp__fail(err, WP_E_ARGUMENT, "conn was lent to another store");
    return st;
}

wp_store *wp__store_ref(wp_store *store)
{
    atomic_fetch_add_explicit(&store->refs, 1, memory_order_relaxed);
    return store;
}

static void unmake(wp__made *made)
{
    if (made->it)
        made->destroy(made->it);
    made->it = NULL;
}

void wp__store_unref(wp_store *store)
{
    if (!store || atomic_fetch_sub_explicit(&store->refs, 1, memory_order_acq_rel) != 1)
        return;
    /* In a forked child all of it is the parent's: another thread of the parent may have held any of
     * its locks, the log's and SQLite's too, and nobody is left to open them. */
    if (store->pid != wp__process_id())
        return;
    unmake(&store->leases);
    unmake(&store->probes);
    if (wp__signaller_end(&store->signaller))
        wp__store_destroy(store);
    /* else its thread hangs in the database, and does it when it comes out */
}

void wp__store_destroy(wp_store *store)
{
    wp__mutex_destroy(&store->made_mutex);
    wp__signaller_destroy(&store->signaller);
    wp__pool_destroy(&store->pool);
    wp__conn_close(store->anchor);
    wp__file_mark_closed(store->mark);
    wp__mutex_destroy(&store->listen_mutex);
    wp__sql_set_free(store->sql);
    wp__log_free(store->log);
    wp_clock_free(store->clock);
    wp_config_free(store->config);
    free(store->location);
    free(store->database);
    free(store);
}

const wp_config *wp__store_config(const wp_store *store)
{
    return store->config;
}

const wp__engine *wp__store_engine(const wp_store *store)
{
    return store->engine;
}

wp__sql_set *wp__store_sql(const wp_store *store)
{
    return store->sql;
}

const wp__sql_names *wp__store_names(const wp_store *store)
{
    return &store->names;
}

wp_clock *wp__store_clock(const wp_store *store)
{
    return store->clock;
}

wp__log *wp__store_log(const wp_store *store)
{
    return store->log;
}

int64_t wp__store_busy_us(const wp_store *store)
{
    return store->config->busy_ms * 1000;
}

bool wp__store_has_host_clock(const wp_store *store)
{
    return !store->engine->own_clock || wp__clock_is_manual(store->clock);
}

int64_t wp__store_now_us(const wp_store *store)
{
    return wp_clock_utc_us(store->clock);
}

const char *wp__store_watch_path(const wp_store *store)
{
    return store->watched ? store->location : NULL;
}

bool wp__store_had_file(const wp_store *store)
{
    return store->mark != NULL;
}

void wp__store_count(wp_store *store, int counter)
{
    atomic_fetch_add_explicit(&store->counters[counter], 1, memory_order_relaxed);
}

int64_t wp__store_counted(const wp_store *store, int counter)
{
    return atomic_load_explicit(&store->counters[counter], memory_order_relaxed);
}

wp__pool *wp__store_pool(wp_store *store)
{
    return &store->pool;
}

wp_status wp__store_connect(wp_conn **out, wp_store *store, wp__open how, wp_error **err)
{
    return store->driver->connect(out, store, how, err);
}

/* ---- wake-ups in this process ------------------------------------------------------------- */

void wp__store_listen(wp_store *store, wp__listener *listener)
{
    wp__mutex_lock(&store->listen_mutex);
    listener->prev = NULL;
    listener->next = store->listeners;
    if (store->listeners)
        store->listeners->prev = listener;
    store->listeners = listener;
    wp__mutex_unlock(&store->listen_mutex);
}

void wp__store_unlisten(wp_store *store, wp__listener *listener)
{
    wp__mutex_lock(&store->listen_mutex);
    if (listener->prev)
        listener->prev->next = listener->next;
    else
        store->listeners = listener->next;
    if (listener->next)
        listener->next->prev = listener->prev;
    wp__mutex_unlock(&store->listen_mutex);
}

void wp__store_notify(wp_store *store, const wp__listener *except)
{
    wp__mutex_lock(&store->listen_mutex);
    for (wp__listener *l = store->listeners; l; l = l->next) {
        if (l == except)
            continue;
        atomic_store(&l->hinted, true);
        wp__waiter_signal(l->waiter);
    }
    wp__mutex_unlock(&store->listen_mutex);
}

static wp_status get_made(void **out, wp__made *made, wp_store *store,
                          wp_status (*make)(void **out, wp_store *store, wp_error **err),
                          void (*destroy)(void *it), wp_error **err)
{
    wp_status st = WP_OK;
    wp__mutex_lock(&store->made_mutex);
    if (!made->it && make && (st = make(&made->it, store, err)) == WP_OK)
        made->destroy = destroy;
    *out = made->it;
    wp__mutex_unlock(&store->made_mutex);
    return st;
}

wp_status wp__store_leases(void **out, wp_store *store,
                           wp_status (*make)(void **out, wp_store *store, wp_error **err),
                           void (*destroy)(void *leases), wp_error **err)
{
    return get_made(out, &store->leases, store, make, destroy, err);
}

wp_status wp__store_probes(void **out, wp_store *store,
                           wp_status (*make)(void **out, wp_store *store, wp_error **err),
                           void (*destroy)(void *probes), wp_error **err)
{
    return get_made(out, &store->probes, store, make, destroy, err);
}

bool wp__store_prepares(const wp_store *store)
{
    return store->config->prepare &&
           !atomic_load_explicit(&store->unprepared, memory_order_relaxed);
}

void wp__store_stop_preparing(wp_store *store)
{
    if (!atomic_exchange(&store->unprepared, true))
        WP__LOG(wp__store_log(store), WP_LOG_INFO,
                "prepared statements are not kept, going on without them",
                WP__F_TEXT("StoreId", store->config->store_id));
}

static bool signals(const wp_store *store)
{
    return store->engine->signals && store->config->signals;
}

bool wp__store_listens(const wp_store *store)
{
    return signals(store) && store->driver->listen;
}

void wp__store_announce_from(wp_store *store, const wp__listener *from)
{
    wp__store_notify(store, from);
    if (signals(store))
        wp__signaller_request(&store->signaller, store);
}

void wp__store_announce(wp_store *store)
{
    wp__store_announce_from(store, NULL);
}

bool wp__store_may_signal(wp_store *store)
{
    return signals(store) && wp__signaller_may_send(&store->signaller, store);
}

const char *wp__store_channel(const wp_store *store)
{
    return store->channel;
}

wp__signaller *wp__store_signaller(wp_store *store)
{
    return &store->signaller;
}

/* Names may be longer than a channel's, or differ where it would be cut: a hash stands for them
 * (FNV-1a, 64 bits). */
static void name_channel(wp_store *store)
{
    const char *const names[] = {store->names.schema, store->names.outbox};
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const unsigned char *byte = (const unsigned char *)names[i];
        do
            hash = (hash ^ *byte) * UINT64_C(1099511628211);
        while (*byte++);
    }
    (void)snprintf(store->channel, sizeof store->channel, "waypost_%016llx",
                   (unsigned long long)hash);
}

/* ---- open and close ----------------------------------------------------------------------- */

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

wp_status wp__store_check_url(const char *url, wp_error **err)
{
    static const char *const kinds[] = {"sqlite:", "postgresql://", "postgres://", "odbc:"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (begins(url, kinds[i]))
            return WP_OK;
    return wp__fail(err, WP_E_CONFIG,
                    "store.url %s: sqlite:PATH, sqlite::memory:, postgresql://HOST/DATABASE or "
                    "odbc:CONNECTION STRING",
                    *url ? "is of no known kind" : "is not set");
}

/* Find out by the URL what kind of database it is and how it is reached. */
static wp_status choose_driver(wp_store *store, wp_error **err)
{
    const char *url = store->config->store_url;
    wp_status st;
    if ((st = wp__store_check_url(url, err)) != WP_OK)
        return st;
    if (begins(url, "sqlite:")) {
        st = wp__sqlite_location(&store->location, &store->memory, url + strlen("sqlite:"), err);
        store->watched = st == WP_OK && !store->memory;
        store->driver = &wp__sqlite_driver;
        store->engine = &wp__engine_sqlite;
        return st;
    }
    if (begins(url, "postgresql://") || begins(url, "postgres://")) {
        if ((st = wp__pq_check_url(url, err)) != WP_OK)
            return st;
        store->location = wp__text_dup(url);
        store->driver = &wp__pq_driver;
        store->engine = &wp__engine_postgresql;
        return store->location ? WP_OK : wp__fail_nomem(err);
    }
    store->driver = &wp__odbc_driver;
    return wp__odbc_location(&store->location, &store->database, &store->engine,
                             url + strlen("odbc:"), store->config, err);
}

/* True if `table` is `base`, or begins with it and "_". SQLite does not tell ASCII's upper case from its
 * lower. */
static bool is_of(const char *table, const char *base)
{
    size_t len = strlen(base);
    return strncasecmp(table, base, len) == 0 && (table[len] == '\0' || table[len] == '_');
}

/* True if `table` is what `queue` and the rest of a name make. */
static bool is_part_of(const char *table, const char *queue)
{
    static const char *const rests[] = {"",      "work", "finished", "replayed", "all",
                                        "heads", "next", "new",      "end"};
    if (!is_of(table, queue))
        return false;
    table += strlen(queue);
    table += *table == '_';
    for (size_t i = 0; i < sizeof rests / sizeof rests[0]; i++)
        if (strcasecmp(table, rests[i]) == 0)
            return true;
    return false;
}

/* A queue in a table of Waypost's own. */
static wp_status check_table(const char *option, const char *table, const char *const *own,
                             size_t count, wp_error **err)
{
    for (size_t i = 0; i < count; i++)
        if (is_of(table, own[i]))
            return wp__fail(err, WP_E_CONFIG,
                            "%s is \"%s\": Waypost has tables of its own called \"%s\" or so",
                            option, table, own[i]);
    return WP_OK;
}

static wp_status check_tables(const wp_config *config, const wp__engine *engine, wp_error **err)
{
    static const char *const own[] = {"audit",        "copy_item",   "copy_job",     "copy_join",
                                      "copy_pause",   "copy_self",   "dead_letters", "job",
                                      "join",         "last_number", "lease",        "migration",
                                      "paused_topic", "semaphore",   "timer"};
    /* where tables and procedures have the seeds' names */
    static const char *const more[] = {"DeadLetters", "GuidIdList",      "JobRuns",     "Jobs",
                                       "JoinMember",  "JoinNext",        "JoinWait",    "TimeOf",
                                       "Timers",      "SemaphoreHolder", "PausedTopic", "BytesOf",
                                       "CopyItem",    "CopyJob",         "CopyPause",   "CopySelf"};
    const char *const options[] = {"store.outbox_table", "store.inbox_table"};
    const char *const tables[] = {config->outbox_table, config->inbox_table};
    const bool seeds = engine->inbox != NULL;
    bool shared = is_part_of(tables[0], tables[1]) || is_part_of(tables[1], tables[0]);
    wp_status st = WP_OK;
    for (size_t i = 0; i < 2 && st == WP_OK; i++) {
        st = check_table(options[i], tables[i], own, sizeof own / sizeof own[0], err);
        if (st == WP_OK && seeds)
            st = check_table(options[i], tables[i], more, sizeof more / sizeof more[0], err);
    }
    if (seeds) /* any name behind it may be a procedure's */
        shared = shared || is_of(tables[0], tables[1]) || is_of(tables[1], tables[0]);
    if (st != WP_OK || !shared)
        return st;
    return wp__fail(err, WP_E_CONFIG,
                    "store.outbox_table \"%s\" and store.inbox_table \"%s\" would share a table",
                    tables[0], tables[1]);
}

/* What a queue's table is called: as the engine has it, unless the app has a name for it. */
static const char *queue_name(const char *name, const char *usual, const char *engines)
{
    return engines && strcmp(name, usual) == 0 ? engines : name;
}

/* A store with everything but a connection. */
static wp_status store_new(wp_store **out, const wp_config *config, wp_error **err)
{
    wp_status st;
    wp_store *store = calloc(1, sizeof *store);
    if (!store)
        return wp__fail_nomem(err);
    wp__heap_settle();
    store->pid = wp__process_id();
    atomic_init(&store->refs, 1);
    wp__mutex_init(&store->listen_mutex);
    wp__mutex_init(&store->made_mutex);
    wp__signaller_init(&store->signaller);
    wp__pool_init(&store->pool, config->pool_size);
    if ((st = wp__config_copy(&store->config, config, err)) != WP_OK ||
        (st = wp__config_log(&store->log, config, err)) != WP_OK)
        goto done;
    store->clock = config->clock ? wp__clock_ref(config->clock) : wp__clock_system();
    if ((st = choose_driver(store, err)) != WP_OK)
        goto done;
    store->names = (wp__sql_names){
        .schema = store->config->store_schema,
        .outbox = queue_name(store->config->outbox_table, "outbox", store->engine->outbox),
        .inbox = queue_name(store->config->inbox_table, "inbox", store->engine->inbox),
        .database = store->database,
        .home = store->engine->home,
        .guard = store->engine->guard,
        .quote = store->engine->quote,
        .schemas = store->engine->schemas,
        .max_bytes = store->engine->name_max,
        .basic_plane = store->engine->name_basic_plane};
    name_channel(store);
    if ((st = check_tables(store->config, store->engine, err)) != WP_OK)
        goto done;
    st = wp__sql_set_new(&store->sql, store->engine->statements, &store->names, err);
    if (st == WP_OK)
        st = wp__sql_set_style(store->sql, store->driver->style, err);
done:
    if (st != WP_OK) {
        wp__store_unref(store);
        return st;
    }
    *out = store;
    return WP_OK;
}

bool wp__store_look_begin(wp_store *store, int64_t deadline_us)
{
    enum { TURN_US = 2000 };
    const int most = store->config->pool_size / 2 > 1 ? (int)(store->config->pool_size / 2) : 1;
    for (;;) {
        if (atomic_fetch_add(&store->looks, 1) < most)
            return true;
        wp__store_look_end(store);
        if (wp__real_mono_us() >= deadline_us)
            return false;
        wp__sleep_us(TURN_US);
    }
}

void wp__store_look_end(wp_store *store)
{
    atomic_fetch_sub(&store->looks, 1);
}

/* Later connections must reach the same file even if the process changes its directory. */
static wp_status keep_absolute(wp_store *store, wp_conn *conn, wp_error **err)
{
    char *path = wp__sqlite_filename(conn);
    if (!path)
        return wp__fail_nomem(err);
    free(store->location);
    store->location = path;
    return WP_OK;
}

static wp_status mark_open(wp_store *store, wp_error **err)
{
    if (!store->watched || store->mark || wp__file_look(store->location) != WP__FILE_REGULAR)
        return WP_OK;
    return wp__file_mark_open(&store->mark, store->location, err);
}

static wp_status store_open(wp_store **out, const wp_config *config, bool deploy, wp_error **err)
{
    wp_store *store = NULL;
    wp_conn *conn = NULL;
    wp_status st;
    if ((st = store_new(&store, config, err)) != WP_OK)
        return st;
    /* Before SQLite looks at it, if it is there; else once it was made. */
    if ((st = mark_open(store, err)) != WP_OK ||
        (st = wp__store_connect(&conn, store, deploy ? WP__OPEN_DEPLOY : WP__OPEN_POOL, err)) !=
            WP_OK)
        goto done;
    if (store->watched &&
        ((st = keep_absolute(store, conn, err)) != WP_OK || (st = mark_open(store, err)) != WP_OK))
        goto done;
    if (deploy && (st = wp__migrate_deploy(conn, err)) != WP_OK)
        goto done;
    if ((st = wp__migrate_verify(NULL, conn, err)) != WP_OK)
        goto done;
    if (store->memory) {
        store->anchor = conn;
        conn = NULL;
    } else if (!deploy || store->watched) { /* else it is set up to wait for ever */
        store->pool.open++;
        wp__pool_give(store, conn);
        conn = NULL;
    }
    *out = store;
    store = NULL;
done:
    wp__conn_close(conn);
    wp__store_unref(store);
    return st;
}

wp_status wp_store_open(wp_store **out, const wp_config *config, wp_error **err)
{
    if (!out || !config)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", out ? "config" : "out");
    return store_open(out, config, config->store_deploy, err);
}

wp_status wp_schema_deploy(const wp_config *config, wp_error **err)
{
    wp_store *store = NULL;
    wp_status st;
    if (!config)
        return wp__fail(err, WP_E_ARGUMENT, "config is NULL");
    st = store_open(&store, config, true, err);
    wp_store_close(store);
    return st;
}

void wp_store_close(wp_store *store)
{
    if (store && store->pid == wp__process_id())
        wp__log_pump(store->log);
    wp__store_unref(store);
}

wp_store *wp_store_ref(wp_store *store)
{
    return store ? wp__store_ref(store) : NULL;
}

const char *wp_store_id(const wp_store *store)
{
    return store ? store->config->store_id : "";
}

const char *wp_store_location(const wp_store *store)
{
    return store ? store->location : "";
}

const char *wp_store_engine(const wp_store *store)
{
    return store ? store->engine->name : "";
}

/* ---- lent connections --------------------------------------------------------------------- */

static wp_status check_lend(const void *out, const wp_store *store, const void *db, wp_error **err)
{
    if (!out || !db)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", out ? "db" : "out");
    return wp__store_check(store, err);
}

static wp_status check_engine(const wp_store *store, const wp__engine *engine, wp_error **err)
{
    if (store->engine == engine)
        return WP_OK;
    return wp__fail(err, WP_E_ARGUMENT, "db is a connection to %s, the store is on %s",
                    engine->name, store->engine->name);
}

/* The lent connection keeps its store alive. It may be of another driver than the store's own. */
static wp_status lent(wp_store *store, wp_conn *conn, wp_error **err)
{
    wp_status st = wp__sql_set_style(store->sql, conn->driver->style, err);
    if (st == WP_OK)
        wp__store_ref(store);
    else
        wp__conn_close(conn);
    return st;
}

wp_status wp_conn_borrow_sqlite(wp_conn **out, wp_store *store, struct sqlite3 *db, wp_error **err)
{
    wp_conn *conn = NULL;
    wp_status st;
    if ((st = check_lend(out, store, db, err)) != WP_OK ||
        (st = check_engine(store, &wp__engine_sqlite, err)) != WP_OK ||
        (st = wp__sqlite_lend(&conn, store, db, err)) != WP_OK ||
        (st = lent(store, conn, err)) != WP_OK)
        return st;
    *out = conn;
    return WP_OK;
}

wp_status wp_conn_borrow_pq(wp_conn **out, wp_store *store, struct pg_conn *db, wp_error **err)
{
    wp_conn *conn = NULL;
    wp_status st;
    if ((st = check_lend(out, store, db, err)) != WP_OK ||
        (st = check_engine(store, &wp__engine_postgresql, err)) != WP_OK ||
        (st = wp__pq_lend(&conn, store, db, err)) != WP_OK ||
        (st = lent(store, conn, err)) != WP_OK)
        return st;
    *out = conn;
    return WP_OK;
}

wp_status wp_conn_borrow_odbc(wp_conn **out, wp_store *store, void *hdbc, wp_error **err)
{
    wp_conn *conn = NULL;
    wp_status st;
    if ((st = check_lend(out, store, hdbc, err)) != WP_OK ||
        (st = wp__odbc_lend(&conn, store, hdbc, err)) != WP_OK ||
        (st = lent(store, conn, err)) != WP_OK)
        return st;
    *out = conn;
    return WP_OK;
}

void wp_conn_free(wp_conn *conn)
{
    wp_store *store;
    if (!conn || !conn->lent || wp__store_check(conn->store, NULL) != WP_OK)
        return; /* in a forked child it is the parent's, and SQLite's locks may be held for ever */
    store = conn->store;
    wp__conn_close(conn);
    wp__store_unref(store);
}
