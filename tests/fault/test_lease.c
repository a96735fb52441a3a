/* SPDX-License-Identifier: Apache-2.0 */
/* Leases and semaphores that many processes want, while they are killed; and connections that die. */
#include "fault.h"

#include "base/thread.h"
#include "support/proxy.h"
#include "support/wpt_mariadb.h"
#include "support/wpt_pg.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>

enum {
    PROCESSES = 4,
    ROUNDS = FAULT_ROUNDS(60),
    NAMES = 3,
    LIMIT = 3,
    KILL_WITHIN_US = 30000,
    CLAIMS_MAX = 200000
};

/* ---- what a process did, in the database's time ------------------------------------------- */

/* One acquisition. It is held from `from` on, at most until `until`. */
typedef struct claim {
    char name[16];
    char owner[32];
    int64_t fence;
    int64_t from;
    int64_t until;
} claim;

static int64_t utc_us(void)
{
    return wp_clock_utc_us(NULL);
}

/* Lines are appended whole. */
static void note(int fd, char what, const char *name, const char *owner, int64_t fence,
                 int64_t from, int64_t until)
{
    char line[128];
    int len = snprintf(line, sizeof line, "%c %s %s %" PRId64 " %" PRId64 " %" PRId64 "\n", what,
                       name, owner, fence, from, until);
    MUST(write(fd, line, (size_t)len) == len);
}

static void note_info(int fd, char what, const char *name, const wp_lease_info *info)
{
    note(fd, what, name, wp_lease_info_owner(info), wp_lease_info_fence(info),
         wp_lease_info_now_us(info), wp_lease_info_until_us(info));
}

/* One life of a holder: acquire, perhaps renew, perhaps release, of a lease or a slot. */
static void live(wp_store *store, int fd, const char *owner)
{
    const unsigned pick = fault_random(NAMES + 1);
    const wp_lease_kind kind = pick == NAMES ? WP_LEASE_SHARED : WP_LEASE_EXCLUSIVE;
    const int64_t ms = 1 + fault_random(20);
    wp_lease_info *info = NULL;
    int64_t fence;
    char name[16];
    (void)snprintf(name, sizeof name, "%c%u", kind == WP_LEASE_SHARED ? 's' : 'n', pick);
    note(fd, 'o', name, owner, 0, utc_us(), 0); /* if granted, it ends what this owner has of it */
    MUST_OK(wp_lease_acquire(&info, store, NULL, kind, name, owner, ms, &must_err));
    fence = wp_lease_info_granted(info) ? wp_lease_info_fence(info) : 0;
    if (fence)
        note_info(fd, 'a', name, info);
    wp_lease_info_free(info);
    for (unsigned i = fault_random(4); fence && i > 0; i--) {
        wp_error *err = NULL;
        wp_status st;
        info = NULL;
        fault_nap_us(fault_random(3000));
        st = wp_lease_renew(&info, store, NULL, kind, name, owner, fence, ms, &err);
        MUST(st == WP_OK || st == WP_E_LEASE_LOST);
        if (st == WP_OK)
            note_info(fd, 'n', name, info);
        wp_lease_info_free(info);
        wp_error_free(err);
    }
    if (fence && fault_random(3)) {
        note(fd, 'r', name, owner, fence, utc_us(), 0);
        MUST_OK(wp_lease_release(NULL, store, NULL, kind, name, owner, fence, &must_err));
    }
}

static int play_holder(const char *path, const char *url)
{
    wp_store *store = fault_store_at(url);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    MUST(fd >= 0);
    parent_tell();
    for (unsigned n = 0;; n++) {
        char owner[48];
        /* a request of its own each time, or the process's */
        (void)snprintf(owner, sizeof owner, "%d-%u", (int)getpid(), fault_random(2) ? n : 0);
        live(store, fd, owner);
        if (n % 64 == 63)
            MUST_OK(wp_lease_cleanup(NULL, store, 0, &must_err));
        if (n == UINT_MAX)
            return 0; /* it is killed before */
    }
}

/* ---- what the histories say --------------------------------------------------------------- */

