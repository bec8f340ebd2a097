/* SPDX-License-Identifier: Apache-2.0 */
#include "scan.h"

#include <string.h>

#include "fields.h"

#define TAG_BATCH      TAG(2, BYTES)  /* of ToDaemon */
#define TAG_ROI        TAG(1, BYTES)  /* of RoiBatch */
#define TAG_DEADLINE   TAG(2, VARINT) /* the same */
#define TAG_COLUMNS    TAG(20, BYTES) /* of Roi; may stand several times */
#define TAG_EVENT_ROIS TAG(22, VARINT)

/* Sizes of the values of a message's columns, by field number - 1. */
static const uint8_t spacepoint_sizes[] = {4, 4, 4, 1}, hit_sizes[] = {4, 4, 4, 2, 4},
                     track_sizes[] = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4};

static bool read_u32(struct reader *r, uint32_t *ret_value)
{
    uint64_t v;

    if (!read_varint(r, VALUE_VARINT, &v) || v > UINT32_MAX)
        return false;
    *ret_value = (uint32_t)v;
    return true;
}

static bool read_float(struct reader *r, float *ret_value)
{
    if ((size_t)(r->end - r->at) < sizeof *ret_value)
        return false;
    memcpy(ret_value, r->at, sizeof *ret_value);
    r->at += sizeof *ret_value;
    return true;
}

/* Notes a field; false when it was there before. */
static bool is_new(uint32_t *seen, uint32_t field)
{
    uint32_t bit = 1u << field;

    if (*seen & bit)
        return false;
    *seen |= bit;
    return true;
}

static bool scan_collection(struct reader r, const uint8_t *sizes, uint32_t n_columns,
                            struct scan_column *column)
{
    uint32_t seen = 0, tag;

    memset(column, 0, n_columns * sizeof *column);
    while (r.at < r.end) {
        struct reader field;
        uint32_t c;
        size_t bytes;

        if (!read_tag(&r, &tag) || (tag & 7) != BYTES || tag >> 3 < 1 || tag >> 3 > n_columns)
            return false;
        c = (tag >> 3) - 1;
        if (!is_new(&seen, c) || !read_bytes(&r, &field))
            return false;
        bytes = (size_t)(field.end - field.at);
        if (bytes % sizes[c])
            return false;
        column[c] = (struct scan_column){.n = bytes / sizes[c], .data = field.at};
    }
    return true;
}

static bool scan_kind(struct reader *r, uint32_t kind, struct scan_roi *roi)
{
    static const struct {
        const uint8_t *sizes;
        uint32_t n;
    } table[] = {{spacepoint_sizes, sizeof spacepoint_sizes},
                 {hit_sizes, sizeof hit_sizes},
                 {track_sizes, sizeof track_sizes}};
    uint32_t k = (uint32_t)kind - TRG_SPACEPOINTS;
    struct reader field;

    roi->kinds |= 1u << kind;
    return read_bytes(r, &field) &&
           scan_collection(field, table[k].sizes, table[k].n, roi->column[k]);
}

/* Packed floats that stand there once. */
static bool scan_floats(struct reader *r, struct scan_column *floats)
{
    struct reader bytes;

    if (floats->data || !read_bytes(r, &bytes))
        return false;
    *floats =
        (struct scan_column){.n = (size_t)(bytes.end - bytes.at) / sizeof(float), .data = bytes.at};
    return (size_t)(bytes.end - bytes.at) % sizeof(float) == 0;
}

/* Fields of Columns behind the hash.  Columns are plain or encoded, not both. */
static bool scan_inside(struct reader *r, uint32_t tag, struct scan_declared *d)
{
    struct reader bytes;

    switch (tag) {
    case TAG(3, BYTES):
        d->is_encoded |= !d->n_columns;
        /* fall through */
    case TAG(2, BYTES):
        if ((tag == TAG(3, BYTES)) != d->is_encoded || d->n_columns == TRG_COLUMNS_MAX ||
            !read_bytes(r, &bytes))
            return false;
        d->column[d->n_columns++] =
            (struct scan_column){.n = (size_t)(bytes.end - bytes.at), .data = bytes.at};
        return true;
    case TAG(4, BYTES):
        return scan_floats(r, &d->offset);
    case TAG(5, BYTES):
        return scan_floats(r, &d->step);
    default:
        return false;
    }
}

/* A collection in Columns; what the columns must be is for those who know the declaration. */
static bool scan_declared(struct reader *r, struct scan_roi *roi)
{
    struct scan_declared *d = &roi->declared[roi->n_declared];
    struct reader field;
    bool has_hash = false;
    uint32_t tag;

    if (roi->n_declared++ == SCAN_DECLARED || !read_bytes(r, &field))
        return false;
    d->hash = 0;
    d->n_columns = 0;
    d->is_encoded = false;
    d->offset.data = d->step.data = NULL;
    d->offset.n = d->step.n = 0;
    while (field.at < field.end) {
        if (!read_tag(&field, &tag))
            return false;
        if (tag == TAG(1, FIXED64) && !has_hash && field.end - field.at >= 8) {
            memcpy(&d->hash, field.at, sizeof d->hash);
            field.at += sizeof d->hash;
            has_hash = true;
        } else if (!scan_inside(&field, tag, d)) {
            return false;
        }
    }
    return true;
}

static bool read_flag(struct reader *r, bool *ret_flag)
{
    uint64_t v;

    if (!read_varint(r, VALUE_VARINT, &v))
        return false;
    *ret_flag = v != 0;
    return true;
}

