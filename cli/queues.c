/* SPDX-License-Identifier: Apache-2.0 */
/* The schema, counts, single messages, cleanup. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

const cli_queue_kind cli_queues[CLI_QUEUES] = {{WP_SOURCE_OUTBOX, "outbox", wp_outbox_stats_read},
                                               {WP_SOURCE_INBOX, "inbox", wp_inbox_stats_read},
                                               {WP_SOURCE_TIMER, "timers", wp_timer_stats_read},
                                               {WP_SOURCE_JOB, "jobs", wp_job_run_stats_read}};

const char *cli_who(cli *c)
{
    const char *by = cli_option(c->args, "by");
    return by ? by : getenv("USER");
}

const char *cli_queue_name(wp_source source)
{
    for (size_t i = 0; i < CLI_QUEUES; i++)
        if (cli_queues[i].source == source)
            return cli_queues[i].name;
    return "?";
}

wp_source cli_queue(cli *c, const char *otherwise)
{
    const char *name = cli_option(c->args, "queue");
    if (!name)
        name = otherwise;
    if (strcmp(name, "all") == 0)
        return WP_SOURCE_ALL;
    for (size_t i = 0; i < CLI_QUEUES; i++)
        if (strcmp(cli_queues[i].name, name) == 0)
            return cli_queues[i].source;
    cli_usage("--queue is \"%s\", not outbox, inbox, timers, jobs or all", name);
}

const char *cli_status_name(wp_message_status status)
{
    static const char *const names[] = {"ready",   "in progress", "done",     "dead",
                                        "blocked", "seen",        "cancelled"};
    return (size_t)status < COUNT(names) ? names[status] : "?";
}

/* ---- schema ------------------------------------------------------------------------------- */

int cli_deploy(cli *c)
{
    wp_error *err = NULL;
    cli_args_end(c->args);
    cli_check(wp_schema_deploy(c->config, &err), &err);
    (void)puts(c->json ? "{\"deployed\": true}"
                       : "the schema is there, and as this version needs it");
    return CLI_OK;
}

int cli_verify(cli *c)
{
    static const char *const columns[] = {"store", "engine", "version"};
    cli_table *table;
    cli_args_end(c->args);
    table = cli_table_new(c, columns, COUNT(columns));
    cli_text(table, wp_store_id(c->store));
    cli_text(table, wp_store_engine(c->store));
    cli_text(table, wp_version());
    cli_table_end_one(table);
    return CLI_OK;
}

/* ---- counts ------------------------------------------------------------------------------- */

int cli_stats(cli *c)
{
    static const char *const columns[] = {"queue",       "topic",      "ready",  "scheduled",
                                          "in progress", "blocked",    "paused", "done",
                                          "dead",        "oldest (s)", "stale"};
    static const wp_outbox_stat stats[] = {WP_STAT_READY,   WP_STAT_SCHEDULED, WP_STAT_IN_PROGRESS,
                                           WP_STAT_BLOCKED, WP_STAT_PAUSED,    WP_STAT_DONE,
                                           WP_STAT_FAILED};
    const bool finished = !cli_flag(c->args, "unfinished");
    const wp_source source = cli_queue(c, "all");
    cli_table *table;
    cli_args_end(c->args);
    table = cli_table_new(c, columns, COUNT(columns));
    for (size_t i = 0; i < CLI_QUEUES; i++) {
        wp_outbox_stats *read = NULL;
        wp_error *err = NULL;
        if (source != WP_SOURCE_ALL && source != cli_queues[i].source)
            continue;
        cli_check(cli_queues[i].stats(&read, c->store, finished, &err), &err);
        for (size_t t = 0; t < wp_outbox_stats_count(read); t++) {
            cli_text(table, cli_queues[i].name);
            cli_text(table, wp_outbox_stats_topic(read, t));
            for (size_t s = 0; s < COUNT(stats); s++)
                cli_int(table, wp_outbox_stats_value(read, t, stats[s]));
            cli_int(table, wp_outbox_stats_value(read, t, WP_STAT_OLDEST_READY_AGE_US) / 1000000);
            cli_int(table, wp_outbox_stats_value(read, t, WP_STAT_LEASE_EXPIRED));
        }
        wp_outbox_stats_free(read);
    }
    cli_table_end(table);
    return CLI_OK;
}

/* ---- messages ----------------------------------------------------------------------------- */

char *cli_read_all(size_t *len)
{
    char *text = NULL;
    size_t cap = 0;
    *len = 0;
    do {
        if (*len + 1 >= cap) {
            cap = cap ? cap * 2 : 65536;
            text = realloc(text, cap);
            if (!text)
                abort();
        }
        *len += fread(text + *len, 1, cap - *len - 1, stdin);
    } while (!feof(stdin) && !ferror(stdin));
    if (ferror(stdin)) {
        cli_tell(CLI_FAILED, "the standard input cannot be read: %s", strerror(errno));
        exit(CLI_FAILED);
    }
    text[*len] = '\0';
    return text;
}

