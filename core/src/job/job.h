/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs' insides:
 *   job.c     a definition, and the options that go with it as JSON
 *   change.c  stores, registers, enables
 *   override.c  expressions of the configuration instead of the code's
 *   hand.c    deletes and triggers
 *   tick.c    makes the runs that are due
 *   look.c    lists jobs and runs
 *   run.c     what can be done to runs, which are a queue
 */
#ifndef WP__JOB_H
#define WP__JOB_H

#include <stdbool.h>
#include <waypost/job.h>

#include "op/op.h"

typedef struct wp__job_options {
    int64_t overlap; /* wp_overlap */
    int64_t misfire; /* wp_misfire */
    int64_t misfire_ms;
    int64_t catch_up;
    int64_t timeout_ms;
    int64_t max_attempts;
    int64_t backoff_base_ms;
    int64_t backoff_max_ms;
} wp__job_options;

struct wp_job {
    char *name;
    char *topic;
    char *payload;
    size_t payload_len;
    char *expression; /* NULL: once, or not set */
    char *zone;
    bool once;
    int64_t once_us;
    wp__job_options options;
};

wp_status wp__job_copy(wp_job **out, const wp_job *job, wp_error **err);
/* Store, connection (may be NULL) and a job's name are valid. */
wp_status wp__job_check_name(const wp_store *store, const wp_conn *conn, const char *name,
                             wp_error **err);

/* Of job_find: how many there are, and where the options are. */
enum { WP__JOB_FIND_COLUMNS = 14, WP__JOB_FIND_OPTIONS = 7 };

/* As JSON, for the database. */
void wp__job_options_write(wp__buf *out, const wp__job_options *options);
/* What is missing or odd is left as it is by default. NULL: all defaults. */
void wp__job_options_read(wp__job_options *out, const char *json, size_t len);

/* The run of a job, as wp__op_set_...() for job_run_add: needs now. `occurrence` INT64_MIN: none. */
enum { WP__RUN_PLAIN, WP__RUN_SKIPPED, WP__RUN_UNLESS_BUSY, WP__RUN_UNLESS_FULL };
typedef struct wp__new_run {
    wp_id id;
    char key[37]; /* the ordering key, which is the job's id */
} wp__new_run;
void wp__job_use_run(wp_op *op, wp__new_run *run, int64_t job, const wp_id *job_id,
                     const wp__job_options *options, int64_t occurrence, int how,
                     const char *reason);

/* The expression that the configuration has for a job, checked, malloc'ed; NULL: none that is valid, which
 * is logged. */
char *wp__job_override(const wp_store *store, const wp_job *job);
/* Log the names that the configuration has expressions for and no job has. */
void wp__job_overrides_check(wp_store *store);

/* Make the runs that are due, on a connection (NULL: of the pool). *next_us gets in how long there
 * will be more to do, INT64_MAX: never. */
wp_status wp__job_tick(size_t *made, int64_t *next_us, wp_store *store, wp_conn *conn,
                       wp_error **err);
/* Jobs that were dealt with in the future, by a clock that was ahead, go on from now, as a tick does first. */
wp_status wp__job_go_on(wp_store *store, wp_error **err);
/* In how long the first job is due, less than 0: it has been for so long, INT64_MAX: none is; and whether
 * jobs were dealt with in the future. */
wp_status wp__job_when_due(int64_t *in_us, bool *ahead, wp_store *store, wp_conn *conn,
                           wp_error **err);
/* A page of runs before the row `before`, and a run's row. */
wp_status wp__job_run_list(wp_job_runs **out, wp_store *store, const char *name, int64_t before,
                           int64_t limit, wp_error **err);
int64_t wp__job_run_number(const wp_job_run *run);
/* Whether the reason of a run's failure tells of a timeout or a cancel, which is all that its row tells of them:
 * a handler's own words must not look like that. May be NULL. */
bool wp__job_reason_is_ours(const char *reason);

/* Which of these runs their holder is asked to end: the JSON array of their numbers; `found` is
 * called with each. */
wp_status wp__job_run_asked(wp_store *store, wp_conn *conn, const char *seqs,
                            void (*found)(void *user, int64_t seq), void *user, wp_error **err);

#endif
