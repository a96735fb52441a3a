/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a configuration, as the library reads them. The property table is in config.c. */
#ifndef WP__CONFIG_VALUES_H
#define WP__CONFIG_VALUES_H

#include <stdbool.h>
#include <stdint.h>
#include <waypost/config.h>

#include "base/log.h"

enum { WP__SYNC_NORMAL = 0, WP__SYNC_FULL = 1 };

/* worker.*: the defaults of all topics, or one topic's own. */
typedef struct wp__worker_options {
    int64_t concurrency;     /* 1..1024, default 16 */
    int64_t batch_size;      /* 1..10000, default 100: most messages in one claim */
    int64_t lease_ms;        /* 100..86400000, default 30000 */
    int64_t timeout_ms;      /* 0..86400000, default 0: none */
    int64_t max_attempts;    /* 1..1000000, default 10 */
    int64_t backoff_base_ms; /* 1..86400000, default 1000: delay = min(base * 2^attempt, max) */
    int64_t backoff_max_ms;  /* 1..86400000, default 60000 */
    int64_t poll_min_ms;     /* 1..3600000, default 250 */
    int64_t poll_max_ms;     /* 1..3600000, default 0 = 30000 with a live wake-up channel, else 1000 */
} wp__worker_options;

struct wp_config {
    /* store.* ; text values are never NULL, "" is unset */
    char *store_url;     /* store.url: sqlite:PATH or sqlite::memory: */
    char *store_id;      /* store.id: 1..255 units, default "default" */
    char *store_schema;  /* store.schema: default "infra", 1..63 bytes of UTF-8 without NUL or control characters */
    char *outbox_table;  /* store.outbox_table: default "outbox", likewise */
    bool store_deploy;   /* store.deploy, default false */
    int64_t pool_size;   /* store.pool_size 1..64, default 4 */
    int64_t busy_ms;     /* store.busy_timeout_ms 0..600000, default 10000: how long to wait for another writer */
    int64_t synchronous; /* store.sqlite_synchronous: "normal" (default) or "full" */
    int64_t log_level;   /* log.level: debug, info (default), warning, error, off(=100) */

    wp__worker_options worker;
    char *worker_name;       /* worker.name: default "" = host:pid */
    double worker_jitter;    /* worker.backoff_jitter 0..1, default 0.2: delay is shortened by up to this part */
    bool worker_all_topics;  /* worker.all_topics, default false: claim topics without a handler too, warn and abandon */
    int64_t flush_ms;        /* worker.flush_ms 0..1000, default 2: how long a finished delivery may wait for company */
    int64_t reap_ms;         /* worker.reap_ms 10..3600000, default 1000: between looks for expired leases */
    bool wakeups;            /* worker.wakeups, default true: use wake-up channels; off: poll only */

    wp__log_sink *log_sink; /* of wp_config_set_log(); NULL: JSON lines on stderr */
    wp_clock *clock; /* NULL: the system's */
};

/* A deep copy; shares log callback (destroy once) and clock. NULL gives the defaults. */
wp_status wp__config_copy(wp_config **out, const wp_config *config, wp_error **err);

/* The log a store opened with this configuration writes to: a new reference. */
wp_status wp__config_log(wp__log **out, const wp_config *config, wp_error **err);

/* Set one worker option of a topic by its key without "worker."; WP_E_CONFIG for other keys. */
wp_status wp__worker_options_set(wp__worker_options *options, const char *key, const char *value,
                                 wp_error **err);

#endif
