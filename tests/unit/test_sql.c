/* SPDX-License-Identifier: Apache-2.0 */
/* Statements: how they are rendered, and what the database makes of them. */
#include "support/wpt.h"

#include <sqlite3.h>

#include "db/store.h"

static const wp__sql_names plain = {.schema = "infra", .outbox = "outbox"};

/* ---- rendering ---------------------------------------------------------------------------- */

static wp_status render(char **out, const char *source, const wp__sql_names *names, wp_error **err)
{
    wp__buf buf = {0};
    wp_status st = wp__sql_render(&buf, source, strlen(source), names, err);
    *out = wp__buf_take(&buf);
    return st;
}

static void renders(const char *source, const wp__sql_names *names, const char *want)
{
    char *text = NULL;
    WPT_OK(render(&text, source, names, WPT_ERR));
    assert_string_equal(text, want);
    free(text);
}

/* proves: SDP-003 */
static void test_render__objects__named_after_schema_and_outbox(void **state)
{
    const wp__sql_names mine = {.schema = "s", .outbox = "Letters"};
    (void)state;
    renders("{outbox} {outbox_work} {outboxed} {migration}", &mine,
            "\"s_Letters\" \"s_Letters_work\" \"s_outboxed\" \"s_migration\"");
    renders("no object", &mine, "no object");
    renders("", &mine, "");
    renders("{a}{b}", &plain, "\"infra_a\"\"infra_b\"");
}

/* proves: SDP-003 */
static void test_render__hostile_names__quoted(void **state)
{
    const wp__sql_names hostile = {.schema = "a\"; DROP TABLE t; --", .outbox = "\"{x} :id\n?"};
    (void)state;
    renders("{outbox}", &hostile, "\"a\"\"; DROP TABLE t; --_\"\"{x} :id\n?\"");
    renders("{outbox_id}", &hostile, "\"a\"\"; DROP TABLE t; --_\"\"{x} :id\n?_id\"");
}

static void test_render__malformed_placeholder__is_refused(void **state)
{
    static const char *const bad[] = {"{",         "{outbox",   "{}",         "{Outbox}",
                                      "{out box}", "a {outbox", "{outbox-x}", "{{outbox}}"};
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(bad); i++) {
        char *text = NULL;
        WPT_STATUS(render(&text, bad[i], &plain, WPT_ERR), WP_E_INTERNAL);
        free(text);
    }
}

/* ---- sets --------------------------------------------------------------------------------- */

/* A set whose first statement is `text` and whose others are harmless. */
static wp_status set_with(wp__sql_set **out, const char *text, wp_error **err)
{
    static const char harmless[] = "-- x\nSELECT 1";
    wp__sql_source sources[WP__SQL_COUNT];
    for (int i = 0; i < WP__SQL_COUNT; i++)
        sources[i] = (wp__sql_source){"x", (const unsigned char *)harmless, sizeof harmless - 1};
    sources[0] = (wp__sql_source){"first", (const unsigned char *)text, strlen(text)};
    return wp__sql_set_new(out, sources, &plain, err);
}

static void test_set__both_styles__parameters_in_order(void **state)
{
    wp__sql_set *set = NULL;
    const wp__sql_statement *first;
    const wp__sql_text *qmark, *named;
    (void)state;
    WPT_OK(set_with(&set, "-- first: {broken :nonsense\nSELECT :id, :now, :id FROM {outbox}\n\n",
                    WPT_ERR));
    first = wp__sql_get(set, (wp__sql_id)0);
    qmark = &first->style[WP_PARAM_QMARK - 1];
    named = &first->style[WP_PARAM_NAMED - 1];
    assert_string_equal(qmark->text, "SELECT ?, ?, ? FROM \"infra_outbox\"");
    assert_int_equal(qmark->param_count, 3);
    assert_int_equal(qmark->params[0], WP__P_ID);
    assert_int_equal(qmark->params[1], WP__P_NOW);
    assert_int_equal(qmark->params[2], WP__P_ID);
    assert_string_equal(named->text, "SELECT :id, :now, :id FROM \"infra_outbox\"");
    assert_int_equal(named->param_count, 2);
    assert_int_equal(named->params[0], WP__P_ID);
    assert_int_equal(named->params[1], WP__P_NOW);
    assert_string_equal(wp__param_name(WP__P_NOW), "now");
    assert_true(first->returns_rows);
    wp__sql_set_free(set);
    wp__sql_set_free(NULL);
}

