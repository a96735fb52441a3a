/* SPDX-License-Identifier: Apache-2.0 */
/* A time zone file. What is not refused has spans that follow each other, and schedules work in it. */
#include "cron/cron.h"
#include "fuzz/fuzz.h"

static void walk(const wp__zone *zone)
{
    int64_t at = 0;
    for (int n = 0; n < 200 && at < INT64_C(253402300800); n++) {
        const wp__span span = wp__zone_span(zone, at);
        FUZZ_CHECK(span.begin <= at && at < span.end);
        FUZZ_CHECK(span.offset > -WP__OFFSET_LIMIT && span.offset < WP__OFFSET_LIMIT);
        at = span.end;
    }
}

static void fire(const wp__zone *zone, const char *expression)
{
    wp__cron cron;
    int64_t at = 1000000000, next = 0;
    FUZZ_CHECK(wp__cron_parse(&cron, expression, NULL) == WP_OK);
    for (int n = 0; n < 20 && wp__cron_next(&next, &cron, zone, at); n++) {
        int64_t again = 0;
        FUZZ_CHECK(next > at);
        FUZZ_CHECK(wp__cron_next(&again, &cron, zone, at + (next - at) / 2) && again == next);
        at = next + 3333333;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wp__zone *zone = NULL;
    if (wp__zone_read(&zone, "Fuzz/Zone", data, size, NULL) != WP_OK)
        return 0;
    walk(zone);
    fire(zone, "30 2 * * *");
    fire(zone, "*/30 * * * *");
    fire(zone, "0 0 1 */3 *");
    wp__zone_free(zone);
    return 0;
}
