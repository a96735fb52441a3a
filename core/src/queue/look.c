/* SPDX-License-Identifier: Apache-2.0 */
/* Looking into a queue: one message, or counts by topic. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/store.h"
#include "queue/dead.h"
#include "queue/pause.h"

/* ---- one message -------------------------------------------------------------------------- */

struct wp_outbox_info {
    wp_received *message;
    const wp__queue *queue;
    int64_t payload_bytes;
    int64_t status;
    int64_t next_attempt_us;
    int64_t locked_until_us;
    int64_t finished_us;
    char *finished_by;
};

typedef struct get_op {
    wp_op base;
    const wp_id *id;
    int step;
    wp_outbox_info *info;
} get_op;

static wp_status get_next(wp_op *op, wp_error **err)
{
    get_op *self = (get_op *)op;
    (void)err;
    if (self->step++ == 0) {
        wp__op_set_id(op, WP__P_ID, self->id);
        wp__op_use_queue(op, WP__QUEUE_GET, WP__INFO_COLUMNS + op->queue->columns);
    }
    return WP_OK;
}

static wp_status copy_text(char **out, const wp__value *value, wp_error **err)
{
    if (value->type != WP_VALUE_TEXT)
        return WP_OK;
    *out = wp__text_ndup(value->p, value->len);
    return *out ? WP_OK : wp__fail_nomem(err);
}

/* The message of a row. One of the inbox that was never enqueued has neither topic nor payload. */
static wp_status get_message(wp_received **out, const wp__queue *queue, const wp__value *columns,
                             bool payload, wp_error **err)
{
    static const wp__value none = {.type = WP_VALUE_TEXT, .p = ""};
    const wp__value *last_error = &columns[WP__COL_LAST_ERROR];
    wp__value message[WP__RECEIVED_COLUMNS];
    memcpy(message, columns, sizeof message);
    if (queue->columns && message[WP__COL_TOPIC].type == WP_VALUE_NULL)
        message[WP__COL_TOPIC] = message[WP__COL_PAYLOAD] = none;
    if (!payload)
        message[WP__COL_PAYLOAD] = none;
    return wp__received_new(out, message, last_error,
                            queue->columns ? columns + WP__INFO_COLUMNS : NULL, err);
}

wp_status wp__info_new(wp_outbox_info **out, const wp__queue *queue, const wp__value *columns,
                       const wp__value *payload_bytes, wp_error **err)
{
    /* One that was never enqueued has none, in a list neither. */
    const bool payload = !payload_bytes || payload_bytes->type == WP_VALUE_NULL ||
                         columns[WP__COL_PAYLOAD].type != WP_VALUE_NULL;
    wp_outbox_info *info = calloc(1, sizeof *info);
    wp_status st;
    if (!info)
        return wp__fail_nomem(err);
    info->queue = queue;
    if ((st = get_message(&info->message, queue, columns, payload, err)) != WP_OK ||
        (st = wp__column_int(&info->status, &columns[WP__COL_STATUS], err)) != WP_OK ||
        (st = wp__column_int_or(&info->next_attempt_us, &columns[WP__COL_NEXT_ATTEMPT], 0, err)) !=
            WP_OK ||
        (st = wp__column_int_or(&info->locked_until_us, &columns[WP__COL_LOCKED_UNTIL], 0, err)) !=
            WP_OK ||
        (st = wp__column_int_or(&info->finished_us, &columns[WP__COL_FINISHED_AT], 0, err)) !=
            WP_OK ||
        (st = copy_text(&info->finished_by, &columns[WP__COL_FINISHED_BY], err)) != WP_OK) {
        wp_outbox_info_free(info);
        return st;
    }
    info->payload_bytes = (int64_t)info->message->payload_len;
    if (!payload) {
        info->message->payload = NULL;
        if ((st = wp__column_int_or(&info->payload_bytes, payload_bytes, 0, err)) != WP_OK) {
            wp_outbox_info_free(info);
            return st;
        }
    }
    *out = info;
    return WP_OK;
}

static wp_status get_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    wp_outbox_info_free(((get_op *)op)->info);
    ((get_op *)op)->info = NULL;
    return wp__info_new(&((get_op *)op)->info, op->queue, columns, NULL, err);
}

static void get_rewind(wp_op *op)
{
    ((get_op *)op)->step = 0;
}

static void get_destroy(wp_op *op)
{
    wp_outbox_info_free(((get_op *)op)->info);
}

