/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of health: what is well, what is degraded and unhealthy, and that it says why. */
#include <jansson.h>
#include <sqlite3.h>
#include <waypost/health.h>
#include <waypost/job.h>
#include <waypost/timer.h>

#include "bed.h"

static wp_health *read_scope(bed *b, wp_health_scope scope, int64_t max_age_ms)
{
    wp_health *health = NULL;
    WPT_OK(wp_health_read(&health, b->store, scope, max_age_ms, 60000, WPT_ERR));
    return health;
}

static wp_health *read_worker(wp_worker *worker, wp_health_scope scope)
{
    wp_health *health = NULL;
    WPT_OK(wp_health_read_worker(&health, worker, scope, -1, 60000, WPT_ERR));
    return health;
}

/* It is so, and one reason holds `part`; frees it. */
static void is(wp_health *health, wp_health_status status, const char *part)
{
    if (wp_health_get_status(health) != status || !strstr(wp_health_reason(health), part))
        fail_msg("%s", wp_health_json(health));
    wp_health_free(health);
}

static int64_t value(const wp_health *health, wp_health_value which)
{
    return wp_health_store_value(health, 0, which);
}

/* scenario: HLT-101 */
/* proves: HLT-001 */
static void test_health__nothing_to_do__is_healthy_and_has_its_data(void **state)
{
    bed *b = *state;
    wp_health *health = read_scope(b, WP_HEALTH_OF_ALL, -1);
    json_t *json = json_loads(wp_health_json(health), 0, NULL);
    json_t *store = json_array_get(json_object_get(json, "stores"), 0);
    assert_string_equal(wp_health_reason(health), "");
    assert_int_equal(wp_health_store_count(health), 1);
    assert_string_equal(wp_health_store_id(health, 0), wp_store_id(b->store));
    assert_null(wp_health_store_id(health, 1));
    assert_true(value(health, WP_HEALTH_LATENCY_US) >= 0);
    assert_true(value(health, WP_HEALTH_SCHEMA) >= 3);
    assert_int_equal(value(health, WP_HEALTH_STALE), 0);
    assert_int_equal(value(health, WP_HEALTH_READY), 0);
    assert_true(value(health, WP_HEALTH_PUMP_LATE_US) == WP_HEALTH_NOT_KNOWN);
    assert_int_equal(wp_health_queue_value(health, 0, WP_SOURCE_OUTBOX, WP_STAT_READY), 0);
    assert_true(wp_health_queue_value(health, 0, WP_SOURCE_OUTBOX, WP_STAT_DONE) ==
                WP_HEALTH_NOT_KNOWN);
    assert_string_equal(json_string_value(json_object_get(json, "status")), "healthy");
    assert_string_equal(json_string_value(json_object_get(store, "engine")),
                        wp_store_engine(b->store));
    json_decref(json);
    is(health, WP_HEALTH_HEALTHY, "");
}

/* scenario: HLT-102 */
/* proves: HLT-001 */
static void test_health__a_lease_is_over__is_degraded_until_it_is_reaped(void **state)
{
    bed *b = *state;
    wp_health *health;
    (void)wpt_enqueue(b->store, "t", "x");
    wp_claim_free(wpt_claim(b->store, 1, 10, 1000));
    is(read_scope(b, WP_HEALTH_OF_ALL, -1), WP_HEALTH_HEALTHY, "");
    wpt_advance_ms(b->clock, 1001);
    health = read_scope(b, WP_HEALTH_OF_ALL, -1);
    assert_int_equal(value(health, WP_HEALTH_STALE), 1);
    is(health, WP_HEALTH_DEGRADED, "1 messages are held by leases that are over");
    is(read_scope(b, WP_HEALTH_OF_SCHEDULER, -1), WP_HEALTH_HEALTHY, "");
    WPT_OK(wp_outbox_reap(NULL, b->store, WPT_ERR));
    is(read_scope(b, WP_HEALTH_OF_ALL, -1), WP_HEALTH_HEALTHY, "");
}

