/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule from parts that are there already. */
#ifndef WP__SCHEDULE_H
#define WP__SCHEDULE_H

#include <waypost/schedule.h>

#include "cron/zone.h"

/* wp_schedule_new() in a zone that was loaded before: shared, not read again. */
wp_status wp__schedule_new_in(wp_schedule **out, const char *expression, wp__zone *zone,
                              wp_error **err);

#endif
