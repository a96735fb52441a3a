/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file timer.h
 * Timers: messages that are due at an instant, in a queue of their own.
 *
 * A timer is a wp_message with a due time (wp_message_set_due_us() or _set_delay_ms(); without one it
 * is due at once), and everything that is said of messages in outbox.h holds. When it is due, by the
 * database's clock and never before, a worker that handles its topic (WP_SOURCE_TIMER) gets it as it
 * would get an outbox message: by due time, then in the order in which they were scheduled. Until it
 * is claimed for the first time it can be cancelled and rescheduled.
 */
#ifndef WAYPOST_TIMER_H
#define WAYPOST_TIMER_H

#include <waypost/outbox.h>

WP_BEGIN_DECLS

/* ---- schedule ----------------------------------------------------------------------------- */

/** Schedule a timer. Arguments and results as wp_outbox_enqueue(). */
WP_API wp_status wp_timer_schedule(wp_id *id, int *duplicate, wp_store *store, wp_conn *conn,
                                   const wp_message *message, wp_error **err);
/** Schedule many in one transaction. Arguments as wp_outbox_enqueue_many(). */
WP_API wp_status wp_timer_schedule_many(wp_id *ids, int *duplicates, wp_store *store, wp_conn *conn,
                                        const wp_message *const *messages, size_t count,
                                        wp_error **err);
/** The same, as an operation for a connection of the host's. The messages are copied. */
WP_API wp_status wp_timer_schedule_op(wp_op **out, wp_store *store,
                                      const wp_message *const *messages, size_t count,
                                      wp_error **err);

/* ---- cancel and reschedule ---------------------------------------------------------------- */

/** Cancel a timer that was never claimed: it will not fire. In the app's transaction on `conn`, or
 * (NULL) in one of its own. On PostgreSQL this waits for a claim that is under way.
 * @param cancelled  may be NULL; gets 1, or 0 if there is no such timer, it was cancelled before, or
 *                   a worker has or had it; then nothing is changed
 * @return WP_OK, also if it changed nothing. */
WP_API wp_status wp_timer_cancel(int *cancelled, wp_store *store, wp_conn *conn, const wp_id *id,
                                 wp_error **err);
/** The same as an operation for a connection of the host's; its result count is 1 or 0. */
WP_API wp_status wp_timer_cancel_op(wp_op **out, wp_store *store, const wp_id *id, wp_error **err);
/** Give a timer that was never claimed another due time. Otherwise as wp_timer_cancel().
 * @param moved   may be NULL; gets 1 or 0
 * @param due_us  0 to WP_TIME_US_MAX; the past means now */
WP_API wp_status wp_timer_reschedule(int *moved, wp_store *store, wp_conn *conn, const wp_id *id,
                                     int64_t due_us, wp_error **err);
/** The same with a time from the database's now on.
 * @param delay_ms  up to WP_DELAY_MS_MAX; 0 and less: now */
WP_API wp_status wp_timer_reschedule_in(int *moved, wp_store *store, wp_conn *conn, const wp_id *id,
                                        int64_t delay_ms, wp_error **err);
/** wp_timer_reschedule() as an operation for a connection of the host's; its result count is 1 or 0. */
WP_API wp_status wp_timer_reschedule_op(wp_op **out, wp_store *store, const wp_id *id,
                                        int64_t due_us, wp_error **err);
/** wp_timer_reschedule_in() likewise. */
WP_API wp_status wp_timer_reschedule_in_op(wp_op **out, wp_store *store, const wp_id *id,
                                           int64_t delay_ms, wp_error **err);

/* ---- claim and finish, by hand: as the outbox's ------------------------------------------- */

/** As wp_outbox_claim(). */
WP_API wp_status wp_timer_claim(wp_claim **out, wp_store *store, const wp_id *owner,
                                const char *const *topics, size_t topic_count, int64_t batch,
                                int64_t lease_ms, wp_error **err);
/** As wp_outbox_ack(). */
WP_API wp_status wp_timer_ack(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                              const wp_id *ids, const int64_t *claims, size_t count,
                              const char *worker, wp_error **err);
/** As wp_outbox_abandon(). */
WP_API wp_status wp_timer_abandon(size_t *changed, wp_store *store, wp_conn *conn,
                                  const wp_id *owner, const wp_id *ids, const int64_t *claims,
                                  size_t count, int64_t delay_ms, const char *reason,
                                  wp_error **err);
/** As wp_outbox_fail(). */
WP_API wp_status wp_timer_fail(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                               const wp_id *ids, const int64_t *claims, size_t count,
                               const char *reason, wp_error **err);
/** As wp_outbox_release(). */
WP_API wp_status wp_timer_release(size_t *changed, wp_store *store, wp_conn *conn,
                                  const wp_id *owner, const wp_id *ids, const int64_t *claims,
                                  size_t count, wp_error **err);
/** As wp_outbox_renew(). */
WP_API wp_status wp_timer_renew(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                                const wp_id *ids, const int64_t *claims, size_t count,
                                int64_t lease_ms, wp_error **err);
/** As wp_outbox_ack_op(). */
WP_API wp_status wp_timer_ack_op(wp_op **out, wp_store *store, const wp_id *owner, const wp_id *ids,
                                 const int64_t *claims, size_t count, const char *worker,
                                 wp_error **err);
/** As wp_outbox_reap(). */
WP_API wp_status wp_timer_reap(size_t *changed, wp_store *store, wp_error **err);

/* ---- looking ------------------------------------------------------------------------------ */

/** Look one timer up. @return WP_OK; WP_E_NOT_FOUND. */
WP_API wp_status wp_timer_get(wp_outbox_info **out, wp_store *store, const wp_id *id,
                              wp_error **err);
/** Counts by topic, as wp_outbox_stats_read(). Cancelled ones are counted nowhere. */
WP_API wp_status wp_timer_stats_read(wp_outbox_stats **out, wp_store *store, int finished,
                                     wp_error **err);

/** A page of timers. A snapshot. */
typedef struct wp_unfinished wp_timers;

/** List timers in the order in which they were scheduled.
 * @param correlation_id  those that have it, finished ones too; NULL: all that are unfinished
 * @param after  the last one of the page before; NULL: from the first on
 * @param limit  1 to WP_BATCH_MAX: the length of a page; the last page is shorter */
WP_API wp_status wp_timer_list(wp_timers **out, wp_store *store, const char *correlation_id,
                               const wp_outbox_info *after, int64_t limit, wp_error **err);
/** The same without the payloads, as wp_unfinished_read_brief(). */
WP_API wp_status wp_timer_list_brief(wp_timers **out, wp_store *store, const char *correlation_id,
                                     const wp_outbox_info *after, int64_t limit, wp_error **err);
/** How many there are. */
WP_API size_t wp_timers_count(const wp_timers *timers);
/** One of them, 0 to count - 1; NULL past the end. Borrowed from the page. */
WP_API const wp_outbox_info *wp_timers_at(const wp_timers *timers, size_t index);
/** Free the page. */
WP_API void wp_timers_free(WP_OWN wp_timers *timers);

WP_END_DECLS

#endif
