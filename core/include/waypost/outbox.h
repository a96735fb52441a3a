/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file outbox.h
 * The outbox: messages written in the app's transaction, claimed and finished afterwards.
 *
 * Most programs need wp_outbox_enqueue() here and a worker (worker.h) for the rest. Claim, ack,
 * abandon, fail, release, renew and reap are what the worker itself is made of.
 */
#ifndef WAYPOST_OUTBOX_H
#define WAYPOST_OUTBOX_H

#include <waypost/op.h>

WP_BEGIN_DECLS

/** Limits, the same on every engine. Lengths of names count UTF-16 code units. */
#define WP_NAME_MAX 255                   /**< topic, correlation id, ordering key, unique key */
#define WP_PAYLOAD_MAX 268435456          /**< payload: 256 MiB of UTF-8 */
#define WP_HEADERS_MAX 65536              /**< headers as JSON: 64 KiB of UTF-8 */
#define WP_REASON_MAX 4000                /**< a reason is cut to this many bytes, at a character */
#define WP_BATCH_MAX 10000                /**< messages in one claim, or ids in one call */
#define WP_LEASE_MS_MAX 86400000          /**< one day */
#define WP_DELAY_MS_MAX 31536000000       /**< 365 days */
#define WP_TIME_US_MAX 253402300799999999 /**< 9999-12-31T23:59:59.999999Z; the minimum is 0 */

/* ---- a message to enqueue ----------------------------------------------------------------- */

/** A message under construction. Not thread-safe; may be enqueued many times. */
typedef struct wp_message wp_message;

/** Make a message. Everything is copied.
 * @param topic    1 to 255 UTF-16 code units of valid UTF-8; case matters
 * @param payload  `payload_len` bytes of UTF-8 without NUL; NULL is an error, also with length 0
 * @return WP_OK; WP_E_ARGUMENT. */
WP_API wp_status wp_message_new(wp_message **out, const char *topic, const char *payload,
                                size_t payload_len, wp_error **err);
/** Free it. */
WP_API void wp_message_free(WP_OWN wp_message *message);
/** Set the correlation id, up to 255 UTF-16 code units; NULL or empty: none. */
WP_API wp_status wp_message_set_correlation_id(wp_message *message, const char *correlation_id,
                                               wp_error **err);
/** Hide the message until an instant, in microseconds UTC since 1970, 0 to WP_TIME_US_MAX. A past
 * instant means at once. */
WP_API wp_status wp_message_set_due_us(wp_message *message, int64_t due_us, wp_error **err);
/** Hide the message for a time from the enqueue on, by the database's clock.
 * @param delay_ms  up to WP_DELAY_MS_MAX; 0 and less: at once. Replaces set_due_us() and is replaced
 *                  by it. */
WP_API wp_status wp_message_set_delay_ms(wp_message *message, int64_t delay_ms, wp_error **err);
/** Fail the message with the reason "expired" instead of dispatching it from this instant on. */
WP_API wp_status wp_message_set_expires_us(wp_message *message, int64_t expires_us, wp_error **err);
/** Messages with the same ordering key run one at a time, in the order of their enqueue. NULL or
 * empty: none. */
WP_API wp_status wp_message_set_ordering_key(wp_message *message, const char *ordering_key,
                                             wp_error **err);
/** While an unfinished message with this key is in the outbox, an enqueue is a duplicate. NULL or
 * empty: none. */
WP_API wp_status wp_message_set_unique_key(wp_message *message, const char *unique_key,
                                           wp_error **err);
/** Set a header; the same name replaces. The name is 1 to 255 UTF-16 code units. */
WP_API wp_status wp_message_set_header(wp_message *message, const char *name, const char *value,
                                       wp_error **err);

/* ---- enqueue ------------------------------------------------------------------------------ */

