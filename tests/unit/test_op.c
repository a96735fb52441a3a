/* SPDX-License-Identifier: Apache-2.0 */
/* Operations as a host drives them: statements out, rows in, no database in between; and then with
 * one, in both parameter styles. */
#include "support/wpt.h"

#include <sqlite3.h>
#include <waypost/job.h>
#include <waypost/timer.h>

typedef struct ground {
    wp_clock *clock;
    wp_store *store;
    sqlite3 *db;
} ground;

static int ground_setup(void **state)
{
    ground *g = calloc(1, sizeof *g);
    assert_non_null(g);
    g->clock = wpt_clock();
    g->store = wpt_store("sqlite::memory:", g->clock, NULL);
    assert_int_equal(sqlite3_open_v2(wp_store_location(g->store), &g->db,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL),
                     SQLITE_OK);
    *state = g;
    return 0;
}

static int ground_teardown(void **state)
{
    ground *g = *state;
    assert_int_equal(sqlite3_close(g->db), SQLITE_OK);
    wp_store_close(g->store);
    wp_clock_free(g->clock);
    free(g);
    return 0;
}

static wp_op *enqueue_op(const ground *g, const wp_message *const *messages, size_t count)
{
    wp_op *op = NULL;
    WPT_OK(wp_outbox_enqueue_op(&op, g->store, messages, count, WPT_ERR));
    return op;
}

/* Whether there is a next statement. */
static int next(wp_op *op)
{
    int more = 99;
    WPT_OK(wp_op_next(&more, op, WPT_ERR));
    return more;
}

/* The index of a named parameter of the current statement. */
static size_t param(const wp_op *op, const char *name)
{
    for (size_t i = 0; i < wp_op_param_count(op); i++)
        if (strcmp(wp_op_param_name(op, i), name) == 0)
            return i;
    fail_msg("no parameter %s in %s", name, wp_op_sql(op));
    return 0;
}

static void text_param_is(const wp_op *op, const char *name, const char *want)
{
    const size_t at = param(op, name);
    size_t len = 0;
    const char *data = wp_op_param_data(&len, op, at);
    if (!want) {
        assert_int_equal(wp_op_param_type(op, at), WP_VALUE_NULL);
        return;
    }
    assert_int_equal(wp_op_param_type(op, at), WP_VALUE_TEXT);
    assert_int_equal(len, strlen(want));
    assert_memory_equal(data, want, len);
}

static void int_param_is(const wp_op *op, const char *name, int64_t want)
{
    const size_t at = param(op, name);
    assert_int_equal(wp_op_param_type(op, at), WP_VALUE_INT64);
    assert_int_equal(wp_op_param_int64(op, at), want);
}

/* ---- without a database ------------------------------------------------------------------- */

/* proves: BND-002, OBX-003 */
static void test_enqueue_op__one_message__one_insert_with_its_values(void **state)
{
    const ground *g = *state;
    wp_message *message = wpt_message("t", "pay");
    wp_op *op;
    wp_id id;
    WPT_OK(wp_message_set_correlation_id(message, "c", WPT_ERR));
    WPT_OK(wp_message_set_delay_ms(message, 5, WPT_ERR));
    op = enqueue_op(g, (const wp_message *const *)&message, 1);
    wp_message_free(message); /* copied */
    WPT_STATUS(wp_op_result_id(&id, op, 0, WPT_ERR), WP_E_STATE);
    assert_int_equal(wp_op_result_count(op), 0);
    assert_string_equal(wp_op_sql(op), "");
    assert_int_equal(wp_op_param_count(op), 0);
    assert_true(next(op));
    assert_non_null(strstr(wp_op_sql(op), "INSERT INTO \"main\".\"infra_outbox_new\""));
    assert_null(strchr(wp_op_sql(op), ':'));
    assert_int_equal(wp_op_returns_rows(op), 0);
    text_param_is(op, "topic", "t");
    text_param_is(op, "payload", "pay");
    text_param_is(op, "correlation_id", "c");
    text_param_is(op, "headers", NULL);
    text_param_is(op, "due_at", NULL);
    int_param_is(op, "delay", 5000);
    int_param_is(op, "now", WPT_START_US);
    assert_int_equal(wp_op_param_type(op, param(op, "id")), WP_VALUE_BYTES);
    assert_false(next(op));
    assert_false(next(op)); /* it stays finished */
    assert_int_equal(wp_op_result_count(op), 1);
    WPT_OK(wp_op_result_id(&id, op, 0, WPT_ERR));
    assert_int_equal(id.bytes[6] >> 4, 7); /* a version 7 id */
    assert_int_equal(wp_op_result_duplicate(op, 0), 0);
    WPT_STATUS(wp_op_result_id(&id, op, 1, WPT_ERR), WP_E_RANGE);
    assert_int_equal(wp_op_result_duplicate(op, 1), 0);
    wp_op_free(op);
}

