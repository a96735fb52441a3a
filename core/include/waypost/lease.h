/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file lease.h
 * Leases: who may do what only one may do at a time; and semaphores, for what only so many may.
 *
 * Most programs need wp_lease_hold() and wp_lease_check(): a lease that renews itself, and says in
 * time that it is lost. The calls below it are what it is made of, and the way to join a transaction
 * of the app's.
 *
 * The database's clock decides what has expired. A lease alone cannot stop a process that was
 * suspended in the middle of its work: give the fence along with every write, and have the receiver
 * refuse a smaller one than it has seen.
 */
#ifndef WAYPOST_LEASE_H
#define WAYPOST_LEASE_H

#include <waypost/outbox.h>

WP_BEGIN_DECLS

#define WP_SEMAPHORE_LIMIT_MAX 1000000 /**< holders of one semaphore */
#define WP_LEASE_KEPT_MS_MIN 100       /**< the shortest lease that wp_lease_hold() keeps */

/** What is held. The names of the two kinds have nothing to do with each other. */
typedef enum wp_lease_kind {
    WP_LEASE_EXCLUSIVE = 1, /**< a name that has one holder at most */
    WP_LEASE_SHARED = 2     /**< a slot of a semaphore, which has as many holders as its limit */
} wp_lease_kind;

/* ---- what the database says --------------------------------------------------------------- */

/** What a call found or did. */
typedef struct wp_lease_info wp_lease_info;

/** 1: the call acquired or renewed it; 0: it was refused, or only asked. */
WP_API int wp_lease_info_granted(const wp_lease_info *info);
/** The number of this acquisition: greater than that of every earlier one of the name, for ever. 0 of
 * a semaphore that was not granted. */
WP_API int64_t wp_lease_info_fence(const wp_lease_info *info);
/** When it ends unless renewed, by the database's clock. Refused: when the holder's ends, of a
 * semaphore the first one's; not after wp_lease_info_now_us(): nobody holds it. */
WP_API int64_t wp_lease_info_until_us(const wp_lease_info *info);
/** The database's time of the call, in microseconds UTC since 1970. */
WP_API int64_t wp_lease_info_now_us(const wp_lease_info *info);
/** Who holds it, or held it last and let it expire; "" if nobody, or the semaphore's holders. */
WP_API const char *wp_lease_info_owner(const wp_lease_info *info);
/** How many may hold it: 1, or the semaphore's limit; 0 after a renewal of a slot. */
WP_API int64_t wp_lease_info_limit(const wp_lease_info *info);
/** How many hold it; 0 after a renewal of a slot. */
WP_API int64_t wp_lease_info_holders(const wp_lease_info *info);
/** Free it. */
WP_API void wp_lease_info_free(WP_OWN wp_lease_info *info);

/** How long to wait before trying again to acquire what was refused: until its holder's lease ends, but
 * not longer than `lease.poll_max_ms`, and less at first; with jitter. For a host that waits in its
 * own way.
 * @param refused  NULL: the try failed, by an error that may pass
 * @param attempt  how many tries came to nothing before this one
 * @return milliseconds, at least 1 */
WP_API int64_t wp_lease_retry_ms(const wp_lease_info *refused, unsigned attempt);

/* ---- calls: one statement each, as a rule ------------------------------------------------- */

/* Common to them:
 * conn         NULL: a connection of the store's own. Else the app's, in whatever transaction is open
 *              there: the lease is held, and its fence final, when that is committed; until then
 *              others who want the name wait for it.
 * name, owner  not empty, WP_NAME_MAX UTF-16 units at most, compared byte for byte. A semaphore knows
 *              its holders by `owner`: the id of the request for a slot.
 * fence        that of the acquisition; 0: whichever one it is that `owner` has
 * duration_ms  1 to WP_LEASE_MS_MAX */

/** Acquire a name if it is free, expired, or `owner`'s already; or a slot of a semaphore likewise.
 * Each success gives a new, greater fence: who acquires again ends his earlier acquisition, and never
 * holds a second slot.
 * @param out  gets what became of it, also where it was refused: ask wp_lease_info_granted()
 * @return WP_OK; WP_E_NOT_FOUND: no such semaphore; WP_E_ARGUMENT, WP_E_RANGE; what the database says. */
WP_API wp_status wp_lease_acquire(wp_lease_info **out, wp_store *store, wp_conn *conn,
                                  wp_lease_kind kind, const char *name, const char *owner,
                                  int64_t duration_ms, wp_error **err);
/** Extend it to `duration_ms` from now, if it is still held.
 * @param out  may be NULL
 * @return WP_OK; WP_E_LEASE_LOST: expired, released, or another's; nothing was changed. */
WP_API wp_status wp_lease_renew(wp_lease_info **out, wp_store *store, wp_conn *conn,
                                wp_lease_kind kind, const char *name, const char *owner,
                                int64_t fence, int64_t duration_ms, wp_error **err);
/** Free it at once, if it is still held.
 * @param released  may be NULL; gets 1, or 0: it was not held any more */
