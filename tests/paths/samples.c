/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include <math.h>
#include <stdlib.h>

#define PI 3.14159265358979323846

static uint64_t next(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double between(uint64_t *state, double low, double high)
{
    return low + (high - low) * (double)(next(state) >> 11) * 0x1p-53;
}

static uint32_t pick(uint64_t *state, uint32_t n)
{
    return (uint32_t)((next(state) >> 32) * n >> 32);
}

void sample_graph(uint64_t *random, uint32_t n, uint32_t layers, double degree, struct roi *ret)
{
    uint32_t n_hits = 2 + (uint32_t)(n / degree);

    for (uint32_t i = 0; i < n_hits; i++) {
        uint32_t layer = pick(random, layers);
        double phi = between(random, -PI, PI), r = 30 + 40.0 * layer;

        roi_hit(ret, r * cos(phi), r * sin(phi), between(random, -200, 200), layer);
    }
    while (ret->n_doublets < n) {
        uint32_t a = pick(random, n_hits), b = pick(random, n_hits), swap = a;

        if (ret->layer[a] > ret->layer[b] && pick(random, 50)) {
            a = b;
            b = swap;
        }
        if (!pick(random, 200))
            b = n_hits + pick(random, 1u << 30);
        roi_doublet(ret, a, b);
    }
}

bool helix_cross(const struct helix *h, double field_t, double r, double *ret_x, double *ret_y,
                 double *ret_z)
{
    double radius = fabs(h->pt) / (0.299792458e-3 * field_t), turn = h->pt > 0 ? -1 : 1;
    double x0 = -h->d0 * sin(h->phi), y0 = h->d0 * cos(h->phi);
    /* the centre is to the left of the direction for a negative charge */
    double cx = x0 - turn * radius * sin(h->phi), cy = y0 + turn * radius * cos(h->phi);
    double low = 0, high = PI * radius, s;

    if (hypot(cx, cy) + radius <= r)
        return false;
    for (int i = 0; i < 60; i++) { /* the distance from the beam line grows up to half a turn */
        double angle;

        s = 0.5 * (low + high);
        angle = h->phi + turn * s / radius;
        *ret_x = cx + turn * radius * sin(angle);
        *ret_y = cy - turn * radius * cos(angle);
        if (hypot(*ret_x, *ret_y) < r)
            low = s;
        else
            high = s;
    }
    *ret_z = h->z0 + h->cot * 0.5 * (low + high);
    return true;
}

static void shuffle(uint64_t *random, struct roi *r)
{
    for (uint32_t i = r->n_doublets; i > 1; i--) {
        uint32_t k = pick(random, i), inner = r->inner[i - 1], outer = r->outer[i - 1];

        r->inner[i - 1] = r->inner[k];
        r->outer[i - 1] = r->outer[k];
        r->inner[k] = inner;
        r->outer[k] = outer;
    }
}

void sample_tracks(uint64_t *random, uint32_t n_tracks, uint32_t layers, double field_t,
                   struct roi *ret)
{
    for (uint32_t t = 0; t < n_tracks; t++) {
        struct helix h = {.pt =
                              exp(between(random, log(0.3), log(20))) * (pick(random, 2) ? 1 : -1),
                          .phi = between(random, -PI, PI),
                          .cot = between(random, -2, 2),
                          .d0 = between(random, -0.1, 0.1),
                          .z0 = between(random, -100, 100)};
        uint32_t before = UINT32_MAX;

        for (uint32_t l = 0; l < layers; l++) {
            double x, y, z;
            uint32_t hit;

            if (!helix_cross(&h, field_t, 30 + 40.0 * l, &x, &y, &z))
                break;
            hit = roi_hit(ret, x + between(random, -0.02, 0.02), y + between(random, -0.02, 0.02),
                          z + between(random, -0.05, 0.05), l);
            if (before != UINT32_MAX)
                roi_doublet(ret, before, hit);
            before = hit;
        }
    }
    for (uint32_t i = 0, n = ret->n_doublets; i < n; i++) {
        uint32_t a = pick(random, ret->n_hits), b = pick(random, ret->n_hits);

        /* close in phi, or a doublet of the track again */
        if (ret->layer[a] < ret->layer[b] &&
            (double)ret->x[a] * (double)ret->x[b] + (double)ret->y[a] * (double)ret->y[b] > 0)
            roi_doublet(ret, a, b);
    }
    shuffle(random, ret);
}

void sample_sort(struct roi *r)
{
    for (uint32_t i = 1; i < r->n_doublets; i++) {
        uint32_t inner = r->inner[i], outer = r->outer[i], k = i;

        for (; k > 0 && r->inner[k - 1] > inner; k--) {
            r->inner[k] = r->inner[k - 1];
            r->outer[k] = r->outer[k - 1];
        }
        r->inner[k] = inner;
        r->outer[k] = outer;
    }
}
