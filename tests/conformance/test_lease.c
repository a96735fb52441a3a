/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of leases and semaphores: the calls, and the lease that keeps itself. */
#include "bed.h"

enum { SECOND = 1000 }; /* milliseconds */

static const wp_lease_kind kinds[] = {WP_LEASE_EXCLUSIVE, WP_LEASE_SHARED};

/* Where a kind needs something to be there: a semaphore of one slot is much like a lease. */
static void prepare(bed *b, wp_lease_kind kind, const char *name, int64_t limit)
{
    if (kind == WP_LEASE_SHARED)
        WPT_OK(wp_semaphore_set_limit(b->store, NULL, name, limit, WPT_ERR));
}

/* The fence; 0: refused. */
static int64_t acquire_on(bed *b, wp_conn *conn, wp_lease_kind kind, const char *name,
                          const char *owner, int64_t ms)
{
    wp_lease_info *info = NULL;
    int64_t fence;
    WPT_OK(wp_lease_acquire(&info, b->store, conn, kind, name, owner, ms, WPT_ERR));
    fence = wp_lease_info_granted(info) ? wp_lease_info_fence(info) : 0;
    if (fence) {
        assert_string_equal(wp_lease_info_owner(info), owner);
        assert_int_equal(wp_lease_info_until_us(info), wp_clock_utc_us(b->clock) + ms * 1000);
    }
    assert_int_equal(wp_lease_info_now_us(info), wp_clock_utc_us(b->clock));
    wp_lease_info_free(info);
    return fence;
}

static int64_t acquire(bed *b, wp_lease_kind kind, const char *name, const char *owner, int64_t ms)
{
    return acquire_on(b, NULL, kind, name, owner, ms);
}

static wp_status renew(bed *b, wp_lease_kind kind, const char *name, const char *owner,
                       int64_t fence, int64_t ms, wp_error **err)
{
    return wp_lease_renew(NULL, b->store, NULL, kind, name, owner, fence, ms, err);
}

static int release(bed *b, wp_lease_kind kind, const char *name, const char *owner, int64_t fence)
{
    int released = 9;
    WPT_OK(wp_lease_release(&released, b->store, NULL, kind, name, owner, fence, WPT_ERR));
    return released;
}

static int64_t holders(bed *b, wp_lease_kind kind, const char *name)
{
    wp_lease_info *info = NULL;
    int64_t count;
    WPT_OK(wp_lease_get(&info, b->store, NULL, kind, name, WPT_ERR));
    assert_false(wp_lease_info_granted(info));
    count = wp_lease_info_holders(info);
    wp_lease_info_free(info);
    return count;
}

static wp_lease *hold(bed *b, wp_lease_kind kind, const char *name, int64_t ms)
{
    wp_lease *lease = NULL;
    WPT_OK(wp_lease_hold(&lease, NULL, b->store, kind, name, NULL, ms, 0, WPT_ERR));
    return lease;
}

static int64_t counter(bed *b, wp_lease_counter which)
{
    return wp_lease_counter_read(b->store, which);
}

/* ---- the calls ---------------------------------------------------------------------------- */

/* scenario: LEA-001 */
/* proves: LSE-001, LSE-008 */
static void test_acquire__free_expired_or_ours__is_granted_and_otherwise_refused(void **state)
{
    bed *b = *state;
    for (size_t k = 0; k < WPT_COUNT(kinds); k++) {
        wp_lease_info *info = NULL;
        int64_t first, second, third;
        prepare(b, kinds[k], "n", 1);
        assert_true((first = acquire(b, kinds[k], "n", "a", SECOND)) > 0);
        wpt_advance_ms(b->clock, 400);
        WPT_OK(wp_lease_acquire(&info, b->store, NULL, kinds[k], "n", "b", SECOND, WPT_ERR));
        assert_false(wp_lease_info_granted(info));
        assert_int_equal(wp_lease_info_now_us(info), wp_clock_utc_us(b->clock));
        assert_int_equal(wp_lease_info_until_us(info), wp_clock_utc_us(b->clock) + 600000);
        assert_string_equal(wp_lease_info_owner(info), kinds[k] == WP_LEASE_SHARED ? "" : "a");
        assert_int_equal(wp_lease_info_limit(info), 1);
        assert_int_equal(wp_lease_info_holders(info), 1);
        assert_in_range(wp_lease_retry_ms(info, 30), 1, 601);
        wp_lease_info_free(info);
        assert_true((second = acquire(b, kinds[k], "n", "a", SECOND)) > first); /* ours */
        wpt_advance_ms(b->clock, 999);
        assert_int_equal(acquire(b, kinds[k], "n", "b", SECOND), 0);
        wpt_advance_ms(b->clock, 1);
        assert_true((third = acquire(b, kinds[k], "n", "b", SECOND)) > second); /* expired */
        assert_int_equal(acquire(b, kinds[k], "n", "a", SECOND), 0);
        assert_int_equal(holders(b, kinds[k], "n"), 1);
        assert_int_equal(release(b, kinds[k], "n", "b", third), 1);
    }
}

