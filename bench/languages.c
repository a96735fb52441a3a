/* SPDX-License-Identifier: Apache-2.0 */
/* End to end in Python, .NET and Go: a program of each (handlers.py, dotnet/, go/) handles what is put
 * into a database here, beside a worker in C; on SQLite and on PostgreSQL. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench_pg.h"

enum { MODES = 5, ARGUMENTS = 3 };

typedef struct mode {
    const char *name;
    const char *kind; /* sync or async */
    const char *threads;
    const char *cores; /* "1": pinned to one */
    double ratio;      /* the aim, beside C; 0: none */
    double rate;       /* messages a second to aim at; 0: none */
} mode;

typedef struct language {
    const char *group, *title, *missing;
    size_t count; /* enough for a compiler to have its warm-up within */
    mode modes[MODES];
    const char *command[ARGUMENTS]; /* set when the options are known; ends with NULL */
    bool server;                    /* on PostgreSQL */
} language;

static language languages[] = {
    {.group = "python",
     .title = "Handlers in Python, end to end",
     .missing = "left out: --python names an interpreter that has the binding",
     .count = 40000,
     .modes = {{"plain handlers, 1 thread, on one core", "sync", "1", "1", 0, 30000},
               {"plain handlers, 1 thread", "sync", "1", "all", 0.5, 0},
               {"plain handlers, 4 threads", "sync", "4", "all", 0, 0},
               {"async handlers, on one core", "async", "1", "1", 0, 0},
               {"async handlers", "async", "1", "all", 0, 0}}},
    {.group = "dotnet",
     .title = "Handlers in .NET, end to end",
     .missing = "left out: --dotnet names the built bench/dotnet",
     .count = 100000,
     .modes = {{"plain handlers, 1 thread", "sync", "1", "all", 0, 0},
               {"plain handlers", "sync", "16", "all", 0.5, 0},
               {"async handlers, 1 thread", "async", "1", "all", 0, 0},
               {"async handlers", "async", "16", "all", 0.5, 0}}},
    {.group = "go",
     .title = "Handlers in Go, end to end",
     .missing = "left out: --go names the built bench/go",
     .count = 100000,
     .modes = {{"handlers, GOMAXPROCS 1", "sync", "1", "all", 0, 0},
               {"handlers", "sync", "0", "all", 0.5, 0}}},
};
enum { PYTHON, DOTNET, GO };

typedef struct side {
    const language *language;
    const mode *mode;
} side;

/* A database that has all messages. */
static void loaded(const language *l, bench_db *db)
{
    if (!l->server) {
        bench_db_new(db);
        bench_load(db, l->count);
        return;
    }
    bench_pg_db_new(db);
    bench_load(db, l->count);
    bench_pg_settle(db->path);
}

static void drop(const language *l, bench_db *db)
{
    if (l->server)
        bench_pg_db_drop(db);
    else
        bench_db_drop(db);
}

static double in_the_language(void *arg)
{
    const side *self = arg;
    const language *l = self->language;
    const char *arguments[ARGUMENTS + 6];
    char count[16];
    char url[BENCH_PATH + sizeof "sqlite:"];
    bench_db db;
    int out = -1;
    size_t n = 0;
    int64_t pid;
    char *text;
    json_t *object;
    double rate;
    loaded(l, &db);
    (void)snprintf(count, sizeof count, "%zu", l->count);
    (void)snprintf(url, sizeof url, "%s%s", l->server ? "" : "sqlite:", db.path);
    while (l->command[n]) {
        arguments[n] = l->command[n];
        n++;
    }
    arguments[n++] = url;
    arguments[n++] = count;
    arguments[n++] = self->mode->kind;
    arguments[n++] = self->mode->threads;
    arguments[n++] = self->mode->cores;
    arguments[n] = NULL;
    pid = bench_spawn(&out, arguments);
    text = bench_collect(pid, out);
    object = json_loads(text, 0, NULL);
    rate = json_number_value(json_object_get(object, "rate"));
    if (rate <= 0)
        bench_die("the worker of %s wrote: %s", l->group, text);
    json_decref(object);
    free(text);
    drop(l, &db);
    return rate;
}

static double in_c(void *arg)
{
    const language *l = arg;
    bench_db db;
    double result;
    loaded(l, &db);
    result = bench_handle(db.store, l->count, 4, NULL);
    drop(l, &db);
    return result;
}

/* Which modes: on PostgreSQL those that have an aim beside C. */
static bool measured(const language *l, const mode *m)
{
    return m->name && (!l->server || m->ratio > 0);
}

static void bench_language(language *l)
{
    side ours[MODES];
    bench_side sides[BENCH_SIDES];
    bench_samples samples;
    const char *group = l->server ? "postgresql languages" : l->group;
    char name[96];
    int count = 0;
    if (!l->command[0]) {
        bench_note(l->missing);
        return;
    }
    for (int i = 0; i < MODES; i++)
        if (measured(l, &l->modes[i])) {
            ours[count] = (side){l, &l->modes[i]};
            sides[count] = (bench_side){in_the_language, &ours[count]};
            count++;
        }
    sides[count] = (bench_side){in_c, l};
    bench_sample(&samples, l->group, sides, count + 1, bench_opt.rounds);
    for (int i = 0; i < count; i++) {
        const mode *m = ours[i].mode;
        (void)snprintf(name, sizeof name, "%s%s%s", l->server ? l->group : "",
                       l->server ? ": " : "", m->name);
        bench_report_pair(group, name, "messages/s", &samples, i, count, m->ratio);
        if (m->rate > 0)
            bench_report_aim(group, "the same, by itself", "messages/s",
                             bench_samples_median(&samples, i), m->rate, 0);
    }
}

static void on_sqlite(language *l)
{
    bench_heading(l->title);
    bench_note("raw: a worker in C, 4 threads");
    bench_language(l);
}

/* The commands, from the options. */
static void prepare(bool server)
{
    languages[PYTHON].command[0] = bench_opt.python;
    languages[PYTHON].command[1] = BENCH_PYTHON_SCRIPT;
    languages[DOTNET].command[0] = bench_opt.dotnet ? "dotnet" : NULL;
    languages[DOTNET].command[1] = bench_opt.dotnet;
    languages[GO].command[0] = bench_opt.go;
    for (int i = PYTHON; i <= GO; i++)
        languages[i].server = server;
}

void bench_python(void)
{
    prepare(false);
    on_sqlite(&languages[PYTHON]);
}

void bench_dotnet(void)
{
    prepare(false);
    on_sqlite(&languages[DOTNET]);
}

void bench_go(void)
{
    prepare(false);
    on_sqlite(&languages[GO]);
}

void bench_pg_languages(void)
{
    if (!bench_pg_heading("PostgreSQL: handlers in Python, .NET and Go"))
        return;
    bench_note("raw: a worker in C, 4 threads");
    prepare(true);
    for (int i = PYTHON; i <= GO; i++)
        bench_language(&languages[i]);
}
