/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config_values.h"
#include "base/error.h"

static int setup(void **state)
{
    wp_config *config = NULL;
    assert_int_equal(wp_config_new(&config, NULL), WP_OK);
    *state = config;
    return 0;
}

static int teardown(void **state)
{
    wp_config_free(*state);
    return 0;
}

static void assert_value(const wp_config *config, const char *key, const char *want)
{
    char *value = NULL;
    assert_int_equal(wp_config_get(&value, config, key, NULL), WP_OK);
    assert_string_equal(value, want);
    wp_text_free(value);
}

static void assert_refused(wp_config *config, const char *key, const char *value,
                           const char *message)
{
    wp_error *err = NULL;
    assert_int_equal(wp_config_set(config, key, value, &err), WP_E_CONFIG);
    assert_int_equal(wp_error_code(err), WP_E_CONFIG);
    assert_string_equal(wp_error_message(err), message);
    wp_error_free(err);
}

static void assert_json(wp_config *config, const char *json, const char *message)
{
    wp_error *err = NULL;
    const wp_status want = message ? WP_E_CONFIG : WP_OK;
    assert_int_equal(wp_config_load_json(config, json, &err), want);
    if (message)
        assert_non_null(strstr(wp_error_message(err), message));
    wp_error_free(err);
}

static void test_config_new__untouched__holds_the_defaults(void **state)
{
    static const char *const want[][2] = {
        {"store.url", ""},
        {"store.id", "default"},
        {"store.schema", "infra"},
        {"store.outbox_table", "outbox"},
        {"store.deploy", "false"},
        {"store.pool_size", "4"},
        {"store.busy_timeout_ms", "10000"},
        {"store.sqlite_synchronous", "full"},
        {"log.level", "warning"},
        {"worker.name", ""},
        {"worker.concurrency", "16"},
        {"worker.batch_size", "500"},
        {"worker.lease_ms", "30000"},
        {"worker.timeout_ms", "0"},
        {"worker.max_attempts", "10"},
        {"worker.backoff_base_ms", "1000"},
        {"worker.backoff_max_ms", "60000"},
        {"worker.poll_min_ms", "250"},
        {"worker.poll_max_ms", "0"},
        {"worker.backoff_jitter", "0.2"},
        {"worker.all_topics", "false"},
        {"worker.flush_ms", "2"},
        {"worker.reap_ms", "1000"},
        {"worker.wakeups", "true"},
    };
    const wp_config *config = *state;
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
        assert_value(config, want[i][0], want[i][1]);
    assert_int_equal(config->worker.lease_ms, 30000);
    assert_int_equal(config->log_level, WP_LOG_WARNING);
    assert_true(config->wakeups);
    assert_null(config->clock);
    assert_null(config->log_sink);
}

/* proves: IBX-094, OBX-076 */
static void test_discovery_interval__by_default__is_five_minutes(void **state)
{
    assert_value(*state, "worker.discovery_interval_ms", "300000");
}

static void test_config_set__values_of_each_type__are_stored(void **state)
{
    static const char *const cases[][3] = {
        {"store.url", "sqlite:app.db", "sqlite:app.db"},
        {"store.url", "", ""},
        {"store.id", "caf\xC3\xA9", "caf\xC3\xA9"},
        {"store.schema", "a b\"'", "a b\"'"},
        {"store.deploy", "YES", "true"},
        {"store.deploy", "Off", "false"},
        {"store.deploy", "1", "true"},
        {"store.pool_size", "64", "64"},
        {"store.pool_size", "0001", "1"},
        {"store.sqlite_synchronous", "NORMAL", "normal"},
        {"log.level", "off", "off"},
        {"worker.poll_max_ms", "0", "0"},
        {"worker.backoff_jitter", "0", "0"},
        {"worker.backoff_jitter", "1.0", "1"},
        {"worker.backoff_jitter", "2.5e-1", "0.25"},
    };
    wp_config *config = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(wp_config_set(config, cases[i][0], cases[i][1], NULL), WP_OK);
        assert_value(config, cases[i][0], cases[i][2]);
    }
    assert_int_equal(config->log_level, WP__LOG_OFF);
}

