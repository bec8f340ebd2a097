/* SPDX-License-Identifier: Apache-2.0 */
#include "reference_graph.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "array.h"
#include "vertexing.h"

/* A track at its point closest to the beam line; variances across it, at that point. */
struct state {
    struct ref_line line;
    double var, cov, var_t;
};

static struct state state_of(const struct vx_config *c, const struct event *e, uint32_t i)
{
    double v[9];
    struct state s;
    double t2, norm, far, scale, across;

    for (uint32_t k = 0; k < 9; k++)
        v[k] = (double)event_floats(e, k)[i];
    t2 = v[3] * v[3] + v[4] * v[4];
    norm = sqrt(1 + t2);
    far = t2 > 1e-10
              ? -((v[0] - (double)c->beam_x_mm) * v[3] + (v[1] - (double)c->beam_y_mm) * v[4]) / t2
              : 0;
    scale = 2.0 * ((const uint32_t *)e->column[10])[i] - 4;
    scale =
        c->chi2_prior > 0 && scale > 0
            ? fmin(fmax((v[8] + (double)c->chi2_prior) / (scale + (double)c->chi2_prior), 1), 1e4)
            : 1;
    across = scale / (1 + 0.5 * t2);
    s.line = (struct ref_line){{v[0] + far * v[3], v[1] + far * v[4], v[2] + far},
                               {v[3] / norm, v[4] / norm, 1 / norm},
                               0};
    s.var = fmax(across * (v[5] + far * (2 * v[7] + far * v[6])), 1e-6 * across / scale);
    s.cov = across * (v[7] + far * v[6]);
    s.var_t = across * v[6];
    s.line.var = s.var;
    return s;
}

static double variance_at(const struct state *s, double z)
{
    const double dz = z - s->line.p[2];

    return fmax(s->var + dz * (2 * s->cov + dz * s->var_t), 1e-6);
}

static void place_of(const struct vx_answer *a, uint32_t k, double *ret_place)
{
    for (uint32_t j = 0; j < 3; j++)
        ret_place[j] = (double)vx_floats(a, j)[k];
}

static double sigmas_of(const struct state *s, const double *p)
{
    double along = 0;

    for (uint32_t j = 0; j < 3; j++)
        along += (p[j] - s->line.p[j]) * s->line.u[j];
    return ref_miss(&s->line, p) / sqrt(variance_at(s, s->line.p[2] + along * s->line.u[2]));
}

/* The vertex that the track misses least, in sigmas; how far that is. */
static uint32_t nearest(const struct state *s, const struct vx_answer *a, uint32_t n_pv,
                        double *ret_sigmas, double *ret_mm)
{
    uint32_t best = 0;

    *ret_sigmas = INFINITY;
    *ret_mm = 0;
    for (uint32_t k = 0; k < n_pv; k++) {
        double p[3], sigmas;

        place_of(a, k, p);
        sigmas = sigmas_of(s, p);
        if (sigmas < *ret_sigmas) {
            *ret_sigmas = sigmas;
            *ret_mm = ref_miss(&s->line, p);
            best = k;
        }
    }
    return best;
}

static double cosine(const struct ref_line *a, const struct ref_line *b)
{
    return a->u[0] * b->u[0] + a->u[1] * b->u[1] + a->u[2] * b->u[2];
}

static bool is_near_a_vertex(const struct vx_config *c, const struct vx_answer *a, uint32_t n_pv,
                             const double *q)
{
    for (uint32_t k = 0; k < n_pv; k++) {
        double d[3], d2 = 0, along = 0;

        for (uint32_t j = 0; j < 3; j++) {
            d[j] = q[j] - (double)vx_floats(a, j)[k];
            d2 += d[j] * d[j];
            along += (double)vx_floats(a, 4 + j)[k] * d[j] * d[j];
        }
        along += 2 * ((double)vx_floats(a, 7)[k] * d[0] * d[1] +
                      (double)vx_floats(a, 8)[k] * d[0] * d[2] +
                      (double)vx_floats(a, 9)[k] * d[1] * d[2]);
        if (along <= 0 || d2 * d2 / along < (double)c->radial_sigmas * (double)c->radial_sigmas)
            return true;
    }
    return false;
}

static enum ref_cut cut_of(const struct vx_config *c, const struct ref_graph *g, uint32_t i,
                           uint32_t j, const double *q, const struct vx_answer *a, uint32_t n_pv)
{
    const double r = hypot(q[0] - (double)c->beam_x_mm, q[1] - (double)c->beam_y_mm);
    const double cos_ij = cosine(&g->line[i], &g->line[j]);

    if (c->origin_cut && g->has_origin[i] && g->has_origin[j] && g->pv[i] != g->pv[j])
        return REF_ORIGIN;
    if (is_near_a_vertex(c, a, n_pv, q))
        return REF_RADIAL;
    if (r < (double)c->cylinder_mm || r > (double)c->cylinder_max_mm)
        return REF_CYLINDER;
    if (sqrt(fmax(1 - cos_ij * cos_ij, 0)) < sin((double)c->min_angle_rad) ||
        cos_ij < cos((double)c->max_angle_rad))
        return REF_ANGLE;
    return REF_LEFT;
}

