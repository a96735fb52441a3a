/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of the inbox: what arrives, how often it counts, and what is told of it. */
#include "bed.h"
#include "inbox_bed.h"

/* ---- what is refused ---------------------------------------------------------------------- */

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

/* scenario: INB-003 */
/* proves: IBX-009, IBX-010, IBX-016, IBX-017 */
static void test_key__null_or_empty__is_refused(void **state)
{
    static const char *const bad[] = {NULL, "", "\xff"};
    wp_inbox_key *k = NULL;
    (void)state;
    for (size_t i = 0; i < WPT_COUNT(bad); i++) {
        WPT_FAILS(wp_inbox_key_new(&k, bad[i], "id", WPT_ERR), WP_E_ARGUMENT, "source");
        WPT_FAILS(wp_inbox_key_new(&k, "src", bad[i], WPT_ERR), WP_E_ARGUMENT, "message_id");
    }
    WPT_FAILS(wp_inbox_key_new(NULL, "src", "id", WPT_ERR), WP_E_ARGUMENT, "out");
    assert_null(k);
}

/* Exactly 255 UTF-16 code units pass, whatever they are made of, and 256 fail before any SQL. */
/* scenario: INB-003 */
/* proves: IBX-011, IBX-012, IBX-020 */
static void test_lengths__at_their_limits__255_passes_and_256_fails(void **state)
{
    static const struct {
        const char *text;
        size_t units;
    } kinds[] = {{"x", 1}, {"é", 1}, {"€", 1}, {"😀", 2}};
    bed *b = *state;
    for (size_t i = 0; i < WPT_COUNT(kinds); i++) {
        char *fits = repeat(kinds[i].text, 255 / kinds[i].units);
        char *over = repeat(kinds[i].text, 255 / kinds[i].units + 1);
        wp_inbox_key *k = NULL;
        wp_message *m = NULL;
        wp_outbox_info *info = NULL;
        WPT_FAILS(wp_inbox_key_new(&k, over, "id", WPT_ERR), WP_E_ARGUMENT, "source");
        WPT_FAILS(wp_inbox_key_new(&k, "src", over, WPT_ERR), WP_E_ARGUMENT, "message_id");
        WPT_FAILS(wp_message_new(&m, over, "", 0, WPT_ERR), WP_E_ARGUMENT, "topic");
        WPT_OK(wp_inbox_key_new(&k, fits, fits, WPT_ERR));
        WPT_FAILS(wp_inbox_key_set_consumer(k, over, WPT_ERR), WP_E_ARGUMENT, "consumer");
        WPT_OK(wp_inbox_key_set_consumer(k, fits, WPT_ERR));
        WPT_OK(wp_message_new(&m, fits, "", 0, WPT_ERR));
        WPT_OK(wp_inbox_enqueue(NULL, NULL, NULL, b->store, NULL, k, m, WPT_ERR));
        WPT_OK(wp_inbox_get(&info, b->store, k, WPT_ERR));
        assert_string_equal(wp_received_source(wp_outbox_info_message(info)), fits);
        assert_string_equal(wp_received_message_id(wp_outbox_info_message(info)), fits);
        assert_string_equal(wp_received_consumer(wp_outbox_info_message(info)), fits);
        assert_string_equal(wp_received_topic(wp_outbox_info_message(info)), fits);
        wp_outbox_info_free(info);
        wp_inbox_key_free(k);
        wp_message_free(m);
        free(fits);
        free(over);
    }
}

/* scenario: INB-003, INB-005 */
/* proves: IBX-015, IBX-018, IBX-019 */
static void test_message__null_or_empty__as_it_may_be(void **state)
{
    bed *b = *state;
    wp_message *m = NULL;
    wp_inbox_state found;
    WPT_FAILS(wp_message_new(&m, NULL, "", 0, WPT_ERR), WP_E_ARGUMENT, "topic");
    WPT_FAILS(wp_message_new(&m, "", "", 0, WPT_ERR), WP_E_ARGUMENT, "topic");
    WPT_FAILS(wp_message_new(&m, "t", NULL, 0, WPT_ERR), WP_E_ARGUMENT, "payload");
    found = ib_enqueue(b->store, NULL, "src", "1", "t", "");
    assert_int_equal(found, WP_INBOX_NEW);
    ib_payload_is(b->store, "src", "1", "");
}

static void test_calls__bad_arguments__are_named_and_change_nothing(void **state)
{
    bed *b = *state;
    wp_inbox_key *k = ib_key("src", "1");
    wp_message *m = wpt_message("t", "x");
    wp_message *unique = wpt_message("t", "x");
    wp_op *op = NULL;
    int proceed = 7;
    unsigned char big[WP_HASH_MAX + 1] = {0};
    WPT_OK(wp_message_set_unique_key(unique, "u", WPT_ERR));
    WPT_FAILS(wp_inbox_check(NULL, NULL, b->store, NULL, NULL, WPT_ERR), WP_E_ARGUMENT, "key");
    WPT_FAILS(wp_inbox_check(NULL, NULL, NULL, NULL, k, WPT_ERR), WP_E_ARGUMENT, "store");
    WPT_FAILS(wp_inbox_enqueue(NULL, NULL, NULL, b->store, NULL, NULL, m, WPT_ERR), WP_E_ARGUMENT,
              "key");
    WPT_FAILS(wp_inbox_enqueue(NULL, NULL, NULL, b->store, NULL, k, NULL, WPT_ERR), WP_E_ARGUMENT,
              "message");
    WPT_FAILS(wp_inbox_enqueue(NULL, NULL, NULL, b->store, NULL, k, unique, WPT_ERR), WP_E_ARGUMENT,
              "unique key");
    WPT_FAILS(wp_inbox_enqueue_many(NULL, NULL, NULL, b->store, NULL, NULL, NULL, 1, WPT_ERR),
              WP_E_ARGUMENT, "keys");
    WPT_FAILS(wp_inbox_once(&proceed, NULL, NULL, b->store, NULL, k, WPT_ERR), WP_E_ARGUMENT,
              "conn");
    WPT_FAILS(wp_inbox_once(NULL, NULL, NULL, b->store, b->conn, k, WPT_ERR), WP_E_ARGUMENT,
              "proceed");
    WPT_FAILS(wp_inbox_mark_processed(b->store, NULL, NULL, WPT_ERR), WP_E_ARGUMENT, "key");
    WPT_FAILS(wp_inbox_mark_op(&op, b->store, k, (wp_inbox_mark)9, NULL, WPT_ERR), WP_E_ARGUMENT,
              "mark");
    WPT_FAILS(wp_inbox_key_set_hash(k, NULL, 1, NULL, WPT_ERR), WP_E_ARGUMENT, "hash");
    WPT_FAILS(wp_inbox_key_set_hash(k, big, sizeof big, NULL, WPT_ERR), WP_E_ARGUMENT, "hash");
    WPT_OK(wp_inbox_key_set_hash(k, big, WP_HASH_MAX, NULL, WPT_ERR));
    assert_null(op);
    assert_int_equal(proceed, 7);
    ib_is_unknown(b->store, "src", "1");
    wp_inbox_key_free(k);
    wp_message_free(m);
    wp_message_free(unique);
}

