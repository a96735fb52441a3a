/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/date.h"
#include "base/error.h"
#include "base/thread.h"

/* 0001-01-01T00:00:00 to 9999-12-31T23:59:59.999999: what RFC 3339 and the databases can hold. */
#define UTC_MIN INT64_C(-62135596800000000)
#define UTC_MAX INT64_C(253402300799999999)
#define US_PER_DAY INT64_C(86400000000)

/* Elapsed time starts above 0, so that "0 = never" works under a manual clock too. */
#define MANUAL_START_US INT64_C(1000000)

struct wp_clock {
    bool manual;
    atomic_int refs;
    wp__mutex lock;      /* of all changes, and of the sleepers */
    _Atomic int64_t utc; /* read without the lock */
    _Atomic int64_t mono;
    wp__clock_sleeper *sleepers;
};

static wp_clock system_clock = {.manual = false};

static int64_t read_us(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now); /* cannot fail for the clocks asked for here */
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

wp_clock *wp__clock_system(void)
{
    return &system_clock;
}

wp_clock *wp__clock_ref(wp_clock *clock)
{
    if (!clock)
        return &system_clock;
    if (clock->manual)
        (void)atomic_fetch_add_explicit(&clock->refs, 1, memory_order_relaxed);
    return clock;
}

bool wp__clock_is_manual(const wp_clock *clock)
{
    return clock && clock->manual;
}

int64_t wp__clock_mono_us(const wp_clock *clock)
{
    return wp__clock_is_manual(clock) ? atomic_load(&clock->mono) : wp__real_mono_us();
}

bool wp__clock_was_set(wp_clock *clock, int64_t *offset)
{
    enum { SLACK_US = 500000 }; /* slewing and the time between two readings are less */
    int64_t now, before;
    if (wp__clock_is_manual(clock)) /* not in the midst of an advance */
        wp__mutex_lock(&clock->lock);
    now = wp_clock_utc_us(clock) - wp__clock_mono_us(clock);
    if (wp__clock_is_manual(clock))
        wp__mutex_unlock(&clock->lock);
    before = *offset;
    *offset = now;
    return before != 0 && (now - before > SLACK_US || before - now > SLACK_US);
}

int64_t wp_clock_utc_us(const wp_clock *clock)
{
    return wp__clock_is_manual(clock) ? atomic_load(&clock->utc) : read_us(CLOCK_REALTIME);
}

wp_status wp_clock_new_manual(wp_clock **out, int64_t utc_us, wp_error **err)
{
    wp_clock *clock = NULL;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is null");
    if (utc_us < UTC_MIN || utc_us > UTC_MAX)
        return wp__fail(err, WP_E_RANGE, "utc_us is outside the years 1 to 9999");
    clock = calloc(1, sizeof *clock);
    if (!clock)
        return wp__fail_nomem(err);
    clock->manual = true;
    atomic_init(&clock->refs, 1);
    atomic_init(&clock->utc, utc_us);
    atomic_init(&clock->mono, MANUAL_START_US);
    wp__mutex_init(&clock->lock);
    *out = clock;
    return WP_OK;
}

void wp_clock_free(wp_clock *clock)
{
    if (!clock || !clock->manual || atomic_fetch_sub(&clock->refs, 1) != 1)
        return;
    assert(!clock->sleepers);
    wp__mutex_destroy(&clock->lock);
    free(clock);
}

static wp_status check_manual(const wp_clock *clock, wp_error **err)
{
    if (!clock)
        return wp__fail(err, WP_E_ARGUMENT, "clock is null");
    if (!clock->manual)
        return wp__fail(err, WP_E_STATE, "clock is not a manual clock");
    return WP_OK;
}

/* True if the wall clock may be moved by `us`. @locks clock->lock */
static bool utc_fits(const wp_clock *clock, int64_t us)
{
    const int64_t utc = atomic_load(&clock->utc);
    return us >= 0 ? us <= UTC_MAX - utc : us >= UTC_MIN - utc;
}

wp_status wp_clock_advance_us(wp_clock *clock, int64_t us, wp_error **err)
{
    wp__clock_sleeper *sleeper = NULL;
    wp_status st = check_manual(clock, err);
    if (st != WP_OK)
        return st;
    wp__mutex_lock(&clock->lock);
    if (us < 0 || !utc_fits(clock, us) || us > INT64_MAX / 2 - atomic_load(&clock->mono)) {
        st = WP_E_RANGE;
    } else {
        (void)atomic_fetch_add(&clock->utc, us);
        (void)atomic_fetch_add(&clock->mono, us);
        for (sleeper = clock->sleepers; sleeper; sleeper = sleeper->next)
            sleeper->wake(sleeper->arg);
    }
    wp__mutex_unlock(&clock->lock);
    if (st != WP_OK)
        return wp__fail(err, st, "us is negative, or moves the clock past the year 9999");
    return WP_OK;
}

wp_status wp_clock_jump_us(wp_clock *clock, int64_t us, wp_error **err)
{
    wp_status st = check_manual(clock, err);
    if (st != WP_OK)
        return st;
    wp__mutex_lock(&clock->lock);
    if (utc_fits(clock, us))
        (void)atomic_fetch_add(&clock->utc, us);
    else
        st = WP_E_RANGE;
    wp__mutex_unlock(&clock->lock);
    if (st != WP_OK)
        return wp__fail(err, st, "us moves the clock outside the years 1 to 9999");
    return WP_OK;
}

void wp__clock_register(wp_clock *clock, wp__clock_sleeper *sleeper)
{
    if (!wp__clock_is_manual(clock))
        return;
    wp__mutex_lock(&clock->lock);
    sleeper->prev = NULL;
    sleeper->next = clock->sleepers;
    if (sleeper->next)
        sleeper->next->prev = sleeper;
    clock->sleepers = sleeper;
    wp__mutex_unlock(&clock->lock);
}

void wp__clock_unregister(wp_clock *clock, wp__clock_sleeper *sleeper)
{
    if (!wp__clock_is_manual(clock))
        return;
    wp__mutex_lock(&clock->lock);
    if (sleeper->next)
        sleeper->next->prev = sleeper->prev;
    if (sleeper->prev)
        sleeper->prev->next = sleeper->next;
    else
        clock->sleepers = sleeper->next;
    sleeper->next = sleeper->prev = NULL;
    wp__mutex_unlock(&clock->lock);
}

void wp__clock_format_utc(char out[28], int64_t utc_us)
{
    const int64_t us = (utc_us < UTC_MIN ? UTC_MIN : utc_us > UTC_MAX ? UTC_MAX : utc_us) - UTC_MIN;
    const wp__date date = wp__date_from_days(us / US_PER_DAY + UTC_MIN / US_PER_DAY);
    const unsigned second = (unsigned)(us % US_PER_DAY / 1000000);
    char text[64]; /* room for what the compiler thinks the numbers could be */
    (void)snprintf(text, sizeof text, "%04d-%02d-%02dT%02u:%02u:%02u.%06uZ", date.year, date.month,
                   date.day, second / 3600, second / 60 % 60, second % 60,
                   (unsigned)(us % 1000000));
    (void)snprintf(out, 28, "%.27s", text);
}
