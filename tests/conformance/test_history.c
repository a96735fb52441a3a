/* SPDX-License-Identifier: Apache-2.0 */
/* Random histories: the store against a model of the outbox that is simple enough to be believed.
 * Whatever is claimed must be exactly what the model gives: never early, never finished, never
 * leased to two, in order, one at a time for each ordering key. WAYPOST_TEST_SEED repeats a run. */
#include <inttypes.h>

#include "bed.h"

enum { ITEMS_MAX = 4000, TOPICS = 3, KEYS = 4, OWNERS = 3, LIST_MAX = 12, MAX_ATTEMPTS = 4 };
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STEPS = 1200 };
#else
enum { STEPS = 3000 };
#endif

static const char *const topics[TOPICS] = {"a", "b", "B "};

/* One message, as it should be. */
typedef struct item {
    wp_id id;
    int topic;
    int ordering; /* a key, or -1 */
    int unique;
    wp_message_status status;
    int64_t next_at;
    bool at_once;       /* was due when it was stored */
    int64_t expires_at; /* 0: never */
    int64_t attempt;
    int64_t claim_number;
    int owner;
    int64_t locked_until;
    const char *error;
} item;

typedef struct history {
    bed *bed;
    uint64_t seed;
    uint64_t state;
    int step;
    const char *doing;
    item *items; /* in the order of their enqueue */
    size_t count;
} history;

static uint64_t random_below(history *h, uint64_t limit)
{
    h->state ^= h->state << 13; /* xorshift64 */
    h->state ^= h->state >> 7;
    h->state ^= h->state << 17;
    return (h->state >> 16) % limit;
}

