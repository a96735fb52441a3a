/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of queues, as the public calls and the worker share them. Each is a struct with
 * wp_op first: begin it with its _init(), run it with wp__store_run() or wp__conn_run(), read its
 * results, end it with wp__op_fini(). */
#ifndef WP__QUEUE_H
#define WP__QUEUE_H

#include <waypost/outbox.h>

#include "base/config_values.h"
#include "message.h"
#include "op/op.h"

/* The queues that there are. */
extern const wp__queue wp__outbox;
extern const wp__queue wp__inbox;
extern const wp__queue wp__timer;
extern const wp__queue wp__job_run;
extern const wp__queue *const wp__queues[WP__QUEUES]; /* all of them, in the order of queues.txt */
/* Its place among them, 0 to WP__QUEUES - 1. */
static inline size_t wp__queue_index(const wp__queue *queue)
{
    return queue->first_sql / WP__QUEUE_SQL_COUNT;
}

/* The delay before the next try after `attempt` attempts failed before this one:
 * min(base * 2^attempt, max), shortened by up to `jitter` of itself. Microseconds, at least 1. */
int64_t wp__backoff_us(int64_t attempt, const wp__worker_options *options, double jitter);

/* ---- rows that cannot be read (aside.c) ---- */

typedef struct wp__odd_row {
    int64_t seq;
    const char *column; /* a constant */
} wp__odd_row;

typedef struct wp__aside {
    wp__odd_row *rows;
    size_t count;
    size_t cap;
    size_t done; /* how many were dealt with */
    wp__buf reason;
} wp__aside;
/* Whether the engine can set rows aside; if not, it has none that cannot be read. */
bool wp__aside_is_possible(const wp_op *op);
/* Note a row that is to fail. */
wp_status wp__aside_add(wp__aside *aside, int64_t seq, const char *column, wp_error **err);
/* Have the next one failed by the operation's next statement, which must know now and worker; false:
 * there is none. */
bool wp__aside_use_next(wp__aside *aside, wp_op *op);
void wp__aside_clear(wp__aside *aside);
void wp__aside_free(wp__aside *aside);

/* ---- lists of claims ---- */

/* One claim: the row and, unless it is WP__ANY_CLAIM, the number of its claim. */
typedef struct wp__claim_ref {
    int64_t seq;
    int64_t claim_number;
    int64_t attempt; /* only where the operation asks for it */
} wp__claim_ref;
enum { WP__ANY_CLAIM = -1 };

typedef struct wp__refs {
    wp__claim_ref *items;
    size_t count;
    size_t cap;
} wp__refs;
wp_status wp__refs_add(wp__refs *refs, int64_t seq, int64_t claim_number, int64_t attempt,
                       wp_error **err);
void wp__refs_free(wp__refs *refs);

/* ---- claim ---- */

/* Where a claim of runs is with starting them (start.c). */
typedef struct wp__starts {
    int phase;
    size_t at;
    wp__buf json;
} wp__starts;

/* Where a claim is with messages that wait for joins (join/wait.c). */
typedef struct wp__waits {
    int step;
    struct wp__wait *items;
    size_t count;
    wp_id *ids; /* of their joins, while those are looked for */
    wp__buf json;
    wp_received **failed; /* messages that name no join, taken out */
    size_t failed_count;
} wp__waits;

