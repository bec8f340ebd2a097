/* SPDX-License-Identifier: Apache-2.0 */
#include "trackml.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PI     3.14159265358979323846
#define LAYERS 4u

struct polar {
    double r, phi, z;
    uint32_t hit;
};

struct layer {
    struct polar *hit;
    uint32_t n;
};

static int read_hits(struct roi *r)
{
    const char *data = getenv("TRIGD_DATA");
    char path[400], command[512], line[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/trackml/event000001001-hits.csv.gz", data ? data : "");
    if (!data || access(path, R_OK) != 0)
        return -ENOENT;
    snprintf(command, sizeof command, "gzip -dc '%s'", path);
    f = popen(command, "r");
    while (f && fgets(line, sizeof line, f)) {
        unsigned id, volume, layer;
        double x, y, z;

        if (sscanf(line, "%u,%lf,%lf,%lf,%u,%u", &id, &x, &y, &z, &volume, &layer) == 6 &&
            volume == 8)
            roi_hit(r, x, y, z, layer / 2 - 1);
    }
    return f && pclose(f) == 0 ? 0 : -EIO;
}

static int by_phi(const void *a, const void *b)
{
    double x = ((const struct polar *)a)->phi, y = ((const struct polar *)b)->phi;

    return (x > y) - (x < y);
}

static int sort_layer(const struct roi *r, uint32_t number, struct layer *ret)
{
    ret->n = 0;
    ret->hit = calloc(r->n_hits, sizeof *ret->hit);
    if (!ret->hit)
        return -ENOMEM;
    for (uint32_t i = 0; i < r->n_hits; i++)
        if (r->layer[i] == number)
            ret->hit[ret->n++] =
                (struct polar){hypot((double)r->x[i], (double)r->y[i]),
                               atan2((double)r->y[i], (double)r->x[i]), (double)r->z[i], i};
    qsort(ret->hit, ret->n, sizeof *ret->hit, by_phi);
    return 0;
}

/* The first hit of the layer at or after phi. */
static uint32_t first_after(const struct layer *l, double phi)
{
    uint32_t low = 0, high = l->n;

    while (low < high) {
        uint32_t i = low + (high - low) / 2;

        if (l->hit[i].phi < phi)
            low = i + 1;
        else
            high = i;
    }
    return low;
}

static void pair(struct roi *r, const struct polar *in, const struct layer *outer, double dphi,
                 double z0_max)
{
    /* the window, and what of it lies beyond the seam on either side */
    for (double turn = -2 * PI; turn < 3 * PI; turn += 2 * PI) {
        for (uint32_t i = first_after(outer, in->phi + turn - dphi);
             i < outer->n && outer->hit[i].phi < in->phi + turn + dphi; i++) {
            const struct polar *out = &outer->hit[i];
            double z0 = in->z - in->r * (out->z - in->z) / (out->r - in->r);

            if (fabs(out->phi - in->phi - turn) < dphi && fabs(z0) < z0_max)
                roi_doublet(r, in->hit, out->hit);
        }
    }
}

int trackml_read(double dphi_rad, double z0_mm, struct roi *ret)
{
    struct layer layer[LAYERS] = {{0}};
    int r;

    roi_init(ret);
    r = read_hits(ret);
    for (uint32_t l = 0; r == 0 && l < LAYERS; l++)
        r = sort_layer(ret, l, &layer[l]);
    for (uint32_t l = 0; r == 0 && l + 1 < LAYERS; l++)
        for (uint32_t i = 0; i < layer[l].n; i++)
            pair(ret, &layer[l].hit[i], &layer[l + 1], dphi_rad, z0_mm);
    for (uint32_t l = 0; l < LAYERS; l++)
        free(layer[l].hit);
    if (r < 0)
        roi_fini(ret);
    return r;
}
