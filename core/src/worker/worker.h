/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's insides, shared by the files of this directory. One worker has a part for each of its
 * stores, and hands out what all of them claim:
 *   worker.c    made, registered with, freed
 *   part.c      its part for one store
 *   stores.c    parts that come and go
 *   share.c     how the stores share the handlers
 *   pump.c      the database thread: exchanges outcomes for messages, sleeps
 *   claims.c    where its claims begin, what becomes of what they return
 *   reaping.c   leases that ran out
 *   flush.c     the outcomes that the pump writes
 *   exchange.c  outcomes for messages, in one transaction
 *   second.c    a third database thread, on servers while there is a backlog: exchanges, too
 *   cleaning.c  what was finished long ago
 *   pausing.c   topics that are paused
 *   jobs.c      makes the runs of jobs that are due
 *   recover.c   claims whose connection died before they were known
 *   vitals.c    what it says of itself
 *   tally.h     what it counts by topic
 *   keeper.c    the other database thread, while something is held: renews leases, enforces timeouts
 *   delivery.c  one message on its way
 *   dispatch.c  hands deliveries to host threads, runs handlers
 *   stop.c      ends it all by a deadline
 *
 * Locks: `mutex` guards everything below it and is never held over I/O or a callback. */
#ifndef WP__WORKER_H
#define WP__WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <waypost/scaling.h>
#include <waypost/worker.h>

#include "base/thread.h"
#include "base/waiter.h"
#include "db/router.h"
#include "db/store.h"
#include "queue/queue.h"
#include "worker/tally.h"

/* One topic of one queue that was registered, or given options. */
typedef struct wp__topic {
    const wp__queue *queue;
    char *name;
    size_t number; /* its tally's */
    bool handled;  /* claimed: it has a handler or is pulled */
    wp_handler_fn fn;
    void *user;
    void (*destroy)(void *user);
    bool has_options;
    wp__worker_options options;
    struct wp__topic *next;
    struct wp__topic *same; /* in one slot of the worker's index */
} wp__topic;

/* Topics of one queue that one statement claims: those without options of their own together, each
 * other one alone. The same for all stores. */
typedef struct wp__lane {
    const wp__queue *queue;
    char *topics; /* JSON array; NULL: all topics */
    wp__worker_options options;
    size_t held;        /* of all stores, as are: */
    size_t out;         /* with handlers */
    size_t asked;       /* in claims under way */
    int64_t service_us; /* how long handlers take, smoothed; -1: not known yet */
    struct wp__lane *next;
} wp__lane;

/* A lane in one store. */
typedef struct wp__group {
    wp__lane *lane;
    struct wp__part *part;
    size_t held;           /* claimed and not finished: ready and out */
    size_t out;            /* of them, with a handler */
    size_t writing;        /* of them, with an outcome that is being written */
    size_t asked;          /* in claims under way */
    int64_t service_us;    /* how long handlers take, smoothed; -1: not known yet */
    int64_t message_bytes; /* how large payloads are, smoothed */
    atomic_bool hungry;    /* look for work without waiting for the poll */
    int64_t idle_us;       /* the current poll interval */
    int64_t next_poll_us;  /* elapsed time of the next poll */
    int64_t since_us; /* nothing before it is left to claim, see pump.c; INT64_MIN: not known */
    int64_t sweep_at; /* elapsed time at which to look at all of it again */
    char *topics;     /* those of the lane that are not paused; NULL: none of them is */
    bool paused;      /* and there are none */
    char *after_key;  /* claims look at the ordering keys behind it first; NULL: the first */
    struct wp__group *next;
} wp__group;

typedef struct wp__part wp__part;

typedef enum wp__delivery_state {
    WP__READY,    /* claimed, waiting for a host thread */
    WP__OUT,      /* with a handler */
    WP__FINISHED, /* its outcome waits for the pump, or is being written */
    WP__SETTLED,  /* written; or lost, or the worker stopped: `fate` tells */
    WP__DETACHED  /* its handler goes on, but the worker has given it up */
} wp__delivery_state;

