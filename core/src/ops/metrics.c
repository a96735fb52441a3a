/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics: which there are, and where their numbers come from. */
#include <waypost/metrics.h>

#include <stdlib.h>
#include <string.h>
#include <waypost/health.h>
#include <waypost/inbox.h>
#include <waypost/lease.h>

#include "base/text.h"
#include "ops/probe.h"
#include "ops/series.h"
#include "worker/vitals.h"

enum {
    TOPICS_MAX = 100, /* of a queue, besides those that are registered */
    LIMIT_MS_MAX = 3600000
};
#define OTHERS "(other)"

struct wp_metrics {
    wp__series series;
    char *json;
};

/* One store that is told of. */
typedef struct source {
    const char *id;
    wp_store *store;            /* NULL: it is not open yet */
    wp__part *part;             /* a reference; NULL: no worker's */
    const wp__tally *tallies;   /* the part's; NULL: it has not run */
    wp__probe *probe;           /* NULL: there is no store */
    const wp__findings *found;  /* NULL: it has not answered */
    const wp__part_vitals *own; /* NULL: no worker's */
} source;

typedef struct telling {
    wp__series *series;
    wp_worker *worker; /* NULL: none */
    source *sources;
    size_t count;
} telling;

#define SECONDS(us) ((double)(us) / 1e6)

/* ---- of the worker ------------------------------------------------------------------------- */

static double worker_count(const wp_worker *worker, const wp_counter *counters, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += wp_worker_counter(worker, counters[i]);
    return (double)sum;
}

static void tell_worker(const telling *t, const wp__vitals *vitals)
{
    static const wp__family processed = {"worker_processed_total", WP__COUNTER,
                                         "Messages whose handling ended, in whatever way."};
    static const wp__family errors = {"worker_errors_total", WP__COUNTER,
                                      "Messages that are to be retried, or became dead letters."};
    static const wp__family running = {"waypost_worker_running", WP__GAUGE,
                                       "1 while the worker runs."};
    static const wp__family uptime = {"worker_uptime_seconds", WP__GAUGE,
                                      "Since the worker was started."};
    static const wp_counter ends[] = {WP_COUNTER_ACKED, WP_COUNTER_ABANDONED, WP_COUNTER_FAILED,
                                      WP_COUNTER_CANCELLED};
    static const wp__labels none = {0};
    const int64_t started = atomic_load(&t->worker->started_at);
    wp__series_add(t->series, &processed, &none, worker_count(t->worker, ends, 4));
    wp__series_add(t->series, &errors, &none, worker_count(t->worker, &ends[1], 2));
    wp__series_add(t->series, &running, &none, vitals->running);
    wp__series_add(t->series, &uptime, &none,
                   started ? SECONDS(wp__worker_now(t->worker) - started) : 0);
}

static void tell_memory(const telling *t)
{
    static const wp__family memory = {"worker_memory_bytes", WP__GAUGE,
                                      "Resident memory of this process."};
    const int64_t bytes = wp__process_memory();
    if (bytes >= 0)
        wp__series_add(t->series, &memory, &(wp__labels){0}, (double)bytes);
}

/* ---- of each store -------------------------------------------------------------------------- */

/* Gives false where there is nothing to tell. */
typedef bool (*number_fn)(double *out, const source *s, int which);

static bool is_up(double *out, const source *s, int which)
{
    (void)which;
    *out = s->found && s->found->status == WP_OK;
    return true;
}

static bool known(double *out, int64_t us)
{
    *out = SECONDS(us);
    return us != WP_HEALTH_NOT_KNOWN;
}

static bool latency(double *out, const source *s, int which)
{
    (void)which;
    return s->found && known(out, s->found->latency_us);
}

static bool jobs_late(double *out, const source *s, int which)
{
    (void)which;
    return s->found && known(out, s->found->jobs_late_us);
}

static bool snapshot(double *out, const source *s, int which)
{
    (void)which;
    return s->found && known(out, s->found->snapshot_us);
}

static bool bytes_of(double *out, const source *s, int which)
{
    const int64_t bytes = !s->found                      ? WP_HEALTH_NOT_KNOWN
                          : which == WP_HEALTH_WAL_BYTES ? s->found->wal_bytes
                                                         : s->found->free_bytes;
    *out = (double)bytes;
    return bytes != WP_HEALTH_NOT_KNOWN;
}

