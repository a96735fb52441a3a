/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of moving work to another store: from each engine to a file, from a file to it, and between two
 * schemas of it. What a process that dies leaves is tried after every transaction. */
#include "copy_bed.h"
#include "inbox_bed.h"
#include "queue/queue.h"

static wp_id send_keyed(wp_store *store, const char *payload, const char *key)
{
    wp_message *message = wpt_message("t", payload);
    WPT_OK(wp_message_set_ordering_key(message, key, WPT_ERR));
    return wpt_send(store, NULL, message);
}

static void try_unique(wp_id *id, int *duplicate, wp_store *store, const char *key)
{
    wp_message *message = wpt_message("t", key);
    WPT_OK(wp_message_set_unique_key(message, key, WPT_ERR));
    WPT_OK(wp_outbox_enqueue(id, duplicate, store, NULL, message, WPT_ERR));
    wp_message_free(message);
}

static wp_id send_unique(wp_store *store, const char *key)
{
    wp_id id;
    int duplicate = 1;
    try_unique(&id, &duplicate, store, key);
    assert_int_equal(duplicate, 0);
    return id;
}

static void finish(wp_store *store, const wp_received *message, const char *reason)
{
    const wp_id owner = wpt_owner(1);
    const int64_t number = wp_received_claim_number(message);
    const wp_id *id = wp_received_id(message);
    size_t changed = 0;
    if (reason)
        WPT_OK(wp_outbox_fail(&changed, store, NULL, &owner, id, &number, 1, reason, WPT_ERR));
    else
        WPT_OK(wp_outbox_ack(&changed, store, NULL, &owner, id, &number, 1, "me", WPT_ERR));
    assert_int_equal(changed, 1);
}

/* Claim what can be, one after the other, and finish it; the payloads in their order. */
static void handle_all(char *out, size_t size, wp_store *store)
{
    size_t len = strlen(out);
    for (size_t count = 1; count;) {
        wp_claim *claim = wpt_claim(store, 1, 1, 60000);
        count = wp_claim_count(claim);
        if (count) {
            const wp_received *message = wp_claim_at(claim, 0);
            assert_true(len + 40 < size);
            len +=
                (size_t)snprintf(out + len, size - len, "%s,", wp_received_payload(NULL, message));
            finish(store, message, NULL);
        }
        wp_claim_free(claim);
    }
}

/* The same of the inbox. */
static void handle_inbox(char *out, size_t size, wp_store *store)
{
    size_t len = strlen(out);
    for (size_t count = 1; count;) {
        wp_claim *claim = ib_claim(store, 1, 1, 60000);
        count = wp_claim_count(claim);
        if (count) {
            const wp_received *message = wp_claim_at(claim, 0);
            assert_true(len + 40 < size);
            len +=
                (size_t)snprintf(out + len, size - len, "%s,", wp_received_payload(NULL, message));
            assert_int_equal(ib_ack(store, 1, wp_received_id(message), 1), 1);
        }
        wp_claim_free(claim);
    }
}

static wp_id send_dead(wp_store *store, const char *payload)
{
    const wp_id id = wpt_enqueue(store, "dead", payload);
    const wp_id owner = wpt_owner(1);
    const char *topics[] = {"dead"};
    wp_claim *claim = NULL;
    WPT_OK(wp_outbox_claim(&claim, store, &owner, topics, 1, 1, 60000, WPT_ERR));
    assert_int_equal(wp_claim_count(claim), 1);
    finish(store, wp_claim_at(claim, 0), "it was \xF0\x9F\x92\xA5");
    wp_claim_free(claim);
    return id;
}

static size_t dead_of(wp_store *store)
{
    wp_dead_list *list = NULL;
    size_t count;
    WPT_OK(wp_dead_list_read(&list, store, WP_SOURCE_ALL, NULL, NULL, 100, WPT_ERR));
    count = wp_dead_list_count(list);
    wp_dead_list_free(list);
    return count;
}

static int64_t unfinished_of(wp_store *store)
{
    static const wp_outbox_stat counted[] = {WP_STAT_READY, WP_STAT_SCHEDULED, WP_STAT_BLOCKED,
                                             WP_STAT_IN_PROGRESS};
    int64_t sum = 0;
    for (size_t i = 0; i < WPT_COUNT(counted); i++)
        sum += wpt_stat(store, "t", counted[i]);
    return sum;
}

/* ---- what is moved ------------------------------------------------------------------------ */

typedef struct sent {
    wp_id id;
    char *topic, *payload, *headers, *correlation, *key, *unique;
    int64_t due_us, expires_us, created_us;
} sent;

static char *repeated(const char *text, size_t times)
{
    const size_t len = strlen(text);
    char *out = malloc(len * times + 1);
    assert_non_null(out);
    for (size_t i = 0; i < times; i++)
        memcpy(out + i * len, text, len);
    out[len * times] = '\0';
    return out;
}

/* Empty ones, long ones, and what is strange in SQL, JSON and connection strings. */
static sent hostile(wp_store *store, int which)
{
    static const char *const odd[] = {"'; DROP TABLE x; --\\\"%s:a?$1", "\xF0\x9F\x98\x80\xC3\xA4",
                                      "\x01\t\n\r\x7F\xEF\xBF\xBD", "{\"a\": [1, null]}"};
    const char *text = odd[which % 4];
    sent s = {.due_us = which % 2 ? WP_TIME_US_MAX : WPT_START_US + which,
              .expires_us = which % 3 ? 0 : WP_TIME_US_MAX};
    wp_message *message = NULL;
    char *header;
    s.topic = which == 4 ? repeated("\xC3\xA4", 255) : repeated(text, 1);
    s.payload = which == 0   ? repeated("", 0)
                : which == 5 ? repeated("\xF0\x9F\x98\x80huge", 300000)
                             : repeated(text, 3);
    header = repeated(which == 4 ? "\xC3\xA4" : text, which == 4 ? 20000 : 1);
    s.correlation = which % 2 ? NULL : which == 4 ? repeated("y", 255) : repeated(text, 1);
    s.key = which < 3 ? NULL : which == 4 ? repeated("z", 255) : repeated(text, 1);
    s.unique = which % 2 ? repeated(text, which == 5 ? 1 : 2) : NULL;
    WPT_OK(wp_message_new(&message, s.topic, s.payload, strlen(s.payload), WPT_ERR));
    WPT_OK(wp_message_set_header(message, "h", header, WPT_ERR));
    if (s.correlation)
        WPT_OK(wp_message_set_correlation_id(message, s.correlation, WPT_ERR));
    if (s.key)
        WPT_OK(wp_message_set_ordering_key(message, s.key, WPT_ERR));
    if (s.unique)
        WPT_OK(wp_message_set_unique_key(message, s.unique, WPT_ERR));
    WPT_OK(wp_message_set_due_us(message, s.due_us, WPT_ERR));
    if (s.expires_us)
        WPT_OK(wp_message_set_expires_us(message, s.expires_us, WPT_ERR));
    WPT_OK(wp_outbox_enqueue(&s.id, NULL, store, NULL, message, WPT_ERR));
    wp_message_free(message);
    free(header);
    {
        wp_outbox_info *info = wpt_info(store, &s.id);
        s.created_us = wp_received_created_us(wp_outbox_info_message(info));
        s.due_us = wp_received_due_us(wp_outbox_info_message(info));
        s.headers = repeated(wp_received_headers(wp_outbox_info_message(info)), 1);
        wp_outbox_info_free(info);
    }
    return s;
}

static void same_text(const char *got, const char *want)
{
    if (!want)
        assert_true(!got || !*got);
    else
        assert_string_equal(got, want);
}

