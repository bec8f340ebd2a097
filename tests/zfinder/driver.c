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

int zfinder_run_on_cpu(const struct algo_host *host, const void *config,
                       const struct generated *rois, uint32_t n, struct trg_result *ret_results)
{
    struct batches_setup setup = {.host = &host->host,
                                  .plugin = &host->plugin->d,
                                  .config = config,
                                  .slots = 1,
                                  .max_rois = 16,
                                  .max_items = 1000000};
    struct batches *b = NULL;
    int r = backends_device(host->backends, "cpu", 0, &setup.device);

    if (r == 0)
        r = batches_open(&setup, &b);
    if (r == 0)
        r = zfinder_run(b, rois, n, ret_results, NULL);
    batches_close(b);
    return r;
}
