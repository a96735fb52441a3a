/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that nobody meant, into the readers of expressions, rules and zone files: they refuse them, or
 * what they make of them works. Under the address sanitizer this says that they stay in bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <waypost/outbox.h>
#include <waypost/schedule.h>

#include "base/file.h"
#include "cron/cron.h"
#include "support/wpt.h"

static uint64_t state_of_random = 20260329;

static uint32_t pick(uint32_t below)
{
    state_of_random =
        state_of_random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state_of_random >> 33) % below);
}

/* A block of exactly `len` bytes. */
static char *exact(const void *data, size_t len)
{
    char *copy = malloc(len + (len == 0));
    assert_non_null(copy);
    memcpy(copy, data, len);
    return copy;
}

/* Some bytes changed, put in, taken out; the new length. */
static size_t damage(char *data, size_t len, size_t max, const char *alphabet, size_t letters)
{
    for (uint32_t n = 1 + pick(4); n > 0; n--) {
        const size_t at = len ? pick((uint32_t)len) : 0;
        const char c = letters ? alphabet[pick((uint32_t)letters)] : (char)pick(256);
        const uint32_t how = pick(3);
        if (how == 0 && len > 0) {
            data[at] = c;
        } else if (how == 1 && len > 0) {
            memmove(data + at, data + at + 1, len - at - 1);
            len--;
        } else if (how == 2 && len < max) {
            memmove(data + at + 1, data + at, len - at);
            data[at] = c;
            len++;
        }
    }
    return len;
}

static void use(const char *expression)
{
    wp_schedule *s = NULL;
    int64_t us[5], last = WPT_START_US;
    size_t count = 0;
    if (wp_schedule_new(&s, expression, NULL, NULL, NULL) != WP_OK)
        return;
    WPT_OK(wp_schedule_preview(us, &count, s, last, 5, WPT_ERR));
    assert_int_equal(count, 5); /* whatever fires does so five times in 8000 years */
    for (size_t i = 0; i < count; i++) {
        assert_true(us[i] > last);
        last = us[i];
    }
    wp_schedule_free(s);
}

/* proves: CRN-003 */
static void test_schedule_new__damaged_expressions__are_refused_or_work(void **state)
{
    static const char alphabet[] = "0123456789**//--,,LW##??@ \tJANFEBMONSUNtuefri.smhd\n\xC3\xFF";
    static const char *const seeds[] = {
        "* * * * *",          "*/5 0-4/2 1,15 JAN-MAR MON#2",
        "0 0 12 L-3W * ?",    "@every 1h30m",
        "0 30 9 ? * FRI-MON", "@daily",
        "0 0 1W,LW * 5L",     "",
    };
    char text[80];
    (void)state;
    for (int i = 0; i < 15000; i++) {
        const char *seed = seeds[pick(WPT_COUNT(seeds))];
        size_t len = strlen(seed);
        char *whole = NULL;
        memcpy(text, seed, len);
        for (uint32_t n = pick(4); n > 0; n--)
            len = damage(text, len, sizeof text - 1, alphabet, sizeof alphabet - 1);
        text[len] = '\0';
        whole = exact(text, len + 1);
        use(whole);
        free(whole);
    }
}

static void test_schedule_new__random_bytes__are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 5000; i++) {
        char text[40];
        const size_t len = pick(sizeof text);
        char *whole = NULL;
        for (size_t n = 0; n < len; n++)
            text[n] = (char)pick(256);
        text[len] = '\0';
        whole = exact(text, len + 1);
        use(whole);
        free(whole);
    }
}

/* Spans of whatever was read follow each other. */
static void walk(const wp__zone *zone)
{
    int64_t at = 0;
    for (int n = 0; n < 300 && at < INT64_C(253402300800); n++) {
        const wp__span span = wp__zone_span(zone, at);
        assert_true(span.begin <= at && at < span.end);
        assert_true(span.offset > -WP__OFFSET_LIMIT && span.offset < WP__OFFSET_LIMIT);
        at = span.end;
    }
}

/* proves: CRN-005 */
static void test_zone_read__damaged_files__are_refused_or_work(void **state)
{
    static const char *const names[] = {"Europe/Vienna", "America/Nuuk", "Asia/Gaza", "Etc/GMT+5",
                                        "Africa/Monrovia"};
    int read = 0;
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(names); i++) {
        char path[100];
        char *data = NULL;
        size_t len = 0;
        (void)snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", names[i]);
        WPT_OK(wp__file_read(&data, &len, path, 1 << 16, WPT_ERR));
        for (int n = 0; n < 800; n++) {
            char *copy = malloc(len + 10), *whole = NULL;
            size_t count = len;
            wp__cron cron;
            wp__zone *zone = NULL;
            int64_t next = 0;
            assert_non_null(copy);
            memcpy(copy, data, len);
            /* near the headers and the rule most often */
            if (pick(3) == 0)
                count = damage(copy, len, len + 9, NULL, 0);
            else if (pick(2) == 0)
                copy[len - 1 - pick(30 < len ? 30 : (uint32_t)len)] = (char)pick(128);
            else
                copy[pick(60)] = (char)pick(256);
            whole = exact(copy, count);
            if (wp__zone_read(&zone, names[i], whole, count, NULL) == WP_OK) {
                read++;
                walk(zone);
                WPT_OK(wp__cron_parse(&cron, n % 2 ? "30 2 * * *" : "*/30 * * * *", WPT_ERR));
                for (int64_t at = 1000000000; at < 1100000000; at = next)
                    assert_true(wp__cron_next(&next, &cron, zone, at) && next > at &&
                                next < at + 400 * 86400 && (at = next + 3333333));
            }
            wp__zone_free(zone);
            free(whole);
            free(copy);
        }
        free(data);
    }
    assert_true(read > 300);
}

static void test_tz_rule_parse__damaged_rules__are_refused_or_work(void **state)
{
    static const char alphabet[] = "0123456789,,//..::--++<>MJabcXYZ";
    static const char *const seeds[] = {"CET-1CEST,M3.5.0,M10.5.0/3",
                                        "<-02>2<-01>,M3.5.0/-1,J300/0", "XXX3EDT4,0/0,J365/23"};
    char text[60];
    (void)state;
    for (int i = 0; i < 15000; i++) {
        const char *seed = seeds[pick(WPT_COUNT(seeds))];
        size_t len = strlen(seed);
        char *whole = NULL;
        wp__tz_rule rule;
        memcpy(text, seed, len);
        len = damage(text, len, sizeof text, alphabet, sizeof alphabet - 1);
        whole = exact(text, len);
        if (wp__tz_rule_parse(&rule, whole, len)) {
            const int64_t at = (int64_t)pick(1u << 31) * 4;
            const wp__span span = wp__tz_rule_span(&rule, at);
            assert_true(span.begin <= at && at < span.end);
        }
        free(whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule_new__damaged_expressions__are_refused_or_work),
        cmocka_unit_test(test_schedule_new__random_bytes__are_refused),
        cmocka_unit_test(test_zone_read__damaged_files__are_refused_or_work),
        cmocka_unit_test(test_tz_rule_parse__damaged_rules__are_refused_or_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
