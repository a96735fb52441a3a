/* SPDX-License-Identifier: Apache-2.0 */
/* The expressions that the documents of others explain: crontab(5), Quartz and Cronos. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cron/cron.h"
#include "support/wpt.h"
#include "support/wpt_time.h"

#define AFTER "2027-02-27T23:59:58"

/* What comes after AFTER was worked out by another program, by going through the days one by one, from what
 * the document says in words and not from the expression. */
static const struct {
    const char *expression, *words, *next;
} rows[] = {
    /* crontab(5) */
    {"5 0 * * *", "five minutes after midnight, every day",
     "2027-02-28T00:05:00 2027-03-01T00:05:00 "
     "2027-03-02T00:05:00 2027-03-03T00:05:00"},
    {"15 14 1 * *", "2:15 pm on the first of every month",
     "2027-03-01T14:15:00 2027-04-01T14:15:00 "
     "2027-05-01T14:15:00 2027-06-01T14:15:00"},
    {"0 22 * * 1-5", "10 pm on weekdays",
     "2027-03-01T22:00:00 2027-03-02T22:00:00 "
     "2027-03-03T22:00:00 2027-03-04T22:00:00"},
    {"23 0-23/2 * * *", "23 minutes after midnight, 2 am, 4 am ..., every day",
     "2027-02-28T00:23:00 2027-02-28T02:23:00 "
     "2027-02-28T04:23:00 2027-02-28T06:23:00"},
    {"5 4 * * sun", "5 after 4 every Sunday",
     "2027-02-28T04:05:00 2027-03-07T04:05:00 "
     "2027-03-14T04:05:00 2027-03-21T04:05:00"},
    {"0 */4 1 * mon", "every 4 hours on the 1st and on every Monday",
     "2027-03-01T00:00:00 2027-03-01T04:00:00 "
     "2027-03-01T08:00:00 2027-03-01T12:00:00"},
    {"0 0 */2 * sun", "midnight on every Sunday that is an uneven date",
     "2027-03-07T00:00:00 2027-03-21T00:00:00 "
     "2027-04-11T00:00:00 2027-04-25T00:00:00"},
    {"0 4 8-14 * *", "at 4 on the days among which is the second Saturday",
     "2027-03-08T04:00:00 2027-03-09T04:00:00 "
     "2027-03-10T04:00:00 2027-03-11T04:00:00"},
    {"30 4 1,15 * 5", "4:30 on the 1st and 15th, plus every Friday",
     "2027-03-01T04:30:00 2027-03-05T04:30:00 "
     "2027-03-12T04:30:00 2027-03-15T04:30:00"},
    {"0 8-11 * * *", "at hours 8, 9, 10 and 11",
     "2027-02-28T08:00:00 2027-02-28T09:00:00 "
     "2027-02-28T10:00:00 2027-02-28T11:00:00"},
    {"0 0-4,8-12 * * *", "lists of ranges",
     "2027-02-28T00:00:00 2027-02-28T01:00:00 "
     "2027-02-28T02:00:00 2027-02-28T03:00:00"},
    {"0 */2 * * *", "every two hours",
     "2027-02-28T00:00:00 2027-02-28T02:00:00 "
     "2027-02-28T04:00:00 2027-02-28T06:00:00"},
    {"0 0 * jan-mar mon,wed,fri", "lists and ranges of names",
     "2027-03-01T00:00:00 2027-03-03T00:00:00 "
     "2027-03-05T00:00:00 2027-03-08T00:00:00"},
    {"@weekly", "0 0 * * 0",
     "2027-02-28T00:00:00 2027-03-07T00:00:00 "
     "2027-03-14T00:00:00 2027-03-21T00:00:00"},
    /* Quartz, CronTrigger tutorial; its numbers of weekdays are one higher, so that they are names here */
    {"0 0 12 * * ?", "12 pm every day",
     "2027-02-28T12:00:00 2027-03-01T12:00:00 "
     "2027-03-02T12:00:00 2027-03-03T12:00:00"},
    {"0 15 10 ? * *", "10:15 every day",
     "2027-02-28T10:15:00 2027-03-01T10:15:00 "
     "2027-03-02T10:15:00 2027-03-03T10:15:00"},
    {"0 15 10 * * ?", "10:15 every day",
     "2027-02-28T10:15:00 2027-03-01T10:15:00 "
     "2027-03-02T10:15:00 2027-03-03T10:15:00"},
    {"0 * 14 * * ?", "every minute from 2 pm to 2:59 pm",
     "2027-02-28T14:00:00 2027-02-28T14:01:00 "
     "2027-02-28T14:02:00 2027-02-28T14:03:00"},
    {"0 0/5 14 * * ?", "every 5 minutes from 2 pm to 2:55 pm",
     "2027-02-28T14:00:00 2027-02-28T14:05:00 "
     "2027-02-28T14:10:00 2027-02-28T14:15:00"},
    {"0 0/5 14,18 * * ?", "every 5 minutes from 2 pm to 2:55 pm and from 6 pm to 6:55 pm",
     "2027-02-28T14:00:00 2027-02-28T14:05:00 "
     "2027-02-28T14:10:00 2027-02-28T14:15:00"},
    {"0 0-5 14 * * ?", "every minute from 2 pm to 2:05 pm",
     "2027-02-28T14:00:00 2027-02-28T14:01:00 "
     "2027-02-28T14:02:00 2027-02-28T14:03:00"},
    {"0 10,44 14 ? 3 WED", "2:10 pm and 2:44 pm every Wednesday in March",
     "2027-03-03T14:10:00 2027-03-03T14:44:00 "
     "2027-03-10T14:10:00 2027-03-10T14:44:00"},
    {"0 15 10 ? * MON-FRI", "10:15 Monday to Friday",
     "2027-03-01T10:15:00 2027-03-02T10:15:00 "
     "2027-03-03T10:15:00 2027-03-04T10:15:00"},
    {"0 15 10 15 * ?", "10:15 on the 15th",
     "2027-03-15T10:15:00 2027-04-15T10:15:00 "
     "2027-05-15T10:15:00 2027-06-15T10:15:00"},
    {"0 15 10 L * ?", "10:15 on the last day of every month",
     "2027-02-28T10:15:00 2027-03-31T10:15:00 "
     "2027-04-30T10:15:00 2027-05-31T10:15:00"},
    {"0 15 10 L-2 * ?", "10:15 two days before the last day of every month",
     "2027-03-29T10:15:00 2027-04-28T10:15:00 "
     "2027-05-29T10:15:00 2027-06-28T10:15:00"},
    {"0 15 10 ? * FRIL", "10:15 on the last Friday of every month",
     "2027-03-26T10:15:00 2027-04-30T10:15:00 "
     "2027-05-28T10:15:00 2027-06-25T10:15:00"},
    {"0 15 10 ? * FRI#3", "10:15 on the third Friday of every month",
     "2027-03-19T10:15:00 2027-04-16T10:15:00 "
     "2027-05-21T10:15:00 2027-06-18T10:15:00"},
    {"0 0 12 1/5 * ?", "12 pm every 5 days of every month, from the first on",
     "2027-03-01T12:00:00 2027-03-06T12:00:00 "
     "2027-03-11T12:00:00 2027-03-16T12:00:00"},
    {"0 11 11 11 11 ?", "every 11 November at 11:11",
     "2027-11-11T11:11:00 2028-11-11T11:11:00 "
     "2029-11-11T11:11:00 2030-11-11T11:11:00"},
    {"0 0/5 * * * ?", "every 5 minutes",
     "2027-02-28T00:00:00 2027-02-28T00:05:00 "
     "2027-02-28T00:10:00 2027-02-28T00:15:00"},
    {"10 0/5 * * * ?", "every 5 minutes, at 10 seconds after the minute",
     "2027-02-28T00:00:10 2027-02-28T00:05:10 "
     "2027-02-28T00:10:10 2027-02-28T00:15:10"},
    {"0 30 10-13 ? * WED,FRI", "10:30, 11:30, 12:30 and 13:30 on Wednesdays and Fridays",
     "2027-03-03T10:30:00 2027-03-03T11:30:00 "
     "2027-03-03T12:30:00 2027-03-03T13:30:00"},
    {"0 0/30 8-9 5,20 * ?", "8:00, 8:30, 9:00 and 9:30 on the 5th and 20th",
     "2027-03-05T08:00:00 2027-03-05T08:30:00 "
     "2027-03-05T09:00:00 2027-03-05T09:30:00"},
    {"0 0 12 ? * MON-WED,SAT", "noon on Monday to Wednesday and Saturday",
     "2027-03-01T12:00:00 2027-03-02T12:00:00 "
     "2027-03-03T12:00:00 2027-03-06T12:00:00"},
    {"0 3/20 * * * ?", "minutes 3, 23 and 43",
     "2027-02-28T00:03:00 2027-02-28T00:23:00 "
     "2027-02-28T00:43:00 2027-02-28T01:03:00"},
    /* Cronos, README */
    {"* * * * *", "every minute",
     "2027-02-28T00:00:00 2027-02-28T00:01:00 "
     "2027-02-28T00:02:00 2027-02-28T00:03:00"},
    {"0  0 1 * *", "midnight on day 1 of every month",
     "2027-03-01T00:00:00 2027-04-01T00:00:00 "
     "2027-05-01T00:00:00 2027-06-01T00:00:00"},
    {"*/5 * * * *", "every 5 minutes",
     "2027-02-28T00:00:00 2027-02-28T00:05:00 "
     "2027-02-28T00:10:00 2027-02-28T00:15:00"},
    {"30,45-15/2 1 * * *", "every 2 minutes from 1:00 to 1:15 and from 1:45 to 1:59, and at 1:30",
     "2027-02-28T01:01:00 2027-02-28T01:03:00 "
     "2027-02-28T01:05:00 2027-02-28T01:07:00"},
    {"0 0 * * MON-FRI", "midnight, Monday to Friday",
     "2027-03-01T00:00:00 2027-03-02T00:00:00 "
     "2027-03-03T00:00:00 2027-03-04T00:00:00"},
    {"0 0 L   * *", "midnight on the last day of the month",
     "2027-02-28T00:00:00 2027-03-31T00:00:00 "
     "2027-04-30T00:00:00 2027-05-31T00:00:00"},
    {"0 0 L-1 * *", "the day before the last day",
     "2027-03-30T00:00:00 2027-04-29T00:00:00 "
     "2027-05-30T00:00:00 2027-06-29T00:00:00"},
    {"0 0 3W  * *", "the weekday nearest to the 3rd",
     "2027-03-03T00:00:00 2027-04-02T00:00:00 "
     "2027-05-03T00:00:00 2027-06-03T00:00:00"},
    {"0 0 1W * *", "... to the 1st; if that is a Saturday, Monday the 3rd",
     "2027-03-01T00:00:00 2027-04-01T00:00:00 "
     "2027-05-03T00:00:00 2027-06-01T00:00:00"},
    {"0 0 31W * *", "... to the 31st; if that is a Sunday, that Friday",
     "2027-03-31T00:00:00 2027-05-31T00:00:00 "
     "2027-07-30T00:00:00 2027-08-31T00:00:00"},
    {"0 0 LW  * *", "the last weekday of the month",
     "2027-03-31T00:00:00 2027-04-30T00:00:00 "
     "2027-05-31T00:00:00 2027-06-30T00:00:00"},
    {"0 0 *   * 2L", "the last Tuesday of the month",
     "2027-03-30T00:00:00 2027-04-27T00:00:00 "
     "2027-05-25T00:00:00 2027-06-29T00:00:00"},
    {"0 0 *   * 6#3", "the third Saturday of the month",
     "2027-03-20T00:00:00 2027-04-17T00:00:00 "
     "2027-05-15T00:00:00 2027-06-19T00:00:00"},
    {"0 0 ?   1 MON#1", "the first Monday of January",
     "2028-01-03T00:00:00 2029-01-01T00:00:00 "
     "2030-01-07T00:00:00 2031-01-06T00:00:00"},
    {"0 0 * * SAT#2", "the second Saturday",
     "2027-03-13T00:00:00 2027-04-10T00:00:00 "
     "2027-05-08T00:00:00 2027-06-12T00:00:00"},
    {"0 0 5 * ?", "the same as 0 0 5 * *",
     "2027-03-05T00:00:00 2027-04-05T00:00:00 "
     "2027-05-05T00:00:00 2027-06-05T00:00:00"},
    {"0 0 1-15/3 * *", "every 3 days from the 1st to the 15th",
     "2027-03-01T00:00:00 2027-03-04T00:00:00 "
     "2027-03-07T00:00:00 2027-03-10T00:00:00"},
    {"*/24 * * * *", "minutes 0, 24 and 48",
     "2027-02-28T00:00:00 2027-02-28T00:24:00 "
     "2027-02-28T00:48:00 2027-02-28T01:00:00"},
    {"0 22-1 * * *", "at 22, 23, 0 and 1",
     "2027-02-28T00:00:00 2027-02-28T01:00:00 "
     "2027-02-28T22:00:00 2027-02-28T23:00:00"},
    {"0 0 1 DEC-FEB *", "the first of December, January and February",
     "2027-12-01T00:00:00 2028-01-01T00:00:00 "
     "2028-02-01T00:00:00 2028-12-01T00:00:00"},
    {"0 3,5-11/3,12 * * *", "at 3, 5, 8, 11 and 12",
     "2027-02-28T03:00:00 2027-02-28T05:00:00 "
     "2027-02-28T08:00:00 2027-02-28T11:00:00"},
    {"*/30 * * * * *", "every 30 seconds",
     "2027-02-28T00:00:00 2027-02-28T00:00:30 "
     "2027-02-28T00:01:00 2027-02-28T00:01:30"},
    {"0 0 13 * 5", "here, as crontab(5) has it: each 13th and each Friday",
     "2027-03-05T00:00:00 2027-03-12T00:00:00 "
     "2027-03-13T00:00:00 2027-03-19T00:00:00"},
};

