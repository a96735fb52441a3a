/* SPDX-License-Identifier: Apache-2.0 */
/* Statements: how they are rendered, and what the database makes of them. */
#include "support/wpt.h"

#include <sqlite3.h>

#include "db/store.h"

static const wp__sql_names plain = {.schema = "infra", .outbox = "outbox", .inbox = "inbox"};

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
    const wp__sql_names mine = {.schema = "s", .outbox = "Letters", .inbox = "Post"};
    (void)state;
    renders("{outbox} {outbox_work} {outboxed} {migration}", &mine,
            "\"s_Letters\" \"s_Letters_work\" \"s_outboxed\" \"s_migration\"");
    renders("{inbox} {inbox_work} {inboxes}", &mine, "\"s_Post\" \"s_Post_work\" \"s_inboxes\"");
    renders("no object", &mine, "no object");
    renders("", &mine, "");
    renders("{a}{b}", &plain, "\"infra_a\"\"infra_b\"");
}

/* proves: SDP-003 */
static void test_render__hostile_names__quoted(void **state)
{
    const wp__sql_names hostile = {
        .schema = "a\"; DROP TABLE t; --", .outbox = "\"{x} :id\n?", .inbox = "i"};
    (void)state;
    renders("{outbox}", &hostile, "\"a\"\"; DROP TABLE t; --_\"\"{x} :id\n?\"");
    renders("{outbox_id}", &hostile, "\"a\"\"; DROP TABLE t; --_\"\"{x} :id\n?_id\"");
}

static void test_render__malformed_placeholder__is_refused(void **state)
{
    static const char *const bad[] = {"{",         "{outbox",   "{}",         "{=outbox}",
                                      "{out box}", "a {outbox", "{outbox-x}", "{{outbox}}"};
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(bad); i++) {
        char *text = NULL;
        WPT_STATUS(render(&text, bad[i], &plain, WPT_ERR), WP_E_INTERNAL);
        free(text);
    }
}

/* ---- sets --------------------------------------------------------------------------------- */

/* PostgreSQL's way with names. */
static const wp__sql_names schemas = {
    .schema = "sch\"ema", .outbox = "o'b", .inbox = "in", .schemas = true, .max_bytes = 12};

/* proves: SDP-003 */
static void test_render__engine_with_schemas__names_are_qualified(void **state)
{
    (void)state;
    renders("{outbox} {schema} {name:outbox_id} {migration}", &schemas,
            "\"sch\"\"ema\".\"o'b\" \"sch\"\"ema\" \"o'b_id\" \"sch\"\"ema\".\"migration\"");
    renders("nextval({text:outbox_seq})", &schemas, "nextval('\"sch\"\"ema\".\"o''b_seq\"')");
    renders("nextval({text:outbox_seq})",
            &(wp__sql_names){.schema = "a\\'", .outbox = "o", .schemas = true, .max_bytes = 12},
            "nextval(E'\"a\\\\''\".\"o_seq\"')");
}

/* proves: SDP-003 */
static void test_render__brackets__are_doubled_at_their_end(void **state)
{
    const wp__sql_names names = {
        .schema = "a]b[", .outbox = "Out'\\", .inbox = "in", .schemas = true, .quote = '['};
    (void)state;
    renders("{outbox_Claim} {name:outbox_PK} {GuidIdList}", &names,
            "[a]]b[].[Out'\\_Claim] [Out'\\_PK] [a]]b[].[GuidIdList]");
    renders("N{text:outbox}", &names, "N'[a]]b[].[Out''\\]'");
    renders("EXEC (N{body}MAKE {outbox} AS 'x'{end})", &names,
            "EXEC (N'MAKE [a]]b[].[Out''\\] AS ''x''')");
}

