/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of the outbox: claims, and what ends them. */
#include <stdatomic.h>

#include "bed.h"

/* The calls that end or prolong a claim, so that what they share is tested once. */
typedef enum verb { ACK, ABANDON, FAIL, RELEASE, RENEW, VERBS } verb;

static wp_status run(verb v, size_t *changed, bed *b, const wp_id *owner, const wp_id *ids,
                     const int64_t *claims, size_t count, wp_error **err)
{
    switch (v) {
    case ACK:
        return wp_outbox_ack(changed, b->store, NULL, owner, ids, claims, count, "w", err);
    case ABANDON:
        return wp_outbox_abandon(changed, b->store, NULL, owner, ids, claims, count, 1000, "why",
                                 err);
    case FAIL:
        return wp_outbox_fail(changed, b->store, NULL, owner, ids, claims, count, "why", err);
    case RELEASE:
        return wp_outbox_release(changed, b->store, NULL, owner, ids, claims, count, err);
    case RENEW:
    case VERBS:
    default:
        return wp_outbox_renew(changed, b->store, NULL, owner, ids, claims, count, 60000, err);
    }
}

/* How many rows the call changed. */
static size_t changed_by(verb v, bed *b, int owner, const wp_id *ids, const int64_t *claims,
                         size_t count)
{
    const wp_id token = wpt_owner(owner);
    size_t changed = 99;
    WPT_OK(run(v, &changed, b, &token, ids, claims, count, WPT_ERR));
    return changed;
}

/* ---- claim -------------------------------------------------------------------------------- */

/* scenario: OUT-022 */
/* proves: OBX-017, OBX-022, OBX-023, OBX-026 */
static void test_claim__several_ready__by_next_attempt_then_enqueue_up_to_the_batch(void **state)
{
    static const int64_t due_s[] = {5, 3, 5, 1, 3, 9};
    static const int order[] = {3, 1, 4, 0, 2, 5};
    bed *b = *state;
    wp_id ids[6], wanted[6];
    wp_claim *claim = wpt_claim(b->store, 1, 10, 1000);
    assert_int_equal(wp_claim_count(claim), 0);
    assert_null(wp_claim_at(claim, 0));
    wp_claim_free(claim);
    for (int i = 0; i < 6; i++) {
        /* topics in turn: the order goes across them */
        wp_message *message = wpt_message(i % 2 ? "odd" : "even", "x");
        WPT_OK(wp_message_set_due_us(message, WPT_START_US + due_s[i] * WPT_SECOND_US, WPT_ERR));
        ids[i] = wpt_send(b->store, NULL, message);
    }
    for (int i = 0; i < 6; i++)
        wanted[i] = ids[order[i]];
    wpt_advance_ms(b->clock, 5000);
    claim = wpt_claim(b->store, 1, 2, 1000);
    assert_true(wpt_claim_is(claim, wanted, 2));
    wp_claim_free(claim);
    claim = wpt_claim(b->store, 2, 10, 1000);
    assert_true(wpt_claim_is(claim, wanted + 2, 3)); /* the last one is not due */
    assert_null(wp_claim_at(claim, 3));
    wp_claim_free(claim);
    claim = wpt_claim(b->store, 2, 10, 1000);
    assert_int_equal(wp_claim_count(claim), 0);
    wp_claim_free(claim);
}

/* scenario: OUT-023 */
/* proves: OBX-019..021, OBX-084 */
static void test_claim__while_a_lease_lasts__not_given_out_again(void **state)
{
    bed *b = *state;
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    wp_outbox_info *info;
    wpt_advance_ms(b->clock, 7);
    assert_int_equal(wpt_claim_one(b->store, 1, &id, 1000), 1);
    info = wpt_info(b->store, &id);
    assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_IN_PROGRESS);
    assert_int_equal(wp_outbox_info_locked_until_us(info), WPT_START_US + 1007000);
    wp_outbox_info_free(info);
    assert_int_equal(changed_by(RENEW, b, 2, &id, NULL, 1), 0); /* the owner was stamped */
    wpt_advance_ms(b->clock, 999);
    assert_int_equal(wpt_claimable(b->store), 0);
    wp_claim_free(wpt_claim(b->store, 1, 10, 1000)); /* not to its owner either */
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_IN_PROGRESS);
    assert_int_equal(changed_by(ACK, b, 1, &id, NULL, 1), 1);
}

/* scenario: OUT-024 */
/* proves: OBX-110 */
static void test_claim__of_some_topics__leaves_the_others_alone(void **state)
{
    static const char *const topics[] = {"b", "d", "b", "nothing here"};
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    wp_claim *claim = NULL;
    wp_id a = wpt_enqueue(b->store, "a", "x");
    wp_id second = wpt_enqueue(b->store, "b", "x");
    wp_id c = wpt_enqueue(b->store, "c", "x");
    wp_id d = wpt_enqueue(b->store, "d", "x");
    WPT_OK(wp_outbox_claim(&claim, b->store, &owner, topics, 0, 10, 1000, WPT_ERR));
    assert_int_equal(wp_claim_count(claim), 0); /* of no topics, none */
    wp_claim_free(claim);
    WPT_OK(wp_outbox_claim(&claim, b->store, &owner, topics, 4, 10, 1000, WPT_ERR));
    assert_true(wpt_claim_is(claim, (wp_id[]){second, d}, 2));
    wp_claim_free(claim);
    claim = wpt_claim(b->store, 1, 10, 1000);
    assert_true(wpt_claim_is(claim, (wp_id[]){a, c}, 2));
    wp_claim_free(claim);
}

