/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the topic join.wait that were claimed: those whose join is over stay in the claim, those that
 * name none are failed, and the others go back in the claim's transaction, as they were, until the join is
 * over (a trigger sees to that) or some time has passed. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "db/store.h"
#include "join/join.h"
#include "message.h"

enum { NOTHING, LOOKING, LOOKED, NOTED, HELD, ENDED };

enum {
    RECHECK_US = 30000000, /* nobody needs it, as a rule */
    SOON_US = 100000       /* the join is being changed just now */
};

typedef struct wp__wait {
    wp_received *message; /* NULL: it is not in the claim any more */
    bool named;           /* its payload names a join */
    int64_t join;         /* the number of that; 0: there is none */
    bool over;
} wp__wait;

static const char reason[] =
    "join.wait: the payload's \"join\" is not the id of a join, or that was deleted";

bool wp__join_named(wp_id *out, const char *payload, size_t len)
{
    json_t *object = json_loadb(payload, len, JSON_REJECT_DUPLICATES, NULL);
    const char *text = json_string_value(json_object_get(object, "join"));
    const bool named = text && wp_id_parse(out, text, NULL) == WP_OK;
    json_decref(object);
    return named;
}

static wp_status collect(wp__claim_op *claim, wp_error **err)
{
    wp__waits *w = &claim->waits;
    size_t count = 0;
    for (size_t i = 0; i < claim->count; i++)
        count += strcmp(claim->received[i]->topic, WP_JOIN_WAIT_TOPIC) == 0;
    if (!count)
        return WP_OK;
    w->items = calloc(count, sizeof *w->items);
    w->ids = calloc(count, sizeof *w->ids);
    w->failed = calloc(count, sizeof(wp_received *));
    if (!w->items || !w->ids || !w->failed)
        return wp__fail_nomem(err);
    for (size_t i = 0; i < claim->count; i++) {
        wp_received *m = claim->received[i];
        if (strcmp(m->topic, WP_JOIN_WAIT_TOPIC) == 0) {
            w->items[w->count].message = m;
            w->items[w->count].named =
                wp__join_named(&w->ids[w->count], m->payload, m->payload_len);
            w->count++;
        }
    }
    return WP_OK;
}

/* Take a message out of the claim; it is the caller's then. */
static wp_received *take_out(wp__claim_op *claim, wp__wait *wait)
{
    wp_received *m = wait->message;
    size_t kept = 0;
    for (size_t i = 0; i < claim->count; i++)
        if (claim->received[i] != m)
            claim->received[kept++] = claim->received[i];
    claim->count = kept;
    wait->message = NULL;
    return m;
}

/* Fail those that wait for nothing. */
static wp_status use_fail(wp__claim_op *claim, bool *used, wp_error **err)
{
    wp__waits *w = &claim->waits;
    wp__refs refs = {0};
    wp_status st = WP_OK;
    for (size_t i = 0; i < w->count && st == WP_OK; i++) {
        wp__wait *wait = &w->items[i];
        if (wait->join)
            continue;
        st = wp__refs_add(&refs, wait->message->seq, wait->message->claim_number, 0, err);
        w->failed[w->failed_count++] = take_out(claim, wait);
    }
    *used = st == WP_OK && refs.count > 0;
    if (*used)
        st = wp__claim_use_end(claim, &w->json, &refs, WP_MESSAGE_FAILED, reason, err);
    wp__refs_free(&refs);
    return st;
}

/* Those that have to wait, as [join, message, claim number]. */
static bool write_waiting(wp__waits *w)
{
    bool any = false;
    wp__buf_clear(&w->json);
    for (size_t i = 0; i < w->count; i++) {
        const wp__wait *wait = &w->items[i];
        if (!wait->message || wait->over)
            continue;
        wp__buf_fmt(&w->json, "%s[%lld,%lld,%lld]", any ? "," : "[", (long long)wait->join,
                    (long long)wait->message->seq, (long long)wait->message->claim_number);
        any = true;
    }
    wp__buf_text(&w->json, "]");
    return any;
}

