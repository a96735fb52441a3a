/* SPDX-License-Identifier: Apache-2.0 */
/* The pump: the one thread of a worker that writes outcomes and claims. Both go into one
 * transaction when both are due, which halves the commits under load. It sleeps until something
 * finishes, a wake-up hints at new work, or the next poll, due time or reap; polling is the truth. */
#include <stdlib.h>
#include <string.h>

#include "worker/worker.h"

enum {
    PREFETCH_HORIZON_US = 1000000, /* nothing should wait in memory longer than this */
    PREFETCH_BYTES = 16 << 20,     /* nor more than this */
    CLOCK_SET_GRACE_US = 5000000,  /* for keepers to renew after the wall clock was set */
    SINCE_MARGIN_US = 50000,       /* transactions may commit so much later than they wrote */
    REAP_MARGIN_US = 10000000,     /* and claims */
    SWEEP_SHARE = 20,              /* looking behind it takes no more than 1/this of the time */
    UNSURE_US = 5000000,           /* a server that lost its client may commit so much later */
    CHANNEL_TRUST_US = 30000000,   /* a channel that was heard is believed in for so long */
    CHANNEL_ANSWER_US = 1000000,   /* a signal that was not heard by then is not heard */
    CHANNEL_SILENT_MAX = 3,        /* so many in a row: connect and listen anew */
    ALONE_US = 5000000,            /* a message that kills its process does so within this */
    HEARD_POLL_US = 5000,     /* after a signal: polls from this on, for those who commit later */
    RECHECK_FIRST_US = 100,   /* after a change of the file was announced; each time doubled */
    RECHECK_MAX_US = 2000000, /* all of it takes twice as long: a disk may be slow to sync */
    BACKOFF_FIRST_US = 50000,
    BACKOFF_MAX_US = 5000000
};

/* ---- claims ------------------------------------------------------------------------------- */

/* So many messages of the size that was met lately are as much as is kept in memory ahead. */
static int64_t fit_in_memory(const wp__group *group)
{
    return group->message_bytes ? PREFETCH_BYTES / group->message_bytes : INT64_MAX;
}

/* How many messages a group may hold: those being handled, and a store ahead that handlers will
 * use up soon, judged by how long they take and how large they are. @locks mutex */
static size_t capacity(const wp__group *group)
{
    const wp__worker_options *o = &group->options;
    int64_t horizon = o->lease_ms * 1000 / 4;
    int64_t ahead = 2 * o->batch_size;
    if (horizon > PREFETCH_HORIZON_US)
        horizon = PREFETCH_HORIZON_US;
    if (group->service_us < 0)
        ahead = 0;
    else if (group->service_us > 0 && o->concurrency * horizon / group->service_us < ahead)
        ahead = o->concurrency * horizon / group->service_us;
    if (ahead > fit_in_memory(group))
        ahead = fit_in_memory(group);
    return (size_t)(o->concurrency + ahead);
}

/* How many to claim for a group now; 0: not yet. @locks mutex */
static size_t wanted(const wp__group *group)
{
    size_t room = capacity(group);
    size_t batch = (size_t)group->options.batch_size;
    if (group->held >= room)
        return 0;
    room -= group->held;
    if ((int64_t)batch > fit_in_memory(group))
        batch = fit_in_memory(group) > 0 ? (size_t)fit_in_memory(group) : 1;
    /* Wait for room for a whole batch, unless handlers would run dry. */
    if (room < batch && group->held > group->out + (size_t)group->options.concurrency / 2)
        return 0;
    return room < batch ? room : batch;
}

bool wp__pump_wants(const wp__group *group)
{
    return atomic_load_explicit(&group->hungry, memory_order_relaxed) && wanted(group) > 0;
}

/* @locks mutex */
static void group_found(wp__group *group, size_t count, size_t asked)
{
    group->hungry = count == asked;
    if (count)
        group->idle_us = 0;
}

/* ---- the low-water mark -------------------------------------------------------------------- */

