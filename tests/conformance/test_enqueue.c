/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of the outbox: what an enqueue leaves behind, and when it can be seen. */
#include "bed.h"

/* `count` repetitions of `text`, freed by the caller. */
static char *repeat(const char *text, size_t count)
{
    const size_t len = strlen(text);
    char *out = malloc(len * count + 1);
    assert_non_null(out);
    for (size_t i = 0; i < count; i++)
        memcpy(out + i * len, text, len);
    out[len * count] = '\0';
    return out;
}

/* ---- transactions ------------------------------------------------------------------------- */

/* scenario: OUT-001 */
/* proves: OBX-001, OBX-003, BND-002 */
static void test_enqueue__in_the_apps_transaction__visible_after_its_commit(void **state)
{
    bed *b = *state;
    wp_id id;
    bed_reopen(b, WPT_OPTIONS("store.busy_timeout_ms", "10"));
    bed_exec(b, b->engine->begin);
    id = wpt_send(b->store, b->conn, wpt_message("t", "x"));
    bed_is_hidden(b, &id);
    bed_exec(b, b->engine->commit);
    (void)wpt_claim_one(b->store, 1, &id, 1000);
}

/* scenario: OUT-002 */
/* proves: OBX-001, OBX-003 */
static void test_enqueue__in_a_transaction_rolled_back__leaves_no_trace(void **state)
{
    bed *b = *state;
    wp_id id;
    bed_exec(b, b->engine->begin);
    id = wpt_send(b->store, b->conn, wpt_message("t", "x"));
    bed_exec(b, b->engine->rollback);
    bed_has_no(b, &id);
    assert_int_equal(wpt_claimable(b->store), 0);
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_READY), 0);
}

/* proves: OBX-001 */
static void test_enqueue__connection_closed_without_commit__leaves_no_trace(void **state)
{
    bed *b = *state;
    app *other = b->engine->open(b->store, false);
    wp_conn *conn = b->engine->lend(other, b->store);
    wp_id id;
    b->engine->exec(other, b->engine->begin);
    id = wpt_send(b->store, conn, wpt_message("t", "x"));
    wp_conn_free(conn);
    b->engine->close(other);
    bed_has_no(b, &id);
    assert_int_equal(wpt_claimable(b->store), 0);
}

/* scenario: OUT-003 */
/* proves: OBX-001 */
static void test_enqueue__rolled_back_to_a_savepoint__earlier_message_stays(void **state)
{
    bed *b = *state;
    wp_id first, second;
    bed_exec(b, b->engine->begin);
    first = wpt_send(b->store, b->conn, wpt_message("t", "1"));
    bed_exec(b, b->engine->savepoint);
    second = wpt_send(b->store, b->conn, wpt_message("t", "2"));
    bed_exec(b, b->engine->rollback_to);
    bed_exec(b, b->engine->commit);
    bed_has_no(b, &second);
    (void)wpt_claim_one(b->store, 1, &first, 1000);
}

/* scenario: OUT-004 */
/* proves: OBX-001, OBX-002 */
static void test_enqueue__without_a_connection__durable_when_it_returns(void **state)
{
    bed *b = *state;
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    wp_store *other = NULL;
    wp_config *config = bed_config(b, NULL);
    if (b->engine->opens_new) {
        assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_READY);
    } else {
        WPT_OK(wp_store_open(&other, config, WPT_ERR));
        assert_int_equal(wpt_status_of(other, &id), WP_MESSAGE_READY);
        wp_store_close(other);
    }
    wp_config_free(config);
}

/* proves: OBX-002 */
static void test_enqueue__without_a_connection__is_not_in_the_apps_transaction(void **state)
{
    bed *b = *state;
    wp_id id;
    bed_exec(b, b->engine->begin); /* has read and written nothing yet */
    id = wpt_enqueue(b->store, "t", "x");
    bed_exec(b, b->engine->rollback);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_READY);
}

/* scenario: OUT-005 */
/* proves: OBX-003 */
static void test_enqueue__with_the_apps_own_row__both_or_neither(void **state)
{
    bed *b = *state;
    wp_id id;
    bed_exec(b, b->engine->begin);
    bed_exec(b, "INSERT INTO orders VALUES (1)");
    id = wpt_send(b->store, b->conn, wpt_message("t", "x"));
    bed_exec(b, "INSERT INTO orders VALUES (2)"); /* it is still open, and the app's */
    bed_exec(b, b->engine->rollback);
    bed_has_no(b, &id);
    assert_int_equal(bed_number(b, "SELECT count(*) FROM orders"), 0);

    bed_exec(b, b->engine->begin);
    bed_exec(b, "INSERT INTO orders VALUES (3)");
    id = wpt_send(b->store, b->conn, wpt_message("t", "x"));
    bed_exec(b, b->engine->commit);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_READY);
    assert_int_equal(bed_number(b, "SELECT count(*) FROM orders"), 1);
}

