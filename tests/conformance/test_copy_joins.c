/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance of moving joins, with their members and what waits for them, to another store: each is over once, with what
 * counted, and each message is handled once, whatever happens meanwhile. */
#include <waypost/dead.h>
#include <waypost/join.h>

#include "base/thread.h"
#include "copy_bed.h"

enum { LOG = 4000, SOON_MS = 31000, DEADLINE_MS = 600000 };

static wp_message *member_of(const char *payload, const char *key, const wp_id *a, const wp_id *b)
{
    wp_message *message = wpt_message("t", payload);
    if (key)
        WPT_OK(wp_message_set_ordering_key(message, key, WPT_ERR));
    if (a)
        WPT_OK(wp_message_add_join(message, a, WPT_ERR));
    if (b)
        WPT_OK(wp_message_add_join(message, b, WPT_ERR));
    return message;
}

/* It enqueues "s<name>" or "f<name>" when it is over. */
static wp_id start(wp_store *store, const char *name, int64_t expected, int strict)
{
    char payload[32];
    wp_join *join = NULL;
    wp_message *next;
    wp_id id;
    WPT_OK(wp_join_new(&join, expected, WPT_ERR));
    (void)snprintf(payload, sizeof payload, "s%s", name);
    next = wpt_message("t", payload);
    WPT_OK(wp_join_set_success(join, next, WPT_ERR));
    wp_message_free(next);
    (void)snprintf(payload, sizeof payload, "f%s", name);
    next = wpt_message("t", payload);
    WPT_OK(wp_join_set_failure(join, next, WPT_ERR));
    wp_message_free(next);
    WPT_OK(wp_join_set_fail_if_any(join, strict, WPT_ERR));
    WPT_OK(wp_join_set_grouping_key(join, "g\xC3\xA4'", WPT_ERR));
    WPT_OK(wp_join_set_metadata(join, "{\"n\":\"\xF0\x9F\x98\x80\"}", WPT_ERR));
    WPT_OK(wp_join_set_timeout_ms(join, DEADLINE_MS, WPT_ERR));
    WPT_OK(wp_join_start(&id, store, NULL, join, WPT_ERR));
    wp_join_free(join);
    return id;
}

static wp_id send_waiting(wp_store *store, const wp_id *join)
{
    char text[37], payload[64];
    wp_id_format(text, join);
    (void)snprintf(payload, sizeof payload, "{\"join\":\"%s\"}", text);
    return wpt_enqueue(store, WP_JOIN_WAIT_TOPIC, payload);
}

static void finish(wp_store *store, const wp_received *message, const char *reason)
{
    const wp_id owner = wpt_owner(1);
    const wp_id *id = wp_received_id(message);
    size_t changed = 0;
    if (reason)
        WPT_OK(wp_outbox_fail(&changed, store, NULL, &owner, id, NULL, 1, reason, WPT_ERR));
    else
        WPT_OK(wp_outbox_ack(&changed, store, NULL, &owner, id, NULL, 1, "w", WPT_ERR));
    assert_int_equal(changed, 1);
}

/* Handle what can be, one after the other; "wait" for what waited. At most so many. A claim that met what waits gives nothing. */
static void work_some(char *log, wp_store *store, size_t most)
{
    size_t len = strlen(log);
    for (int empty = 0; empty < 4 && most;) {
        wp_claim *claim = wpt_claim(store, 1, 1, 60000);
        empty = wp_claim_count(claim) ? 0 : empty + 1;
        if (!empty) {
            most--;
            const wp_received *message = wp_claim_at(claim, 0);
            const bool waited = strcmp(wp_received_topic(message), WP_JOIN_WAIT_TOPIC) == 0;
            assert_true(len + 40 < LOG);
            len += (size_t)snprintf(log + len, LOG - len, "%s,",
                                    waited ? "wait"
                                           : (const char *)wp_received_payload(NULL, message));
            finish(store, message, NULL);
        }
        wp_claim_free(claim);
    }
}

static void work_on_both(char *log, pair *p)
{
    for (int i = 0; i < 2; i++) { /* what waited for a join is due a while later */
        work_some(log, p->to, 1000);
        work_some(log, p->from, 1000);
        wpt_advance_ms(p->b->clock, SOON_MS);
    }
    work_some(log, p->to, 1000);
    work_some(log, p->from, 1000);
}

static size_t times(const char *log, const char *part)
{
    size_t count = 0;
    const size_t len = strlen(part);
    for (const char *at = log; (at = strstr(at, part)); at += len)
        count += at == log || at[-1] == ',';
    return count;
}

static void handled(const char *log, const char *part, size_t wanted)
{
    if (times(log, part) != wanted)
        fail_msg("%s was handled %zu times, not %zu: %s", part, times(log, part), wanted, log);
}

