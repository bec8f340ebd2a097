/* SPDX-License-Identifier: Apache-2.0 */
/* The cost that the plugin states against what the slowest bricks take on a CPU: labels that make
 * union-find walk far, models with the most steps and with tables.  `trigctl check-plugin --worst`
 * cannot shape these: a brick's voxels follow from its row. Processor time, so a busy machine does
 * not count. */
#include <stdio.h>
#include <string.h>

#include "algohost.h"
#include "batches.h"
#include "clock.h"
#include "memfile.h"
#include "model.h"
#include "seed.h"
#include "voxels.h"

#define EDGE   64u
#define SIDE   (EDGE + 2u)
#define VOXELS (SIDE * SIDE * SIDE)
#define BIG    1000000 /* the weight that decides: the label of a voxel is its value's upper bit */
#define TIMES  3u

enum shape { /* of the labels */
             NOTHING,
             ALL,
             CHECKERBOARD, /* every voxel a component of its own */
             COLUMNS,      /* lines along z: every run is joined in the last rows again */
             SNAKE,        /* one component that winds through the brick */
             COMB,         /* joined at its last row alone */
             HALF,         /* of the voxels, at random */
             THIRD,        /* where components are largest and thinnest */
             SHAPES
};
static const char *const name[SHAPES] = {"nothing", "all",  "checkerboard", "columns",
                                         "snake",   "comb", "half",         "third"};

struct brick {
    uint16_t n[3], origin[3], volume[3];
    uint8_t type;
    int32_t low;
    uint32_t width;
    uint8_t value[VOXELS];
};

static bool is_in(enum shape shape, uint32_t x, uint32_t y, uint32_t z, double random)
{
    switch (shape) {
    case ALL:
        return true;
    case CHECKERBOARD:
        return (x + y + z) % 2;
    case COLUMNS:
        return x % 2 && y % 2;
    case SNAKE:
        return y % 2 || x == (y / 2 % 2 ? 1 : EDGE) || (z % 2 && y == 1);
    case COMB:
        return x % 2 || y == EDGE;
    case HALF:
        return random < 0.5;
    case THIRD:
        return random < 0.3116;
    default:
        return false;
    }
}

/* Values around the threshold, so that gradients and their sum are of all sizes. */
static void fill(struct brick *b, enum shape shape, uint64_t *seed)
{
    uint32_t at = 0;

    for (uint32_t z = 0; z < SIDE; z++)
        for (uint32_t y = 0; y < SIDE; y++)
            for (uint32_t x = 0; x < SIDE; x++) {
                const bool in = is_in(shape, x, y, z, seed_uniform(seed, 0, 1));

                b->value[at++] = (uint8_t)((in ? 128 : 0) + seed_uniform(seed, 0, 128));
            }
}

/* ---------------------------------------------------------------- models */

/* Column `column` of stumps: the one that decides, all thresholds of s that there may be, and
 * `more` of the other features in turn, which weigh nothing beside it. */
static void write_column(FILE *f, const char *title, int column, uint32_t more)
{
    const uint32_t n = VOX_S_STEPS + more;

    fprintf(f, "    %s: [", title);
    for (uint32_t i = 0; i < n; i++) {
        const bool decides = !i, of_s = i < VOX_S_STEPS;
        const int32_t feature = decides ? VOX_V : of_s ? VOX_S : (int32_t)(i % VOX_S);
        const int32_t at = decides ? 127 : of_s ? (int32_t)(i * i * 11) : (int32_t)(i % 64);
        const int32_t of[] = {0, feature, at, decides ? -BIG : 1, decides ? BIG : -1};

        fprintf(f, "%s%d", i ? ", " : "", of[column]);
    }
    fputs("]\n", f);
}

