/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of jobs begin when they are claimed: in the claim's transaction this is noted in their
 * history, and what their jobs say of attempts and timeouts is read. Those whose job was deleted, and
 * those whose last holder was asked to end them and died, end here. */
#include <stdlib.h>

#include "base/text.h"
#include "job/job.h"
#include "queue/queue.h"

enum { NOTHING, STARTING, LIMITING, ENDING, STARTED /* all that is to be said is said */ };

static wp_status use_start(wp__claim_op *claim, wp_error **err)
{
    wp__buf *json = &claim->starts.json;
    wp__buf_clear(json);
    for (size_t i = 0; i < claim->count; i++) {
        wp__buf_text(json, i ? "," : "[");
        wp__buf_int(json, claim->received[i]->seq);
    }
    wp__buf_text(json, "]");
    if (json->failed)
        return wp__fail_nomem(err);
    wp__op_set_textn(&claim->base, WP__P_SEQS, json->data, json->len);
    wp__op_set_now(&claim->base);
    wp__op_use(&claim->base, WP__SQL_JOB_RUN_START, 4);
    return WP_OK;
}

/* The next one with a limit of attempts of its own: whoever reaps it must know. */
static bool use_limit(wp__claim_op *claim)
{
    wp__starts *s = &claim->starts;
    for (; s->at < claim->count; s->at++) {
        const wp_received *m = claim->received[s->at];
        if (!m->run || !m->run->max_attempts)
            continue;
        s->at++;
        wp__op_set_int(&claim->base, WP__P_NUMBER, m->seq);
        wp__op_set_int(&claim->base, WP__P_MAX_ATTEMPTS, m->run->max_attempts);
        wp__op_use(&claim->base, WP__SQL_JOB_RUN_LIMIT, 0);
        return true;
    }
    return false;
}

wp_status wp__claim_use_end(wp__claim_op *claim, wp__buf *json, const wp__refs *refs,
                            wp_message_status status, const char *reason, wp_error **err)
{
    wp_op *op = &claim->base;
    wp__buf_clear(json);
    wp__refs_json(json, refs, 0, refs->count, op->engine);
    wp__op_set_textn(op, WP__P_CLAIMS, json->data, json->len);
    wp__op_set_id(op, WP__P_OWNER, &claim->owner);
    wp__op_set_now(op);
    wp__op_set_int(op, WP__P_STATUS, status);
    wp__op_set_int(op, WP__P_ATTEMPTS, status == WP_MESSAGE_FAILED);
    wp__op_set_text(op, WP__P_WORKER, NULL);
    wp__op_set_text(op, WP__P_REASON, reason);
    wp__op_use_queue(op, WP__QUEUE_FINISH, 3);
    return json->failed ? wp__fail_nomem(err) : WP_OK;
}

/* Take those out that are not to be run for one reason, and end them. */
static wp_status use_end(wp__claim_op *claim, wp__run_end end, bool *used, wp_error **err)
{
    wp__refs refs = {0};
    wp__buf *json = &claim->starts.json;
    size_t kept = 0;
    wp_status st = WP_OK;
    for (size_t i = 0; i < claim->count; i++) {
        wp_received *m = claim->received[i];
        if (!m->run || m->run->end != end || st != WP_OK) {
            claim->received[kept++] = m;
            continue;
        }
        st = wp__refs_add(&refs, m->seq, m->claim_number, 0, err);
        wp__received_free(m);
    }
    claim->count = kept;
    *used = st == WP_OK && refs.count > 0;
    if (*used)
        st = wp__claim_use_end(claim, json, &refs, WP_MESSAGE_CANCELLED,
                               end == WP__RUN_ASKED ? "cancelled" : "the job was deleted", err);
    wp__refs_free(&refs);
    return st;
}

wp_status wp__starts_next(wp__claim_op *claim, wp_error **err)
{
    wp__starts *s = &claim->starts;
    bool used = false;
    wp_status st = WP_OK;
    if (!claim->base.queue->runs || s->phase == STARTED)
        return WP_OK;
    if (s->phase == NOTHING && claim->count) {
        s->phase = STARTING;
        return use_start(claim, err);
    }
    if (s->phase == STARTING)
        s->phase = LIMITING;
    if (s->phase == LIMITING && use_limit(claim))
        return WP_OK;
    for (; s->phase < STARTED && st == WP_OK && !used; s->phase++)
        st = use_end(claim, s->phase == LIMITING ? WP__RUN_GONE : WP__RUN_ASKED, &used, err);
    return st;
}

static wp_status set_run(wp_received *m, const wp__value *columns, wp_error **err)
{
    wp__job_options options;
    int64_t end = 0;
    wp_status st = wp__column_int(&end, &columns[3], err);
    if (st != WP_OK)
        return st;
    if (!m->run && !(m->run = calloc(1, sizeof *m->run)))
        return wp__fail_nomem(err);
    free(m->run->job);
    m->run->job = wp__text_ndup(columns[1].type == WP_VALUE_TEXT ? columns[1].p : "",
                                columns[1].type == WP_VALUE_TEXT ? columns[1].len : 0);
    if (!m->run->job)
        return wp__fail_nomem(err);
    wp__job_options_read(&options, columns[2].type == WP_VALUE_TEXT ? columns[2].p : NULL,
                         columns[2].len);
    m->run->timeout_ms = options.timeout_ms;
    m->run->max_attempts = options.max_attempts;
    m->run->backoff_base_ms = options.backoff_base_ms;
    m->run->backoff_max_ms = options.backoff_max_ms;
    m->run->end = (wp__run_end)end;
    return WP_OK;
}

bool wp__starts_is_at(const wp__claim_op *claim)
{
    return claim->starts.phase != NOTHING;
}

wp_status wp__starts_row(wp__claim_op *claim, const wp__value *columns, wp_error **err)
{
    int64_t seq = 0;
    wp_status st;
    if (claim->starts.phase != STARTING)
        return WP_OK;
    if ((st = wp__column_int(&seq, &columns[0], err)) != WP_OK)
        return st;
    for (size_t i = 0; i < claim->count; i++)
        if (claim->received[i]->seq == seq)
            return set_run(claim->received[i], columns, err);
    return wp__fail(err, WP_E_INTERNAL, "a run was started that was not claimed");
}
