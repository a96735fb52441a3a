/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of paused topics: who heeds them, when, and what is told of them. */
#include <stdatomic.h>

#include "base/thread.h"
#include "bed.h"

static wp_worker *worker_on(wp_store *store, bed *b, const char *const *options)
{
    wp_config *config = wpt_config(b->clock, options);
    wp_worker *worker = NULL;
    WPT_OK(wp_worker_new(&worker, store, config, WPT_ERR));
    wp_config_free(config);
    return worker;
}

static wp_outcome count(wp_delivery *delivery, void *user)
{
    (void)delivery;
    atomic_fetch_add((atomic_int *)user, 1);
    return WP_OUTCOME_DONE;
}

static void handle(wp_worker *worker, wp_source source, const char *topic, wp_handler_fn fn,
                   void *user)
{
    WPT_OK(wp_worker_handle(worker, source, topic, fn, user, NULL, WPT_ERR));
}

static size_t drain(wp_worker *worker)
{
    size_t handled = 99;
    WPT_OK(wp_worker_drain(&handled, worker, 60000, WPT_ERR));
    return handled;
}

static int change(bed *b, bool resumes, wp_source source, const char *topic)
{
    int changed = 99;
    WPT_OK((resumes ? wp_topic_resume : wp_topic_pause)(&changed, b->store, NULL, source, topic,
                                                        "me", WPT_ERR));
    return changed;
}

static size_t paused(bed *b)
{
    wp_pauses *pauses = NULL;
    size_t found;
    WPT_OK(wp_pauses_read(&pauses, b->store, WPT_ERR));
    found = wp_pauses_count(pauses);
    wp_pauses_free(pauses);
    return found;
}

/* ---- what is claimed ---------------------------------------------------------------------- */

/* scenario: PAU-001 */
/* proves: WRK-008 */
static void test_pause__drained__only_that_topic_is_left_until_it_is_resumed(void **state)
{
    bed *b = *state;
    atomic_int left = 0, other = 0;
    wp_worker *worker = worker_on(b->store, b, NULL);
    handle(worker, WP_SOURCE_OUTBOX, "left", count, &left);
    handle(worker, WP_SOURCE_OUTBOX, "other", count, &other);
    (void)wpt_enqueue(b->store, "left", "1");
    (void)wpt_enqueue(b->store, "other", "2");
    assert_int_equal(change(b, false, WP_SOURCE_OUTBOX, "left"), 1);
    assert_int_equal(drain(worker), 1);
    (void)wpt_enqueue(b->store, "left", "3");
    assert_int_equal(drain(worker), 0);
    assert_int_equal(other, 1);
    assert_int_equal(change(b, true, WP_SOURCE_OUTBOX, "left"), 1);
    assert_int_equal(drain(worker), 2);
    assert_int_equal(left, 2);
    wp_worker_free(worker);
}