typedef struct wp__claim_op {
    wp_op base;
    /* what is asked for */
    wp_id owner;
    const char *topics;             /* JSON array, borrowed; NULL: whatever is there */
    const struct wp_pauses *paused; /* without `topics`: leave these out, borrowed; NULL: none */
    int64_t batch;
    int64_t lease_us;
    int64_t max_attempts; /* stamped on the row for whoever reaps it; 0: none */
    int64_t since_us;     /* nothing before it is left to claim; INT64_MIN: not known */
    const char *after;    /* the ordering key to begin behind, borrowed; NULL: at the first */
    /* under way */
    int step;
    wp__buf found_topics;
    wp__buf seqs;
    wp__aside aside; /* claimed, but unreadable: failed instead */
    wp__starts starts;
    wp__waits waits;
    /* what was claimed; taken over by whoever sets `received` to NULL and `count` to 0 */
    wp_received **received;
    size_t count;
    int64_t now_us;   /* the database's now of the claim; 0: nothing was claimed */
    int64_t first_us; /* when the first of them was to be tried; 0: not known */
    char *reached;    /* the ordering key behind which to begin the next time; NULL: it saw all */
} wp__claim_op;
void wp__claim_op_init(wp__claim_op *op, wp_store *store, const wp__queue *queue);
/* Of these topics (JSON array, borrowed; NULL: whatever is there). */
void wp__claim_op_set_topics(wp__claim_op *op, const char *topics);
/* For the claim: end claims that it has taken out, by the next statement. */
wp_status wp__claim_use_end(wp__claim_op *claim, wp__buf *json, const wp__refs *refs,
                            wp_message_status status, const char *reason, wp_error **err);
/* The next statement of looking after messages that wait for joins, if there is one; and its rows. */
wp_status wp__waits_next(wp__claim_op *claim, wp_error **err);
bool wp__waits_is_at(const wp__claim_op *claim);
wp_status wp__waits_row(wp__claim_op *claim, const wp__value *columns, wp_error **err);
void wp__waits_rewind(wp__waits *waits);
void wp__waits_fini(wp__waits *waits);
/* After the claim: log those that were failed. */
void wp__waits_tell(const wp__claim_op *claim, const char *worker);
/* For the claim, once it has its messages: the next statement of starting them, if there is one; and
 * its rows. */
wp_status wp__starts_next(wp__claim_op *claim, wp_error **err);
bool wp__starts_is_at(const wp__claim_op *claim);
wp_status wp__starts_row(wp__claim_op *claim, const wp__value *columns, wp_error **err);

/* ---- finish: ack, retry, fail, release, renew ---- */

typedef enum wp__finish_kind {
    WP__FINISH_ACK,
    WP__FINISH_RETRY,
    WP__FINISH_FAIL,
    WP__FINISH_RELEASE,
    WP__FINISH_RENEW,
    WP__FINISH_CANCEL /* runs only: it failed when it was asked to end */
} wp__finish_kind;

typedef struct wp__finish_op {
    wp_op base;
    /* what is asked for */
    wp__finish_kind kind;
    wp_id owner;
    const wp_id *ids;      /* by id: resolved first; NULL: `refs` are given */
    const int64_t *claims; /* with ids; may be NULL */
    size_t id_count;
    const char *worker;
    const char *reason;
    int64_t delay_us;   /* retry; 0: the backoff for each one's attempt */
    int64_t lease_us;   /* renew */
    bool pass_locked;   /* renew: do not wait for claims that another transaction has locked */
    const char *output; /* of one run; NULL: none */
    bool must_change;   /* nothing changed is WP_E_LEASE_LOST */
    bool announces;     /* in a transaction of the app's, which commits unseen */
    bool ordered;   /* some have ordering keys, whose next messages may follow; by id: found out */
    void *owned[4]; /* freed with the operation: copies made for a host */
    /* under way */
    int phase;
    wp__refs refs;
    size_t given; /* how many of refs came with the request */
    size_t done;  /* retry by backoff: how many of refs are dealt with */
    wp__buf json;
    wp__refs changed; /* which claims were */
    wp__refs locked;  /* which were passed */
    bool sorted;      /* both are */
    bool joined;      /* some are members of joins, which may have made work */
} wp__finish_op;

/* Begin one by refs: fill op->refs with wp__refs_add() before it runs. One statement. */
void wp__finish_op_init(wp__finish_op *op, wp_store *store, const wp__queue *queue,
                        wp__finish_kind kind, const wp_id *owner);
