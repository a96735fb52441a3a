/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file inbox.h
 * The inbox: messages from elsewhere, each known by its source, its id and its consumer, so that one
 * which is delivered again is not processed again.
 *
 * Three ways to use it. Enqueue what arrives (wp_inbox_enqueue()) and let a worker (worker.h) run its
 * handler. Or process it in the app's own transaction (wp_inbox_once()), which commits with the app's
 * writes or not at all. Or ask whether it was processed (wp_inbox_check()) and tell afterwards that it
 * is (wp_inbox_mark_processed()).
 *
 * A claimed message is a ::wp_received and a batch of them a ::wp_claim, as in outbox.h; claims are
 * ended by the ids that are in them.
 */
#ifndef WAYPOST_INBOX_H
#define WAYPOST_INBOX_H

#include <waypost/outbox.h>

WP_BEGIN_DECLS

/** The longest content hash, in bytes. */
#define WP_HASH_MAX 1024

/* ---- what a message is known by ----------------------------------------------------------- */

/** What a message is known by, and the hash that it arrived with. Keys compare byte for byte. Not
 * thread-safe to change; may be used many times. */
typedef struct wp_inbox_key wp_inbox_key;

/** Make a key.
 * @param source      where the message comes from: 1 to 255 UTF-16 code units of valid UTF-8
 * @param message_id  its id there, likewise
 * @return WP_OK; WP_E_ARGUMENT. */
WP_API wp_status wp_inbox_key_new(wp_inbox_key **out, const char *source, const char *message_id,
                                  wp_error **err);
/** Free it. */
WP_API void wp_inbox_key_free(WP_OWN wp_inbox_key *key);
/** Name who receives it, up to 255 UTF-16 code units: each consumer of one message processes it once.
 * NULL or empty, as at first: the one that has no name. */
WP_API wp_status wp_inbox_key_set_consumer(wp_inbox_key *key, const char *consumer, wp_error **err);
/** Set the hash of its content, so that another content under the same id is noticed. It is made with a
 * cryptographic function, lest a sender can choose what looks the same.
 * @param hash       `len` bytes, up to WP_HASH_MAX; NULL or none: no hash
 * @param algorithm  what made it, up to 255 UTF-16 code units; NULL: "sha256". Hashes of different
 *                   algorithms are not compared. */
WP_API wp_status wp_inbox_key_set_hash(wp_inbox_key *key, const void *hash, size_t len,
                                       const char *algorithm, wp_error **err);

/* ---- arrival ------------------------------------------------------------------------------ */

/* The calls of this part share these rules. With `conn` they belong to the app's transaction on it;
 * without, what they store is committed when they return. `found` and `mismatch` may be NULL.
 * *found gets the state in which the message was found, *mismatch 1 if it is known by another hash:
 * that is also logged as a warning and counted, and no error. A transaction that is storing the same
 * message is waited for, as the engine waits for locks. */

/** Note that a message has arrived, and learn whether it was processed: *found is WP_INBOX_DONE. A new
 * one is WP_INBOX_NEW and from now on WP_INBOX_SEEN. The first hash is kept. */
WP_API wp_status wp_inbox_check(wp_inbox_state *found, int *mismatch, wp_store *store,
                                wp_conn *conn, const wp_inbox_key *key, wp_error **err);
/** The same for a connection of the host's: wp_op_result_found(), wp_op_result_mismatch() and
 * wp_op_result_id() of index 0. The key is copied. */
WP_API wp_status wp_inbox_check_op(wp_op **out, wp_store *store, const wp_inbox_key *key,
                                   wp_error **err);

/** Enqueue a message for a worker.
 *
 * One that was only seen becomes ready. An unfinished one takes the new topic, payload, headers,
 * correlation id, hash, due time and expiry, and keeps its attempts and its ordering key. A dead one
 * takes them, too, and stays dead, unless `inbox.revive_dead` is on: wp_inbox_revive(). One that is
 * done stays as it is.
 * @param id       may be NULL; gets the id by which claims know it
 * @param message  has no unique key: that is what the inbox's key is
 * @return WP_OK, whatever was found; WP_E_ARGUMENT, WP_E_STATE, WP_E_UNAVAILABLE, WP_E_DB. */
WP_API wp_status wp_inbox_enqueue(wp_id *id, wp_inbox_state *found, int *mismatch, wp_store *store,
                                  wp_conn *conn, const wp_inbox_key *key, const wp_message *message,
                                  wp_error **err);
/** Enqueue many, in one transaction (without `conn`, one of its own). They are stored in the order of
 * their keys, so that two such calls cannot deadlock.
 * @param ids, found, mismatches  may be NULL; get `count` values
 * @param keys, messages          `count` of each
 * @param count                   up to WP_BATCH_MAX; 0 does nothing */
