/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite driver, on libsqlite3. WAL; writers begin IMMEDIATE and wait for each other in a busy
 * handler with jitter; statements are prepared once a connection and reset before they return.
 * Sources: sqlite.org/wal.html, sqlite.org/lang_transaction.html, sqlite.org/rescode.html. */
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "base/thread.h"
#include "db/store.h"

/* The statements of the driver's own. */
enum { ST_BEGIN_READ, ST_BEGIN_WRITE, ST_COMMIT, ST_ROLLBACK, ST_DATA_VERSION, ST_COUNT };
static const char *const own_text[ST_COUNT] = {"BEGIN", "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK",
                                               "PRAGMA main.data_version"};

typedef struct sqlite_conn {
    wp_conn base;
    sqlite3 *db;
    sqlite3_stmt *own[ST_COUNT];
    sqlite3_stmt *statements[WP__SQL_COUNT];
    int64_t busy_since_us;
    atomic_bool interrupted;
    bool impatient; /* do not wait for other connections */
    wp__open how;   /* unless it is lent */
} sqlite_conn;

static sqlite_conn *self_of(wp_conn *conn)
{
    return (sqlite_conn *)conn;
}

/* ---- errors ------------------------------------------------------------------------------- */

static wp_status status_of(int rc, const char *message)
{
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_CANTOPEN:
    case SQLITE_PROTOCOL:
    case SQLITE_INTERRUPT:
        return WP_E_UNAVAILABLE;
    case SQLITE_NOMEM:
        return WP_E_NOMEM;
    case SQLITE_ERROR:
        return strncmp(message, "no such table", 13) == 0 ? WP_E_SCHEMA : WP_E_DB;
    default:
        return WP_E_DB;
    }
}

/* True for faults after which a connection is not trusted any more. */
static bool breaks_connection(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_NOMEM:
        return true;
    default:
        return false;
    }
}

/* What is most often the matter. */
static const char *hint(const sqlite_conn *self, int rc)
{
    if ((rc & 0xff) == SQLITE_BUSY && !self->base.lent && self->how == WP__OPEN_POOL)
        return "; is another transaction of this process open? Then pass its connection";
    return sqlite3_extended_errcode(self->db) == SQLITE_READONLY_DBMOVED
               ? "; the file was deleted, moved or replaced while it was open"
               : "";
}

static wp_status fail(sqlite_conn *self, int rc, const char *doing, wp_error **err)
{
    int code = sqlite3_extended_errcode(self->db);
    const char *message = sqlite3_errmsg(self->db);
    wp_status st;
    if ((code & 0xff) != (rc & 0xff)) { /* not the connection's last error any more */
        code = rc;
        message = sqlite3_errstr(rc);
    }
    if (breaks_connection(rc))
        self->base.broken = true;
    st = code == SQLITE_READONLY_DBMOVED ? WP_E_UNAVAILABLE : status_of(rc, message);
    wp__fail_db(err, st, NULL, code, (rc & 0xff) == SQLITE_FULL, "%s: %s (SQLite %d)%s", doing,
                message, code, hint(self, rc));
    return st;
}

/* ---- waiting for other writers ------------------------------------------------------------ */

/* SQLite calls this when a lock is taken; 0 gives up. Delays grow from 50 us to 10 ms, each with
 * jitter, so that waiting writers do not march in step. */
static int on_busy(void *arg, int count)
{
    sqlite_conn *self = arg;
    int64_t now = wp__real_mono_us();
    int64_t limit = wp__store_busy_us(self->base.store);
    int64_t ceiling;
    if (count == 0)
        self->busy_since_us = now;
    if (self->impatient || atomic_load_explicit(&self->interrupted, memory_order_relaxed) ||
        now - self->busy_since_us >= limit)
        return 0;
    ceiling = (int64_t)50 << (count < 8 ? count : 8);
    if (ceiling > 10000)
        ceiling = 10000;
    wp__sleep_us(ceiling / 2 + (int64_t)(wp__random() % (uint64_t)(ceiling / 2 + 1)));
    return 1;
}

/* ---- statements --------------------------------------------------------------------------- */

static wp_status run_own(sqlite_conn *self, int which, int64_t *value, wp_error **err)
{
    sqlite3_stmt **slot = &self->own[which];
    int rc = SQLITE_OK;
    if (!*slot)
        rc = sqlite3_prepare_v3(self->db, own_text[which], -1, SQLITE_PREPARE_PERSISTENT, slot,
                                NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(*slot);
        if (rc == SQLITE_ROW && value)
            *value = sqlite3_column_int64(*slot, 0);
        if (rc == SQLITE_ROW || rc == SQLITE_DONE)
            rc = SQLITE_OK;
    }
    if (rc != SQLITE_OK) {
        wp_status st = fail(self, rc, own_text[which], err);
        sqlite3_reset(*slot);
        return st;
    }
    sqlite3_reset(*slot);
    return WP_OK;
}

