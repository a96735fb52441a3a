/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz targets: bytes that nobody meant, into the readers of what comes from outside. Each fuzz_NAME.c is one,
 * with corpus/NAME/. tools/fuzz.sh builds them with libFuzzer and looks for more; the tests replay the corpus. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Say what does not hold, and crash. */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* One input, in a block of exactly its size. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Text that ends at a line's end or the data's; the rest follows. The caller frees it. */
static inline char *fuzz_line(const uint8_t **data, size_t *size)
{
    size_t len = 0;
    char *line;
    while (len < *size && (*data)[len] != '\n')
        len++;
    line = malloc(len + 1);
    FUZZ_CHECK(line);
    for (size_t i = 0; i < len; i++)
        line[i] = (char)(*data)[i];
    line[len] = '\0';
    len += len < *size;
    *data += len;
    *size -= len;
    return line;
}

#endif
