/* SPDX-License-Identifier: Apache-2.0 */
/* Primary vertices from seeds: an adaptive fit of each, what is to be dropped, and which track
 * belongs to which.
 *
 * vx_seed_peaks or vx_seed_pairs -> (vx_fit_primary -> vx_prune) a few times -> vx_associate */
#include "fit.h"
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
#include "sums.h"
#endif

/* ---------------------------------------------------------------- adaptive fit */

struct vx_window { /* where the tracks of a seed are */
    struct vx_bounds in;
    trg_u32 from, to; /* places in the sorted columns */
};

/* Half way to the next seeds, and no further than par.window. */
TRG_FN struct vx_window vx_window_of(TRG_GLOBAL const struct vx_vertex *seeds, trg_u32 k,
                                     trg_u32 n_seeds, TRG_GLOBAL const trg_u32 *cell,
                                     struct vx_par par)
{
    const float scale = 0.5f * (float)VX_CELLS / par.z_range;
    const float z = n_seeds ? seeds[k].z : 0.0f;
    const float least = z - par.window, most = z + par.window;
    const float low = k > 0u ? 0.5f * (seeds[k - 1u].z + z) : least;
    const float high = k + 1u < n_seeds ? 0.5f * (seeds[k + 1u].z + z) : most;
    struct vx_window w;
    trg_u32 first, last;

    w.in.low = low > least ? low : least;
    w.in.high = high < most ? high : most;
    w.in.var_z = 0.0f;
    first = w.in.low > -par.z_range ? (trg_u32)((w.in.low + par.z_range) * scale) : 0u;
    last = w.in.high > -par.z_range ? (trg_u32)((w.in.high + par.z_range) * scale) : 0u;
    w.from = cell[first < VX_CELLS ? first : VX_CELLS];
    w.to = cell[last + 1u < VX_CELLS ? last + 1u : VX_CELLS];
    return w;
}

/* Adds this work-item's tracks of the window, weighted for a vertex at v, to `own`. */
TRG_GROUP_FN void vx_add_tracks(TRG_GLOBAL const float *sorted, trg_u32 room, struct vx_window w,
                                struct vx_vertex v, float inv_c2, trg_i64 *own)
{
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
    vx_host_sums(sorted, room, w.from, w.to, w.in, v, inv_c2, own);
#else
    for (trg_u32 i = w.from + TRG_LID; i < w.to; i += TRG_LSIZE) {
        const struct vx_line l = vx_load(sorted, room, i);
        const struct vx_miss m = vx_from_about(l, v.x, v.y, v.z, w.in.var_z);
        const float f = l.z >= w.in.low && l.z < w.in.high ? vx_tukey(m.chi2, inv_c2) : 0.0f;

        if (f > 0.0f)
            VX_ADD(own, l, m, f);
    }
#endif
}

/* Whether the z of a vertex of few tracks is known so well that hardly any tracks meet there by
 * chance.  The limit falls with the number of tracks, so that no large vertex is sharp. */
TRG_FN trg_u32 vx_is_sharp(struct vx_vertex v, struct vx_par par)
{
    const float more = (float)v.n_tracks - 1.0f;

    return v.n_tracks >= 2u && v.cov[2] * (more * more) < par.pv_sharp * par.pv_sharp ? 1u : 0u;
}

/* Of this work-item's tracks that fit v, how many do not fit the vertex below, and the one above.
 */
struct vx_own {
    trg_u32 below, above;
};

TRG_GROUP_FN struct vx_own vx_count_own(TRG_GLOBAL const float *sorted, trg_u32 room,
                                        struct vx_window w, struct vx_vertex v,
                                        struct vx_vertex below, struct vx_vertex above,
                                        struct vx_par par)
{
    const float end2 = par.tukey_end * par.tukey_end;
    const float fits =
        vx_is_sharp(v, par) && par.pv_own_sigmas > VX_PV_SIGMAS ? VX_PV_SIGMAS : par.pv_own_sigmas;
    const float fits2 = fits * fits;
    struct vx_own n = {0u, 0u};

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
    const struct vx_vertex three[3] = {v, below, above};
    trg_u32 own[2] = {0u, 0u};

    vx_host_own(sorted + w.from, room, w.to - w.from, w.in, three, end2, fits2, own);
    n.below = own[0];
    n.above = own[1];
#else
    for (trg_u32 i = w.from + TRG_LID; i < w.to; i += TRG_LSIZE) {
        const struct vx_line l = vx_load(sorted, room, i);

        if (l.z < w.in.low || l.z >= w.in.high || !vx_fits(l, v.x, v.y, v.z, end2))
            continue;
        n.below += vx_fits(l, below.x, below.y, below.z, fits2) ? 0u : 1u;
        n.above += vx_fits(l, above.x, above.y, above.z, fits2) ? 0u : 1u;
    }
#endif
    return n;
}

