/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file audit.h
 * The audit: who changed what by hand, and when. A note is written in the transaction of the change that
 * it tells of: topics paused and resumed; dead letters replayed, purged and edited; jobs disabled, enabled
 * and triggered. Nothing deletes notes.
 */
#ifndef WAYPOST_AUDIT_H
#define WAYPOST_AUDIT_H

#include <waypost/worker.h>

WP_BEGIN_DECLS

/** A page of notes. A snapshot. */
typedef struct wp_audit wp_audit;

/** Read a page, the latest first. Thread-safe.
 * @param before  the number of the last one of the page before; 0: from the latest on
 * @param limit   1 to WP_BATCH_MAX
 * @return WP_OK; WP_E_RANGE; WP_E_STATE: not on this engine. */
WP_API wp_status wp_audit_read(wp_audit **out, wp_store *store, int64_t before, int64_t limit,
                               wp_error **err);
/** How many are on the page. */
WP_API size_t wp_audit_count(const wp_audit *page);
/** The number of one of them, 0 to count - 1; later ones have higher numbers. */
WP_API int64_t wp_audit_number(const wp_audit *page, size_t index);
/** When it was written, in microseconds UTC since 1970. */
WP_API int64_t wp_audit_at_us(const wp_audit *page, size_t index);
/** Who did it, as whoever did it said; NULL: nobody said. */
WP_API const char *wp_audit_actor(const wp_audit *page, size_t index);
/** What was done: "topic.pause", "topic.resume", "dead.replay", "dead.purge", "dead.edit",
 * "job.pause", "job.resume", "job.trigger", or what a later version knows. */
WP_API const char *wp_audit_action(const wp_audit *page, size_t index);
/** In which queue; WP_SOURCE_ALL: in none, or one that this version does not know. */
WP_API wp_source wp_audit_source(const wp_audit *page, size_t index);
/** To what: a topic, a job's name, a message's id; NULL: to several. */
WP_API const char *wp_audit_subject(const wp_audit *page, size_t index);
/** More, as a JSON object; NULL: there is none. Of an edited dead letter it has the lengths of the payload
 * before and after in bytes (oldBytes, newBytes; oldBytes on SQL Server before 2019 in UTF-16 units), never the
 * payload: who may read the audit need not read that. */
WP_API const char *wp_audit_detail(const wp_audit *page, size_t index);
/** Free the page. */
WP_API void wp_audit_free(WP_OWN wp_audit *page);

WP_END_DECLS

#endif