static claim *find(claim *claims, size_t count, const char *name, int64_t fence)
{
    for (size_t i = count; i > 0; i--)
        if (claims[i - 1].fence == fence && strcmp(claims[i - 1].name, name) == 0)
            return &claims[i - 1];
    return NULL;
}

/* Each fence once, with the whole time for which it is known to have been held. */
static size_t read_claims(claim *claims, const char *path)
{
    FILE *file = fopen(path, "r");
    size_t count = 0;
    claim c;
    char what;
    assert_non_null(file);
    while (fscanf(file, " %c %7s %31s %" SCNd64 " %" SCNd64 " %" SCNd64, &what, c.name, c.owner,
                  &c.fence, &c.from, &c.until) == 6) {
        claim *known = find(claims, count, c.name, c.fence);
        if (what == 'o') {
            for (size_t i = count; i > 0 && count - i < 200; i--)
                if (strcmp(claims[i - 1].name, c.name) == 0 &&
                    strcmp(claims[i - 1].owner, c.owner) == 0 && c.from < claims[i - 1].until)
                    claims[i - 1].until = c.from; /* though it may have died before it said so */
            continue;
        }
        if (what == 'a') {
            assert_null(known); /* no fence twice */
            assert_true(count < CLAIMS_MAX);
            claims[count++] = c;
            continue;
        }
        assert_non_null(known);
        if (what == 'n')
            known->until = c.until;
        else if (c.from < known->until)
            known->until = c.from; /* not freed before this */
    }
    (void)fclose(file);
    return count;
}

static int by_name_and_time(const void *left, const void *right)
{
    const claim *a = left;
    const claim *b = right;
    int names = strcmp(a->name, b->name);
    if (names)
        return names;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return (a->fence > b->fence) - (a->fence < b->fence);
}

/* At most `limit` hold a name at any instant; of a lease the fences rise. */
static void check_claims(claim *claims, size_t count)
{
    qsort(claims, count, sizeof *claims, by_name_and_time);
    for (size_t i = 0; i < count; i++) {
        size_t holders = 0;
        bool shared = claims[i].name[0] == 's';
        for (size_t j = i; j > 0 && strcmp(claims[j - 1].name, claims[i].name) == 0 && i - j < 200;
             j--) {
            holders += claims[j - 1].until > claims[i].from;
        }
        if (holders >= (shared ? LIMIT : 1))
            fail_msg("%s: fence %" PRId64 " began while %zu held it", claims[i].name,
                     claims[i].fence, holders);
        if (i > 0 && !shared && strcmp(claims[i - 1].name, claims[i].name) == 0)
            assert_true(claims[i].fence > claims[i - 1].fence);
    }
}

static void fight(const char *path, const char *url)
{
    wp_store *store = fault_store_at(url);
    claim *claims = calloc(CLAIMS_MAX, sizeof *claims);
    child children[PROCESSES];
    size_t count;
    assert_non_null(claims);
    MUST_OK(wp_semaphore_set_limit(store, NULL, "s3", LIMIT, &must_err));
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = child_start("holder", path, url);
        MUST(child_hear(&children[i]));
    }
    for (int round = 0; round < ROUNDS; round++) {
        child *victim = &children[fault_random(PROCESSES)];
        fault_nap_us(fault_random(KILL_WITHIN_US));
        child_kill(victim);
        *victim = child_start("holder", path, url);
        MUST(child_hear(victim));
    }
    for (int i = 0; i < PROCESSES; i++)
        child_kill(&children[i]);
    count = read_claims(claims, path);
    print_message("%zu acquisitions\n", count);
    assert_true(count > (size_t)ROUNDS);
    check_claims(claims, count);
    /* who was killed has left nothing behind for long */
    for (int i = 0; i <= NAMES; i++) {
        wp_lease *lease = NULL;
        char name[16];
        (void)snprintf(name, sizeof name, "%c%d", i == NAMES ? 's' : 'n', i);
        MUST_OK(wp_lease_hold(&lease, NULL, store,
                              i == NAMES ? WP_LEASE_SHARED : WP_LEASE_EXCLUSIVE, name, NULL, 1000,
                              PATIENCE_MS, &must_err));
        wp_lease_free(lease);
    }
    wp_store_close(store);
    free(claims);
}