/* The store that has it; NULL: none. */
static wp_store *where(pair *p, const wp_id *join)
{
    wp_store *stores[] = {p->from, p->to}, *found = NULL;
    for (size_t i = 0; i < 2; i++) {
        wp_join_info *info = NULL;
        const wp_status st = wp_join_get(&info, stores[i], join, NULL);
        assert_true(st == WP_OK || st == WP_E_NOT_FOUND);
        if (st == WP_OK) {
            assert_null(found);
            found = stores[i];
        }
        wp_join_info_free(info);
    }
    return found;
}

static void is_so(pair *p, const wp_id *join, wp_join_status status, int64_t completed,
                  int64_t failed)
{
    wp_store *store = where(p, join);
    wp_join_info *info = NULL;
    assert_non_null(store);
    WPT_OK(wp_join_get(&info, store, join, WPT_ERR));
    assert_int_equal(wp_join_info_status(info), status);
    assert_int_equal(wp_join_info_completed(info), completed);
    assert_int_equal(wp_join_info_failed(info), failed);
    wp_join_info_free(info);
}

/* The process dies after so many transactions, or comes to the end. */
static wp_status move_until(pair *p, int64_t after)
{
    wp_copy *copy = cb_copy(p);
    wp_status st = WP_OK;
    wp__copy_stop_after(copy, after);
    for (int more = 1; more && st == WP_OK;)
        st = wp_copy_step(&more, copy, WPT_ERR);
    assert_true(st == WP_OK || st == WP_E_STOPPED);
    wp_copy_free(copy);
    return st;
}

/* ---- what is moved ------------------------------------------------------------------------ */

typedef struct world {
    wp_id one, two, three;
    wp_id wait;
} world;

/* One: three members, of which one was acked, and one has an ordering key and is in two, too, of which one has failed; a message waits
 * for it. Three: alone. And a message that is free. */
static world prepare(pair *p)
{
    const wp_id owner = wpt_owner(1);
    world w = {.one = start(p->from, "1", 3, 0),
               .two = start(p->from, "2", 2, 1),
               .three = start(p->from, "3", 1, 0)};
    wp_id id;
    char log[LOG] = "";
    size_t changed = 0;
    w.wait = send_waiting(p->from, &w.one);
    (void)wpt_send(p->from, NULL, member_of("a", NULL, &w.one, NULL));
    work_some(log, p->from, 1); /* and what waits is noted */
    assert_string_equal(log, "a,");
    id = wpt_send(p->from, NULL, member_of("d", NULL, &w.two, NULL));
    wp_claim_free(wpt_claim(p->from, 1, 1, 60000));
    WPT_OK(wp_outbox_fail(&changed, p->from, NULL, &owner, &id, NULL, 1, "why", WPT_ERR));
    assert_int_equal(changed, 1);
    (void)wpt_send(p->from, NULL, member_of("k", "k", NULL, NULL));
    (void)wpt_send(p->from, NULL, member_of("b", NULL, &w.one, NULL));
    (void)wpt_send(p->from, NULL, member_of("c", "k", &w.one, &w.two));
    (void)wpt_send(p->from, NULL, member_of("e", NULL, &w.three, NULL));
    (void)wpt_send(p->from, NULL, member_of("free", NULL, NULL, NULL));
    return w;
}

static void check(pair *p, const world *w, const char *log)
{
    static const char *const all[] = {"k,",  "b,",  "c,",    "e,",   "s1,",
                                      "f2,", "s3,", "free,", "wait,"};
    for (size_t i = 0; i < WPT_COUNT(all); i++)
        handled(log, all[i], 1);
    assert_true(strstr(log, "k,") < strstr(log, "c,"));
    assert_true(strstr(log, "b,") < strstr(log, "wait,") &&
                strstr(log, "c,") < strstr(log, "wait,"));
    handled(log, "f1,", 0);
    handled(log, "s2,", 0);
    handled(log, "f3,", 0);
    is_so(p, &w->one, WP_JOIN_COMPLETED, 3, 0);
    is_so(p, &w->two, WP_JOIN_FAILED, 1, 1);
    is_so(p, &w->three, WP_JOIN_COMPLETED, 1, 0);
}

/* So that the next round stops at the same places. */
static void clean(pair *p)
{
    wp_store *stores[] = {p->from, p->to};
    for (size_t s = 0; s < 2; s++) {
        WPT_OK(wp_join_cleanup(NULL, stores[s], 0, WPT_ERR));
        WPT_OK(wp_dead_purge(NULL, stores[s], WP_SOURCE_OUTBOX, NULL, 100, WPT_ERR));
    }
}

