/* SPDX-License-Identifier: Apache-2.0 */
/* The scaling controller: by hand, and through a simulated day. */
#include <waypost/scaling.h>

#include "support/wpt.h"

#define SECOND_US INT64_C(1000000)
enum { LOOK_S = 5 };

static wp_scaling *controller(const char *const *options)
{
    wp_config *config = NULL;
    wp_scaling *scaling = NULL;
    WPT_OK(wp_config_new(&config, WPT_ERR));
    for (; options && options[0]; options += 2)
        WPT_OK(wp_config_set(config, options[0], options[1], WPT_ERR));
    WPT_OK(wp_scaling_new(&scaling, config, WPT_ERR));
    wp_config_free(config);
    return scaling;
}

static int64_t decide(wp_scaling *s, int64_t at_s, int64_t instances, int64_t depth, int64_t done)
{
    int64_t wanted = -1;
    WPT_OK(wp_scaling_decide(&wanted, s, at_s * SECOND_US, instances, depth, done, WPT_ERR));
    return wanted;
}

/* proves: SCL-001 */
static void test_scaling__queue_that_waits__gets_as_many_more_as_it_needs(void **state)
{
    wp_scaling *s = controller(WPT_OPTIONS("scaling.weight", "1", "scaling.cooldown_ms", "0",
                                           "scaling.max_instances", "64"));
    (void)state;
    assert_int_equal(decide(s, 0, 8, 0, 0), 8);
    /* 100 a second; 1,000 wait for 10 s, twice the target: twice as many */
    assert_int_equal(decide(s, 1, 8, 1000, 100), 16);
    assert_float_equal(wp_scaling_pressure(s), 2, 1e-9);
    assert_float_equal(wp_scaling_rate(s), 100, 1e-9);
    assert_int_equal(decide(s, 2, 8, 100000, 200), 16);  /* never more than twice */
    assert_int_equal(decide(s, 3, 8, 501, 300), 9);      /* just above */
    assert_int_equal(decide(s, 4, 8, 500, 400), 8);      /* just at it */
    assert_int_equal(decide(s, 5, 8, 160, 500), 8);      /* not below the threshold for less */
    assert_int_equal(decide(s, 6, 40, 100000, 600), 64); /* the most */
    assert_int_equal(decide(s, 7, 8, 10, 600), 9);       /* nothing was done: nobody knows */
    wp_scaling_free(s);
}

/* proves: SCL-001 */
static void test_scaling__bounds__hold_at_once_and_zero_wakes_up(void **state)
{
    wp_scaling *s =
        controller(WPT_OPTIONS("scaling.min_instances", "2", "scaling.max_instances", "4"));
    (void)state;
    assert_int_equal(decide(s, 0, 0, 0, 0), 2);
    assert_int_equal(decide(s, 0, 9, 0, 0), 4);
    assert_int_equal(decide(s, 1, 2, 0, 0), 2);
    wp_scaling_free(s);
    s = controller(WPT_OPTIONS("scaling.min_instances", "0", "scaling.cooldown_ms", "1000"));
    assert_int_equal(decide(s, 0, 1, 0, 0), 1);
    assert_int_equal(decide(s, 1, 1, 0, 0), 0); /* nothing comes */
    assert_int_equal(decide(s, 1, 0, 0, 0), 0);
    assert_int_equal(decide(s, 1, 0, 1, 0), 1); /* without waiting for the cooldown */
    assert_int_equal(decide(s, 5, 1, 0, 1), 1); /* something comes */
    wp_scaling_free(s);
}

/* proves: SCL-001 */
static void test_scaling__after_a_change__waits_for_the_cooldown(void **state)
{
    wp_scaling *s = controller(WPT_OPTIONS("scaling.weight", "1"));
    (void)state;
    assert_int_equal(decide(s, 0, 1, 1000, 0), 1); /* how fast it goes is not known yet */
    assert_int_equal(decide(s, 1, 1, 1000, 10), 2);
    assert_int_equal(decide(s, 60, 2, 100000, 20), 2);
    assert_int_equal(decide(s, 61, 2, 100000, 30), 4);
    assert_int_equal(decide(s, 120, 4, 0, 100000), 4);
    assert_int_equal(decide(s, 10, 4, 0, 200000), 4); /* a clock that goes back stands still */
    wp_scaling_free(s);
}

/* proves: SCL-001 */
static void test_scaling__weights__smooth_what_is_seen(void **state)
{
    wp_scaling *s = controller(WPT_OPTIONS("scaling.weight", "0.25", "scaling.cooldown_ms", "0",
                                           "scaling.target_latency_ms", "1000"));
    (void)state;
    (void)decide(s, 0, 2, 0, 0);
    (void)decide(s, 1, 2, 400, 400); /* an average of 100 wait, 100 a second are done */
    assert_float_equal(wp_scaling_rate(s), 100, 1e-9);
    assert_float_equal(wp_scaling_pressure(s), 1, 1e-9);
    (void)decide(s, 2, 2, 400, 500);
    assert_float_equal(wp_scaling_rate(s), 100, 1e-9);
    assert_float_equal(wp_scaling_pressure(s), 1.75, 1e-9);
    wp_scaling_free(s);
}

/* proves: SCL-001 */
static void test_scaling__counts_that_begin_anew__are_taken_as_such(void **state)
{
    wp_scaling *s = controller(WPT_OPTIONS("scaling.weight", "1"));
    (void)state;
    (void)decide(s, 0, 1, 0, 1000000);
    (void)decide(s, 1, 1, 0, 50);
    assert_float_equal(wp_scaling_rate(s), 50, 1e-9);
    wp_scaling_free(s);
}

