/* SPDX-License-Identifier: Apache-2.0 */
/* From matches on a local clock to instants, where that clock is set forward and back.
 *
 * Fixed times: a match `m` occurs at the first instant at which the clock has come to `m` or past it.
 * In a gap that is its end, in an overlap the first of two; and it rises with `m`, so that nothing
 * occurs twice. Intervals occur at each instant at which the clock shows a match. */
#include "cron/cron.h"

/* The last second of 9999. */
#define LAST_SECOND INT64_C(253402300799)

static int64_t local_begin(const wp__span *span)
{
    return span->begin + span->offset;
}

static int64_t local_end(const wp__span *span)
{
    return span->end + span->offset;
}

#define NEVER INT64_MAX

static int64_t match_from(const wp__cron *cron, int64_t local)
{
    int64_t match = NEVER;
    (void)wp__cron_match(&match, cron, local);
    return match;
}

static bool in_time(int64_t *out, int64_t second)
{
    *out = second;
    return second <= LAST_SECOND;
}

/* What the local clock comes to next: the first local second that it has not shown up to `second`.
 * That is not the next one where it was set back shortly before. */
static int64_t unseen(const wp__zone *zone, const wp__span *now, int64_t second)
{
    int64_t most = second + now->offset + 1;
    wp__span span = *now;
    while (span.begin > second - 2 * WP__OFFSET_LIMIT) {
        span = wp__zone_span(zone, span.begin - 1);
        if (local_end(&span) > most)
            most = local_end(&span);
    }
    return most;
}

static bool next_fixed(int64_t *out, const wp__cron *cron, const wp__zone *zone, int64_t second)
{
    wp__span span = wp__zone_span(zone, second);
    const int64_t match = match_from(cron, unseen(zone, &span, second));
    if (match == NEVER)
        return false;
    if (match - WP__OFFSET_LIMIT > second) /* until then no clock shows it */
        span = wp__zone_span(zone, match - WP__OFFSET_LIMIT);
    while (match >= local_end(&span))
        span = wp__zone_span(zone, span.end);
    return in_time(out, match < local_begin(&span) ? span.begin : match - span.offset);
}

static bool next_interval(int64_t *out, const wp__cron *cron, const wp__zone *zone, int64_t second)
{
    wp__span span = wp__zone_span(zone, second + 1);
    int64_t from = second + 1 + span.offset; /* no match between this and `match` */
    int64_t match = match_from(cron, from);
    while (match >= local_end(&span)) {
        if (span.end > LAST_SECOND)
            return false;
        span = wp__zone_span(zone, span.end);
        if (local_begin(&span) < from || local_begin(&span) > match) {
            from = local_begin(&span);
            match = match_from(cron, from);
        }
    }
    return in_time(out, match - span.offset);
}

bool wp__cron_next(int64_t *out, const wp__cron *cron, const wp__zone *zone, int64_t second)
{
    if (cron->period > 0)
        return in_time(out, (second / cron->period + 1) * cron->period);
    return cron->interval ? next_interval(out, cron, zone, second)
                          : next_fixed(out, cron, zone, second);
}
