/* SPDX-License-Identifier: Apache-2.0 */
/* Paused topics, as workers and counts see them. */
#ifndef WP__PAUSE_H
#define WP__PAUSE_H

#include <stdbool.h>
#include <waypost/pause.h>

#include "queue/queue.h"

/* What a queue is called where people read it: outbox, inbox, timers, jobs. */
const char *wp__queue_word(const wp__queue *queue);
/* The queue of a word; NULL: there is none. */
const wp__queue *wp__queue_of_word(const char *word);

/* On a connection (NULL: of the pool). */
wp_status wp__pauses_read(wp_pauses **out, wp_store *store, wp_conn *conn, wp_error **err);
wp_pauses *wp__pauses_new(void);
/* One row of pause_list; what a later version has written and this one does not know is left out. */
enum { WP__PAUSE_COLUMNS = 4 };
wp_status wp__pauses_add(wp_pauses *pauses, const wp__value *columns, wp_error **err);
void wp__pauses_clear(wp_pauses *pauses);
/* Rows that say nothing any more, on engines where each change has its own: a page of them goes. */
wp_status wp__pauses_clean_page(size_t *removed, bool *more, wp_store *store, wp_conn *conn,
                                wp_error **err);
/* Whether a topic is among them (NULL: nothing is). */
bool wp__pauses_have(const wp_pauses *pauses, const wp__queue *queue, const char *topic,
                     size_t len);
/* Whether two lists name the same topics. */
bool wp__pauses_are_same(const wp_pauses *left, const wp_pauses *right);
/* Those of a JSON array of topics that are not paused: malloc'ed, NULL in *out if none of them is. */
wp_status wp__pauses_filter(char **out, size_t *left, const wp_pauses *pauses,
                            const wp__queue *queue, const char *topics, wp_error **err);

#endif
