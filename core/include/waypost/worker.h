/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file worker.h
 * Workers: claim what is due, hand it to handlers on the host's threads, finish it.
 *
 * Three ways to run one: pull deliveries (wp_worker_next()), lend threads (wp_worker_run()), or,
 * for C, let it make threads (wp_worker_start()). Internal threads only touch the database; the
 * library calls handlers on no other thread than these.
 */
#ifndef WAYPOST_WORKER_H
#define WAYPOST_WORKER_H

#include <waypost/outbox.h>
#include <waypost/router.h>

WP_BEGIN_DECLS

/** A worker on one store or several. Thread-safe but for wp_worker_free(). */
typedef struct wp_worker wp_worker;

/** One message on its way through a handler. Thread-safe, counted by reference. */
typedef struct wp_delivery wp_delivery;

/** Where deliveries come from. */
typedef enum wp_source {
    WP_SOURCE_ALL = 0,    /**< all of these, in the calls that say so */
    WP_SOURCE_OUTBOX = 1, /**< outbox.h */
    WP_SOURCE_INBOX = 2,  /**< inbox.h */
    WP_SOURCE_TIMER = 3,  /**< timer.h */
    WP_SOURCE_JOB = 4     /**< job.h: runs, by the topic of their job */
} wp_source;

/** What a handler answers. 0 and any other unknown value count as a failure to be retried.
 *
 * A retry is logged at "info" if the handler asked for it and at "error" if it failed otherwise, a dead
 * letter at "error". `Attempt` in a record is wp_received_attempt() of the delivery: how many attempts
 * had ended before this one, 0 at the first. */
typedef enum wp_outcome {
    WP_OUTCOME_NONE = 0,     /**< no answer, or an exception: like RETRY, but nobody asked for it */
    WP_OUTCOME_DONE = 1,     /**< finished with success */
    WP_OUTCOME_RETRY = 2,    /**< failed; try again, or dead letter past the limit of attempts */
    WP_OUTCOME_REJECT = 3,   /**< dead letter at once */
    WP_OUTCOME_DEFERRED = 4, /**< wp_delivery_finish() comes later, from any thread */
    /** Given back at once as if never started: its attempt stays as it was, and this worker or
     * another one may claim it in the next moment. To wait, answer RETRY with a delay. */
    WP_OUTCOME_RELEASE = 5
} wp_outcome;

/** Handles one delivery. To answer with a reason or a delay, or to be sure, call
 * wp_delivery_finish() and return the same outcome. To answer WP_OUTCOME_DEFERRED, take a
 * reference first (wp_delivery_ref()). The delivery is borrowed during the call. */
typedef wp_outcome (*wp_handler_fn)(wp_delivery *delivery, void *user);

/** Make a worker. It does nothing until it is run, started or pulled from.
 * @param config  `worker.*` options; NULL: those the store was opened with */
WP_API wp_status wp_worker_new(wp_worker **out, wp_store *store, const wp_config *config,
                               wp_error **err);
/** Stop with no time to wait, if it was not stopped, and free. Deliveries that are still out stay
 * valid; finishing them gives WP_E_STOPPED. Not from inside a handler. */
WP_API void wp_worker_free(WP_OWN wp_worker *worker);

/* ---- several stores ------------------------------------------------------------------------ */

/** Make a worker on all stores that a router has, now and later. Its handlers serve all of them, and
 * `worker.concurrency` is for all together. A store that cannot be reached, or is slow, holds up none of
 * the others; the worker tries it again and again.
 * @param config  `worker.*` and `log.*` options; NULL: the defaults. Its clock must be the stores'. */
WP_API wp_status wp_worker_new_on_router(wp_worker **out, wp_router *router,
                                         const wp_config *config, wp_error **err);
/** Add a store, before the start or while the worker runs.
 * @param id  names it in logs, counters and deliveries, 255 characters at most; NULL: its `store.id`
 * @return WP_OK; WP_E_STATE: the worker has a store of this id; WP_E_ARGUMENT: id, or the store goes by
 *         another clock; WP_E_STOPPED. */
