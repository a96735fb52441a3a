/* SPDX-License-Identifier: Apache-2.0 */
/* A limit to how long a client may take for its whole request, or for taking the answer: one that sends a byte
 * now and then would hold one of few connections for ever. A thread shuts down what is overdue. */
#ifndef WP__VISITS_H
#define WP__VISITS_H

#include "base/error.h"

typedef struct wp__visits wp__visits;
/* One connection. */
typedef struct wp__visit wp__visit;

wp_status wp__visits_begin(wp__visits **out, wp_error **err);
/* When no connection is there any more. NULL is fine. */
void wp__visits_end(wp__visits *visits);
/* A connection is there, with this socket. NULL: no memory. */
wp__visit *wp__visit_new(wp__visits *visits, int fd);
/* It has so long for what comes next; 0: what comes next is ours. `visit` may be NULL. */
void wp__visit_limit(wp__visit *visit, int64_t limit_us);
/* It is over. */
void wp__visit_free(wp__visit *visit);

#endif
