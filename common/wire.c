/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "quantized.h"
#include "scan.h"
#include "scratch.h"

/* A message may unpack to this many times its bytes: real ones need about 1.1 plus a record for
 * each RoI, while a hostile one of empty sub-messages would need 56. */
#define EXPANSION    2u
#define RECORD_BYTES 1024u /* room for the records of one RoI */

struct wire_decoder {
    struct wire_limits limits;
    struct scratch scratch;
    ProtobufCAllocator allocator;
    struct scan_roi *found; /* [max_rois] of the message that was scanned last */
};

static void *take(void *scratch, size_t bytes)
{
    return scratch_take(scratch, bytes);
}

static void give_back(void *scratch, void *p)
{
    (void)scratch;
    (void)p; /* all at once, with the next message */
}

int wire_decoder_new(const struct wire_limits *limits, struct wire_decoder **ret_decoder)
{
    struct wire_decoder *d = calloc(1, sizeof *d);

    if (!d)
        return -ENOMEM;
    d->limits = *limits;
    d->found = calloc(limits->max_rois, sizeof *d->found);
    if (!d->found) {
        free(d);
        return -ENOMEM;
    }
    d->allocator =
        (ProtobufCAllocator){.alloc = take, .free = give_back, .allocator_data = &d->scratch};
    *ret_decoder = d;
    return 0;
}

void wire_decoder_free(struct wire_decoder *d)
{
    if (!d)
        return;
    scratch_free(&d->scratch);
    free(d->found);
    free(d);
}

void wire_decoder_usage(const struct wire_decoder *d, uint64_t *ret_bytes, uint64_t *ret_calls)
{
    *ret_bytes = d->scratch.size;
    *ret_calls = d->scratch.n_mallocs;
}

/* ---------------------------------------------------------------- one message */

static int check_batch(const struct wire_decoder *d, const Trigd__V1__RoiBatch *b,
                       struct wire_error *e)
{
    if (!b->n_rois)
        return check_refuse(e, TRIGD__V1__ERROR__CODE__EMPTY,
                            "the RoiBatch holds no RoIs; 1 to %u are allowed", d->limits.max_rois);
    if (b->n_rois > d->limits.max_rois)
        return check_refuse(e, TRIGD__V1__ERROR__CODE__TOO_LARGE,
                            "the RoiBatch holds %zu RoIs; at most %u are allowed", b->n_rois,
                            d->limits.max_rois);
    return 0;
}

/* Gives a batch's deadline to its RoIs. */
static void hand_down_deadline(Trigd__V1__RoiBatch *b)
{
    for (size_t i = 0; i < b->n_rois; i++)
        b->rois[i]->deadline_us = deadline_tighter(b->rois[i]->deadline_us, b->deadline_us);
}

int wire_decode(struct wire_decoder *d, const void *bytes, size_t n,
                const Trigd__V1__ToDaemon **ret_message, struct wire_error *ret_error)
{
    Trigd__V1__ToDaemon *m;

    if (n > d->limits.max_message_bytes)
        return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__TOO_LARGE,
                            "the message has %zu bytes; at most %u are allowed", n,
                            d->limits.max_message_bytes);
    if (scratch_reset(&d->scratch,
                      EXPANSION * n + RECORD_BYTES * (d->limits.max_rois + (size_t)1)) < 0)
        return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__TOO_LARGE,
                            "there is no memory for a message of %zu bytes", n);
    m = trigd__v1__to_daemon__unpack(&d->allocator, n, bytes);
    if (!m && d->scratch.is_overrun)
        return check_refuse(
            ret_error, TRIGD__V1__ERROR__CODE__TOO_LARGE,
            "the message of %zu bytes unpacks to more than the %zu bytes that are allowed "
            "for its size: too many records, unknown fields or unpacked values",
            n, d->scratch.limit);
    if (!m)
        return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__MALFORMED,
                            "the %zu bytes are not a ToDaemon message of trigd.v1", n);
    if (m->body_case == TRIGD__V1__TO_DAEMON__BODY__NOT_SET)
        return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__EMPTY,
                            "the message has no body; hello, batch, heartbeat or bye is allowed");
    if (m->body_case == TRIGD__V1__TO_DAEMON__BODY_BATCH) {
        if (check_batch(d, m->batch, ret_error) < 0)
            return -EBADMSG;
        hand_down_deadline(m->batch);
    }
    *ret_message = m;
    return 0;
}

