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
#include "base/config_values.h"
#include "base/hint.h"
#include "base/text.h"

/* ---- the table ---------------------------------------------------------------------------- */

typedef enum prop_type {
    PROP_TEXT,   /* char *; min to max UTF-16 units */
    PROP_NAME,   /* char *; min to max bytes, no control characters: quoted into SQL */
    PROP_PREFIX, /* a PROP_NAME that table names start with */
    PROP_BOOL,   /* bool */
    PROP_INT,    /* int64_t */
    PROP_REAL,   /* double */
    PROP_ENUM    /* int64_t */
} prop_type;

typedef struct choice {
    const char *name; /* NULL ends the list */
    int64_t value;
} choice;

typedef struct property {
    const char *key;
    prop_type type;
    size_t offset; /* in wp_config */
    int64_t min, max;
    const char *dflt; /* as wp_config_set() takes it */
    const choice *choices;
    bool per_topic; /* lives in wp__worker_options */
    const char *doc;
} property;

static const choice sync_choices[] = {
    {"normal", WP__SYNC_NORMAL}, {"full", WP__SYNC_FULL}, {NULL, 0}};
static const choice selection_choices[] = {
    {"round-robin", WP__SELECT_ROUND_ROBIN}, {"drain-first", WP__SELECT_DRAIN_FIRST}, {NULL, 0}};
static const choice level_choices[] = {{"debug", WP_LOG_DEBUG},     {"info", WP_LOG_INFO},
                                       {"warning", WP_LOG_WARNING}, {"error", WP_LOG_ERROR},
                                       {"off", WP__LOG_OFF},        {NULL, 0}};

#define AT(field) offsetof(wp_config, field)
#define DAY_MS 86400000
#define HOUR_MS 3600000

