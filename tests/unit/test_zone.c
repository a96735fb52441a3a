/* SPDX-License-Identifier: Apache-2.0 */
/* Time zone files: what is read from them, and what is refused. The zones of the system are compared
 * with Python's in tests/schedule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cron/zone.h"
#include "support/wpt.h"
#include "support/wpt_time.h"

#define ZONES "/usr/share/zoneinfo"

/* ---- files made by hand ------------------------------------------------------------------- */

static void add_be(wp__buf *out, int64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) {
        const char c = (char)((uint64_t)value >> (8 * i));
        wp__buf_add(out, &c, 1);
    }
}

/* A file: `count` transitions, to types 0 and 1 in turn, beginning with 1. */
typedef struct file {
    char version;
    int64_t times[4];
    int count;
    int32_t offsets[2];
    int leaps;
    const char *rule; /* NULL: no footer at all */
} file;

static void add_block(wp__buf *out, const file *f, int time_size, int count)
{
    static const char zeros[15] = "";
    wp__buf_text(out, "TZif");
    wp__buf_add(out, &f->version, 1);
    wp__buf_add(out, zeros, 15);
    add_be(out, 2, 4);        /* isut */
    add_be(out, 2, 4);        /* isstd */
    add_be(out, f->leaps, 4); /* leap */
    add_be(out, count, 4);
    add_be(out, 2, 4); /* types */
    add_be(out, 4, 4); /* characters */
    for (int i = 0; i < count; i++)
        add_be(out, f->times[i], time_size);
    for (int i = 0; i < count; i++)
        add_be(out, (i + 1) % 2, 1);
    for (int i = 0; i < 2; i++) {
        add_be(out, f->offsets[i], 4);
        add_be(out, i, 1);
        add_be(out, 0, 1);
    }
    wp__buf_add(out, "ABC", 4);
    for (int i = 0; i < f->leaps; i++)
        add_be(out, 0, time_size), add_be(out, 0, 4);
    wp__buf_add(out, zeros, 4);
}

static wp__buf bytes_of(const file *f)
{
    wp__buf out = {0};
    add_block(&out, f, 4, f->version ? 0 : f->count);
    if (f->version) {
        add_block(&out, f, 8, f->count);
        if (f->rule)
            wp__buf_fmt(&out, "\n%s\n", f->rule);
    }
    assert_false(out.failed);
    return out;
}

static wp_status read_file(wp__zone **out, const file *f)
{
    wp__buf bytes = bytes_of(f);
    char *exact = malloc(bytes.len); /* the address sanitizer sees a read past it */
    wp_status st = WP_OK;
    assert_non_null(exact);
    memcpy(exact, bytes.data, bytes.len);
    st = wp__zone_read(out, "Test/Zone", exact, bytes.len, WPT_ERR);
    free(exact);
    wp__buf_free(&bytes);
    return st;
}

static const file sample = {.version = '2',
                            .times = {1000, 2000, INT64_C(5000000000)},
                            .count = 3,
                            .offsets = {3600, 7200},
                            .rule = "<+02>-2"};

static void span_is(const wp__zone *zone, int64_t second, int64_t begin, int64_t end,
                    int32_t offset)
{
    const wp__span span = wp__zone_span(zone, second);
    assert_int_equal(span.begin, begin);
    assert_int_equal(span.end, end);
    assert_int_equal(span.offset, offset);
}

static void test_zone_read__transitions__are_spans(void **state)
{
    wp__zone *zone = NULL;
    (void)state;
    WPT_OK(read_file(&zone, &sample));
    span_is(zone, INT64_MIN / 4, -WP__SPAN_LIMIT, 1000, 3600);
    span_is(zone, 999, -WP__SPAN_LIMIT, 1000, 3600);
    span_is(zone, 1000, 1000, 2000, 7200);
    span_is(zone, 1999, 1000, 2000, 7200);
    span_is(zone, 2000, 2000, INT64_C(5000000000), 3600);
    span_is(zone, INT64_C(5000000000), INT64_C(5000000000), WP__SPAN_LIMIT, 7200);
    assert_string_equal(wp__zone_name(zone), "Test/Zone");
    wp__zone_free(wp__zone_ref(zone));
    assert_string_equal(wp__zone_name(zone), "Test/Zone");
    wp__zone_free(zone);
    wp__zone_free(NULL);
}

