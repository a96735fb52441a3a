/* SPDX-License-Identifier: Apache-2.0 */
/* The value of one option: read from text and checked, and written as text. */
#ifndef WP__CONFIG_TEXT_H
#define WP__CONFIG_TEXT_H

#include "base/buf.h"
#include "base/config_properties.h"
#include "base/error.h"

/* A property under the name by which it was asked for, which errors tell. */
typedef struct wp__named {
    const wp__property *prop; /* NULL: there is none */
    const char *name;
    int64_t unit; /* of an alias */
} wp__named;

/* Whether its field is a text of the configuration's own. */
bool wp__option_is_text(const wp__property *prop);

/* Equal but for the case of ASCII letters, in any locale; up to `len` characters. */
bool wp__option_same(const char *a, const char *b, size_t len);

/* Set the field of a configuration, or leave it as it is and fail with WP_E_CONFIG. */
wp_status wp__option_set(void *field, wp__named as, const char *value, wp_error **err);

/* Fail: what it must be. The value itself stays out of the message: it may hold a password. */
wp_status wp__option_bad(wp__named as, wp_error **err);

/* Append the field's value. */
void wp__option_add(wp__buf *out, const void *field, const wp__property *prop);

/* Append what the property may be; reads well after "must be". */
void wp__option_add_allowed(wp__buf *out, const wp__property *prop, int64_t unit);

#endif
