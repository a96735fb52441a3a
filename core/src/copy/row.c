/* SPDX-License-Identifier: Apache-2.0 */
/* A message with all that is known of it. */
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "copy/copy.h"
#include "queue/pause.h"

const wp__queue wp__copy_of_jobs = {.name = "jobs"};
const wp__queue wp__copy_of_joins = {.name = "joins"};
const wp__queue wp__copy_of_nexts = {.name = "joins"};
const wp__queue wp__copy_joined = {.name = "outbox", .first_sql = WP__SQL_FIRST_OF_OUTBOX};

const char *wp__copy_word(const wp__queue *queue)
{
    return queue == &wp__copy_joined ? "join" : wp__queue_word(queue);
}

/* Where another id is than its own; 0: nowhere. */
static size_t other_id(const wp__queue *queue)
{
    return queue == &wp__job_run         ? (size_t)WP__COPY_JOB_ID
           : queue == &wp__copy_of_nexts ? (size_t)WP__COPY_NEXT_JOIN
                                         : 0;
}

static bool has_bytes(const wp__value *value)
{
    return value->type != WP_VALUE_NULL && value->type != WP_VALUE_INT64;
}

wp_status wp__copy_rows_add(wp__copy_rows *rows, const wp__queue *queue, const wp__value *columns,
                            wp_error **err)
{
    const size_t other = other_id(queue);
    wp__copy_row *row;
    size_t bytes = 1;
    wp_status st;
    if (rows->count == rows->cap) {
        const size_t cap = rows->cap ? rows->cap * 2 : 64;
        wp__copy_row *items = realloc(rows->items, cap * sizeof *items);
        if (!items)
            return wp__fail_nomem(err);
        rows->items = items;
        rows->cap = cap;
    }
    row = &rows->items[rows->count];
    memset(row, 0, sizeof *row);
    row->queue = queue;
    if ((st = wp__column_int(&row->seq, &columns[WP__COPY_SEQ], err)) != WP_OK ||
        (st = wp__column_id(&row->id, &columns[WP__COPY_ID], err)) != WP_OK ||
        (other && (st = wp__column_id(&row->job_id, &columns[other], err)) != WP_OK))
        return st;
    for (size_t i = 0; i < wp__copy_columns(queue); i++)
        if (has_bytes(&columns[i]))
            bytes += columns[i].len + 1;
    row->memory = malloc(bytes);
    if (!row->memory)
        return wp__fail_nomem(err);
    bytes = 0;
    for (size_t i = 0; i < wp__copy_columns(queue); i++) {
        if (columns[i].type == WP_VALUE_NULL) /* its text is the one of a row before it, or none */
            continue;
        row->columns[i] = columns[i];
        if (!has_bytes(&columns[i]))
            continue;
        row->columns[i].p = row->memory + bytes;
        if (columns[i].len)
            memcpy(row->memory + bytes, columns[i].p, columns[i].len);
        row->memory[bytes + columns[i].len] = '\0';
        bytes += columns[i].len + 1;
    }
    if (other) /* which engines write differently */
        row->columns[other] = (wp__value){.type = WP_VALUE_NULL};
    rows->count++;
    return WP_OK;
}

void wp__copy_rows_free(wp__copy_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        free(rows->items[i].memory);
    free(rows->items);
    memset(rows, 0, sizeof *rows);
}

/* ---- what an engine can hold -------------------------------------------------------------- */

enum { INT, TEXT };

/* `units`: the most UTF-16 units; `bytes`: the most bytes; 0: any. */
typedef struct kind {
    const char *fault;
    uint8_t type;
    bool null;
    size_t units, bytes;
} kind;

