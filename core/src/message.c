/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: checked as they are built, so that an enqueue has nothing left to refuse. */
#include "message.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <waypost/inbox.h>
#include <waypost/join.h>

#include "base/text.h"

enum { MESSAGE_JOINS_MAX = 16 };

wp_status wp__message_check_payload(const char *payload, size_t len, wp_error **err)
{
    size_t bad = 0;
    if (!payload)
        return wp__fail(err, WP_E_ARGUMENT, "payload is NULL");
    if (len > WP_PAYLOAD_MAX)
        return wp__fail(err, WP_E_ARGUMENT, "payload is %zu bytes long, more than %d", len,
                        WP_PAYLOAD_MAX);
    if (!wp__utf8_check(payload, len, NULL, &bad))
        return wp__fail(err, WP_E_ARGUMENT, "payload is not valid UTF-8 without NUL at byte %zu",
                        bad);
    return WP_OK;
}

wp_status wp_message_new(wp_message **out, const char *topic, const char *payload,
                         size_t payload_len, wp_error **err)
{
    wp_message *message;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__check_text(NULL, "topic", topic, WP_NAME_MAX, true, err)) != WP_OK ||
        (st = wp__message_check_payload(payload, payload_len, err)) != WP_OK)
        return st;
    message = calloc(1, sizeof *message);
    if (!message)
        return wp__fail_nomem(err);
    message->topic = wp__text_dup(topic);
    message->payload = wp__text_ndup(payload, payload_len);
    message->payload_len = payload_len;
    if (!message->topic || !message->payload) {
        wp_message_free(message);
        return wp__fail_nomem(err);
    }
    *out = message;
    return WP_OK;
}

void wp_message_free(wp_message *message)
{
    if (!message)
        return;
    free(message->topic);
    free(message->payload);
    free(message->headers);
    free(message->correlation_id);
    free(message->ordering_key);
    free(message->unique_key);
    free(message->joins);
    free(message);
}

wp_status wp__message_copy(wp_message **out, const wp_message *message, wp_error **err)
{
    wp_message *copy = calloc(1, sizeof *copy);
    if (!copy)
        return wp__fail_nomem(err);
    *copy = *message;
    copy->topic = wp__text_dup(message->topic);
    copy->payload = wp__text_ndup(message->payload, message->payload_len);
    copy->headers = wp__text_dup(message->headers);
    copy->correlation_id = wp__text_dup(message->correlation_id);
    copy->ordering_key = wp__text_dup(message->ordering_key);
    copy->unique_key = wp__text_dup(message->unique_key);
    copy->joins =
        (wp_id *)wp__text_ndup((const char *)message->joins, message->join_count * sizeof(wp_id));
    if (!copy->topic || !copy->payload || (message->joins && !copy->joins) ||
        (message->headers && !copy->headers) ||
        (message->correlation_id && !copy->correlation_id) ||
        (message->ordering_key && !copy->ordering_key) ||
        (message->unique_key && !copy->unique_key)) {
        wp_message_free(copy);
        return wp__fail_nomem(err);
    }
    *out = copy;
    return WP_OK;
}

/* Set one of the short texts; NULL and empty mean none. */
static wp_status set_name(char **field, const char *argument, const wp_message *message,
                          const char *text, wp_error **err)
{
    char *copy = NULL;
    size_t len = 0;
    wp_status st;
    if (!message)
        return wp__fail(err, WP_E_ARGUMENT, "message is NULL");
    if ((st = wp__check_text(&len, argument, text, WP_NAME_MAX, false, err)) != WP_OK)
        return st;
    if (len && !(copy = wp__text_dup(text)))
        return wp__fail_nomem(err);
    free(*field);
    *field = copy;
    return WP_OK;
}

wp_status wp_message_set_correlation_id(wp_message *message, const char *correlation_id,
                                        wp_error **err)
{
    return set_name(message ? &message->correlation_id : NULL, "correlation_id", message,
                    correlation_id, err);
}

wp_status wp_message_set_ordering_key(wp_message *message, const char *ordering_key, wp_error **err)
{
    return set_name(message ? &message->ordering_key : NULL, "ordering_key", message, ordering_key,
                    err);
}

