/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job.h
 * Jobs: recurring ones by a schedule, and one-time ones; and their runs, with history.
 *
 * A job is a name, a topic with a payload, and when it is to run. Workers that handle a topic with
 * WP_SOURCE_JOB also see to it that due jobs get their runs, any number of them at once: the database
 * admits one run for each job and occurrence. A run is a delivery like any other; its due time
 * (wp_received_due_us()) is the occurrence, as the schedule has it.
 *
 * What time it is, the database says. A schedule that is new or was changed never fires for the past.
 */
#ifndef WAYPOST_JOB_H
#define WAYPOST_JOB_H

#include <waypost/outbox.h>
#include <waypost/schedule.h>

WP_BEGIN_DECLS

/** Where the hosts' clocks decide (SQLite), they may differ by so much. A job that was dealt with for an instant
 * further in the future than that was so by a clock that was ahead: it goes on from now. No occurrence gets a
 * second run either way. */
#define WP_JOB_CLOCKS_DIFFER_US 5000000

/** The most bytes of output that a run keeps. */
#define WP_OUTPUT_MAX 65536

/* ---- a job under construction ------------------------------------------------------------- */

/** A job's definition. Not thread-safe; may be stored many times. */
typedef struct wp_job wp_job;

/** What happens to an occurrence while another run of the job is unfinished. */
typedef enum wp_overlap {
    WP_OVERLAP_QUEUE =
        0, /**< it waits: runs are one at a time, in order; where 1,000 are unfinished it is
                           * noted as skipped */
    WP_OVERLAP_SKIP = 1, /**< it is noted as skipped */
    WP_OVERLAP_ALLOW = 2 /**< it runs beside the other */
} wp_overlap;

/** What happens to occurrences of a recurring job that were missed for longer than the threshold. */
typedef enum wp_misfire {
    WP_MISFIRE_FIRE = 0,    /**< one run for all of them, at once, for the latest */
    WP_MISFIRE_SKIP = 1,    /**< none; the latest is noted as skipped */
    WP_MISFIRE_CATCH_UP = 2 /**< a run for each, but only of the latest `catch_up` */
} wp_misfire;

/** Make a job. Everything is copied. It has no schedule yet.
 * @param name         1 to 255 UTF-16 code units of valid UTF-8, compared byte for byte
 * @param topic        of the handler, likewise
 * @param payload      `payload_len` bytes of UTF-8 without NUL
 * @return WP_OK; WP_E_ARGUMENT. */
WP_API wp_status wp_job_new(wp_job **out, const char *name, const char *topic, const char *payload,
                            size_t payload_len, wp_error **err);
/** Free it. */
WP_API void wp_job_free(WP_OWN wp_job *job);
/** Run by a cron expression in a zone (NULL: UTC). It is checked when the job is stored. Replaces
 * wp_job_set_once_us() and is replaced by it. */
WP_API wp_status wp_job_set_schedule(wp_job *job, const char *expression, const char *zone,
                                     wp_error **err);
/** Run once, at an instant in microseconds UTC since 1970, 0 to WP_TIME_US_MAX. */
WP_API wp_status wp_job_set_once_us(wp_job *job, int64_t at_us, wp_error **err);
/** Set the overlap policy. Default: WP_OVERLAP_QUEUE. */
WP_API wp_status wp_job_set_overlap(wp_job *job, wp_overlap overlap, wp_error **err);
/** Set the misfire policy. Defaults: WP_MISFIRE_FIRE past 60,000 ms. One-time jobs always fire.
 * @param threshold_ms  0 to WP_DELAY_MS_MAX
 * @param catch_up      with WP_MISFIRE_CATCH_UP: 1 to 1000; else ignored */
WP_API wp_status wp_job_set_misfire(wp_job *job, wp_misfire misfire, int64_t threshold_ms,
                                    int64_t catch_up, wp_error **err);
/** Set how long a run may take, 0 to 86,400,000 ms; then its handler is told to stop, and the attempt has
 * failed, whatever it answers: one that gave up and one that finished late look the same. Only what it completed
 * in a transaction of the app's (wp_delivery_complete()) counts. 0, the default: the worker's `timeout_ms`. */
