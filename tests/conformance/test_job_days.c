/* SPDX-License-Identifier: Apache-2.0 */
/* Whole days of jobs, around the nights in which clocks are set: several schedulers at once, whose clocks
 * differ, and are set forward and back meanwhile. What is made are exactly the runs that were planned. */
#include <inttypes.h>

#include "bed.h"
#include "support/wpt_time.h"

enum { SCHEDULERS = 4, MINUTE_MS = 60000, MOST_RUNS = 600 };
#define MINUTE_US INT64_C(60000000)
#define HOUR_US (60 * MINUTE_US)

static const struct {
    const char *name, *expression, *zone;
    bool each; /* each occurrence is planned, however late; else those that were missed are one */
} planned[] = {
    {"berlin", "30 2 * * *", "Europe/Berlin", true},
    {"berlin hourly", "20 * * * *", "Europe/Berlin", true},
    {"new york", "30 1,2 * * *", "America/New_York", true},
    {"lord howe", "45 1 * * *", "Australia/Lord_Howe", true},
    {"lord howe often", "*/30 1-3 * * *", "Australia/Lord_Howe", true},
    {"every", "@every 100m", NULL, true},
    {"utc", "59 23 * * *", NULL, true},
    {"missed", "*/15 * * * *", "America/New_York", false},
};
enum { JOBS = WPT_COUNT(planned) };

typedef struct scheduler {
    wp_store *store;
    wp_clock *clock;
    wp__thread thread;
    wpt_gate *gate;
    wp_id owner;
    bool goes_on;
    bool due_stays; /* see struct engine */
    int64_t latest; /* that any clock was */
    size_t made, handled, early;
} scheduler;

/* Claim what is due by this scheduler's clock, and end it as done. */
static void handle(scheduler *s)
{
    for (size_t count = 1; count > 0;) {
        wp_claim *claim = NULL;
        wp_error *err = NULL;
        if (wp_job_run_claim(&claim, s->store, &s->owner, NULL, 0, 50, MINUTE_MS, &err) != WP_OK)
            break; /* the database was busy */
        count = wp_claim_count(claim);
        for (size_t i = 0; i < count; i++) {
            const wp_received *run = wp_claim_at(claim, i);
            size_t changed = 0;
            s->early +=
                wp_received_due_us(run) > (s->due_stays ? s->latest : wp_clock_utc_us(s->clock));
            if (wp_job_run_ack(&changed, s->store, NULL, &s->owner, wp_received_id(run), NULL, 1,
                               "w", NULL) == WP_OK)
                s->handled += changed;
        }
        wp_claim_free(claim);
    }
}

static void *scheduler_main(void *arg)
{
    scheduler *s = arg;
    for (;;) {
        size_t made = 0;
        wpt_gate_pass(s->gate);
        if (!s->goes_on)
            return NULL;
        (void)wp_job_run_reap(NULL, s->store, NULL);
        /* a busy database is no harm: the next time does it */
        if (wp_job_schedule_due(&made, s->store, NULL) == WP_OK)
            s->made += made;
        handle(s);
    }
}

/* ---- the clocks --------------------------------------------------------------------------- */

static uint64_t state_of_random;

static int64_t between(int64_t low, int64_t high)
{
    state_of_random =
        state_of_random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (int64_t)((state_of_random >> 33) % (uint64_t)(high - low + 1));
}

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What a day is made of: it goes by, and now and then someone sets the clocks. */
static int64_t some_time(void)
{
    switch (between(0, 7)) {
    case 0:
        return -between(10, 180) * MINUTE_US;
    case 1:
        return between(60, 240) * MINUTE_US;
    case 2:
        return between(1, 90) * WPT_SECOND_US;
    default:
        return between(5, 90) * MINUTE_US;
    }
}

/* Set all clocks to an instant, each a little wrong, by up to 2 s. */
static void set_clocks(bed *b, scheduler s[SCHEDULERS], int64_t at)
{
    WPT_OK(wp_clock_jump_us(b->clock, at - wp_clock_utc_us(b->clock), WPT_ERR));
    for (int i = 0; i < SCHEDULERS; i++)
        WPT_OK(wp_clock_jump_us(
            s[i].clock, at + between(-2000000, 2000000) - wp_clock_utc_us(s[i].clock), WPT_ERR));
}

