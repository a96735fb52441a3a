/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules: expressions in zones, whose clocks are set forward and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <string.h>
#include <waypost/outbox.h>
#include <waypost/schedule.h>

#include "cron/cron.h"
#include "cron/schedule.h"
#include "support/wpt.h"
#include "support/wpt_time.h"

#define LAST_US WP_TIME_US_MAX

static wp_schedule *schedule(const char *expression, const char *zone)
{
    wp_schedule *made = NULL;
    WPT_OK(wp_schedule_new(&made, expression, zone, NULL, WPT_ERR));
    return made;
}

/* ---- what is known ------------------------------------------------------------------------ */

/* Worked out by another program with another library's zones, minute by minute. All UTC. */
static const struct {
    const char *about, *expression, *zone, *after, *next;
} rows[] = {
    {"fixed, gap: at its end, once", "30 2 * * *", "Europe/Vienna", "2027-03-27T00:00:00",
     "2027-03-27T01:30:00 2027-03-28T01:00:00 2027-03-29T00:30:00 2027-03-30T00:30:00 "
     "2027-03-31T00:30:00"},
    {"fixed, several in the gap: once", "0,15,30,45 2 * * *", "Europe/Vienna",
     "2027-03-28T00:00:00", "2027-03-28T01:00:00 2027-03-29T00:00:00 2027-03-29T00:15:00"},
    {"fixed, in the gap and at its end: once", "30 2,3 * * *", "Europe/Vienna",
     "2027-03-27T12:00:00",
     "2027-03-28T01:00:00 2027-03-28T01:30:00 2027-03-29T00:30:00 2027-03-29T01:30:00 "
     "2027-03-30T00:30:00"},
    {"fixed, in the gap and at its end: once", "0 2,3 * * *", "Europe/Vienna",
     "2027-03-27T12:00:00", "2027-03-28T01:00:00 2027-03-29T00:00:00 2027-03-29T01:00:00"},
    {"fixed, overlap: the first of two", "30 2 * * *", "Europe/Vienna", "2027-10-30T12:00:00",
     "2027-10-31T00:30:00 2027-11-01T01:30:00 2027-11-02T01:30:00"},
    {"fixed, overlap, asked between the two: not again", "30 2 * * *", "Europe/Vienna",
     "2027-10-31T00:45:00", "2027-11-01T01:30:00 2027-11-02T01:30:00"},
    {"fixed, overlap, asked at the first: not again", "30 2 * * *", "Europe/Vienna",
     "2027-10-31T00:30:00", "2027-11-01T01:30:00 2027-11-02T01:30:00"},
    {"fixed, the end of the overlap is not in it", "0 2,3 * * *", "Europe/Vienna",
     "2027-10-30T12:00:00",
     "2027-10-31T00:00:00 2027-10-31T02:00:00 2027-11-01T01:00:00 2027-11-01T02:00:00"},
    {"interval, gap: the hours that there are", "0 * * * *", "Europe/Vienna", "2027-03-27T23:30:00",
     "2027-03-28T00:00:00 2027-03-28T01:00:00 2027-03-28T02:00:00 2027-03-28T03:00:00"},
    {"interval, gap: no extra one at its end", "30 * * * *", "Europe/Vienna", "2027-03-27T23:40:00",
     "2027-03-28T00:30:00 2027-03-28T01:30:00 2027-03-28T02:30:00"},
    {"interval, gap: not that day", "*/15 2 * * *", "Europe/Vienna", "2027-03-27T01:40:00",
     "2027-03-27T01:45:00 2027-03-29T00:00:00 2027-03-29T00:15:00"},
    {"interval, overlap: each real one", "*/30 * * * *", "Europe/Vienna", "2027-10-30T23:45:00",
     "2027-10-31T00:00:00 2027-10-31T00:30:00 2027-10-31T01:00:00 2027-10-31T01:30:00 "
     "2027-10-31T02:00:00 2027-10-31T02:30:00"},
    {"interval, overlap: both hours", "*/30 2 * * *", "Europe/Vienna", "2027-10-30T12:00:00",
     "2027-10-31T00:00:00 2027-10-31T00:30:00 2027-10-31T01:00:00 2027-10-31T01:30:00 "
     "2027-11-01T01:00:00"},
    {"interval of ranges, overlap: both", "0 1-3 * * *", "Europe/Vienna", "2027-10-30T12:00:00",
     "2027-10-30T23:00:00 2027-10-31T00:00:00 2027-10-31T01:00:00 2027-10-31T02:00:00 "
     "2027-11-01T00:00:00"},
    {"half an hour, fixed, gap", "15 2 * * *", "Australia/Lord_Howe", "2027-10-01T12:00:00",
     "2027-10-01T15:45:00 2027-10-02T15:30:00 2027-10-03T15:15:00"},
    {"half an hour, fixed, overlap", "45 1 * * *", "Australia/Lord_Howe", "2027-04-03T00:00:00",
     "2027-04-03T14:45:00 2027-04-04T15:15:00 2027-04-05T15:15:00"},
    {"half an hour, interval, overlap", "*/15 1 * * *", "Australia/Lord_Howe",
     "2027-04-03T13:50:00",
     "2027-04-03T14:00:00 2027-04-03T14:15:00 2027-04-03T14:30:00 2027-04-03T14:45:00 "
     "2027-04-03T15:00:00 2027-04-03T15:15:00 2027-04-04T14:30:00"},
    {"midnight is in the gap", "0 0 * * *", "America/Havana", "2027-03-12T12:00:00",
     "2027-03-13T05:00:00 2027-03-14T05:00:00 2027-03-15T04:00:00"},
    {"midnight comes twice", "0 0 * * *", "America/Havana", "2027-11-05T12:00:00",
     "2027-11-06T04:00:00 2027-11-07T04:00:00 2027-11-08T05:00:00"},
    {"the evening comes twice", "30 23 * * *", "America/Sao_Paulo", "2018-02-16T12:00:00",
     "2018-02-17T01:30:00 2018-02-18T01:30:00 2018-02-19T02:30:00"},
    {"the evening comes twice, interval", "*/30 23 * * *", "America/Sao_Paulo",
     "2018-02-17T12:00:00",
     "2018-02-18T01:00:00 2018-02-18T01:30:00 2018-02-18T02:00:00 2018-02-18T02:30:00 "
     "2018-02-19T02:00:00"},
    {"a day is left out: at the next one's begin, once", "0 12 * * *", "Pacific/Apia",
     "2011-12-28T12:00:00",
     "2011-12-28T22:00:00 2011-12-29T22:00:00 2011-12-30T10:00:00 2011-12-30T22:00:00"},
    {"a day is left out, interval", "0 */6 * * *", "Pacific/Apia", "2011-12-29T21:00:00",
     "2011-12-29T22:00:00 2011-12-30T04:00:00 2011-12-30T10:00:00 2011-12-30T16:00:00 "
     "2011-12-30T22:00:00 2011-12-31T04:00:00"},
    {"three hours come again over midnight", "30 23,0,1 * * *", "Antarctica/Casey",
     "2010-03-03T12:00:00",
     "2010-03-03T12:30:00 2010-03-03T13:30:00 2010-03-03T14:30:00 2010-03-04T12:30:00 "
     "2010-03-04T13:30:00 2010-03-04T14:30:00"},
    {"the first Sunday's gap", "0 0 2 ? * SUN#2", "America/New_York", "2027-03-01T12:00:00",
     "2027-03-14T07:00:00"},
    {"the zone's offset has seconds", "0 0 * * *", "Africa/Monrovia", "1972-01-04T12:00:00",
     "1972-01-05T00:44:30 1972-01-06T00:44:30 1972-01-07T00:44:30 1972-01-08T00:00:00 "
     "1972-01-09T00:00:00"},
    {"long after the file's last transition", "30 2 * * *", "Europe/Vienna", "2099-03-28T00:00:00",
     "2099-03-28T01:30:00 2099-03-29T01:00:00 2099-03-30T00:30:00"},
    {"long after the file's last transition, overlap", "30 2 * * *", "Europe/Vienna",
     "2099-10-24T01:00:00", "2099-10-25T00:30:00 2099-10-26T01:30:00"},
};