/* One lent connection, three transactions: nothing of one is left for the next. */
/* proves: OBX-001..003 */
static void
test_enqueue__after_a_rollback_on_the_same_connection__only_what_was_committed(void **state)
{
    bed *b = *state;
    wp_id ids[2], gone;
    wp_claim *claim;
    bed_exec(b, b->engine->begin);
    gone = wpt_send(b->store, b->conn, wpt_message("t", "x"));
    bed_exec(b, b->engine->rollback);
    bed_exec(b, b->engine->begin);
    ids[0] = wpt_send(b->store, b->conn, wpt_message("t", "y"));
    bed_exec(b, b->engine->commit);
    ids[1] = wpt_send(b->store, b->conn, wpt_message("t", "z")); /* no transaction is open */
    claim = wpt_claim(b->store, 1, 10, 1000);
    assert_true(wpt_claim_is(claim, ids, 2));
    wp_claim_free(claim);
    bed_has_no(b, &gone);
}

/* proves: OBX-082 */
static void
test_enqueue__database_busy_on_the_apps_connection__is_reported_as_retriable(void **state)
{
    bed *b = *state;
    app *other;
    wp_message *message = wpt_message("t", "x");
    wp_id id = {{0}};
    if (!b->engine->one_writer) {
        wp_message_free(message);
        return;
    }
    other = b->engine->open(b->store, false);
    b->engine->exec(other, b->engine->begin);
    b->engine->exec(other, "INSERT INTO orders VALUES (1)");
    bed_exec(b, b->engine->begin);
    WPT_STATUS(wp_outbox_enqueue(&id, NULL, b->store, b->conn, message, WPT_ERR), WP_E_UNAVAILABLE);
    assert_true(wpt_last_retriable());
    b->engine->exec(other, b->engine->rollback);
    /* The app's transaction was left to the app, which tries again. */
    WPT_OK(wp_outbox_enqueue(&id, NULL, b->store, b->conn, message, WPT_ERR));
    bed_exec(b, b->engine->commit);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_READY);
    wp_message_free(message);
    b->engine->close(other);
}

static void *commit_soon(void *arg)
{
    bed *b = arg;
    wp__sleep_us(20000); /* so that the other side has begun to wait; it does not matter if not */
    b->engine->exec(b->app, b->engine->commit);
    return NULL;
}

/* proves: OBX-082 */
static void test_enqueue__database_busy_in_a_transaction_of_ours__is_waited_for(void **state)
{
    bed *b = *state;
    wp__thread thread;
    wp_id id;
    bed_exec(b, b->engine->begin);
    bed_exec(b, "INSERT INTO orders VALUES (1)");
    WPT_OK(wp__thread_start(&thread, "commit", commit_soon, b, WPT_ERR));
    id = wpt_enqueue(b->store, "t", "x");
    wp__thread_join(&thread);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_READY);
}

/* ---- batches ------------------------------------------------------------------------------ */

/* scenario: OUT-006 */
/* proves: OBX-111, OBX-014 */
static void test_enqueue_many__messages__an_id_each_in_order(void **state)
{
    enum { COUNT = 50 };
    bed *b = *state;
    wp_message *messages[COUNT];
    wp_id ids[COUNT];
    int duplicates[COUNT];
    wp_claim *claim;
    for (int i = 0; i < COUNT; i++) {
        char payload[16];
        (void)snprintf(payload, sizeof payload, "%d", i);
        messages[i] = wpt_message("t", payload);
        duplicates[i] = 7;
    }
    WPT_OK(wp_outbox_enqueue_many(ids, duplicates, b->store, NULL,
                                  (const wp_message *const *)messages, COUNT, WPT_ERR));
    claim = wpt_claim(b->store, 1, COUNT + 1, 1000);
    assert_true(wpt_claim_is(claim, ids, COUNT));
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(duplicates[i], 0);
        assert_int_equal(strtol(wp_received_payload(NULL, wp_claim_at(claim, (size_t)i)), NULL, 10),
                         i);
        for (int j = 0; j < i; j++)
            assert_false(wpt_id_equal(&ids[i], &ids[j]));
        wp_message_free(messages[i]);
    }
    wp_claim_free(claim);
}

/* scenario: OUT-006 */
/* proves: OBX-111, OBX-003 */
static void test_enqueue_many__in_the_apps_transaction__all_go_with_its_rollback(void **state)
{
    bed *b = *state;
    wp_message *message = wpt_message("t", "x");
    const wp_message *messages[3] = {message, message, message};
    wp_id ids[3];
    bed_exec(b, b->engine->begin);
    WPT_OK(wp_outbox_enqueue_many(ids, NULL, b->store, b->conn, messages, 3, WPT_ERR));
    bed_exec(b, b->engine->rollback);
    assert_int_equal(wpt_claimable(b->store), 0);
    WPT_OK(wp_outbox_enqueue_many(ids, NULL, b->store, b->conn, messages, 3, WPT_ERR));
    assert_int_equal(wpt_claimable(b->store), 3); /* one message, enqueued many times */
    WPT_OK(wp_outbox_enqueue_many(ids, NULL, b->store, NULL, messages, 0, WPT_ERR));
    assert_int_equal(wpt_claimable(b->store), 3);
    wp_message_free(message);
}