/* ---- the check ---------------------------------------------------------------------------- */

/* scenario: INB-001 */
/* proves: IBX-001, IBX-002, IBX-004..006 */
static void test_check__of_a_message__is_new_once_and_then_seen(void **state)
{
    bed *b = *state;
    assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_NEW);
    assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_SEEN);
    assert_int_equal(ib_check(b->store, NULL, "src", "2"), WP_INBOX_NEW);
    assert_int_equal(ib_check(b->store, NULL, "other", "1"), WP_INBOX_NEW);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_SEEN);
    assert_int_equal(ib_claimable(b->store), 0);
}

/* scenario: INB-001 */
/* proves: IBX-002, IBX-003, IBX-028 */
static void test_check__of_a_message_that_is_done__says_so(void **state)
{
    bed *b = *state;
    wp_inbox_key *k = ib_key("src", "1");
    assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_NEW);
    WPT_OK(wp_inbox_mark_processed(b->store, NULL, k, WPT_ERR));
    for (int i = 0; i < 3; i++)
        assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_DONE);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_DONE);
    wp_inbox_key_free(k);
}

/* proves: IBX-005, IBX-025, IBX-026 */
static void test_arrivals__at_different_times__first_and_last_are_kept(void **state)
{
    bed *b = *state;
    ib_times times;
    assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_NEW);
    times = ib_times_of(b->store, "src", "1");
    assert_int_equal(times.first_us, WPT_START_US);
    assert_int_equal(times.last_us, WPT_START_US);
    wpt_advance_ms(b->clock, 5);
    assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_SEEN);
    times = ib_times_of(b->store, "src", "1");
    assert_int_equal(times.first_us, WPT_START_US);
    assert_int_equal(times.last_us, WPT_START_US + 5000);
    wpt_advance_ms(b->clock, 5);
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "x"), WP_INBOX_SEEN);
    times = ib_times_of(b->store, "src", "1");
    assert_int_equal(times.first_us, WPT_START_US);
    assert_int_equal(times.last_us, WPT_START_US + 10000);
    wpt_advance_ms(b->clock, 5);
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "x"), WP_INBOX_PROCESSING);
    assert_int_equal(ib_times_of(b->store, "src", "1").last_us, WPT_START_US + 15000);
}

/* ---- keys --------------------------------------------------------------------------------- */

/* Byte for byte: none of these is another one, and no delimiter can be mistaken. */
/* scenario: INB-002 */
/* proves: IBX-001, IBX-021, IBX-125 */
static void test_keys__that_differ_a_little__are_different_messages(void **state)
{
    static const char *const names[] = {"order",         "Order", "order ", " order", "ordér",
                                        "orde\xcc\x81r", "I",     "i",      "ı",      "İ",
                                        "a|b",           "a"};
    bed *b = *state;
    for (size_t i = 0; i < WPT_COUNT(names); i++)
        for (size_t j = 0; j < WPT_COUNT(names); j++)
            assert_int_equal(ib_check(b->store, NULL, names[i], names[j]), WP_INBOX_NEW);
    for (size_t i = 0; i < WPT_COUNT(names); i++)
        for (size_t j = 0; j < WPT_COUNT(names); j++)
            assert_int_equal(ib_check(b->store, NULL, names[i], names[j]), WP_INBOX_SEEN);
}

/* scenario: INB-002, INB-015 */
/* proves: IBX-001 */
static void test_consumers__of_one_message__each_process_it_once(void **state)
{
    static const char *const consumers[] = {"billing", "Billing", "b|c", "", NULL};
    bed *b = *state;
    wp_inbox_key *k = ib_key("a", "b|c");
    wp_inbox_key *split = ib_key("a|b", "c");
    wp_inbox_state found;
    for (size_t i = 0; i < 4; i++) {
        WPT_OK(wp_inbox_key_set_consumer(k, consumers[i], WPT_ERR));
        WPT_OK(wp_inbox_check(&found, NULL, b->store, NULL, k, WPT_ERR));
        assert_int_equal(found, WP_INBOX_NEW);
        WPT_OK(wp_inbox_mark_processed(b->store, NULL, k, WPT_ERR));
    }
    WPT_OK(wp_inbox_key_set_consumer(k, NULL, WPT_ERR)); /* no name is the empty name */
    WPT_OK(wp_inbox_check(&found, NULL, b->store, NULL, k, WPT_ERR));
    assert_int_equal(found, WP_INBOX_DONE);
    WPT_OK(wp_inbox_check(&found, NULL, b->store, NULL, split, WPT_ERR));
    assert_int_equal(found, WP_INBOX_NEW);
    wp_inbox_key_free(k);
    wp_inbox_key_free(split);
}

/* ---- hashes ------------------------------------------------------------------------------- */

static void set_hash(wp_inbox_key *k, char fill, const char *algorithm)
{
    char hash[32];
    memset(hash, fill, sizeof hash);
    WPT_OK(wp_inbox_key_set_hash(k, hash, sizeof hash, algorithm, WPT_ERR));
}

