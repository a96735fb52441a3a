/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/thread.h"

/* RFC 9562, section 6.2, method 3: the 12 bits after the millisecond are its fraction in steps of
 * 1/4096, so the first 60 bits of an id (version aside) are one number. Each id takes a number
 * above all taken before; whoever makes more than 4096 in a millisecond runs a little ahead of
 * the clock, as does a process whose clock was set back. */
static _Atomic uint64_t last;

enum { BLOCK = 32 }; /* random words fetched at once: one system call for so many ids */

/* One thread's unused random words. A forked child must not use its parent's, or both would make
 * the same ids in the same moment. */
static _Thread_local struct {
    uint64_t words[BLOCK];
    unsigned left;
    uint64_t generation;
} block;

static uint64_t random_word(void)
{
    const uint64_t generation = wp__process_generation();
    if (block.left == 0 || block.generation != generation) {
        wp__random_bytes(block.words, sizeof block.words);
        block.left = BLOCK;
        block.generation = generation;
    }
    return block.words[--block.left];
}

static uint64_t next_time(void)
{
    struct timespec now;
    uint64_t seen = atomic_load_explicit(&last, memory_order_relaxed), next = 0;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    next = ((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000) << 12 |
           ((uint64_t)now.tv_nsec % 1000000) * 4096 / 1000000;
    do
        next = next > seen ? next : seen + 1;
    while (!atomic_compare_exchange_weak_explicit(&last, &seen, next, memory_order_relaxed,
                                                  memory_order_relaxed));
    return next;
}

static void put_word(uint8_t *out, uint64_t word)
{
    int i = 0;
    for (i = 7; i >= 0; i--, word >>= 8)
        out[i] = (uint8_t)word;
}

void wp_id_new(wp_id *out)
{
    uint64_t time;
    if (!out)
        return;
    time = next_time();
    put_word(out->bytes, (time >> 12) << 16 | UINT64_C(0x7000) | (time & 0xFFF));
    put_word(out->bytes + 8, (random_word() >> 2) | UINT64_C(0x8000000000000000));
}

/* True where the text form has a dash before byte `i`. */
static bool dashed(size_t i)
{
    return i == 4 || i == 6 || i == 8 || i == 10;
}

void wp_id_format(char out[37], const wp_id *id)
{
    static const char digits[] = "0123456789abcdef";
    char *p = out;
    size_t i = 0;
    if (!out)
        return;
    for (i = 0; id && i < sizeof id->bytes; i++) {
        if (dashed(i))
            *p++ = '-';
        *p++ = digits[id->bytes[i] >> 4];
        *p++ = digits[id->bytes[i] & 15];
    }
    *p = '\0';
}

/* The value of a hexadecimal digit, or 16. */
static unsigned digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A') + 10;
    return 16;
}

wp_status wp_id_parse(wp_id *out, const char *text, wp_error **err)
{
    wp_id id;
    const char *p = text;
    unsigned high = 0, low = 0;
    size_t i = 0;
    if (!out || !text)
        return wp__fail(err, WP_E_ARGUMENT, "%s is null", out ? "text" : "out");
    for (i = 0; i < sizeof id.bytes; i++) {
        if (dashed(i) && *p++ != '-')
            goto bad;
        if ((high = digit(p[0])) > 15 || (low = digit(p[1])) > 15)
            goto bad;
        id.bytes[i] = (uint8_t)(high << 4 | low);
        p += 2;
    }
    if (*p != '\0')
        goto bad;
    *out = id;
    return WP_OK;
bad:
    return wp__fail(err, WP_E_ARGUMENT,
                    "text is not an id of the form "
                    "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
}
