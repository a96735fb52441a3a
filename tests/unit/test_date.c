/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

#include "base/date.h"

static void test_date__every_day_from_year_minus_400_to_10400__is_the_c_librarys(void **state)
{
    const int64_t first = wp__date_to_days(-400, 1, 1), last = wp__date_to_days(10400, 12, 31);
    (void)state;
    for (int64_t days = first; days <= last; days++) {
        const time_t seconds = (time_t)(days * 86400);
        const wp__date date = wp__date_from_days(days);
        struct tm tm;
        assert_non_null(gmtime_r(&seconds, &tm));
        if (date.year != tm.tm_year + 1900 || date.month != tm.tm_mon + 1 ||
            date.day != tm.tm_mday || wp__date_weekday(days) != tm.tm_wday ||
            wp__date_to_days(date.year, date.month, date.day) != days)
            fail_msg("day %lld", (long long)days);
    }
}

static void test_date_month_length__leap_years__have_29_days_in_february(void **state)
{
    (void)state;
    for (int32_t year = 1900; year < 2400; year++)
        for (int32_t month = 1; month <= 12; month++)
            assert_int_equal(wp__date_month_length(year, month),
                             wp__date_to_days(month < 12 ? year : year + 1, month % 12 + 1, 1) -
                                 wp__date_to_days(year, month, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_date__every_day_from_year_minus_400_to_10400__is_the_c_librarys),
        cmocka_unit_test(test_date_month_length__leap_years__have_29_days_in_february),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
