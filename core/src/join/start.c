/* SPDX-License-Identifier: Apache-2.0 */
/* A join to start: checked as it is built, stored by one statement. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/store.h"
#include "join/join.h"
#include "message.h"

struct wp_join {
    int64_t expected;
    char *grouping_key;
    char *metadata;
    bool fail_if_any;
    wp_message *next[2]; /* on success, on failure; NULL: none */
    bool has_deadline;
    int64_t deadline_us;
    int64_t timeout_us; /* 0: none */
};

/* ---- under construction ------------------------------------------------------------------- */

wp_status wp_join_new(wp_join **out, int64_t expected, wp_error **err)
{
    wp_join *join;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if (expected < 1)
        return wp__fail(err, WP_E_ARGUMENT, "expected is %lld, less than 1", (long long)expected);
    if (expected > WP_JOIN_EXPECTED_MAX)
        return wp__fail(err, WP_E_RANGE, "expected is %lld, more than %d", (long long)expected,
                        WP_JOIN_EXPECTED_MAX);
    join = calloc(1, sizeof *join);
    if (!join)
        return wp__fail_nomem(err);
    join->expected = expected;
    *out = join;
    return WP_OK;
}

void wp_join_free(wp_join *join)
{
    if (!join)
        return;
    free(join->grouping_key);
    free(join->metadata);
    wp_message_free(join->next[0]);
    wp_message_free(join->next[1]);
    free(join);
}

static wp_status check_join(const wp_join *join, wp_error **err)
{
    return join ? WP_OK : wp__fail(err, WP_E_ARGUMENT, "join is NULL");
}

/* NULL and, unless `keep_empty`, empty mean none. */
static wp_status set_text(char **field, const char *text, bool keep_empty, wp_error **err)
{
    char *copy = NULL;
    if (text && (*text || keep_empty) && !(copy = wp__text_dup(text)))
        return wp__fail_nomem(err);
    free(*field);
    *field = copy;
    return WP_OK;
}

wp_status wp_join_set_grouping_key(wp_join *join, const char *grouping_key, wp_error **err)
{
    wp_status st;
    if ((st = check_join(join, err)) != WP_OK ||
        (st = wp__check_text(NULL, "grouping_key", grouping_key, WP_NAME_MAX, false, err)) != WP_OK)
        return st;
    return set_text(&join->grouping_key, grouping_key, false, err);
}

wp_status wp_join_set_metadata(wp_join *join, const char *metadata, wp_error **err)
{
    const size_t len = metadata ? strlen(metadata) : 0;
    wp_status st;
    if ((st = check_join(join, err)) != WP_OK)
        return st;
    if (len > WP_JOIN_METADATA_MAX)
        return wp__fail(err, WP_E_ARGUMENT, "metadata is %zu bytes long, more than %d", len,
                        WP_JOIN_METADATA_MAX);
    if ((st = wp__check_text(NULL, "metadata", metadata, WP_JOIN_METADATA_MAX, false, err)) !=
        WP_OK)
        return st;
    return set_text(&join->metadata, metadata, true, err);
}

wp_status wp_join_set_fail_if_any(wp_join *join, int fail_if_any, wp_error **err)
{
    wp_status st = check_join(join, err);
    if (st == WP_OK)
        join->fail_if_any = fail_if_any != 0;
    return st;
}

/* What a continuation cannot have, or NULL. */
static const char *surplus(const wp_message *m)
{
    if (m->has_due || m->delay_us)
        return "a due time";
    if (m->has_expires)
        return "an expiry";
    if (m->unique_key)
        return "a unique key";
    return m->join_count ? "joins" : NULL;
}

static wp_status set_next(wp_join *join, size_t which, const char *argument,
                          const wp_message *message, wp_error **err)
{
    wp_message *copy = NULL;
    wp_status st = check_join(join, err);
    if (st != WP_OK)
        return st;
    if (message && surplus(message))
        return wp__fail(err, WP_E_ARGUMENT, "the %s message has %s, which it cannot have", argument,
                        surplus(message));
    if (message && (st = wp__message_copy(&copy, message, err)) != WP_OK)
        return st;
    wp_message_free(join->next[which]);
    join->next[which] = copy;
    return WP_OK;
}