static int check_mismatch(bed *b, const wp_inbox_key *k)
{
    int mismatch = -1;
    WPT_OK(wp_inbox_check(NULL, &mismatch, b->store, NULL, k, WPT_ERR));
    return mismatch;
}

/* scenario: INB-004 */
/* proves: IBX-007, IBX-008, IBX-107, IBX-129 */
static void test_hash__of_another_content__is_told_logged_and_counted(void **state)
{
    bed *b = *state;
    wpt_log log;
    wp_inbox_key *k = ib_key("src", "1");
    wp_outbox_info *info = NULL;
    size_t len = 0;
    wpt_log_init(&log);
    ib_reopen_logged(b, &log, "debug");
    assert_int_equal(check_mismatch(b, k), 0);
    set_hash(k, 'a', NULL); /* the first hash is kept */
    assert_int_equal(check_mismatch(b, k), 0);
    assert_int_equal(wpt_log_count(&log, "warning", "hash", "src"), 0);
    set_hash(k, 'b', NULL);
    assert_int_equal(check_mismatch(b, k), 1);
    assert_int_equal(check_mismatch(b, k), 1);
    assert_int_equal(wpt_log_count(&log, "warning", "hash", "\"src\""), 2);
    assert_int_equal(wp_inbox_counter(b->store, WP_INBOX_COUNTER_MISMATCHES), 2);
    assert_int_equal(wp_inbox_counter(b->store, WP_INBOX_COUNTER_CHECKED), 4);
    set_hash(k, 'b', "md5"); /* not to be compared */
    assert_int_equal(check_mismatch(b, k), 0);
    WPT_OK(wp_inbox_key_set_hash(k, NULL, 0, NULL, WPT_ERR));
    assert_int_equal(check_mismatch(b, k), 0);
    WPT_OK(wp_inbox_get(&info, b->store, k, WPT_ERR));
    assert_memory_equal(wp_received_hash(&len, wp_outbox_info_message(info)),
                        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 32);
    assert_int_equal(len, 32);
    assert_string_equal(wp_received_hash_algorithm(wp_outbox_info_message(info)), "sha256");
    assert_int_equal(wpt_log_count(&log, "debug", "checked", "\"Found\":\"seen\""), 5);
    wp_outbox_info_free(info);
    wp_inbox_key_free(k);
    ib_close_logged(b, &log);
}

/* scenario: INB-004 */
/* proves: IBX-007 */
static void test_hash__of_the_greatest_length__is_kept_whole(void **state)
{
    bed *b = *state;
    unsigned char hash[WP_HASH_MAX];
    wp_inbox_key *k = ib_key("src", "1"), *once = ib_key("src", "2");
    wp_message *m = wpt_message("t", "x");
    const wp_id owner = wpt_owner(1);
    wp_claim *claim = NULL;
    size_t len = 0;
    int mismatch = -1, proceed = 0;
    memset(hash, 0xfe, sizeof hash);
    WPT_OK(wp_inbox_key_set_hash(k, hash, sizeof hash, NULL, WPT_ERR));
    WPT_OK(wp_inbox_key_set_hash(once, hash, sizeof hash, NULL, WPT_ERR));
    assert_int_equal(check_mismatch(b, k), 0);
    assert_int_equal(check_mismatch(b, k), 0);
    WPT_OK(wp_inbox_enqueue(NULL, NULL, &mismatch, b->store, NULL, k, m, WPT_ERR));
    assert_int_equal(mismatch, 0);
    WPT_OK(wp_inbox_claim(&claim, b->store, &owner, NULL, 0, 1, 1000, WPT_ERR));
    assert_memory_equal(wp_received_hash(&len, wp_claim_at(claim, 0)), hash, sizeof hash);
    assert_int_equal(len, sizeof hash);
    wp_claim_free(claim);
    bed_exec(b, b->engine->begin);
    WPT_OK(wp_inbox_once(&proceed, NULL, &mismatch, b->store, b->conn, once, WPT_ERR));
    bed_exec(b, b->engine->commit);
    assert_int_equal(proceed, 1);
    hash[sizeof hash - 1]++;
    WPT_OK(wp_inbox_key_set_hash(k, hash, sizeof hash, NULL, WPT_ERR));
    WPT_OK(wp_inbox_key_set_hash(once, hash, sizeof hash, NULL, WPT_ERR));
    assert_int_equal(check_mismatch(b, k), 1);
    assert_int_equal(check_mismatch(b, once), 1);
    wp_message_free(m);
    wp_inbox_key_free(once);
    wp_inbox_key_free(k);
}

/* proves: IBX-008, IBX-029 */
static void test_hash__that_an_enqueue_brings__replaces_the_one_before(void **state)
{
    bed *b = *state;
    wp_inbox_key *k = ib_key("src", "1");
    wp_message *m = wpt_message("t", "x");
    int mismatch = -1;
    set_hash(k, 'a', NULL);
    assert_int_equal(check_mismatch(b, k), 0);
    set_hash(k, 'b', NULL);
    WPT_OK(wp_inbox_enqueue(NULL, NULL, &mismatch, b->store, NULL, k, m, WPT_ERR));
    assert_int_equal(mismatch, 1);
    WPT_OK(wp_inbox_enqueue(NULL, NULL, &mismatch, b->store, NULL, k, m, WPT_ERR));
    assert_int_equal(mismatch, 0);
    assert_int_equal(check_mismatch(b, k), 0);
    WPT_OK(wp_inbox_mark_processed(b->store, NULL, k, WPT_ERR)); /* then it stays */
    set_hash(k, 'c', NULL);
    for (int i = 0; i < 2; i++) {
        WPT_OK(wp_inbox_enqueue(NULL, NULL, &mismatch, b->store, NULL, k, m, WPT_ERR));
        assert_int_equal(mismatch, 1);
    }
    wp_inbox_key_free(k);
    wp_message_free(m);
}

/* ---- enqueue ------------------------------------------------------------------------------ */

