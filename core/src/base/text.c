/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The number of bytes of the well-formed character at `p`, of which `left` > 0 bytes may be read;
 * 0 if it is none (Unicode 15, table 3-7). NUL is not one. */
static size_t char_len(const unsigned char *p, size_t left)
{
    const unsigned c = p[0];
    unsigned low = 0x80, high = 0xBF; /* range of the second byte */
    size_t len = 0, i = 0;
    if (c < 0x80)
        return c != 0;
    if (c >= 0xC2 && c <= 0xDF) {
        len = 2;
    } else if (c >= 0xE0 && c <= 0xEF) {
        len = 3;
        if (c == 0xE0)
            low = 0xA0; /* below: overlong */
        else if (c == 0xED)
            high = 0x9F; /* above: surrogates */
    } else if (c >= 0xF0 && c <= 0xF4) {
        len = 4;
        if (c == 0xF0)
            low = 0x90; /* below: overlong */
        else if (c == 0xF4)
            high = 0x8F; /* above: past U+10FFFF */
    } else {
        return 0;
    }
    if (left < len || p[1] < low || p[1] > high)
        return 0;
    for (i = 2; i < len; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    return len;
}

/* True if the eight bytes at `p` are all ASCII and none is NUL. Payloads mostly are. */
static bool all_ascii(const unsigned char *p)
{
    uint64_t word = 0;
    memcpy(&word, p, sizeof word);
    /* A byte of 0 borrows, which shows in its top bit; only false positives follow from borrows. */
    return ((word | (word - UINT64_C(0x0101010101010101))) & UINT64_C(0x8080808080808080)) == 0;
}

bool wp__utf8_check(const char *data, size_t len, size_t *units, size_t *bad)
{
    const unsigned char *p = (const unsigned char *)data;
    size_t at = 0, count = 0, n = 0;
    while (at < len) {
        if (len - at >= 8 && all_ascii(p + at)) {
            at += 8;
            count += 8;
            continue;
        }
        n = char_len(p + at, len - at);
        if (n == 0) {
            if (bad)
                *bad = at;
            return false;
        }
        at += n;
        count += n == 4 ? 2 : 1; /* a surrogate pair */
    }
    if (units)
        *units = count;
    return true;
}

wp_status wp__check_text(size_t *len, const char *argument, const char *text, size_t max,
                         bool required, wp_error **err)
{
    size_t bytes = text ? strlen(text) : 0, units = 0, bad = 0;
    if (required && !text)
        return wp__fail(err, WP_E_ARGUMENT, "%s is null", argument);
    if (required && bytes == 0)
        return wp__fail(err, WP_E_ARGUMENT, "%s is empty", argument);
    if (bytes > 0 && !wp__utf8_check(text, bytes, &units, &bad))
        return wp__fail(err, WP_E_ARGUMENT, "%s is not valid UTF-8 at byte %zu", argument, bad);
    if (units > max)
        return wp__fail(err, WP_E_ARGUMENT, "%s has %zu UTF-16 units; at most %zu are allowed",
                        argument, units, max);
    if (len)
        *len = bytes;
    return WP_OK;
}

bool wp__text_has_control(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    for (; *p; p++)
        if (*p < 0x20 || *p == 0x7F || (*p == 0xC2 && p[1] >= 0x80 && p[1] < 0xA0))
            return true;
    return false;
}

char *wp__text_clean(const char *text, size_t max, bool *failed)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t left = 0, room = 0, n = 0, at = 0;
    char *out = NULL;
    if (failed)
        *failed = false;
    if (!text)
        return NULL;
    left = strlen(text);
    room = left < max ? left : max;
    out = malloc(room + 1);
    if (!out) {
        if (failed)
            *failed = true;
        return NULL;
    }
    while (left > 0) {
        char one[5] = {0};
        n = char_len(p, left);
        memcpy(one, p, n);
        if (n == 0 || (*p != '\n' && *p != '\t' && wp__text_has_control(one))) {
            one[0] = '?';
            one[1] = '\0';
        }
        if (strlen(one) > room - at)
            break;
        memcpy(out + at, one, strlen(one));
        at += strlen(one);
        p += n ? n : 1;
        left -= n ? n : 1;
    }
    out[at] = '\0';
    return out;
}

char *wp__text_ndup(const char *text, size_t len)
{
    char *copy = NULL;
    if (!text)
        return NULL;
    assert(len < SIZE_MAX);
    copy = malloc(len + 1);
    if (copy) {
        memcpy(copy, text, len);
        copy[len] = '\0';
    }
    return copy;
}

char *wp__text_dup(const char *text)
{
    return text ? wp__text_ndup(text, strlen(text)) : NULL;
}

void wp_text_free(char *text)
{
    free(text);
}

void wp__hex_encode(char *out, const void *data, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = data;
    for (size_t i = 0; i < len; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

size_t wp__hex_decode(char *out, const char *text, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i + 1 < len; i += 2) {
        const int high = hex_digit(text[i]);
        const int low = hex_digit(text[i + 1]);
        if (high < 0 || low < 0)
            break;
        out[count++] = (char)(unsigned char)(high << 4 | low);
    }
    return count;
}
