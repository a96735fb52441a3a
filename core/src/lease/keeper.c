/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the leases of a store: one thread with a connection of its own renews all that are due in one
 * statement for each kind. That time is up is found out by the thread, by hosts that wait for it and by
 * each check, so that no slow database delays it. */
#include <stdlib.h>

#include "lease/lease.h"

enum {
    LOOK_MAX_US = 1000000, /* between looks at the clock */
    RETRY_MIN_US = 20000,
    IDLE_US = 10000000, /* then the connection is closed */
    CLEAN_US = 600000000,
    CLOCK_SET_GRACE_US = 5000000 /* for keepers to renew after the wall clock was set */
};

/* ---- lists -------------------------------------------------------------------------------- */

static void push(wp__lease_list *list, wp_lease *lease)
{
    lease->list = list;
    lease->next = NULL;
    lease->prev = list->last;
    if (list->last)
        list->last->next = lease;
    else
        list->first = lease;
    list->last = lease;
    list->count++;
}

void wp__leases_unlink(wp_lease *lease)
{
    wp__lease_list *list = lease->list;
    if (!list)
        return;
    if (lease->prev)
        lease->prev->next = lease->next;
    else
        list->first = lease->next;
    if (lease->next)
        lease->next->prev = lease->prev;
    else
        list->last = lease->prev;
    list->count--;
    lease->list = NULL;
}

static void count(wp__leases *leases, wp_lease_counter counter, int64_t by)
{
    atomic_fetch_add_explicit(&leases->counters[counter], by, memory_order_relaxed);
}

/* ---- what becomes of a lease -------------------------------------------------------------- */

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void wp__leases_extended(wp_lease *lease, int64_t sent_at)
{
    const wp_config *config = wp__store_config(lease->store);
    int64_t part = lease->duration_us * config->lease_renew_percent / 100;
    int64_t stop_at =
        sent_at + lease->duration_us - lease->duration_us * config->lease_guard_percent / 100;
    if (stop_at > atomic_load(&lease->stop_at)) /* answers may overtake each other */
        atomic_store(&lease->stop_at, stop_at);
    lease->renew_at = sent_at + part - (int64_t)(wp__random() % (uint64_t)(part / 10 + 1));
}

void wp__leases_lose(wp_lease *lease, const char *why, wp_lease **to_log)
{
    wp__leases *leases = lease->leases;
    if (atomic_load(&lease->state) != WP__LEASE_HELD)
        return;
    atomic_store(&lease->state, WP__LEASE_LOST);
    wp__leases_unlink(lease);
    push(&leases->lost, lease);
    count(leases, WP_LEASE_COUNTER_HELD, -1);
    count(leases, WP_LEASE_COUNTER_LOST, 1);
    wp__cond_broadcast(&leases->changed);
    lease->why = why;
    lease->pins++;
    lease->next_to_log = *to_log;
    *to_log = lease;
}

static void free_memory(wp_lease *lease)
{
    free(lease->name);
    free(lease->owner);
    free(lease);
}

void wp__leases_unpin(wp_lease *lease)
{
    if (--lease->pins == 0 && lease->orphan)
        free_memory(lease);
}

void wp__leases_forget(wp_lease *lease)
{
    wp__leases_unlink(lease);
    lease->orphan = true;
    if (lease->pins == 0)
        free_memory(lease);
}

void wp__leases_log(wp__leases *leases, wp_lease *to_log)
{
    while (to_log) {
        wp_lease *lease = to_log;
        to_log = lease->next_to_log;
        WP__LOG(wp__store_log(lease->store), WP_LOG_WARNING, "lease lost",
                WP__F_TEXT("StoreId", wp_store_id(lease->store)), WP__F_TEXT("Lease", lease->name),
                WP__F_TEXT("Owner", lease->owner), WP__F_INT("Fence", lease->fence),
                WP__F_TEXT("Reason", lease->why));
        wp__mutex_lock(&leases->mutex);
        wp__leases_unpin(lease);
        wp__mutex_unlock(&leases->mutex);
    }
}

wp_lease *wp__leases_enforce(wp__leases *leases, int64_t now, int64_t *next)
{
    wp_lease *to_log = NULL, *following;
    *next = WP__FOREVER;
    for (wp_lease *lease = leases->held.first; lease; lease = following) {
        int64_t stop_at = atomic_load_explicit(&lease->stop_at, memory_order_relaxed);
        following = lease->next;
        if (stop_at <= now)
            wp__leases_lose(lease, WP__WHY_LATE, &to_log);
        else
            *next = sooner(*next, stop_at);
    }
    return to_log;
}

