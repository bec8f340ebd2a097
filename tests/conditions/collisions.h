/* SPDX-License-Identifier: Apache-2.0 */
/* collisions.h - RoIs of tracks from two vertices on a line along z. */
#ifndef CONDITIONS_COLLISIONS_H
#define CONDITIONS_COLLISIONS_H
#include "seed.h"
#include "trigd/testing.h"

#define N_ROIS 40u
#define TRACKS 60u
#define X      1.25f
#define Y      -0.75f

static float column[10][N_ROIS * TRACKS];
static uint32_t n_hits[N_ROIS * TRACKS];
static struct trg_testing_roi roi[N_ROIS];

/* Tracks from two vertices an RoI on the line at (X, Y). */
static void make_tracks(uint64_t seed)
{
    for (uint32_t i = 0; i < N_ROIS * TRACKS; i++) {
        const float z = (i % 2 ? -40.0f : 55.0f) + (float)(i / TRACKS);
        const float tx = (float)seed_uniform(&seed, -0.2, 0.2);
        const float ty = (float)seed_uniform(&seed, -0.2, 0.2);
        const float at = 100.0f,
                    state[] = {
                        X + tx * (at - z), Y + ty * (at - z), at, tx, ty, 1e-4f, 1e-8f, 0, 1, 0.1f};

        for (uint32_t c = 0; c < 10; c++)
            column[c][i] = state[c];
        n_hits[i] = 10;
    }
    for (uint32_t r = 0; r < N_ROIS; r++) {
        roi[r].info = (struct trg_roi_info){.run = 1, .l1id = r};
        roi[r].in[0].n = TRACKS;
        for (uint32_t c = 0; c < 10; c++)
            roi[r].in[0].column[c] = &column[c][(size_t)r * TRACKS];
        roi[r].in[0].column[10] = &n_hits[(size_t)r * TRACKS];
    }
}
#endif