/* Those without options of their own, and the one that has some: they are claimed apart. */
static void test_pause__of_all_topics_and_of_one_with_options__heeded(void **state)
{
    bed *b = *state;
    atomic_int own = 0;
    wp_worker *all = worker_on(b->store, b, WPT_OPTIONS("worker.all_topics", "true"));
    wp_worker *worker = worker_on(b->store, b, NULL);
    wp_delivery *none = NULL;
    handle(worker, WP_SOURCE_OUTBOX, "own", count, &own);
    WPT_OK(wp_worker_topic_set(worker, WP_SOURCE_OUTBOX, "own", "concurrency", "1", WPT_ERR));
    (void)wpt_enqueue(b->store, "own", "1");
    (void)change(b, false, WP_SOURCE_OUTBOX, "own");
    assert_int_equal(drain(worker), 0);
    assert_int_equal(drain(all), 0);
    assert_int_equal(wpt_stat(b->store, "own", WP_STAT_PAUSED), 1);
    (void)wpt_enqueue(b->store, "any", "1");
    WPT_OK(wp_worker_next(&none, all, 60000, WPT_ERR));
    assert_string_equal(wp_received_topic(wp_delivery_message(none)), "any");
    WPT_OK(wp_delivery_finish(none, WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
    wp_delivery_free(none);
    WPT_OK(wp_worker_stop(NULL, all, 60000, WPT_ERR));
    assert_int_equal(wpt_stat(b->store, "own", WP_STAT_PAUSED), 1);
    (void)change(b, true, WP_SOURCE_OUTBOX, "own");
    assert_int_equal(drain(worker), 1);
    wp_worker_free(all);
    wp_worker_free(worker);
}

/* proves: WRK-008 */
static void test_pause__of_timers_and_jobs__each_queue_for_itself(void **state)
{
    bed *b = *state;
    atomic_int calls[3] = {0};
    wp_worker *worker = worker_on(b->store, b, NULL);
    wp_message *message = wpt_message("t", "x");
    wp_job *job = NULL;
    wp_id id;
    handle(worker, WP_SOURCE_OUTBOX, "t", count, &calls[0]);
    handle(worker, WP_SOURCE_TIMER, "t", count, &calls[1]);
    handle(worker, WP_SOURCE_JOB, "t", count, &calls[2]);
    WPT_OK(wp_timer_schedule(&id, NULL, b->store, NULL, message, WPT_ERR));
    wp_message_free(message);
    WPT_OK(wp_job_new(&job, "j", "t", "x", 1, WPT_ERR));
    WPT_OK(wp_job_set_schedule(job, "* * * * *", NULL, WPT_ERR));
    WPT_OK(wp_job_put(b->store, job, WPT_ERR));
    wp_job_free(job);
    (void)wpt_enqueue(b->store, "t", "x");
    (void)change(b, false, WP_SOURCE_TIMER, "t");
    (void)change(b, false, WP_SOURCE_JOB, "t");
    wpt_advance_ms(b->clock, 60000);
    assert_int_equal(drain(worker), 1);
    assert_int_equal(calls[0], 1);
    (void)change(b, true, WP_SOURCE_TIMER, "t");
    assert_int_equal(drain(worker), 1);
    assert_int_equal(calls[1], 1);
    (void)change(b, true, WP_SOURCE_JOB, "t");
    assert_int_equal(drain(worker), 1); /* made while it was paused */
    assert_int_equal(calls[2], 1);
    wp_worker_free(worker);
}

/* proves: WRK-008, ORD-001 */
static void test_pause__with_an_ordering_key__goes_on_in_order(void **state)
{
    bed *b = *state;
    atomic_int calls = 0;
    wp_worker *worker = worker_on(b->store, b, NULL);
    handle(worker, WP_SOURCE_OUTBOX, "a", count, &calls);
    handle(worker, WP_SOURCE_OUTBOX, "b", count, &calls);
    for (int i = 0; i < 3; i++) {
        wp_message *message = wpt_message(i == 0 ? "a" : "b", "x");
        WPT_OK(wp_message_set_ordering_key(message, "k", WPT_ERR));
        (void)wpt_send(b->store, NULL, message);
    }
    (void)change(b, false, WP_SOURCE_OUTBOX, "a");
    assert_int_equal(drain(worker), 0); /* b is behind it */
    assert_int_equal(wpt_stat(b->store, "a", WP_STAT_PAUSED), 1);
    assert_int_equal(wpt_stat(b->store, "b", WP_STAT_BLOCKED), 2);
    (void)change(b, true, WP_SOURCE_OUTBOX, "a");
    assert_int_equal(drain(worker), 3);
    wp_worker_free(worker);
}

/* ---- workers that run --------------------------------------------------------------------- */

static wp_outcome wait_at(wp_delivery *delivery, void *user)
{
    (void)delivery;
    wpt_gate_pass(user);
    return WP_OUTCOME_DONE;
}

/* proves: WRK-008 */
static void test_pause__two_workers_run__running_finish_and_the_rest_goes_back(void **state)
{
    bed *b = *state;
    wp_worker *workers[2];
    wpt_gate gate;
    wpt_log log;
    wpt_log_init(&log);
    wpt_gate_init(&gate);
    {
        wp_config *config = bed_config(b, NULL);
        wpt_log_attach(&log, config, "info");
        bed_reopen_with(b, config);
    }
    for (int i = 0; i < 2; i++) {
        workers[i] = worker_on(
            b->store, b, WPT_OPTIONS("worker.name", i ? "w1" : "w0", "worker.concurrency", "2"));
        handle(workers[i], WP_SOURCE_OUTBOX, "t", wait_at, &gate);
        WPT_OK(wp_worker_start(workers[i], 1, WPT_ERR));
    }
    for (int i = 0; i < 20; i++)
        (void)wpt_enqueue(b->store, "t", "x");
    WPT_AWAIT(wpt_gate_waiting(&gate) == 2);
    (void)change(b, false, WP_SOURCE_OUTBOX, "t");
    wpt_advance_ms(b->clock, 1000);
    WPT_AWAIT(paused(b) == 1 && /* which hands out the records */
              wpt_log_count(&log, "info heeds", "\"WorkerId\":\"w0\"", "\"Count\":1") == 1 &&
              wpt_log_count(&log, "info heeds", "\"WorkerId\":\"w1\"", "\"Count\":1") == 1);
    wpt_gate_open(&gate, SIZE_MAX);
    WPT_AWAIT(wpt_stat(b->store, "t", WP_STAT_IN_PROGRESS) == 0);
    assert_int_equal(wpt_gate_passed(&gate), 2);
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_PAUSED), 18);
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_READY), 0);
    (void)change(b, true, WP_SOURCE_OUTBOX, "t");
    wpt_advance_ms(b->clock, 1000);
    WPT_AWAIT(wpt_gate_passed(&gate) == 20);
    for (int i = 0; i < 2; i++)
        wp_worker_free(workers[i]);
    bed_reopen(b, NULL);
    wpt_gate_fini(&gate);
    wpt_log_fini(&log);
}

