/* SPDX-License-Identifier: Apache-2.0 */
/* Topics that are paused: changed, listed, told from others. */
#include "queue/pause.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/store.h"
#include "queue/audit.h"
#include "queue/dead.h"

static const char *const words[WP__QUEUES] = {"outbox", "inbox", "timers", "jobs"};

const char *wp__queue_word(const wp__queue *queue)
{
    return words[wp__queue_index(queue)];
}

const wp__queue *wp__queue_of_word(const char *word)
{
    for (size_t i = 0; i < WP__QUEUES; i++)
        if (strcmp(words[i], word) == 0)
            return wp__queues[i];
    return NULL;
}

/* ---- pause and resume --------------------------------------------------------------------- */

enum { START, CHANGE, AUDIT, SIGNAL, END };

typedef struct change_op {
    wp_op base;
    const wp__queue *queue;
    bool resumes;
    const char *topic;
    const char *by;
    char *owned[2]; /* copies made for a host */
    bool joins;     /* runs in a transaction of the app's, which commits unseen */
    int step;
} change_op;

static wp_status change_next(wp_op *op, wp_error **err)
{
    change_op *self = (change_op *)op;
    (void)err;
    if (self->step == START) {
        self->step = CHANGE;
        wp__op_set_text(op, WP__P_SOURCE, wp__queue_word(self->queue));
        wp__op_set_text(op, WP__P_TOPIC, self->topic);
        wp__op_set_text(op, WP__P_WORKER, self->by);
        wp__op_set_now(op);
        wp__op_use(op, self->resumes ? WP__SQL_PAUSE_REMOVE : WP__SQL_PAUSE_ADD, 1);
    } else if (self->step == CHANGE && op->result_count) {
        self->step = AUDIT;
        wp__audit_use(op, self->resumes ? "topic.resume" : "topic.pause", self->queue, self->topic,
                      self->by, NULL);
    } else if (self->step == AUDIT && self->joins && wp__store_may_signal(op->store)) {
        self->step = SIGNAL;
        wp__op_set_text(op, WP__P_NAME, wp__store_channel(op->store));
        wp__op_use(op, WP__SQL_OUTBOX_SIGNAL, 1);
    } else {
        self->step = END;
    }
    return WP_OK;
}

static wp_status change_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    (void)columns, (void)err;
    if (((change_op *)op)->step == CHANGE)
        op->result_count = 1;
    return WP_OK;
}

static void change_rewind(wp_op *op)
{
    ((change_op *)op)->step = START;
}

static void change_destroy(wp_op *op)
{
    change_op *self = (change_op *)op;
    for (size_t i = 0; i < sizeof self->owned / sizeof self->owned[0]; i++)
        free(self->owned[i]);
}

static const wp__op_class change_class = {.next = change_next,
                                          .row = change_row,
                                          .rewind = change_rewind,
                                          .destroy = change_destroy,
                                          .writes = true};

static wp_status check(change_op *op, const wp_store *store, const wp_conn *conn, wp_source source,
                       const char *topic, const char *by, wp_error **err)
{
    wp_status st;
    if ((st = wp__store_check_conn(store, conn, err)) != WP_OK)
        return st;
    if (!(op->queue = wp__source_queue(source)))
        return wp__fail(err, WP_E_ARGUMENT, "source is %d, not a queue", (int)source);
    if ((st = wp__check_text(NULL, "topic", topic, WP_NAME_MAX, true, err)) != WP_OK ||
        (st = wp__check_text(NULL, "by", by, WP_NAME_MAX, false, err)) != WP_OK)
        return st;
    op->topic = topic;
    op->by = by;
    return WP_OK;
}

static void tell(const change_op *op, wp_store *store)
{
    WP__LOG(wp__store_log(store), WP_LOG_INFO, op->resumes ? "resumed a topic" : "paused a topic",
            WP__F_TEXT("StoreId", wp_store_id(store)), WP__F_TEXT("Queue", op->queue->name),
            WP__F_TEXT("Topic", op->topic), WP__F_TEXT("By", op->by));
}

static wp_status run(int *changed, bool resumes, wp_store *store, wp_conn *conn, wp_source source,
                     const char *topic, const char *by, wp_error **err)
{
    change_op op = {.resumes = resumes, .joins = conn != NULL};
    wp_status st = check(&op, store, conn, source, topic, by, err);
    if (st != WP_OK)
        return st;
    wp__op_init(&op.base, &change_class, store);
    st = wp__store_run(store, conn, &op.base, err);
    if (st == WP_OK && changed)
        *changed = op.base.result_count > 0;
    if (st == WP_OK && op.base.result_count)
        tell(&op, store);
    if (st == WP_OK && !conn && op.base.result_count)
        wp__store_announce(store);
    wp__op_fini(&op.base);
    wp__log_pump(wp__store_log(store));
    return st;
}

