/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/shm_entry.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "check.h"

/* Whether a place holds an encoded collection. */
static bool is_encoded(const struct shm_roi *entry, uint32_t place, uint32_t kind)
{
    return entry->kinds >> (SHM_ENCODED_AT + place) & 1 ||
           (kind == TRG_SPACEPOINTS && entry->kinds & SHM_QUANTIZED);
}

static int check_place(const struct shm_roi *entry, uint32_t place, uint32_t kind,
                       uint64_t data_bytes, struct wire_error *e)
{
    const struct shm_collection *c = &entry->in[place];
    uint64_t bytes = shm_collection_bytes(kind, is_encoded(entry, place, kind), c->n);

    if (c->at % SHM_ALIGN == 0 && bytes <= data_bytes && c->at <= data_bytes - bytes)
        return 0;
    return check_refuse(e, TRIGD__V1__ERROR__CODE__LENGTHS,
                        "RoI %" PRIu64 ": its %u %s begin at %" PRIu64 " of the shared data; "
                        "multiples of %u up to %" PRIu64 " are allowed",
                        entry->token, c->n, kind_info(kind)->name, c->at, SHM_ALIGN,
                        bytes <= data_bytes ? (data_bytes - bytes) / SHM_ALIGN * SHM_ALIGN : 0);
}

/* Finds the columns of a collection; its offsets and steps are copied out of the region, once. */
static int check_collection(const struct shm_roi *entry, uint32_t place, uint32_t kind,
                            const struct shm_region *region, const struct wire_limits *limits,
                            struct wire_roi *w, struct wire_error *e)
{
    const struct shm_collection *c = &entry->in[place];
    const bool encoded = is_encoded(entry, place, kind);
    const uint64_t data_bytes = shm_window_data_bytes(region->window);
    const unsigned char *data = shm_region_data(region);
    struct wire_collection *ret = &w->collection[wire_slot(w, kind)];

    if (check_count(kind, c->n, limits->max_items, entry->token, e) < 0 ||
        check_place(entry, place, kind, data_bytes, e) < 0)
        return -EBADMSG;
    if (encoded &&
        wire_take_encodings(kind, data + c->at,
                            data + c->at + encoding_sent(kind_info(kind)) * sizeof(float), ret, w,
                            e) < 0)
        return -EBADMSG;
    data += c->at + shm_column(kind, encoded, c->n, 0);
    for (uint32_t i = 0; i < kind_info(kind)->n_columns; i++) {
        ret->column[i] = data;
        data += shm_align(c->n * (uint64_t)encoding_item_bytes(kind, encoded, i));
    }
    ret->n = c->n;
    ret->kind = (uint8_t)kind;
    ret->is_there = true;
    return 0;
}

/* Collections at their own places. */
static int take_placed(const struct shm_roi *entry, const struct shm_region *region,
                       const struct wire_limits *limits, struct wire_roi *w, struct wire_error *e)
{
    const uint32_t of_spacepoints = 1u << SHM_ENCODED_AT | SHM_QUANTIZED; /* no other can be */
    const uint32_t known = (((1u << SHM_KINDS) - 1) << TRG_SPACEPOINTS) | SHM_REPEAT |
                           SHM_DEADLINE | SHM_EVENT |
                           (entry->kinds >> TRG_SPACEPOINTS & 1 ? of_spacepoints : 0);

    if (entry->kinds & ~known)
        return check_refuse(e, TRIGD__V1__ERROR__CODE__MALFORMED,
                            "RoI %" PRIu64 ": its kinds are 0x%x; bits of 0x%x are allowed",
                            entry->token, entry->kinds, known);
    for (uint32_t k = TRG_SPACEPOINTS; k < TRG_SPACEPOINTS + SHM_KINDS; k++)
        if (entry->kinds >> k & 1 &&
            check_collection(entry, k - TRG_SPACEPOINTS, k, region, limits, w, e) < 0)
            return -EBADMSG;
    return 0;
}

