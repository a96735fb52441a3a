/* SPDX-License-Identifier: Apache-2.0 */
/* The Gregorian calendar, counted in days since 1970-01-01. */
#ifndef WP__DATE_H
#define WP__DATE_H

#include <stdint.h>

typedef struct wp__date {
    int32_t year;
    int32_t month; /* 1 to 12 */
    int32_t day;   /* 1 to 31 */
} wp__date;

/* For years from -1,000,000 to 1,000,000. gmtime_r() would do, but takes a lock on the time zone
 * data. */
wp__date wp__date_from_days(int64_t days);
int64_t wp__date_to_days(int32_t year, int32_t month, int32_t day);
/* 0 is Sunday. */
int32_t wp__date_weekday(int64_t days);
int32_t wp__date_month_length(int32_t year, int32_t month);

#endif