/* One run returned something: store it, too. */
void wp__finish_op_set_output(wp__finish_op *op, const char *output);
/* By refs, in a transaction of the app's: workers are told if ordering keys are freed. */
void wp__finish_op_set_announces(wp__finish_op *op, bool ordered);
/* Begin one by ids: set op->ids and what else it needs. */
void wp__finish_op_init_by_ids(wp__finish_op *op, wp_store *store, const wp__queue *queue,
                               wp__finish_kind kind, const wp_id *owner);
/* After it has run: whether it changed this claim. Two claims of one message may be in it. */
bool wp__finish_op_changed(wp__finish_op *op, const wp_received *message);
/* Whether it passed the claim because another transaction has it locked. */
bool wp__finish_op_passed(wp__finish_op *op, const wp_received *message);
/* Order rows by key and drop repeats: one lock order for everyone. */
void wp__refs_sort(wp__refs *refs);
/* Append {"seq":claim number, ...} for refs[from..to), or pairs where the engine wants those. */
void wp__refs_json(wp__buf *out, const wp__refs *refs, size_t from, size_t to,
                   const wp__engine *engine);

/* ---- what became of claims ---- */

typedef enum wp__standing {
    WP__GONE,      /* the message is not there any more */
    WP__HELD,      /* still claimed so */
    WP__DONE,      /* finished by this very claim, likewise: */
    WP__FAILED,    /* or cancelled */
    WP__GIVEN_BACK /* ready again, or claimed again, or finished by a later claim */
} wp__standing;

typedef struct wp__standing_row {
    int64_t seq;
    int64_t claim_number;
    int status; /* wp_message_status */
} wp__standing_row;

typedef struct wp__standing_op {
    wp_op base;
    wp__refs refs; /* the claims: fill before it runs */
    int step;
    wp__buf json;
    wp__standing_row *rows; /* the results */
    size_t row_count;
    bool sorted;
} wp__standing_op;
/* For up to `max` claims. One read. wp__op_fini() it, also when this fails. */
wp_status wp__standing_op_init(wp__standing_op *op, wp_store *store, const wp__queue *queue,
                               size_t max, wp_error **err);
/* After it has run: where one of the claims stands. */
wp__standing wp__standing_op_of(wp__standing_op *op, const wp_received *message);

/* ---- dead letters made ready again (replay.c) ---- */

/* The operation's next statement of those that do it, from *step 0 on; false: all have run. They must
 * know seqs, now, delay (between one and the next), count (how many steps of it come first) and worker. Rows: those that are dead no more. */
bool wp__replay_use_next(wp_op *op, int *step);

/* ---- reap ---- */

#define WP__LEASE_EXPIRED "lease expired" /* the reason */
enum { WP__REAP_PAGE = 500 };

typedef struct wp__reap_op {
    wp_op base;
    const char *worker; /* recorded on those that fail */
    int64_t now_us;     /* leases that ended by then are over, if the store's clock decides */
    int64_t since_us;   /* none ended before it; INT64_MIN: not known */
    int phase;
    size_t done;
    struct wp__expired *rows;
    size_t row_count;
    wp__aside aside;
    int end; /* of those being written: a wp__expired_end */
    wp__buf json;
    /* results */
    wp__buf dead;      /* which died, but for unreadable ones: a JSON array, not closed */
    size_t leases;     /* expired leases met: at most a page */
    size_t retried;    /* of them, given back */
    size_t failed;     /* of them, at their limit of attempts */
    size_t cancelled;  /* of them, runs that whoever had them was asked to end */
    size_t unreadable; /* rows that could not be read, failed: at most a page of each kind */
    size_t expired;    /* messages past their expiry, claimed or waiting: at most a page of each */
} wp__reap_op;
/* Whether there may be more: run it again. */
bool wp__reap_op_is_full(const wp__reap_op *op);
/* After it has run: log each dead letter that it made. */
wp_status wp__reap_op_tell(wp__reap_op *op, wp_conn *conn, wp__log *log, const char *worker,
                           wp_error **err);