/* scenario: OUT-007 */
/* proves: OBX-111 */
static void test_enqueue_many__one_bad_message__stores_nothing(void **state)
{
    bed *b = *state;
    wp_message *message = wpt_message("t", "x");
    const wp_message *messages[3] = {message, message, NULL};
    wp_id ids[3];
    WPT_FAILS(wp_outbox_enqueue_many(ids, NULL, b->store, NULL, messages, 3, WPT_ERR),
              WP_E_ARGUMENT, "messages[2]");
    assert_int_equal(wpt_claimable(b->store), 0);
    wp_message_free(message);
}

/* ---- what may be enqueued ----------------------------------------------------------------- */

/* scenario: OUT-008 */
/* proves: OBX-004..006, BND-004 */
static void test_enqueue__empty_payload__is_legal_and_nothing_else_is(void **state)
{
    bed *b = *state;
    wp_message *message = NULL;
    wp_id id;
    wp_claim *claim;
    size_t len = 9;
    WPT_FAILS(wp_message_new(&message, NULL, "x", 1, WPT_ERR), WP_E_ARGUMENT, "topic");
    WPT_FAILS(wp_message_new(&message, "", "x", 1, WPT_ERR), WP_E_ARGUMENT, "topic");
    WPT_FAILS(wp_message_new(&message, "t", NULL, 0, WPT_ERR), WP_E_ARGUMENT, "payload");
    assert_null(message);
    id = wpt_enqueue(b->store, "t", "");
    claim = wpt_claim(b->store, 1, 10, 1000);
    assert_true(wpt_claim_is(claim, &id, 1));
    assert_string_equal(wp_received_payload(&len, wp_claim_at(claim, 0)), "");
    assert_int_equal(len, 0);
    wp_claim_free(claim);
}

/* A name of `count` units passes and comes back, one more unit does not. */
static void topic_of(bed *b, const char *unit, size_t count, const char *more)
{
    char *topic = repeat(unit, count);
    const size_t size = strlen(topic) + strlen(more) + 1;
    char *longer = malloc(size);
    wp_message *message = NULL;
    wp_claim *claim;
    wp_id id = wpt_enqueue(b->store, topic, "x");
    const wp_id owner = wpt_owner(1);
    claim = wpt_claim(b->store, 1, 10, 1000);
    assert_true(wpt_claim_is(claim, &id, 1));
    assert_string_equal(wp_received_topic(wp_claim_at(claim, 0)), topic);
    assert_non_null(longer);
    (void)snprintf(longer, size, "%s%s", topic, more);
    WPT_FAILS(wp_message_new(&message, longer, "x", 1, WPT_ERR), WP_E_ARGUMENT, "topic");
    WPT_OK(wp_outbox_ack(NULL, b->store, NULL, &owner, &id, NULL, 1, NULL, WPT_ERR));
    wp_claim_free(claim);
    free(longer);
    free(topic);
}

/* scenario: OUT-009 */
/* proves: OBX-007 */
static void test_enqueue__topic_of_255_units__passes_and_256_does_not(void **state)
{
    bed *b = *state;
    topic_of(b, "a", 255, "a");
    topic_of(b, "\xc3\xa9", 255, "a");
    topic_of(b, "\xe2\x82\xac", 255, "\xe2\x82\xac");
    topic_of(b, "\xf0\x9f\x98\x80", 127, "\xf0\x9f\x98\x80"); /* 254 units; two more */
}

/* scenario: OUT-010 */
/* proves: OBX-008, OBX-009 */
static void test_enqueue__correlation_id__255_units_and_empty_is_none(void **state)
{
    bed *b = *state;
    char *longest = repeat("\xc3\xa9", 255);
    char *longer = repeat("a", 256);
    wp_message *message = wpt_message("t", "1");
    wp_claim *claim;
    WPT_FAILS(wp_message_set_correlation_id(message, longer, WPT_ERR), WP_E_ARGUMENT,
              "correlation_id");
    WPT_OK(wp_message_set_correlation_id(message, longest, WPT_ERR));
    (void)wpt_send(b->store, NULL, message);
    message = wpt_message("t", "2");
    WPT_OK(wp_message_set_correlation_id(message, "gone", WPT_ERR));
    WPT_OK(wp_message_set_correlation_id(message, "", WPT_ERR));
    (void)wpt_send(b->store, NULL, message);
    (void)wpt_enqueue(b->store, "t", "3");
    claim = wpt_claim(b->store, 1, 10, 1000);
    assert_int_equal(wp_claim_count(claim), 3);
    assert_string_equal(wp_received_correlation_id(wp_claim_at(claim, 0)), longest);
    assert_null(wp_received_correlation_id(wp_claim_at(claim, 1)));
    assert_null(wp_received_correlation_id(wp_claim_at(claim, 2)));
    wp_claim_free(claim);
    free(longer);
    free(longest);
}

