/* SPDX-License-Identifier: Apache-2.0 */
/* The driver on unixODBC, for every server that is reached that way; odbc_kind.c has what differs.
 *
 * Calls of ODBC block, and only the server or the operating system ends them: statements have a time
 * limit (SQL_ATTR_QUERY_TIMEOUT), sockets another one. A call is not cancelled from a second thread:
 * drivers crash on that, or block in it. Source: learn.microsoft.com/sql/odbc/reference. */
#include <sql.h>
#include <sqlext.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/task.h"
#include "base/text.h"
#include "db/odbc_kind.h"
#include "db/odbc_values.h"
#include "db/sqlstate.h"
#include "db/store.h"

enum { PING_AFTER_US = 1000000 }; /* a connection that was idle for longer is tried first */

typedef struct odbc_conn {
    wp_conn base;
    SQLHDBC dbc;
    const wp__odbc_kind *kind;
    wp__odbc_statement plain; /* for commands */
    wp__odbc_statement prepared[WP__SQL_COUNT];
    wp__odbc_texts texts; /* of one row */
    wp__buf wide_sql;     /* a statement, where the kind is wide */
    bool in_transaction;
    bool failed; /* a statement of the transaction has: it can only be rolled back */
    bool committing;
    bool texts_checked; /* they arrive as they are sent */
    SQLULEN limit_s;    /* how long a statement may take; 0: for ever */
    int64_t used_us;
    atomic_bool interrupted;
} odbc_conn;

/* ODBC takes some numbers as pointers. */
static SQLPOINTER as_pointer(SQLULEN number)
{
    SQLPOINTER pointer = NULL;
    memcpy(&pointer, &number, sizeof pointer);
    return pointer;
}

static odbc_conn *self_of(wp_conn *conn)
{
    return (odbc_conn *)conn;
}

/* ---- the environment ---------------------------------------------------------------------- */

/* One for the process, for ever. */
static SQLHENV environment(void)
{
    static wp__mutex mutex = PTHREAD_MUTEX_INITIALIZER;
    static SQLHENV env = SQL_NULL_HENV;
    SQLHENV made;
    wp__mutex_lock(&mutex);
    if (env == SQL_NULL_HENV &&
        SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &made))) {
        (void)SQLSetEnvAttr(made, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)SQL_OV_ODBC3, 0);
        env = made;
    }
    made = env;
    wp__mutex_unlock(&mutex);
    return made;
}

/* ---- errors ------------------------------------------------------------------------------- */

typedef struct diagnosis {
    char sqlstate[6];
    SQLINTEGER native;
    char text[SQL_MAX_MESSAGE_LENGTH + 1];
    const char *message; /* in text: without who says it, and without its further lines */
} diagnosis;

static void diagnose(diagnosis *d, SQLSMALLINT type, SQLHANDLE handle)
{
    SQLSMALLINT len = 0;
    size_t end;
    *d = (diagnosis){.sqlstate = "HY000"};
    if (!SQL_SUCCEEDED(SQLGetDiagRec(type, handle, 1, (SQLCHAR *)d->sqlstate, &d->native,
                                     (SQLCHAR *)d->text, sizeof d->text, &len)))
        (void)strcpy(d->text, "error");
    d->message = d->text;
    while (*d->message == '[' && strchr(d->message, ']'))
        d->message = strchr(d->message, ']') + 1;
    /* The detail that follows may quote what was sent. */
    end = strcspn(d->message, "\r\n");
    while (end && (d->message[end - 1] == ';' || d->message[end - 1] == ' '))
        end--;
    d->text[(size_t)(d->message - d->text) + end] = '\0';
}

/* Some servers tell by numbers of their own what the SQLSTATE does not. */
static void interpret(diagnosis *d, const odbc_conn *self)
{
    const char *sqlstate = wp__odbc_kind_sqlstate(self->kind, d->sqlstate, d->native);
    memmove(d->sqlstate, sqlstate, sizeof d->sqlstate);
}