/* One page of expired leases and one of expired messages; run again while a page was full. */
void wp__reap_op_init(wp__reap_op *op, wp_store *store, const wp__queue *queue, const char *worker,
                      int64_t now_us, int64_t since_us);

/* One read: whether there is anything to reap. */
wp_status wp__queue_reap_needed(bool *out, wp_store *store, wp_conn *conn, const wp__queue *queue,
                                int64_t now_us, int64_t since_us, wp_error **err);
/* One read: in how long the first ready message of these topics may be tried, 0 or less: now;
 * INT64_MAX: there is none. */
wp_status wp__queue_next_due(int64_t *in_us, wp_store *store, wp_conn *conn, const wp__queue *queue,
                             const char *topics, int64_t since_us, wp_error **err);

/* ---- looking ---- */

/* The columns of queue_get, which lists of messages have, too; a queue's own follow. */
enum {
    WP__COL_STATUS = WP__RECEIVED_COLUMNS,
    WP__COL_NEXT_ATTEMPT,
    WP__COL_LOCKED_UNTIL,
    WP__COL_FINISHED_AT,
    WP__COL_FINISHED_BY,
    WP__COL_LAST_ERROR,
    WP__INFO_COLUMNS
};
/* `payload_bytes`: how long a payload is that may not be among the columns; NULL: it is. */
wp_status wp__info_new(wp_outbox_info **out, const wp__queue *queue, const wp__value *columns,
                       const wp__value *payload_bytes, wp_error **err);

/* ---- what the public calls of each queue are made of: outbox.h tells what they do ---- */

wp_status wp__queue_enqueue(wp_id *ids, int *duplicates, wp_store *store, wp_conn *conn,
                            const wp__queue *queue, const wp_message *const *messages, size_t count,
                            wp_error **err);
wp_status wp__queue_enqueue_one(wp_id *id, int *duplicate, wp_store *store, wp_conn *conn,
                                const wp__queue *queue, const wp_message *message, wp_error **err);
wp_status wp__queue_enqueue_op(wp_op **out, wp_store *store, const wp__queue *queue,
                               const wp_message *const *messages, size_t count, wp_error **err);

wp_status wp__queue_claim(wp_claim **out, wp_store *store, const wp__queue *queue,
                          const wp_id *owner, const char *const *topics, size_t topic_count,
                          int64_t batch, int64_t lease_ms, wp_error **err);
/* What a caller asks for by id; each kind heeds what concerns it. */
typedef struct wp__finish_request {
    const wp_id *owner;
    const wp_id *ids;
    const int64_t *claims;
    size_t count;
    const char *worker;
    const char *reason;
    int64_t delay_ms;
    int64_t lease_ms;
} wp__finish_request;
wp_status wp__queue_finish(size_t *changed, wp_store *store, wp_conn *conn, const wp__queue *queue,
                           wp__finish_kind kind, const wp__finish_request *request, wp_error **err);
/* The same for a host; everything is copied. */
wp_status wp__queue_finish_op(wp_op **out, wp_store *store, const wp__queue *queue,
                              wp__finish_kind kind, const wp__finish_request *request,
                              wp_error **err);
wp_status wp__queue_reap(size_t *changed, wp_store *store, const wp__queue *queue, wp_error **err);
wp_status wp__queue_get(wp_outbox_info **out, wp_store *store, const wp__queue *queue,
                        const wp_id *id, wp_error **err);
/* A page of what is unfinished, behind the row `after` (INT64_MIN: from the first on), without payloads. */
struct wp_unfinished;
wp_status wp__unfinished_read(struct wp_unfinished **out, wp_store *store, const wp__queue *queue,
                              const char *topic, int64_t after, int64_t limit, wp_error **err);
wp_status wp__queue_stats(wp_outbox_stats **out, wp_store *store, const wp__queue *queue,
                          int finished, wp_error **err);

#endif
