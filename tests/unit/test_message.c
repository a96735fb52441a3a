/* SPDX-License-Identifier: Apache-2.0 */
/* Messages under construction: every argument null, empty, too long, malformed. */
#include "support/wpt.h"

#include "message.h"

/* What is not UTF-8 without NUL; each with its length. */
static const struct {
    const char *text;
    size_t len;
} malformed[] = {
    {"\xff", 1},             /* no such byte */
    {"\x80", 1},             /* continuation first */
    {"\xc3", 1},             /* cut short */
    {"\xc0\x80", 2},         /* overlong NUL */
    {"\xe0\x80\xaf", 3},     /* overlong slash */
    {"\xed\xa0\x80", 3},     /* surrogate */
    {"\xf4\x90\x80\x80", 4}, /* beyond U+10FFFF */
    {"\xf0\x9f\x98", 3},     /* cut short */
    {"a\xc3(", 3},
};

static char *repeat(const char *unit, size_t count, const char *end)
{
    const size_t len = strlen(unit);
    const size_t size = len * count + strlen(end) + 1;
    char *out = malloc(size);
    assert_non_null(out);
    for (size_t i = 0; i < count; i++)
        (void)snprintf(out + i * len, size - i * len, "%s", unit);
    (void)snprintf(out + len * count, size - len * count, "%s", end);
    return out;
}

typedef wp_status (*set_text)(wp_message *message, const char *text, wp_error **err);

static wp_status set_topic(wp_message *message, const char *text, wp_error **err)
{
    wp_message *other = NULL;
    wp_status st = wp_message_new(&other, text, "x", 1, err);
    (void)message;
    wp_message_free(other);
    return st;
}

static wp_status set_header_name(wp_message *message, const char *text, wp_error **err)
{
    return wp_message_set_header(message, text, "v", err);
}

/* Every short text, and whether it may be empty. */
static const struct {
    set_text set;
    const char *name; /* in messages */
    bool optional;
} texts[] = {
    {set_topic, "topic", false},
    {wp_message_set_correlation_id, "correlation_id", true},
    {wp_message_set_ordering_key, "ordering_key", true},
    {wp_message_set_unique_key, "unique_key", true},
    {set_header_name, "header name", false},
};

/* proves: OBX-004, OBX-008 */
static void test_message__null_and_empty_texts__refused_or_none(void **state)
{
    wp_message *message = wpt_message("t", "x");
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(texts); i++) {
        const wp_status want = texts[i].optional ? WP_OK : WP_E_ARGUMENT;
        WPT_STATUS(texts[i].set(message, NULL, WPT_ERR), want);
        WPT_STATUS(texts[i].set(message, "", WPT_ERR), want);
    }
    assert_null(message->correlation_id);
    assert_null(message->ordering_key);
    assert_null(message->unique_key);
    assert_null(message->headers);
    wp_message_free(message);
    wp_message_free(NULL);
}

/* proves: OBX-007, OBX-009 */
static void test_message__texts_of_255_units__pass_and_256_do_not(void **state)
{
    static const struct {
        const char *unit, *end_255, *end_256;
        size_t count;
    } cases[] = {
        {"a", "", "a", 255},
        {"\xc3\xa9", "", "a", 255},                         /* two bytes, one unit */
        {"\xe2\x82\xac", "", "\xe2\x82\xac", 255},          /* three bytes, one unit */
        {"\xf0\x9f\x98\x80", "a", "\xc3\xa9\xc3\xa9", 127}, /* four bytes, two units */
        {"\xf0\x9f\x98\x80", "\xe2\x82\xac", "\xf0\x9f\x98\x80", 127},
    };
    wp_message *message = wpt_message("t", "x");
    (void)state;
    for (size_t c = 0; c < WPT_COUNT(cases); c++) {
        char *fits = repeat(cases[c].unit, cases[c].count, cases[c].end_255);
        char *exceeds = repeat(cases[c].unit, cases[c].count, cases[c].end_256);
        for (size_t i = 0; i < WPT_COUNT(texts); i++) {
            WPT_OK(texts[i].set(message, fits, WPT_ERR));
            WPT_FAILS(texts[i].set(message, exceeds, WPT_ERR), WP_E_ARGUMENT, texts[i].name);
        }
        assert_string_equal(message->correlation_id, fits); /* a refusal changed nothing */
        assert_string_equal(message->ordering_key, fits);
        assert_string_equal(message->unique_key, fits);
        free(fits);
        free(exceeds);
    }
    wp_message_free(message);
}

