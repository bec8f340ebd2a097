/* SPDX-License-Identifier: Apache-2.0 */
/* hit.h - what a hit and its cluster have in common for both kernels: the place in space and its
 * covariance.  Include after the collections. */
#ifndef CLUSTERS_HIT_H
#define CLUSTERS_HIT_H
#include "clusters.h"

struct cl_place {          /* of a cluster on its sensor */
    trg_u32 at;            /* number of the hit in the batch */
    trg_u32 columns, rows; /* that it spans */
    float pitch;           /* of its column, mm */
    float a, b;            /* along a row and along a column, mm */
};

/* In pitches.  Chosen without an index: with one, each work-item of a GPU would copy all of `par`.
 */
TRG_FN float cl_sigma(trg_u32 span, const struct cl_par par)
{
    return span < 2u ? par.sigma[0] : span == 2u ? par.sigma[1] : par.sigma[2];
}

TRG_FN void cl_write_place(const struct cl_place p, const struct cl_sensor s,
                           TRG_GLOBAL trg_u8 *hits, TRG_GLOBAL trg_u8 *clusters,
                           const struct cl_par par)
{
    const float error_a = cl_sigma(p.columns, par) * p.pitch;
    const float error_b = cl_sigma(p.rows, par) * par.row_pitch;
    const float var_a = error_a * error_a, var_b = error_b * error_b;

    TRG_HITS_X_OUT(hits, par.hits)[p.at] = s.column[0] * p.a + s.row[0] * p.b + s.corner[0];
    TRG_HITS_Y_OUT(hits, par.hits)[p.at] = s.column[1] * p.a + s.row[1] * p.b + s.corner[1];
    TRG_HITS_Z_OUT(hits, par.hits)[p.at] = s.column[2] * p.a + s.row[2] * p.b + s.corner[2];
    TRG_HITS_LAYER_OUT(hits, par.hits)[p.at] = (trg_u16)s.layer;
    if (!par.with_clusters)
        return;
    TRG_CLUSTERS_N_COLUMNS_OUT(clusters, par.clusters)[p.at] = (trg_u16)p.columns;
    TRG_CLUSTERS_N_ROWS_OUT(clusters, par.clusters)[p.at] = (trg_u16)p.rows;
    TRG_CLUSTERS_VAR_X_OUT(clusters, par.clusters)
    [p.at] = s.column[0] * s.column[0] * var_a + s.row[0] * s.row[0] * var_b;
    TRG_CLUSTERS_VAR_Y_OUT(clusters, par.clusters)
    [p.at] = s.column[1] * s.column[1] * var_a + s.row[1] * s.row[1] * var_b;
    TRG_CLUSTERS_COV_XY_OUT(clusters, par.clusters)
    [p.at] = s.column[0] * s.column[1] * var_a + s.row[0] * s.row[1] * var_b;
}
#endif
