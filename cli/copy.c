/* SPDX-License-Identifier: Apache-2.0 */
/* Moving unfinished work to another store. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

enum { BAR = 30, TRIES = 5 };

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* The other store: the options of this one that say where and what it is do not count for it. */
static wp_config *target_of(cli *c)
{
    const char *url = cli_option(c->args, "to");
    const char *schema = cli_option(c->args, "to-schema");
    wp_config *config = NULL;
    wp_error *err = NULL;
    if (!url)
        cli_usage("copy needs --to URL");
    cli_check(wp_config_new(&config, &err), &err);
    cli_check(wp_config_set(config, "store.url", url, &err), &err);
    if (schema)
        cli_check(wp_config_set(config, "store.schema", schema, &err), &err);
    for (const char *set; (set = cli_option_next(c->args, "to-set"));) {
        const char *equals = strchr(set, '=');
        char *key = equals ? strndup(set, (size_t)(equals - set)) : NULL;
        if (!key)
            cli_usage("--to-set is \"%s\", not KEY=VALUE", set);
        cli_check(wp_config_set(config, key, equals + 1, &err), &err);
        free(key);
    }
    return config;
}

static void draw(const wp_copy *copy, int64_t all, bool end)
{
    const int64_t moved = wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_MOVED);
    const int64_t of = all > moved ? all : moved;
    const int full = of ? (int)(BAR * moved / of) : BAR;
    (void)fprintf(stderr, "\r[%.*s%*s] %lld of %lld", full, "##############################",
                  BAR - full, "", (long long)moved, (long long)of);
    if (end)
        (void)fputc('\n', stderr);
}

/* One step; what passes is tried again. */
static int step(wp_copy *copy)
{
    for (int tries = 1;; tries++) {
        const struct timespec pause = {.tv_sec = tries};
        wp_error *err = NULL;
        int more = 0;
        const wp_status st = wp_copy_step(&more, copy, &err);
        if (st != WP_OK && tries < TRIES && wp_error_retriable(err) && !interrupted) {
            wp_error_free(err);
            (void)nanosleep(&pause, NULL);
            continue;
        }
        cli_check(st, &err);
        return more;
    }
}

/* True: to the end; false: it was interrupted. */
static bool move(wp_copy *copy, bool bar)
{
    const struct sigaction act = {.sa_handler = on_signal};
    int64_t all = 0;
    bool first = true;
    bool more;
    (void)sigaction(SIGINT, &act, NULL);
    (void)sigaction(SIGTERM, &act, NULL);
    while ((more = step(copy)) && !interrupted) {
        if (first)
            all = wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_WAITING) +
                  wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_DEAD) +
                  wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_JOINED) +
                  wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_MOVED);
        first = false;
        if (bar)
            draw(copy, all, false);
    }
    if (bar)
        draw(copy, all, true);
    return !more;
}

/* Say what stays; whether anything does. */
static bool tell_what_stays(const wp_copy *copy, bool dead)
{
    static const struct {
        wp_copy_kind kind;
        const char *why;
    } kinds[] = {
        {WP_COPY_WAITING, "could not be moved"},
        {WP_COPY_DEAD, "dead letters could not be moved"},
        {WP_COPY_HELD, "are held by workers, or by a move to or from another store"},
        {WP_COPY_JOINED, "belong to joins that could not be moved"},
        {WP_COPY_NOT_MOVED, "are of a queue that is not moved"},
    };
    bool any = false;
    for (size_t q = 0; q < CLI_QUEUES; q++)
        for (size_t k = 0; k < COUNT(kinds); k++) {
            const int64_t count = wp_copy_count(copy, cli_queues[q].source, kinds[k].kind);
            if (!count || (kinds[k].kind == WP_COPY_DEAD && !dead))
                continue;
            (void)fprintf(stderr, "waypost: %s: %lld %s\n", cli_queues[q].name, (long long)count,
                          kinds[k].why);
            any = true;
        }
    if (wp_copy_joins(copy))
        (void)fprintf(stderr, "waypost: joins that were not moved: %lld\n",
                      (long long)wp_copy_joins(copy));
    if (wp_copy_jobs(copy))
        (void)fprintf(stderr, "waypost: jobs that were not moved: %lld\n",
                      (long long)wp_copy_jobs(copy));
    for (size_t i = 0; i < wp_copy_refused_count(copy); i++)
        (void)fprintf(stderr, "waypost: refused: %s\n", wp_copy_refused_at(copy, i));
    return any || wp_copy_joins(copy) || wp_copy_jobs(copy) || wp_copy_refused_count(copy);
}