/* scenario: LEA-002, LEA-006 */
/* proves: LSE-002, LSE-006, LSE-008 */
static void test_renew__only_while_held(void **state)
{
    bed *b = *state;
    for (size_t k = 0; k < WPT_COUNT(kinds); k++) {
        wp_lease_info *info = NULL;
        int64_t fence, later;
        prepare(b, kinds[k], "n", 1);
        WPT_STATUS(renew(b, kinds[k], "n", "a", 0, SECOND, WPT_ERR), WP_E_LEASE_LOST);
        fence = acquire(b, kinds[k], "n", "a", SECOND);
        wpt_advance_ms(b->clock, 900);
        WPT_OK(wp_lease_renew(&info, b->store, NULL, kinds[k], "n", "a", fence, SECOND, WPT_ERR));
        assert_true(wp_lease_info_granted(info));
        assert_int_equal(wp_lease_info_fence(info), fence);
        assert_int_equal(wp_lease_info_until_us(info), wp_clock_utc_us(b->clock) + 1000000);
        wp_lease_info_free(info);
        wpt_advance_ms(b->clock, 999);
        WPT_OK(renew(b, kinds[k], "n", "a", 0, SECOND, WPT_ERR));
        WPT_STATUS(renew(b, kinds[k], "n", "b", fence, SECOND, WPT_ERR), WP_E_LEASE_LOST);
        WPT_STATUS(renew(b, kinds[k], "m", "a", fence, SECOND, WPT_ERR), WP_E_LEASE_LOST);
        WPT_STATUS(renew(b, kinds[k], "n", "a", fence + 1, SECOND, WPT_ERR), WP_E_LEASE_LOST);
        later = acquire(b, kinds[k], "n", "a", SECOND); /* ends the earlier acquisition */
        WPT_STATUS(renew(b, kinds[k], "n", "a", fence, SECOND, WPT_ERR), WP_E_LEASE_LOST);
        WPT_OK(renew(b, kinds[k], "n", "a", later, SECOND, WPT_ERR));
        wpt_advance_ms(b->clock, 1000); /* expired, though nobody has taken it */
        WPT_STATUS(renew(b, kinds[k], "n", "a", later, SECOND, WPT_ERR), WP_E_LEASE_LOST);
        assert_true(acquire(b, kinds[k], "n", "b", SECOND) > later);
    }
}

/* scenario: LEA-002 */
/* proves: LSE-003, LSE-008 */
static void test_release__frees_at_once_and_only_what_is_held(void **state)
{
    bed *b = *state;
    for (size_t k = 0; k < WPT_COUNT(kinds); k++) {
        int64_t fence, later;
        prepare(b, kinds[k], "n", 1);
        assert_int_equal(release(b, kinds[k], "n", "a", 0), 0);
        fence = acquire(b, kinds[k], "n", "a", SECOND);
        assert_int_equal(release(b, kinds[k], "n", "b", 0), 0);
        assert_int_equal(release(b, kinds[k], "m", "a", fence), 0);
        assert_int_equal(release(b, kinds[k], "n", "a", fence + 1), 0);
        assert_int_equal(acquire(b, kinds[k], "n", "b", SECOND), 0);
        assert_int_equal(release(b, kinds[k], "n", "a", fence), 1);
        assert_int_equal(release(b, kinds[k], "n", "a", fence), 0);
        assert_int_equal(holders(b, kinds[k], "n"), 0);
        WPT_STATUS(renew(b, kinds[k], "n", "a", fence, SECOND, WPT_ERR), WP_E_LEASE_LOST);
        assert_true((later = acquire(b, kinds[k], "n", "b", SECOND)) > fence);
        assert_int_equal(release(b, kinds[k], "n", "a", fence), 0); /* too late, and not its own */
        assert_int_equal(release(b, kinds[k], "n", "b", 0), 1);
    }
}

/* scenario: LEA-002 */
/* proves: LSE-004, LSE-008, SEM-001 */
static void test_fence__rises_with_every_acquire_also_after_cleanup(void **state)
{
    bed *b = *state;
    int64_t last[2] = {0, 0};
    for (int round = 0; round < 12; round++) {
        for (size_t k = 0; k < WPT_COUNT(kinds); k++) {
            int64_t fence;
            size_t removed = 0;
            prepare(b, kinds[k], "n", 1);
            fence = acquire(b, kinds[k], "n", round % 2 ? "a" : "b", SECOND);
            assert_true(fence > last[k]);
            last[k] = fence;
            if (round % 3 == 0)
                assert_int_equal(release(b, kinds[k], "n", round % 2 ? "a" : "b", fence), 1);
            wpt_advance_ms(b->clock, SECOND);
            if (round % 4 < 2) {
                WPT_OK(wp_lease_cleanup(&removed, b->store, 0, WPT_ERR));
                assert_true(removed > 0 || kinds[k] == WP_LEASE_SHARED);
            }
        }
    }
}