static void test_message__malformed_texts__are_argument_errors(void **state)
{
    wp_message *message = wpt_message("t", "x");
    wp_message *other = NULL;
    (void)state;
    for (size_t m = 0; m < WPT_COUNT(malformed); m++) {
        for (size_t i = 0; i < WPT_COUNT(texts); i++)
            WPT_FAILS(texts[i].set(message, malformed[m].text, WPT_ERR), WP_E_ARGUMENT,
                      texts[i].name);
        WPT_STATUS(wp_message_set_header(message, "n", malformed[m].text, WPT_ERR), WP_E_ARGUMENT);
        WPT_FAILS(wp_message_new(&other, "t", malformed[m].text, malformed[m].len, WPT_ERR),
                  WP_E_ARGUMENT, "payload");
    }
    assert_null(other);
    assert_null(message->correlation_id);
    assert_null(message->headers);
    wp_message_free(message);
}

/* proves: OBX-005, OBX-006 */
static void test_message__payload__null_and_nul_refused_and_empty_legal(void **state)
{
    wp_message *message = NULL;
    (void)state;
    WPT_FAILS(wp_message_new(NULL, "t", "x", 1, WPT_ERR), WP_E_ARGUMENT, "out");
    WPT_FAILS(wp_message_new(&message, "t", NULL, 0, WPT_ERR), WP_E_ARGUMENT, "payload");
    WPT_FAILS(wp_message_new(&message, "t", NULL, 5, WPT_ERR), WP_E_ARGUMENT, "payload");
    WPT_FAILS(wp_message_new(&message, "t", "a\0b", 3, WPT_ERR), WP_E_ARGUMENT, "byte 1");
    WPT_FAILS(wp_message_new(&message, "t", "", 1, WPT_ERR), WP_E_ARGUMENT, "byte 0");
    assert_null(message);
    WPT_OK(wp_message_new(&message, "t", "", 0, WPT_ERR));
    assert_int_equal(message->payload_len, 0);
    wp_message_free(message);
    WPT_OK(wp_message_new(&message, "t", "abc", 2, WPT_ERR)); /* the length counts, not the NUL */
    assert_string_equal(message->payload, "ab");
    wp_message_free(message);
}

static void test_message__payload_over_the_limit__is_refused_unread(void **state)
{
    wp_message *message = NULL;
    (void)state;
    WPT_FAILS(wp_message_new(&message, "t", "x", (size_t)WP_PAYLOAD_MAX + 1, WPT_ERR),
              WP_E_ARGUMENT, "payload");
    WPT_STATUS(wp_message_new(&message, "t", "x", SIZE_MAX, WPT_ERR), WP_E_ARGUMENT);
    assert_null(message);
}

