/* SPDX-License-Identifier: Apache-2.0 */
/* First steps of the vertexing plugin: where the beam line is; tracks are brought to their point
 * closest to it, sorted into cells of z, and the histogram's grid is chosen.  One group an RoI. */
#include "beam.h"
#include "fit.h"
#include "trigd/common/group.h"

/* The point of a track closest to the beam line.  `sz2` is the variance of its z there, the width
 * of the beam included. */
struct vx_closest {
    struct vx_line line;
    float sz2;
};

/* A track as it comes. */
struct vx_state {
    float x, y, z, tx, ty, vx, vt, cov, chi2;
    trg_u32 n_hits;
};

/* What a track's errors are multiplied by, squared: chi2 per degree of freedom, where that is above
 * 1, with `prior` degrees added that fit as they should.  Material turns slow particles more than
 * whoever gave the errors could know, and chi2 shows it. */
TRG_FN float vx_error_scale(float chi2, trg_u32 n_hits, float prior)
{
    const float known = 2.0f * (float)(trg_i32)n_hits - 4.0f;
    const float scale = (chi2 + prior) / (known > 0.0f ? known + prior : 3e38f);
    const float most = scale < 1e4f ? scale : 1e4f;

    return most > (prior > 0.0f ? 1.0f : 3e38f) ? most : 1.0f;
}

TRG_FN struct vx_closest vx_closest_of(struct vx_state t, float beam_x, float beam_y,
                                       struct vx_par par)
{
    const float dx = t.x - beam_x, dy = t.y - beam_y;
    const float t2 = t.tx * t.tx + t.ty * t.ty;
    const float norm = trg_sqrt(1.0f + t2);
    /* what is divided by is chosen, not what is divided: so there is nothing that only some tracks
     * do, and loops over tracks can be vectorized.  A track along the beam stays where it is, and
     * its z is not known. */
    const float s = -(dx * t.tx + dy * t.ty) / (t2 > 1e-10f ? t2 : 3e38f);
    const float scale = vx_error_scale(t.chi2, t.n_hits, par.chi2_prior);
    const float found = scale * (t.vx + 2.0f * s * t.cov + s * s * t.vt);
    const float v = found > 1e-6f ? found : 1e-6f;
    /* errors are the mean of x and y in planes of constant z: what is e^2 across the track in both
     * directions is e^2 there in one and e^2 (1 + t2) in the other, which z at the beam sees */
    const float across = 1.0f / (1.0f + 0.5f * t2);
    struct vx_closest c;

    c.sz2 = (v * across * (1.0f + t2) + par.beam_var) / (t2 > 1e-10f ? t2 : 1e-10f);
    c.line.x = beam_x + (dx + s * t.tx);
    c.line.y = beam_y + (dy + s * t.ty);
    c.line.z = t.z + s;
    c.line.ux = t.tx / norm;
    c.line.uy = t.ty / norm;
    c.line.uz = 1.0f / norm;
    c.line.v = v * across;
    c.line.c = scale * (t.cov + s * t.vt) * across;
    c.line.vt = scale * t.vt * across;
    return c;
}

#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
TRG_FN struct vx_closest vx_approach(TRG_GLOBAL const trg_u8 *data, float beam_x, float beam_y,
                                     struct vx_par par, trg_u32 i)
{
    struct vx_state t;

    t.x = TRG_TRACKS_X(data, par.in)[i];
    t.y = TRG_TRACKS_Y(data, par.in)[i];
    t.z = TRG_TRACKS_Z(data, par.in)[i];
    t.tx = TRG_TRACKS_TX(data, par.in)[i];
    t.ty = TRG_TRACKS_TY(data, par.in)[i];
    t.vx = TRG_TRACKS_VAR_X(data, par.in)[i];
    t.vt = TRG_TRACKS_VAR_TX(data, par.in)[i];
    t.cov = TRG_TRACKS_COV_X_TX(data, par.in)[i];
    t.chi2 = TRG_TRACKS_CHI2(data, par.in)[i];
    t.n_hits = TRG_TRACKS_N_HITS(data, par.in)[i];
    return vx_closest_of(t, beam_x, beam_y, par);
}
#endif

