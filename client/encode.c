/* SPDX-License-Identifier: Apache-2.0 */
#include "encode.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "encoding.h"

/* Numbers of fields in trigd.proto. */
enum {
    TO_DAEMON_BATCH = 2,
    BATCH_ROI = 1,
    ROI_TOKEN = 1,
    ROI_RUN = 2,
    ROI_L1ID = 3,
    ROI_ROI_ID = 4,
    ROI_BCID = 5,
    ROI_LUMI_BLOCK = 6,
    ROI_L1_BITS = 7,
    ROI_ETA = 8, /* and five more floats */
    ROI_IS_REPEAT = 14,
    ROI_DEADLINE_US = 15,
    ROI_OWN = 16, /* spacepoints, then hits and tracks */
    ROI_COLUMNS = 20,
    ROI_TYPE = 21,
    ROI_EVENT_ROIS = 22,
    COLUMNS_HASH = 1,
    COLUMNS_COLUMN = 2,
    COLUMNS_ENCODED = 3,
    COLUMNS_OFFSET = 4,
    COLUMNS_STEP = 5
};
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 }; /* of the wire */

#define N_FLOATS       6u
#define EVENT_ROIS_MAX (SHM_EVENT >> SHM_EVENT_AT)

/* Writes, or with `at` NULL only counts: sizes and bytes come from the same lines. */
struct out {
    unsigned char *at;
    size_t n;
};

static void put_varint(struct out *o, uint64_t v)
{
    if (!o->at) {
        o->n += (70u - (unsigned)__builtin_clzll(v | 1)) / 7;
        return;
    }
    do {
        o->at[o->n++] = (unsigned char)(v < 0x80 ? v : (v | 0x80));
        v >>= 7;
    } while (v);
}

static void put_bytes(struct out *o, const void *bytes, size_t n)
{
    if (o->at && n)
        memcpy(o->at + o->n, bytes, n);
    o->n += n;
}

static void put_tag(struct out *o, uint32_t field, uint32_t type)
{
    put_varint(o, field << 3 | type);
}

static void put_number(struct out *o, uint32_t field, uint64_t v)
{
    if (!v)
        return;
    put_tag(o, field, VARINT);
    put_varint(o, v);
}

static void put_float(struct out *o, uint32_t field, float v)
{
    static const float zero;

    if (memcmp(&v, &zero, sizeof v) == 0)
        return;
    put_tag(o, field, FIXED32);
    put_bytes(o, &v, sizeof v);
}

static void put_block(struct out *o, uint32_t field, const void *bytes, size_t n)
{
    put_tag(o, field, BYTES);
    put_varint(o, n);
    put_bytes(o, bytes, n);
}

/* ---------------------------------------------------------------- messages */

static bool is_own(uint32_t kind)
{
    return kind >= TRG_SPACEPOINTS && kind < TRG_SPACEPOINTS + SHM_KINDS;
}

static uint32_t kind_of(const struct trg_client_items *i)
{
    return kind_of_hash(i->declaration->hash);
}

static void put_columns(struct out *o, uint32_t kind, const struct trg_client_items *i,
                        uint32_t first_field, uint32_t step)
{
    for (uint32_t c = 0; c < kind_info(kind)->n_columns; c++) {
        const size_t n = i->n * encoding_item_bytes(kind, i->encoding, c);

        if (n || !step) /* an empty column of its own field need not be there */
            put_block(o, first_field + c * step, i->column[c], n);
    }
}

/* Only collections of version 1 have messages of their own, and these are plain. */
static bool is_columns(uint32_t kind, const struct trg_client_items *i)
{
    return !is_own(kind) || i->encoding;
}

static void put_inside(struct out *o, uint32_t kind, const struct trg_client_items *i)
{
    if (!is_columns(kind, i)) {
        put_columns(o, kind, i, 1, 1);
        return;
    }
    put_tag(o, COLUMNS_HASH, FIXED64);
    put_bytes(o, &i->declaration->hash, sizeof i->declaration->hash);
    put_columns(o, kind, i, i->encoding ? COLUMNS_ENCODED : COLUMNS_COLUMN, 0);
    if (i->encoding) {
        const uint32_t n = encoding_sent(kind_info(kind));

        if (n) {
            put_block(o, COLUMNS_OFFSET, i->encoding, n * sizeof(float));
            put_block(o, COLUMNS_STEP, i->encoding + n, n * sizeof(float));
        }
    }
}

