/* SPDX-License-Identifier: Apache-2.0 */
/* The second: a thread with a connection of its own that exchanges outcomes for messages beside the pump
 * while there is a backlog, so that on a server two processes share the work. The pump hands it an
 * exchange, goes on with one of its own, and notes later what came of it: only the pump decides. */
#include "worker/worker.h"

enum {
    WORTH_IT = 100,    /* so many outcomes at least */
    IDLE_US = 10000000 /* its connection is closed when it had nothing to do for so long */
};

static void run(wp__part *part, wp__exchange *x)
{
    x->status = wp__part_connect(part, &part->second_conn, &x->error);
    wp__exchange_run(x, part->second_conn);
}

static void *second_main(void *arg)
{
    wp__part *part = arg;
    wp_worker *worker = part->worker;
    wp__mutex_lock(&worker->mutex);
    while (!part->second_exit) {
        const bool connected = part->second_conn != NULL;
        if (part->second_state == WP__SECOND_GIVEN) {
            wp__mutex_unlock(&worker->mutex);
            run(part, &part->second_exchange);
            wp__mutex_lock(&worker->mutex);
            part->second_state = WP__SECOND_DONE;
            wp__cond_broadcast(&part->second_done);
            wp__waiter_signal(part->waiter);
        } else if (!wp__cond_wait_until(&part->second_go, &worker->mutex,
                                        connected ? wp__worker_now(worker) + IDLE_US
                                                  : WP__FOREVER) &&
                   connected && part->second_state != WP__SECOND_GIVEN) {
            wp__mutex_unlock(&worker->mutex);
            wp__part_close(part, &part->second_conn);
            wp__mutex_lock(&worker->mutex);
        }
    }
    wp__mutex_unlock(&worker->mutex);
    wp__part_close(part, &part->second_conn);
    return NULL;
}

bool wp__second_would_help(const wp__part *part, const wp__group *group)
{
    const wp_worker *worker = part->worker;
    return wp__store_engine(part->store)->row_locks && worker->parts && !worker->parts->next &&
           part->second_state == WP__SECOND_IDLE && part->state == WP__RUNNING && group->hungry &&
           part->finished.count >= WORTH_IT && !part->alone && !part->suspicious &&
           !part->suspect && !part->error_backoff_us;
}

bool wp__second_take(wp__part *part, wp__flush *f, wp__group *group, size_t count)
{
    if (!part->second_thread.started &&
        wp__thread_start(&part->second_thread, "waypost-second", second_main, part, NULL) != WP_OK)
        return false;
    part->second_exchange = (wp__exchange){.second = true};
    wp__exchange_prepare(&part->second_exchange, part, f, group, count);
    part->second_exchange.claim.after = NULL; /* the group's may change meanwhile */
    wp__mutex_lock(&part->worker->mutex);
    part->second_state = WP__SECOND_GIVEN;
    wp__cond_signal(&part->second_go);
    wp__mutex_unlock(&part->worker->mutex);
    return true;
}

bool wp__second_is_done(wp__part *part)
{
    bool done;
    wp__mutex_lock(&part->worker->mutex);
    done = part->second_state == WP__SECOND_DONE;
    wp__mutex_unlock(&part->worker->mutex);
    return done;
}

void wp__second_wait(wp__part *part)
{
    wp__mutex_lock(&part->worker->mutex);
    while (part->second_state == WP__SECOND_GIVEN)
        wp__cond_wait(&part->second_done, &part->worker->mutex);
    wp__mutex_unlock(&part->worker->mutex);
}

void wp__second_free(wp__part *part)
{
    wp__mutex_lock(&part->worker->mutex);
    part->second_state = WP__SECOND_IDLE;
    wp__mutex_unlock(&part->worker->mutex);
}

void wp__second_end(wp__part *part)
{
    wp__second_wait(part);
    wp__mutex_lock(&part->worker->mutex);
    part->second_exit = true;
    wp__cond_signal(&part->second_go);
    wp__mutex_unlock(&part->worker->mutex);
    wp__thread_join(&part->second_thread);
}