/* What is known of the z of a seed: at first its bin, then as if it were exact. */
TRG_FN float vx_seed_var(float width, trg_u32 fresh, trg_u32 round)
{
    return fresh && round == 0u ? 0.25f * width * width : 0.0f;
}

/* `fit_parts` groups of 32 work-items an RoI, a seed at a time.  Tracks whose z at the beam is
 * nearer to this seed than to the next ones, and within the window, are weighted by Tukey's
 * biweight with a constant that shrinks from round to round; the vertex moves to the minimum until
 * it rests.
 */
TRG_KERNEL7(vx_fit_primary, (const trg_u8, data), (const float, sorted), (const trg_u32, cells),
            (const struct vx_grid, grids), (const struct vx_vertex, seeds),
            (struct vx_vertex, fits), (const struct vx_counts, counts), (struct vx_par, par))
{
    VX_SAME trg_i64 sums[VX_ROOM_SUMS(VX_SUMS)];
    VX_SAME trg_i64 total[VX_SUMS];
    VX_SAME struct vx_vertex v;
    VX_SAME trg_u32 done, room[2];
    const trg_u32 roi = TRG_GID / par.fit_parts, part = TRG_GID % par.fit_parts;
    const trg_u32 place = vx_place(TRG_BEGIN(data, par.in, roi), roi);
    /* where they are settled, seeds are what the last fits were */
    const trg_u32 n_seeds = counts[roi].settled ? 0u : counts[roi].n_seeds;
    TRG_GLOBAL const struct vx_vertex *list = seeds + place;
    TRG_GLOBAL const trg_u32 *cell = cells + roi * (VX_CELLS + 1u);

    for (trg_u32 k = part; k < n_seeds; k += par.fit_parts) {
        const trg_u32 rounds = list[k].todo * par.rounds;
        const trg_u32 below = k > 0u ? k - 1u : k, above = k + 1u < n_seeds ? k + 1u : k;
        struct vx_window w = vx_window_of(list, k, n_seeds, cell, par);
        float c = par.tukey_start;
        struct vx_own n;

        VX_BARRIER();
        if (VX_TELLS) {
            v = list[k];
            done = 0u;
        }
        VX_BARRIER();
        for (trg_u32 round = 0u; round < rounds && !done; round++) {
            trg_i64 own[VX_SUMS] = {0};

            w.in.var_z = vx_seed_var(grids[roi].width, par.fresh, round);
            vx_add_tracks(sorted, par.items_room, w, v, 1.0f / (c * c), own);
            vx_sum_up(sums, own, VX_SUMS, total);
            if (VX_TELLS) {
                const struct vx_round r = vx_move(v, total);

                v = r.v;
                done = vx_rests(r, c, par);
            }
            c = vx_shrink(c, par.tukey_end);
            VX_BARRIER();
        }
        n = vx_count_own(sorted, par.items_room, w, v, list[below], list[above], par);
        n.below = vx_count_up(&room[0], n.below);
        n.above = vx_count_up(&room[1], n.above);
        if (TRG_LID == 0u) {
            v.own[0] = below < k ? n.below : v.n_tracks;
            v.own[1] = above > k ? n.above : v.n_tracks;
            fits[place + k] = v;
        }
    }
}

/* ---------------------------------------------------------------- which of them stay */

struct vx_fits { /* of an RoI, in shared memory: z, its variance, and tracks, 0 for what is dropped
                  */
    TRG_LOCAL const float *z, *var;
    TRG_LOCAL const trg_u32 *tracks;
};

/* The numbers of those of n fits that have tracks, in order of z: fits may have passed each other.
 * Returns how many. */
TRG_FN trg_u32 vx_order_fits(const struct vx_fits f, trg_u32 n, TRG_LOCAL trg_u32 *order)
{
    trg_u32 m = 0u;

    for (trg_u32 k = 0u; k < n; k++) {
        trg_u32 at = m;

        if (!f.tracks[k])
            continue;
        for (; at > 0u && f.z[order[at - 1u]] > f.z[k]; at--)
            order[at] = order[at - 1u];
        order[at] = k;
        m++;
    }
    return m;
}

