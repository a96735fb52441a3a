/* SPDX-License-Identifier: Apache-2.0 */
/* Random histories of the inbox against a model that is simple enough to be believed: whatever arrives,
 * is processed once, marked, claimed, ended, recovered or forgotten, each message is in the state that the
 * model says, is never given to two, and never processed again. WAYPOST_TEST_SEED repeats a run. */
#include <inttypes.h>

#include "bed.h"
#include "inbox_bed.h"

enum { KEYS = 24, OWNERS = 3, MAX_ATTEMPTS = 4, KEPT_MS = 20000 };
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STEPS = 600 };
#else
enum { STEPS = 1000 };
#endif

typedef enum stand { UNKNOWN, SEEN, MARKED, READY, CLAIMED, DONE, DEAD } stand;

/* What a key stands for, as it should be. */
typedef struct item {
    stand state;
    wp_id id;
    uint64_t since; /* its place in the order of first arrivals */
    bool has_topic;
    int payload;
    char hash; /* 0: none */
    int64_t due, next_at, attempt, claim_number, locked_until, last_seen, finished_at;
    int owner;
} item;

typedef struct history {
    bed *bed;
    uint64_t seed, random, arrivals;
    int step;
    const char *doing;
    wp_inbox_key *keys[KEYS];
    item items[KEYS], saved[KEYS];
} history;

static uint64_t below(history *h, uint64_t limit)
{
    h->random ^= h->random << 13; /* xorshift64 */
    h->random ^= h->random >> 7;
    h->random ^= h->random << 17;
    return (h->random >> 16) % limit;
}

static void expect_equal(const history *h, int64_t got, int64_t want, const char *what, int line)
{
    if (got == want)
        return;
    print_error("WAYPOST_TEST_SEED=%" PRIu64 ", step %d, %s: %s is %" PRId64
                ", the model says %" PRId64 "\n",
                h->seed, h->step, h->doing, what, got, want);
    _fail(__FILE__, line);
}
#define EXPECT(h, got, want) expect_equal((h), (int64_t)(got), (int64_t)(want), #got, __LINE__)

static int64_t now_us(const history *h)
{
    return wp_clock_utc_us(h->bed->clock);
}

static wp_inbox_state told(stand s)
{
    static const wp_inbox_state states[] = {
        WP_INBOX_NEW,        WP_INBOX_SEEN, WP_INBOX_PROCESSING, WP_INBOX_PROCESSING,
        WP_INBOX_PROCESSING, WP_INBOX_DONE, WP_INBOX_DEAD};
    return states[s];
}

/* ---- the model ---------------------------------------------------------------------------- */

/* A message arrives with a hash; whether that differs from the one it is known by. */
static bool model_arrive(history *h, item *m, char hash)
{
    const bool differs = m->state != UNKNOWN && hash && m->hash && hash != m->hash;
    if (m->state == UNKNOWN)
        *m = (item){.state = UNKNOWN, .since = ++h->arrivals};
    m->last_seen = now_us(h);
    return differs;
}

static void model_enqueue(history *h, item *m, int payload, char hash, int64_t due)
{
    if (m->state == DONE)
        return;
    if (m->state == UNKNOWN || m->state == SEEN || m->state == MARKED) {
        m->state = READY;
        m->next_at = due;
        m->attempt = m->claim_number = 0;
    } else if (m->state != DEAD) {
        m->next_at = m->attempt == 0 || m->next_at == m->due ? due
                     : m->next_at > due                      ? m->next_at
                                                             : due;
    }
    m->has_topic = true;
    m->payload = payload;
    m->hash = hash;
    m->due = due;
    (void)h;
}

static void model_end(history *h, item *m, stand end)
{
    if (m->state == SEEN || m->state == UNKNOWN)
        m->attempt = m->claim_number = 0;
    m->state = end;
    m->locked_until = 0;
    m->finished_at = now_us(h);
}

static void model_retry(history *h, item *m, int64_t delay_us)
{
    const int64_t at = now_us(h) + delay_us;
    m->state = READY;
    m->attempt++;
    m->locked_until = 0;
    m->next_at = at > m->due ? at : m->due;
}

static item *model_next(history *h)
{
    item *best = NULL;
    for (size_t i = 0; i < KEYS; i++) {
        item *m = &h->items[i];
        if (m->state == READY && m->next_at <= now_us(h) &&
            (!best || m->next_at < best->next_at ||
             (m->next_at == best->next_at && m->since < best->since)))
            best = m;
    }
    return best;
}

/* ---- steps -------------------------------------------------------------------------------- */

