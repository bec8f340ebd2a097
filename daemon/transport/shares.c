/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/shares.h"

#include <stdbool.h>

static uint32_t limit_of(const struct share *s, bool is_rest)
{
    return is_rest ? s->most : s->demand;
}

/* Serves those who want no more than their part of what is left; what they leave raises the part
 * of the others.  Returns what is left, *ret_weights is of those not served. */
static uint64_t serve_modest(struct share *s, uint32_t n, uint64_t left, bool is_rest,
                             uint64_t *ret_weights)
{
    uint64_t weights = 0;
    bool changed = true;

    for (uint32_t i = 0; i < n; i++)
        if (s[i].got < limit_of(&s[i], is_rest))
            weights += s[i].weight;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < n; i++) {
            uint64_t wants = limit_of(&s[i], is_rest) - s[i].got;

            if (!wants || wants * weights > left * s[i].weight)
                continue;
            s[i].got += (uint32_t)wants;
            left -= wants;
            weights -= s[i].weight;
            changed = true;
        }
    }
    *ret_weights = weights;
    return left;
}

static uint64_t pour(struct share *s, uint32_t n, uint64_t left, bool is_rest)
{
    uint64_t weights, all;

    left = serve_modest(s, n, left, is_rest, &weights);
    all = left;
    for (uint32_t i = 0; i < n && weights; i++) {
        if (s[i].got >= limit_of(&s[i], is_rest))
            continue;
        s[i].got += (uint32_t)(all * s[i].weight / weights);
        left -= all * s[i].weight / weights;
    }
    for (uint32_t i = 0; i < n && weights && left; i++) { /* what rounding left: less than n */
        if (s[i].got >= limit_of(&s[i], is_rest))
            continue;
        s[i].got++;
        left--;
    }
    return left;
}

void shares_fill(struct share *s, uint32_t n, uint32_t total)
{
    uint64_t left;

    for (uint32_t i = 0; i < n; i++)
        s[i].got = 0;
    left = pour(s, n, total, false);
    if (left)
        pour(s, n, left, true);
}
