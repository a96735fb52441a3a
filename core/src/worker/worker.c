/* SPDX-License-Identifier: Apache-2.0 */
/* A worker: made, registered with, counted, freed. */
#include "worker/worker.h"
#include "queue/dead.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

wp_worker *wp__worker_ref(wp_worker *worker)
{
    atomic_fetch_add_explicit(&worker->refs, 1, memory_order_relaxed);
    return worker;
}

static void free_topics(wp_worker *worker)
{
    while (worker->topics) {
        wp__topic *topic = worker->topics;
        worker->topics = topic->next;
        free(topic->name);
        free(topic);
    }
    while (worker->lanes) {
        wp__lane *lane = worker->lanes;
        worker->lanes = lane->next;
        free(lane->topics);
        free(lane);
    }
}

void wp__worker_unref(wp_worker *worker)
{
    if (atomic_fetch_sub_explicit(&worker->refs, 1, memory_order_acq_rel) != 1)
        return;
    while (worker->parts) {
        wp__part *part = worker->parts;
        worker->parts = part->next;
        wp__part_unref(part);
    }
    wp__router_unref(worker->router);
    free_topics(worker);
    free(worker->threads);
    wp__cond_destroy(&worker->available);
    wp__cond_destroy(&worker->settled);
    wp__cond_destroy(&worker->cancels);
    wp__mutex_destroy(&worker->mutex);
    free(worker->name);
    wp__log_free(worker->log);
    wp_clock_free(worker->clock);
    wp_config_free(worker->config);
    wp_scaling_free(worker->scaling);
    free(worker);
}

wp_status wp__worker_check(const wp_worker *worker, wp_error **err)
{
    if (!worker)
        return wp__fail(err, WP_E_ARGUMENT, "worker is NULL");
    if (worker->pid != wp__process_id())
        return wp__fail(
            err, WP_E_STATE,
            "the worker was made by process %lld: fork first and make workers afterwards",
            (long long)worker->pid);
    return WP_OK;
}

int64_t wp_worker_counter(const wp_worker *worker, wp_counter counter)
{
    if (!worker || (int)counter < 0 || (int)counter >= WP__COUNTERS)
        return 0;
    return atomic_load_explicit(&worker->counters[counter], memory_order_relaxed);
}

int64_t wp__worker_now(const wp_worker *worker)
{
    return wp__clock_mono_us(worker->clock);
}

int64_t wp__worker_deadline(int64_t timeout_ms)
{
    return wp__real_deadline_us(timeout_ms);
}

bool wp__worker_clock_was_set(wp_worker *worker, int64_t *offset)
{
    if (!wp__clock_was_set(worker->clock, offset))
        return false;
    atomic_store(&worker->clock_set_at, wp__worker_now(worker));
    return true;
}

/* ---- topics by name ----------------------------------------------------------------------- */

/* FNV-1a. */
static size_t slot_of(const char *name)
{
    uint32_t hash = UINT32_C(2166136261);
    for (const unsigned char *byte = (const unsigned char *)name; *byte; byte++)
        hash = (hash ^ *byte) * UINT32_C(16777619);
    return (hash ^ hash >> 16) % WP__TOPIC_SLOTS;
}

wp__topic *wp__worker_topic(const wp_worker *worker, const wp__queue *queue, const char *name)
{
    wp__topic *topic = worker->index[slot_of(name)];
    while (topic && (topic->queue != queue || strcmp(topic->name, name) != 0))
        topic = topic->same;
    return topic;
}

bool wp__worker_uses(const wp_worker *worker, const wp__queue *queue)
{
    const wp__lane *lane = worker->lanes;
    while (lane && lane->queue != queue)
        lane = lane->next;
    return lane != NULL;
}

/* ---- made --------------------------------------------------------------------------------- */

static char *default_name(void)
{
    wp__buf name = {0};
    char host[256];
    wp__host_name(host, sizeof host);
    wp__buf_fmt(&name, "%s:%lld", host, (long long)wp__process_id());
    return wp__buf_take(&name);
}

/* A worker without a store. */
static wp_status worker_new(wp_worker **out, const wp_config *config, wp__log *log, wp_clock *clock,
                            wp_error **err)
{
    wp_status st;
    wp_worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return wp__fail_nomem(err);
    atomic_init(&worker->refs, 1);
    worker->pid = wp__process_id();
    worker->clock = wp__clock_ref(clock);
    worker->log = wp__log_ref(log);
    worker->calls = 1;
    atomic_init(&worker->clock_set_at, INT64_MIN / 2);
    wp__mutex_init(&worker->mutex);
    wp__cond_init(&worker->available, wp__clock_system());
    wp__cond_init(&worker->settled, wp__clock_system());
    wp__cond_init(&worker->cancels, wp__clock_system());
    st = wp__config_copy(&worker->config, config, err);
    if (st == WP_OK) {
        worker->name = worker->config->worker_name[0] ? wp__text_dup(worker->config->worker_name)
                                                      : default_name();
        if (!worker->name)
            st = wp__fail_nomem(err);
    }
    if (st != WP_OK) {
        wp__worker_unref(worker);
        return st;
    }
    *out = worker;
    return WP_OK;
}