/* scenario: OUT-011 */
/* proves: OBX-010 */
static void test_enqueue__topics_alike__are_different_topics(void **state)
{
    /* composed and decomposed accent, dotted and dotless i */
    static const char *const topics[] = {
        "order", "Order",    "order ", "ord\xc3\xa9r", "orde\xcc\x81r", "\xc4\xb1",
        "i",     "\xc4\xb0", "I",      "'; --",        "a\"b"};
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    /* the last one is an escape in JSON */
    const size_t count =
        WPT_COUNT(topics) - (b->engine->reads_json && !b->engine->reads_json() ? 1 : 0);
    wp_outbox_stats *stats = NULL;
    for (size_t i = 0; i < count; i++)
        (void)wpt_enqueue(b->store, topics[i], topics[i]);
    WPT_OK(wp_outbox_stats_read(&stats, b->store, 0, WPT_ERR));
    assert_int_equal(wp_outbox_stats_count(stats), count);
    for (size_t i = 1; i < count; i++) /* in byte order */
        assert_true(strcmp(wp_outbox_stats_topic(stats, i - 1), wp_outbox_stats_topic(stats, i)) <
                    0);
    wp_outbox_stats_free(stats);
    for (size_t i = 0; i < count; i++) {
        wp_claim *claim = NULL;
        WPT_OK(wp_outbox_claim(&claim, b->store, &owner, &topics[i], 1, 10, 1000, WPT_ERR));
        assert_int_equal(wp_claim_count(claim), 1);
        assert_string_equal(wp_received_topic(wp_claim_at(claim, 0)), topics[i]);
        assert_string_equal(wp_received_payload(NULL, wp_claim_at(claim, 0)), topics[i]);
        wp_claim_free(claim);
    }
}

static void payload_returns(bed *b, const char *payload, size_t len)
{
    const wp_id owner = wpt_owner(1);
    wp_message *message = NULL;
    wp_claim *claim;
    wp_id id;
    size_t got = 0;
    WPT_OK(wp_message_new(&message, "t", payload, len, WPT_ERR));
    id = wpt_send(b->store, NULL, message);
    claim = wpt_claim(b->store, 1, 1, 1000);
    assert_int_equal(wp_claim_count(claim), 1);
    assert_true(wpt_claim_is(claim, &id, 1));
    assert_memory_equal(wp_received_payload(&got, wp_claim_at(claim, 0)), payload, len);
    assert_int_equal(got, len);
    wp_claim_free(claim);
    WPT_OK(wp_outbox_ack(NULL, b->store, NULL, &owner, &id, NULL, 1, NULL, WPT_ERR));
}

/* scenario: OUT-012 */
/* proves: OBX-011, OBX-096 */
static void test_enqueue__any_payload__comes_back_byte_for_byte(void **state)
{
    static const char *const payloads[] = {
        "x",
        "{\"a\": [1, 2.50, null]}",
        "<a b='c'/>\r\n\t",
        "not json at all: ' \" ; -- \\ % ? :id {outbox}",
        "\x01\x02\x7f",
        "\xef\xbb\xbf byte order mark",
        "\xf0\x9f\x98\x80 \xef\xbf\xbf \xf4\x8f\xbf\xbf",
    };
    bed *b = *state;
    const size_t mega = 1048576;
    char *large = malloc(mega + 1);
    assert_non_null(large);
    for (size_t i = 0; i < WPT_COUNT(payloads); i++)
        payload_returns(b, payloads[i], strlen(payloads[i]));
    for (size_t i = 0; i < mega; i++)
        large[i] = (char)(1 + (i * 31 + i / 127) % 127);
    payload_returns(b, large, 8191);
    payload_returns(b, large, mega);
    free(large);
}

