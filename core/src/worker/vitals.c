/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/vitals.h"

#include <stdlib.h>

#include "base/text.h"

/* @locks mutex */
static wp_status look_at(wp__part_vitals *out, const wp__part *part, int64_t now, wp_error **err)
{
    wp_store *store;
    const int64_t late = now - atomic_load_explicit(&part->pump_due_at, memory_order_relaxed);
    out->id = wp__text_dup(part->id);
    if (!out->id)
        return wp__fail_nomem(err);
    store = part->store ? part->store : wp__place_given(part->place);
    out->store = store ? wp__store_ref(store) : NULL;
    out->running = part->pump_running && part->state == WP__RUNNING;
    out->failing = part->failing;
    out->pump_late_us = out->running && late > 0 ? late : 0;
    out->out = (int64_t)part->out.count;
    if (part->out.first) /* in the order in which they were handed out */
        out->oldest_us = now - part->out.first->out_at;
    return WP_OK;
}

/* @locks mutex */
static bool is_stuck(const wp_worker *worker, int64_t now, int64_t stuck_us)
{
    if (!stuck_us || !worker->out_count)
        return false;
    if (!worker->ready_count && worker->out_count < (size_t)worker->config->worker.concurrency)
        return false;
    for (const wp__part *part = worker->parts; part; part = part->next)
        if (part->out.last && now - part->out.last->out_at < stuck_us)
            return false;
    return true;
}

wp_status wp__worker_vitals(wp__vitals *out, wp_worker *worker, int64_t stuck_us, wp_error **err)
{
    const int64_t now = wp__worker_now(worker);
    size_t count = 0;
    wp_status st = WP_OK;
    *out = (wp__vitals){0};
    wp__mutex_lock(&worker->mutex);
    for (const wp__part *part = worker->parts; part; part = part->next)
        count += !part->removed;
    out->parts = calloc(count + 1, sizeof *out->parts);
    if (!out->parts)
        st = wp__fail_nomem(err);
    for (const wp__part *part = worker->parts; part && st == WP_OK; part = part->next)
        if (!part->removed)
            st = look_at(&out->parts[out->count++], part, now, err);
    out->running = worker->state == WP__RUNNING;
    out->schedules = wp__worker_uses(worker, &wp__timer) || wp__worker_uses(worker, &wp__job_run);
    out->out = (int64_t)worker->out_count;
    out->ready = (int64_t)worker->ready_count;
    out->stuck = is_stuck(worker, now, stuck_us);
    wp__mutex_unlock(&worker->mutex);
    return st;
}

void wp__vitals_free(wp__vitals *vitals)
{
    for (size_t i = 0; i < vitals->count; i++) {
        free(vitals->parts[i].id);
        wp__store_unref(vitals->parts[i].store);
    }
    free(vitals->parts);
    *vitals = (wp__vitals){0};
}

bool wp__worker_is_live(wp_worker *worker)
{
    enum {
        HANGS = 10
    }; /* so many times health.pump_ms: by then drivers have given up by themselves */
    const int64_t now = wp__worker_now(worker);
    bool live;
    wp__mutex_lock(&worker->mutex);
    live = worker->state != WP__STOPPED;
    for (const wp__part *part = worker->parts; part && live; part = part->next)
        live = !part->pump_running ||
               (now - atomic_load_explicit(&part->pump_due_at, memory_order_relaxed)) / 1000 <
                   HANGS * worker->config->health_pump_ms;
    wp__mutex_unlock(&worker->mutex);
    return live;
}

bool wp__worker_schedules(wp_worker *worker)
{
    bool schedules;
    wp__mutex_lock(&worker->mutex);
    schedules = wp__worker_uses(worker, &wp__timer) || wp__worker_uses(worker, &wp__job_run);
    wp__mutex_unlock(&worker->mutex);
    return schedules;
}

bool wp__worker_handles(wp_worker *worker, const wp__queue *queue, const char *topic)
{
    const wp__topic *found;
    bool handles;
    wp__mutex_lock(&worker->mutex);
    found = wp__worker_topic(worker, queue, topic);
    handles = found && found->handled;
    wp__mutex_unlock(&worker->mutex);
    return handles;
}
