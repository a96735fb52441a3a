/* SPDX-License-Identifier: Apache-2.0 */
/* Several stores in one worker: routing, turns, shares, dead ones beside live ones, coming and going. */
#include "support/wpt.h"

#include <netinet/in.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "worker/worker.h"

enum { STORES = 3, LOG_MAX = 4096 };

/* ---- the ground --------------------------------------------------------------------------- */

/* Three files, and a handler that notes in which order it was called, behind a gate. */
typedef struct ground {
    wpt_dir dir;
    wp_store *stores[STORES];
    wp_worker *worker;
    wpt_gate gate;
    wp__mutex mutex;
    char order[LOG_MAX]; /* a letter for each call: its store's id */
    size_t calls;
    atomic_int destroyed;
} ground;

static const char *const ids[STORES] = {"a", "b", "c"};

static void url_of(const ground *g, const char *id, char *url, size_t size)
{
    (void)snprintf(url, size, "sqlite:%s/%s.db", g->dir.path, id);
}

static wp_config *config_of(const ground *g, const char *id, const char *const *options)
{
    char url[256];
    wp_config *config = wpt_config(NULL, options);
    url_of(g, id, url, sizeof url);
    WPT_OK(wp_config_set(config, "store.url", url, WPT_ERR));
    WPT_OK(wp_config_set(config, "store.id", id, WPT_ERR));
    return config;
}

static wp_store *open_store(const ground *g, const char *id)
{
    wp_config *config = config_of(g, id, WPT_OPTIONS("store.deploy", "true"));
    wp_store *store = NULL;
    WPT_OK(wp_store_open(&store, config, WPT_ERR));
    wp_config_free(config);
    return store;
}

static int ground_setup(void **state)
{
    ground *g = calloc(1, sizeof *g);
    assert_non_null(g);
    wpt_dir_make(&g->dir);
    for (size_t i = 0; i < STORES; i++)
        g->stores[i] = open_store(g, ids[i]);
    wpt_gate_init(&g->gate);
    wp__mutex_init(&g->mutex);
    *state = g;
    return 0;
}

static int ground_teardown(void **state)
{
    ground *g = *state;
    wpt_gate_open(&g->gate, SIZE_MAX);
    if (g->worker)
        WPT_OK(wp_worker_stop(NULL, g->worker, 60000, WPT_ERR));
    wp_worker_free(g->worker);
    for (size_t i = 0; i < STORES; i++)
        wp_store_close(g->stores[i]);
    wpt_gate_fini(&g->gate);
    wp__mutex_destroy(&g->mutex);
    wpt_dir_remove(&g->dir);
    free(g);
    return 0;
}

static wp_outcome note(wp_delivery *delivery, void *user)
{
    ground *g = user;
    wp__mutex_lock(&g->mutex);
    if (g->calls < LOG_MAX - 1)
        g->order[g->calls++] = wp_delivery_store_id(delivery)[0];
    wp__mutex_unlock(&g->mutex);
    wpt_gate_pass(&g->gate);
    return WP_OUTCOME_DONE;
}

static size_t calls_of(ground *g, char id)
{
    size_t count = 0;
    wp__mutex_lock(&g->mutex);
    for (size_t i = 0; i < g->calls; i++)
        count += g->order[i] == id;
    wp__mutex_unlock(&g->mutex);
    return count;
}

static void count_destroy(void *user)
{
    ground *g = user;
    atomic_fetch_add(&g->destroyed, 1);
}

/* A worker on the first `count` stores. */
static void use_worker(ground *g, size_t count, const char *const *options)
{
    wp_config *config = wpt_config(NULL, options);
    WPT_OK(wp_worker_new(&g->worker, g->stores[0], config, WPT_ERR));
    for (size_t i = 1; i < count; i++)
        WPT_OK(wp_worker_add_store(g->worker, g->stores[i], NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "t", note, g, NULL, WPT_ERR));
    wp_config_free(config);
}

