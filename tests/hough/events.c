/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "generator.h"
#include "roifile.h"

int event_new(uint32_t n, uint32_t n_particles, uint32_t n_shared, struct event *ret_event)
{
    struct event e = {.n = n, .n_particles = n_particles};

    e.x = calloc(n + 1u, sizeof *e.x);
    e.y = calloc(n + 1u, sizeof *e.y);
    e.z = calloc(n + 1u, sizeof *e.z);
    e.layer = calloc(n + 1u, sizeof *e.layer);
    e.id = calloc(n + 1u, sizeof *e.id);
    e.particle = calloc(n + 1u, sizeof *e.particle);
    e.shared_begin = calloc(n + 2u, sizeof *e.shared_begin);
    e.shared = calloc(n_shared + 1u, sizeof *e.shared);
    e.flags = calloc(n_particles + 1u, sizeof *e.flags);
    e.pdg = calloc(n_particles + 1u, sizeof *e.pdg);
    e.eta = calloc(n_particles + 1u, sizeof *e.eta);
    e.pt = calloc(n_particles + 1u, sizeof *e.pt);
    if (!e.x || !e.y || !e.z || !e.layer || !e.id || !e.particle || !e.shared_begin || !e.shared ||
        !e.flags || !e.pdg || !e.eta || !e.pt) {
        event_free(&e);
        return -ENOMEM;
    }
    *ret_event = e;
    return 0;
}

void event_free(struct event *e)
{
    free(e->x);
    free(e->y);
    free(e->z);
    free(e->layer);
    free(e->id);
    free(e->particle);
    free(e->shared_begin);
    free(e->shared);
    free(e->flags);
    free(e->pdg);
    free(e->eta);
    free(e->pt);
}

void events_free(struct event *events, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        event_free(&events[i]);
    free(events);
}

void event_swap(struct event *e, uint32_t a, uint32_t b)
{
    float *columns[] = {e->x, e->y, e->z};
    uint32_t *numbers[] = {e->id, e->particle};
    const uint16_t layer = e->layer[a];

    for (uint32_t c = 0; c < 3; c++) {
        const float v = columns[c][a];

        columns[c][a] = columns[c][b];
        columns[c][b] = v;
    }
    for (uint32_t c = 0; c < 2; c++) {
        const uint32_t v = numbers[c][a];

        numbers[c][a] = numbers[c][b];
        numbers[c][b] = v;
    }
    e->layer[a] = e->layer[b];
    e->layer[b] = layer;
}

/* Further particles of hits, in the order of the hits. */
static void copy_shared(const uint32_t *items, const uint32_t *particles, size_t n, struct event *e)
{
    uint32_t *at =
        e->shared_begin + 1; /* [i]: where the next of hit i goes; then hit i + 1 begins */

    for (size_t k = 0; k < n; k++)
        if (items[k] < e->n && particles[k] < e->n_particles)
            at[items[k]]++;
    for (uint32_t i = 0, sum = 0; i <= e->n; i++) {
        const uint32_t count = at[i];

        at[i] = sum;
        sum += count;
    }
    for (size_t k = 0; k < n; k++)
        if (items[k] < e->n && particles[k] < e->n_particles)
            e->shared[at[items[k]]++] = particles[k];
}

/* An event without hits or particles has no arrays. */
static void copy(void *to, const void *from, size_t bytes)
{
    if (bytes)
        memcpy(to, from, bytes);
}

static int copy_generated(const struct generated *g, struct event *ret_event)
{
    int r = event_new(g->n, g->n_particles, g->n_shared, ret_event);

    if (r < 0)
        return r;
    ret_event->info = g->info;
    copy(ret_event->x, g->hits.x, g->n * sizeof *g->hits.x);
    copy(ret_event->y, g->hits.y, g->n * sizeof *g->hits.y);
    copy(ret_event->z, g->hits.z, g->n * sizeof *g->hits.z);
    copy(ret_event->layer, g->hits.layer, g->n * sizeof *g->hits.layer);
    copy(ret_event->id, g->hits.id, g->n * sizeof *g->hits.id);
    copy(ret_event->particle, g->particle, g->n * sizeof *g->particle);
    copy(ret_event->flags, g->particle_flags, g->n_particles * sizeof *g->particle_flags);
    copy(ret_event->pdg, g->pdg, g->n_particles * sizeof *g->pdg);
    copy(ret_event->eta, g->eta, g->n_particles * sizeof *g->eta);
    copy(ret_event->pt, g->pt, g->n_particles * sizeof *g->pt);
    copy_shared(g->shared_item, g->shared_particle, g->n_shared, ret_event);
    return 0;
}

