/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of several stores in one worker: each engine beside a file of SQLite's. */
#include <stdatomic.h>

#include "bed.h"
#include "inbox_bed.h"
#include "support/wpt_pg.h"

/* The bed's store, and a file beside it. */
typedef struct pair {
    bed *b;
    wp_store *side;
    wp_worker *worker;
    atomic_int on_app, on_side;
    atomic_int wrong; /* deliveries that named the wrong store */
} pair;

static wp_outcome count(wp_delivery *delivery, void *user)
{
    pair *p = user;
    const bool ours = strcmp(wp_delivery_store_id(delivery), "app") == 0;
    if (wp_delivery_store(delivery) != (ours ? p->b->store : p->side) ||
        strcmp(wp_received_payload(NULL, wp_delivery_message(delivery)), ours ? "app" : "side") !=
            0)
        atomic_fetch_add(&p->wrong, 1);
    atomic_fetch_add(ours ? &p->on_app : &p->on_side, 1);
    return WP_OUTCOME_DONE;
}

static void pair_open(pair *p, bed *b, wp_handler_fn fn)
{
    char url[256];
    wp_config *config = wpt_config(b->clock, NULL);
    (void)snprintf(url, sizeof url, "sqlite:%s/side.db", b->dir.path);
    *p = (pair){.b = b, .side = wpt_store(url, b->clock, WPT_OPTIONS("store.id", "side"))};
    WPT_OK(wp_worker_new(&p->worker, p->side, config, WPT_ERR));
    WPT_OK(wp_worker_add_store(p->worker, b->store, "app", WPT_ERR));
    WPT_OK(wp_worker_handle(p->worker, WP_SOURCE_OUTBOX, "t", fn, p, NULL, WPT_ERR));
    wp_config_free(config);
}

static void pair_close(pair *p)
{
    WPT_OK(wp_worker_stop(NULL, p->worker, 60000, WPT_ERR));
    assert_int_equal(atomic_load(&p->wrong), 0);
    wp_worker_free(p->worker);
    wp_store_close(p->side);
}

static void enqueue_both(pair *p, int times)
{
    for (int i = 0; i < times; i++) {
        (void)wpt_enqueue(p->b->store, "t", "app");
        (void)wpt_enqueue(p->side, "t", "side");
    }
}

/* scenario: WRK-120 */
/* proves: MDB-001 OBX-066 IBX-085 */
static void test_stores__of_two_engines__each_message_once_and_from_its_own(void **state)
{
    pair p;
    pair_open(&p, *state, count);
    enqueue_both(&p, 20);
    WPT_OK(wp_worker_start(p.worker, 4, WPT_ERR));
    enqueue_both(&p, 20);
    WPT_AWAIT(wpt_stat(p.b->store, "t", WP_STAT_DONE) == 40);
    WPT_AWAIT(wpt_stat(p.side, "t", WP_STAT_DONE) == 40);
    pair_close(&p);
    assert_int_equal(atomic_load(&p.on_app), 40);
    assert_int_equal(atomic_load(&p.on_side), 40);
}

static void lives_beside(pair *p)
{
    for (int round = 0; round < 3; round++) {
        const int64_t before = wpt_stat(p->side, "t", WP_STAT_DONE);
        for (int i = 0; i < 5; i++)
            (void)wpt_enqueue(p->side, "t", "side");
        WPT_AWAIT(wpt_stat(p->side, "t", WP_STAT_DONE) == before + 5);
    }
}

/* A transaction of the app's has written, unless the worker is writing just now. */
static bool locks_writers_out(bed *b)
{
    wp_message *message = wpt_message("other", "x");
    wp_id id;
    wp_status st;
    bed_exec(b, b->engine->begin);
    st = wp_outbox_enqueue(&id, NULL, b->store, b->conn, message, NULL);
    if (st != WP_OK)
        bed_exec(b, b->engine->rollback);
    wp_message_free(message);
    return st == WP_OK;
}

/* As an app does whose connections may be killed at any moment: again, under a key, until it is stored. */
static void send_despite_loss(wp_store *store, const char *key)
{
    wp_message *message = wpt_message("t", "app");
    bool stored = false;
    WPT_OK(wp_message_set_unique_key(message, key, WPT_ERR));
    while (!stored) {
        wp_error *err = NULL;
        wp_id id;
        stored = wp_outbox_enqueue(&id, NULL, store, NULL, message, &err) == WP_OK;
        if (!stored && !wp_error_retriable(err))
            fail_msg("%s", wp_error_message(err));
        wp_error_free(err);
    }
    wp_message_free(message);
}