static bool is_vague(const diagnosis *d)
{
    return strcmp(d->sqlstate, "HY000") == 0;
}

static bool is_dead(odbc_conn *self)
{
    SQLUINTEGER dead = SQL_CD_FALSE;
    return SQL_SUCCEEDED(SQLGetConnectAttr(self->dbc, SQL_ATTR_CONNECTION_DEAD, &dead,
                                           SQL_IS_UINTEGER, NULL)) &&
           dead == SQL_CD_TRUE;
}

/* Whether a connection still leads to the server, where its driver only says that something has failed
 * (HY000). */
static bool answers(odbc_conn *self)
{
    SQLHSTMT handle = SQL_NULL_HSTMT;
    diagnosis d;
    bool ok;
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, self->dbc, &handle)))
        return false;
    ok = SQL_SUCCEEDED(SQLExecDirect(handle, (SQLCHAR *)"SELECT 1", SQL_NTS));
    if (!ok) { /* in an aborted transaction, say */
        diagnose(&d, SQL_HANDLE_STMT, handle);
        ok = !is_vague(&d) && !wp__sqlstate_ends_connection(d.sqlstate);
    }
    (void)SQLFreeHandle(SQL_HANDLE_STMT, handle);
    return ok;
}

/* Some drivers cannot use a prepared statement again after an error: none is kept. */
static void drop_statements(odbc_conn *self)
{
    for (int i = 0; i < WP__SQL_COUNT; i++)
        if (self->prepared[i].handle)
            (void)SQLFreeHandle(SQL_HANDLE_STMT, self->prepared[i].handle);
    memset(self->prepared, 0, sizeof self->prepared);
}

/* The connection is lost or about to be. What was sent on it may have been committed if it ends a
 * transaction, or is one by itself and writes. */
static wp_status fail_lost(odbc_conn *self, const char *doing, const char *sqlstate,
                           SQLINTEGER native, const char *why, bool writes, wp_error **err)
{
    wp_status st = wp__fail_db(err, WP_E_UNAVAILABLE, sqlstate, native, true, "%s: %s", doing, why);
    self->base.broken = true;
    if (self->committing || (writes && !self->in_transaction))
        wp__error_set_outcome_unknown(err);
    return st;
}

/* After a call on a statement failed. Every handle of the connection's own is invalid then. */
static wp_status fail_statement(odbc_conn *self, SQLHSTMT handle, const char *doing, bool writes,
                                wp_error **err)
{
    diagnosis d;
    diagnose(&d, SQL_HANDLE_STMT, handle);
    interpret(&d, self);
    self->failed = true;
    if (wp__sqlstate_in(d.sqlstate, "22001") && is_dead(self)) { /* MariaDB hangs up over it */
        self->base.broken = true;
        return wp__sqlstate_fail(d.sqlstate, d.native, self->base.lent, doing, d.message, err);
    }
    if (wp__sqlstate_ends_connection(d.sqlstate) || is_dead(self) ||
        (is_vague(&d) && !answers(self)))
        return fail_lost(self, doing, d.sqlstate, d.native, d.message, writes, err);
    if (!self->base.lent)
        drop_statements(self);
    if (wp__sqlstate_is_unprepared(d.sqlstate))
        wp__store_stop_preparing(self->base.store);
    return wp__sqlstate_fail(d.sqlstate, d.native, self->base.lent, doing, d.message, err);
}

static wp_status fail_connection(odbc_conn *self, const char *doing, wp_error **err)
{
    diagnosis d;
    diagnose(&d, SQL_HANDLE_DBC, self->dbc);
    interpret(&d, self);
    return fail_lost(self, doing, d.sqlstate, d.native, d.message, false, err);
}

/* ---- commands ----------------------------------------------------------------------------- */

