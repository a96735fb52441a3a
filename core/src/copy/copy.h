/* SPDX-License-Identifier: Apache-2.0 */
/* Moving work between stores:
 *   copy.c   the public calls: queues, pages, counts
 *   page.c   one page: held, stored, compared, deleted, let go
 *   jobs.c   one job with its runs, likewise
 *   jobs_ops.c  the operations that this is made of
 *   joins.c  joins, with their members and what waits for them, likewise
 *   joins_ops.c  the operations that this is made of
 *   group.c  which joins and messages have to go together
 *   memory.c keys of the inbox that were done
 *   ops.c    the operations that these are made of
 *   pauses.c pauses
 *   refuse.c what a target does not take
 *   row.c    a message with all that is known of it: read, checked, hashed */
#ifndef WP__COPY_H
#define WP__COPY_H

#include <waypost/copy.h>
#include <waypost/pause.h>

#include "db/store.h"
#include "queue/queue.h"

/* ---- ends --------------------------------------------------------------------------------- */

/* One of the two stores. Everything that is written there is fenced by a lease there: whoever begins later
 * takes it over, and nothing that began before him is written any more. */
typedef struct wp__copy_end {
    wp_store *store; /* a reference */
    wp_id self;      /* which store it is */
    wp_id peer;      /* and the other one */
    char lease[96];
    int64_t fence;
    int64_t most_bytes; /* of a message; 0: any number */
} wp__copy_end;

/* Long, as it only tells who came last: a page may take as long as it takes. */
#define WP__COPY_LEASE_US (INT64_C(24) * 3600 * 1000000)
#define WP__COPY_OWNER "waypost.copy"

/* ---- rows --------------------------------------------------------------------------------- */

enum { WP__COPY_HASH_BYTES = 32 }; /* SHA-256 */

/* The columns of a message, as queue_copy_read gives them; a queue's own follow. */
enum {
    WP__COPY_SEQ,
    WP__COPY_ID,
    WP__COPY_STATUS,
    WP__COPY_ATTEMPT,
    WP__COPY_CLAIM_NUMBER,
    WP__COPY_NEXT_ATTEMPT,
    WP__COPY_WORK_EXPIRES,
    WP__COPY_LAST_ERROR,
    WP__COPY_FINISHED_AT,
    WP__COPY_FINISHED_BY,
    WP__COPY_TOPIC,
    WP__COPY_PAYLOAD,
    WP__COPY_HEADERS,
    WP__COPY_CORRELATION,
    WP__COPY_ORDERING_KEY,
    WP__COPY_CREATED_AT,
    WP__COPY_DUE_AT,
    WP__COPY_EXPIRES_AT,
    WP__COPY_UNIQUE_KEY,
    WP__COPY_COLUMNS,
    /* of the inbox, instead of the unique key */
    WP__COPY_SOURCE = WP__COPY_UNIQUE_KEY,
    WP__COPY_MESSAGE_ID,
    WP__COPY_CONSUMER,
    WP__COPY_HASH,
    WP__COPY_HASH_ALGORITHM,
    WP__COPY_LAST_SEEN,
    WP__COPY_INBOX_COLUMNS,
    /* of runs, instead of the unique key */
    WP__COPY_JOB_ID = WP__COPY_UNIQUE_KEY,
    WP__COPY_JOB_NAME,
    WP__COPY_RUN_OCCURRENCE,
    WP__COPY_RUN_OPTIONS,
    WP__COPY_STARTED_AT,
    WP__COPY_CANCEL_AT,
    WP__COPY_OUTPUT,
    WP__COPY_RUN_COLUMNS
};

/* The columns of a job, as copy_job_read gives them: behind its number and id. */
enum {
    WP__COPY_JOB_ITS_NAME = 2,
    WP__COPY_JOB_TOPIC,
    WP__COPY_JOB_PAYLOAD,
    WP__COPY_JOB_EXPRESSION,
    WP__COPY_JOB_ZONE,
    WP__COPY_JOB_OPTIONS,
    WP__COPY_JOB_REGISTRAR,
    WP__COPY_JOB_ABSENT,
    WP__COPY_JOB_DISABLED,
    WP__COPY_JOB_NEXT_DUE,
    WP__COPY_JOB_CREATED_AT,
    WP__COPY_JOB_COLUMNS
};
/* The columns of a join, as copy_join_read gives them: behind its number and id. */
enum {
    WP__COPY_JOIN_STATUS = 2,
    WP__COPY_JOIN_EXPECTED,
    WP__COPY_JOIN_COMPLETED,
    WP__COPY_JOIN_FAILED,
    WP__COPY_JOIN_FAIL_IF_ANY,
    WP__COPY_JOIN_GROUP,
    WP__COPY_JOIN_METADATA,
    WP__COPY_JOIN_CREATED_AT,
    WP__COPY_JOIN_DEADLINE,
    WP__COPY_JOIN_ENDED_AT,
    WP__COPY_JOIN_REASON,
    WP__COPY_JOIN_COLUMNS
};