/* proves: LSE-008 */
static void test_cleanup__only_what_nobody_has_held_for_so_long(void **state)
{
    bed *b = *state;
    size_t removed = 0;
    wp_lease_info *info = NULL;
    prepare(b, WP_LEASE_SHARED, "s", 5);
    for (int i = 0; i < 5; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%d", i);
        assert_true(acquire(b, WP_LEASE_EXCLUSIVE, name, "a", (i + 1) * SECOND) > 0);
        assert_true(acquire(b, WP_LEASE_SHARED, "s", name, (i + 1) * SECOND) > 0);
    }
    WPT_OK(wp_lease_cleanup(&removed, b->store, 0, WPT_ERR));
    assert_int_equal(removed, 0);
    wpt_advance_ms(b->clock, 3 * SECOND);
    WPT_OK(wp_lease_cleanup(&removed, b->store, 2 * SECOND, WPT_ERR));
    assert_int_equal(removed, 2);
    WPT_OK(wp_lease_cleanup(&removed, b->store, 0, WPT_ERR));
    assert_int_equal(removed, 4);
    WPT_STATUS(wp_lease_get(&info, b->store, NULL, WP_LEASE_EXCLUSIVE, "n2", WPT_ERR),
               WP_E_NOT_FOUND);
    assert_int_equal(holders(b, WP_LEASE_EXCLUSIVE, "n3"), 1);
    assert_int_equal(holders(b, WP_LEASE_SHARED, "s"), 2);
    assert_true(acquire(b, WP_LEASE_SHARED, "s", "n0", SECOND) > 0); /* its place is free again */
    assert_true(acquire(b, WP_LEASE_SHARED, "s", "n1", SECOND) > 0);
    assert_true(acquire(b, WP_LEASE_SHARED, "s", "n2", SECOND) > 0);
    assert_int_equal(acquire(b, WP_LEASE_SHARED, "s", "x", SECOND), 0);
    /* one that was released counts from then on */
    assert_true(acquire(b, WP_LEASE_EXCLUSIVE, "freed", "a", 60 * SECOND) > 0);
    wpt_advance_ms(b->clock, SECOND);
    assert_int_equal(release(b, WP_LEASE_EXCLUSIVE, "freed", "a", 0), 1);
    wpt_advance_ms(b->clock, 3 * SECOND - 1);
    WPT_OK(wp_lease_cleanup(&removed, b->store, 3 * SECOND, WPT_ERR));
    assert_int_equal(holders(b, WP_LEASE_EXCLUSIVE, "freed"), 0);
    wpt_advance_ms(b->clock, 1);
    WPT_OK(wp_lease_cleanup(&removed, b->store, 3 * SECOND, WPT_ERR));
    WPT_STATUS(wp_lease_get(&info, b->store, NULL, WP_LEASE_EXCLUSIVE, "freed", WPT_ERR),
               WP_E_NOT_FOUND);
}

/* scenario: LEA-008 */
/* proves: IBX-021, LSE-008 */
static void test_names__compare_byte_for_byte_and_are_never_cut(void **state)
{
    static const char *const names[] = {"n",         "N",
                                        "n ",        " n",
                                        "n\xcc\x81", "\xc5\x84",
                                        "I",         "\xc4\xb1",
                                        "\xc4\xb0",  "'; DROP TABLE lease; --",
                                        "%s:?1$1{}", "\xf0\x9f\x98\x80"};
    bed *b = *state;
    char *longest = calloc(1, 260);
    int64_t fences[WPT_COUNT(names)];
    assert_non_null(longest);
    for (size_t k = 0; k < WPT_COUNT(kinds); k++) {
        for (size_t i = 0; i < WPT_COUNT(names); i++) {
            prepare(b, kinds[k], names[i], 1);
            fences[i] = acquire(b, kinds[k], names[i], names[i], SECOND);
            assert_true(fences[i] > 0);
        }
        for (size_t i = 0; i < WPT_COUNT(names); i++) {
            /* another owner, also one that differs in a byte only */
            assert_int_equal(
                acquire(b, kinds[k], names[i], names[(i + 1) % WPT_COUNT(names)], SECOND), 0);
            WPT_OK(renew(b, kinds[k], names[i], names[i], fences[i], SECOND, WPT_ERR));
        }
        memset(longest, 'x', 255);
        longest[255] = '\0';
        prepare(b, kinds[k], longest, 1);
        assert_true(acquire(b, kinds[k], longest, longest, SECOND) > 0);
        longest[254] = 'y'; /* another name */
        prepare(b, kinds[k], longest, 1);
        assert_true(acquire(b, kinds[k], longest, "o", SECOND) > 0);
        longest[255] = 'x';
        longest[256] = '\0';
        {
            wp_lease_info *info = NULL;
            WPT_FAILS(
                wp_lease_acquire(&info, b->store, NULL, kinds[k], longest, "o", SECOND, WPT_ERR),
                WP_E_ARGUMENT, "name");
            WPT_FAILS(
                wp_lease_acquire(&info, b->store, NULL, kinds[k], "n", longest, SECOND, WPT_ERR),
                WP_E_ARGUMENT, "owner");
            WPT_FAILS(wp_lease_acquire(&info, b->store, NULL, kinds[k], "", "o", SECOND, WPT_ERR),
                      WP_E_ARGUMENT, "name");
            WPT_FAILS(wp_lease_acquire(&info, b->store, NULL, kinds[k], "n", "", SECOND, WPT_ERR),
                      WP_E_ARGUMENT, "owner");
            WPT_FAILS(wp_lease_acquire(&info, b->store, NULL, kinds[k], "n", "o", 0, WPT_ERR),
                      WP_E_RANGE, "duration_ms");
            WPT_FAILS(wp_lease_acquire(&info, b->store, NULL, kinds[k], "n", "o",
                                       WP_LEASE_MS_MAX + INT64_C(1), WPT_ERR),
                      WP_E_RANGE, "duration_ms");
            WPT_FAILS(renew(b, kinds[k], "n", "o", -1, SECOND, WPT_ERR), WP_E_RANGE, "fence");
            assert_null(info);
        }
    }
    free(longest);
}

