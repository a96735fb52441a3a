/* SPDX-License-Identifier: Apache-2.0 */
/* The commands, and how a call ends. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const struct command {
    const char *name;
    cli_command run;
    bool alone; /* without an open store */
    const char *help;
} commands[] = {
    {"deploy", cli_deploy, true, "deploy\n    create or upgrade the schema"},
    {"verify", cli_verify, false, "verify\n    open the store, and say what it is on"},
    {"health", cli_health, true,
     "health [--max-age DURATION] [--limit DURATION] [--scheduler]\n"
     "    --max-age is health.overdue_ms (5m; 0s: nothing is overdue), --limit health.timeout_ms "
     "(3s)\n"
     "    0: healthy; 4: degraded, work is stale or overdue; 5: unhealthy, the store cannot be "
     "read\n"
     "    within the limit, or its schema is not what this version needs"},
    {"stats", cli_stats, false,
     "stats [--queue QUEUE] [--unfinished]\n    counts by queue and topic; without those that are "
     "finished"},
    {"enqueue", cli_enqueue, false,
     "enqueue TOPIC PAYLOAD|- [--queue outbox|timers] [--delay DURATION] [--header NAME:VALUE]...\n"
     "        [--correlation-id ID] [--ordering-key KEY] [--unique-key KEY]\n"
     "    store a message; - reads the payload from the standard input"},
    {"peek", cli_peek, false,
     "peek [--queue QUEUE] [--topic TOPIC] [--limit N]\n    what is not finished, in the order in "
     "which it came; "
     "nothing is claimed"},
    {"show", cli_show, false,
     "show ID [--queue QUEUE]\n    one message, with its payload; of the queue jobs one run"},
    {"dead", cli_dead, false,
     "dead [list] [FILTER] [--limit N]\n"
     "dead show ID [--queue QUEUE]\n"
     "dead replay [FILTER] --limit N|--all [--rate PER_SECOND] [--by NAME]\n"
     "dead purge [FILTER] --limit N|--all --yes [--by NAME]\n"
     "dead edit ID PAYLOAD|- --queue QUEUE [--by NAME]\n"
     "    dead letters; FILTER is any of --queue QUEUE, --topic TOPIC, --reason TEXT, --id ID..."},
    {"cleanup", cli_cleanup, false,
     "cleanup --older-than DURATION [--queue QUEUE]\n    delete what was finished with success so "
     "long ago"},
    {"copy", cli_copy, false,
     "copy --to URL [--to-schema NAME] [--to-set KEY=VALUE]... [--batch N] [--no-dead] "
     "[--dry-run | --cancel]\n"
     "    move unfinished work and dead letters, and jobs with their runs, to another store; "
     "pauses "
     "go along,\n"
     "    and the inbox's keys that were done are known there, too\n"
     "    Whatever happens, the same call goes on where one ended; with --cancel it lets go of "
     "what\n"
     "    an earlier one holds instead, in both stores. 6: something stays where it "
     "was"},
    {"pause", cli_pause, false,
     "pause TOPIC [--queue QUEUE] [--by NAME]\n    have all workers leave a topic alone until it "
     "is "
     "resumed"},
    {"resume", cli_resume, false, "resume TOPIC [--queue QUEUE] [--by NAME]\n    let it go on"},
    {"paused", cli_paused, false, "paused\n    the topics that are paused"},
    {"audit", cli_audit, false,
     "audit [--limit N]\n    who changed what by hand, the latest first"},
    {"jobs", cli_jobs, false,
     "jobs [list]\n"
     "jobs put NAME EXPRESSION [--zone ZONE] [--topic TOPIC] [--payload TEXT]\n"
     "jobs show NAME\n"
     "jobs preview NAME [--count N]\n"
     "jobs trigger|pause|resume NAME [--by NAME]\n"
     "jobs delete NAME --yes\n"
     "    recurring and one-time jobs"},
    {"runs", cli_runs, false,
     "runs [list] [--job NAME] [--limit N]\nruns show|cancel ID\n    runs of jobs, the latest "
     "first"},
    {"timers", cli_timers, false,
     "timers [list] [--correlation-id ID] [--limit N]\n"
     "timers cancel ID\n"
     "timers reschedule ID --delay DURATION\n"
     "    those that are not finished; of an id, all"},
    {"lease", cli_lease, false, "lease NAME [--semaphore]\n    who holds it"},
    {"worker", cli_worker, false,
     "worker TOPIC... [--queue QUEUE] [--threads N] [--stop-timeout DURATION] [--drain] -- PROGRAM "
     "[ARGUMENT]...\n"
     "    run a program for each message: the payload is its standard input, WAYPOST_MESSAGE_ID, "
     "_TOPIC, _ATTEMPT,\n"
     "    _CORRELATION_ID, _HEADERS, _STORE_ID and _QUEUE its environment. Ends it with 0, the "
     "message is done; with 65\n"
     "    it is a dead letter; else it is tried again, and the last line of the standard error "
     "stream is the reason.\n"
     "    The standard output of a job's run is kept with it. --drain: what is due now, then it "
     "ends"},
    {"supervise", cli_supervise, false,
     "supervise [--min N] [--max N] [--queue QUEUE] [--topic TOPIC] [--stop-timeout DURATION] -- "
     "COMMAND [ARGUMENT]...\n"
     "    as many processes of a worker as the scaling controller wants (options scaling.*); one "
     "that ends by itself\n"
     "    is started again, later each time; SIGTERM ends them all"},
    {"top", cli_top, false,
     "top [--interval DURATION] [--count N]\n    counts and rates by queue and topic, again and "
     "again"},
    {"cron", cli_cron, true,
     "cron EXPRESSION [--zone ZONE] [--count N]\n    when an expression fires next"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static int help(void)
{
    (void)puts("waypost [--url URL] [--set KEY=VALUE]... [--json] COMMAND ...\n");
    for (size_t i = 0; i < COMMANDS; i++)
        (void)printf("%s\n\n", commands[i].help);
    (void)puts("URL is sqlite:FILE, postgresql://... or odbc:...; options (docs/CONFIGURATION.md) "
               "also come from the\n"
               "environment: WAYPOST_STORE_URL is store.url. QUEUE is outbox, inbox, timers, jobs "
               "or all, DURATION\n"
               "250ms, 30s, 5m, 2h or 7d. Instants are UTC. --json: one JSON document, also of "
               "what failed.\n\n"
               "Ends with 0; 1: it failed; 2: the command line is wrong, and nothing was done; 3: "
               "there is no such\n"
               "thing; 4 and 5: health; 6: copy left "
               "something.");
    return CLI_OK;
}

static bool wants_json;

void cli_tell(int code, const char *format, ...)
{
    va_list list;
    char *text = NULL;
    va_start(list, format);
    if (vasprintf(&text, format, list) < 0)
        abort();
    va_end(list);
    (void)fprintf(stderr, "waypost: %s\n", text);
    if (wants_json) {
        json_t *json = json_pack("{s:s,s:i}", "error", text, "code", code);
        if (!json) /* no UTF-8: a word of the command line */
            json = json_pack("{s:i}", "code", code);
        cli_json_line(json); /* which may stand behind the lines of top */
        json_decref(json);
    }
    free(text);
}

static int code_of(wp_status status)
{
    return status == WP_E_NOT_FOUND ? CLI_NOT_FOUND
           : status == WP_E_ARGUMENT || status == WP_E_RANGE || status == WP_E_CONFIG ? CLI_USAGE
                                                                                      : CLI_FAILED;
}

void cli_check(wp_status status, wp_error **err)
{
    if (status == WP_OK)
        return;
    (void)fflush(stdout);
    cli_tell(code_of(status), "%s: %s", wp_status_name(status), wp_error_message(*err));
    wp_error_free(*err);
    exit(code_of(status));
}

int cli_not_found(const char *what, const char *name)
{
    cli_tell(CLI_NOT_FOUND, "there is no %s \"%s\"", what, name);
    return CLI_NOT_FOUND;
}

static wp_config *config_of(cli_args *args)
{
    const char *url = cli_option(args, "url");
    wp_config *config = NULL;
    wp_error *err = NULL;
    cli_check(wp_config_new(&config, &err), &err);
    cli_check(wp_config_load_env(config, &err), &err);
    if (url)
        cli_check(wp_config_set(config, "store.url", url, &err), &err);
    for (const char *set; (set = cli_option_next(args, "set"));) {
        const char *equals = strchr(set, '=');
        char *key = equals ? strndup(set, (size_t)(equals - set)) : NULL;
        if (!key)
            cli_usage("--set is \"%s\", not KEY=VALUE", set);
        cli_check(wp_config_set(config, key, equals + 1, &err), &err);
        free(key);
    }
    return config;
}

int64_t cli_config_number(const wp_config *config, const char *key)
{
    char *text = NULL;
    wp_error *err = NULL;
    int64_t value;
    cli_check(wp_config_get(&text, config, key, &err), &err);
    value = strtoll(text, NULL, 10);
    wp_text_free(text);
    return value;
}

static int run(const struct command *command, cli *c)
{
    wp_error *err = NULL;
    if (!command->alone)
        cli_check(wp_store_open(&c->store, c->config, &err), &err);
    return command->run(c);
}

/* Where a standard file is closed, the next one that is opened would get its number: a connection to the database,
 * say, to which our output would go. */
static void keep_standard_files(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); /* using it stays an error */
}

int main(int argc, char **argv)
{
    cli_args *args = cli_args_new(argc - 1, argv + 1);
    cli c = {.args = args, .json = cli_flag(args, "json")};
    const bool asked = cli_flag(args, "help"), version = cli_flag(args, "version");
    const char *name;
    int code = CLI_USAGE;
    keep_standard_files();
    wants_json = c.json;
    c.config = config_of(args);
    name = cli_word(args);
    if (version) {
        code = printf(c.json ? "{\"version\": \"%s\"}\n" : "%s\n", wp_version()) < 0 ? CLI_FAILED
                                                                                     : CLI_OK;
    } else if (asked || (name && strcmp(name, "help") == 0)) {
        code = help();
    } else {
        const struct command *command = NULL;
        for (size_t i = 0; i < COMMANDS; i++)
            if (name && strcmp(commands[i].name, name) == 0)
                command = &commands[i];
        if (command)
            code = run(command, &c);
        else
            cli_usage(name ? "there is no command \"%s\"" : "no command%s", name ? name : "");
    }
    wp_store_close(c.store);
    wp_config_free(c.config);
    cli_args_free(args);
    if (fflush(stdout) != 0 || ferror(stdout))
        code = code == CLI_OK ? CLI_FAILED : code;
    return code;
}
