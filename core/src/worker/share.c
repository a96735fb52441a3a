/* SPDX-License-Identifier: Apache-2.0 */
/* How the stores of a worker share its handlers: who may claim how much (asked by the pumps), and
 * whose message goes to the next free handler (asked by the host's threads).
 *
 * With several stores each may hold its even share of what one could hold alone, and all together no
 * more than one could. A claim under way counts as held until it is answered, but only for a moment: a
 * database that does not answer holds no place. Who finds no place waits in line and is woken when
 * there is one; woken, not promised, so that one that does not come for it holds up nobody. */
#include <stdlib.h>

#include "worker/worker.h"

enum {
    PREFETCH_HORIZON_US = 1000000, /* nothing should wait in memory longer than this */
    PREFETCH_BYTES = 16 << 20,     /* nor more than this */
    ASKED_US = 100000              /* a claim under way counts as held for so long */
};

/* So many messages of the size that was met lately are as much as is kept in memory ahead. */
static int64_t fit_in_memory(const wp__group *group)
{
    return group->message_bytes ? PREFETCH_BYTES / group->message_bytes : INT64_MAX;
}

/* How many messages may be held where handlers take `service_us` (-1: not known): those being handled,
 * and a stock ahead that they will use up soon. */
static size_t room(const wp__worker_options *o, int64_t service_us, int64_t most_ahead)
{
    int64_t horizon = o->lease_ms * 1000 / 4;
    int64_t ahead = 2 * o->batch_size;
    if (horizon > PREFETCH_HORIZON_US)
        horizon = PREFETCH_HORIZON_US;
    if (service_us < 0)
        ahead = 0;
    else if (service_us > 0 && o->concurrency * horizon / service_us < ahead)
        ahead = o->concurrency * horizon / service_us;
    return (size_t)(o->concurrency + (ahead < most_ahead ? ahead : most_ahead));
}

/* How many a group may hold if its store is alone. @locks mutex */
static size_t capacity(const wp__group *group)
{
    return room(&group->lane->options, group->service_us, fit_in_memory(group));
}

/* Whether it has work that is known. @locks mutex */
static void note_busy(wp__part *part)
{
    const bool busy = part->held || part->waits || part->asked;
    if (busy == part->busy)
        return;
    part->busy = busy;
    part->worker->busy += busy ? 1 : SIZE_MAX;
}

static bool is_alone(const wp_worker *worker)
{
    return worker->parts && !worker->parts->next;
}

static bool drains_first(const wp_worker *worker)
{
    return worker->config->selection == WP__SELECT_DRAIN_FIRST && !worker->select;
}

/* How many it may hold beside the others that have work. @locks mutex */
static size_t share(const wp__group *group, size_t whole)
{
    const wp__part *part = group->part;
    const size_t busy = part->worker->busy + !part->busy;
    if (is_alone(part->worker) || drains_first(part->worker))
        return whole;
    return whole / busy ? whole / busy : 1;
}

size_t wp__share_wanted(const wp__group *group)
{
    const size_t whole = capacity(group);
    const size_t part = share(group, whole);
    size_t left = part;
    /* what is being written needs no handler any more, what is being claimed will */
    const size_t held = group->held - group->writing + group->asked;
    size_t batch = (size_t)group->lane->options.batch_size;
    if (held >= left)
        return 0;
    left -= held;
    if ((int64_t)batch > fit_in_memory(group))
        batch = fit_in_memory(group) > 0 ? (size_t)fit_in_memory(group) : 1;
    /* Wait for room for a whole batch, unless handlers would run dry. */
    if (left < batch && held > group->out + (size_t)group->lane->options.concurrency / 2)
        return 0;
    if (part < whole && left * 2 < part && held > group->out)
        return 0; /* of a small share, half at a time */
    return left < batch ? left : batch;
}

/* ---- claims under way ---------------------------------------------------------------------- */

/* @locks mutex */
static void unask(wp__part *part)
{
    wp_worker *worker = part->worker;
    if (!part->asked)
        return;
    part->asked_lane->asked -= part->asked;
    part->asked = 0;
    note_busy(part);
    if (part->asked_prev)
        part->asked_prev->asked_next = part->asked_next;
    else
        worker->asked_first = part->asked_next;
    if (part->asked_next)
        part->asked_next->asked_prev = part->asked_prev;
    else
        worker->asked_last = part->asked_prev;
}

