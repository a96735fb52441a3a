/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file health.h
 * Health: whether a store, or a worker on its stores, does its work; and if not, why. One rule for all
 * languages, the command and the HTTP endpoints.
 *
 * Unhealthy: a store cannot be reached or its schema is not what this library needs, the worker does not
 * run, or its pump is stuck. Degraded: work is stale or overdue, or something will be in the way soon.
 * The limits are the options `health.*`.
 */
#ifndef WAYPOST_HEALTH_H
#define WAYPOST_HEALTH_H

#include <waypost/worker.h>

WP_BEGIN_DECLS

/** A report. A snapshot; read-only, so that any threads may read it. */
typedef struct wp_health wp_health;

/** How it is. The worst of all reasons and of all stores counts. */
typedef enum wp_health_status {
    WP_HEALTH_HEALTHY = 0,
    WP_HEALTH_DEGRADED = 1,
    WP_HEALTH_UNHEALTHY = 2
} wp_health_status;

/** What of the work counts. Storage, schema and the worker itself always do. */
typedef enum wp_health_scope {
    WP_HEALTH_OF_ALL = 0,
    WP_HEALTH_OF_SCHEDULER = 1 /**< timers, jobs and their runs alone */
} wp_health_scope;

/** A number of one store. */
typedef enum wp_health_value {
    WP_HEALTH_LATENCY_US = 0,    /**< until the database first answered */
    WP_HEALTH_SCHEMA = 1,        /**< the number of the newest migration */
    WP_HEALTH_READY = 2,         /**< messages that may be claimed now */
    WP_HEALTH_STALE = 3,         /**< messages that are held by leases that are over */
    WP_HEALTH_OLDEST_US = 4,     /**< for how long a message has been ready: the longest */
    WP_HEALTH_JOBS_LATE_US = 5,  /**< for how long a job has been due whose run is not made */
    WP_HEALTH_OVERDUE = 6,       /**< in how many queues work is overdue, and 1 more for jobs */
    WP_HEALTH_CLOCK_US = 7,      /**< the database's clock less this host's; may be negative */
    WP_HEALTH_WAL_BYTES = 8,     /**< of SQLite's write-ahead log */
    WP_HEALTH_FREE_BYTES = 9,    /**< of the disk that the SQLite file is on */
    WP_HEALTH_SNAPSHOT_US = 10,  /**< PostgreSQL: for how long the oldest snapshot has been held */
    WP_HEALTH_PUMP_LATE_US = 11, /**< of a worker: for how long its pump should have been back */
    WP_HEALTH_RUNNING = 12,      /**< of a worker: messages with handlers */
    WP_HEALTH_HANDLER_US = 13,   /**< of a worker: for how long a handler has run: the longest */
    WP_HEALTH_UNHANDLED = 14 /**< of a worker: topics with ready messages that it does not handle */
} wp_health_value;
/** That a number is not known, or does not exist there. */
#define WP_HEALTH_NOT_KNOWN INT64_MIN

/** Ask a store. What asks at the same time shares one look into the database.
 * @param max_age_ms  a message that has been ready for longer, or a job that has been due, is overdue; 0:
 *                    none is; negative: the option `health.overdue_ms`
 * @param limit_ms    how long to wait for the database; negative: the option `health.timeout_ms`. A
 *                    database that has not answered by then is not reachable
 * @return WP_OK, also where it is unhealthy; WP_E_ARGUMENT; WP_E_RANGE; WP_E_STATE: after a fork. */
WP_API wp_status wp_health_read(wp_health **out, wp_store *store, wp_health_scope scope,
                                int64_t max_age_ms, int64_t limit_ms, wp_error **err);
/** Ask a worker, and all its stores at the same time. Takes no lock over I/O. */
WP_API wp_status wp_health_read_worker(wp_health **out, wp_worker *worker, wp_health_scope scope,
                                       int64_t max_age_ms, int64_t limit_ms, wp_error **err);

/** How it is. NULL is unhealthy. */
WP_API wp_health_status wp_health_get_status(const wp_health *health);
/** "healthy", "degraded" or "unhealthy". A constant. */
WP_API const char *wp_health_status_name(wp_health_status status);
/** All reasons, the worst first, in one line; "" if healthy. Borrowed. */
WP_API const char *wp_health_reason(const wp_health *health);
/** All of it as a JSON object. Borrowed. */
WP_API const char *wp_health_json(const wp_health *health);
/** How many stores there are: of a worker there may be none. */
WP_API size_t wp_health_store_count(const wp_health *health);
/** A store's id; NULL past the end. Borrowed. */
WP_API const char *wp_health_store_id(const wp_health *health, size_t index);
/** How one store is. */
WP_API wp_health_status wp_health_store_status(const wp_health *health, size_t index);
/** One number of a store, or WP_HEALTH_NOT_KNOWN. */
WP_API int64_t wp_health_store_value(const wp_health *health, size_t index, wp_health_value value);
/** One number of one queue of a store (not WP_STAT_DONE, WP_STAT_FAILED), or WP_HEALTH_NOT_KNOWN. */
WP_API int64_t wp_health_queue_value(const wp_health *health, size_t index, wp_source source,
                                     wp_outbox_stat stat);
/** Free it. */
WP_API void wp_health_free(WP_OWN wp_health *health);

WP_END_DECLS

#endif