/* Where finished rows leave dead entries in an index until they are vacuumed (PostgreSQL, and while
 * an old snapshot is held they cannot be), a claim would walk over all of them again and again. So
 * claims begin at the first row that may be left. Rows can still appear before it: a transaction that
 * commits late, a message that was due long ago, one that is given back. So now and then a claim or a
 * probe begins at the start, a sweep; the longer it takes, the more rarely. */
static int64_t since(const wp__group *group, int64_t now)
{
    return now >= group->sweep_at ? INT64_MIN : group->since_us;
}

/* A statement that began at `start` is done. */
static void swept(int64_t *sweep_at, int64_t since_us, int64_t start, int64_t now)
{
    if (since_us == INT64_MIN)
        *sweep_at = now + SWEEP_SHARE * (now - start);
}

/* What a claim tells of the rows that are left. */
static void move_since(wp__group *group, const wp__claim_op *claim, size_t asked)
{
    int64_t left = claim->count < asked ? claim->now_us : claim->first_us;
    if (claim->count == 0 || claim->first_us == 0)
        return;
    left -= SINCE_MARGIN_US;
    if (claim->since_us == INT64_MIN || left > group->since_us)
        group->since_us = left;
}

/* Nothing (more) to claim: when to look again. */
static void group_idle(wp_worker *worker, wp__group *group, int64_t now, int64_t due_in_us)
{
    const wp__worker_options *o = &group->options;
    int64_t max = o->poll_max_ms * 1000;
    int64_t wait;
    if (max == 0)
        max = worker->watching ? 30000000 : 1000000;
    if (max < o->poll_min_ms * 1000)
        max = o->poll_min_ms * 1000;
    wp__mutex_lock(&worker->mutex);
    group->hungry = false;
    group->idle_us = group->idle_us ? group->idle_us * 2 : o->poll_min_ms * 1000;
    if (group->idle_us > max)
        group->idle_us = max;
    wait = group->idle_us - (int64_t)(wp__random() % (uint64_t)(group->idle_us / 8 + 1));
    if (due_in_us > 0 && due_in_us < wait)
        wait = due_in_us;
    group->next_poll_us = now + wait;
    wp__mutex_unlock(&worker->mutex);
}

/* @locks mutex */
static void note_size(wp__group *group, const wp__claim_op *op)
{
    int64_t bytes = 0;
    if (!op->count)
        return;
    for (size_t i = 0; i < op->count; i++)
        bytes += (int64_t)op->received[i]->payload_len;
    bytes /= (int64_t)op->count;
    /* larger ones count at once, smaller ones little by little */
    group->message_bytes =
        bytes > group->message_bytes ? bytes : (group->message_bytes * 7 + bytes) / 8;
}

/* ---- suspects ------------------------------------------------------------------------------ */

/* A message whose lease ran out may be what killed its process. Such suspects run one at a time with
 * nothing else claimed, so that another crash costs no other message an attempt. After ALONE_US the
 * others go on beside it, lest a long handler holds up the worker; nor is waited longer for those that
 * run before it. */

/* A suspect runs alone at present; *deadline comes no later than when its time is over.
 * @locks mutex */
static bool runs_alone(wp_worker *worker, int64_t now, int64_t *deadline)
{
    const wp_delivery *suspect = worker->suspect;
    if (!suspect || suspect->state == WP__READY)
        return suspect != NULL;
    if (now - suspect->out_at >= ALONE_US) {
        worker->suspect = NULL;
        return false;
    }
    if (suspect->out_at + ALONE_US < *deadline)
        *deadline = suspect->out_at + ALONE_US;
    return true;
}

/* The claim found suspects: is one of its messages given back? `alone`: nothing else is held, so that
 * the first suspect is kept, else all that are none. @locks mutex */
static bool gives_back(wp_worker *worker, wp_delivery *delivery, bool alone)
{
    if (!alone || !delivery->message->suspect || worker->suspect)
        return alone || delivery->message->suspect;
    worker->suspect = delivery;
    return false;
}

