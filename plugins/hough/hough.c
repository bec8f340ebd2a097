/* SPDX-License-Identifier: Apache-2.0 */
/* hough - straight tracks from hits, by triplet or by the Hough transform.  J. Heit, 'Exploring
 * GPU-computing to accelerate vertex finding in particle physics', Groningen 2017.  See README.md.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "align.program.h"
#include "cells.program.h"
#include "conditions.h"
#include "hough.program.h"
#include "parameters.h"
#include "trigd/common/lane.h"
#include "triplet.program.h"

#define REFINE_PARTS 16u /* groups for the peaks of one RoI, on devices that run many at a time */
#define PRODUCTS     2u  /* tracks; doublets, the hits of each track */
#define ALIGN_BYTES  (HG_ALIGN_LAYERS * sizeof(struct hg_placement))

enum {
    VALUE_TRACKS,
    VALUE_HITS,
    VALUE_USED,
    VALUE_CANDIDATES,
    VALUE_PEAKS,
    VALUE_DIGEST_HIGH,
    VALUE_DIGEST_LOW
};
static const struct trg_value values[] = {
    {"n_tracks", "", "tracks found"},
    {"n_hits", "", "hits of the RoI"},
    {"n_hits_on_tracks", "", "hits that belong to tracks"},
    {"n_candidates", "", "lines that competed for hits"},
    {"n_peaks", "", "peaks of the Hough transform"},
    {"digest_high", "", "upper 16 bits of a checksum of all cells"},
    {"digest_low", "", "its lower 16 bits"},
    {0},
};

struct slot {
    struct trg_buffer *used, *best, *starts, *points, *plane, *items, *peaks, *n_peaks, *shares,
        *cands, *tracks, *summaries, *out[PRODUCTS];
    struct trg_buffer *order, *hits, *tables, *stations, *roads; /* of `triplet` */
    struct trg_buffer *summaries_host, *out_host[PRODUCTS];
    bool is_read[PRODUCTS]; /* the columns of this batch came to the host */
    struct trg_buffer *moved, *layers, *layers_host; /* hits as aligned; the placements of layers */
    uint64_t alignment;                              /* key of the condition; 0: none is there */
};

struct trg_algo {
    const struct hough_config *config;
    struct trg_limits limits;
    struct trg_device_info device;
    struct trg_module *module, *more, *aligner; /* more: of `triplet` or of study/ */
    struct trg_kernel *clear, *sort, *find[HG_PASSES], *find_few, *share, *refine, *compete;
    struct trg_kernel *offsets, *write;
    struct trg_kernel *order, *put_in_order, *rest, *follow, *follow_large; /* of `triplet` */
    struct trg_kernel *align;
    struct trg_buffer *trig;
    struct hg_par par[HG_PASSES];
    struct ht_par triplet[HT_PASSES];
    struct block out[PRODUCTS], moved;
    struct buffers buffers;
    struct slot slot[TRG_SLOTS_MAX];
};

/* ---------------------------------------------------------------- set-up */

static const struct trg_collection *const products[PRODUCTS] = {&trg_tracks, &trg_doublets};

/* No two tracks share a hit, and each has three; `room` says so, too. */
static uint32_t most_items(uint32_t k, uint32_t n_hits)
{
    return k ? n_hits : n_hits / 3u;
}

static const struct trg_room product_room[] = {
    {"tracks", .in = {{.factor = {.number = 1}, .divisor = {.number = 3}}}},
    {"doublets", .in = {{.factor = {.number = 1}}}},
    {0}};

