/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of health: what counts, and how much. */
#include <waypost/health.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "ops/probe.h"
#include "queue/dead.h"
#include "worker/vitals.h"

enum {
    VALUES = WP_HEALTH_UNHANDLED + 1,
    STATS = WP_STAT_PAUSED + 1,
    TOPICS_MAX = 20, /* that are told by name */
    LIMIT_MS_MAX = 3600000
};

/* Texts of reasons; the worst first. */
typedef struct reasons {
    wp_health_status status;
    wp__buf unhealthy, degraded;
} reasons;

typedef struct store_health {
    char *id;
    const char *engine; /* NULL: not known */
    reasons why;
    int64_t values[VALUES];
    bool counted[WP__QUEUES];
    int64_t stats[WP__QUEUES][STATS];
    json_t *unhandled; /* NULL: of no worker */
} store_health;

struct wp_health {
    reasons why; /* of all of it */
    char *reason;
    char *json;
    bool of_worker;
    bool running;
    store_health *stores;
    size_t count;
};

/* What is asked for. */
typedef struct question {
    wp_health_scope scope;
    int64_t overdue_us; /* 0: nothing is */
    int64_t deadline_us;
    int64_t limit_ms;
    const wp_config *config;
    wp_worker *worker; /* NULL: none */
} question;

/* ---- reasons ------------------------------------------------------------------------------ */

static void because(reasons *why, wp_health_status status, const char *text)
{
    wp__buf *buf = status == WP_HEALTH_UNHEALTHY ? &why->unhealthy : &why->degraded;
    if (buf->len)
        wp__buf_text(buf, "; ");
    wp__buf_text(buf, text);
    if (status > why->status)
        why->status = status;
}

static void because_number(reasons *why, const char *before, int64_t number, const char *after)
{
    wp__buf text = {0};
    wp__buf_fmt(&text, "%s%lld%s", before, (long long)number, after);
    because(why, WP_HEALTH_DEGRADED, text.failed ? before : text.data);
    wp__buf_free(&text);
}

static void reasons_free(reasons *why)
{
    wp__buf_free(&why->unhealthy);
    wp__buf_free(&why->degraded);
}

/* In one line, the worst first. The caller's; NULL: out of memory. */
static char *reasons_text(const reasons *why)
{
    wp__buf text = {0};
    if (why->unhealthy.failed || why->degraded.failed)
        return NULL;
    wp__buf_add(&text, why->unhealthy.data, why->unhealthy.len);
    if (why->unhealthy.len && why->degraded.len)
        wp__buf_text(&text, "; ");
    wp__buf_add(&text, why->degraded.data, why->degraded.len);
    return wp__buf_take(&text);
}

/* ---- the rule for a store ------------------------------------------------------------------ */

static bool counts(const question *q, const wp__queue *queue)
{
    return q->scope == WP_HEALTH_OF_ALL || queue == &wp__timer || queue == &wp__job_run;
}

static void judge_queue(store_health *s, const question *q, size_t index)
{
    const wp__queue *queue = wp__queues[index];
    const int64_t *stats = s->stats[index];
    const int64_t age_us = stats[WP_STAT_OLDEST_READY_AGE_US];
    s->values[WP_HEALTH_READY] += stats[WP_STAT_READY];
    s->values[WP_HEALTH_STALE] += stats[WP_STAT_LEASE_EXPIRED];
    if (age_us > s->values[WP_HEALTH_OLDEST_US])
        s->values[WP_HEALTH_OLDEST_US] = age_us;
    if (q->overdue_us && age_us > q->overdue_us) {
        wp__buf text = {0};
        s->values[WP_HEALTH_OVERDUE]++;
        wp__buf_fmt(&text, "a message of the %s has been ready for ", queue->name);
        because_number(&s->why, text.failed ? "a message has been ready for " : text.data,
                       age_us / 1000000, " s");
        wp__buf_free(&text);
    }
}

static void judge_jobs(store_health *s, const question *q, int64_t late_us)
{
    s->values[WP_HEALTH_JOBS_LATE_US] = late_us;
    if (!q->overdue_us || late_us == WP_HEALTH_NOT_KNOWN || late_us <= q->overdue_us)
        return;
    s->values[WP_HEALTH_OVERDUE]++;
    because_number(&s->why, "a job has been due for ", late_us / 1000000,
                   " s and its run is not made");
}

/* `limit` 0: none. */
static bool is_over(int64_t value, int64_t limit, int64_t unit)
{
    return limit && value != WP_HEALTH_NOT_KNOWN && value / unit >= limit;
}