/* proves: CRN-006, JOB-020 */
static void test_schedule_preview__clock_set_forward_or_back__gives_the_known_instants(void **state)
{
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(rows); i++) {
        wp_schedule *s = schedule(rows[i].expression, rows[i].zone);
        const size_t want = (strlen(rows[i].next) + 1) / 20;
        int64_t us[8];
        size_t count = 0;
        char all[200] = "";
        WPT_OK(wp_schedule_preview(us, &count, s, wpt_second(rows[i].after) * WPT_SECOND_US, want,
                                   WPT_ERR));
        assert_int_equal(count, want);
        for (size_t n = 0; n < count; n++)
            (void)strcat(strcat(all, n ? " " : ""), wpt_instant(us[n] / WPT_SECOND_US));
        if (strcmp(all, rows[i].next) != 0)
            fail_msg("%s: %s, not %s", rows[i].about, all, rows[i].next);
        wp_schedule_free(s);
    }
}

/* proves: CRN-001, JOB-007 */
static void test_schedule_next__every__lies_on_one_grid_in_any_zone(void **state)
{
    wp_schedule *s = schedule("@every 90m", "Europe/Vienna");
    int64_t us = 0;
    (void)state;
    WPT_OK(wp_schedule_next(&us, s, 0, WPT_ERR));
    assert_int_equal(us, 5400 * WPT_SECOND_US);
    WPT_OK(wp_schedule_next(&us, s, us - 1, WPT_ERR));
    assert_int_equal(us, 5400 * WPT_SECOND_US);
    /* Through the hour that comes twice, and whenever it is asked. */
    us = wpt_second("2027-10-30T22:45:00") * WPT_SECOND_US;
    for (int i = 0; i < 4; i++) {
        const int64_t before = us;
        WPT_OK(wp_schedule_next(&us, s, us, WPT_ERR));
        assert_int_equal(us % (5400 * WPT_SECOND_US), 0);
        assert_true(us > before && us - before <= 5400 * WPT_SECOND_US);
    }
    wp_schedule_free(s);
}