/* -1: a connection was lost */
static int64_t done_despite_loss(wp_store *store)
{
    wp_outbox_stats *stats = NULL;
    wp_error *err = NULL;
    int64_t done = 0;
    if (wp_outbox_stats_read(&stats, store, 1, &err) != WP_OK) {
        if (!wp_error_retriable(err))
            fail_msg("%s", wp_error_message(err));
        wp_error_free(err);
        return -1;
    }
    for (size_t i = 0; i < wp_outbox_stats_count(stats); i++)
        if (strcmp(wp_outbox_stats_topic(stats, i), "t") == 0)
            done = wp_outbox_stats_value(stats, i, WP_STAT_DONE);
    wp_outbox_stats_free(stats);
    return done;
}

/* Time must pass for what is put off after a failure. */
static bool done_by_and_by(bed *b, int64_t count)
{
    wpt_advance_ms(b->clock, 1000);
    wp__sleep_us(50000); /* a lease of 30 s should do */
    return done_despite_loss(b->store) == count;
}

/* Its connections die, or another writer holds its file; then it comes back. */
/* scenario: WRK-121 */
/* proves: MDB-001 */
static void test_stores__one_fails__the_other_goes_on_and_nothing_is_lost(void **state)
{
    bed *b = *state;
    pair p;
    pair_open(&p, b, count);
    WPT_OK(wp_worker_start(p.worker, 2, WPT_ERR));
    enqueue_both(&p, 5);
    WPT_AWAIT(wpt_stat(b->store, "t", WP_STAT_DONE) == 5);
    WPT_AWAIT(wpt_stat(p.side, "t", WP_STAT_DONE) == 5);
    if (strcmp(wp_store_engine(b->store), "postgresql") == 0) {
        const int64_t spared = bed_number(b, "SELECT pg_backend_pid()");
        for (int i = 0; i < 5; i++) {
            const char key[] = {(char)('1' + i), '\0'};
            send_despite_loss(b->store, key);
            wpt_pg_cut_off_but(spared);
        }
        lives_beside(&p);
    } else {
        for (int i = 0; i < 5; i++)
            (void)wpt_enqueue(b->store, "t", "app");
        WPT_AWAIT(locks_writers_out(b));
        lives_beside(&p);
        bed_exec(b, b->engine->commit);
    }
    WPT_AWAIT(done_by_and_by(b, 10));
    pair_close(&p);
}

/* scenario: WRK-122 */
/* proves: OBX-078 IBX-096 */
static void test_stores__removed_and_added_again__nothing_is_lost(void **state)
{
    pair p;
    size_t abandoned = 9;
    pair_open(&p, *state, count);
    enqueue_both(&p, 30);
    WPT_OK(wp_worker_start(p.worker, 2, WPT_ERR));
    WPT_AWAIT(atomic_load(&p.on_app) > 0);
    WPT_OK(wp_worker_remove_store(&abandoned, p.worker, "app", 60000, WPT_ERR));
    assert_int_equal(abandoned, 0);
    assert_int_equal(wpt_stat(p.b->store, "t", WP_STAT_IN_PROGRESS), 0);
    assert_int_equal(
        wpt_stat(p.b->store, "t", WP_STAT_READY) + wpt_stat(p.b->store, "t", WP_STAT_DONE), 30);
    assert_int_equal(wpt_stat(p.b->store, "t", WP_STAT_DONE), atomic_load(&p.on_app));
    WPT_AWAIT(wpt_stat(p.side, "t", WP_STAT_DONE) == 30);
    WPT_OK(wp_worker_add_store(p.worker, p.b->store, "app", WPT_ERR));
    WPT_AWAIT(wpt_stat(p.b->store, "t", WP_STAT_DONE) == 30);
    pair_close(&p);
    assert_int_equal(atomic_load(&p.on_app), 30);
}

static wp_outcome complete(wp_delivery *delivery, void *user)
{
    pair *p = user;
    const bool ours = wp_delivery_store(delivery) == p->b->store;
    wp_status st;
    bed_exec(p->b, p->b->engine->begin);
    st = wp_delivery_complete(delivery, p->b->conn, NULL);
    bed_exec(p->b, st == WP_OK ? p->b->engine->commit : p->b->engine->rollback);
    if (st != (ours ? WP_OK : WP_E_ARGUMENT))
        atomic_fetch_add(&p->wrong, 1);
    return WP_OUTCOME_DONE;
}

/* proves: OBX-113 */
static void test_stores__completed_on_a_connection_of_another__is_refused(void **state)
{
    size_t handled = 0;
    pair p;
    pair_open(&p, *state, complete);
    enqueue_both(&p, 1);
    WPT_OK(wp_worker_drain(&handled, p.worker, 60000, WPT_ERR));
    assert_int_equal(handled, 2);
    assert_int_equal(wpt_stat(p.b->store, "t", WP_STAT_DONE), 1);
    assert_int_equal(wpt_stat(p.side, "t", WP_STAT_DONE), 1);
    pair_close(&p);
}