/* @locks mutex */
static bool has_suspects(wp_worker *worker, wp__group *group, const wp__claim_op *op)
{
    bool found = false;
    for (size_t i = 0; i < op->count && !found; i++)
        found = op->received[i]->suspect;
    if (found) {
        worker->suspicious = group;
        worker->suspicious_until = wp__worker_now(worker) + ALONE_US;
        group->since_us = INT64_MIN; /* what is given back may be before it */
    } else if (worker->suspicious == group) {
        worker->suspicious = NULL;
    }
    return found;
}

/* Make deliveries of what was claimed. */
static void claim_take(wp_worker *worker, wp__group *group, wp__claim_op *op, int64_t sent_at)
{
    bool alone;
    bool suspects;
    wp__mutex_lock(&worker->mutex);
    alone = worker->held == 0 || worker->suspicious == group;
    suspects = has_suspects(worker, group, op);
    note_size(group, op);
    for (size_t i = 0; i < op->count; i++) {
        wp_delivery *delivery = wp__delivery_new(worker, group, op->received[i]);
        if (!delivery) { /* its lease will lapse and it is reaped */
            wp__received_free(op->received[i]);
            continue;
        }
        delivery->topic = wp__worker_topic(worker, delivery->message->topic);
        delivery->claimed_at = sent_at;
        delivery->now_us = op->now_us;
        delivery->lease_until = sent_at + op->lease_us;
        delivery->renew_at = sent_at + op->lease_us * 6 / 10;
        delivery->state = WP__READY;
        wp__list_push(&worker->ready, delivery);
        group->held++;
        worker->held++;
        if ((worker->state != WP__RUNNING && !worker->manual) || /* stopped meanwhile */
            (suspects && gives_back(worker, delivery, alone)))
            wp__delivery_end(delivery, WP__FINISH_RELEASE, NULL, 0);
    }
    op->count = 0;
    wp__cond_broadcast(&worker->available);
    wp__mutex_unlock(&worker->mutex);
    /* The keeper looks once a second by itself: only short leases need more. */
    if (group->options.lease_ms < 2000)
        wp__waiter_signal(worker->keeper_waiter);
}

static void claim_init(wp__claim_op *op, wp_worker *worker, const wp__group *group, size_t count)
{
    wp__claim_op_init(op, worker->store, &wp__outbox);
    op->owner = worker->owner;
    op->topics = group->topics;
    op->batch = (int64_t)count;
    op->lease_us = group->options.lease_ms * 1000;
    op->max_attempts = group->options.max_attempts;
    op->since_us = since(group, wp__worker_now(worker));
    op->after = group->after_key;
}

/* ---- errors ------------------------------------------------------------------------------- */

static void met_error(wp_worker *worker, const wp_error *err)
{
    int64_t backoff = worker->error_backoff_us;
    backoff = backoff ? backoff * 2 : BACKOFF_FIRST_US;
    if (backoff > BACKOFF_MAX_US)
        backoff = BACKOFF_MAX_US;
    worker->error_backoff_us = backoff;
    backoff -= (int64_t)(wp__random() % (uint64_t)(backoff / 4));
    worker->error_until = wp__worker_now(worker) + backoff;
    wp__worker_count(worker, WP_COUNTER_ERRORS, 1);
    WP__LOG(worker->log, WP_LOG_WARNING, "database error, will try again",
            WP__F_TEXT("StoreId", wp_store_id(worker->store)), WP__F_TEXT("WorkerId", worker->name),
            WP__F_TEXT("Exception", wp_error_message(err)));
}

