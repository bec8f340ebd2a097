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
 * ht_order -> (ht_sort -> ht_follow -> ht_accept) a pass -> hg_offsets -> ht_write
 *
 * One group an RoI; groups begin with the largest one, so that a batch does not wait for it. */
#include "trigd/common/group.h"
#include "triplet_search.h"
#include "write.h"
#if HT_VECTORS
#include "filter_host.h"
#endif

/* One group: RoIs by their numbers of hits, the largest first. */
TRG_KERNEL2(ht_order, (const trg_u8, data), (trg_u32, order), (struct ht_par, par))
{
    TRG_GLOBAL const trg_u32 *offsets = TRG_OFFSETS(data, par.common.in);

    for (trg_u32 i = TRG_LID; i < par.common.n_rois; i += TRG_LSIZE) {
        const trg_u32 n = offsets[i + 1u] - offsets[i];
        trg_u32 rank = 0u;

        for (trg_u32 k = 0; k < par.common.n_rois; k++) {
            const trg_u32 other = offsets[k + 1u] - offsets[k];

            rank += other > n || (other == n && k < i);
        }
        order[rank] = i;
    }
}

/* ---------------------------------------------------------------- order of hits */

TRG_FN void ht_clear_summary(TRG_GLOBAL struct hg_summary *s, trg_u32 n_hits, trg_u32 left_out)
{
    s->n_hits = n_hits;
    s->n_on_tracks = s->n_tracks = s->n_cands = s->n_peaks = s->digest = 0u;
    s->wanted = left_out ? n_hits : 0u;
    s->kept = left_out ? n_hits - left_out : 0u;
}

/* Least power of two with which all stations together have a bucket a hit. */
TRG_FN trg_u32 ht_buckets_for(trg_u32 n_stations, trg_u32 n_hits)
{
    trg_u32 buckets = HT_BUCKETS;

    while (buckets * n_stations < n_hits)
        buckets *= 2u;
    return buckets;
}

/* What the triplets among n hits of one bucket cost.  Hits of collisions are spread over the
 * angles, with about one in a bucket; hits at one angle cost their number to the third power. */
TRG_FN trg_u32 ht_work(trg_u32 n)
{
    const trg_u32 units = n / HT_WORK_UNIT;

    return units > 128u || n * units * units > HT_WORK_MOST ? HT_WORK_MOST : n * units * units;
}

/* That of all buckets, whose counts stand one place on. */
TRG_GROUP_FN trg_u32 ht_all_work(TRG_LOCAL trg_u32 *scratch, const struct ht_view v, trg_u32 n)
{
    trg_u32 work = 0u, all;

    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE) {
        work += ht_work(v.begin[k + 1u]);
        work = work < HT_WORK_MOST ? work : HT_WORK_MOST;
    }
    trg_group_scan(scratch, work, &all);
    return all;
}

TRG_FN void ht_clear_stations(TRG_LOCAL trg_u32 *low, TRG_LOCAL trg_u32 *high)
{
    for (trg_u32 s = TRG_LID; s < HT_STATIONS; s += TRG_LSIZE) {
        low[s] = 0xffffffffu;
        high[s] = 0u;
    }
}

TRG_FN void ht_put(const struct ht_view v, trg_u32 at, float x, float y, float z, trg_u32 id)
{
    v.x[at] = x;
    v.y[at] = y;
    v.z[at] = z;
    v.id[at] = id;
    v.claim[at] = HT_NONE;
}

/* Takes all hits out of the buckets. */
TRG_FN void ht_leave_out(const struct ht_view v, trg_u32 n_hits, trg_u32 words)
{
    for (trg_u32 i = TRG_LID; i < n_hits; i += TRG_LSIZE)
        v.link[i] = HT_NONE;
    for (trg_u32 k = TRG_LID; k < words; k += TRG_LSIZE)
        v.begin[k] = 0u;
}

/* One group an RoI: puts the hits that are free into buckets.  Of an RoI over max_work it leaves
 * out all of them. */
