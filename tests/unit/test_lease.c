/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper by a manual clock: renewal in time, trouble, the guard interval, and what comes last. */
#include <sqlite3.h>
#include <stdatomic.h>

#include "lease/lease.h"
#include "support/wpt.h"

enum { SECOND = 1000 }; /* milliseconds */

typedef struct kit {
    wpt_dir dir;
    char url[200];
    wp_clock *clock;
    wp_store *store;
    wpt_log log;
    sqlite3 *db;
} kit;

static int kit_setup(void **state)
{
    kit *k = calloc(1, sizeof *k);
    wp_config *config;
    assert_non_null(k);
    wpt_dir_make(&k->dir);
    (void)snprintf(k->url, sizeof k->url, "sqlite:%s/app.db", k->dir.path);
    k->clock = wpt_clock();
    wpt_log_init(&k->log);
    config = wpt_config(k->clock, WPT_OPTIONS("store.url", k->url, "store.deploy", "true",
                                              "store.busy_timeout_ms", "0"));
    wpt_log_attach(&k->log, config, "warning");
    WPT_OK(wp_store_open(&k->store, config, WPT_ERR));
    wp_config_free(config);
    assert_int_equal(sqlite3_open(wp_store_location(k->store), &k->db), SQLITE_OK);
    *state = k;
    return 0;
}

static int kit_teardown(void **state)
{
    kit *k = *state;
    assert_int_equal(sqlite3_close(k->db), SQLITE_OK);
    wp_store_close(k->store);
    assert_int_equal(k->log.destroyed, 1);
    wpt_log_fini(&k->log);
    wp_clock_free(k->clock);
    wpt_dir_remove(&k->dir);
    free(k);
    return 0;
}

static void sql(kit *k, const char *text)
{
    assert_int_equal(sqlite3_exec(k->db, text, NULL, NULL, NULL), SQLITE_OK);
}

static wp_lease *hold(kit *k, const char *name, int64_t ms)
{
    wp_lease *lease = NULL;
    WPT_OK(wp_lease_hold(&lease, NULL, k->store, WP_LEASE_EXCLUSIVE, name, NULL, ms, 0, WPT_ERR));
    return lease;
}

static int64_t counter(kit *k, wp_lease_counter which)
{
    return wp_lease_counter_read(k->store, which);
}

/* Whether someone else would get it now. */
static bool is_free(kit *k, const char *name)
{
    wp_lease_info *info = NULL;
    bool granted;
    WPT_OK(
        wp_lease_acquire(&info, k->store, NULL, WP_LEASE_EXCLUSIVE, name, "other", 1000, WPT_ERR));
    granted = wp_lease_info_granted(info);
    wp_lease_info_free(info);
    return granted;
}

/* Whether `owner` gets it now, for a second. */
static bool gets(kit *k, wp_lease_kind kind, const char *owner)
{
    wp_lease_info *info = NULL;
    bool granted;
    WPT_OK(wp_lease_acquire(&info, k->store, NULL, kind, "n", owner, SECOND, WPT_ERR));
    granted = wp_lease_info_granted(info);
    assert_true(granted ||
                wp_lease_info_until_us(info) <= wp_lease_info_now_us(info) + WPT_SECOND_US);
    wp_lease_info_free(info);
    return granted;
}

/* Who asks sees that it is held for longer than it was asked for, and waits as long as that alone. */
/* proves: LSE-001, SEM-001 */
static void test_acquire__given_when_the_clock_was_ahead__is_over_after_its_length(void **state)
{
    static const wp_lease_kind kinds[] = {WP_LEASE_EXCLUSIVE, WP_LEASE_SHARED};
    kit *k = *state;
    WPT_OK(wp_semaphore_set_limit(k->store, NULL, "n", 1, WPT_ERR));
    for (size_t i = 0; i < WPT_COUNT(kinds); i++) {
        WPT_OK(wp_clock_jump_us(k->clock, 3600 * WPT_SECOND_US, WPT_ERR));
        assert_true(gets(k, kinds[i], "a"));
        WPT_OK(wp_lease_renew(NULL, k->store, NULL, kinds[i], "n", "a", 0, SECOND, WPT_ERR));
        WPT_OK(wp_clock_jump_us(k->clock, -3600 * WPT_SECOND_US, WPT_ERR));
        assert_false(gets(k, kinds[i], "b")); /* its holder may still work */
        wpt_advance_ms(k->clock, SECOND - 1);
        assert_false(gets(k, kinds[i], "b"));
        wpt_advance_ms(k->clock, 1);
        assert_true(gets(k, kinds[i], "b"));
    }
}