static wp_status connect_pump(wp_worker *worker, wp_error **err)
{
    wp_conn *conn = NULL;
    wp_status st;
    if (wp__conn_is_sound(worker->pump_conn))
        return WP_OK;
    wp__pump_close(worker);
    if ((st = wp__store_connect(&conn, worker->store, WP__OPEN_WORKER, err)) != WP_OK)
        return st;
    if (conn->driver->change_number)
        worker->change_number = conn->driver->change_number(conn);
    if (worker->listens &&
        (st = conn->driver->listen(conn, wp__store_channel(worker->store), err)) != WP_OK) {
        wp__conn_close(conn);
        return st;
    }
    if (worker->listens)
        wp__waiter_watch_input(worker->waiter, conn->driver->descriptor(conn));
    wp__mutex_lock(&worker->mutex); /* stop() may want to interrupt it */
    worker->pump_conn = conn;
    wp__mutex_unlock(&worker->mutex);
    return WP_OK;
}

void wp__pump_close(wp_worker *worker)
{
    wp_conn *conn;
    wp__waiter_watch_input(worker->waiter, -1);
    wp__mutex_lock(&worker->mutex);
    conn = worker->pump_conn;
    worker->pump_conn = NULL;
    wp__mutex_unlock(&worker->mutex);
    wp__conn_close(conn);
}

/* ---- one transaction ---------------------------------------------------------------------- */

/* Write outcomes and claim, together or each alone. */
static wp_status exchange(wp_worker *worker, wp__flush *f, wp__claim_op *claim, wp_error **err)
{
    size_t count = f->op_count + (claim ? 1 : 0);
    wp_op **ops = NULL;
    wp_status st;
    if (count == 1)
        return wp__conn_run(worker->pump_conn, claim ? &claim->base : &f->ops[0].base, err);
    ops = calloc(count, sizeof(wp_op *));
    if (!ops)
        return wp__fail_nomem(err);
    for (size_t i = 0; i < f->op_count; i++)
        ops[i] = &f->ops[i].base;
    if (claim)
        ops[f->op_count] = &claim->base;
    st = wp__conn_run_all(worker->pump_conn, ops, count, err);
    free(ops);
    return st;
}

/* Flush what `f` holds, and claim up to `count` for `group` (NULL: none). */
static wp_status transact(wp_worker *worker, wp__flush *f, wp__group *group, size_t count,
                          size_t *claimed, wp_error **err)
{
    wp__claim_op claim;
    int64_t sent_at = wp__worker_now(worker);
    wp_status looked_up = WP_OK;
    wp_error *cause = NULL;
    wp_status st = wp__flush_plan(f, worker, &cause);
    if (group)
        claim_init(&claim, worker, group, count);
    if (st == WP_OK && (f->op_count || group))
        st = exchange(worker, f, group ? &claim : NULL, &cause);
    if (st != WP_OK) {
        wp__flush_return(f, worker, wp_error_outcome_unknown(cause));
        if (group && wp_error_outcome_unknown(cause))
            worker->unsure_until = wp__worker_now(worker) + UNSURE_US;
    } else {
        looked_up = wp__flush_look_up(f, worker, &cause);
        wp__flush_settle(f, worker);
        worker->error_backoff_us = 0;
        worker->worked = true;
    }
    if (group && st == WP_OK) {
        *claimed = claim.count + claim.aside.count;
        move_since(group, &claim, count);
        free(group->after_key);
        group->after_key = claim.reached;
        claim.reached = NULL;
        swept(&group->sweep_at, claim.since_us, sent_at, wp__worker_now(worker));
        if (claim.now_us)
            worker->server_offset = claim.now_us - sent_at;
        wp__worker_count(worker, WP_COUNTER_POLLS, 1);
        wp__worker_count(worker, WP_COUNTER_CLAIMED, (int64_t)*claimed);
        wp__worker_count(worker, WP_COUNTER_FAILED, (int64_t)claim.aside.count);
        if (claim.count)
            WP__LOG(worker->log, WP_LOG_DEBUG, "claimed",
                    WP__F_TEXT("StoreId", wp_store_id(worker->store)),
                    WP__F_TEXT("WorkerId", worker->name), WP__F_INT("Count", claim.count));
        claim_take(worker, group, &claim, sent_at);
    }
    if (group)
        wp__op_fini(&claim.base);
    wp__flush_free(f);
    if (cause)
        wp__error_move(err, cause);
    return st == WP_OK ? looked_up : st;
}

