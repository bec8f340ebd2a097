/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels with more charge than a threshold fire.  Diffusion and delta electrons are such that the
 * sizes of clusters are those of LHCb's simulated events: 44 % of one pixel, 36 % of two, 11 % of
 * three. */
#include "gen_banks.h"

#include <errno.h>

#include "gen_store.h"

static const struct charge_model silicon = {.detector = CHARGE_VELO,
                                            .thickness = 0.2,
                                            .spread = 0.0045,
                                            .delta_part = 0.08,
                                            .delta_range = 0.1,
                                            .threshold = 0.115,
                                            .column_bits = 1, /* super-pixels are 2 by 4 */
                                            .row_bits = 2};

int banks_cross(struct charge_maker *m, uint32_t sensor, double x, double y, double tx, double ty,
                uint32_t particle)
{
    const struct geometry *g = charge_geometry(CHARGE_VELO);
    const struct geometry_sensor *s;
    struct charge_track track = {.steps = 16};

    if (sensor >= g->n_sensors)
        return -ENOMEM;
    s = &g->sensor[sensor];
    x -= (double)s->corner[0];
    y -= (double)s->corner[1];
    track.a = x * (double)s->column[0] + y * (double)s->column[1];
    track.b = x * (double)s->row[0] + y * (double)s->row[1];
    track.da = (tx * (double)s->column[0] + ty * (double)s->column[1]) * silicon.thickness;
    track.db = (tx * (double)s->row[0] + ty * (double)s->row[1]) * silicon.thickness;
    track.length =
        sqrt(track.da * track.da + track.db * track.db + silicon.thickness * silicon.thickness) /
        silicon.thickness;
    return charge_cross(m, &silicon, sensor, &track, particle);
}

int banks_noise(struct charge_maker *m, uint32_t sensor)
{
    return charge_noise(m, &silicon, sensor);
}

/* ---------------------------------------------------------------- super-pixels */

static int store_one(struct generated *g, const struct charge_pixel *p, uint32_t n)
{
    uint32_t word = p->column / 2 << 14 | p->row / 4 << 8;

    for (uint32_t i = 0; i < n; i++)
        word |= 1u << (p[i].column % 2 * 4 + p[i].row % 4);
    return store_bank(g, p->sensor, word, p->particle);
}

static uint32_t column_of(uint32_t word)
{
    return word >> 14 & 511;
}

static uint32_t row_of(uint32_t word)
{
    return word >> 8 & 63;
}

static bool are_neighbours(const struct generated_banks *b, uint32_t i, uint32_t k)
{
    const int dr = (int)row_of(b->word[k]) - (int)row_of(b->word[i]);

    return b->sensor[i] == b->sensor[k] && column_of(b->word[k]) - column_of(b->word[i]) <= 1 &&
           dr >= -1 && dr <= 1;
}

/* Sets bit 31 of those without neighbours. */
static void set_hints(struct generated *g)
{
    struct generated_banks *b = &g->banks;

    for (uint32_t i = 0; i < g->n; i++)
        b->word[i] |= 1u << 31;
    for (uint32_t i = 0; i < g->n; i++)
        for (uint32_t k = i + 1; k < g->n && b->sensor[k] == b->sensor[i] &&
                                 column_of(b->word[k]) <= column_of(b->word[i]) + 1;
             k++)
            if (are_neighbours(b, i, k)) {
                b->word[i] &= ~(1u << 31);
                b->word[k] &= ~(1u << 31);
            }
}

int banks_store(struct charge_maker *m, struct generated *g)
{
    const int r = charge_store(m, g, store_one);

    set_hints(g);
    return r;
}