static bool sqlite_in_transaction(wp_conn *conn)
{
    return !sqlite3_get_autocommit(self_of(conn)->db);
}

static wp_status sqlite_begin(wp_conn *conn, bool write, wp_error **err)
{
    return run_own(self_of(conn), write ? ST_BEGIN_WRITE : ST_BEGIN_READ, NULL, err);
}

/* SQLite goes on with a file that was deleted or renamed, or whose name another file has got, and what
 * it writes there is lost. One stat(): asked before each use and each commit. */
static bool sqlite_gone(wp_conn *conn)
{
    int moved = 0;
    return sqlite3_file_control(self_of(conn)->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) ==
               SQLITE_OK &&
           moved;
}

static wp_status sqlite_commit(wp_conn *conn, wp_error **err)
{
    if (sqlite_gone(conn)) {
        conn->broken = true;
        return wp__fail(err, WP_E_UNAVAILABLE,
                        "%s was deleted, moved or replaced while it was open",
                        wp_store_location(conn->store));
    }
    return run_own(self_of(conn), ST_COMMIT, NULL, err);
}

static void sqlite_rollback(wp_conn *conn)
{
    sqlite_conn *self = self_of(conn);
    if (!sqlite3_get_autocommit(self->db) && run_own(self, ST_ROLLBACK, NULL, NULL) != WP_OK)
        conn->broken = true;
}

static int bind(sqlite3_stmt *statement, int position, const wp__value *value)
{
    switch (value->type) {
    case WP_VALUE_INT64:
        return sqlite3_bind_int64(statement, position, value->i);
    case WP_VALUE_TEXT:
        return sqlite3_bind_text64(statement, position, value->p, value->len, SQLITE_STATIC,
                                   SQLITE_UTF8);
    case WP_VALUE_BYTES:
        return sqlite3_bind_blob64(statement, position, value->p, value->len, SQLITE_STATIC);
    case WP_VALUE_NULL:
    default:
        return sqlite3_bind_null(statement, position);
    }
}

static void read_column(wp__value *value, sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        value->type = WP_VALUE_INT64;
        value->i = sqlite3_column_int64(statement, column);
        break;
    case SQLITE_BLOB:
        value->type = WP_VALUE_BYTES;
        value->p = sqlite3_column_blob(statement, column);
        value->len = (size_t)sqlite3_column_bytes(statement, column);
        break;
    case SQLITE_NULL:
        value->type = WP_VALUE_NULL;
        break;
    case SQLITE_TEXT:
        value->p = (const char *)sqlite3_column_text(statement, column);
        value->len = (size_t)sqlite3_column_bytes(statement, column);
        value->type =
            wp__utf8_check(value->p, value->len, NULL, NULL) ? WP_VALUE_TEXT : WP__VALUE_OTHER;
        break;
    default:
        value->type = WP__VALUE_OTHER;
        break;
    }
}

/* The connection's prepared form of the operation's statement. */
static wp_status prepared(sqlite3_stmt **out, sqlite_conn *self, const wp_op *op, wp_error **err)
{
    sqlite3_stmt **slot = &self->statements[op->statement];
    if (!*slot) {
        int rc = sqlite3_prepare_v3(self->db, wp__op_text(op)->text, -1, SQLITE_PREPARE_PERSISTENT,
                                    slot, NULL);
        if (rc != SQLITE_OK)
            return fail(self, rc, wp__sql_name(op->sql, op->statement), err);
    }
    *out = *slot;
    return WP_OK;
}

static wp_status feed_row(sqlite3_stmt *statement, wp_op *op, wp_error **err)
{
    wp__value row[WP__OP_COLUMNS_MAX] = {{0}};
    size_t count = (size_t)sqlite3_column_count(statement);
    if (op->columns == 0) /* PRAGMA count_changes, on a connection of the app's */
        return WP_OK;
    if (count != op->columns)
        return wp__fail(err, WP_E_INTERNAL, "%s returns %zu columns, %zu were expected",
                        wp__sql_name(op->sql, op->statement), count, op->columns);
    for (size_t i = 0; i < count; i++)
        read_column(&row[i], statement, (int)i);
    return op->cls->row(op, row, err);
}

/* The app may switch triggers off at any time. Our statements find out by themselves, too, but not all
 * of them in words that say what to do. */
static wp_status check_triggers(const sqlite_conn *self, wp_error **err)
{
    int on = 1;
    (void)sqlite3_db_config(self->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &on);
    return on ? WP_OK : wp__fail_triggers(err);
}

