/* SPDX-License-Identifier: Apache-2.0 */
/* A job's definition under construction, and its options as JSON. */
#include "job/job.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const wp__job_options defaults = {.misfire_ms = 60000};

wp_status wp_job_new(wp_job **out, const char *name, const char *topic, const char *payload,
                     size_t payload_len, wp_error **err)
{
    wp_message *checked = NULL;
    wp_job *job;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    /* topic and payload are as a message's */
    if ((st = wp__check_text(NULL, "name", name, WP_NAME_MAX, true, err)) != WP_OK ||
        (st = wp_message_new(&checked, topic, payload, payload_len, err)) != WP_OK)
        return st;
    wp_message_free(checked);
    if (!(job = calloc(1, sizeof *job)))
        return wp__fail_nomem(err);
    job->options = defaults;
    job->name = wp__text_dup(name);
    job->topic = wp__text_dup(topic);
    job->payload = wp__text_ndup(payload, payload_len);
    job->payload_len = payload_len;
    if (!job->name || !job->topic || !job->payload) {
        wp_job_free(job);
        return wp__fail_nomem(err);
    }
    *out = job;
    return WP_OK;
}

void wp_job_free(wp_job *job)
{
    if (!job)
        return;
    free(job->name);
    free(job->topic);
    free(job->payload);
    free(job->expression);
    free(job->zone);
    free(job);
}

wp_status wp__job_copy(wp_job **out, const wp_job *job, wp_error **err)
{
    wp_job *copy = calloc(1, sizeof *copy);
    if (!copy)
        return wp__fail_nomem(err);
    *copy = *job;
    copy->name = wp__text_dup(job->name);
    copy->topic = wp__text_dup(job->topic);
    copy->payload = wp__text_ndup(job->payload, job->payload_len);
    copy->expression = job->expression ? wp__text_dup(job->expression) : NULL;
    copy->zone = job->zone ? wp__text_dup(job->zone) : NULL;
    if (!copy->name || !copy->topic || !copy->payload || (job->expression && !copy->expression) ||
        (job->zone && !copy->zone)) {
        wp_job_free(copy);
        return wp__fail_nomem(err);
    }
    *out = copy;
    return WP_OK;
}

static wp_status check_job(const wp_job *job, wp_error **err)
{
    return job ? WP_OK : wp__fail(err, WP_E_ARGUMENT, "job is NULL");
}

static wp_status check_number(const char *name, int64_t value, int64_t min, int64_t max,
                              wp_error **err)
{
    if (value >= min && value <= max)
        return WP_OK;
    return wp__fail(err, WP_E_RANGE, "%s is %lld, not in %lld..%lld", name, (long long)value,
                    (long long)min, (long long)max);
}

wp_status wp_job_set_schedule(wp_job *job, const char *expression, const char *zone, wp_error **err)
{
    char *text, *where;
    if (!job || !expression)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", job ? "expression" : "job");
    text = wp__text_dup(expression);
    where = wp__text_dup(zone ? zone : "UTC");
    if (!text || !where) {
        free(text);
        free(where);
        return wp__fail_nomem(err);
    }
    free(job->expression);
    free(job->zone);
    job->expression = text;
    job->zone = where;
    job->once = false;
    return WP_OK;
}

wp_status wp_job_set_once_us(wp_job *job, int64_t at_us, wp_error **err)
{
    wp_status st;
    if ((st = check_job(job, err)) != WP_OK ||
        (st = check_number("at_us", at_us, 0, WP_TIME_US_MAX, err)) != WP_OK)
        return st;
    free(job->expression);
    free(job->zone);
    job->expression = job->zone = NULL;
    job->once = true;
    job->once_us = at_us;
    return WP_OK;
}

wp_status wp_job_set_overlap(wp_job *job, wp_overlap overlap, wp_error **err)
{
    wp_status st = check_job(job, err);
    if (st == WP_OK && ((int)overlap < WP_OVERLAP_QUEUE || (int)overlap > WP_OVERLAP_ALLOW))
        st = wp__fail(err, WP_E_ARGUMENT, "overlap is %d, not one of wp_overlap", (int)overlap);
    if (st == WP_OK)
        job->options.overlap = (int64_t)overlap;
    return st;
}

