/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and their runs, timers, leases, cron expressions. */
#include <stdio.h>
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
        cli_check(wp_job_list_brief(&next, c->store, after, 1000, &err), &err);
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

static const char *overlap_name(wp_overlap overlap)
{
    return overlap == WP_OVERLAP_SKIP ? "skip" : overlap == WP_OVERLAP_ALLOW ? "allow" : "queue";
}

static const char *misfire_name(wp_misfire misfire)
{
    return misfire == WP_MISFIRE_SKIP       ? "skip"
           : misfire == WP_MISFIRE_CATCH_UP ? "catch up"
                                            : "fire";
}

static int show_job(cli *c, const char *name)
{
    static const char *const columns[] = {"name",
                                          "topic",
                                          "payload",
                                          "expression",
                                          "zone",
                                          "enabled",
                                          "registrar",
                                          "vanished",
                                          "next due",
                                          "overlap",
                                          "misfire",
                                          "misfire after (ms)",
                                          "catch up",
                                          "timeout (ms)",
                                          "attempts",
                                          "retry after (ms)",
                                          "retry at most (ms)",
                                          "last due",
                                          "last started",
                                          "last duration (ms)",
                                          "last status"};
    wp_jobs *jobs = NULL;
    wp_error *err = NULL;
    const wp_job_info *job;
    cli_table *table;
    cli_args_end(c->args);
    cli_check(wp_job_get(&jobs, c->store, name, &err), &err);
    job = wp_jobs_at(jobs, 0);
    table = cli_table_new(c, columns, COUNT(columns));
    cli_text(table, wp_job_info_name(job));
    cli_text(table, wp_job_info_topic(job));
    cli_text(table, wp_job_info_payload(job));
    cli_text(table, wp_job_info_expression(job));
    cli_text(table, wp_job_info_zone(job));
    cli_bool(table, wp_job_info_enabled(job));
    cli_text(table, wp_job_info_registrar(job));
    cli_bool(table, wp_job_info_vanished(job));
    cli_time(table, wp_job_info_next_due_us(job));
    cli_text(table, overlap_name(wp_job_info_overlap(job)));
    cli_text(table, misfire_name(wp_job_info_misfire(job)));
    cli_int(table, wp_job_info_misfire_ms(job));
    cli_int(table, wp_job_info_catch_up(job));
    cli_int(table, wp_job_info_timeout_ms(job));
    cli_int(table, wp_job_info_max_attempts(job));
    cli_int(table, wp_job_info_backoff_base_ms(job));
    cli_int(table, wp_job_info_backoff_max_ms(job));
    cli_time(table, wp_job_info_last_due_us(job));
    cli_time(table, wp_job_info_last_started_us(job));
    cli_int(table, wp_job_info_last_duration_us(job) / 1000);
    cli_text(table, run_status(wp_job_info_last_status(job)));
    cli_table_end_one(table);
    wp_jobs_free(jobs);
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
    cli_changed(c, true);
    return CLI_OK;
}

/* A run of a job that no program has any more would wait for ever, and nobody would know why. */
static void warn_vanished(cli *c, const char *name)
{
    wp_jobs *jobs = NULL;
    wp_error *err = NULL;
    const wp_job_info *job;
    if (wp_job_get(&jobs, c->store, name, &err) !=
        WP_OK) { /* the run is made: that is what counts */
        wp_error_free(err);
        return;
    }
    job = wp_jobs_at(jobs, 0);
    if (wp_job_info_vanished(job))
        (void)fprintf(
            stderr,
            "waypost: \"%s\" is not in the code of \"%s\" any more: the run waits until a "
            "worker handles jobs of the topic \"%s\"\n",
            name, wp_job_info_registrar(job), wp_job_info_topic(job));
    wp_jobs_free(jobs);
}

static int trigger(cli *c, const char *name, const char *by)
{
    static const char *const columns[] = {"run"};
    cli_table *table;
    wp_error *err = NULL;
    wp_id run;
    cli_args_end(c->args);
    cli_check(wp_job_trigger_by(&run, c->store, name, by, &err), &err);
    warn_vanished(c, name);
    table = cli_table_new(c, columns, COUNT(columns));
    cli_id(table, &run);
    cli_table_end_one(table);
    return CLI_OK;
}

