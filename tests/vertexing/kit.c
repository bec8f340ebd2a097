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
    struct trg_buffer *all[] = {g->data,   g->tracks, g->selected, g->pv_of, g->pvs,
                                g->counts, g->matrix, g->labels,   g->svs};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        trg_buffer_free(all[i]);
    *g = (struct kit_graph){0};
}

int kit_graph_open(struct kit *k, uint32_t n, const float *tracks, const uint32_t *pv_of,
                   const struct vx_vertex *pvs, uint32_t n_pv, const struct vx_par *par,
                   struct kit_graph *ret_graph)
{
    struct kit_graph g = {.n = n, .words_room = (n + 31) / 32, .par = *par};
    const uint32_t offsets[2] = {0, n};
    const struct vx_counts counts = {.n_selected = n, .n_pv = n_pv};
    uint32_t *list = calloc(n + 1, sizeof *list);
    int r = list ? 0 : -ENOMEM;

    for (uint32_t i = 0; list && i < n; i++)
        list[i] = i;
    g.par.in = (struct trg_span){.n_rois = 1, .n_items = n};
    g.par.n_rois = 1;
    g.par.items_room = n;
    g.par.words_room = g.words_room;
    g.par.pv_room = n_pv ? n_pv : 1;
    g.par.sv_room = VX_SV_MAX;
    g.par.max_selected = n;
    g.par.parts = g.par.parts ? g.par.parts : 1;
    if (r == 0)
        r = kit_upload(k, offsets, sizeof offsets, &g.data);
    if (r == 0)
        r = kit_upload(k, tracks, (size_t)VX_COLUMNS * n * sizeof *tracks, &g.tracks);
    if (r == 0)
        r = kit_upload(k, list, n * sizeof *list, &g.selected);
    if (r == 0)
        r = kit_upload(k, pv_of, n * sizeof *pv_of, &g.pv_of);
    if (r == 0)
        r = kit_upload(k, pvs, (n_pv ? n_pv : 1) * sizeof *pvs, &g.pvs);
    if (r == 0)
        r = kit_upload(k, &counts, sizeof counts, &g.counts);
    if (r == 0)
        r = kit_upload(k, NULL, (size_t)n * g.par.words_room * 4, &g.matrix);
    if (r == 0)
        r = kit_upload(k, NULL, n * sizeof(uint32_t), &g.labels);
    if (r == 0)
        r = kit_upload(k, NULL, VX_SV_MAX * sizeof(struct vx_vertex), &g.svs);
    free(list);
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

    return kit_launch(k, kernel[g->par.layout], g->par.parts, 128, args, 6);
}

int kit_cuts(struct kit *k, struct kit_graph *g)
{
    const struct trg_arg args[] = {TRG_BUF(g->data),   TRG_BUF(g->tracks), TRG_BUF(g->selected),
                                   TRG_BUF(g->pv_of),  TRG_BUF(g->pvs),    TRG_BUF(g->counts),
                                   TRG_BUF(g->matrix), TRG_VAL(g->par)};

    return kit_launch(k, "vx_cuts", g->par.parts, 128, args, 8);
}

int kit_components(struct kit *k, struct kit_graph *g)
{
    const struct trg_arg args[] = {TRG_BUF(g->data), TRG_BUF(g->matrix), TRG_BUF(g->labels),
                                   TRG_BUF(g->svs),  TRG_BUF(g->counts), TRG_VAL(g->par)};

    return kit_launch(k, "vx_components", 1, 128, args, 6);
}

int kit_is_edge(const uint32_t *matrix, uint32_t layout, uint32_t n, uint32_t i, uint32_t j)
{
    const uint32_t tile = j / 32, word = layout == VX_LAYOUT_MEMORY
                                             ? (tile * (tile + 1) / 2 + i / 32) * 32 + i % 32
                                             : tile * n + i;

    return matrix[word] >> (j % 32) & 1;
}