/* The columns of what it enqueues when it is over. */
enum {
    WP__COPY_NEXT_JOIN = 2, /* id */
    WP__COPY_NEXT_STATUS,
    WP__COPY_NEXT_TOPIC,
    WP__COPY_NEXT_PAYLOAD,
    WP__COPY_NEXT_HEADERS,
    WP__COPY_NEXT_CORRELATION,
    WP__COPY_NEXT_ORDERING_KEY,
    WP__COPY_NEXT_COLUMNS
};

/* No queues: they say that a row is a job's, a join's, or of what is enqueued at its end. */
extern const wp__queue wp__copy_of_jobs;
extern const wp__queue wp__copy_of_joins;
extern const wp__queue wp__copy_of_nexts;
/* The outbox, but of its messages those that go with joins. */
extern const wp__queue wp__copy_joined;
/* As what messages of it are noted. */
const char *wp__copy_word(const wp__queue *queue);

static inline size_t wp__copy_columns(const wp__queue *queue)
{
    return queue == &wp__inbox           ? WP__COPY_INBOX_COLUMNS
           : queue == &wp__job_run       ? WP__COPY_RUN_COLUMNS
           : queue == &wp__copy_of_jobs  ? WP__COPY_JOB_COLUMNS
           : queue == &wp__copy_of_joins ? WP__COPY_JOIN_COLUMNS
           : queue == &wp__copy_of_nexts ? WP__COPY_NEXT_COLUMNS
                                         : WP__COPY_COLUMNS;
}

typedef struct wp__copy_row {
    const wp__queue *queue;
    int64_t seq;
    wp_id id;
    wp_id job_id; /* of a run, or of what a join enqueues: whose it is; not among the columns */
    wp__value columns[WP__COPY_RUN_COLUMNS]; /* in `memory` */
    char *memory;
    int64_t there; /* its number where it was stored; 0: it was not */
} wp__copy_row;

typedef struct wp__copy_rows {
    wp__copy_row *items;
    size_t count;
    size_t cap;
    int64_t job; /* of runs: the number that their job has where they are to be stored */
} wp__copy_rows;

wp_status wp__copy_rows_add(wp__copy_rows *rows, const wp__queue *queue, const wp__value *columns,
                            wp_error **err);
void wp__copy_rows_free(wp__copy_rows *rows);
/* Why no engine could hold it, or NULL. A constant. */
const char *wp__copy_row_fault(const wp__copy_row *row);
wp_status wp__copy_row_hash(unsigned char out[WP__COPY_HASH_BYTES], const wp__copy_row *row,
                            wp_error **err);

/* What is on its way. */
typedef struct wp__copy_item {
    int64_t seq;
    wp_id id;
    int64_t status; /* 0, or WP_MESSAGE_FAILED */
    int64_t bytes;
    char *key;
    wp_id job; /* of a run: whose it is */
    enum {
        WP__COPY_LOST,
        WP__COPY_KEPT,
        WP__COPY_ENDED
    } held;       /* ended: by somebody, though it was held */
    bool arrived; /* it came from the other store; else it is on its way there */
    /* of those in the source */
    int64_t there;       /* its number in the target; 0: not there */
    int there_held;      /* likewise */
    bool there_arrived;  /* the one there is the copy */
    const char *refused; /* why it stays, or NULL */
    char *why;           /* the same, where it is not a constant */
    bool given;          /* it can still be read in the source */
    int64_t seen_us;     /* by what was read: of the inbox, when it was last seen; of runs, when
                          * they were asked to end */
    unsigned char hash[WP__COPY_HASH_BYTES]; /* of what was read in the source */
    unsigned char back[WP__COPY_HASH_BYTES]; /* and read back from the target */
} wp__copy_item;