static wp_status open_handle(SQLHSTMT *out, odbc_conn *self, const char *doing, wp_error **err)
{
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, self->dbc, out)))
        return fail_connection(self, doing, err);
    /* Drivers make this a setting of the session: not where a proxy shares it with others. */
    if (!self->base.lent && wp__store_prepares(self->base.store))
        (void)SQLSetStmtAttr(*out, SQL_ATTR_QUERY_TIMEOUT, as_pointer(self->limit_s), 0);
    return WP_OK;
}

/* Run a text without preparing it. */
static SQLRETURN run_text(odbc_conn *self, SQLHSTMT handle, const char *sql)
{
    if (!self->kind->wide)
        return SQLExecDirect(handle, wp__odbc_text(sql), SQL_NTS);
    if (!wp__utf16_encode(&self->wide_sql, self->texts.utf16, sql, strlen(sql)))
        return SQL_ERROR; /* no memory: without a diagnosis */
    return SQLExecDirectW(handle, (SQLWCHAR *)(void *)self->wide_sql.data, SQL_NTS);
}

/* A call that changes no row answers SQL_NO_DATA with some drivers. */
static bool done(SQLRETURN rc)
{
    return SQL_SUCCEEDED(rc) || rc == SQL_NO_DATA;
}

/* Errors may come after the first result. */
static SQLRETURN take_results(SQLHSTMT handle)
{
    SQLRETURN rc;
    do
        rc = SQLMoreResults(handle);
    while (SQL_SUCCEEDED(rc));
    return rc;
}

static wp_status command(odbc_conn *self, const char *sql, const char *doing, bool writes,
                         wp_error **err)
{
    wp_status st = WP_OK;
    SQLHSTMT handle;
    if (!self->plain.handle && (st = open_handle(&self->plain.handle, self, doing, err)) != WP_OK)
        return st;
    handle = self->plain.handle;
    /* MariaDB's driver takes a stored procedure's text for many statements, and crashes when it is asked
     * for their results: there are none. */
    if (!done(run_text(self, handle, sql)) ||
        (!self->kind->engine->one_by_one && !done(take_results(handle))))
        st = fail_statement(self, handle, doing, writes, err);
    (void)SQLFreeStmt(handle, SQL_CLOSE);
    return st;
}

static bool is_interrupted(odbc_conn *self)
{
    return atomic_load_explicit(&self->interrupted, memory_order_relaxed);
}

static wp_status fail_interrupted(odbc_conn *self, const char *doing, wp_error **err)
{
    self->base.broken = true;
    return wp__fail_db(err, WP_E_UNAVAILABLE, "57014", 0, true, "%s: interrupted", doing);
}

/* ---- transactions ------------------------------------------------------------------------- */

static wp_status odbc_begin(wp_conn *conn, bool write, wp_error **err)
{
    odbc_conn *self = self_of(conn);
    const char *sql = self->kind->engine->begin;
    wp_status st;
    (void)write;
    if (is_interrupted(self))
        return fail_interrupted(self, sql, err);
    st = command(self, sql, sql, false, err);
    self->in_transaction = st == WP_OK;
    self->failed = false;
    return st;
}

/* The COMMIT of a transaction that the server has aborted rolls it back, and drivers call that a
 * success: it is not sent. */
static wp_status odbc_commit(wp_conn *conn, wp_error **err)
{
    odbc_conn *self = self_of(conn);
    wp_status st;
    if (self->failed)
        return wp__fail_db(err, WP_E_UNAVAILABLE, "40000", 0, true,
                           "COMMIT: the server has rolled the transaction back");
    self->committing = true;
    st = command(self, "COMMIT", "COMMIT", true, err);
    self->committing = false;
    self->in_transaction = st != WP_OK;
    return st;
}

static void odbc_rollback(wp_conn *conn)
{
    odbc_conn *self = self_of(conn);
    const char *rollback = self->kind->engine->rollback;
    const char *sql = rollback ? rollback : "ROLLBACK";
    self->failed = false;
    if (self->in_transaction && !conn->broken &&
        command(self, sql, "ROLLBACK", false, NULL) != WP_OK)
        conn->broken = true;
    self->in_transaction = false;
    self->failed = false;
}

