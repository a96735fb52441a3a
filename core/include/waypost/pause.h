/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file pause.h
 * Pausing: workers leave a topic alone until it is resumed, all of them, on whatever host.
 *
 * It is kept in the database. A worker that hears of changes (worker.h) heeds it within a fifth of a
 * second, any other with its next poll, within a second while it has work. Handlers that run finish;
 * what was claimed and not started is given back. Messages can be enqueued as ever, and timers and
 * jobs go on being due: what comes of them waits, too. Claims by hand are not hindered. What is
 * changed here is noted (audit.h). A job's schedule is stopped by wp_job_set_enabled().
 */
#ifndef WAYPOST_PAUSE_H
#define WAYPOST_PAUSE_H

#include <waypost/worker.h>

WP_BEGIN_DECLS

/** Pause a topic of a queue. In the app's transaction on `conn`, or (NULL) in one of its own.
 * @param changed  may be NULL; gets 1, or 0 if it was paused already
 * @param source   one queue; WP_SOURCE_JOB: runs, by their jobs' topic
 * @param by       who says so, 255 UTF-16 code units at most; may be NULL
 * @return WP_OK; WP_E_ARGUMENT; WP_E_STATE: not on this engine. */
WP_API wp_status wp_topic_pause(int *changed, wp_store *store, wp_conn *conn, wp_source source,
                                const char *topic, const char *by, wp_error **err);
/** The same, as an operation for a connection of the host's; the result count is 1 or 0. */
WP_API wp_status wp_topic_pause_op(wp_op **out, wp_store *store, wp_source source,
                                   const char *topic, const char *by, wp_error **err);
/** Let it go on.
 * @param changed  may be NULL; gets 1, or 0 if it was not paused */
WP_API wp_status wp_topic_resume(int *changed, wp_store *store, wp_conn *conn, wp_source source,
                                 const char *topic, const char *by, wp_error **err);
/** The same, as an operation for a connection of the host's; the result count is 1 or 0. */
WP_API wp_status wp_topic_resume_op(wp_op **out, wp_store *store, wp_source source,
                                    const char *topic, const char *by, wp_error **err);

/** The topics that are paused. A snapshot. */
typedef struct wp_pauses wp_pauses;

/** Read them, by queue and topic. Thread-safe. */
WP_API wp_status wp_pauses_read(wp_pauses **out, wp_store *store, wp_error **err);
/** How many there are. */
WP_API size_t wp_pauses_count(const wp_pauses *pauses);
/** The queue of one of them, 0 to count - 1. */
WP_API wp_source wp_pauses_source(const wp_pauses *pauses, size_t index);
/** Its topic; NULL past the end. */
WP_API const char *wp_pauses_topic(const wp_pauses *pauses, size_t index);
/** When it was paused, in microseconds UTC since 1970. */
WP_API int64_t wp_pauses_since_us(const wp_pauses *pauses, size_t index);
/** By whom, or NULL. */
WP_API const char *wp_pauses_by(const wp_pauses *pauses, size_t index);
/** Free the list. */
WP_API void wp_pauses_free(WP_OWN wp_pauses *pauses);

WP_END_DECLS

#endif