static void enqueue(const ground *g, size_t store, int count)
{
    for (int i = 0; i < count; i++)
        (void)wpt_enqueue(g->stores[store], "t", "x");
}

static void drain(ground *g, size_t handled)
{
    size_t count = 0;
    WPT_OK(wp_worker_drain(&count, g->worker, 60000, WPT_ERR));
    assert_int_equal(count, handled);
}

static int64_t done(const ground *g, size_t store)
{
    return wpt_stat(g->stores[store], "t", WP_STAT_DONE);
}

/* ---- the router --------------------------------------------------------------------------- */

/* A router with stores of these ids, one letter each; `pool_size` is the setting that may change. */
static wp_status set_stores(const ground *g, wp_router *router, const char *letters,
                            const char *pool_size)
{
    wp_config *configs[8] = {NULL};
    size_t count = strlen(letters);
    wp_status st;
    wp_error *err = NULL;
    for (size_t i = 0; i < count; i++) {
        const char id[2] = {letters[i], '\0'};
        configs[i] = config_of(g, id, WPT_OPTIONS("store.pool_size", pool_size));
    }
    st = wp_router_set(router, (const wp_config *const *)configs, count, &err);
    wp_error_free(err);
    for (size_t i = 0; i < count; i++)
        wp_config_free(configs[i]);
    return st;
}

static wp_store *get(wp_router *router, const char *key)
{
    wp_store *store = NULL;
    WPT_OK(wp_router_get(&store, router, key, WPT_ERR));
    return store;
}

