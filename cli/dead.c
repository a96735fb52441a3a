/* SPDX-License-Identifier: Apache-2.0 */
/* Dead letters. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* What --topic, --reason and --id say. The caller's to free. */
static wp_dead_filter *filter_of(cli *c)
{
    const char *topic = cli_option(c->args, "topic"), *reason = cli_option(c->args, "reason");
    wp_dead_filter *filter = NULL;
    wp_error *err = NULL;
    wp_id *ids = NULL;
    size_t count = 0;
    cli_check(wp_dead_filter_new(&filter, &err), &err);
    cli_check(wp_dead_filter_set_topic(filter, topic, &err), &err);
    cli_check(wp_dead_filter_set_reason(filter, reason, &err), &err);
    for (const char *text; (text = cli_option_next(c->args, "id"));) {
        ids = realloc(ids, (count + 1) * sizeof *ids);
        if (!ids)
            abort();
        cli_check(wp_id_parse(&ids[count++], text, &err), &err);
    }
    cli_check(wp_dead_filter_set_ids(filter, ids, count, &err), &err);
    free(ids);
    return filter;
}

static int list(cli *c)
{
    static const char *const columns[] = {"id", "queue", "topic", "died", "attempt", "reason"};
    const wp_source source = cli_queue(c, "all");
    int64_t left = cli_number(c->args, "limit", 100);
    wp_dead_filter *filter = filter_of(c);
    wp_dead_list *page = NULL;
    cli_table *table;
    cli_args_end(c->args);
    if (left < 1)
        cli_usage("--limit is %lld, not 1 or more", (long long)left);
    table = cli_table_new(c, columns, COUNT(columns));
    for (size_t count = 1; left > 0 && count > 0; left -= (int64_t)count) {
        wp_dead_list *next = NULL;
        wp_error *err = NULL;
        cli_check(wp_dead_list_read_brief(&next, c->store, source, filter, page,
                                          left < WP_DEAD_PAGE_MAX ? left : WP_DEAD_PAGE_MAX, &err),
                  &err);
        wp_dead_list_free(page);
        page = next;
        count = wp_dead_list_count(page);
        for (size_t i = 0; i < count; i++) {
            const wp_outbox_info *info = wp_dead_list_at(page, i);
            const wp_received *m = wp_outbox_info_message(info);
            cli_id(table, wp_received_id(m));
            cli_text(table, cli_queue_name(wp_outbox_info_source(info)));
            cli_text(table, wp_received_topic(m));
            cli_time(table, wp_outbox_info_finished_us(info));
            cli_int(table, wp_received_attempt(m));
            cli_text(table, wp_outbox_info_last_error(info));
        }
    }
    wp_dead_list_free(page);
    wp_dead_filter_free(filter);
    cli_table_end(table);
    return CLI_OK;
}

/* How many are to be replayed or purged, by a filter that may not be empty by mistake. */
static int64_t limit_of(cli *c)
{
    const bool all = cli_flag(c->args, "all");
    const int64_t limit = cli_number(c->args, "limit", all ? INT64_MAX : 0);
    if (limit == 0)
        cli_usage("say how many with --limit, or --all");
    return limit;
}

static int replay(cli *c)
{
    const wp_source source = cli_queue(c, "all");
    const int64_t limit = limit_of(c), rate = cli_number(c->args, "rate", 0);
    const char *by = cli_who(c);
    wp_dead_filter *filter = filter_of(c);
    wp_error *err = NULL;
    size_t replayed = 0;
    cli_args_end(c->args);
    cli_check(wp_dead_replay(&replayed, c->store, source, filter, limit, rate, by, &err), &err);
    wp_dead_filter_free(filter);
    cli_count(c, "replayed", replayed);
    return CLI_OK;
}

static int purge(cli *c)
{
    const wp_source source = cli_queue(c, "all");
    const int64_t limit = limit_of(c);
    const bool sure = cli_flag(c->args, "yes");
    const char *by = cli_who(c);
    wp_dead_filter *filter = filter_of(c);
    wp_error *err = NULL;
    size_t purged = 0;
    cli_args_end(c->args);
    if (!sure)
        cli_usage("purge deletes for ever: say --yes");
    cli_check(wp_dead_purge_by(&purged, c->store, source, filter, limit, by, &err), &err);
    wp_dead_filter_free(filter);
    cli_count(c, "purged", purged);
    return CLI_OK;
}

static int edit(cli *c)
{
    const wp_source source = cli_queue(c, "all");
    const char *text = cli_word(c->args), *payload = cli_word(c->args);
    const char *by = cli_who(c);
    size_t len = payload ? strlen(payload) : 0;
    char *input = NULL;
    wp_error *err = NULL;
    int edited = 0;
    wp_id id;
    cli_args_end(c->args);
    if (!text || !payload)
        cli_usage("edit needs a message's id and its new payload, or - for the standard input");
    if (source == WP_SOURCE_ALL)
        cli_usage("edit wants the --queue of the message");
    if (strcmp(payload, "-") == 0)
        payload = input = cli_read_all(&len);
    cli_check(wp_id_parse(&id, text, &err), &err);
    cli_check(wp_dead_edit(&edited, c->store, source, &id, payload, len, by, &err), &err);
    free(input);
    return cli_changed_or_not_found(c, edited, "dead letter", text);
}

int cli_dead(cli *c)
{
    const char *verb = cli_word(c->args);
    if (!verb || strcmp(verb, "list") == 0)
        return list(c);
    if (strcmp(verb, "show") == 0)
        return cli_show(c);
    if (strcmp(verb, "replay") == 0)
        return replay(c);
    if (strcmp(verb, "purge") == 0)
        return purge(c);
    if (strcmp(verb, "edit") == 0)
        return edit(c);
    cli_usage("dead can list, show, replay, purge and edit, not \"%s\"", verb);
}