static void is_there(wp_store *store, const sent *s)
{
    wp_outbox_info *info = wpt_info(store, &s->id);
    const wp_received *m = wp_outbox_info_message(info);
    same_text(wp_received_topic(m), s->topic);
    same_text(wp_received_payload(NULL, m), s->payload);
    same_text(wp_received_headers(m), s->headers);
    same_text(wp_received_correlation_id(m), s->correlation);
    same_text(wp_received_ordering_key(m), s->key);
    assert_int_equal(wp_received_due_us(m), s->due_us);
    assert_int_equal(wp_received_created_us(m), s->created_us);
    assert_int_equal(wp_received_expires_us(m), s->expires_us);
    assert_int_equal(wp_outbox_info_next_attempt_us(info), s->due_us);
    wp_outbox_info_free(info);
}

static void forget(sent *s)
{
    free(s->topic);
    free(s->payload);
    free(s->headers);
    free(s->correlation);
    free(s->key);
    free(s->unique);
}

static void moves_hostile(pair *p)
{
    enum { ALL = 6, UNIQUE = 3 };
    sent all[ALL];
    for (int i = 0; i < ALL; i++)
        all[i] = hostile(p->from, i);
    assert_int_equal(cb_move(p), ALL);
    for (int i = 0; i < ALL; i++) {
        wp_outbox_info *gone = NULL;
        wp_id id;
        int duplicate = 0;
        is_there(p->to, &all[i]);
        WPT_STATUS(wp_outbox_get(&gone, p->from, &all[i].id, WPT_ERR), WP_E_NOT_FOUND);
        if (all[i].unique) { /* it is taken in the target, and not in the source any more */
            try_unique(&id, &duplicate, p->to, all[i].unique);
            assert_true(duplicate && wpt_id_equal(&id, &all[i].id));
            try_unique(&id, &duplicate, p->from, all[i].unique);
            assert_int_equal(duplicate, 0);
        }
        forget(&all[i]);
    }
    assert_int_equal(cb_move(p), 0); /* their unique keys are taken */
    assert_int_equal(unfinished_of(p->from), UNIQUE);
}

/* What has been tried, and what is dead, is so in the target. */
static void keeps_attempts(pair *p)
{
    const wp_id owner = wpt_owner(1);
    const wp_id dead = send_dead(p->from, "dead");
    const wp_id tried = wpt_enqueue(p->from, "t", "tried");
    const int64_t number = wpt_claim_one(p->from, 1, &tried, 60000);
    wp_outbox_info *before, *after;
    int64_t next_us;
    WPT_OK(wp_outbox_abandon(NULL, p->from, NULL, &owner, &tried, &number, 1, 5000, "no \xC3\xA4",
                             WPT_ERR));
    before = wpt_info(p->from, &tried);
    next_us = wp_outbox_info_next_attempt_us(before);
    wp_outbox_info_free(before);
    before = wpt_info(p->from, &dead);
    assert_int_equal(cb_move(p), 2);
    assert_int_equal(wpt_attempt_of(p->to, &tried), 1);
    wpt_last_error_is(p->to, &tried, "no \xC3\xA4");
    after = wpt_info(p->to, &tried);
    assert_int_equal(wp_outbox_info_next_attempt_us(after), next_us);
    assert_int_equal(wp_received_claim_number(wp_outbox_info_message(after)), number);
    wp_outbox_info_free(after);
    after = wpt_info(p->to, &dead);
    assert_int_equal(wp_outbox_info_status(after), WP_MESSAGE_FAILED);
    assert_int_equal(wp_outbox_info_finished_us(after), wp_outbox_info_finished_us(before));
    same_text(wp_outbox_info_finished_by(after), wp_outbox_info_finished_by(before));
    same_text(wp_outbox_info_last_error(after), wp_outbox_info_last_error(before));
    assert_int_equal(wp_received_attempt(wp_outbox_info_message(after)),
                     wp_received_attempt(wp_outbox_info_message(before)));
    wp_outbox_info_free(before);
    wp_outbox_info_free(after);
    assert_int_equal(dead_of(p->from), 0);
    assert_int_equal(dead_of(p->to), 1);
}

static void moves_timers(pair *p)
{
    wp_message *message = wpt_message("t", "later");
    wp_outbox_info *info = NULL;
    wp_id id;
    int cancelled = 0;
    WPT_OK(wp_message_set_due_us(message, WPT_START_US + 60 * WPT_SECOND_US, WPT_ERR));
    WPT_OK(wp_message_set_correlation_id(message, "order", WPT_ERR));
    WPT_OK(wp_timer_schedule(&id, NULL, p->from, NULL, message, WPT_ERR));
    wp_message_free(message);
    assert_int_equal(cb_move(p), 1);
    WPT_STATUS(wp_timer_get(&info, p->from, &id, WPT_ERR), WP_E_NOT_FOUND);
    WPT_OK(wp_timer_get(&info, p->to, &id, WPT_ERR));
    assert_int_equal(wp_received_due_us(wp_outbox_info_message(info)),
                     WPT_START_US + 60 * WPT_SECOND_US);
    wp_outbox_info_free(info);
    WPT_OK(wp_timer_cancel(&cancelled, p->to, NULL, &id, WPT_ERR));
    assert_int_equal(cancelled, 1);
}

/* What is moved can be had there; what arrives again, on either side, is not done again. */
static void moves_inbox(pair *p)
{
    const char hash[] = {1, 0, (char)0xff};
    wp_inbox_key *key = ib_key("mq", "hashed");
    wp_message *message = wpt_message("t", "pay\xC3\xA4");
    wp_inbox_state found = WP_INBOX_UNKNOWN;
    wp_copy *copy;
    int mismatch = 0;
    wp_id id, done;
    ib_times before, after;
    (void)ib_enqueue(p->from, NULL, "mq", "done", "t", "x");
    done = ib_claim_one(p->from, 1, 60000);
    assert_int_equal(ib_ack(p->from, 1, &done, 1), 1);
    WPT_OK(wp_inbox_key_set_hash(key, hash, sizeof hash, "sha", WPT_ERR));
    WPT_OK(wp_inbox_enqueue(&id, &found, &mismatch, p->from, NULL, key, message, WPT_ERR));
    before = ib_times_of(p->from, "mq", "hashed");
    copy = cb_copy(p);
    cb_run(copy);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_INBOX, WP_COPY_MOVED), 1);
    /* the one that was done, and the one that is known as done there since it was moved is known already */
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_INBOX, WP_COPY_REMEMBERED), 1);
    assert_string_equal(wp_copy_checksum(copy, 0), wp_copy_checksum(copy, 1));
    wp_copy_free(copy);
    after = ib_times_of(p->to, "mq", "hashed");
    assert_int_equal(after.first_us, before.first_us);
    assert_int_equal(after.last_us, before.last_us);
    ib_payload_is(p->to, "mq", "hashed", "pay\xC3\xA4");
    assert_int_equal(ib_enqueue(p->to, NULL, "mq", "done", "t", "x"), WP_INBOX_DONE);
    assert_int_equal(ib_enqueue(p->from, NULL, "mq", "hashed", "t", "x"), WP_INBOX_DONE);
    assert_int_equal(ib_claimable(p->from), 0);
    WPT_OK(wp_inbox_key_set_hash(key, "other", 5, "sha", WPT_ERR));
    WPT_OK(wp_inbox_enqueue(NULL, &found, &mismatch, p->to, NULL, key, message, WPT_ERR));
    assert_int_equal(mismatch, 1);
    assert_int_equal(found, WP_INBOX_PROCESSING);
    done = ib_claim_one(p->to, 1, 60000);
    assert_true(wpt_id_equal(&done, &id));
    assert_int_equal(ib_ack(p->to, 1, &done, 1), 1);
    assert_int_equal(cb_move(p), 0);
    wp_message_free(message);
    wp_inbox_key_free(key);
}