WP_API wp_status wp_worker_add_store(wp_worker *worker, wp_store *store, const char *id,
                                     wp_error **err);
/** Remove a store: claim no more from it, give unstarted work back at once, let its running handlers
 * finish, write their outcomes. Returns by the deadline; the other stores go on. A handler may call it:
 * it is not waited for. The id is free at once.
 * @param abandoned    may be NULL; gets the number of deliveries that were still running
 * @param deadline_ms  0 to 86,400,000
 * @return WP_OK; WP_E_NOT_FOUND: the worker has no such store; WP_E_RANGE; WP_E_STOPPED. */
WP_API wp_status wp_worker_remove_store(size_t *abandoned, wp_worker *worker, const char *id,
                                        int64_t deadline_ms, wp_error **err);

/** Stores that have messages ready for the next free handler. Valid during the call that shows it. */
typedef struct wp_candidates wp_candidates;
/** How many: at least two. */
WP_API size_t wp_candidates_count(const wp_candidates *candidates);
/** The store's id. Those that waited longest for their turn come first. NULL: no such index. */
WP_API const char *wp_candidates_store_id(const wp_candidates *candidates, size_t index);
/** How many messages of it are claimed and wait. */
WP_API size_t wp_candidates_ready(const wp_candidates *candidates, size_t index);
/** How many of its messages are with handlers. */
WP_API size_t wp_candidates_running(const wp_candidates *candidates, size_t index);
/** Chooses whose message goes to the next free handler: an index; any other number leaves it to the
 * worker. Called by the threads that take deliveries, several at once, with no lock held. */
typedef size_t (*wp_select_fn)(const wp_candidates *candidates, void *user);
/** Choose stores by a function of the app's instead of `worker.selection`, before the worker runs.
 * `destroy(user)` runs exactly once, when the worker and the last call are gone, also when this call
 * fails.
 * @return WP_OK; WP_E_ARGUMENT: fn is NULL; WP_E_STATE: running, or there is one. */
WP_API wp_status wp_worker_set_selector(wp_worker *worker, wp_select_fn fn, void *user,
                                        void (*destroy)(void *user), wp_error **err);

/* ---- handlers ------------------------------------------------------------------------------ */

/** Register the handler of a topic, before the worker runs.
 * `destroy(user)` runs exactly once, when the worker and the last call are gone, also when this
 * call fails. `fn` NULL: the topic is pulled with wp_worker_next().
 * @return WP_OK; WP_E_ARGUMENT: topic; WP_E_STATE: running, or the topic has a handler. */
WP_API wp_status wp_worker_handle(wp_worker *worker, wp_source source, const char *topic,
                                  wp_handler_fn fn, void *user, void (*destroy)(void *user),
                                  wp_error **err);
/** Set a `worker.*` option for one topic, before the worker runs: concurrency, batch_size,
 * lease_ms, timeout_ms, max_attempts, backoff_base_ms, backoff_max_ms, poll_min_ms, poll_max_ms.
 * @param key  without "worker." */
WP_API wp_status wp_worker_topic_set(wp_worker *worker, wp_source source, const char *topic,
                                     const char *key, const char *value, wp_error **err);

/** Take the next delivery, starting the worker if need be.
 *
 * Never more than `worker.concurrency` are out at once.
 * @param out         the caller's: wp_delivery_finish() it, then wp_delivery_free() it
 * @param timeout_ms  how long to wait; 0: not at all; negative: for ever
 * @return WP_OK; WP_E_TIMEOUT; WP_E_STOPPED. */
WP_API wp_status wp_worker_next(wp_delivery **out, wp_worker *worker, int64_t timeout_ms,
                                wp_error **err);
/** Run handlers on this thread until the worker is stopped, and what they answered is written (if the
 * database cannot be written to, for no longer than the stop's deadline or 5 s). Several threads may. */
