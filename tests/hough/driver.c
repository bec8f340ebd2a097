/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

static void input(const void *rois, uint32_t i, struct stage_source *ret_sources,
                  struct trg_roi_info *ret_info)
{
    const struct event *e = (const struct event *)rois + i;

    ret_sources[0] =
        (struct stage_source){.n = e->n, .column = {e->x, e->y, e->z, e->layer, e->id}};
    *ret_info = e->info;
}

int hough_run(struct batches *b, const struct event *events, uint32_t n,
              struct trg_result *ret_results, struct products *found)
{
    return batches_run(
        b, &(struct batches_work){
               .n = n, .input = input, .rois = events, .results = ret_results, .products = found});
}