int cli_jobs(cli *c)
{
    const char *verb = cli_word(c->args), *name;
    const char *by = cli_who(c);
    wp_error *err = NULL;
    if (!verb || strcmp(verb, "list") == 0)
        return list(c);
    name = need(c, verb, "a job's name");
    if (strcmp(verb, "preview") == 0)
        return preview(c, name);
    if (strcmp(verb, "put") == 0)
        return put(c, name);
    if (strcmp(verb, "show") == 0)
        return show_job(c, name);
    if (strcmp(verb, "trigger") == 0)
        return trigger(c, name, by);
    if (strcmp(verb, "pause") == 0 || strcmp(verb, "resume") == 0) {
        const bool enable = strcmp(verb, "resume") == 0;
        wp_jobs *jobs = NULL;
        bool was;
        cli_args_end(c->args);
        cli_check(wp_job_get(&jobs, c->store, name, &err), &err);
        was = wp_job_info_enabled(wp_jobs_at(jobs, 0)) != 0;
        wp_jobs_free(jobs);
        cli_check(wp_job_set_enabled_by(c->store, name, enable, by, &err), &err);
        cli_changed(c, was != enable);
    } else if (strcmp(verb, "delete") == 0) {
        const bool sure = cli_flag(c->args, "yes");
        int deleted = 0;
        cli_args_end(c->args);
        if (!sure)
            cli_usage("delete takes the job and its pending runs: say --yes");
        cli_check(wp_job_delete(&deleted, c->store, name, &err), &err);
        return cli_changed_or_not_found(c, deleted, "job", name);
    } else {
        cli_usage(
            "jobs can list, show, put, preview, trigger, pause, resume and delete, not \"%s\"",
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
    return cli_changed_or_not_found(c, cancelled, "unfinished run", text);
}

static const char *const run_columns[] = {"run",   "job",     "status", "due",  "started",
                                          "ended", "attempt", "output", "error"};

static void add_run(cli_table *table, const wp_job_run *run)
{
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

int cli_show_run(cli *c, const char *text)
{
    wp_job_runs *runs = NULL;
    wp_error *err = NULL;
    cli_table *table;
    wp_id id;
    cli_args_end(c->args);
    cli_check(wp_id_parse(&id, text, &err), &err);
    cli_check(wp_job_run_get(&runs, c->store, &id, &err), &err);
    table = cli_table_new(c, run_columns, COUNT(run_columns));
    add_run(table, wp_job_runs_at(runs, 0));
    cli_table_end_one(table);
    wp_job_runs_free(runs);
    return CLI_OK;
}

int cli_runs(cli *c)
{
    const char *verb = cli_word(c->args);
    const char *job = cli_option(c->args, "job");
    const int64_t limit = count_of(c, 50);
    wp_job_runs *runs = NULL;
    wp_error *err = NULL;
    cli_table *table;
    if (verb && strcmp(verb, "cancel") == 0)
        return cancel(c);
    if (verb && strcmp(verb, "show") == 0)
        return cli_show_run(c, need(c, "show", "a run's id"));
    if (verb && strcmp(verb, "list") != 0)
        cli_usage("runs can list, show and cancel, not \"%s\"", verb);
    cli_args_end(c->args);
    cli_check(wp_job_run_list(&runs, c->store, job, NULL, limit, &err), &err);
    table = cli_table_new(c, run_columns, COUNT(run_columns));
    for (size_t i = 0; i < wp_job_runs_count(runs); i++)
        add_run(table, wp_job_runs_at(runs, i));
    wp_job_runs_free(runs);
    cli_table_end(table);
    return CLI_OK;
}

/* ---- timers and leases -------------------------------------------------------------------- */

/* Only a timer that no worker has or had. */
static int change_timer(cli *c, bool cancels)
{
    const char *text = need(c, cancels ? "cancel" : "reschedule", "a timer's id");
    const int64_t delay_ms = cancels ? 0 : cli_duration_ms(c->args, "delay", -1);
    wp_error *err = NULL;
    int changed = 0;
    wp_id id;
    cli_args_end(c->args);
    if (delay_ms < 0)
        cli_usage("reschedule needs --delay, a duration such as 10m; 0s is now");
    cli_check(wp_id_parse(&id, text, &err), &err);
    cli_check(cancels ? wp_timer_cancel(&changed, c->store, NULL, &id, &err)
                      : wp_timer_reschedule_in(&changed, c->store, NULL, &id, delay_ms, &err),
              &err);
    return cli_changed_or_not_found(c, changed, "timer that was never claimed", text);
}

int cli_timers(cli *c)
{
    static const char *const columns[] = {"id", "topic", "status", "due", "correlation id"};
    const char *verb = cli_word(c->args);
    const char *correlation = cli_option(c->args, "correlation-id");
    const int64_t limit = count_of(c, 100);
    wp_timers *timers = NULL;
    wp_error *err = NULL;
    cli_table *table;
    if (verb && (strcmp(verb, "cancel") == 0 || strcmp(verb, "reschedule") == 0))
        return change_timer(c, verb[0] == 'c');
    if (verb && strcmp(verb, "list") != 0)
        cli_usage("timers can list, cancel and reschedule, not \"%s\"", verb);
    cli_args_end(c->args);
    cli_check(wp_timer_list_brief(&timers, c->store, correlation, NULL, limit, &err), &err);
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
