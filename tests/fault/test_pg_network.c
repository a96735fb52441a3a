/* SPDX-License-Identifier: Apache-2.0 */
/* A network between the library and PostgreSQL that cuts connections before and after a commit, loses
 * answers, stalls, and swallows what is sent. */
#include "pg.h"

#include <stdatomic.h>

#include "base/thread.h"
#include "db/store.h"

/* Texts of statements are on the wire. */
#define PLAIN "store.prepared_statements=false "
/* Nobody waits long for an answer. */
#define HASTY                                                                                      \
    PLAIN "store.response_timeout_ms=300 store.connect_timeout_ms=300 store.busy_timeout_ms=300 "
/* Nothing else is on the wire but what the test does. */
#define QUIET PLAIN "store.signals=false worker.reap_ms=60000 worker.poll_min_ms=20 "

#define A_CLAIM "claim_number = w.claim_number + 1"

typedef struct net {
    pg_place *pg;
    proxy *proxy;
    char url[256]; /* by way of it */
} net;

static int net_setup(void **state)
{
    net *n = calloc(1, sizeof *n);
    void *pg = NULL;
    MUST(n && pg_setup(&pg) == 0);
    n->pg = pg;
    n->proxy = proxy_open(proxy_port_of(n->pg->url));
    proxy_url(n->url, sizeof n->url, n->proxy, n->pg->url);
    *state = n;
    return 0;
}

static int net_teardown(void **state)
{
    net *n = *state;
    void *pg = n->pg;
    proxy_close(n->proxy);
    (void)pg_teardown(&pg);
    free(n);
    return 0;
}
#define WITH_NET(test) cmocka_unit_test_setup_teardown(test, net_setup, net_teardown)

/* ---- enqueue ------------------------------------------------------------------------------ */

static void is_stored(const net *n, const wp_id *id)
{
    char text[37];
    wp_id_format(text, id);
    assert_int_equal(
        pg_number(n->pg->db, PG_ALL " JOIN infra.outbox_work USING (seq) WHERE id = '%s'", text),
        1);
}

/* Enqueue one while the connection is cut at `text`; it is stored once, and that is the id. */
static void enqueue_one(net *n, const char *unique_key, const char *text, proxy_when when)
{
    wp_store *store = fault_store(n->url, QUIET);
    wp_message *message = fault_message("t", "1");
    int duplicate = 1;
    wp_id id;
    MUST_OK(wp_message_set_unique_key(message, unique_key, &must_err));
    proxy_cut_at(n->proxy, text, when);
    MUST_OK(wp_outbox_enqueue(&id, &duplicate, store, NULL, message, &must_err));
    assert_int_equal(proxy_fired(n->proxy), 1);
    assert_int_equal(pg_number(n->pg->db, PG_ALL), 1);
    assert_int_equal(duplicate, 0);
    is_stored(n, &id);
    wp_message_free(message);
    wp_store_close(store);
}

/* proves: OBX-001 */
static void test_enqueue__cut_before_the_server_gets_it__is_stored_once(void **state)
{
    enqueue_one(*state, NULL, "INSERT INTO", PROXY_BEFORE);
}

/* proves: OBX-001 */
static void test_enqueue__its_answer_lost__is_stored_once(void **state)
{
    enqueue_one(*state, NULL, "INSERT INTO", PROXY_AFTER);
}

static void test_enqueue__unique_and_cut_before_the_commit__is_stored_once(void **state)
{
    enqueue_one(*state, "k", "COMMIT", PROXY_BEFORE);
}

static void test_enqueue__unique_and_the_answer_to_its_commit_lost__is_no_duplicate(void **state)
{
    enqueue_one(*state, "k", "COMMIT", PROXY_AFTER);
}

/* The further tries get no connection: that the first one may have been committed is still told. */
static void test_enqueue__its_answer_and_the_network_lost__the_outcome_is_unknown(void **state)
{
    net *n = *state;
    wp_store *store = fault_store(n->url, QUIET);
    wp_message *message = fault_message("t", "1");
    wp_error *err = NULL;
    wp_id id;
    proxy_set(n->proxy, PROXY_REFUSE);
    proxy_cut_at(n->proxy, "INSERT INTO", PROXY_AFTER);
    assert_int_equal(wp_outbox_enqueue(&id, NULL, store, NULL, message, &err), WP_E_UNAVAILABLE);
    assert_true(wp_error_outcome_unknown(err));
    assert_int_equal(pg_number(n->pg->db, PG_ALL), 1);
    wp_error_free(err);
    wp_message_free(message);
    wp_store_close(store);
}

