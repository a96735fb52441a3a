/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a target each file of the folders that are named: the corpus as a test, without libFuzzer. */
#include <dirent.h>
#include <string.h>

#include "base/file.h"
#include "fuzz/fuzz.h"

static void replay(const char *path)
{
    char *data = NULL, *exact;
    size_t len = 0;
    FUZZ_CHECK(wp__file_read(&data, &len, path, 1 << 20, NULL) == WP_OK);
    exact = malloc(len ? len : 1);
    FUZZ_CHECK(exact);
    memcpy(exact, data, len);
    (void)LLVMFuzzerTestOneInput((const uint8_t *)exact, len);
    free(exact);
    free(data);
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        FUZZ_CHECK(folder);
        for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            char path[1024];
            if (entry->d_name[0] == '.')
                continue;
            (void)snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            replay(path);
            count++;
        }
        (void)closedir(folder);
    }
    (void)printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