static void test_config_set__bad_integer__names_key_and_range(void **state)
{
    static const char *const bad[] = {
        "",
        " 100",
        "100 ",
        "+100",
        "-100",
        "1e3",
        "100.0",
        "0x64",
        "99",
        "86400001",
        "--5",
        "-",
        "9223372036854775808",
        "18446744073709551716",
        "-9223372036854775809",
    };
    wp_config *config = *state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_refused(config, "worker.lease_ms", bad[i],
                       "worker.lease_ms must be a whole number from 100 to 86400000");
    assert_value(config, "worker.lease_ms", "30000");
}

static void test_config_set__other_bad_values__say_what_is_allowed(void **state)
{
    wp_config *config = *state;
    char longer[300];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_refused(config, "store.deploy", "maybe", "store.deploy must be true or false");
    assert_refused(config, "store.deploy", "", "store.deploy must be true or false");
    assert_refused(config, "store.sqlite_synchronous", "off",
                   "store.sqlite_synchronous must be normal or full");
    assert_refused(config, "log.level", "loud",
                   "log.level must be debug, info, warning, error or off");
    assert_refused(config, "store.id", "", "store.id must be text of 1 to 255 UTF-16 units");
    assert_refused(config, "store.id", longer, "store.id must be text of 1 to 255 UTF-16 units");
    assert_refused(config, "worker.name", "\xFF",
                   "worker.name must be text of at most 255 UTF-16 units");
    for (size_t i = 0; i < 6; i++) {
        static const char *const bad[] = {"1.1", "-0.1", "0,5", "nan", " 0.5", "0.5x"};
        assert_refused(config, "worker.backoff_jitter", bad[i],
                       "worker.backoff_jitter must be a number from 0 to 1");
    }
    assert_refused(config, "worker.nothing", "1", "worker.nothing is not a configuration key");
    assert_refused(config, "Worker.name", "1",
                   "Worker.name is not a configuration key: did you mean worker.name?");
    assert_refused(config, "", "1", " is not a configuration key");
}

static void test_config_set__unknown_key__says_what_was_meant(void **state)
{
    static const char *const cases[][2] = {
        {"store.lease_ms", "worker.lease_ms"},
        {"lease", "worker.lease_ms"},
        {"store.backoff_base", "worker.backoff_base_ms"},
        {"worker.concurency", "worker.concurrency"},
        {"store.timeout", "worker.timeout_ms"},
        {"store.busy_timeout", "store.busy_timeout_ms"},
        {"store.level", "log.level"},
        {"lease.ms", "worker.lease_ms"},
        {"WORKER_POLL_MAX", "worker.poll_max_ms"},
        {"inbox_keep", "inbox.keep_ms"},
        {"inbox.kepp_ms", "inbox.keep_ms"},
        {"job.keep", "job.keep_ms"},
        {"lease.keep", "lease.keep_ms"},
    };
    char message[200];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)snprintf(message, sizeof message, "%s is not a configuration key: did you mean %s?",
                       cases[i][0], cases[i][1]);
        assert_refused(*state, cases[i][0], "1", message);
    }
}

static void test_config_set__names__are_checked_for_sql(void **state)
{
    static const char *const reserved[] = {"sqlite_", "SQLite_x", "sqlite", "SQLITE"};
    static const char digits_64[] = "0123456789012345678901234567890123456789"
                                    "012345678901234567890123";
    static const char *const bad[] = {"", "a\n", "a\x7F", "a\xC2\x80", "a\xFF", digits_64};
    wp_config *config = *state;
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        assert_refused(config, "store.schema", reserved[i],
                       "store.schema must not be or start with \"sqlite_\"");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_refused(config, "store.schema", bad[i],
                       "store.schema must be 1 to 63 bytes of UTF-8 without control characters");
        assert_refused(
            config, "store.outbox_table", bad[i],
            "store.outbox_table must be 1 to 63 bytes of UTF-8 without control characters");
    }
    assert_int_equal(wp_config_set(config, "store.schema", "sqlite3", NULL), WP_OK);
    assert_int_equal(wp_config_set(config, "store.outbox_table", "sqlite_o", NULL), WP_OK);
    assert_int_equal(wp_config_set(config, "store.schema", digits_64 + 1, NULL), WP_OK);
}