static wp_status use_note(wp__claim_op *claim, bool *used, wp_error **err)
{
    wp__waits *w = &claim->waits;
    *used = write_waiting(w) && wp__op_has(&claim->base, WP__SQL_JOIN_WAIT_NOTE);
    wp__op_set_textn(&claim->base, WP__P_MESSAGES, w->json.data, w->json.len);
    if (*used)
        wp__op_use(&claim->base, WP__SQL_JOIN_WAIT_NOTE, 0);
    return w->json.failed ? wp__fail_nomem(err) : WP_OK;
}

static wp_status use_hold(wp__claim_op *claim, bool *used, wp_error **err)
{
    wp__waits *w = &claim->waits;
    wp_op *op = &claim->base;
    *used = write_waiting(w);
    if (!*used)
        return WP_OK;
    for (size_t i = 0; i < w->count; i++)
        if (w->items[i].message && !w->items[i].over)
            wp__received_free(take_out(claim, &w->items[i]));
    wp__op_set_textn(op, WP__P_MESSAGES, w->json.data, w->json.len);
    wp__op_set_id(op, WP__P_OWNER, &claim->owner);
    wp__op_set_now(op);
    wp__op_set_int(op, WP__P_DELAY, RECHECK_US);
    wp__op_set_int(op, WP__P_LEASE, SOON_US);
    wp__op_use(op, WP__SQL_JOIN_WAIT_HOLD, 1);
    return w->json.failed ? wp__fail_nomem(err) : WP_OK;
}

wp_status wp__waits_next(wp__claim_op *claim, wp_error **err)
{
    wp__waits *w = &claim->waits;
    bool used = false;
    wp_status st = WP_OK;
    if (w->step == NOTHING) {
        w->step = ENDED;
        if ((st = collect(claim, err)) != WP_OK || !w->count)
            return st;
        w->step = LOOKING;
        wp__op_use(&claim->base, WP__SQL_JOIN_FIND, 3);
        return wp__op_set_ids(&claim->base, &w->json, w->ids, w->count, err);
    }
    while (w->step < ENDED && st == WP_OK && !used) {
        w->step++;
        if (w->step == LOOKED)
            st = use_fail(claim, &used, err);
        else if (w->step == NOTED)
            st = use_note(claim, &used, err);
        else if (w->step == HELD)
            st = use_hold(claim, &used, err);
    }
    return st;
}

bool wp__waits_is_at(const wp__claim_op *claim)
{
    return claim->waits.step != NOTHING;
}

wp_status wp__waits_row(wp__claim_op *claim, const wp__value *columns, wp_error **err)
{
    wp__waits *w = &claim->waits;
    int64_t n[3] = {0};
    wp_status st = WP_OK;
    for (size_t i = 0; w->step == LOOKING && i < 3 && st == WP_OK; i++)
        st = wp__column_int(&n[i], &columns[i], err);
    if (w->step != LOOKING || st != WP_OK)
        return st;
    if (n[0] < 0 || (size_t)n[0] >= w->count)
        return wp__fail(err, WP_E_INTERNAL, "a join was found that was not asked for");
    if (w->items[n[0]].named) {
        w->items[n[0]].join = n[1];
        w->items[n[0]].over = n[2] != WP_JOIN_OPEN;
    }
    return WP_OK;
}

void wp__waits_rewind(wp__waits *waits)
{
    for (size_t i = 0; i < waits->failed_count; i++)
        wp__received_free(waits->failed[i]);
    free(waits->failed);
    free(waits->items);
    free(waits->ids);
    *waits = (wp__waits){.json = waits->json};
}

void wp__waits_fini(wp__waits *waits)
{
    wp__waits_rewind(waits);
    wp__buf_free(&waits->json);
}

void wp__waits_tell(const wp__claim_op *claim, const char *worker)
{
    const wp__waits *w = &claim->waits;
    for (size_t i = 0; i < w->failed_count; i++)
        WP__LOG(wp__store_log(claim->base.store), WP_LOG_ERROR, "dead letter",
                WP__F_TEXT("StoreId", wp_store_id(claim->base.store)),
                WP__F_TEXT("WorkerId", worker), WP__F_TEXT("Topic", w->failed[i]->topic),
                WP__F_ID("MessageId", &w->failed[i]->id),
                WP__F_INT("Attempt", w->failed[i]->attempt), WP__F_TEXT("Exception", reason));
}