static void test_zone_read__first_version__has_32_bits_and_no_rule(void **state)
{
    const file f = {.times = {-5, 2000}, .count = 2, .offsets = {-3600, 1800}};
    wp__zone *zone = NULL;
    (void)state;
    WPT_OK(read_file(&zone, &f));
    span_is(zone, -6, -WP__SPAN_LIMIT, -5, -3600);
    span_is(zone, -5, -5, 2000, 1800);
    span_is(zone, 2000, 2000, WP__SPAN_LIMIT, -3600);
    wp__zone_free(zone);
}

static void test_zone_read__no_transitions__is_the_rule_or_the_first_type(void **state)
{
    file f = {.version = '3', .offsets = {-3600, 1800}, .rule = "AAA5"};
    wp__zone *zone = NULL;
    (void)state;
    WPT_OK(read_file(&zone, &f));
    span_is(zone, 0, -WP__SPAN_LIMIT, WP__SPAN_LIMIT, -5 * 3600);
    wp__zone_free(zone);
    f.rule = "";
    WPT_OK(read_file(&zone, &f));
    span_is(zone, 0, -WP__SPAN_LIMIT, WP__SPAN_LIMIT, -3600);
    wp__zone_free(zone);
}

static void test_zone_read__corrupt__says_so(void **state)
{
    static const struct {
        file f;
        const char *message;
    } cases[] = {
        {{.version = '2', .times = {2, 1}, .count = 2, .rule = ""}, "not in order"},
        {{.version = '2', .times = {2, 2}, .count = 2, .rule = ""}, "not in order"},
        {{.version = '2', .offsets = {26 * 3600, 0}, .rule = ""}, "of no type"},
        {{.version = '2', .offsets = {-26 * 3600, 0}, .rule = ""}, "of no type"},
        {{.version = '2', .times = {1}, .count = 1, .offsets = {0, INT32_MIN}, .rule = ""},
         "of no type"},
        {{.version = '2', .rule = NULL}, "does not end with a rule"},
        {{.version = '2', .rule = "x"}, "does not end with a rule"},
        {{.version = '2', .rule = "CET-1CEST"}, "does not end with a rule"},
        {{.version = '2', .leaps = 1, .rule = ""}, "counts leap seconds"},
    };
    wp__zone *zone = NULL;
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(cases); i++) {
        WPT_FAILS(read_file(&zone, &cases[i].f), WP_E_CONFIG, cases[i].message);
        assert_non_null(strstr(wpt_message_of_last(), "zone Test/Zone: its file "));
        assert_null(zone);
    }
    WPT_FAILS(wp__zone_read(&zone, "X", "", 0, WPT_ERR), WP_E_CONFIG, "not a time zone file");
    WPT_FAILS(wp__zone_read(&zone, "X", "TZjf2xxxxxxx", 12, WPT_ERR), WP_E_CONFIG,
              "not a time zone file");
}

static void test_zone_read__type_that_is_not_there__is_corrupt(void **state)
{
    wp__buf bytes = bytes_of(&sample);
    wp__zone *zone = NULL;
    (void)state;
    /* The second block's types of transitions come after its header and three times. */
    bytes.data[44 + 12 + 4 + 4 + 44 + 24] = 2;
    WPT_FAILS(wp__zone_read(&zone, "X", bytes.data, bytes.len, WPT_ERR), WP_E_CONFIG, "of no type");
    wp__buf_free(&bytes);
}

/* proves: CRN-005 */
static void test_zone_read__cut_at_any_byte__is_refused(void **state)
{
    wp__buf bytes = bytes_of(&sample);
    (void)state;
    for (size_t len = 0; len < bytes.len; len++) {
        wp__zone *zone = NULL;
        char *cut = malloc(len + 1);
        assert_non_null(cut);
        memcpy(cut + 1, bytes.data, len);
        WPT_STATUS(wp__zone_read(&zone, "X", cut + 1, len, WPT_ERR), WP_E_CONFIG);
        assert_null(zone);
        free(cut);
    }
    wp__buf_free(&bytes);
}

/* ---- loading ------------------------------------------------------------------------------ */