/* ---- in transactions ---------------------------------------------------------------------- */

/* scenario: PAU-002 */
/* proves: WRK-008, BND-002 */
static void test_pause__in_the_apps_transaction__goes_with_its_rollback(void **state)
{
    bed *b = *state;
    int changed = 99;
    bed_exec(b, b->engine->begin);
    bed_exec(b, "INSERT INTO orders VALUES (1)");
    WPT_OK(wp_topic_pause(&changed, b->store, b->conn, WP_SOURCE_OUTBOX, "t", NULL, WPT_ERR));
    assert_int_equal(changed, 1);
    bed_exec(b, b->engine->rollback);
    assert_int_equal(paused(b), 0);
    bed_exec(b, b->engine->begin);
    WPT_OK(wp_topic_pause(&changed, b->store, b->conn, WP_SOURCE_OUTBOX, "t", NULL, WPT_ERR));
    bed_exec(b, b->engine->commit);
    assert_int_equal(paused(b), 1);
}

/* Who looks meanwhile sees what is committed, however often the transaction changes it. */
/* proves: WRK-008, BND-002 */
static void
test_pause__again_and_again_in_a_transaction__is_as_before_until_its_commit(void **state)
{
    bed *b = *state;
    for (int round = 0; round < 4; round++) {
        const size_t before = (size_t)(round & 1), after = round & 2 ? before : 1 - before;
        const int times = round & 2 ? 4 : 3;
        if (paused(b) != before)
            assert_int_equal(change(b, !before, WP_SOURCE_OUTBOX, "t"), 1);
        bed_exec(b, b->engine->begin);
        for (int i = 0; i < times; i++) {
            const bool resumes = (i + (int)before) % 2 == 1;
            int changed = 99;
            WPT_OK((resumes ? wp_topic_resume : wp_topic_pause)(
                &changed, b->store, b->conn, WP_SOURCE_OUTBOX, "t", "me", WPT_ERR));
            assert_int_equal(changed, 1);
            if (!b->engine->writer_blocks_readers)
                assert_int_equal(paused(b), before);
        }
        bed_exec(b, b->engine->commit);
        assert_int_equal(paused(b), after);
        assert_int_equal(change(b, after == 0, WP_SOURCE_OUTBOX, "t"), 0); /* it is so */
        bed_exec(b, b->engine->begin);
        WPT_OK((after ? wp_topic_resume : wp_topic_pause)(NULL, b->store, b->conn, WP_SOURCE_OUTBOX,
                                                          "t", "me", WPT_ERR));
        bed_exec(b, b->engine->rollback);
        assert_int_equal(paused(b), after);
    }
}