wp_status wp_job_set_misfire(wp_job *job, wp_misfire misfire, int64_t threshold_ms,
                             int64_t catch_up, wp_error **err)
{
    wp_status st;
    if ((st = check_job(job, err)) != WP_OK ||
        (st = check_number("threshold_ms", threshold_ms, 0, WP_DELAY_MS_MAX, err)) != WP_OK)
        return st;
    if ((int)misfire < WP_MISFIRE_FIRE || (int)misfire > WP_MISFIRE_CATCH_UP)
        return wp__fail(err, WP_E_ARGUMENT, "misfire is %d, not one of wp_misfire", (int)misfire);
    if (misfire == WP_MISFIRE_CATCH_UP &&
        (st = check_number("catch_up", catch_up, 1, 1000, err)) != WP_OK)
        return st;
    job->options.misfire = (int64_t)misfire;
    job->options.misfire_ms = threshold_ms;
    job->options.catch_up = misfire == WP_MISFIRE_CATCH_UP ? catch_up : 0;
    return WP_OK;
}

wp_status wp_job_set_timeout_ms(wp_job *job, int64_t timeout_ms, wp_error **err)
{
    wp_status st;
    if ((st = check_job(job, err)) == WP_OK &&
        (st = check_number("timeout_ms", timeout_ms, 0, WP_LEASE_MS_MAX, err)) == WP_OK)
        job->options.timeout_ms = timeout_ms;
    return st;
}

wp_status wp_job_set_retry(wp_job *job, int64_t max_attempts, int64_t base_ms, int64_t max_ms,
                           wp_error **err)
{
    wp_status st;
    if ((st = check_job(job, err)) != WP_OK ||
        (st = check_number("max_attempts", max_attempts, 0, 1000000, err)) != WP_OK ||
        (st = check_number("base_ms", base_ms, 0, WP_LEASE_MS_MAX, err)) != WP_OK ||
        (st = check_number("max_ms", max_ms, 0, WP_LEASE_MS_MAX, err)) != WP_OK)
        return st;
    job->options.max_attempts = max_attempts;
    job->options.backoff_base_ms = base_ms;
    job->options.backoff_max_ms = max_ms;
    return WP_OK;
}

/* ---- options as JSON ---------------------------------------------------------------------- */

typedef struct option {
    const char *name;
    size_t offset;
} option;

#define OPTION(name)                                                                               \
    {                                                                                              \
#name, offsetof(wp__job_options, name)                                                     \
    }
static const option options_known[] = {
    OPTION(overlap),    OPTION(misfire),      OPTION(misfire_ms),      OPTION(catch_up),
    OPTION(timeout_ms), OPTION(max_attempts), OPTION(backoff_base_ms), OPTION(backoff_max_ms)};
#undef OPTION
enum { OPTIONS = sizeof options_known / sizeof options_known[0] };

static int64_t *value_of(wp__job_options *options, size_t i)
{
    return (int64_t *)(void *)((char *)options + options_known[i].offset);
}

void wp__job_options_write(wp__buf *out, const wp__job_options *options)
{
    wp__job_options copy = *options;
    for (size_t i = 0; i < OPTIONS; i++)
        wp__buf_fmt(out, "%s\"%s\":%lld", i ? "," : "{", options_known[i].name,
                    (long long)*value_of(&copy, i));
    wp__buf_text(out, "}");
}

void wp__job_options_read(wp__job_options *out, const char *json, size_t len)
{
    json_t *root = json ? json_loadb(json, len, 0, NULL) : NULL;
    *out = defaults;
    for (size_t i = 0; i < OPTIONS; i++) {
        const json_t *value = json_object_get(root, options_known[i].name);
        if (json_is_integer(value) && json_integer_value(value) >= 0)
            *value_of(out, i) = json_integer_value(value);
    }
    json_decref(root);
}
