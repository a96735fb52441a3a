/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base.h
 * What every other header needs: export macros, status codes, ids, errors, version.
 *
 * Grammar of the whole API: outputs first, `wp_error **err` last and optional. A function that
 * can fail returns ::wp_status; on any status but ::WP_OK its outputs are untouched unless it
 * says otherwise. Text is NUL-terminated UTF-8; payloads are pointer plus length and are UTF-8
 * without NUL too. Whatever an out-pointer gives is the caller's to free; whatever is returned
 * `const` is borrowed from the object it was asked of. Every `_free` accepts NULL.
 */
#ifndef WAYPOST_BASE_H
#define WAYPOST_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define WP_BEGIN_DECLS extern "C" {
#define WP_END_DECLS }
#else
#define WP_BEGIN_DECLS
#define WP_END_DECLS
#endif

#ifndef WP_API
#if defined(_WIN32)
#define WP_API __declspec(dllimport)
#elif defined(__GNUC__)
#define WP_API __attribute__((visibility("default")))
#else
#define WP_API
#endif
#endif

/** Marks an argument that the call consumes, whatever it returns. */
#define WP_OWN

WP_BEGIN_DECLS

/** How a call ended. The values are part of the ABI and never change. */
typedef enum wp_status {
    WP_OK = 0,
    WP_E_ARGUMENT = 1,   /**< An argument is null, empty, malformed or too long. */
    WP_E_RANGE = 2,      /**< A number is outside its stated range. */
    WP_E_STATE = 3,      /**< The call does not fit the object's state: closed, forked, finished. */
    WP_E_NOT_FOUND = 4,  /**< What was asked for does not exist. */
    WP_E_LEASE_LOST = 5, /**< The claim or lease is no longer held; nothing was changed. */
    WP_E_UNAVAILABLE = 6, /**< The database cannot be reached, or stayed busy; try again. */
    WP_E_DB = 7,          /**< Any other database error; see SQLSTATE and native code. */
    WP_E_SCHEMA = 8,      /**< The schema is missing, or older than this library needs. */
    WP_E_CONFIG = 9,      /**< An unknown or bad configuration key or value. */
    WP_E_NOMEM = 10,      /**< Out of memory. */
    WP_E_TIMEOUT = 11,    /**< The given time passed before anything happened. */
    WP_E_STOPPED = 12,    /**< The worker is stopped. */
    WP_E_INTERNAL = 13    /**< A fault of the library itself; please report it. */
} wp_status;

/** What went wrong, owned by the caller: free it with wp_error_free(). Not thread-safe. */
typedef struct wp_error wp_error;

/** The stable name of a status, such as "lease lost". Never NULL. @threads any */
WP_API const char *wp_status_name(wp_status status);

/** The library's version, "major.minor.patch". @threads any */
WP_API const char *wp_version(void);

/* ---- ids ---------------------------------------------------------------------------------- */

/** A 128-bit id, big-endian as in RFC 9562. Generated ones are version 7: they sort by time. */
typedef struct wp_id {
    uint8_t bytes[16];
} wp_id;

/** Make a fresh version 7 id (RFC 9562, section 5.7), strictly rising within the process.
 * NULL gets none. @threads any */
WP_API void wp_id_new(wp_id *out);

/** Write the 36-character lower-case form and a NUL to `out`; no more than the NUL if `id` is NULL.
 * @threads any */
WP_API void wp_id_format(char out[37], const wp_id *id);

/** Read the 36-character form, in either case.
 * @return WP_OK; WP_E_ARGUMENT: not such a text. @threads any */
WP_API wp_status wp_id_parse(wp_id *out, const char *text, wp_error **err);

/* ---- errors ------------------------------------------------------------------------------- */

/** The status that the failing call returned; WP_OK for NULL. */
WP_API wp_status wp_error_code(const wp_error *error);
/** A sentence in English that names the argument or object. Never NULL; no payloads, no secrets. */
WP_API const char *wp_error_message(const wp_error *error);
/** The five-character SQLSTATE, or "" where there is none. */
WP_API const char *wp_error_sqlstate(const wp_error *error);
/** The engine's own code (SQLite: the extended result code), or 0. */
WP_API int64_t wp_error_native_code(const wp_error *error);
/** Not 0 if the same call may well succeed later: busy, deadlock, lost connection. */
WP_API int wp_error_retriable(const wp_error *error);
/** Not 0 if a commit was sent and its outcome is unknown. */
WP_API int wp_error_outcome_unknown(const wp_error *error);
/** Free an error. Accepts NULL. */
WP_API void wp_error_free(WP_OWN wp_error *error);

/** Free text that the library allocated for the caller, such as wp_config_describe()'s. */
WP_API void wp_text_free(WP_OWN char *text);

WP_END_DECLS

#endif
