/* SPDX-License-Identifier: Apache-2.0 */
/* As many processes of a worker as the scaling controller wants. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <waypost/scaling.h>

#include "cli.h"

enum {
    BACKOFF_MS = 1000, /* before a process that ended by itself is started again; it doubles */
    BACKOFF_MAX_MS = 60000,
    STEADY_MS = 60000, /* one that ran for so long begins with the shortest again */
    TICK_MS = 100
};

/* A place for a process. */
typedef struct place {
    pid_t pid; /* 0: none runs */
    bool ends; /* it was asked to, at ends_us, and its place goes with it */
    bool killed;
    int64_t started_us;
    int64_t ends_us;
    int64_t again_us; /* when to start it again */
    int64_t backoff_ms;
} place;

typedef struct crew {
    char **argv;
    place *places;
    size_t count;
    int64_t stop_ms;
} crew;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)fputs("waypost: ", stderr);
    (void)vfprintf(stderr, format, list);
    (void)fputc('\n', stderr);
    va_end(list);
}

static void start(crew *c, place *p)
{
    static const int inherited[3] = {-1, -1, -1};
    p->started_us = cli_now_us();
    p->pid = cli_spawn(c->argv, environ, inherited, SIGTERM);
    if (p->pid < 0) {
        say("no process: %s", strerror(errno));
        p->pid = 0;
        p->again_us = p->started_us + BACKOFF_MS * INT64_C(1000);
        return;
    }
    say("%d started", (int)p->pid);
}

static void ask_to_end(place *p)
{
    p->ends = true;
    p->ends_us = cli_now_us();
    if (p->pid)
        (void)kill(-p->pid, SIGTERM);
}

/* A process has ended. Unless it was asked to, another one takes its place, later each time. */
static void note_end(crew *c, place *p, int status)
{
    const int64_t now = cli_now_us();
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    const char *how = WIFEXITED(status) ? "code" : "signal";
    const pid_t pid = p->pid;
    p->pid = 0;
    if (p->ends) {
        say("%d ended, %s %d", (int)pid, how, code);
        *p = c->places[--c->count];
        return;
    }
    p->backoff_ms = now - p->started_us >= STEADY_MS * INT64_C(1000) || p->backoff_ms == 0
                        ? BACKOFF_MS
                        : p->backoff_ms * 2;
    if (p->backoff_ms > BACKOFF_MAX_MS)
        p->backoff_ms = BACKOFF_MAX_MS;
    p->again_us = now + p->backoff_ms * 1000;
    say("%d ended by itself, %s %d; starts again in %lld s", (int)pid, how, code,
        (long long)(p->backoff_ms / 1000));
}

static place *place_of(crew *c, pid_t pid)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->places[i].pid == pid)
            return &c->places[i];
    return NULL;
}

/* What has ended, what is due to start, what does not end. */
static void tend(crew *c)
{
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        place *p = place_of(c, pid);
        if (p)
            note_end(c, p, status);
    }
    for (size_t i = c->count; i-- > 0;) {
        place *p = &c->places[i];
        const int64_t now = cli_now_us();
        if (p->ends && !p->pid) {
            *p = c->places[--c->count];
        } else if (p->ends && !p->killed && now - p->ends_us >= c->stop_ms * 1000) {
            say("%d does not end: killed", (int)p->pid);
            (void)kill(-p->pid, SIGKILL);
            p->killed = true;
        } else if (!p->ends && !p->pid && now >= p->again_us) {
            start(c, p);
        }
    }
}

static size_t working(const crew *c)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++)
        count += !c->places[i].ends;
    return count;
}

/* The newest go first; of those that wait to be started again, these. */
static void change_to(crew *c, int64_t wanted)
{
    while ((int64_t)working(c) < wanted) {
        c->places = realloc(c->places, (c->count + 1) * sizeof *c->places);
        if (!c->places)
            abort();
        c->places[c->count] = (place){0};
        start(c, &c->places[c->count++]);
    }
    while ((int64_t)working(c) > wanted) {
        place *last = NULL;
        for (size_t i = 0; i < c->count; i++) {
            place *p = &c->places[i];
            if (!p->ends && (!last || !p->pid || (last->pid && p->started_us >= last->started_us)))
                last = p;
        }
        if (!last)
            return;
        ask_to_end(last);
    }
}

