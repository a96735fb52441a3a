/* SPDX-License-Identifier: Apache-2.0 */
/* Members: messages are attached to joins, or reported as finished. The joins are looked for, then the
 * messages; then one statement for each join does it, by set. */
#include <stdlib.h>
#include <string.h>

#include "db/store.h"
#include "join/join.h"

enum { IDLE, FINDING, RESOLVING, CHANGING, ASKING, DONE };

/* ---- the part that enqueues have, too ----------------------------------------------------- */

static int compare_pairs(const void *left, const void *right)
{
    const wp__join_pair *a = left;
    const wp__join_pair *b = right;
    const int order = memcmp(&a->join, &b->join, sizeof a->join);
    return order ? order : (a->message > b->message) - (a->message < b->message);
}

static int compare_found(const void *left, const void *right)
{
    const wp__join_found *a = left;
    const wp__join_found *b = right;
    return (a->seq > b->seq) - (a->seq < b->seq);
}

static int compare_seqs(const void *left, const void *right)
{
    const int64_t *a = left;
    const int64_t *b = right;
    return (*a > *b) - (*a < *b);
}

wp_status wp__members_init(wp__members *m, wp__join_pair *pairs, size_t pair_count, wp_error **err)
{
    m->pairs = pairs;
    m->pair_count = pair_count;
    if (pair_count > 1)
        qsort(pairs, pair_count, sizeof *pairs, compare_pairs);
    m->joins = calloc(pair_count ? pair_count : 1, sizeof *m->joins);
    m->join_ids = calloc(pair_count ? pair_count : 1, sizeof *m->join_ids);
    if (!m->joins || !m->join_ids)
        return wp__fail_nomem(err);
    for (size_t i = 0; i < pair_count; i++) {
        wp__join_found *last = m->join_count ? &m->joins[m->join_count - 1] : NULL;
        if (!last || memcmp(&last->id, &pairs[i].join, sizeof last->id) != 0) {
            last = &m->joins[m->join_count++];
            *last = (wp__join_found){.id = pairs[i].join, .seq = -1, .from = i};
        }
        last->to = i + 1;
    }
    return WP_OK;
}

void wp__members_fini(wp__members *m)
{
    free(m->pairs);
    free(m->joins);
    free(m->join_ids);
    free(m->seqs);
    wp__buf_free(&m->json);
}

void wp__members_rewind(wp__members *m)
{
    m->step = IDLE;
    m->at = 0;
    m->changed = 0;
    for (size_t i = 0; i < m->join_count; i++)
        m->joins[i].seq = -1;
}

static int compare_found_ids(const void *left, const void *right)
{
    const wp__join_found *a = left;
    const wp__join_found *b = right;
    return memcmp(&a->id, &b->id, sizeof a->id);
}

wp_status wp__members_use_find(wp__members *m, wp_op *op, wp_error **err)
{
    if (m->join_count > 1) /* a try before this one may have ordered them otherwise */
        qsort(m->joins, m->join_count, sizeof *m->joins, compare_found_ids);
    for (size_t i = 0; i < m->join_count; i++)
        m->join_ids[i] = m->joins[i].id;
    m->step = FINDING;
    wp__op_use(op, WP__SQL_JOIN_FIND, 3);
    return wp__op_set_ids(op, &m->json, m->join_ids, m->join_count, err);
}

static wp_status fail_unknown(const wp__join_found *join, wp_error **err)
{
    char text[37];
    wp_id_format(text, &join->id);
    return wp__fail(err, WP_E_NOT_FOUND, "there is no join %s", text);
}

wp_status wp__members_check(const wp__members *m, bool open, wp_error **err)
{
    for (size_t i = 0; i < m->join_count; i++) {
        char text[37];
        if (m->joins[i].seq < 0)
            return fail_unknown(&m->joins[i], err);
        wp_id_format(text, &m->joins[i].id);
        if (open && m->joins[i].status != WP_JOIN_OPEN)
            return wp__fail(err, WP_E_STATE, "the join %s is over", text);
    }
    return WP_OK;
}

static wp_status use_resolve(wp__members *m, wp_op *op, wp_error **err)
{
    free(m->seqs);
    m->seqs = calloc(m->message_count, sizeof *m->seqs);
    if (!m->seqs)
        return wp__fail_nomem(err);
    for (size_t i = 0; i < m->message_count; i++)
        m->seqs[i] = -1;
    if (m->join_count > 1) /* one order of locks for everyone */
        qsort(m->joins, m->join_count, sizeof *m->joins, compare_found);
    m->step = RESOLVING;
    wp__op_use(op, wp__queue_sql_id(&wp__outbox, WP__QUEUE_RESOLVE), 3);
    return wp__op_set_ids(op, &m->json, m->messages, m->message_count, err);
}

/* All messages are there, where they must be. */
static wp_status check_messages(const wp__members *m, wp_error **err)
{
    char text[37];
    for (size_t i = 0; !m->report && i < m->message_count; i++)
        if (m->seqs[i] < 0) {
            wp_id_format(text, &m->messages[i]);
            return wp__fail(err, WP_E_NOT_FOUND, "there is no message %s in the outbox", text);
        }
    return WP_OK;
}

