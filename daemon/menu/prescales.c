/* SPDX-License-Identifier: Apache-2.0 */
#include "menu/prescales.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"

#define LINE_BYTES 48 /* "4294967295 1.7976931348623157e+308\n" */

bool prescale_is_allowed(double value)
{
    return value == 0 || (value >= 1 && isfinite(value));
}

/* ---------------------------------------------------------------- the set */

static int by_id(const void *a, const void *b)
{
    const uint32_t x = **(const uint32_t *const *)a, y = **(const uint32_t *const *)b;

    return (x > y) - (x < y);
}

/* A hash of one line a chain, "ID PRESCALE", in the order of ids. */
static uint64_t key_of(const struct prescales *p, uint32_t n)
{
    static _Thread_local char text[MENU_CHAINS_MAX * LINE_BYTES];
    const uint32_t *order[MENU_CHAINS_MAX];
    size_t used = 0;

    for (uint32_t i = 0; i < n; i++)
        order[i] = &p->id[i];
    qsort(order, n, sizeof *order, by_id);
    for (uint32_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, LINE_BYTES, "%u %.17g\n", *order[i],
                                 p->value[order[i] - p->id]);
    return hash_bytes(text, used);
}

/* Hashes below it are taken; with a prescale of 1 all are, whatever this says. */
static uint64_t below_of(double prescale)
{
    return prescale > 1 ? (uint64_t)(0x1p64 / prescale) : 0;
}

void prescales_init(const struct menu *m, const double *value, struct prescales *ret_set)
{
    *ret_set = (struct prescales){.key = 0};
    for (uint32_t i = 0; i < m->n_chains; i++) {
        const double v = value ? value[i] : m->chains[i].prescale;

        ret_set->id[i] = m->chains[i].id;
        ret_set->value[i] = v;
        if (v == 1)
            plan_add(ret_set->all.w, i);
        else if (v > 1)
            plan_add(ret_set->some.w, i);
        ret_set->below[i] = below_of(v);
    }
    ret_set->key = key_of(ret_set, m->n_chains);
}

/* ---------------------------------------------------------------- events */

/* The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): every bit of the result depends
 * on every bit of the input. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static uint64_t hash_of(uint32_t id, uint32_t run, uint32_t l1id, uint32_t bcid)
{
    return mix(mix((uint64_t)id << 32 | run) ^ ((uint64_t)bcid << 32 | l1id));
}

bool prescale_takes(uint32_t id, double p, uint32_t run, uint32_t l1id, uint32_t bcid)
{
    return p == 1 || hash_of(id, run, l1id, bcid) < below_of(p);
}

uint64_t prescales_take(const struct prescales *p, uint32_t word, uint64_t chains,
                        const struct trg_roi_info *info)
{
    uint64_t takes = chains & p->all.w[word];

    for (uint64_t left = chains & p->some.w[word]; left; left &= left - 1) {
        const uint32_t bit = (uint32_t)__builtin_ctzll(left), chain = 64 * word + bit;
        const uint64_t hash = hash_of(p->id[chain], info->run, info->l1id, info->bcid);

        takes |= (uint64_t)(hash < p->below[chain]) << bit;
    }
    return takes;
}