/* ---- the router --------------------------------------------------------------------------- */

/* Give the router these of the bed's database ("app") and the file beside it ("side"). */
static void set_stores(bed *b, wp_router *router, bool with_app, bool with_side)
{
    char url[256];
    wp_config *configs[2] = {bed_config(b, WPT_OPTIONS("store.id", "app", "store.deploy", "true")),
                             NULL};
    const wp_config *list[2];
    size_t count = 0;
    (void)snprintf(url, sizeof url, "sqlite:%s/side.db", b->dir.path);
    configs[1] = wpt_config(
        b->clock, WPT_OPTIONS("store.url", url, "store.id", "side", "store.deploy", "true"));
    if (with_app)
        list[count++] = configs[0];
    if (with_side)
        list[count++] = configs[1];
    WPT_OK(wp_router_set(router, list, count, WPT_ERR));
    wp_config_free(configs[0]);
    wp_config_free(configs[1]);
}

static wp_store *get(wp_router *router, const char *key)
{
    wp_store *store = NULL;
    WPT_OK(wp_router_get(&store, router, key, WPT_ERR));
    return store;
}

/* scenario: WRK-123, INB-014 */
/* proves: IBX-123 IBX-091 OBX-072 IBX-092 OBX-073 OBX-074 */
static void test_router__key__its_store_or_not_found(void **state)
{
    bed *b = *state;
    wp_router *router = NULL;
    wp_store *store = NULL, *same;
    WPT_OK(wp_router_new(&router, WPT_ERR));
    set_stores(b, router, true, true);
    store = get(router, "app");
    same = get(router, "app"); /* opened once and kept */
    assert_ptr_equal(same, store);
    wp_store_close(same);
    assert_string_equal(wp_store_engine(store), wp_store_engine(b->store));
    (void)wpt_enqueue(store, "t", "app");
    assert_int_equal(wpt_stat(store, "t", WP_STAT_READY), 1);
    assert_int_equal(ib_enqueue(store, NULL, "src", "1", "t", "x"), WP_INBOX_NEW);
    wp_store_close(store);
    store = get(router, "side");
    assert_int_equal(wpt_stat(store, "t", WP_STAT_READY), 0);
    assert_int_equal(ib_check(store, NULL, "src", "1"), WP_INBOX_NEW);
    wp_store_close(store);
    store = get(router, "app");
    assert_int_equal(ib_check(store, NULL, "src", "1"), WP_INBOX_PROCESSING);
    wp_store_close(store);
    WPT_FAILS(wp_router_get(&store, router, "none", WPT_ERR), WP_E_NOT_FOUND, "none");
    wp_router_free(router);
}

static wp_outcome just_done(wp_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return WP_OUTCOME_DONE;
}

/* scenario: WRK-124 */
/* proves: IBX-093 OBX-075 IBX-095 OBX-077 IBX-096 OBX-078 IBX-097 OBX-079 */
static void test_router__discovers_while_the_worker_runs__it_follows(void **state)
{
    bed *b = *state;
    wp_config *config = wpt_config(b->clock, NULL);
    wp_router *router = NULL;
    wp_worker *worker = NULL;
    wp_store *ours, *side, *again;
    WPT_OK(wp_router_new(&router, WPT_ERR));
    WPT_OK(wp_worker_new_on_router(&worker, router, config, WPT_ERR));
    WPT_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t", just_done, NULL, NULL, WPT_ERR));
    WPT_OK(wp_worker_start(worker, 2, WPT_ERR));
    set_stores(b, router, true, false);
    ours = get(router, "app");
    (void)wpt_enqueue(ours, "t", "x");
    WPT_AWAIT(wpt_stat(ours, "t", WP_STAT_DONE) == 1);
    set_stores(b, router, true, true);
    side = get(router, "side");
    (void)wpt_enqueue(side, "t", "x");
    WPT_AWAIT(wpt_stat(side, "t", WP_STAT_DONE) == 1);
    again = get(router, "app");
    assert_ptr_equal(again, ours);
    wp_store_close(again);
    WPT_STATUS(wp_router_set(router, NULL, 1, WPT_ERR),
               WP_E_ARGUMENT); /* found nothing: all stays */
    (void)wpt_enqueue(ours, "t", "x");
    WPT_AWAIT(wpt_stat(ours, "t", WP_STAT_DONE) == 2);
    set_stores(b, router, false, true);
    (void)wpt_enqueue(side, "t", "x");
    WPT_AWAIT(wpt_stat(side, "t", WP_STAT_DONE) == 2);
    WPT_AWAIT(wp_worker_remove_store(NULL, worker, "app", 0, NULL) == WP_E_NOT_FOUND);
    (void)wpt_enqueue(ours, "t", "x");
    assert_int_equal(wpt_stat(ours, "t", WP_STAT_DONE), 2);
    WPT_OK(wp_worker_stop(NULL, worker, 60000, WPT_ERR));
    wp_worker_free(worker);
    wp_store_close(ours);
    wp_store_close(side);
    wp_router_free(router);
    wp_config_free(config);
}