static void same_join(pair *p, const wp_join_info *before)
{
    wp_join_info *after = NULL;
    WPT_OK(wp_join_get(&after, p->to, wp_join_info_id(before), WPT_ERR));
    assert_int_equal(wp_join_info_status(after), wp_join_info_status(before));
    assert_int_equal(wp_join_info_expected(after), wp_join_info_expected(before));
    assert_int_equal(wp_join_info_completed(after), wp_join_info_completed(before));
    assert_int_equal(wp_join_info_failed(after), wp_join_info_failed(before));
    assert_int_equal(wp_join_info_fail_if_any(after), wp_join_info_fail_if_any(before));
    assert_string_equal(wp_join_info_grouping_key(after), wp_join_info_grouping_key(before));
    assert_string_equal(wp_join_info_metadata(after), wp_join_info_metadata(before));
    assert_int_equal(wp_join_info_created_us(after), wp_join_info_created_us(before));
    assert_int_equal(wp_join_info_deadline_us(after), wp_join_info_deadline_us(before));
    wp_join_info_free(after);
}

/* Counts, members that are done, deadline, what is enqueued; the listing by pages of one. */
static void keeps_all(pair *p)
{
    const world w = prepare(p);
    wp_copy *copy = cb_copy(p);
    wp_join_info *before[3] = {NULL};
    char log[LOG] = "";
    wp_join_members *page = NULL, *after = NULL;
    int64_t statuses[3] = {0};
    WPT_OK(wp_join_get(&before[0], p->from, &w.one, WPT_ERR));
    WPT_OK(wp_join_get(&before[1], p->from, &w.two, WPT_ERR));
    WPT_OK(wp_join_get(&before[2], p->from, &w.three, WPT_ERR));
    WPT_OK(wp_copy_look(copy, WPT_ERR));
    assert_int_equal(wp_copy_joins(copy), 3);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_OUTBOX, WP_COPY_JOINED), 4);
    cb_run(copy);
    assert_int_equal(wp_copy_joins_moved(copy), 3);
    assert_int_equal(wp_copy_joins(copy), 0);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_OUTBOX, WP_COPY_MOVED), 7);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_OUTBOX, WP_COPY_JOINED), 0);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_OUTBOX, WP_COPY_HELD), 0);
    assert_int_equal(wp_copy_refused_count(copy), 0);
    assert_string_equal(wp_copy_checksum(copy, 0), wp_copy_checksum(copy, 1));
    wp_copy_free(copy);
    for (size_t i = 0; i < 3; i++) {
        same_join(p, before[i]);
        wp_join_info_free(before[i]);
    }
    for (;;) {
        WPT_OK(wp_join_members_list(&page, p->to, &w.one, after, 1, WPT_ERR));
        wp_join_members_free(after);
        if (!wp_join_members_count(page))
            break;
        statuses[wp_join_members_status(page, 0)]++;
        after = page;
    }
    wp_join_members_free(page);
    assert_int_equal(statuses[WP_JOIN_MEMBER_COMPLETED], 1);
    assert_int_equal(statuses[WP_JOIN_MEMBER_WAITING], 2);
    work_some(log, p->from, 100);
    assert_string_equal(log, "");
    work_on_both(log, p);
    check(p, &w, log);
    assert_int_equal(cb_move(p), 0);
}

/* ---- what stays --------------------------------------------------------------------------- */

/* A join with a member that runs, and all that has to go along with it. */
static void leaves_running_ones(pair *p)
{
    const wp_id owner = wpt_owner(1);
    wp_copy *copy = cb_copy(p);
    const wp_id one = start(p->from, "1", 2, 0), two = start(p->from, "2", 1, 0);
    const wp_id running = wpt_send(p->from, NULL, member_of("r", NULL, &one, NULL));
    char log[LOG] = "";
    size_t changed = 0;
    (void)wpt_claim_one(p->from, 1, &running, 60000);
    (void)wpt_send(p->from, NULL, member_of("b", NULL, &one, NULL));
    (void)send_waiting(p->from, &one);
    (void)wpt_send(p->from, NULL, member_of("c", NULL, &two, NULL));
    cb_run(copy);
    assert_int_equal(wp_copy_joins_moved(copy), 1);
    assert_int_equal(wp_copy_joins(copy), 1);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_OUTBOX, WP_COPY_MOVED), 1);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_OUTBOX, WP_COPY_JOINED), 2);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_OUTBOX, WP_COPY_HELD), 1);
    assert_int_equal(wp_copy_refused_count(copy), 1);
    assert_non_null(strstr(wp_copy_refused_at(copy, 0), "running"));
    wp_copy_free(copy);
    assert_ptr_equal(where(p, &one), p->from);
    assert_ptr_equal(where(p, &two), p->to);
    WPT_OK(wp_outbox_ack(&changed, p->from, NULL, &owner, &running, NULL, 1, "w", WPT_ERR));
    assert_int_equal(cb_move(p), 2);
    assert_ptr_equal(where(p, &one), p->to);
    work_on_both(log, p);
    handled(log, "s1,", 1);
    handled(log, "s2,", 1);
    handled(log, "wait,", 1);
    is_so(p, &one, WP_JOIN_COMPLETED, 2, 0);
}

