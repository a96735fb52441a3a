/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/waiter.h"

/* A directory of its own with the database file "app.db". */
typedef struct place {
    char directory[64];
    char path[128];
    wp__waiter *waiter;
} place;

/* Append to, and so create, the file `name`. */
static void touch(const place *p, const char *name)
{
    char path[160];
    int fd = -1;
    (void)snprintf(path, sizeof path, "%s/%s", p->directory, name);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    (void)close(fd);
}

static void remove_file(const place *p, const char *name)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s/%s", p->directory, name);
    (void)unlink(path);
}

static int place_setup(void **state)
{
    place *p = calloc(1, sizeof *p);
    assert_non_null(p);
    (void)snprintf(p->directory, sizeof p->directory, "/tmp/waypost-waiter-XXXXXX");
    assert_non_null(mkdtemp(p->directory));
    (void)snprintf(p->path, sizeof p->path, "%s/app.db", p->directory);
    touch(p, "app.db");
    assert_int_equal(wp__waiter_new(&p->waiter, NULL, NULL), WP_OK);
    *state = p;
    return 0;
}

static int place_teardown(void **state)
{
    static const char *const names[] = {"app.db", "app.db-wal",  "app.db-journal", "app.db-shm",
                                        "app.d",  "app.db-wal2", "other.db",       "link.db"};
    place *p = *state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        remove_file(p, names[i]);
    (void)rmdir(p->directory);
    wp__waiter_free(p->waiter);
    free(p);
    return 0;
}

static void test_waiter__signalled_before__wakes_once(void **state)
{
    place *p = *state;
    wp__waiter_signal(p->waiter);
    wp__waiter_signal(p->waiter);
    assert_int_equal(wp__waiter_wait(p->waiter, WP__FOREVER), WP__WOKE_SIGNAL);
    assert_int_equal(wp__waiter_wait(p->waiter, 0), WP__WOKE_DEADLINE);
    wp__waiter_signal(p->waiter);
    assert_int_equal(wp__waiter_wait(p->waiter, 0), WP__WOKE_SIGNAL);
}

static void test_waiter__deadline__passes_on_the_real_clock(void **state)
{
    place *p = *state;
    const int64_t deadline = wp__real_mono_us() + 2000;
    assert_int_equal(wp__waiter_wait(p->waiter, deadline), WP__WOKE_DEADLINE);
    assert_true(wp__real_mono_us() >= deadline);
}

static void test_waiter_watch__our_files__wake(void **state)
{
    static const char *const names[] = {"app.db", "app.db-wal", "app.db-journal"};
    place *p = *state;
    assert_false(wp__waiter_is_watching(p->waiter));
    assert_true(wp__waiter_watch(p->waiter, p->path));
    assert_true(wp__waiter_is_watching(p->waiter));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        touch(p, names[i]);
        assert_int_equal(wp__waiter_wait(p->waiter, WP__FOREVER), WP__WOKE_CHANGE);
        assert_int_equal(wp__waiter_wait(p->waiter, 0), WP__WOKE_DEADLINE);
        remove_file(p, names[i]);
        assert_int_equal(wp__waiter_wait(p->waiter, WP__FOREVER), WP__WOKE_CHANGE);
    }
}

static void test_waiter_watch__other_files__do_not_wake(void **state)
{
    static const char *const names[] = {"app.db-shm", "app.d", "app.db-wal2", "other.db"};
    place *p = *state;
    assert_true(wp__waiter_watch(p->waiter, p->path));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        touch(p, names[i]);
    assert_int_equal(wp__waiter_wait(p->waiter, wp__real_mono_us() + 1000), WP__WOKE_DEADLINE);
    wp__waiter_signal(p->waiter);
    touch(p, "app.db");
    assert_int_equal(wp__waiter_wait(p->waiter, WP__FOREVER), WP__WOKE_SIGNAL | WP__WOKE_CHANGE);
}

static void test_waiter_watch__link_to_the_file__watches_the_file(void **state)
{
    place *p = *state;
    char link[128];
    (void)snprintf(link, sizeof link, "%s/link.db", p->directory);
    assert_int_equal(symlink("app.db", link), 0);
    assert_true(wp__waiter_watch(p->waiter, link));
    touch(p, "app.db-wal");
    assert_int_equal(wp__waiter_wait(p->waiter, WP__FOREVER), WP__WOKE_CHANGE);
}

static void test_waiter_watch__file_not_there_yet__is_seen_when_made(void **state)
{
    place *p = *state;
    remove_file(p, "app.db");
    assert_true(wp__waiter_watch(p->waiter, p->path));
    touch(p, "app.db");
    assert_int_equal(wp__waiter_wait(p->waiter, WP__FOREVER), WP__WOKE_CHANGE);
}

static void test_waiter_watch__no_such_directory__is_false(void **state)
{
    place *p = *state;
    assert_true(wp__waiter_watch(p->waiter, p->path));
    assert_false(wp__waiter_watch(p->waiter, "/nonexistent/app.db"));
    assert_false(wp__waiter_is_watching(p->waiter));
    assert_false(wp__waiter_watch(p->waiter, ""));
    assert_int_equal(wp__waiter_wait(p->waiter, 0), WP__WOKE_DEADLINE);
}