static void give_model(struct algo_host *h, uint32_t more, struct condition_list *ret_list)
{
    static const char *const titles[] = {"model", "feature", "at_most", "left", "right"};
    struct condition_need needs[NEEDS_MAX];
    const uint32_t n = conditions_needed(h->plugins, needs, NEEDS_MAX);
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    struct memfile file;

    WANT(f);
    fputs("conditions:\n  voxel_models:\n", f);
    for (int c = 0; c < 5; c++)
        write_column(f, titles[c], c, more);
    WANT(fclose(f) == 0);
    file = memfile_new(text, bytes);
    WANT(conditions_read(file.path, needs, n, ret_list) == 0);
    memfile_close(&file);
    free(text);
}

/* ---------------------------------------------------------------- times */

static void input(const void *rois, uint32_t i, struct stage_source *ret_sources,
                  struct trg_roi_info *ret_info)
{
    const struct brick *b = rois;
    const void *const row[] = {b->n, b->origin, b->volume, &b->type, &b->low, &b->width};

    (void)i;
    *ret_info = (struct trg_roi_info){.l1id = 1};
    ret_sources[0].n = 1;
    memcpy(ret_sources[0].column, row, sizeof row);
    ret_sources[1].n = VOXELS;
    ret_sources[1].column[0] = b->value;
}

static uint64_t stated_ns(const struct trg_cost *c)
{
    return (c->batch_us + (uint64_t)c->roi_us) * NS_PER_US + (VOXELS + 1) * (uint64_t)c->item_ns;
}

/* Prints the slowest of some runs, and whether the plugin states as much. */
static bool is_stated(struct batches *batches, const struct brick *b, const struct trg_cost *cost,
                      const char *what, const char *model)
{
    struct trg_result result;
    struct products products = {0};
    const struct batches_work work = {
        .n = 1, .input = input, .rois = b, .results = &result, .products = &products};
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < TIMES; i++) {
        const uint64_t before = clock_thread_ns();

        WANT(batches_run(batches, &work) == 0);
        WANT(result.status == TRG_OK);
        if (clock_thread_ns() - before < least)
            least = clock_thread_ns() - before;
    }
    printf("%-13s %-11s %8.3f ms of %.3f, components %.0f\n", what, model, (double)least * 1e-6,
           (double)stated_ns(cost) * 1e-6, (double)result.value[3]);
    products_fini(&products);
    return least <= stated_ns(cost);
}

static bool is_model_stated(struct algo_host *h, const struct algo_place *place, uint32_t more,
                            const char *model, uint64_t *seed)
{
    static struct brick b = {.n = {EDGE, EDGE, EDGE},
                             .origin = {EDGE, EDGE, EDGE},
                             .volume = {3 * EDGE, 3 * EDGE, 3 * EDGE},
                             .width = 256};
    struct condition_list conditions;
    unsigned char config[256];
    struct batches_setup setup = {.host = &h->host,
                                  .plugin = &h->plugin->d,
                                  .config = config,
                                  .device = place->device,
                                  .slots = 1,
                                  .max_rois = 1,
                                  .max_items = VOXELS,
                                  .conditions = &conditions};
    struct batches *batches;
    bool yes = true;

    WANT(h->plugin->d.config_size <= sizeof config);
    WANT(algo_configure(h->plugin, NULL, NULL, config) == 0);
    give_model(h, more, &conditions);
    WANT(batches_open(&setup, &batches) == 0);
    for (enum shape s = NOTHING; s < SHAPES; s++) {
        fill(&b, s, seed);
        yes &= is_stated(batches, &b, &h->plugin->d.cost, name[s], model);
    }
    batches_close(batches);
    conditions_release(&conditions);
    return yes;
}

int main(void)
{
    uint64_t seed = fresh_seed();
    struct algo_place place[ALGO_PLACES_MAX];
    struct algo_host h;
    bool yes;

    WANT(algo_host_open(&h, "voxels") == 0);
    WANT(algo_host_places(&h, "cpu", place) == 1);
    yes = is_model_stated(&h, place, VOX_STEPS_MAX - VOX_S_STEPS - 1, "comparisons", &seed);
    yes &= is_model_stated(&h, place, 2000, "tables", &seed);
    algo_host_close(&h);
    if (!yes)
        printf("a brick takes longer than the plugin states\n");
    return !yes;
}