/* proves: IBX-013, IBX-014, IBX-022, IBX-024, IBX-027, IBX-118 */
static void test_enqueue__of_a_new_message__is_durable_and_claimable_at_once(void **state)
{
    bed *b = *state;
    const size_t len = 3 << 20;
    char *payload = malloc(len + 1);
    wp_claim *claim;
    const wp_received *r;
    size_t got = 0;
    assert_non_null(payload);
    memset(payload, '{', len); /* of no format at all */
    payload[len] = '\0';
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", payload), WP_INBOX_NEW);
    if (!b->engine->opens_new)
        bed_reopen(b, NULL);
    claim = ib_claim(b->store, 1, 10, 1000);
    assert_int_equal(wp_claim_count(claim), 1);
    r = wp_claim_at(claim, 0);
    assert_string_equal(wp_received_topic(r), "t");
    assert_string_equal(wp_received_source(r), "src");
    assert_string_equal(wp_received_message_id(r), "1");
    assert_string_equal(wp_received_consumer(r), "");
    assert_int_equal(wp_received_attempt(r), 0);
    assert_null(wp_received_hash(NULL, r));
    assert_null(wp_received_hash_algorithm(r));
    assert_int_equal(wp_received_created_us(r), WPT_START_US);
    assert_int_equal(wp_received_last_seen_us(r), WPT_START_US);
    assert_memory_equal(wp_received_payload(&got, r), payload, len);
    assert_int_equal(got, len);
    wp_claim_free(claim);
    free(payload);
}

/* scenario: INB-001, INB-005 */
/* proves: IBX-013, IBX-102 */
static void test_enqueue__in_the_apps_transaction__both_or_neither(void **state)
{
    bed *b = *state;
    bed_exec(b, b->engine->begin);
    bed_exec(b, "INSERT INTO orders VALUES (1)");
    assert_int_equal(ib_enqueue(b->store, b->conn, "src", "1", "t", "x"), WP_INBOX_NEW);
    assert_int_equal(ib_enqueue(b->store, b->conn, "src", "1", "t", "y"), WP_INBOX_PROCESSING);
    assert_int_equal(ib_check(b->store, b->conn, "src", "2"), WP_INBOX_NEW);
    bed_exec(b, b->engine->rollback);
    ib_is_unknown(b->store, "src", "1");
    ib_is_unknown(b->store, "src", "2");
    bed_exec(b, b->engine->begin);
    bed_exec(b, "INSERT INTO orders VALUES (2)");
    assert_int_equal(ib_enqueue(b->store, b->conn, "src", "1", "t", "z"), WP_INBOX_NEW);
    bed_exec(b, b->engine->commit);
    assert_int_equal(ib_claimable(b->store), 1);
    assert_int_equal(bed_number(b, "SELECT count(*) FROM orders"), 1);
}

/* proves: IBX-004, IBX-027, IBX-029 */
static void test_enqueue__of_a_seen_message__makes_it_ready(void **state)
{
    bed *b = *state;
    assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_NEW);
    assert_int_equal(ib_claimable(b->store), 0);
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "x"), WP_INBOX_SEEN);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_READY);
    assert_int_equal(ib_claimable(b->store), 1);
    ib_payload_is(b->store, "src", "1", "x");
}

/* A message that comes again takes the new values, and is one message still. */
/* scenario: INB-006 */
/* proves: IBX-014, IBX-029, IBX-023, IBX-032 */
static void test_enqueue__of_an_unfinished_message__takes_the_new_values(void **state)
{
    bed *b = *state;
    wp_inbox_key *k = ib_key("src", "1");
    wp_message *m = wpt_message("other", "new");
    wp_outbox_info *info = NULL;
    wp_id id, again;
    wp_inbox_state found;
    WPT_OK(wp_message_set_due_us(m, WPT_START_US + 2000, WPT_ERR));
    WPT_OK(wp_message_set_correlation_id(m, "c", WPT_ERR));
    WPT_OK(wp_message_set_header(m, "h", "v", WPT_ERR));
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "old"), WP_INBOX_NEW);
    id = ib_id(b->store, "src", "1");
    WPT_OK(wp_inbox_enqueue(&again, &found, NULL, b->store, NULL, k, m, WPT_ERR));
    assert_int_equal(found, WP_INBOX_PROCESSING);
    assert_true(wpt_id_equal(&id, &again));
    assert_int_equal(ib_claimable(b->store), 0); /* it is due later now */
    wpt_advance_ms(b->clock, 2);
    assert_int_equal(ib_claimable(b->store), 1);
    WPT_OK(wp_inbox_get(&info, b->store, k, WPT_ERR));
    assert_string_equal(wp_received_topic(wp_outbox_info_message(info)), "other");
    assert_string_equal(wp_received_payload(NULL, wp_outbox_info_message(info)), "new");
    assert_string_equal(wp_received_correlation_id(wp_outbox_info_message(info)), "c");
    assert_string_equal(wp_received_headers(wp_outbox_info_message(info)), "{\"h\":\"v\"}");
    assert_int_equal(wp_received_due_us(wp_outbox_info_message(info)), WPT_START_US + 2000);
    wp_outbox_info_free(info);
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "at once"), WP_INBOX_PROCESSING);
    assert_int_equal(ib_claimable(b->store), 1);
    wp_message_free(m);
    wp_inbox_key_free(k);
}

/* While it is claimed, the new values do not disturb the claim, and a retry waits for the due time. */
/* proves: IBX-029, IBX-032, IBX-051 */
static void test_enqueue__of_a_claimed_message__counts_for_its_next_attempt(void **state)
{
    bed *b = *state;
    wp_inbox_key *k = ib_key("src", "1");
    wp_message *m = wpt_message("t", "new");
    wp_id id;
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "old"), WP_INBOX_NEW);
    id = ib_claim_one(b->store, 1, 60000);
    WPT_OK(wp_message_set_delay_ms(m, 10000, WPT_ERR));
    WPT_OK(wp_inbox_enqueue(NULL, NULL, NULL, b->store, NULL, k, m, WPT_ERR));
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_IN_PROGRESS);
    assert_int_equal(ib_attempt(b->store, "src", "1"), 0);
    ib_abandon(b->store, 1, &id, 1000, NULL);
    wpt_advance_ms(b->clock, 9999);
    assert_int_equal(ib_claimable(b->store), 0);
    wpt_advance_ms(b->clock, 1);
    assert_int_equal(ib_claimable(b->store), 1);
    assert_int_equal(ib_attempt(b->store, "src", "1"), 1);
    ib_payload_is(b->store, "src", "1", "new");
    wp_message_free(m);
    wp_inbox_key_free(k);
}

