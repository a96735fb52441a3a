/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of the schema: deployed on demand, otherwise left alone, under any name. */
#include "inbox_bed.h"

#include <inttypes.h>
#include <sqlite3.h>

/* Open a store with the bed's names at a URL. */
static wp_status open_at(wp_store **out, bed *b, const char *url, const char *const *options,
                         wp_error **err)
{
    wp_config *config = bed_config(b, options);
    wp_status st;
    (void)wp_config_set(config, "store.url", url, NULL);
    st = wp_store_open(out, config, err);
    wp_config_free(config);
    return st;
}

static wp_status deploy_at(bed *b, const char *url, wp_error **err)
{
    wp_config *config = bed_config(b, NULL);
    wp_status st;
    (void)wp_config_set(config, "store.url", url, NULL);
    st = wp_schema_deploy(config, err);
    wp_config_free(config);
    return st;
}

/* Open a database that is there and has nothing of Waypost's. */
static wp_status open_bare(bed *b, const char *url, wp_error **err)
{
    wp_store *store = NULL;
    wp_status st = open_at(&store, b, url, NULL, err);
    assert_null(store);
    return st;
}

/* scenario: OUT-038 */
/* proves: SDP-001, SDP-002, OBX-091..094, IBX-115 */
static void test_open__schema_not_deployed__is_a_schema_error_and_creates_nothing(void **state)
{
    bed *b = *state;
    wp_store *store = NULL;
    char url[256];
    int64_t objects;
    b->engine->url(url, sizeof url, &b->dir, "bare");
    if (b->engine->opens_new) {
        WPT_FAILS(open_bare(b, url, WPT_ERR), WP_E_SCHEMA, "store.deploy");
        WPT_OK(deploy_at(b, url, WPT_ERR));
        return;
    }
    WPT_STATUS(open_bare(b, url, WPT_ERR), WP_E_UNAVAILABLE); /* not even the database is there */
    WPT_STATUS(open_bare(b, url, WPT_ERR), WP_E_UNAVAILABLE);
    b->engine->make(url, sizeof url, NULL);
    objects = b->engine->number_at(url, b->engine->count_objects);
    WPT_FAILS(open_bare(b, url, WPT_ERR), WP_E_SCHEMA, "store.deploy");
    assert_int_equal(b->engine->number_at(url, b->engine->count_objects), objects);
    WPT_OK(deploy_at(b, url, WPT_ERR));
    assert_int_equal(b->engine->number_at(url, "SELECT count(*) FROM mine"), 0);
    WPT_OK(open_at(&store, b, url, NULL, WPT_ERR));
    wp_store_close(store);
}

/* scenario: OUT-038 */
/* proves: SDP-001, OBX-091, OBX-093 */
static void test_deploy__twice__is_harmless(void **state)
{
    bed *b = *state;
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    int64_t objects;
    if (b->engine->opens_new)
        return;
    objects = bed_number(b, b->engine->count_objects);
    for (int i = 0; i < 3; i++)
        WPT_OK(deploy_at(b, b->url, WPT_ERR));
    assert_int_equal(bed_number(b, b->engine->count_objects), objects);
    (void)wpt_claim_one(b->store, 1, &id, 1000); /* the open store goes on */
}

enum { DEPLOYERS = 8 };
typedef struct deployer {
    bed *bed;
    const char *url;
    wp_status st;
    wp__thread thread;
} deployer;

static void *deploy_one(void *arg)
{
    deployer *self = arg;
    wp_store *store = NULL;
    self->st =
        open_at(&store, self->bed, self->url, /* they wait for each other */
                WPT_OPTIONS("store.deploy", "true", "store.response_timeout_ms", "600000"), NULL);
    wp_store_close(store);
    return NULL;
}

