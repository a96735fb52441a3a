/* SPDX-License-Identifier: Apache-2.0 */
/* Connection strings of ODBC, and the kinds of servers behind them. */
#include "support/wpt.h"

#include "db/odbc_kind.h"
#include "db/sqlstate.h"

static void finds(const char *string, const char *key, const char *want)
{
    const char *value = NULL;
    size_t len = 0;
    assert_true(wp__odbc_string_find(&value, &len, string, key));
    assert_int_equal(len, strlen(want));
    assert_memory_equal(value, want, len);
}

static void lacks(const char *string, const char *key)
{
    const char *value = NULL;
    size_t len = 0;
    assert_false(wp__odbc_string_find(&value, &len, string, key));
}

static void test_string_find__keys__in_any_case_and_with_blanks(void **state)
{
    (void)state;
    finds("Driver=a b;Pwd=x", "driver", "a b");
    finds(" ; PWD = x ;", "pwd", "x");
    finds("pwd=", "pwd", "");
    finds("pwd", "pwd", "");
    finds("a=1;b=2;a=3", "a", "1");
    lacks("Driver=a;Pwd=x", "pw");
    lacks("Driver=a;Pwd=x", "pwd2");
    lacks("", "pwd");
}

static void test_string_find__braces__hide_what_is_in_them(void **state)
{
    (void)state;
    finds("a={x;pwd=1};b=2", "a", "x;pwd=1");
    finds("a={x;pwd=1};b=2", "b", "2");
    lacks("a={x;pwd=1};b=2", "pwd");
    finds("pwd={a}}b};c=1", "pwd", "a}}b");
    finds("pwd={a}}b};c=1", "c", "1");
    finds("pwd={never closed;c=1", "pwd", "never closed;c=1");
}

static char *complete(const char *string)
{
    wp__buf out = {0};
    wp__odbc_string_complete(&out, string, wp__odbc_kind_find("PostgreSQL", "psqlodbcw.so"), 5000);
    return wp__buf_take(&out);
}

static void test_string_complete__psqlodbc__what_is_missing_and_no_more(void **state)
{
    char *all = complete("Driver=x");
    char *own = complete("Driver=x;PROTOCOL=7.4-2;pqopt={options=-cfoo=1}");
    (void)state;
    assert_memory_equal(all, "Driver=x;", strlen("Driver=x;"));
    finds(all, "Protocol", "7.4-0");
    finds(all, "UseServerSidePrepare", "1");
    finds(all, "UseDeclareFetch", "0");
    finds(all, "ConnSettings", "SET client_encoding TO 'UTF8'");
    finds(all, "pqopt", "fallback_application_name=waypost tcp_user_timeout=5000");
    finds(own, "Protocol", "7.4-2");
    assert_null(strstr(own, "7.4-0"));
    finds(own, "pqopt", "options=-cfoo=1");
    assert_null(strstr(own, "tcp_user_timeout"));
    free(all);
    free(own);
}

static void test_string_betrayed__passwords__whole_and_in_parts(void **state)
{
    (void)state;
    assert_true(wp__odbc_string_betrayed("Uid=u;Pwd=s3cret", "bad \"s3cret\""));
    assert_true(wp__odbc_string_betrayed("PASSWORD={a}", "a"));
    assert_true(
        wp__odbc_string_betrayed("pqopt={password=my secret}", "missing = after \"secret\""));
    assert_false(wp__odbc_string_betrayed("Uid=u;Pwd=s3cret", "no user \"u\""));
    assert_false(wp__odbc_string_betrayed("Uid=u;Pwd=", "no user \"u\""));
    assert_false(wp__odbc_string_betrayed("Uid=u", "anything"));
}

static void test_kind_find__names__known_ones_only(void **state)
{
    (void)state;
    assert_ptr_equal(wp__odbc_kind_find("PostgreSQL", "PSQLODBC35W.DLL")->engine,
                     &wp__engine_postgresql);
    assert_null(wp__odbc_kind_find("PostgreSQL", "other.so"));
    assert_null(wp__odbc_kind_find("SQLite", "libsqlite3odbc.so"));
}

static void test_kind_takes__versions__as_new_as_needed(void **state)
{
    static const struct {
        const char *dbms, *driver, *version;
        bool taken;
    } cases[] = {
        {"MariaDB", "libmaodbc.so", "10.06.000000", true},
        {"MariaDB", "libmaodbc.so", "10.6.0", true},
        {"MariaDB", "libmaodbc.so", "10.11.000019", true},
        {"MariaDB", "libmaodbc.so", "11.00.000000", true},
        {"MariaDB", "libmaodbc.so", "10.05.000028", false},
        {"MariaDB", "libmaodbc.so", "10", false},
        {"MariaDB", "libmaodbc.so", "05.05.000068", false},
        {"MariaDB", "libmaodbc.so", "", false},
        {"PostgreSQL", "psqlodbcw.so", "12.0.0", true},
        {"PostgreSQL", "psqlodbcw.so", "12", true},
        {"PostgreSQL", "psqlodbcw.so", "11.9.9", false},
    };
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(cases); i++)
        assert_int_equal(wp__odbc_kind_takes(wp__odbc_kind_find(cases[i].dbms, cases[i].driver),
                                             cases[i].version),
                         cases[i].taken);
}