enum { BATCH = 50 };

/* Every third has a unique key, of which two are the same. */
static void enqueue_batch(net *n, proxy_when when)
{
    wp_store *store = fault_store(n->url, QUIET);
    wp_message *messages[BATCH];
    wp_id ids[BATCH];
    int duplicates[BATCH];
    for (int i = 0; i < BATCH; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%d", i == 48 ? 0 : i);
        messages[i] = fault_message("t", "1");
        if (i % 3 == 0)
            MUST_OK(wp_message_set_unique_key(messages[i], key, &must_err));
    }
    proxy_cut_at(n->proxy, "COMMIT", when);
    MUST_OK(wp_outbox_enqueue_many(ids, duplicates, store, NULL,
                                   (const wp_message *const *)messages, BATCH, &must_err));
    assert_int_equal(proxy_fired(n->proxy), 1);
    assert_int_equal(pg_number(n->pg->db, PG_ALL), BATCH - 1);
    for (int i = 0; i < BATCH; i++) {
        assert_int_equal(duplicates[i], i == 48);
        is_stored(n, &ids[i]);
        wp_message_free(messages[i]);
    }
    assert_memory_equal(&ids[48], &ids[0], sizeof ids[0]);
    wp_store_close(store);
}

static void test_enqueue_many__cut_before_the_commit__all_are_stored_once(void **state)
{
    enqueue_batch(*state, PROXY_BEFORE);
}

static void test_enqueue_many__the_answer_to_their_commit_lost__all_are_stored_once(void **state)
{
    enqueue_batch(*state, PROXY_AFTER);
}

/* ---- a worker ----------------------------------------------------------------------------- */

enum { FIRST = 2 };

typedef struct bench {
    wpt_gate gate;
    atomic_int handled;
    atomic_int lost; /* told so */
    atomic_llong attempts;
} bench;

static wp_outcome pass(wp_delivery *delivery, void *user)
{
    bench *b = user;
    (void)atomic_fetch_add(&b->attempts, wp_received_attempt(wp_delivery_message(delivery)));
    wpt_gate_pass(&b->gate);
    (void)atomic_fetch_add(&b->handled, 1);
    return WP_OUTCOME_DONE;
}

/* The first ones go on until they are told that their lease is lost. */
static wp_outcome go_on_until_lost(wp_delivery *delivery, void *user)
{
    bench *b = user;
    if (atomic_fetch_add(&b->handled, 1) < FIRST) {
        AWAIT(wp_delivery_cancelled(delivery) == WP_CANCEL_LEASE_LOST);
        (void)atomic_fetch_add(&b->lost, 1);
    }
    return WP_OUTCOME_DONE;
}

static void bench_init(bench *b)
{
    *b = (bench){0};
    wpt_gate_init(&b->gate);
}

static wp_worker *start_worker(wp_store *store, bench *b, unsigned threads)
{
    wp_worker *worker = fault_worker(store, "t", pass, b);
    MUST_OK(wp_worker_start(worker, threads, &must_err));
    return worker;
}

static void stop_worker(wp_worker *worker, bench *b)
{
    wpt_gate_open(&b->gate, SIZE_MAX);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wpt_gate_fini(&b->gate);
}

/* Ten acks go in one transaction whose commit is cut off. */
static void ack_batch(net *n, proxy_when when)
{
    enum { COUNT = 10 };
    wp_store *direct = fault_store(n->pg->url, "store.signals=false");
    wp_store *store = fault_store(n->url, QUIET "worker.flush_ms=100 worker.concurrency=10");
    wp_worker *worker;
    bench b;
    bench_init(&b);
    pg_enqueue_numbers(direct, "t", 0, COUNT);
    worker = start_worker(store, &b, COUNT);
    AWAIT(wpt_gate_waiting(&b.gate) == COUNT);
    proxy_cut_at(n->proxy, "INSERT INTO \"infra\".\"outbox_finished\"", when);
    wpt_gate_open(&b.gate, SIZE_MAX);
    AWAIT(pg_number(n->pg->db, PG_DONE) == COUNT);
    AWAIT(wp_worker_counter(worker, WP_COUNTER_ACKED) == COUNT);
    assert_int_equal(proxy_fired(n->proxy), 1);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_LEASES_LOST), 0);
    assert_true(wp_worker_counter(worker, WP_COUNTER_ERRORS) > 0);
    assert_int_equal(atomic_load(&b.handled), COUNT);
    stop_worker(worker, &b);
    wp_store_close(store);
    wp_store_close(direct);
}