/* proves: SDP-001, OBX-091 */
static void test_deploy__tables_of_other_names_are_there__is_a_schema_error(void **state)
{
    static const char *const options[] = {"store.outbox_table", "store.inbox_table"};
    bed *b = *state;
    if (b->engine->opens_new)
        return;
    for (size_t i = 0; i < WPT_COUNT(options); i++) {
        wp_config *config = bed_config(b, NULL);
        wp_store *store = NULL;
        int64_t objects = bed_number(b, b->engine->count_objects);
        WPT_OK(wp_config_set(config, options[i], "another", WPT_ERR));
        WPT_FAILS(wp_store_open(&store, config, WPT_ERR), WP_E_SCHEMA, options[i]);
        WPT_FAILS(wp_schema_deploy(config, WPT_ERR), WP_E_SCHEMA, "another\"");
        assert_int_equal(bed_number(b, b->engine->count_objects), objects);
        wp_config_free(config);
    }
}

static void refuses_tables(bed *b, const char *outbox, const char *inbox, const char *named)
{
    wp_config *config = bed_config(b, NULL);
    wp_store *store = NULL;
    WPT_OK(wp_config_set(config, "store.outbox_table", outbox, WPT_ERR));
    WPT_OK(wp_config_set(config, "store.inbox_table", inbox, WPT_ERR));
    WPT_FAILS(wp_store_open(&store, config, WPT_ERR), WP_E_CONFIG, named);
    WPT_FAILS(wp_schema_deploy(config, WPT_ERR), WP_E_CONFIG, named);
    wp_config_free(config);
}

/* Each table and view that is there and is of no queue with a name of the app's. */
static void refuses_own_tables(bed *b)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *names = NULL;
    int count = 0;
    assert_int_equal(sqlite3_open(b->url + strlen("sqlite:"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT substr(name, 7) FROM sqlite_schema "
                                        "WHERE type IN ('table', 'view') AND name GLOB 'infra_*' "
                                        "AND name NOT GLOB 'infra_*box*'",
                                        -1, &names, NULL),
                     SQLITE_OK);
    for (; sqlite3_step(names) == SQLITE_ROW; count++) {
        const char *name = (const char *)sqlite3_column_text(names, 0);
        refuses_tables(b, name, "inbox", "store.outbox_table");
        refuses_tables(b, "outbox", name, "store.inbox_table");
    }
    assert_true(count > 20);
    (void)sqlite3_finalize(names);
    (void)sqlite3_close(db);
}

/* proves: SDP-001 */
static void test_open__a_queue_in_a_table_of_waypost_s_own__is_a_config_error(void **state)
{
    bed *b = *state;
    refuses_tables(b, "LEASE", "inbox", "store.outbox_table");
    refuses_tables(b, "outbox", "job_run", "store.inbox_table");
    refuses_tables(b, "events", "Events", "would share");
    refuses_tables(b, "events", "events_work", "would share");
    refuses_tables(b, "in_all", "in", "would share");
    if (strcmp(b->engine->name, "sqlite, a file") == 0)
        refuses_own_tables(b);
    if (strncmp(b->engine->name, "sqlserver", strlen("sqlserver")) == 0) {
        refuses_tables(b, "timers", "inbox", "store.outbox_table");
        refuses_tables(b, "outbox", "JobRuns", "store.inbox_table");
        refuses_tables(b, "events", "events_Claim", "would share");
    }
}

/* proves: SDP-001 */
static void test_deploy__many_at_once__all_succeed(void **state)
{
    bed *b = *state;
    deployer deployers[DEPLOYERS];
    char url[256];
    b->engine->url(url, sizeof url, &b->dir, "many");
    if (b->engine->made_first)
        b->engine->make(url, sizeof url, NULL);
    for (int i = 0; i < DEPLOYERS; i++) {
        deployers[i] = (deployer){.bed = b, .url = url};
        WPT_OK(
            wp__thread_start(&deployers[i].thread, "deploy", deploy_one, &deployers[i], WPT_ERR));
    }
    for (int i = 0; i < DEPLOYERS; i++) {
        wp__thread_join(&deployers[i].thread);
        assert_int_equal(deployers[i].st, WP_OK);
    }
}

/* Run SQL on the journal of migrations, whatever it is called. */
static void on_journal(bed *b, const char *format)
{
    const char *schema = b->engine->schema ? b->engine->schema : "infra";
    char *name = sqlite3_mprintf(b->engine->journal, schema);
    char *sql = sqlite3_mprintf(format, name);
    bed_exec(b, sql);
    sqlite3_free(sql);
    sqlite3_free(name);
}

