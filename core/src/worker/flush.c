/* SPDX-License-Identifier: Apache-2.0 */
/* Outcomes on their way into the database: what is finished is taken together, planned as a few
 * statements, and told what came of it once they are written. */
#include <stdlib.h>
#include <string.h>

#include "db/sqlstate.h"
#include "worker/worker.h"

enum { FLUSH_MAX = 2000 }; /* outcomes in one transaction */

void wp__flush_free(wp__flush *f)
{
    for (size_t i = 0; i < f->op_count; i++)
        wp__op_fini(&f->ops[i].base);
    free(f->items);
    free(f->ops);
    free(f->op_of);
    free(f->written);
}

static bool flush_alloc(wp__flush *f, size_t count)
{
    f->items = calloc(count, sizeof(wp_delivery *));
    f->ops = calloc(count, sizeof *f->ops);
    f->op_of = calloc(count, sizeof *f->op_of);
    f->written = calloc(count, sizeof *f->written);
    return f->items && f->ops && f->op_of && f->written;
}

static int64_t delay_of(const wp_delivery *delivery)
{
    if (delivery->finish != WP__FINISH_RETRY || delivery->delay_us)
        return delivery->delay_us;
    return wp__backoff_us(delivery->message->attempt, &delivery->options,
                          delivery->worker->config->worker_jitter);
}

/* Acks share one statement, and so do releases; failures carry reasons and delays of their own. */
static bool shares(const wp__finish_op *op, const wp_delivery *delivery)
{
    return op->kind == delivery->finish && !op->output && !delivery->output &&
           op->base.queue == delivery->group->lane->queue &&
           (op->kind == WP__FINISH_ACK || op->kind == WP__FINISH_RELEASE);
}

wp_status wp__flush_plan(wp__flush *f, wp__part *part, wp_error **err)
{
    wp_status st = WP_OK;
    for (size_t i = 0; i < f->count && st == WP_OK; i++) {
        wp_delivery *delivery = f->items[i];
        size_t at = 0;
        while (at < f->op_count && !shares(&f->ops[at], delivery))
            at++;
        if (at == f->op_count) {
            wp__finish_op *op = &f->ops[f->op_count++];
            wp__finish_op_init(op, part->store, delivery->group->lane->queue, delivery->finish,
                               &part->owner);
            op->worker = part->worker->name;
            op->reason = delivery->reason;
            op->delay_us = delay_of(delivery);
            if (delivery->output && delivery->finish != WP__FINISH_RELEASE)
                wp__finish_op_set_output(op, delivery->output);
        }
        f->op_of[i] = at;
        st = wp__refs_add(&f->ops[at].refs, delivery->message->seq, delivery->message->claim_number,
                          0, err);
    }
    return st;
}

wp_status wp__flush_run(wp__flush *f, wp_conn *conn, wp_op *claim, wp_error **err)
{
    size_t count = f->op_count + (claim ? 1 : 0);
    wp_op **ops = NULL;
    wp_status st;
    if (count == 1)
        return wp__conn_run(conn, claim ? claim : &f->ops[0].base, err);
    ops = calloc(count, sizeof(wp_op *));
    if (!ops)
        return wp__fail_nomem(err);
    for (size_t i = 0; i < f->op_count; i++)
        ops[i] = &f->ops[i].base;
    if (claim)
        ops[f->op_count] = claim;
    st = wp__conn_run_all(conn, ops, count, err);
    free(ops);
    return st;
}

/* Take what is finished. What was taken and could not be written goes back by wp__flush_return(). */
wp_status wp__flush_take(wp__flush *f, wp__part *part, wp_error **err)
{
    size_t max = part->finished.count < FLUSH_MAX ? part->finished.count : FLUSH_MAX;
    if (!max)
        return WP_OK;
    if (part->alone) {
        part->alone--;
        max = 1;
    }
    if (!flush_alloc(f, max))
        return wp__fail_nomem(err);
    while (f->count < max) {
        wp_delivery *delivery = part->finished.first;
        wp__list_remove(&part->finished, delivery);
        f->items[f->count++] = delivery;
        delivery->group->writing++;
    }
    part->writing += f->count;
    return WP_OK;
}

/* The database refuses what it is told, which will be so again; it does not just fail to do it. */
static bool is_refusal(wp_conn *conn, const wp_error *cause)
{
    const char *sqlstate = wp_error_sqlstate(cause);
    return wp_error_code(cause) == WP_E_DB && !wp_error_retriable(cause) &&
           !wp_error_outcome_unknown(cause) && wp__conn_is_sound(conn) &&
           !(sqlstate && wp__sqlstate_in(sqlstate, "42")); /* the schema or a right is missing */
}

