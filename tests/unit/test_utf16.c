/* SPDX-License-Identifier: Apache-2.0 */
/* Texts to UTF-16 and back. */
#include "support/wpt.h"

#include "base/utf16.h"

static wp__utf16 *converter(void)
{
    wp__utf16 *out = NULL;
    WPT_OK(wp__utf16_new(&out, WPT_ERR));
    return out;
}

static void test_encode__texts__are_units_and_come_back(void **state)
{
    static const struct {
        const char *text;
        size_t len, units;
    } cases[] = {{"", 0, 0},
                 {"a", 1, 1},
                 {"\xc3\xa9", 2, 1},
                 {"\xe2\x82\xac", 3, 1},
                 {"\xf0\x9f\x8e\x89", 4, 2},
                 {"a\0b", 3, 3},
                 {" ' ", 3, 3}};
    wp__utf16 *c = converter();
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(cases); i++) {
        wp__buf units = {0}, text = {0};
        assert_true(wp__utf16_encode(&units, c, cases[i].text, cases[i].len));
        assert_int_equal(units.len, 2 * cases[i].units);
        assert_int_equal(units.data[units.len], 0);
        assert_int_equal(units.data[units.len + 1], 0);
        assert_true(wp__utf16_decode(&text, c, units.data, units.len));
        assert_int_equal(text.len, cases[i].len);
        assert_memory_equal(text.data, cases[i].text, cases[i].len);
        assert_int_equal(text.data[text.len], 0);
        wp__buf_free(&units);
        wp__buf_free(&text);
    }
    wp__utf16_free(c);
}

static void test_encode__what_is_no_text__is_refused_and_leaves_no_trace(void **state)
{
    static const char *const bad[] = {"\xff", "a\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80"};
    wp__utf16 *c = converter();
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(bad); i++) {
        wp__buf units = {0};
        assert_false(wp__utf16_encode(&units, c, bad[i], strlen(bad[i])));
        assert_false(units.failed);
        assert_true(wp__utf16_encode(&units, c, "a", 1));
        assert_int_equal(units.len, 2);
        wp__buf_free(&units);
    }
    wp__utf16_free(c);
}

static void test_decode__half_a_character__is_refused(void **state)
{
    static const uint16_t high[] = {'a', 0xd83c}, low[] = {0xdf89, 'a'}, order[] = {0xdf89, 0xd83c};
    wp__utf16 *c = converter();
    wp__buf text = {0};
    (void)state;
    assert_false(wp__utf16_decode(&text, c, (const char *)high, sizeof high));
    assert_false(wp__utf16_decode(&text, c, (const char *)low, sizeof low));
    assert_false(wp__utf16_decode(&text, c, (const char *)order, sizeof order));
    assert_false(wp__utf16_decode(&text, c, (const char *)high, 3));
    assert_false(text.failed);
    wp__buf_free(&text);
    wp__utf16_free(c);
}

static void test_encode__a_long_text__is_whole(void **state)
{
    enum { LONG = 3000000 };
    wp__utf16 *c = converter();
    wp__buf units = {0}, text = {0};
    char *in = malloc(LONG);
    (void)state;
    assert_non_null(in);
    for (size_t i = 0; i + 3 <= LONG; i += 3)
        memcpy(in + i, i % 2 ? "\xe2\x82\xac" : "abc", 3);
    assert_true(wp__utf16_encode(&units, c, in, LONG));
    assert_true(wp__utf16_decode(&text, c, units.data, units.len));
    assert_int_equal(text.len, LONG);
    assert_memory_equal(text.data, in, LONG);
    free(in);
    wp__buf_free(&units);
    wp__buf_free(&text);
    wp__utf16_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encode__texts__are_units_and_come_back),
        cmocka_unit_test(test_encode__what_is_no_text__is_refused_and_leaves_no_trace),
        cmocka_unit_test(test_decode__half_a_character__is_refused),
        cmocka_unit_test(test_encode__a_long_text__is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
