/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

/* The longest real wait: CLOCK_MONOTONIC, which conditions run on, stands still while the machine
 * sleeps; deadlines are on CLOCK_BOOTTIME, which does not. */
#define REAL_WAIT_MAX_US INT64_C(1000000)

/* Lock calls fail through misuse alone, and nothing sensible can follow. */
static void must(int rc)
{
    if (rc != 0)
        abort();
}

/* ---- locks -------------------------------------------------------------------------------- */

void wp__mutex_init(wp__mutex *mutex)
{
    must(pthread_mutex_init(mutex, NULL));
}

void wp__mutex_destroy(wp__mutex *mutex)
{
    must(pthread_mutex_destroy(mutex));
}

void wp__mutex_lock(wp__mutex *mutex)
{
    must(pthread_mutex_lock(mutex));
}

void wp__mutex_unlock(wp__mutex *mutex)
{
    must(pthread_mutex_unlock(mutex));
}

/* ---- conditions --------------------------------------------------------------------------- */

/* Under a manual clock an advance must wake who waits for a deadline, but the clock cannot take
 * the waiter's mutex: that would order the clock's lock before every such mutex. So the wait is
 * done with `gate`, a lock under which nothing else is ever locked. A waiter holds the gate from
 * before it leaves its mutex and reads the clock until it sleeps; signals and advances go through
 * the gate, and so can come only before the one or after the other. */

static void wake_all(void *arg)
{
    wp__cond_broadcast(arg);
}

static bool gated(const wp__cond *cond)
{
    return wp__clock_is_manual(cond->clock);
}

void wp__cond_init(wp__cond *cond, wp_clock *clock)
{
    pthread_condattr_t attr;
    cond->clock = wp__clock_ref(clock);
    must(pthread_condattr_init(&attr));
    must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    must(pthread_cond_init(&cond->cond, &attr));
    must(pthread_condattr_destroy(&attr));
    must(pthread_mutex_init(&cond->gate, NULL));
    cond->sleeper = (wp__clock_sleeper){wake_all, cond, NULL, NULL};
    wp__clock_register(cond->clock, &cond->sleeper);
}

void wp__cond_destroy(wp__cond *cond)
{
    wp__clock_unregister(cond->clock, &cond->sleeper);
    must(pthread_cond_destroy(&cond->cond));
    must(pthread_mutex_destroy(&cond->gate));
    wp_clock_free(cond->clock);
}

void wp__cond_signal(wp__cond *cond)
{
    if (gated(cond)) {
        must(pthread_mutex_lock(&cond->gate));
        must(pthread_cond_signal(&cond->cond));
        must(pthread_mutex_unlock(&cond->gate));
    } else {
        must(pthread_cond_signal(&cond->cond));
    }
}

void wp__cond_broadcast(wp__cond *cond)
{
    if (gated(cond)) {
        must(pthread_mutex_lock(&cond->gate));
        must(pthread_cond_broadcast(&cond->cond));
        must(pthread_mutex_unlock(&cond->gate));
    } else {
        must(pthread_cond_broadcast(&cond->cond));
    }
}

void wp__cond_wait(wp__cond *cond, wp__mutex *mutex)
{
    (void)wp__cond_wait_until(cond, mutex, WP__FOREVER);
}

static bool passed(const wp__cond *cond, int64_t deadline_us)
{
    return deadline_us != WP__FOREVER && wp__clock_mono_us(cond->clock) >= deadline_us;
}

static void wait_gated(wp__cond *cond, wp__mutex *mutex, int64_t deadline_us)
{
    must(pthread_mutex_lock(&cond->gate));
    wp__mutex_unlock(mutex);
    if (!passed(cond, deadline_us))
        must(pthread_cond_wait(&cond->cond, &cond->gate));
    must(pthread_mutex_unlock(&cond->gate));
    wp__mutex_lock(mutex);
}

/* Wait for at most REAL_WAIT_MAX_US of `us`. True if it was not for the time. */
static bool wait_real(wp__cond *cond, wp__mutex *mutex, int64_t us)
{
    struct timespec until;
    int rc = 0;
    int64_t ns = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    ns = until.tv_nsec + (us < REAL_WAIT_MAX_US ? us : REAL_WAIT_MAX_US) * 1000;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    rc = pthread_cond_timedwait(&cond->cond, mutex, &until);
    if (rc == ETIMEDOUT)
        return false;
    must(rc);
    return true;
}

bool wp__cond_wait_until(wp__cond *cond, wp__mutex *mutex, int64_t deadline_us)
{
    int64_t left = 0;
    if (gated(cond)) {
        wait_gated(cond, mutex, deadline_us);
    } else if (deadline_us == WP__FOREVER) {
        must(pthread_cond_wait(&cond->cond, mutex));
    } else {
        do
            left = deadline_us - wp__clock_mono_us(cond->clock);
        while (left > 0 && !wait_real(cond, mutex, left));
    }
    return !passed(cond, deadline_us);
}

