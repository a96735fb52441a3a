/* SPDX-License-Identifier: Apache-2.0 */
#include "base/waiter.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"

/* As in thread.c: poll() does not count the time that the machine sleeps, deadlines do. */
#define REAL_WAIT_MAX_US INT64_C(1000000)

/* Reads of the inotify queue in a row: a busy writer may fill it as fast as it is read. */
enum { READS_MAX = 16 };

struct wp__waiter {
    wp_clock *clock; /* referenced */
    wp__clock_sleeper sleeper;
    int event_fd;
    int inotify_fd;        /* -1: no watch */
    int input_fd;          /* someone else's; -1: none */
    char *name;            /* of the database file, without its directory */
    atomic_bool signalled; /* set before the eventfd is written, cleared after it is read */
};

static void write_event(const wp__waiter *waiter)
{
    const uint64_t one = 1;
    ssize_t n = 0;
    do /* EAGAIN: the counter is full, so the waiter wakes anyway */
        n = write(waiter->event_fd, &one, sizeof one);
    while (n < 0 && errno == EINTR);
}

/* The clock moved: have the deadline looked at again. */
static void wake(void *arg)
{
    write_event(arg);
}

wp_status wp__waiter_new(wp__waiter **out, wp_clock *clock, wp_error **err)
{
    wp__waiter *waiter = calloc(1, sizeof *waiter);
    if (!waiter)
        return wp__fail_nomem(err);
    waiter->inotify_fd = -1;
    waiter->input_fd = -1;
    waiter->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (waiter->event_fd < 0) {
        const int code = errno;
        free(waiter);
        return wp__fail(err, WP_E_NOMEM, "eventfd() failed: error %d", code);
    }
    waiter->clock = wp__clock_ref(clock);
    waiter->sleeper = (wp__clock_sleeper){wake, waiter, NULL, NULL};
    wp__clock_register(waiter->clock, &waiter->sleeper);
    *out = waiter;
    return WP_OK;
}

/* The watch goes with the descriptor. It is not removed by hand: in a forked child that would
 * remove the parent's. */
static void unwatch(wp__waiter *waiter)
{
    if (waiter->inotify_fd >= 0)
        (void)close(waiter->inotify_fd);
    waiter->inotify_fd = -1;
    free(waiter->name);
    waiter->name = NULL;
}

void wp__waiter_free(wp__waiter *waiter)
{
    if (!waiter)
        return;
    wp__clock_unregister(waiter->clock, &waiter->sleeper);
    wp_clock_free(waiter->clock);
    unwatch(waiter);
    (void)close(waiter->event_fd);
    free(waiter);
}

/* ---- the watch ---------------------------------------------------------------------------- */

/* Network file systems tell of this machine's writes only. */
static bool is_remote(const char *directory)
{
    static const unsigned remote[] = {
        0x6969 /* NFS */,      0x517B /* SMB */,      0xFF534D42 /* CIFS */,
        0xFE534D42 /* SMB2 */, 0x00C36400 /* Ceph */, 0x5346414F /* AFS */,
    };
    struct statfs info;
    size_t i = 0;
    if (statfs(directory, &info) != 0)
        return true;
    for (i = 0; i < sizeof remote / sizeof remote[0]; i++)
        if ((unsigned)info.f_type == remote[i])
            return true;
    return false;
}

/* The absolute path of a database file that may not exist yet, links resolved: SQLite puts the
 * -wal beside the file itself, not beside a link to it. NULL: no such directory. */
static char *resolve(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *directory = NULL, *real = realpath(path, NULL);
    wp__buf out = {0};
    if (real || *name == '\0')
        return real;
    directory = slash ? wp__text_ndup(path, (size_t)(slash - path) + 1) : wp__text_dup(".");
    real = directory ? realpath(directory, NULL) : NULL;
    free(directory);
    if (!real)
        return NULL;
    wp__buf_fmt(&out, "%s/%s", real, name);
    free(real);
    return wp__buf_take(&out);
}

bool wp__waiter_watch(wp__waiter *waiter, const char *path)
{
    char *real = resolve(path), *slash = NULL;
    const char *directory = "/";
    int fd = -1;
    unwatch(waiter);
    if (!real)
        goto done;
    slash = strrchr(real, '/');
    waiter->name = wp__text_dup(slash + 1);
    *slash = '\0';
    if (*real)
        directory = real;
    fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd >= 0 && waiter->name && !is_remote(directory) &&
        inotify_add_watch(fd, directory,
                          IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                              IN_MOVE_SELF | IN_ONLYDIR) >= 0) {
        waiter->inotify_fd = fd;
        fd = -1;
    }