/* scenario: INB-006 */
/* proves: IBX-028 */
static void test_enqueue__of_a_done_message__changes_nothing(void **state)
{
    bed *b = *state;
    wp_id id;
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "old"), WP_INBOX_NEW);
    id = ib_claim_one(b->store, 1, 1000);
    ib_ack(b->store, 1, &id, 1);
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "other", "new"), WP_INBOX_DONE);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_DONE);
    ib_payload_is(b->store, "src", "1", "old");
    assert_int_equal(ib_claimable(b->store), 0);
    assert_int_equal(wp_inbox_counter(b->store, WP_INBOX_COUNTER_ENQUEUED), 1);
    assert_int_equal(wp_inbox_counter(b->store, WP_INBOX_COUNTER_DUPLICATES), 1);
}

/* scenario: INB-009 */
/* proves: IBX-029, IBX-038 */
static void test_enqueue__of_a_dead_message__takes_the_values_and_stays_dead(void **state)
{
    bed *b = *state;
    wp_inbox_key *k = ib_key("src", "1");
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "old"), WP_INBOX_NEW);
    WPT_OK(wp_inbox_mark_dead(b->store, NULL, k, "poison", WPT_ERR));
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "new"), WP_INBOX_DEAD);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_FAILED);
    ib_payload_is(b->store, "src", "1", "new");
    assert_int_equal(ib_claimable(b->store), 0);
    WPT_OK(wp_inbox_revive(b->store, NULL, k, WPT_ERR));
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_READY);
    assert_int_equal(ib_attempt(b->store, "src", "1"), 0);
    assert_int_equal(ib_claimable(b->store), 1);
    WPT_STATUS(wp_inbox_revive(b->store, NULL, k, WPT_ERR), WP_E_STATE);
    wp_inbox_key_free(k);
}

/* proves: IBX-029 */
static void test_enqueue__of_a_dead_message_with_revive_dead__makes_it_ready(void **state)
{
    bed *b = *state;
    wp_inbox_key *k = ib_key("src", "1");
    wp_id id;
    bed_reopen(b, WPT_OPTIONS("inbox.revive_dead", "true"));
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "old"), WP_INBOX_NEW);
    id = ib_claim_one(b->store, 1, 1000);
    ib_abandon(b->store, 1, &id, 1, "failed");
    WPT_OK(wp_inbox_mark_dead(b->store, NULL, k, "poison", WPT_ERR));
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "new"), WP_INBOX_DEAD);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_READY);
    assert_int_equal(ib_attempt(b->store, "src", "1"), 0);
    ib_payload_is(b->store, "src", "1", "new");
    id = ib_claim_one(b->store, 1, 1000);
    ib_ack(b->store, 1, &id, 1);
    wp_inbox_key_free(k);
}

/* proves: IBX-023, IBX-029 */
static void test_enqueue__that_revives__keeps_the_due_time(void **state)
{
    bed *b = *state;
    wp_inbox_key *k = ib_key("src", "1");
    wp_message *m = wpt_message("t", "x");
    bed_reopen(b, WPT_OPTIONS("inbox.revive_dead", "true"));
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "old"), WP_INBOX_NEW);
    WPT_OK(wp_inbox_mark_dead(b->store, NULL, k, "poison", WPT_ERR));
    WPT_OK(wp_message_set_due_us(m, WPT_START_US + 3600 * WPT_SECOND_US, WPT_ERR));
    WPT_OK(wp_inbox_enqueue(NULL, NULL, NULL, b->store, NULL, k, m, WPT_ERR));
    assert_int_equal(ib_claimable(b->store), 0);
    WPT_OK(wp_inbox_mark_dead(b->store, NULL, k, "poison", WPT_ERR));
    WPT_OK(wp_inbox_revive(b->store, NULL, k, WPT_ERR));
    assert_int_equal(ib_claimable(b->store), 0);
    wpt_advance_ms(b->clock, 3600000);
    assert_int_equal(ib_claimable(b->store), 1);
    wp_message_free(m);
    wp_inbox_key_free(k);
}

/* proves: IBX-023, IBX-024, IBX-032 */
static void test_enqueue__with_a_due_time__is_claimable_when_it_comes(void **state)
{
    bed *b = *state;
    wp_inbox_key *k = ib_key("src", "1");
    wp_inbox_key *past = ib_key("src", "2");
    wp_message *m = wpt_message("t", "x");
    WPT_OK(wp_message_set_due_us(m, WPT_START_US + 1, WPT_ERR));
    WPT_OK(wp_inbox_enqueue(NULL, NULL, NULL, b->store, NULL, k, m, WPT_ERR));
    assert_int_equal(ib_claimable(b->store), 0);
    WPT_OK(wp_message_set_due_us(m, 0, WPT_ERR));
    WPT_OK(wp_inbox_enqueue(NULL, NULL, NULL, b->store, NULL, past, m, WPT_ERR));
    assert_int_equal(ib_claimable(b->store), 1);
    WPT_OK(wp_clock_advance_us(b->clock, 1, WPT_ERR));
    assert_int_equal(ib_claimable(b->store), 2);
    wp_message_free(m);
    wp_inbox_key_free(k);
    wp_inbox_key_free(past);
}

