/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of the app's that are set up in ways of their own, on SQLite. */
#include "fault.h"

/* A store and a connection of the app's that is lent to it. */
typedef struct scene {
    const place *place;
    wp_store *store;
    sqlite3 *db;
    wp_conn *conn;
} scene;

static scene scene_begin(void **state)
{
    scene s = {.place = *state};
    s.store = fault_store(s.place->path, "");
    s.db = app_open(s.place->path);
    MUST_OK(wp_conn_borrow_sqlite(&s.conn, s.store, s.db, &must_err));
    return s;
}

static void scene_end(scene *s)
{
    wp_conn_free(s->conn);
    (void)sqlite3_close(s->db);
    wp_store_close(s->store);
}

/* Enqueue on the app's connection. */
static wp_status enqueue(wp_id *id, scene *s, const char *unique_key, wp_error **err)
{
    wp_message *message = fault_message("t", "x");
    wp_status st;
    MUST_OK(wp_message_set_unique_key(message, unique_key, &must_err));
    st = wp_outbox_enqueue(id, NULL, s->store, s->conn, message, err);
    wp_message_free(message);
    return st;
}

/* Claim the only message. */
static void claim_one(const scene *s, const wp_id *owner)
{
    wp_claim *claim = NULL;
    MUST_OK(wp_outbox_claim(&claim, s->store, owner, NULL, 0, 10, 60000, &must_err));
    MUST(wp_claim_count(claim) == 1);
    wp_claim_free(claim);
}

/* proves: OBX-003, BND-002 */
static void test_count_changes__on_the_apps_connection__changes_nothing_for_us(void **state)
{
    scene s = scene_begin(state);
    size_t changed = 0;
    wp_id owner;
    wp_id id;
    wp_id_new(&owner);
    app_exec(s.db, "PRAGMA count_changes = 1");
    MUST_OK(enqueue(&id, &s, "k", &must_err));
    claim_one(&s, &owner);
    MUST_OK(wp_outbox_ack(&changed, s.store, s.conn, &owner, &id, NULL, 1, NULL, &must_err));
    assert_int_equal(changed, 1);
    MUST_OK(enqueue(&id, &s, NULL, &must_err));
    assert_int_equal(count_of(s.place->path, UNFINISHED), 1);
    scene_end(&s);
}

static void set_triggers(sqlite3 *db, int on)
{
    MUST(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, on, NULL) == SQLITE_OK);
}

static void is_refused(wp_status st, wp_error **err)
{
    assert_int_equal(st, WP_E_STATE);
    assert_non_null(strstr(wp_error_message(*err), "SQLITE_DBCONFIG_ENABLE_TRIGGER"));
    wp_error_free(*err);
    *err = NULL;
}

/* proves: OBX-001, BND-002 */
static void test_triggers_off__connection__is_refused_when_lent_and_at_each_use(void **state)
{
    scene s = scene_begin(state);
    wp_error *err = NULL;
    wp_conn *other = NULL;
    size_t changed = 0;
    wp_id owner;
    wp_id id;
    wp_id_new(&owner);
    MUST_OK(enqueue(&id, &s, NULL, &must_err));
    claim_one(&s, &owner);
    set_triggers(s.db, 0);
    is_refused(wp_conn_borrow_sqlite(&other, s.store, s.db, &err), &err);
    assert_null(other);
    err = NULL;
    is_refused(enqueue(&id, &s, NULL, &err), &err);
    is_refused(enqueue(&id, &s, "k", &err), &err);
    is_refused(wp_outbox_ack(&changed, s.store, s.conn, &owner, &id, NULL, 1, NULL, &err), &err);
    assert_int_equal(count_of(s.place->path, ALL), 1);
    assert_int_equal(count_of(s.place->path, HELD), 1);
    set_triggers(s.db, 1);
    MUST_OK(enqueue(&id, &s, NULL, &must_err));
    assert_int_equal(count_of(s.place->path, UNFINISHED), 2);
    scene_end(&s);
}

static bool next(int *more, wp_op *op)
{
    MUST_OK(wp_op_next(more, op, &must_err));
    return *more;
}