/* One of a member's key is refused, so all stays, as it was. */
static void leaves_what_is_refused(pair *p)
{
    const wp_id one = start(p->from, "1", 2, 0);
    wp_message *message = member_of("b", NULL, &one, NULL);
    wp_copy *copy = cb_copy(p);
    char log[LOG] = "";
    WPT_OK(wp_message_set_unique_key(message, "u", WPT_ERR));
    (void)wpt_send(p->from, NULL, message);
    (void)wpt_send(p->from, NULL, member_of("c", NULL, &one, NULL));
    message = wpt_message("t", "theirs");
    WPT_OK(wp_message_set_unique_key(message, "u", WPT_ERR));
    (void)wpt_send(p->to, NULL, message);
    cb_run(copy);
    assert_int_equal(wp_copy_joins_moved(copy), 0);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_MOVED), 0);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_HELD), 0);
    assert_int_equal(wp_copy_refused_count(copy), 1);
    assert_non_null(strstr(wp_copy_refused_at(copy, 0), "unique key"));
    assert_non_null(strstr(wp_copy_refused_at(copy, 0), "join "));
    wp_copy_free(copy);
    assert_ptr_equal(where(p, &one), p->from);
    work_on_both(log, p);
    handled(log, "s1,", 1);
    handled(log, "theirs,", 1);
    is_so(p, &one, WP_JOIN_COMPLETED, 2, 0);
}

/* A join that is over, and for which a message waits still. */
static void moves_what_waits_for_ended_ones(pair *p)
{
    const wp_id one = start(p->from, "1", 1, 0);
    char log[LOG] = "";
    wp_copy *copy;
    (void)wpt_send(p->from, NULL, member_of("b", NULL, &one, NULL));
    work_some(log, p->from, 2);
    (void)send_waiting(p->from, &one);
    copy = cb_copy(p);
    cb_run(copy);
    assert_int_equal(wp_copy_joins_moved(copy), 1);
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_MOVED), 1);
    wp_copy_free(copy);
    work_on_both(log, p);
    handled(log, "wait,", 1);
    is_so(p, &one, WP_JOIN_COMPLETED, 1, 0);
}

/* ---- what goes wrong ---------------------------------------------------------------------- */

/* The process dies after each transaction in turn; workers handle in both stores what they can. */
static void dies_anywhere(pair *p)
{
    bool whole = p->b->engine->again; /* then another bed does this with the same SQL */
    for (int64_t after = 0; !whole; after++) {
        const world w = prepare(p);
        char log[LOG] = "";
        wp_copy *copy;
        assert_true(after < 40);
        whole = move_until(p, after) == WP_OK;
        if (after % 2)
            work_on_both(log, p);
        copy = cb_copy(p);
        cb_run(copy);
        assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_HELD), 0);
        assert_int_equal(wp_copy_joins(copy), 0);
        assert_int_equal(wp_copy_refused_count(copy), 0);
        wp_copy_free(copy);
        work_on_both(log, p);
        check(p, &w, log);
        clean(p);
    }
}

/* And is given up then, from either side, which may die, too. */
static void gives_up_anywhere(pair *p)
{
    pair back = {.b = p->b, .from = p->to, .to = p->from};
    const int most = p->b->engine->again ? 0 : 40;
    bool whole = false;
    for (int after = 0; !whole && after < most; after++) {
        const world w = prepare(p);
        char log[LOG] = "";
        int64_t let_go = -1;
        wp_copy *copy;
        wp_status st;
        whole = move_until(p, after) == WP_OK;
        copy = cb_copy(after % 3 ? p : &back);
        wp__copy_stop_after(copy, after % 2);
        st = wp_copy_cancel(NULL, copy, WPT_ERR);
        assert_true(st == WP_OK || st == WP_E_STOPPED);
        wp_copy_free(copy);
        work_some(log, p->to, 2);
        copy = cb_copy(after % 3 ? p : &back);
        WPT_OK(wp_copy_cancel(&let_go, copy, WPT_ERR));
        WPT_OK(wp_copy_cancel(&let_go, copy, WPT_ERR));
        assert_int_equal(let_go, 0);
        assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_HELD), 0);
        wp_copy_free(copy);
        work_on_both(log, p);
        check(p, &w, log);
        clean(p);
    }
    assert_true(whole || !most);
}

/* There, part of the way back, and on or given up. */
static void goes_back(pair *p)
{
    pair back = {.b = p->b, .from = p->to, .to = p->from};
    const int rounds = p->b->engine->again ? 0 : 16;
    for (int n = 0; n < rounds; n++) {
        const world w = prepare(p);
        char log[LOG] = "";
        (void)move_until(p, 4 + n / 4 * 3);
        (void)move_until(&back, (int64_t)(n % 4) * 2);
        if (n % 2) {
            wp_copy *copy = cb_copy(p);
            WPT_OK(wp_copy_cancel(NULL, copy, WPT_ERR));
            wp_copy_free(copy);
        } else {
            (void)move_until(&back, 1000);
        }
        work_on_both(log, p);
        check(p, &w, log);
        clean(p);
    }
}

/* ---- what happens meanwhile --------------------------------------------------------------- */

