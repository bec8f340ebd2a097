/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline.h"

#include <errno.h>
#include <string.h>

#include "breadth.program.h"
#include "candidates.program.h"
#include "links.program.h"
#include "paths.program.h"
#include "starts.program.h"

#define PA_GROUP_LARGE 1024u /* of the kernels that have one group for an RoI */
_Static_assert(sizeof(struct pa_par) <= 1024, "OpenCL promises no more room for arguments");

enum kernel {
    K_SUMS,
    K_APPLY,
    K_HITS,
    K_STARTS_ONCE,
    K_IN_ORDER,
    K_COUNT,
    K_SCATTER,
    K_ORDER,
    K_GATHER,
    K_LINKS_COUNT,
    K_LIST,
    K_LINKS_FILL,
    K_LINKS_SUM,
    K_LINKS_ONCE,
    K_TALLY,
    K_TALLY_UNKEPT,
    K_ROOTS,
    K_PATHS_SUM,
    K_TOTALS,
    K_UNRANK,
    K_DEPTH_COUNT,
    K_DEPTH_WALK,
    K_FIT,
    K_CONTEST,
    K_DECIDE,
    K_DUPLICATES,
    K_SELECT,
    K_PLACE,
    K_WRITE,
    K_VALUES,
    K_SEED,
    K_GROW,
    N_KERNELS
};
static const struct {
    const struct trg_program *program;
    const char *name;
} kernels[N_KERNELS] = {
    [K_SUMS] = {&starts_program, "pa_scan_sums"},
    [K_APPLY] = {&starts_program, "pa_scan_apply"},
    [K_HITS] = {&starts_program, "pa_hits"},
    [K_STARTS_ONCE] = {&starts_program, "pa_starts_once"},
    [K_IN_ORDER] = {&starts_program, "pa_in_order"},
    [K_COUNT] = {&starts_program, "pa_count"},
    [K_SCATTER] = {&starts_program, "pa_scatter"},
    [K_ORDER] = {&starts_program, "pa_order"},
    [K_GATHER] = {&starts_program, "pa_gather"},
    [K_LINKS_COUNT] = {&links_program, "pa_links_count"},
    [K_LIST] = {&links_program, "pa_list"},
    [K_LINKS_FILL] = {&links_program, "pa_links_fill"},
    [K_LINKS_SUM] = {&links_program, "pa_links_sum"},
    [K_LINKS_ONCE] = {&links_program, "pa_links_once"},
    [K_TALLY] = {&paths_program, "pa_tally"},
    [K_TALLY_UNKEPT] = {&paths_program, "pa_tally_unkept"},
    [K_ROOTS] = {&paths_program, "pa_roots"},
    [K_PATHS_SUM] = {&paths_program, "pa_paths_sum"},
    [K_TOTALS] = {&paths_program, "pa_totals"},
    [K_UNRANK] = {&paths_program, "pa_unrank"},
    [K_DEPTH_COUNT] = {&paths_program, "pa_depth_count"},
    [K_DEPTH_WALK] = {&paths_program, "pa_depth_walk"},
    [K_FIT] = {&candidates_program, "pa_fit_paths"},
    [K_CONTEST] = {&candidates_program, "pa_contest"},
    [K_DECIDE] = {&candidates_program, "pa_decide"},
    [K_DUPLICATES] = {&candidates_program, "pa_duplicates"},
    [K_SELECT] = {&candidates_program, "pa_select"},
    [K_PLACE] = {&candidates_program, "pa_place"},
    [K_WRITE] = {&candidates_program, "pa_write"},
    [K_VALUES] = {&candidates_program, "pa_values"},
    [K_SEED] = {&breadth_program, "pa_seed"},
    [K_GROW] = {&breadth_program, "pa_grow"},
};

/* ---------------------------------------------------------------- opening */

/* The kernels of a program lie side by side in the table.  Breadth-first growth is only loaded
 * where it is asked for. */
static int load_kernels(struct pa_pipeline *p, struct trg_device *d)
{
    const bool breadth = p->config->growth == PA_GROW_BREADTH;
    uint32_t m = 0;
    int r = 0;

    for (uint32_t k = 0; r == 0 && k < (breadth ? N_KERNELS : K_SEED); k++) {
        if (k && kernels[k].program != kernels[k - 1].program)
            m++;
        if (!p->module[m])
            r = trg_module_new(d, kernels[k].program, NULL, &p->module[m]);
        if (r == 0)
            r = trg_kernel_get(p->module[m], kernels[k].name, &p->kernel[k]);
    }
    return r;
}

