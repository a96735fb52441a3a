/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses, which go along: each comes once, as long as the source has it. */
#include <jansson.h>
#include <stdlib.h>
#include <waypost/pause.h>

#include "copy/copy.h"
#include "queue/audit.h"
#include "queue/dead.h"
#include "queue/pause.h"

/* ---- one comes ---------------------------------------------------------------------------- */

typedef struct pause_op {
    wp_op base;
    const wp__copy_end *end;
    const wp__queue *queue;
    const char *topic;
    const char *by;
    int step;
    bool seen; /* the statement gave a row */
} pause_op;

static wp_status pause_next(wp_op *op, wp_error **err)
{
    pause_op *self = (pause_op *)op;
    const bool seen = self->seen;
    self->seen = false;
    if (self->step == 1 && !seen)
        return wp__copy_fail_fenced(self->end, err);
    if (self->step > 1 && !seen) /* it came before, or the topic is paused there */
        return WP_OK;
    switch (self->step++) {
    case 0:
        wp__copy_use_fence(op, self->end);
        return WP_OK;
    case 1:
        wp__op_set_text(op, WP__P_SOURCE, wp__queue_word(self->queue));
        wp__op_set_text(op, WP__P_TOPIC, self->topic);
        wp__op_set_id(op, WP__P_OWNER, &self->end->peer);
        wp__op_use(op, WP__SQL_COPY_PAUSE_NOTE, 1);
        return WP_OK;
    case 2:
        wp__op_set_text(op, WP__P_SOURCE, wp__queue_word(self->queue));
        wp__op_set_text(op, WP__P_TOPIC, self->topic);
        wp__op_set_text(op, WP__P_WORKER, self->by);
        wp__op_set_now(op);
        wp__op_use(op, WP__SQL_PAUSE_ADD, 1);
        return WP_OK;
    case 3:
        wp__audit_use(op, "topic.pause", self->queue, self->topic, self->by, NULL);
        return WP_OK;
    default:
        return WP_OK;
    }
}

static wp_status pause_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    (void)columns;
    (void)err;
    ((pause_op *)op)->seen = true;
    return WP_OK;
}

static void pause_rewind(wp_op *op)
{
    ((pause_op *)op)->step = 0;
    ((pause_op *)op)->seen = false;
}

wp_status wp__copy_pause(const wp__copy_end *end, const wp__queue *queue, const char *topic,
                         const char *by, wp_error **err)
{
    static const wp__op_class cls = {
        .next = pause_next, .row = pause_row, .rewind = pause_rewind, .writes = true};
    pause_op op = {.end = end, .queue = queue, .topic = topic, .by = by};
    wp_status st;
    wp__op_init(&op.base, &cls, end->store);
    st = wp__store_run(end->store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    return st;
}

/* ---- those that are over ------------------------------------------------------------------ */

typedef struct forget_op {
    wp_op base;
    const wp__copy_end *end;
    const char *names; /* a JSON array: those that stay noted */
    int step;
    bool held;
} forget_op;

static wp_status forget_next(wp_op *op, wp_error **err)
{
    forget_op *self = (forget_op *)op;
    const int at = self->step++;
    if (at == 0) {
        wp__copy_use_fence(op, self->end);
    } else if (at == 1) {
        if (!self->held)
            return wp__copy_fail_fenced(self->end, err);
        wp__op_set_id(op, WP__P_OWNER, &self->end->peer);
        wp__op_set_text(op, WP__P_TOPICS, self->names);
        wp__op_use(op, WP__SQL_COPY_PAUSE_FORGET, 0);
    }
    return WP_OK;
}

static wp_status forget_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    (void)columns;
    (void)err;
    ((forget_op *)op)->held = true;
    return WP_OK;
}

static void forget_rewind(wp_op *op)
{
    ((forget_op *)op)->step = 0;
    ((forget_op *)op)->held = false;
}

static bool add_name(json_t *names, const wp_pauses *pauses, size_t i)
{
    const wp__queue *queue = wp__source_queue(wp_pauses_source(pauses, i));
    wp__buf name = {0};
    bool ok;
    wp__buf_fmt(&name, "%s/%s", wp__queue_word(queue), wp_pauses_topic(pauses, i));
    ok = !name.failed && json_array_append_new(names, json_string(name.data)) == 0;
    wp__buf_free(&name);
    return ok;
}

wp_status wp__copy_forget_pauses(const wp__copy_end *end, const wp_pauses *pauses, wp_error **err)
{
    static const wp__op_class cls = {
        .next = forget_next, .row = forget_row, .rewind = forget_rewind, .writes = true};
    forget_op op = {.end = end};
    json_t *names = json_array();
    bool ok = names != NULL;
    char *text;
    wp_status st;
    for (size_t i = 0; i < wp_pauses_count(pauses) && ok; i++)
        ok = add_name(names, pauses, i);
    text = ok ? json_dumps(names, JSON_COMPACT) : NULL;
    json_decref(names);
    if (!text)
        return wp__fail_nomem(err);
    op.names = text;
    wp__op_init(&op.base, &cls, end->store);
    st = wp__store_run(end->store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    free(text);
    return st;
}
