/* SPDX-License-Identifier: Apache-2.0 */
/* The operation: a small state machine that says which statement comes next and takes its rows.
 * It does no I/O. Each domain file makes its operations by embedding wp_op as the first member of
 * a struct of its own, with a class of callbacks. */
#ifndef WP__OP_H
#define WP__OP_H

#include <stdbool.h>
#include <waypost/op.h>

#include "op/engine.h"

/* The app has switched triggers off on its connection. WP_E_STATE. */
wp_status wp__fail_triggers(wp_error **err);

/* A value on its way to or from a statement. Borrowed bytes. */
typedef struct wp__value {
    wp_value_type type;
    int64_t i;     /* WP_VALUE_INT64 */
    const char *p; /* WP_VALUE_TEXT, WP_VALUE_BYTES */
    size_t len;
} wp__value;

/* The type of a value that has none of ours, or of text that is not UTF-8: read, never written. */
#define WP__VALUE_OTHER ((wp_value_type)0xff)

typedef struct wp__op_class {
    /* Set up the next statement with wp__op_use() and its parameters, or leave it at that: done. */
    wp_status (*next)(wp_op *op, wp_error **err);
    /* Take one row of the current statement. Values are borrowed during the call. */
    wp_status (*row)(wp_op *op, const wp__value *columns, wp_error **err);
    /* Go back to before the first next(), for a retry. */
    void (*rewind)(wp_op *op);
    /* Free what the operation holds; not the operation. */
    void (*destroy)(wp_op *op);
    bool writes; /* needs a write transaction */
    bool single; /* one statement, ever: it is its own transaction */
    bool checks; /* after a try whose outcome is unknown, it finds out what became of it */
    bool races;  /* a unique violation tells that another was faster: try again */
} wp__op_class;

/* A queue: tables that share the statements of sql/ whose names begin with queue_. */
typedef struct wp__queue {
    const char *name; /* as people call it */
    size_t first_sql; /* its copy of the first of those statements */
    size_t columns;   /* how many more a message of it has, at the end of those that are read */
    bool runs;        /* of jobs: a claim starts them */
} wp__queue;

/* What became of one message that was enqueued, or arrived. */
typedef struct wp__op_result {
    wp_id id;
    int duplicate;
    wp_id own;            /* the id that it was to be stored with */
    wp_inbox_state found; /* the inbox: the state in which it was found */
    int mismatch;         /* its hash was another one */
} wp__op_result;

enum { WP__OP_COLUMNS_MAX = 28 };

struct wp_op {
    const wp__op_class *cls;
    wp_store *store; /* a reference if `owns_store` */
    const wp__engine *engine;
    wp__sql_set *sql;
    const wp__queue *queue; /* that wp__op_use_queue() is about; else NULL */
    bool owns_store;
    bool started;
    bool finished;
    bool pending; /* next() set up a statement */
    bool guarded; /* statements must be in a transaction */
    bool unsure;  /* an earlier try may have been committed */
    bool asks;    /* not to be begun on a connection that may be lost */
    wp_paramstyle style;
    wp__sql_id statement;
    size_t columns; /* per row of the current statement */
    wp__value params[WP__P_COUNT];
    char id_text[2][37]; /* of the parameters id and owner, on engines that want text */
    /* rows fed by a host */
    wp__value fed[WP__OP_COLUMNS_MAX];
    void *fed_copy[WP__OP_COLUMNS_MAX];
    size_t fed_count;
    /* results */
    const wp__op_result *results;
    size_t result_count;
};

/* Begin an operation in memory of the caller's, as a core function does that runs it itself. */
void wp__op_init(wp_op *op, const wp__op_class *cls, wp_store *store);
/* End one that was begun with wp__op_init(): destroy and free what it holds. */
void wp__op_fini(wp_op *op);

/* For next(): the statement to run and the number of its columns (0: returns no rows). */
void wp__op_use(wp_op *op, wp__sql_id statement, size_t columns);
/* Whether the engine has this statement. */
bool wp__op_has(const wp_op *op, wp__sql_id statement);
/* The same, for the queue's copy of a statement that all queues have. */
void wp__op_use_queue(wp_op *op, wp__queue_sql statement, size_t columns);
wp__sql_id wp__queue_sql_id(const wp__queue *queue, wp__queue_sql statement);
void wp__op_set_null(wp_op *op, wp__param param);
void wp__op_set_int(wp_op *op, wp__param param, int64_t value);
/* NULL text is null. The bytes stay the caller's, until the statement has run. */
void wp__op_set_text(wp_op *op, wp__param param, const char *text);
void wp__op_set_textn(wp_op *op, wp__param param, const char *text, size_t len);
void wp__op_set_bytes(wp_op *op, wp__param param, const void *data, size_t len);
/* The parameter `id` or `owner`. Where the engine takes bytes they stay the caller's. */
void wp__op_set_id(wp_op *op, wp__param param, const wp_id *id);
/* The parameters `ids`, and `count` where the engine wants it: bytes, which stay the caller's, or JSON in `json`, which
 * must live until the statement has run. */
wp_status wp__op_set_ids(wp_op *op, wp__buf *json, const wp_id *ids, size_t count, wp_error **err);
/* The parameter `now`: the database's time. Null where the server knows it better. */
void wp__op_set_now(wp_op *op);
/* The same, with what the host's clock said, where that is the one that decides. */
void wp__op_set_now_at(wp_op *op, int64_t now_us);

/* For row(): read a column; the wrong type is an internal error, or a foreign hand in the tables. */
wp_status wp__column_int(int64_t *out, const wp__value *value, wp_error **err);
/* null gives `otherwise`. */
wp_status wp__column_int_or(int64_t *out, const wp__value *value, int64_t otherwise,
                            wp_error **err);
wp_status wp__column_id(wp_id *out, const wp__value *value, wp_error **err);

/* Advance; *more is false when the operation is finished. */
wp_status wp__op_next(bool *more, wp_op *op, wp_error **err);
/* Back to the start. */
void wp__op_rewind(wp_op *op);

/* The current statement's text in the operation's style. */
const wp__sql_text *wp__op_text(const wp_op *op);

#endif
