/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/shm_entry.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "check.h"

static bool is_quantized(const struct shm_roi *entry, uint32_t kind)
{
    return kind == TRG_SPACEPOINTS && entry->kinds & SHM_QUANTIZED;
}

static int check_place(const struct shm_roi *entry, uint32_t kind, const struct shm_collection *c,
                       uint64_t data_bytes, struct wire_error *e)
{
    uint64_t bytes = shm_collection_bytes(kind, is_quantized(entry, kind), c->n);

    if (c->at % SHM_ALIGN == 0 && bytes <= data_bytes && c->at <= data_bytes - bytes)
        return 0;
    return check_refuse(e, TRIGD__V1__ERROR__CODE__LENGTHS,
                        "RoI %" PRIu64 ": its %u %s begin at %" PRIu64 " of the shared data; "
                        "multiples of %u up to %" PRIu64 " are allowed",
                        entry->token, c->n, kind_info(kind)->name, c->at, SHM_ALIGN,
                        bytes <= data_bytes ? (data_bytes - bytes) / SHM_ALIGN * SHM_ALIGN : 0);
}

static int check_collection(const struct shm_roi *entry, uint32_t kind,
                            const struct shm_region *region, const struct wire_limits *limits,
                            struct wire_collection *ret, struct wire_error *e)
{
    const struct shm_collection *c = &entry->in[kind - TRG_SPACEPOINTS];
    uint64_t data_bytes = shm_window_data_bytes(region->window);
    const unsigned char *data = shm_region_data(region);

    if (check_count(kind, c->n, limits->max_items, entry->token, e) < 0 ||
        check_place(entry, kind, c, data_bytes, e) < 0)
        return -EBADMSG;
    for (uint32_t i = 0; i < kind_info(kind)->n_columns; i++)
        ret->column[i] = data + c->at + shm_column(kind, is_quantized(entry, kind), c->n, i);
    ret->n = c->n;
    ret->is_there = true;
    return 0;
}

/* Copies offsets and steps out of the region, once, and checks the copy. */
static int take_quantum(const struct shm_roi *entry, const struct shm_region *region,
                        struct wire_roi *w, struct wire_error *e)
{
    w->is_quantized = true;
    memcpy(&w->quantum, shm_region_data(region) + entry->in[0].at, sizeof w->quantum);
    return check_quantized(&w->quantum, 0, NULL, 0, entry->token, e); /* the lane sees the layers */
}

int shm_entry_check(const struct shm_roi *entry, const struct shm_region *region,
                    const struct wire_limits *limits, struct wire_roi *ret_roi,
                    struct wire_error *ret_error)
{
    const uint32_t known = (((1u << SHM_KINDS) - 1) << TRG_SPACEPOINTS) |
                           (entry->kinds >> TRG_SPACEPOINTS & 1 ? SHM_QUANTIZED : 0);
    struct wire_roi w = {.token = entry->token, .info = entry->info};

    if (entry->kinds & ~known)
        return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__MALFORMED,
                            "RoI %" PRIu64 ": its kinds are 0x%x; bits of 0x%x are allowed",
                            entry->token, entry->kinds, known);
    if (check_window(&w.info, w.token, ret_error) < 0)
        return -EBADMSG;
    for (uint32_t k = TRG_SPACEPOINTS; k < TRG_SPACEPOINTS + SHM_KINDS; k++)
        if (entry->kinds >> k & 1 &&
            check_collection(entry, k, region, limits, &w.collection[k], ret_error) < 0)
            return -EBADMSG;
    if (is_quantized(entry, TRG_SPACEPOINTS) && take_quantum(entry, region, &w, ret_error) < 0)
        return -EBADMSG;
    *ret_roi = w;
    return 0;
}

uint64_t shm_entry_bytes(const struct wire_roi *roi)
{
    uint64_t bytes = 0;

    for (uint32_t k = TRG_SPACEPOINTS; k < TRG_SPACEPOINTS + SHM_KINDS; k++)
        for (uint32_t c = 0; c < kind_info(k)->n_columns; c++)
            bytes += roi->collection[k].n *
                     quantum_item_bytes(k, k == TRG_SPACEPOINTS && roi->is_quantized, c);
    return bytes + sizeof(struct shm_roi);
}
