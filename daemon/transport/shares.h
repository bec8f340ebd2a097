/* SPDX-License-Identifier: Apache-2.0 */
/* shares.h - a number of credits shared out fairly by weight. */
#ifndef TRIGD_SHARES_H
#define TRIGD_SHARES_H
#include <stdint.h>

struct share {
    uint32_t weight; /* >= 1 */
    uint32_t demand; /* can be used now */
    uint32_t most;   /* >= demand; what is left over is shared up to this */
    uint32_t got;    /* the result */
};

/* Max-min fairness by weight (progressive filling; Bertsekas and Gallager, Data Networks, section
 * 6.5.2): nobody gets more than its demand, and whoever gets less has as much for its weight as
 * anybody.  What all demands leave is shared in the same way up to `most`.  The sum of `got` is the
 * least of `total` and the sum of `most`. */
void shares_fill(struct share *s, uint32_t n, uint32_t total);
#endif