typedef struct wp__copy_items {
    wp__copy_item *items;
    size_t count;
    size_t cap;
} wp__copy_items;

void wp__copy_items_free(wp__copy_items *items);
int wp__copy_by_seq(const void *a, const void *b);

/* Numbers of one store, as a JSON array. */
typedef struct wp__copy_seqs {
    wp__buf json;
    size_t count;
    const wp__copy_items
        *as_read; /* not NULL: those of them that were seen again since are not held, likewise */
} wp__copy_seqs;
void wp__copy_seqs_add(wp__copy_seqs *seqs, int64_t seq);
wp_status wp__copy_seqs_end(wp__copy_seqs *seqs, wp_error **err);

/* ---- what a target cannot store (refuse.c) ------------------------------------------------ */

/* Why the end cannot take it, by its size; or NULL. A constant. */
const char *wp__copy_too_large(const wp__copy_end *end, const wp__copy_row *row);
/* Whether it may be one row among many that the target does not take, by what it says. */
bool wp__copy_may_be_refused(const wp_error *cause);
/* Whether it is this one, which was stored alone: any other one it would take. */
bool wp__copy_is_refused(const wp__copy_end *end, const wp__copy_row *row, const wp_error *cause);

/* ---- jobs (jobs_ops.c) -------------------------------------------------------------------- */

/* A job on its way. */
typedef struct wp__copy_job {
    int64_t seq;
    wp_id id;
    char *name; /* NULL: it is gone */
    enum {
        WP__COPY_JOB_GONE,
        WP__COPY_JOB_HELD,
        WP__COPY_JOB_CHANGED
    } state; /* since it is held */
    bool arrived;
} wp__copy_job;

typedef struct wp__copy_jobs {
    wp__copy_job *items;
    size_t count;
    size_t cap;
} wp__copy_jobs;
void wp__copy_jobs_free(wp__copy_jobs *jobs);

wp_status wp__copy_job_list(wp__copy_jobs *out, const wp__copy_end *end, wp_error **err);
/* The next one behind a number that is not on its way; *running: one of its runs is. At most one. */
wp_status wp__copy_job_find(wp__copy_jobs *out, bool *running, const wp__copy_end *end,
                            int64_t after, wp_error **err);
/* What changes jobs. *missed: nothing was done, since it is not as it should be any more. `seqs`: their runs. */
/* Hold it with all of its runs that wait, and (`dead`) its dead ones, if none of them is running. */
wp_status wp__copy_job_take(bool *missed, const wp__copy_end *end, const wp__copy_job *job,
                            bool dead, wp_error **err);
wp_status wp__copy_job_read(wp__copy_rows *out, const wp__copy_end *end, int64_t job,
                            wp_error **err);
/* Store it, held; its `there` tells whether it was. */
wp_status wp__copy_job_put(wp__copy_row *row, const wp__copy_end *end, wp_error **err);
/* Delete it in the source, if it and its runs are held still, and it has no others that are unfinished. */
wp_status wp__copy_job_settle(bool *missed, const wp__copy_end *end, const wp__copy_job *job,
                              const wp__copy_seqs *seqs, wp_error **err);
/* Delete it, unless it was changed, and these runs. */
wp_status wp__copy_job_drop(const wp__copy_end *end, const wp__copy_job *job,
                            const wp__copy_seqs *seqs, wp_error **err);
/* Let these runs go, and (`job_too`) the job: scheduled again as it was, unless it was changed. */
wp_status wp__copy_job_free(const wp__copy_end *end, const wp__copy_job *job,
                            const wp__copy_seqs *seqs, bool job_too, wp_error **err);

/* Where the search for work is. */
typedef struct wp__copy_place {
    int64_t seq;     /* of unfinished ones */
    int64_t died_us; /* of dead letters */
    int64_t dead_seq;
} wp__copy_place;

/* ---- joins (joins_ops.c) ------------------------------------------------------------------ */

/* A sum of checksums. */
typedef struct wp__copy_sum {
    uint64_t words[4];
} wp__copy_sum;
void wp__copy_sum_add(wp__copy_sum *sum, const unsigned char hash[WP__COPY_HASH_BYTES]);

/* A join on its way. */
typedef struct wp__copy_join {
    int64_t seq; /* 0: it arrived, and is none here yet */
    wp_id id;
    bool arrived;
} wp__copy_join;

