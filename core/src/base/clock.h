/* SPDX-License-Identifier: Apache-2.0 */
/* Two times: the wall clock (UTC) and elapsed time that counts suspend (CLOCK_BOOTTIME on Linux),
 * both in microseconds, both replaceable by a manual clock. Where a clock is taken to be read or
 * referenced, NULL is the system's. Reading a clock takes no lock. */
#ifndef WP__CLOCK_H
#define WP__CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <waypost/config.h>

#define WP__FOREVER INT64_MAX

/* The system's clock: a static object, references to it count for nothing. */
wp_clock *wp__clock_system(void);
wp_clock *wp__clock_ref(wp_clock *clock);
int64_t wp__clock_mono_us(const wp_clock *clock);
bool wp__clock_is_manual(const wp_clock *clock);
/* True if the wall clock was set since the last call with this *offset (0: the first call). */
bool wp__clock_was_set(wp_clock *clock, int64_t *offset);
/* Write `utc_us` as RFC 3339 with microseconds, "2026-11-28T01:02:03.456789Z"; times outside the
 * years 1 to 9999 become the nearest one inside. */
void wp__clock_format_utc(char out[28], int64_t utc_us);

/* Someone who must be woken when a manual clock moves. Under the system's clock nothing happens.
 * `wake` is called with the clock's lock held: it must not take locks that are held while calling
 * into the clock (to move it, or to register); signalling a condition or an eventfd is what it is
 * for. The new time is visible to readers before `wake` is called, so who first makes itself
 * wakeable and then reads the clock never misses a move. */
typedef struct wp__clock_sleeper {
    void (*wake)(void *arg);
    void *arg;
    struct wp__clock_sleeper *next;
    struct wp__clock_sleeper *prev;
} wp__clock_sleeper;
void wp__clock_register(wp_clock *clock, wp__clock_sleeper *sleeper);
void wp__clock_unregister(wp_clock *clock, wp__clock_sleeper *sleeper);

#endif
