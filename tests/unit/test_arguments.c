/* SPDX-License-Identifier: Apache-2.0 */
/* Every public function with every pointer NULL in turn: an argument error that names it, or, for
 * functions without a status, a harmless answer. Nothing is changed by a refused call. What these
 * functions make of other bad values is tested with each of them. */
#include "support/wpt.h"

#include <sqlite3.h>

/* A valid one of everything. */
typedef struct kit {
    wp_clock *clock;
    wp_config *config;
    wp_store *store;
    wp_store *other;
    sqlite3 *db;
    wp_conn *conn;
    wp_conn *others; /* lent to `other` */
    wp_worker *worker;
    wp_delivery *delivery;
    wp_message *message;
    wp_op *op;
    wp_id id, owner;
} kit;

static sqlite3 *open_db(const wp_store *store)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open_v2(wp_store_location(store), &db,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL),
                     SQLITE_OK);
    return db;
}

static int kit_setup(void **state)
{
    kit *k = calloc(1, sizeof *k);
    assert_non_null(k);
    k->clock = wpt_clock();
    k->config =
        wpt_config(k->clock, WPT_OPTIONS("store.url", "sqlite::memory:", "store.deploy", "true"));
    WPT_OK(wp_store_open(&k->store, k->config, WPT_ERR));
    WPT_OK(wp_store_open(&k->other, k->config, WPT_ERR));
    k->db = open_db(k->store);
    WPT_OK(wp_conn_borrow_sqlite(&k->conn, k->store, k->db, WPT_ERR));
    WPT_OK(wp_conn_borrow_sqlite(&k->others, k->other, k->db, WPT_ERR));
    k->owner = wpt_owner(1);
    k->id = wpt_enqueue(k->store, "t", "x");
    k->message = wpt_message("t", "x");
    WPT_OK(wp_worker_new(&k->worker, k->store, k->config, WPT_ERR));
    WPT_OK(wp_worker_handle(k->worker, WP_SOURCE_OUTBOX, "t", NULL, NULL, NULL, WPT_ERR));
    WPT_OK(wp_worker_next(&k->delivery, k->worker, 60000, WPT_ERR));
    WPT_OK(
        wp_outbox_enqueue_op(&k->op, k->store, (const wp_message *const *)&k->message, 1, WPT_ERR));
    *state = k;
    return 0;
}

static int kit_teardown(void **state)
{
    kit *k = *state;
    wp_op_free(k->op);
    wp_delivery_free(k->delivery);
    wp_worker_free(k->worker);
    wp_message_free(k->message);
    wp_conn_free(k->others);
    wp_conn_free(k->conn);
    assert_int_equal(sqlite3_close(k->db), SQLITE_OK);
    wp_store_close(k->other);
    wp_store_close(k->store);
    wp_config_free(k->config);
    wp_clock_free(k->clock);
    free(k);
    return 0;
}

/* The call refuses its argument, with an error and without one. */
#define REFUSED(call_with_err, call_without, name)                                                 \
    do {                                                                                           \
        WPT_FAILS(call_with_err, WP_E_ARGUMENT, name);                                             \
        assert_int_equal(call_without, WP_E_ARGUMENT);                                             \
    } while (0)
/* The last argument is the error's: REFUSE("out", wp_config_new, NULL). */
#define REFUSE(name, fn, ...) REFUSED(fn(__VA_ARGS__, WPT_ERR), fn(__VA_ARGS__, NULL), name)

static void test_base__null__refused_or_harmless(void **state)
{
    wp_id id;
    char text[37] = "x";
    (void)state;
    wp_id_new(NULL);
    wp_id_new(&id);
    wp_id_format(NULL, &id);
    wp_id_format(text, NULL);
    assert_string_equal(text, "");
    REFUSE("out", wp_id_parse, NULL, "01234567-89ab-7def-8123-456789abcdef");
    REFUSE("text", wp_id_parse, &id, NULL);
    assert_int_equal(wp_error_code(NULL), WP_OK);
    assert_string_equal(wp_error_sqlstate(NULL), "");
    assert_non_null(wp_error_message(NULL));
    assert_int_equal(wp_error_native_code(NULL), 0);
    assert_int_equal(wp_error_retriable(NULL), 0);
    assert_int_equal(wp_error_outcome_unknown(NULL), 0);
    wp_error_free(NULL);
    wp_text_free(NULL);
    for (int i = -1; i < 16; i++)
        assert_non_null(wp_status_name((wp_status)i));
    assert_true(strlen(wp_version()) >= 5);
}

