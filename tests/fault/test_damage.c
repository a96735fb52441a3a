/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that cannot be read, by the hand of someone else: they cannot be written, and where they stand
 * all the same, they fail and the others go on. */
#include <sqlite3.h>

#include "support/wpt.h"

typedef struct scene {
    wpt_dir dir;
    char path[200];
    char url[220];
    wp_clock *clock;
    wpt_log log;
    wp_store *store;
    sqlite3 *db; /* the other hand's connection */
} scene;

static int setup(void **state)
{
    scene *s = calloc(1, sizeof *s);
    wp_config *config;
    assert_non_null(s);
    wpt_dir_make(&s->dir);
    (void)snprintf(s->path, sizeof s->path, "%s/app.db", s->dir.path);
    (void)snprintf(s->url, sizeof s->url, "sqlite:%s", s->path);
    s->clock = wpt_clock();
    wpt_log_init(&s->log);
    config = wpt_config(s->clock, WPT_OPTIONS("store.url", s->url, "store.deploy", "true"));
    wpt_log_attach(&s->log, config, "error");
    WPT_OK(wp_store_open(&s->store, config, WPT_ERR));
    wp_config_free(config);
    assert_int_equal(sqlite3_open(s->path, &s->db), SQLITE_OK);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    scene *s = *state;
    wp_store_close(s->store);
    assert_int_equal(sqlite3_close(s->db), SQLITE_OK);
    wpt_log_fini(&s->log);
    wp_clock_free(s->clock);
    wpt_dir_remove(&s->dir);
    free(s);
    return 0;
}