/* proves: SDP-003 */
static void test_render__name_over_the_engines_limit__is_refused(void **state)
{
    const wp__sql_names long_schema = {
        .schema = "thirteen_long", .outbox = "o", .inbox = "i", .schemas = true, .max_bytes = 12};
    char *text = NULL;
    (void)state;
    renders("{outbox_123456789}",
            &(wp__sql_names){
                .schema = "s", .outbox = "ob", .inbox = "i", .schemas = true, .max_bytes = 12},
            "\"s\".\"ob_123456789\"");
    WPT_FAILS(render(&text, "{outbox_123456789x}", &schemas, WPT_ERR), WP_E_CONFIG, "outbox_table");
    free(text);
    WPT_FAILS(render(&text, "{outbox}", &long_schema, WPT_ERR), WP_E_CONFIG, "store.schema");
    free(text);
}

/* proves: SDP-003 */
static void test_render__characters_that_the_engine_lacks__are_refused(void **state)
{
    const char *const last = "\xEF\xBF\xBD", *const beyond = "\xF0\x90\x80\x80";
    wp__sql_names names = {.outbox = "o", .inbox = "i", .quote = '`', .basic_plane = true};
    char *text = NULL;
    (void)state;
    names.schema = last;
    renders("{outbox}", &names, "`\xEF\xBF\xBD_o`");
    names.schema = beyond;
    WPT_FAILS(render(&text, "{outbox}", &names, WPT_ERR), WP_E_CONFIG, "beyond U+FFFF");
    free(text);
}

/* A set whose first statement is `text` and whose others are harmless. */
static wp_status set_with(wp__sql_set **out, const char *text, wp_error **err)
{
    static const char harmless[] = "-- x\nSELECT 1";
    static wp__sql_source sources[WP__SQL_COUNT]; /* the set refers to them */
    for (int i = 0; i < WP__SQL_COUNT; i++)
        sources[i] = (wp__sql_source){"x", (const unsigned char *)harmless, sizeof harmless - 1};
    sources[0] = (wp__sql_source){"first", (const unsigned char *)text, strlen(text)};
    return wp__sql_set_new(out, sources, &plain, err);
}

/* proves: SDP-003 */
static void test_set__home__is_named_in_statements_and_not_in_scripts(void **state)
{
    static const char text[] = "-- x\nSELECT {name:outbox}.id FROM {outbox}";
    const wp__sql_names names = {
        .schema = "infra", .outbox = "outbox", .inbox = "inbox", .home = "main"};
    wp__sql_source sources[WP__SQL_COUNT];
    wp__sql_set *set = NULL;
    (void)state;
    for (int i = 0; i < WP__SQL_COUNT; i++)
        sources[i] = (wp__sql_source){"x", (const unsigned char *)text, sizeof text - 1};
    WPT_OK(wp__sql_set_new(&set, sources, &names, WPT_ERR));
    assert_string_equal(wp__sql_get(set, 0, WP_PARAM_QMARK)->text,
                        "SELECT \"infra_outbox\".id FROM \"main\".\"infra_outbox\"");
    renders("{outbox}", &names, "\"infra_outbox\"");
    wp__sql_set_free(set);
}

