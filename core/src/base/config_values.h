/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a configuration, as the library reads them. The property table is in config_properties.c. */
#ifndef WP__CONFIG_VALUES_H
#define WP__CONFIG_VALUES_H

#include <stdbool.h>
#include <stdint.h>
#include <waypost/config.h>

#include "base/log.h"

enum { WP__SYNC_NORMAL = 0, WP__SYNC_FULL = 1 };
enum { WP__SELECT_ROUND_ROBIN = 0, WP__SELECT_DRAIN_FIRST = 1 };

/* worker.*: the defaults of all topics, or one topic's own. */
typedef struct wp__worker_options {
    int64_t concurrency;
    int64_t batch_size; /* most messages in one claim */
    int64_t lease_ms;
    int64_t timeout_ms; /* 0: none */
    int64_t max_attempts;
    int64_t backoff_base_ms; /* delay = min(base * 2^attempt, max) */
    int64_t backoff_max_ms;
    int64_t poll_min_ms;
    int64_t poll_max_ms; /* 0: 30000 with a live wake-up channel, else 1000 */
} wp__worker_options;

/* scaling.* */
typedef struct wp__scaling_options {
    int64_t min_instances;
    int64_t max_instances;
    int64_t target_ms;
    double up_threshold;
    double down_threshold;
    int64_t cooldown_ms;
    double weight;       /* of the newest in averages */
    int64_t interval_ms; /* read by those who ask again and again: the command */
} wp__scaling_options;

/* Keys, ranges and defaults are in the property table. Texts are never NULL; "" is unset. */
struct wp_config {
    char *store_url; /* sqlite:PATH, sqlite::memory:, postgresql://... */
    char *store_id;
    char *store_schema;
    char *outbox_table;
    char *inbox_table;
    bool store_deploy;
    int64_t pool_size;
    int64_t busy_ms; /* store.busy_timeout_ms: how long to wait for another writer */
    int64_t connect_ms;
    int64_t answer_ms;   /* store.response_timeout_ms */
    bool prepare;        /* store.prepared_statements */
    bool signals;        /* tell other processes of new work */
    int64_t synchronous; /* WP__SYNC_* */
    int64_t log_level;   /* a wp_log_level, or WP__LOG_OFF */

    char *zone_directory;   /* schedule.zone_directory */
    int64_t outbox_keep_ms; /* what is done, likewise: */
    int64_t inbox_keep_ms;
    int64_t timer_keep_ms;
    int64_t job_keep_ms;
    int64_t join_keep_ms;
    int64_t cleanup_ms; /* worker.cleanup_interval_ms */
    bool revive_dead;   /* an enqueue of a dead message of the inbox makes it ready again */

    wp__worker_options worker;
    char *job_cron_overrides;
    int64_t worker_job_lease_ms;
    char *worker_name;      /* "": host:pid */
    double worker_jitter;   /* 0 to 1: a delay is shortened by up to this part */
    bool worker_all_topics; /* claim topics without a handler too, warn and abandon */
    int64_t flush_ms;       /* how long a finished delivery may wait for company */
    int64_t reap_ms;        /* between looks for expired leases */
    bool wakeups;           /* use wake-up channels; off: poll only */
    int64_t selection;      /* WP__SELECT_* */
    int64_t turn;           /* deliveries of one store before the next one's */
    int64_t discovery_ms;   /* read by those who discover stores: the bindings, apps */

    int64_t lease_renew_percent;
    int64_t lease_guard_percent;
    int64_t lease_poll_ms; /* lease.poll_max_ms */
    int64_t lease_keep_ms;

    int64_t health_overdue_ms;
    int64_t health_timeout_ms;
    int64_t health_pump_ms;
    int64_t health_handler_ms;
    int64_t health_clock_ms;
    int64_t health_snapshot_ms;
    int64_t health_wal_mib;
    int64_t health_free_mib;

    char *http_address;
    int64_t metrics_port; /* 0: none */
    int64_t health_port;
    int64_t dashboard_port;
    char *dashboard_token; /* "": changes nothing */
    char *dashboard_hosts;
    bool dashboard_payloads;
    wp__scaling_options scaling;

    wp__log_sink *log_sink; /* of wp_config_set_log(); NULL: JSON lines on stderr */
    wp_clock *clock;        /* NULL: the system's */
};

/* A deep copy; shares log callback (destroy once) and clock. NULL gives the defaults. */
wp_status wp__config_copy(wp_config **out, const wp_config *config, wp_error **err);

/* Whether all `store.*` options and the clock are the same, so that a store opened with the one serves
 * for the other. */
bool wp__config_is_same_store(const wp_config *a, const wp_config *b);

/* The log a store opened with this configuration writes to: a new reference. */
wp_status wp__config_log(wp__log **out, const wp_config *config, wp_error **err);

/* Set one worker option of a topic by its key without "worker."; WP_E_CONFIG for other keys. */
wp_status wp__worker_options_set(wp__worker_options *options, const char *key, const char *value,
                                 wp_error **err);

#endif
