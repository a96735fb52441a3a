/* SPDX-License-Identifier: Apache-2.0 */
/* Lines: an expression, a zone, a second. What is not refused gives occurrences that are later and the first. */
#include <waypost/outbox.h>
#include <waypost/schedule.h>

#include "fuzz/fuzz.h"

#define SECOND_US INT64_C(1000000)

static int64_t next_after(const wp_schedule *schedule, int64_t after)
{
    int64_t next = -1;
    wp_error *err = NULL;
    const wp_status st = wp_schedule_next(&next, schedule, after, &err);
    FUZZ_CHECK(st == WP_OK || st == WP_E_NOT_FOUND);
    FUZZ_CHECK((st == WP_OK) == (err == NULL));
    wp_error_free(err);
    if (st != WP_OK)
        return -1;
    FUZZ_CHECK(next > after && next <= WP_TIME_US_MAX && next % SECOND_US == 0);
    return next;
}

/* Whatever lies between is followed by the same one, and what comes next is later. */
static void walk(const wp_schedule *schedule, int64_t after)
{
    int64_t us[6];
    size_t count = 0;
    FUZZ_CHECK(wp_schedule_preview(us, &count, schedule, after, 6, NULL) == WP_OK);
    for (size_t i = 0; i < count; i++) {
        FUZZ_CHECK(next_after(schedule, after) == us[i]);
        FUZZ_CHECK(next_after(schedule, after + (us[i] - after) / 2) == us[i]);
        FUZZ_CHECK(next_after(schedule, us[i] - 1) == us[i]);
        after = us[i];
    }
    FUZZ_CHECK(count == 6 || next_after(schedule, after) == -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *expression = fuzz_line(&data, &size), *zone = fuzz_line(&data, &size);
    char *second = fuzz_line(&data, &size);
    wp_schedule *schedule = NULL;
    wp_error *err = NULL;
    int64_t after = strtoll(second, NULL, 10);
    const wp_status st = wp_schedule_new(&schedule, expression, *zone ? zone : NULL, NULL, &err);
    if (after < 0 || after > WP_TIME_US_MAX / SECOND_US)
        after = 1800000000;
    if (st == WP_OK)
        walk(schedule, after * SECOND_US);
    FUZZ_CHECK((st == WP_OK) == (err == NULL));
    FUZZ_CHECK(!err || wp_error_message(err)[0]);
    wp_error_free(err);
    wp_schedule_free(schedule);
    free(second);
    free(zone);
    free(expression);
    return 0;
}