static void test_sqlstate__classes__tell_what_to_do(void **state)
{
    (void)state;
    assert_true(wp__sqlstate_is_passing("40001"));
    assert_true(wp__sqlstate_is_passing("HYT00"));
    assert_true(wp__sqlstate_is_passing("26000"));
    assert_false(wp__sqlstate_is_passing("23505"));
    assert_true(wp__sqlstate_ends_connection("08S01"));
    assert_true(wp__sqlstate_ends_connection("57P01"));
    assert_false(wp__sqlstate_ends_connection("57014"));
    assert_int_equal(wp__sqlstate_status("42P01"), WP_E_SCHEMA);
    assert_int_equal(wp__sqlstate_status("08006"), WP_E_UNAVAILABLE);
    assert_int_equal(wp__sqlstate_status("23505"), WP_E_DB);
}

static void test_sqlstate__read_only__passes_unless_it_is_the_apps_transaction(void **state)
{
    wp_error *err = NULL;
    (void)state;
    assert_int_equal(wp__sqlstate_fail("25006", 0, false, "enqueue", "no", &err), WP_E_UNAVAILABLE);
    assert_int_equal(wp_error_retriable(err), 1);
    wp_error_free(err);
    err = NULL;
    assert_int_equal(wp__sqlstate_fail("25006", 0, true, "enqueue", "no", &err), WP_E_STATE);
    assert_int_equal(wp_error_retriable(err), 0);
    assert_string_equal(wp_error_sqlstate(err), "25006");
    assert_non_null(strstr(wp_error_message(err), "may only read"));
    wp_error_free(err);
}

static void test_kind__sql_server__by_both_drivers(void **state)
{
    static const char *const drivers[] = {"libmsodbcsql-18.3.so.2.1", "libtdsodbc.so"};
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(drivers); i++) {
        const wp__odbc_kind *kind = wp__odbc_kind_find("Microsoft SQL Server", drivers[i]);
        wp__buf out = {0};
        char *all;
        assert_non_null(kind);
        assert_string_equal(kind->engine->name, "sqlserver");
        assert_true(kind->wide && kind->direct);
        assert_true(wp__odbc_kind_takes(kind, "13.00.1601"));
        assert_true(wp__odbc_kind_takes(kind, "16.00.4105"));
        assert_false(wp__odbc_kind_takes(kind, "12.00.6024"));
        assert_string_equal(wp__odbc_kind_sqlstate(kind, "42000", 1205), "40001"); /* deadlock */
        assert_string_equal(wp__odbc_kind_sqlstate(kind, "42000", 1222), "55P03");
        assert_string_equal(wp__odbc_kind_sqlstate(kind, "HY000", 3960), "40001");
        assert_string_equal(wp__odbc_kind_sqlstate(kind, "42000", 102), "42000");
        assert_string_equal(wp__odbc_kind_sqlstate(kind, "23000", 547), "23514");   /* CHECK */
        assert_string_equal(wp__odbc_kind_sqlstate(kind, "42000", 50000), "45000"); /* a trigger */
        wp__odbc_string_complete(&out, "Server=s;Pwd={a;b}", kind, 5000);
        all = wp__buf_take(&out);
        finds(all, "Pwd", "a;b");
        finds(all, "APP", "waypost");
        free(all);
    }
    assert_null(wp__odbc_kind_find("Microsoft SQL Server", "psqlodbcw.so"));
}

static void test_kind_guess__by_the_name_of_the_driver(void **state)
{
    const wp__odbc_kind *maria = wp__odbc_kind_find("MariaDB", "libmaodbc.so");
    (void)state;
    assert_ptr_equal(wp__odbc_kind_guess("driver={MariaDB Unicode};Server=s"), maria);
    assert_ptr_equal(wp__odbc_kind_guess("Server=s;Driver=/usr/lib/odbc/libmaodbc.so"), maria);
    assert_null(wp__odbc_kind_guess("Driver=FreeTDS;Server=mariadb"));
    assert_null(wp__odbc_kind_guess("DSN=maria"));
    assert_null(wp__odbc_kind_guess("Driver=mari"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kind__sql_server__by_both_drivers),
        cmocka_unit_test(test_string_find__keys__in_any_case_and_with_blanks),
        cmocka_unit_test(test_string_find__braces__hide_what_is_in_them),
        cmocka_unit_test(test_string_complete__psqlodbc__what_is_missing_and_no_more),
        cmocka_unit_test(test_kind_guess__by_the_name_of_the_driver),
        cmocka_unit_test(test_string_betrayed__passwords__whole_and_in_parts),
        cmocka_unit_test(test_kind_find__names__known_ones_only),
        cmocka_unit_test(test_kind_takes__versions__as_new_as_needed),
        cmocka_unit_test(test_sqlstate__classes__tell_what_to_do),
        cmocka_unit_test(test_sqlstate__read_only__passes_unless_it_is_the_apps_transaction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
