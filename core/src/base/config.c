/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/config_properties.h"
#include "base/config_text.h"
#include "base/config_values.h"
#include "base/hint.h"
#include "base/text.h"

/* Only for per_topic wp__properties: where the value is in wp__worker_options. */
static void *topic_field(wp__worker_options *options, const wp__property *prop)
{
    return (char *)options + (prop->offset - offsetof(wp_config, worker));
}

static void *field_of(wp_config *config, const wp__property *prop)
{
    return (char *)config + prop->offset;
}

static char **text_of(wp_config *config, const wp__property *prop)
{
    return field_of(config, prop);
}

static const wp__property *find(const char *key)
{
    size_t i = 0;
    for (i = 0; i < wp__property_count; i++)
        if (strcmp(wp__properties[i].key, key) == 0)
            return &wp__properties[i];
    return NULL;
}

static wp__named named_as(const wp__property *prop)
{
    return (wp__named){prop, prop->key, 1};
}

static wp__named find_named(const char *key)
{
    const wp__property *prop = find(key);
    if (prop)
        return named_as(prop);
    for (size_t i = 0; i < wp__alias_count; i++)
        if (wp__option_same(wp__aliases[i].name, key, SIZE_MAX))
            return (wp__named){find(wp__aliases[i].key), wp__aliases[i].name, wp__aliases[i].unit};
    return (wp__named){NULL, key, 1};
}

/* ---- what was meant ----------------------------------------------------------------------- */

/* Whether a key, which may have '_' for '.', names the group of a property. */
static bool names_group(const char *key, const wp__property *prop)
{
    const size_t len = strcspn(prop->key, ".");
    return strncmp(key, prop->key, len) == 0 && (key[len] == '.' || key[len] == '_');
}

/* The property that was meant by an unknown key, whose group may be wrong or missing, or NULL. What looks
 * like a group may be the name's first word: lease.ms, for worker.lease_ms. */
static const wp__property *nearest(const char *key, bool per_topic)
{
    const wp__property *best = NULL, *prop = NULL;
    size_t least = SIZE_MAX, distance = 0, whole = 0;
    char name[128];
    (void)snprintf(name, sizeof name, "%s", key);
    for (char *dot = strchr(name, '.'); dot; dot = strchr(dot, '.'))
        *dot = '_';
    for (prop = wp__properties; prop < wp__properties + wp__property_count; prop++) {
        if (per_topic && !prop->per_topic)
            continue;
        distance = wp__hint_distance(key, prop->key);
        whole = wp__hint_distance(name, prop->key);
        distance = whole < distance ? whole : distance;
        if (distance < least ||
            (best && distance == least && names_group(key, prop) && !names_group(key, best))) {
            least = distance;
            best = prop;
        }
    }
    return best;
}

/* ---- configurations ----------------------------------------------------------------------- */

wp_status wp_config_new(wp_config **out, wp_error **err)
{
    wp_status st = WP_OK;
    wp_config *config = NULL;
    const wp__property *prop = NULL;
    size_t i = 0;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is null");
    config = calloc(1, sizeof *config);
    if (!config)
        return wp__fail_nomem(err);
    for (i = 0; i < wp__property_count; i++) {
        prop = &wp__properties[i];
        if ((st = wp__option_set(field_of(config, prop), named_as(prop), prop->dflt, err)) != WP_OK)
            goto done;
    }
    *out = config;
    config = NULL;
done:
    wp_config_free(config);
    return st;
}

void wp_config_free(wp_config *config)
{
    size_t i = 0;
    if (!config)
        return;
    for (i = 0; i < wp__property_count; i++)
        if (wp__option_is_text(&wp__properties[i]))
            free(*text_of(config, &wp__properties[i]));
    wp__log_sink_free(config->log_sink);
    wp_clock_free(config->clock);
    free(config);
}

wp_status wp__config_copy(wp_config **out, const wp_config *config, wp_error **err)
{
    wp_config *copy = NULL;
    char **text = NULL;
    bool ok = true;
    size_t i = 0;
    if (!config)
        return wp_config_new(out, err);
    copy = malloc(sizeof *copy);
    if (!copy)
        return wp__fail_nomem(err);
    *copy = *config;
    copy->log_sink = wp__log_sink_ref(config->log_sink);
    copy->clock = config->clock ? wp__clock_ref(config->clock) : NULL;
    for (i = 0; i < wp__property_count; i++) {
        if (wp__option_is_text(
                &wp__properties[i])) { /* no early exit: each must be the copy's own, or NULL */
            text = text_of(copy, &wp__properties[i]);
            *text = wp__text_dup(*text);
            ok = ok && *text;
        }
    }
    if (!ok) {
        wp_config_free(copy);
        return wp__fail_nomem(err);
    }
    *out = copy;
    return WP_OK;
}

