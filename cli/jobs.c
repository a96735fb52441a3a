/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and their runs, timers, leases, cron expressions. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"

static const char *run_status(wp_run_status status)
{
    static const char *const names[] = {"pending", "running",   "succeeded", "failed",
                                        "?",       "timed out", "cancelled", "skipped"};
    return status == WP_RUN_NONE ? NULL : (size_t)status < COUNT(names) ? names[status] : "?";
}

static const char *need(cli *c, const char *command, const char *what)
{
    const char *word = cli_word(c->args);
    if (!word)
        cli_usage("%s needs %s", command, what);
    return word;
}

static int64_t count_of(cli *c, int64_t otherwise)
{
    const int64_t limit = cli_number(c->args, "limit", otherwise);
    if (limit < 1 || limit > WP_BATCH_MAX)
        cli_usage("--limit is %lld, not in 1..%d", (long long)limit, WP_BATCH_MAX);
    return limit;
}

/* ---- jobs --------------------------------------------------------------------------------- */

static int list(cli *c)
{
    static const char *const columns[] = {"name",     "topic",       "expression",
                                          "zone",     "enabled",     "next due",
                                          "last due", "last status", "registrar"};
    const char *after = NULL;
    wp_jobs *page = NULL;
    cli_table *table;
    cli_args_end(c->args);
    table = cli_table_new(c, columns, COUNT(columns));
    for (size_t count = 1; count > 0;) {
        wp_jobs *next = NULL;
        wp_error *err = NULL;
        cli_check(wp_job_list(&next, c->store, after, 1000, &err), &err);
        wp_jobs_free(page);
        page = next;
        count = wp_jobs_count(page);
        for (size_t i = 0; i < count; i++) {
            const wp_job_info *job = wp_jobs_at(page, i);
            cli_text(table, after = wp_job_info_name(job));
            cli_text(table, wp_job_info_topic(job));
            cli_text(table, wp_job_info_expression(job));
            cli_text(table, wp_job_info_zone(job));
            cli_bool(table, wp_job_info_enabled(job));
            cli_time(table, wp_job_info_next_due_us(job));
            cli_time(table, wp_job_info_last_due_us(job));
            cli_text(table, run_status(wp_job_info_last_status(job)));
            cli_text(table, wp_job_info_registrar(job));
        }
    }
    wp_jobs_free(page);
    cli_table_end(table);
    return CLI_OK;
}

/* The next occurrences from now on. */
static int print_schedule(cli *c, const char *expression, const char *zone, int64_t count)
{
    static const char *const columns[] = {"due"};
    int64_t *due = calloc((size_t)count, sizeof *due);
    wp_schedule *schedule = NULL;
    wp_error *err = NULL;
    cli_table *table;
    size_t found = 0;
    if (!due)
        abort();
    cli_check(wp_schedule_new(&schedule, expression, zone, c->config, &err), &err);
    cli_check(wp_schedule_preview(due, &found, schedule, (int64_t)time(NULL) * 1000000,
                                  (size_t)count, &err),
              &err);
    wp_schedule_free(schedule);
    table = cli_table_new(c, columns, COUNT(columns));
    for (size_t i = 0; i < found; i++)
        cli_time(table, due[i]);
    cli_table_end(table);
    free(due);
    return CLI_OK;
}

static int64_t preview_count(cli *c)
{
    const int64_t count = cli_number(c->args, "count", 10);
    if (count < 1 || count > WP_PREVIEW_MAX)
        cli_usage("--count is %lld, not in 1..%d", (long long)count, WP_PREVIEW_MAX);
    return count;
}

static int preview(cli *c, const char *name)
{
    const int64_t count = preview_count(c);
    wp_jobs *jobs = NULL;
    wp_error *err = NULL;
    const wp_job_info *job;
    int code;
    cli_args_end(c->args);
    cli_check(wp_job_get(&jobs, c->store, name, &err), &err);
    job = wp_jobs_at(jobs, 0);
    if (!wp_job_info_expression(job))
        cli_usage("\"%s\" is a one-time job", name);
    code = print_schedule(c, wp_job_info_expression(job), wp_job_info_zone(job), count);
    wp_jobs_free(jobs);
    return code;
}