/* ---- the app's connection ----------------------------------------------------------------- */

/* scenario: LEA-003 */
/* proves: LSE-001, LSE-004, BND-002 */
static void test_acquire__in_the_apps_transaction__holds_when_that_commits(void **state)
{
    bed *b = *state;
    for (size_t k = 0; k < WPT_COUNT(kinds); k++) {
        int released = 0;
        int64_t fence, first;
        prepare(b, kinds[k], "n", 1);
        bed_exec(b, b->engine->begin);
        assert_true((first = acquire_on(b, b->conn, kinds[k], "n", "a", SECOND)) > 0);
        bed_exec(b, "INSERT INTO orders VALUES (1)");
        bed_exec(b, b->engine->rollback);
        assert_int_equal(bed_number(b, "SELECT count(*) FROM orders"), 0);
        assert_true((fence = acquire(b, kinds[k], "n", "b", SECOND)) > 0); /* no trace */
        assert_true(b->engine->one_writer ||
                    fence > first); /* SQLite takes it back; nobody had it */
        assert_int_equal(release(b, kinds[k], "n", "b", fence), 1);

        bed_exec(b, b->engine->begin);
        first = acquire_on(b, b->conn, kinds[k], "n", "a", SECOND);
        assert_true(first > fence);
        WPT_OK(wp_lease_renew(NULL, b->store, b->conn, kinds[k], "n", "a", first, 2 * SECOND,
                              WPT_ERR));
        bed_exec(b, b->engine->commit);
        assert_int_equal(acquire(b, kinds[k], "n", "b", SECOND), 0);
        bed_exec(b, b->engine->begin);
        WPT_OK(wp_lease_release(&released, b->store, b->conn, kinds[k], "n", "a", first, WPT_ERR));
        assert_int_equal(released, 1);
        bed_exec(b, b->engine->rollback);
        assert_int_equal(holders(b, kinds[k], "n"), 1);
        /* with no transaction each call is one */
        WPT_OK(wp_lease_release(&released, b->store, b->conn, kinds[k], "n", "a", first, WPT_ERR));
        assert_int_equal(holders(b, kinds[k], "n"), 0);
        assert_true(acquire_on(b, b->conn, kinds[k], "n", "c", SECOND) > first);
        assert_int_equal(acquire_on(b, b->conn, kinds[k], "n", "a", SECOND), 0);
    }
}

/* ---- semaphores --------------------------------------------------------------------------- */