WP_API wp_status wp_lease_release(int *released, wp_store *store, wp_conn *conn, wp_lease_kind kind,
                                  const char *name, const char *owner, int64_t fence,
                                  wp_error **err);
/** Ask who holds it.
 * @return WP_OK; WP_E_NOT_FOUND: nobody has held the name lately; no such semaphore. */
WP_API wp_status wp_lease_get(wp_lease_info **out, wp_store *store, wp_conn *conn,
                              wp_lease_kind kind, const char *name, wp_error **err);
/** Make a semaphore, or change its limit. A lower one ends nobody's hold: there are no new holders
 * until there are fewer than it.
 * @param limit  0 (nobody) to WP_SEMAPHORE_LIMIT_MAX */
WP_API wp_status wp_semaphore_set_limit(wp_store *store, wp_conn *conn, const char *name,
                                        int64_t limit, wp_error **err);
/** Delete what expired or was released `keep_ms` ago or earlier, in transactions of up to 1,000 rows.
 * Programs that hold leases do it by themselves now and then (`lease.keep_ms`). Fences go on rising.
 * @param removed  may be NULL
 * @param keep_ms  0 to WP_DELAY_MS_MAX */
WP_API wp_status wp_lease_cleanup(size_t *removed, wp_store *store, int64_t keep_ms,
                                  wp_error **err);

/* The same as operations, see op.h. Of a renewal that is lost, wp_op_next() gives WP_E_LEASE_LOST; of
 * a release, wp_op_result_count() is 1 or 0. */

/** As wp_lease_acquire(). */
WP_API wp_status wp_lease_acquire_op(wp_op **out, wp_store *store, wp_lease_kind kind,
                                     const char *name, const char *owner, int64_t duration_ms,
                                     wp_error **err);
/** As wp_lease_renew(). */
WP_API wp_status wp_lease_renew_op(wp_op **out, wp_store *store, wp_lease_kind kind,
                                   const char *name, const char *owner, int64_t fence,
                                   int64_t duration_ms, wp_error **err);
/** As wp_lease_release(). */
WP_API wp_status wp_lease_release_op(wp_op **out, wp_store *store, wp_lease_kind kind,
                                     const char *name, const char *owner, int64_t fence,
                                     wp_error **err);
/** As wp_lease_get(). */
WP_API wp_status wp_lease_get_op(wp_op **out, wp_store *store, wp_lease_kind kind, const char *name,
                                 wp_error **err);
/** As wp_semaphore_set_limit(). */
WP_API wp_status wp_semaphore_set_limit_op(wp_op **out, wp_store *store, const char *name,
                                           int64_t limit, wp_error **err);
/** The result of a finished acquire, renew or get.
 * @return WP_OK; WP_E_STATE: not finished, or an operation without such a result. */
WP_API wp_status wp_op_result_lease(wp_lease_info **out, const wp_op *op, wp_error **err);

/* ---- a lease that is kept ----------------------------------------------------------------- */

/** A lease that renews itself. Thread-safe, counted by reference; keeps its store alive.
 *
 * It is renewed when `lease.renew_percent` of its duration have passed, all leases of a store together,
 * on one thread of the store's, on a clock that counts suspend; errors are retried while there is time.
 * If another one has it, or `lease.guard_percent` of its duration before its last renewal runs out, it
 * is lost, once and for all: work that asks wp_lease_check() stops before anyone else can begin. */
typedef struct wp_lease wp_lease;

/** Acquire, wait for it if need be, and keep it.
 * @param out          the caller's: wp_lease_free()
 * @param refused      may be NULL; gets what stood in the way, after WP_E_TIMEOUT
 * @param owner        NULL: one of its own, that nobody else has
 * @param duration_ms  WP_LEASE_KEPT_MS_MIN to WP_LEASE_MS_MAX
 * @param wait_ms      how long to wait for the holder; 0: not at all; negative: for ever
 * @return WP_OK; WP_E_TIMEOUT: another one holds it, and nothing was changed;
 *         WP_E_STOPPED: wp_lease_stop_waiting(); as wp_lease_acquire(). */
WP_API wp_status wp_lease_hold(wp_lease **out, wp_lease_info **refused, wp_store *store,
                               wp_lease_kind kind, const char *name, const char *owner,
                               int64_t duration_ms, int64_t wait_ms, wp_error **err);
/** Whether work under the lease may go on: no I/O, cheap enough to ask before every step.
 * @return WP_OK; WP_E_LEASE_LOST; WP_E_STATE: released. @threads any */
WP_API wp_status wp_lease_check(const wp_lease *lease, wp_error **err);
/** How long work may go on if it cannot be renewed, in milliseconds; 0: lost or released. */
WP_API int64_t wp_lease_remaining_ms(const wp_lease *lease);
/** Renew it now, on the calling thread.
 * @return WP_OK; WP_E_LEASE_LOST; WP_E_STATE: released; WP_E_UNAVAILABLE, WP_E_DB: not renewed, but not
 *         lost yet either. */
WP_API wp_status wp_lease_renew_now(wp_lease *lease, wp_error **err);
/** Wait until it is lost.
 * @param timeout_ms  0: not at all; negative: for ever
 * @return WP_OK: it is; WP_E_TIMEOUT; WP_E_STOPPED: it was released. */
