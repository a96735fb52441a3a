/* SPDX-License-Identifier: Apache-2.0 */
/* One page of a move. What is held in the source has not been deleted there; what is held in the target and
 * not known in the source any more was deleted there, and may be let go. So a page that was begun by a process
 * that died is finished by looking at both. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "copy/copy.h"

enum { PART_ROWS = 200, PART_BYTES = 4 << 20 };

static const char not_given_back[] = "the target does not give back what was stored there";

typedef wp__copy_batch page;

static int by_id(const void *a, const void *b)
{
    return memcmp(((const wp__copy_item *)a)->id.bytes, ((const wp__copy_item *)b)->id.bytes,
                  sizeof(wp_id));
}

/* Among those that are sorted by id. */
static wp__copy_item *find(const wp__copy_items *items, const wp_id *id)
{
    wp__copy_item key = {.id = *id};
    return items->count ? bsearch(&key, items->items, items->count, sizeof key, by_id) : NULL;
}

/* Who is where. The target is read first: what is there was on its way in the source, and if it is not so any more
 * when that is read, it was deleted. */
static wp_status look(page *p, wp_error **err)
{
    wp_status st;
    wp__copy_items_free(&p->here);
    wp__copy_items_free(&p->there);
    if ((st = wp__copy_list(&p->there, &p->copy->target, p->queue, err)) != WP_OK ||
        (st = wp__copy_list(&p->here, &p->copy->source, p->queue, err)) != WP_OK)
        return st;
    wp__copy_batch_match(p);
    return WP_OK;
}

void wp__copy_batch_clear(wp__copy_batch *p)
{
    wp__copy_items_free(&p->here);
    wp__copy_items_free(&p->there);
}

void wp__copy_batch_match(wp__copy_batch *p)
{
    if (p->there.count)
        qsort(p->there.items, p->there.count, sizeof *p->there.items, by_id);
    for (size_t i = 0; i < p->here.count; i++) {
        const wp__copy_item *same = find(&p->there, &p->here.items[i].id);
        p->here.items[i].there = same ? same->seq : 0;
        p->here.items[i].there_held = same ? (int)same->held : WP__COPY_LOST;
        p->here.items[i].there_arrived = same && same->arrived;
    }
}

/* ---- what becomes of them ----------------------------------------------------------------- */

enum { HERE, THERE, ENDS };

/* What is to be done with numbers of each end, in this order. */
typedef struct fates {
    wp__copy_seqs drop[ENDS];
    wp__copy_seqs settle[ENDS];
    wp__copy_seqs let_go[ENDS];
} fates;

static void fates_free(fates *f)
{
    for (size_t e = 0; e < ENDS; e++) {
        wp__buf_free(&f->drop[e].json);
        wp__buf_free(&f->settle[e].json);
        wp__buf_free(&f->let_go[e].json);
    }
}

static wp_status let_go(page *p, size_t e, wp__copy_seqs *seqs, wp_error **err)
{
    const wp__copy_end *end = e == HERE ? &p->copy->source : &p->copy->target;
    wp_status st = WP_OK;
    if (seqs->count && (st = wp__copy_seqs_end(seqs, err)) == WP_OK) {
        st = wp__copy_free_held(end, p->queue, seqs, err);
        wp__store_announce(end->store);
        st = wp__copy_committed(p->copy, st, err);
    }
    return st;
}

typedef wp_status (*on_held)(bool *missed, const wp__copy_end *end, const wp__queue *queue,
                             const wp__copy_seqs *seqs, wp_error **err);

static wp_status change(page *p, size_t e, on_held fn, wp__copy_seqs *seqs, wp_error **err)
{
    const wp__copy_end *end = e == HERE ? &p->copy->source : &p->copy->target;
    wp_status st = WP_OK;
    if (seqs->count && !p->missed && (st = wp__copy_seqs_end(seqs, err)) == WP_OK) {
        st = fn(&p->missed, end, p->queue, seqs, err);
        st = p->missed ? st : wp__copy_committed(p->copy, st, err);
    }
    return st;
}