/* proves: LSE-005 */
static void test_keeper__errors_while_time_is_left__are_retried(void **state)
{
    kit *k = *state;
    wp_lease *lease = hold(k, "n", 10 * SECOND);
    sql(k, "BEGIN IMMEDIATE");
    for (int i = 1; i <= 4; i++) {
        const int64_t errors = counter(k, WP_LEASE_COUNTER_ERRORS);
        wpt_advance_ms(k->clock, i == 1 ? 6 * SECOND : 500);
        WPT_AWAIT(counter(k, WP_LEASE_COUNTER_ERRORS) > errors);
        WPT_OK(wp_lease_check(lease, WPT_ERR));
        WPT_STATUS(wp_lease_renew_now(lease, WPT_ERR), WP_E_UNAVAILABLE); /* not lost by that */
    }
    sql(k, "ROLLBACK");
    wpt_advance_ms(k->clock, 500);
    WPT_AWAIT(counter(k, WP_LEASE_COUNTER_RENEWED) == 1);
    WPT_AWAIT(wp_lease_remaining_ms(lease) == 9 * SECOND);
    assert_int_equal(counter(k, WP_LEASE_COUNTER_LOST), 0);
    wp_lease_free(lease);
    assert_true(wpt_log_count(&k->log, "warning leases could not be renewed", "", "") >= 4);
}

/* The guard interval: it is lost while the database still keeps it from others. */
/* proves: LSE-005 */
static void test_keeper__cannot_renew__is_lost_before_another_can_have_it(void **state)
{
    kit *k = *state;
    wp_lease *lease = hold(k, "n", 10 * SECOND);
    wp_lease *lost = NULL;
    sql(k, "ALTER TABLE infra_lease RENAME TO away");
    wpt_advance_ms(k->clock, 8999);
    WPT_OK(wp_lease_check(lease, WPT_ERR));
    assert_int_equal(wp_lease_remaining_ms(lease), 1);
    wpt_advance_ms(k->clock, 1);
    WPT_FAILS(wp_lease_check(lease, WPT_ERR), WP_E_LEASE_LOST, "lost");
    WPT_OK(wp_lease_next_lost(&lost, k->store, -1, WPT_ERR));
    assert_ptr_equal(lost, lease);
    wp_lease_free(lost);
    sql(k, "ALTER TABLE away RENAME TO infra_lease");
    assert_false(is_free(k, "n"));
    wpt_advance_ms(k->clock, 999);
    assert_false(is_free(k, "n"));
    wpt_advance_ms(k->clock, 1);
    assert_true(is_free(k, "n"));
    wp_lease_free(lease);
    assert_int_equal(wpt_log_count(&k->log, "warning lease lost", "\"n\"", "in time"), 1);
}

/* Nobody asks: the keeper finds it out, and tells who waits. */
/* proves: LSE-005 */
static void test_keeper__time_is_up_unasked__those_who_wait_are_told(void **state)
{
    kit *k = *state;
    wp_lease *leases[3];
    for (int i = 0; i < 3; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%d", i);
        leases[i] = hold(k, name, 10 * SECOND);
    }
    sql(k, "ALTER TABLE infra_lease RENAME TO away");
    wpt_advance_ms(k->clock, 9 * SECOND);
    WPT_AWAIT(counter(k, WP_LEASE_COUNTER_LOST) == 3);
    for (int i = 0; i < 3; i++) {
        wp_lease *lost = NULL;
        WPT_OK(wp_lease_next_lost(&lost, k->store, -1, WPT_ERR));
        assert_ptr_equal(lost, leases[i]);
        wp_lease_free(lost);
        WPT_OK(wp_lease_wait_lost(leases[i], -1, WPT_ERR));
    }
    sql(k, "ALTER TABLE away RENAME TO infra_lease");
    for (int i = 0; i < 3; i++)
        wp_lease_free(leases[i]);
    assert_int_equal(counter(k, WP_LEASE_COUNTER_HELD), 0);
}

/* proves: LSE-005 */
static void test_options__part_and_guard__are_what_is_configured(void **state)
{
    kit *k = *state;
    wp_clock *clock = wpt_clock();
    wp_store *store = wpt_store(
        k->url, clock, WPT_OPTIONS("lease.renew_percent", "20", "lease.guard_percent", "20"));
    wp_lease *lease = NULL;
    WPT_OK(wp_lease_hold(&lease, NULL, store, WP_LEASE_EXCLUSIVE, "n", "me", 100 * SECOND, 0,
                         WPT_ERR));
    assert_string_equal(wp_lease_owner(lease), "me");
    assert_int_equal(wp_lease_remaining_ms(lease), 80 * SECOND);
    assert_in_range(lease->renew_at - wp__clock_mono_us(clock), 18 * WPT_SECOND_US,
                    20 * WPT_SECOND_US);
    wp_lease_free(lease);
    wp_store_close(store);
    wp_clock_free(clock);
}