wp_status wp_message_set_unique_key(wp_message *message, const char *unique_key, wp_error **err)
{
    return set_name(message ? &message->unique_key : NULL, "unique_key", message, unique_key, err);
}

static wp_status check_time(const char *argument, const wp_message *message, int64_t value,
                            int64_t max, wp_error **err)
{
    if (!message)
        return wp__fail(err, WP_E_ARGUMENT, "message is NULL");
    if (value < 0 || value > max)
        return wp__fail(err, WP_E_RANGE, "%s is %lld, not in 0..%lld", argument, (long long)value,
                        (long long)max);
    return WP_OK;
}

wp_status wp_message_set_due_us(wp_message *message, int64_t due_us, wp_error **err)
{
    wp_status st = check_time("due_us", message, due_us, WP_TIME_US_MAX, err);
    if (st == WP_OK) {
        message->has_due = true;
        message->due_us = due_us;
        message->delay_us = 0;
    }
    return st;
}

wp_status wp_message_set_delay_ms(wp_message *message, int64_t delay_ms, wp_error **err)
{
    wp_status st;
    if (delay_ms < 0)
        delay_ms = 0;
    st = check_time("delay_ms", message, delay_ms, WP_DELAY_MS_MAX, err);
    if (st == WP_OK) {
        message->has_due = false;
        message->delay_us = delay_ms * 1000;
    }
    return st;
}

wp_status wp_message_set_expires_us(wp_message *message, int64_t expires_us, wp_error **err)
{
    wp_status st = check_time("expires_us", message, expires_us, WP_TIME_US_MAX, err);
    if (st == WP_OK) {
        message->has_expires = true;
        message->expires_us = expires_us;
    }
    return st;
}

/* The message's headers with one more, as JSON text. */
static wp_status with_header(char **out, const char *headers, const char *name, const char *value,
                             wp_error **err)
{
    wp_status st = WP_OK;
    char *text = NULL;
    json_t *object = headers ? json_loads(headers, 0, NULL) : json_object();
    if (!object || json_object_set_new(object, name, json_string(value)) != 0 ||
        !(text = json_dumps(object, JSON_COMPACT)))
        st = wp__fail_nomem(err);
    else if (strlen(text) > WP_HEADERS_MAX)
        st = wp__fail(err, WP_E_ARGUMENT, "headers are %zu bytes long as JSON, more than %d",
                      strlen(text), WP_HEADERS_MAX);
    json_decref(object);
    if (st != WP_OK) {
        free(text);
        return st;
    }
    *out = text;
    return WP_OK;
}

wp_status wp_message_set_header(wp_message *message, const char *name, const char *value,
                                wp_error **err)
{
    char *headers = NULL;
    wp_status st;
    if (!message)
        return wp__fail(err, WP_E_ARGUMENT, "message is NULL");
    if (!value)
        return wp__fail(err, WP_E_ARGUMENT, "header value is NULL");
    if ((st = wp__check_text(NULL, "header name", name, WP_NAME_MAX, true, err)) != WP_OK ||
        (st = wp__check_text(NULL, "header value", value, WP_HEADERS_MAX, false, err)) != WP_OK ||
        (st = with_header(&headers, message->headers, name, value, err)) != WP_OK)
        return st;
    free(message->headers);
    message->headers = headers;
    return WP_OK;
}

wp_status wp_message_add_join(wp_message *message, const wp_id *join, wp_error **err)
{
    wp_id *joins;
    if (!message || !join)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", message ? "join" : "message");
    for (size_t i = 0; i < message->join_count; i++)
        if (memcmp(&message->joins[i], join, sizeof *join) == 0)
            return WP_OK;
    if (message->join_count == MESSAGE_JOINS_MAX)
        return wp__fail(err, WP_E_RANGE, "the message is to be a member of more than %d joins",
                        MESSAGE_JOINS_MAX);
    joins = realloc(message->joins, (message->join_count + 1) * sizeof *joins);
    if (!joins)
        return wp__fail_nomem(err);
    joins[message->join_count++] = *join;
    message->joins = joins;
    return WP_OK;
}

