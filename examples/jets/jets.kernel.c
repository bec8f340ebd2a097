/* SPDX-License-Identifier: Apache-2.0 */
/* Anti-kt jets of each RoI's towers (M. Cacciari, G. Salam, G. Soyez, JHEP 04 (2008) 063), in N^2
 * steps with nearest neighbours (M. Cacciari, G. Salam, Phys. Lett. B 641 (2006) 57).  Momenta add
 * up (E scheme) as px, py, E + pz and E - pz, in which the rapidity loses no digits.  One group an
 * RoI. */
#include "trigd/math.h"

#include "jets.collections.h"
#include "jets.h"

#define JETS_BEAM     0xffffffffu
#define OF(l, w, i)   (l)->word[(w) * (l)->total + (i)]
#define SQUARE_(a, b) ((a) * (a) + (b) * (b))

struct jets_list { /* the clusters of an RoI */
    TRG_GLOBAL float *word;
    TRG_GLOBAL trg_u32 *near; /* the nearest within the radius, or JETS_BEAM */
    trg_u32 total;
};

TRG_FN float jets_distance(const struct jets_list *l, trg_u32 i, trg_u32 k)
{
    const float dy = OF(l, JETS_Y, i) - OF(l, JETS_Y, k);
    const float dphi = trg_fabs(OF(l, JETS_PHI, i) - OF(l, JETS_PHI, k));

    return SQUARE_(dy, dphi > 3.14159274f ? 6.28318548f - dphi : dphi);
}

/* What follows from the momentum: direction, and the weight 1 / pt^2. */
TRG_FN void jets_complete(const struct jets_list *l, trg_u32 i)
{
    const float px = OF(l, JETS_PX, i), py = OF(l, JETS_PY, i);

    OF(l, JETS_Y, i) = 0.5f * trg_ln(OF(l, JETS_PLUS, i) / OF(l, JETS_MINUS, i));
    OF(l, JETS_PHI, i) = trg_atan2(py, px);
    OF(l, JETS_WEIGHT, i) = 1.0f / SQUARE_(px, py);
}

TRG_FN void jets_load(TRG_GLOBAL const trg_u8 *data, const struct trg_span towers, trg_u32 item,
                      const struct jets_list *l, trg_u32 i)
{
    const float et = (float)TRG_TOWERS_ET(data, towers)[item] * 0.03125f;
    const float e = trg_exp((float)TRG_TOWERS_ETA(data, towers)[item] * 1.5625e-4f);
    const float phi = (float)TRG_TOWERS_PHI(data, towers)[item] * 9.58737992e-5f; /* pi / 2^15 */

    OF(l, JETS_PX, i) = et * trg_cos(phi);
    OF(l, JETS_PY, i) = et * trg_sin(phi);
    OF(l, JETS_PLUS, i) = et * e;
    OF(l, JETS_MINUS, i) = et / e;
    OF(l, JETS_TOWERS, i) = 1.0f;
    jets_complete(l, i);
}

TRG_FN void jets_find_near(const struct jets_list *l, trg_u32 n, trg_u32 i, float radius2)
{
    OF(l, JETS_DISTANCE, i) = radius2;
    l->near[i] = JETS_BEAM;
    for (trg_u32 k = 0u; k < n; k++)
        if (k != i && jets_distance(l, i, k) < OF(l, JETS_DISTANCE, i)) {
            OF(l, JETS_DISTANCE, i) = jets_distance(l, i, k);
            l->near[i] = k;
        }
}

/* The measure of cluster i: to its nearest neighbour, or to the beam, times the radius squared. */
TRG_FN float jets_measure(const struct jets_list *l, trg_u32 i)
{
    const float w = OF(l, JETS_WEIGHT, i);
    const float v = l->near[i] == JETS_BEAM ? w : OF(l, JETS_WEIGHT, l->near[i]);

    return (v < w ? v : w) * OF(l, JETS_DISTANCE, i);
}

/* Writes cluster i as a jet, if it is hard enough; how many were written. */
TRG_FN trg_u32 jets_write(const struct jets_list *l, trg_u32 i, float pt_min, TRG_GLOBAL float *jet)
{
    const float pt2 = SQUARE_(OF(l, JETS_PX, i), OF(l, JETS_PY, i));
    const float m2 = OF(l, JETS_PLUS, i) * OF(l, JETS_MINUS, i) - pt2;

    jet[0] = trg_sqrt(pt2);
    jet[1] = OF(l, JETS_Y, i);
    jet[2] = OF(l, JETS_PHI, i);
    jet[3] = trg_sqrt(m2 > 0.0f ? m2 : 0.0f);
    jet[4] = OF(l, JETS_TOWERS, i);
    return jet[0] < pt_min ? 0u : 1u;
}