/* ---- rows --------------------------------------------------------------------------------- */

/* A batch of SQL Server may tell how many rows its first statements changed: that is no result of ours. */
static SQLRETURN skip_counts(odbc_conn *self, wp__odbc_statement *s)
{
    SQLRETURN rc = wp__odbc_describe(s);
    while (self->kind->direct && s->described && s->columns == 0 &&
           SQL_SUCCEEDED(rc = SQLMoreResults(s->handle))) {
        s->described = false;
        rc = wp__odbc_describe(s);
    }
    return rc;
}

static wp_status feed_rows(odbc_conn *self, wp__odbc_statement *s, wp_op *op, wp_error **err)
{
    const char *doing = wp__sql_name(op->sql, op->statement);
    SQLRETURN rc = skip_counts(self, s);
    wp_status st = WP_OK;
    if (SQL_SUCCEEDED(rc) && (size_t)s->columns != op->columns)
        return wp__fail(err, WP_E_INTERNAL, "%s returns %d columns, %zu were expected", doing,
                        (int)s->columns, op->columns);
    while (st == WP_OK && SQL_SUCCEEDED(rc) && SQL_SUCCEEDED(rc = SQLFetch(s->handle))) {
        wp__value row[WP__OP_COLUMNS_MAX] = {{0}};
        bool no_memory = false;
        if (!SQL_SUCCEEDED(rc = wp__odbc_read_row(row, &self->texts, s, &no_memory)))
            st = no_memory ? wp__fail_nomem(err)
                           : fail_statement(self, s->handle, doing, op->cls->writes, err);
        else
            st = op->cls->row(op, row, err);
    }
    if (st == WP_OK && !done(rc))
        st = fail_statement(self, s->handle, doing, op->cls->writes, err);
    return st;
}

/* ---- statements --------------------------------------------------------------------------- */

/* The statement that is kept for it, prepared; or `once`, which is not. */
static wp_status take_statement(wp__odbc_statement **out, odbc_conn *self, wp__odbc_statement *once,
                                const wp_op *op, wp_error **err)
{
    const char *doing = wp__sql_name(op->sql, op->statement);
    bool keep = !self->base.lent && !self->kind->direct && wp__store_prepares(self->base.store);
    wp__odbc_statement *s = keep ? &self->prepared[op->statement] : once;
    wp_status st = WP_OK;
    *out = s;
    if (s->handle)
        return WP_OK;
    if ((st = open_handle(&s->handle, self, doing, err)) == WP_OK && keep &&
        !SQL_SUCCEEDED(SQLPrepare(s->handle, (SQLCHAR *)wp__op_text(op)->text, SQL_NTS)))
        st = fail_statement(self, s->handle, doing, false, err);
    return st;
}

static wp_status run_statement(odbc_conn *self, wp__odbc_statement *s, bool once, wp_op *op,
                               wp_error **err)
{
    const wp__sql_text *text = wp__op_text(op);
    SQLHSTMT handle = s->handle;
    SQLRETURN rc;
    wp_status st = WP_OK;
    wp__odbc_params v = {0};
    rc = wp__odbc_bind(&v, self->texts.utf16, handle, op, text);
    if (SQL_SUCCEEDED(rc))
        rc = once ? run_text(self, handle, text->text) : SQLExecute(handle);
    wp__odbc_params_free(&v);
    if (rc == SQL_NO_DATA)
        return WP_OK;
    if (SQL_SUCCEEDED(rc) && op->columns) {
        if ((st = feed_rows(self, s, op, err)) != WP_OK)
            return st;
    }
    if (!SQL_SUCCEEDED(rc) || !done(take_results(handle)))
        st = fail_statement(self, handle, wp__sql_name(op->sql, op->statement), op->cls->writes,
                            err);
    return st;
}