/* What all methods need, and the products. */
static int open_slot(struct trg_algo *a, struct trg_device *d, struct slot *s)
{
    const size_t n = a->limits.max_rois, items = a->par[0].items_room;
    const struct buffer_wish list[] = {
        {TRG_MEM_DEVICE, (items / 3 + n + 1) * sizeof(struct hg_cand), &s->tracks},
        {TRG_MEM_DEVICE, n * sizeof(struct hg_summary), &s->summaries},
        {TRG_MEM_DEVICE, a->out[0].bytes, &s->out[0]},
        {TRG_MEM_DEVICE, a->out[1].bytes, &s->out[1]},
        {TRG_MEM_PINNED, n * sizeof(struct hg_summary), &s->summaries_host},
        {TRG_MEM_PINNED, a->out[0].bytes, &s->out_host[0]},
        {TRG_MEM_PINNED, a->out[1].bytes, &s->out_host[1]},
        {TRG_MEM_DEVICE, a->moved.bytes, &s->moved},
        {TRG_MEM_DEVICE, ALIGN_BYTES, &s->layers},
        {TRG_MEM_PINNED, ALIGN_BYTES, &s->layers_host},
    };

    return buffers_new(&a->buffers, d, list, sizeof list / sizeof *list);
}

static int open_slot_triplet(struct trg_algo *a, struct trg_device *d, struct slot *s)
{
    const size_t n = a->limits.max_rois, items = a->par[0].items_room;
    const size_t roads = a->device.is_host ? 2 : 1; /* a hit: see triplet_roads_host.h */
    const struct buffer_wish list[] = {
        {TRG_MEM_DEVICE, n * 4, &s->order},
        {TRG_MEM_DEVICE, HT_COLUMNS * items * 4, &s->hits},
        {TRG_MEM_DEVICE, (2 * items + n * HT_TABLE) * 4, &s->tables},
        {TRG_MEM_DEVICE, n * sizeof(struct ht_stations), &s->stations},
        {TRG_MEM_DEVICE, roads * items * sizeof(struct ht_road), &s->roads},
    };

    return buffers_new(&a->buffers, d, list, sizeof list / sizeof *list);
}

static int open_slot_windows(struct trg_algo *a, struct trg_device *d, struct slot *s)
{
    const size_t n = a->limits.max_rois, items = a->par[0].items_room;
    const size_t windows = n * a->par[0].bins_room;
    const struct buffer_wish list[] = {
        {TRG_MEM_DEVICE, items * 4, &s->used},
        {TRG_MEM_DEVICE, items * 4, &s->best},
        {TRG_MEM_DEVICE, n * (a->par[0].bins_room + (size_t)1) * 4, &s->starts},
        {TRG_MEM_DEVICE, 3 * items * 4, &s->points},
        {TRG_MEM_DEVICE, 4 * items * 4, &s->plane},
        {TRG_MEM_DEVICE, 2 * items * 4, &s->items},
        {TRG_MEM_DEVICE, windows * HG_LIST * 4, &s->peaks},
        {TRG_MEM_DEVICE, windows * 4, &s->n_peaks},
        {TRG_MEM_DEVICE, (windows + n) * 4, &s->shares},
        {TRG_MEM_DEVICE, n * a->par[0].cands_room * HG_CAND_WORDS * 4, &s->cands},
    };

    return buffers_new(&a->buffers, d, list, sizeof list / sizeof *list);
}

static int load_trig(struct trg_algo *a, struct trg_device *d)
{
    float table[HOUGH_TRIG] = {0};

    hough_fill_trig(a->config, table);
    return buffers_upload(&a->buffers, d, table, sizeof table, &a->trig);
}

static int load_triplet(struct trg_algo *a, struct trg_device *d)
{
    const struct kernel_wish list[] = {
        {"ht_order", &a->order},   {"ht_sort", &a->put_in_order},         {"ht_rest", &a->rest},
        {"ht_follow", &a->follow}, {"ht_follow_large", &a->follow_large}, {"ht_write", &a->write}};
    int r = trg_module_new(d, &triplet_program, NULL, &a->more);

    return r < 0 ? r : kernels_get(a->more, list, sizeof list / sizeof *list);
}