/* What waits and what was done. False: the database does not say. */
static bool look(cli *c, wp_source source, const char *topic, int64_t *depth, int64_t *done)
{
    *depth = *done = 0;
    for (size_t i = 0; i < CLI_QUEUES; i++) {
        wp_outbox_stats *read = NULL;
        wp_error *err = NULL;
        if (source != WP_SOURCE_ALL && source != cli_queues[i].source)
            continue;
        if (cli_queues[i].stats(&read, c->store, 1, &err) != WP_OK) {
            say("the number stays as it is: %s", wp_error_message(err));
            wp_error_free(err);
            return false;
        }
        for (size_t t = 0; t < wp_outbox_stats_count(read); t++) {
            if (topic && strcmp(topic, wp_outbox_stats_topic(read, t)) != 0)
                continue;
            *depth += wp_outbox_stats_value(read, t, WP_STAT_READY);
            *done += wp_outbox_stats_value(read, t, WP_STAT_DONE) +
                     wp_outbox_stats_value(read, t, WP_STAT_FAILED);
        }
        wp_outbox_stats_free(read);
    }
    return true;
}

static volatile sig_atomic_t ending;

static void on_signal(int number)
{
    ending = number;
}

static void pause_ms(int64_t ms)
{
    (void)nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void supervise(cli *c, crew *crew_, wp_scaling *scaling, wp_source source, const char *topic)
{
    const int64_t interval_ms = cli_config_number(c->config, "scaling.interval_ms");
    int64_t next_us = cli_now_us(), depth = 0, done = 0, wanted = 0;
    wp_error *err = NULL;
    change_to(crew_, cli_config_number(c->config,
                                       "scaling.min_instances")); /* whatever the database says */
    while (!ending) {
        tend(crew_);
        if (cli_now_us() >= next_us) {
            next_us = cli_now_us() + interval_ms * 1000;
            if (look(c, source, topic, &depth, &done)) {
                const int64_t have = (int64_t)working(crew_);
                cli_check(
                    wp_scaling_decide(&wanted, scaling, cli_now_us(), have, depth, done, &err),
                    &err);
                if (wanted != have)
                    say("%lld wait, %.1f are done in a second: %lld instead of %lld",
                        (long long)depth, wp_scaling_rate(scaling), (long long)wanted,
                        (long long)have);
                change_to(crew_, wanted);
            }
        }
        pause_ms(TICK_MS);
    }
    say("stops; processes have %lld s", (long long)(crew_->stop_ms / 1000));
    for (size_t i = 0; i < crew_->count; i++)
        if (!crew_->places[i].ends)
            ask_to_end(&crew_->places[i]);
    while (crew_->count > 0) {
        tend(crew_);
        pause_ms(TICK_MS);
    }
}

int cli_supervise(cli *c)
{
    crew crew_ = {.argv = cli_rest(c->args),
                  .stop_ms = cli_duration_ms(c->args, "stop-timeout", 30000)};
    const char *topic = cli_option(c->args, "topic");
    const char *least = cli_option(c->args, "min"), *most = cli_option(c->args, "max");
    const wp_source source = cli_queue(c, "all");
    const struct sigaction act = {.sa_handler = on_signal};
    wp_scaling *scaling = NULL;
    wp_error *err = NULL;
    cli_args_end(c->args);
    if (!crew_.argv[0])
        cli_usage("supervise needs a command behind --: waypost supervise -- COMMAND ARGUMENT...");
    if (!cli_can_run(crew_.argv[0]))
        cli_usage("there is no program \"%s\" that can be run", crew_.argv[0]);
    if (least)
        cli_check(wp_config_set(c->config, "scaling.min_instances", least, &err), &err);
    if (most)
        cli_check(wp_config_set(c->config, "scaling.max_instances", most, &err), &err);
    cli_check(wp_scaling_new(&scaling, c->config, &err), &err);
    (void)sigaction(SIGINT, &act, NULL);
    (void)sigaction(SIGTERM, &act, NULL);
    supervise(c, &crew_, scaling, source, topic);
    free(crew_.places);
    wp_scaling_free(scaling);
    return CLI_OK;
}