static bool pump_late(double *out, const source *s, int which)
{
    (void)which;
    return s->own && known(out, s->own->pump_late_us);
}

static bool busy(double *out, const source *s, int which)
{
    (void)which;
    *out = s->own ? (double)s->own->out : 0;
    return s->own;
}

static bool part_counter(double *out, const source *s, int which)
{
    if (!s->part)
        return false;
    *out = (double)atomic_load_explicit(&s->part->counters[which], memory_order_relaxed);
    return true;
}

static bool lease_counter(double *out, const source *s, int which)
{
    if (!s->store)
        return false;
    *out = (double)wp_lease_counter_read(s->store, (wp_lease_counter)which);
    return true;
}

static bool inbox_counter(double *out, const source *s, int which)
{
    if (!s->store)
        return false;
    *out = (double)wp_inbox_counter(s->store, (wp_inbox_counter_id)which);
    return true;
}

static bool unhandled(double *out, const source *s, int which)
{
    size_t count = 0;
    (void)which;
    if (!s->part || !s->found || s->found->status != WP_OK)
        return false;
    for (size_t i = 0; i < WP__QUEUES; i++)
        for (size_t t = 0; t < wp_outbox_stats_count(s->found->stats[i]); t++)
            count += wp_outbox_stats_value(s->found->stats[i], t, WP_STAT_READY) &&
                     !wp__worker_handles(s->part->worker, wp__queues[i],
                                         wp_outbox_stats_topic(s->found->stats[i], t));
    *out = (double)count;
    return true;
}

static const struct {
    wp__family family;
    number_fn number;
    int which;
} of_stores[] = {
    {{"waypost_store_up", WP__GAUGE, "1 if the database answered in time."}, is_up, 0},
    {{"waypost_store_latency_seconds", WP__GAUGE, "Until the database first answered."},
     latency,
     0},
    {{"waypost_jobs_late_seconds", WP__GAUGE,
      "For how long a job has been due whose run is not made."},
     jobs_late,
     0},
    {{"waypost_snapshot_seconds", WP__GAUGE,
      "For how long the oldest snapshot on a PostgreSQL database has been held."},
     snapshot,
     0},
    {{"waypost_sqlite_wal_bytes", WP__GAUGE, "Size of the write-ahead log."},
     bytes_of,
     WP_HEALTH_WAL_BYTES},
    {{"waypost_sqlite_free_bytes", WP__GAUGE, "Free space on the database's disk."},
     bytes_of,
     WP_HEALTH_FREE_BYTES},
    {{"waypost_pump_late_seconds", WP__GAUGE, "For how long the pump should have been back."},
     pump_late,
     0},
    {{"waypost_handlers_busy", WP__GAUGE, "Messages with handlers."}, busy, 0},
    {{"waypost_unhandled_topics", WP__GAUGE,
      "Topics with ready messages that this worker does not handle."},
     unhandled,
     0},
    {{"waypost_renewed_total", WP__COUNTER, "Claims renewed."}, part_counter, WP_COUNTER_RENEWED},
    {{"waypost_polls_total", WP__COUNTER, "Claims sent, empty ones too."},
     part_counter,
     WP_COUNTER_POLLS},
    {{"waypost_wakes_total", WP__COUNTER, "Wake-ups by hint."}, part_counter, WP_COUNTER_WAKES},
    {{"waypost_database_errors_total", WP__COUNTER, "Database errors met."},
     part_counter,
     WP_COUNTER_ERRORS},
    {{"waypost_leases_active", WP__GAUGE, "Leases and slots that this process keeps."},
     lease_counter,
     WP_LEASE_COUNTER_HELD},
    {{"waypost_leases_lost_total", WP__COUNTER, "Leases and slots that were lost."},
     lease_counter,
     WP_LEASE_COUNTER_LOST},
    {{"waypost_lease_renewals_total", WP__COUNTER, "Leases and slots that were renewed."},
     lease_counter,
     WP_LEASE_COUNTER_RENEWED},
    {{"waypost_inbox_checked_total", WP__COUNTER, "Messages of the inbox that were checked."},
     inbox_counter,
     WP_INBOX_COUNTER_CHECKED},
    {{"waypost_inbox_enqueued_total", WP__COUNTER, "Messages of the inbox that were new."},
     inbox_counter,
     WP_INBOX_COUNTER_ENQUEUED},
    {{"waypost_inbox_duplicates_total", WP__COUNTER, "Messages of the inbox that had been there."},
     inbox_counter,
     WP_INBOX_COUNTER_DUPLICATES},
    {{"waypost_inbox_mismatches_total", WP__COUNTER,
      "Messages of the inbox that came again with another hash."},
     inbox_counter,
     WP_INBOX_COUNTER_MISMATCHES},
};