/* scenario: LEA-007, LEA-008 */
/* proves: SEM-001 */
static void test_semaphore__as_many_holders_as_the_limit_and_no_request_twice(void **state)
{
    bed *b = *state;
    wp_lease_info *info = NULL;
    int64_t fences[4];
    WPT_FAILS(wp_lease_acquire(&info, b->store, NULL, WP_LEASE_SHARED, "s", "a", SECOND, WPT_ERR),
              WP_E_NOT_FOUND, "semaphore");
    WPT_STATUS(wp_lease_get(&info, b->store, NULL, WP_LEASE_SHARED, "s", WPT_ERR), WP_E_NOT_FOUND);
    WPT_FAILS(wp_semaphore_set_limit(b->store, NULL, "s", -1, WPT_ERR), WP_E_RANGE, "limit");
    WPT_OK(wp_semaphore_set_limit(b->store, NULL, "s", 3, WPT_ERR));
    WPT_OK(wp_semaphore_set_limit(b->store, NULL, "other", 9, WPT_ERR));
    fences[0] = acquire(b, WP_LEASE_SHARED, "s", "a", SECOND);
    fences[1] = acquire(b, WP_LEASE_SHARED, "s", "b", 2 * SECOND);
    fences[2] = acquire(b, WP_LEASE_SHARED, "s", "c", 3 * SECOND);
    assert_true(fences[0] > 0 && fences[1] > fences[0] && fences[2] > fences[1]);
    assert_int_equal(acquire(b, WP_LEASE_SHARED, "s", "d", SECOND), 0);
    assert_true((fences[3] = acquire(b, WP_LEASE_SHARED, "s", "b", 2 * SECOND)) > fences[2]);
    assert_int_equal(holders(b, WP_LEASE_SHARED, "s"), 3);
    WPT_STATUS(renew(b, WP_LEASE_SHARED, "s", "b", fences[1], SECOND, WPT_ERR), WP_E_LEASE_LOST);
    wpt_advance_ms(b->clock, SECOND); /* the first one is over */
    WPT_OK(wp_lease_get(&info, b->store, NULL, WP_LEASE_SHARED, "s", WPT_ERR));
    assert_int_equal(wp_lease_info_limit(info), 3);
    assert_int_equal(wp_lease_info_holders(info), 2);
    assert_int_equal(wp_lease_info_until_us(info), wp_clock_utc_us(b->clock) + 1000000);
    wp_lease_info_free(info);
    assert_true(acquire(b, WP_LEASE_SHARED, "s", "d", SECOND) > fences[3]);
    assert_int_equal(acquire(b, WP_LEASE_SHARED, "s", "a", SECOND), 0);
    assert_int_equal(release(b, WP_LEASE_SHARED, "s", "c", fences[2]), 1);
    assert_true(acquire(b, WP_LEASE_SHARED, "s", "a", SECOND) > 0);
    assert_int_equal(holders(b, WP_LEASE_SHARED, "other"), 0);
}

/* proves: SEM-001 */
static void test_semaphore__lower_limit__only_blocks_new_holders(void **state)
{
    static const char *const owners[] = {"a", "b", "c", "d"};
    bed *b = *state;
    int64_t fences[4];
    WPT_OK(wp_semaphore_set_limit(b->store, NULL, "s", 4, WPT_ERR));
    for (size_t i = 0; i < 4; i++)
        assert_true((fences[i] = acquire(b, WP_LEASE_SHARED, "s", owners[i], SECOND)) > 0);
    WPT_OK(wp_semaphore_set_limit(b->store, NULL, "s", 2, WPT_ERR));
    for (size_t i = 0; i < 4; i++)
        WPT_OK(renew(b, WP_LEASE_SHARED, "s", owners[i], fences[i], SECOND, WPT_ERR));
    assert_true((fences[3] = acquire(b, WP_LEASE_SHARED, "s", "d", SECOND)) >
                0); /* holds already */
    assert_int_equal(release(b, WP_LEASE_SHARED, "s", "a", fences[0]), 1);
    assert_int_equal(acquire(b, WP_LEASE_SHARED, "s", "a", SECOND), 0);
    assert_int_equal(release(b, WP_LEASE_SHARED, "s", "b", fences[1]), 1);
    assert_int_equal(acquire(b, WP_LEASE_SHARED, "s", "a", SECOND), 0);
    assert_int_equal(release(b, WP_LEASE_SHARED, "s", "c", fences[2]), 1);
    assert_true(acquire(b, WP_LEASE_SHARED, "s", "a", SECOND) > 0);
    assert_int_equal(acquire(b, WP_LEASE_SHARED, "s", "b", SECOND), 0);
    WPT_OK(wp_semaphore_set_limit(b->store, NULL, "s", 0, WPT_ERR));
    wpt_advance_ms(b->clock, SECOND);
    assert_int_equal(acquire(b, WP_LEASE_SHARED, "s", "a", SECOND), 0);
    WPT_OK(wp_semaphore_set_limit(b->store, NULL, "s", 1, WPT_ERR));
    assert_true(acquire(b, WP_LEASE_SHARED, "s", "b", SECOND) > 0);
    assert_int_equal(acquire(b, WP_LEASE_SHARED, "s", "a", SECOND), 0);
}

/* One of several who ask for the same request at the same time. */
typedef struct asker {
    bed *bed;
    const char *name;
    wp__thread thread;
    int refused;
} asker;

enum { ASKERS = 4, ASKS = 40 };

static void *ask(void *arg)
{
    asker *a = arg;
    for (int i = 0; i < ASKS; i++)
        a->refused += acquire(a->bed, WP_LEASE_SHARED, a->name, "me", SECOND) == 0;
    return NULL;
}

/* proves: SEM-001 */
static void test_semaphore__one_request_many_times_at_once__has_its_slot_each_time(void **state)
{
    static const char *const names[] = {"one", "five"};
    bed *b = *state;
    for (size_t n = 0; n < WPT_COUNT(names); n++) {
        asker askers[ASKERS];
        WPT_OK(wp_semaphore_set_limit(b->store, NULL, names[n], n ? 5 : 1, WPT_ERR));
        for (int i = 0; i < ASKERS; i++) {
            askers[i] = (asker){.bed = b, .name = names[n]};
            WPT_OK(wp__thread_start(&askers[i].thread, "ask", ask, &askers[i], WPT_ERR));
        }
        for (int i = 0; i < ASKERS; i++) {
            wp__thread_join(&askers[i].thread);
            assert_int_equal(askers[i].refused, 0);
        }
        assert_int_equal(holders(b, WP_LEASE_SHARED, names[n]), 1);
        /* and none of it is counted twice */
        assert_int_equal(acquire(b, WP_LEASE_SHARED, names[n], "you", SECOND) > 0, n == 1);
        assert_int_equal(release(b, WP_LEASE_SHARED, names[n], "me", 0), 1);
        assert_true(acquire(b, WP_LEASE_SHARED, names[n], "you", SECOND) > 0);
    }
}