/* proves: SDP-001, SDP-002 */
static void test_open__older_schema__is_a_schema_error_and_a_newer_one_is_not(void **state)
{
    bed *b = *state;
    wp_store *store = NULL;
    if (b->engine->opens_new)
        return;
    on_journal(b, "INSERT INTO %s VALUES (9999, '9999_later', 0)");
    WPT_OK(open_at(&store, b, b->url, NULL, WPT_ERR));
    (void)wpt_enqueue(store, "t", "x");
    wp_store_close(store);
    store = NULL;
    WPT_OK(deploy_at(b, b->url, WPT_ERR)); /* which leaves it as it is */
    on_journal(b, "DELETE FROM %s");
    WPT_FAILS(open_at(&store, b, b->url, NULL, WPT_ERR), WP_E_SCHEMA, "migration 0");
    assert_null(store);
}

/* Two schemas in one database, and two outbox tables in one schema. */
/* proves: SDP-003, WRK-005 */
static void test_names__two_in_one_database__share_nothing(void **state)
{
    bed *b = *state;
    wp_store *other = NULL;
    char url[256];
    wp_id id;
    if (b->engine->opens_new)
        return;
    WPT_OK(open_at(&other, b, b->url, WPT_OPTIONS("store.deploy", "true"), WPT_ERR));
    wp_store_close(other);
    (void)snprintf(url, sizeof url, "%s", b->url);
    if (b->engine->deployer)
        b->engine->deployer(url, sizeof url, b->url);
    other = wpt_store(url, b->clock, WPT_OPTIONS("store.schema", "Infra2"));
    id = wpt_enqueue(b->store, "t", "x");
    assert_int_equal(wpt_claimable(other), 0);
    (void)wpt_claim_one(b->store, 1, &id, 1000);
    id = wpt_enqueue(other, "t", "x");
    assert_int_equal(wpt_claimable(b->store), 0);
    (void)wpt_claim_one(other, 1, &id, 1000);
    wp_store_close(other);
}

/* The names are data to the database: the app's table stays, and so do the objects' names. */
/* proves: SDP-003 */
static void test_names__as_configured__are_what_the_tables_are_called(void **state)
{
    bed *b = *state;
    const char *schema = b->engine->schema ? b->engine->schema : "infra";
    const char *outbox = b->engine->outbox ? b->engine->outbox : "outbox";
    char *sql = sqlite3_mprintf(b->engine->count_outbox, schema, outbox);
    char *foreign = sqlite3_mprintf(b->engine->count_others, schema);
    assert_int_equal(bed_number(b, sql), 1);
    assert_int_equal(bed_number(b, foreign), 0);
    assert_int_equal(bed_number(b, "SELECT count(*) FROM orders"), 0);
    sqlite3_free(sql);
    sqlite3_free(foreign);
}

/* proves: BND-004 */
static void test_open__bad_urls__are_configuration_errors(void **state)
{
    static const char *const bad[] = {"", "sqlite", "sqlite:", "mysql://x", "app.db"};
    bed *b = *state;
    wp_store *store = NULL;
    for (size_t i = 0; i < WPT_COUNT(bad); i++)
        WPT_FAILS(open_at(&store, b, bad[i], NULL, WPT_ERR), WP_E_CONFIG, "store.url");
    WPT_STATUS(open_at(&store, b, "sqlite:/", NULL, WPT_ERR), WP_E_UNAVAILABLE);
    WPT_STATUS(open_at(&store, b, "sqlite:/nowhere/at/all.db", WPT_OPTIONS("store.deploy", "true"),
                       WPT_ERR),
               WP_E_UNAVAILABLE);
    assert_null(store);
}

/* ---- SQL Server's procedures -------------------------------------------------------------- */

static bool may_call(bed *b, const char *url, const char *procedure)
{
    char sql[200];
    (void)snprintf(sql, sizeof sql, b->engine->may_call, procedure); /* NOLINT: the engine's */
    return b->engine->number_at(url, sql) == 1;
}