static void judge_surroundings(store_health *s, const question *q)
{
    const int64_t *v = s->values;
    const wp_config *c = q->config;
    const int64_t clock_us = v[WP_HEALTH_CLOCK_US];
    if (is_over(clock_us < 0 && clock_us != WP_HEALTH_NOT_KNOWN ? -clock_us : clock_us,
                c->health_clock_ms, 1000))
        because_number(&s->why, "the database's clock differs by ", clock_us / 1000, " ms");
    if (is_over(v[WP_HEALTH_SNAPSHOT_US], c->health_snapshot_ms, 1000))
        because_number(&s->why, "a snapshot has been held for ", v[WP_HEALTH_SNAPSHOT_US] / 1000000,
                       " s");
    if (is_over(v[WP_HEALTH_WAL_BYTES], c->health_wal_mib, 1048576))
        because_number(&s->why, "the write-ahead log has ", v[WP_HEALTH_WAL_BYTES] / 1048576,
                       " MiB");
    if (c->health_free_mib && v[WP_HEALTH_FREE_BYTES] != WP_HEALTH_NOT_KNOWN &&
        v[WP_HEALTH_FREE_BYTES] / 1048576 < c->health_free_mib)
        because_number(&s->why, "the disk has ", v[WP_HEALTH_FREE_BYTES] / 1048576, " MiB left");
}

/* Topics with ready messages that nobody here handles. Another worker may. */
static wp_status find_unhandled(store_health *s, const question *q, size_t index,
                                const wp_outbox_stats *stats, wp_error **err)
{
    int failed = 0;
    for (size_t t = 0; t < wp_outbox_stats_count(stats); t++) {
        const char *topic = wp_outbox_stats_topic(stats, t);
        if (wp_outbox_stats_value(stats, t, WP_STAT_READY) == 0 ||
            wp__worker_handles(q->worker, wp__queues[index], topic))
            continue;
        if (s->values[WP_HEALTH_UNHANDLED]++ < TOPICS_MAX)
            failed |= json_array_append_new(
                s->unhandled,
                json_pack("{s:s,s:s}", "queue", wp__queues[index]->name, "topic", topic));
    }
    return failed ? wp__fail_nomem(err) : WP_OK;
}

static wp_status judge_findings(store_health *s, const question *q, const wp__findings *found,
                                wp_error **err)
{
    wp_status st = WP_OK;
    s->values[WP_HEALTH_LATENCY_US] = found->latency_us;
    s->values[WP_HEALTH_SCHEMA] = found->schema;
    s->values[WP_HEALTH_CLOCK_US] = found->clock_us;
    s->values[WP_HEALTH_SNAPSHOT_US] = found->snapshot_us;
    s->values[WP_HEALTH_WAL_BYTES] = found->wal_bytes;
    s->values[WP_HEALTH_FREE_BYTES] = found->free_bytes;
    if (found->status != WP_OK) {
        because(&s->why, WP_HEALTH_UNHEALTHY, wp_error_message(found->error));
        return WP_OK;
    }
    s->values[WP_HEALTH_READY] = s->values[WP_HEALTH_STALE] = 0;
    s->values[WP_HEALTH_OLDEST_US] = s->values[WP_HEALTH_OVERDUE] = 0;
    for (size_t i = 0; i < WP__QUEUES && st == WP_OK; i++) {
        if (!found->stats[i] || !counts(q, wp__queues[i]))
            continue;
        s->counted[i] = true;
        for (int stat = 0; stat < STATS; stat++)
            s->stats[i][stat] = wp_outbox_stats_total(found->stats[i], (wp_outbox_stat)stat);
        judge_queue(s, q, i);
        if (q->worker)
            st = find_unhandled(s, q, i, found->stats[i], err);
    }
    judge_jobs(s, q, found->jobs_late_us);
    if (s->values[WP_HEALTH_STALE])
        because_number(&s->why, "", s->values[WP_HEALTH_STALE],
                       " messages are held by leases that are over");
    judge_surroundings(s, q);
    return st;
}

static wp_status judge_store(store_health *s, const question *q, wp__probe *probe, wp_error **err)
{
    bool answered = false;
    const wp__findings *found = wp__probe_wait(probe, q->deadline_us, &answered);
    wp__buf text = {0};
    if (found)
        return judge_findings(s, q, found, err);
    wp__buf_fmt(&text, "the database %s within %lld ms",
                answered ? "could not count what it holds" : "did not answer",
                (long long)q->limit_ms);
    because(&s->why, answered ? WP_HEALTH_DEGRADED : WP_HEALTH_UNHEALTHY,
            text.failed ? "the database is slow" : text.data);
    wp__buf_free(&text);
    return WP_OK;
}