/* scenario: OUT-025 */
/* proves: OBX-021, OBX-027, OBX-028, BND-004 */
static void test_claim__bad_arguments__refused_by_kind(void **state)
{
    static const int64_t bad[] = {0, -1, INT64_MIN, INT64_MAX};
    bed *b = *state;
    const wp_id owner = wpt_owner(1), none = {{0}};
    wp_claim *claim = NULL;
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    for (size_t i = 0; i < WPT_COUNT(bad); i++) {
        WPT_FAILS(wp_outbox_claim(&claim, b->store, &owner, NULL, 0, bad[i], 1000, WPT_ERR),
                  WP_E_RANGE, "batch");
        WPT_FAILS(wp_outbox_claim(&claim, b->store, &owner, NULL, 0, 1, bad[i], WPT_ERR),
                  WP_E_RANGE, "lease");
        WPT_FAILS(wp_outbox_renew(NULL, b->store, NULL, &owner, &id, NULL, 1, bad[i], WPT_ERR),
                  WP_E_RANGE, "lease");
    }
    WPT_STATUS(wp_outbox_claim(&claim, b->store, &owner, NULL, 0, WP_BATCH_MAX + 1, 1000, WPT_ERR),
               WP_E_RANGE);
    WPT_STATUS(wp_outbox_claim(&claim, b->store, &owner, NULL, 0, 1, WP_LEASE_MS_MAX + 1, WPT_ERR),
               WP_E_RANGE);
    WPT_FAILS(wp_outbox_claim(&claim, b->store, &none, NULL, 0, 1, 1000, WPT_ERR), WP_E_ARGUMENT,
              "owner");
    WPT_FAILS(wp_outbox_claim(&claim, b->store, NULL, NULL, 0, 1, 1000, WPT_ERR), WP_E_ARGUMENT,
              "owner");
    assert_null(claim);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_READY); /* nothing was changed */
    WPT_OK(
        wp_outbox_claim(&claim, b->store, &owner, NULL, 0, WP_BATCH_MAX, WP_LEASE_MS_MAX, WPT_ERR));
    wp_claim_free(claim);
}

/* ---- ack, abandon, fail, release, renew --------------------------------------------------- */

/* scenario: OUT-026 */
/* proves: OBX-024, OBX-030..032, OBX-035 */
static void test_ack__claimed__done_for_ever_with_time_and_name(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    wp_outbox_info *info;
    size_t changed = 0;
    (void)wpt_claim_one(b->store, 1, &id, 1000);
    wpt_advance_ms(b->clock, 250);
    WPT_OK(wp_outbox_ack(&changed, b->store, NULL, &owner, &id, NULL, 1, "w\xc3\xb6rker", WPT_ERR));
    assert_int_equal(changed, 1);
    wpt_advance_ms(b->clock, 100000000);
    assert_int_equal(wpt_claimable(b->store), 0);
    WPT_OK(wp_outbox_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 0);
    info = wpt_info(b->store, &id);
    assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_DONE);
    assert_int_equal(wp_outbox_info_finished_us(info), WPT_START_US + 250000);
    assert_string_equal(wp_outbox_info_finished_by(info), "w\xc3\xb6rker");
    assert_int_equal(wp_outbox_info_next_attempt_us(info), 0);
    assert_int_equal(wp_outbox_info_locked_until_us(info), 0);
    assert_int_equal(wp_received_attempt(wp_outbox_info_message(info)), 0);
    wp_outbox_info_free(info);
}

/* A claim by hand that is abandoned with delay 0 comes back after about 2^attempt seconds. */
static void abandon_by_backoff(bed *b, const wp_id *id, int64_t attempt, int64_t seconds)
{
    const wp_id owner = wpt_owner(1);
    wp_outbox_info *info;
    int64_t now = wp_clock_utc_us(b->clock), delay;
    (void)wpt_claim_one(b->store, 1, id, 1000);
    assert_int_equal(wpt_attempt_of(b->store, id), attempt);
    WPT_OK(wp_outbox_abandon(NULL, b->store, NULL, &owner, id, NULL, 1, 0, "why", WPT_ERR));
    info = wpt_info(b->store, id);
    delay = wp_outbox_info_next_attempt_us(info) - now;
    wp_outbox_info_free(info);
    assert_in_range(delay, seconds * 800000, seconds * 1000000);
    WPT_OK(wp_clock_advance_us(b->clock, delay - 1, WPT_ERR));
    assert_int_equal(wpt_claimable(b->store), 0);
    WPT_OK(wp_clock_advance_us(b->clock, 1, WPT_ERR));
}

/* scenario: OUT-027 */
/* proves: OBX-029, OBX-037..039, OBX-042, OBX-043, OBX-061, OBX-062 */
static void test_abandon__claimed__claimable_after_the_backoff_with_the_error(void **state)
{
    static const int64_t backoff_s[] = {1, 2, 4, 8, 16, 32, 60, 60};
    bed *b = *state;
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    for (size_t i = 0; i < WPT_COUNT(backoff_s); i++)
        abandon_by_backoff(b, &id, (int64_t)i, backoff_s[i]);
    wpt_last_error_is(b->store, &id, "why");
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_READY);
}