WP_API wp_status wp_job_set_timeout_ms(wp_job *job, int64_t timeout_ms, wp_error **err);
/** Set the retry policy of its runs; 0 each, the default: the worker's.
 * @param max_attempts  0 to 1,000,000
 * @param base_ms       the delay before the first retry, which doubles, 0 to 86,400,000
 * @param max_ms        the longest delay, likewise */
WP_API wp_status wp_job_set_retry(wp_job *job, int64_t max_attempts, int64_t base_ms,
                                  int64_t max_ms, wp_error **err);

/* ---- jobs in a store ---------------------------------------------------------------------- */

/** Create the job, or update the one of its name. If its schedule changed it next fires at the first
 * occurrence after now; otherwise what is due stays due. A job that an operator disabled stays so.
 * An expression that `job.cron_overrides` has for the name is used instead; if it is invalid, that is
 * logged and the job's own is used.
 * @return WP_OK; WP_E_ARGUMENT: there is no schedule, or it is malformed; WP_E_NOT_FOUND: no such zone;
 *         WP_E_RANGE: the instant of a one-time job is in the past; WP_E_STATE: it is for one time, and
 *         there is a job of that name that has not ended. */
WP_API wp_status wp_job_put(wp_store *store, const wp_job *job, wp_error **err);
/** The same in the app's transaction on `conn`: the job is there with its commit. NULL: one of its own.
 * @return also WP_E_UNAVAILABLE, retriable: another one changed it meanwhile */
WP_API wp_status wp_job_put_in(wp_store *store, wp_conn *conn, const wp_job *job, wp_error **err);
/** The same, as an operation for a connection of the host's. The job is copied. */
WP_API wp_status wp_job_put_op(wp_op **out, wp_store *store, const wp_job *job, wp_error **err);
/** Store the jobs of one program's code: new ones are made, changed ones updated, and those that it had
 * and has no more are switched off, until they come again. One-time jobs and those that were stored by
 * wp_job_put() stay as they are. A name in `job.cron_overrides` that no job of the store has
 * is logged, and so is a job that is taken from another program.
 * @param registrar  names the program: 1 to 255 UTF-16 code units
 * @return as wp_job_put(); where one of them is malformed, nothing is changed */
WP_API wp_status wp_job_register(wp_store *store, const char *registrar, const wp_job *const *jobs,
                                 size_t count, wp_error **err);
/** Delete the job and its pending runs. A running run finishes, but is not tried again; history stays.
 * @param deleted  may be NULL; gets 1 or 0 */
WP_API wp_status wp_job_delete(int *deleted, wp_store *store, const char *name, wp_error **err);
/** The same in the app's transaction on `conn`; NULL: one of its own. */
WP_API wp_status wp_job_delete_in(int *deleted, wp_store *store, wp_conn *conn, const char *name,
                                  wp_error **err);
/** The same, as an operation for a connection of the host's; the result count is 1 or 0. */
WP_API wp_status wp_job_delete_op(wp_op **out, wp_store *store, const char *name, wp_error **err);
/** Make one run now, also of a disabled job, whatever the schedule says.
 * @param run_id  may be NULL
 * @return WP_OK; WP_E_NOT_FOUND. */
WP_API wp_status wp_job_trigger(wp_id *run_id, wp_store *store, const char *name, wp_error **err);
/** The same in the app's transaction on `conn`: the run is there with its commit. NULL: one of its own. */
WP_API wp_status wp_job_trigger_in(wp_id *run_id, wp_store *store, wp_conn *conn, const char *name,
                                   wp_error **err);
/** The same, as an operation for a connection of the host's; wp_op_result_id() gives the run's id. */
WP_API wp_status wp_job_trigger_op(wp_op **out, wp_store *store, const char *name, wp_error **err);
/** Disable a job: it gets no more runs by its schedule, whatever is registered or stored, until it is
 * enabled again; then it goes on with the first occurrence after now. A one-time job whose time has
 * passed meanwhile fires at once.
 * @return WP_OK; WP_E_NOT_FOUND; WP_E_STATE: it is to be enabled and is off because its program has it no more. */
