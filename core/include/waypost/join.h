/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file join.h
 * Joins: so many outbox messages are steps of one thing; when the last of them is finished, the join
 * is over, and a message that says so is enqueued, once, in the same transaction.
 *
 * A message that is a member of a join counts there once: as completed when it is acked, as failed when
 * it is failed for ever (failed, rejected, out of attempts, expired, cancelled), in the transaction that
 * does that. A retry or a lost lease counts nothing, and a dead letter that is replayed does not count
 * again. When as many members as were expected have counted, the join is over: failed if any of them
 * failed and it is to fail then, else completed. What is over never changes again. docs/joins.md.
 *
 * A message may be a member of many joins. With the topic WP_JOIN_WAIT_TOPIC a message waits for a join:
 * its payload is a JSON object whose "join" is the join's id as text, and it is given to the handler
 * of that topic when the join is over. To wait is no failed attempt. Without such a join it is failed.
 */
#ifndef WAYPOST_JOIN_H
#define WAYPOST_JOIN_H

#include <waypost/outbox.h>

WP_BEGIN_DECLS

#define WP_JOIN_EXPECTED_MAX 1000000000 /**< members expected */
#define WP_JOIN_METADATA_MAX 65536      /**< metadata: 64 KiB of UTF-8 */
#define WP_JOIN_WAIT_TOPIC "join.wait"  /**< the topic of messages that wait for a join */

/* ---- a join to start ---------------------------------------------------------------------- */

/** A join under construction. Not thread-safe; may be started many times. */
typedef struct wp_join wp_join;

/** Make a join.
 * @param expected  how many members are to finish, 1 to WP_JOIN_EXPECTED_MAX
 * @return WP_OK; WP_E_ARGUMENT: expected is 0 or less; WP_E_RANGE: it is too large. */
WP_API wp_status wp_join_new(wp_join **out, int64_t expected, wp_error **err);
/** Free it. */
WP_API void wp_join_free(WP_OWN wp_join *join);
/** Set the grouping key, by which joins can be found; up to 255 UTF-16 code units; NULL or empty: none. */
WP_API wp_status wp_join_set_grouping_key(wp_join *join, const char *grouping_key, wp_error **err);
/** Set text of the app's own, of any form, up to WP_JOIN_METADATA_MAX bytes of UTF-8; NULL: none. */
WP_API wp_status wp_join_set_metadata(wp_join *join, const char *metadata, wp_error **err);
/** Whether the join fails if any member failed (not 0: it does). Without: it completes all the same. */
WP_API wp_status wp_join_set_fail_if_any(wp_join *join, int fail_if_any, wp_error **err);
/** The message that is enqueued when the join completes. It is copied; NULL: none. It may have headers, a
 * correlation id and an ordering key, but no due time, expiry, unique key or joins (WP_E_ARGUMENT). */
WP_API wp_status wp_join_set_success(wp_join *join, const wp_message *message, wp_error **err);
/** The message that is enqueued when the join fails; when its deadline passes, too. Otherwise as
 * wp_join_set_success(). */
WP_API wp_status wp_join_set_failure(wp_join *join, const wp_message *message, wp_error **err);
/** The join fails with the reason "timeout" if it is not over at an instant, in microseconds UTC since
 * 1970, 1 to WP_TIME_US_MAX. Workers see to that when they reap (`worker.reap_ms`). */
WP_API wp_status wp_join_set_deadline_us(wp_join *join, int64_t deadline_us, wp_error **err);
/** The same for a time from the start on, by the database's clock. Replaces set_deadline_us() and is
 * replaced by it.
 * @param timeout_ms  1 to WP_DELAY_MS_MAX */
WP_API wp_status wp_join_set_timeout_ms(wp_join *join, int64_t timeout_ms, wp_error **err);

/** Start a join: in the app's transaction on `conn`, or (NULL) in one of its own.
 * @param id  gets the join's id */
WP_API wp_status wp_join_start(wp_id *id, wp_store *store, wp_conn *conn, const wp_join *join,
                               wp_error **err);
/** The same as an operation for a connection of the host's, with one result: the id. */
WP_API wp_status wp_join_start_op(wp_op **out, wp_store *store, const wp_join *join,
                                  wp_error **err);