/* proves: LSE-005 */
static void test_renewals__of_many_leases__are_spread(void **state)
{
    enum { MANY = 64 };
    kit *k = *state;
    wp_lease *leases[MANY];
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < MANY; i++) {
        char name[16];
        int64_t in;
        (void)snprintf(name, sizeof name, "n%d", i);
        leases[i] = hold(k, name, 100 * SECOND);
        in = leases[i]->renew_at - wp__clock_mono_us(k->clock);
        assert_in_range(in, 54 * WPT_SECOND_US, 60 * WPT_SECOND_US);
        least = in < least ? in : least;
        most = in > most ? in : most;
    }
    assert_true(most - least > 2 * WPT_SECOND_US);
    for (int i = 0; i < MANY; i++)
        wp_lease_free(leases[i]);
}

/* A lost lease that nobody asks about keeps nothing alive. */
static void test_free__lost_or_held_in_any_order__leaves_nothing(void **state)
{
    kit *k = *state;
    wp_lease *first = hold(k, "a", SECOND), *second = hold(k, "b", 10 * SECOND);
    wp_lease *further = wp_lease_ref(second), *none = NULL;
    wpt_advance_ms(k->clock, SECOND);
    WPT_STATUS(wp_lease_check(first, WPT_ERR), WP_E_LEASE_LOST);
    wp_lease_free(first);
    WPT_STATUS(wp_lease_next_lost(&none, k->store, 0, WPT_ERR), WP_E_TIMEOUT);
    wp_lease_free(second);
    WPT_OK(wp_lease_check(further, WPT_ERR));
    assert_false(is_free(k, "b"));
    wp_lease_free(further);
    assert_true(is_free(k, "b"));
    WPT_STATUS(wp_lease_next_lost(&none, k->store, -1, WPT_ERR), WP_E_STOPPED);
}

/* The store is closed first: the lease keeps it. */
static void test_store_close__leases_are_held__they_go_on(void **state)
{
    kit *k = *state;
    wp_store *store = wpt_store(k->url, k->clock, NULL);
    wp_lease *lease = NULL;
    WPT_OK(
        wp_lease_hold(&lease, NULL, store, WP_LEASE_EXCLUSIVE, "n", NULL, 10 * SECOND, 0, WPT_ERR));
    wp_store_close(store);
    wpt_advance_ms(k->clock, 6 * SECOND);
    WPT_AWAIT(wp_lease_remaining_ms(lease) == 9 * SECOND);
    WPT_OK(wp_lease_check(lease, WPT_ERR));
    wp_lease_free(lease);
    assert_true(is_free(k, "n"));
    store = wp_store_ref(k->store);
    assert_ptr_equal(store, k->store);
    wp_store_close(store);
    assert_null(wp_store_ref(NULL));
    assert_true(is_free(k, "n"));
}

/* Leases come and go on many threads while the keeper renews them and hosts wait for losses. */
enum { CHURNERS = 4, CHURNS = 150 };
typedef struct churner {
    kit *k;
    int number;
    atomic_int *failures;
    wp__thread thread;
} churner;

static void *churn(void *arg)
{
    churner *self = arg;
    for (int i = 0; i < CHURNS; i++) {
        wp_lease *lease = NULL, *lost = NULL;
        char name[16];
        (void)snprintf(name, sizeof name, "n%d", (self->number + i) % (CHURNERS + 2));
        if (wp_lease_hold(&lease, NULL, self->k->store, WP_LEASE_EXCLUSIVE, name, NULL, 5 * SECOND,
                          0, NULL) == WP_OK) {
            (void)wp_clock_advance_us(self->k->clock, 900000, NULL);
            (void)wp_lease_check(lease, NULL);
            (void)wp_lease_wait_lost(lease, 1, NULL);
            if (i % 3 == 0)
                (void)wp_lease_renew_now(lease, NULL);
        }
        if (wp_lease_next_lost(&lost, self->k->store, 0, NULL) == WP_OK &&
            wp_lease_check(lost, NULL) != WP_E_LEASE_LOST &&
            wp_lease_check(lost, NULL) != WP_E_STATE)
            atomic_fetch_add(self->failures, 1);
        wp_lease_free(lost);
        wp_lease_free(lease);
    }
    return NULL;
}

