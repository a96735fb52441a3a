/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of looking at what is not finished, of dead letters, and of the cleanup, for every queue alike. */
#include <malloc.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <waypost/job.h>
#include <waypost/lease.h>
#include <waypost/timer.h>
#include <waypost/unfinished.h>

#include "bed.h"
#include "inbox_bed.h"

enum { DAY_MS = 86400000 };

/* The calls that queues have alike. */
typedef struct queue {
    wp_source source;
    wp_status (*claim)(wp_claim **, wp_store *, const wp_id *, const char *const *, size_t, int64_t,
                       int64_t, wp_error **);
    wp_status (*ack)(size_t *, wp_store *, wp_conn *, const wp_id *, const wp_id *, const int64_t *,
                     size_t, const char *, wp_error **);
    wp_status (*abandon)(size_t *, wp_store *, wp_conn *, const wp_id *, const wp_id *,
                         const int64_t *, size_t, int64_t, const char *, wp_error **);
    wp_status (*bury)(size_t *, wp_store *, wp_conn *, const wp_id *, const wp_id *,
                      const int64_t *, size_t, const char *, wp_error **);
    wp_status (*release)(size_t *, wp_store *, wp_conn *, const wp_id *, const wp_id *,
                         const int64_t *, size_t, wp_error **);
    wp_status (*reap)(size_t *, wp_store *, wp_error **);
    wp_status (*stats)(wp_outbox_stats **, wp_store *, int, wp_error **);
} queue;
static const queue queues[] = {
    {WP_SOURCE_OUTBOX, wp_outbox_claim, wp_outbox_ack, wp_outbox_abandon, wp_outbox_fail,
     wp_outbox_release, wp_outbox_reap, wp_outbox_stats_read},
    {WP_SOURCE_INBOX, wp_inbox_claim, wp_inbox_ack, wp_inbox_abandon, wp_inbox_fail,
     wp_inbox_release, wp_inbox_reap, wp_inbox_stats_read},
    {WP_SOURCE_TIMER, wp_timer_claim, wp_timer_ack, wp_timer_abandon, wp_timer_fail,
     wp_timer_release, wp_timer_reap, wp_timer_stats_read},
    {WP_SOURCE_JOB, wp_job_run_claim, wp_job_run_ack, wp_job_run_abandon, wp_job_run_fail,
     wp_job_run_release, wp_job_run_reap, wp_job_run_stats_read}};
static const queue *const outbox = &queues[0];
static const queue *const inbox = &queues[1];

static wp_id trigger(bed *b, const char *name, const char *topic)
{
    wp_job *job = NULL;
    wp_id id;
    WPT_OK(wp_job_new(&job, name, topic, "x", 1, WPT_ERR));
    WPT_OK(wp_job_set_schedule(job, "@yearly", NULL, WPT_ERR));
    WPT_OK(wp_job_put(b->store, job, WPT_ERR));
    WPT_OK(wp_job_trigger(&id, b->store, name, WPT_ERR));
    wp_job_free(job);
    return id;
}

/* Send one to a queue; its id. */
static wp_id send(bed *b, const queue *q, const char *name, const char *topic)
{
    wp_message *message;
    wp_id id;
    if (q->source == WP_SOURCE_OUTBOX)
        return wpt_enqueue(b->store, topic, name);
    if (q->source == WP_SOURCE_JOB)
        return trigger(b, name, topic);
    if (q->source == WP_SOURCE_INBOX) {
        (void)ib_enqueue(b->store, NULL, "src", name, topic, name);
        return ib_id(b->store, "src", name);
    }
    message = wpt_message(topic, name);
    WPT_OK(wp_timer_schedule(&id, NULL, b->store, NULL, message, WPT_ERR));
    wp_message_free(message);
    return id;
}

static wp_claim *claim_all(bed *b, const queue *q)
{
    const wp_id owner = wpt_owner(1);
    wp_claim *claim = NULL;
    WPT_OK(q->claim(&claim, b->store, &owner, NULL, 0, 100, 1000, WPT_ERR));
    return claim;
}

/* How many a claim would give now; they are given back. */
static size_t claimable(bed *b, const queue *q)
{
    const wp_id owner = wpt_owner(1);
    wp_claim *claim = claim_all(b, q);
    const size_t count = wp_claim_count(claim);
    for (size_t i = 0; i < count; i++)
        WPT_OK(q->release(NULL, b->store, NULL, &owner, wp_received_id(wp_claim_at(claim, i)), NULL,
                          1, WPT_ERR));
    wp_claim_free(claim);
    return count;
}

static void bury_now(bed *b, const queue *q, const wp_id *id, const char *reason)
{
    const wp_id owner = wpt_owner(1);
    size_t changed = 0;
    wp_claim_free(claim_all(b, q));
    WPT_OK(q->bury(&changed, b->store, NULL, &owner, id, NULL, 1, reason, WPT_ERR));
    assert_int_equal(changed, 1);
}

static void bury(bed *b, const queue *q, const wp_id *id, const char *reason)
{
    bury_now(b, q, id, reason);
    wpt_advance_ms(b->clock, 1);
}

static void ack(bed *b, const queue *q, const wp_id *id)
{
    const wp_id owner = wpt_owner(1);
    size_t changed = 0;
    wp_claim_free(claim_all(b, q));
    WPT_OK(q->ack(&changed, b->store, NULL, &owner, id, NULL, 1, NULL, WPT_ERR));
    assert_int_equal(changed, 1);
}

/* Whether the queue still knows it. */
static bool knows(bed *b, const queue *q, const wp_id *id)
{
    wp_outbox_info *info = NULL;
    wp_job_runs *runs = NULL;
    const wp_status st =
        q->source == WP_SOURCE_OUTBOX  ? wp_outbox_get(&info, b->store, id, WPT_ERR)
        : q->source == WP_SOURCE_INBOX ? wp_inbox_get_by_id(&info, b->store, id, WPT_ERR)
        : q->source == WP_SOURCE_TIMER ? wp_timer_get(&info, b->store, id, WPT_ERR)
                                       : wp_job_run_get(&runs, b->store, id, WPT_ERR);
    assert_true(st == WP_OK || st == WP_E_NOT_FOUND);
    wp_outbox_info_free(info);
    wp_job_runs_free(runs);
    return st == WP_OK;
}

static size_t count(bed *b, const queue *q, const wp_dead_filter *filter)
{
    wp_dead_list *list = NULL;
    size_t n;
    WPT_OK(wp_dead_list_read(&list, b->store, q->source, filter, NULL, WP_DEAD_PAGE_MAX, WPT_ERR));
    n = wp_dead_list_count(list);
    wp_dead_list_free(list);
    return n;
}

/* Claim the only message of a queue, which says so of the attempt before. */
static void claim_says(bed *b, const queue *q, const char *want)
{
    wp_claim *claim = claim_all(b, q);
    assert_int_equal(wp_claim_count(claim), 1);
    if (want)
        assert_string_equal(wp_received_last_error(wp_claim_at(claim, 0)), want);
    else
        assert_null(wp_received_last_error(wp_claim_at(claim, 0)));
    wp_claim_free(claim);
}

/* scenario: OUT-027 */
/* proves: OBX-043, IBX-052, TMR-004, JOB-009 */
static void test_claim__after_attempts_that_failed__says_why_the_last_one_did(void **state)
{
    enum { LONG_MS = 600000 };
    static const char *const whys[] = {"first \xf0\x9f\x98\x80", "", "third"};
    bed *b = *state;
    for (size_t i = 0; i < WPT_COUNT(queues); i++) {
        const queue *q = &queues[i];
        const wp_id owner = wpt_owner(1);
        const wp_id id = send(b, q, "m", "t");
        size_t changed = 0;
        claim_says(b, q, NULL);
        for (size_t k = 0; k < WPT_COUNT(whys); k++) {
            WPT_OK(q->abandon(NULL, b->store, NULL, &owner, &id, NULL, 1, 1, whys[k], WPT_ERR));
            wpt_advance_ms(b->clock, 1);
            claim_says(b, q, whys[k]);
        }
        WPT_OK(q->release(NULL, b->store, NULL, &owner, &id, NULL, 1, WPT_ERR));
        claim_says(b, q, "third");
        wpt_advance_ms(b->clock, LONG_MS);
        WPT_OK(q->reap(&changed, b->store, WPT_ERR));
        assert_int_equal(changed, 1);
        wpt_advance_ms(b->clock, LONG_MS);
        claim_says(b, q, "lease expired");
        ack(b, q, &id);
    }
}

static int64_t stat_of(bed *b, const queue *q, wp_outbox_stat stat)
{
    wp_outbox_stats *stats = NULL;
    int64_t value;
    WPT_OK(q->stats(&stats, b->store, 0, WPT_ERR));
    value = wp_outbox_stats_total(stats, stat);
    wp_outbox_stats_free(stats);
    return value;
}