/** Enqueue a message.
 *
 * With `conn` the message belongs to the app's transaction on it: it becomes visible with its
 * commit and leaves no trace after its rollback. Without, it is committed when this returns.
 * @param id         gets the new message's id, or the first one's if it is a duplicate
 * @param duplicate  may be NULL; gets 1 if nothing was stored because of the unique key, else 0
 * @return WP_OK, also for a duplicate; WP_E_ARGUMENT, WP_E_STATE, WP_E_UNAVAILABLE, WP_E_DB. On
 *         the app's connection a busy database is reported (WP_E_UNAVAILABLE, retriable). */
WP_API wp_status wp_outbox_enqueue(wp_id *id, int *duplicate, wp_store *store, wp_conn *conn,
                                   const wp_message *message, wp_error **err);
/** Enqueue many messages in order, in one transaction (without `conn`, one of its own).
 * @param ids         gets `count` ids
 * @param duplicates  may be NULL; gets `count` flags, also for duplicates within the call
 * @param count       up to WP_BATCH_MAX; 0 does nothing */
WP_API wp_status wp_outbox_enqueue_many(wp_id *ids, int *duplicates, wp_store *store, wp_conn *conn,
                                        const wp_message *const *messages, size_t count,
                                        wp_error **err);
/** The same, as an operation for a connection of the host's. The messages are copied. */
WP_API wp_status wp_outbox_enqueue_op(wp_op **out, wp_store *store,
                                      const wp_message *const *messages, size_t count,
                                      wp_error **err);

/* ---- a message received ------------------------------------------------------------------- */

/** A claimed message, with its claim. Immutable; borrowed from the claim or delivery it is of. */
typedef struct wp_received wp_received;

/** The message's id. */
WP_API const wp_id *wp_received_id(const wp_received *message);
/** The topic. */
WP_API const char *wp_received_topic(const wp_received *message);
/** The payload, followed by a NUL; *len gets its length without. `len` may be NULL.
 * NULL: a list left it in the database. */
WP_API const char *wp_received_payload(size_t *len, const wp_received *message);
/** The correlation id, or NULL. */
WP_API const char *wp_received_correlation_id(const wp_received *message);
/** The ordering key, or NULL. */
WP_API const char *wp_received_ordering_key(const wp_received *message);
/** All headers as a JSON object of strings; "{}" if there are none. */
WP_API const char *wp_received_headers(const wp_received *message);
/** How many attempts ended without success before this one; 0 at first. */
WP_API int64_t wp_received_attempt(const wp_received *message);
/** The reason of the last of them, or NULL: the text that a retry, an abandon or a reaper gave. */
WP_API const char *wp_received_last_error(const wp_received *message);
/** The number of this claim of this message: a fencing token, it rises with every claim. */
WP_API int64_t wp_received_claim_number(const wp_received *message);
/** When it was enqueued, in microseconds UTC since 1970, by the database's clock. */
WP_API int64_t wp_received_created_us(const wp_received *message);
/** When it was due, likewise. */
WP_API int64_t wp_received_due_us(const wp_received *message);
/** When it expires, likewise; 0: never. */
WP_API int64_t wp_received_expires_us(const wp_received *message);

/** Of a job's run: the job's name; else NULL. */
WP_API const char *wp_received_job(const wp_received *message);

/* ---- claim and finish, by hand ------------------------------------------------------------ */

/** A batch of claimed messages. Thread-safe to read. */
typedef struct wp_claim wp_claim;

/** Claim due messages under a lease, ordered by next attempt, then enqueue.
 * @param owner     the claimer's token, not all zero; a fresh one for each process that claims
 * @param topics    only these topics; NULL: all
 * @param batch     1 to WP_BATCH_MAX
 * @param lease_ms  1 to WP_LEASE_MS_MAX, from the database's now
 * @return WP_OK, also with an empty claim; WP_E_ARGUMENT; WP_E_RANGE: batch or lease. */
WP_API wp_status wp_outbox_claim(wp_claim **out, wp_store *store, const wp_id *owner,
                                 const char *const *topics, size_t topic_count, int64_t batch,
                                 int64_t lease_ms, wp_error **err);
