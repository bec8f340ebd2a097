/* SPDX-License-Identifier: Apache-2.0 */
/* Voxels per second of a lane: whole volumes and bricks, with copies and resident, and the time of
 * one brick alone. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "clock.h"
#include "trigd/plugin.h"

#define EDGE 64u /* of a brick */

struct run {
    const struct bench *b;
    struct vox_lane *lane;
    struct trg_queue *queue[TRG_SLOTS_MAX];
    struct vox_piece *pieces;
    uint32_t n, slots;
    struct trg_buffer *pinned[TRG_SLOTS_MAX], *dev[TRG_SLOTS_MAX]; /* for copies alone */
    size_t bytes;
};

/* ---------------------------------------------------------------- what is timed */

/* Waits for all slots, unless something failed. */
static int finish(struct run *w, int r)
{
    for (uint32_t slot = 0; r == 0 && slot < w->slots; slot++)
        r = trg_finish(w->queue[slot]);
    return r;
}

static int run_copies(void *arg, uint32_t times)
{
    struct run *w = arg;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < times; i++) {
        const uint32_t slot = i % w->slots;

        r = trg_finish(w->queue[slot]);
        if (r == 0)
            r = vox_lane_submit(w->lane, slot, w->pieces, w->n, w->queue[slot]);
        if (r == 0)
            r = trg_flush(w->queue[slot]);
    }
    return finish(w, r);
}

static int run_resident(void *arg, uint32_t times)
{
    struct run *w = arg;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < times; i++) {
        r = vox_lane_again(w->lane, i % w->slots, w->queue[i % w->slots]);
        if (r == 0 && i % 64 == 63)
            r = trg_finish(w->queue[i % w->slots]);
    }
    return finish(w, r);
}

/* One batch after the other, each waited for. */
static int run_alone(void *arg, uint32_t times)
{
    struct run *w = arg;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < times; i++) {
        r = vox_lane_submit(w->lane, 0, w->pieces, w->n, w->queue[0]);
        if (r == 0)
            r = trg_finish(w->queue[0]);
    }
    return r;
}

/* The same without copies. */
static int run_kernels(void *arg, uint32_t times)
{
    struct run *w = arg;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < times; i++) {
        r = vox_lane_again(w->lane, 0, w->queue[0]);
        if (r == 0)
            r = trg_finish(w->queue[0]);
    }
    return r;
}

/* The bound of the bus: the input alone. */
static int run_bus(void *arg, uint32_t times)
{
    struct run *w = arg;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < times; i++) {
        const uint32_t slot = i % w->slots;

        r = trg_finish(w->queue[slot]);
        if (r == 0)
            r = trg_write(w->queue[slot], w->dev[slot], 0, w->pinned[slot], 0, w->bytes);
    }
    return finish(w, r);
}

/* ---------------------------------------------------------------- opening */

static void close_run(struct run *w)
{
    for (uint32_t i = 0; i < TRG_SLOTS_MAX; i++) {
        trg_queue_free(w->queue[i]);
        trg_buffer_free(w->pinned[i]);
        trg_buffer_free(w->dev[i]);
    }
    vox_lane_close(w->lane);
    free(w->pieces);
}

/* Voxels of a brick with halo, from anywhere in the volume. */
static void fill_brick(const struct bench *b, const struct vox_piece *p, unsigned char *in)
{
    for (uint32_t z = 0; z < p->n[2] + 2; z++)
        for (uint32_t y = 0; y < p->n[1] + 2; y++)
            for (uint32_t x = 0; x < p->n[0] + 2; x++)
                *in++ = b->values[((size_t)((p->origin[2] + z) % b->n[2]) * b->n[1] +
                                   (p->origin[1] + y) % b->n[1]) *
                                      b->n[0] +
                                  (p->origin[0] + x) % b->n[0]];
}

static int open_run(const struct bench *b, const struct place *p, bool in_bricks, uint32_t n,
                    uint32_t slots, const struct vox_setup *answer, struct run *w)
{
    struct vox_setup s = {.device = p->device,
                          .tables = &b->tables,
                          .slots = slots,
                          .max_bricks = n,
                          .labels = answer->labels,
                          .components = answer->components,
                          .value_bytes = 1};
    int r;

    *w = (struct run){.b = b, .n = n, .slots = slots, .pieces = calloc(n, sizeof *w->pieces)};
    for (uint32_t a = 0; a < 3; a++)
        s.max_n[a] = in_bricks ? EDGE : b->n[a];
    r = w->pieces ? vox_lane_open(&s, &w->lane) : -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        struct vox_piece *q = &w->pieces[i];

        memcpy(q->n, s.max_n, sizeof q->n);
        q->halo = in_bricks ? 63 : 0;
        for (uint32_t a = 0; in_bricks && a < 3; a++)
            q->origin[a] = (i * (a + 1)) % 3 * EDGE;
    }
    for (uint32_t slot = 0; r == 0 && slot < slots; slot++) {
        size_t room;
        unsigned char *in = vox_lane_input(w->lane, slot, &room);

        w->bytes = 0;
        for (uint32_t i = 0; i < n; i++) {
            if (in_bricks)
                fill_brick(b, &w->pieces[i], in + w->bytes);
            else
                memcpy(in + w->bytes, b->values, vox_piece_bytes(&w->pieces[i], 1));
            w->bytes += vox_piece_bytes(&w->pieces[i], 1);
        }
        r = trg_queue_new(p->device, &w->queue[slot]);
    }
    if (r < 0)
        close_run(w);
    return r;
}

