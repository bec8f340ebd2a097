/* SPDX-License-Identifier: Apache-2.0 */
/* follow.h - goes through the links of a doublet in their order.  Where an RoI has more links than
 * there is room for, those of a doublet are not kept but found again among its candidates whenever
 * they are needed: the same links, and so the same paths, in any room. */
#ifndef PATHS_FOLLOW_H
#define PATHS_FOLLOW_H
#include "graph.h"

#define PA_CHUNK 16u /* candidates that are tried at a time */

#if PA_IS_HOST
#include "follow_host.h"
#else
/* Which of n <= PA_CHUNK candidates from `first` on are links of the doublet of `s`: bit k for
 * candidate first + k. */
TRG_FN trg_u32 pa_try(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                      const struct pa_side *s, trg_u32 first, trg_u32 n)
{
    trg_u32 found = 0u;

    for (trg_u32 k = 0u; k < n; k++)
        if (pa_is_in_line(work, par, s->line, first + k) && pa_links_to(work, par, *s, first + k))
            found |= 1u << k;
    return found;
}
#endif

/* The number of the lowest bit of those that are set. */
TRG_FN trg_u32 pa_lowest(trg_u32 bits)
{
    return 31u - trg_clz(bits & (0u - bits));
}

struct pa_follow {
    trg_u32 at; /* the next place among the links; not kept: the first candidate of the chunk */
    trg_u32 of; /* not kept: whose they are; kept: PA_NONE */
    trg_u32 left, found; /* not kept: candidates from `at` on; links among those of the chunk */
};

/* The links of doublet d, which may have none. */
TRG_FN struct pa_follow pa_follow_links(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                                        trg_u32 d)
{
    struct pa_follow f;

    f.at = PA_U32(work, par->at.link_first)[d];
    f.of = PA_NONE;
    f.left = f.found = 0u;
    if (f.at == PA_NONE) {
        const struct pa_next next = pa_candidates(work, par, d);

        f.of = d;
        f.at = next.first - PA_CHUNK; /* wraps, and back again with the first chunk */
        f.left = next.end - next.first + PA_CHUNK;
    }
    return f;
}

/* The next link.  There must be one: n_links says how many a doublet has. */
TRG_FN trg_u32 pa_next_link(TRG_GLOBAL const trg_u32 *work, const struct pa_par *par,
                            struct pa_follow *f)
{
    trg_u32 k;

    if (f->of == PA_NONE)
        return PA_U32(work, par->at.links)[f->at++];
    while (!f->found) {
        const struct pa_side s = pa_side_of(work, par, f->of);

        f->at += PA_CHUNK;
        f->left -= PA_CHUNK;
        f->found = pa_try(work, par, &s, f->at, f->left < PA_CHUNK ? f->left : PA_CHUNK);
    }
    k = pa_lowest(f->found);
    f->found &= f->found - 1u;
    return f->at + k;
}
#endif