static char random_hash(history *h, wp_inbox_key *key)
{
    const char hash = "\0ab"[below(h, 3)];
    WPT_OK(wp_inbox_key_set_hash(key, hash ? &hash : NULL, hash != 0, NULL, WPT_ERR));
    return hash;
}

static void step_check(history *h, wp_conn *conn, size_t k)
{
    item *m = &h->items[k];
    const char hash = random_hash(h, h->keys[k]);
    const stand before = m->state;
    wp_inbox_state found = (wp_inbox_state)-1;
    int mismatch = 9;
    WPT_OK(wp_inbox_check(&found, &mismatch, h->bed->store, conn, h->keys[k], WPT_ERR));
    EXPECT(h, found, told(before));
    EXPECT(h, mismatch, model_arrive(h, m, hash));
    m->hash = m->hash ? m->hash : hash;
    m->state = before == UNKNOWN ? SEEN : before;
}

static void step_once(history *h, wp_conn *conn, size_t k)
{
    item *m = &h->items[k];
    const char hash = random_hash(h, h->keys[k]);
    const stand before = m->state;
    wp_inbox_state found = (wp_inbox_state)-1;
    int mismatch = 9, proceed = 9;
    WPT_OK(wp_inbox_once(&proceed, &found, &mismatch, h->bed->store, conn, h->keys[k], WPT_ERR));
    EXPECT(h, found, told(before));
    EXPECT(h, proceed, before == UNKNOWN || before == SEEN);
    EXPECT(h, mismatch, model_arrive(h, m, hash));
    m->hash = m->hash ? m->hash : hash;
    if (proceed)
        model_end(h, m, DONE);
}

static void step_enqueue(history *h, wp_conn *conn, size_t k)
{
    item *m = &h->items[k];
    const char hash = random_hash(h, h->keys[k]);
    const stand before = m->state;
    const int64_t due = now_us(h) + (int64_t)(below(h, 4) ? 0 : below(h, 8)) * WPT_SECOND_US;
    wp_inbox_state found = (wp_inbox_state)-1;
    int mismatch = 9;
    char text[16];
    wp_message *message;
    (void)snprintf(text, sizeof text, "%d", h->step);
    message = wpt_message("t", text);
    WPT_OK(wp_message_set_due_us(message, due, WPT_ERR));
    WPT_OK(wp_inbox_enqueue(NULL, &found, &mismatch, h->bed->store, conn, h->keys[k], message,
                            WPT_ERR));
    wp_message_free(message);
    EXPECT(h, found, told(before));
    EXPECT(h, mismatch, model_arrive(h, m, hash));
    model_enqueue(h, m, h->step, hash, due);
}

/* What a mark gives, and does. */
static wp_status model_mark(history *h, item *m, wp_inbox_mark mark)
{
    if (m->state == UNKNOWN)
        return WP_E_NOT_FOUND;
    switch (mark) {
    case WP_INBOX_MARK_PROCESSING:
        if (m->state == DONE || m->state == DEAD)
            return WP_E_STATE;
        m->state = m->state == SEEN ? MARKED : m->state;
        return WP_OK;
    case WP_INBOX_MARK_PROCESSED:
        if (m->state != DONE)
            model_end(h, m, DONE);
        return WP_OK;
    case WP_INBOX_MARK_DEAD:
        if (m->state == DONE)
            return WP_E_STATE;
        model_end(h, m, DEAD);
        return WP_OK;
    default:
        if (m->state != DEAD)
            return WP_E_STATE;
        m->state = m->has_topic ? READY : SEEN;
        m->attempt = 0;
        m->next_at = now_us(h) > m->due ? now_us(h) : m->due;
        return WP_OK;
    }
}

static void step_mark(history *h, wp_conn *conn, size_t k)
{
    static wp_status (*const calls[])(wp_store *, wp_conn *, const wp_inbox_key *, wp_error **) = {
        wp_inbox_mark_processing, wp_inbox_mark_processed, wp_inbox_revive};
    static const wp_inbox_mark marks[] = {WP_INBOX_MARK_PROCESSING, WP_INBOX_MARK_PROCESSED,
                                          WP_INBOX_MARK_REVIVED};
    const size_t which = below(h, 4);
    wp_error *err = NULL;
    wp_status st;
    if (which == 3)
        st = wp_inbox_mark_dead(h->bed->store, conn, h->keys[k], "by hand", &err);
    else
        st = calls[which](h->bed->store, conn, h->keys[k], &err);
    wp_error_free(err);
    EXPECT(h, st, model_mark(h, &h->items[k], which == 3 ? WP_INBOX_MARK_DEAD : marks[which]));
}

