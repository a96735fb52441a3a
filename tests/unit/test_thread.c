/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"

/* Two parties on one condition; where a wake-up is missed the test hangs until its time limit. */
typedef struct table {
    wp_clock *clock;
    wp__mutex lock;
    wp__cond cond;
    wp__cond back;
    int64_t deadline;
    int turn;
    int rounds;
    atomic_int waiting;
    bool in_time;
} table;

static void table_init(table *t, bool manual)
{
    memset(t, 0, sizeof *t);
    if (manual)
        assert_int_equal(wp_clock_new_manual(&t->clock, 0, NULL), WP_OK);
    wp__mutex_init(&t->lock);
    wp__cond_init(&t->cond, t->clock);
    wp__cond_init(&t->back, t->clock);
}

static void table_destroy(table *t)
{
    wp__cond_destroy(&t->cond);
    wp__cond_destroy(&t->back);
    wp__mutex_destroy(&t->lock);
    wp_clock_free(t->clock);
}

static void *answer(void *arg)
{
    table *t = arg;
    wp__mutex_lock(&t->lock);
    for (int i = 0; i < t->rounds; i++) {
        while (t->turn != 1)
            wp__cond_wait(&t->cond, &t->lock);
        t->turn = 0;
        wp__cond_signal(&t->back);
    }
    wp__mutex_unlock(&t->lock);
    return NULL;
}

static void play(bool manual)
{
    table t;
    wp__thread thread = {.started = false};
    table_init(&t, manual);
    t.rounds = 500;
    assert_int_equal(wp__thread_start(&thread, "answer", answer, &t, NULL), WP_OK);
    wp__mutex_lock(&t.lock);
    for (int i = 0; i < t.rounds; i++) {
        t.turn = 1;
        wp__cond_broadcast(&t.cond);
        while (t.turn != 0)
            (void)wp__cond_wait_until(&t.back, &t.lock, WP__FOREVER);
    }
    wp__mutex_unlock(&t.lock);
    wp__thread_join(&thread);
    table_destroy(&t);
}

static void test_cond__system_clock__every_signal_arrives(void **state)
{
    (void)state;
    play(false);
}

static void test_cond__manual_clock__every_signal_arrives(void **state)
{
    (void)state;
    play(true);
}

static void *wait_for_deadlines(void *arg)
{
    table *t = arg;
    wp__mutex_lock(&t->lock);
    for (int i = 1; i <= t->rounds; i++) {
        const int64_t deadline = wp__clock_mono_us(t->clock) + 1000;
        atomic_store(&t->waiting, i); /* the advance may now come before, while or after we sleep */
        while (wp__cond_wait_until(&t->cond, &t->lock, deadline)) {
        }
    }
    wp__mutex_unlock(&t->lock);
    return NULL;
}

static void test_cond_wait_until__manual_clock__no_advance_is_missed(void **state)
{
    table t;
    wp__thread thread = {.started = false};
    (void)state;
    table_init(&t, true);
    t.rounds = 500;
    assert_int_equal(wp__thread_start(&thread, "deadlines", wait_for_deadlines, &t, NULL), WP_OK);
    for (int i = 1; i <= t.rounds; i++) {
        while (atomic_load(&t.waiting) < i)
            (void)sched_yield();
        assert_int_equal(wp_clock_advance_us(t.clock, 1000, NULL), WP_OK);
    }
    wp__thread_join(&thread);
    table_destroy(&t);
}

static void test_cond_wait_until__deadline_passed__is_false_at_once(void **state)
{
    table t;
    (void)state;
    for (int manual = 0; manual < 2; manual++) {
        table_init(&t, manual);
        wp__mutex_lock(&t.lock);
        assert_false(wp__cond_wait_until(&t.cond, &t.lock, wp__clock_mono_us(t.clock)));
        assert_false(wp__cond_wait_until(&t.cond, &t.lock, 0));
        wp__mutex_unlock(&t.lock);
        table_destroy(&t);
    }
}

