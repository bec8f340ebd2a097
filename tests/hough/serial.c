/* SPDX-License-Identifier: Apache-2.0 */
#include "serial.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "chance.h"

#define PI 3.14159265358979323846

struct line { /* x = x0 + tx (z - z0), y alike */
    double z, x, y, tx, ty;
};

struct cand {
    struct serial_track t;
    uint32_t n_first;
    double worth; /* of its hits: 1 each on the line, 0 at the largest distance */
    uint32_t number;
};

struct job {
    const struct hough_config *c;
    const struct event *e;
    uint32_t pass;
    bool *used;
    uint32_t *in, n_in, *wide, n_wide; /* hits of the window, and of it with its neighbours */
    double axis_x, axis_y;             /* of the window */
    uint32_t *cells;
    struct cand *cands;
    uint32_t n_cands, cands_room;
};

static double distance2(const struct event *e, const struct line *l, uint32_t h)
{
    double dz = (double)e->z[h] - l->z, dx = (double)e->x[h] - (l->x + l->tx * dz);
    double dy = (double)e->y[h] - (l->y + l->ty * dz);

    return dx * dx + dy * dy;
}

/* ---------------------------------------------------------------- the first projection */

static void project(const struct job *j, uint32_t h, double *ret_z, double *ret_u)
{
    *ret_z = ((double)j->e->z[h] - (double)j->c->z_centre_mm) / (double)j->c->z_scale;
    *ret_u = ((double)j->e->x[h] - (double)j->c->beam_x_mm) * j->axis_x +
             ((double)j->e->y[h] - (double)j->c->beam_y_mm) * j->axis_y;
}

static double r_max(const struct job *j)
{
    return (double)(j->pass == 2 ? j->c->r_max_wide_mm : j->c->r_max_mm);
}

/* |r_cell - r| in units of epsilon. */
static double epsilons(const struct job *j, double z, double u, uint32_t t, uint32_t k)
{
    double theta = (t + 0.5) * PI / j->c->n_theta, dr = 2 * r_max(j) / j->c->n_r;
    double rho = hypot(z, u), phi = atan2(u, z);
    double r = rho * cos(theta - phi), cell = -r_max(j) + (k + 0.5) * dr;
    double epsilon = (rho * (PI / j->c->n_theta) * fabs(sin(theta - phi)) + dr) / 2;

    return fabs(cell - r) / epsilon;
}

static void fill(struct job *j)
{
    const double dr = 2 * r_max(j) / j->c->n_r, dtheta = PI / j->c->n_theta;

    memset(j->cells, 0, (size_t)j->c->n_theta * j->c->n_r * sizeof *j->cells);
    for (uint32_t t = 0; t < j->c->n_theta; t++) {
        const double c = cos((t + 0.5) * dtheta), s = sin((t + 0.5) * dtheta);

        for (uint32_t i = 0; i < j->n_in; i++) {
            double z, u, r, epsilon;

            project(j, j->in[i], &z, &u);
            r = z * c + u * s;
            epsilon = (dtheta * fabs(u * c - z * s) + dr) / 2;
            for (uint32_t k = 0; k < j->c->n_r; k++)
                j->cells[t * j->c->n_r + k] += fabs((k + 0.5) * dr - r_max(j) - r) <= epsilon;
        }
    }
}

static bool is_peak(const struct job *j, uint32_t t, uint32_t k)
{
    int d = (int)j->c->distance_cells, width = (int)j->c->n_theta, height = (int)j->c->n_r;
    uint32_t n = j->cells[t * j->c->n_r + k];

    if (n < j->c->threshold)
        return false;
    for (int a = (int)t - d; a <= (int)t + d; a++)
        for (int b = (int)k - d; b <= (int)k + d; b++) {
            uint32_t other;

            if (a < 0 || b < 0 || a >= width || b >= height)
                continue;
            if (j->c->distance_norm && hypot(a - (int)t, b - (int)k) > d)
                continue;
            other = j->cells[a * height + b];
            if (other > n || (other == n && (a < (int)t || (a == (int)t && b < (int)k))))
                return false;
        }
    return true;
}