static int open_slot(struct pa_pipeline *p, struct trg_device *d, struct pa_slot *s)
{
    const size_t twin = p->device.is_host ? 0 : 1, rois = p->limits.max_rois;
    const struct buffer_wish list[] = {
        {TRG_MEM_DEVICE, 4 * (size_t)p->work_words, &s->work},
        {TRG_MEM_PINNED, rois * sizeof(struct pa_summary), &s->summary_host},
        {TRG_MEM_DEVICE, p->product[0].bytes, &s->product[0]},
        {TRG_MEM_DEVICE, p->product[1].bytes, &s->product[1]},
        {TRG_MEM_PINNED, twin * p->product[0].bytes, &s->product_host[0]},
        {TRG_MEM_PINNED, twin * p->product[1].bytes, &s->product_host[1]},
    };

    return buffers_new(&p->buffers, d, list, sizeof list / sizeof *list);
}

/* What `auto` stands for; see docs/paths.md for the measurements. */
static uint32_t growth_of(const struct pa_pipeline *p)
{
    if (p->config->growth != PA_GROW_AUTO)
        return p->config->growth;
    return p->device.is_host ? PA_GROW_DEPTH : PA_GROW_SCAN;
}

int pa_open(struct pa_pipeline *p, const struct trg_host *host, const struct pa_config *config,
            struct trg_device *device, const struct trg_limits *limits)
{
    int r;

    memset(p, 0, sizeof *p);
    p->config = config;
    p->host = host;
    p->limits = *limits;
    trg_device_info(device, &p->device);
    p->group = p->device.group_max < PA_GROUP_MAX ? p->device.group_max : PA_GROUP_MAX;
    pa_set_par(config, &p->par);
    p->par.portion = p->device.is_host  ? 0
                     : p->device.pci[0] ? PA_PORTION /* what is plugged in is a GPU */
                                        : 1u << 20;  /* whose work-items wait for each other */
    p->par.lists = growth_of(p) != PA_GROW_DEPTH;
    p->rounds = PA_ROUNDS;
    r = pa_set_sizes(p);
    if (r == 0)
        r = load_kernels(p, device);
    for (uint32_t i = 0; r == 0 && i < limits->slots; i++)
        r = open_slot(p, device, &p->slot[i]);
    if (r < 0)
        pa_close(p);
    return r;
}

void pa_close(struct pa_pipeline *p)
{
    buffers_free(&p->buffers);
    for (uint32_t m = 0; m < PA_MODULES; m++)
        trg_module_free(p->module[m]);
    memset(p, 0, sizeof *p);
}

const unsigned char *pa_product(const struct pa_pipeline *p, const struct pa_slot *s, uint32_t k)
{
    return trg_buffer_host(p->device.is_host ? s->product[k] : s->product_host[k]);
}

/* ---------------------------------------------------------------- one batch */

struct launch { /* what all launches of a batch have in common */
    struct pa_pipeline *p;
    struct launcher on;
    struct trg_buffer *hits, *doublets, *paths, *tracks, *work;
    struct pa_par par;
    uint32_t most_hits, most_doublets, most_paths;
};

/* Groups for `items` work-items' worth of work.  The CPU runs one after another: one is enough. */
static uint32_t groups_for(const struct pa_pipeline *p, uint64_t items)
{
    uint64_t n = (items + p->group - 1) / p->group, most = 16ull * p->device.units;

    if (p->device.is_host)
        return 1;
    return (uint32_t)(n < 1 ? 1 : n > most ? most : n);
}

/* Kernel k with the work buffer and others before it. */
#define RUN(l, k, groups, ...) \
    LAUNCH(&(l)->on, (l)->p->kernel[k], groups, (l)->p->group, (l)->par, __VA_ARGS__)

/* With the work buffer alone. */
static void run(struct launch *l, enum kernel k, uint32_t groups)
{
    RUN(l, k, groups, l->work);
}

/* One group for each RoI, a large one where RoIs may have many paths. */
static void run_rois(struct launch *l, enum kernel k)
{
    const bool is_large = l->most_paths / l->par.n_rois > PA_GROUP_LARGE;

    LAUNCH(&l->on, l->p->kernel[k], l->par.n_rois, is_large ? PA_GROUP_LARGE : l->p->group, l->par,
           l->work);
}

/* Sums [src, src + work[n]) into dst. */
static void scan(struct launch *l, uint32_t src, uint32_t dst, uint32_t n, bool wide, uint32_t most)
{
    const uint32_t by_item = groups_for(l->p, most / 4);
    const uint32_t groups = by_item < PA_PARTS_MAX ? by_item : PA_PARTS_MAX;

    l->par.scan_src = src;
    l->par.scan_dst = dst;
    l->par.scan_n = n;
    l->par.scan_wide = wide;
    if (groups > 1)
        run(l, K_SUMS, groups);
    run(l, K_APPLY, groups);
}