/* Collections that the places name. */
static int take_listed(const struct shm_roi *entry, const struct shm_region *region,
                       const struct wire_limits *limits, struct wire_roi *w, struct wire_error *e)
{
    const uint32_t known =
        SHM_LISTED | SHM_ENCODED | SHM_QUANTIZED | SHM_REPEAT | SHM_DEADLINE | SHM_EVENT;

    if (entry->kinds & ~known)
        return check_refuse(e, TRIGD__V1__ERROR__CODE__MALFORMED,
                            "RoI %" PRIu64 ": its kinds are 0x%x; with a list bits of 0x%x are "
                            "allowed",
                            entry->token, entry->kinds, known);
    for (uint32_t i = 0; i < SHM_PLACES; i++) {
        const struct shm_collection *c = &entry->in[i];
        const uint32_t kind = kind_of_half(c->hash), slot = wire_slot(w, kind);

        if (!c->hash && entry->kinds >> (SHM_ENCODED_AT + i) & 1)
            return check_refuse(e, TRIGD__V1__ERROR__CODE__MALFORMED,
                                "RoI %" PRIu64 ": place %u is encoded, and holds no collection",
                                entry->token, i);
        if (!c->hash)
            continue;
        if (!kind)
            return check_refuse(e, TRIGD__V1__ERROR__CODE__UNKNOWN,
                                "RoI %" PRIu64
                                ": no collection has a hash that ends in %08x; those "
                                "that Welcome lists are allowed",
                                entry->token, c->hash);
        if (slot == WIRE_SLOTS)
            return check_refuse(e, TRIGD__V1__ERROR__CODE__MALFORMED,
                                "RoI %" PRIu64 ": it holds %s twice; once is allowed", entry->token,
                                kind_info(kind)->name);
        if (is_encoded(entry, i, kind) && !encoding_count(kind_info(kind)))
            return check_refuse(e, TRIGD__V1__ERROR__CODE__MALFORMED,
                                "RoI %" PRIu64 ": its %s are encoded; none of their columns may be",
                                entry->token, kind_info(kind)->name);
        if (check_collection(entry, i, kind, region, limits, w, e) < 0)
            return -EBADMSG;
    }
    if (entry->kinds & SHM_QUANTIZED && !w->collection[TRG_SPACEPOINTS].is_there)
        return check_refuse(e, TRIGD__V1__ERROR__CODE__MALFORMED,
                            "RoI %" PRIu64 ": it lists no spacepoints that could be quantized",
                            entry->token);
    return 0;
}

int shm_entry_check(const struct shm_roi *entry, const struct shm_region *region,
                    const struct wire_limits *limits, struct wire_roi *ret_roi,
                    struct wire_error *ret_error)
{
    int r = check_window(&entry->info, entry->token, ret_error);

    wire_begin(ret_roi, entry->token, &entry->info);
    ret_roi->type = entry->type;
    if (entry->kinds & SHM_DEADLINE) {
        ret_roi->type = entry->type & ((1u << SHM_DEADLINE_AT) - 1);
        ret_roi->deadline_us = entry->type >> SHM_DEADLINE_AT;
    }
    ret_roi->event_rois = (entry->kinds & SHM_EVENT) >> SHM_EVENT_AT;
    ret_roi->is_repeat = entry->kinds & SHM_REPEAT;
    if (r == 0)
        r = check_type(ret_roi->type, entry->token, ret_error);
    if (r == 0)
        r = (entry->kinds & SHM_LISTED ? take_listed : take_placed)(entry, region, limits, ret_roi,
                                                                    ret_error);
    return r < 0 ? -EBADMSG : 0;
}

uint64_t shm_entry_bytes(const struct wire_roi *roi)
{
    uint64_t bytes = 0;

    for (uint32_t s = 0; s < WIRE_SLOTS; s++) {
        const struct wire_collection *w = &roi->collection[s];

        for (uint32_t c = 0; w->n && c < kind_info(w->kind)->n_columns; c++)
            bytes += w->n * encoding_item_bytes(w->kind, w->is_encoded, c);
    }
    return bytes + sizeof(struct shm_roi);
}
