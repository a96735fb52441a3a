/* SPDX-License-Identifier: Apache-2.0 */
/* Cleaning: what was finished long ago goes, of each queue in turn, then of joins, and last what pauses have
 * left behind, page by page, between the rounds of the pump and on its connection. One worker of a store does it at a time: it has a lease until it is
 * time for the next one. */
#include "join/join.h"
#include "lease/lease.h"
#include "queue/dead.h"
#include "queue/pause.h"
#include "worker/worker.h"

enum {
    JOINS = WP__QUEUES, /* comes after them */
    KEPT,               /* so many kinds are kept for a time */
    PAUSES_OF_TOPICS = KEPT,
    KINDS,
    PAUSES = 4, /* it pauses for so many times as long as a page took, but no longer than: */
    PAUSE_MAX_US = 1000000,
    TROUBLE_US = 60000000 /* after an error that is no lost connection: tries again */
};

static const char name[] = "waypost/cleanup";

/* How long what is done of each kind is kept; 0: for ever. */
static int64_t keep_ms(const wp_config *config, size_t kind)
{
    const int64_t all[KEPT] = {config->outbox_keep_ms, config->inbox_keep_ms, config->timer_keep_ms,
                               config->job_keep_ms, config->join_keep_ms};
    return all[kind];
}

/* Whether the store's engine has such rows. */
static bool has_kind(const wp__part *part, size_t kind)
{
    const wp__sql_source *statements = wp__store_engine(part->store)->statements;
    const wp__sql_id needs = kind == PAUSES_OF_TOPICS ? WP__SQL_PAUSE_CLEAN
                             : kind == JOINS
                                 ? WP__SQL_JOIN_REMOVE
                                 : wp__queue_sql_id(wp__queues[kind], WP__QUEUE_FIND_OLD);
    return statements[needs].text != NULL;
}

/* Whether it has leases, without which nobody knows who cleans. */
static bool has_leases(const wp__part *part)
{
    return wp__store_engine(part->store)->statements[WP__SQL_LEASE_ACQUIRE].text != NULL;
}

static bool keeps_all(const wp__part *part)
{
    bool all = !has_kind(part, PAUSES_OF_TOPICS);
    for (size_t i = 0; i < KEPT; i++)
        all = all && keep_ms(part->worker->config, i) == 0;
    return all;
}

/* Have the lease, or see that another worker has it. */
static wp_status acquire(bool *granted, wp__part *part, wp_error **err)
{
    wp__lease_op op;
    char owner[37];
    wp_status st;
    wp_id_format(owner, &part->owner);
    wp__lease_op_init(&op, part->store, WP__LEASE_ACQUIRE, WP_LEASE_EXCLUSIVE);
    op.name = name;
    op.owner = owner;
    op.duration_us = part->worker->config->cleanup_ms * 1000;
    st = wp__conn_run(part->pump_conn, &op.base, err);
    *granted = st == WP_OK && op.info.granted;
    wp__op_fini(&op.base);
    return st;
}

static const char *kind_name(size_t kind)
{
    return kind == PAUSES_OF_TOPICS ? "pauses" : kind == JOINS ? "joins" : wp__queues[kind]->name;
}

static void end_kind(wp__part *part)
{
    wp__cleaning *c = &part->cleaning;
    if (c->removed)
        WP__LOG(part->worker->log, WP_LOG_INFO, "cleaned up", WP__F_TEXT("StoreId", part->id),
                WP__F_TEXT("WorkerId", part->worker->name), WP__F_TEXT("Queue", kind_name(c->kind)),
                WP__F_INT("Count", c->removed));
    c->kind++;
    c->after = -1;
    c->removed = 0;
}

static wp_status clean_page(wp__part *part, int64_t now, wp_error **err)
{
    wp__cleaning *c = &part->cleaning;
    const bool has = has_kind(part, c->kind);
    const int64_t keep = has && c->kind < KEPT ? keep_ms(part->worker->config, c->kind) : 0;
    size_t removed = 0;
    bool more = false;
    int64_t pause;
    wp_status st = WP_OK;
    if (has && c->kind == PAUSES_OF_TOPICS)
        st = wp__pauses_clean_page(&removed, &more, part->store, part->pump_conn, err);
    else if (keep && c->kind == JOINS)
        st = wp__join_cleanup_page(&removed, &more, part->store, part->pump_conn, keep * 1000, err);
    else if (keep)
        st = wp__cleanup_page(&removed, &more, &c->after, part->store, part->pump_conn,
                              wp__queues[c->kind], keep * 1000, err);
    c->removed += removed;
    part->worked = part->worked || removed > 0;
    pause = PAUSES * (wp__worker_now(part->worker) - now);
    c->at = wp__worker_now(part->worker) + (pause < PAUSE_MAX_US ? pause : PAUSE_MAX_US);
    if (st == WP_OK && !more)
        end_kind(part);
    return st;
}

static wp_status clean(wp__part *part, int64_t now, wp_error **err)
{
    wp__cleaning *c = &part->cleaning;
    const int64_t interval = part->worker->config->cleanup_ms * 1000;
    bool granted = true;
    wp_status st = WP_OK;
    if (!c->under_way || now - c->leased_at >= interval / 2) {
        st = acquire(&granted, part, err);
        c->leased_at = now;
    }
    if (st == WP_OK && granted && !c->under_way)
        *c = (wp__cleaning){.under_way = true, .leased_at = now, .after = -1, .at = now};
    if (st == WP_OK && granted)
        st = clean_page(part, now, err);
    if (!granted || c->kind == KINDS) {
        c->under_way = false;
        c->at = now + interval;
    }
    return st;
}

wp_status wp__part_clean(wp__part *part, int64_t now, int64_t *deadline, wp_error **err)
{
    wp__cleaning *c = &part->cleaning;
    const int64_t tenth = part->worker->config->cleanup_ms * 100;
    wp_error *cause = NULL;
    wp_status st = WP_OK;
    if (keeps_all(part) || !has_leases(part) || wp__part_is_ending(part))
        return WP_OK;
    if (!c->at) /* not all at once, and not while everything starts */
        c->at = now + tenth + (int64_t)(wp__random() % (uint64_t)tenth);
    if (now >= c->at)
        st = clean(part, now, &cause);
    if (st != WP_OK && wp__conn_is_sound(part->pump_conn)) { /* nothing else may suffer from it */
        WP__LOG(part->worker->log, WP_LOG_WARNING, "cannot clean up, will try again",
                WP__F_TEXT("StoreId", part->id), WP__F_TEXT("WorkerId", part->worker->name),
                WP__F_TEXT("Exception", wp_error_message(cause)));
        *c = (wp__cleaning){.at = now + TROUBLE_US};
        wp_error_free(cause);
        cause = NULL;
        st = WP_OK;
    }
    if (cause)
        wp__error_move(err, cause);
    if (c->at < *deadline)
        *deadline = c->at;
    return st;
}