/* proves: IBX-091 OBX-072 IBX-092 OBX-073 OBX-102 */
static void test_router__key__its_store_or_not_found(void **state)
{
    ground *g = *state;
    wp_router *router = NULL;
    wp_store *store = NULL;
    wp_id id;
    WPT_OK(wp_router_new(&router, WPT_ERR));
    WPT_STATUS(wp_router_get(&store, router, "a", WPT_ERR), WP_E_NOT_FOUND);
    assert_int_equal(set_stores(g, router, "ab", "2"), WP_OK);
    assert_int_equal(wp_router_count(router), 2);
    store = get(router, "b");
    assert_string_equal(wp_store_id(store), "b");
    id = wpt_enqueue(store, "t", "x");
    assert_int_equal(wpt_status_of(g->stores[1], &id), WP_MESSAGE_READY);
    wp_store_close(store);
    WPT_FAILS(wp_router_get(&store, router, "x", WPT_ERR), WP_E_NOT_FOUND, "\"x\"");
    WPT_STATUS(wp_router_get(&store, router, NULL, WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_router_get(NULL, router, "a", WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_router_get(&store, NULL, "a", WPT_ERR), WP_E_ARGUMENT);
    wp_router_free(router);
}

/* proves: IBX-097 OBX-079 IBX-095 OBX-077 IBX-096 OBX-078 */
static void test_router__set_again__keeps_the_same_and_opens_what_changed(void **state)
{
    ground *g = *state;
    wp_router *router = NULL;
    wp_store *a, *again, *b, *missing = NULL;
    WPT_OK(wp_router_new(&router, WPT_ERR));
    assert_int_equal(set_stores(g, router, "ab", "2"), WP_OK);
    a = get(router, "a");
    b = get(router, "b");
    assert_int_equal(set_stores(g, router, "ca", "2"), WP_OK);
    again = get(router, "a");
    assert_ptr_equal(a, again);
    wp_store_close(again);
    WPT_STATUS(wp_router_get(&missing, router, "b", WPT_ERR), WP_E_NOT_FOUND);
    (void)wpt_enqueue(b, "t", "x"); /* whoever has it still may use it */
    assert_int_equal(set_stores(g, router, "a", "3"), WP_OK);
    again = get(router, "a");
    assert_ptr_not_equal(a, again);
    wp_store_close(again);
    wp_store_close(a);
    wp_store_close(b);
    wp_router_free(router);
}

static void test_router__bad_list__changes_nothing(void **state)
{
    ground *g = *state;
    wp_router *router = NULL;
    wp_store *store = NULL;
    wp_config *config = wpt_config(NULL, NULL);
    const wp_config *list[] = {config, NULL};
    WPT_OK(wp_router_new(&router, WPT_ERR));
    assert_int_equal(set_stores(g, router, "a", "2"), WP_OK);
    assert_int_equal(set_stores(g, router, "bcb", "2"), WP_E_ARGUMENT);
    WPT_FAILS(wp_router_set(router, list, 1, WPT_ERR), WP_E_CONFIG, "store.url");
    WPT_OK(wp_config_set(config, "store.url", "mysql://u@h/d", WPT_ERR));
    WPT_FAILS(wp_router_set(router, list, 1, WPT_ERR), WP_E_CONFIG, "of no known kind");
    WPT_OK(wp_config_set(config, "store.url", "postgresql://u@h/d?passwort=x", WPT_ERR));
    WPT_FAILS(wp_store_open(&store, config, WPT_ERR), WP_E_CONFIG, "store.url");
    assert_null(strstr(wpt_message_of_last(), "passwort")); /* it may be a part of one */
    WPT_STATUS(wp_router_set(router, list + 1, 1, WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_router_set(router, NULL, 1, WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_router_set(NULL, NULL, 0, WPT_ERR), WP_E_ARGUMENT);
    wp_store_close(get(router, "a"));
    assert_int_equal(wp_router_count(router), 1);
    wp_config_free(config);
    wp_router_free(router);
}

static void test_router__list__ids_as_they_were_when_asked(void **state)
{
    ground *g = *state;
    wp_router *router = NULL;
    wp_router_ids *list = NULL, *later = NULL;
    WPT_OK(wp_router_new(&router, WPT_ERR));
    WPT_OK(wp_router_list(&list, router, WPT_ERR));
    assert_int_equal(wp_router_ids_count(list), 0);
    assert_null(wp_router_ids_at(list, 0));
    wp_router_ids_free(list);
    assert_int_equal(set_stores(g, router, "bca", "2"), WP_OK);
    WPT_OK(wp_router_list(&list, router, WPT_ERR));
    assert_int_equal(set_stores(g, router, "c", "2"), WP_OK);
    WPT_OK(wp_router_list(&later, router, WPT_ERR));
    wp_router_free(router);
    assert_int_equal(wp_router_ids_count(list), 3);
    assert_string_equal(wp_router_ids_at(list, 0), "b");
    assert_string_equal(wp_router_ids_at(list, 2), "a");
    assert_null(wp_router_ids_at(list, 3));
    assert_int_equal(wp_router_ids_count(later), 1);
    wp_router_ids_free(list);
    wp_router_ids_free(later);
    WPT_STATUS(wp_router_list(NULL, NULL, WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_router_list(&list, NULL, WPT_ERR), WP_E_ARGUMENT);
}

/* ---- turns -------------------------------------------------------------------------------- */

static void enqueue_four_each(const ground *g)
{
    for (size_t i = 0; i < STORES; i++)
        enqueue(g, i, 4);
}

/* proves: IBX-085 OBX-066 IBX-086 OBX-067 IBX-087 OBX-068 MDB-001 */
static void test_round_robin__three_stores__each_in_turn(void **state)
{
    ground *g = *state;
    wpt_gate_open(&g->gate, SIZE_MAX);
    use_worker(g, STORES, NULL);
    enqueue_four_each(g);
    drain(g, 12);
    assert_string_equal(g->order, "abcabcabcabc");
    for (size_t i = 0; i < STORES; i++)
        assert_int_equal(done(g, i), 4);
}

/* proves: IBX-087 OBX-068 */
static void test_round_robin__turns_of_two__two_of_each(void **state)
{
    ground *g = *state;
    wpt_gate_open(&g->gate, SIZE_MAX);
    use_worker(g, STORES, WPT_OPTIONS("worker.turn", "2"));
    enqueue_four_each(g);
    drain(g, 12);
    assert_string_equal(g->order, "aabbccaabbcc");
}

/* proves: IBX-088 OBX-069 */
static void test_drain_first__three_stores__one_after_the_other(void **state)
{
    ground *g = *state;
    wpt_gate_open(&g->gate, SIZE_MAX);
    use_worker(g, STORES, WPT_OPTIONS("worker.selection", "drain-first"));
    enqueue_four_each(g);
    drain(g, 12);
    assert_string_equal(g->order, "aaaabbbbcccc");
}

/* Running, with one handler: at most one change from a store to another before all of it is done. */
static void test_drain_first__running__stays_until_it_has_no_more(void **state)
{
    ground *g = *state;
    int changes = 0;
    wpt_gate_open(&g->gate, SIZE_MAX);
    enqueue(g, 0, 60);
    enqueue(g, 1, 60);
    use_worker(g, 2,
               WPT_OPTIONS("worker.selection", "drain-first", "worker.concurrency", "1",
                           "worker.batch_size", "5"));
    WPT_OK(wp_worker_start(g->worker, 1, WPT_ERR));
    WPT_AWAIT(wpt_gate_passed(&g->gate) == 120);
    for (size_t i = 1; i < g->calls; i++)
        changes += g->order[i] != g->order[i - 1];
    assert_in_range(changes, 1, 3); /* the first ones may be claimed at the same moment */
}

static size_t prefer_c(const wp_candidates *candidates, void *user)
{
    (void)user;
    assert_true(wp_candidates_count(candidates) >= 2);
    assert_null(wp_candidates_store_id(candidates, wp_candidates_count(candidates)));
    for (size_t i = 0; i < wp_candidates_count(candidates); i++) {
        assert_true(wp_candidates_ready(candidates, i) > 0);
        assert_int_equal(wp_candidates_running(candidates, i), 0);
        if (wp_candidates_store_id(candidates, i)[0] == 'c')
            return i;
    }
    return SIZE_MAX; /* whoever */
}

/* proves: IBX-086 OBX-067 */
static void test_selector__of_the_apps__decides(void **state)
{
    ground *g = *state;
    wpt_gate_open(&g->gate, SIZE_MAX);
    use_worker(g, STORES, NULL);
    WPT_OK(wp_worker_set_selector(g->worker, prefer_c, g, count_destroy, WPT_ERR));
    WPT_STATUS(wp_worker_set_selector(g->worker, prefer_c, g, count_destroy, WPT_ERR), WP_E_STATE);
    WPT_STATUS(wp_worker_set_selector(g->worker, NULL, g, count_destroy, WPT_ERR), WP_E_ARGUMENT);
    assert_int_equal(atomic_load(&g->destroyed), 2);
    enqueue_four_each(g);
    drain(g, 12);
    assert_string_equal(g->order, "ccccabababab");
    wp_worker_free(g->worker);
    g->worker = NULL;
    assert_int_equal(atomic_load(&g->destroyed), 3);
}

/* ---- shares ------------------------------------------------------------------------------- */

/* How many messages the second store holds. */
static size_t held_of_b(ground *g)
{
    size_t held;
    wp__mutex_lock(&g->worker->mutex);
    held = g->worker->parts->next->held;
    wp__mutex_unlock(&g->worker->mutex);
    return held;
}

/* A store with a heap of work does not starve one with a little: of four handlers the little one has its
 * half as long as it has work. */
static void test_shares__one_store_floods__the_other_gets_its_share(void **state)
{
    ground *g = *state;
    size_t passed = 0;
    enqueue(g, 0, 500);
    use_worker(g, 2, WPT_OPTIONS("worker.concurrency", "4"));
    WPT_OK(wp_worker_start(g->worker, 4, WPT_ERR));
    WPT_AWAIT(wpt_gate_waiting(&g->gate) == 4);
    enqueue(g, 1, 10);
    while (calls_of(g, 'b') < 10) {
        WPT_AWAIT(held_of_b(g) >= 2 || calls_of(g, 'b') + held_of_b(g) >= 10 || !passed);
        wpt_gate_open(&g->gate, 1);
        passed++;
        WPT_AWAIT(wpt_gate_passed(&g->gate) == passed && wpt_gate_waiting(&g->gate) == 4);
        assert_true(passed < 60);
    }
}

/* All stores together hold no more than one alone would. */
static void test_shares__many_stores__hold_no_more_than_one(void **state)
{
    ground *g = *state;
    size_t held = 0;
    enqueue_four_each(g);
    use_worker(g, STORES, WPT_OPTIONS("worker.concurrency", "2"));
    WPT_OK(wp_worker_start(g->worker, 2, WPT_ERR));
    WPT_AWAIT(wpt_gate_waiting(&g->gate) == 2);
    for (size_t i = 0; i < STORES; i++)
        held += (size_t)wpt_stat(g->stores[i], "t", WP_STAT_IN_PROGRESS);
    assert_in_range(held, 2, 2 + STORES);
    wpt_gate_open(&g->gate, SIZE_MAX);
    WPT_AWAIT(done(g, 0) + done(g, 1) + done(g, 2) == 12);
}

/* ---- dead ones beside live ones ------------------------------------------------------------ */

static void lives_beside(ground *g)
{
    for (int round = 0; round < 5; round++) {
        const int64_t before = done(g, 0);
        enqueue(g, 0, 20);
        WPT_AWAIT(done(g, 0) == before + 20);
    }
}

static void test_dead__file_locked__the_others_go_on(void **state)
{
    ground *g = *state;
    char path[256];
    sqlite3 *db = NULL;
    wpt_gate_open(&g->gate, SIZE_MAX);
    enqueue(g, 1, 20);
    (void)snprintf(path, sizeof path, "%s/b.db", g->dir.path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    use_worker(g, 2, NULL);
    WPT_OK(wp_worker_start(g->worker, 2, WPT_ERR));
    lives_beside(g);
    assert_int_equal(done(g, 1), 0);
    assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    WPT_AWAIT(done(g, 1) == 20);
}

/* A server that takes connections and never says a word; *port gets where. */
static int black_hole(unsigned *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

/* One is black-holed, one refuses connections, one has no file yet: from the start. */
static void test_dead__from_the_start__the_others_go_on_and_it_joins_them_later(void **state)
{
    ground *g = *state;
    wp_config *configs[4];
    wp_router *router = NULL;
    wp_store *late;
    char url[2][80];
    unsigned port;
    int hole = black_hole(&port);
    (void)snprintf(url[0], sizeof url[0], "postgresql://u@127.0.0.1:%u/hole", port);
    (void)snprintf(url[1], sizeof url[1], "postgresql://u@127.0.0.1:1/none");
    configs[0] = config_of(g, "a", NULL);
    configs[3] = config_of(g, "late", NULL);
    for (int i = 0; i < 2; i++)
        configs[1 + i] =
            wpt_config(NULL, WPT_OPTIONS("store.url", url[i], "store.id", i ? "none" : "hole"));
    WPT_OK(wp_router_new(&router, WPT_ERR));
    WPT_OK(wp_router_set(router, (const wp_config *const *)configs, 4, WPT_ERR));
    WPT_OK(wp_worker_new_on_router(&g->worker, router, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "t", note, g, NULL, WPT_ERR));
    wpt_gate_open(&g->gate, SIZE_MAX);
    WPT_OK(wp_worker_start(g->worker, 2, WPT_ERR));
    lives_beside(g);
    late = open_store(g, "late");
    (void)wpt_enqueue(late, "t", "x");
    WPT_AWAIT(wpt_stat(late, "t", WP_STAT_DONE) == 1);
    WPT_AWAIT(wp_worker_store_counter(g->worker, "late", WP_COUNTER_ACKED) == 1);
    WPT_OK(wp_worker_remove_store(NULL, g->worker, "hole", 0, WPT_ERR));
    lives_beside(g);
    WPT_OK(wp_worker_stop(NULL, g->worker, 2000, WPT_ERR));
    wp_store_close(late);
    for (size_t i = 0; i < WPT_COUNT(configs); i++)
        wp_config_free(configs[i]);
    wp_router_free(router);
    (void)close(hole);
}

/* ---- coming and going ---------------------------------------------------------------------- */

static size_t parts(ground *g)
{
    size_t count = 0;
    wp__mutex_lock(&g->worker->mutex);
    for (const wp__part *part = g->worker->parts; part; part = part->next)
        count++;
    wp__mutex_unlock(&g->worker->mutex);
    return count;
}

static void test_add_store__bad_arguments__are_told_and_change_nothing(void **state)
{
    ground *g = *state;
    wp_clock *clock = wpt_clock();
    wp_store *other = wpt_store("sqlite::memory:", clock, NULL);
    use_worker(g, 1, NULL);
    WPT_FAILS(wp_worker_add_store(g->worker, g->stores[0], NULL, WPT_ERR), WP_E_STATE, "\"a\"");
    WPT_FAILS(wp_worker_add_store(g->worker, other, "o", WPT_ERR), WP_E_ARGUMENT, "clock");
    WPT_STATUS(wp_worker_add_store(g->worker, g->stores[1], "", WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_worker_add_store(g->worker, NULL, NULL, WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_worker_add_store(NULL, other, NULL, WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_worker_remove_store(NULL, g->worker, "b", 0, WPT_ERR), WP_E_NOT_FOUND);
    WPT_STATUS(wp_worker_remove_store(NULL, g->worker, NULL, 0, WPT_ERR), WP_E_ARGUMENT);
    WPT_STATUS(wp_worker_remove_store(NULL, g->worker, "a", -1, WPT_ERR), WP_E_RANGE);
    assert_int_equal(parts(g), 1);
    WPT_OK(wp_worker_stop(NULL, g->worker, 0, WPT_ERR));
    WPT_STATUS(wp_worker_add_store(g->worker, g->stores[1], NULL, WPT_ERR), WP_E_STOPPED);
    WPT_STATUS(wp_worker_remove_store(NULL, g->worker, "a", 0, WPT_ERR), WP_E_STOPPED);
    wp_store_close(other);
    wp_clock_free(clock);
}

/* proves: OBX-066 OBX-070 IBX-089 */
static void test_add_store__while_it_runs__is_served_under_its_id(void **state)
{
    ground *g = *state;
    wpt_gate_open(&g->gate, SIZE_MAX);
    use_worker(g, 1, NULL);
    WPT_OK(wp_worker_start(g->worker, 2, WPT_ERR));
    enqueue(g, 1, 3);
    WPT_OK(wp_worker_add_store(g->worker, g->stores[1], "z", WPT_ERR));
    WPT_AWAIT(done(g, 1) == 3);
    assert_int_equal(calls_of(g, 'z'), 3);
    WPT_AWAIT(wp_worker_store_counter(g->worker, "z", WP_COUNTER_ACKED) == 3);
    assert_int_equal(wp_worker_store_counter(g->worker, "a", WP_COUNTER_ACKED), 0);
    assert_int_equal(wp_worker_store_counter(g->worker, "b", WP_COUNTER_ACKED), 0);
    assert_int_equal(wp_worker_counter(g->worker, WP_COUNTER_ACKED), 3);
}

static void *open_soon(void *arg)
{
    ground *g = arg;
    WPT_AWAIT(wpt_stat(g->stores[1], "t", WP_STAT_IN_PROGRESS) == 2); /* the rest was given back */
    wpt_gate_open(&g->gate, SIZE_MAX);
    return NULL;
}

/* proves: IBX-096 OBX-078 MDB-001 */
static void test_remove_store__handlers_run__drains_and_loses_nothing(void **state)
{
    ground *g = *state;
    wp__thread thread = {0};
    size_t abandoned = 9;
    enqueue(g, 1, 50);
    use_worker(g, 2, WPT_OPTIONS("worker.concurrency", "2"));
    WPT_OK(wp_worker_start(g->worker, 2, WPT_ERR));
    WPT_AWAIT(wpt_gate_waiting(&g->gate) == 2);
    WPT_OK(wp__thread_start(&thread, "opens", open_soon, g, WPT_ERR));
    WPT_OK(wp_worker_remove_store(&abandoned, g->worker, "b", 60000, WPT_ERR));
    wp__thread_join(&thread);
    assert_int_equal(abandoned, 0);
    assert_int_equal(done(g, 1), 2);
    assert_int_equal(wpt_stat(g->stores[1], "t", WP_STAT_READY), 48);
    assert_int_equal(wpt_stat(g->stores[1], "t", WP_STAT_IN_PROGRESS), 0);
    assert_int_equal(parts(g), 1);
    lives_beside(g);
    WPT_OK(wp_worker_add_store(g->worker, g->stores[1], NULL, WPT_ERR));
    WPT_AWAIT(done(g, 1) == 50);
}

static void test_remove_store__handler_does_not_return__is_abandoned_by_the_deadline(void **state)
{
    ground *g = *state;
    size_t abandoned = 9;
    enqueue(g, 1, 1);
    use_worker(g, 2, NULL);
    WPT_OK(wp_worker_start(g->worker, 2, WPT_ERR));
    WPT_AWAIT(wpt_gate_waiting(&g->gate) == 1);
    WPT_OK(wp_worker_remove_store(&abandoned, g->worker, "b", 20, WPT_ERR));
    assert_int_equal(abandoned, 1);
    assert_int_equal(parts(g), 1);
    wpt_gate_open(&g->gate, SIZE_MAX);
    lives_beside(g);
    assert_int_equal(done(g, 1), 0);
}

static wp_outcome remove_own(wp_delivery *delivery, void *user)
{
    ground *g = user;
    assert_int_equal(
        wp_worker_remove_store(NULL, g->worker, wp_delivery_store_id(delivery), 60000, NULL),
        WP_OK);
    return WP_OUTCOME_DONE;
}

static void test_remove_store__by_its_own_handler__its_outcome_counts(void **state)
{
    ground *g = *state;
    wpt_gate_open(&g->gate, SIZE_MAX);
    use_worker(g, 2, NULL);
    WPT_OK(wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "bye", remove_own, g, NULL, WPT_ERR));
    (void)wpt_enqueue(g->stores[1], "bye", "x");
    WPT_OK(wp_worker_start(g->worker, 2, WPT_ERR));
    WPT_AWAIT(wpt_stat(g->stores[1], "bye", WP_STAT_DONE) == 1);
    WPT_AWAIT(parts(g) == 1);
    lives_beside(g);
}

/* proves: IBX-095 OBX-077 IBX-096 OBX-078 IBX-097 OBX-079 IBX-093 OBX-075 */
static void test_router__changes_while_the_worker_runs__it_follows(void **state)
{
    ground *g = *state;
    wp_router *router = NULL;
    const wp__part *first;
    wpt_gate_open(&g->gate, SIZE_MAX);
    WPT_OK(wp_router_new(&router, WPT_ERR));
    assert_int_equal(set_stores(g, router, "a", "2"), WP_OK);
    WPT_OK(wp_worker_new_on_router(&g->worker, router, NULL, WPT_ERR));
    WPT_OK(wp_worker_handle(g->worker, WP_SOURCE_OUTBOX, "t", note, g, NULL, WPT_ERR));
    WPT_OK(wp_worker_start(g->worker, 2, WPT_ERR));
    enqueue_four_each(g);
    WPT_AWAIT(done(g, 0) == 4);
    assert_int_equal(done(g, 1) + done(g, 2), 0);
    first = g->worker->parts;
    assert_int_equal(set_stores(g, router, "abc", "2"), WP_OK);
    WPT_AWAIT(done(g, 1) + done(g, 2) == 8);
    assert_ptr_equal(g->worker->parts, first);
    assert_int_equal(set_stores(g, router, "bbc", "2"),
                     WP_E_ARGUMENT); /* a bad one changes nothing */
    assert_int_equal(parts(g), 3);
    assert_int_equal(set_stores(g, router, "ab", "3"), WP_OK); /* changed, and one is gone */
    WPT_AWAIT(parts(g) == 2);
    assert_ptr_not_equal(g->worker->parts, first);
    enqueue(g, 2, 1);
    lives_beside(g);
    assert_int_equal(wpt_stat(g->stores[2], "t", WP_STAT_READY), 1);
    wp_router_free(router); /* the worker goes on */
    lives_beside(g);
}

/* ---- the log ------------------------------------------------------------------------------ */

/* proves: IBX-090 OBX-071 */
static void test_log__several_stores__each_line_names_its_own(void **state)
{
    ground *g = *state;
    wpt_log log;
    wp_config *config = wpt_config(NULL, NULL);
    wpt_log_init(&log);
    wpt_log_attach(&log, config, "info");
    wp_store_close(g->stores[0]);
    WPT_OK(wp_config_set(config, "store.id", "a", WPT_ERR));
    {
        char url[256];
        url_of(g, "a", url, sizeof url);
        WPT_OK(wp_config_set(config, "store.url", url, WPT_ERR));
    }
    WPT_OK(wp_store_open(&g->stores[0], config, WPT_ERR));
    wp_config_free(config);
    wpt_gate_open(&g->gate, SIZE_MAX);
    use_worker(g, 2, NULL);
    enqueue(g, 0, 2);
    enqueue(g, 1, 3);
    drain(g, 5);
    assert_int_equal(wpt_log_count(&log, "info handling", "\"StoreId\":\"a\"", ""), 2);
    assert_int_equal(wpt_log_count(&log, "info handling", "\"StoreId\":\"b\"", ""), 3);
    wp_worker_free(g->worker);
    g->worker = NULL;
    wp_store_close(g->stores[0]);
    g->stores[0] = open_store(g, "a");
    wpt_log_fini(&log);
}

#define GROUND(test) cmocka_unit_test_setup_teardown(test, ground_setup, ground_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUND(test_router__key__its_store_or_not_found),
        GROUND(test_router__set_again__keeps_the_same_and_opens_what_changed),
        GROUND(test_router__bad_list__changes_nothing),
        GROUND(test_router__list__ids_as_they_were_when_asked),
        GROUND(test_round_robin__three_stores__each_in_turn),
        GROUND(test_round_robin__turns_of_two__two_of_each),
        GROUND(test_drain_first__three_stores__one_after_the_other),
        GROUND(test_drain_first__running__stays_until_it_has_no_more),
        GROUND(test_selector__of_the_apps__decides),
        GROUND(test_shares__one_store_floods__the_other_gets_its_share),
        GROUND(test_shares__many_stores__hold_no_more_than_one),
        GROUND(test_dead__file_locked__the_others_go_on),
        GROUND(test_dead__from_the_start__the_others_go_on_and_it_joins_them_later),
        GROUND(test_add_store__bad_arguments__are_told_and_change_nothing),
        GROUND(test_add_store__while_it_runs__is_served_under_its_id),
        GROUND(test_remove_store__handlers_run__drains_and_loses_nothing),
        GROUND(test_remove_store__handler_does_not_return__is_abandoned_by_the_deadline),
        GROUND(test_remove_store__by_its_own_handler__its_outcome_counts),
        GROUND(test_router__changes_while_the_worker_runs__it_follows),
        GROUND(test_log__several_stores__each_line_names_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