/* One that the target knows stays where it is. */
static void leaves_known_keys(pair *p)
{
    wp_copy *copy;
    (void)ib_enqueue(p->from, NULL, "mq", "1", "t", "here");
    (void)ib_enqueue(p->to, NULL, "mq", "1", "t", "there");
    copy = cb_copy(p);
    cb_run(copy);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_MOVED), 0);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_INBOX, WP_COPY_WAITING), 1);
    assert_int_equal(wp_copy_refused_count(copy), 1);
    wp_copy_free(copy);
    ib_payload_is(p->to, "mq", "1", "there");
    (void)ib_claim_one(p->from, 1, 60000);
}

/* A page of two, and keys that are longer. */
static void keeps_orders(pair *p)
{
    char done[1000] = "";
    wp_copy *copy = NULL;
    for (int i = 0; i < 5; i++) {
        char payload[16];
        (void)snprintf(payload, sizeof payload, "a%d", i);
        (void)send_keyed(p->from, payload, "a");
        (void)snprintf(payload, sizeof payload, "b%d", i);
        (void)send_keyed(p->from, payload, "b");
    }
    (void)send_keyed(p->to, "b-before", "b");
    copy = cb_copy(p);
    WPT_OK(wp_copy_set_page(copy, 1, WPT_ERR));
    cb_run(copy);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_OUTBOX, WP_COPY_MOVED), 10);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_WAITING), 0);
    wp_copy_free(copy);
    (void)send_keyed(p->to, "a-after", "a");
    handle_all(done, sizeof done, p->to);
    for (int i = 0; i < 4; i++) {
        char one[16], next[16];
        for (int key = 'a'; key <= 'b'; key++) {
            (void)snprintf(one, sizeof one, "%c%d,", key, i);
            (void)snprintf(next, sizeof next, "%c%d,", key, i + 1);
            assert_true(strstr(done, one) && strstr(done, one) < strstr(done, next));
        }
    }
    assert_true(strstr(done, "b-before,") < strstr(done, "b0,"));
    assert_true(strstr(done, "a4,") < strstr(done, "a-after,"));
}

/* ---- what stays --------------------------------------------------------------------------- */

static void leaves_what_is_held(pair *p)
{
    const wp_id owner = wpt_owner(1);
    const wp_id first = send_keyed(p->from, "k1", "k");
    wp_copy *copy;
    char done[200] = "";
    int64_t number;
    (void)send_keyed(p->from, "k2", "k");
    number = wpt_claim_one(p->from, 1, &first, 60000);
    (void)wpt_enqueue(p->from, "t", "free");
    copy = cb_copy(p);
    cb_run(copy);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_OUTBOX, WP_COPY_MOVED), 1);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_OUTBOX, WP_COPY_HELD), 1);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_OUTBOX, WP_COPY_WAITING), 1);
    wp_copy_free(copy);
    WPT_OK(wp_outbox_ack(NULL, p->from, NULL, &owner, &first, &number, 1, NULL, WPT_ERR));
    assert_int_equal(cb_move(p), 1);
    handle_all(done, sizeof done, p->to);
    assert_string_equal(done, "free,k2,");
}

/* Of one whose worker is dead nobody else would take care. */
static void takes_what_is_expired(pair *p)
{
    const wp_id id = wpt_enqueue(p->from, "t", "x");
    if (!wp__store_has_host_clock(p->from))
        return; /* its clock stands still: see the tests of the command */
    (void)wpt_claim_one(p->from, 1, &id, 1000);
    wpt_advance_ms(p->b->clock, 2000);
    assert_int_equal(cb_move(p), 1);
    assert_int_equal(wpt_attempt_of(p->to, &id), 1);
}

/* The rest is moved, but for those of their ordering keys. */
static void leaves_what_is_refused(pair *p)
{
    wp_message *message = wpt_message("t", "mine");
    const wp_id there = send_unique(p->to, "u");
    wp_id mine;
    wp_copy *copy;
    char id[37];
    WPT_OK(wp_message_set_unique_key(message, "u", WPT_ERR));
    WPT_OK(wp_message_set_ordering_key(message, "k", WPT_ERR));
    (void)send_keyed(p->from, "k1", "k");
    mine = wpt_send(p->from, NULL, message);
    (void)send_keyed(p->from, "k2", "k");
    (void)wpt_enqueue(p->from, "t", "other");
    copy = cb_copy(p);
    WPT_OK(wp_copy_set_page(copy, 1, WPT_ERR)); /* each is tried once, and named once */
    cb_run(copy);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_MOVED), 1);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_WAITING), 3);
    assert_int_equal(wp_copy_refused_count(copy), 3);
    assert_string_equal(wp_copy_checksum(copy, 0), wp_copy_checksum(copy, 1));
    wp_id_format(id, &mine);
    assert_non_null(strstr(wp_copy_refused_at(copy, 1), id));
    assert_non_null(strstr(wp_copy_refused_at(copy, 1), "unique key"));
    assert_null(wp_copy_refused_at(copy, 3));
    wp_copy_free(copy);
    (void)wpt_claim_one(p->to, 1, &there, 60000); /* it is the first */
    {
        const wp_id owner = wpt_owner(1);
        char done[200] = "", rest[200] = "";
        handle_all(rest, sizeof rest, p->from); /* they are as they were */
        assert_string_equal(rest, "k1,mine,k2,");
        WPT_OK(wp_outbox_ack(NULL, p->to, NULL, &owner, &there, NULL, 1, NULL, WPT_ERR));
        handle_all(done, sizeof done, p->to);
        assert_string_equal(done, "other,");
    }
}

/* Of an ordering key one is a member, which goes with its join: in their order. */
static void keeps_orders_of_members(pair *p)
{
    wp_message *message = wpt_message("t", "k2");
    wp_join *join = NULL;
    wp_copy *copy;
    const bool moves = cb_moves_joins(p);
    char done[100] = "";
    wp_id id;
    WPT_OK(wp_join_new(&join, 1, WPT_ERR));
    WPT_OK(wp_join_start(&id, p->from, NULL, join, WPT_ERR));
    wp_join_free(join);
    WPT_OK(wp_message_add_join(message, &id, WPT_ERR));
    WPT_OK(wp_message_set_ordering_key(message, "k", WPT_ERR));
    (void)send_keyed(p->from, "k1", "k");
    (void)wpt_send(p->from, NULL, message);
    (void)send_keyed(p->from, "k3", "k");
    (void)send_keyed(p->from, "l1", "l");
    copy = cb_copy(p);
    cb_run(copy);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_MOVED), moves ? 4 : 1);
    wp_copy_free(copy);
    handle_all(done, sizeof done, p->from);
    assert_string_equal(done, moves ? "" : "k1,k2,k3,"); /* what is before it stays, too */
    *done = '\0';
    handle_all(done, sizeof done, p->to);
    assert_string_equal(done, moves ? "l1,k1,k2,k3," : "l1,");
}

static void leaves_dead_ones_if_told(pair *p)
{
    wp_copy *copy;
    (void)send_dead(p->from, "x");
    (void)wpt_enqueue(p->from, "t", "y");
    copy = cb_copy(p);
    WPT_OK(wp_copy_set_dead_letters(copy, 0, WPT_ERR));
    cb_run(copy);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_MOVED), 1);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_DEAD), 1);
    wp_copy_free(copy);
    assert_int_equal(dead_of(p->from), 1);
    assert_int_equal(cb_move(p), 1);
    assert_int_equal(dead_of(p->from), 0);
    assert_int_equal(dead_of(p->to), 1);
}

