/* SPDX-License-Identifier: Apache-2.0 */
/* The pump: the one thread of a part that writes outcomes and claims. Both go into one
 * transaction when both are due, which halves the commits under load. It sleeps until something
 * finishes, a wake-up hints at new work, or the next poll, due time or reap; polling is the truth. */
#include <stdlib.h>
#include <string.h>

#include "worker/worker.h"

enum {
    CLOCK_SET_GRACE_US = 5000000, /* for keepers to renew after the wall clock was set */
    CHANNEL_TRUST_US = 30000000,  /* a channel that was heard is believed in for so long */
    CHANNEL_ANSWER_US = 1000000,  /* a signal that was not heard by then is not heard */
    CHANNEL_SILENT_MAX = 3,       /* so many in a row: connect and listen anew */
    HEARD_POLL_US = 5000,     /* after a signal: polls from this on, for those who commit later */
    NO_PLACE_US = 1000000,    /* without a place: looks again after this */
    RECHECK_FIRST_US = 100,   /* after a change of the file was announced; each time doubled */
    RECHECK_MAX_US = 2000000, /* all of it takes twice as long: a disk may be slow to sync */
    BACKOFF_FIRST_US = 50000,
    BACKOFF_MAX_US = 5000000
};

/* ---- claims ------------------------------------------------------------------------------- */

bool wp__pump_wants(const wp__group *group)
{
    return !group->paused && atomic_load_explicit(&group->hungry, memory_order_relaxed) &&
           wp__share_wanted(group) > 0;
}

/* @locks mutex */
static void group_found(wp__group *group, size_t count, size_t asked)
{
    group->hungry = count == asked;
    if (count)
        group->idle_us = 0;
}

/* Nothing (more) to claim: when to look again. */
static void group_idle(wp__part *part, wp__group *group, int64_t now, int64_t due_in_us)
{
    const wp__worker_options *o = &group->lane->options;
    int64_t max = o->poll_max_ms * 1000;
    int64_t min = o->poll_min_ms * 1000;
    int64_t wait;
    if (max && max < min) /* whoever sets the longest wait alone means it */
        min = max;
    if (max == 0)
        max = part->watching ? 30000000 : 1000000;
    if (max < min)
        max = min;
    wp__mutex_lock(&part->worker->mutex);
    group->hungry = false;
    group->idle_us = group->idle_us ? group->idle_us * 2 : min;
    if (group->idle_us > max)
        group->idle_us = max;
    wait = group->idle_us - (int64_t)(wp__random() % (uint64_t)(group->idle_us / 8 + 1));
    if (due_in_us > 0 && due_in_us < wait)
        wait = due_in_us;
    group->next_poll_us = now + wait;
    wp__mutex_unlock(&part->worker->mutex);
}

/* ---- errors ------------------------------------------------------------------------------- */

static void set_failing(wp__part *part, bool failing)
{
    if (part->failing == failing) /* nobody else writes it */
        return;
    wp__mutex_lock(&part->worker->mutex);
    part->failing = failing;
    if (part->worker->draining == part)
        wp__share_freed(part->worker, 1);
    wp__mutex_unlock(&part->worker->mutex);
}

static void met_error(wp__part *part, const wp_error *err)
{
    int64_t backoff = part->error_backoff_us;
    backoff = backoff ? backoff * 2 : BACKOFF_FIRST_US;
    if (backoff > BACKOFF_MAX_US)
        backoff = BACKOFF_MAX_US;
    part->error_backoff_us = backoff;
    backoff -= (int64_t)(wp__random() % (uint64_t)(backoff / 4));
    part->error_until = wp__worker_now(part->worker) + backoff;
    set_failing(part, true);
    wp__part_count(part, WP_COUNTER_ERRORS, 1);
    WP__LOG(part->worker->log, WP_LOG_WARNING, "database error, will try again",
            WP__F_TEXT("StoreId", part->id), WP__F_TEXT("WorkerId", part->worker->name),
            WP__F_TEXT("Exception", wp_error_message(err)));
}

