/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of operations, and the public face by which a host drives one. */
#include "op/op.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/store.h"

void wp__op_init(wp_op *op, const wp__op_class *cls, wp_store *store)
{
    op->cls = cls;
    op->store = store;
    op->engine = store ? wp__store_engine(store) : NULL;
    op->sql = store ? wp__store_sql(store) : NULL;
    op->style = WP_PARAM_QMARK;
}

static void drop_fed(wp_op *op)
{
    for (size_t i = 0; i < op->fed_count; i++) {
        free(op->fed_copy[i]);
        op->fed_copy[i] = NULL;
    }
    op->fed_count = 0;
}

void wp__op_fini(wp_op *op)
{
    drop_fed(op);
    if (op->cls->destroy)
        op->cls->destroy(op);
    if (op->owns_store)
        wp__store_unref(op->store);
}

void wp__op_use(wp_op *op, wp__sql_id statement, size_t columns)
{
    assert(columns <= WP__OP_COLUMNS_MAX);
    op->statement = statement;
    op->columns = columns;
    op->pending = true;
}

bool wp__op_has(const wp_op *op, wp__sql_id statement)
{
    return op->engine->statements[statement].text != NULL;
}

wp__sql_id wp__queue_sql_id(const wp__queue *queue, wp__queue_sql statement)
{
    return (wp__sql_id)(queue->first_sql + (size_t)statement);
}

void wp__op_use_queue(wp_op *op, wp__queue_sql statement, size_t columns)
{
    wp__op_use(op, wp__queue_sql_id(op->queue, statement), columns);
}

void wp__op_set_null(wp_op *op, wp__param param)
{
    op->params[param] = (wp__value){.type = WP_VALUE_NULL};
}

void wp__op_set_int(wp_op *op, wp__param param, int64_t value)
{
    op->params[param] = (wp__value){.type = WP_VALUE_INT64, .i = value};
}

void wp__op_set_textn(wp_op *op, wp__param param, const char *text, size_t len)
{
    op->params[param] = (wp__value){.type = WP_VALUE_TEXT, .p = text, .len = len};
}

void wp__op_set_text(wp_op *op, wp__param param, const char *text)
{
    if (text)
        wp__op_set_textn(op, param, text, strlen(text));
    else
        wp__op_set_null(op, param);
}

void wp__op_set_bytes(wp_op *op, wp__param param, const void *data, size_t len)
{
    op->params[param] = (wp__value){.type = WP_VALUE_BYTES, .p = data, .len = len};
}

void wp__op_set_id(wp_op *op, wp__param param, const wp_id *id)
{
    if (!op->engine || !op->engine->text_ids) {
        wp__op_set_bytes(op, param, id->bytes, sizeof id->bytes);
        return;
    }
    wp_id_format(op->id_text[param == WP__P_OWNER], id);
    wp__op_set_text(op, param, op->id_text[param == WP__P_OWNER]);
}

wp_status wp__op_set_ids(wp_op *op, wp__buf *json, const wp_id *ids, size_t count, wp_error **err)
{
    if (!op->engine || !op->engine->text_ids) {
        wp__op_set_bytes(op, WP__P_IDS, ids, count * sizeof *ids);
        wp__op_set_int(op, WP__P_COUNT_, (int64_t)count);
        return WP_OK;
    }
    wp__buf_clear(json);
    for (size_t i = 0; i < count; i++) {
        char text[37];
        wp_id_format(text, &ids[i]);
        wp__buf_fmt(json, "%s\"%s\"", i ? "," : "[", text);
    }
    wp__buf_text(json, "]");
    wp__op_set_textn(op, WP__P_IDS, json->data, json->len);
    return json->failed ? wp__fail_nomem(err) : WP_OK;
}

void wp__op_set_now(wp_op *op)
{
    wp__op_set_now_at(op, wp__store_now_us(op->store));
}

void wp__op_set_now_at(wp_op *op, int64_t now_us)
{
    if (wp__store_has_host_clock(op->store))
        wp__op_set_int(op, WP__P_NOW, now_us);
    else
        wp__op_set_null(op, WP__P_NOW);
}

wp_status wp__fail_triggers(wp_error **err)
{
    return wp__fail(err, WP_E_STATE,
                    "the connection's triggers are switched off, and Waypost's tables need them: "
                    "switch them on (SQLITE_DBCONFIG_ENABLE_TRIGGER)");
}

wp_status wp__column_int(int64_t *out, const wp__value *value, wp_error **err)
{
    if (value->type != WP_VALUE_INT64)
        return wp__fail(err, WP_E_DB,
                        "a row of Waypost's tables does not hold a number where one belongs");
    *out = value->i;
    return WP_OK;
}

