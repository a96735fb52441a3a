/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(wp_id));
}

static void test_id_new__one__is_version_7_of_now(void **state)
{
    const int64_t before = wp_clock_utc_us(NULL) / 1000;
    int64_t ms = 0, after = 0;
    wp_id id;
    (void)state;
    wp_id_new(&id);
    after = wp_clock_utc_us(NULL) / 1000;
    for (int i = 0; i < 6; i++)
        ms = ms << 8 | id.bytes[i];
    assert_true(ms >= before && ms <= after);
    assert_int_equal(id.bytes[6] >> 4, 7);
    assert_int_equal(id.bytes[8] >> 6, 2);
}

static void test_id_new__many__rise_strictly(void **state)
{
    wp_id last = {{0}}, id;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        wp_id_new(&id);
        assert_true(compare(&last, &id) < 0);
        last = id;
    }
}

enum { THREADS = 4, EACH = 2000 };

static void *make_ids(void *arg)
{
    wp_id *ids = arg;
    for (size_t i = 0; i < EACH; i++)
        wp_id_new(&ids[i]);
    return NULL;
}

static void test_id_new__many_threads__are_unique_and_rise_on_each(void **state)
{
    static wp_id ids[THREADS * EACH];
    wp__thread threads[THREADS] = {{.started = false}};
    (void)state;
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(wp__thread_start(&threads[i], "ids", make_ids, ids + i * EACH, NULL),
                         WP_OK);
    for (size_t i = 0; i < THREADS; i++)
        wp__thread_join(&threads[i]);
    for (size_t i = 1; i < THREADS * EACH; i++)
        assert_true(i % EACH == 0 || compare(&ids[i - 1], &ids[i]) < 0);
    qsort(ids, THREADS * EACH, sizeof ids[0], compare);
    for (size_t i = 1; i < THREADS * EACH; i++)
        assert_true(memcmp(ids[i - 1].bytes, ids[i].bytes, 8) < 0); /* even without random bits */
}

static void test_id_new__forked_child__does_not_repeat_the_parents_random_bits(void **state)
{
    enum { COUNT = 8 };
    wp_id parent[COUNT], child[COUNT];
    int fds[2] = {-1, -1}, status = 0;
    pid_t pid = -1;
    (void)state;
    wp_id_new(&parent[0]); /* so that there is a block to repeat */
    assert_int_equal(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        for (size_t i = 0; i < COUNT; i++)
            wp_id_new(&child[i]);
        _exit(write(fds[1], child, sizeof child) == (ssize_t)sizeof child ? 0 : 1);
    }
    assert_true(pid > 0);
    for (size_t i = 0; i < COUNT; i++)
        wp_id_new(&parent[i]);
    assert_int_equal(read(fds[0], child, sizeof child), sizeof child);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < COUNT; j++)
            assert_memory_not_equal(parent[i].bytes + 8, child[j].bytes + 8, 8);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void test_id_parse__either_case__reads_what_format_writes(void **state)
{
    wp_id id = {{0}}, made;
    char text[37];
    (void)state;
    assert_int_equal(wp_id_parse(&id, "017F22E2-79b0-7cC3-98c4-dC0C0C07398f", NULL), WP_OK);
    wp_id_format(text, &id);
    assert_string_equal(text, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
    wp_id_new(&made);
    wp_id_format(text, &made);
    assert_int_equal(wp_id_parse(&id, text, NULL), WP_OK);
    assert_memory_equal(&id, &made, sizeof id);
}

static void test_id_parse__anything_else__is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "017f22e2",
        "017f22e279b07cc398c4dc0c0c07398f",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398f0",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
        "017f22e2-79b0-7cc3-98c4+dc0c0c07398f",
        " 17f22e2-79b0-7cc3-98c4-dc0c0c07398f",
        "{17f22e2-79b0-7cc3-98c4-dc0c0c07398}",
    };
    wp_id id = {{42}};
    wp_error *err = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(wp_id_parse(&id, bad[i], &err), WP_E_ARGUMENT);
    assert_int_equal(wp_id_parse(&id, NULL, &err), WP_E_ARGUMENT);
    assert_string_equal(wp_error_message(err), "text is null");
    assert_int_equal(id.bytes[0], 42);
    wp_error_free(err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_id_new__one__is_version_7_of_now),
        cmocka_unit_test(test_id_new__many__rise_strictly),
        cmocka_unit_test(test_id_new__many_threads__are_unique_and_rise_on_each),
        cmocka_unit_test(test_id_new__forked_child__does_not_repeat_the_parents_random_bits),
        cmocka_unit_test(test_id_parse__either_case__reads_what_format_writes),
        cmocka_unit_test(test_id_parse__anything_else__is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