/* What is claimed by someone who died is told apart from what is being handled. */
/* proves: JOB-015, OBX-049 */
static void test_stats__of_claims_whose_lease_is_over__count_them(void **state)
{
    bed *b = *state;
    for (size_t i = 0; i < WPT_COUNT(queues); i++) {
        const queue *q = &queues[i];
        const wp_id owner = wpt_owner(1);
        wp_claim *claim = NULL;
        (void)send(b, q, "m", "t");
        (void)send(b, q, "n", "t");
        assert_int_equal(stat_of(b, q, WP_STAT_LEASE_EXPIRED), 0);
        WPT_OK(q->claim(&claim, b->store, &owner, NULL, 0, 1, 1000, WPT_ERR));
        wp_claim_free(claim);
        WPT_OK(q->claim(&claim, b->store, &owner, NULL, 0, 1, 60000, WPT_ERR));
        wp_claim_free(claim);
        wpt_advance_ms(b->clock, 999);
        assert_int_equal(stat_of(b, q, WP_STAT_LEASE_EXPIRED), 0);
        wpt_advance_ms(b->clock, 1);
        assert_int_equal(stat_of(b, q, WP_STAT_LEASE_EXPIRED), 1);
        assert_int_equal(stat_of(b, q, WP_STAT_IN_PROGRESS), 2);
        WPT_OK(q->reap(NULL, b->store, WPT_ERR));
        assert_int_equal(stat_of(b, q, WP_STAT_LEASE_EXPIRED), 0);
        assert_int_equal(stat_of(b, q, WP_STAT_IN_PROGRESS), 1);
    }
}

/* A page of what is unfinished: these ids, in this order. */
static void unfinished_are(bed *b, const queue *q, const char *topic, const wp_id *const *ids,
                           size_t count, wp_message_status status)
{
    wp_unfinished *all = NULL, *page = NULL, *next = NULL;
    WPT_OK(wp_unfinished_read(&all, b->store, q->source, topic, NULL, 100, WPT_ERR));
    assert_int_equal(wp_unfinished_count(all), count);
    for (size_t i = 0; i < count; i++) { /* one by one, too */
        const wp_outbox_info *info = wp_unfinished_at(all, i);
        assert_memory_equal(wp_received_id(wp_outbox_info_message(info)), ids[i], sizeof *ids[i]);
        assert_int_equal(wp_outbox_info_status(info), status);
        assert_int_equal(wp_outbox_info_source(info), q->source);
        WPT_OK(wp_unfinished_read(&next, b->store, q->source, topic, wp_unfinished_at(page, 0), 1,
                                  WPT_ERR));
        wp_unfinished_free(page);
        page = next;
        assert_int_equal(wp_unfinished_count(page), 1);
        assert_true(wpt_id_equal(wp_received_id(wp_outbox_info_message(wp_unfinished_at(page, 0))),
                                 ids[i]));
    }
    assert_null(wp_unfinished_at(all, count));
    wp_unfinished_free(page);
    wp_unfinished_free(all);
}

/* proves: CLI-001 */
static void test_unfinished__of_each_queue__is_listed_by_topic_and_page(void **state)
{
    bed *b = *state;
    wp_unfinished *page = NULL;
    for (size_t s = 0; s < WPT_COUNT(queues); s++) {
        const queue *q = &queues[s];
        const wp_id owner = wpt_owner(1);
        wp_id done, a, c, dead;
        unfinished_are(b, q, NULL, NULL, 0, WP_MESSAGE_READY);
        done = send(b, q, "done", "t");
        ack(b, q, &done);
        dead = send(b, q, "dead", "t");
        bury(b, q, &dead, "broken");
        a = send(b, q, "a", "t");
        c = send(b, q, "c", "other");
        unfinished_are(b, q, NULL, (const wp_id *const[]){&a, &c}, 2, WP_MESSAGE_READY);
        unfinished_are(b, q, "other", (const wp_id *const[]){&c}, 1, WP_MESSAGE_READY);
        unfinished_are(b, q, "T", NULL, 0, WP_MESSAGE_READY);
        wp_claim_free(claim_all(b, q));
        unfinished_are(b, q, NULL, (const wp_id *const[]){&a, &c}, 2, WP_MESSAGE_IN_PROGRESS);
        WPT_OK(q->abandon(NULL, b->store, NULL, &owner, &a, NULL, 1, 60000, "later", WPT_ERR));
        unfinished_are(b, q, "t", (const wp_id *const[]){&a}, 1, WP_MESSAGE_READY);
        WPT_OK(wp_unfinished_read(&page, b->store, q->source, "t", NULL, 9, WPT_ERR));
        assert_string_equal(wp_outbox_info_last_error(wp_unfinished_at(page, 0)), "later");
        wp_unfinished_free(page);
    }
    WPT_FAILS(wp_unfinished_read(&page, b->store, WP_SOURCE_ALL, NULL, NULL, 9, WPT_ERR),
              WP_E_ARGUMENT, "source");
    WPT_FAILS(wp_unfinished_read(&page, b->store, WP_SOURCE_OUTBOX, "", NULL, 9, WPT_ERR),
              WP_E_ARGUMENT, "topic");
    WPT_FAILS(wp_unfinished_read(&page, b->store, WP_SOURCE_OUTBOX, NULL, NULL, 0, WPT_ERR),
              WP_E_RANGE, "limit");
    WPT_FAILS(wp_unfinished_read(&page, b->store, WP_SOURCE_OUTBOX, NULL, NULL, WP_BATCH_MAX + 1,
                                 WPT_ERR),
              WP_E_RANGE, "limit");
    WPT_FAILS(wp_unfinished_read(NULL, b->store, WP_SOURCE_OUTBOX, NULL, NULL, 9, WPT_ERR),
              WP_E_ARGUMENT, "out");
    WPT_FAILS(wp_unfinished_read(&page, NULL, WP_SOURCE_OUTBOX, NULL, NULL, 9, WPT_ERR),
              WP_E_ARGUMENT, "store");
}