static void test_waiter_watch__directory_vanishes__is_a_change_and_ends_the_watch(void **state)
{
    place *p = *state;
    assert_true(wp__waiter_watch(p->waiter, p->path));
    remove_file(p, "app.db");
    assert_int_equal(rmdir(p->directory), 0);
    while (wp__waiter_is_watching(p->waiter))
        assert_int_equal(wp__waiter_wait(p->waiter, WP__FOREVER), WP__WOKE_CHANGE);
    assert_int_equal(wp__waiter_wait(p->waiter, 0), WP__WOKE_DEADLINE);
    wp__waiter_signal(p->waiter);
    assert_int_equal(wp__waiter_wait(p->waiter, WP__FOREVER), WP__WOKE_SIGNAL);
}

static void test_waiter_watch__queue_overflows__is_a_change(void **state)
{
    place *p = *state;
    FILE *limit = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
    int fds[2] = {-1, -1}, max = 0;
    if (!limit || fscanf(limit, "%d", &max) != 1 || max > 50000) {
        print_message("skipped: the queue of events is too long to be overflowed here\n");
        skip();
    }
    (void)fclose(limit);
    assert_true(wp__waiter_watch(p->waiter, p->path));
    touch(p, "app.d");
    touch(p, "other.db");
    for (int i = 0; i < 2; i++) {
        char path[160];
        (void)snprintf(path, sizeof path, "%s/%s", p->directory, i ? "app.d" : "other.db");
        fds[i] = open(path, O_WRONLY);
        assert_true(fds[i] >= 0);
    }
    for (int i = 0; i <= max; i++) /* in turns: repeated events are merged */
        assert_int_equal(pwrite(fds[i % 2], "x", 1, 0), 1);
    assert_int_equal(wp__waiter_wait(p->waiter, WP__FOREVER), WP__WOKE_CHANGE);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void test_waiter_drain__changes_seen__are_forgotten(void **state)
{
    place *p = *state;
    wp__waiter_drain(p->waiter);
    assert_true(wp__waiter_watch(p->waiter, p->path));
    touch(p, "app.db");
    wp__waiter_signal(p->waiter);
    wp__waiter_drain(p->waiter);
    assert_int_equal(wp__waiter_wait(p->waiter, 0), WP__WOKE_SIGNAL);
}

enum { ROUNDS = 300 };

typedef struct partner {
    wp__waiter *waiter;
    wp_clock *clock;
    atomic_int round;
    atomic_int wrong;
} partner;

static void *wait_for_deadlines(void *arg)
{
    partner *p = arg;
    for (int i = 1; i <= ROUNDS; i++) {
        const int64_t deadline = wp__clock_mono_us(p->clock) + 1000;
        atomic_store(&p->round, i);
        if (wp__waiter_wait(p->waiter, deadline) != WP__WOKE_DEADLINE)
            atomic_fetch_add(&p->wrong, 1);
    }
    return NULL;
}

static void test_waiter_wait__manual_clock__no_advance_is_missed(void **state)
{
    partner p = {.waiter = NULL};
    wp__thread thread = {.started = false};
    (void)state;
    assert_int_equal(wp_clock_new_manual(&p.clock, 0, NULL), WP_OK);
    assert_int_equal(wp__waiter_new(&p.waiter, p.clock, NULL), WP_OK);
    assert_int_equal(wp__thread_start(&thread, "wait", wait_for_deadlines, &p, NULL), WP_OK);
    for (int i = 1; i <= ROUNDS; i++) {
        while (atomic_load(&p.round) < i)
            (void)sched_yield();
        assert_int_equal(wp_clock_advance_us(p.clock, 1000, NULL), WP_OK);
    }
    wp__thread_join(&thread);
    assert_int_equal(atomic_load(&p.wrong), 0);
    wp__waiter_free(p.waiter);
    wp_clock_free(p.clock);
}

static void *wait_for_signals(void *arg)
{
    partner *p = arg;
    for (int i = 1; i <= ROUNDS; i++) {
        if (wp__waiter_wait(p->waiter, WP__FOREVER) != WP__WOKE_SIGNAL)
            atomic_fetch_add(&p->wrong, 1);
        atomic_store(&p->round, i);
    }
    return NULL;
}

static void test_waiter_signal__another_thread__no_signal_is_missed(void **state)
{
    partner p = {.waiter = NULL};
    wp__thread thread = {.started = false};
    (void)state;
    assert_int_equal(wp__waiter_new(&p.waiter, NULL, NULL), WP_OK);
    assert_int_equal(wp__thread_start(&thread, "wait", wait_for_signals, &p, NULL), WP_OK);
    for (int i = 1; i <= ROUNDS; i++) {
        wp__waiter_signal(p.waiter);
        while (atomic_load(&p.round) < i)
            (void)sched_yield();
    }
    wp__thread_join(&thread);
    assert_int_equal(atomic_load(&p.wrong), 0);
    wp__waiter_free(p.waiter);
    wp__waiter_free(NULL);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(test_waiter__signalled_before__wakes_once),
        WITH_PLACE(test_waiter__deadline__passes_on_the_real_clock),
        WITH_PLACE(test_waiter_watch__our_files__wake),
        WITH_PLACE(test_waiter_watch__other_files__do_not_wake),
        WITH_PLACE(test_waiter_watch__link_to_the_file__watches_the_file),
        WITH_PLACE(test_waiter_watch__file_not_there_yet__is_seen_when_made),
        WITH_PLACE(test_waiter_watch__no_such_directory__is_false),
        WITH_PLACE(test_waiter_watch__directory_vanishes__is_a_change_and_ends_the_watch),
        WITH_PLACE(test_waiter_watch__queue_overflows__is_a_change),
        WITH_PLACE(test_waiter_drain__changes_seen__are_forgotten),
        cmocka_unit_test(test_waiter_wait__manual_clock__no_advance_is_missed),
        cmocka_unit_test(test_waiter_signal__another_thread__no_signal_is_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
