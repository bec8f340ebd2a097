/* SPDX-License-Identifier: Apache-2.0 */
/* forest.c - builds k-d trees on a device: memory, and which kernels run in which order. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "forest.h"
#include "kdbuild.program.h"
#include "kdlarge.program.h"

static const struct {
    const char *name;
    bool large; /* in kdlarge.kernel.c */
} kernels[KD_KERNELS] = {
    [KD_TREES] = {"kd_build_trees", false}, [KD_BLOCKS] = {"kd_make_blocks", false},
    [KDL_KEYS] = {"kdl_keys", true},        [KDL_COUNT] = {"kdl_count", true},
    [KDL_SCAN] = {"kdl_scan", true},        [KDL_SCATTER] = {"kdl_scatter", true},
    [KDL_ROOTS] = {"kdl_roots", true},      [KDL_SIDES] = {"kdl_sides", true},
    [KDL_MOVE] = {"kdl_move", true},        [KDL_SUBTREES] = {"kdl_subtrees", true},
    [KDS_BEGIN] = {"kds_begin", true},      [KDS_GROUPS] = {"kds_groups", true},
    [KDS_ITEMS] = {"kds_items", true},
};

static int load(struct kd_forest *f, struct trg_device *d, bool large)
{
    struct kd_inner *in = f->inner;
    int r = trg_module_new(d, &kdbuild_program, NULL, &in->module);

    if (r == 0 && large)
        r = trg_module_new(d, &kdlarge_program, NULL, &in->large);
    for (uint32_t i = 0; r == 0 && i < KD_KERNELS; i++)
        if (!kernels[i].large || large)
            r = trg_kernel_get(kernels[i].large ? in->large : in->module, kernels[i].name,
                               &in->kernel[i]);
    return r;
}

static int allocate(struct kd_forest *f, const struct kd_forest_setup *s)
{
    struct kd_inner *in = f->inner;
    const size_t column = (size_t)f->room * sizeof(uint32_t), k = f->k;
    const size_t tiles = f->room / KD_TILE + 1;
    const struct {
        struct trg_buffer **buffer;
        enum trg_mem mem;
        size_t bytes;
    } list[] = {
        {&f->points, TRG_MEM_DEVICE, k * column},
        {&f->trees, TRG_MEM_DEVICE, (size_t)f->max_trees * 2 * sizeof(uint32_t)},
        {&f->nodes, TRG_MEM_DEVICE, k * column},
        {&f->ids, TRG_MEM_DEVICE, column},
        {&in->orders, TRG_MEM_DEVICE, 2 * k * column},
        {&in->keys, TRG_MEM_DEVICE, (s->large ? 2 * k : 2) * column},
        {&in->side, TRG_MEM_DEVICE, column},
        {&in->counts, TRG_MEM_DEVICE, (s->large ? k : 1) * 16 * tiles * sizeof(uint32_t)},
        {&in->pinned, TRG_MEM_PINNED, KD_PIECE},
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof list / sizeof *list; i++)
        r = trg_buffer_new(s->device, list[i].mem, list[i].bytes, list[i].buffer);
    if (r == 0 && in->device.is_host)
        r = trg_buffer_new(s->device, TRG_MEM_DEVICE,
                           KD_BLOCKS_ROOM(k, f->room, f->max_trees) * sizeof(float), &f->blocks);
    return r;
}

void kd_forest_free(struct kd_forest *f)
{
    if (!f)
        return;
    if (f->inner) {
        trg_buffer_free(f->points);
        trg_buffer_free(f->trees);
        trg_buffer_free(f->nodes);
        trg_buffer_free(f->ids);
        trg_buffer_free(f->blocks);
        trg_buffer_free(f->inner->orders);
        trg_buffer_free(f->inner->keys);
        trg_buffer_free(f->inner->side);
        trg_buffer_free(f->inner->counts);
        trg_buffer_free(f->inner->pinned);
        trg_module_free(f->inner->module);
        trg_module_free(f->inner->large);
        free(f->inner);
    }
    free(f);
}

