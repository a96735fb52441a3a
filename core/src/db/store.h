/* SPDX-License-Identifier: Apache-2.0 */
/* The store as the rest of the core sees it: options, statements, pool, log, clock, wake-ups. */
#ifndef WP__STORE_H
#define WP__STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <waypost/store.h>

#include "base/config_values.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/waiter.h"
#include "db/driver.h"
#include "db/signal.h"

/* WP_E_ARGUMENT: NULL; WP_E_STATE: the store belongs to another process (a fork). Each public call
 * that takes a store asks this first. */
wp_status wp__store_check(const wp_store *store, wp_error **err);
/* The same, and that a lent connection, if there is one, is this store's. */
wp_status wp__store_check_conn(const wp_store *store, const wp_conn *conn, wp_error **err);

wp_store *wp__store_ref(wp_store *store);
void wp__store_unref(wp_store *store);
/* For the last one who uses it. */
void wp__store_destroy(wp_store *store);

const wp_config *wp__store_config(const wp_store *store);
const wp__engine *wp__store_engine(const wp_store *store);
wp__sql_set *wp__store_sql(const wp_store *store);
const wp__sql_names *wp__store_names(const wp_store *store);
wp_clock *wp__store_clock(const wp_store *store);
wp__log *wp__store_log(const wp_store *store);
int64_t wp__store_busy_us(const wp_store *store);
/* Whether the database's now is the store's clock: it has none of its own, or a test moves it. */
bool wp__store_has_host_clock(const wp_store *store);
/* The store's clock. */
int64_t wp__store_now_us(const wp_store *store);
/* Whether its file was there when it was opened. */
bool wp__store_had_file(const wp_store *store);
/* The file whose changes tell of commits, or NULL (in memory). */
const char *wp__store_watch_path(const wp_store *store);

/* Whether statements are prepared; and that a proxy was seen not to keep them. */
bool wp__store_prepares(const wp_store *store);
void wp__store_stop_preparing(wp_store *store);

/* Count for the inbox: by wp_inbox_counter_id. */
enum { WP__STORE_COUNTERS = 4 };
void wp__store_count(wp_store *store, int counter);
int64_t wp__store_counted(const wp_store *store, int counter);
/* What the leases of a store share: made with the first of them, freed before the store is. Later
 * calls give what the first one made. NULL: there is none, and `make` was NULL. */
wp_status wp__store_leases(void **out, wp_store *store,
                           wp_status (*make)(void **out, wp_store *store, wp_error **err),
                           void (*destroy)(void *leases), wp_error **err);
/* The same for what those share who look at its health. */
wp_status wp__store_probes(void **out, wp_store *store,
                           wp_status (*make)(void **out, wp_store *store, wp_error **err),
                           void (*destroy)(void *probes), wp_error **err);

/* Take a connection, opening one if fewer than `store.pool_size` are out, else waiting for one; and
 * give it back. `ask`: what runs on it is not run again if it turns out to be lost, so it is asked before. */
wp_status wp__pool_take(wp_conn **out, wp_store *store, bool ask, wp_error **err);
void wp__pool_give(wp_store *store, wp_conn *conn);
/* A connection of the caller's own, outside the pool; wp__conn_close() it. */
wp_status wp__store_connect(wp_conn **out, wp_store *store, wp__open how, wp_error **err);
void wp__conn_close(wp_conn *conn);
/* For drivers of servers, when they have connected and nobody shares the connection: set it up (settle.c).
 * `answer_us` is how long they wait for an answer. */
wp_status wp__conn_settle(wp_conn *conn, wp__open how, int64_t answer_us, wp_error **err);
/* WP_E_STATE: texts do not arrive, or do not come back, as they were sent. */
wp_status wp__conn_check_encoding(wp_conn *conn, wp_error **err);
wp_status wp__fail_encoding(const char *encoding, const wp__engine *engine, wp_error **err);