static void test_leases__come_and_go_on_many_threads__none_is_left(void **state)
{
    kit *k = *state;
    churner churners[CHURNERS];
    atomic_int failures = 0;
    for (int i = 0; i < CHURNERS; i++) {
        churners[i] = (churner){.k = k, .number = i, .failures = &failures};
        WPT_OK(wp__thread_start(&churners[i].thread, "churn", churn, &churners[i], WPT_ERR));
    }
    for (int i = 0; i < CHURNERS; i++)
        wp__thread_join(&churners[i].thread);
    assert_int_equal(failures, 0);
    assert_int_equal(counter(k, WP_LEASE_COUNTER_HELD), 0);
}

/* proves: LSE-007 */
static void test_retry__waits_longer_each_time_but_not_past_the_expiry(void **state)
{
    kit *k = *state;
    wp_lease *lease = hold(k, "n", 10 * SECOND), *none = NULL;
    wp_lease_info *refused = NULL;
    WPT_STATUS(
        wp_lease_hold(&none, &refused, k->store, WP_LEASE_EXCLUSIVE, "n", NULL, SECOND, 0, WPT_ERR),
        WP_E_TIMEOUT);
    assert_in_range(wp_lease_retry_ms(refused, 0), 7, 10);
    assert_in_range(wp_lease_retry_ms(refused, 3), 60, 80);
    assert_in_range(wp_lease_retry_ms(refused, 1000), 375, 500);
    wp_lease_info_free(refused);
    wp_lease_free(lease);
    assert_in_range(wp_lease_retry_ms(NULL, 0), 7, 10);
    assert_in_range(wp_lease_retry_ms(NULL, 1000), 375, 500);
}

/* Having seen what there is to do, it waits for up to a second. */
static bool keeper_sleeps(wp__leases *keeper)
{
    int64_t now = wp__clock_mono_us(keeper->clock), wakes_at;
    wp__mutex_lock(&keeper->mutex);
    wakes_at = keeper->thread_wakes_at;
    wp__mutex_unlock(&keeper->mutex);
    return wakes_at > now && wakes_at <= now + WPT_SECOND_US;
}

/* One keeper notices that the wall clock went a day ahead before another: it cleans nothing away that the
 * other has yet to renew. */
/* proves: LSE-005, LSE-008, CLK-001 */
static void test_keeper__clock_was_set__leaves_others_time_to_renew(void **state)
{
    enum { DAY_S = 86400 };
    kit *k = *state, early = {0};
    wp_lease *lease = hold(k, "n", 600 * SECOND), *its;
    wp__leases *keeper;
    wp_config *config;
    int64_t renewed = counter(k, WP_LEASE_COUNTER_RENEWED);
    early.clock = wpt_clock();
    config = wpt_config(early.clock, WPT_OPTIONS("store.url", k->url));
    WPT_OK(wp_store_open(&early.store, config, WPT_ERR));
    wp_config_free(config);
    its = hold(&early, "its", 600 * SECOND);
    keeper = its->leases;
    wp__mutex_lock(&keeper->mutex);
    keeper->clean_at = wp__clock_mono_us(early.clock) + WPT_SECOND_US;
    wp__mutex_unlock(&keeper->mutex);
    WPT_OK(wp_clock_jump_us(early.clock, DAY_S * WPT_SECOND_US, WPT_ERR));
    wpt_advance_ms(early.clock, SECOND);
    WPT_AWAIT(counter(&early, WP_LEASE_COUNTER_RENEWED) >= 1 && keeper_sleeps(keeper));
    wp_lease_free(its);
    WPT_OK(wp_clock_jump_us(k->clock, DAY_S * WPT_SECOND_US, WPT_ERR));
    wpt_advance_ms(k->clock, SECOND);
    WPT_AWAIT(counter(k, WP_LEASE_COUNTER_RENEWED) > renewed ||
              counter(k, WP_LEASE_COUNTER_LOST) > 0);
    WPT_OK(wp_lease_check(lease, WPT_ERR));
    wp_lease_free(lease);
    wp_store_close(early.store);
    wp_clock_free(early.clock);
}

/* ---- leaders ------------------------------------------------------------------------------ */

/* What the work does, term by term, and what it found. */
typedef struct reign {
    kit *kit;
    const wp_status *ends;
    int terms;
    int64_t fences[4];
    int64_t stopped_us, until_us; /* of the first term, by the database's clock */
} reign;

/* Whether the keeper is about to renew it. */
static bool is_pinned(wp_lease *lease)
{
    bool pinned;
    wp__mutex_lock(&lease->leases->mutex);
    pinned = lease->pins > 0;
    wp__mutex_unlock(&lease->leases->mutex);
    return pinned;
}

