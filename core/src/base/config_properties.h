/* SPDX-License-Identifier: Apache-2.0 */
/* What can be configured: a table that drives parsing, checks and documentation. */
#ifndef WP__CONFIG_PROPERTIES_H
#define WP__CONFIG_PROPERTIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum wp__property_type {
    WP__PROP_TEXT,   /* char *; min to max UTF-16 units */
    WP__PROP_NAME,   /* char *; min to max bytes, no control characters: quoted into SQL */
    WP__PROP_PREFIX, /* a WP__PROP_NAME that table names start with */
    WP__PROP_BOOL,   /* bool */
    WP__PROP_INT,    /* int64_t */
    WP__PROP_REAL,   /* double */
    WP__PROP_ENUM    /* int64_t */
} wp__property_type;

typedef struct wp__choice {
    const char *name; /* NULL ends the list */
    int64_t value;
} wp__choice;

typedef struct wp__property {
    const char *key;
    wp__property_type type;
    size_t offset; /* in wp_config */
    int64_t min, max;
    const char *dflt; /* as wp_config_set() takes it */
    const wp__choice *choices;
    bool per_topic; /* lives in wp__worker_options */
    const char *doc;
} wp__property;

/* Another name of a property, such as configuration files of .NET have: groups with a colon, in either case. */
typedef struct wp__alias {
    const char *name;
    const char *key;
    int64_t unit; /* one of the alias is so many of the property */
} wp__alias;

extern const wp__alias wp__aliases[];
extern const size_t wp__alias_count;

/* Grouped by the part of the key before the dot, as the documentation is. */
extern const wp__property wp__properties[];
extern const size_t wp__property_count;
enum { WP__PROPERTY_MAX = 128 }; /* there are no more */

#endif