/* Grouped by the part of the key before the dot, as the documentation is. */
static const property properties[] = {
    {"store.url", PROP_TEXT, AT(store_url), 0, 4096, "", NULL, false,
     "The database: `sqlite:PATH`, `sqlite::memory:`, `postgresql://USER@HOST:PORT/DATABASE` with "
     "any libpq parameter, or `odbc:` and an ODBC connection string. Must be set before a store is "
     "opened."},
    {"store.id", PROP_TEXT, AT(store_id), 1, 255, "default", NULL, false,
     "Names the store in log records and metrics."},
    {"store.schema", PROP_PREFIX, AT(store_schema), 1, 63, "infra", NULL, false,
     "The schema that holds Waypost's tables. On SQLite, which has none, every table's name "
     "starts with it and an underscore; a name that would start with `sqlite_` is refused."},
    {"store.outbox_table", PROP_NAME, AT(outbox_table), 1, 63, "outbox", NULL, false,
     "The name of the outbox table; the outbox's other tables are named after it."},
    {"store.inbox_table", PROP_NAME, AT(inbox_table), 1, 63, "inbox", NULL, false,
     "The name of the inbox table, likewise."},
    {"store.deploy", PROP_BOOL, AT(store_deploy), 0, 1, "false", NULL, false,
     "Create or upgrade the schema when the store is opened."},
    {"store.pool_size", PROP_INT, AT(pool_size), 1, 64, "4", NULL, false,
     "The most database connections the store keeps for itself."},
    {"store.busy_timeout_ms", PROP_INT, AT(busy_ms), 0, 600000, "10000", NULL, false,
     "How long to wait for another writer before giving up, in milliseconds."},
    {"store.connect_timeout_ms", PROP_INT, AT(connect_ms), 1, 600000, "10000", NULL, false,
     "How long to wait for a connection to a database server, in milliseconds."},
    {"store.response_timeout_ms", PROP_INT, AT(answer_ms), 1, DAY_MS, "30000", NULL, false,
     "How long a database server may take to answer a statement before its connection is given up "
     "as dead, in milliseconds. A worker's own connections wait a third of its lease at most."},
    {"store.prepared_statements", PROP_BOOL, AT(prepare), 0, 1, "true", NULL, false,
     "Prepare statements on connections of the store's own to a database server. Where a proxy "
     "does "
     "not keep them, this is found out and they are used no more; switch it off to not even try."},
    {"store.signals", PROP_BOOL, AT(signals), 0, 1, "true", NULL, false,
     "Tell workers in other processes of new messages where the database has a way to (PostgreSQL: "
     "NOTIFY, without data, at most one every 20 ms from one store). Off: they find them by "
     "polling. "
     "A transaction that has signalled cannot be prepared for a two-phase commit."},
    {"store.sqlite_synchronous", PROP_ENUM, AT(synchronous), 0, 0, "full", sync_choices, false,
     "SQLite's `synchronous` for what the store itself commits. With `normal`, a power failure may "
     "undo the last commits (in WAL mode); never with `full`. What the app commits is the app's "
     "choice. Workers always use `normal`: a claim or an outcome that is undone means that work is "
     "done again, not that it is lost."},
    {"inbox.revive_dead", PROP_BOOL, AT(revive_dead), 0, 1, "false", NULL, false,
     "A dead message of the inbox that is enqueued again becomes ready again, with no attempts. "
     "Off: it "
     "takes the new values and stays dead."},
    {"log.level", PROP_ENUM, AT(log_level), 0, 0, "warning", level_choices, false,
     "The least level that is logged."},
    {"schedule.zone_directory", PROP_TEXT, AT(zone_directory), 1, 4096, "/usr/share/zoneinfo", NULL,
     false, "Where the files of the IANA time zone database are. Schedules in UTC need none."},
    {"job.cron_overrides", PROP_TEXT, AT(job_cron_overrides), 0, 1000000, "", NULL, false,
     "Cron expressions that are used instead of those in the code, as a JSON object: the job's "
     "name to "
     "the expression."},
    {"worker.name", PROP_TEXT, AT(worker_name), 0, 255, "", NULL, false,
     "Names the worker in claims and log records. Empty: host name, colon, process id."},
    {"worker.concurrency", PROP_INT, AT(worker.concurrency), 1, 1024, "16", NULL, true,
     "The most deliveries in progress at once."},
    {"worker.batch_size", PROP_INT, AT(worker.batch_size), 1, 10000, "500", NULL, true,
     "The most messages taken in one claim. Fewer are taken where handlers are slow or messages "
     "large: "
     "what they use up within a second, and no more than 16 MiB ahead."},
    {"worker.lease_ms", PROP_INT, AT(worker.lease_ms), 100, DAY_MS, "30000", NULL, true,
     "How long a claim lasts unless renewed, in milliseconds. Claims of running handlers are "
     "renewed."},
    {"worker.job_lease_ms", PROP_INT, AT(worker_job_lease_ms), 100, DAY_MS, "300000", NULL, false,
     "The lease of runs of jobs whose topic sets none: a run whose worker died is tried again "
     "after so "
     "long, in milliseconds."},
    {"worker.timeout_ms", PROP_INT, AT(worker.timeout_ms), 0, DAY_MS, "0", NULL, true,
     "How long a handler may take, in milliseconds; then its delivery is cancelled. 0: no limit."},
    {"worker.max_attempts", PROP_INT, AT(worker.max_attempts), 1, 1000000, "10", NULL, true,
     "After so many attempts a message is given up as failed."},
    {"worker.backoff_base_ms", PROP_INT, AT(worker.backoff_base_ms), 1, DAY_MS, "1000", NULL, true,
     "The delay before the first retry, in milliseconds; it doubles with each further one. One of "
     "a "
     "few milliseconds may pass unseen, and then lasts until the next poll: see "
     "`worker.poll_min_ms`."},
    {"worker.backoff_max_ms", PROP_INT, AT(worker.backoff_max_ms), 1, DAY_MS, "60000", NULL, true,
     "The longest delay before a retry, in milliseconds."},
    {"worker.poll_min_ms", PROP_INT, AT(worker.poll_min_ms), 1, HOUR_MS, "250", NULL, true,
     "The shortest time between polls, in milliseconds."},
    {"worker.poll_max_ms", PROP_INT, AT(worker.poll_max_ms), 0, HOUR_MS, "0", NULL, true,
     "The longest time between polls, in milliseconds. 0: 30000 while a wake-up channel works, "
     "else 1000."},
    {"worker.backoff_jitter", PROP_REAL, AT(worker_jitter), 0, 1, "0.2", NULL, false,
     "Each retry's delay is shortened at random by up to this part of it."},
    {"worker.all_topics", PROP_BOOL, AT(worker_all_topics), 0, 1, "false", NULL, false,
     "Claim topics that have no handler too: their messages are logged and abandoned."},
    {"worker.flush_ms", PROP_INT, AT(flush_ms), 0, 1000, "2", NULL, false,
     "How long a finished delivery may wait to be written together with others, in milliseconds."},
    {"worker.reap_ms", PROP_INT, AT(reap_ms), 10, HOUR_MS, "1000", NULL, false,
     "The time between looks for expired claims, in milliseconds."},
    {"worker.wakeups", PROP_BOOL, AT(wakeups), 0, 1, "true", NULL, false,
     "Use wake-up channels where there are any. Off: poll only."},
    {"worker.selection", PROP_ENUM, AT(selection), 0, 0, "round-robin", selection_choices, false,
     "With several stores, whose message goes to the next free handler: `round-robin`, each store "
     "in "
     "turn; `drain-first`, one store until it has no more, then the next one."},
    {"worker.turn", PROP_INT, AT(turn), 1, 10000, "1", NULL, false,
     "With `round-robin`, how many messages of a store are handed out before it is the next one's "
     "turn."},
    {"worker.discovery_interval_ms", PROP_INT, AT(discovery_ms), 100, DAY_MS, "300000", NULL, false,
     "The time between looks for new, changed and removed stores, where the app discovers them, in "
     "milliseconds."},
    {"lease.renew_percent", PROP_INT, AT(lease_renew_percent), 10, 75, "60", NULL, false,
     "The part of its duration after which a lease that is kept is renewed, in percent; up to a "
     "tenth of it earlier, at random."},
    {"lease.guard_percent", PROP_INT, AT(lease_guard_percent), 1, 20, "10", NULL, false,
     "The part of its duration, in percent, before the end of which a lease that could not be "
     "renewed counts as lost, so that work stops before another one can begin. More where clocks "
     "drift or work is slow to stop."},
    {"lease.poll_max_ms", PROP_INT, AT(lease_poll_ms), 1, HOUR_MS, "500", NULL, false,
     "The longest time between two tries to acquire a lease that is waited for, in milliseconds."},
    {"lease.keep_ms", PROP_INT, AT(lease_keep_ms), 0, 31536000000, "3600000", NULL, false,
     "How long leases that nobody holds any more stay in the database, in milliseconds."},
};

