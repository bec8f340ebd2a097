/* SPDX-License-Identifier: Apache-2.0 */
/* Straight tracks by triplet: stations are gone through from the highest z to the lowest.  On each,
 * roads that come from the stations behind it take the nearest hits; then each hit two stations
 * behind it that is still free looks for the two hits that with it lie best on a line, and begins a
 * road.  A second pass does the same with what is left, in wide windows, for tracks that do not
 * point to the beam line.  After D. Campora Perez, N. Neufeld, A. Riscos Nunez, 'A fast local
 * algorithm for track reconstruction on parallel architectures', IPDPSW 2019, and R. Aaij et al.,
 * arXiv:1912.09161; see README.md for what differs.
 *
 * All roads look at the station as it was before any of them takes a hit, and of those that want
 * the same hit the one with the lowest key gets it.  So nothing depends on who is first.
 *
 * ht_order -> ht_sort -> ht_follow -> (ht_rest -> ht_follow) a pass more -> hg_offsets -> ht_write
 *
 * One group an RoI; groups begin with the largest one, so that a batch does not wait for it. */
#include "triplet_search.h"
#include "triplet_sort.h"
#include "triplet_tracks.h"
#include "write.h"
#if defined(__CUDACC__)
#include "triplet_warp.h"
#endif
#if HT_VECTORS
#include "filter_host.h"
#include "triplet_pairs_host.h"
#include "triplet_sort_host.h"
#include "triplet_tracks_host.h"
#endif

/* Where an RoI of n hits stands, in steps of HT_SIZE_STEP hits: the larger, the lower. */
TRG_FN trg_u32 ht_size_class(trg_u32 n)
{
    const trg_u32 c = n / HT_SIZE_STEP;

    return c < HT_SIZES ? HT_SIZES - 1u - c : 0u;
}

/* One group: RoIs by their numbers of hits, the largest first.  Those of a class are in any order:
 * nothing but the time depends on it. */
TRG_KERNEL2(ht_order, (const trg_u8, data), (trg_u32, order), (struct ht_par, par))
{
    TRG_SHARED trg_u32 begin[HT_SIZES], scratch[TRG_GROUP_SCRATCH];
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.common.in);

    for (trg_u32 c = TRG_LID; c < HT_SIZES; c += TRG_LSIZE)
        begin[c] = 0u;
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < par.common.n_rois; i += TRG_LSIZE)
        TRG_ATOMIC_ADD_LOCAL(&begin[ht_size_class(offsets[i + 1u] - offsets[i])], 1u);
    trg_group_scan_local(scratch, begin, HT_SIZES);
    for (trg_u32 i = TRG_LID; i < par.common.n_rois; i += TRG_LSIZE)
        order[TRG_ATOMIC_ADD_LOCAL(&begin[ht_size_class(offsets[i + 1u] - offsets[i])], 1u)] = i;
}

/* ---------------------------------------------------------------- order of hits */

/* One group an RoI: puts the hits that are free into buckets.  Of an RoI over max_work it leaves
 * out all of them. */
TRG_KERNEL6(ht_sort, (const trg_u8, data), (const trg_u32, order), (float, hits), (trg_u32, tables),
            (struct ht_stations, stations), (struct hg_summary, summaries), (struct ht_par, par))