struct wp_delivery {
    atomic_int refs;
    wp_worker *worker; /* a reference */
    wp__part *part;    /* a reference */
    wp_received *message;
    wp__topic *topic;           /* NULL: none is registered */
    wp__worker_options options; /* its topic's, but for what its job says */
    wp__group *group;
    /* guarded by the worker's mutex */
    wp__delivery_state state;
    wp_delivery *prev, *next; /* in one of the part's lists */
    int64_t claimed_at;       /* elapsed time, as are all below */
    int64_t lease_until;
    int64_t renew_at; /* WP__FOREVER: not to be renewed */
    int64_t timeout_at;
    int64_t out_at;
    int64_t finished_at;
    int64_t now_us;             /* the database's now at claimed_at */
    _Atomic(void *) handled_by; /* while its handler runs: identifies the thread; not guarded */
    bool stopping;              /* its handler is inside wp_worker_stop() */
    wp__finish_kind finish;
    char *reason;
    char *output;     /* of a run */
    int64_t delay_us; /* 0: backoff */
    bool completed;   /* acked in a transaction of the app's */
    wp_outcome said;  /* what the host finished it with, whatever came of that */
    bool unsure;      /* its outcome may have been written, though the commit failed */
    bool lost;        /* the database said so, or its timeout was ignored */
    bool timed_out;   /* its handler was told of it */
    bool overran;     /* DONE that did not count, as it came after the run's timeout */
    bool asked;       /* to end, by wp_job_run_cancel() */
    wp_status fate;
    wp_delivery *next_cancelled;
    bool cancel_queued;
    _Atomic(wp_cancel) cancel;
};

typedef struct wp__list {
    wp_delivery *first, *last;
    size_t count;
} wp__list;
void wp__list_push(wp__list *list, wp_delivery *delivery);
void wp__list_remove(wp__list *list, wp_delivery *delivery);

typedef enum wp__worker_state {
    WP__NEW,
    WP__RUNNING,
    WP__STOPPING, /* no more claims */
    WP__STOPPED
} wp__worker_state;

/* How far a queue of one store is reaped, see pump.c. */
typedef struct wp__reaping {
    int64_t since_us; /* no lease ended before it; INT64_MIN: not known */
    int64_t sweep_at; /* elapsed time at which to look at all of it again */
} wp__reaping;

/* Where a part is with cleaning up, see cleaning.c. */
typedef struct wp__cleaning {
    bool under_way;
    size_t kind;   /* at this one: a queue, or behind them joins, then pauses */
    int64_t after; /* behind this row */
    size_t removed;
    int64_t leased_at; /* elapsed time, as is: */
    int64_t at;        /* the next step; 0: not known yet */
} wp__cleaning;

enum {
    WP__TOPIC_SLOTS = 256,
    WP__COUNTERS = WP_COUNTER_CANCELLED + 1,
    WP__FLUSH_COUNT = 500 /* so many outcomes are written without waiting for more */
};

struct wp_worker {
    atomic_int refs;
    int64_t pid; /* of the process that made it */
    wp_config *config;
    wp__log *log;
    wp_clock *clock;
    char *name;
    _Atomic int64_t counters[WP__COUNTERS]; /* of all stores, also of those that are gone */
    _Atomic int64_t started_at;             /* elapsed time; 0: it was not */
    _Atomic int64_t clock_set_at;           /* when the wall clock was last seen to have been set */

    wp__mutex mutex;
    wp__cond available; /* ready deliveries, or stopped */
    wp__cond settled;   /* outcomes written, threads ended */
    wp__cond cancels;
    wp__worker_state state;
    bool manual; /* drain or step under way: no pump thread */
    wp__topic *topics;
    size_t topic_count;
    wp__topic *index[WP__TOPIC_SLOTS]; /* topics by name, once there are lanes */
    wp__lane *lanes;                   /* NULL: not planned yet */
    wp__part *parts;                   /* in the order in which they were added */
    size_t ready_count;                /* of all stores */
    size_t out_count;                  /* of all stores */
    wp_delivery *cancelled_first, *cancelled_last;
    bool cancels_wanted;
    int calls;           /* host threads inside run(), and the owner: handlers live as long */
    wp__thread *threads; /* wp_worker_start() */
    size_t thread_count;
    size_t threads_running;
    size_t threads_stopping; /* of them, inside wp_worker_stop() */
    int64_t stop_until;      /* the latest deadline of a stop, a real instant */

