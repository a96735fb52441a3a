/* SPDX-License-Identifier: Apache-2.0 */
/* Deliveries: from the claim, through a handler, to the outcome. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "job/job.h"
#include <waypost/job.h>

#include "worker/worker.h"

void wp__list_push(wp__list *list, wp_delivery *delivery)
{
    delivery->prev = list->last;
    delivery->next = NULL;
    if (list->last)
        list->last->next = delivery;
    else
        list->first = delivery;
    list->last = delivery;
    list->count++;
}

void wp__list_remove(wp__list *list, wp_delivery *delivery)
{
    if (delivery->prev)
        delivery->prev->next = delivery->next;
    else
        list->first = delivery->next;
    if (delivery->next)
        delivery->next->prev = delivery->prev;
    else
        list->last = delivery->prev;
    delivery->prev = delivery->next = NULL;
    list->count--;
}

wp_delivery *wp__delivery_new(wp__part *part, wp__group *group, wp_received *message)
{
    wp_delivery *delivery = calloc(1, sizeof *delivery);
    if (!delivery)
        return NULL;
    atomic_init(&delivery->refs, 1); /* the worker's lists' */
    atomic_init(&delivery->cancel, WP_CANCEL_NONE);
    delivery->worker = wp__worker_ref(part->worker);
    delivery->part = wp__part_ref(part);
    delivery->group = group;
    delivery->message = message;
    delivery->fate = WP_OK;
    delivery->timeout_at = WP__FOREVER;
    delivery->renew_at = WP__FOREVER;
    return delivery;
}

static void take_over(int64_t *option, int64_t of_job)
{
    if (of_job)
        *option = of_job;
}

void wp__delivery_set_options(wp_delivery *delivery)
{
    const wp__run *run = delivery->message->run;
    wp__worker_options *options = &delivery->options;
    *options = delivery->topic ? delivery->topic->options : delivery->group->lane->options;
    if (!run)
        return;
    take_over(&options->timeout_ms, run->timeout_ms);
    take_over(&options->max_attempts, run->max_attempts);
    take_over(&options->backoff_base_ms, run->backoff_base_ms);
    take_over(&options->backoff_max_ms, run->backoff_max_ms);
}

wp_delivery *wp_delivery_ref(wp_delivery *delivery)
{
    if (delivery)
        atomic_fetch_add_explicit(&delivery->refs, 1, memory_order_relaxed);
    return delivery;
}

/* What an outcome comes to, given the limit of attempts. */
static wp__finish_kind kind_of(const wp_delivery *delivery, wp_outcome outcome)
{
    const wp__worker_options *options = &delivery->options;
    if (outcome == WP_OUTCOME_DONE)
        return WP__FINISH_ACK;
    if (outcome == WP_OUTCOME_RELEASE)
        return WP__FINISH_RELEASE;
    if (outcome == WP_OUTCOME_REJECT || delivery->message->attempt + 1 >= options->max_attempts)
        return WP__FINISH_FAIL;
    return WP__FINISH_RETRY;
}

void wp_delivery_free(wp_delivery *delivery)
{
    wp_worker *worker;
    bool last;
    if (!delivery || wp__worker_check(delivery->worker, NULL) != WP_OK)
        return; /* in a forked child everything is the parent's */
    worker = delivery->worker;
    wp__mutex_lock(&worker->mutex);
    /* Two references: the host's last one and the list's. Nobody is left to finish it. */
    if (delivery->state == WP__OUT && atomic_load(&delivery->refs) == 2)
        wp__delivery_end(delivery, kind_of(delivery, WP_OUTCOME_NONE),
                         "the delivery was freed unfinished", 0);
    last = atomic_fetch_sub(&delivery->refs, 1) == 1;
    wp__mutex_unlock(&worker->mutex);
    if (!last)
        return;
    wp__received_free(delivery->message);
    free(delivery->reason);
    free(delivery->output);
    wp__part_unref(delivery->part);
    free(delivery);
    wp__worker_unref(worker);
}

wp_store *wp_delivery_store(const wp_delivery *delivery)
{
    return delivery ? delivery->part->store : NULL;
}

const char *wp_delivery_store_id(const wp_delivery *delivery)
{
    return delivery ? delivery->part->id : "";
}

const wp_received *wp_delivery_message(const wp_delivery *delivery)
{
    return delivery ? delivery->message : NULL;
}