typedef struct rival {
    wp_store *store;
    wp__thread thread;
    bool resumes;
    int changed;
    wp_status st;
} rival;

static void *change_at_once(void *arg)
{
    rival *self = arg;
    wp_error *err = NULL;
    self->st = (self->resumes ? wp_topic_resume : wp_topic_pause)(
        &self->changed, self->store, NULL, WP_SOURCE_OUTBOX, "t", "other", &err);
    if (err)
        print_error("%s\n", wp_error_message(err));
    wp_error_free(err);
    return NULL;
}

/* While a transaction has changed it so often and not committed, somebody else pauses the topic or ends its pause. Whether that
 * waited, or began when it was over: it comes behind. */
static void expect_behind(bed *b, int times, bool resumes, int changed, size_t left)
{
    rival other = {.store = b->store, .resumes = resumes, .changed = 99};
    const bool was_paused = paused(b) == 1;
    bed_exec(b, b->engine->begin);
    for (int i = 0; i < times; i++)
        WPT_OK(((i % 2 == 1) != was_paused ? wp_topic_resume : wp_topic_pause)(
            NULL, b->store, b->conn, WP_SOURCE_OUTBOX, "t", "me", WPT_ERR));
    WPT_OK(wp__thread_start(&other.thread, "change", change_at_once, &other, WPT_ERR));
    bed_exec(b, b->engine->commit);
    wp__thread_join(&other.thread);
    assert_int_equal(other.st, WP_OK);
    assert_int_equal(other.changed, changed);
    assert_int_equal(paused(b), left);
}

/* proves: WRK-008 */
static void test_pause__by_two_at_once__the_later_one_holds(void **state)
{
    bed *b = *state;
    if (b->engine->one_writer || b->engine->writer_blocks_readers)
        return; /* there are no two at once */
    for (int round = 0; round < bed_times(b, 10); round++) {
        expect_behind(b, 1, false, 0, 1);
        (void)change(b, true, WP_SOURCE_OUTBOX, "t");
        expect_behind(b, 2, false, 1, 1);
        (void)change(b, true, WP_SOURCE_OUTBOX, "t");
    }
}

/* Where a look at a row waits for its writer; elsewhere it is told what is committed, and changes nothing. */
/* proves: WRK-008 */
static void test_pause__ended_while_another_is_not_committed__waits_for_it(void **state)
{
    bed *b = *state;
    if (!b->engine->heeds_locks)
        return;
    bed_needs_locks(b);
    for (int round = 0; round < bed_times(b, 10); round++) {
        expect_behind(b, 1, true, 1, 0);
        (void)change(b, false, WP_SOURCE_OUTBOX, "t");
        expect_behind(b, 1, true, 0, 0);
        (void)change(b, false, WP_SOURCE_OUTBOX, "t");
        expect_behind(b, 2, true, 1, 0);
    }
}

/* ---- what is told ------------------------------------------------------------------------- */

static wp_health *health_of(bed *b, wp_worker *worker)
{
    wp_health *health = NULL;
    WPT_OK(wp_health_read_worker(&health, worker, WP_HEALTH_OF_ALL, 1000, 60000, WPT_ERR));
    (void)b;
    return health;
}