/** How many messages were claimed. */
WP_API size_t wp_claim_count(const wp_claim *claim);
/** One of them, 0 to count - 1; NULL past the end. Borrowed from the claim. */
WP_API const wp_received *wp_claim_at(const wp_claim *claim, size_t index);
/** Free the batch. The leases stay. */
WP_API void wp_claim_free(WP_OWN wp_claim *claim);

/* The calls below share these rules. They change only rows that `owner` holds; ids may repeat;
 * those of others, unknown and finished ones are ignored. `claims` may be NULL; else claims[i]
 * must also be the number of ids[i]'s claim, so that a late call for an earlier claim changes
 * nothing. `changed` may be NULL and gets the number of rows changed. `conn` may be NULL: a
 * transaction of its own. count 0 does nothing; ids NULL is an error. */

/** Finish messages as done.
 * @param worker  may be NULL: the name to record as the finisher, up to 255 code units */
WP_API wp_status wp_outbox_ack(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                               const wp_id *ids, const int64_t *claims, size_t count,
                               const char *worker, wp_error **err);
/** Give messages back after a failed attempt: attempt + 1, to be tried again after a delay.
 * @param delay_ms  1 to WP_DELAY_MS_MAX; 0: the backoff of the store's `worker.backoff_*`
 * @param reason    may be NULL; stored as the last error */
WP_API wp_status wp_outbox_abandon(size_t *changed, wp_store *store, wp_conn *conn,
                                   const wp_id *owner, const wp_id *ids, const int64_t *claims,
                                   size_t count, int64_t delay_ms, const char *reason,
                                   wp_error **err);
/** Finish messages as failed, for ever. @param reason  may be NULL; stored as the last error */
WP_API wp_status wp_outbox_fail(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                                const wp_id *ids, const int64_t *claims, size_t count,
                                const char *reason, wp_error **err);
/** Give messages back that were never started: at once, attempt unchanged. */
WP_API wp_status wp_outbox_release(size_t *changed, wp_store *store, wp_conn *conn,
                                   const wp_id *owner, const wp_id *ids, const int64_t *claims,
                                   size_t count, wp_error **err);
/** Extend leases to `lease_ms` from the database's now. */
WP_API wp_status wp_outbox_renew(size_t *changed, wp_store *store, wp_conn *conn,
                                 const wp_id *owner, const wp_id *ids, const int64_t *claims,
                                 size_t count, int64_t lease_ms, wp_error **err);
/** Finish messages as done inside a host transaction. Arguments as wp_outbox_ack(); the result
 * count is the number of rows changed. */
WP_API wp_status wp_outbox_ack_op(wp_op **out, wp_store *store, const wp_id *owner,
                                  const wp_id *ids, const int64_t *claims, size_t count,
                                  const char *worker, wp_error **err);

/** Recover every expired lease: attempt + 1, and another try after the backoff, or failed with the
 * reason "lease expired" where the claim's limit of attempts is reached. Also fails messages past
 * their expiry with the reason "expired".
 * @param changed  may be NULL; gets the number of rows changed */
WP_API wp_status wp_outbox_reap(size_t *changed, wp_store *store, wp_error **err);

/* ---- looking ------------------------------------------------------------------------------ */

/** Where a message stands. */
typedef enum wp_message_status {
    WP_MESSAGE_READY = 0,       /**< waiting: for its due time, its next attempt or a worker */
    WP_MESSAGE_IN_PROGRESS = 1, /**< claimed */
    WP_MESSAGE_DONE = 2,        /**< finished with success */
    WP_MESSAGE_FAILED = 3,      /**< a dead letter */
    WP_MESSAGE_BLOCKED = 4,     /**< waits for an earlier message with the same ordering key */
    WP_MESSAGE_SEEN = 5,        /**< the inbox: arrived, but not enqueued */
    WP_MESSAGE_CANCELLED = 6    /**< a timer that was cancelled */
} wp_message_status;