/* ---------------------------------------------------------------- lines in space */

static void insert(const struct event *e, struct serial_track *t, uint32_t h)
{
    uint32_t k = t->n++;

    for (; k &&
           (e->z[h] < e->z[t->hit[k - 1]] || (e->z[h] == e->z[t->hit[k - 1]] && h < t->hit[k - 1]));
         k--)
        t->hit[k] = t->hit[k - 1];
    t->hit[k] = h;
}

static void take_out(struct serial_track *t, uint32_t k)
{
    t->n--;
    memmove(&t->hit[k], &t->hit[k + 1], (t->n - k) * sizeof *t->hit);
}

static uint32_t gap(const struct event *e, uint32_t a, uint32_t b)
{
    return (uint32_t)abs((int)e->layer[a] - (int)e->layer[b]);
}

static double tolerance(const struct hough_config *c, double z, double low, double high)
{
    double out = z < low ? low - z : z > high ? z - high : 0;

    return fmin((double)c->tolerance_mm + (double)c->tolerance_rad * out,
                (double)c->tolerance_max_mm);
}

static bool through(const struct job *j, uint32_t a, uint32_t b, struct line *ret)
{
    const struct event *e = j->e;
    double dz = (double)e->z[b] - (double)e->z[a], ip, most, x, y, t2, z_beam;

    if (e->layer[a] == e->layer[b] || gap(e, a, b) > j->c->max_gap || dz <= 0)
        return false;
    *ret = (struct line){(double)e->z[a], (double)e->x[a], (double)e->y[a],
                         ((double)e->x[b] - (double)e->x[a]) / dz,
                         ((double)e->y[b] - (double)e->y[a]) / dz};
    most = (double)(j->pass == 2 ? j->c->ip_max_wide_mm : j->c->ip_max_mm);
    x = ret->x - (double)j->c->beam_x_mm;
    y = ret->y - (double)j->c->beam_y_mm;
    t2 = ret->tx * ret->tx + ret->ty * ret->ty;
    z_beam = (double)(j->pass == 2 ? j->c->z_beam_max_wide_mm : j->c->z_beam_max_mm);
    if (fabs((ret->z - (double)j->c->z_centre_mm) * t2 - x * ret->tx - y * ret->ty) > z_beam * t2)
        return false;
    ip = fabs((ret->x - (double)j->c->beam_x_mm) * ret->ty -
              (ret->y - (double)j->c->beam_y_mm) * ret->tx);
    return fabs(ret->tx) <= (double)j->c->slope_max && fabs(ret->ty) <= (double)j->c->slope_max &&
           ip <= most * hypot(ret->tx, ret->ty);
}

/* The pair that most layers agree with, among equals the one that they agree with best. */
static bool best_pair(const struct job *j, const struct serial_track *list, struct line *ret)
{
    uint32_t most = j->c->min_hits - 1, mask = 0;
    double least = 0;

    for (uint32_t a = 0; a < list->n; a++)
        for (uint32_t b = a + 1; b < list->n; b++) {
            uint32_t n = 0, last = UINT32_MAX, on = 0;
            double sum = 0;
            struct line l;

            if ((mask >> a & 1 && mask >> b & 1) || !through(j, list->hit[a], list->hit[b], &l))
                continue;
            for (uint32_t k = 0; k < list->n; k++) {
                uint32_t h = list->hit[k];
                double tol =
                    tolerance(j->c, (double)j->e->z[h], l.z, (double)j->e->z[list->hit[b]]);
                double d2 = distance2(j->e, &l, h);

                if (d2 <= tol * tol) {
                    n += j->e->layer[h] != last;
                    last = j->e->layer[h];
                    sum += d2;
                    on |= 1u << k;
                }
            }
            if (n > most || (n == most && n >= j->c->min_hits && sum < least)) {
                most = n;
                least = sum;
                mask = on;
                *ret = l;
            }
        }
    return most >= j->c->min_hits;
}