/* @locks mutex */
static void ask(wp__part *part, wp__lane *lane, size_t count, int64_t now)
{
    wp_worker *worker = part->worker;
    part->asked = count;
    part->asked_lane = lane;
    part->asked_at = now;
    lane->asked += count;
    part->asked_next = NULL;
    part->asked_prev = worker->asked_last;
    if (worker->asked_last)
        worker->asked_last->asked_next = part;
    else
        worker->asked_first = part;
    worker->asked_last = part;
    note_busy(part);
}

/* @locks mutex */
static void forget_slow(wp_worker *worker, int64_t now)
{
    while (worker->asked_first && now - worker->asked_first->asked_at > ASKED_US) {
        worker->asked_first->overdue = true;
        unask(worker->asked_first);
    }
}

/* ---- the line ------------------------------------------------------------------------------ */

/* @locks mutex */
static void wait_in_line(wp__part *part)
{
    wp_worker *worker = part->worker;
    if (part->waits)
        return;
    part->waits = true;
    part->waits_next = NULL;
    if (worker->waits_last)
        worker->waits_last->waits_next = part;
    else
        worker->waits_first = part;
    worker->waits_last = part;
    note_busy(part);
}

/* @locks mutex */
static void leave_line(wp__part *part)
{
    wp_worker *worker = part->worker;
    wp__part *before = NULL;
    if (!part->waits)
        return;
    for (wp__part *p = worker->waits_first; p != part; p = p->waits_next)
        before = p;
    if (before)
        before->waits_next = part->waits_next;
    else
        worker->waits_first = part->waits_next;
    if (worker->waits_last == part)
        worker->waits_last = before;
    part->waits = false;
    note_busy(part);
}

/* Whether a store that is being drained has more, and its database answers. @locks mutex */
static bool has_more(const wp__part *part)
{
    if (part->state != WP__RUNNING || part->failing)
        return false;
    if (part->ready.count || part->asked)
        return true;
    for (const wp__group *group = part->groups; group && !part->overdue; group = group->next)
        if (group->hungry && !group->paused)
            return true;
    return false;
}

void wp__share_freed(wp_worker *worker, size_t count)
{
    if (worker->draining && has_more(worker->draining))
        return;
    worker->draining = NULL;
    if (drains_first(worker))
        count = 1;
    for (; count && worker->waits_first; count--) {
        wp__part *part = worker->waits_first;
        leave_line(part);
        wp__waiter_signal(part->waiter);
    }
}

/* How many more it may hold as far as the others go: what is left of the whole, and in any case its
 * part of the handlers themselves, lest another store's stock keeps it out. @locks mutex */
static size_t places(const wp__group *group)
{
    const wp__lane *lane = group->lane;
    const wp__part *part = group->part;
    const size_t whole = room(&lane->options, lane->service_us, INT64_MAX);
    const size_t taken = lane->held + lane->asked;
    const size_t fair = (size_t)lane->options.concurrency / (part->worker->busy + !part->busy);
    const size_t left = taken < whole ? whole - taken : 0;
    const size_t own = group->held < fair ? fair - group->held : 0;
    return own > left ? own : left;
}

size_t wp__share_ask(wp__group *group, size_t want, int64_t now)
{
    wp__part *part = group->part;
    wp_worker *worker = part->worker;
    size_t most;
    if (is_alone(worker))
        return want;
    forget_slow(worker, now);
    most = places(group);
    if (drains_first(worker)) {
        if (worker->draining && worker->draining != part && has_more(worker->draining))
            most = 0;
        else
            worker->draining = part;
    }
    if (!most) {
        wait_in_line(part);
        return 0;
    }
    if (want > most)
        want = most;
    leave_line(part);
    ask(part, group->lane, want, now);
    return want;
}

void wp__share_answered(wp__part *part)
{
    const size_t asked = part->asked;
    unask(part);
    part->overdue = false;
    if (part->worker->waits_first)
        wp__share_freed(part->worker, asked ? asked : 1);
}

void wp__share_left(wp__part *part)
{
    unask(part);
    leave_line(part);
    if (part->worker->draining == part)
        part->worker->draining = NULL;
    wp__share_freed(part->worker, SIZE_MAX);
}

/* ---- what is held -------------------------------------------------------------------------- */

void wp__share_hold(wp_delivery *delivery)
{
    wp__part *part = delivery->part;
    delivery->group->held++;
    delivery->group->lane->held++;
    part->held++;
    note_busy(part);
}

void wp__share_unhold(wp_delivery *delivery)
{
    wp__part *part = delivery->part;
    delivery->group->held--;
    delivery->group->lane->held--;
    part->held--;
    note_busy(part);
    if (part->suspect == delivery)
        part->suspect = NULL;
    if (part->worker->waits_first)
        wp__share_freed(part->worker, 1);
}

