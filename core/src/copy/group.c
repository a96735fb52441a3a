/* SPDX-License-Identifier: Apache-2.0 */
/* Which joins and messages go together: a join with its members, those with the other joins that they are members of, with the
 * messages of their ordering keys, and with those that wait for any of these. It is found by asking for the
 * neighbours of what is new, until there is nothing new. */
#include <stdlib.h>
#include <string.h>
#include <waypost/join.h>

#include "copy/copy.h"

void wp__copy_set_free(wp__copy_set *set)
{
    free(set->joins.items);
    free(set->messages.items);
    memset(set, 0, sizeof *set);
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = ((const wp__copy_pair *)a)->seq, y = ((const wp__copy_pair *)b)->seq;
    return (x > y) - (x < y);
}

static bool has(const wp__copy_pairs *pairs, int64_t seq)
{
    const wp__copy_pair key = {.seq = seq};
    return pairs->count && bsearch(&key, pairs->items, pairs->count, sizeof key, by_number);
}

/* Leave out of `fresh` what is known, and have the rest be known; each once. */
static wp_status learn(wp__copy_pairs *known, wp__copy_pairs *fresh, wp_error **err)
{
    size_t kept = 0;
    wp_status st = WP_OK;
    if (fresh->count > 1)
        qsort(fresh->items, fresh->count, sizeof *fresh->items, by_number);
    for (size_t i = 0; i < fresh->count; i++)
        if (!(kept && fresh->items[kept - 1].seq == fresh->items[i].seq) &&
            !has(known, fresh->items[i].seq))
            fresh->items[kept++] = fresh->items[i];
    fresh->count = kept;
    for (size_t i = 0; i < kept && st == WP_OK; i++)
        st = wp__copy_pairs_add(known, fresh->items[i].seq, fresh->items[i].state, err);
    if (kept)
        qsort(known->items, known->count, sizeof *known->items, by_number);
    return st;
}

/* What is asked for with what is new: the answers are added. */
static wp_status ask(wp__copy_pairs *out, const wp__copy_end *end, wp__sql_id statement,
                     const wp__copy_pairs *about, wp_error **err)
{
    wp__copy_pairs found = {0};
    wp__copy_seqs seqs = {0};
    wp_status st = WP_OK;
    for (size_t i = 0; i < about->count; i++)
        wp__copy_seqs_add(&seqs, about->items[i].seq);
    if (about->count && (st = wp__copy_seqs_end(&seqs, err)) == WP_OK)
        st = wp__copy_join_pairs(&found, end, statement, &seqs.json, err);
    for (size_t i = 0; i < found.count && st == WP_OK; i++)
        st = wp__copy_pairs_add(out, found.items[i].seq, found.items[i].state, err);
    free(found.items);
    wp__buf_free(&seqs.json);
    return st;
}

/* ---- messages that wait ------------------------------------------------------------------- */

typedef struct find_op {
    wp_op base;
    wp__copy_waits *waits;
    wp_id *ids;
    wp__buf json;
    int step;
} find_op;

static wp_status find_next(wp_op *op, wp_error **err)
{
    find_op *self = (find_op *)op;
    if (self->step++)
        return WP_OK;
    wp__op_use(op, WP__SQL_JOIN_FIND, 3);
    return wp__op_set_ids(op, &self->json, self->ids, self->waits->count, err);
}

static wp_status find_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    find_op *self = (find_op *)op;
    int64_t n[3] = {0};
    wp_status st = WP_OK;
    for (size_t i = 0; i < 3 && st == WP_OK; i++)
        st = wp__column_int(&n[i], &columns[i], err);
    if (st != WP_OK)
        return st;
    if (n[0] < 0 || (size_t)n[0] >= self->waits->count)
        return wp__fail(err, WP_E_INTERNAL, "a join was found that was not asked for");
    if (self->waits->items[n[0]].names) {
        self->waits->items[n[0]].join = n[1];
        self->waits->items[n[0]].over = n[2] != WP_JOIN_OPEN;
    }
    return WP_OK;
}

static void find_rewind(wp_op *op)
{
    ((find_op *)op)->step = 0;
}