/* One to three arrivals or marks, alone or in a transaction of the app's, which may be rolled back. */
static void step_arrivals(history *h)
{
    bed *b = h->bed;
    const bool apps = below(h, 3) == 0, rollback = apps && below(h, 2);
    memcpy(h->saved, h->items, sizeof h->saved);
    if (apps)
        bed_exec(b, b->engine->begin);
    for (uint64_t n = 1 + below(h, 3); n > 0; n--) {
        wp_conn *conn = apps ? b->conn : NULL;
        const size_t k = below(h, KEYS);
        switch (below(h, apps ? 8 : 6)) {
        case 0:
        case 1:
            step_check(h, conn, k);
            break;
        case 2:
            step_mark(h, conn, k);
            break;
        case 3:
        case 4:
        case 5:
            step_enqueue(h, conn, k);
            break;
        default:
            step_once(h, conn, k);
            break;
        }
    }
    if (apps)
        bed_exec(b, rollback ? b->engine->rollback : b->engine->commit);
    if (rollback)
        memcpy(h->items, h->saved, sizeof h->items);
}

static void step_claim(history *h)
{
    const int owner = 1 + (int)below(h, OWNERS);
    const int64_t batch = 1 + (int64_t)below(h, 4);
    const int64_t lease_ms = 1000 * (1 + (int64_t)below(h, 6));
    wp_claim *claim = ib_claim(h->bed->store, owner, batch, lease_ms);
    size_t count = 0;
    for (item *m; count < (size_t)batch && (m = model_next(h)); count++) {
        const wp_received *got = wp_claim_at(claim, count);
        EXPECT(h, got != NULL, true);
        EXPECT(h, strtol(wp_received_payload(NULL, got), NULL, 10), m->payload);
        EXPECT(h, wp_received_claim_number(got), ++m->claim_number);
        EXPECT(h, wp_received_attempt(got), m->attempt);
        m->state = CLAIMED;
        m->owner = owner;
        m->id = *wp_received_id(got);
        m->locked_until = now_us(h) + lease_ms * 1000;
    }
    EXPECT(h, wp_claim_count(claim), count);
    wp_claim_free(claim);
}

/* By the one who has it, or by another, or for an earlier claim. */
static void step_finish(history *h)
{
    wp_store *store = h->bed->store;
    item *m = &h->items[below(h, KEYS)];
    const int owner = below(h, 5) ? m->owner : 1 + (int)below(h, OWNERS);
    const wp_id token = wpt_owner(owner ? owner : 1);
    const int64_t number = m->claim_number - (below(h, 6) == 0);
    const bool holds = m->state == CLAIMED && owner == m->owner && number == m->claim_number;
    size_t changed = 9;
    if (m->state == UNKNOWN || number < 1)
        return;
    switch (below(h, 4)) {
    case 0:
        WPT_OK(wp_inbox_ack(&changed, store, NULL, &token, &m->id, &number, 1, "w", WPT_ERR));
        if (holds)
            model_end(h, m, DONE);
        break;
    case 1:
        WPT_OK(wp_inbox_abandon(&changed, store, NULL, &token, &m->id, &number, 1, 3000, "a",
                                WPT_ERR));
        if (holds)
            model_retry(h, m, 3000000);
        break;
    case 2:
        WPT_OK(wp_inbox_fail(&changed, store, NULL, &token, &m->id, &number, 1, "f", WPT_ERR));
        if (holds) {
            m->attempt++;
            model_end(h, m, DEAD);
        }
        break;
    default:
        WPT_OK(wp_inbox_release(&changed, store, NULL, &token, &m->id, &number, 1, WPT_ERR));
        if (holds) {
            m->state = READY;
            m->locked_until = 0;
        }
        break;
    }
    EXPECT(h, changed, holds);
}

static void step_reap(history *h)
{
    size_t changed = 99, expected = 0;
    WPT_OK(wp_inbox_reap(&changed, h->bed->store, WPT_ERR));
    for (size_t i = 0; i < KEYS; i++) {
        item *m = &h->items[i];
        if (m->state != CLAIMED || m->locked_until > now_us(h))
            continue;
        expected++;
        if (m->attempt + 1 < MAX_ATTEMPTS) {
            model_retry(h, m, WPT_SECOND_US << m->attempt);
        } else {
            m->attempt++;
            model_end(h, m, DEAD);
        }
    }
    EXPECT(h, changed, expected);
}