/* Bytes that were allocated and not freed. */
static size_t held(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* Whether held() tells: a sanitizer has an allocator of its own. */
static bool is_counted(void)
{
    const size_t before = held();
    void *volatile probe = malloc(1 << 20);
    const size_t after = held();
    free(probe);
    return after > before;
}

enum { LARGE = 2 << 20, LARGE_ONES = 4 };

/* Send one that is large, and two bytes longer than it has characters. */
static wp_id send_large(bed *b, const queue *q, const char *name)
{
    char *payload = malloc(LARGE + 1);
    wp_message *message;
    wp_job *job = NULL;
    wp_id id;
    assert_non_null(payload);
    memset(payload, 'x', LARGE);
    memcpy(payload, "\u00e9\u00e9", 4);
    payload[LARGE] = '\0';
    message = wpt_message("t", payload);
    WPT_OK(wp_message_set_correlation_id(message, "all", WPT_ERR));
    if (q->source == WP_SOURCE_OUTBOX) {
        WPT_OK(wp_outbox_enqueue(&id, NULL, b->store, NULL, message, WPT_ERR));
    } else if (q->source == WP_SOURCE_INBOX) {
        (void)ib_enqueue(b->store, NULL, "src", name, "t", payload);
        id = ib_id(b->store, "src", name);
    } else if (q->source == WP_SOURCE_TIMER) {
        WPT_OK(wp_timer_schedule(&id, NULL, b->store, NULL, message, WPT_ERR));
    } else {
        WPT_OK(wp_job_new(&job, name, "t", payload, LARGE, WPT_ERR));
        WPT_OK(wp_job_set_schedule(job, "@yearly", NULL, WPT_ERR));
        WPT_OK(wp_job_put(b->store, job, WPT_ERR));
        WPT_OK(wp_job_trigger(&id, b->store, name, WPT_ERR));
        wp_job_free(job);
    }
    wp_message_free(message);
    free(payload);
    return id;
}

static int64_t bytes_of_large(const bed *b)
{
    return b->engine->counts_bytes && !b->engine->counts_bytes() ? LARGE - 2 : LARGE;
}

/* Of these messages all is told but the payload. */
static void is_brief(const bed *b, const wp_outbox_info *info, const wp_id *id)
{
    const wp_received *message = wp_outbox_info_message(info);
    size_t len = 1;
    assert_null(wp_received_payload(&len, message));
    assert_int_equal(len, 0);
    assert_int_equal(wp_outbox_info_payload_bytes(info), bytes_of_large(b));
    assert_string_equal(wp_received_topic(message), "t");
    assert_memory_equal(wp_received_id(message), id, sizeof *id);
}

/* The page, which was read since `before` bytes were held, is small. */
static void is_small(size_t before)
{
    assert_true(held() <= before + LARGE / 4);
}

static void test_lists__of_large_messages__leave_the_payloads_in_the_database(void **state)
{
    bed *b = *state;
    for (size_t s = 0; s < WPT_COUNT(queues); s++) {
        const queue *q = &queues[s];
        wp_id ids[LARGE_ONES];
        wp_unfinished *page = NULL;
        wp_timers *timers = NULL;
        wp_dead_list *dead = NULL;
        wp_outbox_info *whole = NULL;
        wp_jobs *jobs = NULL;
        size_t before, len = 0;
        for (size_t i = 0; i < LARGE_ONES; i++) {
            char name[] = "0";
            name[0] = (char)('0' + i);
            ids[i] = send_large(b, q, name);
        }
        before = held();
        WPT_OK(wp_unfinished_read_brief(&page, b->store, q->source, NULL, NULL, 100, WPT_ERR));
        is_small(before);
        assert_int_equal(wp_unfinished_count(page), LARGE_ONES);
        for (size_t i = 0; i < LARGE_ONES; i++)
            is_brief(b, wp_unfinished_at(page, i), &ids[i]);
        wp_unfinished_free(page);
        WPT_OK(wp_unfinished_read(&page, b->store, q->source, NULL, NULL, 1, WPT_ERR));
        (void)wp_received_payload(&len, wp_outbox_info_message(wp_unfinished_at(page, 0)));
        assert_int_equal(len, LARGE);
        assert_int_equal(wp_outbox_info_payload_bytes(wp_unfinished_at(page, 0)), LARGE);
        wp_unfinished_free(page);
        for (int correlated = 0; q->source == WP_SOURCE_TIMER && correlated < 2; correlated++) {
            before = held();
            WPT_OK(wp_timer_list_brief(&timers, b->store, correlated ? "all" : NULL, NULL, 100,
                                       WPT_ERR));
            is_small(before);
            assert_int_equal(wp_timers_count(timers), LARGE_ONES);
            is_brief(b, wp_timers_at(timers, 1), &ids[1]);
            wp_timers_free(timers);
        }
        if (q->source == WP_SOURCE_JOB) {
            before = held();
            WPT_OK(wp_job_list_brief(&jobs, b->store, NULL, 100, WPT_ERR));
            is_small(before);
            assert_int_equal(wp_jobs_count(jobs), LARGE_ONES);
            assert_null(wp_job_info_payload(wp_jobs_at(jobs, 0)));
            assert_string_equal(wp_job_info_expression(wp_jobs_at(jobs, 0)), "@yearly");
            wp_jobs_free(jobs);
        }
        for (size_t i = 0; i < LARGE_ONES; i++)
            bury(b, q, &ids[i], "broken");
        before = held();
        WPT_OK(wp_dead_list_read_brief(&dead, b->store, q->source, NULL, NULL, 100, WPT_ERR));
        is_small(before);
        assert_int_equal(wp_dead_list_count(dead), LARGE_ONES);
        for (size_t i = 0; i < LARGE_ONES; i++)
            is_brief(b, wp_dead_list_at(dead, i), &ids[i]);
        wp_dead_list_free(dead);
        if (q->source == WP_SOURCE_OUTBOX) { /* one that is looked at has its payload */
            WPT_OK(wp_outbox_get(&whole, b->store, &ids[0], WPT_ERR));
            assert_int_equal(wp_outbox_info_payload_bytes(whole), LARGE);
            wp_outbox_info_free(whole);
        }
    }
    { /* what was read whole is not small: so it can be seen */
        wp_dead_list *all = NULL;
        const size_t before = held();
        WPT_OK(wp_dead_list_read(&all, b->store, WP_SOURCE_TIMER, NULL, NULL, 100, WPT_ERR));
        assert_true(!is_counted() || held() > before + LARGE_ONES * (size_t)LARGE);
        wp_dead_list_free(all);
    }
}

/* scenario: DED-001 */
/* proves: DLQ-001 */
static void test_dead__listed_by_pages_and_filters__are_those_that_died(void **state)
{
    bed *b = *state;
    for (size_t s = 0; s < WPT_COUNT(queues); s++) {
        const queue *q = &queues[s];
        wp_dead_filter *filter = NULL;
        wp_dead_list *page = NULL, *next = NULL;
        const int64_t from = wp_clock_utc_us(b->clock);
        wp_id ids[5];
        for (size_t i = 0; i < 5; i++) {
            char name[8];
            (void)snprintf(name, sizeof name, "m%zu", i);
            ids[i] = send(b, q, name, i % 2 ? "odd" : "even");
            bury(b, q, &ids[i], i < 2 ? "broken pipe" : "no such order");
        }
        WPT_OK(wp_dead_list_read(&page, b->store, q->source, NULL, NULL, 3, WPT_ERR));
        assert_int_equal(wp_dead_list_count(page), 3);
        for (size_t i = 0; i < 3; i++) {
            const wp_outbox_info *info = wp_dead_list_at(page, i);
            assert_true(wpt_id_equal(wp_received_id(wp_outbox_info_message(info)), &ids[i]));
            assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_FAILED);
            assert_int_equal(wp_outbox_info_finished_us(info), from + (int64_t)i * 1000);
            assert_string_equal(wp_outbox_info_last_error(info),
                                i < 2 ? "broken pipe" : "no such order");
        }
        assert_null(wp_dead_list_at(page, 3));
        WPT_OK(wp_dead_list_read(&next, b->store, q->source, NULL, page, 3, WPT_ERR));
        assert_int_equal(wp_dead_list_count(next), 2);
        wp_dead_list_free(page);
        wp_dead_list_free(next);
        WPT_OK(wp_dead_filter_new(&filter, WPT_ERR));
        assert_int_equal(count(b, q, filter), 5);
        WPT_OK(wp_dead_filter_set_topic(filter, "odd", WPT_ERR));
        assert_int_equal(count(b, q, filter), 2);
        WPT_OK(wp_dead_filter_set_reason(filter, "pipe", WPT_ERR));
        assert_int_equal(count(b, q, filter), 1);
        WPT_STATUS(wp_dead_filter_set_topic(filter, "", WPT_ERR), WP_E_ARGUMENT);
        WPT_OK(wp_dead_filter_set_topic(filter, NULL, WPT_ERR));
        assert_int_equal(count(b, q, filter), 2);
        WPT_OK(wp_dead_filter_set_reason(filter, NULL, WPT_ERR));
        WPT_OK(wp_dead_filter_set_time_us(filter, from + 1000, from + 3000, WPT_ERR));
        assert_int_equal(count(b, q, filter), 3);
        WPT_OK(wp_dead_filter_set_ids(filter, ids, 2, WPT_ERR));
        assert_int_equal(count(b, q, filter), 1);
        WPT_OK(wp_dead_filter_set_ids(filter, NULL, 0, WPT_ERR));
        assert_int_equal(count(b, q, filter), 3);
        WPT_STATUS(wp_dead_filter_set_time_us(filter, 2, 1, WPT_ERR), WP_E_RANGE);
        wp_dead_filter_free(filter);
    }
    WPT_STATUS(
        wp_dead_list_read(&(wp_dead_list *){NULL}, b->store, (wp_source)9, NULL, NULL, 1, WPT_ERR),
        WP_E_ARGUMENT);
    WPT_STATUS(wp_dead_list_read(&(wp_dead_list *){NULL}, b->store, WP_SOURCE_INBOX, NULL, NULL, 0,
                                 WPT_ERR),
               WP_E_RANGE);
}

/* ---- all queues in one list --------------------------------------------------------------- */

enum { EACH = 3, ALL = EACH * (int)WPT_COUNT(queues) };

/* Have so many die in each queue: by turns, and two at each instant. */
static void bury_everywhere(bed *b, wp_id ids[ALL])
{
    for (size_t i = 0; i < ALL; i++) {
        const queue *q = &queues[i % WPT_COUNT(queues)];
        char name[16];
        (void)snprintf(name, sizeof name, "m%zu", i);
        ids[i] = send(b, q, name, i < ALL / 2 ? "early" : "late");
        bury_now(b, q, &ids[i], i % 3 ? "no" : "yes");
        wpt_advance_ms(b->clock, i % 2);
    }
}

/* Whether the list, read in pages of `limit`, is those of `ids` from `from` to `to` (not itself). */
static void list_is(bed *b, const wp_dead_filter *filter, int64_t limit, const wp_id *ids,
                    size_t from, size_t to)
{
    wp_dead_list *page = NULL;
    size_t at = from, count;
    do {
        wp_dead_list *next = NULL;
        WPT_OK(wp_dead_list_read(&next, b->store, WP_SOURCE_ALL, filter, page, limit, WPT_ERR));
        wp_dead_list_free(page);
        page = next;
        count = wp_dead_list_count(page);
        for (size_t i = 0; i < count; i++, at++) {
            const wp_outbox_info *info = wp_dead_list_at(page, i);
            assert_true(at < to);
            assert_true(wpt_id_equal(wp_received_id(wp_outbox_info_message(info)), &ids[at]));
            assert_int_equal(wp_outbox_info_source(info), queues[at % WPT_COUNT(queues)].source);
        }
        assert_true(count == (size_t)limit || at == to);
    } while (count);
    assert_int_equal(at, to);
    wp_dead_list_free(page);
}

