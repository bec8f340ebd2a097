/* SPDX-License-Identifier: Apache-2.0 */
/* zfinder - primary vertices along the beam line from spacepoints, before any tracking.
 * Konstantinidis and Drevermann, ATL-DAQ-2002-014; Jones, Edinburgh 2010.  See README.md. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bending.h"
#include "desk.h"
#include "double.program.h"
#include "near.program.h"
#include "parameters.h"
#include "trigd/common/lane.h"
#include "vertices.h"
#include "zfinder.program.h"

#define PI 3.14159265358979323846

static const struct trg_room product_room[] = {{"vertices", .cap = {.plus = "n_peaks"}}, {0}};

/* ---------------------------------------------------------------- one lane */

struct slot { /* the names of the kernels' arguments; twins in host memory end in _host */
    struct trg_buffer *rois_host, *results_host;
    struct trg_buffer *rois, *starts, *points, *tags, *hist, *lists;
    struct trg_buffer *results; /* summaries of all RoIs, then the peaks of all */
    struct trg_buffer *asked;   /* the RoIs as zf_sort reads them: rois_host, or copied */
    struct trg_buffer *handed;  /* where results go in the end: results_host, or are copied from */
};

struct trg_algo {
    const struct zf_config *config;
    const struct trg_host *host;
    struct trg_limits limits;
    struct trg_device_info device;
    struct trg_module *module, *near; /* near: NULL when counting as the original */
    struct trg_kernel *sort, *pairs, *near_pairs, *near_triplets, *sparse_triplets;
    struct trg_kernel *peaks, *slices, *merge;
    struct trg_kernel *own;  /* the CPU's own way, as the original; NULL: not used */
    struct trg_buffer *desk; /* its memory */
    struct buffers buffers;
    struct trg_buffer *neighbours;
    struct slot slot[TRG_SLOTS_MAX];
    struct zf_par par;   /* what does not change */
    uint32_t sort_group; /* work-items of zf_sort's groups */
};

#define TABLE_BYTES ((size_t)ZF_LAYERS * ZF_LAYERS) /* of the neighbours */

/* A parameter as it was written: 0.2 and not the float next to it. */
static double as_written(float x)
{
    char text[32];

    snprintf(text, sizeof text, "%.7g", (double)x);
    return strtod(text, NULL);
}

/* The parameter that counts: kernels in single precision take the float. */
static double number(const struct zf_config *c, float x)
{
    return c->as_original ? as_written(x) : (double)x;
}

/* The change of phi between two layers that the neighbours cover, rad; 0: none is tabulated. */
static double bending(const struct zf_config *c, uint32_t inner, uint32_t outer)
{
    double size = BENDING_PT / as_written(c->neighbour_pt_gev), dphi;

    if (c->max_layers < BENDING_LAYERS) { /* a detector without the innermost layer */
        inner++;
        outer++;
    }
    if (outer >= BENDING_LAYERS)
        return 0;
    if (outer < BENDING_BARREL) {
        dphi = bending_barrel[inner][outer] * size;
    } else {
        dphi = bending_end_cap[inner][outer - BENDING_BARREL] * size;
        if (dphi > 0)
            dphi += as_written(c->neighbour_eta_slope_rad) *
                    (BENDING_ETA - bending_eta[outer - BENDING_BARREL]);
    }
    dphi *= as_written(c->neighbour_multiplier);
    return dphi > 0 ? sqrt(dphi * dphi + 2.0 * PHI_ERROR * PHI_ERROR) : 0;
}

static double inv_slice(const struct zf_config *c)
{
    return 180.0 / (PI * number(c, c->phi_slice_deg));
}

