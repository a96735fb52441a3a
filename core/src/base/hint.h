/* SPDX-License-Identifier: Apache-2.0 */
/* Which key was meant by one that does not exist. */
#ifndef WP__HINT_H
#define WP__HINT_H

#include <stddef.h>

/* How far `key` is from a known key `group.name`: 0 is the same but for case, unit, group or the
 * separator. The group may be wrong or missing. SIZE_MAX: too far for one to be meant. */
size_t wp__hint_distance(const char *key, const char *known);

#endif
