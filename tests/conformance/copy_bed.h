/* SPDX-License-Identifier: Apache-2.0 */
/* Two stores between which things are moved: from each engine to a file, from a file to it, and between two schemas of it. */
#ifndef COPY_BED_H
#define COPY_BED_H

#include "bed.h"
#include "copy/copy.h"

/* Two stores of one kind or two. */
typedef struct pair {
    bed *b;
    wp_store *from, *to;
    wp_store *own; /* to close */
} pair;

enum { TO_FILE, FROM_FILE, TO_SCHEMA };

wp_store *cb_file_beside(bed *b, const char *name);
wp_copy *cb_copy(pair *p);
/* All steps. */
void cb_run(wp_copy *copy);
/* All that can be moved; how many messages and runs were. */
int64_t cb_move(pair *p);
/* Where SQL Server is one of the two, joins and their members stay. */
bool cb_moves_joins(const pair *p);
/* Run a scenario, if joins move there. */
void cb_with_joins(void **state, int way, void (*scenario)(pair *));
/* Run a scenario. `state` is the bed's. */
void cb_with_pair(void **state, int way, void (*scenario)(pair *));

#endif