/* The table of neighbours; its diagonal holds the most of a layer to any outer one. */
static void fill_neighbours(const struct zf_config *c, uint8_t *table)
{
    memset(table, 1, TABLE_BYTES);
    for (uint32_t i = 0; c->neighbours == ZF_NEIGHBOURS_BENDING && i < c->max_layers; i++) {
        for (uint32_t o = i + 1; o < c->max_layers; o++) {
            double n = ceil(bending(c, i, o) * inv_slice(c));

            table[i * ZF_LAYERS + o] = (uint8_t)(n < 1 ? 1 : n > 255 ? 255 : n);
            if (table[i * ZF_LAYERS + o] > table[i * ZF_LAYERS + i])
                table[i * ZF_LAYERS + i] = table[i * ZF_LAYERS + o];
        }
    }
    /* pairs of layer 0 tell how far any inner point reaches: make its diagonal the largest of all
     */
    for (uint32_t i = 1; i < ZF_LAYERS; i++)
        if (table[i * ZF_LAYERS + i] > table[0])
            table[0] = table[i * ZF_LAYERS + i];
}

static uint32_t layers_used(const struct zf_config *c)
{
    uint32_t all = c->max_layers == 32 ? UINT32_MAX : (1u << c->max_layers) - 1u;

    return c->pixel_only ? all & 0x70fu : all;
}

static void set_par(struct trg_algo *a)
{
    const struct zf_config *c = a->config;
    /* peaks may turn out to be one vertex: then more of them are needed */
    bool may_merge = c->min_separation_bins || c->min_distance_fraction > 0;

    a->par = (struct zf_par){
        .slices_room = (uint32_t)ceil(2.0 * PI * inv_slice(c)) + 1u,
        .items_room = (a->limits.max_items + a->limits.max_rois * ZF_GAP + 63u) & ~63u,
        .parts = 1,
        .peaks_room = may_merge ? 4 * c->n_peaks + 4 : c->n_peaks,
        .look_for_more = may_merge,
        .z_max = c->z_max_mm,
        .layers_used = layers_used(c),
        .last_barrel = c->last_barrel,
        .first_layers = c->first_layers,
        .charges = c->charge_aware ? 2 : 1,
        .triplet_mode = c->triplet_mode,
        .triplet_dz = c->triplet_dz_mm,
        .triplet_dk = c->triplet_dk,
        .triplet_dphi = c->triplet_dphi_rad,
        .prefer_central = c->prefer_central,
        .min_total = c->triplet_mode ? 1 : 2, /* one pair is no peak, one triplet is */
        .per_slice = c->histogram_per_slice,
        .max_work = c->max_work,
        .in_place = a->device.reaches_host && !c->as_original, /* saves two copies of a batch */
    };
    /* OpenCL builds kernels for no more work-items than it must: 256 on NVIDIA's */
    a->sort_group = strcmp(a->device.backend, "cuda") == 0 ? ZF_SORT_GROUP : ZF_GROUP_MAX;
}

static int open_slot(struct trg_algo *a, struct trg_device *d, struct slot *s)
{
    const struct zf_par *p = &a->par;
    size_t n = a->limits.max_rois, items = p->items_room;
    size_t summaries = n * sizeof(struct zf_summary);
    size_t peaks = n * p->peaks_room * sizeof(struct zf_peak);
    bool per_slice = a->config->histogram_per_slice;
    const struct buffer_wish list[] = {
        {TRG_MEM_PINNED, n * sizeof(struct zf_roi), &s->rois_host},
        {TRG_MEM_PINNED, summaries + peaks, &s->results_host},
        {TRG_MEM_DEVICE, n * sizeof(struct zf_roi), &s->rois},
        {TRG_MEM_DEVICE, n * (p->slices_room + 1) * sizeof(uint32_t), &s->starts},
        {TRG_MEM_DEVICE, 4 * (items + ZF_SLACK) * sizeof(float), &s->points},
        {TRG_MEM_DEVICE, (items + ZF_SLACK) * sizeof(uint32_t), &s->tags},
        {TRG_MEM_DEVICE, summaries + peaks, &s->results},
        /* one of the two ways is used */
        {TRG_MEM_DEVICE, per_slice ? 4 : n * 2 * ZF_ENTRIES_ROOM * sizeof(uint32_t), &s->hist},
        {TRG_MEM_DEVICE, per_slice ? peaks * p->slices_room : 4, &s->lists},
        {TRG_MEM_DEVICE, p->in_place ? 4 : n * sizeof(struct zf_roi), &s->asked},
    };
    int r = buffers_new(&a->buffers, d, list, sizeof list / sizeof *list);

    if (p->in_place)
        s->asked = s->rois_host;
    s->handed = p->in_place ? s->results_host : s->results;
    return r;
}