/* scenario: OUT-013 */
/* proves: OBX-112 */
static void test_enqueue__headers__come_back_as_they_were_set(void **state)
{
    static const char trace[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    bed *b = *state;
    wp_message *message = wpt_message("t", "1");
    wp_claim *claim;
    WPT_OK(wp_message_set_header(message, "traceparent", trace, WPT_ERR));
    WPT_OK(wp_message_set_header(message, "a\"b", "old", WPT_ERR));
    WPT_OK(wp_message_set_header(message, "a\"b", "\xc3\xa9\n'", WPT_ERR));
    WPT_OK(wp_message_set_header(message, "empty", "", WPT_ERR));
    (void)wpt_send(b->store, NULL, message);
    (void)wpt_enqueue(b->store, "t", "2");
    claim = wpt_claim(b->store, 1, 10, 1000);
    assert_int_equal(wp_claim_count(claim), 2);
    assert_string_equal(wp_received_headers(wp_claim_at(claim, 0)),
                        "{\"traceparent\":"
                        "\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\","
                        "\"a\\\"b\":\"\xc3\xa9\\n'\",\"empty\":\"\"}");
    assert_string_equal(wp_received_headers(wp_claim_at(claim, 1)), "{}");
    wp_claim_free(claim);
}

static void trace_is(const wp_claim *claim, size_t index, const char *wanted)
{
    char *parent = NULL;
    WPT_OK(wp_trace_read(&parent, NULL, wp_received_headers(wp_claim_at(claim, index)), WPT_ERR));
    assert_string_equal(parent, wanted);
    wp_text_free(parent);
}

/* scenario: TRC-101 */
/* proves: TRC-001 */
static void test_enqueue__trace_of_the_caller__goes_along_in_every_queue(void **state)
{
    static const char trace[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    static const char given[] = "00-0af7651916cd43dd8448eb211c80319d-b7ad6b7169203331-00";
    const wp_id owner = wpt_owner(1);
    bed *b = *state;
    wp_message *traced = wpt_message("t", "1"), *own = wpt_message("t", "2");
    wp_inbox_key *key = NULL;
    wp_claim *claim = NULL;
    wp_id id;
    WPT_OK(wp_message_set_trace(traced, trace, "a=1", WPT_ERR));
    WPT_OK(wp_message_set_header(own, "traceparent", given, WPT_ERR));
    WPT_OK(wp_message_set_trace(own, trace, "a=1", WPT_ERR));
    WPT_OK(wp_inbox_key_new(&key, "s", "1", WPT_ERR));
    WPT_OK(wp_inbox_enqueue(&id, NULL, NULL, b->store, NULL, key, traced, WPT_ERR));
    WPT_OK(wp_timer_schedule(&id, NULL, b->store, NULL, traced, WPT_ERR));
    (void)wpt_send(b->store, NULL, traced);
    (void)wpt_send(b->store, NULL, own);
    claim = wpt_claim(b->store, 1, 10, 1000);
    trace_is(claim, 0, trace);
    trace_is(claim, 1, given);
    wp_claim_free(claim);
    WPT_OK(wp_inbox_claim(&claim, b->store, &owner, NULL, 0, 10, 1000, WPT_ERR));
    trace_is(claim, 0, trace);
    wp_claim_free(claim);
    WPT_OK(wp_timer_claim(&claim, b->store, &owner, NULL, 0, 10, 1000, WPT_ERR));
    trace_is(claim, 0, trace);
    wp_claim_free(claim);
    wp_inbox_key_free(key);
}

/* ---- time --------------------------------------------------------------------------------- */

/* scenario: OUT-014 */
/* proves: OBX-012, OBX-013, OBX-018 */
static void test_enqueue__due_later__is_hidden_until_then(void **state)
{
    bed *b = *state;
    wp_message *message = wpt_message("t", "1");
    wp_id due, delayed, past;
    WPT_OK(wp_message_set_due_us(message, WPT_START_US + 5000001, WPT_ERR));
    due = wpt_send(b->store, NULL, message);
    message = wpt_message("t", "2");
    WPT_OK(wp_message_set_delay_ms(message, 6000, WPT_ERR));
    delayed = wpt_send(b->store, NULL, message);
    message = wpt_message("t", "3");
    WPT_OK(wp_message_set_due_us(message, 0, WPT_ERR));
    past = wpt_send(b->store, NULL, message);
    (void)wpt_claim_one(b->store, 1, &past, 100000);
    assert_int_equal(wpt_claimable(b->store), 0);
    wpt_advance_ms(b->clock, 5000);
    assert_int_equal(wpt_claimable(b->store), 0); /* a microsecond early */
    WPT_OK(wp_clock_advance_us(b->clock, 1, WPT_ERR));
    (void)wpt_claim_one(b->store, 1, &due, 100000);
    WPT_OK(wp_clock_advance_us(b->clock, 999998, WPT_ERR));
    assert_int_equal(wpt_claimable(b->store), 0);
    WPT_OK(wp_clock_advance_us(b->clock, 1, WPT_ERR));
    (void)wpt_claim_one(b->store, 1, &delayed, 100000);
}

/* scenario: OUT-015 */
/* proves: OBX-014..016 */
static void
test_enqueue__on_arrival__ready_at_attempt_0_created_by_the_databases_clock(void **state)
{
    bed *b = *state;
    wp_message *message = wpt_message("t", "x");
    wp_id id;
    wp_outbox_info *info;
    const wp_received *m;
    wpt_advance_ms(b->clock, 1234);
    WPT_OK(wp_message_set_delay_ms(message, 1000, WPT_ERR));
    WPT_OK(wp_message_set_expires_us(message, WP_TIME_US_MAX, WPT_ERR));
    WPT_OK(wp_message_set_ordering_key(message, "key", WPT_ERR));
    id = wpt_send(b->store, NULL, message);
    info = wpt_info(b->store, &id);
    m = wp_outbox_info_message(info);
    assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_READY);
    assert_true(wpt_id_equal(wp_received_id(m), &id));
    assert_int_equal(wp_received_attempt(m), 0);
    assert_int_equal(wp_received_claim_number(m), 0);
    assert_int_equal(wp_received_created_us(m), WPT_START_US + 1234000);
    assert_int_equal(wp_received_due_us(m), WPT_START_US + 2234000);
    assert_int_equal(wp_outbox_info_next_attempt_us(info), WPT_START_US + 2234000);
    assert_int_equal(wp_received_expires_us(m), WP_TIME_US_MAX);
    assert_string_equal(wp_received_ordering_key(m), "key");
    assert_int_equal(wp_outbox_info_locked_until_us(info), 0);
    assert_int_equal(wp_outbox_info_finished_us(info), 0);
    assert_null(wp_outbox_info_finished_by(info));
    assert_null(wp_outbox_info_last_error(info));
    wp_outbox_info_free(info);
}

/* scenario: OUT-016 */
/* proves: EXP-001 */
static void test_expires__before_it_was_claimed__failed_and_never_given_out(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    wp_message *message = wpt_message("t", "x");
    wp_id id, claimed;
    size_t changed = 0;
    WPT_OK(wp_message_set_expires_us(message, WPT_START_US + 1000000, WPT_ERR));
    claimed = wpt_send(b->store, NULL, message);
    (void)wpt_claim_one(b->store, 1, &claimed, 60000);
    message = wpt_message("t", "x");
    WPT_OK(wp_message_set_expires_us(message, WPT_START_US + 1000000, WPT_ERR));
    id = wpt_send(b->store, NULL, message);
    WPT_OK(wp_clock_advance_us(b->clock, 999999, WPT_ERR));
    assert_int_equal(wpt_claimable(b->store), 1);
    WPT_OK(wp_outbox_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 0);
    WPT_OK(wp_clock_advance_us(b->clock, 1, WPT_ERR));
    assert_int_equal(wpt_claimable(b->store), 0); /* not even before it was reaped */
    WPT_OK(wp_outbox_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 1);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_FAILED);
    wpt_last_error_is(b->store, &id, "expired");
    /* Whoever has it already may still finish it. */
    WPT_OK(wp_outbox_ack(&changed, b->store, NULL, &owner, &claimed, NULL, 1, NULL, WPT_ERR));
    assert_int_equal(changed, 1);
    assert_int_equal(wpt_status_of(b->store, &claimed), WP_MESSAGE_DONE);
}