typedef enum event {
    ATTACHED_HERE,  /* a message that is free, and may be on its way */
    ENQUEUED_HERE,  /* a new member */
    ATTACHED_THERE, /* the message that is free, as soon as it is there, to a join of that store */
    JOINED_THERE,   /* the join, as soon as it is there */
    REPORTED_HERE,
    CANCELLED_HERE,
    CANCELLED_THERE,
    WAITED_HERE, /* another message that waits for it */
    EXPIRED,
    EVENTS
} event;

typedef struct meanwhile {
    pair *p;
    event event;
    int after; /* so many transactions */
    bool happened;
    wp_id join, theirs, member, free;
} meanwhile;

static void happen(void *user)
{
    meanwhile *m = user;
    wp_message *message;
    wp_id id;
    size_t count = 0;
    int yes = 0;
    if (m->after-- != 0)
        return;
    switch (m->event) {
    case ATTACHED_HERE:
        m->happened =
            wp_join_attach(&count, m->p->from, NULL, &m->join, &m->free, 1, NULL) == WP_OK;
        break;
    case ATTACHED_THERE:
        m->happened =
            wp_join_attach(&count, m->p->to, NULL, &m->theirs, &m->free, 1, NULL) == WP_OK;
        break;
    case ENQUEUED_HERE:
    case JOINED_THERE:
        message = member_of("new", NULL, &m->join, NULL);
        m->happened =
            wp_outbox_enqueue(&id, NULL, m->event == ENQUEUED_HERE ? m->p->from : m->p->to, NULL,
                              message, NULL) == WP_OK;
        wp_message_free(message);
        break;
    case REPORTED_HERE:
        m->happened =
            wp_join_report(&count, m->p->from, NULL, &m->join, &m->member, 1, 1, NULL) == WP_OK &&
            count == 1;
        break;
    case CANCELLED_HERE:
    case CANCELLED_THERE:
        m->happened = wp_join_cancel(&yes, m->event == CANCELLED_HERE ? m->p->from : m->p->to, NULL,
                                     &m->join, NULL) == WP_OK &&
                      yes;
        break;
    case WAITED_HERE:
        if (where(m->p, &m->join) == m->p->from) {
            (void)send_waiting(m->p->from, &m->join);
            m->happened = true;
        }
        break;
    default:
        wpt_advance_ms(m->p->b->clock, (int64_t)2 * DEADLINE_MS);
        WPT_OK(wp_join_reap(NULL, m->p->from, WPT_ERR));
        WPT_OK(wp_join_reap(NULL, m->p->to, WPT_ERR));
        m->happened = true;
    }
}

/* What came of it: how often the join enqueued its messages, and what counted. */
static void heeded(pair *p, const meanwhile *m, char *log)
{
    const bool more =
        m->event == ATTACHED_HERE || m->event == ENQUEUED_HERE || m->event == JOINED_THERE;
    const bool cancelled =
        m->happened && (m->event == CANCELLED_HERE || m->event == CANCELLED_THERE);
    const bool expired = m->happened && m->event == EXPIRED;
    if (expired) {
        WPT_OK(wp_join_reap(NULL, p->from, WPT_ERR));
        WPT_OK(wp_join_reap(NULL, p->to, WPT_ERR));
    }
    work_on_both(log, p);
    if (more && !m->happened) { /* it waits for one more member still */
        handled(log, "sj,", 0);
        is_so(p, &m->join, WP_JOIN_OPEN, 2, 0);
        (void)wpt_send(where(p, &m->join), NULL, member_of("more", NULL, &m->join, NULL));
        work_on_both(log, p);
    }
    handled(log, "b,", 1);
    handled(log, "c,", 1);
    handled(log, "free,", 1);
    handled(log, "sj,", !cancelled && !expired);
    handled(log, "fj,", expired);
    handled(log, "wait,", m->event == WAITED_HERE && m->happened ? 2 : 1);
    if (m->event == ATTACHED_THERE)
        handled(log, "st,", m->happened);
    if (cancelled)
        is_so(p, &m->join, WP_JOIN_CANCELLED, 0, 0);
    else if (expired)
        is_so(p, &m->join, WP_JOIN_FAILED, 0, 0);
    else if (m->event == REPORTED_HERE && m->happened)
        is_so(p, &m->join, WP_JOIN_COMPLETED, 1, 1);
    else
        is_so(p, &m->join, WP_JOIN_COMPLETED, more ? 3 : 2, 0);
}

