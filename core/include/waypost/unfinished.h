/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file unfinished.h
 * What a queue still has to do, message by message: what waits, is due later, runs or is blocked.
 */
#ifndef WAYPOST_UNFINISHED_H
#define WAYPOST_UNFINISHED_H

#include <waypost/worker.h>

WP_BEGIN_DECLS

/** A page of messages that are not finished. A snapshot. */
typedef struct wp_unfinished wp_unfinished;

/** List the messages of a queue that are not finished, in the order in which they came; nothing is claimed.
 * Messages of the inbox that were only seen are not in it. Thread-safe.
 * @param source  one queue
 * @param topic   NULL: of any topic
 * @param after   the last one of the page before; NULL: from the first on
 * @param limit   1 to WP_BATCH_MAX: the length of a page; the last page is shorter
 * @return WP_OK, also with an empty page; WP_E_ARGUMENT: source, topic; WP_E_RANGE: limit. */
WP_API wp_status wp_unfinished_read(wp_unfinished **out, wp_store *store, wp_source source,
                                    const char *topic, const wp_outbox_info *after, int64_t limit,
                                    wp_error **err);
/** The same without the payloads, so that large ones cost no memory: wp_received_payload() gives NULL,
 * wp_outbox_info_payload_bytes() their lengths. One is read by wp_outbox_get() and its likes. */
WP_API wp_status wp_unfinished_read_brief(wp_unfinished **out, wp_store *store, wp_source source,
                                          const char *topic, const wp_outbox_info *after,
                                          int64_t limit, wp_error **err);
/** How many are on the page. */
WP_API size_t wp_unfinished_count(const wp_unfinished *page);
/** One of them, 0 to count - 1; NULL past the end. Borrowed from the page. */
WP_API const wp_outbox_info *wp_unfinished_at(const wp_unfinished *page, size_t index);
/** Free the page. */
WP_API void wp_unfinished_free(WP_OWN wp_unfinished *page);

WP_END_DECLS

#endif