/* scenario: OUT-027 */
/* proves: OBX-037..039, OBX-042, OBX-043, OBX-058 */
static void test_abandon__with_a_delay__claimable_after_it(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    wp_outbox_info *info;
    assert_int_equal(wpt_claim_one(b->store, 1, &id, 1000000), 1);
    WPT_OK(wp_outbox_abandon(NULL, b->store, NULL, &owner, &id, NULL, 1, 5, "a\x01\xff\xc3\xa9",
                             WPT_ERR));
    wpt_last_error_is(b->store, &id, "a??\xc3\xa9"); /* reasons come from anywhere */
    info = wpt_info(b->store, &id);
    assert_int_equal(wp_outbox_info_locked_until_us(info), 0);
    assert_int_equal(wp_outbox_info_next_attempt_us(info), WPT_START_US + 5000);
    wp_outbox_info_free(info);
    wpt_advance_ms(b->clock, 4);
    assert_int_equal(wpt_claimable(b->store), 0);
    wpt_advance_ms(b->clock, 1);
    assert_int_equal(wpt_attempt_of(b->store, &id), 1);
    assert_int_equal(wpt_claim_one(b->store, 1, &id, 1000), 2);
    /* without a reason the last one stays */
    WPT_OK(wp_outbox_abandon(NULL, b->store, NULL, &owner, &id, NULL, 1, WP_DELAY_MS_MAX, NULL,
                             WPT_ERR));
    wpt_last_error_is(b->store, &id, "a??\xc3\xa9");
    WPT_STATUS(wp_outbox_abandon(NULL, b->store, NULL, &owner, &id, NULL, 1, -1, NULL, WPT_ERR),
               WP_E_RANGE);
    WPT_STATUS(wp_outbox_abandon(NULL, b->store, NULL, &owner, &id, NULL, 1, WP_DELAY_MS_MAX + 1,
                                 NULL, WPT_ERR),
               WP_E_RANGE);
}

/* scenario: OUT-028 */
/* proves: OBX-025, OBX-044, OBX-045, OBX-048 */
static void test_fail__claimed__terminal_with_the_error(void **state)
{
    bed *b = *state;
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    wp_outbox_info *info;
    (void)wpt_claim_one(b->store, 1, &id, 1000);
    assert_int_equal(changed_by(FAIL, b, 1, &id, NULL, 1), 1);
    wpt_advance_ms(b->clock, 100000000);
    assert_int_equal(wpt_claimable(b->store), 0);
    info = wpt_info(b->store, &id);
    assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_FAILED);
    assert_string_equal(wp_outbox_info_last_error(info), "why");
    assert_int_equal(wp_outbox_info_finished_us(info), WPT_START_US);
    assert_int_equal(wp_received_attempt(wp_outbox_info_message(info)), 1);
    wp_outbox_info_free(info);
    for (int v = 0; v < VERBS; v++)
        assert_int_equal(changed_by((verb)v, b, 1, &id, NULL, 1), 0);
}

/* scenario: OUT-029 */
/* proves: OBX-116 */
static void test_release__claimed__claimable_at_once_with_the_attempt_unchanged(void **state)
{
    bed *b = *state;
    const wp_id ids[2] = {wpt_enqueue(b->store, "t", "1"), wpt_enqueue(b->store, "t", "2")};
    wp_claim *claim;
    (void)wpt_claim_one(b->store, 1, &ids[0], 1000);
    assert_int_equal(changed_by(RELEASE, b, 1, &ids[0], NULL, 1), 1);
    assert_int_equal(wpt_attempt_of(b->store, &ids[0]), 0);
    wpt_last_error_is(b->store, &ids[0], NULL);
    claim = wpt_claim(b->store, 2, 2, 1000);
    assert_true(wpt_claim_is(claim, ids, 2)); /* in its old place */
    assert_int_equal(wp_received_claim_number(wp_claim_at(claim, 0)), 2);
    wp_claim_free(claim);
}

/* scenario: OUT-030 */
/* proves: OBX-020, OBX-115 */
static void test_renew__claimed__the_lease_lasts_from_now(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    wp_outbox_info *info;
    size_t changed = 0;
    (void)wpt_claim_one(b->store, 1, &id, 1000);
    wpt_advance_ms(b->clock, 600);
    WPT_OK(wp_outbox_renew(&changed, b->store, NULL, &owner, &id, NULL, 1, 1000, WPT_ERR));
    assert_int_equal(changed, 1);
    info = wpt_info(b->store, &id);
    assert_int_equal(wp_outbox_info_locked_until_us(info), WPT_START_US + 1600000);
    wp_outbox_info_free(info);
    wpt_advance_ms(b->clock, 999);
    WPT_OK(wp_outbox_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 0);
    wpt_advance_ms(b->clock, 1);
    WPT_OK(wp_outbox_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 1);
    assert_int_equal(changed_by(RENEW, b, 1, &id, NULL, 1), 0);
}

