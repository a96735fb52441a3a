/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/series.h"

#include <stdio.h>
#include <string.h>

wp_status wp__series_init(wp__series *series, wp_error **err)
{
    *series = (wp__series){.samples = json_array()};
    return series->samples ? WP_OK : wp__fail_nomem(err);
}

void wp__series_free(wp__series *series)
{
    wp__buf_free(&series->text);
    json_decref(series->samples);
    *series = (wp__series){0};
}

static const char *kind_name(wp__metric_kind kind)
{
    static const char *const names[] = {"counter", "gauge", "histogram"};
    return names[kind];
}

static void begin(wp__series *series, const wp__family *family)
{
    if (series->family == family)
        return;
    series->family = family;
    wp__buf_fmt(&series->text, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help,
                family->name, kind_name(family->kind));
}

/* A label's value in quotes, with what the format wants to be escaped. */
static void add_quoted(wp__buf *text, const char *value)
{
    wp__buf_text(text, "\"");
    while (*value) {
        const size_t plain = strcspn(value, "\\\"\n");
        wp__buf_add(text, value, plain);
        value += plain;
        if (*value)
            wp__buf_text(text, *value == '\n' ? "\\n" : *value == '"' ? "\\\"" : "\\\\");
        value += *value != '\0';
    }
    wp__buf_text(text, "\"");
}

static void add_label(wp__buf *text, json_t *json, size_t *count, const char *name,
                      const char *value)
{
    if (!value)
        return;
    wp__buf_text(text, (*count)++ ? "," : "{");
    wp__buf_text(text, name);
    wp__buf_text(text, "=");
    add_quoted(text, value);
    (void)json_object_set_new(json, name, json_string(value));
}

/* `le` NULL: no bucket. */
static void add_sample(wp__series *series, const wp__family *family, const char *suffix,
                       const wp__labels *labels, const char *le, double value)
{
    json_t *json = json_object(), *own = json_object();
    char name[128], number[40];
    size_t count = 0;
    begin(series, family);
    (void)snprintf(name, sizeof name, "%s%s", family->name, suffix);
    (void)snprintf(number, sizeof number, "%.15g", value);
    wp__buf_text(&series->text, name);
    add_label(&series->text, own, &count, "store", labels->store);
    add_label(&series->text, own, &count, "queue", labels->queue);
    add_label(&series->text, own, &count, "topic", labels->topic);
    add_label(&series->text, own, &count, "le", le);
    wp__buf_text(&series->text, count ? "} " : " ");
    wp__buf_text(&series->text, number);
    wp__buf_text(&series->text, "\n");
    if (json_object_set_new(json, "name", json_string(name)) != 0 ||
        json_object_set_new(json, "kind", json_string(kind_name(family->kind))) != 0 ||
        json_object_set(json, "labels", own) != 0 ||
        json_object_set_new(json, "value", json_real(value)) != 0 ||
        json_array_append(series->samples, json) != 0)
        series->failed = true;
    json_decref(own);
    json_decref(json);
}

void wp__series_add(wp__series *series, const wp__family *family, const wp__labels *labels,
                    double value)
{
    add_sample(series, family, "", labels, NULL, value);
}

void wp__series_add_histogram(wp__series *series, const wp__family *family,
                              const wp__labels *labels, const wp__histogram *histogram)
{
    static const int64_t bounds[WP__BUCKETS] = WP__BUCKETS_US;
    const int64_t sum_us = atomic_load_explicit(&histogram->sum_us, memory_order_relaxed);
    int64_t count = 0;
    char le[32];
    for (size_t i = 0; i <= WP__BUCKETS; i++) {
        count += atomic_load_explicit(&histogram->buckets[i], memory_order_relaxed);
        if (i < WP__BUCKETS)
            (void)snprintf(le, sizeof le, "%g", (double)bounds[i] / 1e6);
        add_sample(series, family, "_bucket", labels, i < WP__BUCKETS ? le : "+Inf", (double)count);
    }
    add_sample(series, family, "_sum", labels, NULL, (double)sum_us / 1e6);
    add_sample(series, family, "_count", labels, NULL, (double)count);
}
