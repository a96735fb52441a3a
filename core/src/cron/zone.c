/* SPDX-License-Identifier: Apache-2.0 */
#include "cron/zone.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/text.h"

/* The largest file of the IANA database has 4 KiB. */
enum { FILE_MAX = 1 << 18, NAME_MAX_BYTES = 255, HEADER_LEN = 44 };

struct wp__zone {
    atomic_int refs;
    char *name;
    int32_t first_offset; /* before times[0] */
    size_t count;
    int64_t *times;   /* rising */
    int32_t *offsets; /* from times[i] on */
    bool has_rule;    /* from the last of `times` on; always, if there are none */
    wp__tz_rule rule;
};

/* ---- the file ----------------------------------------------------------------------------- */

/* What is in one block of the file: a header and its data. */
typedef struct block {
    const unsigned char *data;
    size_t isut_count, isstd_count, leap_count, time_count, type_count, char_count;
    size_t time_size; /* 4 bytes in the first block, 8 in the second */
} block;

static uint32_t be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Two's complement, without what C leaves to the compiler. */
static int64_t be_signed(const unsigned char *p, size_t size)
{
    uint64_t value = be32(p);
    if (size == 4)
        return value < UINT32_C(0x80000000) ? (int64_t)value
                                            : (int64_t)value - INT64_C(0x100000000);
    value = value << 32 | be32(p + 4);
    return value <= INT64_MAX ? (int64_t)value : -(int64_t)(UINT64_MAX - value) - 1;
}

static size_t block_len(const block *b)
{
    return b->time_count * (b->time_size + 1) + b->type_count * 6 + b->char_count +
           b->leap_count * (b->time_size + 4) + b->isstd_count + b->isut_count;
}

/* Read the block at `data`; its end, or NULL if it is cut off or cannot be right. */
static const unsigned char *read_block(block *out, const unsigned char *data, size_t len,
                                       size_t time_size)
{
    size_t *const counts[] = {&out->isut_count, &out->isstd_count, &out->leap_count,
                              &out->time_count, &out->type_count,  &out->char_count};
    size_t i = 0;
    if (len < HEADER_LEN || memcmp(data, "TZif", 4) != 0)
        return NULL;
    for (i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        *counts[i] = be32(data + 20 + 4 * i);
        if (*counts[i] > len)
            return NULL;
    }
    out->data = data + HEADER_LEN;
    out->time_size = time_size;
    return block_len(out) <= len - HEADER_LEN ? out->data + block_len(out) : NULL;
}

/* The offset of local time type `type`; false if there is no such type or offset. */
static bool offset_of(int32_t *out, const block *b, size_t type)
{
    const unsigned char *types = b->data + b->time_count * (b->time_size + 1);
    int64_t offset = 0;
    if (type >= b->type_count)
        return false;
    offset = be_signed(types + 6 * type, 4);
    *out = (int32_t)offset;
    return offset > -WP__OFFSET_LIMIT && offset < WP__OFFSET_LIMIT;
}

/* Take over the transitions; false if they are not in order or their types do not exist. */
static bool read_times(wp__zone *zone, const block *b)
{
    const unsigned char *types = b->data + b->time_count * b->time_size;
    int64_t at = 0;
    size_t i = 0;
    if (!offset_of(&zone->first_offset, b, 0))
        return false;
    for (i = 0; i < b->time_count; i++) {
        at = be_signed(b->data + b->time_size * i, b->time_size);
        /* The first one may be as far away as the Big Bang. */
        at = at < -WP__SPAN_LIMIT ? -WP__SPAN_LIMIT : at > WP__SPAN_LIMIT ? WP__SPAN_LIMIT : at;
        if ((i > 0 && at <= zone->times[i - 1]) || !offset_of(&zone->offsets[i], b, types[i]))
            return false;
        zone->times[i] = at;
    }
    zone->count = b->time_count;
    return true;
}

/* The rule between two newlines at the file's end; empty is none. */
static bool read_rule(wp__zone *zone, const unsigned char *at, const unsigned char *end)
{
    const unsigned char *stop = NULL;
    if (at == end || *at != '\n')
        return false;
    at++;
    stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    if (!stop)
        return false;
    zone->has_rule = stop > at;
    return !zone->has_rule || wp__tz_rule_parse(&zone->rule, (const char *)at, (size_t)(stop - at));
}

static wp_status corrupt(const char *name, const char *what, wp_error **err)
{
    return wp__fail(err, WP_E_CONFIG, "zone %s: its file %s", name, what);
}

/* Find the block to use and what follows it: the second one where there are two. */
static wp_status find_block(block *out, const unsigned char **rest, const char *name,
                            const unsigned char *data, size_t len, wp_error **err)
{
    const unsigned char *end = data + len;
    if (len < 5 || memcmp(data, "TZif", 4) != 0)
        return corrupt(name, "is not a time zone file", err);
    *rest = read_block(out, data, len, 4);
    if (*rest && data[4] != '\0')
        *rest = read_block(out, *rest, (size_t)(end - *rest), 8);
    if (!*rest)
        return corrupt(name, "is cut off or corrupt", err);
    if (out->leap_count > 0)
        return corrupt(name, "counts leap seconds, which UTC does not", err);
    return WP_OK;
}

