/* SPDX-License-Identifier: Apache-2.0 */
/* A worker whose handler is a program: one process for each message. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

enum {
    EXIT_REJECT = 65,  /* EX_DATAERR of sysexits.h: the message is bad, and stays so */
    LOOK_MS = 100,     /* between looks whether the program should end */
    GRACE_LOOKS = 100, /* 10 s from SIGTERM to SIGKILL */
    REASON_MAX = 1000
};

typedef struct program {
    char **argv;
} program;

/* ---- what the program gets ---------------------------------------------------------------- */

/* A file in memory that holds `len` bytes, read from its beginning. */
static int file_of(const char *text, size_t len)
{
    const int fd = (int)syscall(SYS_memfd_create, "waypost", 1u /* MFD_CLOEXEC */);
    while (fd >= 0 && len > 0) {
        const ssize_t n = write(fd, text, len);
        if (n < 0 && errno != EINTR)
            break;
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    if (fd < 0 || len > 0 || lseek(fd, 0, SEEK_SET) != 0) {
        (void)fprintf(stderr, "waypost: no file in memory: %s\n", strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return -1;
    }
    return fd;
}

/* What was written to it. The caller's to free; NULL: nothing that can be read. */
static char *content_of(int fd, size_t *len)
{
    const off_t size = lseek(fd, 0, SEEK_END);
    char *text = size > 0 ? malloc((size_t)size + 1) : NULL;
    ssize_t n = text ? pread(fd, text, (size_t)size, 0) : 0;
    *len = n > 0 ? (size_t)n : 0;
    if (text)
        text[*len] = '\0';
    return text;
}

enum { VARIABLES = 8 };

static void set_variable(char ***at, const char *name, const char *value)
{
    if (value && asprintf(*at, "WAYPOST_%s=%s", name, value) < 0)
        abort();
    if (value)
        ++*at;
}

/* The environment with the message's variables. The first `*added` entries are the caller's to free, and
 * the array. */
static char **environment_of(const wp_delivery *delivery, size_t *added)
{
    const wp_received *m = wp_delivery_message(delivery);
    size_t count = 0;
    char id[37], attempt[24], **env, **at;
    while (environ[count])
        count++;
    env = at = calloc(count + VARIABLES + 1, sizeof *env);
    if (!env)
        abort();
    wp_id_format(id, wp_received_id(m));
    (void)snprintf(attempt, sizeof attempt, "%lld", (long long)wp_received_attempt(m));
    set_variable(&at, "MESSAGE_ID", id);
    set_variable(&at, "TOPIC", wp_received_topic(m));
    set_variable(&at, "ATTEMPT", attempt);
    set_variable(&at, "CORRELATION_ID", wp_received_correlation_id(m));
    set_variable(&at, "HEADERS", wp_received_headers(m));
    set_variable(&at, "STORE_ID", wp_delivery_store_id(delivery));
    set_variable(&at, "QUEUE", cli_queue_name(wp_delivery_source(delivery)));
    *added = (size_t)(at - env);
    memcpy(at, environ, count * sizeof *env);
    return env;
}

/* ---- one process -------------------------------------------------------------------------- */

/* Wait for its end, and end it where its handler is to stop: not at the stop of the worker, which waits. */
static int wait_for(pid_t pid, const wp_delivery *delivery)
{
    const int fd = (int)syscall(SYS_pidfd_open, pid, 0u);
    int status = 0, looks = 0;
    for (;;) {
        const wp_cancel cancel = wp_delivery_cancelled(delivery);
        const pid_t done = waitpid(pid, &status, WNOHANG);
        if (done == pid || (done < 0 && errno != EINTR))
            break;
        if (cancel != WP_CANCEL_NONE && cancel != WP_CANCEL_STOP && looks++ % GRACE_LOOKS == 0)
            (void)kill(-pid, looks == 1 ? SIGTERM : SIGKILL);
        (void)poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, LOOK_MS);
    }
    if (fd >= 0)
        (void)close(fd);
    return status;
}

/* Why it failed: the last line that it wrote to the standard error stream, or how it ended. */
static void reason_of(char out[REASON_MAX], char *text, size_t len, int status)
{
    const char *line;
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r' || text[len - 1] == ' '))
        text[--len] = '\0';
    line = len ? memrchr(text, '\n', len) : NULL;
    line = line ? line + 1 : text;
    if (len && *line)
        (void)snprintf(out, REASON_MAX, "%s", line);
    else if (WIFSIGNALED(status))
        (void)snprintf(out, REASON_MAX, "killed by signal %d", WTERMSIG(status));
    else
        (void)snprintf(out, REASON_MAX, "exit code %d", WEXITSTATUS(status));
}

/* Reasons are UTF-8, and a program may write any bytes. */
static void make_ascii(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++)
        if (*p >= 0x80 || *p < 0x20)
            *p = '?';
}

static wp_outcome finish(wp_delivery *delivery, const int fds[3], int status)
{
    const bool job = wp_delivery_source(delivery) == WP_SOURCE_JOB;
    const bool done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    wp_outcome outcome = done ? WP_OUTCOME_DONE : WP_OUTCOME_RETRY;
    char reason[REASON_MAX] = "";
    size_t len = 0, output_len = 0;
    char *said = content_of(fds[2], &len);
    char *output = job ? content_of(fds[1], &output_len) : NULL;
    wp_error *err = NULL;
    if (said)
        (void)fwrite(said, 1, len, stderr);
    if (!done)
        reason_of(reason, said, len, status);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_REJECT)
        outcome = WP_OUTCOME_REJECT;
    if (output && wp_delivery_set_output(delivery, output, output_len, &err) != WP_OK) {
        (void)fprintf(stderr, "waypost: the output is not kept: %s\n", wp_error_message(err));
        wp_error_free(err);
        err = NULL;
    }
    if (wp_delivery_finish(delivery, outcome, done ? NULL : reason, 0, &err) == WP_E_ARGUMENT) {
        make_ascii(reason);
        wp_error_free(err);
        err = NULL;
        (void)wp_delivery_finish(delivery, outcome, reason, 0, &err);
    }
    wp_error_free(err); /* the lease is lost: another worker has it, which the log says */
    free(said);
    free(output);
    return outcome;
}

