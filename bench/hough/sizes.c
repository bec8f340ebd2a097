/* SPDX-License-Identifier: Apache-2.0 */
/* Time against the hits of an RoI: as many particles of the generator's collisions laid over each
 * other as give 500 to 50,000 hits, the default method beside hashed voting. */
#include <stdlib.h>
#include <string.h>

#include "measure.h"

#define SIZES_SEED 20260102u
#define LAYERS     52u
#define HITS_BATCH 200000u /* of a batch, about */
#define ROIS_MAX   64u
#define FULL       1024u  /* RoIs of a batch that fills a GPU */
#define FULL_HITS  13000u /* of each, at most */
#define PART       0.2    /* seconds of a run */

static const uint32_t sizes[] = {500, 1000, 2000, 4000, 8000, 13000, 50000};
static const char *const methods[] = {"velo", "hashed"};
static const uint32_t hits_max[] = {50000, 13000}; /* of a method */

/* Adds the hits of whole particles of an event until there are `want`. */
static void add_particles(struct event *to, const struct event *from, uint32_t want)
{
    for (uint32_t p = 0; p < from->n_particles && to->n < want; p++)
        for (uint32_t h = 0; h < from->n; h++)
            if (from->particle[h] == p) {
                to->x[to->n] = from->x[h];
                to->y[to->n] = from->y[h];
                to->z[to->n] = from->z[h];
                to->layer[to->n] = from->layer[h];
                to->id[to->n] = to->n;
                to->n++;
            }
}

/* Layer after layer, as a detector sends them. */
static struct event in_order(const struct event *e)
{
    struct event r;

    if (event_new(e->n, 0, 0, &r) < 0)
        exit(1);
    r.n = 0;
    for (uint32_t layer = 0; layer < LAYERS; layer++)
        for (uint32_t h = 0; h < e->n; h++)
            if (e->layer[h] == layer) {
                r.x[r.n] = e->x[h];
                r.y[r.n] = e->y[h];
                r.z[r.n] = e->z[h];
                r.layer[r.n] = e->layer[h];
                r.id[r.n] = r.n;
                r.n++;
            }
    return r;
}

static struct event event_of(uint32_t hits, uint64_t *number)
{
    struct event e, from, r;

    if (event_new(hits + 64u, 0, 0, &e) < 0)
        exit(1);
    e.n = 0;
    while (e.n < hits) {
        if (event_generate("velo", SIZES_SEED, (*number)++, &from) < 0)
            exit(1);
        add_particles(&e, &from, hits);
        event_free(&from);
    }
    r = in_order(&e);
    event_free(&e);
    return r;
}

struct size {
    const struct sample *s;
    uint32_t hits, method, batch;
};

static void measure_size(const struct bench *b, const struct algo_place *p, void *arg)
{
    const struct size *size = arg;
    struct hough_config c;
    char figure[64], name[WAY_NAME_BYTES];
    struct way w = way_on(p, size->batch, 1, name);

    if (algo_configure(b->host.plugin, methods[size->method], NULL, &c) < 0)
        exit(1);
    snprintf(figure, sizeof figure, "%u hits, %s, batch %u", size->hits, methods[size->method],
             size->batch);
    w.figure = figure;
    w.seconds = PART;
    measure(b, &w, &c, size->s);
}

/* Batches that leave no multiprocessor of a GPU free: what an RoI costs there. */
static void measure_full(const struct bench *b, const struct algo_place *p, void *arg)
{
    const struct size *size = arg;
    struct size all = *size;
    struct sample s = *size->s;

    if (!p->info.pci[0])
        return;
    s.n = all.batch = FULL;
    s.events = calloc(FULL, sizeof *s.events);
    for (uint32_t k = 0; s.events && k < FULL; k++)
        s.events[k] = size->s->events[k % size->s->n];
    all.s = &s;
    if (s.events)
        measure_size(b, p, &all);
    free(s.events);
}

void sizes_of_rois(const struct bench *b)
{
    uint64_t number = 0;

    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint32_t fit = HITS_BATCH / sizes[i], n = fit < ROIS_MAX ? fit : ROIS_MAX;
        struct sample s = {.name = "velo", .n = n, .events = calloc(n, sizeof *s.events)};

        for (uint32_t k = 0; s.events && k < n; k++) {
            s.events[k] = event_of(sizes[i], &number);
            s.most_hits = s.events[k].n > s.most_hits ? s.events[k].n : s.most_hits;
        }
        if (!s.events)
            exit(1);
        for (uint32_t m = 0; m < sizeof methods / sizeof *methods; m++)
            if (sizes[i] <= hits_max[m])
                for_all_devices(b, measure_size,
                                &(struct size){.s = &s, .hits = sizes[i], .method = m, .batch = n});
        if (sizes[i] <= FULL_HITS)
            for_all_devices(b, measure_full, &(struct size){.s = &s, .hits = sizes[i]});
        events_free(s.events, n);
    }
}
