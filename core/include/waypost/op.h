/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file op.h
 * Operations without I/O, for a host that runs Waypost's statements on a connection that only
 * the host can reach: a Python DB-API connection, an async driver, a DbTransaction, a *sql.Tx.
 *
 *     while (wp_op_next(&more, op, &err) == WP_OK && more) {
 *         cursor = execute(wp_op_sql(op), parameters 0 .. wp_op_param_count(op) - 1);
 *         for each row, for each column: wp_op_feed_...(op, value);   wp_op_row(op)
 *     }
 *     wp_op_result_...(op);
 *
 * The operation never begins, commits or rolls back: it belongs to the host's transaction. If a
 * statement fails, free the operation; the transaction is as the engine left it.
 */
#ifndef WAYPOST_OP_H
#define WAYPOST_OP_H

#include <waypost/store.h>

WP_BEGIN_DECLS

/** One operation under way. Not thread-safe. Keeps its store alive. */
typedef struct wp_op wp_op;

/** How parameters are written in the statement text. */
typedef enum wp_paramstyle {
    WP_PARAM_QMARK = 1,    /**< `?`, one value for each, in order */
    WP_PARAM_NAMED = 2,    /**< `:name`, with wp_op_param_name(); each name once */
    WP_PARAM_NUMERIC = 3,  /**< `$1`, the number of the parameter; each once */
    WP_PARAM_FORMAT = 4,   /**< `%s`, one value for each, in order; `%%` is a percent sign */
    WP_PARAM_PYFORMAT = 5, /**< `%(name)s`; each name once; `%%` is a percent sign */
    WP_PARAM_AT = 6        /**< `@name`; each name once */
} wp_paramstyle;

/** The type of a parameter's value. Times are microseconds UTC since 1970. Ids come in the engine's
 * form: 16 bytes on SQLite, text on PostgreSQL, which gets no bytes at all. */
typedef enum wp_value_type {
    WP_VALUE_NULL = 0,
    WP_VALUE_INT64 = 1,
    WP_VALUE_TEXT = 2,
    WP_VALUE_BYTES = 3
} wp_value_type;

/** Choose the parameter style; before the first wp_op_next(). Default: WP_PARAM_QMARK. */
WP_API wp_status wp_op_set_paramstyle(wp_op *op, wp_paramstyle style, wp_error **err);

/** SQL Server may end the app's transaction by itself: after a deadlock, or an error under XACT_ABORT. Some drivers
 * (Go's) do not tell, and whatever comes next is then committed by itself. After this call each statement fails
 * instead, and changes nothing, where the connection is in no transaction; other engines do not need that, and
 * nothing changes. Before the first wp_op_next(). */
WP_API wp_status wp_op_require_transaction(wp_op *op, wp_error **err);

/** The number of the error that such a statement fails with. */
#define WP_OP_NO_TRANSACTION 50907

/** Go to the next statement, after the rows of the last one were fed.
 * @param more  1: execute wp_op_sql(); 0: the result is ready
 * @return WP_OK; or what the rows mean, such as WP_E_LEASE_LOST. */
WP_API wp_status wp_op_next(int *more, wp_op *op, wp_error **err);

/** The statement to execute. Borrowed until the next wp_op_next(). The same pointer stands for
 * the same text as long as the store is open. */
WP_API const char *wp_op_sql(const wp_op *op);
/** 1 if the statement returns rows to feed. */
WP_API int wp_op_returns_rows(const wp_op *op);
/** How many parameters the statement takes. */
WP_API size_t wp_op_param_count(const wp_op *op);
/** The name of a parameter, without the colon. */
WP_API const char *wp_op_param_name(const wp_op *op, size_t index);
/** The type of a parameter. */
WP_API wp_value_type wp_op_param_type(const wp_op *op, size_t index);
/** The value of a WP_VALUE_INT64 parameter. */
WP_API int64_t wp_op_param_int64(const wp_op *op, size_t index);
/** The bytes of a WP_VALUE_TEXT or WP_VALUE_BYTES parameter; *len gets their number. Borrowed
 * until the next wp_op_next(). */
WP_API const char *wp_op_param_data(size_t *len, const wp_op *op, size_t index);

/** Feed the next column of the current row: NULL. */
WP_API wp_status wp_op_feed_null(wp_op *op, wp_error **err);
/** Feed the next column of the current row: an integer. */
WP_API wp_status wp_op_feed_int64(wp_op *op, int64_t value, wp_error **err);
/** Feed the next column of the current row: text. Copied. */
WP_API wp_status wp_op_feed_text(wp_op *op, const char *data, size_t len, wp_error **err);
/** Feed the next column of the current row: bytes. Copied. */
WP_API wp_status wp_op_feed_bytes(wp_op *op, const void *data, size_t len, wp_error **err);
/** End the current row. @return WP_E_STATE: too few or too many columns. */
WP_API wp_status wp_op_row(wp_op *op, wp_error **err);

/** How many results the finished operation has: messages enqueued, or rows changed. */
WP_API size_t wp_op_result_count(const wp_op *op);
/** The id of result `index` of a finished enqueue.
 * @return WP_OK; WP_E_STATE: not finished; WP_E_RANGE: no such result. */
WP_API wp_status wp_op_result_id(wp_id *out, const wp_op *op, size_t index, wp_error **err);
/** 1 if result `index` is a duplicate: nothing was stored, the id is that of the first. */
WP_API int wp_op_result_duplicate(const wp_op *op, size_t index);
/** The state in which a message was found when it arrived (inbox.h). */
typedef enum wp_inbox_state {
    WP_INBOX_UNKNOWN = 0,    /**< nothing is known: no call has told. It is none to process */
    WP_INBOX_NEW = 1,        /**< it was not known: it is the first time that it arrives */
    WP_INBOX_SEEN = 2,       /**< it had arrived before, and nothing was made of it */
    WP_INBOX_PROCESSING = 3, /**< it is enqueued, or being processed */
    WP_INBOX_DONE = 4,       /**< it was processed */
    WP_INBOX_DEAD = 5        /**< it was given up */
} wp_inbox_state;

/** Result `index` of a finished operation of the inbox: the state in which the message was found;
 * WP_INBOX_UNKNOWN where there is none. */
WP_API wp_inbox_state wp_op_result_found(const wp_op *op, size_t index);
/** 1 if result `index` of an operation of the inbox had another content hash than the one known. */
WP_API int wp_op_result_mismatch(const wp_op *op, size_t index);
/** Free the operation, finished or not. */
WP_API void wp_op_free(WP_OWN wp_op *op);

WP_END_DECLS

#endif