/* A dead letter's unique key may be an unfinished message's. */
static void moves_dead_ones_of_taken_keys(pair *p)
{
    const wp_id owner = wpt_owner(1);
    const wp_id dead = send_unique(p->from, "u");
    const int64_t number = wpt_claim_one(p->from, 1, &dead, 60000);
    wp_id live;
    WPT_OK(wp_outbox_fail(NULL, p->from, NULL, &owner, &dead, &number, 1, "no", WPT_ERR));
    live = send_unique(p->from, "u");
    assert_int_equal(cb_move(p), 2);
    assert_int_equal(wpt_status_of(p->to, &dead), WP_MESSAGE_FAILED);
    assert_int_equal(wpt_status_of(p->to, &live), WP_MESSAGE_READY);
    {
        size_t replayed = 9;
        WPT_OK(wp_dead_replay(&replayed, p->to, WP_SOURCE_ALL, NULL, 10, 0, NULL, WPT_ERR));
        assert_int_equal(replayed, 0); /* its key is taken */
    }
}

static void moves_pauses(pair *p)
{
    wp_pauses *pauses = NULL;
    WPT_OK(wp_topic_pause(NULL, p->from, NULL, WP_SOURCE_OUTBOX, "t", "me", WPT_ERR));
    assert_int_equal(cb_move(p), 0);
    WPT_OK(wp_pauses_read(&pauses, p->to, WPT_ERR));
    assert_int_equal(wp_pauses_count(pauses), 1);
    assert_string_equal(wp_pauses_topic(pauses, 0), "t");
    assert_string_equal(wp_pauses_by(pauses, 0), "me");
    wp_pauses_free(pauses);
    WPT_OK(wp_topic_resume(NULL, p->to, NULL, WP_SOURCE_OUTBOX, "t", "me", WPT_ERR));
    assert_int_equal(cb_move(p), 0); /* it stays so */
    WPT_OK(wp_pauses_read(&pauses, p->to, WPT_ERR));
    assert_int_equal(wp_pauses_count(pauses), 0);
    wp_pauses_free(pauses);
    WPT_OK(wp_topic_resume(NULL, p->from, NULL, WP_SOURCE_OUTBOX, "t", "me", WPT_ERR));
    assert_int_equal(cb_move(p), 0);
    WPT_OK(wp_topic_pause(NULL, p->from, NULL, WP_SOURCE_OUTBOX, "t", "again", WPT_ERR));
    assert_int_equal(cb_move(p), 0); /* another one */
    WPT_OK(wp_pauses_read(&pauses, p->to, WPT_ERR));
    assert_int_equal(wp_pauses_count(pauses), 1);
    assert_string_equal(wp_pauses_by(pauses, 0), "again");
    wp_pauses_free(pauses);
}

/* ---- what goes wrong ---------------------------------------------------------------------- */

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

/* The process dies after each transaction in turn; workers in both stores do what they can meanwhile. */
static void dies_anywhere(pair *p)
{
    bool whole = p->b->engine->again; /* then another bed does this with the same SQL */
    for (int64_t after = 0; !whole; after++) {
        static const char *const payloads[] = {"p1,", "p2,", "k1,", "k2,", "k3,", "u1,", "i1,"};
        char done[2000] = "", key[16];
        wp_copy *copy = cb_copy(p);
        wp_status st = WP_OK;
        assert_true(after < 40);
        (void)send_keyed(p->from, "k1", "k");
        (void)wpt_enqueue(p->from, "t", "p1");
        (void)send_keyed(p->from, "k2", "k");
        (void)send_keyed(p->from, "k3", "k");
        (void)wpt_enqueue(p->from, "t", "p2");
        {
            wp_message *message = wpt_message("t", "u1");
            WPT_OK(wp_message_set_unique_key(message, "u", WPT_ERR));
            (void)wpt_send(p->from, NULL, message);
        }
        (void)send_dead(p->from, "dead");
        (void)snprintf(key, sizeof key, "%d", (int)after);
        (void)ib_enqueue(p->from, NULL, "mq", key, "t", "i1");
        WPT_OK(wp_copy_set_page(copy, 2, WPT_ERR));
        wp__copy_stop_after(copy, after);
        for (int more = 1; more && st == WP_OK;)
            st = wp_copy_step(&more, copy, WPT_ERR);
        assert_true(st == WP_OK || st == WP_E_STOPPED);
        whole = st == WP_OK;
        wp_copy_free(copy);
        handle_all(done, sizeof done, p->to);
        handle_all(done, sizeof done, p->from);
        handle_inbox(done, sizeof done, p->to);
        handle_inbox(done, sizeof done, p->from);
        assert_true(dead_of(p->from) + dead_of(p->to) <= (size_t)after + 1);
        (void)cb_move(p);
        handle_all(done, sizeof done, p->to);
        handle_all(done, sizeof done, p->from);
        handle_inbox(done, sizeof done, p->to);
        handle_inbox(done, sizeof done, p->from);
        for (size_t i = 0; i < WPT_COUNT(payloads); i++)
            if (count_of(done, payloads[i]) != 1)
                fail_msg("stopped after %d: %s is in \"%s\" %zu times", (int)after, payloads[i],
                         done, count_of(done, payloads[i]));
        assert_int_equal(dead_of(p->from), 0);
        assert_int_equal(dead_of(p->to), (size_t)after + 1);
    }
}

/* Whoever begins later goes on; the one before him writes nothing any more. */
static void only_the_last_one_writes(pair *p)
{
    wp_copy *first, *last;
    int more = 0;
    for (int i = 0; i < 4; i++)
        (void)wpt_enqueue(p->from, "t", "x");
    first = cb_copy(p);
    WPT_OK(wp_copy_set_page(first, 1, WPT_ERR));
    WPT_OK(wp_copy_step(&more, first, WPT_ERR));
    last = cb_copy(p);
    WPT_OK(wp_copy_set_page(last, 1, WPT_ERR));
    WPT_OK(wp_copy_step(&more, last, WPT_ERR));
    WPT_STATUS(wp_copy_step(&more, first, WPT_ERR), WP_E_LEASE_LOST);
    cb_run(last);
    assert_int_equal(wp_copy_count(first, WP_SOURCE_ALL, WP_COPY_MOVED), 1);
    assert_int_equal(wp_copy_count(last, WP_SOURCE_ALL, WP_COPY_MOVED), 3);
    assert_int_equal(unfinished_of(p->to), 4);
    assert_int_equal(unfinished_of(p->from), 0);
    wp_copy_free(first);
    wp_copy_free(last);
}

/* Both directions are one move: what is under way in one is nothing to let go of for the other. */
static void fences_the_way_back(pair *p)
{
    pair back = {.b = p->b, .from = p->to, .to = p->from};
    wp_copy *there = cb_copy(p), *here = cb_copy(&back);
    int more = 1;
    (void)wpt_enqueue(p->from, "t", "1");
    wp__copy_stop_after(there, 0);
    WPT_STATUS(wp_copy_step(&more, there, WPT_ERR), WP_E_STOPPED);
    WPT_OK(wp_copy_step(&more, here, WPT_ERR));
    WPT_STATUS(wp_copy_step(&more, there, WPT_ERR), WP_E_LEASE_LOST);
    wp_copy_free(there);
    wp_copy_free(here);
    assert_int_equal(cb_move(p), 1);
    assert_int_equal(wpt_stat(p->to, "t", WP_STAT_READY), 1);
    assert_int_equal(wpt_stat(p->from, "t", WP_STAT_READY), 0);
}

/* What was on its way to another store is told, so that nobody throws it away with this one. */
static void tells_of_other_moves(pair *p)
{
    pair other = {.b = p->b, .from = p->from, .to = cb_file_beside(p->b, "third")};
    wp_copy *copy = cb_copy(&other);
    int more = 1;
    (void)wpt_enqueue(p->from, "t", "1");
    wp__copy_stop_after(copy, 0);
    WPT_STATUS(wp_copy_step(&more, copy, WPT_ERR), WP_E_STOPPED);
    wp_copy_free(copy);
    copy = cb_copy(p);
    cb_run(copy);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_MOVED), 0);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_OUTBOX, WP_COPY_HELD), 1);
    wp_copy_free(copy);
    assert_int_equal(cb_move(&other), 1);
    wp_store_close(other.to);
}