/* A copy goes before the original may be had, and the original before the copy may be. */
static wp_status meet(page *p, fates *f, wp_error **err)
{
    wp_status st = WP_OK;
    for (size_t e = ENDS; e-- > 0 && st == WP_OK;)
        st = change(p, e, wp__copy_drop, &f->drop[e], err);
    for (size_t e = 0; e < ENDS && st == WP_OK; e++)
        st = change(p, e, wp__copy_settle, &f->settle[e], err);
    for (size_t e = ENDS; e-- > 0 && st == WP_OK && !p->missed;)
        st = let_go(p, e, &f->let_go[e], err);
    return st;
}

/* It is where it was, in each. */
static bool moves(const wp__copy_item *item)
{
    return item->held == WP__COPY_KEPT && (!item->there || item->there_held == WP__COPY_KEPT);
}

/* The move that it is of went the other way: its original is there. */
static bool is_back(const wp__copy_item *item)
{
    return item->arrived && !item->there_arrived;
}

/* Of one that somebody has finished in one of the stores, though it was held: the other one does not have it to do
 * then. Whether it was. */
static bool was_finished(fates *f, const wp__copy_item *item)
{
    const bool there = item->there && item->there_held == WP__COPY_KEPT;
    if (item->held == WP__COPY_KEPT && !(item->there && item->there_held == WP__COPY_ENDED))
        return false;
    if (item->there)
        wp__copy_seqs_add(there ? &f->settle[THERE] : &f->let_go[THERE], item->there);
    wp__copy_seqs_add(item->held == WP__COPY_KEPT ? &f->settle[HERE] : &f->let_go[HERE], item->seq);
    return true;
}

/* Those of the target that the source does not know any more. */
static wp_status add_orphans(page *p, fates *f, wp_error **err)
{
    wp__copy_items known = {.count = p->here.count};
    if (!p->there.count)
        return WP_OK;
    if (known.count) {
        known.items = malloc(known.count * sizeof *known.items);
        if (!known.items)
            return wp__fail_nomem(err);
        memcpy(known.items, p->here.items, known.count * sizeof *known.items);
        qsort(known.items, known.count, sizeof *known.items, by_id);
    }
    qsort(p->there.items, p->there.count, sizeof *p->there.items, wp__copy_by_seq);
    for (size_t i = 0; i < p->there.count; i++)
        if (!find(&known, &p->there.items[i].id))
            wp__copy_seqs_add(&f->let_go[THERE], p->there.items[i].seq);
    free(known.items);
    return WP_OK;
}

/* Let go in the target what was deleted in the source by one that died then. */
static wp_status free_orphans(page *p, wp_error **err)
{
    fates f = {0};
    wp_status st = add_orphans(p, &f, err);
    if (st == WP_OK)
        st = meet(p, &f, err);
    fates_free(&f);
    return st;
}

/* ---- storing ------------------------------------------------------------------------------ */

/* The next part of the page: some rows that are not too large together. Returns where it ends. */
static size_t next_part(wp__copy_seqs *seqs, const page *p, size_t from, bool in_target)
{
    int64_t bytes = 0;
    size_t rows = 0, i = from;
    for (; i < p->here.count; i++) {
        const wp__copy_item *item = &p->here.items[i];
        if (!moves(item) || (in_target && (item->refused || !item->there)))
            continue;
        if (rows && (rows == PART_ROWS || bytes + item->bytes > PART_BYTES))
            break;
        wp__copy_seqs_add(seqs, in_target ? item->there : item->seq);
        bytes += item->bytes;
        rows++;
    }
    return i;
}

/* A driver may have a limit of its own for texts, and then the sums of both would agree on what is left. Where the source counts
 * UTF-16 units these are no more than the bytes. */
static bool is_cut(const wp__copy_row *row, const wp__copy_item *item)
{
    const wp__value *payload = &row->columns[WP__COPY_PAYLOAD];
    return payload->type == WP_VALUE_TEXT && item->bytes > 0 &&
           payload->len < (uint64_t)item->bytes;
}