static wp_outcome handle(wp_delivery *delivery, void *user)
{
    const program *p = user;
    size_t len = 0, added = 0;
    const char *payload = wp_received_payload(&len, wp_delivery_message(delivery));
    char **env = environment_of(delivery, &added);
    const bool job = wp_delivery_source(delivery) == WP_SOURCE_JOB;
    const int fds[3] = {file_of(payload, len), job ? file_of("", 0) : -1, file_of("", 0)};
    wp_outcome outcome =
        WP_OUTCOME_RETRY; /* where this machine is out of something: with the backoff */
    if (fds[0] >= 0 && fds[2] >= 0 && (!job || fds[1] >= 0)) {
        /* if this process dies, its message will be handed to another one */
        const pid_t pid = cli_spawn(p->argv, env, fds, SIGKILL);
        if (pid > 0)
            outcome = finish(delivery, fds, wait_for(pid, delivery));
        else
            (void)fprintf(stderr, "waypost: no process: %s\n", strerror(errno));
    }
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    for (size_t i = 0; i < added; i++)
        free(env[i]);
    free(env);
    return outcome;
}

/* ---- the worker --------------------------------------------------------------------------- */

/* Until nothing has been due for two looks after the last one ended. */
static void drain(const cli *c, wp_worker *worker, program *p, int64_t stop_ms)
{
    enum { WAIT_MS = 50 };
    int64_t quiet = -1; /* looks, when nothing was held */
    size_t handled = 0;
    wp_error *err = NULL;
    while (quiet < 0 || wp_worker_counter(worker, WP_COUNTER_POLLS) < quiet + 2) {
        wp_delivery *delivery = NULL;
        const wp_status st = wp_worker_next(&delivery, worker, WAIT_MS, &err);
        if (st == WP_OK) {
            const wp_outcome outcome = handle(delivery, p);
            (void)wp_delivery_finish(delivery, outcome, NULL, 0, NULL); /* if it is not yet */
            wp_delivery_free(delivery);
            handled++;
            quiet = -1;
        } else if (st == WP_E_TIMEOUT) {
            wp_error_free(err);
            err = NULL;
            if (quiet < 0)
                quiet = wp_worker_counter(worker, WP_COUNTER_POLLS);
            wp_worker_wake(worker);
        } else {
            cli_check(st, &err);
        }
    }
    cli_check(wp_worker_stop(NULL, worker, stop_ms, &err), &err);
    cli_count(c, "handled", handled);
}

/* Until a signal asks for its end; the second one is not waited for. */
static void run(wp_worker *worker, unsigned threads, int64_t stop_ms)
{
    sigset_t ends;
    wp_error *err = NULL;
    size_t abandoned = 0;
    int number = 0;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &ends, NULL); /* the threads inherit it */
    cli_check(wp_worker_start(worker, threads, &err), &err);
    (void)sigwait(&ends, &number);
    (void)pthread_sigmask(SIG_UNBLOCK, &ends, NULL);
    (void)fprintf(stderr, "waypost: stops; programs that run have %lld s\n",
                  (long long)(stop_ms / 1000));
    cli_check(wp_worker_stop(&abandoned, worker, stop_ms, &err), &err);
    if (abandoned)
        (void)fprintf(stderr, "waypost: %zu programs still ran\n", abandoned);
}

int cli_worker(cli *c)
{
    program p = {.argv = cli_rest(c->args)};
    const bool drains = cli_flag(c->args, "drain");
    const int64_t threads = cli_number(c->args, "threads", 1);
    const int64_t stop_ms = cli_duration_ms(c->args, "stop-timeout", 30000);
    const wp_source source = cli_queue(c, "outbox");
    wp_worker *worker = NULL;
    wp_error *err = NULL;
    size_t topics = 0;
    if (!p.argv[0])
        cli_usage("worker needs a program behind --: waypost worker TOPIC -- PROGRAM ARGUMENT...");
    if (!cli_can_run(p.argv[0]))
        cli_usage("there is no program \"%s\" that can be run", p.argv[0]);
    if (source == WP_SOURCE_ALL)
        cli_usage("--queue is one of outbox, inbox, timers and jobs here");
    if (threads < 1 || threads > 1024)
        cli_usage("--threads is %lld, not in 1..1024", (long long)threads);
    if (stop_ms > 86400000)
        cli_usage("--stop-timeout is longer than a day");
    cli_check(wp_worker_new(&worker, c->store, NULL, &err), &err);
    for (const char *topic; (topic = cli_word(c->args)); topics++)
        cli_check(wp_worker_handle(worker, source, topic, drains ? NULL : handle, &p, NULL, &err),
                  &err);
    cli_args_end(c->args);
    if (topics == 0)
        cli_usage("worker needs the topics that the program handles");
    if (drains)
        drain(c, worker, &p, stop_ms);
    else
        run(worker, (unsigned)threads, stop_ms);
    wp_worker_free(worker);
    return CLI_OK;
}
