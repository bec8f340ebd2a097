/* SPDX-License-Identifier: Apache-2.0 */
/* approach.h - the first loop of vx_prepare on the host, sixteen tracks at a time so that compilers
 * vectorize it; the same expressions, so the same bits.  Included by prepare.kernel.c only. */
#ifndef VX_APPROACH_H
#define VX_APPROACH_H
#define VX_LANES 16u

struct vx_lanes {
    float column[VX_P][VX_LANES];
    float z[VX_LANES], sz2[VX_LANES]; /* of the histogram's entries */
    trg_i32 cell[VX_LANES];
    trg_i32 seeds[VX_LANES];
};

/* n tracks of the columns in[0] ... in[9], from their first place on, but for the momentum. */
static inline void vx_lanes_of(const float *const *in, struct vx_par par,
                               struct vx_lanes *restrict q)
{
    const float scale = 0.5f * (float)VX_CELLS / par.z_range;
    const float most = par.sigma_z_max * par.sigma_z_max;

    for (trg_u32 k = 0u; k < VX_LANES; k++) {
        const struct vx_state s = {in[0][k], in[1][k], in[2][k], in[3][k],
                                   in[4][k], in[5][k], in[6][k], in[7][k]};
        const struct vx_closest c = vx_closest_of(s, par.beam_x, par.beam_y, par.beam_var);
        const float at = (c.line.z + par.z_range) * scale;
        const trg_i32 inside = (at >= 0.0f ? 1 : 0) & (at < (float)VX_CELLS ? 1 : 0);
        const float in_range = inside ? at : (float)VX_CELLS;
        const trg_i32 seeds = inside & (c.sz2 < most ? 1 : 0);

        q->column[VX_X][k] = c.line.x;
        q->column[VX_Y][k] = c.line.y;
        q->column[VX_Z][k] = c.line.z;
        q->column[VX_UX][k] = c.line.ux;
        q->column[VX_UY][k] = c.line.uy;
        q->column[VX_UZ][k] = c.line.uz;
        q->column[VX_V][k] = c.line.v;
        q->column[VX_C][k] = c.line.c;
        q->column[VX_VT][k] = c.line.vt;
        q->z[k] = seeds ? c.line.z : VX_NOWHERE;
        q->sz2[k] = c.sz2;
        q->cell[k] = (trg_i32)in_range;
        q->seeds[k] = seeds;
    }
}

/* The n <= 16 tracks from `i` on; returns how many are in the histogram. */
static inline trg_u32 vx_host_prepare(const trg_u8 *data, struct vx_par par, trg_u32 i, trg_u32 n,
                                      float width, float *tracks, float *entry_z,
                                      trg_u32 *entry_weight, trg_u32 *cells)
{
    float copy[10][VX_LANES] = {{0}};
    const float *in[10];
    struct vx_lanes q;
    trg_u32 used = 0u;

    for (trg_u32 c = 0u; c < 10u; c++) {
        in[c] = TRG_COLUMN(float, data, par.in, c) + i;
        if (n < VX_LANES) {
            memcpy(copy[c], in[c], n * sizeof(float));
            in[c] = copy[c];
        }
    }
    vx_lanes_of(in, par, &q);
    for (trg_u32 c = 0u; c < VX_P; c++)
        memcpy(tracks + c * par.items_room + i, q.column[c], n * sizeof(float));
    memcpy(entry_z + i, q.z, n * sizeof(float));
    memcpy(entry_z + par.items_room + i, q.sz2, n * sizeof(float));
    for (trg_u32 k = 0u; k < n; k++) {
        tracks[VX_P * par.items_room + i + k] = vx_momentum(in[9][k]);
        entry_weight[i + k] = vx_entry_weight(q.sz2[k], width, par.weighted);
        used += (trg_u32)q.seeds[k];
        if (q.cell[k] < (trg_i32)VX_CELLS)
            cells[q.cell[k]]++;
    }
    return used;
}
#endif
