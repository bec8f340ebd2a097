/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - boxes searched in a forest: count, add up, size the results, fill. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "forest.h"
#include "kdquery.program.h"

#define FRONT_ROOM  1024u
#define GROUPS_MAX  16384u
#define FRONT_BYTES ((size_t)1 << 30) /* of all swap buffers at most */
#define GANGS_WORK  16u /* groups of a breadth-first launch for each unit of the device */

enum { DFS_COUNT, DFS_FILL, BFS, SUM_TILES, SUM_ALL, OFFSETS, N_KERNELS };
static const char *const names[N_KERNELS] = {"kdq_dfs_count", "kdq_dfs_fill", "kdq_bfs",
                                             "kdq_sum_tiles", "kdq_sum_all",  "kdq_offsets"};

struct kd_queries_inner {
    struct kd_forest *f;
    struct trg_module *module;
    struct trg_kernel *kernel[N_KERNELS];
    struct trg_buffer *counts, *tiles, *fronts;
    uint32_t results_room, front_groups, group;
    struct kdq_par par; /* what does not change */
};

static uint32_t group_of(const struct kd_forest *f)
{
    return f->inner->device.group_max < KDQ_GROUP ? f->inner->device.group_max : KDQ_GROUP;
}

/* Swap buffers of one group. */
static size_t front_bytes(const struct kd_queries_inner *in)
{
    return (size_t)(in->group / in->par.gang) * 2 * in->par.front_room * sizeof(uint32_t);
}

static uint32_t fewer(uint32_t groups, size_t limit)
{
    return groups < limit ? groups : limit ? (uint32_t)limit : 1u;
}

static int allocate(struct kd_queries *s, uint32_t max_queries)
{
    struct kd_queries_inner *in = s->inner;
    struct trg_device *d = in->f->inner->d;
    const size_t column = (size_t)s->room * sizeof(uint32_t), k = in->f->k;
    const struct {
        struct trg_buffer **buffer;
        size_t bytes;
    } list[] = {
        {&s->boxes, 2 * k * column},
        {&s->tree_of, column},
        {&s->results, sizeof(uint32_t)},
        {&in->counts, (KD_LEVELS_MAX + 1u) * column},
        {&in->tiles, (max_queries / KDQ_TILE + 4) * sizeof(uint32_t)},
        {&in->fronts, in->front_groups * front_bytes(in)},
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof list / sizeof *list; i++)
        r = trg_buffer_new(d, TRG_MEM_DEVICE, list[i].bytes, list[i].buffer);
    in->results_room = 1;
    return r;
}

void kd_queries_free(struct kd_queries *s)
{
    if (!s)
        return;
    if (s->inner) {
        trg_buffer_free(s->boxes);
        trg_buffer_free(s->tree_of);
        trg_buffer_free(s->results);
        trg_buffer_free(s->inner->counts);
        trg_buffer_free(s->inner->tiles);
        trg_buffer_free(s->inner->fronts);
        trg_module_free(s->inner->module);
        free(s->inner);
    }
    free(s);
}

static int open_queries(struct kd_queries *s, struct kd_forest *f,
                        const struct kd_queries_setup *setup)
{
    struct kd_queries_inner *in = s->inner;
    const struct trg_device_info *device = &f->inner->device;
    int r = trg_module_new(f->inner->d, &kdquery_program, NULL, &in->module);

    in->f = f;
    in->group = device->is_host ? 1 : group_of(f);
    in->front_groups = device->is_host ? 1 : GANGS_WORK * device->units;
    s->room = (setup->max_queries + 2u + 63u) & ~63u;
    in->par = (struct kdq_par){.k = f->k,
                               .room = f->room,
                               .query_room = s->room,
                               .gang = setup->gang < in->group ? setup->gang : in->group,
                               .front_room = setup->front_room ? setup->front_room : FRONT_ROOM,
                               .period_dim = setup->period_dim,
                               .period = setup->period};
    in->front_groups = fewer(in->front_groups, FRONT_BYTES / front_bytes(in));
    for (uint32_t i = 0; r == 0 && i < N_KERNELS; i++)
        r = trg_kernel_get(in->module, names[i], &in->kernel[i]);
    return r < 0 ? r : allocate(s, setup->max_queries);
}

int kd_queries_new(struct kd_forest *f, const struct kd_queries_setup *setup,
                   struct kd_queries **ret_queries)
{
    struct kd_queries *s;
    int r;

    if (!setup->max_queries || setup->max_queries > KD_POINTS_MAX || !setup->gang ||
        setup->gang > KDQ_GANG_MAX || setup->gang & (setup->gang - 1) || setup->front_room == 1)
        return -EINVAL;
    s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->inner = calloc(1, sizeof *s->inner);
    if (!s->inner) {
        free(s);
        return -ENOMEM;
    }
    r = open_queries(s, f, setup);
    if (r < 0) {
        kd_queries_free(s);
        return r;
    }
    *ret_queries = s;
    return 0;
}

/* ---------------------------------------------------------------- searching */

static int launch(struct kd_queries *s, struct trg_queue *q, int kernel, uint32_t groups,
                  const struct kdq_par *par, struct trg_buffer *const *buffers)
{
    struct trg_arg args[TRG_ARGS_MAX];
    uint32_t n = 0;

    for (; buffers[n]; n++)
        args[n] = TRG_BUF(buffers[n]);
    args[n++] = TRG_VAL(*par);
    return trg_launch(q, s->inner->kernel[kernel], (struct trg_range){groups, s->inner->group},
                      args, n);
}
#define LAUNCH(kernel, groups, ...) \
    launch(s, q, kernel, groups, par, (struct trg_buffer *const[]){__VA_ARGS__, NULL})

