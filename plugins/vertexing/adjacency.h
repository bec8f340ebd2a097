/* SPDX-License-Identifier: Apache-2.0 */
/* adjacency.h - the bits of one row of the adjacency matrix over 32 columns.  Included by
 * graph.kernel.c.
 *
 * Columns are staged a panel of 128 tracks at a time in shared memory, four numbers side by side,
 * so that one load brings a number of four tracks.  The inner loop knows only lines with an angle
 * between them: it asks for the sign of volume^2 - limit^2 sin^2 and shifts it into the word, and
 * keeps the least sine.  Where that is so small that one of the 32 is near-parallel, which is rare,
 * the row is done again, one pair at a time. */
#ifndef VX_ADJACENCY_H
#define VX_ADJACENCY_H
#include "geometry.h"

#define VX_TILE          32u
#define VX_PANEL_TILES   4u
#define VX_PANEL         (VX_PANEL_TILES * VX_TILE)
#define VX_FOURS         (VX_PANEL / 4u)
#define VX_STAGE_COLUMNS 9u /* of a track; the last three only where errors matter */

struct vx_four {
    float v[4];
} __attribute__((aligned(16)));

/* One track of the panel. */
TRG_FN struct vx_line vx_staged(TRG_LOCAL const struct vx_four *s, trg_u32 k, trg_u32 errors)
{
    TRG_LOCAL const struct vx_four *at = s + k / 4u;
    struct vx_line l;

    l.x = at[VX_X * VX_FOURS].v[k % 4u];
    l.y = at[VX_Y * VX_FOURS].v[k % 4u];
    l.z = at[VX_Z * VX_FOURS].v[k % 4u];
    l.ux = at[VX_UX * VX_FOURS].v[k % 4u];
    l.uy = at[VX_UY * VX_FOURS].v[k % 4u];
    l.uz = at[VX_UZ * VX_FOURS].v[k % 4u];
    l.v = errors ? at[VX_V * VX_FOURS].v[k % 4u] : 0.0f;
    l.c = errors ? at[VX_C * VX_FOURS].v[k % 4u] : 0.0f;
    l.vt = errors ? at[VX_VT * VX_FOURS].v[k % 4u] : 0.0f;
    return l;
}

/* Brings m <= VX_PANEL tracks of the list to shared memory, filled up to a multiple of four with
 * the last of them.  Barriers are the caller's. */
TRG_GROUP_FN void vx_stage(TRG_GLOBAL const float *tracks, trg_u32 room,
                           TRG_GLOBAL const trg_u32 *list, trg_u32 m, trg_u32 errors,
                           TRG_LOCAL struct vx_four *s)
{
    const trg_u32 columns = errors ? VX_STAGE_COLUMNS : VX_V;

    for (trg_u32 k = TRG_LID; k < ((m + 3u) & ~3u); k += TRG_LSIZE) {
        const trg_u32 i = list[k < m ? k : m - 1u];

        for (trg_u32 c = 0u; c < columns; c++)
            s[c * VX_FOURS + k / 4u].v[k % 4u] = (tracks + c * room)[i];
    }
}

/* The statistical version: the limit is also doca_sigmas of the errors of both tracks where they
 * are closest. */
TRG_FN trg_u32 vx_is_near_in_sigmas(struct vx_line a, struct vx_line b, struct vx_par par)
{
    const float z = vx_crossing(a, b, par.parallel_sin2).z;

    return vx_is_near(a, b, vx_limit2(par.doca_max, par.doca_sigmas, a, b, z), par.parallel_sin2);
}

/* A row over m columns of a panel from `first` on, one pair at a time. */
TRG_FN trg_u32 vx_row_of_pairs(TRG_LOCAL const struct vx_four *s, trg_u32 first, trg_u32 m,
                               struct vx_line a, struct vx_par par)
{
    const trg_u32 errors = par.doca_sigmas > 0.0f;
    trg_u32 word = 0u;

