/* SPDX-License-Identifier: Apache-2.0 */
/* pace.h - when RoIs are to be sent. */
#ifndef TRIGD_PACE_H
#define TRIGD_PACE_H
#include <stdint.h>

#include "random.h"

enum pace_mode {
    PACE_MAX,     /* as fast as credits allow */
    PACE_RATE,    /* evenly */
    PACE_POISSON, /* at random */
    PACE_BUNCHES  /* at random, but in the trains of bunches of an LHC fill only */
};

struct pace {
    enum pace_mode mode;
    double rate_hz; /* mean */
    double live_ns; /* time within trains so far */
    struct random random;
};

/* "max", "rate:HZ", "poisson:HZ" or "bunches:HZ"; -EINVAL. */
int pace_parse(const char *text, struct pace *ret_pace);
/* Time of the next RoI after the start, ns. */
uint64_t pace_next(struct pace *p);
#endif
