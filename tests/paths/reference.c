/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

struct search {
    const struct pa_config *c;
    const struct roi *r;
    struct reference *ret;
    uint32_t *first; /* [n_hits + 1] of sorted doublets */
    uint32_t *order; /* sorted doublets, as numbers of the input */
    uint32_t **link; /* [n_doublets] of the input, ends with UINT32_MAX */
    bool *is_entered;
    struct reference_path path;
};

static void *get(size_t items, size_t size)
{
    void *p = calloc(items + 1, size);

    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return p;
}

/* ---------------------------------------------------------------- the criterion */

struct point {
    double x, y, z, r;
};

static struct point point_of(const struct pa_config *c, const struct roi *r, uint32_t hit)
{
    struct point p = {(double)r->x[hit] - (double)c->beam_x_mm,
                      (double)r->y[hit] - (double)c->beam_y_mm, (double)r->z[hit], 0};

    p.r = hypot(p.x, p.y);
    return p;
}

enum verdict { NO, YES, CLOSE };

/* value <= cut, or too close to it: within one in a thousand, or `absolute`. */
static enum verdict below_cut(double value, double cut, double absolute)
{
    double margin = 1e-3 * fabs(cut) + absolute;

    return value <= cut - margin ? YES : value > cut + margin ? NO : CLOSE;
}

static enum verdict aligned(const struct pa_config *c, struct point a, struct point b,
                            struct point d, double cut)
{
    double away;

    if (c->align == PA_ALIGN_OFF)
        return YES;
    if (c->align == PA_ALIGN_SLOPE)
        return below_cut(fabs((b.z - a.z) / (b.r - a.r) - (d.z - b.z) / (d.r - b.r)),
                         (double)c->max_dslope, 1e-4);
    away = fabs(a.z * (b.r - d.r) + b.z * (d.r - a.r) + d.z * (a.r - b.r)) /
           hypot(a.r - d.r, a.z - d.z);
    return below_cut(away, cut * fabs(a.r - d.r), 1e-3);
}

static double bend(struct point a, struct point b)
{
    return 2 * (a.x * b.y - a.y * b.x) / (a.r * b.r * hypot(a.x - b.x, a.y - b.y));
}

static enum verdict both(enum verdict a, enum verdict b)
{
    return a == NO || b == NO ? NO : a == CLOSE || b == CLOSE ? CLOSE : YES;
}

/* Circle through three points: centre by perpendicular bisectors. */
static enum verdict circle(const struct pa_config *c, struct point p1, struct point p2,
                           struct point p3, double tolerance)
{
    double det = (p1.x - p2.x) * (p2.y - p3.y) - (p2.x - p3.x) * (p1.y - p2.y);
    double offset = p2.x * p2.x + p2.y * p2.y;
    double bc = 0.5 * (p1.x * p1.x + p1.y * p1.y - offset);
    double cd = 0.5 * (offset - p3.x * p3.x - p3.y * p3.y);
    double x = (bc * (p2.y - p3.y) - cd * (p1.y - p2.y)) / det;
    double y = (cd * (p1.x - p2.x) - bc * (p2.x - p3.x)) / det;
    double radius = hypot(p2.x - x, p2.y - y);
    double least = (double)c->hard_pt_gev / (0.299792458e-3 * (double)c->field_t);
    enum verdict v = YES;

    if (c->curvature == PA_CURVE_PT)
        v = below_cut(least, radius, 0);
    if (c->beam_spot)
        v = both(v, below_cut(fabs(hypot(x, y) - radius), tolerance, 2e-3));
    return v;
}

static enum verdict links(const struct pa_config *c, const struct roi *r, uint32_t d, uint32_t e)
{
    uint32_t h1 = r->inner[d], h2 = r->outer[d], h3 = r->outer[e];
    struct point p1 = point_of(c, r, h1), p2 = point_of(c, r, h2), p3 = point_of(c, r, h3);
    bool forward = r->layer[h2] > c->last_barrel;
    enum verdict v =
        aligned(c, p1, p2, p3, (double)(forward ? c->theta_cut_forward : c->theta_cut));

    v = both(
        v, circle(c, p1, p2, p3,
                  (double)(r->layer[h1] ? c->origin_tolerance_outer_mm : c->origin_tolerance_mm)));
    if (c->curvature == PA_CURVE_SIMILAR)
        v = both(v, below_cut(fabs(bend(p1, p2) - bend(p2, p3)),
                              (double)c->max_dcurvature_per_m * 1e-3, 1e-7));
    return v;
}

/* ---------------------------------------------------------------- doublets */

