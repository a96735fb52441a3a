/* SPDX-License-Identifier: Apache-2.0 */
/* A lease that is kept: acquired, perhaps after waiting, asked whether it still holds, ended. */
#include <stdlib.h>

#include "base/text.h"
#include "lease/lease.h"

/* ---- references --------------------------------------------------------------------------- */

wp_lease *wp_lease_ref(wp_lease *lease)
{
    if (lease)
        atomic_fetch_add_explicit(&lease->refs, 1, memory_order_relaxed);
    return lease;
}

/* A reference, unless the last one has gone. @locks mutex */
static bool take_ref(wp_lease *lease)
{
    int refs = atomic_load(&lease->refs);
    while (refs > 0)
        if (atomic_compare_exchange_weak(&lease->refs, &refs, refs + 1))
            return true;
    return false;
}

/* The last reference goes on a thread of the host's. */
static void destroy(wp_lease *lease)
{
    wp_store *store = lease->store;
    wp__leases *leases = lease->leases;
    wp__mutex_lock(&leases->mutex);
    wp__leases_forget(lease);
    wp__mutex_unlock(&leases->mutex);
    wp__store_unref(store);
}

void wp_lease_free(wp_lease *lease)
{
    wp_error *err = NULL;
    if (!lease || atomic_fetch_sub_explicit(&lease->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (wp__store_check(lease->store, NULL) != WP_OK)
        return; /* in a forked child it is the parent's */
    if (wp_lease_end(lease, &err) != WP_OK)
        WP__LOG(wp__store_log(lease->store), WP_LOG_WARNING,
                "lease could not be released, it expires",
                WP__F_TEXT("StoreId", wp_store_id(lease->store)), WP__F_TEXT("Lease", lease->name),
                WP__F_INT("Fence", lease->fence), WP__F_TEXT("Exception", wp_error_message(err)));
    wp_error_free(err);
    destroy(lease);
}

/* ---- acquired ----------------------------------------------------------------------------- */

void wp__lease_fresh_owner(char owner[WP__LEASE_OWNER_SIZE])
{
    wp_id id;
    wp_id_new(&id);
    wp_id_format(owner, &id);
}

static wp_status lease_new(wp_lease **out, wp__leases *leases, wp_lease_kind kind, const char *name,
                           const char *owner, int64_t duration_ms, wp_error **err)
{
    wp_lease *lease = calloc(1, sizeof *lease);
    char fresh[WP__LEASE_OWNER_SIZE];
    if (!lease)
        return wp__fail_nomem(err);
    if (!owner) {
        wp__lease_fresh_owner(fresh);
        owner = fresh;
    }
    atomic_init(&lease->refs, 1);
    atomic_init(&lease->state, WP__LEASE_ENDED); /* not held yet */
    atomic_init(&lease->stop_at, 0);
    lease->store = wp__store_ref(leases->store);
    lease->leases = leases;
    lease->kind = kind;
    lease->duration_us = duration_ms * 1000;
    lease->name = wp__text_dup(name);
    lease->owner = wp__text_dup(owner);
    if (!lease->name || !lease->owner) {
        destroy(lease);
        return wp__fail_nomem(err);
    }
    *out = lease;
    return WP_OK;
}

/* Run a verb for this lease. `info` may be NULL. */
static wp_status run(wp_lease_info **info, const wp_lease *lease, wp__lease_verb verb,
                     wp_error **err)
{
    wp__lease_op op;
    wp_status st;
    wp__lease_op_init(&op, lease->store, verb, lease->kind);
    op.name = lease->name;
    op.owner = lease->owner;
    op.fence = lease->fence;
    op.duration_us = lease->duration_us;
    st = wp__store_run(lease->store, NULL, &op.base, err);
    if (st == WP_OK && info)
        st = wp__lease_info_copy(info, &op.info, err);
    wp__op_fini(&op.base);
    return st;
}

/* One try. *info gets what came of it. */
static wp_status try_once(wp_lease_info **info, wp__leases *leases, wp_lease *lease, wp_error **err)
{
    int64_t sent_at = wp__clock_mono_us(leases->clock);
    wp_status st = run(info, lease, WP__LEASE_ACQUIRE, err);
    if (st != WP_OK || !(*info)->granted)
        return st;
    lease->fence = (*info)->fence;
    if ((st = wp__leases_add(leases, lease, sent_at, err)) != WP_OK)
        (void)run(NULL, lease, WP__LEASE_RELEASE, NULL);
    return st;
}

static wp_status acquire(wp_lease_info **info, wp_lease *lease, int64_t wait_ms, wp_error **err)
{
    wp__lease_turn turn = {.kind = lease->kind, .name = lease->name};
    int64_t give_up = wp__real_deadline_us(wait_ms);
    wp_status st;
    for (unsigned attempt = 0;; attempt++) {
        int64_t now, pause;
        wp_lease_info_free(*info);
        *info = NULL;
        if (wait_ms)
            wp__lease_turn_take(lease->leases, &turn);
        st = try_once(info, lease->leases, lease, err);
        wp__log_pump(wp__store_log(lease->store));
        if (st != WP_OK || (*info)->granted)
            break;
        now = wp__real_mono_us();
        if (wait_ms == 0 || now >= give_up) {
            st = wp__fail(err, WP_E_TIMEOUT,
                          lease->kind == WP_LEASE_SHARED
                              ? "all slots of the semaphore \"%s\" are taken"
                              : "another one holds the lease \"%s\"",
                          lease->name);
            break;
        }
        if ((st = wp__leases_pause(lease->leases, now, err)) != WP_OK)
            break;
        pause = wp_lease_retry_ms(*info, attempt) * 1000;
        wp__lease_turn_wait(lease->leases, &turn, give_up - now < pause ? give_up : now + pause);
    }
    wp__lease_turn_leave(lease->leases, &turn);
    return st;
}

wp_status wp_lease_hold(wp_lease **out, wp_lease_info **refused, wp_store *store,
                        wp_lease_kind kind, const char *name, const char *owner,
                        int64_t duration_ms, int64_t wait_ms, wp_error **err)
{
    wp__leases *leases = NULL;
    wp_lease *lease = NULL;
    wp_lease_info *info = NULL;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (st = wp__lease_check_kind(kind, err)) != WP_OK ||
        (st = wp__lease_check_name("name", name, err)) != WP_OK ||
        (owner && (st = wp__lease_check_name("owner", owner, err)) != WP_OK) ||
        (st = wp__lease_check_duration(duration_ms, WP_LEASE_KEPT_MS_MIN, err)) != WP_OK ||
        (st = wp__leases_of(&leases, store, err)) != WP_OK ||
        (st = lease_new(&lease, leases, kind, name, owner, duration_ms, err)) != WP_OK)
        return st;
    st = acquire(&info, lease, wait_ms, err);
    if (st == WP_OK) {
        *out = lease;
        lease = NULL;
    } else if (st == WP_E_TIMEOUT && refused) {
        *refused = info;
        info = NULL;
    }
    wp_lease_info_free(info);
    wp_lease_free(lease);
    return st;
}

/* ---- held --------------------------------------------------------------------------------- */

static wp_status check_lease(const wp_lease *lease, wp_error **err)
{
    return lease ? wp__store_check(lease->store, err)
                 : wp__fail(err, WP_E_ARGUMENT, "lease is NULL");
}

/* Whether it is held now; it is lost when its time is up. */
static wp__lease_state look(wp_lease *lease)
{
    wp__lease_state state = atomic_load(&lease->state);
    wp_lease *to_log = NULL;
    if (state != WP__LEASE_HELD ||
        atomic_load(&lease->stop_at) > wp__clock_mono_us(lease->leases->clock))
        return state;
    wp__mutex_lock(&lease->leases->mutex);
    if (atomic_load(&lease->stop_at) <= wp__clock_mono_us(lease->leases->clock))
        wp__leases_lose(lease, WP__WHY_LATE, &to_log); /* not renewed meanwhile */
    state = atomic_load(&lease->state);
    wp__mutex_unlock(&lease->leases->mutex);
    wp__leases_log(lease->leases, to_log);
    return state;
}

static wp_status say(const wp_lease *lease, wp__lease_state state, wp_error **err)
{
    if (state == WP__LEASE_HELD)
        return WP_OK;
    if (state == WP__LEASE_ENDED)
        return wp__fail(err, WP_E_STATE, "the lease was released");
    return wp__fail(err, WP_E_LEASE_LOST, "the %s \"%s\" was lost: fence %lld is over",
                    wp__lease_noun(lease->kind), lease->name, (long long)lease->fence);
}

wp_status wp_lease_check(const wp_lease *lease, wp_error **err)
{
    wp_status st = check_lease(lease, err);
    return st == WP_OK ? say(lease, look((wp_lease *)lease), err) : st;
}

int64_t wp_lease_remaining_ms(const wp_lease *lease)
{
    int64_t left;
    if (check_lease(lease, NULL) != WP_OK || look((wp_lease *)lease) != WP__LEASE_HELD)
        return 0;
    left = atomic_load(&lease->stop_at) - wp__clock_mono_us(lease->leases->clock);
    return left > 0 ? (left + 999) / 1000 : 0;
}

wp_status wp_lease_renew_now(wp_lease *lease, wp_error **err)
{
    wp__lease_item item;
    wp__lease_op op;
    wp_lease *to_log = NULL;
    int64_t sent_at;
    wp_status st = wp_lease_check(lease, err);
    if (st != WP_OK)
        return st;
    item = (wp__lease_item){.fence = lease->fence, .duration_us = lease->duration_us};
    sent_at = wp__clock_mono_us(lease->leases->clock);
    wp__lease_op_init(&op, lease->store, WP__LEASE_KEEP, lease->kind);
    op.items = &item;
    op.item_count = 1;
    st = wp__store_run(lease->store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    if (st == WP_OK && item.locked) {
        st = wp__fail_db(err, WP_E_UNAVAILABLE, NULL, 0, true,
                         "the lease was not renewed: another transaction has its row locked");
    } else if (st == WP_OK) {
        wp__mutex_lock(&lease->leases->mutex);
        if (item.kept && atomic_load(&lease->state) == WP__LEASE_HELD)
            wp__leases_extended(lease, sent_at);
        else
            wp__leases_lose(lease, WP__WHY_TAKEN, &to_log);
        wp__mutex_unlock(&lease->leases->mutex);
        wp__leases_log(lease->leases, to_log);
        st = wp_lease_check(lease, err);
    }
    wp__log_pump(wp__store_log(lease->store));
    return st;
}

wp_status wp_lease_end(wp_lease *lease, wp_error **err)
{
    bool held;
    wp_status st = check_lease(lease, err);
    if (st != WP_OK)
        return st;
    wp__mutex_lock(&lease->leases->mutex);
    held = wp__leases_end(lease);
    wp__mutex_unlock(&lease->leases->mutex);
    if (held) {
        st = run(NULL, lease, WP__LEASE_RELEASE, err);
        wp__lease_turn_next(lease->leases, lease->kind, lease->name);
    }
    wp__log_pump(wp__store_log(lease->store));
    return st;
}

int64_t wp_lease_fence(const wp_lease *lease)
{
    return lease ? lease->fence : 0;
}

const char *wp_lease_name(const wp_lease *lease)
{
    return lease ? lease->name : "";
}

const char *wp_lease_owner(const wp_lease *lease)
{
    return lease ? lease->owner : "";
}

/* ---- lost --------------------------------------------------------------------------------- */

/* Sleep until something changed or the time of a lease is up; by a manual clock, the thread says so.
 * @locks mutex, but not while it sleeps */
static void wait_for_change(wp__leases *leases, int64_t next, int64_t give_up)
{
    if (wp__clock_is_manual(leases->clock))
        next = WP__FOREVER;
    leases->hosts_wake_at = next;
    (void)wp__cond_wait_until(&leases->changed, &leases->mutex, next < give_up ? next : give_up);
}

/* Enforce, and log without the lock. False: look again. @locks mutex */
static bool enforce(wp__leases *leases, int64_t *next)
{
    wp_lease *to_log = wp__leases_enforce(leases, wp__clock_mono_us(leases->clock), next);
    if (!to_log)
        return true;
    wp__mutex_unlock(&leases->mutex);
    wp__leases_log(leases, to_log);
    wp__mutex_lock(&leases->mutex);
    return false;
}

wp_status wp_lease_wait_lost(wp_lease *lease, int64_t timeout_ms, wp_error **err)
{
    int64_t give_up = wp__real_deadline_us(timeout_ms);
    int64_t next = 0;
    wp__leases *leases;
    wp__lease_state state;
    wp_status st = check_lease(lease, err);
    if (st != WP_OK)
        return st;
    leases = lease->leases;
    wp__mutex_lock(&leases->mutex);
    for (;;) {
        bool quiet = enforce(leases, &next);
        state = atomic_load(&lease->state);
        if (state != WP__LEASE_HELD || (quiet && wp__real_mono_us() >= give_up))
            break;
        if (quiet)
            wait_for_change(leases, next, give_up);
    }
    wp__mutex_unlock(&leases->mutex);
    wp__log_pump(wp__store_log(lease->store));
    if (state == WP__LEASE_LOST)
        return WP_OK;
    return state == WP__LEASE_ENDED ? wp__fail(err, WP_E_STOPPED, "the lease was released")
                                    : wp__fail(err, WP_E_TIMEOUT, "the lease is still held");
}

static wp_lease *take_lost(wp__leases *leases)
{
    wp_lease *lease;
    while ((lease = leases->lost.first)) {
        wp__leases_unlink(lease);
        if (take_ref(lease))
            return lease;
    }
    return NULL;
}

static wp_status next_lost(wp_lease **out, wp__leases *leases, int64_t timeout_ms, wp_error **err)
{
    int64_t give_up = wp__real_deadline_us(timeout_ms);
    int64_t next = 0;
    wp_status st = WP_OK;
    wp_lease *lease = NULL;
    wp__mutex_lock(&leases->mutex);
    for (;;) {
        bool quiet = enforce(leases, &next);
        if ((lease = take_lost(leases)))
            break;
        if (leases->held.count == 0) {
            st = wp__fail(err, WP_E_STOPPED, "no lease is held");
            break;
        }
        if (quiet && wp__real_mono_us() >= give_up) {
            st = wp__fail(err, WP_E_TIMEOUT, "no lease was lost");
            break;
        }
        if (quiet)
            wait_for_change(leases, next, give_up);
    }
    wp__mutex_unlock(&leases->mutex);
    if (st == WP_OK)
        *out = lease;
    return st;
}

wp_status wp_lease_next_lost(wp_lease **out, wp_store *store, int64_t timeout_ms, wp_error **err)
{
    wp__leases *leases = NULL;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (st = wp__leases_of(&leases, store, err)) != WP_OK)
        return st;
    wp__store_ref(store); /* the last lease may go meanwhile */
    st = next_lost(out, leases, timeout_ms, err);
    wp__log_pump(wp__store_log(store));
    wp__store_unref(store);
    return st;
}