/* proves: OBX-012, TMR-006 */
static void test_message__times__in_range_or_range_errors(void **state)
{
    static const int64_t bad[] = {-1, INT64_MIN, INT64_MAX};
    wp_message *message = wpt_message("t", "x");
    (void)state;
    WPT_FAILS(wp_message_set_delay_ms(message, INT64_MAX, WPT_ERR), WP_E_RANGE, "delay_ms");
    for (size_t i = 0; i < WPT_COUNT(bad); i++) {
        WPT_FAILS(wp_message_set_due_us(message, bad[i], WPT_ERR), WP_E_RANGE, "due_us");
        WPT_FAILS(wp_message_set_expires_us(message, bad[i], WPT_ERR), WP_E_RANGE, "expires_us");
    }
    WPT_STATUS(wp_message_set_due_us(message, WP_TIME_US_MAX + 1, WPT_ERR), WP_E_RANGE);
    WPT_STATUS(wp_message_set_expires_us(message, WP_TIME_US_MAX + 1, WPT_ERR), WP_E_RANGE);
    WPT_STATUS(wp_message_set_delay_ms(message, WP_DELAY_MS_MAX + 1, WPT_ERR), WP_E_RANGE);
    assert_false(message->has_due);
    assert_false(message->has_expires);
    WPT_OK(wp_message_set_due_us(message, WP_TIME_US_MAX, WPT_ERR));
    WPT_OK(wp_message_set_due_us(message, 0, WPT_ERR));
    assert_true(message->has_due);
    WPT_OK(wp_message_set_delay_ms(message, WP_DELAY_MS_MAX, WPT_ERR)); /* the last one counts */
    assert_false(message->has_due);
    assert_int_equal(message->delay_us, INT64_C(31536000000000));
    WPT_OK(wp_message_set_delay_ms(message, -1, WPT_ERR)); /* at once */
    assert_int_equal(message->delay_us, 0);
    WPT_OK(wp_message_set_delay_ms(message, INT64_MIN, WPT_ERR));
    assert_int_equal(message->delay_us, 0);
    WPT_OK(wp_message_set_due_us(message, 7, WPT_ERR));
    assert_int_equal(message->delay_us, 0);
    WPT_OK(wp_message_set_expires_us(message, WP_TIME_US_MAX, WPT_ERR));
    WPT_OK(wp_message_set_expires_us(message, 0, WPT_ERR));
    wp_message_free(message);
}

/* A delay that ends after the year 9999 is no overflow in the database. */
static void test_message__delay_at_the_end_of_time__is_stored(void **state)
{
    wp_clock *clock = NULL;
    wp_store *store;
    wp_message *message = wpt_message("t", "x");
    wp_id id;
    (void)state;
    WPT_OK(wp_clock_new_manual(&clock, WP_TIME_US_MAX, WPT_ERR));
    store = wpt_store("sqlite::memory:", clock, NULL);
    WPT_OK(wp_message_set_delay_ms(message, WP_DELAY_MS_MAX, WPT_ERR));
    id = wpt_send(store, NULL, message);
    assert_int_equal(wpt_status_of(store, &id), WP_MESSAGE_READY);
    assert_int_equal(wpt_claimable(store), 0);
    wp_store_close(store);
    wp_clock_free(clock);
}