/* scenario: HLT-103 */
/* proves: HLT-001 */
static void test_health__ready_for_longer_than_the_limit__is_overdue_in_its_queue(void **state)
{
    bed *b = *state;
    wp_message *timer = wpt_message("t", "x");
    wp_health *health;
    WPT_OK(wp_timer_schedule(&(wp_id){{0}}, NULL, b->store, NULL, timer, WPT_ERR));
    wp_message_free(timer);
    wpt_advance_ms(b->clock, 5000);
    is(read_scope(b, WP_HEALTH_OF_ALL, 5000), WP_HEALTH_HEALTHY, "");
    (void)wpt_enqueue(b->store, "t", "x");
    wpt_advance_ms(b->clock, 1);
    health = read_scope(b, WP_HEALTH_OF_ALL, 5000);
    assert_int_equal(value(health, WP_HEALTH_OVERDUE), 1);
    assert_int_equal(value(health, WP_HEALTH_READY), 2);
    assert_int_equal(value(health, WP_HEALTH_OLDEST_US), 5001000);
    is(health, WP_HEALTH_DEGRADED, "a message of the timers has been ready for 5 s");
    wpt_advance_ms(b->clock, 5000);
    health = read_scope(b, WP_HEALTH_OF_ALL, 5000);
    assert_int_equal(value(health, WP_HEALTH_OVERDUE), 2);
    is(health, WP_HEALTH_DEGRADED, "a message of the outbox has been ready for 5 s");
    health = read_scope(b, WP_HEALTH_OF_SCHEDULER, 5000);
    assert_int_equal(value(health, WP_HEALTH_OVERDUE), 1);
    is(health, WP_HEALTH_DEGRADED, "timer");
    is(read_scope(b, WP_HEALTH_OF_ALL, 0), WP_HEALTH_HEALTHY, "");
    is(read_scope(b, WP_HEALTH_OF_ALL, -1), WP_HEALTH_HEALTHY, "");
    wpt_advance_ms(b->clock, 300000);
    is(read_scope(b, WP_HEALTH_OF_ALL, -1), WP_HEALTH_DEGRADED, "outbox");
}

/* scenario: HLT-104 */
/* proves: HLT-001 */
static void test_health__a_job_is_due_and_nobody_makes_its_run__is_overdue(void **state)
{
    bed *b = *state;
    wp_job *job = NULL;
    wp_health *health;
    WPT_OK(wp_job_new(&job, "hourly", "t", "x", 1, WPT_ERR));
    WPT_OK(wp_job_set_schedule(job, "0 * * * *", NULL, WPT_ERR));
    WPT_OK(wp_job_put(b->store, job, WPT_ERR));
    wp_job_free(job);
    is(read_scope(b, WP_HEALTH_OF_SCHEDULER, 5000), WP_HEALTH_HEALTHY, "");
    wpt_advance_ms(b->clock, 3600000 + 5001);
    health = read_scope(b, WP_HEALTH_OF_SCHEDULER, 5000);
    assert_int_equal(value(health, WP_HEALTH_JOBS_LATE_US), 5001000);
    assert_int_equal(value(health, WP_HEALTH_OVERDUE), 1);
    is(health, WP_HEALTH_DEGRADED, "a job has been due for 5 s and its run is not made");
    WPT_OK(wp_job_schedule_due(NULL, b->store, WPT_ERR));
    health = read_scope(b, WP_HEALTH_OF_SCHEDULER, 60000);
    assert_int_equal(value(health, WP_HEALTH_JOBS_LATE_US), 0);
    is(health, WP_HEALTH_HEALTHY, "");
}

static void renumber(bed *b, int from, int to)
{
    char *name =
        sqlite3_mprintf(b->engine->journal, b->engine->schema ? b->engine->schema : "infra");
    char *sql = sqlite3_mprintf("UPDATE %s SET number = %d WHERE number = %d", name, to, from);
    bed_exec(b, sql);
    sqlite3_free(sql);
    sqlite3_free(name);
}

/* proves: HLT-001 */
static void test_health__schema_that_lacks_a_migration__is_unhealthy(void **state)
{
    bed *b = *state;
    renumber(b, 2, 60);
    is(read_scope(b, WP_HEALTH_OF_SCHEDULER, -1), WP_HEALTH_UNHEALTHY, "lacks migration");
    renumber(b, 60, 2);
    is(read_scope(b, WP_HEALTH_OF_ALL, -1), WP_HEALTH_HEALTHY, "");
}

static void test_health__bad_arguments__are_refused_by_kind(void **state)
{
    bed *b = *state;
    wp_health *health = NULL;
    WPT_FAILS(wp_health_read(NULL, b->store, WP_HEALTH_OF_ALL, -1, -1, WPT_ERR), WP_E_ARGUMENT,
              "out");
    WPT_FAILS(wp_health_read(&health, NULL, WP_HEALTH_OF_ALL, -1, -1, WPT_ERR), WP_E_ARGUMENT,
              "store");
    WPT_FAILS(wp_health_read(&health, b->store, (wp_health_scope)2, -1, -1, WPT_ERR), WP_E_RANGE,
              "scope");
    WPT_FAILS(wp_health_read(&health, b->store, WP_HEALTH_OF_ALL, INT64_MAX, -1, WPT_ERR),
              WP_E_RANGE, "max_age_ms");
    WPT_FAILS(wp_health_read(&health, b->store, WP_HEALTH_OF_ALL, -1, INT64_MAX, WPT_ERR),
              WP_E_RANGE, "limit_ms");
    WPT_STATUS(wp_health_read_worker(&health, NULL, WP_HEALTH_OF_ALL, -1, -1, WPT_ERR),
               WP_E_ARGUMENT);
    assert_null(health);
    assert_int_equal(wp_health_get_status(NULL), WP_HEALTH_UNHEALTHY);
    assert_string_equal(wp_health_json(NULL), "{}");
    assert_true(wp_health_store_value(NULL, 0, WP_HEALTH_READY) == WP_HEALTH_NOT_KNOWN);
    wp_health_free(NULL);
}