/* Wake-ups in this process: waiters that want to know of new work on this store. */
typedef struct wp__listener {
    wp__waiter *waiter;
    atomic_bool hinted;
    struct wp__listener *next;
    struct wp__listener *prev;
} wp__listener;
void wp__store_listen(wp_store *store, wp__listener *listener);
void wp__store_unlisten(wp_store *store, wp__listener *listener);
/* Tell them, but for one (NULL: all): something was committed that may be due now. */
void wp__store_notify(wp_store *store, const wp__listener *except);

/* Tell them all, and other processes where the engine has signals. */
void wp__store_announce(wp_store *store);
/* The same, but not the listener that says it. */
void wp__store_announce_from(wp_store *store, const wp__listener *from);
/* For an operation in a transaction of the app's: whether it sends a signal itself. */
bool wp__store_may_signal(wp_store *store);
/* Signal now, on a connection of the pool (signal.c). */
void wp__store_send_signal(wp_store *store);
/* Whether a worker can be told by the database. */
bool wp__store_listens(const wp_store *store);
/* The name of the channel: the same for all who share the tables, and no other's. */
const char *wp__store_channel(const wp_store *store);
wp__signaller *wp__store_signaller(wp_store *store);

/* Of lookers-on, such as the dashboard, so many at once that half of the pool is left to others. False: there was
 * no turn until the real instant `deadline_us`. */
bool wp__store_look_begin(wp_store *store, int64_t deadline_us);
void wp__store_look_end(wp_store *store);

/* WP_E_CONFIG: the URL is empty or of no kind that there is. */
wp_status wp__store_check_url(const char *url, wp_error **err);

/* ---- the pool's own part (pool.c) ---- */

typedef struct wp__pool {
    wp__mutex mutex;
    wp__cond freed;
    wp_conn *free;
    int64_t open;
    int64_t max;
} wp__pool;
void wp__pool_init(wp__pool *pool, int64_t max);
/* Close the free connections. */
void wp__pool_destroy(wp__pool *pool);
wp__pool *wp__store_pool(wp_store *store);

/* ---- migrations (migrate.c) ---- */

/* Bring the schema up to date. */
wp_status wp__migrate_deploy(wp_conn *conn, wp_error **err);
/* WP_E_SCHEMA: missing, or older than this library. *newest (may be NULL) gets the number of the newest
 * migration that was applied. */
wp_status wp__migrate_verify(int64_t *newest, wp_conn *conn, wp_error **err);

/* ---- the SQLite driver (sqlite.c) ---- */

/* `url` is what follows "sqlite:". The location is what a connection is opened with: a path or a
 * file: URI; *memory tells that the database lives in this process alone. Free the location. */
wp_status wp__sqlite_location(char **location, bool *memory, const char *url, wp_error **err);
extern const wp__driver wp__sqlite_driver;
/* The absolute path that SQLite opened. free(); NULL: out of memory. */
char *wp__sqlite_filename(wp_conn *conn);
wp_status wp__sqlite_lend(wp_conn **out, wp_store *store, struct sqlite3 *db, wp_error **err);

/* ---- PostgreSQL by libpq (pq.c) ---- */

extern const wp__driver wp__pq_driver;
/* WP_E_CONFIG: it cannot be read. */
wp_status wp__pq_check_url(const char *url, wp_error **err);
wp_status wp__pq_lend(wp_conn **out, wp_store *store, struct pg_conn *db, wp_error **err);

/* ---- servers by unixODBC (odbc.c) ---- */

extern const wp__driver wp__odbc_driver;
/* `string` is what follows "odbc:". Connects once to find out the engine; *location gets the string
 * with what its driver needs besides, *database the name of its database where the engine's names begin
 * with it. Free both. */
wp_status wp__odbc_location(char **location, char **database, const wp__engine **engine,
                            const char *string, const wp_config *config, wp_error **err);
wp_status wp__odbc_lend(wp_conn **out, wp_store *store, void *hdbc, wp_error **err);

#endif