static int load_neighbours(struct trg_algo *a, struct trg_device *d)
{
    uint8_t table[TABLE_BYTES];

    fill_neighbours(a->config, table);
    a->par.reach = 2u * table[0] + 1u;
    return buffers_upload(&a->buffers, d, table, sizeof table, &a->neighbours);
}

static int load_kernels(struct trg_algo *a, struct trg_device *d)
{
    const struct kernel_wish common[] = {{"zf_sort", &a->sort},
                                         {"zf_pairs", &a->pairs},
                                         {"zf_peaks", &a->peaks},
                                         {"zf_slices", &a->slices},
                                         {"zf_merge", &a->merge}};
    const struct kernel_wish near[] = {{"zf_near_pairs", &a->near_pairs},
                                       {"zf_near_triplets", &a->near_triplets},
                                       {"zf_sparse_triplets", &a->sparse_triplets}};
    const struct kernel_wish host[] = {{"zf_host", &a->own}};
    bool original = a->config->as_original;
    int r = trg_module_new(d, original ? &double_program : &zfinder_program, NULL, &a->module);

    if (r == 0)
        r = kernels_get(a->module, common, sizeof common / sizeof *common);
    if (r == 0 && original)
        return strcmp(a->device.backend, "cpu") == 0 ? kernels_get(a->module, host, 1) : 0;
    if (r == 0)
        r = trg_module_new(d, &near_program, NULL, &a->near);
    return r < 0 ? r : kernels_get(a->near, near, sizeof near / sizeof *near);
}

static void zfinder_destroy(struct trg_algo *a)
{
    if (!a)
        return;
    buffers_free(&a->buffers);
    trg_module_free(a->module);
    trg_module_free(a->near);
    free(a);
}

static int zfinder_create(const struct trg_host *host, const void *config,
                          struct trg_device *device, const struct trg_limits *limits,
                          struct trg_algo **ret_algo)
{
    struct trg_algo *a;
    int r;

    a = calloc(1, sizeof *a);
    if (!a)
        return -ENOMEM;
    a->config = config;
    a->host = host;
    a->limits = *limits;
    trg_device_info(device, &a->device);
    set_par(a);
    r = load_kernels(a, device);
    if (r == 0)
        r = load_neighbours(a, device);
    if (r == 0 && a->own)
        r = buffers_new(&a->buffers, device,
                        &(struct buffer_wish){TRG_MEM_DEVICE, zf_desk_bytes(&a->par), &a->desk}, 1);
    for (uint32_t i = 0; r == 0 && i < limits->slots; i++)
        r = open_slot(a, device, &a->slot[i]);
    if (r < 0) {
        zfinder_destroy(a);
        return r;
    }
    *ret_algo = a;
    return 0;
}

/* ---------------------------------------------------------------- one batch */

static double wrap(double phi)
{
    while (phi > PI)
        phi -= 2 * PI;
    while (phi < -PI)
        phi += 2 * PI;
    return phi;
}

static float rest(double x)
{
    return (float)(x - (double)(float)x);
}

/* The range in phi.  Where the points tell it, zf_sort fills it in. */
static void prepare_phi(const struct zf_config *c, const struct trg_roi_info *info,
                        struct zf_roi *roi)
{
    double half = c->phi_range == ZF_RANGE_WIDTH ? 0.5 * number(c, c->roi_phi_width_rad)
                                                 : (double)info->phi_half_rad;
    double min = wrap((double)info->phi_rad - half), width = 2 * half;