static bool may_use(const struct pa_config *c, const struct roi *r, uint32_t d)
{
    int inner, outer, barrel = (int)c->last_barrel, discs = (int)c->discs;

    if (r->inner[d] >= r->n_hits || r->outer[d] >= r->n_hits)
        return false;
    inner = r->layer[r->inner[d]];
    outer = r->layer[r->outer[d]];
    if (outer <= inner || outer > barrel + 2 * discs)
        return false;
    if (outer <= barrel)
        return outer - inner - 1 <= (int)c->layers_skipped;
    if (inner <= barrel) /* the first disc of its side is next to the barrel */
        return (outer - barrel - 1) % discs <= (int)c->layers_skipped;
    return (inner - barrel - 1) / discs == (outer - barrel - 1) / discs &&
           outer - inner - 1 <= (int)c->layers_skipped;
}

static void sort_doublets(struct search *s)
{
    const struct roi *r = s->r;
    uint32_t *at;

    s->first = get(r->n_hits + 1, sizeof *s->first);
    s->order = get(r->n_doublets, sizeof *s->order);
    at = get(r->n_hits, sizeof *at);
    for (uint32_t d = 0; d < r->n_doublets; d++)
        if (may_use(s->c, r, d))
            s->first[r->inner[d] + 1]++;
    for (uint32_t h = 0; h < r->n_hits; h++)
        s->first[h + 1] += s->first[h];
    for (uint32_t d = 0; d < r->n_doublets; d++)
        if (may_use(s->c, r, d))
            s->order[s->first[r->inner[d]] + at[r->inner[d]]++] = d;
    s->ret->n_used = s->first[r->n_hits];
    free(at);
}

static void find_links(struct search *s)
{
    const struct roi *r = s->r;

    s->link = get(r->n_doublets, sizeof *s->link);
    s->is_entered = get(r->n_doublets, sizeof *s->is_entered);
    for (uint32_t i = 0; i < s->ret->n_used; i++) {
        uint32_t d = s->order[i], from = s->first[r->outer[d]], to = s->first[r->outer[d] + 1];
        uint32_t n = 0;

        s->link[d] = get(to - from, sizeof **s->link);
        for (uint32_t k = from; k < to; k++) {
            if (links(s->c, r, d, s->order[k]) == YES) {
                s->link[d][n++] = s->order[k];
                s->is_entered[s->order[k]] = true;
            }
        }
        s->link[d][n] = UINT32_MAX;
        s->ret->n_links += n;
    }
}

static void grow(struct search *s, uint32_t d, uint32_t length)
{
    const uint32_t *next = s->link[d];
    bool ends =
        length == s->c->max_doublets ||
        (length >= s->c->min_doublets && (s->c->keep == PA_KEEP_ALL || *next == UINT32_MAX));

    s->path.hit[length] = s->r->outer[d];
    if (ends) {
        struct reference *ret = s->ret;

        if (array_grow(&ret->path, ret->n_paths, &ret->room, sizeof *ret->path) < 0)
            exit(1);
        s->path.n_hits = length + 1;
        ret->path[ret->n_paths++] = s->path;
    }
    for (; length < s->c->max_doublets && *next != UINT32_MAX; next++)
        grow(s, *next, length + 1);
}

void reference_find(const struct pa_config *c, const struct roi *r, struct reference *ret)
{
    struct search s = {.c = c, .r = r, .ret = ret};

    memset(ret, 0, sizeof *ret);
    sort_doublets(&s);
    find_links(&s);
    for (uint32_t i = 0; i < ret->n_used; i++) {
        uint32_t d = s.order[i];

        if (c->keep == PA_KEEP_LONGEST && s.is_entered[d])
            continue;
        s.path.hit[0] = r->inner[d];
        grow(&s, d, 1);
    }
    for (uint32_t d = 0; d < r->n_doublets; d++)
        free(s.link[d]);
    free(s.link);
    free(s.is_entered);
    free(s.first);
    free(s.order);
}

void reference_fini(struct reference *r)
{
    free(r->path);
    memset(r, 0, sizeof *r);
}

void reference_clarify(const struct pa_config *c, struct roi *r)
{
    struct reference ret = {0};
    struct search s = {.c = c, .r = r, .ret = &ret};
    bool *drop = get(r->n_doublets, sizeof *drop);
    uint32_t n = 0;

    sort_doublets(&s);
    for (uint32_t i = 0; i < ret.n_used; i++) {
        uint32_t d = s.order[i];

        for (uint32_t k = s.first[r->outer[d]]; k < s.first[r->outer[d] + 1]; k++)
            if (!drop[d] && links(c, r, d, s.order[k]) == CLOSE)
                drop[s.order[k]] = true;
    }
    for (uint32_t d = 0; d < r->n_doublets; d++) {
        if (drop[d])
            continue;
        r->inner[n] = r->inner[d];
        r->outer[n++] = r->outer[d];
    }
    r->n_doublets = n;
    free(drop);
    free(s.first);
    free(s.order);
}
