/* SPDX-License-Identifier: Apache-2.0 */
/* The expressions that the configuration has for jobs, in place of those of the code. */
#include <jansson.h>

#include "base/text.h"
#include "db/store.h"
#include "job/job.h"

/* What `job.cron_overrides` has; NULL: nothing. Whether it is well-formed is in *valid. */
static json_t *overrides_of(const wp_store *store, bool *valid)
{
    const char *text = wp__store_config(store)->job_cron_overrides;
    json_t *all = text && *text ? json_loads(text, 0, NULL) : NULL;
    *valid = !text || !*text || json_is_object(all);
    return all;
}

static void log_invalid(const wp_store *store, const wp_job *job, const char *cause)
{
    WP__LOG(wp__store_log(store), WP_LOG_ERROR, "invalid override of a job's schedule",
            WP__F_TEXT("StoreId", wp_store_id(store)), WP__F_TEXT("Job", job->name),
            WP__F_TEXT("Exception", cause));
}

char *wp__job_override(const wp_store *store, const wp_job *job)
{
    bool valid;
    json_t *all = overrides_of(store, &valid);
    json_t *own = json_object_get(all, job->name);
    wp_schedule *schedule = NULL;
    wp_error *cause = NULL;
    char *copy = NULL;
    if (!valid)
        log_invalid(store, job, "job.cron_overrides is no JSON object");
    else if (own && !json_is_string(own))
        log_invalid(store, job, "the override is no text");
    else if (own && wp_schedule_new(&schedule, json_string_value(own), job->zone,
                                    wp__store_config(store), &cause) != WP_OK)
        log_invalid(store, job, wp_error_message(cause));
    else if (own)
        copy = wp__text_dup(json_string_value(own));
    wp_error_free(cause);
    wp_schedule_free(schedule);
    json_decref(all);
    return copy;
}

void wp__job_overrides_check(wp_store *store)
{
    bool valid;
    json_t *all = overrides_of(store, &valid);
    const char *name;
    json_t *expression;
    json_object_foreach(all, name, expression)
    {
        wp_jobs *jobs = NULL;
        wp_error *cause = NULL;
        wp_status st = wp_job_get(&jobs, store, name, &cause);
        if (st == WP_E_NOT_FOUND || st == WP_E_ARGUMENT) /* that cannot be the name of one either */
            WP__LOG(wp__store_log(store), WP_LOG_WARNING, "override of a job that is not there",
                    WP__F_TEXT("StoreId", wp_store_id(store)), WP__F_TEXT("Job", name));
        wp_jobs_free(jobs);
        wp_error_free(cause);
    }
    json_decref(all);
}
