/* SPDX-License-Identifier: Apache-2.0 */
/* How many workers there should be. No clock, no database. */
#include <math.h>
#include <stdlib.h>
#include <waypost/scaling.h>

#include "base/config_values.h"
#include "base/error.h"

/* Those that remain shall have something to spare, or the next look would want another one. */
#define HEADROOM 0.8
/* How fast the best rate of an instance is forgotten, a look at a queue that waits: handlers can become
 * slower. */
#define FADE 0.98
/* So few a second, on the average, are none. */
#define IDLE 0.001

struct wp_scaling {
    wp__scaling_options options;
    bool began;
    int64_t now_us;
    int64_t done;
    int64_t depth;
    double depth_average;
    double rate;     /* done a second, on the average */
    double arrivals; /* a second, likewise */
    double capacity; /* the best rate of one instance while there was more to do */
    double pressure;
    bool changed; /* at changed_us */
    int64_t changed_us;
};

wp_status wp_scaling_new(wp_scaling **out, const wp_config *config, wp_error **err)
{
    wp_config *copy = NULL;
    wp__scaling_options options;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__config_copy(&copy, config, err)) != WP_OK)
        return st;
    options = copy->scaling;
    wp_config_free(copy);
    if (options.min_instances > options.max_instances)
        return wp__fail(err, WP_E_CONFIG,
                        "scaling.min_instances is %lld, above scaling.max_instances, %lld",
                        (long long)options.min_instances, (long long)options.max_instances);
    if (options.down_threshold >= options.up_threshold)
        return wp__fail(err, WP_E_CONFIG,
                        "scaling.scale_down_threshold is %g, not below "
                        "scaling.scale_up_threshold, %g",
                        options.down_threshold, options.up_threshold);
    if (!(*out = calloc(1, sizeof **out)))
        return wp__fail_nomem(err);
    (*out)->options = options;
    return WP_OK;
}

void wp_scaling_free(wp_scaling *scaling)
{
    free(scaling);
}

double wp_scaling_pressure(const wp_scaling *scaling)
{
    return scaling ? scaling->pressure : 0;
}

double wp_scaling_rate(const wp_scaling *scaling)
{
    return scaling ? scaling->rate : 0;
}

static void average(double *value, double newest, double weight)
{
    *value += (newest - *value) * weight;
}

/* Take what is seen into the averages. */
static void observe(wp_scaling *s, int64_t now_us, int64_t instances, int64_t depth, int64_t done)
{
    const double weight = s->options.weight;
    const double seconds = s->began && now_us > s->now_us ? (double)(now_us - s->now_us) / 1e6 : 0;
    const int64_t more = done >= s->done ? done - s->done : done;
    if (!s->began) {
        s->depth_average = (double)depth;
    } else if (seconds > 0) {
        const double rate = (double)more / seconds;
        const double arrivals = rate + (double)(depth - s->depth) / seconds;
        average(&s->depth_average, (double)depth, weight);
        average(&s->rate, rate, weight);
        average(&s->arrivals, arrivals > 0 ? arrivals : 0, weight);
        if (s->pressure >= s->options.down_threshold && depth > 0 && instances > 0)
            s->capacity = rate / (double)instances > s->capacity * FADE ? rate / (double)instances
                                                                        : s->capacity * FADE;
    }
    if (!s->began || seconds > 0) {
        s->began = true;
        s->now_us = now_us;
        s->done = done;
        s->depth = depth;
    }
}

static int64_t within(const wp__scaling_options *o, int64_t wanted)
{
    return wanted < o->min_instances   ? o->min_instances
           : wanted > o->max_instances ? o->max_instances
                                       : wanted;
}

/* By how much the wait is longer than it may be. With nothing done yet nobody knows: one more is right. */
static double pressure_of(const wp_scaling *s)
{
    const double wait_ms = s->rate > 0            ? s->depth_average / s->rate * 1000
                           : s->depth_average > 0 ? HUGE_VAL
                                                  : 0;
    return wait_ms / (double)s->options.target_ms;
}

static int64_t more_than(const wp_scaling *s, int64_t instances)
{
    const double wanted = (double)instances * s->pressure;
    if (s->pressure == HUGE_VAL || wanted <= (double)instances + 1)
        return instances + 1;
    if (wanted >= 2 * (double)instances)
        return 2 * instances;
    return (int64_t)wanted + ((double)(int64_t)wanted < wanted);
}

/* What an instance can do is known once a queue had to wait; before that, one finds out. */
static bool could_do_with(const wp_scaling *s, int64_t instances)
{
    if (instances < 1)
        return s->depth == 0 && s->arrivals < IDLE;
    return s->capacity == 0 || s->arrivals <= s->capacity * HEADROOM * (double)instances;
}

wp_status wp_scaling_decide(int64_t *wanted, wp_scaling *scaling, int64_t now_us, int64_t instances,
                            int64_t depth, int64_t done, wp_error **err)
{
    wp_scaling *s = scaling;
    const wp__scaling_options *o;
    const bool first = s && !s->began; /* nothing is known but what waits */
    int64_t decided;
    bool cools;
    if (!wanted || !s)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", s ? "wanted" : "scaling");
    if (instances < 0 || depth < 0 || done < 0)
        return wp__fail(err, WP_E_RANGE, "%s is negative",
                        instances < 0 ? "instances"
                        : depth < 0   ? "depth"
                                      : "done");
    o = &s->options;
    observe(s, now_us, instances, depth, done);
    s->pressure = pressure_of(s);
    cools = s->changed && s->now_us - s->changed_us < o->cooldown_ms * 1000;
    decided = within(o, instances == 0 && depth > 0 ? 1 : instances);
    if (decided == instances && !cools && !first) {
        if (s->pressure > o->up_threshold)
            decided = more_than(s, instances);
        else if (s->pressure < o->down_threshold && could_do_with(s, instances - 1))
            decided = instances - 1;
        decided = within(o, decided);
        if (decided != instances) {
            s->changed = true;
            s->changed_us = s->now_us;
        }
    }
    *wanted = decided;
    return WP_OK;
}