    bool serves;  /* its server was begun, or is being */
    bool refuses; /* and answers nobody any more who comes */
    void *server; /* NULL: none, or not yet */

    /* how many workers there should be, as metrics tell it; `mutex` */
    wp_scaling *scaling; /* NULL: nobody has asked yet */
    int64_t scaling_at;
    int64_t scaling_own; /* what this worker had done then */
    int64_t scaling_all; /* and all of them, if they are alike */
    int64_t scaling_wanted;

    /* several stores */
    wp_router *router; /* a reference; NULL: none */
    wp__follower follower;
    bool to_sweep;       /* a part that was removed has ended */
    wp_select_fn select; /* NULL: by the options */
    void *select_user;
    void (*select_destroy)(void *user);
    wp__part *turn_first, *turn_last;   /* those with ready messages */
    wp__part *waits_first, *waits_last; /* those that found no place */
    wp__part *asked_first, *asked_last; /* those with claims under way, the oldest first */
    wp__part *draining;                 /* NULL: none, or not drain-first */
    size_t busy;                        /* how many parts do, or would like to, hold something */
};

/* What came of an outcome. */
typedef enum wp__written {
    WP__LOST,      /* it changed nothing, and never did */
    WP__WRITTEN,   /* now, or by an earlier try */
    WP__APP_DONE,  /* the app's own transaction had acked it */
    WP__NOT_KNOWN, /* it changed nothing, and why is not known yet */
    WP__REFUSED    /* the database will not have it */
} wp__written;

/* The outcomes of one transaction. */
typedef struct wp__flush {
    wp_delivery **items;
    size_t count;
    wp__finish_op *ops;
    size_t op_count;
    size_t *op_of; /* item -> op */
    wp__written *written;
    const wp_error *refusal; /* of the only one, with WP__REFUSED */
} wp__flush;

/* Outcomes for messages, see exchange.c. */
typedef struct wp__exchange {
    wp__part *part;
    wp__flush f;
    wp__group *group; /* NULL: no claim */
    size_t count;
    wp__claim_op claim;
    bool second; /* the pump makes claims of its own meanwhile */
    /* what came of it */
    wp_status status;
    wp_error *error;
    int64_t sent_at;
    size_t taken;   /* to be handled */
    size_t claimed; /* and those that were failed at once */
    bool answered;  /* the transaction was committed */
    bool unsure;    /* perhaps it was */
    bool made;      /* there may be new work */
    bool suspects;  /* some were found */
} wp__exchange;

typedef enum wp__second_state {
    WP__SECOND_IDLE,
    WP__SECOND_GIVEN, /* it has an exchange to run */
    WP__SECOND_DONE   /* and the pump has not noted it yet */
} wp__second_state;

/* A worker's part for one store: what it holds of it, and the two threads that talk to its database.
 * Nothing of one part waits for the database of another. */
struct wp__part {
    atomic_int refs;   /* the worker's, its threads', its deliveries' */
    wp_worker *worker; /* who holds a part, holds its worker */
    wp__place *place;  /* a reference */
    const char *id;    /* the store's, in logs */
    wp_store *store;   /* the place's; NULL until the pump has opened it */
    wp_id owner;       /* fresh for each part: claims are told apart by their numbers */
    _Atomic int64_t counters[WP__COUNTERS];
    wp__tally
        *tallies; /* once it is planned: by the topic's number; behind them by queue, of others */
    wp__histogram claim; /* how long claims took, and outcomes that went along */
    _Atomic int64_t reaped[WP__QUEUES];