/* The first term can renew nothing, and works until it is told to stop. */
static wp_status lead(wp_lease *lease, void *user, wp_error **err)
{
    reign *r = user;
    kit *k = r->kit;
    wp_lease_info *info = NULL;
    (void)err;
    r->fences[r->terms] = wp_lease_fence(lease);
    if (r->terms++ > 0)
        return r->ends[r->terms - 1];
    WPT_OK(wp_lease_get(&info, k->store, NULL, WP_LEASE_EXCLUSIVE, "n", WPT_ERR));
    r->until_us = wp_lease_info_until_us(info);
    wp_lease_info_free(info);
    sql(k, "ALTER TABLE infra_lease RENAME TO away");
    while (wp_lease_check(lease, NULL) == WP_OK)
        wpt_advance_ms(k->clock, 100);
    r->stopped_us = wp_clock_utc_us(k->clock);
    WPT_AWAIT(!is_pinned(lease));
    sql(k, "ALTER TABLE away RENAME TO infra_lease");
    assert_false(is_free(k, "n"));
    wpt_advance_ms(k->clock, (r->until_us - r->stopped_us) / 1000);
    return r->ends[0];
}

/* The guard interval, as docs/leases.md states it: a tenth of the duration. */
/* proves: LSE-004, LSE-005 */
static void test_lead__lost__stops_a_guard_interval_early_and_begins_anew(void **state)
{
    static const wp_status ends[2][3] = {{WP_E_LEASE_LOST, WP_OK}, {WP_OK, WP_E_LEASE_LOST}};
    kit *k = *state;
    for (int i = 0; i < 2; i++) {
        reign r = {.kit = k, .ends = ends[i]};
        WPT_STATUS(wp_lease_lead(k->store, "n", NULL, 10 * SECOND, -1, lead, &r, WPT_ERR),
                   ends[i][1]);
        assert_int_equal(r.terms, 2);
        assert_true(r.fences[1] > r.fences[0]);
        assert_int_equal(r.until_us - r.stopped_us, SECOND * 1000);
        assert_int_equal(counter(k, WP_LEASE_COUNTER_HELD), 0);
        assert_true(is_free(k, "n"));
        wpt_advance_ms(k->clock, SECOND);
    }
}

/* proves: LSE-005 */
static void test_lead__error_of_the_work__ends_it(void **state)
{
    static const wp_status ends[] = {WP_E_STATE};
    kit *k = *state;
    reign r = {.kit = k, .ends = ends};
    WPT_STATUS(wp_lease_lead(k->store, "n", NULL, 10 * SECOND, 0, lead, &r, WPT_ERR), WP_E_STATE);
    assert_int_equal(r.terms, 1); /* though the lease was lost */
    assert_true(is_free(k, "n"));
    r.terms = 1;
    WPT_STATUS(wp_lease_lead(k->store, "n", NULL, 10 * SECOND, 5, lead, &r, WPT_ERR), WP_E_TIMEOUT);
    assert_int_equal(r.terms, 1);
}

static void *lead_for_long(void *arg)
{
    static const wp_status ends[] = {WP_OK, WP_OK};
    reign r = {.kit = arg, .ends = ends, .terms = 1};
    WPT_OK(wp_lease_lead(r.kit->store, "n", NULL, 10 * SECOND, -1, lead, &r, WPT_ERR));
    return NULL;
}

/* proves: LSE-005, LSE-007 */
static void test_lead__database_is_busy__waits_it_out(void **state)
{
    kit *k = *state;
    reign r = {.kit = k};
    wp__thread thread;
    size_t before;
    sql(k, "BEGIN IMMEDIATE");
    WPT_STATUS(wp_lease_lead(k->store, "n", NULL, SECOND, 20, lead, &r, WPT_ERR), WP_E_UNAVAILABLE);
    assert_int_equal(r.terms, 0);
    before = wpt_log_count(&k->log, "warning leader could not be elected", "\"n\"", "");
    assert_true(before > 0);
    WPT_OK(wp__thread_start(&thread, "lead", lead_for_long, k, WPT_ERR));
    WPT_AWAIT(wpt_log_count(&k->log, "warning leader could not be elected", "\"n\"", "") > before);
    sql(k, "ROLLBACK");
    wp__thread_join(&thread);
}

/* ---- waiting that is stopped ----------------------------------------------------------------- */

typedef struct waiter {
    kit *k;
    bool leads;
    wp__thread thread;
    wp_status st;
} waiter;