/* proves: LSE-001..004, LSE-008, SEM-001 */
static void
test_leases__processes_are_killed_on_sqlite__never_two_holders_and_fences_rise(void **state)
{
    place *p = *state;
    char url[128];
    (void)snprintf(url, sizeof url, "sqlite:%s", p->path);
    fight(place_file(p->path, ".history"), url);
}

/* proves: LSE-001..004, LSE-008, SEM-001 */
static void
test_leases__processes_are_killed_on_postgresql__never_two_holders_and_fences_rise(void **state)
{
    place *p = *state;
    char url[256];
    wpt_pg_name(url, sizeof url, "lease");
    (void)wpt_pg_create(url, sizeof url, NULL);
    fight(place_file(p->path, ".history"), url);
    wpt_pg_release();
}

/* proves: LSE-001..004, LSE-008, SEM-001 */
static void
test_leases__processes_are_killed_on_mariadb__never_two_holders_and_fences_rise(void **state)
{
    place *p = *state;
    char url[256];
    wpt_mariadb_name(url, sizeof url, "lease");
    (void)wpt_mariadb_create(url, sizeof url, NULL);
    fight(place_file(p->path, ".history"), url);
    wpt_mariadb_release();
}

/* ---- connections -------------------------------------------------------------------------- */

/* proves: LSE-005 */
static void test_keeper__its_connection_dies_or_hangs__connects_anew_and_renews(void **state)
{
    wp_config *config = fault_config("", "lease.renew_percent=10");
    wp_store *store = NULL;
    wp_lease *lease = NULL, *other = NULL;
    PGconn *pg;
    char url[256];
    int64_t renewed;
    (void)state;
    wpt_pg_name(url, sizeof url, "lease");
    (void)wpt_pg_create(url, sizeof url, NULL);
    MUST_OK(wp_config_set(config, "store.url", url, &must_err));
    MUST_OK(wp_config_set(config, "store.deploy", "true", &must_err));
    MUST_OK(wp_store_open(&store, config, &must_err));
    wp_config_free(config);
    pg = wpt_pg_connect(url);
    MUST_OK(wp_lease_hold(&lease, NULL, store, WP_LEASE_EXCLUSIVE, "n", NULL, 10000, 0, &must_err));
    AWAIT(wp_lease_counter_read(store, WP_LEASE_COUNTER_RENEWED) >= 1);
    wpt_pg_exec(pg, "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()");
    renewed = wp_lease_counter_read(store, WP_LEASE_COUNTER_RENEWED);
    AWAIT(wp_lease_counter_read(store, WP_LEASE_COUNTER_RENEWED) > renewed);
    MUST_OK(wp_lease_check(lease, &must_err));
    /* a row that is locked holds up no other lease */
    MUST_OK(wp_lease_hold(&other, NULL, store, WP_LEASE_EXCLUSIVE, "m", NULL, 10000, 0, &must_err));
    wpt_pg_exec(pg, "BEGIN");
    wpt_pg_exec(pg, "SELECT * FROM infra.lease WHERE name = 'n' FOR UPDATE");
    MUST(wp_lease_renew_now(lease, NULL) == WP_E_UNAVAILABLE);
    renewed = wp_lease_counter_read(store, WP_LEASE_COUNTER_RENEWED);
    AWAIT(wp_lease_counter_read(store, WP_LEASE_COUNTER_RENEWED) > renewed);
    MUST_OK(wp_lease_renew_now(other, &must_err));
    MUST_OK(wp_lease_check(lease, &must_err));
    wpt_pg_exec(pg, "COMMIT");
    wp_lease_free(other);
    /* no answer comes: the connection is given up in time */
    wpt_pg_exec(pg, "BEGIN");
    wpt_pg_exec(pg, "LOCK TABLE infra.lease IN ACCESS EXCLUSIVE MODE");
    renewed = wp_lease_counter_read(store, WP_LEASE_COUNTER_ERRORS);
    AWAIT(wp_lease_counter_read(store, WP_LEASE_COUNTER_ERRORS) > renewed);
    MUST_OK(wp_lease_check(lease, &must_err));
    wpt_pg_exec(pg, "COMMIT");
    renewed = wp_lease_counter_read(store, WP_LEASE_COUNTER_RENEWED);
    AWAIT(wp_lease_counter_read(store, WP_LEASE_COUNTER_RENEWED) > renewed);
    MUST_OK(wp_lease_check(lease, &must_err));
    PQfinish(pg);
    wp_lease_free(lease);
    wp_store_close(store);
    wpt_pg_release();
}

