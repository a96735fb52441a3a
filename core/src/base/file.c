/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <sys/stat.h>

wp__file_kind wp__file_look(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return WP__FILE_MISSING;
    if (S_ISREG(info.st_mode))
        return WP__FILE_REGULAR;
    return S_ISDIR(info.st_mode) ? WP__FILE_DIRECTORY : WP__FILE_OTHER;
}
