/* SPDX-License-Identifier: Apache-2.0 */
/* A MariaDB server of this program's own: it crashes under load, and its limits are set low. */
#include "fault.h"

#include "own_server.h"
#include "support/wpt_mariadb.h"

enum { PRODUCERS = 2, THREADS = 3, EACH = FAULT_ROUNDS(200), CRASHES = 3 };

/* Leases outlast a crash; whatever fails is tried again at once. */
static const char options[] =
    "worker.lease_ms=60000 worker.job_lease_ms=60000 worker.reap_ms=50 worker.poll_min_ms=1 "
    "worker.poll_max_ms=50 worker.backoff_base_ms=1 worker.backoff_max_ms=20 "
    "worker.max_attempts=1000000 store.busy_timeout_ms=20000";

/* ---- crashes ------------------------------------------------------------------------------ */

typedef struct producer {
    wp_store *store;
    int first;
    bool unsure[EACH];
    wp__thread thread;
} producer;

/* A message is stored when this says so; it may be stored twice only where an error said that this is not known. */
static void *produce(void *arg)
{
    producer *p = arg;
    for (int i = 0; i < EACH; i++) {
        char text[16];
        wp_message *message;
        bool done = false;
        (void)snprintf(text, sizeof text, "%d", p->first + i);
        message = fault_message("t", text);
        while (!done) {
            wp_error *err = NULL;
            wp_id id;
            done = wp_outbox_enqueue(&id, NULL, p->store, NULL, message, &err) == WP_OK;
            if (!done && !wp_error_retriable(err))
                fault_die(__FILE__, __LINE__, wp_error_message(err));
            p->unsure[i] = p->unsure[i] || wp_error_outcome_unknown(err);
            wp_error_free(err);
        }
        wp_message_free(message);
    }
    return NULL;
}

static wp_outcome handle(wp_delivery *delivery, void *user)
{
    const fault_handling *h = user;
    history_write(h->history, 'b', wp_delivery_message(delivery));
    fault_nap_us(fault_random(h->work_us));
    return WP_OUTCOME_DONE;
}

static wp_outcome run(wp_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return WP_OUTCOME_DONE;
}

/* proves: WRK-002, OBX-113 */
static void test_crash__under_load__what_was_committed_is_done_once(void **state)
{
    place *pl = *state;
    char url[256], sql[200];
    wp_store *store;
    fault_handling h = {.path = pl->path, .work_us = 3000};
    static producer producers[PRODUCERS];
    wp_job *job = NULL;
    wp_worker *worker = NULL;
    SQLHDBC dbc;
    wpt_mariadb_name(url, sizeof url, "crash");
    (void)wpt_mariadb_create(url, sizeof url, NULL);
    wp_store_close(wpt_store(url, NULL, NULL));
    h.store = store = fault_store(url, options);
    h.history = history_open(pl->path);
    MUST_OK(wp_job_new(&job, "j", "j", "x", 1, &must_err));
    MUST_OK(wp_job_set_schedule(job, "* * * * * *", NULL, &must_err));
    MUST_OK(wp_job_put(store, job, &must_err));
    MUST_OK(wp_worker_new(&worker, store, NULL, &must_err));
    MUST_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t", handle, &h, NULL, &must_err));
    MUST_OK(wp_worker_handle(worker, WP_SOURCE_JOB, "j", run, NULL, NULL, &must_err));
    MUST_OK(wp_worker_start(worker, THREADS, &must_err));
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = (producer){.store = store, .first = i * EACH};
        MUST_OK(
            wp__thread_start(&producers[i].thread, "producer", produce, &producers[i], &must_err));
    }
    for (int i = 0; i < CRASHES; i++) {
        const size_t before = history_count(pl->path, 'b');
        if (before < PRODUCERS * EACH / 2)
            AWAIT(history_count(pl->path, 'b') > before);
        fault_nap_us(fault_random(200000));
        own_server_do("restart");
    }
    for (int i = 0; i < PRODUCERS; i++)
        wp__thread_join(&producers[i].thread);
    dbc = wpt_mariadb_connect(url);
    AWAIT(wpt_odbc_number(dbc, "SELECT COUNT(*) FROM infra_outbox_work") == 0);
    AWAIT(wpt_odbc_number(dbc, "SELECT COUNT(*) FROM infra_job_run_finished") > 0);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    for (int i = 0; i < PRODUCERS * EACH; i++) {
        int64_t count;
        (void)snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM infra_outbox WHERE payload = '%d'",
                       i);
        count = wpt_odbc_number(dbc, sql);
        assert_true(count == 1 || (count > 1 && producers[i / EACH].unsure[i % EACH]));
    }
    assert_int_equal(
        wpt_odbc_number(dbc, "SELECT COUNT(*) FROM infra_outbox_finished WHERE status = 2"),
        wpt_odbc_number(dbc, "SELECT COUNT(*) FROM infra_outbox"));
    /* an occurrence has one run, and all have ended */
    assert_int_equal(
        wpt_odbc_number(dbc, "SELECT COUNT(*) - COUNT(DISTINCT occurrence_at) FROM infra_job_run"),
        0);
    assert_int_equal(
        wpt_odbc_number(dbc, "SELECT COUNT(*) FROM infra_job_run_finished WHERE status <> 2"), 0);
    (void)close(h.history);
    wpt_odbc_close(dbc);
    wp_job_free(job);
    wp_store_close(store);
    wpt_mariadb_release();
}

