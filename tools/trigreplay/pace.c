/* SPDX-License-Identifier: Apache-2.0 */
#include "pace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An LHC orbit, simplified: 3564 places of 25 ns; 39 trains of 72 filled ones with 8 empty ones
 * after each, and the rest of the orbit empty (kicker gaps, abort gap). */
#define BUNCH_NS  24.95
#define TRAIN     72.0
#define TRAIN_GAP 8.0
#define TRAINS    39.0
#define ORBIT     3564.0

int pace_parse(const char *text, struct pace *ret_pace)
{
    static const struct {
        const char *word;
        enum pace_mode mode;
    } table[] = {{"rate:", PACE_RATE}, {"poisson:", PACE_POISSON}, {"bunches:", PACE_BUNCHES}};
    struct pace p = {.mode = PACE_MAX};
    char *end;

    if (!strcmp(text, "max")) {
        *ret_pace = p;
        return 0;
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t n = strlen(table[i].word);

        if (strncmp(text, table[i].word, n) != 0)
            continue;
        p.mode = table[i].mode;
        p.rate_hz = strtod(text + n, &end);
        if (*end || end == text + n || !(p.rate_hz > 0 && p.rate_hz <= 1e8))
            return -EINVAL;
        *ret_pace = p;
        return 0;
    }
    return -EINVAL;
}

/* From time within trains to time on the clock. */
static double with_gaps(double live_ns)
{
    double bunches = live_ns / BUNCH_NS, trains = floor(bunches / TRAIN);
    double orbits = floor(trains / TRAINS);

    return (orbits * ORBIT + (trains - orbits * TRAINS) * (TRAIN + TRAIN_GAP) + bunches -
            trains * TRAIN) *
           BUNCH_NS;
}

uint64_t pace_next(struct pace *p)
{
    double mean_ns = 1e9 / p->rate_hz;

    switch (p->mode) {
    case PACE_MAX:
        return 0;
    case PACE_RATE:
        p->live_ns += mean_ns;
        return (uint64_t)p->live_ns;
    case PACE_POISSON:
        p->live_ns += random_exponential(&p->random, mean_ns);
        return (uint64_t)p->live_ns;
    case PACE_BUNCHES:
        p->live_ns += random_exponential(&p->random, mean_ns * TRAIN * TRAINS / ORBIT);
        return (uint64_t)with_gaps(p->live_ns);
    }
    return 0;
}
