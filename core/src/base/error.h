/* SPDX-License-Identifier: Apache-2.0 */
/* Making and passing wp_error. `err` may be NULL everywhere; on failure it is set, never leaked:
 * where *err is set already, the old error is freed first. */
#ifndef WP__ERROR_H
#define WP__ERROR_H

#include <stdbool.h>
#include <waypost/base.h>

#if defined(__GNUC__)
#define WP__PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define WP__VPRINTF(fmt) __attribute__((format(printf, fmt, 0)))
#else
#define WP__PRINTF(fmt, args)
#define WP__VPRINTF(fmt)
#endif

/* Set *err and return `code`, so that `return wp__fail(err, ...)` reads well. */
wp_status wp__fail(wp_error **err, wp_status code, const char *fmt, ...) WP__PRINTF(3, 4);

/* The same for an error from a database. `sqlstate` may be NULL. WP_E_UNAVAILABLE is retriable;
 * other codes are when `retriable` says so. */
wp_status wp__fail_db(wp_error **err, wp_status code, const char *sqlstate, int64_t native_code,
                      bool retriable, const char *fmt, ...) WP__PRINTF(6, 7);

/* Out of memory: sets a static error that wp_error_free() leaves alone. Returns WP_E_NOMEM. */
wp_status wp__fail_nomem(wp_error **err);

/* Put "context: " before the message of *err, if there is one. Code and details stay. */
void wp__error_context(wp_error **err, const char *fmt, ...) WP__PRINTF(2, 3);

/* Mark *err: a commit was sent and its outcome is unknown. */
void wp__error_set_outcome_unknown(wp_error **err);

/* Hand an error on: *to gets `from` (NULL allowed), or `from` is freed if `to` is NULL. */
void wp__error_move(wp_error **to, wp_error *from);

/* What the analyzer cannot see across files: these never return WP_OK. */
#if defined(__clang_analyzer__) && !defined(WP__ERROR_IMPLEMENTATION)
#define wp__fail(err, code, ...) (wp__fail((err), (code), __VA_ARGS__), (code))
#define wp__fail_db(err, code, ...) (wp__fail_db((err), (code), __VA_ARGS__), (code))
#define wp__fail_nomem(err) (wp__fail_nomem(err), WP_E_NOMEM)
#endif

#endif
