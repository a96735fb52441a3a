/* SPDX-License-Identifier: Apache-2.0 */
/* Those of this process who wait for a lease. Each release wakes one who wants that name, who waits longest:
 * a turn is taken anew before each try, so that no release goes unheard, and a release that was not made use
 * of goes to the next one. */
#include <string.h>

#include "lease/lease.h"

/* Where the turn stands in the queue, or its end. @locks mutex */
static wp__lease_turn **place_of(wp__leases *leases, const wp__lease_turn *turn)
{
    wp__lease_turn **at = &leases->turns;
    while (*at && *at != turn)
        at = &(*at)->next;
    return at;
}

/* @locks mutex */
static void wake_next(wp__leases *leases, wp_lease_kind kind, const char *name)
{
    wp__lease_turn **at = &leases->turns;
    wp__lease_turn *first;
    while (*at && ((*at)->kind != kind || strcmp((*at)->name, name) != 0))
        at = &(*at)->next;
    if (!(first = *at))
        return;
    *at = first->next;
    first->state = WP__TURN_CALLED;
    wp__cond_broadcast(&leases->changed);
}

void wp__lease_turn_take(wp__leases *leases, wp__lease_turn *turn)
{
    wp__mutex_lock(&leases->mutex);
    if (turn->state != WP__TURN_WAITS) {
        turn->next = NULL;
        *place_of(leases, turn) = turn;
        turn->state = WP__TURN_WAITS;
    }
    wp__mutex_unlock(&leases->mutex);
}

void wp__lease_turn_wait(wp__leases *leases, const wp__lease_turn *turn, int64_t until)
{
    wp__mutex_lock(&leases->mutex);
    while (turn->state == WP__TURN_WAITS && !leases->waits_no_more &&
           wp__cond_wait_until(&leases->changed, &leases->mutex, until)) {
    }
    wp__mutex_unlock(&leases->mutex);
}

wp_status wp__leases_pause(wp__leases *leases, int64_t until, wp_error **err)
{
    bool stopped;
    wp__mutex_lock(&leases->mutex);
    while (!leases->waits_no_more && wp__cond_wait_until(&leases->changed, &leases->mutex, until)) {
    }
    stopped = leases->waits_no_more;
    wp__mutex_unlock(&leases->mutex);
    return stopped ? wp__fail(err, WP_E_STOPPED, "waiting for leases was stopped") : WP_OK;
}

wp_status wp_lease_stop_waiting(wp_store *store, wp_error **err)
{
    wp__leases *leases = NULL;
    wp_status st;
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (st = wp__leases_of(&leases, store, err)) != WP_OK)
        return st;
    wp__mutex_lock(&leases->mutex);
    leases->waits_no_more = true;
    wp__cond_broadcast(&leases->changed);
    wp__mutex_unlock(&leases->mutex);
    return WP_OK;
}

void wp__lease_turn_leave(wp__leases *leases, wp__lease_turn *turn)
{
    wp__mutex_lock(&leases->mutex);
    if (turn->state == WP__TURN_WAITS)
        *place_of(leases, turn) = turn->next;
    else if (turn->state == WP__TURN_CALLED)
        wake_next(leases, turn->kind, turn->name);
    turn->state = WP__TURN_NONE;
    wp__mutex_unlock(&leases->mutex);
}

void wp__lease_turn_next(wp__leases *leases, wp_lease_kind kind, const char *name)
{
    wp__mutex_lock(&leases->mutex);
    wake_next(leases, kind, name);
    wp__mutex_unlock(&leases->mutex);
}