wp_status wp_worker_new(wp_worker **out, wp_store *store, const wp_config *config, wp_error **err)
{
    wp_worker *worker = NULL;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (st = worker_new(&worker, config ? config : wp__store_config(store), wp__store_log(store),
                         wp__store_clock(store), err)) != WP_OK)
        return st;
    if ((st = wp_worker_add_store(worker, store, NULL, err)) != WP_OK) {
        wp__worker_unref(worker);
        return st;
    }
    *out = worker;
    return WP_OK;
}

wp_status wp_worker_new_on_router(wp_worker **out, wp_router *router, const wp_config *config,
                                  wp_error **err)
{
    wp_worker *worker = NULL;
    wp_config *dflt = NULL;
    wp__log *log = NULL;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__router_check(router, err)) != WP_OK)
        return st;
    if ((st = wp__config_copy(&dflt, config, err)) == WP_OK &&
        (st = wp__config_log(&log, dflt, err)) == WP_OK &&
        (st = worker_new(&worker, dflt, log, dflt->clock, err)) == WP_OK)
        st = wp__worker_follow(worker, router, err);
    wp__log_free(log);
    wp_config_free(dflt);
    if (st != WP_OK) {
        if (worker)
            wp__worker_unref(worker);
        return st;
    }
    *out = worker;
    return WP_OK;
}

/* ---- registered with ---------------------------------------------------------------------- */

wp_source wp_delivery_source(const wp_delivery *delivery)
{
    return delivery ? wp__queue_source(delivery->group->lane->queue) : (wp_source)0;
}

/* A topic's options where it has none of its own. */
static wp__worker_options options_of(const wp_worker *worker, const wp__queue *queue)
{
    wp__worker_options options = worker->config->worker;
    if (queue->runs)
        options.lease_ms = worker->config->worker_job_lease_ms;
    return options;
}

/* Find or add a topic. @locks mutex */
static wp_status get_topic(wp__topic **out, wp_worker *worker, wp_source source, const char *name,
                           wp_error **err)
{
    wp__topic *topic = wp__worker_topic(worker, wp__source_queue(source), name);
    if (!topic) {
        topic = calloc(1, sizeof *topic);
        if (topic)
            topic->name = wp__text_dup(name);
        if (!topic || !topic->name) {
            free(topic);
            return wp__fail_nomem(err);
        }
        topic->queue = wp__source_queue(source);
        topic->options = options_of(worker, topic->queue);
        topic->number = worker->topic_count++;
        topic->next = worker->topics;
        worker->topics = topic;
        topic->same = worker->index[slot_of(name)];
        worker->index[slot_of(name)] = topic;
    }
    *out = topic;
    return WP_OK;
}

static wp_status check_topic(const wp_worker *worker, wp_source source, const char *topic,
                             wp_error **err)
{
    wp_status st = wp__worker_check(worker, err);
    if (st == WP_OK && !wp__source_queue(source))
        st = wp__fail(err, WP_E_ARGUMENT, "source is %d, not one of wp_source", (int)source);
    if (st == WP_OK)
        st = wp__check_text(NULL, "topic", topic, WP_NAME_MAX, true, err);
    return st;
}

/* @locks mutex */
static wp_status check_new(const wp_worker *worker, wp_error **err)
{
    if (worker->state != WP__NEW || worker->lanes)
        return wp__fail(err, WP_E_STATE, "the worker has run: register topics before");
    return WP_OK;
}

wp_status wp_worker_handle(wp_worker *worker, wp_source source, const char *topic, wp_handler_fn fn,
                           void *user, void (*destroy)(void *user), wp_error **err)
{
    wp__topic *found = NULL;
    wp_status st = check_topic(worker, source, topic, err);
    if (st == WP_OK) {
        wp__mutex_lock(&worker->mutex);
        if ((st = check_new(worker, err)) == WP_OK &&
            (st = get_topic(&found, worker, source, topic, err)) == WP_OK && found->handled)
            st = wp__fail(err, WP_E_STATE, "topic \"%s\" has a handler already", topic);
        if (st == WP_OK) {
            found->handled = true;
            found->fn = fn;
            found->user = user;
            found->destroy = destroy;
        }
        wp__mutex_unlock(&worker->mutex);
    }
    if (st != WP_OK && destroy)
        destroy(user);
    return st;
}

