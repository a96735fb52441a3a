/* SPDX-License-Identifier: Apache-2.0 */
/* Stores that come to a worker and go, also while it runs. */
#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "worker/worker.h"

/* @locks mutex */
static wp__part *find(const wp_worker *worker, const char *id)
{
    wp__part *part = worker->parts;
    while (part && (part->removed || strcmp(part->id, id) != 0))
        part = part->next;
    return part;
}

/* @locks mutex */
static wp_status check_changeable(const wp_worker *worker, wp_error **err)
{
    if (worker->manual)
        return wp__fail(err, WP_E_STATE, "drain or step is under way");
    if (worker->state == WP__STOPPING || worker->state == WP__STOPPED)
        return wp__fail(err, WP_E_STOPPED, "the worker is stopped");
    return WP_OK;
}

/* ---- added --------------------------------------------------------------------------------- */

/* @locks mutex */
static wp_status plan_and_start(wp_worker *worker, wp__part *part, wp_error **err)
{
    wp_status st = worker->lanes ? wp__part_plan(part, err) : WP_OK;
    if (st == WP_OK && worker->state == WP__RUNNING)
        st = wp__part_start(part, err);
    return st;
}

wp_status wp__worker_add_part(wp_worker *worker, wp__part *part, wp_error **err)
{
    wp__part **at = &worker->parts;
    wp_status st;
    if ((st = plan_and_start(worker, part, err)) != WP_OK)
        return st;
    while (*at)
        at = &(*at)->next;
    *at = part;
    return WP_OK;
}

static wp_status check_place(const wp_worker *worker, const wp__place *place, wp_error **err)
{
    if (wp__place_clock(place) != worker->clock)
        return wp__fail(err, WP_E_ARGUMENT, "store \"%s\" goes by another clock than the worker",
                        wp__place_id(place));
    return WP_OK;
}

/* @locks mutex */
static wp_status add(wp_worker *worker, wp__place *place, bool followed, wp_error **err)
{
    wp__part *part = NULL;
    wp_status st;
    if (find(worker, wp__place_id(place)))
        return wp__fail(err, WP_E_STATE, "the worker has a store \"%s\" already",
                        wp__place_id(place));
    if ((st = check_place(worker, place, err)) != WP_OK ||
        (st = wp__part_new(&part, worker, place, err)) != WP_OK)
        return st;
    part->followed = followed;
    if ((st = wp__worker_add_part(worker, part, err)) != WP_OK)
        wp__part_unref(part);
    return st;
}

wp_status wp_worker_add_store(wp_worker *worker, wp_store *store, const char *id, wp_error **err)
{
    wp__place *place = NULL;
    wp_status st;
    if ((st = wp__worker_check(worker, err)) != WP_OK ||
        (st = wp__store_check(store, err)) != WP_OK ||
        (id && (st = wp__check_text(NULL, "id", id, 255, true, err)) != WP_OK) ||
        (st = wp__place_of(&place, store, id, err)) != WP_OK)
        return st;
    wp__mutex_lock(&worker->mutex);
    if ((st = check_changeable(worker, err)) == WP_OK)
        st = add(worker, place, false, err);
    wp__mutex_unlock(&worker->mutex);
    wp__place_unref(place);
    wp__worker_sweep(worker);
    return st;
}

/* ---- removed ------------------------------------------------------------------------------- */

/* @locks mutex */
static void begin_removal(wp__part *part)
{
    part->removed = true;
    wp__part_begin_stop(part);
    part->worker->to_sweep = true;
}