    for (trg_u32 k = 0u; k < m; k++) {
        const struct vx_line b = vx_staged(s, first + k, errors);

        word |= (errors ? vx_is_near_in_sigmas(a, b, par)
                        : vx_is_near(a, b, par.doca_max * par.doca_max, par.parallel_sin2))
                << k;
    }
    return word;
}

#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
/* A row over m columns of a panel from `first` on as if no two lines were parallel; `least` becomes
 * the least sine squared, as bits, which are ordered as the numbers are; `self` does not count. */
TRG_FN trg_u32 vx_row_of_skew(TRG_LOCAL const struct vx_four *s, trg_u32 first, trg_u32 m,
                              struct vx_line a, trg_u32 self, float limit2, trg_u32 *least)
{
    TRG_LOCAL const struct vx_four *tile = s + first / 4u;
    trg_u32 word = 0u, low = 0xffffffffu;

    for (trg_u32 q = (m + 3u) / 4u; q-- > 0u;) {
        const struct vx_four x = tile[VX_X * VX_FOURS + q], y = tile[VX_Y * VX_FOURS + q];
        const struct vx_four z = tile[VX_Z * VX_FOURS + q], ux = tile[VX_UX * VX_FOURS + q];
        const struct vx_four uy = tile[VX_UY * VX_FOURS + q], uz = tile[VX_UZ * VX_FOURS + q];

        for (trg_u32 j = 4u; j-- > 0u;) {
            const struct vx_line b = {x.v[j],  y.v[j], z.v[j], ux.v[j], uy.v[j],
                                      uz.v[j], 0.0f,   0.0f,   0.0f};
            const struct vx_pair p = vx_pair_of(a, b);
            const trg_u32 bits = self == q * 4u + j ? 0xffffffffu : trg_as_u32(p.sin2);

            word = (word << 1) | (trg_as_u32(vx_excess(p, limit2)) >> 31);
            low = bits < low ? bits : low;
        }
    }
    *least = low;
    return word;
}
#else
/* The same on the host, where compilers vectorize over the columns. */
static inline trg_u32 vx_row_of_skew(const struct vx_four *s, trg_u32 first, trg_u32 m,
                                     struct vx_line a, trg_u32 self, float limit2, trg_u32 *least)
{
    const float *t = (const float *)(const void *)s + first;
    trg_u32 word = 0u, low = 0xffffffffu;

    for (trg_u32 k = 0u; k < m; k++) {
        const struct vx_pair p = vx_pair_of(a, vx_load(t, VX_PANEL, k));
        const trg_u32 bits = trg_as_u32(p.sin2) | (self == k ? 0xffffffffu : 0u);

        word |= (trg_as_u32(vx_excess(p, limit2)) >> 31) << k;
        low = bits < low ? bits : low;
    }
    *least = low;
    return word;
}
#endif

/* The bits of a row over m <= 32 columns of a panel from `first` on; `self`: its own, or beyond. */
TRG_FN trg_u32 vx_row_word(TRG_LOCAL const struct vx_four *s, trg_u32 first, trg_u32 m,
                           struct vx_line a, trg_u32 self, struct vx_par par)
{
    const float limit2 = par.doca_max * par.doca_max;
    trg_u32 word, least;

    if (par.doca_sigmas > 0.0f)
        return vx_row_of_pairs(s, first, m, a, par);
    if (m < VX_TILE || self < VX_TILE)
        word = vx_row_of_skew(s, first, m, a, self, limit2, &least);
    else /* almost always: a length that the compiler knows */
        word = vx_row_of_skew(s, first, VX_TILE, a, VX_TILE, limit2, &least);
    if (least <= trg_as_u32(par.parallel_sin2))
        return vx_row_of_pairs(s, first, m, a, par);
    return word & (0xffffffffu >> (VX_TILE - m));
}
#endif