static const kind kinds[WP__COPY_COLUMNS] = {
    [WP__COPY_STATUS] = {"its state cannot be read", INT, false, 0, 0},
    [WP__COPY_ATTEMPT] = {"its attempts cannot be read", INT, false, 0, 0},
    [WP__COPY_CLAIM_NUMBER] = {"its claim number cannot be read", INT, false, 0, 0},
    [WP__COPY_NEXT_ATTEMPT] = {"its next attempt cannot be read", INT, false, 0, 0},
    [WP__COPY_WORK_EXPIRES] = {"its expiry cannot be read", INT, true, 0, 0},
    [WP__COPY_LAST_ERROR] = {"its last error is no text of at most 65535 bytes", TEXT, true, 0,
                             65535},
    [WP__COPY_FINISHED_AT] = {"when it was given up cannot be read", INT, true, 0, 0},
    [WP__COPY_FINISHED_BY] = {"who gave it up is no text of at most 65535 bytes", TEXT, true, 0,
                              65535},
    [WP__COPY_TOPIC] = {"its topic is no text of 1 to 255 characters", TEXT, false, WP_NAME_MAX, 0},
    [WP__COPY_PAYLOAD] = {"its payload is no text without NUL of at most 256 MiB", TEXT, false, 0,
                          WP_PAYLOAD_MAX},
    [WP__COPY_HEADERS] = {"its headers are no text of at most 64 KiB", TEXT, true, 0,
                          WP_HEADERS_MAX},
    [WP__COPY_CORRELATION] = {"its correlation id is no text of at most 255 characters", TEXT, true,
                              WP_NAME_MAX, 0},
    [WP__COPY_ORDERING_KEY] = {"its ordering key is no text of at most 255 characters", TEXT, true,
                               WP_NAME_MAX, 0},
    [WP__COPY_CREATED_AT] = {"when it was stored cannot be read", INT, false, 0, 0},
    [WP__COPY_DUE_AT] = {"when it is due cannot be read", INT, false, 0, 0},
    [WP__COPY_EXPIRES_AT] = {"its expiry cannot be read", INT, true, 0, 0},
    [WP__COPY_UNIQUE_KEY] = {"its unique key is no text of at most 255 characters", TEXT, true,
                             WP_NAME_MAX, 0},
};

/* What the inbox has instead of the unique key. */
static const kind inbox_kinds[] = {
    {"its source is no text of 1 to 255 characters", TEXT, false, WP_NAME_MAX, 0},
    {"its message id is no text of 1 to 255 characters", TEXT, false, WP_NAME_MAX, 0},
    {"its consumer is no text of 1 to 255 characters", TEXT, false, WP_NAME_MAX, 0},
    {"its hash is no text of at most 2048 bytes", TEXT, true, 0, 2048},
    {"its hash's algorithm is no text of at most 255 characters", TEXT, true, WP_NAME_MAX, 0},
    {"when it was last seen cannot be read", INT, false, 0, 0},
};

/* And runs. */
static const kind run_kinds[] = {
    {"its job cannot be read", TEXT, true, 0, 0},
    {"its job's name is no text of 1 to 255 characters", TEXT, false, WP_NAME_MAX, 0},
    {"its occurrence cannot be read", INT, true, 0, 0},
    {"its options are no text of at most 65535 bytes", TEXT, true, 0, 65535},
    {"when it began cannot be read", INT, true, 0, 0},
    {"when it was asked to end cannot be read", INT, true, 0, 0},
    {"its output is no text of at most 256 MiB", TEXT, true, 0, WP_PAYLOAD_MAX},
};

/* What a job has. */
static const kind job_kinds[WP__COPY_JOB_COLUMNS] = {
    [WP__COPY_JOB_ITS_NAME] = {"its name is no text of 1 to 255 characters", TEXT, false,
                               WP_NAME_MAX, 0},
    [WP__COPY_JOB_TOPIC] = {"its topic is no text of 1 to 255 characters", TEXT, false, WP_NAME_MAX,
                            0},
    [WP__COPY_JOB_PAYLOAD] = {"its payload is no text without NUL of at most 256 MiB", TEXT, false,
                              0, WP_PAYLOAD_MAX},
    [WP__COPY_JOB_EXPRESSION] = {"its expression is no text of at most 64 KiB", TEXT, true, 0,
                                 65536},
    [WP__COPY_JOB_ZONE] = {"its zone is no text of at most 64 KiB", TEXT, true, 0, 65536},
    [WP__COPY_JOB_OPTIONS] = {"its options are no text of at most 65535 bytes", TEXT, false, 0,
                              65535},
    [WP__COPY_JOB_REGISTRAR] = {"its registrar is no text of at most 255 characters", TEXT, true,
                                WP_NAME_MAX, 0},
    [WP__COPY_JOB_ABSENT] = {"whether it is registered cannot be read", INT, false, 0, 0},
    [WP__COPY_JOB_DISABLED] = {"whether it is disabled cannot be read", INT, false, 0, 0},
    [WP__COPY_JOB_NEXT_DUE] = {"when it is due cannot be read", INT, true, 0, 0},
    [WP__COPY_JOB_CREATED_AT] = {"when it was stored cannot be read", INT, false, 0, 0},
};

