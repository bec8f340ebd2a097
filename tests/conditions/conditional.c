/* SPDX-License-Identifier: Apache-2.0 */
/* conditional - a test plugin that reports its conditions: `scale`, which it needs, and `dead`. */
#include <unistd.h>

#include "hostplugin.h"
#include "tables.collections.h"
#include "trigd/kernel.h"

static int collect(struct trg_algo *a, struct trg_batch *b)
{
    const struct trg_input *scale = &b->condition[0], *dead = &b->condition[1];

    (void)a;
    for (uint32_t i = 0; i < b->n_rois; i++) {
        const uint32_t last = scale->span.n_items - 1;
        float *value = b->results[i].value;

        if (b->rois[i].l1id == 666) /* a worker that ends: the next one has the same conditions */
            _exit(3);
        value[0] = TRG_SCALES_SCALE(scale->host, scale->span)[0];
        value[1] = TRG_SCALES_COUNTS(scale->host, scale->span)[3 * last + 2];
        value[2] = dead->collection ? (float)dead->span.n_items : -1;
        value[3] = (float)(b->condition_key[0] >> 40); /* exact in a float */
    }
    return 0;
}

static const struct trg_value values[] = {{"scale", "mm", "of the first row"},
                                          {"count", "", "the last of the last row"},
                                          {"n_dead", "", "rows; -1: not given"},
                                          {"key", "", "upper bits of the key"},
                                          {0}};
static const struct trg_condition conditions[] = {
    {"scale", "one or two rows", &trg_scales, 0},
    {"dead", "may lack", &trg_dead_channels, TRG_CONDITION_OPTIONAL},
    {0}};
TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "conditional",
                                      .version = "1.0.0",
                                      .summary = "reports its conditions, for tests",
                                      .consumes = {&trg_spacepoints},
                                      .backends = "cpu opencl cuda",
                                      .values = values,
                                      .conditions = conditions,
                                      .create = create,
                                      .destroy = destroy,
                                      .submit = submit,
                                      .collect = collect};
