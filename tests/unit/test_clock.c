/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"

static wp_clock *manual(int64_t utc_us)
{
    wp_clock *clock = NULL;
    assert_int_equal(wp_clock_new_manual(&clock, utc_us, NULL), WP_OK);
    return clock;
}

static void count_wake(void *arg)
{
    ++*(int *)arg;
}

static void test_clock_system__null_too__is_the_real_time(void **state)
{
    const int64_t before = (int64_t)time(NULL);
    (void)state;
    assert_true(wp_clock_utc_us(NULL) / 1000000 >= before);
    assert_true(wp_clock_utc_us(wp__clock_system()) / 1000000 >= before);
    assert_true(wp__clock_mono_us(NULL) > 0);
    assert_false(wp__clock_is_manual(NULL));
    assert_false(wp__clock_is_manual(wp__clock_system()));
    assert_ptr_equal(wp__clock_ref(NULL), wp__clock_system());
    wp_clock_free(wp__clock_system());
    wp_clock_free(NULL);
}

static void test_clock_advance__forward__moves_both_times(void **state)
{
    wp_clock *clock = manual(1000);
    const int64_t mono = wp__clock_mono_us(clock);
    (void)state;
    assert_true(wp__clock_is_manual(clock));
    assert_int_equal(wp_clock_utc_us(clock), 1000);
    assert_int_equal(wp_clock_advance_us(clock, 50, NULL), WP_OK);
    assert_int_equal(wp_clock_utc_us(clock), 1050);
    assert_int_equal(wp__clock_mono_us(clock), mono + 50);
    wp_clock_free(clock);
}

static void test_clock_jump__either_way__moves_wall_time_alone(void **state)
{
    wp_clock *clock = manual(1000);
    const int64_t mono = wp__clock_mono_us(clock);
    (void)state;
    assert_int_equal(wp_clock_jump_us(clock, -400, NULL), WP_OK);
    assert_int_equal(wp_clock_utc_us(clock), 600);
    assert_int_equal(wp_clock_jump_us(clock, 5000, NULL), WP_OK);
    assert_int_equal(wp_clock_utc_us(clock), 5600);
    assert_int_equal(wp__clock_mono_us(clock), mono);
    wp_clock_free(clock);
}

static void test_clock__bad_moves__change_nothing(void **state)
{
    wp_clock *clock = manual(1000), *other = NULL;
    wp_error *err = NULL;
    (void)state;
    assert_int_equal(wp_clock_advance_us(clock, -1, &err), WP_E_RANGE);
    assert_int_equal(wp_clock_advance_us(clock, INT64_MAX, &err), WP_E_RANGE);
    assert_int_equal(wp_clock_jump_us(clock, INT64_MAX, &err), WP_E_RANGE);
    assert_int_equal(wp_clock_jump_us(clock, INT64_MIN, &err), WP_E_RANGE);
    assert_int_equal(wp_clock_advance_us(NULL, 1, &err), WP_E_ARGUMENT);
    assert_int_equal(wp_clock_jump_us(NULL, 1, &err), WP_E_ARGUMENT);
    assert_int_equal(wp_clock_advance_us(wp__clock_system(), 1, &err), WP_E_STATE);
    assert_int_equal(wp_clock_new_manual(&other, INT64_MAX, &err), WP_E_RANGE);
    assert_int_equal(wp_clock_new_manual(NULL, 0, &err), WP_E_ARGUMENT);
    assert_null(other);
    assert_int_equal(wp_clock_utc_us(clock), 1000);
    wp_error_free(err);
    wp_clock_free(clock);
}

static void test_clock_sleepers__advance__wakes_those_registered(void **state)
{
    wp_clock *clock = manual(0);
    int woken[3] = {0};
    wp__clock_sleeper sleepers[3];
    (void)state;
    for (int i = 0; i < 3; i++) {
        sleepers[i] = (wp__clock_sleeper){count_wake, &woken[i], NULL, NULL};
        wp__clock_register(clock, &sleepers[i]);
    }
    assert_int_equal(wp_clock_advance_us(clock, 1, NULL), WP_OK);
    wp__clock_unregister(clock, &sleepers[1]);
    assert_int_equal(wp_clock_advance_us(clock, 1, NULL), WP_OK);
    wp__clock_unregister(clock, &sleepers[2]);
    assert_int_equal(wp_clock_advance_us(clock, 1, NULL), WP_OK);
    wp__clock_unregister(clock, &sleepers[0]);
    assert_int_equal(wp_clock_advance_us(clock, 1, NULL), WP_OK);
    assert_int_equal(woken[0], 3);
    assert_int_equal(woken[1], 1);
    assert_int_equal(woken[2], 2);
    wp_clock_free(clock);
}

static void test_clock_ref__first_owner_gone__still_runs(void **state)
{
    wp_clock *clock = manual(7), *mine = wp__clock_ref(clock);
    (void)state;
    wp_clock_free(clock);
    assert_int_equal(wp_clock_utc_us(mine), 7);
    wp_clock_free(mine);
}

static void test_clock_format_utc__dates__are_those_of_the_c_library(void **state)
{
    static const int64_t days[] = {-719162, -719103, -134775, -25567, -1,    0,
                                   58,      59,      789,     790,    10956, 11016,
                                   11017,   20785,   157113,  2932896};
    char want[32], got[28];
    struct tm tm;
    (void)state;
    for (size_t i = 0; i < sizeof days / sizeof days[0]; i++) {
        const time_t seconds = (time_t)(days[i] * 86400 + 86399);
        assert_non_null(gmtime_r(&seconds, &tm));
        assert_int_equal(strftime(want, sizeof want, "-%m-%dT%H:%M:%S.000001Z", &tm), 24 - 1);
        wp__clock_format_utc(got, (int64_t)seconds * 1000000 + 1);
        assert_string_equal(got + 4, want);
        assert_int_equal((got[0] - '0') * 1000 + (got[1] - '0') * 100 + (got[2] - '0') * 10 +
                             (got[3] - '0'),
                         tm.tm_year + 1900);
    }
    wp__clock_format_utc(got, INT64_C(1795827723456789));
    assert_string_equal(got, "2026-11-28T01:02:03.456789Z");
    wp__clock_format_utc(got, -1);
    assert_string_equal(got, "1969-12-31T23:59:59.999999Z");
    wp__clock_format_utc(got, INT64_MAX);
    assert_string_equal(got, "9999-12-31T23:59:59.999999Z");
    wp__clock_format_utc(got, INT64_MIN);
    assert_string_equal(got, "0001-01-01T00:00:00.000000Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_system__null_too__is_the_real_time),
        cmocka_unit_test(test_clock_advance__forward__moves_both_times),
        cmocka_unit_test(test_clock_jump__either_way__moves_wall_time_alone),
        cmocka_unit_test(test_clock__bad_moves__change_nothing),
        cmocka_unit_test(test_clock_sleepers__advance__wakes_those_registered),
        cmocka_unit_test(test_clock_ref__first_owner_gone__still_runs),
        cmocka_unit_test(test_clock_format_utc__dates__are_those_of_the_c_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
