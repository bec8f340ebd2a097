/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a slot needs and where everything lies in it; the kernels' parameters. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pipeline.h"

/* Rows of the products that a batch can need. */
uint32_t pa_batch_rows(const struct pa_pipeline *p, uint32_t n_rois, uint32_t n_hits)
{
    const struct pa_config *c = p->config;
    uint64_t most = (uint64_t)n_rois * c->max_candidates;
    uint32_t min_hits = c->min_doublets + 1;

    if (most > p->par.p_room)
        most = p->par.p_room;
    if (c->duplicates && min_hits > c->max_shared && most > n_hits / (min_hits - c->max_shared))
        most = n_hits / (min_hits - c->max_shared);
    return (uint32_t)most;
}

/* Takes `words` of the work buffer, at a multiple of 64 bytes. */
static uint32_t take(uint64_t *at, uint64_t words)
{
    uint64_t here = *at;

    *at = (here + words + 15) & ~(uint64_t)15;
    return (uint32_t)here;
}

static uint64_t place_doublets(const struct pa_pipeline *p, struct pa_at *a, uint64_t at)
{
    const uint64_t d = p->par.d_room;
    trg_u32 *const columns[] = {&a->from,    &a->to,         &a->order,   &a->inner,   &a->outer,
                                &a->outer_x, &a->outer_y,    &a->outer_z, &a->outer_r, &a->slope,
                                &a->bend,    &a->link_first, &a->n_links, &a->has_in};
    const uint64_t links = (uint64_t)p->config->links_per_doublet * p->limits.max_items +
                           (uint64_t)PA_FREE * p->limits.max_rois;

    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        *columns[i] = take(&at, d);
    a->tally = take(&at, d * p->config->max_doublets);
    a->link_low = a->tally; /* the table's levels 0 and 1 are never written */
    a->link_high = a->tally + p->par.d_room;
    a->mask = take(&at, d / 32 + 1);
    a->words = take(&at, d / 32 + 2);
    a->rank = take(&at, 2 * (d + 1));
    a->links = take(&at, links);
    return at;
}

/* Lays out the work buffer; returns its words. */
static uint64_t place_all(const struct pa_pipeline *p, struct pa_at *a)
{
    const uint64_t rois = p->limits.max_rois, h = p->limits.max_items + 1ull;
    const uint64_t n = p->par.p_room;
    trg_u32 *const of_hits[] = {&a->hit_x, &a->hit_y, &a->hit_z,   &a->hit_layer, &a->hit_r,
                                &a->start, &a->count, &a->best[0], &a->best[1],   &a->owner};
    uint64_t at = 0;

    a->totals = take(&at, PA_TOTALS);
    a->part = take(&at, 2ull * PA_PARTS_MAX);
    a->summary = take(&at, rois * (sizeof(struct pa_summary) / 4));
    a->path_first = take(&at, rois + 1);
    a->out_first = take(&at, rois + 1);
    a->n_open = take(&at, rois);
    a->h_first = take(&at, rois + 1);
    a->d_first = take(&at, rois + 1);
    for (size_t i = 0; i < sizeof of_hits / sizeof *of_hits; i++)
        *of_hits[i] = take(&at, h);
    at = place_doublets(p, a, at);
    a->path_hit = take(&at, n * PA_HITS_MAX);
    a->n_hits = take(&at, n);
    a->tip = take(&at, n);
    a->queue = take(&at, 2 * n);
    a->key = take(&at, n);
    a->is_kept = take(&at, n);
    a->fit = take(&at, n * PA_FIT_VALUES);
    return at;
}

int pa_set_sizes(struct pa_pipeline *p)
{
    const struct pa_config *c = p->config;
    uint64_t by_doublets = (uint64_t)c->paths_per_doublet * p->limits.max_items +
                           (uint64_t)PA_FREE * p->limits.max_rois;
    uint64_t by_rois = (uint64_t)c->max_paths * p->limits.max_rois;
    uint64_t paths = by_rois < by_doublets ? by_rois : by_doublets, words;
    uint32_t rows;
    char line[200];

    p->par.d_room = (p->limits.max_items + 15u) & ~15u;
    p->par.p_room = paths < UINT32_MAX / 16 ? (uint32_t)(paths + 15) & ~15u : UINT32_MAX / 16;
    words = place_all(p, &p->par.at);
    rows = pa_batch_rows(p, p->limits.max_rois, p->limits.max_items);
    p->product[0] = block_place(&trg_paths, p->limits.max_rois, rows);
    p->product[1] = block_place(&trg_tracks, p->limits.max_rois, rows);
    p->par.paths = p->product[0].span;
    p->par.tracks = p->product[1].span;
    if (words > UINT32_MAX || p->product[0].bytes > UINT32_MAX || paths > p->par.p_room) {
        snprintf(line, sizeof line,
                 "paths: batches of %u RoIs and %u items need %.0f GB: lower max_paths, "
                 "paths_per_doublet, links_per_doublet or the batch",
                 p->limits.max_rois, p->limits.max_items,
                 ((double)words * 4 + (double)p->product[0].bytes) * 1e-9);
        trg_log(p->host, TRG_ERROR, line);
        return -ENOMEM;
    }
    p->work_words = (uint32_t)words;
    return 0;
}

/* ---------------------------------------------------------------- parameters of the kernels */

static void set_cuts(const struct pa_config *c, struct pa_par *par)
{
    par->mm_per_gev = 1.0f / (0.299792458e-3f * c->field_t);
    par->align = c->align;
    par->curvature = c->curvature;
    par->beam_spot = c->beam_spot;
    par->origin_x = c->beam_x_mm;
    par->origin_y = c->beam_y_mm;
    par->theta_cut = c->theta_cut;
    par->theta_cut_forward = c->theta_cut_forward;
    par->max_dslope = c->max_dslope;
    par->min_radius = c->hard_pt_gev * par->mm_per_gev;
    par->max_dbend = c->max_dcurvature_per_m * 1e-3f;
    par->tolerance = c->origin_tolerance_mm;
    par->tolerance_outer = c->origin_tolerance_outer_mm;
    par->min_doublets = c->min_doublets;
    par->max_doublets = c->max_doublets;
    par->longest = c->keep == PA_KEEP_LONGEST;
    par->layers_skipped = c->layers_skipped;
    par->last_barrel = c->last_barrel;
    par->discs = c->discs;
}

static void set_candidates(const struct pa_config *c, struct pa_par *par)
{
    par->var_rphi = c->sigma_rphi_mm * c->sigma_rphi_mm;
    par->var_z = c->sigma_z_mm * c->sigma_z_mm;
    par->var_r = c->sigma_r_mm * c->sigma_r_mm;
    par->scatter = c->scatter_mrad_gev * 1e-3f;
    par->chi2_max = c->chi2_max;
    par->pt_cut = c->pt_cut_gev;
    par->d0_max = c->d0_max_mm;
    par->z0_max = c->z0_max_mm;
    par->remove_duplicates = c->duplicates;
    par->max_shared = c->max_shared;
    par->count_pt = c->count_pt_gev;
    par->count_hits = c->count_hits;
    par->z_bin = c->vertex_window_mm;
    par->z_low = -0.5f * (float)PA_BINS * c->vertex_window_mm;
    par->links_per_doublet = c->links_per_doublet;
    par->paths_per_doublet = c->paths_per_doublet;
    par->max_paths = c->max_paths;
    par->max_candidates = c->max_candidates;
}

void pa_set_par(const struct pa_config *c, struct pa_par *par)
{
    set_cuts(c, par);
    set_candidates(c, par);
}
