/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes at all are decoded, and what wire.h promises is checked: a refusal has a code and a
 * sentence; what was taken keeps to the limits; memory stays within its bound. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "wire.h"

#include "samples.collections.h"
#include "want.h"

#define MOST_BYTES (1u << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct wire_limits limits = {
    .max_message_bytes = MOST_BYTES, .max_rois = 8, .max_items = 1000, .max_layer = 31};

static void check_refusal(int r, const struct wire_error *e)
{
    WANT(r == -EBADMSG);
    WANT(e->code > TRIGD__V1__ERROR__CODE__NONE && e->code <= TRIGD__V1__ERROR__CODE__UNKNOWN);
    WANT(memchr(e->text, '\0', sizeof e->text) != NULL);
    WANT(strlen(e->text) >= 20 && strlen(e->text) < sizeof e->text - 1);
}

static void check_value(uint32_t kind, const struct trg_column *info, const unsigned char *at)
{
    float v;

    if (!strcmp(info->name, "layer"))
        WANT(at[0] + (info->type == TRG_U16 ? 256u * at[1] : 0) <= limits.max_layer);
    if (info->type != TRG_F32)
        return;
    memcpy(&v, at, sizeof v);
    WANT(isfinite(v));
    WANT(v >= (float)info->min && v <= (float)info->max);
    if (kind == TRG_SPACEPOINTS && !strcmp(info->name, "phi"))
        WANT(fabsf(v) <= 3.1416f);
    if (kind == TRG_SPACEPOINTS && !strcmp(info->name, "rho"))
        WANT(v >= 0);
}

/* Reads every byte of every column, so that the sanitizer sees what does not belong to it. */
static void check_collection(uint32_t kind, const struct wire_collection *c)
{
    const struct trg_collection *info = kind_info(kind);

    WANT(c->n <= limits.max_items);
    WANT(c->is_there || c->n == 0);
    for (uint32_t i = 0; c->n && i < info->n_columns; i++) {
        const unsigned char *at = c->column[i];
        size_t size = trg_type_size(info->column[i].type);

        for (uint32_t k = 0; k < c->n * info->column[i].length; k++)
            check_value(kind, &info->column[i], at + k * size);
    }
}

/* The values of an encoded collection are allowed, too. */
static void check_encoded(const struct wire_roi *w, const struct wire_collection *c)
{
    const struct trg_collection *info = kind_info(c->kind);

    WANT(c->n <= limits.max_items && c->is_there);
    for (uint32_t i = 0; i < info->n_columns; i++) {
        const size_t size = encoding_item_bytes(c->kind, true, i) / info->column[i].length;

        for (uint32_t k = 0; k < c->n * info->column[i].length; k++) {
            const unsigned char *at = (const unsigned char *)c->column[i] + k * size;
            float v;

            if (encoding_is_there(info, i)) {
                encoding_values(encoding_of(info, wire_sent(w, c), i), at, 1, &v);
                at = (const unsigned char *)&v;
            }
            check_value(c->kind, &info->column[i], at);
        }
    }
}

static void check_roi(const struct wire_decoder *d, const Trigd__V1__Roi *roi)
{
    struct wire_error e;
    struct wire_roi w;
    int r = wire_roi(d, roi, &w, &e);

    if (r < 0) {
        check_refusal(r, &e);
        return;
    }
    WANT(w.token == roi->token && w.info.z_min_mm <= w.info.z_max_mm && fabsf(w.info.eta) <= 10);
    WANT(w.info.eta_half >= 0 && w.info.phi_half_rad >= 0);
    for (uint32_t s = 0; s < WIRE_SLOTS; s++)
        if (w.collection[s].is_encoded)
            check_encoded(&w, &w.collection[s]);
        else
            check_collection(w.collection[s].kind, &w.collection[s]);
}

static void check_same(const struct wire_roi *a, const struct wire_roi *b)
{
    WANT(a->token == b->token && !memcmp(&a->info, &b->info, sizeof a->info));
    WANT(a->type == b->type && a->n_encodings == b->n_encodings &&
         !memcmp(a->encoding, b->encoding, a->n_encodings * sizeof *a->encoding));
    for (uint32_t s = 0; s < WIRE_SLOTS; s++) {
        const struct wire_collection *x = &a->collection[s], *y = &b->collection[s];
        const struct trg_collection *info = kind_info(x->kind);

        WANT(x->n == y->n && x->is_encoded == y->is_encoded && x->is_there == y->is_there &&
             x->kind == y->kind);
        for (uint32_t i = 0; x->n && i < info->n_columns; i++)
            WANT(!memcmp(x->column[i], y->column[i],
                         x->n * encoding_item_bytes(x->kind, x->is_encoded, i)));
    }
}

/* What is read in place is what unpacking gives, to the word of a refusal. */
static void check_scan(struct wire_decoder *d, const uint8_t *data, size_t n,
                       const Trigd__V1__ToDaemon *m)
{
    uint32_t found = wire_scan(d, data, n);

    if (!found)
        return;
    WANT(m && m->body_case == TRIGD__V1__TO_DAEMON__BODY_BATCH && m->batch->n_rois == found);
    for (uint32_t i = 0; i < found; i++) {
        struct wire_error e, f;
        struct wire_roi w, v;
        int r = wire_roi(d, m->batch->rois[i], &w, &e);

        WANT(wire_scanned(d, i, &v, &f) == r);
        WANT(wire_scanned_token(d, i) == m->batch->rois[i]->token);
        if (r == 0)
            check_same(&w, &v);
        else
            WANT(e.code == f.code && !strcmp(e.text, f.text));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct wire_decoder *d; /* one for all messages, as in the daemon */
    const Trigd__V1__ToDaemon *m;
    struct wire_error e;
    uint64_t bytes, calls;
    int r;

    if (!d) {
        char why[256];
        uint32_t kind;

        WANT(wire_decoder_new(&limits, &d) == 0 &&
             kind_add(&trg_samples, &kind, why, sizeof why) == 0);
    }
    r = wire_decode(d, data, n, &m, &e);
    wire_decoder_usage(d, &bytes, &calls);
    WANT(bytes <= 4 * MOST_BYTES);
    check_scan(d, data, n, r < 0 ? NULL : m);
    if (r < 0) {
        check_refusal(r, &e);
        return 0;
    }
    if (m->body_case == TRIGD__V1__TO_DAEMON__BODY_HELLO) {
        r = wire_check_name(m->hello->name, &e);
        if (r < 0)
            check_refusal(r, &e);
    }
    if (m->body_case != TRIGD__V1__TO_DAEMON__BODY_BATCH)
        return 0;
    WANT(m->batch->n_rois >= 1 && m->batch->n_rois <= limits.max_rois);
    for (size_t i = 0; i < m->batch->n_rois; i++)
        check_roi(d, m->batch->rois[i]);
    return 0;
}