static bool chance(history *h, unsigned percent)
{
    return random_below(h, 100) < percent;
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

/* ---- the model ---------------------------------------------------------------------------- */

static bool unfinished(const item *m)
{
    return m->status != WP_MESSAGE_DONE && m->status != WP_MESSAGE_FAILED;
}

static bool is_due(const item *m, int64_t now)
{
    return m->at_once || m->next_at <= now;
}

static bool claimable(const item *m, int64_t now)
{
    return m->status == WP_MESSAGE_READY && is_due(m, now) &&
           (!m->expires_at || m->expires_at > now);
}

/* A message is finished: the first one left with its ordering key may run. */
static void model_finish(history *h, item *m, wp_message_status status, const char *error)
{
    m->status = status;
    m->locked_until = 0;
    if (error)
        m->error = error;
    for (size_t i = 0; m->ordering >= 0 && i < h->count; i++) {
        item *next = &h->items[i];
        if (next->ordering != m->ordering || !unfinished(next))
            continue;
        if (next->status == WP_MESSAGE_BLOCKED)
            next->status = WP_MESSAGE_READY;
        break;
    }
}

static int64_t backoff(int64_t attempt)
{
    const int64_t full = attempt < 6 ? INT64_C(1) << attempt : 60;
    return full * WPT_SECOND_US;
}

static void model_retry(item *m, int64_t next_at, const char *error)
{
    m->status = WP_MESSAGE_READY;
    m->next_at = next_at;
    m->at_once = false;
    m->attempt++;
    m->locked_until = 0;
    if (error)
        m->error = error;
}

/* The next message that a claim takes, or NULL. */
static item *model_next(history *h, const bool *wanted, int64_t now)
{
    item *best = NULL;
    for (size_t i = 0; i < h->count; i++) {
        item *m = &h->items[i];
        if (claimable(m, now) && wanted[m->topic] && (!best || m->next_at < best->next_at))
            best = m;
    }
    return best;
}

/* ---- the steps ---------------------------------------------------------------------------- */

static wp_message *random_message(history *h, item *m)
{
    static const char *const ordering[KEYS] = {"o", "O", "o ", "oo"};
    static const char *const unique[KEYS] = {"u", "U", "u ", "uu"};
    wp_message *message;
    const int64_t now = now_us(h);
    *m = (item){.topic = (int)random_below(h, TOPICS), .ordering = -1, .unique = -1};
    m->next_at = now;
    message = wpt_message(topics[m->topic], "x");
    if (chance(h, 40)) {
        m->ordering = (int)random_below(h, KEYS);
        WPT_OK(wp_message_set_ordering_key(message, ordering[m->ordering], WPT_ERR));
    }
    if (chance(h, 25)) {
        m->unique = (int)random_below(h, KEYS);
        WPT_OK(wp_message_set_unique_key(message, unique[m->unique], WPT_ERR));
    }
    if (chance(h, 20)) { /* sooner, later or equal to others */
        m->next_at = now + ((int64_t)random_below(h, 20) - 5) * WPT_SECOND_US;
        WPT_OK(wp_message_set_due_us(message, m->next_at, WPT_ERR));
    } else if (chance(h, 20)) {
        const int64_t delay_ms = (int64_t)random_below(h, 10) * 1000;
        m->next_at = now + delay_ms * 1000;
        WPT_OK(wp_message_set_delay_ms(message, delay_ms, WPT_ERR));
    }
    m->at_once = m->next_at <= now;
    if (chance(h, 15)) {
        m->expires_at = now + (int64_t)(1 + random_below(h, 30)) * WPT_SECOND_US;
        WPT_OK(wp_message_set_expires_us(message, m->expires_at, WPT_ERR));
    }
    return message;
}

/* Whose unfinished message has this one's unique key, or NULL. */
static const item *model_holder(const history *h, const item *m)
{
    for (size_t i = 0; m->unique >= 0 && i < h->count; i++)
        if (h->items[i].unique == m->unique && unfinished(&h->items[i]))
            return &h->items[i];
    return NULL;
}

static void model_enqueue(history *h, item *m)
{
    m->status = WP_MESSAGE_READY;
    for (size_t i = 0; m->ordering >= 0 && i < h->count; i++)
        if (h->items[i].ordering == m->ordering && unfinished(&h->items[i]))
            m->status = WP_MESSAGE_BLOCKED;
    h->items[h->count++] = *m;
}

/* One to three messages in one transaction: the store's, or the app's that may roll back. */
static void step_enqueue(history *h)
{
    bed *b = h->bed;
    const size_t before = h->count;
    size_t n = 1 + random_below(h, 3);
    const bool apps = chance(h, 30), rollback = apps && chance(h, 40);
    if (before + n > ITEMS_MAX)
        return;
    if (apps)
        bed_exec(b, b->engine->begin);
    for (; n > 0; n--) {
        item m;
        wp_message *message = random_message(h, &m);
        const item *holder = model_holder(h, &m);
        int duplicate = 7;
        WPT_OK(wp_outbox_enqueue(&m.id, &duplicate, b->store, apps ? b->conn : NULL, message,
                                 WPT_ERR));
        wp_message_free(message);
        EXPECT(h, duplicate, holder != NULL);
        if (holder)
            EXPECT(h, wpt_id_equal(&m.id, &holder->id), true);
        else
            model_enqueue(h, &m);
    }
    if (apps)
        bed_exec(b, rollback ? b->engine->rollback : b->engine->commit);
    if (rollback) {
        for (size_t i = before; i < h->count; i++)
            bed_has_no(b, &h->items[i].id);
        h->count = before;
    }
}

static void step_claim(history *h)
{
    const int owner = 1 + (int)random_below(h, OWNERS);
    const wp_id token = wpt_owner(owner);
    const int64_t batch = 1 + (int64_t)random_below(h, 6);
    const int64_t lease_ms = (1 + (int64_t)random_below(h, 12)) * 1000;
    const bool all = chance(h, 50);
    const char *names[TOPICS];
    bool wanted[TOPICS];
    size_t name_count = 0;
    wp_claim *claim = NULL;
    size_t expected = 0;
    item *m;
    for (int t = 0; t < TOPICS; t++) {
        wanted[t] = all || chance(h, 60);
        if (wanted[t])
            names[name_count++] = topics[t];
    }
    WPT_OK(wp_outbox_claim(&claim, h->bed->store, &token, all ? NULL : names, name_count, batch,
                           lease_ms, WPT_ERR));
    while (expected < (size_t)batch && (m = model_next(h, wanted, now_us(h)))) {
        const wp_received *got = wp_claim_at(claim, expected++);
        m->status = WP_MESSAGE_IN_PROGRESS;
        m->owner = owner;
        m->claim_number++;
        m->locked_until = now_us(h) + lease_ms * 1000;
        EXPECT(h, got != NULL, true);
        EXPECT(h, wpt_id_equal(wp_received_id(got), &m->id), true);
        EXPECT(h, wp_received_attempt(got), m->attempt);
        EXPECT(h, wp_received_claim_number(got), m->claim_number);
    }
    EXPECT(h, wp_claim_count(claim), expected);
    wp_claim_free(claim);
}

/* Ids to end or prolong: mostly claimed ones, with repeats, unknown ones and others' among them. */
typedef struct list {
    wp_id ids[LIST_MAX];
    int64_t claims[LIST_MAX];
    size_t at[LIST_MAX]; /* the item, or SIZE_MAX */
    size_t count;
    bool with_claims;
    int owner;
} list;

static void random_list(history *h, list *l)
{
    *l = (list){.owner = 1 + (int)random_below(h, OWNERS), .with_claims = chance(h, 50)};
    l->count = random_below(h, LIST_MAX + 1);
    for (size_t i = 0; i < l->count; i++) {
        size_t at = SIZE_MAX;
        for (int tries = 0; h->count && tries < 40; tries++) {
            at = random_below(h, h->count);
            if (h->items[at].status == WP_MESSAGE_IN_PROGRESS &&
                (h->items[at].owner == l->owner || chance(h, 10)))
                break;
        }
        if (chance(h, 5))
            at = SIZE_MAX;
        l->at[i] = at;
        l->claims[i] = 1;
        if (at == SIZE_MAX) {
            wp_id_new(&l->ids[i]);
            continue;
        }
        l->ids[i] = h->items[at].id;
        if (h->items[at].claim_number > 0)
            l->claims[i] = h->items[at].claim_number - (chance(h, 10) ? 1 : 0);
        if (l->claims[i] < 1)
            l->claims[i] = 1;
    }
}

/* The items of a list that the owner holds, each once. */
static size_t model_held(history *h, const list *l, item **held)
{
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++) {
        item *m = l->at[i] == SIZE_MAX ? NULL : &h->items[l->at[i]];
        bool seen = false;
        if (!m || m->status != WP_MESSAGE_IN_PROGRESS || m->owner != l->owner ||
            (l->with_claims && l->claims[i] != m->claim_number))
            continue;
        for (size_t j = 0; j < count; j++)
            seen = seen || held[j] == m;
        if (!seen)
            held[count++] = m;
    }
    return count;
}

