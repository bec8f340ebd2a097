/* SPDX-License-Identifier: Apache-2.0 */
/* lean.h - clusters of super-pixels as a lean program for one core makes them: pixels are marked in
 * one flat matrix, a stack takes out those that touch, and what was marked is all that is cleared.
 */
#ifndef CLUSTERS_LEAN_H
#define CLUSTERS_LEAN_H
#include "banks.h"
#include "geometry.h"

struct lean {
    const struct geometry *g;
    uint32_t width;
    unsigned char *fired; /* [n_rows + 2][width], with a border of pixels that never fire */
    uint32_t *list, *stack;
    struct lean_hit {
        float x, y, z;
        uint32_t id, size;
    } * hit; /* of the last event */
    uint32_t n_hits, room;
};

int lean_open(const struct geometry *g, struct lean *ret); /* -ENOMEM */
void lean_close(struct lean *l);
/* The hits of an event whose words lie sensor by sensor and can be.  -ENOMEM. */
int lean_find(struct lean *l, const struct banks *b);
#endif