wp_status wp__queue_get(wp_outbox_info **out, wp_store *store, const wp__queue *queue,
                        const wp_id *id, wp_error **err)
{
    static const wp__op_class cls = {.next = get_next,
                                     .row = get_row,
                                     .rewind = get_rewind,
                                     .destroy = get_destroy,
                                     .single = true};
    get_op op = {.id = id};
    wp_status st;
    if (!out || !id)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", out ? "id" : "out");
    if ((st = wp__store_check(store, err)) != WP_OK)
        return st;
    wp__op_init(&op.base, &cls, store);
    op.base.queue = queue;
    st = wp__store_run(store, NULL, &op.base, err);
    if (st == WP_OK && !op.info) {
        char text[37];
        wp_id_format(text, id);
        st = wp__fail(err, WP_E_NOT_FOUND, "the %s has no message %s", queue->name, text);
    }
    if (st == WP_OK) {
        *out = op.info;
        op.info = NULL;
    }
    wp__op_fini(&op.base);
    return st;
}

wp_message_status wp_outbox_info_status(const wp_outbox_info *info)
{
    return info ? (wp_message_status)info->status : WP_MESSAGE_READY;
}

const wp_received *wp_outbox_info_message(const wp_outbox_info *info)
{
    return info ? info->message : NULL;
}

int64_t wp_outbox_info_payload_bytes(const wp_outbox_info *info)
{
    return info ? info->payload_bytes : 0;
}

int64_t wp_outbox_info_next_attempt_us(const wp_outbox_info *info)
{
    return info ? info->next_attempt_us : 0;
}

int64_t wp_outbox_info_locked_until_us(const wp_outbox_info *info)
{
    return info ? info->locked_until_us : 0;
}

int64_t wp_outbox_info_finished_us(const wp_outbox_info *info)
{
    return info ? info->finished_us : 0;
}

const char *wp_outbox_info_finished_by(const wp_outbox_info *info)
{
    return info ? info->finished_by : NULL;
}

wp_source wp_outbox_info_source(const wp_outbox_info *info)
{
    return info ? wp__queue_source(info->queue) : WP_SOURCE_ALL;
}

const char *wp_outbox_info_last_error(const wp_outbox_info *info)
{
    return info ? wp_received_last_error(info->message) : NULL;
}

void wp_outbox_info_free(wp_outbox_info *info)
{
    if (!info)
        return;
    wp__received_free(info->message);
    free(info->finished_by);
    free(info);
}

/* ---- counts by topic ---------------------------------------------------------------------- */

enum { STATS = WP_STAT_PAUSED + 1 };
enum { UNFINISHED = 1, PAUSED, FINISHED }; /* the statements */

typedef struct topic_stats {
    char *topic;
    int64_t values[STATS];
} topic_stats;

struct wp_outbox_stats {
    topic_stats *topics;
    size_t count;
    size_t cap;
};

typedef struct stats_op {
    wp_op base;
    bool finished;
    int step;
    wp_outbox_stats *stats;
    wp_pauses *pauses;
} stats_op;

static wp_status stats_next(wp_op *op, wp_error **err)
{
    stats_op *self = (stats_op *)op;
    (void)err;
    self->step++;
    if (self->step == UNFINISHED) {
        wp__op_set_now(op);
        wp__op_use_queue(op, WP__QUEUE_STATS, 7);
        return WP_OK;
    }
    if (self->step == PAUSED) {
        wp__op_use(op, WP__SQL_PAUSE_LIST, WP__PAUSE_COLUMNS);
        return WP_OK;
    }
    if (self->step == FINISHED && self->finished)
        wp__op_use_queue(op, WP__QUEUE_STATS_FINISHED, 3);
    return WP_OK;
}

static wp_status find_topic(topic_stats **out, wp_outbox_stats *stats, const wp__value *name,
                            wp_error **err)
{
    for (size_t i = 0; i < stats->count; i++) {
        *out = &stats->topics[i];
        if (strlen((*out)->topic) == name->len && memcmp((*out)->topic, name->p, name->len) == 0)
            return WP_OK;
    }
    if (stats->count == stats->cap) {
        size_t cap = stats->cap ? stats->cap * 2 : 16;
        topic_stats *topics = realloc(stats->topics, cap * sizeof *topics);
        if (!topics)
            return wp__fail_nomem(err);
        stats->topics = topics;
        stats->cap = cap;
    }
    *out = &stats->topics[stats->count];
    **out = (topic_stats){.topic = wp__text_ndup(name->p, name->len)};
    if (!(*out)->topic)
        return wp__fail_nomem(err);
    stats->count++;
    return WP_OK;
}