#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
TRG_FN void vx_store_line(TRG_GLOBAL float *tracks, trg_u32 room, struct vx_line l)
{
    tracks[VX_X * room] = l.x;
    tracks[VX_Y * room] = l.y;
    tracks[VX_Z * room] = l.z;
    tracks[VX_UX * room] = l.ux;
    tracks[VX_UY * room] = l.uy;
    tracks[VX_UZ * room] = l.uz;
    tracks[VX_V * room] = l.v;
    tracks[VX_C * room] = l.c;
    tracks[VX_VT * room] = l.vt;
}
#endif

/* 0: not known. */
TRG_FN float vx_momentum(float qop)
{
    const float p = 1.0f / (qop != 0.0f ? qop : 1.0f);

    return qop != 0.0f ? p : 0.0f;
}

TRG_FN trg_u32 vx_cell(float z, float range)
{
    const float c = (z + range) * (0.5f * (float)VX_CELLS / range);

    /* VX_CELLS: outside; the comparison is false for what is not a number */
    return c >= 0.0f && c < (float)VX_CELLS ? (trg_u32)c : VX_CELLS;
}

/* Entries of the histogram weigh 16 at most: those that are known to a bin weigh most. */
TRG_FN trg_u32 vx_entry_weight(float sz2, float width, trg_u32 weighted)
{
    const float sharp = 16.0f * width / trg_sqrt(sz2 > 1e-8f ? sz2 : 1e-8f);
    const float some = sharp > 1.0f ? sharp : 1.0f;
    const float weight = some < 16.0f ? some : 16.0f;

    return (trg_u32)(trg_i32)(weighted ? weight : 1.0f);
}

/* Where `part` quarters of the tracks are below, from the counts of the cells. */
TRG_FN float vx_quartile(TRG_LOCAL const trg_u32 *begin, trg_u32 n, trg_u32 part, float range)
{
    const trg_u32 rank = n * part / 4u;
    trg_u32 low = 0u, high = VX_CELLS;

    while (high - low > 1u) { /* the last cell that begins at or below the rank */
        const trg_u32 middle = (low + high) / 2u;

        if (begin[middle] <= rank)
            low = middle;
        else
            high = middle;
    }
    return ((float)low +
            ((float)(rank - begin[low]) + 0.5f) / (float)(begin[low + 1u] - begin[low] + 1u)) *
               (2.0f * range / (float)VX_CELLS) -
           range;
}

/* Freedman and Diaconis: 2 IQR / n^(1/3), the cube root by Newton's method. */
TRG_FN float vx_freedman_diaconis(TRG_LOCAL const trg_u32 *begin, trg_u32 n, float range)
{
    const float spread = vx_quartile(begin, n, 3u, range) - vx_quartile(begin, n, 1u, range);
    float root = 1.0f;

    if (n < 2u)
        return range;
    while (root * root * root < (float)n)
        root = root * 2.0f;
    for (trg_u32 k = 0; k < 6u; k++)
        root = (2.0f * root + (float)n / (root * root)) / 3.0f;
    return 2.0f * spread / root;
}

/* Errors of z as integers, 4 nm each, so that the sum of 65536 tracks fits. */
TRG_FN trg_u32 vx_error_quanta(float sz2)
{
    const float s = trg_sqrt(sz2) * 16384.0f;

    return (trg_u32)(trg_i32)(s < 65535.0f ? s : 65535.0f);
}

/* The width with which a histogram of n entries shows two peaks three sigmas apart most faithfully,
 * wherever its bins begin: the maximum of the thesis's <P> (section 10.1), which is at
 * (1.4 + 15 / n) sigma; docs/vertexing.md.  Of the entries the mean sigma is taken. */
TRG_FN float vx_optimum(trg_u32 n, trg_u32 sigmas)
{
    const float sigma = (float)sigmas / 16384.0f; /* of all together */
    const float inv_n = 1.0f / (float)(n ? n : 1u);

    return sigma * inv_n * (1.4f + 15.0f * inv_n);
}

TRG_FN struct vx_grid vx_grid_of(float width, float range, trg_u32 bins_room)
{
    const float least = 2.0f * range / (float)(bins_room - 1u);
    struct vx_grid g;

    g.width = width > least ? width : least;
    g.width = g.width < range ? g.width : range;
    g.inv_width = 1.0f / g.width;
    g.first = -range;
    g.n_bins = (trg_u32)(2.0f * range * g.inv_width) + 1u;
    g.n_bins = g.n_bins < 3u ? 3u : g.n_bins > bins_room ? bins_room : g.n_bins;
    return g;
}