    /* guarded by the worker's mutex */
    wp__part *next;
    wp__worker_state state;
    bool followed; /* of the router's */
    bool removed;  /* it ends, and another one of its id may be there */
    bool failing;  /* the pump met an error last */
    wp__group *groups;
    size_t held; /* ready and out */
    wp__list ready;
    wp__list out;
    wp__list finished; /* not yet being written */
    size_t writing;    /* being written */
    size_t claims;     /* under way */
    size_t alone;      /* so many of the first of `finished` are to be written one by one */
    wp__thread pump_thread, keeper_thread;
    bool pump_running, keeper_running;
    bool pump_exit, keeper_exit; /* the deadline has passed */
    wp_conn *pump_conn, *keeper_conn, *second_conn;
    wp__cond keep; /* the keeper's: something to look at */
    wp__cond second_go, second_done;
    wp__second_state second_state;
    bool second_exit;
    wp__group *suspicious;    /* has suspects to claim, one alone */
    int64_t suspicious_until; /* until then it waits for all that is held to be finished */
    wp_delivery *suspect;     /* held alone; NULL: none */
    wp__group *first_group;   /* claims begin here, in turn */
    /* share.c's */
    wp__part *turn_next, *turn_prev;
    int64_t turn_used;
    bool busy; /* it holds something, or would like to */
    bool waits;
    wp__part *waits_next;
    size_t asked; /* by the claim under way */
    wp__lane *asked_lane;
    int64_t asked_at;
    bool overdue; /* it was not answered for a while, and counts no more */
    wp__part *asked_next, *asked_prev;

    wp__waiter *waiter; /* the pump's */
    wp__listener listener;
    bool listening;

    /* the pump's own */
    wp__thread second_thread;     /* started when it is needed first */
    wp__exchange second_exchange; /* the second's while it is given */
    bool watching;                /* a wake-up channel is live */
    bool listens;                 /* it is one of the database's, by the pump's connection */
    int64_t change_number;
    int64_t recheck_us; /* a change was announced and not seen yet: look again after this */
    int64_t recheck_at;
    int64_t next_reap;
    int64_t server_offset; /* the server's clock less elapsed time; INT64_MIN: not known */
    wp__reaping reaping[WP__QUEUES];
    wp__cleaning cleaning;
    struct wp_pauses *pauses; /* the topics that are paused; changed under the mutex */
    int64_t pauses_read_at;   /* elapsed time */
    bool pauses_hinted;       /* something was heard since */
    int64_t tick_at;          /* elapsed time at which to look for jobs that are due */
    bool hinted;              /* since it was last looked whether runs are asked to end */
    int64_t cancels_at;       /* elapsed time when that was looked */
    int64_t heard_at;         /* the channel, last */
    int64_t channel_asked_at; /* a signal was sent to hear whether the channel works; 0: none */
    int channel_silent;       /* how many were not heard in a row */
    int64_t clock_offset;
    int64_t error_backoff_us;
    int64_t error_until;
    int64_t
        unsure_until; /* a claim may have been committed unseen: look for it until then; 0: none */
    bool worked;      /* since the last tidy */

    int64_t keeper_clock_offset; /* the keeper's own */

    _Atomic int64_t pump_due_at; /* elapsed time at which the pump begins its round, or means to */
};

wp_worker *wp__worker_ref(wp_worker *worker);
void wp__worker_unref(wp_worker *worker);
/* The worker is not NULL, and of this process. */
wp_status wp__worker_check(const wp_worker *worker, wp_error **err);
/* @locks mutex */
wp__topic *wp__worker_topic(const wp_worker *worker, const wp__queue *queue, const char *name);
/* Whether it claims from a queue. */
bool wp__worker_uses(const wp_worker *worker, const wp__queue *queue);
/* Start the parts if the worker is new. WP_E_STOPPED; WP_E_STATE in drain or step. */
wp_status wp__worker_ensure(wp_worker *worker, wp_error **err);
/* Work out the lanes, and the groups of each part, once, before anything is claimed. */
wp_status wp__worker_plan(wp_worker *worker, wp_error **err);
/* The end of a call that may run handlers: destroys their user data after the last. */
void wp__worker_leave(wp_worker *worker);
int64_t wp__worker_now(const wp_worker *worker);
/* The real instant at which a host's timeout ends; negative and very long ones never do. */
int64_t wp__worker_deadline(int64_t timeout_ms);
/* True if the wall clock was set since the last call with this *offset (0: the first call). On
 * SQLite leases end by the wall clock: who holds them renews at once, who reaps waits for that. */