static wp_status make_op(wp_op **out, bool resumes, wp_store *store, wp_source source,
                         const char *topic, const char *by, wp_error **err)
{
    change_op want = {.resumes = resumes, .joins = true};
    change_op *op;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = check(&want, store, NULL, source, topic, by, err)) != WP_OK)
        return st;
    if (!(op = malloc(sizeof *op)))
        return wp__fail_nomem(err);
    *op = want;
    op->topic = op->owned[0] = wp__text_dup(topic);
    op->by = op->owned[1] = by ? wp__text_dup(by) : NULL;
    if (!op->topic || (by && !op->by)) {
        change_destroy(&op->base);
        free(op);
        return wp__fail_nomem(err);
    }
    wp__op_init(&op->base, &change_class, store);
    op->base.owns_store = true;
    wp__store_ref(store);
    *out = &op->base;
    return WP_OK;
}

wp_status wp_topic_pause(int *changed, wp_store *store, wp_conn *conn, wp_source source,
                         const char *topic, const char *by, wp_error **err)
{
    return run(changed, false, store, conn, source, topic, by, err);
}

wp_status wp_topic_pause_op(wp_op **out, wp_store *store, wp_source source, const char *topic,
                            const char *by, wp_error **err)
{
    return make_op(out, false, store, source, topic, by, err);
}

wp_status wp_topic_resume(int *changed, wp_store *store, wp_conn *conn, wp_source source,
                          const char *topic, const char *by, wp_error **err)
{
    return run(changed, true, store, conn, source, topic, by, err);
}

wp_status wp_topic_resume_op(wp_op **out, wp_store *store, wp_source source, const char *topic,
                             const char *by, wp_error **err)
{
    return make_op(out, true, store, source, topic, by, err);
}

/* ---- which are ---------------------------------------------------------------------------- */

typedef struct pause {
    const wp__queue *queue;
    char *topic;
    char *by;
    int64_t since_us;
} pause;

struct wp_pauses {
    pause *items;
    size_t count;
    size_t cap;
};

wp_pauses *wp__pauses_new(void)
{
    return calloc(1, sizeof(wp_pauses));
}

void wp__pauses_clear(wp_pauses *pauses)
{
    for (size_t i = 0; i < pauses->count; i++) {
        free(pauses->items[i].topic);
        free(pauses->items[i].by);
    }
    pauses->count = 0;
}

void wp_pauses_free(wp_pauses *pauses)
{
    if (!pauses)
        return;
    wp__pauses_clear(pauses);
    free(pauses->items);
    free(pauses);
}

wp_status wp__pauses_add(wp_pauses *pauses, const wp__value *columns, wp_error **err)
{
    const wp__queue *queue =
        columns[0].type == WP_VALUE_TEXT ? wp__queue_of_word(columns[0].p) : NULL;
    pause *item;
    if (!queue || columns[1].type != WP_VALUE_TEXT)
        return WP_OK;
    if (pauses->count == pauses->cap) {
        const size_t cap = pauses->cap ? pauses->cap * 2 : 16;
        pause *items = realloc(pauses->items, cap * sizeof *items);
        if (!items)
            return wp__fail_nomem(err);
        pauses->items = items;
        pauses->cap = cap;
    }
    item = &pauses->items[pauses->count];
    *item = (pause){.queue = queue, .topic = wp__text_ndup(columns[1].p, columns[1].len)};
    if (!item->topic)
        return wp__fail_nomem(err);
    pauses->count++;
    if (columns[3].type == WP_VALUE_TEXT && columns[3].len &&
        !(item->by = wp__text_ndup(columns[3].p, columns[3].len)))
        return wp__fail_nomem(err);
    return wp__column_int(&item->since_us, &columns[2], err);
}

typedef struct read_op {
    wp_op base;
    int step;
    wp_pauses *pauses;
} read_op;

static wp_status read_next(wp_op *op, wp_error **err)
{
    (void)err;
    if (((read_op *)op)->step++ == 0)
        wp__op_use(op, WP__SQL_PAUSE_LIST, WP__PAUSE_COLUMNS);
    return WP_OK;
}

static wp_status read_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    return wp__pauses_add(((read_op *)op)->pauses, columns, err);
}

static void read_rewind(wp_op *op)
{
    ((read_op *)op)->step = 0;
    wp__pauses_clear(((read_op *)op)->pauses);
}