/* ---- members ------------------------------------------------------------------------------ */

/** Make a message a member of a join as it is enqueued (outbox messages only; WP_E_ARGUMENT elsewhere);
 * call it again for further joins, up to 16. The enqueue fails with WP_E_NOT_FOUND if there is no such
 * join, and with WP_E_STATE if it is over; on a connection of the host's this is found out before
 * anything is stored. A duplicate (wp_message_set_unique_key()) makes the first message a member. */
WP_API wp_status wp_message_add_join(wp_message *message, const wp_id *join, wp_error **err);

/* The calls below share these rules. `conn` may be NULL: a transaction of its own; else they belong to
 * the app's. Ids may repeat; up to WP_BATCH_MAX; count 0 does nothing, NULL is an error. */

/** Make outbox messages members of a join. Those that are members stay so. One that is finished counts
 * at once. There may be more members than expected: the first ones to finish count (of those that finish
 * at the same moment, any).
 * @param attached  may be NULL; gets how many became members
 * @return WP_OK; WP_E_NOT_FOUND: there is no such join, or no such message, and nothing was changed;
 *         WP_E_STATE: the join is over, and one of them is no member. */
WP_API wp_status wp_join_attach(size_t *attached, wp_store *store, wp_conn *conn, const wp_id *join,
                                const wp_id *messages, size_t count, wp_error **err);
/** The same as an operation for a connection of the host's; its result count is `attached`. */
WP_API wp_status wp_join_attach_op(wp_op **out, wp_store *store, const wp_id *join,
                                   const wp_id *messages, size_t count, wp_error **err);

/** Report members as finished, whatever their messages do: they count as if they were acked (or
 * failed), once. What is no member or has counted is ignored, and so is all of a join that is over.
 * @param counted  may be NULL; gets how many counted now
 * @param failed   0: completed; else failed
 * @return WP_OK; WP_E_NOT_FOUND: there is no such join. */
WP_API wp_status wp_join_report(size_t *counted, wp_store *store, wp_conn *conn, const wp_id *join,
                                const wp_id *messages, size_t count, int failed, wp_error **err);
/** The same as an operation for a connection of the host's; its result count is `counted`. */
WP_API wp_status wp_join_report_op(wp_op **out, wp_store *store, const wp_id *join,
                                   const wp_id *messages, size_t count, int failed, wp_error **err);

/* ---- end it otherwise --------------------------------------------------------------------- */

/** Cancel a join that is not over. Its messages go on; no message is enqueued for it.
 * @param cancelled  may be NULL; gets 1, or 0: there is none, or it is over; then nothing is changed
 * @return WP_OK, also if it changed nothing. */
WP_API wp_status wp_join_cancel(int *cancelled, wp_store *store, wp_conn *conn, const wp_id *id,
                                wp_error **err);
/** The same as an operation for a connection of the host's; its result count is 1 or 0. */
WP_API wp_status wp_join_cancel_op(wp_op **out, wp_store *store, const wp_id *id, wp_error **err);
/** Fail the joins that are past their deadline, as workers do while they run.
 * @param failed  may be NULL; gets how many */
WP_API wp_status wp_join_reap(size_t *failed, wp_store *store, wp_error **err);
/** Delete joins that were over at least `older_than_ms` ago, with all that is known of their members, in
 * batches. Workers do this by themselves after `join.keep_ms`.
 * @param removed        may be NULL; gets how many were, also if a later batch failed
 * @param older_than_ms  0 or more */
WP_API wp_status wp_join_cleanup(size_t *removed, wp_store *store, int64_t older_than_ms,
                                 wp_error **err);

/* ---- looking ------------------------------------------------------------------------------ */

/** Where a join stands. */
typedef enum wp_join_status {
    WP_JOIN_OPEN = 0,      /**< waits for members */
    WP_JOIN_COMPLETED = 1, /**< over: as many as expected are finished */
    WP_JOIN_FAILED = 2,    /**< over: the same, but one failed; or the deadline passed */
    WP_JOIN_CANCELLED = 3  /**< over: it was cancelled */
} wp_join_status;

/** A join as it was when it was looked at. */
typedef struct wp_join_info wp_join_info;

