/* SPDX-License-Identifier: Apache-2.0 */
/* voxels - labels the voxels of bricks with a boosted set of stumps, and counts them.  See
 * README.md. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lane.h"
#include "parameters.h"
#include "rows.h"
#include "trigd/common/lane.h"
#include "voxels.collections.h"

enum { LABELS, PLACES }; /* products */

enum { FRACTION, LABELLED, LARGEST, COMPONENTS, LOW, HIGH = LOW + 3, VOXELS = HIGH + 3 };
static const struct trg_value values[] = {
    {"fraction", "", "labelled voxels over all of the brick"},
    {"n_labelled", "", "labelled voxels"},
    {"n_largest", "", "voxels of the largest 6-connected component"},
    {"n_components", "", "6-connected components"},
    {"x_min", "", "labelled voxels lie within, in the volume; -1: there is none"},
    {"y_min", "", "the same"},
    {"z_min", "", "the same"},
    {"x_max", "", "the same, included"},
    {"y_max", "", "the same"},
    {"z_max", "", "the same"},
    {"n_voxels", "", "voxels of the brick, without halo"},
    {0},
};

/* Rows of labels end with whole bytes: at worst, of bricks one voxel wide, each voxel has one. */
static const struct trg_room product_room[] = {
    {"brick_labels", .in = {[1] = {.factor = {.number = 1}}}},
    {"labelled_bricks", .in = {{.factor = {.number = 1}}}},
    {0}};

static const struct trg_condition conditions[] = {
    {"voxel_models", "stumps of the models, as trigmodel conditions writes them", &trg_voxel_models,
     0},
    {0}};

struct trg_algo {
    const struct trg_host *host;
    uint32_t model;
    struct vox_lane *lane;
    uint64_t tables[TRG_SLOTS_MAX]; /* the key of the condition that a slot's tables are made of */
    bool with_labels[TRG_SLOTS_MAX];
};

static void voxels_destroy(struct trg_algo *a)
{
    if (a)
        vox_lane_close(a->lane);
    free(a);
}

static int voxels_create(const struct trg_host *host, const void *config, struct trg_device *device,
                         const struct trg_limits *limits, struct trg_algo **ret_algo)
{
    const struct voxels_config *c = config;
    const struct vox_setup setup = {.device = device,
                                    .slots = limits->slots,
                                    .max_bricks = limits->max_rois,
                                    .max_n = {c->max_edge, c->max_edge, c->max_edge},
                                    .labels = VOX_LABELS_BITS,
                                    .components = c->components,
                                    .value_bytes = 2,
                                    .width = 1};
    struct trg_algo *a = calloc(1, sizeof *a);
    char why[256];
    int r;

    if (!a)
        return -ENOMEM;
    a->host = host;
    a->model = c->model;
    r = vox_lane_open(&setup, &a->lane);
    if (r == -EINVAL) {
        snprintf(why, sizeof why,
                 "batches of %" PRIu32 " bricks of %" PRIu32 "^3 voxels are beyond 4 GiB: max_edge "
                 "or batching.max_rois has to be smaller",
                 limits->max_rois, c->max_edge);
        trg_log(host, TRG_ERROR, why);
    }
    if (r < 0)
        voxels_destroy(a);
    else
        *ret_algo = a;
    return r;
}

/* Has the tables of a slot made of the model in force. */
static int load_model(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    struct vox_model model = {0};
    struct vox_tables tables = {0};
    char why[256] = "no memory for a model";
    int r;

    if (a->tables[b->slot] == b->condition_key[0])
        return 0;
    r = vox_rows_model(&b->condition[0], a->model, &model, why, sizeof why);
    if (r == 0)
        r = vox_tables_make(&model, &tables, why, sizeof why);
    if (r == 0)
        r = vox_lane_tables(a->lane, b->slot, &tables, q);
    else
        trg_log(a->host, TRG_ERROR, why);
    if (r == 0)
        a->tables[b->slot] = b->condition_key[0];
    vox_tables_fini(&tables);
    vox_model_fini(&model);
    return r;
}

static int voxels_submit(struct trg_algo *a, const struct trg_batch *b, struct trg_queue *q)
{
    int r = load_model(a, b, q);

    a->with_labels[b->slot] = block_is_wanted(b, LABELS);
    return r ? r
             : vox_lane_feed(a->lane, b->slot, &b->in[0], &b->in[1], a->with_labels[b->slot], q);
}

/* ---------------------------------------------------------------- results */