/* proves: CRN-005 */
static void test_zone_load__bad_name__is_an_argument_error(void **state)
{
    static const char *const names[] = {
        "",
        "/",
        "/etc/localtime",
        "../zoneinfo/UTC",
        "Europe/../UTC",
        "Europe//Vienna",
        "Europe/",
        ".",
        "..",
        "Europe/.hidden",
        "./UTC",
        "Europe\\Vienna",
        "Europe/Wien\xC3\xA9",
        "Euro pe",
        ":UTC",
        "UTC\n",
        "CET-1CEST,M3.5.0,M10.5.0/3",
        "a%00b",
    };
    char long_name[400];
    wp__zone *zone = NULL;
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(names); i++)
        WPT_FAILS(wp__zone_load(&zone, ZONES, names[i], WPT_ERR), WP_E_ARGUMENT, "zone is not a");
    memset(long_name, 'a', sizeof long_name);
    long_name[256] = '\0';
    WPT_FAILS(wp__zone_load(&zone, ZONES, long_name, WPT_ERR), WP_E_ARGUMENT, "zone is not a");
    long_name[255] = '\0';
    WPT_STATUS(wp__zone_load(&zone, ZONES, long_name, WPT_ERR), WP_E_NOT_FOUND);
}

/* proves: CRN-005 */
static void test_zone_load__missing_or_no_zone__says_what_and_where(void **state)
{
    wp__zone *zone = NULL;
    wpt_dir dir;
    char path[300];
    FILE *out = NULL;
    (void)state;
    wpt_dir_make(&dir);
    WPT_FAILS(wp__zone_load(&zone, ZONES, "Europe/Viena", WPT_ERR), WP_E_NOT_FOUND,
              "zone Europe/Viena is not in " ZONES);
    WPT_FAILS(wp__zone_load(&zone, ZONES, "Europe", WPT_ERR), WP_E_NOT_FOUND, "zone Europe is not");
    WPT_FAILS(wp__zone_load(&zone, "/nowhere/zones", "Europe/Vienna", WPT_ERR), WP_E_CONFIG,
              "schedule.zone_directory: /nowhere/zones is not a directory");
    (void)snprintf(path, sizeof path, "%s/Large", dir.path);
    out = fopen(path, "w");
    assert_non_null(out);
    for (int i = 0; i < 300000; i++)
        (void)fputc('T', out);
    assert_int_equal(fclose(out), 0);
    WPT_FAILS(wp__zone_load(&zone, dir.path, "Large", WPT_ERR), WP_E_CONFIG, "has more than");
    out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fclose(out), 0);
    WPT_FAILS(wp__zone_load(&zone, dir.path, "Large", WPT_ERR), WP_E_CONFIG, "zone Large: its");
    wpt_dir_remove(&dir);
    assert_null(zone);
}

/* proves: CRN-005 */
static void test_zone_load__utc__needs_no_files(void **state)
{
    wp__zone *zone = NULL;
    (void)state;
    WPT_OK(wp__zone_load(&zone, "/nowhere", "UTC", WPT_ERR));
    span_is(zone, 0, -WP__SPAN_LIMIT, WP__SPAN_LIMIT, 0);
    wp__zone_free(zone);
    WPT_OK(wp__zone_load(&zone, "/nowhere", "Etc/UTC", WPT_ERR));
    assert_string_equal(wp__zone_name(zone), "Etc/UTC");
    wp__zone_free(zone);
}

/* proves: CRN-005 */
static void test_zone_load__environment__is_not_looked_at(void **state)
{
    char *const zone_before = getenv("TZ");
    wp__zone *zone = NULL;
    (void)state;
    assert_int_equal(setenv("TZ", "Asia/Tokyo", 1), 0);
    assert_int_equal(setenv("TZDIR", "/nowhere", 1), 0);
    WPT_OK(wp__zone_load(&zone, ZONES, "America/New_York", WPT_ERR));
    assert_int_equal(wp__zone_span(zone, wpt_second("2027-07-01T00:00:00")).offset, -4 * 3600);
    assert_int_equal(wp__zone_span(zone, wpt_second("2099-01-01T00:00:00")).offset, -5 * 3600);
    assert_string_equal(getenv("TZ"), "Asia/Tokyo");
    wp__zone_free(zone);
    (void)unsetenv("TZDIR");
    if (!zone_before)
        (void)unsetenv("TZ");
}

