/* SPDX-License-Identifier: Apache-2.0 */
/* What a database thread sleeps on: a signal from this process, a change of a file made by any
 * process, or a deadline. On Linux an eventfd and inotify under poll(). */
#ifndef WP__WAITER_H
#define WP__WAITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"

typedef struct wp__waiter wp__waiter;

enum {
    WP__WOKE_DEADLINE = 0,
    WP__WOKE_SIGNAL = 1, /* bit */
    WP__WOKE_CHANGE = 2, /* bit */
    WP__WOKE_INPUT = 4   /* bit */
};

wp_status wp__waiter_new(wp__waiter **out, wp_clock *clock, wp_error **err);
void wp__waiter_free(wp__waiter *waiter);

/* Watch the database file `path`, its -wal and its -journal: the directory is watched for writes
 * to those three names, so that files which come and go are seen. False where the platform or the
 * file system cannot (no error: the caller polls). Replaces an earlier watch. The waiting thread,
 * or any one before it first waits. */
bool wp__waiter_watch(wp__waiter *waiter, const char *path);
/* False without a watch, also once the directory is gone or was renamed (which is reported as a
 * change): the caller polls. The waiting thread. */
bool wp__waiter_is_watching(const wp__waiter *waiter);

/* Wake when a descriptor that someone else owns becomes readable, too; -1: none any more. It is not
 * read: the caller does that before it waits again. The waiting thread. */
void wp__waiter_watch_input(wp__waiter *waiter, int fd);

/* Wake the waiter now, or at its next wait. Any thread. Costs no system call when it is awake and
 * already signalled. */
void wp__waiter_signal(wp__waiter *waiter);

/* Wait until signalled, changed, or until wp__clock_mono_us() is `deadline_us`. Returns the WOKE
 * bits; pending ones are returned at once and cleared. One thread. Under a manual clock the
 * deadline passes when the clock is advanced. */
unsigned wp__waiter_wait(wp__waiter *waiter, int64_t deadline_us);

/* Forget changes seen so far, without waiting (after the caller looked by itself). */
void wp__waiter_drain(wp__waiter *waiter);

#endif
