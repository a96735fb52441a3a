/* SPDX-License-Identifier: Apache-2.0 */
/* Leases and semaphores, inside:
 *   call.c    the operations, and the public calls that run one
 *   info.c    what an operation found
 *   lease.c   the object that is kept
 *   lead.c    work that is done while it is held
 *   turn.c    who of this process tries next to acquire what was released
 *   keeper.c  the thread that keeps all of a store's */
#ifndef WP__LEASE_H
#define WP__LEASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <waypost/lease.h>

#include "db/store.h"
#include "op/op.h"

/* ---- info.c ---- */

struct wp_lease_info {
    bool granted;
    int64_t fence;
    int64_t until_us;
    int64_t now_us;
    int64_t limit;
    int64_t holders;
    int64_t poll_max_ms; /* of the store */
    char *owner;         /* NULL: none */
};
enum { WP__LEASE_COLUMNS = 7 };
/* Read a row of the statements that tell of a lease. wp__lease_info_fini() it, also on failure. */
wp_status wp__lease_info_read(wp_lease_info *info, const wp__value *columns, wp_error **err);
void wp__lease_info_fini(wp_lease_info *info);
wp_status wp__lease_info_copy(wp_lease_info **out, const wp_lease_info *info, wp_error **err);
/* Somebody other than the caller holds it, or all slots are taken. */
bool wp__lease_info_is_taken(const wp_lease_info *info);

/* ---- call.c ---- */

typedef enum wp__lease_verb {
    WP__LEASE_ACQUIRE,
    WP__LEASE_RENEW,
    WP__LEASE_RELEASE,
    WP__LEASE_GET,
    WP__LEASE_SET,   /* a semaphore's limit */
    WP__LEASE_KEEP,  /* extend many, see `items` */
    WP__LEASE_CLEAN, /* one batch */
    WP__LEASE_VERBS
} wp__lease_verb;

/* One acquisition to extend, and whether it was. */
typedef struct wp__lease_item {
    int64_t fence;
    int64_t duration_us;
    bool kept;
    bool locked; /* not kept, but not lost either: someone is changing the row */
    wp_lease *lease;
} wp__lease_item;

typedef struct wp__lease_op {
    wp_op base;
    /* what is asked for; texts are borrowed unless they are in `owned` */
    wp__lease_verb verb;
    wp_lease_kind kind;
    const char *name;
    const char *owner;
    int64_t fence; /* 0: whichever it is */
    int64_t duration_us;
    int64_t limit;
    int64_t keep_us;
    int64_t by_us;         /* what is over by then, where the host's clock decides; 0: by now */
    wp__lease_item *items; /* to keep, in the order of their fences; borrowed */
    size_t item_count;
    char *owned[2];
    /* under way */
    int step;
    int tries;
    wp__buf json;
    /* results; base.result_count: rows that were changed */
    bool found;
    wp_lease_info info;
} wp__lease_op;
void wp__lease_op_init(wp__lease_op *op, wp_store *store, wp__lease_verb verb, wp_lease_kind kind);
/* A batch of cleaning that was not full was the last. */
enum { WP__LEASE_CLEAN_BATCH = 1000 };

/* What is held, before its name in a text. */
const char *wp__lease_noun(wp_lease_kind kind);
wp_status wp__lease_check_kind(wp_lease_kind kind, wp_error **err);
wp_status wp__lease_check_name(const char *argument, const char *text, wp_error **err);
wp_status wp__lease_check_duration(int64_t duration_ms, int64_t min_ms, wp_error **err);

/* ---- a lease that is kept ---- */

typedef enum wp__lease_state { WP__LEASE_HELD, WP__LEASE_LOST, WP__LEASE_ENDED } wp__lease_state;

typedef struct wp__lease_list {
    wp_lease *first, *last;
    size_t count;
} wp__lease_list;

struct wp_lease {
    atomic_int refs;
    wp_store *store; /* a reference */
    struct wp__leases *leases;
    wp_lease_kind kind;
    char *name;
    char *owner;
    int64_t fence;
    int64_t duration_us;
    _Atomic(wp__lease_state) state; /* set under the mutex */
    _Atomic int64_t stop_at;        /* elapsed time at which work must have stopped; likewise */
    /* guarded by the mutex */
    int64_t renew_at;
    wp__lease_list *list; /* that it is in, or NULL */
    wp_lease *prev, *next;
    wp_lease *next_to_log;
    const char *why; /* it was lost: a constant */
    int pins;        /* uses of its memory without a reference; the keeper never has the last one */
    bool orphan;     /* the last reference has gone: free it with the last pin */
};