/* proves: WRK-008, HLT-001 */
static void test_pause__old_messages__are_neither_overdue_nor_unhandled(void **state)
{
    bed *b = *state;
    wp_worker *worker = worker_on(b->store, b, NULL);
    wp_health *health;
    (void)wpt_enqueue(b->store, "t", "x");
    wpt_advance_ms(b->clock, 3600000);
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_READY), 1);
    health = health_of(b, worker);
    assert_int_equal(wp_health_store_value(health, 0, WP_HEALTH_OVERDUE), 1);
    assert_int_equal(wp_health_store_value(health, 0, WP_HEALTH_UNHANDLED), 1);
    wp_health_free(health);
    (void)change(b, false, WP_SOURCE_OUTBOX, "t");
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_READY), 0);
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_PAUSED), 1);
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_OLDEST_READY_AGE_US), 0);
    health = health_of(b, worker);
    assert_int_equal(wp_health_store_value(health, 0, WP_HEALTH_OVERDUE), 0);
    assert_int_equal(wp_health_store_value(health, 0, WP_HEALTH_UNHANDLED), 0);
    assert_int_equal(wp_health_queue_value(health, 0, WP_SOURCE_OUTBOX, WP_STAT_PAUSED), 1);
    wp_health_free(health);
    wp_worker_free(worker);
}

/* proves: WRK-008 */
static void test_pause__twice__changes_nothing_and_is_noted_once(void **state)
{
    bed *b = *state;
    wp_pauses *pauses = NULL;
    wp_audit *page = NULL;
    assert_int_equal(change(b, false, WP_SOURCE_OUTBOX, "t"), 1);
    assert_int_equal(change(b, false, WP_SOURCE_OUTBOX, "t"), 0);
    assert_int_equal(change(b, false, WP_SOURCE_TIMER, "t"), 1);
    WPT_OK(wp_pauses_read(&pauses, b->store, WPT_ERR));
    assert_int_equal(wp_pauses_count(pauses), 2);
    assert_int_equal(wp_pauses_source(pauses, 0), WP_SOURCE_OUTBOX);
    assert_int_equal(wp_pauses_source(pauses, 1), WP_SOURCE_TIMER);
    assert_string_equal(wp_pauses_topic(pauses, 0), "t");
    assert_string_equal(wp_pauses_by(pauses, 0), "me");
    assert_int_equal(wp_pauses_since_us(pauses, 0), WPT_START_US);
    assert_null(wp_pauses_topic(pauses, 2));
    wp_pauses_free(pauses);
    assert_int_equal(change(b, true, WP_SOURCE_OUTBOX, "t"), 1);
    assert_int_equal(change(b, true, WP_SOURCE_OUTBOX, "t"), 0);
    WPT_OK(wp_audit_read(&page, b->store, 0, 2, WPT_ERR));
    assert_int_equal(wp_audit_count(page), 2);
    assert_string_equal(wp_audit_action(page, 0), "topic.resume");
    assert_string_equal(wp_audit_subject(page, 0), "t");
    assert_string_equal(wp_audit_actor(page, 0), "me");
    assert_int_equal(wp_audit_source(page, 0), WP_SOURCE_OUTBOX);
    assert_int_equal(wp_audit_at_us(page, 0), WPT_START_US);
    assert_null(wp_audit_detail(page, 0));
    assert_int_equal(wp_audit_source(page, 1), WP_SOURCE_TIMER);
    {
        const int64_t before = wp_audit_number(page, 1);
        wp_audit_free(page);
        WPT_OK(wp_audit_read(&page, b->store, before, 2, WPT_ERR));
    }
    assert_int_equal(wp_audit_count(page), 1);
    assert_string_equal(wp_audit_action(page, 0), "topic.pause");
    wp_audit_free(page);
}

static void repeat(char *out, const char *unit, size_t count)
{
    out[0] = '\0';
    for (size_t i = 0; i < count; i++)
        (void)strcat(out, unit);
}

