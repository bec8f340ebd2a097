/* SPDX-License-Identifier: Apache-2.0 */
/* prepare_host.h - the first loop of vx_prepare on the host, sixteen tracks at a time so that
 * compilers vectorize it; the same expressions, so the same bits.  Included by prepare.kernel.c
 * only. */
#ifndef VX_PREPARE_HOST_H
#define VX_PREPARE_HOST_H
#define VX_LANES 16u

struct vx_lanes {
    float column[VX_COLUMNS][VX_LANES];
    float z[VX_LANES], sz2[VX_LANES]; /* of the histogram's entries */
    trg_u32 weight[VX_LANES];
    trg_i32 cell[VX_LANES];
    trg_i32 seeds[VX_LANES];
};

/* Sixteen tracks as they come: the columns of floats, and how many hits they have. */
struct vx_states {
    const float *in[10];
    const trg_u32 *n_hits;
};

static inline void vx_lanes_of(struct vx_states t, const float *beam, struct vx_par par,
                               float width, struct vx_lanes *restrict q)
{
    const float beam_x = beam[0], beam_y = beam[1];
    const float scale = 0.5f * (float)VX_CELLS / par.z_range;
    const float most = par.sigma_z_max * par.sigma_z_max;

    for (trg_u32 k = 0u; k < VX_LANES; k++) {
        const struct vx_state s = {t.in[0][k], t.in[1][k], t.in[2][k], t.in[3][k], t.in[4][k],
                                   t.in[5][k], t.in[6][k], t.in[7][k], t.in[8][k], t.n_hits[k]};
        const struct vx_closest c = vx_closest_of(s, beam_x, beam_y, par);
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
        q->column[VX_P][k] = vx_momentum(t.in[9][k]);
        q->z[k] = seeds ? c.line.z : VX_NOWHERE;
        q->sz2[k] = c.sz2;
        q->weight[k] = vx_entry_weight(c.sz2, width, par.weighted);
        q->cell[k] = (trg_i32)in_range;
        q->seeds[k] = seeds;
    }
}

/* n of them to their places from i on. */
static inline void vx_store_lanes(const struct vx_lanes *q, trg_u32 room, trg_u32 i, trg_u32 n,
                                  float *tracks, float *entry_z, trg_u32 *entry_weight)
{
    for (trg_u32 c = 0u; c < VX_COLUMNS; c++)
        memcpy(tracks + c * room + i, q->column[c], n * sizeof(float));
    memcpy(entry_z + i, q->z, n * sizeof(float));
    memcpy(entry_z + room + i, q->sz2, n * sizeof(float));
    memcpy(entry_weight + i, q->weight, n * sizeof(trg_u32));
}

struct vx_prepared { /* what vx_prepare writes */
    float *tracks, *entry_z;
    trg_u32 *entry_weight, *cells;
    trg_u32 errors; /* sum of those in the histogram */
};

/* The n <= 16 tracks from `i` on; returns how many are in the histogram. */
static inline trg_u32 vx_host_prepare(const trg_u8 *data, const float *beam, struct vx_par par,
                                      trg_u32 i, trg_u32 n, float width, struct vx_prepared *to)
{
    float copy[10][VX_LANES] = {{0}};
    trg_u32 hits[VX_LANES] = {0};
    struct vx_states t = {.n_hits = TRG_TRACKS_N_HITS(data, par.in) + i};
    struct vx_lanes q;
    trg_u32 used = 0u;

    for (trg_u32 c = 0u; c < 10u; c++)
        t.in[c] = TRG_COLUMN(float, data, par.in, c) + i;
    if (n < VX_LANES) {
        for (trg_u32 c = 0u; c < 10u; c++)
            t.in[c] = memcpy(copy[c], t.in[c], n * sizeof(float));
        t.n_hits = memcpy(hits, t.n_hits, n * sizeof *hits);
    }
    vx_lanes_of(t, beam, par, width, &q);
    if (n == VX_LANES) /* of a length that the compiler knows */
        vx_store_lanes(&q, par.items_room, i, VX_LANES, to->tracks, to->entry_z, to->entry_weight);
    else
        vx_store_lanes(&q, par.items_room, i, n, to->tracks, to->entry_z, to->entry_weight);
    for (trg_u32 k = 0u; k < n; k++) {
        used += (trg_u32)q.seeds[k];
        to->errors +=
            q.seeds[k] && par.width_rule == VX_WIDTH_OPTIMUM ? vx_error_quanta(q.sz2[k]) : 0u;
        to->cells[q.cell[k]]++;
    }
    return used;
}
#endif