/* A join. */
static const kind join_kinds[WP__COPY_JOIN_COLUMNS] = {
    [WP__COPY_JOIN_STATUS] = {"its state cannot be read", INT, false, 0, 0},
    [WP__COPY_JOIN_EXPECTED] = {"how many it expects cannot be read", INT, false, 0, 0},
    [WP__COPY_JOIN_COMPLETED] = {"its counts cannot be read", INT, false, 0, 0},
    [WP__COPY_JOIN_FAILED] = {"its counts cannot be read", INT, false, 0, 0},
    [WP__COPY_JOIN_FAIL_IF_ANY] = {"when it fails cannot be read", INT, false, 0, 0},
    [WP__COPY_JOIN_GROUP] = {"its grouping key is no text of at most 255 characters", TEXT, true,
                             WP_NAME_MAX, 0},
    [WP__COPY_JOIN_METADATA] = {"its metadata are no text without NUL of at most 256 MiB", TEXT,
                                true, 0, WP_PAYLOAD_MAX},
    [WP__COPY_JOIN_CREATED_AT] = {"when it was started cannot be read", INT, false, 0, 0},
    [WP__COPY_JOIN_DEADLINE] = {"its deadline cannot be read", INT, true, 0, 0},
    [WP__COPY_JOIN_ENDED_AT] = {"when it was over cannot be read", INT, true, 0, 0},
    [WP__COPY_JOIN_REASON] = {"why it failed is no text of at most 65535 bytes", TEXT, true, 0,
                              65535},
};

/* And what is enqueued when it is over. */
static const kind next_kinds[WP__COPY_NEXT_COLUMNS] = {
    [WP__COPY_NEXT_JOIN] = {"whose its message is cannot be read", TEXT, true, 0, 0},
    [WP__COPY_NEXT_STATUS] = {"when its message is enqueued cannot be read", INT, false, 0, 0},
    [WP__COPY_NEXT_TOPIC] = {"its message's topic is no text of 1 to 255 characters", TEXT, false,
                             WP_NAME_MAX, 0},
    [WP__COPY_NEXT_PAYLOAD] = {"its message's payload is no text without NUL of at most 256 MiB",
                               TEXT, false, 0, WP_PAYLOAD_MAX},
    [WP__COPY_NEXT_HEADERS] = {"its message's headers are no text of at most 64 KiB", TEXT, true, 0,
                               WP_HEADERS_MAX},
    [WP__COPY_NEXT_CORRELATION] = {"its message's correlation id is no text of at most 255 "
                                   "characters",
                                   TEXT, true, WP_NAME_MAX, 0},
    [WP__COPY_NEXT_ORDERING_KEY] = {"its message's ordering key is no text of at most 255 "
                                    "characters",
                                    TEXT, true, WP_NAME_MAX, 0},
};

static const kind *kind_of(const wp__copy_row *row, size_t i)
{
    if (row->queue == &wp__copy_of_joins)
        return &join_kinds[i];
    if (row->queue == &wp__copy_of_nexts)
        return &next_kinds[i];
    if (row->queue == &wp__copy_of_jobs)
        return &job_kinds[i];
    if (row->queue == &wp__job_run && i >= WP__COPY_JOB_ID)
        return &run_kinds[i - WP__COPY_JOB_ID];
    return row->queue == &wp__inbox && i >= WP__COPY_SOURCE ? &inbox_kinds[i - WP__COPY_SOURCE]
                                                            : &kinds[i];
}

/* A dead letter of the inbox may never have been enqueued. */
static bool may_be_null(const wp__copy_row *row, size_t i)
{
    return kind_of(row, i)->null ||
           (row->queue == &wp__inbox && (i == WP__COPY_TOPIC || i == WP__COPY_PAYLOAD) &&
            row->columns[WP__COPY_STATUS].i != 0);
}

static bool fits(const wp__copy_row *row, size_t i)
{
    const wp__value *value = &row->columns[i];
    const kind *k = kind_of(row, i);
    size_t units = 0;
    if (value->type == WP_VALUE_NULL)
        return may_be_null(row, i);
    if (k->type == INT)
        return value->type == WP_VALUE_INT64;
    return value->type == WP_VALUE_TEXT && wp__utf8_check(value->p, value->len, &units, NULL) &&
           (!k->units || units <= k->units) && (!k->bytes || value->len <= k->bytes);
}

const char *wp__copy_row_fault(const wp__copy_row *row)
{
    const size_t at = row->queue == &wp__copy_of_jobs    ? (size_t)WP__COPY_JOB_TOPIC
                      : row->queue == &wp__copy_of_nexts ? (size_t)WP__COPY_NEXT_TOPIC
                                                         : (size_t)WP__COPY_TOPIC;
    const wp__value *topic = &row->columns[at];
    for (size_t i = WP__COPY_STATUS; i < wp__copy_columns(row->queue); i++)
        if (!fits(row, i))
            return kind_of(row, i)->fault;
    if (row->queue == &wp__copy_of_joins) /* has none */
        return NULL;
    return topic->type == WP_VALUE_TEXT && !topic->len ? kind_of(row, at)->fault : NULL;
}

