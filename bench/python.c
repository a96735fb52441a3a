/* SPDX-License-Identifier: Apache-2.0 */
/* End to end in Python: handlers.py is run on a database that is filled here. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { COUNT = 40000, BATCH = 100 };

typedef struct mode {
    const char *kind; /* sync or async */
    const char *threads;
    const char *cores; /* "1": pinned to one */
    const char *name;
} mode;

static double python(void *arg)
{
    const mode *self = arg;
    char count[16];
    bench_db db;
    int out = -1;
    char *text;
    double rate;
    json_t *object;
    const char *const arguments[] = {bench_opt.python, BENCH_PYTHON_SCRIPT, db.path,     count,
                                     self->kind,       self->threads,       self->cores, NULL};
    int64_t pid;
    (void)snprintf(count, sizeof count, "%d", COUNT);
    bench_db_new(&db);
    bench_load(&db, COUNT);
    pid = bench_spawn(&out, arguments);
    text = bench_collect(pid, out);
    object = json_loads(text, 0, NULL);
    rate = json_number_value(json_object_get(object, "rate"));
    if (rate <= 0)
        bench_die("handlers.py wrote: %s", text);
    json_decref(object);
    free(text);
    bench_db_drop(&db);
    return rate;
}

static double statements(void *arg)
{
    bench_db db;
    double result;
    (void)arg;
    bench_db_new(&db);
    bench_load(&db, COUNT);
    result = bench_handle_raw(db.path, COUNT, BATCH, false, false, NULL);
    bench_db_drop(&db);
    return result;
}

void bench_python(void)
{
    static mode modes[] = {
        {"sync", "1", "1", "plain handlers, 1 thread, on one core"},
        {"sync", "1", "all", "plain handlers, 1 thread"},
        {"sync", "4", "all", "plain handlers, 4 threads"},
        {"async", "1", "1", "async handlers, on one core"},
        {"async", "1", "all", "async handlers"},
    };
    bench_side sides[BENCH_SIDES];
    bench_samples samples;
    bench_heading("Handlers in Python, end to end");
    if (!bench_opt.python) {
        bench_note("left out: --python names an interpreter that has the binding");
        return;
    }
    bench_note("raw: claim 100, ack 100, in C");
    for (int i = 0; i < 5; i++)
        sides[i] = (bench_side){python, &modes[i]};
    sides[5] = (bench_side){statements, NULL};
    bench_sample(&samples, "python", sides, 6, bench_opt.rounds);
    for (int i = 0; i < 5; i++) {
        bench_figure f = {.group = "python", .unit = "messages/s"};
        (void)snprintf(f.name, sizeof f.name, "%s", modes[i].name);
        f.ours = bench_samples_median(&samples, i);
        f.raw = bench_samples_median(&samples, 5);
        f.ratio = f.ours / f.raw;
        if (i == 0) {
            (void)snprintf(f.aim, sizeof f.aim, ">= 30,000");
            f.met = f.ours >= 30000 ? BENCH_MET : BENCH_MISSED;
        }
        bench_report(&f);
    }
}
