/* SPDX-License-Identifier: Apache-2.0 */
#include "gen_charge.h"

#include "exact.h"

#define STEPS 16 /* of an electron's way */

int charge_column(const struct geometry *g, double a)
{
    int c = (int)(a / (double)g->pitch), last = (int)g->n_columns - 1;

    if (a < 0)
        return -1;
    c = c > last ? last : c; /* too high at most: some columns are wider */
    while (c > 0 && a < ((double)g->centre[c] + (double)g->centre[c - 1]) / 2)
        c--;
    return a > (double)g->centre[last] + (double)g->pitch / 2 ? -1 : c;
}

int charge_row(const struct geometry *g, double b)
{
    const int r = (int)(b / (double)g->row_pitch);

    return b < 0 || r >= (int)g->n_rows ? -1 : r;
}

static void add(const struct geometry *g, struct charge *q, double a, double b, double part)
{
    const int column = charge_column(g, a), row = charge_row(g, b);
    const int c = column - q->column, r = row - q->row;

    if (column >= 0 && row >= 0 && c >= 0 && c < CHARGE_SIDE && r >= 0 && r < CHARGE_SIDE)
        q->in[c][r] += part;
}

static void drift(struct random *r, const struct charge_model *m, const struct geometry *g,
                  const struct charge_way *w, struct charge *q)
{
    for (uint32_t i = 0; i < w->steps; i++) {
        const double t = (i + 0.5) / w->steps - 0.5;
        const double part = w->length / w->steps * (0.7 + random_exponential(r, 0.3));
        const double b = w->b + t * w->db + random_normal(r) * m->spread;
        const double a = w->a + t * w->da + random_normal(r) * m->spread;

        add(g, q, a, b, part);
    }
}

/* An electron's charge along a straight way from the crossing. */
static void knock(struct random *r, const struct charge_model *m, const struct geometry *g,
                  const struct charge_way *w, struct charge *q)
{
    const double far = random_exponential(r, m->knocked_far);
    const double phi = random_range(r, -EXACT_PI, EXACT_PI);
    const double da = far * exact_cos(phi), db = far * exact_sin_wide(phi);

    for (int i = 1; i <= STEPS; i++)
        add(g, q, w->a + da * i / STEPS, w->b + db * i / STEPS, 2.0 / STEPS);
}

void charge_collect(struct random *r, const struct charge_model *m, const struct geometry *g,
                    const struct charge_way *way, struct charge *ret)
{
    *ret = (struct charge){.column = charge_column(g, way->a) - CHARGE_SIDE / 2,
                           .row = charge_row(g, way->b) - CHARGE_SIDE / 2};
    drift(r, m, g, way, ret);
    if (random_unit(r) < m->knocked)
        knock(r, m, g, way, ret);
}
