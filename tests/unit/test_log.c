/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/config_values.h"
#include "base/log.h"
#include "base/thread.h"

/* What a host keeps of its log. */
typedef struct host {
    int records;
    int notices; /* "log records dropped" */
    int lost;    /* their Counts */
    int destroyed;
    wp_log_level level;
    char message[64];
    char fields[512];
    wp__log *again; /* pumped and written to from inside the callback */
} host;

static void receive(void *user, wp_log_level level, const char *message, const char *fields)
{
    host *h = user;
    int count = 0;
    if (strcmp(message, "log records dropped") == 0) {
        h->notices++;
        if (sscanf(fields, "{\"Count\":%d}", &count) == 1)
            h->lost += count;
    } else {
        h->records++;
    }
    h->level = level;
    (void)snprintf(h->message, sizeof h->message, "%s", message);
    (void)snprintf(h->fields, sizeof h->fields, "%s", fields);
    if (h->again) {
        WP__LOG(h->again, WP_LOG_ERROR, "from inside", WP__F_INT("N", 1));
        wp__log_pump(h->again);
    }
}

static void destroy(void *user)
{
    ((host *)user)->destroyed++;
}

static wp__log *open_log(host *h, wp_log_level level)
{
    wp__log_sink *sink = NULL;
    wp__log *log = NULL;
    assert_int_equal(wp__log_sink_new(&sink, receive, h, destroy, NULL), WP_OK);
    assert_int_equal(wp__log_new(&log, level, sink, NULL, NULL), WP_OK);
    wp__log_sink_free(sink);
    return log;
}

