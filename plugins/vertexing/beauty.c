/* SPDX-License-Identifier: Apache-2.0 */
#include "beauty.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "vertexing.collections.h"

#define DISPLACED_SIGMAS 5.0f /* candidates that count are that far from their vertex */
#define SUM_UNIT         ((float)(1u << VX_SCORE_SUM) / (float)VX_SCORE_ONE)

static float number(const uint32_t *row, uint32_t column)
{
    float f;

    memcpy(&f, &row[column], sizeof f);
    return f;
}

/* From the primary vertex of a candidate to it: of all, the one that is as far away as it flew. */
static void flight_of(const uint32_t *rows, uint32_t n_pv, const uint32_t *sv, float *ret_d)
{
    const float flight = number(sv, VX_OUT_FLIGHT);
    float best = INFINITY;

    for (uint32_t k = 0; k < n_pv; k++) {
        const uint32_t *pv = rows + (size_t)k * VX_OUT_WORDS;
        const float dx = number(sv, VX_OUT_X) - number(pv, VX_OUT_X);
        const float dy = number(sv, VX_OUT_Y) - number(pv, VX_OUT_Y);
        const float dz = number(sv, VX_OUT_Z) - number(pv, VX_OUT_Z);
        const float off = fabsf(sqrtf(dx * dx + dy * dy + dz * dz) - flight);

        if (off < best) {
            best = off;
            ret_d[0] = dx;
            ret_d[1] = dy;
            ret_d[2] = dz;
        }
    }
}

static void add_best(const uint32_t *rows, uint32_t n_pv, const uint32_t *sv, float *f)
{
    const uint32_t tracks = sv[VX_OUT_TRACKS];
    float d[3] = {0};
    float r;

    flight_of(rows, n_pv, sv, d);
    r = sqrtf(d[0] * d[0] + d[1] * d[1]);
    f[VX_B_FLIGHT] = logf(1 + number(sv, VX_OUT_FLIGHT));
    f[VX_B_RADIUS] = r;
    f[VX_B_SLOPE] = r / fmaxf(fabsf(d[2]), 0.01f);
    f[VX_B_CHI2] = number(sv, VX_OUT_CHI2) / (2.0f * (float)tracks - 3.0f);
    f[VX_B_BACKWARD] = d[2] < 0;
}

void vx_beauty_features(const uint32_t *rows, uint32_t n_pv, uint32_t n,
                        const struct vx_counts *counts, float *f)
{
    const uint32_t *best = NULL;

    memset(f, 0, VX_B_FEATURES * sizeof *f);
    for (uint32_t k = n_pv; k < n; k++) {
        const uint32_t *sv = rows + (size_t)k * VX_OUT_WORDS;
        const float s = number(sv, VX_OUT_SIGNIFICANCE), log_s = logf(1 + s);
        const uint32_t tracks = sv[VX_OUT_TRACKS];

        for (uint32_t m = 2; m <= 4 && m <= tracks; m++)
            f[VX_B_SIGNIFICANCE_2 + m - 2] = fmaxf(f[VX_B_SIGNIFICANCE_2 + m - 2], log_s);
        if (s < DISPLACED_SIGMAS)
            continue;
        f[VX_B_CANDIDATES]++;
        f[VX_B_TRACKS] = fmaxf(f[VX_B_TRACKS], (float)tracks);
        if (!best || tracks > best[VX_OUT_TRACKS] ||
            (tracks == best[VX_OUT_TRACKS] && s > number(best, VX_OUT_SIGNIFICANCE)))
            best = sv;
    }
    f[VX_B_DISPLACED] = (float)counts->n_displaced;
    f[VX_B_IP] = logf(1 + counts->ip_significance);
    f[VX_B_SELECTED] = (float)counts->n_selected;
    f[VX_B_EDGES] = (float)counts->n_edges;
    f[VX_B_PAIRS] = (float)counts->score * SUM_UNIT;
    f[VX_B_SURE] = (float)counts->sure * SUM_UNIT;
    f[VX_B_BEST] = (float)counts->best_score / (float)VX_SCORE_ONE;
    if (best)
        add_best(rows, n_pv, best, f);
}

/* ---------------------------------------------------------------- the discriminant */

#include "beauty_model.h"

/* What a tree adds. */
static float leaf_of(const uint8_t *feature, const float *threshold, const float *leaf,
                     const float *f)
{
    const uint32_t side = f[feature[0]] > threshold[0], child = 1 + side;

    return leaf[2 * side + (f[feature[child]] > threshold[child])];
}

static float by_table(const struct trg_input *table, const float *f)
{
    const struct trg_span span = table->span;
    const uint8_t *feature = TRG_B_TREES_FEATURE(table->host, span);
    const float *threshold = TRG_B_TREES_THRESHOLD(table->host, span);
    const float *leaf = TRG_B_TREES_LEAF(table->host, span);
    float sum = 0;

    for (size_t k = 0; k < span.n_items; k++)
        sum += leaf_of(feature + 3 * k, threshold + 3 * k, leaf + 4 * k, f);
    return sum;
}

float vx_beauty(const struct trg_input *table, const float *f)
{
    float sum = BEAUTY_BIAS;

    if (table->collection)
        return by_table(table, f);
    for (uint32_t k = 0; k < BEAUTY_TREES; k++)
        sum += leaf_of(beauty_trees[k].feature, beauty_trees[k].threshold, beauty_trees[k].leaf, f);
    return sum;
}
