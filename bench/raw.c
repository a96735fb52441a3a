/* SPDX-License-Identifier: Apache-2.0 */
/* The same work by plain libsqlite3: the very statements of sql/sqlite/, prepared once. What is
 * bound to a name that a statement does not have is left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "bench.h"
#include "op/engine.h"

enum { LEASE_US = 30000000 };

void bench_bind_text(sqlite3_stmt *statement, const char *name, const char *text)
{
    (void)sqlite3_bind_text(statement, sqlite3_bind_parameter_index(statement, name), text, -1,
                            SQLITE_STATIC);
}

void bench_bind_int(sqlite3_stmt *statement, const char *name, int64_t value)
{
    (void)sqlite3_bind_int64(statement, sqlite3_bind_parameter_index(statement, name), value);
}

void bench_bind_owner(sqlite3_stmt *statement, const bench_raw *raw)
{
    (void)sqlite3_bind_blob(statement, sqlite3_bind_parameter_index(statement, ":owner"),
                            &raw->owner, sizeof raw->owner, SQLITE_STATIC);
}

static sqlite3_stmt *prepare(sqlite3 *db, const wp__sql_set *set, wp__sql_id id)
{
    return bench_prepare(db, wp__sql_get(set, id, WP_PARAM_NAMED)->text);
}

/* What does not change from call to call is bound once. */
static void bind_constants(bench_raw *raw)
{
    bench_bind_text(raw->enqueue, ":topic", BENCH_TOPIC);
    bench_bind_int(raw->enqueue, ":delay", 0);
    bench_bind_text(raw->claim, ":topics", "[\"" BENCH_TOPIC "\"]");
    bench_bind_owner(raw->claim, raw);
    bench_bind_int(raw->claim, ":lease", LEASE_US);
    bench_bind_int(raw->claim, ":batch", (int64_t)raw->capacity);
    bench_bind_int(raw->claim, ":max_attempts", 10);
    bench_bind_owner(raw->finish, raw);
    bench_bind_int(raw->finish, ":status", 2);
    bench_bind_int(raw->finish, ":attempts", 0);
    bench_bind_text(raw->finish, ":worker", "bench");
}

static void open_raw(bench_raw *raw, const char *path, size_t batch, const wp__sql_id ids[4])
{
    static const wp__sql_names names = {.schema = "infra", .outbox = "outbox", .inbox = "inbox"};
    wp__sql_set *set = NULL;
    wp_error *err = NULL;
    *raw = (bench_raw){.db = bench_connect(path), .capacity = batch};
    wp__heap_settle(); /* the raw side gets the same allocator */
    raw->text = malloc(batch * 48 + 16);
    raw->batch = malloc(batch * sizeof *raw->batch);
    if (!raw->text || !raw->batch)
        bench_die("out of memory");
    wp_id_new(&raw->owner);
    bench_ok(wp__sql_set_new(&set, wp__engine_sqlite.statements, &names, &err), &err, "statements");
    bench_ok(wp__sql_set_style(set, WP_PARAM_NAMED, &err), &err, "statements");
    raw->begin = bench_prepare(raw->db, "BEGIN IMMEDIATE");
    raw->commit = bench_prepare(raw->db, "COMMIT");
    raw->enqueue = prepare(raw->db, set, ids[0]);
    raw->claim = prepare(raw->db, set, ids[1]);
    raw->read = prepare(raw->db, set, ids[2]);
    raw->finish = prepare(raw->db, set, ids[3]);
    wp__sql_set_free(set);
    bind_constants(raw);
    bench_rows_open(raw);
}

void bench_raw_open(bench_raw *raw, const char *path, size_t batch)
{
    static const wp__sql_id ids[] = {WP__SQL_OUTBOX_ENQUEUE, WP__SQL_OUTBOX_CLAIM,
                                     WP__SQL_OUTBOX_READ_CLAIMED, WP__SQL_OUTBOX_FINISH};
    open_raw(raw, path, batch, ids);
}

void bench_raw_open_timers(bench_raw *raw, const char *path, size_t batch)
{
    static const wp__sql_id ids[] = {WP__SQL_TIMER_ENQUEUE, WP__SQL_TIMER_CLAIM,
                                     WP__SQL_TIMER_READ_CLAIMED, WP__SQL_TIMER_FINISH};
    open_raw(raw, path, batch, ids);
}