/* Takes cluster `gone` out, of n, and puts the last one into its place. */
TRG_FN void jets_remove(const struct jets_list *l, trg_u32 gone, trg_u32 n)
{
    for (trg_u32 w = 0u; w < JETS_STATE; w++)
        OF(l, w, gone) = OF(l, w, n - 1u);
    l->near[gone] = l->near[n - 1u];
}

/* Brings cluster i's nearest neighbour up to date after `merged` took in `gone` (JETS_BEAM: `gone`
 * became a jet), whose place the last of n has now. */
TRG_FN void jets_update(const struct jets_list *l, trg_u32 n, trg_u32 i, trg_u32 merged,
                        trg_u32 gone, float radius2)
{
    if (i == merged || (l->near[i] != JETS_BEAM && (l->near[i] == merged || l->near[i] == gone))) {
        jets_find_near(l, n - 1u, i, radius2);
        return;
    }
    if (l->near[i] == n - 1u)
        l->near[i] = gone;
    if (merged != JETS_BEAM && jets_distance(l, i, merged) < OF(l, JETS_DISTANCE, i)) {
        OF(l, JETS_DISTANCE, i) = jets_distance(l, i, merged);
        l->near[i] = merged;
    }
}

/* `out` gets the number of jets of each RoI, then the jets at the places of the RoI's towers. */
TRG_KERNEL4(jets_find, (const trg_u8, data), (float, state), (trg_u32, nearest), (float, out),
            (struct jets_par, par))
{
    TRG_SHARED float least[JETS_GROUP];
    TRG_SHARED trg_u32 best[JETS_GROUP], pair[2];
    const trg_u32 from = TRG_BEGIN(data, par.towers, TRG_GID);
    TRG_GLOBAL float *jets = out + par.towers.n_rois + TRG_JETS_COLUMNS * from;
    trg_u32 n_jets = 0u; /* of work-item 0 */
    struct jets_list l;

    l.word = state + JETS_STATE * from;
    l.near = nearest + from;
    l.total = TRG_END(data, par.towers, TRG_GID) - from;
    for (trg_u32 i = TRG_LID; i < l.total; i += TRG_LSIZE)
        jets_load(data, par.towers, from + i, &l, i);
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < l.total; i += TRG_LSIZE)
        jets_find_near(&l, l.total, i, par.radius2);
    TRG_BARRIER();
    for (trg_u32 n = l.total; n > 0u; n--) { /* each time one cluster less */
        trg_u32 at = JETS_BEAM;
        float d = 0.0f;

        for (trg_u32 i = TRG_LID; i < n; i += TRG_LSIZE)
            if (at == JETS_BEAM || jets_measure(&l, i) < d) {
                d = jets_measure(&l, i);
                at = i;
            }
        least[TRG_LID] = d;
        best[TRG_LID] = at;
        TRG_BARRIER();
        if (TRG_LID == 0u) {
            for (trg_u32 k = 1u; k < TRG_LSIZE; k++)
                if (best[k] != JETS_BEAM && (least[k] < d || (least[k] == d && best[k] < at))) {
                    d = least[k];
                    at = best[k];
                }
            pair[0] = l.near[at]; /* what stays, */
            pair[1] = at;         /* and what goes */
            if (pair[0] == JETS_BEAM) {
                n_jets += jets_write(&l, at, par.pt_min_gev, jets + TRG_JETS_COLUMNS * n_jets);
            } else {
                pair[0] = l.near[at] < at ? l.near[at] : at;
                pair[1] = l.near[at] < at ? at : l.near[at];
                for (trg_u32 w = 0u; w <= JETS_TOWERS; w++)
                    OF(&l, w, pair[0]) += OF(&l, w, pair[1]);
                jets_complete(&l, pair[0]);
            }
            jets_remove(&l, pair[1], n);
        }
        TRG_BARRIER();
        for (trg_u32 i = TRG_LID; i < n - 1u; i += TRG_LSIZE)
            jets_update(&l, n, i, pair[0], pair[1], par.radius2);
        TRG_BARRIER();
    }
    if (TRG_LID == 0u)
        out[TRG_GID] = (float)n_jets;
}