static void find_starts(struct launch *l)
{
    const struct pa_at *a = &l->par.at;
    const uint32_t by_hit = groups_for(l->p, l->most_hits + 1ull);
    const uint32_t by_doublet = groups_for(l->p, l->most_doublets), n_rois = l->par.n_rois;

    RUN(l, K_HITS, by_hit, l->hits, l->doublets, l->work);
    if (l->p->device.is_host)
        RUN(l, K_STARTS_ONCE, 1, l->doublets, l->work);
    else
        RUN(l, K_IN_ORDER, (by_doublet / n_rois + 1) * n_rois, l->doublets, l->work);
    RUN(l, K_COUNT, by_doublet, l->doublets, l->work);
    scan(l, a->count, a->start, a->totals + PA_TOTAL_UNSORTED_HITS, false, l->most_hits);
    run(l, K_SCATTER, by_doublet);
    if (!l->p->device.is_host)
        run(l, K_ORDER, by_hit);
    run(l, K_GATHER, by_doublet);
}

/* The doublets of the mask. */
static void list(struct launch *l)
{
    const struct pa_at *a = &l->par.at;

    l->par.scan_bits = 1;
    scan(l, a->mask, a->words, a->totals + PA_TOTAL_DOUBLETS, false, l->most_doublets / 32);
    l->par.scan_bits = 0;
    run(l, K_LIST, groups_for(l->p, l->most_doublets / 32));
}

static void find_links(struct launch *l)
{
    const struct pa_at *a = &l->par.at;
    const uint32_t by_doublet = groups_for(l->p, l->most_doublets);
    const uint32_t by_roi = groups_for(l->p, l->par.n_rois);

    if (l->p->device.is_host || growth_of(l->p) == PA_GROW_DEPTH) {
        run(l, K_LINKS_ONCE, by_roi);
        if (l->par.lists)
            list(l);
        return;
    }
    run(l, K_LINKS_COUNT, by_doublet);
    list(l);
    scan(l, a->from, a->rank, a->totals + PA_TOTAL_LISTED, true, l->most_doublets);
    run(l, K_LINKS_FILL, by_doublet);
    run(l, K_LINKS_SUM, by_roi);
}

static void count_paths(struct launch *l)
{
    const struct pa_at *a = &l->par.at;
    const uint32_t by_doublet = groups_for(l->p, l->most_doublets);

    for (l->par.level = 2; l->par.level < l->par.max_doublets; l->par.level++) {
        run(l, K_TALLY, by_doublet);
        if (l->par.portion)
            run(l, K_TALLY_UNKEPT, by_doublet);
    }
    run(l, K_ROOTS, by_doublet);
    scan(l, a->from, a->rank, a->totals + PA_TOTAL_LISTED, true, l->most_doublets);
    run(l, K_PATHS_SUM, groups_for(l->p, l->par.n_rois));
    run(l, K_TOTALS, 1);
}

static void find_paths(struct launch *l)
{
    const uint32_t by_roi = groups_for(l->p, l->par.n_rois);
    const uint32_t by_path = groups_for(l->p, l->most_paths);
    const uint32_t growth = growth_of(l->p);

    if (growth == PA_GROW_DEPTH) {
        run(l, K_DEPTH_COUNT, by_roi);
        run(l, K_TOTALS, 1);
        run(l, K_DEPTH_WALK, by_roi);
        return;
    }
    count_paths(l);
    if (growth == PA_GROW_SCAN) {
        run(l, K_UNRANK, by_path);
        return;
    }
    run(l, K_SEED, groups_for(l->p, l->most_doublets));
    for (l->par.level = l->par.max_doublets - 1; l->par.level >= 1; l->par.level--)
        run(l, K_GROW, by_path);
}

/* Rounds of the choice among duplicates that the whole device does before a group for each RoI does
 * the rest; see docs/paths.md for the measurements. */
static uint32_t rounds_of(const struct launch *l)
{
    const uint32_t choice = l->p->config->choice;
    const bool is_large = l->most_hits / l->par.n_rois >= PA_WIDE_FROM;

    if (choice == PA_CHOOSE_AUTO)
        return l->p->device.pci[0] && is_large ? l->p->rounds : 0;
    return choice == PA_CHOOSE_DEVICE ? l->p->rounds : 0;
}