bool wp__flush_return(wp__flush *f, wp__part *part, wp_conn *conn, bool alone,
                      const wp_error *cause)
{
    const bool refused = f->count && is_refusal(conn, cause);
    if (refused && f->count == 1 && alone) {
        f->written[0] = WP__REFUSED;
        f->refusal = cause;
        (void)wp__flush_settle(f, part);
        return true;
    }
    wp__mutex_lock(&part->worker->mutex);
    part->writing -= f->count;
    for (size_t i = 0; i < f->count; i++) {
        f->items[i]->group->writing--;
        f->items[i]->unsure = f->items[i]->unsure || wp_error_outcome_unknown(cause);
        wp__list_push(&part->finished, f->items[i]);
    }
    part->alone = refused ? part->finished.count : 0;
    wp__mutex_unlock(&part->worker->mutex);
    return false;
}

/* ---- what came of them -------------------------------------------------------------------- */

/* An outcome that changed nothing, by where its claim stands. */
static wp__written judge(const wp_delivery *delivery, wp__standing standing)
{
    const wp__finish_kind kind = delivery->finish;
    if (standing == WP__DONE && delivery->completed)
        return WP__APP_DONE;
    if (!delivery->unsure)
        return WP__LOST;
    return (standing == WP__DONE && kind == WP__FINISH_ACK) ||
                   (standing == WP__FAILED &&
                    (kind == WP__FINISH_FAIL || kind == WP__FINISH_CANCEL)) ||
                   (standing == WP__GIVEN_BACK &&
                    (kind == WP__FINISH_RETRY || kind == WP__FINISH_RELEASE))
               ? WP__WRITTEN
               : WP__LOST;
}

/* What the statements changed; returns how many must be looked up. */
static size_t note_changed(wp__flush *f)
{
    size_t count = 0;
    for (size_t i = 0; i < f->count; i++) {
        const wp_delivery *delivery = f->items[i];
        if (wp__finish_op_changed(&f->ops[f->op_of[i]], delivery->message))
            f->written[i] = WP__WRITTEN;
        else if (delivery->completed || delivery->unsure)
            f->written[i] = WP__NOT_KNOWN;
        else
            f->written[i] = WP__LOST;
        count += f->written[i] == WP__NOT_KNOWN;
    }
    return count;
}

/* Whether the outcome of item `i` is to be looked up in this queue. */
static bool is_asked(const wp__flush *f, size_t i, const wp__queue *queue)
{
    return f->written[i] == WP__NOT_KNOWN && f->items[i]->group->lane->queue == queue;
}

static wp_status look_up_in(wp__flush *f, wp__part *part, wp_conn *conn, const wp__queue *queue,
                            size_t max, wp_error **err)
{
    wp__standing_op op;
    wp_status st = wp__standing_op_init(&op, part->store, queue, max, err);
    for (size_t i = 0; i < f->count && st == WP_OK; i++)
        if (is_asked(f, i, queue))
            st = wp__refs_add(&op.refs, f->items[i]->message->seq,
                              f->items[i]->message->claim_number, 0, err);
    if (st == WP_OK)
        st = wp__conn_run(conn, &op.base, err);
    for (size_t i = 0; i < f->count && st == WP_OK; i++)
        if (is_asked(f, i, queue))
            f->written[i] = judge(f->items[i], wp__standing_op_of(&op, f->items[i]->message));
    wp__op_fini(&op.base);
    return st;
}

wp_status wp__flush_look_up(wp__flush *f, wp__part *part, wp_conn *conn, wp_error **err)
{
    const size_t count = note_changed(f);
    wp_status st = WP_OK;
    for (size_t i = 0; count && i < f->count && st == WP_OK; i++)
        if (f->written[i] == WP__NOT_KNOWN)
            st = look_up_in(f, part, conn, f->items[i]->group->lane->queue, count, err);
    return st;
}

static void log_outcome(const wp__part *part, const wp_delivery *delivery, wp__written written,
                        const wp_error *refusal)
{
    const char *message = "lease lost";
    wp_log_level level = WP_LOG_WARNING;
    if (written == WP__REFUSED) {
        message = "outcome refused by the database, left to its lease";
        level = WP_LOG_ERROR;
    } else if (written == WP__APP_DONE && delivery->said != WP_OUTCOME_DONE) {
        message = "handler failed, but its transaction had committed: done";
    } else if (written == WP__WRITTEN && delivery->finish == WP__FINISH_RETRY) {
        const bool asked = delivery->said == WP_OUTCOME_RETRY;
        message = asked ? "handler asked for a retry" : "handler failed, will retry";
        level = asked ? WP_LOG_INFO : WP_LOG_ERROR;
    } else if (written == WP__WRITTEN && delivery->finish == WP__FINISH_FAIL) {
        message = "dead letter";
        level = WP_LOG_ERROR;
    } else if (written == WP__WRITTEN && delivery->finish == WP__FINISH_CANCEL) {
        message = "run cancelled";
        level = WP_LOG_INFO;
    } else if (written != WP__LOST || delivery->finish == WP__FINISH_RELEASE) {
        return;
    }
    WP__LOG(part->worker->log, level, message, WP__F_TEXT("StoreId", part->id),
            WP__F_TEXT("WorkerId", part->worker->name),
            WP__F_TEXT("Topic", delivery->message->topic),
            WP__F_ID("MessageId", &delivery->message->id),
            WP__F_INT("Attempt", delivery->message->attempt),
            WP__F_INT("ElapsedMs", (delivery->finished_at - delivery->out_at) / 1000),
            WP__F_TEXT("Exception", refusal ? wp_error_message(refusal) : delivery->reason));
}