static wp_status lead_never(wp_lease *lease, void *user, wp_error **err)
{
    (void)lease;
    (void)user;
    return wp__fail(err, WP_E_STATE, "it leads");
}

static void *wait_for_it(void *arg)
{
    waiter *w = arg;
    wp_lease *lease = NULL;
    w->st = w->leads ? wp_lease_lead(w->k->store, "n", NULL, SECOND, -1, lead_never, NULL, NULL)
                     : wp_lease_hold(&lease, NULL, w->k->store, WP_LEASE_EXCLUSIVE, "n", NULL,
                                     SECOND, -1, NULL);
    wp_lease_free(lease);
    return NULL;
}

static size_t waiting(wp__leases *leases)
{
    size_t count = 0;
    wp__mutex_lock(&leases->mutex);
    for (const wp__lease_turn *turn = leases->turns; turn; turn = turn->next)
        count++;
    wp__mutex_unlock(&leases->mutex);
    return count;
}

/* proves: LSE-007 */
static void test_stop_waiting__ends_all_waits_and_what_is_held_stays(void **state)
{
    kit *k = *state;
    waiter waiters[2] = {{.k = k}, {.k = k, .leads = true}};
    wp__leases *leases = NULL;
    wp_lease *held = hold(k, "n", 60 * SECOND), *other = NULL;
    WPT_OK(wp__leases_of(&leases, k->store, WPT_ERR));
    for (size_t i = 0; i < 2; i++)
        WPT_OK(wp__thread_start(&waiters[i].thread, "wait", wait_for_it, &waiters[i], WPT_ERR));
    WPT_AWAIT(waiting(leases) == 2);
    WPT_OK(wp_lease_stop_waiting(k->store, WPT_ERR));
    for (size_t i = 0; i < 2; i++) {
        wp__thread_join(&waiters[i].thread);
        assert_int_equal(waiters[i].st, WP_E_STOPPED);
    }
    assert_int_equal(waiting(leases), 0);
    WPT_OK(wp_lease_check(held, WPT_ERR));
    WPT_OK(wp_lease_stop_waiting(k->store, WPT_ERR)); /* again */
    WPT_STATUS(
        wp_lease_hold(&other, NULL, k->store, WP_LEASE_EXCLUSIVE, "n", NULL, SECOND, -1, WPT_ERR),
        WP_E_STOPPED);
    WPT_STATUS(wp_lease_lead(k->store, "free", NULL, SECOND, -1, lead_never, NULL, WPT_ERR),
               WP_E_STOPPED);
    WPT_OK(wp_lease_hold(&other, NULL, k->store, WP_LEASE_EXCLUSIVE, "free", NULL, SECOND, -1,
                         WPT_ERR));
    wp_lease_free(other);
    wp_lease_free(held);
}

/* ---- turns -------------------------------------------------------------------------------- */

/* proves: LSE-007 */
static void test_turns__a_release__calls_the_first_who_waits_for_that_name(void **state)
{
    kit *k = *state;
    wp_lease *lease = hold(k, "n", SECOND);
    wp__leases *leases = lease->leases;
    wp__lease_turn other = {WP_LEASE_EXCLUSIVE, "m", WP__TURN_NONE, NULL};
    wp__lease_turn slot = {WP_LEASE_SHARED, "n", WP__TURN_NONE, NULL};
    wp__lease_turn first = {WP_LEASE_EXCLUSIVE, "n", WP__TURN_NONE, NULL}, second = first,
                   third = first;
    wp__lease_turn_take(leases, &other);
    wp__lease_turn_take(leases, &slot);
    wp__lease_turn_take(leases, &first);
    wp__lease_turn_take(leases, &second);
    wp__lease_turn_take(leases, &first); /* it keeps its place */
    wp__lease_turn_take(leases, &third);
    wp_lease_free(lease);
    assert_int_equal(first.state, WP__TURN_CALLED);
    assert_int_equal(second.state, WP__TURN_WAITS);
    wp__lease_turn_wait(leases, &first, INT64_MAX); /* it does not */
    wp__lease_turn_take(leases, &first);            /* the release was used; now it is the last */
    wp__lease_turn_next(leases, WP_LEASE_EXCLUSIVE, "n");
    assert_int_equal(second.state, WP__TURN_CALLED);
    wp__lease_turn_leave(leases, &second); /* not used: it goes on */
    assert_int_equal(third.state, WP__TURN_CALLED);
    assert_int_equal(first.state, WP__TURN_WAITS);
    wp__lease_turn_take(leases, &third);
    wp__lease_turn_leave(leases, &first); /* out of the midst */
    wp__lease_turn_leave(leases, &third);
    wp__lease_turn_next(leases, WP_LEASE_EXCLUSIVE, "n"); /* nobody is left */
    assert_int_equal(other.state, WP__TURN_WAITS);
    assert_int_equal(slot.state, WP__TURN_WAITS);
    wp__lease_turn_leave(leases, &other);
    wp__lease_turn_leave(leases, &slot);
    assert_null(leases->turns);
}