enum { PROPERTY_COUNT = sizeof properties / sizeof properties[0] };

static bool is_text(const property *prop)
{
    return prop->type == PROP_TEXT || prop->type == PROP_NAME || prop->type == PROP_PREFIX;
}

/* Only for per_topic properties: where the value is in wp__worker_options. */
static void *topic_field(wp__worker_options *options, const property *prop)
{
    return (char *)options + (prop->offset - offsetof(wp_config, worker));
}

static void *field_of(wp_config *config, const property *prop)
{
    return (char *)config + prop->offset;
}

static char **text_of(wp_config *config, const property *prop)
{
    return field_of(config, prop);
}

static const property *find(const char *key)
{
    size_t i = 0;
    for (i = 0; i < PROPERTY_COUNT; i++)
        if (strcmp(properties[i].key, key) == 0)
            return &properties[i];
    return NULL;
}

/* ---- what was meant ----------------------------------------------------------------------- */

/* The property that was meant by an unknown key, whose group may be wrong or missing, or NULL. What looks
 * like a group may be the name's first word: lease.ms, for worker.lease_ms. */
static const property *nearest(const char *key, bool per_topic)
{
    const property *best = NULL, *prop = NULL;
    size_t least = SIZE_MAX, distance = 0, whole = 0;
    char name[128];
    (void)snprintf(name, sizeof name, "%s", key);
    for (char *dot = strchr(name, '.'); dot; dot = strchr(dot, '.'))
        *dot = '_';
    for (prop = properties; prop < properties + PROPERTY_COUNT; prop++) {
        if (per_topic && !prop->per_topic)
            continue;
        distance = wp__hint_distance(key, prop->key);
        whole = wp__hint_distance(name, prop->key);
        distance = whole < distance ? whole : distance;
        if (distance < least) {
            least = distance;
            best = prop;
        }
    }
    return best;
}