/* ---- what must hold for all --------------------------------------------------------------- */

static const char *const zones[] = {
    "Europe/Vienna",  "America/New_York", "Australia/Lord_Howe", "America/Havana",
    "Asia/Gaza",      "Pacific/Apia",     "Antarctica/Casey",    "America/Sao_Paulo",
    "Europe/Dublin",  "Asia/Tehran",      "Africa/Casablanca",   "Antarctica/Troll",
    "Asia/Pyongyang", "America/Caracas",  "Asia/Kathmandu",      "Pacific/Chatham",
    "America/Nuuk",   "Europe/Lisbon",    "Pacific/Kwajalein",   "UTC",
};

static const char *const expressions[] = {
    "30 2 * * *",      "0 * * * *",          "*/20 * * * *",       "0 0 * * *",
    "15,45 0-4 * * *", "0,30 0,1,2,3 * * *", "*/7 2 * * *",        "59 23 * * *",
    "0 12 * * *",      "0 2 * * SUN",        "0 3 ? * SUNL",       "0 1,2 1-31/2 * *",
    "30 1 L * *",      "10 */2 * * SAT-SUN", "0 2,3 29-31 3,10 *", "* 1-2 * * 0",
};

enum { DAYS = 5, MINUTES = DAYS * 1440 };

/* All occurrences in the window by their definition, minute by minute: `flags`, `base` is its first
 * second. */