static wp_status sqlite_execute(wp_conn *conn, wp_op *op, wp_error **err)
{
    sqlite_conn *self = self_of(conn);
    const wp__sql_text *text = wp__op_text(op);
    sqlite3_stmt *statement = NULL;
    int rc = SQLITE_OK;
    wp_status st = conn->lent ? check_triggers(self, err) : WP_OK;
    if (st != WP_OK || (st = prepared(&statement, self, op, err)) != WP_OK)
        return st;
    for (size_t i = 0; i < text->param_count && rc == SQLITE_OK; i++)
        rc = bind(statement, (int)i + 1, &op->params[text->params[i]]);
    if (rc == SQLITE_OK)
        while ((rc = sqlite3_step(statement)) == SQLITE_ROW && st == WP_OK)
            st = feed_row(statement, op, err);
    if (st == WP_OK && rc != SQLITE_DONE)
        st = fail(self, rc, wp__sql_name(op->sql, op->statement), err);
    sqlite3_reset(statement);
    return st;
}

static wp_status sqlite_script(wp_conn *conn, const char *text, wp_error **err)
{
    sqlite_conn *self = self_of(conn);
    int rc = sqlite3_exec(self->db, text, NULL, NULL, NULL);
    return rc == SQLITE_OK ? WP_OK : fail(self, rc, "script", err);
}

static int64_t sqlite_change_number(wp_conn *conn)
{
    int64_t value = 0;
    return run_own(self_of(conn), ST_DATA_VERSION, &value, NULL) == WP_OK ? value : -1;
}

static bool sqlite_tidy(wp_conn *conn, bool idle)
{
    sqlite_conn *self = self_of(conn);
    int rc;
    self->impatient = true;
    rc = sqlite3_wal_checkpoint_v2(self->db, "main",
                                   idle ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE,
                                   NULL, NULL);
    self->impatient = false;
    return (rc & 0xff) != SQLITE_BUSY && (rc & 0xff) != SQLITE_LOCKED;
}

static void sqlite_interrupt(wp_conn *conn)
{
    sqlite_conn *self = self_of(conn);
    atomic_store(&self->interrupted, true);
    sqlite3_interrupt(self->db);
}

static void sqlite_close(wp_conn *conn)
{
    sqlite_conn *self = self_of(conn);
    for (int i = 0; i < ST_COUNT; i++)
        sqlite3_finalize(self->own[i]);
    for (int i = 0; i < WP__SQL_COUNT; i++)
        sqlite3_finalize(self->statements[i]);
    if (!conn->lent)
        sqlite3_close_v2(self->db);
    free(self);
}

static wp_status sqlite_connect(wp_conn **out, wp_store *store, wp__open how, wp_error **err);

const wp__driver wp__sqlite_driver = {
    .name = "sqlite",
    .style = WP_PARAM_NAMED,
    .connect = sqlite_connect,
    .close = sqlite_close,
    .gone = sqlite_gone,
    .in_transaction = sqlite_in_transaction,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .execute = sqlite_execute,
    .script = sqlite_script,
    .change_number = sqlite_change_number,
    .tidy = sqlite_tidy,
    .interrupt = sqlite_interrupt,
};

/* ---- open --------------------------------------------------------------------------------- */

wp_status wp__sqlite_location(char **location, bool *memory, const char *url, wp_error **err)
{
    wp__buf text = {0};
    if (!*url)
        return wp__fail(err, WP_E_CONFIG,
                        "store.url names no file: sqlite:PATH or sqlite::memory:");
    /* Others count the slashes, and read the third one in different ways. */
    if (strncmp(url, "//", 2) == 0)
        return wp__fail(err, WP_E_CONFIG,
                        "store.url begins with sqlite://, which may be meant in two ways: write "
                        "sqlite:PATH, with sqlite:app.db for a path from the current directory "
                        "and sqlite:/srv/app.db for an absolute one");
    *memory = strcmp(url, ":memory:") == 0;
    if (*memory) {
        /* The memdb VFS shares a database by name among a process's connections. */
        wp_id id;
        char name[37];
        wp_id_new(&id);
        wp_id_format(name, &id);
        wp__buf_fmt(&text, "file:/waypost-%s?vfs=memdb", name);
    } else {
        if (strncmp(url, "file:", 5) == 0)
            wp__buf_text(&text, "./"); /* a path, whatever it is called */
        wp__buf_text(&text, url);
    }
    *location = wp__buf_take(&text);
    return *location ? WP_OK : wp__fail_nomem(err);
}

char *wp__sqlite_filename(wp_conn *conn)
{
    return wp__text_dup(sqlite3_db_filename(self_of(conn)->db, "main"));
}