/* ---- what is expected --------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The occurrences after `start` and up to `end`. */
static size_t occurrences(int64_t us[MOST_RUNS], int job, int64_t start, int64_t end)
{
    wp_schedule *schedule = NULL;
    size_t count = 0, kept = 0;
    WPT_OK(wp_schedule_new(&schedule, planned[job].expression, planned[job].zone, NULL, WPT_ERR));
    WPT_OK(wp_schedule_preview(us, &count, schedule, start, MOST_RUNS, WPT_ERR));
    wp_schedule_free(schedule);
    while (kept < count && us[kept] <= end)
        kept++;
    assert_true(kept < count);
    return kept;
}

/* The instants of a job's runs, in order; all have succeeded. Returns how many. */
static size_t runs_of(bed *b, int job, int64_t dues[MOST_RUNS])
{
    wp_job_runs *runs = NULL;
    size_t count;
    WPT_OK(wp_job_run_list(&runs, b->store, planned[job].name, NULL, MOST_RUNS, WPT_ERR));
    count = wp_job_runs_count(runs);
    for (size_t i = 0; i < count; i++) {
        const wp_job_run *run = wp_job_runs_at(runs, i);
        dues[i] = wp_job_run_due_us(run);
        assert_int_equal(wp_job_run_status(run), WP_RUN_SUCCEEDED);
    }
    wp_job_runs_free(runs);
    qsort(dues, count, sizeof *dues, by_value);
    return count;
}

static size_t check_job(bed *b, int job, int64_t start, int64_t end)
{
    int64_t want[MOST_RUNS], got[MOST_RUNS];
    const size_t wanted = occurrences(want, job, start, end), count = runs_of(b, job, got);
    size_t at = 0;
    for (size_t i = 0; planned[job].each && i < wanted; i++)
        if (!bsearch(&want[i], got, count, sizeof *got, by_value))
            fail_msg("%s: no run at %s", planned[job].name, wpt_instant(want[i] / WPT_SECOND_US));
    assert_true(count > 0 && got[count - 1] == want[wanted - 1]);
    for (size_t i = 0; i < count; i++, at++) { /* each is one of them, and another one */
        while (at < wanted && want[at] < got[i] && !planned[job].each)
            at++;
        if (at == wanted || want[at] != got[i])
            fail_msg("%s: a run at %s", planned[job].name, wpt_instant(got[i] / WPT_SECOND_US));
    }
    return count;
}

/* ---- a day -------------------------------------------------------------------------------- */

static void put_jobs(bed *b)
{
    for (int i = 0; i < JOBS; i++) {
        wp_job *job = NULL;
        WPT_OK(wp_job_new(&job, planned[i].name, "t", "", 0, WPT_ERR));
        WPT_OK(wp_job_set_schedule(job, planned[i].expression, planned[i].zone, WPT_ERR));
        if (planned[i].each)
            WPT_OK(wp_job_set_misfire(job, WP_MISFIRE_FIRE, WP_DELAY_MS_MAX, 0, WPT_ERR));
        WPT_OK(wp_job_put(b->store, job, WPT_ERR));
        wp_job_free(job);
    }
}

static void open_schedulers(bed *b, scheduler s[SCHEDULERS], wpt_gate *gate, wpt_log *log)
{
    for (int i = 0; i < SCHEDULERS; i++) {
        wp_config *config = bed_config(b, WPT_OPTIONS("store.pool_size", "1"));
        WPT_OK(wp_clock_new_manual(&s[i].clock, WPT_START_US, WPT_ERR));
        WPT_OK(wp_config_set_clock(config, s[i].clock, WPT_ERR));
        wpt_log_attach(log, config, "info");
        WPT_OK(wp_store_open(&s[i].store, config, WPT_ERR));
        wp_config_free(config);
        s[i].gate = gate;
        s[i].owner = wpt_owner(i + 1);
        s[i].goes_on = true;
        s[i].due_stays = b->engine->due_stays;
        WPT_OK(wp__thread_start(&s[i].thread, "scheduler", scheduler_main, &s[i], WPT_ERR));
    }
}

