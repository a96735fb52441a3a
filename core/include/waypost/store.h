/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file store.h
 * A store: one database with Waypost's schema in it. Also the app's own connections, lent to it.
 */
#ifndef WAYPOST_STORE_H
#define WAYPOST_STORE_H

#include <waypost/config.h>

struct sqlite3;
struct pg_conn;

WP_BEGIN_DECLS

/** One database with Waypost's tables. Thread-safe. Belongs to the process that opened it:
 * after a fork the child gets WP_E_STATE from every call, and also from wp_store_open() for the
 * same SQLite file, whose locks SQLite could not keep straight there
 * (sqlite.org/howtocorrupt.html, 2.6). Fork first and open stores afterwards.
 *
 * While its SQLite file is deleted or moved away, calls give WP_E_UNAVAILABLE, and workers wait. Once
 * a file of that name is there, they go on with it. Connections that the app lends are the app's to
 * look after. */
typedef struct wp_store wp_store;

/** A connection of the app's, lent to a store for calls that join the app's transaction. */
typedef struct wp_conn wp_conn;

/** Open the store that the configuration's `store.*` options name.
 *
 * With `store.deploy` off (the default) nothing is created.
 * @return WP_OK; WP_E_CONFIG: `store.url` missing or malformed; WP_E_UNAVAILABLE: no such file,
 *         not reachable, busy; WP_E_STATE: open in the process that forked this one; WP_E_SCHEMA:
 *         not deployed, or older than this library needs;
 *         WP_E_DB: not a database, corrupt. */
WP_API wp_status wp_store_open(wp_store **out, const wp_config *config, wp_error **err);

/** Close it. Workers and leases on it keep it alive until they are freed. */
WP_API void wp_store_close(WP_OWN wp_store *store);
/** Take a further reference, to be closed like the store itself: it is closed with the last one. */
WP_API wp_store *wp_store_ref(wp_store *store);

/** The option `store.id`: the store's name in logs and metrics. Borrowed. */
WP_API const char *wp_store_id(const wp_store *store);

/** A URL with which the app opens a connection of its own to the same database: the file's path,
 * or a `file:` URI for `sqlite::memory:`; for a server all that is needed to connect, passwords too.
 * Borrowed. */
WP_API const char *wp_store_location(const wp_store *store);

/** The engine that the store is on: "sqlite", "postgresql". A constant. */
WP_API const char *wp_store_engine(const wp_store *store);

/** Create or upgrade the schema that the configuration names, and nothing else. Repeatable; safe
 * with many processes at once. Old workers go on while it runs.
 * @return as wp_store_open(). */
WP_API wp_status wp_schema_deploy(const wp_config *config, wp_error **err);

/** Lend an open `sqlite3` connection. Calls with it run inside the transaction that is open on
 * it, or as one statement each in autocommit mode; they never begin, commit or roll back.
 *
 * The app keeps the connection, and frees the wp_conn before it closes it. Use both from one
 * thread at a time. The connection must be to the store's database: its tables are looked up in
 * the schema `main`, and its triggers must be switched on, as they are by default; later calls with
 * it check that again.
 * @return WP_OK; WP_E_ARGUMENT: `db` is NULL; WP_E_STATE: the store is closed or forked, or
 *         SQLITE_DBCONFIG_ENABLE_TRIGGER is off. */
WP_API wp_status wp_conn_borrow_sqlite(wp_conn **out, wp_store *store, struct sqlite3 *db,
                                       wp_error **err);
/** Lend an open libpq connection (`PGconn *`), as wp_conn_borrow_sqlite() does. Nothing is prepared
 * or set on it. After an error its transaction is aborted, as after any failed statement.
 * @return WP_OK; WP_E_ARGUMENT: `db` is NULL, or the store is on another engine; WP_E_STATE: the
 *         store is closed or forked. Calls with it are WP_E_STATE while its client encoding is one that
 *         would change UTF-8. */
WP_API wp_status wp_conn_borrow_pq(wp_conn **out, wp_store *store, struct pg_conn *db,
                                   wp_error **err);
/** Lend an open ODBC connection (an `SQLHDBC` of the driver manager that this library is linked to:
 * libodbc), as wp_conn_borrow_sqlite() does. It may be to a store that was opened in another way, as
 * long as both are on the same engine. No attribute of it is changed and no statement left open.
 * After an error its transaction is as the server and the connection's own settings leave it.
 * @return WP_OK; WP_E_ARGUMENT: `hdbc` is NULL or not connected, or the store is on another engine,
 *         or the driver is unknown; WP_E_STATE: the store is closed or forked. Calls with it are
 *         WP_E_STATE if it is found at the first one that its client encoding would change UTF-8. */
WP_API wp_status wp_conn_borrow_odbc(wp_conn **out, wp_store *store, void *hdbc, wp_error **err);
/** Give the connection back. It stays open, its transaction too. */
WP_API void wp_conn_free(WP_OWN wp_conn *conn);

WP_END_DECLS

#endif