static void put_collection(struct out *o, const struct trg_client_items *i)
{
    const uint32_t kind = kind_of(i);
    struct out inside = {.at = NULL};

    put_inside(&inside, kind, i);
    put_tag(o, is_columns(kind, i) ? ROI_COLUMNS : ROI_OWN + kind - TRG_SPACEPOINTS, BYTES);
    put_varint(o, inside.n);
    inside = (struct out){.at = o->at ? o->at + o->n : NULL};
    put_inside(&inside, kind, i);
    o->n += inside.n;
}

static void put_roi(struct out *o, const struct flight *f)
{
    const struct trg_roi_info *i = &f->roi.info;
    const float window[N_FLOATS] = {i->eta,          i->phi_rad,  i->eta_half,
                                    i->phi_half_rad, i->z_min_mm, i->z_max_mm};

    put_number(o, ROI_TOKEN, f->token);
    if (f->roi.packed) {
        put_number(o, ROI_L1ID, i->l1id);
        put_number(o, ROI_IS_REPEAT, f->is_repeat);
        put_bytes(o, f->roi.packed, f->roi.packed_bytes);
        return;
    }
    put_number(o, ROI_RUN, i->run);
    put_number(o, ROI_L1ID, i->l1id);
    put_number(o, ROI_ROI_ID, i->roi_id);
    put_number(o, ROI_BCID, i->bcid);
    put_number(o, ROI_LUMI_BLOCK, i->lumi_block);
    put_number(o, ROI_L1_BITS, i->l1_bits);
    for (uint32_t w = 0; w < N_FLOATS; w++)
        put_float(o, ROI_ETA + w, window[w]);
    put_number(o, ROI_IS_REPEAT, f->is_repeat);
    put_number(o, ROI_DEADLINE_US, f->roi.deadline_us);
    for (uint32_t k = 0; k < f->roi.n_collections; k++)
        put_collection(o, &f->roi.collections[k]);
    put_number(o, ROI_TYPE, f->roi.type);
    put_number(o, ROI_EVENT_ROIS, f->roi.event_rois);
}

/* Tags and lengths around n RoIs, and the RoIs themselves unless it only counts them. */
static void put_message(struct out *o, struct flight *const *flights, const size_t *sizes,
                        uint32_t n)
{
    struct out batch = {.at = NULL};

    for (uint32_t i = 0; i < n; i++) {
        put_tag(&batch, BATCH_ROI, BYTES);
        put_varint(&batch, sizes[i]);
        batch.n += sizes[i];
    }
    put_tag(o, TO_DAEMON_BATCH, BYTES);
    put_varint(o, batch.n);
    for (uint32_t i = 0; o->at && i < n; i++) {
        put_tag(o, BATCH_ROI, BYTES);
        put_varint(o, sizes[i]);
        if (flights[i])
            put_roi(o, flights[i]);
    }
    if (!o->at)
        o->n += batch.n;
}

size_t encode_size(struct flight *const *flights, uint32_t n, size_t *ret_sizes)
{
    struct out all = {.at = NULL};

    for (uint32_t i = 0; i < n; i++) {
        struct out roi = {.at = NULL};

        if (flights[i])
            put_roi(&roi, flights[i]);
        ret_sizes[i] = roi.n;
    }
    put_message(&all, flights, ret_sizes, n);
    return all.n;
}

void encode_message(struct flight *const *flights, const size_t *sizes, uint32_t n,
                    unsigned char *dst)
{
    struct out o = {.at = dst};

    put_message(&o, flights, sizes, n);
}

/* ---------------------------------------------------------------- shared memory */

uint64_t encode_columns_size(const struct trg_client_roi *roi)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < roi->n_collections; i++)
        bytes += shm_collection_bytes(kind_of(&roi->collections[i]), roi->collections[i].encoding,
                                      roi->collections[i].n);
    return bytes;
}

/* Only collections of version 1 have places of their own; with any other all are listed. */
static bool is_listed(const struct trg_client_roi *roi)
{
    for (uint32_t i = 0; i < roi->n_collections; i++)
        if (!is_own(kind_of(&roi->collections[i])))
            return true;
    return false;
}

/* As shm_column lays them out; returns the bytes of the collection. */
static uint64_t copy_columns(const struct trg_client_items *items, uint32_t kind,
                             unsigned char *dst)
{
    const struct trg_collection *info = kind_info(kind);
    uint64_t at = shm_column(kind, items->encoding, 0, 0);

    if (items->encoding)
        memcpy(dst, items->encoding, 2 * sizeof *items->encoding * encoding_sent(info));
    for (uint32_t c = 0; items->n && c < info->n_columns; c++) {
        const uint64_t bytes = (uint64_t)items->n * encoding_item_bytes(kind, items->encoding, c);

        memcpy(dst + at, items->column[c], bytes);
        at += shm_align(bytes);
    }
    return at;
}