/* ---- one value ---------------------------------------------------------------------------- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Equal but for the case of ASCII letters, in any locale; up to `len` characters. */
static bool same(const char *a, const char *b, size_t len)
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

/* Append what the property may be; reads well after "must be". */
static void add_allowed(wp__buf *out, const property *prop)
{
    const choice *c = NULL;
    switch (prop->type) {
    case PROP_TEXT:
        if (prop->min > 0)
            wp__buf_fmt(out, "text of %" PRId64 " to %" PRId64 " UTF-16 units", prop->min,
                        prop->max);
        else
            wp__buf_fmt(out, "text of at most %" PRId64 " UTF-16 units", prop->max);
        break;
    case PROP_NAME:
    case PROP_PREFIX:
        wp__buf_fmt(out, "%" PRId64 " to %" PRId64 " bytes of UTF-8 without control characters",
                    prop->min, prop->max);
        break;
    case PROP_BOOL:
        wp__buf_text(out, "true or false");
        break;
    case PROP_INT:
        wp__buf_fmt(out, "a whole number from %" PRId64 " to %" PRId64, prop->min, prop->max);
        break;
    case PROP_REAL:
        wp__buf_fmt(out, "a number from %" PRId64 " to %" PRId64, prop->min, prop->max);
        break;
    case PROP_ENUM:
        for (c = prop->choices; c->name; c++)
            wp__buf_fmt(out, "%s%s", c == prop->choices ? "" : c[1].name ? ", " : " or ", c->name);
        break;
    }
}

/* The value itself stays out of the message: it may hold a password. */
static wp_status bad_value(const property *prop, wp_error **err)
{
    wp__buf allowed = {0};
    wp_status st = WP_E_CONFIG;
    add_allowed(&allowed, prop);
    if (allowed.failed)
        st = wp__fail_nomem(err);
    else
        (void)wp__fail(err, st, "%s must be %s", prop->key, allowed.data);
    wp__buf_free(&allowed);
    return st;
}

