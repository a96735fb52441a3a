/* SPDX-License-Identifier: Apache-2.0 */
/* Matches of an expression on a local clock that runs evenly. */
#include "base/date.h"
#include "cron/cron.h"

enum { DAY_S = 86400, HOUR_S = 3600, SUNDAY = 0, SATURDAY = 6, ALL_WEEKDAYS = 127 };

static uint64_t bit(int32_t n)
{
    return UINT64_C(1) << (n & 63); /* it is never more, which the analyzer does not see */
}

/* The least number of the set that is at least `from`, or -1. */
static int32_t least(uint64_t set, int32_t from)
{
    int32_t n = from;
    if (n > 63 || (set >> n) == 0)
        return -1;
    while (!(set >> n & 1))
        n++;
    return n;
}

/* ---- times of a day ----------------------------------------------------------------------- */

/* The first time of day, in seconds, at `time` or later; -1 if there is none that day. */
static int32_t time_from(const wp__cron *cron, int32_t time)
{
    const int32_t hour = time / HOUR_S, minute = time / 60 % 60;
    int32_t h = least(cron->hours, hour), m = -1, s = -1;
    if (h == hour) {
        m = least(cron->minutes, minute);
        s = m == minute ? least(cron->seconds, time % 60) : -1;
        if (s >= 0)
            return h * HOUR_S + m * 60 + s;
        if (m == minute)
            m = least(cron->minutes, minute + 1);
        if (m < 0)
            h = least(cron->hours, hour + 1);
    }
    if (h < 0)
        return -1;
    if (m < 0)
        m = least(cron->minutes, 0);
    return h * HOUR_S + m * 60 + least(cron->seconds, 0);
}

/* ---- days of a month ---------------------------------------------------------------------- */

/* A month: its length, and the weekday of its first day. */
typedef struct month {
    int32_t length, first;
} month;

/* The weekday, not at a weekend, that is nearest to `day` and in the same month. */
static int32_t workday(const month *m, int32_t day)
{
    const int32_t weekday = (m->first + day - 1) % 7;
    if (weekday == SATURDAY)
        return day > 1 ? day - 1 : day + 2;
    if (weekday == SUNDAY)
        return day < m->length ? day + 1 : day - 2;
    return day;
}

static uint64_t by_day(const wp__cron *cron, const month *m)
{
    uint64_t days = cron->days;
    int32_t n = 0;
    for (n = least(cron->workdays, 0); n >= 0 && n <= m->length; n = least(cron->workdays, n + 1))
        days |= bit(workday(m, n));
    for (n = least(cron->last_days, 0); n >= 0 && n < m->length; n = least(cron->last_days, n + 1))
        days |= bit(m->length - n);
    for (n = least(cron->last_workdays, 0); n >= 0 && n < m->length;
         n = least(cron->last_workdays, n + 1))
        days |= bit(workday(m, m->length - n));
    return days;
}

static uint64_t by_weekday(const wp__cron *cron, const month *m)
{
    uint64_t days = 0;
    if (cron->weekdays == ALL_WEEKDAYS)
        return UINT64_MAX;
    for (int32_t day = 1; day <= m->length; day++) {
        const uint64_t weekday = bit((m->first + day - 1) % 7);
        if (((cron->weekdays | cron->nth_weekdays[(day - 1) / 7 + 1]) & weekday) ||
            (day + 7 > m->length && (cron->nth_weekdays[0] & weekday)))
            days |= bit(day);
    }
    return days;
}

/* The set of the days that match. */
static uint64_t days_of(const wp__cron *cron, int32_t year, int32_t number)
{
    month m = {0, 0};
    uint64_t days = 0;
    if (!(cron->months & bit(number)))
        return 0;
    m.length = wp__date_month_length(year, number);
    m.first = wp__date_weekday(wp__date_to_days(year, number, 1));
    days = by_day(cron, &m);
    if (cron->either)
        days |= by_weekday(cron, &m);
    else
        days &= by_weekday(cron, &m);
    return days & (bit(m.length + 1) - 2);
}

bool wp__cron_has_day(const wp__cron *cron)
{
    for (int32_t year = 2000; year < 2400; year++)
        for (int32_t number = 1; number <= 12; number++)
            if (days_of(cron, year, number))
                return true;
    return false;
}

/* ---- both --------------------------------------------------------------------------------- */

bool wp__cron_match(int64_t *out, const wp__cron *cron, int64_t local)
{
    const int64_t today = local / DAY_S - (local % DAY_S < 0);
    const wp__date date = wp__date_from_days(today);
    int32_t time = time_from(cron, (int32_t)(local - today * DAY_S));
    int32_t day = date.day, number = date.month;
    /* Today counts if there is a time left on it; later days begin with their first time. */
    if (time < 0 || !(days_of(cron, date.year, number) & bit(day))) {
        time = time_from(cron, 0);
        day++;
    }
    for (int32_t year = date.year; year <= WP__CRON_LAST_YEAR; year++) {
        for (; number <= 12; number++) {
            day = least(days_of(cron, year, number), day);
            if (day > 0) {
                *out = wp__date_to_days(year, number, day) * DAY_S + time;
                return true;
            }
            day = 1;
        }
        number = 1;
    }
    return false;
}