/* The kernels that only the methods of study/ need are not loaded without them. */
static int load_cells(struct trg_algo *a, struct trg_device *d)
{
    const struct kernel_wish list[] = {{hough_find_kernel(&a->par[0]), &a->find[0]},
                                       {hough_find_kernel(&a->par[1]), &a->find[1]},
                                       {hough_find_kernel(&a->par[2]), &a->find[2]},
                                       {"hg_refine_cells", &a->refine}};
    int r = trg_module_new(d, &cells_program, NULL, &a->more);

    return r < 0 ? r : kernels_get(a->more, list, sizeof list / sizeof *list);
}

static int load_kernels(struct trg_algo *a, struct trg_device *d)
{
    const struct kernel_wish list[] = {
        {"hg_clear", &a->clear},         {"hg_sort", &a->sort},
        {"hg_find_hashed", &a->find[0]}, {"hg_find_hashed", &a->find[1]},
        {"hg_find_hashed", &a->find[2]}, {"hg_find_hashed_few", &a->find_few},
        {"hg_share", &a->share},         {"hg_refine", &a->refine},
        {"hg_compete", &a->compete},     {"hg_offsets", &a->offsets},
        {"hg_write", &a->write}};
    int r = trg_module_new(d, &hough_program, NULL, &a->module);

    if (r == 0)
        r = kernels_get(a->module, list, sizeof list / sizeof *list);
    if (r == 0)
        r = trg_module_new(d, &align_program, NULL, &a->aligner);
    if (r == 0)
        r = trg_kernel_get(a->aligner, "hg_align", &a->align);
    if (r < 0 || a->config->method == HG_HASHED)
        return r;
    return a->config->method == HG_TRIPLET ? load_triplet(a, d) : load_cells(a, d);
}

static void hough_destroy(struct trg_algo *a)
{
    if (!a)
        return;
    buffers_free(&a->buffers);
    trg_module_free(a->module);
    trg_module_free(a->more);
    trg_module_free(a->aligner);
    free(a);
}

static int hough_create(const struct trg_host *host, const void *config, struct trg_device *device,
                        const struct trg_limits *limits, struct trg_algo **ret_algo)
{
    struct trg_algo *a;
    int r;

    (void)host;
    a = calloc(1, sizeof *a);
    if (!a)
        return -ENOMEM;
    a->config = config;
    a->limits = *limits;
    trg_device_info(device, &a->device);
    for (uint32_t k = 0; k < PRODUCTS; k++)
        a->out[k] = block_place(products[k], limits->max_rois, most_items(k, limits->max_items));
    a->moved = block_place(&trg_hits, limits->max_rois, limits->max_items);
    for (uint32_t p = 0; p < HG_PASSES; p++) {
        a->par[p] = hough_par(a->config, p);
        a->par[p].items_room = (limits->max_items + 63u) & ~63u;
        a->par[p].parts = a->device.is_host ? 1 : p ? REFINE_PARTS / 4u : REFINE_PARTS;
        a->par[p].cand_step = a->device.is_host ? HG_CAND_WORDS : 1;
        a->par[p].cand_stride = a->device.is_host ? 1 : a->par[p].cands_room;
        a->par[p].tracks = a->out[0].span;
        a->par[p].doublets = a->out[1].span;
    }
    for (uint32_t p = 0; p < HT_PASSES; p++) {
        a->triplet[p] = hough_triplet_par(a->config, p);
        a->triplet[p].common.items_room = a->par[0].items_room;
        a->triplet[p].common.tracks = a->out[0].span;
        a->triplet[p].common.doublets = a->out[1].span;
    }
    r = load_kernels(a, device);
    if (r == 0)
        r = load_trig(a, device);
    for (uint32_t i = 0; r == 0 && i < limits->slots; i++) {
        r = open_slot(a, device, &a->slot[i]);
        if (r == 0)
            r = (a->config->method == HG_TRIPLET ? open_slot_triplet
                                                 : open_slot_windows)(a, device, &a->slot[i]);
    }
    if (r < 0) {
        hough_destroy(a);
        return r;
    }
    *ret_algo = a;
    return 0;
}

