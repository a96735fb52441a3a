/* SPDX-License-Identifier: Apache-2.0 */
/* The rule that a time zone file ends with (a TZ text of POSIX, as RFC 9636, 3.3, extends it): how
 * clocks are set in all the years after the last transition in the file. */
#ifndef WP__TZ_RULE_H
#define WP__TZ_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A day of every year, and a time on it. */
typedef struct wp__tz_day {
    enum {
        WP__TZ_JULIAN, /* Jn: day 1 to 365, and 29 February is never counted */
        WP__TZ_ZERO,   /* n: day 0 to 365, and 29 February is counted */
        WP__TZ_MONTH   /* Mm.w.d: weekday d of month m, the w-th of them; 5 is the last */
    } kind;
    int32_t month, week;
    int32_t day;
    int32_t time; /* seconds from the day's midnight, on the clock before it is set */
} wp__tz_day;

typedef struct wp__tz_rule {
    int32_t standard; /* seconds east of UTC */
    int32_t daylight;
    bool changes; /* otherwise always `standard` */
    wp__tz_day start, end;
} wp__tz_rule;

/* A time in which the offset from UTC does not change: seconds since 1970, `end` excluded. Without
 * limit: +-WP__SPAN_LIMIT. */
typedef struct wp__span {
    int64_t begin, end;
    int32_t offset; /* seconds east of UTC */
} wp__span;

#define WP__SPAN_LIMIT (INT64_C(1) << 60)

/* Read a text of `len` bytes; false if it is no such rule. */
bool wp__tz_rule_parse(wp__tz_rule *out, const char *text, size_t len);
/* The span that `second` is in, which is within 200,000 years of 1970. */
wp__span wp__tz_rule_span(const wp__tz_rule *rule, int64_t second);

#endif
