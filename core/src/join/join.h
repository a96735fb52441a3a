/* SPDX-License-Identifier: Apache-2.0 */
/* Joins, as the public calls, enqueues, claims and workers share them. What is counted, and what happens
 * when a join is over, is done by triggers of the database: whoever finishes a message counts it. */
#ifndef WP__JOIN_H
#define WP__JOIN_H

#include <waypost/join.h>

#include "op/op.h"
#include "queue/queue.h"

/* ---- members (members.c) ---- */

/* A message, by its place, and a join that it is to be a member of. */
typedef struct wp__join_pair {
    wp_id join;
    size_t message;
} wp__join_pair;

typedef struct wp__join_found {
    wp_id id;
    int64_t seq; /* -1: there is none */
    int64_t status;
    size_t from; /* its pairs: [from, to) */
    size_t to;
} wp__join_found;

/* The part of an operation that makes messages members of joins, or reports them. */
typedef struct wp__members {
    /* what is asked for */
    wp__join_pair *pairs;
    size_t pair_count;
    const wp_id *messages; /* their ids, by place */
    size_t message_count;
    wp_join_member_status report; /* as what; WP_JOIN_MEMBER_WAITING: they are to become members */
    /* under way */
    int step;
    wp__join_found *joins;
    wp_id *join_ids; /* theirs, while they are looked for */
    size_t join_count;
    size_t at;     /* the join under way */
    int64_t *seqs; /* of the messages; -1: there is none */
    wp__buf json;
    size_t given;    /* messages of the statement under way */
    size_t answered; /* of them, changed */
    int64_t strangers;
    size_t changed; /* the result */
} wp__members;

/* Begin: take over `pairs`, which is changed. wp__members_fini() it, also when this fails. */
wp_status wp__members_init(wp__members *m, wp__join_pair *pairs, size_t pair_count, wp_error **err);
void wp__members_fini(wp__members *m);
/* Back to the start. */
void wp__members_rewind(wp__members *m);
/* First: the statement that looks for the joins. */
wp_status wp__members_use_find(wp__members *m, wp_op *op, wp_error **err);
/* When it has run: WP_E_NOT_FOUND: a join is missing. WP_E_STATE: one is over, where `open`. */
wp_status wp__members_check(const wp__members *m, bool open, wp_error **err);
/* Then, with `messages` set: the next statement, or *used is false: all is done. */
wp_status wp__members_use_next(wp__members *m, wp_op *op, bool *used, wp_error **err);
/* A row of any of these. */
wp_status wp__members_row(wp__members *m, wp_op *op, const wp__value *columns, wp_error **err);

/* ---- messages that wait (wait.c) ---- */

/* The join that the payload of one names: {"join": "<id>"}. */
bool wp__join_named(wp_id *out, const char *payload, size_t len);

/* ---- the end (end.c) ---- */

/* Fail a page of joins that are past their deadline. *more: there may be more. */
wp_status wp__join_reap_page(size_t *failed, bool *more, wp_store *store, wp_conn *conn,
                             wp_error **err);
/* Whether there is one. A read. */
wp_status wp__join_reap_needed(bool *out, wp_store *store, wp_conn *conn, wp_error **err);
/* Remove a page of those that were over for so long. */
wp_status wp__join_cleanup_page(size_t *removed, bool *more, wp_store *store, wp_conn *conn,
                                int64_t older_us, wp_error **err);

#endif