static uint32_t dfs_groups(const struct kd_queries *s, uint32_t n)
{
    const uint32_t groups = n / s->inner->group + 1;

    return s->inner->f->inner->device.is_host ? 1 : groups < GROUPS_MAX ? groups : GROUPS_MAX;
}

static uint32_t bfs_groups(const struct kd_queries *s, uint32_t n)
{
    const uint32_t groups = n / (s->inner->group / s->inner->par.gang) + 1;

    return groups < s->inner->front_groups ? groups : s->inner->front_groups;
}

/* Makes room for n results; those that are there are lost. */
static int make_room(struct kd_queries *s, uint32_t n)
{
    struct trg_buffer *results;
    int r;

    if (n <= s->inner->results_room)
        return 0;
    r = trg_buffer_new(s->inner->f->inner->d, TRG_MEM_DEVICE, (size_t)n * sizeof(uint32_t),
                       &results);
    if (r < 0)
        return r;
    trg_buffer_free(s->results);
    s->results = results;
    s->inner->results_room = n;
    return 0;
}

/* Reads how many results there are: the word at `at` and whether it is right, behind it. */
static int read_total(struct kd_queries *s, struct trg_queue *q, struct trg_buffer *from, size_t at)
{
    uint32_t word[2];
    int r = kd_get(s->inner->f, q, from, at * sizeof(uint32_t), word, sizeof word);

    if (r == 0 && word[1])
        return -EOVERFLOW;
    if (r == 0)
        s->n_results = word[0];
    return r;
}

/* One pass does it when there is room; else the room is made and it is done once more. */
static int search_by_hand(struct kd_queries *s, struct trg_queue *q, struct kdq_par *par)
{
    const struct kd_forest *f = s->inner->f;
    int r = 0;

    par->by_hand = 1;
    do {
        if (s->n_results > s->inner->results_room)
            r = make_room(s, s->n_results);
        par->results_room = s->inner->results_room;
        if (r == 0)
            r = LAUNCH(DFS_FILL, 1, f->nodes, f->ids, f->trees, s->boxes, s->tree_of,
                       s->inner->counts, f->blocks, s->results);
        if (r == 0)
            r = read_total(s, q, s->inner->counts,
                           (size_t)par->levels * par->query_room + par->n_queries);
    } while (r == 0 && s->n_results > s->inner->results_room);
    return r;
}

static int count_or_fill(struct kd_queries *s, struct trg_queue *q, bool breadth,
                         struct kdq_par *par)
{
    const struct kd_forest *f = s->inner->f;
    struct kd_queries_inner *in = s->inner;

    if (breadth)
        return LAUNCH(BFS, bfs_groups(s, par->n_queries), f->nodes, f->ids, f->trees, s->boxes,
                      s->tree_of, in->counts, in->fronts, s->results);
    if (par->fill)
        return LAUNCH(DFS_FILL, dfs_groups(s, par->n_queries), f->nodes, f->ids, f->trees, s->boxes,
                      s->tree_of, in->counts, f->blocks ? f->blocks : f->trees, s->results);
    return LAUNCH(DFS_COUNT, dfs_groups(s, par->n_queries), f->nodes, f->trees, s->boxes,
                  s->tree_of, in->counts);
}

static int add_up(struct kd_queries *s, struct trg_queue *q, const struct kdq_par *par)
{
    const uint32_t tiles = (par->n_queries + KDQ_TILE - 1) / KDQ_TILE;
    int r = LAUNCH(SUM_TILES, tiles, s->inner->counts, s->inner->tiles);

    if (r == 0)
        r = LAUNCH(SUM_ALL, 1, s->inner->tiles);
    if (r == 0)
        r = LAUNCH(OFFSETS, tiles, s->inner->tiles, s->inner->counts);
    return r < 0 ? r : read_total(s, q, s->inner->tiles, tiles);
}

int kd_search(struct kd_queries *s, struct trg_queue *q, enum kd_search how, uint32_t n,
              uint32_t largest)
{
    const bool host = s->inner->f->inner->device.is_host;
    const bool in_warps = strcmp(s->inner->f->inner->device.backend, "cuda") == 0;
    struct kdq_par par = s->inner->par;
    bool breadth;
    int r;

    if (how == KD_SEARCH_AUTO)
        how = host ? KD_SEARCH_HAND : in_warps ? KD_SEARCH_BREADTH_FIRST : KD_SEARCH_DEPTH_FIRST;
    if (n + 2u > s->room || largest > s->inner->f->room || (how == KD_SEARCH_HAND && !host))
        return -EINVAL;
    s->n_results = 0;
    par.n_queries = n;
    par.levels = kd_levels(largest);
    s->inner->par.levels = par.levels;
    s->inner->par.n_queries = n;
    if (how == KD_SEARCH_HAND)
        return search_by_hand(s, q, &par);
    if (!n) {
        r = trg_fill(q, s->inner->counts, (size_t)par.levels * s->room * 4, 4, 0);
        return r < 0 ? r : trg_finish(q);
    }
    breadth = how == KD_SEARCH_BREADTH_FIRST;
    r = count_or_fill(s, q, breadth, &par);
    if (r == 0)
        r = add_up(s, q, &par);
    if (r == 0)
        r = make_room(s, s->n_results);
    par.fill = 1;
    if (r == 0)
        r = count_or_fill(s, q, breadth, &par);
    return r < 0 ? r : trg_finish(q);
}

int kd_offsets(struct kd_queries *s, struct trg_queue *q, uint32_t *ret)
{
    const size_t at = (size_t)s->inner->par.levels * s->room * sizeof(uint32_t);
    const uint32_t n = s->inner->par.n_queries;

    return kd_get(s->inner->f, q, s->inner->counts, at, ret, (n + 1u) * sizeof(uint32_t));
}