/* scenario: DED-005 */
/* proves: DLQ-001 */
static void test_dead__of_all_queues__are_one_list_by_when_they_died(void **state)
{
    bed *b = *state;
    wp_dead_filter *filter = NULL;
    wp_id ids[ALL];
    list_is(b, NULL, 1, NULL, 0, 0);
    bury_everywhere(b, ids);
    for (int64_t limit = 1; limit <= ALL + 1; limit++)
        list_is(b, NULL, limit, ids, 0, ALL);
    WPT_OK(wp_dead_filter_new(&filter, WPT_ERR));
    WPT_OK(wp_dead_filter_set_topic(filter, "late", WPT_ERR));
    list_is(b, filter, 2, ids, ALL / 2, ALL);
    WPT_OK(wp_dead_filter_set_ids(filter, &ids[4], 5, WPT_ERR));
    list_is(b, filter, 2, ids, ALL / 2, 9);
    WPT_OK(wp_dead_filter_set_reason(filter, "ye", WPT_ERR));
    list_is(b, filter, 2, ids, 6, 7);
    wp_dead_filter_free(filter);
    assert_int_equal(wp_outbox_info_source(NULL), WP_SOURCE_ALL);
}

static size_t claimable_anywhere(bed *b)
{
    size_t n = 0;
    for (size_t i = 0; i < WPT_COUNT(queues); i++)
        n += claimable(b, &queues[i]);
    return n;
}

/* scenario: DED-005 */
/* proves: DLQ-001 */
static void test_dead__of_all_queues__replayed_and_purged_by_one_limit_and_rate(void **state)
{
    enum { SOME = EACH + 2 };
    bed *b = *state;
    wp_dead_filter *filter = NULL;
    wp_id ids[ALL];
    size_t n = 99;
    WPT_OK(wp_dead_replay(&n, b->store, WP_SOURCE_ALL, NULL, 9, 0, NULL, WPT_ERR));
    assert_int_equal(n, 0);
    bury_everywhere(b, ids);
    WPT_OK(wp_dead_filter_new(&filter, WPT_ERR));
    WPT_OK(wp_dead_filter_set_topic(filter, "nobody", WPT_ERR));
    WPT_OK(wp_dead_purge(&n, b->store, WP_SOURCE_ALL, filter, INT64_MAX, WPT_ERR));
    assert_int_equal(n, 0);
    WPT_OK(wp_dead_replay(&n, b->store, WP_SOURCE_ALL, NULL, SOME, 1, "me", WPT_ERR));
    assert_int_equal(n, SOME);
    for (size_t i = 1; i <= SOME; i++) { /* one a second, whichever queue it is of */
        assert_int_equal(claimable_anywhere(b), i);
        wpt_advance_ms(b->clock, 1000);
    }
    assert_int_equal(claimable_anywhere(b), SOME);
    WPT_OK(wp_dead_filter_set_topic(filter, "late", WPT_ERR));
    WPT_OK(wp_dead_purge(&n, b->store, WP_SOURCE_ALL, filter, 2, WPT_ERR));
    assert_int_equal(n, 2);
    WPT_OK(wp_dead_purge(&n, b->store, WP_SOURCE_ALL, NULL, INT64_MAX, WPT_ERR));
    assert_int_equal(n, ALL - SOME - 2);
    list_is(b, NULL, 9, NULL, 0, 0);
    for (size_t i = 0; i < WPT_COUNT(queues); i++) {
        wp_claim *claim = claim_all(b, &queues[i]);
        const wp_id owner = wpt_owner(1);
        for (size_t k = 0; k < wp_claim_count(claim); k++)
            WPT_OK(queues[i].ack(NULL, b->store, NULL, &owner,
                                 wp_received_id(wp_claim_at(claim, k)), NULL, 1, NULL, WPT_ERR));
        wp_claim_free(claim);
    }
    WPT_OK(wp_cleanup(&n, b->store, WP_SOURCE_ALL, 0, WPT_ERR));
    assert_int_equal(n, SOME);
    wp_dead_filter_free(filter);
}

/* How many rows of a table or view meet a condition. */
static int64_t rows_in(bed *b, const char *table, const char *condition)
{
    static const char noun[] = "migration";
    const char *format = b->engine->journal;
    const char *at = strstr(format, noun);
    char *place = sqlite3_mprintf("%.*s%s%s", (int)(at - format), format, table, at + strlen(noun));
    char *name = sqlite3_mprintf(place, b->engine->schema ? b->engine->schema : "infra");
    char *sql = sqlite3_mprintf("SELECT count(*) FROM %s WHERE %s", name, condition);
    const int64_t number = bed_number(b, sql);
    sqlite3_free(place);
    sqlite3_free(name);
    sqlite3_free(sql);
    return number;
}

/* What the view says, by a condition. */
static int64_t in_view(bed *b, const char *condition)
{
    return rows_in(b, b->engine->dead_letters ? b->engine->dead_letters : "dead_letters",
                   condition);
}

/* proves: DLQ-001 */
static void test_view__shows_the_dead_letters_of_every_queue_and_nothing_else(void **state)
{
    static const char *const names[] = {"outbox", "inbox", "timer", "job_run"};
    bed *b = *state;
    const bool seeds =
        b->engine->dead_letters != NULL; /* columns are called as the seeds call them */
    if (b->engine->opens_new)
        return; /* the app's connection is the only way to look */
    for (size_t s = 0; s < WPT_COUNT(queues); s++) {
        const queue *q = &queues[s];
        wp_id id = send(b, q, "1", "t");
        char condition[96];
        (void)send(b, q, "2", "waits");
        bury(b, q, &id, "broken");
        (void)snprintf(condition, sizeof condition,
                       "queue = '%s' AND topic = 't' AND %s = 'broken'", names[s],
                       seeds ? "LastError" : "last_error");
        assert_int_equal(in_view(b, condition), 1);
        assert_int_equal(
            in_view(b, seeds ? "ProcessedAt >= CreatedAt" : "finished_at >= created_at"), s + 1);
    }
    WPT_OK(wp_dead_purge(NULL, b->store, WP_SOURCE_TIMER, NULL, 10, WPT_ERR));
    assert_int_equal(in_view(b, "queue = 'timer'"), 0);
    assert_int_equal(in_view(b, "payload IS NOT NULL"), 3);
}

/* scenario: DED-002 */
/* proves: DLQ-001 */
static void test_dead__replayed__are_ready_with_no_attempts_and_recorded(void **state)
{
    bed *b = *state;
    wpt_log log;
    wpt_log_init(&log);
    ib_reopen_logged(b, &log, "info");
    for (size_t s = 0; s < WPT_COUNT(queues); s++) {
        const queue *q = &queues[s];
        size_t replayed = 0;
        wp_claim *claim;
        int64_t claim_number = 0;
        const wp_id id = send(b, q, "1", "t");
        const wp_id owner = wpt_owner(1);
        claim = claim_all(b, q);
        WPT_OK(q->abandon(NULL, b->store, NULL, &owner, &id, NULL, 1, 1, "x", WPT_ERR));
        claim_number = wp_received_claim_number(wp_claim_at(claim, 0));
        wp_claim_free(claim);
        wpt_advance_ms(b->clock, 1);
        bury(b, q, &id, "broken");
        assert_int_equal(claimable(b, q), 0);
        WPT_OK(wp_dead_replay(&replayed, b->store, q->source, NULL, 10, 0, "me", WPT_ERR));
        assert_int_equal(replayed, 1);
        assert_int_equal(count(b, q, NULL), 0);
        claim = claim_all(b, q);
        assert_int_equal(wp_claim_count(claim), 1);
        assert_int_equal(wp_received_attempt(wp_claim_at(claim, 0)), 0);
        assert_true(wp_received_claim_number(wp_claim_at(claim, 0)) > claim_number + 1);
        wp_claim_free(claim);
        ack(b, q, &id);
        WPT_OK(wp_dead_replay(&replayed, b->store, q->source, NULL, 10, 0, NULL, WPT_ERR));
        assert_int_equal(replayed, 0);
    }
    assert_int_equal(wpt_log_count(&log, "info", "replayed", "\"By\":\"me\""), WPT_COUNT(queues));
    ib_close_logged(b, &log);
}

