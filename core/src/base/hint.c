/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hint.h"

#include <stdint.h>
#include <string.h>

enum { KEY_MAX = 64 }; /* with the NUL; what is longer is cut */

/* Copy a key as it is compared: in lower case, with '_' for '.' and without the unit. */
static void plain(char out[KEY_MAX], const char *key)
{
    size_t len = 0;
    for (; len < KEY_MAX - 1 && key[len]; len++)
        out[len] = key[len] == '.'                      ? '_'
                   : key[len] >= 'A' && key[len] <= 'Z' ? (char)(key[len] + 32)
                                                        : key[len];
    if (len > 3 && memcmp(out + len - 3, "_ms", 3) == 0)
        len -= 3;
    out[len] = '\0';
}

/* How many characters must be added, dropped or changed to make one key the other. */
static size_t edits(const char *a, const char *b)
{
    size_t row[KEY_MAX]; /* row[j]: from what was read of `a` to the first j bytes of `b` */
    size_t i = 0, j = 0, diagonal = 0, change = 0;
    for (j = 0; j < KEY_MAX; j++)
        row[j] = j;
    for (i = 0; a[i]; i++) {
        diagonal = row[0]++;
        for (j = 0; b[j]; j++) {
            change = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = 1 + (row[j] < diagonal ? row[j] : diagonal);
            if (change < row[j + 1])
                row[j + 1] = change;
        }
    }
    return row[strlen(b)];
}

static size_t apart(const char *key, const char *known)
{
    char a[KEY_MAX], b[KEY_MAX];
    size_t distance = 0;
    plain(a, key);
    plain(b, known);
    distance = edits(a, b);
    return *a && distance * 3 <= strlen(a) ? distance : SIZE_MAX;
}

static const char *name_of(const char *key)
{
    const char *dot = strchr(key, '.');
    return dot ? dot + 1 : key;
}

size_t wp__hint_distance(const char *key, const char *known)
{
    const size_t whole = apart(key, known), name = apart(name_of(key), name_of(known));
    return whole < name ? whole : name;
}
