/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf16.h"

#include <iconv.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct wp__utf16 {
    iconv_t encode, decode;
};

/* iconv_open() gives -1 where it fails. */
static bool is_open(iconv_t how)
{
    return (intptr_t)how != -1;
}

static const char *order(void)
{
    const unsigned short one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first ? "UTF-16LE" : "UTF-16BE";
}

wp_status wp__utf16_new(wp__utf16 **out, wp_error **err)
{
    wp__utf16 *self = calloc(1, sizeof *self);
    if (!self)
        return wp__fail_nomem(err);
    self->encode = iconv_open(order(), "UTF-8");
    self->decode = iconv_open("UTF-8", order());
    if (!is_open(self->encode) || !is_open(self->decode)) {
        wp__utf16_free(self);
        return wp__fail(err, WP_E_INTERNAL, "the system's iconv does not know UTF-16");
    }
    *out = self;
    return WP_OK;
}

void wp__utf16_free(wp__utf16 *converter)
{
    if (!converter)
        return;
    if (is_open(converter->encode))
        (void)iconv_close(converter->encode);
    if (is_open(converter->decode))
        (void)iconv_close(converter->decode);
    free(converter);
}

static bool convert(wp__buf *out, iconv_t how, const char *in, size_t len, size_t most, size_t end)
{
    char *from, *to;
    size_t left = len, room = most;
    out->len = 0;
    if (out->cap < most + end) {
        char *grown = realloc(out->data, most + end);
        if (!grown) {
            out->failed = true;
            return false;
        }
        out->data = grown;
        out->cap = most + end;
    }
    memcpy(&from, &in, sizeof from); /* iconv does not write there */
    to = out->data;
    (void)iconv(how, NULL, NULL, NULL, NULL);
    if (len && (iconv(how, &from, &left, &to, &room) == (size_t)-1 || left))
        return false;
    out->len = most - room;
    memset(out->data + out->len, 0, end);
    return true;
}

bool wp__utf16_encode(wp__buf *out, wp__utf16 *converter, const char *text, size_t len)
{
    return convert(out, converter->encode, text, len, len * 2, 2);
}

bool wp__utf16_decode(wp__buf *out, wp__utf16 *converter, const char *units, size_t bytes)
{
    return convert(out, converter->decode, units, bytes, bytes / 2 * 3, 1);
}
