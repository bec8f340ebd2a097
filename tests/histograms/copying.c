/* SPDX-License-Identifier: Apache-2.0 */
/* copying - a test plugin whose product is its input; `n` is how many points there are. */
#include <string.h>

#include "hostplugin.h"

static int collect(struct trg_algo *a, struct trg_batch *b)
{
    const struct trg_input *in = &b->in[0];
    const uint32_t *first = (const void *)(in->host + in->span.offsets);

    (void)a;
    for (uint32_t r = 0; r < b->n_rois; r++) {
        struct trg_output *out = &b->outputs[0][r];
        const uint32_t n = first[r + 1] - first[r];

        b->results[r].value[0] = (float)n;
        out->n = n < out->capacity ? n : out->capacity;
        for (uint32_t c = 0; c < trg_spacepoints.n_columns && out->n; c++) {
            const size_t size = trg_column_bytes(&trg_spacepoints.column[c]);

            memcpy(out->column[c], in->host + in->span.column[c] + first[r] * size, out->n * size);
        }
    }
    return 0;
}

static const struct trg_value values[] = {{"n", "", "points"}, {0}};
static const struct trg_room room[] = {{"spacepoints", .in = {{.factor = {.number = 1}}}}, {0}};
TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "copying",
                                      .version = "1.0.0",
                                      .summary = "its product is its input, for tests",
                                      .consumes = {&trg_spacepoints},
                                      .produces = {&trg_spacepoints},
                                      .room = room,
                                      .backends = "cpu opencl cuda",
                                      .values = values,
                                      .create = create,
                                      .destroy = destroy,
                                      .submit = submit,
                                      .collect = collect};
