/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/sample.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159274f

/* What columns hold.  A column that is not listed lies between 0 and 100. */
static const struct range {
    uint32_t kind;
    const char *column;
    float low, high;
} ranges[] = {
    {TRG_SPACEPOINTS, "phi", -PI, PI},
    {TRG_SPACEPOINTS, "rho", 30, 1100},
    {TRG_SPACEPOINTS, "z", -1000, 1000},
    {TRG_SPACEPOINTS, "layer", 0, 19},
    {TRG_HITS, "x", -50, 50},
    {TRG_HITS, "y", -50, 50},
    {TRG_HITS, "z", -300, 1000},
    {TRG_HITS, "layer", 0, 25},
    {TRG_TRACKS, "x", -2, 2},
    {TRG_TRACKS, "y", -2, 2},
    {TRG_TRACKS, "z", -200, 200},
    {TRG_TRACKS, "tx", -0.3f, 0.3f},
    {TRG_TRACKS, "ty", -0.3f, 0.3f},
    {TRG_TRACKS, "var_x", 1e-4f, 1e-2f},
    {TRG_TRACKS, "var_tx", 1e-8f, 1e-6f},
    {TRG_TRACKS, "cov_x_tx", -1e-6f, 1e-6f},
    {TRG_TRACKS, "chi2", 0, 50},
    {TRG_TRACKS, "qop", -2, 2},
    {TRG_TRACKS, "n_hits", 3, 30},
    {TRG_VERTICES, "x", -2, 2},
    {TRG_VERTICES, "y", -2, 2},
    {TRG_VERTICES, "z", -200, 200},
    {TRG_VERTICES, "weight", 0, 1000},
    {TRG_VERTICES, "type", 0, 1},
    {TRG_PATHS, "n_hits", 3, 9},
    {TRG_VOXELS, "value", 0, 1},
};

const char *sample_case_name(enum sample_case c)
{
    static const char *const names[] = {"an empty RoI", "an RoI of one item",
                                        "an RoI with all items on one layer",
                                        "an RoI of identical items", "the largest RoI"};

    return names[c];
}

static float uniform(uint64_t *random, float low, float high)
{
    float u = (float)(sample_random(random) >> 40) * 0x1p-24f; /* [0, 1) */
    float v = low + u * (high - low);

    return v > high ? high : v;
}

static struct range range_of(uint32_t kind, const char *column, uint32_t max_layer)
{
    struct range r = {kind, column, 0, 100};

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (ranges[i].kind == kind && !strcmp(ranges[i].column, column))
            r = ranges[i];
    if (!strcmp(column, "layer") && r.high > (float)max_layer)
        r.high = (float)max_layer;
    return r;
}

static void put(void *column, enum trg_type type, uint32_t i, float f, uint32_t u)
{
    if (type == TRG_F32)
        memcpy((float *)column + i, &f, sizeof f);
    else if (type == TRG_U8)
        ((uint8_t *)column)[i] = (uint8_t)u;
    else if (type == TRG_U16)
        ((uint16_t *)column)[i] = (uint16_t)u;
    else
        memcpy((uint32_t *)column + i, &u, sizeof u);
}

/* A value of a column of whole numbers; 0 for other columns.  Numbers of hits name hits that are
 * there. */
static uint32_t whole(const struct range *r, const struct trg_column *column, uint32_t i,
                      uint32_t n_hits, uint64_t *random)
{
    if (column->type == TRG_F32)
        return 0;
    if (r->kind == TRG_DOUBLETS || !strncmp(column->name, "hit", 3))
        return sample_below(random, n_hits);
    if (!strcmp(column->name, "id"))
        return i;
    return (uint32_t)r->low + sample_below(random, (uint32_t)(r->high - r->low) + 1);
}