typedef enum verb { ACK, ABANDON, FAIL, RELEASE, RENEW, VERBS } verb;

static void model_apply(history *h, verb v, item *m, int64_t delay_ms)
{
    switch (v) {
    case ACK:
        model_finish(h, m, WP_MESSAGE_DONE, NULL);
        break;
    case FAIL:
        m->attempt++;
        model_finish(h, m, WP_MESSAGE_FAILED, "failed");
        break;
    case ABANDON:
        model_retry(m, now_us(h) + (delay_ms ? delay_ms * 1000 : backoff(m->attempt)), "abandoned");
        break;
    case RELEASE:
        m->status = WP_MESSAGE_READY;
        m->locked_until = 0;
        break;
    case RENEW:
    case VERBS:
    default:
        m->locked_until = now_us(h) + delay_ms * 1000;
        break;
    }
}

static wp_status call(history *h, verb v, size_t *changed, const list *l, int64_t delay_ms,
                      wp_conn *conn, wp_error **err)
{
    wp_store *store = h->bed->store;
    const wp_id owner = wpt_owner(l->owner);
    const int64_t *claims = l->with_claims ? l->claims : NULL;
    switch (v) {
    case ACK:
        return wp_outbox_ack(changed, store, conn, &owner, l->ids, claims, l->count, "w", err);
    case ABANDON:
        return wp_outbox_abandon(changed, store, conn, &owner, l->ids, claims, l->count, delay_ms,
                                 "abandoned", err);
    case FAIL:
        return wp_outbox_fail(changed, store, conn, &owner, l->ids, claims, l->count, "failed",
                              err);
    case RELEASE:
        return wp_outbox_release(changed, store, conn, &owner, l->ids, claims, l->count, err);
    case RENEW:
    case VERBS:
    default:
        return wp_outbox_renew(changed, store, conn, &owner, l->ids, claims, l->count, delay_ms,
                               err);
    }
}

