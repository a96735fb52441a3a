/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that are killed at any moment while they use the inbox or jobs. */
#include "fault.h"

#include <signal.h>

#include "support/wpt.h"

#define WPT_START_TEXT "1800000000000000"

enum { MESSAGES = 40, KILLS = FAULT_ROUNDS(40), RUNS = FAULT_ROUNDS(100), SECONDS = 200 };
enum { NAP_US = 1500, KILL_WITHIN_US = 4000 };

/* A lease is over soon, is looked for at once, and never uses the message up. */
static const char brief[] =
    "worker.lease_ms=100 worker.job_lease_ms=100 worker.reap_ms=10 worker.poll_min_ms=1 "
    "worker.poll_max_ms=5 worker.batch_size=4 worker.backoff_base_ms=1 worker.backoff_max_ms=1 "
    "worker.max_attempts=1000000";

/* Let some children go on for a moment, and kill one of them. */
static void kill_one(child *c)
{
    fault_nap_us(fault_random(KILL_WITHIN_US));
    child_kill(c);
}

/* ---- process-once ------------------------------------------------------------------------- */

static wp_inbox_key *key_of(int number)
{
    wp_inbox_key *key = NULL;
    char id[16];
    (void)snprintf(id, sizeof id, "%d", number);
    MUST_OK(wp_inbox_key_new(&key, "src", id, &must_err));
    return key;
}

/* A delivery: its effect is written, and it is done, in one transaction. */
static void deliver(wp_store *store, sqlite3 *db, wp_conn *conn, int number)
{
    wp_inbox_key *key = key_of(number);
    int proceed = 0;
    char insert[80];
    (void)snprintf(insert, sizeof insert, "INSERT INTO effects VALUES (%d)", number);
    app_exec(db, "BEGIN IMMEDIATE");
    MUST_OK(wp_inbox_once(&proceed, NULL, NULL, store, conn, key, &must_err));
    fault_nap_us(fault_random(NAP_US / 4));
    if (proceed)
        app_exec(db, insert);
    fault_nap_us(fault_random(NAP_US / 4));
    app_exec(db, fault_random(10) ? "COMMIT" : "ROLLBACK");
    wp_inbox_key_free(key);
}

/* Deliveries of all messages, again and again, until it is killed; or each once, if `argument` says so. */
static int play_receiver(const char *path, const char *argument)
{
    wp_store *store = fault_store(path, "");
    sqlite3 *db = app_open(path);
    wp_conn *conn = NULL;
    MUST_OK(wp_conn_borrow_sqlite(&conn, store, db, &must_err));
    parent_tell();
    for (int i = 0; strcmp(argument, "for ever") == 0 || i < 20 * MESSAGES; i++)
        deliver(store, db, conn, i % MESSAGES);
    wp_conn_free(conn);
    (void)sqlite3_close(db);
    wp_store_close(store);
    return 0;
}

#define INBOX_DONE "SELECT count(*) FROM infra_inbox_finished WHERE status = 2"
#define EFFECTS "SELECT count(*) FROM effects"
#define EFFECT_NUMBERS "SELECT count(DISTINCT number) FROM effects"
/* What is done without its effect, or the other way round. */
#define TORN                                                                                       \
    "SELECT count(*) FROM infra_inbox m LEFT JOIN effects e ON e.number = m.message_id "           \
    "LEFT JOIN infra_inbox_finished f USING (seq) WHERE (f.seq IS NULL) <> (e.number IS NULL)"

/* Two receivers get the same messages and are killed between any two steps: each message is done exactly
 * when its effect is there, after each kill; and at the end each is, once. */
/* proves: IBX-002, IBX-006, IBX-102 */
static void test_once_killed__between_any_two_steps__done_with_its_effect_or_not(void **state)
{
    const place *p = *state;
    sqlite3 *db = app_open(p->path);
    child receivers[2], last;
    app_exec(db, "CREATE TABLE effects (number INTEGER NOT NULL)");
    for (int i = 0; i < 2; i++) {
        receivers[i] = child_start("receiver", p->path, "for ever");
        MUST(child_hear(&receivers[i]));
    }
    for (int i = 0; i < KILLS; i++) {
        kill_one(&receivers[i % 2]);
        assert_int_equal(app_int(db, TORN), 0);
        receivers[i % 2] = child_start("receiver", p->path, "for ever");
        MUST(child_hear(&receivers[i % 2]));
    }
    for (int i = 0; i < 2; i++)
        child_kill(&receivers[i]);
    last = child_start("receiver", p->path, "each once");
    assert_ended_well(&last);
    assert_int_equal(app_int(db, INBOX_DONE), MESSAGES);
    assert_int_equal(app_int(db, EFFECTS), MESSAGES);
    assert_int_equal(app_int(db, EFFECT_NUMBERS), MESSAGES);
    (void)sqlite3_close(db);
}

/* ---- workers ------------------------------------------------------------------------------ */

