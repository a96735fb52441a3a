/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/thread.h"

enum {
    QUEUE_MAX = 1024,
    TEXT_MAX = 4096 /* bytes of one text value */
};

typedef struct record {
    struct record *next;
    wp_log_level level;
    const char *fields; /* in `text`, behind the message */
    char text[];
} record;

struct wp__log_sink {
    atomic_int refs;
    wp_log_fn fn; /* NULL: stderr */
    void *user;
    void (*destroy)(void *user);
    _Atomic uint64_t dropped; /* since the last notice of it */
    atomic_bool waiting;      /* something is there to deliver, if only that notice */
    wp__mutex lock;           /* of all below */
    record *first;
    record **end;
    size_t count;
    bool pumping;
};

struct wp__log {
    atomic_int refs;
    wp_log_level level;
    wp__log_sink *sink; /* referenced */
    wp_clock *clock;    /* referenced */
};

/* ---- rendering ---------------------------------------------------------------------------- */

static const char *level_name(wp_log_level level)
{
    return level >= WP_LOG_ERROR     ? "error"
           : level >= WP_LOG_WARNING ? "warning"
           : level >= WP_LOG_INFO    ? "info"
                                     : "debug";
}

/* Add a text that may be bad UTF-8: better some '?' than no record. */
static bool put_text(json_t *object, const char *name, const char *text)
{
    bool failed = false;
    char *clean = wp__text_clean(text, TEXT_MAX, &failed);
    bool ok = clean && json_object_set_new(object, name, json_string(clean)) == 0;
    free(clean);
    return ok;
}

static bool put_field(json_t *object, const wp__field *field)
{
    char id[37];
    if (field->type == WP__FIELD_INT)
        return json_object_set_new(object, field->name, json_integer(field->value)) == 0;
    if (!field->ptr)
        return true;
    if (field->type == WP__FIELD_TEXT)
        return put_text(object, field->name, field->ptr);
    wp_id_format(id, field->ptr);
    return json_object_set_new(object, field->name, json_string(id)) == 0;
}

static int add_to_buf(const char *data, size_t len, void *buf)
{
    wp__buf_add(buf, data, len);
    return 0;
}

/* Append the record as a JSON object, with the time, level and message if `time` is given.
 * Dumped to a buffer of ours: the host may have replaced jansson's allocator, but not free(). */
static bool render(wp__buf *out, const char *time, wp_log_level level, const char *message,
                   const wp__field *fields, size_t count)
{
    json_t *object = json_object();
    bool ok = object != NULL;
    size_t i = 0;
    if (ok && time)
        ok = put_text(object, "Time", time) && put_text(object, "Level", level_name(level)) &&
             put_text(object, "Message", message);
    for (i = 0; ok && i < count; i++)
        ok = put_field(object, &fields[i]);
    ok = ok && json_dump_callback(object, add_to_buf, out, JSON_COMPACT) == 0 && !out->failed;
    json_decref(object);
    return ok;
}

/* ---- stderr ------------------------------------------------------------------------------- */