WP_API wp_status wp_inbox_enqueue_many(wp_id *ids, wp_inbox_state *found, int *mismatches,
                                       wp_store *store, wp_conn *conn,
                                       const wp_inbox_key *const *keys,
                                       const wp_message *const *messages, size_t count,
                                       wp_error **err);
/** The same for a connection of the host's. Keys and messages are copied. */
WP_API wp_status wp_inbox_enqueue_op(wp_op **out, wp_store *store, const wp_inbox_key *const *keys,
                                     const wp_message *const *messages, size_t count,
                                     wp_error **err);

/** Process a message in the app's transaction, once.
 *
 * If *proceed gets 1, it is the app's to process: make the writes and commit. The commit makes it done
 * together with them; after a rollback it is as before, and may be delivered again. If *proceed gets 0,
 * *found says why: WP_INBOX_DONE, WP_INBOX_DEAD, or WP_INBOX_PROCESSING, which is also said of one that
 * another transaction is processing at this moment: try again later.
 *
 * On PostgreSQL it never waits for another call of its kind. In a transaction of REPEATABLE READ or
 * SERIALIZABLE the loser of a race may get a serialisation failure (WP_E_UNAVAILABLE, retriable): roll
 * back and begin anew. On SQLite, transactions that write follow each other: it waits as long as the
 * app's busy timeout says, or gives WP_E_UNAVAILABLE.
 * @param conn  not NULL, with a transaction open
 * @return WP_OK; WP_E_ARGUMENT; WP_E_STATE: no transaction is open; as above. */
WP_API wp_status wp_inbox_once(int *proceed, wp_inbox_state *found, int *mismatch, wp_store *store,
                               wp_conn *conn, const wp_inbox_key *key, wp_error **err);
/** The same for a connection of the host's, inside a transaction: proceed if wp_op_result_found() is
 * WP_INBOX_NEW or WP_INBOX_SEEN. */
WP_API wp_status wp_inbox_once_op(wp_op **out, wp_store *store, const wp_inbox_key *key,
                                  wp_error **err);

/* ---- states by key ------------------------------------------------------------------------ */

/* WP_E_NOT_FOUND: the inbox does not know the message. */

/** The app processes a seen message itself: others find it WP_INBOX_PROCESSING. Nothing happens to one
 * that is processing already. There is no lease: if the app dies, it stays so until it is marked.
 * @return WP_OK; WP_E_STATE: it is done or dead. */
WP_API wp_status wp_inbox_mark_processing(wp_store *store, wp_conn *conn, const wp_inbox_key *key,
                                          wp_error **err);
/** A message was processed, whatever it was before. A claim of it is lost. */
WP_API wp_status wp_inbox_mark_processed(wp_store *store, wp_conn *conn, const wp_inbox_key *key,
                                         wp_error **err);
/** Give a message up. A claim of it is lost.
 * @param reason  may be NULL; stored as the last error
 * @return WP_OK; WP_E_STATE: it is done. */
WP_API wp_status wp_inbox_mark_dead(wp_store *store, wp_conn *conn, const wp_inbox_key *key,
                                    const char *reason, wp_error **err);
/** Make a dead message ready again, with no attempts; one that had no topic is only seen again.
 * @return WP_OK; WP_E_STATE: it is not dead. */
WP_API wp_status wp_inbox_revive(wp_store *store, wp_conn *conn, const wp_inbox_key *key,
                                 wp_error **err);

/** What wp_inbox_mark_op() does. */
typedef enum wp_inbox_mark {
    WP_INBOX_MARK_PROCESSING = 1, /**< wp_inbox_mark_processing() */
    WP_INBOX_MARK_PROCESSED = 2,  /**< wp_inbox_mark_processed() */
    WP_INBOX_MARK_DEAD = 3,       /**< wp_inbox_mark_dead() */
    WP_INBOX_MARK_REVIVED = 4     /**< wp_inbox_revive() */
} wp_inbox_mark;

/** The same for a connection of the host's; what the calls return is what wp_op_next() gives.
 * @param reason  for WP_INBOX_MARK_DEAD; may be NULL */
WP_API wp_status wp_inbox_mark_op(wp_op **out, wp_store *store, const wp_inbox_key *key,
                                  wp_inbox_mark mark, const char *reason, wp_error **err);

/* ---- claim and finish, by hand ------------------------------------------------------------ */

/* As in outbox.h, by the ids of claimed messages. */

/** As wp_outbox_claim(). */
WP_API wp_status wp_inbox_claim(wp_claim **out, wp_store *store, const wp_id *owner,
                                const char *const *topics, size_t topic_count, int64_t batch,
                                int64_t lease_ms, wp_error **err);
