/* SPDX-License-Identifier: Apache-2.0 */
/* The dashboard's API: lists in pages, and changes by hand, each by the core's own call for it. */
#include "ops/api_calls.h"

#include <stdlib.h>
#include <string.h>
#include <waypost/waypost.h>

#include "base/text.h"
#include "db/store.h"
#include "job/job.h"
#include "message.h"
#include "queue/dead.h"
#include "queue/pause.h"

enum {
    PAGE = 50,
    PAGE_MAX = 100,
    SHOWN_MAX = 262144 /* so many bytes of a payload, or a little less */
};

json_t *wp__api_text(const char *text)
{
    json_t *json;
    if (!text)
        return json_null();
    json = json_string(text);
    return json ? json : json_string("(not readable)");
}

/* ---- what is asked ------------------------------------------------------------------------- */

/* An argument that is a text; NULL: it is not there, or empty. */
static const char *text_of(const wp__api_asked *asked, const char *name)
{
    const char *text = json_string_value(json_object_get(asked->args, name));
    return text && *text ? text : NULL;
}

static wp_status need(const char **out, const wp__api_asked *asked, const char *name,
                      wp_error **err)
{
    *out = text_of(asked, name);
    return *out ? WP_OK : wp__fail(err, WP_E_ARGUMENT, "\"%s\" is missing", name);
}

/* A number, which may stand as a text. */
static wp_status number_of(int64_t *out, const wp__api_asked *asked, const char *name,
                           int64_t otherwise, int64_t min, int64_t max, wp_error **err)
{
    const json_t *value = json_object_get(asked->args, name);
    const char *text = text_of(asked, name);
    char *end = NULL;
    *out = otherwise;
    if (json_is_integer(value))
        *out = json_integer_value(value);
    else if (text)
        *out = strtoll(text, &end, 10);
    else if (value && !json_is_null(value) && !json_is_string(value))
        return wp__fail(err, WP_E_ARGUMENT, "\"%s\" is no number", name);
    if (end && *end)
        return wp__fail(err, WP_E_ARGUMENT, "\"%s\" is no number", name);
    return *out < min || *out > max ? wp__fail(err, WP_E_RANGE, "\"%s\" is out of range", name)
                                    : WP_OK;
}

static wp_status limit_of(int64_t *out, const wp__api_asked *asked, wp_error **err)
{
    return number_of(out, asked, "limit", PAGE, 1, PAGE_MAX, err);
}

/* `otherwise`: where none is named; NULL: it must be. */
static wp_status queue_of(const wp__queue **out, const wp__api_asked *asked,
                          const wp__queue *otherwise, wp_error **err)
{
    const char *word = text_of(asked, "queue");
    *out = word ? wp__queue_of_word(word) : otherwise;
    return *out ? WP_OK
                : wp__fail(err, WP_E_ARGUMENT, "\"queue\" is not outbox, inbox, timers or jobs");
}

/* ---- messages ------------------------------------------------------------------------------ */

static const char *status_name(int status)
{
    static const char *const names[] = {"ready",   "in progress", "done",     "dead",
                                        "blocked", "seen",        "cancelled"};
    return (size_t)status < sizeof names / sizeof names[0] ? names[status] : "?";
}

/* Microseconds; 0 is null. */
static json_t *time_json(int64_t us)
{
    return us ? json_integer(us) : json_null();
}

/* The first bytes of a payload, cut between two characters. */
static json_t *shown(const char *payload, size_t len)
{
    size_t cut = len < SHOWN_MAX ? len : SHOWN_MAX;
    json_t *json;
    while (cut < len && cut > 0 && ((unsigned char)payload[cut] & 0xc0) == 0x80)
        cut--;
    json = json_stringn(payload, cut);
    return json ? json : json_string("(not readable)");
}

