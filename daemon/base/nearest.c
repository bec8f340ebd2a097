/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"

#include <stddef.h>
#include <string.h>

#define WORD_MAX 64u /* longer words are compared by their first characters */

static uint32_t min3(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t m = a < b ? a : b;

    return m < c ? m : c;
}

/* Insertions, deletions and replacements that turn one word into the other. */
static uint32_t distance(const char *a, const char *b)
{
    uint32_t n = (uint32_t)strnlen(b, WORD_MAX), row[WORD_MAX + 1];

    for (uint32_t j = 0; j <= n; j++)
        row[j] = j;
    for (uint32_t i = 0; i < WORD_MAX && a[i]; i++) {
        uint32_t diagonal = row[0];

        row[0] = i + 1;
        for (uint32_t j = 0; j < n; j++) {
            uint32_t above = row[j + 1];

            row[j + 1] = min3(above + 1, row[j] + 1, diagonal + (a[i] != b[j]));
            diagonal = above;
        }
    }
    return row[n];
}

struct nearest nearest_to(const char *word)
{
    /* about one slip in three letters still counts as meant */
    return (struct nearest){.word = word, .distance = (uint32_t)strnlen(word, WORD_MAX) / 3 + 2};
}

void nearest_offer(struct nearest *n, const char *candidate)
{
    uint32_t d = distance(n->word, candidate);
    size_t length = strlen(n->word);

    if (length > 2 && d > 1 && !strncmp(candidate, n->word, length))
        d = 1; /* a unit or an ending left away */
    if (d < n->distance) {
        n->distance = d;
        n->best = candidate;
    }
}

const char *nearest_of(const char *word, const char *const *candidates)
{
    struct nearest n = nearest_to(word);

    for (; *candidates; candidates++)
        nearest_offer(&n, *candidates);
    return n.best ? n.best : "";
}