static void tell_stores(const telling *t)
{
    for (size_t f = 0; f < sizeof of_stores / sizeof of_stores[0]; f++)
        for (size_t i = 0; i < t->count; i++) {
            double value = 0;
            if (of_stores[f].number(&value, &t->sources[i], of_stores[f].which))
                wp__series_add(t->series, &of_stores[f].family,
                               &(wp__labels){.store = t->sources[i].id}, value);
        }
}

static void tell_claims(const telling *t)
{
    static const wp__family claim = {"waypost_claim_seconds", WP__HISTOGRAM,
                                     "How long claims took, with the outcomes that went along."};
    static const wp__family reaped = {"waypost_reaped_total", WP__COUNTER,
                                      "Claims taken back because their lease was over."};
    for (size_t i = 0; i < t->count; i++)
        if (t->sources[i].part)
            wp__series_add_histogram(t->series, &claim, &(wp__labels){.store = t->sources[i].id},
                                     &t->sources[i].part->claim);
    for (size_t i = 0; i < t->count; i++)
        for (size_t q = 0; t->sources[i].part && q < WP__QUEUES; q++)
            wp__series_add(
                t->series, &reaped,
                &(wp__labels){.store = t->sources[i].id, .queue = wp__queues[q]->name},
                (double)atomic_load_explicit(&t->sources[i].part->reaped[q], memory_order_relaxed));
}

/* ---- of each topic, counted here ------------------------------------------------------------- */

/* A family's samples of one tally. */
typedef void (*tally_fn)(const telling *t, const wp__family *family, const wp__labels *labels,
                         const wp__tally *tally, int which);

static void tell_count(const telling *t, const wp__family *family, const wp__labels *labels,
                       const wp__tally *tally, int which)
{
    wp__series_add(t->series, family, labels,
                   (double)atomic_load_explicit(&tally->counts[which], memory_order_relaxed));
}

static void tell_handled(const telling *t, const wp__family *family, const wp__labels *labels,
                         const wp__tally *tally, int which)
{
    (void)which;
    wp__series_add_histogram(t->series, family, labels, &tally->handled);
}

static void tell_lag(const telling *t, const wp__family *family, const wp__labels *labels,
                     const wp__tally *tally, int which)
{
    (void)which;
    wp__series_add_histogram(t->series, family, labels, &tally->lag);
}

static const struct {
    wp__family family;
    tally_fn tell;
    int which;
} of_topics[] = {
    {{"waypost_claimed_total", WP__COUNTER, "Messages claimed."}, tell_count, WP__TALLY_CLAIMED},
    {{"waypost_retried_total", WP__COUNTER, "Messages claimed that had been tried before."},
     tell_count,
     WP__TALLY_RETRIED},
    {{"waypost_acked_total", WP__COUNTER, "Messages done."}, tell_count, WP__TALLY_ACKED},
    {{"waypost_abandoned_total", WP__COUNTER, "Messages given back for a retry."},
     tell_count,
     WP__TALLY_ABANDONED},
    {{"waypost_failed_total", WP__COUNTER, "Messages made dead letters."},
     tell_count,
     WP__TALLY_FAILED},
    {{"waypost_released_total", WP__COUNTER, "Messages given back as if never started."},
     tell_count,
     WP__TALLY_RELEASED},
    {{"waypost_cancelled_total", WP__COUNTER, "Runs cancelled while they ran."},
     tell_count,
     WP__TALLY_CANCELLED},
    {{"waypost_lease_lost_total", WP__COUNTER, "Outcomes that came too late to count."},
     tell_count,
     WP__TALLY_LOST},
    {{"waypost_handler_seconds", WP__HISTOGRAM, "How long handlers had messages."},
     tell_handled,
     0},
    {{"waypost_lag_seconds", WP__HISTOGRAM, "How long messages had been due when first claimed."},
     tell_lag,
     0},
};