done:
    if (fd >= 0)
        (void)close(fd);
    free(real);
    return waiter->inotify_fd >= 0;
}

bool wp__waiter_is_watching(const wp__waiter *waiter)
{
    return waiter->inotify_fd >= 0;
}

/* True if `name` is the database file, its -wal or its -journal. */
static bool is_ours(const wp__waiter *waiter, const char *name)
{
    const size_t len = strlen(waiter->name);
    if (strncmp(name, waiter->name, len) != 0)
        return false;
    name += len;
    return *name == '\0' || strcmp(name, "-wal") == 0 || strcmp(name, "-journal") == 0;
}

/* Read the waiting inotify events; true if one of them matters. */
static bool read_changes(wp__waiter *waiter)
{
    _Alignas(struct inotify_event) char buffer[4096];
    const struct inotify_event *event = NULL;
    const char *at = NULL;
    bool changed = false;
    ssize_t n = 0;
    int reads = 0;
    while (waiter->inotify_fd >= 0 && reads++ < READS_MAX) {
        n = read(waiter->inotify_fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        for (at = buffer; at < buffer + n; at += sizeof *event + event->len) {
            event = (const struct inotify_event *)(const void *)at;
            if (event->mask & (IN_IGNORED | IN_UNMOUNT | IN_MOVE_SELF)) {
                unwatch(waiter); /* the directory is gone */
                return true;
            }
            /* An overflow lost events that may have mattered. */
            if ((event->mask & IN_Q_OVERFLOW) || (event->len > 0 && is_ours(waiter, event->name)))
                changed = true;
        }
    }
    return changed;
}

/* ---- waiting ------------------------------------------------------------------------------ */

void wp__waiter_signal(wp__waiter *waiter)
{
    if (!atomic_exchange(&waiter->signalled, true))
        write_event(waiter);
}

void wp__waiter_watch_input(wp__waiter *waiter, int fd)
{
    waiter->input_fd = fd;
}

static bool has_input(const wp__waiter *waiter)
{
    struct pollfd p = {waiter->input_fd, POLLIN, 0};
    return waiter->input_fd >= 0 && poll(&p, 1, 0) > 0;
}

/* Sleep in poll() for up to `us`, WP__FOREVER without limit. */
static void sleep_us(const wp__waiter *waiter, int64_t us)
{
    struct pollfd fds[] = {{waiter->event_fd, POLLIN, 0},
                           {waiter->inotify_fd, POLLIN, 0},
                           {waiter->input_fd, POLLIN, 0}};
    const struct timespec limit = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    (void)ppoll(fds, sizeof fds / sizeof fds[0], us == WP__FOREVER ? NULL : &limit,
                NULL); /* skips a negative fd */
}

/* Take what is pending. The eventfd is read before the flag is cleared: a signal between the two
 * finds the flag set, writes nothing, and is the one reported here. */
static unsigned take(wp__waiter *waiter)
{
    uint64_t count = 0;
    unsigned woke = 0;
    (void)!read(waiter->event_fd, &count, sizeof count);
    if (atomic_exchange(&waiter->signalled, false))
        woke |= WP__WOKE_SIGNAL;
    if (read_changes(waiter))
        woke |= WP__WOKE_CHANGE;
    if (has_input(waiter))
        woke |= WP__WOKE_INPUT;
    return woke;
}

unsigned wp__waiter_wait(wp__waiter *waiter, int64_t deadline_us)
{
    int64_t left = 0;
    unsigned woke = 0;
    for (;;) {
        woke = take(waiter);
        if (woke)
            return woke;
        left = deadline_us == WP__FOREVER ? WP__FOREVER
                                          : deadline_us - wp__clock_mono_us(waiter->clock);
        if (left <= 0)
            return WP__WOKE_DEADLINE;
        if (wp__clock_is_manual(waiter->clock))
            left = WP__FOREVER; /* the clock wakes us; it moved before take() or it writes later */
        else if (left != WP__FOREVER && left > REAL_WAIT_MAX_US)
            left = REAL_WAIT_MAX_US;
        sleep_us(waiter, left);
    }
}

void wp__waiter_drain(wp__waiter *waiter)
{
    (void)read_changes(waiter);
}
