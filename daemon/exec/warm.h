/* SPDX-License-Identifier: Apache-2.0 */
/* warm.h - made-up RoIs that a lane runs before it gets those of clients (lane_warm.c). */
#ifndef TRIGD_WARM_H
#define TRIGD_WARM_H
#include "exec/lane.h"

#define WARM_ROI UINT32_MAX /* number of a made-up RoI in its event */

struct warm {
    struct pool *pool; /* theirs alone: no counter and no client knows of them */
    struct sample *sample;
};

/* Makes RoIs with all inputs of a group of steps.  Leaves `ret` empty on failure. */
int warm_open(const struct menu *menu, const struct lane_input *inputs, uint32_t n_inputs,
              uint32_t max_layer, struct warm *ret);
void warm_close(struct warm *w); /* one that is empty is fine */
#endif
