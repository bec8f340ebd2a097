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
    const size_t blocks = in->device.is_host ? KD_BLOCKS_ROOM(k, f->room, f->max_trees) : 0;
    const struct buffer_wish list[] = {
        {TRG_MEM_DEVICE, k * column, &f->points},
        {TRG_MEM_DEVICE, (size_t)f->max_trees * 2 * sizeof(uint32_t), &f->trees},
        {TRG_MEM_DEVICE, k * column, &f->nodes},
        {TRG_MEM_DEVICE, column, &f->ids},
        {TRG_MEM_DEVICE, 2 * k * column, &in->orders},
        {TRG_MEM_DEVICE, (s->large ? 2 * k : 2) * column, &in->keys},
        {TRG_MEM_DEVICE, column, &in->side},
        {TRG_MEM_DEVICE, (s->large ? k : 1) * 16 * tiles * sizeof(uint32_t), &in->counts},
        {TRG_MEM_PINNED, KD_PIECE, &in->pinned},
        {TRG_MEM_DEVICE, blocks * sizeof(float), &f->blocks},
    };

    return buffers_new(&in->buffers, s->device, list, sizeof list / sizeof *list);
}

void kd_forest_free(struct kd_forest *f)
{
    if (!f)
        return;
    if (f->inner) {
        buffers_free(&f->inner->buffers);
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

struct work { /* what the launches of one tree or forest share */
    struct kd_forest *f;
    struct launcher l;
    struct kd_build_par par;
};

#define RUN(w, which, groups, ...) \
    LAUNCH(&(w)->l, (w)->f->inner->kernel[which], groups, KD_BUILD_GROUP, (w)->par, __VA_ARGS__)

/* Groups that go over n items with strides. */
static uint32_t groups_for(const struct kd_forest *f, uint32_t n)
{
    const uint32_t groups = n / KD_BUILD_GROUP + 1;

    return f->inner->device.is_host ? 1 : groups < 4096 ? groups : 4096;
}

static void scan(struct work *w, uint32_t stretches, uint32_t words)
{
    const uint32_t shift = w->par.shift;

    w->par.shift = words;
    RUN(w, KDL_SCAN, stretches, w->f->inner->counts);
    w->par.shift = shift;
}

/* Sorts the orders of all dimensions; after an even number of passes they are in the first half. */
static void sort(struct work *w)
{
    const struct kd_forest *f = w->f;
    const struct kd_inner *in = f->inner;
    struct kd_build_par *par = &w->par;
    const uint32_t groups = par->k * par->tiles;

    RUN(w, KDL_KEYS, groups_for(f, par->n), f->points, in->keys, in->orders);
    for (par->shift = 0, par->which = 0; par->shift < 32; par->shift += 4) {
        RUN(w, KDL_COUNT, groups, in->keys, in->counts);
        scan(w, par->k, 16 * par->tiles);
        RUN(w, KDL_SCATTER, groups, in->keys, in->orders, in->counts);
        par->which ^= 1u;
    }
}

static void one_level(struct work *w)
{
    const struct kd_forest *f = w->f;
    const struct kd_inner *in = f->inner;
    struct kd_build_par *par = &w->par;
    const uint32_t groups = (par->k - 1) * par->tiles;

    RUN(w, KDL_ROOTS, par->tiles, f->points, f->nodes, f->ids, in->orders, in->side);
    RUN(w, KDL_SIDES, groups, in->orders, in->side, in->counts);
    scan(w, 2 * (par->k - 1), par->tiles);
    RUN(w, KDL_MOVE, groups, in->orders, in->side, in->counts);
    par->which ^= ((1u << par->k) - 1u) ^ (1u << par->level % par->k);
}

static void build_by_sort(struct work *w)
{
    const struct kd_forest *f = w->f;
    struct kd_build_par *par = &w->par;

    sort(w);
    par->which = 0;
    for (par->level = 0; par->n >> par->level >= KD_SUBTREE_BELOW; par->level++)
        one_level(w);
    RUN(w, KDL_SUBTREES, 1u << par->level, f->points, f->nodes, f->ids, f->inner->orders,
        f->inner->side);
}

static void build_by_selection(struct work *w)
{
    const struct kd_forest *f = w->f;
    struct trg_buffer *orders = f->inner->orders;
    struct kd_build_par *par = &w->par;
    const uint32_t group = f->inner->device.pci[0] ? KD_SELECT_GROUP : KD_BUILD_GROUP;

    RUN(w, KDS_BEGIN, groups_for(f, par->n), orders);
    for (par->level = 0; par->level < kd_levels(par->n); par->level++) {
        if (par->n >> par->level >= KD_ITEM_BELOW) {
            LAUNCH(&w->l, f->inner->kernel[KDS_GROUPS], 1u << par->level, group, *par, f->points,
                   f->nodes, f->ids, orders);
            par->which ^= 1u;
        } else {
            RUN(w, KDS_ITEMS, groups_for(f, 1u << par->level), f->points, f->nodes, f->ids, orders);
        }
    }
}

static int build(struct kd_forest *f, struct trg_queue *q, enum kd_build how, uint32_t n_trees,
                 uint32_t n)
{
    struct kd_inner *in = f->inner;
    struct work w = {.f = f,
                     .l = launcher_on(q, &in->device),
                     .par = {.k = f->k, .room = f->room, .n = n, .tiles = n / KD_TILE + 1}};

    if (how == KD_BUILD_SORT || how == KD_BUILD_SELECT) {
        if (!in->large || n_trees != 1 || n > f->room)
            return -EINVAL;
        if (!n)
            return 0;
        if (how == KD_BUILD_SORT)
            build_by_sort(&w);
        else
            build_by_selection(&w);
    } else {
        w.par.by_hand = how == KD_BUILD_HAND;
        RUN(&w, KD_TREES, n_trees, f->trees, f->points, f->nodes, f->ids, in->orders, in->keys,
            in->side);
    }
    w.par.which = 0;
    w.par.parts = 1;
    if (f->blocks)
        RUN(&w, KD_BLOCKS, n_trees, f->trees, f->nodes, f->ids, f->blocks);
    return w.l.result;
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
