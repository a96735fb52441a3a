/* SPDX-License-Identifier: Apache-2.0 */
/* Which dead letters. */
#ifndef WP__DEAD_H
#define WP__DEAD_H

#include <waypost/dead.h>

#include "queue/queue.h"

struct wp_dead_filter {
    char *topic;
    char *reason;
    char *ids; /* JSON array of hexadecimal; NULL: any */
    int64_t from_us;
    int64_t until_us;
};

/* The queue of a source; NULL: it is none. */
const wp__queue *wp__source_queue(wp_source source);
wp_source wp__queue_source(const wp__queue *queue);

/* Remove one page of what is done for this long, behind the row *after (-1: from the first on), which moves
 * on. *more: there may be more. */
wp_status wp__cleanup_page(size_t *removed, bool *more, int64_t *after, wp_store *store,
                           wp_conn *conn, const wp__queue *queue, int64_t older_us, wp_error **err);

#endif
