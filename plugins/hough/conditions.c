/* SPDX-License-Identifier: Apache-2.0 */
#include "conditions.h"

#include <math.h>
#include <string.h>

#include "hough.collections.h"

const struct trg_condition hough_conditions[] = {
    [HG_BEAM_LINE] = {"beam_line", "where the beams meet, in place of beam_x_mm and beam_y_mm",
                      &trg_beam_line, TRG_CONDITION_OPTIONAL},
    [HG_ALIGNMENT] = {"layer_alignment", "displacements and rotations of layers of hits",
                      &trg_layer_alignment, TRG_CONDITION_OPTIONAL},
    {0}};

void hough_take_beam_line(const struct trg_input *table, struct hg_par *par)
{
    if (!table->collection || !table->span.n_items)
        return;
    par->beam_x = TRG_BEAM_LINE_X(table->host, table->span)[0];
    par->beam_y = TRG_BEAM_LINE_Y(table->host, table->span)[0];
}

/* Rz Ry Rx less the identity. */
static void turn_of(double rx, double ry, double rz, float turn[3][3])
{
    const double cx = cos(rx), sx = sin(rx), cy = cos(ry), sy = sin(ry), cz = cos(rz), sz = sin(rz);
    const double m[3][3] = {{cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx},
                            {sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx},
                            {-sy, cy * sx, cy * cx}};

    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            turn[i][k] = (float)(m[i][k] - (i == k));
}

void hough_place_layers(const struct trg_input *table, struct hg_placement layers[HG_ALIGN_LAYERS])
{
    const uint16_t *layer = TRG_LAYER_ALIGNMENT_LAYER(table->host, table->span);
    const float *z = TRG_LAYER_ALIGNMENT_Z(table->host, table->span);
    const float *dx = TRG_LAYER_ALIGNMENT_DX(table->host, table->span);
    const float *dy = TRG_LAYER_ALIGNMENT_DY(table->host, table->span);
    const float *dz = TRG_LAYER_ALIGNMENT_DZ(table->host, table->span);
    const float *rx = TRG_LAYER_ALIGNMENT_RX(table->host, table->span);
    const float *ry = TRG_LAYER_ALIGNMENT_RY(table->host, table->span);
    const float *rz = TRG_LAYER_ALIGNMENT_RZ(table->host, table->span);

    memset(layers, 0, HG_ALIGN_LAYERS * sizeof *layers);
    for (uint32_t i = 0; i < table->span.n_items; i++) {
        struct hg_placement *p = &layers[layer[i]];

        *p = (struct hg_placement){.z = z[i], .shift = {dx[i], dy[i], dz[i]}};
        turn_of((double)rx[i], (double)ry[i], (double)rz[i], p->turn);
    }
}
