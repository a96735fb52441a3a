/* SPDX-License-Identifier: Apache-2.0 */
#include "base/date.h"

#include <assert.h>

/* Both ways count in eras of 400 years from 0000-03-01, so that the leap day comes last in its
 * year. Before it there are 10,000 eras here, to stay above 0. */
enum { ERA_DAYS = 146097, ERAS_BEFORE = 10000, DAYS_TO_1970 = 719468 };

#define BEFORE ((int64_t)ERAS_BEFORE * ERA_DAYS + DAYS_TO_1970)

wp__date wp__date_from_days(int64_t days)
{
    const int64_t from_start = days + BEFORE;
    const int32_t era = (int32_t)(from_start / ERA_DAYS);
    const int32_t day_of_era = (int32_t)(from_start % ERA_DAYS);
    const int32_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int32_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int32_t month_from_march = (5 * day_of_year + 2) / 153;
    wp__date date;
    assert(from_start >= 0);
    date.day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    date.month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    date.year = (era - ERAS_BEFORE) * 400 + year_of_era + (date.month <= 2);
    return date;
}

int64_t wp__date_to_days(int32_t year, int32_t month, int32_t day)
{
    const int32_t from_march = year - (month <= 2) + ERAS_BEFORE * 400;
    const int32_t era = from_march / 400, year_of_era = from_march % 400;
    const int32_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    const int32_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return (int64_t)era * ERA_DAYS + day_of_era - BEFORE;
}

int32_t wp__date_weekday(int64_t days)
{
    return (int32_t)(((days + 4) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */
}

int32_t wp__date_month_length(int32_t year, int32_t month)
{
    static const int8_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return lengths[month - 1] + (month == 2 && leap);
}