/* proves: CRN-001, CRN-002 */
static void test_cron_match__expressions_of_the_documents__mean_what_they_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(rows); i++) {
        int64_t at = wpt_second(AFTER);
        char all[200] = "";
        wp__cron cron;
        WPT_OK(wp__cron_parse(&cron, rows[i].expression, WPT_ERR));
        for (int n = 0; n < 4; n++) {
            assert_true(wp__cron_match(&at, &cron, at + 1));
            (void)strcat(strcat(all, n ? " " : ""), wpt_instant(at));
        }
        if (strcmp(all, rows[i].next) != 0)
            fail_msg("%s (%s): %s, not %s", rows[i].expression, rows[i].words, all, rows[i].next);
    }
}

/* docs/cron.md says why. */
/* proves: CRN-003 */
static void test_cron_parse__what_is_not_taken_over__is_refused(void **state)
{
    static const char *const refused[] = {
        "@reboot",            /* crontab(5) */
        "0 15 10 * * ? *",    /* Quartz: a year */
        "0 15 10 * * ? 2005", /* Quartz */
        "0 0 12 ? * 1#6",     /* Quartz refuses it too */
        "@every_minute",      /* Cronos */
        "@every_second",      /* Cronos */
        "0 0 1 JANUARY *",    /* nor does Cronos take whole names */
        "0 0 31W 0 0",        /* a misprint in the README of Cronos: there is no month 0 */
        "0 0 30 2 *",         /* Cronos: no occurrence */
    };
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(refused); i++) {
        wp__cron cron;
        WPT_STATUS(wp__cron_parse(&cron, refused[i], WPT_ERR), WP_E_ARGUMENT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cron_match__expressions_of_the_documents__mean_what_they_say),
        cmocka_unit_test(test_cron_parse__what_is_not_taken_over__is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
