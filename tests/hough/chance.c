/* SPDX-License-Identifier: Apache-2.0 */
#include "chance.h"

#include <math.h>
#include <stdlib.h>

static double x_of(const struct hough_config *c, const struct event *e, uint32_t h)
{
    return (double)e->x[h] - (double)c->beam_x_mm;
}

static double y_of(const struct hough_config *c, const struct event *e, uint32_t h)
{
    return (double)e->y[h] - (double)c->beam_y_mm;
}

/* Slopes of the line through two hits. */
static void slopes(const struct event *e, uint32_t a, uint32_t b, double *tx, double *ty)
{
    const double dz = (double)e->z[b] - (double)e->z[a];

    *tx = ((double)e->x[b] - (double)e->x[a]) / dz;
    *ty = ((double)e->y[b] - (double)e->y[a]) / dz;
}

/* How far the middle one of three hits is off the line, in squares of what errors and scattering
 * explain. */
static double turn(const struct hough_config *c, const struct event *e, const uint32_t *h)
{
    const double to = (double)e->z[h[1]] - (double)e->z[h[0]];
    const double part = to / ((double)e->z[h[2]] - (double)e->z[h[0]]);
    double tx, ty, error2, kink2;

    slopes(e, h[0], h[2], &tx, &ty);
    error2 = pow((double)c->sigma_mm, 2) * (1 + pow(part, 2) + pow(1 - part, 2));
    kink2 =
        (pow((double)c->scatter_rad, 2) + pow((double)c->scatter_slope_rad * hypot(tx, ty), 2)) *
        pow(to * (1 - part), 2);
    return (pow((double)e->x[h[1]] - (double)e->x[h[0]] - tx * to, 2) +
            pow((double)e->y[h[1]] - (double)e->y[h[0]] - ty * to, 2)) /
           (error2 + kink2);
}

static bool has_rare_step(const struct hough_config *c, const struct event *e, const uint32_t *h,
                          uint32_t n)
{
    const int layers = (int)c->layers_per_station;

    for (uint32_t k = 0; k + 1 < n; k++) {
        const int step = abs(e->layer[h[k + 1]] - e->layer[h[k]]);

        if (step >= 2 * layers || step % layers)
            return true;
    }
    return false;
}

bool is_chance(const struct hough_config *c, const struct event *e, const uint32_t *hits,
               uint32_t n)
{
    const double crowd = pow(e->n / 1e4, 2);
    double tx, ty, ip, chi2;

    if (n != 3 && n != 4)
        return false;
    slopes(e, hits[0], hits[n - 1], &tx, &ty);
    ip = fabs(x_of(c, e, hits[0]) * ty - y_of(c, e, hits[0]) * tx) / hypot(tx, ty) + 0.05;
    chi2 = turn(c, e, hits);
    if (n == 4) {
        const double x = (x_of(c, e, hits[1]) + x_of(c, e, hits[2])) / 2;
        const double y = (y_of(c, e, hits[1]) + y_of(c, e, hits[2])) / 2;

        return crowd * fmax(chi2, turn(c, e, hits + 1)) * sqrt(ip) / (x * x + y * y) *
                   (has_rare_step(c, e, hits, n) ? 4 : 1) >
               (double)c->chance4_max;
    }
    if (e->z[hits[0]] >= c->z_made_mm)
        ip = 0.1 * pow(ip, 0.75);
    return crowd * ip * sqrt((chi2 + 0.5) * hypot(tx, ty)) /
               hypot(x_of(c, e, hits[1]), y_of(c, e, hits[1])) *
               (has_rare_step(c, e, hits, n) ? 3.6 : 1) >
           (double)c->chance3_max;
}
