/* SPDX-License-Identifier: Apache-2.0 */
/* outcome.h - what a plugin answered for one RoI, checked and compared. */
#ifndef TRIGCTL_OUTCOME_H
#define TRIGCTL_OUTCOME_H
#include <stdbool.h>
#include <stddef.h>

#include "plugin/plugin_host.h"

struct outcome {
    struct trg_result result;
    struct trg_output output[TRG_OUTPUTS_MAX];
    unsigned char *data[TRG_OUTPUTS_MAX]; /* what the columns point into, a guard after each */
};

/* Makes room for `capacity[k]` items of each product and fills it with `garbage`, so that items
 * which the plugin counts and does not write differ from run to run.  -ENOMEM. */
int outcome_init(struct outcome *o, const struct plugin *p, const uint32_t *capacity,
                 unsigned char garbage);
void outcome_fini(struct outcome *o);
/* Whether the answer is one at all; else says what is wrong. */
bool outcome_is_valid(const struct outcome *o, const struct plugin *p, char *why, size_t bytes);
/* Whether two answers are the same to the bit; else says where they differ. */
bool outcome_is_same(const struct outcome *a, const struct outcome *b, const struct plugin *p,
                     char *why, size_t bytes);
/* Whether they have the same integers, and floats with |a - b| <= tolerance * max(1, |a|, |b|). */
bool outcome_is_close(const struct outcome *a, const struct outcome *b, const struct plugin *p,
                      double tolerance, char *why, size_t bytes);
#endif
