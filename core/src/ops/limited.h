/* SPDX-License-Identifier: Apache-2.0 */
/* Something done on a thread of its own, so that nobody waits for it for longer than he likes. */
#ifndef WP__LIMITED_H
#define WP__LIMITED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct wp__task wp__task;

/* Begin `fn(arg)`. WP_E_UNAVAILABLE: too many hang already; WP_E_NO_MEMORY. `destroy(arg)` is called when
 * both sides are done with it, but not if this fails. */
wp_status wp__task_start(wp__task **out, void (*fn)(void *arg), void (*destroy)(void *arg),
                         void *arg, wp_error **err);
/* Wait until the real instant `deadline_us`. False: it is not done. */
bool wp__task_wait(wp__task *task, int64_t deadline_us);
/* Let go of it; what hangs goes on by itself. Accepts NULL. */
void wp__task_free(wp__task *task);

#endif