/* Hear of new work from now on, before the first look for it. */
static void tune_in(wp__part *part)
{
    const char *path = wp__store_watch_path(part->store);
    part->watching = path && wp__waiter_watch(part->waiter, path);
    part->listens = wp__store_listens(part->store);
    part->listening = true;
    wp__store_listen(part->store, &part->listener);
}

/* The pump opens its store, and tries again after an error: nobody else waits for that. */
static wp_status open_store(wp__part *part, wp_error **err)
{
    wp_store *store = NULL;
    wp_status st = WP_OK;
    if (!part->store && (st = wp__place_open(&store, part->place, err)) == WP_OK) {
        wp__mutex_lock(&part->worker->mutex);
        part->store = store;
        wp__mutex_unlock(&part->worker->mutex);
    }
    if (st == WP_OK && !part->listening && !part->worker->manual && part->worker->config->wakeups)
        tune_in(part);
    return st;
}

static wp_status connect_pump(wp__part *part, wp_error **err)
{
    wp_conn *conn = NULL;
    wp_status st;
    if (wp__conn_is_sound(part->pump_conn))
        return WP_OK;
    wp__pump_close(part);
    if ((st = open_store(part, err)) != WP_OK)
        return st;
    if ((st = wp__store_connect(&conn, part->store, WP__OPEN_WORKER, err)) != WP_OK)
        return st;
    if (conn->driver->change_number)
        part->change_number = conn->driver->change_number(conn);
    if (part->listens &&
        (st = conn->driver->listen(conn, wp__store_channel(part->store), err)) != WP_OK) {
        wp__conn_close(conn);
        return st;
    }
    if (part->listens)
        wp__waiter_watch_input(part->waiter, conn->driver->descriptor(conn));
    wp__mutex_lock(&part->worker->mutex); /* stop() may want to interrupt it */
    part->pump_conn = conn;
    wp__mutex_unlock(&part->worker->mutex);
    return WP_OK;
}

void wp__pump_close(wp__part *part)
{
    wp__waiter_watch_input(part->waiter, -1);
    wp__part_close(part, &part->pump_conn);
}

/* ---- one transaction ---------------------------------------------------------------------- */

/* Flush what `f` holds, and claim up to `count` for `group` (NULL: none). */
static wp_status transact(wp__part *part, wp__flush *f, wp__group *group, size_t count,
                          size_t *claimed, wp_error **err)
{
    wp__exchange x = {0};
    wp__exchange_prepare(&x, part, f, group, count);
    wp__exchange_run(&x, part->pump_conn);
    *claimed = x.claimed;
    return wp__exchange_end(&x, err);
}

/* Every group polls now: a probe finds out what is due and when. */
static void poll_now(wp__part *part, int64_t now)
{
    wp__mutex_lock(&part->worker->mutex);
    for (wp__group *group = part->groups; group; group = group->next)
        group->next_poll_us = now;
    wp__mutex_unlock(&part->worker->mutex);
    part->tick_at = now;
}

/* Others may commit a moment after the one whose signal was heard: polls begin short again. */
static void poll_soon(wp__part *part)
{
    wp__mutex_lock(&part->worker->mutex);
    for (wp__group *group = part->groups; group; group = group->next)
        group->idle_us = HEARD_POLL_US;
    wp__mutex_unlock(&part->worker->mutex);
}

void wp__pump_work_made(wp__part *part)
{
    poll_now(part, wp__worker_now(part->worker));
    wp__store_announce_from(part->store, &part->listener);
}

/* ---- the database's channel --------------------------------------------------------------- */

/* Long waits rest on the channel, so it is asked whether it works: a signal goes out on another
 * connection. Where none comes in (a proxy, a listener that died unseen) polls stay short, and now and
 * then the pump connects anew. */
