/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the dashboard's API that look into a store's database. */
#ifndef WP__API_CALLS_H
#define WP__API_CALLS_H

#include <jansson.h>
#include <stdbool.h>
#include <waypost/store.h>

typedef struct wp__api_asked {
    const json_t *args;
    bool payloads; /* they may be shown */
} wp__api_asked;

typedef wp_status (*wp__api_fn)(json_t **out, wp_store *store, const wp__api_asked *asked,
                                wp_error **err);

/* A text as JSON; NULL is null. One that is no UTF-8 is told as such. */
json_t *wp__api_text(const char *text);

wp_status wp__api_unfinished(json_t **, wp_store *, const wp__api_asked *, wp_error **);
wp_status wp__api_message(json_t **, wp_store *, const wp__api_asked *, wp_error **);
wp_status wp__api_timers(json_t **, wp_store *, const wp__api_asked *, wp_error **);
wp_status wp__api_jobs(json_t **, wp_store *, const wp__api_asked *, wp_error **);
wp_status wp__api_runs(json_t **, wp_store *, const wp__api_asked *, wp_error **);
wp_status wp__api_leases(json_t **, wp_store *, const wp__api_asked *, wp_error **);
wp_status wp__api_dead(json_t **, wp_store *, const wp__api_asked *, wp_error **);
wp_status wp__api_paused(json_t **, wp_store *, const wp__api_asked *, wp_error **);
wp_status wp__api_audit(json_t **, wp_store *, const wp__api_asked *, wp_error **);
wp_status wp__api_topic_pause(json_t **, wp_store *, const wp__api_asked *, wp_error **);
wp_status wp__api_topic_resume(json_t **, wp_store *, const wp__api_asked *, wp_error **);
wp_status wp__api_job_pause(json_t **, wp_store *, const wp__api_asked *, wp_error **);
wp_status wp__api_job_resume(json_t **, wp_store *, const wp__api_asked *, wp_error **);
wp_status wp__api_job_trigger(json_t **, wp_store *, const wp__api_asked *, wp_error **);
wp_status wp__api_dead_replay(json_t **, wp_store *, const wp__api_asked *, wp_error **);
wp_status wp__api_dead_discard(json_t **, wp_store *, const wp__api_asked *, wp_error **);
wp_status wp__api_dead_edit(json_t **, wp_store *, const wp__api_asked *, wp_error **);

#endif
