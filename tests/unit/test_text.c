/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void test_utf8_check__valid_text__counts_utf16_units(void **state)
{
    static const struct {
        const char *text;
        size_t units;
    } cases[] = {
        {"", 0},
        {"abc", 3},
        {"abcdefghijklmnopq", 17},
        {"\x7F", 1},
        {"\xC2\x80", 1},
        {"\xDF\xBF", 1},
        {"\xE0\xA0\x80", 1},
        {"\xED\x9F\xBF", 1},
        {"\xEE\x80\x80", 1},
        {"\xEF\xBF\xBF", 1},
        {"\xF0\x90\x80\x80", 2},
        {"\xF4\x8F\xBF\xBF", 2},
        {"12345678\xF0\x9F\x98\x80"
         "12345678",
         18},
    };
    size_t units = 0;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(wp__utf8_check(cases[i].text, strlen(cases[i].text), &units, NULL));
        assert_int_equal(units, cases[i].units);
    }
}

static void test_utf8_check__bad_text__tells_where(void **state)
{
    static const char *const bad[] = {
        "\x80",
        "\xBF",
        "\xC0\x80",
        "\xC1\xBF",
        "\xC2",
        "\xC2"
        "A",
        "\xE0\x9F\xBF",
        "\xE0\xA0",
        "\xED\xA0\x80",
        "\xED\xBF\xBF",
        "\xE1\x80"
        "A",
        "\xF0\x8F\xBF\xBF",
        "\xF0\x90\x80",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xFE",
        "\xFF",
    };
    static const char *const before[] = {"", "a", "1234567", "12345678", "12345678\xC3\xA9"};
    char text[64];
    size_t at = 0;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        for (size_t j = 0; j < sizeof before / sizeof before[0]; j++) {
            (void)snprintf(text, sizeof text, "%s%s", before[j], bad[i]);
            assert_false(wp__utf8_check(text, strlen(text), NULL, &at));
            assert_int_equal(at, strlen(before[j]));
        }
    }
}

static void test_utf8_check__nul_at_any_place__is_bad(void **state)
{
    char text[24];
    size_t at = 0;
    (void)state;
    for (size_t i = 0; i < sizeof text; i++) {
        memset(text, 1, sizeof text); /* 1 next to 0 is what the fast path's borrow could miss */
        text[i] = '\0';
        assert_false(wp__utf8_check(text, sizeof text, NULL, &at));
        assert_int_equal(at, i);
    }
}

static void test_utf8_check__cut_character__does_not_read_on(void **state)
{
    char *exact = wp__text_ndup("\xF0\x9F\x98\x80", 4);
    char *cut = malloc(3); /* the address sanitizer sees a read past it */
    (void)state;
    assert_non_null(cut);
    memcpy(cut, exact, 3);
    for (size_t len = 1; len <= 3; len++)
        assert_false(wp__utf8_check(cut + 3 - len, len, NULL, NULL));
    free(cut);
    free(exact);
}

static void test_check_text__allowed__gives_length(void **state)
{
    size_t len = 99;
    (void)state;
    assert_int_equal(wp__check_text(&len, "key", "caf\xC3\xA9", 4, true, NULL), WP_OK);
    assert_int_equal(len, 5);
    assert_int_equal(wp__check_text(&len, "key", NULL, 4, false, NULL), WP_OK);
    assert_int_equal(len, 0);
    assert_int_equal(wp__check_text(NULL, "key", "", 4, false, NULL), WP_OK);
}

static void test_check_text__not_allowed__names_the_argument(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {NULL, "topic is null"},
        {"", "topic is empty"},
        {"ab\xFF", "topic is not valid UTF-8 at byte 2"},
        {"abc\xF0\x9F\x98\x80", "topic has 5 UTF-16 units; at most 4 are allowed"},
    };
    wp_error *err = NULL;
    size_t len = 99;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(wp__check_text(&len, "topic", cases[i].text, 4, true, &err),
                         WP_E_ARGUMENT);
        assert_string_equal(wp_error_message(err), cases[i].message);
        assert_int_equal(len, 99);
    }
    wp_error_free(err);
}

static void test_text_clean__bad_bytes_and_controls__become_question_marks(void **state)
{
    bool failed = true;
    char *clean =
        wp__text_clean("a\n\tb\r\x01\x7F\xC2\x85\xFF\xE2\x82\xED\xA0\x80\xC3\xA9", 100, &failed);
    (void)state;
    assert_false(failed);
    assert_string_equal(clean, "a\n\tb??????????\xC3\xA9");
    free(clean);
}

static void test_text_clean__too_long__is_cut_between_characters(void **state)
{
    static const char *const want[] = {
        "",          "a",         "a",         "a\xC3\xA9",
        "a\xC3\xA9", "a\xC3\xA9", "a\xC3\xA9", "a\xC3\xA9\xF0\x9F\x98\x80"};
    (void)state;
    for (size_t max = 0; max < sizeof want / sizeof want[0]; max++) {
        char *clean = wp__text_clean("a\xC3\xA9\xF0\x9F\x98\x80", max, NULL);
        assert_string_equal(clean, want[max]);
        free(clean);
    }
}

static void test_text_clean__null__is_null_and_no_failure(void **state)
{
    bool failed = true;
    (void)state;
    assert_null(wp__text_clean(NULL, 10, &failed));
    assert_false(failed);
}

static void test_text_has_control__c0_del_c1__are_found(void **state)
{
    (void)state;
    assert_false(wp__text_has_control("caf\xC3\xA9 \xC2\xA0"));
    assert_true(wp__text_has_control("a\n"));
    assert_true(wp__text_has_control("\x7F"));
    assert_true(wp__text_has_control("a\xC2\x9F"));
}

static void test_text_dup__null_and_text__are_copied(void **state)
{
    char *copy = wp__text_dup("abc"), *part = wp__text_ndup("abc", 2);
    (void)state;
    assert_string_equal(copy, "abc");
    assert_string_equal(part, "ab");
    assert_null(wp__text_dup(NULL));
    assert_null(wp__text_ndup(NULL, 3));
    wp_text_free(copy);
    wp_text_free(part);
    wp_text_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8_check__valid_text__counts_utf16_units),
        cmocka_unit_test(test_utf8_check__bad_text__tells_where),
        cmocka_unit_test(test_utf8_check__nul_at_any_place__is_bad),
        cmocka_unit_test(test_utf8_check__cut_character__does_not_read_on),
        cmocka_unit_test(test_check_text__allowed__gives_length),
        cmocka_unit_test(test_check_text__not_allowed__names_the_argument),
        cmocka_unit_test(test_text_clean__bad_bytes_and_controls__become_question_marks),
        cmocka_unit_test(test_text_clean__too_long__is_cut_between_characters),
        cmocka_unit_test(test_text_clean__null__is_null_and_no_failure),
        cmocka_unit_test(test_text_has_control__c0_del_c1__are_found),
        cmocka_unit_test(test_text_dup__null_and_text__are_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
