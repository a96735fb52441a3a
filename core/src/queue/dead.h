/* SPDX-License-Identifier: Apache-2.0 */
/* Which dead letters, and where one is in their lists. */
#ifndef WP__DEAD_H
#define WP__DEAD_H

#include <waypost/dead.h>

#include "queue/queue.h"

struct wp_dead_filter {
    char *topic;
    char *reason;
    char *ids;    /* JSON array of hexadecimal; NULL: any */
    char one[37]; /* the id, if it is but one */
    int64_t from_us;
    int64_t until_us;
};

/* The queue of a source; NULL: it is none. */
const wp__queue *wp__source_queue(wp_source source);
wp_source wp__queue_source(const wp__queue *queue);

/* Some of wp__queues. */
typedef struct wp__queue_range {
    size_t from;
    size_t to; /* not itself */
} wp__queue_range;
/* Those of a source, which may be all. */
wp_status wp__dead_check_source(wp__queue_range *range, const wp_store *store, wp_source source,
                                wp_error **err);

/* Where to go on in a queue: behind this one. */
typedef struct wp__dead_place {
    int64_t died_us;
    int64_t seq;
} wp__dead_place;
wp__dead_place wp__dead_first_place(const wp_dead_filter *filter);
/* Give a statement the filter (NULL: all), and up to `limit` of them. */
void wp__dead_use_filter(wp_op *op, const wp_dead_filter *filter, const wp__dead_place *after,
                         int64_t limit);

/* Where a page ends, as text; and a page of nothing that ends there, to read on behind it. */
void wp__dead_list_write_place(wp__buf *out, const wp_dead_list *list);
wp_status wp__dead_list_at_place(wp_dead_list **out, const char *text, wp_error **err);

/* Remove one page of what is done for this long, behind the row *after (-1: from the first on), which moves
 * on. *more: there may be more. */
wp_status wp__cleanup_page(size_t *removed, bool *more, int64_t *after, wp_store *store,
                           wp_conn *conn, const wp__queue *queue, int64_t older_us, wp_error **err);

#endif