/* scenario: DED-002 */
/* proves: DLQ-001 */
static void test_dead__replayed_at_a_rate__come_due_one_after_the_other(void **state)
{
    bed *b = *state;
    for (size_t s = 0; s < WPT_COUNT(queues); s++) {
        const queue *q = &queues[s];
        size_t replayed = 0;
        for (size_t i = 0; i < 4; i++) {
            char name[8];
            wp_id id;
            (void)snprintf(name, sizeof name, "m%zu", i);
            id = send(b, q, name, "t");
            bury(b, q, &id, "broken");
        }
        WPT_OK(wp_dead_replay(&replayed, b->store, q->source, NULL, 3, 2, NULL, WPT_ERR));
        assert_int_equal(replayed, 3);
        assert_int_equal(count(b, q, NULL), 1);
        for (size_t due = 1; due <= 3; due++) {
            assert_int_equal(claimable(b, q), due);
            wpt_advance_ms(b->clock, 499);
            assert_int_equal(claimable(b, q), due);
            wpt_advance_ms(b->clock, 1);
        }
        assert_int_equal(claimable(b, q), 3);
    }
    WPT_STATUS(wp_dead_replay(NULL, b->store, WP_SOURCE_OUTBOX, NULL, 0, 0, NULL, WPT_ERR),
               WP_E_RANGE);
    WPT_STATUS(wp_dead_replay(NULL, b->store, WP_SOURCE_OUTBOX, NULL, 1, -1, NULL, WPT_ERR),
               WP_E_RANGE);
}

static wp_outcome count_call(wp_delivery *delivery, void *user)
{
    assert_int_equal(wp_received_attempt(wp_delivery_message(delivery)), 0);
    ++*(int *)user;
    return WP_OUTCOME_DONE;
}

static wp_outcome reject(wp_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return WP_OUTCOME_REJECT;
}

/* Whoever makes a dead letter tells of it: a worker that handled it, and whoever reaps, for those whose
 * leases ran out too often. */
/* proves: DLQ-001 */
static void test_dead__made_by_workers_and_reapers__are_told_to_the_log(void **state)
{
    bed *b = *state;
    wpt_log log;
    wpt_log_init(&log);
    ib_reopen_logged_with(b, &log, "error", WPT_OPTIONS("worker.max_attempts", "1"));
    for (size_t s = 0; s < WPT_COUNT(queues); s++) {
        const queue *q = &queues[s];
        const wp_id rejected = send(b, q, "rejected", "t");
        wp_id lost[2];
        wp_worker *worker = NULL;
        char id[37];
        WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
        WPT_OK(wp_worker_handle(worker, q->source, "t", reject, NULL, NULL, WPT_ERR));
        WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
        wp_id_format(id, &rejected);
        assert_int_equal(wpt_log_count(&log, "error dead letter", id, "rejected by"), 1);
        for (size_t i = 0; i < 2; i++) { /* reaped by a worker, and by hand */
            lost[i] = send(b, q, i ? "lost again" : "lost", "t");
            wp_claim_free(claim_all(b, q));
            wpt_advance_ms(b->clock, 1000);
            if (i == 0)
                WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
            else
                WPT_OK(q->reap(NULL, b->store, WPT_ERR));
            wp_id_format(id, &lost[i]);
            assert_int_equal(wpt_log_count(&log, "error dead letter", id, "lease expired"), 1);
        }
        assert_int_equal(count(b, q, NULL), 3);
        wp_worker_free(worker);
    }
    assert_int_equal(wpt_log_count(&log, "error dead letter", "\"Topic\":\"t\"", ""),
                     3 * WPT_COUNT(queues));
    ib_close_logged(b, &log);
}

/* scenario: DED-002 */
/* proves: DLQ-001 */
static void test_dead__replayed__reach_their_handler_again(void **state)
{
    bed *b = *state;
    for (size_t s = 0; s < WPT_COUNT(queues); s++) {
        const queue *q = &queues[s];
        const wp_id id = send(b, q, "1", "t");
        wp_worker *worker = NULL;
        int calls = 0;
        bury(b, q, &id, "broken");
        WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
        WPT_OK(wp_worker_handle(worker, q->source, "t", count_call, &calls, NULL, WPT_ERR));
        WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
        assert_int_equal(calls, 0);
        WPT_OK(wp_dead_replay(NULL, b->store, q->source, NULL, 1, 0, NULL, WPT_ERR));
        WPT_OK(wp_worker_drain(NULL, worker, 60000, WPT_ERR));
        assert_int_equal(calls, 1);
        assert_int_equal(count(b, q, NULL), 0);
        wp_worker_free(worker);
    }
}

/* Messages with an ordering key run one at a time, in their order, also when they come back. */
/* proves: DLQ-001, ORD-001 */
static void test_dead__replayed_with_an_ordering_key__run_one_at_a_time(void **state)
{
    bed *b = *state;
    wp_id ids[3];
    for (size_t i = 0; i < 3; i++) {
        wp_message *m = wpt_message("t", "x");
        WPT_OK(wp_message_set_ordering_key(m, "k", WPT_ERR));
        ids[i] = wpt_send(b->store, NULL, m);
    }
    bury(b, outbox, &ids[0], "broken");
    bury(b, outbox, &ids[1], "broken");
    WPT_OK(wp_dead_replay(NULL, b->store, WP_SOURCE_OUTBOX, NULL, 10, 0, NULL, WPT_ERR));
    for (int round = 0; round < 3; round++) {
        wp_claim *claim = claim_all(b, outbox);
        const wp_id owner = wpt_owner(1);
        assert_int_equal(wp_claim_count(claim), 1);
        WPT_OK(wp_outbox_ack(NULL, b->store, NULL, &owner, wp_received_id(wp_claim_at(claim, 0)),
                             NULL, 1, NULL, WPT_ERR));
        wp_claim_free(claim);
    }
    assert_int_equal(claimable(b, outbox), 0);
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_DONE), 3);
}

/* It stands in front of one that runs, and one behind that goes: it waits all the same. */
/* proves: DLQ-001, ORD-001 */
static void test_dead__replayed_before_one_that_runs__waits_for_it(void **state)
{
    bed *b = *state;
    const queue *timer = &queues[2];
    wp_claim *claim;
    wp_id ids[3];
    int cancelled = 0;
    for (size_t i = 0; i < 3; i++) {
        wp_message *m = wpt_message("t", "x");
        WPT_OK(wp_message_set_ordering_key(m, "k", WPT_ERR));
        WPT_OK(wp_timer_schedule(&ids[i], NULL, b->store, NULL, m, WPT_ERR));
        wp_message_free(m);
    }
    bury(b, timer, &ids[0], "broken");
    claim = claim_all(b, timer);
    assert_int_equal(wp_claim_count(claim), 1);
    assert_memory_equal(wp_received_id(wp_claim_at(claim, 0)), &ids[1], sizeof ids[1]);
    wp_claim_free(claim);
    WPT_OK(wp_dead_replay(NULL, b->store, WP_SOURCE_TIMER, NULL, 10, 0, NULL, WPT_ERR));
    WPT_OK(wp_timer_cancel(&cancelled, b->store, NULL, &ids[2], WPT_ERR));
    assert_int_equal(cancelled, 1);
    assert_int_equal(claimable(b, timer), 0);
    ack(b, timer, &ids[1]);
    assert_int_equal(claimable(b, timer), 1);
}

/* A message of the inbox is changed by whoever has its row. */
/* proves: DLQ-001 */
static void test_dead__that_arrives_meanwhile__is_left_to_that(void **state)
{
    bed *b = *state;
    size_t replayed = 9;
    wp_id id;
    if (b->engine->one_writer)
        return; /* they follow each other */
    bed_needs_locks(b);
    id = send(b, inbox, "1", "t");
    bury(b, inbox, &id, "broken");
    bed_exec(b, b->engine->begin);
    assert_int_equal(ib_check(b->store, b->conn, "src", "1"), WP_INBOX_DEAD);
    WPT_OK(wp_dead_replay(&replayed, b->store, WP_SOURCE_INBOX, NULL, 10, 0, NULL, WPT_ERR));
    assert_int_equal(replayed, 0);
    bed_exec(b, b->engine->commit);
    WPT_OK(wp_dead_replay(&replayed, b->store, WP_SOURCE_INBOX, NULL, 10, 0, NULL, WPT_ERR));
    assert_int_equal(replayed, 1);
}

/* proves: DLQ-001, UNQ-001 */
static void test_dead__replayed_while_its_unique_key_is_taken__stays_dead(void **state)
{
    bed *b = *state;
    wp_message *m = wpt_message("t", "x");
    size_t replayed = 9;
    wp_id id;
    WPT_OK(wp_message_set_unique_key(m, "u", WPT_ERR));
    WPT_OK(wp_outbox_enqueue(&id, NULL, b->store, NULL, m, WPT_ERR));
    bury(b, outbox, &id, "broken");
    (void)wpt_send(b->store, NULL, m);
    WPT_OK(wp_dead_replay(&replayed, b->store, WP_SOURCE_OUTBOX, NULL, 10, 0, NULL, WPT_ERR));
    assert_int_equal(replayed, 0);
    assert_int_equal(count(b, outbox, NULL), 1);
    assert_int_equal(claimable(b, outbox), 1);
}

