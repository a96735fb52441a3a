/* SPDX-License-Identifier: Apache-2.0 */
/* The inbox, in one line each. */
#ifndef INBOX_BED_H
#define INBOX_BED_H

#include "bed.h"

wp_inbox_key *ib_key(const char *source, const char *message_id);
/* What it was found as. */
wp_inbox_state ib_check(wp_store *store, wp_conn *conn, const char *source, const char *message_id);
wp_inbox_state ib_enqueue(wp_store *store, wp_conn *conn, const char *source,
                          const char *message_id, const char *topic, const char *payload);
/* Whether to proceed. `found` may be NULL. */
int ib_once(wp_store *store, wp_conn *conn, const char *source, const char *message_id,
            wp_inbox_state *found);

wp_message_status ib_status(wp_store *store, const char *source, const char *message_id);
int64_t ib_attempt(wp_store *store, const char *source, const char *message_id);
wp_id ib_id(wp_store *store, const char *source, const char *message_id);
typedef struct ib_times {
    int64_t first_us, last_us;
} ib_times;
ib_times ib_times_of(wp_store *store, const char *source, const char *message_id);
void ib_payload_is(wp_store *store, const char *source, const char *message_id, const char *want);
/* NULL: none. */
void ib_last_error_is(wp_store *store, const char *source, const char *message_id,
                      const char *want);
void ib_is_unknown(wp_store *store, const char *source, const char *message_id);

wp_claim *ib_claim(wp_store *store, int owner, int64_t batch, int64_t lease_ms);
/* The id of the only message that can be claimed. */
wp_id ib_claim_one(wp_store *store, int owner, int64_t lease_ms);
/* How many a claim would give now; they are given back. */
size_t ib_claimable(wp_store *store);
/* How many were. */
size_t ib_ack(wp_store *store, int owner, const wp_id *ids, size_t count);
void ib_abandon(wp_store *store, int owner, const wp_id *id, int64_t delay_ms, const char *reason);

/* The bed's store anew, with its records kept in `log`; and what ends that, before the bed's end. */
void ib_reopen_logged(bed *b, wpt_log *log, const char *level);
void ib_reopen_logged_with(bed *b, wpt_log *log, const char *level, const char *const *options);
void ib_close_logged(bed *b, wpt_log *log);

#endif