wp_status wp_worker_remove_store(size_t *abandoned, wp_worker *worker, const char *id,
                                 int64_t deadline_ms, wp_error **err)
{
    size_t count = 0;
    wp__part *part = NULL;
    wp_status st;
    if ((st = wp__worker_check(worker, err)) != WP_OK)
        return st;
    if (!id)
        return wp__fail(err, WP_E_ARGUMENT, "id is NULL");
    if (deadline_ms < 0 || deadline_ms > WP_LEASE_MS_MAX)
        return wp__fail(err, WP_E_RANGE, "deadline_ms is %lld, not in 0..%d",
                        (long long)deadline_ms, WP_LEASE_MS_MAX);
    wp__mutex_lock(&worker->mutex);
    if ((st = check_changeable(worker, err)) == WP_OK && !(part = find(worker, id)))
        st = wp__fail(err, WP_E_NOT_FOUND, "the worker has no store \"%.255s\"", id);
    if (part) {
        wp__part_ref(part);
        begin_removal(part);
        count = wp__part_end(part, wp__real_mono_us() + deadline_ms * 1000);
    }
    wp__mutex_unlock(&worker->mutex);
    if (part)
        wp__part_unref(part);
    wp__worker_sweep(worker);
    wp__log_pump(worker->log);
    if (st == WP_OK && abandoned)
        *abandoned = count;
    return st;
}

/* The first part that was removed and has ended; out of the list. @locks mutex */
static wp__part *take_ended(wp_worker *worker)
{
    wp__part **at = &worker->parts;
    wp__part *part;
    while ((part = *at) && !(part->removed && !part->pump_running && !part->keeper_running &&
                             !part->out.count && !part->finished.count && !part->writing))
        at = &part->next;
    if (part)
        *at = part->next;
    return part;
}

void wp__worker_sweep(wp_worker *worker)
{
    wp__part *part;
    do {
        wp__mutex_lock(&worker->mutex);
        part = take_ended(worker);
        worker->to_sweep = false;
        wp__mutex_unlock(&worker->mutex);
        if (part) {
            wp__part_collect(part);
            wp__part_unref(part);
        }
    } while (part);
}

/* ---- followed ------------------------------------------------------------------------------ */

static bool is_among(const wp__part *part, wp__place *const *places, size_t count)
{
    size_t i = 0;
    while (i < count && places[i] != part->place)
        i++;
    return i < count;
}

/* @locks mutex */
static bool is_served(const wp_worker *worker, const wp__place *place)
{
    const wp__part *part = worker->parts;
    while (part && (part->removed || part->place != place))
        part = part->next;
    return part != NULL;
}

static wp_status router_changed(wp__follower *follower, wp__place *const *places, size_t count,
                                wp_error **err)
{
    wp_worker *worker = (wp_worker *)((char *)follower - offsetof(wp_worker, follower));
    wp_status st = WP_OK;
    wp__mutex_lock(&worker->mutex);
    if (worker->state == WP__STOPPING || worker->state == WP__STOPPED)
        count = 0; /* nothing is begun any more */
    for (wp__part *part = worker->parts; part; part = part->next)
        if (part->followed && !part->removed && !is_among(part, places, count))
            begin_removal(part);
    for (size_t i = 0; i < count; i++) {
        wp_status added = WP_OK;
        if (!is_served(worker, places[i]))
            added = add(worker, places[i], true, st == WP_OK ? err : NULL);
        st = st == WP_OK ? added : st;
    }
    wp__mutex_unlock(&worker->mutex);
    return st;
}

wp_status wp__worker_follow(wp_worker *worker, wp_router *router, wp_error **err)
{
    wp_status st;
    worker->follower.changed = router_changed;
    st = wp__router_follow(router, &worker->follower, err);
    if (st == WP_OK)
        worker->router = wp__router_ref(router);
    return st;
}

/* ---- seen ---------------------------------------------------------------------------------- */

int64_t wp_worker_store_counter(wp_worker *worker, const char *store_id, wp_counter counter)
{
    int64_t value = 0;
    const wp__part *part;
    if (wp__worker_check(worker, NULL) != WP_OK || !store_id || (int)counter < 0 ||
        (int)counter >= WP__COUNTERS)
        return 0;
    wp__mutex_lock(&worker->mutex);
    if ((part = find(worker, store_id)))
        value = atomic_load_explicit(&part->counters[counter], memory_order_relaxed);
    wp__mutex_unlock(&worker->mutex);
    return value;
}
