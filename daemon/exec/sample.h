/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h - random RoIs of any kinds of collections, ordinary ones and edge cases: for lanes that
 * warm up, and for `trigctl check-plugin`. */
#ifndef TRIGD_SAMPLE_H
#define TRIGD_SAMPLE_H
#include <stdint.h>

#include "exec/stage.h"

#define SAMPLE_INPUTS_MAX 8

enum sample_case { /* the edge cases, one RoI each, come first in a sample */
                   SAMPLE_EMPTY,
                   SAMPLE_ONE_ITEM,
                   SAMPLE_ONE_LAYER,
                   SAMPLE_IDENTICAL,
                   SAMPLE_LARGEST,
                   SAMPLE_CASES
};

struct sample { /* n RoIs with the same input kinds */
    uint32_t n, n_inputs, max_layer;
    uint32_t kind[SAMPLE_INPUTS_MAX];
    struct trg_roi_info *info;   /* [n] */
    struct stage_source *source; /* [n_inputs * n], input k of RoI i at k * n + i */
    unsigned char *data;         /* of all columns */
};

/* The name of a case in a report. */
const char *sample_case_name(enum sample_case c);
struct sample_setup {
    const uint32_t *kinds; /* of the inputs */
    uint32_t n_inputs;
    uint32_t n_random;  /* RoIs besides the edge cases */
    uint32_t max_items; /* of each input of an RoI */
    uint32_t max_layer; /* highest layer number */
    uint64_t seed;
};

/* Makes SAMPLE_CASES + n_random RoIs.  -ENOMEM. */
int sample_new(const struct sample_setup *setup, struct sample **ret_sample);
void sample_free(struct sample *s); /* NULL is fine */
static inline const struct stage_source *sample_source(const struct sample *s, uint32_t input,
                                                       uint32_t roi)
{
    return &s->source[input * s->n + roi];
}

/* The next of a sequence of random numbers (splitmix64). */
static inline uint64_t sample_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
/* 0 .. n - 1 */
static inline uint32_t sample_below(uint64_t *state, uint32_t n)
{
    return n ? (uint32_t)(sample_random(state) % n) : 0;
}
#endif
