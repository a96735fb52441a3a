/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "base/error.h"

static void test_status_name__any_status__is_a_text_of_its_own(void **state)
{
    (void)state;
    for (int a = WP_OK; a <= WP_E_INTERNAL; a++)
        for (int b = WP_OK; b < a; b++)
            assert_string_not_equal(wp_status_name((wp_status)a), wp_status_name((wp_status)b));
    assert_string_equal(wp_status_name(WP_E_LEASE_LOST), "lease lost");
    assert_string_equal(wp_status_name((wp_status)99), "unknown status");
}

static void test_version__always__has_three_numbers(void **state)
{
    int dots = 0;
    (void)state;
    for (const char *p = wp_version(); *p; p++) {
        assert_true(*p == '.' || (*p >= '0' && *p <= '9'));
        dots += *p == '.';
    }
    assert_int_equal(dots, 2);
}

static void test_error__null__reads_as_success(void **state)
{
    (void)state;
    assert_int_equal(wp_error_code(NULL), WP_OK);
    assert_string_equal(wp_error_message(NULL), "");
    assert_string_equal(wp_error_sqlstate(NULL), "");
    assert_int_equal(wp_error_native_code(NULL), 0);
    assert_false(wp_error_retriable(NULL));
    assert_false(wp_error_outcome_unknown(NULL));
    wp_error_free(NULL);
}

static void test_fail__no_error_wanted__returns_the_code(void **state)
{
    (void)state;
    assert_int_equal(wp__fail(NULL, WP_E_DB, "x"), WP_E_DB);
    assert_int_equal(wp__fail_db(NULL, WP_E_DB, "40001", 5, true, "x"), WP_E_DB);
    assert_int_equal(wp__fail_nomem(NULL), WP_E_NOMEM);
    wp__error_context(NULL, "x");
    wp__error_set_outcome_unknown(NULL);
}

static void test_fail__earlier_error__is_replaced_and_may_be_quoted(void **state)
{
    wp_error *err = NULL;
    (void)state;
    (void)wp__fail(&err, WP_E_ARGUMENT, "topic is empty");
    assert_int_equal(wp__fail(&err, WP_E_STATE, "again: %s", wp_error_message(err)), WP_E_STATE);
    assert_int_equal(wp_error_code(err), WP_E_STATE);
    assert_string_equal(wp_error_message(err), "again: topic is empty");
    wp_error_free(err);
}

static void test_fail__bad_utf8_and_length__are_tamed(void **state)
{
    static char longer[5000];
    wp_error *err = NULL;
    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    (void)wp__fail(&err, WP_E_ARGUMENT, "key \xFF\x01 is unknown");
    assert_string_equal(wp_error_message(err), "key ?? is unknown");
    (void)wp__fail(&err, WP_E_ARGUMENT, "%s", longer);
    assert_in_range(strlen(wp_error_message(err)), 1000, 2000);
    wp_error_free(err);
}

static void test_fail__unavailable__is_retriable(void **state)
{
    wp_error *err = NULL;
    (void)state;
    (void)wp__fail(&err, WP_E_UNAVAILABLE, "busy");
    assert_true(wp_error_retriable(err));
    (void)wp__fail(&err, WP_E_DB, "disk is full");
    assert_false(wp_error_retriable(err));
    wp_error_free(err);
}

static void test_fail_db__details__are_kept_through_context(void **state)
{
    wp_error *err = NULL;
    (void)state;
    (void)wp__fail_db(&err, WP_E_DB, "40001", 261, true, "deadlock");
    wp__error_context(&err, "claim %d", 7);
    assert_int_equal(wp_error_code(err), WP_E_DB);
    assert_string_equal(wp_error_message(err), "claim 7: deadlock");
    assert_string_equal(wp_error_sqlstate(err), "40001");
    assert_int_equal(wp_error_native_code(err), 261);
    assert_true(wp_error_retriable(err));
    wp_error_free(err);
}