TRG_KERNEL6(ht_sort, (const trg_u8, data), (const trg_u32, order), (float, hits), (trg_u32, tables),
            (struct ht_stations, stations), (struct hg_summary, summaries), (struct ht_par, par))
{
    TRG_SHARED trg_u32 low[HT_STATIONS], high[HT_STATIONS], scratch[TRG_GROUP_SCRATCH];
    TRG_SHARED trg_u32 n_stations, left_out;
    const trg_u32 roi = order[TRG_GID];
    const trg_u32 first = TRG_BEGIN(data, par.common.in, roi);
    const trg_u32 n = TRG_END(data, par.common.in, roi) - first;
    TRG_GLOBAL const float *x = TRG_HITS_X(data, par.common.in) + first;
    TRG_GLOBAL const float *y = TRG_HITS_Y(data, par.common.in) + first;
    TRG_GLOBAL const float *z = TRG_HITS_Z(data, par.common.in) + first;
    TRG_GLOBAL const trg_u16 *layer = TRG_HITS_LAYER(data, par.common.in) + first;
    struct ht_view v = ht_look_at(hits, tables, par.common, first, roi);
    const float beam_x = par.common.beam_x, beam_y = par.common.beam_y;
    const trg_u32 shift = par.station_shift;
    trg_u32 top = 0u, out = 0u, all_work, most;

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
    for (trg_u32 k = TRG_LID; k < top * v.buckets + 2u; k += TRG_LSIZE)
        v.begin[k] = 0u;
    TRG_BARRIER();
    most = HT_STATIONS * v.buckets;
    if (!par.pass)
        for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE)
            v.taken[i] = v.head[i] = 0u;
    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
        const trg_u32 bucket = ((trg_u32)layer[i] >> shift) * v.buckets +
                               ht_bucket_of(x[i] - beam_x, y[i] - beam_y, v.buckets);
        const trg_u32 is_free = (bucket < most) & (i < HT_ITEM) & (v.taken[i] == 0u);

        v.link[i] = is_free ? bucket : HT_NONE;
    }
    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE)
        if (v.link[i] != HT_NONE) {
            const trg_u32 s = (trg_u32)layer[i] >> shift, at = ht_order_of_float(z[i]);

            HT_ADD(&v.begin[v.link[i] + 1u], 1u);
            TRG_ATOMIC_MIN_LOCAL(&low[s], at);
            TRG_ATOMIC_MAX_LOCAL(&high[s], at);
        }
    TRG_BARRIER();
    all_work = ht_all_work(scratch, v, top * v.buckets);
    if (all_work > par.max_work) { /* of the whole group */
        ht_leave_out(v, n, top * v.buckets + 2u);
        top = 0u;
    }
    /* where each bucket begins, one place on: filling it moves that to where it ends */
    trg_group_scan_global(scratch, v.begin + 1u, top * v.buckets);
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE)
        if (v.link[i] != HT_NONE) {
            const trg_u32 at = HT_ADD(&v.begin[v.link[i] + 1u], 1u);

            ht_put(v, at, x[i] - beam_x, y[i] - beam_y, z[i],
                   (trg_u32)layer[i] << HT_ITEM_BITS | i);
        }
    for (trg_u32 s = TRG_LID; s < top; s += TRG_LSIZE) {
        stations[roi].low[s] = low[s];
        stations[roi].high[s] = high[s];
    }
    if (TRG_LID == 0u) {
        stations[roi].n = top;
        stations[roi].buckets = v.buckets;
        if (!par.pass)
            ht_clear_summary(&summaries[roi], n, all_work > par.max_work ? n : left_out);
    }
}

/* ---------------------------------------------------------------- roads */

/* One group an RoI: all stations, and roads that begin two stations behind.  Behind the last
 * station of the wide pass begin those that have two hits on one. */
