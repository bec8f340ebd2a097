/* SPDX-License-Identifier: Apache-2.0 */
#include "reference_score.h"

#include <errno.h>
#include <stdlib.h>

#include "pairs.h"

static void add_pair(const struct ref_edge *edge, struct vx_counts *counts)
{
    struct vx_pair_features x;
    uint32_t score;

    for (uint32_t k = 0; k < VX_PAIR_FEATURES; k++)
        x.f[k] = (float)edge->feature[k];
    score = vx_pair_score(x);
    counts->score += vx_score_above(score, VX_SCORE_ZERO);
    counts->sure += vx_score_above(score, VX_SCORE_ZERO + VX_SCORE_ONE);
    if (score > counts->best_score)
        counts->best_score = score;
}

int ref_features(const struct vx_config *c, const struct event *e, const struct vx_answer *a,
                 float *ret_features)
{
    struct vx_counts counts = {.n_displaced = (uint32_t)a->result.value[3],
                               .n_selected = (uint32_t)a->result.value[9],
                               .n_edges = (uint32_t)(a->result.value[10] - a->result.value[11] -
                                                     a->result.value[12] - a->result.value[13] -
                                                     a->result.value[14]),
                               .ip_significance = a->result.value[8]};
    uint32_t *rows = calloc((size_t)a->n + 1, VX_OUT_WORDS * sizeof *rows); /* the answer again */
    struct ref_graph g = {0};
    int r = rows ? ref_graph_make(c, e, a, &g) : -ENOMEM;

    for (uint32_t i = 0; r == 0 && i < g.n_edges; i++)
        if (g.edge[i].cut == REF_LEFT)
            add_pair(&g.edge[i], &counts);
    for (uint32_t k = 0; r == 0 && k < a->n; k++)
        for (uint32_t j = 0; j < VX_OUT_WORDS; j++)
            rows[(size_t)k * VX_OUT_WORDS + j] = ((const uint32_t *)a->column[j])[k];
    if (r == 0)
        vx_beauty_features(rows, (uint32_t)a->result.value[0], a->n, &counts, ret_features);
    ref_graph_free(&g);
    free(rows);
    return r;
}