/* Whatever anybody does with the join or its messages between any two transactions, in either store. */
static bool heeds(pair *p, event what, int after)
{
    const bool more = what == ATTACHED_HERE || what == ENQUEUED_HERE || what == JOINED_THERE;
    meanwhile m = {.p = p, .event = what, .after = after};
    wp_copy *copy = cb_copy(p);
    char log[LOG] = "";
    m.join = start(p->from, "j", more ? 3 : 2, 0);
    m.theirs = start(p->to, "t", 1, 0);
    m.member = wpt_send(p->from, NULL, member_of("b", NULL, &m.join, NULL));
    (void)wpt_send(p->from, NULL, member_of("c", NULL, &m.join, NULL));
    m.free = wpt_send(p->from, NULL, member_of("free", NULL, NULL, NULL));
    (void)send_waiting(p->from, &m.join);
    wp__copy_do_between(copy, happen, &m);
    cb_run(copy);
    assert_string_equal(wp_copy_checksum(copy, 0), wp_copy_checksum(copy, 1));
    assert_int_equal(wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_HELD), 0);
    wp_copy_free(copy);
    heeded(p, &m, log);
    WPT_OK(wp_join_cancel(NULL, p->to, NULL, &m.theirs, WPT_ERR));
    clean(p);
    return m.happened;
}

static void heeds_what_happens_meanwhile(pair *p)
{
    const int events = p->b->engine->again ? 0 : EVENTS;
    for (int what = 0; what < events; what++) {
        int happened = 0;
        for (int after = 0; after < 10; after++)
            happened += heeds(p, (event)what, after);
        if (happened < 1)
            fail_msg("event %d never happened", what);
    }
}

/* A dead letter that is on its way becomes a member: it counts as failed in the source, or is moved and is none. */
static void counts_dead_letters(pair *p)
{
    const int rounds = p->b->engine->again ? 0 : 4;
    int happened = 0;
    for (int after = 0; after < rounds; after++) {
        const wp_id owner = wpt_owner(1);
        const wp_id join = start(p->from, "j", 1, 1);
        wp_id dead = wpt_enqueue(p->from, "t", "dead");
        char log[LOG] = "";
        size_t count = 0;
        wp_status st;
        wp_claim_free(wpt_claim(p->from, 1, 1, 60000));
        WPT_OK(wp_outbox_fail(&count, p->from, NULL, &owner, &dead, NULL, 1, "why", WPT_ERR));
        (void)move_until(p, after);
        st = wp_join_attach(&count, p->from, NULL, &join, &dead, 1, NULL);
        happened += st == WP_OK;
        (void)cb_move(p);
        work_on_both(log, p);
        handled(log, "fj,", st == WP_OK);
        is_so(p, &join, st == WP_OK ? WP_JOIN_FAILED : WP_JOIN_OPEN, 0, st == WP_OK);
        WPT_OK(wp_join_cancel(NULL, p->from, NULL, &join, WPT_ERR));
        WPT_OK(wp_join_cancel(NULL, p->to, NULL, &join, WPT_ERR));
        clean(p);
    }
    assert_true(happened || !rounds);
}

typedef struct mover {
    pair *p;
    wp_status st;
    wp__thread thread;
} mover;

static void *move_main(void *arg)
{
    mover *m = arg;
    wp_copy *copy = NULL;
    m->st = wp_copy_new(&copy, m->p->from, m->p->to, NULL);
    for (int more = 1; more && m->st == WP_OK;) {
        wp_error *err = NULL;
        m->st = wp_copy_step(&more, copy, &err);
        if (m->st != WP_OK && wp_error_retriable(err))
            m->st = WP_OK;
        wp_error_free(err);
    }
    wp_copy_free(copy);
    return NULL;
}

/* The app has attached a member and not committed yet when the join is to be deleted in the source. */
static void waits_for_the_apps_member(pair *p)
{
    bed *b = p->b;
    mover m = {.p = p};
    const wp_id join = start(p->from, "j", 2, 0);
    wp_message *message = member_of("late", NULL, &join, NULL);
    char log[LOG] = "";
    wp_id id;
    (void)wpt_send(p->from, NULL, member_of("b", NULL, &join, NULL));
    bed_exec(b, b->engine->begin);
    WPT_OK(wp_outbox_enqueue(&id, NULL, b->store, b->conn, message, WPT_ERR));
    wp_message_free(message);
    WPT_OK(wp__thread_start(&m.thread, "mover", move_main, &m, WPT_ERR));
    bed_exec(b, b->engine->commit);
    wp__thread_join(&m.thread);
    WPT_STATUS(m.st, WP_OK);
    (void)cb_move(p);
    work_on_both(log, p);
    handled(log, "late,", 1);
    handled(log, "sj,", 1);
    is_so(p, &join, WP_JOIN_COMPLETED, 2, 0);
}

typedef struct reporter {
    pair *p;
    wp_id join, member;
    int after; /* so many transactions */
    bool started;
    size_t counted;
    wp_status st;
    wp__thread thread;
} reporter;

static void *report_main(void *arg)
{
    reporter *r = arg;
    wp_error *err = NULL;
    r->st = wp_join_report(&r->counted, r->p->from, NULL, &r->join, &r->member, 1, 1, &err);
    if (r->st != WP_OK && wp_error_retriable(err))
        r->st = WP_E_NOT_FOUND; /* nothing was done */
    wp_error_free(err);
    return NULL;
}

