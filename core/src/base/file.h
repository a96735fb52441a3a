/* SPDX-License-Identifier: Apache-2.0 */
/* What the library asks of the file system, and which files it has open in this process. */
#ifndef WP__FILE_H
#define WP__FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef enum wp__file_kind {
    WP__FILE_MISSING,
    WP__FILE_REGULAR,
    WP__FILE_DIRECTORY,
    WP__FILE_OTHER
} wp__file_kind;

/* What `path` is; MISSING also where it cannot be looked at. */
wp__file_kind wp__file_look(const char *path);
/* Whether the directory that `path` is in, or would be, is there. */
bool wp__file_has_folder(const char *path);

/* How many bytes the file named `path` and `suffix` has, and how many are free where `path` is; -1: that
 * cannot be found out. */
int64_t wp__file_size(const char *path, const char *suffix);
int64_t wp__file_free_bytes(const char *path);

/* The whole of a file that the configuration led to; *out is the caller's: free().
 * WP_E_CONFIG: it cannot be read, or has more than `max` bytes. */
wp_status wp__file_read(char **out, size_t *len, const char *path, size_t max, wp_error **err);

/* A file that is open in this process: by which device and inode, since which fork. */
typedef struct wp__file_mark wp__file_mark;

/* Note that `path` is open in this process. No lock: a fork may come at any time.
 * WP_E_STATE: an ancestor had it open when it forked this process. SQLite's own notes on its locks
 * are in the memory that was inherited, and are wrong here: sqlite.org/howtocorrupt.html, 2.6. */
wp_status wp__file_mark_open(wp__file_mark **out, const char *path, wp_error **err);
/* It is closed. Accepts NULL. */
void wp__file_mark_closed(wp__file_mark *mark);

#endif
