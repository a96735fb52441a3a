/* SPDX-License-Identifier: Apache-2.0 */
#include "base/config_text.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

bool wp__option_is_text(const wp__property *prop)
{
    return prop->type == WP__PROP_TEXT || prop->type == WP__PROP_NAME ||
           prop->type == WP__PROP_PREFIX;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool wp__option_same(const char *a, const char *b, size_t len)
{
    size_t i = 0;
    for (i = 0; i < len; i++) {
        if (lower(a[i]) != lower(b[i]))
            return false;
        if (a[i] == '\0')
            break;
    }
    return true;
}

void wp__option_add_allowed(wp__buf *out, const wp__property *prop, int64_t unit)
{
    const wp__choice *c = NULL;
    switch (prop->type) {
    case WP__PROP_TEXT:
        if (prop->min > 0)
            wp__buf_fmt(out, "text of %" PRId64 " to %" PRId64 " UTF-16 units", prop->min,
                        prop->max);
        else
            wp__buf_fmt(out, "text of at most %" PRId64 " UTF-16 units", prop->max);
        break;
    case WP__PROP_NAME:
    case WP__PROP_PREFIX:
        wp__buf_fmt(out, "%" PRId64 " to %" PRId64 " bytes of UTF-8 without control characters",
                    prop->min, prop->max);
        break;
    case WP__PROP_BOOL:
        wp__buf_text(out, "true or false");
        break;
    case WP__PROP_INT:
        wp__buf_fmt(out, "a whole number from %" PRId64 " to %" PRId64,
                    (prop->min + unit - 1) / unit, prop->max / unit);
        break;
    case WP__PROP_REAL:
        wp__buf_fmt(out, "a number from %" PRId64 " to %" PRId64, prop->min, prop->max);
        break;
    case WP__PROP_ENUM:
        for (c = prop->choices; c->name; c++)
            wp__buf_fmt(out, "%s%s", c == prop->choices ? "" : c[1].name ? ", " : " or ", c->name);
        break;
    }
}

wp_status wp__option_bad(wp__named as, wp_error **err)
{
    wp__buf allowed = {0};
    wp_status st = WP_E_CONFIG;
    wp__option_add_allowed(&allowed, as.prop, as.unit);
    if (allowed.failed)
        st = wp__fail_nomem(err);
    else
        (void)wp__fail(err, st, "%s must be %s", as.name, allowed.data);
    wp__buf_free(&allowed);
    return st;
}

static bool read_bool(bool *out, const char *value)
{
    static const wp__choice words[] = {{"true", 1}, {"false", 0}, {"1", 1},   {"0", 0}, {"yes", 1},
                                       {"no", 0},   {"on", 1},    {"off", 0}, {NULL, 0}};
    const wp__choice *c = words;
    while (c->name && !wp__option_same(c->name, value, SIZE_MAX))
        c++;
    if (c->name)
        *out = c->value != 0;
    return c->name != NULL;
}

/* Digits, with a minus before them or not; nothing else, and no overflow. */
static bool read_int(int64_t *out, const char *value, int64_t min, int64_t max)
{
    const bool negative = *value == '-';
    const char *p = value + negative;
    int64_t number = 0;
    if (*p == '\0')
        return false;
    for (; *p; p++) {
        if (*p < '0' || *p > '9' || number < (INT64_MIN + (*p - '0')) / 10)
            return false;
        number = number * 10 - (*p - '0'); /* below 0, where there is room for INT64_MIN */
    }
    if (!negative && number == INT64_MIN)
        return false;
    number = negative ? number : -number;
    if (number < min || number > max)
        return false;
    *out = number;
    return true;
}

/* A number as JSON writes them. jansson reads it the same way in every locale. */
static bool read_real(double *out, const char *value, int64_t min, int64_t max)
{
    json_t *json = NULL;
    double number = 0;
    bool ok = false;
    if (value[strspn(value, "0123456789.eE+-")] != '\0')
        return false;
    json = json_loads(value, JSON_DECODE_ANY, NULL);
    number = json_number_value(json);
    ok = json_is_number(json) && number >= (double)min && number <= (double)max;
    json_decref(json);
    if (ok)
        *out = number;
    return ok;
}

static bool text_allowed(const wp__property *prop, const char *value)
{
    const size_t len = strlen(value);
    size_t units = 0;
    if (!wp__utf8_check(value, len, &units, NULL))
        return false;
    if (prop->type == WP__PROP_TEXT)
        return units >= (size_t)prop->min && units <= (size_t)prop->max;
    return len >= (size_t)prop->min && len <= (size_t)prop->max && !wp__text_has_control(value);
}

/* SQLite keeps names that start with "sqlite_" to itself; an underscore follows the prefix. */
static bool is_reserved(const char *prefix)
{
    return wp__option_same(prefix, "sqlite_", 7) || wp__option_same(prefix, "sqlite", SIZE_MAX);
}

static wp_status set_text(char **field, wp__named as, const char *value, wp_error **err)
{
    char *copy = NULL;
    if (!text_allowed(as.prop, value))
        return wp__option_bad(as, err);
    if (as.prop->type == WP__PROP_PREFIX && is_reserved(value))
        return wp__fail(err, WP_E_CONFIG, "%s must not be or start with \"sqlite_\"", as.name);
    copy = wp__text_dup(value);
    if (!copy)
        return wp__fail_nomem(err);
    free(*field);
    *field = copy;
    return WP_OK;
}

static bool read_choice(int64_t *out, const char *value, const wp__choice *choices)
{
    const wp__choice *c = choices;
    while (c->name && !wp__option_same(c->name, value, SIZE_MAX))
        c++;
    if (c->name)
        *out = c->value;
    return c->name != NULL;
}

/* Of a whole number by another unit. */
static bool read_units(int64_t *out, const char *value, wp__named as)
{
    if (!read_int(out, value, (as.prop->min + as.unit - 1) / as.unit, as.prop->max / as.unit))
        return false;
    *out *= as.unit;
    return true;
}

wp_status wp__option_set(void *field, wp__named as, const char *value, wp_error **err)
{
    const wp__property *prop = as.prop;
    bool ok = false;
    if (wp__option_is_text(prop))
        return set_text(field, as, value, err);
    if (prop->type == WP__PROP_BOOL)
        ok = read_bool(field, value);
    else if (prop->type == WP__PROP_INT)
        ok = read_units(field, value, as);
    else if (prop->type == WP__PROP_REAL)
        ok = read_real(field, value, prop->min, prop->max);
    else
        ok = read_choice(field, value, prop->choices);
    return ok ? WP_OK : wp__option_bad(as, err);
}

/* Append a number without the locale's decimal point. */
static void add_real(wp__buf *out, double value)
{
    char text[40];
    const char *p = text;
    size_t n = 0;
    (void)snprintf(text, sizeof text, "%.15g", value);
    while (*p) {
        n = strspn(p, "0123456789e+-");
        wp__buf_add(out, p, n);
        p += n;
        n = strcspn(p, "0123456789e+-");
        if (n > 0)
            wp__buf_text(out, ".");
        p += n;
    }
}

void wp__option_add(wp__buf *out, const void *field, const wp__property *prop)
{
    const wp__choice *c = prop->choices;
    if (wp__option_is_text(prop)) {
        wp__buf_text(out, *(char *const *)field);
    } else if (prop->type == WP__PROP_BOOL) {
        wp__buf_text(out, *(const bool *)field ? "true" : "false");
    } else if (prop->type == WP__PROP_INT) {
        wp__buf_int(out, *(const int64_t *)field);
    } else if (prop->type == WP__PROP_REAL) {
        add_real(out, *(const double *)field);
    } else {
        while (c->name && c->value != *(const int64_t *)field)
            c++;
        assert(c->name);
        wp__buf_text(out, c->name);
    }
}
