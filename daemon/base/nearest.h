/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.h - which known word a user most likely meant. */
#ifndef TRIGD_NEAREST_H
#define TRIGD_NEAREST_H
#include <stdint.h>

struct nearest {
    const char *word; /* as the user wrote it */
    const char *best; /* the closest candidate so far; NULL when none is close */
    uint32_t distance;
};

/* `word` is borrowed. */
struct nearest nearest_to(const char *word);
/* Offers a candidate, which is borrowed. */
void nearest_offer(struct nearest *n, const char *candidate);
/* The closest word of a NULL-ended list; "" when none is close. */
const char *nearest_of(const char *word, const char *const *candidates);
#endif
