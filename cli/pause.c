/* SPDX-License-Identifier: Apache-2.0 */
/* Paused topics, and the notes of what was changed by hand. */
#include <stdio.h>

#include "cli.h"

static int change(cli *c, const char *command,
                  wp_status (*fn)(int *, wp_store *, wp_conn *, wp_source, const char *,
                                  const char *, wp_error **),
                  const char *already)
{
    const char *topic = cli_word(c->args);
    const char *by = cli_who(c);
    const wp_source source = cli_queue(c, "outbox");
    wp_error *err = NULL;
    int changed = 0;
    if (!topic)
        cli_usage("%s needs a topic", command);
    if (source == WP_SOURCE_ALL)
        cli_usage("%s is about one --queue", command);
    cli_args_end(c->args);
    cli_check(fn(&changed, c->store, NULL, source, topic, by, &err), &err);
    if (!changed)
        (void)fprintf(stderr, "waypost: topic \"%s\" %s\n", topic, already);
    cli_changed(c, changed);
    return CLI_OK;
}

int cli_pause(cli *c)
{
    return change(c, "pause", wp_topic_pause, "was paused already");
}

int cli_resume(cli *c)
{
    return change(c, "resume", wp_topic_resume, "was not paused");
}

int cli_paused(cli *c)
{
    static const char *const columns[] = {"queue", "topic", "since", "by"};
    wp_pauses *pauses = NULL;
    wp_error *err = NULL;
    cli_table *table;
    cli_args_end(c->args);
    cli_check(wp_pauses_read(&pauses, c->store, &err), &err);
    table = cli_table_new(c, columns, COUNT(columns));
    for (size_t i = 0; i < wp_pauses_count(pauses); i++) {
        cli_text(table, cli_queue_name(wp_pauses_source(pauses, i)));
        cli_text(table, wp_pauses_topic(pauses, i));
        cli_time(table, wp_pauses_since_us(pauses, i));
        cli_text(table, wp_pauses_by(pauses, i));
    }
    wp_pauses_free(pauses);
    cli_table_end(table);
    return CLI_OK;
}

int cli_audit(cli *c)
{
    static const char *const columns[] = {"number", "at",      "by",    "action",
                                          "queue",  "subject", "detail"};
    const int64_t limit = cli_number(c->args, "limit", 50);
    wp_audit *page = NULL;
    wp_error *err = NULL;
    cli_table *table;
    cli_args_end(c->args);
    if (limit < 1 || limit > WP_BATCH_MAX)
        cli_usage("--limit is %lld, not in 1..%d", (long long)limit, WP_BATCH_MAX);
    cli_check(wp_audit_read(&page, c->store, 0, limit, &err), &err);
    table = cli_table_new(c, columns, COUNT(columns));
    for (size_t i = 0; i < wp_audit_count(page); i++) {
        const wp_source source = wp_audit_source(page, i);
        cli_int(table, wp_audit_number(page, i));
        cli_time(table, wp_audit_at_us(page, i));
        cli_text(table, wp_audit_actor(page, i));
        cli_text(table, wp_audit_action(page, i));
        cli_text(table, source == WP_SOURCE_ALL ? NULL : cli_queue_name(source));
        cli_text(table, wp_audit_subject(page, i));
        cli_text(table, wp_audit_detail(page, i));
    }
    wp_audit_free(page);
    cli_table_end(table);
    return CLI_OK;
}