void bench_raw_close(bench_raw *raw)
{
    sqlite3_stmt *const all[] = {raw->begin, raw->commit, raw->enqueue,
                                 raw->claim, raw->read,   raw->finish};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        (void)sqlite3_finalize(all[i]);
    bench_rows_close(raw);
    (void)sqlite3_close(raw->db);
    free(raw->text);
    free(raw->batch);
}

void bench_raw_enqueue(bench_raw *raw)
{
    wp_id id;
    wp_id_new(&id);
    (void)sqlite3_bind_blob(raw->enqueue, sqlite3_bind_parameter_index(raw->enqueue, ":id"), &id,
                            sizeof id, SQLITE_STATIC);
    (void)sqlite3_bind_text(raw->enqueue, sqlite3_bind_parameter_index(raw->enqueue, ":payload"),
                            bench_payload(), BENCH_PAYLOAD, SQLITE_STATIC);
    bench_bind_int(raw->enqueue, ":now", bench_utc_us());
    bench_step(raw->enqueue);
}

void bench_keep_message(bench_message *message, sqlite3_stmt *statement, int seq, int claim, int id,
                        int payload)
{
    const void *bytes = sqlite3_column_blob(statement, id);
    size_t len = (size_t)sqlite3_column_bytes(statement, payload);
    message->seq = sqlite3_column_int64(statement, seq);
    message->claim_number = sqlite3_column_int64(statement, claim);
    if (bytes)
        memcpy(message->id, bytes, sizeof message->id);
    if (len > BENCH_PAYLOAD)
        len = BENCH_PAYLOAD;
    memcpy(message->payload, sqlite3_column_text(statement, payload), len);
    message->payload[len] = '\0';
}

static size_t claim(bench_raw *raw)
{
    size_t used = 0;
    size_t count = 0;
    bench_bind_int(raw->claim, ":now", bench_utc_us());
    raw->text[used++] = '[';
    while (sqlite3_step(raw->claim) == SQLITE_ROW)
        used += (size_t)sprintf(raw->text + used, "%s%lld", used > 1 ? "," : "",
                                (long long)sqlite3_column_int64(raw->claim, 0));
    bench_sqlite(sqlite3_reset(raw->claim), raw->db, "claim");
    if (used == 1)
        return 0;
    raw->text[used++] = ']';
    (void)sqlite3_bind_text(raw->read, 1, raw->text, (int)used, SQLITE_STATIC);
    while (count < raw->capacity && sqlite3_step(raw->read) == SQLITE_ROW)
        bench_keep_message(&raw->batch[count++], raw->read, 0, 2, 3, 5);
    bench_sqlite(sqlite3_reset(raw->read), raw->db, "read");
    return count;
}

static void ack(bench_raw *raw, size_t count)
{
    size_t used = 0;
    size_t ended = 0;
    raw->text[used++] = '{';
    for (size_t i = 0; i < count; i++)
        used +=
            (size_t)sprintf(raw->text + used, "%s\"%lld\":%lld", i ? "," : "",
                            (long long)raw->batch[i].seq, (long long)raw->batch[i].claim_number);
    raw->text[used++] = '}';
    bench_bind_int(raw->finish, ":now", bench_utc_us());
    (void)sqlite3_bind_text(raw->finish, sqlite3_bind_parameter_index(raw->finish, ":claims"),
                            raw->text, (int)used, SQLITE_STATIC);
    while (sqlite3_step(raw->finish) == SQLITE_ROW)
        ended++;
    bench_sqlite(sqlite3_reset(raw->finish), raw->db, "ack");
    if (ended != count)
        bench_die("the raw statements ended %zu of %zu messages", ended, count);
}

size_t bench_raw_claim(bench_raw *raw)
{
    size_t count;
    bench_step(raw->begin);
    count = claim(raw);
    bench_step(raw->commit);
    return count;
}

void bench_raw_ack(bench_raw *raw, size_t count)
{
    if (count)
        ack(raw, count);
}

size_t bench_raw_exchange(bench_raw *raw, size_t count)
{
    bench_step(raw->begin);
    if (count)
        ack(raw, count);
    count = claim(raw);
    bench_step(raw->commit);
    return count;
}
