/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file dead.h
 * Dead letters of every queue: list, replay, purge; and the cleanup of what is done.
 *
 * A message is a dead letter when its attempts are spent, its handler rejected it, it expired, or the
 * app failed it. Each that a worker or a reaper makes is told to the log (wp_config_set_log()) at "error", as
 * "dead letter" with StoreId, Topic, MessageId, Attempt and the reason as Exception: that is the event to
 * act on. The list is the truth; the calls take one queue, or WP_SOURCE_ALL. The view `infra_dead_letters`
 * (on PostgreSQL `infra.dead_letters`) shows those of every queue to people.
 */
#ifndef WAYPOST_DEAD_H
#define WAYPOST_DEAD_H

#include <waypost/worker.h>

WP_BEGIN_DECLS

/** The most dead letters in one page of a list. */
#define WP_DEAD_PAGE_MAX 1000

/** Which dead letters; all that is set must be so. Not thread-safe to change; may be used many times. */
typedef struct wp_dead_filter wp_dead_filter;

/** Make one that all dead letters pass. */
WP_API wp_status wp_dead_filter_new(wp_dead_filter **out, wp_error **err);
/** Free it. */
WP_API void wp_dead_filter_free(WP_OWN wp_dead_filter *filter);
/** Of this topic; NULL: of any. An empty one, which no message has, is refused: somebody's variable was not set. */
WP_API wp_status wp_dead_filter_set_topic(wp_dead_filter *filter, const char *topic,
                                          wp_error **err);
/** Whose reason holds this text; NULL or empty: whatever it is. */
WP_API wp_status wp_dead_filter_set_reason(wp_dead_filter *filter, const char *reason,
                                           wp_error **err);
/** That died from `from_us` to `until_us`, both included, in microseconds UTC since 1970; 0 and
 * WP_TIME_US_MAX: at any time. @return WP_OK; WP_E_RANGE. */
WP_API wp_status wp_dead_filter_set_time_us(wp_dead_filter *filter, int64_t from_us,
                                            int64_t until_us, wp_error **err);
/** With these ids. @param count  up to WP_BATCH_MAX; 0: with any */
WP_API wp_status wp_dead_filter_set_ids(wp_dead_filter *filter, const wp_id *ids, size_t count,
                                        wp_error **err);

/** A page of dead letters, of one queue or of all, those that died first first. A snapshot. */
typedef struct wp_dead_list wp_dead_list;

/** List dead letters.
 * @param source  a queue, or WP_SOURCE_ALL: all of them in one list
 * @param filter  NULL: all
 * @param after   the page before this one; NULL: the first
 * @param limit   1 to WP_DEAD_PAGE_MAX
 * @return WP_OK, also with an empty page; WP_E_ARGUMENT; WP_E_RANGE: limit. */
WP_API wp_status wp_dead_list_read(wp_dead_list **out, wp_store *store, wp_source source,
                                   const wp_dead_filter *filter, const wp_dead_list *after,
                                   int64_t limit, wp_error **err);
/** The same without the payloads, so that large ones cost no memory: wp_received_payload() gives NULL,
 * wp_outbox_info_payload_bytes() their lengths. One is read by wp_outbox_get() and its likes. */
WP_API wp_status wp_dead_list_read_brief(wp_dead_list **out, wp_store *store, wp_source source,
                                         const wp_dead_filter *filter, const wp_dead_list *after,
                                         int64_t limit, wp_error **err);
/** How many are on the page. */
WP_API size_t wp_dead_list_count(const wp_dead_list *list);
/** One of them, 0 to count - 1; NULL past the end. Borrowed from the page. */
WP_API const wp_outbox_info *wp_dead_list_at(const wp_dead_list *list, size_t index);
/** Of which queue it is. Any wp_outbox_info tells. */
WP_API wp_source wp_outbox_info_source(const wp_outbox_info *info);
/** Free the page. */
WP_API void wp_dead_list_free(WP_OWN wp_dead_list *list);

/** Make dead letters ready again, with no attempts, in the order in which they died. What dies after the
 * call began is left, so what is replayed and dies again is not replayed twice. Each replay is
 * recorded (table `<queue>_replayed`) and logged. One whose unique key another unfinished message has
 * stays dead; an expiry that has passed counts no more. Claim numbers go on rising. Of WP_SOURCE_ALL one queue
 * comes after the other, and the limit and the rate are those of all together.
 * @param replayed    may be NULL; gets how many were, also if a later one failed
 * @param filter      NULL: all
 * @param limit       1 or more: at most so many
 * @param per_second  0: all at once; else at most so many are due in a second, from now on
 * @param by          may be NULL: who asked for it, up to 255 code units */
WP_API wp_status wp_dead_replay(size_t *replayed, wp_store *store, wp_source source,
                                const wp_dead_filter *filter, int64_t limit, int64_t per_second,
                                const char *by, wp_error **err);
/** Delete dead letters for ever, those that were dead when the call began, of one queue or of all. The
 * inbox forgets that they ever arrived.
 * @param purged  may be NULL; gets how many were, also if a later one failed */
WP_API wp_status wp_dead_purge(size_t *purged, wp_store *store, wp_source source,
                               const wp_dead_filter *filter, int64_t limit, wp_error **err);

/** The same, and the audit (audit.h) tells who did it.
 * @param by  may be NULL: who asked for it, up to 255 code units */
WP_API wp_status wp_dead_purge_by(size_t *purged, wp_store *store, wp_source source,
                                  const wp_dead_filter *filter, int64_t limit, const char *by,
                                  wp_error **err);
/** Give a dead letter another payload, to replay it with. It stays dead, and all else stays as it is. The old
 * payload is not kept: the audit has its length.
 * @param edited   may be NULL; gets 1, or 0 if there is no such dead letter, or another transaction is at it
 * @param source   one queue
 * @param payload  as wp_message_new()'s */
WP_API wp_status wp_dead_edit(int *edited, wp_store *store, wp_source source, const wp_id *id,
                              const char *payload, size_t payload_len, const char *by,
                              wp_error **err);

/** Workers do this by themselves after `outbox.keep_ms`, `inbox.keep_ms`, `timer.keep_ms` and `job.keep_ms`; by
 * hand, of one queue or of all: delete what was finished with success (or cancelled) at least `older_than_ms` ago, in batches of at
 * most 1,000 rows with a transaction each and short pauses. What is unfinished, only seen or dead
 * stays. A message of the inbox goes only if it has not arrived for that time either; once it is gone,
 * it is new when it arrives again.
 * @param removed        may be NULL; gets how many were, also if a later batch failed
 * @param older_than_ms  0 or more */
WP_API wp_status wp_cleanup(size_t *removed, wp_store *store, wp_source source,
                            int64_t older_than_ms, wp_error **err);

WP_END_DECLS

#endif
