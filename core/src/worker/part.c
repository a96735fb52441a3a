/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's part for one store: made, started, freed. */
#include <stdlib.h>

#include <waypost/pause.h>

#include "worker/worker.h"

wp_status wp__part_new(wp__part **out, wp_worker *worker, wp__place *place, wp_error **err)
{
    wp_status st;
    wp__part *part = calloc(1, sizeof *part);
    if (!part)
        return wp__fail_nomem(err);
    atomic_init(&part->refs, 1);
    part->worker = worker;
    for (size_t i = 0; i < WP__QUEUES; i++)
        part->reaping[i].since_us = INT64_MIN;
    part->place = wp__place_ref(place);
    part->id = wp__place_id(place);
    part->server_offset = INT64_MIN;
    part->heard_at = INT64_MIN / 2;
    wp_id_new(&part->owner);
    wp__cond_init(&part->keep, worker->clock);
    wp__cond_init(&part->second_go, worker->clock);
    wp__cond_init(&part->second_done, worker->clock);
    if ((st = wp__waiter_new(&part->waiter, worker->clock, err)) != WP_OK) {
        wp__part_unref(part);
        return st;
    }
    part->listener.waiter = part->waiter;
    *out = part;
    return WP_OK;
}

wp__part *wp__part_ref(wp__part *part)
{
    atomic_fetch_add_explicit(&part->refs, 1, memory_order_relaxed);
    return part;
}

void wp__part_unref(wp__part *part)
{
    if (atomic_fetch_sub_explicit(&part->refs, 1, memory_order_acq_rel) != 1)
        return;
    while (part->groups) {
        wp__group *group = part->groups;
        part->groups = group->next;
        free(group->topics);
        free(group->after_key);
        free(group);
    }
    free(part->tallies);
    wp_pauses_free(part->pauses);
    wp__waiter_free(part->waiter);
    wp__cond_destroy(&part->keep);
    wp__cond_destroy(&part->second_go);
    wp__cond_destroy(&part->second_done);
    wp__place_unref(part->place);
    free(part);
}

bool wp__part_is_ending(wp__part *part)
{
    bool ends;
    wp__mutex_lock(&part->worker->mutex);
    ends = part->state == WP__STOPPING || part->state == WP__STOPPED;
    wp__mutex_unlock(&part->worker->mutex);
    return ends;
}

wp_status wp__part_connect(wp__part *part, wp_conn **slot, wp_error **err)
{
    wp_conn *conn = NULL;
    wp_status st;
    if (wp__conn_is_sound(*slot))
        return WP_OK;
    wp__part_close(part, slot);
    if ((st = wp__store_connect(&conn, part->store, WP__OPEN_WORKER, err)) != WP_OK)
        return st;
    wp__mutex_lock(&part->worker->mutex);
    *slot = conn;
    wp__mutex_unlock(&part->worker->mutex);
    return WP_OK;
}

void wp__part_close(wp__part *part, wp_conn **slot)
{
    wp_conn *conn;
    wp__mutex_lock(&part->worker->mutex);
    conn = *slot;
    *slot = NULL;
    wp__mutex_unlock(&part->worker->mutex);
    wp__conn_close(conn);
}

void wp__part_count(wp__part *part, wp_counter counter, int64_t by)
{
    atomic_fetch_add_explicit(&part->counters[counter], by, memory_order_relaxed);
    atomic_fetch_add_explicit(&part->worker->counters[counter], by, memory_order_relaxed);
}

wp__tally *wp__part_tally(wp__part *part, const wp__queue *queue, const wp__topic *topic)
{
    return &part->tallies[topic ? topic->number
                                : part->worker->topic_count + wp__queue_index(queue)];
}

static wp_status add_group(wp__part *part, wp__lane *lane, wp_error **err)
{
    wp__group *group = calloc(1, sizeof *group);
    if (!group)
        return wp__fail_nomem(err);
    group->lane = lane;
    group->part = part;
    group->service_us = -1;
    group->hungry = true;
    group->since_us = INT64_MIN;
    group->next = part->groups;
    part->groups = group;
    return WP_OK;
}

wp_status wp__part_plan(wp__part *part, wp_error **err)
{
    wp_status st = WP_OK;
    if (part->first_group)
        return WP_OK;
    if (!part->tallies)
        part->tallies = calloc(part->worker->topic_count + WP__QUEUES, sizeof *part->tallies);
    if (!part->tallies)
        return wp__fail_nomem(err);
    for (wp__lane *lane = part->worker->lanes; lane && st == WP_OK; lane = lane->next)
        st = add_group(part, lane, err);
    if (st == WP_OK)
        part->first_group = part->groups;
    return st;
}

wp_status wp__part_start(wp__part *part, wp_error **err)
{
    wp_worker *worker = part->worker;
    wp_status st;
    (void)wp__worker_clock_was_set(worker, &part->clock_offset);
    wp__worker_ref(worker);
    wp__part_ref(part);
    part->pump_running = true;
    part->state = WP__RUNNING;
    atomic_store(&part->pump_due_at, wp__worker_now(worker));
    st = wp__thread_start(&part->pump_thread, "waypost-pump", wp__pump_main, part, err);
    if (st != WP_OK) {
        part->pump_running = false;
        part->state = WP__NEW;
        wp__part_unref(part);
        wp__worker_unref(worker);
    }
    return st;
}

/* A handler stopped the worker, and has returned. @locks mutex */
static void note_stopped(wp_worker *worker)
{
    for (const wp__part *p = worker->parts; p; p = p->next)
        if (p->pump_running || p->keeper_running)
            return;
    if (worker->state == WP__STOPPING)
        worker->state = WP__STOPPED;
}

void wp__part_thread_ended(wp__part *part)
{
    if (part->state == WP__STOPPING && !part->pump_running && !part->keeper_running)
        part->state = WP__STOPPED;
    if (part->removed) {
        part->worker->to_sweep = true;
        wp__cond_signal(&part->worker->available);
    }
    note_stopped(part->worker);
    wp__cond_broadcast(&part->worker->settled);
    wp__cond_broadcast(&part->worker->cancels);
}