/* What an older version left in the tables. */
typedef struct legacy {
    wp_id held, ready, timer, join;
    int64_t claim_number, fence, rows[16];
} legacy;

static const char *const with_rows[] = {"Outbox",     "Outbox_Replayed", "Inbox",    "Timers",
                                        "Jobs",       "JobRuns",         "\"Join\"", "JoinNext",
                                        "JoinMember", "PausedTopic",     "Audit",    "Lease"};

static void count_rows(bed *b, int64_t *rows)
{
    for (size_t i = 0; i < WPT_COUNT(with_rows); i++) {
        char sql[100];
        (void)snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM infra.%s", with_rows[i]);
        rows[i] = bed_number(b, sql);
    }
}

static int64_t acquire(bed *b, const char *owner)
{
    wp_lease_info *info = NULL;
    int64_t fence;
    WPT_OK(wp_lease_acquire(&info, b->store, NULL, WP_LEASE_EXCLUSIVE, "l", owner, 60000, WPT_ERR));
    fence = wp_lease_info_granted(info) ? wp_lease_info_fence(info) : 0;
    wp_lease_info_free(info);
    return fence;
}

static void fill_with_jobs(bed *b)
{
    wp_job *job = NULL;
    wp_id run;
    WPT_OK(wp_job_new(&job, "j", "t", "x", 1, WPT_ERR));
    WPT_OK(wp_job_set_schedule(job, "@yearly", NULL, WPT_ERR));
    WPT_OK(wp_job_put(b->store, job, WPT_ERR));
    WPT_OK(wp_job_trigger(&run, b->store, "j", WPT_ERR));
    wp_job_free(job);
}

/* A join of two, of which one is done; what comes after it is known. */
static void fill_with_joins(bed *b, legacy *was)
{
    wp_join *join = NULL;
    wp_message *next = wpt_message("next", "after");
    size_t changed = 0;
    WPT_OK(wp_join_new(&join, 2, WPT_ERR));
    WPT_OK(wp_join_set_success(join, next, WPT_ERR));
    WPT_OK(wp_join_start(&was->join, b->store, NULL, join, WPT_ERR));
    WPT_OK(wp_join_attach(&changed, b->store, NULL, &was->join, &was->held, 1, WPT_ERR));
    assert_int_equal(changed, 1);
    wp_message_free(next);
    wp_join_free(join);
}

static void fill(bed *b, legacy *was)
{
    wp_message *message = wpt_message("t", "later");
    was->held = wpt_enqueue(b->store, "t", "held");
    was->claim_number = wpt_claim_one(b->store, 1, &was->held, 60000);
    was->ready = wpt_enqueue(b->store, "t", "ready");
    WPT_OK(wp_timer_schedule(&was->timer, NULL, b->store, NULL, message, WPT_ERR));
    (void)ib_enqueue(b->store, NULL, "s", "1", "t", "x");
    (void)ib_check(b->store, NULL, "s", "2");
    WPT_OK(wp_topic_pause(NULL, b->store, NULL, WP_SOURCE_OUTBOX, "p", "me", WPT_ERR));
    fill_with_jobs(b);
    fill_with_joins(b, was);
    was->fence = acquire(b, "me");
    count_rows(b, was->rows);
    wp_message_free(message);
}

/* It is all there, and goes on where it was. */
static void goes_on(bed *b, const legacy *was)
{
    const wp_id owner = wpt_owner(1);
    wp_join_info *join = NULL;
    wp_outbox_info *timer = NULL;
    wp_pauses *pauses = NULL;
    int64_t rows[WPT_COUNT(was->rows)] = {0};
    size_t changed = 0;
    count_rows(b, rows);
    assert_memory_equal(rows, was->rows, sizeof rows);
    WPT_OK(wp_outbox_ack(&changed, b->store, NULL, &owner, &was->held, &was->claim_number, 1, NULL,
                         WPT_ERR));
    assert_int_equal(changed, 1);
    WPT_OK(wp_join_get(&join, b->store, &was->join, WPT_ERR));
    assert_int_equal(wp_join_info_completed(join), 1);
    (void)wpt_claim_one(b->store, 2, &was->ready, 1000);
    WPT_OK(wp_timer_get(&timer, b->store, &was->timer, WPT_ERR));
    assert_int_equal(ib_claimable(b->store), 1);
    assert_int_equal(ib_check(b->store, NULL, "s", "2"), WP_INBOX_SEEN);
    WPT_OK(wp_pauses_read(&pauses, b->store, WPT_ERR));
    assert_int_equal(wp_pauses_count(pauses), 1);
    assert_int_equal(acquire(b, "another"), 0);
    WPT_OK(wp_lease_renew(NULL, b->store, NULL, WP_LEASE_EXCLUSIVE, "l", "me", was->fence, 60000,
                          WPT_ERR));
    wp_join_info_free(join);
    wp_outbox_info_free(timer);
    wp_pauses_free(pauses);
}