bool wp__worker_clock_was_set(wp_worker *worker, int64_t *offset);

/* What tells of a worker by HTTP. It stands above (ops/http.c), and is reached by this alone. */
typedef struct wp__server_class {
    wp_status (*begin)(void **out, wp_worker *worker, wp_error **err);
    void (*quiesce)(void *server); /* take no more connections */
    void (*end)(void *server);     /* accepts NULL */
} wp__server_class;
extern const wp__server_class wp__worker_server;
/* Take no more connections, once it is stopped. */
void wp__worker_refuse(wp_worker *worker);

/* ---- part.c ---- */
wp_status wp__part_new(wp__part **out, wp_worker *worker, wp__place *place, wp_error **err);
wp__part *wp__part_ref(wp__part *part);
void wp__part_unref(wp__part *part);
/* It claims no more, or never again. */
bool wp__part_is_ending(wp__part *part);
void wp__part_count(wp__part *part, wp_counter counter, int64_t by);
/* The tally of a topic (NULL: of those of the queue that are not registered). */
wp__tally *wp__part_tally(wp__part *part, const wp__queue *queue, const wp__topic *topic);
/* Open one of its connections, *slot, unless it is sound; and close it. wp_worker_stop() may want to
 * interrupt it. */
wp_status wp__part_connect(wp__part *part, wp_conn **slot, wp_error **err);
void wp__part_close(wp__part *part, wp_conn **slot);
/* Make a group of each lane. @locks mutex */
wp_status wp__part_plan(wp__part *part, wp_error **err);
/* Start the pump. @locks mutex */
wp_status wp__part_start(wp__part *part, wp_error **err);
/* One of its threads ends: note what else has ended with it. @locks mutex */
void wp__part_thread_ended(wp__part *part);

/* ---- stores.c ---- */
/* Add a part, and start it if the worker runs. It is the worker's then. @locks mutex */
wp_status wp__worker_add_part(wp_worker *worker, wp__part *part, wp_error **err);
/* Follow the router. */
wp_status wp__worker_follow(wp_worker *worker, wp_router *router, wp_error **err);
/* Let go of parts that were removed and have ended; on host threads, with no lock held. */
void wp__worker_sweep(wp_worker *worker);

/* ---- share.c ---- */
/* How many a group would claim now; 0: none yet. @locks mutex */
size_t wp__share_wanted(const wp__group *group);
/* How many of `want` it may claim now. 0: the pump is woken when there may be a place.
 * @locks mutex */
size_t wp__share_ask(wp__group *group, size_t want, int64_t now);
/* The claim was answered, or failed, and what it brought is noted. @locks mutex */
void wp__share_answered(wp__part *part);
/* So many places came free: wake those that wait. @locks mutex */
void wp__share_freed(wp_worker *worker, size_t count);
/* The part claims no more. @locks mutex */
void wp__share_left(wp__part *part);
/* A delivery is held from now on; and no more. @locks mutex */
void wp__share_hold(wp_delivery *delivery);
void wp__share_unhold(wp_delivery *delivery);
/* It joins and leaves its part's ready ones. @locks mutex */
void wp__share_ready(wp_delivery *delivery);
void wp__share_unready(wp_delivery *delivery);
/* Whose turn it is by the host's selector; NULL: the first one in the ring. @locks mutex, which is
 * left meanwhile */
wp__part *wp__share_select(wp_worker *worker);
/* A delivery of the part was handed out. @locks mutex */
void wp__share_took_turn(wp__part *part);