static void test_op__both_styles__name_each_parameter(void **state)
{
    const ground *g = *state;
    const wp_message *message = wpt_message("t", "x");
    wp_op *qmark = enqueue_op(g, &message, 1), *named = enqueue_op(g, &message, 1);
    size_t marks = 0;
    WPT_OK(wp_op_set_paramstyle(named, WP_PARAM_NAMED, WPT_ERR));
    WPT_OK(wp_op_set_paramstyle(qmark, WP_PARAM_QMARK, WPT_ERR));
    WPT_STATUS(wp_op_set_paramstyle(qmark, (wp_paramstyle)0, WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_op_set_paramstyle(qmark, (wp_paramstyle)7, WPT_ERR), WP_E_ARGUMENT);
    assert_true(next(qmark));
    assert_true(next(named));
    for (const char *at = wp_op_sql(qmark); *at; at++)
        marks += *at == '?';
    assert_int_equal(marks, wp_op_param_count(qmark));
    assert_true(wp_op_param_count(named) < marks); /* each name once */
    for (size_t i = 0; i < wp_op_param_count(named); i++) {
        char name[64];
        (void)snprintf(name, sizeof name, ":%s", wp_op_param_name(named, i));
        assert_non_null(strstr(wp_op_sql(named), name));
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(wp_op_param_name(named, i), wp_op_param_name(named, j));
    }
    assert_null(strchr(wp_op_sql(named), '?'));
    WPT_STATUS(wp_op_set_paramstyle(named, WP_PARAM_QMARK, WPT_ERR), WP_E_STATE); /* too late */
    assert_string_equal(wp_op_param_name(named, 999), "");
    assert_int_equal(wp_op_param_type(named, 999), WP_VALUE_NULL);
    assert_int_equal(wp_op_param_int64(named, 999), 0);
    assert_null(wp_op_param_data(NULL, named, 999));
    wp_op_free(qmark);
    wp_op_free(named);
    wp_message_free((wp_message *)message);
}

/* SQLite's drivers never leave the app's transaction by themselves: there is nothing to see to. */
static void test_op__transaction_required__changes_nothing_on_sqlite(void **state)
{
    const ground *g = *state;
    const wp_message *message = wpt_message("t", "x");
    wp_op *plain = enqueue_op(g, &message, 1), *required = enqueue_op(g, &message, 1);
    WPT_OK(wp_op_require_transaction(required, WPT_ERR));
    assert_true(next(plain));
    assert_true(next(required));
    assert_ptr_equal(wp_op_sql(required), wp_op_sql(plain));
    WPT_STATUS(wp_op_require_transaction(required, WPT_ERR), WP_E_STATE); /* too late */
    wp_op_free(plain);
    wp_op_free(required);
    wp_message_free((wp_message *)message);
}

/* The same text is the same pointer, so that a host can key prepared statements on it. */
static void test_op__same_statement__same_pointer(void **state)
{
    const ground *g = *state;
    wp_message *message = wpt_message("t", "x");
    const wp_message *messages[2] = {message, message};
    wp_op *op = enqueue_op(g, messages, 2);
    const char *first;
    assert_true(next(op));
    first = wp_op_sql(op);
    assert_true(next(op));
    assert_ptr_equal(wp_op_sql(op), first);
    assert_false(next(op));
    wp_op_free(op);
    op = enqueue_op(g, messages, 1);
    assert_true(next(op));
    assert_ptr_equal(wp_op_sql(op), first);
    wp_op_free(op); /* unfinished */
    wp_message_free(message);
}

static wp_op *unique_op(const ground *g)
{
    wp_message *message = wpt_message("t", "x");
    wp_op *op;
    WPT_OK(wp_message_set_unique_key(message, "k", WPT_ERR));
    op = enqueue_op(g, (const wp_message *const *)&message, 1);
    wp_message_free(message);
    return op;
}

/* proves: UNQ-001 */
static void test_enqueue_op__unique_key__row_means_stored_and_none_asks_whose(void **state)
{
    const ground *g = *state;
    const wp_id first = wpt_owner(7);
    wp_op *op = unique_op(g);
    wp_id id;
    assert_true(next(op));
    assert_int_equal(wp_op_returns_rows(op), 1);
    text_param_is(op, "unique_key", "k");
    WPT_OK(wp_op_feed_bytes(op, first.bytes, sizeof first.bytes, WPT_ERR));
    WPT_OK(wp_op_row(op, WPT_ERR));
    assert_false(next(op));
    assert_int_equal(wp_op_result_duplicate(op, 0), 0);
    wp_op_free(op);

    op = unique_op(g);
    assert_true(next(op));
    assert_true(next(op)); /* no row was fed: it was in use */
    assert_int_equal(wp_op_returns_rows(op), 1);
    assert_non_null(strstr(wp_op_sql(op), "SELECT"));
    WPT_OK(wp_op_feed_bytes(op, first.bytes, sizeof first.bytes, WPT_ERR));
    WPT_OK(wp_op_row(op, WPT_ERR));
    assert_false(next(op));
    assert_int_equal(wp_op_result_duplicate(op, 0), 1);
    WPT_OK(wp_op_result_id(&id, op, 0, WPT_ERR));
    assert_true(wpt_id_equal(&id, &first));
    wp_op_free(op);
}

/* The message with the key is gone when it is asked for: the key is free. */
static void test_enqueue_op__holder_finished_meanwhile__is_stored(void **state)
{
    const ground *g = *state;
    const wp_id own = wpt_owner(7);
    wp_op *op = unique_op(g);
    const char *insert;
    assert_true(next(op));
    insert = wp_op_sql(op);
    assert_true(next(op));
    assert_true(next(op));
    assert_ptr_equal(wp_op_sql(op), insert);
    WPT_OK(wp_op_feed_bytes(op, own.bytes, sizeof own.bytes, WPT_ERR));
    WPT_OK(wp_op_row(op, WPT_ERR));
    assert_false(next(op));
    assert_int_equal(wp_op_result_duplicate(op, 0), 0);
    wp_op_free(op);
}

static void test_enqueue_op__holders_come_and_go__is_given_up_as_retriable(void **state)
{
    const ground *g = *state;
    wp_op *op = unique_op(g);
    int more = 0;
    wp_status st = WP_OK;
    for (int i = 0; i < 1000 && st == WP_OK; i++)
        st = wp_op_next(&more, op, WPT_ERR);
    WPT_STATUS(st, WP_E_UNAVAILABLE);
    assert_int_equal(wp_op_result_count(op), 0);
    wp_op_free(op);
}

static void test_op__wrong_order_of_calls__is_refused(void **state)
{
    const ground *g = *state;
    wp_op *op = unique_op(g);
    int more = 0;
    WPT_STATUS(wp_op_feed_null(op, WPT_ERR), WP_E_STATE); /* no statement yet */
    WPT_STATUS(wp_op_row(op, WPT_ERR), WP_E_STATE);
    assert_true(next(op));
    WPT_STATUS(wp_op_row(op, WPT_ERR), WP_E_STATE); /* no columns */
    WPT_OK(wp_op_feed_bytes(op, "0123456789abcdef", 16, WPT_ERR));
    WPT_STATUS(wp_op_feed_int64(op, 1, WPT_ERR), WP_E_STATE); /* it returns one column */
    WPT_STATUS(wp_op_feed_null(op, WPT_ERR), WP_E_STATE);
    WPT_STATUS(wp_op_feed_text(op, "x", 1, WPT_ERR), WP_E_STATE);
    WPT_STATUS(wp_op_next(&more, op, WPT_ERR), WP_E_STATE); /* half a row */
    WPT_OK(wp_op_row(op, WPT_ERR));
    assert_false(next(op));
    WPT_STATUS(wp_op_feed_null(op, WPT_ERR), WP_E_STATE); /* finished */
    WPT_STATUS(wp_op_row(op, WPT_ERR), WP_E_STATE);
    wp_op_free(op);
}

static void test_op__statement_without_rows__takes_none(void **state)
{
    const ground *g = *state;
    wp_message *message = wpt_message("t", "x");
    wp_op *op = enqueue_op(g, (const wp_message *const *)&message, 1);
    assert_true(next(op));
    WPT_STATUS(wp_op_feed_null(op, WPT_ERR), WP_E_STATE);
    WPT_STATUS(wp_op_row(op, WPT_ERR), WP_E_STATE);
    assert_false(next(op));
    wp_op_free(op);
    wp_message_free(message);
}

static void test_op__columns_of_a_wrong_type__are_a_database_error(void **state)
{
    const ground *g = *state;
    for (int i = 0; i < 4; i++) {
        wp_op *op = unique_op(g);
        assert_true(next(op));
        if (i == 0)
            WPT_OK(wp_op_feed_null(op, WPT_ERR));
        else if (i == 1)
            WPT_OK(wp_op_feed_int64(op, 1, WPT_ERR));
        else if (i == 2)
            WPT_OK(wp_op_feed_text(op, "0123456789abcdef", 16, WPT_ERR));
        else
            WPT_OK(wp_op_feed_bytes(op, "0123456789abcde", 15, WPT_ERR));
        /* null: the database says that nothing was stored, for want of triggers */
        WPT_STATUS(wp_op_row(op, WPT_ERR), i == 0 ? WP_E_STATE : WP_E_DB);
        wp_op_free(op);
    }
}

/* proves: OBX-113 */
static void test_ack_op__two_ids__resolved_then_finished(void **state)
{
    const ground *g = *state;
    const wp_id owner = wpt_owner(1), ids[3] = {wpt_owner(2), wpt_owner(3), wpt_owner(4)};
    const int64_t claims[3] = {5, 6, 7};
    wp_op *op = NULL;
    wp_id id;
    WPT_OK(wp_outbox_ack_op(&op, g->store, &owner, ids, claims, 3, "w", WPT_ERR));
    assert_true(next(op));
    int_param_is(op, "count", 3);
    WPT_OK(wp_op_feed_int64(op, 2, WPT_ERR)); /* index, sequence number, ordered; as they come */
    WPT_OK(wp_op_feed_int64(op, 40, WPT_ERR));
    WPT_OK(wp_op_feed_int64(op, 1, WPT_ERR));
    WPT_OK(wp_op_row(op, WPT_ERR));
    WPT_OK(wp_op_feed_int64(op, 0, WPT_ERR));
    WPT_OK(wp_op_feed_int64(op, 90, WPT_ERR));
    WPT_OK(wp_op_feed_int64(op, 0, WPT_ERR));
    WPT_OK(wp_op_row(op, WPT_ERR));
    assert_true(next(op));
    text_param_is(op, "claims", "{\"40\":7,\"90\":5}"); /* ordered: one lock order for all */
    text_param_is(op, "worker", "w");
    int_param_is(op, "status", WP_MESSAGE_DONE);
    assert_int_equal(wp_op_param_type(op, param(op, "owner")), WP_VALUE_BYTES);
    WPT_OK(wp_op_feed_int64(op, 40, WPT_ERR)); /* sequence number, claim number, a join's member */
    WPT_OK(wp_op_feed_int64(op, 7, WPT_ERR));
    WPT_OK(wp_op_feed_int64(op, 0, WPT_ERR));
    WPT_OK(wp_op_row(op, WPT_ERR));
    assert_false(next(op));
    assert_int_equal(wp_op_result_count(op), 1);
    WPT_STATUS(wp_op_result_id(&id, op, 0, WPT_ERR), WP_E_RANGE); /* it has counts only */
    wp_op_free(op);
}

static void test_ack_op__nothing_known__ends_at_once(void **state)
{
    const ground *g = *state;
    const wp_id owner = wpt_owner(1), id = wpt_owner(2);
    wp_op *op = NULL;
    WPT_OK(wp_outbox_ack_op(&op, g->store, &owner, &id, NULL, 1, NULL, WPT_ERR));
    assert_true(next(op));
    assert_false(next(op));
    assert_int_equal(wp_op_result_count(op), 0);
    wp_op_free(op);
    WPT_OK(wp_outbox_ack_op(&op, g->store, &owner, &id, NULL, 0, NULL, WPT_ERR));
    assert_false(next(op)); /* an empty list */
    wp_op_free(op);
}

static void test_ack_op__rows_that_were_not_asked_for__are_refused(void **state)
{
    const ground *g = *state;
    const wp_id owner = wpt_owner(1), id = wpt_owner(2);
    static const int64_t bad[] = {-1, 1, INT64_MAX};
    for (size_t i = 0; i < WPT_COUNT(bad); i++) {
        wp_op *op = NULL;
        WPT_OK(wp_outbox_ack_op(&op, g->store, &owner, &id, NULL, 1, NULL, WPT_ERR));
        assert_true(next(op));
        WPT_OK(wp_op_feed_int64(op, bad[i], WPT_ERR));
        WPT_OK(wp_op_feed_int64(op, 1, WPT_ERR));
        WPT_OK(wp_op_feed_int64(op, 0, WPT_ERR));
        WPT_STATUS(wp_op_row(op, WPT_ERR), WP_E_INTERNAL);
        wp_op_free(op);
    }
}

static void test_op__outlives_the_callers_store__keeps_it(void **state)
{
    wp_store *store = wpt_store("sqlite::memory:", NULL, NULL);
    wp_message *message = wpt_message("t", "x");
    wp_op *op = NULL;
    (void)state;
    WPT_OK(wp_outbox_enqueue_op(&op, store, (const wp_message *const *)&message, 1, WPT_ERR));
    wp_store_close(store);
    wp_message_free(message);
    assert_true(next(op));
    assert_false(next(op));
    wp_op_free(op);
    wp_op_free(NULL);
}

/* ---- with a database, by hand ------------------------------------------------------------- */

static void bind(sqlite3_stmt *statement, const wp_op *op, size_t i)
{
    const int at = (int)i + 1;
    size_t len = 0;
    const char *data = wp_op_param_data(&len, op, i);
    int rc = SQLITE_ERROR;
    switch (wp_op_param_type(op, i)) {
    case WP_VALUE_NULL:
        rc = sqlite3_bind_null(statement, at);
        break;
    case WP_VALUE_INT64:
        rc = sqlite3_bind_int64(statement, at, wp_op_param_int64(op, i));
        break;
    case WP_VALUE_TEXT:
        rc = sqlite3_bind_text64(statement, at, data, len, SQLITE_STATIC, SQLITE_UTF8);
        break;
    case WP_VALUE_BYTES:
        rc = sqlite3_bind_blob64(statement, at, data, len, SQLITE_STATIC);
        break;
    }
    assert_int_equal(rc, SQLITE_OK);
}

static void feed(wp_op *op, sqlite3_stmt *statement)
{
    for (int c = 0; c < sqlite3_column_count(statement); c++) {
        const size_t len = (size_t)sqlite3_column_bytes(statement, c);
        switch (sqlite3_column_type(statement, c)) {
        case SQLITE_NULL:
            WPT_OK(wp_op_feed_null(op, WPT_ERR));
            break;
        case SQLITE_INTEGER:
            WPT_OK(wp_op_feed_int64(op, sqlite3_column_int64(statement, c), WPT_ERR));
            break;
        case SQLITE_BLOB:
            WPT_OK(wp_op_feed_bytes(op, sqlite3_column_blob(statement, c), len, WPT_ERR));
            break;
        default:
            WPT_OK(
                wp_op_feed_text(op, (const char *)sqlite3_column_text(statement, c), len, WPT_ERR));
            break;
        }
    }
    WPT_OK(wp_op_row(op, WPT_ERR));
}

/* As a binding's driver does it. */
/* How many statements it was. */
static int drive(sqlite3 *db, wp_op *op, wp_paramstyle style)
{
    int statements = 0;
    WPT_OK(wp_op_set_paramstyle(op, style, WPT_ERR));
    for (; next(op); statements++) {
        sqlite3_stmt *statement = NULL;
        int rc;
        assert_int_equal(sqlite3_prepare_v2(db, wp_op_sql(op), -1, &statement, NULL), SQLITE_OK);
        for (size_t i = 0; i < wp_op_param_count(op); i++)
            bind(statement, op, i);
        while ((rc = sqlite3_step(statement)) == SQLITE_ROW)
            feed(op, statement);
        assert_int_equal(rc, SQLITE_DONE);
        sqlite3_finalize(statement);
    }
    return statements;
}

static void exec(const ground *g, const char *sql)
{
    assert_int_equal(sqlite3_exec(g->db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void enqueue_and_ack(const ground *g, wp_paramstyle style)
{
    const wp_id owner = wpt_owner(1);
    wp_message *messages[3];
    wp_id ids[3];
    wp_claim *claim;
    wp_op *op;
    for (int i = 0; i < 3; i++) {
        messages[i] = wpt_message("t", "x");
        if (i)
            WPT_OK(wp_message_set_unique_key(messages[i], "k", WPT_ERR));
    }
    op = enqueue_op(g, (const wp_message *const *)messages, 3);
    exec(g, "BEGIN");
    (void)drive(g->db, op, style);
    exec(g, "COMMIT");
    assert_int_equal(wp_op_result_count(op), 3);
    for (size_t i = 0; i < 3; i++) {
        WPT_OK(wp_op_result_id(&ids[i], op, i, WPT_ERR));
        assert_int_equal(wp_op_result_duplicate(op, i), i == 2);
        wp_message_free(messages[i]);
    }
    wp_op_free(op);
    assert_true(wpt_id_equal(&ids[1], &ids[2]));
    claim = wpt_claim(g->store, 1, 10, 1000);
    assert_true(wpt_claim_is(claim, ids, 2));
    wp_claim_free(claim);
    for (int round = 0; round < 2; round++) {
        WPT_OK(wp_outbox_ack_op(&op, g->store, &owner, ids, NULL, 3, "w", WPT_ERR));
        exec(g, "BEGIN");
        (void)drive(g->db, op, style);
        exec(g, round ? "COMMIT" : "ROLLBACK");
        assert_int_equal(wp_op_result_count(op), 2);
        wp_op_free(op);
        assert_int_equal(wpt_status_of(g->store, &ids[0]),
                         round ? WP_MESSAGE_DONE : WP_MESSAGE_IN_PROGRESS);
    }
    assert_int_equal(wpt_status_of(g->store, &ids[1]), WP_MESSAGE_DONE);
}

/* proves: BND-002, OBX-111, OBX-113 */
static void test_ops__driven_on_a_connection_of_the_hosts__in_both_styles(void **state)
{
    const ground *g = *state;
    enqueue_and_ack(g, WP_PARAM_QMARK);
    enqueue_and_ack(g, WP_PARAM_NAMED);
}

static wp_worker *pulling(const ground *g, wp_delivery **delivery)
{
    wp_worker *worker = NULL;
    WPT_OK(wp_worker_new(&worker, g->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t", NULL, NULL, NULL, WPT_ERR));
    (void)wpt_enqueue(g->store, "t", "x");
    WPT_OK(wp_worker_next(delivery, worker, 60000, WPT_ERR));
    return worker;
}

/* In one statement, which is one round trip. */
/* proves: OBX-101, OBX-113, BND-002 */
static void test_complete_op__driven__acks_with_the_hosts_transaction(void **state)
{
    const ground *g = *state;
    wp_delivery *delivery = NULL;
    wp_worker *worker = pulling(g, &delivery);
    const wp_id id = *wp_received_id(wp_delivery_message(delivery));
    wp_op *op = NULL;
    WPT_OK(wp_delivery_complete_op(&op, delivery, WPT_ERR));
    exec(g, "BEGIN IMMEDIATE");
    assert_int_equal(drive(g->db, op, WP_PARAM_NAMED), 1);
    exec(g, "COMMIT");
    assert_int_equal(wp_op_result_count(op), 1);
    wp_op_free(op);
    WPT_OK(wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
    WPT_OK(wp_delivery_settle(delivery, 60000, WPT_ERR));
    WPT_STATUS(wp_delivery_complete_op(&op, delivery, WPT_ERR), WP_E_STATE);
    wp_delivery_free(delivery);
    assert_int_equal(wpt_status_of(g->store, &id), WP_MESSAGE_DONE);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_ACKED), 1);
    wp_worker_free(worker);
}

/* proves: OBX-114 */
static void test_complete_op__no_row_changed__is_lease_lost(void **state)
{
    const ground *g = *state;
    wp_delivery *delivery = NULL;
    wp_worker *worker = pulling(g, &delivery);
    wp_op *op = NULL;
    int more = 99;
    WPT_OK(wp_delivery_complete_op(&op, delivery, WPT_ERR));
    assert_true(next(op));
    assert_int_equal(wp_op_returns_rows(op), 1);
    WPT_STATUS(wp_op_next(&more, op, WPT_ERR), WP_E_LEASE_LOST); /* no row was fed */
    WPT_STATUS(wp_op_next(&more, op, WPT_ERR), WP_E_LEASE_LOST);
    assert_int_equal(more, 99);
    wp_op_free(op);
    wp_delivery_free(delivery);
    wp_worker_free(worker);
}

/* ---- jobs and timers ---------------------------------------------------------------------- */

/* Drive it in the app's transaction, and free it. Returns its result count. */
static size_t drive_whole(const ground *g, wp_op *op, wp_paramstyle style, const char *end)
{
    size_t count;
    exec(g, "BEGIN IMMEDIATE");
    (void)drive(g->db, op, style);
    exec(g, end);
    count = wp_op_result_count(op);
    wp_op_free(op);
    return count;
}

static wp_op *put_op(const ground *g, const char *name)
{
    wp_job *job = NULL;
    wp_op *op = NULL;
    WPT_OK(wp_job_new(&job, name, "t", "p", 1, WPT_ERR));
    WPT_OK(wp_job_set_schedule(job, "@daily", "Europe/Berlin", WPT_ERR));
    WPT_OK(wp_job_put_op(&op, g->store, job, WPT_ERR));
    wp_job_free(job); /* it was copied */
    return op;
}

/* proves: JOB-001, JOB-009, BND-002 */
static void test_job_ops__driven__count_with_the_hosts_transaction(void **state)
{
    const ground *g = *state;
    wp_jobs *jobs = NULL;
    wp_job_runs *runs = NULL;
    wp_op *op = NULL;
    wp_id id;
    assert_int_equal(drive_whole(g, put_op(g, "j"), WP_PARAM_NAMED, "ROLLBACK"), 1);
    WPT_STATUS(wp_job_get(&jobs, g->store, "j", WPT_ERR), WP_E_NOT_FOUND);
    for (int i = 0; i < 2; i++) /* new, and as it is */
        assert_int_equal(drive_whole(g, put_op(g, "j"), WP_PARAM_QMARK, "COMMIT"), 1);
    WPT_OK(wp_job_get(&jobs, g->store, "j", WPT_ERR));
    assert_string_equal(wp_job_info_zone(wp_jobs_at(jobs, 0)), "Europe/Berlin");
    wp_jobs_free(jobs);
    WPT_OK(wp_job_trigger_op(&op, g->store, "j", WPT_ERR));
    exec(g, "BEGIN IMMEDIATE");
    (void)drive(g->db, op, WP_PARAM_NAMED);
    exec(g, "COMMIT");
    assert_int_equal(wp_op_result_count(op), 1);
    WPT_OK(wp_op_result_id(&id, op, 0, WPT_ERR));
    wp_op_free(op);
    WPT_OK(wp_job_run_get(&runs, g->store, &id, WPT_ERR));
    assert_int_equal(wp_job_run_status(wp_job_runs_at(runs, 0)), WP_RUN_PENDING);
    wp_job_runs_free(runs);
    WPT_OK(wp_job_delete_op(&op, g->store, "j", WPT_ERR));
    assert_int_equal(drive_whole(g, op, WP_PARAM_NAMED, "COMMIT"), 1);
    WPT_OK(wp_job_delete_op(&op, g->store, "j", WPT_ERR));
    assert_int_equal(drive_whole(g, op, WP_PARAM_QMARK, "COMMIT"), 0);
    WPT_STATUS(wp_job_run_get(&runs, g->store, &id, WPT_ERR), WP_E_NOT_FOUND);
}

/* Found, and deleted by another one before its run is made. */
/* proves: JOB-009 */
static void test_trigger_op__job_deleted_meanwhile__is_not_found(void **state)
{
    const ground *g = *state;
    wp_id job_id;
    wp_op *op = NULL;
    int more = 0;
    wp_id_new(&job_id);
    WPT_OK(wp_job_trigger_op(&op, g->store, "j", WPT_ERR));
    assert_true(next(op));
    WPT_OK(wp_op_feed_int64(op, WPT_START_US, WPT_ERR));
    WPT_OK(wp_op_feed_int64(op, 7, WPT_ERR));
    WPT_OK(wp_op_feed_bytes(op, job_id.bytes, sizeof job_id.bytes, WPT_ERR));
    for (int i = 0; i < 4; i++) /* topic, payload, expression, zone */
        WPT_OK(wp_op_feed_text(op, "x", 1, WPT_ERR));
    WPT_OK(wp_op_feed_text(op, "{}", 2, WPT_ERR));
    WPT_OK(wp_op_feed_null(op, WPT_ERR));
    for (int i = 0; i < 5; i++) /* absent, disabled, version, due, busy */
        WPT_OK(wp_op_feed_int64(op, 1, WPT_ERR));
    WPT_OK(wp_op_row(op, WPT_ERR));
    assert_true(next(op)); /* the run: it returns no row */
    WPT_FAILS(wp_op_next(&more, op, WPT_ERR), WP_E_NOT_FOUND, "\"j\"");
    wp_op_free(op);
}

/* proves: JOB-009, BND-002 */
static void test_run_ack_op__driven__finishes_with_the_hosts_transaction(void **state)
{
    const ground *g = *state;
    const wp_id owner = wpt_owner(1);
    wp_claim *claim = NULL;
    wp_job_runs *runs = NULL;
    wp_op *op = NULL;
    wp_id id;
    (void)drive_whole(g, put_op(g, "j"), WP_PARAM_NAMED, "COMMIT");
    WPT_OK(wp_job_trigger(&id, g->store, "j", WPT_ERR));
    WPT_OK(wp_job_run_claim(&claim, g->store, &owner, NULL, 0, 1, 1000, WPT_ERR));
    wp_claim_free(claim);
    WPT_OK(wp_job_run_ack_op(&op, g->store, &owner, &id, NULL, 1, "w", WPT_ERR));
    assert_int_equal(drive_whole(g, op, WP_PARAM_NAMED, "COMMIT"), 1);
    WPT_OK(wp_job_run_get(&runs, g->store, &id, WPT_ERR));
    assert_int_equal(wp_job_run_status(wp_job_runs_at(runs, 0)), WP_RUN_SUCCEEDED);
    wp_job_runs_free(runs);
}

/* proves: TMR-003, BND-002 */
static void test_reschedule_in_op__driven__moves_the_timer(void **state)
{
    const ground *g = *state;
    wp_message *message = wpt_message("t", "x");
    wp_outbox_info *info = NULL;
    wp_op *op = NULL;
    wp_id id;
    WPT_OK(wp_timer_schedule(&id, NULL, g->store, NULL, message, WPT_ERR));
    wp_message_free(message);
    WPT_STATUS(wp_timer_reschedule_in_op(&op, g->store, &id, WP_DELAY_MS_MAX + 1, WPT_ERR),
               WP_E_RANGE);
    WPT_OK(wp_timer_reschedule_in_op(&op, g->store, &id, 5000, WPT_ERR));
    assert_int_equal(drive_whole(g, op, WP_PARAM_NAMED, "COMMIT"), 1);
    WPT_OK(wp_timer_get(&info, g->store, &id, WPT_ERR));
    assert_int_equal(wp_received_due_us(wp_outbox_info_message(info)),
                     WPT_START_US + 5 * WPT_SECOND_US);
    wp_outbox_info_free(info);
}

#define GROUND(test) cmocka_unit_test_setup_teardown(test, ground_setup, ground_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUND(test_enqueue_op__one_message__one_insert_with_its_values),
        GROUND(test_op__both_styles__name_each_parameter),
        GROUND(test_op__transaction_required__changes_nothing_on_sqlite),
        GROUND(test_op__same_statement__same_pointer),
        GROUND(test_enqueue_op__unique_key__row_means_stored_and_none_asks_whose),
        GROUND(test_enqueue_op__holder_finished_meanwhile__is_stored),
        GROUND(test_enqueue_op__holders_come_and_go__is_given_up_as_retriable),
        GROUND(test_op__wrong_order_of_calls__is_refused),
        GROUND(test_op__statement_without_rows__takes_none),
        GROUND(test_op__columns_of_a_wrong_type__are_a_database_error),
        GROUND(test_ack_op__two_ids__resolved_then_finished),
        GROUND(test_ack_op__nothing_known__ends_at_once),
        GROUND(test_ack_op__rows_that_were_not_asked_for__are_refused),
        cmocka_unit_test(test_op__outlives_the_callers_store__keeps_it),
        GROUND(test_ops__driven_on_a_connection_of_the_hosts__in_both_styles),
        GROUND(test_complete_op__driven__acks_with_the_hosts_transaction),
        GROUND(test_complete_op__no_row_changed__is_lease_lost),
        GROUND(test_job_ops__driven__count_with_the_hosts_transaction),
        GROUND(test_trigger_op__job_deleted_meanwhile__is_not_found),
        GROUND(test_run_ack_op__driven__finishes_with_the_hosts_transaction),
        GROUND(test_reschedule_in_op__driven__moves_the_timer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
