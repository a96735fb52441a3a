/* SPDX-License-Identifier: Apache-2.0 */
#include "db/signal.h"

#include "db/store.h"

enum {
    LATE_US = 1000000,
    GRACE_US = 200000 /* for a signal under way when the store is closed */
};

typedef struct signal_op {
    wp_op base;
    bool sent;
} signal_op;

static wp_status signal_next(wp_op *op, wp_error **err)
{
    signal_op *self = (signal_op *)op;
    (void)err;
    if (!self->sent) {
        self->sent = true;
        wp__op_set_text(op, WP__P_NAME, wp__store_channel(op->store));
        wp__op_use(op, WP__SQL_OUTBOX_SIGNAL_ALONE, 1);
    }
    return WP_OK;
}

static wp_status signal_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    (void)op;
    (void)columns;
    (void)err;
    return WP_OK;
}

static void signal_rewind(wp_op *op)
{
    ((signal_op *)op)->sent = false;
}

static const wp__op_class signal_class = {
    .next = signal_next, .row = signal_row, .rewind = signal_rewind, .single = true};

void wp__store_send_signal(wp_store *store)
{
    signal_op op = {.sent = false};
    wp_error *err = NULL;
    wp__op_init(&op.base, &signal_class, store);
    if (wp__store_run(store, NULL, &op.base, &err) != WP_OK)
        WP__LOG(wp__store_log(store), WP_LOG_DEBUG, "workers could not be signalled",
                WP__F_TEXT("StoreId", wp_store_id(store)),
                WP__F_TEXT("Exception", wp_error_message(err)));
    wp_error_free(err);
    wp__op_fini(&op.base);
}

/* ---- the thread --------------------------------------------------------------------------- */

static int64_t first(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void *run(void *arg)
{
    wp_store *store = arg;
    wp__signaller *s = wp__store_signaller(store);
    bool left;
    wp__mutex_lock(&s->mutex);
    while (!s->ended) {
        int64_t now = wp__real_mono_us();
        int64_t at = first(s->next_at, s->late_at);
        if (at > now) {
            (void)wp__cond_wait_until(&s->wanted, &s->mutex, at);
            continue;
        }
        if (s->next_at <= now)
            s->next_at = WP__FOREVER;
        if (s->late_at <= now)
            s->late_at = WP__FOREVER;
        s->last_at = now;
        wp__mutex_unlock(&s->mutex);
        wp__store_send_signal(store);
        wp__mutex_lock(&s->mutex);
    }
    s->running = false;
    left = s->left;
    wp__cond_broadcast(&s->wanted);
    wp__mutex_unlock(&s->mutex);
    if (left)
        wp__store_destroy(store);
    return NULL;
}

/* @locks mutex */
static void want(wp__signaller *s, wp_store *store, int64_t at)
{
    s->next_at = first(s->next_at, at);
    if (!s->thread.started) /* if it cannot be: there is polling */
        s->running = wp__thread_start(&s->thread, "waypost-signal", run, store, NULL) == WP_OK;
    wp__cond_signal(&s->wanted);
}

void wp__signaller_request(wp__signaller *s, wp_store *store)
{
    int64_t now = wp__real_mono_us();
    wp__mutex_lock(&s->mutex);
    want(s, store,
         s->last_at + WP__SIGNAL_INTERVAL_US > now ? s->last_at + WP__SIGNAL_INTERVAL_US : now);
    wp__mutex_unlock(&s->mutex);
}

bool wp__signaller_may_send(wp__signaller *s, wp_store *store)
{
    int64_t now = wp__real_mono_us();
    bool may;
    wp__mutex_lock(&s->mutex);
    may = now - s->last_at >= WP__SIGNAL_INTERVAL_US;
    if (may) {
        s->last_at = now;
    } else {
        want(s, store, now + WP__SIGNAL_INTERVAL_US);
        s->late_at = now + LATE_US;
    }
    wp__mutex_unlock(&s->mutex);
    return may;
}

void wp__signaller_init(wp__signaller *s)
{
    wp__mutex_init(&s->mutex);
    wp__cond_init(&s->wanted, wp__clock_system());
    s->last_at = INT64_MIN / 2;
    s->next_at = s->late_at = WP__FOREVER;
}

bool wp__signaller_end(wp__signaller *s)
{
    int64_t give_up = wp__real_mono_us() + GRACE_US;
    bool left;
    wp__mutex_lock(&s->mutex);
    s->ended = true;
    wp__cond_broadcast(&s->wanted);
    while (s->running && wp__cond_wait_until(&s->wanted, &s->mutex, give_up))
        continue;
    left = s->left = s->running;
    if (left)
        wp__thread_detach(&s->thread); /* before it can be at its end */
    wp__mutex_unlock(&s->mutex);
    if (!left && s->thread.started)
        wp__thread_join(&s->thread);
    return !left;
}

void wp__signaller_destroy(wp__signaller *s)
{
    wp__cond_destroy(&s->wanted);
    wp__mutex_destroy(&s->mutex);
}