/* proves: WRK-008, BND-004 */
static void test_pause__odd_names__as_they_are_up_to_their_length(void **state)
{
    static const char *const names[] = {"'; DROP TABLE orders; --",    "<script>", "T", "t ", "t",
                                        "\xe2\x98\x83\xf0\x9f\x98\x80"};
    bed *b = *state;
    wp_pauses *pauses = NULL;
    char longest[4 * 256 + 1];
    for (size_t i = 0; i < WPT_COUNT(names); i++)
        assert_int_equal(change(b, false, WP_SOURCE_OUTBOX, names[i]), 1);
    assert_int_equal(paused(b), WPT_COUNT(names));
    repeat(longest, "\xc3\xa9", WP_NAME_MAX);
    assert_int_equal(change(b, false, WP_SOURCE_OUTBOX, longest), 1);
    repeat(longest, "\xc3\xa9", WP_NAME_MAX + 1);
    WPT_FAILS(wp_topic_pause(NULL, b->store, NULL, WP_SOURCE_OUTBOX, longest, NULL, WPT_ERR),
              WP_E_ARGUMENT, "topic");
    WPT_FAILS(wp_topic_pause(NULL, b->store, NULL, WP_SOURCE_OUTBOX, "u", longest, WPT_ERR),
              WP_E_ARGUMENT, "by");
    WPT_FAILS(wp_topic_pause(NULL, b->store, NULL, WP_SOURCE_OUTBOX, "", NULL, WPT_ERR),
              WP_E_ARGUMENT, "topic");
    WPT_FAILS(wp_topic_pause(NULL, b->store, NULL, WP_SOURCE_OUTBOX, NULL, NULL, WPT_ERR),
              WP_E_ARGUMENT, "topic");
    WPT_FAILS(wp_topic_pause(NULL, b->store, NULL, WP_SOURCE_ALL, "t", NULL, WPT_ERR),
              WP_E_ARGUMENT, "source");
    WPT_FAILS(wp_topic_resume(NULL, b->store, NULL, (wp_source)9, "t", NULL, WPT_ERR),
              WP_E_ARGUMENT, "source");
    WPT_FAILS(wp_topic_pause_op(NULL, b->store, WP_SOURCE_OUTBOX, "t", NULL, WPT_ERR),
              WP_E_ARGUMENT, "out");
    WPT_FAILS(wp_pauses_read(NULL, b->store, WPT_ERR), WP_E_ARGUMENT, "out");
    WPT_FAILS(wp_audit_read(NULL, b->store, 0, 1, WPT_ERR), WP_E_ARGUMENT, "out");
    WPT_STATUS(wp_audit_read((wp_audit **)&pauses, b->store, 0, 0, WPT_ERR), WP_E_RANGE);
    WPT_STATUS(wp_audit_read((wp_audit **)&pauses, b->store, 0, WP_BATCH_MAX + 1, WPT_ERR),
               WP_E_RANGE);
    assert_null(pauses);
    wp_pauses_free(NULL);
    wp_audit_free(NULL);
    assert_int_equal(paused(b), WPT_COUNT(names) + 1);
    assert_int_equal(bed_number(b, "SELECT count(*) FROM orders"), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        BED_TEST(test_pause__drained__only_that_topic_is_left_until_it_is_resumed),
        BED_TEST(test_pause__of_all_topics_and_of_one_with_options__heeded),
        BED_TEST(test_pause__of_timers_and_jobs__each_queue_for_itself),
        BED_TEST(test_pause__with_an_ordering_key__goes_on_in_order),
        BED_TEST(test_pause__two_workers_run__running_finish_and_the_rest_goes_back),
        BED_TEST(test_pause__in_the_apps_transaction__goes_with_its_rollback),
        BED_TEST(test_pause__again_and_again_in_a_transaction__is_as_before_until_its_commit),
        BED_TEST(test_pause__by_two_at_once__the_later_one_holds),
        BED_TEST(test_pause__ended_while_another_is_not_committed__waits_for_it),
        BED_TEST(test_pause__old_messages__are_neither_overdue_nor_unhandled),
        BED_TEST(test_pause__twice__changes_nothing_and_is_noted_once),
        BED_TEST(test_pause__odd_names__as_they_are_up_to_their_length),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
