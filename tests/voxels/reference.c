/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double value(const uint8_t *volume, const uint32_t *n, const int64_t *at)
{
    int64_t p[3];

    for (int a = 0; a < 3; a++)
        p[a] = at[a] < 0 ? 0 : at[a] >= n[a] ? (int64_t)n[a] - 1 : at[a];
    return volume[(p[2] * n[1] + p[1]) * n[0] + p[0]];
}

/* (left - right) / 2 and so on. */
static double gradient(const uint8_t *volume, const uint32_t *n, const int64_t *at, int axis)
{
    int64_t low[3] = {at[0], at[1], at[2]}, high[3] = {at[0], at[1], at[2]};

    low[axis]--;
    high[axis]++;
    return (value(volume, n, low) - value(volume, n, high)) / 2;
}

/* What a model's integer threshold is to the thesis's features. */
static double threshold(const struct vox_stump *s)
{
    if (s->feature == VOX_S)
        return s->at_most < 0 ? -1 : sqrt(s->at_most + 0.5) / 2;
    return s->feature >= VOX_DX ? s->at_most / 2.0 : s->at_most;
}

void reference_labels(const struct vox_model *m, const uint8_t *volume, const uint32_t *n,
                      const uint32_t *origin, uint8_t *labels)
{
    int64_t at[3];

    for (at[2] = 0; at[2] < n[2]; at[2]++)
        for (at[1] = 0; at[1] < n[1]; at[1]++)
            for (at[0] = 0; at[0] < n[0]; at[0]++) {
                double f[VOX_FEATURES], sum = m->bias;

                for (int a = 0; a < 3; a++) {
                    f[VOX_X + a] = (double)at[a] + origin[a];
                    f[VOX_DX + a] = gradient(volume, n, at, a);
                }
                f[VOX_V] = value(volume, n, at);
                f[VOX_S] =
                    sqrt(f[VOX_DX] * f[VOX_DX] + f[VOX_DY] * f[VOX_DY] + f[VOX_DZ] * f[VOX_DZ]);
                for (uint32_t i = 0; i < m->n_stumps; i++) {
                    const struct vox_stump *s = &m->stumps[i];

                    sum += f[s->feature] <= threshold(s) ? s->left : s->right;
                }
                *labels++ = sum > 0;
            }
}

struct flood {
    const uint32_t *n;
    uint8_t *open; /* labelled, and not reached yet */
    uint32_t *stack;
    uint32_t depth;
};

static void reach(struct flood *f, uint32_t at)
{
    if (f->open[at]) {
        f->open[at] = 0;
        f->stack[f->depth++] = at;
    }
}

static uint32_t flood(struct flood *f, uint32_t at)
{
    const uint32_t row = f->n[0], plane = row * f->n[1];
    uint32_t size = 0;

    reach(f, at);
    while (f->depth) {
        const uint32_t i = f->stack[--f->depth], x = i % row, y = i / row % f->n[1], z = i / plane;

        size++;
        if (x)
            reach(f, i - 1);
        if (x + 1 < f->n[0])
            reach(f, i + 1);
        if (y)
            reach(f, i - row);
        if (y + 1 < f->n[1])
            reach(f, i + row);
        if (z)
            reach(f, i - plane);
        if (z + 1 < f->n[2])
            reach(f, i + plane);
    }
    return size;
}

static void extend(struct reference_sums *s, uint32_t axis, uint32_t at)
{
    s->low[axis] = at < s->low[axis] ? at : s->low[axis];
    s->high[axis] = at > s->high[axis] ? at : s->high[axis];
}

int reference_sums(const uint8_t *labels, const uint32_t *n, const uint32_t *origin,
                   struct reference_sums *ret_sums)
{
    const uint32_t all = n[0] * n[1] * n[2];
    struct flood f = {.n = n, .open = malloc(all), .stack = malloc(all * sizeof(uint32_t))};
    struct reference_sums s = {.low = {UINT32_MAX, UINT32_MAX, UINT32_MAX}};

    if (f.open && f.stack) {
        memcpy(f.open, labels, all);
        for (uint32_t i = 0; i < all; i++) {
            uint32_t size;

            if (labels[i]) {
                s.count++;
                extend(&s, 0, origin[0] + i % n[0]);
                extend(&s, 1, origin[1] + i / n[0] % n[1]);
                extend(&s, 2, origin[2] + i / n[0] / n[1]);
            }
            if (!f.open[i])
                continue;
            size = flood(&f, i);
            s.components++;
            s.largest = size > s.largest ? size : s.largest;
        }
        *ret_sums = s;
    }
    free(f.open);
    free(f.stack);
    return f.open && f.stack ? 0 : -ENOMEM;
}