/* What was read, without those that need not be stored or cannot. The items from `from` on are in the rows' order. */
static wp_status sort_out(page *p, wp__copy_rows *rows, size_t from, size_t to, wp_error **err)
{
    size_t kept = 0, i = from;
    wp_status st;
    for (size_t r = 0; r < rows->count; r++) {
        wp__copy_row *row = &rows->items[r];
        wp__copy_item *item;
        while (i < to && p->here.items[i].seq != row->seq)
            i++;
        if (i == to)
            return wp__fail(err, WP_E_INTERNAL, "a message was read that was not asked for");
        item = &p->here.items[i];
        item->given = true;
        if (p->queue == &wp__inbox && row->columns[WP__COPY_LAST_SEEN].type == WP_VALUE_INT64)
            item->seen_us = row->columns[WP__COPY_LAST_SEEN].i;
        if (p->queue == &wp__job_run && row->columns[WP__COPY_CANCEL_AT].type == WP_VALUE_INT64)
            item->seen_us = row->columns[WP__COPY_CANCEL_AT].i;
        item->refused = wp__copy_row_fault(row);
        if (!item->refused && is_cut(row, item))
            item->refused = "the source does not give back its payload whole";
        if (!item->refused)
            item->refused = wp__copy_too_large(&p->copy->target, row);
        if ((st = wp__copy_row_hash(item->hash, row, err)) != WP_OK)
            return st;
        if (item->refused || item->there) {
            free(row->memory);
            row->memory = NULL;
            continue;
        }
        if (kept != r) {
            rows->items[kept] = *row;
            row->memory = NULL;
        }
        kept++;
    }
    rows->count = kept;
    for (i = from; i < to; i++)
        if (moves(&p->here.items[i]) && !p->here.items[i].given)
            p->here.items[i].refused = "it was finished in the source meanwhile";
    return WP_OK;
}

static void note_stored(page *p, const wp__copy_rows *rows, size_t from)
{
    size_t i = from;
    for (size_t r = 0; r < rows->count; r++) {
        while (p->here.items[i].seq != rows->items[r].seq)
            i++;
        p->here.items[i].there = rows->items[r].there;
        p->here.items[i].there_held = WP__COPY_KEPT;
        if (p->here.items[i].refused)
            continue;
        if (!rows->items[r].there && p->queue == &wp__inbox)
            p->here.items[i].refused = "the target knows its source, message id and consumer";
        else if (!rows->items[r].there && p->queue == &wp__job_run)
            p->here.items[i].refused = "the target has a run with its id, or one of its occurrence";
        else if (!rows->items[r].there)
            p->here.items[i].refused =
                rows->items[r].columns[WP__COPY_UNIQUE_KEY].type == WP_VALUE_NULL ||
                        rows->items[r].columns[WP__COPY_STATUS].i != 0
                    ? "the target has a message with its id"
                    : "the target has a message with its id, or an unfinished one with its unique "
                      "key";
    }
}

/* Why it is not stored: what the target says. */
static wp_status refuse_row(page *p, const wp__copy_row *row, size_t from, const wp_error *why,
                            wp_error **err)
{
    size_t i = from;
    while (p->here.items[i].seq != row->seq)
        i++;
    p->here.items[i].why = wp__text_dup(wp_error_message(why));
    p->here.items[i].refused = p->here.items[i].why;
    return p->here.items[i].why ? WP_OK : wp__fail_nomem(err);
}

/* Store each in a transaction of its own; which the target cannot store is refused. */
static wp_status store_singly(page *p, wp__copy_rows *rows, size_t from, wp_error **err)
{
    wp_status st = WP_OK;
    for (size_t r = 0; r < rows->count && st == WP_OK; r++) {
        wp__copy_rows one = {.items = &rows->items[r], .count = 1, .job = rows->job};
        wp_error *cause = NULL;
        st = wp__copy_put(&one, &p->copy->target, p->queue, &cause);
        if (st != WP_OK && wp__copy_is_refused(&p->copy->target, &rows->items[r], cause)) {
            rows->items[r].there = 0;
            st = refuse_row(p, &rows->items[r], from, cause, err);
            wp_error_free(cause);
            cause = NULL;
        }
        if (cause)
            wp__error_move(err, cause);
    }
    return st;
}