static wp_status work(wp_lease *lease, void *user, wp_error **err)
{
    *(int64_t *)user = wp_lease_fence(lease);
    (void)err;
    return WP_OK;
}

/* Who leads next is who acquired: he does not wait for the end of a lease that he does not know of. */
/* proves: LSE-001, LSE-007 */
static void test_lead__the_answer_is_lost__takes_its_own_lease_over(void **state)
{
    wp_config *config = fault_config("", "store.busy_timeout_ms=0"); /* so that the call fails */
    wp_store *store = NULL;
    wpt_log log;
    proxy *p;
    char url[256], by_proxy[256];
    int64_t fence = 0;
    (void)state;
    wpt_pg_name(url, sizeof url, "lease");
    (void)wpt_pg_create(url, sizeof url, NULL);
    p = proxy_open(proxy_port_of(url));
    proxy_url(by_proxy, sizeof by_proxy, p, url);
    MUST_OK(wp_config_set(config, "store.url", by_proxy, &must_err));
    MUST_OK(wp_config_set(config, "store.deploy", "true", &must_err));
    wpt_log_init(&log);
    wpt_log_attach(&log, config, "warning");
    MUST_OK(wp_store_open(&store, config, &must_err));
    wp_config_free(config);
    proxy_cut_at(p, "the_answer", PROXY_AFTER);
    MUST_OK(wp_lease_lead(store, "the_answer", NULL, WP_LEASE_MS_MAX, PATIENCE_MS, work, &fence,
                          &must_err));
    MUST(proxy_fired(p) == 1);
    MUST(wpt_log_count(&log, "warning leader could not be elected", "the_answer", "") > 0);
    MUST(fence > 1);
    wp_store_close(store);
    wpt_log_fini(&log);
    proxy_close(p);
    wpt_pg_release();
}

static int64_t ask_for_slot(wp_store *store, wp_conn *conn, const char *owner, int64_t ms)
{
    wp_lease_info *info = NULL;
    int64_t until;
    MUST_OK(wp_lease_acquire(&info, store, conn, WP_LEASE_SHARED, "s", owner, ms, &must_err));
    until = wp_lease_info_granted(info) ? wp_lease_info_until_us(info) : 0;
    wp_lease_info_free(info);
    return until;
}

static void *ask_meanwhile(void *arg)
{
    (void)ask_for_slot(arg, NULL, "other", 60000);
    return NULL;
}

/* Who waits for another's transaction has locked nothing that this one may still want: a slot that is over. */
/* proves: SEM-001 */
static void
test_semaphore__slots_expire_while_two_transactions_ask__neither_is_a_victim(void **state)
{
    wp_store *store;
    wp_conn *conn = NULL;
    PGconn *watch, *app;
    wp__thread thread;
    char url[256];
    int64_t until;
    (void)state;
    wpt_pg_name(url, sizeof url, "lease");
    (void)wpt_pg_create(url, sizeof url, NULL);
    store = fault_store_at(url);
    watch = wpt_pg_connect(url);
    app = wpt_pg_connect(url);
    MUST_OK(wp_conn_borrow_pq(&conn, store, app, &must_err));
    MUST_OK(wp_semaphore_set_limit(store, NULL, "s", 3, &must_err));
    until = ask_for_slot(store, NULL, "old", 500);
    wpt_pg_exec(app, "BEGIN");
    MUST(ask_for_slot(store, conn, "mine", 60000) > 0);
    AWAIT(utc_us() > until);
    MUST_OK(wp__thread_start(&thread, "ask", ask_meanwhile, store, &must_err));
    AWAIT(wpt_pg_number(watch,
                        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                        " AND datname = current_database()") == 1);
    MUST(ask_for_slot(store, conn, "more", 60000) > 0); /* no deadlock */
    wpt_pg_exec(app, "COMMIT");
    wp__thread_join(&thread);
    wp_conn_free(conn);
    PQfinish(app);
    PQfinish(watch);
    wp_store_close(store);
    wpt_pg_release();
}