/* scenario: DED-003 */
/* proves: DLQ-001 */
static void test_dead__purged__are_gone_and_nothing_else_is(void **state)
{
    bed *b = *state;
    for (size_t s = 0; s < WPT_COUNT(queues); s++) {
        const queue *q = &queues[s];
        size_t purged = 0;
        wp_dead_filter *filter = NULL;
        const wp_id done = send(b, q, "done", "t");
        wp_id dead[2];
        ack(b, q, &done);
        dead[0] = send(b, q, "a", "t");
        bury(b, q, &dead[0], "broken");
        dead[1] = send(b, q, "b", "t");
        bury(b, q, &dead[1], "broken");
        (void)send(b, q, "ready", "t");
        WPT_OK(wp_dead_filter_new(&filter, WPT_ERR));
        WPT_OK(wp_dead_filter_set_ids(filter, dead, 1, WPT_ERR));
        WPT_OK(wp_dead_purge(&purged, b->store, q->source, filter, 10, WPT_ERR));
        assert_int_equal(purged, 1);
        assert_int_equal(count(b, q, NULL), 1);
        WPT_OK(wp_dead_purge(&purged, b->store, q->source, NULL, 10, WPT_ERR));
        assert_int_equal(purged, 1);
        assert_int_equal(count(b, q, NULL), 0);
        assert_int_equal(claimable(b, q), 1);
        assert_true(knows(b, q, &done));
        assert_false(knows(b, q, &dead[0]));
        if (q == inbox) {
            assert_int_equal(ib_check(b->store, NULL, "src", "done"), WP_INBOX_DONE);
            assert_int_equal(ib_check(b->store, NULL, "src", "a"), WP_INBOX_NEW);
        }
        wp_dead_filter_free(filter);
    }
}

static wp_outcome reject_again(wp_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return WP_OUTCOME_REJECT;
}

/* They die again while the call goes on: it deals with each that was dead when it began, once. */
/* proves: DLQ-001 */
static void test_dead__that_die_again_meanwhile__are_not_replayed_again(void **state)
{
    enum { COUNT = 2000 };
    bed *b = *state;
    wp_message *m = wpt_message("t", "x");
    const wp_message **messages = calloc(COUNT, sizeof *messages);
    wp_id *ids = calloc(COUNT, sizeof *ids);
    wp_config *config = wpt_config(b->clock, WPT_OPTIONS("worker.concurrency", "100"));
    const wp_id owner = wpt_owner(1);
    wp_worker *worker = NULL;
    size_t replayed = 0;
    for (size_t i = 0; i < COUNT; i++)
        messages[i] = m;
    WPT_OK(wp_outbox_enqueue_many(ids, NULL, b->store, NULL, messages, COUNT, WPT_ERR));
    wp_claim_free(wpt_claim(b->store, 1, COUNT, 1000));
    WPT_OK(wp_outbox_fail(NULL, b->store, NULL, &owner, ids, NULL, COUNT, "no", WPT_ERR));
    wpt_advance_ms(b->clock, 1000);
    WPT_OK(wp_worker_new(&worker, b->store, config, WPT_ERR));
    wp_config_free(config);
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t", reject_again, NULL, NULL, WPT_ERR));
    WPT_OK(wp_worker_start(worker, 2, WPT_ERR));
    WPT_OK(
        wp_dead_replay(&replayed, b->store, WP_SOURCE_OUTBOX, NULL, INT64_MAX, 0, NULL, WPT_ERR));
    assert_int_equal(replayed, COUNT);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
    WPT_OK(wp_dead_purge(&replayed, b->store, WP_SOURCE_OUTBOX, NULL, INT64_MAX, WPT_ERR));
    assert_int_equal(count(b, outbox, NULL), 0);
    wp_message_free(m);
    free(messages);
    free(ids);
}

/* A worker for a queue whose deliveries are pulled. */
static wp_worker *worker_for(bed *b, const queue *q, const char *const *options)
{
    wp_config *config = wpt_config(b->clock, options);
    wp_worker *worker = NULL;
    WPT_OK(wp_worker_new(&worker, b->store, config, WPT_ERR));
    wp_config_free(config);
    WPT_OK(wp_worker_handle(worker, q->source, "t", NULL, NULL, NULL, WPT_ERR));
    return worker;
}

