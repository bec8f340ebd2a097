/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - boxes searched in a forest: count, add up, size the results, fill. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "forest.h"
#include "kdquery.program.h"

#define FRONT_ROOM  1024u
#define GROUPS_MAX  16384u
#define FRONT_BYTES ((size_t)1 << 30) /* of all swap buffers at most */
#define GANGS_WORK  16u   /* groups of a breadth-first launch for each unit of the device */
#define GANG_LEAST  4u    /* KD_SEARCH_AUTO: smaller ones lose to depth first */
#define WIDTH_LEAST 8     /* KD_SEARCH_AUTO: nodes of a level for which breadth first pays */
#define SAMPLE      4096u /* queries that are counted to know how many results to expect */

static const char *const names[N_KERNELS] = {"kdq_dfs_count", "kdq_dfs_fill", "kdq_bfs",
                                             "kdq_sum_tiles", "kdq_sum_all",  "kdq_offsets"};

static uint32_t group_of(const struct kd_forest *f)
{
    return f->inner->device.group_max < KDQ_GROUP ? f->inner->device.group_max : KDQ_GROUP;
}

/* Swap buffers of one group. */
static size_t front_bytes(const struct kd_queries_inner *in, uint32_t gang)
{
    return (size_t)(in->group / gang) * 2 * in->par.front_room * sizeof(uint32_t);
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
        {&s->counts, column},
        {&in->counts, (KD_LEVELS_MAX + 1u) * column},
        {&in->tiles, (max_queries / KDQ_TILE + 4) * sizeof(uint32_t)},
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
        trg_buffer_free(s->counts);
        trg_buffer_free(s->inner->counts);
        trg_buffer_free(s->inner->tiles);
        trg_buffer_free(s->inner->fronts);
        trg_module_free(s->inner->module);
        trg_module_free(s->inner->counting);
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
                               .front_room = setup->front_room ? setup->front_room : FRONT_ROOM,
                               .period_dim = setup->period_dim,
                               .period = setup->period};
    in->gang_most = setup->gang < in->group ? setup->gang : in->group;
    in->expected = -1;
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

struct work { /* what the launches of one search share */
    struct kd_queries *s;
    struct launcher l;
    struct kdq_par par;
};

#define RUN(w, which, groups, ...)                                                        \
    LAUNCH(&(w)->l, (w)->s->inner->kernel[which], groups, (w)->s->inner->group, (w)->par, \
           __VA_ARGS__)

static uint32_t dfs_groups(const struct kd_queries *s, uint32_t n)
{
    const uint32_t groups = n / s->inner->group + 1;

    return s->inner->f->inner->device.is_host ? 1 : groups < GROUPS_MAX ? groups : GROUPS_MAX;
}

/* Groups of a breadth-first launch; its swap buffers have FRONT_BYTES at most. */
static uint32_t bfs_groups(const struct kd_queries *s, const struct kdq_par *par)
{
    const struct kd_queries_inner *in = s->inner;
    const uint32_t groups = par->n_queries / (in->group / par->gang) + 1;
    const size_t room = FRONT_BYTES / front_bytes(in, par->gang);
    const uint32_t most = room < in->front_groups ? (uint32_t)room : in->front_groups;

    return groups < most ? groups : most ? most : 1;
}

