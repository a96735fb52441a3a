/* SPDX-License-Identifier: Apache-2.0 */
/* Topics that are paused: which they are is read now and then, and claims leave them out. On the pump's
 * thread; the second's exchange is waited for before what it may read is changed. */
#include <stdlib.h>
#include <string.h>

#include "queue/pause.h"
#include "worker/worker.h"

enum {
    READ_US = 1000000,  /* read again after this, if there is anything to do */
    HINT_US = 200000,   /* and after this, if something was heard */
    QUIET_US = 30000000 /* while changes are heard, and topics are paused */
};

/* Which topics are left of a group's. */
static wp_status plan_group(wp__group *group, const wp_pauses *pauses, wp_error **err)
{
    char *topics = NULL;
    size_t left = 1;
    wp_status st = WP_OK;
    if (group->lane->topics)
        st =
            wp__pauses_filter(&topics, &left, pauses, group->lane->queue, group->lane->topics, err);
    if (st != WP_OK)
        return st;
    free(group->topics);
    group->topics = topics;
    group->paused = topics && left == 0;
    /* what comes back may lie before all that was looked at */
    group->since_us = INT64_MIN;
    free(group->after_key);
    group->after_key = NULL;
    return WP_OK;
}

/* What was claimed and not started goes back. @locks mutex */
static size_t give_back(wp__part *part)
{
    size_t count = 0;
    wp_delivery *next;
    for (wp_delivery *d = part->ready.first; d; d = next) {
        const char *topic = d->message->topic;
        next = d->next;
        if (!wp__pauses_have(part->pauses, d->group->lane->queue, topic, strlen(topic)))
            continue;
        wp__delivery_end(d, WP__FINISH_RELEASE, NULL, 0);
        count++;
    }
    return count;
}

static wp_status heed(wp__part *part, wp_pauses *pauses, int64_t now, wp_error **err)
{
    wp_status st = WP_OK;
    size_t returned;
    wp__mutex_lock(&part->worker->mutex);
    for (wp__group *group = part->groups; group && st == WP_OK; group = group->next) {
        st = plan_group(group, pauses, err);
        group->next_poll_us = now;
        group->idle_us = 0;
    }
    if (st == WP_OK) {
        wp_pauses *before = part->pauses;
        part->pauses = pauses;
        pauses = before;
    }
    returned = give_back(part);
    wp__mutex_unlock(&part->worker->mutex);
    wp_pauses_free(pauses);
    WP__LOG(part->worker->log, WP_LOG_INFO, "heeds which topics are paused",
            WP__F_TEXT("StoreId", part->id), WP__F_TEXT("WorkerId", part->worker->name),
            WP__F_INT("Count", wp_pauses_count(part->pauses)), WP__F_INT("Returned", returned));
    return st;
}

wp_status wp__part_heed_pauses(wp__part *part, int64_t now, int64_t *deadline, wp_error **err)
{
    wp_pauses *pauses = NULL;
    wp_status st = WP_OK;
    int64_t again;
    if (now - part->pauses_read_at >= (part->pauses_hinted ? HINT_US : READ_US)) {
        part->pauses_hinted = false;
        if ((st = wp__pauses_read(&pauses, part->store, part->pump_conn, err)) != WP_OK)
            return st;
        part->pauses_read_at = now;
        if (wp__pauses_are_same(pauses, part->pauses)) {
            wp_pauses_free(pauses);
        } else {
            wp__second_wait(part); /* what it has is of the plan before */
            if ((st = wp__part_collect_second(part, err)) != WP_OK) {
                wp_pauses_free(pauses);
                part->pauses_read_at = INT64_MIN / 2;
                return st;
            }
            if ((st = heed(part, pauses, now, err)) != WP_OK)
                return st;
        }
    }
    again = part->pauses_hinted                  ? HINT_US
            : wp_pauses_count(part->pauses) == 0 ? INT64_MAX / 2
            : part->watching                     ? QUIET_US
                                                 : READ_US;
    if (part->pauses_read_at + again < *deadline)
        *deadline = part->pauses_read_at + again;
    return WP_OK;
}