/* The grid by the configured rule; `fixed` is that of the configured width, `begin` where the cells
 * of z begin, `used` and `sigmas` the entries and the sum of their errors. */
TRG_FN struct vx_grid vx_choose_grid(struct vx_grid fixed, TRG_LOCAL const trg_u32 *begin,
                                     trg_u32 used, trg_u32 sigmas, struct vx_par par)
{
    if (par.width_rule == VX_WIDTH_FREEDMAN_DIACONIS)
        return vx_grid_of(vx_freedman_diaconis(begin, begin[VX_CELLS], par.z_range), par.z_range,
                          par.bins_room);
    if (par.width_rule == VX_WIDTH_OPTIMUM)
        return vx_grid_of(vx_optimum(used, sigmas), par.z_range, par.bins_room);
    return fixed;
}

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#include "prepare_host.h"
#endif

/* 32 work-items an RoI.  Least squares of how far the projections of tracks miss a point, weighted
 * down as for vertices while the width shrinks from millimetres to what a beam has.  The sums are
 * integers: no order makes a difference. */
TRG_KERNEL2(vx_find_beam, (const trg_u8, data), (struct vx_grid, grids), (struct vx_par, par))
{
    VX_SAME trg_i64 sums[VX_ROOM_SUMS(VX_B_SUMS)];
    VX_SAME trg_i64 total[VX_B_SUMS];
    TRG_SHARED float track[7u * VX_BEAM_TRACKS];
    VX_SAME struct vx_beam beam;
    const trg_u32 first = TRG_BEGIN(data, par.in, TRG_GID);
    const trg_u32 all = TRG_END(data, par.in, TRG_GID) - first;
    const trg_u32 step = (all + VX_BEAM_TRACKS - 1u) / VX_BEAM_TRACKS;
    const trg_u32 n = step ? (all + step - 1u) / step : 0u;
    float width = VX_BEAM_START;

    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE) {
        const trg_u32 i = first + k * step;

        track[k] = TRG_TRACKS_X(data, par.in)[i];
        track[VX_BEAM_TRACKS + k] = TRG_TRACKS_Y(data, par.in)[i];
        track[2u * VX_BEAM_TRACKS + k] = TRG_TRACKS_TX(data, par.in)[i];
        track[3u * VX_BEAM_TRACKS + k] = TRG_TRACKS_TY(data, par.in)[i];
        track[4u * VX_BEAM_TRACKS + k] = TRG_TRACKS_VAR_X(data, par.in)[i];
        track[5u * VX_BEAM_TRACKS + k] = TRG_TRACKS_VAR_TX(data, par.in)[i];
        track[6u * VX_BEAM_TRACKS + k] = TRG_TRACKS_COV_X_TX(data, par.in)[i];
    }
    if (VX_TELLS) {
        beam.x = par.beam_x;
        beam.y = par.beam_y;
    }
    TRG_BARRIER();
    for (trg_u32 round = 0u; round < VX_BEAM_ROUNDS; round++) {
        const float x = beam.x, y = beam.y;
        trg_i64 own[VX_B_SUMS] = {0};

        for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE) {
            const struct vx_beam_track t = vx_beam_track_of(
                track[k] - x, track[VX_BEAM_TRACKS + k] - y, track[2u * VX_BEAM_TRACKS + k],
                track[3u * VX_BEAM_TRACKS + k], track[4u * VX_BEAM_TRACKS + k],
                track[5u * VX_BEAM_TRACKS + k], track[6u * VX_BEAM_TRACKS + k], width);

            own[VX_B_XX] += (trg_i32)(t.weight * t.nx * t.nx * 1048576.0f);
            own[VX_B_XY] += (trg_i32)(t.weight * t.nx * t.ny * 1048576.0f);
            own[VX_B_YY] += (trg_i32)(t.weight * t.ny * t.ny * 1048576.0f);
            own[VX_B_X] += (trg_i32)(t.weight * t.miss * t.nx * 1048576.0f);
            own[VX_B_Y] += (trg_i32)(t.weight * t.miss * t.ny * 1048576.0f);
        }
        vx_sum_up(sums, own, VX_B_SUMS, total);
        if (VX_TELLS)
            beam = vx_beam_step(total, x, y, par.beam_x, par.beam_y);
        width *= VX_BEAM_SHRINK;
        VX_BARRIER();
    }
    if (TRG_LID == 0u) {
        grids[TRG_GID].beam_x = beam.x;
        grids[TRG_GID].beam_y = beam.y;
    }
}

