/* SPDX-License-Identifier: Apache-2.0 */
/* jets.h - what jets.c and its kernel share. */
#ifndef JETS_H
#define JETS_H
#define JETS_GROUP 64u /* work-items */
/* Words of a cluster: those that add up, and the others. */
enum { JETS_PX, JETS_PY, JETS_PLUS, JETS_MINUS, JETS_TOWERS };
enum { JETS_Y = 5, JETS_PHI, JETS_WEIGHT, JETS_DISTANCE, JETS_STATE };

struct jets_config {
    float radius, pt_min_gev;
};

struct jets_par {
    struct trg_span towers;
    float radius2, pt_min_gev;
};
#endif
