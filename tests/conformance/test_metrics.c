/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of metrics: counters tell what was done, gauges what is there. */
#include <jansson.h>
#include <waypost/health.h>
#include <waypost/metrics.h>

#include "bed.h"

/* The value of the sample with these labels (NULL: it has none), or -1: there is none. */
static double sample(const wp_metrics *metrics, const char *name, const char *queue,
                     const char *topic)
{
    json_t *samples = json_loads(wp_metrics_json(metrics), 0, NULL);
    double value = -1;
    size_t i;
    json_t *one;
    assert_non_null(samples);
    json_array_foreach(samples, i, one)
    {
        const json_t *labels = json_object_get(one, "labels");
        const char *its_queue = json_string_value(json_object_get(labels, "queue"));
        const char *its_topic = json_string_value(json_object_get(labels, "topic"));
        if (strcmp(json_string_value(json_object_get(one, "name")), name) != 0 ||
            json_object_get(labels, "le") || !queue != !its_queue || !topic != !its_topic ||
            (queue && strcmp(queue, its_queue) != 0) || (topic && strcmp(topic, its_topic) != 0))
            continue;
        assert_true(value < 0); /* no two have the same labels */
        value = json_number_value(json_object_get(one, "value"));
    }
    json_decref(samples);
    return value;
}

static wp_metrics *read_worker(wp_worker *worker)
{
    wp_metrics *metrics = NULL;
    WPT_OK(wp_metrics_read(&metrics, worker, 60000, WPT_ERR));
    return metrics;
}

static wp_worker *worker_new(bed *b, const char *const *options)
{
    wp_config *config = wpt_config(b->clock, options);
    wp_worker *worker = NULL;
    WPT_OK(wp_worker_new(&worker, b->store, config, WPT_ERR));
    wp_config_free(config);
    return worker;
}

static wp_outcome answer(wp_delivery *delivery, void *clock)
{
    const char *payload = wp_received_payload(NULL, wp_delivery_message(delivery));
    wpt_advance_ms(clock, 20);
    return payload[0] == 'd'   ? WP_OUTCOME_DONE
           : payload[0] == 'r' ? WP_OUTCOME_RETRY
                               : WP_OUTCOME_REJECT;
}

/* proves: MET-001 */
static void test_metrics__of_a_worker__count_what_it_did_by_topic(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, WPT_OPTIONS("worker.backoff_base_ms", "1000"));
    wp_metrics *m;
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t", answer, b->clock, NULL, WPT_ERR));
    m = read_worker(worker); /* before it has run */
    assert_true(sample(m, "worker_processed_total", NULL, NULL) == 0);
    assert_true(sample(m, "waypost_acked_total", "outbox", "t") == -1);
    wp_metrics_free(m);
    (void)wpt_enqueue(b->store, "t", "done");
    (void)wpt_enqueue(b->store, "t", "retry");
    (void)wpt_enqueue(b->store, "t", "x");
    (void)wpt_enqueue(b->store, "other", "x");
    WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
    m = read_worker(worker);
    assert_true(sample(m, "worker_processed_total", NULL, NULL) == 3);
    assert_true(sample(m, "worker_errors_total", NULL, NULL) == 2);
    assert_true(sample(m, "worker_memory_bytes", NULL, NULL) > 1e6);
    assert_true(sample(m, "waypost_claimed_total", "outbox", "t") == 3);
    assert_true(sample(m, "waypost_acked_total", "outbox", "t") == 1);
    assert_true(sample(m, "waypost_abandoned_total", "outbox", "t") == 1);
    assert_true(sample(m, "waypost_failed_total", "outbox", "t") == 1);
    assert_true(sample(m, "waypost_retried_total", "outbox", "t") == 0);
    assert_true(sample(m, "waypost_handler_seconds_count", "outbox", "t") == 3);
    assert_true(sample(m, "waypost_handler_seconds_sum", "outbox", "t") >= 0.06);
    assert_true(sample(m, "waypost_lag_seconds_count", "outbox", "t") == 3);
    assert_true(sample(m, "queue_depth", "outbox", "t") == 0);
    assert_true(sample(m, "waypost_scheduled_messages", "outbox", "t") == 1);
    assert_true(sample(m, "queue_depth", "outbox", "other") == 1);
    assert_true(sample(m, "waypost_unhandled_topics", NULL, NULL) == 1);
    assert_true(sample(m, "waypost_store_up", NULL, NULL) == 1);
    wp_metrics_free(m);
    wpt_advance_ms(b->clock, 2000);
    WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
    m = read_worker(worker);
    assert_true(sample(m, "waypost_retried_total", "outbox", "t") == 1);
    assert_true(sample(m, "waypost_lag_seconds_count", "outbox", "t") == 3);
    assert_true(sample(m, "waypost_oldest_ready_seconds", "outbox", "other") >= 2);
    wp_metrics_free(m);
    wp_worker_free(worker);
}

/* proves: MET-001 */
static void test_metrics__a_lease_that_ended__is_reaped_once_and_the_ack_is_lost(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_new(b, NULL);
    wp_metrics *m;
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t", answer, b->clock, NULL, WPT_ERR));
    (void)wpt_enqueue(b->store, "t", "done");
    wp_claim_free(wpt_claim(b->store, 1, 10, 1000));
    wpt_advance_ms(b->clock, 1001);
    WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
    m = read_worker(worker);
    assert_true(sample(m, "waypost_reaped_total", "outbox", NULL) == 1);
    assert_true(sample(m, "waypost_stale_messages", "outbox", "t") == 0);
    wp_metrics_free(m);
    wp_worker_free(worker);
}