static void test_set__rows_returned__are_known(void **state)
{
    static const struct {
        const char *text;
        bool rows;
    } cases[] = {{"-- x\nSELECT 1", true},
                 {"-- x\nWITH a AS (SELECT 1) SELECT * FROM a", true},
                 {"-- x\nUPDATE {outbox} SET a = 1\nRETURNING seq", true},
                 {"-- x\nUPDATE {outbox} SET a = 1", false},
                 {"-- x\nINSERT INTO {outbox} SELECT 1", false}};
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(cases); i++) {
        wp__sql_set *set = NULL;
        WPT_OK(set_with(&set, cases[i].text, WPT_ERR));
        assert_int_equal(wp__sql_get(set, (wp__sql_id)0)->returns_rows, cases[i].rows);
        wp__sql_set_free(set);
    }
}

static void test_set__unknown_placeholders__are_refused_by_name(void **state)
{
    wp__sql_set *set = NULL;
    (void)state;
    WPT_FAILS(set_with(&set, "-- x\nSELECT :nonsense", WPT_ERR), WP_E_INTERNAL, ":nonsense");
    WPT_FAILS(set_with(&set, "-- x\nSELECT :", WPT_ERR), WP_E_INTERNAL, "first");
    WPT_FAILS(set_with(&set, "-- x\nSELECT {", WPT_ERR), WP_E_INTERNAL, "placeholder");
    assert_null(set);
}

static void test_set__too_many_parameters__are_refused(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        wp__buf text = {0};
        wp__sql_set *set = NULL;
        wp__buf_text(&text, "-- x\nSELECT 0");
        for (int i = 0; i < WP__SQL_PARAMS_MAX + more; i++)
            wp__buf_text(&text, ", :id");
        WPT_STATUS(set_with(&set, text.data, WPT_ERR), more ? WP_E_INTERNAL : WP_OK);
        wp__sql_set_free(set);
        wp__buf_free(&text);
    }
}

/* ---- what the database makes of them ------------------------------------------------------ */

/* A deployed database with work in it, and a connection to it. */
typedef struct deployed {
    wp_store *store;
    sqlite3 *db;
} deployed;

static int deployed_setup(void **state)
{
    deployed *d = calloc(1, sizeof *d);
    assert_non_null(d);
    d->store = wpt_store("sqlite::memory:", NULL, NULL);
    assert_int_equal(sqlite3_open_v2(wp_store_location(d->store), &d->db,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL),
                     SQLITE_OK);
    *state = d;
    return 0;
}

static int deployed_teardown(void **state)
{
    deployed *d = *state;
    assert_int_equal(sqlite3_close(d->db), SQLITE_OK);
    wp_store_close(d->store);
    free(d);
    return 0;
}

static const char *text_of(const deployed *d, wp__sql_id id, wp_paramstyle style)
{
    return wp__sql_get(wp__store_sql(d->store), id)->style[style - 1].text;
}

/* Every statement prepares, returns rows if it says so, and takes the parameters it says. */
static void test_statements__each__fit_the_schema(void **state)
{
    const deployed *d = *state;
    for (int id = 0; id < WP__SQL_COUNT; id++) {
        const wp__sql_statement *s = wp__sql_get(wp__store_sql(d->store), (wp__sql_id)id);
        for (int style = 0; style < WP__PARAMSTYLES; style++) {
            const wp__sql_text *text = &s->style[style];
            sqlite3_stmt *statement = NULL;
            const char *tail = NULL;
            if (sqlite3_prepare_v2(d->db, text->text, -1, &statement, &tail) != SQLITE_OK)
                fail_msg("%s: %s", s->name, sqlite3_errmsg(d->db));
            assert_string_equal(tail, ""); /* one statement, all of it */
            assert_int_equal(sqlite3_bind_parameter_count(statement), text->param_count);
            assert_int_equal(sqlite3_column_count(statement) > 0, s->returns_rows);
            for (size_t p = 0; style == WP_PARAM_NAMED - 1 && p < text->param_count; p++)
                assert_string_equal(sqlite3_bind_parameter_name(statement, (int)p + 1) + 1,
                                    wp__param_name((wp__param)text->params[p]));
            sqlite3_finalize(statement);
        }
    }
}

/* The name after "SCAN " is one of ours: a table by its own name, or by the alias that stands
 * after its quoted name in the statement. */
