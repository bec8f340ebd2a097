/* SPDX-License-Identifier: Apache-2.0 */
/* The steps by which the thesis (Jones 2010, chapters 5 and 6) made its kernels fast, one after the
 * other: how many work-items fill the histograms of a slice, how pairs are dealt out to them, and
 * how the histograms of all slices are added up.  Two histograms as there: entries, and the sum of
 * their z (here above -z_max, so that what is lost can be told). */
#include "steps.h"
#include "trigd/common/group.h"

/* ---------------------------------------------------------------- one entry */

enum zs_way {
    ZS_PLAIN,      /* for one work-item */
    ZS_MUTEX,      /* a lock for each bin, taken by compare-and-swap */
    ZS_WRITE_LOCK, /* the thesis's lock: write one's number, read it back, add */
    ZS_WRITE_SUM,  /* the thesis's way without: write the sum, read it back */
    ZS_ATOMIC      /* as the plugin: integers, 1/4096 mm; in the place of the locks */
};

/* Both for global and for shared memory. */
#if defined(__OPENCL_VERSION__)
#define ZS_CAS(p, old, v) atomic_cmpxchg((p), (old), (v))
#define ZS_COUNT(p, v)    atomic_add((p), (v))
#else
#define ZS_CAS(p, old, v) TRG_ATOMIC_CAS_GLOBAL((p), (old), (v))
#define ZS_COUNT(p, v)    TRG_ATOMIC_ADD_GLOBAL((p), (v))
#endif

/* Adds z to the sum of a bin.  SPACE: where the histograms are. */
#define ZS_ADD_TO(SPACE, way, sum, lock, z)                                            \
    do {                                                                               \
        volatile SPACE float *to_ = (sum);                                             \
        volatile SPACE trg_u32 *owner_ = (lock);                                       \
        trg_u32 added_ = (trg_u32)((way) == ZS_ATOMIC);                                \
                                                                                       \
        if (added_)                                                                    \
            ZS_COUNT((lock), (trg_u32)((z)*ZS_PLACES));                                \
        while (!added_) {                                                              \
            if ((way) == ZS_WRITE_SUM) {                                               \
                const float made_ = *to_ + (z);                                        \
                                                                                       \
                *to_ = made_;                                                          \
                added_ = (trg_u32)(*to_ == made_);                                     \
                continue;                                                              \
            }                                                                          \
            if ((way) == ZS_WRITE_LOCK)                                                \
                *owner_ = TRG_LID;                                                     \
            if ((way) == ZS_PLAIN || ((way) == ZS_WRITE_LOCK && *owner_ == TRG_LID) || \
                ((way) == ZS_MUTEX && ZS_CAS((lock), 0u, 1u) == 0u)) {                 \
                *to_ = *to_ + (z);                                                     \
                added_ = 1u;                                                           \
                if ((way) == ZS_MUTEX)                                                 \
                    ZS_CAS((lock), 1u, 0u);                                            \
            }                                                                          \
        }                                                                              \
    } while (0)

struct zs_target { /* the histograms of a slice, and what fills them */
    TRG_GLOBAL trg_u32 *n, *lock;
    TRG_GLOBAL float *sum;
    TRG_LOCAL trg_u32 *local_n, *local_lock;
    TRG_LOCAL float *local_sum;
    trg_u32 way, pairs, is_local;
};

struct zs_input {
    TRG_GLOBAL const struct zs_slice *slice;
    TRG_GLOBAL const float *rho, *z;
};

/* The pair of points a and b. */
TRG_FN void zs_enter(const struct zs_target t, const struct zs_par par, const struct zs_input in,
                     trg_u32 a, trg_u32 b)
{
    const float at =
        (in.z[b] * in.rho[a] - in.z[a] * in.rho[b]) / (in.rho[a] - in.rho[b]) + par.z_max;

    if (at >= 0.0f && at < 2.0f * par.z_max) {
        const trg_u32 bin = (trg_u32)(at * par.per_mm), k = bin < par.bins ? bin : 0u;

        if (t.is_local) {
            ZS_COUNT(&t.local_n[k], 1u);
            ZS_ADD_TO(TRG_LOCAL, t.way, &t.local_sum[k], &t.local_lock[k], at);
        } else {
            ZS_COUNT(&t.n[k], 1u);
            ZS_ADD_TO(TRG_GLOBAL, t.way, &t.sum[k], &t.lock[k], at);
        }
    }
}

/* ---------------------------------------------------------------- pairs of a slice */

enum zs_pairs {
    ZS_OF_POINT,     /* partners of one point after the other are dealt out */
    ZS_LAYER_DIVIDE, /* all pairs of a layer, numbered: division and remainder */
    ZS_LAYER_STEP,   /* the same, by steps */
    ZS_SLICE         /* all pairs of the slice, numbered */
};

