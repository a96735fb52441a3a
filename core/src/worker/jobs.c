/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker that handles jobs does besides: it makes the runs that are due, and passes on that a
 * run is asked to end. Both on the pump's thread and connection. */
#include "job/job.h"

#include "worker/worker.h"

enum {
    TROUBLE_US = 1000000, /* until it is tried again */
    CANCELS_US = 100000   /* hints of other work make it ask no more often */
};

static void log_trouble(wp__part *part, const wp_error *cause)
{
    WP__LOG(part->worker->log, WP_LOG_ERROR, "cannot make the runs of jobs, will try again",
            WP__F_TEXT("StoreId", part->id), WP__F_TEXT("WorkerId", part->worker->name),
            WP__F_TEXT("Exception", wp_error_message(cause)));
}

wp_status wp__jobs_tick(wp__part *part, int64_t now, int64_t *deadline, wp_error **err)
{
    int64_t most = part->watching ? 30000000 : 1000000;
    int64_t next_us = 0;
    size_t made = 0;
    wp_error *cause = NULL;
    wp_status st = WP_OK;
    if (!wp__worker_uses(part->worker, &wp__job_run) || wp__part_is_ending(part))
        return WP_OK;
    if (now >= part->tick_at) {
        st = wp__job_tick(&made, &next_us, part->store, part->pump_conn, &cause);
        if (made)
            wp__pump_work_made(part);
        if (st == WP_OK)
            part->tick_at = now + (next_us < most ? next_us : most);
    }
    if (st != WP_OK && !part->worker->manual && wp__conn_is_sound(part->pump_conn)) {
        log_trouble(part, cause); /* nothing else may suffer from it */
        part->tick_at = now + TROUBLE_US;
        st = WP_OK;
    }
    if (st != WP_OK)
        wp__error_move(err, cause);
    else
        wp_error_free(cause);
    if (part->tick_at < *deadline)
        *deadline = part->tick_at;
    return st;
}

/* @locks mutex */
static void add_seqs(wp__buf *json, const wp__list *list)
{
    for (const wp_delivery *d = list->first; d; d = d->next) {
        if (!d->group->lane->queue->runs)
            continue;
        wp__buf_text(json, json->len ? "," : "[");
        wp__buf_int(json, d->message->seq);
    }
}

static void found(void *user, int64_t seq)
{
    wp__part *part = user;
    wp__mutex_lock(&part->worker->mutex);
    for (wp_delivery *d = part->out.first; d; d = d->next)
        if (d->group->lane->queue->runs && d->message->seq == seq && !d->asked) {
            d->asked = true;
            wp__delivery_cancel(d, WP_CANCEL_REQUESTED);
        }
    wp__mutex_unlock(&part->worker->mutex);
}

wp_status wp__jobs_pass_cancels(wp__part *part, wp_error **err)
{
    wp__buf json = {0};
    wp_status st = WP_OK;
    if (!wp__worker_uses(part->worker, &wp__job_run))
        return WP_OK;
    wp__mutex_lock(&part->worker->mutex);
    add_seqs(&json, &part->out);
    wp__mutex_unlock(&part->worker->mutex);
    wp__buf_text(&json, json.len ? "]" : "");
    if (json.failed)
        st = wp__fail_nomem(err);
    else if (json.len)
        st = wp__job_run_asked(part->store, part->pump_conn, json.data, found, part, err);
    if (json.len)
        part->cancels_at = wp__worker_now(part->worker);
    part->hinted = false;
    wp__buf_free(&json);
    return st;
}

/* A hint may have been that a run is asked to end: do not wait for the next reaping. */
wp_status wp__jobs_hear_cancels(wp__part *part, int64_t now, int64_t *deadline, wp_error **err)
{
    const int64_t at = part->cancels_at + CANCELS_US;
    if (!part->hinted)
        return WP_OK;
    if (at <= now || part->cancels_at == 0)
        return wp__jobs_pass_cancels(part, err);
    if (at < *deadline)
        *deadline = at;
    return WP_OK;
}