static bool scans_our_table(const char *detail, const char *sql)
{
    char name[128], alias[160];
    if (strncmp(detail, "SCAN ", 5) != 0)
        return false;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(detail + 5, " "), detail + 5);
    if (strncmp(name, "infra_", 6) == 0)
        return true;
    (void)snprintf(alias, sizeof alias, "\" AS %s", name);
    for (const char *at = strstr(sql, alias); at; at = strstr(at + 1, alias))
        if (strchr(" \n,);", at[strlen(alias)]))
            return true;
    return false;
}

static bool counts_on_purpose(wp__sql_id id)
{
    return id == WP__SQL_OUTBOX_STATS || id == WP__SQL_OUTBOX_STATS_FINISHED ||
           id == WP__SQL_MIGRATION_LIST;
}

/* The plans of all statements, counting those steps that walk through one of our tables. */
static int scans(const deployed *d, bool only_counting)
{
    int found = 0;
    for (int id = 0; id < WP__SQL_COUNT; id++) {
        const char *sql = text_of(d, (wp__sql_id)id, WP_PARAM_NAMED);
        char *explain = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
        sqlite3_stmt *statement = NULL;
        assert_int_equal(sqlite3_prepare_v2(d->db, explain, -1, &statement, NULL), SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            const char *detail = (const char *)sqlite3_column_text(statement, 3);
            if (!scans_our_table(detail, sql) || counts_on_purpose((wp__sql_id)id) != only_counting)
                continue;
            found++;
            if (!only_counting)
                print_error("%s: %s\n", wp__sql_get(wp__store_sql(d->store), (wp__sql_id)id)->name,
                            detail);
        }
        sqlite3_finalize(statement);
        sqlite3_free(explain);
    }
    return found;
}

static void test_statements__hot_ones__scan_no_table(void **state)
{
    const deployed *d = *state;
    assert_true(scans(d, true) >= 2); /* the finder finds those that are meant to */
    assert_int_equal(scans(d, false), 0);
}

/* The same with statistics of a table full of finished work. */
static void test_statements__after_analyze__scan_no_table(void **state)
{
    const deployed *d = *state;
    const wp_id owner = wpt_owner(1);
    for (int i = 0; i < 50; i++)
        (void)wpt_enqueue(d->store, "t", "x");
    for (int i = 0; i < 40; i++) {
        wp_claim *claim = wpt_claim(d->store, 1, 1, 1000);
        WPT_OK(wp_outbox_ack(NULL, d->store, NULL, &owner, wp_received_id(wp_claim_at(claim, 0)),
                             NULL, 1, NULL, WPT_ERR));
        wp_claim_free(claim);
    }
    assert_int_equal(sqlite3_exec(d->db, "ANALYZE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(scans(d, false), 0);
}

/* The view for people shows each message once. */
static void test_view__messages__with_their_state(void **state)
{
    const deployed *d = *state;
    sqlite3_stmt *statement = NULL;
    const wp_id owner = wpt_owner(1);
    const wp_id id = wpt_enqueue(d->store, "t", "1");
    (void)wpt_claim_one(d->store, 1, &id, 1000);
    WPT_OK(wp_outbox_ack(NULL, d->store, NULL, &owner, &id, NULL, 1, "w", WPT_ERR));
    (void)wpt_enqueue(d->store, "t", "2");
    assert_int_equal(sqlite3_prepare_v2(d->db,
                                        "SELECT group_concat(payload || ' ' || status, ',') "
                                        "FROM infra_outbox_all ORDER BY seq",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), "1 2,2 0");
    sqlite3_finalize(statement);
}

#define DEPLOYED(test) cmocka_unit_test_setup_teardown(test, deployed_setup, deployed_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_render__objects__named_after_schema_and_outbox),
        cmocka_unit_test(test_render__hostile_names__quoted),
        cmocka_unit_test(test_render__malformed_placeholder__is_refused),
        cmocka_unit_test(test_set__both_styles__parameters_in_order),
        cmocka_unit_test(test_set__rows_returned__are_known),
        cmocka_unit_test(test_set__unknown_placeholders__are_refused_by_name),
        cmocka_unit_test(test_set__too_many_parameters__are_refused),
        DEPLOYED(test_statements__each__fit_the_schema),
        DEPLOYED(test_statements__hot_ones__scan_no_table),
        DEPLOYED(test_statements__after_analyze__scan_no_table),
        DEPLOYED(test_view__messages__with_their_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