wp_status wp_worker_topic_set(wp_worker *worker, wp_source source, const char *topic,
                              const char *key, const char *value, wp_error **err)
{
    wp__topic *found = NULL;
    wp_status st = check_topic(worker, source, topic, err);
    if (st != WP_OK)
        return st;
    if (!key || !value)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", key ? "value" : "key");
    wp__mutex_lock(&worker->mutex);
    if ((st = check_new(worker, err)) == WP_OK &&
        (st = get_topic(&found, worker, source, topic, err)) == WP_OK &&
        (st = wp__worker_options_set(&found->options, key, value, err)) == WP_OK)
        found->has_options = true;
    wp__mutex_unlock(&worker->mutex);
    return st;
}

wp_status wp_worker_set_selector(wp_worker *worker, wp_select_fn fn, void *user,
                                 void (*destroy)(void *user), wp_error **err)
{
    wp_status st = wp__worker_check(worker, err);
    if (st == WP_OK && !fn)
        st = wp__fail(err, WP_E_ARGUMENT, "fn is NULL");
    if (st == WP_OK) {
        wp__mutex_lock(&worker->mutex);
        if (worker->state != WP__NEW || worker->lanes || worker->select)
            st = wp__fail(err, WP_E_STATE, "the worker has run, or has a selector");
        if (st == WP_OK) {
            worker->select = fn;
            worker->select_user = user;
            worker->select_destroy = destroy;
        }
        wp__mutex_unlock(&worker->mutex);
    }
    if (st != WP_OK && destroy)
        destroy(user);
    return st;
}

/* ---- lanes -------------------------------------------------------------------------------- */

static wp_status add_lane(wp_worker *worker, const wp__queue *queue,
                          const wp__worker_options *options, char *topics, wp_error **err)
{
    wp__lane *lane = calloc(1, sizeof *lane);
    if (!lane) {
        free(topics);
        return wp__fail_nomem(err);
    }
    lane->queue = queue;
    lane->options = *options;
    lane->topics = topics;
    lane->service_us = -1;
    lane->next = worker->lanes;
    worker->lanes = lane;
    return WP_OK;
}

/* The JSON array of one topic, or (NULL) of all of a queue's handled ones without options of their
 * own; *count gets how many. */
static wp_status topics_json(char **out, size_t *count, const wp_worker *worker,
                             const wp__queue *queue, const wp__topic *only, wp_error **err)
{
    json_t *array = json_array();
    bool failed = !array;
    for (const wp__topic *t = worker->topics; t && !failed; t = t->next)
        if (t->queue == queue && t->handled && (only ? t == only : !t->has_options))
            failed = json_array_append_new(array, json_string(t->name)) != 0;
    *count = json_array_size(array);
    *out = failed ? NULL : json_dumps(array, JSON_COMPACT);
    json_decref(array);
    return *out ? WP_OK : wp__fail_nomem(err);
}

/* The lanes of one queue: those that need one; its topics without options of their own in the last. */
static wp_status plan_queue(wp_worker *worker, const wp__queue *queue, wp_error **err)
{
    const bool outbox = queue == &wp__outbox;
    const wp__worker_options options = options_of(worker, queue);
    size_t count = 0;
    bool used = outbox;
    char *json = NULL;
    wp_status st;
    for (wp__topic *t = worker->topics; t; t = t->next) {
        if (t->queue != queue || !t->handled)
            continue;
        used = true;
        if (t->has_options && ((st = topics_json(&json, &count, worker, queue, t, err)) != WP_OK ||
                               (st = add_lane(worker, queue, &t->options, json, err)) != WP_OK))
            return st;
    }
    if (!used)
        return WP_OK;
    if (worker->config->worker_all_topics)
        return add_lane(worker, queue, &options, NULL, err);
    if ((st = topics_json(&json, &count, worker, queue, NULL, err)) != WP_OK)
        return st;
    /* some lane there must be */
    if (count || (outbox && !worker->lanes))
        return add_lane(worker, queue, &options, json, err);
    free(json);
    return WP_OK;
}

static wp_status plan(wp_worker *worker, wp_error **err)
{
    wp_status st = WP_OK;
    for (int source = WP_SOURCE_JOB; source >= WP_SOURCE_OUTBOX && st == WP_OK; source--)
        if (wp__source_queue((wp_source)source))
            st = plan_queue(worker, wp__source_queue((wp_source)source), err);
    return st;
}

wp_status wp__worker_plan(wp_worker *worker, wp_error **err)
{
    wp_status st = WP_OK;
    wp__mutex_lock(&worker->mutex);
    if (!worker->lanes)
        st = plan(worker, err);
    for (wp__part *part = worker->parts; part && st == WP_OK; part = part->next)
        st = wp__part_plan(part, err);
    wp__mutex_unlock(&worker->mutex);
    return st;
}