/* The messages of the join under way, each once and in one order for everyone, as a JSON array. */
static wp_status write_seqs(wp__members *m, wp_error **err)
{
    const wp__join_found *join = &m->joins[m->at];
    int64_t *seqs = calloc(join->to - join->from, sizeof *seqs);
    size_t count = 0;
    if (!seqs)
        return wp__fail_nomem(err);
    for (size_t i = join->from; i < join->to; i++)
        if (m->seqs[m->pairs[i].message] >= 0)
            seqs[count++] = m->seqs[m->pairs[i].message];
    qsort(seqs, count, sizeof *seqs, compare_seqs);
    m->given = m->answered = 0;
    wp__buf_clear(&m->json);
    wp__buf_text(&m->json, "[");
    for (size_t i = 0; i < count; i++) {
        if (i && seqs[i] == seqs[i - 1])
            continue;
        wp__buf_text(&m->json, m->given++ ? "," : "");
        wp__buf_int(&m->json, seqs[i]);
    }
    wp__buf_text(&m->json, "]");
    free(seqs);
    return m->json.failed ? wp__fail_nomem(err) : WP_OK;
}

static wp_status use_change(wp__members *m, wp_op *op, wp_error **err)
{
    wp_status st = write_seqs(m, err);
    if (st != WP_OK)
        return st;
    wp__op_set_textn(op, WP__P_SEQS, m->json.data, m->json.len);
    wp__op_set_int(op, WP__P_NUMBER, m->joins[m->at].seq);
    wp__op_set_int(op, WP__P_STATUS, m->report);
    wp__op_set_now(op);
    m->step = CHANGING;
    if (m->report)
        wp__op_use(op, WP__SQL_JOIN_REPORT, 2);
    else
        wp__op_use(op, WP__SQL_JOIN_ATTACH, 1);
    return WP_OK;
}

wp_status wp__members_use_next(wp__members *m, wp_op *op, bool *used, wp_error **err)
{
    wp_status st;
    *used = true;
    if (m->step == FINDING || m->step == IDLE)
        return use_resolve(m, op, err);
    if (m->step == RESOLVING)
        return (st = check_messages(m, err)) == WP_OK ? use_change(m, op, err) : st;
    if (m->step == CHANGING && !m->report && m->answered < m->given) {
        m->step = ASKING;
        m->strangers = 0;
        wp__op_use(op, WP__SQL_JOIN_STRANGERS, 1);
        return WP_OK;
    }
    if (m->step == ASKING && m->strangers) {
        char text[37];
        wp_id_format(text, &m->joins[m->at].id);
        return wp__fail(err, WP_E_STATE,
                        "the join %s is over, or it or a message is on its way between two stores",
                        text);
    }
    if (++m->at < m->join_count)
        return use_change(m, op, err);
    m->step = DONE;
    *used = false;
    return WP_OK;
}

static wp_status changing_row(wp__members *m, const wp__value *columns, wp_error **err)
{
    int64_t count = 0;
    int64_t missed = 0;
    wp_status st;
    if (!m->report) {
        if (columns[0].type == WP_VALUE_NULL)
            return wp__fail_triggers(err); /* told of, but not done */
        m->answered++;
        m->changed++;
        return WP_OK;
    }
    if ((st = wp__column_int(&count, &columns[0], err)) != WP_OK ||
        (st = wp__column_int(&missed, &columns[1], err)) != WP_OK)
        return st;
    if (count < 0) /* it has gone since it was found */
        return fail_unknown(&m->joins[m->at], err);
    m->changed += (size_t)count;
    return missed ? wp__fail_triggers(err) : WP_OK;
}

wp_status wp__members_row(wp__members *m, wp_op *op, const wp__value *columns, wp_error **err)
{
    int64_t n[3] = {0};
    wp_status st = WP_OK;
    if (m->step == CHANGING)
        return changing_row(m, columns, err);
    for (size_t i = 0; i < op->columns && st == WP_OK; i++)
        st = wp__column_int(&n[i], &columns[i], err);
    if (st != WP_OK)
        return st;
    if (m->step == ASKING) {
        m->strangers = n[0];
    } else if (n[0] < 0 ||
               (size_t)n[0] >= (m->step == FINDING ? m->join_count : m->message_count)) {
        return wp__fail(err, WP_E_INTERNAL, "an id was found that was not asked for");
    } else if (m->step == FINDING) {
        m->joins[n[0]].seq = n[1];
        m->joins[n[0]].status = n[2];
    } else {
        m->seqs[n[0]] = n[1];
    }
    return WP_OK;
}

/* ---- attach and report -------------------------------------------------------------------- */

typedef struct members_op {
    wp_op base;
    wp__members members;
    wp_id *owned; /* the ids, for a host */
    bool begun;
} members_op;

