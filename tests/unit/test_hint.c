/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hint.h"

static void test_hint_distance__same_but_for_case_unit_group_or_dot__is_0(void **state)
{
    static const char *const keys[] = {"worker.lease_ms", "WORKER_LEASE_MS", "Worker.Lease",
                                       "store.lease_ms",  "lease_ms",        "LEASE"};
    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        assert_int_equal(wp__hint_distance(keys[i], "worker.lease_ms"), 0);
}

static void test_hint_distance__typing_errors__are_counted(void **state)
{
    static const struct {
        const char *key;
        size_t distance;
    } cases[] = {
        {"worker.batch_sizes", 1}, {"worker.batc_size", 1},  {"worker.butch_size", 1},
        {"worker.bacth_size", 2},  {"workr_batch_size", 1},  {"store.batchsize", 1},
        {"xworker.batch_size", 0}, {"worker.batch_sze_", 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(wp__hint_distance(cases[i].key, "worker.batch_size"), cases[i].distance);
}

static void test_hint_distance__something_else__is_too_far(void **state)
{
    static const char *const keys[] = {"", ".", "x", "url", "worker.", "worker.threads", "_ms"};
    static const char longer[] = "0123456789012345678901234567890123456789"
                                 "0123456789012345678901234567890123456789";
    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        assert_true(wp__hint_distance(keys[i], "worker.batch_size") == SIZE_MAX);
    assert_true(wp__hint_distance(longer, "worker.batch_size") == SIZE_MAX);
    assert_true(wp__hint_distance("worker.batch_size", longer) == SIZE_MAX);
    assert_int_equal(wp__hint_distance(longer, longer), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hint_distance__same_but_for_case_unit_group_or_dot__is_0),
        cmocka_unit_test(test_hint_distance__typing_errors__are_counted),
        cmocka_unit_test(test_hint_distance__something_else__is_too_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
