/* SPDX-License-Identifier: Apache-2.0 */
#define WP__ERROR_IMPLEMENTATION
#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Longer messages are cut: they may quote reasons that come from anywhere. */
enum { MESSAGE_MAX = 2000 };

struct wp_error {
    wp_status code;
    bool retriable;
    bool outcome_unknown;
    char sqlstate[6];
    int64_t native_code;
    char *message;
};

/* Shared and never written to, hence one for each value of outcome_unknown. */
static char nomem_message[] = "out of memory";
static wp_error nomem = {.code = WP_E_NOMEM, .message = nomem_message};
static wp_error nomem_unknown = {
    .code = WP_E_NOMEM, .outcome_unknown = true, .message = nomem_message};

static bool is_static(const wp_error *error)
{
    return error == &nomem || error == &nomem_unknown;
}

const char *wp_version(void)
{
    return WP__VERSION;
}

const char *wp_status_name(wp_status status)
{
    switch (status) {
    case WP_OK:
        return "ok";
    case WP_E_ARGUMENT:
        return "bad argument";
    case WP_E_RANGE:
        return "out of range";
    case WP_E_STATE:
        return "wrong state";
    case WP_E_NOT_FOUND:
        return "not found";
    case WP_E_LEASE_LOST:
        return "lease lost";
    case WP_E_UNAVAILABLE:
        return "unavailable";
    case WP_E_DB:
        return "database error";
    case WP_E_SCHEMA:
        return "schema missing or old";
    case WP_E_CONFIG:
        return "bad configuration";
    case WP_E_NOMEM:
        return "out of memory";
    case WP_E_TIMEOUT:
        return "timeout";
    case WP_E_STOPPED:
        return "stopped";
    case WP_E_INTERNAL:
        return "internal error";
    }
    return "unknown status";
}

wp_status wp_error_code(const wp_error *error)
{
    return error ? error->code : WP_OK;
}

const char *wp_error_message(const wp_error *error)
{
    return error ? error->message : "";
}

const char *wp_error_sqlstate(const wp_error *error)
{
    return error ? error->sqlstate : "";
}

int64_t wp_error_native_code(const wp_error *error)
{
    return error ? error->native_code : 0;
}

int wp_error_retriable(const wp_error *error)
{
    return error && error->retriable;
}

int wp_error_outcome_unknown(const wp_error *error)
{
    return error && error->outcome_unknown;
}

void wp_error_free(wp_error *error)
{
    if (error && !is_static(error)) {
        free(error->message);
        free(error);
    }
}

/* Format into fresh, valid UTF-8 of at most MESSAGE_MAX bytes; NULL when out of memory. Bindings
 * decode messages as UTF-8, and the arguments may quote what the caller passed. */
static char *format(const char *prefix, const char *fmt, va_list args) WP__VPRINTF(2);
static char *format(const char *prefix, const char *fmt, va_list args)
{
    char raw[MESSAGE_MAX + 1];
    bool failed = false;
    size_t len = 0;
    if (vsnprintf(raw, sizeof raw, fmt, args) < 0)
        raw[0] = '\0'; /* an encoding error of the C library; an empty message is still one */
    if (prefix) {      /* "text: prefix", see wp__error_context() */
        len = strlen(raw);
        (void)snprintf(raw + len, sizeof raw - len, ": %s", prefix);
    }
    return wp__text_clean(raw, MESSAGE_MAX, &failed);
}

void wp__error_move(wp_error **to, wp_error *from)
{
    if (!to) {
        wp_error_free(from);
    } else if (*to != from) {
        wp_error_free(*to);
        *to = from;
    }
}

/* The arguments may point into the old *err, so that goes last. */
static void set(wp_error **err, const wp_error *values, const char *fmt, va_list args)
    WP__VPRINTF(3);
static void set(wp_error **err, const wp_error *values, const char *fmt, va_list args)
{
    wp_error *error = NULL;
    if (!err)
        return;
    error = malloc(sizeof *error);
    if (error) {
        *error = *values;
        error->message = format(NULL, fmt, args);
    }
    if (!error || !error->message) {
        free(error);
        error = values->outcome_unknown ? &nomem_unknown : &nomem;
    }
    wp__error_move(err, error);
}

wp_status wp__fail(wp_error **err, wp_status code, const char *fmt, ...)
{
    const wp_error values = {.code = code, .retriable = code == WP_E_UNAVAILABLE};
    va_list args;
    assert(code != WP_OK);
    va_start(args, fmt);
    set(err, &values, fmt, args);
    va_end(args);
    return code;
}

wp_status wp__fail_db(wp_error **err, wp_status code, const char *sqlstate, int64_t native_code,
                      bool retriable, const char *fmt, ...)
{
    wp_error values = {.code = code,
                       .retriable = retriable || code == WP_E_UNAVAILABLE,
                       .native_code = native_code};
    va_list args;
    assert(code != WP_OK);
    if (sqlstate)
        (void)snprintf(values.sqlstate, sizeof values.sqlstate, "%.5s", sqlstate);
    va_start(args, fmt);
    set(err, &values, fmt, args);
    va_end(args);
    return code;
}

wp_status wp__fail_nomem(wp_error **err)
{
    if (err)
        wp__error_move(err, &nomem);
    return WP_E_NOMEM;
}

void wp__error_context(wp_error **err, const char *fmt, ...)
{
    char *message = NULL;
    va_list args;
    if (!err || !*err || is_static(*err))
        return;
    va_start(args, fmt);
    message = format((*err)->message, fmt, args);
    va_end(args);
    if (message) { /* else the old message serves */
        free((*err)->message);
        (*err)->message = message;
    }
}

void wp__error_set_outcome_unknown(wp_error **err)
{
    if (!err || !*err)
        return;
    if (is_static(*err))
        *err = &nomem_unknown;
    else
        (*err)->outcome_unknown = true;
}