static int hough_device_output(struct trg_algo *a, uint32_t slot, uint32_t k, struct trg_input *ret)
{
    if (k >= PRODUCTS)
        return -EINVAL;
    *ret = (struct trg_input){
        .collection = products[k], .span = a->out[k].span, .dev = a->slot[slot].out[k]};
    return 0;
}

/* ---------------------------------------------------------------- one batch */

/* A work-item a column where hits vote, many where pairs do. */
static uint32_t find_group(const struct hg_par *par)
{
    const uint32_t n =
        par->grid.strip < HG_GROUP_MAX ? (par->grid.strip + 31u) & ~31u : HG_GROUP_MAX;

    return par->method >= HG_ANALYTIC && n < 128u ? 128u : n;
}

/* Work-items of a group; a device that has smaller ones gets these. */
#define GROUP_ROI    256u /* of kernels with a group for each RoI */
#define GROUP_FEW    128u /* of windows with few hits, and of their shares */
#define GROUP_REFINE 64u
#define GROUP_FOLLOW \
    HT_FOLLOW_FEW /* HT_FOLLOW_MAX where a work-item may have more than DENSE hits */
#define DENSE 32u

/* Of the narrow windows few have many hits, of the wide ones most. */
static void launch_find(struct trg_algo *a, const struct slot *s, const struct hg_par *par,
                        struct launcher *l)
{
    const uint32_t windows = par->n_rois * par->n_bins;

    if (par->method != HG_HASHED) {
        LAUNCH(l, a->find[par->pass], windows, find_group(par), *par, s->starts, s->points,
               s->items, a->trig, s->plane, s->peaks, s->n_peaks, s->summaries);
        return;
    }
    LAUNCH(l, a->find_few, windows, GROUP_FEW, *par, s->starts, s->points, s->items, a->trig,
           s->peaks, s->n_peaks, s->summaries);
    LAUNCH(l, a->find[par->pass], par->span > 1u ? windows : (windows + 7u) / 8u, find_group(par),
           *par, s->starts, s->points, s->items, a->trig, s->peaks, s->n_peaks, s->summaries);
}

static void launch_pass(struct trg_algo *a, const struct slot *s, struct trg_buffer *data,
                        const struct hg_par *par, struct launcher *l)
{
    const uint32_t n = par->n_rois;

    LAUNCH(l, a->sort, n, GROUP_ROI, *par, data, s->used, s->starts, s->points, s->items, s->plane,
           s->summaries);
    launch_find(a, s, par, l);
    LAUNCH(l, a->share, n, GROUP_FEW, *par, s->n_peaks, s->shares, s->summaries);
    LAUNCH(l, a->refine, n * par->parts, GROUP_REFINE, *par, s->starts, s->points, s->items,
           a->trig, s->peaks, s->shares, s->cands);
    LAUNCH(l, a->compete, n, GROUP_ROI, *par, data, s->shares, s->used, s->best, s->cands,
           s->tracks, s->summaries);
}

static struct hg_par par_of(const struct trg_algo *a, uint32_t pass, const struct trg_batch *b)
{
    struct hg_par par = a->par[pass];

    par.in = b->in[0].span;
    par.n_rois = b->n_rois;
    hough_take_beam_line(&b->condition[HG_BEAM_LINE], &par);
    return par;
}

static void launch_windows(struct trg_algo *a, const struct slot *s, const struct trg_batch *b,
                           struct launcher *l)
{
    struct hg_par par = par_of(a, 0, b);

