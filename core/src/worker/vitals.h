/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker says of itself, without a look into a database. */
#ifndef WP__VITALS_H
#define WP__VITALS_H

#include "worker/worker.h"

/* Of its part for one store. */
typedef struct wp__part_vitals {
    char *id;
    wp_store *store; /* a reference; NULL: it is not open yet */
    bool running;    /* its pump does */
    bool failing;    /* that met an error last */
    int64_t pump_late_us;
    int64_t out;       /* with handlers */
    int64_t oldest_us; /* for how long the first of them has been; 0: none is */
} wp__part_vitals;

typedef struct wp__vitals {
    bool running;
    bool schedules; /* it handles timers or jobs */
    bool stuck;     /* messages wait, and each handler has been at its message for `stuck_us` */
    int64_t out;
    int64_t ready; /* claimed, and wait for a handler */
    wp__part_vitals *parts;
    size_t count;
} wp__vitals;

/* `stuck_us` 0: nothing is stuck, however long it takes. wp__vitals_free() it, also when this fails. */
wp_status wp__worker_vitals(wp__vitals *out, wp_worker *worker, int64_t stuck_us, wp_error **err);
void wp__vitals_free(wp__vitals *vitals);
/* False once it is stopped, or if one of its pumps hangs for longer than any wait for a database lasts. */
bool wp__worker_is_live(wp_worker *worker);
/* Whether it handles timers or jobs. */
bool wp__worker_schedules(wp_worker *worker);
/* Whether the worker handles a topic. */
bool wp__worker_handles(wp_worker *worker, const wp__queue *queue, const char *topic);

#endif
