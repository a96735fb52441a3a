/* SPDX-License-Identifier: Apache-2.0 */
/* The PostgreSQL driver, on libpq. What outlives a transaction on a connection (prepared statements,
 * settings) is left on it only where no proxy shares it with others. Every wait has an end: a connection whose server does not answer in time
 * is given up. Sources: postgresql.org/docs/current/libpq-async.html, errcodes-appendix.html. */
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/socket.h"
#include "base/text.h"
#include "db/sqlstate.h"
#include "db/store.h"

enum {
    OLDEST_SERVER = 120000, /* AS MATERIALIZED */
    CONNECT_MIN_US = 1000000,
    SLICE_US = 50000, /* how soon an interruption is noticed */
    OID_INT8 = 20,
    OID_INT2 = 21,
    OID_INT4 = 23
};

typedef struct pq_conn {
    wp_conn base;
    PGconn *pg;
    bool prepared[WP__SQL_COUNT];
    bool shared; /* by a proxy, with others */
    bool in_transaction;
    bool committing;
    int64_t answer_us; /* how long an answer may take */
    atomic_bool interrupted;
} pq_conn;

static pq_conn *self_of(wp_conn *conn)
{
    return (pq_conn *)conn;
}

/* ---- errors ------------------------------------------------------------------------------- */

/* The first line of libpq's own message. */
static void copy_message(char *out, size_t size, const PGconn *pg)
{
    const char *message = PQerrorMessage(pg);
    size_t len = strcspn(message, "\n");
    if (len >= size)
        len = size - 1;
    memcpy(out, message, len);
    out[len] = '\0';
}

/* The connection is lost. What was sent on it may have been committed if it ends a transaction, or is
 * one by itself and writes. */
static wp_status fail_lost(pq_conn *self, const char *doing, const char *why, bool writes,
                           wp_error **err)
{
    char message[256];
    wp_status st;
    copy_message(message, sizeof message, self->pg);
    self->base.broken = true;
    st = wp__fail_db(err, WP_E_UNAVAILABLE, "08006", 0, true, "%s: %s", doing,
                     why        ? why
                     : *message ? message
                                : "the connection to the server is lost");
    if (self->committing || (writes && !self->in_transaction))
        wp__error_set_outcome_unknown(err);
    return st;
}

static wp_status fail_result(pq_conn *self, const PGresult *result, const char *doing,
                             wp_error **err)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (!sqlstate || PQstatus(self->pg) == CONNECTION_BAD)
        return fail_lost(self, doing, message, true, err);
    if (wp__sqlstate_is_unprepared(sqlstate)) {
        wp__store_stop_preparing(self->base.store);
        memset(self->prepared, 0, sizeof self->prepared);
    }
    if (wp__sqlstate_ends_connection(sqlstate))
        self->base.broken = true;
    /* The primary message alone: the detail may quote what was sent. */
    return wp__sqlstate_fail(sqlstate, 0, self->base.lent, doing, message ? message : "error", err);
}

/* ---- waiting ------------------------------------------------------------------------------ */

/* Wait for the socket. False: the answer takes too long, or the wait was interrupted. */
static bool wait_for(pq_conn *self, unsigned events, int64_t give_up)
{
    for (;;) {
        int64_t left = give_up - wp__real_mono_us();
        if (atomic_load_explicit(&self->interrupted, memory_order_relaxed) || left <= 0)
            return false;
        if (wp__socket_wait(PQsocket(self->pg), events, left < SLICE_US ? left : SLICE_US))
            return true;
    }
}

/* Send what is queued, and take in what comes until a result can be had without blocking. */
static bool await_result(pq_conn *self, int64_t give_up)
{
    int unsent = PQflush(self->pg);
    while (unsent > 0) {
        if (!wait_for(self, WP__SOCKET_READ | WP__SOCKET_WRITE, give_up) ||
            !PQconsumeInput(self->pg))
            return false;
        unsent = PQflush(self->pg);
    }
    if (unsent < 0)
        return false;
    while (PQisBusy(self->pg))
        if (!wait_for(self, WP__SOCKET_READ, give_up) || !PQconsumeInput(self->pg))
            return false;
    return true;
}

/* The results of what was sent; *out gets the last one, or the first that is an error. NULL: the
 * connection is lost. */