/* Before the first statement: the client encoding may follow a locale, or be what the app has set. */
static wp_status check_texts(odbc_conn *self, wp_error **err)
{
    wp_status st;
    self->texts_checked = true; /* this is a statement, too */
    st = wp__conn_check_encoding(&self->base, err);
    self->texts_checked = st == WP_OK;
    return st;
}

/* A procedure that begins a transaction of its own may leave it open after an error: seen under load with time
 * limits of some milliseconds. */
static void end_cut_off(odbc_conn *self)
{
    if (self->base.lent || self->in_transaction || !self->kind->engine->routines)
        return;
    self->in_transaction = true;
    odbc_rollback(&self->base);
}

static wp_status odbc_execute(wp_conn *conn, wp_op *op, wp_error **err)
{
    odbc_conn *self = self_of(conn);
    wp__odbc_statement once = {0};
    wp__odbc_statement *s = NULL;
    wp_status st;
    if (is_interrupted(self))
        return fail_interrupted(self, wp__sql_name(op->sql, op->statement), err);
    if (!self->texts_checked && (st = check_texts(self, err)) != WP_OK)
        return st;
    st = take_statement(&s, self, &once, op, err);
    if (st == WP_OK)
        st = run_statement(self, s, s == &once, op, err);
    if (once.handle)
        (void)SQLFreeHandle(SQL_HANDLE_STMT, once.handle);
    else if (s->handle)
        (void)SQLFreeStmt(s->handle, SQL_CLOSE);
    wp__odbc_texts_trim(&self->texts);
    if (st != WP_OK)
        end_cut_off(self);
    self->used_us = wp__real_mono_us();
    return st;
}

static wp_status odbc_script(wp_conn *conn, const char *text, wp_error **err)
{
    odbc_conn *self = self_of(conn);
    SQLULEN limit = self->limit_s;
    wp_status st;
    if (self->plain.handle)
        (void)SQLFreeHandle(SQL_HANDLE_STMT, self->plain.handle);
    self->plain.handle = NULL;
    self->limit_s = 0; /* a migration takes the time that it takes */
    st = command(self, text, "script", true, err);
    if (self->plain.handle)
        (void)SQLFreeHandle(SQL_HANDLE_STMT, self->plain.handle);
    self->plain.handle = NULL;
    self->limit_s = limit;
    return st;
}

/* ---- the rest ----------------------------------------------------------------------------- */

/* Drivers notice a lost connection only when they use it. */
static bool odbc_alive(wp_conn *conn, bool ask)
{
    odbc_conn *self = self_of(conn);
    const bool fresh = !ask && wp__real_mono_us() - self->used_us < PING_AFTER_US;
    if (self->kind->dead_asks)
        return fresh || !is_dead(self);
    return !is_dead(self) && (fresh || command(self, "SELECT 1", "ping", false, NULL) == WP_OK);
}

static void odbc_interrupt(wp_conn *conn)
{
    atomic_store(&self_of(conn)->interrupted, true);
}

static void hang_up(SQLHDBC dbc)
{
    if (dbc == SQL_NULL_HDBC)
        return;
    (void)SQLDisconnect(dbc); /* frees its statements */
    (void)SQLFreeHandle(SQL_HANDLE_DBC, dbc);
}

static void odbc_close(wp_conn *conn)
{
    odbc_conn *self = self_of(conn);
    if (!conn->lent)
        hang_up(self->dbc);
    wp__odbc_texts_free(&self->texts);
    wp__buf_free(&self->wide_sql);
    free(self);
}

static SQLULEN seconds(int64_t us)
{
    return (SQLULEN)((us + 999999) / 1000000);
}

static int64_t answer_limit(const wp_config *config, wp__open how)
{
    int64_t limit = config->answer_ms * 1000;
    int64_t third = config->worker.lease_ms * 1000 / 3;
    return how == WP__OPEN_WORKER && third < limit ? third : limit;
}

