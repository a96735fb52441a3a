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

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DATABASE(test_count_changes__on_the_apps_connection__changes_nothing_for_us),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, NULL, 0, suite);
}