WP_API wp_status wp_lease_wait_lost(wp_lease *lease, int64_t timeout_ms, wp_error **err);
/** Free it for others, and renew it no more. Only the first call does anything.
 * @return WP_OK, also if it was lost; WP_E_UNAVAILABLE, WP_E_DB: it could not be freed, and expires. */
WP_API wp_status wp_lease_end(wp_lease *lease, wp_error **err);
/** The number of this acquisition. */
WP_API int64_t wp_lease_fence(const wp_lease *lease);
/** Borrowed. */
WP_API const char *wp_lease_name(const wp_lease *lease);
/** Borrowed. */
WP_API const char *wp_lease_owner(const wp_lease *lease);
/** Take a further reference. */
WP_API wp_lease *wp_lease_ref(wp_lease *lease);
/** Drop a reference; the last one ends the lease, and errors of that go to the log. */
WP_API void wp_lease_free(WP_OWN wp_lease *lease);

/** What a leader does, on the thread that called wp_lease_lead(). It asks wp_lease_check() before each step,
 * and returns when that refuses: within the guard interval, before anyone else can lead.
 * @return WP_OK, or an error of its own: it is done */
typedef wp_status (*wp_leader_fn)(wp_lease *lease, void *user, wp_error **err);

/** Do `work` while nobody else does it: hold the name, do it, release the name. If the lease was lost by the
 * time the work returned WP_OK or WP_E_LEASE_LOST, hold it anew and begin again, with a greater fence; so
 * the work goes on in some process as long as one is there. Errors of the database that may pass are waited
 * out like a holder.
 * @param owner    NULL: one of its own, that nobody else has
 * @param wait_ms  how long to wait each time; 0: not at all; negative: for ever
 * @return what the work returned; WP_E_TIMEOUT: another one leads; as wp_lease_hold() */
WP_API wp_status wp_lease_lead(wp_store *store, const char *name, const char *owner,
                               int64_t duration_ms, int64_t wait_ms, wp_leader_fn work, void *user,
                               wp_error **err);
/** For the end of a program: nobody waits for leases of this store any more. Calls of wp_lease_hold() and
 * wp_lease_lead() that wait return WP_E_STOPPED at once; later ones try once and do not wait, and leaders do
 * not begin anew. What is held stays held, and its work has to be told in the app's own way. Not to be called
 * by a signal handler. @threads any
 * @return WP_OK, also if it was called before. */
WP_API wp_status wp_lease_stop_waiting(wp_store *store, wp_error **err);

/** Wait for the next lease of the store that is lost, for a host that turns this into cancellation
 * signals and callbacks, on a thread of its own; each one is given once, to one caller.
 * @param out  the caller's: wp_lease_free()
 * @return WP_OK; WP_E_TIMEOUT; WP_E_STOPPED: none is held, so there is none to wait for. */
WP_API wp_status wp_lease_next_lost(wp_lease **out, wp_store *store, int64_t timeout_ms,
                                    wp_error **err);

/** What a store counts of the leases that it keeps. */
typedef enum wp_lease_counter {
    WP_LEASE_COUNTER_HELD = 0,    /**< now */
    WP_LEASE_COUNTER_RENEWED = 1, /**< renewals that succeeded */
    WP_LEASE_COUNTER_LOST = 2,
    WP_LEASE_COUNTER_ERRORS = 3, /**< renewals that failed, to be tried again */
    WP_LEASE_COUNTER_BATCHES = 4 /**< statements sent to renew */
} wp_lease_counter;

/** Read a counter. @threads any */
WP_API int64_t wp_lease_counter_read(wp_store *store, wp_lease_counter counter);

/* ---- lists -------------------------------------------------------------------------------- */

/** A page of leases, or of semaphores. A snapshot. */
typedef struct wp_leases wp_leases;

/** List them by name, in byte order, also those that nobody holds. Thread-safe.
 * @param after  the last name of the page before; NULL: from the first on
 * @param limit  1 to WP_BATCH_MAX */
WP_API wp_status wp_lease_list(wp_leases **out, wp_store *store, wp_lease_kind kind,
                               const char *after, int64_t limit, wp_error **err);
/** How many there are. */
WP_API size_t wp_leases_count(const wp_leases *list);
/** The name of one of them, 0 to count - 1; NULL past the end. */
WP_API const char *wp_leases_name(const wp_leases *list, size_t index);
/** Who holds the lease, or held it last; NULL: nobody, or it is a semaphore. */
WP_API const char *wp_leases_owner(const wp_leases *list, size_t index);
/** Until when it is held, or was; of a semaphore the first of its holders. Microseconds UTC since 1970. */
WP_API int64_t wp_leases_until_us(const wp_leases *list, size_t index);
/** How many may hold it. */
WP_API int64_t wp_leases_limit(const wp_leases *list, size_t index);
/** How many do. */
WP_API int64_t wp_leases_holders(const wp_leases *list, size_t index);
/** Free the page. */
WP_API void wp_leases_free(WP_OWN wp_leases *list);

WP_END_DECLS

#endif