static json_t *info_json(const wp_outbox_info *info)
{
    const wp_received *m = wp_outbox_info_message(info);
    char id[37];
    wp_id_format(id, wp_received_id(m));
    return json_pack(
        "{s:s,s:s,s:o,s:s,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:I}", "id", id, "queue",
        wp__queue_word(wp__source_queue(wp_outbox_info_source(info))), "topic",
        wp__api_text(wp_received_topic(m)), "status", status_name((int)wp_outbox_info_status(info)),
        "attempt", (json_int_t)wp_received_attempt(m), "createdUs",
        time_json(wp_received_created_us(m)), "dueUs", time_json(wp_received_due_us(m)),
        "nextAttemptUs", time_json(wp_outbox_info_next_attempt_us(info)), "lockedUntilUs",
        time_json(wp_outbox_info_locked_until_us(info)), "finishedUs",
        time_json(wp_outbox_info_finished_us(info)), "finishedBy",
        wp__api_text(wp_outbox_info_finished_by(info)), "lastError",
        wp__api_text(wp_outbox_info_last_error(info)), "orderingKey",
        wp__api_text(wp_received_ordering_key(m)), "correlationId",
        wp__api_text(wp_received_correlation_id(m)), "payloadBytes",
        (json_int_t)wp_outbox_info_payload_bytes(info));
}

/* A page: its items, and what to ask for the next one with; NULL: it was the last. */
static json_t *page_json(json_t *items, json_t *next)
{
    return json_pack("{s:o,s:o}", "items", items, "next", next ? next : json_null());
}

static wp_status list_unfinished(json_t **out, wp_store *store, const wp__queue *queue,
                                 const wp__api_asked *asked, wp_error **err)
{
    wp_unfinished *page = NULL;
    json_t *items, *next = NULL;
    int64_t limit = 0, after = 0;
    wp_status st;
    if ((st = limit_of(&limit, asked, err)) != WP_OK ||
        (st = number_of(&after, asked, "after", INT64_MIN, INT64_MIN, INT64_MAX, err)) != WP_OK ||
        (st = wp__unfinished_read(&page, store, queue, text_of(asked, "topic"), after, limit,
                                  err)) != WP_OK)
        return st;
    items = json_array();
    for (size_t i = 0; i < wp_unfinished_count(page); i++) {
        const wp_outbox_info *info = wp_unfinished_at(page, i);
        (void)json_array_append_new(items, info_json(info));
        if (i + 1 == (size_t)limit)
            next = json_sprintf("%lld", (long long)wp_outbox_info_message(info)->seq);
    }
    wp_unfinished_free(page);
    *out = page_json(items, next);
    return WP_OK;
}

wp_status wp__api_unfinished(json_t **out, wp_store *store, const wp__api_asked *asked,
                             wp_error **err)
{
    const wp__queue *queue = NULL;
    wp_status st = queue_of(&queue, asked, &wp__outbox, err);
    return st == WP_OK ? list_unfinished(out, store, queue, asked, err) : st;
}

wp_status wp__api_timers(json_t **out, wp_store *store, const wp__api_asked *asked, wp_error **err)
{
    return list_unfinished(out, store, &wp__timer, asked, err);
}

static wp_status id_of(wp_id *out, const wp__api_asked *asked, wp_error **err)
{
    const char *text = NULL;
    wp_status st = need(&text, asked, "id", err);
    return st == WP_OK ? wp_id_parse(out, text, err) : st;
}

wp_status wp__api_message(json_t **out, wp_store *store, const wp__api_asked *asked, wp_error **err)
{
    const wp__queue *queue = NULL;
    wp_outbox_info *info = NULL;
    const char *payload;
    size_t len = 0;
    wp_id id;
    wp_status st;
    if ((st = queue_of(&queue, asked, NULL, err)) != WP_OK ||
        (st = id_of(&id, asked, err)) != WP_OK ||
        (st = wp__queue_get(&info, store, queue, &id, err)) != WP_OK)
        return st;
    payload = wp_received_payload(&len, wp_outbox_info_message(info));
    *out = info_json(info);
    (void)json_object_set_new(*out, "hidden", json_boolean(!asked->payloads));
    if (asked->payloads) {
        (void)json_object_set_new(*out, "payload", shown(payload, len));
        (void)json_object_set_new(*out, "cut", json_boolean(len > SHOWN_MAX));
        (void)json_object_set_new(*out, "headers",
                                  wp__api_text(wp_received_headers(wp_outbox_info_message(info))));
    }
    wp_outbox_info_free(info);
    return WP_OK;
}

/* ---- jobs ---------------------------------------------------------------------------------- */