static void print(cli *c, wp_copy *copy)
{
    static const char *const columns[] = {"queue", "moved",  "waiting",  "dead",
                                          "held",  "joined", "not moved"};
    cli_table *table = cli_table_new(c, columns, COUNT(columns));
    for (size_t q = 0; q < CLI_QUEUES; q++) {
        const wp_source source = cli_queues[q].source;
        cli_text(table, cli_queues[q].name);
        cli_int(table, wp_copy_count(copy, source, WP_COPY_MOVED));
        cli_int(table, wp_copy_count(copy, source, WP_COPY_WAITING));
        cli_int(table, wp_copy_count(copy, source, WP_COPY_DEAD));
        cli_int(table, wp_copy_count(copy, source, WP_COPY_HELD));
        cli_int(table, wp_copy_count(copy, source, WP_COPY_JOINED));
        cli_int(table, wp_copy_count(copy, source, WP_COPY_NOT_MOVED));
    }
    cli_table_end(table);
}

static void print_sums(cli *c, wp_copy *copy)
{
    static const char *const columns[] = {"moved",   "jobs",          "joins",        "keys",
                                          "refused", "source sha256", "target sha256"};
    cli_table *table = cli_table_new(c, columns, COUNT(columns));
    cli_int(table, wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_MOVED));
    cli_int(table, wp_copy_jobs_moved(copy));
    cli_int(table, wp_copy_joins_moved(copy));
    cli_int(table, wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_REMEMBERED));
    cli_int(table, (int64_t)wp_copy_refused_count(copy));
    cli_text(table, wp_copy_checksum(copy, 0));
    cli_text(table, wp_copy_checksum(copy, 1));
    cli_table_end_one(table);
}

/* Let go of what an earlier move holds. */
static int give_up(cli *c, wp_copy *copy)
{
    static const char *const columns[] = {"let go"};
    cli_table *table = cli_table_new(c, columns, COUNT(columns));
    wp_error *err = NULL;
    int64_t let_go = 0;
    cli_check(wp_copy_cancel(&let_go, copy, &err), &err);
    cli_int(table, let_go);
    cli_table_end_one(table);
    if (!wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_HELD))
        return CLI_OK;
    (void)fprintf(stderr,
                  "waypost: held still, by a worker or a move to or from another store: %lld\n",
                  (long long)wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_HELD));
    return CLI_LEFT;
}

int cli_copy(cli *c)
{
    const bool cancel = cli_flag(c->args, "cancel");
    wp_config *config = target_of(c);
    const bool look = cli_flag(c->args, "dry-run");
    const bool dead = !cli_flag(c->args, "no-dead");
    const int64_t page = cli_number(c->args, "batch", 500);
    wp_store *target = NULL;
    wp_copy *copy = NULL;
    wp_error *err = NULL;
    int code = CLI_OK;
    cli_args_end(c->args);
    if (cancel && look)
        cli_usage("--dry-run and --cancel exclude each other");
    cli_check(wp_store_open(&target, config, &err), &err);
    cli_check(wp_copy_new(&copy, c->store, target, &err), &err);
    cli_check(wp_copy_set_page(copy, page, &err), &err);
    cli_check(wp_copy_set_dead_letters(copy, dead, &err), &err);
    if (cancel) {
        code = give_up(c, copy);
    } else if (look) {
        cli_check(wp_copy_look(copy, &err), &err);
        print(c, copy);
    } else {
        const bool ended = move(copy, isatty(STDERR_FILENO) && !c->json);
        print_sums(c, copy);
        if (!ended) {
            (void)fputs("waypost: interrupted; the same call goes on\n", stderr);
            code = CLI_FAILED;
        } else if (tell_what_stays(copy, dead)) {
            code = CLI_LEFT;
        }
    }
    wp_copy_free(copy);
    wp_store_close(target);
    wp_config_free(config);
    return code;
}