wp_status wp_config_copy(wp_config **out, const wp_config *config, wp_error **err)
{
    if (!out || !config)
        return wp__fail(err, WP_E_ARGUMENT, "%s is null", out ? "config" : "out");
    return wp__config_copy(out, config, err);
}

/* Exchange the contents, so that what was loaded into a copy takes effect at once. */
static void swap(wp_config *a, wp_config *b)
{
    wp_config kept;
    assert(a && b);
    kept = *a;
    *a = *b;
    *b = kept;
}

static wp_status unknown_key(const char *key, wp_error **err)
{
    const wp__property *meant = nearest(key, false);
    return wp__fail(err, WP_E_CONFIG, "%s is not a configuration key%s%s%s", key,
                    meant ? ": did you mean " : "", meant ? meant->key : "", meant ? "?" : "");
}

wp_status wp_config_set(wp_config *config, const char *key, const char *value, wp_error **err)
{
    wp__named as;
    if (!config || !key || !value)
        return wp__fail(err, WP_E_ARGUMENT, "%s is null",
                        !config ? "config"
                        : !key  ? "key"
                                : "value");
    as = find_named(key);
    if (!as.prop)
        return unknown_key(key, err);
    return wp__option_set(field_of(config, as.prop), as, value, err);
}

wp_status wp_config_get(char **out, const wp_config *config, const char *key, wp_error **err)
{
    const wp__property *prop = NULL;
    wp__buf text = {0};
    char *taken = NULL;
    if (!out || !config || !key)
        return wp__fail(err, WP_E_ARGUMENT, "%s is null",
                        !out      ? "out"
                        : !config ? "config"
                                  : "key");
    prop = find(key);
    if (!prop)
        return unknown_key(key, err);
    wp__option_add(&text, (const char *)config + prop->offset, prop);
    taken = wp__buf_take(&text);
    if (!taken)
        return wp__fail_nomem(err);
    *out = taken;
    return WP_OK;
}

bool wp__config_is_same_store(const wp_config *a, const wp_config *b)
{
    bool same = a->clock == b->clock;
    for (size_t i = 0; i < wp__property_count && same; i++) {
        const wp__property *prop = &wp__properties[i];
        wp__buf texts[2] = {{0}, {0}};
        char *taken[2];
        if (strncmp(prop->key, "store.", strlen("store.")) != 0)
            continue;
        wp__option_add(&texts[0], (const char *)a + prop->offset, prop);
        wp__option_add(&texts[1], (const char *)b + prop->offset, prop);
        taken[0] = wp__buf_take(&texts[0]);
        taken[1] = wp__buf_take(&texts[1]);
        same = taken[0] && taken[1] && strcmp(taken[0], taken[1]) == 0;
        free(taken[0]);
        free(taken[1]);
    }
    return same;
}

wp_status wp__worker_options_set(wp__worker_options *options, const char *key, const char *value,
                                 wp_error **err)
{
    static const char group[] = "worker.";
    const wp__property *prop = NULL;
    size_t i = 0;
    for (i = 0; i < wp__property_count; i++) {
        prop = &wp__properties[i];
        if (prop->per_topic && strcmp(prop->key + sizeof group - 1, key) == 0)
            return wp__option_set(topic_field(options, prop), named_as(prop), value, err);
    }
    prop = nearest(key, true);
    return wp__fail(err, WP_E_CONFIG, "%s is not an option of a topic%s%s%s", key,
                    prop ? ": did you mean " : "", prop ? prop->key + sizeof group - 1 : "",
                    prop ? "?" : "");
}

/* ---- JSON --------------------------------------------------------------------------------- */

typedef struct json_load {
    wp_config *config;
    wp__buf key; /* of the value at hand */
    /* The names by which options were given: the dot makes {"a.b": 1, "a": {"b": 2}} a duplicate too. */
    const char *seen[WP__PROPERTY_MAX];
} json_load;

