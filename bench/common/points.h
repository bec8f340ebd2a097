/* SPDX-License-Identifier: Apache-2.0 */
/* points.h - spacepoints with realistic values, as columns and as a message. */
#ifndef TRIGD_BENCH_POINTS_H
#define TRIGD_BENCH_POINTS_H
#include <stddef.h>
#include <stdint.h>

struct points {
    uint32_t n;
    float *phi, *rho, *z;
    uint8_t *layer;
};

/* n points on eight barrel layers, always the same ones.  -ENOMEM. */
int points_new(uint32_t n, struct points *ret_points);
void points_free(struct points *p);
/* One RoI with these points as a packed ToDaemon message on the heap, owned by the caller; NULL
 * when memory is out. */
void *points_message(const struct points *p, uint64_t token, size_t *ret_bytes);
/* The same with encoded spacepoints. */
void *points_encoded_message(const struct points *p, uint64_t token, size_t *ret_bytes);
#endif