/* Every group polls now: a probe finds out what is due and when. */
static void poll_now(wp_worker *worker, int64_t now)
{
    wp__mutex_lock(&worker->mutex);
    for (wp__group *group = worker->groups; group; group = group->next)
        group->next_poll_us = now;
    wp__mutex_unlock(&worker->mutex);
}

/* Others may commit a moment after the one whose signal was heard: polls begin short again. */
static void poll_soon(wp_worker *worker)
{
    wp__mutex_lock(&worker->mutex);
    for (wp__group *group = worker->groups; group; group = group->next)
        group->idle_us = HEARD_POLL_US;
    wp__mutex_unlock(&worker->mutex);
}

void wp__pump_work_made(wp_worker *worker)
{
    poll_now(worker, wp__worker_now(worker));
    wp__store_announce_from(worker->store, &worker->listener);
}

/* ---- reaping ------------------------------------------------------------------------------ */

/* The same mark for leases: those that ended before it are dealt with. */
static int64_t reap_since(const wp_worker *worker, int64_t now)
{
    return now >= worker->reap_sweep_at ? INT64_MIN : worker->reap_since_us;
}

static void move_reap_since(wp_worker *worker, int64_t start)
{
    if (worker->server_offset != INT64_MIN)
        worker->reap_since_us = worker->server_offset + start - REAP_MARGIN_US;
}

static wp_status reap(wp_worker *worker, wp_error **err)
{
    bool more = false;
    int64_t start = wp__worker_now(worker);
    int64_t since_us = reap_since(worker, start);
    /* By the wall clock as it was when it was last found not to have been set: it may be set at any
     * moment, also between that and this. */
    int64_t now_us = worker->clock_offset + wp__worker_now(worker);
    wp_status st = wp__queue_reap_needed(&more, worker->store, worker->pump_conn, &wp__outbox,
                                         now_us, since_us, err);
    while (st == WP_OK && more) {
        wp__reap_op op;
        wp__reap_op_init(&op, worker->store, &wp__outbox, worker->name, now_us, since_us);
        st = wp__conn_run(worker->pump_conn, &op.base, err);
        more = wp__reap_op_is_full(&op);
        if (st == WP_OK) {
            wp__worker_count(worker, WP_COUNTER_REAPED, (int64_t)(op.retried + op.failed));
            wp__worker_count(worker, WP_COUNTER_FAILED,
                             (int64_t)(op.failed + op.expired + op.unreadable));
            WP__LOG(worker->log, WP_LOG_INFO, "reaped",
                    WP__F_TEXT("StoreId", wp_store_id(worker->store)),
                    WP__F_TEXT("WorkerId", worker->name),
                    WP__F_INT("Count", op.retried + op.failed), WP__F_INT("Dead", op.failed),
                    WP__F_INT("Expired", op.expired), WP__F_INT("Unreadable", op.unreadable));
            worker->worked = true;
            wp__pump_work_made(worker);
        }
        wp__op_fini(&op.base);
    }
    if (st == WP_OK) {
        move_reap_since(worker, start);
        swept(&worker->reap_sweep_at, since_us, start, wp__worker_now(worker));
    }
    return st;
}

/* ---- the database's channel --------------------------------------------------------------- */

/* Long waits rest on the channel, so it is asked whether it works: a signal goes out on another
 * connection. Where none comes in (a proxy, a listener that died unseen) polls stay short, and now and
 * then the pump connects anew. */
static void ask_channel(wp_worker *worker, int64_t now)
{
    if (now - worker->heard_at < CHANNEL_TRUST_US)
        return;
    if (worker->channel_asked_at && now - worker->channel_asked_at < CHANNEL_ANSWER_US)
        return;
    if (worker->channel_asked_at) {
        worker->watching = false;
        if (++worker->channel_silent >= CHANNEL_SILENT_MAX) {
            worker->channel_silent = -10 * CHANNEL_SILENT_MAX; /* the next time it takes longer */
            worker->pump_conn->broken = true;
        }
    }
    worker->channel_asked_at = now;
    wp__signaller_request(wp__store_signaller(worker->store), worker->store);
}