/* ---- the rule for a worker ----------------------------------------------------------------- */

static void judge_part(store_health *s, const question *q, const wp__part_vitals *vitals,
                       bool worker_runs)
{
    s->values[WP_HEALTH_PUMP_LATE_US] = vitals->pump_late_us;
    s->values[WP_HEALTH_RUNNING] = vitals->out;
    s->values[WP_HEALTH_HANDLER_US] = vitals->oldest_us;
    if (!vitals->store)
        because(&s->why, WP_HEALTH_UNHEALTHY, "the store could not be opened yet");
    if (worker_runs && !vitals->running)
        because(&s->why, WP_HEALTH_UNHEALTHY, "the worker does not run on it");
    if (vitals->failing)
        because(&s->why, WP_HEALTH_UNHEALTHY, "the worker's last try on it met an error");
    if (vitals->pump_late_us / 1000 >= q->config->health_pump_ms)
        because(&s->why, WP_HEALTH_UNHEALTHY, "the worker's pump is stuck");
}

static void judge_worker(wp_health *health, const wp__vitals *vitals)
{
    health->of_worker = true;
    health->running = vitals->running;
    if (!vitals->running)
        because(&health->why, WP_HEALTH_UNHEALTHY, "the worker is not running");
    if (vitals->stuck)
        because(&health->why, WP_HEALTH_DEGRADED,
                "messages wait, and all handlers have been at theirs for long");
}

/* ---- as JSON ------------------------------------------------------------------------------- */

static json_t *number(int64_t value, int64_t unit)
{
    return value == WP_HEALTH_NOT_KNOWN ? json_null() : json_integer(value / unit);
}

static const struct {
    const char *name;
    wp_health_value value;
    int64_t unit;
    bool of_worker;
} members[] = {{"latencyUs", WP_HEALTH_LATENCY_US, 1, false},
               {"schemaVersion", WP_HEALTH_SCHEMA, 1, false},
               {"ready", WP_HEALTH_READY, 1, false},
               {"stale", WP_HEALTH_STALE, 1, false},
               {"oldestReadyMs", WP_HEALTH_OLDEST_US, 1000, false},
               {"jobsLateMs", WP_HEALTH_JOBS_LATE_US, 1000, false},
               {"overdue", WP_HEALTH_OVERDUE, 1, false},
               {"clockDifferenceMs", WP_HEALTH_CLOCK_US, 1000, false},
               {"walBytes", WP_HEALTH_WAL_BYTES, 1, false},
               {"freeBytes", WP_HEALTH_FREE_BYTES, 1, false},
               {"oldestSnapshotMs", WP_HEALTH_SNAPSHOT_US, 1000, false},
               {"pumpLateMs", WP_HEALTH_PUMP_LATE_US, 1000, true},
               {"running", WP_HEALTH_RUNNING, 1, true},
               {"oldestHandlerMs", WP_HEALTH_HANDLER_US, 1000, true}};

static json_t *queues_json(const store_health *s)
{
    static const struct {
        const char *name;
        wp_outbox_stat stat;
        int64_t unit;
    } stats[] = {{"ready", WP_STAT_READY, 1},
                 {"scheduled", WP_STAT_SCHEDULED, 1},
                 {"inProgress", WP_STAT_IN_PROGRESS, 1},
                 {"blocked", WP_STAT_BLOCKED, 1},
                 {"paused", WP_STAT_PAUSED, 1},
                 {"stale", WP_STAT_LEASE_EXPIRED, 1},
                 {"oldestReadyMs", WP_STAT_OLDEST_READY_AGE_US, 1000}};
    json_t *queues = json_object();
    for (size_t i = 0; i < WP__QUEUES; i++) {
        json_t *queue = s->counted[i] ? json_object() : NULL;
        for (size_t k = 0; queue && k < sizeof stats / sizeof stats[0]; k++)
            (void)json_object_set_new(queue, stats[k].name,
                                      json_integer(s->stats[i][stats[k].stat] / stats[k].unit));
        if (queue)
            (void)json_object_set_new(queues, wp__queues[i]->name, queue);
    }
    return queues;
}