bool wp__leases_end(wp_lease *lease)
{
    wp__leases *leases = lease->leases;
    if (atomic_load(&lease->state) != WP__LEASE_HELD)
        return false;
    atomic_store(&lease->state, WP__LEASE_ENDED);
    wp__leases_unlink(lease);
    count(leases, WP_LEASE_COUNTER_HELD, -1);
    wp__cond_broadcast(&leases->changed);
    return true;
}

/* ---- renewal ------------------------------------------------------------------------------ */

/* What one round renews: of each kind, at most a batch. */
typedef struct round {
    wp__lease_item *items[2]; /* index: kind - 1 */
    size_t counts[2];
} round;

/* @locks mutex */
static void round_free(round *r)
{
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; r->items[k] && i < r->counts[k]; i++)
            wp__leases_unpin(r->items[k][i].lease);
        free(r->items[k]);
    }
}

static bool add(round *r, wp_lease *lease, size_t most)
{
    size_t k = lease->kind == WP_LEASE_SHARED;
    if (r->counts[k] == WP_BATCH_MAX)
        return false;
    if (!r->items[k])
        r->items[k] = calloc(most < WP_BATCH_MAX ? most : WP_BATCH_MAX, sizeof *r->items[k]);
    if (!r->items[k])
        return false;
    lease->pins++;
    r->items[k][r->counts[k]++] =
        (wp__lease_item){.fence = lease->fence, .duration_us = lease->duration_us, .lease = lease};
    return true;
}

/* What is due, and what soon will be: they come along. False: nothing is; *next gets the instant at
 * which to look again. @locks mutex */
static bool round_take(round *r, wp__leases *leases, int64_t now, int64_t *next)
{
    bool due = false;
    for (const wp_lease *l = leases->held.first; l; l = l->next) {
        due = due || l->renew_at <= now;
        *next = sooner(*next, l->renew_at);
    }
    for (wp_lease *l = due ? leases->held.first : NULL; l; l = l->next)
        if (l->renew_at <= now + l->duration_us / 20 && !add(r, l, leases->held.count))
            break;
    return r->items[0] || r->items[1];
}

/* The wall clock was set: leases that end by it are renewed at once, and none is cleaned away before others
 * have done so too. @locks mutex */
static void renew_all(wp__leases *leases, int64_t now)
{
    if (leases->clean_at < now + CLOCK_SET_GRACE_US)
        leases->clean_at = now + CLOCK_SET_GRACE_US;
    for (wp_lease *lease = leases->held.first; lease; lease = lease->next)
        lease->renew_at = now;
}

static wp_status connect(wp__leases *leases, wp_error **err)
{
    wp_conn *conn = leases->conn;
    wp_status st;
    if (wp__conn_is_sound(conn))
        return WP_OK;
    wp__mutex_lock(&leases->mutex);
    leases->conn = NULL;
    wp__mutex_unlock(&leases->mutex);
    wp__conn_close(conn);
    if ((st = wp__store_connect(&conn, leases->store, WP__OPEN_WORKER, err)) != WP_OK)
        return st;
    wp__mutex_lock(&leases->mutex);
    leases->conn = conn;
    wp__mutex_unlock(&leases->mutex);
    return WP_OK;
}

static int compare_fences(const void *left, const void *right)
{
    const wp__lease_item *a = left;
    const wp__lease_item *b = right;
    return (a->fence > b->fence) - (a->fence < b->fence);
}

/* Extended though its time was up: free it for others. */
static void give_back(wp__leases *leases, const wp_lease *lease)
{
    wp__lease_op op;
    wp__lease_op_init(&op, leases->store, WP__LEASE_RELEASE, lease->kind);
    op.name = lease->name;
    op.owner = lease->owner;
    op.fence = lease->fence;
    (void)wp__conn_run(leases->conn, &op.base, NULL); /* else it expires */
    wp__op_fini(&op.base);
}

