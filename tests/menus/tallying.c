/* SPDX-License-Identifier: Apache-2.0 */
/* tallying - a test plugin with a collection of its own; `n` is how many cells there are. */
#include "cells.collections.h"
#include "hostplugin.h"

static int collect(struct trg_algo *a, struct trg_batch *b)
{
    const struct trg_input *in = &b->in[0];
    const uint32_t *first = (const void *)(in->host + in->span.offsets);

    (void)a;
    for (uint32_t r = 0; r < b->n_rois; r++)
        b->results[r].value[0] = (float)(first[r + 1] - first[r]);
    return 0;
}

static const struct trg_value values[] = {{"n", "", "cells"}, {0}};
TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "tallying",
                                      .version = "1.0.0",
                                      .summary = "counts cells, for tests",
                                      .consumes = {&trg_reload_cells},
                                      .backends = "cpu opencl cuda",
                                      .values = values,
                                      .create = create,
                                      .destroy = destroy,
                                      .submit = submit,
                                      .collect = collect};
