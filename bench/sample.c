/* SPDX-License-Identifier: Apache-2.0 */
/* Paired samples. A machine's speed drifts while it is measured, so the sides of a comparison take
 * turns within one run, and the ratio is the median of the ratios of each round. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double bench_quantile(double *values, int count, double q)
{
    int at;
    if (count == 0)
        return 0;
    qsort(values, (size_t)count, sizeof *values, compare);
    at = (int)(q * count);
    return values[at < count ? at : count - 1];
}

double bench_median(double *values, int count)
{
    double upper = bench_quantile(values, count, 0.5);
    return count % 2 || count == 0 ? upper : (upper + values[count / 2 - 1]) / 2;
}

void bench_sample(bench_samples *out, const char *label, const bench_side *sides, int count,
                  int rounds)
{
    if (rounds > BENCH_ROUNDS)
        rounds = BENCH_ROUNDS;
    out->rounds = rounds;
    for (int round = 0; round < rounds; round++) {
        bench_progress("%s: round %d of %d", label, round + 1, rounds);
        for (int i = 0; i < count; i++) {
            int side = (i + round) % count;
            out->values[side][round] = sides[side].run(sides[side].arg);
        }
    }
    bench_progress("%s", "");
}

double bench_samples_median(const bench_samples *samples, int side)
{
    double values[BENCH_ROUNDS];
    memcpy(values, samples->values[side], sizeof values);
    return bench_median(values, samples->rounds);
}

int bench_samples_best(const bench_samples *samples, int a, int b)
{
    return bench_samples_median(samples, a) >= bench_samples_median(samples, b) ? a : b;
}
