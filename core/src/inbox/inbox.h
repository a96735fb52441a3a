/* SPDX-License-Identifier: Apache-2.0 */
/* The inbox's own parts, shared by the files of this directory:
 *   inbox.c   the inbox as a queue: its public calls that all queues have
 *   key.c     what a message is known by
 *   arrive.c  check, enqueue, once
 *   mark.c    states by key */
#ifndef WP__INBOX_H
#define WP__INBOX_H

#include <waypost/inbox.h>

#include "queue/queue.h"

struct wp_inbox_key {
    char *source;
    char *message_id;
    char *consumer;       /* "" if it has none */
    char *hash;           /* hexadecimal, or NULL */
    char *hash_algorithm; /* NULL if there is no hash */
};

wp_status wp__inbox_key_copy(wp_inbox_key **out, const wp_inbox_key *key, wp_error **err);
/* Byte for byte: by source, then id, then consumer. */
int wp__inbox_key_compare(const wp_inbox_key *left, const wp_inbox_key *right);
/* The parameters source, message_id and consumer. */
void wp__inbox_key_use(wp_op *op, const wp_inbox_key *key);

/* What the database says of a message: a wp_message_status, or this. */
enum { WP__MARKED = 6 /* by the app, which processes it itself */ };

/* The same as callers hear it. */
wp_inbox_state wp__inbox_state(int64_t status);

#endif
