/* SPDX-License-Identifier: Apache-2.0 */
#include "support/wpt.h"

#include "queue/queue.h"

static wp__worker_options options(int64_t base_ms, int64_t max_ms)
{
    return (wp__worker_options){.backoff_base_ms = base_ms, .backoff_max_ms = max_ms};
}

/* proves: OBX-062 */
static void test_backoff__defaults__min_of_2_to_the_attempt_and_60_seconds(void **state)
{
    static const int64_t seconds[] = {1, 2, 4, 8, 16, 32, 60, 60, 60};
    wp_config *config = NULL;
    (void)state;
    WPT_OK(wp__config_copy(&config, NULL, WPT_ERR));
    for (size_t i = 0; i < WPT_COUNT(seconds); i++)
        assert_int_equal(wp__backoff_us((int64_t)i, &config->worker, 0), seconds[i] * 1000000);
    wp_config_free(config);
}

/* proves: OBX-061 */
static void test_backoff__jitter__shortens_by_up_to_its_part(void **state)
{
    const wp__worker_options o = options(1000, 60000);
    static const double jitters[] = {0.2, 1.0, 0.01};
    (void)state;
    for (size_t j = 0; j < WPT_COUNT(jitters); j++) {
        int64_t least = INT64_MAX, most = 0;
        const int64_t full = 4000000;
        for (int i = 0; i < 2000; i++) {
            const int64_t delay = wp__backoff_us(2, &o, jitters[j]);
            least = delay < least ? delay : least;
            most = delay > most ? delay : most;
        }
        assert_true(most <= full);
        assert_true((double)least >= (double)full * (1 - jitters[j]) - 1);
        assert_true(least >= 1);
        /* spread over the range: 2,000 draws leave no tenth of an end empty */
        assert_true((double)least < (double)full * (1 - jitters[j] * 0.9));
        assert_true((double)most > (double)full * (1 - jitters[j] * 0.1));
    }
}

/* proves: OBX-063 */
static void test_backoff__other_base_and_ceiling__are_used(void **state)
{
    const wp__worker_options fast = options(1, 1), steady = options(5000, 5000),
                             upside_down = options(9000, 100);
    (void)state;
    assert_int_equal(wp__backoff_us(0, &fast, 0), 1000);
    assert_int_equal(wp__backoff_us(50, &fast, 0), 1000);
    assert_int_equal(wp__backoff_us(0, &steady, 0), 5000000);
    assert_int_equal(wp__backoff_us(3, &steady, 0), 5000000);
    assert_int_equal(wp__backoff_us(0, &upside_down, 0), 100000); /* the ceiling wins */
}

static void test_backoff__any_attempt__does_not_overflow(void **state)
{
    static const int64_t attempts[] = {31, 62, 63, 64, 1000000, INT64_MAX};
    const wp__worker_options longest = options(86400000, 86400000), widest = options(1, 86400000);
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(attempts); i++) {
        assert_int_equal(wp__backoff_us(attempts[i], &longest, 0), INT64_C(86400000000));
        assert_int_equal(wp__backoff_us(attempts[i], &widest, 0), INT64_C(86400000000));
        assert_in_range(wp__backoff_us(attempts[i], &longest, 1), 1, INT64_C(86400000000));
    }
    assert_int_equal(wp__backoff_us(-5, &widest, 0), 1000); /* a foreign hand in the tables */
    assert_int_equal(wp__backoff_us(INT64_MIN, &widest, 0), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backoff__defaults__min_of_2_to_the_attempt_and_60_seconds),
        cmocka_unit_test(test_backoff__jitter__shortens_by_up_to_its_part),
        cmocka_unit_test(test_backoff__other_base_and_ceiling__are_used),
        cmocka_unit_test(test_backoff__any_attempt__does_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