/* scenario: OUT-031 */
/* proves: OBX-033, OBX-034, OBX-040, OBX-041, OBX-046, OBX-047 */
static void test_finish__others_unknown_and_repeated_ids__only_rows_held_are_changed(void **state)
{
    bed *b = *state;
    for (int v = 0; v < VERBS; v++) {
        wp_id mine = wpt_enqueue(b->store, "t", "x"), theirs, waiting, unknown;
        wp_id ids[6];
        wp_outbox_info *before, *after;
        (void)wpt_claim_one(b->store, 1, &mine, 60000);
        theirs = wpt_enqueue(b->store, "t", "x");
        (void)wpt_claim_one(b->store, 2, &theirs, 60000);
        waiting = wpt_enqueue(b->store, "t", "x");
        wp_id_new(&unknown);
        ids[0] = ids[4] = theirs;
        ids[1] = unknown;
        ids[2] = ids[5] = mine;
        ids[3] = waiting;
        before = wpt_info(b->store, &theirs);
        assert_int_equal(changed_by((verb)v, b, 3, ids, NULL, 6), 0);
        assert_int_equal(changed_by((verb)v, b, 1, ids, NULL, 6), 1);
        after = wpt_info(b->store, &theirs);
        assert_int_equal(wp_outbox_info_status(after), WP_MESSAGE_IN_PROGRESS);
        assert_int_equal(wp_outbox_info_locked_until_us(after),
                         wp_outbox_info_locked_until_us(before));
        assert_int_equal(wpt_status_of(b->store, &waiting), WP_MESSAGE_READY);
        wp_outbox_info_free(before);
        wp_outbox_info_free(after);
        (void)changed_by(RENEW, b, 1, &mine, NULL, 1);
        /* leave nothing claimable behind */
        wp_claim_free(wpt_claim(b->store, 9, 10, 60000));
    }
}

/* scenario: OUT-032 */
/* proves: OBX-036 */
static void test_finish__empty_list__does_nothing_and_null_is_an_error(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1), none = {{0}};
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    const int64_t zero = 0;
    (void)wpt_claim_one(b->store, 1, &id, 1000);
    for (int v = 0; v < VERBS; v++) {
        size_t changed = 99;
        assert_int_equal(changed_by((verb)v, b, 1, &id, NULL, 0), 0);
        WPT_FAILS(run((verb)v, &changed, b, &owner, NULL, NULL, 0, WPT_ERR), WP_E_ARGUMENT, "ids");
        WPT_FAILS(run((verb)v, &changed, b, &owner, NULL, NULL, 1, WPT_ERR), WP_E_ARGUMENT, "ids");
        WPT_FAILS(run((verb)v, &changed, b, &none, &id, NULL, 1, WPT_ERR), WP_E_ARGUMENT, "owner");
        WPT_FAILS(run((verb)v, &changed, b, NULL, &id, NULL, 1, WPT_ERR), WP_E_ARGUMENT, "owner");
        WPT_FAILS(run((verb)v, &changed, b, &owner, &id, &zero, 1, WPT_ERR), WP_E_RANGE, "claims");
        WPT_FAILS(run((verb)v, &changed, b, &owner, &id, NULL, WP_BATCH_MAX + 1, WPT_ERR),
                  WP_E_RANGE, "count");
        assert_int_equal(changed, 99);
    }
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_IN_PROGRESS);
}

/* scenario: OUT-034 */
/* proves: OBX-114, OBX-058 */
static void test_finish__of_an_earlier_claim_by_the_same_owner__changes_nothing(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    for (int v = 0; v < VERBS; v++) {
        const wp_id stale = wpt_enqueue(b->store, "t", "x");
        const int64_t early = wpt_claim_one(b->store, 1, &stale, 1000);
        int64_t late;
        wp_id ids[2];
        int64_t claims[2];
        wpt_advance_ms(b->clock, 1000);
        WPT_OK(wp_outbox_reap(NULL, b->store, WPT_ERR));
        wpt_advance_ms(b->clock, 60000);
        late = wpt_claim_one(b->store, 1, &stale, 100000);
        assert_int_equal(late, early + 1);
        assert_int_equal(changed_by((verb)v, b, 1, &stale, &early, 1), 0);
        assert_int_equal(wpt_status_of(b->store, &stale), WP_MESSAGE_IN_PROGRESS);
        /* a batch with one stale and one good claim: the good one counts */
        ids[0] = stale;
        claims[0] = early;
        ids[1] = wpt_enqueue(b->store, "t", "x");
        claims[1] = wpt_claim_one(b->store, 1, &ids[1], 100000);
        assert_int_equal(changed_by((verb)v, b, 1, ids, claims, 2), 1);
        assert_int_equal(wpt_status_of(b->store, &stale), WP_MESSAGE_IN_PROGRESS);
        assert_int_equal(changed_by((verb)v, b, 1, &stale, &late, 1), 1);
        /* away with both */
        WPT_OK(wp_outbox_ack(NULL, b->store, NULL, &owner, ids, NULL, 2, NULL, WPT_ERR));
        wpt_advance_ms(b->clock, 1000);
        wp_claim_free(wpt_claim(b->store, 9, 10, 1000000));
    }
}

/* scenario: OUT-035 */
/* proves: OBX-113, BND-002, OBX-080 */
static void test_ack__in_the_apps_transaction__commits_and_rolls_back_with_it(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    size_t changed = 0;
    (void)wpt_claim_one(b->store, 1, &id, 1000);
    bed_exec(b, b->engine->begin);
    bed_exec(b, "INSERT INTO orders VALUES (1)");
    WPT_OK(wp_outbox_ack(&changed, b->store, b->conn, &owner, &id, NULL, 1, NULL, WPT_ERR));
    assert_int_equal(changed, 1);
    bed_exec(b, b->engine->rollback);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_IN_PROGRESS);
    bed_exec(b, b->engine->begin);
    bed_exec(b, "INSERT INTO orders VALUES (2)");
    WPT_OK(wp_outbox_ack(&changed, b->store, b->conn, &owner, &id, NULL, 1, NULL, WPT_ERR));
    bed_exec(b, b->engine->commit);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_DONE);
    assert_int_equal(bed_number(b, "SELECT sum(n) FROM orders"), 2);
}

