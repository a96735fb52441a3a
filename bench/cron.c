/* SPDX-License-Identifier: Apache-2.0 */
/* The next occurrence of an expression in a zone, again and again from the last one on, beside Cronos. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { OCCURRENCES = 200000 };
#define START_US INT64_C(1800000000000000) /* 2027-01-15T08:00:00Z */

typedef struct expression {
    const char *text, *zone;
} expression;

static double ours(void *arg)
{
    const expression *e = arg;
    wp_schedule *schedule = NULL;
    wp_error *err = NULL;
    int64_t at = START_US;
    int64_t started;
    bench_ok(wp_schedule_new(&schedule, e->text, e->zone, NULL, &err), &err, "schedule");
    started = bench_now_us();
    for (int i = 0; i < OCCURRENCES; i++)
        if (wp_schedule_next(&at, schedule, at, NULL) != WP_OK)
            at = START_US; /* the end of 9999 */
    started = bench_now_us() - started;
    wp_schedule_free(schedule);
    return OCCURRENCES * 1e6 / (double)started;
}

static double cronos(void *arg)
{
    const expression *e = arg;
    char count[16];
    const char *const command[] = {"dotnet", bench_opt.cronos, e->text, e->zone, count, NULL};
    int out = -1;
    int64_t pid;
    char *text;
    double rate;
    (void)snprintf(count, sizeof count, "%d", OCCURRENCES);
    pid = bench_spawn(&out, command);
    text = bench_collect(pid, out);
    rate = strtod(text, NULL);
    free(text);
    return rate;
}

/* Read an expression, with its zone from the files. */
static double reading(void *arg)
{
    enum { COUNT = 2000 };
    const expression *e = arg;
    int64_t started = bench_now_us();
    for (int i = 0; i < COUNT; i++) {
        wp_schedule *schedule = NULL;
        wp_error *err = NULL;
        bench_ok(wp_schedule_new(&schedule, e->text, e->zone, NULL, &err), &err, "schedule");
        wp_schedule_free(schedule);
    }
    return COUNT * 1e6 / (double)(bench_now_us() - started);
}

void bench_cron(void)
{
    static expression list[] = {{"* * * * *", "UTC"},
                                {"*/5 * * * * *", "America/New_York"},
                                {"30 2 * * *", "Europe/Berlin"},
                                {"0 9 * * MON-FRI", "Europe/Berlin"},
                                {"0 0 L * *", "Australia/Lord_Howe"},
                                {"0 0 29 2 *", "UTC"}};
    bench_heading("Next occurrences");
    bench_note(bench_opt.cronos ? "raw: Cronos on .NET, in a process of its own, after a warm-up"
                                : "there is no .NET for Cronos");
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        const bench_side sides[] = {{ours, &list[i]}, {cronos, &list[i]}, {reading, &list[i]}};
        bench_samples samples;
        char name[64];
        (void)snprintf(name, sizeof name, "%s, %s", list[i].text, list[i].zone);
        bench_sample(&samples, name, sides, bench_opt.cronos ? 2 : 1, bench_opt.rounds);
        if (bench_opt.cronos)
            bench_report_pair("cron", name, "1/s", &samples, 0, 1, 0);
        else
            bench_report_one("cron", name, "1/s", bench_samples_median(&samples, 0));
    }
    bench_report_one("cron", "read from text, with its zone's file", "1/s", reading(&list[2]));
    bench_report_one("cron", "read from text, in UTC", "1/s", reading(&list[0]));
}