static void tally_outcome(wp__tally *tally, const wp_delivery *delivery, wp__written written)
{
    static const wp__tally_count counts[] = {[WP__FINISH_ACK] = WP__TALLY_ACKED,
                                             [WP__FINISH_RETRY] = WP__TALLY_ABANDONED,
                                             [WP__FINISH_FAIL] = WP__TALLY_FAILED,
                                             [WP__FINISH_RELEASE] = WP__TALLY_RELEASED,
                                             [WP__FINISH_CANCEL] = WP__TALLY_CANCELLED};
    if (written != WP__REFUSED)
        wp__tally_add(tally, written == WP__LOST       ? WP__TALLY_LOST
                             : written == WP__APP_DONE ? WP__TALLY_ACKED
                                                       : counts[delivery->finish]);
    if (delivery->out_at)
        wp__observe(&tally->handled, delivery->finished_at - delivery->out_at);
}

static void count_outcome(wp__part *part, const wp_delivery *delivery, wp__written written)
{
    static const wp_counter counters[] = {[WP__FINISH_ACK] = WP_COUNTER_ACKED,
                                          [WP__FINISH_RETRY] = WP_COUNTER_ABANDONED,
                                          [WP__FINISH_FAIL] = WP_COUNTER_FAILED,
                                          [WP__FINISH_RELEASE] = WP_COUNTER_RELEASED,
                                          [WP__FINISH_CANCEL] = WP_COUNTER_CANCELLED};
    tally_outcome(wp__part_tally(part, delivery->group->lane->queue, delivery->topic), delivery,
                  written);
    wp__part_count(part,
                   written == WP__LOST       ? WP_COUNTER_LEASES_LOST
                   : written == WP__REFUSED  ? WP_COUNTER_ERRORS
                   : written == WP__APP_DONE ? WP_COUNTER_ACKED
                                             : counters[delivery->finish],
                   1);
}

/* What its host is told: DONE that became a retry is not done. */
static wp_status fate_of(const wp_delivery *delivery, wp__written written)
{
    if (written == WP__REFUSED)
        return WP_E_DB;
    if (written == WP__LOST ||
        (written == WP__WRITTEN && delivery->finish != WP__FINISH_ACK &&
         (delivery->overran || (delivery->completed && delivery->said == WP_OUTCOME_DONE))))
        return WP_E_LEASE_LOST;
    return WP_OK;
}

/* What was written may be work again: a retry after its delay, and at once what was given back or
 * waited behind an ordering key; for other workers, too. */
static bool makes_work(const wp_delivery *delivery)
{
    return delivery->finish == WP__FINISH_RETRY || delivery->finish == WP__FINISH_RELEASE ||
           delivery->message->ordering_key;
}

bool wp__flush_settle(wp__flush *f, wp__part *part)
{
    bool made = false;
    for (size_t i = 0; i < f->op_count; i++)
        made = made || f->ops[i].joined;
    for (size_t i = 0; i < f->count; i++) {
        if (f->written[i] == WP__NOT_KNOWN)
            continue;
        log_outcome(part, f->items[i], f->written[i], f->refusal);
        count_outcome(part, f->items[i], f->written[i]);
        made = made || makes_work(f->items[i]);
    }
    wp__mutex_lock(&part->worker->mutex);
    part->writing -= f->count;
    for (size_t i = 0; i < f->count; i++) {
        f->items[i]->group->writing--;
        if (f->written[i] == WP__NOT_KNOWN) /* to be looked up again */
            wp__list_push(&part->finished, f->items[i]);
        else
            wp__delivery_settle(f->items[i], fate_of(f->items[i], f->written[i]));
    }
    if (f->count)
        wp__cond_broadcast(&part->worker->settled);
    if (part->suspect)
        wp__cond_broadcast(&part->worker->available);
    wp__mutex_unlock(&part->worker->mutex);
    for (size_t i = 0; i < f->count; i++)
        if (f->written[i] != WP__NOT_KNOWN)
            wp_delivery_free(f->items[i]); /* the list's reference */
    return made;
}

/* Whether waiting for more outcomes would help no one. @locks mutex */
bool wp__flush_is_due(const wp__part *part, int64_t now, int64_t *deadline)
{
    int64_t at;
    if (!part->finished.first)
        return false;
    if (part->alone)
        return true;
    at = part->finished.first->finished_at + part->worker->config->flush_ms * 1000;
    if (part->state != WP__RUNNING || part->finished.count >= WP__FLUSH_COUNT || at <= now ||
        (part->out.count == 0 && (part->ready.count == 0 || part->suspect)))
        return true;
    if (at < *deadline)
        *deadline = at;
    return false;
}
