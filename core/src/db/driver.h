/* SPDX-License-Identifier: Apache-2.0 */
/* What a driver gives: connections that run statements. It knows nothing of outbox or worker. */
#ifndef WP__DRIVER_H
#define WP__DRIVER_H

#include <stdbool.h>
#include <waypost/store.h>

#include "op/op.h"

/* How a connection is opened. */
typedef enum wp__open {
    WP__OPEN_POOL,   /* commits as durable as the store's options say */
    WP__OPEN_WORKER, /* SQLite: commits that a power failure may undo: the work is done again */
    WP__OPEN_DEPLOY  /* SQLite: creates the file too, and sets its journal mode to WAL */
} wp__open;

typedef struct wp__driver {
    const char *name;
    wp_paramstyle style; /* of its statements */
    /* A connection to the store's database. */
    wp_status (*connect)(wp_conn **out, wp_store *store, wp__open how, wp_error **err);
    void (*close)(wp_conn *conn);
    /* Before an idle connection is used again: whether it still stands. NULL: always. Without `ask` one that answered a
     * moment ago may be taken to. */
    bool (*alive)(wp_conn *conn, bool ask);
    /* Whether the file that it is on is not the one of that name any more. Cheap: asked before each use,
     * also of connections that are not idle. NULL: there is no file. */
    bool (*gone)(wp_conn *conn);
    /* Whether a transaction is open on it. NULL: the app alone knows. */
    bool (*in_transaction)(wp_conn *conn);
    wp_status (*begin)(wp_conn *conn, bool write, wp_error **err);
    wp_status (*commit)(wp_conn *conn, wp_error **err);
    void (*rollback)(wp_conn *conn);
    /* Run the operation's current statement and hand it the rows. The statement is reset before
     * this returns. */
    wp_status (*execute)(wp_conn *conn, wp_op *op, wp_error **err);
    /* Run a text of many statements without parameters. */
    wp_status (*script)(wp_conn *conn, const char *text, wp_error **err);
    /* A number that differs after another connection committed. NULL: there is none. */
    int64_t (*change_number)(wp_conn *conn);
    /* Listen to a channel from now on. NULL: there are none. */
    wp_status (*listen)(wp_conn *conn, const char *channel, wp_error **err);
    /* Whether something was signalled on it since the last call. */
    bool (*heard)(wp_conn *conn);
    /* What becomes readable when something may have been. */
    int (*descriptor)(wp_conn *conn);
    /* Housekeeping when there is nothing to do (SQLite: truncate the WAL). False: another connection
     * was in the way. NULL: none. */
    bool (*tidy)(wp_conn *conn, bool idle);
    /* From any thread: make the call under way, and those that follow, fail soon. */
    void (*interrupt)(wp_conn *conn);
} wp__driver;

/* Common to connections of every driver; each driver embeds it first. */
struct wp_conn {
    const wp__driver *driver;
    wp_store *store; /* not a reference for pooled connections; one for lent ones */
    bool lent;
    bool broken; /* not to be used again: the pool closes it */
    int64_t
        give_up_at; /* elapsed time at which to wait for an answer no longer; 0: the driver's limit */
    wp_conn *next_free;
};

/* Whether a connection (NULL: no) can be used further. */
bool wp__conn_is_sound(wp_conn *conn);

/* Run an operation to its end on a connection. On a lent one: in whatever transaction is open.
 * Otherwise in a transaction of its own; busy and conflicts are retried with backoff while the
 * store's busy time lasts. */
wp_status wp__conn_run(wp_conn *conn, wp_op *op, wp_error **err);

/* Run several in one transaction of ours; all or none. Not retried. Where the error says that the
 * outcome is unknown, all of it may have been committed. */
wp_status wp__conn_run_all(wp_conn *conn, wp_op *const *ops, size_t count, wp_error **err);

/* Run an operation on `conn`, or on one of the store's pool if it is NULL. */
wp_status wp__store_run(wp_store *store, wp_conn *conn, wp_op *op, wp_error **err);

#endif