typedef struct wp__copy_joins {
    wp__copy_join *items;
    size_t count;
    size_t cap;
} wp__copy_joins;
void wp__copy_joins_free(wp__copy_joins *joins);

/* A member of a join, or (status 3) a message that waits for it. */
typedef struct wp__copy_member {
    wp_id join;
    size_t place;
    wp_id id;
    int64_t status;
    int64_t attached_us;
    int64_t counted_us; /* INT64_MIN: it has not */
} wp__copy_member;

wp_status wp__copy_member_hash(unsigned char out[WP__COPY_HASH_BYTES],
                               const wp__copy_member *member, wp_error **err);

/* Joins with all that is known of them but their messages. */
typedef struct wp__copy_group {
    wp__copy_rows joins;
    wp__copy_rows nexts;
    wp__copy_member *members; /* by join */
    size_t count;
    size_t cap;
    wp__copy_sum sum; /* of all of these */
} wp__copy_group;
void wp__copy_group_free(wp__copy_group *group);

/* Those on their way to the other store, or from it. */
wp_status wp__copy_join_list(wp__copy_joins *out, const wp__copy_end *end, wp_error **err);
/* In the source: hold these messages, and note these joins. *missed: nothing was done, since one of the messages is running, or
 * others have to go along. */
wp_status wp__copy_join_take(bool *missed, const wp__copy_end *end, const wp__copy_seqs *joins,
                             const wp__copy_seqs *messages, wp_error **err);
/* Those that go to the other store, or (`arrived`) came from there. */
wp_status wp__copy_join_read(wp__copy_group *out, const wp__copy_end *end, bool arrived,
                             wp_error **err);
/* In the target: store them. They are no joins there yet. *known: nothing was done, since one of them is there. */
wp_status wp__copy_join_put(bool *known, const wp__copy_group *group, const wp__copy_end *end,
                            wp_error **err);
/* Delete them in the source, with these messages. *missed: nothing was done, since they are not as they were read. */
wp_status wp__copy_join_settle(bool *missed, const wp__copy_end *end, const wp__copy_joins *joins,
                               const wp__copy_seqs *messages, const wp__copy_sum *as_read,
                               wp_error **err);
/* Delete what came from the other store. */
wp_status wp__copy_join_drop(const wp__copy_end *end, const wp__copy_seqs *messages,
                             wp_error **err);
/* Let all go: what came is joins here from then on, and what was to go stays. */
wp_status wp__copy_join_free(const wp__copy_end *end, const wp__copy_seqs *messages,
                             wp_error **err);

/* ---- what goes together (group.c) --------------------------------------------------------- */

/* Two numbers of a row. */
typedef struct wp__copy_pair {
    int64_t seq;
    int64_t state;
} wp__copy_pair;

typedef struct wp__copy_pairs {
    wp__copy_pair *items;
    size_t count;
    size_t cap;
} wp__copy_pairs;
wp_status wp__copy_pairs_add(wp__copy_pairs *pairs, int64_t seq, int64_t state, wp_error **err);

/* A message that waits for a join. */
typedef struct wp__copy_wait {
    int64_t seq;
    int64_t state;
    bool held; /* it is on its way between these two stores */
    bool names;
    wp_id id;     /* of the join that it names */
    int64_t join; /* that join's number; 0: it is not here */
    bool over;
} wp__copy_wait;

typedef struct wp__copy_waits {
    wp__copy_wait *items;
    size_t count;
    size_t cap;
} wp__copy_waits;
wp_status wp__copy_waits_add(wp__copy_waits *waits, const wp__value *columns, wp_error **err);
wp_status wp__copy_join_waits(wp__copy_waits *out, const wp__copy_end *end, wp_error **err);
/* What a statement tells of those with the numbers `seqs`, a JSON array. */
wp_status wp__copy_join_pairs(wp__copy_pairs *out, const wp__copy_end *end, wp__sql_id statement,
                              const wp__buf *seqs, wp_error **err);
/* The next open join behind a number; at most one. */
wp_status wp__copy_join_after(wp__copy_joins *out, const wp__copy_end *end, int64_t after,
                              wp_error **err);