WP_API wp_status wp_job_set_enabled(wp_store *store, const char *name, int enabled, wp_error **err);
/** The same, and the audit (audit.h) tells who did it.
 * @param by  may be NULL: up to 255 code units */
WP_API wp_status wp_job_set_enabled_by(wp_store *store, const char *name, int enabled,
                                       const char *by, wp_error **err);
/** wp_job_trigger(), noted in the audit.
 * @param by  may be NULL: who did it, up to 255 code units */
WP_API wp_status wp_job_trigger_by(wp_id *run_id, wp_store *store, const char *name, const char *by,
                                   wp_error **err);
/** The same, as an operation for a connection of the host's; wp_op_result_id() gives the run's id. The note
 * is there with the run, or not at all. */
WP_API wp_status wp_job_trigger_by_op(wp_op **out, wp_store *store, const char *name,
                                      const char *by, wp_error **err);
/** Make the runs of jobs that are due, as workers do.
 * @param made  may be NULL; gets how many */
WP_API wp_status wp_job_schedule_due(size_t *made, wp_store *store, wp_error **err);

/** A list of jobs. A snapshot. */
typedef struct wp_jobs wp_jobs;
/** One of them. Borrowed from the list. */
typedef struct wp_job_info wp_job_info;

/** The job of a name, as a list of one. @return WP_OK; WP_E_NOT_FOUND. */
WP_API wp_status wp_job_get(wp_jobs **out, wp_store *store, const char *name, wp_error **err);
/** The same as the app's transaction on `conn` sees it; NULL: one of its own. */
WP_API wp_status wp_job_get_in(wp_jobs **out, wp_store *store, wp_conn *conn, const char *name,
                               wp_error **err);
/** The same, as an operation for a connection of the host's, which fails if there is none. */
WP_API wp_status wp_job_get_op(wp_op **out, wp_store *store, const char *name, wp_error **err);
/** The result of a finished wp_job_get_op(), as a list of one.
 * @return WP_OK; WP_E_STATE: not finished, or an operation without such a result. */
WP_API wp_status wp_op_result_jobs(wp_jobs **out, const wp_op *op, wp_error **err);
/** List jobs by name, in byte order.
 * @param after  the last name of the page before; NULL: from the first on
 * @param limit  1 to WP_BATCH_MAX */
WP_API wp_status wp_job_list(wp_jobs **out, wp_store *store, const char *after, int64_t limit,
                             wp_error **err);
/** The same without the payloads, which may be large: wp_job_info_payload() gives NULL. */
WP_API wp_status wp_job_list_brief(wp_jobs **out, wp_store *store, const char *after, int64_t limit,
                                   wp_error **err);
/** How many there are. */
WP_API size_t wp_jobs_count(const wp_jobs *jobs);
/** One of them; NULL past the end. */
WP_API const wp_job_info *wp_jobs_at(const wp_jobs *jobs, size_t index);
/** Free the list. */
WP_API void wp_jobs_free(WP_OWN wp_jobs *jobs);

