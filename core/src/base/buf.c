/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Make room for `len` more bytes and the final NUL. */
static bool reserve(wp__buf *buf, size_t len)
{
    size_t need = 0, cap = 0;
    char *data = NULL;
    if (buf->failed)
        return false;
    if (len >= SIZE_MAX / 2 - buf->len) {
        buf->failed = true;
        return false;
    }
    need = buf->len + len + 1;
    if (need <= buf->cap)
        return true;
    cap = buf->cap < 32 ? 64 : buf->cap * 2; /* cap <= SIZE_MAX / 2 by the check above */
    if (cap < need)
        cap = need;
    data = realloc(buf->data, cap);
    if (!data) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->cap = cap;
    return true;
}

void wp__buf_add(wp__buf *buf, const void *data, size_t len)
{
    if (!reserve(buf, len))
        return;
    if (len > 0)
        memcpy(buf->data + buf->len, data, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void wp__buf_text(wp__buf *buf, const char *text)
{
    wp__buf_add(buf, text, strlen(text));
}

void wp__buf_int(wp__buf *buf, int64_t value)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRId64, value);
    wp__buf_add(buf, digits, (size_t)len);
}

void wp__buf_fmt(wp__buf *buf, const char *fmt, ...)
{
    va_list args, again;
    int len = 0;
    va_start(args, fmt);
    va_copy(again, args);
    len = vsnprintf(NULL, 0, fmt, args);
    if (len < 0) {
        buf->failed = true;
    } else if (reserve(buf, (size_t)len)) {
        (void)vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, again);
        buf->len += (size_t)len;
    }
    va_end(again);
    va_end(args);
}

void wp__buf_clear(wp__buf *buf)
{
    buf->len = 0;
    buf->failed = false;
    if (buf->data)
        buf->data[0] = '\0';
}

char *wp__buf_take(wp__buf *buf)
{
    char *text = NULL;
    wp__buf_add(buf, NULL, 0); /* so that an empty buffer gives "" */
    if (!buf->failed) {
        text = buf->data;
        buf->data = NULL;
    }
    wp__buf_free(buf);
    return text;
}

void wp__buf_free(wp__buf *buf)
{
    if (!buf)
        return;
    free(buf->data);
    *buf = (wp__buf){NULL, 0, 0, false};
}