static void test_ack__cut_before_the_server_gets_it__is_written_again(void **state)
{
    ack_batch(*state, PROXY_BEFORE);
}

/* proves: OBX-114 */
static void test_ack__its_answer_lost__is_not_told_as_a_lost_lease(void **state)
{
    ack_batch(*state, PROXY_AFTER);
}

/* A claim is cut off: its messages are handled long before its lease would end, as a first attempt. */
static void claim_cut(net *n, proxy_when when)
{
    wp_store *direct = fault_store(n->pg->url, "store.signals=false");
    wp_store *store = fault_store(n->url, QUIET "worker.lease_ms=86400000");
    wp_worker *worker;
    bench b;
    bench_init(&b);
    wpt_gate_open(&b.gate, SIZE_MAX);
    pg_enqueue_numbers(direct, "t", 0, 5);
    proxy_cut_at(n->proxy, A_CLAIM, when);
    worker = start_worker(store, &b, 2);
    AWAIT(pg_number(n->pg->db, PG_DONE) == 5);
    AWAIT(wp_worker_counter(worker, WP_COUNTER_ACKED) == 5);
    assert_int_equal(proxy_fired(n->proxy), 1);
    assert_int_equal(atomic_load(&b.attempts), 0);
    assert_int_equal(pg_number(n->pg->db, "SELECT max(attempt) FROM infra.outbox_finished"), 0);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_RELEASED), when == PROXY_AFTER ? 5 : 0);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_LEASES_LOST), 0);
    stop_worker(worker, &b);
    wp_store_close(store);
    wp_store_close(direct);
}

static void test_claim__cut_before_the_server_gets_it__is_sent_again(void **state)
{
    claim_cut(*state, PROXY_BEFORE);
}

static void test_claim__its_answer_lost__is_given_back_at_once(void **state)
{
    claim_cut(*state, PROXY_AFTER);
}

/* Outcomes and a claim in one transaction. */
static void test_claim__with_acks_and_their_commit_lost__both_are_found_out(void **state)
{
    net *n = *state;
    wp_store *direct = fault_store(n->pg->url, "store.signals=false");
    wp_store *store = fault_store(
        n->url, QUIET "worker.lease_ms=86400000 worker.concurrency=1 worker.batch_size=1");
    wp_worker *worker;
    bench b;
    bench_init(&b);
    pg_enqueue_numbers(direct, "t", 0, 20);
    worker = start_worker(store, &b, 1);
    AWAIT(wpt_gate_waiting(&b.gate) == 1);
    proxy_cut_at(n->proxy, "COMMIT", PROXY_AFTER);
    wpt_gate_open(&b.gate, SIZE_MAX);
    AWAIT(proxy_fired(n->proxy) == 1);
    AWAIT(wp_worker_counter(worker, WP_COUNTER_ACKED) == 20);
    assert_int_equal(pg_number(n->pg->db, PG_DONE), 20);
    assert_int_equal(atomic_load(&b.handled), 20);
    assert_int_equal(atomic_load(&b.attempts), 0);
    assert_int_equal(wp_worker_counter(worker, WP_COUNTER_LEASES_LOST), 0);
    stop_worker(worker, &b);
    wp_store_close(store);
    wp_store_close(direct);
}

/* ---- silence ------------------------------------------------------------------------------ */

static void call_in_silence(net *n, proxy_mode mode)
{
    wp_store *store = fault_store(n->url, HASTY "store.signals=false");
    wp_message *message = fault_message("t", "1");
    wp_error *err = NULL;
    wp_id id;
    proxy_set(n->proxy, mode);
    assert_int_equal(wp_outbox_enqueue(&id, NULL, store, NULL, message, &err), WP_E_UNAVAILABLE);
    assert_true(wp_error_retriable(err));
    assert_true(wp_error_outcome_unknown(err));
    wp_error_free(err);
    proxy_set(n->proxy, PROXY_FORWARD);
    MUST_OK(wp_outbox_enqueue(&id, NULL, store, NULL, message, &must_err));
    is_stored(n, &id);
    wp_message_free(message);
    wp_store_close(store);
}

static void test_enqueue__on_a_stalled_network__is_unavailable_in_time(void **state)
{
    call_in_silence(*state, PROXY_STALL);
}

