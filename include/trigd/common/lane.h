/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/common/lane.h - what the host sides of plugins do alike: get their buffers and kernels, and
 * bring what they make to the host.  C only. */
#ifndef TRGP_LANE_H
#define TRGP_LANE_H
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "trigd/common/launcher.h"
#include "trigd/plugin.h"

/* ---------------------------------------------------------------- buffers and kernels */

#define BUFFERS_MAX 256u
struct buffers { /* all of one algo, to be freed with it */
    struct trg_buffer *all[BUFFERS_MAX];
    uint32_t n;
};

struct buffer_wish {
    enum trg_mem mem;
    size_t bytes; /* 0: none, it stays NULL */
    struct trg_buffer **buffer;
};

static inline int buffers_new(struct buffers *b, struct trg_device *device,
                              const struct buffer_wish *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int r;

        if (!list[i].bytes)
            continue;
        if (b->n == BUFFERS_MAX)
            return -ENOBUFS;
        r = trg_buffer_new(device, list[i].mem, list[i].bytes, list[i].buffer);
        if (r < 0)
            return r;
        b->all[b->n++] = *list[i].buffer;
    }
    return 0;
}

static inline void buffers_free(struct buffers *b)
{
    while (b->n)
        trg_buffer_free(b->all[--b->n]);
}

/* A device buffer with a copy of `data`. */
static inline int buffers_upload(struct buffers *b, struct trg_device *device, const void *data,
                                 size_t bytes, struct trg_buffer **ret_buffer)
{
    struct trg_buffer *host = NULL;
    struct trg_queue *q = NULL;
    int r = buffers_new(b, device, &(struct buffer_wish){TRG_MEM_DEVICE, bytes, ret_buffer}, 1);

    if (r == 0)
        r = trg_buffer_new(device, TRG_MEM_PINNED, bytes, &host);
    if (r == 0)
        r = trg_queue_new(device, &q);
    if (r == 0) {
        memcpy(trg_buffer_host(host), data, bytes);
        r = trg_write(q, *ret_buffer, 0, host, 0, bytes);
    }
    if (r == 0)
        r = trg_finish(q);
    trg_queue_free(q);
    trg_buffer_free(host);
    return r;
}

struct kernel_wish {
    const char *name;
    struct trg_kernel **kernel;
};

static inline int kernels_get(struct trg_module *module, const struct kernel_wish *list, size_t n)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = trg_kernel_get(module, list[i].name, list[i].kernel);
    return r;
}

/* ---------------------------------------------------------------- products */

/* A product of a batch in a buffer on the device, laid out as a staged input with its columns at
 * fixed places. */
struct block {
    const struct trg_collection *collection;
    struct trg_span span;
    uint64_t bytes;
};

static inline uint32_t block_take(struct block *b, uint64_t bytes)
{
    const uint64_t here = b->bytes;

    b->bytes = (here + bytes + 63u) & ~(uint64_t)63u;
    return (uint32_t)here;
}

/* Where everything lies; the places hold where `bytes` is below 4 GiB. */
static inline struct block block_place(const struct trg_collection *collection, uint32_t max_rois,
                                       uint32_t max_items)
{
    struct block b = {.collection = collection, .span = {.n_items = max_items}};

    b.span.rois = block_take(&b, (uint64_t)max_rois * sizeof(struct trg_roi_info));
    b.span.offsets = block_take(&b, 4 * (max_rois + (uint64_t)1));
    for (uint32_t c = 0; c < collection->n_columns; c++)
        b.span.column[c] =
            block_take(&b, trg_column_bytes(&collection->column[c]) * (uint64_t)max_items);
    return b;
}

/* Whether somebody on the host wants product k of any RoI. */
static inline bool block_is_wanted(const struct trg_batch *batch, uint32_t k)
{
    for (uint32_t i = 0; batch->outputs[k] && i < batch->n_rois; i++)
        if (batch->outputs[k][i].capacity)
            return true;
    return false;
}

/* Copies the windows of the RoIs from the input that the product is made of. */
static inline void block_copy_rois(const struct block *b, struct launcher *l,
                                   const struct trg_batch *batch, struct trg_buffer *device)
{
    if (l->result == 0)
        l->result = trg_copy(l->q, device, b->span.rois, batch->in[0].dev, batch->in[0].span.rois,
                             batch->n_rois * sizeof(struct trg_roi_info));
}

/* Copies `bytes` at one place of a block from the device to its twin on the host. */
static inline void block_read_part(struct launcher *l, struct trg_buffer *host,
                                   struct trg_buffer *device, uint32_t at, size_t bytes)
{
    if (l->result == 0)
        l->result = trg_read(l->q, host, at, device, at, bytes);
}

/* Copies the offsets and the first n_items rows from the device to a twin on the host. */
static inline void block_read(const struct block *b, struct launcher *l, uint32_t n_rois,
                              size_t n_items, struct trg_buffer *device, struct trg_buffer *host)
{
    block_read_part(l, host, device, b->span.offsets, 4 * (n_rois + (size_t)1));
    for (uint32_t c = 0; n_items && c < b->collection->n_columns; c++)
        block_read_part(l, host, device, b->span.column[c],
                        trg_column_bytes(&b->collection->column[c]) * n_items);
}

/* Hands the rows of one RoI to the host. */
static inline void block_store(const struct block *b, const unsigned char *host, uint32_t roi,
                               struct trg_output *out)
{
    const uint32_t *first = (const uint32_t *)(const void *)(host + b->span.offsets);
    const uint32_t n = first[roi + 1] - first[roi];

    out->n = n < out->capacity ? n : out->capacity;
    for (uint32_t c = 0; out->n && c < b->collection->n_columns; c++) {
        const size_t bytes = trg_column_bytes(&b->collection->column[c]);

        memcpy(out->column[c], host + b->span.column[c] + bytes * first[roi], bytes * out->n);
    }
}
#endif
