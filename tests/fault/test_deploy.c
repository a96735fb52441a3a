/* SPDX-License-Identifier: Apache-2.0 */
/* Deployment by many processes at once, beside running workers, and schemas of other versions. */
#include "fault.h"

#include <stdatomic.h>

#include "base/buf.h"
#include "op/engine.h"
#include "op/sql.h"

enum { PROCESSES = 16, FRESH_FILES = FAULT_ROUNDS(10), MESSAGES = FAULT_ROUNDS(2000) };

#define JOURNAL "SELECT count(*) FROM infra_migration"

/* Wait for the start, then deploy; or open with deployment on. */
static int play_deployer(const char *path, const char *how)
{
    wp_config *config = fault_config(path, "store.deploy=true");
    wp_store *store = NULL;
    parent_tell();
    parent_await_end();
    if (strcmp(how, "open") == 0)
        MUST_OK(wp_store_open(&store, config, &must_err));
    else
        MUST_OK(wp_schema_deploy(config, &must_err));
    wp_store_close(store);
    wp_config_free(config);
    return 0;
}

static void deploy_at_once(const char *path)
{
    child deployers[PROCESSES];
    for (int i = 0; i < PROCESSES; i++)
        deployers[i] = child_start("deployer", path, i % 2 ? "open" : "deploy");
    for (int i = 0; i < PROCESSES; i++)
        MUST(child_hear(&deployers[i]));
    for (int i = 0; i < PROCESSES; i++) { /* go */
        (void)close(deployers[i].in);
        deployers[i].in = -1;
    }
    for (int i = 0; i < PROCESSES; i++)
        assert_int_equal(child_wait(&deployers[i]), 0);
}

/* Every object of the schema with its text, as one string. sqlite3_free() */
static char *schema_of(const char *path)
{
    sqlite3 *db = app_open(path);
    sqlite3_stmt *statement = NULL;
    char *all = sqlite3_mprintf("");
    MUST(sqlite3_prepare_v2(db, "SELECT type, name, sql FROM sqlite_master ORDER BY type, name", -1,
                            &statement, NULL) == SQLITE_OK);
    while (all && sqlite3_step(statement) == SQLITE_ROW) {
        char *longer =
            sqlite3_mprintf("%s%s %s %s\n", all, sqlite3_column_text(statement, 0),
                            sqlite3_column_text(statement, 1), sqlite3_column_text(statement, 2));
        sqlite3_free(all);
        all = longer;
    }
    MUST(all);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return all;
}

/* proves: SDP-001, OBX-091 */
static void test_deploy__16_processes_at_once__one_schema_one_row_per_migration(void **state)
{
    const place *p = *state;
    char *want;
    fault_deploy(p->path);
    want = schema_of(p->path);
    for (int i = 0; i < FRESH_FILES; i++) {
        char path[120];
        char *got;
        (void)snprintf(path, sizeof path, "%s.%d", p->path, i);
        deploy_at_once(path);
        assert_int_equal(count_of(path, JOURNAL), *wp__engine_sqlite.migration_count);
        got = schema_of(path);
        assert_string_equal(got, want);
        sqlite3_free(got);
        wp_store_close(fault_store(path, ""));
    }
    sqlite3_free(want);
}

static wp_outcome done(wp_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return WP_OUTCOME_DONE;
}

/* Works until the parent says end; fails if the database ever did. */
static int play_worker(const char *path, const char *argument)
{
    wp_store *store = fault_store(path, "worker.poll_min_ms=1 worker.poll_max_ms=5");
    wp_worker *worker = fault_worker(store, "t", done, NULL);
    int64_t errors;
    (void)argument;
    MUST_OK(wp_worker_start(worker, 2, &must_err));
    parent_tell();
    parent_await_end();
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    errors = wp_worker_counter(worker, WP_COUNTER_ERRORS);
    wp_worker_free(worker);
    wp_store_close(store);
    return errors != 0;
}

/* proves: SDP-001 */
static void test_deploy__beside_workers__they_go_on(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(p->path, "");
    child workers[2];
    for (int i = 0; i < 2; i++) {
        workers[i] = child_start("worker", p->path, "");
        MUST(child_hear(&workers[i]));
    }
    for (int i = 0; i < MESSAGES; i++) {
        (void)fault_enqueue(store, "t", "x");
        if (i == MESSAGES / 2)
            deploy_at_once(p->path);
    }
    AWAIT(count_of(p->path, DONE) == MESSAGES);
    for (int i = 0; i < 2; i++)
        assert_ended_well(&workers[i]);
    assert_int_equal(count_of(p->path, JOURNAL), *wp__engine_sqlite.migration_count);
    wp_store_close(store);
}