/* Handles the inbox, or jobs. */
static int play_worker(const char *path, const char *argument)
{
    const bool inbox = strcmp(argument, "inbox") == 0;
    wp_store *store = fault_store(path, brief);
    fault_handling h = {
        .store = store, .path = path, .history = history_open(path), .work_us = NAP_US};
    wp_worker *worker = NULL;
    MUST_OK(wp_worker_new(&worker, store, NULL, &must_err));
    MUST_OK(wp_worker_handle(worker, inbox ? WP_SOURCE_INBOX : WP_SOURCE_JOB, "t",
                             inbox ? fault_handle_once : fault_handle, &h, NULL, &must_err));
    parent_tell();
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    parent_await_end();
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wp_store_close(store);
    return 0;
}

static void work_off(const char *path, const char *argument, const char *unfinished)
{
    child worker = child_start("worker", path, argument);
    AWAIT(count_of(path, unfinished) == 0);
    assert_ended_well(&worker);
}

/* Kill workers at work again and again; the last one ends what there is to do. */
static void kill_workers(const char *path, const char *argument, const char *unfinished)
{
    for (int i = 0; i < KILLS; i++) {
        child worker = child_start("worker", path, argument);
        MUST(child_hear(&worker));
        if (count_of(path, unfinished) > 0 && fault_random(2))
            MUST(child_hear(&worker)); /* one is being handled */
        kill_one(&worker);
    }
    work_off(path, argument, unfinished);
}

/* No claim was handled twice, and those of each message came one after the other. */
static void check_claims(const char *path, int total)
{
    int64_t *last = calloc((size_t)total, sizeof *last);
    size_t count = 0;
    event *events = history_read(&count, path);
    assert_non_null(last);
    for (size_t i = 0; i < count; i++) {
        assert_in_range(events[i].number, 0, total - 1);
        assert_true(events[i].claim > last[events[i].number]);
        last[events[i].number] = events[i].claim;
    }
    for (int i = 0; i < total; i++)
        assert_true(last[i] > 0);
    free(events);
    free(last);
}

/* proves: IBX-068, IBX-106, OBX-113 */
static void test_inbox_worker_killed__effects_in_the_apps_transaction__happen_once(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(p->path, "");
    sqlite3 *db = app_open(p->path);
    app_exec(db, "CREATE TABLE effects (number INTEGER NOT NULL)");
    for (int i = 0; i < 10 * MESSAGES; i++) { /* each comes twice */
        const int number = i / 2;
        char text[16];
        wp_inbox_key *key = key_of(number);
        wp_message *message;
        (void)snprintf(text, sizeof text, "%d", number);
        message = fault_message("t", text);
        MUST_OK(wp_inbox_enqueue(NULL, NULL, NULL, store, NULL, key, message, &must_err));
        wp_message_free(message);
        wp_inbox_key_free(key);
    }
    wp_store_close(store);
    kill_workers(p->path, "inbox", "SELECT count(*) FROM infra_inbox_work");
    check_claims(p->path, 5 * MESSAGES);
    assert_int_equal(app_int(db, TORN), 0);
    assert_int_equal(app_int(db, INBOX_DONE), 5 * MESSAGES);
    assert_int_equal(app_int(db, EFFECTS), 5 * MESSAGES);
    assert_int_equal(app_int(db, EFFECT_NUMBERS), 5 * MESSAGES);
    (void)sqlite3_close(db);
}

/* ---- jobs --------------------------------------------------------------------------------- */

/* A job with no schedule to speak of, triggered once; its payload is its number. */
static void trigger(wp_store *store, int number)
{
    wp_job *job = NULL;
    char text[16];
    (void)snprintf(text, sizeof text, "%d", number);
    MUST_OK(wp_job_new(&job, text, "t", text, strlen(text), &must_err));
    MUST_OK(wp_job_set_schedule(job, "@yearly", NULL, &must_err));
    MUST_OK(wp_job_put(store, job, &must_err));
    MUST_OK(wp_job_trigger(NULL, store, text, &must_err));
    wp_job_free(job);
}

/* Each attempt that began and did not end was found out once, and led to one more. */
/* proves: JOB-015, JOB-006, JOB-009 */
static void test_job_worker_killed__in_the_middle_of_runs__one_retry_and_none_is_lost(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(p->path, "");
    sqlite3 *db = app_open(p->path);
    size_t begun = 0;
    event *events;
    for (int i = 0; i < RUNS; i++)
        trigger(store, i);
    kill_workers(p->path, "job", "SELECT count(*) FROM infra_job_run_work");
    check_claims(p->path, RUNS);
    assert_int_equal(app_int(db, "SELECT count(*) FROM infra_job_run"), RUNS);
    assert_int_equal(app_int(db, "SELECT count(*) FROM infra_job_run_finished WHERE status = 2"),
                     RUNS);
    /* a claim ended as done, or by its lease, or went back unstarted: none is counted twice */
    events = history_read(&begun, p->path);
    assert_true(app_int(db, "SELECT sum(attempt) + count(*) FROM infra_job_run_finished") >=
                (int64_t)begun);
    assert_int_equal(
        app_int(db, "SELECT count(*) FROM infra_job_run_finished WHERE claim_number < attempt + 1"),
        0);
    free(events);
    /* what is purged leaves nothing behind, a record of its replay neither */
    app_exec(db, "UPDATE infra_job_run_finished SET status = 3");
    MUST_OK(wp_dead_replay(NULL, store, WP_SOURCE_JOB, NULL, 5, 0, NULL, &must_err));
    assert_int_equal(app_int(db, "SELECT count(*) FROM infra_job_run_replayed"), 5);
    work_off(p->path, "job", "SELECT count(*) FROM infra_job_run_work");
    MUST_OK(wp_job_run_purge(NULL, store, 0, &must_err));
    assert_int_equal(app_int(db, "SELECT count(*) FROM infra_job_run_replayed"), 0);
    assert_int_equal(app_int(db, "SELECT count(*) FROM infra_job_run"), 0);
    (void)sqlite3_close(db);
    wp_store_close(store);
}