static void test_config__null_arguments__are_refused(void **state)
{
    wp_config *config = *state;
    wp_error *err = NULL;
    char *text = NULL;
    assert_int_equal(wp_config_new(NULL, &err), WP_E_ARGUMENT);
    assert_int_equal(wp_config_set(NULL, "log.level", "off", &err), WP_E_ARGUMENT);
    assert_int_equal(wp_config_set(config, NULL, "off", &err), WP_E_ARGUMENT);
    assert_int_equal(wp_config_set(config, "log.level", NULL, &err), WP_E_ARGUMENT);
    assert_string_equal(wp_error_message(err), "value is null");
    assert_int_equal(wp_config_get(NULL, config, "log.level", &err), WP_E_ARGUMENT);
    assert_int_equal(wp_config_get(&text, NULL, "log.level", &err), WP_E_ARGUMENT);
    assert_int_equal(wp_config_get(&text, config, "log", &err), WP_E_CONFIG);
    assert_int_equal(wp_config_load_json(config, NULL, &err), WP_E_ARGUMENT);
    assert_int_equal(wp_config_load_env(NULL, &err), WP_E_ARGUMENT);
    assert_int_equal(wp_config_describe(NULL, &err), WP_E_ARGUMENT);
    assert_int_equal(wp_config_set_clock(NULL, NULL, &err), WP_E_ARGUMENT);
    assert_null(text);
    wp_error_free(err);
    wp_config_free(NULL);
}

static void test_config_get__locale_with_a_comma__writes_a_point(void **state)
{
    wp_config *config = *state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        (void)setlocale(LC_NUMERIC, "C"); /* not installed: still a test of the rest */
    assert_int_equal(wp_config_set(config, "worker.backoff_jitter", "0.75", NULL), WP_OK);
    assert_value(config, "worker.backoff_jitter", "0.75");
    (void)setlocale(LC_NUMERIC, "C");
}

static void test_config_load_json__flat_and_nested__sets_all(void **state)
{
    wp_config *config = *state;
    assert_json(config,
                "{\"store\": {\"url\": \"sqlite:a.db\", \"deploy\": true}, \"store.pool_size\": 8,"
                " \"worker\": {\"backoff_jitter\": 0.5, \"lease_ms\": \"500\", \"wakeups\": 0},"
                " \"log\": {}}",
                NULL);
    assert_value(config, "store.url", "sqlite:a.db");
    assert_value(config, "store.deploy", "true");
    assert_value(config, "store.pool_size", "8");
    assert_value(config, "worker.backoff_jitter", "0.5");
    assert_value(config, "worker.lease_ms", "500");
    assert_value(config, "worker.wakeups", "false");
    assert_json(config, "{}", NULL);
}