#if HT_VECTORS
{
    const trg_u32 roi = order[par.first + TRG_GID];
    const trg_u32 first = TRG_BEGIN(data, par.common.in, roi);
    const struct ht_columns h = {.x = TRG_HITS_X(data, par.common.in) + first,
                                 .y = TRG_HITS_Y(data, par.common.in) + first,
                                 .z = TRG_HITS_Z(data, par.common.in) + first,
                                 .layer = TRG_HITS_LAYER(data, par.common.in) + first,
                                 .n = TRG_END(data, par.common.in, roi) - first};
    const struct ht_view v = ht_look_at(hits, tables, par.common, first, roi);
    trg_u32 *place = (trg_u32 *)hits + HT_NOW * par.common.items_room + HT_AT(first);

    ht_clear_summary(&summaries[roi], h.n, ht_sort_all(v, &h, &par, place, &stations[roi]));
}
#else
{
    TRG_SHARED trg_u32 low[HT_STATIONS], high[HT_STATIONS], scratch[TRG_GROUP_SCRATCH];
    TRG_SHARED trg_u32 n_stations, left_out;
    const trg_u32 roi = order[par.first + TRG_GID];
    const trg_u32 first = TRG_BEGIN(data, par.common.in, roi);
    const trg_u32 n = TRG_END(data, par.common.in, roi) - first;
    TRG_GLOBAL const float *x = TRG_HITS_X(data, par.common.in) + first;
    TRG_GLOBAL const float *y = TRG_HITS_Y(data, par.common.in) + first;
    TRG_GLOBAL const float *z = TRG_HITS_Z(data, par.common.in) + first;
    TRG_GLOBAL const trg_u16 *layer = TRG_HITS_LAYER(data, par.common.in) + first;
    struct ht_view v = ht_look_at(hits, tables, par.common, first, roi);
    TRG_GLOBAL trg_u32 *place =
        (TRG_GLOBAL trg_u32 *)hits + HT_NOW * par.common.items_room + HT_AT(first);
    const float beam_x = par.common.beam_x, beam_y = par.common.beam_y;
    const trg_u32 shift = par.station_shift;
    trg_u32 top = 0u, out = 0u, all_work, most, is_over;

    ht_clear_stations(low, high);
    if (TRG_LID == 0u)
        n_stations = left_out = 0u;
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
        const trg_u32 s = ((trg_u32)layer[i] >> shift) + 1u;

        top = s > top && s <= HT_STATIONS ? s : top;
        out += s > HT_STATIONS || i >= HT_ITEM;
    }
    TRG_ATOMIC_MAX_LOCAL(&n_stations, top);
    TRG_ATOMIC_ADD_LOCAL(&left_out, out);
    TRG_BARRIER();
    top = n_stations;
    v.buckets = ht_buckets_for(top, n);
    for (trg_u32 k = TRG_LID; k < top * v.buckets; k += TRG_LSIZE)
        v.begin[k] = 0u;
    TRG_BARRIER();
    most = HT_STATIONS * v.buckets;
    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
        const trg_u32 s = (trg_u32)layer[i] >> shift;
        const trg_u32 bucket =
            s * v.buckets + ht_bucket_of(x[i] - beam_x, y[i] - beam_y, v.buckets);
        const trg_u32 is_in = (bucket < most) & (i < HT_ITEM);

        v.taken[i] = v.head[i] = 0u;
        v.claim[i] = HT_NONE;
        v.link[i] = is_in ? bucket : HT_NONE;
        if (is_in) {
            place[i] = HT_ADD(&v.begin[bucket], 1u); /* in its bucket */
            ht_widen(&low[s], &high[s], z[i]);
        }
    }
    TRG_BARRIER();
    all_work = ht_begin_buckets(scratch, v.begin, top * v.buckets);
    is_over = all_work > par.max_work; /* of the whole group */
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE)
        if (!is_over && v.link[i] != HT_NONE)
            ht_put(v, v.begin[v.link[i]] + place[i], x[i] - beam_x, y[i] - beam_y, z[i],
                   (trg_u32)layer[i] << HT_ITEM_BITS | i);
    for (trg_u32 s = TRG_LID; s < top; s += TRG_LSIZE) {
        stations[roi].low[s] = low[s];
        stations[roi].high[s] = high[s];
    }
    if (TRG_LID == 0u) {
        stations[roi].n = is_over ? 0u : top;
        stations[roi].buckets = v.buckets;
        ht_clear_summary(&summaries[roi], n, is_over ? n : left_out);
    }
}
#endif

/* One group an RoI: takes out the hits that tracks have.  The others stay in order, and in their
 * buckets. */