static PGresult *take_results(pq_conn *self, bool *timed_out)
{
    int64_t give_up =
        self->answer_us == WP__FOREVER ? WP__FOREVER : wp__real_mono_us() + self->answer_us;
    if (self->base.give_up_at && self->base.give_up_at < give_up)
        give_up = self->base.give_up_at;
    PGresult *kept = NULL;
    for (;;) {
        PGresult *next;
        if (!await_result(self, give_up)) {
            *timed_out = PQstatus(self->pg) != CONNECTION_BAD;
            PQclear(kept);
            return NULL;
        }
        next = PQgetResult(self->pg);
        if (!next)
            return kept;
        if (kept && PQresultStatus(kept) == PGRES_FATAL_ERROR) {
            PQclear(next);
            continue;
        }
        PQclear(kept);
        kept = next;
    }
}

/* After a send function: its result, which the caller clears. */
static wp_status answer(PGresult **out, pq_conn *self, int sent, const char *doing, bool writes,
                        wp_error **err)
{
    bool timed_out = false;
    PGresult *result = sent ? take_results(self, &timed_out) : NULL;
    ExecStatusType status;
    if (!sent && PQstatus(self->pg) != CONNECTION_BAD) {
        char message[256];
        copy_message(message, sizeof message, self->pg);
        return wp__fail_db(err, WP_E_DB, NULL, 0, false, "%s: %s", doing, message);
    }
    if (!result)
        return fail_lost(self, doing,
                         !timed_out                        ? NULL
                         : atomic_load(&self->interrupted) ? "interrupted"
                                                           : "the server did not answer in time",
                         writes, err);
    status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        wp_status st = fail_result(self, result, doing, err);
        PQclear(result);
        return st;
    }
    *out = result;
    return WP_OK;
}

/* ---- transactions ------------------------------------------------------------------------- */

static wp_status command(pq_conn *self, const char *sql, wp_error **err)
{
    PGresult *result = NULL;
    wp_status st = answer(&result, self, PQsendQuery(self->pg, sql), sql, false, err);
    PQclear(result);
    return st;
}

static wp_status pq_begin(wp_conn *conn, bool write, wp_error **err)
{
    pq_conn *self = self_of(conn);
    wp_status st;
    (void)write;
    st = command(self, wp__store_engine(conn->store)->begin, err);
    self->in_transaction = st == WP_OK;
    return st;
}

static wp_status pq_commit(wp_conn *conn, wp_error **err)
{
    pq_conn *self = self_of(conn);
    PGresult *result = NULL;
    wp_status st;
    self->committing = true;
    st = answer(&result, self, PQsendQuery(self->pg, "COMMIT"), "COMMIT", true, err);
    self->committing = false;
    self->in_transaction = false;
    if (st == WP_OK && strcmp(PQcmdStatus(result), "COMMIT") != 0)
        st = wp__fail_db(err, WP_E_UNAVAILABLE, "40000", 0, true,
                         "COMMIT: the server has rolled the transaction back");
    PQclear(result);
    return st;
}

static bool pq_in_transaction(wp_conn *conn)
{
    return PQtransactionStatus(self_of(conn)->pg) != PQTRANS_IDLE;
}

static void pq_rollback(wp_conn *conn)
{
    pq_conn *self = self_of(conn);
    self->in_transaction = false;
    if (conn->broken || PQtransactionStatus(self->pg) == PQTRANS_IDLE)
        return;
    if (command(self, "ROLLBACK", NULL) != WP_OK)
        conn->broken = true;
}

/* ---- statements --------------------------------------------------------------------------- */

/* The values of a statement, as text. */
typedef struct values {
    const char *items[WP__SQL_PARAMS_MAX];
    char numbers[WP__SQL_PARAMS_MAX][24];
} values;

static void take_values(values *v, const wp_op *op, const wp__sql_text *text)
{
    for (size_t i = 0; i < text->param_count; i++) {
        const wp__value *value = &op->params[text->params[i]];
        v->items[i] = value->type == WP_VALUE_NULL ? NULL : value->p;
        if (value->type == WP_VALUE_INT64) {
            (void)snprintf(v->numbers[i], sizeof v->numbers[i], "%" PRId64, value->i);
            v->items[i] = v->numbers[i];
        }
    }
}