/* ---- delivery.c ---- */
wp_delivery *wp__delivery_new(wp__part *part, wp__group *group, wp_received *message);
/* Once its topic is known. @locks mutex */
void wp__delivery_set_options(wp_delivery *delivery);
/* Queue an outcome for the pump. @locks mutex; the delivery leaves its list. */
void wp__delivery_end(wp_delivery *delivery, wp__finish_kind kind, const char *reason,
                      int64_t delay_us);
/* Tell its handler to stop. @locks mutex */
void wp__delivery_cancel(wp_delivery *delivery, wp_cancel cancel);
/* An outcome was written, or never will be. Then drop the list's reference, outside the lock, and
 * wake `settled`. @locks mutex */
void wp__delivery_settle(wp_delivery *delivery, wp_status fate);
/* A handler still runs, but the worker does not wait for it any more. The handler's reference is
 * all that is left. @locks mutex */
void wp__delivery_detach(wp_delivery *delivery);

/* ---- dispatch.c ---- */
/* Take a ready delivery now, or NULL. @locks mutex */
wp_delivery *wp__dispatch_take(wp_worker *worker);
/* Run its handler on this thread, and drop the reference. */
void wp__dispatch_handle(wp_delivery *delivery);
/* An identity for the calling thread, as long as it lives. */
void *wp__dispatch_self(void);
/* Whether it is one that wp_worker_start() made for this worker. */
bool wp__dispatch_is_thread_of(const wp_worker *worker);

/* ---- flush.c ---- */
/* Whether waiting for more outcomes would help no one; if not yet, *deadline comes no later than
 * when it will. @locks mutex */
bool wp__flush_is_due(const wp__part *part, int64_t now, int64_t *deadline);
/* Take what is finished, up to a transaction's worth. @locks mutex */
wp_status wp__flush_take(wp__flush *f, wp__part *part, wp_error **err);
/* Make operations of what was taken. */
wp_status wp__flush_plan(wp__flush *f, wp__part *part, wp_error **err);
/* Run them, and a claim (NULL: none) in the same transaction. */
wp_status wp__flush_run(wp__flush *f, wp_conn *conn, wp_op *claim, wp_error **err);
/* They have run: look up those that changed nothing though they may count: acked by the app, or
 * written by an earlier try. */
wp_status wp__flush_look_up(wp__flush *f, wp__part *part, wp_conn *conn, wp_error **err);
/* Then count, log, and settle the deliveries; put those back that could not be looked up. True: there
 * may be new work. */
bool wp__flush_settle(wp__flush *f, wp__part *part);
/* They have not run, or perhaps they have: put the outcomes back, to be tried again; one by one if the
 * database refuses what they say. One that was refused `alone`, with no claim, is settled as such: its
 * lease lapses. True: that was done. */
bool wp__flush_return(wp__flush *f, wp__part *part, wp_conn *conn, bool alone,
                      const wp_error *cause);
void wp__flush_free(wp__flush *f);

/* ---- pump.c ---- */
void *wp__pump_main(void *arg);
/* One round on the calling thread, for drain and step: write outcomes, reap, claim up to `limit`.
 * *claimed gets how many were. */
wp_status wp__pump_round(wp__part *part, size_t limit, size_t *claimed, wp_error **err);
/* Whether the pump would claim for the group if it were awake. @locks mutex */
bool wp__pump_wants(const wp__group *group);
/* The pump itself has made messages claimable: look for them now, and tell other workers. */
void wp__pump_work_made(wp__part *part);
/* The end of the pump: close its connection. */
void wp__pump_close(wp__part *part);

/* ---- claims.c ---- */
/* Nothing is left before it, by what is known now; INT64_MIN: look from the start. */
int64_t wp__claims_since(const wp__group *group, int64_t now);
/* A statement that began to look at `since_us` at the time `start` is done: when is the next sweep? */
void wp__swept(int64_t *sweep_at, int64_t since_us, int64_t start, int64_t now);
void wp__claims_init(wp__claim_op *op, wp__part *part, const wp__group *group, size_t count);
/* What a claim of `count` messages tells of the rows that are left. */
void wp__claims_moved(wp__group *group, const wp__claim_op *claim, size_t count, size_t asked);
/* Make deliveries of what was claimed. All of it goes back if there is nobody to keep it, or the part was
 * stopped meanwhile. */
