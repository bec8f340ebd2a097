/* SPDX-License-Identifier: Apache-2.0 */
#include "parameters.h"

#include <errno.h>
#include <stdio.h>

#define AT(member) offsetof(struct doublets_config, member)

/* Row k of the pairs: its roads. */
#define PAIR(k, inner, outer, phi)                                                                \
    {"phi_" #inner "_" #outer "_rad",                                                             \
     TRG_PARAM_F32,                                                                               \
     AT(phi_rad[k]),                                                                              \
     phi,                                                                                         \
     0,                                                                                           \
     1.5,                                                                                         \
     "rad",                                                                                       \
     NULL,                                                                                        \
     "layers " #inner " to " #outer ": largest difference in phi; 0: the pair is not used"},      \
    {                                                                                             \
        "dz_" #inner "_" #outer "_mm", TRG_PARAM_F32, AT(dz_mm[k]), "1000", 0, 10000, "mm", NULL, \
            "layers " #inner " to " #outer ": largest difference in z"                            \
    }

/* The pairs, in the order of their rows below. */
static const struct {
    uint32_t inner, outer;
} pairs[DBT_PAIRS_MAX] = {{0, 1}, {1, 2}, {2, 3}, {0, 4}, {1, 4}, {2, 4}, {4, 5},
                          {5, 6}, {0, 7}, {1, 7}, {2, 7}, {7, 8}, {8, 9}, {0, 2},
                          {1, 3}, {0, 5}, {4, 6}, {0, 8}, {7, 9}};

const struct trg_param doublets_params[] = {
    {"pt_min_gev", TRG_PARAM_F32, AT(pt_min_gev), "0.5", 0, 100, "GeV", NULL,
     "the softest track: the circle through the beam line and both hits is not smaller"},
    {"field_t", TRG_PARAM_F32, AT(field_t), "3.8", 0.1, 20, "T", NULL, "magnetic field along z"},
    {"beam_x_mm", TRG_PARAM_F32, AT(beam_x_mm), "0", -20, 20, "mm", NULL, "the beam line's x"},
    {"beam_y_mm", TRG_PARAM_F32, AT(beam_y_mm), "0", -20, 20, "mm", NULL, "the beam line's y"},
    {"beam_z_mm", TRG_PARAM_F32, AT(beam_z_mm), "0", -500, 500, "mm", NULL,
     "middle of the window on the beam line"},
    {"beam_half_mm", TRG_PARAM_F32, AT(beam_half_mm), "120", 0.1, 1000, "mm", NULL,
     "half length of the window on the beam line through which doublets pass"},
    {"crossed", TRG_PARAM_U32, AT(crossed), "1", 0, DBT_BARREL, "", NULL,
     "layers of the barrel that a doublet to a disc may cross without a hit on them; 4: all"},
    {"barrel_half_mm", TRG_PARAM_F32, AT(barrel_half_mm), "268", 0, 10000, "mm", NULL,
     "for crossed: half length of the barrel, a little less than it is"},
    {"radius_1_mm", TRG_PARAM_F32, AT(layer_mm[1]), "68", 0, 10000, "mm", NULL,
     "for crossed: radius of layer 1"},
    {"radius_2_mm", TRG_PARAM_F32, AT(layer_mm[2]), "109", 0, 10000, "mm", NULL,
     "for crossed: radius of layer 2"},
    {"radius_3_mm", TRG_PARAM_F32, AT(layer_mm[3]), "160", 0, 10000, "mm", NULL,
     "for crossed: radius of layer 3"},
    {"search", TRG_PARAM_CHOICE, AT(search), "windows", 0, 0, "", "windows|trees",
     "how pairs are found: windows of phi or k-d trees; the same doublets, windows are faster"},
    {"max_doublets", TRG_PARAM_U32, AT(max_doublets), "1048576", 1, 16777216, "", NULL,
     "doublets of one RoI at most; those of the first hits are kept"},
    {"max_per_hit", TRG_PARAM_U32, AT(max_per_hit), "40", 1, 256, "", NULL,
     "and at most this many times the RoI's hits: what memory is reserved for"},
    PAIR(0, 0, 1, "0.05"),
    PAIR(1, 1, 2, "0.055"),
    PAIR(2, 2, 3, "0.068"),
    PAIR(3, 0, 4, "0.16"),
    PAIR(4, 1, 4, "0.115"),
    PAIR(5, 2, 4, "0.068"),
    PAIR(6, 4, 5, "0.06"),
    PAIR(7, 5, 6, "0.06"),
    PAIR(8, 0, 7, "0.16"),
    PAIR(9, 1, 7, "0.115"),
    PAIR(10, 2, 7, "0.068"),
    PAIR(11, 7, 8, "0.06"),
    PAIR(12, 8, 9, "0.06"),
    PAIR(13, 0, 2, "0"),
    PAIR(14, 1, 3, "0"),
    PAIR(15, 0, 5, "0"),
    PAIR(16, 4, 6, "0"),
    PAIR(17, 0, 8, "0"),
    PAIR(18, 7, 9, "0"),
    {0},
};

static const char *const pixel[] = {NULL};
static const char *const skipping[] = {
    "phi_0_2_rad", "0.1",  "phi_1_3_rad", "0.115", "phi_0_5_rad", "0.16", "phi_4_6_rad", "0.1",
    "phi_0_8_rad", "0.16", "phi_7_9_rad", "0.1",   NULL};
const struct trg_preset doublets_presets[] = {
    {"pixel", "neighbouring layers of a detector of 4 barrel layers and 3 discs a side", pixel},
    {"skipping", "the same, and pairs that leave out one layer", skipping},
    {0},
};

int doublets_check(const void *config, char *why, size_t bytes)
{
    const struct doublets_config *c = config;

    if (!(c->layer_mm[1] < c->layer_mm[2] && c->layer_mm[2] < c->layer_mm[3])) {
        snprintf(why, bytes,
                 "radius_1_mm %g, radius_2_mm %g, radius_3_mm %g: each must be larger than the one "
                 "before",
                 (double)c->layer_mm[1], (double)c->layer_mm[2], (double)c->layer_mm[3]);
        return -EINVAL;
    }
    for (uint32_t k = 0; k < DBT_PAIRS_MAX; k++)
        if (c->phi_rad[k] > 0)
            return 0;
    snprintf(why, bytes, "all of phi_0_1_rad ... phi_7_9_rad are 0: no pair of layers is used");
    return -EINVAL;
}

uint32_t doublets_limit(const struct doublets_config *c, uint32_t n)
{
    return dbt_limit_of(c->max_doublets, c->max_per_hit, n);
}

/* The radius of the first layer that the doublets of row k may not cross. */
static float past_r(const struct doublets_config *c, uint32_t k)
{
    const uint32_t layer = pairs[k].inner + 1 + c->crossed;

    return pairs[k].outer < DBT_BARREL || layer >= DBT_BARREL ? 1e6f : c->layer_mm[layer];
}

static struct dbt_pair pair_of(const struct doublets_config *c, uint32_t k)
{
    return (struct dbt_pair){.inner = pairs[k].inner,
                             .outer = pairs[k].outer,
                             .phi_road = c->phi_rad[k],
                             .z_road = c->dz_mm[k],
                             .past_r = past_r(c, k),
                             .past_z = c->barrel_half_mm};
}

void doublets_fill_par(const struct doublets_config *c, struct dbt_par *ret)
{
    /* p = 0.3 B R, with R in m, more exactly */
    const double r_min = (double)c->pt_min_gev / (0.299792458e-3 * (double)c->field_t);

    ret->cuts = (struct dbt_cuts){.beam_x = c->beam_x_mm,
                                  .beam_y = c->beam_y_mm,
                                  .beam_z = c->beam_z_mm,
                                  .beam_half = c->beam_half_mm,
                                  .two_r_min = (float)(2.0 * r_min)};
    ret->n_pairs = ret->slots = 0;
    for (uint32_t layer = 0; layer < DBT_LAYERS; layer++) {
        const uint32_t first = ret->first[layer] = ret->n_pairs;

        for (uint32_t k = 0; k < DBT_PAIRS_MAX; k++)
            if (pairs[k].inner == layer && c->phi_rad[k] > 0)
                ret->pair[ret->n_pairs++] = pair_of(c, k);
        ret->slots = ret->n_pairs - first > ret->slots ? ret->n_pairs - first : ret->slots;
    }
    ret->first[DBT_LAYERS] = ret->n_pairs;
    ret->windows = c->search == DOUBLETS_WINDOWS;
    ret->max_roi = c->max_doublets;
    ret->max_per_hit = c->max_per_hit;
}
