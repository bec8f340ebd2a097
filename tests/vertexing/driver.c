/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int vx_answers_new(uint32_t n, struct vx_answer **ret_answers)
{
    *ret_answers = calloc(n + 1u, sizeof **ret_answers);
    return *ret_answers ? 0 : -ENOMEM;
}

void vx_answers_free(struct vx_answer *a, uint32_t n)
{
    for (uint32_t i = 0; a && i < n; i++)
        for (uint32_t c = 0; c < TRG_COLUMNS_MAX; c++)
            free(a[i].column[c]);
    free(a);
}

int vx_open(const struct algo_host *h, struct trg_device *device, const struct vx_config *config,
            uint32_t max_rois, uint32_t max_items, struct batches **ret_batches)
{
    return batches_open(&(struct batches_setup){.host = &h->host,
                                                .plugin = &h->plugin->d,
                                                .config = config,
                                                .device = device,
                                                .slots = 3,
                                                .max_rois = max_rois,
                                                .max_items = max_items},
                        ret_batches);
}

static void input(const void *rois, uint32_t i, struct stage_source *ret_sources,
                  struct trg_roi_info *ret_info)
{
    const struct event *e = (const struct event *)rois + i;

    ret_sources[0].n = e->n;
    for (uint32_t c = 0; c < EVENT_COLUMNS; c++)
        ret_sources[0].column[c] = e->column[c];
    *ret_info = e->info;
}

/* The room that an answer has is lent to the run that fills it. */
static void lend(const struct vx_answer *a, struct product *vertices)
{
    vertices->room = a->room;
    memcpy(vertices->column, a->column, sizeof a->column);
}

static void take_back(struct vx_answer *a, const struct trg_result *result,
                      const struct product *vertices)
{
    a->result = *result;
    a->n = vertices->n;
    a->room = vertices->room;
    memcpy(a->column, vertices->column, sizeof a->column);
}

int vx_run(struct batches *b, const struct event *events, uint32_t n, struct vx_answer *answers)
{
    struct trg_result *results = calloc(n + 1u, sizeof *results);
    struct products *products = answers ? calloc(n + 1u, sizeof *products) : NULL;
    const struct batches_work w = {
        .n = n, .input = input, .rois = events, .results = results, .products = products};
    int r = -ENOMEM;

    if (results && (products || !answers)) {
        for (uint32_t i = 0; products && i < n; i++)
            lend(&answers[i], &products[i].of[0]);
        r = batches_run(b, &w);
        for (uint32_t i = 0; products && i < n; i++)
            take_back(&answers[i], &results[i], &products[i].of[0]);
    }
    free(products);
    free(results);
    return r;
}
