/* SPDX-License-Identifier: Apache-2.0 */
/* Figures: shown as they come, and kept for the JSON file. */
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

static json_t *figures;
static int met, missed;
static bool progress_shown;

void bench_progress(const char *format, ...)
{
    va_list args;
    if (!isatty(STDERR_FILENO))
        return;
    (void)fputs("\r\033[K", stderr);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fflush(stderr);
    progress_shown = true;
}

static void clear_progress(void)
{
    if (progress_shown)
        (void)fputs("\r\033[K", stderr);
    progress_shown = false;
}

void bench_heading(const char *title)
{
    clear_progress();
    (void)printf("\n%-50s %-13s %11s %11s %6s  %s\n", title, "unit", "waypost", "raw", "ratio",
                 "aim");
    (void)fflush(stdout);
}

void bench_note(const char *text)
{
    clear_progress();
    (void)printf("  (%s)\n", text);
}

/* A number with three figures or more, in groups of thousands. */
static const char *number(char out[32], double value)
{
    char digits[32];
    int len;
    int used = 0;
    if (value == 0)
        return "-";
    if (fabs(value) < 1000) {
        (void)snprintf(out, 32, fabs(value) < 10 ? "%.2f" : "%.1f", value);
        return out;
    }
    len = snprintf(digits, sizeof digits, "%.0f", value);
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

static void set_number(json_t *object, const char *key, double value)
{
    (void)json_object_set_new(object, key, value != 0 ? json_real(value) : json_null());
}

static void keep(const bench_figure *f)
{
    json_t *object = json_object();
    if (!figures)
        figures = json_array();
    (void)json_object_set_new(object, "group", json_string(f->group));
    (void)json_object_set_new(object, "name", json_string(f->name));
    (void)json_object_set_new(object, "unit", json_string(f->unit));
    set_number(object, "waypost", f->ours);
    set_number(object, "raw", f->raw);
    set_number(object, "ratio", f->ratio);
    set_number(object, "ratio_low", f->ratio_low);
    set_number(object, "ratio_high", f->ratio_high);
    (void)json_object_set_new(object, "aim", f->aim[0] ? json_string(f->aim) : json_null());
    (void)json_object_set_new(
        object, "met", f->met == BENCH_NO_AIM ? json_null() : json_boolean(f->met == BENCH_MET));
    (void)json_array_append_new(figures, object);
}

void bench_report(const bench_figure *f)
{
    char ours[32];
    char raw[32];
    char ratio[16] = "-";
    clear_progress();
    if (f->ratio != 0)
        (void)snprintf(ratio, sizeof ratio, "%.2f", f->ratio);
    (void)printf("  %-48s %-13s %11s %11s %6s  %s%s\n", f->name, f->unit, number(ours, f->ours),
                 number(raw, f->raw), ratio, f->aim,
                 f->met == BENCH_MET      ? ": met"
                 : f->met == BENCH_MISSED ? ": MISSED"
                                          : "");
    (void)fflush(stdout);
    met += f->met == BENCH_MET;
    missed += f->met == BENCH_MISSED;
    keep(f);
}

void bench_report_pair(const char *group, const char *name, const char *unit,
                       const bench_samples *samples, int ours, int raw, double aim)
{
    bench_figure f = {.group = group, .unit = unit};
    double ratios[BENCH_ROUNDS];
    (void)snprintf(f.name, sizeof f.name, "%s", name);
    for (int i = 0; i < samples->rounds; i++)
        ratios[i] = samples->values[ours][i] / samples->values[raw][i];
    f.ours = bench_samples_median(samples, ours);
    f.raw = bench_samples_median(samples, raw);
    f.ratio = bench_median(ratios, samples->rounds); /* sorts them */
    f.ratio_low = ratios[0];
    f.ratio_high = ratios[samples->rounds - 1];
    if (aim > 0) {
        (void)snprintf(f.aim, sizeof f.aim, "ratio >= %.2g", aim);
        f.met = f.ratio >= aim ? BENCH_MET : BENCH_MISSED;
    }
    bench_report(&f);
}

void bench_report_aim(const char *group, const char *name, const char *unit, double value,
                      double least, double most)
{
    bench_figure f = {.group = group, .unit = unit, .ours = value};
    char text[32];
    (void)snprintf(f.name, sizeof f.name, "%s", name);
    if (least > 0) {
        (void)snprintf(f.aim, sizeof f.aim, ">= %s", number(text, least));
        f.met = value >= least ? BENCH_MET : BENCH_MISSED;
    } else if (most > 0) {
        (void)snprintf(f.aim, sizeof f.aim, "< %s", number(text, most));
        f.met = value < most ? BENCH_MET : BENCH_MISSED;
    }
    bench_report(&f);
}

void bench_report_one(const char *group, const char *name, const char *unit, double value)
{
    bench_report_aim(group, name, unit, value, 0, 0);
}

static void write_json(void)
{
    json_t *root = json_object();
    struct utsname system;
    char date[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    (void)json_object_set_new(root, "date", json_string(date));
    (void)json_object_set_new(root, "waypost", json_string(wp_version()));
    (void)json_object_set_new(root, "sqlite", json_string(sqlite3_libversion()));
    if (uname(&system) == 0)
        (void)json_object_set_new(root, "system",
                                  json_sprintf("%s %s", system.sysname, system.machine));
    (void)json_object_set_new(root, "cores", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    (void)json_object_set_new(root, "full", json_boolean(bench_opt.full));
    (void)json_object_set_new(root, "figures", figures ? json_incref(figures) : json_array());
    if (json_dump_file(root, bench_opt.json, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) != 0)
        bench_die("%s cannot be written", bench_opt.json);
    json_decref(root);
}

void bench_report_end(void)
{
    clear_progress();
    (void)printf("\nbench: %d aims met, %d missed\n", met, missed);
    if (bench_opt.json)
        write_json();
    json_decref(figures);
    figures = NULL;
}