/** Its name. */
WP_API const char *wp_job_info_name(const wp_job_info *info);
/** The topic. */
WP_API const char *wp_job_info_topic(const wp_job_info *info);
/** The payload; NULL: it was not read. */
WP_API const char *wp_job_info_payload(const wp_job_info *info);
/** The cron expression that is in force; NULL: a one-time job. */
WP_API const char *wp_job_info_expression(const wp_job_info *info);
/** Its zone; NULL: a one-time job. */
WP_API const char *wp_job_info_zone(const wp_job_info *info);
/** Who registered it; NULL: wp_job_put(). */
WP_API const char *wp_job_info_registrar(const wp_job_info *info);
/** 0 if an operator disabled it, or its code does not have it any more. */
WP_API int wp_job_info_enabled(const wp_job_info *info);
/** 1 if the program that registered it has it no more: it may have no handler. */
WP_API int wp_job_info_vanished(const wp_job_info *info);
/** What happens while another run is unfinished: wp_job_set_overlap(). */
WP_API wp_overlap wp_job_info_overlap(const wp_job_info *info);
/** What happens to occurrences that were missed: wp_job_set_misfire(). */
WP_API wp_misfire wp_job_info_misfire(const wp_job_info *info);
/** From how many milliseconds on they count as missed. */
WP_API int64_t wp_job_info_misfire_ms(const wp_job_info *info);
/** How many of them get a run each, with WP_MISFIRE_CATCH_UP; else 0. */
WP_API int64_t wp_job_info_catch_up(const wp_job_info *info);
/** How long a run may take, in milliseconds; 0: the worker's `timeout_ms`. */
WP_API int64_t wp_job_info_timeout_ms(const wp_job_info *info);
/** How many attempts a run has; 0: the worker's. */
WP_API int64_t wp_job_info_max_attempts(const wp_job_info *info);
/** The delay before the first retry, in milliseconds; 0: the worker's. */
WP_API int64_t wp_job_info_backoff_base_ms(const wp_job_info *info);
/** The longest delay before a retry, likewise. */
WP_API int64_t wp_job_info_backoff_max_ms(const wp_job_info *info);
/** When it is due next, in microseconds UTC since 1970; 0: never. */
WP_API int64_t wp_job_info_next_due_us(const wp_job_info *info);

/** Where a run stands. */
typedef enum wp_run_status {
    WP_RUN_NONE = -1,     /**< there was none */
    WP_RUN_PENDING = 0,   /**< waiting: for a worker, its next attempt or another run */
    WP_RUN_RUNNING = 1,   /**< with a worker */
    WP_RUN_SUCCEEDED = 2, /**< finished */
    WP_RUN_FAILED = 3,    /**< given up */
    WP_RUN_TIMED_OUT = 5, /**< given up, as its last attempt took too long */
    WP_RUN_CANCELLED = 6, /**< by wp_job_run_cancel() */
    WP_RUN_SKIPPED = 7    /**< never run: overlap or misfire */
} wp_run_status;

/** When the job's last run to start was due, likewise; 0: none has started. */
WP_API int64_t wp_job_info_last_due_us(const wp_job_info *info);
/** When it started, last. */
WP_API int64_t wp_job_info_last_started_us(const wp_job_info *info);
/** How long it took; 0: not finished. */
WP_API int64_t wp_job_info_last_duration_us(const wp_job_info *info);
/** Where it stands. */
WP_API wp_run_status wp_job_info_last_status(const wp_job_info *info);

/* ---- runs --------------------------------------------------------------------------------- */

/** A list of runs. A snapshot. */
typedef struct wp_job_runs wp_job_runs;
/** One of them. Borrowed from the list. */
typedef struct wp_job_run wp_job_run;

/** The run of an id, as a list of one. @return WP_OK; WP_E_NOT_FOUND. */
WP_API wp_status wp_job_run_get(wp_job_runs **out, wp_store *store, const wp_id *id,
                                wp_error **err);
/** List runs, the latest first.
 * @param name    of a job, which may be gone; NULL: of all
 * @param before  the last one of the page before; NULL: from the latest on
 * @param limit   1 to WP_BATCH_MAX */
WP_API wp_status wp_job_run_list(wp_job_runs **out, wp_store *store, const char *name,
                                 const wp_job_run *before, int64_t limit, wp_error **err);
/** How many there are. */
WP_API size_t wp_job_runs_count(const wp_job_runs *runs);
/** One of them; NULL past the end. */
WP_API const wp_job_run *wp_job_runs_at(const wp_job_runs *runs, size_t index);
/** Free the list. */
WP_API void wp_job_runs_free(WP_OWN wp_job_runs *runs);