/* Something came in on the pump's connection. True: a signal. */
static bool hear(wp_worker *worker, int64_t now)
{
    if (!worker->pump_conn || !worker->pump_conn->driver->heard(worker->pump_conn))
        return false;
    worker->heard_at = now;
    worker->channel_asked_at = 0;
    worker->channel_silent = 0;
    worker->watching = true;
    return true;
}

static wp_status maintain(wp_worker *worker, int64_t now, wp_error **err)
{
    wp_status st = WP_OK;
    worker->next_reap = now + worker->config->reap_ms * 1000;
    if (worker->listens)
        ask_channel(worker, now);
    (void)wp__worker_clock_was_set(worker, &worker->clock_offset);
    if (now - atomic_load(&worker->clock_set_at) >= CLOCK_SET_GRACE_US)
        st = reap(worker, err);
    if (st == WP_OK && worker->unsure_until)
        st = wp__recover_claims(worker, err);
    if (worker->unsure_until <= now)
        worker->unsure_until = 0;
    /* Once when work ends, and now and then while it goes on. */
    if (worker->worked) {
        bool idle;
        wp__mutex_lock(&worker->mutex);
        idle = worker->held == 0;
        wp__mutex_unlock(&worker->mutex);
        worker->worked = (worker->pump_conn->driver->tidy &&
                          !worker->pump_conn->driver->tidy(worker->pump_conn, idle)) ||
                         !idle;
    }
    return st;
}

/* ---- a round ------------------------------------------------------------------------------ */

/* The next group that wants messages and whose time has come. @locks mutex */
static wp__group *choose_group(wp_worker *worker, int64_t now, size_t *count, int64_t *deadline)
{
    wp__group *group = worker->first_group;
    if (worker->state != WP__RUNNING || runs_alone(worker, now, deadline))
        return NULL;
    if (worker->suspicious && worker->held && now < worker->suspicious_until) {
        if (worker->suspicious_until < *deadline)
            *deadline = worker->suspicious_until;
        return NULL;
    }
    if (worker->suspicious) {
        *count = 1;
        return worker->suspicious;
    }
    do {
        size_t want = wanted(group);
        if (want && (group->hungry || group->next_poll_us <= now)) {
            worker->first_group = group->next ? group->next : worker->groups;
            *count = want;
            return group;
        }
        if (want && group->next_poll_us < *deadline)
            *deadline = group->next_poll_us;
        group = group->next ? group->next : worker->groups;
    } while (group != worker->first_group);
    return NULL;
}

/* An idle group is asked first, by a read that takes no lock, whether there is anything. */
static wp_status probe(wp_worker *worker, wp__group *group, bool *empty, int64_t now,
                       wp_error **err)
{
    int64_t due_in_us = 0;
    int64_t since_us = since(group, now);
    wp_status st;
    *empty = false;
    if (group->hungry || group == worker->suspicious || !group->topics)
        return WP_OK;
    st = wp__queue_next_due(&due_in_us, worker->store, worker->pump_conn, &wp__outbox,
                            group->topics, since_us, err);
    swept(&group->sweep_at, since_us, now, wp__worker_now(worker));
    if (st == WP_OK && due_in_us > 0) {
        wp__worker_count(worker, WP_COUNTER_POLLS, 1);
        *empty = true;
        group_idle(worker, group, now, due_in_us);
    } else {
        group->sweep_at =
            since_us == INT64_MIN ? now : group->sweep_at; /* the claim must find it */
    }
    return st;
}

