/* SPDX-License-Identifier: Apache-2.0 */
/* One kindness to the process's allocator. */
#ifndef WP__HEAP_H
#define WP__HEAP_H

/* Stop glibc from giving memory back to the system after every small burst. SQLite allocates and
 * frees some 90 KiB for each temporary table of a statement; with the initial trim threshold of
 * 128 KiB that becomes page faults, which made claims of 100 three times slower. The threshold
 * adapts to the largest block that was ever freed (mallopt(3), M_MMAP_THRESHOLD): free one. */
void wp__heap_settle(void);

#endif