/* All the calls take the app's connection. */
/* proves: OBX-113, BND-002 */
static void test_finish__in_the_apps_transaction__goes_with_its_rollback(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    const wp_id id = wpt_enqueue(b->store, "t", "x");
    size_t changed[4] = {0};
    (void)wpt_claim_one(b->store, 1, &id, 1000);
    for (int v = 0; v < 4; v++) {
        bed_exec(b, b->engine->begin);
        if (v == 0)
            WPT_OK(wp_outbox_fail(&changed[v], b->store, b->conn, &owner, &id, NULL, 1, NULL,
                                  WPT_ERR));
        if (v == 1)
            WPT_OK(wp_outbox_abandon(&changed[v], b->store, b->conn, &owner, &id, NULL, 1, 0, NULL,
                                     WPT_ERR));
        if (v == 2)
            WPT_OK(
                wp_outbox_release(&changed[v], b->store, b->conn, &owner, &id, NULL, 1, WPT_ERR));
        if (v == 3)
            WPT_OK(wp_outbox_renew(&changed[v], b->store, b->conn, &owner, &id, NULL, 1, 5000,
                                   WPT_ERR));
        bed_exec(b, b->engine->rollback);
        assert_int_equal(changed[v], 1);
        assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_IN_PROGRESS);
        assert_int_equal(wpt_attempt_of(b->store, &id), 0);
    }
}

/* ---- reap --------------------------------------------------------------------------------- */

/* scenario: OUT-033 */
/* proves: OBX-049..052 */
static void test_reap__expired_lease__a_retry_with_one_more_attempt_and_others_stay(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    wp_id expired, live, done, ready;
    wp_outbox_info *info;
    size_t changed = 99;
    expired = wpt_enqueue(b->store, "t", "x");
    (void)wpt_claim_one(b->store, 1, &expired, 1000);
    live = wpt_enqueue(b->store, "t", "x");
    (void)wpt_claim_one(b->store, 1, &live, 1001);
    done = wpt_enqueue(b->store, "t", "x");
    (void)wpt_claim_one(b->store, 1, &done, 1);
    WPT_OK(wp_outbox_ack(NULL, b->store, NULL, &owner, &done, NULL, 1, NULL, WPT_ERR));
    ready = wpt_enqueue(b->store, "t", "x");
    wpt_advance_ms(b->clock, 999);
    WPT_OK(wp_outbox_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 0);
    wpt_advance_ms(b->clock, 1);
    WPT_OK(wp_outbox_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 1);
    info = wpt_info(b->store, &expired);
    assert_int_equal(wp_outbox_info_status(info), WP_MESSAGE_READY);
    assert_int_equal(wp_received_attempt(wp_outbox_info_message(info)), 1);
    assert_int_equal(wp_outbox_info_locked_until_us(info), 0);
    assert_string_equal(wp_outbox_info_last_error(info), "lease expired");
    assert_in_range(wp_outbox_info_next_attempt_us(info), WPT_START_US + 1800000,
                    WPT_START_US + 2000000); /* the backoff of the first attempt */
    wp_outbox_info_free(info);
    assert_int_equal(wpt_status_of(b->store, &live), WP_MESSAGE_IN_PROGRESS);
    assert_int_equal(wpt_status_of(b->store, &done), WP_MESSAGE_DONE);
    assert_int_equal(wpt_attempt_of(b->store, &ready), 0);
    assert_int_equal(wpt_claimable(b->store), 1);
    wpt_advance_ms(b->clock, 1000);
    assert_int_equal(wpt_claimable(b->store), 2);
}

/* proves: OBX-049, OBX-064 */
static void test_reap__at_the_limit_of_attempts__dead_letter(void **state)
{
    bed *b = *state;
    wp_id id;
    bed_reopen(b, WPT_OPTIONS("worker.max_attempts", "3"));
    id = wpt_enqueue(b->store, "t", "x");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(wpt_attempt_of(b->store, &id), i);
        (void)wpt_claim_one(b->store, 1, &id, 1000);
        wpt_advance_ms(b->clock, 1000);
        WPT_OK(wp_outbox_reap(NULL, b->store, WPT_ERR));
        wpt_advance_ms(b->clock, 60000);
    }
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_FAILED);
    assert_int_equal(wpt_attempt_of(b->store, &id), 3);
    wpt_last_error_is(b->store, &id, "lease expired");
}