/* Run one PRAGMA, and compare what it answers with `wanted` if that is not NULL. */
static wp_status pragma(sqlite_conn *self, const char *text, const char *wanted, wp_error **err)
{
    sqlite3_stmt *statement = NULL;
    wp_status st = WP_OK;
    int rc = sqlite3_prepare_v2(self->db, text, -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        st = fail(self, rc, text, err);
    else if (wanted && (rc != SQLITE_ROW ||
                        sqlite3_stricmp((const char *)sqlite3_column_text(statement, 0), wanted)))
        st = wp__fail(err, WP_E_DB, "%s was refused by the database", text);
    sqlite3_finalize(statement);
    return st;
}

/* Many processes may want to switch to WAL at once, and the busy handler is not always asked. */
static wp_status switch_to_wal(sqlite_conn *self, wp_error **err)
{
    int64_t give_up = wp__real_mono_us() + wp__store_busy_us(self->base.store);
    for (;;) {
        wp_error *cause = NULL;
        wp_status st = pragma(self, "PRAGMA journal_mode = WAL", "wal", &cause);
        if (st == WP_OK || !wp_error_retriable(cause) || wp__real_mono_us() >= give_up) {
            if (st != WP_OK)
                wp__error_move(err, cause);
            return st;
        }
        wp_error_free(cause);
        wp__sleep_us(500 + (int64_t)(wp__random() % 2000));
    }
}

static wp_status prepare_connection(sqlite_conn *self, wp__open how, wp_error **err)
{
    const wp_config *config = wp__store_config(self->base.store);
    const char *path = wp__store_watch_path(self->base.store);
    wp_status st;
    (void)sqlite3_extended_result_codes(self->db, 1);
    (void)sqlite3_busy_handler(self->db, on_busy, self);
    if ((st = pragma(self, "PRAGMA main.schema_version", NULL, err)) != WP_OK)
        return st; /* the first read: not a database, locked, corrupt */
    if (path && sqlite3_db_readonly(self->db, "main") == 1)
        return wp__fail(err, WP_E_UNAVAILABLE, "the database is read-only");
    if (how == WP__OPEN_DEPLOY && path && (st = switch_to_wal(self, err)) != WP_OK)
        return st;
    return pragma(self,
                  how != WP__OPEN_WORKER && config->synchronous == WP__SYNC_FULL
                      ? "PRAGMA main.synchronous = FULL"
                      : "PRAGMA main.synchronous = NORMAL",
                  NULL, err);
}

static wp_status sqlite_connect(wp_conn **out, wp_store *store, wp__open how, wp_error **err)
{
    const char *location = wp_store_location(store);
    const char *path = wp__store_watch_path(store);
    bool create = how == WP__OPEN_DEPLOY;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (path ? 0 : SQLITE_OPEN_URI) |
                (create || !path ? SQLITE_OPEN_CREATE : 0);
    wp_status st = WP_OK;
    sqlite_conn *self;
    int rc;
    if (path && wp__file_look(path) == WP__FILE_DIRECTORY)
        return wp__fail(err, WP_E_UNAVAILABLE, "%s is a directory, not a database file", path);
    if (path && !wp__file_has_folder(path))
        return wp__fail(err, WP_E_UNAVAILABLE, "%s cannot be opened: its directory does not exist",
                        path);
    if (path && !create && wp__store_had_file(store) && wp__file_look(path) == WP__FILE_MISSING)
        return wp__fail(
            err, WP_E_UNAVAILABLE,
            "%s is not there any more: it was deleted or moved while the store was open", path);
    if (path && !create && wp__file_look(path) == WP__FILE_MISSING)
        return wp__fail(err, WP_E_UNAVAILABLE,
                        "%s does not exist: deploy the schema with the deploy call or the "
                        "option store.deploy",
                        path);
    self = calloc(1, sizeof *self);
    if (!self)
        return wp__fail_nomem(err);
    self->base.driver = &wp__sqlite_driver;
    self->base.store = store;
    self->how = how;
    rc = sqlite3_open_v2(location, &self->db, flags, NULL);
    if (rc != SQLITE_OK)
        st = self->db ? fail(self, rc, "open", err) : wp__fail_nomem(err);
    else
        st = prepare_connection(self, how, err);
    if (st != WP_OK) {
        wp__error_context(err, "%s", location);
        sqlite_close(&self->base);
        return st;
    }
    *out = &self->base;
    return WP_OK;
}

wp_status wp__sqlite_lend(wp_conn **out, wp_store *store, struct sqlite3 *db, wp_error **err)
{
    wp_status st;
    sqlite_conn *self = calloc(1, sizeof *self);
    if (!self)
        return wp__fail_nomem(err);
    self->base.driver = &wp__sqlite_driver;
    self->base.store = store;
    self->base.lent = true;
    self->db = db;
    if ((st = check_triggers(self, err)) != WP_OK) {
        free(self);
        return st;
    }
    *out = &self->base;
    return WP_OK;
}
