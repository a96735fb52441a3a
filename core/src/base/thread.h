/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, locks and process ids: the only place that knows the platform's. */
#ifndef WP__THREAD_H
#define WP__THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"

typedef pthread_mutex_t wp__mutex;
void wp__mutex_init(wp__mutex *mutex);
void wp__mutex_destroy(wp__mutex *mutex);
void wp__mutex_lock(wp__mutex *mutex);
void wp__mutex_unlock(wp__mutex *mutex);

/* A condition whose timed wait runs on a wp_clock. Under a manual clock it wakes when the clock
 * is advanced. It must not move in memory once initialised. `clock` NULL: the system's. */
typedef struct wp__cond {
    pthread_cond_t cond;
    pthread_mutex_t gate; /* manual clock only: what `cond` is waited for with, see thread.c */
    wp_clock *clock;      /* referenced */
    wp__clock_sleeper sleeper;
} wp__cond;
void wp__cond_init(wp__cond *cond, wp_clock *clock);
void wp__cond_destroy(wp__cond *cond);
void wp__cond_signal(wp__cond *cond);
void wp__cond_broadcast(wp__cond *cond);
void wp__cond_wait(wp__cond *cond, wp__mutex *mutex);
/* Wait until signalled or until elapsed time is `deadline_us` (wp__clock_mono_us()); WP__FOREVER
 * waits without one. False once the deadline has passed, even if signalled too: look at what was
 * waited for in either case. May wake for nothing. */
bool wp__cond_wait_until(wp__cond *cond, wp__mutex *mutex, int64_t deadline_us);

typedef struct wp__thread {
    pthread_t thread;
    bool started;
} wp__thread;
/* Start a thread with all signals blocked, named `name` (15 characters at most are kept). */
wp_status wp__thread_start(wp__thread *thread, const char *name, void *(*fn)(void *), void *arg,
                           wp_error **err);
void wp__thread_join(wp__thread *thread);
void wp__thread_detach(wp__thread *thread);
/* True if the caller runs on this thread. */
bool wp__thread_is_self(const wp__thread *thread);

/* The process's id. Cheap enough to ask at each public call. */
int64_t wp__process_id(void);
/* How often this process has forked away from its ancestors since the library's first use: what
 * was random before a change of this is random no more. As cheap. */
uint64_t wp__process_generation(void);
/* How many bytes of memory this process has now; -1: that cannot be found out. */
int64_t wp__process_memory(void);
/* The host's name, cut to fit, for default worker names. */
void wp__host_name(char *out, size_t size);
/* Fill with random bytes of the system, good enough for ids. Never fails. */
void wp__random_bytes(void *out, size_t size);
/* A pseudo-random number for jitter, seeded per process from the system; not for secrets. */
uint64_t wp__random(void);
/* Sleep in real time whatever the clock; only for busy retries. */
void wp__sleep_us(int64_t us);
/* Real elapsed time whatever the clock; only for busy retries and stop's deadline. */
int64_t wp__real_mono_us(void);
/* The real instant at which a host's timeout ends; negative and very long ones never do. */
int64_t wp__real_deadline_us(int64_t timeout_ms);

#endif
