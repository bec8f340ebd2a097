/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters of single pixels with charge, and the hits that they are, of a whole batch in one
 * launch: as clusters.kernel.c, with a pixel for each item.  Centres are weighted with the charge,
 * in integers. */
#include "pixels.h"
#include "dead.h"
#include "join.h"
#include "sort.h"
#include "trigd/common/group.h"

#include "pixels.collections.h"

#include "hit.h"

/* Words of shared memory.  In CUDA 4 KiB more than a scan needs: with less than 1 KiB, and the
 * division of memory that the backend asks for, px_pixels is a quarter slower on an H200
 * (docs/clusters.md). */
#if defined(__CUDACC__)
#define PX_SCRATCH (TRG_GROUP_SCRATCH + 1024u)
#else
#define PX_SCRATCH TRG_GROUP_SCRATCH
#endif

struct px_view { /* the pixels of an RoI in the order of their keys, and their nodes */
    TRG_GLOBAL trg_u32 *key, *charge, *parent, *sum;
    trg_u32 n, stride; /* stride: from one kind of sum to the next */
    trg_u32 base;      /* clusters of the RoIs before */
};

struct px_columns {
    TRG_GLOBAL const trg_u16 *module, *column, *row, *charge;
};

TRG_FN struct px_columns px_columns_of(TRG_GLOBAL const trg_u8 *data, const struct trg_span span,
                                       trg_u32 begin)
{
    struct px_columns in;

    in.module = TRG_PIXELS_MODULE(data, span) + begin;
    in.column = TRG_PIXELS_COLUMN(data, span) + begin;
    in.row = TRG_PIXELS_ROW(data, span) + begin;
    in.charge = TRG_PIXELS_CHARGE(data, span) + begin;
    return in;
}

/* ---------------------------------------------------------------- items in order */

TRG_FN trg_u32 px_key(const struct px_columns in, trg_u32 i, const struct cl_par par)
{
    const trg_u32 module = in.module[i], column = in.column[i], row = in.row[i];

    if (module >= par.n_sensors || column >= par.n_columns || row >= par.n_rows ||
        in.charge[i] == 0u || in.charge[i] > PX_CHARGE_MAX)
        return CL_BAD;
    return module << (par.column_bits + par.row_bits) | column << par.row_bits | row;
}

TRG_FN void px_read_items(TRG_LOCAL trg_u32 *count, const struct px_columns in,
                          TRG_GLOBAL trg_u32 *mine, trg_u32 n, const struct cl_par par)
{
    trg_u32 disorder = 0u, bad = 0u;

    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
        const trg_u32 here = px_key(in, i, par);

        mine[PX_KEY * par.room + i] = here;
        mine[PX_VALUE * par.room + i] = in.charge[i];
        bad += here == CL_BAD;
        if (i)
            disorder |= here <= px_key(in, i - 1u, par);
    }
    if (disorder || bad)
        TRG_ATOMIC_OR_LOCAL(&count[CL_DISORDER], 1u);
    TRG_ATOMIC_ADD_LOCAL(&count[CL_N_BAD], bad);
}

/* Gives the charges of a pixel that is there twice to the first of them. */
TRG_FN void px_merge_items(TRG_GLOBAL const trg_u32 *key, TRG_GLOBAL const trg_u32 *charge,
                           TRG_GLOBAL trg_u32 *to, trg_u32 n)
{
    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
        const trg_u32 first = key[i] != CL_BAD && (i == 0u || key[i] != key[i - 1u]);
        trg_u32 all = 0u;

        for (trg_u32 k = i; first && k < n && key[k] == key[i] && all < PX_CHARGE_MAX; k++)
            all += charge[k];
        to[i] = all < PX_CHARGE_MAX ? all : PX_CHARGE_MAX;
    }
}

/* ---------------------------------------------------------------- clusters */

