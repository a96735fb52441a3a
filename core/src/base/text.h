/* SPDX-License-Identifier: Apache-2.0 */
/* Text: UTF-8 validation (RFC 3629: no surrogates, no overlong forms, at most U+10FFFF, and no
 * NUL), lengths in UTF-16 code units, and the argument checks built on them. */
#ifndef WP__TEXT_H
#define WP__TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* True if `data` is valid UTF-8 without NUL; *units (may be NULL) gets its length in UTF-16 code
 * units. On failure *bad (may be NULL) gets the offset of the first bad byte. */
bool wp__utf8_check(const char *data, size_t len, size_t *units, size_t *bad);

/* Check a named argument: valid UTF-8, at most `max` UTF-16 units; if `required`, not NULL and not
 * empty. *len (may be NULL) gets its length in bytes, 0 for NULL. The error names `argument`. */
wp_status wp__check_text(size_t *len, const char *argument, const char *text, size_t max,
                         bool required, wp_error **err);

/* Copy up to `max` bytes of `text`, cut at a character's start; bad UTF-8 and control characters
 * other than \n and \t become '?'. NULL gives NULL (*failed false). For reasons, which come from
 * anywhere. The copy is the caller's: free(). */
char *wp__text_clean(const char *text, size_t max, bool *failed);

/* True if valid UTF-8 `text` holds a control character: C0, DEL or C1. */
bool wp__text_has_control(const char *text);

/* Hexadecimal, in lower case: `out` holds 2 * len + 1 characters. */
void wp__hex_encode(char *out, const void *data, size_t len);
/* And back, to len / 2 bytes; returns how many there were up to what is no hexadecimal. */
size_t wp__hex_decode(char *out, const char *text, size_t len);

/* strdup() and memdup() that are in C11; the copy is NUL-terminated. NULL stays NULL. */
char *wp__text_dup(const char *text);
char *wp__text_ndup(const char *text, size_t len);

#endif