/* The database has answered, or not. */
static void settle(wp__leases *leases, wp__lease_item *items, size_t n, bool answered,
                   int64_t sent_at)
{
    wp_lease *to_log = NULL;
    int64_t renewed = 0;
    wp__mutex_lock(&leases->mutex);
    for (size_t i = 0; i < n; i++) {
        wp_lease *lease = items[i].lease;
        int64_t now = wp__clock_mono_us(leases->clock);
        int64_t pause = lease->duration_us / 20;
        if (!answered || items[i].locked)
            lease->renew_at = now + (pause > RETRY_MIN_US ? pause : RETRY_MIN_US);
        else if (!items[i].kept)
            wp__leases_lose(lease, WP__WHY_TAKEN, &to_log);
        else if (atomic_load(&lease->stop_at) <= now)
            wp__leases_lose(lease, WP__WHY_LATE, &to_log);
        else
            wp__leases_extended(lease, sent_at);
        renewed += items[i].kept;
    }
    wp__mutex_unlock(&leases->mutex);
    count(leases, WP_LEASE_COUNTER_RENEWED, renewed);
    for (size_t i = 0; answered && i < n; i++)
        if (items[i].kept && atomic_load(&items[i].lease->state) == WP__LEASE_LOST)
            give_back(leases, items[i].lease);
    wp__leases_log(leases, to_log);
}

static void renew(wp__leases *leases, wp_lease_kind kind, wp__lease_item *items, size_t n)
{
    int64_t sent_at = wp__clock_mono_us(leases->clock);
    int64_t shortest = INT64_MAX;
    wp_error *err = NULL;
    wp__lease_op op;
    wp_status st;
    if (!items || n == 0)
        return;
    qsort(items, n, sizeof *items, compare_fences);
    for (size_t i = 0; i < n; i++)
        shortest = sooner(shortest, items[i].duration_us);
    wp__lease_op_init(&op, leases->store, WP__LEASE_KEEP, kind);
    op.items = items;
    op.item_count = n;
    if ((st = connect(leases, &err)) == WP_OK) {
        /* no longer than leaves time for another try */
        leases->conn->give_up_at = wp__real_mono_us() + shortest / 10 + RETRY_MIN_US;
        count(leases, WP_LEASE_COUNTER_BATCHES, 1);
        st = wp__conn_run(leases->conn, &op.base, &err);
        leases->conn->give_up_at = 0;
    }
    settle(leases, items, n, st == WP_OK, sent_at);
    if (st != WP_OK) {
        count(leases, WP_LEASE_COUNTER_ERRORS, 1);
        WP__LOG(wp__store_log(leases->store), WP_LOG_WARNING,
                "leases could not be renewed, will try again",
                WP__F_TEXT("StoreId", wp_store_id(leases->store)), WP__F_INT("Count", n),
                WP__F_TEXT("Exception", wp_error_message(err)));
        wp_error_free(err);
    }
    wp__op_fini(&op.base);
}

/* ---- the thread --------------------------------------------------------------------------- */

/* A batch of what nobody has held for long, by the wall clock as it was when it was last found not to have
 * been set: it may be set at any moment. */
static void clean(wp__leases *leases, int64_t now)
{
    bool full = false;
    leases->clean_at = now + CLEAN_US - (int64_t)(wp__random() % (CLEAN_US / 10));
    for (int kind = WP_LEASE_EXCLUSIVE; kind <= WP_LEASE_SHARED; kind++) {
        wp__lease_op op;
        wp__lease_op_init(&op, leases->store, WP__LEASE_CLEAN, (wp_lease_kind)kind);
        op.keep_us = wp__store_config(leases->store)->lease_keep_ms * 1000;
        op.by_us = leases->clock_offset + wp__clock_mono_us(leases->clock);
        if (connect(leases, NULL) == WP_OK && wp__conn_run(leases->conn, &op.base, NULL) == WP_OK)
            full = full || op.base.result_count >= WP__LEASE_CLEAN_BATCH;
        wp__op_fini(&op.base);
    }
    if (full)
        leases->clean_at = now;
}

static void disconnect(wp__leases *leases)
{
    wp_conn *conn;
    wp__mutex_lock(&leases->mutex);
    conn = leases->conn;
    leases->conn = NULL;
    wp__mutex_unlock(&leases->mutex);
    wp__conn_close(conn);
}

/* Wait for something to do. False: nothing came for long. @locks mutex */
static bool wait(wp__leases *leases, int64_t now, int64_t next)
{
    bool idle = leases->held.count == 0;
    if (idle)
        next = leases->conn ? now + IDLE_US : WP__FOREVER;
    else
        next = sooner(next, now + LOOK_MAX_US);
    leases->thread_wakes_at = next;
    return wp__cond_wait_until(&leases->work, &leases->mutex, next) || !idle;
}