static void read_column(wp__value *value, const PGresult *result, int row, int column, bool number)
{
    if (PQgetisnull(result, row, column)) {
        value->type = WP_VALUE_NULL;
        return;
    }
    value->p = PQgetvalue(result, row, column);
    value->len = (size_t)PQgetlength(result, row, column);
    value->type = number ? WP_VALUE_INT64 : WP_VALUE_TEXT;
    if (number)
        value->i = strtoll(value->p, NULL, 10);
}

static wp_status feed_rows(const PGresult *result, wp_op *op, wp_error **err)
{
    bool number[WP__OP_COLUMNS_MAX] = {false};
    int columns = PQnfields(result);
    wp_status st = WP_OK;
    if (op->columns == 0)
        return WP_OK;
    if ((size_t)columns != op->columns)
        return wp__fail(err, WP_E_INTERNAL, "%s returns %d columns, %zu were expected",
                        wp__sql_name(op->sql, op->statement), columns, op->columns);
    for (int c = 0; c < columns; c++)
        number[c] = PQftype(result, c) == OID_INT8 || PQftype(result, c) == OID_INT4 ||
                    PQftype(result, c) == OID_INT2;
    for (int r = 0; r < PQntuples(result) && st == WP_OK; r++) {
        wp__value row[WP__OP_COLUMNS_MAX] = {{0}};
        for (int c = 0; c < columns; c++)
            read_column(&row[c], result, r, c, number[c]);
        st = op->cls->row(op, row, err);
    }
    return st;
}

static wp_status prepare(pq_conn *self, const wp_op *op, const char *name, wp_error **err)
{
    PGresult *result = NULL;
    wp_status st;
    if (self->prepared[op->statement])
        return WP_OK;
    st = answer(&result, self, PQsendPrepare(self->pg, name, wp__op_text(op)->text, 0, NULL),
                wp__sql_name(op->sql, op->statement), false, err);
    PQclear(result);
    self->prepared[op->statement] = st == WP_OK;
    return st;
}

static wp_status run_statement(pq_conn *self, wp_op *op, wp_error **err)
{
    const wp__sql_text *text = wp__op_text(op);
    const char *doing = wp__sql_name(op->sql, op->statement);
    int count = (int)text->param_count;
    PGresult *result = NULL;
    values v;
    wp_status st;
    int sent;
    take_values(&v, op, text);
    if (!self->base.lent && wp__store_prepares(self->base.store)) {
        char name[32];
        (void)snprintf(name, sizeof name, "waypost_%d", (int)op->statement);
        if ((st = prepare(self, op, name, err)) != WP_OK)
            return st;
        sent = PQsendQueryPrepared(self->pg, name, count, v.items, NULL, NULL, 0);
    } else {
        sent = PQsendQueryParams(self->pg, text->text, count, NULL, v.items, NULL, NULL, 0);
    }
    st = answer(&result, self, sent, doing, op->cls->writes, err);
    if (st == WP_OK)
        st = feed_rows(result, op, err);
    PQclear(result);
    return st;
}

/* The app may change its client encoding at any time; libpq is told. */
static wp_status check_encoding(const PGconn *pg, wp_error **err)
{
    const char *client = pg_encoding_to_char(PQclientEncoding(pg));
    const char *server = PQparameterStatus(pg, "server_encoding");
    if (strcmp(client, "UTF8") == 0 || (server && strcmp(server, "SQL_ASCII") == 0) ||
        (strcmp(client, "SQL_ASCII") == 0 && server && strcmp(server, "UTF8") == 0))
        return WP_OK;
    return wp__fail_encoding(client, &wp__engine_postgresql, err);
}

/* A lent connection is left in the mode that the app chose. */
static wp_status pq_execute(wp_conn *conn, wp_op *op, wp_error **err)
{
    pq_conn *self = self_of(conn);
    bool blocking = conn->lent && !PQisnonblocking(self->pg);
    wp_status st;
    if (PQstatus(self->pg) == CONNECTION_BAD)
        return fail_lost(self, wp__sql_name(op->sql, op->statement), NULL, false, err);
    if (conn->lent && (st = check_encoding(self->pg, err)) != WP_OK)
        return st;
    if (blocking)
        (void)PQsetnonblocking(self->pg, 1);
    st = run_statement(self, op, err);
    if (blocking && PQstatus(self->pg) != CONNECTION_BAD)
        (void)PQsetnonblocking(self->pg, 0);
    return st;
}