static wp_status put_rows(page *p, wp__copy_rows *rows, size_t from, wp_error **err)
{
    wp_error *cause = NULL;
    wp_status st;
    if (rows->count == 1)
        return store_singly(p, rows, from, err);
    st = wp__copy_put(rows, &p->copy->target, p->queue, &cause);
    if (st == WP_OK || !wp__copy_may_be_refused(cause)) {
        if (cause)
            wp__error_move(err, cause);
        return st;
    }
    wp_error_free(cause);
    return store_singly(p, rows, from, err);
}

static wp_status store_part(page *p, const wp__copy_seqs *seqs, size_t from, size_t to,
                            wp_error **err)
{
    wp__copy_rows rows = {0};
    wp_status st;
    if ((st = wp__copy_read(&rows, &p->copy->source, p->queue, &seqs->json, err)) == WP_OK &&
        (st = sort_out(p, &rows, from, to, err)) == WP_OK && rows.count) {
        rows.job = p->job;
        st = put_rows(p, &rows, from, err);
        if (st == WP_OK)
            note_stored(p, &rows, from);
        st = wp__copy_committed(p->copy, st, err);
    }
    wp__copy_rows_free(&rows);
    return st;
}

wp_status wp__copy_batch_store(page *p, wp_error **err)
{
    wp_status st = WP_OK;
    for (size_t at = 0; at < p->here.count && st == WP_OK;) {
        wp__copy_seqs seqs = {0};
        const size_t end = next_part(&seqs, p, at, false);
        if (seqs.count && (st = wp__copy_seqs_end(&seqs, err)) == WP_OK)
            st = store_part(p, &seqs, at, end, err);
        wp__buf_free(&seqs.json);
        at = end;
    }
    return st;
}

/* ---- comparing ---------------------------------------------------------------------------- */

static int by_there(const void *a, const void *b)
{
    const int64_t x = (*(wp__copy_item *const *)a)->there, y = (*(wp__copy_item *const *)b)->there;
    return (x > y) - (x < y);
}

/* Those that are to be in the target, by their numbers there. */
typedef struct stored {
    wp__copy_item **items;
    size_t count;
    size_t same; /* that were found to be as they should */
} stored;

static wp_status list_stored(stored *out, page *p, wp_error **err)
{
    out->items = calloc(p->here.count + 1, sizeof *out->items);
    if (!out->items)
        return wp__fail_nomem(err);
    for (size_t i = 0; i < p->here.count; i++)
        if (moves(&p->here.items[i]) && p->here.items[i].there && !p->here.items[i].refused)
            out->items[out->count++] = &p->here.items[i];
    qsort(out->items, out->count, sizeof(wp__copy_item *), by_there);
    return WP_OK;
}

static wp_status compare(page *p, stored *all, const wp__copy_rows *rows, wp_error **err)
{
    for (size_t r = 0; r < rows->count; r++) {
        unsigned char hash[WP__COPY_HASH_BYTES];
        wp__copy_item wanted = {.there = rows->items[r].seq}, *key = &wanted;
        wp__copy_item **found =
            bsearch(&key, all->items, all->count, sizeof(wp__copy_item *), by_there);
        wp_status st;
        char id[37];
        if ((st = wp__copy_row_hash(hash, &rows->items[r], err)) != WP_OK)
            return st;
        wp_id_format(id, &rows->items[r].id);
        p->differs = !found || memcmp(hash, (*found)->hash, sizeof hash) != 0;
        if (p->differs && found && p->queue == &wp__inbox) { /* alone, and once more */
            (*found)->refused = "it arrived again meanwhile, or the target does not give it back";
            p->differs = false;
            p->copy->changed = true;
            all->same++;
            continue;
        }
        if (!p->differs && p->queue == &wp__job_run && (*found)->seen_us &&
            rows->items[r].columns[WP__COPY_CANCEL_AT].type == WP_VALUE_NULL) {
            /* by a move that was cut off before; what is stored anew comes with it */
            (*found)->refused = "it was asked to end meanwhile";
            all->same++;
            continue;
        }
        if (p->differs)
            return wp__fail(err, WP_E_DB,
                            "%s %s: what the target gives back is not what was stored there: "
                            "nothing is deleted in the source",
                            p->queue->name, id);
        memcpy((*found)->back, hash, sizeof hash);
        all->same++;
    }
    return WP_OK;
}