/* IM: the driver manager does not know the data source, or has no such driver. */
static wp_status fail_connect(SQLHDBC dbc, const char *string, wp_error **err)
{
    diagnosis d;
    bool config;
    diagnose(&d, SQL_HANDLE_DBC, dbc);
    config = wp__sqlstate_in(d.sqlstate, "IM") || strstr(d.message, "Can't open lib");
    return wp__fail_db(err, config ? WP_E_CONFIG : WP_E_UNAVAILABLE, d.sqlstate, d.native, !config,
                       "connect: %s",
                       wp__odbc_string_betrayed(string, d.message)
                           ? "refused, with a message that is not shown: it has a secret in it"
                           : d.message);
}

/* A connection that is being made. Not every driver heeds SQL_ATTR_LOGIN_TIMEOUT where a server accepts the
 * connection and says nothing (MariaDB's does not): so it is made on a thread of its own. */
typedef struct dialling {
    char *string;
    SQLULEN limit_s;
    SQLHDBC dbc; /* until somebody takes it */
    wp_status status;
    wp_error *error;
    uint64_t generation;   /* of the process that has its thread */
    struct dialling *next; /* that hangs */
    bool hangs;            /* nobody waits for it any more, since: */
    int64_t hangs_us;
    bool over;
} dialling;

/* Those that hang, each with a thread and a socket of its own, until the driver gives up, which it may never do:
 * beyond so many of one connection string, one more is begun now and then, as the server may be back. */
enum { HANGING_MAX = 4 };
#define HANGING_PAUSE_US (INT64_C(120) * 1000000)

static wp__mutex hanging_mutex = PTHREAD_MUTEX_INITIALIZER;
static dialling *hanging;

static bool too_many_hang(const char *string)
{
    const uint64_t generation = wp__process_generation();
    int64_t newest_us = 0;
    int count = 0;
    wp__mutex_lock(&hanging_mutex);
    for (const dialling *d = hanging; d; d = d->next)
        if (d->generation == generation && strcmp(d->string, string) == 0) {
            count++;
            if (d->hangs_us > newest_us)
                newest_us = d->hangs_us;
        }
    wp__mutex_unlock(&hanging_mutex);
    return count >= HANGING_MAX && wp__real_mono_us() - newest_us < HANGING_PAUSE_US;
}

static void note_hanging(dialling *d)
{
    wp__mutex_lock(&hanging_mutex);
    d->hangs = !d->over;
    d->hangs_us = wp__real_mono_us();
    if (d->hangs) {
        d->next = hanging;
        hanging = d;
    }
    wp__mutex_unlock(&hanging_mutex);
}

static void note_over(dialling *d)
{
    wp__mutex_lock(&hanging_mutex);
    d->over = true;
    for (dialling **at = &hanging; d->hangs && *at; at = &(*at)->next)
        if (*at == d) {
            *at = d->next;
            break;
        }
    wp__mutex_unlock(&hanging_mutex);
}

static void dialling_free(void *arg)
{
    dialling *d = arg;
    hang_up(d->dbc);
    wp_error_free(d->error);
    free(d->string);
    free(d);
}

static void dial_now(dialling *d)
{
    SQLHENV env = environment();
    if (!env || !SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_DBC, env, &d->dbc))) {
        d->status = wp__fail_nomem(&d->error);
        return;
    }
    (void)SQLSetConnectAttr(d->dbc, SQL_ATTR_LOGIN_TIMEOUT, as_pointer(d->limit_s), 0);
    if (SQL_SUCCEEDED(SQLDriverConnect(d->dbc, NULL, wp__odbc_text(d->string), SQL_NTS, NULL, 0,
                                       NULL, SQL_DRIVER_NOPROMPT)))
        return;
    d->status = fail_connect(d->dbc, d->string, &d->error);
    (void)SQLFreeHandle(SQL_HANDLE_DBC, d->dbc);
    d->dbc = SQL_NULL_HDBC;
}

