/* SPDX-License-Identifier: Apache-2.0 */
/* The same work row by row, as one may write it by hand: a query for the batch, and a statement for
 * each row. The guards are the same. */
#include "bench.h"

enum { LEASE_US = 30000000 };

void bench_rows_open(bench_raw *raw)
{
    raw->find = bench_prepare(
        raw->db,
        "SELECT w.seq, w.attempt, w.claim_number + 1, m.id, m.topic, m.payload, m.headers, "
        "m.correlation_id, m.ordering_key, m.created_at, m.due_at, m.expires_at "
        "FROM infra_outbox_work AS w CROSS JOIN infra_outbox AS m "
        "WHERE w.status = 0 AND w.topic = :topic AND w.at_once = 1 "
        "AND (w.expires_at IS NULL OR w.expires_at > :now) AND m.seq = w.seq "
        "ORDER BY w.next_attempt_at, w.seq LIMIT :batch");
    raw->take =
        bench_prepare(raw->db, "UPDATE infra_outbox_work SET status = 1, owner_token = :owner, "
                               "locked_until = :now + :lease, claim_number = claim_number + 1, "
                               "max_attempts = :max_attempts WHERE seq = :seq AND status = 0");
    raw->end = bench_prepare(
        raw->db, "INSERT INTO infra_outbox_finished "
                 "(seq, status, attempt, claim_number, finished_at, finished_by, last_error) "
                 "SELECT w.seq, 2, w.attempt, w.claim_number, :now, :worker, w.last_error "
                 "FROM infra_outbox_work AS w WHERE w.seq = :seq AND w.status = 1 "
                 "AND w.owner_token = :owner AND w.claim_number = :claim");
    bench_bind_text(raw->find, ":topic", BENCH_TOPIC);
    bench_bind_int(raw->find, ":batch", (int64_t)raw->capacity);
    bench_bind_owner(raw->take, raw);
    bench_bind_int(raw->take, ":lease", LEASE_US);
    bench_bind_int(raw->take, ":max_attempts", 10);
    bench_bind_owner(raw->end, raw);
    bench_bind_text(raw->end, ":worker", "bench");
}

void bench_rows_close(bench_raw *raw)
{
    (void)sqlite3_finalize(raw->find);
    (void)sqlite3_finalize(raw->take);
    (void)sqlite3_finalize(raw->end);
}

static size_t claim(bench_raw *raw)
{
    size_t count = 0;
    int64_t now = bench_utc_us();
    bench_bind_int(raw->find, ":now", now);
    while (count < raw->capacity && sqlite3_step(raw->find) == SQLITE_ROW)
        bench_keep_message(&raw->batch[count++], raw->find, 0, 2, 3, 5);
    bench_sqlite(sqlite3_reset(raw->find), raw->db, "find");
    bench_bind_int(raw->take, ":now", now);
    for (size_t i = 0; i < count; i++) {
        bench_bind_int(raw->take, ":seq", raw->batch[i].seq);
        bench_step(raw->take);
    }
    return count;
}

static void ack(bench_raw *raw, size_t count)
{
    bench_bind_int(raw->end, ":now", bench_utc_us());
    for (size_t i = 0; i < count; i++) {
        bench_bind_int(raw->end, ":seq", raw->batch[i].seq);
        bench_bind_int(raw->end, ":claim", raw->batch[i].claim_number);
        bench_step(raw->end);
        if (sqlite3_changes(raw->db) != 1)
            bench_die("a message was not ended");
    }
}

size_t bench_rows_claim(bench_raw *raw)
{
    size_t count;
    bench_step(raw->begin);
    count = claim(raw);
    bench_step(raw->commit);
    return count;
}

void bench_rows_ack(bench_raw *raw, size_t count)
{
    if (!count)
        return;
    bench_step(raw->begin);
    ack(raw, count);
    bench_step(raw->commit);
}

size_t bench_rows_exchange(bench_raw *raw, size_t count)
{
    bench_step(raw->begin);
    ack(raw, count);
    count = claim(raw);
    bench_step(raw->commit);
    return count;
}