static void test_config__null__refused(void **state)
{
    kit *k = *state;
    char *text = NULL;
    wp_config *copy = NULL;
    wp_clock *clock = NULL;
    REFUSE("", wp_config_new, NULL);
    wp_config_free(NULL);
    REFUSE("out", wp_config_copy, NULL, k->config);
    REFUSE("config", wp_config_copy, &copy, NULL);
    assert_null(copy);
    REFUSE("", wp_config_set, NULL, "log.level", "off");
    REFUSE("", wp_config_set, k->config, NULL, "off");
    REFUSE("", wp_config_set, k->config, "log.level", NULL);
    REFUSE("", wp_config_get, NULL, k->config, "log.level");
    REFUSE("", wp_config_get, &text, NULL, "log.level");
    REFUSE("", wp_config_get, &text, k->config, NULL);
    REFUSE("", wp_config_load_json, NULL, "{}");
    REFUSE("", wp_config_load_json, k->config, NULL);
    REFUSE("", wp_config_load_env, NULL);
    REFUSE("", wp_config_describe, NULL);
    REFUSE("", wp_config_set_log, NULL, NULL, NULL, NULL);
    REFUSE("", wp_config_set_clock, NULL, k->clock);
    REFUSE("", wp_clock_new_manual, NULL, 0);
    WPT_STATUS(wp_clock_new_manual(&clock, INT64_MAX, WPT_ERR), WP_E_RANGE);
    REFUSE("", wp_clock_advance_us, NULL, 1);
    REFUSE("", wp_clock_jump_us, NULL, 1);
    WPT_STATUS(wp_clock_advance_us(k->clock, -1, WPT_ERR), WP_E_RANGE);
    wp_clock_free(NULL);
    assert_null(clock);
    assert_null(text);
}

static void test_store__null__refused(void **state)
{
    kit *k = *state;
    wp_store *store = NULL;
    wp_conn *conn = NULL;
    REFUSE("out", wp_store_open, NULL, k->config);
    REFUSE("config", wp_store_open, &store, NULL);
    REFUSE("config", wp_schema_deploy, NULL);
    wp_store_close(NULL);
    assert_string_equal(wp_store_id(NULL), "");
    assert_string_equal(wp_store_location(NULL), "");
    REFUSE("out", wp_conn_borrow_sqlite, NULL, k->store, k->db);
    REFUSE("store", wp_conn_borrow_sqlite, &conn, NULL, k->db);
    REFUSE("db", wp_conn_borrow_sqlite, &conn, k->store, NULL);
    wp_conn_free(NULL);
    assert_null(store);
    assert_null(conn);
}

static void test_enqueue__null_and_foreign_arguments__refused(void **state)
{
    kit *k = *state;
    const wp_message *messages[1] = {k->message};
    const size_t many = WP_BATCH_MAX + 1;
    wp_id id = {{0}};
    wp_op *op = NULL;
    REFUSE("id", wp_outbox_enqueue, NULL, NULL, k->store, NULL, k->message);
    REFUSE("store", wp_outbox_enqueue, &id, NULL, NULL, NULL, k->message);
    REFUSE("message", wp_outbox_enqueue, &id, NULL, k->store, NULL, NULL);
    REFUSE("another store", wp_outbox_enqueue, &id, NULL, k->store, k->others, k->message);
    REFUSE("ids", wp_outbox_enqueue_many, NULL, NULL, k->store, NULL, messages, 1);
    REFUSE("store", wp_outbox_enqueue_many, &id, NULL, NULL, NULL, messages, 1);
    REFUSE("messages", wp_outbox_enqueue_many, &id, NULL, k->store, NULL, NULL, 1);
    REFUSE("messages", wp_outbox_enqueue_many, &id, NULL, k->store, NULL, NULL, 0);
    WPT_STATUS(wp_outbox_enqueue_many(&id, NULL, k->store, NULL, messages, many, WPT_ERR),
               WP_E_RANGE);
    WPT_STATUS(wp_outbox_enqueue_many(&id, NULL, k->store, NULL, messages, SIZE_MAX, WPT_ERR),
               WP_E_RANGE);
    REFUSE("out", wp_outbox_enqueue_op, NULL, k->store, messages, 1);
    REFUSE("store", wp_outbox_enqueue_op, &op, NULL, messages, 1);
    REFUSE("messages", wp_outbox_enqueue_op, &op, k->store, NULL, 1);
    WPT_STATUS(wp_outbox_enqueue_op(&op, k->store, messages, many, WPT_ERR), WP_E_RANGE);
    messages[0] = NULL;
    REFUSE("messages[0]", wp_outbox_enqueue_op, &op, k->store, messages, 1);
    assert_null(op);
    assert_int_equal(id.bytes[0], 0);
    assert_int_equal(wpt_claimable(k->store), 0); /* the kit's one is out */
}

