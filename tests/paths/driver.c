/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- RoIs */

static void *more(void *array, size_t items, size_t size)
{
    void *p = realloc(array, items * size);

    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return p;
}

void roi_init(struct roi *r)
{
    memset(r, 0, sizeof *r);
}

void roi_fini(struct roi *r)
{
    void *all[] = {r->x, r->y, r->z, r->layer, r->id, r->inner, r->outer};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    roi_init(r);
}

uint32_t roi_hit(struct roi *r, double x, double y, double z, uint32_t layer)
{
    uint32_t i = r->n_hits++;

    if (i == r->hit_room) {
        r->hit_room = i ? 2 * i : 64;
        r->x = more(r->x, r->hit_room, sizeof *r->x);
        r->y = more(r->y, r->hit_room, sizeof *r->y);
        r->z = more(r->z, r->hit_room, sizeof *r->z);
        r->layer = more(r->layer, r->hit_room, sizeof *r->layer);
        r->id = more(r->id, r->hit_room, sizeof *r->id);
    }
    r->x[i] = (float)x;
    r->y[i] = (float)y;
    r->z[i] = (float)z;
    r->layer[i] = (uint16_t)layer;
    r->id[i] = i;
    return i;
}

uint32_t roi_doublet(struct roi *r, uint32_t inner, uint32_t outer)
{
    uint32_t i = r->n_doublets++;

    if (i == r->doublet_room) {
        r->doublet_room = i ? 2 * i : 64;
        r->inner = more(r->inner, r->doublet_room, sizeof *r->inner);
        r->outer = more(r->outer, r->doublet_room, sizeof *r->outer);
    }
    r->inner[i] = inner;
    r->outer[i] = outer;
    return i;
}

/* ---------------------------------------------------------------- answers */

static float as_float(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

float answer_path(const struct answer *a, uint32_t column, uint32_t i)
{
    return as_float(a->path[column][i]);
}

uint32_t answer_hit(const struct answer *a, uint32_t k, uint32_t i)
{
    return a->path[pa_hit_column(k)][i];
}

float answer_track(const struct answer *a, uint32_t column, uint32_t i)
{
    return as_float(a->track[column][i]);
}

void answers_free(struct answer *a, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t c = 0; c < PATH_COLUMNS; c++)
            free(a[i].path[c]);
        for (uint32_t c = 0; c < 11; c++)
            free(a[i].track[c]);
    }
    memset(a, 0, n * sizeof *a);
}

bool answers_equal(const struct answer *a, const struct answer *b)
{
    bool same = a->n == b->n && !memcmp(&a->result, &b->result, sizeof a->result);

    for (uint32_t c = 0; same && a->n && c < PATH_COLUMNS; c++)
        same = !memcmp(a->path[c], b->path[c], a->n * sizeof(uint32_t));
    for (uint32_t c = 0; same && a->n && c < 11; c++)
        same = !memcmp(a->track[c], b->track[c], a->n * sizeof(uint32_t));
    return same;
}

/* ---------------------------------------------------------------- running */

static void input(const void *rois, uint32_t i, struct stage_source *ret_sources,
                  struct trg_roi_info *ret_info)
{
    const struct roi *r = (const struct roi *)rois + i;

    (void)ret_info; /* the window does not matter */
    ret_sources[0] =
        (struct stage_source){.n = r->n_hits, .column = {r->x, r->y, r->z, r->layer, r->id}};
    ret_sources[1] = (struct stage_source){.n = r->n_doublets, .column = {r->inner, r->outer}};
}

/* The most items of one input that a batch can have. */
static uint32_t most_items(const struct roi *rois, uint32_t n, uint32_t batch)
{
    uint32_t most = 1;

    for (uint32_t i = 0; i < n; i += batch) {
        uint32_t items[2] = {0};

        for (uint32_t k = i; k < n && k < i + batch; k++) {
            items[0] += rois[k].n_hits;
            items[1] += rois[k].n_doublets;
        }
        for (int k = 0; k < 2; k++)
            most = items[k] > most ? items[k] : most;
    }
    return most;
}

/* Hands the products over; -EILSEQ where there are not as many paths as tracks. */
static int take(struct answer *a, const struct trg_result *result, struct products *p)
{
    a->result = *result;
    a->n = p->of[0].n;
    memcpy(a->path, p->of[0].column, sizeof a->path);
    memcpy(a->track, p->of[1].column, sizeof a->track);
    return p->of[0].n == p->of[1].n ? 0 : -EILSEQ;
}

int paths_run(const struct algo_host *h, struct trg_device *device, const struct pa_config *config,
              const struct roi *rois, uint32_t n, uint32_t batch, struct answer *ret_answers)
{
    const struct batches_setup setup = {.host = &h->host,
                                        .plugin = &h->plugin->d,
                                        .config = config,
                                        .device = device,
                                        .slots = 2,
                                        .max_rois = batch,
                                        .max_items = most_items(rois, n, batch)};
    struct batches_work w = {.n = n,
                             .input = input,
                             .rois = rois,
                             .results = more(NULL, n, sizeof *w.results),
                             .products = more(NULL, n, sizeof *w.products)};
    struct batches *b = NULL;
    int r = batches_open(&setup, &b);

    memset(w.results, 0, n * sizeof *w.results);
    memset(w.products, 0, n * sizeof *w.products);
    if (r == 0)
        r = batches_run(b, &w);
    batches_close(b);
    for (uint32_t i = 0; i < n; i++) {
        int taken = take(&ret_answers[i], &w.results[i], &w.products[i]);

        r = r < 0 ? r : taken;
    }
    free(w.products);
    free(w.results);
    return r;
}
