/* SPDX-License-Identifier: Apache-2.0 */
#include "vertices.h"

#include <math.h>

/* Position of a peak: the mean of its entries, from integers alone. */
static double position(const struct zf_config *c, const struct zf_roi *roi, const struct zf_peak *p)
{
    double bins = 0;

    for (uint32_t j = 0; j < 3; j++)
        bins += (double)p->count[j] * ((double)p->bin + (double)j - 1.0);
    if (p->total > ZF_PLACES_MOST) /* the places did not fit: the middle of the bins */
        bins += 0.5 * (double)p->total;
    else /* a place was rounded down to its quantum: half a quantum is missing on average */
        bins += ((double)p->places / ZF_QUANTA) + 0.5 * (double)p->total / ZF_QUANTA;
    bins /= (double)p->total;
    if (c->as_original)
        return (bins - (double)roi->origin) / ((double)roi->inv_bin + (double)roi->inv_bin_rest);
    return bins / (double)roi->inv_bin - (double)c->z_max_mm;
}

/* The vertex nearest to z, or -1. */
static int nearest(const struct zf_vertex *v, uint32_t n, double z)
{
    int best = -1;

    for (uint32_t i = 0; i < n; i++)
        if (best < 0 || fabs((double)v[i].z_mm - z) < fabs((double)v[best].z_mm - z))
            best = (int)i;
    return best;
}

/* Whether two vertices are one by the cuts on their distance. */
static int is_close(const struct zf_config *c, const struct zf_roi *roi, double z, double other)
{
    double d = fabs(z - other);

    return d < (double)c->min_separation_bins / (double)roi->inv_bin ||
           d < fabs(z) * (double)c->min_distance_fraction;
}

static void mix(const struct zf_config *c, struct zf_vertex *v, double z, double weight)
{
    double m = (double)c->mixing;

    v->z_mm = (float)(m * z + (1.0 - m) * (double)v->z_mm);
    v->weight = (float)(m * weight + (1.0 - m) * (double)v->weight);
}

uint32_t zf_vertices(const struct zf_config *c, const struct zf_roi *roi,
                     const struct zf_peak *peaks, uint32_t n_peaks, const struct zf_summary *s,
                     double background, struct zf_vertex *ret_vertices, uint32_t *ret_truncated)
{
    double sum = (double)s->sum_high * 65536.0 + (double)s->sum_low;
    double pedestal = c->pedestal && s->n_triples ? sum / (double)s->n_triples : 0;
    uint32_t n = 0, k;

    for (k = 0; k < n_peaks && peaks[k].total && n < c->n_peaks; k++) {
        double z = position(c, roi, &peaks[k]), weight = (double)peaks[k].total - pedestal;
        double significance =
            background > 0 ? ((double)peaks[k].total - background) / sqrt(background) : 0;
        int other = nearest(ret_vertices, n, z);

        if (weight < (double)c->weight_threshold)
            break; /* none that follows is higher */
        if (other >= 0 && is_close(c, roi, z, (double)ret_vertices[other].z_mm)) {
            mix(c, &ret_vertices[other], z, weight);
            continue;
        }
        if (background > 0 && significance < (double)c->min_significance)
            break;
        ret_vertices[n++] = (struct zf_vertex){
            .z_mm = (float)z, .weight = (float)weight, .significance = (float)significance};
    }
    *ret_truncated = k == n_peaks && n < c->n_peaks && (s->flags & ZF_MORE);
    return n;
}