wp_status wp_join_set_success(wp_join *join, const wp_message *message, wp_error **err)
{
    return set_next(join, 0, "success", message, err);
}

wp_status wp_join_set_failure(wp_join *join, const wp_message *message, wp_error **err)
{
    return set_next(join, 1, "failure", message, err);
}

wp_status wp_join_set_deadline_us(wp_join *join, int64_t deadline_us, wp_error **err)
{
    wp_status st = check_join(join, err);
    if (st != WP_OK)
        return st;
    if (deadline_us < 1 || deadline_us > WP_TIME_US_MAX)
        return wp__fail(err, WP_E_RANGE, "deadline_us is %lld, not in 1..%lld",
                        (long long)deadline_us, (long long)WP_TIME_US_MAX);
    join->has_deadline = true;
    join->deadline_us = deadline_us;
    join->timeout_us = 0;
    return WP_OK;
}

wp_status wp_join_set_timeout_ms(wp_join *join, int64_t timeout_ms, wp_error **err)
{
    wp_status st = check_join(join, err);
    if (st != WP_OK)
        return st;
    if (timeout_ms < 1 || timeout_ms > WP_DELAY_MS_MAX)
        return wp__fail(err, WP_E_RANGE, "timeout_ms is %lld, not in 1..%lld",
                        (long long)timeout_ms, (long long)WP_DELAY_MS_MAX);
    join->has_deadline = false;
    join->timeout_us = timeout_ms * 1000;
    return WP_OK;
}

/* ---- the operation ------------------------------------------------------------------------ */

enum { START, LOOK, STORE };

typedef struct start_op {
    wp_op base;
    /* copies of what the join says */
    wp_join join; /* without its messages */
    char *next;   /* the messages, as JSON */
    wp_id next_ids[2];
    wp__op_result result;
    wp__buf json;
    int step;
    bool found;
} start_op;

static bool add_text(json_t *row, const char *name, const char *text, size_t len)
{
    return !text || json_object_set_new_nocheck(row, name, json_stringn_nocheck(text, len)) == 0;
}

static json_t *next_row(const wp_message *m, int status, const wp_id *id)
{
    json_t *row = json_object();
    char text[37];
    wp_id_format(text, id);
    if (!row || json_object_set_new(row, "status", json_integer(status)) != 0 ||
        !add_text(row, "id", text, strlen(text)) ||
        !add_text(row, "topic", m->topic, strlen(m->topic)) ||
        !add_text(row, "payload", m->payload, m->payload_len) ||
        !add_text(row, "headers", m->headers, m->headers ? strlen(m->headers) : 0) ||
        !add_text(row, "correlation_id", m->correlation_id,
                  m->correlation_id ? strlen(m->correlation_id) : 0) ||
        !add_text(row, "ordering_key", m->ordering_key,
                  m->ordering_key ? strlen(m->ordering_key) : 0)) {
        json_decref(row);
        return NULL;
    }
    return row;
}

static wp_status make_next(start_op *self, const wp_join *join, wp_error **err)
{
    json_t *array = json_array();
    bool failed = !array;
    for (int i = 0; i < 2 && !failed; i++) {
        wp_id_new(&self->next_ids[i]);
        if (join->next[i])
            failed = json_array_append_new(array, next_row(join->next[i],
                                                           i ? WP_JOIN_FAILED : WP_JOIN_COMPLETED,
                                                           &self->next_ids[i])) != 0;
    }
    if (!failed)
        self->next = json_dumps(array, JSON_COMPACT);
    json_decref(array);
    return self->next ? WP_OK : wp__fail_nomem(err);
}