/* Of neighbours among the first m that are one vertex, leaves the one with more tracks. */
TRG_FN trg_u32 vx_merge_fits(const struct vx_fits f, trg_u32 m, float merge,
                             TRG_LOCAL trg_u32 *order)
{
    trg_u32 kept = 0u;

    for (trg_u32 j = 0u; j < m; j++) {
        const trg_u32 k = order[j], last = order[kept > 0u ? kept - 1u : 0u];
        const float d = f.z[k] - f.z[last];

        if (kept > 0u && d * d < merge * merge * (f.var[k] + f.var[last]))
            order[kept - 1u] = f.tracks[k] > f.tracks[last] ? k : last;
        else
            order[kept++] = k;
    }
    return kept;
}

/* Whether a fit is of enough tracks, near enough to the beam line for its errors. */
TRG_FN trg_u32 vx_is_good(struct vx_vertex v, struct vx_grid g, struct vx_par par)
{
    const float dx2 = (v.x - g.beam_x) * (v.x - g.beam_x);
    const float dy2 = (v.y - g.beam_y) * (v.y - g.beam_y);
    const float r2 = par.pv_max_radius * par.pv_max_radius;
    const float s2 = VX_PV_SIGMAS * VX_PV_SIGMAS;
    /* an ellipse: x^2 / a + y^2 / b < 1, without division */
    const float a = r2 + s2 * v.cov[0], b = r2 + s2 * v.cov[1];
    const float beam_a = s2 * (v.cov[0] + par.beam_var), beam_b = s2 * (v.cov[1] + par.beam_var);
    const trg_u32 on_beam = dx2 * beam_b + dy2 * beam_a < beam_a * beam_b;

    if (!v.alive || trg_fabs(v.z) >= par.z_range || dx2 * b + dy2 * a >= a * b)
        return 0u;
    if (par.fresh == VX_AGAIN)
        return 1u;
    /* two tracks meet by chance more often than three */
    if (v.n_tracks == 2u && par.pv_sharp > 0.0f && !(vx_is_sharp(v, par) && on_beam))
        return 0u;
    return v.n_tracks >= par.pv_min_tracks ? 1u : 0u;
}

/* How many tracks of its own a vertex needs beside a larger one. */
TRG_FN trg_u32 vx_own_least(struct vx_vertex v, struct vx_par par)
{
    const trg_u32 few = par.pv_own_tracks < 2u ? par.pv_own_tracks : 2u;

    return par.fresh == VX_AGAIN || vx_is_sharp(v, par) ? few : par.pv_own_tracks;
}

/* Square of the distance in z to the next fit, of the list of n, with more tracks than k; of equals
 * the first one has more.  3e38: there is none. */
TRG_FN float vx_to_larger(const struct vx_fits f, trg_u32 n, trg_u32 k)
{
    float least = 3e38f;
    trg_u32 j = k;

    while (j > 0u && f.tracks[j - 1u] < f.tracks[k])
        j--;
    if (j > 0u)
        least = (f.z[j - 1u] - f.z[k]) * (f.z[j - 1u] - f.z[k]);
    for (j = k + 1u; j < n && f.tracks[j] <= f.tracks[k]; j++)
        ;
    if (j < n && (f.z[j] - f.z[k]) * (f.z[j] - f.z[k]) < least)
        least = (f.z[j] - f.z[k]) * (f.z[j] - f.z[k]);
    return least;
}

/* Whether v, at a squared distance of far2 in z from a larger vertex, is rather a decay of a
 * particle from there: s errors off the beam line, and D errors from it, it has fewer than
 * pv_decay s^2 / D tracks.  Without division. */
TRG_FN trg_u32 vx_is_decay(struct vx_vertex v, float far2, struct vx_grid g, struct vx_par par)
{
    const float dx2 = (v.x - g.beam_x) * (v.x - g.beam_x);
    const float dy2 = (v.y - g.beam_y) * (v.y - g.beam_y);
    const float a = v.cov[0] + par.beam_var, b = v.cov[1] + par.beam_var;
    const float off = par.pv_decay * (dx2 * b + dy2 * a), tracks = (float)v.n_tracks * (a * b);

    return v.n_tracks > 2u && far2 < 3e38f && tracks * tracks * far2 < off * off * v.cov[2] ? 1u
                                                                                            : 0u;
}

/* One group an RoI: drops fits that failed, lie away from the beam line, have too few tracks, or
 * are the lesser of two that are one; the others go back to the list of seeds, in order of z. */