/* Who holds it, of those who gave no name: one that nobody else has. The same in every try of a call: what a try
 * acquired whose answer was lost is the next one's. */
enum { WP__LEASE_OWNER_SIZE = 37 };
void wp__lease_fresh_owner(char owner[WP__LEASE_OWNER_SIZE]);

/* ---- keeper.c ---- */

enum { WP__LEASE_COUNTERS = WP_LEASE_COUNTER_BATCHES + 1 };

/* What the leases of a store share. The mutex guards all from there on, and is never held over I/O. */
typedef struct wp__leases {
    wp_store *store; /* not a reference: this is a part of it */
    wp_clock *clock;
    _Atomic int64_t counters[WP__LEASE_COUNTERS];
    wp__mutex mutex;
    wp__cond work;    /* for the thread; on the store's clock */
    wp__cond changed; /* for hosts: one was lost, added or ended */
    wp__lease_list held;
    wp__lease_list lost;     /* not yet taken by a host */
    int64_t thread_wakes_at; /* elapsed time, as are all below */
    int64_t hosts_wake_at;
    struct wp__lease_turn *turns; /* who waits, in order */
    bool waits_no_more;           /* hosts have called wp_lease_stop_waiting() */
    bool running, exit;
    wp__thread thread;
    wp_conn *conn;
    int64_t clock_offset; /* the thread's own, as is what follows */
    int64_t clean_at;
} wp__leases;

/* The store's; made if need be. */
wp_status wp__leases_of(wp__leases **out, wp_store *store, wp_error **err);
/* Begin to keep a lease that was acquired by a call sent at `sent_at`. */
wp_status wp__leases_add(wp__leases *leases, wp_lease *lease, int64_t sent_at, wp_error **err);
/* A renewal of that instant succeeded. @locks mutex */
void wp__leases_extended(wp_lease *lease, int64_t sent_at);
/* Those whose time is up are lost; *next gets the instant at which to look again. They are to be logged
 * outside the lock. @locks mutex */
wp_lease *wp__leases_enforce(wp__leases *leases, int64_t now, int64_t *next);
/* It is lost, if it was still held: add it to those to log, pinned. @locks mutex */
void wp__leases_lose(wp_lease *lease, const char *why, wp_lease **to_log);
#define WP__WHY_LATE "it could not be renewed in time"
#define WP__WHY_TAKEN "another one may have it"
/* Log them, and unpin them. Takes the lock. */
void wp__leases_log(wp__leases *leases, wp_lease *to_log);
/* Drop a pin. @locks mutex */
void wp__leases_unpin(wp_lease *lease);
/* Free its memory: at once, or with the last pin. @locks mutex */
void wp__leases_forget(wp_lease *lease);
/* Keep it no more. Whether it was held. @locks mutex */
bool wp__leases_end(wp_lease *lease);
/* Out of the list that it is in. @locks mutex */
void wp__leases_unlink(wp_lease *lease);

/* ---- turn.c ---- */

/* The place of one who waits for a name, from {.kind, .name} on; both are borrowed. */
typedef struct wp__lease_turn {
    wp_lease_kind kind;
    const char *name;
    enum { WP__TURN_NONE, WP__TURN_WAITS, WP__TURN_CALLED } state; /* under the mutex */
    struct wp__lease_turn *next;
} wp__lease_turn;
/* Before each try. */
void wp__lease_turn_take(wp__leases *leases, wp__lease_turn *turn);
/* Until a lease of the name was released since, or that instant. */
void wp__lease_turn_wait(wp__leases *leases, const wp__lease_turn *turn, int64_t until);
/* After the last try. */
void wp__lease_turn_leave(wp__leases *leases, wp__lease_turn *turn);
/* Until that instant. WP_E_STOPPED: nobody of this store waits any more. */
wp_status wp__leases_pause(wp__leases *leases, int64_t until, wp_error **err);
/* One was released. */
void wp__lease_turn_next(wp__leases *leases, wp_lease_kind kind, const char *name);

#endif
