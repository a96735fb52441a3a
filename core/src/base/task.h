/* SPDX-License-Identifier: Apache-2.0 */
/* Something done on a thread of its own, so that nobody waits for it for longer than he likes. */
#ifndef WP__TASK_H
#define WP__TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct wp__task wp__task;

/* Begin `fn(arg)` on a thread of this name. `destroy(arg)` is called when all are done with it, but not
 * if this fails. */
wp_status wp__task_start(wp__task **out, const char *name, void (*fn)(void *arg),
                         void (*destroy)(void *arg), void *arg, wp_error **err);
/* One more who waits for it. */
wp__task *wp__task_ref(wp__task *task);
/* Wait until the real instant `deadline_us`. False: it is not done. */
bool wp__task_wait(wp__task *task, int64_t deadline_us);
/* Let go of it; what hangs goes on by itself. Accepts NULL. */
void wp__task_free(wp__task *task);

#endif
