/* SPDX-License-Identifier: Apache-2.0 */
/* Claim and ack by hand, one batch after the other. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

typedef struct sizes {
    size_t batch;
    size_t count;
} sizes;

static void claim_and_ack(const bench_db *db, const wp_id *owner, size_t batch, wp_id *ids,
                          int64_t *claims)
{
    wp_claim *claim = NULL;
    wp_error *err = NULL;
    const char *topic = BENCH_TOPIC;
    size_t changed = 0;
    size_t count;
    bench_ok(wp_outbox_claim(&claim, db->store, owner, &topic, 1, (int64_t)batch, 30000, &err),
             &err, "claim");
    count = wp_claim_count(claim);
    for (size_t i = 0; i < count; i++) {
        const wp_received *message = wp_claim_at(claim, i);
        ids[i] = *wp_received_id(message);
        claims[i] = wp_received_claim_number(message);
    }
    bench_ok(wp_outbox_ack(&changed, db->store, NULL, owner, ids, claims, count, "bench", &err),
             &err, "ack");
    if (count != batch || changed != count)
        bench_die("claimed %zu and ended %zu of %zu messages", count, changed, batch);
    wp_claim_free(claim);
}

static double own(void *arg)
{
    const sizes *size = arg;
    bench_db db;
    wp_id owner;
    wp_id *ids = calloc(size->batch, sizeof *ids);
    int64_t *claims = calloc(size->batch, sizeof *claims);
    int64_t started;
    int64_t took;
    if (!ids || !claims)
        bench_die("out of memory");
    wp_id_new(&owner);
    bench_db_new(&db);
    bench_load(&db, size->count);
    started = bench_now_us();
    for (size_t done = 0; done < size->count; done += size->batch)
        claim_and_ack(&db, &owner, size->batch, ids, claims);
    took = bench_now_us() - started;
    bench_db_drop(&db);
    free(ids);
    free(claims);
    return (double)size->count * 1e6 / (double)took;
}

static double raw(void *arg)
{
    const sizes *size = arg;
    bench_db db;
    double result;
    bench_db_new(&db);
    bench_load(&db, size->count);
    result = bench_handle_raw(db.path, size->count, size->batch, false, false, NULL);
    bench_db_drop(&db);
    return result;
}

static double rows(void *arg)
{
    const sizes *size = arg;
    bench_db db;
    double result;
    bench_db_new(&db);
    bench_load(&db, size->count);
    result = bench_handle_raw(db.path, size->count, size->batch, false, true, NULL);
    bench_db_drop(&db);
    return result;
}

void bench_claim(void)
{
    static sizes cases[] = {{1, 3000}, {10, 10000}, {100, 20000}, {500, 30000}};
    bench_samples samples;
    char name[64];
    bench_heading("Claim and ack by hand");
    bench_note("raw: the statements of sql/sqlite, or others row by row, whichever is faster");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const bench_side sides[] = {{own, &cases[i]}, {raw, &cases[i]}, {rows, &cases[i]}};
        int best;
        (void)snprintf(name, sizeof name, "batches of %zu", cases[i].batch);
        bench_sample(&samples, name, sides, 3, bench_opt.rounds);
        best = bench_samples_best(&samples, 1, 2);
        (void)snprintf(name, sizeof name, "batches of %zu%s", cases[i].batch,
                       best == 2 ? " (raw: row by row)" : "");
        bench_report_pair("claim", name, "messages/s", &samples, 0, best, 0);
    }
}
