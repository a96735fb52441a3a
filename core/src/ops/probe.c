/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/probe.h"

#include <stdlib.h>
#include <waypost/health.h>

#include "base/file.h"
#include "base/task.h"
#include "job/job.h"

/* Of one store: who looks at present. */
typedef struct slot {
    wp__mutex mutex;
    wp__probe *looking;
} slot;

struct wp__probe {
    wp__task *task;  /* which keeps it */
    wp_store *store; /* a reference, until it is done */
    slot *slot;
    wp_error *error;
    wp_outbox_stats *stats[WP__QUEUES];
    wp__findings found;
    atomic_bool answered;
};

static wp_status slot_make(void **out, wp_store *store, wp_error **err)
{
    slot *s = calloc(1, sizeof *s);
    (void)store;
    if (!s)
        return wp__fail_nomem(err);
    wp__mutex_init(&s->mutex);
    *out = s;
    return WP_OK;
}

static void slot_destroy(void *made)
{
    slot *s = made;
    wp__mutex_destroy(&s->mutex);
    free(s);
}

/* ---- looking ------------------------------------------------------------------------------ */

typedef struct look_op {
    wp_op base;
    int step;
    int64_t now_us;
    int64_t snapshot_us;
} look_op;

static wp_status look_next(wp_op *op, wp_error **err)
{
    (void)err;
    if (((look_op *)op)->step++ == 0)
        wp__op_use(op, WP__SQL_HEALTH_LOOK, 2);
    return WP_OK;
}

static wp_status look_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    look_op *self = (look_op *)op;
    wp_status st = wp__column_int(&self->now_us, &columns[0], err);
    return st == WP_OK
               ? wp__column_int_or(&self->snapshot_us, &columns[1], WP_HEALTH_NOT_KNOWN, err)
               : st;
}

static void look_rewind(wp_op *op)
{
    ((look_op *)op)->step = 0;
}

/* A server's clock, by the middle of question and answer; and its oldest snapshot. */
static wp_status look(wp__probe *probe, wp_error **err)
{
    static const wp__op_class cls = {
        .next = look_next, .row = look_row, .rewind = look_rewind, .single = true};
    const wp__engine *engine = wp__store_engine(probe->store);
    look_op op = {.snapshot_us = WP_HEALTH_NOT_KNOWN};
    wp_clock *system = wp__clock_system();
    int64_t before;
    wp_status st;
    if (!engine->statements[WP__SQL_HEALTH_LOOK].text)
        return WP_OK;
    wp__op_init(&op.base, &cls, probe->store);
    before = wp_clock_utc_us(system);
    st = wp__store_run(probe->store, NULL, &op.base, err);
    wp__op_fini(&op.base);
    if (st != WP_OK)
        return st;
    probe->found.clock_us = op.now_us - (before + (wp_clock_utc_us(system) - before) / 2);
    probe->found.snapshot_us = op.snapshot_us;
    return WP_OK;
}

static wp_status verify(wp__probe *probe, wp_error **err)
{
    wp_conn *conn = NULL;
    wp_status st = wp__pool_take(&conn, probe->store, true, err);
    if (st != WP_OK)
        return st;
    st = wp__migrate_verify(&probe->found.schema, conn, err);
    wp__pool_give(probe->store, conn);
    return st;
}

static wp_status look_at_jobs(wp__probe *probe, wp_error **err)
{
    int64_t in_us = 0;
    bool ahead = false;
    wp_status st;
    st = wp__job_when_due(&in_us, &ahead, probe->store, NULL, err);
    if (st == WP_OK)
        probe->found.jobs_late_us = in_us < 0 ? -in_us : 0;
    return st;
}

static void look_at_files(wp__probe *probe)
{
    const char *path = wp__store_watch_path(probe->store);
    if (!path)
        return;
    probe->found.wal_bytes = wp__file_size(path, "-wal");
    if (probe->found.wal_bytes < 0)
        probe->found.wal_bytes = 0; /* there is none at present */
    probe->found.free_bytes = wp__file_free_bytes(path);
    if (probe->found.free_bytes < 0)
        probe->found.free_bytes = WP_HEALTH_NOT_KNOWN;
}

static void note_answer(wp__probe *probe, int64_t began_us)
{
    probe->found.latency_us = wp__real_mono_us() - began_us;
    atomic_store(&probe->answered, true);
}

static wp_status read_all(wp__probe *probe, wp_error **err)
{
    const int64_t began = wp__real_mono_us();
    wp_status st = verify(probe, err);
    if (st != WP_OK)
        return st;
    note_answer(probe, began);
    look_at_files(probe);
    if ((st = look(probe, err)) != WP_OK || (st = look_at_jobs(probe, err)) != WP_OK)
        return st;
    for (size_t i = 0; i < WP__QUEUES && st == WP_OK; i++) {
        st = wp__queue_stats(&probe->stats[i], probe->store, wp__queues[i], 0, err);
        probe->found.stats[i] = probe->stats[i];
    }
    return st;
}

/* ---- the thread --------------------------------------------------------------------------- */

static void probe_main(void *arg)
{
    wp__probe *probe = arg;
    wp_store *store = probe->store;
    probe->found.status = read_all(probe, &probe->error);
    probe->found.error = probe->error;
    wp__mutex_lock(&probe->slot->mutex);
    probe->slot->looking = NULL;
    wp__mutex_unlock(&probe->slot->mutex);
    probe->store = NULL;
    wp__store_unref(store); /* before anybody who waits may think that it is his alone */
}

static wp__probe *probe_new(wp_store *store, slot *s)
{
    wp__probe *probe = calloc(1, sizeof *probe);
    if (!probe)
        return NULL;
    probe->store = wp__store_ref(store);
    probe->slot = s;
    probe->found.latency_us = probe->found.schema = probe->found.clock_us =
        probe->found.snapshot_us = probe->found.jobs_late_us = probe->found.wal_bytes =
            probe->found.free_bytes = WP_HEALTH_NOT_KNOWN;
    atomic_init(&probe->answered, false);
    return probe;
}

static void probe_destroy(void *arg)
{
    wp__probe *probe = arg;
    for (size_t i = 0; i < WP__QUEUES; i++)
        wp_outbox_stats_free(probe->stats[i]);
    wp_error_free(probe->error);
    free(probe);
}

wp_status wp__probe_start(wp__probe **out, wp_store *store, wp_error **err)
{
    void *made = NULL;
    slot *s;
    wp__probe *probe;
    wp_status st = wp__store_probes(&made, store, slot_make, slot_destroy, err);
    if (st != WP_OK)
        return st;
    s = made;
    wp__mutex_lock(&s->mutex);
    if ((probe = s->looking)) {
        wp__task_ref(probe->task);
    } else if (!(probe = probe_new(store, s))) {
        st = wp__fail_nomem(err);
    } else if ((st = wp__task_start(&probe->task, "waypost-health", probe_main, probe_destroy,
                                    probe, err)) == WP_OK) {
        s->looking = probe;
    } else {
        wp__store_unref(store); /* the caller's own stays */
        probe_destroy(probe);
    }
    wp__mutex_unlock(&s->mutex);
    if (st == WP_OK)
        *out = probe;
    return st;
}

const wp__findings *wp__probe_wait(wp__probe *probe, int64_t deadline_us, bool *answered)
{
    const bool done = wp__task_wait(probe->task, deadline_us);
    *answered = atomic_load(&probe->answered);
    return done ? &probe->found : NULL;
}

void wp__probe_free(wp__probe *probe)
{
    if (probe)
        wp__task_free(probe->task);
}