static void test_enqueue__into_a_black_hole__is_unavailable_in_time(void **state)
{
    call_in_silence(*state, PROXY_BLACK_HOLE);
}

static void test_enqueue__refused__is_unavailable(void **state)
{
    net *n = *state;
    wp_store *store = fault_store(n->url, HASTY);
    wp_message *message = fault_message("t", "1");
    wp_error *err = NULL;
    wp_id id;
    proxy_set(n->proxy, PROXY_REFUSE);
    proxy_cut(n->proxy);
    assert_int_equal(wp_outbox_enqueue(&id, NULL, store, NULL, message, &err), WP_E_UNAVAILABLE);
    assert_true(wp_error_retriable(err));
    wp_error_free(err);
    wp_message_free(message);
    wp_store_close(store);
}

/* A worker loses its network for longer than its leases last, and gets it back. */
static void silence(net *n, proxy_mode mode)
{
    enum { COUNT = 6 };
    wp_store *direct = fault_store(n->pg->url, "store.signals=false");
    wp_store *store = fault_store(n->url, PLAIN "worker.lease_ms=600 worker.reap_ms=50 "
                                                "worker.concurrency=2 worker.batch_size=2 "
                                                "worker.backoff_base_ms=1 worker.backoff_max_ms=1");
    wp_worker *worker;
    bench b;
    bench_init(&b);
    pg_enqueue_numbers(direct, "t", 0, COUNT);
    worker = fault_worker(store, "t", go_on_until_lost, &b);
    MUST_OK(wp_worker_start(worker, FIRST, &must_err));
    AWAIT(atomic_load(&b.handled) == FIRST);
    proxy_set(n->proxy, mode);
    AWAIT(atomic_load(&b.lost) == FIRST);
    proxy_set(n->proxy, PROXY_FORWARD);
    AWAIT(pg_number(n->pg->db, PG_DONE) == COUNT);
    assert_true(wp_worker_counter(worker, WP_COUNTER_ERRORS) > 0);
    /* Handlers that were told so answered all the same: their outcomes count if nobody else has claimed meanwhile. */
    assert_in_range(atomic_load(&b.handled), COUNT, COUNT + FIRST);
    pg_enqueue_numbers(direct, "t", COUNT, COUNT);
    AWAIT(pg_number(n->pg->db, PG_DONE) == 2 * COUNT);
    stop_worker(worker, &b);
    wp_store_close(store);
    wp_store_close(direct);
}

static void test_worker__stalled_network__goes_on_when_it_is_back(void **state)
{
    silence(*state, PROXY_STALL);
}

static void test_worker__black_hole__goes_on_when_the_network_is_back(void **state)
{
    silence(*state, PROXY_BLACK_HOLE);
}

/* The server waits for the rest of a transaction whose client is gone, and holds its locks: not for
 * long. */
static void test_worker__lost_in_its_transaction__the_locks_do_not_stay(void **state)
{
    net *n = *state;
    wp_store *direct = fault_store(n->pg->url, "store.signals=false");
    wp_store *store = fault_store(n->url, QUIET "worker.lease_ms=1500 worker.concurrency=1 "
                                                "worker.batch_size=1");
    wp_worker *worker;
    bench b;
    bench_init(&b);
    pg_enqueue_numbers(direct, "t", 0, 20);
    worker = start_worker(store, &b, 1);
    AWAIT(wpt_gate_waiting(&b.gate) == 1);
    proxy_lose_at(n->proxy, "COMMIT"); /* acks and claims are written, and locked */
    wpt_gate_open(&b.gate, SIZE_MAX);
    AWAIT(proxy_fired(n->proxy) == 1);
    AWAIT(pg_number(n->pg->db, PG_DONE) == 20);
    stop_worker(worker, &b);
    wp_store_close(store);
    wp_store_close(direct);
}

/* The same for the store's own transactions: the second try must not wait for the first one. */
static void test_enqueue__lost_before_its_commit__another_try_gets_through(void **state)
{
    net *n = *state;
    wp_store *store =
        fault_store(n->url, QUIET "store.response_timeout_ms=300 store.busy_timeout_ms=10000");
    wp_message *message = fault_message("t", "1");
    int duplicate = 1;
    wp_id id;
    MUST_OK(wp_message_set_unique_key(message, "k", &must_err));
    proxy_lose_at(n->proxy, "COMMIT");
    MUST_OK(wp_outbox_enqueue(&id, &duplicate, store, NULL, message, &must_err));
    assert_int_equal(proxy_fired(n->proxy), 1);
    assert_int_equal(duplicate, 0);
    assert_int_equal(pg_number(n->pg->db, PG_ALL), 1);
    is_stored(n, &id);
    wp_message_free(message);
    wp_store_close(store);
}