static void test_claim__null_and_bad_topics__refused(void **state)
{
    kit *k = *state;
    char *longer = malloc(257);
    const char *topics[2] = {"t", NULL};
    wp_claim *claim = NULL;
    assert_non_null(longer);
    memset(longer, 'a', 256);
    longer[256] = '\0';
    REFUSE("out", wp_outbox_claim, NULL, k->store, &k->owner, NULL, 0, 1, 1000);
    REFUSE("store", wp_outbox_claim, &claim, NULL, &k->owner, NULL, 0, 1, 1000);
    REFUSE("owner", wp_outbox_claim, &claim, k->store, NULL, NULL, 0, 1, 1000);
    REFUSE("topic", wp_outbox_claim, &claim, k->store, &k->owner, topics, 2, 1, 1000);
    topics[1] = "";
    REFUSE("topic", wp_outbox_claim, &claim, k->store, &k->owner, topics, 2, 1, 1000);
    topics[1] = "\xff";
    REFUSE("topic", wp_outbox_claim, &claim, k->store, &k->owner, topics, 2, 1, 1000);
    topics[1] = longer;
    REFUSE("topic", wp_outbox_claim, &claim, k->store, &k->owner, topics, 2, 1, 1000);
    assert_null(claim);
    assert_int_equal(wp_claim_count(NULL), 0);
    assert_null(wp_claim_at(NULL, 0));
    wp_claim_free(NULL);
    free(longer);
}

static void test_finish__null_and_foreign_arguments__refused(void **state)
{
    kit *k = *state;
    wp_store *s = k->store;
    wp_op *op = NULL;
    REFUSE("store", wp_outbox_ack, NULL, NULL, NULL, &k->owner, &k->id, NULL, 1, NULL);
    REFUSE("store", wp_outbox_abandon, NULL, NULL, NULL, &k->owner, &k->id, NULL, 1, 0, NULL);
    REFUSE("store", wp_outbox_fail, NULL, NULL, NULL, &k->owner, &k->id, NULL, 1, NULL);
    REFUSE("store", wp_outbox_release, NULL, NULL, NULL, &k->owner, &k->id, NULL, 1);
    REFUSE("store", wp_outbox_renew, NULL, NULL, NULL, &k->owner, &k->id, NULL, 1, 1000);
    REFUSE("another store", wp_outbox_ack, NULL, s, k->others, &k->owner, &k->id, NULL, 1, NULL);
    REFUSE("another store", wp_outbox_abandon, NULL, s, k->others, &k->owner, &k->id, NULL, 1, 0,
           NULL);
    REFUSE("another store", wp_outbox_fail, NULL, s, k->others, &k->owner, &k->id, NULL, 1, NULL);
    REFUSE("another store", wp_outbox_release, NULL, s, k->others, &k->owner, &k->id, NULL, 1);
    REFUSE("another store", wp_outbox_renew, NULL, s, k->others, &k->owner, &k->id, NULL, 1, 1000);
    REFUSE("worker", wp_outbox_ack, NULL, s, NULL, &k->owner, &k->id, NULL, 1, "\xff");
    REFUSE("out", wp_outbox_ack_op, NULL, s, &k->owner, &k->id, NULL, 1, NULL);
    REFUSE("store", wp_outbox_ack_op, &op, NULL, &k->owner, &k->id, NULL, 1, NULL);
    REFUSE("owner", wp_outbox_ack_op, &op, s, NULL, &k->id, NULL, 1, NULL);
    REFUSE("ids", wp_outbox_ack_op, &op, s, &k->owner, NULL, NULL, 1, NULL);
    REFUSE("worker", wp_outbox_ack_op, &op, s, &k->owner, &k->id, NULL, 1, "\xc3");
    REFUSE("store", wp_outbox_reap, NULL, NULL);
    WPT_OK(wp_outbox_reap(NULL, s, WPT_ERR));
    assert_null(op);
    assert_int_equal(wpt_status_of(s, &k->id), WP_MESSAGE_IN_PROGRESS);
}

static void test_look__null__refused_or_harmless(void **state)
{
    kit *k = *state;
    wp_outbox_info *info = NULL;
    wp_outbox_stats *stats = NULL;
    REFUSE("out", wp_outbox_get, NULL, k->store, &k->id);
    REFUSE("store", wp_outbox_get, &info, NULL, &k->id);
    REFUSE("id", wp_outbox_get, &info, k->store, NULL);
    REFUSE("out", wp_outbox_stats_read, NULL, k->store, 0);
    REFUSE("store", wp_outbox_stats_read, &stats, NULL, 0);
    assert_int_equal(wp_outbox_info_status(NULL), WP_MESSAGE_READY);
    assert_null(wp_outbox_info_message(NULL));
    assert_int_equal(wp_outbox_info_next_attempt_us(NULL), 0);
    assert_int_equal(wp_outbox_info_locked_until_us(NULL), 0);
    assert_int_equal(wp_outbox_info_finished_us(NULL), 0);
    assert_null(wp_outbox_info_finished_by(NULL));
    assert_null(wp_outbox_info_last_error(NULL));
    wp_outbox_info_free(NULL);
    assert_int_equal(wp_outbox_stats_count(NULL), 0);
    assert_null(wp_outbox_stats_topic(NULL, 0));
    assert_int_equal(wp_outbox_stats_value(NULL, 0, WP_STAT_READY), 0);
    assert_int_equal(wp_outbox_stats_total(NULL, WP_STAT_READY), 0);
    wp_outbox_stats_free(NULL);
    assert_null(info);
    assert_null(stats);
}