/* ---- MariaDB ------------------------------------------------------------------------------ */

typedef struct maria {
    char url[256];
    SQLHDBC dbc;
    wp_store *store;
} maria;

static maria maria_open(const char *options)
{
    maria m;
    wp_config *config = fault_config("", options);
    wpt_mariadb_name(m.url, sizeof m.url, "lease");
    m.dbc = wpt_mariadb_create(m.url, sizeof m.url, NULL);
    MUST_OK(wp_config_set(config, "store.url", m.url, &must_err));
    MUST_OK(wp_config_set(config, "store.deploy", "true", &must_err));
    MUST_OK(wp_store_open(&m.store, config, &must_err));
    wp_config_free(config);
    return m;
}

static void maria_close(maria *m)
{
    wp_store_close(m->store);
    wpt_mariadb_release();
}

/* An app's connection in a transaction that has looked at the table already. */
static SQLHDBC maria_app(const maria *m, wp_conn **conn, const char *isolation)
{
    SQLHDBC dbc = wpt_mariadb_connect(m->url);
    char sql[96];
    (void)snprintf(sql, sizeof sql, "SET SESSION TRANSACTION ISOLATION LEVEL %s", isolation);
    wpt_odbc_exec(dbc, sql);
    MUST_OK(wp_conn_borrow_odbc(conn, m->store, dbc, &must_err));
    wpt_odbc_exec(dbc, "BEGIN");
    (void)wpt_odbc_number(dbc, "SELECT COUNT(*) FROM infra_migration");
    return dbc;
}

static int64_t ask(wp_store *store, wp_conn *conn, wp_lease_kind kind, const char *name,
                   const char *owner)
{
    wp_lease_info *info = NULL;
    int64_t fence;
    MUST_OK(wp_lease_acquire(&info, store, conn, kind, name, owner, 10000, &must_err));
    fence = wp_lease_info_granted(info) ? wp_lease_info_fence(info) : 0;
    wp_lease_info_free(info);
    return fence;
}

static void await_renewal(wp_store *store)
{
    const int64_t renewed = wp_lease_counter_read(store, WP_LEASE_COUNTER_RENEWED);
    AWAIT(wp_lease_counter_read(store, WP_LEASE_COUNTER_RENEWED) > renewed);
}