void encode_columns(const struct flight *f, uint64_t at, void *dst, struct shm_roi *ret_entry)
{
    const struct trg_client_roi *roi = &f->roi;
    const bool listed = is_listed(roi);
    struct shm_roi e = {.token = f->token, .info = roi->info, .type = roi->type};
    uint64_t used = 0;

    if (roi->deadline_us) {
        e.kinds = SHM_DEADLINE;
        e.type |= (roi->deadline_us < SHM_DEADLINE_MAX ? roi->deadline_us : SHM_DEADLINE_MAX)
                  << SHM_DEADLINE_AT;
    }
    e.kinds |= (listed ? SHM_LISTED : 0) | (f->is_repeat ? SHM_REPEAT : 0) |
               (roi->event_rois < EVENT_ROIS_MAX ? roi->event_rois : EVENT_ROIS_MAX)
                   << SHM_EVENT_AT;
    for (uint32_t i = 0; i < roi->n_collections; i++) {
        const struct trg_client_items *items = &roi->collections[i];
        const uint32_t kind = kind_of(items), place = listed ? i : kind - TRG_SPACEPOINTS;

        e.kinds |=
            (items->encoding ? 1u << (SHM_ENCODED_AT + place) : 0) | (listed ? 0 : 1u << kind);
        e.in[place].at = at + used;
        e.in[place].n = items->n;
        e.in[place].hash = listed ? (uint32_t)items->declaration->hash : 0;
        used += copy_columns(items, kind, (unsigned char *)dst + used);
    }
    *ret_entry = e;
}

/* ---------------------------------------------------------------- checks */

static int check_items(const struct trg_client *c, const struct trg_client_items *items,
                       uint32_t *kinds, char *why, size_t bytes)
{
    const uint32_t kind = items->declaration ? kind_of(items) : TRG_KIND_NONE;

    if (!kind || (kind >= TRG_KIND_COUNT && !(c->declared & 1u << kind)))
        snprintf(why, bytes, "collection %s is not among those that the options declare",
                 items->declaration ? items->declaration->name : "without a declaration");
    else if (items->encoding && !encoding_count(kind_info(kind)))
        snprintf(why, bytes, "%s cannot be encoded: no column of their declaration has an encoding",
                 items->declaration->name);
    else if (*kinds & 1u << kind)
        snprintf(why, bytes, "an RoI holds %s twice; once is allowed", items->declaration->name);
    else {
        *kinds |= 1u << kind;
        return 0;
    }
    return -EINVAL;
}

int encode_check(const struct trg_client *c, const struct trg_client_roi *roi, char *why,
                 size_t bytes)
{
    uint32_t kinds = 0;

    if (roi->packed && !c->shm)
        return 0;
    if (roi->packed && !roi->n_collections) {
        snprintf(why, bytes, "a packed RoI goes over tcp:// or ipc://; shm:// has columns");
        return -EINVAL;
    }
    if (roi->n_collections > TRG_CLIENT_PLACES) {
        snprintf(why, bytes, "an RoI has %u collections; at most %u are allowed",
                 roi->n_collections, TRG_CLIENT_PLACES);
        return -EINVAL;
    }
    for (uint32_t i = 0; i < roi->n_collections; i++)
        if (check_items(c, &roi->collections[i], &kinds, why, bytes) < 0)
            return -EINVAL;
    return 0;
}

/* ---------------------------------------------------------------- numbers */

int trg_client_encode(const struct trg_collection *declaration, uint32_t column,
                      const float *values, uint32_t n, uint16_t *numbers,
                      struct trg_encoding *ret_encoding)
{
    struct trg_encoding e;
    size_t count, good;
    int r = 0;

    if (column >= declaration->n_columns || !encoding_is_there(declaration, column))
        return -EINVAL;
    count = (size_t)n * declaration->column[column].length;
    if (encoding_is_sent(declaration, column))
        r = encoding_fit(values, count, &e);
    else
        e = trg_column_encoding(declaration, column);
    if (r < 0)
        return r;
    good = encoding_numbers(e, values, count, (unsigned char *)numbers);
    *ret_encoding = e;
    return good == count ? 0 : isfinite(values[good]) ? -ERANGE : -EINVAL;
}
