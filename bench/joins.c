/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a join: enqueued and handled, beside the same without a join. */
#include "bench.h"

enum { MEMBERS = 10000, BATCH = 1000, THREADS = 4 };

/* A join of all members, which enqueues a message that nobody handles here. */
static wp_id start(bench_db *db)
{
    wp_join *join = NULL;
    wp_message *after = NULL;
    wp_error *err = NULL;
    wp_id id;
    bench_ok(wp_join_new(&join, MEMBERS, &err), &err, "join");
    bench_ok(wp_message_new(&after, "bench.after", "x", 1, &err), &err, "message");
    bench_ok(wp_join_set_success(join, after, &err), &err, "continuation");
    bench_ok(wp_join_start(&id, db->store, NULL, join, &err), &err, "start");
    wp_message_free(after);
    wp_join_free(join);
    return id;
}

/* Returns messages a second. */
static double enqueue(bench_db *db, const wp_id *join)
{
    const wp_message *batch[BATCH];
    wp_id ids[BATCH];
    wp_message *message = NULL;
    wp_error *err = NULL;
    int64_t began;
    bench_ok(wp_message_new(&message, BENCH_TOPIC, bench_payload(), BENCH_PAYLOAD, &err), &err,
             "message");
    if (join)
        bench_ok(wp_message_add_join(message, join, &err), &err, "member");
    for (size_t i = 0; i < BATCH; i++)
        batch[i] = message;
    began = bench_now_us();
    for (size_t done = 0; done < MEMBERS; done += BATCH)
        bench_ok(wp_outbox_enqueue_many(ids, NULL, db->store, NULL, batch, BATCH, &err), &err,
                 "enqueue");
    began = bench_now_us() - began;
    wp_message_free(message);
    return MEMBERS * 1e6 / (double)began;
}

static void check_over(bench_db *db, const wp_id *join)
{
    wp_join_info *info = NULL;
    wp_error *err = NULL;
    bench_ok(wp_join_get(&info, db->store, join, &err), &err, "look");
    if (wp_join_info_status(info) != WP_JOIN_COMPLETED)
        bench_die("the join is not over: %lld of %d", (long long)wp_join_info_completed(info),
                  MEMBERS);
    wp_join_info_free(info);
}

typedef struct way {
    bool joined, handles;
} way;

static double members(void *arg)
{
    const way *how = arg;
    bench_db db;
    wp_id join;
    double result;
    bench_db_new(&db);
    if (how->joined)
        join = start(&db);
    result = enqueue(&db, how->joined ? &join : NULL);
    if (how->handles) {
        result = bench_handle(db.store, MEMBERS, THREADS, NULL);
        if (how->joined)
            check_over(&db, &join);
    }
    bench_db_drop(&db);
    return result;
}

void bench_joins(void)
{
    static way ways[] = {{true, false}, {false, false}, {true, true}, {false, true}};
    const bench_side sides[] = {
        {members, &ways[0]}, {members, &ways[1]}, {members, &ways[2]}, {members, &ways[3]}};
    bench_samples samples;
    bench_heading("10,000 members of one join");
    bench_note("raw: the same messages without a join; 4 threads");
    bench_sample(&samples, "joins", sides, 4, bench_opt.rounds);
    bench_report_pair("joins", "enqueued as members, 1,000 a transaction", "messages/s", &samples,
                      0, 1, 0);
    bench_report_pair("joins", "handled", "messages/s", &samples, 2, 3, 0);
}
