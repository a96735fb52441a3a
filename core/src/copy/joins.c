/* SPDX-License-Identifier: Apache-2.0 */
/* Joins of a move: each goes with its members, with what waits for it, and with all that has to go along with these; one such
 * group at a time. Its messages are held in both stores, as those of a page are. The join itself stays one in the source
 * until it is deleted there, if nothing has changed it since it was read; in the target it is kept aside until it is let
 * go. What is to be done after a crash follows from where the group is, as with messages: see page.c. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "copy/copy.h"

static const char not_given_back[] = "the target does not give back what was stored there";

static const char was_changed[] = "it was changed while it was moved";

enum { HERE, THERE, ENDS };

/* All that is on its way with joins: one group. */
typedef struct moving {
    wp_copy *copy;
    wp__copy_batch messages;
    wp__copy_joins joins[ENDS];
} moving;

static const wp__copy_end *end_of(const wp_copy *copy, size_t e)
{
    return e == HERE ? &copy->source : &copy->target;
}

static void clear(moving *m)
{
    wp__copy_batch_clear(&m->messages);
    for (size_t e = 0; e < ENDS; e++)
        wp__copy_joins_free(&m->joins[e]);
}

/* The target first: see page.c. */
static wp_status look(moving *m, wp_error **err)
{
    wp__copy_batch *messages = &m->messages;
    wp_status st;
    clear(m);
    messages->copy = m->copy;
    messages->queue = &wp__copy_joined;
    if ((st = wp__copy_join_list(&m->joins[THERE], &m->copy->target, err)) != WP_OK ||
        (st = wp__copy_list(&messages->there, &m->copy->target, &wp__copy_joined, err)) != WP_OK ||
        (st = wp__copy_join_list(&m->joins[HERE], &m->copy->source, err)) != WP_OK ||
        (st = wp__copy_list(&messages->here, &m->copy->source, &wp__copy_joined, err)) != WP_OK)
        return st;
    wp__copy_batch_match(messages);
    return WP_OK;
}

static const wp__copy_items *items_of(const moving *m, size_t e)
{
    return e == HERE ? &m->messages.here : &m->messages.there;
}

static bool is_at(const moving *m, size_t e)
{
    return items_of(m, e)->count || m->joins[e].count;
}

/* What is at an end came from the other one. */
static bool came_to(const moving *m, size_t e)
{
    return m->joins[e].count ? m->joins[e].items[0].arrived
                             : items_of(m, e)->count && items_of(m, e)->items[0].arrived;
}

/* ---- what becomes of it ------------------------------------------------------------------- */

static wp_status seqs_of(wp__copy_seqs *out, const moving *m, size_t e, wp_error **err)
{
    const wp__copy_items *items = items_of(m, e);
    for (size_t i = 0; i < items->count; i++)
        wp__copy_seqs_add(out, items->items[i].seq);
    return wp__copy_seqs_end(out, err);
}

typedef wp_status (*change)(const wp__copy_end *end, const wp__copy_seqs *messages, wp_error **err);

static wp_status do_at(moving *m, size_t e, change fn, wp_error **err)
{
    wp__copy_seqs seqs = {0};
    wp_status st = seqs_of(&seqs, m, e, err);
    if (st == WP_OK) {
        st = fn(end_of(m->copy, e), &seqs, err);
        wp__store_announce(end_of(m->copy, e)->store);
        st = wp__copy_committed(m->copy, st, err);
    }
    wp__buf_free(&seqs.json);
    return st;
}

/* The copy goes, and the original is as it was; what is in one store alone is let go there. */
static wp_status take_back(moving *m, wp_error **err)
{
    const bool here = is_at(m, HERE), there = is_at(m, THERE);
    const bool is_copy[ENDS] = {here && there && came_to(m, HERE) && !came_to(m, THERE),
                                here && there && came_to(m, THERE) && !came_to(m, HERE)};
    wp_status st = WP_OK;
    for (size_t e = 0; e < ENDS && st == WP_OK; e++)
        if (is_copy[e])
            st = do_at(m, e, wp__copy_join_drop, err);
    for (size_t e = 0; e < ENDS && st == WP_OK; e++)
        if (!is_copy[e] && is_at(m, e))
            st = do_at(m, e, wp__copy_join_free, err);
    return st;
}