/* proves: OBX-093, SDP-001 */
static void test_deploy__again__changes_nothing(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(p->path, "");
    const wp_id id = fault_enqueue(store, "t", "x");
    wp_outbox_info *info = NULL;
    char *before = schema_of(p->path);
    char *after;
    for (int i = 0; i < 3; i++)
        fault_deploy(p->path);
    wp_store_close(fault_store(p->path, "store.deploy=true"));
    after = schema_of(p->path);
    assert_string_equal(after, before);
    assert_int_equal(count_of(p->path, JOURNAL), *wp__engine_sqlite.migration_count);
    MUST_OK(wp_outbox_get(&info, store, &id, &must_err));
    wp_outbox_info_free(info);
    sqlite3_free(before);
    sqlite3_free(after);
    wp_store_close(store);
}

static void open_gives(const char *path, const char *options, wp_status status)
{
    wp_config *config = fault_config(path, options);
    wp_store *store = NULL;
    wp_error *err = NULL;
    assert_int_equal(wp_store_open(&store, config, &err), status);
    if (status != WP_OK)
        assert_non_null(strstr(wp_error_message(err), "infra"));
    wp_error_free(err);
    wp_store_close(store);
    wp_config_free(config);
}

/* proves: SDP-002, OBX-092 */
static void test_open__deploy_off_and_no_schema__is_a_schema_error_and_creates_nothing(void **state)
{
    const place *p = *state;
    sqlite3 *db = app_open(p->path);
    int64_t size;
    app_exec(db, "CREATE TABLE orders (number INTEGER)");
    size = file_size(p->path);
    open_gives(p->path, "", WP_E_SCHEMA);
    assert_int_equal(app_int(db, "SELECT count(*) FROM sqlite_master"), 1);
    assert_int_equal(
        app_int(db, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'delete'"), 1);
    assert_int_equal(file_size(p->path), size);
    assert_int_equal(file_size(place_file(p->path, "-wal")), -1);
    (void)sqlite3_close(db);
}

/* proves: SDP-002 */
static void test_open__older_schema__is_a_schema_error(void **state)
{
    const place *p = *state;
    sqlite3 *db = app_open(p->path);
    app_exec(db, "DELETE FROM infra_migration WHERE number = (SELECT max(number) FROM "
                 "infra_migration)");
    open_gives(p->path, "", WP_E_SCHEMA);
    app_exec(db, "DROP TABLE infra_migration");
    open_gives(p->path, "", WP_E_SCHEMA);
    (void)sqlite3_close(db);
}

/* The schema as a library had it that knew the first `count` migrations. */
static void deploy_older(const char *path, size_t count)
{
    static const wp__sql_names names = {.schema = "infra", .outbox = "outbox", .inbox = "inbox"};
    sqlite3 *db = app_open(path);
    app_exec(db, "PRAGMA journal_mode = WAL");
    app_exec(db,
             "CREATE TABLE \"infra_migration\" (number INTEGER PRIMARY KEY, name TEXT NOT NULL, "
             "applied_at INTEGER NOT NULL)");
    for (size_t i = 0; i < count; i++) {
        const wp__sql_source *migration = &wp__engine_sqlite.migrations[i];
        char *record =
            sqlite3_mprintf("INSERT INTO infra_migration VALUES (CAST(%Q AS INTEGER), %Q, 0)",
                            migration->name, migration->name);
        wp__buf script = {0};
        MUST_OK(wp__sql_render(&script, (const char *)migration->text, migration->len, &names,
                               &must_err));
        app_exec(db, script.data);
        app_exec(db, record);
        wp__buf_free(&script);
        sqlite3_free(record);
    }
    (void)sqlite3_close(db);
}

/* Enqueue as a library of the first migrations did. */
static void enqueue_older(const char *path, int count)
{
    sqlite3 *db = app_open(path);
    for (int i = 0; i < count; i++)
        app_exec(db, "INSERT INTO infra_outbox_new (id, topic, payload, created_at, due_at) "
                     "VALUES (randomblob(16), 't', 'x', 1, 1)");
    (void)sqlite3_close(db);
}

/* Deployers of the rest die on the way, and leave all of it or nothing; what is there stays, and an app
 * of the older library goes on. */
/* proves: SDP-001, SDP-002 */
static void test_deploy__over_an_older_schema_and_killed__all_or_nothing(void **state)
{
    enum { MANY = 100 };
    const place *p = *state;
    char whole[120];
    char *want, *got;
    fault_deploy(place_file(p->path, ".whole"));
    (void)snprintf(whole, sizeof whole, "%s", place_file(p->path, ".whole"));
    want = schema_of(whole);
    for (int round = 0; round < FAULT_ROUNDS(20); round++) {
        char path[120];
        wp_store *store;
        child c;
        int64_t applied;
        (void)snprintf(path, sizeof path, "%s.%d", p->path, round);
        deploy_older(path, 7);
        enqueue_older(path, MANY);
        c = child_start("deployer", path, "deploy");
        MUST(child_hear(&c));
        (void)close(c.in); /* go */
        c.in = -1;
        fault_nap_us(fault_random(4000));
        child_kill(&c);
        applied = count_of(path, JOURNAL);
        MUST(applied == 7 || applied == (int64_t)*wp__engine_sqlite.migration_count);
        enqueue_older(path, 1);
        fault_deploy(path);
        got = schema_of(path);
        assert_string_equal(got, want);
        sqlite3_free(got);
        enqueue_older(path, 1);
        store = fault_store(path, "");
        (void)fault_enqueue(store, "t", "x");
        wp_store_close(store);
        assert_int_equal(count_of(path, UNFINISHED), MANY + 3);
        assert_int_equal(count_of(path, "SELECT max(seq) FROM infra_outbox"), MANY + 3);
    }
    sqlite3_free(want);
}

/* Deleted one by one, by whatever path: a number that was given out does not come again. */
/* proves: OBX-114 */
static void test_numbers__of_deleted_messages__are_never_given_out_again(void **state)
{
    const place *p = *state;
    wp_store *store = fault_store(p->path, "");
    sqlite3 *db = app_open(p->path);
    int64_t last = 0;
    for (int i = 0; i < 50; i++) {
        int64_t number;
        (void)fault_enqueue(store, "t", "x");
        number = app_int(db, "SELECT max(seq) FROM infra_outbox");
        assert_true(number > last);
        last = number;
        if (fault_random(2))
            app_exec(db,
                     "DELETE FROM infra_outbox WHERE seq = (SELECT max(seq) FROM infra_outbox)");
        if (fault_random(8) == 0)
            app_exec(db, "DELETE FROM infra_outbox");
        if (fault_random(2))
            app_exec(db, "BEGIN; DELETE FROM infra_outbox; ROLLBACK");
        app_exec(db,
                 "DELETE FROM infra_outbox_work WHERE seq NOT IN (SELECT seq FROM infra_outbox)");
    }
    (void)sqlite3_close(db);
    wp_store_close(store);
}

/* proves: SDP-001 */
static void test_open__newer_schema__is_accepted(void **state)
{
    const place *p = *state;
    sqlite3 *db = app_open(p->path);
    char *before = schema_of(p->path);
    char *after;
    app_exec(db, "INSERT INTO infra_migration (number, name, applied_at) "
                 "VALUES (9999, '9999_future', 0)");
    open_gives(p->path, "", WP_OK);
    open_gives(p->path, "store.deploy=true", WP_OK);
    fault_deploy(p->path);
    after = schema_of(p->path);
    assert_string_equal(after, before);
    assert_int_equal(app_int(db, JOURNAL), *wp__engine_sqlite.migration_count + 1);
    (void)sqlite3_close(db);
    sqlite3_free(before);
    sqlite3_free(after);
}

static const role roles[] = {{"deployer", play_deployer}, {"worker", play_worker}};

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(test_deploy__16_processes_at_once__one_schema_one_row_per_migration),
        WITH_DATABASE(test_deploy__beside_workers__they_go_on),
        WITH_DATABASE(test_deploy__again__changes_nothing),
        WITH_PLACE(test_open__deploy_off_and_no_schema__is_a_schema_error_and_creates_nothing),
        WITH_DATABASE(test_open__older_schema__is_a_schema_error),
        WITH_PLACE(test_deploy__over_an_older_schema_and_killed__all_or_nothing),
        WITH_DATABASE(test_numbers__of_deleted_messages__are_never_given_out_again),
        WITH_DATABASE(test_open__newer_schema__is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, roles, sizeof roles / sizeof roles[0], suite);
}
