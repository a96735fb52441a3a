/* SPDX-License-Identifier: Apache-2.0 */
/* The dashboard's JSON API: which call it is, and of which store. Looks into a database run on a thread of their
 * own by a limit, as the probe of health does. */
#include "ops/api.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/task.h"
#include "base/text.h"
#include "ops/api_calls.h"
#include "ops/probe.h"
#include "queue/pause.h"

static const struct {
    const char *path;
    bool writes;
    wp__api_fn fn; /* NULL: of the worker itself */
} calls[] = {
    {"overview", false, NULL},
    {"running", false, NULL},
    {"unfinished", false, wp__api_unfinished},
    {"message", false, wp__api_message},
    {"timers", false, wp__api_timers},
    {"jobs", false, wp__api_jobs},
    {"runs", false, wp__api_runs},
    {"leases", false, wp__api_leases},
    {"dead", false, wp__api_dead},
    {"paused", false, wp__api_paused},
    {"audit", false, wp__api_audit},
    {"topic/pause", true, wp__api_topic_pause},
    {"topic/resume", true, wp__api_topic_resume},
    {"job/pause", true, wp__api_job_pause},
    {"job/resume", true, wp__api_job_resume},
    {"job/trigger", true, wp__api_job_trigger},
    {"dead/replay", true, wp__api_dead_replay},
    {"dead/discard", true, wp__api_dead_discard},
    {"dead/edit", true, wp__api_dead_edit},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

static size_t find(const char *path)
{
    size_t i = 0;
    while (i < CALLS && strcmp(calls[i].path, path) != 0)
        i++;
    return i;
}

bool wp__api_knows(const char *path, bool *writes)
{
    const size_t i = find(path);
    if (i < CALLS)
        *writes = calls[i].writes;
    return i < CALLS;
}

/* ---- answers ------------------------------------------------------------------------------- */

static char *dump(json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return text;
}

static char *refuse(int *code, int with, const char *message)
{
    *code = with;
    return dump(json_pack("{s:o}", "error", wp__api_text(message)));
}

static int code_of(wp_status status)
{
    switch (status) {
    case WP_OK:
        return WP__API_OK;
    case WP_E_ARGUMENT:
    case WP_E_RANGE:
        return WP__API_BAD;
    case WP_E_NOT_FOUND:
        return WP__API_NOT_FOUND;
    case WP_E_STATE:
        return WP__API_CONFLICT;
    case WP_E_UNAVAILABLE:
    case WP_E_TIMEOUT:
        return WP__API_UNAVAILABLE;
    default:
        return WP__API_FAILED;
    }
}

/* ---- of the worker itself ------------------------------------------------------------------ */

static json_t *topic_json(const wp_outbox_stats *stats, size_t index)
{
    static const struct {
        const char *name;
        wp_outbox_stat stat;
    } members[] = {{"ready", WP_STAT_READY},
                   {"scheduled", WP_STAT_SCHEDULED},
                   {"inProgress", WP_STAT_IN_PROGRESS},
                   {"blocked", WP_STAT_BLOCKED},
                   {"paused", WP_STAT_PAUSED},
                   {"stale", WP_STAT_LEASE_EXPIRED},
                   {"oldestUs", WP_STAT_OLDEST_READY_AGE_US}};
    json_t *json = json_pack("{s:o}", "topic", wp__api_text(wp_outbox_stats_topic(stats, index)));
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        (void)json_object_set_new(
            json, members[i].name,
            json_integer(wp_outbox_stats_value(stats, index, members[i].stat)));
    return json;
}

static json_t *queues_json(const wp__findings *found)
{
    enum { TOPICS_MAX = 500 };
    json_t *queues = json_object();
    for (size_t q = 0; q < WP__QUEUES; q++) {
        const wp_outbox_stats *stats = found->stats[q];
        json_t *topics = stats ? json_array() : NULL;
        for (size_t i = 0; topics && i < wp_outbox_stats_count(stats) && i < TOPICS_MAX; i++)
            (void)json_array_append_new(topics, topic_json(stats, i));
        if (topics)
            (void)json_object_set_new(queues, wp__queue_word(wp__queues[q]),
                                      json_pack("{s:I,s:o}", "topicCount",
                                                (json_int_t)wp_outbox_stats_count(stats), "topics",
                                                topics));
    }
    return queues;
}

static json_t *store_json(const wp__part_vitals *part, const wp__findings *found, bool answered)
{
    const char *engine = part->store ? wp_store_engine(part->store) : NULL;
    const char *error = NULL;
    json_t *json;
    if (!part->store)
        error = "the store could not be opened yet";
    else if (!found)
        error = answered ? "the database could not count what it holds in time"
                         : "the database did not answer in time";
    else if (found->status != WP_OK)
        error = wp_error_message(found->error);
    json = json_pack("{s:o,s:s?,s:b,s:I,s:o}", "id", wp__api_text(part->id), "engine", engine, "up",
                     !error, "running", (json_int_t)part->out, "error", wp__api_text(error));
    if (!error) {
        (void)json_object_set_new(json, "latencyUs", json_integer(found->latency_us));
        (void)json_object_set_new(json, "queues", queues_json(found));
    }
    return json;
}

static json_t *counters_json(const wp_worker *worker)
{
    static const struct {
        const char *name;
        wp_counter counter;
    } members[] = {{"claimed", WP_COUNTER_CLAIMED},     {"acked", WP_COUNTER_ACKED},
                   {"abandoned", WP_COUNTER_ABANDONED}, {"failed", WP_COUNTER_FAILED},
                   {"released", WP_COUNTER_RELEASED},   {"errors", WP_COUNTER_ERRORS}};
    json_t *json = json_object();
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        (void)json_object_set_new(json, members[i].name,
                                  json_integer(wp_worker_counter(worker, members[i].counter)));
    return json;
}

static wp_status overview(json_t **out, wp_worker *worker, wp_error **err)
{
    const int64_t limit = wp__real_deadline_us(worker->config->health_timeout_ms);
    wp__vitals vitals = {0};
    json_t *stores = json_array();
    wp__probe **probes = NULL;
    wp_status st = wp__worker_vitals(&vitals, worker, 0, err);
    if (st == WP_OK && !(probes = calloc(vitals.count + 1, sizeof(wp__probe *))))
        st = wp__fail_nomem(err);
    for (size_t i = 0; i < vitals.count && st == WP_OK; i++)
        if (vitals.parts[i].store)
            st = wp__probe_start(&probes[i], vitals.parts[i].store, err);
    for (size_t i = 0; i < vitals.count && st == WP_OK; i++) {
        bool answered = false;
        const wp__findings *found = probes[i] ? wp__probe_wait(probes[i], limit, &answered) : NULL;
        (void)json_array_append_new(stores, store_json(&vitals.parts[i], found, answered));
    }
    for (size_t i = 0; probes && i < vitals.count; i++)
        wp__probe_free(probes[i]);
    free(probes);
    if (st == WP_OK)
        *out = json_pack("{s:o,s:s,s:b,s:I,s:I,s:I,s:o,s:o}", "worker", wp__api_text(worker->name),
                         "version", wp_version(), "running", vitals.running, "handlers",
                         (json_int_t)vitals.out, "waiting", (json_int_t)vitals.ready, "nowUs",
                         (json_int_t)wp_clock_utc_us(worker->clock), "counters",
                         counters_json(worker), "stores", json_incref(stores));
    json_decref(stores);
    wp__vitals_free(&vitals);
    return st;
}

/* What has a handler in this worker now; of each store the longest first. */
static wp_status running(json_t **out, wp_worker *worker, wp_error **err)
{
    enum { RUNNING_MAX = 1024 };
    const int64_t now = wp__worker_now(worker);
    json_t *items = json_array();
    (void)err;
    wp__mutex_lock(&worker->mutex);
    for (const wp__part *part = worker->parts; part; part = part->next)
        for (const wp_delivery *d = part->out.first; d && json_array_size(items) < RUNNING_MAX;
             d = d->next) {
            char id[37];
            wp_id_format(id, wp_received_id(d->message));
            (void)json_array_append_new(
                items, json_pack("{s:o,s:s,s:s,s:o,s:I,s:I}", "store", wp__api_text(part->id),
                                 "queue", wp__queue_word(d->group->lane->queue), "id", id, "topic",
                                 wp__api_text(wp_received_topic(d->message)), "attempt",
                                 (json_int_t)wp_received_attempt(d->message), "forUs",
                                 (json_int_t)(now - d->out_at)));
        }
    wp__mutex_unlock(&worker->mutex);
    *out = json_pack("{s:o}", "items", items);
    return WP_OK;
}

/* ---- of a store ---------------------------------------------------------------------------- */

/* A call under way; its thread and who waits share it. */
typedef struct look {
    wp_store *store; /* a reference, until it is done */
    wp__api_fn fn;
    wp__api_asked asked;
    json_t *args; /* owned */
    wp_status status;
    wp_error *error;
    json_t *result;
} look;

enum { UNDER_WAY_MAX = 24 };

static atomic_int under_way; /* looks, in this process */

static void look_run(void *arg)
{
    look *l = arg;
    wp_store *store = l->store;
    l->status = l->fn(&l->result, store, &l->asked, &l->error);
    l->store = NULL;
    wp__store_look_end(store);
    wp__store_unref(store);
    atomic_fetch_sub(&under_way, 1);
}

static void look_destroy(void *arg)
{
    look *l = arg;
    if (l->store) {
        wp__store_look_end(l->store);
        wp__store_unref(l->store);
    }
    json_decref(l->args);
    json_decref(l->result);
    wp_error_free(l->error);
    free(l);
}

static wp_status look_start(wp__task **out, look *l, wp_error **err)
{
    wp_status st = WP_OK;
    if (atomic_fetch_add(&under_way, 1) >= UNDER_WAY_MAX)
        st = wp__fail(err, WP_E_UNAVAILABLE, "too many look at databases already");
    else
        st = wp__task_start(out, "waypost-look", look_run, look_destroy, l, err);
    if (st != WP_OK)
        atomic_fetch_sub(&under_way, 1);
    return st;
}

/* What a change does not know, or leaves empty, would make it wider than it is meant: it is refused. */
static wp_status check_change(const json_t *args, wp_error **err)
{
    static const struct {
        const char *name;
        json_type type;
    } members[] = {{"store", JSON_STRING},  {"queue", JSON_STRING}, {"topic", JSON_STRING},
                   {"reason", JSON_STRING}, {"id", JSON_STRING},    {"ids", JSON_ARRAY},
                   {"all", JSON_TRUE},      {"by", JSON_STRING},    {"job", JSON_STRING},
                   {"limit", JSON_INTEGER}, {"rate", JSON_INTEGER}, {"payload", JSON_STRING}};
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)args, name, value)
    {
        size_t i = 0;
        while (i < sizeof members / sizeof members[0] && strcmp(members[i].name, name) != 0)
            i++;
        if (i == sizeof members / sizeof members[0])
            return wp__fail(err, WP_E_ARGUMENT, "there is no argument \"%.100s\"", name);
        if (json_typeof(value) != members[i].type)
            return wp__fail(err, WP_E_ARGUMENT, "\"%s\" is of another type", name);
        if (json_is_string(value) && !json_string_length(value) && strcmp(name, "payload") != 0)
            return wp__fail(err, WP_E_ARGUMENT, "\"%s\" is empty", name);
    }
    return WP_OK;
}

