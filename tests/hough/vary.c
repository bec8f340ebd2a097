/* SPDX-License-Identifier: Apache-2.0 */
#include "vary.h"

#include <math.h>
#include <stdlib.h>

#include "random.h"

#define SENSORS 4u   /* of a module */
#define ALL     208u /* of 52 modules */

/* Which sensor has a hit: two lie along each side of the module, across its diagonals. */
static uint32_t sensor_of(const struct generated *g, uint32_t i)
{
    const double side = g->hits.layer[i] % 2 ? 1 : -1;
    const double x = (double)g->hits.x[i], y = (double)g->hits.y[i];
    const double u = side * (x + y) * sqrt(0.5), v = side * (y - x) * sqrt(0.5);
    const uint32_t which = v > -5.1 ? (u < 19.125 ? 0 : 1) : (v > -19.125 ? 2 : 3);

    return (g->hits.layer[i] * SENSORS + which) % ALL;
}

/* Removes the hits of dead sensors, and what is said of them. */
static void remove_dead(struct generated *g, const bool *is_dead)
{
    struct generated_hits *h = &g->hits;
    uint32_t n = 0, s = 0, n_shared = 0;

    for (uint32_t i = 0; i < g->n; i++) {
        const bool keep = !is_dead[sensor_of(g, i)];

        for (; s < g->n_shared && g->shared_item[s] == i; s++)
            if (keep) {
                g->shared_item[n_shared] = n;
                g->shared_particle[n_shared++] = g->shared_particle[s];
            }
        if (!keep)
            continue;
        h->x[n] = h->x[i];
        h->y[n] = h->y[i];
        h->z[n] = h->z[i];
        h->layer[n] = h->layer[i];
        h->id[n] = n;
        g->particle[n++] = g->particle[i];
    }
    g->n = n;
    g->n_shared = n_shared;
}

void vary_hits(const struct vary *v, uint64_t seed, uint64_t i, struct generated *g)
{
    double shift[ALL][3];
    bool is_dead[ALL] = {false};
    struct random r;

    random_seed(&r, seed ^ 0x5eed5eed5eedu, i);
    for (uint32_t s = 0; s < ALL; s++)
        for (uint32_t k = 0; k < 3; k++)
            shift[s][k] = v->misaligned * random_normal(&r);
    for (uint32_t n = (uint32_t)lround(v->dead * ALL); n;) {
        const uint32_t s = (uint32_t)(random_u64(&r) % ALL);

        n -= !is_dead[s];
        is_dead[s] = true;
    }
    if (v->misaligned > 0)
        for (uint32_t k = 0; k < g->n; k++) {
            const double *by = shift[sensor_of(g, k)];

            g->hits.x[k] += (float)by[0];
            g->hits.y[k] += (float)by[1];
            g->hits.z[k] += (float)by[2];
        }
    if (v->dead > 0)
        remove_dead(g, is_dead);
}