static const char *run_status(wp_run_status status)
{
    static const char *const names[] = {"pending", "running",   "succeeded", "failed",
                                        "?",       "timed out", "cancelled", "skipped"};
    return status == WP_RUN_NONE                             ? NULL
           : (size_t)status < sizeof names / sizeof names[0] ? names[status]
                                                             : "?";
}

wp_status wp__api_jobs(json_t **out, wp_store *store, const wp__api_asked *asked, wp_error **err)
{
    wp_jobs *page = NULL;
    json_t *items, *next = NULL;
    int64_t limit = 0;
    wp_status st;
    if ((st = limit_of(&limit, asked, err)) != WP_OK ||
        (st = wp_job_list_brief(&page, store, text_of(asked, "after"), limit, err)) != WP_OK)
        return st;
    items = json_array();
    for (size_t i = 0; i < wp_jobs_count(page); i++) {
        const wp_job_info *job = wp_jobs_at(page, i);
        (void)json_array_append_new(
            items,
            json_pack("{s:o,s:o,s:o,s:o,s:o,s:b,s:o,s:o,s:o,s:I,s:s?}", "name",
                      wp__api_text(wp_job_info_name(job)), "topic",
                      wp__api_text(wp_job_info_topic(job)), "expression",
                      wp__api_text(wp_job_info_expression(job)), "zone",
                      wp__api_text(wp_job_info_zone(job)), "registrar",
                      wp__api_text(wp_job_info_registrar(job)), "enabled", wp_job_info_enabled(job),
                      "nextDueUs", time_json(wp_job_info_next_due_us(job)), "lastDueUs",
                      time_json(wp_job_info_last_due_us(job)), "lastStartedUs",
                      time_json(wp_job_info_last_started_us(job)), "lastDurationUs",
                      (json_int_t)wp_job_info_last_duration_us(job), "lastStatus",
                      run_status(wp_job_info_last_status(job))));
        if (i + 1 == (size_t)limit)
            next = wp__api_text(wp_job_info_name(job));
    }
    wp_jobs_free(page);
    *out = page_json(items, next);
    return WP_OK;
}

wp_status wp__api_runs(json_t **out, wp_store *store, const wp__api_asked *asked, wp_error **err)
{
    wp_job_runs *page = NULL;
    json_t *items, *next = NULL;
    const char *name = text_of(asked, "job");
    int64_t limit = 0, before = 0;
    wp_status st;
    if ((st = limit_of(&limit, asked, err)) != WP_OK ||
        (st = number_of(&before, asked, "before", INT64_MAX, INT64_MIN, INT64_MAX, err)) != WP_OK ||
        (name && (st = wp__check_text(NULL, "job", name, WP_NAME_MAX, true, err)) != WP_OK) ||
        (st = wp__job_run_list(&page, store, name, before, limit, err)) != WP_OK)
        return st;
    items = json_array();
    for (size_t i = 0; i < wp_job_runs_count(page); i++) {
        const wp_job_run *run = wp_job_runs_at(page, i);
        char id[37];
        wp_id_format(id, wp_job_run_id(run));
        (void)json_array_append_new(
            items,
            json_pack("{s:s,s:o,s:s?,s:o,s:b,s:o,s:o,s:I,s:o,s:o}", "id", id, "job",
                      wp__api_text(wp_job_run_name(run)), "status",
                      run_status(wp_job_run_status(run)), "dueUs",
                      time_json(wp_job_run_due_us(run)), "scheduled", wp_job_run_is_scheduled(run),
                      "startedUs", time_json(wp_job_run_started_us(run)), "endedUs",
                      time_json(wp_job_run_ended_us(run)), "attempt",
                      (json_int_t)wp_job_run_attempt(run), "output",
                      asked->payloads ? wp__api_text(wp_job_run_output(run)) : json_null(), "error",
                      wp__api_text(wp_job_run_error(run))));
        if (i + 1 == (size_t)limit)
            next = json_sprintf("%lld", (long long)wp__job_run_number(run));
    }
    wp_job_runs_free(page);
    *out = page_json(items, next);
    return WP_OK;
}

/* ---- leases -------------------------------------------------------------------------------- */