static void test_outcome_unknown__marked__shows(void **state)
{
    wp_error *err = NULL;
    (void)state;
    (void)wp__fail(&err, WP_E_UNAVAILABLE, "connection lost");
    assert_false(wp_error_outcome_unknown(err));
    wp__error_set_outcome_unknown(&err);
    assert_true(wp_error_outcome_unknown(err));
    wp_error_free(err);
}

static void test_fail_nomem__marked_and_freed__stays_usable(void **state)
{
    wp_error *err = NULL;
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(wp__fail_nomem(&err), WP_E_NOMEM);
        assert_false(wp_error_outcome_unknown(err));
        wp__error_context(&err, "context");
        wp__error_set_outcome_unknown(&err);
        assert_true(wp_error_outcome_unknown(err));
        assert_int_equal(wp_error_code(err), WP_E_NOMEM);
        assert_string_equal(wp_error_message(err), "out of memory");
        wp_error_free(err);
        err = NULL;
    }
}

static void test_error_move__any_target__owns_or_frees(void **state)
{
    wp_error *from = NULL, *to = NULL;
    (void)state;
    (void)wp__fail(&from, WP_E_DB, "one");
    wp__error_move(NULL, from);
    from = NULL;
    (void)wp__fail(&from, WP_E_DB, "two");
    (void)wp__fail(&to, WP_E_STATE, "old");
    wp__error_move(&to, from);
    assert_string_equal(wp_error_message(to), "two");
    wp__error_move(&to, NULL);
    assert_null(to);
}

static void test_buf__additions__join_and_stay_terminated(void **state)
{
    wp__buf buf = {0};
    char *text = NULL;
    (void)state;
    wp__buf_text(&buf, "a");
    wp__buf_int(&buf, INT64_MIN);
    wp__buf_fmt(&buf, "%s-%d", "b", 5);
    wp__buf_add(&buf, "cd", 1);
    assert_string_equal(buf.data, "a-9223372036854775808b-5c");
    assert_int_equal(buf.len, strlen(buf.data));
    for (int i = 0; i < 1000; i++)
        wp__buf_text(&buf, "0123456789");
    assert_int_equal(strlen(buf.data), buf.len);
    wp__buf_clear(&buf);
    assert_string_equal(buf.data, "");
    wp__buf_text(&buf, "kept");
    text = wp__buf_take(&buf);
    assert_string_equal(text, "kept");
    assert_null(buf.data);
    wp_text_free(text);
}

static void test_buf_take__empty_or_failed__gives_empty_text_or_null(void **state)
{
    wp__buf buf = {0};
    char *text = wp__buf_take(&buf);
    (void)state;
    assert_string_equal(text, "");
    wp_text_free(text);
    wp__buf_text(&buf, "x");
    wp__buf_add(&buf, "", SIZE_MAX / 2); /* cannot be had */
    assert_true(buf.failed);
    wp__buf_text(&buf, "y");
    assert_null(wp__buf_take(&buf));
    wp__buf_free(&buf);
    wp__buf_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_name__any_status__is_a_text_of_its_own),
        cmocka_unit_test(test_version__always__has_three_numbers),
        cmocka_unit_test(test_error__null__reads_as_success),
        cmocka_unit_test(test_fail__no_error_wanted__returns_the_code),
        cmocka_unit_test(test_fail__earlier_error__is_replaced_and_may_be_quoted),
        cmocka_unit_test(test_fail__bad_utf8_and_length__are_tamed),
        cmocka_unit_test(test_fail__unavailable__is_retriable),
        cmocka_unit_test(test_fail_db__details__are_kept_through_context),
        cmocka_unit_test(test_outcome_unknown__marked__shows),
        cmocka_unit_test(test_fail_nomem__marked_and_freed__stays_usable),
        cmocka_unit_test(test_error_move__any_target__owns_or_frees),
        cmocka_unit_test(test_buf__additions__join_and_stay_terminated),
        cmocka_unit_test(test_buf_take__empty_or_failed__gives_empty_text_or_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