static wp_status tell(moving *m, const char *why, wp_error **err)
{
    const wp__copy_items *items = &m->messages.here;
    if (m->joins[HERE].count)
        return wp__copy_note_join(m->copy, &m->joins[HERE].items[0].id, why, err);
    return items->count ? wp__copy_note_wait(m->copy, &items->items[0].id, why, err) : WP_OK;
}

/* It stays, as far as it is in the source still: the answer to a commit may have been lost. */
static wp_status refuse(moving *m, const char *why, wp_error **err)
{
    wp_status st = look(m, err);
    if (st == WP_OK && (st = tell(m, why, err)) == WP_OK)
        st = take_back(m, err);
    return st;
}

/* It was changed while it was moved: it is given back, and the next pass moves it as it is then. */
static wp_status try_later(moving *m, const char *why, wp_error **err)
{
    m->copy->changed = true;
    return refuse(m, why, err);
}

/* ---- storing and comparing ---------------------------------------------------------------- */

/* The joins as they were read from each end. */
typedef struct readings {
    wp__copy_group groups[ENDS];
    bool stored; /* just now */
    char *why;   /* it is refused */
} readings;

static void readings_free(readings *r)
{
    for (size_t e = 0; e < ENDS; e++)
        wp__copy_group_free(&r->groups[e]);
    free(r->why);
}

static wp_status set_why(readings *r, const char *why, wp_error **err)
{
    r->why = wp__text_dup(why);
    return r->why ? WP_OK : wp__fail_nomem(err);
}

static const char *fault_of(const wp__copy_rows *rows, const wp__copy_end *end)
{
    const char *fault = NULL;
    for (size_t i = 0; i < rows->count && !fault; i++) {
        fault = wp__copy_row_fault(&rows->items[i]);
        if (!fault)
            fault = wp__copy_too_large(end, &rows->items[i]);
    }
    return fault;
}

static wp_status store_joins(readings *r, moving *m, wp_error **err)
{
    const wp__copy_group *group = &r->groups[HERE];
    const wp__copy_end *target = &m->copy->target;
    const char *fault = fault_of(&group->joins, target);
    wp_error *cause = NULL;
    bool known = false;
    wp_status st;
    if (!fault)
        fault = fault_of(&group->nexts, target);
    if (fault)
        return set_why(r, fault, err);
    st = wp__copy_join_put(&known, group, target, &cause);
    if (known)
        return set_why(r, "the target has a join with its id", err);
    if (st != WP_OK && wp__copy_is_refused(target, &group->joins.items[0], cause)) {
        st = set_why(r, wp_error_message(cause), err);
        wp_error_free(cause);
        return st;
    }
    if (cause)
        wp__error_move(err, cause);
    r->stored = st == WP_OK;
    return wp__copy_committed(m->copy, st, err);
}

/* Why one of the messages cannot go, or NULL. */
static wp_status why_of_messages(readings *r, const moving *m, wp_error **err)
{
    for (size_t i = 0; i < m->messages.here.count; i++) {
        const wp__copy_item *item = &m->messages.here.items[i];
        wp__buf text = {0};
        char id[37];
        if (!item->refused)
            continue;
        wp_id_format(id, &item->id);
        wp__buf_fmt(&text, "its message %s: %s", id, item->refused);
        r->why = wp__buf_take(&text);
        return r->why ? WP_OK : wp__fail_nomem(err);
    }
    return WP_OK;
}

static bool are_held(const moving *m)
{
    for (size_t i = 0; i < m->messages.here.count; i++) {
        const wp__copy_item *item = &m->messages.here.items[i];
        if (item->held != WP__COPY_KEPT || (item->there && item->there_held != WP__COPY_KEPT))
            return false;
    }
    return true;
}