/* proves: MET-001 */
static void test_metrics__hostile_topics__are_escaped_and_read_back(void **state)
{
    static const char *const names[] = {"a\"b", "c\\d", "e\nf", "g{h=\"1\"} 2",
                                        "\xc3\xa4\xf0\x9f\x9a\x80"};
    bed *b = *state;
    wp_metrics *m = NULL;
    for (size_t i = 0; i < WPT_COUNT(names); i++)
        (void)wpt_enqueue(b->store, names[i], "x");
    WPT_OK(wp_metrics_read_store(&m, b->store, 60000, WPT_ERR));
    for (size_t i = 0; i < WPT_COUNT(names); i++)
        assert_true(sample(m, "queue_depth", "outbox", names[i]) == 1);
    assert_non_null(strstr(wp_metrics_text(m), "topic=\"a\\\"b\"} 1\n"));
    assert_non_null(strstr(wp_metrics_text(m), "topic=\"c\\\\d\"} 1\n"));
    assert_non_null(strstr(wp_metrics_text(m), "topic=\"e\\nf\"} 1\n"));
    wp_metrics_free(m);
}

/* proves: MET-001 */
static void test_metrics__more_topics_than_series__the_rest_is_one(void **state)
{
    enum { TOPICS = 130, SERIES = 100 };
    bed *b = *state;
    wp_worker *worker = worker_new(b, NULL);
    wp_metrics *m;
    char name[16];
    int more = 0;
    for (int i = 0; i < TOPICS; i++) {
        (void)snprintf(name, sizeof name, "t%03d", i);
        (void)wpt_enqueue(b->store, name, "x");
    }
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t129", answer, b->clock, NULL, WPT_ERR));
    m = read_worker(worker);
    assert_true(sample(m, "queue_depth", "outbox", "t129") == 1);
    assert_true(sample(m, "queue_depth", "outbox", "(other)") == TOPICS - SERIES - 1);
    for (const char *at = wp_metrics_text(m); (at = strstr(at, "\nqueue_depth{")); at++)
        more++;
    assert_int_equal(more, SERIES + 2);
    wp_metrics_free(m);
    wp_worker_free(worker);
}

static void test_metrics__bad_arguments__are_refused_by_kind(void **state)
{
    bed *b = *state;
    wp_metrics *m = NULL;
    WPT_STATUS(wp_metrics_read(&m, NULL, -1, WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_metrics_read_store(&m, NULL, -1, WPT_ERR), WP_E_ARGUMENT);
    WPT_FAILS(wp_metrics_read_store(NULL, b->store, -1, WPT_ERR), WP_E_ARGUMENT, "out");
    WPT_FAILS(wp_metrics_read_store(&m, b->store, INT64_MAX, WPT_ERR), WP_E_RANGE, "limit_ms");
    assert_null(m);
    assert_string_equal(wp_metrics_text(NULL), "");
    assert_string_equal(wp_metrics_json(NULL), "[]");
    wp_metrics_free(NULL);
}

static double desired(wp_worker *worker)
{
    wp_metrics *m = read_worker(worker);
    const double value = sample(m, "waypost_scaling_desired_workers", NULL, NULL);
    wp_metrics_free(m);
    return value;
}

/* proves: SCL-001 */
static void test_metrics__scaling__tells_how_many_workers_there_should_be(void **state)
{
    bed *b = *state;
    wp_worker *worker =
        worker_new(b, WPT_OPTIONS("scaling.min_instances", "1", "scaling.max_instances", "4",
                                  "scaling.cooldown_ms", "60000", "scaling.interval_ms", "1000",
                                  "worker.concurrency", "1", "worker.batch_size", "1"));
    wp_delivery *delivery = NULL;
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "held", NULL, NULL, NULL, WPT_ERR));
    assert_true(desired(worker) == -1);                                      /* it does not run */
    WPT_STATUS(wp_worker_next(&delivery, worker, 0, WPT_ERR), WP_E_TIMEOUT); /* it runs now */
    for (int i = 0; i < 50; i++)
        (void)wpt_enqueue(b->store, "nobody's", "x");
    assert_true(desired(worker) == 1);
    wpt_advance_ms(b->clock, 1000);
    assert_true(desired(worker) == 1); /* what others handle is not its */
    wpt_advance_ms(b->clock, 999);
    for (int i = 0; i < 50; i++)
        (void)wpt_enqueue(b->store, "held", "x");
    assert_true(desired(worker) == 1); /* not yet */
    wpt_advance_ms(b->clock, 1);
    assert_true(desired(worker) == 2); /* nothing is done: one more */
    wpt_advance_ms(b->clock, 59999);
    assert_true(desired(worker) == 2); /* it cools down */
    wpt_advance_ms(b->clock, 1000);
    assert_true(desired(worker) == 3);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    assert_true(desired(worker) == -1);
    wp_worker_free(worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_metrics__of_a_worker__count_what_it_did_by_topic),
        BED_TEST(test_metrics__a_lease_that_ended__is_reaped_once_and_the_ack_is_lost),
        BED_TEST(test_metrics__hostile_topics__are_escaped_and_read_back),
        BED_TEST(test_metrics__more_topics_than_series__the_rest_is_one),
        BED_TEST(test_metrics__bad_arguments__are_refused_by_kind),
        BED_TEST(test_metrics__scaling__tells_how_many_workers_there_should_be),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