/* All schedulers do what is due, at once. */
static void let_them(wpt_gate *gate)
{
    const size_t before = wpt_gate_passed(gate);
    WPT_AWAIT(wpt_gate_waiting(gate) == SCHEDULERS);
    wpt_gate_open(gate, SCHEDULERS);
    WPT_AWAIT(wpt_gate_passed(gate) == before + SCHEDULERS);
    WPT_AWAIT(wpt_gate_waiting(gate) == SCHEDULERS);
}

/* Four schedulers for thirty hours from `from` on. */
static void live(bed *b, const char *from)
{
    const int64_t start = wpt_second(from) * WPT_SECOND_US, end = start + 30 * HOUR_US;
    scheduler s[SCHEDULERS] = {0};
    int64_t now = start, latest = start;
    size_t runs = 0, handled = 0, made = 0;
    wpt_gate gate;
    wpt_log log;
    state_of_random = (uint64_t)start;
    wpt_gate_init(&gate);
    wpt_log_init(&log);
    open_schedulers(b, s, &gate, &log);
    set_clocks(b, s, start);
    put_jobs(b);
    while (latest < end) {
        now += some_time();
        set_clocks(b, s, now);
        for (int i = 0; i < SCHEDULERS; i++)
            latest = later_of(latest, wp_clock_utc_us(s[i].clock));
        for (int i = 0; i < SCHEDULERS; i++)
            s[i].latest = latest;
        let_them(&gate);
        if (between(0, 4) == 0)
            put_jobs(b); /* unchanged: nothing starts anew */
    }
    /* all clocks come to what the fastest one has seen; then everything is made and done */
    for (int i = 0; i < 3; i++) {
        set_clocks(b, s, latest);
        for (int n = 0; n < SCHEDULERS; n++)
            WPT_OK(wp_clock_jump_us(s[n].clock, latest - wp_clock_utc_us(s[n].clock), WPT_ERR));
        let_them(&gate);
    }
    for (int i = 0; i < SCHEDULERS; i++)
        s[i].goes_on = false;
    wpt_gate_open(&gate, SIZE_MAX);
    for (int i = 0; i < SCHEDULERS; i++) {
        wp__thread_join(&s[i].thread);
        assert_int_equal(s[i].early, 0);
        handled += s[i].handled;
        made += s[i].made;
    }
    for (int i = 0; i < JOBS; i++)
        runs += check_job(b, i, start, latest);
    assert_int_equal(handled, runs);
    assert_true(made <= runs);
    /* nobody says that another one was faster; that runs were missed is said once for each, at most */
    assert_int_equal(wpt_log_count(&log, "", NULL, NULL),
                     wpt_log_count(&log, "warning job missed its time", "\"missed\"", NULL));
    for (int i = 0; i < SCHEDULERS; i++) {
        wp_store_close(s[i].store);
        wp_clock_free(s[i].clock);
    }
    wpt_log_fini(&log);
    wpt_gate_fini(&gate);
}

/* proves: JOB-006, JOB-007, JOB-014, CRN-006 */
static void test_days__clocks_that_differ_and_jump__exactly_the_planned_runs(void **state)
{
    static const char *const from[] = {
        "2027-03-27T20:00:00", /* forward in Berlin */
        "2027-11-06T22:00:00", /* back in New York */
        "2027-10-02T04:00:00", /* forward by half an hour on Lord Howe */
        "2027-04-03T04:00:00", /* back by half an hour there */
    };
    bed *b = *state;
    if (b->engine->opens_new || b->engine->unchecked)
        return; /* each store would have a database of its own; or it is there for its names */
    for (size_t i = 0; i < WPT_COUNT(from); i++) {
        print_message("from %s\n", from[i]);
        live(b, from[i]);
        for (int n = 0; n < JOBS; n++)
            WPT_OK(wp_job_delete(NULL, b->store, planned[n].name, WPT_ERR));
        WPT_OK(wp_job_run_purge(NULL, b->store, 0, WPT_ERR));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_days__clocks_that_differ_and_jump__exactly_the_planned_runs),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