/* proves: LSE-005 */
static void
test_keeper__on_mariadb_its_connection_dies_or_hangs__connects_anew_and_renews(void **state)
{
    maria m = maria_open("lease.renew_percent=10 store.response_timeout_ms=2000");
    SQLHDBC other = wpt_mariadb_connect(m.url);
    wp_lease *lease = NULL, *second = NULL;
    int64_t errors;
    (void)state;
    MUST_OK(
        wp_lease_hold(&lease, NULL, m.store, WP_LEASE_EXCLUSIVE, "n", NULL, 10000, 0, &must_err));
    await_renewal(m.store);
    for (int64_t id = 0; id != INT64_MAX;) {
        char sql[160];
        (void)snprintf(sql, sizeof sql,
                       "SELECT COALESCE(MIN(id), 9223372036854775807) FROM"
                       " information_schema.processlist WHERE db = DATABASE() AND id > %" PRId64,
                       id);
        id = wpt_odbc_number(m.dbc, sql);
        if (id == INT64_MAX || id == wpt_odbc_number(m.dbc, "SELECT CONNECTION_ID()") ||
            id == wpt_odbc_number(other, "SELECT CONNECTION_ID()"))
            continue;
        (void)snprintf(sql, sizeof sql, "KILL %" PRId64, id);
        wpt_odbc_exec(m.dbc, sql);
    }
    await_renewal(m.store);
    MUST_OK(wp_lease_check(lease, &must_err));
    /* a row that is locked holds up no other lease, nor does cleaning wait for it */
    MUST_OK(
        wp_lease_hold(&second, NULL, m.store, WP_LEASE_EXCLUSIVE, "m", NULL, 10000, 0, &must_err));
    wpt_odbc_exec(other, "BEGIN");
    wpt_odbc_exec(other, "SELECT * FROM infra_lease WHERE name = 'n' FOR UPDATE");
    MUST(wp_lease_renew_now(lease, NULL) == WP_E_UNAVAILABLE);
    await_renewal(m.store);
    MUST_OK(wp_lease_renew_now(second, &must_err));
    MUST_OK(wp_lease_cleanup(NULL, m.store, 0, &must_err));
    MUST_OK(wp_lease_check(lease, &must_err));
    wpt_odbc_exec(other, "COMMIT");
    wp_lease_free(second);
    /* no answer comes: the call is given up in time */
    wpt_odbc_exec(other, "LOCK TABLES infra_lease WRITE");
    errors = wp_lease_counter_read(m.store, WP_LEASE_COUNTER_ERRORS);
    AWAIT(wp_lease_counter_read(m.store, WP_LEASE_COUNTER_ERRORS) > errors);
    MUST_OK(wp_lease_check(lease, &must_err));
    wpt_odbc_exec(other, "UNLOCK TABLES");
    await_renewal(m.store);
    MUST_OK(wp_lease_check(lease, &must_err));
    wp_lease_free(lease);
    wpt_odbc_close(other);
    maria_close(&m);
}

/* Apps' transactions of every kind are refused without keeping the holder from its renewals, and take names that
 * nobody had before beside each other, until they end. */
/* proves: LSE-001, LSE-002, SEM-001 */
static void test_acquire__in_apps_transactions_on_mariadb__block_nobody_else(void **state)
{
    static const char *const levels[] = {"READ COMMITTED", "REPEATABLE READ"};
    maria m = maria_open("");
    (void)state;
    for (int i = 0; i < 2; i++) {
        char names[6][16];
        wp_lease *lease = NULL, *slot = NULL;
        wp_conn *conns[2];
        SQLHDBC dbcs[2];
        for (int k = 0; k < 6; k++)
            (void)snprintf(names[k], sizeof names[k], "%c%d", 'a' + k, i);
        for (int k = 2; k < 6; k++)
            MUST_OK(wp_semaphore_set_limit(m.store, NULL, names[k], 1, &must_err));
        MUST_OK(wp_lease_hold(&lease, NULL, m.store, WP_LEASE_EXCLUSIVE, names[0], NULL, 10000, 0,
                              &must_err));
        MUST_OK(wp_lease_hold(&slot, NULL, m.store, WP_LEASE_SHARED, names[2], NULL, 10000, 0,
                              &must_err));
        for (int k = 0; k < 2; k++)
            dbcs[k] = maria_app(&m, &conns[k], levels[i]);
        MUST(ask(m.store, conns[0], WP_LEASE_EXCLUSIVE, names[0], "x") == 0);
        MUST(ask(m.store, conns[0], WP_LEASE_SHARED, names[2], "x") == 0);
        MUST_OK(wp_lease_renew_now(lease, &must_err));
        MUST_OK(wp_lease_renew_now(slot, &must_err));
        for (int k = 0; k < 2; k++) {
            MUST(ask(m.store, conns[k], WP_LEASE_EXCLUSIVE, names[4 + k], "x") > 0);
            MUST(ask(m.store, conns[k], WP_LEASE_SHARED, names[4 + k], "x") > 0);
        }
        MUST(ask(m.store, NULL, WP_LEASE_EXCLUSIVE, names[1], "y") > 0);
        MUST(ask(m.store, NULL, WP_LEASE_SHARED, names[3], "y") > 0);
        MUST_OK(wp_lease_renew_now(lease, &must_err));
        MUST_OK(wp_lease_renew_now(slot, &must_err));
        wpt_odbc_exec(dbcs[0], "COMMIT");
        wpt_odbc_exec(dbcs[1], "ROLLBACK");
        MUST(ask(m.store, NULL, WP_LEASE_EXCLUSIVE, names[4], "y") == 0);
        MUST(ask(m.store, NULL, WP_LEASE_SHARED, names[4], "y") == 0);
        MUST(ask(m.store, NULL, WP_LEASE_EXCLUSIVE, names[5], "y") > 0);
        MUST(ask(m.store, NULL, WP_LEASE_SHARED, names[5], "y") > 0);
        for (int k = 0; k < 2; k++) {
            wp_conn_free(conns[k]);
            wpt_odbc_close(dbcs[k]);
        }
        wp_lease_free(lease);
        wp_lease_free(slot);
    }
    maria_close(&m);
}

