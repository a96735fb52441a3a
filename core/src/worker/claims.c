/* SPDX-License-Identifier: Apache-2.0 */
/* Claims: where they begin, and what becomes of what they return. */
#include "worker/worker.h"

enum {
    SINCE_MARGIN_US = 50000, /* transactions may commit so much later than they wrote */
    SWEEP_SHARE = 20,        /* looking behind it takes no more than 1/this of the time */
    ALONE_US = 5000000       /* a message that kills its process does so within this */
};

/* ---- the low-water mark -------------------------------------------------------------------- */

/* Where finished rows leave dead entries in an index until they are vacuumed (PostgreSQL, and while
 * an old snapshot is held they cannot be), a claim would walk over all of them again and again. So
 * claims begin at the first row that may be left. Rows can still appear before it: a transaction that
 * commits late, a message that was due long ago, one that is given back. So now and then a claim or a
 * probe begins at the start, a sweep; the longer it takes, the more rarely. */
int64_t wp__claims_since(const wp__group *group, int64_t now)
{
    return now >= group->sweep_at ? INT64_MIN : group->since_us;
}

void wp__swept(int64_t *sweep_at, int64_t since_us, int64_t start, int64_t now)
{
    if (since_us == INT64_MIN)
        *sweep_at = now + SWEEP_SHARE * (now - start);
}

void wp__claims_moved(wp__group *group, const wp__claim_op *claim, size_t count, size_t asked)
{
    int64_t left = count < asked ? claim->now_us : claim->first_us;
    if (count == 0 || claim->first_us == 0)
        return;
    left -= SINCE_MARGIN_US;
    if (claim->since_us == INT64_MIN || left > group->since_us)
        group->since_us = left;
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

bool wp__claims_wait(wp__part *part, int64_t now, int64_t *deadline)
{
    const wp_delivery *suspect = part->suspect;
    if (!suspect || suspect->state == WP__READY)
        return suspect != NULL;
    if (now - suspect->out_at >= ALONE_US) {
        part->suspect = NULL;
        return false;
    }
    if (suspect->out_at + ALONE_US < *deadline)
        *deadline = suspect->out_at + ALONE_US;
    return true;
}

/* The claim found suspects: is one of its messages given back? `alone`: nothing else is held, so that
 * the first suspect is kept, else all that are none. @locks mutex */
static bool gives_back(wp__part *part, wp_delivery *delivery, bool alone)
{
    if (!alone || !delivery->message->suspect || part->suspect)
        return alone || delivery->message->suspect;
    part->suspect = delivery;
    return false;
}

/* @locks mutex */
static bool has_suspects(wp__part *part, wp__group *group, const wp__claim_op *op)
{
    bool found = false;
    for (size_t i = 0; i < op->count && !found; i++)
        found = op->received[i]->suspect;
    if (found) {
        part->suspicious = group;
        part->suspicious_until = wp__worker_now(part->worker) + ALONE_US;
    } else if (part->suspicious == group && part->claims == 1) {
        part->suspicious = NULL;
    }
    return found;
}

static void tally_claim(wp_delivery *delivery, const wp__queue *queue)
{
    const wp_received *message = delivery->message;
    wp__tally *tally = wp__part_tally(delivery->part, queue, delivery->topic);
    wp__tally_add(tally, WP__TALLY_CLAIMED);
    if (message->attempt)
        wp__tally_add(tally, WP__TALLY_RETRIED);
    else
        wp__observe(&tally->lag, delivery->now_us - message->due_us);
}

/* Hold a message that was claimed. NULL: out of memory, its lease will lapse and it is reaped.
 * @locks mutex */
static wp_delivery *hold(wp__part *part, wp__group *group, const wp__claim_op *op,
                         wp_received *message, int64_t sent_at)
{
    wp_delivery *delivery = wp__delivery_new(part, group, message);
    if (!delivery) {
        wp__received_free(message);
        return NULL;
    }
    delivery->topic = wp__worker_topic(part->worker, group->lane->queue, message->topic);
    wp__delivery_set_options(delivery);
    delivery->claimed_at = sent_at;
    delivery->now_us = op->now_us;
    delivery->lease_until = sent_at + op->lease_us;
    delivery->renew_at = sent_at + op->lease_us * 6 / 10;
    tally_claim(delivery, group->lane->queue);
    delivery->state = WP__READY;
    wp__share_ready(delivery);
    wp__share_hold(delivery);
    return delivery;
}

wp_status wp__claims_take(wp__exchange *x, wp_error **err)
{
    wp__part *part = x->part;
    wp__group *group = x->group;
    wp__claim_op *op = &x->claim;
    wp_worker *worker = part->worker;
    wp_status st = WP_OK;
    bool alone;
    wp__mutex_lock(&worker->mutex);
    alone = (part->held == 0 && part->claims == 1) || part->suspicious == group;
    x->suspects = has_suspects(part, group, op);
    note_size(group, op);
    if (op->count && part->state == WP__RUNNING)
        st = wp__keeper_ensure(part, err);
    for (size_t i = 0; i < op->count; i++) {
        wp_delivery *delivery = hold(part, group, op, op->received[i], x->sent_at);
        if (delivery && (st != WP_OK || (part->state != WP__RUNNING && !worker->manual) ||
                         (x->suspects && gives_back(part, delivery, alone))))
            wp__delivery_end(delivery, WP__FINISH_RELEASE, NULL, 0);
    }
    op->count = 0;
    wp__cond_broadcast(&worker->available);
    /* The keeper looks once a second by itself: only short leases need more. */
    if (group->lane->options.lease_ms < 2000)
        wp__cond_signal(&part->keep);
    wp__mutex_unlock(&worker->mutex);
    return st;
}

void wp__claims_init(wp__claim_op *op, wp__part *part, const wp__group *group, size_t count)
{
    wp__claim_op_init(op, part->store, group->lane->queue);
    op->owner = part->owner;
    wp__claim_op_set_topics(op, group->topics ? group->topics : group->lane->topics);
    op->paused = part->pauses;
    op->batch = (int64_t)count;
    op->lease_us = group->lane->options.lease_ms * 1000;
    op->max_attempts = group->lane->options.max_attempts;
    op->since_us = wp__claims_since(group, wp__worker_now(part->worker));
    op->after = group->after_key;
}