wp_cancel wp_delivery_cancelled(const wp_delivery *delivery)
{
    return delivery ? atomic_load_explicit(&delivery->cancel, memory_order_acquire)
                    : WP_CANCEL_NONE;
}

void wp__delivery_cancel(wp_delivery *delivery, wp_cancel cancel)
{
    wp_worker *worker = delivery->worker;
    if (atomic_load(&delivery->cancel) == cancel)
        return;
    atomic_store_explicit(&delivery->cancel, cancel, memory_order_release);
    if (!worker->cancels_wanted || delivery->cancel_queued)
        return;
    delivery->cancel_queued = true;
    wp_delivery_ref(delivery);
    delivery->next_cancelled = NULL;
    if (worker->cancelled_last)
        worker->cancelled_last->next_cancelled = delivery;
    else
        worker->cancelled_first = delivery;
    worker->cancelled_last = delivery;
    wp__cond_signal(&worker->cancels);
}

static void smooth(int64_t *average, int64_t value)
{
    *average = *average < 0 ? value : (*average * 7 + value) / 8;
}

/* Leave the handler's hands: counts, and what handlers cost. */
static void leave_out(wp_delivery *delivery)
{
    wp_worker *worker = delivery->worker;
    wp__group *group = delivery->group;
    int64_t took = wp__worker_now(worker) - delivery->out_at;
    wp__list_remove(&delivery->part->out, delivery);
    worker->out_count--;
    group->lane->out--;
    group->out--;
    wp__share_unhold(delivery);
    if (took < 0)
        took = 0;
    smooth(&group->service_us, took);
    smooth(&group->lane->service_us, took);
    if (worker->ready_count) /* a place came free for one that waits */
        wp__cond_signal(&worker->available);
}

void wp__delivery_end(wp_delivery *delivery, wp__finish_kind kind, const char *reason,
                      int64_t delay_us)
{
    wp__part *part = delivery->part;
    bool failed = false;
    if (delivery->state == WP__OUT) {
        leave_out(delivery);
    } else if (delivery->state == WP__READY) {
        wp__share_unready(delivery);
        wp__share_unhold(delivery);
    }
    delivery->state = WP__FINISHED;
    delivery->finish = kind;
    delivery->delay_us = delay_us;
    free(delivery->reason);
    delivery->reason = wp__text_clean(reason, WP_REASON_MAX, &failed); /* a reason can be missed */
    delivery->finished_at = wp__worker_now(part->worker);
    wp__list_push(&part->finished, delivery);
    /* Wake the pump for the first one, which it lets wait for company, and when waiting longer
     * would help no one. */
    if (part->finished.count == 1 || part->finished.count == WP__FLUSH_COUNT ||
        part->state != WP__RUNNING || (!part->out.count && !part->ready.count) ||
        wp__pump_wants(delivery->group))
        wp__waiter_signal(part->waiter);
}

void wp__delivery_settle(wp_delivery *delivery, wp_status fate)
{
    delivery->state = WP__SETTLED;
    delivery->fate = fate;
}

void wp__delivery_detach(wp_delivery *delivery)
{
    leave_out(delivery);
    delivery->state = WP__DETACHED;
    atomic_fetch_sub(&delivery->refs, 1); /* the list's; the host has another, since it was out */
    wp__cond_broadcast(&delivery->worker->settled);
}

/* ---- finishing ---------------------------------------------------------------------------- */

static wp_status check_outcome(const wp_delivery *delivery, wp_outcome outcome, int64_t delay_ms,
                               wp_error **err)
{
    if (!delivery)
        return wp__fail(err, WP_E_ARGUMENT, "delivery is NULL");
    if (outcome == WP_OUTCOME_DEFERRED)
        return wp__fail(err, WP_E_ARGUMENT, "outcome is WP_OUTCOME_DEFERRED: nothing is finished");
    if (delay_ms < 0 || delay_ms > WP_DELAY_MS_MAX)
        return wp__fail(err, WP_E_RANGE, "delay_ms is %lld, not in 0..%lld", (long long)delay_ms,
                        (long long)WP_DELAY_MS_MAX);
    return wp__worker_check(delivery->worker, err);
}

/* The delivery's state allows no outcome any more: say why. */
static wp_status refuse(const wp_delivery *delivery, wp_error **err)
{
    if (delivery->lost)
        return wp__fail(err, WP_E_LEASE_LOST, "the lease was lost: the outcome does not count");
    if (delivery->state == WP__DETACHED)
        return wp__fail(err, WP_E_STOPPED, "the worker was stopped before this was finished");
    return wp__fail(err, WP_E_STATE, "the delivery was finished already");
}