/* ---- rules -------------------------------------------------------------------------------- */

static void test_tz_rule_parse__no_rule__is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "A",
        "AB1",
        "ABC",
        "ABC+",
        "ABC25",
        "ABC1:60",
        "ABC1:0:60",
        "<AB>1",
        "<ABC1",
        "1",
        "ABC1DEF",
        "ABC1DEF2",
        "ABC1DEF,",
        "ABC1DEF,M3.5.0",
        "ABC1DEF,M3.5.0,",
        "ABC1,M3.5.0,M4.5.0",
        "ABC1DEF,M0.5.0,M10.5.0",
        "ABC1DEF,M13.5.0,M10.5.0",
        "ABC1DEF,M3.0.0,M10.5.0",
        "ABC1DEF,M3.6.0,M10.5.0",
        "ABC1DEF,M3.5.7,M10.5.0",
        "ABC1DEF,M3.5.0/168,M10.5.0",
        "ABC1DEF,M3.5.0/,M10.5.0",
        "ABC1DEF,J0,J365",
        "ABC1DEF,J1,J366",
        "ABC1DEF,0,366",
        "ABC1DEF,M3.5.0,M10.5.0x",
        "ABC1DEF,M3.5,M10.5.0",
        "ABC1 DEF,M3.5.0,M10.5.0",
        "ABC1DEF,-1,5",
        "ABC0001",
        ":Europe/Vienna",
    };
    wp__tz_rule rule;
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(bad); i++)
        if (wp__tz_rule_parse(&rule, bad[i], strlen(bad[i])))
            fail_msg("%s", bad[i]);
}

static void test_tz_rule_span__every_form__changes_when_it_should(void **state)
{
    static const struct {
        const char *rule;
        const char *from, *begin, *end; /* UTC */
        int32_t offset;
    } cases[] = {
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2050-07-01T00:00:00", "2050-03-27T01:00:00",
         "2050-10-30T01:00:00", 7200},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2050-12-31T23:59:59", "2050-10-30T01:00:00",
         "2051-03-26T01:00:00", 3600},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2050-03-27T01:00:00", "2050-03-27T01:00:00",
         "2050-10-30T01:00:00", 7200},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2050-10-30T01:00:00", "2050-10-30T01:00:00",
         "2051-03-26T01:00:00", 3600},
        {"EST5EDT,M3.2.0,M11.1.0", "2050-07-01T00:00:00", "2050-03-13T07:00:00",
         "2050-11-06T06:00:00", -4 * 3600},
        /* the southern half: daylight saving time over new year */
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", "2050-01-01T00:00:00", "2049-10-02T16:00:00",
         "2050-04-02T16:00:00", 11 * 3600},
        {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2050-01-01T00:00:00", "2049-10-02T15:30:00",
         "2050-04-02T15:00:00", 11 * 3600},
        /* winter as the saving time, as in Ireland */
        {"IST-1GMT0,M10.5.0,M3.5.0/1", "2050-01-01T00:00:00", "2049-10-31T01:00:00",
         "2050-03-27T01:00:00", 0},
        /* times below 0 and above 24, as in Greenland, Israel and Easter Island */
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2050-07-01T00:00:00", "2050-03-27T01:00:00",
         "2050-10-30T01:00:00", -3600},
        {"IST-2IDT,M3.4.4/26,M10.5.0", "2050-07-01T00:00:00", "2050-03-25T00:00:00",
         "2050-10-29T23:00:00", 3 * 3600},
        {"<-06>6<-05>,M9.1.6/22,M4.1.6/22", "2050-07-01T00:00:00", "2050-04-03T03:00:00",
         "2050-09-04T04:00:00", -6 * 3600},
        /* days of the year, with and without 29 February */
        {"AAA0BBB,J60/0,J61/0", "2052-02-29T23:59:59", "2051-03-01T23:00:00", "2052-03-01T00:00:00",
         0},
        {"AAA0BBB,J59/0,J60/0", "2052-02-28T00:00:00", "2052-02-28T00:00:00", "2052-02-29T23:00:00",
         3600},
        {"AAA0BBB,59/0,60/0", "2052-02-29T00:00:00", "2052-02-29T00:00:00", "2052-02-29T23:00:00",
         3600},
        {"AAA0BBB,0/0,364/23", "2051-06-01T00:00:00", "2051-01-01T00:00:00", "2051-12-31T22:00:00",
         3600},
        /* the fifth week is the last, also where there are four */
        {"AAA0BBB,M2.5.1/0,M2.5.2/0", "2051-02-27T01:00:00", "2051-02-27T00:00:00",
         "2051-02-27T23:00:00", 3600},
    };
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(cases); i++) {
        wp__tz_rule rule;
        wp__span span = {0, 0, 0};
        assert_true(wp__tz_rule_parse(&rule, cases[i].rule, strlen(cases[i].rule)));
        span = wp__tz_rule_span(&rule, wpt_second(cases[i].from));
        assert_string_equal(wpt_instant(span.begin), cases[i].begin);
        assert_string_equal(wpt_instant(span.end), cases[i].end);
        assert_int_equal(span.offset, cases[i].offset);
    }
}