/* An option is given once, by one of its names. */
static wp_status note_seen(const char **seen, wp__named as, wp_error **err)
{
    const char **before = &seen[as.prop - wp__properties];
    if (*before && strcmp(*before, as.name) != 0)
        return wp__fail(err, WP_E_CONFIG, "%s and %s are the same option, given twice", *before,
                        as.name);
    if (*before)
        return wp__fail(err, WP_E_CONFIG, "%s is given twice", as.name);
    *before = as.name;
    return WP_OK;
}

static wp_status load_scalar(json_load *load, const json_t *json, wp_error **err)
{
    const wp__named as = find_named(load->key.data);
    const wp__property *prop = as.prop;
    char digits[24];
    const char *value = digits;
    wp_status st;
    if (!prop)
        return unknown_key(load->key.data, err);
    if ((st = note_seen(load->seen, as, err)) != WP_OK)
        return st;
    if (json_is_real(json)) {
        double *field = field_of(load->config, prop);
        if (prop->type != WP__PROP_REAL || json_real_value(json) < (double)prop->min ||
            json_real_value(json) > (double)prop->max)
            return wp__option_bad(as, err);
        *field = json_real_value(json);
        return WP_OK;
    }
    if (json_is_string(json))
        value = json_string_value(json);
    else if (json_is_boolean(json))
        value = json_is_true(json) ? "true" : "false";
    else if (json_is_integer(json))
        (void)snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(json));
    else
        return wp__fail(err, WP_E_CONFIG, "%s must be a text, a number or a boolean", as.name);
    return wp__option_set(field_of(load->config, prop), as, value, err);
}

/* True if some key starts with the `len` bytes of `prefix`. */
static bool is_group(const char *prefix, size_t len)
{
    size_t i = 0;
    for (i = 0; i < wp__property_count; i++)
        if (strncmp(wp__properties[i].key, prefix, len) == 0)
            return true;
    return false;
}

/* The same of aliases. */
static bool is_alias_group(const char *prefix, size_t len)
{
    for (size_t i = 0; i < wp__alias_count; i++)
        if (wp__option_same(wp__aliases[i].name, prefix, len))
            return true;
    return false;
}

/* Whether the group at the end of the key is one of aliases; its key then goes on with a colon. */
static bool is_alias(json_load *load, size_t start)
{
    load->key.data[load->key.len - 1] = ':';
    if (start == 0 && is_alias_group(load->key.data, load->key.len))
        return true;
    load->key.data[load->key.len - 1] = '.';
    return false;
}

/* Load an object whose keys continue load->key. It cannot nest deeper than the keys have dots. */
static wp_status load_object(json_load *load, json_t *object, wp_error **err)
{
    const size_t start = load->key.len;
    wp_status st = WP_OK;
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(object, key, value)
    {
        wp__buf_text(&load->key, key);
        if (json_is_object(value))
            wp__buf_text(&load->key, ".");
        if (load->key.failed)
            return wp__fail_nomem(err);
        if (!json_is_object(value))
            st = load_scalar(load, value, err);
        else if (is_group(load->key.data, load->key.len) || is_alias(load, start))
            st = load_object(load, value, err);
        else
            st = unknown_key(load->key.data, err);
        if (st != WP_OK)
            return st;
        load->key.len = start;
        load->key.data[start] = '\0';
    }
    return st;
}

/* jansson's own text quotes what is near the fault, which may be a password; but where a key is
 * given twice, that is the key. */
static wp_status bad_json(const json_error_t *fault, wp_error **err)
{
    if (json_error_code(fault) == json_error_out_of_memory)
        return wp__fail_nomem(err);
    if (json_error_code(fault) == json_error_duplicate_key)
        return wp__fail(err, WP_E_CONFIG, "JSON line %d: %s", fault->line, fault->text);
    return wp__fail(err, WP_E_CONFIG, "json is not a JSON object: line %d, column %d", fault->line,
                    fault->column);
}