static void add_sums(wp__copy_sum *sum, const wp__copy_sum *more)
{
    for (size_t i = 0; i < 4; i++)
        sum->words[i] += more->words[i];
}

static void count_moved(moving *m, const readings *r)
{
    wp_copy *copy = m->copy;
    const wp__copy_items *items = &m->messages.here;
    for (size_t e = 0; e < ENDS; e++)
        add_sums(&copy->sums[e], &r->groups[e].sum);
    for (size_t i = 0; i < items->count; i++) {
        wp__copy_sum_add(&copy->sums[0], items->items[i].hash);
        wp__copy_sum_add(&copy->sums[1], items->items[i].back);
    }
    copy->counts[wp__queue_index(&wp__outbox)][WP_COPY_MOVED] += (int64_t)items->count;
    copy->joins_moved += (int64_t)m->joins[HERE].count;
    copy->groups_moved++;
}

/* The target has what the source has: it is deleted here, if it is as it was read, and let go there. */
static wp_status part(moving *m, const readings *r, wp_error **err)
{
    wp__copy_seqs seqs = {0};
    bool missed = false;
    wp_status st = seqs_of(&seqs, m, HERE, err);
    if (st == WP_OK)
        st = wp__copy_join_settle(&missed, &m->copy->source, &m->joins[HERE], &seqs,
                                  &r->groups[HERE].sum, err);
    wp__buf_free(&seqs.json);
    if (st == WP_OK && missed)
        return try_later(m, was_changed, err);
    if (st == WP_OK)
        count_moved(m, r);
    if ((st = wp__copy_committed(m->copy, st, err)) != WP_OK || (st = look(m, err)) != WP_OK)
        return st;
    return is_at(m, THERE) ? do_at(m, THERE, wp__copy_join_free, err) : WP_OK;
}

static wp_status fail_not_given_back(moving *m, wp_error **err)
{
    if (look(m, NULL) == WP_OK)
        (void)take_back(m, NULL); /* else the next one does */
    return wp__fail(err, WP_E_DB,
                    "joins: what the target gives back is not what was stored there: nothing is "
                    "deleted in the source");
}

/* Read all back from the target. *same: it is what the source has. */
static wp_status compare(bool *same, readings *r, moving *m, wp_error **err)
{
    wp_status st = wp__copy_batch_verify(&m->messages, err);
    if (m->messages.differs) {
        if (look(m, NULL) == WP_OK)
            (void)take_back(m, NULL);
        return st;
    }
    if (st == WP_OK)
        st = wp__copy_join_read(&r->groups[THERE], &m->copy->target, true, err);
    *same = st == WP_OK &&
            memcmp(&r->groups[HERE].sum, &r->groups[THERE].sum, sizeof r->groups[HERE].sum) == 0;
    if (st != WP_OK || *same || !r->stored)
        return st;
    return fail_not_given_back(m, err);
}

static wp_status move_on(moving *m, readings *r, wp_error **err)
{
    bool same = false;
    wp_status st = wp__copy_join_read(&r->groups[HERE], &m->copy->source, false, err);
    if (st != WP_OK)
        return st;
    if (r->groups[HERE].joins.count != m->joins[HERE].count || !are_held(m))
        return try_later(m, was_changed, err);
    if ((st = wp__copy_batch_store(&m->messages, err)) != WP_OK ||
        (st = why_of_messages(r, m, err)) != WP_OK)
        return st;
    if (!r->why && m->joins[HERE].count && !m->joins[THERE].count &&
        (st = store_joins(r, m, err)) != WP_OK)
        return st;
    if (r->why)
        return refuse(m, r->why, err);
    if ((st = compare(&same, r, m, err)) != WP_OK || (st = why_of_messages(r, m, err)) != WP_OK)
        return st;
    if (r->why || m->messages.missed || !same)
        return try_later(m, r->why ? r->why : same ? not_given_back : was_changed, err);
    return part(m, r, err);
}