/* ---- arguments ---------------------------------------------------------------------------- */

#define REFUSED(call, name) WPT_FAILS(call, WP_E_ARGUMENT, name)

static void test_arguments__null_and_unknown__are_refused(void **state)
{
    kit *k = *state;
    const wp_lease_kind one = WP_LEASE_EXCLUSIVE;
    const wp_lease_kind odd = (wp_lease_kind)7;
    wp_lease_info *info = NULL;
    wp_lease *lease = NULL;
    wp_op *op = NULL;
    wp_id id;
    int more = 0;
    REFUSED(wp_lease_acquire(NULL, k->store, NULL, one, "n", "o", 1, WPT_ERR), "out");
    REFUSED(wp_lease_acquire(&info, NULL, NULL, one, "n", "o", 1, WPT_ERR), "store");
    REFUSED(wp_lease_acquire(&info, k->store, NULL, odd, "n", "o", 1, WPT_ERR), "kind");
    REFUSED(wp_lease_acquire(&info, k->store, NULL, one, NULL, "o", 1, WPT_ERR), "name");
    REFUSED(wp_lease_acquire(&info, k->store, NULL, one, "n", NULL, 1, WPT_ERR), "owner");
    REFUSED(wp_lease_acquire(&info, k->store, NULL, one, "\xff", "o", 1, WPT_ERR), "name");
    REFUSED(wp_lease_renew(NULL, NULL, NULL, one, "n", "o", 0, 1, WPT_ERR), "store");
    REFUSED(wp_lease_release(NULL, NULL, NULL, one, "n", "o", 0, WPT_ERR), "store");
    REFUSED(wp_lease_release(NULL, k->store, NULL, one, NULL, "o", 0, WPT_ERR), "name");
    REFUSED(wp_lease_get(NULL, k->store, NULL, one, "n", WPT_ERR), "out");
    REFUSED(wp_lease_get(&info, k->store, NULL, one, NULL, WPT_ERR), "name");
    WPT_STATUS(wp_lease_get(&info, k->store, NULL, one, "n", WPT_ERR), WP_E_NOT_FOUND);
    REFUSED(wp_semaphore_set_limit(NULL, NULL, "n", 1, WPT_ERR), "store");
    REFUSED(wp_semaphore_set_limit(k->store, NULL, NULL, 1, WPT_ERR), "name");
    WPT_STATUS(wp_semaphore_set_limit(k->store, NULL, "n", WP_SEMAPHORE_LIMIT_MAX + 1, WPT_ERR),
               WP_E_RANGE);
    REFUSED(wp_lease_cleanup(NULL, NULL, 0, WPT_ERR), "store");
    WPT_STATUS(wp_lease_cleanup(NULL, k->store, -1, WPT_ERR), WP_E_RANGE);
    REFUSED(wp_lease_acquire_op(NULL, k->store, one, "n", "o", 1, WPT_ERR), "out");
    REFUSED(wp_lease_acquire_op(&op, NULL, one, "n", "o", 1, WPT_ERR), "store");
    REFUSED(wp_lease_renew_op(&op, k->store, one, "n", NULL, 0, 1, WPT_ERR), "owner");
    REFUSED(wp_lease_release_op(&op, k->store, one, "", "o", 0, WPT_ERR), "name");
    REFUSED(wp_lease_get_op(&op, k->store, odd, "n", WPT_ERR), "kind");
    REFUSED(wp_semaphore_set_limit_op(&op, k->store, NULL, 1, WPT_ERR), "name");
    assert_null(op);
    WPT_OK(wp_lease_acquire_op(&op, k->store, one, "n", "o", 1000, WPT_ERR));
    REFUSED(wp_op_result_lease(NULL, op, WPT_ERR), "out");
    REFUSED(wp_op_result_lease(&info, NULL, WPT_ERR), "op");
    WPT_STATUS(wp_op_result_lease(&info, op, WPT_ERR), WP_E_STATE);
    WPT_STATUS(wp_op_result_id(&id, op, 0, WPT_ERR), WP_E_STATE);
    WPT_OK(wp_op_next(&more, op, WPT_ERR));
    assert_true(more && wp_op_returns_rows(op));
    wp_op_free(op);
    REFUSED(wp_lease_hold(NULL, NULL, k->store, one, "n", NULL, 100, 0, WPT_ERR), "out");
    REFUSED(wp_lease_hold(&lease, NULL, NULL, one, "n", NULL, 100, 0, WPT_ERR), "store");
    REFUSED(wp_lease_hold(&lease, NULL, k->store, odd, "n", NULL, 100, 0, WPT_ERR), "kind");
    REFUSED(wp_lease_hold(&lease, NULL, k->store, one, NULL, NULL, 100, 0, WPT_ERR), "name");
    REFUSED(wp_lease_hold(&lease, NULL, k->store, one, "n", "", 100, 0, WPT_ERR), "owner");
    WPT_FAILS(wp_lease_hold(&lease, NULL, k->store, one, "n", NULL, 99, 0, WPT_ERR), WP_E_RANGE,
              "duration_ms");
    WPT_STATUS(
        wp_lease_hold(&lease, NULL, k->store, WP_LEASE_SHARED, "none", NULL, 100, -1, WPT_ERR),
        WP_E_NOT_FOUND);
    REFUSED(wp_lease_check(NULL, WPT_ERR), "lease");
    REFUSED(wp_lease_renew_now(NULL, WPT_ERR), "lease");
    REFUSED(wp_lease_wait_lost(NULL, 0, WPT_ERR), "lease");
    REFUSED(wp_lease_end(NULL, WPT_ERR), "lease");
    REFUSED(wp_lease_lead(k->store, "n", NULL, 100, 0, NULL, NULL, WPT_ERR), "work");
    REFUSED(wp_lease_lead(NULL, "n", NULL, 100, 0, lead, NULL, WPT_ERR), "store");
    REFUSED(wp_lease_lead(k->store, "", NULL, 100, 0, lead, NULL, WPT_ERR), "name");
    REFUSED(wp_lease_next_lost(NULL, k->store, 0, WPT_ERR), "out");
    REFUSED(wp_lease_next_lost(&lease, NULL, 0, WPT_ERR), "store");
    assert_int_equal(wp_lease_remaining_ms(NULL), 0);
    assert_int_equal(wp_lease_fence(NULL), 0);
    assert_string_equal(wp_lease_name(NULL), "");
    assert_string_equal(wp_lease_owner(NULL), "");
    assert_null(wp_lease_ref(NULL));
    wp_lease_free(NULL);
    wp_lease_info_free(NULL);
    assert_int_equal(wp_lease_info_granted(NULL), 0);
    assert_int_equal(wp_lease_info_fence(NULL), 0);
    assert_int_equal(wp_lease_info_until_us(NULL), 0);
    assert_int_equal(wp_lease_info_now_us(NULL), 0);
    assert_int_equal(wp_lease_info_limit(NULL), 0);
    assert_int_equal(wp_lease_info_holders(NULL), 0);
    assert_string_equal(wp_lease_info_owner(NULL), "");
    assert_int_equal(wp_lease_counter_read(NULL, WP_LEASE_COUNTER_HELD), 0);
    assert_int_equal(wp_lease_counter_read(k->store, (wp_lease_counter)99), 0);
    assert_null(lease);
    assert_null(info);
}