static void ask_channel(wp__part *part, int64_t now)
{
    if (now - part->heard_at < CHANNEL_TRUST_US)
        return;
    if (part->channel_asked_at && now - part->channel_asked_at < CHANNEL_ANSWER_US)
        return;
    if (part->channel_asked_at) {
        part->watching = false;
        if (++part->channel_silent >= CHANNEL_SILENT_MAX) {
            part->channel_silent = -10 * CHANNEL_SILENT_MAX; /* the next time it takes longer */
            part->pump_conn->broken = true;
        }
    }
    part->channel_asked_at = now;
    wp__signaller_request(wp__store_signaller(part->store), part->store);
}

/* Something came in on the pump's connection. True: a signal. */
static bool hear(wp__part *part, int64_t now)
{
    if (!part->pump_conn || !part->pump_conn->driver->heard(part->pump_conn))
        return false;
    part->heard_at = now;
    part->channel_asked_at = 0;
    part->channel_silent = 0;
    part->watching = true;
    return true;
}

static wp_status maintain(wp__part *part, int64_t now, wp_error **err)
{
    wp_status st = WP_OK;
    part->next_reap = now + part->worker->config->reap_ms * 1000;
    if (part->listens)
        ask_channel(part, now);
    (void)wp__worker_clock_was_set(part->worker, &part->clock_offset);
    if (now - atomic_load(&part->worker->clock_set_at) >= CLOCK_SET_GRACE_US)
        st = wp__part_reap(part, err);
    if (st == WP_OK)
        st = wp__jobs_pass_cancels(part, err);
    if (st == WP_OK && part->unsure_until)
        st = wp__recover_claims(part, err);
    if (part->unsure_until <= now)
        part->unsure_until = 0;
    /* Once when work ends, and now and then while it goes on. */
    if (part->worked) {
        bool idle;
        wp__mutex_lock(&part->worker->mutex);
        idle = part->held == 0;
        wp__mutex_unlock(&part->worker->mutex);
        part->worked = (part->pump_conn->driver->tidy &&
                        !part->pump_conn->driver->tidy(part->pump_conn, idle)) ||
                       !idle;
    }
    return st;
}

/* What is finished is written before others' expired claims are looked for: if nothing could be written
 * for the length of a lease, they would be our own. */
static wp_status write_finished(wp__part *part, wp_error **err)
{
    wp__flush f = {0};
    wp_status st;
    wp__mutex_lock(&part->worker->mutex);
    st = wp__flush_take(&f, part, err);
    wp__mutex_unlock(&part->worker->mutex);
    return st == WP_OK && f.count ? transact(part, &f, NULL, 0, &(size_t){0}, err) : st;
}

/* ---- a round ------------------------------------------------------------------------------ */

/* The next group that wants messages and whose time has come. @locks mutex */
static wp__group *choose_group(wp__part *part, int64_t now, size_t *count, int64_t *deadline)
{
    wp__group *group = part->first_group;
    if (part->state != WP__RUNNING || part->alone || wp__claims_wait(part, now, deadline))
        return NULL;
    if (part->suspicious && (part->held || part->claims) && now < part->suspicious_until) {
        if (part->suspicious_until < *deadline)
            *deadline = part->suspicious_until;
        return NULL;
    }
    if (part->suspicious) {
        *count = 1;
        return part->suspicious;
    }
    do {
        size_t want = group->paused ? 0 : wp__share_wanted(group);
        if (want && (group->hungry || group->next_poll_us <= now)) {
            part->first_group = group->next ? group->next : part->groups;
            *count = want;
            return group;
        }
        if (want && group->next_poll_us < *deadline)
            *deadline = group->next_poll_us;
        group = group->next ? group->next : part->groups;
    } while (group != part->first_group);
    return NULL;
}