TRG_KERNEL5(vx_prune, (const trg_u8, data), (const struct vx_grid, grids),
            (const struct vx_vertex, fits), (struct vx_vertex, seeds), (struct vx_counts, counts),
            (struct vx_par, par))
{
    TRG_SHARED float z[VX_PV_MAX];
    TRG_SHARED float var[VX_PV_MAX];
    TRG_SHARED trg_u32 tracks[VX_PV_MAX];
    TRG_SHARED trg_u32 order[VX_PV_MAX];
    TRG_SHARED trg_u32 kept;
    const trg_u32 place = vx_place(TRG_BEGIN(data, par.in, TRG_GID), TRG_GID);
    TRG_GLOBAL const struct vx_vertex *in = fits + place;
    TRG_GLOBAL struct vx_vertex *out = seeds + place;
    const trg_u32 n = counts[TRG_GID].settled ? 0u : counts[TRG_GID].n_seeds;

    if (!n)
        return; /* all of the group */
    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE) {
        z[k] = in[k].z;
        var[k] = in[k].cov[2];
        tracks[k] = vx_is_good(in[k], grids[TRG_GID], par) ? in[k].n_tracks : 0u;
    }
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE) {
        /* of equals the first one stays */
        const trg_u32 below = k > 0u && tracks[k - 1u] >= tracks[k];
        const trg_u32 above = k + 1u < n && tracks[k + 1u] > tracks[k];
        const trg_u32 least = vx_own_least(in[k], par);

        order[k] = (below && in[k].own[0] < least) || (above && in[k].own[1] < least);
    }
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE)
        tracks[k] = order[k] ? 0u : tracks[k];
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE) {
        const struct vx_fits f = {z, var, tracks};

        order[k] = par.fresh != VX_AGAIN && tracks[k] &&
                   vx_is_decay(in[k], vx_to_larger(f, n, k), grids[TRG_GID], par);
    }
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE)
        tracks[k] = order[k] ? 0u : tracks[k];
    TRG_BARRIER();
    if (TRG_LID == 0u) {
        const struct vx_fits f = {z, var, tracks};

        kept = vx_merge_fits(f, vx_order_fits(f, n, order), par.pv_merge, order);
        /* where nothing goes, another fit would give the same */
        counts[TRG_GID].settled = kept == n && !par.fresh;
        counts[TRG_GID].n_seeds = kept;
        counts[TRG_GID].n_pv = kept;
    }
    TRG_BARRIER();
    for (trg_u32 j = TRG_LID; j < kept; j += TRG_LSIZE) {
        const trg_u32 k = order[j];
        const trg_u32 below = j > 0u ? order[j - 1u] + 1u : 0u;
        const trg_u32 above = j + 1u < kept ? order[j + 1u] : n;

        out[j] = in[k];
        out[j].todo = below != k || above != k + 1u; /* its neighbours are others than they were */
    }
}

/* ---------------------------------------------------------------- what belongs to which */

struct vx_nearest { /* the primary vertex that a track misses least, in its own errors */
    trg_u32 pv;
    float chi2, r2; /* as in struct vx_miss; chi2 of 3e38: there is none */
};

#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
/* Of the first n of 16 tracks, whose columns are `room` apart, those of n_pv. */
static inline void vx_host_nearest(const float *t, trg_u32 room, trg_u32 n, const float *x,
                                   const float *y, const float *z, trg_u32 n_pv,
                                   struct vx_nearest *ret)
{
    float chi2[VX_LANES], r2[VX_LANES];
    trg_u32 pv[VX_LANES];

    for (trg_u32 k = 0u; k < VX_LANES; k++) {
        chi2[k] = 3e38f;
        r2[k] = 0.0f;
        pv[k] = 0u;
    }
    for (trg_u32 v = 0u; v < n_pv; v++)
        for (trg_u32 k = 0u; k < VX_LANES; k++) {
            const struct vx_miss m =
                vx_from(vx_load_lane(t, room, k < n ? 1u : 0u, k), x[v], y[v], z[v]);
            const trg_u32 nearer = m.chi2 < chi2[k] ? 1u : 0u;

            chi2[k] = nearer ? m.chi2 : chi2[k];
            r2[k] = nearer ? m.r2 : r2[k];
            pv[k] = nearer ? v : pv[k];
        }
    for (trg_u32 k = 0u; k < n; k++)
        ret[k] = (struct vx_nearest){pv[k], chi2[k], r2[k]};
}
#else
TRG_FN struct vx_nearest vx_nearest_of(const struct vx_line l, TRG_LOCAL const float *x,
                                       TRG_LOCAL const float *y, TRG_LOCAL const float *z,
                                       trg_u32 n)
{
    struct vx_nearest best = {0u, 3e38f, 0.0f};

    for (trg_u32 k = 0u; k < n; k++) {
        const struct vx_miss m = vx_from(l, x[k], y[k], z[k]);

        if (m.chi2 < best.chi2) {
            best.chi2 = m.chi2;
            best.r2 = m.r2;
            best.pv = k;
        }
    }
    return best;
}
#endif