/* What goes together. */
typedef struct wp__copy_set {
    wp__copy_pairs joins;    /* by number; 1: it is over */
    wp__copy_pairs messages; /* by number; with their states */
    wp_id id;                /* of the first join, or of the one that a message names */
    bool nameless;           /* but there is no such id: messages that wait for nothing */
    bool running;            /* one of the messages is with a worker, or held by others */
} wp__copy_set;
void wp__copy_set_free(wp__copy_set *set);
/* The next one behind a place that has not been looked at; *found is false: there is none. */
wp_status wp__copy_set_find(bool *found, wp__copy_set *out, wp__copy_place *place,
                            const wp__copy_end *end, wp_error **err);

/* ---- operations (ops.c) ------------------------------------------------------------------- */

/* The statement that renews the lease of an end, which gives a row if it is still had. */
void wp__copy_use_fence(wp_op *op, const wp__copy_end *end);
wp_status wp__copy_fail_fenced(const wp__copy_end *end, wp_error **err);

/* The id of a store; made if it has none and `make` says so, else *there is false. */
wp_status wp__copy_self(wp_id *id, bool *there, wp_store *store, bool make, wp_error **err);
wp_status wp__copy_look_at(int64_t counts[5], wp_store *store, const wp_id *peer,
                           const wp__queue *queue, wp_error **err);
wp_status wp__copy_look_at_joins(int64_t counts[2], wp_store *store, wp_error **err);
/* How many messages are on their way with joins. */
wp_status wp__copy_look_at_joined(int64_t *held, wp_store *store, const wp_id *peer,
                                  wp_error **err);
/* Those of the items that became members of joins that are not over: refuse them. */
wp_status wp__copy_refuse_attached(bool *any, wp__copy_items *items, const wp__copy_end *end,
                                   wp_error **err);
wp_status wp__copy_look_at_jobs(int64_t *jobs, wp_store *store, wp_error **err);
/* How many bytes a message may have there, as far as the engine tells beforehand; 0: any number. */
wp_status wp__copy_limit(int64_t *bytes, wp_store *store, wp_error **err);
/* Hold the next ones; how many were looked at, 0: there are no more. */
wp_status wp__copy_take(size_t *found, wp__copy_place *place, const wp__copy_end *end,
                        const wp__queue *queue, int64_t limit, wp_error **err);
wp_status wp__copy_take_dead(size_t *found, wp__copy_place *place, const wp__copy_end *end,
                             const wp__queue *queue, int64_t limit, wp_error **err);
wp_status wp__copy_list(wp__copy_items *out, const wp__copy_end *end, const wp__queue *queue,
                        wp_error **err);
/* `seqs` is a JSON array. */
wp_status wp__copy_read(wp__copy_rows *out, const wp__copy_end *end, const wp__queue *queue,
                        const wp__buf *seqs, wp_error **err);
/* Store them, held; `there` of each tells whether it was. */
wp_status wp__copy_put(wp__copy_rows *rows, const wp__copy_end *end, const wp__queue *queue,
                       wp_error **err);
/* What was done of the inbox: the next ones behind a number, or (`seqs`) these. */
wp_status wp__copy_read_memory(wp__copy_rows *out, wp_store *store, int64_t after, int64_t since,
                               int64_t limit, const wp__buf *seqs, wp_error **err);
/* Store those whose keys are not known; `there` of each tells whether it was. */
wp_status wp__copy_remember(wp__copy_rows *rows, const wp__copy_end *end, wp_error **err);
/* Let them go: they are work, or dead letters, as ever. What is not held any more is left alone. */
wp_status wp__copy_free_held(const wp__copy_end *end, const wp__queue *queue,
                             const wp__copy_seqs *seqs, wp_error **err);
/* Delete them; of the inbox, in the source, they are done, since what arrived there may arrive again. *missed: nothing was
 * done, since one of them is not held any more. */
wp_status wp__copy_settle(bool *missed, const wp__copy_end *end, const wp__queue *queue,
                          const wp__copy_seqs *seqs, wp_error **err);
/* Delete them, likewise. */
wp_status wp__copy_drop(bool *missed, const wp__copy_end *end, const wp__queue *queue,
                        const wp__copy_seqs *seqs, wp_error **err);

/* ---- pauses (pauses.c) -------------------------------------------------------------------- */

/* Pause a topic there, as it was in the other store, unless that was done before. */
wp_status wp__copy_pause(const wp__copy_end *end, const wp__queue *queue, const char *topic,
                         const char *by, wp_error **err);
