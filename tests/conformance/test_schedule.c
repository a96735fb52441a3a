/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules, by the public API alone; they are on no engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <waypost/waypost.h>

#include "support/wpt.h"
#include "support/wpt_time.h"

/* The next occurrences after an instant are these, one after the other. */
static void comes(const char *expression, const char *zone, const char *after, const char *want)
{
    wp_schedule *schedule = NULL;
    int64_t us[8], next = 0;
    size_t count = 0;
    char all[200] = "";
    WPT_OK(wp_schedule_new(&schedule, expression, zone, NULL, WPT_ERR));
    WPT_OK(wp_schedule_preview(us, &count, schedule, wpt_second(after) * WPT_SECOND_US,
                               (strlen(want) + 1) / 20, WPT_ERR));
    for (size_t i = 0; i < count; i++)
        (void)strcat(strcat(all, i ? " " : ""), wpt_instant(us[i] / WPT_SECOND_US));
    assert_string_equal(all, want);
    WPT_OK(wp_schedule_next(&next, schedule, wpt_second(after) * WPT_SECOND_US, WPT_ERR));
    assert_int_equal(next, us[0]);
    wp_schedule_free(schedule);
}

/* scenario: SCH-001 */
/* proves: JOB-020, CRN-001, CRN-005 */
static void test_schedule__in_a_zone__gives_the_next_occurrences(void **state)
{
    (void)state;
    comes("30 9 * * MON-FRI", "Europe/Vienna", "2027-03-26T12:00:00",
          "2027-03-29T07:30:00 2027-03-30T07:30:00 2027-03-31T07:30:00");
}

/* scenario: SCH-002 */
/* proves: CRN-006 */
static void test_schedule__fixed_time_skipped_or_twice__fires_once(void **state)
{
    (void)state;
    comes("30 2 * * *", "Europe/Vienna", "2027-03-27T12:00:00",
          "2027-03-28T01:00:00 2027-03-29T00:30:00");
    comes("30 2 * * *", "Europe/Vienna", "2027-10-30T12:00:00",
          "2027-10-31T00:30:00 2027-11-01T01:30:00");
}

/* scenario: SCH-003 */
/* proves: CRN-006 */
static void test_schedule__intervals__fire_at_each_real_instant(void **state)
{
    (void)state;
    comes("*/30 * * * *", "Europe/Vienna", "2027-10-30T23:45:00",
          "2027-10-31T00:00:00 2027-10-31T00:30:00 2027-10-31T01:00:00 2027-10-31T01:30:00");
    comes("0 * * * *", "Europe/Vienna", "2027-03-27T23:30:00",
          "2027-03-28T00:00:00 2027-03-28T01:00:00 2027-03-28T02:00:00");
    comes("@every 90m", "Europe/Vienna", "2027-10-30T22:45:00",
          "2027-10-31T00:00:00 2027-10-31T01:30:00 2027-10-31T03:00:00");
}

/* scenario: SCH-004 */
/* proves: CRN-003, CRN-004 */
static void test_schedule__malformed_or_never__is_an_argument_error(void **state)
{
    wp_schedule *schedule = NULL;
    (void)state;
    WPT_FAILS(wp_schedule_new(&schedule, "* 24 * * *", NULL, NULL, WPT_ERR), WP_E_ARGUMENT,
              "hour, position 3");
    WPT_FAILS(wp_schedule_new(&schedule, "0 0 30 2 *", NULL, NULL, WPT_ERR), WP_E_ARGUMENT,
              "never fires");
    assert_null(schedule);
}

/* scenario: SCH-005 */
/* proves: CRN-005 */
static void test_schedule__unknown_zones__are_told_apart(void **state)
{
    wp_config *config = wpt_config(NULL, WPT_OPTIONS("schedule.zone_directory", "/nowhere"));
    wp_schedule *schedule = NULL;
    (void)state;
    WPT_STATUS(wp_schedule_new(&schedule, "@daily", "Mars/Phobos", NULL, WPT_ERR), WP_E_NOT_FOUND);
    WPT_STATUS(wp_schedule_new(&schedule, "@daily", "../etc/passwd", NULL, WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_schedule_new(&schedule, "@daily", "Europe/Vienna", config, WPT_ERR), WP_E_CONFIG);
    WPT_OK(wp_schedule_new(&schedule, "@daily", "UTC", config, WPT_ERR));
    wp_schedule_free(schedule);
    wp_config_free(config);
}

/* scenario: SCH-006 */
static void test_schedule__ends_of_time__are_a_range_error_and_none(void **state)
{
    wp_schedule *schedule = NULL;
    int64_t us = 0;
    (void)state;
    WPT_OK(wp_schedule_new(&schedule, "0 0 1 1 *", NULL, NULL, WPT_ERR));
    WPT_STATUS(wp_schedule_next(&us, schedule, -1, WPT_ERR), WP_E_RANGE);
    WPT_STATUS(wp_schedule_next(&us, schedule, WP_TIME_US_MAX, WPT_ERR), WP_E_NOT_FOUND);
    wp_schedule_free(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule__in_a_zone__gives_the_next_occurrences),
        cmocka_unit_test(test_schedule__fixed_time_skipped_or_twice__fires_once),
        cmocka_unit_test(test_schedule__intervals__fire_at_each_real_instant),
        cmocka_unit_test(test_schedule__malformed_or_never__is_an_argument_error),
        cmocka_unit_test(test_schedule__unknown_zones__are_told_apart),
        cmocka_unit_test(test_schedule__ends_of_time__are_a_range_error_and_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