/* Pair number `pair` of those that begin on layer l. */
TRG_FN void zs_pair(const struct zs_target t, const struct zs_par par, const struct zs_input in,
                    trg_u32 l, trg_u32 pair)
{
    const trg_u32 next = in.slice->first[l + 1u], end = in.slice->first[ZS_LAYERS];
    const trg_u32 above = end - next;
    trg_u32 a = in.slice->first[l], b = next + pair;

    if (t.pairs == ZS_LAYER_DIVIDE) {
        a += pair / above;
        b = next + pair % above;
    }
    while (b >= end) {
        a++;
        b -= above;
    }
    zs_enter(t, par, in, a, b);
}

TRG_FN void zs_all_pairs(const struct zs_target t, const struct zs_par par,
                         const struct zs_input in, trg_u32 lane, trg_u32 lanes)
{
    TRG_GLOBAL const struct zs_slice *s = in.slice;
    trg_u32 l = 0u;

    for (trg_u32 pair = lane; t.pairs == ZS_SLICE && pair < s->pair[ZS_LAYERS]; pair += lanes) {
        while (pair >= s->pair[l + 1u])
            l++;
        zs_pair(t, par, in, l, pair - s->pair[l]);
    }
    for (l = 0u; t.pairs != ZS_SLICE && l + 1u < ZS_LAYERS; l++) {
        if (t.pairs != ZS_OF_POINT)
            for (trg_u32 pair = lane; pair < s->pair[l + 1u] - s->pair[l]; pair += lanes)
                zs_pair(t, par, in, l, pair);
        else
            for (trg_u32 a = s->first[l]; a < s->first[l] + s->own[l]; a++)
                for (trg_u32 b = s->first[l + 1u] + lane; b < s->first[ZS_LAYERS]; b += lanes)
                    zs_enter(t, par, in, a, b);
    }
}

/* Group: slice i.  Histograms in global memory are zero before. */
TRG_GROUP_FN void zs_fill(struct zs_target t, const struct zs_par par, struct zs_input in,
                          trg_u32 i)
{
    t.n += i * par.bins;
    t.sum += i * par.bins;
    t.lock += i * par.bins;
    in.slice += i;
    if (t.way == ZS_PLAIN) {
        if (TRG_LID == 0u)
            zs_all_pairs(t, par, in, 0u, 1u);
        return;
    }
    for (trg_u32 k = TRG_LID; t.is_local && k < par.bins; k += TRG_LSIZE) {
        t.local_n[k] = t.local_lock[k] = 0u;
        t.local_sum[k] = 0.0f;
    }
    TRG_BARRIER();
    zs_all_pairs(t, par, in, TRG_LID, TRG_LSIZE);
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; t.is_local && k < par.bins; k += TRG_LSIZE) {
        t.n[k] = t.local_n[k];
        t.sum[k] = t.way == ZS_ATOMIC ? (float)t.local_lock[k] / ZS_PLACES : t.local_sum[k];
    }
    TRG_BARRIER();
}

#define ZS_RUN(the_way, the_pairs, near)                       \
    TRG_SHARED trg_u32 s_n[(near) ? ZS_BINS_MAX : 1u];         \
    TRG_SHARED trg_u32 s_lock[(near) ? ZS_BINS_MAX : 1u];      \
    TRG_SHARED float s_sum[(near) ? ZS_BINS_MAX : 1u];         \
    struct zs_target t;                                        \
    struct zs_input in;                                        \
                                                               \
    t.n = n;                                                   \
    t.sum = sum;                                               \
    t.lock = lock;                                             \
    t.local_n = s_n;                                           \
    t.local_sum = s_sum;                                       \
    t.local_lock = s_lock;                                     \
    t.way = (the_way);                                         \
    t.pairs = (the_pairs);                                     \
    t.is_local = (near);                                       \
    in.slice = (TRG_GLOBAL const struct zs_slice *)slices;     \
    in.rho = rho;                                              \
    in.z = z;                                                  \
    for (trg_u32 i = TRG_GID; i < par.slices; i += TRG_GROUPS) \
    zs_fill(t, par, in, i)

