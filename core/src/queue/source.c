/* SPDX-License-Identifier: Apache-2.0 */
/* The queues by the names that hosts have for them. */
#include "queue/dead.h"

static const wp__queue *const sources[] = {[WP_SOURCE_OUTBOX] = &wp__outbox,
                                           [WP_SOURCE_INBOX] = &wp__inbox,
                                           [WP_SOURCE_TIMER] = &wp__timer,
                                           [WP_SOURCE_JOB] = &wp__job_run};

const wp__queue *const wp__queues[WP__QUEUES] = {&wp__outbox, &wp__inbox, &wp__timer, &wp__job_run};

const wp__queue *wp__source_queue(wp_source source)
{
    return (size_t)source < sizeof sources / sizeof sources[0] ? sources[source] : NULL;
}

wp_source wp__queue_source(const wp__queue *queue)
{
    size_t source = sizeof sources / sizeof sources[0] - 1;
    while (source > 0 && sources[source] != queue)
        source--;
    return (wp_source)source;
}