static void lets_go_of_what_is_marked_meanwhile(pair *p)
{
    wp_inbox_key *key = ib_key("mq", "marked");
    wp_copy *copy = cb_copy(p);
    wp_status st = WP_OK;
    (void)ib_enqueue(p->from, NULL, "mq", "marked", "t", "x");
    wp__copy_stop_after(copy, 0);
    for (int more = 1; more && st == WP_OK;)
        st = wp_copy_step(&more, copy, WPT_ERR);
    WPT_STATUS(st, WP_E_STOPPED);
    wp_copy_free(copy);
    WPT_OK(wp_inbox_mark_processed(p->from, NULL, key, WPT_ERR));
    assert_int_equal(cb_move(p), 0);
    assert_int_equal(ib_check(p->to, NULL, "mq", "marked"), WP_INBOX_DONE);
    wp_inbox_key_free(key);
}

/* And one that is cleaned up then is not taken for one that was deleted as it had been moved. */
static void heeds_what_is_marked_and_cleaned_up(pair *p)
{
    wp_inbox_key *key = ib_key("mq", "marked");
    wp_copy *copy = cb_copy(p);
    wp_status st = WP_OK;
    size_t removed = 9;
    (void)ib_enqueue(p->from, NULL, "mq", "marked", "t", "x");
    wp__copy_stop_after(copy, 1); /* both hold it */
    for (int more = 1; more && st == WP_OK;)
        st = wp_copy_step(&more, copy, WPT_ERR);
    WPT_STATUS(st, WP_E_STOPPED);
    wp_copy_free(copy);
    WPT_OK(wp_inbox_mark_processed(p->from, NULL, key, WPT_ERR));
    wpt_advance_ms(p->b->clock, 60000);
    WPT_OK(wp_cleanup(&removed, p->from, WP_SOURCE_INBOX, 1000, WPT_ERR));
    assert_int_equal(removed, 0);
    copy = cb_copy(p);
    cb_run(copy);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_INBOX, WP_COPY_WAITING), 0);
    wp_copy_free(copy);
    assert_int_equal(ib_claimable(p->to), 0);
    assert_int_equal(ib_check(p->to, NULL, "mq", "marked"), WP_INBOX_DONE);
    wpt_advance_ms(p->b->clock, 60000);
    WPT_OK(wp_cleanup(&removed, p->from, WP_SOURCE_INBOX, 1000, WPT_ERR));
    assert_int_equal(removed, 1);
    wp_inbox_key_free(key);
}

/* ---- what the target does not take -------------------------------------------------------- */

/* The app runs a statement in one of the stores, unless its names are odd. */
static bool exec_at(pair *p, wp_store *store, const char *sql)
{
    app *a;
    if (store == p->b->store && (p->b->engine->outbox || p->b->engine->schema))
        return false;
    if (store == p->b->store) {
        bed_exec(p->b, sql);
        return true;
    }
    for (size_t i = 0; i < engine_count; i++)
        if (strcmp(engines[i]->name, "sqlite, a file") == 0) {
            a = engines[i]->open(store, true);
            engines[i]->exec(a, sql);
            engines[i]->close(a);
            return true;
        }
    fail();
    return false;
}

static bool is_engine(const wp_store *store, const char *name)
{
    return strcmp(wp_store_engine(store), name) == 0;
}

/* Only those that it refuses stay, as they were, and are named; all others go on. */
static void refuses_single_ones(pair *p)
{
    const bool file = is_engine(p->to, "sqlite");
    const bool schemas = is_engine(p->to, "postgresql") || is_engine(p->to, "sqlserver");
    const wp_id owner = wpt_owner(1);
    char formatted[37], done[200] = "";
    wp_copy *copy;
    wp_id no, tried;
    int64_t number;
    if (!exec_at(p, p->to,
                 file ? "CREATE TRIGGER no BEFORE INSERT ON infra_outbox WHEN NEW.payload = 'no' "
                        "BEGIN SELECT RAISE(ABORT, 'not this one'); END"
                 : schemas
                     ? "ALTER TABLE infra.Outbox ADD CONSTRAINT refused CHECK (Payload <> 'no')"
                     : "ALTER TABLE infra_outbox ADD CONSTRAINT refused CHECK (payload <> 'no')"))
        return;
    (void)wpt_enqueue(p->from, "t", "1");
    no = wpt_enqueue(p->from, "t", "no");
    (void)send_keyed(p->from, "k1", "k");
    (void)send_keyed(p->from, "no", "k");
    (void)wpt_enqueue(p->from, "t", "2");
    tried = wpt_enqueue(p->from, "tried", "no");
    {
        const char *topics[] = {"tried"};
        wp_claim *claim = NULL;
        WPT_OK(wp_outbox_claim(&claim, p->from, &owner, topics, 1, 1, 60000, WPT_ERR));
        number = wp_received_claim_number(wp_claim_at(claim, 0));
        wp_claim_free(claim);
    }
    WPT_OK(wp_outbox_abandon(NULL, p->from, NULL, &owner, &tried, &number, 1, 0, "why", WPT_ERR));
    copy = cb_copy(p);
    cb_run(copy);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_MOVED), 2);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_WAITING), 4);
    assert_int_equal(wp_copy_refused_count(copy), 4);
    assert_string_equal(wp_copy_checksum(copy, 0), wp_copy_checksum(copy, 1));
    wp_id_format(formatted, &no);
    assert_non_null(strstr(wp_copy_refused_at(copy, 0), formatted));
    wp_copy_free(copy);
    assert_int_equal(wpt_attempt_of(p->from, &tried), 1);
    wpt_last_error_is(p->from, &tried, "why");
    handle_all(done, sizeof done, p->to);
    assert_string_equal(done, "1,2,");
    (void)exec_at(p, p->to,
                  file      ? "DROP TRIGGER no"
                  : schemas ? "ALTER TABLE infra.Outbox DROP CONSTRAINT refused"
                            : "ALTER TABLE infra_outbox DROP CONSTRAINT refused");
    assert_int_equal(cb_move(p), 4);
}

/* Larger than a packet of MariaDB may be, where the connection breaks meanwhile; others take it. */
static void refuses_large_ones(pair *p)
{
    enum { LARGE = 65 << 20 }; /* the tests' server takes 64 MiB */
    const bool refused = is_engine(p->to, "mariadb");
    char *payload;
    wp_message *message = NULL;
    wp_copy *copy;
    if (!refused || p->b->engine->again)
        return;
    payload = repeated("x", LARGE);
    (void)wpt_enqueue(p->from, "t", "1");
    WPT_OK(wp_message_new(&message, "t", payload, LARGE, WPT_ERR));
    (void)wpt_send(p->from, NULL, message);
    (void)wpt_enqueue(p->from, "t", "2");
    copy = cb_copy(p);
    cb_run(copy);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_MOVED), 2);
    assert_int_equal(wp_copy_refused_count(copy), 1);
    wp_copy_free(copy);
    assert_int_equal(unfinished_of(p->from), 1);
    assert_int_equal(unfinished_of(p->to), 2);
    free(payload);
}

