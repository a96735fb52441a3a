/* SPDX-License-Identifier: Apache-2.0 */
/* Time, temporary files, child processes. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

static char directory[BENCH_PATH - 64];

void bench_die(const char *format, ...)
{
    va_list args;
    (void)fputs("\nbench: ", stderr);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    exit(1);
}

void bench_ok(wp_status st, wp_error **err, const char *doing)
{
    if (st != WP_OK)
        bench_die("%s: %s", doing, *err ? wp_error_message(*err) : wp_status_name(st));
    wp_error_free(*err);
    *err = NULL;
}

void bench_sqlite(int rc, sqlite3 *db, const char *doing)
{
    if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW)
        bench_die("%s: %s", doing, sqlite3_errmsg(db));
}

static int64_t read_us(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t bench_now_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t bench_utc_us(void)
{
    return read_us(CLOCK_REALTIME);
}

double bench_cpu_ms(void)
{
    return (double)read_us(CLOCK_PROCESS_CPUTIME_ID) / 1000;
}

void bench_sleep_us(int64_t us)
{
    struct timespec left = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

void bench_dir_make(void)
{
    const char *base = getenv("TMPDIR");
    (void)snprintf(directory, sizeof directory, "%s/waypost-bench-XXXXXX",
                   base && *base ? base : "/tmp");
    if (!mkdtemp(directory))
        bench_die("%s: %s", directory, strerror(errno));
}

void bench_dir_remove(void)
{
    if (directory[0])
        (void)rmdir(directory);
}

void bench_path(char out[BENCH_PATH])
{
    static int number;
    (void)snprintf(out, BENCH_PATH, "%s/%d.db", directory, number++);
}

void bench_unlink(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char name[BENCH_PATH + 8];
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        (void)unlink(name);
    }
}

const char *bench_payload(void)
{
    static char text[BENCH_PAYLOAD + 1];
    int used;
    if (text[0])
        return text;
    used = snprintf(text, sizeof text, "{\"order\":4711,\"note\":\"");
    memset(text + used, 'x', sizeof text - (size_t)used);
    (void)snprintf(text + BENCH_PAYLOAD - 2, 3, "\"}");
    return text;
}

int64_t bench_spawn(int *out, const char *const *arguments)
{
    int ends[2];
    pid_t pid;
    if (!arguments[0])
        bench_die("there is nothing to run");
    (void)fflush(stdout);
    if (pipe(ends) != 0)
        bench_die("pipe: %s", strerror(errno));
    pid = fork();
    if (pid < 0)
        bench_die("fork: %s", strerror(errno));
    if (pid == 0) {
        char *argv[16] = {NULL};
        for (size_t i = 0; i < 15 && arguments[i]; i++)
            memcpy(&argv[i], &arguments[i], sizeof argv[i]); /* it does not write to them */
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)execvp(arguments[0], argv);
        (void)fprintf(stderr, "bench: %s: %s\n", arguments[0], strerror(errno));
        _exit(127);
    }
    (void)close(ends[1]);
    *out = ends[0];
    return pid;
}

char *bench_collect(int64_t pid, int out)
{
    size_t used = 0;
    size_t size = 65536;
    char *text = malloc(size);
    ssize_t got = 1;
    int status = 0;
    while (text && got > 0) {
        if (size - used < 4096) {
            char *more = realloc(text, size *= 2);
            if (!more)
                free(text);
            text = more;
        }
        got = text ? read(out, text + used, size - used - 1) : 0;
        used += got > 0 ? (size_t)got : 0;
    }
    (void)close(out);
    if (!text)
        bench_die("out of memory");
    text[used] = '\0';
    if (waitpid((pid_t)pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_die("a child process failed; what it wrote: %s", text);
    return text;
}
