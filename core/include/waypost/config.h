/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file config.h
 * Options for stores and workers, as keys and values from one table that also documents itself;
 * and what cannot be written as text: the log callback and the clock.
 */
#ifndef WAYPOST_CONFIG_H
#define WAYPOST_CONFIG_H

#include <waypost/base.h>

WP_BEGIN_DECLS

/** A set of options. Copied by what is opened with it, so it can be freed or changed after. Not
 * thread-safe. */
typedef struct wp_config wp_config;

/** Make a configuration that holds every default. */
WP_API wp_status wp_config_new(wp_config **out, wp_error **err);
/** Make a copy, which can be changed without the first: one set of options, with small differences.
 * A log callback and a clock are shared. */
WP_API wp_status wp_config_copy(wp_config **out, const wp_config *config, wp_error **err);
/** Free it. What was opened with it stays open. */
WP_API void wp_config_free(WP_OWN wp_config *config);

/** Set one option. Keys and ranges: docs/CONFIGURATION.md, or wp_config_describe().
 * @param value  the value as text: `true`, `30000`, `sqlite:app.db`
 * @return WP_OK; WP_E_CONFIG: unknown key or bad value; the message names the key, and the
 *         one that was meant if one is close. */
WP_API wp_status wp_config_set(wp_config *config, const char *key, const char *value,
                               wp_error **err);
/** Read one option as text. *out is the caller's: wp_text_free().
 * @return WP_OK; WP_E_CONFIG: unknown key. */
WP_API wp_status wp_config_get(char **out, const wp_config *config, const char *key,
                               wp_error **err);
/** Set options from a JSON object of keys and scalar values; nested objects join their keys with
 * a dot (`{"worker": {"concurrency": 4}}`). docs/CONFIGURATION.md has further names, of .NET's
 * manner, that are taken here, in variables and by wp_config_set(). All or nothing.
 * @return WP_OK; WP_E_CONFIG: not such an object, unknown key or bad value. */
WP_API wp_status wp_config_load_json(wp_config *config, const char *json, wp_error **err);
/** Set options from environment variables: `WAYPOST_WORKER_LEASE_MS` is `worker.lease_ms`.
 * Variables that start with WAYPOST_TEST_ are left alone. All or nothing.
 * @return WP_OK; WP_E_CONFIG: unknown key or bad value. */
WP_API wp_status wp_config_load_env(wp_config *config, wp_error **err);
/** The whole table of options as Markdown. *out is the caller's: wp_text_free(). */
WP_API wp_status wp_config_describe(char **out, wp_error **err);

/* ---- log ---------------------------------------------------------------------------------- */

/** How much a log record matters. */
typedef enum wp_log_level {
    WP_LOG_DEBUG = 10,
    WP_LOG_INFO = 20,
    WP_LOG_WARNING = 30,
    WP_LOG_ERROR = 40
} wp_log_level;

/** Receives one log record.
 * @param message  a short fixed sentence
 * @param fields   a JSON object of the record's values: StoreId, WorkerId, MessageId, Topic, ...
 * Both are valid during the call only. Never a payload, never a password. */
typedef void (*wp_log_fn)(void *user, wp_log_level level, const char *message, const char *fields);

/** Send the log to a callback instead of JSON lines on the standard error stream.
 *
 * The callback runs on host threads only: records of internal threads wait in a bounded queue
 * (the oldest are dropped and counted) until the host calls into the worker or store.
 * `destroy(user)` runs exactly once, when the last user of the log is gone, also when this call
 * fails. `fn` NULL restores the default. */
WP_API wp_status wp_config_set_log(wp_config *config, wp_log_fn fn, void *user,
                                   void (*destroy)(void *user), wp_error **err);

/* ---- clock -------------------------------------------------------------------------------- */

/** A clock that only moves when told to, for tests. Thread-safe. */
typedef struct wp_clock wp_clock;

/** Make a manual clock.
 * @param utc_us  its first reading, in microseconds UTC since 1970. */
WP_API wp_status wp_clock_new_manual(wp_clock **out, int64_t utc_us, wp_error **err);
/** Move both the wall clock and elapsed time forward; whatever was waiting for that, wakes.
 * @param us  0 or more. */
WP_API wp_status wp_clock_advance_us(wp_clock *clock, int64_t us, wp_error **err);
/** Move the wall clock alone, forward or back, as when an administrator sets it. */
WP_API wp_status wp_clock_jump_us(wp_clock *clock, int64_t us, wp_error **err);
/** The clock's wall time, in microseconds UTC since 1970. */
WP_API int64_t wp_clock_utc_us(const wp_clock *clock);
/** Drop the caller's reference. Stores and workers keep their own. */
WP_API void wp_clock_free(WP_OWN wp_clock *clock);
/** Use a clock in place of the system's. The caller keeps its reference. NULL: the system's. */
WP_API wp_status wp_config_set_clock(wp_config *config, wp_clock *clock, wp_error **err);

WP_END_DECLS

#endif