struct vx_missed { /* of some tracks: how many are displaced, and the largest chi2 as an integer */
    trg_u32 displaced, most;
};

/* What a track is told of its nearest primary vertex, of n_pv. */
TRG_FN trg_u32 vx_tell_nearest(const struct vx_nearest v, trg_u32 n_pv, const struct vx_par par,
                               struct vx_missed *all)
{
    const float near2 = par.ip_min * par.ip_min, far2 = par.ip_max * par.ip_max;
    const float origin2 = par.origin_sigmas * par.origin_sigmas;
    const trg_u32 takes =
        n_pv && v.chi2 >= near2 && v.chi2 < far2 && v.r2 < par.ip_limit * par.ip_limit;

    if (n_pv && v.chi2 < 3e38f) {
        all->displaced += v.r2 >= par.displaced_ip * par.displaced_ip &&
                          v.chi2 >= par.displaced_significance * par.displaced_significance;
        all->most = trg_as_u32(v.chi2) > all->most ? trg_as_u32(v.chi2) : all->most;
    }
    return !takes ? VX_NONE : v.chi2 < origin2 ? v.pv : v.pv | VX_NO_ORIGIN;
}

/* One group an RoI: for each track the primary vertex that it misses least, in its own errors; how
 * many are displaced; and the list, in order, of those that may come from a secondary vertex.  Two
 * or more groups for an RoI are not possible. */
TRG_KERNEL6(vx_associate, (const trg_u8, data), (const float, tracks),
            (const struct vx_vertex, pvs), (trg_u32, pv_of), (trg_u32, selected),
            (struct vx_counts, counts), (struct vx_par, par))
{
    TRG_SHARED float px[VX_PV_MAX];
    TRG_SHARED float py[VX_PV_MAX];
    TRG_SHARED float pz[VX_PV_MAX];
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_SHARED trg_u32 displaced, largest;
    const trg_u32 first = TRG_BEGIN(data, par.in, TRG_GID);
    const trg_u32 n = TRG_END(data, par.in, TRG_GID) - first, place = vx_place(first, TRG_GID);
    const trg_u32 n_pv = counts[TRG_GID].n_pv;
    struct vx_missed all = {0u, 0u};
    trg_u32 chosen = 0u;

    for (trg_u32 k = TRG_LID; k < n_pv; k += TRG_LSIZE) {
        px[k] = pvs[place + k].x;
        py[k] = pvs[place + k].y;
        pz[k] = pvs[place + k].z;
    }
    if (TRG_LID == 0u)
        displaced = largest = 0u;
    TRG_BARRIER();
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC__)
    for (trg_u32 i = 0u; i < n; i += VX_LANES) {
        const trg_u32 here = n - i < VX_LANES ? n - i : VX_LANES;
        struct vx_nearest v[VX_LANES];

        vx_host_nearest(tracks + first + i, par.items_room, here, px, py, pz, n_pv, v);
        for (trg_u32 k = 0u; k < here; k++)
            pv_of[first + i + k] = vx_tell_nearest(v[k], n_pv, par, &all);
    }
#else
    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
        const struct vx_line l = vx_load(tracks, par.items_room, first + i);

        pv_of[first + i] = vx_tell_nearest(vx_nearest_of(l, px, py, pz, n_pv), n_pv, par, &all);
    }
#endif
    if (all.displaced)
        TRG_ATOMIC_ADD_LOCAL(&displaced, all.displaced);
    TRG_ATOMIC_MAX_LOCAL(&largest, all.most);
    TRG_BARRIER();
    for (trg_u32 at = 0u; at < n; at += TRG_LSIZE) {
        const trg_u32 i = at + TRG_LID;
        const trg_u32 keep = i < n && pv_of[first + (i < n ? i : 0u)] != VX_NONE ? 1u : 0u;
        const trg_u32 to = trg_group_place(scratch, keep, &chosen);

        if (keep && to < par.max_selected)
            selected[first + to] = first + i;
    }
    if (TRG_LID == 0u) {
        counts[TRG_GID].n_displaced = displaced;
        counts[TRG_GID].selected_all = chosen;
        counts[TRG_GID].n_selected = chosen < par.max_selected ? chosen : par.max_selected;
        counts[TRG_GID].ip_significance = trg_sqrt(trg_as_f32(largest));
    }
}