/* The number of the newest message comes free when it is purged: nobody gets it again. */
/* proves: OBX-114, DLQ-001 */
static void test_dead__purged_while_its_handler_runs__leaves_the_next_one_alone(void **state)
{
    bed *b = *state;
    wp_clock *ahead = wpt_clock();
    wp_config *config = bed_config(b, NULL);
    wp_store *other = NULL;
    wpt_advance_ms(ahead, DAY_MS);
    WPT_OK(wp_config_set_clock(config, ahead, WPT_ERR));
    if (!b->engine->opens_new)
        WPT_OK(wp_store_open(&other, config, WPT_ERR));
    wp_config_free(config);
    for (size_t s = 0; s < WPT_COUNT(queues) && other; s++) {
        const queue *q = &queues[s];
        wp_worker *worker = worker_for(b, q, WPT_OPTIONS("worker.max_attempts", "1"));
        wp_delivery *late = NULL, *next = NULL;
        size_t purged = 0;
        (void)send(b, q, "late", "t");
        WPT_OK(wp_worker_next(&late, worker, 60000, WPT_ERR));
        WPT_OK(q->reap(NULL, other, WPT_ERR)); /* its time is over, and it does not know */
        WPT_OK(wp_dead_purge(&purged, other, q->source, NULL, 10, WPT_ERR));
        assert_int_equal(purged, 1);
        (void)send(b, q, "next", "t");
        WPT_OK(wp_worker_next(&next, worker, 60000, WPT_ERR));
        WPT_OK(wp_delivery_finish(late, WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
        WPT_OK(wp_delivery_finish(next, WP_OUTCOME_DONE, NULL, 0, WPT_ERR));
        WPT_STATUS(wp_delivery_settle(late, 60000, WPT_ERR), WP_E_LEASE_LOST);
        WPT_OK(wp_delivery_settle(next, 60000, WPT_ERR));
        wp_delivery_free(late);
        wp_delivery_free(next);
        wp_worker_free(worker);
    }
    wp_store_close(other);
    wp_clock_free(ahead);
}

/* A list tells what it left in the database; here nothing is. */
/* proves: DLQ-001 */
static void
test_list__of_an_inbox_message_that_was_never_enqueued__has_an_empty_payload(void **state)
{
    bed *b = *state;
    wp_inbox_key *dead = ib_key("src", "dead");
    wp_dead_filter *filter = NULL;
    wp_dead_list *list = NULL;
    assert_int_equal(ib_check(b->store, NULL, "src", "dead"), WP_INBOX_NEW);
    WPT_OK(wp_inbox_mark_dead(b->store, NULL, dead, NULL, WPT_ERR));
    WPT_OK(wp_dead_filter_new(&filter, WPT_ERR));
    WPT_OK(wp_dead_list_read(&list, b->store, WP_SOURCE_INBOX, filter, NULL, 10, WPT_ERR));
    assert_int_equal(wp_dead_list_count(list), 1);
    assert_string_equal(wp_received_payload(NULL, wp_outbox_info_message(wp_dead_list_at(list, 0))),
                        "");
    assert_int_equal(wp_outbox_info_payload_bytes(wp_dead_list_at(list, 0)), 0);
    wp_dead_list_free(list);
    wp_dead_filter_free(filter);
    wp_inbox_key_free(dead);
}

/* ---- cleanup ------------------------------------------------------------------------------ */

/* scenario: DED-004 */
/* proves: IBX-098..101 */
static void test_cleanup__of_what_is_done__leaves_all_else(void **state)
{
    bed *b = *state;
    wp_inbox_key *dead = ib_key("src", "dead");
    wp_id id;
    size_t removed = 0;
    assert_int_equal(ib_check(b->store, NULL, "src", "seen"), WP_INBOX_NEW);
    assert_int_equal(ib_check(b->store, NULL, "src", "dead"), WP_INBOX_NEW);
    WPT_OK(wp_inbox_mark_dead(b->store, NULL, dead, NULL, WPT_ERR));
    id = send(b, inbox, "old", "t");
    ack(b, inbox, &id);
    id = send(b, inbox, "repeated", "t");
    ack(b, inbox, &id);
    wpt_advance_ms(b->clock, 10000);
    assert_int_equal(ib_check(b->store, NULL, "src", "repeated"), WP_INBOX_DONE);
    id = send(b, inbox, "young", "t");
    ack(b, inbox, &id);
    (void)send(b, inbox, "ready", "t");
    WPT_OK(wp_cleanup(&removed, b->store, WP_SOURCE_INBOX, 10001, WPT_ERR));
    assert_int_equal(removed, 0);
    WPT_OK(wp_cleanup(&removed, b->store, WP_SOURCE_INBOX, 10000, WPT_ERR));
    assert_int_equal(removed, 1);
    ib_is_unknown(b->store, "src", "old");
    assert_int_equal(ib_status(b->store, "src", "repeated"), WP_MESSAGE_DONE);
    assert_int_equal(ib_status(b->store, "src", "young"), WP_MESSAGE_DONE);
    WPT_OK(wp_cleanup(&removed, b->store, WP_SOURCE_INBOX, 0, WPT_ERR));
    assert_int_equal(removed, 2);
    assert_int_equal(ib_status(b->store, "src", "seen"), WP_MESSAGE_SEEN);
    assert_int_equal(ib_status(b->store, "src", "dead"), WP_MESSAGE_FAILED);
    assert_int_equal(claimable(b, inbox), 1);
    assert_int_equal(ib_check(b->store, NULL, "src", "old"), WP_INBOX_NEW);
    WPT_STATUS(wp_cleanup(NULL, b->store, WP_SOURCE_INBOX, -1, WPT_ERR), WP_E_RANGE);
    wp_inbox_key_free(dead);
}

/* Of each queue alike: old and done goes; dead, young or unfinished stays. */
/* scenario: DED-004 */
/* proves: IBX-098, IBX-099, JOB-016 */
static void test_cleanup__of_each_queue__removes_what_was_done_long_ago(void **state)
{
    bed *b = *state;
    for (size_t s = 0; s < WPT_COUNT(queues); s++) {
        const queue *q = &queues[s];
        size_t removed = 9;
        wp_id old, dead, young, ready;
        old = send(b, q, "old", "t");
        ack(b, q, &old);
        dead = send(b, q, "dead", "t");
        bury(b, q, &dead, "broken");
        wpt_advance_ms(b->clock, 5000);
        young = send(b, q, "young", "t");
        ack(b, q, &young);
        ready = send(b, q, "ready", "t");
        WPT_OK(wp_cleanup(&removed, b->store, q->source, 5000, WPT_ERR));
        assert_int_equal(removed, 1);
        assert_false(knows(b, q, &old));
        assert_true(knows(b, q, &dead));
        assert_true(knows(b, q, &young));
        assert_true(knows(b, q, &ready));
        assert_int_equal(claimable(b, q), 1);
    }
}

/* A message that is arriving in another transaction is not forgotten, whatever becomes of that. */
/* proves: IBX-099 */
static void test_cleanup__of_a_message_that_arrives_meanwhile__keeps_it(void **state)
{
    bed *b = *state;
    size_t removed = 9;
    wp_id id;
    if (b->engine->one_writer)
        return; /* they follow each other */
    bed_needs_locks(b);
    id = send(b, inbox, "old", "t");
    ack(b, inbox, &id);
    wpt_advance_ms(b->clock, 5000);
    bed_exec(b, b->engine->begin);
    assert_int_equal(ib_check(b->store, b->conn, "src", "old"), WP_INBOX_DONE);
    WPT_OK(wp_cleanup(&removed, b->store, WP_SOURCE_INBOX, 5000, WPT_ERR));
    assert_int_equal(removed, 0);
    bed_exec(b, b->engine->commit);
    WPT_OK(wp_cleanup(&removed, b->store, WP_SOURCE_INBOX, 5000, WPT_ERR));
    assert_int_equal(removed, 0);
    assert_int_equal(ib_check(b->store, NULL, "src", "old"), WP_INBOX_DONE);
}

/* A page of messages from when the clock was ahead does not hide what is behind them. */
/* proves: IBX-101, CLK-001 */
static void test_cleanup__after_the_clock_was_ahead__goes_on_behind_that(void **state)
{
    enum { COUNT = 1000 };
    const int64_t years = INT64_C(10) * 365 * DAY_MS * 1000;
    bed *b = *state;
    wp_message *m = wpt_message("t", "x");
    const wp_message *messages[COUNT];
    wp_id ids[COUNT], old;
    const wp_id owner = wpt_owner(1);
    size_t removed = 0;
    for (size_t i = 0; i < COUNT; i++)
        messages[i] = m;
    WPT_OK(wp_clock_jump_us(b->clock, years, WPT_ERR));
    WPT_OK(wp_outbox_enqueue_many(ids, NULL, b->store, NULL, messages, COUNT, WPT_ERR));
    wp_claim_free(wpt_claim(b->store, 1, COUNT, 1000));
    WPT_OK(wp_outbox_ack(NULL, b->store, NULL, &owner, ids, NULL, COUNT, NULL, WPT_ERR));
    WPT_OK(wp_clock_jump_us(b->clock, -years, WPT_ERR));
    old = send(b, outbox, "old", "t");
    ack(b, outbox, &old);
    wpt_advance_ms(b->clock, 5000);
    WPT_OK(wp_cleanup(&removed, b->store, WP_SOURCE_OUTBOX, 5000, WPT_ERR));
    assert_int_equal(removed, 1);
    assert_false(knows(b, outbox, &old));
    wp_message_free(m);
}

/* More than a batch, behind rows that stay. */
/* scenario: DED-004 */
/* proves: IBX-101 */
static void test_cleanup__of_more_than_a_batch__removes_all_of_it(void **state)
{
    enum { COUNT = 2100 };
    bed *b = *state;
    wp_message *m = wpt_message("t", "x");
    const wp_message **messages = calloc(COUNT, sizeof *messages);
    wp_id *ids = calloc(COUNT, sizeof *ids);
    const wp_id owner = wpt_owner(1);
    size_t removed = 0;
    size_t changed = 0;
    wp_id dead;
    assert_non_null(messages);
    assert_non_null(ids);
    dead = send(b, outbox, "dead", "t");
    bury(b, outbox, &dead, "broken");
    for (size_t i = 0; i < COUNT; i++)
        messages[i] = m;
    WPT_OK(wp_outbox_enqueue_many(ids, NULL, b->store, NULL, messages, COUNT, WPT_ERR));
    wp_claim_free(wpt_claim(b->store, 1, COUNT, 1000));
    WPT_OK(wp_outbox_ack(&changed, b->store, NULL, &owner, ids, NULL, COUNT, NULL, WPT_ERR));
    assert_int_equal(changed, COUNT);
    WPT_OK(wp_cleanup(&removed, b->store, WP_SOURCE_OUTBOX, 0, WPT_ERR));
    assert_int_equal(removed, COUNT);
    assert_int_equal(count(b, outbox, NULL), 1);
    wp_message_free(m);
    free(messages);
    free(ids);
}

/* ---- by workers --------------------------------------------------------------------------- */

enum { INTERVAL_MS = 3600000 };

static wp_outcome nothing(wp_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return WP_OUTCOME_DONE;
}

static wp_worker *idle_worker(bed *b)
{
    wp_worker *worker = NULL;
    WPT_OK(wp_worker_new(&worker, b->store, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "none", nothing, NULL, NULL, WPT_ERR));
    WPT_OK(wp_worker_start(worker, 1, WPT_ERR));
    WPT_AWAIT(wp_worker_counter(worker, WP_COUNTER_POLLS) > 0);
    return worker;
}

/* Whatever was due for the worker by now is done: it has begun a round after this. */
static void rounds_pass(bed *b, const wp_worker *worker)
{
    for (int i = 0; i < 2; i++) {
        const int64_t polls = wp_worker_counter(worker, WP_COUNTER_POLLS);
        wpt_advance_ms(b->clock, 1000);
        WPT_AWAIT(wp_worker_counter(worker, WP_COUNTER_POLLS) > polls);
    }
}

/* It may have been in the middle of an earlier look, and looks again after the interval. */
static void await_gone(bed *b, const wp_worker *worker, const queue *q, const wp_id *id)
{
    for (int i = 0; i < 20 && knows(b, q, id); i++) {
        rounds_pass(b, worker);
        if (knows(b, q, id))
            wpt_advance_ms(b->clock, INTERVAL_MS);
    }
    assert_false(knows(b, q, id));
}

static void worker_end(wp_worker *worker)
{
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_ERRORS), 0);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
}