static void step_cleanup(history *h)
{
    const int64_t before = now_us(h) - KEPT_MS * INT64_C(1000);
    size_t removed = 99, expected = 0;
    WPT_OK(wp_cleanup(&removed, h->bed->store, WP_SOURCE_INBOX, KEPT_MS, WPT_ERR));
    for (size_t i = 0; i < KEYS; i++) {
        item *m = &h->items[i];
        if (m->state != DONE || m->finished_at > before || m->last_seen > before)
            continue;
        *m = (item){.state = UNKNOWN};
        expected++;
    }
    EXPECT(h, removed, expected);
}

static void one_step(history *h)
{
    const uint64_t pick = below(h, 100);
    if (pick < 40) {
        h->doing = "arrivals";
        step_arrivals(h);
    } else if (pick < 60) {
        h->doing = "claim";
        step_claim(h);
    } else if (pick < 80) {
        h->doing = "finish";
        step_finish(h);
    } else if (pick < 87) {
        h->doing = "reap";
        step_reap(h);
    } else if (pick < 90) {
        h->doing = "cleanup";
        step_cleanup(h);
    } else {
        WPT_OK(
            wp_clock_advance_us(h->bed->clock, (int64_t)below(h, 9) * WPT_SECOND_US / 2, WPT_ERR));
    }
}

/* ---- after each step ---------------------------------------------------------------------- */

static void compare(history *h, size_t k)
{
    static const wp_message_status statuses[] = {
        WP_MESSAGE_SEEN,        WP_MESSAGE_SEEN, WP_MESSAGE_IN_PROGRESS, WP_MESSAGE_READY,
        WP_MESSAGE_IN_PROGRESS, WP_MESSAGE_DONE, WP_MESSAGE_FAILED};
    const item *m = &h->items[k];
    wp_outbox_info *info = NULL;
    const wp_received *got;
    const char *hash;
    const wp_status st = wp_inbox_get(&info, h->bed->store, h->keys[k], WPT_ERR);
    EXPECT(h, st, m->state == UNKNOWN ? WP_E_NOT_FOUND : WP_OK);
    if (st != WP_OK)
        return;
    got = wp_outbox_info_message(info);
    hash = wp_received_hash(NULL, got);
    EXPECT(h, wp_outbox_info_status(info), statuses[m->state]);
    EXPECT(h, wp_received_attempt(got), m->attempt);
    EXPECT(h, wp_received_claim_number(got), m->claim_number);
    EXPECT(h, wp_outbox_info_locked_until_us(info), m->locked_until);
    EXPECT(h, wp_received_last_seen_us(got), m->last_seen);
    EXPECT(h, hash ? *hash : 0, m->hash);
    EXPECT(h, strtol(wp_received_payload(NULL, got), NULL, 10), m->payload);
    wp_outbox_info_free(info);
}

static void keys_new(history *h)
{
    static const char *const sources[] = {"s", "S"}, *const consumers[] = {NULL, "c"};
    static const char *const ids[] = {"1", "1 ", "a|b", "a", "\xc3\xa9", "2"};
    for (size_t i = 0; i < KEYS; i++) {
        h->keys[i] = ib_key(sources[i % 2], ids[i / 4]);
        WPT_OK(wp_inbox_key_set_consumer(h->keys[i], consumers[i / 2 % 2], WPT_ERR));
    }
}

/* proves: IBX-001..008, IBX-013, IBX-014, IBX-025..029, IBX-031, IBX-033..039, IBX-044..047
 *         IBX-050, IBX-051, IBX-060, IBX-068..071, IBX-083, IBX-098, IBX-099, IBX-106 */
static void test_inbox__random_history__agrees_with_the_model(void **state)
{
    static uint64_t runs;
    const char *given = getenv("WAYPOST_TEST_SEED");
    history *h = calloc(1, sizeof *h);
    assert_non_null(h);
    h->bed = *state;
    h->seed = given ? strtoull(given, NULL, 10) : 20270115 + runs++; /* another for each engine */
    h->random = h->seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    bed_reopen(h->bed, WPT_OPTIONS("worker.max_attempts", "4", "worker.backoff_jitter", "0",
                                   "store.sqlite_synchronous", "normal"));
    keys_new(h);
    for (h->step = 0; h->step < bed_times(h->bed, STEPS); h->step++) {
        one_step(h);
        compare(h, below(h, KEYS));
        for (size_t i = 0; h->step % 100 == 99 && i < KEYS; i++)
            compare(h, i);
    }
    for (size_t i = 0; i < KEYS; i++)
        wp_inbox_key_free(h->keys[i]);
    free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_inbox__random_history__agrees_with_the_model),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