static wp_status pq_script(wp_conn *conn, const char *text, wp_error **err)
{
    pq_conn *self = self_of(conn);
    int64_t limit = self->answer_us;
    PGresult *result = NULL;
    wp_status st;
    self->answer_us = WP__FOREVER; /* a migration takes the time that it takes */
    st = answer(&result, self, PQsendQuery(self->pg, text), "script", true, err);
    self->answer_us = limit;
    PQclear(result);
    return st;
}

/* ---- signals ------------------------------------------------------------------------------ */

static wp_status pq_listen(wp_conn *conn, const char *channel, wp_error **err)
{
    wp__buf sql = {0};
    wp_status st;
    if (self_of(conn)->shared)
        return WP_OK; /* it would listen on someone else's connection */
    wp__buf_fmt(&sql, "LISTEN %s", channel);
    st = sql.failed ? wp__fail_nomem(err) : command(self_of(conn), sql.data, err);
    wp__buf_free(&sql);
    return st;
}

static bool pq_heard(wp_conn *conn)
{
    pq_conn *self = self_of(conn);
    bool heard = false;
    PGnotify *notify;
    if (!PQconsumeInput(self->pg) || PQstatus(self->pg) == CONNECTION_BAD)
        conn->broken = true;
    while ((notify = PQnotifies(self->pg))) {
        heard = true;
        PQfreemem(notify);
    }
    return heard;
}

static int pq_descriptor(wp_conn *conn)
{
    return PQsocket(self_of(conn)->pg);
}

/* ---- the rest ----------------------------------------------------------------------------- */

/* An idle connection has nothing to read, unless the server has closed it. */
static bool pq_alive(wp_conn *conn, bool ask)
{
    pq_conn *self = self_of(conn);
    (void)ask;
    if (PQstatus(self->pg) == CONNECTION_BAD)
        return false;
    return !wp__socket_wait(PQsocket(self->pg), WP__SOCKET_READ, 0) ||
           (PQconsumeInput(self->pg) && PQstatus(self->pg) != CONNECTION_BAD);
}

static void pq_interrupt(wp_conn *conn)
{
    atomic_store(&self_of(conn)->interrupted, true);
}

static void pq_close(wp_conn *conn)
{
    if (!conn->lent)
        PQfinish(self_of(conn)->pg);
    free(conn);
}

static void ignore_notice(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result;
}

/* Go through the steps of connecting, each of which may have to wait. */
static wp_status finish_connecting(pq_conn *self, int64_t limit_us, wp_error **err)
{
    int64_t give_up = wp__real_mono_us() + limit_us;
    PostgresPollingStatusType step = PGRES_POLLING_WRITING;
    char message[256];
    if (PQstatus(self->pg) == CONNECTION_BAD)
        step = PGRES_POLLING_FAILED;
    while (step != PGRES_POLLING_OK && step != PGRES_POLLING_FAILED) {
        if (!wait_for(self, step == PGRES_POLLING_READING ? WP__SOCKET_READ : WP__SOCKET_WRITE,
                      give_up))
            return wp__fail_db(err, WP_E_UNAVAILABLE, "08001", 0, true,
                               "connect: the server did not answer in time");
        step = PQconnectPoll(self->pg);
    }
    if (step == PGRES_POLLING_OK)
        return WP_OK;
    copy_message(message, sizeof message, self->pg);
    return wp__fail_db(err, WP_E_UNAVAILABLE, "08001", 0, true, "connect: %s", message);
}

/* A proxy that shares connections between its clients shows a process id of its own. Then nothing may
 * be left on the connection: no prepared statement, no setting. */
static wp_status look_for_proxy(pq_conn *self, wp_error **err)
{
    PGresult *result = NULL;
    wp_status st = answer(&result, self, PQsendQuery(self->pg, "SELECT pg_backend_pid()"),
                          "connect", false, err);
    if (st == WP_OK && strtol(PQgetvalue(result, 0, 0), NULL, 10) != PQbackendPID(self->pg)) {
        self->shared = true;
        wp__store_stop_preparing(self->base.store);
    }
    PQclear(result);
    return st;
}

static wp_status check_server(pq_conn *self, wp_error **err)
{
    int version = PQserverVersion(self->pg);
    if (version < OLDEST_SERVER)
        return wp__fail(err, WP_E_DB, "the server is PostgreSQL %d; 12 or newer is needed",
                        version / 10000);
    return WP_OK;
}

