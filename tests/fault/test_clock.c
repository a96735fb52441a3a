/* SPDX-License-Identifier: Apache-2.0 */
/* The wall clock is set while workers run: leases and timeouts go by elapsed time. */
#include "fault.h"

#include <stdatomic.h>

#define HOUR_US INT64_C(3600000000)
#define SECOND_US 1000000
#define NOON_US (INT64_C(1795867200) * SECOND_US)

typedef struct scene {
    wp_clock *clock;
    wp_store *store;
    wp_worker *worker;
    wp_worker *other; /* has nothing to do and would take over whatever it could */
    atomic_int entered;
    atomic_int cancel;
    atomic_bool open;
} scene;

static wp_outcome hold(wp_delivery *delivery, void *user)
{
    scene *s = user;
    atomic_fetch_add(&s->entered, 1);
    while (!atomic_load(&s->open)) {
        atomic_store(&s->cancel, (int)wp_delivery_cancelled(delivery));
        fault_nap_us(200);
    }
    return WP_OUTCOME_DONE;
}

static void scene_begin(scene *s, const char *path, const char *options)
{
    wp_config *config = fault_config(path, options);
    MUST_OK(wp_clock_new_manual(&s->clock, NOON_US, &must_err));
    MUST_OK(wp_config_set_clock(config, s->clock, &must_err));
    MUST_OK(wp_store_open(&s->store, config, &must_err));
    wp_config_free(config);
    s->worker = fault_worker(s->store, "t", hold, s);
    s->other = fault_worker(s->store, "t", hold, s);
}

static void scene_end(scene *s)
{
    MUST_OK(wp_worker_stop(NULL, s->worker, PATIENCE_MS, &must_err));
    MUST_OK(wp_worker_stop(NULL, s->other, PATIENCE_MS, &must_err));
    wp_worker_free(s->worker);
    wp_worker_free(s->other);
    wp_store_close(s->store);
    wp_clock_free(s->clock);
}

static void advance(scene *s, int64_t us)
{
    MUST_OK(wp_clock_advance_us(s->clock, us, &must_err));
}

/* Let time pass in steps, each of which the keeper sees: it renews every 18 s or so. */
static void pass_with_renewals(scene *s, int times)
{
    for (int i = 0; i < times; i++) {
        const int64_t renewed = wp_worker_counter(s->worker, WP_COUNTER_RENEWED);
        for (int step = 0; step < 18; step++) {
            advance(s, SECOND_US);
            fault_nap_us(300); /* reapers get their turn as well */
        }
        AWAIT(wp_worker_counter(s->worker, WP_COUNTER_RENEWED) > renewed);
    }
}

static void jump_while_running(const place *p, int64_t jump_us)
{
    scene s = {.open = false};
    int64_t renewed;
    scene_begin(&s, p->path, "worker.lease_ms=30000 worker.concurrency=1");
    (void)fault_enqueue(s.store, "t", "x");
    MUST_OK(wp_worker_start(s.worker, 1, &must_err));
    AWAIT(atomic_load(&s.entered) == 1);
    MUST_OK(wp_worker_start(s.other, 1, &must_err));
    AWAIT(wp_worker_counter(s.other, WP_COUNTER_POLLS) > 0);
    /* both have seen the clock as it is */
    for (int i = 0; i < 3; i++) {
        advance(&s, SECOND_US);
        fault_nap_us(2000);
    }
    renewed = wp_worker_counter(s.worker, WP_COUNTER_RENEWED);
    MUST_OK(wp_clock_jump_us(s.clock, jump_us, &must_err));
    advance(&s, SECOND_US);
    AWAIT(wp_worker_counter(s.worker, WP_COUNTER_RENEWED) > renewed); /* at once */
    pass_with_renewals(&s, 3);
    assert_int_equal(atomic_load(&s.cancel), WP_CANCEL_NONE);
    atomic_store(&s.open, true);
    AWAIT(count_of(p->path, DONE) == 1);
    scene_end(&s);
    assert_int_equal(atomic_load(&s.entered), 1);
    assert_int_equal(count_of(p->path, "SELECT max(claim_number) FROM infra_outbox_finished"), 1);
}

/* proves: CLK-001, OBX-115 */
static void test_clock__jumps_an_hour_ahead__running_work_keeps_its_lease(void **state)
{
    jump_while_running(*state, HOUR_US);
}

/* proves: CLK-001, OBX-115 */
static void test_clock__jumps_an_hour_back__running_work_keeps_its_lease(void **state)
{
    jump_while_running(*state, -HOUR_US);
}