static wp_status new_zone(wp__zone **out, const char *name, size_t count, wp_error **err)
{
    wp__zone *zone = calloc(1, sizeof *zone);
    if (!zone)
        return wp__fail_nomem(err);
    atomic_init(&zone->refs, 1);
    zone->name = wp__text_dup(name);
    zone->times = calloc(count + 1, sizeof *zone->times);
    zone->offsets = calloc(count + 1, sizeof *zone->offsets);
    if (!zone->name || !zone->times || !zone->offsets) {
        wp__zone_free(zone);
        return wp__fail_nomem(err);
    }
    *out = zone;
    return WP_OK;
}

wp_status wp__zone_read(wp__zone **out, const char *name, const void *data, size_t len,
                        wp_error **err)
{
    const unsigned char *bytes = data, *rest = NULL;
    wp__zone *zone = NULL;
    block b = {.data = NULL};
    wp_status st = WP_OK;
    if ((st = find_block(&b, &rest, name, bytes, len, err)) != WP_OK ||
        (st = new_zone(&zone, name, b.time_count, err)) != WP_OK)
        goto done;
    if (!read_times(zone, &b)) {
        st = corrupt(name, "has transitions that are not in order, or of no type", err);
        goto done;
    }
    if (b.time_size == 8 && !read_rule(zone, rest, bytes + len)) {
        st = corrupt(name, "does not end with a rule for the years after its last", err);
        goto done;
    }
    *out = zone;
    zone = NULL;
done:
    wp__zone_free(zone);
    return st;
}

/* ---- names -------------------------------------------------------------------------------- */

/* Letters, digits and what else is in names of the database; parts between slashes that are not
 * empty and do not start with a dot: nothing that could lead out of the directory. */
static bool is_name(const char *name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  "_+-./";
    bool start = true;
    size_t i = 0;
    for (i = 0; name[i]; i++) {
        if (!strchr(allowed, name[i]) || (start && (name[i] == '.' || name[i] == '/')))
            return false;
        start = name[i] == '/';
    }
    return i > 0 && i <= NAME_MAX_BYTES && !start;
}

static bool is_utc(const char *name)
{
    return strcmp(name, "UTC") == 0 || strcmp(name, "Etc/UTC") == 0;
}

static wp_status load_file(wp__zone **out, const char *directory, const char *path,
                           const char *name, wp_error **err)
{
    wp_status st = WP_OK;
    char *data = NULL;
    size_t len = 0;
    if (wp__file_look(directory) != WP__FILE_DIRECTORY)
        return wp__fail(err, WP_E_CONFIG,
                        "schedule.zone_directory: %s is not a directory; is the time zone database "
                        "(tzdata) installed?",
                        directory);
    if (wp__file_look(path) != WP__FILE_REGULAR)
        return wp__fail(err, WP_E_NOT_FOUND, "zone %s is not in %s", name, directory);
    if ((st = wp__file_read(&data, &len, path, FILE_MAX, err)) == WP_OK)
        st = wp__zone_read(out, name, data, len, err);
    free(data);
    return st;
}

wp_status wp__zone_load(wp__zone **out, const char *directory, const char *name, wp_error **err)
{
    wp__buf path = {0};
    wp_status st = WP_OK;
    if (!is_name(name))
        return wp__fail(err, WP_E_ARGUMENT,
                        "zone is not a name of the time zone database, such as Europe/Vienna");
    if (is_utc(name))
        return new_zone(out, name, 0, err);
    wp__buf_fmt(&path, "%s/%s", directory, name);
    st = path.failed ? wp__fail_nomem(err) : load_file(out, directory, path.data, name, err);
    wp__buf_free(&path);
    return st;
}

wp__zone *wp__zone_ref(wp__zone *zone)
{
    (void)atomic_fetch_add_explicit(&zone->refs, 1, memory_order_relaxed);
    return zone;
}

void wp__zone_free(wp__zone *zone)
{
    if (!zone || atomic_fetch_sub(&zone->refs, 1) != 1)
        return;
    free(zone->name);
    free(zone->times);
    free(zone->offsets);
    free(zone);
}

const char *wp__zone_name(const wp__zone *zone)
{
    return zone->name;
}

/* ---- use ---------------------------------------------------------------------------------- */

/* How many transitions are at or before `second`. */
static size_t passed(const wp__zone *zone, int64_t second)
{
    size_t low = 0, high = zone->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (zone->times[middle] <= second)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

wp__span wp__zone_span(const wp__zone *zone, int64_t second)
{
    const size_t i = passed(zone, second);
    const int64_t begin = i > 0 ? zone->times[i - 1] : -WP__SPAN_LIMIT;
    wp__span span = {begin, WP__SPAN_LIMIT, i > 0 ? zone->offsets[i - 1] : zone->first_offset};
    if (i < zone->count) {
        span.end = zone->times[i];
    } else if (zone->has_rule) {
        span = wp__tz_rule_span(&zone->rule, second);
        if (span.begin < begin)
            span.begin = begin;
    }
    return span;
}