/* The topics are registered for good once a part has tallies. Others are told of where there were any. */
static void tell_tallies_of(const telling *t, const source *s, size_t f)
{
    const wp__tally *tallies = s->tallies;
    wp__labels labels = {.store = s->id};
    if (!tallies || !t->worker)
        return;
    for (const wp__topic *topic = t->worker->topics; topic; topic = topic->next) {
        labels.queue = topic->queue->name;
        labels.topic = topic->name;
        if (topic->handled)
            of_topics[f].tell(t, &of_topics[f].family, &labels, &tallies[topic->number],
                              of_topics[f].which);
    }
    labels.topic = OTHERS;
    for (size_t q = 0; q < WP__QUEUES; q++) {
        const wp__tally *other = &tallies[t->worker->topic_count + q];
        labels.queue = wp__queues[q]->name;
        if (atomic_load_explicit(&other->counts[WP__TALLY_CLAIMED], memory_order_relaxed))
            of_topics[f].tell(t, &of_topics[f].family, &labels, other, of_topics[f].which);
    }
}

static void tell_tallies(const telling *t)
{
    for (size_t f = 0; f < sizeof of_topics / sizeof of_topics[0]; f++)
        for (size_t i = 0; i < t->count; i++)
            tell_tallies_of(t, &t->sources[i], f);
}

/* ---- of each topic, counted by the database --------------------------------------------------- */

static const struct {
    wp__family family;
    wp_outbox_stat stat;
} of_queues[] = {
    {{"queue_depth", WP__GAUGE, "Messages that may be claimed now."}, WP_STAT_READY},
    {{"waypost_scheduled_messages", WP__GAUGE, "Messages that are due or tried again later."},
     WP_STAT_SCHEDULED},
    {{"waypost_in_progress_messages", WP__GAUGE, "Messages that are claimed."},
     WP_STAT_IN_PROGRESS},
    {{"waypost_blocked_messages", WP__GAUGE, "Messages that wait behind an ordering key."},
     WP_STAT_BLOCKED},
    {{"waypost_paused_messages", WP__GAUGE, "Messages that wait because their topic is paused."},
     WP_STAT_PAUSED},
    {{"waypost_stale_messages", WP__GAUGE, "Messages that are held by leases that are over."},
     WP_STAT_LEASE_EXPIRED},
    {{"waypost_oldest_ready_seconds", WP__GAUGE, "Age of the oldest message that may be claimed."},
     WP_STAT_OLDEST_READY_AGE_US},
};

static bool is_registered(const source *s, size_t queue, const char *topic)
{
    return s->part && wp__worker_handles(s->part->worker, wp__queues[queue], topic);
}

static void tell_queue_of(const telling *t, const source *s, size_t f, size_t queue)
{
    const wp_outbox_stats *stats = s->found->stats[queue];
    const wp_outbox_stat stat = of_queues[f].stat;
    const bool is_age = stat == WP_STAT_OLDEST_READY_AGE_US;
    wp__labels labels = {.store = s->id, .queue = wp__queues[queue]->name};
    size_t strangers = 0;
    int64_t rest = 0;
    for (size_t i = 0; i < wp_outbox_stats_count(stats); i++) {
        const int64_t value = wp_outbox_stats_value(stats, i, stat);
        labels.topic = wp_outbox_stats_topic(stats, i);
        if (is_registered(s, queue, labels.topic) || strangers++ < TOPICS_MAX)
            wp__series_add(t->series, &of_queues[f].family, &labels,
                           is_age ? SECONDS(value) : (double)value);
        else if (!is_age)
            rest += value;
        else
            rest = value > rest ? value : rest;
    }
    labels.topic = OTHERS;
    if (strangers > TOPICS_MAX)
        wp__series_add(t->series, &of_queues[f].family, &labels,
                       is_age ? SECONDS(rest) : (double)rest);
}