/* proves: OBX-116 */
static void test_stop__while_all_is_swallowed__returns_with_what_was_given_up(void **state)
{
    net *n = *state;
    wp_store *direct = fault_store(n->pg->url, "store.signals=false");
    wp_store *store = fault_store(n->url, "worker.concurrency=2 worker.batch_size=2");
    wp_worker *worker;
    size_t abandoned = 0;
    bench b;
    bench_init(&b);
    pg_enqueue_numbers(direct, "t", 0, 4);
    worker = start_worker(store, &b, 2);
    AWAIT(wpt_gate_waiting(&b.gate) == 2);
    proxy_set(n->proxy, PROXY_BLACK_HOLE);
    MUST_OK(wp_worker_stop(&abandoned, worker, 300, &must_err));
    assert_int_equal(abandoned, 2);
    wpt_gate_open(&b.gate, SIZE_MAX);
    AWAIT(wpt_gate_passed(&b.gate) == 2);
    wp_worker_free(worker);
    wp_store_close(store); /* comes back, too */
    wp_store_close(direct);
    wpt_gate_fini(&b.gate);
}

typedef struct closing {
    wp_store *store;
    atomic_bool closed;
} closing;

static void *close_store(void *arg)
{
    closing *c = arg;
    wp_store_close(c->store);
    atomic_store(&c->closed, true);
    return NULL;
}

/* A signal is under way that will never be answered. */
static void test_close__while_a_signal_is_swallowed__returns(void **state)
{
    net *n = *state;
    wp_store *store = fault_store(n->url, PLAIN "store.response_timeout_ms=86400000");
    wp__thread thread = {0};
    closing c = {.store = store};
    proxy_set(n->proxy, PROXY_BLACK_HOLE);
    wp__store_announce(store);
    AWAIT(proxy_swallowed(n->proxy) > 0);
    MUST_OK(wp__thread_start(&thread, "close", close_store, &c, &must_err));
    AWAIT(atomic_load(&c.closed));
    wp__thread_join(&thread);
}

/* ---- the channel -------------------------------------------------------------------------- */

/* Messages come through, then wake-ups: polls alone would come once an hour. */
static void test_channel__its_connection_swallowed__polls_and_later_signals_go_on(void **state)
{
    net *n = *state;
    wp_store *direct = fault_store(n->pg->url, "");
    wp_store *store =
        fault_store(n->url, "store.response_timeout_ms=300 store.connect_timeout_ms=300 "
                            "worker.reap_ms=50");
    wp_worker *worker;
    int64_t wakes;
    bench b;
    bench_init(&b);
    wpt_gate_open(&b.gate, SIZE_MAX);
    worker = start_worker(store, &b, 2);
    AWAIT(wp_worker_counter(worker, WP_COUNTER_WAKES) > 0); /* the channel was asked */
    proxy_set(n->proxy, PROXY_BLACK_HOLE);
    pg_enqueue_numbers(direct, "t", 0, 3);
    AWAIT(wp_worker_counter(worker, WP_COUNTER_ERRORS) > 0);
    proxy_set(n->proxy, PROXY_FORWARD);
    AWAIT(pg_number(n->pg->db, PG_DONE) == 3);
    wakes = wp_worker_counter(worker, WP_COUNTER_WAKES);
    for (int i = 3; wp_worker_counter(worker, WP_COUNTER_WAKES) < wakes + 5; i++) {
        pg_enqueue_numbers(direct, "t", i, 1);
        AWAIT(atomic_load(&b.handled) == i + 1);
    }
    stop_worker(worker, &b);
    wp_store_close(store);
    wp_store_close(direct);
}

/* ---- health ------------------------------------------------------------------------------- */

/* Whether it is so now, and says `part`. */
static bool health_is(wp_worker *worker, wp_health_status status, const char *part)
{
    wp_health *health = NULL;
    bool found;
    MUST_OK(wp_health_read_worker(&health, worker, WP_HEALTH_OF_ALL, -1, 300, &must_err));
    found = wp_health_get_status(health) == status && strstr(wp_health_reason(health), part);
    wp_health_free(health);
    return found;
}

