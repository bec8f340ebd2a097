/* SPDX-License-Identifier: Apache-2.0 */
/* Two counts for each RoI: doublets that point to the beam spot, and those of hits that are not
 * there.  One group an RoI. */
#include "trigd/kernel.h"

#include "tut_two.h"

struct two_hit {
    float rho, z;
};

TRG_FN struct two_hit two_hit_at(TRG_GLOBAL const trg_u8 *data, const struct trg_span hits,
                                 trg_u32 i)
{
    const float x = TRG_HITS_X(data, hits)[i], y = TRG_HITS_Y(data, hits)[i];
    struct two_hit h;

    h.rho = trg_sqrt(x * x + y * y);
    h.z = TRG_HITS_Z(data, hits)[i];
    return h;
}

/* Whether the line through both crosses the beam line below z_max. */
TRG_FN trg_u32 two_points(const struct two_hit a, const struct two_hit b, float z_max)
{
    const float dr = b.rho - a.rho, z0_dr = a.z * b.rho - b.z * a.rho;

    return trg_fabs(z0_dr) < z_max * trg_fabs(dr) ? 1u : 0u;
}

TRG_KERNEL3(tut_two_count, (const trg_u8, data), (const trg_u8, pairs), (trg_u32, counts),
            (struct tut_two_par, par))
{
    TRG_GLOBAL const trg_u32 *inner = TRG_DOUBLETS_INNER(pairs, par.doublets);
    TRG_GLOBAL const trg_u32 *outer = TRG_DOUBLETS_OUTER(pairs, par.doublets);
    const trg_u32 first = TRG_BEGIN(data, par.hits, TRG_GID);
    const trg_u32 n_hits = TRG_END(data, par.hits, TRG_GID) - first;
    const trg_u32 end = TRG_END(pairs, par.doublets, TRG_GID);
    trg_u32 good = 0u, bad = 0u;

    for (trg_u32 i = TRG_BEGIN(pairs, par.doublets, TRG_GID) + TRG_LID; i < end; i += TRG_LSIZE) {
        if (inner[i] >= n_hits || outer[i] >= n_hits)
            bad++;
        else
            good += two_points(two_hit_at(data, par.hits, first + inner[i]),
                               two_hit_at(data, par.hits, first + outer[i]), par.z_max_mm);
    }
    TRG_ATOMIC_ADD_GLOBAL(&counts[2u * TRG_GID], good);
    TRG_ATOMIC_ADD_GLOBAL(&counts[2u * TRG_GID + 1u], bad);
}
