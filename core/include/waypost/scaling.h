/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file scaling.h
 * How many workers there should be: a controller that is told what a queue has and what was done, and
 * answers with a number. It reads no clock and no database, starts nothing, and gives the same answers for
 * the same input; `waypost supervise` starts and stops processes by it.
 *
 * It keeps weighted averages of the queue's depth and of the processing rate (`scaling.weight` is that of the
 * newest). Depth by rate is how long a new message waits; that by `scaling.target_latency_ms` is the
 * pressure. Above `scaling.scale_up_threshold` there should be more, by as much as the pressure says and at most
 * twice as many; below `scaling.scale_down_threshold` one less, unless those that remain could not do what
 * arrives. After a change it waits for `scaling.cooldown_ms`. From SCL-001.
 */
#ifndef WAYPOST_SCALING_H
#define WAYPOST_SCALING_H

#include <waypost/config.h>

WP_BEGIN_DECLS

/** A controller. Not thread-safe. */
typedef struct wp_scaling wp_scaling;

/** Make one from the options `scaling.*`, which are copied.
 * @param config  NULL: the defaults
 * @return WP_OK; WP_E_CONFIG: `scaling.min_instances` is above `scaling.max_instances`, or the threshold for
 *         less not below the one for more. */
WP_API wp_status wp_scaling_new(wp_scaling **out, const wp_config *config, wp_error **err);
/** Free it. */
WP_API void wp_scaling_free(WP_OWN wp_scaling *scaling);
/** Decide.
 * @param wanted     gets how many there should be, from min_instances to max_instances
 * @param now_us     a clock that never goes back, in microseconds; earlier than before counts as before
 * @param instances  how many there are, 0 or more
 * @param depth      how many messages wait, 0 or more
 * @param done       how many were done so far, in all; fewer than before is a new count
 * @return WP_OK; WP_E_ARGUMENT; WP_E_RANGE: a number is negative. */
WP_API wp_status wp_scaling_decide(int64_t *wanted, wp_scaling *scaling, int64_t now_us,
                                   int64_t instances, int64_t depth, int64_t done, wp_error **err);
/** The pressure of the last decision: how long a message waits by how long it may; 0: there was none. */
WP_API double wp_scaling_pressure(const wp_scaling *scaling);
/** How many messages are done in a second, on the weighted average. */
WP_API double wp_scaling_rate(const wp_scaling *scaling);

WP_END_DECLS

#endif
