/* SPDX-License-Identifier: Apache-2.0 */
#include "slabs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 2u

/* A slab goes to the device in parts, through a few that are used again and again: the device reads
 * most of them from the caches.  Smaller parts cost more calls of the driver than they save: of
 * 54 GB/s of the bus, 8 threads use 21 with 256 KiB, 47 with 1 MiB, and 52 with 4 MiB. */
#define PARTS      4u
#define PART_BYTES ((size_t)4 << 20)

#define SLAB_LEAST 8u /* planes: below that, halos cost too much */

struct part {
    struct trg_buffer *host; /* pinned */
    struct trg_event *sent;  /* it may be written again */
    bool is_used;
};

struct reader {
    struct vox_slabs_lanes *shared;
    pthread_t thread;
    struct vox_lane *lane;
    struct trg_queue *queue[SLOTS];
    struct vox_piece slab[SLOTS];
    struct part part[PARTS]; /* none on the host */
    uint32_t next_part;
    struct vox_slabs_sums sums;
    int r;
};

struct vox_slabs_lanes {
    const struct vox_slabs *job;
    uint32_t n_readers;
    atomic_uint next; /* the first plane that nobody reads yet */
    struct reader readers[VOX_THREADS_MAX];
};

/* Planes of the next slab where so many are left: fewer towards the end, so that no reader is at
 * work long after the others. */
static uint32_t planes_of(const struct vox_slabs_lanes *l, uint32_t left)
{
    const uint32_t most = l->job->planes, share = left / l->n_readers;
    uint32_t planes = share > SLAB_LEAST ? share : SLAB_LEAST;

    planes = planes < most ? planes : most;
    return planes < left ? planes : left;
}

/* Takes the next slab; false: there is none. */
static bool take_slab(struct vox_slabs_lanes *l, struct vox_piece *ret_slab)
{
    const struct vox_volume *v = l->job->volume;
    uint32_t z = atomic_load(&l->next), planes;

    do {
        if (z == v->n[2])
            return false;
        planes = planes_of(l, v->n[2] - z);
    } while (!atomic_compare_exchange_weak(&l->next, &z, z + planes));
    *ret_slab = (struct vox_piece){.n = {v->n[0], v->n[1], planes},
                                   .origin = {0, 0, z},
                                   .halo = (z ? VOX_HALO_Z_LOW : 0) |
                                           (z + planes < v->n[2] ? VOX_HALO_Z_HIGH : 0)};
    return true;
}

static size_t part_bytes(const struct vox_slabs *job)
{
    return job->part_bytes ? job->part_bytes : PART_BYTES;
}

static int send_part(struct reader *t, struct trg_queue *q, struct trg_buffer *to, size_t at,
                     size_t from, size_t bytes)
{
    struct part *p = &t->part[t->next_part++ % PARTS];
    int r = p->is_used ? trg_event_wait(p->sent) : 0;

    if (r < 0)
        return r;
    vox_volume_bytes(t->shared->job->volume, from, bytes, trg_buffer_host(p->host));
    r = trg_write(q, to, at, p->host, 0, bytes);
    p->is_used = r == 0;
    return r ? r : trg_event_record(q, p->sent);
}

/* Bytes of the volume to the input of a slot. */
static int fill_slot(struct reader *t, uint32_t slot, size_t from, size_t bytes)
{
    const size_t part = part_bytes(t->shared->job);
    size_t room;
    unsigned char *in = vox_lane_input(t->lane, slot, &room);
    int r = 0;

    if (in) {
        vox_volume_bytes(t->shared->job->volume, from, bytes, in);
        return 0;
    }
    for (size_t at = 0, n; r == 0 && at < bytes; at += n) {
        n = bytes - at < part ? bytes - at : part;
        r = send_part(t, t->queue[slot], vox_lane_buffer(t->lane, slot), at, from + at, n);
    }
    return r;
}

static int begin_slab(struct reader *t, uint32_t slot, struct vox_piece p)
{
    const struct vox_slabs *job = t->shared->job;
    const uint32_t low = p.halo & VOX_HALO_Z_LOW ? 1 : 0, high = p.halo & VOX_HALO_Z_HIGH ? 1 : 0;
    const size_t plane = vox_plane_bytes(job->volume);
    int r = fill_slot(t, slot, plane * (p.origin[2] - low), plane * (p.n[2] + low + high));

    if (r == 0)
        r = vox_lane_submit(t->lane, slot, &p, 1, t->queue[slot]);
    t->slab[slot] = p;
    return r ? r : trg_flush(t->queue[slot]);
}

static void add_sums(struct vox_slabs_sums *sums, uint64_t count, const uint32_t *low,
                     const uint32_t *high)
{
    for (uint32_t a = 0; count && a < 3; a++) {
        sums->low[a] = !sums->count || low[a] < sums->low[a] ? low[a] : sums->low[a];
        sums->high[a] = !sums->count || high[a] > sums->high[a] ? high[a] : sums->high[a];
    }
    sums->count += count;
}