int kd_forest_new(const struct kd_forest_setup *s, struct kd_forest **ret_forest)
{
    struct kd_forest *f;
    int r;

    if (s->k < 2 || s->k > KD_DIMS_MAX || !s->max_points || s->max_points > KD_POINTS_MAX ||
        !s->max_trees)
        return -EINVAL;
    f = calloc(1, sizeof *f);
    if (!f)
        return -ENOMEM;
    f->inner = calloc(1, sizeof *f->inner);
    if (!f->inner) {
        free(f);
        return -ENOMEM;
    }
    f->k = s->k;
    f->max_trees = s->max_trees;
    f->room = (s->max_points + 63u) & ~63u;
    f->inner->d = s->device;
    trg_device_info(s->device, &f->inner->device);
    r = load(f, s->device, s->large != 0);
    if (r == 0)
        r = allocate(f, s);
    if (r < 0) {
        kd_forest_free(f);
        return r;
    }
    *ret_forest = f;
    return 0;
}

/* ---------------------------------------------------------------- building */

static uint32_t group_of(const struct kd_forest *f, uint32_t wanted)
{
    return f->inner->device.group_max < wanted ? f->inner->device.group_max : wanted;
}

static int launch(struct kd_forest *f, struct trg_queue *q, enum kd_kernel kernel, uint32_t groups,
                  const struct kd_build_par *par, struct trg_buffer *const *buffers)
{
    struct trg_arg args[TRG_ARGS_MAX];
    uint32_t n = 0;

    for (; buffers[n]; n++)
        args[n] = TRG_BUF(buffers[n]);
    args[n++] = TRG_VAL(*par);
    return trg_launch(q, f->inner->kernel[kernel],
                      (struct trg_range){groups, group_of(f, KD_BUILD_GROUP)}, args, n);
}
#define LAUNCH(kernel, groups, ...) \
    launch(f, q, kernel, groups, par, (struct trg_buffer *const[]){__VA_ARGS__, NULL})

/* Groups that go over n items with strides. */
static uint32_t groups_for(const struct kd_forest *f, uint32_t n)
{
    const uint32_t groups = n / KD_BUILD_GROUP + 1;

    return f->inner->device.is_host ? 1 : groups < 4096 ? groups : 4096;
}

static int scan(struct kd_forest *f, struct trg_queue *q, const struct kd_build_par *with,
                uint32_t stretches, uint32_t words)
{
    struct kd_build_par other = *with, *par = &other;

    other.shift = words;
    return LAUNCH(KDL_SCAN, stretches, f->inner->counts);
}

/* Sorts the orders of all dimensions; after an even number of passes they are in the first half. */
static int sort(struct kd_forest *f, struct trg_queue *q, struct kd_build_par *par)
{
    struct kd_inner *in = f->inner;
    int r = LAUNCH(KDL_KEYS, groups_for(f, par->n), f->points, in->keys, in->orders);

    for (par->shift = 0, par->which = 0; r == 0 && par->shift < 32; par->shift += 4) {
        r = LAUNCH(KDL_COUNT, par->k * par->tiles, in->keys, in->counts);
        if (r == 0)
            r = scan(f, q, par, par->k, 16 * par->tiles);
        if (r == 0)
            r = LAUNCH(KDL_SCATTER, par->k * par->tiles, in->keys, in->orders, in->counts);
        par->which ^= 1u;
    }
    return r;
}

static int one_level(struct kd_forest *f, struct trg_queue *q, struct kd_build_par *par)
{
    struct kd_inner *in = f->inner;
    int r = LAUNCH(KDL_ROOTS, par->tiles, f->points, f->nodes, f->ids, in->orders, in->side);

    if (r == 0)
        r = LAUNCH(KDL_SIDES, (par->k - 1) * par->tiles, in->orders, in->side, in->counts);
    if (r == 0)
        r = scan(f, q, par, 2 * (par->k - 1), par->tiles);
    if (r == 0)
        r = LAUNCH(KDL_MOVE, (par->k - 1) * par->tiles, in->orders, in->side, in->counts);
    par->which ^= ((1u << par->k) - 1u) ^ (1u << par->level % par->k);
    return r;
}