int wire_check_name(const char *name, struct wire_error *ret_error)
{
    size_t n = strlen(name);
    bool good = n >= 1 && n <= 63;

    for (size_t i = 0; i < n && good; i++)
        good = name[i] >= 0x20 && name[i] < 0x7f && name[i] != '"' && name[i] != '\\';
    if (good)
        return 0;
    return check_refuse(
        ret_error, TRIGD__V1__ERROR__CODE__BAD_NAME,
        "the name in Hello has %zu bytes; 1 to 63 printable ASCII characters without "
        "quotes and backslashes are allowed",
        n);
}

/* ---------------------------------------------------------------- one RoI */

/* Columns of bytes: an odd length can match no other column where an item has two. */
static struct scan_column bytes_column(const ProtobufCBinaryData *bytes, size_t size)
{
    return (struct scan_column){bytes->len % size ? SIZE_MAX : bytes->len / size, bytes->data};
}

/* The columns of the three kinds that travel, in the order of event.h; false where the RoI has
 * none. */
static bool columns_of(const Trigd__V1__Roi *r, uint32_t kind, struct scan_column *c)
{
    if (kind == TRG_SPACEPOINTS && r->spacepoints) {
        const Trigd__V1__Spacepoints *s = r->spacepoints;

        c[0] = (struct scan_column){s->n_phi_rad, s->phi_rad};
        c[1] = (struct scan_column){s->n_rho_mm, s->rho_mm};
        c[2] = (struct scan_column){s->n_z_mm, s->z_mm};
        c[3] = (struct scan_column){s->layer.len, s->layer.data};
        return true;
    }
    if (kind == TRG_HITS && r->hits) {
        const Trigd__V1__Hits *h = r->hits;

        c[0] = (struct scan_column){h->n_x_mm, h->x_mm};
        c[1] = (struct scan_column){h->n_y_mm, h->y_mm};
        c[2] = (struct scan_column){h->n_z_mm, h->z_mm};
        c[3] = bytes_column(&h->layer, 2);
        c[4] = (struct scan_column){h->n_id, h->id};
        return true;
    }
    if (kind == TRG_TRACKS && r->tracks) {
        const Trigd__V1__Tracks *t = r->tracks;

        c[0] = (struct scan_column){t->n_x_mm, t->x_mm};
        c[1] = (struct scan_column){t->n_y_mm, t->y_mm};
        c[2] = (struct scan_column){t->n_z_mm, t->z_mm};
        c[3] = (struct scan_column){t->n_tx, t->tx};
        c[4] = (struct scan_column){t->n_ty, t->ty};
        c[5] = (struct scan_column){t->n_var_x_mm2, t->var_x_mm2};
        c[6] = (struct scan_column){t->n_var_tx, t->var_tx};
        c[7] = (struct scan_column){t->n_cov_x_tx_mm, t->cov_x_tx_mm};
        c[8] = (struct scan_column){t->n_chi2, t->chi2};
        c[9] = (struct scan_column){t->n_qop_per_gev, t->qop_per_gev};
        c[10] = (struct scan_column){t->n_n_hits, t->n_hits};
        return true;
    }
    return false;
}

/* The columns are as long as the first one. */
static int check_lengths(const struct trg_collection *info, const struct scan_column *column,
                         uint64_t token, struct wire_error *e)
{
    for (uint32_t c = 0; c < info->n_columns; c++) {
        if (column[c].n == SIZE_MAX)
            return check_refuse(e, TRIGD__V1__ERROR__CODE__LENGTHS,
                                "RoI %" PRIu64
                                ": column %s of its %s has an odd number of bytes; two "
                                "for each item are allowed",
                                token, info->column[c].name, info->name);
        if (column[c].n == column[0].n)
            continue;
        return check_refuse(e, TRIGD__V1__ERROR__CODE__LENGTHS,
                            "RoI %" PRIu64
                            ": the columns %s and %s of its %s have %zu and %zu values; "
                            "columns of one length are allowed",
                            token, info->column[0].name, info->column[c].name, info->name,
                            column[0].n, column[c].n);
    }
    return 0;
}

