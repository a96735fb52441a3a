/* SPDX-License-Identifier: Apache-2.0 */
/* Statements: embedded from sql/<engine>/ at build time, rendered for a store with its table names,
 * in the parameter styles that are asked for. */
#ifndef WP__SQL_H
#define WP__SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <waypost/op.h>

#include "base/buf.h"
#include "sql_ids.h"

/* One embedded file. */
typedef struct wp__sql_source {
    const char *name;
    const unsigned char *text;
    size_t len;
} wp__sql_source;

/* Every parameter name that a statement may use. */
#define WP__PARAMS(X)                                                                              \
    X(NOW, "now")                                                                                  \
    X(ID, "id")                                                                                    \
    X(IDS, "ids")                                                                                  \
    X(COUNT_, "count")                                                                             \
    X(TOPIC, "topic")                                                                              \
    X(TOPICS, "topics")                                                                            \
    X(PAYLOAD, "payload")                                                                          \
    X(PAYLOADS, "payloads")                                                                        \
    X(HEADERS, "headers")                                                                          \
    X(CORRELATION_ID, "correlation_id")                                                            \
    X(ORDERING_KEY, "ordering_key")                                                                \
    X(UNIQUE_KEY, "unique_key")                                                                    \
    X(DUE_AT, "due_at")                                                                            \
    X(DELAY, "delay")                                                                              \
    X(EXPIRES_AT, "expires_at")                                                                    \
    X(OWNER, "owner")                                                                              \
    X(LEASE, "lease")                                                                              \
    X(BATCH, "batch")                                                                              \
    X(MAX_ATTEMPTS, "max_attempts")                                                                \
    X(CLAIMS, "claims")                                                                            \
    X(SEQS, "seqs")                                                                                \
    X(SINCE, "since")                                                                              \
    X(AFTER, "after")                                                                              \
    X(MESSAGES, "messages")                                                                        \
    X(STATUS, "status")                                                                            \
    X(ATTEMPTS, "attempts")                                                                        \
    X(WORKER, "worker")                                                                            \
    X(REASON, "reason")                                                                            \
    X(NAME, "name")                                                                                \
    X(SCHEMA, "schema")                                                                            \
    X(NUMBER, "number")                                                                            \
    X(SOURCE, "source")                                                                            \
    X(MESSAGE_ID, "message_id")                                                                    \
    X(CONSUMER, "consumer")                                                                        \
    X(HASH, "hash")                                                                                \
    X(HASH_ALGORITHM, "hash_algorithm")                                                            \
    X(FENCE, "fence")                                                                              \
    X(LEASES, "leases")                                                                            \
    X(SLOTS, "slots")                                                                              \
    X(VERSION, "version")                                                                          \
    X(EXPRESSION, "expression")                                                                    \
    X(ZONE, "zone")                                                                                \
    X(OPTIONS, "options")                                                                          \
    X(REGISTRAR, "registrar")                                                                      \
    X(OCCURRENCE, "occurrence")                                                                    \
    X(FIRED_AT, "fired_at")                                                                        \
    X(UNTIL, "until")                                                                              \
    X(ACTION, "action")                                                                            \
    X(SUBJECT, "subject")                                                                          \
    X(DETAIL, "detail")

typedef enum wp__param {
#define WP__PARAM_ENUM(id, name) WP__P_##id,
    WP__PARAMS(WP__PARAM_ENUM)
#undef WP__PARAM_ENUM
        WP__P_COUNT
} wp__param;

/* The name of a parameter, without the colon. */
const char *wp__param_name(wp__param param);
/* True if its values are numbers (or null); else text or bytes. */
bool wp__param_is_number(wp__param param);

enum { WP__SQL_PARAMS_MAX = 32, WP__PARAMSTYLES = WP_PARAM_AT };

/* One statement in one parameter style. */
typedef struct wp__sql_text {
    char *text;
    size_t param_count;
    uint8_t params[WP__SQL_PARAMS_MAX]; /* wp__param of each position */
} wp__sql_text;

/* What tables are called on one store. */
typedef struct wp__sql_names {
    const char *schema;
    const char *outbox;   /* the outbox table; other objects of the outbox are named after it */
    const char *inbox;    /* the same of the inbox */
    const char *database; /* before every name; NULL: none */
    const char *home;     /* before names in statements, not in scripts; NULL: none */
    const char *guard;    /* before each guarded statement; NULL: nothing */
    char quote;           /* around names; 0: "; [ for [ and ] */
    bool schemas;         /* the engine has schemas; else the schema is every name's prefix */
    size_t max_bytes;     /* the engine's limit of a name; 0: none */
    bool basic_plane;     /* the engine admits no characters beyond U+FFFF in names */
} wp__sql_names;

/* Every statement of one engine, rendered. Thread-safe. */
typedef struct wp__sql_set wp__sql_set;

/* `names` stays the caller's, as long as the set lives.
 * WP_E_CONFIG: a name is too long for the engine. */
wp_status wp__sql_set_new(wp__sql_set **out, const wp__sql_source *sources,
                          const wp__sql_names *names, wp_error **err);
void wp__sql_set_free(wp__sql_set *set);
/* Have the statements in one more style; WP_PARAM_QMARK is there from the start. */
wp_status wp__sql_set_style(wp__sql_set *set, wp_paramstyle style, wp_error **err);
/* A statement in a style that the set has. */
const wp__sql_text *wp__sql_get(const wp__sql_set *set, wp__sql_id id, wp_paramstyle style);
/* The same of statements with the guard before them. */
wp_status wp__sql_set_guarded(wp__sql_set *set, wp_paramstyle style, wp_error **err);
const wp__sql_text *wp__sql_get_guarded(const wp__sql_set *set, wp__sql_id id, wp_paramstyle style);
/* The name of a statement that the engine may lack, as sql/statements.txt has it. */
const char *wp__sql_id_name(wp__sql_id id);
/* Its name in sql/. */
const char *wp__sql_name(const wp__sql_set *set, wp__sql_id id);

/* Append `source` with every placeholder replaced; a migration script, say.
 *   {outbox_work}       the object's quoted name, with its schema or database where the engine has them
 *   {name:outbox_work}  without the schema, as CREATE INDEX wants it
 *   {text:outbox_work}  its quoted name as a text literal
 *   {schema}            the schema's quoted name
 *   {body} ... {end}    what stands between, rendered, as a text literal
 * WP_E_INTERNAL: a placeholder that is malformed. */
wp_status wp__sql_render(wp__buf *out, const char *source, size_t len, const wp__sql_names *names,
                         wp_error **err);

/* Append the bare, unquoted name of an object such as "migration". */
void wp__sql_object_name(wp__buf *out, const char *object, size_t len, const wp__sql_names *names);

#endif
