/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/thread.h"

wp__file_kind wp__file_look(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return WP__FILE_MISSING;
    if (S_ISREG(info.st_mode))
        return WP__FILE_REGULAR;
    return S_ISDIR(info.st_mode) ? WP__FILE_DIRECTORY : WP__FILE_OTHER;
}

bool wp__file_has_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder;
    bool found;
    if (!slash || slash == path)
        return true;
    folder = wp__text_ndup(path, (size_t)(slash - path));
    found = !folder || wp__file_look(folder) == WP__FILE_DIRECTORY;
    free(folder);
    return found;
}

int64_t wp__file_size(const char *path, const char *suffix)
{
    struct stat info;
    wp__buf name = {0};
    int64_t size = -1;
    wp__buf_fmt(&name, "%s%s", path, suffix);
    if (!name.failed && stat(name.data, &info) == 0)
        size = info.st_size;
    wp__buf_free(&name);
    return size;
}

int64_t wp__file_free_bytes(const char *path)
{
    struct statvfs info;
    if (statvfs(path, &info) != 0)
        return -1;
    return (int64_t)info.f_bavail * (int64_t)info.f_frsize;
}

wp_status wp__file_read(char **out, size_t *len, const char *path, size_t max, wp_error **err)
{
    FILE *file = fopen(path, "rb");
    char *data = malloc(max + 1);
    size_t count = 0;
    wp_status st = WP_OK;
    if (!data)
        st = wp__fail_nomem(err);
    else if (!file)
        st = wp__fail(err, WP_E_CONFIG, "%s cannot be opened", path);
    else if ((count = fread(data, 1, max + 1, file)) > max)
        st = wp__fail(err, WP_E_CONFIG, "%s has more than %zu bytes", path, max);
    else if (ferror(file))
        st = wp__fail(err, WP_E_CONFIG, "%s cannot be read", path);
    if (file)
        (void)fclose(file);
    if (st == WP_OK) {
        *out = data;
        *len = count;
        data = NULL;
    }
    free(data);
    return st;
}

/* Marks are never freed, only used again: the list can be read at any time without a lock. */
struct wp__file_mark {
    dev_t device;
    ino_t inode;
    uint64_t generation; /* of the process that has it open */
    atomic_int open;
    wp__file_mark *next;
};

static _Atomic(wp__file_mark *) marks;

/* This process's mark of the file, if there is one; *inherited tells of an open one of an
 * ancestor's. */
static wp__file_mark *find(const struct stat *info, uint64_t generation, bool *inherited)
{
    wp__file_mark *found = NULL;
    *inherited = false;
    for (wp__file_mark *mark = atomic_load(&marks); mark; mark = mark->next) {
        if (mark->device != info->st_dev || mark->inode != info->st_ino)
            continue;
        if (mark->generation == generation)
            found = mark;
        else if (atomic_load(&mark->open) > 0)
            *inherited = true;
    }
    return found;
}

wp_status wp__file_mark_open(wp__file_mark **out, const char *path, wp_error **err)
{
    const uint64_t generation = wp__process_generation();
    struct stat info;
    bool inherited = false;
    wp__file_mark *mark;
    if (stat(path, &info) != 0)
        return wp__fail(err, WP_E_UNAVAILABLE, "%s cannot be looked at", path);
    mark = find(&info, generation, &inherited);
    if (inherited)
        return wp__fail(
            err, WP_E_STATE,
            "%s was open in the process that forked this one, and SQLite cannot open it "
            "again here: fork first and open stores afterwards, or start a new program",
            path);
    if (!mark) {
        mark = calloc(1, sizeof *mark);
        if (!mark)
            return wp__fail_nomem(err);
        mark->device = info.st_dev;
        mark->inode = info.st_ino;
        mark->generation = generation;
        mark->next = atomic_load(&marks);
        while (!atomic_compare_exchange_weak(&marks, &mark->next, mark))
            continue;
    }
    atomic_fetch_add(&mark->open, 1);
    *out = mark;
    return WP_OK;
}

void wp__file_mark_closed(wp__file_mark *mark)
{
    if (mark)
        atomic_fetch_sub(&mark->open, 1);
}