/* ---- limits ------------------------------------------------------------------------------- */

static wp_status enqueue(wp_store *store, const char *payload, size_t len, const char *key,
                         wp_error **err)
{
    wp_message *message = NULL;
    wp_status st;
    wp_id id;
    WPT_OK(wp_message_new(&message, "t", payload, len, WPT_ERR));
    if (key)
        WPT_OK(wp_message_set_unique_key(message, key, WPT_ERR));
    st = wp_outbox_enqueue(&id, NULL, store, NULL, message, err);
    wp_message_free(message);
    return st;
}

/* A message that does not fit into a packet of the server's never will: that is no outage. Of one so large that the
 * client is still sending it, the server's answer is lost. */
static void
test_enqueue__larger_than_a_packet__fails_for_good_and_the_next_one_is_stored(void **state)
{
    enum { PACKET = 1048576 };
    char url[256];
    char *payload = malloc(PACKET);
    wp_store *store;
    SQLHDBC dbc;
    (void)state;
    assert_non_null(payload);
    memset(payload, 'x', PACKET);
    wpt_mariadb_name(url, sizeof url, "packet");
    dbc = wpt_mariadb_create(url, sizeof url, NULL);
    wp_store_close(wpt_store(url, NULL, NULL));
    wpt_odbc_exec(dbc, "SET GLOBAL max_allowed_packet = 1048576");
    store = fault_store(url, "");
    for (int keyed = 0; keyed < 2; keyed++) {
        WPT_FAILS(enqueue(store, payload, PACKET, keyed ? "k" : NULL, WPT_ERR), WP_E_DB,
                  "max_allowed_packet");
        assert_false(wpt_last_retriable());
        WPT_OK(enqueue(store, payload, PACKET / 2, NULL, WPT_ERR));
    }
    assert_int_equal(wpt_odbc_number(dbc, "SELECT COUNT(*) FROM infra_outbox"), 2);
    wp_store_close(store);
    wpt_odbc_exec(dbc, "SET GLOBAL max_allowed_packet = 16777216");
    wpt_mariadb_release();
    free(payload);
}

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(test_enqueue__larger_than_a_packet__fails_for_good_and_the_next_one_is_stored),
        WITH_PLACE(test_crash__under_load__what_was_committed_is_done_once),
    };
    return cmocka_run_group_tests(tests, own_mariadb_start, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, NULL, 0, suite);
}