/* A scheduler whose clock begins at the start and goes on by a second at a time. */
static int play_scheduler(const char *path, const char *argument)
{
    wp_config *config = fault_config(path, "");
    wp_store *store = NULL;
    wp_clock *clock = NULL;
    (void)argument;
    MUST_OK(wp_clock_new_manual(&clock, WPT_START_US, &must_err));
    MUST_OK(wp_config_set_clock(config, clock, &must_err));
    MUST_OK(wp_store_open(&store, config, &must_err));
    parent_tell();
    for (int i = 0; i <= SECONDS; i++) {
        MUST_OK(wp_job_schedule_due(NULL, store, &must_err));
        MUST_OK(wp_clock_advance_us(clock, WPT_SECOND_US, &must_err));
        fault_nap_us(fault_random(NAP_US));
    }
    parent_await_end();
    wp_store_close(store);
    wp_clock_free(clock);
    wp_config_free(config);
    return 0;
}

/* Put a job of each second, when its first one is still to come. */
static void put_job(const char *path, const char *name)
{
    wp_config *config = fault_config(path, "");
    wp_store *store = NULL;
    wp_clock *clock = NULL;
    wp_job *job = NULL;
    MUST_OK(wp_clock_new_manual(&clock, WPT_START_US, &must_err));
    MUST_OK(wp_config_set_clock(config, clock, &must_err));
    MUST_OK(wp_store_open(&store, config, &must_err));
    MUST_OK(wp_job_new(&job, name, "t", "x", 1, &must_err));
    MUST_OK(wp_job_set_schedule(job, "* * * * * *", NULL, &must_err));
    MUST_OK(wp_job_set_misfire(job, WP_MISFIRE_FIRE, 3600000, 0, &must_err));
    MUST_OK(wp_job_put(store, job, &must_err));
    wp_job_free(job);
    wp_store_close(store);
    wp_clock_free(clock);
    wp_config_free(config);
}

/* proves: JOB-006, JOB-007 */
static void test_schedulers_killed__at_any_moment__make_the_planned_runs(void **state)
{
    const place *p = *state;
    sqlite3 *db = app_open(p->path);
    child schedulers[3];
    int64_t made;
    put_job(p->path, "a");
    put_job(p->path, "b");
    for (int i = 0; i < 3; i++)
        schedulers[i] = child_start("scheduler", p->path, "");
    for (int i = 0; i < KILLS; i++) {
        child *c = &schedulers[fault_random(3)];
        kill_one(c);
        /* never more than one of each occurrence, and none left out. Where a job stands says less: the clock
         * of a scheduler that begins anew is behind the others', and it takes the job back to that. */
        assert_int_equal(
            app_int(db, "SELECT count(*) FROM (SELECT count(*) AS n, max(occurrence_at) AS last "
                        "FROM infra_job_run GROUP BY job_id) "
                        "WHERE n <> (last - " WPT_START_TEXT ") / 1000000"),
            0);
        *c = child_start("scheduler", p->path, "");
    }
    for (int i = 0; i < 3; i++)
        assert_ended_well(&schedulers[i]);
    made = app_int(db, "SELECT count(*) FROM infra_job_run");
    assert_int_equal(made, 2 * SECONDS);
    assert_int_equal(
        app_int(db, "SELECT count(DISTINCT occurrence_at) FROM infra_job_run WHERE job_name = 'a'"),
        SECONDS);
    (void)sqlite3_close(db);
}

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DATABASE(test_once_killed__between_any_two_steps__done_with_its_effect_or_not),
        WITH_DATABASE(test_inbox_worker_killed__effects_in_the_apps_transaction__happen_once),
        WITH_DATABASE(test_job_worker_killed__in_the_middle_of_runs__one_retry_and_none_is_lost),
        WITH_DATABASE(test_schedulers_killed__at_any_moment__make_the_planned_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    static const role roles[] = {
        {"receiver", play_receiver}, {"worker", play_worker}, {"scheduler", play_scheduler}};
    return fault_main(argc, argv, roles, sizeof roles / sizeof roles[0], suite);
}