/** What the outbox holds, by topic; or one message's state. A snapshot. */
typedef struct wp_outbox_info wp_outbox_info;

/** Look one message up.
 * @return WP_OK; WP_E_NOT_FOUND. */
WP_API wp_status wp_outbox_get(wp_outbox_info **out, wp_store *store, const wp_id *id,
                               wp_error **err);
/** Its status, or WP_MESSAGE_READY for NULL. */
WP_API wp_message_status wp_outbox_info_status(const wp_outbox_info *info);
/** The message itself. Its claim number is that of the latest claim, 0 if there was none. */
WP_API const wp_received *wp_outbox_info_message(const wp_outbox_info *info);
/** How many bytes its payload has, also where a list left it in the database. On SQL Server before 2019, which does
 * not know UTF-8, it is then the number of UTF-16 code units, which is that of bytes in ASCII. */
WP_API int64_t wp_outbox_info_payload_bytes(const wp_outbox_info *info);
/** When it is tried next (unfinished), in microseconds UTC since 1970; 0 if it is finished. */
WP_API int64_t wp_outbox_info_next_attempt_us(const wp_outbox_info *info);
/** When its lease ends; 0 if it has none. */
WP_API int64_t wp_outbox_info_locked_until_us(const wp_outbox_info *info);
/** When it was finished (the seeds' ProcessedAt); 0 if it is not. */
WP_API int64_t wp_outbox_info_finished_us(const wp_outbox_info *info);
/** Who finished it, or NULL. */
WP_API const char *wp_outbox_info_finished_by(const wp_outbox_info *info);
/** The reason of the last failure, or NULL. */
WP_API const char *wp_outbox_info_last_error(const wp_outbox_info *info);
/** Free it. */
WP_API void wp_outbox_info_free(WP_OWN wp_outbox_info *info);

/** Counts by topic, so that a topic which nobody handles is seen. A snapshot. */
typedef struct wp_outbox_stats wp_outbox_stats;

/** A number that wp_outbox_stats_value() gives. */
typedef enum wp_outbox_stat {
    WP_STAT_READY = 0,               /**< claimable now */
    WP_STAT_SCHEDULED = 1,           /**< due or tried again later */
    WP_STAT_IN_PROGRESS = 2,         /**< claimed */
    WP_STAT_BLOCKED = 3,             /**< behind an ordering key */
    WP_STAT_DONE = 4,                /**< finished with success */
    WP_STAT_FAILED = 5,              /**< dead letters */
    WP_STAT_OLDEST_READY_AGE_US = 6, /**< age of the oldest claimable message, since it was due */
    WP_STAT_LEASE_EXPIRED =
        7,             /**< of those claimed, whose lease is over: nobody has reaped them yet */
    WP_STAT_PAUSED = 8 /**< would be claimable, but their topic is paused (pause.h): not in READY */
} wp_outbox_stat;

/** Count the outbox by topic.
 * @param finished  0: leave out done and failed (they are counted row by row) */
WP_API wp_status wp_outbox_stats_read(wp_outbox_stats **out, wp_store *store, int finished,
                                      wp_error **err);
/** How many topics there are, in byte order. */
WP_API size_t wp_outbox_stats_count(const wp_outbox_stats *stats);
/** The name of a topic; NULL past the end. */
WP_API const char *wp_outbox_stats_topic(const wp_outbox_stats *stats, size_t index);
/** One number of a topic. */
WP_API int64_t wp_outbox_stats_value(const wp_outbox_stats *stats, size_t index,
                                     wp_outbox_stat stat);
/** One number over all topics: the sum; for the age, the greatest. */
WP_API int64_t wp_outbox_stats_total(const wp_outbox_stats *stats, wp_outbox_stat stat);
/** Free it. */
WP_API void wp_outbox_stats_free(WP_OWN wp_outbox_stats *stats);

WP_END_DECLS

#endif