    LAUNCH(l, a->clear, b->n_rois, GROUP_ROI, par, b->in[0].dev, s->used, s->summaries, s->best);
    for (uint32_t p = 0; p < a->config->passes; p++) {
        par = par_of(a, p, b);
        launch_pass(a, s, b->in[0].dev, &par, l);
    }
    LAUNCH(l, a->offsets, 1, GROUP_ROI, par, s->summaries, s->out[0], s->out[1]);
    LAUNCH(l, a->write, b->n_rois, GROUP_ROI, par, b->in[0].dev, s->tracks, s->summaries, s->out[0],
           s->out[1]);
}

/* Where groups leave a device free, RoIs that may have many hits get larger ones.  How many they
 * have the host does not know if another plugin made them. */
static uint32_t follow_group(const struct trg_algo *a, const struct trg_batch *b)
{
    const bool is_dense = b->in[0].span.n_items / b->n_rois > DENSE * GROUP_FOLLOW;

    return b->n_rois < 2 * a->device.units && is_dense ? HT_FOLLOW_MAX : GROUP_FOLLOW;
}

static struct ht_par triplet_par_of(const struct trg_algo *a, uint32_t pass,
                                    const struct trg_batch *b)
{
    struct ht_par par = a->triplet[pass];

    par.common.in = b->in[0].span;
    par.common.n_rois = b->n_rois;
    hough_take_beam_line(&b->condition[HG_BEAM_LINE], &par.common);
    return par;
}

/* On a core both passes of an RoI come before those of the next one: see HT_AT. */
static void launch_triplet(struct trg_algo *a, const struct slot *s, const struct trg_batch *b,
                           struct launcher *l)
{
    struct trg_buffer *data = b->in[0].dev;
    const uint32_t n = b->n_rois, follow = follow_group(a, b);
    const uint32_t groups = a->device.is_host ? 1 : n; /* of a launch */
    struct ht_par par = triplet_par_of(a, 0, b);

    LAUNCH(l, a->order, 1, GROUP_ROI, par, data, s->order);
    for (uint32_t first = 0; first < n; first += groups)
        for (uint32_t p = 0; p < HT_PASSES && p < a->config->passes; p++) {
            par = triplet_par_of(a, p, b);
            par.first = first;
            if (p)
                LAUNCH(l, a->rest, groups, GROUP_ROI, par, data, s->order, s->hits, s->tables,
                       s->stations);
            else
                LAUNCH(l, a->put_in_order, groups, GROUP_ROI, par, data, s->order, s->hits,
                       s->tables, s->stations, s->summaries);
            LAUNCH(l, follow > HT_FOLLOW_FEW ? a->follow_large : a->follow, groups, follow, par,
                   data, s->order, s->hits, s->tables, s->stations, s->roads, s->tracks,
                   s->summaries);
        }
    par.first = 0;
    LAUNCH(l, a->offsets, 1, GROUP_ROI, par.common, s->summaries, s->out[0], s->out[1]);
    LAUNCH(l, a->write, n, GROUP_FEW, par, data, s->order, s->hits, s->tables, s->tracks, s->out[0],
           s->out[1]);
}

/* The products, to the host if they are wanted there. */
static void read_output(struct trg_algo *a, struct slot *s, const struct trg_batch *b,
                        struct launcher *l)
{
    for (uint32_t k = 0; k < PRODUCTS; k++) {
        const uint32_t most = most_items(k, b->in[0].span.n_items);

        s->is_read[k] = most && block_is_wanted(b, k);
        if (s->is_read[k])
            block_read(&a->out[k], l, b->n_rois, most, s->out[k], s->out_host[k]);
    }
    launcher_read(l, s->summaries_host, s->summaries, b->n_rois * sizeof(struct hg_summary));
}

/* The hits where the batch's conditions say that their layers are. */
static struct trg_input align(struct trg_algo *a, struct slot *s, const struct trg_batch *b,
                              struct launcher *l)
{
    struct hg_align_par par = {.in = b->in[0].span, .moved = a->moved.span};