wp_status wp__api_leases(json_t **out, wp_store *store, const wp__api_asked *asked, wp_error **err)
{
    const char *kind = text_of(asked, "kind");
    const bool shared = kind && strcmp(kind, "semaphores") == 0;
    wp_leases *page = NULL;
    json_t *items, *next = NULL;
    int64_t limit = 0;
    wp_status st;
    if ((st = limit_of(&limit, asked, err)) != WP_OK ||
        (st = wp_lease_list(&page, store, shared ? WP_LEASE_SHARED : WP_LEASE_EXCLUSIVE,
                            text_of(asked, "after"), limit, err)) != WP_OK)
        return st;
    items = json_array();
    for (size_t i = 0; i < wp_leases_count(page); i++) {
        (void)json_array_append_new(
            items, json_pack("{s:o,s:o,s:o,s:I,s:I}", "name", wp__api_text(wp_leases_name(page, i)),
                             "owner", wp__api_text(wp_leases_owner(page, i)), "untilUs",
                             time_json(wp_leases_until_us(page, i)), "limit",
                             (json_int_t)wp_leases_limit(page, i), "holders",
                             (json_int_t)wp_leases_holders(page, i)));
        if (i + 1 == (size_t)limit)
            next = wp__api_text(wp_leases_name(page, i));
    }
    wp_leases_free(page);
    *out = page_json(items, next);
    return WP_OK;
}

/* ---- dead letters -------------------------------------------------------------------------- */

static wp_status source_of(wp_source *out, const wp__api_asked *asked, wp_error **err)
{
    const wp__queue *queue = NULL;
    wp_status st = WP_OK;
    *out = WP_SOURCE_ALL;
    if (text_of(asked, "queue") && (st = queue_of(&queue, asked, NULL, err)) == WP_OK)
        *out = wp__queue_source(queue);
    return st;
}

/* The argument `ids`: an array of texts. */
static wp_status set_ids(wp_dead_filter *filter, const json_t *ids, wp_error **err)
{
    const size_t count = json_array_size(ids);
    wp_id *parsed;
    wp_status st = WP_OK;
    if (!json_is_array(ids) || count == 0 || count > PAGE_MAX)
        return wp__fail(err, WP_E_ARGUMENT, "\"ids\" is no array of 1 to %d ids", PAGE_MAX);
    if (!(parsed = calloc(count, sizeof *parsed)))
        return wp__fail_nomem(err);
    for (size_t i = 0; i < count && st == WP_OK; i++)
        st = wp_id_parse(&parsed[i], json_string_value(json_array_get(ids, i)), err);
    if (st == WP_OK)
        st = wp_dead_filter_set_ids(filter, parsed, count, err);
    free(parsed);
    return st;
}

static wp_status filter_of(wp_dead_filter **out, const wp__api_asked *asked, wp_error **err)
{
    const json_t *ids = json_object_get(asked->args, "ids");
    wp_dead_filter *filter = NULL;
    wp_status st = wp_dead_filter_new(&filter, err);
    if (st == WP_OK)
        st = wp_dead_filter_set_topic(filter, text_of(asked, "topic"), err);
    if (st == WP_OK)
        st = wp_dead_filter_set_reason(filter, text_of(asked, "reason"), err);
    if (st == WP_OK && ids)
        st = set_ids(filter, ids, err);
    if (st == WP_OK)
        *out = filter;
    else
        wp_dead_filter_free(filter);
    return st;
}

wp_status wp__api_dead(json_t **out, wp_store *store, const wp__api_asked *asked, wp_error **err)
{
    const char *after = text_of(asked, "after");
    wp_dead_filter *filter = NULL;
    wp_dead_list *before = NULL, *page = NULL;
    wp__buf place = {0};
    wp_source source;
    int64_t limit = 0;
    wp_status st;
    if ((st = limit_of(&limit, asked, err)) != WP_OK ||
        (st = source_of(&source, asked, err)) != WP_OK ||
        (st = filter_of(&filter, asked, err)) != WP_OK)
        return st;
    if (after)
        st = wp__dead_list_at_place(&before, after, err);
    if (st == WP_OK)
        st = wp_dead_list_read_brief(&page, store, source, filter, before, limit, err);
    if (st == WP_OK) {
        json_t *items = json_array();
        for (size_t i = 0; i < wp_dead_list_count(page); i++)
            (void)json_array_append_new(items, info_json(wp_dead_list_at(page, i)));
        if (wp_dead_list_count(page) == (size_t)limit)
            wp__dead_list_write_place(&place, page);
        *out = page_json(items, place.len && !place.failed ? json_string(place.data) : NULL);
    }
    wp__buf_free(&place);
    wp_dead_list_free(page);
    wp_dead_list_free(before);
    wp_dead_filter_free(filter);
    return st;
}