    if (c->phi_range == ZF_RANGE_FULL || half >= PI) {
        min = -PI;
        width = c->as_original ? 2 * PI : 6.2832; /* a little more: pi itself belongs to it */
    } else {
        roi->from_points = c->phi_range == ZF_RANGE_POINTS;
    }
    roi->phi_min = (float)min;
    roi->phi_min_rest = rest(min);
    roi->phi_width = (float)width;
    roi->inv_slice = (float)inv_slice(c);
    roi->inv_slice_rest = rest(inv_slice(c));
    roi->n_slices =
        (uint32_t)(c->as_original ? ceil(width * inv_slice(c))
                                  : ceil((double)roi->phi_width * (double)roi->inv_slice));
    if (!roi->n_slices)
        roi->n_slices = 1;
}

/* The bins: from -z_max_mm on, or around multiples of their width within the RoI's range. */
static void prepare_z(const struct zf_config *c, const struct trg_roi_info *info,
                      struct zf_roi *roi)
{
    double bin = number(c, c->z_bin_mm) + number(c, c->z_bin_eta_mm) * fabs((double)info->eta);
    bool known = info->z_max_mm > info->z_min_mm;

    roi->inv_bin = (float)(1.0 / bin);
    roi->inv_bin_rest = rest(1.0 / bin);
    roi->z_low = known ? fmaxf(info->z_min_mm, -c->z_max_mm) : -c->z_max_mm;
    roi->z_high = known ? fminf(info->z_max_mm, c->z_max_mm) : c->z_max_mm;
    if (roi->z_high < roi->z_low)
        roi->z_high = roi->z_low; /* nothing in common: no vertex */
    if (c->as_original) {
        double from = floor((double)roi->z_low * (1.0 / bin));

        uint32_t last = (uint32_t)((double)roi->z_high * (1.0 / bin) + 0.5 - from);

        roi->origin = (float)(0.5 - from);
        roi->n_bins =
            2 * (uint32_t)ceil(0.5 * ((double)roi->z_high - (double)roi->z_low) * (1.0 / bin)) + 1;
        if (roi->n_bins <= last) /* a range that does not begin at a multiple of the width */
            roi->n_bins = last + 1;
    } else {
        roi->n_bins = (uint32_t)ceil(2.0 * (double)c->z_max_mm / bin);
    }
    if (roi->n_bins < 3)
        roi->n_bins = 3;
}

/* What the kernels need to know of one RoI. */
static void prepare_roi(const struct zf_config *c, const struct trg_roi_info *info,
                        struct zf_roi *roi)
{
    double past = BENDING_ETA - fabs((double)info->eta);

    *roi = (struct zf_roi){.n_slices = 0};
    prepare_phi(c, info, roi);
    prepare_z(c, info, roi);
    if (c->neighbours == ZF_NEIGHBOURS_BENDING)
        roi->fewer_slices = (int32_t)floor(past * as_written(c->neighbour_eta_slope_rad) *
                                           inv_slice(c) * as_written(c->neighbour_multiplier));
}

/* How pairs or triplets of one histogram are counted. */
struct way {
    struct trg_kernel *kernel;
    uint32_t groups_per_unit; /* that every multiprocessor should get */
    uint32_t points;          /* of an RoI that are work enough for a group */
};

/* Whether few points of a batch have more than a few near by.  Small batches do not fill a device
 * in either way, and lanes that run synthetic RoIs first shall have launched both kernels. */
static bool is_sparse(const struct zf_roi *rois, const struct zf_par *par)
{
    uint64_t slices = 0;

    if (par->n_rois < 64)
        return false;
    for (uint32_t i = 0; i < par->n_rois; i++)
        slices += rois[i].n_slices;
    return 6 * (uint64_t)par->in.n_items <= ZF_FEW * slices; /* half as many, in three slices */
}

/* The search of one neighbour on each side has kernels of its own. */
static struct way way_for(const struct trg_algo *a, const struct zf_roi *rois,
                          const struct zf_par *par)
{
    const struct zf_config *c = a->config;
    bool near = a->near && c->neighbours == ZF_NEIGHBOURS_ONE && zf_most_bins(c) <= ZF_NEAR_BINS;

    if (near && c->triplet_mode)
        return is_sparse(rois, par) ? (struct way){a->sparse_triplets, 6, 256}
                                    : (struct way){a->near_triplets, 4, 256};
    return near ? (struct way){a->near_pairs, 3, 512} : (struct way){a->pairs, 2, 128};
}