TRG_FN void px_make_nodes(TRG_LOCAL trg_u32 *count, const struct px_view v, const struct cl_par par)
{
    const trg_u32 low = (1u << PX_LOW_BITS) - 1u;
    trg_u32 n = 0u;

    for (trg_u32 i = TRG_LID; i < v.n; i += TRG_LSIZE) {
        const trg_u32 key = v.key[i], q = v.charge[i];
        const trg_u32 row = key & ((1u << par.row_bits) - 1u);
        const trg_u32 column = key >> par.row_bits & ((1u << par.column_bits) - 1u);

        v.parent[i] = i;
        v.sum[PX_SIZE * v.stride + i] = 1u;
        v.sum[PX_CHARGE * v.stride + i] = q;
        v.sum[PX_COLUMN_LOW * v.stride + i] = q * column & low;
        v.sum[PX_COLUMN_HIGH * v.stride + i] = q * column >> PX_LOW_BITS;
        v.sum[PX_ROW_LOW * v.stride + i] = q * row & low;
        v.sum[PX_ROW_HIGH * v.stride + i] = q * row >> PX_LOW_BITS;
        v.sum[PX_COLUMN_BIT * v.stride + i] = 1u << (column & 31u);
        v.sum[PX_ROW_BIT * v.stride + i] = 1u << (row & 31u);
        n += q ? 1u : 0u;
    }
    TRG_ATOMIC_ADD_LOCAL(&count[CL_N_CLUSTERS], n);
    TRG_ATOMIC_ADD_LOCAL(&count[CL_N_PIXELS], n);
}

/* Pixel i with those behind it that touch it: above it, and in the next column. */
TRG_FN trg_u32 px_join_item(const struct px_view v, trg_u32 i, const struct cl_par par, trg_u32 *at)
{
    const trg_u32 key = v.key[i], row = key & ((1u << par.row_bits) - 1u);
    const trg_u32 column = key >> par.row_bits & ((1u << par.column_bits) - 1u);
    const trg_u32 beside = key + (1u << par.row_bits), is_top = row + 1u >= par.n_rows ? 1u : 0u;
    trg_u32 joined = 0u, k = i + 1u;

    while (k < v.n && v.key[k] == key) /* merged with this one */
        k++;
    if (!is_top && k < v.n && v.key[k] == key + 1u)
        joined = cl_join(v.parent, i, k);
    if (column + 1u >= par.n_columns)
        return joined;
    *at = cl_seek(v.key, *at, v.n, row ? beside - 1u : beside);
    for (k = *at; k < v.n && v.key[k] <= (is_top ? beside : beside + 1u); k++)
        if (v.charge[k])
            joined += cl_join(v.parent, i, k);
    return joined;
}

TRG_FN void px_join_items(TRG_LOCAL trg_u32 *count, const struct px_view v, const struct cl_par par)
{
    trg_u32 joined = 0u, at = 0u;

    for (trg_u32 i = TRG_LID; i < v.n; i += TRG_LSIZE)
        if (v.charge[i])
            joined += px_join_item(v, i, par, &at);
    TRG_ATOMIC_ADD_LOCAL(&count[CL_N_CLUSTERS], 0u - joined);
}

TRG_FN void px_add_up(const struct px_view v)
{
    for (trg_u32 i = TRG_LID; i < v.n; i += TRG_LSIZE) {
        const trg_u32 root = v.charge[i] ? cl_find(v.parent, i) : i;

        for (trg_u32 k = 0u; k < PX_COLUMN_BIT && root != i; k++)
            CL_ADD(&v.sum[k * v.stride + root], v.sum[k * v.stride + i]);
        for (trg_u32 k = PX_COLUMN_BIT; k < PX_SUMS && root != i; k++)
            CL_OR(&v.sum[k * v.stride + root], v.sum[k * v.stride + i]);
    }
}

/* ---------------------------------------------------------------- hits */

/* The mean of places weighted with the charge: its whole part; *ret_part is what is left of it. */
TRG_FN trg_u32 px_mean(trg_u32 low, trg_u32 high, trg_u32 charge, float *ret_part)
{
    const trg_u64 sum = ((trg_u64)high << PX_LOW_BITS) + low;
    const trg_u32 whole = (trg_u32)(sum / charge);

    *ret_part = (float)(trg_u32)(sum - (trg_u64)whole * charge) / (float)charge;
    return whole;
}

