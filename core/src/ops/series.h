/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of metrics, written as Prometheus text and as JSON at once. */
#ifndef WP__SERIES_H
#define WP__SERIES_H

#include <jansson.h>

#include "base/buf.h"
#include "worker/tally.h"

typedef enum wp__metric_kind { WP__COUNTER, WP__GAUGE, WP__HISTOGRAM } wp__metric_kind;

typedef struct wp__family {
    const char *name;
    wp__metric_kind kind;
    const char *help; /* without a backslash or a line's end */
} wp__family;

/* NULL: the sample has no such label. */
typedef struct wp__labels {
    const char *store, *queue, *topic;
} wp__labels;

typedef struct wp__series {
    wp__buf text;
    json_t *samples;
    const wp__family *family; /* whose samples come now */
    bool failed;
} wp__series;

wp_status wp__series_init(wp__series *series, wp_error **err);
void wp__series_free(wp__series *series);
/* Samples of a family must come one after the other. */
void wp__series_add(wp__series *series, const wp__family *family, const wp__labels *labels,
                    double value);
/* Of a family that is a histogram. */
void wp__series_add_histogram(wp__series *series, const wp__family *family,
                              const wp__labels *labels, const wp__histogram *histogram);

#endif