/* What arrives a second, in a day with a night, a noon and a burst. */
static double load_at(int64_t second)
{
    const double hour = (double)second / 3600;
    const double burst = hour >= 20 && hour < 20.25 ? 250 : 0;
    return 20 + 360 * (1 - (hour < 12 ? 12 - hour : hour - 12) / 12) + burst;
}

/* Each instance does 100 a second; load has noise. */
/* proves: SCL-001 */
static void test_scaling__through_a_day__follows_the_load_and_does_not_flap(void **state)
{
    enum { DAY_S = 86400, COOLDOWN_S = 60, EACH = 100, MOST = 8 };
    wp_scaling *s = controller(NULL);
    double waiting = 0, done = 0, worst_s = 0, late_s = 0;
    int64_t instances = 1, changes = 0, changed_s = -COOLDOWN_S, turns = 0;
    int direction = 0;
    uint32_t seed = 12345;
    (void)state;
    for (int64_t t = 0; t < DAY_S; t += LOOK_S) {
        const double can = (double)instances * EACH * LOOK_S;
        double noise, did;
        int64_t wanted;
        seed = seed * 1664525u + 1013904223u;
        noise = 0.8 + 0.4 * (double)(seed >> 8) / (double)(1u << 24);
        waiting += load_at(t) * noise * LOOK_S;
        did = waiting < can ? waiting : can;
        waiting -= did;
        done += did;
        wanted = decide(s, t, instances, (int64_t)waiting, (int64_t)done);
        assert_true(wanted >= 1 && wanted <= MOST);
        if (wanted != instances) {
            const int now = wanted > instances ? 1 : -1;
            assert_true(t - changed_s >= COOLDOWN_S);
            turns += direction && now != direction;
            direction = now;
            changed_s = t;
            changes++;
            instances = wanted;
        }
        if (waiting / (load_at(t) + 1) > worst_s)
            worst_s = waiting / (load_at(t) + 1);
        late_s += waiting / (load_at(t) + 1) > 15 ? LOOK_S : 0;
        if (t % 3600 == 0)
            print_message("%02lld:00  %4.0f/s  %lld  %.*s\n", (long long)(t / 3600), load_at(t),
                          (long long)instances, (int)(load_at(t) / 10),
                          "########################################################");
    }
    print_message("%lld changes, %lld of them the other way; the longest wait %.0f s; longer than "
                  "15 s for %.0f s\n",
                  (long long)changes, (long long)turns, worst_s, late_s);
    assert_true(changes <= 60 && turns <= 20);
    assert_true(worst_s < 120 && late_s < DAY_S / 50);
    assert_true(instances <= 2); /* the day ends as it began */
    wp_scaling_free(s);
}

/* proves: SCL-001 */
static void test_scaling__bad_input__is_named(void **state)
{
    wp_scaling *s = controller(NULL);
    wp_config *config = NULL;
    int64_t wanted = 77;
    (void)state;
    WPT_FAILS(wp_scaling_decide(NULL, s, 0, 1, 0, 0, WPT_ERR), WP_E_ARGUMENT, "wanted");
    WPT_FAILS(wp_scaling_decide(&wanted, NULL, 0, 1, 0, 0, WPT_ERR), WP_E_ARGUMENT, "scaling");
    WPT_FAILS(wp_scaling_decide(&wanted, s, 0, -1, 0, 0, WPT_ERR), WP_E_RANGE, "instances");
    WPT_FAILS(wp_scaling_decide(&wanted, s, 0, 1, -1, 0, WPT_ERR), WP_E_RANGE, "depth");
    WPT_FAILS(wp_scaling_decide(&wanted, s, 0, 1, 0, -1, WPT_ERR), WP_E_RANGE, "done");
    assert_int_equal(wanted, 77);
    wp_scaling_free(s);
    WPT_FAILS(wp_scaling_new(NULL, NULL, WPT_ERR), WP_E_ARGUMENT, "out");
    WPT_OK(wp_config_new(&config, WPT_ERR));
    WPT_OK(wp_config_set(config, "scaling.min_instances", "9", WPT_ERR));
    WPT_FAILS(wp_scaling_new(&s, config, WPT_ERR), WP_E_CONFIG, "scaling.min_instances");
    WPT_OK(wp_config_set(config, "scaling.min_instances", "1", WPT_ERR));
    WPT_OK(wp_config_set(config, "scaling.scale_down_threshold", "1", WPT_ERR));
    WPT_FAILS(wp_scaling_new(&s, config, WPT_ERR), WP_E_CONFIG, "scaling.scale_down_threshold");
    wp_config_free(config);
    assert_true(wp_scaling_pressure(NULL) == 0 && wp_scaling_rate(NULL) == 0);
    wp_scaling_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scaling__queue_that_waits__gets_as_many_more_as_it_needs),
        cmocka_unit_test(test_scaling__bounds__hold_at_once_and_zero_wakes_up),
        cmocka_unit_test(test_scaling__after_a_change__waits_for_the_cooldown),
        cmocka_unit_test(test_scaling__weights__smooth_what_is_seen),
        cmocka_unit_test(test_scaling__counts_that_begin_anew__are_taken_as_such),
        cmocka_unit_test(test_scaling__through_a_day__follows_the_load_and_does_not_flap),
        cmocka_unit_test(test_scaling__bad_input__is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