static void exec(scene *s, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(s->db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
}

static int64_t number(scene *s, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t value;
    assert_int_equal(sqlite3_prepare_v2(s->db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* Do what the checks would refuse. */
static void damage(scene *s, const char *sql)
{
    exec(s, "PRAGMA ignore_check_constraints = ON");
    exec(s, sql);
    exec(s, "PRAGMA ignore_check_constraints = OFF");
}

/* The same table without types and checks, as a foreign hand makes it. */
static void strip_types(scene *s)
{
    char **kept = NULL;
    char *message = NULL;
    int rows = 0;
    assert_int_equal(sqlite3_get_table(s->db,
                                       "SELECT sql FROM sqlite_master WHERE tbl_name = "
                                       "'infra_outbox' AND type IN ('trigger', 'index')",
                                       &kept, &rows, NULL, &message),
                     SQLITE_OK);
    assert_int_equal(rows, 3);
    exec(s, "PRAGMA legacy_alter_table = ON"); /* views may refer to it meanwhile */
    exec(s, "CREATE TABLE bare (seq INTEGER PRIMARY KEY, id, topic, payload, headers, "
            "correlation_id, ordering_key, unique_key, created_at, due_at, expires_at);"
            "INSERT INTO bare SELECT * FROM infra_outbox;"
            "DROP TABLE infra_outbox; ALTER TABLE bare RENAME TO infra_outbox");
    for (int i = 1; i <= rows; i++)
        exec(s, kept[i]);
    sqlite3_free_table(kept);
}

/* Three messages, of which the second gets damaged. */
static void send_three(scene *s, wp_id ids[3])
{
    for (int i = 0; i < 3; i++)
        ids[i] = wpt_enqueue(s->store, "t", "x");
}

static void second_was_set_aside(scene *s, const char *column)
{
    char sql[200];
    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM infra_outbox_finished WHERE seq = 2 AND status = 3 AND "
                   "last_error = 'unreadable row: %s'",
                   column);
    assert_int_equal(number(s, sql), 1);
    assert_int_equal(number(s, "SELECT count(*) FROM infra_outbox_work WHERE seq = 2"), 0);
    (void)snprintf(sql, sizeof sql, "\"Column\":\"%s\"", column);
    assert_int_equal(wpt_log_count(&s->log, "error unreadable row set aside", "\"Seq\":2", sql), 1);
}

/* ---- cannot be written -------------------------------------------------------------------- */

/* proves: WRK-002 */
static void test_write__of_a_wrong_type__is_refused_by_name(void **state)
{
    static const struct {
        const char *column, *value;
    } cases[] = {
        {"id", "'0123456789abcdef'"}, {"id", "x'00'"},        {"topic", "x'74'"},
        {"payload", "x'78'"},         {"headers", "x'7b7d'"}, {"correlation_id", "x''"},
        {"ordering_key", "x'00'"},    {"created_at", "1.5"},  {"due_at", "'soon'"},
        {"expires_at", "x''"},
    };
    scene *s = *state;
    (void)wpt_enqueue(s->store, "t", "x");
    for (size_t i = 0; i < WPT_COUNT(cases); i++) {
        char sql[200];
        (void)snprintf(sql, sizeof sql, "UPDATE infra_outbox SET %s = %s", cases[i].column,
                       cases[i].value);
        assert_int_equal(sqlite3_exec(s->db, sql, NULL, NULL, NULL), SQLITE_CONSTRAINT);
        assert_non_null(strstr(sqlite3_errmsg(s->db), cases[i].column));
    }
    assert_int_equal(
        sqlite3_exec(s->db, "UPDATE infra_outbox_work SET owner_token = 'me'", NULL, NULL, NULL),
        SQLITE_CONSTRAINT);
    assert_int_equal(wpt_claimable(s->store), 1);
}

/* ---- stand all the same ------------------------------------------------------------------- */

typedef struct damaged {
    const char *sql;
    const char *column;
} damaged;

static const damaged by_value[] = {
    {"UPDATE infra_outbox SET id = '0123456789abcdef' WHERE seq = 2", "id"},
    {"UPDATE infra_outbox SET id = x'00' WHERE seq = 2", "id"},
    {"UPDATE infra_outbox SET topic = x'74' WHERE seq = 2", "topic"},
    {"UPDATE infra_outbox SET payload = x'78' WHERE seq = 2", "payload"},
    {"UPDATE infra_outbox SET payload = CAST(x'ff' AS TEXT) WHERE seq = 2", "payload"},
    {"UPDATE infra_outbox SET headers = x'7b7d' WHERE seq = 2", "headers"},
    {"UPDATE infra_outbox SET correlation_id = x'00' WHERE seq = 2", "correlation_id"},
    {"UPDATE infra_outbox SET created_at = 'now' WHERE seq = 2", "created_at"},
    {"UPDATE infra_outbox SET due_at = 1.5 WHERE seq = 2", "due_at"},
    {"UPDATE infra_outbox SET expires_at = x'00' WHERE seq = 2", "expires_at"},
    {"UPDATE infra_outbox_work SET attempt = 'none' WHERE seq = 2", "attempt"},
};
static const damaged by_type[] = {
    {"UPDATE infra_outbox SET payload = 1.5 WHERE seq = 2", "payload"},
    {"UPDATE infra_outbox SET payload = 7 WHERE seq = 2", "payload"},
    {"UPDATE infra_outbox SET headers = 0.5 WHERE seq = 2", "headers"},
    {"UPDATE infra_outbox SET topic = 5 WHERE seq = 2", "topic"},
    {"UPDATE infra_outbox SET id = NULL WHERE seq = 2", "id"},
    {"UPDATE infra_outbox SET payload = NULL WHERE seq = 2", "payload"},
};

static void others_are_claimed(void **state, const damaged *d, bool typeless, bool by_topic)
{
    scene *s;
    wp_outbox_info *info = NULL;
    wp_claim *claim = NULL;
    const wp_id owner = wpt_owner(1);
    const char *const topics[] = {"t"};
    wp_id ids[3];
    assert_int_equal(setup(state), 0);
    s = *state;
    if (typeless)
        strip_types(s);
    send_three(s, ids);
    damage(s, d->sql);
    WPT_OK(
        wp_outbox_claim(&claim, s->store, &owner, by_topic ? topics : NULL, 1, 10, 1000, WPT_ERR));
    assert_int_equal(wp_claim_count(claim), 2);
    assert_true(wpt_id_equal(wp_received_id(wp_claim_at(claim, 0)), &ids[0]));
    assert_true(wpt_id_equal(wp_received_id(wp_claim_at(claim, 1)), &ids[2]));
    wp_claim_free(claim);
    second_was_set_aside(s, d->column);
    if (strcmp(d->column, "id") != 0 && strcmp(d->column, "attempt") != 0)
        WPT_FAILS(wp_outbox_get(&info, s->store, &ids[1], WPT_ERR), WP_E_DB, d->column);
    assert_int_equal(wpt_status_of(s->store, &ids[0]), WP_MESSAGE_IN_PROGRESS);
    assert_int_equal(teardown(state), 0);
}

/* proves: WRK-002 */
static void test_claim__unreadable_row__fails_and_the_others_are_claimed(void **state)
{
    for (size_t i = 0; i < 2 * WPT_COUNT(by_value); i++)
        others_are_claimed(state, &by_value[i / 2], false, i % 2);
    for (size_t i = 0; i < 2 * WPT_COUNT(by_type); i++)
        others_are_claimed(state, &by_type[i / 2], true, i % 2);
}

/* proves: WRK-002 */
static void test_worker__unreadable_rows__handles_the_others(void **state)
{
    scene *s;
    wp_worker *worker = NULL;
    wp_delivery *delivery = NULL;
    wp_id ids[3];
    assert_int_equal(setup(state), 0);
    s = *state;
    send_three(s, ids);
    damage(s, by_value[3].sql);
    WPT_OK(wp_worker_new(&worker, s->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t", NULL, NULL, NULL, WPT_ERR));
    for (int i = 0; i < 2; i++) {
        WPT_OK(wp_worker_next(&delivery, worker, 60000, WPT_ERR));
        WPT_OK(wp_delivery_finish(delivery, WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
        wp_delivery_free(delivery);
    }
    WPT_AWAIT(wp_worker_counter(worker, WP_COUNTER_ACKED) == 2);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_FAILED), 1);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_ERRORS), 0);
    wp_worker_free(worker);
    second_was_set_aside(s, by_value[3].column);
    assert_int_equal(teardown(state), 0);
}

static wp_outcome done(wp_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return WP_OUTCOME_DONE;
}

/* A batch that is nothing but unreadable is not the end of the queue. */
/* proves: WRK-002 */
static void test_drain__whole_batches_unreadable__goes_on_behind_them(void **state)
{
    scene *s = *state;
    wp_worker *worker = NULL;
    size_t handled = 0;
    for (int i = 0; i < 20; i++)
        (void)wpt_enqueue(s->store, "t", "x");
    damage(s, "UPDATE infra_outbox SET payload = x'78' WHERE seq < 20");
    WPT_OK(wp_worker_new(&worker, s->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t", done, NULL, NULL, WPT_ERR));
    WPT_OK(wp_worker_topic_set(worker, WP_SOURCE_OUTBOX, "t", "batch_size", "2", WPT_ERR));
    WPT_OK(wp_worker_drain(&handled, worker, 60000, WPT_ERR));
    assert_int_equal(handled, 1);
    wp_worker_free(worker);
}

/* proves: WRK-002 */
static void test_reap__unreadable_lease__fails_and_the_others_are_retried(void **state)
{
    static const damaged leases[] = {
        {"UPDATE infra_outbox_work SET owner_token = 'me' WHERE seq = 2", "owner_token"},
        {"UPDATE infra_outbox_work SET owner_token = NULL WHERE seq = 2", "owner_token"},
        {"UPDATE infra_outbox_work SET attempt = 0.5 WHERE seq = 2", "attempt"},
        {"UPDATE infra_outbox_work SET claim_number = x'01' WHERE seq = 2", "claim_number"},
        {"UPDATE infra_outbox_work SET max_attempts = 'many' WHERE seq = 2", "max_attempts"},
    };
    for (size_t i = 0; i < WPT_COUNT(leases); i++) {
        scene *s;
        size_t changed = 0;
        wp_id ids[3];
        assert_int_equal(setup(state), 0);
        s = *state;
        send_three(s, ids);
        wp_claim_free(wpt_claim(s->store, 1, 10, 1000));
        damage(s, leases[i].sql);
        wpt_advance_ms(s->clock, 1000);
        WPT_OK(wp_outbox_reap(&changed, s->store, WPT_ERR));
        assert_int_equal(changed, 3);
        second_was_set_aside(s, leases[i].column);
        assert_int_equal(wpt_attempt_of(s->store, &ids[0]), 1);
        assert_int_equal(wpt_attempt_of(s->store, &ids[2]), 1);
        assert_int_equal(teardown(state), 0);
    }
}

/* No claim would ever ask for such a topic. */
/* proves: WRK-002 */
static void test_reap__topic_that_is_not_text__fails(void **state)
{
    scene *s = *state;
    wp_outbox_stats *stats = NULL;
    size_t changed = 0;
    wp_id ids[3];
    send_three(s, ids);
    damage(s, "UPDATE infra_outbox_work SET topic = x'ff' WHERE seq = 2");
    assert_int_equal(wpt_claimable(s->store), 2);
    WPT_OK(wp_outbox_stats_read(&stats, s->store, 1, WPT_ERR));
    assert_int_equal(wp_outbox_stats_total(stats, WP_STAT_READY), 3);
    wp_outbox_stats_free(stats);
    WPT_OK(wp_outbox_reap(&changed, s->store, WPT_ERR));
    assert_int_equal(changed, 1);
    second_was_set_aside(s, "topic");
    assert_int_equal(wpt_claimable(s->store), 2);
}

/* What is read of the others' rows by statements alone does not matter either. */
/* proves: WRK-002 */
static void test_damage__in_columns_that_nobody_reads__stops_nothing(void **state)
{
    scene *s = *state;
    wp_outbox_stats *stats = NULL;
    const wp_id owner = wpt_owner(1);
    size_t changed = 0;
    wp_id ids[3];
    send_three(s, ids);
    damage(s, "UPDATE infra_outbox_work SET claim_number = 1.5, next_attempt_at = 1.5, "
              "last_error = x'ff' WHERE seq = 2");
    WPT_OK(wp_outbox_stats_read(&stats, s->store, 1, WPT_ERR));
    assert_int_equal(wp_outbox_stats_total(stats, WP_STAT_READY), 3);
    wp_outbox_stats_free(stats);
    wp_claim_free(wpt_claim(s->store, 1, 10, 1000));
    WPT_OK(wp_outbox_abandon(&changed, s->store, NULL, &owner, ids, NULL, 2, 0, NULL, WPT_ERR));
    assert_int_equal(changed, 2);
    wpt_advance_ms(s->clock, 60000);
    wp_claim_free(wpt_claim(s->store, 1, 10, 1000));
    WPT_OK(wp_outbox_ack(&changed, s->store, NULL, &owner, ids, NULL, 3, NULL, WPT_ERR));
    assert_int_equal(changed, 3);
}

/* proves: WRK-002 */
static void test_expire__damaged_row__fails_with_the_others(void **state)
{
    scene *s = *state;
    size_t changed = 0;
    for (int i = 0; i < 3; i++) {
        wp_message *message = wpt_message("t", "x");
        WPT_OK(wp_message_set_expires_us(message, WPT_START_US + 1000, WPT_ERR));
        (void)wpt_send(s->store, NULL, message);
    }
    damage(s, "UPDATE infra_outbox_work SET attempt = 0.5, claim_number = 'x' WHERE seq = 2");
    wpt_advance_ms(s->clock, 1000);
    WPT_OK(wp_outbox_reap(&changed, s->store, WPT_ERR));
    assert_int_equal(changed, 3);
}

/* As a connection without triggers left it once. */
/* proves: WRK-002 */
static void test_finish__message_that_is_finished_already__ends_it(void **state)
{
    scene *s = *state;
    const wp_id id = wpt_enqueue(s->store, "t", "x");
    const wp_id owner = wpt_owner(1);
    size_t changed = 0;
    (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    exec(s, "INSERT INTO infra_outbox_finished VALUES (1, 2, 0, 1, 0, NULL, NULL)");
    (void)wpt_claim_one(s->store, 1, &id, 1000);
    WPT_OK(wp_outbox_ack(&changed, s->store, NULL, &owner, &id, NULL, 1, NULL, WPT_ERR));
    assert_int_equal(changed, 1);
    assert_int_equal(number(s, "SELECT count(*) FROM infra_outbox_work"), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* A trigger of the app's, say, does not let one be finished: it is left, told of, and holds up nobody. */
/* proves: WRK-002 */
static void test_worker__outcome_that_is_refused__is_left_and_the_others_are_written(void **state)
{
    scene *s = *state;
    wp_worker *worker = NULL;
    wp_delivery *deliveries[3];
    wp_id ids[3], later;
    send_three(s, ids);
    exec(s, "CREATE TRIGGER refuses BEFORE INSERT ON infra_outbox_finished WHEN NEW.seq = 2 "
            "BEGIN SELECT RAISE(ABORT, 'not this one'); END");
    WPT_OK(wp_worker_new(&worker, s->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t", NULL, NULL, NULL, WPT_ERR));
    for (int i = 0; i < 3; i++)
        WPT_OK(wp_worker_next(&deliveries[i], worker, 60000, WPT_ERR));
    for (int i = 0; i < 3; i++)
        WPT_OK(wp_delivery_finish(deliveries[i], WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
    for (int i = 0; i < 3; i++) {
        WPT_STATUS(wp_delivery_settle(deliveries[i], 60000, WPT_ERR), i == 1 ? WP_E_DB : WP_OK);
        wp_delivery_free(deliveries[i]);
    }
    later = wpt_enqueue(s->store, "t", "x");
    WPT_OK(wp_worker_next(&deliveries[0], worker, 60000, WPT_ERR));
    assert_true(wpt_id_equal(wp_received_id(wp_delivery_message(deliveries[0])), &later));
    WPT_OK(wp_delivery_finish(deliveries[0], WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
    WPT_OK(wp_delivery_settle(deliveries[0], 60000, WPT_ERR));
    wp_delivery_free(deliveries[0]);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_ACKED), 3);
    wp_worker_free(worker);
    assert_int_equal(wpt_status_of(s->store, &ids[1]), WP_MESSAGE_IN_PROGRESS);
    assert_int_equal(wpt_log_count(&s->log, "error outcome refused", "not this one", ""), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_write__of_a_wrong_type__is_refused_by_name),
        cmocka_unit_test(test_claim__unreadable_row__fails_and_the_others_are_claimed),
        cmocka_unit_test(test_worker__unreadable_rows__handles_the_others),
        TEST(test_worker__outcome_that_is_refused__is_left_and_the_others_are_written),
        TEST(test_drain__whole_batches_unreadable__goes_on_behind_them),
        cmocka_unit_test(test_reap__unreadable_lease__fails_and_the_others_are_retried),
        TEST(test_reap__topic_that_is_not_text__fails),
        TEST(test_damage__in_columns_that_nobody_reads__stops_nothing),
        TEST(test_expire__damaged_row__fails_with_the_others),
        TEST(test_finish__message_that_is_finished_already__ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