/* Read back what is in the target, and compare it. What was finished there meanwhile cannot be read. */
wp_status wp__copy_batch_verify(page *p, wp_error **err)
{
    stored all = {0};
    wp_status st = list_stored(&all, p, err);
    for (size_t at = 0; at < p->here.count && st == WP_OK;) {
        wp__copy_rows rows = {0};
        wp__copy_seqs seqs = {0};
        const size_t end = next_part(&seqs, p, at, true);
        at = end;
        if (seqs.count && (st = wp__copy_seqs_end(&seqs, err)) == WP_OK &&
            (st = wp__copy_read(&rows, &p->copy->target, p->queue, &seqs.json, err)) == WP_OK)
            st = compare(p, &all, &rows, err);
        wp__copy_rows_free(&rows);
        wp__buf_free(&seqs.json);
    }
    p->missed = st == WP_OK && all.same != all.count;
    free(all.items);
    return st;
}

/* ---- what is refused ---------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    return strcmp(x, y);
}

/* Unfinished ones stay together with those of their ordering key. */
static wp_status refuse_keys(page *p, wp_error **err)
{
    char **keys = calloc(p->here.count + 1, sizeof *keys);
    size_t count = 0;
    if (!keys)
        return wp__fail_nomem(err);
    for (size_t i = 0; i < p->here.count; i++)
        if (p->here.items[i].refused && p->here.items[i].key && !p->here.items[i].status)
            keys[count++] = p->here.items[i].key;
    qsort(keys, count, sizeof *keys, by_key);
    for (size_t i = 0; i < p->here.count && count; i++) {
        wp__copy_item *item = &p->here.items[i];
        if (item->key && !item->status && !item->refused &&
            bsearch(&item->key, keys, count, sizeof *keys, by_key))
            item->refused = "another one of its ordering key is refused";
    }
    free(keys);
    return WP_OK;
}

/* Those that became members of joins go with these, in the next pass. */
static wp_status refuse_members(page *p, wp_error **err)
{
    bool any = false;
    const wp_status st = p->queue == &wp__outbox
                             ? wp__copy_refuse_attached(&any, &p->here, &p->copy->source, err)
                             : WP_OK;
    p->copy->changed = p->copy->changed || any;
    return st;
}

/* The copy goes, and the original is as it was. */
static void take_back(fates *f, const wp__copy_item *item)
{
    const bool both = item->there && moves(item);
    const bool back = both && is_back(item);
    if (item->there)
        wp__copy_seqs_add(both && !back ? &f->drop[THERE] : &f->let_go[THERE], item->there);
    wp__copy_seqs_add(back ? &f->drop[HERE] : &f->let_go[HERE], item->seq);
}

/* Those that can be moved are deleted in the source and let go in the target; those that cannot are taken back: first
 * in the target, where some may be stored. */
static wp_status part(page *p, size_t *moved, wp__copy_sum sums[2], wp_error **err)
{
    fates f = {.settle[HERE].as_read = p->queue == &wp__inbox ? &p->here : NULL};
    wp_status st;
    *moved = 0;
    for (size_t i = 0; i < p->here.count; i++) {
        wp__copy_item *item = &p->here.items[i];
        if (was_finished(&f, item)) {
            item->refused = NULL; /* it is not told of */
            continue;
        }
        if (!moves(item) && !item->refused) /* it was stored, and is gone there */
            item->refused = not_given_back;
        if (item->refused) {
            take_back(&f, item);
        } else if (item->there) {
            wp__copy_seqs_add(&f.settle[HERE], item->seq);
            wp__copy_seqs_add(&f.let_go[THERE], item->there);
            wp__copy_sum_add(&sums[0], item->hash);
            wp__copy_sum_add(&sums[1], item->back);
            (*moved)++;
        }
    }
    st = meet(p, &f, err);
    for (size_t i = 0; i < p->here.count && st == WP_OK && !p->missed; i++)
        if (p->here.items[i].refused) /* now, since a page that failed is tried again */
            st = wp__copy_note_refused(p->copy, p->queue, &p->here.items[i].id,
                                       p->here.items[i].refused, err);
    fates_free(&f);
    return st;
}