/* proves: HLT-001 */
static void test_health__into_a_black_hole__is_unhealthy_within_its_limit(void **state)
{
    net *n = *state;
    wp_store *store = fault_store(
        n->url, QUIET "worker.reap_ms=50 worker.lease_ms=3000 store.response_timeout_ms=2000 "
                      "health.pump_ms=100");
    wp_worker *worker;
    bench b;
    bench_init(&b);
    worker = start_worker(store, &b, 1);
    AWAIT(health_is(worker, WP_HEALTH_HEALTHY, ""));
    proxy_set(n->proxy, PROXY_BLACK_HOLE);
    AWAIT(health_is(worker, WP_HEALTH_UNHEALTHY, "did not answer within 300 ms"));
    AWAIT(health_is(worker, WP_HEALTH_UNHEALTHY, "pump is stuck"));
    proxy_set(n->proxy, PROXY_FORWARD);
    AWAIT(health_is(worker, WP_HEALTH_HEALTHY, ""));
    stop_worker(worker, &b);
    wp_store_close(store);
}

static void ignore(void *user, wp_log_level level, const char *message, const char *fields)
{
    (void)user, (void)level, (void)message, (void)fields;
}

static void note_end(void *user)
{
    atomic_store((atomic_bool *)user, true);
}

/* Who gave up waiting may close the store: the thread that still waits has it until it hears something. */
static void test_health__given_up_and_the_store_closed__ends_by_itself(void **state)
{
    net *n = *state;
    wp_config *config = fault_config(n->url, QUIET "store.response_timeout_ms=500");
    wp_store *store = NULL;
    wp_health *health = NULL;
    atomic_bool ended = false;
    MUST_OK(wp_config_set_log(config, ignore, &ended, note_end, &must_err));
    MUST_OK(wp_store_open(&store, config, &must_err));
    wp_config_free(config);
    proxy_set(n->proxy, PROXY_BLACK_HOLE);
    for (int i = 0; i < 2; i++) { /* the second one joins the first */
        MUST_OK(wp_health_read(&health, store, WP_HEALTH_OF_ALL, -1, 1 - i, &must_err));
        assert_int_equal(wp_health_get_status(health), WP_HEALTH_UNHEALTHY);
        wp_health_free(health);
    }
    wp_store_close(store);
    AWAIT(atomic_load(&ended));
}

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_NET(test_enqueue__cut_before_the_server_gets_it__is_stored_once),
        WITH_NET(test_enqueue__its_answer_lost__is_stored_once),
        WITH_NET(test_enqueue__unique_and_cut_before_the_commit__is_stored_once),
        WITH_NET(test_enqueue__unique_and_the_answer_to_its_commit_lost__is_no_duplicate),
        WITH_NET(test_enqueue__its_answer_and_the_network_lost__the_outcome_is_unknown),
        WITH_NET(test_enqueue_many__cut_before_the_commit__all_are_stored_once),
        WITH_NET(test_enqueue_many__the_answer_to_their_commit_lost__all_are_stored_once),
        WITH_NET(test_ack__cut_before_the_server_gets_it__is_written_again),
        WITH_NET(test_ack__its_answer_lost__is_not_told_as_a_lost_lease),
        WITH_NET(test_claim__cut_before_the_server_gets_it__is_sent_again),
        WITH_NET(test_claim__its_answer_lost__is_given_back_at_once),
        WITH_NET(test_claim__with_acks_and_their_commit_lost__both_are_found_out),
        WITH_NET(test_enqueue__on_a_stalled_network__is_unavailable_in_time),
        WITH_NET(test_enqueue__into_a_black_hole__is_unavailable_in_time),
        WITH_NET(test_enqueue__refused__is_unavailable),
        WITH_NET(test_worker__stalled_network__goes_on_when_it_is_back),
        WITH_NET(test_worker__black_hole__goes_on_when_the_network_is_back),
        WITH_NET(test_worker__lost_in_its_transaction__the_locks_do_not_stay),
        WITH_NET(test_enqueue__lost_before_its_commit__another_try_gets_through),
        WITH_NET(test_stop__while_all_is_swallowed__returns_with_what_was_given_up),
        WITH_NET(test_close__while_a_signal_is_swallowed__returns),
        WITH_NET(test_channel__its_connection_swallowed__polls_and_later_signals_go_on),
        WITH_NET(test_health__into_a_black_hole__is_unhealthy_within_its_limit),
        WITH_NET(test_health__given_up_and_the_store_closed__ends_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, NULL, 0, suite);
}