static void test_op__null__refused_or_harmless(void **state)
{
    kit *k = *state;
    int more = 99;
    size_t len = 9;
    wp_id id;
    REFUSE("op", wp_op_set_paramstyle, NULL, WP_PARAM_NAMED);
    REFUSE("op", wp_op_require_transaction, NULL);
    REFUSE("more", wp_op_next, NULL, k->op);
    REFUSE("op", wp_op_next, &more, NULL);
    assert_int_equal(more, 99);
    assert_string_equal(wp_op_sql(NULL), "");
    assert_int_equal(wp_op_returns_rows(NULL), 0);
    assert_int_equal(wp_op_param_count(NULL), 0);
    assert_string_equal(wp_op_param_name(NULL, 0), "");
    assert_int_equal(wp_op_param_type(NULL, 0), WP_VALUE_NULL);
    assert_int_equal(wp_op_param_int64(NULL, 0), 0);
    assert_null(wp_op_param_data(&len, NULL, 0));
    assert_int_equal(len, 0);
    REFUSE("op", wp_op_feed_null, NULL);
    REFUSE("op", wp_op_feed_int64, NULL, 1);
    REFUSE("op", wp_op_feed_text, NULL, "x", 1);
    REFUSE("op", wp_op_feed_bytes, NULL, "x", 1);
    REFUSE("op", wp_op_row, NULL);
    assert_int_equal(wp_op_result_count(NULL), 0);
    REFUSE("out", wp_op_result_id, NULL, k->op, 0);
    REFUSE("op", wp_op_result_id, &id, NULL, 0);
    assert_int_equal(wp_op_result_duplicate(NULL, 0), 0);
    wp_op_free(NULL);
}

static void test_op_feed__null_data__refused_unless_empty(void **state)
{
    kit *k = *state;
    wp_op *op = NULL;
    int more = 0;
    WPT_OK(wp_outbox_ack_op(&op, k->store, &k->owner, &k->id, NULL, 1, NULL, WPT_ERR));
    WPT_OK(wp_op_next(&more, op, WPT_ERR));
    REFUSE("data", wp_op_feed_text, op, NULL, 1);
    REFUSE("data", wp_op_feed_bytes, op, NULL, 1);
    WPT_OK(wp_op_feed_text(op, NULL, 0, WPT_ERR));
    WPT_OK(wp_op_feed_bytes(op, NULL, 0, WPT_ERR));
    WPT_OK(wp_op_feed_int64(op, 0, WPT_ERR));
    WPT_STATUS(wp_op_row(op, WPT_ERR), WP_E_DB);
    wp_op_free(op);
}

static void test_worker__null__refused_or_harmless(void **state)
{
    kit *k = *state;
    wp_worker *worker = NULL;
    wp_delivery *delivery = NULL;
    REFUSE("out", wp_worker_new, NULL, k->store, k->config);
    REFUSE("store", wp_worker_new, &worker, NULL, k->config);
    REFUSE("worker", wp_worker_handle, NULL, WP_SOURCE_OUTBOX, "t", NULL, NULL, NULL);
    REFUSE("topic", wp_worker_handle, k->worker, WP_SOURCE_OUTBOX, NULL, NULL, NULL, NULL);
    REFUSE("topic", wp_worker_handle, k->worker, WP_SOURCE_OUTBOX, "\xff", NULL, NULL, NULL);
    REFUSE("source", wp_worker_handle, k->worker, (wp_source)0, "t", NULL, NULL, NULL);
    REFUSE("worker", wp_worker_topic_set, NULL, WP_SOURCE_OUTBOX, "t", "lease_ms", "1000");
    REFUSE("topic", wp_worker_topic_set, k->worker, WP_SOURCE_OUTBOX, NULL, "lease_ms", "1000");
    REFUSE("key", wp_worker_topic_set, k->worker, WP_SOURCE_OUTBOX, "t", NULL, "1000");
    REFUSE("value", wp_worker_topic_set, k->worker, WP_SOURCE_OUTBOX, "t", "lease_ms", NULL);
    REFUSE("source", wp_worker_topic_set, k->worker, (wp_source)9, "t", "lease_ms", "1000");
    REFUSE("out", wp_worker_next, NULL, k->worker, 0);
    REFUSE("worker", wp_worker_next, &delivery, NULL, 0);
    REFUSE("worker", wp_worker_run, NULL);
    REFUSE("worker", wp_worker_start, NULL, 1);
    REFUSE("worker", wp_worker_drain, NULL, NULL, 0);
    REFUSE("worker", wp_worker_step, NULL, NULL);
    REFUSE("worker", wp_worker_stop, NULL, NULL, 0);
    REFUSE("out", wp_worker_next_cancelled, NULL, k->worker, 0);
    REFUSE("worker", wp_worker_next_cancelled, &delivery, NULL, 0);
    wp_worker_wake(NULL);
    wp_worker_free(NULL);
    assert_null(worker);
    assert_null(delivery);
}