static wp_status members_next(wp_op *op, wp_error **err)
{
    members_op *self = (members_op *)op;
    bool used = false;
    wp_status st;
    if (!self->members.message_count)
        return WP_OK;
    if (!self->begun) {
        self->begun = true;
        return wp__members_use_find(&self->members, op, err);
    }
    if ((st = wp__members_check(&self->members, false, err)) == WP_OK)
        st = wp__members_use_next(&self->members, op, &used, err);
    op->result_count = self->members.changed;
    return st;
}

static wp_status members_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    return wp__members_row(&((members_op *)op)->members, op, columns, err);
}

static void members_rewind(wp_op *op)
{
    ((members_op *)op)->begun = false;
    wp__members_rewind(&((members_op *)op)->members);
}

static void members_destroy(wp_op *op)
{
    wp__members_fini(&((members_op *)op)->members);
    free(((members_op *)op)->owned);
}

static const wp__op_class members_class = {.next = members_next,
                                           .row = members_row,
                                           .rewind = members_rewind,
                                           .destroy = members_destroy,
                                           .writes = true};

static wp_status check(const wp_store *store, const wp_conn *conn, const wp_id *join,
                       const wp_id *messages, size_t count, wp_error **err)
{
    wp_status st = wp__store_check_conn(store, conn, err);
    if (st != WP_OK)
        return st;
    if (!join || !messages)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", join ? "messages" : "join");
    if (count > WP_BATCH_MAX)
        return wp__fail(err, WP_E_RANGE, "count is %zu, more than %d", count, WP_BATCH_MAX);
    return WP_OK;
}

/* wp__op_fini() it, also when this fails. */
static wp_status members_op_init(members_op *self, wp_store *store, const wp_id *join,
                                 const wp_id *messages, size_t count, wp_join_member_status report,
                                 wp_error **err)
{
    wp__join_pair *pairs = calloc(count ? count : 1, sizeof *pairs);
    wp__op_init(&self->base, &members_class, store);
    if (!pairs)
        return wp__fail_nomem(err);
    for (size_t i = 0; i < count; i++)
        pairs[i] = (wp__join_pair){*join, i};
    self->members.messages = messages;
    self->members.message_count = count;
    self->members.report = report;
    return wp__members_init(&self->members, pairs, count, err);
}

static wp_status run(size_t *changed, wp_store *store, wp_conn *conn, const wp_id *join,
                     const wp_id *messages, size_t count, wp_join_member_status report,
                     wp_error **err)
{
    members_op op = {0};
    wp_status st = check(store, conn, join, messages, count, err);
    if (st != WP_OK)
        return st;
    if ((st = members_op_init(&op, store, join, messages, count, report, err)) == WP_OK && count)
        st = wp__store_run(store, conn, &op.base, err);
    if (st == WP_OK && changed)
        *changed = op.members.changed;
    if (st == WP_OK && !conn && op.members.changed)
        wp__store_announce(store); /* the last one may have made work */
    wp__op_fini(&op.base);
    wp__log_pump(wp__store_log(store));
    return st;
}

static wp_status make_op(wp_op **out, wp_store *store, const wp_id *join, const wp_id *messages,
                         size_t count, wp_join_member_status report, wp_error **err)
{
    members_op *op;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = check(store, NULL, join, messages, count, err)) != WP_OK)
        return st;
    op = calloc(1, sizeof *op);
    if (!op)
        return wp__fail_nomem(err);
    st = members_op_init(op, store, join, NULL, count, report, err);
    op->owned = calloc(count ? count : 1, sizeof *op->owned);
    if (st == WP_OK && !op->owned)
        st = wp__fail_nomem(err);
    if (st != WP_OK) {
        wp_op_free(&op->base);
        return st;
    }
    if (count)
        memcpy(op->owned, messages, count * sizeof *messages);
    op->members.messages = op->owned;
    op->base.owns_store = true;
    wp__store_ref(store);
    *out = &op->base;
    return WP_OK;
}

static wp_join_member_status outcome(int failed)
{
    return failed ? WP_JOIN_MEMBER_FAILED : WP_JOIN_MEMBER_COMPLETED;
}

wp_status wp_join_attach(size_t *attached, wp_store *store, wp_conn *conn, const wp_id *join,
                         const wp_id *messages, size_t count, wp_error **err)
{
    return run(attached, store, conn, join, messages, count, WP_JOIN_MEMBER_WAITING, err);
}

wp_status wp_join_attach_op(wp_op **out, wp_store *store, const wp_id *join, const wp_id *messages,
                            size_t count, wp_error **err)
{
    return make_op(out, store, join, messages, count, WP_JOIN_MEMBER_WAITING, err);
}

wp_status wp_join_report(size_t *counted, wp_store *store, wp_conn *conn, const wp_id *join,
                         const wp_id *messages, size_t count, int failed, wp_error **err)
{
    return run(counted, store, conn, join, messages, count, outcome(failed), err);
}

wp_status wp_join_report_op(wp_op **out, wp_store *store, const wp_id *join, const wp_id *messages,
                            size_t count, int failed, wp_error **err)
{
    return make_op(out, store, join, messages, count, outcome(failed), err);
}
