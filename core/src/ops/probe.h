/* SPDX-License-Identifier: Apache-2.0 */
/* What a store's database tells of itself and of the work in it: read on a thread, so that nobody waits
 * for a database for longer than he likes. */
#ifndef WP__PROBE_H
#define WP__PROBE_H

#include "db/store.h"
#include "queue/queue.h"

typedef struct wp__probe wp__probe;

/* What was found. What is not known is WP_HEALTH_NOT_KNOWN, or NULL. */
typedef struct wp__findings {
    wp_status status; /* WP_OK: all of it was read */
    const wp_error *error;
    int64_t latency_us;
    int64_t schema;
    int64_t clock_us;
    int64_t snapshot_us;
    int64_t jobs_late_us; /* 0: none is late */
    int64_t wal_bytes;
    int64_t free_bytes;
    const wp_outbox_stats *stats[WP__QUEUES];
} wp__findings;

/* Begin to look, or join one who looks already. */
wp_status wp__probe_start(wp__probe **out, wp_store *store, wp_error **err);
/* Wait until the real instant `deadline_us`. NULL: it is not done; *answered tells whether the database
 * has said anything yet. Borrowed from the probe. */
const wp__findings *wp__probe_wait(wp__probe *probe, int64_t deadline_us, bool *answered);
/* Let go of it; what hangs in the database goes on by itself. Accepts NULL. */
void wp__probe_free(wp__probe *probe);

#endif
