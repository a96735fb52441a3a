/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/visits.h"

#include <stdlib.h>

#include "base/socket.h"
#include "base/thread.h"

struct wp__visit {
    wp__visits *visits;
    wp__visit *next, *prev;
    int fd; /* a descriptor of its own, so that none of somebody else's is ever shut down */
    int64_t until_us;
};

struct wp__visits {
    wp__mutex mutex;
    wp__cond changed;
    wp__thread thread;
    wp__visit *first;
    bool ends;
};

/* Shut down what is overdue; gives when the next one is. */
static int64_t check(wp__visits *visits)
{
    const int64_t now = wp__real_mono_us();
    int64_t next = WP__FOREVER;
    for (wp__visit *visit = visits->first; visit; visit = visit->next) {
        if (visit->until_us <= now) {
            wp__socket_refuse(visit->fd);
            visit->until_us = WP__FOREVER;
        }
        if (visit->until_us < next)
            next = visit->until_us;
    }
    return next;
}

static void *watch(void *arg)
{
    wp__visits *visits = arg;
    wp__mutex_lock(&visits->mutex);
    while (!visits->ends)
        (void)wp__cond_wait_until(&visits->changed, &visits->mutex, check(visits));
    wp__mutex_unlock(&visits->mutex);
    return NULL;
}

wp_status wp__visits_begin(wp__visits **out, wp_error **err)
{
    wp__visits *visits = calloc(1, sizeof *visits);
    wp_status st;
    if (!visits)
        return wp__fail_nomem(err);
    wp__mutex_init(&visits->mutex);
    wp__cond_init(&visits->changed, NULL);
    st = wp__thread_start(&visits->thread, "waypost-visits", watch, visits, err);
    if (st != WP_OK) {
        wp__visits_end(visits);
        return st;
    }
    *out = visits;
    return WP_OK;
}

void wp__visits_end(wp__visits *visits)
{
    if (!visits)
        return;
    wp__mutex_lock(&visits->mutex);
    visits->ends = true;
    wp__cond_signal(&visits->changed);
    wp__mutex_unlock(&visits->mutex);
    wp__thread_join(&visits->thread);
    wp__cond_destroy(&visits->changed);
    wp__mutex_destroy(&visits->mutex);
    free(visits);
}

wp__visit *wp__visit_new(wp__visits *visits, int fd)
{
    wp__visit *visit = calloc(1, sizeof *visit);
    if (!visit)
        return NULL;
    visit->visits = visits;
    visit->until_us = WP__FOREVER;
    if ((visit->fd = wp__socket_share(fd)) < 0) {
        free(visit);
        return NULL;
    }
    wp__mutex_lock(&visits->mutex);
    visit->next = visits->first;
    if (visit->next)
        visit->next->prev = visit;
    visits->first = visit;
    wp__mutex_unlock(&visits->mutex);
    return visit;
}

void wp__visit_limit(wp__visit *visit, int64_t limit_us)
{
    if (!visit)
        return;
    wp__mutex_lock(&visit->visits->mutex);
    visit->until_us = limit_us ? wp__real_mono_us() + limit_us : WP__FOREVER;
    wp__cond_signal(&visit->visits->changed);
    wp__mutex_unlock(&visit->visits->mutex);
}

void wp__visit_free(wp__visit *visit)
{
    wp__visits *visits;
    if (!visit)
        return;
    visits = visit->visits;
    wp__mutex_lock(&visits->mutex);
    if (visit->prev)
        visit->prev->next = visit->next;
    else
        visits->first = visit->next;
    if (visit->next)
        visit->next->prev = visit->prev;
    wp__mutex_unlock(&visits->mutex);
    wp__socket_close(visit->fd);
    free(visit);
}