/* Topics that are registered and empty are told of, too: a series that goes away is not 0. */
static void tell_empty_of(const telling *t, const source *s, size_t f)
{
    wp__labels labels = {.store = s->id};
    for (const wp__topic *topic = s->tallies ? t->worker->topics : NULL; topic;
         topic = topic->next) {
        const wp_outbox_stats *stats = s->found->stats[wp__queue_index(topic->queue)];
        bool there = !topic->handled;
        for (size_t i = 0; i < wp_outbox_stats_count(stats) && !there; i++)
            there = strcmp(wp_outbox_stats_topic(stats, i), topic->name) == 0;
        labels.queue = topic->queue->name;
        labels.topic = topic->name;
        if (!there)
            wp__series_add(t->series, &of_queues[f].family, &labels, 0);
    }
}

static void tell_queues(const telling *t)
{
    for (size_t f = 0; f < sizeof of_queues / sizeof of_queues[0]; f++)
        for (size_t i = 0; i < t->count; i++) {
            const source *s = &t->sources[i];
            if (!s->found || s->found->status != WP_OK)
                continue;
            for (size_t q = 0; q < WP__QUEUES; q++)
                tell_queue_of(t, s, f, q);
            tell_empty_of(t, s, f);
        }
}

/* ---- how many workers there should be --------------------------------------------------------- */

/* What waits that this worker handles; -1: not all stores have told. */
static int64_t waiting(const telling *t)
{
    int64_t sum = 0;
    for (size_t i = 0; i < t->count; i++) {
        const source *s = &t->sources[i];
        if (!s->found || s->found->status != WP_OK)
            return -1;
        for (size_t q = 0; q < WP__QUEUES; q++)
            for (size_t n = 0; n < wp_outbox_stats_count(s->found->stats[q]); n++)
                if (wp__worker_handles(t->worker, wp__queues[q],
                                       wp_outbox_stats_topic(s->found->stats[q], n)))
                    sum += wp_outbox_stats_value(s->found->stats[q], n, WP_STAT_READY);
    }
    return sum;
}

static int64_t ended(const wp_worker *worker)
{
    return wp_worker_counter(worker, WP_COUNTER_ACKED) +
           wp_worker_counter(worker, WP_COUNTER_FAILED) +
           wp_worker_counter(worker, WP_COUNTER_CANCELLED);
}

/* Ask the controller, as often as `scaling.interval_ms` says. It is told that there are as many workers as it
 * wanted, and that all do as much as this one; where the database does not answer the number stays. */
static bool decide(wp_worker *worker, int64_t depth)
{
    const int64_t now = wp__worker_now(worker), own = ended(worker);
    const int64_t interval = worker->config->scaling.interval_ms * 1000;
    if (worker->scaling && (depth < 0 || now - worker->scaling_at < interval))
        return true;
    if (depth < 0)
        return false;
    if (!worker->scaling) {
        if (wp_scaling_new(&worker->scaling, worker->config, NULL) != WP_OK)
            return false; /* `waypost supervise` says why */
        worker->scaling_wanted = worker->config->scaling.min_instances;
        worker->scaling_own = own;
    }
    worker->scaling_all +=
        (own - worker->scaling_own) * (worker->scaling_wanted > 0 ? worker->scaling_wanted : 1);
    worker->scaling_own = own;
    worker->scaling_at = now;
    return wp_scaling_decide(&worker->scaling_wanted, worker->scaling, now, worker->scaling_wanted,
                             depth, worker->scaling_all, NULL) == WP_OK;
}

static void tell_scaling(const telling *t)
{
    static const wp__family desired = {"waypost_scaling_desired_workers", WP__GAUGE,
                                       "How many workers like this one there should be."};
    const int64_t depth = waiting(t);
    int64_t wanted = 0;
    bool decided;
    wp__mutex_lock(&t->worker->mutex);
    decided = t->worker->state == WP__RUNNING && decide(t->worker, depth);
    wanted = t->worker->scaling_wanted;
    wp__mutex_unlock(&t->worker->mutex);
    if (decided)
        wp__series_add(t->series, &desired, &(wp__labels){0}, (double)wanted);
}

/* ---- reading -------------------------------------------------------------------------------- */

static wp_status look(telling *t, int64_t limit_ms, wp_error **err)
{
    const int64_t deadline = wp__real_deadline_us(limit_ms);
    wp_status st = WP_OK;
    for (size_t i = 0; i < t->count && st == WP_OK; i++)
        if (t->sources[i].store)
            st = wp__probe_start(&t->sources[i].probe, t->sources[i].store, err);
    for (size_t i = 0; i < t->count && st == WP_OK; i++)
        if (t->sources[i].probe)
            t->sources[i].found = wp__probe_wait(t->sources[i].probe, deadline, &(bool){false});
    return st;
}