wp_status wp__pauses_read(wp_pauses **out, wp_store *store, wp_conn *conn, wp_error **err)
{
    static const wp__op_class cls = {
        .next = read_next, .row = read_row, .rewind = read_rewind, .single = true};
    read_op op = {.pauses = wp__pauses_new()};
    wp_status st;
    if (!op.pauses)
        return wp__fail_nomem(err);
    wp__op_init(&op.base, &cls, store);
    st = wp__store_run(store, conn, &op.base, err);
    wp__op_fini(&op.base);
    if (st == WP_OK)
        *out = op.pauses;
    else
        wp_pauses_free(op.pauses);
    return st;
}

wp_status wp_pauses_read(wp_pauses **out, wp_store *store, wp_error **err)
{
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK)
        return st;
    st = wp__pauses_read(out, store, NULL, err);
    wp__log_pump(wp__store_log(store));
    return st;
}

/* ---- cleaning ----------------------------------------------------------------------------- */

enum { CLEAN_PAGE = 100 }; /* so few that the table is not locked for them */

typedef struct clean_op {
    wp_op base;
    int step;
} clean_op;

static wp_status clean_next(wp_op *op, wp_error **err)
{
    (void)err;
    if (((clean_op *)op)->step++ == 0) {
        wp__op_set_int(op, WP__P_BATCH, CLEAN_PAGE);
        wp__op_use(op, WP__SQL_PAUSE_CLEAN, 1);
    }
    return WP_OK;
}

static wp_status clean_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    (void)columns, (void)err;
    op->result_count++;
    return WP_OK;
}

static void clean_rewind(wp_op *op)
{
    ((clean_op *)op)->step = 0;
}

wp_status wp__pauses_clean_page(size_t *removed, bool *more, wp_store *store, wp_conn *conn,
                                wp_error **err)
{
    static const wp__op_class cls = {.next = clean_next,
                                     .row = clean_row,
                                     .rewind = clean_rewind,
                                     .writes = true,
                                     .single = true};
    clean_op op = {.step = 0};
    wp_status st;
    wp__op_init(&op.base, &cls, store);
    st = wp__store_run(store, conn, &op.base, err);
    *removed = st == WP_OK ? op.base.result_count : 0;
    *more = *removed == CLEAN_PAGE;
    wp__op_fini(&op.base);
    return st;
}

size_t wp_pauses_count(const wp_pauses *pauses)
{
    return pauses ? pauses->count : 0;
}

wp_source wp_pauses_source(const wp_pauses *pauses, size_t index)
{
    return index < wp_pauses_count(pauses) ? wp__queue_source(pauses->items[index].queue)
                                           : WP_SOURCE_ALL;
}

const char *wp_pauses_topic(const wp_pauses *pauses, size_t index)
{
    return index < wp_pauses_count(pauses) ? pauses->items[index].topic : NULL;
}

int64_t wp_pauses_since_us(const wp_pauses *pauses, size_t index)
{
    return index < wp_pauses_count(pauses) ? pauses->items[index].since_us : 0;
}

const char *wp_pauses_by(const wp_pauses *pauses, size_t index)
{
    return index < wp_pauses_count(pauses) ? pauses->items[index].by : NULL;
}

bool wp__pauses_have(const wp_pauses *pauses, const wp__queue *queue, const char *topic, size_t len)
{
    for (size_t i = 0; i < wp_pauses_count(pauses); i++)
        if (pauses->items[i].queue == queue && strlen(pauses->items[i].topic) == len &&
            memcmp(pauses->items[i].topic, topic, len) == 0)
            return true;
    return false;
}

bool wp__pauses_are_same(const wp_pauses *left, const wp_pauses *right)
{
    bool same = wp_pauses_count(left) == wp_pauses_count(right);
    for (size_t i = 0; same && i < wp_pauses_count(left); i++)
        same = left->items[i].queue == right->items[i].queue &&
               strcmp(left->items[i].topic, right->items[i].topic) == 0;
    return same;
}

wp_status wp__pauses_filter(char **out, size_t *left, const wp_pauses *pauses,
                            const wp__queue *queue, const char *topics, wp_error **err)
{
    json_t *all = json_loads(topics, 0, NULL);
    json_t *rest = json_array();
    json_t *topic;
    size_t i;
    bool failed = !all || !rest;
    *out = NULL;
    json_array_foreach(all, i, topic) if (!wp__pauses_have(pauses, queue, json_string_value(topic),
                                                           json_string_length(topic))) failed |=
        json_array_append(rest, topic) != 0;
    *left = json_array_size(rest);
    if (!failed && *left < json_array_size(all))
        failed = !(*out = json_dumps(rest, JSON_COMPACT));
    json_decref(all);
    json_decref(rest);
    return failed ? wp__fail_nomem(err) : WP_OK;
}