/* The schema before the migration that makes procedures anew: one of them is older. */
/* proves: SDP-001, SDP-002, SDP-004 */
static void test_deploy__over_older_procedures__rows_and_rights_stay(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    legacy was = {0};
    wp_store *store = NULL;
    char url[300], note[80], named[20];
    int64_t notes;
    if (!b->engine->remade_by)
        return;
    fill(b, &was);
    (void)b->engine->limit(url, sizeof url, b->url);
    bed_exec(b, b->engine->older);
    WPT_STATUS(wp_outbox_release(NULL, b->store, NULL, &owner, &was.held, NULL, 1, WPT_ERR),
               WP_E_DB);
    notes = bed_number(b, "SELECT COUNT(*) FROM infra.migration");
    (void)snprintf(note, sizeof note, "DELETE FROM infra.migration WHERE number = %" PRId64,
                   b->engine->remade_by);
    bed_exec(b, note);
    (void)snprintf(named, sizeof named, "migration %04" PRId64, b->engine->remade_by);
    WPT_FAILS(open_at(&store, b, b->url, NULL, WPT_ERR), WP_E_SCHEMA, named);
    assert_true(may_call(b, url, "Outbox_Release"));
    WPT_OK(deploy_at(b, b->url, WPT_ERR));
    assert_int_equal(bed_number(b, "SELECT COUNT(*) FROM infra.migration"), notes);
    assert_true(may_call(b, url, "Outbox_Release"));
    assert_true(may_call(b, url, "Outbox_Claim"));
    WPT_OK(open_at(&store, b, b->url, NULL, WPT_ERR));
    assert_int_equal(wpt_claimable(store), 1); /* which gives back what it claimed */
    wp_store_close(store);
    goes_on(b, &was);
}

/* proves: SDP-004 */
static void test_rights__of_calling_procedures_alone__are_enough_for_an_app(void **state)
{
    bed *b = *state;
    wp_store *store = NULL;
    char url[300];
    wp_id id;
    if (!b->engine->limit)
        return;
    if (!b->engine->limit(url, sizeof url, b->url))
        skip();
    WPT_OK(open_at(&store, b, url, NULL, WPT_ERR));
    id = wpt_enqueue(store, "t", "x");
    (void)wpt_claim_one(store, 1, &id, 1000);
    assert_int_equal(ib_enqueue(store, NULL, "s", "1", "t", "x"), WP_INBOX_NEW);
    assert_int_equal(ib_claimable(store), 1);
    wp_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_open__schema_not_deployed__is_a_schema_error_and_creates_nothing),
        BED_TEST(test_deploy__twice__is_harmless),
        BED_TEST(test_deploy__tables_of_other_names_are_there__is_a_schema_error),
        BED_TEST(test_open__a_queue_in_a_table_of_waypost_s_own__is_a_config_error),
        BED_TEST(test_deploy__many_at_once__all_succeed),
        BED_TEST(test_open__older_schema__is_a_schema_error_and_a_newer_one_is_not),
        BED_TEST(test_names__two_in_one_database__share_nothing),
        BED_TEST(test_names__as_configured__are_what_the_tables_are_called),
        BED_TEST(test_open__bad_urls__are_configuration_errors),
        BED_TEST(test_deploy__over_older_procedures__rows_and_rights_stay),
        BED_TEST(test_rights__of_calling_procedures_alone__are_enough_for_an_app),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
