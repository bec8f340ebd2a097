/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - runs the plugin on RoIs of hits, as a lane does; and doublets made the slow
 * way. */
#ifndef TEST_DOUBLETS_DRIVER_H
#define TEST_DOUBLETS_DRIVER_H
#include "devices.h"
#include "parameters.h"

#define HITS_MAX 20000u /* of one RoI in these tests */

struct hits { /* of one RoI */
    uint32_t n;
    float x[HITS_MAX], y[HITS_MAX], z[HITS_MAX];
    uint16_t layer[HITS_MAX];
    uint32_t id[HITS_MAX];
};

struct doublets {
    uint32_t n, room;
    uint32_t *inner, *outer;
};

void doublets_free(struct doublets *d);

/* The defaults of the parameters; then "key", "value", ..., NULL. */
void configure(struct doublets_config *c, const char *const *settings);

/* n hits on cylinders and discs, a few on the same places, some that cannot be used. */
void make_hits(struct hits *h, uint32_t n, uint64_t *seed);

/* Runs n RoIs in batches of at most `batch`, two in flight; to_host 0: nobody wants the doublets.
 * Fails the test on any error. */
struct run {
    const struct device *device;
    const struct doublets_config *config;
    uint32_t batch, to_host;
};
void run_plugin(const struct run *run, const struct hits *hits, uint32_t n,
                struct trg_result *ret_results, struct doublets *ret_doublets);

/* All pairs of hits against what makes a doublet, in order of (inner, outer). */
void brute_force(const struct doublets_config *c, const struct hits *h, struct doublets *ret);

/* The same in double precision and from the definitions: 1 the pair is a doublet, 0 it is not, -1
 * so close to a cut that rounding may decide. */
int is_doublet(const struct doublets_config *c, const struct hits *h, uint32_t inner,
               uint32_t outer);
#endif