static int bind_all(sqlite3_stmt *statement, const wp_op *op)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < wp_op_param_count(op); i++) {
        const int at = (int)i + 1;
        size_t len = 0;
        const char *data = wp_op_param_data(&len, op, i);
        if (wp_op_param_type(op, i) == WP_VALUE_INT64)
            rc = sqlite3_bind_int64(statement, at, wp_op_param_int64(op, i));
        else if (wp_op_param_type(op, i) == WP_VALUE_TEXT)
            rc = sqlite3_bind_text(statement, at, data, (int)len, SQLITE_STATIC);
        else if (wp_op_param_type(op, i) == WP_VALUE_BYTES)
            rc = sqlite3_bind_blob(statement, at, data, (int)len, SQLITE_STATIC);
    }
    return rc;
}

static wp_status feed_column(wp_op *op, sqlite3_stmt *statement, int i)
{
    if (sqlite3_column_type(statement, i) == SQLITE_NULL)
        return wp_op_feed_null(op, NULL);
    if (sqlite3_column_type(statement, i) == SQLITE_INTEGER)
        return wp_op_feed_int64(op, sqlite3_column_int64(statement, i), NULL);
    return wp_op_feed_bytes(op, sqlite3_column_blob(statement, i),
                            (size_t)sqlite3_column_bytes(statement, i), NULL);
}

/* Run an operation as a host does that cannot ask for the flag. False if a statement fails, or the
 * operation takes its rows for a failure. */
static bool drive(sqlite3 *db, WP_OWN wp_op *op)
{
    int rc = SQLITE_OK;
    MUST_OK(wp_op_set_paramstyle(op, WP_PARAM_NAMED, &must_err));
    for (int more = 0; rc == SQLITE_OK && next(&more, op);) {
        sqlite3_stmt *statement = NULL;
        rc = sqlite3_prepare_v2(db, wp_op_sql(op), -1, &statement, NULL);
        if (rc == SQLITE_OK)
            rc = bind_all(statement, op);
        while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
            for (int i = 0; i < sqlite3_column_count(statement); i++)
                MUST(feed_column(op, statement, i) == WP_OK);
            rc = wp_op_row(op, NULL) == WP_OK ? SQLITE_OK : SQLITE_MISUSE;
        }
        (void)sqlite3_finalize(statement);
        if (rc == SQLITE_DONE)
            rc = SQLITE_OK;
    }
    wp_op_free(op);
    return rc == SQLITE_OK;
}

/* proves: OBX-001, BND-002 */
static void test_triggers_off__statements_of_a_host__fail_and_do_nothing(void **state)
{
    scene s = scene_begin(state);
    wp_message *plain = fault_message("t", "x");
    wp_message *unique = fault_message("t", "x");
    const wp_message *const messages[] = {plain, unique};
    wp_op *op = NULL;
    wp_id owner;
    wp_id id;
    MUST_OK(wp_message_set_unique_key(unique, "k", &must_err));
    wp_id_new(&owner);
    MUST_OK(enqueue(&id, &s, NULL, &must_err));
    claim_one(&s, &owner);
    for (int on = 0; on <= 1; on++) {
        set_triggers(s.db, on);
        for (size_t i = 0; i < 2; i++) {
            MUST_OK(wp_outbox_enqueue_op(&op, s.store, &messages[i], 1, &must_err));
            assert_int_equal(drive(s.db, op), on);
        }
        MUST_OK(wp_outbox_ack_op(&op, s.store, &owner, &id, NULL, 1, NULL, &must_err));
        assert_int_equal(drive(s.db, op), on);
        assert_int_equal(count_of(s.place->path, ALL), on ? 3 : 1);
        assert_int_equal(count_of(s.place->path, HELD), on ? 0 : 1);
        assert_int_equal(count_of(s.place->path, DONE), on ? 1 : 0);
        assert_int_equal(count_of(s.place->path, UNFINISHED), on ? 2 : 1);
    }
    wp_message_free(plain);
    wp_message_free(unique);
    scene_end(&s);
}

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DATABASE(test_count_changes__on_the_apps_connection__changes_nothing_for_us),
        WITH_DATABASE(test_triggers_off__connection__is_refused_when_lent_and_at_each_use),
        WITH_DATABASE(test_triggers_off__statements_of_a_host__fail_and_do_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, NULL, 0, suite);
}