/* proves: EXP-001, ORD-001 */
static void test_expires__blocked_behind_its_key__failed_and_the_next_one_runs(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    wp_id ids[3];
    for (int i = 0; i < 3; i++) {
        wp_message *message = wpt_message("t", "x");
        WPT_OK(wp_message_set_ordering_key(message, "k", WPT_ERR));
        if (i == 1)
            WPT_OK(wp_message_set_expires_us(message, WPT_START_US + 1000, WPT_ERR));
        ids[i] = wpt_send(b->store, NULL, message);
    }
    (void)wpt_claim_one(b->store, 1, &ids[0], 60000);
    assert_int_equal(wpt_status_of(b->store, &ids[1]), WP_MESSAGE_BLOCKED);
    wpt_advance_ms(b->clock, 1);
    WPT_OK(wp_outbox_reap(NULL, b->store, WPT_ERR));
    assert_int_equal(wpt_status_of(b->store, &ids[1]), WP_MESSAGE_FAILED);
    assert_int_equal(wpt_status_of(b->store, &ids[2]), WP_MESSAGE_BLOCKED);
    WPT_OK(wp_outbox_ack(NULL, b->store, NULL, &owner, &ids[0], NULL, 1, NULL, WPT_ERR));
    (void)wpt_claim_one(b->store, 1, &ids[2], 60000);
}

/* ---- keys --------------------------------------------------------------------------------- */

static wp_id send_keyed(bed *b, const char *key)
{
    wp_message *message = wpt_message("t", "x");
    WPT_OK(wp_message_set_ordering_key(message, key, WPT_ERR));
    return wpt_send(b->store, NULL, message);
}

/* scenario: OUT-017 */
/* proves: ORD-001 */
static void test_ordering_key__one_key__one_at_a_time_in_enqueue_order(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    wp_id ids[4];
    for (int i = 0; i < 4; i++)
        ids[i] = send_keyed(b, "k");
    for (int i = 0; i < 4; i++) {
        (void)wpt_claim_one(b->store, 1, &ids[i], 1000);
        assert_int_equal(wpt_claimable(b->store), 0);
        if (i == 1) { /* a retry keeps its turn */
            WPT_OK(wp_outbox_abandon(NULL, b->store, NULL, &owner, &ids[i], NULL, 1, 5000, NULL,
                                     WPT_ERR));
            assert_int_equal(wpt_claimable(b->store), 0);
            wpt_advance_ms(b->clock, 5000);
            (void)wpt_claim_one(b->store, 1, &ids[i], 1000);
        }
        if (i == 2) /* a dead letter lets the next one go */
            WPT_OK(wp_outbox_fail(NULL, b->store, NULL, &owner, &ids[i], NULL, 1, NULL, WPT_ERR));
        else
            WPT_OK(wp_outbox_ack(NULL, b->store, NULL, &owner, &ids[i], NULL, 1, NULL, WPT_ERR));
    }
    assert_int_equal(wpt_claimable(b->store), 0);
}

