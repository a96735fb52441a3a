/* SPDX-License-Identifier: Apache-2.0 */
/* Statements: embedded from sql/<engine>/ at build time, rendered once per store with its table
 * names, in each parameter style. */
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

extern const wp__sql_source wp__sql_sqlite[WP__SQL_COUNT];
extern const wp__sql_source wp__sql_sqlite_migrations[];
extern const size_t wp__sql_sqlite_migration_count;

/* Every parameter name that a statement may use. */
#define WP__PARAMS(X)                                                                              \
    X(NOW, "now")                                                                                  \
    X(ID, "id")                                                                                    \
    X(IDS, "ids")                                                                                  \
    X(COUNT_, "count")                                                                             \
    X(TOPIC, "topic")                                                                              \
    X(TOPICS, "topics")                                                                            \
    X(PAYLOAD, "payload")                                                                          \
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
    X(STATUS, "status")                                                                            \
    X(ATTEMPTS, "attempts")                                                                        \
    X(WORKER, "worker")                                                                            \
    X(REASON, "reason")                                                                            \
    X(NAME, "name")                                                                                \
    X(NUMBER, "number")

typedef enum wp__param {
#define WP__PARAM_ENUM(id, name) WP__P_##id,
    WP__PARAMS(WP__PARAM_ENUM)
#undef WP__PARAM_ENUM
        WP__P_COUNT
} wp__param;

/* The name of a parameter, without the colon. */
const char *wp__param_name(wp__param param);

enum { WP__SQL_PARAMS_MAX = 24, WP__PARAMSTYLES = 2 };

/* One statement in one parameter style. */
typedef struct wp__sql_text {
    char *text;
    size_t param_count;
    uint8_t params[WP__SQL_PARAMS_MAX]; /* wp__param of each position */
} wp__sql_text;

typedef struct wp__sql_statement {
    const char *name;
    bool returns_rows;
    wp__sql_text style[WP__PARAMSTYLES]; /* index: wp_paramstyle - 1 */
} wp__sql_statement;

/* What tables are called on one store. */
typedef struct wp__sql_names {
    const char *schema; /* SQLite: the prefix of every object */
    const char *outbox; /* the outbox table; other objects of the outbox are named after it */
} wp__sql_names;

/* Every statement of one engine, rendered. */
typedef struct wp__sql_set wp__sql_set;

wp_status wp__sql_set_new(wp__sql_set **out, const wp__sql_source *sources,
                          const wp__sql_names *names, wp_error **err);
void wp__sql_set_free(wp__sql_set *set);
const wp__sql_statement *wp__sql_get(const wp__sql_set *set, wp__sql_id id);

/* Append `source` with every {object} replaced by its quoted name; a migration script, say.
 * WP_E_INTERNAL: a placeholder that is malformed. */
wp_status wp__sql_render(wp__buf *out, const char *source, size_t len, const wp__sql_names *names,
                         wp_error **err);

/* Append the bare, unquoted name of an object such as "migration". */
void wp__sql_object_name(wp__buf *out, const char *object, size_t len, const wp__sql_names *names);

#endif