static struct line fit(const struct event *e, const struct serial_track *t)
{
    double szz = 0, sxz = 0, syz = 0;
    struct line l = {0, 0, 0, 0, 0};

    for (uint32_t k = 0; k < t->n; k++) {
        l.z += (double)e->z[t->hit[k]] / t->n;
        l.x += (double)e->x[t->hit[k]] / t->n;
        l.y += (double)e->y[t->hit[k]] / t->n;
    }
    for (uint32_t k = 0; k < t->n; k++) {
        double dz = (double)e->z[t->hit[k]] - l.z;

        szz += dz * dz;
        sxz += dz * (double)e->x[t->hit[k]];
        syz += dz * (double)e->y[t->hit[k]];
    }
    l.tx = sxz / szz;
    l.ty = syz / szz;
    return l;
}

static void gather(const struct job *j, const struct line *l, bool is_wide, double low, double high,
                   struct serial_track *t)
{
    const uint32_t *hits = is_wide ? j->wide : j->in, n = is_wide ? j->n_wide : j->n_in;

    t->n = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t h = hits[i], same = 0;
        double tol = tolerance(j->c, (double)j->e->z[h], low, high), d2 = distance2(j->e, l, h);

        if (d2 > tol * tol)
            continue;
        while (same < t->n && j->e->layer[t->hit[same]] != j->e->layer[h])
            same++;
        if (same < t->n && d2 >= distance2(j->e, l, t->hit[same]))
            continue;
        if (same < t->n)
            take_out(t, same);
        if (t->n < SERIAL_HITS)
            insert(j->e, t, h);
    }
}

static void cut_gaps(const struct job *j, struct serial_track *t)
{
    uint32_t from = 0, best_from = 0, best_n = 0;

    for (uint32_t k = 1; k <= t->n; k++)
        if (k == t->n || gap(j->e, t->hit[k - 1], t->hit[k]) > j->c->max_gap) {
            if (k - from > best_n) {
                best_n = k - from;
                best_from = from;
            }
            from = k;
        }
    memmove(t->hit, t->hit + best_from, best_n * sizeof *t->hit);
    t->n = best_n;
}

static struct line without_outliers(const struct job *j, struct serial_track *t)
{
    for (;;) {
        struct line l = fit(j->e, t);
        double most = (double)(t->n > 3 ? j->c->residual_max_mm : j->c->residual3_max_mm);
        double worst = most * most;
        uint32_t which = t->n;

        for (uint32_t k = 0; k < t->n; k++)
            if (distance2(j->e, &l, t->hit[k]) > worst) {
                worst = distance2(j->e, &l, t->hit[k]);
                which = k;
            }
        if (which == t->n)
            return l;
        take_out(t, which);
        if (t->n < j->c->min_hits)
            return l;
    }
}

static bool is_rare(const struct job *j, uint32_t step)
{
    return step >= 2 * j->c->layers_per_station || step % j->c->layers_per_station != 0;
}

/* Three hits: no far step, and no turn at the second that errors and scattering do not explain. */
static bool are_track(const struct job *j, const struct serial_track *t)
{
    const struct event *e = j->e;
    const uint32_t a = t->hit[0], b = t->hit[1], c = t->hit[2];
    double z = (double)e->z[a], length = (double)e->z[c] - z, part = ((double)e->z[b] - z) / length;
    struct line l = {z, (double)e->x[a], (double)e->y[a],
                     ((double)e->x[c] - (double)e->x[a]) / length,
                     ((double)e->y[c] - (double)e->y[a]) / length};
    double slope = hypot(l.tx, l.ty), sigma = (double)j->c->sigma_mm;
    double turn = hypot((double)j->c->scatter_rad, (double)j->c->scatter_slope_rad * slope);
    double off = part * (1 - part) * length * turn;
    double ip =
        fabs((l.x - (double)j->c->beam_x_mm) * l.ty - (l.y - (double)j->c->beam_y_mm) * l.tx) /
        slope;
    double rare = is_rare(j, gap(e, a, b)) || is_rare(j, gap(e, b, c)) ? (double)j->c->rare3 : 1;

    return gap(e, a, b) <= j->c->max_gap3 && gap(e, b, c) <= j->c->max_gap3 &&
           distance2(e, &l, b) * (1 + ip / (double)j->c->ip3_mm) * rare <=
               (double)j->c->chi2_3_max *
                   (sigma * sigma * (1 + part * part + (1 - part) * (1 - part)) + off * off);
}