/* ---- checksum ----------------------------------------------------------------------------- */

static bool add_number(EVP_MD_CTX *hash, char type, uint64_t number)
{
    unsigned char bytes[9] = {(unsigned char)type};
    for (size_t i = 0; i < 8; i++)
        bytes[1 + i] = (unsigned char)(number >> (56 - 8 * i));
    return EVP_DigestUpdate(hash, bytes, sizeof bytes);
}

static bool add_value(EVP_MD_CTX *hash, const wp__value *value)
{
    if (value->type == WP_VALUE_NULL)
        return add_number(hash, 'n', 0);
    if (value->type == WP_VALUE_INT64)
        return add_number(hash, 'i', (uint64_t)value->i);
    return add_number(hash, value->type == WP_VALUE_TEXT ? 't' : 'b', value->len) &&
           EVP_DigestUpdate(hash, value->p, value->len);
}

/* Each column as a letter for its type, a number or the length, big-endian, and the bytes; its number in the table
 * is left out, as it is another one elsewhere, and so are when it was last seen, as it may arrive again meanwhile, and when
 * a run was asked to end. */
wp_status wp__copy_row_hash(unsigned char out[WP__COPY_HASH_BYTES], const wp__copy_row *row,
                            wp_error **err)
{
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    bool ok = hash && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) &&
              EVP_DigestUpdate(hash, row->id.bytes, sizeof row->id.bytes) &&
              (!other_id(row->queue) ||
               EVP_DigestUpdate(hash, row->job_id.bytes, sizeof row->job_id.bytes));
    for (size_t i = WP__COPY_STATUS; ok && i < wp__copy_columns(row->queue); i++)
        if (!(row->queue == &wp__inbox && i == WP__COPY_LAST_SEEN) &&
            !(row->queue == &wp__job_run && i == WP__COPY_CANCEL_AT))
            ok = add_value(hash, &row->columns[i]);
    ok = ok && EVP_DigestFinal_ex(hash, out, NULL);
    EVP_MD_CTX_free(hash);
    return ok ? WP_OK : wp__fail(err, WP_E_INTERNAL, "libcrypto made no SHA-256");
}

wp_status wp__copy_member_hash(unsigned char out[WP__COPY_HASH_BYTES],
                               const wp__copy_member *member, wp_error **err)
{
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    const bool ok = hash && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) &&
                    EVP_DigestUpdate(hash, member->join.bytes, sizeof member->join.bytes) &&
                    EVP_DigestUpdate(hash, member->id.bytes, sizeof member->id.bytes) &&
                    add_number(hash, 'i', (uint64_t)member->status) &&
                    add_number(hash, 'i', (uint64_t)member->attached_us) &&
                    add_number(hash, member->counted_us == INT64_MIN ? 'n' : 'i',
                               (uint64_t)member->counted_us) &&
                    EVP_DigestFinal_ex(hash, out, NULL);
    EVP_MD_CTX_free(hash);
    return ok ? WP_OK : wp__fail(err, WP_E_INTERNAL, "libcrypto made no SHA-256");
}

void wp__copy_items_free(wp__copy_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        free(items->items[i].key);
        free(items->items[i].why);
    }
    free(items->items);
    memset(items, 0, sizeof *items);
}

/* ---- numbers and sums --------------------------------------------------------------------- */

void wp__copy_seqs_add(wp__copy_seqs *seqs, int64_t seq)
{
    wp__buf_text(&seqs->json, seqs->count++ ? "," : "[");
    wp__buf_int(&seqs->json, seq);
}

wp_status wp__copy_seqs_end(wp__copy_seqs *seqs, wp_error **err)
{
    wp__buf_text(&seqs->json, seqs->count ? "]" : "[]");
    return seqs->json.failed ? wp__fail_nomem(err) : WP_OK;
}

void wp__copy_sum_add(wp__copy_sum *sum, const unsigned char hash[WP__COPY_HASH_BYTES])
{
    for (size_t i = 0; i < 4; i++) {
        uint64_t word = 0;
        for (size_t b = 0; b < 8; b++)
            word = word << 8 | hash[8 * i + b];
        sum->words[i] += word;
    }
}

int wp__copy_by_seq(const void *a, const void *b)
{
    const int64_t x = ((const wp__copy_item *)a)->seq, y = ((const wp__copy_item *)b)->seq;
    return (x > y) - (x < y);
}
