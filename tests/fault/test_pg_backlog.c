/* SPDX-License-Identifier: Apache-2.0 */
/* A worker with a backlog on PostgreSQL uses a second connection: what it means to lose one of them, to
 * stop, and to meet suspects then. */
#include "pg.h"

#include "worker/worker.h"

enum { BACKLOG = 4000, KILL_EACH = 300 };

typedef struct counts {
    atomic_int handled; /* all together */
    atomic_int of[BACKLOG];
    atomic_int running;
    atomic_int suspects; /* running */
    atomic_int crowded;  /* suspects that were not alone */
} counts;

/* The payload is the number; a suspect is alone. */
static wp_outcome count(wp_delivery *delivery, void *user)
{
    counts *c = user;
    const wp_received *message = wp_delivery_message(delivery);
    const long number = strtol(wp_received_payload(NULL, message), NULL, 10);
    const int others = atomic_fetch_add(&c->running, 1);
    const int suspects = atomic_fetch_add(&c->suspects, message->suspect);
    if (suspects || (message->suspect && others))
        atomic_fetch_add(&c->crowded, 1);
    atomic_fetch_add(&c->of[number], 1);
    atomic_fetch_sub(&c->suspects, message->suspect);
    atomic_fetch_sub(&c->running, 1);
    atomic_fetch_add(&c->handled, 1);
    return WP_OUTCOME_DONE;
}

static void check_each_once(counts *c)
{
    for (size_t i = 0; i < BACKLOG; i++)
        assert_int_equal(atomic_load(&c->of[i]), 1);
}

static bool second_is_used(wp_worker *worker)
{
    bool used;
    wp__mutex_lock(&worker->mutex);
    used = worker->parts->second_conn != NULL;
    wp__mutex_unlock(&worker->mutex);
    return used;
}

/* proves: WRK-001 */
static void test_backlog__of_thousands__is_shared_by_two_connections(void **state)
{
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "");
    counts c = {0};
    wp_worker *worker = fault_worker(store, "t", count, &c);
    pg_enqueue_numbers(store, "t", 0, BACKLOG);
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    AWAIT(second_is_used(worker));
    AWAIT(pg_number(p->db, PG_DONE) == BACKLOG);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    assert_false(second_is_used(worker));
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_CLAIMED), BACKLOG);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_ACKED), BACKLOG);
    check_each_once(&c);
    wp_worker_free(worker);
    wp_store_close(store);
}

/* What was written unseen is found, and what was claimed unseen is given back. */
static void test_backlog__connections_killed_all_the_time__each_is_handled_once(void **state)
{
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "worker.reap_ms=20 worker.poll_max_ms=20");
    counts c = {0};
    wp_worker *worker = fault_worker(store, "t", count, &c);
    pg_enqueue_numbers(store, "t", 0, BACKLOG);
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    for (int next = KILL_EACH; next < BACKLOG; next += KILL_EACH) {
        AWAIT(atomic_load(&c.handled) >= next);
        (void)pg_number(p->db,
                        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                        "datname = current_database() AND pid <> pg_backend_pid()");
    }
    AWAIT(pg_number(p->db, PG_DONE) == BACKLOG);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    check_each_once(&c);
    wp_worker_free(worker);
    wp_store_close(store);
}

/* What is claimed at that moment goes back, on whichever connection it was. */
static void test_backlog__worker_stopped_in_the_middle__nothing_stays_held(void **state)
{
    pg_place *p = *state;
    wp_store *store = fault_store(p->url, "");
    counts c = {0};
    pg_enqueue_numbers(store, "t", 0, BACKLOG);
    for (int until = BACKLOG / 4; until <= BACKLOG; until += BACKLOG / 4) {
        wp_worker *worker = fault_worker(store, "t", count, &c);
        MUST_OK(wp_worker_start(worker, 2, &must_err));
        AWAIT(atomic_load(&c.handled) >= until);
        MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
        assert_int_equal(pg_number(p->db, PG_HELD), 0);
        assert_int_equal(pg_number(p->db, PG_DONE), atomic_load(&c.handled));
        wp_worker_free(worker);
    }
    check_each_once(&c);
    wp_store_close(store);
}

/* The clock stands still, so that the time for which a suspect is alone never ends. */
static void test_backlog__with_suspects__they_run_alone(void **state)
{
    pg_place *p = *state;
    wp_clock *clock = wpt_clock();
    wp_store *store = wpt_store(p->url, clock, WPT_OPTIONS("worker.concurrency", "4"));
    counts c = {0};
    wp_worker *worker = fault_worker(store, "t", count, &c);
    pg_enqueue_numbers(store, "t", 0, BACKLOG);
    pg_exec(p->db, "UPDATE infra.outbox_work SET attempt = 1, last_error = 'lease expired' "
                   "WHERE seq %% 700 = 0");
    MUST_OK(wp_worker_start(worker, 4, &must_err));
    AWAIT(pg_number(p->db, PG_DONE) == BACKLOG);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    assert_int_equal(atomic_load(&c.crowded), 0);
    check_each_once(&c);
    wp_worker_free(worker);
    wp_store_close(store);
    wp_clock_free(clock);
}

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PG(test_backlog__of_thousands__is_shared_by_two_connections),
        WITH_PG(test_backlog__connections_killed_all_the_time__each_is_handled_once),
        WITH_PG(test_backlog__worker_stopped_in_the_middle__nothing_stays_held),
        WITH_PG(test_backlog__with_suspects__they_run_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, NULL, 0, suite);
}