static bool collect(const struct job *j, struct line l, struct serial_track *t)
{
    double low = l.z, high = l.z;

    for (uint32_t round = 0; round < 3; round++) {
        gather(j, &l, round == 2, low, high, t);
        cut_gaps(j, t);
        if (t->n < j->c->min_hits)
            return false;
        l = without_outliers(j, t);
        if (t->n < j->c->min_hits)
            return false;
        low = (double)j->e->z[t->hit[0]];
        high = (double)j->e->z[t->hit[t->n - 1]];
    }
    cut_gaps(j, t);
    return t->n >= j->c->min_hits && (t->n > 3 || are_track(j, t)) &&
           !is_chance(j->c, j->e, t->hit, t->n);
}

/* ---------------------------------------------------------------- windows */

static void band(const struct job *j, uint32_t t, uint32_t k, struct serial_track *list)
{
    for (double width = (double)j->c->band; width > (double)j->c->band / 200; width /= 2) {
        uint32_t n = 0;

        list->n = 0;
        for (uint32_t i = 0; i < j->n_in; i++) {
            double z, u;

            project(j, j->in[i], &z, &u);
            if (epsilons(j, z, u, t, k) > width)
                continue;
            if (n++ < SERIAL_HITS)
                insert(j->e, list, j->in[i]);
        }
        if (n <= SERIAL_HITS)
            return;
    }
    list->n = 0;
}

static int try_peak(struct job *j, uint32_t t, uint32_t k)
{
    struct serial_track list = {.n = 0}, found = {.n = 0};
    struct line l = {0, 0, 0, 0, 0};
    struct cand *more;
    double sum = 0, most;

    band(j, t, k, &list);
    if (list.n < j->c->min_hits || !best_pair(j, &list, &l) || !collect(j, l, &found))
        return 0;
    if (j->n_cands == j->cands_room) {
        j->cands_room = 2 * j->cands_room + 64;
        more = realloc(j->cands, j->cands_room * sizeof *more);
        if (!more)
            return -ENOMEM;
        j->cands = more;
    }
    l = fit(j->e, &found);
    for (uint32_t h = 0; h < found.n; h++)
        sum += distance2(j->e, &l, found.hit[h]);
    most = (double)(found.n > 3 ? j->c->residual_max_mm : j->c->residual3_max_mm);
    j->cands[j->n_cands] = (struct cand){found, found.n, found.n - sum / (most * most), j->n_cands};
    j->n_cands++;
    return 0;
}

/* The bin of phi that a hit is in. */
static uint32_t bin_of(const struct job *j, uint32_t h, uint32_t n_bins, double phase)
{
    double phi = atan2((double)j->e->y[h] - (double)j->c->beam_y_mm,
                       (double)j->e->x[h] - (double)j->c->beam_x_mm);
    double b = (phi / (2 * PI) + 0.5) * n_bins - phase;

    return b < 0 ? n_bins - 1 : b >= n_bins ? n_bins - 1 : (uint32_t)b;
}