/* Those of `ids`, or, with "all": true, all that the filter lets through, up to `limit`. */
static wp_status change_dead(json_t **out, wp_store *store, const wp__api_asked *asked,
                             bool discards, wp_error **err)
{
    wp_dead_filter *filter = NULL;
    const char *by = NULL;
    size_t changed = 0;
    int64_t limit = 0, rate = 0;
    wp_source source;
    wp_status st;
    if (!json_object_get(asked->args, "ids") && !json_is_true(json_object_get(asked->args, "all")))
        return wp__fail(err, WP_E_ARGUMENT, "say which: \"ids\", or \"all\"");
    if ((st = number_of(&limit, asked, "limit", 1000, 1, 100000, err)) != WP_OK ||
        (st = number_of(&rate, asked, "rate", 0, 0, 1000000, err)) != WP_OK ||
        (st = need(&by, asked, "by", err)) != WP_OK ||
        (st = source_of(&source, asked, err)) != WP_OK ||
        (st = filter_of(&filter, asked, err)) != WP_OK)
        return st;
    st = discards ? wp_dead_purge_by(&changed, store, source, filter, limit, by, err)
                  : wp_dead_replay(&changed, store, source, filter, limit, rate, by, err);
    wp_dead_filter_free(filter);
    if (st == WP_OK)
        *out = json_pack("{s:I}", "changed", (json_int_t)changed);
    return st;
}

wp_status wp__api_dead_replay(json_t **out, wp_store *store, const wp__api_asked *asked,
                              wp_error **err)
{
    return change_dead(out, store, asked, false, err);
}

wp_status wp__api_dead_discard(json_t **out, wp_store *store, const wp__api_asked *asked,
                               wp_error **err)
{
    return change_dead(out, store, asked, true, err);
}

wp_status wp__api_dead_edit(json_t **out, wp_store *store, const wp__api_asked *asked,
                            wp_error **err)
{
    const json_t *payload = json_object_get(asked->args, "payload");
    const wp__queue *queue = NULL;
    const char *by = NULL;
    int edited = 0;
    wp_id id;
    wp_status st;
    if (!json_is_string(payload))
        return wp__fail(err, WP_E_ARGUMENT, "\"payload\" is no text");
    if ((st = queue_of(&queue, asked, NULL, err)) != WP_OK ||
        (st = id_of(&id, asked, err)) != WP_OK || (st = need(&by, asked, "by", err)) != WP_OK ||
        (st = wp_dead_edit(&edited, store, wp__queue_source(queue), &id, json_string_value(payload),
                           json_string_length(payload), by, err)) != WP_OK)
        return st;
    *out = json_pack("{s:i}", "changed", edited);
    return WP_OK;
}

/* ---- pauses, and the audit ----------------------------------------------------------------- */

wp_status wp__api_paused(json_t **out, wp_store *store, const wp__api_asked *asked, wp_error **err)
{
    wp_pauses *pauses = NULL;
    json_t *items;
    wp_status st = wp_pauses_read(&pauses, store, err);
    (void)asked;
    if (st != WP_OK)
        return st;
    items = json_array();
    for (size_t i = 0; i < wp_pauses_count(pauses); i++)
        (void)json_array_append_new(
            items, json_pack("{s:s,s:o,s:o,s:o}", "queue",
                             wp__queue_word(wp__source_queue(wp_pauses_source(pauses, i))), "topic",
                             wp__api_text(wp_pauses_topic(pauses, i)), "sinceUs",
                             time_json(wp_pauses_since_us(pauses, i)), "by",
                             wp__api_text(wp_pauses_by(pauses, i))));
    wp_pauses_free(pauses);
    *out = page_json(items, NULL);
    return WP_OK;
}

