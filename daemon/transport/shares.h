/* SPDX-License-Identifier: Apache-2.0 */
/* shares.h - credits shared fairly by weight. */
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
 * 6.5.2): no share exceeds its demand, and each share below its demand is at least as large for its
 * weight as any other.  The rest is shared in the same way up to `most`.  The sum of `got` is the
 * least of `total` and the sum of `most`. */
void shares_fill(struct share *s, uint32_t n, uint32_t total);
#endif