static bool is_run(const wp_delivery *delivery)
{
    return delivery->group->lane->queue->runs;
}

static void end_with(wp_delivery *delivery, wp_outcome outcome, const char *reason,
                     int64_t delay_ms)
{
    char text[64 + WP_REASON_MAX];
    const bool late =
        delivery->timed_out || delivery->timeout_at <= wp__worker_now(delivery->worker);
    bool failed, cancelled;
    if (late && outcome == WP_OUTCOME_DONE && is_run(delivery) && !delivery->completed) {
        delivery->overran = true; /* a handler that gave up when it was told to looks the same */
        outcome = WP_OUTCOME_NONE;
        reason = "the handler ended well, but too late";
    }
    failed = outcome != WP_OUTCOME_DONE && outcome != WP_OUTCOME_RELEASE;
    cancelled = failed && delivery->asked; /* it is not tried again */
    /* what its host makes of a timeout is a failure */
    delivery->said = outcome == WP_OUTCOME_RETRY && late ? WP_OUTCOME_NONE : outcome;
    if (outcome == WP_OUTCOME_DONE && delivery->completed) {
        /* Its transaction committed, or else it must be tried again: ask the database. */
        wp__delivery_end(delivery, kind_of(delivery, WP_OUTCOME_RETRY),
                         "the transaction that completed it did not commit", 0);
        return;
    }
    if (outcome == WP_OUTCOME_RELEASE) {
        reason = NULL;
    } else if (cancelled || (failed && outcome != WP_OUTCOME_REJECT && late)) {
        (void)snprintf(text, sizeof text, "%s%s%.*s", cancelled ? "cancelled" : "timeout",
                       reason ? ": " : "", WP_REASON_MAX, reason ? reason : "");
        reason = text;
    } else if (failed && is_run(delivery) && wp__job_reason_is_ours(reason)) {
        (void)snprintf(text, sizeof text, "failed: %.*s", WP_REASON_MAX, reason);
        reason = text;
    } else if (failed && !reason) {
        reason = outcome == WP_OUTCOME_REJECT  ? "rejected by the handler"
                 : outcome == WP_OUTCOME_RETRY ? "the handler asked for a retry"
                                               : "the handler gave no known outcome";
    }
    wp__delivery_end(delivery, cancelled ? WP__FINISH_CANCEL : kind_of(delivery, outcome), reason,
                     delay_ms * 1000);
}

wp_status wp_delivery_finish(wp_delivery *delivery, wp_outcome outcome, const char *reason,
                             int64_t delay_ms, wp_error **err)
{
    wp_status st = check_outcome(delivery, outcome, delay_ms, err);
    if (st != WP_OK)
        return st;
    wp__mutex_lock(&delivery->worker->mutex);
    if (delivery->state != WP__OUT)
        st = refuse(delivery, err);
    else
        end_with(delivery, outcome, reason, delay_ms);
    wp__mutex_unlock(&delivery->worker->mutex);
    return st;
}

wp_status wp_delivery_set_output(wp_delivery *delivery, const char *output, size_t len,
                                 wp_error **err)
{
    char *copy;
    size_t units = 0, bad = 0;
    wp_status st;
    if (!delivery || !output)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", delivery ? "output" : "delivery");
    if ((st = wp__worker_check(delivery->worker, err)) != WP_OK)
        return st;
    if (len > WP_OUTPUT_MAX)
        return wp__fail(err, WP_E_RANGE, "output is %zu bytes long, more than %d", len,
                        WP_OUTPUT_MAX);
    if (!wp__utf8_check(output, len, &units, &bad))
        return wp__fail(err, WP_E_ARGUMENT, "output is not UTF-8 without NUL");
    if (!is_run(delivery))
        return wp__fail(err, WP_E_STATE, "the delivery is no run of a job");
    if (!(copy = wp__text_ndup(output, len)))
        return wp__fail_nomem(err);
    wp__mutex_lock(&delivery->worker->mutex);
    if (delivery->state != WP__OUT) {
        st = refuse(delivery, err);
    } else {
        char *old = delivery->output;
        delivery->output = copy;
        copy = old;
    }
    wp__mutex_unlock(&delivery->worker->mutex);
    free(copy);
    return st;
}