static json_t *store_json(const store_health *s, bool of_worker)
{
    char *reason = reasons_text(&s->why);
    json_t *json = json_pack("{s:s,s:s?,s:s,s:s?}", "id", s->id, "engine", s->engine, "status",
                             wp_health_status_name(s->why.status), "reason", reason);
    free(reason);
    for (size_t i = 0; json && i < sizeof members / sizeof members[0]; i++)
        if (of_worker || !members[i].of_worker)
            (void)json_object_set_new(json, members[i].name,
                                      number(s->values[members[i].value], members[i].unit));
    if (json)
        (void)json_object_set_new(json, "queues", queues_json(s));
    if (json && s->unhandled)
        (void)json_object_set(json, "unhandledTopics", s->unhandled);
    return json;
}

static wp_status write_json(wp_health *health, wp_error **err)
{
    json_t *stores = json_array();
    json_t *json;
    health->reason = reasons_text(&health->why);
    for (size_t i = 0; i < health->count; i++)
        (void)json_array_append_new(stores, store_json(&health->stores[i], health->of_worker));
    json = json_pack("{s:s,s:s?,s:o}", "status", wp_health_status_name(health->why.status),
                     "reason", health->reason, "stores", stores);
    if (json && health->of_worker)
        (void)json_object_set_new(json, "workerRunning", json_boolean(health->running));
    health->json = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return health->json && health->reason ? WP_OK : wp__fail_nomem(err);
}

/* ---- asking -------------------------------------------------------------------------------- */

static wp_status health_new(wp_health **out, size_t count, wp_error **err)
{
    wp_health *health = calloc(1, sizeof *health);
    if (health)
        health->stores = calloc(count + 1, sizeof *health->stores);
    if (!health || !health->stores) {
        free(health);
        return wp__fail_nomem(err);
    }
    health->count = count;
    for (size_t i = 0; i < count; i++)
        for (size_t v = 0; v < VALUES; v++)
            health->stores[i].values[v] = WP_HEALTH_NOT_KNOWN;
    *out = health;
    return WP_OK;
}

static wp_status store_begin(store_health *s, const char *id, const wp_store *store,
                             const question *q, wp_error **err)
{
    s->id = wp__text_dup(id);
    s->engine = store ? wp_store_engine(store) : NULL;
    if (q->worker) {
        s->unhandled = json_array();
        s->values[WP_HEALTH_UNHANDLED] = 0;
    }
    return s->id && (s->unhandled || !q->worker) ? WP_OK : wp__fail_nomem(err);
}

/* What is wrong with a store is wrong with all of it. */
static void gather(wp_health *health)
{
    for (size_t i = 0; i < health->count; i++) {
        const store_health *s = &health->stores[i];
        wp__buf text = {0};
        char *reason = s->why.status ? reasons_text(&s->why) : NULL;
        if (health->count > 1 && reason)
            wp__buf_fmt(&text, "store %s: ", s->id);
        wp__buf_text(&text, reason ? reason : "");
        if (reason)
            because(&health->why, s->why.status, text.failed ? reason : text.data);
        free(reason);
        wp__buf_free(&text);
    }
}

static wp_status finish(wp_health **out, wp_health *health, wp_status st, wp_error **err)
{
    if (st == WP_OK) {
        gather(health);
        st = write_json(health, err);
    }
    if (st != WP_OK) {
        wp_health_free(health);
        return st;
    }
    *out = health;
    return WP_OK;
}

static wp_status ask(question *q, wp_health_scope scope, int64_t max_age_ms, int64_t limit_ms,
                     const wp_config *config, wp_error **err)
{
    if ((int)scope < WP_HEALTH_OF_ALL || scope > WP_HEALTH_OF_SCHEDULER)
        return wp__fail(err, WP_E_RANGE, "scope is %d", (int)scope);
    if (max_age_ms > INT64_MAX / 1000 || limit_ms > LIMIT_MS_MAX)
        return wp__fail(err, WP_E_RANGE, "%s is too large",
                        limit_ms > LIMIT_MS_MAX ? "limit_ms" : "max_age_ms");
    q->scope = scope;
    q->config = config;
    q->overdue_us = (max_age_ms < 0 ? config->health_overdue_ms : max_age_ms) * 1000;
    q->limit_ms = limit_ms < 0 ? config->health_timeout_ms : limit_ms;
    q->deadline_us = wp__real_deadline_us(q->limit_ms);
    return WP_OK;
}

wp_status wp_health_read(wp_health **out, wp_store *store, wp_health_scope scope,
                         int64_t max_age_ms, int64_t limit_ms, wp_error **err)
{
    question q = {0};
    wp_health *health = NULL;
    wp__probe *probe = NULL;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (st = ask(&q, scope, max_age_ms, limit_ms, wp__store_config(store), err)) != WP_OK ||
        (st = health_new(&health, 1, err)) != WP_OK)
        return st;
    if ((st = store_begin(&health->stores[0], wp_store_id(store), store, &q, err)) == WP_OK &&
        (st = wp__probe_start(&probe, store, err)) == WP_OK)
        st = judge_store(&health->stores[0], &q, probe, err);
    wp__probe_free(probe);
    return finish(out, health, st, err);
}

