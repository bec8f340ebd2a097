/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/worker_regions.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "log.h"

#define PAGE 4096u

struct worker_regions {
    struct worker_shard_message place;
    unsigned char *base; /* of all that the front's pool mapping spans */
    size_t bytes;
    struct runner_memory memory;
    struct trg_buffer *window;
    struct pieces pieces;
};

/* Reserves the addresses of the front's whole mapping and maps the pool's data into them. */
static int map_pool(struct worker_regions *r, int pool_fd)
{
    const struct worker_shard_message *s = &r->place;
    const uint64_t pool_end = s->pool_at + s->pool_bytes;
    const uint64_t regions_end = s->window_at + s->n_regions * s->region_bytes;

    r->bytes = pool_end > regions_end ? pool_end : regions_end;
    r->base = mmap(NULL, r->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r->base == MAP_FAILED) {
        r->base = NULL;
        return -errno;
    }
    return mmap(r->base + s->pool_at, s->pool_bytes, PROT_READ, MAP_SHARED | MAP_FIXED, pool_fd,
                (off_t)s->pool_at) == MAP_FAILED
               ? -errno
               : 0;
}

int worker_regions_new(const struct worker_shard_message *s, uint32_t max_layer, int pool_fd,
                       struct worker_regions **ret_regions)
{
    struct worker_regions *r = calloc(1, sizeof *r);
    int error;

    if (!r)
        return -ENOMEM;
    r->place = *s;
    r->memory.epoch = calloc(s->n_regions + 1u, sizeof *r->memory.epoch);
    error = r->memory.epoch ? map_pool(r, pool_fd) : -ENOMEM;
    if (error < 0) {
        worker_regions_free(r);
        return error;
    }
    r->memory.base = r->base;
    r->memory.n_regions = s->n_regions;
    r->memory.max_layer = max_layer;
    *ret_regions = r;
    return 0;
}

const struct runner_memory *worker_regions_memory(const struct worker_regions *r)
{
    return &r->memory;
}

int worker_regions_expose(struct worker_regions *r, struct trg_device *device,
                          struct pieces_budget *budget)
{
    const struct worker_shard_message *s = &r->place;
    const struct pieces_place place = {.first = s->window_at + s->region_data_at,
                                       .distance = s->region_bytes,
                                       .bytes = s->region_data_bytes,
                                       .n = s->n_regions,
                                       .base = r->base};
    int error;

    if (!s->n_regions || !budget->most)
        return 0;
    error = trg_window_new(device, r->base, r->bytes, &r->window);
    if (error == 0)
        error = pieces_open(r->window, &place, budget, &r->pieces);
    if (error == 0)
        r->memory.pieces = &r->pieces;
    return error == -ENOTSUP ? 0 : error;
}

bool worker_regions_step(struct worker_regions *r)
{
    return r && r->memory.pieces && pieces_step(r->memory.pieces);
}

void worker_regions_map(struct worker_regions *r, const struct worker_region_message *m, int fd)
{
    const struct worker_shard_message *s = &r->place;
    const uint32_t number = m->number - 1;
    unsigned char *at;
    void *mapped;

    if (number >= s->n_regions)
        return;
    atomic_store_explicit(&r->memory.epoch[number], 0, memory_order_release);
    if (r->memory.pieces)
        pieces_shut(r->memory.pieces, number);
    at = r->base + s->window_at + number * s->region_bytes + s->region_data_at;
    mapped = fd >= 0 ? mmap(at, s->region_data_bytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd,
                            (off_t)s->region_data_at)
                     : mmap(at, s->region_data_bytes, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (mapped == MAP_FAILED) {
        log_error("worker", "the memory of a client cannot be mapped", "error=\"%s\"",
                  strerror(errno));
        return;
    }
    atomic_store_explicit(&r->memory.epoch[number], fd >= 0 ? m->epoch : 0, memory_order_release);
    if (fd >= 0 && r->memory.pieces)
        pieces_expect(r->memory.pieces, number, 0);
}

/* Whether the first page of a piece is there: clients go through their memory from its start. */
static bool is_written(const struct worker_regions *r, uint32_t region, uint32_t piece)
{
    const struct pieces_place *place = &r->pieces.place;
    unsigned char there = 0;

    return mincore(r->base + place->first + region * place->distance + piece * PIECE_BYTES, PAGE,
                   &there) == 0 &&
           there & 1;
}

void worker_regions_look(struct worker_regions *r)
{
    if (!r || !r->memory.pieces)
        return;
    for (uint32_t i = 0; i < r->memory.n_regions; i++)
        for (uint32_t k = 0; r->memory.epoch[i] && k < r->pieces.each; k++)
            if (is_written(r, i, k))
                pieces_expect(&r->pieces, i, k);
}

void worker_regions_free(struct worker_regions *r)
{
    if (!r)
        return;
    pieces_close(&r->pieces);
    trg_buffer_free(r->window);
    if (r->base)
        munmap(r->base, r->bytes);
    free(r->memory.epoch);
    free(r);
}