/* ---- started ------------------------------------------------------------------------------ */

/* @locks mutex */
static wp_status start_parts(wp_worker *worker, wp_error **err)
{
    wp_status st = WP_OK;
    for (wp__part *part = worker->parts; part && st == WP_OK; part = part->next)
        st = wp__part_start(part, err);
    if (st == WP_OK) {
        worker->state = WP__RUNNING;
        atomic_store(&worker->started_at, wp__worker_now(worker));
        return WP_OK;
    }
    for (wp__part *part = worker->parts; part; part = part->next) {
        if (part->state != WP__RUNNING)
            continue;
        part->state = WP__STOPPING; /* it ends by itself */
        wp__waiter_signal(part->waiter);
        worker->state = WP__STOPPING;
    }
    return st;
}

/* Before it runs: what cannot be listened on is told at once. */
static wp_status ensure_server(wp_worker *worker, wp_error **err)
{
    void *server = NULL;
    bool begins;
    wp_status st;
    if (!worker->config->metrics_port && !worker->config->health_port &&
        !worker->config->dashboard_port)
        return WP_OK;
    wp__mutex_lock(&worker->mutex);
    begins = worker->state == WP__NEW && !worker->manual && !worker->serves;
    worker->serves = worker->serves || begins;
    wp__mutex_unlock(&worker->mutex);
    if (!begins)
        return WP_OK;
    st = wp__worker_server.begin(&server, worker, err);
    wp__mutex_lock(&worker->mutex);
    worker->server = server;
    worker->serves = st == WP_OK;
    wp__mutex_unlock(&worker->mutex);
    return st;
}

void wp__worker_refuse(wp_worker *worker)
{
    void *server;
    wp__mutex_lock(&worker->mutex);
    server = worker->refuses ? NULL : worker->server;
    worker->refuses = worker->refuses || server;
    wp__mutex_unlock(&worker->mutex);
    if (server)
        wp__worker_server.quiesce(server);
}

wp_status wp__worker_ensure(wp_worker *worker, wp_error **err)
{
    wp_status st;
    if ((st = wp__worker_plan(worker, err)) != WP_OK || (st = ensure_server(worker, err)) != WP_OK)
        return st;
    wp__mutex_lock(&worker->mutex);
    if (worker->manual)
        st = wp__fail(err, WP_E_STATE, "drain or step is under way");
    else if (worker->state == WP__STOPPING || worker->state == WP__STOPPED)
        st = wp__fail(err, WP_E_STOPPED, "the worker is stopped");
    else if (worker->state == WP__NEW)
        st = start_parts(worker, err);
    wp__mutex_unlock(&worker->mutex);
    return st;
}

void wp_worker_wake(wp_worker *worker)
{
    if (wp__worker_check(worker, NULL) != WP_OK)
        return;
    wp__mutex_lock(&worker->mutex);
    for (wp__part *part = worker->parts; part; part = part->next) {
        atomic_store(&part->listener.hinted, true);
        wp__waiter_signal(part->waiter);
    }
    wp__mutex_unlock(&worker->mutex);
}

/* ---- freed -------------------------------------------------------------------------------- */

void wp__worker_leave(wp_worker *worker)
{
    bool last;
    wp__mutex_lock(&worker->mutex);
    last = --worker->calls == 0;
    wp__mutex_unlock(&worker->mutex);
    for (wp__topic *t = last ? worker->topics : NULL; t; t = t->next)
        if (t->destroy)
            t->destroy(t->user);
    if (last && worker->select_destroy)
        worker->select_destroy(worker->select_user);
}

/* Whoever holds a cancelled delivery that nobody asked for any more. */
static void drop_cancelled(wp_worker *worker)
{
    wp_delivery *delivery;
    for (;;) {
        wp__mutex_lock(&worker->mutex);
        worker->cancels_wanted = false;
        delivery = worker->cancelled_first;
        if (delivery)
            worker->cancelled_first = delivery->next_cancelled;
        if (!worker->cancelled_first)
            worker->cancelled_last = NULL;
        wp__mutex_unlock(&worker->mutex);
        if (!delivery)
            return;
        wp_delivery_free(delivery);
    }
}

void wp_worker_free(wp_worker *worker)
{
    if (!worker || wp__worker_check(worker, NULL) != WP_OK)
        return; /* in a forked child it is the parent's */
    if (worker->router)
        wp__router_unfollow(worker->router, &worker->follower);
    wp__worker_end(worker);
    wp__worker_server.end(worker->server);
    wp__worker_sweep(worker);
    drop_cancelled(worker);
    wp__worker_leave(worker);
    wp__log_pump(worker->log);
    wp__worker_unref(worker);
}