/* Begin to look into all of them, and then wait for each: they share the limit. */
static wp_status ask_stores(wp_health *health, const question *q, const wp__vitals *vitals,
                            wp_error **err)
{
    wp__probe **probes = calloc(health->count + 1, sizeof(wp__probe *));
    wp_status st = probes ? WP_OK : wp__fail_nomem(err);
    for (size_t i = 0; i < health->count && st == WP_OK; i++) {
        const wp__part_vitals *part = &vitals->parts[i];
        st = store_begin(&health->stores[i], part->id, part->store, q, err);
        if (st == WP_OK && part->store)
            st = wp__probe_start(&probes[i], part->store, err);
    }
    for (size_t i = 0; i < health->count && st == WP_OK; i++) {
        judge_part(&health->stores[i], q, &vitals->parts[i], vitals->running);
        if (probes[i])
            st = judge_store(&health->stores[i], q, probes[i], err);
    }
    for (size_t i = 0; probes && i < health->count; i++)
        wp__probe_free(probes[i]);
    free(probes);
    return st;
}

wp_status wp_health_read_worker(wp_health **out, wp_worker *worker, wp_health_scope scope,
                                int64_t max_age_ms, int64_t limit_ms, wp_error **err)
{
    question q = {.worker = worker};
    wp_health *health = NULL;
    wp__vitals vitals = {0};
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__worker_check(worker, err)) != WP_OK ||
        (st = ask(&q, scope, max_age_ms, limit_ms, worker->config, err)) != WP_OK)
        return st;
    if ((st = wp__worker_vitals(&vitals, worker, worker->config->health_handler_ms * 1000, err)) ==
            WP_OK &&
        (st = health_new(&health, vitals.count, err)) == WP_OK) {
        judge_worker(health, &vitals);
        st = finish(out, health, ask_stores(health, &q, &vitals, err), err);
    }
    wp__vitals_free(&vitals);
    return st;
}

/* ---- reading it ---------------------------------------------------------------------------- */

wp_health_status wp_health_get_status(const wp_health *health)
{
    return health ? health->why.status : WP_HEALTH_UNHEALTHY;
}

const char *wp_health_status_name(wp_health_status status)
{
    static const char *const names[] = {"healthy", "degraded", "unhealthy"};
    return (int)status >= 0 && status <= WP_HEALTH_UNHEALTHY ? names[status] : names[2];
}

const char *wp_health_reason(const wp_health *health)
{
    return health ? health->reason : "";
}

const char *wp_health_json(const wp_health *health)
{
    return health ? health->json : "{}";
}

size_t wp_health_store_count(const wp_health *health)
{
    return health ? health->count : 0;
}

const char *wp_health_store_id(const wp_health *health, size_t index)
{
    return health && index < health->count ? health->stores[index].id : NULL;
}

wp_health_status wp_health_store_status(const wp_health *health, size_t index)
{
    return health && index < health->count ? health->stores[index].why.status : WP_HEALTH_UNHEALTHY;
}

int64_t wp_health_store_value(const wp_health *health, size_t index, wp_health_value value)
{
    const bool known = health && index < health->count && (int)value >= 0 && (int)value < VALUES;
    return known ? health->stores[index].values[value] : WP_HEALTH_NOT_KNOWN;
}

int64_t wp_health_queue_value(const wp_health *health, size_t index, wp_source source,
                              wp_outbox_stat stat)
{
    const wp__queue *queue = source == WP_SOURCE_ALL ? NULL : wp__source_queue(source);
    const store_health *s = health && index < health->count ? &health->stores[index] : NULL;
    if (!s || !queue || !s->counted[wp__queue_index(queue)] || (int)stat < 0 ||
        (int)stat >= STATS || stat == WP_STAT_DONE || stat == WP_STAT_FAILED)
        return WP_HEALTH_NOT_KNOWN;
    return s->stats[wp__queue_index(queue)][stat];
}

void wp_health_free(wp_health *health)
{
    if (!health)
        return;
    for (size_t i = 0; i < health->count; i++) {
        free(health->stores[i].id);
        reasons_free(&health->stores[i].why);
        json_decref(health->stores[i].unhandled);
    }
    free(health->stores);
    reasons_free(&health->why);
    free(health->reason);
    free(health->json);
    free(health);
}
