/* SPDX-License-Identifier: Apache-2.0 */
/* The retry rule: exponential backoff with jitter, as the seeds' min(2^attempt s, 60 s). */
#include "base/thread.h"
#include "queue/queue.h"

int64_t wp__backoff_us(int64_t attempt, const wp__worker_options *options, double jitter)
{
    int64_t base = options->backoff_base_ms * 1000;
    int64_t max = options->backoff_max_ms * 1000;
    int64_t delay = base;
    for (int64_t i = 0; i < attempt && delay < max; i++)
        delay *= 2; /* max is at most a day, so this cannot overflow */
    if (delay > max)
        delay = max;
    /* 53 random bits are as many as a double holds. */
    delay -= (int64_t)((double)delay * jitter * ((double)(wp__random() >> 11) * 0x1p-53));
    return delay > 0 ? delay : 1;
}