/* Checks the columns of a collection, with their values or without, and refers to them. */
static int check_collection(const struct wire_decoder *d, uint32_t kind, uint32_t slot,
                            const struct scan_column *column, bool is_read, struct wire_roi *w,
                            struct wire_error *e)
{
    const struct trg_collection *info = kind_info(kind);
    struct wire_collection *ret = &w->collection[slot];
    const size_t n = column[0].n;
    int r = 0;

    for (uint32_t c = 0; c < info->n_columns; c++)
        ret->column[c] = column[c].data;
    if (check_lengths(info, column, w->token, e) < 0 ||
        check_count(kind, n, d->limits.max_items, w->token, e) < 0)
        return -EBADMSG;
    if (is_read && ret->is_encoded)
        r = check_encoded(kind, n, ret->column, d->limits.max_layer, w->token, e);
    else if (is_read)
        r = check_values(kind, n, ret->column, d->limits.max_layer, w->token, e);
    if (r < 0)
        return -EBADMSG;
    ret->n = (uint32_t)n;
    ret->kind = (uint8_t)kind;
    ret->is_there = true;
    return 0;
}

uint32_t wire_slot(const struct wire_roi *w, uint32_t kind)
{
    uint32_t slot = kind < WIRE_DECLARED ? kind : WIRE_DECLARED;

    if (kind < WIRE_DECLARED)
        return w->collection[slot].is_there ? WIRE_SLOTS : slot;
    while (slot < WIRE_SLOTS && w->collection[slot].is_there)
        if (w->collection[slot++].kind == kind)
            return WIRE_SLOTS;
    return slot;
}

/* Takes the offsets and steps of an encoded collection. */
static int take_encodings(uint32_t kind, const struct scan_declared *m, struct wire_collection *c,
                          struct wire_roi *w, struct wire_error *e)
{
    const struct trg_collection *info = kind_info(kind);
    const uint32_t n = encoding_sent(info);

    if (!encoding_count(info))
        return check_refuse(e, TRIGD__V1__ERROR__CODE__MALFORMED,
                            "RoI %" PRIu64 ": its %s are encoded; none of their columns may be",
                            w->token, info->name);
    if (m->offset.n != n || m->step.n != n)
        return check_refuse(e, TRIGD__V1__ERROR__CODE__LENGTHS,
                            "RoI %" PRIu64 ": its encoded %s have %zu offsets and %zu steps; %u of "
                            "each are allowed",
                            w->token, info->name, m->offset.n, m->step.n, n);
    return wire_take_encodings(kind, m->offset.data, m->step.data, c, w, e);
}

int wire_take_encodings(uint32_t kind, const void *offsets, const void *steps,
                        struct wire_collection *c, struct wire_roi *w, struct wire_error *ret_error)
{
    const uint32_t n = encoding_sent(kind_info(kind));

    c->is_encoded = true;
    c->first = (uint8_t)w->n_encodings;
    for (uint32_t i = 0; i < n; i++) {
        struct trg_encoding *x = &w->encoding[w->n_encodings++];

        memcpy(&x->offset, (const unsigned char *)offsets + i * sizeof x->offset, sizeof x->offset);
        memcpy(&x->step, (const unsigned char *)steps + i * sizeof x->step, sizeof x->step);
    }
    return check_encodings(kind, wire_sent(w, c), w->token, ret_error);
}

/* A collection in Columns.  Takes bytes of columns, leaves their items. */
static int check_declared(const struct wire_decoder *d, struct scan_declared *m, bool is_read,
                          struct wire_roi *w, struct wire_error *e)
{
    const uint32_t kind = kind_of_hash(m->hash);
    const struct trg_collection *info = kind_info(kind);
    const uint32_t slot = wire_slot(w, kind);