static void define(bool *flags, const wp__cron *cron, const wp__zone *zone, int64_t base)
{
    static int64_t local[MINUTES];
    int64_t least = INT64_MAX, most = INT64_MIN, match = 0;
    memset(flags, 0, MINUTES * sizeof *flags);
    for (int i = 0; i < MINUTES; i++) {
        local[i] = base + 60 * i + wp__zone_span(zone, base + 60 * i).offset;
        least = local[i] < least ? local[i] : least;
        most = local[i] > most ? local[i] : most;
        if (cron->interval)
            flags[i] = wp__cron_match(&match, cron, local[i]) && match == local[i];
    }
    for (int64_t m = least; !cron->interval && m <= most; m += 60) {
        int i = 0;
        if (!wp__cron_match(&match, cron, m) || match != m)
            continue;
        while (local[i] < m) /* the first minute at which the clock has come to it */
            i++;
        flags[i] = true;
    }
}

static void check_window(const char *expression, wp__zone *zone, int64_t base)
{
    static bool flags[MINUTES];
    wp_schedule *s = NULL;
    wp__cron cron;
    int next = MINUTES;
    WPT_OK(wp__schedule_new_in(&s, expression, zone, WPT_ERR));
    WPT_OK(wp__cron_parse(&cron, expression, WPT_ERR));
    define(flags, &cron, zone, base);
    /* Not near the borders: what is beyond them is not known. */
    for (int i = MINUTES - 1; i > 2 * 1440; i--) {
        const int64_t second = base + 60 * i;
        int64_t us = 0;
        if (next < MINUTES) {
            const int64_t want = (base + 60 * (int64_t)next) * WPT_SECOND_US;
            const int64_t ask[] = {second * WPT_SECOND_US, second * WPT_SECOND_US + 1,
                                   (second + 60) * WPT_SECOND_US - 1};
            for (size_t k = 0; k < WPT_COUNT(ask); k++) {
                WPT_OK(wp_schedule_next(&us, s, ask[k], WPT_ERR));
                if (us != want)
                    fail_msg("%s in %s after %s: %s, not %s", expression, wp_schedule_zone(s),
                             wpt_instant(second), wpt_instant(us / WPT_SECOND_US),
                             wpt_instant(want / WPT_SECOND_US));
            }
        }
        if (flags[i])
            next = i;
    }
    wp_schedule_free(s);
}

/* proves: CRN-005, CRN-006 */
static void test_schedule_next__around_changes_of_the_clock__is_as_defined(void **state)
{
    const int64_t first = wpt_second("1972-06-01T00:00:00"); /* since then, offsets are minutes */
    const int64_t last = wpt_second("2090-01-01T00:00:00");
    uint32_t random = 20270328;
    (void)state;
    for (size_t z = 0; z < WPT_COUNT(zones); z++) {
        wp__zone *zone = NULL;
        WPT_OK(wp__zone_load(&zone, "/usr/share/zoneinfo", zones[z], WPT_ERR));
        for (int n = 0; n < 12; n++) {
            wp__span span = {0, 0, 0};
            random = random * 1664525u + 1013904223u;
            span = wp__zone_span(
                zone, first + (int64_t)((double)random / 4294967296.0 * (double)(last - first)));
            if (span.begin < first)
                span.begin = first + 86400 * 30;
            random = random * 1664525u + 1013904223u;
            check_window(expressions[(random >> 16) % WPT_COUNT(expressions)], zone,
                         span.begin - span.begin % 60 - 86400 * 7 / 2);
        }
        wp__zone_free(zone);
    }
}

