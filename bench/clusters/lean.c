/* SPDX-License-Identifier: Apache-2.0 */
#include "lean.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

int lean_open(const struct geometry *g, struct lean *ret)
{
    const size_t pixels = (size_t)(g->n_columns + 2) * (g->n_rows + 2);
    struct lean l = {.g = g, .width = g->n_columns + 2};

    l.fired = calloc(pixels, 1);
    l.list = malloc(pixels * sizeof *l.list);
    l.stack = malloc(pixels * sizeof *l.stack);
    if (!l.fired || !l.list || !l.stack) {
        lean_close(&l);
        return -ENOMEM;
    }
    *ret = l;
    return 0;
}

void lean_close(struct lean *l)
{
    free(l->fired);
    free(l->list);
    free(l->stack);
    free(l->hit);
    memset(l, 0, sizeof *l);
}

static int add_hit(struct lean *l, uint32_t sensor, uint32_t n, uint32_t sum_column,
                   uint32_t sum_row)
{
    const struct geometry_sensor *s = &l->g->sensor[sensor];
    const uint32_t column = sum_column / n, row = sum_row / n;
    const float here = l->g->centre[column], next = l->g->centre[column + 1];
    const float a = here + (float)(sum_column - column * n) / (float)n * (next - here);
    const float b = ((float)row + 0.5f + (float)(sum_row - row * n) / (float)n) * l->g->row_pitch;

    if (array_grow(&l->hit, l->n_hits, &l->room, sizeof *l->hit) < 0)
        return -ENOMEM;
    l->hit[l->n_hits++] = (struct lean_hit){s->column[0] * a + s->row[0] * b + s->corner[0],
                                            s->column[1] * a + s->row[1] * b + s->corner[1],
                                            s->column[2] * a + s->row[2] * b + s->corner[2],
                                            1u << 31 | sensor << 18 | column << 8 | row, n};
    return 0;
}

/* Takes the pixels that touch `first` out of the matrix. */
static int take(struct lean *l, uint32_t sensor, uint32_t first)
{
    const int32_t w = (int32_t)l->width;
    const int32_t around[8] = {-w - 1, -w, -w + 1, -1, 1, w - 1, w, w + 1};
    uint32_t n = 0, sum_column = 0, sum_row = 0, depth = 1;

    l->stack[0] = first;
    l->fired[first] = 0;
    while (depth) {
        const uint32_t at = l->stack[--depth];

        n++;
        sum_column += at % l->width - 1;
        sum_row += at / l->width - 1;
        for (int k = 0; k < 8; k++) {
            const uint32_t next = (uint32_t)((int32_t)at + around[k]);

            if (l->fired[next]) {
                l->fired[next] = 0;
                l->stack[depth++] = next;
            }
        }
    }
    return add_hit(l, sensor, n, sum_column, sum_row);
}

int lean_find(struct lean *l, const struct banks *b)
{
    int r = 0;

    l->n_hits = 0;
    for (uint32_t i = 0, n; r == 0 && i < b->n;) {
        const uint32_t sensor = b->sensor[i];

        for (n = 0; i < b->n && b->sensor[i] == sensor; i++) {
            const uint32_t word = b->word[i];
            const uint32_t at = ((word >> 8 & 63) * 4 + 1) * l->width + (word >> 14 & 511) * 2 + 1;

            for (uint32_t p = word & 255; p; p &= p - 1) {
                const uint32_t k = (uint32_t)__builtin_ctz(p),
                               pixel = at + k % 4 * l->width + k / 4;

                l->fired[pixel] = 1;
                l->list[n++] = pixel;
            }
        }
        for (uint32_t k = 0; r == 0 && k < n; k++)
            if (l->fired[l->list[k]])
                r = take(l, sensor, l->list[k]);
    }
    return r;
}