TRG_KERNEL6(ht_follow, (const trg_u8, data), (const trg_u32, order), (float, hits),
            (trg_u32, tables), (struct ht_stations, stations), (struct ht_road, roads),
            (struct ht_par, par))
{
    TRG_SHARED trg_u32 n_roads, n_now, n_next;
    const trg_u32 roi = order[TRG_GID], first = TRG_BEGIN(data, par.common.in, roi);
    const struct ht_view v =
        ht_look_at_sorted(hits, tables, par.common, first, roi, stations[roi].buckets);
    TRG_GLOBAL trg_u32 *words = (TRG_GLOBAL trg_u32 *)hits;
    TRG_GLOBAL trg_u32 *now = words + HT_NOW * par.common.items_room + first;
    TRG_GLOBAL trg_u32 *next = words + HT_NEXT * par.common.items_room + first;
    TRG_GLOBAL struct ht_road *road = roads + first;
    const trg_u32 n = stations[roi].n;

    if (TRG_LID == 0u)
        n_roads = n_now = 0u;
    for (trg_u32 step = 0; step < n + par.is_wide; step++) {
        const trg_u32 station = n - 1u - step, behind = n + 1u - step;
        const trg_u32 is_here = step < n, has_first = step >= 2u && n >= 2u;
        const struct ht_station s = ht_station_of(&stations[roi], is_here ? station : 0u);
        TRG_GLOBAL trg_u32 *swap;
        trg_u32 from, to;

        TRG_BARRIER();
        if (TRG_LID == 0u)
            n_next = 0u;
        for (trg_u32 k = TRG_LID; is_here && k < n_now; k += TRG_LSIZE)
            ht_want(v, par, &road[now[k]], station, s);
        TRG_BARRIER();
        for (trg_u32 k = TRG_LID; is_here && k < n_now; k += TRG_LSIZE) {
            ht_take(v, &road[now[k]]);
            if (ht_goes_on(&road[now[k]], par, station))
                next[TRG_ATOMIC_ADD_LOCAL(&n_next, 1u)] = now[k];
        }
        TRG_BARRIER();
        for (trg_u32 k = TRG_LID; is_here && k < n_now; k += TRG_LSIZE)
            ht_release(v, &road[now[k]]);
        from = has_first ? v.begin[behind * v.buckets] : 0u;
        to = has_first ? v.begin[(behind + 1u) * v.buckets] : 0u;
        for (trg_u32 h = from + TRG_LID; h < to; h += TRG_LSIZE) {
            const struct ht_triplet t = ht_find_triplet(v, par, &stations[roi], h, behind);

            if (t.second != HT_NONE) {
                const trg_u32 at = TRG_ATOMIC_ADD_LOCAL(&n_roads, 1u);

                ht_begin_road(v, h, t, &road[at]);
                next[TRG_ATOMIC_ADD_LOCAL(&n_next, 1u)] = at;
            }
        }
        TRG_BARRIER();
        if (TRG_LID == 0u)
            n_now = n_next;
        swap = now;
        now = next;
        next = swap;
    }
    TRG_BARRIER();
    if (TRG_LID == 0u)
        stations[roi].n_roads = n_roads;
}

/* ---------------------------------------------------------------- roads to tracks */

TRG_FN struct hg_point ht_point(const struct hg_input in, const struct hg_par par,
                                const struct ht_view v, trg_u32 at)
{
    return hg_point_at(in, par, in.first + ht_item(v, at));
}

/* A road of three hits that nobody has taken claims them if they are a track; the better, the lower
 * its key. */
TRG_FN void ht_apply(const struct ht_view v, const struct hg_input in, const struct hg_par par,
                     TRG_GLOBAL struct ht_road *r)
{
    const struct hg_point a = ht_point(in, par, v, r->first[2]),
                          b = ht_point(in, par, v, r->first[1]);
    const struct hg_point c = ht_point(in, par, v, r->first[0]);

    if (ht_is_robbed(v, r) || !hg_are_track(par, a, b, c)) {
        r->n = 0u;
        return;
    }
    r->key =
        (trg_u32)(hg_chi2_of(par, a, b, c) / par.chi2_3_max * 2047.0f) << HT_ITEM_BITS | r->item;
    for (trg_u32 k = 0; k < 3u; k++)
        HT_MIN(&v.claim[r->first[k]], r->key);
}

TRG_FN trg_u32 ht_is_track(const struct ht_view v, const struct hg_par par,
                           TRG_GLOBAL const struct ht_road *r)
{
    return r->n >= par.min_hits &&
           (r->n > 3u || (v.claim[r->first[0]] == r->key && v.claim[r->first[1]] == r->key &&
                          v.claim[r->first[2]] == r->key));
}

/* Keeps a road as a track, its hits along z by their items in the batch. */
TRG_FN void ht_keep(const struct ht_view v, TRG_GLOBAL const struct ht_road *r, trg_u32 first,
                    TRG_GLOBAL struct hg_cand *track)
{
    trg_u32 at = r->last, k = 0u;

    for (; k + 3u < r->n; k++) {
        track->hit[k] = first + ht_item(v, at);
        at = v.link[at];
    }
    for (trg_u32 j = 0; j < 3u; j++) {
        track->hit[k + j] = first + ht_item(v, r->first[2u - j]);
        v.taken[ht_item(v, r->first[2u - j])] = 1u;
    }
    track->n = r->n;
}