static void test_config_load_json__anything_wrong__names_it_and_changes_nothing(void **state)
{
    static const char *const cases[][2] = {
        {"", "not a JSON object"},
        {"[]", "not a JSON object"},
        {"{\"store.id\": \"secret\", }", "line 1"},
        {"{\"store.id\": \"x\"} y", "line 1"},
        {"{\"store.id\": \"a\\u0000b\"}", "line 1"},
        {"{\"store.id\": \"\xFF\"}", "line"},
        {"{\"store.pool_size\": 9, \"store.nothing\": 1}", "store.nothing is not"},
        {"{\"store.pool_size\": 9, \"store\": {\"pool_size\": 9}}",
         "store.pool_size is given twice"},
        {"{\"store.pool_size\": 9, \"store.pool_size\": 9}", "store.pool_size"},
        {"{\"store\": {\"pool_size\": [9]}}", "store.pool_size must be a text"},
        {"{\"store.id\": null}", "store.id must be a text"},
        {"{\"store\": 5}", "store is not"},
        {"{\"store\": {\"id\": {\"x\": 1}}}", "store.id. is not"},
        {"{\"nothing\": {}}", "nothing. is not"},
        {"{\"\": {\"\": {}}}", ". is not"},
        {"{\"store.pool_size\": 4.0}", "store.pool_size must be a whole number"},
        {"{\"store.pool_size\": 1000}", "store.pool_size must be a whole number"},
        {"{\"store.pool_size\": 99999999999999999999}", "line 1"},
        {"{\"worker.backoff_jitter\": 1.5}", "worker.backoff_jitter must be a number"},
    };
    wp_config *config = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_json(config, cases[i][0], cases[i][1]);
        assert_value(config, "store.pool_size", "4");
        assert_value(config, "store.id", "default");
    }
}

static void test_config_load_json__syntax_error__does_not_quote_values(void **state)
{
    wp_error *err = NULL;
    assert_int_equal(wp_config_load_json(*state, "{\"store.url\": \"hunter2\" 5}", &err),
                     WP_E_CONFIG);
    assert_null(strstr(wp_error_message(err), "hunter2"));
    wp_error_free(err);
}

static void test_config_load_env__known_variables__set_all(void **state)
{
    wp_config *config = *state;
    assert_int_equal(setenv("WAYPOST_WORKER_LEASE_MS", "500", 1), 0);
    assert_int_equal(setenv("WAYPOST_STORE_SQLITE_SYNCHRONOUS", "normal", 1), 0);
    assert_int_equal(setenv("WAYPOST_TEST_ANYTHING", "x", 1), 0);
    assert_int_equal(setenv("WAYPOSTER", "x", 1), 0);
    assert_int_equal(wp_config_load_env(config, NULL), WP_OK);
    assert_value(config, "worker.lease_ms", "500");
    assert_value(config, "store.sqlite_synchronous", "normal");
}

