/* SPDX-License-Identifier: Apache-2.0 */
/* The command `waypost`, on the public API alone:
 *   main.c       the commands, and how a call ends
 *   arguments.c  what the command line says
 *   table.c      output, for people or as JSON
 *   queues.c     schema, counts, single messages, cleanup
 *   health.c     health
 *   dead.c       dead letters
 *   jobs.c       jobs, runs, timers, leases
 *   look.c       peek and top
 *   copy.c       work that moves to another store
 *   pause.c      paused topics, the audit
 *   process.c    processes of other programs
 *   supervise.c  as many of them as there should be
 *   worker.c     a worker whose handler is a program
 */
#ifndef WAYPOST_CLI_H
#define WAYPOST_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <waypost/waypost.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* How a call ends. */
enum {
    CLI_OK = 0,
    CLI_FAILED = 1,    /* the database or the library said no */
    CLI_USAGE = 2,     /* the command line is wrong; nothing was done */
    CLI_NOT_FOUND = 3, /* what was named does not exist */
    CLI_DEGRADED = 4,  /* health: work is stale or late */
    CLI_UNHEALTHY = 5, /* health: the store cannot be read */
    CLI_LEFT = 6       /* copy: something stays where it was */
};

/* ---- arguments ---------------------------------------------------------------------------- */

/* What the command line says: words, and options, which may stand anywhere and are used up as a command
 * asks for them. */
typedef struct cli_args cli_args;

cli_args *cli_args_new(int argc, char **argv);
void cli_args_free(cli_args *args);
/* The next word, or NULL. Borrowed. */
const char *cli_word(cli_args *args);
/* The value of an option that takes one (the last one that is given), or NULL. Borrowed. Exits where it is empty,
 * which only a payload may be. */
const char *cli_option(cli_args *args, const char *name);
/* The same of one that may be given many times: the next one, or NULL. */
const char *cli_option_next(cli_args *args, const char *name);
/* Whether an option without a value is there. */
bool cli_flag(cli_args *args, const char *name);
/* A whole number, or `otherwise` where the option is not there. Exits where it is none. */
int64_t cli_number(cli_args *args, const char *name, int64_t otherwise);
/* A duration such as 250ms, 30s, 5m, 2h, 7d, in milliseconds. Likewise. */
int64_t cli_duration_ms(cli_args *args, const char *name, int64_t otherwise);
/* What stands behind "--", as an argv, which is empty if there is no "--". Before any cli_word(). */
char **cli_rest(cli_args *args);
/* Exits if a word or an option is left that nobody asked for. */
void cli_args_end(cli_args *args);

/* Say what is wrong with the command line, and exit. */
_Noreturn void cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- what a command gets ------------------------------------------------------------------- */

typedef struct cli {
    cli_args *args;
    wp_config *config;
    wp_store *store; /* open, but for the commands that do without */
    bool json;
} cli;

/* Why it ends so, on the standard error stream, and as JSON where that is wanted. */
void cli_tell(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Go on if `status` is WP_OK; else say why, and exit. By its address, since the call that sets it may be
 * an argument too. */
void cli_check(wp_status status, wp_error **err);
/* Say that there is none; returns CLI_NOT_FOUND. */
int cli_not_found(const char *what, const char *name);
/* The value of an option of the library's that is a number. */
int64_t cli_config_number(const wp_config *config, const char *key);
/* The queues, with their counts. */
enum { CLI_QUEUES = 4 };
typedef struct cli_queue_kind {
    wp_source source;
    const char *name;
    wp_status (*stats)(wp_outbox_stats **, wp_store *, int, wp_error **);
} cli_queue_kind;
extern const cli_queue_kind cli_queues[CLI_QUEUES];
/* The queue that --queue names: `otherwise` where it is not there. */
wp_source cli_queue(cli *c, const char *otherwise);
const char *cli_queue_name(wp_source source);
/* Who says so, for the audit: --by, else the user. NULL: nobody knows. */
const char *cli_who(cli *c);
/* All of the standard input. The caller's to free. */
char *cli_read_all(size_t *len);
const char *cli_status_name(wp_message_status status);

typedef int (*cli_command)(cli *c);
int cli_deploy(cli *c);
int cli_verify(cli *c);
int cli_stats(cli *c);
int cli_health(cli *c);
int cli_enqueue(cli *c);
int cli_show(cli *c);
int cli_show_run(cli *c, const char *text);
int cli_cleanup(cli *c);
int cli_copy(cli *c);
int cli_peek(cli *c);
int cli_top(cli *c);
int cli_supervise(cli *c);
int cli_worker(cli *c);
int cli_dead(cli *c);
int cli_pause(cli *c);
int cli_resume(cli *c);
int cli_paused(cli *c);
int cli_audit(cli *c);
int cli_jobs(cli *c);
int cli_runs(cli *c);
int cli_timers(cli *c);
int cli_lease(cli *c);
int cli_cron(cli *c);

/* ---- processes ---------------------------------------------------------------------------- */

/* Elapsed time, of no calendar. */
int64_t cli_now_us(void);
/* Whether there is such a program. */
bool cli_can_run(const char *name);
/* Start one in a process group of its own, with these files (-1: inherited) as its standard ones; it gets the
 * signal `death` when the thread that started it ends. Its id; negative: errno says why not. */
pid_t cli_spawn(char **argv, char **env, const int fds[3], int death);

/* ---- output ------------------------------------------------------------------------------- */

/* Rows of named columns: aligned for people, or one JSON array of objects. */
typedef struct cli_table cli_table;

/* `columns` are borrowed until the end. */
cli_table *cli_table_new(const cli *c, const char *const *columns, size_t count);
/* The next cell. NULL: it has none. */
void cli_text(cli_table *table, const char *text);
void cli_int(cli_table *table, int64_t value);
void cli_bool(cli_table *table, bool value);
/* An instant in microseconds UTC since 1970; 0: it has none. */
void cli_time(cli_table *table, int64_t us);
void cli_id(cli_table *table, const wp_id *id);
/* Print and free. */
void cli_table_end(cli_table *table);
/* The same, but JSON in one line, for more to follow. */
void cli_table_end_line(cli_table *table);
/* One object or, for people, a line for each column. */
void cli_table_end_one(cli_table *table);
void cli_json(const json_t *value);
/* In one line. */
void cli_json_line(const json_t *value);
/* Whether something was changed, which people are told by the code alone. */
void cli_changed(const cli *c, bool changed);
/* The same of what has to be there; returns how the call ends. */
int cli_changed_or_not_found(const cli *c, bool changed, const char *what, const char *name);
/* "name: count" or {"name": count}. */
void cli_count(const cli *c, const char *name, size_t count);

#endif
