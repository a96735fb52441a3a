/* SPDX-License-Identifier: Apache-2.0 */
/* Outcomes for messages: one transaction writes what is finished and claims anew. The pump prepares and
 * ends it; it runs on the pump's thread or on the second's (second.c). */
#include <stdlib.h>

#include "worker/worker.h"

enum { UNSURE_US = 5000000 /* a server that lost its client may commit so much later */ };

void wp__exchange_prepare(wp__exchange *x, wp__part *part, wp__flush *f, wp__group *group,
                          size_t count)
{
    x->part = part;
    x->f = *f;
    *f = (wp__flush){0};
    x->group = group;
    x->count = count;
    if (!group)
        return;
    wp__claims_init(&x->claim, part, group, count);
    wp__mutex_lock(&part->worker->mutex);
    group->asked += count;
    part->claims++;
    wp__mutex_unlock(&part->worker->mutex);
}

static void count_claim(wp__exchange *x)
{
    wp__part *part = x->part;
    const size_t failed = x->claim.aside.count + x->claim.waits.failed_count;
    x->taken = x->claim.count;
    x->claimed = x->taken + failed;
    wp__part_count(part, WP_COUNTER_POLLS, 1);
    wp__part_count(part, WP_COUNTER_CLAIMED, (int64_t)x->claimed);
    wp__part_count(part, WP_COUNTER_FAILED, (int64_t)failed);
    wp__waits_tell(&x->claim, part->worker->name);
    if (x->taken)
        WP__LOG(part->worker->log, WP_LOG_DEBUG, "claimed", WP__F_TEXT("StoreId", part->id),
                WP__F_TEXT("WorkerId", part->worker->name), WP__F_INT("Count", x->taken));
}

/* It was written, and claimed. */
static void answered(wp__exchange *x, wp_conn *conn)
{
    wp__part *part = x->part;
    x->answered = true;
    x->status = wp__flush_look_up(&x->f, part, conn, &x->error);
    x->made = wp__flush_settle(&x->f, part);
    if (x->group) {
        wp_status kept;
        wp__observe(&part->claim, wp__worker_now(part->worker) - x->sent_at);
        count_claim(x);
        kept = wp__claims_take(x, x->status == WP_OK ? &x->error : NULL);
        x->status = x->status == WP_OK ? kept : x->status;
    }
}

static void failed(wp__exchange *x, wp_conn *conn)
{
    x->unsure = x->group && wp_error_outcome_unknown(x->error);
    if (wp__flush_return(&x->f, x->part, conn, x->group == NULL, x->error)) {
        wp_error_free(x->error);
        x->error = NULL;
        x->status = WP_OK;
        x->answered = true;
    }
}

void wp__exchange_run(wp__exchange *x, wp_conn *conn)
{
    wp__part *part = x->part;
    x->sent_at = wp__worker_now(part->worker);
    if (x->status == WP_OK)
        x->status = wp__flush_plan(&x->f, part, &x->error);
    if (x->status == WP_OK && (x->f.op_count || x->group))
        x->status = wp__flush_run(&x->f, conn, x->group ? &x->claim.base : NULL, &x->error);
    if (x->status == WP_OK)
        answered(x, conn);
    else
        failed(x, conn);
    if (x->group) {
        wp__mutex_lock(&part->worker->mutex);
        x->group->asked -= x->count;
        part->claims--;
        wp__mutex_unlock(&part->worker->mutex);
    }
}

/* What a claim tells of the rows that are left. */
static void note_claim(wp__exchange *x)
{
    wp__part *part = x->part;
    wp__group *group = x->group;
    wp__claim_op *claim = &x->claim;
    wp__claims_moved(group, claim, x->taken, x->count);
    if (x->suspects)
        group->since_us = INT64_MIN; /* what is given back may be before it */
    if (!x->second) {
        free(group->after_key);
        group->after_key = claim->reached;
        claim->reached = NULL;
    }
    wp__swept(&group->sweep_at, claim->since_us, x->sent_at, wp__worker_now(part->worker));
    if (claim->now_us)
        part->server_offset = claim->now_us - x->sent_at;
}

wp_status wp__exchange_end(wp__exchange *x, wp_error **err)
{
    wp__part *part = x->part;
    if (x->unsure)
        part->unsure_until = wp__worker_now(part->worker) + UNSURE_US;
    if (x->answered) {
        part->error_backoff_us = 0;
        part->worked = true;
    } else if (x->group) {
        x->group->since_us = INT64_MIN; /* another claim may have passed over what it had locked */
    }
    if (x->made)
        wp__pump_work_made(part);
    if (x->group && x->answered)
        note_claim(x);
    if (x->group)
        wp__op_fini(&x->claim.base);
    wp__flush_free(&x->f);
    if (x->error)
        wp__error_move(err, x->error);
    return x->status;
}