/* The cluster of root i becomes hit number `at` of the batch. */
TRG_FN void px_write_hit(const struct px_view v, trg_u32 i, trg_u32 at,
                         TRG_GLOBAL const struct cl_sensor *sensors,
                         TRG_GLOBAL const float *centres, TRG_GLOBAL trg_u8 *hits,
                         TRG_GLOBAL trg_u8 *clusters, const struct cl_par par)
{
    TRG_GLOBAL const trg_u32 *sum = v.sum + i;
    const trg_u32 charge = sum[PX_CHARGE * v.stride], size = sum[PX_SIZE * v.stride];
    float part_column, part_row;
    const trg_u32 column = px_mean(sum[PX_COLUMN_LOW * v.stride], sum[PX_COLUMN_HIGH * v.stride],
                                   charge, &part_column);
    const trg_u32 row =
        px_mean(sum[PX_ROW_LOW * v.stride], sum[PX_ROW_HIGH * v.stride], charge, &part_row);
    struct cl_place p;

    p.at = at;
    p.columns = trg_popcount(sum[PX_COLUMN_BIT * v.stride]);
    p.rows = trg_popcount(sum[PX_ROW_BIT * v.stride]);
    p.pitch = centres[column + 1u] - centres[column];
    p.a = centres[column] + part_column * p.pitch;
    p.b = ((float)row + 0.5f + part_row) * par.row_pitch;
    cl_write_place(p, sensors[v.key[i] >> (par.column_bits + par.row_bits)], hits, clusters, par);
    TRG_HITS_ID_OUT(hits, par.hits)[at] = at - v.base;
    if (!par.with_clusters)
        return;
    TRG_CLUSTERS_SIZE_OUT(clusters, par.clusters)[at] = (trg_u16)(size < 65535u ? size : 65535u);
    TRG_CLUSTERS_CHARGE_OUT(clusters, par.clusters)[at] = charge;
}

TRG_FN trg_u32 px_is_root(const struct px_view v, trg_u32 i)
{
    return v.charge[i] && v.parent[i] == i ? 1u : 0u;
}

/* Each work-item writes the clusters of a stretch of pixels. */
TRG_GROUP_FN void px_write_hits(TRG_LOCAL trg_u32 *scratch, const struct px_view v,
                                TRG_GLOBAL const struct cl_sensor *sensors,
                                TRG_GLOBAL const float *centres, TRG_GLOBAL trg_u8 *hits,
                                TRG_GLOBAL trg_u8 *clusters, const struct cl_par par)
{
    const trg_u32 stretch = (v.n + TRG_LSIZE - 1u) / TRG_LSIZE, from = TRG_LID * stretch;
    const trg_u32 to = from + stretch < v.n ? from + stretch : v.n;
    trg_u32 n = 0u, all, place;

    for (trg_u32 i = from; i < to; i++)
        n += px_is_root(v, i);
    place = v.base + trg_group_scan(scratch, n, &all);
    for (trg_u32 i = from; i < to; i++)
        if (px_is_root(v, i))
            px_write_hit(v, i, place++, sensors, centres, hits, clusters, par);
}

TRG_KERNEL8(px_pixels, (const trg_u8, data), (const struct cl_sensor, sensors),
            (const float, centres), (trg_u32, work), (trg_u32, state),
            (struct cl_summary, summaries), (trg_u8, hits), (trg_u8, clusters),
            (struct cl_par, par))
{
    TRG_SHARED trg_u32 scratch[PX_SCRATCH];
    TRG_SHARED trg_u32 count[CL_COUNTS];
    const trg_u32 roi = cl_next_roi(count, state);
    const trg_u32 begin = TRG_BEGIN(data, par.in, roi), n = TRG_END(data, par.in, roi) - begin;
    TRG_GLOBAL trg_u32 *mine = work + begin;
    const struct px_columns in = px_columns_of(data, par.in, begin);
    struct px_view v;
    trg_u32 to_sort, is_second;

    px_read_items(count, in, mine, n, par);
    TRG_BARRIER();
    to_sort = count[CL_DISORDER] ? n : 0u; /* as in clusters.kernel.c */
    is_second = cl_sort_items(mine, to_sort, par.room);
    v.n = n;
    v.key = mine + (PX_KEY + is_second) * par.room;
    v.charge = mine + (to_sort && !is_second ? PX_VALUE_2 : PX_VALUE) * par.room;
    px_merge_items(v.key, mine + (PX_VALUE + is_second) * par.room, v.charge, to_sort);
    TRG_BARRIER();
    v.parent = mine + PX_PARENT * par.room;
    v.sum = mine + PX_SUM * par.room;
    v.stride = par.room;
    px_make_nodes(count, v, par);
    TRG_BARRIER();
    px_join_items(count, v, par);
    TRG_BARRIER();
    cl_publish(state, roi, count[CL_N_CLUSTERS]);
    px_add_up(v);
    v.base = cl_before(scratch, state, roi, par.n_rois, count[CL_N_CLUSTERS]);
    cl_write_offsets(hits, par.hits, roi, par.n_rois, v.base, count[CL_N_CLUSTERS]);
    cl_write_offsets(clusters, par.clusters, roi, par.n_rois, v.base, count[CL_N_CLUSTERS]);
    TRG_BARRIER();
    px_write_hits(scratch, v, sensors, centres, hits, clusters, par);
    cl_write_summary(summaries, count, roi, n);
}

