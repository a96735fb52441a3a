/* SPDX-License-Identifier: Apache-2.0 */
/* The rule that a time zone file ends with. What is not refused has spans that follow each other. */
#include "cron/tz_rule.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wp__tz_rule rule;
    int64_t at = 0;
    if (!wp__tz_rule_parse(&rule, (const char *)data, size))
        return 0;
    for (int n = 0; n < 50; n++) {
        const wp__span span = wp__tz_rule_span(&rule, at);
        FUZZ_CHECK(span.begin <= at && at < span.end);
        FUZZ_CHECK(span.offset == rule.standard || (rule.changes && span.offset == rule.daylight));
        if (span.end >= WP__SPAN_LIMIT)
            break;
        at = span.end;
    }
    FUZZ_CHECK(at > 0 || !rule.changes || wp__tz_rule_span(&rule, 0).end >= WP__SPAN_LIMIT);
    return 0;
}