/* Lease and message are over: it is tried no more, and is one row that changed. */
/* proves: OBX-049, EXP-001 */
static void test_reap__lease_and_message_expired__is_failed_and_counted_once(void **state)
{
    bed *b = *state;
    wp_message *message = wpt_message("t", "x");
    size_t changed = 0;
    wp_id id, other;
    WPT_OK(wp_message_set_expires_us(message, WPT_START_US + 1000000, WPT_ERR));
    id = wpt_send(b->store, NULL, message);
    (void)wpt_claim_one(b->store, 1, &id, 1000);
    other = wpt_enqueue(b->store, "t", "x"); /* of the same owner, and tried again */
    (void)wpt_claim_one(b->store, 1, &other, 1000);
    wpt_advance_ms(b->clock, 1000);
    WPT_OK(wp_outbox_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 2);
    assert_int_equal(wpt_status_of(b->store, &id), WP_MESSAGE_FAILED);
    assert_int_equal(wpt_attempt_of(b->store, &id), 1);
    wpt_last_error_is(b->store, &id, "expired");
    assert_int_equal(wpt_status_of(b->store, &other), WP_MESSAGE_READY);
    wpt_last_error_is(b->store, &other, "lease expired");
}

/* More than two pages expire at once, of different owners and attempts. */
/* proves: OBX-049 */
static void test_reap__many_pages__all_in_one_call(void **state)
{
    enum { COUNT = 1100 };
    bed *b = *state;
    const wp_message *messages[COUNT];
    wp_id *ids = calloc(COUNT, sizeof *ids);
    wp_message *message = wpt_message("t", "x");
    size_t changed = 0;
    assert_non_null(ids);
    for (int i = 0; i < COUNT; i++)
        messages[i] = message;
    WPT_OK(wp_outbox_enqueue_many(ids, NULL, b->store, NULL, messages, COUNT, WPT_ERR));
    wp_claim_free(wpt_claim(b->store, 1, 700, 1000));
    wp_claim_free(wpt_claim(b->store, 2, 300, 500));
    wp_claim_free(wpt_claim(b->store, 2, 100, 5000));
    wpt_advance_ms(b->clock, 1000);
    WPT_OK(wp_outbox_reap(&changed, b->store, WPT_ERR));
    assert_int_equal(changed, 1000);
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_SCHEDULED), 1000);
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_IN_PROGRESS), 100);
    wp_message_free(message);
    free(ids);
}

/* ---- looking ------------------------------------------------------------------------------ */

/* scenario: OUT-036 */
/* proves: OBX-110 */
static void test_stats__by_topic__count_every_state(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    wp_outbox_stats *stats = NULL;
    wp_message *message;
    wp_id done, failed;
    done = wpt_enqueue(b->store, "a", "x");
    (void)wpt_claim_one(b->store, 1, &done, 1000);
    WPT_OK(wp_outbox_ack(NULL, b->store, NULL, &owner, &done, NULL, 1, NULL, WPT_ERR));
    failed = wpt_enqueue(b->store, "a", "x");
    (void)wpt_claim_one(b->store, 1, &failed, 1000);
    WPT_OK(wp_outbox_fail(NULL, b->store, NULL, &owner, &failed, NULL, 1, NULL, WPT_ERR));
    for (int i = 0; i < 2; i++) {
        message = wpt_message("a", "x");
        WPT_OK(wp_message_set_ordering_key(message, "k", WPT_ERR));
        (void)wpt_send(b->store, NULL, message);
    }
    wp_claim_free(wpt_claim(b->store, 1, 1, 1000));
    message = wpt_message("a", "x");
    WPT_OK(wp_message_set_delay_ms(message, 60000, WPT_ERR));
    (void)wpt_send(b->store, NULL, message);
    (void)wpt_enqueue(b->store, "a", "x");
    wpt_advance_ms(b->clock, 40);
    (void)wpt_enqueue(b->store, "a", "x");
    (void)wpt_enqueue(b->store, "b", "x");
    wpt_advance_ms(b->clock, 2);
    WPT_OK(wp_outbox_stats_read(&stats, b->store, 1, WPT_ERR));
    assert_int_equal(wp_outbox_stats_count(stats), 2);
    assert_string_equal(wp_outbox_stats_topic(stats, 0), "a");
    assert_string_equal(wp_outbox_stats_topic(stats, 1), "b");
    assert_null(wp_outbox_stats_topic(stats, 2));
    assert_int_equal(wp_outbox_stats_value(stats, 0, WP_STAT_READY), 2);
    assert_int_equal(wp_outbox_stats_value(stats, 0, WP_STAT_SCHEDULED), 1);
    assert_int_equal(wp_outbox_stats_value(stats, 0, WP_STAT_IN_PROGRESS), 1);
    assert_int_equal(wp_outbox_stats_value(stats, 0, WP_STAT_BLOCKED), 1);
    assert_int_equal(wp_outbox_stats_value(stats, 0, WP_STAT_DONE), 1);
    assert_int_equal(wp_outbox_stats_value(stats, 0, WP_STAT_FAILED), 1);
    assert_int_equal(wp_outbox_stats_value(stats, 0, WP_STAT_OLDEST_READY_AGE_US), 42000);
    assert_int_equal(wp_outbox_stats_value(stats, 1, WP_STAT_OLDEST_READY_AGE_US), 2000);
    assert_int_equal(wp_outbox_stats_value(stats, 2, WP_STAT_READY), 0);
    assert_int_equal(wp_outbox_stats_value(stats, 0, (wp_outbox_stat)99), 0);
    assert_int_equal(wp_outbox_stats_total(stats, WP_STAT_READY), 3);
    assert_int_equal(wp_outbox_stats_total(stats, WP_STAT_OLDEST_READY_AGE_US), 42000);
    wp_outbox_stats_free(stats);
    WPT_OK(wp_outbox_stats_read(&stats, b->store, 0, WPT_ERR));
    assert_int_equal(wp_outbox_stats_total(stats, WP_STAT_DONE), 0); /* not asked for */
    wp_outbox_stats_free(stats);
}

