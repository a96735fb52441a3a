/* SPDX-License-Identifier: Apache-2.0 */
/* Cron expressions: what they mean on a local clock (cron.c, match.c), and when that is in UTC
 * (next.c). docs/cron.md has the syntax and the rules. */
#ifndef WP__CRON_H
#define WP__CRON_H

#include "cron/zone.h"

/* Sets of numbers: bit n stands for n. Never empty as a whole. */
typedef struct wp__cron {
    uint64_t seconds, minutes, hours, months;
    /* days of the month */
    uint64_t days;
    uint64_t workdays;      /* nW: the weekday that is nearest to day n */
    uint64_t last_days;     /* L, L-n: n days before the month's last */
    uint64_t last_workdays; /* LW, L-nW */
    /* days of the week */
    uint64_t weekdays;
    uint64_t nth_weekdays[6]; /* d#n: the n-th in the month; [0] is dL, the last */
    bool either;              /* both kinds of days are restricted: one of them is enough */
    bool interval;            /* a second, minute or hour is not a plain number: CRN-006 */
    int64_t period;           /* "@every": seconds; otherwise 0, and all of the above holds */
} wp__cron;

/* Read an expression. WP_E_ARGUMENT: the message names the field and the position; or no day in the
 * calendar is meant by it. */
wp_status wp__cron_parse(wp__cron *out, const char *expression, wp_error **err);

/* What a local clock shows, in seconds since its 1970-01-01T00:00:00. */
enum { WP__CRON_LAST_YEAR = 10000 };
/* The first match at `local` or later; false if there is none up to the last year. */
bool wp__cron_match(int64_t *out, const wp__cron *cron, int64_t local);
/* Whether there is a day that matches: the calendar repeats itself after 400 years. */
bool wp__cron_has_day(const wp__cron *cron);

/* The first occurrence after `second`, both UTC, in a zone; false if there is none by the end of
 * 9999. Allocates nothing. */
bool wp__cron_next(int64_t *out, const wp__cron *cron, const wp__zone *zone, int64_t second);

#endif