TRG_KERNEL6(zs_serial, (const trg_u32, slices), (const float, rho), (const float, z), (trg_u32, n),
            (float, sum), (trg_u32, lock), (struct zs_par, par))
{
    ZS_RUN(ZS_PLAIN, ZS_OF_POINT, 0);
}
TRG_KERNEL6(zs_mutex_global, (const trg_u32, slices), (const float, rho), (const float, z),
            (trg_u32, n), (float, sum), (trg_u32, lock), (struct zs_par, par))
{
    ZS_RUN(ZS_MUTEX, ZS_OF_POINT, 0);
}
TRG_KERNEL6(zs_write_lock_global, (const trg_u32, slices), (const float, rho), (const float, z),
            (trg_u32, n), (float, sum), (trg_u32, lock), (struct zs_par, par))
{
    ZS_RUN(ZS_WRITE_LOCK, ZS_OF_POINT, 0);
}
TRG_KERNEL6(zs_write_sum_global, (const trg_u32, slices), (const float, rho), (const float, z),
            (trg_u32, n), (float, sum), (trg_u32, lock), (struct zs_par, par))
{
    ZS_RUN(ZS_WRITE_SUM, ZS_OF_POINT, 0);
}
TRG_KERNEL6(zs_atomic_global, (const trg_u32, slices), (const float, rho), (const float, z),
            (trg_u32, n), (float, sum), (trg_u32, lock), (struct zs_par, par))
{
    ZS_RUN(ZS_ATOMIC, ZS_OF_POINT, 0);
}
TRG_KERNEL6(zs_mutex, (const trg_u32, slices), (const float, rho), (const float, z), (trg_u32, n),
            (float, sum), (trg_u32, lock), (struct zs_par, par))
{
    ZS_RUN(ZS_MUTEX, ZS_OF_POINT, 1);
}
TRG_KERNEL6(zs_write_lock, (const trg_u32, slices), (const float, rho), (const float, z),
            (trg_u32, n), (float, sum), (trg_u32, lock), (struct zs_par, par))
{
    ZS_RUN(ZS_WRITE_LOCK, ZS_OF_POINT, 1);
}
TRG_KERNEL6(zs_write_sum, (const trg_u32, slices), (const float, rho), (const float, z),
            (trg_u32, n), (float, sum), (trg_u32, lock), (struct zs_par, par))
{
    ZS_RUN(ZS_WRITE_SUM, ZS_OF_POINT, 1);
}
TRG_KERNEL6(zs_atomic, (const trg_u32, slices), (const float, rho), (const float, z), (trg_u32, n),
            (float, sum), (trg_u32, lock), (struct zs_par, par))
{
    ZS_RUN(ZS_ATOMIC, ZS_OF_POINT, 1);
}
TRG_KERNEL6(zs_layer_divide, (const trg_u32, slices), (const float, rho), (const float, z),
            (trg_u32, n), (float, sum), (trg_u32, lock), (struct zs_par, par))
{
    ZS_RUN(ZS_ATOMIC, ZS_LAYER_DIVIDE, 1);
}
TRG_KERNEL6(zs_layer_step, (const trg_u32, slices), (const float, rho), (const float, z),
            (trg_u32, n), (float, sum), (trg_u32, lock), (struct zs_par, par))
{
    ZS_RUN(ZS_ATOMIC, ZS_LAYER_STEP, 1);
}
TRG_KERNEL6(zs_slice_pairs, (const trg_u32, slices), (const float, rho), (const float, z),
            (trg_u32, n), (float, sum), (trg_u32, lock), (struct zs_par, par))
{
    ZS_RUN(ZS_ATOMIC, ZS_SLICE, 1);
}

/* ---------------------------------------------------------------- histograms added up
 *
 * Of one RoI: number par.first + j, j < par.of, of par.bins bins; the sums go to the first
 * par.groups_x of them. */

/* One group; the sums lie in global memory. */
TRG_KERNEL2(zs_sum_global, (trg_u32, n), (float, sum), (struct zs_par, par))
{
    const trg_u32 base = par.first * par.bins;

    for (trg_u32 j = 1u; j < par.of; j++)
        for (trg_u32 i = TRG_LID; i < par.bins; i += TRG_LSIZE) {
            n[base + i] += n[base + j * par.bins + i];
            sum[base + i] += sum[base + j * par.bins + i];
        }
}

/* The sums lie in shared memory.  Group x begins with histogram x: one group, or the first of two
 * stages. */
TRG_KERNEL2(zs_sum_shared, (trg_u32, n), (float, sum), (struct zs_par, par))
{
    TRG_SHARED trg_u32 s_n[ZS_BINS_MAX];
    TRG_SHARED float s_sum[ZS_BINS_MAX];
    const trg_u32 base = par.first * par.bins, own = base + TRG_GID * par.bins;

    for (trg_u32 i = TRG_LID; i < par.bins; i += TRG_LSIZE) {
        s_n[i] = n[own + i];
        s_sum[i] = sum[own + i];
    }
    for (trg_u32 j = TRG_GID + TRG_GROUPS; j < par.of; j += TRG_GROUPS)
        for (trg_u32 i = TRG_LID; i < par.bins; i += TRG_LSIZE) {
            s_n[i] += n[base + j * par.bins + i];
            s_sum[i] += sum[base + j * par.bins + i];
        }
    for (trg_u32 i = TRG_LID; i < par.bins; i += TRG_LSIZE) {
        n[own + i] = s_n[i];
        sum[own + i] = s_sum[i];
    }
}

/* A bin for each work-item, as many groups as that takes for each of groups_x. */
TRG_KERNEL2(zs_sum_grid, (trg_u32, n), (float, sum), (struct zs_par, par))
{
    const trg_u32 x = TRG_GID % par.groups_x, groups_y = TRG_GROUPS / par.groups_x;
    const trg_u32 base = par.first * par.bins;

    for (trg_u32 i = TRG_GID / par.groups_x * TRG_LSIZE + TRG_LID; i < par.bins;
         i += groups_y * TRG_LSIZE) {
        trg_u32 all = n[base + x * par.bins + i];
        float z = sum[base + x * par.bins + i];

        for (trg_u32 j = x + par.groups_x; j < par.of; j += par.groups_x) {
            all += n[base + j * par.bins + i];
            z += sum[base + j * par.bins + i];
        }
        n[base + x * par.bins + i] = all;
        sum[base + x * par.bins + i] = z;
    }
}