/* Compare; and take the whole page back where something differs. */
static wp_status verify_or_take_back(page *p, wp_error **err)
{
    const wp_status st = wp__copy_batch_verify(p, err);
    wp__copy_sum sums[2] = {{{0}}};
    size_t moved;
    if (!p->differs)
        return st;
    for (size_t i = 0; i < p->here.count; i++)
        p->here.items[i].refused = not_given_back;
    (void)part(p, &moved, sums, NULL); /* else the next one does */
    return st;
}

/* ---- the page ----------------------------------------------------------------------------- */

/* Hold the next ones, unless something is on its way. *more: something is. */
static wp_status take(page *p, bool *more, wp_error **err)
{
    wp_copy *copy = p->copy;
    wp_status st = WP_OK;
    *more = p->here.count > 0;
    while (st == WP_OK && !*more) { /* a whole page may belong to keys that are held */
        size_t found = 0;
        st = wp__copy_take(&found, &copy->place, &copy->source, p->queue, copy->page, err);
        if (st == WP_OK && !found && copy->dead)
            st = wp__copy_take_dead(&found, &copy->place, &copy->source, p->queue, copy->page, err);
        if (st != WP_OK || !found)
            return st;
        if ((st = wp__copy_committed(copy, st, err)) == WP_OK && (st = look(p, err)) == WP_OK)
            *more = p->here.count > 0;
    }
    return st;
}

wp_status wp__copy_page(bool *more, wp_copy *copy, const wp__queue *queue, wp_error **err)
{
    page p = {.copy = copy, .queue = queue};
    wp__copy_sum sums[2] = {copy->sums[0], copy->sums[1]};
    size_t moved = 0;
    wp_status st;
    if ((st = look(&p, err)) == WP_OK && (st = free_orphans(&p, err)) == WP_OK &&
        (st = take(&p, more, err)) == WP_OK && *more &&
        (st = wp__copy_batch_store(&p, err)) == WP_OK && (st = refuse_keys(&p, err)) == WP_OK &&
        (st = verify_or_take_back(&p, err)) == WP_OK && !p.missed &&
        (st = refuse_members(&p, err)) == WP_OK && (st = refuse_keys(&p, err)) == WP_OK &&
        (st = part(&p, &moved, sums, err)) == WP_OK && !p.missed) {
        copy->counts[wp__queue_index(queue)][WP_COPY_MOVED] += (int64_t)moved;
        memcpy(copy->sums, sums, sizeof sums);
    }
    *more = *more || p.missed;
    wp__copy_items_free(&p.here);
    wp__copy_items_free(&p.there);
    return st;
}

/* ---- giving up ---------------------------------------------------------------------------- */

wp_status wp__copy_give_up(int64_t *let_go, wp_copy *copy, const wp__queue *queue, wp_error **err)
{
    wp_status st = WP_OK;
    for (bool again = true; again && st == WP_OK;) {
        page p = {.copy = copy, .queue = queue};
        fates f = {0};
        if ((st = look(&p, err)) == WP_OK && (st = add_orphans(&p, &f, err)) == WP_OK) {
            for (size_t i = 0; i < p.here.count; i++)
                if (!was_finished(&f, &p.here.items[i]))
                    take_back(&f, &p.here.items[i]);
            st = meet(&p, &f, err);
        }
        if (st == WP_OK && !p.missed)
            *let_go += (int64_t)(f.let_go[HERE].count + f.let_go[THERE].count);
        again = p.missed;
        fates_free(&f);
        wp__copy_items_free(&p.here);
        wp__copy_items_free(&p.there);
    }
    return st;
}