/* scenario: OUT-018 */
/* proves: ORD-001 */
static void test_ordering_key__busy_key__holds_up_no_other(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    wp_id first = send_keyed(b, "busy");
    wp_id other, none;
    wp_claim *claim;
    (void)wpt_claim_one(b->store, 1, &first, 1000);
    for (int i = 0; i < 20; i++) /* more than a claim takes */
        (void)send_keyed(b, "busy");
    other = send_keyed(b, "busy ");
    none = wpt_enqueue(b->store, "t", "x");
    claim = wpt_claim(b->store, 2, 2, 1000);
    assert_true(wpt_claim_is(claim, (wp_id[]){other, none}, 2));
    wp_claim_free(claim);
    /* nor does one that waits for its next attempt */
    WPT_OK(wp_outbox_abandon(NULL, b->store, NULL, &owner, &first, NULL, 1, 60000, NULL, WPT_ERR));
    none = wpt_enqueue(b->store, "t", "x");
    (void)wpt_claim_one(b->store, 1, &none, 1000);
}

/* proves: ORD-001 */
static void test_ordering_key__first_one_rolled_back__does_not_block(void **state)
{
    bed *b = *state;
    wp_message *message = wpt_message("t", "x");
    wp_id id;
    WPT_OK(wp_message_set_ordering_key(message, "k", WPT_ERR));
    bed_exec(b, b->engine->begin);
    (void)wpt_send(b->store, b->conn, message);
    bed_exec(b, b->engine->rollback);
    id = send_keyed(b, "k");
    (void)wpt_claim_one(b->store, 1, &id, 1000);
}

static wp_id send_unique(bed *b, wp_conn *conn, const char *key, int *duplicate)
{
    wp_message *message = wpt_message("t", "x");
    wp_id id = {{0}};
    *duplicate = 7;
    WPT_OK(wp_message_set_unique_key(message, key, WPT_ERR));
    WPT_OK(wp_outbox_enqueue(&id, duplicate, b->store, conn, message, WPT_ERR));
    wp_message_free(message);
    return id;
}

/* scenario: OUT-019 */
/* proves: UNQ-001 */
static void test_unique_key__in_use__duplicate_until_the_first_is_finished(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    int duplicate;
    const wp_id first = send_unique(b, NULL, "k", &duplicate);
    wp_id again;
    assert_int_equal(duplicate, 0);
    again = send_unique(b, NULL, "k", &duplicate);
    assert_int_equal(duplicate, 1);
    assert_true(wpt_id_equal(&first, &again));
    (void)send_unique(b, NULL, "K", &duplicate);
    assert_int_equal(duplicate, 0);
    (void)send_unique(b, NULL, "k ", &duplicate);
    assert_int_equal(duplicate, 0);
    wp_claim_free(wpt_claim(b->store, 1, 10, 60000));
    again = send_unique(b, NULL, "k", &duplicate); /* also while it is in progress */
    assert_int_equal(duplicate, 1);
    assert_true(wpt_id_equal(&first, &again));
    WPT_OK(wp_outbox_ack(NULL, b->store, NULL, &owner, &first, NULL, 1, NULL, WPT_ERR));
    again = send_unique(b, NULL, "k", &duplicate);
    assert_int_equal(duplicate, 0);
    assert_false(wpt_id_equal(&first, &again));
    (void)wpt_claim_one(b->store, 1, &again, 1000);
    WPT_OK(wp_outbox_fail(NULL, b->store, NULL, &owner, &again, NULL, 1, NULL, WPT_ERR));
    (void)send_unique(b, NULL, "k", &duplicate); /* nor does a dead letter hold it */
    assert_int_equal(duplicate, 0);
}

/* scenario: OUT-020 */
/* proves: UNQ-001 */
static void test_unique_key__first_rolled_back__swallows_nothing(void **state)
{
    bed *b = *state;
    int duplicate;
    wp_id first, second;
    bed_exec(b, b->engine->begin);
    first = send_unique(b, b->conn, "k", &duplicate);
    assert_int_equal(duplicate, 0);
    second = send_unique(b, b->conn, "k", &duplicate); /* its own transaction sees it */
    assert_int_equal(duplicate, 1);
    assert_true(wpt_id_equal(&first, &second));
    bed_exec(b, b->engine->rollback);
    second = send_unique(b, NULL, "k", &duplicate);
    assert_int_equal(duplicate, 0);
    bed_has_no(b, &first);
    (void)wpt_claim_one(b->store, 1, &second, 1000);
}