int event_generate_varied(const char *preset, const struct vary *vary, uint64_t seed, uint64_t i,
                          struct event *ret_event)
{
    struct generator_preset p = *generator_find(preset);
    struct generated g;
    int r;

    p.pileup *= vary->occupancy;
    generated_init(&g);
    r = generator_make(&p, seed, i, &g);
    if (r == 0) {
        vary_hits(vary, seed, i, &g);
        r = copy_generated(&g, ret_event);
    }
    generated_fini(&g);
    return r;
}

int event_generate(const char *preset, uint64_t seed, uint64_t i, struct event *ret_event)
{
    return event_generate_varied(preset, &(struct vary){.occupancy = 1}, seed, i, ret_event);
}

/* Whether the columns of an RoI of a file are equally long. */
static bool is_whole(const Trigd__V1__Roi *roi)
{
    const Trigd__V1__Hits *h = roi->hits;
    const Trigd__V1__Truth *t = roi->truth;
    const size_t n = h->n_x_mm;

    return h->n_y_mm == n && h->n_z_mm == n && h->layer.len == 2 * n && h->n_id == n &&
           (!t || ((t->n_item_particle == 0 || t->n_item_particle == n) &&
                   t->n_shared_item == t->n_shared_particle)) &&
           n < UINT32_MAX;
}

static void copy_truth(const Trigd__V1__Truth *t, struct event *e)
{
    for (uint32_t i = 0; i < e->n; i++)
        e->particle[i] = t && i < t->n_item_particle && t->item_particle[i] < e->n_particles
                             ? t->item_particle[i]
                             : EVENT_NOISE;
    for (uint32_t p = 0; p < e->n_particles; p++) {
        e->eta[p] = t->particle_eta[p];
        if (p < t->n_particle_pt_gev)
            e->pt[p] = t->particle_pt_gev[p];
        if (p < t->n_particle_flags)
            e->flags[p] = t->particle_flags[p];
        if (p < t->n_particle_pdg)
            e->pdg[p] = t->particle_pdg[p];
    }
}

static int copy_roi(const Trigd__V1__Roi *roi, struct event *ret_event)
{
    const Trigd__V1__Hits *h = roi->hits;
    const uint32_t n = (uint32_t)h->n_x_mm;
    const Trigd__V1__Truth *t = roi->truth;
    int r = event_new(n, t ? (uint32_t)t->n_particle_eta : 0, t ? (uint32_t)t->n_shared_item : 0,
                      ret_event);

    if (r < 0)
        return r;
    ret_event->info = (struct trg_roi_info){.run = roi->run,
                                            .l1id = roi->l1id,
                                            .roi_id = roi->roi_id,
                                            .phi_half_rad = roi->phi_half_rad,
                                            .z_min_mm = roi->z_min_mm,
                                            .z_max_mm = roi->z_max_mm};
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *bytes = h->layer.data + (size_t)2 * i;

        ret_event->x[i] = h->x_mm[i];
        ret_event->y[i] = h->y_mm[i];
        ret_event->z[i] = h->z_mm[i];
        ret_event->layer[i] = (uint16_t)(bytes[0] | bytes[1] << 8);
        ret_event->id[i] = h->id[i];
    }
    copy_truth(t, ret_event);
    if (t)
        copy_shared(t->shared_item, t->shared_particle, t->n_shared_item, ret_event);
    return 0;
}

static int append(const Trigd__V1__RoiBatch *batch, struct event **events, uint32_t *n)
{
    struct event *more = realloc(*events, (*n + batch->n_rois + 1) * sizeof *more);
    int r = 0;

    if (!more)
        return -ENOMEM;
    *events = more;
    for (size_t i = 0; r == 0 && i < batch->n_rois; i++) {
        if (!batch->rois[i]->hits)
            continue;
        r = is_whole(batch->rois[i]) ? copy_roi(batch->rois[i], &more[*n]) : -EBADMSG;
        if (r == 0)
            (*n)++;
    }
    return r;
}

int events_read(const char *path, struct event **events, uint32_t *n)
{
    struct roifile_reader *reader;
    const void *bytes;
    size_t size;
    int r = roifile_open(path, &reader);

    if (r < 0)
        return r;
    while ((r = roifile_next(reader, &bytes, &size)) > 0) {
        Trigd__V1__RoiBatch *batch = trigd__v1__roi_batch__unpack(NULL, size, bytes);

        r = batch ? append(batch, events, n) : -EBADMSG;
        if (batch)
            trigd__v1__roi_batch__free_unpacked(batch, NULL);
        if (r < 0)
            break;
    }
    roifile_close(reader);
    return r;
}