static void test_set__each_style__parameters_as_it_says(void **state)
{
    static const struct {
        wp_paramstyle style;
        const char *text;
        size_t count;
    } cases[] = {
        {WP_PARAM_QMARK, "SELECT ?, ?, ? % 2 FROM \"infra_outbox\"", 3},
        {WP_PARAM_NAMED, "SELECT :id, :now, :id % 2 FROM \"infra_outbox\"", 2},
        {WP_PARAM_NUMERIC, "SELECT $1, $2, $1 % 2 FROM \"infra_outbox\"", 2},
        {WP_PARAM_FORMAT, "SELECT %s, %s, %s %% 2 FROM \"infra_outbox\"", 3},
        {WP_PARAM_PYFORMAT, "SELECT %(id)s, %(now)s, %(id)s %% 2 FROM \"infra_outbox\"", 2},
        {WP_PARAM_AT, "SELECT @id, @now, @id % 2 FROM \"infra_outbox\"", 2},
    };
    wp__sql_set *set = NULL;
    (void)state;
    WPT_OK(set_with(&set,
                    "-- first: {broken :nonsense\n-- and :more\n"
                    "SELECT :id, :now, :id % 2 FROM {outbox}\n\n",
                    WPT_ERR));
    for (size_t i = 0; i < WPT_COUNT(cases); i++) {
        const wp__sql_text *text;
        WPT_OK(wp__sql_set_style(set, cases[i].style, WPT_ERR));
        text = wp__sql_get(set, (wp__sql_id)0, cases[i].style);
        assert_string_equal(text->text, cases[i].text);
        assert_int_equal(text->param_count, cases[i].count);
        assert_int_equal(text->params[0], WP__P_ID);
        assert_int_equal(text->params[1], WP__P_NOW);
    }
    assert_string_equal(wp__sql_name(set, (wp__sql_id)0), "first");
    assert_string_equal(wp__param_name(WP__P_NOW), "now");
    wp__sql_set_free(set);
    wp__sql_set_free(NULL);
}

/* What an engine wants before a statement that must be in a transaction stands there, as it is, and nowhere else. */
static void test_set__guarded__is_behind_the_guard_in_each_style(void **state)
{
    static const char text[] = "-- x\nEXEC {outbox} @Id = :id, @Again = :id";
    const wp__sql_names names = {
        .schema = "infra", .outbox = "outbox", .inbox = "inbox", .guard = "IF {x} :now % ; "};
    wp__sql_source sources[WP__SQL_COUNT];
    wp__sql_set *set = NULL;
    (void)state;
    for (int i = 0; i < WP__SQL_COUNT; i++)
        sources[i] = (wp__sql_source){"x", (const unsigned char *)text, sizeof text - 1};
    WPT_OK(wp__sql_set_new(&set, sources, &names, WPT_ERR));
    WPT_OK(wp__sql_set_guarded(set, WP_PARAM_AT, WPT_ERR));
    WPT_OK(wp__sql_set_guarded(set, WP_PARAM_AT, WPT_ERR));
    WPT_OK(wp__sql_set_guarded(set, WP_PARAM_QMARK, WPT_ERR));
    assert_string_equal(wp__sql_get_guarded(set, 0, WP_PARAM_AT)->text,
                        "IF {x} :now % ; EXEC \"infra_outbox\" @Id = @id, @Again = @id");
    assert_int_equal(wp__sql_get_guarded(set, 0, WP_PARAM_AT)->param_count, 1);
    assert_string_equal(wp__sql_get_guarded(set, 0, WP_PARAM_QMARK)->text,
                        "IF {x} :now % ; EXEC \"infra_outbox\" @Id = ?, @Again = ?");
    assert_string_equal(wp__sql_get(set, 0, WP_PARAM_QMARK)->text,
                        "EXEC \"infra_outbox\" @Id = ?, @Again = ?");
    wp__sql_set_free(set);
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
    return wp__sql_get(wp__store_sql(d->store), id, style)->text;
}