/* An idle group is asked first, by a read that takes no lock, whether there is anything. */
static wp_status probe(wp__part *part, wp__group *group, bool *empty, int64_t now, wp_error **err)
{
    int64_t due_in_us = 0;
    int64_t since_us = wp__claims_since(group, now);
    wp_status st;
    *empty = false;
    if (group->hungry || group == part->suspicious || !group->lane->topics)
        return WP_OK;
    st = wp__queue_next_due(&due_in_us, part->store, part->pump_conn, group->lane->queue,
                            group->topics ? group->topics : group->lane->topics, since_us, err);
    wp__swept(&group->sweep_at, since_us, now, wp__worker_now(part->worker));
    if (st == WP_OK && due_in_us > 0) {
        wp__part_count(part, WP_COUNTER_POLLS, 1);
        *empty = true;
        group_idle(part, group, now, due_in_us);
    } else {
        group->sweep_at =
            since_us == INT64_MIN ? now : group->sweep_at; /* the claim must find it */
    }
    return st;
}

/* The other stores hold all that may be held. There is work, and it is not asked for again until a
 * place comes free, or may have been overlooked. @locks mutex */
static void no_place(wp__group *group, int64_t now, int64_t *deadline)
{
    group->hungry = true;
    if (now + NO_PLACE_US < *deadline)
        *deadline = now + NO_PLACE_US;
}

/* A claim was answered or failed. */
static void claim_end(wp__part *part, wp__group *group, bool answered, size_t claimed, size_t count)
{
    const int64_t now = wp__worker_now(part->worker);
    bool idle = false;
    wp__mutex_lock(&part->worker->mutex);
    if (answered) {
        bool ask = claimed || (group->hungry && group->lane->topics);
        group_found(group, claimed, count);
        if (!group->hungry && ask)
            group->next_poll_us = now; /* a probe will tell when the next one is due */
        idle = !group->hungry && !ask;
    }
    wp__share_answered(part);
    wp__mutex_unlock(&part->worker->mutex);
    if (idle)
        group_idle(part, group, now, INT64_MAX);
}

/* Note what came of what was handed to the second. */
wp_status wp__part_collect_second(wp__part *part, wp_error **err)
{
    wp__exchange *x = &part->second_exchange;
    wp_status st;
    if (!wp__second_is_done(part))
        return WP_OK;
    st = wp__exchange_end(x, err);
    claim_end(part, x->group, x->answered, x->claimed, x->count);
    wp__second_free(part);
    return st;
}

/* Do what is due; *deadline gets when there will be something to do without a signal. */
static wp_status round_once(wp__part *part, int64_t *deadline, bool *did, wp_error **err)
{
    wp__flush f = {0};
    wp__group *group;
    size_t count = 0;
    size_t claimed = 0;
    bool empty = false;
    bool helps;
    int64_t now = wp__worker_now(part->worker);
    bool reconnected = !wp__conn_is_sound(part->pump_conn);
    wp_status st;
    *did = false;
    if ((st = wp__part_collect_second(part, err)) != WP_OK ||
        (st = connect_pump(part, err)) != WP_OK)
        return st;
    if (reconnected)
        part->pauses_read_at = INT64_MIN / 2;
    if (reconnected)
        poll_now(part, now); /* it may be another file, and changes were not seen meanwhile */
    if (now >= part->next_reap || (reconnected && part->unsure_until)) {
        wp__second_wait(part); /* what it has is neither expired nor lost */
        if ((st = wp__part_collect_second(part, err)) != WP_OK)
            return st;
    }
    if (now >= part->next_reap &&
        ((st = write_finished(part, err)) != WP_OK || (st = maintain(part, now, err)) != WP_OK))
        return st;
    if (reconnected && part->unsure_until && (st = wp__recover_claims(part, err)) != WP_OK)
        return st;
    *deadline = part->next_reap;
    if ((st = wp__part_heed_pauses(part, now, deadline, err)) != WP_OK ||
        (st = wp__jobs_tick(part, now, deadline, err)) != WP_OK ||
        (st = wp__jobs_hear_cancels(part, now, deadline, err)) != WP_OK ||
        (st = wp__part_clean(part, now, deadline, err)) != WP_OK)
        return st;
    now = wp__worker_now(part->worker); /* the runs that were just made are due by now */
    wp__mutex_lock(&part->worker->mutex);
    group = choose_group(part, now, &count, deadline);
    wp__mutex_unlock(&part->worker->mutex);
    if (group && (st = probe(part, group, &empty, now, err)) != WP_OK)
        return st;
    if (group && empty) {
        *did = true; /* another group may be due */
        group = NULL;
    }
    wp__mutex_lock(&part->worker->mutex);
    if (group && !(count = wp__share_ask(group, count, now))) {
        no_place(group, now, deadline);
        group = NULL;
    }
    helps = group && wp__second_would_help(part, group);
    if (wp__flush_is_due(part, now, deadline) || (group && part->finished.count))
        st = wp__flush_take(&f, part, err);
    wp__mutex_unlock(&part->worker->mutex);
    if (st == WP_OK && (f.count || group)) {
        *did = true;
        if (helps && wp__second_take(part, &f, group, count))
            return WP_OK;
        st = transact(part, &f, group, count, &claimed, err);
    }
    if (group)
        claim_end(part, group, st == WP_OK, claimed, count);
    return st;
}