TRG_KERNEL5(ht_rest, (const trg_u8, data), (const trg_u32, order), (float, hits), (trg_u32, tables),
            (struct ht_stations, stations), (struct ht_par, par))
{
    const trg_u32 roi = order[par.first + TRG_GID], first = TRG_BEGIN(data, par.common.in, roi);
    TRG_GLOBAL const float *x = TRG_HITS_X(data, par.common.in) + first;
    const struct ht_view v =
        ht_look_at_sorted(hits, tables, par.common, first, roi, stations[roi].buckets);
#if HT_VECTORS
    trg_u32 *place = (trg_u32 *)hits + HT_NOW * par.common.items_room + HT_AT(first);

    ht_sort_rest(v, x, par.common.beam_x, place, &stations[roi]);
}
#else
    TRG_SHARED trg_u32 low[HT_STATIONS], high[HT_STATIONS], scratch[TRG_GROUP_SCRATCH];
    const trg_u32 top = stations[roi].n, all = v.begin[top * v.buckets];
    trg_u32 rest = 0u;

    ht_clear_stations(low, high);
    TRG_BARRIER();
    for (trg_u32 base = 0u; base < all; base += TRG_LSIZE) {
        const trg_u32 at = base + TRG_LID;
        struct ht_hit h = ht_hit_at(v, at < all ? at : base);
        const trg_u32 item = h.id & HT_ITEM, is_free = at < all && v.taken[item] == 0u;
        const trg_u32 to = trg_group_place(scratch, is_free, &rest);

        if (at < all)
            v.link[at] = to; /* how many are free before it */
        if (is_free) {
            h.x = h.x < HT_USED ? h.x : x[item] - par.common.beam_x;
            ht_put_hit(v, to, h);
            v.claim[to] = HT_NONE;
            ht_widen(&low[h.id >> HT_ITEM_BITS >> par.station_shift],
                     &high[h.id >> HT_ITEM_BITS >> par.station_shift], h.z);
        }
    }
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k <= top * v.buckets; k += TRG_LSIZE)
        v.begin[k] = v.begin[k] < all ? v.link[v.begin[k]] : rest;
    for (trg_u32 s = TRG_LID; s < top; s += TRG_LSIZE) {
        stations[roi].low[s] = low[s];
        stations[roi].high[s] = high[s];
    }
}
#endif

/* ---------------------------------------------------------------- roads to tracks */

#if !HT_VECTORS
/* Keeps those of the roads that are tracks. */
TRG_GROUP_FN void ht_make_tracks(const struct ht_view v, const struct hg_input in,
                                 const struct hg_par par, TRG_GLOBAL struct ht_road *road,
                                 trg_u32 n_roads, const struct ht_kept kept)
{
    for (trg_u32 k = TRG_LID; k < n_roads; k += TRG_LSIZE)
        if (road[k].n == 3u)
            ht_apply(v, in, par, &road[k]);
        else if (road[k].n == 4u)
            ht_end_chance(v, in, par, &road[k]);
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k < n_roads; k += TRG_LSIZE)
        if (ht_is_track(v, par, &road[k])) {
            const trg_u32 t = TRG_ATOMIC_ADD_LOCAL(kept.n, 1u);

            TRG_ATOMIC_ADD_LOCAL(kept.n_on, road[k].n);
            ht_keep(v, &road[k], in.first, t, &kept.track[t]);
        }
}

TRG_FN void ht_sum_up(TRG_GLOBAL struct hg_summary *s, trg_u32 n_tracks, trg_u32 n_on_tracks,
                      trg_u32 n_roads)
{
    s->n_tracks = n_tracks;
    s->n_on_tracks = n_on_tracks;
    s->n_cands += n_roads;
}
#endif

/* ---------------------------------------------------------------- roads */

#if !defined(__CUDACC__) && !HT_VECTORS
/* Begins roads at those of the hits from <= h < to of station `behind` that find a triplet. */
TRG_FN void ht_begin_roads(const struct ht_view v, const struct ht_par par,
                           TRG_GLOBAL const struct ht_stations *stations, trg_u32 from, trg_u32 to,
                           trg_u32 behind, const struct ht_begun b)
{
    for (trg_u32 h = from + TRG_LID; h < to; h += TRG_LSIZE) {
        const struct ht_triplet t = ht_find_triplet(v, par, stations, h, behind);

        if (t.second != HT_NONE)
            ht_add_road(v, b, h, t);
    }
}
#endif

struct ht_counters { /* of a group */
    trg_u32 n_roads, n_tracks, n_on_tracks;
    trg_u32 n_now[2]; /* roads that are followed: of even steps, of odd ones */
};