static void report_beside(void *user)
{
    reporter *r = user;
    if (r->after-- != 0)
        return;
    r->started = true;
    WPT_OK(wp__thread_start(&r->thread, "reporter", report_main, r, WPT_ERR));
}

/* Somebody reports a member while the next transactions of the move go on: it counts, or he is told that there is no such join. */
static void tells_who_reports(pair *p)
{
    for (int n = 0; n < 24; n++) {
        reporter r = {.p = p, .join = start(p->from, "j", 2, 0), .after = n % 8};
        wp_copy *copy = cb_copy(p);
        char log[LOG] = "";
        r.member = wpt_send(p->from, NULL, member_of("b", NULL, &r.join, NULL));
        wp__copy_do_between(copy, report_beside, &r);
        cb_run(copy);
        wp_copy_free(copy);
        if (r.started)
            wp__thread_join(&r.thread);
        else
            r.st = WP_E_NOT_FOUND;
        assert_true(r.st == WP_OK || r.st == WP_E_NOT_FOUND);
        assert_int_equal(r.counted, r.st == WP_OK);
        is_so(p, &r.join, WP_JOIN_OPEN, 0, r.st == WP_OK);
        work_on_both(log, p);
        is_so(p, &r.join, WP_JOIN_OPEN, r.st != WP_OK, r.st == WP_OK);
        WPT_OK(wp_join_cancel(NULL, where(p, &r.join), NULL, &r.join, WPT_ERR));
        clean(p);
    }
}

static wp_id dead_one(wp_store *store, WP_OWN wp_message *message)
{
    const wp_id owner = wpt_owner(1);
    const wp_id id = wpt_send(store, NULL, message);
    size_t changed = 0;
    (void)wpt_claim_one(store, 1, &id, 60000);
    WPT_OK(wp_outbox_fail(&changed, store, NULL, &owner, &id, NULL, 1, "why", WPT_ERR));
    assert_int_equal(changed, 1);
    return id;
}

/* A member's dead letter that moves after its join, is replayed and attached once more: it has counted, also when all moves on. */
static void counts_late_dead_letters_once(pair *p)
{
    pair back = {.b = p->b, .from = p->to, .to = p->from};
    const wp_id join = start(p->from, "j", 3, 0);
    const wp_id dead = dead_one(p->from, member_of("dead", NULL, &join, NULL));
    wp_copy *copy = cb_copy(p);
    size_t count = 99;
    char log[LOG] = "";
    (void)wpt_send(p->from, NULL, member_of("b", NULL, &join, NULL));
    WPT_OK(wp_copy_set_dead_letters(copy, 0, WPT_ERR));
    cb_run(copy);
    wp_copy_free(copy);
    assert_int_equal(cb_move(p), 1);
    WPT_OK(wp_dead_replay(&count, p->to, WP_SOURCE_OUTBOX, NULL, 10, 0, "tester", WPT_ERR));
    assert_int_equal(count, 1);
    WPT_OK(wp_join_attach(&count, p->to, NULL, &join, &dead, 1, WPT_ERR));
    assert_int_equal(count, 0);
    (void)cb_move(&back);
    is_so(p, &join, WP_JOIN_OPEN, 0, 1);
    work_on_both(log, p);
    handled(log, "dead,", 1);
    is_so(p, &join, WP_JOIN_OPEN, 1, 1);
}

static void *cancel_main(void *arg)
{
    mover *m = arg;
    wp_copy *copy = NULL;
    m->st = wp_copy_new(&copy, m->p->from, m->p->to, NULL);
    if (m->st == WP_OK)
        m->st = wp_copy_cancel(NULL, copy, NULL);
    wp_copy_free(copy);
    return NULL;
}

/* The app has attached a dead letter and not committed yet when the move that holds it is given up. */
static void waits_for_who_attaches_a_dead_letter(pair *p)
{
    bed *b = p->b;
    const bool alone = b->engine->one_writer;
    for (int n = 0; n < 6; n++) {
        mover m = {.p = p};
        const wp_id join = start(p->from, "j", 1, 1);
        const wp_id dead = dead_one(p->from, wpt_message("t", "dead"));
        char log[LOG] = "";
        size_t count = 0;
        assert_int_equal(move_until(p, 1), WP_E_STOPPED);
        bed_exec(b, b->engine->begin);
        WPT_OK(wp_join_attach(&count, b->store, b->conn, &join, &dead, 1, WPT_ERR));
        assert_int_equal(count, 1);
        WPT_OK(wp__thread_start(&m.thread, "mover", cancel_main, &m, WPT_ERR));
        for (int i = 0; i < 20 * n && !alone; i++)
            (void)where(p, &join); /* it gets further meanwhile */
        bed_exec(b, b->engine->commit);
        wp__thread_join(&m.thread);
        if (m.st != WP_OK) { /* of two in a deadlock */
            m.st = WP_OK;
            (void)cancel_main(&m);
        }
        WPT_STATUS(m.st, WP_OK);
        is_so(p, &join, WP_JOIN_FAILED, 0, 1);
        work_on_both(log, p);
        handled(log, "fj,", 1);
        clean(p);
    }
}