static void test_cond_wait_until__system_clock__ends_at_the_deadline(void **state)
{
    table t;
    int64_t deadline = 0;
    (void)state;
    table_init(&t, false);
    wp__mutex_lock(&t.lock);
    deadline = wp__clock_mono_us(NULL) + 2000;
    while (wp__cond_wait_until(&t.cond, &t.lock, deadline)) {
    }
    assert_true(wp__clock_mono_us(NULL) >= deadline);
    wp__mutex_unlock(&t.lock);
    table_destroy(&t);
}

typedef struct look {
    wp__thread thread;
    sigset_t blocked;
    bool is_self;
    wp__mutex lock; /* held by the test until `thread` is written */
} look;

static void *look_around(void *arg)
{
    look *l = arg;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &l->blocked);
    wp__mutex_lock(&l->lock);
    l->is_self = wp__thread_is_self(&l->thread);
    wp__mutex_unlock(&l->lock);
    return NULL;
}

static void test_thread__started__blocks_signals_and_knows_itself(void **state)
{
    look l = {.thread = {.started = false}};
    sigset_t mine;
    (void)state;
    wp__mutex_init(&l.lock);
    assert_false(wp__thread_is_self(&l.thread));
    wp__mutex_lock(&l.lock);
    assert_int_equal(wp__thread_start(&l.thread, "a name that is too long", look_around, &l, NULL),
                     WP_OK);
    wp__mutex_unlock(&l.lock);
    assert_false(wp__thread_is_self(&l.thread));
    wp__thread_join(&l.thread);
    wp__thread_join(&l.thread); /* nothing */
    assert_true(l.is_self);
    assert_true(sigismember(&l.blocked, SIGTERM));
    assert_true(sigismember(&l.blocked, SIGPIPE));
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mine), 0);
    assert_false(sigismember(&mine, SIGTERM));
    wp__mutex_destroy(&l.lock);
}

static void test_process__forked__is_seen(void **state)
{
    const int64_t id = wp__process_id();
    const uint64_t generation = wp__process_generation(), random = wp__random();
    int status = 0;
    pid_t pid = -1;
    (void)state;
    assert_int_equal(id, getpid());
    assert_true(random != wp__random());
    pid = fork();
    if (pid == 0)
        _exit(wp__process_id() == getpid() && wp__process_id() != id &&
                      wp__process_generation() != generation
                  ? 0
                  : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(wp__process_id(), id);
    assert_int_equal(wp__process_generation(), generation);
}

static void test_random__forked_child__goes_another_way(void **state)
{
    uint64_t mine = wp__random(), theirs = 0;
    int fds[2] = {-1, -1}, status = 0;
    pid_t pid = -1;
    (void)state;
    assert_int_equal(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        theirs = wp__random();
        _exit(write(fds[1], &theirs, sizeof theirs) == (ssize_t)sizeof theirs ? 0 : 1);
    }
    mine = wp__random();
    assert_int_equal(read(fds[0], &theirs, sizeof theirs), sizeof theirs);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(mine != theirs);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void test_host_name__small_buffer__is_cut(void **state)
{
    char name[256] = "", cut[3] = "xx";
    (void)state;
    wp__host_name(name, sizeof name);
    assert_true(name[0] != '\0');
    wp__host_name(cut, sizeof cut);
    assert_true(strlen(cut) <= 2);
    assert_memory_equal(name, cut, strlen(cut));
}

static void test_sleep__some_time__takes_at_least_that(void **state)
{
    const int64_t start = wp__real_mono_us();
    (void)state;
    wp__sleep_us(0);
    wp__sleep_us(-5);
    wp__sleep_us(1500);
    assert_true(wp__real_mono_us() - start >= 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cond__system_clock__every_signal_arrives),
        cmocka_unit_test(test_cond__manual_clock__every_signal_arrives),
        cmocka_unit_test(test_cond_wait_until__manual_clock__no_advance_is_missed),
        cmocka_unit_test(test_cond_wait_until__deadline_passed__is_false_at_once),
        cmocka_unit_test(test_cond_wait_until__system_clock__ends_at_the_deadline),
        cmocka_unit_test(test_thread__started__blocks_signals_and_knows_itself),
        cmocka_unit_test(test_process__forked__is_seen),
        cmocka_unit_test(test_random__forked_child__goes_another_way),
        cmocka_unit_test(test_host_name__small_buffer__is_cut),
        cmocka_unit_test(test_sleep__some_time__takes_at_least_that),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