    if (!info)
        return check_refuse(e, TRIGD__V1__ERROR__CODE__UNKNOWN,
                            "RoI %" PRIu64 ": no collection has the hash %016" PRIx64
                            "; those that Welcome lists are allowed",
                            w->token, m->hash);
    if (slot == WIRE_SLOTS) /* there are as many places as Columns are allowed */
        return check_refuse(e, TRIGD__V1__ERROR__CODE__MALFORMED,
                            "RoI %" PRIu64 ": it holds %s twice; once is allowed", w->token,
                            info->name);
    if (m->n_columns != info->n_columns)
        return check_refuse(e, TRIGD__V1__ERROR__CODE__LENGTHS,
                            "RoI %" PRIu64 ": its %s have %u columns; %u are allowed", w->token,
                            info->name, m->n_columns, info->n_columns);
    if (m->is_encoded && take_encodings(kind, m, &w->collection[slot], w, e) < 0)
        return -EBADMSG;
    for (uint32_t c = 0; c < m->n_columns; c++) {
        const size_t size = encoding_item_bytes(kind, m->is_encoded, c);

        if (!size || m->column[c].n % size) /* no declaration has a type without bytes */
            return check_refuse(
                e, TRIGD__V1__ERROR__CODE__LENGTHS,
                "RoI %" PRIu64
                ": column %s of its %s%s has %zu bytes; %zu for each item are allowed",
                w->token, info->column[c].name, m->is_encoded ? "encoded " : "", info->name,
                m->column[c].n, size);
        m->column[c].n /= size;
    }
    return check_collection(d, kind, slot, m->column, is_read, w, e);
}

/* The same of a message that was unpacked. */
static int check_columns(const struct wire_decoder *d, const Trigd__V1__Columns *m,
                         struct wire_roi *w, struct wire_error *e)
{
    const ProtobufCBinaryData *from = m->n_encoded ? m->encoded : m->column;
    struct scan_declared s = {.hash = m->hash,
                              .n_columns = (uint32_t)(m->n_encoded ? m->n_encoded : m->n_column),
                              .is_encoded = m->n_encoded,
                              .offset = {m->n_offset, m->offset},
                              .step = {m->n_step, m->step}};

    if (m->n_encoded && m->n_column)
        return check_refuse(e, TRIGD__V1__ERROR__CODE__MALFORMED,
                            "RoI %" PRIu64
                            ": Columns hold %zu columns and %zu encoded ones; one of "
                            "the two is allowed",
                            w->token, m->n_column, m->n_encoded);
    for (size_t c = 0; c < s.n_columns && c < TRG_COLUMNS_MAX; c++)
        s.column[c] = (struct scan_column){from[c].len, from[c].data};
    return check_declared(d, &s, true, w, e);
}

static int check_all_declared(const struct wire_decoder *d, const Trigd__V1__Roi *roi,
                              struct wire_roi *w, struct wire_error *e)
{
    if (roi->n_columns > SCAN_DECLARED)
        return check_refuse(e, TRIGD__V1__ERROR__CODE__TOO_LARGE,
                            "RoI %" PRIu64 ": it holds %zu Columns; at most %u are allowed",
                            w->token, roi->n_columns, SCAN_DECLARED);
    for (size_t i = 0; i < roi->n_columns; i++)
        if (check_columns(d, roi->columns[i], w, e) < 0)
            return -EBADMSG;
    return 0;
}

void wire_begin(struct wire_roi *w, uint64_t token, const struct trg_roi_info *info)
{
    w->token = token;
    w->info = *info;
    w->type = w->deadline_us = w->event_rois = 0;
    w->is_repeat = false;
    w->n_encodings = 0;
    for (uint32_t s = 0; s < WIRE_SLOTS; s++) {
        w->collection[s].n = 0;
        w->collection[s].kind = TRG_KIND_NONE;
        w->collection[s].is_there = w->collection[s].is_encoded = false;
        w->collection[s].first = 0;
    }
}

static void end_roi(const struct wire_roi *w, struct wire_roi *ret_roi)
{
    wire_begin(ret_roi, w->token, &w->info);
    ret_roi->type = w->type;
    ret_roi->deadline_us = w->deadline_us;
    ret_roi->event_rois = w->event_rois;
    ret_roi->is_repeat = w->is_repeat;
    ret_roi->n_encodings = w->n_encodings;
    memcpy(ret_roi->encoding, w->encoding, w->n_encodings * sizeof *w->encoding);
    for (uint32_t s = 0; s < WIRE_SLOTS; s++)
        if (w->collection[s].is_there)
            ret_roi->collection[s] = w->collection[s];
}