/* Groups for one RoI, so that a batch of few fills the device as well. */
static uint32_t parts_for(const struct trg_algo *a, const struct way *way, const struct zf_par *par)
{
    const uint32_t n = par->n_rois ? par->n_rois : 1; /* a batch has one at least */
    uint32_t parts = (way->groups_per_unit * a->device.units + n - 1) / n;
    uint32_t most = par->in.n_items / n / way->points;

    parts = parts < most ? parts : most;
    return a->device.is_host || parts < 1 ? 1 : parts > 32 ? 32 : parts;
}

/* One histogram for an RoI. */
static void launch_whole(struct trg_algo *a, const struct slot *s, struct zf_par *par,
                         struct launcher *l)
{
    const struct way way = way_for(a, trg_buffer_host(s->rois_host), par);
    const size_t entries = a->config->as_original ? ZF_ENTRIES_ROOM : ZF_ENTRIES;

    par->parts = parts_for(a, &way, par);
    if (par->parts > 1)
        launcher_clear(l, s->hist, (size_t)par->n_rois * 2 * entries * sizeof(uint32_t));
    LAUNCH(l, way.kernel, par->n_rois * par->parts, ZF_GROUP_MAX, *par, s->rois, s->starts,
           s->points, s->tags, s->results, a->neighbours, s->hist);
    LAUNCH(l, a->peaks, par->n_rois, ZF_GROUP_MAX, *par, s->rois, s->hist, s->results, s->results,
           s->handed);
}

/* One histogram for each slice. */
static void launch_slices(struct trg_algo *a, const struct slot *s, const struct zf_par *par,
                          struct launcher *l)
{
    LAUNCH(l, a->slices, par->n_rois * par->slices_room, ZF_GROUP_MAX, *par, s->rois, s->starts,
           s->points, s->tags, s->results, a->neighbours, s->lists);
    LAUNCH(l, a->merge, par->n_rois, ZF_GROUP_MAX, *par, s->rois, s->lists, s->results, s->handed);
}

/* The CPU's own way to count as the original. */
static void launch_host(struct trg_algo *a, const struct slot *s, const struct zf_par *par,
                        struct launcher *l)
{
    LAUNCH(l, a->own, par->n_rois, 1, *par, s->rois, s->starts, s->points, s->tags, s->results,
           a->neighbours, par->per_slice ? s->lists : s->hist, a->desk);
    if (!par->per_slice)
        LAUNCH(l, a->peaks, par->n_rois, 1, *par, s->rois, s->hist, s->results, s->results,
               s->handed);
}

static size_t results_bytes(uint32_t n_rois, const struct zf_par *par)
{
    return n_rois * (sizeof(struct zf_summary) + par->peaks_room * sizeof(struct zf_peak));
}

static int zfinder_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    struct slot *s = &a->slot[b->slot];
    struct zf_roi *rois = trg_buffer_host(s->rois_host);
    struct launcher l = launcher_on(q, &a->device);
    struct zf_par par = a->par;

    par.in = b->in[0].span;
    par.n_rois = b->n_rois;
    for (uint32_t i = 0; i < b->n_rois; i++)
        prepare_roi(a->config, &b->rois[i], &rois[i]);
    if (!par.in_place)
        launcher_write(&l, s->asked, s->rois_host, b->n_rois * sizeof *rois);
    LAUNCH(&l, a->sort, b->n_rois, a->sort_group, par, b->in[0].dev, s->asked, s->rois, s->starts,
           s->points, s->tags, s->results);
    if (a->own)
        launch_host(a, s, &par, &l);
    else if (a->config->histogram_per_slice)
        launch_slices(a, s, &par, &l);
    else
        launch_whole(a, s, &par, &l);
    if (!par.in_place)
        launcher_read(&l, s->results_host, s->results, results_bytes(b->n_rois, &par));
    return l.result;
}