/* proves: CLK-001 */
static void test_clock__jumps_back__delayed_message_does_not_come_early(void **state)
{
    const place *p = *state;
    scene s = {.open = true};
    wp_message *message = fault_message("t", "x");
    wp_id id;
    scene_begin(&s, p->path, "");
    MUST_OK(wp_message_set_delay_ms(message, 60000, &must_err));
    MUST_OK(wp_outbox_enqueue(&id, NULL, s.store, NULL, message, &must_err));
    MUST_OK(wp_worker_start(s.worker, 1, &must_err));
    AWAIT(wp_worker_counter(s.worker, WP_COUNTER_POLLS) > 0);
    MUST_OK(wp_clock_jump_us(s.clock, -HOUR_US, &must_err));
    for (int i = 0; i < 59; i++) {
        const int64_t polls = wp_worker_counter(s.worker, WP_COUNTER_POLLS);
        advance(&s, SECOND_US);
        wp_worker_wake(s.worker);
        AWAIT(wp_worker_counter(s.worker, WP_COUNTER_POLLS) > polls);
    }
    assert_int_equal(atomic_load(&s.entered), 0);
    advance(&s, HOUR_US + 2 * (int64_t)SECOND_US);
    wp_worker_wake(s.worker);
    AWAIT(count_of(p->path, DONE) == 1);
    scene_end(&s);
    wp_message_free(message);
}

/* proves: CLK-001, OBX-013 */
static void test_clock__jumps_back__messages_that_were_due_are_handled(void **state)
{
    const place *p = *state;
    const int64_t past_us = NOON_US - SECOND_US;
    scene s = {.open = true};
    wp_message *message = fault_message("t", "x");
    wp_id id;
    scene_begin(&s, p->path, "");
    (void)fault_enqueue(s.store, "t", "x");
    MUST_OK(wp_message_set_due_us(message, past_us, &must_err));
    MUST_OK(wp_outbox_enqueue(&id, NULL, s.store, NULL, message, &must_err));
    MUST_OK(wp_message_set_delay_ms(message, 60000, &must_err));
    MUST_OK(wp_outbox_enqueue(&id, NULL, s.store, NULL, message, &must_err));
    MUST_OK(wp_clock_jump_us(s.clock, -HOUR_US, &must_err));
    MUST_OK(wp_worker_start(s.worker, 1, &must_err));
    AWAIT(count_of(p->path, DONE) == 2);
    (void)fault_enqueue(s.store, "t", "x"); /* by the clock as it is now */
    AWAIT(count_of(p->path, DONE) == 3);
    assert_int_equal(count_of(p->path, UNFINISHED), 1);
    scene_end(&s);
    wp_message_free(message);
}

/* proves: CLK-001 */
static void test_clock__jumps_ahead__timeout_goes_by_elapsed_time(void **state)
{
    const place *p = *state;
    scene s = {.open = false};
    scene_begin(&s, p->path, "worker.timeout_ms=10000 worker.concurrency=1");
    (void)fault_enqueue(s.store, "t", "x");
    MUST_OK(wp_worker_start(s.worker, 1, &must_err));
    AWAIT(atomic_load(&s.entered) == 1);
    for (int i = 0; i < 9; i++) {
        const int64_t renewed = wp_worker_counter(s.worker, WP_COUNTER_RENEWED);
        MUST_OK(wp_clock_jump_us(s.clock, i % 2 ? -HOUR_US : HOUR_US, &must_err));
        advance(&s, SECOND_US);
        /* or the five seconds' grace for that passes while the keeper waits for a processor */
        AWAIT(wp_worker_counter(s.worker, WP_COUNTER_RENEWED) > renewed);
        assert_int_equal(atomic_load(&s.cancel), WP_CANCEL_NONE);
    }
    advance(&s, 2 * SECOND_US);
    AWAIT(atomic_load(&s.cancel) == WP_CANCEL_TIMEOUT);
    atomic_store(&s.open, true);
    scene_end(&s);
}

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DATABASE(test_clock__jumps_an_hour_ahead__running_work_keeps_its_lease),
        WITH_DATABASE(test_clock__jumps_an_hour_back__running_work_keeps_its_lease),
        WITH_DATABASE(test_clock__jumps_back__delayed_message_does_not_come_early),
        WITH_DATABASE(test_clock__jumps_back__messages_that_were_due_are_handled),
        WITH_DATABASE(test_clock__jumps_ahead__timeout_goes_by_elapsed_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, NULL, 0, suite);
}