static int end_slab(struct reader *t, uint32_t slot)
{
    const struct vox_slabs *job = t->shared->job;
    const size_t plane = vox_row_bytes(job->volume) * job->volume->n[1];
    const struct vox_piece p = t->slab[slot];
    const int r = trg_finish(t->queue[slot]);
    struct vox_answer a;

    if (r < 0)
        return r;
    vox_lane_answer(t->lane, slot, 0, &a);
    if (job->labels)
        memcpy(job->labels + plane * p.origin[2], a.labels, plane * p.n[2]);
    add_sums(&t->sums, a.count, a.low, a.high);
    return 0;
}

/* Slabs by turns through both slots: one is read while the other one is on the device. */
static int read_slabs(struct reader *t)
{
    uint32_t begun = 0, ended = 0;
    struct vox_piece slab;
    bool is_there = take_slab(t->shared, &slab);
    int r = 0;

    while (r == 0 && (is_there || ended < begun)) {
        if (is_there && begun - ended < SLOTS) {
            r = begin_slab(t, begun++ % SLOTS, slab);
            is_there = take_slab(t->shared, &slab);
        } else {
            r = end_slab(t, ended++ % SLOTS);
        }
    }
    return r;
}

static void *reader_main(void *arg)
{
    struct reader *t = arg;

    memset(&t->sums, 0, sizeof t->sums);
    t->r = read_slabs(t);
    for (uint32_t i = 0; t->r < 0 && i < SLOTS; i++)
        trg_finish(t->queue[i]); /* what it says is less than the error that came first */
    return NULL;
}

static int open_parts(const struct vox_slabs *job, struct reader *t)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < PARTS; i++) {
        r = trg_buffer_new(job->device, TRG_MEM_PINNED, part_bytes(job), &t->part[i].host);
        if (r == 0)
            r = trg_event_new(job->device, &t->part[i].sent);
    }
    return r;
}

static int open_reader(struct vox_slabs_lanes *l, struct reader *t)
{
    const struct vox_slabs *job = l->job;
    const struct vox_volume *v = job->volume;
    const struct vox_setup setup = {
        .device = job->device,
        .tables = job->tables,
        .slots = SLOTS,
        .max_bricks = 1,
        .max_n = {v->n[0], v->n[1], job->planes < v->n[2] ? job->planes : v->n[2]},
        .labels = job->labels ? VOX_LABELS_BITS : VOX_LABELS_NONE,
        .value_bytes = v->value_bytes,
        .is_signed = v->is_signed,
        .low = job->low,
        .width = job->width,
        .is_filled_by_parts = true};
    struct trg_device_info info;
    int r = vox_lane_open(&setup, &t->lane);

    t->shared = l;
    for (uint32_t i = 0; r == 0 && i < SLOTS; i++)
        r = trg_queue_new(job->device, &t->queue[i]);
    trg_device_info(job->device, &info);
    return r < 0 || info.is_host ? r : open_parts(job, t);
}

int vox_slabs_open(const struct vox_slabs *job, struct vox_slabs_lanes **ret_lanes)
{
    struct vox_slabs_lanes *l;
    int r = 0;

    if (!job->planes || !job->threads || job->threads > VOX_THREADS_MAX)
        return -EINVAL;
    l = calloc(1, sizeof *l);
    if (!l)
        return -ENOMEM;
    l->job = job;
    l->n_readers = job->threads < job->volume->n[2] ? job->threads : job->volume->n[2];
    for (uint32_t i = 0; r == 0 && i < l->n_readers; i++)
        r = open_reader(l, &l->readers[i]);
    if (r == 0)
        *ret_lanes = l;
    else
        vox_slabs_close(l);
    return r;
}

void vox_slabs_close(struct vox_slabs_lanes *l)
{
    for (uint32_t i = 0; l && i < l->n_readers; i++) {
        for (uint32_t k = 0; k < SLOTS; k++)
            trg_queue_free(l->readers[i].queue[k]);
        for (uint32_t k = 0; k < PARTS; k++) {
            trg_event_free(l->readers[i].part[k].sent);
            trg_buffer_free(l->readers[i].part[k].host);
        }
        vox_lane_close(l->readers[i].lane);
    }
    free(l);
}

int vox_slabs_run(struct vox_slabs_lanes *l, struct vox_slabs_sums *ret_sums)
{
    struct vox_slabs_sums sums = {0};
    uint32_t begun = 0;
    int r = 0;

    atomic_store(&l->next, 0);
    while (r == 0 && begun < l->n_readers) {
        struct reader *t = &l->readers[begun];

        r = -pthread_create(&t->thread, NULL, reader_main, t);
        begun += r == 0;
    }
    for (uint32_t i = 0; i < begun; i++) {
        struct reader *t = &l->readers[i];

        pthread_join(t->thread, NULL);
        r = r ? r : t->r;
        add_sums(&sums, t->sums.count, t->sums.low, t->sums.high);
    }
    if (r == 0)
        *ret_sums = sums;
    return r;
}