    if (!b->condition[HG_ALIGNMENT].collection)
        return b->in[0];
    if (b->condition_key[HG_ALIGNMENT] != s->alignment) {
        hough_place_layers(&b->condition[HG_ALIGNMENT], trg_buffer_host(s->layers_host));
        launcher_write(l, s->layers, s->layers_host, ALIGN_BYTES);
        s->alignment = b->condition_key[HG_ALIGNMENT];
    }
    par.moved.n_rois = par.in.n_rois;
    par.moved.n_items = par.in.n_items;
    if (l->result == 0)
        l->result = trg_copy(l->q, s->moved, par.moved.offsets, b->in[0].dev, par.in.offsets,
                             4 * (b->n_rois + (size_t)1));
    LAUNCH(l, a->align, b->n_rois, GROUP_ROI, par, b->in[0].dev, s->layers, s->moved);
    return (struct trg_input){.collection = &trg_hits, .span = par.moved, .dev = s->moved};
}

static int hough_submit(struct trg_algo *a, const struct trg_batch *batch, struct trg_queue *q)
{
    struct slot *s = &a->slot[batch->slot];
    struct launcher l = launcher_on(q, &a->device);
    struct trg_batch aligned = *batch;
    const struct trg_batch *b = &aligned;

    for (uint32_t k = 0; k < PRODUCTS; k++)
        block_copy_rois(&a->out[k], &l, batch, s->out[k]);
    aligned.in[0] = align(a, s, batch, &l);
    if (a->config->method == HG_TRIPLET)
        launch_triplet(a, s, b, &l);
    else
        launch_windows(a, s, b, &l);
    read_output(a, s, b, &l);
    return l.result;
}

static int hough_collect(struct trg_algo *a, struct trg_batch *b)
{
    const struct slot *s = &a->slot[b->slot];
    const struct hg_summary *sums = trg_buffer_host(s->summaries_host);

    for (uint32_t i = 0; i < b->n_rois; i++) {
        struct trg_result *r = &b->results[i];

        r->value[VALUE_TRACKS] = (float)sums[i].n_tracks;
        r->value[VALUE_HITS] = (float)sums[i].n_hits;
        r->value[VALUE_USED] = (float)sums[i].n_on_tracks;
        r->value[VALUE_CANDIDATES] = (float)sums[i].n_cands;
        r->value[VALUE_PEAKS] = (float)sums[i].n_peaks;
        r->value[VALUE_DIGEST_HIGH] = (float)(sums[i].digest >> 16);
        r->value[VALUE_DIGEST_LOW] = (float)(sums[i].digest & 0xffffu);
        if (sums[i].wanted > sums[i].kept) {
            r->status = TRG_TRUNCATED;
            r->wanted = sums[i].wanted;
            r->kept = sums[i].kept;
        }
        for (uint32_t k = 0; k < PRODUCTS; k++)
            if (s->is_read[k])
                block_store(&a->out[k], trg_buffer_host(s->out_host[k]), i, &b->outputs[k][i]);
            else if (b->outputs[k])
                b->outputs[k][i].n = 0;
    }
    return 0;
}

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {
    TRG_PLUGIN_INIT,
    .name = "hough",
    .version = "1.0.0",
    .summary = "straight tracks from hits by the Hough transform",
    .consumes = {&trg_hits},
    .produces = {&trg_tracks, &trg_doublets},
    .backends = "cpu opencl cuda",
    .cost = {.batch_us = 100000, .roi_us = 1500000, .item_ns = 60000},
    .params = hough_params,
    .presets = hough_presets,
    .values = values,
    .conditions = hough_conditions,
    .config_size = sizeof(struct hough_config),
    .check = hough_check,
    .room = product_room,
    .create = hough_create,
    .destroy = hough_destroy,
    .submit = hough_submit,
    .collect = hough_collect,
    .flags = TRG_PLUGIN_DEVICE_INPUT | TRG_PLUGIN_DEVICE_COLUMNS,
    .device_output = hough_device_output,
};
