/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of what was changed by hand, written in the transaction of the change. */
#ifndef WP__AUDIT_H
#define WP__AUDIT_H

#include <waypost/audit.h>

#include "queue/queue.h"

/* For an operation's next(): write a note. Texts stay the caller's until the statement has run; subject, by
 * and detail, a JSON object, may be NULL. */
void wp__audit_use(wp_op *op, const char *action, const wp__queue *queue, const char *subject,
                   const char *by, const char *detail);

#endif