/** As wp_outbox_ack(). */
WP_API wp_status wp_inbox_ack(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                              const wp_id *ids, const int64_t *claims, size_t count,
                              const char *worker, wp_error **err);
/** As wp_outbox_abandon(). */
WP_API wp_status wp_inbox_abandon(size_t *changed, wp_store *store, wp_conn *conn,
                                  const wp_id *owner, const wp_id *ids, const int64_t *claims,
                                  size_t count, int64_t delay_ms, const char *reason,
                                  wp_error **err);
/** As wp_outbox_fail(), but `reason` may not be NULL. */
WP_API wp_status wp_inbox_fail(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                               const wp_id *ids, const int64_t *claims, size_t count,
                               const char *reason, wp_error **err);
/** As wp_outbox_release(). */
WP_API wp_status wp_inbox_release(size_t *changed, wp_store *store, wp_conn *conn,
                                  const wp_id *owner, const wp_id *ids, const int64_t *claims,
                                  size_t count, wp_error **err);
/** As wp_outbox_renew(). */
WP_API wp_status wp_inbox_renew(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *owner,
                                const wp_id *ids, const int64_t *claims, size_t count,
                                int64_t lease_ms, wp_error **err);
/** As wp_outbox_ack_op(). */
WP_API wp_status wp_inbox_ack_op(wp_op **out, wp_store *store, const wp_id *owner, const wp_id *ids,
                                 const int64_t *claims, size_t count, const char *worker,
                                 wp_error **err);
/** wp_inbox_abandon() for a connection of the host's. */
WP_API wp_status wp_inbox_abandon_op(wp_op **out, wp_store *store, const wp_id *owner,
                                     const wp_id *ids, const int64_t *claims, size_t count,
                                     int64_t delay_ms, const char *reason, wp_error **err);
/** wp_inbox_fail() for a connection of the host's. */
WP_API wp_status wp_inbox_fail_op(wp_op **out, wp_store *store, const wp_id *owner,
                                  const wp_id *ids, const int64_t *claims, size_t count,
                                  const char *reason, wp_error **err);
/** As wp_outbox_reap(). */
WP_API wp_status wp_inbox_reap(size_t *changed, wp_store *store, wp_error **err);

/* ---- looking ------------------------------------------------------------------------------ */

/** Look a message up by its key. Read it with wp_outbox_info_*() and free it with
 * wp_outbox_info_free(). One that was only seen has the status WP_MESSAGE_SEEN and empty texts for topic
 * and payload; one that the app marked as processing is WP_MESSAGE_IN_PROGRESS and has no lease.
 * @return WP_OK; WP_E_NOT_FOUND. */
WP_API wp_status wp_inbox_get(wp_outbox_info **out, wp_store *store, const wp_inbox_key *key,
                              wp_error **err);
/** The same by its id. */
WP_API wp_status wp_inbox_get_by_id(wp_outbox_info **out, wp_store *store, const wp_id *id,
                                    wp_error **err);
/** Count the inbox by topic, as wp_outbox_stats_read() does the outbox; messages that were only seen are
 * not counted, those that the app marked have the empty topic. */
WP_API wp_status wp_inbox_stats_read(wp_outbox_stats **out, wp_store *store, int finished,
                                     wp_error **err);

/** Where a message of the inbox comes from; NULL for one of the outbox, as all below. Borrowed. */
WP_API const char *wp_received_source(const wp_received *message);
/** Its id there. */
WP_API const char *wp_received_message_id(const wp_received *message);
/** Who receives it; "" if it has no name. */
WP_API const char *wp_received_consumer(const wp_received *message);
/** The bytes of its hash, and in *len (may be NULL) how many; NULL if it has none. */
WP_API const char *wp_received_hash(size_t *len, const wp_received *message);
/** What made the hash, or NULL. */
WP_API const char *wp_received_hash_algorithm(const wp_received *message);
/** When it arrived last, in microseconds UTC since 1970, by the database's clock; 0 for one of the
 * outbox. It arrived first at wp_received_created_us(). */
WP_API int64_t wp_received_last_seen_us(const wp_received *message);

/** A number that a store counts from when it was opened. */
typedef enum wp_inbox_counter_id {
    WP_INBOX_COUNTER_CHECKED = 0,  /**< wp_inbox_check() and wp_inbox_once() */
    WP_INBOX_COUNTER_ENQUEUED = 1, /**< that were not known, or only seen */
    WP_INBOX_COUNTER_DUPLICATES =
        2, /**< checked or enqueued, and known as processing, done or dead */
    WP_INBOX_COUNTER_MISMATCHES = 3 /**< known by another hash */
} wp_inbox_counter_id;

/** Read a counter; 0 for NULL. @threads any */
WP_API int64_t wp_inbox_counter(const wp_store *store, wp_inbox_counter_id counter);

WP_END_DECLS

#endif
