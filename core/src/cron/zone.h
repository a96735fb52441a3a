/* SPDX-License-Identifier: Apache-2.0 */
/* Time zones of the IANA database, read from the files that zic makes (TZif, RFC 9636). Nothing of
 * the process is looked at or changed: no TZ, no tzset(), no locale. */
#ifndef WP__ZONE_H
#define WP__ZONE_H

#include "base/error.h"
#include "cron/tz_rule.h"

/* One zone as its file was when it was read. Never changes; any thread may use it. */
typedef struct wp__zone wp__zone;

/* Offsets are less than this, and a clock is never set back by more than twice as much. */
#define WP__OFFSET_LIMIT (INT64_C(26) * 3600)

/* Read the zone `name` below `directory`. "UTC" needs no file.
 * WP_E_ARGUMENT: not a name of a zone; WP_E_NOT_FOUND: no such zone; WP_E_CONFIG: the directory is
 * missing, or the file cannot be read or is not a whole and valid one. */
wp_status wp__zone_load(wp__zone **out, const char *directory, const char *name, wp_error **err);
/* The same from the bytes of a file. */
wp_status wp__zone_read(wp__zone **out, const char *name, const void *data, size_t len,
                        wp_error **err);
wp__zone *wp__zone_ref(wp__zone *zone);
/* Drop a reference; the last one frees it. */
void wp__zone_free(wp__zone *zone);

/* The span that a second (since 1970) is in. */
wp__span wp__zone_span(const wp__zone *zone, int64_t second);
const char *wp__zone_name(const wp__zone *zone);

#endif