static void test_delivery__null__refused_or_harmless(void **state)
{
    kit *k = *state;
    wp_op *op = NULL;
    assert_null(wp_delivery_message(NULL));
    assert_int_equal(wp_delivery_cancelled(NULL), WP_CANCEL_NONE);
    REFUSE("delivery", wp_delivery_finish, NULL, WP_OUTCOME_DONE, NULL, 0);
    REFUSE("delivery", wp_delivery_settle, NULL, 0);
    REFUSE("delivery", wp_delivery_complete, NULL, k->conn);
    REFUSE("conn", wp_delivery_complete, k->delivery, NULL);
    REFUSE("another store", wp_delivery_complete, k->delivery, k->others);
    REFUSE("out", wp_delivery_complete_op, NULL, k->delivery);
    REFUSE("delivery", wp_delivery_complete_op, &op, NULL);
    assert_null(wp_delivery_ref(NULL));
    wp_delivery_free(NULL);
    assert_null(op);
    /* none of that has finished it */
    WPT_OK(wp_delivery_finish(k->delivery, WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
}

#define ONE WP_LEASE_EXCLUSIVE

static void test_lease_calls__null_and_foreign_arguments__refused(void **state)
{
    kit *k = *state;
    wp_store *s = k->store;
    wp_lease_info *info = NULL;
    const wp_lease_kind none = (wp_lease_kind)9;
    REFUSE("out", wp_lease_acquire, NULL, s, NULL, ONE, "n", "o", 1000);
    REFUSE("store", wp_lease_acquire, &info, NULL, NULL, ONE, "n", "o", 1000);
    REFUSE("another store", wp_lease_acquire, &info, s, k->others, ONE, "n", "o", 1000);
    REFUSE("kind", wp_lease_acquire, &info, s, NULL, none, "n", "o", 1000);
    REFUSE("name", wp_lease_acquire, &info, s, NULL, ONE, NULL, "o", 1000);
    REFUSE("name", wp_lease_acquire, &info, s, NULL, ONE, "", "o", 1000);
    REFUSE("name", wp_lease_acquire, &info, s, NULL, ONE, "\xff", "o", 1000);
    REFUSE("owner", wp_lease_acquire, &info, s, NULL, ONE, "n", NULL, 1000);
    REFUSE("owner", wp_lease_acquire, &info, s, NULL, ONE, "n", "", 1000);
    REFUSE("store", wp_lease_renew, &info, NULL, NULL, ONE, "n", "o", 1, 1000);
    REFUSE("kind", wp_lease_renew, &info, s, NULL, none, "n", "o", 1, 1000);
    REFUSE("name", wp_lease_renew, &info, s, NULL, ONE, NULL, "o", 1, 1000);
    REFUSE("owner", wp_lease_renew, &info, s, NULL, ONE, "n", NULL, 1, 1000);
    WPT_FAILS(wp_lease_renew(&info, s, NULL, ONE, "n", "o", -1, 1000, WPT_ERR), WP_E_RANGE,
              "fence");
    REFUSE("store", wp_lease_release, NULL, NULL, NULL, ONE, "n", "o", 1);
    REFUSE("name", wp_lease_release, NULL, s, NULL, ONE, NULL, "o", 1);
    REFUSE("owner", wp_lease_release, NULL, s, NULL, ONE, "n", NULL, 1);
    REFUSE("another store", wp_lease_release, NULL, s, k->others, ONE, "n", "o", 1);
    REFUSE("out", wp_lease_get, NULL, s, NULL, ONE, "n");
    REFUSE("store", wp_lease_get, &info, NULL, NULL, ONE, "n");
    REFUSE("name", wp_lease_get, &info, s, NULL, ONE, NULL);
    REFUSE("store", wp_semaphore_set_limit, NULL, NULL, "n", 1);
    REFUSE("name", wp_semaphore_set_limit, s, NULL, NULL, 1);
    WPT_FAILS(wp_semaphore_set_limit(s, NULL, "n", -1, WPT_ERR), WP_E_RANGE, "limit");
    REFUSE("store", wp_lease_cleanup, NULL, NULL, 0);
    WPT_FAILS(wp_lease_cleanup(NULL, s, -1, WPT_ERR), WP_E_RANGE, "keep_ms");
    WPT_FAILS(wp_lease_get(&info, s, NULL, ONE, "n", WPT_ERR), WP_E_NOT_FOUND, "lease \"n\"");
    WPT_FAILS(wp_lease_get(&info, s, NULL, WP_LEASE_SHARED, "n", WPT_ERR), WP_E_NOT_FOUND,
              "semaphore \"n\"");
    assert_null(info);
}

static void test_lease_ops__null__refused(void **state)
{
    kit *k = *state;
    wp_store *s = k->store;
    wp_op *op = NULL;
    wp_lease_info *info = NULL;
    REFUSE("out", wp_lease_acquire_op, NULL, s, ONE, "n", "o", 1000);
    REFUSE("store", wp_lease_acquire_op, &op, NULL, ONE, "n", "o", 1000);
    REFUSE("name", wp_lease_acquire_op, &op, s, ONE, NULL, "o", 1000);
    REFUSE("owner", wp_lease_acquire_op, &op, s, ONE, "n", NULL, 1000);
    REFUSE("out", wp_lease_renew_op, NULL, s, ONE, "n", "o", 1, 1000);
    REFUSE("name", wp_lease_renew_op, &op, s, ONE, NULL, "o", 1, 1000);
    REFUSE("out", wp_lease_release_op, NULL, s, ONE, "n", "o", 1);
    REFUSE("owner", wp_lease_release_op, &op, s, ONE, "n", NULL, 1);
    REFUSE("out", wp_lease_get_op, NULL, s, ONE, "n");
    REFUSE("name", wp_lease_get_op, &op, s, ONE, NULL);
    REFUSE("out", wp_semaphore_set_limit_op, NULL, s, "n", 1);
    REFUSE("name", wp_semaphore_set_limit_op, &op, s, NULL, 1);
    REFUSE("out", wp_op_result_lease, NULL, k->op);
    REFUSE("op", wp_op_result_lease, &info, NULL);
    assert_null(op);
    assert_null(info);
}

static wp_status lead_nothing(wp_lease *lease, void *user, wp_error **err)
{
    (void)lease;
    (void)user;
    (void)err;
    fail();
    return WP_OK;
}

static void test_lease_kept__null__refused_or_harmless(void **state)
{
    kit *k = *state;
    wp_store *s = k->store;
    wp_lease *lease = NULL;
    REFUSE("out", wp_lease_hold, NULL, NULL, s, ONE, "n", "o", 1000, 0);
    REFUSE("store", wp_lease_hold, &lease, NULL, NULL, ONE, "n", "o", 1000, 0);
    REFUSE("kind", wp_lease_hold, &lease, NULL, s, (wp_lease_kind)0, "n", "o", 1000, 0);
    REFUSE("name", wp_lease_hold, &lease, NULL, s, ONE, NULL, "o", 1000, 0);
    REFUSE("owner", wp_lease_hold, &lease, NULL, s, ONE, "n", "", 1000, 0);
    WPT_FAILS(wp_lease_hold(&lease, NULL, s, ONE, "n", "o", 99, 0, WPT_ERR), WP_E_RANGE,
              "duration_ms");
    REFUSE("store", wp_lease_lead, NULL, "n", "o", 1000, 0, lead_nothing, NULL);
    REFUSE("name", wp_lease_lead, s, NULL, "o", 1000, 0, lead_nothing, NULL);
    REFUSE("owner", wp_lease_lead, s, "n", "", 1000, 0, lead_nothing, NULL);
    REFUSE("work", wp_lease_lead, s, "n", "o", 1000, 0, NULL, NULL);
    REFUSE("store", wp_lease_stop_waiting, NULL);
    REFUSE("out", wp_lease_next_lost, NULL, s, 0);
    REFUSE("store", wp_lease_next_lost, &lease, NULL, 0);
    REFUSE("lease", wp_lease_check, NULL);
    REFUSE("lease", wp_lease_renew_now, NULL);
    REFUSE("lease", wp_lease_wait_lost, NULL, 0);
    REFUSE("lease", wp_lease_end, NULL);
    assert_int_equal(wp_lease_remaining_ms(NULL), 0);
    assert_int_equal(wp_lease_fence(NULL), 0);
    assert_string_equal(wp_lease_name(NULL), "");
    assert_string_equal(wp_lease_owner(NULL), "");
    assert_null(wp_lease_ref(NULL));
    assert_int_equal(wp_lease_counter_read(NULL, WP_LEASE_COUNTER_HELD), 0);
    wp_lease_free(NULL);
    wp_lease_info_free(NULL);
    assert_null(lease);
}

static void test_join_calls__null_and_foreign_arguments__refused(void **state)
{
    kit *k = *state;
    wp_store *s = k->store;
    wp_join *join = NULL, *mine = NULL;
    wp_op *op = NULL;
    wp_id id;
    REFUSE("out", wp_join_new, NULL, 1);
    WPT_OK(wp_join_new(&mine, 1, WPT_ERR));
    REFUSE("join", wp_join_set_grouping_key, NULL, "g");
    REFUSE("grouping_key", wp_join_set_grouping_key, mine, "\xff");
    REFUSE("join", wp_join_set_metadata, NULL, "m");
    REFUSE("metadata", wp_join_set_metadata, mine, "\xff");
    REFUSE("join", wp_join_set_fail_if_any, NULL, 1);
    REFUSE("join", wp_join_set_success, NULL, k->message);
    REFUSE("join", wp_join_set_failure, NULL, k->message);
    REFUSE("join", wp_join_set_deadline_us, NULL, 1);
    REFUSE("join", wp_join_set_timeout_ms, NULL, 1);
    REFUSE("id", wp_join_start, NULL, s, NULL, mine);
    REFUSE("store", wp_join_start, &id, NULL, NULL, mine);
    REFUSE("another store", wp_join_start, &id, s, k->others, mine);
    REFUSE("join", wp_join_start, &id, s, NULL, NULL);
    REFUSE("out", wp_join_start_op, NULL, s, mine);
    REFUSE("store", wp_join_start_op, &op, NULL, mine);
    REFUSE("join", wp_join_start_op, &op, s, NULL);
    REFUSE("message", wp_message_add_join, NULL, &k->id);
    REFUSE("join", wp_message_add_join, k->message, NULL);
    REFUSE("store", wp_join_attach, NULL, NULL, NULL, &k->id, &k->id, 1);
    REFUSE("another store", wp_join_attach, NULL, s, k->others, &k->id, &k->id, 1);
    REFUSE("join", wp_join_attach, NULL, s, NULL, NULL, &k->id, 1);
    REFUSE("messages", wp_join_attach, NULL, s, NULL, &k->id, NULL, 1);
    REFUSE("out", wp_join_attach_op, NULL, s, &k->id, &k->id, 1);
    REFUSE("messages", wp_join_attach_op, &op, s, &k->id, NULL, 1);
    REFUSE("store", wp_join_report, NULL, NULL, NULL, &k->id, &k->id, 1, 0);
    REFUSE("join", wp_join_report, NULL, s, NULL, NULL, &k->id, 1, 0);
    REFUSE("messages", wp_join_report, NULL, s, NULL, &k->id, NULL, 1, 0);
    REFUSE("out", wp_join_report_op, NULL, s, &k->id, &k->id, 1, 0);
    REFUSE("store", wp_join_cancel, NULL, NULL, NULL, &k->id);
    REFUSE("id", wp_join_cancel, NULL, s, NULL, NULL);
    REFUSE("out", wp_join_cancel_op, NULL, s, &k->id);
    REFUSE("id", wp_join_cancel_op, &op, s, NULL);
    REFUSE("store", wp_join_reap, NULL, NULL);
    REFUSE("store", wp_join_cleanup, NULL, NULL, 0);
    wp_join_free(mine);
    wp_join_free(NULL);
    assert_null(join);
    assert_null(op);
}

static void test_join_look__null__refused_or_harmless(void **state)
{
    kit *k = *state;
    wp_join_info *info = NULL;
    wp_joins *joins = NULL;
    wp_join_members *members = NULL;
    REFUSE("out", wp_join_get, NULL, k->store, &k->id);
    REFUSE("store", wp_join_get, &info, NULL, &k->id);
    REFUSE("id", wp_join_get, &info, k->store, NULL);
    REFUSE("out", wp_join_list, NULL, k->store, NULL, NULL, 1);
    REFUSE("store", wp_join_list, &joins, NULL, NULL, NULL, 1);
    REFUSE("out", wp_join_members_list, NULL, k->store, &k->id, NULL, 1);
    REFUSE("store", wp_join_members_list, &members, NULL, &k->id, NULL, 1);
    REFUSE("join", wp_join_members_list, &members, k->store, NULL, NULL, 1);
    assert_null(wp_join_info_id(NULL));
    assert_int_equal(wp_join_info_status(NULL), WP_JOIN_OPEN);
    assert_int_equal(wp_join_info_expected(NULL), 0);
    assert_null(wp_join_info_reason(NULL));
    assert_null(wp_join_info_continuation(NULL));
    assert_int_equal(wp_joins_count(NULL), 0);
    assert_null(wp_joins_at(NULL, 0));
    assert_int_equal(wp_join_members_count(NULL), 0);
    assert_null(wp_join_members_id(NULL, 0));
    assert_int_equal(wp_join_members_status(NULL, 0), WP_JOIN_MEMBER_WAITING);
    wp_join_info_free(NULL);
    wp_joins_free(NULL);
    wp_join_members_free(NULL);
    assert_null(info);
    assert_null(joins);
    assert_null(members);
}

/* NULL where it is allowed. */
static void test_optional_arguments__null__are_fine(void **state)
{
    kit *k = *state;
    wp_worker *worker = NULL;
    const wp_id id = wpt_enqueue(k->store, "u", "x");
    wp_id ids[1];
    (void)wpt_claim_one(k->store, 1, &id, 1000);
    WPT_OK(wp_outbox_enqueue_many(ids, NULL, k->store, NULL, (const wp_message *const *)&k->message,
                                  1, NULL));
    WPT_OK(wp_outbox_renew(NULL, k->store, NULL, &k->owner, &id, NULL, 1, 1000, NULL));
    WPT_OK(wp_outbox_ack(NULL, k->store, NULL, &k->owner, &id, NULL, 1, NULL, NULL));
    WPT_OK(wp_worker_new(&worker, k->store, NULL, NULL));
    WPT_OK(wp_worker_drain(NULL, worker, 1000, NULL)); /* it handles nothing */
    WPT_OK(wp_worker_step(NULL, worker, NULL));
    WPT_OK(wp_worker_stop(NULL, worker, 0, NULL));
    wp_worker_free(worker);
    assert_int_equal(wpt_status_of(k->store, &id), WP_MESSAGE_DONE);
}

/* One call is one transaction: where a row cannot be written, none is. */
/* proves: OBX-080, OBX-111 */
static void test_calls__one_row_cannot_be_written__none_is(void **state)
{
    kit *k = *state;
    const wp_message *messages[3];
    wp_message *poison = wpt_message("poison", "x");
    wp_id ids[3];
    wp_claim *claim;
    size_t changed = 99;
    (void)sqlite3_busy_timeout(k->db, 60000); /* a worker of the test before may still be closing */
    assert_int_equal(
        sqlite3_exec(k->db,
                     "CREATE TRIGGER refuse BEFORE INSERT ON infra_outbox WHEN NEW.topic = 'poison'"
                     " BEGIN SELECT RAISE(ABORT, 'no'); END;"
                     "CREATE TRIGGER refuse_ack BEFORE INSERT ON infra_outbox_finished"
                     " WHEN NEW.seq = (SELECT max(seq) FROM infra_outbox)"
                     " BEGIN SELECT RAISE(ABORT, 'no'); END",
                     NULL, NULL, NULL),
        SQLITE_OK);
    messages[0] = messages[1] = k->message;
    messages[2] = poison;
    WPT_STATUS(wp_outbox_enqueue_many(ids, NULL, k->store, NULL, messages, 3, WPT_ERR), WP_E_DB);
    assert_int_equal(wpt_stat(k->store, "t", WP_STAT_READY), 0);
    messages[2] = k->message;
    (void)wp_worker_stop(NULL, k->worker, 0, NULL); /* so that it does not take them */
    WPT_OK(wp_outbox_enqueue_many(ids, NULL, k->store, NULL, messages, 3, WPT_ERR));
    claim = wpt_claim(k->store, 1, 10, 1000);
    assert_true(wpt_claim_is(claim, ids, 3));
    wp_claim_free(claim);
    WPT_STATUS(wp_outbox_ack(&changed, k->store, NULL, &k->owner, ids, NULL, 3, NULL, WPT_ERR),
               WP_E_DB);
    assert_int_equal(changed, 99);
    for (int i = 0; i < 3; i++)
        assert_int_equal(wpt_status_of(k->store, &ids[i]), WP_MESSAGE_IN_PROGRESS);
    WPT_OK(wp_outbox_ack(&changed, k->store, NULL, &k->owner, ids, NULL, 2, NULL, WPT_ERR));
    assert_int_equal(changed, 2);
    wp_message_free(poison);
}

#define KIT(test) cmocka_unit_test_setup_teardown(test, kit_setup, kit_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base__null__refused_or_harmless),
        KIT(test_config__null__refused),
        KIT(test_store__null__refused),
        KIT(test_enqueue__null_and_foreign_arguments__refused),
        KIT(test_claim__null_and_bad_topics__refused),
        KIT(test_finish__null_and_foreign_arguments__refused),
        KIT(test_look__null__refused_or_harmless),
        KIT(test_op__null__refused_or_harmless),
        KIT(test_op_feed__null_data__refused_unless_empty),
        KIT(test_worker__null__refused_or_harmless),
        KIT(test_delivery__null__refused_or_harmless),
        KIT(test_lease_calls__null_and_foreign_arguments__refused),
        KIT(test_lease_ops__null__refused),
        KIT(test_lease_kept__null__refused_or_harmless),
        KIT(test_join_calls__null_and_foreign_arguments__refused),
        KIT(test_join_look__null__refused_or_harmless),
        KIT(test_optional_arguments__null__are_fine),
        KIT(test_calls__one_row_cannot_be_written__none_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
