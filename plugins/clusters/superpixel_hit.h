/* SPDX-License-Identifier: Apache-2.0 */
/* superpixel_hit.h - the hit that a cluster of super-pixels is.  Include after the collections. */
#ifndef CLUSTERS_SUPERPIXEL_HIT_H
#define CLUSTERS_SUPERPIXEL_HIT_H
#include "hit.h"
#include "superpixel.h"

TRG_FN trg_u32 cl_at_most(trg_u32 n, trg_u32 most)
{
    return n < most ? n : most;
}

/* A cluster of the sensor becomes hit number `at` of the batch. */
TRG_FN void cl_write_hit(const struct cl_sums sums, trg_u32 sensor, trg_u32 at,
                         TRG_GLOBAL const struct cl_sensor *sensors,
                         TRG_GLOBAL const float *centres, TRG_GLOBAL trg_u8 *hits,
                         TRG_GLOBAL trg_u8 *clusters, const struct cl_par par)
{
    const trg_u32 n = sums.of[CL_SIZE];
    const trg_u32 sum_column = sums.of[CL_SUM_COLUMN], sum_row = sums.of[CL_SUM_ROW];
    const trg_u32 column = sum_column / n, row = sum_row / n;
    const float size = (float)n;
    struct cl_place p;

    p.at = at;
    p.columns = trg_popcount(sums.of[CL_COLUMN_BIT]);
    p.rows = trg_popcount(sums.of[CL_ROW_BIT]);
    p.pitch = centres[column + 1u] - centres[column];
    p.a = centres[column] + (float)(sum_column - column * n) / size * p.pitch;
    p.b = ((float)row + 0.5f + (float)(sum_row - row * n) / size) * par.row_pitch;
    cl_write_place(p, sensors[sensor], hits, clusters, par);
    TRG_HITS_ID_OUT(hits, par.hits)[at] = 1u << 31 | sensor << 18 | column << 8 | row;
    if (!par.with_clusters)
        return;
    TRG_CLUSTERS_SIZE_OUT(clusters, par.clusters)[at] = (trg_u16)cl_at_most(n, 65535u);
    TRG_CLUSTERS_CHARGE_OUT(clusters, par.clusters)[at] = 0u;
}
#endif