/* proves: CRN-006 */
static void test_schedule_next__any_instant__is_later_and_the_first(void **state)
{
    (void)state;
    for (size_t e = 0; e < WPT_COUNT(expressions); e++) {
        for (size_t z = 0; z < WPT_COUNT(zones); z++) {
            wp_schedule *s = schedule(expressions[e], zones[z]);
            int64_t after = 0, next = 0, again = 0;
            while (after < LAST_US - 800 * 86400 * WPT_SECOND_US) {
                WPT_OK(wp_schedule_next(&next, s, after, WPT_ERR));
                assert_true(next > after);
                WPT_OK(wp_schedule_next(&again, s, next - 1, WPT_ERR));
                assert_int_equal(again, next);
                WPT_OK(wp_schedule_next(&again, s, after + (next - after) / 2, WPT_ERR));
                assert_int_equal(again, next);
                after = next + after / 7 + 12345678;
            }
            wp_schedule_free(s);
        }
    }
}

/* ---- limits ------------------------------------------------------------------------------- */

/* proves: TMR-006 */
static void test_schedule_next__from_1970_to_9999__works_and_then_ends(void **state)
{
    wp_schedule *s = schedule("0 0 1 1 *", NULL);
    int64_t us = 77, all[3] = {0};
    size_t count = 77;
    (void)state;
    WPT_OK(wp_schedule_next(&us, s, 0, WPT_ERR));
    assert_int_equal(us, wpt_second("1971-01-01T00:00:00") * WPT_SECOND_US);
    us = 77;
    WPT_STATUS(wp_schedule_next(&us, s, -1, WPT_ERR), WP_E_RANGE);
    WPT_FAILS(wp_schedule_next(&us, s, LAST_US + 1, WPT_ERR), WP_E_RANGE, "after_us");
    WPT_STATUS(wp_schedule_next(&us, s, INT64_MIN, WPT_ERR), WP_E_RANGE);
    WPT_STATUS(wp_schedule_next(&us, s, INT64_MAX, WPT_ERR), WP_E_RANGE);
    WPT_FAILS(wp_schedule_next(&us, s, LAST_US, WPT_ERR), WP_E_NOT_FOUND,
              "0 0 1 1 * in UTC does not fire again");
    WPT_STATUS(wp_schedule_preview(all, &count, s, -1, 3, WPT_ERR), WP_E_RANGE);
    WPT_STATUS(wp_schedule_preview(all, &count, s, LAST_US + 1, 3, WPT_ERR), WP_E_RANGE);
    WPT_FAILS(wp_schedule_preview(all, &count, s, 0, WP_PREVIEW_MAX + 1, WPT_ERR), WP_E_RANGE,
              "max is not from 0 to 10000");
    assert_int_equal(us, 77);
    assert_int_equal(count, 77);
    WPT_OK(wp_schedule_preview(all, &count, s, wpt_second("9997-06-01T00:00:00") * WPT_SECOND_US, 3,
                               WPT_ERR));
    assert_int_equal(count, 2);
    assert_string_equal(wpt_instant(all[1] / WPT_SECOND_US), "9999-01-01T00:00:00");
    wp_schedule_free(s);
}

static void test_schedule_next__end_of_9999_in_any_zone__ends(void **state)
{
    (void)state;
    for (size_t e = 0; e < WPT_COUNT(expressions); e++) {
        for (size_t z = 0; z < WPT_COUNT(zones); z++) {
            wp_schedule *s = schedule(expressions[e], zones[z]);
            int64_t us = LAST_US - 40 * 86400 * WPT_SECOND_US;
            wp_status st = WP_OK;
            for (int64_t after = us; st == WP_OK; after = us)
                if ((st = wp_schedule_next(&us, s, after, NULL)) == WP_OK)
                    assert_true(us > after && us <= LAST_US);
            assert_int_equal(st, WP_E_NOT_FOUND);
            wp_schedule_free(s);
        }
    }
}