/* A batch stores what is new in it, and tells of the rest, repeats in itself too. */
/* scenario: INB-007 */
/* proves: IBX-014, IBX-102 */
static void test_enqueue_many__with_repeats__tells_of_each(void **state)
{
    bed *b = *state;
    wp_inbox_key *keys[] = {ib_key("src", "k"), ib_key("src", "k"), ib_key("src", "l"),
                            ib_key("src", "done")};
    wp_message *messages[] = {wpt_message("t", "1"), wpt_message("t", "2"), wpt_message("t", "3"),
                              wpt_message("t", "4")};
    wp_inbox_state found[4];
    int mismatches[4];
    wp_id ids[4];
    assert_int_equal(ib_check(b->store, NULL, "src", "done"), WP_INBOX_NEW);
    WPT_OK(wp_inbox_mark_processed(b->store, NULL, keys[3], WPT_ERR));
    WPT_OK(wp_inbox_enqueue_many(ids, found, mismatches, b->store, NULL,
                                 (const wp_inbox_key *const *)keys,
                                 (const wp_message *const *)messages, 4, WPT_ERR));
    assert_int_equal(found[0], WP_INBOX_NEW);
    assert_int_equal(found[1], WP_INBOX_PROCESSING);
    assert_int_equal(found[2], WP_INBOX_NEW);
    assert_int_equal(found[3], WP_INBOX_DONE);
    assert_true(wpt_id_equal(&ids[0], &ids[1]));
    assert_false(wpt_id_equal(&ids[0], &ids[2]));
    ib_payload_is(b->store, "src", "k", "2");
    assert_int_equal(ib_claimable(b->store), 2);
    wp_inbox_key_free(keys[0]);
    keys[0] = ib_key("src", "with a bad one");
    WPT_OK(wp_message_set_unique_key(messages[1], "u", WPT_ERR));
    WPT_FAILS(wp_inbox_enqueue_many(NULL, NULL, NULL, b->store, NULL,
                                    (const wp_inbox_key *const *)keys,
                                    (const wp_message *const *)messages, 4, WPT_ERR),
              WP_E_ARGUMENT, "unique key");
    ib_is_unknown(b->store, "src", "with a bad one");
    WPT_OK(wp_inbox_enqueue_many(NULL, NULL, NULL, b->store, NULL,
                                 (const wp_inbox_key *const *)keys,
                                 (const wp_message *const *)messages, 0, WPT_ERR));
    for (size_t i = 0; i < 4; i++) {
        wp_inbox_key_free(keys[i]);
        wp_message_free(messages[i]);
    }
}

/* proves: IBX-108, IBX-109, IBX-113, IBX-127 */
static void test_enqueue__logged__names_topic_source_and_id_but_no_payload(void **state)
{
    bed *b = *state;
    wpt_log log;
    wpt_log_init(&log);
    ib_reopen_logged(b, &log, "debug");
    assert_int_equal(ib_enqueue(b->store, NULL, "shop", "m-17", "paid", "secret-content"),
                     WP_INBOX_NEW);
    assert_int_equal(
        wpt_log_count(&log, "info", "\"Topic\":\"paid\"", "\"SourceMessageId\":\"m-17\""), 1);
    assert_int_equal(wpt_log_count(&log, "info", "\"Source\":\"shop\"", "\"StoreId\":"), 1);
    wp_claim_free(ib_claim(b->store, 1, 1, 1000));
    assert_int_equal(wpt_log_count(&log, "debug", "claimed", "\"Count\":1"), 1);
    assert_int_equal(wpt_log_count(&log, "", "secret-content", ""), 0);
    ib_close_logged(b, &log);
}

/* ---- states by key ------------------------------------------------------------------------ */

/* scenario: INB-009 */
static void test_marks__on_a_message_in_each_state__do_what_is_said(void **state)
{
    bed *b = *state;
    wp_inbox_key *k = ib_key("src", "1");
    wp_id id;
    WPT_FAILS(wp_inbox_mark_processing(b->store, NULL, k, WPT_ERR), WP_E_NOT_FOUND, "src");
    WPT_STATUS(wp_inbox_mark_processed(b->store, NULL, k, WPT_ERR), WP_E_NOT_FOUND);
    WPT_STATUS(wp_inbox_mark_dead(b->store, NULL, k, NULL, WPT_ERR), WP_E_NOT_FOUND);
    WPT_STATUS(wp_inbox_revive(b->store, NULL, k, WPT_ERR), WP_E_NOT_FOUND);

    assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_NEW);
    WPT_FAILS(wp_inbox_revive(b->store, NULL, k, WPT_ERR), WP_E_STATE, "only seen");
    WPT_OK(wp_inbox_mark_processing(b->store, NULL, k, WPT_ERR));
    WPT_OK(wp_inbox_mark_processing(b->store, NULL, k, WPT_ERR));
    assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_PROCESSING);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_IN_PROGRESS);
    assert_int_equal(ib_claimable(b->store), 0);
    wpt_advance_ms(b->clock, 100000000);
    WPT_OK(wp_inbox_reap(NULL, b->store, WPT_ERR)); /* it has no lease to lose */
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_IN_PROGRESS);

    WPT_OK(wp_inbox_mark_dead(b->store, NULL, k, "no good", WPT_ERR));
    assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_DEAD);
    ib_last_error_is(b->store, "src", "1", "no good");
    WPT_FAILS(wp_inbox_mark_processing(b->store, NULL, k, WPT_ERR), WP_E_STATE, "dead");
    WPT_OK(wp_inbox_revive(b->store, NULL, k, WPT_ERR)); /* it never had a topic */
    assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_SEEN);

    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "x"), WP_INBOX_SEEN);
    id = ib_claim_one(b->store, 1, 1000);
    WPT_OK(wp_inbox_mark_processed(b->store, NULL, k, WPT_ERR));
    assert_int_equal(ib_ack(b->store, 1, &id, 1), 0); /* its claim is lost */
    WPT_OK(wp_inbox_mark_processed(b->store, NULL, k, WPT_ERR));
    WPT_FAILS(wp_inbox_mark_dead(b->store, NULL, k, NULL, WPT_ERR), WP_E_STATE, "done");
    WPT_FAILS(wp_inbox_revive(b->store, NULL, k, WPT_ERR), WP_E_STATE, "done");
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_DONE);
    wp_inbox_key_free(k);
}