struct ht_shared { /* what a group has in shared memory */
    TRG_LOCAL struct ht_counters *count;
#if defined(__CUDACC__)
    struct ht_desk *desk; /* of this warp */
    trg_u32 *n_seeds;     /* [HT_STATIONS] */
#endif
};

struct ht_job { /* an RoI, and where its roads and tracks go */
    struct ht_view v;
    struct hg_input in;
    TRG_GLOBAL const struct ht_stations *stations;
    TRG_GLOBAL trg_u32 *now, *next;
    TRG_GLOBAL struct ht_road *road;
    TRG_GLOBAL struct hg_cand *tracks;
    TRG_GLOBAL struct hg_summary *summary;
};

#if !defined(__CUDACC__) && !HT_VECTORS
/* Roads take hits of a station. */
TRG_GROUP_FN void ht_follow_on(const struct ht_job job, const struct ht_par par,
                               TRG_GLOBAL const trg_u32 *now, trg_u32 n, trg_u32 station,
                               const struct ht_station s, TRG_GLOBAL trg_u32 *next,
                               TRG_LOCAL trg_u32 *n_next)
{
    const struct ht_view v = job.v;
    TRG_GLOBAL struct ht_road *road = job.road;

    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE)
        ht_want(v, par, &road[now[k]], station, s);
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE) {
        ht_take(v, &road[now[k]]);
        if (ht_goes_on(&road[now[k]], par, station))
            next[TRG_ATOMIC_ADD_LOCAL(n_next, 1u)] = now[k];
    }
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE)
        ht_release(v, &road[now[k]]);
}
#endif

/* All stations of an RoI, and roads that begin two stations behind.  Behind the last station of the
 * wide pass begin those that have two hits on one.  Then tracks are made of the roads. */
#if HT_VECTORS
static inline void ht_follow_roi(const struct ht_job job, const struct ht_par par,
                                 const struct ht_shared d)
{
    const struct ht_view *v = &job.v;
    const trg_u32 n = job.stations->n, all = v->begin[n * v->buckets];
    struct ht_roads roads = {.word = (trg_u32 *)job.road, .room = all};
    struct ht_roads ended = {.word = roads.word + HT_ROAD_WORDS * all, .room = all};
    const struct ht_kept kept = {job.tracks, &job.summary->n_tracks, &job.summary->n_on_tracks};

    (void)d;
    for (trg_u32 step = 0; step < n + par.is_wide; step++) {
        const trg_u32 station = n - 1u - step, behind = n + 1u - step;

        if (step < n) {
            const struct ht_station s = ht_station_of(job.stations, station);

            ht_follow_roads(v, &par, &roads, station, &s, &ended);
        }
        if (step >= 2u && n >= 2u)
            job.summary->n_cands +=
                ht_begin_roads(*v, par, job.stations, v->begin[behind * v->buckets],
                               v->begin[(behind + 1u) * v->buckets], behind, &roads);
    }
    ht_judge(v, &job.in, &par.common, &ended);
    ht_judge(v, &job.in, &par.common, &roads);
    ht_make_tracks(v, job.in, &par.common, &ended, kept);
    ht_make_tracks(v, job.in, &par.common, &roads, kept);
}
#else
TRG_GROUP_FN void ht_follow_roi(const struct ht_job job, const struct ht_par par,
                                const struct ht_shared d)
{
    const struct ht_kept kept = {job.tracks, &d.count->n_tracks, &d.count->n_on_tracks};
    const struct ht_view v = job.v;
    const trg_u32 n = job.stations->n;
    TRG_GLOBAL trg_u32 *now = job.now, *next = job.next;
#if defined(__CUDACC__)
    const struct ht_warp warp = {v, par, job.stations, d.desk};
#endif

    if (TRG_LID == 0u) {
        d.count->n_roads = d.count->n_now[0] = d.count->n_now[1] = 0u;
        d.count->n_tracks = job.summary->n_tracks;
        d.count->n_on_tracks = job.summary->n_on_tracks;
    }
#if defined(__CUDACC__)
    for (trg_u32 k = TRG_LID; k < HT_STATIONS; k += TRG_LSIZE)
        d.n_seeds[k] = 0u;
    TRG_BARRIER();
    if (par.is_wide)
        ht_warp_seed(warp, v.begin[n * v.buckets], d.n_seeds);
#endif
    TRG_BARRIER();
    for (trg_u32 step = 0; step < n + par.is_wide; step++) {
        const trg_u32 station = n - 1u - step, behind = n + 1u - step;
        const trg_u32 is_here = step < n, has_first = step >= 2u && n >= 2u;
        const struct ht_station s = ht_station_of(job.stations, is_here ? station : 0u);
        const trg_u32 from = has_first ? v.begin[behind * v.buckets] : 0u;
        const trg_u32 to = has_first ? v.begin[(behind + 1u) * v.buckets] : 0u;
        const trg_u32 n_here = is_here ? d.count->n_now[step & 1u] : 0u;
        TRG_LOCAL trg_u32 *n_next = &d.count->n_now[~step & 1u];
        TRG_GLOBAL trg_u32 *swap;

#if defined(__CUDACC__)
        if (!n_here && (from == to || (par.is_wide && !d.n_seeds[behind])))
            continue;
        ht_warp_follow_on(warp, job.road, now, n_here, station, s, next, n_next);
#else
        ht_follow_on(job, par, now, n_here, station, s, next, n_next);
#endif
        if (TRG_LID == 0u)
            d.count->n_now[step & 1u] = 0u;
#if defined(__CUDACC__)
        ht_warp_begin_roads(warp, from, to,
                            (struct ht_begun){job.road, next, &d.count->n_roads, n_next});
#else
        ht_begin_roads(v, par, job.stations, from, to, behind,
                       (struct ht_begun){job.road, next, &d.count->n_roads, n_next});
#endif
        TRG_BARRIER();
        swap = now;
        now = next;
        next = swap;
    }
    ht_make_tracks(v, job.in, par.common, job.road, d.count->n_roads, kept);
    TRG_BARRIER();
    if (TRG_LID == 0u)
        ht_sum_up(job.summary, d.count->n_tracks, d.count->n_on_tracks, d.count->n_roads);
}
#endif