static void dial_main(void *arg)
{
    dial_now(arg);
    note_over(arg);
}

static wp_status dial(SQLHDBC *out, const char *string, int64_t connect_ms, wp_error **err)
{
    dialling *d;
    wp__task *task = NULL;
    wp_status st;
    if (too_many_hang(string))
        return wp__fail_db(err, WP_E_UNAVAILABLE, NULL, 0, true,
                           "connect: the server has not answered those who asked before");
    d = calloc(1, sizeof *d);
    if (!d || !(d->string = wp__text_dup(string))) {
        free(d);
        return wp__fail_nomem(err);
    }
    d->limit_s = seconds(connect_ms * 1000);
    d->generation = wp__process_generation();
    if ((st = wp__task_start(&task, "waypost-connect", dial_main, dialling_free, d, err)) !=
        WP_OK) {
        dialling_free(d);
        return st;
    }
    if (!wp__task_wait(task, wp__real_deadline_us(connect_ms))) {
        note_hanging(d);
        st = wp__fail_db(err, WP_E_UNAVAILABLE, NULL, 0, true,
                         "connect: the server did not answer in time");
    } else if ((st = d->status) == WP_OK) {
        *out = d->dbc;
        d->dbc = SQL_NULL_HDBC;
    } else {
        wp__error_move(err, d->error);
        d->error = NULL;
    }
    wp__task_free(task);
    return st;
}

static bool ask(char *out, size_t size, SQLHDBC dbc, SQLUSMALLINT what)
{
    SQLSMALLINT len = 0;
    out[0] = '\0';
    return SQL_SUCCEEDED(SQLGetInfo(dbc, what, out, (SQLSMALLINT)size, &len));
}

/* What is at the other end. */
static wp_status recognize(const wp__odbc_kind **out, SQLHDBC dbc, wp_status otherwise,
                           wp_error **err)
{
    char dbms[64], driver[64], version[64];
    if (!ask(dbms, sizeof dbms, dbc, SQL_DBMS_NAME) ||
        !ask(driver, sizeof driver, dbc, SQL_DRIVER_NAME) ||
        !ask(version, sizeof version, dbc, SQL_DBMS_VER))
        return wp__fail(err, WP_E_ARGUMENT, "db is not an open ODBC connection");
    if (!(*out = wp__odbc_kind_find(dbms, driver)))
        return wp__fail(
            err, otherwise,
            "the ODBC connection leads to \"%s\" %s by the driver \"%s\": only "
            "PostgreSQL by psqlodbc, MariaDB by MariaDB Connector/ODBC, and SQL Server by "
            "Microsoft's driver or FreeTDS are known",
            dbms, version, driver);
    if (!wp__odbc_kind_takes(*out, version))
        return wp__fail(err, WP_E_DB, "the server is %s %s; %s or newer is needed", dbms, version,
                        (*out)->oldest);
    return WP_OK;
}

/* The database that it is in. */
static wp_status find_database(char **out, SQLHDBC dbc, wp_error **err)
{
    char name[512] = "";
    SQLINTEGER len = 0;
    if (!SQL_SUCCEEDED(SQLGetConnectAttr(dbc, SQL_ATTR_CURRENT_CATALOG, name, sizeof name, &len)) ||
        !*name || strcmp(name, "null") == 0)
        return wp__fail(err, WP_E_CONFIG, "store.url names no database: add Database=NAME");
    *out = wp__text_dup(name);
    return *out ? WP_OK : wp__fail_nomem(err);
}

