/* SPDX-License-Identifier: Apache-2.0 */
#include "cron/tz_rule.h"

#include "base/date.h"

enum { DAY_S = 86400, HOUR_S = 3600 };

/* ---- reading ------------------------------------------------------------------------------ */

typedef struct cursor {
    const char *at, *end;
} cursor;

static bool take(cursor *in, char c)
{
    if (in->at == in->end || *in->at != c)
        return false;
    in->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* One to three digits, at most `max`. */
static bool read_number(int32_t *out, cursor *in, int32_t min, int32_t max)
{
    const char *start = in->at;
    int32_t number = 0;
    while (in->at < in->end && in->at - start < 3 && is_digit(*in->at))
        number = number * 10 + (*in->at++ - '0');
    if (in->at == start || number < min || number > max)
        return false;
    *out = number;
    return true;
}

/* [+-]hh[:mm[:ss]] in seconds. */
static bool read_time(int32_t *out, cursor *in, int32_t max_hours)
{
    int32_t hours = 0, minutes = 0, seconds = 0;
    const bool negative = take(in, '-');
    if (!negative)
        (void)take(in, '+');
    if (!read_number(&hours, in, 0, max_hours) ||
        (take(in, ':') && (!read_number(&minutes, in, 0, 59) ||
                           (take(in, ':') && !read_number(&seconds, in, 0, 59)))))
        return false;
    *out = hours * HOUR_S + minutes * 60 + seconds;
    if (negative)
        *out = -*out;
    return true;
}

/* Three letters or more; or letters, digits and signs in angle brackets. */
static bool skip_name(cursor *in)
{
    const bool quoted = take(in, '<');
    const char *start = in->at;
    while (
        in->at < in->end &&
        (is_letter(*in->at) || (quoted && (is_digit(*in->at) || *in->at == '+' || *in->at == '-'))))
        in->at++;
    return in->at - start >= 3 && (!quoted || take(in, '>'));
}

static bool read_day(wp__tz_day *out, cursor *in)
{
    bool ok = false;
    out->time = 2 * HOUR_S;
    if (take(in, 'M')) {
        out->kind = WP__TZ_MONTH;
        ok = read_number(&out->month, in, 1, 12) && take(in, '.') &&
             read_number(&out->week, in, 1, 5) && take(in, '.') && read_number(&out->day, in, 0, 6);
    } else if (take(in, 'J')) {
        out->kind = WP__TZ_JULIAN;
        ok = read_number(&out->day, in, 1, 365);
    } else {
        out->kind = WP__TZ_ZERO;
        ok = read_number(&out->day, in, 0, 365);
    }
    return ok && (!take(in, '/') || read_time(&out->time, in, 167));
}

/* POSIX counts offsets westward. */
static bool read_offset(int32_t *out, cursor *in)
{
    if (!read_time(out, in, 24))
        return false;
    *out = -*out;
    return true;
}

bool wp__tz_rule_parse(wp__tz_rule *out, const char *text, size_t len)
{
    cursor in = {text, text + len};
    wp__tz_rule rule = {.changes = false};
    if (!skip_name(&in) || !read_offset(&rule.standard, &in))
        return false;
    if (in.at < in.end) {
        rule.changes = true;
        rule.daylight = rule.standard + HOUR_S;
        if (!skip_name(&in) || in.at == in.end ||
            (*in.at != ',' && !read_offset(&rule.daylight, &in)) || !take(&in, ',') ||
            !read_day(&rule.start, &in) || !take(&in, ',') || !read_day(&rule.end, &in) ||
            in.at != in.end)
            return false;
    }
    *out = rule;
    return true;
}

/* ---- using -------------------------------------------------------------------------------- */

/* In seconds since 1970 on the local clock. */
static int64_t local_of(const wp__tz_day *day, int32_t year)
{
    const int64_t new_year = wp__date_to_days(year, 1, 1);
    int64_t days = 0;
    int32_t first = 0, length = 0, in_month = 0;
    if (day->kind == WP__TZ_MONTH) {
        days = wp__date_to_days(year, day->month, 1);
        length = wp__date_month_length(year, day->month);
        first = (day->day - wp__date_weekday(days) + 7) % 7; /* day of the month, from 0 */
        in_month = first + 7 * (day->week - 1);
        days += in_month < length ? in_month : in_month - 7;
    } else if (day->kind == WP__TZ_ZERO) {
        days = new_year + day->day;
    } else {
        days = new_year + day->day - 1 + (day->day > 59 && wp__date_month_length(year, 2) == 29);
    }
    return days * DAY_S + day->time;
}

/* Put a change among those that are there, in order. One that comes later stands behind where both
 * are at the same second, and then is the one that counts. */
static void insert(wp__span *spans, int count, int64_t at, int32_t offset)
{
    int i = count;
    for (; i > 0 && spans[i - 1].begin > at; i--)
        spans[i] = spans[i - 1];
    spans[i] = (wp__span){at, 0, offset};
}

wp__span wp__tz_rule_span(const wp__tz_rule *rule, int64_t second)
{
    wp__span spans[10] = {{0, 0, 0}};
    int32_t year = 0;
    int count = 0, i = 0;
    if (!rule->changes)
        return (wp__span){-WP__SPAN_LIMIT, WP__SPAN_LIMIT, rule->standard};
    /* The changes of a year may lie up to a week outside of it: so a year more on both sides. */
    year = wp__date_from_days(second / DAY_S).year;
    for (int32_t y = year - 2; y <= year + 2; y++) {
        insert(spans, count++, local_of(&rule->end, y) - rule->daylight, rule->standard);
        insert(spans, count++, local_of(&rule->start, y) - rule->standard, rule->daylight);
    }
    for (i = count - 2; i > 0 && spans[i].begin > second; i--)
        continue;
    spans[i].end = spans[i + 1].begin;
    return spans[i];
}
