/* SPDX-License-Identifier: Apache-2.0 */
/* What goes on: the messages that a queue still has, and counts that are read again and again. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <waypost/unfinished.h>

#include "cli.h"

/* ---- peek --------------------------------------------------------------------------------- */

int cli_peek(cli *c)
{
    static const char *const columns[] = {"id",           "topic",        "status",
                                          "attempt",      "created",      "due",
                                          "next attempt", "locked until", "last error"};
    const wp_source source = cli_queue(c, "outbox");
    const char *topic = cli_option(c->args, "topic");
    const int64_t limit = cli_number(c->args, "limit", 20);
    wp_unfinished *page = NULL;
    wp_error *err = NULL;
    cli_table *table;
    cli_args_end(c->args);
    if (source == WP_SOURCE_ALL)
        cli_usage("--queue is one of outbox, inbox, timers and jobs here");
    cli_check(wp_unfinished_read_brief(&page, c->store, source, topic, NULL, limit, &err), &err);
    table = cli_table_new(c, columns, COUNT(columns));
    for (size_t i = 0; i < wp_unfinished_count(page); i++) {
        const wp_outbox_info *info = wp_unfinished_at(page, i);
        const wp_received *m = wp_outbox_info_message(info);
        cli_id(table, wp_received_id(m));
        cli_text(table, wp_received_topic(m));
        cli_text(table, cli_status_name(wp_outbox_info_status(info)));
        cli_int(table, wp_received_attempt(m));
        cli_time(table, wp_received_created_us(m));
        cli_time(table, wp_received_due_us(m));
        cli_time(table, wp_outbox_info_next_attempt_us(info));
        cli_time(table, wp_outbox_info_locked_until_us(info));
        cli_text(table, wp_outbox_info_last_error(info));
    }
    wp_unfinished_free(page);
    cli_table_end(table);
    return CLI_OK;
}

/* ---- top ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    interrupted = number;
}

/* How many were done and are ready, by queue and topic, at the look before. */
typedef struct seen {
    char *key;
    int64_t done;
} seen;

typedef struct looks {
    seen *items;
    size_t count;
    int64_t at_us; /* of the look before; 0: there was none */
} looks;

/* Note how many are done by now; returns how many were before, or as many. */
static int64_t note(looks *l, wp_source source, const char *topic, int64_t done)
{
    char *key = NULL;
    int64_t before = done;
    if (asprintf(&key, "%d/%s", (int)source, topic) < 0)
        abort();
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->items[i].key, key) == 0) {
            before = l->items[i].done;
            l->items[i].done = done;
            free(key);
            return before;
        }
    l->items = realloc(l->items, (l->count + 1) * sizeof *l->items);
    if (!l->items)
        abort();
    l->items[l->count++] = (seen){key, done};
    return before;
}

static void look(cli *c, looks *l)
{
    static const char *const columns[] = {"queue", "topic",  "ready", "scheduled",  "in progress",
                                          "done",  "done/s", "dead",  "oldest (s)", "stale"};
    const int64_t now = cli_now_us();
    const int64_t passed = l->at_us ? now - l->at_us : 0;
    cli_table *table = cli_table_new(c, columns, COUNT(columns));
    for (size_t i = 0; i < CLI_QUEUES; i++) {
        const wp_source source = cli_queues[i].source;
        wp_outbox_stats *read = NULL;
        wp_error *err = NULL;
        cli_check(cli_queues[i].stats(&read, c->store, 1, &err), &err);
        for (size_t t = 0; t < wp_outbox_stats_count(read); t++) {
            const int64_t done = wp_outbox_stats_value(read, t, WP_STAT_DONE);
            const int64_t before = note(l, source, wp_outbox_stats_topic(read, t), done);
            cli_text(table, cli_queues[i].name);
            cli_text(table, wp_outbox_stats_topic(read, t));
            cli_int(table, wp_outbox_stats_value(read, t, WP_STAT_READY));
            cli_int(table, wp_outbox_stats_value(read, t, WP_STAT_SCHEDULED));
            cli_int(table, wp_outbox_stats_value(read, t, WP_STAT_IN_PROGRESS));
            cli_int(table, done);
            /* what was cleaned up meanwhile makes fewer of them */
            cli_int(table, passed > 0 && done > before ? (done - before) * 1000000 / passed : 0);
            cli_int(table, wp_outbox_stats_value(read, t, WP_STAT_FAILED));
            cli_int(table, wp_outbox_stats_value(read, t, WP_STAT_OLDEST_READY_AGE_US) / 1000000);
            cli_int(table, wp_outbox_stats_value(read, t, WP_STAT_LEASE_EXPIRED));
        }
        wp_outbox_stats_free(read);
    }
    l->at_us = now;
    cli_table_end_line(table);
}

int cli_top(cli *c)
{
    const int64_t interval_ms = cli_duration_ms(c->args, "interval", 2000);
    const int64_t count = cli_number(c->args, "count", 0);
    const bool screen = isatty(STDOUT_FILENO) && !c->json;
    const struct sigaction act = {.sa_handler = on_signal};
    struct timespec pause = {.tv_sec = interval_ms / 1000, .tv_nsec = interval_ms % 1000 * 1000000};
    looks l = {0};
    cli_args_end(c->args);
    if (count < 0)
        cli_usage("--count is %lld, not 0 (for ever) or more", (long long)count);
    if (interval_ms < 100 || interval_ms > 3600000)
        cli_usage("--interval is not in 100ms..1h");
    (void)sigaction(SIGINT, &act, NULL);
    (void)sigaction(SIGTERM, &act, NULL);
    for (int64_t i = 0; !interrupted && (count == 0 || i < count); i++) {
        if (i > 0 && nanosleep(&pause, NULL) != 0)
            break;
        if (screen)
            (void)fputs("\033[H\033[2J", stdout);
        look(c, &l);
        if (fflush(stdout) != 0)
            break;
    }
    for (size_t i = 0; i < l.count; i++)
        free(l.items[i].key);
    free(l.items);
    return CLI_OK;
}