wp_status wp_config_load_json(wp_config *config, const char *json, wp_error **err)
{
    json_load load = {.config = NULL};
    json_error_t fault;
    json_t *root = NULL;
    wp_status st = WP_OK;
    if (!config || !json)
        return wp__fail(err, WP_E_ARGUMENT, "%s is null", config ? "json" : "config");
    root = json_loads(json, JSON_REJECT_DUPLICATES, &fault);
    if (!root) {
        st = bad_json(&fault, err);
        goto done;
    }
    if (!json_is_object(root)) {
        st = wp__fail(err, WP_E_CONFIG, "json is not a JSON object");
        goto done;
    }
    if ((st = wp__config_copy(&load.config, config, err)) != WP_OK ||
        (st = load_object(&load, root, err)) != WP_OK)
        goto done;
    swap(config, load.config);
done:
    wp_config_free(load.config);
    wp__buf_free(&load.key);
    json_decref(root);
    return st;
}

/* ---- environment -------------------------------------------------------------------------- */

static const char env_prefix[] = "WAYPOST_";
static const char env_test_prefix[] = "WAYPOST_TEST_";

/* Write the variable's name for `key`: upper case, '_' for '.'. */
static void env_name(char *out, size_t size, const char *key)
{
    size_t i = 0;
    (void)snprintf(out, size, "%s%s", env_prefix, key);
    for (i = 0; out[i]; i++)
        out[i] = out[i] == '.'                    ? '_'
                 : out[i] >= 'a' && out[i] <= 'z' ? (char)(out[i] - 32)
                                                  : out[i];
}

/* A name like a variable's, of `len` bytes. */
static wp_status unknown_variable(const char *variable, size_t len, wp_error **err)
{
    const wp__property *meant = NULL;
    char name[201], known[64];
    if (len >= sizeof name)
        len = sizeof name - 1;
    memcpy(name, variable, len);
    name[len] = '\0';
    meant = nearest(name + sizeof env_prefix - 1, false);
    if (!meant)
        return wp__fail(err, WP_E_CONFIG, "%s is not a configuration variable", name);
    env_name(known, sizeof known, meant->key);
    return wp__fail(err, WP_E_CONFIG, "%s is not a configuration variable: did you mean %s?", name,
                    known);
}

/* Whether a variable's name, of `len` bytes, is that of an alias: two underscores for the colon, in either case. */
static bool is_alias_variable(const char *variable, size_t len, const char *alias)
{
    const size_t group = strcspn(alias, ":"), prefix = sizeof env_prefix - 1;
    return len == prefix + strlen(alias) + 1 && wp__option_same(variable + prefix, alias, group) &&
           strncmp(variable + prefix + group, "__", 2) == 0 &&
           wp__option_same(variable + prefix + group + 2, alias + group + 1,
                           strlen(alias) - group - 1);
}

/* The property that a variable of a name of `len` bytes is of. */
static wp__named named_by(const char *variable, size_t len)
{
    char name[64];
    for (size_t i = 0; i < wp__property_count; i++) {
        env_name(name, sizeof name, wp__properties[i].key);
        if (strlen(name) == len && memcmp(name, variable, len) == 0)
            return named_as(&wp__properties[i]);
    }
    for (size_t i = 0; i < wp__alias_count; i++)
        if (is_alias_variable(variable, len, wp__aliases[i].name))
            return find_named(wp__aliases[i].name);
    return (wp__named){NULL, NULL, 1};
}

/* Set what the variable "NAME=value" says. */
static wp_status load_variable(wp_config *config, const char **seen, const char *variable,
                               wp_error **err)
{
    const size_t len = strcspn(variable, "=");
    const wp__named as = named_by(variable, len);
    char name[201];
    wp_status st;
    if (!as.prop)
        return unknown_variable(variable, len, err);
    if ((st = note_seen(seen, as, err)) == WP_OK)
        st = wp__option_set(field_of(config, as.prop), as, variable + len + 1, err);
    if (st != WP_OK) {
        (void)snprintf(name, sizeof name, "%.*s", (int)len, variable);
        wp__error_context(err, "%s", name);
    }
    return st;
}

wp_status wp_config_load_env(wp_config *config, wp_error **err)
{
    const char *seen[WP__PROPERTY_MAX] = {0};
    wp_config *loaded = NULL;
    char **at = environ;
    wp_status st = WP_OK;
    if (!config)
        return wp__fail(err, WP_E_ARGUMENT, "config is null");
    if ((st = wp__config_copy(&loaded, config, err)) != WP_OK)
        goto done;
    for (; at && *at; at++) {
        if (strncmp(*at, env_prefix, sizeof env_prefix - 1) != 0 || !strchr(*at, '=') ||
            strncmp(*at, env_test_prefix, sizeof env_test_prefix - 1) == 0)
            continue;
        if ((st = load_variable(loaded, seen, *at, err)) != WP_OK)
            goto done;
    }
    swap(config, loaded);
done:
    wp_config_free(loaded);
    return st;
}