/* What the app was processing itself and then enqueued is a worker's. */
static void test_enqueue__of_a_message_marked_by_the_app__makes_it_ready(void **state)
{
    bed *b = *state;
    wp_inbox_key *k = ib_key("src", "1");
    assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_NEW);
    WPT_OK(wp_inbox_mark_processing(b->store, NULL, k, WPT_ERR));
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "x"), WP_INBOX_PROCESSING);
    assert_int_equal(ib_claimable(b->store), 1);
    wp_inbox_key_free(k);
}

/* Dead ones by the app's hand may turn out to have been processed. */
static void test_mark_processed__on_a_dead_message__makes_it_done(void **state)
{
    bed *b = *state;
    wp_inbox_key *k = ib_key("src", "1");
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "x"), WP_INBOX_NEW);
    WPT_OK(wp_inbox_mark_dead(b->store, NULL, k, NULL, WPT_ERR));
    WPT_OK(wp_inbox_mark_processed(b->store, NULL, k, WPT_ERR));
    assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_DONE);
    wp_inbox_key_free(k);
}

static void test_marks__in_the_apps_transaction__are_undone_with_it(void **state)
{
    bed *b = *state;
    wp_inbox_key *k = ib_key("src", "1");
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "x"), WP_INBOX_NEW);
    bed_exec(b, b->engine->begin);
    WPT_OK(wp_inbox_mark_processed(b->store, b->conn, k, WPT_ERR));
    bed_exec(b, b->engine->rollback);
    assert_int_equal(ib_claimable(b->store), 1);
    bed_exec(b, b->engine->begin);
    WPT_OK(wp_inbox_mark_processed(b->store, b->conn, k, WPT_ERR));
    bed_exec(b, b->engine->commit);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_DONE);
    wp_inbox_key_free(k);
}

/* ---- once --------------------------------------------------------------------------------- */

/* scenario: INB-008 */
/* proves: IBX-001, IBX-002, BND-002 */
static void test_once__committed__is_processed_and_never_again(void **state)
{
    bed *b = *state;
    for (int i = 0; i < 3; i++) {
        wp_inbox_state found;
        bed_exec(b, b->engine->begin);
        assert_int_equal(ib_once(b->store, b->conn, "src", "1", &found), i == 0);
        if (i == 0)
            bed_exec(b, "INSERT INTO orders VALUES (1)");
        assert_int_equal(found, i == 0 ? WP_INBOX_NEW : WP_INBOX_DONE);
        bed_exec(b, b->engine->commit);
    }
    assert_int_equal(bed_number(b, "SELECT count(*) FROM orders"), 1);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_DONE);
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "x"), WP_INBOX_DONE);
}

/* scenario: INB-008 */
static void test_once__rolled_back__is_as_it_was_before(void **state)
{
    bed *b = *state;
    wp_inbox_state found;
    assert_int_equal(ib_check(b->store, NULL, "src", "seen"), WP_INBOX_NEW);
    bed_exec(b, b->engine->begin);
    assert_int_equal(ib_once(b->store, b->conn, "src", "1", NULL), 1);
    assert_int_equal(ib_once(b->store, b->conn, "src", "seen", &found), 1);
    assert_int_equal(found, WP_INBOX_SEEN);
    bed_exec(b, "INSERT INTO orders VALUES (1)");
    bed_exec(b, b->engine->rollback);
    ib_is_unknown(b->store, "src", "1");
    assert_int_equal(ib_status(b->store, "src", "seen"), WP_MESSAGE_SEEN);
    bed_exec(b, b->engine->begin);
    assert_int_equal(ib_once(b->store, b->conn, "src", "1", NULL), 1);
    bed_exec(b, b->engine->savepoint);
    assert_int_equal(ib_once(b->store, b->conn, "src", "2", NULL), 1);
    bed_exec(b, b->engine->rollback_to);
    bed_exec(b, b->engine->commit);
    assert_int_equal(ib_status(b->store, "src", "1"), WP_MESSAGE_DONE);
    ib_is_unknown(b->store, "src", "2");
}

static void test_once__of_a_message_that_others_have__does_not_proceed(void **state)
{
    bed *b = *state;
    wp_inbox_key *marked = ib_key("src", "marked");
    wp_inbox_key *dead = ib_key("src", "dead");
    wp_inbox_state found;
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "queued", "t", "x"), WP_INBOX_NEW);
    assert_int_equal(ib_check(b->store, NULL, "src", "marked"), WP_INBOX_NEW);
    WPT_OK(wp_inbox_mark_processing(b->store, NULL, marked, WPT_ERR));
    assert_int_equal(ib_check(b->store, NULL, "src", "dead"), WP_INBOX_NEW);
    WPT_OK(wp_inbox_mark_dead(b->store, NULL, dead, NULL, WPT_ERR));
    bed_exec(b, b->engine->begin);
    assert_int_equal(ib_once(b->store, b->conn, "src", "queued", &found), 0);
    assert_int_equal(found, WP_INBOX_PROCESSING);
    assert_int_equal(ib_once(b->store, b->conn, "src", "marked", &found), 0);
    assert_int_equal(found, WP_INBOX_PROCESSING);
    assert_int_equal(ib_once(b->store, b->conn, "src", "dead", &found), 0);
    assert_int_equal(found, WP_INBOX_DEAD);
    bed_exec(b, b->engine->commit);
    assert_int_equal(ib_claimable(b->store), 1);
    wp_inbox_key_free(marked);
    wp_inbox_key_free(dead);
}

static void test_once__without_a_transaction__is_refused_where_it_can_be_told(void **state)
{
    bed *b = *state;
    wp_inbox_key *k = ib_key("src", "1");
    int proceed = -1;
    if (!b->engine->hides_transactions) {
        WPT_FAILS(wp_inbox_once(&proceed, NULL, NULL, b->store, b->conn, k, WPT_ERR), WP_E_STATE,
                  "transaction");
        assert_int_equal(proceed, -1);
        ib_is_unknown(b->store, "src", "1");
    }
    wp_inbox_key_free(k);
}