/* scenario: OUT-021 */
/* proves: UNQ-001, OBX-111 */
static void test_unique_key__twice_in_one_batch__told_apart(void **state)
{
    static const char *const keys[] = {"k", "k", "l", NULL, NULL, "l"};
    static const int wanted[] = {0, 1, 0, 0, 0, 1};
    bed *b = *state;
    wp_message *messages[WPT_COUNT(keys)];
    wp_id ids[WPT_COUNT(keys)];
    int duplicates[WPT_COUNT(keys)];
    for (size_t i = 0; i < WPT_COUNT(keys); i++) {
        messages[i] = wpt_message("t", "x");
        WPT_OK(wp_message_set_unique_key(messages[i], keys[i], WPT_ERR));
    }
    WPT_OK(wp_outbox_enqueue_many(ids, duplicates, b->store, NULL,
                                  (const wp_message *const *)messages, WPT_COUNT(keys), WPT_ERR));
    for (size_t i = 0; i < WPT_COUNT(keys); i++) {
        assert_int_equal(duplicates[i], wanted[i]);
        wp_message_free(messages[i]);
    }
    assert_true(wpt_id_equal(&ids[1], &ids[0]));
    assert_true(wpt_id_equal(&ids[5], &ids[2]));
    assert_int_equal(wpt_claimable(b->store), 4);
}

/* Two keys that differ in the last character only, at the longest length. */
/* proves: UNQ-001, ORD-001 */
static void test_keys__longest_and_alike__stay_apart(void **state)
{
    bed *b = *state;
    char *one = repeat("\xe2\x82\xac", 255);
    char *other = repeat("\xe2\x82\xac", 255);
    char *longer = repeat("a", 256);
    wp_message *message = wpt_message("t", "x");
    int duplicate;
    other[strlen(other) - 1] = (char)0xad;
    (void)send_unique(b, NULL, one, &duplicate);
    (void)send_unique(b, NULL, other, &duplicate);
    assert_int_equal(duplicate, 0);
    (void)send_keyed(b, one);
    (void)send_keyed(b, other);
    assert_int_equal(wpt_claimable(b->store), 4);
    WPT_FAILS(wp_message_set_unique_key(message, longer, WPT_ERR), WP_E_ARGUMENT, "unique_key");
    WPT_FAILS(wp_message_set_ordering_key(message, longer, WPT_ERR), WP_E_ARGUMENT, "ordering_key");
    wp_message_free(message);
    free(one);
    free(other);
    free(longer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_enqueue__in_the_apps_transaction__visible_after_its_commit),
        BED_TEST(test_enqueue__in_a_transaction_rolled_back__leaves_no_trace),
        BED_TEST(test_enqueue__connection_closed_without_commit__leaves_no_trace),
        BED_TEST(test_enqueue__rolled_back_to_a_savepoint__earlier_message_stays),
        BED_TEST(test_enqueue__without_a_connection__durable_when_it_returns),
        BED_TEST(test_enqueue__without_a_connection__is_not_in_the_apps_transaction),
        BED_TEST(test_enqueue__with_the_apps_own_row__both_or_neither),
        BED_TEST(test_enqueue__after_a_rollback_on_the_same_connection__only_what_was_committed),
        BED_TEST(test_enqueue__database_busy_on_the_apps_connection__is_reported_as_retriable),
        BED_TEST(test_enqueue__database_busy_in_a_transaction_of_ours__is_waited_for),
        BED_TEST(test_enqueue_many__messages__an_id_each_in_order),
        BED_TEST(test_enqueue_many__in_the_apps_transaction__all_go_with_its_rollback),
        BED_TEST(test_enqueue_many__one_bad_message__stores_nothing),
        BED_TEST(test_enqueue__empty_payload__is_legal_and_nothing_else_is),
        BED_TEST(test_enqueue__topic_of_255_units__passes_and_256_does_not),
        BED_TEST(test_enqueue__correlation_id__255_units_and_empty_is_none),
        BED_TEST(test_enqueue__topics_alike__are_different_topics),
        BED_TEST(test_enqueue__any_payload__comes_back_byte_for_byte),
        BED_TEST(test_enqueue__headers__come_back_as_they_were_set),
        BED_TEST(test_enqueue__trace_of_the_caller__goes_along_in_every_queue),
        BED_TEST(test_enqueue__due_later__is_hidden_until_then),
        BED_TEST(test_enqueue__on_arrival__ready_at_attempt_0_created_by_the_databases_clock),
        BED_TEST(test_expires__before_it_was_claimed__failed_and_never_given_out),
        BED_TEST(test_expires__blocked_behind_its_key__failed_and_the_next_one_runs),
        BED_TEST(test_ordering_key__one_key__one_at_a_time_in_enqueue_order),
        BED_TEST(test_ordering_key__busy_key__holds_up_no_other),
        BED_TEST(test_ordering_key__first_one_rolled_back__does_not_block),
        BED_TEST(test_unique_key__in_use__duplicate_until_the_first_is_finished),
        BED_TEST(test_unique_key__first_rolled_back__swallows_nothing),
        BED_TEST(test_unique_key__twice_in_one_batch__told_apart),
        BED_TEST(test_keys__longest_and_alike__stay_apart),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