#define KIT(test) cmocka_unit_test_setup_teardown(test, kit_setup, kit_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        KIT(test_acquire__given_when_the_clock_was_ahead__is_over_after_its_length),
        KIT(test_keeper__errors_while_time_is_left__are_retried),
        KIT(test_keeper__cannot_renew__is_lost_before_another_can_have_it),
        KIT(test_keeper__time_is_up_unasked__those_who_wait_are_told),
        KIT(test_options__part_and_guard__are_what_is_configured),
        KIT(test_renewals__of_many_leases__are_spread),
        KIT(test_free__lost_or_held_in_any_order__leaves_nothing),
        KIT(test_store_close__leases_are_held__they_go_on),
        KIT(test_leases__come_and_go_on_many_threads__none_is_left),
        KIT(test_retry__waits_longer_each_time_but_not_past_the_expiry),
        KIT(test_keeper__clock_was_set__leaves_others_time_to_renew),
        KIT(test_lead__lost__stops_a_guard_interval_early_and_begins_anew),
        KIT(test_lead__error_of_the_work__ends_it),
        KIT(test_lead__database_is_busy__waits_it_out),
        KIT(test_stop_waiting__ends_all_waits_and_what_is_held_stays),
        KIT(test_turns__a_release__calls_the_first_who_waits_for_that_name),
        KIT(test_arguments__null_and_unknown__are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