int cli_cron(cli *c)
{
    const char *expression = need(c, "cron", "an expression, in one word");
    const char *zone = cli_option(c->args, "zone");
    const int64_t count = preview_count(c);
    cli_args_end(c->args);
    return print_schedule(c, expression, zone, count);
}

/* What a program has in its code comes back with its next start: it is not to be lost here meanwhile. */
static void refuse_registered(cli *c, const char *name)
{
    wp_jobs *jobs = NULL;
    wp_error *err = NULL;
    const wp_status st = wp_job_get(&jobs, c->store, name, &err);
    const char *registrar = st == WP_OK ? wp_job_info_registrar(wp_jobs_at(jobs, 0)) : NULL;
    if (st != WP_E_NOT_FOUND)
        cli_check(st, &err);
    wp_error_free(err);
    if (registrar)
        cli_usage("job \"%s\" is in the code of \"%s\": its option job.cron_overrides has another "
                  "expression for it, pause stops it",
                  name, registrar);
    wp_jobs_free(jobs);
}

static int put(cli *c, const char *name)
{
    const char *expression = need(c, "put", "a cron expression, in one word");
    const char *zone = cli_option(c->args, "zone"), *topic = cli_option(c->args, "topic");
    const char *payload = cli_option(c->args, "payload");
    wp_job *job = NULL;
    wp_error *err = NULL;
    cli_args_end(c->args);
    if (!payload)
        payload = "";
    cli_check(wp_job_new(&job, name, topic ? topic : name, payload, strlen(payload), &err), &err);
    cli_check(wp_job_set_schedule(job, expression, zone, &err), &err);
    refuse_registered(c, name);
    cli_check(wp_job_put(c->store, job, &err), &err);
    wp_job_free(job);
    return CLI_OK;
}

int cli_jobs(cli *c)
{
    static const char *const columns[] = {"run"};
    const char *verb = cli_word(c->args), *name;
    wp_error *err = NULL;
    if (!verb || strcmp(verb, "list") == 0)
        return list(c);
    name = need(c, verb, "a job's name");
    if (strcmp(verb, "preview") == 0)
        return preview(c, name);
    if (strcmp(verb, "put") == 0)
        return put(c, name);
    if (strcmp(verb, "trigger") == 0) {
        cli_table *table;
        wp_id run;
        cli_args_end(c->args);
        cli_check(wp_job_trigger(&run, c->store, name, &err), &err);
        table = cli_table_new(c, columns, COUNT(columns));
        cli_id(table, &run);
        cli_table_end_one(table);
    } else if (strcmp(verb, "pause") == 0 || strcmp(verb, "resume") == 0) {
        cli_args_end(c->args);
        cli_check(wp_job_set_enabled(c->store, name, strcmp(verb, "resume") == 0, &err), &err);
    } else if (strcmp(verb, "delete") == 0) {
        const bool sure = cli_flag(c->args, "yes");
        int deleted = 0;
        cli_args_end(c->args);
        if (!sure)
            cli_usage("delete takes the job and its pending runs: say --yes");
        cli_check(wp_job_delete(&deleted, c->store, name, &err), &err);
        return deleted ? CLI_OK : cli_not_found("job", name);
    } else {
        cli_usage("jobs can list, put, preview, trigger, pause, resume and delete, not \"%s\"",
                  verb);
    }
    return CLI_OK;
}

static int cancel(cli *c)
{
    const char *text = need(c, "cancel", "a run's id");
    wp_error *err = NULL;
    int cancelled = 0;
    wp_id id;
    cli_args_end(c->args);
    cli_check(wp_id_parse(&id, text, &err), &err);
    cli_check(wp_job_run_cancel(&cancelled, c->store, &id, &err), &err);
    return cancelled ? CLI_OK : cli_not_found("unfinished run", text);
}