/* ---- threads ------------------------------------------------------------------------------ */

wp_status wp__thread_start(wp__thread *thread, const char *name, void *(*fn)(void *), void *arg,
                           wp_error **err)
{
    char kept[16];
    sigset_t all, old;
    int rc = 0;
    (void)snprintf(kept, sizeof kept, "%.15s", name);
    (void)sigfillset(&all);
    must(pthread_sigmask(SIG_SETMASK, &all, &old)); /* inherited: the host's signals are its own */
    rc = pthread_create(&thread->thread, NULL, fn, arg);
    must(pthread_sigmask(SIG_SETMASK, &old, NULL));
    if (rc == EAGAIN)
        return wp__fail(err, WP_E_NOMEM, "thread %s cannot start: too many threads", kept);
    if (rc != 0)
        return wp__fail(err, WP_E_INTERNAL, "thread %s cannot start: error %d", kept, rc);
    thread->started = true;
    (void)pthread_setname_np(thread->thread, kept); /* only for debuggers */
    return WP_OK;
}

void wp__thread_join(wp__thread *thread)
{
    if (!thread->started)
        return;
    must(pthread_join(thread->thread, NULL));
    thread->started = false;
}

void wp__thread_detach(wp__thread *thread)
{
    if (!thread->started)
        return;
    must(pthread_detach(thread->thread));
    thread->started = false;
}

bool wp__thread_is_self(const wp__thread *thread)
{
    return thread->started && pthread_equal(thread->thread, pthread_self());
}

/* ---- process ------------------------------------------------------------------------------ */

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static atomic_bool fork_seen;      /* the handler below is in place */
static _Atomic int64_t process_id; /* 0: not asked since the last fork */
static _Atomic uint64_t generation;

static void after_fork(void)
{
    atomic_store_explicit(&process_id, 0, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}

static void watch_forks(void)
{
    atomic_store(&fork_seen, pthread_atfork(NULL, NULL, after_fork) == 0);
}

int64_t wp__process_id(void)
{
    int64_t id = atomic_load_explicit(&process_id, memory_order_relaxed);
    if (id == 0) {
        must(pthread_once(&fork_once, watch_forks));
        id = getpid();
        if (atomic_load(&fork_seen))
            atomic_store_explicit(&process_id, id, memory_order_relaxed);
    }
    return id;
}

uint64_t wp__process_generation(void)
{
    const int64_t id = wp__process_id(); /* sees to it that forks are seen */
    if (!atomic_load_explicit(&fork_seen, memory_order_relaxed))
        return (uint64_t)id;
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

int64_t wp__process_memory(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    char line[128];
    char *end = line;
    int64_t pages = -1;
    if (!file)
        return -1;
    if (fgets(line, sizeof line, file)) {
        (void)strtoll(line, &end, 10); /* all of it; the second number is what is resident */
        pages = strtoll(end, &end, 10);
    }
    (void)fclose(file);
    return pages < 0 ? -1 : pages * sysconf(_SC_PAGESIZE);
}

void wp__host_name(char *out, size_t size)
{
    char name[256] = "";
    char *clean = NULL;
    assert(size > 0);
    if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0')
        (void)snprintf(name, sizeof name, "localhost");
    clean = wp__text_clean(name, size - 1, NULL);
    (void)snprintf(out, size, "%s", clean ? clean : "");
    free(clean);
}

/* ---- random ------------------------------------------------------------------------------- */

/* splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t mix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

void wp__random_bytes(void *out, size_t size)
{
    unsigned char *p = out;
    uint64_t state = 0, word = 0;
    ssize_t n = 0;
    while (size > 0 && ((n = getrandom(p, size, 0)) > 0 || errno == EINTR)) {
        if (n > 0) {
            p += n;
            size -= (size_t)n;
        }
    }
    /* No getrandom(), as under an old kernel or a seccomp filter: time, process and stack. */
    state = (uint64_t)wp__real_mono_us() ^ ((uint64_t)wp__process_id() << 40) ^
            ((uint64_t)(uintptr_t)&state << 8);
    for (; size > 0; size--) {
        word = mix(&state);
        *p++ = (unsigned char)word;
    }
}

uint64_t wp__random(void)
{
    static _Thread_local uint64_t state;
    static _Thread_local uint64_t seeded; /* the generation, plus 1 */
    const uint64_t now = wp__process_generation() + 1;
    if (seeded != now) {
        wp__random_bytes(&state, sizeof state);
        seeded = now;
    }
    return mix(&state);
}

/* ---- real time ---------------------------------------------------------------------------- */

void wp__sleep_us(int64_t us)
{
    struct timespec left = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    while (us > 0 && clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
    }
}

int64_t wp__real_mono_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t wp__real_deadline_us(int64_t timeout_ms)
{
    static const int64_t never_ms = INT64_C(1000) * 86400000;
    if (timeout_ms < 0 || timeout_ms > never_ms)
        return WP__FOREVER;
    return wp__real_mono_us() + timeout_ms * 1000;
}