/* Why a brick cannot be labelled, in one sentence. */
static void explain(const struct vox_brick *b, char *why, size_t bytes)
{
    const uint32_t *n = b->size, *o = b->origin, *v = b->volume;
    uint64_t wanted = b->bytes;

    for (uint32_t a = 0; a < 3; a++)
        wanted *= n[a] + (b->halo >> 2 * a & 1u) + (b->halo >> (2 * a + 1) & 1u);
    if (b->problem == VOX_ROWS)
        snprintf(why, bytes, "it has %" PRIu32 " rows of bricks; one is wanted", b->given);
    else if (b->problem == VOX_EDGE)
        snprintf(why, bytes,
                 "its brick has %" PRIu32 " x %" PRIu32 " x %" PRIu32
                 " voxels, and the parameter max_edge is smaller",
                 n[0], n[1], n[2]);
    else if (b->problem == VOX_OUTSIDE)
        snprintf(why, bytes,
                 "its brick at %" PRIu32 ", %" PRIu32 ", %" PRIu32 " of %" PRIu32 " x %" PRIu32
                 " x %" PRIu32 " voxels does not lie within a volume of %" PRIu32 " x %" PRIu32
                 " x %" PRIu32,
                 o[0], o[1], o[2], n[0], n[1], n[2], v[0], v[1], v[2]);
    else
        snprintf(why, bytes,
                 "its brick at %" PRIu32 ", %" PRIu32 ", %" PRIu32 " of %" PRIu32 " x %" PRIu32
                 " x %" PRIu32 " voxels has %" PRIu32 " bytes; with its halo there are %" PRIu64,
                 o[0], o[1], o[2], n[0], n[1], n[2], b->given, wanted);
}

/* RoIs that warm a lane up are of any values. */
static bool is_made_up(const struct trg_roi_info *roi)
{
    return roi->roi_id == UINT32_MAX;
}

static void refuse(const struct trg_algo *a, const struct trg_roi_info *roi,
                   const struct vox_brick *b)
{
    char why[256], line[384];

    explain(b, why, sizeof why);
    snprintf(line, sizeof line,
             "RoI %" PRIu32 " of run %" PRIu32 ", l1id %" PRIu32 " cannot be labelled: %s",
             roi->roi_id, roi->run, roi->l1id, why);
    trg_log(a->host, TRG_WARN, line);
}

static void set_values(const struct vox_answer *answer, struct trg_result *r)
{
    const uint32_t *n = answer->brick->n;
    const float voxels = (float)(n[0] * n[1] * n[2]);

    r->value[FRACTION] = voxels > 0 ? (float)answer->count / voxels : 0;
    r->value[LABELLED] = (float)answer->count;
    r->value[LARGEST] = (float)answer->largest;
    r->value[COMPONENTS] = (float)answer->components;
    for (uint32_t k = 0; k < 3; k++) {
        r->value[LOW + k] = answer->count ? (float)answer->low[k] : -1;
        r->value[HIGH + k] = answer->count ? (float)answer->high[k] : -1;
    }
    r->value[VOXELS] = voxels;
}

static void store_labels(const struct vox_answer *answer, struct trg_output *out)
{
    const uint32_t *n = answer->brick->n;

    out->n = answer->row_bytes * n[1] * n[2];
    if (out->n > out->capacity) /* it is as room says */
        out->n = 0;
    if (out->n)
        memcpy(TRG_BRICK_LABELS_BITS_OF(out), answer->labels, out->n);
}

static void store_place(const struct vox_brick *b, struct trg_output *out)
{
    out->n = out->capacity && b->n[0] ? 1 : 0;
    if (!out->n)
        return;
    for (uint32_t k = 0; k < 3; k++) {
        TRG_LABELLED_BRICKS_N_OF(out)[k] = (uint16_t)b->n[k];
        TRG_LABELLED_BRICKS_ORIGIN_OF(out)[k] = (uint16_t)b->origin[k];
        TRG_LABELLED_BRICKS_VOLUME_OF(out)[k] = (uint16_t)b->volume[k];
    }
}

static int voxels_collect(struct trg_algo *a, struct trg_batch *b)
{
    uint32_t n_told = 0; /* one a batch is enough */

    for (uint32_t i = 0; i < b->n_rois; i++) {
        struct vox_answer answer;

        vox_lane_answer(a->lane, b->slot, i, &answer);
        if (answer.brick->problem) {
            b->results[i].status = TRG_FAILED;
            if (!is_made_up(&b->rois[i]) && !n_told++)
                refuse(a, &b->rois[i], answer.brick);
        }
        set_values(&answer, &b->results[i]);
        if (b->outputs[LABELS])
            store_labels(&answer, &b->outputs[LABELS][i]);
        if (b->outputs[PLACES])
            store_place(answer.brick, &b->outputs[PLACES][i]);
    }
    return 0;
}

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {
    TRG_PLUGIN_INIT,
    .name = "voxels",
    .version = "1.0.0",
    .summary = "labels of voxels by boosted stumps of position, value and gradient",
    .consumes = {&trg_bricks, &trg_brick_values},
    .produces = {&trg_brick_labels, &trg_labelled_bricks},
    .backends = "cpu opencl cuda",
    .cost = {.batch_us = 100000, .roi_us = 1000, .item_ns = 200},
    .params = voxels_params,
    .values = values,
    .conditions = conditions,
    .config_size = sizeof(struct voxels_config),
    .room = product_room,
    .create = voxels_create,
    .destroy = voxels_destroy,
    .submit = voxels_submit,
    .collect = voxels_collect,
    .flags = TRG_PLUGIN_DEVICE_COLUMNS,
};