/* ---- the thread --------------------------------------------------------------------------- */

/* A hint of new work. */
static void wake(wp__part *part, int64_t now)
{
    wp__part_count(part, WP_COUNTER_WAKES, 1);
    part->hinted = true;
    part->pauses_hinted = true;
    poll_now(part, now);
}

/* A change of the file was announced. It is announced when it is written, and the commit can be seen
 * once the disk has synced that, so look for the change itself, again and again at growing intervals:
 * found after at most twice the time that the commit took. */
static void look_for_change(wp__part *part, int64_t now)
{
    int64_t number;
    if (!part->pump_conn || !part->pump_conn->driver->change_number)
        return;
    number = part->pump_conn->driver->change_number(part->pump_conn);
    if (number == part->change_number) {
        part->recheck_us = part->recheck_us ? part->recheck_us * 2 : RECHECK_FIRST_US;
        if (part->recheck_us > RECHECK_MAX_US)
            part->recheck_us = 0; /* it was no commit, or one of our own */
        part->recheck_at = now + part->recheck_us;
        return;
    }
    part->change_number = number;
    part->recheck_us = 0;
    wake(part, now);
}

static void sleep_until(wp__part *part, int64_t deadline)
{
    int64_t now = wp__worker_now(part->worker);
    unsigned woke = 0;
    atomic_store_explicit(&part->pump_due_at, deadline, memory_order_relaxed);
    /* A signal that came in with the answer to a statement has been read: the socket tells of it no more. */
    bool heard = part->listens && hear(part, now);
    if (part->pump_conn && part->pump_conn->broken)
        return;
    if (part->recheck_us && part->recheck_at < deadline)
        deadline = part->recheck_at;
    if (!heard)
        woke = wp__waiter_wait(part->waiter, deadline);
    now = wp__worker_now(part->worker);
    if (woke & WP__WOKE_CHANGE)
        part->recheck_us = 0; /* begin anew */
    if ((woke & WP__WOKE_CHANGE) || (part->recheck_us && now >= part->recheck_at))
        look_for_change(part, now);
    if (heard || ((woke & WP__WOKE_INPUT) && hear(part, now))) {
        wake(part, now);
        poll_soon(part);
    }
    if (!part->listens)
        part->watching = part->watching && wp__waiter_is_watching(part->waiter);
}

/* Hints from this process: another thread committed, or wp_worker_wake(). */
static void take_hint(wp__part *part, int64_t now)
{
    if (!atomic_exchange(&part->listener.hinted, false))
        return;
    wake(part, now);
}

/* @locks mutex */
static bool may_end(const wp__part *part)
{
    if (part->pump_exit)
        return true;
    return part->state != WP__RUNNING && part->out.count == 0 && part->ready.count == 0 &&
           part->finished.count == 0 && part->second_state == WP__SECOND_IDLE;
}

static bool ended(wp__part *part)
{
    bool end;
    wp__mutex_lock(&part->worker->mutex);
    end = may_end(part);
    wp__mutex_unlock(&part->worker->mutex);
    return end;
}