static void set_headers(cli *c, wp_message *message)
{
    for (const char *header; (header = cli_option_next(c->args, "header"));) {
        const char *colon = strchr(header, ':');
        char *name = colon ? strndup(header, (size_t)(colon - header)) : NULL;
        wp_error *err = NULL;
        if (!name)
            cli_usage("--header is \"%s\", not NAME:VALUE", header);
        cli_check(wp_message_set_header(message, name, colon + 1, &err), &err);
        free(name);
    }
}

int cli_enqueue(cli *c)
{
    static const char *const columns[] = {"id", "duplicate"};
    const char *topic = cli_word(c->args), *payload = cli_word(c->args);
    const char *correlation = cli_option(c->args, "correlation-id");
    const char *ordering = cli_option(c->args, "ordering-key");
    const char *unique = cli_option(c->args, "unique-key");
    const int64_t delay_ms = cli_duration_ms(c->args, "delay", 0);
    const wp_source source = cli_queue(c, "outbox");
    wp_message *message = NULL;
    wp_error *err = NULL;
    char *input = NULL;
    size_t len;
    wp_id id = {{0}};
    int duplicate = 0;
    cli_table *table;
    if (!topic || !payload)
        cli_usage("enqueue needs a topic and a payload (or - for the standard input)");
    if (source != WP_SOURCE_OUTBOX && source != WP_SOURCE_TIMER)
        cli_usage("enqueue is for the queues outbox and timers");
    len = strlen(payload);
    if (strcmp(payload, "-") == 0)
        payload = input = cli_read_all(&len);
    cli_check(wp_message_new(&message, topic, payload, len, &err), &err);
    free(input);
    set_headers(c, message);
    cli_args_end(c->args);
    if (correlation)
        cli_check(wp_message_set_correlation_id(message, correlation, &err), &err);
    if (ordering)
        cli_check(wp_message_set_ordering_key(message, ordering, &err), &err);
    if (unique)
        cli_check(wp_message_set_unique_key(message, unique, &err), &err);
    if (delay_ms)
        cli_check(wp_message_set_delay_ms(message, delay_ms, &err), &err);
    cli_check((source == WP_SOURCE_TIMER ? wp_timer_schedule : wp_outbox_enqueue)(
                  &id, &duplicate, c->store, NULL, message, &err),
              &err);
    wp_message_free(message);
    table = cli_table_new(c, columns, COUNT(columns));
    cli_id(table, &id);
    cli_bool(table, duplicate);
    cli_table_end_one(table);
    return CLI_OK;
}

int cli_show(cli *c)
{
    static const char *const columns[] = {
        "id",          "queue",      "topic",          "status",       "attempt",
        "created",     "due",        "next attempt",   "locked until", "finished",
        "finished by", "last error", "correlation id", "ordering key", "headers",
        "payload"};
    const char *text = cli_word(c->args);
    const wp_source source = cli_queue(c, "outbox");
    wp_outbox_info *info = NULL;
    const wp_received *m;
    wp_error *err = NULL;
    cli_table *table;
    wp_id id;
    if (!text)
        cli_usage("show needs a message's id");
    if (source == WP_SOURCE_JOB)
        return cli_show_run(c, text);
    cli_args_end(c->args);
    if (source != WP_SOURCE_OUTBOX && source != WP_SOURCE_INBOX && source != WP_SOURCE_TIMER)
        cli_usage("show is for one queue");
    cli_check(wp_id_parse(&id, text, &err), &err);
    cli_check((source == WP_SOURCE_OUTBOX  ? wp_outbox_get
               : source == WP_SOURCE_INBOX ? wp_inbox_get_by_id
                                           : wp_timer_get)(&info, c->store, &id, &err),
              &err);
    m = wp_outbox_info_message(info);
    table = cli_table_new(c, columns, COUNT(columns));
    cli_id(table, wp_received_id(m));
    cli_text(table, cli_queue_name(wp_outbox_info_source(info)));
    cli_text(table, wp_received_topic(m));
    cli_text(table, cli_status_name(wp_outbox_info_status(info)));
    cli_int(table, wp_received_attempt(m));
    cli_time(table, wp_received_created_us(m));
    cli_time(table, wp_received_due_us(m));
    cli_time(table, wp_outbox_info_next_attempt_us(info));
    cli_time(table, wp_outbox_info_locked_until_us(info));
    cli_time(table, wp_outbox_info_finished_us(info));
    cli_text(table, wp_outbox_info_finished_by(info));
    cli_text(table, wp_outbox_info_last_error(info));
    cli_text(table, wp_received_correlation_id(m));
    cli_text(table, wp_received_ordering_key(m));
    cli_text(table, wp_received_headers(m));
    cli_text(table, wp_received_payload(NULL, m));
    cli_table_end_one(table);
    wp_outbox_info_free(info);
    return CLI_OK;
}

int cli_cleanup(cli *c)
{
    const int64_t age_ms = cli_duration_ms(c->args, "older-than", -1);
    const wp_source source = cli_queue(c, "all");
    wp_error *err = NULL;
    size_t removed = 0;
    cli_args_end(c->args);
    if (age_ms < 0)
        cli_usage("cleanup needs --older-than, a duration such as 30d");
    cli_check(wp_cleanup(&removed, c->store, source, age_ms, &err), &err);
    cli_count(c, "removed", removed);
    return CLI_OK;
}