/* Each queue keeps what is done for as long as its option says. */
/* scenario: DED-004 */
/* proves: IBX-098..101, JOB-016 */
static void test_worker__cleans_up_what_was_done_long_ago(void **state)
{
    bed *b = *state;
    wp_id old[WPT_COUNT(queues)], dead[WPT_COUNT(queues)];
    wp_worker *worker;
    bed_reopen(b, WPT_OPTIONS("outbox.keep_ms", "172800000", "inbox.keep_ms", "172800000",
                              "timer.keep_ms", "172800000", "job.keep_ms", "0",
                              "worker.poll_max_ms", "1000", "worker.wakeups", "false"));
    for (size_t i = 0; i < WPT_COUNT(queues); i++) {
        dead[i] = send(b, &queues[i], "dead", "t");
        bury(b, &queues[i], &dead[i], "broken");
        old[i] = send(b, &queues[i], "old", "t");
        ack(b, &queues[i], &old[i]);
    }
    worker = idle_worker(b);
    wpt_advance_ms(b->clock, INTERVAL_MS);
    rounds_pass(b, worker);
    for (size_t i = 0; i < WPT_COUNT(queues); i++)
        assert_true(knows(b, &queues[i], &old[i])); /* it is not so old */
    wpt_advance_ms(b->clock, 2 * DAY_MS);
    for (size_t i = 0; i < 3; i++)
        await_gone(b, worker, &queues[i], &old[i]);
    wpt_advance_ms(b->clock, INTERVAL_MS);
    rounds_pass(b, worker);
    assert_true(knows(b, &queues[3], &old[3])); /* for ever */
    for (size_t i = 0; i < WPT_COUNT(queues); i++)
        assert_true(knows(b, &queues[i], &dead[i]));
    worker_end(worker);
}

/* proves: IBX-101 */
static void test_worker__with_much_to_clean_up__takes_one_page_after_the_other(void **state)
{
    enum { COUNT = 2100 };
    bed *b = *state;
    wp_message *m = wpt_message("t", "x");
    const wp_message **messages = calloc(COUNT, sizeof *messages);
    wp_id *ids = calloc(COUNT, sizeof *ids);
    const wp_id owner = wpt_owner(1);
    wp_worker *worker;
    assert_non_null(messages);
    assert_non_null(ids);
    bed_reopen(b, WPT_OPTIONS("worker.poll_max_ms", "1000", "worker.wakeups", "false"));
    for (size_t i = 0; i < COUNT; i++)
        messages[i] = m;
    WPT_OK(wp_outbox_enqueue_many(ids, NULL, b->store, NULL, messages, COUNT, WPT_ERR));
    wp_claim_free(wpt_claim(b->store, 1, COUNT, 1000));
    WPT_OK(wp_outbox_ack(NULL, b->store, NULL, &owner, ids, NULL, COUNT, NULL, WPT_ERR));
    worker = idle_worker(b);
    wpt_advance_ms(b->clock, INT64_C(30) * DAY_MS); /* the default */
    await_gone(b, worker, outbox, &ids[COUNT - 1]);
    assert_false(knows(b, outbox, &ids[0]));
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_DONE), 0);
    worker_end(worker);
    wp_message_free(m);
    free(messages);
    free(ids);
}

static void test_worker__while_another_one_cleans_up__leaves_it_to_that(void **state)
{
    bed *b = *state;
    wp_worker *worker;
    wp_lease_info *info = NULL;
    wp_id old;
    bed_reopen(b, WPT_OPTIONS("outbox.keep_ms", "1", "worker.poll_max_ms", "1000", "worker.wakeups",
                              "false"));
    old = send(b, outbox, "old", "t");
    ack(b, outbox, &old);
    WPT_OK(wp_lease_acquire(&info, b->store, NULL, WP_LEASE_EXCLUSIVE, "waypost/cleanup", "other",
                            INTERVAL_MS + INTERVAL_MS / 2, WPT_ERR));
    wp_lease_info_free(info);
    worker = idle_worker(b);
    wpt_advance_ms(b->clock, INTERVAL_MS); /* it has asked, and will do so an interval later */
    rounds_pass(b, worker);
    assert_true(knows(b, outbox, &old));
    wpt_advance_ms(b->clock, INTERVAL_MS);
    await_gone(b, worker, outbox, &old);
    worker_end(worker);
}

/* Pauses and ends of the topic t, each changing it, in a transaction of the app's. */
static void change_pauses(bed *b, int times, bool *is_paused)
{
    bed_exec(b, b->engine->begin);
    for (int i = 0; i < times; i++) {
        int changed = 99;
        WPT_OK((*is_paused ? wp_topic_resume : wp_topic_pause)(
            &changed, b->store, b->conn, WP_SOURCE_OUTBOX, "t", "me", WPT_ERR));
        assert_int_equal(changed, 1);
        *is_paused = !*is_paused;
    }
}

static size_t pauses_of(bed *b)
{
    wp_pauses *pauses = NULL;
    size_t count;
    WPT_OK(wp_pauses_read(&pauses, b->store, WPT_ERR));
    count = wp_pauses_count(pauses);
    wp_pauses_free(pauses);
    return count;
}

/* On an engine where each change has a row of its own. One that is not committed supersedes nothing. */
/* proves: WRK-008 */
static void test_worker__cleans_up_what_pauses_in_the_apps_transactions_left(void **state)
{
    bed *b = *state;
    const char *table = b->engine->dead_letters ? "PausedTopic" : "paused_topic";
    bool is_paused = false, then = false;
    wp_worker *worker;
    if (b->engine->opens_new || b->engine->one_writer)
        return; /* they have a row a topic */
    bed_reopen(b, WPT_OPTIONS("outbox.keep_ms", "0", "inbox.keep_ms", "0", "timer.keep_ms", "0",
                              "job.keep_ms", "0", "join.keep_ms", "0", "worker.poll_max_ms", "1000",
                              "worker.wakeups", "false"));
    for (int i = 0; i < 5; i++) {
        change_pauses(b, 31, &is_paused);
        bed_exec(b, b->engine->commit);
    }
    then = is_paused;
    change_pauses(b, 2, &is_paused);
    worker = idle_worker(b);
    for (int i = 0; i < 20; i++) {
        wpt_advance_ms(b->clock, INTERVAL_MS);
        rounds_pass(b, worker);
    }
    bed_exec(b, b->engine->rollback);
    assert_true(then);
    assert_int_equal(pauses_of(b), 1);
    assert_int_equal(rows_in(b, table, "1 = 1"), 1);
    change_pauses(b, 1, &then);
    bed_exec(b, b->engine->commit);
    assert_int_equal(pauses_of(b), 0);
    worker_end(worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_claim__after_attempts_that_failed__says_why_the_last_one_did),
        BED_TEST(test_stats__of_claims_whose_lease_is_over__count_them),
        BED_TEST(test_unfinished__of_each_queue__is_listed_by_topic_and_page),
        BED_TEST(test_lists__of_large_messages__leave_the_payloads_in_the_database),
        BED_TEST(test_dead__of_all_queues__are_one_list_by_when_they_died),
        BED_TEST(test_dead__of_all_queues__replayed_and_purged_by_one_limit_and_rate),
        BED_TEST(test_dead__listed_by_pages_and_filters__are_those_that_died),
        BED_TEST(test_view__shows_the_dead_letters_of_every_queue_and_nothing_else),
        BED_TEST(test_dead__replayed__are_ready_with_no_attempts_and_recorded),
        BED_TEST(test_dead__made_by_workers_and_reapers__are_told_to_the_log),
        BED_TEST(test_dead__replayed__reach_their_handler_again),
        BED_TEST(test_dead__replayed_at_a_rate__come_due_one_after_the_other),
        BED_TEST(test_dead__replayed_with_an_ordering_key__run_one_at_a_time),
        BED_TEST(test_dead__replayed_before_one_that_runs__waits_for_it),
        BED_TEST(test_dead__that_arrives_meanwhile__is_left_to_that),
        BED_TEST(test_dead__replayed_while_its_unique_key_is_taken__stays_dead),
        BED_TEST(test_dead__purged__are_gone_and_nothing_else_is),
        BED_TEST(test_dead__that_die_again_meanwhile__are_not_replayed_again),
        BED_TEST(test_dead__purged_while_its_handler_runs__leaves_the_next_one_alone),
        BED_TEST(test_list__of_an_inbox_message_that_was_never_enqueued__has_an_empty_payload),
        BED_TEST(test_cleanup__of_what_is_done__leaves_all_else),
        BED_TEST(test_cleanup__of_each_queue__removes_what_was_done_long_ago),
        BED_TEST(test_cleanup__of_a_message_that_arrives_meanwhile__keeps_it),
        BED_TEST(test_cleanup__after_the_clock_was_ahead__goes_on_behind_that),
        BED_TEST(test_cleanup__of_more_than_a_batch__removes_all_of_it),
        BED_TEST(test_worker__cleans_up_what_was_done_long_ago),
        BED_TEST(test_worker__with_much_to_clean_up__takes_one_page_after_the_other),
        BED_TEST(test_worker__while_another_one_cleans_up__leaves_it_to_that),
        BED_TEST(test_worker__cleans_up_what_pauses_in_the_apps_transactions_left),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
