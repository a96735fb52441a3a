/* SPDX-License-Identifier: Apache-2.0 */
/* The benchmarks: ./dev bench [NAME...] [--full] [--rounds N] [--json FILE]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

bench_options bench_opt = {.rounds = 5};

static const struct {
    const char *name;
    void (*run)(void);
    const char *what;
} benchmarks[] = {
    {"enqueue", bench_enqueue, "one message a transaction, and a hundred"},
    {"claim", bench_claim, "claim and ack by hand, in batches of 1 to 500"},
    {"inbox", bench_inbox, "checks, messages enqueued and handled, and process-once"},
    {"leases", bench_leases, "acquire, renew, release; 10,000 that are held"},
    {"joins", bench_joins, "10,000 members of a join, beside messages of none"},
    {"handlers", bench_handlers, "a worker in C, end to end"},
    {"python", bench_python, "a worker in Python, end to end"},
    {"dotnet", bench_dotnet, "a worker in .NET, end to end"},
    {"go", bench_go, "a worker in Go, end to end"},
    {"timers", bench_timers, "100,000 timers that are due, and how punctual they are"},
    {"jobs", bench_jobs, "10,000 recurring jobs: runs a second, and how late they are"},
    {"cron", bench_cron, "the next occurrence of an expression, beside Cronos"},
    {"latency", bench_latency, "from the commit to the handler"},
    {"finished", bench_finished, "finished messages that are kept"},
    {"cleanup", bench_cleanup, "finished messages that are removed meanwhile"},
    {"backlog", bench_backlog, "200,000 messages that wait"},
    {"reader", bench_reader, "a reader that holds up the write-ahead log"},
    {"memory", bench_memory, "peak memory under load"},
    {"postgresql-enqueue", bench_pg_enqueue, "one by one, and 100 a transaction"},
    {"postgresql-handlers", bench_pg_handlers, "end to end; --peers: beside other job queues"},
    {"postgresql-languages", bench_pg_languages, "workers in Python, .NET and Go, beside one in C"},
    {"postgresql-latency", bench_pg_latency, "from the commit to the handler; --peers too"},
    {"postgresql-snapshot", bench_pg_snapshot, "while an old snapshot is held"},
    {"postgresql-timers", bench_pg_timers, "due at once, and how punctual they are"},
    {"postgresql-jobs", bench_pg_jobs, "10,000 recurring jobs"},
    {"mariadb-timers", bench_maria_timers, "due at once, and how punctual they are"},
    {"mariadb-jobs", bench_maria_jobs, "10,000 recurring jobs"},
    {"mariadb-enqueue", bench_maria_enqueue, "one by one, and 100 a transaction"},
    {"mariadb-handlers", bench_maria_handlers, "end to end"},
    {"mariadb-keys", bench_maria_keys, "dedup checks and leases"},
    {"sqlserver-enqueue", bench_mssql_enqueue, "one by one, and 100 a transaction"},
    {"sqlserver-handlers", bench_mssql_handlers, "end to end"},
    {"sqlserver-keys", bench_mssql_keys, "dedup checks and leases"},
    {"stores", bench_stores, "200 files and 50 schemas in one worker, and 1,000 files"},
    {"idle", bench_idle, "what a worker costs that has nothing to do"},
};
enum { BENCHMARKS = sizeof benchmarks / sizeof benchmarks[0] };

static const struct {
    const char *name;
    int (*run)(char **arguments);
    int arguments;
} children[] = {{"latency", bench_child_latency, 4},
                {"memory", bench_child_memory, 2},
                {"idle", bench_child_idle, 3},
                {"stores", bench_child_stores, 4}};

static int run_child(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof children / sizeof children[0]; i++)
        if (argc >= 1 && strcmp(argv[0], children[i].name) == 0 &&
            argc - 1 == children[i].arguments)
            return children[i].run(argv + 1);
    return 2;
}

static int usage(FILE *file)
{
    (void)fputs(
        "waypost_bench [NAME...] [--full] [--rounds N] [--json FILE] [--python PROGRAM]\n"
        "              [--dotnet HANDLERS.DLL] [--go PROGRAM] [--cronos DLL] [--peers DIRECTORY]\n"
        "\n"
        "  --full      1,000,000 finished messages, more samples of latency, half a minute idle\n"
        "  --rounds N  take N samples of each figure (1 to 50), 5 by default\n"
        "  --json FILE write the figures to a file too\n"
        "\n",
        file);
    for (size_t i = 0; i < BENCHMARKS; i++)
        (void)fprintf(file, "  %-19s %s\n", benchmarks[i].name, benchmarks[i].what);
    return file == stdout ? 0 : 2;
}

/* Choose the benchmark of this name, or all of a group: "postgresql". False: there is none. */
static bool choose(const char *name, bool chosen[BENCHMARKS])
{
    const size_t len = strlen(name);
    bool any = false;
    for (int i = 0; i < BENCHMARKS; i++) {
        const char *end = benchmarks[i].name + len;
        if (strncmp(benchmarks[i].name, name, len) == 0 && (*end == '\0' || *end == '-'))
            any = chosen[i] = true;
    }
    return any;
}

/* The options; `chosen` gets the benchmarks that are named. 0: go on; else leave with status - 1. */
static int read_options(int argc, char **argv, bool chosen[BENCHMARKS])
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (choose(argv[i], chosen))
            continue;
        if (strcmp(argv[i], "--full") == 0) {
            bench_opt.full = true;
        } else if (strcmp(argv[i], "--help") == 0) {
            return usage(stdout) + 1;
        } else if (value && strcmp(argv[i], "--rounds") == 0) {
            bench_opt.rounds = (int)strtol(argv[++i], NULL, 10);
        } else if (value && strcmp(argv[i], "--json") == 0) {
            bench_opt.json = argv[++i];
        } else if (value && strcmp(argv[i], "--python") == 0) {
            bench_opt.python = argv[++i];
        } else if (value && strcmp(argv[i], "--dotnet") == 0) {
            bench_opt.dotnet = argv[++i];
        } else if (value && strcmp(argv[i], "--go") == 0) {
            bench_opt.go = argv[++i];
        } else if (value && strcmp(argv[i], "--cronos") == 0) {
            bench_opt.cronos = argv[++i];
        } else if (value && strcmp(argv[i], "--peers") == 0) {
            bench_opt.peers = argv[++i];
        } else {
            (void)fprintf(stderr, "bench: neither a benchmark nor an option: %s\n\n", argv[i]);
            return usage(stderr) + 1;
        }
    }
    return bench_opt.rounds < 1 || bench_opt.rounds > BENCH_ROUNDS ? usage(stderr) + 1 : 0;
}

int main(int argc, char **argv)
{
    bool chosen[BENCHMARKS] = {false};
    bool any = false;
    int64_t started = bench_now_us();
    int status;
    if (argc > 1 && strcmp(argv[1], "--child") == 0)
        return run_child(argc - 2, argv + 2);
    if ((status = read_options(argc, argv, chosen)) != 0)
        return status - 1;
    for (int i = 0; i < BENCHMARKS; i++)
        any = any || chosen[i];
    bench_dir_make();
    (void)printf("Waypost %s, SQLite %s: medians of %d rounds, in which the sides take turns\n",
                 wp_version(), sqlite3_libversion(), bench_opt.rounds);
    for (int i = 0; i < BENCHMARKS; i++)
        if (!any || chosen[i])
            benchmarks[i].run();
    bench_report_end();
    bench_dir_remove();
    (void)printf("bench: took %.0f s\n", (double)(bench_now_us() - started) / 1e6);
    return 0;
}