/* A remembered key that nobody can hold is told of; the others are known there. */
static void skips_what_cannot_be_remembered(pair *p)
{
    wp_copy *copy;
    wp_id id;
    for (int i = 0; i < 3; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%d", i);
        (void)ib_enqueue(p->from, NULL, "mq", key, "t", "x");
        id = ib_claim_one(p->from, 1, 60000);
        assert_int_equal(ib_ack(p->from, 1, &id, 1), 1);
    }
    (void)exec_at(
        p, p->from,
        "UPDATE infra_inbox SET correlation_id = hex(zeroblob(200)) WHERE message_id = '1'");
    copy = cb_copy(p);
    cb_run(copy);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_INBOX, WP_COPY_REMEMBERED), 2);
    assert_int_equal(wp_copy_refused_count(copy), 1);
    assert_non_null(strstr(wp_copy_refused_at(copy, 0), "correlation"));
    wp_copy_free(copy);
    assert_int_equal(ib_check(p->to, NULL, "mq", "2"), WP_INBOX_DONE);
    ib_is_unknown(p->to, "mq", "1");
}

/* ---- what happens meanwhile --------------------------------------------------------------- */

typedef struct meanwhile {
    pair *p;
    wp_store *store; /* where it happens */
    char key[32];
    int after;    /* so many transactions */
    bool arrives; /* again; else it is marked as processed */
    bool happened;
} meanwhile;

static bool is_unfinished(wp_store *store, const wp_inbox_key *key)
{
    wp_outbox_info *info = NULL;
    const bool unfinished = wp_inbox_get(&info, store, key, NULL) == WP_OK &&
                            wp_outbox_info_status(info) != WP_MESSAGE_DONE;
    wp_outbox_info_free(info);
    return unfinished;
}

static void happen(void *user)
{
    meanwhile *m = user;
    wp_inbox_key *key;
    if (m->after-- != 0)
        return;
    key = ib_key("mq", m->key);
    m->happened = is_unfinished(m->store, key);
    if (m->happened && m->arrives) {
        wpt_advance_ms(m->p->b->clock, 10);
        (void)ib_enqueue(m->store, NULL, "mq", m->key, "t", "x");
    } else if (m->happened) {
        WPT_OK(wp_inbox_mark_processed(m->store, NULL, key, WPT_ERR));
    }
    wp_inbox_key_free(key);
}

/* Between any two transactions, in either store: what the app has processed itself nobody else does, and what arrives again
 * is one message still. */
static void heeds_what_happens_meanwhile(pair *p)
{
    int times = 0, messages = 0;
    for (int kind = 0; kind < 4; kind++)
        for (int after = 0; after < 6; after++) {
            meanwhile m = {
                .p = p, .store = kind % 2 ? p->to : p->from, .after = after, .arrives = kind / 2};
            wp_copy *copy = cb_copy(p);
            char done[100] = "";
            (void)snprintf(m.key, sizeof m.key, "%d-%d", kind, after);
            (void)ib_enqueue(p->from, NULL, "mq", m.key, "t", "x");
            messages++;
            wp__copy_do_between(copy, happen, &m);
            cb_run(copy);
            assert_string_equal(wp_copy_checksum(copy, 0), wp_copy_checksum(copy, 1));
            wp_copy_free(copy);
            times += m.happened;
            handle_inbox(done, sizeof done, p->to);
            if (m.happened && !m.arrives && m.store == p->from)
                assert_string_equal(done, "");
            handle_inbox(done, sizeof done, p->from);
            if (m.happened && !m.arrives)
                assert_string_equal(done, "");
            else
                assert_string_equal(done, "x,");
            if (ib_check(p->to, NULL, "mq", m.key) != WP_INBOX_DONE ||
                ib_check(p->from, NULL, "mq", m.key) != WP_INBOX_DONE)
                fail_msg("kind %d, after %d: not known as done", kind, after);
        }
    assert_true(times >= 6 && times < messages);
}

/* A worker that held a message ends it when the keys behind it have been looked through. */
static void end_behind(void *user)
{
    meanwhile *m = user;
    wp_inbox_key *key = ib_key("mq", "behind");
    wp_outbox_info *info = NULL;
    if (!m->happened && wp_inbox_get(&info, m->p->to, key, NULL) == WP_OK) {
        const wp_id id = ib_id(m->p->from, "mq", m->key);
        m->happened = true;
        assert_int_equal(ib_ack(m->p->from, 1, &id, 1), 1);
    }
    wp_outbox_info_free(info);
    wp_inbox_key_free(key);
}

static void knows_what_is_done_meanwhile(pair *p)
{
    meanwhile m = {.p = p, .key = "before"};
    wp_copy *copy;
    wp_id id;
    (void)ib_enqueue(p->from, NULL, "mq", "before", "t", "x");
    (void)ib_claim_one(p->from, 1, 600000);
    (void)ib_enqueue(p->from, NULL, "mq", "behind", "t", "x");
    id = ib_claim_one(p->from, 2, 60000);
    assert_int_equal(ib_ack(p->from, 2, &id, 1), 1);
    if (is_engine(p->from, "sqlite")) /* by a clock that was ahead */
        (void)exec_at(p, p->from,
                      "UPDATE infra_inbox_finished SET finished_at = finished_at + 86400000000");
    copy = cb_copy(p);
    wp__copy_do_between(copy, end_behind, &m);
    cb_run(copy);
    assert_true(m.happened);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_INBOX, WP_COPY_REMEMBERED), 2);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_INBOX, WP_COPY_HELD), 0);
    wp_copy_free(copy);
    assert_int_equal(ib_check(p->to, NULL, "mq", "before"), WP_INBOX_DONE);
}

/* ---- giving up ---------------------------------------------------------------------------- */

/* Both the move and the giving up die anywhere; what comes of it is that each message is somewhere, once, and nobody holds
 * it. The move is given up from either side. */
static void gives_up_anywhere(pair *p)
{
    pair back = {.b = p->b, .from = p->to, .to = p->from};
    const int most = p->b->engine->again ? 3 : 30;
    bool whole = false;
    for (int after = 0; !whole && after < most; after++) {
        static const char *const payloads[] = {"p1,", "k1,", "k2,", "i1,"};
        wp_copy *copy = cb_copy(p);
        wp_status st = WP_OK;
        char done[2000] = "", key[16];
        int64_t let_go = -1;
        (void)send_keyed(p->from, "k1", "k");
        (void)wpt_enqueue(p->from, "t", "p1");
        (void)send_keyed(p->from, "k2", "k");
        (void)send_dead(p->from, "dead");
        (void)snprintf(key, sizeof key, "%d", after);
        (void)ib_enqueue(p->from, NULL, "mq", key, "t", "i1");
        WPT_OK(wp_copy_set_page(copy, 2, WPT_ERR));
        wp__copy_stop_after(copy, after);
        for (int more = 1; more && st == WP_OK;)
            st = wp_copy_step(&more, copy, WPT_ERR);
        assert_true(st == WP_OK || st == WP_E_STOPPED);
        whole = st == WP_OK;
        wp_copy_free(copy);
        copy = cb_copy(after % 3 ? p : &back);
        wp__copy_stop_after(copy, after % 2);
        st = wp_copy_cancel(NULL, copy, WPT_ERR);
        assert_true(st == WP_OK || st == WP_E_STOPPED);
        wp_copy_free(copy);
        copy = cb_copy(after % 3 ? p : &back);
        WPT_OK(wp_copy_cancel(&let_go, copy, WPT_ERR));
        assert_true(let_go >= 0);
        WPT_OK(wp_copy_cancel(&let_go, copy, WPT_ERR));
        assert_int_equal(let_go, 0);
        assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_HELD), 0);
        wp_copy_free(copy);
        assert_int_equal(dead_of(p->from) + dead_of(p->to), after + 1);
        handle_all(done, sizeof done, p->to);
        handle_all(done, sizeof done, p->from);
        handle_inbox(done, sizeof done, p->to);
        handle_inbox(done, sizeof done, p->from);
        for (size_t i = 0; i < WPT_COUNT(payloads); i++)
            if (count_of(done, payloads[i]) != 1)
                fail_msg("stopped after %d: %s is in \"%s\" %zu times", after, payloads[i], done,
                         count_of(done, payloads[i]));
        assert_int_equal(ib_check(p->from, NULL, "mq", key), WP_INBOX_DONE);
        (void)cb_move(p); /* the dead letters, so that each round stops at the same places */
    }
    assert_true(whole || p->b->engine->again);
}

