/* SPDX-License-Identifier: Apache-2.0 */
/* For zones.py: what the library makes of time zone files.
 * usage: zone_spans DIRECTORY FROM TO < NAMES
 * For each name on a line of its own, writes a line: the name, then the begin and the offset of each
 * span from second FROM to second TO. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cron/zone.h"

static int write_spans(const char *directory, const char *name, int64_t from, int64_t to)
{
    wp__zone *zone = NULL;
    wp_error *err = NULL;
    wp__span span = {0, 0, 0};
    if (wp__zone_load(&zone, directory, name, &err) != WP_OK) {
        (void)fprintf(stderr, "%s\n", wp_error_message(err));
        wp_error_free(err);
        return 1;
    }
    printf("%s", name);
    for (int64_t at = from; at < to; at = span.end) {
        span = wp__zone_span(zone, at);
        printf(" %" PRId64 " %" PRId32, at == from ? at : span.begin, span.offset);
    }
    printf("\n");
    wp__zone_free(zone);
    return 0;
}

int main(int argc, char **argv)
{
    char name[300];
    int failed = 0;
    if (argc != 4)
        return 2;
    while (fgets(name, sizeof name, stdin)) {
        name[strcspn(name, "\n")] = '\0';
        failed |=
            write_spans(argv[1], name, strtoll(argv[2], NULL, 10), strtoll(argv[3], NULL, 10));
    }
    return failed;
}
