/* SPDX-License-Identifier: Apache-2.0 */
/* The write-ahead log stays small, and becomes empty when there is nothing to do. */
#include "fault.h"

enum { WORKERS = 2, IDLERS = 4, MESSAGES = FAULT_ROUNDS(5000), BATCH = 20, READ_MS = 300 };

static wp_outcome done(wp_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return WP_OUTCOME_DONE;
}

static int play_worker(const char *path, const char *topic)
{
    wp_store *store = fault_store(path, "worker.poll_min_ms=5 worker.poll_max_ms=10 "
                                        "worker.reap_ms=50");
    wp_worker *worker = fault_worker(store, topic, done, NULL);
    int64_t errors;
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    parent_await_end();
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    errors = wp_worker_counter(worker, WP_COUNTER_ERRORS);
    wp_worker_free(worker);
    wp_store_close(store);
    return errors != 0;
}

/* Enqueue messages of a kilobyte. Returns the greatest size that the log was seen at. */
static int64_t produce(wp_store *store, const char *path, int count)
{
    char payload[1001];
    const wp_message *batch[BATCH];
    wp_message *message;
    wp_id ids[BATCH];
    int64_t most = 0;
    memset(payload, 'x', sizeof payload - 1);
    payload[sizeof payload - 1] = '\0';
    message = fault_message("t", payload);
    for (int i = 0; i < BATCH; i++)
        batch[i] = message;
    for (int i = 0; i < count; i += BATCH) {
        int64_t size;
        MUST_OK(wp_outbox_enqueue_many(ids, NULL, store, NULL, batch, BATCH, &must_err));
        size = file_size(place_file(path, "-wal"));
        if (size > most)
            most = size;
    }
    wp_message_free(message);
    return most;
}

/* proves: OBX-083 */
static void test_wal__idle_pollers_and_a_reader__is_bounded_and_empty_when_idle(void **state)
{
    const place *p = *state;
    const char *wal = place_file(p->path, "-wal");
    wp_store *store = fault_store(p->path, "");
    sqlite3 *db = app_open(p->path);
    sqlite3 *reader = app_open(p->path);
    child children[WORKERS + IDLERS];
    int64_t most;
    for (int i = 0; i < WORKERS + IDLERS; i++)
        children[i] = child_start("worker", p->path, i < WORKERS ? "t" : "idle");
    most = produce(store, p->path, MESSAGES);
    AWAIT(app_int(db, DONE) == MESSAGES);
    assert_true(most > 0 && most < INT64_C(64) << 20);
    AWAIT(file_size(wal) == 0);

    /* An app that reads for long keeps the log from being emptied, and nothing else. */
    app_exec(reader, "BEGIN");
    assert_int_equal(app_int(reader, DONE), MESSAGES);
    (void)produce(store, p->path, MESSAGES);
    AWAIT(app_int(db, DONE) == 2 * MESSAGES);
    assert_int_equal(app_int(reader, DONE), MESSAGES);
    assert_int_equal(app_int(reader, ALL), MESSAGES);
    fault_nap_us(READ_MS * 1000); /* the workers try to empty it, in vain */
    assert_true(file_size(wal) > 0);
    app_exec(reader, "COMMIT");
    AWAIT(file_size(wal) == 0);

    assert_int_equal(app_int(db, ALL), 2 * MESSAGES);
    assert_int_equal(app_int(db, UNFINISHED), 0);
    for (int i = 0; i < WORKERS + IDLERS; i++)
        assert_ended_well(&children[i]);
    (void)sqlite3_close(reader);
    (void)sqlite3_close(db);
    wp_store_close(store);
}

static const role roles[] = {{"worker", play_worker}};

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DATABASE(test_wal__idle_pollers_and_a_reader__is_bounded_and_empty_when_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, roles, sizeof roles / sizeof roles[0], suite);
}