/* ---- workers ------------------------------------------------------------------------------ */

static wp_outcome done(wp_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return WP_OUTCOME_DONE;
}

static wp_outcome wait_in(wp_delivery *delivery, void *gate)
{
    (void)delivery;
    wpt_gate_pass(gate);
    return WP_OUTCOME_DONE;
}

static wp_worker *worker_new(bed *b, const char *const *options, wp_handler_fn fn, void *user)
{
    wp_config *config = wpt_config(b->clock, options);
    wp_worker *worker = NULL;
    WPT_OK(wp_worker_new(&worker, b->store, config, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t", fn, user, NULL, WPT_ERR));
    wp_config_free(config);
    return worker;
}

/* scenario: HLT-105 */
/* proves: HLT-001 */
static void test_health__of_a_worker__is_healthy_only_while_it_runs(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, NULL, done, NULL);
    wp_health *health;
    is(read_worker(worker, WP_HEALTH_OF_ALL), WP_HEALTH_UNHEALTHY, "not running");
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    WPT_AWAIT((health = read_worker(worker, WP_HEALTH_OF_ALL),
               wp_health_get_status(health) == WP_HEALTH_HEALTHY || (wp_health_free(health), 0)));
    assert_int_equal(value(health, WP_HEALTH_RUNNING), 0);
    assert_true(value(health, WP_HEALTH_PUMP_LATE_US) >= 0);
    assert_int_equal(value(health, WP_HEALTH_UNHANDLED), 0);
    wp_health_free(health);
    (void)wpt_enqueue(b->store, "nobody's", "x");
    health = read_worker(worker, WP_HEALTH_OF_ALL);
    assert_int_equal(value(health, WP_HEALTH_UNHANDLED), 1);
    assert_non_null(strstr(wp_health_json(health), "nobody's"));
    is(health, WP_HEALTH_HEALTHY, "");
    WPT_OK(wp_worker_stop(NULL, worker, 10000, WPT_ERR));
    is(read_worker(worker, WP_HEALTH_OF_SCHEDULER), WP_HEALTH_UNHEALTHY, "not running");
    wp_worker_free(worker);
}

static bool has_both(wp_worker *worker)
{
    wp_health *health = read_worker(worker, WP_HEALTH_OF_ALL);
    const bool both = value(health, WP_HEALTH_RUNNING) == 1;
    wp_health_free(health);
    return both;
}

/* proves: HLT-001 */
static void test_health__handlers_that_never_end_while_messages_wait__is_degraded(void **state)
{
    bed *b = *state;
    wpt_gate gate;
    wp_worker *worker;
    wp_health *health;
    wpt_gate_init(&gate);
    worker = worker_new(b,
                        WPT_OPTIONS("worker.concurrency", "1", "worker.lease_ms", "86400000",
                                    "health.handler_ms", "60000", "health.pump_ms", "86400000"),
                        wait_in, &gate);
    (void)wpt_enqueue(b->store, "t", "1");
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    WPT_AWAIT(wpt_gate_waiting(&gate) == 1);
    WPT_AWAIT(has_both(worker));
    wpt_advance_ms(b->clock, 59000);
    is(read_worker(worker, WP_HEALTH_OF_ALL), WP_HEALTH_HEALTHY, "");
    wpt_advance_ms(b->clock, 1000);
    health = read_worker(worker, WP_HEALTH_OF_ALL);
    assert_true(value(health, WP_HEALTH_HANDLER_US) >= 60000000);
    is(health, WP_HEALTH_DEGRADED, "all handlers have been at theirs for long");
    wpt_gate_open(&gate, SIZE_MAX);
    WPT_OK(wp_worker_stop(NULL, worker, 10000, WPT_ERR));
    wp_worker_free(worker);
    wpt_gate_fini(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_health__nothing_to_do__is_healthy_and_has_its_data),
        BED_TEST(test_health__a_lease_is_over__is_degraded_until_it_is_reaped),
        BED_TEST(test_health__ready_for_longer_than_the_limit__is_overdue_in_its_queue),
        BED_TEST(test_health__schema_that_lacks_a_migration__is_unhealthy),
        BED_TEST(test_health__bad_arguments__are_refused_by_kind),
        BED_TEST(test_health__of_a_worker__is_healthy_only_while_it_runs),
        BED_TEST(test_health__handlers_that_never_end_while_messages_wait__is_degraded),
        BED_TEST(test_health__a_job_is_due_and_nobody_makes_its_run__is_overdue),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