/* Every statement that the engine has prepares, and takes the parameters that it says. */
static void test_statements__each__fit_the_schema(void **state)
{
    static const wp_paramstyle styles[] = {WP_PARAM_QMARK, WP_PARAM_NAMED, WP_PARAM_AT};
    const deployed *d = *state;
    wp__sql_set *set = wp__store_sql(d->store);
    int known = 0;
    WPT_OK(wp__sql_set_style(set, WP_PARAM_AT, WPT_ERR));
    for (int id = 0; id < WP__SQL_COUNT; id++) {
        for (size_t i = 0; i < WPT_COUNT(styles); i++) {
            const wp__sql_text *text = wp__sql_get(set, (wp__sql_id)id, styles[i]);
            sqlite3_stmt *statement = NULL;
            const char *tail = NULL;
            if (!text->text)
                continue;
            known++;
            if (sqlite3_prepare_v2(d->db, text->text, -1, &statement, &tail) != SQLITE_OK)
                fail_msg("%s: %s", wp__sql_name(set, (wp__sql_id)id), sqlite3_errmsg(d->db));
            assert_string_equal(tail, ""); /* one statement, all of it */
            assert_int_equal(sqlite3_bind_parameter_count(statement), text->param_count);
            for (size_t p = 0; styles[i] != WP_PARAM_QMARK && p < text->param_count; p++)
                assert_string_equal(sqlite3_bind_parameter_name(statement, (int)p + 1) + 1,
                                    wp__param_name((wp__param)text->params[p]));
            sqlite3_finalize(statement);
        }
    }
    assert_true(known > 60);
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

/* Cleaning looks at every lease, every ten minutes: an index would cost each renewal. A move between stores counts
 * before it begins and when it ends. */
static bool counts_on_purpose(wp__sql_id id)
{
    if (id == WP__SQL_LEASE_CLEAN || id == WP__SQL_SEMAPHORE_CLEAN)
        return true;
    for (size_t first = 0; first < (size_t)WP__QUEUES * WP__QUEUE_SQL_COUNT;
         first += WP__QUEUE_SQL_COUNT)
        if (id == (wp__sql_id)(first + WP__QUEUE_STATS) ||
            id == (wp__sql_id)(first + WP__QUEUE_STATS_FINISHED) ||
            id == (wp__sql_id)(first + WP__QUEUE_COPY_COUNT))
            return true;
    return id == WP__SQL_MIGRATION_LIST || id == WP__SQL_COPY_JOBS || id == WP__SQL_COPY_JOINED ||
           id == WP__SQL_COPY_JOB_LIST; /* a job or two */
}

/* The plans of all statements, counting those steps that walk through one of our tables. */
static int scans(const deployed *d, bool only_counting)
{
    int found = 0;
    for (int id = 0; id < WP__SQL_COUNT; id++) {
        const char *sql = text_of(d, (wp__sql_id)id, WP_PARAM_NAMED)
                              ? text_of(d, (wp__sql_id)id, WP_PARAM_NAMED)
                              : "SELECT 1"; /* another engine has it */
        char *explain = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
        sqlite3_stmt *statement = NULL;
        assert_int_equal(sqlite3_prepare_v2(d->db, explain, -1, &statement, NULL), SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            const char *detail = (const char *)sqlite3_column_text(statement, 3);
            if (!scans_our_table(detail, sql) || counts_on_purpose((wp__sql_id)id) != only_counting)
                continue;
            found++;
            if (!only_counting)
                print_error("%s: %s\n", wp__sql_name(wp__store_sql(d->store), (wp__sql_id)id),
                            detail);
        }
        sqlite3_finalize(statement);
        sqlite3_free(explain);
    }
    return found;
}

/* proves: IBX-122, IBX-125, OBX-100 */
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
        cmocka_unit_test(test_render__engine_with_schemas__names_are_qualified),
        cmocka_unit_test(test_render__brackets__are_doubled_at_their_end),
        cmocka_unit_test(test_render__name_over_the_engines_limit__is_refused),
        cmocka_unit_test(test_render__characters_that_the_engine_lacks__are_refused),
        cmocka_unit_test(test_set__home__is_named_in_statements_and_not_in_scripts),
        cmocka_unit_test(test_set__each_style__parameters_as_it_says),
        cmocka_unit_test(test_set__guarded__is_behind_the_guard_in_each_style),
        cmocka_unit_test(test_set__unknown_placeholders__are_refused_by_name),
        cmocka_unit_test(test_set__too_many_parameters__are_refused),
        DEPLOYED(test_statements__each__fit_the_schema),
        DEPLOYED(test_statements__hot_ones__scan_no_table),
        DEPLOYED(test_statements__after_analyze__scan_no_table),
        DEPLOYED(test_view__messages__with_their_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