/* The one that moves ends. */
static void ends_who_moves(pair *p)
{
    wp_copy *first = cb_copy(p), *last = cb_copy(p);
    int more = 1;
    for (int i = 0; i < 3; i++)
        (void)wpt_enqueue(p->from, "t", "x");
    WPT_OK(wp_copy_set_page(first, 1, WPT_ERR));
    WPT_OK(wp_copy_step(&more, first, WPT_ERR));
    WPT_OK(wp_copy_cancel(NULL, last, WPT_ERR));
    WPT_STATUS(wp_copy_step(&more, first, WPT_ERR), WP_E_LEASE_LOST);
    wp_copy_free(first);
    wp_copy_free(last);
    assert_int_equal(unfinished_of(p->from), 2);
    assert_int_equal(unfinished_of(p->to), 1);
}

static void refuses_the_same_store(pair *p)
{
    wp_copy *copy = NULL;
    WPT_FAILS(wp_copy_new(&copy, p->from, p->from, WPT_ERR), WP_E_ARGUMENT, "same store");
    WPT_FAILS(wp_copy_new(&copy, NULL, p->to, WPT_ERR), WP_E_ARGUMENT, "NULL");
    assert_null(copy);
    copy = cb_copy(p);
    WPT_STATUS(wp_copy_set_page(copy, 0, WPT_ERR), WP_E_RANGE);
    WPT_STATUS(wp_copy_set_page(copy, WP_BATCH_MAX + 1, WPT_ERR), WP_E_RANGE);
    wp_copy_free(copy);
}

static void looks_only(pair *p)
{
    wp_copy *copy;
    const wp_id held = wpt_enqueue(p->from, "t", "held");
    (void)wpt_claim_one(p->from, 1, &held, 60000);
    (void)wpt_enqueue(p->from, "t", "x");
    (void)send_dead(p->from, "x");
    copy = cb_copy(p);
    WPT_OK(wp_copy_look(copy, WPT_ERR));
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_OUTBOX, WP_COPY_WAITING), 1);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_OUTBOX, WP_COPY_DEAD), 1);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_OUTBOX, WP_COPY_HELD), 1);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_MOVED), 0);
    wp_copy_free(copy);
    assert_int_equal(unfinished_of(p->from), 2);
    assert_int_equal(unfinished_of(p->to), 0);
}

/* proves: CLI-001 */
static void test_copy__to_a_file__hostile_values__all_arrive_as_they_were(void **state)
{
    cb_with_pair(state, TO_FILE, moves_hostile);
}

/* proves: CLI-001 */
static void test_copy__from_a_file__hostile_values__all_arrive_as_they_were(void **state)
{
    cb_with_pair(state, FROM_FILE, moves_hostile);
}

/* proves: CLI-001 */
static void test_copy__to_another_schema__hostile_values__all_arrive_as_they_were(void **state)
{
    cb_with_pair(state, TO_SCHEMA, moves_hostile);
}

static void test_copy__to_a_file__tried_and_dead_ones__arrive_as_they_were(void **state)
{
    cb_with_pair(state, TO_FILE, keeps_attempts);
}

static void test_copy__from_a_file__tried_and_dead_ones__arrive_as_they_were(void **state)
{
    cb_with_pair(state, FROM_FILE, keeps_attempts);
}

static void test_copy__from_a_file__timers__can_be_cancelled_there(void **state)
{
    cb_with_pair(state, FROM_FILE, moves_timers);
}

static void test_copy__to_a_file__ordering_keys__in_their_order(void **state)
{
    cb_with_pair(state, TO_FILE, keeps_orders);
}

static void test_copy__from_a_file__ordering_keys__in_their_order(void **state)
{
    cb_with_pair(state, FROM_FILE, keeps_orders);
}

static void test_copy__to_a_file__one_is_held__stays_with_those_of_its_key(void **state)
{
    cb_with_pair(state, TO_FILE, leaves_what_is_held);
}

static void test_copy__to_a_file__one_whose_lease_is_over__is_moved(void **state)
{
    cb_with_pair(state, TO_FILE, takes_what_is_expired);
}

static void test_copy__to_a_file__one_is_refused__stays_with_those_of_its_key(void **state)
{
    cb_with_pair(state, TO_FILE, leaves_what_is_refused);
}

static void test_copy__from_a_file__one_is_refused__stays_with_those_of_its_key(void **state)
{
    cb_with_pair(state, FROM_FILE, leaves_what_is_refused);
}

static void test_copy__from_a_file__ordering_key_of_a_member__is_moved_whole(void **state)
{
    cb_with_pair(state, FROM_FILE, keeps_orders_of_members);
}

static void test_copy__to_a_file__ordering_key_of_a_member__is_moved_whole(void **state)
{
    cb_with_pair(state, TO_FILE, keeps_orders_of_members);
}

static void test_copy__to_a_file__without_dead_letters__they_stay(void **state)
{
    cb_with_pair(state, TO_FILE, leaves_dead_ones_if_told);
}

static void test_copy__to_a_file__dead_letter_whose_unique_key_is_taken__is_moved(void **state)
{
    cb_with_pair(state, TO_FILE, moves_dead_ones_of_taken_keys);
}

static void test_copy__from_a_file__dead_letter_whose_unique_key_is_taken__is_moved(void **state)
{
    cb_with_pair(state, FROM_FILE, moves_dead_ones_of_taken_keys);
}

static void test_copy__to_a_file__pauses__go_along(void **state)
{
    cb_with_pair(state, TO_FILE, moves_pauses);
}

static void test_copy__from_a_file__pauses__go_along(void **state)
{
    cb_with_pair(state, FROM_FILE, moves_pauses);
}

/* proves: CLI-001 */
static void test_copy__to_a_file__the_process_dies_anywhere__each_is_handled_once(void **state)
{
    cb_with_pair(state, TO_FILE, dies_anywhere);
}

/* proves: CLI-001 */
static void test_copy__from_a_file__the_process_dies_anywhere__each_is_handled_once(void **state)
{
    cb_with_pair(state, FROM_FILE, dies_anywhere);
}

/* proves: CLI-001 */
static void
test_copy__to_another_schema__the_process_dies_anywhere__each_is_handled_once(void **state)
{
    cb_with_pair(state, TO_SCHEMA, dies_anywhere);
}

/* proves: CLI-001 */
static void test_copy__to_a_file__two_at_once__only_the_last_one_writes(void **state)
{
    cb_with_pair(state, TO_FILE, only_the_last_one_writes);
}

/* proves: CLI-001 */
static void test_copy__from_a_file__two_at_once__only_the_last_one_writes(void **state)
{
    cb_with_pair(state, FROM_FILE, only_the_last_one_writes);
}

static void test_copy__from_a_file__and_back_at_once__only_the_last_one_writes(void **state)
{
    cb_with_pair(state, FROM_FILE, fences_the_way_back);
}

static void test_copy__to_a_file__begun_to_a_third_store__is_told(void **state)
{
    cb_with_pair(state, TO_FILE, tells_of_other_moves);
}

static void test_copy__to_a_file__marked_meanwhile__is_let_go(void **state)
{
    cb_with_pair(state, TO_FILE, lets_go_of_what_is_marked_meanwhile);
}

/* proves: CLI-001 */
static void test_copy__to_a_file__marked_and_cleaned_up_meanwhile__is_done_once(void **state)
{
    cb_with_pair(state, TO_FILE, heeds_what_is_marked_and_cleaned_up);
}