/* ---- received ----------------------------------------------------------------------------- */

/* Copy one text column behind the struct; null stays NULL. */
static const char *take_text(char **end, const wp__value *value)
{
    char *start = *end;
    if (value->type != WP_VALUE_TEXT)
        return NULL;
    if (value->len)
        memcpy(start, value->p, value->len);
    start[value->len] = '\0';
    *end = start + value->len + 1;
    return start;
}

static wp_status read_numbers(wp_received *message, const wp__value *c, wp_error **err)
{
    wp_status st;
    if ((st = wp__column_int(&message->seq, &c[WP__COL_SEQ], err)) != WP_OK ||
        (st = wp__column_int(&message->attempt, &c[WP__COL_ATTEMPT], err)) != WP_OK ||
        (st = wp__column_int(&message->claim_number, &c[WP__COL_CLAIM_NUMBER], err)) != WP_OK ||
        (st = wp__column_int(&message->created_us, &c[WP__COL_CREATED_AT], err)) != WP_OK ||
        (st = wp__column_int(&message->due_us, &c[WP__COL_DUE_AT], err)) != WP_OK ||
        (st = wp__column_int_or(&message->expires_us, &c[WP__COL_EXPIRES_AT], 0, err)) != WP_OK)
        return st;
    return wp__column_id(&message->id, &c[WP__COL_ID], err);
}

typedef struct wanted {
    const char *name;
    wp_value_type type;
    bool nullable;
} wanted;

static const char *first_odd(const wp__value *columns, const wanted *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (columns[i].type != want[i].type &&
            !(want[i].nullable && columns[i].type == WP_VALUE_NULL))
            return want[i].name;
    return NULL;
}

const char *wp__received_unreadable(const wp__value *columns, const wp__value *more)
{
    static const wanted first[] = {{"seq", WP_VALUE_INT64, false},
                                   {"attempt", WP_VALUE_INT64, false},
                                   {"claim_number", WP_VALUE_INT64, false}};
    static const wanted rest[] = {
        {"topic", WP_VALUE_TEXT, false},       {"payload", WP_VALUE_TEXT, false},
        {"headers", WP_VALUE_TEXT, true},      {"correlation_id", WP_VALUE_TEXT, true},
        {"ordering_key", WP_VALUE_TEXT, true}, {"created_at", WP_VALUE_INT64, false},
        {"due_at", WP_VALUE_INT64, false},     {"expires_at", WP_VALUE_INT64, true}};
    static const wanted inbox[] = {
        {"source", WP_VALUE_TEXT, false},        {"message_id", WP_VALUE_TEXT, false},
        {"consumer", WP_VALUE_TEXT, false},      {"hash", WP_VALUE_TEXT, true},
        {"hash_algorithm", WP_VALUE_TEXT, true}, {"last_seen_at", WP_VALUE_INT64, false}};
    wp_id id;
    const char *odd = first_odd(columns, first, WP__COL_ID);
    if (!odd && wp__column_id(&id, &columns[WP__COL_ID], NULL) != WP_OK)
        odd = "id";
    if (!odd)
        odd = first_odd(columns + WP__COL_TOPIC, rest, WP__RECEIVED_COLUMNS - WP__COL_TOPIC);
    return odd || !more ? odd : first_odd(more, inbox, WP__INBOX_COLUMNS);
}

/* Put the bytes of a hexadecimal text behind the struct. */
static const char *take_hex(char **end, size_t *len, const wp__value *value)
{
    char *start = *end;
    *len = 0;
    if (value->type != WP_VALUE_TEXT)
        return NULL;
    *len = wp__hex_decode(start, value->p, value->len);
    start[*len] = '\0';
    *end = start + *len + 1;
    return start;
}

static wp_status take_more(wp_received *message, char **end, const wp__value *more, wp_error **err)
{
    message->source = take_text(end, &more[WP__MORE_SOURCE]);
    message->message_id = take_text(end, &more[WP__MORE_MESSAGE_ID]);
    message->consumer = take_text(end, &more[WP__MORE_CONSUMER]);
    message->hash = take_hex(end, &message->hash_len, &more[WP__MORE_HASH]);
    message->hash_algorithm = take_text(end, &more[WP__MORE_HASH_ALGORITHM]);
    return wp__column_int(&message->last_seen_us, &more[WP__MORE_LAST_SEEN_AT], err);
}