/* Daylight saving time all year, as RFC 9636 writes it: where one year's ends, the next begins. */
static void test_tz_rule_span__all_year__never_changes_the_offset(void **state)
{
    static const char text[] = "XXX3EDT4,0/0,J365/23";
    wp__tz_rule rule;
    (void)state;
    assert_true(wp__tz_rule_parse(&rule, text, sizeof text - 1));
    for (int64_t at = wpt_second("2049-12-25T00:00:00"); at < wpt_second("2053-01-08T00:00:00");
         at += 1800)
        assert_int_equal(wp__tz_rule_span(&rule, at).offset, -4 * 3600);
}

/* Spans follow each other without gap or overlap, and each of their seconds is in them. */
static void test_tz_rule_span__one_after_the_other__covers_all_time(void **state)
{
    static const char *const rules[] = {
        "CET-1CEST,M3.5.0,M10.5.0/3", "AEST-10AEDT,M10.1.0,M4.1.0/3", "XXX3EDT4,0/0,J365/23",
        "AAA0BBB,J1/-167,J365/167",   "AAA0BBB,J365/167,J1/-167",     "AAA24BBB-24,0,365",
        "AAA0BBB,J300,J300",          "AAA0BBB,365/167,0/-167",
    };
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(rules); i++) {
        wp__tz_rule rule;
        int64_t at = 0;
        assert_true(wp__tz_rule_parse(&rule, rules[i], strlen(rules[i])));
        for (int n = 0; n < 2000; n++) {
            const wp__span span = wp__tz_rule_span(&rule, at);
            const wp__span last = wp__tz_rule_span(&rule, span.end - 1);
            if (span.begin > at || span.end <= at || last.offset != span.offset ||
                last.end != span.end || (n > 0 && span.begin != at))
                fail_msg("%s at %s: %s to %s", rules[i], wpt_instant(at), wpt_instant(span.begin),
                         wpt_instant(span.end));
            at = span.end;
        }
        assert_true(at > wpt_second("2500-01-01T00:00:00"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zone_read__transitions__are_spans),
        cmocka_unit_test(test_zone_read__first_version__has_32_bits_and_no_rule),
        cmocka_unit_test(test_zone_read__no_transitions__is_the_rule_or_the_first_type),
        cmocka_unit_test(test_zone_read__corrupt__says_so),
        cmocka_unit_test(test_zone_read__type_that_is_not_there__is_corrupt),
        cmocka_unit_test(test_zone_read__cut_at_any_byte__is_refused),
        cmocka_unit_test(test_zone_load__bad_name__is_an_argument_error),
        cmocka_unit_test(test_zone_load__missing_or_no_zone__says_what_and_where),
        cmocka_unit_test(test_zone_load__utc__needs_no_files),
        cmocka_unit_test(test_zone_load__environment__is_not_looked_at),
        cmocka_unit_test(test_tz_rule_parse__no_rule__is_refused),
        cmocka_unit_test(test_tz_rule_span__every_form__changes_when_it_should),
        cmocka_unit_test(test_tz_rule_span__all_year__never_changes_the_offset),
        cmocka_unit_test(test_tz_rule_span__one_after_the_other__covers_all_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