#if defined(__CUDACC__)
#undef TRG_BOUNDS
#define TRG_BOUNDS __launch_bounds__(HT_FOLLOW_FEW, 7) /* 72 registers */
/* What a group of so many work-items has in shared memory. */
#define HT_SHARED(d, most)                             \
    TRG_SHARED struct ht_desk desks[(most) / HT_WARP]; \
    TRG_SHARED trg_u32 n_seeds[HT_STATIONS];           \
    TRG_SHARED struct ht_counters count;               \
    const struct ht_shared d = {&count, &desks[TRG_LID / HT_WARP], n_seeds}
#else
#define HT_SHARED(d, most)               \
    TRG_SHARED struct ht_counters count; \
    const struct ht_shared d = {&count}
#endif
#define HT_JOB(job)                                                                              \
    const trg_u32 roi = order[par.first + TRG_GID], first = TRG_BEGIN(data, par.common.in, roi); \
    TRG_GLOBAL trg_u32 *words = (TRG_GLOBAL trg_u32 *)hits;                                      \
    const struct ht_job job = {                                                                  \
        ht_look_at_sorted(hits, tables, par.common, first, roi, stations[roi].buckets),          \
        hg_input_of(data, par.common.in, roi),                                                   \
        &stations[roi],                                                                          \
        words + HT_NOW * par.common.items_room + HT_AT(first),                                   \
        words + HT_NEXT * par.common.items_room + HT_AT(first),                                  \
        roads + HT_AT(first),                                                                    \
        tracks + first / 3u + roi,                                                               \
        &summaries[roi]}

/* One group an RoI. */
TRG_KERNEL8(ht_follow, (const trg_u8, data), (const trg_u32, order), (float, hits),
            (trg_u32, tables), (const struct ht_stations, stations), (struct ht_road, roads),
            (struct hg_cand, tracks), (struct hg_summary, summaries), (struct ht_par, par))
{
    HT_SHARED(d, HT_FOLLOW_FEW);
    HT_JOB(job);

    ht_follow_roi(job, par, d);
}