/* proves: JOB-020 */
static void test_schedule_preview__some__are_the_next_ones_in_a_row(void **state)
{
    wp_schedule *s = schedule("*/10 * * * *", "Asia/Kathmandu");
    int64_t all[50], us = WPT_START_US;
    size_t count = 99;
    (void)state;
    WPT_OK(wp_schedule_preview(all, &count, s, us, 50, WPT_ERR));
    assert_int_equal(count, 50);
    for (size_t i = 0; i < count; i++) {
        WPT_OK(wp_schedule_next(&us, s, us, WPT_ERR));
        assert_int_equal(all[i], us);
    }
    WPT_OK(wp_schedule_preview(NULL, &count, s, us, 0, WPT_ERR));
    assert_int_equal(count, 0);
    wp_schedule_free(s);
}

/* ---- arguments ---------------------------------------------------------------------------- */

/* proves: CRN-003, CRN-005 */
static void test_schedule_new__bad_arguments__say_which_and_change_nothing(void **state)
{
    wp_schedule *s = NULL;
    int64_t us = 0;
    size_t count = 0;
    char text[300];
    (void)state;
    memset(text, ' ', sizeof text);
    memcpy(text, "* * * * *", 9);
    text[256] = '\0';
    WPT_FAILS(wp_schedule_new(NULL, "* * * * *", NULL, NULL, WPT_ERR), WP_E_ARGUMENT,
              "out is null");
    WPT_FAILS(wp_schedule_new(&s, NULL, NULL, NULL, WPT_ERR), WP_E_ARGUMENT, "expression is null");
    WPT_FAILS(wp_schedule_new(&s, "", NULL, NULL, WPT_ERR), WP_E_ARGUMENT, "expression is empty");
    WPT_FAILS(wp_schedule_new(&s, "\xFF", NULL, NULL, WPT_ERR), WP_E_ARGUMENT, "expression is not");
    WPT_FAILS(wp_schedule_new(&s, text, NULL, NULL, WPT_ERR), WP_E_ARGUMENT, "at most 255");
    WPT_FAILS(wp_schedule_new(&s, "* * *", "UTC", NULL, WPT_ERR), WP_E_ARGUMENT, "5 fields");
    WPT_FAILS(wp_schedule_new(&s, "* * * * *", "", NULL, WPT_ERR), WP_E_ARGUMENT, "zone is not");
    WPT_FAILS(wp_schedule_new(&s, "* * * * *", "Mars/Phobos", NULL, WPT_ERR), WP_E_NOT_FOUND,
              "zone Mars/Phobos");
    assert_null(s);
    text[255] = '\0';
    s = schedule(text, "Europe/Vienna");
    assert_string_equal(wp_schedule_expression(s), text);
    assert_string_equal(wp_schedule_zone(s), "Europe/Vienna");
    WPT_FAILS(wp_schedule_next(NULL, s, 0, WPT_ERR), WP_E_ARGUMENT, "out_us is null");
    WPT_FAILS(wp_schedule_next(&us, NULL, 0, WPT_ERR), WP_E_ARGUMENT, "schedule is null");
    WPT_FAILS(wp_schedule_preview(&us, NULL, s, 0, 1, WPT_ERR), WP_E_ARGUMENT, "count is null");
    WPT_FAILS(wp_schedule_preview(&us, &count, NULL, 0, 1, WPT_ERR), WP_E_ARGUMENT, "schedule is");
    WPT_FAILS(wp_schedule_preview(NULL, &count, s, 0, 1, WPT_ERR), WP_E_ARGUMENT, "out_us is null");
    wp_schedule_free(s);
    wp_schedule_free(NULL);
}

/* proves: CRN-005 */
static void test_schedule_new__zone_directory__is_an_option(void **state)
{
    wp_config *config = wpt_config(NULL, WPT_OPTIONS("schedule.zone_directory", "/nowhere"));
    wp_schedule *s = NULL;
    (void)state;
    WPT_FAILS(wp_schedule_new(&s, "* * * * *", "Europe/Vienna", config, WPT_ERR), WP_E_CONFIG,
              "schedule.zone_directory");
    WPT_OK(wp_schedule_new(&s, "* * * * *", NULL, config, WPT_ERR));
    assert_string_equal(wp_schedule_zone(s), "UTC");
    wp_schedule_free(s);
    WPT_OK(wp_config_set(config, "schedule.zone_directory", "/usr/share/zoneinfo/Europe", WPT_ERR));
    WPT_OK(wp_schedule_new(&s, "* * * * *", "Vienna", config, WPT_ERR));
    wp_schedule_free(s);
    wp_config_free(config);
}