/* Do what is due; *deadline gets when there will be something to do without a signal. */
static wp_status round_once(wp_worker *worker, int64_t *deadline, bool *did, wp_error **err)
{
    wp__flush f = {0};
    wp__group *group;
    size_t count = 0;
    size_t claimed = 0;
    bool empty = false;
    int64_t now = wp__worker_now(worker);
    bool reconnected = !wp__conn_is_sound(worker->pump_conn);
    wp_status st;
    *did = false;
    if ((st = connect_pump(worker, err)) != WP_OK)
        return st;
    if (reconnected)
        poll_now(worker, now); /* it may be another file, and changes were not seen meanwhile */
    if (now >= worker->next_reap && (st = maintain(worker, now, err)) != WP_OK)
        return st;
    if (reconnected && worker->unsure_until && (st = wp__recover_claims(worker, err)) != WP_OK)
        return st;
    *deadline = worker->next_reap;
    wp__mutex_lock(&worker->mutex);
    group = choose_group(worker, now, &count, deadline);
    wp__mutex_unlock(&worker->mutex);
    if (group && (st = probe(worker, group, &empty, now, err)) != WP_OK)
        return st;
    if (group && empty) {
        *did = true; /* another group may be due */
        group = NULL;
    }
    wp__mutex_lock(&worker->mutex);
    if (wp__flush_is_due(worker, now, deadline) || (group && worker->finished.count))
        st = wp__flush_take(&f, worker, err);
    wp__mutex_unlock(&worker->mutex);
    if (st != WP_OK || (!f.count && !group))
        return st;
    *did = true;
    st = transact(worker, &f, group, count, &claimed, err);
    if (st == WP_OK && group) {
        bool ask;
        bool hungry;
        wp__mutex_lock(&worker->mutex);
        ask = claimed || (group->hungry && group->topics);
        group_found(group, claimed, count);
        hungry = group->hungry;
        if (!hungry && ask)
            group->next_poll_us = now; /* a probe will tell when the next one is due */
        wp__mutex_unlock(&worker->mutex);
        if (!hungry && !ask)
            group_idle(worker, group, now, INT64_MAX);
    }
    return st;
}

/* ---- the thread --------------------------------------------------------------------------- */

/* A hint of new work. */
static void wake(wp_worker *worker, int64_t now)
{
    wp__worker_count(worker, WP_COUNTER_WAKES, 1);
    poll_now(worker, now);
}

/* A change of the file was announced. It is announced when it is written, and the commit can be seen
 * once the disk has synced that, so look for the change itself, again and again at growing intervals:
 * found after at most twice the time that the commit took. */
static void look_for_change(wp_worker *worker, int64_t now)
{
    int64_t number;
    if (!worker->pump_conn || !worker->pump_conn->driver->change_number)
        return;
    number = worker->pump_conn->driver->change_number(worker->pump_conn);
    if (number == worker->change_number) {
        worker->recheck_us = worker->recheck_us ? worker->recheck_us * 2 : RECHECK_FIRST_US;
        if (worker->recheck_us > RECHECK_MAX_US)
            worker->recheck_us = 0; /* it was no commit, or one of our own */
        worker->recheck_at = now + worker->recheck_us;
        return;
    }
    worker->change_number = number;
    worker->recheck_us = 0;
    wake(worker, now);
}

static void sleep_until(wp_worker *worker, int64_t deadline)
{
    int64_t now;
    unsigned woke;
    if (worker->recheck_us && worker->recheck_at < deadline)
        deadline = worker->recheck_at;
    woke = wp__waiter_wait(worker->waiter, deadline);
    now = wp__worker_now(worker);
    if (woke & WP__WOKE_CHANGE)
        worker->recheck_us = 0; /* begin anew */
    if ((woke & WP__WOKE_CHANGE) || (worker->recheck_us && now >= worker->recheck_at))
        look_for_change(worker, now);
    if ((woke & WP__WOKE_INPUT) && hear(worker, now)) {
        wake(worker, now);
        poll_soon(worker);
    }
    if (!worker->listens)
        worker->watching = worker->watching && wp__waiter_is_watching(worker->waiter);
}