/* One group an RoI. */
TRG_KERNEL8(ht_accept, (const trg_u8, data), (const trg_u32, order), (float, hits),
            (trg_u32, tables), (const struct ht_stations, stations), (struct ht_road, roads),
            (struct hg_cand, tracks), (struct hg_summary, summaries), (struct ht_par, par))
{
    TRG_SHARED trg_u32 n_tracks, n_on_tracks;
    const trg_u32 roi = order[TRG_GID], first = TRG_BEGIN(data, par.common.in, roi);
    const struct ht_view v = ht_look_at(hits, tables, par.common, first, roi);
    const struct hg_input in = hg_input_of(data, par.common.in, roi);
    TRG_GLOBAL struct ht_road *road = roads + first;
    TRG_GLOBAL struct hg_cand *out = tracks + first / 3u + roi;
    const trg_u32 n = stations[roi].n_roads;

    if (TRG_LID == 0u) {
        n_tracks = summaries[roi].n_tracks;
        n_on_tracks = summaries[roi].n_on_tracks;
    }
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE)
        if (road[k].n == 3u)
            ht_apply(v, in, par.common, &road[k]);
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k < n; k += TRG_LSIZE)
        if (ht_is_track(v, par.common, &road[k])) {
            const trg_u32 t = TRG_ATOMIC_ADD_LOCAL(&n_tracks, 1u);

            TRG_ATOMIC_ADD_LOCAL(&n_on_tracks, road[k].n);
            ht_keep(v, &road[k], first, &out[t]);
            v.head[out[t].hit[0] - first] = t + 1u;
        }
    TRG_BARRIER();
    if (TRG_LID == 0u) {
        summaries[roi].n_tracks = n_tracks;
        summaries[roi].n_on_tracks = n_on_tracks;
        summaries[roi].n_cands += n;
    }
}

/* ---------------------------------------------------------------- the product */

/* One group an RoI: fits its tracks and writes them in the order of their first hits, and the hits
 * of each as doublets. */
TRG_KERNEL7(ht_write, (const trg_u8, data), (const trg_u32, order), (float, hits),
            (trg_u32, tables), (const struct hg_cand, found), (trg_u8, tracks), (trg_u8, doublets),
            (struct ht_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    const trg_u32 roi = order[TRG_GID], first = TRG_BEGIN(data, par.common.in, roi);
    const trg_u32 n = TRG_END(data, par.common.in, roi) - first;
    const struct ht_view v = ht_look_at(hits, tables, par.common, first, roi);
    const struct hg_input in = hg_input_of(data, par.common.in, roi);
    TRG_GLOBAL const struct hg_cand *mine = found + first / 3u + roi;
    const trg_u32 begin = TRG_BEGIN(tracks, par.common.tracks, roi);
    TRG_GLOBAL trg_u32 *words = (TRG_GLOBAL trg_u32 *)hits;
    TRG_GLOBAL trg_u32 *track = words + HT_NOW * par.common.items_room + first;
    TRG_GLOBAL trg_u32 *doublet = words + HT_NEXT * par.common.items_room + first;
    struct hg_products to;
    trg_u32 count = 0u, sum = TRG_BEGIN(doublets, par.common.doublets, roi);

    for (trg_u32 base = 0; base < n; base += TRG_LSIZE) {
        const trg_u32 i = base + TRG_LID, head = i < n ? v.head[i] : 0u;
        const trg_u32 n_doublets = head ? mine[head - 1u].n - 1u : 0u;
        const trg_u32 at = trg_group_place(scratch, head ? 1u : 0u, &count);
        trg_u32 total;
        const trg_u32 before = trg_group_scan(scratch, n_doublets, &total);

        if (head) {
            track[at] = head - 1u;
            doublet[at] = sum + before;
        }
        sum += total;
    }
    TRG_BARRIER();
    to.tracks = tracks;
    to.doublets = doublets;
#if HT_VECTORS
    for (trg_u32 k = 0; k < count; k += HG_LANES)
        hg_put_tracks16(to, &in, &par.common, mine, &track[k],
                        count - k < HG_LANES ? count - k : HG_LANES, begin + k);
    for (trg_u32 k = 0; k < count; k++)
        hg_put_doublets(to, in, par.common, &mine[track[k]], doublet[k]);
#else
    for (trg_u32 k = TRG_LID; k < count; k += TRG_LSIZE)
        hg_put_one(to, in, par.common, &mine[track[k]], begin + k, doublet[k]);
#endif
}
