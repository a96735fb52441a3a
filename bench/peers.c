/* SPDX-License-Identifier: Apache-2.0 */
/* Other job queues on the same server: bench/peers/ is run on a database of its own. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench_pg.h"

double bench_peer(const char *peer, const char *mode, size_t count, const char *figure)
{
    char url[BENCH_PATH];
    char node[BENCH_PATH];
    char script[BENCH_PATH];
    char number[24];
    const char *const arguments[] = {node, script, peer, url, mode, number, NULL};
    json_t *object;
    double value;
    int64_t pid;
    char *text;
    int out = -1;
    (void)snprintf(node, sizeof node, "%s/node_modules/.bin/node", bench_opt.peers);
    (void)snprintf(script, sizeof script, "%s/peers.js", bench_opt.peers);
    (void)snprintf(number, sizeof number, "%zu", count);
    bench_pg_new(url);
    pid = bench_spawn(&out, arguments);
    text = bench_collect(pid, out);
    object = json_loads(text, 0, NULL);
    value = json_number_value(json_object_get(object, figure));
    if (value <= 0)
        bench_die("%s wrote: %s", peer, text);
    json_decref(object);
    free(text);
    bench_pg_drop(url);
    return value;
}
