/* SPDX-License-Identifier: Apache-2.0 */
/* What the library asks of the file system. */
#ifndef WP__FILE_H
#define WP__FILE_H

typedef enum wp__file_kind {
    WP__FILE_MISSING,
    WP__FILE_REGULAR,
    WP__FILE_DIRECTORY,
    WP__FILE_OTHER
} wp__file_kind;

/* What `path` is; MISSING also where it cannot be looked at. */
wp__file_kind wp__file_look(const char *path);

#endif