/* ---- turns --------------------------------------------------------------------------------- */

/* Stores with ready messages stand in a ring; its first one has the turn. */

/* @locks mutex */
static void turn_join(wp__part *part)
{
    wp_worker *worker = part->worker;
    part->turn_next = NULL;
    part->turn_prev = worker->turn_last;
    if (worker->turn_last)
        worker->turn_last->turn_next = part;
    else
        worker->turn_first = part;
    worker->turn_last = part;
}

/* @locks mutex */
static void turn_leave(wp__part *part)
{
    wp_worker *worker = part->worker;
    if (part->turn_prev)
        part->turn_prev->turn_next = part->turn_next;
    else
        worker->turn_first = part->turn_next;
    if (part->turn_next)
        part->turn_next->turn_prev = part->turn_prev;
    else
        worker->turn_last = part->turn_prev;
    part->turn_used = 0;
}

void wp__share_ready(wp_delivery *delivery)
{
    wp__part *part = delivery->part;
    wp__list_push(&part->ready, delivery);
    part->worker->ready_count++;
    if (part->ready.count == 1)
        turn_join(part);
}

void wp__share_unready(wp_delivery *delivery)
{
    wp__part *part = delivery->part;
    wp__list_remove(&part->ready, delivery);
    part->worker->ready_count--;
    if (!part->ready.count) {
        turn_leave(part);
        if (part->worker->draining == part)
            wp__share_freed(part->worker, 1);
    }
}

void wp__share_took_turn(wp__part *part)
{
    wp_worker *worker = part->worker;
    if (!part->ready.count || drains_first(worker) || ++part->turn_used < worker->config->turn)
        return;
    turn_leave(part);
    turn_join(part);
}

/* ---- a selector of the host's -------------------------------------------------------------- */

struct wp_candidates {
    wp__part **parts; /* references */
    size_t *ready, *running;
    size_t count;
};

size_t wp_candidates_count(const wp_candidates *candidates)
{
    return candidates ? candidates->count : 0;
}

const char *wp_candidates_store_id(const wp_candidates *candidates, size_t index)
{
    return index < wp_candidates_count(candidates) ? candidates->parts[index]->id : NULL;
}

size_t wp_candidates_ready(const wp_candidates *candidates, size_t index)
{
    return index < wp_candidates_count(candidates) ? candidates->ready[index] : 0;
}

size_t wp_candidates_running(const wp_candidates *candidates, size_t index)
{
    return index < wp_candidates_count(candidates) ? candidates->running[index] : 0;
}

/* @locks mutex */
static bool list_candidates(wp_candidates *out, const wp_worker *worker)
{
    size_t count = 0;
    for (const wp__part *p = worker->turn_first; p; p = p->turn_next)
        count++;
    out->parts = calloc(count + 1, sizeof(wp__part *));
    out->ready = calloc(count + 1, sizeof *out->ready);
    out->running = calloc(count + 1, sizeof *out->running);
    if (!out->parts || !out->ready || !out->running)
        return false;
    for (wp__part *p = worker->turn_first; p; p = p->turn_next) {
        out->parts[out->count] = wp__part_ref(p);
        out->ready[out->count] = p->ready.count;
        out->running[out->count++] = p->out.count;
    }
    return true;
}

static void free_candidates(wp_candidates *candidates)
{
    for (size_t i = 0; i < candidates->count; i++)
        wp__part_unref(candidates->parts[i]);
    free(candidates->parts);
    free(candidates->ready);
    free(candidates->running);
}

/* Whether it still has something ready. It may be gone altogether. @locks mutex */
static bool stands_in_turn(const wp_worker *worker, const wp__part *part)
{
    const wp__part *p = worker->turn_first;
    while (p && p != part)
        p = p->turn_next;
    return p != NULL;
}

wp__part *wp__share_select(wp_worker *worker)
{
    wp_candidates candidates = {0};
    wp__part *chosen = NULL;
    bool listed;
    if (!worker->select || worker->turn_first == worker->turn_last)
        return NULL;
    listed = list_candidates(&candidates, worker);
    wp__mutex_unlock(&worker->mutex);
    if (listed) {
        size_t index = worker->select(&candidates, worker->select_user);
        chosen = index < candidates.count ? candidates.parts[index] : NULL;
    }
    free_candidates(&candidates);
    wp__mutex_lock(&worker->mutex);
    return chosen && stands_in_turn(worker, chosen) ? chosen : NULL;
}