/* ---------------------------------------------------------------- figures */

/* What comes back. */
static const struct vox_setup counts = {.labels = VOX_LABELS_NONE};
static const struct vox_setup bits = {.labels = VOX_LABELS_BITS};
static const struct vox_setup bytes = {.labels = VOX_LABELS_BYTES};
static const struct vox_setup components = {.labels = VOX_LABELS_BITS, .components = true};

static int one_shape(const struct bench *b, const struct place *p, bool in_bricks, uint32_t n,
                     const struct vox_setup *answer)
{
    const uint32_t slots = p->info.is_host ? 1 : 4;
    const char *as = answer->components                   ? "labels as bits and components"
                     : answer->labels == VOX_LABELS_BITS  ? "labels as bits"
                     : answer->labels == VOX_LABELS_BYTES ? "labels as bytes"
                                                          : "counts only";
    struct work work;
    struct run w;
    char figure[128], what[80];
    double per_s, voxels;
    int r = open_run(b, p, in_bricks, n, slots, answer, &w);

    if (r < 0)
        return r;
    if (in_bricks)
        snprintf(what, sizeof what, "%u bricks of 64^3, %s", n, as);
    else
        snprintf(what, sizeof what, "%u x %u x %u, %s", b->n[0], b->n[1], b->n[2], as);
    voxels = (double)w.pieces[0].n[0] * w.pieces[0].n[1] * w.pieces[0].n[2] * n;
    work = (struct work){run_copies, &w, voxels, p->info.is_host != 0};
    snprintf(figure, sizeof figure, "%s, %s", what, p->info.is_host ? "one core" : "with copies");
    r = measure(b, p, figure, &work, p->info.is_host ? 2e8 : 44e9, &per_s);
    if (r == 0 && !p->info.is_host) {
        work.run = run_resident;
        for (uint32_t slot = 0; r == 0 && slot < slots; slot++)
            r = vox_lane_submit(w.lane, slot, w.pieces, n, w.queue[slot]);
        snprintf(figure, sizeof figure, "%s, resident", what);
        if (r == 0)
            r = measure(b, p, figure, &work, 300e9, &per_s);
    }
    close_run(&w);
    return r;
}

/* How long one brick takes when no other is in flight. */
static int brick_alone(const struct bench *b, const struct place *p, const struct vox_setup *answer)
{
    const char *as = answer->components ? "labels as bits and components" : "labels as bits";
    struct work work = {run_alone, NULL, 0, p->info.is_host != 0};
    struct run w;
    char figure[128];
    int r = open_run(b, p, true, 1, 1, answer, &w);

    if (r < 0)
        return r;
    work.arg = &w;
    snprintf(figure, sizeof figure, "one brick of 64^3 alone, %s", as);
    r = measure_time(b, p, figure, &work);
    work.run = run_kernels;
    snprintf(figure, sizeof figure, "one brick of 64^3 alone, %s, without copies", as);
    if (r == 0 && !p->info.is_host)
        r = measure_time(b, p, figure, &work);
    close_run(&w);
    return r;
}

static int bus_alone(const struct bench *b, const struct place *p)
{
    struct work work;
    struct run w;
    double per_s;
    int r = open_run(b, p, false, 1, 4, &counts, &w);

    if (r < 0)
        return r;
    for (uint32_t i = 0; r == 0 && i < w.slots; i++) {
        r = trg_buffer_new(p->device, TRG_MEM_PINNED, w.bytes, &w.pinned[i]);
        if (r == 0)
            r = trg_buffer_new(p->device, TRG_MEM_DEVICE, w.bytes, &w.dev[i]);
    }
    work = (struct work){run_bus, &w, (double)w.bytes, false};
    if (r == 0)
        r = measure(b, p, "copies to the device alone, a byte a voxel", &work, 0, &per_s);
    close_run(&w);
    return r;
}

int bench_speed(const struct bench *b, const struct place *p)
{
    int r = one_shape(b, p, false, 1, &bits);

    if (r == 0)
        r = one_shape(b, p, false, 1, &counts);
    if (r == 0)
        r = one_shape(b, p, false, 1, &bytes);
    if (r == 0)
        r = one_shape(b, p, false, 1, &components);
    if (r == 0)
        r = one_shape(b, p, true, 1, &bits);
    if (r == 0)
        r = one_shape(b, p, true, 32, &bits);
    if (r == 0)
        r = brick_alone(b, p, &bits);
    if (r == 0)
        r = brick_alone(b, p, &components);
    if (r == 0 && !p->info.is_host)
        r = bus_alone(b, p);
    return r;
}
