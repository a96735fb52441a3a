/* SPDX-License-Identifier: Apache-2.0 */
/* The log: levels, key-values, JSON lines on stderr by default, or a queue for a host callback. */
#ifndef WP__LOG_H
#define WP__LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <waypost/config.h>

/* Where records go: JSON lines on stderr, or the host's callback with its queue. Counted by
 * reference; shared by configurations, their copies, and the logs of stores. Thread-safe.
 *
 * The last reference must go on a host thread with no lock held: what still waits is delivered,
 * then `destroy(user)` runs. That is so if stores join their threads before they free the log. */
typedef struct wp__log_sink wp__log_sink;

/* One store's log: a sink, a level and a clock. Counted by reference; thread-safe. */
typedef struct wp__log wp__log;

enum { WP__LOG_OFF = 100 }; /* the level that drops every record */

typedef struct wp__field {
    const char *name;
    enum { WP__FIELD_TEXT, WP__FIELD_INT, WP__FIELD_ID } type;
    const void *ptr; /* text, or const wp_id *; NULL leaves the field out */
    int64_t value;
} wp__field;

#define WP__F_TEXT(n, text) ((wp__field){(n), WP__FIELD_TEXT, (text), 0})
#define WP__F_INT(n, v) ((wp__field){(n), WP__FIELD_INT, NULL, (int64_t)(v)})
#define WP__F_ID(n, id) ((wp__field){(n), WP__FIELD_ID, (id), 0})

/* `fn` NULL: JSON lines to stderr (one write each):
 * {"Time":"2026-11-28T01:02:03.456789Z","Level":"warning","Message":"...","StoreId":"...", ...}
 * `destroy` (may be NULL) runs once, also when this fails. */
wp_status wp__log_sink_new(wp__log_sink **out, wp_log_fn fn, void *user,
                           void (*destroy)(void *user), wp_error **err);
wp__log_sink *wp__log_sink_ref(wp__log_sink *sink); /* NULL stays NULL */
void wp__log_sink_free(wp__log_sink *sink);

/* `level`: records below it are dropped. Takes references of its own; `sink` NULL: stderr. The
 * clock gives the time of JSON lines. */
wp_status wp__log_new(wp__log **out, wp_log_level level, wp__log_sink *sink, wp_clock *clock,
                      wp_error **err);
wp__log *wp__log_ref(wp__log *log);
void wp__log_free(wp__log *log);
bool wp__log_wants(const wp__log *log, wp_log_level level);
/* Write or queue one record. `fields` may repeat names in no case. Never fails: what cannot be
 * allocated or written is counted as dropped. NULL log: nothing. */
void wp__log_write(wp__log *log, wp_log_level level, const char *message, const wp__field *fields,
                   size_t count);
#define WP__LOG(log, level, message, ...)                                                          \
    do {                                                                                           \
        if (wp__log_wants((log), (level))) {                                                       \
            const wp__field wp__fields_[] = {__VA_ARGS__};                                         \
            wp__log_write((log), (level), (message), wp__fields_,                                  \
                          sizeof wp__fields_ / sizeof wp__fields_[0]);                             \
        }                                                                                          \
    } while (0)
/* Deliver queued records to the host's callback, in order; on host threads only, with no lock held:
 * at the end of public calls that may take long, of a worker's run and poll, and of close. No
 * internal thread ever pumps. Safe to call from inside the callback and from several threads: while
 * one delivers, the others return at once. Does nothing where there is no callback; costs one
 * atomic load when the queue is empty. At most 1,024 records wait; when some were dropped, a record
 * "log records dropped" with Count follows. */
void wp__log_pump(wp__log *log);
/* This thread is one of ours: what it calls does not hand out records. */
void wp__log_never_pump(void);

#endif
