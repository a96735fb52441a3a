/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file metrics.h
 * Metrics: what a worker and its stores have done and hold, as Prometheus text and as JSON.
 *
 * Counters count rows changed, from the start of the worker. Topics that the worker has registered have
 * series of their own; of others the first in byte order do, the rest are one series, `(other)`, so that
 * there are never more than some hundreds for a store. docs/operations.md lists the metrics.
 */
#ifndef WAYPOST_METRICS_H
#define WAYPOST_METRICS_H

#include <waypost/worker.h>

WP_BEGIN_DECLS

/** A snapshot; read-only, so that any threads may read it. */
typedef struct wp_metrics wp_metrics;

/** Read those of a worker and of all its stores.
 * @param limit_ms  how long to wait for databases; negative: the option `health.timeout_ms`. What they
 *                  have not told by then is left out, and `waypost_store_up` is 0
 * @return WP_OK; WP_E_ARGUMENT; WP_E_RANGE; WP_E_STATE: after a fork. */
WP_API wp_status wp_metrics_read(wp_metrics **out, wp_worker *worker, int64_t limit_ms,
                                 wp_error **err);
/** Read those of a store alone: what it holds, and what this process has counted of its inbox and its
 * leases. For processes without a worker. */
WP_API wp_status wp_metrics_read_store(wp_metrics **out, wp_store *store, int64_t limit_ms,
                                       wp_error **err);
/** Prometheus' text format, version 0.0.4. Borrowed. */
WP_API const char *wp_metrics_text(const wp_metrics *metrics);
/** A JSON array of the samples, each {"name", "kind": "counter", "gauge" or "histogram", "labels": {},
 * "value"}. Of a histogram the samples are name_bucket (by the label `le`), name_sum and name_count.
 * Borrowed. */
WP_API const char *wp_metrics_json(const wp_metrics *metrics);
/** Free it. */
WP_API void wp_metrics_free(WP_OWN wp_metrics *metrics);

WP_END_DECLS

#endif
