/* SPDX-License-Identifier: Apache-2.0 */
/* The same work by plain libpq on the same tables, as an app might write it by hand: prepared
 * statements, one to claim a batch and one to end it, each a transaction of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_pg.h"

static const char enqueue_sql[] =
    "WITH m AS (INSERT INTO infra.outbox (id, topic, payload, created_at, due_at) "
    "SELECT gen_random_uuid(), '" BENCH_TOPIC "', $1, n.now, n.now FROM (SELECT "
    "CAST(extract(epoch FROM now()) * 1000000 AS bigint) AS now) AS n RETURNING seq, topic, "
    "due_at) "
    "INSERT INTO infra.outbox_work (seq, topic, status, next_attempt_at, attempt, claim_number) "
    "SELECT seq, topic, 0, due_at, 0, 0 FROM m";

static const char enqueue_many_sql[] =
    "WITH m AS (INSERT INTO infra.outbox (id, topic, payload, created_at, due_at) "
    "SELECT gen_random_uuid(), '" BENCH_TOPIC "', p, n.now, n.now FROM unnest($1::text[]) AS p, "
    "(SELECT CAST(extract(epoch FROM now()) * 1000000 AS bigint) AS now) AS n "
    "RETURNING seq, topic, due_at) "
    "INSERT INTO infra.outbox_work (seq, topic, status, next_attempt_at, attempt, claim_number) "
    "SELECT seq, topic, 0, due_at, 0, 0 FROM m";

static const char claim_sql[] =
    "WITH n AS (SELECT CAST(extract(epoch FROM now()) * 1000000 AS bigint) AS now), "
    "picked AS (SELECT seq FROM infra.outbox_work WHERE status = 0 AND ordering_key IS NULL "
    "AND topic = '" BENCH_TOPIC "' AND next_attempt_at <= (SELECT now FROM n) "
    "ORDER BY next_attempt_at, seq LIMIT $1 FOR UPDATE SKIP LOCKED), "
    "claimed AS (UPDATE infra.outbox_work AS w SET status = 1, owner_token = $2, "
    "locked_until = (SELECT now FROM n) + 30000000, claim_number = claim_number + 1 "
    "WHERE seq = ANY (ARRAY(SELECT seq FROM picked)) RETURNING seq) "
    "SELECT c.seq, m.id, m.topic, m.payload FROM claimed AS c CROSS JOIN LATERAL "
    "(SELECT * FROM infra.outbox AS o WHERE o.seq = c.seq LIMIT 1) AS m";

static const char ack_sql[] =
    "WITH gone AS (DELETE FROM infra.outbox_work WHERE seq = ANY ($1::bigint[]) AND status = 1 "
    "AND owner_token = $2 RETURNING seq, attempt, claim_number) "
    "INSERT INTO infra.outbox_finished (seq, status, attempt, claim_number, finished_at, "
    "finished_by) SELECT seq, 2, attempt, claim_number, "
    "CAST(extract(epoch FROM now()) * 1000000 AS bigint), 'bench' FROM gone";

PGconn *bench_pg_connect(const char *url)
{
    PGconn *pg = PQconnectdb(url);
    if (PQstatus(pg) != CONNECTION_OK)
        bench_die("%s: %s", url, PQerrorMessage(pg));
    return pg;
}

static PGresult *checked(PGconn *pg, PGresult *result, const char *doing)
{
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        bench_die("%s: %s", doing, PQerrorMessage(pg));
    return result;
}

void bench_pg_exec(PGconn *pg, const char *sql)
{
    PQclear(checked(pg, PQexec(pg, sql), sql));
}

static PGresult *run(bench_raw_pg *raw, const char *name, int count, const char *const *values)
{
    return checked(raw->pg, PQexecPrepared(raw->pg, name, count, values, NULL, NULL, 0), name);
}

static void prepare(bench_raw_pg *raw, const char *name, const char *sql)
{
    PQclear(checked(raw->pg, PQprepare(raw->pg, name, sql, 0, NULL), name));
}

void bench_raw_pg_open(bench_raw_pg *raw, const char *url, size_t batch)
{
    *raw = (bench_raw_pg){.pg = bench_pg_connect(url), .batch = batch};
    raw->text = malloc(batch * (BENCH_PAYLOAD * 2 + 4) + 16);
    if (!raw->text)
        bench_die("out of memory");
    (void)snprintf(raw->batch_text, sizeof raw->batch_text, "%zu", batch);
    (void)snprintf(raw->owner, sizeof raw->owner, "00000000-0000-4000-8000-%012llx",
                   (unsigned long long)PQbackendPID(raw->pg));
    prepare(raw, "enqueue", enqueue_sql);
    prepare(raw, "enqueue_many", enqueue_many_sql);
    prepare(raw, "claim", claim_sql);
    prepare(raw, "ack", ack_sql);
}

void bench_raw_pg_close(bench_raw_pg *raw)
{
    PQfinish(raw->pg);
    free(raw->text);
}

void bench_raw_pg_enqueue(bench_raw_pg *raw)
{
    const char *const values[] = {bench_payload()};
    PQclear(run(raw, "enqueue", 1, values));
}

/* One array element: quoted, with what needs it escaped. */
static size_t put_element(char *out, const char *text)
{
    size_t used = 0;
    out[used++] = '"';
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            out[used++] = '\\';
        out[used++] = *text;
    }
    out[used++] = '"';
    return used;
}

void bench_raw_pg_enqueue_many(bench_raw_pg *raw)
{
    const char *values[1];
    size_t used = 0;
    raw->text[used++] = '{';
    for (size_t i = 0; i < raw->batch; i++) {
        if (i)
            raw->text[used++] = ',';
        used += put_element(raw->text + used, bench_payload());
    }
    memcpy(raw->text + used, "}", 2);
    values[0] = raw->text;
    PQclear(run(raw, "enqueue_many", 1, values));
}

size_t bench_raw_pg_claim(bench_raw_pg *raw)
{
    const char *const values[] = {raw->batch_text, raw->owner};
    PGresult *result = run(raw, "claim", 2, values);
    size_t count = (size_t)PQntuples(result);
    size_t used = 0;
    raw->text[used++] = '{';
    for (size_t i = 0; i < count; i++)
        used +=
            (size_t)sprintf(raw->text + used, "%s%s", i ? "," : "", PQgetvalue(result, (int)i, 0));
    memcpy(raw->text + used, "}", 2);
    PQclear(result);
    return count;
}

void bench_raw_pg_ack(bench_raw_pg *raw, size_t count)
{
    const char *const values[] = {raw->text, raw->owner};
    PGresult *result;
    if (!count)
        return;
    result = run(raw, "ack", 2, values);
    if (strtoull(PQcmdTuples(result), NULL, 10) != count)
        bench_die("the raw statements ended %s of %zu messages", PQcmdTuples(result), count);
    PQclear(result);
}
