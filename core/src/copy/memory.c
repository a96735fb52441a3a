/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the inbox that were done are known in both stores from then on: what arrives again is not done again in either.
 * Nothing is deleted, and a key that the target knows is left as it is there. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "copy/copy.h"

enum { ROWS = 200 };

/* What is refused, told when the page is through: a page may be tried again. */
typedef struct refusals {
    struct {
        wp_id id;
        char *why;
    } items[ROWS];
    size_t count;
} refusals;

static wp_status refuse(refusals *all, const wp__copy_row *row, const char *why, wp_error **err)
{
    all->items[all->count].id = row->id;
    all->items[all->count].why = wp__text_dup(why);
    return all->items[all->count++].why ? WP_OK : wp__fail_nomem(err);
}

/* A further pass meets some again. */
static bool was_told(const wp_copy *copy, const wp_id *id)
{
    char text[37];
    wp_id_format(text, id);
    for (size_t i = 0; copy->again && i < copy->refused_count; i++)
        if (strstr(copy->refused[i], text))
            return true;
    return false;
}

static wp_status tell(wp_copy *copy, const refusals *all, wp_error **err)
{
    wp_status st = WP_OK;
    for (size_t i = 0; i < all->count && st == WP_OK; i++)
        if (!was_told(copy, &all->items[i].id))
            st = wp__copy_note_refused(copy, &wp__inbox, &all->items[i].id, all->items[i].why, err);
    return st;
}

static void refusals_free(refusals *all)
{
    for (size_t i = 0; i < all->count; i++)
        free(all->items[i].why);
}

/* A row that no engine can hold is left out. */
static wp_status sort_out(wp_copy *copy, wp__copy_rows *rows, refusals *refused, wp_error **err)
{
    size_t kept = 0;
    wp_status st = WP_OK;
    for (size_t i = 0; i < rows->count; i++) {
        const char *fault = wp__copy_row_fault(&rows->items[i]);
        wp__copy_row row = rows->items[i];
        if (!fault)
            fault = wp__copy_too_large(&copy->target, &row);
        if (fault && st == WP_OK)
            st = refuse(refused, &row, fault, err);
        if (fault)
            free(row.memory);
        else
            rows->items[kept++] = row;
    }
    rows->count = kept;
    return st;
}

static wp_status remember_singly(wp_copy *copy, wp__copy_rows *rows, refusals *refused,
                                 wp_error **err)
{
    wp_status st = WP_OK;
    for (size_t i = 0; i < rows->count && st == WP_OK; i++) {
        wp__copy_rows one = {.items = &rows->items[i], .count = 1};
        wp_error *cause = NULL;
        st = wp__copy_remember(&one, &copy->target, &cause);
        if (st != WP_OK && wp__copy_is_refused(&copy->target, &rows->items[i], cause)) {
            rows->items[i].there = 0;
            st = refuse(refused, &rows->items[i], wp_error_message(cause), err);
            wp_error_free(cause);
            cause = NULL;
        }
        if (cause)
            wp__error_move(err, cause);
    }
    return st;
}

static wp_status remember(wp_copy *copy, wp__copy_rows *rows, refusals *refused, wp_error **err)
{
    wp_error *cause = NULL;
    wp_status st = wp__copy_remember(rows, &copy->target, &cause);
    if (st == WP_OK)
        return WP_OK;
    if (!wp__copy_may_be_refused(cause)) {
        wp__error_move(err, cause);
        return st;
    }
    wp_error_free(cause);
    return remember_singly(copy, rows, refused, err);
}

/* Read those back that were stored, and compare them. */
static wp_status recall(wp_copy *copy, const wp__copy_rows *rows, refusals *refused, size_t *known,
                        wp_error **err)
{
    wp__copy_rows back = {0};
    wp__copy_seqs seqs = {0};
    wp_status st = WP_OK;
    size_t b = 0, stored = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->items[i].there) {
            wp__copy_seqs_add(&seqs, rows->items[i].there);
            stored++;
        }
    if (stored && (st = wp__copy_seqs_end(&seqs, err)) == WP_OK)
        st = wp__copy_read_memory(&back, copy->target.store, 0, 0, 0, &seqs.json, err);
    for (size_t i = 0; i < rows->count && st == WP_OK && stored; i++) {
        const wp__copy_row *row = &rows->items[i];
        unsigned char want[WP__COPY_HASH_BYTES], got[WP__COPY_HASH_BYTES] = {0};
        if (!row->there)
            continue;
        while (b < back.count && back.items[b].seq < row->there)
            b++;
        if ((st = wp__copy_row_hash(want, row, err)) != WP_OK ||
            (b < back.count && back.items[b].seq == row->there &&
             (st = wp__copy_row_hash(got, &back.items[b], err)) != WP_OK))
            break;
        if (memcmp(want, got, sizeof want) != 0) {
            st = refuse(refused, row,
                        "the target does not give back the key as it was stored there", err);
            continue;
        }
        (*known)++;
        wp__copy_sum_add(&copy->sums[0], want);
        wp__copy_sum_add(&copy->sums[1], got);
    }
    wp__copy_rows_free(&back);
    wp__buf_free(&seqs.json);
    return st;
}

wp_status wp__copy_memory_page(bool *more, wp_copy *copy, wp_error **err)
{
    wp__copy_rows rows = {0};
    refusals refused = {.count = 0};
    size_t known = 0;
    wp_status st = wp__copy_read_memory(&rows, copy->source.store, copy->place.seq,
                                        copy->memory.since, ROWS, NULL, err);
    const int64_t last = rows.count ? rows.items[rows.count - 1].seq : 0;
    int64_t newest = copy->memory.newest;
    *more = rows.count > 0;
    for (size_t i = 0; i < rows.count; i++)
        if (rows.items[i].columns[WP__COPY_FINISHED_AT].i > newest)
            newest = rows.items[i].columns[WP__COPY_FINISHED_AT].i;
    if (st == WP_OK && *more && (st = sort_out(copy, &rows, &refused, err)) == WP_OK &&
        (st = remember(copy, &rows, &refused, err)) == WP_OK &&
        (st = recall(copy, &rows, &refused, &known, err)) == WP_OK &&
        (st = tell(copy, &refused, err)) == WP_OK) {
        copy->memory.newest = newest;
        copy->place.seq = last;
        copy->counts[wp__queue_index(&wp__inbox)][WP_COPY_REMEMBERED] += (int64_t)known;
        st = wp__copy_committed(copy, st, err);
    }
    wp__copy_rows_free(&rows);
    refusals_free(&refused);
    return st;
}
