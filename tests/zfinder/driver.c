/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

static void input(const void *rois, uint32_t i, struct stage_source *ret_sources,
                  struct trg_roi_info *ret_info)
{
    const struct generated *g = (const struct generated *)rois + i;

    ret_sources[0] = (struct stage_source){.n = g->n, .column = {g->phi, g->rho, g->z, g->layer}};
    *ret_info = g->info;
}

int zfinder_run(struct batches *b, const struct generated *rois, uint32_t n,
                struct trg_result *ret_results, struct products *products)
{
    return batches_run(
        b, &(struct batches_work){
               .n = n, .input = input, .rois = rois, .results = ret_results, .products = products});
}