int wire_roi(const struct wire_decoder *d, const Trigd__V1__Roi *roi, struct wire_roi *ret_roi,
             struct wire_error *ret_error)
{
    const struct trg_roi_info info = {.run = roi->run,
                                      .l1id = roi->l1id,
                                      .roi_id = roi->roi_id,
                                      .bcid = roi->bcid,
                                      .lumi_block = roi->lumi_block,
                                      .l1_bits = roi->l1_bits,
                                      .eta = roi->eta,
                                      .phi_rad = roi->phi_rad,
                                      .eta_half = roi->eta_half,
                                      .phi_half_rad = roi->phi_half_rad,
                                      .z_min_mm = roi->z_min_mm,
                                      .z_max_mm = roi->z_max_mm};
    struct quantized quantized;
    struct wire_roi w;

    wire_begin(&w, roi->token, &info);
    w.type = roi->type;
    w.deadline_us = roi->deadline_us;
    w.event_rois = roi->event_rois;
    w.is_repeat = roi->is_repeat;
    if (check_window(&w.info, w.token, ret_error) < 0 || check_type(w.type, w.token, ret_error) < 0)
        return -EBADMSG;
    for (uint32_t k = TRG_SPACEPOINTS; k < WIRE_DECLARED; k++) {
        struct scan_column column[TRG_COLUMNS_MAX] = {{0}};

        if (columns_of(roi, k, column) &&
            check_collection(d, k, k, column, true, &w, ret_error) < 0)
            return -EBADMSG;
    }
    if (roi->quantized_spacepoints &&
        check_columns(d, quantized_columns(roi->quantized_spacepoints, &quantized), &w, ret_error) <
            0)
        return -EBADMSG;
    if (roi->n_columns && check_all_declared(d, roi, &w, ret_error) < 0)
        return -EBADMSG;
    end_roi(&w, ret_roi);
    return 0;
}

/* ---------------------------------------------------------------- in place */

uint32_t wire_scan(struct wire_decoder *d, const void *bytes, size_t n)
{
    return n > d->limits.max_message_bytes ? 0 : scan_batch(bytes, n, d->found, d->limits.max_rois);
}

uint64_t wire_scanned_token(const struct wire_decoder *d, uint32_t i)
{
    return d->found[i].token;
}

static int take_scanned(const struct wire_decoder *d, uint32_t i, bool is_read,
                        struct wire_roi *ret_roi, struct wire_error *ret_error)
{
    const struct scan_roi *s = &d->found[i];
    struct wire_roi w;

    wire_begin(&w, s->token, &s->info);
    w.type = s->type;
    w.deadline_us = s->deadline_us;
    w.event_rois = s->event_rois;
    w.is_repeat = s->is_repeat;
    if (check_window(&w.info, w.token, ret_error) < 0 || check_type(w.type, w.token, ret_error) < 0)
        return -EBADMSG;
    for (uint32_t k = TRG_SPACEPOINTS; k < TRG_SPACEPOINTS + SCAN_KINDS; k++)
        if (s->kinds >> k & 1 &&
            check_collection(d, k, k, s->column[k - TRG_SPACEPOINTS], is_read, &w, ret_error) < 0)
            return -EBADMSG;
    for (uint32_t k = 0; k < s->n_declared; k++) {
        struct scan_declared declared = s->declared[k];

        if (check_declared(d, &declared, is_read, &w, ret_error) < 0)
            return -EBADMSG;
    }
    end_roi(&w, ret_roi);
    return 0;
}

int wire_scanned(const struct wire_decoder *d, uint32_t i, struct wire_roi *ret_roi,
                 struct wire_error *ret_error)
{
    return take_scanned(d, i, true, ret_roi, ret_error);
}

int wire_scanned_unread(const struct wire_decoder *d, uint32_t i, struct wire_roi *ret_roi,
                        struct wire_error *ret_error)
{
    return take_scanned(d, i, false, ret_roi, ret_error);
}
