/* SPDX-License-Identifier: Apache-2.0 */
/* Many processes with many threads each on one file, in both of SQLite's journal modes. */
#include "fault.h"

enum {
    PROCESSES = 4,
    THREADS = 4,
    MESSAGES = FAULT_ROUNDS(20000),
    BATCH = 100,
    KEYS = 100,
    KEYED_OF = 5 /* one in so many messages has an ordering key */
};

static int history;

static wp_outcome record(wp_delivery *delivery, void *user)
{
    (void)user;
    history_write(history, 'b', wp_delivery_message(delivery));
    history_write(history, 'e', wp_delivery_message(delivery));
    return WP_OUTCOME_DONE;
}

/* Works until the parent says end; fails if the database ever did. */
static int play_worker(const char *path, const char *argument)
{
    wp_store *store = fault_store(path, "");
    wp_worker *worker = fault_worker(store, "t", record, NULL);
    int64_t errors;
    (void)argument;
    history = history_open(path);
    MUST_OK(wp_worker_start(worker, THREADS, &must_err));
    parent_await_end();
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    errors = wp_worker_counter(worker, WP_COUNTER_ERRORS) +
             wp_worker_counter(worker, WP_COUNTER_LEASES_LOST);
    wp_worker_free(worker);
    wp_store_close(store);
    return errors != 0;
}

static wp_message *numbered(int number)
{
    char text[16];
    wp_message *message;
    (void)snprintf(text, sizeof text, "%d", number);
    message = fault_message("t", text);
    if (number % KEYED_OF == 0) {
        (void)snprintf(text, sizeof text, "k%d", number / KEYED_OF % KEYS);
        MUST_OK(wp_message_set_ordering_key(message, text, &must_err));
    }
    return message;
}

/* One batch, by the store on its own or in a transaction of the app's. Never busy. */
static void enqueue_batch(wp_store *store, sqlite3 *db, wp_conn *conn, int first)
{
    wp_message *messages[BATCH];
    wp_id ids[BATCH];
    const bool by_app = first / BATCH % 2 == 1;
    for (int i = 0; i < BATCH; i++)
        messages[i] = numbered(first + i);
    if (by_app)
        app_exec(db, "BEGIN IMMEDIATE; INSERT INTO batches DEFAULT VALUES");
    MUST_OK(wp_outbox_enqueue_many(ids, NULL, store, by_app ? conn : NULL,
                                   (const wp_message *const *)messages, BATCH, &must_err));
    if (by_app)
        app_exec(db, "COMMIT");
    for (int i = 0; i < BATCH; i++)
        wp_message_free(messages[i]);
}

/* Each message was handled once, by its first claim; those with one key one at a time, in the order
 * in which they were enqueued. */
static void check_history(const char *path)
{
    int64_t last[KEYS];
    bool busy[KEYS] = {false};
    char *seen = calloc(MESSAGES, 1);
    size_t count = 0;
    event *events = history_read(&count, path);
    assert_non_null(seen);
    assert_int_equal(count, 2 * MESSAGES);
    memset(last, -1, sizeof last);
    for (size_t i = 0; i < count; i++) {
        const event *e = &events[i];
        assert_in_range(e->number, 0, MESSAGES - 1);
        assert_int_equal(e->claim, 1);
        assert_int_equal(e->attempt, 0);
        assert_int_equal(seen[e->number], e->what == 'b' ? 0 : 1);
        seen[e->number]++;
        if (e->key[0] == 'k') {
            const int key = atoi(e->key + 1);
            assert_int_equal(busy[key], e->what == 'e');
            busy[key] = e->what == 'b';
            assert_true(e->what == 'b' ? e->number > last[key] : e->number == last[key]);
            last[key] = e->number;
        }
    }
    free(events);
    free(seen);
}

static void run_many(const char *path, const char *mode)
{
    char set[48];
    char get[96];
    sqlite3 *db = app_open(path);
    wp_store *store;
    wp_conn *conn = NULL;
    child workers[PROCESSES];
    (void)snprintf(set, sizeof set, "PRAGMA journal_mode = %s", mode);
    (void)snprintf(get, sizeof get,
                   "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = '%s'", mode);
    app_exec(db, set);
    app_exec(db, "CREATE TABLE batches (number INTEGER PRIMARY KEY)");
    store = fault_store(path, "");
    MUST_OK(wp_conn_borrow_sqlite(&conn, store, db, &must_err));
    for (int i = 0; i < MESSAGES / 2; i += BATCH)
        enqueue_batch(store, db, conn, i);
    for (int i = 0; i < PROCESSES; i++)
        workers[i] = child_start("worker", path, "");
    for (int i = MESSAGES / 2; i < MESSAGES; i += BATCH)
        enqueue_batch(store, db, conn, i);
    AWAIT(app_int(db, UNFINISHED) == 0);
    for (int i = 0; i < PROCESSES; i++)
        assert_ended_well(&workers[i]);
    assert_int_equal(app_int(db, get), 1);
    assert_int_equal(app_int(db, DONE), MESSAGES);
    assert_int_equal(app_int(db, ALL), MESSAGES);
    assert_int_equal(app_int(db, "SELECT count(*) FROM batches"), MESSAGES / BATCH / 2);
    check_history(path);
    wp_conn_free(conn);
    (void)sqlite3_close(db);
    wp_store_close(store);
}

/* proves: OBX-017, OBX-059, OBX-060, OBX-081..084, ORD-001 */
static void test_many__4_processes_with_4_threads_on_wal__each_message_once(void **state)
{
    run_many(((place *)*state)->path, "wal");
}

/* proves: OBX-059, OBX-082, OBX-083, OBX-084, ORD-001 */
static void test_many__4_processes_with_4_threads_on_rollback_journal__each_once(void **state)
{
    run_many(((place *)*state)->path, "delete");
}

static const role roles[] = {{"worker", play_worker}};

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DATABASE(test_many__4_processes_with_4_threads_on_wal__each_message_once),
        WITH_DATABASE(test_many__4_processes_with_4_threads_on_rollback_journal__each_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, roles, sizeof roles / sizeof roles[0], suite);
}