/* Swap buffers for a breadth-first launch; nothing that is queued uses those that there are. */
static int make_fronts(struct kd_queries *s, const struct kdq_par *par)
{
    struct kd_queries_inner *in = s->inner;
    const size_t bytes = bfs_groups(s, par) * front_bytes(in, par->gang);
    struct trg_buffer *fronts;
    int r;

    if (bytes <= in->front_bytes)
        return 0;
    r = trg_buffer_new(in->f->inner->d, TRG_MEM_DEVICE, bytes, &fronts);
    if (r < 0)
        return r;
    trg_buffer_free(in->fronts);
    in->fronts = fronts;
    in->front_bytes = bytes;
    return 0;
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
static int read_total(struct work *w, struct trg_buffer *from, size_t at)
{
    uint32_t word[2];

    if (w->l.result == 0)
        w->l.result =
            kd_get(w->s->inner->f, w->l.q, from, at * sizeof(uint32_t), word, sizeof word);
    if (w->l.result == 0 && word[1])
        w->l.result = -EOVERFLOW;
    if (w->l.result == 0)
        w->s->n_results = word[0];
    return w->l.result;
}

/* One pass does it when there is room; else the room is made and it is done once more. */
static int search_by_hand(struct work *w)
{
    struct kd_queries *s = w->s;
    const struct kd_forest *f = s->inner->f;
    struct kdq_par *par = &w->par;
    int r = 0;

    par->by_hand = 1;
    do {
        if (s->n_results > s->inner->results_room)
            r = make_room(s, s->n_results);
        if (r < 0)
            return r;
        par->results_room = s->inner->results_room;
        RUN(w, DFS_FILL, 1, f->nodes, f->ids, f->trees, s->boxes, s->tree_of, s->inner->counts,
            f->blocks, s->results);
        r = read_total(w, s->inner->counts, (size_t)par->levels * par->query_room + par->n_queries);
    } while (r == 0 && s->n_results > s->inner->results_room);
    return r;
}

static void count_or_fill(struct work *w, bool breadth)
{
    const struct kd_queries *s = w->s;
    const struct kd_forest *f = s->inner->f;
    const struct kd_queries_inner *in = s->inner;
    const struct kdq_par *par = &w->par;

    if (breadth)
        RUN(w, BFS, bfs_groups(s, par), f->nodes, f->ids, f->trees, s->boxes, s->tree_of,
            in->counts, in->fronts, s->results);
    else if (par->fill)
        RUN(w, DFS_FILL, dfs_groups(s, par->n_queries), f->nodes, f->ids, f->trees, s->boxes,
            s->tree_of, in->counts, f->blocks ? f->blocks : f->trees, s->results);
    else
        RUN(w, DFS_COUNT, dfs_groups(s, par->n_queries), f->nodes, f->trees, s->boxes, s->tree_of,
            in->counts);
}

static int add_up(struct work *w)
{
    const struct kd_queries_inner *in = w->s->inner;
    const uint32_t tiles = (w->par.n_queries + KDQ_TILE - 1) / KDQ_TILE;

    RUN(w, SUM_TILES, tiles, in->counts, in->tiles);
    RUN(w, SUM_ALL, 1, in->tiles);
    RUN(w, OFFSETS, tiles, in->tiles, in->counts);
    return read_total(w, in->tiles, tiles);
}

/* How many nodes a query looks at on a level of a tree of n points that are spread evenly and of
 * which it finds `expected`, in the mean and at most: a box of side w, where a dimension has been
 * halved h times, touches 1 + w 2^h of its parts. */
static double width_of(uint32_t k, uint32_t n, double expected, double *ret_most)
{
    const uint32_t levels = kd_levels(n);
    const double w = pow((expected > 1 ? expected : 1) / (n ? n : 1), 1.0 / k);
    double sum = 0;

    *ret_most = 0;
    for (uint32_t l = 0; l < levels; l++) {
        double nodes = 1;

        for (uint32_t d = 0; d < k; d++) {
            const uint32_t halved = (l + k - 1 - d) / k;

            nodes *= 1 + w * exp2(halved);
        }
        sum += nodes;
        *ret_most = nodes > *ret_most ? nodes : *ret_most;
    }
    return levels ? sum / levels : 0;
}

/* The gang for the work that is to be expected, 1: depth first.  A work-item more is worth its
 * place when it has two nodes of a level, and four where a gang has to meet at barriers; see
 * docs/kdtree.md for the measurements.  Where fewer than four are allowed, or buffers are
 * too small, depth first is faster. */
static uint32_t gang_for(const struct kd_queries_inner *in, uint32_t n)
{
    const uint32_t each = strcmp(in->f->inner->device.backend, "cuda") == 0 ? 2 : 4;
    double most;
    const double width = width_of(in->f->k, n, in->expected, &most);
    uint32_t gang = 16 / each;

    if (width < WIDTH_LEAST || most > in->par.front_room)
        return 1;
    while (2 * gang <= KDQ_GANG_MAX && 2 * gang * each <= width)
        gang *= 2;
    if (in->gang_most < GANG_LEAST)
        return 1;
    return gang < in->gang_most ? gang : in->gang_most;
}

/* Counts what some of the queries find. */
static int take_sample(struct work w)
{
    int r;

    if (w.par.n_queries > SAMPLE)
        w.par.n_queries = SAMPLE;
    count_or_fill(&w, false);
    r = add_up(&w);
    if (r == 0)
        w.s->inner->expected = (double)w.s->n_results / w.par.n_queries;
    return r;
}

/* On the CPU by hand; on a GPU breadth first with the gang for what is to be expected, where a gang
 * of some size is allowed; depth first elsewhere. */
static int choose(struct work *w, uint32_t largest, enum kd_search *how)
{
    const struct trg_device_info *device = &w->s->inner->f->inner->device;
    int r = 0;

    *how = device->is_host ? KD_SEARCH_HAND : KD_SEARCH_DEPTH_FIRST;
    if (!device->pci[0] || !w->par.n_queries) /* what is plugged in is a GPU */
        return 0;
    if (w->s->inner->expected < 0)
        r = take_sample(*w);
    w->par.gang = gang_for(w->s->inner, largest);
    if (w->par.gang > 1)
        *how = KD_SEARCH_BREADTH_FIRST;
    return r;
}

static int count_then_fill(struct work *w, bool breadth)
{
    struct kd_queries *s = w->s;
    int r = breadth ? make_fronts(s, &w->par) : 0;

    if (r < 0)
        return r;
    count_or_fill(w, breadth);
    r = add_up(w);
    if (r == 0)
        r = make_room(s, s->n_results);
    if (r < 0)
        return r;
    w->par.fill = 1;
    count_or_fill(w, breadth);
    s->inner->expected = (double)s->n_results / w->par.n_queries;
    return w->l.result < 0 ? w->l.result : trg_finish(w->l.q);
}

int kd_search(struct kd_queries *s, struct trg_queue *q, enum kd_search how, uint32_t n,
              uint32_t largest)
{
    const struct trg_device_info *device = &s->inner->f->inner->device;
    struct work w = {.s = s, .l = launcher_on(q, device), .par = s->inner->par};
    int r = 0;

    if (n + 2u > s->room || largest > s->inner->f->room ||
        (how == KD_SEARCH_HAND && !device->is_host))
        return -EINVAL;
    s->n_results = 0;
    w.par.n_queries = n;
    w.par.levels = kd_levels(largest);
    w.par.gang = s->inner->gang_most;
    s->inner->par.levels = w.par.levels;
    s->inner->par.n_queries = n;
    if (how == KD_SEARCH_AUTO)
        r = choose(&w, largest, &how);
    if (r < 0)
        return r;
    if (how == KD_SEARCH_HAND)
        return search_by_hand(&w);
    if (!n) {
        r = trg_fill(q, s->inner->counts, (size_t)w.par.levels * s->room * 4, 4, 0);
        return r < 0 ? r : trg_finish(q);
    }
    return count_then_fill(&w, how == KD_SEARCH_BREADTH_FIRST);
}

int kd_offsets(struct kd_queries *s, struct trg_queue *q, uint32_t *ret)
{
    const size_t at = (size_t)s->inner->par.levels * s->room * sizeof(uint32_t);
    const uint32_t n = s->inner->par.n_queries;

    return kd_get(s->inner->f, q, s->inner->counts, at, ret, (n + 1u) * sizeof(uint32_t));
}