/* scenario: OUT-037 */
/* proves: BND-004 */
static void test_get__each_state__is_told_and_unknown_is_not_found(void **state)
{
    bed *b = *state;
    const wp_id owner = wpt_owner(1);
    wp_message *message = wpt_message("t", "pay");
    wp_id first, second, unknown;
    wp_outbox_info *info = NULL;
    WPT_OK(wp_message_set_ordering_key(message, "k", WPT_ERR));
    WPT_OK(wp_outbox_enqueue(&first, NULL, b->store, NULL, message, WPT_ERR));
    WPT_OK(wp_outbox_enqueue(&second, NULL, b->store, NULL, message, WPT_ERR));
    wp_message_free(message);
    assert_int_equal(wpt_status_of(b->store, &first), WP_MESSAGE_READY);
    assert_int_equal(wpt_status_of(b->store, &second), WP_MESSAGE_BLOCKED);
    (void)wpt_claim_one(b->store, 1, &first, 1000);
    assert_int_equal(wpt_status_of(b->store, &first), WP_MESSAGE_IN_PROGRESS);
    WPT_OK(wp_outbox_ack(NULL, b->store, NULL, &owner, &first, NULL, 1, NULL, WPT_ERR));
    assert_int_equal(wpt_status_of(b->store, &first), WP_MESSAGE_DONE);
    (void)wpt_claim_one(b->store, 1, &second, 1000);
    WPT_OK(wp_outbox_fail(NULL, b->store, NULL, &owner, &second, NULL, 1, "r", WPT_ERR));
    assert_int_equal(wpt_status_of(b->store, &second), WP_MESSAGE_FAILED);
    info = wpt_info(b->store, &second); /* what it carried is kept */
    assert_string_equal(wp_received_payload(NULL, wp_outbox_info_message(info)), "pay");
    assert_string_equal(wp_received_topic(wp_outbox_info_message(info)), "t");
    wp_outbox_info_free(info);
    info = NULL;
    wp_id_new(&unknown);
    WPT_STATUS(wp_outbox_get(&info, b->store, &unknown, WPT_ERR), WP_E_NOT_FOUND);
    assert_null(info);
}

/* ---- together ----------------------------------------------------------------------------- */

enum { CLAIMERS = 4, MESSAGES = 400 };

typedef struct claimer {
    wp_store *store;
    int owner;
    atomic_size_t *acked;
    size_t wrong;
    wp__thread thread;
} claimer;

static void *claim_all(void *arg)
{
    claimer *self = arg;
    const wp_id owner = wpt_owner(self->owner);
    while (atomic_load(self->acked) < MESSAGES && !self->wrong) {
        wp_claim *claim = NULL;
        if (wp_outbox_claim(&claim, self->store, &owner, NULL, 0, 7, 60000, NULL) != WP_OK) {
            self->wrong++;
            break;
        }
        for (size_t i = 0; i < wp_claim_count(claim); i++) {
            const wp_received *m = wp_claim_at(claim, i);
            const int64_t number = wp_received_claim_number(m);
            size_t changed = 0;
            /* claimed by one: its first claim, and ours to finish */
            if (wp_outbox_ack(&changed, self->store, NULL, &owner, wp_received_id(m), &number, 1,
                              NULL, NULL) != WP_OK ||
                changed != 1 || number != 1)
                self->wrong++;
            atomic_fetch_add(self->acked, 1);
        }
        wp_claim_free(claim);
    }
    return NULL;
}

/* proves: OBX-017, OBX-019, OBX-081, OBX-083, OBX-084 */
static void test_claim__many_threads__each_message_once(void **state)
{
    bed *b = *state;
    const wp_message *messages[MESSAGES];
    wp_message *message = wpt_message("t", "x");
    wp_id *ids = calloc(MESSAGES, sizeof *ids);
    claimer claimers[CLAIMERS] = {{0}};
    atomic_size_t acked = 0;
    size_t wrong = 0;
    assert_non_null(ids);
    for (int i = 0; i < MESSAGES; i++)
        messages[i] = message;
    WPT_OK(wp_outbox_enqueue_many(ids, NULL, b->store, NULL, messages, MESSAGES, WPT_ERR));
    for (int i = 0; i < CLAIMERS; i++) {
        claimers[i].store = b->store;
        claimers[i].owner = i + 1;
        claimers[i].acked = &acked;
        WPT_OK(wp__thread_start(&claimers[i].thread, "claim", claim_all, &claimers[i], WPT_ERR));
    }
    for (int i = 0; i < CLAIMERS; i++) {
        wp__thread_join(&claimers[i].thread);
        wrong += claimers[i].wrong;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(atomic_load(&acked), MESSAGES);
    assert_int_equal(wpt_stat(b->store, "t", WP_STAT_DONE), MESSAGES);
    wp_message_free(message);
    free(ids);
}

/* Batches of the same unique keys in different orders, while they are claimed and acked. */
typedef struct producer {
    wp_store *store;
    wp_message **messages; /* KEYS of them, shared */
    unsigned turn;
    atomic_bool *stop;
    size_t wrong;
    size_t stored;
    wp__thread thread;
} producer;
enum { KEYS = 40, PRODUCERS = 3, ROUNDS = 6 };

static void *produce(void *arg)
{
    producer *self = arg;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const wp_message *messages[KEYS];
        wp_id ids[KEYS];
        int duplicates[KEYS];
        for (unsigned i = 0; i < KEYS; i++) /* a stride prime to KEYS: another order each */
            messages[i] = self->messages[(i * (2 * self->turn + 7) + round) % KEYS];
        wp_error *err = NULL;
        if (wp_outbox_enqueue_many(ids, duplicates, self->store, NULL, messages, KEYS, &err) !=
            WP_OK) {
            print_error("%s\n", wp_error_message(err));
            wp_error_free(err);
            self->wrong++;
            continue;
        }
        for (int i = 0; i < KEYS; i++)
            self->stored += !duplicates[i];
    }
    return NULL;
}