static int window(struct job *j, uint32_t w)
{
    uint32_t n_bins = j->pass == 2 ? j->c->phi_bins_wide : j->c->phi_bins,
             span = 1 + (j->pass == 2);
    double phase = j->pass == 1 ? 0.5 : 0;
    int r = 0;

    j->n_in = j->n_wide = 0;
    for (uint32_t h = 0; h < j->e->n; h++) {
        uint32_t from = (bin_of(j, h, n_bins, phase) + n_bins - w) % n_bins;

        if (j->used[h])
            continue;
        if (from < span)
            j->in[j->n_in++] = h;
        if ((from + 1) % n_bins < span + 2)
            j->wide[j->n_wide++] = h;
    }
    if (j->n_in < j->c->min_hits)
        return 0;
    j->axis_x = -cos(2 * PI * (w + 0.5 * span + phase) / n_bins);
    j->axis_y = -sin(2 * PI * (w + 0.5 * span + phase) / n_bins);
    fill(j);
    for (uint32_t t = 0; r == 0 && t < j->c->n_theta; t++)
        for (uint32_t k = 0; r == 0 && k < j->c->n_r; k++)
            if (is_peak(j, t, k))
                r = try_peak(j, t, k);
    return r;
}

/* ---------------------------------------------------------------- the competition */

static bool is_better(const struct cand *a, const struct cand *b)
{
    return a->worth != b->worth ? a->worth > b->worth : a->number < b->number;
}

static void give_up_hits(const struct job *j, struct cand *c)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < c->t.n; k++)
        if (!j->used[c->t.hit[k]])
            c->t.hit[n++] = c->t.hit[k];
    c->worth -= c->t.n - n;
    if (n < j->c->min_hits || c->n_first - n > (double)j->c->shared_max * c->n_first ||
        (n == 3 && n < c->t.n && !are_track(j, &c->t)) ||
        (n < c->t.n && is_chance(j->c, j->e, c->t.hit, n)))
        n = 0;
    c->t.n = n;
}

/* The best of all becomes a track, the others give up its hits, and so on. */
static int compete(struct job *j, struct serial_tracks *tracks)
{
    for (;;) {
        struct cand *best = NULL;

        for (uint32_t i = 0; i < j->n_cands; i++)
            if (j->cands[i].t.n && (!best || is_better(&j->cands[i], best)))
                best = &j->cands[i];
        if (!best)
            return 0;
        if (tracks->n == tracks->room)
            return -ENOMEM;
        for (uint32_t k = 0; k < best->t.n; k++)
            j->used[best->t.hit[k]] = true;
        tracks->list[tracks->n++] = best->t;
        best->t.n = 0;
        for (uint32_t i = 0; i < j->n_cands; i++)
            if (j->cands[i].t.n)
                give_up_hits(j, &j->cands[i]);
    }
}

int serial_find(const struct hough_config *c, const struct event *e,
                struct serial_tracks *ret_tracks)
{
    struct job j = {.c = c, .e = e};
    struct serial_tracks t = {.room = e->n / 3 + 1};
    int r = 0;

    t.list = calloc(t.room, sizeof *t.list);
    j.used = calloc(e->n + 1u, sizeof *j.used);
    j.in = calloc(e->n + 1u, sizeof *j.in);
    j.wide = calloc(e->n + 1u, sizeof *j.wide);
    j.cells = calloc((size_t)c->n_theta * c->n_r, sizeof *j.cells);
    if (!t.list || !j.used || !j.in || !j.wide || !j.cells)
        r = -ENOMEM;
    for (j.pass = 0; r == 0 && j.pass < c->passes; j.pass++) {
        uint32_t n_bins = j.pass == 2 ? c->phi_bins_wide : c->phi_bins;

        j.n_cands = 0;
        for (uint32_t w = 0; r == 0 && w < n_bins; w++)
            r = window(&j, w);
        if (r == 0)
            r = compete(&j, &t);
    }
    free(j.used);
    free(j.in);
    free(j.wide);
    free(j.cells);
    free(j.cands);
    if (r < 0)
        serial_free(&t);
    else
        *ret_tracks = t;
    return r;
}

void serial_free(struct serial_tracks *t)
{
    free(t->list);
    t->list = NULL;
    t->n = 0;
}
