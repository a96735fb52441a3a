/* SPDX-License-Identifier: Apache-2.0 */
#include "base/task.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/thread.h"

struct wp__task {
    atomic_int refs; /* the thread's, and of each who waits */
    void (*fn)(void *arg);
    void (*destroy)(void *arg);
    void *arg;
    wp__thread thread;
    wp__mutex mutex;
    wp__cond changed;
    bool done;
};

static void *task_main(void *arg)
{
    wp__task *task = arg;
    wp__log_never_pump(); /* the host's callback is for the host's threads */
    task->fn(task->arg);
    wp__mutex_lock(&task->mutex);
    task->done = true;
    wp__cond_broadcast(&task->changed);
    wp__mutex_unlock(&task->mutex);
    wp__task_free(task);
    return NULL;
}

static void task_destroy(wp__task *task)
{
    wp__cond_destroy(&task->changed);
    wp__mutex_destroy(&task->mutex);
    free(task);
}

wp_status wp__task_start(wp__task **out, const char *name, void (*fn)(void *arg),
                         void (*destroy)(void *arg), void *arg, wp_error **err)
{
    wp_status st;
    wp__task *task = calloc(1, sizeof *task);
    if (!task)
        return wp__fail_nomem(err);
    atomic_init(&task->refs, 2);
    task->fn = fn;
    task->destroy = destroy;
    task->arg = arg;
    wp__mutex_init(&task->mutex);
    wp__cond_init(&task->changed, wp__clock_system());
    st = wp__thread_start(&task->thread, name, task_main, task, err);
    if (st == WP_OK)
        *out = task;
    else
        task_destroy(task);
    return st;
}

wp__task *wp__task_ref(wp__task *task)
{
    atomic_fetch_add_explicit(&task->refs, 1, memory_order_relaxed);
    return task;
}

bool wp__task_wait(wp__task *task, int64_t deadline_us)
{
    bool done;
    wp__mutex_lock(&task->mutex);
    while (!task->done && wp__cond_wait_until(&task->changed, &task->mutex, deadline_us))
        ;
    done = task->done;
    wp__mutex_unlock(&task->mutex);
    return done;
}

void wp__task_free(wp__task *task)
{
    if (!task || atomic_fetch_sub_explicit(&task->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (wp__thread_is_self(&task->thread))
        wp__thread_detach(&task->thread);
    else
        wp__thread_join(&task->thread);
    task->destroy(task->arg);
    task_destroy(task);
}