/* ---- the page ----------------------------------------------------------------------------- */

/* Finish what is on its way. */
static wp_status resolve(moving *m, wp_error **err)
{
    readings r = {.stored = false};
    wp_status st;
    if (!is_at(m, HERE) || came_to(m, HERE) || (is_at(m, THERE) && !came_to(m, THERE)))
        return take_back(m, err); /* it is the target's, or this store's */
    st = move_on(m, &r, err);
    readings_free(&r);
    return st;
}

static wp_status numbers_of(wp__copy_seqs *out, const wp__copy_pairs *pairs, wp_error **err)
{
    for (size_t i = 0; i < pairs->count; i++)
        wp__copy_seqs_add(out, pairs->items[i].seq);
    return wp__copy_seqs_end(out, err);
}

static wp_status take_set(bool *missed, wp_copy *copy, const wp__copy_set *set, wp_error **err)
{
    wp__copy_seqs joins = {0}, messages = {0};
    wp_status st;
    if ((st = numbers_of(&joins, &set->joins, err)) == WP_OK &&
        (st = numbers_of(&messages, &set->messages, err)) == WP_OK)
        st = wp__copy_join_take(missed, &copy->source, &joins, &messages, err);
    wp__buf_free(&joins.json);
    wp__buf_free(&messages.json);
    return st;
}

static wp_status note_set(wp_copy *copy, const wp__copy_set *set, const char *why, wp_error **err)
{
    return set->nameless ? wp__copy_note_wait(copy, NULL, why, err)
                         : wp__copy_note_join(copy, &set->id, why, err);
}

/* Hold the next group that can be. */
static wp_status take(bool *taken, wp_copy *copy, wp_error **err)
{
    bool found = true;
    wp_status st = WP_OK;
    *taken = false;
    while (st == WP_OK && found && !*taken) {
        wp__copy_set set = {.running = false};
        bool missed = false;
        st = wp__copy_set_find(&found, &set, &copy->place, &copy->source, err);
        if (st == WP_OK && found && !set.running) {
            st = take_set(&missed, copy, &set, err);
            copy->changed = copy->changed || missed; /* look again */
            if (!missed)
                st = wp__copy_committed(copy, st, err);
        }
        if (st == WP_OK && found && (set.running || missed))
            st = note_set(copy, &set, missed ? was_changed : "one of its messages is running", err);
        *taken = st == WP_OK && found && !set.running && !missed;
        wp__copy_set_free(&set);
    }
    return st;
}

static bool can(const wp_copy *copy)
{
    for (size_t e = 0; e < ENDS; e++)
        if (!wp__store_engine(end_of(copy, e)->store)->statements[WP__SQL_COPY_JOIN_LIST].text)
            return false;
    return true;
}

wp_status wp__copy_join_page(bool *more, wp_copy *copy, wp_error **err)
{
    moving m = {.copy = copy};
    wp_status st;
    *more = false;
    if (!can(copy))
        return WP_OK;
    if ((st = look(&m, err)) == WP_OK) {
        *more = is_at(&m, HERE) || is_at(&m, THERE);
        if (!*more && (st = take(more, copy, err)) == WP_OK && *more)
            st = look(&m, err);
        if (st == WP_OK && *more)
            st = resolve(&m, err);
    }
    clear(&m);
    return st;
}

wp_status wp__copy_give_up_joins(int64_t *let_go, wp_copy *copy, wp_error **err)
{
    moving m = {.copy = copy};
    wp_status st = WP_OK;
    if (!can(copy))
        return WP_OK;
    if ((st = look(&m, err)) == WP_OK) {
        const size_t e = is_at(&m, HERE) ? HERE : THERE;
        const size_t count = items_of(&m, e)->count + m.joins[e].count;
        st = take_back(&m, err);
        if (st == WP_OK)
            *let_go += (int64_t)count;
    }
    clear(&m);
    return st;
}
