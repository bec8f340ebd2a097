/* SPDX-License-Identifier: Apache-2.0 */
#include "columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "encoding.h"
#include "kinds.h"
#include "quantized.h"
#include "trigd.pb-c.h"

struct roi_columns { /* of one RoI; they lie in its unpacked message */
    Trigd__V1__Roi *message;
    struct trg_client_roi roi;
    struct trg_client_items items[TRG_CLIENT_PLACES];
    float encoding[TRG_CLIENT_PLACES][2 * TRG_COLUMNS_MAX]; /* of those that are encoded */
    struct quantized quantized;
};

struct columns {
    uint32_t n;
    struct roi_columns roi[];
};

/* ---------------------------------------------------------------- from messages */

struct given { /* the columns of one collection */
    size_t n[TRG_COLUMNS_MAX];
    const void *data[TRG_COLUMNS_MAX];
};

static void give(struct given *g, uint32_t c, size_t n, const void *data)
{
    g->n[c] = n;
    g->data[c] = data;
}

static void give_spacepoints(const Trigd__V1__Spacepoints *s, struct given *g)
{
    give(g, 0, s->n_phi_rad, s->phi_rad);
    give(g, 1, s->n_rho_mm, s->rho_mm);
    give(g, 2, s->n_z_mm, s->z_mm);
    give(g, 3, s->layer.len, s->layer.data);
}

static void give_hits(const Trigd__V1__Hits *h, struct given *g)
{
    give(g, 0, h->n_x_mm, h->x_mm);
    give(g, 1, h->n_y_mm, h->y_mm);
    give(g, 2, h->n_z_mm, h->z_mm);
    give(g, 3, h->layer.len / 2, h->layer.data);
    give(g, 4, h->n_id, h->id);
}

static void give_tracks(const Trigd__V1__Tracks *t, struct given *g)
{
    give(g, 0, t->n_x_mm, t->x_mm);
    give(g, 1, t->n_y_mm, t->y_mm);
    give(g, 2, t->n_z_mm, t->z_mm);
    give(g, 3, t->n_tx, t->tx);
    give(g, 4, t->n_ty, t->ty);
    give(g, 5, t->n_var_x_mm2, t->var_x_mm2);
    give(g, 6, t->n_var_tx, t->var_tx);
    give(g, 7, t->n_cov_x_tx_mm, t->cov_x_tx_mm);
    give(g, 8, t->n_chi2, t->chi2);
    give(g, 9, t->n_qop_per_gev, t->qop_per_gev);
    give(g, 10, t->n_n_hits, t->n_hits);
}

static int add_collection(struct roi_columns *r, uint32_t kind, const struct given *g,
                          const float *encoding)
{
    struct trg_client_items *items = &r->items[r->roi.n_collections];

    if (r->roi.n_collections == TRG_CLIENT_PLACES)
        return -E2BIG;
    *items = (struct trg_client_items){
        .declaration = kind_info(kind), .encoding = encoding, .n = (uint32_t)g->n[0]};
    for (uint32_t i = 0; i < items->declaration->n_columns; i++) {
        if (g->n[i] != g->n[0] || g->n[i] > UINT32_MAX)
            return -EBADMSG;
        items->column[i] = g->data[i];
    }
    r->roi.n_collections++;
    return 0;
}

static int add_columns(struct roi_columns *r, const Trigd__V1__Columns *m)
{
    const uint32_t kind = kind_of_hash(m->hash), place = r->roi.n_collections;
    const struct trg_collection *info = kind_info(kind);
    const bool is_encoded = m->n_encoded;
    const ProtobufCBinaryData *column = is_encoded ? m->encoded : m->column;
    struct given g = {.n = {0}};

    if (!info || (is_encoded ? m->n_encoded : m->n_column) != info->n_columns)
        return -EBADMSG; /* the file's header does not declare it so */
    if (place == TRG_CLIENT_PLACES)
        return -E2BIG;
    for (uint32_t c = 0; c < info->n_columns; c++) {
        const size_t size = encoding_item_bytes(kind, is_encoded, c);

        if (!size || column[c].len % size)
            return -EBADMSG;
        give(&g, c, column[c].len / size, column[c].data);
    }
    if (!is_encoded)
        return add_collection(r, kind, &g, NULL);
    if (m->n_offset != encoding_sent(info) || m->n_step != m->n_offset)
        return -EBADMSG;
    for (size_t i = 0; i < m->n_offset; i++) {
        r->encoding[place][i] = m->offset[i];
        r->encoding[place][m->n_offset + i] = m->step[i];
    }
    return add_collection(r, kind, &g, r->encoding[place]);
}

static int add_all(struct roi_columns *r)
{
    const Trigd__V1__Roi *m = r->message;
    struct given g = {.n = {0}};
    int error = 0;

    if (m->spacepoints) {
        give_spacepoints(m->spacepoints, &g);
        error = add_collection(r, TRG_SPACEPOINTS, &g, NULL);
    }
    if (error == 0 && m->quantized_spacepoints)
        error = add_columns(r, quantized_columns(m->quantized_spacepoints, &r->quantized));
    if (error == 0 && m->hits) {
        give_hits(m->hits, &g);
        error = add_collection(r, TRG_HITS, &g, NULL);
    }
    if (error == 0 && m->tracks) {
        give_tracks(m->tracks, &g);
        error = add_collection(r, TRG_TRACKS, &g, NULL);
    }
    for (size_t i = 0; error == 0 && i < m->n_columns; i++)
        error = add_columns(r, m->columns[i]);
    return error;
}

static int unpack(const struct source_roi *from, struct roi_columns *r)
{
    const Trigd__V1__Roi *m;

    r->message = trigd__v1__roi__unpack(NULL, from->n, from->bytes);
    if (!r->message)
        return -EBADMSG;
    m = r->message;
    r->roi.collections = r->items;
    r->roi.type = m->type;
    r->roi.deadline_us = m->deadline_us;
    r->roi.event_rois = m->event_rois;
    r->roi.info = (struct trg_roi_info){.run = m->run,
                                        .roi_id = m->roi_id,
                                        .bcid = m->bcid,
                                        .lumi_block = m->lumi_block,
                                        .l1_bits = m->l1_bits,
                                        .eta = m->eta,
                                        .phi_rad = m->phi_rad,
                                        .eta_half = m->eta_half,
                                        .phi_half_rad = m->phi_half_rad,
                                        .z_min_mm = m->z_min_mm,
                                        .z_max_mm = m->z_max_mm};
    return add_all(r);
}

int columns_new(const struct source *s, struct columns **ret_columns)
{
    struct columns *all = calloc(1, sizeof *all + s->n * sizeof all->roi[0]);

    if (!all)
        return -ENOMEM;
    all->n = s->n;
    for (uint32_t i = 0; i < s->n; i++) {
        int r = unpack(&s->roi[i], &all->roi[i]);

        if (r < 0) {
            columns_free(all);
            return r;
        }
    }
    *ret_columns = all;
    return 0;
}

void columns_free(struct columns *c)
{
    if (!c)
        return;
    for (uint32_t i = 0; i < c->n; i++)
        if (c->roi[i].message)
            trigd__v1__roi__free_unpacked(c->roi[i].message, NULL);
    free(c);
}

const struct trg_client_roi *columns_roi(const struct columns *c, uint32_t which)
{
    return &c->roi[which].roi;
}