/* A worker has other things to do than to wait for a connection. */
static int64_t connect_limit(const wp_config *config, wp__open how)
{
    int64_t limit = config->connect_ms * 1000;
    int64_t tenth = config->worker.lease_ms * 1000 / 10;
    if (tenth < CONNECT_MIN_US)
        tenth = CONNECT_MIN_US;
    return how == WP__OPEN_WORKER && tenth < limit ? tenth : limit;
}

static int64_t answer_limit(const wp_config *config, wp__open how)
{
    int64_t limit = config->answer_ms * 1000;
    int64_t third = config->worker.lease_ms * 1000 / 3;
    return how == WP__OPEN_WORKER && third < limit ? third : limit;
}

/* What libpq says of it is left out: it may repeat a part of the password. */
wp_status wp__pq_check_url(const char *url, wp_error **err)
{
    char *message = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &message);
    const bool readable = options != NULL;
    const bool memory = !readable && !message;
    PQconninfoFree(options);
    PQfreemem(message);
    if (readable)
        return WP_OK;
    if (memory)
        return wp__fail_nomem(err);
    return wp__fail(
        err, WP_E_CONFIG,
        "store.url is no URL that PostgreSQL's client reads: "
        "postgresql://USER:PASSWORD@HOST:PORT/DATABASE?PARAMETER=VALUE, with %%-escapes for "
        "what is not a letter or digit, and parameters that libpq knows");
}

static wp_status pq_connect(wp_conn **out, wp_store *store, wp__open how, wp_error **err)
{
    /* What stands before the URL can be changed by it, what stands after it cannot. */
    static const char *const keys[] = {"fallback_application_name",
                                       "keepalives_idle",
                                       "keepalives_interval",
                                       "keepalives_count",
                                       "dbname",
                                       "client_encoding",
                                       NULL};
    const char *const settings[] = {"waypost", "15", "5", "3", wp_store_location(store),
                                    "UTF8",    NULL};
    wp_status st = WP_OK;
    pq_conn *self = calloc(1, sizeof *self);
    if (!self)
        return wp__fail_nomem(err);
    self->base.driver = &wp__pq_driver;
    self->base.store = store;
    self->answer_us = answer_limit(wp__store_config(store), how);
    atomic_init(&self->interrupted, false);
    self->pg = PQconnectStartParams(keys, settings, 1);
    if (!self->pg)
        st = wp__fail_nomem(err);
    if (st == WP_OK &&
        (st = finish_connecting(self, connect_limit(wp__store_config(store), how), err)) == WP_OK)
        st = check_server(self, err);
    if (st == WP_OK && (st = look_for_proxy(self, err)) == WP_OK && !self->shared &&
        (st = wp__conn_settle(&self->base, how, self->answer_us, err)) == WP_OK &&
        how == WP__OPEN_WORKER)
        st = command(self, wp__store_engine(store)->steady, err);
    if (st != WP_OK) {
        pq_close(&self->base);
        return st;
    }
    (void)PQsetNoticeReceiver(self->pg, ignore_notice, NULL);
    (void)PQsetnonblocking(self->pg, 1);
    *out = &self->base;
    return WP_OK;
}

wp_status wp__pq_lend(wp_conn **out, wp_store *store, struct pg_conn *db, wp_error **err)
{
    pq_conn *self = calloc(1, sizeof *self);
    if (!self)
        return wp__fail_nomem(err);
    self->base.driver = &wp__pq_driver;
    self->base.store = store;
    self->base.lent = true;
    self->pg = db;
    self->answer_us = WP__FOREVER;
    atomic_init(&self->interrupted, false);
    *out = &self->base;
    return WP_OK;
}

const wp__driver wp__pq_driver = {
    .name = "pq",
    .style = WP_PARAM_NUMERIC,
    .connect = pq_connect,
    .close = pq_close,
    .alive = pq_alive,
    .in_transaction = pq_in_transaction,
    .begin = pq_begin,
    .commit = pq_commit,
    .rollback = pq_rollback,
    .execute = pq_execute,
    .script = pq_script,
    .listen = pq_listen,
    .heard = pq_heard,
    .descriptor = pq_descriptor,
    .interrupt = pq_interrupt,
};