wp_status wp__claims_take(wp__exchange *x, wp_error **err);
/* A suspect runs alone at present; *deadline comes no later than when its time is over. @locks mutex */
bool wp__claims_wait(wp__part *part, int64_t now, int64_t *deadline);

/* ---- reaping.c ---- */
/* Reap what there is, of each queue that the worker uses. On the pump's connection. */
wp_status wp__part_reap(wp__part *part, wp_error **err);

/* ---- cleaning.c ---- */
/* The next step, if it is time; *deadline comes no later than it. */
wp_status wp__part_clean(wp__part *part, int64_t now, int64_t *deadline, wp_error **err);

/* ---- stop.c ---- */
/* The part claims no more; what was not started goes back; handlers are told. @locks mutex */
void wp__part_begin_stop(wp__part *part);
/* Wait for that by the real instant `deadline`, and then give up what still runs. Returns how many
 * deliveries that were. @locks mutex, which is left meanwhile */
size_t wp__part_end(wp__part *part, int64_t deadline);
/* Join the threads of a part, or let go of those that have not ended. No lock held. */
void wp__part_collect(wp__part *part);
/* Stop with no time to wait, from no handler: all deliveries that are out are given up. */
void wp__worker_end(wp_worker *worker);

/* ---- recover.c ---- */
/* Give back what is claimed by this part and not held by it. On the pump's connection. */
wp_status wp__recover_claims(wp__part *part, wp_error **err);

/* ---- pausing.c ---- */
/* Find out which topics are paused, if it is time; *deadline comes no later than when it will be. */
wp_status wp__part_heed_pauses(wp__part *part, int64_t now, int64_t *deadline, wp_error **err);

/* ---- jobs.c ---- */
/* Make the runs of jobs that are due, where the worker handles jobs; *deadline comes no later than when
 * there will be more. */
wp_status wp__jobs_tick(wp__part *part, int64_t now, int64_t *deadline, wp_error **err);
/* Cancel the deliveries of runs that are asked to end. */
wp_status wp__jobs_pass_cancels(wp__part *part, wp_error **err);
wp_status wp__jobs_hear_cancels(wp__part *part, int64_t now, int64_t *deadline, wp_error **err);

/* ---- exchange.c ---- */
/* Take over `f`, and claim up to `count` for `group` (NULL: none). On the pump's thread. *x is zeroed. */
void wp__exchange_prepare(wp__exchange *x, wp__part *part, wp__flush *f, wp__group *group,
                          size_t count);
/* Do it, and hand out what was claimed; unless x->status says that it cannot be done. On any thread. */
void wp__exchange_run(wp__exchange *x, wp_conn *conn);
/* Note what came of it. On the pump's thread. */
wp_status wp__exchange_end(wp__exchange *x, wp_error **err);

/* ---- second.c ---- all but the second itself are on the pump's thread */
/* Whether it is better to hand an exchange for the group to the second. @locks mutex */
bool wp__second_would_help(const wp__part *part, const wp__group *group);
/* Hand it over. False: that was not possible. */
bool wp__second_take(wp__part *part, wp__flush *f, wp__group *group, size_t count);
/* Whether it is done, and its result is to be noted; and that this was noted. */
bool wp__second_is_done(wp__part *part);
void wp__second_free(wp__part *part);
/* Wait until it is not under way. */
void wp__second_wait(wp__part *part);
/* Note what came of its exchange, if it has ended (pump.c). On the pump's thread. */
wp_status wp__part_collect_second(wp__part *part, wp_error **err);
/* Wait for its end. */
void wp__second_end(wp__part *part);

/* ---- keeper.c ---- */
/* See to it that it runs: from now on something is held. @locks mutex */
wp_status wp__keeper_ensure(wp__part *part, wp_error **err);

#endif