/* All of the source, with the joins that they name. */
static wp_status read_waits(wp__copy_waits *out, const wp__copy_end *end, wp_error **err)
{
    static const wp__op_class cls = {
        .next = find_next, .row = find_row, .rewind = find_rewind, .single = true};
    find_op op = {.waits = out};
    wp_status st = wp__copy_join_waits(out, end, err);
    if (st != WP_OK || !out->count)
        return st;
    op.ids = calloc(out->count, sizeof *op.ids);
    if (!op.ids)
        return wp__fail_nomem(err);
    for (size_t i = 0; i < out->count; i++)
        op.ids[i] = out->items[i].id;
    wp__op_init(&op.base, &cls, end->store);
    st = wp__store_run(end->store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    wp__buf_free(&op.json);
    free(op.ids);
    return st;
}

/* Those that wait for these joins; or the joins that these messages wait for. */
static wp_status ask_waits(wp__copy_pairs *messages, wp__copy_pairs *joins,
                           const wp__copy_waits *waits, const wp__copy_pairs *new_joins,
                           const wp__copy_pairs *new_messages, wp_error **err)
{
    wp_status st = WP_OK;
    for (size_t i = 0; i < waits->count && st == WP_OK; i++) {
        const wp__copy_wait *wait = &waits->items[i];
        if (wait->join && has(new_joins, wait->join))
            st = wp__copy_pairs_add(messages, wait->seq, wait->state, err);
        if (st == WP_OK && wait->join && has(new_messages, wait->seq))
            st = wp__copy_pairs_add(joins, wait->join, wait->over, err);
    }
    return st;
}

/* ---- what goes together ------------------------------------------------------------------- */

/* Whether an earlier one was begun with, which belongs to this set: so it has been looked at. */
static bool was_seen(const wp__copy_set *set, const wp__copy_waits *waits, bool of_joins,
                     const wp__copy_place *place)
{
    for (size_t i = 0; i < set->joins.count; i++)
        if (set->joins.items[i].state == 0 && (!of_joins || set->joins.items[i].seq < place->seq))
            return true;
    for (size_t i = 0; !of_joins && i < waits->count; i++)
        if (waits->items[i].seq < place->dead_seq && has(&set->messages, waits->items[i].seq))
            return true;
    return false;
}

/* From what is new to all that goes along; *seen: it has been looked at, and is not wholly found again. */
static wp_status spread(bool *seen, wp__copy_set *set, wp__copy_pairs *new_joins,
                        wp__copy_pairs *new_messages, bool of_joins, const wp__copy_place *place,
                        const wp__copy_end *end, const wp__copy_waits *waits, wp_error **err)
{
    wp_status st;
    if ((st = learn(&set->joins, new_joins, err)) != WP_OK ||
        (st = learn(&set->messages, new_messages, err)) != WP_OK)
        return st;
    *seen = was_seen(set, waits, of_joins, place);
    while (st == WP_OK && !*seen && (new_joins->count || new_messages->count)) {
        wp__copy_pairs joins = {0}, messages = {0};
        if ((st = ask(&messages, end, WP__SQL_COPY_JOIN_MESSAGES, new_joins, err)) == WP_OK &&
            (st = ask(&messages, end, WP__SQL_COPY_JOIN_KEYS, new_messages, err)) == WP_OK &&
            (st = ask(&joins, end, WP__SQL_COPY_JOIN_OF, new_messages, err)) == WP_OK &&
            (st = ask_waits(&messages, &joins, waits, new_joins, new_messages, err)) == WP_OK &&
            (st = learn(&set->joins, &joins, err)) == WP_OK)
            st = learn(&set->messages, &messages, err);
        free(new_joins->items);
        free(new_messages->items);
        *new_joins = joins;
        *new_messages = messages;
        *seen = st == WP_OK && was_seen(set, waits, of_joins, place);
    }
    return st;
}

static void look_at_states(wp__copy_set *set)
{
    for (size_t i = 0; i < set->messages.count; i++)
        set->running = set->running || set->messages.items[i].state == 1;
}

/* Begin with a join, or with a message that waits for none that is open. */
static wp_status seed(bool *found, wp__copy_set *set, wp__copy_pairs *joins,
                      wp__copy_pairs *messages, wp__copy_place *place, const wp__copy_waits *waits,
                      const wp__copy_end *end, wp_error **err)
{
    wp__copy_joins next = {0};
    wp_status st = wp__copy_join_after(&next, end, place->seq, err);
    *found = st == WP_OK && next.count;
    if (*found) {
        place->seq = next.items[0].seq;
        set->id = next.items[0].id;
        st = wp__copy_pairs_add(joins, place->seq, 0, err);
    }
    wp__copy_joins_free(&next);
    for (size_t i = 0; i < waits->count && st == WP_OK && !*found; i++) {
        const wp__copy_wait *wait = &waits->items[i];
        if (wait->seq <= place->dead_seq || (wait->join && !wait->over))
            continue;
        *found = true;
        place->dead_seq = wait->seq;
        set->id = wait->id;
        set->nameless = !wait->names;
        st = wp__copy_pairs_add(messages, wait->seq, wait->state, err);
    }
    return st;
}

wp_status wp__copy_set_find(bool *found, wp__copy_set *out, wp__copy_place *place,
                            const wp__copy_end *end, wp_error **err)
{
    wp__copy_waits waits = {0};
    wp_status st = read_waits(&waits, end, err);
    *found = st == WP_OK;
    while (st == WP_OK && *found) {
        wp__copy_pairs joins = {0}, messages = {0};
        const int64_t before = place->seq;
        bool seen = false;
        wp__copy_set_free(out);
        st = seed(found, out, &joins, &messages, place, &waits, end, err);
        if (st == WP_OK && *found)
            st = spread(&seen, out, &joins, &messages, place->seq != before, place, end, &waits,
                        err);
        free(joins.items);
        free(messages.items);
        if (st == WP_OK && *found && !seen)
            break;
    }
    free(waits.items);
    look_at_states(out);
    return st;
}
