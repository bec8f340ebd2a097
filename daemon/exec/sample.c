/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/sample.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "values.h"

#define PI 3.14159274f

/* What columns of trigd hold. */
static const struct range {
    uint32_t kind;
    const char *column;
    double low, high;
} ranges[] = {
    {TRG_SPACEPOINTS, "phi", -3.1415, 3.1415},
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
    {TRG_TRACKS, "tx", -0.3, 0.3},
    {TRG_TRACKS, "ty", -0.3, 0.3},
    {TRG_TRACKS, "var_x", 1e-4, 1e-2},
    {TRG_TRACKS, "var_tx", 1e-8, 1e-6},
    {TRG_TRACKS, "cov_x_tx", -1e-6, 1e-6},
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

/* Ordinary values of a column: the table's, or 0 to 100 as far as the declaration allows them. */
static struct range range_of(uint32_t kind, const struct trg_column *column, uint32_t max_layer)
{
    const struct values_range allowed = values_range(column, max_layer);
    struct range r = {kind, column->name, 0, 100};

    if (allowed.least > 0 || allowed.most < 100) {
        r.low = allowed.least > -100 ? allowed.least : -100;
        if (r.low > allowed.most) /* all far below */
            r.low = allowed.least > allowed.most - 200 ? allowed.least : allowed.most - 200;
        r.high = allowed.most < r.low + 200 ? allowed.most : r.low + 200;
    }
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (ranges[i].kind == kind && !strcmp(ranges[i].column, column->name))
            r = ranges[i];
    if (column->flags & TRG_COLUMN_LAYER && r.high > max_layer)
        r.high = max_layer;
    return r;
}

/* A half between low and high, of which there is one. */
static uint16_t half(uint64_t *random, double low, double high)
{
    uint16_t bits = (uint16_t)sample_random(random);

    for (uint32_t i = 0; i < 65536; i++, bits++) /* the next one that fits */
        if ((double)trg_f16_value(bits) >= low && (double)trg_f16_value(bits) <= high)
            break;
    return bits;
}

/* A value of a column of whole numbers; 0 for other columns.  Numbers of hits name hits that are
 * there. */
static uint32_t whole(const struct range *r, const struct trg_column *column, uint32_t i,
                      uint32_t n_hits, uint64_t *random)
{
    if (column->type == TRG_F32)
        return 0;
    if (column->type == TRG_F16)
        return half(random, r->low, r->high);
    if (r->kind == TRG_DOUBLETS || (r->kind == TRG_PATHS && !strncmp(column->name, "hit", 3)))
        return sample_below(random, n_hits);
    if (r->kind == TRG_HITS && !strcmp(column->name, "id"))
        return i;
    return (uint32_t)(int64_t)r->low + sample_below(random, (uint32_t)(r->high - r->low) + 1);
}

/* Value `at` of a column; whole numbers in their lowest bytes. */
static void put(void *column, uint32_t type, size_t at, float f, uint32_t u)
{
    const size_t size = trg_type_size(type);

    if (type == TRG_F32)
        memcpy(&u, &f, sizeof f);
    memcpy((unsigned char *)column + at * size, &u, size); /* little-endian */
}

static void fill_column(const struct sample *s, uint32_t kind, const struct trg_column *column,
                        uint32_t roi, uint32_t n, uint32_t n_hits, uint64_t *random, void *values)
{
    const struct range r = range_of(kind, column, s->max_layer);
    const bool one =
        roi == SAMPLE_IDENTICAL || (roi == SAMPLE_ONE_LAYER && column->flags & TRG_COLUMN_LAYER);
    float f = 0;
    uint32_t u = 0;

    for (uint32_t i = 0; i < n * column->length; i++) {
        if (!i || !one) {
            f = uniform(random, (float)r.low, (float)r.high);
            u = whole(&r, column, i, n_hits, random);
        }
        put(values, column->type, i, f, u);
    }
}

static void fill(const struct sample *s, uint32_t input, uint32_t roi, uint64_t *random)
{
    const struct trg_collection *info = kind_info(s->kind[input]);
    const struct stage_source *source = sample_source(s, input, roi);
    uint32_t n_hits = source->n;

    for (uint32_t k = 0; k < s->n_inputs; k++)
        if (s->kind[k] == TRG_HITS)
            n_hits = sample_source(s, k, roi)->n;
    for (uint32_t c = 0; c < info->n_columns; c++)
        fill_column(s, s->kind[input], &info->column[c], roi, source->n, n_hits, random,
                    (void *)source->column[c]);
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
