/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file schedule.h
 * Schedules: when a cron expression fires, in a time zone. Without a database, and without a clock:
 * what comes after an instant is asked for. The syntax and the rules are in docs/cron.md.
 */
#ifndef WAYPOST_SCHEDULE_H
#define WAYPOST_SCHEDULE_H

#include <waypost/config.h>

WP_BEGIN_DECLS

/** The longest expression, in bytes. */
#define WP_EXPRESSION_MAX 255
/** The most occurrences in one preview. */
#define WP_PREVIEW_MAX 10000

/** An expression in a zone, read and checked. It never changes: any threads may use it at once, and
 * it goes on by the zone's rules as they were when it was made. */
typedef struct wp_schedule wp_schedule;

/** Read an expression: five fields (minute, hour, day of month, month, day of week), six with the
 * second before them, a macro such as `@daily`, or `@every 90s`.
 * @param zone    an IANA zone, such as "Europe/Vienna"; NULL is "UTC", which needs no zone files.
 *                `@every` does not depend on it.
 * @param config  says where the zone files are: `schedule.zone_directory`. NULL: the defaults.
 * @return WP_OK; WP_E_ARGUMENT: the expression is malformed (the message names the field and the
 *         position, counted from 1) or never fires, or `zone` is no name of a zone; WP_E_NOT_FOUND:
 *         there is no such zone; WP_E_CONFIG: the zone files are missing, or this one is corrupt.
 * @threads any */
WP_API wp_status wp_schedule_new(wp_schedule **out, const char *expression, const char *zone,
                                 const wp_config *config, wp_error **err);
/** Free it. Accepts NULL. */
WP_API void wp_schedule_free(WP_OWN wp_schedule *schedule);

/** The first occurrence after an instant; always later than it.
 * @param out_us    gets it, in microseconds UTC since 1970
 * @param after_us  0 to WP_TIME_US_MAX
 * @return WP_OK; WP_E_RANGE: `after_us` is not in its range; WP_E_NOT_FOUND: there is none by the
 *         end of the year 9999.
 * @threads any */
WP_API wp_status wp_schedule_next(int64_t *out_us, const wp_schedule *schedule, int64_t after_us,
                                  wp_error **err);
/** The next occurrences after an instant, in order; fewer than asked for where the year 9999 ends.
 * @param out_us    gets up to `max` of them, in microseconds UTC since 1970
 * @param count     gets how many
 * @param after_us  0 to WP_TIME_US_MAX
 * @param max       0 to WP_PREVIEW_MAX
 * @return WP_OK; WP_E_RANGE: `after_us` or `max` is not in its range.
 * @threads any */
WP_API wp_status wp_schedule_preview(int64_t *out_us, size_t *count, const wp_schedule *schedule,
                                     int64_t after_us, size_t max, wp_error **err);

/** The expression, as it was given. Borrowed. */
WP_API const char *wp_schedule_expression(const wp_schedule *schedule);
/** The zone's name, as it was given; "UTC" for NULL. Borrowed. */
WP_API const char *wp_schedule_zone(const wp_schedule *schedule);

WP_END_DECLS

#endif