static wp_status stats_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    static const wp_outbox_stat unfinished[] = {
        WP_STAT_READY,   WP_STAT_SCHEDULED,           WP_STAT_IN_PROGRESS,
        WP_STAT_BLOCKED, WP_STAT_OLDEST_READY_AGE_US, WP_STAT_LEASE_EXPIRED};
    static const wp_outbox_stat finished[] = {WP_STAT_DONE, WP_STAT_FAILED};
    stats_op *self = (stats_op *)op;
    const wp_outbox_stat *which = self->step == UNFINISHED ? unfinished : finished;
    size_t count = self->step == UNFINISHED ? sizeof unfinished / sizeof unfinished[0]
                                            : sizeof finished / sizeof finished[0];
    topic_stats *topic = NULL;
    int64_t value = 0;
    static const char odd[] = "(unreadable)"; /* the reaper will fail its messages */
    const wp__value other = {.type = WP_VALUE_TEXT, .p = odd, .len = sizeof odd - 1};
    wp_status st;
    if (self->step == PAUSED)
        return wp__pauses_add(self->pauses, columns, err);
    st = find_topic(&topic, self->stats, columns[0].type == WP_VALUE_TEXT ? &columns[0] : &other,
                    err);
    for (size_t i = 0; i < count && st == WP_OK; i++)
        if ((st = wp__column_int(&value, &columns[i + 1], err)) == WP_OK)
            topic->values[which[i]] += value;
    return st;
}

static void stats_clear(wp_outbox_stats *stats)
{
    for (size_t i = 0; i < stats->count; i++)
        free(stats->topics[i].topic);
    stats->count = 0;
}

static void stats_rewind(wp_op *op)
{
    ((stats_op *)op)->step = 0;
    wp__pauses_clear(((stats_op *)op)->pauses);
    stats_clear(((stats_op *)op)->stats);
}

static int compare_topics(const void *left, const void *right)
{
    return strcmp(((const topic_stats *)left)->topic, ((const topic_stats *)right)->topic);
}

/* What could be claimed of a paused topic waits for nobody's worker. */
static void set_paused(wp_outbox_stats *stats, const wp__queue *queue, const wp_pauses *pauses)
{
    for (size_t i = 0; i < stats->count; i++) {
        topic_stats *t = &stats->topics[i];
        if (!wp__pauses_have(pauses, queue, t->topic, strlen(t->topic)))
            continue;
        t->values[WP_STAT_PAUSED] = t->values[WP_STAT_READY];
        t->values[WP_STAT_READY] = t->values[WP_STAT_OLDEST_READY_AGE_US] = 0;
    }
}

wp_status wp__queue_stats(wp_outbox_stats **out, wp_store *store, const wp__queue *queue,
                          int finished, wp_error **err)
{
    static const wp__op_class cls = {.next = stats_next, .row = stats_row, .rewind = stats_rewind};
    stats_op op = {.finished = finished != 0};
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK)
        return st;
    op.stats = calloc(1, sizeof *op.stats);
    op.pauses = wp__pauses_new();
    if (!op.stats || !op.pauses) {
        free(op.stats);
        wp_pauses_free(op.pauses);
        return wp__fail_nomem(err);
    }
    wp__op_init(&op.base, &cls, store);
    op.base.queue = queue;
    st = wp__store_run(store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    if (st == WP_OK)
        set_paused(op.stats, queue, op.pauses);
    wp_pauses_free(op.pauses);
    if (st != WP_OK) {
        wp_outbox_stats_free(op.stats);
        return st;
    }
    if (op.stats->count > 1)
        qsort(op.stats->topics, op.stats->count, sizeof *op.stats->topics, compare_topics);
    *out = op.stats;
    return WP_OK;
}

size_t wp_outbox_stats_count(const wp_outbox_stats *stats)
{
    return stats ? stats->count : 0;
}

const char *wp_outbox_stats_topic(const wp_outbox_stats *stats, size_t index)
{
    return stats && index < stats->count ? stats->topics[index].topic : NULL;
}

int64_t wp_outbox_stats_value(const wp_outbox_stats *stats, size_t index, wp_outbox_stat stat)
{
    bool known = stats && index < stats->count && (int)stat >= 0 && (int)stat < STATS;
    return known ? stats->topics[index].values[stat] : 0;
}

int64_t wp_outbox_stats_total(const wp_outbox_stats *stats, wp_outbox_stat stat)
{
    int64_t total = 0;
    for (size_t i = 0; i < wp_outbox_stats_count(stats); i++) {
        int64_t value = wp_outbox_stats_value(stats, i, stat);
        if (stat != WP_STAT_OLDEST_READY_AGE_US)
            total += value;
        else if (value > total)
            total = value;
    }
    return total;
}

void wp_outbox_stats_free(wp_outbox_stats *stats)
{
    if (!stats)
        return;
    stats_clear(stats);
    free(stats->topics);
    free(stats);
}
