/* SPDX-License-Identifier: Apache-2.0 */
#include "cron/schedule.h"

#include <stdlib.h>
#include <waypost/outbox.h>

#include "base/config_values.h"
#include "base/text.h"
#include "cron/cron.h"

struct wp_schedule {
    char *expression;
    wp__zone *zone;
    wp__cron cron;
};

#define SECOND_US INT64_C(1000000)
/* 2038-01-01. From about then on the files' rules hold for ever. */
#define FAR_SECOND INT64_C(2145916800)

/* In a zone, times that its clock always skips never come either. */
static wp_status check_fires(const wp__cron *cron, const wp__zone *zone, wp_error **err)
{
    int64_t second = 0;
    if (wp__cron_next(&second, cron, zone, FAR_SECOND))
        return WP_OK;
    return wp__fail(err, WP_E_ARGUMENT,
                    "expression: it never fires in %s: its times are skipped when clocks are set "
                    "forward",
                    wp__zone_name(zone));
}

wp_status wp__schedule_new_in(wp_schedule **out, const char *expression, wp__zone *zone,
                              wp_error **err)
{
    wp_schedule *schedule = NULL;
    wp__cron cron;
    wp_status st = WP_OK;
    if ((st = wp__check_text(NULL, "expression", expression, WP_EXPRESSION_MAX, true, err)) !=
            WP_OK ||
        (st = wp__cron_parse(&cron, expression, err)) != WP_OK ||
        (st = check_fires(&cron, zone, err)) != WP_OK)
        return st;
    schedule = calloc(1, sizeof *schedule);
    if (!schedule)
        return wp__fail_nomem(err);
    schedule->cron = cron;
    schedule->zone = wp__zone_ref(zone);
    schedule->expression = wp__text_dup(expression);
    if (!schedule->expression) {
        wp_schedule_free(schedule);
        return wp__fail_nomem(err);
    }
    *out = schedule;
    return WP_OK;
}

wp_status wp_schedule_new(wp_schedule **out, const char *expression, const char *zone,
                          const wp_config *config, wp_error **err)
{
    wp_config *copy = NULL;
    wp__zone *loaded = NULL;
    wp_status st = WP_OK;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is null");
    if (!expression)
        return wp__fail(err, WP_E_ARGUMENT, "expression is null");
    if ((st = wp__config_copy(&copy, config, err)) == WP_OK &&
        (st = wp__zone_load(&loaded, copy->zone_directory, zone ? zone : "UTC", err)) == WP_OK)
        st = wp__schedule_new_in(out, expression, loaded, err);
    wp__zone_free(loaded);
    wp_config_free(copy);
    return st;
}

void wp_schedule_free(wp_schedule *schedule)
{
    if (!schedule)
        return;
    wp__zone_free(schedule->zone);
    free(schedule->expression);
    free(schedule);
}

static wp_status check_instant(int64_t after_us, wp_error **err)
{
    if (after_us >= 0 && after_us <= WP_TIME_US_MAX)
        return WP_OK;
    return wp__fail(err, WP_E_RANGE, "after_us is outside the years 1970 to 9999");
}

/* In microseconds; false if there is none. */
static bool next_us(int64_t *out_us, const wp_schedule *schedule, int64_t after_us)
{
    int64_t second = 0;
    if (!wp__cron_next(&second, &schedule->cron, schedule->zone, after_us / SECOND_US))
        return false;
    *out_us = second * SECOND_US;
    return true;
}

wp_status wp_schedule_next(int64_t *out_us, const wp_schedule *schedule, int64_t after_us,
                           wp_error **err)
{
    wp_status st = WP_OK;
    if (!out_us || !schedule)
        return wp__fail(err, WP_E_ARGUMENT, "%s is null", out_us ? "schedule" : "out_us");
    if ((st = check_instant(after_us, err)) != WP_OK)
        return st;
    if (!next_us(out_us, schedule, after_us))
        return wp__fail(err, WP_E_NOT_FOUND, "%s in %s does not fire again by the end of 9999",
                        schedule->expression, wp__zone_name(schedule->zone));
    return WP_OK;
}

wp_status wp_schedule_preview(int64_t *out_us, size_t *count, const wp_schedule *schedule,
                              int64_t after_us, size_t max, wp_error **err)
{
    wp_status st = WP_OK;
    size_t found = 0;
    if ((!out_us && max > 0) || !count || !schedule)
        return wp__fail(err, WP_E_ARGUMENT, "%s is null",
                        !count      ? "count"
                        : !schedule ? "schedule"
                                    : "out_us");
    if ((st = check_instant(after_us, err)) != WP_OK)
        return st;
    if (max > WP_PREVIEW_MAX)
        return wp__fail(err, WP_E_RANGE, "max is not from 0 to %d", WP_PREVIEW_MAX);
    while (found < max && next_us(&out_us[found], schedule, after_us))
        after_us = out_us[found++];
    *count = found;
    return WP_OK;
}

const char *wp_schedule_expression(const wp_schedule *schedule)
{
    return schedule->expression;
}

const char *wp_schedule_zone(const wp_schedule *schedule)
{
    return wp__zone_name(schedule->zone);
}