static void use_store(start_op *self)
{
    wp_op *op = &self->base;
    const wp_join *join = &self->join;
    wp__op_set_id(op, WP__P_ID, &self->result.own);
    wp__op_set_int(op, WP__P_NUMBER, join->expected);
    wp__op_set_int(op, WP__P_STATUS, join->fail_if_any);
    wp__op_set_text(op, WP__P_NAME, join->grouping_key);
    wp__op_set_text(op, WP__P_PAYLOAD, join->metadata);
    wp__op_set_now(op);
    wp__op_set_null(op, WP__P_EXPIRES_AT);
    wp__op_set_null(op, WP__P_DELAY);
    if (join->has_deadline)
        wp__op_set_int(op, WP__P_EXPIRES_AT, join->deadline_us);
    else if (join->timeout_us)
        wp__op_set_int(op, WP__P_DELAY, join->timeout_us);
    wp__op_set_bytes(op, WP__P_IDS, self->next_ids, sizeof self->next_ids);
    wp__op_set_text(op, WP__P_MESSAGES, self->next);
    wp__op_set_text(op, WP__P_SOURCE, wp__store_channel(op->store));
    self->step = STORE;
    wp__op_use(op, WP__SQL_JOIN_START, 0);
}

static wp_status start_next(wp_op *op, wp_error **err)
{
    start_op *self = (start_op *)op;
    if (self->step == START && op->unsure) { /* an earlier try may have been committed */
        wp_status st = wp__op_set_ids(op, &self->json, &self->result.own, 1, err);
        self->step = LOOK;
        wp__op_use(op, WP__SQL_JOIN_FIND, 3);
        return st;
    }
    if (self->step != STORE && !self->found) {
        use_store(self);
        return WP_OK;
    }
    op->result_count = 1;
    return WP_OK;
}

static wp_status start_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    (void)columns;
    (void)err;
    ((start_op *)op)->found = true;
    return WP_OK;
}

static void start_rewind(wp_op *op)
{
    ((start_op *)op)->step = START;
    ((start_op *)op)->found = false;
}

static void start_destroy(wp_op *op)
{
    start_op *self = (start_op *)op;
    free(self->join.grouping_key);
    free(self->join.metadata);
    free(self->next);
    wp__buf_free(&self->json);
}

static const wp__op_class start_class = {.next = start_next,
                                         .row = start_row,
                                         .rewind = start_rewind,
                                         .destroy = start_destroy,
                                         .writes = true,
                                         .single = true,
                                         .checks = true};

/* wp__op_fini() it, also when this fails. */
static wp_status start_init(start_op *self, wp_store *store, const wp_join *join, wp_error **err)
{
    wp__op_init(&self->base, &start_class, store);
    self->join = *join;
    self->join.next[0] = self->join.next[1] = NULL;
    self->join.grouping_key = wp__text_dup(join->grouping_key);
    self->join.metadata = wp__text_dup(join->metadata);
    wp_id_new(&self->result.own);
    self->result.id = self->result.own;
    self->base.results = &self->result;
    if ((join->grouping_key && !self->join.grouping_key) ||
        (join->metadata && !self->join.metadata))
        return wp__fail_nomem(err);
    return make_next(self, join, err);
}

static void log_started(const start_op *self)
{
    WP__LOG(wp__store_log(self->base.store), WP_LOG_DEBUG, "join started",
            WP__F_TEXT("StoreId", wp_store_id(self->base.store)),
            WP__F_ID("JoinId", &self->result.id), WP__F_INT("Expected", self->join.expected));
}

wp_status wp_join_start(wp_id *id, wp_store *store, wp_conn *conn, const wp_join *join,
                        wp_error **err)
{
    start_op op = {0};
    wp_status st;
    if (!id)
        return wp__fail(err, WP_E_ARGUMENT, "id is NULL");
    if ((st = wp__store_check_conn(store, conn, err)) != WP_OK ||
        (st = check_join(join, err)) != WP_OK)
        return st;
    if ((st = start_init(&op, store, join, err)) == WP_OK &&
        (st = wp__store_run(store, conn, &op.base, err)) == WP_OK) {
        *id = op.result.id;
        log_started(&op);
    }
    wp__op_fini(&op.base);
    wp__log_pump(wp__store_log(store));
    return st;
}

wp_status wp_join_start_op(wp_op **out, wp_store *store, const wp_join *join, wp_error **err)
{
    start_op *op;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK || (st = check_join(join, err)) != WP_OK)
        return st;
    op = calloc(1, sizeof *op);
    if (!op)
        return wp__fail_nomem(err);
    if ((st = start_init(op, store, join, err)) != WP_OK) {
        wp_op_free(&op->base);
        return st;
    }
    op->base.owns_store = true;
    wp__store_ref(store);
    *out = &op->base;
    return WP_OK;
}