wp_status wp__api_audit(json_t **out, wp_store *store, const wp__api_asked *asked, wp_error **err)
{
    wp_audit *page = NULL;
    json_t *items, *next = NULL;
    int64_t limit = 0, before = 0;
    wp_status st;
    if ((st = limit_of(&limit, asked, err)) != WP_OK ||
        (st = number_of(&before, asked, "before", 0, 0, INT64_MAX, err)) != WP_OK ||
        (st = wp_audit_read(&page, store, before, limit, err)) != WP_OK)
        return st;
    items = json_array();
    for (size_t i = 0; i < wp_audit_count(page); i++) {
        const wp__queue *queue = wp__source_queue(wp_audit_source(page, i));
        (void)json_array_append_new(items,
                                    json_pack("{s:I,s:o,s:o,s:o,s:s?,s:o,s:o}", "number",
                                              (json_int_t)wp_audit_number(page, i), "atUs",
                                              time_json(wp_audit_at_us(page, i)), "by",
                                              wp__api_text(wp_audit_actor(page, i)), "action",
                                              wp__api_text(wp_audit_action(page, i)), "queue",
                                              queue ? wp__queue_word(queue) : NULL, "subject",
                                              wp__api_text(wp_audit_subject(page, i)), "detail",
                                              wp__api_text(wp_audit_detail(page, i))));
        if (i + 1 == (size_t)limit)
            next = json_sprintf("%lld", (long long)wp_audit_number(page, i));
    }
    wp_audit_free(page);
    *out = page_json(items, next);
    return WP_OK;
}

static wp_status change_topic(json_t **out, wp_store *store, const wp__api_asked *asked,
                              bool resumes, wp_error **err)
{
    const wp__queue *queue = NULL;
    const char *topic = NULL, *by = NULL;
    int changed = 0;
    wp_status st;
    if ((st = queue_of(&queue, asked, NULL, err)) != WP_OK ||
        (st = need(&topic, asked, "topic", err)) != WP_OK ||
        (st = need(&by, asked, "by", err)) != WP_OK)
        return st;
    st = (resumes ? wp_topic_resume : wp_topic_pause)(&changed, store, NULL,
                                                      wp__queue_source(queue), topic, by, err);
    if (st == WP_OK)
        *out = json_pack("{s:i}", "changed", changed);
    return st;
}

wp_status wp__api_topic_pause(json_t **out, wp_store *store, const wp__api_asked *asked,
                              wp_error **err)
{
    return change_topic(out, store, asked, false, err);
}

wp_status wp__api_topic_resume(json_t **out, wp_store *store, const wp__api_asked *asked,
                               wp_error **err)
{
    return change_topic(out, store, asked, true, err);
}

static wp_status enable_job(json_t **out, wp_store *store, const wp__api_asked *asked, int enabled,
                            wp_error **err)
{
    const char *name = NULL, *by = NULL;
    wp_status st;
    if ((st = need(&name, asked, "job", err)) != WP_OK ||
        (st = need(&by, asked, "by", err)) != WP_OK ||
        (st = wp_job_set_enabled_by(store, name, enabled, by, err)) != WP_OK)
        return st;
    *out = json_pack("{s:i}", "changed", 1);
    return WP_OK;
}

wp_status wp__api_job_pause(json_t **out, wp_store *store, const wp__api_asked *asked,
                            wp_error **err)
{
    return enable_job(out, store, asked, 0, err);
}

wp_status wp__api_job_resume(json_t **out, wp_store *store, const wp__api_asked *asked,
                             wp_error **err)
{
    return enable_job(out, store, asked, 1, err);
}

wp_status wp__api_job_trigger(json_t **out, wp_store *store, const wp__api_asked *asked,
                              wp_error **err)
{
    const char *name = NULL, *by = NULL;
    char text[37];
    wp_id run;
    wp_status st;
    if ((st = need(&name, asked, "job", err)) != WP_OK ||
        (st = need(&by, asked, "by", err)) != WP_OK ||
        (st = wp_job_trigger_by(&run, store, name, by, err)) != WP_OK)
        return st;
    wp_id_format(text, &run);
    *out = json_pack("{s:s}", "run", text);
    return WP_OK;
}