wp_status wp__odbc_location(char **location, char **database, const wp__engine **engine,
                            const char *string, const wp_config *config, wp_error **err)
{
    SQLHDBC dbc = SQL_NULL_HDBC;
    const int64_t vanished_ms = answer_limit(config, WP__OPEN_WORKER) / 1000;
    const wp__odbc_kind *kind = wp__odbc_kind_guess(string);
    wp__buf first = {0}, complete = {0};
    char *text;
    wp_status st;
    wp__odbc_string_complete(&first, string, kind, vanished_ms);
    if (!(text = wp__buf_take(&first)))
        return wp__fail_nomem(err);
    st = dial(&dbc, text, config->connect_ms, err);
    free(text);
    if (st != WP_OK)
        return st;
    st = recognize(&kind, dbc, WP_E_CONFIG, err);
    if (st == WP_OK && kind->engine->databases)
        st = find_database(database, dbc, err);
    hang_up(dbc);
    if (st != WP_OK)
        return st;
    wp__odbc_string_complete(&complete, string, kind, vanished_ms);
    *engine = kind->engine;
    *location = wp__buf_take(&complete);
    return *location ? WP_OK : wp__fail_nomem(err);
}

static odbc_conn *conn_new(wp_store *store, SQLHDBC dbc)
{
    odbc_conn *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->base.driver = &wp__odbc_driver;
    self->base.store = store;
    self->dbc = dbc;
    self->used_us = wp__real_mono_us();
    atomic_init(&self->interrupted, false);
    return self;
}

static wp_status odbc_connect(wp_conn **out, wp_store *store, wp__open how, wp_error **err)
{
    const wp_config *config = wp__store_config(store);
    SQLHDBC dbc = SQL_NULL_HDBC;
    odbc_conn *self;
    wp_status st = dial(&dbc, wp_store_location(store), config->connect_ms, err);
    if (st != WP_OK)
        return st;
    if (!(self = conn_new(store, dbc))) {
        hang_up(dbc);
        return wp__fail_nomem(err);
    }
    self->limit_s = seconds(answer_limit(config, how));
    st = recognize(&self->kind, dbc, WP_E_CONFIG, err);
    if (st == WP_OK && self->kind->wide)
        st = wp__utf16_new(&self->texts.utf16, err);
    if (st == WP_OK && wp__store_prepares(store) &&
        self->kind->engine->statements[WP__SQL_CONNECTION_SETTLE].text)
        st = wp__conn_settle(&self->base, how, answer_limit(config, how), err);
    if (st == WP_OK && how == WP__OPEN_WORKER && self->kind->engine->steady &&
        wp__store_prepares(store))
        st = command(self, self->kind->engine->steady, "connect", false, err);
    if (st != WP_OK) {
        odbc_close(&self->base);
        return st;
    }
    *out = &self->base;
    return WP_OK;
}

wp_status wp__odbc_lend(wp_conn **out, wp_store *store, void *hdbc, wp_error **err)
{
    const wp__odbc_kind *kind = NULL;
    odbc_conn *self;
    wp_status st = recognize(&kind, hdbc, WP_E_ARGUMENT, err);
    if (st == WP_OK && kind->engine != wp__store_engine(store))
        st = wp__fail(err, WP_E_ARGUMENT, "db is a connection to %s, the store is on %s",
                      kind->engine->name, wp_store_engine(store));
    if (st != WP_OK)
        return st;
    if (!(self = conn_new(store, hdbc)))
        return wp__fail_nomem(err);
    self->base.lent = true;
    self->kind = kind;
    if (kind->wide && (st = wp__utf16_new(&self->texts.utf16, err)) != WP_OK) {
        odbc_close(&self->base);
        return st;
    }
    *out = &self->base;
    return WP_OK;
}

const wp__driver wp__odbc_driver = {
    .name = "odbc",
    .style = WP_PARAM_QMARK,
    .connect = odbc_connect,
    .close = odbc_close,
    .alive = odbc_alive,
    .begin = odbc_begin,
    .commit = odbc_commit,
    .rollback = odbc_rollback,
    .execute = odbc_execute,
    .script = odbc_script,
    .interrupt = odbc_interrupt,
};
