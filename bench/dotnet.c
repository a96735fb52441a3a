/* SPDX-License-Identifier: Apache-2.0 */
/* End to end in .NET: bench/dotnet is run on a database that is filled here, beside a worker in C. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { COUNT = 100000 }; /* enough for the compiler to have its warm-up within */

typedef struct mode {
    const char *kind; /* sync or async */
    const char *threads;
    const char *name;
} mode;

static double dotnet(void *arg)
{
    const mode *self = arg;
    char count[16];
    char url[BENCH_PATH + sizeof "sqlite:"];
    bench_db db;
    int out = -1;
    char *text;
    double rate;
    json_t *object;
    const char *const arguments[] = {"dotnet",   bench_opt.dotnet, url, count,
                                     self->kind, self->threads,    NULL};
    int64_t pid;
    (void)snprintf(count, sizeof count, "%d", COUNT);
    bench_db_new(&db);
    (void)snprintf(url, sizeof url, "sqlite:%s", db.path);
    bench_load(&db, COUNT);
    pid = bench_spawn(&out, arguments);
    text = bench_collect(pid, out);
    object = json_loads(text, 0, NULL);
    rate = json_number_value(json_object_get(object, "rate"));
    if (rate <= 0)
        bench_die("the .NET worker wrote: %s", text);
    json_decref(object);
    free(text);
    bench_db_drop(&db);
    return rate;
}

static double in_c(void *arg)
{
    bench_db db;
    double result;
    (void)arg;
    bench_db_new(&db);
    bench_load(&db, COUNT);
    result = bench_handle(db.store, COUNT, 4, NULL);
    bench_db_drop(&db);
    return result;
}

void bench_dotnet(void)
{
    static mode modes[] = {
        {"sync", "1", "plain handlers, 1 thread"},
        {"sync", "16", "plain handlers"},
        {"async", "1", "async handlers, 1 thread"},
        {"async", "16", "async handlers"},
    };
    enum { MODES = sizeof modes / sizeof modes[0] };
    bench_side sides[BENCH_SIDES];
    bench_samples samples;
    char name[64];
    bench_heading("Handlers in .NET, end to end");
    if (!bench_opt.dotnet) {
        bench_note("left out: --dotnet names the built bench/dotnet");
        return;
    }
    bench_note("raw: a worker in C, 4 threads");
    for (int i = 0; i < MODES; i++)
        sides[i] = (bench_side){dotnet, &modes[i]};
    sides[MODES] = (bench_side){in_c, NULL};
    bench_sample(&samples, "dotnet", sides, MODES + 1, bench_opt.rounds);
    for (int i = 0; i < MODES; i++) {
        (void)snprintf(name, sizeof name, "%s", modes[i].name);
        bench_report_pair("dotnet", name, "messages/s", &samples, i, MODES, i % 2 ? 0.5 : 0);
    }
}