wp_status wp__column_int_or(int64_t *out, const wp__value *value, int64_t otherwise, wp_error **err)
{
    if (value->type != WP_VALUE_NULL)
        return wp__column_int(out, value, err);
    *out = otherwise;
    return WP_OK;
}

/* 32 digits without dashes, as HEX() writes them. */
static bool parse_hex(wp_id *out, const char *digits)
{
    char text[37];
    size_t at = 0;
    for (size_t i = 0; i < 32; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            text[at++] = '-';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return wp_id_parse(out, text, NULL) == WP_OK;
}

wp_status wp__column_id(wp_id *out, const wp__value *value, wp_error **err)
{
    if (value->type == WP_VALUE_BYTES && value->len == sizeof out->bytes) {
        memcpy(out->bytes, value->p, sizeof out->bytes);
        return WP_OK;
    }
    if (value->type == WP_VALUE_TEXT && value->len == 36 &&
        wp_id_parse(out, value->p, NULL) == WP_OK)
        return WP_OK;
    if (value->type == WP_VALUE_TEXT && value->len == 32 && parse_hex(out, value->p))
        return WP_OK;
    return wp__fail(err, WP_E_DB,
                    "a row of Waypost's tables does not hold an id where one belongs");
}

wp_status wp__op_next(bool *more, wp_op *op, wp_error **err)
{
    wp_status st;
    op->started = true;
    op->pending = false;
    if (op->finished) {
        *more = false;
        return WP_OK;
    }
    st = op->cls->next(op, err);
    if (st == WP_OK && op->pending && !wp__op_has(op, op->statement))
        st = wp__fail(err, WP_E_STATE, "%s: Waypost does not have this on %s yet",
                      wp__sql_id_name(op->statement), op->engine->name);
    if (st != WP_OK) {
        op->pending = false;
        return st;
    }
    op->finished = !op->pending;
    *more = op->pending;
    return WP_OK;
}

void wp__op_rewind(wp_op *op)
{
    op->finished = false;
    op->pending = false;
    op->result_count = 0;
    op->cls->rewind(op);
}

const wp__sql_text *wp__op_text(const wp_op *op)
{
    return op->guarded ? wp__sql_get_guarded(op->sql, op->statement, op->style)
                       : wp__sql_get(op->sql, op->statement, op->style);
}

/* ---- the public face ---------------------------------------------------------------------- */

wp_status wp_op_set_paramstyle(wp_op *op, wp_paramstyle style, wp_error **err)
{
    wp_status st;
    if (!op)
        return wp__fail(err, WP_E_ARGUMENT, "op is NULL");
    if ((int)style < WP_PARAM_QMARK || (int)style > WP_PARAM_AT)
        return wp__fail(err, WP_E_ARGUMENT, "style is %d, not one of WP_PARAM_QMARK to WP_PARAM_AT",
                        (int)style);
    if (op->started)
        return wp__fail(err, WP_E_STATE, "the operation has begun: set its style before");
    st = op->guarded ? wp__sql_set_guarded(op->sql, style, err)
                     : wp__sql_set_style(op->sql, style, err);
    if (st == WP_OK)
        op->style = style;
    return st;
}

wp_status wp_op_require_transaction(wp_op *op, wp_error **err)
{
    wp_status st;
    if (!op)
        return wp__fail(err, WP_E_ARGUMENT, "op is NULL");
    if (op->started)
        return wp__fail(err, WP_E_STATE, "the operation has begun: require a transaction before");
    if (!op->engine->guard)
        return WP_OK;
    if ((st = wp__sql_set_guarded(op->sql, op->style, err)) == WP_OK)
        op->guarded = true;
    return st;
}

wp_status wp_op_next(int *more, wp_op *op, wp_error **err)
{
    bool again = false;
    wp_status st;
    if (!more || !op)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", more ? "op" : "more");
    if (op->fed_count)
        return wp__fail(err, WP_E_STATE, "a row is half fed: end it with wp_op_row()");
    if ((st = wp__store_check(op->store, err)) != WP_OK ||
        (st = wp__op_next(&again, op, err)) != WP_OK)
        return st;
    *more = again;
    return WP_OK;
}

const char *wp_op_sql(const wp_op *op)
{
    return op && op->pending ? wp__op_text(op)->text : "";
}

int wp_op_returns_rows(const wp_op *op)
{
    return op && op->pending && op->columns > 0;
}

size_t wp_op_param_count(const wp_op *op)
{
    return op && op->pending ? wp__op_text(op)->param_count : 0;
}

static const wp__value *param_at(const wp_op *op, size_t index)
{
    if (index >= wp_op_param_count(op))
        return NULL;
    return &op->params[wp__op_text(op)->params[index]];
}

const char *wp_op_param_name(const wp_op *op, size_t index)
{
    return param_at(op, index) ? wp__param_name((wp__param)wp__op_text(op)->params[index]) : "";
}

wp_value_type wp_op_param_type(const wp_op *op, size_t index)
{
    const wp__value *value = param_at(op, index);
    return value ? value->type : WP_VALUE_NULL;
}

int64_t wp_op_param_int64(const wp_op *op, size_t index)
{
    const wp__value *value = param_at(op, index);
    return value ? value->i : 0;
}

const char *wp_op_param_data(size_t *len, const wp_op *op, size_t index)
{
    const wp__value *value = param_at(op, index);
    if (len)
        *len = value ? value->len : 0;
    return value ? value->p : NULL;
}

static wp_status feed(wp_op *op, wp_value_type type, int64_t i, const void *data, size_t len,
                      wp_error **err)
{
    wp__value value = {.type = type, .i = i, .len = len};
    void *copy = NULL;
    if (!op)
        return wp__fail(err, WP_E_ARGUMENT, "op is NULL");
    if (!op->pending || op->fed_count >= op->columns)
        return wp__fail(err, WP_E_STATE, "the statement returns %zu columns, no more",
                        op->pending ? op->columns : 0);
    if (type == WP_VALUE_TEXT || type == WP_VALUE_BYTES) {
        if (!data && len)
            return wp__fail(err, WP_E_ARGUMENT, "data is NULL");
        copy = wp__text_ndup(data ? data : "", len);
        if (!copy)
            return wp__fail_nomem(err);
        value.p = copy;
    }
    op->fed_copy[op->fed_count] = copy;
    op->fed[op->fed_count++] = value;
    return WP_OK;
}

wp_status wp_op_feed_null(wp_op *op, wp_error **err)
{
    return feed(op, WP_VALUE_NULL, 0, NULL, 0, err);
}

wp_status wp_op_feed_int64(wp_op *op, int64_t value, wp_error **err)
{
    return feed(op, WP_VALUE_INT64, value, NULL, 0, err);
}

wp_status wp_op_feed_text(wp_op *op, const char *data, size_t len, wp_error **err)
{
    return feed(op, WP_VALUE_TEXT, 0, data, len, err);
}

wp_status wp_op_feed_bytes(wp_op *op, const void *data, size_t len, wp_error **err)
{
    return feed(op, WP_VALUE_BYTES, 0, data, len, err);
}

wp_status wp_op_row(wp_op *op, wp_error **err)
{
    wp_status st;
    if (!op)
        return wp__fail(err, WP_E_ARGUMENT, "op is NULL");
    if (!op->pending || op->columns == 0 || op->fed_count != op->columns)
        return wp__fail(err, WP_E_STATE, "%zu columns were fed, the statement returns %zu",
                        op->fed_count, op->pending ? op->columns : 0);
    st = op->cls->row(op, op->fed, err);
    drop_fed(op);
    return st;
}

size_t wp_op_result_count(const wp_op *op)
{
    return op && op->finished ? op->result_count : 0;
}

wp_status wp_op_result_id(wp_id *out, const wp_op *op, size_t index, wp_error **err)
{
    if (!out || !op)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", out ? "op" : "out");
    if (!op->finished)
        return wp__fail(err, WP_E_STATE, "the operation is not finished");
    if (!op->results || index >= op->result_count)
        return wp__fail(err, WP_E_RANGE, "index %zu: the operation has no such result", index);
    *out = op->results[index].id;
    return WP_OK;
}

static const wp__op_result *result_at(const wp_op *op, size_t index)
{
    return op && op->finished && op->results && index < op->result_count ? &op->results[index]
                                                                         : NULL;
}

int wp_op_result_duplicate(const wp_op *op, size_t index)
{
    const wp__op_result *result = result_at(op, index);
    return result ? result->duplicate : 0;
}

wp_inbox_state wp_op_result_found(const wp_op *op, size_t index)
{
    const wp__op_result *result = result_at(op, index);
    return result ? result->found : WP_INBOX_UNKNOWN;
}

int wp_op_result_mismatch(const wp_op *op, size_t index)
{
    const wp__op_result *result = result_at(op, index);
    return result ? result->mismatch : 0;
}

void wp_op_free(wp_op *op)
{
    if (!op)
        return;
    wp__op_fini(op);
    free(op);
}