static void test_config_load_env__anything_wrong__names_it_and_changes_nothing(void **state)
{
    static const char *const cases[][3] = {
        {"WAYPOST_WORKER_NOTHING", "1", "WAYPOST_WORKER_NOTHING is not a configuration variable"},
        {"WAYPOST_worker_name", "1",
         "WAYPOST_worker_name is not a configuration variable: did you mean WAYPOST_WORKER_NAME?"},
        {"WAYPOST_LEASE_MS", "1",
         "WAYPOST_LEASE_MS is not a configuration variable: did you mean WAYPOST_WORKER_LEASE_MS?"},
        {"WAYPOST_WORKER_CONCURENCY", "1",
         "WAYPOST_WORKER_CONCURENCY is not a configuration variable: did you mean "
         "WAYPOST_WORKER_CONCURRENCY?"},
        {"WAYPOST_", "1", "WAYPOST_ is not a configuration variable"},
        {"WAYPOST_STORE_POOL_SIZE", "x",
         "WAYPOST_STORE_POOL_SIZE: store.pool_size must be a whole number from 1 to 64"},
    };
    wp_config *config = *state;
    wp_error *err = NULL;
    assert_int_equal(setenv("WAYPOST_WORKER_LEASE_MS", "500", 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(setenv(cases[i][0], cases[i][1], 1), 0);
        assert_int_equal(wp_config_load_env(config, &err), WP_E_CONFIG);
        assert_string_equal(wp_error_message(err), cases[i][2]);
        assert_value(config, "worker.lease_ms", "30000");
        assert_int_equal(unsetenv(cases[i][0]), 0);
    }
    wp_error_free(err);
}

static int clean_env(void **state)
{
    (void)unsetenv("WAYPOST_WORKER_LEASE_MS");
    (void)unsetenv("WAYPOST_STORE_SQLITE_SYNCHRONOUS");
    (void)unsetenv("WAYPOST_Queue__BatchSize");
    (void)unsetenv("WAYPOST_RETRYPOLICY__MAXATTEMPTS");
    (void)unsetenv("WAYPOST_WORKER_BATCH_SIZE");
    return teardown(state);
}

static void test_config_describe__always__documents_every_key(void **state)
{
    char *text = NULL;
    (void)state;
    assert_int_equal(wp_config_describe(&text, NULL), WP_OK);
    assert_memory_equal(text, "# Configuration\n", 16);
    assert_non_null(strstr(text, "\n## store\n"));
    assert_non_null(strstr(text, "\n## worker\n"));
    assert_non_null(strstr(text, "| `worker.lease_ms` | a whole number from 100 to 86400000 | "
                                 "`30000` | yes | "));
    assert_non_null(strstr(text, "| `worker.wakeups` | true or false | `true` | no | "));
    assert_non_null(strstr(text, "| `store.url` | text of at most 4096 UTF-16 units | empty | "));
    assert_int_equal(text[strlen(text) - 1], '\n');
    wp_text_free(text);
}

static void test_config_copy__then_changed__leaves_the_first_alone(void **state)
{
    wp_config *config = *state, *copy = NULL;
    wp_clock *clock = NULL;
    assert_int_equal(wp_clock_new_manual(&clock, 1, NULL), WP_OK);
    assert_int_equal(wp_config_set_clock(config, clock, NULL), WP_OK);
    assert_int_equal(wp_config_set(config, "store.id", "one", NULL), WP_OK);
    assert_int_equal(wp_config_copy(&copy, config, NULL), WP_OK);
    assert_int_equal(wp_config_set(config, "store.id", "two", NULL), WP_OK);
    assert_value(copy, "store.id", "one");
    assert_int_equal(wp_config_set(copy, "worker.lease_ms", "500", NULL), WP_OK);
    assert_value(config, "worker.lease_ms", "30000");
    assert_ptr_equal(copy->clock, config->clock);
    wp_config_free(copy);
    wp_clock_free(clock);
    assert_int_equal(wp__config_copy(&copy, NULL, NULL), WP_OK);
    assert_value(copy, "store.id", "default");
    wp_config_free(copy);
}

static void test_worker_options_set__topic_keys__change_that_topic_alone(void **state)
{
    wp_config *config = *state;
    wp__worker_options topic = config->worker;
    wp_error *err = NULL;
    assert_int_equal(wp__worker_options_set(&topic, "lease_ms", "500", NULL), WP_OK);
    assert_int_equal(wp__worker_options_set(&topic, "poll_max_ms", "600", NULL), WP_OK);
    assert_int_equal(topic.lease_ms, 500);
    assert_int_equal(topic.poll_max_ms, 600);
    assert_int_equal(config->worker.lease_ms, 30000);
    assert_int_equal(wp__worker_options_set(&topic, "lease_ms", "1", &err), WP_E_CONFIG);
    assert_int_equal(wp__worker_options_set(&topic, "wakeups", "1", &err), WP_E_CONFIG);
    assert_string_equal(wp_error_message(err), "wakeups is not an option of a topic");
    assert_int_equal(wp__worker_options_set(&topic, "lease", "500", &err), WP_E_CONFIG);
    assert_string_equal(wp_error_message(err),
                        "lease is not an option of a topic: did you mean lease_ms?");
    assert_int_equal(wp__worker_options_set(&topic, "worker.lease_ms", "500", &err), WP_E_CONFIG);
    wp_error_free(err);
}

static void ignore(void *user, wp_log_level level, const char *message, const char *fields)
{
    (void)user;
    (void)level;
    (void)message;
    (void)fields;
}

static void count(void *user)
{
    ++*(int *)user;
}

static void test_config_set_log__any_end__destroys_once(void **state)
{
    wp_config *config = *state, *copy = NULL;
    int failed = 0, first = 0, second = 0, none = 0;
    assert_int_equal(wp_config_set_log(NULL, ignore, &failed, count, NULL), WP_E_ARGUMENT);
    assert_int_equal(failed, 1);
    assert_int_equal(wp_config_set_log(config, ignore, &first, count, NULL), WP_OK);
    assert_int_equal(wp__config_copy(&copy, config, NULL), WP_OK);
    assert_int_equal(wp_config_set_log(config, ignore, &second, count, NULL), WP_OK);
    assert_int_equal(first, 0);
    wp_config_free(copy);
    assert_int_equal(first, 1);
    assert_int_equal(wp_config_load_json(config, "{\"store.id\": \"x\"}", NULL), WP_OK);
    assert_int_equal(second, 0);
    assert_int_equal(wp_config_set_log(config, NULL, &none, count, NULL), WP_OK);
    assert_int_equal(second, 1);
    assert_int_equal(none, 1);
    assert_null(config->log_sink);
}

static void test_config_set_clock__callers_reference_gone__keeps_its_own(void **state)
{
    wp_config *config = *state;
    wp_clock *clock = NULL;
    assert_int_equal(wp_clock_new_manual(&clock, 5, NULL), WP_OK);
    assert_int_equal(wp_config_set_clock(config, clock, NULL), WP_OK);
    assert_int_equal(wp_config_set_clock(config, clock, NULL), WP_OK);
    wp_clock_free(clock);
    assert_int_equal(wp_clock_utc_us(config->clock), 5);
    assert_int_equal(wp_config_set_clock(config, NULL, NULL), WP_OK);
    assert_null(config->clock);
}

/* proves: CFG-001 */
static void test_config_aliases__by_json_variable_and_call__are_the_options(void **state)
{
    wp_config *config = *state;
    assert_int_equal(
        wp_config_load_json(
            config,
            "{\"Sql\": {\"ConnectionString\": \"sqlite:a\"},"
            "\"Queue\": {\"BatchSize\": 7, \"VisibilityTimeoutSeconds\": 45},"
            "\"RetryPolicy:MaxAttempts\": 3, \"RetryPolicy\": {\"BaseDelayMs\": 11,"
            "\"maxdelayms\": \"12\"}, \"Metrics\": {\"Port\": 9090}, \"Health:Port\": 9091,"
            "\"Scaling\": {\"MinInstances\": 2, \"MaxInstances\": 5, \"TargetLatencyMs\": 900,"
            "\"ScaleUpThreshold\": 1.5, \"ScaleDownThreshold\": 0.25}}",
            NULL),
        WP_OK);
    assert_value(config, "store.url", "sqlite:a");
    assert_value(config, "worker.batch_size", "7");
    assert_value(config, "worker.lease_ms", "45000");
    assert_value(config, "worker.max_attempts", "3");
    assert_value(config, "worker.backoff_base_ms", "11");
    assert_value(config, "worker.backoff_max_ms", "12");
    assert_value(config, "metrics.port", "9090");
    assert_value(config, "health.port", "9091");
    assert_value(config, "scaling.min_instances", "2");
    assert_value(config, "scaling.max_instances", "5");
    assert_value(config, "scaling.target_latency_ms", "900");
    assert_value(config, "scaling.scale_up_threshold", "1.5");
    assert_value(config, "scaling.scale_down_threshold", "0.25");
    assert_int_equal(setenv("WAYPOST_Queue__BatchSize", "8", 1), 0);
    assert_int_equal(setenv("WAYPOST_RETRYPOLICY__MAXATTEMPTS", "4", 1), 0);
    assert_int_equal(wp_config_load_env(config, NULL), WP_OK);
    assert_value(config, "worker.batch_size", "8");
    assert_value(config, "worker.max_attempts", "4");
    assert_int_equal(wp_config_set(config, "Queue:VisibilityTimeoutSeconds", "86400", NULL), WP_OK);
    assert_value(config, "worker.lease_ms", "86400000");
}

/* proves: CFG-001 */
static void test_config_aliases__anything_wrong__is_told_by_the_name_that_was_used(void **state)
{
    wp_config *config = *state;
    wp_error *err = NULL;
    assert_refused(config, "Queue:VisibilityTimeoutSeconds", "86401",
                   "Queue:VisibilityTimeoutSeconds must be a whole number from 1 to 86400");
    assert_refused(config, "queue:visibilitytimeoutseconds", "0",
                   "Queue:VisibilityTimeoutSeconds must be a whole number from 1 to 86400");
    assert_json(config, "{\"Queue\": {\"BatchSize\": 0}}",
                "Queue:BatchSize must be a whole number from 1 to 10000");
    assert_json(config, "{\"Health\": {\"Port\": [1]}}",
                "Health:Port must be a text, a number or a boolean");
    assert_json(config, "{\"Queue\": {\"BatchSize\": 1}, \"worker\": {\"batch_size\": 1}}",
                "Queue:BatchSize and worker.batch_size are the same option, given twice");
    assert_json(config, "{\"Queue:BatchSize\": 1, \"Queue\": {\"batchsize\": 1}}",
                "Queue:BatchSize is given twice");
    assert_int_equal(wp_config_load_json(config, "{\"Queue\": {\"BatchSise\": 1}}", &err),
                     WP_E_CONFIG);
    assert_non_null(strstr(wp_error_message(err), "Queue:BatchSise is not a configuration key"));
    wp_error_free(err);
    assert_int_equal(setenv("WAYPOST_Queue__BatchSize", "x", 1), 0);
    err = NULL;
    assert_int_equal(wp_config_load_env(config, &err), WP_E_CONFIG);
    assert_string_equal(wp_error_message(err),
                        "WAYPOST_Queue__BatchSize: Queue:BatchSize must be a "
                        "whole number from 1 to 10000");
    wp_error_free(err);
    err = NULL;
    assert_int_equal(setenv("WAYPOST_Queue__BatchSize", "1", 1), 0);
    assert_int_equal(setenv("WAYPOST_WORKER_BATCH_SIZE", "1", 1), 0);
    assert_int_equal(wp_config_load_env(config, &err), WP_E_CONFIG);
    assert_non_null(strstr(wp_error_message(err), "are the same option, given twice"));
    wp_error_free(err);
    assert_value(config, "worker.batch_size", "500");
}

#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
#define FRESH_ENV(test) cmocka_unit_test_setup_teardown(test, setup, clean_env)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(test_config_new__untouched__holds_the_defaults),
        FRESH(test_discovery_interval__by_default__is_five_minutes),
        FRESH(test_config_set__values_of_each_type__are_stored),
        FRESH(test_config_set__bad_integer__names_key_and_range),
        FRESH(test_config_set__other_bad_values__say_what_is_allowed),
        FRESH(test_config_set__unknown_key__says_what_was_meant),
        FRESH(test_config_set__names__are_checked_for_sql),
        FRESH(test_config__null_arguments__are_refused),
        FRESH(test_config_get__locale_with_a_comma__writes_a_point),
        FRESH(test_config_load_json__flat_and_nested__sets_all),
        FRESH(test_config_load_json__anything_wrong__names_it_and_changes_nothing),
        FRESH(test_config_load_json__syntax_error__does_not_quote_values),
        FRESH_ENV(test_config_load_env__known_variables__set_all),
        FRESH_ENV(test_config_load_env__anything_wrong__names_it_and_changes_nothing),
        FRESH_ENV(test_config_aliases__by_json_variable_and_call__are_the_options),
        FRESH_ENV(test_config_aliases__anything_wrong__is_told_by_the_name_that_was_used),
        FRESH(test_config_describe__always__documents_every_key),
        FRESH(test_config_copy__then_changed__leaves_the_first_alone),
        FRESH(test_worker_options_set__topic_keys__change_that_topic_alone),
        FRESH(test_config_set_log__any_end__destroys_once),
        FRESH(test_config_set_clock__callers_reference_gone__keeps_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