static void find_candidates(struct launch *l)
{
    const uint32_t by_path = groups_for(l->p, l->most_paths);

    run(l, K_FIT, by_path);
    if (!l->par.remove_duplicates)
        return;
    l->par.rounds = rounds_of(l);
    for (l->par.level = 0; l->par.level < l->par.rounds; l->par.level++) {
        run(l, K_CONTEST, by_path);
        run(l, K_DECIDE, by_path);
    }
    if (l->par.rounds)
        run(l, K_CONTEST, by_path);
    run_rois(l, K_DUPLICATES);
}

/* Copies back what the host wants: the summaries, and of each product its offsets and columns. */
static void read_back(struct launch *l, struct pa_slot *s, uint32_t rows)
{
    if (l->on.result == 0)
        l->on.result = trg_read(l->on.q, s->summary_host, 0, s->work, 4ull * l->par.at.summary,
                                l->par.n_rois * sizeof(struct pa_summary));
    for (uint32_t k = 0; k < 2; k++)
        if (s->is_wanted[k] && !l->p->device.is_host)
            block_read(&l->p->product[k], &l->on, l->par.n_rois, rows, s->product[k],
                       s->product_host[k]);
}

static void make_products(struct launch *l)
{
    run_rois(l, K_SELECT);
    RUN(l, K_PLACE, 1, l->paths, l->tracks, l->work);
    RUN(l, K_WRITE, groups_for(l->p, pa_batch_rows(l->p, l->par.n_rois, l->most_hits)), l->paths,
        l->tracks, l->work);
    run_rois(l, K_VALUES);
}

static void mark(struct launch *l, const struct pa_watcher *w, uint32_t i)
{
    if (w && l->on.result == 0)
        l->on.result = w->mark(w->ctx, l->on.q, i);
}

static void run_phases(struct launch *l, const struct pa_watcher *watcher)
{
    mark(l, watcher, 0);
    find_starts(l);
    mark(l, watcher, 1 + PA_PHASE_STARTS);
    find_links(l);
    mark(l, watcher, 1 + PA_PHASE_LINKS);
    find_paths(l);
    mark(l, watcher, 1 + PA_PHASE_PATHS);
    find_candidates(l);
    mark(l, watcher, 1 + PA_PHASE_FIT);
    make_products(l);
    mark(l, watcher, 1 + PA_PHASE_OUT);
}

/* RoI by RoI, so that what one phase writes is still in the cache for the next: a batch of one RoI
 * each, whose results go behind those of the one before. */
static void run_one_by_one(struct launch *batch, const struct pa_watcher *watcher)
{
    for (uint32_t r = 0; r < batch->par.n_rois; r++) {
        struct launch l = *batch;

        l.par.n_rois = 1;
        l.par.goes_on = r > 0;
        l.par.hits.offsets += 4 * r;
        l.par.doublets.offsets += 4 * r;
        l.par.paths.offsets += 4 * r;
        l.par.tracks.offsets += 4 * r;
        l.par.at.summary += r * (uint32_t)(sizeof(struct pa_summary) / 4);
        run_phases(&l, watcher);
        batch->on = l.on;
    }
}

int pa_enqueue(struct pa_pipeline *p, const struct trg_batch *b, struct trg_queue *q,
               const struct pa_watcher *watcher)
{
    struct pa_slot *s = &p->slot[b->slot];
    struct launch l = {.p = p,
                       .on = launcher_on(q, &p->device),
                       .hits = b->in[0].dev,
                       .doublets = b->in[1].dev,
                       .paths = s->product[0],
                       .tracks = s->product[1],
                       .work = s->work,
                       .par = p->par,
                       .most_hits = b->in[0].span.n_items,
                       .most_doublets = b->in[1].span.n_items};
    uint64_t paths =
        (uint64_t)p->config->paths_per_doublet * l.most_doublets + (uint64_t)PA_FREE * b->n_rois;

    l.most_paths = paths < p->par.p_room ? (uint32_t)paths : p->par.p_room;
    l.par.hits = b->in[0].span;
    l.par.doublets = b->in[1].span;
    l.par.n_rois = s->n_rois = b->n_rois;
    for (uint32_t k = 0; k < 2; k++)
        s->is_wanted[k] = block_is_wanted(b, k);
    if (p->device.is_host)
        run_one_by_one(&l, watcher);
    else
        run_phases(&l, watcher);
    block_copy_rois(&p->product[0], &l.on, b, l.paths);
    block_copy_rois(&p->product[1], &l.on, b, l.tracks);
    read_back(&l, s, pa_batch_rows(p, b->n_rois, l.most_hits));
    return l.on.result;
}
