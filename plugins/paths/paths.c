/* SPDX-License-Identifier: Apache-2.0 */
/* paths - track candidates from linked doublets: doublets that begin where others end and fit to
 * them are joined to paths, paths are fitted, and those that share hits compete.  See README.md. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parameters.h"
#include "pipeline.h"

enum {
    VALUE_CANDIDATES,
    VALUE_ABOVE_PT,
    VALUE_LONG,
    VALUE_LEADING_PT,
    VALUE_SAME_VERTEX,
    VALUE_VERTEX_Z,
    VALUE_DOUBLETS,
    VALUE_LINKS,
    VALUE_PATHS
};
static const struct trg_value values[] = {
    {"n_candidates", "", "track candidates"},
    {"n_above_pt", "", "candidates of at least count_pt_gev"},
    {"n_long", "", "candidates of at least count_hits hits"},
    {"leading_pt_gev", "GeV", "largest pT of a candidate"},
    {"n_same_vertex", "", "most candidates with z0 in two neighbouring bins of vertex_window_mm"},
    {"vertex_z_mm", "mm", "z between these two bins"},
    {"n_doublets", "", "doublets that were used"},
    {"n_links", "", "links between them"},
    {"n_paths", "", "paths, before fit and cuts"},
    {0},
};

/* As many as paths; where duplicates are removed, each owns all but max_shared of its hits. */
#define CANDIDATES                                                                   \
    .cap = {.plus = "max_candidates"},                                               \
    .in = {{.factor = {.number = 1},                                                 \
            .divisor = {.number = 1, .plus = "min_doublets", .minus = "max_shared"}, \
            .when = "duplicates"},                                                   \
           {.factor = {.plus = "paths_per_doublet"}, .constant = {.number = PA_FREE}}}
static const struct trg_room product_room[] = {{"paths", CANDIDATES}, {"tracks", CANDIDATES}, {0}};

/* ---------------------------------------------------------------- one lane */

struct trg_algo {
    struct pa_pipeline pipeline;
};

static void paths_destroy(struct trg_algo *a)
{
    if (a)
        pa_close(&a->pipeline);
    free(a);
}

static int paths_create(const struct trg_host *host, const void *config, struct trg_device *device,
                        const struct trg_limits *limits, struct trg_algo **ret_algo)
{
    struct trg_algo *a = calloc(1, sizeof *a);
    int r;

    if (!a)
        return -ENOMEM;
    r = pa_open(&a->pipeline, host, config, device, limits);
    if (r < 0) {
        free(a);
        return r;
    }
    *ret_algo = a;
    return 0;
}

static int paths_device_output(struct trg_algo *a, uint32_t slot, uint32_t k, struct trg_input *ret)
{
    const struct pa_pipeline *p = &a->pipeline;

    if (slot >= p->limits.slots || k > 1)
        return -EINVAL;
    *ret = (struct trg_input){.collection = p->product[k].collection,
                              .span = p->product[k].span,
                              .dev = p->slot[slot].product[k]};
    return 0;
}

/* ---------------------------------------------------------------- one batch */

static int paths_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    return pa_enqueue(&a->pipeline, b, q, NULL);
}

/* The first limit that stopped anything. */
static void set_status(const struct pa_summary *s, struct trg_result *r)
{
    const uint32_t wanted[] = {s->n_paths, s->n_candidates};
    const uint32_t kept[] = {s->n_paths_kept, s->n_candidates_kept};

    for (int i = 0; i < 2; i++) {
        if (kept[i] < wanted[i]) {
            r->status = TRG_TRUNCATED;
            r->wanted = wanted[i];
            r->kept = kept[i];
            return;
        }
    }
}

static void set_values(const struct pa_par *par, const struct pa_summary *s, struct trg_result *r)
{
    float leading;

    memcpy(&leading, &s->leading_pt, sizeof leading);
    r->value[VALUE_CANDIDATES] = (float)s->n_candidates_kept;
    r->value[VALUE_ABOVE_PT] = (float)s->n_above_pt;
    r->value[VALUE_LONG] = (float)s->n_long;
    r->value[VALUE_LEADING_PT] = leading;
    r->value[VALUE_SAME_VERTEX] = (float)s->n_same_vertex;
    r->value[VALUE_VERTEX_Z] =
        s->n_same_vertex ? par->z_low + par->z_bin * ((float)s->vertex_bin + 1.0f) : 0;
    r->value[VALUE_DOUBLETS] = (float)s->n_doublets;
    r->value[VALUE_LINKS] = (float)s->n_links;
    r->value[VALUE_PATHS] = (float)s->n_paths;
}

static int paths_collect(struct trg_algo *a, struct trg_batch *b)
{
    const struct pa_pipeline *p = &a->pipeline;
    const struct pa_slot *s = &p->slot[b->slot];
    const struct pa_summary *sum = trg_buffer_host(s->summary_host);

    for (uint32_t i = 0; i < b->n_rois; i++) {
        set_status(&sum[i], &b->results[i]);
        set_values(&p->par, &sum[i], &b->results[i]);
        for (uint32_t k = 0; k < 2; k++)
            if (s->is_wanted[k])
                block_store(&p->product[k], pa_product(p, s, k), i, &b->outputs[k][i]);
    }
    return 0;
}

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {
    TRG_PLUGIN_INIT,
    .name = "paths",
    .version = "1.0.0",
    .summary = "track candidates from paths of linked doublets",
    .consumes = {&trg_hits, &trg_doublets},
    .produces = {&trg_paths, &trg_tracks},
    .backends = "cpu opencl cuda",
    .cost = {.batch_us = 100000, .roi_us = 500000, .item_ns = 5000},
    .params = paths_params,
    .presets = paths_presets,
    .values = values,
    .config_size = sizeof(struct pa_config),
    .check = paths_check,
    .room = product_room,
    .create = paths_create,
    .destroy = paths_destroy,
    .submit = paths_submit,
    .collect = paths_collect,
    .flags = TRG_PLUGIN_DEVICE_INPUT | TRG_PLUGIN_DEVICE_COLUMNS,
    .device_output = paths_device_output,
};