static void fill(const struct sample *s, uint32_t input, uint32_t roi, uint64_t *random)
{
    const struct trg_collection *info = kind_info(s->kind[input]);
    const struct stage_source *source = sample_source(s, input, roi);
    uint32_t n_hits = source->n;

    for (uint32_t k = 0; k < s->n_inputs; k++)
        if (s->kind[k] == TRG_HITS)
            n_hits = sample_source(s, k, roi)->n;
    for (uint32_t c = 0; c < info->n_columns; c++) {
        const struct trg_column *column = &info->column[c];
        struct range r = range_of(s->kind[input], column->name, s->max_layer);
        bool one =
            roi == SAMPLE_IDENTICAL || (roi == SAMPLE_ONE_LAYER && !strcmp(column->name, "layer"));
        float f = 0;
        uint32_t u = 0;

        for (uint32_t i = 0; i < source->n; i++) {
            if (!i || !one) {
                f = uniform(random, r.low, r.high);
                u = whole(&r, column, i, n_hits, random);
            }
            put((void *)source->column[c], column->type, i, f, u);
        }
    }
}

/* A window around a random direction: a small one, one at the seam of phi, or the full circle. */
static struct trg_roi_info make_info(uint32_t i, uint64_t *random)
{
    bool full = i < SAMPLE_CASES || i % 4 == 0;
    float phi = i % 4 == 1 ? PI : uniform(random, -PI, PI);

    return (struct trg_roi_info){.run = 1,
                                 .l1id = i + 1,
                                 .roi_id = i,
                                 .bcid = sample_below(random, 3564),
                                 .lumi_block = 1,
                                 .l1_bits = (uint32_t)sample_random(random),
                                 .eta = full ? 0 : uniform(random, -2.5f, 2.5f),
                                 .phi_rad = full ? 0 : phi,
                                 .eta_half = full ? 2.5f : 0.2f,
                                 .phi_half_rad = full ? PI : uniform(random, 0.1f, 0.8f),
                                 .z_min_mm = -250,
                                 .z_max_mm = 250};
}

static uint32_t items_of(uint32_t roi, uint32_t max_items, uint64_t *random)
{
    const uint32_t edge[SAMPLE_CASES] = {0, 1, max_items / 4, max_items / 8, max_items};

    if (roi < SAMPLE_CASES)
        return edge[roi];
    if (roi % 7 == 0)
        return sample_below(random, 4); /* few items are where indices go wrong */
    return sample_below(random, max_items / 4 + 1);
}

/* Gives every column its place; the first walk, without memory, says how much is needed. */
static size_t place(struct sample *s)
{
    size_t at = 0;

    for (uint32_t k = 0; k < s->n_inputs; k++) {
        const struct trg_collection *info = kind_info(s->kind[k]);

        for (uint32_t i = 0; i < s->n; i++) {
            struct stage_source *source = &s->source[k * s->n + i];

            for (uint32_t c = 0; c < info->n_columns; c++) {
                source->column[c] = s->data ? s->data + at : NULL;
                at += (source->n * trg_column_bytes(&info->column[c]) + 15) & ~(size_t)15;
            }
        }
    }
    return at;
}

static void set_sizes(struct sample *s, uint32_t max_items, uint64_t *random)
{
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t n = items_of(i, max_items, random);
        bool no_hits = n == 0;

        for (uint32_t k = 0; k < s->n_inputs; k++)
            s->source[k * s->n + i].n =
                i < SAMPLE_CASES || no_hits ? n : 1 + sample_below(random, n);
    }
}

int sample_new(const struct sample_setup *setup, struct sample **ret_sample)
{
    struct sample *s = calloc(1, sizeof *s);
    uint64_t random = setup->seed;

    if (!s)
        return -ENOMEM;
    s->n = SAMPLE_CASES + setup->n_random;
    s->n_inputs = setup->n_inputs;
    s->max_layer = setup->max_layer;
    memcpy(s->kind, setup->kinds, s->n_inputs * sizeof *s->kind);
    s->info = calloc(s->n, sizeof *s->info);
    s->source = calloc((size_t)s->n * s->n_inputs, sizeof *s->source);
    if (s->info && s->source) {
        set_sizes(s, setup->max_items, &random);
        s->data = malloc(place(s) + 1);
    }
    if (!s->data) {
        sample_free(s);
        return -ENOMEM;
    }
    place(s);
    for (uint32_t i = 0; i < s->n; i++) {
        s->info[i] = make_info(i, &random);
        for (uint32_t k = 0; k < s->n_inputs; k++)
            fill(s, k, i, &random);
    }
    *ret_sample = s;
    return 0;
}

void sample_free(struct sample *s)
{
    if (!s)
        return;
    free(s->info);
    free(s->source);
    free(s->data);
    free(s);
}
