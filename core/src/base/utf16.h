/* SPDX-License-Identifier: Apache-2.0 */
/* Texts in UTF-16, as some drivers take and give them. Units are in the machine's byte order. */
#ifndef WP__UTF16_H
#define WP__UTF16_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

/* Converts; for one thread at a time. */
typedef struct wp__utf16 wp__utf16;

/* WP_E_NOMEM; WP_E_INTERNAL: the system cannot convert. */
wp_status wp__utf16_new(wp__utf16 **out, wp_error **err);
void wp__utf16_free(wp__utf16 *converter);

/* Make *out the UTF-16 of `len` bytes of UTF-8; a unit 0 follows, which is not counted.
 * False: it is not UTF-8, or there is no memory (out->failed). */
bool wp__utf16_encode(wp__buf *out, wp__utf16 *converter, const char *text, size_t len);
/* Make *out the UTF-8 of `bytes` bytes of UTF-16; a byte 0 follows, which is not counted.
 * False: there is half a character, or no memory (out->failed). */
bool wp__utf16_decode(wp__buf *out, wp__utf16 *converter, const char *units, size_t bytes);

#endif