#if defined(__CUDACC__)
#undef TRG_BOUNDS
#define TRG_BOUNDS __launch_bounds__(HT_FOLLOW_MAX, 3)
#endif
/* The same in larger groups. */
TRG_KERNEL8(ht_follow_large, (const trg_u8, data), (const trg_u32, order), (float, hits),
            (trg_u32, tables), (const struct ht_stations, stations), (struct ht_road, roads),
            (struct hg_cand, tracks), (struct hg_summary, summaries), (struct ht_par, par))
{
    HT_SHARED(d, HT_FOLLOW_MAX);
    HT_JOB(job);

    ht_follow_roi(job, par, d);
}

/* ---------------------------------------------------------------- the product */

/* One group an RoI: fits its tracks and writes them in the order of their first hits, and the hits
 * of each as doublets. */
TRG_KERNEL7(ht_write, (const trg_u8, data), (const trg_u32, order), (float, hits),
            (trg_u32, tables), (const struct hg_cand, found), (trg_u8, tracks), (trg_u8, doublets),
            (struct ht_par, par))
{
#if !HT_VECTORS
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
#endif
    const trg_u32 roi = order[par.first + TRG_GID], first = TRG_BEGIN(data, par.common.in, roi);
    const trg_u32 n = TRG_END(data, par.common.in, roi) - first;
    const struct ht_view v = ht_look_at(hits, tables, par.common, first, roi);
    const struct hg_input in = hg_input_of(data, par.common.in, roi);
    TRG_GLOBAL const struct hg_cand *mine = found + first / 3u + roi;
    const trg_u32 begin = TRG_BEGIN(tracks, par.common.tracks, roi);
    TRG_GLOBAL trg_u32 *words = (TRG_GLOBAL trg_u32 *)hits;
    TRG_GLOBAL trg_u32 *track = words + HT_NOW * par.common.items_room + HT_AT(first);
    TRG_GLOBAL trg_u32 *doublet = words + HT_NEXT * par.common.items_room + HT_AT(first);
    struct hg_products to;
    trg_u32 count = 0u, sum = TRG_BEGIN(doublets, par.common.doublets, roi);

#if HT_VECTORS
    for (trg_u32 i = 0; i < n; i += HT_LANES) {
        const __m512i heads = _mm512_maskz_loadu_epi32(ht_lanes(n - i), v.head + i);

        for (trg_u32 left = _mm512_test_epi32_mask(heads, heads); left; left &= left - 1u) {
            const trg_u32 head = v.head[i + (trg_u32)__builtin_ctz(left)];

            track[count] = head >> HT_LENGTH_BITS;
            doublet[count++] = sum;
            sum += (head & HT_LENGTH) - 1u;
        }
    }
#else
    for (trg_u32 base = 0; base < n; base += HT_STRETCH * TRG_LSIZE) {
        const trg_u32 from = base + HT_STRETCH * TRG_LID;
        trg_u32 these = 0u, before, total; /* tracks << 16 | their doublets */

        for (trg_u32 i = from; i < from + HT_STRETCH && i < n; i++)
            these += v.head[i] ? (1u << 16) + (v.head[i] & HT_LENGTH) - 1u : 0u;
        before = trg_group_scan(scratch, these, &total);
        for (trg_u32 i = from; i < from + HT_STRETCH && i < n; i++)
            if (v.head[i]) {
                track[count + (before >> 16)] = v.head[i] >> HT_LENGTH_BITS;
                doublet[count + (before >> 16)] = sum + (before & 0xffffu);
                before += (1u << 16) + (v.head[i] & HT_LENGTH) - 1u;
            }
        count += total >> 16;
        sum += total & 0xffffu;
    }
#endif
    TRG_BARRIER();
    to.tracks = tracks;
    to.doublets = doublets;
#if HT_VECTORS
    for (trg_u32 k = 0; k < count; k += HG_LANES)
        hg_put_tracks16(to, &in, &par.common, mine, &track[k],
                        count - k < HG_LANES ? count - k : HG_LANES, begin + k);
    for (trg_u32 k = 0; k < count; k++)
        hg_put_doublets16(to, &in, &par.common, &mine[track[k]], doublet[k]);
#else
    for (trg_u32 k = TRG_LID; k < count; k += TRG_LSIZE)
        hg_put_one(to, in, par.common, &mine[track[k]], begin + k, doublet[k]);
#endif
}