/* A transaction sees what was true when it began; what it takes is decided by what is true now. */
/* proves: LSE-001, SEM-001 */
static void test_acquire__with_an_old_view_on_mariadb__takes_nothing_twice(void **state)
{
    static const wp_lease_kind kinds[] = {WP_LEASE_EXCLUSIVE, WP_LEASE_SHARED};
    maria m = maria_open("");
    (void)state;
    for (int k = 0; k < 2; k++) {
        int64_t before, after;
        wp_conn *conn;
        SQLHDBC dbc;
        MUST_OK(wp_semaphore_set_limit(m.store, NULL, "n", 1, &must_err));
        before = ask(m.store, NULL, kinds[k], "n", "first");
        MUST_OK(wp_lease_release(NULL, m.store, NULL, kinds[k], "n", "first", before, &must_err));
        dbc = maria_app(&m, &conn, "REPEATABLE READ");
        MUST(ask(m.store, NULL, kinds[k], "n", "second") > before);
        MUST(ask(m.store, conn, kinds[k], "n", "x") == 0); /* though it looks free from here */
        wpt_odbc_exec(dbc, "ROLLBACK");
        wpt_odbc_exec(dbc, "BEGIN");
        (void)wpt_odbc_number(dbc, "SELECT COUNT(*) FROM infra_migration");
        after = ask(m.store, NULL, kinds[k], "n", "second");
        MUST_OK(wp_lease_renew(NULL, m.store, conn, kinds[k], "n", "second", after, 10000,
                               &must_err)); /* it was given after this transaction began */
        MUST_OK(wp_lease_release(NULL, m.store, conn, kinds[k], "n", "second", after, &must_err));
        MUST(ask(m.store, conn, kinds[k], "n", "x") > after);
        wpt_odbc_exec(dbc, "COMMIT");
        MUST(ask(m.store, NULL, kinds[k], "n", "second") == 0);
        wp_conn_free(conn);
        wpt_odbc_close(dbc);
    }
    maria_close(&m);
}

typedef struct waiting {
    wp_store *store;
    wp_lease_info *info;
} waiting;

static void *acquire_meanwhile(void *arg)
{
    waiting *self = arg;
    MUST_OK(wp_lease_acquire(&self->info, self->store, NULL, WP_LEASE_EXCLUSIVE, "n", "second",
                             10000, &must_err));
    return NULL;
}

/* Whether a transaction waits for a lock, for long enough that it tells. The server looks ten times a second, if it is
 * not asked more often. */
static bool is_waiting(SQLHDBC dbc)
{
    fault_nap_us(120000);
    return wpt_odbc_number(dbc, "SELECT COUNT(*) FROM information_schema.innodb_trx"
                                " JOIN information_schema.processlist ON trx_mysql_thread_id = id"
                                " WHERE db = DATABASE() AND trx_state = 'LOCK WAIT'") == 1;
}