/* ---- turns -------------------------------------------------------------------------------- */

typedef struct turns {
    char order[16];
    size_t count;
} turns;

static wp_outcome note(wp_delivery *delivery, void *user)
{
    turns *t = user;
    t->order[t->count++] = wp_delivery_store_id(delivery)[0];
    return WP_OUTCOME_DONE;
}

static size_t prefer_app(const wp_candidates *candidates, void *user)
{
    (void)user;
    return strcmp(wp_candidates_store_id(candidates, 0), "app") == 0 ? 0 : 1;
}

/* Three messages in each store; in which order they come. */
static void take_turns(bed *b, const char *selection, wp_select_fn select, const char *order)
{
    turns t = {{0}, 0};
    pair p;
    size_t handled = 0;
    wp_config *config = wpt_config(b->clock, WPT_OPTIONS("worker.selection", selection));
    pair_open(&p, b, count);
    wp_worker_free(p.worker);
    WPT_OK(wp_worker_new(&p.worker, p.side, config, WPT_ERR));
    WPT_OK(wp_worker_add_store(p.worker, b->store, "app", WPT_ERR));
    WPT_OK(wp_worker_handle(p.worker, WP_SOURCE_OUTBOX, "t", note, &t, NULL, WPT_ERR));
    if (select)
        WPT_OK(wp_worker_set_selector(p.worker, select, NULL, NULL, WPT_ERR));
    enqueue_both(&p, 3);
    WPT_OK(wp_worker_drain(&handled, p.worker, 60000, WPT_ERR));
    assert_string_equal(t.order, order);
    pair_close(&p);
    wp_config_free(config);
}

/* scenario: WRK-125 */
/* proves: IBX-086 OBX-067 IBX-087 OBX-068 IBX-088 OBX-069 */
static void test_stores__selection__decides_whose_turn_it_is(void **state)
{
    take_turns(*state, "round-robin", NULL, "sasasa");
    take_turns(*state, "drain-first", NULL, "sssaaa");
    take_turns(*state, "round-robin", prefer_app, "aaasss");
}

/* proves: WRK-008, OBX-068 */
static void
test_stores__paused_topic_of_the_one_that_is_drained__does_not_starve_the_other(void **state)
{
    bed *b = *state;
    turns t = {{0}, 0};
    pair p;
    size_t handled = 0;
    int changed = 0;
    wp_config *config = wpt_config(b->clock, WPT_OPTIONS("worker.selection", "drain-first"));
    pair_open(&p, b, count);
    WPT_OK(wp_topic_pause(&changed, p.side, NULL, WP_SOURCE_OUTBOX, "u", NULL, WPT_ERR));
    wp_worker_free(p.worker);
    WPT_OK(wp_worker_new(&p.worker, p.side, config, WPT_ERR));
    WPT_OK(wp_worker_add_store(p.worker, b->store, "app", WPT_ERR));
    WPT_OK(wp_worker_handle(p.worker, WP_SOURCE_OUTBOX, "t", note, &t, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(p.worker, WP_SOURCE_OUTBOX, "u", note, &t, NULL, WPT_ERR));
    WPT_OK(wp_worker_topic_set(p.worker, WP_SOURCE_OUTBOX, "u", "batch_size", "7", WPT_ERR));
    (void)wpt_enqueue(p.side, "u", "x");
    enqueue_both(&p, 3);
    WPT_OK(wp_worker_drain(&handled, p.worker, 60000, WPT_ERR));
    assert_string_equal(t.order, "sssaaa");
    pair_close(&p);
    wp_config_free(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_stores__of_two_engines__each_message_once_and_from_its_own),
        BED_TEST(test_stores__one_fails__the_other_goes_on_and_nothing_is_lost),
        BED_TEST(test_stores__removed_and_added_again__nothing_is_lost),
        BED_TEST(test_stores__completed_on_a_connection_of_another__is_refused),
        BED_TEST(test_router__key__its_store_or_not_found),
        BED_TEST(test_router__discovers_while_the_worker_runs__it_follows),
        BED_TEST(test_stores__selection__decides_whose_turn_it_is),
        BED_TEST(test_stores__paused_topic_of_the_one_that_is_drained__does_not_starve_the_other),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