WP_API wp_status wp_worker_run(wp_worker *worker, wp_error **err);
/** Run handlers on `threads` threads of the library's own (1 to 1024). For C programs. */
WP_API wp_status wp_worker_start(wp_worker *worker, unsigned threads, wp_error **err);
/** Run handlers on this thread until nothing is due and all is finished, for tests. Messages that
 * are due later are left. The worker must not be running.
 * @param handled     may be NULL; gets the number of deliveries handled
 * @param timeout_ms  after which it gives up with WP_E_TIMEOUT */
WP_API wp_status wp_worker_drain(size_t *handled, wp_worker *worker, int64_t timeout_ms,
                                 wp_error **err);
/** Claim and handle at most one message on this thread, and write its outcome; for tests. The
 * worker must not be running.
 * @param handled  may be NULL; gets 1 or 0 */
WP_API wp_status wp_worker_step(size_t *handled, wp_worker *worker, wp_error **err);
/** Look for work now instead of at the next poll. A hint. */
WP_API void wp_worker_wake(wp_worker *worker);

/** Stop: claim no more, give unstarted work back at once, let running handlers finish, write their
 * outcomes. Returns by the deadline, whatever handlers and the database do. No handler is called
 * after it returned. May be called from any thread, again, and before the start.
 *
 * A handler may call it: it is not waited for, nor are others that are inside this call, and it may
 * still finish afterwards. Deliveries taken with wp_worker_next() are waited for like any other,
 * also by the thread that took them: it finishes them first, or finds them abandoned.
 * @param abandoned   may be NULL; gets the number of deliveries that were still running
 * @param deadline_ms 0 to 86,400,000 */
WP_API wp_status wp_worker_stop(size_t *abandoned, wp_worker *worker, int64_t deadline_ms,
                                wp_error **err);

/** A number that the worker counts from its start. Rows changed, not ids asked for. */
typedef enum wp_counter {
    WP_COUNTER_CLAIMED = 0,
    WP_COUNTER_ACKED = 1,
    WP_COUNTER_ABANDONED = 2, /**< given back for a retry */
    WP_COUNTER_FAILED = 3,    /**< made dead letters */
    WP_COUNTER_RELEASED = 4,  /**< given back as if never started */
    WP_COUNTER_REAPED = 5,
    WP_COUNTER_LEASES_LOST = 6,
    WP_COUNTER_RENEWED = 7,
    WP_COUNTER_POLLS = 8,     /**< claims sent, empty ones too */
    WP_COUNTER_WAKES = 9,     /**< wake-ups by hint */
    WP_COUNTER_ERRORS = 10,   /**< database errors met */
    WP_COUNTER_CANCELLED = 11 /**< runs that were cancelled while they ran */
} wp_counter;

/** Read a counter, of all stores together, those that are gone too. @threads any */
WP_API int64_t wp_worker_counter(const wp_worker *worker, wp_counter counter);
/** Read a counter of one store, from when it was added; 0: there is no such store. @threads any */
WP_API int64_t wp_worker_store_counter(wp_worker *worker, const char *store_id, wp_counter counter);

/* ---- deliveries --------------------------------------------------------------------------- */

/** The message. Borrowed until the delivery is freed. */
WP_API const wp_received *wp_delivery_message(const wp_delivery *delivery);

/** Where it comes from. */
WP_API wp_source wp_delivery_source(const wp_delivery *delivery);
/** The store that it came from. Borrowed until the delivery is freed. */
WP_API wp_store *wp_delivery_store(const wp_delivery *delivery);
/** The id of that store, as the worker knows it. Borrowed until the delivery is freed. */
WP_API const char *wp_delivery_store_id(const wp_delivery *delivery);