/* ---------------------------------------------------------------- dead channels */

TRG_FN void px_look_for_dead(TRG_LOCAL trg_u32 *count, const struct px_columns in,
                             TRG_GLOBAL trg_u32 *gone, trg_u32 n, const struct cl_dead_view v,
                             const struct cl_par par)
{
    trg_u32 dropped = 0u, all = 0u;

    for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE) {
        gone[i] = px_key(in, i, par) == CL_BAD
                      ? 0u
                      : cl_dead_pixels(v, par, in.module[i], in.column[i], in.row[i], 1u, 1u);
        dropped += gone[i];
        all++;
    }
    TRG_ATOMIC_ADD_LOCAL(&count[CL_N_CLUSTERS], all - dropped);
    TRG_ATOMIC_ADD_LOCAL(&count[CL_N_BAD], dropped);
    TRG_ATOMIC_ADD_LOCAL(&count[CL_N_PIXELS], dropped);
}

/* Writes what is left, in order, from number `base` of the batch on. */
TRG_GROUP_FN void px_write_left(TRG_LOCAL trg_u32 *scratch, const struct px_columns in,
                                TRG_GLOBAL const trg_u32 *gone, trg_u32 n, trg_u32 base,
                                TRG_GLOBAL trg_u8 *masked, const struct cl_mask_par par)
{
    trg_u32 written = 0u;

    for (trg_u32 from = 0u; from < n; from += TRG_LSIZE) {
        const trg_u32 i = from + TRG_LID, is_kept = i < n && !gone[i] ? 1u : 0u;
        const trg_u32 at = base + trg_group_place(scratch, is_kept, &written);

        if (is_kept) {
            TRG_PIXELS_MODULE_OUT(masked, par.masked)[at] = in.module[i];
            TRG_PIXELS_COLUMN_OUT(masked, par.masked)[at] = in.column[i];
            TRG_PIXELS_ROW_OUT(masked, par.masked)[at] = in.row[i];
            TRG_PIXELS_CHARGE_OUT(masked, par.masked)[at] = in.charge[i];
        }
    }
}

/* The pixels without those that are dead: as cl_mask. */
TRG_KERNEL8(px_mask, (const trg_u8, data), (const trg_u32, first), (const trg_u32, map),
            (const struct cl_dead, dead), (trg_u32, work), (trg_u32, state),
            (struct cl_summary, summaries), (trg_u8, masked), (struct cl_mask_par, par))
{
    TRG_SHARED trg_u32 scratch[TRG_GROUP_SCRATCH];
    TRG_SHARED trg_u32 count[CL_COUNTS];
    const trg_u32 roi = cl_next_roi(count, state), n_rois = par.common.n_rois;
    const trg_u32 begin = TRG_BEGIN(data, par.common.in, roi);
    const trg_u32 n = TRG_END(data, par.common.in, roi) - begin;
    const struct px_columns in = px_columns_of(data, par.common.in, begin);
    struct cl_dead_view v;
    trg_u32 base;

    v.first = first;
    v.map = map;
    v.dead = dead;
    px_look_for_dead(count, in, work + begin, n, v, par.common);
    TRG_BARRIER();
    cl_publish(state, roi, count[CL_N_CLUSTERS]);
    base = cl_before(scratch, state, roi, n_rois, count[CL_N_CLUSTERS]);
    cl_write_offsets(masked, par.masked, roi, n_rois, base, count[CL_N_CLUSTERS]);
    px_write_left(scratch, in, work + begin, n, base, masked, par);
    cl_write_summary(summaries, count, roi, n);
}