/* Whatever could not be written will not be: its lease lapses. */
static void give_up_rest(wp__part *part)
{
    wp_worker *worker = part->worker;
    wp_delivery *delivery;
    wp__mutex_lock(&worker->mutex);
    while ((delivery = part->finished.first)) {
        wp__list_remove(&part->finished, delivery);
        wp__delivery_settle(delivery, WP_E_STOPPED);
        wp__cond_broadcast(&worker->settled);
        wp__mutex_unlock(&worker->mutex);
        wp_delivery_free(delivery);
        wp__mutex_lock(&worker->mutex);
    }
    wp__mutex_unlock(&worker->mutex);
}

/* Errors are real, also under a clock that only a test moves. */
static void wait_after_error(wp__part *part)
{
    atomic_store_explicit(&part->pump_due_at, part->error_until, memory_order_relaxed);
    if (!wp__clock_is_manual(part->worker->clock)) {
        (void)wp__waiter_wait(part->waiter, part->error_until);
    } else {
        wp__sleep_us(BACKOFF_FIRST_US / 10);
        part->error_until = 0;
    }
}

void *wp__pump_main(void *arg)
{
    wp__part *part = arg;
    wp_worker *worker = part->worker;
    while (!ended(part)) {
        wp_error *err = NULL;
        int64_t deadline = 0;
        int64_t now = wp__worker_now(part->worker);
        bool did = false;
        atomic_store_explicit(&part->pump_due_at, now, memory_order_relaxed);
        take_hint(part, now);
        if (now < part->error_until) {
            wait_after_error(part);
            continue;
        }
        if (round_once(part, &deadline, &did, &err) != WP_OK) {
            met_error(part, err);
            wp_error_free(err);
            continue;
        }
        set_failing(part, false);
        if (!did)
            sleep_until(part, deadline);
    }
    wp__second_end(part);
    (void)wp__part_collect_second(part, NULL);
    give_up_rest(part);
    wp__pump_close(part);
    if (part->listening)
        wp__store_unlisten(part->store, &part->listener);
    wp__mutex_lock(&worker->mutex);
    part->pump_running = false;
    wp__cond_signal(&part->keep);
    wp__part_thread_ended(part);
    wp__mutex_unlock(&worker->mutex);
    wp__part_unref(part);
    wp__worker_unref(worker);
    return NULL;
}

wp_status wp__pump_round(wp__part *part, size_t limit, size_t *claimed, wp_error **err)
{
    wp_status st = connect_pump(part, err);
    size_t total = 0;
    *claimed = 0;
    (void)wp__worker_clock_was_set(part->worker, &part->clock_offset); /* nobody else to wait for */
    part->tick_at = 0;
    part->pauses_read_at = INT64_MIN / 2;
    if (st != WP_OK ||
        (limit &&
         ((st = wp__part_heed_pauses(part, wp__worker_now(part->worker), &(int64_t){0}, err)) !=
              WP_OK ||
          (st = wp__part_reap(part, err)) != WP_OK ||
          (st = wp__jobs_tick(part, wp__worker_now(part->worker), &(int64_t){0}, err)) != WP_OK)))
        return st;
    for (wp__group *group = part->groups; st == WP_OK && group; group = group->next) {
        wp__flush f = {0};
        size_t count = 0;
        size_t got = 0;
        wp__mutex_lock(&part->worker->mutex);
        st = wp__flush_take(&f, part, err);
        if (!group->paused && !part->alone &&
            !wp__claims_wait(part, wp__worker_now(part->worker), &(int64_t){0}) &&
            group->held < (size_t)group->lane->options.concurrency)
            count = (size_t)group->lane->options.concurrency - group->held;
        wp__mutex_unlock(&part->worker->mutex);
        if (count > limit - total)
            count = limit - total;
        if (count > (size_t)group->lane->options.batch_size)
            count = (size_t)group->lane->options.batch_size;
        if (st == WP_OK)
            st = transact(part, &f, count ? group : NULL, count, &got, err);
        total += got;
    }
    *claimed = total;
    return st;
}
