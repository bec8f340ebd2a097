/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int kit_open(struct trg_device *device, const struct trg_program *program, struct kit *ret_kit)
{
    struct kit k = {.device = device};
    int r = trg_queue_new(device, &k.queue);

    trg_device_info(device, &k.info);
    if (r == 0)
        r = trg_module_new(device, program, NULL, &k.module);
    if (r < 0)
        kit_close(&k);
    else
        *ret_kit = k;
    return r;
}

void kit_close(struct kit *k)
{
    trg_queue_free(k->queue);
    trg_module_free(k->module);
    *k = (struct kit){0};
}

int kit_upload(struct kit *k, const void *data, size_t bytes, struct trg_buffer **ret_buffer)
{
    struct trg_buffer *host = NULL, *b = NULL;
    int r = trg_buffer_new(k->device, TRG_MEM_PINNED, bytes, &host);

    if (r == 0)
        r = trg_buffer_new(k->device, TRG_MEM_DEVICE, bytes, &b);
    if (r == 0) {
        if (data)
            memcpy(trg_buffer_host(host), data, bytes);
        else
            memset(trg_buffer_host(host), 0xa5, bytes);
        r = trg_write(k->queue, b, 0, host, 0, bytes);
    }
    if (r == 0)
        r = trg_finish(k->queue);
    trg_buffer_free(host);
    if (r < 0)
        trg_buffer_free(b);
    else
        *ret_buffer = b;
    return r;
}

int kit_download(struct kit *k, struct trg_buffer *b, void *ret_data, size_t bytes)
{
    struct trg_buffer *host = NULL;
    int r = trg_buffer_new(k->device, TRG_MEM_PINNED, bytes, &host);

    if (r == 0)
        r = trg_read(k->queue, host, 0, b, 0, bytes);
    if (r == 0)
        r = trg_finish(k->queue);
    if (r == 0)
        memcpy(ret_data, trg_buffer_host(host), bytes);
    trg_buffer_free(host);
    return r;
}

int kit_launch(struct kit *k, const char *kernel, uint32_t groups, uint32_t size,
               const struct trg_arg *args, uint32_t n_args)
{
    struct trg_kernel *f;
    int r = trg_kernel_get(k->module, kernel, &f);

    size = size < k->info.group_max ? size : k->info.group_max;
    return r ? r : trg_launch(k->queue, f, (struct trg_range){groups, size}, args, n_args);
}

/* ---------------------------------------------------------------- graphs */

void kit_graph_close(struct kit_graph *g)
{
    struct trg_buffer *all[] = {g->data,  g->tracks, g->selected, g->pv_of,  g->pvs,
                                g->grids, g->counts, g->matrix,   g->labels, g->svs};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        trg_buffer_free(all[i]);
    *g = (struct kit_graph){0};
}

/* Offsets, the list of tracks and the counts of each RoI. */
static int upload_lists(struct kit *k, uint32_t n_pv, struct kit_graph *g)
{
    const uint32_t all = g->n_rois * g->n;
    uint32_t *offsets = calloc(g->n_rois + 1u, sizeof *offsets), *list = calloc(all + 1u, 4);
    struct vx_counts *counts = calloc(g->n_rois, sizeof *counts);
    int r = offsets && list && counts ? 0 : -ENOMEM;

    for (uint32_t i = 0; r == 0 && i < all; i++)
        list[i] = i;
    for (uint32_t i = 0; r == 0 && i < g->n_rois; i++) {
        offsets[i + 1] = (i + 1) * g->n;
        counts[i] = (struct vx_counts){.n_selected = g->n, .n_pv = n_pv};
    }
    if (r == 0)
        r = kit_upload(k, offsets, (g->n_rois + 1u) * sizeof *offsets, &g->data);
    if (r == 0)
        r = kit_upload(k, list, all * sizeof *list, &g->selected);
    if (r == 0)
        r = kit_upload(k, counts, g->n_rois * sizeof *counts, &g->counts);
    free(offsets);
    free(list);
    free(counts);
    return r;
}

/* Each RoI's primary vertices at its place. */
static int upload_vertices(struct kit *k, const struct vx_vertex *pvs, uint32_t n_pv,
                           struct kit_graph *g)
{
    const uint32_t places = vx_place(g->n_rois * g->n, g->n_rois);
    struct vx_vertex *all = calloc(places, sizeof *all);
    int r = all ? 0 : -ENOMEM;