static void *ack_all(void *arg)
{
    producer *self = arg;
    const wp_id owner = wpt_owner((int)self->turn + 1);
    bool last = false;
    while (!last && !self->wrong) {
        wp_claim *claim = NULL;
        wp_id ids[KEYS];
        size_t changed = 0, count;
        last = atomic_load(self->stop);
        if (wp_outbox_claim(&claim, self->store, &owner, NULL, 0, KEYS, 60000, NULL) != WP_OK) {
            self->wrong++;
            break;
        }
        count = wp_claim_count(claim);
        for (size_t i = 0; i < count; i++)
            ids[count - 1 - i] = *wp_received_id(wp_claim_at(claim, i));
        wp_error *err = NULL;
        if (wp_outbox_ack(&changed, self->store, NULL, &owner, ids, NULL, count, NULL, &err) !=
                WP_OK ||
            changed != count) {
            print_error("ack: %s, %zu of %zu changed\n", wp_error_message(err), changed, count);
            wp_error_free(err);
            self->wrong++;
        }
        self->stored += changed;
        last = last && count == 0;
        wp_claim_free(claim);
    }
    return NULL;
}

/* proves: OBX-082, OBX-083, UNQ-001 */
static void test_enqueue_many__same_keys_in_any_order_while_others_ack__no_error(void **state)
{
    bed *b = *state;
    wp_message *messages[KEYS];
    producer p[PRODUCERS + 2] = {{0}};
    atomic_bool stop = false;
    size_t wrong = 0, stored = 0, acked = 0;
    for (int i = 0; i < KEYS; i++) {
        char key[16];
        messages[i] = wpt_message("t", "x");
        (void)snprintf(key, sizeof key, "key %d", i);
        WPT_OK(wp_message_set_unique_key(messages[i], key, WPT_ERR));
    }
    for (unsigned i = 0; i < WPT_COUNT(p); i++) {
        p[i].store = b->store;
        p[i].messages = messages;
        p[i].turn = i;
        p[i].stop = &stop;
        WPT_OK(wp__thread_start(&p[i].thread, "batch", i < PRODUCERS ? produce : ack_all, &p[i],
                                WPT_ERR));
    }
    for (unsigned i = 0; i < WPT_COUNT(p); i++) {
        wp__thread_join(&p[i].thread);
        wrong += p[i].wrong;
        if (i < PRODUCERS)
            stored += p[i].stored;
        else
            acked += p[i].stored;
        if (i == PRODUCERS - 1)
            atomic_store(&stop, true);
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(acked, stored); /* each was given out once */
    assert_true(stored >= KEYS);
    for (int i = 0; i < KEYS; i++)
        wp_message_free(messages[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_claim__several_ready__by_next_attempt_then_enqueue_up_to_the_batch),
        BED_TEST(test_claim__while_a_lease_lasts__not_given_out_again),
        BED_TEST(test_claim__of_some_topics__leaves_the_others_alone),
        BED_TEST(test_claim__bad_arguments__refused_by_kind),
        BED_TEST(test_ack__claimed__done_for_ever_with_time_and_name),
        BED_TEST(test_abandon__claimed__claimable_after_the_backoff_with_the_error),
        BED_TEST(test_abandon__with_a_delay__claimable_after_it),
        BED_TEST(test_fail__claimed__terminal_with_the_error),
        BED_TEST(test_release__claimed__claimable_at_once_with_the_attempt_unchanged),
        BED_TEST(test_renew__claimed__the_lease_lasts_from_now),
        BED_TEST(test_finish__others_unknown_and_repeated_ids__only_rows_held_are_changed),
        BED_TEST(test_finish__empty_list__does_nothing_and_null_is_an_error),
        BED_TEST(test_finish__of_an_earlier_claim_by_the_same_owner__changes_nothing),
        BED_TEST(test_ack__in_the_apps_transaction__commits_and_rolls_back_with_it),
        BED_TEST(test_finish__in_the_apps_transaction__goes_with_its_rollback),
        BED_TEST(test_reap__expired_lease__a_retry_with_one_more_attempt_and_others_stay),
        BED_TEST(test_reap__at_the_limit_of_attempts__dead_letter),
        BED_TEST(test_reap__lease_and_message_expired__is_failed_and_counted_once),
        BED_TEST(test_reap__many_pages__all_in_one_call),
        BED_TEST(test_stats__by_topic__count_every_state),
        BED_TEST(test_get__each_state__is_told_and_unknown_is_not_found),
        BED_TEST(test_claim__many_threads__each_message_once),
        BED_TEST(test_enqueue_many__same_keys_in_any_order_while_others_ack__no_error),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