static bool write_all(const char *data, size_t len)
{
    ssize_t n = 0;
    while (len > 0) {
        n = write(STDERR_FILENO, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

static bool write_line(const wp__log *log, wp_log_level level, const char *message,
                       const wp__field *fields, size_t count)
{
    wp__buf line = {0};
    char time[28];
    bool ok = false;
    wp__clock_format_utc(time, wp_clock_utc_us(log->clock));
    if (render(&line, time, level, message, fields, count)) {
        wp__buf_add(&line, "\n", 1);
        ok = !line.failed && write_all(line.data, line.len);
    }
    wp__buf_free(&line);
    return ok;
}

static void write_stderr(const wp__log *log, wp_log_level level, const char *message,
                         const wp__field *fields, size_t count)
{
    uint64_t dropped = write_line(log, level, message, fields, count)
                           ? atomic_exchange(&log->sink->dropped, 0)
                           : 1;
    wp__field field = WP__F_INT("Count", dropped);
    if (dropped > 0 && !write_line(log, WP_LOG_WARNING, "log records dropped", &field, 1))
        (void)atomic_fetch_add(&log->sink->dropped, dropped);
}

/* ---- the queue ---------------------------------------------------------------------------- */

static record *record_new(wp_log_level level, const char *message, const wp__field *fields,
                          size_t count)
{
    const size_t len = strlen(message) + 1;
    wp__buf json = {0};
    record *made = NULL;
    if (render(&json, NULL, level, message, fields, count)) {
        made = malloc(sizeof *made + len + json.len + 1);
        if (made) {
            made->next = NULL;
            made->level = level;
            made->fields = made->text + len;
            memcpy(made->text, message, len);
            memcpy(made->text + len, json.data, json.len + 1);
        }
    }
    wp__buf_free(&json);
    return made;
}

/* Queue a record, dropping the oldest if there is no room. NULL counts as dropped. */
static void enqueue(wp__log_sink *sink, record *made)
{
    record *old = NULL;
    wp__mutex_lock(&sink->lock);
    if (made) {
        *sink->end = made;
        sink->end = &made->next;
        if (sink->count == QUEUE_MAX) {
            old = sink->first;
            sink->first = old->next;
        } else {
            sink->count++;
        }
    }
    if (!made || old)
        (void)atomic_fetch_add(&sink->dropped, 1);
    atomic_store(&sink->waiting, true);
    wp__mutex_unlock(&sink->lock);
    free(old);
}

static void deliver(const wp__log_sink *sink, record *list, uint64_t dropped)
{
    wp__buf json = {0};
    record *next = NULL;
    for (; list; list = next) {
        next = list->next;
        sink->fn(sink->user, list->level, list->text, list->fields);
        free(list);
    }
    if (dropped > 0) {
        wp__buf_fmt(&json, "{\"Count\":%llu}", (unsigned long long)dropped);
        sink->fn(sink->user, WP_LOG_WARNING, "log records dropped", json.failed ? "{}" : json.data);
        wp__buf_free(&json);
    }
}

/* One round only: a callback that makes records itself must not keep its thread here for ever. */
static void pump(wp__log_sink *sink)
{
    record *list = NULL;
    uint64_t dropped = 0;
    bool busy = false;
    wp__mutex_lock(&sink->lock);
    busy = sink->pumping;
    if (!busy) {
        sink->pumping = true;
        list = sink->first;
        sink->first = NULL;
        sink->end = &sink->first;
        sink->count = 0;
        dropped = atomic_exchange(&sink->dropped, 0);
        atomic_store(&sink->waiting, false);
    }
    wp__mutex_unlock(&sink->lock);
    if (busy)
        return;
    deliver(sink, list, dropped);
    wp__mutex_lock(&sink->lock);
    sink->pumping = false;
    wp__mutex_unlock(&sink->lock);
}

static _Thread_local bool never_pumps;

void wp__log_never_pump(void)
{
    never_pumps = true;
}

void wp__log_pump(wp__log *log)
{
    wp__log_sink *sink = NULL;
    if (!log || never_pumps || !log->sink->fn ||
        !atomic_load_explicit(&log->sink->waiting, memory_order_acquire))
        return;
    sink = wp__log_sink_ref(log->sink); /* the callback may close the store, and free `log` */
    pump(sink);
    wp__log_sink_free(sink);
}

/* ---- sinks and logs ----------------------------------------------------------------------- */

wp_status wp__log_sink_new(wp__log_sink **out, wp_log_fn fn, void *user,
                           void (*destroy)(void *user), wp_error **err)
{
    wp__log_sink *sink = calloc(1, sizeof *sink);
    if (!sink) {
        if (destroy)
            destroy(user);
        return wp__fail_nomem(err);
    }
    atomic_init(&sink->refs, 1);
    sink->fn = fn;
    sink->user = user;
    sink->destroy = destroy;
    sink->end = &sink->first;
    wp__mutex_init(&sink->lock);
    *out = sink;
    return WP_OK;
}

wp__log_sink *wp__log_sink_ref(wp__log_sink *sink)
{
    if (sink)
        (void)atomic_fetch_add_explicit(&sink->refs, 1, memory_order_relaxed);
    return sink;
}

void wp__log_sink_free(wp__log_sink *sink)
{
    record *list = NULL;
    if (!sink || atomic_fetch_sub(&sink->refs, 1) != 1)
        return;
    list = sink->first;
    if (sink->fn)
        deliver(sink, list, atomic_load(&sink->dropped));
    if (sink->destroy)
        sink->destroy(sink->user);
    wp__mutex_destroy(&sink->lock);
    free(sink);
}

wp_status wp__log_new(wp__log **out, wp_log_level level, wp__log_sink *sink, wp_clock *clock,
                      wp_error **err)
{
    wp_status st = WP_OK;
    wp__log *log = calloc(1, sizeof *log);
    if (!log)
        return wp__fail_nomem(err);
    log->sink = wp__log_sink_ref(sink);
    if (!sink && (st = wp__log_sink_new(&log->sink, NULL, NULL, NULL, err)) != WP_OK) {
        free(log);
        return st;
    }
    atomic_init(&log->refs, 1);
    log->level = level;
    log->clock = wp__clock_ref(clock);
    *out = log;
    return WP_OK;
}

wp__log *wp__log_ref(wp__log *log)
{
    if (log)
        (void)atomic_fetch_add_explicit(&log->refs, 1, memory_order_relaxed);
    return log;
}

void wp__log_free(wp__log *log)
{
    if (!log || atomic_fetch_sub(&log->refs, 1) != 1)
        return;
    wp__log_sink_free(log->sink);
    wp_clock_free(log->clock);
    free(log);
}

bool wp__log_wants(const wp__log *log, wp_log_level level)
{
    return log && level >= log->level;
}

void wp__log_write(wp__log *log, wp_log_level level, const char *message, const wp__field *fields,
                   size_t count)
{
    if (!wp__log_wants(log, level))
        return;
    if (log->sink->fn)
        enqueue(log->sink, record_new(level, message, fields, count));
    else
        write_stderr(log, level, message, fields, count);
}
