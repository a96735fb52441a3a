/* SPDX-License-Identifier: Apache-2.0 */
/* What a part counts by topic, for metrics: rows changed, and how long things took. There is one tally for
 * each topic that was registered and one for all others of a queue, so that there are never more. Written by
 * the part's own threads, read by any. */
#ifndef WP__TALLY_H
#define WP__TALLY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* How many took no longer than each of these, in microseconds; and all that took longer. */
#define WP__BUCKETS_US                                                                             \
    {                                                                                              \
        1000, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000,        \
            10000000, 30000000, 60000000, 300000000, 3600000000                                    \
    }
enum { WP__BUCKETS = 16 };

typedef struct wp__histogram {
    _Atomic int64_t buckets[WP__BUCKETS + 1];
    _Atomic int64_t sum_us;
} wp__histogram;

typedef enum wp__tally_count {
    WP__TALLY_CLAIMED,
    WP__TALLY_RETRIED, /* of them, those that had been tried before */
    WP__TALLY_ACKED,
    WP__TALLY_ABANDONED,
    WP__TALLY_FAILED,
    WP__TALLY_RELEASED,
    WP__TALLY_CANCELLED,
    WP__TALLY_LOST,
    WP__TALLY_COUNTS
} wp__tally_count;

typedef struct wp__tally {
    _Atomic int64_t counts[WP__TALLY_COUNTS];
    wp__histogram handled; /* from when it was handed out to when it was finished */
    wp__histogram lag;     /* from when it was due to its first claim */
} wp__tally;

static inline void wp__tally_add(wp__tally *tally, wp__tally_count count)
{
    atomic_fetch_add_explicit(&tally->counts[count], 1, memory_order_relaxed);
}

static inline void wp__observe(wp__histogram *histogram, int64_t us)
{
    static const int64_t bounds[WP__BUCKETS] = WP__BUCKETS_US;
    size_t i = 0;
    if (us < 0)
        us = 0;
    while (i < WP__BUCKETS && us > bounds[i])
        i++;
    atomic_fetch_add_explicit(&histogram->buckets[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->sum_us, us, memory_order_relaxed);
}

#endif