/* ---- kept --------------------------------------------------------------------------------- */

/* Move time on in steps that the keeper keeps up with. */
static void pass(bed *b, int64_t ms, int64_t step_ms)
{
    for (; ms > 0; ms -= step_ms) {
        const int64_t renewed = counter(b, WP_LEASE_COUNTER_RENEWED);
        const int64_t held = counter(b, WP_LEASE_COUNTER_HELD);
        wpt_advance_ms(b->clock, step_ms);
        WPT_AWAIT(counter(b, WP_LEASE_COUNTER_RENEWED) >= renewed + held ||
                  counter(b, WP_LEASE_COUNTER_LOST) > 0);
    }
}

/* scenario: LEA-004 */
/* proves: LSE-005, SEM-001 */
static void test_hold__for_long__renews_itself_at_its_part_of_the_duration(void **state)
{
    bed *b = *state;
    wp_lease *leases[2];
    int64_t renewed;
    for (size_t k = 0; k < WPT_COUNT(kinds); k++) {
        prepare(b, kinds[k], "n", 1);
        leases[k] = hold(b, kinds[k], "n", 10 * SECOND);
        assert_string_equal(wp_lease_name(leases[k]), "n");
        assert_true(wp_lease_fence(leases[k]) > 0);
    }
    wpt_advance_ms(b->clock, 5300); /* the earliest is at 5400 */
    assert_int_equal(wp_lease_remaining_ms(leases[0]), 3700);
    pass(b, 700, 700);
    pass(b, 60 * SECOND, 6 * SECOND);
    renewed = counter(b, WP_LEASE_COUNTER_RENEWED);
    assert_true(renewed >= 20);
    assert_int_equal(counter(b, WP_LEASE_COUNTER_BATCHES), renewed); /* one of each kind */
    for (size_t k = 0; k < WPT_COUNT(kinds); k++) {
        WPT_OK(wp_lease_check(leases[k], WPT_ERR));
        assert_int_equal(acquire(b, kinds[k], "n", "other", SECOND), 0);
        WPT_OK(wp_lease_end(leases[k], WPT_ERR));
        WPT_OK(wp_lease_end(leases[k], WPT_ERR));
        WPT_STATUS(wp_lease_check(leases[k], WPT_ERR), WP_E_STATE);
        WPT_STATUS(wp_lease_wait_lost(leases[k], -1, WPT_ERR), WP_E_STOPPED);
        assert_int_equal(wp_lease_remaining_ms(leases[k]), 0);
        assert_true(acquire(b, kinds[k], "n", "other", SECOND) > wp_lease_fence(leases[k]));
        wp_lease_free(leases[k]);
    }
    assert_int_equal(counter(b, WP_LEASE_COUNTER_HELD), 0);
    assert_int_equal(counter(b, WP_LEASE_COUNTER_LOST), 0);
}

/* proves: LSE-005 */
static void test_hold__many__are_renewed_together(void **state)
{
    enum { MANY = 300 };
    bed *b = *state;
    wp_lease *leases[MANY];
    for (int i = 0; i < MANY; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%d", i);
        leases[i] = hold(b, WP_LEASE_EXCLUSIVE, name, 100 * SECOND);
    }
    pass(b, 120 * SECOND, 60 * SECOND);
    assert_in_range(counter(b, WP_LEASE_COUNTER_BATCHES), 2, 8);
    for (int i = 0; i < MANY; i++) {
        WPT_OK(wp_lease_check(leases[i], WPT_ERR));
        wp_lease_free(leases[i]);
    }
}