static bool read_bool(bool *out, const char *value)
{
    static const choice words[] = {{"true", 1}, {"false", 0}, {"1", 1},   {"0", 0}, {"yes", 1},
                                   {"no", 0},   {"on", 1},    {"off", 0}, {NULL, 0}};
    const choice *c = words;
    while (c->name && !same(c->name, value, SIZE_MAX))
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

static bool text_allowed(const property *prop, const char *value)
{
    const size_t len = strlen(value);
    size_t units = 0;
    if (!wp__utf8_check(value, len, &units, NULL))
        return false;
    if (prop->type == PROP_TEXT)
        return units >= (size_t)prop->min && units <= (size_t)prop->max;
    return len >= (size_t)prop->min && len <= (size_t)prop->max && !wp__text_has_control(value);
}

/* SQLite keeps names that start with "sqlite_" to itself; an underscore follows the prefix. */
static bool is_reserved(const char *prefix)
{
    return same(prefix, "sqlite_", 7) || same(prefix, "sqlite", SIZE_MAX);
}

static wp_status set_text(char **field, const property *prop, const char *value, wp_error **err)
{
    char *copy = NULL;
    if (!text_allowed(prop, value))
        return bad_value(prop, err);
    if (prop->type == PROP_PREFIX && is_reserved(value))
        return wp__fail(err, WP_E_CONFIG, "%s must not be or start with \"sqlite_\"", prop->key);
    copy = wp__text_dup(value);
    if (!copy)
        return wp__fail_nomem(err);
    free(*field);
    *field = copy;
    return WP_OK;
}

static bool read_choice(int64_t *out, const char *value, const choice *choices)
{
    const choice *c = choices;
    while (c->name && !same(c->name, value, SIZE_MAX))
        c++;
    if (c->name)
        *out = c->value;
    return c->name != NULL;
}

static wp_status set_value(void *field, const property *prop, const char *value, wp_error **err)
{
    bool ok = false;
    if (is_text(prop))
        return set_text(field, prop, value, err);
    if (prop->type == PROP_BOOL)
        ok = read_bool(field, value);
    else if (prop->type == PROP_INT)
        ok = read_int(field, value, prop->min, prop->max);
    else if (prop->type == PROP_REAL)
        ok = read_real(field, value, prop->min, prop->max);
    else
        ok = read_choice(field, value, prop->choices);
    return ok ? WP_OK : bad_value(prop, err);
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

static void add_value(wp__buf *out, const void *field, const property *prop)
{
    const choice *c = prop->choices;
    if (is_text(prop)) {
        wp__buf_text(out, *(char *const *)field);
    } else if (prop->type == PROP_BOOL) {
        wp__buf_text(out, *(const bool *)field ? "true" : "false");
    } else if (prop->type == PROP_INT) {
        wp__buf_int(out, *(const int64_t *)field);
    } else if (prop->type == PROP_REAL) {
        add_real(out, *(const double *)field);
    } else {
        while (c->name && c->value != *(const int64_t *)field)
            c++;
        assert(c->name);
        wp__buf_text(out, c->name);
    }
}

/* ---- configurations ----------------------------------------------------------------------- */

wp_status wp_config_new(wp_config **out, wp_error **err)
{
    wp_status st = WP_OK;
    wp_config *config = NULL;
    const property *prop = NULL;
    size_t i = 0;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is null");
    config = calloc(1, sizeof *config);
    if (!config)
        return wp__fail_nomem(err);
    for (i = 0; i < PROPERTY_COUNT; i++) {
        prop = &properties[i];
        if ((st = set_value(field_of(config, prop), prop, prop->dflt, err)) != WP_OK)
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
    for (i = 0; i < PROPERTY_COUNT; i++)
        if (is_text(&properties[i]))
            free(*text_of(config, &properties[i]));
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
    for (i = 0; i < PROPERTY_COUNT; i++) {
        if (is_text(&properties[i])) { /* no early exit: each must be the copy's own, or NULL */
            text = text_of(copy, &properties[i]);
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
    const property *meant = nearest(key, false);
    return wp__fail(err, WP_E_CONFIG, "%s is not a configuration key%s%s%s", key,
                    meant ? ": did you mean " : "", meant ? meant->key : "", meant ? "?" : "");
}

wp_status wp_config_set(wp_config *config, const char *key, const char *value, wp_error **err)
{
    const property *prop = NULL;
    if (!config || !key || !value)
        return wp__fail(err, WP_E_ARGUMENT, "%s is null",
                        !config ? "config"
                        : !key  ? "key"
                                : "value");
    prop = find(key);
    if (!prop)
        return unknown_key(key, err);
    return set_value(field_of(config, prop), prop, value, err);
}

wp_status wp_config_get(char **out, const wp_config *config, const char *key, wp_error **err)
{
    const property *prop = NULL;
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
    add_value(&text, (const char *)config + prop->offset, prop);
    taken = wp__buf_take(&text);
    if (!taken)
        return wp__fail_nomem(err);
    *out = taken;
    return WP_OK;
}

bool wp__config_is_same_store(const wp_config *a, const wp_config *b)
{
    bool same = a->clock == b->clock;
    for (size_t i = 0; i < PROPERTY_COUNT && same; i++) {
        const property *prop = &properties[i];
        wp__buf texts[2] = {{0}, {0}};
        char *taken[2];
        if (strncmp(prop->key, "store.", strlen("store.")) != 0)
            continue;
        add_value(&texts[0], (const char *)a + prop->offset, prop);
        add_value(&texts[1], (const char *)b + prop->offset, prop);
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
    const property *prop = NULL;
    size_t i = 0;
    for (i = 0; i < PROPERTY_COUNT; i++) {
        prop = &properties[i];
        if (prop->per_topic && strcmp(prop->key + sizeof group - 1, key) == 0)
            return set_value(topic_field(options, prop), prop, value, err);
    }
    prop = nearest(key, true);
    return wp__fail(err, WP_E_CONFIG, "%s is not an option of a topic%s%s%s", key,
                    prop ? ": did you mean " : "", prop ? prop->key + sizeof group - 1 : "",
                    prop ? "?" : "");
}

/* ---- JSON --------------------------------------------------------------------------------- */

typedef struct json_load {
    wp_config *config;
    wp__buf key;               /* of the value at hand */
    bool seen[PROPERTY_COUNT]; /* the dot makes {"a.b": 1, "a": {"b": 2}} a duplicate too */
} json_load;

static wp_status load_scalar(json_load *load, const json_t *json, wp_error **err)
{
    const property *prop = find(load->key.data);
    char digits[24];
    const char *value = digits;
    if (!prop)
        return unknown_key(load->key.data, err);
    if (load->seen[prop - properties])
        return wp__fail(err, WP_E_CONFIG, "%s is given twice", prop->key);
    load->seen[prop - properties] = true;
    if (json_is_real(json)) {
        double *field = field_of(load->config, prop);
        if (prop->type != PROP_REAL || json_real_value(json) < (double)prop->min ||
            json_real_value(json) > (double)prop->max)
            return bad_value(prop, err);
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
        return wp__fail(err, WP_E_CONFIG, "%s must be a text, a number or a boolean", prop->key);
    return set_value(field_of(load->config, prop), prop, value, err);
}

/* True if some key starts with the `len` bytes of `prefix`. */
static bool is_group(const char *prefix, size_t len)
{
    size_t i = 0;
    for (i = 0; i < PROPERTY_COUNT; i++)
        if (strncmp(properties[i].key, prefix, len) == 0)
            return true;
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
        else if (is_group(load->key.data, load->key.len))
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
    const property *meant = NULL;
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

/* Set what the variable "NAME=value" says. */
static wp_status load_variable(wp_config *config, const char *variable, wp_error **err)
{
    const size_t len = strcspn(variable, "=");
    const property *prop = NULL;
    char name[64];
    wp_status st = WP_OK;
    size_t i = 0;
    for (i = 0; i < PROPERTY_COUNT; i++) {
        prop = &properties[i];
        env_name(name, sizeof name, prop->key);
        if (strlen(name) != len || memcmp(name, variable, len) != 0)
            continue;
        st = set_value(field_of(config, prop), prop, variable + len + 1, err);
        if (st != WP_OK)
            wp__error_context(err, "%s", name);
        return st;
    }
    return unknown_variable(variable, len, err);
}

wp_status wp_config_load_env(wp_config *config, wp_error **err)
{
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
        if ((st = load_variable(loaded, *at, err)) != WP_OK)
            goto done;
    }
    swap(config, loaded);
done:
    wp_config_free(loaded);
    return st;
}

/* ---- documentation ------------------------------------------------------------------------ */

static void describe_property(wp__buf *out, const property *prop)
{
    char name[64];
    env_name(name, sizeof name, prop->key);
    wp__buf_fmt(out, "| `%s` | ", prop->key);
    add_allowed(out, prop);
    if (*prop->dflt)
        wp__buf_fmt(out, " | `%s` | ", prop->dflt);
    else
        wp__buf_text(out, " | empty | ");
    wp__buf_fmt(out, "%s | %s |\n", prop->per_topic ? "yes" : "no", prop->doc);
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
    for (i = 0; i < PROPERTY_COUNT; i++) {
        key = properties[i].key;
        len = strcspn(key, ".") + 1;
        if (strncmp(group, key, len) != 0) {
            wp__buf_fmt(&text,
                        "\n## %.*s\n\n| Key | Value | Default | Per topic | Meaning |\n"
                        "|---|---|---|---|---|\n",
                        (int)len - 1, key);
            group = key;
        }
        describe_property(&text, &properties[i]);
    }
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