/* A transaction takes a name that nobody had before, another one wants it at once, and waits. */
/* proves: LSE-001 */
static void test_acquire__behind_a_first_one_on_mariadb__holds_from_then_on(void **state)
{
    static const char *const ends[] = {"ROLLBACK", "COMMIT"};
    maria m = maria_open("");
    (void)state;
    for (int i = 0; i < 2; i++) {
        waiting w = {.store = m.store};
        wp__thread thread;
        wp_conn *conn;
        SQLHDBC dbc = maria_app(&m, &conn, "REPEATABLE READ");
        const int64_t first = ask(m.store, conn, WP_LEASE_EXCLUSIVE, "n", "first");
        int64_t ended;
        MUST_OK(wp__thread_start(&thread, "acquire", acquire_meanwhile, &w, &must_err));
        AWAIT(is_waiting(m.dbc));
        if (i == 1)
            MUST_OK(wp_lease_release(NULL, m.store, conn, WP_LEASE_EXCLUSIVE, "n", "first", first,
                                     &must_err));
        ended = utc_us();
        wpt_odbc_exec(dbc, ends[i]);
        wp__thread_join(&thread);
        MUST(wp_lease_info_granted(w.info));
        MUST(wp_lease_info_fence(w.info) > first);
        MUST(wp_lease_info_now_us(w.info) >= ended);
        MUST(wp_lease_info_until_us(w.info) == wp_lease_info_now_us(w.info) + 10000000);
        wp_lease_info_free(w.info);
        wpt_odbc_exec(m.dbc, "DELETE FROM infra_lease");
        wp_conn_free(conn);
        wpt_odbc_close(dbc);
    }
    maria_close(&m);
}

/* ---- forks -------------------------------------------------------------------------------- */

/* proves: LSE-005, WRK-006 */
static void test_fork__a_lease_is_held__the_child_is_refused_and_the_parent_goes_on(void **state)
{
    place *p = *state;
    wp_store *store = fault_store(p->path, "");
    wp_lease *lease = NULL;
    int status = 0;
    pid_t pid;
    MUST_OK(wp_lease_hold(&lease, NULL, store, WP_LEASE_EXCLUSIVE, "n", NULL, 30000, 0, &must_err));
    pid = fork();
    if (pid == 0) {
        wp_lease *lost = NULL;
        bool ok =
            wp_lease_check(lease, NULL) == WP_E_STATE && wp_lease_end(lease, NULL) == WP_E_STATE &&
            wp_lease_next_lost(&lost, store, 0, NULL) == WP_E_STATE &&
            wp_lease_renew_now(lease, NULL) == WP_E_STATE && wp_lease_remaining_ms(lease) == 0;
        wp_lease_free(lease);
        wp_store_close(store);
        _exit(ok ? 0 : 1);
    }
    assert_true(pid > 0);
    {
        child c = {.pid = pid, .in = -1, .out = -1};
        status = child_wait(&c);
    }
    assert_int_equal(status, 0);
    MUST_OK(wp_lease_check(lease, &must_err));
    MUST_OK(wp_lease_renew_now(lease, &must_err));
    wp_lease_free(lease);
    wp_store_close(store);
}

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(test_leases__processes_are_killed_on_sqlite__never_two_holders_and_fences_rise),
        WITH_PLACE(
            test_leases__processes_are_killed_on_postgresql__never_two_holders_and_fences_rise),
        WITH_PLACE(test_leases__processes_are_killed_on_mariadb__never_two_holders_and_fences_rise),
        WITH_PLACE(test_keeper__on_mariadb_its_connection_dies_or_hangs__connects_anew_and_renews),
        WITH_PLACE(test_acquire__in_apps_transactions_on_mariadb__block_nobody_else),
        WITH_PLACE(test_acquire__with_an_old_view_on_mariadb__takes_nothing_twice),
        WITH_PLACE(test_acquire__behind_a_first_one_on_mariadb__holds_from_then_on),
        WITH_PLACE(test_keeper__its_connection_dies_or_hangs__connects_anew_and_renews),
        WITH_PLACE(test_semaphore__slots_expire_while_two_transactions_ask__neither_is_a_victim),
        WITH_PLACE(test_lead__the_answer_is_lost__takes_its_own_lease_over),
        WITH_DATABASE(test_fork__a_lease_is_held__the_child_is_refused_and_the_parent_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    static const role roles[] = {{"holder", play_holder}};
    return fault_main(argc, argv, roles, WPT_COUNT(roles), suite);
}
