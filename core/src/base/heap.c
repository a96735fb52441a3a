/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

#include <stdlib.h>

enum { BLOCK = 4 << 20 };

void wp__heap_settle(void)
{
    /* volatile, or the compiler removes the pair; the block is mapped, never touched */
    void *volatile block = malloc(BLOCK);
    free(block);
}
