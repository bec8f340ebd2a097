/* SPDX-License-Identifier: Apache-2.0 */
/* noise.h - noisy pixels of the VELO in generated banks, and the condition that masks them. */
#ifndef CLUSTERS_NOISE_H
#define CLUSTERS_NOISE_H
#include "algohost.h"
#include "banks.h"
#include "conditions/condition_file.h"

#define NOISE_MOST 8192u

struct noise { /* rectangles of pixels that fire by themselves */
    uint32_t n;
    struct noise_part {
        unsigned sensor, column, row, n_columns, n_rows;
    } part[NOISE_MOST];
    double rate; /* of a pixel, in an event */
};

/* Every step-th sensor. */
void noise_sensors(struct noise *n, uint32_t step, double rate);
/* `each` pixels of every sensor, which fire in every event. */
void noise_pixels(struct noise *n, uint32_t each, uint64_t seed);
/* A copy of the banks with the noise of an event.  -ENOMEM. */
int noise_add(const struct noise *n, const struct banks *from, uint64_t seed, struct banks *ret);
/* A copy without those pixels, which is what is left of a sensor that is dead.  -ENOMEM. */
int noise_remove(const struct noise *n, const struct banks *from, struct banks *ret);
/* The condition dead_channels of these pixels, to be released.  Negative errno. */
int noise_conditions(const struct noise *n, const struct algo_host *clusters,
                     struct condition_list *ret_list);
#endif