/** Its id. */
WP_API const wp_id *wp_job_run_id(const wp_job_run *run);
/** The job's name. */
WP_API const char *wp_job_run_name(const wp_job_run *run);
/** Where it stands. */
WP_API wp_run_status wp_job_run_status(const wp_job_run *run);
/** The instant that it was scheduled for, in microseconds UTC since 1970. */
WP_API int64_t wp_job_run_due_us(const wp_job_run *run);
/** 1 if it is of the schedule, 0 if it was triggered by hand. */
WP_API int wp_job_run_is_scheduled(const wp_job_run *run);
/** When its last attempt was claimed; 0: it was not. */
WP_API int64_t wp_job_run_started_us(const wp_job_run *run);
/** When it ended; 0: it has not. */
WP_API int64_t wp_job_run_ended_us(const wp_job_run *run);
/** How many attempts ended without success. */
WP_API int64_t wp_job_run_attempt(const wp_job_run *run);
/** What its handler returned (wp_delivery_set_output()), or NULL. */
WP_API const char *wp_job_run_output(const wp_job_run *run);
/** The reason of the last failure or of the skip, or NULL. */
WP_API const char *wp_job_run_error(const wp_job_run *run);

/** Cancel a run. One that waits ends at once as cancelled. The handler of one that runs is told to stop
 * (WP_CANCEL_REQUESTED), in about 0.1 s where the worker hears of changes, else within its `reap_ms`; if it then
 * fails, the run is not tried again and ends as cancelled, which is no dead letter; if it succeeds all the same,
 * it has succeeded.
 * @param cancelled  may be NULL; gets 1, or 0: it has ended, or there is none */
WP_API wp_status wp_job_run_cancel(int *cancelled, wp_store *store, const wp_id *id,
                                   wp_error **err);
/** Delete runs that ended this long ago, in batches, each in a transaction of its own.
 * @param purged         may be NULL; gets how many
 * @param older_than_ms  0 to WP_DELAY_MS_MAX */
WP_API wp_status wp_job_run_purge(size_t *purged, wp_store *store, int64_t older_than_ms,
                                  wp_error **err);

/* Claim and finish runs by hand: as the outbox's. */

/** As wp_outbox_claim(). Runs of jobs that are gone fail, and are not given out. */
WP_API wp_status wp_job_run_claim(wp_claim **out, wp_store *store, const wp_id *owner,
                                  const char *const *topics, size_t topic_count, int64_t batch,
                                  int64_t lease_ms, wp_error **err);
/** As wp_outbox_ack(). */
WP_API wp_status wp_job_run_ack(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                                const wp_id *ids, const int64_t *claims, size_t count,
                                const char *worker, wp_error **err);
/** As wp_outbox_ack_op(). */
WP_API wp_status wp_job_run_ack_op(wp_op **out, wp_store *store, const wp_id *owner,
                                   const wp_id *ids, const int64_t *claims, size_t count,
                                   const char *worker, wp_error **err);
/** As wp_outbox_abandon(); a run that may have no further attempt by its job's retry policy fails. */
WP_API wp_status wp_job_run_abandon(size_t *changed, wp_store *store, wp_conn *conn,
                                    const wp_id *owner, const wp_id *ids, const int64_t *claims,
                                    size_t count, int64_t delay_ms, const char *reason,
                                    wp_error **err);
/** As wp_outbox_fail(). */
WP_API wp_status wp_job_run_fail(size_t *changed, wp_store *store, wp_conn *conn,
                                 const wp_id *owner, const wp_id *ids, const int64_t *claims,
                                 size_t count, const char *reason, wp_error **err);
/** As wp_outbox_release(). */
WP_API wp_status wp_job_run_release(size_t *changed, wp_store *store, wp_conn *conn,
                                    const wp_id *owner, const wp_id *ids, const int64_t *claims,
                                    size_t count, wp_error **err);
/** As wp_outbox_renew(). */
WP_API wp_status wp_job_run_renew(size_t *changed, wp_store *store, wp_conn *conn,
                                  const wp_id *owner, const wp_id *ids, const int64_t *claims,
                                  size_t count, int64_t lease_ms, wp_error **err);
/** As wp_outbox_reap(): runs whose lease is over go back, or fail if their attempts are spent. */
WP_API wp_status wp_job_run_reap(size_t *changed, wp_store *store, wp_error **err);
/** As wp_outbox_stats_read(). */
WP_API wp_status wp_job_run_stats_read(wp_outbox_stats **out, wp_store *store, int finished,
                                       wp_error **err);

WP_END_DECLS

#endif