#define BOTH_WAYS(name, scenario)                                                                  \
    static void test_copy_join__to_a_file__##name(void **state)                                    \
    {                                                                                              \
        cb_with_joins(state, TO_FILE, scenario);                                                   \
    }                                                                                              \
    static void test_copy_join__from_a_file__##name(void **state)                                  \
    {                                                                                              \
        cb_with_joins(state, FROM_FILE, scenario);                                                 \
    }

/* proves: CLI-001 */
static void
test_copy_join__to_another_schema__the_process_dies_anywhere__each_is_over_once(void **state)
{
    cb_with_joins(state, TO_SCHEMA, dies_anywhere);
}

/* proves: CLI-001 */
static void test_copy_join__to_a_file__an_app_commits_a_member_late__it_counts(void **state)
{
    cb_with_joins(state, TO_FILE, waits_for_the_apps_member);
}

/* proves: CLI-001 */
static void test_copy_join__to_a_file__counts_and_deadlines__arrive_as_they_were(void **state)
{
    cb_with_joins(state, TO_FILE, keeps_all);
}

/* proves: CLI-001 */
static void test_copy_join__from_a_file__counts_and_deadlines__arrive_as_they_were(void **state)
{
    cb_with_joins(state, FROM_FILE, keeps_all);
}

BOTH_WAYS(a_member_runs__stays_and_is_moved_later, leaves_running_ones)
BOTH_WAYS(a_message_is_refused__all_stays, leaves_what_is_refused)
BOTH_WAYS(over_but_waited_for__goes_along, moves_what_waits_for_ended_ones)
/* proves: CLI-001 */
static void test_copy_join__to_a_file__the_process_dies_anywhere__each_is_over_once(void **state)
{
    cb_with_joins(state, TO_FILE, dies_anywhere);
}

/* proves: CLI-001 */
static void test_copy_join__from_a_file__the_process_dies_anywhere__each_is_over_once(void **state)
{
    cb_with_joins(state, FROM_FILE, dies_anywhere);
}

/* proves: CLI-001 */
static void test_copy_join__to_a_file__given_up_anywhere__each_is_over_once(void **state)
{
    cb_with_joins(state, TO_FILE, gives_up_anywhere);
}

/* proves: CLI-001 */
static void test_copy_join__from_a_file__given_up_anywhere__each_is_over_once(void **state)
{
    cb_with_joins(state, FROM_FILE, gives_up_anywhere);
}

BOTH_WAYS(and_back_again__each_is_over_once, goes_back)
/* proves: CLI-001 */
static void test_copy_join__to_a_file__changed_meanwhile__each_is_over_once(void **state)
{
    cb_with_joins(state, TO_FILE, heeds_what_happens_meanwhile);
}

/* proves: CLI-001 */
static void test_copy_join__from_a_file__changed_meanwhile__each_is_over_once(void **state)
{
    cb_with_joins(state, FROM_FILE, heeds_what_happens_meanwhile);
}

BOTH_WAYS(a_dead_letter_is_attached__counts_once, counts_dead_letters)
BOTH_WAYS(a_dead_member_comes_later__counts_once, counts_late_dead_letters_once)
BOTH_WAYS(reported_beside__counts_or_is_told, tells_who_reports)

/* proves: CLI-001 */
static void test_copy_join__to_a_file__an_app_commits_a_dead_letter_late__it_counts(void **state)
{
    cb_with_pair(state, TO_FILE, waits_for_who_attaches_a_dead_letter);
}

#define BOTH_TESTS(name)                                                                           \
    BED_TEST(test_copy_join__to_a_file__##name), BED_TEST(test_copy_join__from_a_file__##name)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        BOTH_TESTS(counts_and_deadlines__arrive_as_they_were),
        BOTH_TESTS(a_member_runs__stays_and_is_moved_later),
        BOTH_TESTS(a_message_is_refused__all_stays),
        BOTH_TESTS(over_but_waited_for__goes_along),
        BOTH_TESTS(the_process_dies_anywhere__each_is_over_once),
        BED_TEST(test_copy_join__to_another_schema__the_process_dies_anywhere__each_is_over_once),
        BOTH_TESTS(given_up_anywhere__each_is_over_once),
        BOTH_TESTS(and_back_again__each_is_over_once),
        BOTH_TESTS(changed_meanwhile__each_is_over_once),
        BOTH_TESTS(a_dead_letter_is_attached__counts_once),
        BOTH_TESTS(a_dead_member_comes_later__counts_once),
        BOTH_TESTS(reported_beside__counts_or_is_told),
        BED_TEST(test_copy_join__to_a_file__an_app_commits_a_member_late__it_counts),
        BED_TEST(test_copy_join__to_a_file__an_app_commits_a_dead_letter_late__it_counts),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