static void *keep(void *arg)
{
    wp__leases *leases = arg;
    wp__mutex_lock(&leases->mutex);
    while (!leases->exit) {
        round r = {0};
        int64_t now = wp__clock_mono_us(leases->clock);
        int64_t next;
        bool due, stale;
        wp_lease *to_log;
        if (wp__clock_was_set(leases->clock, &leases->clock_offset))
            renew_all(leases, now);
        to_log = wp__leases_enforce(leases, now, &next);
        due = round_take(&r, leases, now, &next);
        stale = leases->held.count > 0 && leases->clean_at <= now;
        if (!due && !stale && !to_log && wait(leases, now, next)) {
            round_free(&r);
            continue;
        }
        wp__mutex_unlock(&leases->mutex);
        wp__leases_log(leases, to_log);
        for (int k = 0; k < 2; k++)
            if (r.items[k])
                renew(leases, (wp_lease_kind)(k + 1), r.items[k], r.counts[k]);
        if (!due && stale)
            clean(leases, now);
        if (!due && !stale && !to_log)
            disconnect(leases);
        wp__mutex_lock(&leases->mutex);
        round_free(&r);
    }
    wp__mutex_unlock(&leases->mutex);
    disconnect(leases);
    return NULL;
}

/* ---- made, joined, freed ------------------------------------------------------------------ */

static wp_status make(void **out, wp_store *store, wp_error **err)
{
    wp__leases *leases = calloc(1, sizeof *leases);
    if (!leases)
        return wp__fail_nomem(err);
    leases->store = store;
    leases->clock = wp__store_clock(store);
    wp__mutex_init(&leases->mutex);
    wp__cond_init(&leases->work, leases->clock);
    wp__cond_init(&leases->changed, wp__clock_system());
    for (int i = 0; i < WP__LEASE_COUNTERS; i++)
        atomic_init(&leases->counters[i], 0);
    *out = leases;
    return WP_OK;
}

/* With the store: so no lease is left. */
static void destroy(void *arg)
{
    wp__leases *leases = arg;
    wp__mutex_lock(&leases->mutex);
    leases->exit = true;
    if (leases->conn)
        leases->conn->driver->interrupt(leases->conn);
    wp__cond_broadcast(&leases->work);
    wp__mutex_unlock(&leases->mutex);
    if (leases->running)
        wp__thread_join(&leases->thread);
    wp__cond_destroy(&leases->work);
    wp__cond_destroy(&leases->changed);
    wp__mutex_destroy(&leases->mutex);
    free(leases);
}

wp_status wp__leases_of(wp__leases **out, wp_store *store, wp_error **err)
{
    void *leases = NULL;
    wp_status st = wp__store_leases(&leases, store, make, destroy, err);
    if (st == WP_OK)
        *out = leases;
    return st;
}

/* @locks mutex */
static wp_status ensure_thread(wp__leases *leases, wp_error **err)
{
    wp_status st;
    if (leases->running)
        return WP_OK;
    leases->clean_at = wp__clock_mono_us(leases->clock) + (int64_t)(wp__random() % (CLEAN_US / 10));
    (void)wp__clock_was_set(leases->clock, &leases->clock_offset); /* from now on */
    st = wp__thread_start(&leases->thread, "waypost-lease", keep, leases, err);
    leases->running = st == WP_OK;
    return st;
}

wp_status wp__leases_add(wp__leases *leases, wp_lease *lease, int64_t sent_at, wp_error **err)
{
    wp_status st;
    wp__mutex_lock(&leases->mutex);
    if ((st = ensure_thread(leases, err)) == WP_OK) {
        atomic_store(&lease->state, WP__LEASE_HELD);
        wp__leases_extended(lease, sent_at);
        push(&leases->held, lease);
        count(leases, WP_LEASE_COUNTER_HELD, 1);
        if (lease->renew_at < leases->thread_wakes_at || leases->held.count == 1)
            wp__cond_signal(&leases->work);
        if (atomic_load(&lease->stop_at) < leases->hosts_wake_at)
            wp__cond_broadcast(&leases->changed);
    }
    wp__mutex_unlock(&leases->mutex);
    return st;
}

int64_t wp_lease_counter_read(wp_store *store, wp_lease_counter counter)
{
    void *leases = NULL;
    if (wp__store_check(store, NULL) != WP_OK || (int)counter < 0 ||
        (int)counter >= WP__LEASE_COUNTERS ||
        wp__store_leases(&leases, store, NULL, NULL, NULL) != WP_OK || !leases)
        return 0;
    return atomic_load_explicit(&((wp__leases *)leases)->counters[counter], memory_order_relaxed);
}
