/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POSITION_MAX 65535
#define HOST_WORDS \
    (6u + 2u)          /* before the CPU's steps: first of each feature and the end; shift, terms */
#define LANE_MAX 32000 /* the CPU's 16-bit sums stay below */

struct step { /* the sum grows by `by` where the feature is above `at` */
    int32_t feature, at;
    int64_t by;
};

struct steps {
    struct step *all;
    uint32_t n;
    int64_t bias;
};

static int32_t lowest(int32_t feature)
{
    return feature >= VOX_DX && feature <= VOX_DZ ? -255 : 0;
}

static int32_t highest(int32_t feature)
{
    if (feature < VOX_V)
        return POSITION_MAX;
    return feature == VOX_S ? (int32_t)VOX_S_MAX : 255;
}

static int by_place(const void *a, const void *b)
{
    const struct step *x = a, *y = b;

    if (x->feature != y->feature)
        return x->feature < y->feature ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Sorted steps, one for each threshold that changes the sum. */
static int collapse(const struct vox_model *m, struct steps *ret)
{
    struct steps s = {.bias = m->bias, .all = calloc(m->n_stumps + (size_t)1, sizeof *s.all)};
    uint32_t kept = 0;

    if (!s.all)
        return -ENOMEM;
    for (uint32_t i = 0; i < m->n_stumps; i++) {
        const struct vox_stump *u = &m->stumps[i];
        const int32_t f = (int32_t)u->feature;

        s.bias += u->at_most < lowest(f) ? u->right : u->left;
        if (u->at_most >= lowest(f) && u->at_most < highest(f))
            s.all[s.n++] = (struct step){f, u->at_most, (int64_t)u->right - u->left};
    }
    qsort(s.all, s.n, sizeof *s.all, by_place);
    for (uint32_t i = 0, next; i < s.n; i = next) {
        struct step one = s.all[i];

        for (next = i + 1; next < s.n && by_place(&s.all[next], &one) == 0; next++)
            one.by += s.all[next].by;
        if (one.by)
            s.all[kept++] = one;
    }
    s.n = kept;
    *ret = s;
    return 0;
}

/* ---------------------------------------------------------------- tables */

/* A table over values from `low` on. */
static void fill(const struct steps *s, int32_t feature, int32_t low, uint32_t entries,
                 int32_t *table)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const struct step *p = &s->all[i];
        const int64_t from = (int64_t)p->at + 1 - low;

        for (int64_t e = from < 0 ? 0 : from; p->feature == feature && e < entries; e++)
            table[e] += (int32_t)p->by;
    }
}

/* Entries that a table of positions needs: behind the last threshold nothing changes. */
static uint32_t extent(const struct steps *s, int32_t feature)
{
    uint32_t entries = 1;

    for (uint32_t i = 0; i < s->n; i++)
        if (s->all[i].feature == feature)
            entries = (uint32_t)s->all[i].at + 2u;
    return entries;
}

/* Enters one threshold of s in its part, if that has none yet. */
static bool fill_part(int32_t *w, const struct step *p)
{
    const uint32_t first = vox_whole((uint32_t)p->at + 1), part = vox_part_of(first);

    if (w[VOX_TABLE_S_AT + part] != INT32_MAX)
        return false;
    w[VOX_TABLE_S_AT + part] = (int32_t)first - 1;
    for (uint32_t e = part; e < VOX_S_PARTS; e++) {
        w[VOX_TABLE_S_SUM + e] += e > part ? (int32_t)p->by : 0;
        w[VOX_TABLE_S_SUM + VOX_S_PARTS + e] += (int32_t)p->by;
    }
    return true;
}

static void fill_squares(const struct steps *s, struct vox_tables *t)
{
    int32_t *w = t->words, *crowded = w + VOX_TABLE_CROWDED;

    for (uint32_t e = 0; e < VOX_S_PARTS; e++)
        w[VOX_TABLE_S_AT + e] = INT32_MAX;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->all[i].feature != VOX_S || fill_part(w, &s->all[i]))
            continue;
        crowded[t->s_steps] = (int32_t)vox_whole((uint32_t)s->all[i].at);
        crowded[VOX_S_STEPS + t->s_steps++] = (int32_t)s->all[i].by;
    }
}