/* proves: IBX-114, IBX-116, IBX-117 */
static void test_schema__deployed_again__keeps_the_inbox_as_it_is(void **state)
{
    bed *b = *state;
    wp_config *config = bed_config(b, NULL);
    assert_int_equal(ib_enqueue(b->store, NULL, "src", "1", "t", "x"), WP_INBOX_NEW);
    if (!b->engine->opens_new)
        WPT_OK(wp_schema_deploy(config, WPT_ERR));
    assert_int_equal(ib_check(b->store, NULL, "src", "1"), WP_INBOX_PROCESSING);
    assert_int_equal(ib_claimable(b->store), 1);
    wp_config_free(config);
}

/* ---- for a host --------------------------------------------------------------------------- */

static void test_ops__made_for_a_host__begin_with_a_statement_and_store_nothing(void **state)
{
    bed *b = *state;
    wp_inbox_key *k = ib_key("src", "1");
    wp_message *m = wpt_message("t", "x");
    const wp_message *messages[] = {m};
    const wp_inbox_key *keys[] = {k};
    wp_op *ops[4] = {NULL};
    WPT_OK(wp_inbox_check_op(&ops[0], b->store, k, WPT_ERR));
    WPT_OK(wp_inbox_enqueue_op(&ops[1], b->store, keys, messages, 1, WPT_ERR));
    WPT_OK(wp_inbox_once_op(&ops[2], b->store, k, WPT_ERR));
    WPT_OK(wp_inbox_mark_op(&ops[3], b->store, k, WP_INBOX_MARK_PROCESSED, NULL, WPT_ERR));
    wp_inbox_key_free(k); /* they have copies */
    wp_message_free(m);
    for (size_t i = 0; i < WPT_COUNT(ops); i++) {
        int more = 0;
        WPT_OK(wp_op_next(&more, ops[i], WPT_ERR));
        assert_int_equal(more, 1);
        assert_true(strlen(wp_op_sql(ops[i])) > 0);
        assert_int_equal(wp_op_returns_rows(ops[i]), 1);
        wp_op_free(ops[i]);
    }
    ib_is_unknown(b->store, "src", "1");
}

/* It has neither topic nor payload. */
static void test_edit__of_a_dead_one_that_was_only_seen__gives_it_a_payload(void **state)
{
    bed *b = *state;
    wp_inbox_key *key = ib_key("src", "seen");
    wp_outbox_info *info = NULL;
    wp_id id;
    int edited = 0;
    assert_int_equal(ib_check(b->store, NULL, "src", "seen"), WP_INBOX_NEW);
    WPT_OK(wp_inbox_mark_dead(b->store, NULL, key, "poison", WPT_ERR));
    WPT_OK(wp_inbox_get(&info, b->store, key, WPT_ERR));
    id = *wp_received_id(wp_outbox_info_message(info));
    wp_outbox_info_free(info);
    WPT_OK(wp_dead_edit(&edited, b->store, WP_SOURCE_INBOX, &id, "x", 1, NULL, WPT_ERR));
    assert_int_equal(edited, 1);
    wp_inbox_key_free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_key__null_or_empty__is_refused),
        BED_TEST(test_lengths__at_their_limits__255_passes_and_256_fails),
        BED_TEST(test_message__null_or_empty__as_it_may_be),
        BED_TEST(test_calls__bad_arguments__are_named_and_change_nothing),
        BED_TEST(test_check__of_a_message__is_new_once_and_then_seen),
        BED_TEST(test_check__of_a_message_that_is_done__says_so),
        BED_TEST(test_arrivals__at_different_times__first_and_last_are_kept),
        BED_TEST(test_keys__that_differ_a_little__are_different_messages),
        BED_TEST(test_consumers__of_one_message__each_process_it_once),
        BED_TEST(test_hash__of_another_content__is_told_logged_and_counted),
        BED_TEST(test_hash__that_an_enqueue_brings__replaces_the_one_before),
        BED_TEST(test_hash__of_the_greatest_length__is_kept_whole),
        BED_TEST(test_enqueue__of_a_new_message__is_durable_and_claimable_at_once),
        BED_TEST(test_enqueue__in_the_apps_transaction__both_or_neither),
        BED_TEST(test_enqueue__of_a_seen_message__makes_it_ready),
        BED_TEST(test_enqueue__of_an_unfinished_message__takes_the_new_values),
        BED_TEST(test_enqueue__of_a_claimed_message__counts_for_its_next_attempt),
        BED_TEST(test_enqueue__of_a_done_message__changes_nothing),
        BED_TEST(test_enqueue__of_a_dead_message__takes_the_values_and_stays_dead),
        BED_TEST(test_enqueue__of_a_dead_message_with_revive_dead__makes_it_ready),
        BED_TEST(test_enqueue__that_revives__keeps_the_due_time),
        BED_TEST(test_enqueue__with_a_due_time__is_claimable_when_it_comes),
        BED_TEST(test_enqueue_many__with_repeats__tells_of_each),
        BED_TEST(test_enqueue__logged__names_topic_source_and_id_but_no_payload),
        BED_TEST(test_marks__on_a_message_in_each_state__do_what_is_said),
        BED_TEST(test_enqueue__of_a_message_marked_by_the_app__makes_it_ready),
        BED_TEST(test_mark_processed__on_a_dead_message__makes_it_done),
        BED_TEST(test_marks__in_the_apps_transaction__are_undone_with_it),
        BED_TEST(test_once__committed__is_processed_and_never_again),
        BED_TEST(test_once__rolled_back__is_as_it_was_before),
        BED_TEST(test_once__of_a_message_that_others_have__does_not_proceed),
        BED_TEST(test_once__without_a_transaction__is_refused_where_it_can_be_told),
        BED_TEST(test_schema__deployed_again__keeps_the_inbox_as_it_is),
        BED_TEST(test_ops__made_for_a_host__begin_with_a_statement_and_store_nothing),
        BED_TEST(test_edit__of_a_dead_one_that_was_only_seen__gives_it_a_payload),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
