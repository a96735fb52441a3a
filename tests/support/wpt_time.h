/* SPDX-License-Identifier: Apache-2.0 */
/* Instants as text in tests: "2027-03-28T01:00:00" is UTC. */
#ifndef WPT_TIME_H
#define WPT_TIME_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/date.h"

/* Seconds since 1970. */
static inline int64_t wpt_second(const char *text)
{
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
    if (sscanf(text, "%d-%d-%dT%d:%d:%d", &year, &month, &day, &hour, &minute, &second) != 6)
        fail_msg("\"%s\" is no instant", text);
    return wp__date_to_days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
}

/* The text of a second since 1970, in one of a few buffers that are used in turn. */
static inline const char *wpt_instant(int64_t second)
{
    static char buffers[8][80];
    static unsigned turn;
    char *text = buffers[turn++ % 8];
    const int64_t days = second / 86400 - (second % 86400 < 0);
    const int in_day = (int)(second - days * 86400);
    const wp__date date = wp__date_from_days(days);
    (void)snprintf(text, sizeof buffers[0], "%04d-%02d-%02dT%02d:%02d:%02d", date.year, date.month,
                   date.day, in_day / 3600, in_day / 60 % 60, in_day % 60);
    return text;
}

#endif