/* Hints from this process: another thread committed, or wp_worker_wake(). */
static void take_hint(wp_worker *worker, int64_t now)
{
    if (!atomic_exchange(&worker->listener.hinted, false))
        return;
    wake(worker, now);
}

/* @locks mutex */
static bool may_end(const wp_worker *worker)
{
    if (worker->pump_exit)
        return true;
    return worker->state != WP__RUNNING && worker->out.count == 0 && worker->ready.count == 0 &&
           worker->finished.count == 0;
}

static bool ended(wp_worker *worker)
{
    bool end;
    wp__mutex_lock(&worker->mutex);
    end = may_end(worker);
    wp__mutex_unlock(&worker->mutex);
    return end;
}

/* Whatever could not be written will not be: its lease lapses. */
static void give_up_rest(wp_worker *worker)
{
    wp_delivery *delivery;
    wp__mutex_lock(&worker->mutex);
    while ((delivery = worker->finished.first)) {
        wp__list_remove(&worker->finished, delivery);
        wp__delivery_settle(delivery, WP_E_STOPPED);
        wp__cond_broadcast(&worker->settled);
        wp__mutex_unlock(&worker->mutex);
        wp_delivery_free(delivery);
        wp__mutex_lock(&worker->mutex);
    }
    wp__mutex_unlock(&worker->mutex);
}

/* Errors are real, also under a clock that only a test moves. */
static void wait_after_error(wp_worker *worker)
{
    if (!wp__clock_is_manual(worker->clock)) {
        (void)wp__waiter_wait(worker->waiter, worker->error_until);
    } else {
        wp__sleep_us(BACKOFF_FIRST_US / 10);
        worker->error_until = 0;
    }
}

void *wp__pump_main(void *arg)
{
    wp_worker *worker = arg;
    while (!ended(worker)) {
        wp_error *err = NULL;
        int64_t deadline = 0;
        int64_t now = wp__worker_now(worker);
        bool did = false;
        take_hint(worker, now);
        if (now < worker->error_until) {
            wait_after_error(worker);
            continue;
        }
        if (round_once(worker, &deadline, &did, &err) != WP_OK) {
            met_error(worker, err);
            wp_error_free(err);
        } else if (!did) {
            sleep_until(worker, deadline);
        }
    }
    give_up_rest(worker);
    wp__pump_close(worker);
    if (worker->listening)
        wp__store_unlisten(worker->store, &worker->listener);
    wp__mutex_lock(&worker->mutex);
    worker->pump_running = false;
    wp__waiter_signal(worker->keeper_waiter);
    wp__cond_broadcast(&worker->settled);
    wp__mutex_unlock(&worker->mutex);
    wp__worker_unref(worker);
    return NULL;
}

wp_status wp__pump_round(wp_worker *worker, size_t limit, size_t *claimed, wp_error **err)
{
    wp_status st = connect_pump(worker, err);
    size_t total = 0;
    *claimed = 0;
    (void)wp__worker_clock_was_set(worker, &worker->clock_offset); /* nobody else to wait for */
    if (st != WP_OK || (limit && (st = reap(worker, err)) != WP_OK))
        return st;
    for (wp__group *group = worker->groups; st == WP_OK && group; group = group->next) {
        wp__flush f = {0};
        size_t count = 0;
        size_t got = 0;
        wp__mutex_lock(&worker->mutex);
        st = wp__flush_take(&f, worker, err);
        if (!runs_alone(worker, wp__worker_now(worker), &(int64_t){0}) &&
            group->held < (size_t)group->options.concurrency)
            count = (size_t)group->options.concurrency - group->held;
        wp__mutex_unlock(&worker->mutex);
        if (count > limit - total)
            count = limit - total;
        if (count > (size_t)group->options.batch_size)
            count = (size_t)group->options.batch_size;
        if (st == WP_OK)
            st = transact(worker, &f, count ? group : NULL, count, &got, err);
        total += got;
    }
    *claimed = total;
    return st;
}