/* ---- documentation ------------------------------------------------------------------------ */

static void describe_property(wp__buf *out, const wp__property *prop)
{
    char name[64];
    env_name(name, sizeof name, prop->key);
    wp__buf_fmt(out, "| `%s` | ", prop->key);
    wp__option_add_allowed(out, prop, 1);
    if (*prop->dflt)
        wp__buf_fmt(out, " | `%s` | ", prop->dflt);
    else
        wp__buf_text(out, " | empty | ");
    wp__buf_fmt(out, "%s | %s |\n", prop->per_topic ? "yes" : "no", prop->doc);
}

static void describe_aliases(wp__buf *out)
{
    wp__buf_text(
        out, "\n## Other names\n\n"
             "Files in the manner of .NET's configuration may use these, in either case, as "
             "`{\"Queue\": {\"BatchSize\": 50}}` or\n`{\"Queue:BatchSize\": 50}`; variables have "
             "two underscores for the colon: `WAYPOST_Queue__BatchSize`. To give an option by both "
             "names is an error.\n\n| Name | Option |\n|---|---|\n");
    for (size_t i = 0; i < wp__alias_count; i++)
        wp__buf_fmt(out, "| `%s` | `%s`%s |\n", wp__aliases[i].name, wp__aliases[i].key,
                    wp__aliases[i].unit == 1000 ? ", in seconds" : "");
}

wp_status wp_config_describe(char **out, wp_error **err)
{
    wp__buf text = {0};
    const char *group = "", *key = NULL;
    char *taken = NULL;
    size_t i = 0, len = 0;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is null");
    wp__buf_text(&text,
                 "# Configuration\n\n"
                 "Written by `wp_config_describe()` from the table that also checks the values.\n\n"
                 "Set options with `wp_config_set()`, from a JSON object with "
                 "`wp_config_load_json()` (nested\nobjects join their keys with a dot), or from "
                 "environment variables with `wp_config_load_env()`\n(`worker.lease_ms` is "
                 "`WAYPOST_WORKER_LEASE_MS`). Options marked per topic can be set for one topic\n"
                 "too. Booleans are true, yes, on and 1, or false, no, off and 0, in either "
                 "case.\n");
    for (i = 0; i < wp__property_count; i++) {
        key = wp__properties[i].key;
        len = strcspn(key, ".") + 1;
        if (strncmp(group, key, len) != 0) {
            wp__buf_fmt(&text,
                        "\n## %.*s\n\n| Key | Value | Default | Per topic | Meaning |\n"
                        "|---|---|---|---|---|\n",
                        (int)len - 1, key);
            group = key;
        }
        describe_property(&text, &wp__properties[i]);
    }
    describe_aliases(&text);
    taken = wp__buf_take(&text);
    if (!taken)
        return wp__fail_nomem(err);
    *out = taken;
    return WP_OK;
}

/* ---- log and clock ------------------------------------------------------------------------ */

wp_status wp_config_set_log(wp_config *config, wp_log_fn fn, void *user,
                            void (*destroy)(void *user), wp_error **err)
{
    wp__log_sink *sink = NULL, *old = NULL;
    wp_status st = WP_OK;
    if (!config || !fn) {
        if (destroy)
            destroy(user);
    } else { /* destroys by itself if it fails */
        st = wp__log_sink_new(&sink, fn, user, destroy, err);
    }
    if (!config)
        return wp__fail(err, WP_E_ARGUMENT, "config is null");
    if (st == WP_OK) {
        old = config->log_sink;
        config->log_sink = sink;
        wp__log_sink_free(old);
    }
    return st;
}

wp_status wp__config_log(wp__log **out, const wp_config *config, wp_error **err)
{
    return wp__log_new(out, (wp_log_level)config->log_level, config->log_sink, config->clock, err);
}

wp_status wp_config_set_clock(wp_config *config, wp_clock *clock, wp_error **err)
{
    wp_clock *old = NULL;
    if (!config)
        return wp__fail(err, WP_E_ARGUMENT, "config is null");
    old = config->clock;
    config->clock = clock ? wp__clock_ref(clock) : NULL;
    wp_clock_free(old);
    return WP_OK;
}