/** Look one join up. @return WP_OK; WP_E_NOT_FOUND. */
WP_API wp_status wp_join_get(wp_join_info **out, wp_store *store, const wp_id *id, wp_error **err);
/** Its id. */
WP_API const wp_id *wp_join_info_id(const wp_join_info *info);
/** Its status, or WP_JOIN_OPEN for NULL. */
WP_API wp_join_status wp_join_info_status(const wp_join_info *info);
/** How many members are to finish. */
WP_API int64_t wp_join_info_expected(const wp_join_info *info);
/** How many counted as completed. Never more, together with the failed ones, than are expected. */
WP_API int64_t wp_join_info_completed(const wp_join_info *info);
/** How many counted as failed. */
WP_API int64_t wp_join_info_failed(const wp_join_info *info);
/** 1 if it fails when a member failed. */
WP_API int wp_join_info_fail_if_any(const wp_join_info *info);
/** The grouping key, or NULL. */
WP_API const char *wp_join_info_grouping_key(const wp_join_info *info);
/** The metadata, or NULL. */
WP_API const char *wp_join_info_metadata(const wp_join_info *info);
/** When it was started, in microseconds UTC since 1970, by the database's clock. */
WP_API int64_t wp_join_info_created_us(const wp_join_info *info);
/** Its deadline, likewise; 0: none. */
WP_API int64_t wp_join_info_deadline_us(const wp_join_info *info);
/** When it was over, likewise; 0: it is open. */
WP_API int64_t wp_join_info_ended_us(const wp_join_info *info);
/** Why it failed, where that is not in its members: "timeout"; else NULL. */
WP_API const char *wp_join_info_reason(const wp_join_info *info);
/** The id of the message that was enqueued for it; NULL: none was. */
WP_API const wp_id *wp_join_info_continuation(const wp_join_info *info);
/** Free it. */
WP_API void wp_join_info_free(WP_OWN wp_join_info *info);

/** A page of joins. A snapshot. */
typedef struct wp_joins wp_joins;

/** List joins in the order in which they were started.
 * @param grouping_key  those that have it; NULL: all
 * @param after  the last one of the page before; NULL: from the first on
 * @param limit  1 to WP_BATCH_MAX: the length of a page; the last page is shorter */
WP_API wp_status wp_join_list(wp_joins **out, wp_store *store, const char *grouping_key,
                              const wp_join_info *after, int64_t limit, wp_error **err);
/** How many there are. */
WP_API size_t wp_joins_count(const wp_joins *joins);
/** One of them, 0 to count - 1; NULL past the end. Borrowed from the page. */
WP_API const wp_join_info *wp_joins_at(const wp_joins *joins, size_t index);
/** Free the page. */
WP_API void wp_joins_free(WP_OWN wp_joins *joins);

/** How a member counted. */
typedef enum wp_join_member_status {
    WP_JOIN_MEMBER_WAITING = 0,   /**< it did not; in a join that is over, it never will */
    WP_JOIN_MEMBER_COMPLETED = 1, /**< as completed */
    WP_JOIN_MEMBER_FAILED = 2     /**< as failed */
} wp_join_member_status;

/** A page of a join's members. A snapshot. */
typedef struct wp_join_members wp_join_members;

/** List the members of a join in the order in which their messages were enqueued.
 * @param after  the page before; NULL: from the first on
 * @param limit  1 to WP_BATCH_MAX
 * @return WP_OK, also for a join that there is not: it has none. */
WP_API wp_status wp_join_members_list(wp_join_members **out, wp_store *store, const wp_id *join,
                                      const wp_join_members *after, int64_t limit, wp_error **err);
/** How many there are. */
WP_API size_t wp_join_members_count(const wp_join_members *members);
/** The id of a member's message, 0 to count - 1; NULL past the end. Borrowed from the page. */
WP_API const wp_id *wp_join_members_id(const wp_join_members *members, size_t index);
/** How it counted; WP_JOIN_MEMBER_WAITING past the end. */
WP_API wp_join_member_status wp_join_members_status(const wp_join_members *members, size_t index);
/** Free the page. */
WP_API void wp_join_members_free(WP_OWN wp_join_members *members);

WP_END_DECLS

#endif