static void step_finish(history *h, verb v)
{
    bed *b = h->bed;
    list l;
    item *held[LIST_MAX];
    size_t changed = 99, count;
    const int64_t delay_ms = (int64_t)random_below(h, 8) * 1000 + (v == RENEW);
    const bool apps = chance(h, 20), rollback = apps && chance(h, 50);
    random_list(h, &l);
    if (apps)
        bed_exec(b, b->engine->begin);
    WPT_OK(call(h, v, &changed, &l, delay_ms, apps ? b->conn : NULL, WPT_ERR));
    if (apps)
        bed_exec(b, rollback ? b->engine->rollback : b->engine->commit);
    count = model_held(h, &l, held);
    EXPECT(h, changed, count);
    for (size_t i = 0; i < count && !rollback; i++)
        model_apply(h, v, held[i], delay_ms);
}

static void step_reap(history *h)
{
    const int64_t now = now_us(h);
    size_t changed = 99, expected = 0;
    WPT_OK(wp_outbox_reap(&changed, h->bed->store, WPT_ERR));
    for (size_t i = 0; i < h->count; i++) {
        item *m = &h->items[i];
        if (m->status != WP_MESSAGE_IN_PROGRESS || m->locked_until > now)
            continue;
        expected++;
        if ((m->expires_at && m->expires_at <= now) || m->attempt + 1 >= MAX_ATTEMPTS) {
            m->attempt++;
            model_finish(h, m, WP_MESSAGE_FAILED,
                         m->expires_at && m->expires_at <= now ? "expired" : "lease expired");
        } else {
            model_retry(m, now + backoff(m->attempt), "lease expired");
        }
    }
    for (size_t i = 0; i < h->count; i++) {
        item *m = &h->items[i];
        if (!unfinished(m) || m->status == WP_MESSAGE_IN_PROGRESS || !m->expires_at ||
            m->expires_at > now)
            continue;
        expected++;
        model_finish(h, m, WP_MESSAGE_FAILED, "expired");
    }
    EXPECT(h, changed, expected);
}

/* By halves of a second, so that instants often coincide to the microsecond; or the clock is set back. */
static void step_advance(history *h)
{
    if (h->bed->engine->due_stays && chance(h, 15)) {
        WPT_OK(wp_clock_jump_us(h->bed->clock, -(int64_t)random_below(h, 40) * WPT_SECOND_US / 2,
                                WPT_ERR));
        return;
    }
    WPT_OK(wp_clock_advance_us(h->bed->clock, (int64_t)random_below(h, 9) * WPT_SECOND_US / 2,
                               WPT_ERR));
}

/* ---- after each step ---------------------------------------------------------------------- */

static void compare(history *h, const item *m)
{
    wp_outbox_info *info = wpt_info(h->bed->store, &m->id);
    const wp_received *got = wp_outbox_info_message(info);
    const char *error = wp_outbox_info_last_error(info);
    EXPECT(h, wp_outbox_info_status(info), m->status);
    EXPECT(h, wp_received_attempt(got), m->attempt);
    EXPECT(h, wp_received_claim_number(got), m->claim_number);
    EXPECT(h, wp_outbox_info_locked_until_us(info), m->locked_until);
    EXPECT(h, wp_outbox_info_next_attempt_us(info), unfinished(m) ? m->next_at : 0);
    EXPECT(h, strcmp(error ? error : "", m->error ? m->error : ""), 0);
    EXPECT(h, strcmp(wp_received_topic(got), topics[m->topic]), 0);
    wp_outbox_info_free(info);
}

