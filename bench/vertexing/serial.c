/* SPDX-License-Identifier: Apache-2.0 */
#include "serial.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"

#define BINS   2000
#define RANGE  250.0
#define WIDTH  0.25
#define ROUNDS 30

struct beam_track {
    struct ref_line line;
    double var_z;
};

static struct beam_track at_beam(const struct event *e, uint32_t i)
{
    double v[8], s, t2, norm;
    struct beam_track t;

    for (uint32_t c = 0; c < 8; c++)
        v[c] = (double)event_floats(e, c)[i];
    t2 = v[3] * v[3] + v[4] * v[4];
    norm = sqrt(1 + t2);
    s = t2 > 1e-10 ? -(v[0] * v[3] + v[1] * v[4]) / t2 : 0;
    t.line = (struct ref_line){{v[0] + s * v[3], v[1] + s * v[4], v[2] + s},
                               {v[3] / norm, v[4] / norm, 1 / norm},
                               fmax(v[5] + 2 * s * v[7] + s * s * v[6], 1e-6) / norm};
    t.var_z = (t.line.var * norm + 9e-4) / fmax(t2, 1e-10);
    return t;
}

/* Moves `p` to the minimum; the number of tracks that count. */
static uint32_t fit(const struct beam_track *t, uint32_t n, double window, double *p)
{
    double c = 10, moved = 1;
    uint32_t used = 0;

    for (int round = 0; round < ROUNDS && (c > 3 || moved > 1e-3); round++) {
        struct ref_line near[512];
        double weight[512], next[3], cov[3];
        uint32_t m = 0;

        used = 0;
        for (uint32_t i = 0; i < n && m < 512; i++) {
            double d, w;

            if (fabs(t[i].line.p[2] - p[2]) > window)
                continue;
            d = ref_miss(&t[i].line, p);
            w = 1 - d * d / t[i].line.var / (c * c);
            if (w <= 0)
                continue;
            near[m] = t[i].line;
            weight[m++] = w * w;
            used++;
        }
        if (used < 4)
            return 0;
        ref_vertex(near, weight, m, next, cov);
        moved = hypot(hypot(next[0] - p[0], next[1] - p[1]), next[2] - p[2]);
        memcpy(p, next, sizeof next);
        c = fmax(3, 0.7 * c);
    }
    return used;
}

int serial_primaries(const struct event *e)
{
    static _Thread_local double hist[BINS + 4];
    struct beam_track *t = malloc((e->n + 1) * sizeof *t);
    int found = 0;

    if (!t)
        return -ENOMEM;
    memset(hist, 0, sizeof hist);
    for (uint32_t i = 0; i < e->n; i++) {
        t[i] = at_beam(e, i);
        if (fabs(t[i].line.p[2]) < RANGE && t[i].var_z < 2.25)
            hist[2 + (int)((t[i].line.p[2] + RANGE) / WIDTH)] +=
                fmin(1, fmax(1.0 / 16, WIDTH / sqrt(t[i].var_z)));
    }
    for (int b = 2; b < BINS + 2; b++) {
        double here = hist[b - 1] + 2 * hist[b] + hist[b + 1];
        double before = hist[b - 2] + 2 * hist[b - 1] + hist[b];
        double behind = hist[b] + 2 * hist[b + 1] + hist[b + 2 < BINS + 4 ? b + 2 : b + 1];

        if (here > 1.5 && here > before && here >= behind) {
            double p[3] = {0, 0, (b - 1.5) * WIDTH - RANGE};

            found += fit(t, e->n, 8, p) >= 4;
        }
    }
    free(t);
    return found;
}
