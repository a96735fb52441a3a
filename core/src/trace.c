/* SPDX-License-Identifier: Apache-2.0 */
/* Trace contexts in headers: https://www.w3.org/TR/trace-context/ */
#include <waypost/trace.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "message.h"

#define PARENT "traceparent"
#define STATE "tracestate"
enum { PARENT_LEN = 55, PARENT_MAX = 512, STATE_MAX = 512 };

/* `len` lower-case hexadecimal digits, not all of them 0 if it may not be. */
static bool is_hex(const char *text, size_t len, bool may_be_zero)
{
    return strspn(text, "0123456789abcdef") >= len && (may_be_zero || strspn(text, "0") < len);
}

/* version "-" trace-id "-" parent-id "-" flags; a later version may have more after another "-". */
static bool is_parent(const char *text)
{
    const size_t len = text ? strlen(text) : 0;
    if (len < PARENT_LEN || len > PARENT_MAX || text[2] != '-' || text[35] != '-' ||
        text[52] != '-' || !is_hex(text, 2, true) || !is_hex(text + 3, 32, false) ||
        !is_hex(text + 36, 16, false) || !is_hex(text + 53, 2, true))
        return false;
    if (strncmp(text, "ff", 2) == 0 || (strncmp(text, "00", 2) == 0 && len != PARENT_LEN))
        return false;
    return len == PARENT_LEN || text[PARENT_LEN] == '-';
}

static bool is_state(const char *text)
{
    size_t len = 0;
    if (!text || !*text)
        return false;
    while (len <= STATE_MAX && text[len] >= ' ' && text[len] <= '~')
        len++;
    return len <= STATE_MAX && text[len] == '\0';
}

static bool has_parent(const wp_message *message)
{
    json_t *headers = message->headers ? json_loads(message->headers, 0, NULL) : NULL;
    const bool has = json_object_get(headers, PARENT);
    json_decref(headers);
    return has;
}

/* What the caller did not ask for must not fail an enqueue: where there is no room it is left out. */
static wp_status add(wp_message *message, const char *name, const char *value, wp_error **err)
{
    wp_status st = wp_message_set_header(message, name, value, NULL);
    return st == WP_E_NOMEM ? wp__fail_nomem(err) : WP_OK;
}

wp_status wp_message_set_trace(wp_message *message, const char *traceparent, const char *tracestate,
                               wp_error **err)
{
    wp_status st;
    if (!message)
        return wp__fail(err, WP_E_ARGUMENT, "message is NULL");
    if (!is_parent(traceparent))
        return wp__fail(err, WP_E_ARGUMENT, "traceparent is not as W3C's Trace Context says");
    if (has_parent(message))
        return WP_OK;
    st = add(message, PARENT, traceparent, err);
    if (st == WP_OK && is_state(tracestate))
        st = add(message, STATE, tracestate, err);
    return st;
}

static wp_status take(char **out, const json_t *value, wp_error **err)
{
    *out = wp__text_dup(json_string_value(value));
    return *out ? WP_OK : wp__fail_nomem(err);
}

wp_status wp_trace_read(char **traceparent, char **tracestate, const char *headers, wp_error **err)
{
    const char *parent;
    char *taken = NULL, *state = NULL;
    json_t *object;
    wp_status st = WP_OK;
    if (!traceparent || !headers)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", traceparent ? "headers" : "traceparent");
    *traceparent = NULL;
    if (tracestate)
        *tracestate = NULL;
    if (!strstr(headers, PARENT)) /* most have none */
        return WP_OK;
    object = json_loads(headers, JSON_ALLOW_NUL, NULL);
    if (!json_is_object(object)) {
        json_decref(object);
        return wp__fail(err, WP_E_ARGUMENT, "headers are no JSON object");
    }
    parent = json_string_value(json_object_get(object, PARENT));
    if (is_parent(parent))
        st = take(&taken, json_object_get(object, PARENT), err);
    if (st == WP_OK && taken && tracestate &&
        is_state(json_string_value(json_object_get(object, STATE))))
        st = take(&state, json_object_get(object, STATE), err);
    json_decref(object);
    if (st != WP_OK) {
        free(taken);
        return st;
    }
    *traceparent = taken;
    if (tracestate)
        *tracestate = state;
    return WP_OK;
}