/* Another one has taken it: as if this process had slept through its time. */
/* scenario: LEA-004 */
/* proves: LSE-005 */
static void test_hold__taken_by_another__is_lost_once_and_for_all(void **state)
{
    bed *b = *state;
    for (size_t k = 0; k < WPT_COUNT(kinds); k++) {
        wp_lease *lease, *lost = NULL, *again = NULL, *other;
        wp_store *theirs = b->store;
        prepare(b, kinds[k], "n", 1);
        other = hold(b, WP_LEASE_EXCLUSIVE, "other", 10 * SECOND);
        lease = hold(b, kinds[k], "n", 10 * SECOND);
        /* seen from outside: freed, and acquired by someone else */
        assert_int_equal(release(b, kinds[k], "n", wp_lease_owner(lease), 0), 1);
        assert_true(acquire(b, kinds[k], "n", "thief", WP_LEASE_MS_MAX) > wp_lease_fence(lease));
        WPT_OK(wp_lease_check(lease, WPT_ERR)); /* not known yet */
        WPT_STATUS(wp_lease_wait_lost(lease, 0, WPT_ERR), WP_E_TIMEOUT);
        wpt_advance_ms(b->clock, 6 * SECOND);
        WPT_OK(wp_lease_wait_lost(lease, -1, WPT_ERR));
        WPT_FAILS(wp_lease_check(lease, WPT_ERR), WP_E_LEASE_LOST, "lost");
        WPT_STATUS(wp_lease_renew_now(lease, WPT_ERR), WP_E_LEASE_LOST);
        assert_int_equal(wp_lease_remaining_ms(lease), 0);
        WPT_OK(wp_lease_next_lost(&lost, theirs, -1, WPT_ERR));
        assert_ptr_equal(lost, lease);
        WPT_STATUS(wp_lease_next_lost(&again, theirs, 0, WPT_ERR), WP_E_TIMEOUT); /* given once */
        wp_lease_free(lost);
        WPT_OK(wp_lease_check(other, WPT_ERR));
        WPT_OK(wp_lease_end(lease, WPT_ERR));
        wp_lease_free(lease);
        wp_lease_free(other);
        WPT_STATUS(wp_lease_next_lost(&again, theirs, -1, WPT_ERR), WP_E_STOPPED);
        assert_int_equal(holders(b, kinds[k], "n"), 1); /* the thief's stays */
    }
}

/* scenario: LEA-006 */
/* proves: LSE-006 */
static void test_renew_now__prolongs_or_tells_of_the_loss(void **state)
{
    bed *b = *state;
    wp_lease *lease = hold(b, WP_LEASE_EXCLUSIVE, "n", 10 * SECOND);
    wpt_advance_ms(b->clock, 4 * SECOND);
    assert_int_equal(wp_lease_remaining_ms(lease), 5 * SECOND);
    WPT_OK(wp_lease_renew_now(lease, WPT_ERR));
    assert_int_equal(wp_lease_remaining_ms(lease), 9 * SECOND);
    assert_int_equal(release(b, WP_LEASE_EXCLUSIVE, "n", wp_lease_owner(lease), 0), 1);
    WPT_STATUS(wp_lease_renew_now(lease, WPT_ERR), WP_E_LEASE_LOST);
    WPT_STATUS(wp_lease_check(lease, WPT_ERR), WP_E_LEASE_LOST);
    WPT_OK(wp_lease_wait_lost(lease, 0, WPT_ERR));
    wp_lease_free(lease);
}

typedef struct waiter {
    bed *bed;
    wp_lease_kind kind;
    wp_lease *lease;
    wp_status st;
    wp__thread thread;
} waiter;

static void *wait_for_it(void *arg)
{
    waiter *w = arg;
    w->st =
        wp_lease_hold(&w->lease, NULL, w->bed->store, w->kind, "n", NULL, 60 * SECOND, 60000, NULL);
    return NULL;
}

/* scenario: LEA-005, LEA-006 */
/* proves: LSE-007 */
static void test_hold__with_wait__gets_it_when_it_is_released_or_expires(void **state)
{
    bed *b = *state;
    for (size_t k = 0; k < WPT_COUNT(kinds); k++) {
        wp_lease *lease, *none = NULL;
        wp_lease_info *refused = NULL;
        waiter w = {.bed = b, .kind = kinds[k]};
        prepare(b, kinds[k], "n", 1);
        lease = hold(b, kinds[k], "n", 60 * SECOND);
        WPT_STATUS(
            wp_lease_hold(&none, &refused, b->store, kinds[k], "n", NULL, SECOND, 0, WPT_ERR),
            WP_E_TIMEOUT);
        assert_non_null(refused);
        assert_int_equal(wp_lease_info_until_us(refused), wp_clock_utc_us(b->clock) + 60000000);
        assert_int_equal(wp_lease_info_now_us(refused), wp_clock_utc_us(b->clock));
        wp_lease_info_free(refused);
        WPT_STATUS(wp_lease_hold(&none, NULL, b->store, kinds[k], "n", NULL, SECOND, 30, WPT_ERR),
                   WP_E_TIMEOUT);
        assert_null(none);
        WPT_OK(wp__thread_start(&w.thread, "wait", wait_for_it, &w, WPT_ERR));
        wp_lease_free(lease); /* releases it */
        wp__thread_join(&w.thread);
        assert_int_equal(w.st, WP_OK);
        wp_lease_free(w.lease);

        assert_true(acquire(b, kinds[k], "n", "dead", SECOND) > 0);
        WPT_OK(wp__thread_start(&w.thread, "wait", wait_for_it, &w, WPT_ERR));
        wpt_advance_ms(b->clock, SECOND); /* nobody releases it */
        wp__thread_join(&w.thread);
        assert_int_equal(w.st, WP_OK);
        wp_lease_free(w.lease);
    }
}