wp_status wp__received_new(wp_received **out, const wp__value *columns, const wp__value *last_error,
                           const wp__value *more, wp_error **err)
{
    const char *odd = wp__received_unreadable(columns, more);
    size_t size = sizeof(wp_received);
    wp_received *message;
    wp_status st;
    char *end;
    if (odd)
        return wp__fail(err, WP_E_DB, "unreadable row: %s", odd);
    for (int i = WP__COL_TOPIC; i <= WP__COL_ORDERING_KEY; i++)
        size += columns[i].len + 1;
    size += last_error->len + 1;
    for (int i = 0; more && i <= WP__MORE_HASH_ALGORITHM; i++)
        size += more[i].len + 1;
    message = malloc(size);
    if (!message)
        return wp__fail_nomem(err);
    *message = (wp_received){0};
    end = (char *)(message + 1);
    if ((st = read_numbers(message, columns, err)) != WP_OK ||
        (more && (st = take_more(message, &end, more, err)) != WP_OK)) {
        free(message);
        return st;
    }
    message->topic = take_text(&end, &columns[WP__COL_TOPIC]);
    message->payload = take_text(&end, &columns[WP__COL_PAYLOAD]);
    message->payload_len = columns[WP__COL_PAYLOAD].len;
    message->headers = take_text(&end, &columns[WP__COL_HEADERS]);
    message->correlation_id = take_text(&end, &columns[WP__COL_CORRELATION_ID]);
    message->ordering_key = take_text(&end, &columns[WP__COL_ORDERING_KEY]);
    message->last_error = take_text(&end, last_error);
    *out = message;
    return WP_OK;
}

void wp__received_free(wp_received *message)
{
    if (message && message->run)
        free(message->run->job);
    if (message)
        free(message->run);
    free(message);
}

const char *wp_received_job(const wp_received *message)
{
    return message && message->run ? message->run->job : NULL;
}

const wp_id *wp_received_id(const wp_received *message)
{
    return message ? &message->id : NULL;
}

const char *wp_received_topic(const wp_received *message)
{
    return message ? message->topic : NULL;
}

const char *wp_received_payload(size_t *len, const wp_received *message)
{
    if (len)
        *len = message ? message->payload_len : 0;
    return message ? message->payload : NULL;
}

const char *wp_received_correlation_id(const wp_received *message)
{
    return message ? message->correlation_id : NULL;
}

const char *wp_received_ordering_key(const wp_received *message)
{
    return message ? message->ordering_key : NULL;
}

const char *wp_received_last_error(const wp_received *message)
{
    return message ? message->last_error : NULL;
}

const char *wp_received_headers(const wp_received *message)
{
    return message && message->headers ? message->headers : "{}";
}

int64_t wp_received_attempt(const wp_received *message)
{
    return message ? message->attempt : 0;
}

int64_t wp_received_claim_number(const wp_received *message)
{
    return message ? message->claim_number : 0;
}

int64_t wp_received_created_us(const wp_received *message)
{
    return message ? message->created_us : 0;
}

int64_t wp_received_due_us(const wp_received *message)
{
    return message ? message->due_us : 0;
}

int64_t wp_received_expires_us(const wp_received *message)
{
    return message ? message->expires_us : 0;
}

const char *wp_received_source(const wp_received *message)
{
    return message ? message->source : NULL;
}

const char *wp_received_message_id(const wp_received *message)
{
    return message ? message->message_id : NULL;
}

const char *wp_received_consumer(const wp_received *message)
{
    return message ? message->consumer : NULL;
}

const char *wp_received_hash(size_t *len, const wp_received *message)
{
    if (len)
        *len = message ? message->hash_len : 0;
    return message ? message->hash : NULL;
}

const char *wp_received_hash_algorithm(const wp_received *message)
{
    return message ? message->hash_algorithm : NULL;
}

int64_t wp_received_last_seen_us(const wp_received *message)
{
    return message ? message->last_seen_us : 0;
}