static wp_status tell(wp_metrics **out, telling *t, const wp__vitals *vitals, wp_error **err)
{
    wp_metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics || wp__series_init(&metrics->series, NULL) != WP_OK) {
        free(metrics);
        return wp__fail_nomem(err);
    }
    t->series = &metrics->series;
    if (vitals) {
        tell_worker(t, vitals);
        tell_scaling(t);
    }
    tell_memory(t);
    tell_stores(t);
    tell_claims(t);
    tell_tallies(t);
    tell_queues(t);
    metrics->json = json_dumps(metrics->series.samples, JSON_COMPACT);
    if (!metrics->json || metrics->series.failed || metrics->series.text.failed) {
        wp_metrics_free(metrics);
        return wp__fail_nomem(err);
    }
    *out = metrics;
    return WP_OK;
}

static wp_status check(const wp_metrics *const *out, int64_t limit_ms, wp_error **err)
{
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if (limit_ms > LIMIT_MS_MAX)
        return wp__fail(err, WP_E_RANGE, "limit_ms is too large");
    return WP_OK;
}

static int64_t limit_of(int64_t limit_ms, const wp_config *config)
{
    return limit_ms < 0 ? config->health_timeout_ms : limit_ms;
}

/* The part of an id; a part that has gone meanwhile has none. */
static void find_part(source *s, wp_worker *worker)
{
    wp__mutex_lock(&worker->mutex);
    for (wp__part *part = worker->parts; part && !s->part; part = part->next)
        if (!part->removed && strcmp(part->id, s->id) == 0) {
            s->part = wp__part_ref(part);
            s->tallies = part->tallies;
        }
    wp__mutex_unlock(&worker->mutex);
}

wp_status wp_metrics_read(wp_metrics **out, wp_worker *worker, int64_t limit_ms, wp_error **err)
{
    telling t = {.worker = worker};
    wp__vitals vitals = {0};
    wp_status st;
    if ((st = wp__worker_check(worker, err)) != WP_OK ||
        (st = check((const wp_metrics *const *)out, limit_ms, err)) != WP_OK)
        return st;
    if ((st = wp__worker_vitals(&vitals, worker, 0, err)) == WP_OK &&
        !(t.sources = calloc(vitals.count + 1, sizeof *t.sources)))
        st = wp__fail_nomem(err);
    for (size_t i = 0; st == WP_OK && i < vitals.count; i++) {
        t.sources[i] = (source){
            .id = vitals.parts[i].id, .store = vitals.parts[i].store, .own = &vitals.parts[i]};
        find_part(&t.sources[t.count++], worker);
    }
    if (st == WP_OK && (st = look(&t, limit_of(limit_ms, worker->config), err)) == WP_OK)
        st = tell(out, &t, &vitals, err);
    for (size_t i = 0; i < t.count; i++) {
        wp__probe_free(t.sources[i].probe);
        if (t.sources[i].part)
            wp__part_unref(t.sources[i].part);
    }
    free(t.sources);
    wp__vitals_free(&vitals);
    return st;
}

wp_status wp_metrics_read_store(wp_metrics **out, wp_store *store, int64_t limit_ms, wp_error **err)
{
    source one = {.store = store};
    telling t = {.sources = &one, .count = 1};
    wp_status st;
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (st = check((const wp_metrics *const *)out, limit_ms, err)) != WP_OK)
        return st;
    one.id = wp_store_id(store);
    if ((st = look(&t, limit_of(limit_ms, wp__store_config(store)), err)) == WP_OK)
        st = tell(out, &t, NULL, err);
    wp__probe_free(one.probe);
    return st;
}

const char *wp_metrics_text(const wp_metrics *metrics)
{
    return metrics ? metrics->series.text.data : "";
}

const char *wp_metrics_json(const wp_metrics *metrics)
{
    return metrics ? metrics->json : "[]";
}

void wp_metrics_free(wp_metrics *metrics)
{
    if (!metrics)
        return;
    wp__series_free(&metrics->series);
    free(metrics->json);
    free(metrics);
}