/* proves: CRN-004 */
static void test_schedule_new__always_in_a_gap__never_fires(void **state)
{
    wp_schedule *s = NULL;
    (void)state;
    WPT_FAILS(wp_schedule_new(&s, "* 2 * 3 0L", "Europe/Vienna", NULL, WPT_ERR), WP_E_ARGUMENT,
              "it never fires in Europe/Vienna");
    WPT_OK(wp_schedule_new(&s, "* 2 * 3 0L", "Europe/Lisbon", NULL, WPT_ERR));
    wp_schedule_free(s);
    WPT_OK(wp_schedule_new(&s, "30 2 * 3 0L", "Europe/Vienna", NULL, WPT_ERR));
    wp_schedule_free(s);
    WPT_FAILS(wp_schedule_new(&s, "0 0 30 2 *", NULL, NULL, WPT_ERR), WP_E_ARGUMENT, "never fires");
}

/* ---- threads ------------------------------------------------------------------------------ */

static void *ask_often(void *arg)
{
    const wp_schedule *s = arg;
    int64_t us = WPT_START_US, sum = 0;
    for (int i = 0; i < 2000; i++) {
        (void)wp_schedule_next(&us, s, us, NULL);
        sum += us % 1000003;
    }
    return (void *)(intptr_t)sum;
}

static void *make_often(void *arg)
{
    for (int i = 0; i < 50; i++) {
        wp_schedule *made = NULL;
        if (wp_schedule_new(&made, arg, zones[i % 19], NULL, NULL) != WP_OK)
            return NULL;
        wp_schedule_free(made);
    }
    return arg;
}

/* proves: CRN-005 */
static void test_schedule__many_threads__do_not_disturb_each_other(void **state)
{
    enum { THREADS = 4 };
    wp_schedule *s = schedule("*/7 * * * *", "Europe/Vienna");
    static char text[] = "0 3 * * MON";
    void *const want = ask_often(s);
    wp__thread ask[THREADS], make[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++) {
        WPT_OK(wp__thread_start(&ask[i], "ask", ask_often, s, WPT_ERR));
        WPT_OK(wp__thread_start(&make[i], "make", make_often, text, WPT_ERR));
    }
    for (int i = 0; i < THREADS; i++) {
        void *got = NULL;
        assert_int_equal(pthread_join(ask[i].thread, &got), 0);
        assert_ptr_equal(got, want);
        assert_int_equal(pthread_join(make[i].thread, &got), 0);
        assert_ptr_equal(got, text);
    }
    wp_schedule_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_schedule_preview__clock_set_forward_or_back__gives_the_known_instants),
        cmocka_unit_test(test_schedule_next__every__lies_on_one_grid_in_any_zone),
        cmocka_unit_test(test_schedule_next__around_changes_of_the_clock__is_as_defined),
        cmocka_unit_test(test_schedule_next__any_instant__is_later_and_the_first),
        cmocka_unit_test(test_schedule_next__from_1970_to_9999__works_and_then_ends),
        cmocka_unit_test(test_schedule_next__end_of_9999_in_any_zone__ends),
        cmocka_unit_test(test_schedule_preview__some__are_the_next_ones_in_a_row),
        cmocka_unit_test(test_schedule_new__bad_arguments__say_which_and_change_nothing),
        cmocka_unit_test(test_schedule_new__zone_directory__is_an_option),
        cmocka_unit_test(test_schedule_new__always_in_a_gap__never_fires),
        cmocka_unit_test(test_schedule__many_threads__do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
