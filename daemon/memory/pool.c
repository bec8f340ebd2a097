/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buddy.h"

static int map(struct pool *p)
{
    p->fd = memfd_create("trigd-pool", MFD_CLOEXEC);
    if (p->fd < 0)
        return -errno;
    if (ftruncate(p->fd, (off_t)p->bytes) < 0)
        return -errno;
    p->base = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
    if (p->base == MAP_FAILED) {
        p->base = NULL;
        return -errno;
    }
    return 0;
}

int pool_open(uint32_t n_rois, uint64_t data_bytes, struct pool **ret_pool)
{
    struct pool *p = calloc(1, sizeof *p);
    int r;

    if (!p)
        return -ENOMEM;
    p->fd = -1;
    p->n_rois = n_rois;
    p->data_at = ((uint64_t)n_rois * sizeof(struct roi) + 4095) & ~(uint64_t)4095;
    p->bytes = p->data_at + data_bytes;
    r = map(p);
    if (r < 0)
        goto fail;
    p->rois = (struct roi *)(void *)p->base;
    r = buddy_new(data_bytes, &p->data);
    if (r < 0)
        goto fail;
    r = -ENOMEM;
    p->free_rois = calloc(n_rois, sizeof *p->free_rois);
    if (!p->free_rois)
        goto fail;
    for (uint32_t i = 0; i < n_rois; i++)
        p->free_rois[i] = n_rois - 1 - i;
    *ret_pool = p;
    return 0;
fail:
    pool_close(p);
    return r;
}

void pool_close(struct pool *p)
{
    if (!p)
        return;
    free(p->free_rois);
    buddy_free(p->data);
    if (p->base)
        munmap(p->base, p->bytes);
    if (p->fd >= 0)
        close(p->fd);
    free(p);
}

uint32_t pool_take(struct pool *p)
{
    uint32_t i;

    if (p->n_used + p->n_reserved >= p->n_rois)
        return POOL_NONE;
    i = p->free_rois[p->n_rois - 1 - p->n_used++];
    memset(&p->rois[i], 0, sizeof p->rois[i]);
    p->rois[i].block = BUDDY_NONE;
    return i;
}

void pool_put(struct pool *p, uint32_t roi)
{
    if (p->rois[roi].block != BUDDY_NONE)
        pool_release(p, p->rois[roi].block);
    p->free_rois[p->n_rois - p->n_used--] = roi;
}

uint64_t pool_alloc(struct pool *p, uint64_t bytes)
{
    const uint64_t at = buddy_take(p->data, bytes);

    return at == BUDDY_NONE ? BUDDY_NONE : at + p->data_at;
}

void pool_release(struct pool *p, uint64_t at)
{
    buddy_put(p->data, at - p->data_at);
}

uint64_t pool_used_bytes(const struct pool *p)
{
    return buddy_used(p->data);
}

uint64_t pool_collection_bytes(uint32_t kind, uint32_t items)
{
    const struct trg_collection *info = kind_info(kind);
    uint64_t bytes = 0;

    for (uint32_t c = 0; info && c < info->n_columns; c++)
        bytes += pool_align((uint64_t)items * trg_column_bytes(&info->column[c]));
    return bytes;
}

void *pool_column(const struct pool *p, uint32_t kind, const struct roi_collection *c,
                  uint32_t column)
{
    uint64_t at = c->at;

    if (c->is_table) /* these are read-only */
        return (void *)(uintptr_t)((const void **)pool_at(p, at))[column];
    for (uint32_t i = 0; i < column; i++)
        at += pool_align((uint64_t)c->capacity * encoding_item_bytes(kind, c->is_encoded, i));
    return pool_at(p, at);
}