wp_status wp_delivery_settle(wp_delivery *delivery, int64_t timeout_ms, wp_error **err)
{
    wp_worker *worker;
    int64_t deadline;
    wp_status st;
    if (!delivery)
        return wp__fail(err, WP_E_ARGUMENT, "delivery is NULL");
    if ((st = wp__worker_check(delivery->worker, err)) != WP_OK)
        return st;
    worker = delivery->worker;
    deadline = wp__worker_deadline(timeout_ms);
    wp__mutex_lock(&worker->mutex);
    if (delivery->state == WP__OUT)
        st = wp__fail(err, WP_E_STATE, "the delivery is not finished yet");
    while (st == WP_OK && delivery->state == WP__FINISHED)
        if (!wp__cond_wait_until(&worker->settled, &worker->mutex, deadline) &&
            delivery->state == WP__FINISHED)
            st = wp__fail(err, WP_E_TIMEOUT, "the outcome is not written yet");
    if (st == WP_OK && delivery->state == WP__DETACHED)
        st = refuse(delivery, err);
    else if (st == WP_OK && delivery->fate == WP_E_STOPPED)
        st = wp__fail(err, WP_E_STOPPED, "the worker was stopped before the outcome was written");
    else if (st == WP_OK && delivery->fate == WP_E_DB)
        st = wp__fail(err, WP_E_DB, "the database refused the outcome: see the log");
    else if (st == WP_OK && delivery->fate != WP_OK && delivery->overran)
        st = wp__fail(err, delivery->fate, "the time of the run was over: it has failed");
    else if (st == WP_OK && delivery->fate != WP_OK)
        st = wp__fail(err, delivery->fate, "the lease was lost: the outcome changed nothing");
    wp__mutex_unlock(&worker->mutex);
    return st;
}

/* ---- completion in a transaction of the app's --------------------------------------------- */

static wp_status complete_init(wp__finish_op *op, wp_delivery *delivery, wp_error **err)
{
    wp_worker *worker = delivery->worker;
    wp_status st = WP_OK;
    wp__finish_op_init(op, delivery->part->store, delivery->group->lane->queue, WP__FINISH_ACK,
                       &delivery->part->owner);
    op->worker = worker->name;
    op->must_change = true;
    wp__finish_op_set_announces(op, delivery->message->ordering_key != NULL);
    st = wp__refs_add(&op->refs, delivery->message->seq, delivery->message->claim_number, 0, err);
    wp__mutex_lock(&worker->mutex);
    if (st == WP_OK && delivery->state != WP__OUT)
        st = refuse(delivery, err);
    if (st == WP_OK && delivery->lost)
        st = wp__fail(err, WP_E_LEASE_LOST, "the lease was lost: roll back");
    if (st == WP_OK)
        delivery->completed = true;
    wp__mutex_unlock(&worker->mutex);
    return st;
}

wp_status wp_delivery_complete(wp_delivery *delivery, wp_conn *conn, wp_error **err)
{
    wp__finish_op op;
    wp_status st;
    if (!delivery || !conn)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", delivery ? "conn" : "delivery");
    if ((st = wp__worker_check(delivery->worker, err)) != WP_OK ||
        (st = wp__store_check_conn(delivery->part->store, conn, err)) != WP_OK)
        return st;
    if ((st = complete_init(&op, delivery, err)) == WP_OK)
        st = wp__store_run(delivery->part->store, conn, &op.base, err);
    wp__op_fini(&op.base);
    return st;
}

wp_status wp_delivery_complete_op(wp_op **out, wp_delivery *delivery, wp_error **err)
{
    wp__finish_op *op;
    wp_status st;
    if (!out || !delivery)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", out ? "delivery" : "out");
    if ((st = wp__worker_check(delivery->worker, err)) != WP_OK)
        return st;
    op = malloc(sizeof *op);
    if (!op)
        return wp__fail_nomem(err);
    st = complete_init(op, delivery, err);
    op->owned[0] = wp__text_dup(delivery->worker->name);
    op->worker = op->owned[0];
    if (st == WP_OK && !op->worker)
        st = wp__fail_nomem(err);
    if (st != WP_OK) {
        wp_op_free(&op->base);
        return st;
    }
    op->base.owns_store = true;
    wp__store_ref(delivery->part->store);
    *out = &op->base;
    return WP_OK;
}