/* Laws that hold in every state, told by the model that was just compared. */
static void check_laws(history *h)
{
    int running[KEYS] = {0}, waiting_ahead[KEYS] = {0}, unique[KEYS] = {0};
    for (size_t i = 0; i < h->count; i++) {
        const item *m = &h->items[i];
        if (!unfinished(m))
            continue;
        if (m->ordering >= 0) {
            running[m->ordering] += m->status == WP_MESSAGE_IN_PROGRESS;
            EXPECT(h, m->status == WP_MESSAGE_BLOCKED, waiting_ahead[m->ordering] > 0);
            waiting_ahead[m->ordering]++;
            EXPECT(h, running[m->ordering] <= 1, true);
        }
        if (m->unique >= 0)
            EXPECT(h, ++unique[m->unique], 1);
    }
}

static void compare_stats(history *h)
{
    const int64_t now = now_us(h);
    wp_outbox_stats *stats = NULL;
    int64_t want[WP_STAT_FAILED + 1] = {0};
    for (size_t i = 0; i < h->count; i++) {
        const item *m = &h->items[i];
        want[WP_STAT_READY] += m->status == WP_MESSAGE_READY && is_due(m, now);
        want[WP_STAT_SCHEDULED] += m->status == WP_MESSAGE_READY && !is_due(m, now);
        want[WP_STAT_IN_PROGRESS] += m->status == WP_MESSAGE_IN_PROGRESS;
        want[WP_STAT_BLOCKED] += m->status == WP_MESSAGE_BLOCKED;
        want[WP_STAT_DONE] += m->status == WP_MESSAGE_DONE;
        want[WP_STAT_FAILED] += m->status == WP_MESSAGE_FAILED;
    }
    WPT_OK(wp_outbox_stats_read(&stats, h->bed->store, 1, WPT_ERR));
    for (int s = 0; s <= WP_STAT_FAILED; s++)
        EXPECT(h, wp_outbox_stats_total(stats, (wp_outbox_stat)s), want[s]);
    wp_outbox_stats_free(stats);
}

static void one_step(history *h)
{
    static const struct {
        unsigned percent;
        const char *name;
    } kinds[] = {{24, "enqueue"}, {24, "claim"}, {12, "ack"}, {8, "abandon"}, {4, "fail"},
                 {5, "release"},  {5, "renew"},  {8, "reap"}, {10, "advance"}};
    uint64_t pick = random_below(h, 100);
    size_t kind = 0;
    while (pick >= kinds[kind].percent)
        pick -= kinds[kind++].percent;
    h->doing = kinds[kind].name;
    if (kind == 0)
        step_enqueue(h);
    else if (kind == 1)
        step_claim(h);
    else if (kind < 7)
        step_finish(h, (verb)(kind - 2));
    else if (kind == 7)
        step_reap(h);
    else
        step_advance(h);
}

static void run(bed *b, uint64_t seed)
{
    history h = {.bed = b, .seed = seed, .state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1};
    h.items = calloc(ITEMS_MAX, sizeof *h.items);
    assert_non_null(h.items);
    for (h.step = 0; h.step < bed_times(b, STEPS); h.step++) {
        one_step(&h);
        if (h.count)
            compare(&h, &h.items[random_below(&h, h.count)]);
        if (h.step % 100 != 99)
            continue;
        h.doing = "comparing all";
        for (size_t i = 0; i < h.count; i++)
            compare(&h, &h.items[i]);
        check_laws(&h);
        compare_stats(&h);
    }
    free(h.items);
}

/* proves: OBX-017..019, OBX-022..026, OBX-029, OBX-033, OBX-034, OBX-040, OBX-041, OBX-046
 *         OBX-047, OBX-049, OBX-052, OBX-084, OBX-114, ORD-001, UNQ-001, EXP-001 */
static void test_outbox__random_history__agrees_with_the_model(void **state)
{
    static uint64_t runs;
    bed *b = *state;
    const char *given = getenv("WAYPOST_TEST_SEED");
    /* another one for each engine, the same every time */
    const uint64_t seed = given ? strtoull(given, NULL, 10) : 20270115 + runs++;
    bed_reopen(b, WPT_OPTIONS("worker.max_attempts", "4", "worker.backoff_jitter", "0",
                              "store.sqlite_synchronous", "normal"));
    run(b, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(test_outbox__random_history__agrees_with_the_model),
    };
    return bed_run(tests, WPT_COUNT(tests));
}
