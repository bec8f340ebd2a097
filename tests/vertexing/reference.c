/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <math.h>
#include <string.h>

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

double ref_miss(const struct ref_line *a, const double *point)
{
    double d[3] = {point[0] - a->p[0], point[1] - a->p[1], point[2] - a->p[2]}, c[3];

    cross(d, a->u, c);
    return sqrt(dot(c, c));
}

double ref_distance(const struct ref_line *a, const struct ref_line *b)
{
    double d[3] = {b->p[0] - a->p[0], b->p[1] - a->p[1], b->p[2] - a->p[2]}, c[3];

    cross(a->u, b->u, c);
    if (dot(c, c) < 1e-18)
        return ref_miss(a, b->p);
    return fabs(dot(d, c)) / sqrt(dot(c, c));
}

void ref_crossing(const struct ref_line *a, const struct ref_line *b, double *ret_point)
{
    double d[3] = {b->p[0] - a->p[0], b->p[1] - a->p[1], b->p[2] - a->p[2]};
    double k = dot(a->u, b->u), det = 1 - k * k;
    double s = (dot(d, a->u) - k * dot(d, b->u)) / det;
    double t = (k * dot(d, a->u) - dot(d, b->u)) / det;

    for (int i = 0; i < 3; i++)
        ret_point[i] = 0.5 * (a->p[i] + s * a->u[i] + b->p[i] + t * b->u[i]);
}

static uint32_t find(uint32_t *parent, uint32_t k)
{
    while (parent[k] != k)
        k = parent[k] = parent[parent[k]];
    return k;
}

void ref_components(uint32_t n, uint32_t n_edges, const uint32_t (*edges)[2], uint32_t *ret_labels)
{
    for (uint32_t i = 0; i < n; i++)
        ret_labels[i] = i;
    for (uint32_t e = 0; e < n_edges; e++) {
        uint32_t a = find(ret_labels, edges[e][0]), b = find(ret_labels, edges[e][1]);

        if (a < b)
            ret_labels[b] = a;
        else
            ret_labels[a] = b;
    }
    for (uint32_t i = 0; i < n; i++)
        ret_labels[i] = find(ret_labels, i);
}

/* Solves m x = v for three unknowns by elimination with pivots; m is changed. */
static void solve(double m[3][3], double *v)
{
    for (int c = 0; c < 3; c++) {
        int p = c;

        for (int r = c + 1; r < 3; r++)
            if (fabs(m[r][c]) > fabs(m[p][c]))
                p = r;
        for (int k = 0; k < 3; k++) {
            double swap = m[c][k];

            m[c][k] = m[p][k];
            m[p][k] = swap;
        }
        double swap = v[c];

        v[c] = v[p];
        v[p] = swap;
        for (int r = 0; r < 3; r++) {
            double f = r == c ? 0 : m[r][c] / m[c][c];

            for (int k = 0; k < 3; k++)
                m[r][k] -= f * m[c][k];
            v[r] -= f * v[c];
        }
    }
    for (int c = 0; c < 3; c++)
        v[c] /= m[c][c];
}

void ref_vertex(const struct ref_line *lines, const double *weights, uint32_t n, double *ret_point,
                double *ret_cov)
{
    double h[3][3] = {{0}}, g[3] = {0};

    for (uint32_t i = 0; i < n; i++)
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) {
                double w = weights[i] / lines[i].var * ((r == c) - lines[i].u[r] * lines[i].u[c]);

                h[r][c] += w;
                g[r] += w * lines[i].p[c];
            }
    for (int c = 0; c < 3; c++) {
        double m[3][3], e[3] = {c == 0, c == 1, c == 2};

        memcpy(m, h, sizeof m);
        solve(m, e);
        ret_cov[c] = e[c];
    }
    solve(h, g);
    memcpy(ret_point, g, sizeof g);
}