/* proves: CLI-001 */
static void test_copy__from_a_file__marked_and_cleaned_up_meanwhile__is_done_once(void **state)
{
    cb_with_pair(state, FROM_FILE, heeds_what_is_marked_and_cleaned_up);
}

static void test_copy__to_a_file__the_same_store__is_refused(void **state)
{
    cb_with_pair(state, TO_FILE, refuses_the_same_store);
}

static void test_copy__to_a_file__look__changes_nothing(void **state)
{
    cb_with_pair(state, TO_FILE, looks_only);
}

/* proves: CLI-001 */
static void test_copy__to_a_file__inbox__what_arrives_again_is_not_done_again(void **state)
{
    cb_with_pair(state, TO_FILE, moves_inbox);
}

/* proves: CLI-001 */
static void test_copy__from_a_file__inbox__what_arrives_again_is_not_done_again(void **state)
{
    cb_with_pair(state, FROM_FILE, moves_inbox);
}

static void test_copy__from_a_file__key_that_the_target_knows__stays(void **state)
{
    cb_with_pair(state, FROM_FILE, leaves_known_keys);
}

/* proves: CLI-001 */
static void
test_copy__to_a_file__target_refuses_single_ones__they_stay_and_the_rest_moves(void **state)
{
    cb_with_pair(state, TO_FILE, refuses_single_ones);
}

/* proves: CLI-001 */
static void
test_copy__from_a_file__target_refuses_single_ones__they_stay_and_the_rest_moves(void **state)
{
    cb_with_pair(state, FROM_FILE, refuses_single_ones);
}

/* proves: CLI-001 */
static void
test_copy__from_a_file__larger_than_the_target_takes__stays_and_the_rest_moves(void **state)
{
    cb_with_pair(state, FROM_FILE, refuses_large_ones);
}

/* proves: CLI-001 */
static void test_copy__from_a_file__key_done_while_others_are_copied__is_known(void **state)
{
    cb_with_pair(state, FROM_FILE, knows_what_is_done_meanwhile);
}

/* proves: CLI-001 */
static void test_copy__to_a_file__key_done_while_others_are_copied__is_known(void **state)
{
    cb_with_pair(state, TO_FILE, knows_what_is_done_meanwhile);
}

static void test_copy__from_a_file__key_that_cannot_be_remembered__is_told(void **state)
{
    cb_with_pair(state, FROM_FILE, skips_what_cannot_be_remembered);
}

/* proves: CLI-001 */
static void test_copy__to_a_file__inbox_changes_meanwhile__each_is_done_once(void **state)
{
    cb_with_pair(state, TO_FILE, heeds_what_happens_meanwhile);
}

/* proves: CLI-001 */
static void test_copy__from_a_file__inbox_changes_meanwhile__each_is_done_once(void **state)
{
    cb_with_pair(state, FROM_FILE, heeds_what_happens_meanwhile);
}

/* proves: CLI-001 */
static void test_copy__to_a_file__given_up_anywhere__each_is_somewhere_once(void **state)
{
    cb_with_pair(state, TO_FILE, gives_up_anywhere);
}

/* proves: CLI-001 */
static void test_copy__from_a_file__given_up_anywhere__each_is_somewhere_once(void **state)
{
    cb_with_pair(state, FROM_FILE, gives_up_anywhere);
}

static void test_copy__from_a_file__given_up_by_another__who_moves_ends(void **state)
{
    cb_with_pair(state, FROM_FILE, ends_who_moves);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        BED_TEST(test_copy__to_a_file__hostile_values__all_arrive_as_they_were),
        BED_TEST(test_copy__from_a_file__hostile_values__all_arrive_as_they_were),
        BED_TEST(test_copy__to_another_schema__hostile_values__all_arrive_as_they_were),
        BED_TEST(test_copy__to_a_file__tried_and_dead_ones__arrive_as_they_were),
        BED_TEST(test_copy__from_a_file__tried_and_dead_ones__arrive_as_they_were),
        BED_TEST(test_copy__from_a_file__timers__can_be_cancelled_there),
        BED_TEST(test_copy__to_a_file__ordering_keys__in_their_order),
        BED_TEST(test_copy__from_a_file__ordering_keys__in_their_order),
        BED_TEST(test_copy__to_a_file__one_is_held__stays_with_those_of_its_key),
        BED_TEST(test_copy__to_a_file__one_whose_lease_is_over__is_moved),
        BED_TEST(test_copy__to_a_file__one_is_refused__stays_with_those_of_its_key),
        BED_TEST(test_copy__from_a_file__one_is_refused__stays_with_those_of_its_key),
        BED_TEST(test_copy__from_a_file__ordering_key_of_a_member__is_moved_whole),
        BED_TEST(test_copy__to_a_file__ordering_key_of_a_member__is_moved_whole),
        BED_TEST(test_copy__to_a_file__without_dead_letters__they_stay),
        BED_TEST(test_copy__to_a_file__dead_letter_whose_unique_key_is_taken__is_moved),
        BED_TEST(test_copy__from_a_file__dead_letter_whose_unique_key_is_taken__is_moved),
        BED_TEST(test_copy__to_a_file__pauses__go_along),
        BED_TEST(test_copy__from_a_file__pauses__go_along),
        BED_TEST(test_copy__to_a_file__the_process_dies_anywhere__each_is_handled_once),
        BED_TEST(test_copy__from_a_file__the_process_dies_anywhere__each_is_handled_once),
        BED_TEST(test_copy__to_another_schema__the_process_dies_anywhere__each_is_handled_once),
        BED_TEST(test_copy__to_a_file__two_at_once__only_the_last_one_writes),
        BED_TEST(test_copy__from_a_file__two_at_once__only_the_last_one_writes),
        BED_TEST(test_copy__from_a_file__and_back_at_once__only_the_last_one_writes),
        BED_TEST(test_copy__to_a_file__begun_to_a_third_store__is_told),
        BED_TEST(test_copy__to_a_file__marked_meanwhile__is_let_go),
        BED_TEST(test_copy__to_a_file__marked_and_cleaned_up_meanwhile__is_done_once),
        BED_TEST(test_copy__from_a_file__marked_and_cleaned_up_meanwhile__is_done_once),
        BED_TEST(test_copy__to_a_file__the_same_store__is_refused),
        BED_TEST(test_copy__to_a_file__look__changes_nothing),
        BED_TEST(test_copy__to_a_file__inbox__what_arrives_again_is_not_done_again),
        BED_TEST(test_copy__from_a_file__inbox__what_arrives_again_is_not_done_again),
        BED_TEST(test_copy__from_a_file__key_that_the_target_knows__stays),
        BED_TEST(test_copy__to_a_file__target_refuses_single_ones__they_stay_and_the_rest_moves),
        BED_TEST(test_copy__from_a_file__target_refuses_single_ones__they_stay_and_the_rest_moves),
        BED_TEST(test_copy__from_a_file__larger_than_the_target_takes__stays_and_the_rest_moves),
        BED_TEST(test_copy__from_a_file__key_that_cannot_be_remembered__is_told),
        BED_TEST(test_copy__from_a_file__key_done_while_others_are_copied__is_known),
        BED_TEST(test_copy__to_a_file__key_done_while_others_are_copied__is_known),
        BED_TEST(test_copy__to_a_file__inbox_changes_meanwhile__each_is_done_once),
        BED_TEST(test_copy__from_a_file__inbox_changes_meanwhile__each_is_done_once),
        BED_TEST(test_copy__to_a_file__given_up_anywhere__each_is_somewhere_once),
        BED_TEST(test_copy__from_a_file__given_up_anywhere__each_is_somewhere_once),
        BED_TEST(test_copy__from_a_file__given_up_by_another__who_moves_ends),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