static int add_edge(struct ref_graph *g, struct ref_edge edge)
{
    if (array_grow(&g->edge, g->n_edges, &g->room, sizeof *g->edge) < 0)
        return -ENOMEM;
    g->edge[g->n_edges++] = edge;
    return 0;
}

/* What the score of a pair that crosses at q sees (pairs.h). */
static void features_of(const struct vx_config *c, const struct state *x, const struct state *y,
                        const double *q, const double *pv, double *ret)
{
    const double cos_xy = cosine(&x->line, &y->line), dz = q[2] - pv[2];
    const double across = hypot(q[0] - pv[0], q[1] - pv[1]);
    const double ip_x = sigmas_of(x, pv), ip_y = sigmas_of(y, pv);

    ret[VX_PAIR_DOCA] =
        pow(ref_distance(&x->line, &y->line), 2) / (variance_at(x, q[2]) + variance_at(y, q[2]));
    ret[VX_PAIR_SIN2] = 1 - cos_xy * cos_xy;
    ret[VX_PAIR_RADIUS] = pow(hypot(q[0] - (double)c->beam_x_mm, q[1] - (double)c->beam_y_mm), 2);
    ret[VX_PAIR_Z] = dz;
    ret[VX_PAIR_ACROSS] = across * across;
    ret[VX_PAIR_SLOPE] = across * across / fmax(dz * dz, 1e-4);
    ret[VX_PAIR_IP_LEAST] = pow(fmin(ip_x, ip_y), 2);
    ret[VX_PAIR_IP_MOST] = pow(fmax(ip_x, ip_y), 2);
}

static int add_edges(const struct vx_config *c, const struct vx_answer *a, uint32_t n_pv,
                     const struct state *state, struct ref_graph *g)
{
    const double parallel = (double)c->parallel_sin;
    int r = 0;

    for (uint32_t i = 0; i < g->n; i++)
        for (uint32_t j = i + 1; r == 0 && j < g->n; j++) {
            const struct ref_line *x = &g->line[i], *y = &g->line[j];
            double q[3], limit = (double)c->doca_mm;

            if (1 - cosine(x, y) * cosine(x, y) > parallel * parallel)
                ref_crossing(x, y, q);
            else
                for (uint32_t k = 0; k < 3; k++)
                    q[k] = 0.5 * (x->p[k] + y->p[k]);
            if (c->doca_sigmas > 0)
                limit = fmin(limit, (double)c->doca_sigmas * sqrt(variance_at(&state[i], q[2]) +
                                                                  variance_at(&state[j], q[2])));
            if (ref_distance(x, y) < limit) {
                struct ref_edge edge = {i, j, cut_of(c, g, i, j, q, a, n_pv), {0}};
                double pv[3];

                place_of(a, g->pv[i], pv);
                if (edge.cut == REF_LEFT)
                    features_of(c, &state[i], &state[j], q, pv, edge.feature);
                r = add_edge(g, edge);
            }
        }
    return r;
}

int ref_graph_make(const struct vx_config *c, const struct event *e, const struct vx_answer *a,
                   struct ref_graph *ret)
{
    const uint32_t n_pv = (uint32_t)a->result.value[0];
    struct state *state = calloc(e->n + 1u, sizeof *state);
    struct ref_graph g = {.track = calloc(e->n + 1u, sizeof *g.track),
                          .line = calloc(e->n + 1u, sizeof *g.line),
                          .pv = calloc(e->n + 1u, sizeof *g.pv),
                          .has_origin = calloc(e->n + 1u, sizeof *g.has_origin)};
    int r = state && g.track && g.line && g.pv && g.has_origin ? 0 : -ENOMEM;

    for (uint32_t i = 0; r == 0 && i < e->n && g.n < c->max_selected; i++) {
        const struct state s = state_of(c, e, i);
        double sigmas, mm;
        const uint32_t pv = nearest(&s, a, n_pv, &sigmas, &mm);

        if (!n_pv || sigmas < (double)c->ip_min_sigmas || sigmas >= (double)c->ip_max_sigmas ||
            mm >= (double)c->ip_max_mm)
            continue;
        state[g.n] = s;
        g.track[g.n] = i;
        g.line[g.n] = s.line;
        g.pv[g.n] = pv;
        g.has_origin[g.n++] = sigmas < (double)c->origin_sigmas;
    }
    if (r == 0)
        r = add_edges(c, a, n_pv, state, &g);
    free(state);
    if (r < 0)
        ref_graph_free(&g);
    *ret = g;
    return r;
}

void ref_graph_free(struct ref_graph *g)
{
    free(g->track);
    free(g->line);
    free(g->pv);
    free(g->has_origin);
    free(g->edge);
    *g = (struct ref_graph){0};
}

bool ref_graph_has_edge(const struct ref_graph *g, uint32_t k, enum ref_cut cuts)
{
    for (uint32_t i = 0; i < g->n_edges; i++)
        if ((g->edge[i].a == k || g->edge[i].b == k) &&
            (g->edge[i].cut == REF_LEFT || g->edge[i].cut > cuts))
            return true;
    return false;
}