static void fill_tables(const struct steps *s, struct vox_tables *t)
{
    int32_t *w = t->words, *position = w + VOX_TABLE_REST;

    fill(s, VOX_V, 0, VOX_V_ENTRIES, w + VOX_TABLE_V);
    fill(s, VOX_DX, -VOX_D_ZERO, VOX_D_ENTRIES, w + VOX_TABLE_DX);
    fill(s, VOX_DY, -VOX_D_ZERO, VOX_D_ENTRIES, w + VOX_TABLE_DY);
    fill(s, VOX_DZ, -VOX_D_ZERO, VOX_D_ENTRIES, w + VOX_TABLE_DZ);
    fill_squares(s, t);
    for (uint32_t e = 0; e < t->extent[0]; e++)
        position[e] = t->bias;
    for (int32_t axis = 0; axis < 3; axis++) {
        fill(s, axis, 0, t->extent[axis], position);
        position += t->extent[axis];
    }
}

/* ---------------------------------------------------------------- the CPU's steps */

static int64_t magnitude(int64_t a)
{
    return a < 0 ? -a : a;
}

/* How far weights are shifted right, so that no sum of them leaves 16 bits on its way. */
static uint32_t shift_of(const struct steps *s, int32_t terms)
{
    int64_t most = magnitude(s->bias);
    uint32_t shift = 0;

    for (uint32_t i = 0; i < s->n; i++)
        most += magnitude(s->all[i].by);
    while ((most >> shift) + terms > LANE_MAX)
        shift++;
    return shift;
}

static void fill_host(const struct steps *s, const struct vox_tables *t)
{
    /* one term for x, one for y, z and the bias, one for each step of the others */
    const int32_t terms = (int32_t)t->steps + 2;
    int32_t *w = t->words + VOX_TABLE_REST + t->extent[0] + t->extent[1] + t->extent[2];
    int32_t *step = w + HOST_WORDS;
    const uint32_t shift = shift_of(s, terms);
    int32_t n = 0;

    for (int32_t f = VOX_V; f <= VOX_S; f++) {
        w[f - VOX_V] = n;
        for (uint32_t i = 0; i < s->n; i++)
            if (s->all[i].feature == f) {
                *step++ = f == VOX_S ? s->all[i].at - 32768 : s->all[i].at;
                *step++ = (int32_t)(s->all[i].by >> shift);
                n++;
            }
    }
    w[VOX_S + 1 - VOX_V] = n;
    w[VOX_S + 2 - VOX_V] = (int32_t)shift;
    w[VOX_S + 3 - VOX_V] = terms;
}

/* Steps that the CPU compares; 0 where it had better look up. */
static uint32_t host_steps(const struct steps *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        n += s->all[i].feature >= VOX_V;
        if (s->all[i].feature == VOX_S && s->all[i].at >= VOX_S_SHORT)
            return 0;
    }
    return n <= VOX_STEPS_MAX ? n : 0;
}

/* ---------------------------------------------------------------- all */

static uint32_t count(const struct steps *s, int32_t feature)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n; i++)
        n += s->all[i].feature == feature;
    return n;
}

static int make(const struct steps *s, struct vox_tables *t, char *why, size_t why_bytes)
{
    static const uint32_t bit[] = {VOX_USES_V, VOX_USES_DX, VOX_USES_DY, VOX_USES_DZ, VOX_USES_S};
    const uint32_t of_s = count(s, VOX_S);

    if (of_s > VOX_S_STEPS) {
        snprintf(why, why_bytes, "it has %" PRIu32 " thresholds of s; %u are allowed", of_s,
                 VOX_S_STEPS);
        return -EINVAL;
    }
    for (int32_t f = VOX_V; f <= VOX_S; f++)
        t->uses |= count(s, f) ? bit[f - VOX_V] : 0;
    for (int32_t axis = 0; axis < 3; axis++)
        t->extent[axis] = extent(s, axis);
    t->bias = (int32_t)s->bias;
    t->thresholds = s->n;
    t->steps = host_steps(s);
    t->n_words =
        VOX_TABLE_REST + t->extent[0] + t->extent[1] + t->extent[2] + HOST_WORDS + 2 * t->steps;
    t->words = calloc(t->n_words, sizeof *t->words);
    if (!t->words)
        return -ENOMEM;
    fill_tables(s, t);
    if (t->steps)
        fill_host(s, t);
    return 0;
}

int vox_tables_make(const struct vox_model *m, struct vox_tables *ret_tables, char *why,
                    size_t why_bytes)
{
    struct vox_tables t = {0};
    struct steps s;
    int r = collapse(m, &s);

    if (r < 0)
        return r;
    r = make(&s, &t, why, why_bytes);
    free(s.all);
    if (r == 0)
        *ret_tables = t;
    return r;
}

void vox_tables_fini(struct vox_tables *t)
{
    free(t->words);
    memset(t, 0, sizeof *t);
}