/* The store of an id; without one, the first, or, for a change, the only one. A reference. */
static wp_store *store_of(wp_worker *worker, const char *id, bool changes)
{
    wp__vitals vitals = {0};
    wp_store *store = NULL;
    if (wp__worker_vitals(&vitals, worker, 0, NULL) == WP_OK &&
        (id || !changes || vitals.count == 1))
        for (size_t i = 0; i < vitals.count && !store; i++)
            if (vitals.parts[i].store && (!id || strcmp(vitals.parts[i].id, id) == 0))
                store = wp__store_ref(vitals.parts[i].store);
    wp__vitals_free(&vitals);
    return store;
}

static char *finish(int *code, wp_status st, json_t *result, const wp_error *error)
{
    *code = code_of(st);
    if (st != WP_OK)
        return refuse(code, *code, wp_error_message(error));
    return dump(json_incref(result));
}

static char *ask_store(int *code, wp_worker *worker, const wp__api_call *call, wp__api_fn fn)
{
    const int64_t deadline = wp__real_deadline_us(worker->config->health_timeout_ms);
    const char *id = json_string_value(json_object_get(call->args, "store"));
    wp__task *task = NULL;
    wp_error *error = NULL;
    wp_store *store;
    look *l;
    char *text;
    if (call->writes && check_change(call->args, &error) != WP_OK) {
        text = refuse(code, WP__API_BAD, wp_error_message(error));
        wp_error_free(error);
        return text;
    }
    if (!(store = store_of(worker, id, call->writes)))
        return refuse(code, WP__API_NOT_FOUND,
                      id || !call->writes ? "the worker has no such store that is open"
                                          : "\"store\" is missing: the worker has several");
    if (!wp__store_look_begin(store, deadline)) {
        wp__store_unref(store);
        return refuse(code, WP__API_TIMEOUT,
                      "the database did not answer in time: others wait for it, too");
    }
    l = calloc(1, sizeof *l);
    if (!l) {
        wp__store_look_end(store);
        wp__store_unref(store);
        return NULL;
    }
    l->store = store;
    l->fn = fn;
    l->args = json_deep_copy(call->args);
    l->asked = (wp__api_asked){.args = l->args, .payloads = call->payloads};
    if (look_start(&task, l, &error) != WP_OK) {
        text = refuse(code, WP__API_UNAVAILABLE, wp_error_message(error));
        wp_error_free(error);
        look_destroy(l);
        return text;
    }
    if (wp__task_wait(task, deadline))
        text = finish(code, l->status, l->result, l->error);
    else
        text = refuse(code, WP__API_TIMEOUT,
                      call->writes ? "the database did not answer in time: look whether it is done"
                                   : "the database did not answer in time");
    wp__task_free(task);
    return text;
}

char *wp__api_answer(int *code, wp_worker *worker, const wp__api_call *call)
{
    const size_t i = find(call->path);
    json_t *result = NULL;
    wp_error *error = NULL;
    wp_status st;
    char *text;
    if (i == CALLS)
        return refuse(code, WP__API_NOT_FOUND, "there is no such call");
    if (calls[i].fn)
        return ask_store(code, worker, call, calls[i].fn);
    st = (strcmp(call->path, "running") == 0 ? running : overview)(&result, worker, &error);
    text = finish(code, st, result, error);
    json_decref(result);
    wp_error_free(error);
    return text;
}