static bool scan_field(struct reader *r, uint32_t tag, struct scan_roi *roi)
{
    struct trg_roi_info *i = &roi->info;

    switch (tag) {
    case TAG(1, VARINT):
        return read_varint(r, VALUE_VARINT, &roi->token);
    case TAG(2, VARINT):
        return read_u32(r, &i->run);
    case TAG(3, VARINT):
        return read_u32(r, &i->l1id);
    case TAG(4, VARINT):
        return read_u32(r, &i->roi_id);
    case TAG(5, VARINT):
        return read_u32(r, &i->bcid);
    case TAG(6, VARINT):
        return read_u32(r, &i->lumi_block);
    case TAG(7, VARINT):
        return read_u32(r, &i->l1_bits);
    case TAG(8, FIXED32):
        return read_float(r, &i->eta);
    case TAG(9, FIXED32):
        return read_float(r, &i->phi_rad);
    case TAG(10, FIXED32):
        return read_float(r, &i->eta_half);
    case TAG(11, FIXED32):
        return read_float(r, &i->phi_half_rad);
    case TAG(12, FIXED32):
        return read_float(r, &i->z_min_mm);
    case TAG(13, FIXED32):
        return read_float(r, &i->z_max_mm);
    case TAG(14, VARINT):
        return read_flag(r, &roi->is_repeat);
    case TAG(15, VARINT):
        return read_u32(r, &roi->deadline_us);
    case TAG(16, BYTES):
        return scan_kind(r, TRG_SPACEPOINTS, roi);
    case TAG(17, BYTES):
        return scan_kind(r, TRG_HITS, roi);
    case TAG(18, BYTES):
        return scan_kind(r, TRG_TRACKS, roi);
    case TAG_COLUMNS:
        return scan_declared(r, roi);
    case TAG(21, VARINT):
        return read_u32(r, &roi->type);
    case TAG_EVENT_ROIS:
        return read_u32(r, &roi->event_rois);
    default:
        return false;
    }
}

static bool scan_one(struct reader r, struct scan_roi *roi)
{
    uint32_t seen = 0, tag;

    roi->token = 0;
    roi->kinds = roi->type = roi->deadline_us = roi->event_rois = 0;
    roi->is_repeat = false;
    roi->n_declared = 0;
    memset(&roi->info, 0, sizeof roi->info);
    while (r.at < r.end)
        if (!read_tag(&r, &tag) || tag >> 3 > 31 ||
            (tag != TAG_COLUMNS && !is_new(&seen, tag >> 3)) || !scan_field(&r, tag, roi))
            return false;
    return true;
}

/* The batch in a message that holds nothing else. */
static bool find_batch(const void *bytes, size_t n, struct reader *ret_batch)
{
    struct reader r = {.at = bytes, .end = (const unsigned char *)bytes + n};
    uint32_t tag;

    return n && read_tag(&r, &tag) && tag == TAG_BATCH && read_bytes(&r, ret_batch) &&
           r.at == r.end;
}

/* The RoIs of a batch, and its own deadline. */
static bool scan_rois(struct reader batch, struct scan_roi *rois, uint32_t room, uint32_t *ret_n,
                      uint32_t *ret_deadline_us)
{
    uint32_t tag, seen = 0;
    struct reader roi;

    while (batch.at < batch.end) {
        if (!read_tag(&batch, &tag))
            return false;
        if (tag == TAG_DEADLINE && is_new(&seen, tag >> 3)) {
            if (!read_u32(&batch, ret_deadline_us))
                return false;
        } else if (tag != TAG_ROI || *ret_n == room || !read_bytes(&batch, &roi) ||
                   !scan_one(roi, &rois[(*ret_n)++])) {
            return false;
        }
    }
    return true;
}

uint32_t scan_batch(const void *bytes, size_t n, struct scan_roi *rois, uint32_t room)
{
    uint32_t found = 0, deadline_us = 0;
    struct reader batch;

    if (!find_batch(bytes, n, &batch) || !scan_rois(batch, rois, room, &found, &deadline_us))
        return 0;
    for (uint32_t i = 0; deadline_us && i < found; i++)
        rois[i].deadline_us = deadline_tighter(rois[i].deadline_us, deadline_us);
    return found;
}

static bool scan_head(struct reader r, struct scan_head *head)
{
    uint32_t tag;

    *head = (struct scan_head){.token = 0};
    while (r.at < r.end) {
        bool is_good = read_tag(&r, &tag);

        switch (is_good ? tag : 0) {
        case TAG(1, VARINT):
            is_good = read_varint(&r, VALUE_VARINT, &head->token);
            break;
        case TAG(2, VARINT):
            is_good = read_u32(&r, &head->run);
            break;
        case TAG(3, VARINT):
            is_good = read_u32(&r, &head->l1id);
            break;
        case TAG(4, VARINT):
            is_good = read_u32(&r, &head->roi_id);
            break;
        default:
            is_good = is_good && skip_field(&r, tag);
        }
        if (!is_good)
            return false;
    }
    return true;
}

uint32_t scan_heads(const void *bytes, size_t n, struct scan_head *heads, uint32_t room)
{
    struct reader batch, roi;
    uint32_t found = 0, tag;

    if (!find_batch(bytes, n, &batch))
        return 0;
    while (batch.at < batch.end) {
        bool is_good = read_tag(&batch, &tag);

        if (is_good && tag == TAG_ROI)
            is_good = found < room && read_bytes(&batch, &roi) && scan_head(roi, &heads[found++]);
        else
            is_good = is_good && skip_field(&batch, tag);
        if (!is_good)
            return 0;
    }
    return found;
}