static int build_by_sort(struct kd_forest *f, struct trg_queue *q, struct kd_build_par *par)
{
    int r = sort(f, q, par);

    for (par->level = 0, par->which = 0; r == 0 && par->n >> par->level >= KD_SUBTREE_BELOW;
         par->level++)
        r = one_level(f, q, par);
    if (r == 0)
        r = LAUNCH(KDL_SUBTREES, 1u << par->level, f->points, f->nodes, f->ids, f->inner->orders,
                   f->inner->side);
    return r;
}

static int build_by_selection(struct kd_forest *f, struct trg_queue *q, struct kd_build_par *par)
{
    struct trg_buffer *orders = f->inner->orders;
    int r = LAUNCH(KDS_BEGIN, groups_for(f, par->n), orders);

    for (par->level = 0; r == 0 && par->level < kd_levels(par->n); par->level++) {
        if (par->n >> par->level >= KD_ITEM_BELOW) {
            r = LAUNCH(KDS_GROUPS, 1u << par->level, f->points, f->nodes, f->ids, orders);
            par->which ^= 1u;
        } else {
            r = LAUNCH(KDS_ITEMS, groups_for(f, 1u << par->level), f->points, f->nodes, f->ids,
                       orders);
        }
    }
    return r;
}

static int build(struct kd_forest *f, struct trg_queue *q, enum kd_build how, uint32_t n_trees,
                 uint32_t n)
{
    struct kd_inner *in = f->inner;
    struct kd_build_par value = {.k = f->k, .room = f->room, .n = n, .tiles = n / KD_TILE + 1};
    struct kd_build_par *par = &value;
    int r;

    if (how == KD_BUILD_SORT || how == KD_BUILD_SELECT) {
        if (!in->large || n_trees != 1 || n > f->room)
            return -EINVAL;
        if (!n)
            return 0;
        r = how == KD_BUILD_SORT ? build_by_sort(f, q, par) : build_by_selection(f, q, par);
    } else {
        value.by_hand = how == KD_BUILD_HAND;
        r = LAUNCH(KD_TREES, n_trees, f->trees, f->points, f->nodes, f->ids, in->orders, in->keys,
                   in->side);
    }
    if (r == 0 && f->blocks)
        r = LAUNCH(KD_BLOCKS, n_trees, f->trees, f->nodes, f->ids, f->blocks);
    return r;
}

int kd_build(struct kd_forest *f, struct trg_queue *q, enum kd_build how, uint32_t n_trees,
             uint32_t n)
{
    const bool large = f->inner->large != NULL, host = f->inner->device.is_host;

    if (n_trees > f->max_trees || (how == KD_BUILD_HAND && !host))
        return -EINVAL;
    if (how == KD_BUILD_AUTO)
        how = host                                                 ? KD_BUILD_HAND
              : large && n_trees == 1 && n >= 2 * KD_SUBTREE_BELOW ? KD_BUILD_SORT
                                                                   : KD_BUILD_GROUPS;
    return build(f, q, how, n_trees, n);
}

/* ---------------------------------------------------------------- copies */

int kd_put(struct kd_forest *f, struct trg_queue *q, struct trg_buffer *to, size_t at,
           const void *from, size_t bytes)
{
    int r = 0;

    for (size_t done = 0; r == 0 && done < bytes; done += KD_PIECE) {
        const size_t n = bytes - done < KD_PIECE ? bytes - done : KD_PIECE;

        memcpy(trg_buffer_host(f->inner->pinned), (const char *)from + done, n);
        r = trg_write(q, to, at + done, f->inner->pinned, 0, n);
        if (r == 0)
            r = trg_finish(q);
    }
    return r;
}

int kd_get(struct kd_forest *f, struct trg_queue *q, struct trg_buffer *from, size_t at, void *to,
           size_t bytes)
{
    int r = 0;

    for (size_t done = 0; r == 0 && done < bytes; done += KD_PIECE) {
        const size_t n = bytes - done < KD_PIECE ? bytes - done : KD_PIECE;

        r = trg_read(q, f->inner->pinned, 0, from, at + done, n);
        if (r == 0)
            r = trg_finish(q);
        if (r == 0)
            memcpy((char *)to + done, trg_buffer_host(f->inner->pinned), n);
    }
    return r;
}