/** Why a handler should stop. */
typedef enum wp_cancel {
    WP_CANCEL_NONE = 0,
    WP_CANCEL_LEASE_LOST = 1, /**< someone else may have it: then its outcome will not count */
    WP_CANCEL_TIMEOUT =
        2, /**< `worker.timeout_ms`, or its job's, passed; it is retried. A message that is DONE all the
            * same is done; a run of a job has failed, unless it was completed with the app's transaction */
    WP_CANCEL_STOP = 3,     /**< the worker is stopping; finishing in time still counts */
    WP_CANCEL_REQUESTED = 4 /**< wp_job_run_cancel(): if it fails now, it is not tried again */
} wp_cancel;

/** Whether the handler should stop, and why. @threads any */
WP_API wp_cancel wp_delivery_cancelled(const wp_delivery *delivery);
/** Wait for the next delivery whose handler should stop. For a host that turns this into its own
 * cancellation signals, on a thread of its own; each delivery is given once for each reason.
 * @param out  the caller's: wp_delivery_free()
 * @return WP_OK; WP_E_TIMEOUT; WP_E_STOPPED: the worker has ended, there will be no more. */
WP_API wp_status wp_worker_next_cancelled(wp_delivery **out, wp_worker *worker, int64_t timeout_ms,
                                          wp_error **err);

/** Finish a delivery. The outcome is written soon after, together with others; see
 * wp_delivery_settle(). It counts unless another one has taken the message over, which happens at
 * some time after the lease ran out: only the database knows, so WP_OK does not say that it counts.
 * @param outcome   not WP_OUTCOME_DEFERRED
 * @param reason    may be NULL; stored for RETRY, REJECT and NONE
 * @param delay_ms  for RETRY: 1 to WP_DELAY_MS_MAX; 0: the backoff
 * @return WP_OK; WP_E_STATE: finished already; WP_E_LEASE_LOST: known to be lost; WP_E_STOPPED. */
WP_API wp_status wp_delivery_finish(wp_delivery *delivery, wp_outcome outcome, const char *reason,
                                    int64_t delay_ms, wp_error **err);
/** Set what a run of a job returns, before it is finished; the last one counts. It is stored with the
 * outcome, in the run's history.
 * @param output  UTF-8 without NUL, up to WP_OUTPUT_MAX (65,536) bytes
 * @return WP_OK; WP_E_ARGUMENT; WP_E_RANGE: too long; WP_E_STATE: it is no run, or it is finished. */
WP_API wp_status wp_delivery_set_output(wp_delivery *delivery, const char *output, size_t len,
                                        wp_error **err);
/** Wait until the outcome is written.
 * @return WP_OK: it is, or the transaction that completed it had committed; WP_E_LEASE_LOST: it
 *         changed nothing, or that transaction did not commit and DONE became a retry, or DONE of a run came
 *         after its timeout; WP_E_TIMEOUT; WP_E_STATE: not finished yet; WP_E_STOPPED; WP_E_DB: the database
 *         refused it (a trigger of the app's does so), it comes again when its lease is over. */
WP_API wp_status wp_delivery_settle(wp_delivery *delivery, int64_t timeout_ms, wp_error **err);
/** Ack inside the app's transaction on a lent connection, so that the handler's own writes and the
 * ack commit together. Then answer DONE. If the transaction did not commit, DONE becomes a retry;
 * if it did, the message is done, whatever the handler answers.
 * @return WP_OK; WP_E_LEASE_LOST or WP_E_STOPPED (the worker had to give the delivery up when it
 *         stopped): roll back; WP_E_STATE: finished already; what the database says. */
WP_API wp_status wp_delivery_complete(wp_delivery *delivery, wp_conn *conn, wp_error **err);
/** The same as an operation on a connection of the host's: wp_op_next() gives WP_E_LEASE_LOST if it
 * changed nothing, this call the rest. */
WP_API wp_status wp_delivery_complete_op(wp_op **out, wp_delivery *delivery, wp_error **err);
/** Take a further reference. */
WP_API wp_delivery *wp_delivery_ref(wp_delivery *delivery);
/** Drop a reference. The last one of an unfinished delivery finishes it as WP_OUTCOME_NONE. */
WP_API void wp_delivery_free(WP_OWN wp_delivery *delivery);

WP_END_DECLS

#endif
