/* SPDX-License-Identifier: Apache-2.0 */
/* Health, within its limit: whatever the database does, and the network. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

enum { LIMIT_MS_MAX = 3600000 };

/* A store that is being opened, on a thread of its own. */
typedef struct opening {
    cli *c;
    wp_error *err;
    wp_status status;
    bool done;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} opening;

static void *open_main(void *arg)
{
    opening *o = arg;
    wp_store *store = NULL;
    wp_error *err = NULL;
    const wp_status status = wp_store_open(&store, o->c->config, &err);
    (void)pthread_mutex_lock(&o->mutex);
    o->c->store = store;
    o->err = err;
    o->status = status;
    o->done = true;
    (void)pthread_cond_signal(&o->changed);
    (void)pthread_mutex_unlock(&o->mutex);
    return NULL;
}

/* Of a store that could not be opened. */
static int unhealthy(const cli *c, const char *reason)
{
    (void)fprintf(stderr, "waypost: unhealthy: %s\n", reason);
    if (c->json) {
        json_t *json =
            json_pack("{s:s,s:s,s:[]}", "status", "unhealthy", "reason", reason, "stores");
        cli_json(json);
        json_decref(json);
    }
    return CLI_UNHEALTHY;
}

static int too_late(const cli *c, int64_t limit_ms)
{
    char text[80];
    (void)snprintf(text, sizeof text, "the database did not answer within %lld ms",
                   (long long)limit_ms);
    return unhealthy(c, text);
}

/* Open the store until the instant `end_us`. CLI_OK: it is open; else it is told why not. */
static int open_store(cli *c, int64_t end_us, int64_t limit_ms)
{
    static opening o = {.mutex = PTHREAD_MUTEX_INITIALIZER}; /* a thread that hangs keeps it */
    const struct timespec end = {.tv_sec = end_us / 1000000, .tv_nsec = end_us % 1000000 * 1000};
    pthread_condattr_t attr;
    pthread_t thread;
    int code = CLI_OK;
    o.c = c;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&o.changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    if (pthread_create(&thread, NULL, open_main, &o) != 0)
        abort();
    (void)pthread_mutex_lock(&o.mutex);
    while (!o.done && pthread_cond_timedwait(&o.changed, &o.mutex, &end) == 0)
        ;
    if (!o.done) {
        code = too_late(c, limit_ms);
        (void)fflush(stdout);
        _exit(code); /* the thread is in the midst of it */
    }
    (void)pthread_mutex_unlock(&o.mutex);
    (void)pthread_join(thread, NULL);
    if (o.status == WP_OK)
        return CLI_OK;
    if (o.status == WP_E_CONFIG)
        cli_check(o.status, &o.err);
    code = unhealthy(c, wp_error_message(o.err));
    wp_error_free(o.err);
    return code;
}

static int64_t health_value(const wp_health *health, wp_health_value value, int64_t unit)
{
    const int64_t found = wp_health_store_value(health, 0, value);
    return found == WP_HEALTH_NOT_KNOWN ? 0 : found / unit;
}

int cli_health(cli *c)
{
    static const char *const columns[] = {"health",        "store",        "reason",
                                          "ready",         "oldest (s)",   "stale",
                                          "jobs late (s)", "latency (us)", "schema"};
    static const int codes[] = {CLI_OK, CLI_DEGRADED, CLI_UNHEALTHY};
    const int64_t max_age_ms = cli_duration_ms(c->args, "max-age", -1);
    const int64_t limit_ms =
        cli_duration_ms(c->args, "limit", cli_config_number(c->config, "health.timeout_ms"));
    const bool scheduler = cli_flag(c->args, "scheduler");
    wp_health *health = NULL;
    wp_error *err = NULL;
    wp_health_status status;
    int64_t end_us, left_ms;
    int code;
    cli_args_end(c->args);
    if (limit_ms > LIMIT_MS_MAX)
        cli_usage("--limit is longer than an hour");
    end_us = cli_now_us() + limit_ms * 1000;
    if ((code = open_store(c, end_us, limit_ms)) != CLI_OK)
        return code;
    left_ms = (end_us - cli_now_us() + 999) / 1000;
    if (left_ms <= 0)
        return too_late(c, limit_ms);
    cli_check(wp_health_read(&health, c->store,
                             scheduler ? WP_HEALTH_OF_SCHEDULER : WP_HEALTH_OF_ALL, max_age_ms,
                             left_ms, &err),
              &err);
    status = wp_health_get_status(health);
    if (status == WP_HEALTH_UNHEALTHY)
        (void)fprintf(stderr, "waypost: unhealthy: %s\n", wp_health_reason(health));
    if (c->json) {
        (void)puts(wp_health_json(health));
    } else if (status != WP_HEALTH_UNHEALTHY) {
        cli_table *table = cli_table_new(c, columns, COUNT(columns));
        cli_text(table, wp_health_status_name(status));
        cli_text(table, wp_store_id(c->store));
        cli_text(table, wp_health_reason(health));
        cli_int(table, health_value(health, WP_HEALTH_READY, 1));
        cli_int(table, health_value(health, WP_HEALTH_OLDEST_US, 1000000));
        cli_int(table, health_value(health, WP_HEALTH_STALE, 1));
        cli_int(table, health_value(health, WP_HEALTH_JOBS_LATE_US, 1000000));
        cli_int(table, health_value(health, WP_HEALTH_LATENCY_US, 1));
        cli_int(table, health_value(health, WP_HEALTH_SCHEMA, 1));
        cli_table_end_one(table);
    }
    wp_health_free(health);
    return codes[status];
}