TRG_KERNEL8(vx_prepare, (const trg_u8, data), (float, tracks), (float, sorted), (float, entry_z),
            (trg_u32, entry_weight), (trg_u32, cells), (struct vx_grid, grids),
            (struct vx_counts, counts), (struct vx_par, par))
{
    TRG_SHARED trg_u32 begin[VX_CELLS + 1u];
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_SHARED trg_u32 used, sigmas;
    TRG_GLOBAL trg_u32 *cell = cells + TRG_GID * (VX_CELLS + 1u);
    const trg_u32 first = TRG_BEGIN(data, par.in, TRG_GID), end = TRG_END(data, par.in, TRG_GID);
    const trg_u32 room = par.items_room;
    const float beam_x = par.find_beam ? grids[TRG_GID].beam_x : par.beam_x;
    const float beam_y = par.find_beam ? grids[TRG_GID].beam_y : par.beam_y;
    struct vx_grid grid = vx_grid_of(par.bin_width, par.z_range, par.bins_room);
    trg_u32 inside, mine = 0u, errors = 0u;

    for (trg_u32 c = TRG_LID; c <= VX_CELLS; c += TRG_LSIZE)
        begin[c] = 0u;
    if (TRG_LID == 0u)
        used = sigmas = 0u;
    TRG_BARRIER();
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
    struct vx_prepared to = {tracks, entry_z, entry_weight, begin, 0u};

    for (trg_u32 i = first; i < end; i += VX_LANES)
        mine += vx_host_prepare(data, (const float[]){beam_x, beam_y}, par, i,
                                end - i < VX_LANES ? end - i : VX_LANES, grid.width, &to);
    errors = to.errors;
#else
    for (trg_u32 i = first + TRG_LID; i < end; i += TRG_LSIZE) {
        const struct vx_closest c = vx_approach(data, beam_x, beam_y, par, i);
        const trg_u32 at = vx_cell(c.line.z, par.z_range);
        const trg_u32 seeds = at < VX_CELLS && c.sz2 < par.sigma_z_max * par.sigma_z_max;

        vx_store_line(tracks + i, room, c.line);
        tracks[VX_P * room + i] = vx_momentum(TRG_TRACKS_QOP(data, par.in)[i]);
        entry_z[i] = seeds ? c.line.z : VX_NOWHERE;
        entry_z[room + i] = c.sz2;
        entry_weight[i] = vx_entry_weight(c.sz2, grid.width, par.weighted);
        mine += seeds;
        errors += seeds ? vx_error_quanta(c.sz2) : 0u;
        if (at < VX_CELLS)
            TRG_ATOMIC_ADD_LOCAL(&begin[at], 1u);
    }
#endif
    TRG_ATOMIC_ADD_LOCAL(&used, mine);
    TRG_ATOMIC_ADD_LOCAL(&sigmas, errors);
    TRG_BARRIER();
    inside = trg_group_scan_local(scratch, begin, VX_CELLS);
    for (trg_u32 c = TRG_LID; c <= VX_CELLS; c += TRG_LSIZE)
        cell[c] = first + (c < VX_CELLS ? begin[c] : inside);
    if (TRG_LID == 0u) {
        struct vx_counts zero = {0};

        begin[VX_CELLS] = inside;
        zero.n_used = used;
        zero.beam_x = grids[TRG_GID].beam_x;
        zero.beam_y = grids[TRG_GID].beam_y;
        counts[TRG_GID] = zero;
    }
    TRG_BARRIER();
    if (TRG_LID == 0u) {
        grid = vx_choose_grid(grid, begin, used, sigmas, par);
        grid.beam_x = beam_x;
        grid.beam_y = beam_y;
        grids[TRG_GID] = grid;
    }
    TRG_BARRIER();
    /* the order within a cell is any: what is summed over it is integers */
    for (trg_u32 i = first + TRG_LID; i < end; i += TRG_LSIZE) {
        const trg_u32 c = vx_cell(tracks[VX_Z * room + i], par.z_range);

        if (c < VX_CELLS) {
            const trg_u32 at = first + TRG_ATOMIC_ADD_LOCAL(&begin[c], 1u);

            for (trg_u32 k = 0; k < VX_P; k++)
                sorted[k * room + at] = tracks[k * room + i];
        }
    }
}