    for (uint32_t i = 0; r == 0 && i < g->n_rois && n_pv; i++)
        memcpy(all + vx_place(i * g->n, i), pvs + (size_t)i * n_pv, n_pv * sizeof *all);
    if (r == 0)
        r = kit_upload(k, all, places * sizeof *all, &g->pvs);
    free(all);
    return r;
}

/* The beam line is at (0, 0). */
static int upload_grids(struct kit *k, struct kit_graph *g)
{
    struct vx_grid *all = calloc(g->n_rois, sizeof *all);
    int r = all ? kit_upload(k, all, g->n_rois * sizeof *all, &g->grids) : -ENOMEM;

    free(all);
    return r;
}

int kit_graph_open(struct kit *k, uint32_t n_rois, uint32_t n, const float *tracks,
                   const uint32_t *pv_of, const struct vx_vertex *pvs, uint32_t n_pv,
                   const struct vx_par *par, struct kit_graph *ret_graph)
{
    struct kit_graph g = {.n_rois = n_rois, .n = n, .words_room = (n + 31) / 32, .par = *par};
    const size_t all = (size_t)n_rois * n;
    int r;

    g.par.in = (struct trg_span){.n_rois = n_rois, .n_items = (uint32_t)all};
    g.par.n_rois = n_rois;
    g.par.items_room = (uint32_t)all;
    g.par.words_room = g.words_room;
    g.par.max_pv = VX_PV_MAX;
    g.par.max_sv = VX_SV_MAX;
    g.par.fit_parts = 1;
    if (g.par.max_cos == 0)
        g.par.max_cos = -1;
    if (g.par.origin_sigmas == 0)
        g.par.origin_sigmas = 1e9f;
    g.par.max_selected = n;
    g.par.parts = g.par.parts ? g.par.parts : 1;
    r = upload_lists(k, n_pv, &g);
    if (r == 0)
        r = kit_upload(k, tracks, VX_COLUMNS * all * sizeof *tracks, &g.tracks);
    if (r == 0)
        r = kit_upload(k, pv_of, all * sizeof *pv_of, &g.pv_of);
    if (r == 0)
        r = upload_vertices(k, pvs, n_pv, &g);
    if (r == 0)
        r = upload_grids(k, &g);
    if (r == 0)
        r = kit_upload(k, NULL, all * g.words_room * sizeof(uint32_t), &g.matrix);
    if (r == 0)
        r = kit_upload(k, NULL, all * sizeof(uint32_t), &g.labels);
    if (r == 0)
        r = kit_upload(k, NULL, vx_place((uint32_t)all, n_rois) * sizeof(struct vx_vertex), &g.svs);
    if (r < 0)
        kit_graph_close(&g);
    else
        *ret_graph = g;
    return r;
}

int kit_adjacency(struct kit *k, struct kit_graph *g)
{
    static const char *const kernel[] = {"vx_adjacency_full", "vx_adjacency_compute",
                                         "vx_adjacency_memory"};
    const struct trg_arg args[] = {TRG_BUF(g->data),   TRG_BUF(g->tracks), TRG_BUF(g->selected),
                                   TRG_BUF(g->counts), TRG_BUF(g->matrix), TRG_VAL(g->par)};

    return kit_launch(k, kernel[g->par.layout], g->n_rois * g->par.parts, 128, args, 6);
}

int kit_cuts(struct kit *k, struct kit_graph *g)
{
    const struct trg_arg args[] = {TRG_BUF(g->data),   TRG_BUF(g->tracks), TRG_BUF(g->selected),
                                   TRG_BUF(g->pv_of),  TRG_BUF(g->pvs),    TRG_BUF(g->grids),
                                   TRG_BUF(g->counts), TRG_BUF(g->matrix), TRG_VAL(g->par)};

    return kit_launch(k, "vx_cuts", g->n_rois * g->par.parts, 128, args, 9);
}

int kit_components(struct kit *k, struct kit_graph *g)
{
    const struct trg_arg args[] = {TRG_BUF(g->data), TRG_BUF(g->matrix), TRG_BUF(g->labels),
                                   TRG_BUF(g->svs),  TRG_BUF(g->counts), TRG_VAL(g->par)};

    return kit_launch(k, "vx_components", g->n_rois, 128, args, 6);
}

int kit_is_edge(const uint32_t *matrix, uint32_t layout, uint32_t n, uint32_t i, uint32_t j)
{
    const uint32_t tile = j / 32, word = layout == VX_LAYOUT_MEMORY
                                             ? (tile * (tile + 1) / 2 + i / 32) * 32 + i % 32
                                             : tile * n + i;

    return matrix[word] >> (j % 32) & 1;
}