int cli_runs(cli *c)
{
    static const char *const columns[] = {"run",   "job",     "status", "due",  "started",
                                          "ended", "attempt", "output", "error"};
    const char *verb = cli_word(c->args);
    const char *job = cli_option(c->args, "job");
    const int64_t limit = count_of(c, 50);
    wp_job_runs *runs = NULL;
    wp_error *err = NULL;
    cli_table *table;
    if (verb && strcmp(verb, "cancel") == 0)
        return cancel(c);
    if (verb && strcmp(verb, "list") != 0)
        cli_usage("runs can list and cancel, not \"%s\"", verb);
    cli_args_end(c->args);
    cli_check(wp_job_run_list(&runs, c->store, job, NULL, limit, &err), &err);
    table = cli_table_new(c, columns, COUNT(columns));
    for (size_t i = 0; i < wp_job_runs_count(runs); i++) {
        const wp_job_run *run = wp_job_runs_at(runs, i);
        cli_id(table, wp_job_run_id(run));
        cli_text(table, wp_job_run_name(run));
        cli_text(table, run_status(wp_job_run_status(run)));
        cli_time(table, wp_job_run_due_us(run));
        cli_time(table, wp_job_run_started_us(run));
        cli_time(table, wp_job_run_ended_us(run));
        cli_int(table, wp_job_run_attempt(run));
        cli_text(table, wp_job_run_output(run));
        cli_text(table, wp_job_run_error(run));
    }
    wp_job_runs_free(runs);
    cli_table_end(table);
    return CLI_OK;
}

/* ---- timers and leases -------------------------------------------------------------------- */

int cli_timers(cli *c)
{
    static const char *const columns[] = {"id", "topic", "status", "due", "correlation id"};
    const char *correlation = cli_option(c->args, "correlation-id");
    const int64_t limit = count_of(c, 100);
    wp_timers *timers = NULL;
    wp_error *err = NULL;
    cli_table *table;
    cli_args_end(c->args);
    cli_check(wp_timer_list(&timers, c->store, correlation, NULL, limit, &err), &err);
    table = cli_table_new(c, columns, COUNT(columns));
    for (size_t i = 0; i < wp_timers_count(timers); i++) {
        const wp_outbox_info *info = wp_timers_at(timers, i);
        const wp_received *m = wp_outbox_info_message(info);
        cli_id(table, wp_received_id(m));
        cli_text(table, wp_received_topic(m));
        cli_text(table, cli_status_name(wp_outbox_info_status(info)));
        cli_time(table, wp_received_due_us(m));
        cli_text(table, wp_received_correlation_id(m));
    }
    wp_timers_free(timers);
    cli_table_end(table);
    return CLI_OK;
}

int cli_lease(cli *c)
{
    static const char *const columns[] = {"name",  "held",    "owner", "fence",
                                          "until", "holders", "limit"};
    const char *name = need(c, "lease", "a name");
    const bool semaphore = cli_flag(c->args, "semaphore");
    wp_lease_info *info = NULL;
    wp_error *err = NULL;
    cli_table *table;
    cli_args_end(c->args);
    cli_check(wp_lease_get(&info, c->store, NULL, semaphore ? WP_LEASE_SHARED : WP_LEASE_EXCLUSIVE,
                           name, &err),
              &err);
    table = cli_table_new(c, columns, COUNT(columns));
    cli_text(table, name);
    cli_bool(table, wp_lease_info_holders(info) > 0);
    cli_text(table, wp_lease_info_owner(info));
    cli_int(table, wp_lease_info_fence(info));
    cli_time(table, wp_lease_info_until_us(info));
    cli_int(table, wp_lease_info_holders(info));
    cli_int(table, wp_lease_info_limit(info));
    cli_table_end_one(table);
    wp_lease_info_free(info);
    return CLI_OK;
}
