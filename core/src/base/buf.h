/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte buffer. Zero-initialise it; `data` is NUL-terminated once anything was added.
 * After a failed allocation `failed` is set and further additions do nothing: check once. */
#ifndef WP__BUF_H
#define WP__BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct wp__buf {
    char *data;
    size_t len;
    size_t cap;
    bool failed;
} wp__buf;

void wp__buf_add(wp__buf *buf, const void *data, size_t len);
void wp__buf_text(wp__buf *buf, const char *text);
void wp__buf_int(wp__buf *buf, int64_t value);
void wp__buf_fmt(wp__buf *buf, const char *fmt, ...) WP__PRINTF(2, 3);
/* Empty it, keep the memory. */
void wp__buf_clear(wp__buf *buf);
/* Give the text to the caller (free()), and leave the buffer empty; NULL after a failure. An
 * empty buffer gives "". */
char *wp__buf_take(wp__buf *buf);
void wp__buf_free(wp__buf *buf);

#endif