typedef struct reign {
    bed *bed;
    int terms;
    int64_t fences[3];
} reign;

/* Its lease is taken from it in the first term. */
static wp_status lead(wp_lease *lease, void *user, wp_error **err)
{
    reign *r = user;
    r->fences[r->terms++] = wp_lease_fence(lease);
    if (r->terms > 1)
        return r->terms == 2 ? WP_OK : WP_E_ARGUMENT;
    WPT_OK(wp_lease_release(NULL, r->bed->store, NULL, WP_LEASE_EXCLUSIVE, "n",
                            wp_lease_owner(lease), 0, WPT_ERR));
    wpt_advance_ms(r->bed->clock, 6 * SECOND);
    WPT_OK(wp_lease_wait_lost(lease, 60000, WPT_ERR));
    return wp_lease_check(lease, err);
}

/* scenario: LEA-009 */
/* proves: LSE-004, LSE-005 */
static void test_lead__lost__begins_anew_and_ends_as_its_work(void **state)
{
    bed *b = *state;
    reign r = {.bed = b};
    WPT_OK(wp_lease_lead(b->store, "n", NULL, 10 * SECOND, 60000, lead, &r, WPT_ERR));
    assert_int_equal(r.terms, 2);
    assert_true(r.fences[1] > r.fences[0]);
    WPT_STATUS(wp_lease_lead(b->store, "n", NULL, 10 * SECOND, 0, lead, &r, WPT_ERR),
               WP_E_ARGUMENT);
    assert_true(r.fences[2] > r.fences[1]);
    assert_true(acquire(b, WP_LEASE_EXCLUSIVE, "n", "you", SECOND) > 0);
    WPT_STATUS(wp_lease_lead(b->store, "n", NULL, 10 * SECOND, 10, lead, &r, WPT_ERR),
               WP_E_TIMEOUT);
}

/* proves: LSE-005, CLK-001 */
static void test_hold__wall_clock_jumps__loses_nothing(void **state)
{
    static const int64_t jumps_s[] = {3600, -7200, 5, -5, 86400};
    bed *b = *state;
    wp_lease *lease = hold(b, WP_LEASE_EXCLUSIVE, "n", 10 * SECOND);
    wp_lease *slot;
    prepare(b, WP_LEASE_SHARED, "n", 1);
    slot = hold(b, WP_LEASE_SHARED, "n", 10 * SECOND);
    wpt_advance_ms(b->clock, 1); /* the keeper has seen the clock */
    for (size_t i = 0; i < WPT_COUNT(jumps_s); i++) {
        int64_t renewed = counter(b, WP_LEASE_COUNTER_RENEWED);
        WPT_OK(wp_clock_jump_us(b->clock, jumps_s[i] * WPT_SECOND_US, WPT_ERR));
        WPT_OK(wp_lease_check(lease, WPT_ERR));
        wpt_advance_ms(b->clock, SECOND); /* when the keeper looks at the clock */
        WPT_AWAIT(counter(b, WP_LEASE_COUNTER_RENEWED) >= renewed + 2 ||
                  counter(b, WP_LEASE_COUNTER_LOST) > 0);
        WPT_OK(wp_lease_check(lease, WPT_ERR));
        WPT_OK(wp_lease_check(slot, WPT_ERR));
        assert_int_equal(acquire(b, WP_LEASE_EXCLUSIVE, "n", "other", SECOND), 0);
        assert_int_equal(acquire(b, WP_LEASE_SHARED, "n", "other", SECOND), 0);
    }
    wp_lease_free(lease);
    wp_lease_free(slot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_acquire__free_expired_or_ours__is_granted_and_otherwise_refused),
        BED_TEST(test_renew__only_while_held),
        BED_TEST(test_release__frees_at_once_and_only_what_is_held),
        BED_TEST(test_fence__rises_with_every_acquire_also_after_cleanup),
        BED_TEST(test_cleanup__only_what_nobody_has_held_for_so_long),
        BED_TEST(test_names__compare_byte_for_byte_and_are_never_cut),
        BED_TEST(test_acquire__in_the_apps_transaction__holds_when_that_commits),
        BED_TEST(test_semaphore__as_many_holders_as_the_limit_and_no_request_twice),
        BED_TEST(test_semaphore__lower_limit__only_blocks_new_holders),
        BED_TEST(test_semaphore__one_request_many_times_at_once__has_its_slot_each_time),
        BED_TEST(test_hold__for_long__renews_itself_at_its_part_of_the_duration),
        BED_TEST(test_hold__many__are_renewed_together),
        BED_TEST(test_hold__taken_by_another__is_lost_once_and_for_all),
        BED_TEST(test_renew_now__prolongs_or_tells_of_the_loss),
        BED_TEST(test_hold__with_wait__gets_it_when_it_is_released_or_expires),
        BED_TEST(test_lead__lost__begins_anew_and_ends_as_its_work),
        BED_TEST(test_hold__wall_clock_jumps__loses_nothing),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