/* Mean content of three bins, scaled: what a peak is compared with. */
static double background(const struct zf_config *c, const struct zf_summary *s)
{
    double sum = (double)s->sum_high * 65536.0 + (double)s->sum_low;

    return s->n_triples ? (double)c->background_fraction * sum / (double)s->n_triples : 0;
}

static void store_vertices(struct trg_output *out, const struct zf_vertex *v, uint32_t n)
{
    out->n = n < out->capacity ? n : out->capacity;
    for (uint32_t c = 0; out->n && c < TRG_VERTICES_COLUMNS; c++)
        memset(out->column[c], 0, out->n * sizeof(float)); /* what is not known is 0: x, y, ... */
    for (uint32_t i = 0; i < out->n; i++) {
        TRG_VERTICES_Z_OF(out)[i] = v[i].z_mm;
        TRG_VERTICES_WEIGHT_OF(out)[i] = v[i].weight;
    }
}

static int zfinder_collect(struct trg_algo *a, struct trg_batch *b)
{
    const struct slot *s = &a->slot[b->slot];
    const struct zf_roi *rois = trg_buffer_host(s->rois_host);
    const struct zf_summary *sums = trg_buffer_host(s->results_host);
    const struct zf_peak *peaks = (const struct zf_peak *)(const void *)(sums + b->n_rois);

    for (uint32_t i = 0; i < b->n_rois; i++) {
        struct zf_vertex v[ZF_PEAKS_MAX];
        struct trg_result *r = &b->results[i];
        uint32_t truncated, room = a->par.peaks_room;
        uint32_t n = zf_vertices(a->config, &rois[i], peaks + (size_t)i * room, room, &sums[i],
                                 background(a->config, &sums[i]), v, &truncated);

        r->value[VALUE_N] = (float)n;
        r->value[VALUE_Z] = n ? v[0].z_mm : 0;
        r->value[VALUE_WEIGHT] = n ? v[0].weight : 0;
        r->value[VALUE_SIGNIFICANCE] = n ? v[0].significance : 0;
        r->value[VALUE_ENTRIES] = (float)sums[i].n_entries;
        r->value[VALUE_POINTS] = (float)sums[i].n_used;
        r->value[VALUE_DIGEST_HIGH] = (float)(sums[i].digest >> 16);
        r->value[VALUE_DIGEST_LOW] = (float)(sums[i].digest & 0xffffu);
        if (sums[i].flags & ZF_FULL) {
            r->status = TRG_TRUNCATED; /* nothing was sought */
            r->wanted = sums[i].n_used;
            r->kept = 0;
        } else if (truncated) {
            r->status = TRG_TRUNCATED;
            r->wanted = a->config->n_peaks;
            r->kept = n;
        } else if (peaks[(size_t)i * room].total > ZF_PLACES_MOST) {
            r->status = TRG_TRUNCATED; /* z is only known to a bin */
            r->wanted = peaks[(size_t)i * room].total;
            r->kept = ZF_PLACES_MOST;
        }
        store_vertices(&b->outputs[0][i], v, n);
    }
    return 0;
}

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {
    TRG_PLUGIN_INIT,
    .name = "zfinder",
    .version = "1.0.0",
    .summary = "primary vertices along the beam line from pairs or triplets of spacepoints",
    .consumes = {&trg_spacepoints},
    .produces = {&trg_vertices},
    .backends = "cpu opencl cuda",
    .flags = TRG_PLUGIN_DEVICE_COLUMNS,
    .cost = {.batch_us = 100000, .roi_us = 1000000, .item_ns = 1000},
    .params = zf_params,
    .presets = zf_presets,
    .values = zf_values,
    .config_size = sizeof(struct zf_config),
    .check = zf_check,
    .room = product_room,
    .create = zfinder_create,
    .destroy = zfinder_destroy,
    .submit = zfinder_submit,
    .collect = zfinder_collect,
};