/* proves: OBX-112 */
static void test_message__headers__limit_and_replacement(void **state)
{
    wp_message *message = wpt_message("t", "x");
    char *value = repeat("a", WP_HEADERS_MAX - strlen("{\"n\":\"\"}"), "");
    char *longer = repeat("a", WP_HEADERS_MAX - strlen("{\"n\":\"\"}"), "b");
    char *way_longer = repeat("a", WP_HEADERS_MAX, "b");
    (void)state;
    WPT_STATUS(wp_message_set_header(message, "n", NULL, WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_message_set_header(NULL, "n", "v", WPT_ERR), WP_E_ARGUMENT);
    assert_null(message->headers);
    WPT_OK(wp_message_set_header(message, "n", value, WPT_ERR));
    assert_int_equal(strlen(message->headers), WP_HEADERS_MAX);
    WPT_FAILS(wp_message_set_header(message, "n", longer, WPT_ERR), WP_E_ARGUMENT, "headers");
    WPT_STATUS(wp_message_set_header(message, "n", way_longer, WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_message_set_header(message, "m", "", WPT_ERR), WP_E_ARGUMENT);
    assert_int_equal(strlen(message->headers), WP_HEADERS_MAX); /* as it was */
    WPT_OK(wp_message_set_header(message, "n", "", WPT_ERR));
    WPT_OK(wp_message_set_header(message, "N", "1", WPT_ERR));
    WPT_OK(wp_message_set_header(message, "n", "2", WPT_ERR));
    assert_string_equal(message->headers, "{\"n\":\"2\",\"N\":\"1\"}");
    wp_message_free(message);
    free(value);
    free(longer);
    free(way_longer);
}

static void test_message__null_message__is_an_argument_error(void **state)
{
    (void)state;
    for (size_t i = 1; i < WPT_COUNT(texts); i++)
        WPT_FAILS(texts[i].set(NULL, "x", WPT_ERR), WP_E_ARGUMENT, "message");
    WPT_FAILS(wp_message_set_due_us(NULL, 1, WPT_ERR), WP_E_ARGUMENT, "message");
    WPT_FAILS(wp_message_set_delay_ms(NULL, 1, WPT_ERR), WP_E_ARGUMENT, "message");
    WPT_FAILS(wp_message_set_expires_us(NULL, 1, WPT_ERR), WP_E_ARGUMENT, "message");
}

static void test_message_copy__everything__is_its_own(void **state)
{
    wp_message *message = wpt_message("t", "x"), *copy = NULL;
    (void)state;
    WPT_OK(wp_message_set_header(message, "n", "v", WPT_ERR));
    WPT_OK(wp_message_set_correlation_id(message, "c", WPT_ERR));
    WPT_OK(wp_message_set_ordering_key(message, "o", WPT_ERR));
    WPT_OK(wp_message_set_unique_key(message, "u", WPT_ERR));
    WPT_OK(wp_message_set_expires_us(message, 9, WPT_ERR));
    WPT_OK(wp__message_copy(&copy, message, WPT_ERR));
    wp_message_free(message);
    assert_string_equal(copy->topic, "t");
    assert_string_equal(copy->payload, "x");
    assert_string_equal(copy->headers, "{\"n\":\"v\"}");
    assert_string_equal(copy->correlation_id, "c");
    assert_string_equal(copy->ordering_key, "o");
    assert_string_equal(copy->unique_key, "u");
    assert_int_equal(copy->expires_us, 9);
    wp_message_free(copy);
}

#define TRACE "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

/* proves: TRC-001 */
static void test_message_trace__unless_one_was_given__goes_along_and_is_read_back(void **state)
{
    wp_message *message = wpt_message("t", "x");
    char *parent = NULL, *vendor = NULL;
    (void)state;
    WPT_OK(wp_message_set_header(message, "n", "v", WPT_ERR));
    WPT_OK(wp_message_set_trace(message, TRACE, "a=1,b=2", WPT_ERR));
    WPT_OK(wp_message_set_trace(message, "00-00000000000000000000000000000001-0000000000000001-00",
                                NULL, WPT_ERR));
    assert_string_equal(message->headers,
                        "{\"n\":\"v\",\"traceparent\":\"" TRACE "\",\"tracestate\":\"a=1,b=2\"}");
    WPT_OK(wp_trace_read(&parent, &vendor, message->headers, WPT_ERR));
    assert_string_equal(parent, TRACE);
    assert_string_equal(vendor, "a=1,b=2");
    wp_text_free(parent);
    wp_text_free(vendor);
    wp_message_free(message);
}

/* proves: TRC-001 */
static void test_trace__not_as_w3c_says__is_refused_and_not_read(void **state)
{
    static const char *const bad[] = {
        "",
        "00",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
        "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
        TRACE "-more",
        TRACE " ",
        "01"
        "-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
    };
    wp_message *message = wpt_message("t", "x");
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *parent = (char *)"not touched";
        char headers[128];
        WPT_STATUS(wp_message_set_trace(message, bad[i], NULL, WPT_ERR), WP_E_ARGUMENT);
        (void)snprintf(headers, sizeof headers, "{\"traceparent\":\"%s\"}", bad[i]);
        WPT_OK(wp_trace_read(&parent, NULL, headers, WPT_ERR));
        assert_null(parent);
    }
    assert_null(message->headers);
    WPT_STATUS(wp_message_set_trace(message, NULL, NULL, WPT_ERR), WP_E_ARGUMENT);
    WPT_OK(wp_message_set_trace(message,
                                "01"
                                "-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
                                "not\nprintable", WPT_ERR)); /* a later version */
    assert_null(strstr(message->headers, "tracestate"));
    wp_message_free(message);
}

/* proves: TRC-001 */
static void test_trace_read__other_headers__have_none(void **state)
{
    char *parent = (char *)"not touched", *vendor = (char *)"not touched";
    (void)state;
    WPT_OK(wp_trace_read(&parent, &vendor,
                         "{\"n\":\"traceparent\",\"\\\"traceparent\":\"" TRACE
                         "\",\"tracestate\":\"a=1\"}",
                         WPT_ERR));
    assert_null(parent);
    assert_null(vendor);
    WPT_STATUS(wp_trace_read(&parent, &vendor, "[\"traceparent\"]", WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_trace_read(&parent, NULL, NULL, WPT_ERR), WP_E_ARGUMENT);
}

/* proves: TRC-001 */
static void test_message_trace__no_room__is_left_out_and_the_message_stays(void **state)
{
    wp_message *message = wpt_message("t", "x");
    char *full = calloc(1, WP_HEADERS_MAX);
    char *before;
    (void)state;
    assert_non_null(full);
    memset(full, 'v', WP_HEADERS_MAX - 40);
    WPT_OK(wp_message_set_header(message, "n", full, WPT_ERR));
    before = strdup(message->headers);
    WPT_OK(wp_message_set_trace(message, TRACE, NULL, WPT_ERR));
    assert_string_equal(message->headers, before);
    free(before);
    free(full);
    wp_message_free(message);
}

static void test_received__null__gives_nothing(void **state)
{
    size_t len = 9;
    (void)state;
    assert_null(wp_received_id(NULL));
    assert_null(wp_received_topic(NULL));
    assert_null(wp_received_payload(&len, NULL));
    assert_int_equal(len, 0);
    assert_null(wp_received_payload(NULL, NULL));
    assert_null(wp_received_correlation_id(NULL));
    assert_null(wp_received_ordering_key(NULL));
    assert_string_equal(wp_received_headers(NULL), "{}");
    assert_int_equal(wp_received_attempt(NULL), 0);
    assert_null(wp_received_last_error(NULL));
    assert_int_equal(wp_received_claim_number(NULL), 0);
    assert_int_equal(wp_received_created_us(NULL), 0);
    assert_int_equal(wp_received_due_us(NULL), 0);
    assert_int_equal(wp_received_expires_us(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message__null_and_empty_texts__refused_or_none),
        cmocka_unit_test(test_message__texts_of_255_units__pass_and_256_do_not),
        cmocka_unit_test(test_message__malformed_texts__are_argument_errors),
        cmocka_unit_test(test_message__payload__null_and_nul_refused_and_empty_legal),
        cmocka_unit_test(test_message__payload_over_the_limit__is_refused_unread),
        cmocka_unit_test(test_message__times__in_range_or_range_errors),
        cmocka_unit_test(test_message__delay_at_the_end_of_time__is_stored),
        cmocka_unit_test(test_message__headers__limit_and_replacement),
        cmocka_unit_test(test_message__null_message__is_an_argument_error),
        cmocka_unit_test(test_message_copy__everything__is_its_own),
        cmocka_unit_test(test_message_trace__unless_one_was_given__goes_along_and_is_read_back),
        cmocka_unit_test(test_trace__not_as_w3c_says__is_refused_and_not_read),
        cmocka_unit_test(test_trace_read__other_headers__have_none),
        cmocka_unit_test(test_message_trace__no_room__is_left_out_and_the_message_stays),
        cmocka_unit_test(test_received__null__gives_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
