/* SPDX-License-Identifier: Apache-2.0 */
#include "same_decision.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool is_same_list(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b)
{
    return n_a == n_b && (!n_a || !memcmp(a, b, n_a * sizeof *a));
}

static bool is_same_result(const Trigd__V1__StepResult *a, const Trigd__V1__StepResult *b)
{
    return a->step == b->step && a->n_values == b->n_values &&
           (!a->n_values || !memcmp(a->values, b->values, a->n_values * sizeof *a->values));
}

/* The first result that differs; NULL: none does. */
static const Trigd__V1__StepResult *other_result(const Trigd__V1__Decision *before,
                                                 const Trigd__V1__Decision *now)
{
    for (size_t i = 0; i < before->n_results; i++)
        if (i >= now->n_results || !is_same_result(before->results[i], now->results[i]))
            return before->results[i];
    return NULL;
}

bool same_decision(const Trigd__V1__Decision *before, const Trigd__V1__Decision *now, char *why,
                   size_t why_bytes)
{
    const Trigd__V1__StepResult *other;

    if (!now) {
        snprintf(why, why_bytes, "it is refused now");
        return false;
    }
    other = other_result(before, now);
    if (before->accept != now->accept || before->status != now->status)
        snprintf(why, why_bytes, "before: %s, status %d; now: %s, status %d",
                 before->accept ? "accepted" : "rejected", (int)before->status,
                 now->accept ? "accepted" : "rejected", (int)now->status);
    else if (other)
        snprintf(why, why_bytes, "the values of step %u differ", other->step);
    else if (!is_same_list(before->chains_raw, before->n_chains_raw, now->chains_raw,
                           now->n_chains_raw))
        snprintf(why, why_bytes, "other chains pass");
    else if (!is_same_list(before->chains, before->n_chains, now->chains, now->n_chains) ||
             !is_same_list(before->streams, before->n_streams, now->streams, now->n_streams))
        snprintf(why, why_bytes,
                 "other chains accept it: before by prescale set %016llx, now by %016llx",
                 (unsigned long long)before->prescale_key, (unsigned long long)now->prescale_key);
    else
        return true;
    return false;
}