/* That was done before is forgotten of those that the other store does not have any more. */
wp_status wp__copy_forget_pauses(const wp__copy_end *end, const wp_pauses *pauses, wp_error **err);

/* ---- a page (page.c) ---------------------------------------------------------------------- */

struct wp_copy {
    wp__copy_end source;
    wp__copy_end target;
    int64_t page;
    bool dead;
    bool begun;
    size_t at;      /* which of the moved queues */
    int64_t before; /* MOVED of it when this pass began */
    bool changed;   /* something changed in this pass while it was moved */
    int again;      /* so many passes were for that alone */
    bool moving;    /* something was moved in this round through all of them */
    int rounds;
    struct {
        int64_t newest; /* when the last key was done that was looked at */
        int64_t began;  /* when this pass began, by this host's clock */
        int64_t since;  /* this pass is about those that were done since then */
        bool quiet;     /* nobody held an inbox message when it began */
    } memory;
    wp__copy_place place;
    int64_t counts[WP__QUEUES][WP_COPY_KINDS];
    int64_t jobs;
    int64_t jobs_moved;
    int64_t joins;
    int64_t joins_moved;
    int64_t groups_moved; /* joins or messages that wait for none, each with all that goes along */
    char **refused;
    size_t refused_count;
    wp__copy_sum sums[2];
    char texts[2][2 * WP__COPY_HASH_BYTES + 1];
    /* For tests: end with WP_E_STOPPED after so many transactions, as if the process had died; -1: never. */
    int64_t stop_after;
    /* The same, to do something between any two of them. */
    void (*between)(void *user);
    void *between_user;
};

/* What a page is about. */
typedef struct wp__copy_batch {
    wp_copy *copy;
    const wp__queue *queue;
    wp__copy_items here;  /* on their way in the source */
    wp__copy_items there; /* and in the target */
    int64_t job;          /* of runs: their job's number in the target */
    bool differs;         /* what is in the target is not what was stored there */
    bool missed;          /* something changed meanwhile: look again */
} wp__copy_batch;
void wp__copy_batch_clear(wp__copy_batch *p);
/* Find what is `here` among what is `there`. */
void wp__copy_batch_match(wp__copy_batch *p);
/* Store what is `here` and not there. */
wp_status wp__copy_batch_store(wp__copy_batch *p, wp_error **err);
/* Read back what is in the target, and compare it. */
wp_status wp__copy_batch_verify(wp__copy_batch *p, wp_error **err);

/* After each transaction that changes something: whether the test wants to see what comes of it. */
wp_status wp__copy_committed(wp_copy *copy, wp_status st, wp_error **err);
/* Tell of one that stays. */
wp_status wp__copy_note_refused(wp_copy *copy, const wp__queue *queue, const wp_id *id,
                                const char *why, wp_error **err);

wp_status wp__copy_note_job(wp_copy *copy, const char *name, const char *why, wp_error **err);

/* The same of jobs: finish what is on its way, or move the next one. */
wp_status wp__copy_job_page(bool *more, wp_copy *copy, wp_error **err);
wp_status wp__copy_give_up_jobs(int64_t *let_go, wp_copy *copy, wp_error **err);

/* And of joins, each with all that has to go along. */
wp_status wp__copy_note_join(wp_copy *copy, const wp_id *id, const char *why, wp_error **err);
/* Of messages that wait, alone; `id`: of the first one, or NULL. */
wp_status wp__copy_note_wait(wp_copy *copy, const wp_id *id, const char *why, wp_error **err);
wp_status wp__copy_join_page(bool *more, wp_copy *copy, wp_error **err);
wp_status wp__copy_give_up_joins(int64_t *let_go, wp_copy *copy, wp_error **err);

/* Finish what is on its way, or move the next page. *more: there may be more in this pass. */
wp_status wp__copy_page(bool *more, wp_copy *copy, const wp__queue *queue, wp_error **err);
/* Let go of all that is held in either store for the other one. */
wp_status wp__copy_give_up(int64_t *let_go, wp_copy *copy, const wp__queue *queue, wp_error **err);
/* Have the target know the next keys of the inbox that were done. */
wp_status wp__copy_memory_page(bool *more, wp_copy *copy, wp_error **err);
/* For tests: see stop_after and between. */
void wp__copy_stop_after(wp_copy *copy, int64_t transactions);
void wp__copy_do_between(wp_copy *copy, void (*between)(void *user), void *user);

#endif