static void test_log_write__to_a_callback__waits_for_the_pump(void **state)
{
    host h = {0};
    wp__log *log = open_log(&h, WP_LOG_INFO);
    wp_id id;
    (void)state;
    assert_int_equal(wp_id_parse(&id, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", NULL), WP_OK);
    WP__LOG(log, WP_LOG_WARNING, "claim lost", WP__F_TEXT("Topic", "a\"b"), WP__F_INT("Attempt", 3),
            WP__F_ID("MessageId", &id), WP__F_TEXT("Reason", NULL));
    assert_int_equal(h.records, 0);
    wp__log_pump(log);
    assert_int_equal(h.records, 1);
    assert_int_equal(h.level, WP_LOG_WARNING);
    assert_string_equal(h.message, "claim lost");
    assert_string_equal(h.fields, "{\"Topic\":\"a\\\"b\",\"Attempt\":3,"
                                  "\"MessageId\":\"017f22e2-79b0-7cc3-98c4-dc0c0c07398f\"}");
    wp__log_pump(log);
    assert_int_equal(h.records, 1);
    wp__log_free(log);
    assert_int_equal(h.destroyed, 1);
}

static void test_log_write__below_the_level__is_dropped_unseen(void **state)
{
    host h = {0};
    wp__log *log = open_log(&h, WP_LOG_WARNING), *off = open_log(&h, (wp_log_level)WP__LOG_OFF);
    (void)state;
    assert_false(wp__log_wants(log, WP_LOG_INFO));
    assert_true(wp__log_wants(log, WP_LOG_WARNING));
    assert_false(wp__log_wants(off, WP_LOG_ERROR));
    assert_false(wp__log_wants(NULL, WP_LOG_ERROR));
    wp__log_write(log, WP_LOG_INFO, "no", NULL, 0);
    wp__log_write(off, WP_LOG_ERROR, "no", NULL, 0);
    wp__log_write(NULL, WP_LOG_ERROR, "no", NULL, 0);
    wp__log_pump(log);
    wp__log_pump(off);
    wp__log_pump(NULL);
    assert_int_equal(h.records, 0);
    wp__log_free(log);
    wp__log_free(off);
    wp__log_free(NULL);
}

static void test_log_write__bad_utf8__keeps_the_record(void **state)
{
    host h = {0};
    wp__log *log = open_log(&h, WP_LOG_INFO);
    (void)state;
    WP__LOG(log, WP_LOG_INFO, "m", WP__F_TEXT("Reason", "a\xFF\x01z"));
    wp__log_pump(log);
    assert_string_equal(h.fields, "{\"Reason\":\"a??z\"}");
    wp__log_free(log);
}

static void test_log_write__queue_full__drops_the_oldest_and_says_so(void **state)
{
    host h = {0};
    wp__log *log = open_log(&h, WP_LOG_INFO);
    (void)state;
    for (int i = 1; i <= 1030; i++)
        WP__LOG(log, WP_LOG_INFO, "m", WP__F_INT("N", i));
    wp__log_pump(log);
    assert_int_equal(h.records, 1024);
    assert_int_equal(h.notices, 1);
    assert_int_equal(h.lost, 6);
    WP__LOG(log, WP_LOG_INFO, "m", WP__F_INT("N", 1031));
    wp__log_pump(log);
    assert_int_equal(h.notices, 1);
    assert_string_equal(h.fields, "{\"N\":1031}");
    wp__log_free(log);
}

static void test_log_pump__inside_the_callback__does_nothing(void **state)
{
    host h = {0};
    wp__log *log = open_log(&h, WP_LOG_INFO);
    (void)state;
    h.again = log;
    wp__log_write(log, WP_LOG_INFO, "first", NULL, 0);
    wp__log_pump(log);
    assert_int_equal(h.records, 1);
    assert_string_equal(h.message, "first");
    h.again = NULL;
    wp__log_pump(log);
    assert_int_equal(h.records, 2);
    assert_string_equal(h.message, "from inside");
    wp__log_free(log);
}

static void close_log(void *user, wp_log_level level, const char *message, const char *fields)
{
    host *h = user;
    (void)level;
    (void)message;
    (void)fields;
    h->records++;
    wp__log_free(h->again);
    h->again = NULL;
}

static void test_log_pump__callback_frees_the_log__destroys_afterwards(void **state)
{
    host h = {0};
    wp__log_sink *sink = NULL;
    (void)state;
    assert_int_equal(wp__log_sink_new(&sink, close_log, &h, destroy, NULL), WP_OK);
    assert_int_equal(wp__log_new(&h.again, WP_LOG_INFO, sink, NULL, NULL), WP_OK);
    wp__log_sink_free(sink);
    wp__log_write(h.again, WP_LOG_INFO, "first", NULL, 0);
    wp__log_write(h.again, WP_LOG_INFO, "second", NULL, 0);
    wp__log_pump(h.again);
    assert_int_equal(h.records, 2);
    assert_int_equal(h.destroyed, 1);
}

static void test_log_free__records_waiting__delivers_them_first(void **state)
{
    host h = {0};
    wp__log *log = open_log(&h, WP_LOG_INFO), *more = wp__log_ref(log);
    (void)state;
    wp__log_write(log, WP_LOG_INFO, "last words", NULL, 0);
    wp__log_free(log);
    assert_int_equal(h.records, 0);
    wp__log_free(more);
    assert_int_equal(h.records, 1);
    assert_string_equal(h.fields, "{}");
    assert_int_equal(h.destroyed, 1);
}

static void test_log__stores_of_one_configuration__share_the_sink_not_the_level(void **state)
{
    host h = {0};
    wp_config *config = NULL, *copy = NULL;
    wp__log *one = NULL, *two = NULL;
    (void)state;
    assert_int_equal(wp_config_new(&config, NULL), WP_OK);
    assert_int_equal(wp_config_set_log(config, receive, &h, destroy, NULL), WP_OK);
    assert_int_equal(wp_config_set(config, "log.level", "info", NULL), WP_OK);
    assert_int_equal(wp__config_copy(&copy, config, NULL), WP_OK);
    assert_int_equal(wp_config_set(copy, "log.level", "error", NULL), WP_OK);
    assert_int_equal(wp__config_log(&one, config, NULL), WP_OK);
    assert_int_equal(wp__config_log(&two, copy, NULL), WP_OK);
    wp_config_free(config);
    wp_config_free(copy);
    wp__log_write(one, WP_LOG_INFO, "one", NULL, 0);
    wp__log_write(two, WP_LOG_INFO, "two", NULL, 0);
    wp__log_free(one);
    assert_int_equal(h.destroyed, 0);
    wp__log_pump(two);
    assert_int_equal(h.records, 1);
    assert_string_equal(h.message, "one");
    wp__log_free(two);
    assert_int_equal(h.destroyed, 1);
}

/* Write one record to stderr, and read it back. */
static void write_captured(wp__log *log, char *out, size_t size)
{
    FILE *file = tmpfile();
    const int kept = dup(STDERR_FILENO);
    ssize_t n = 0;
    assert_non_null(file);
    assert_true(kept >= 0);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    WP__LOG(log, WP_LOG_ERROR, "it broke", WP__F_TEXT("StoreId", "caf\xC3\xA9\xFF"),
            WP__F_INT("Count", -2));
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    (void)close(kept);
    n = pread(fileno(file), out, size - 1, 0);
    assert_true(n >= 0);
    out[n] = '\0';
    (void)fclose(file);
}

/* proves: LOG-001 */
static void test_log_write__no_callback__is_a_json_line_on_stderr(void **state)
{
    wp_clock *clock = NULL;
    wp__log *log = NULL;
    char line[512];
    (void)state;
    assert_int_equal(wp_clock_new_manual(&clock, INT64_C(1795827723456789), NULL), WP_OK);
    assert_int_equal(wp__log_new(&log, WP_LOG_INFO, NULL, clock, NULL), WP_OK);
    wp_clock_free(clock);
    write_captured(log, line, sizeof line);
    assert_string_equal(line, "{\"Time\":\"2026-11-28T01:02:03.456789Z\",\"Level\":\"error\","
                              "\"Message\":\"it broke\",\"StoreId\":\"caf\xC3\xA9?\","
                              "\"Count\":-2}\n");
    wp__log_pump(log);
    wp__log_free(log);
}

enum { THREADS = 3, EACH = 600 };

static void *write_many(void *arg)
{
    wp__log *log = arg;
    for (int i = 0; i < EACH; i++)
        WP__LOG(log, WP_LOG_INFO, "m", WP__F_INT("N", i));
    return NULL;
}

static void *pump_many(void *arg)
{
    wp__log *log = arg;
    for (int i = 0; i < EACH; i++)
        wp__log_pump(log);
    return NULL;
}

static void test_log__many_threads__each_record_is_delivered_or_counted(void **state)
{
    host h = {0};
    wp__log *log = open_log(&h, WP_LOG_INFO);
    wp__thread threads[THREADS] = {{.started = false}}, pumper = {.started = false};
    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(wp__thread_start(&threads[i], "write", write_many, log, NULL), WP_OK);
    assert_int_equal(wp__thread_start(&pumper, "pump", pump_many, log, NULL), WP_OK);
    (void)pump_many(log);
    for (int i = 0; i < THREADS; i++)
        wp__thread_join(&threads[i]);
    wp__thread_join(&pumper);
    wp__log_free(log);
    assert_int_equal(h.records + h.lost, THREADS * EACH);
    assert_int_equal(h.destroyed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_write__to_a_callback__waits_for_the_pump),
        cmocka_unit_test(test_log_write__below_the_level__is_dropped_unseen),
        cmocka_unit_test(test_log_write__bad_utf8__keeps_the_record),
        cmocka_unit_test(test_log_write__queue_full__drops_the_oldest_and_says_so),
        cmocka_unit_test(test_log_pump__inside_the_callback__does_nothing),
        cmocka_unit_test(test_log_pump__callback_frees_the_log__destroys_afterwards),
        cmocka_unit_test(test_log_free__records_waiting__delivers_them_first),
        cmocka_unit_test(test_log__stores_of_one_configuration__share_the_sink_not_the_level),
        cmocka_unit_test(test_log_write__no_callback__is_a_json_line_on_stderr),
        cmocka_unit_test(test_log__many_threads__each_record_is_delivered_or_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
