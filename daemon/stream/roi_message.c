/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/roi_message.h"

#include <errno.h>
#include <stdlib.h>

#include "encoding.h"
#include "wire.h"

static void fill_roi(Trigd__V1__Roi *m, const struct roi *r)
{
    m->token = r->token;
    m->run = r->info.run;
    m->l1id = r->info.l1id;
    m->roi_id = r->info.roi_id;
    m->bcid = r->info.bcid;
    m->lumi_block = r->info.lumi_block;
    m->l1_bits = r->info.l1_bits;
    m->type = r->type;
    m->event_rois = r->event_rois;
    m->eta = r->info.eta;
    m->phi_rad = r->info.phi_rad;
    m->eta_half = r->info.eta_half;
    m->phi_half_rad = r->info.phi_half_rad;
    m->z_min_mm = r->info.z_min_mm;
    m->z_max_mm = r->info.z_max_mm;
}

struct collections { /* of one message; point into the pool */
    Trigd__V1__Spacepoints spacepoints;
    Trigd__V1__Hits hits;
    Trigd__V1__Tracks tracks;
    Trigd__V1__Columns columns[WIRE_SLOTS], *list[WIRE_SLOTS]; /* declared or encoded */
    ProtobufCBinaryData column[WIRE_SLOTS][TRG_COLUMNS_MAX];
    struct sent { /* with an encoded one */
        float offset[TRG_COLUMNS_MAX], step[TRG_COLUMNS_MAX];
    } sent[WIRE_SLOTS];
};

static void set_floats(size_t n, void *column, size_t *ret_n, float **ret_values)
{
    *ret_n = n;
    *ret_values = column;
}

static void set_bytes(size_t n, void *column, ProtobufCBinaryData *ret_bytes)
{
    ret_bytes->len = n;
    ret_bytes->data = column;
}

static void set_spacepoints(Trigd__V1__Spacepoints *m, size_t n, void *const *column)
{
    trigd__v1__spacepoints__init(m);
    set_floats(n, column[0], &m->n_phi_rad, &m->phi_rad);
    set_floats(n, column[1], &m->n_rho_mm, &m->rho_mm);
    set_floats(n, column[2], &m->n_z_mm, &m->z_mm);
    set_bytes(n, column[3], &m->layer);
}

static void set_hits(Trigd__V1__Hits *m, size_t n, void *const *column)
{
    trigd__v1__hits__init(m);
    set_floats(n, column[0], &m->n_x_mm, &m->x_mm);
    set_floats(n, column[1], &m->n_y_mm, &m->y_mm);
    set_floats(n, column[2], &m->n_z_mm, &m->z_mm);
    set_bytes(2 * n, column[3], &m->layer);
    m->n_id = n;
    m->id = column[4];
}

static void set_tracks(Trigd__V1__Tracks *m, size_t n, void *const *column)
{
    trigd__v1__tracks__init(m);
    set_floats(n, column[0], &m->n_x_mm, &m->x_mm);
    set_floats(n, column[1], &m->n_y_mm, &m->y_mm);
    set_floats(n, column[2], &m->n_z_mm, &m->z_mm);
    set_floats(n, column[3], &m->n_tx, &m->tx);
    set_floats(n, column[4], &m->n_ty, &m->ty);
    set_floats(n, column[5], &m->n_var_x_mm2, &m->var_x_mm2);
    set_floats(n, column[6], &m->n_var_tx, &m->var_tx);
    set_floats(n, column[7], &m->n_cov_x_tx_mm, &m->cov_x_tx_mm);
    set_floats(n, column[8], &m->n_chi2, &m->chi2);
    set_floats(n, column[9], &m->n_qop_per_gev, &m->qop_per_gev);
    m->n_n_hits = n;
    m->n_hits = column[10];
}

static void set_collection(Trigd__V1__Roi *m, struct collections *c, uint32_t kind, size_t n,
                           void *const *column)
{
    switch (kind) {
    case TRG_SPACEPOINTS:
        set_spacepoints(&c->spacepoints, n, column);
        m->spacepoints = &c->spacepoints;
        break;
    case TRG_HITS:
        set_hits(&c->hits, n, column);
        m->hits = &c->hits;
        break;
    case TRG_TRACKS:
        set_tracks(&c->tracks, n, column);
        m->tracks = &c->tracks;
        break;
    default:
        break;
    }
}

/* A collection as Columns, whose column[] the caller has. */
static void fill_columns(Trigd__V1__Columns *m, const struct pool *pool, uint32_t kind,
                         const struct roi_collection *from, ProtobufCBinaryData *column)
{
    const struct trg_collection *info = kind_info(kind);

    trigd__v1__columns__init(m);
    m->hash = info->hash;
    *(from->is_encoded ? &m->n_encoded : &m->n_column) = info->n_columns;
    *(from->is_encoded ? &m->encoded : &m->column) = column;
    for (uint32_t i = 0; i < info->n_columns; i++)
        set_bytes(from->n * encoding_item_bytes(kind, from->is_encoded, i),
                  pool_column(pool, kind, from, i), &column[i]);
}

/* An encoded one, kept as it came. */
static void fill_encodings(Trigd__V1__Columns *m, const struct pool *pool, const struct roi *r,
                           const struct roi_collection *from, struct sent *sent)
{
    const uint32_t n = encoding_sent(kind_info(from->kind));

    for (uint32_t i = 0; i < n; i++) {
        sent->offset[i] = pool_sent(pool, r, from)[i].offset;
        sent->step[i] = pool_sent(pool, r, from)[i].step;
    }
    m->n_offset = m->n_step = n;
    m->offset = sent->offset;
    m->step = sent->step;
}

static void add_columns(Trigd__V1__Roi *m, struct collections *c, const struct pool *pool,
                        const struct roi *r, const struct roi_collection *from)
{
    const size_t n = m->n_columns++;

    fill_columns(&c->columns[n], pool, from->kind, from, c->column[n]);
    if (from->is_encoded)
        fill_encodings(&c->columns[n], pool, r, from, &c->sent[n]);
    c->list[n] = &c->columns[n];
    m->columns = c->list;
}

/* What the RoI came with. */
static void fill_collections(Trigd__V1__Roi *m, struct collections *c, const struct pool *pool,
                             const struct roi *r)
{
    for (uint32_t s = 0; s < WIRE_SLOTS; s++) {
        const struct roi_collection *from = &r->in[s];
        void *column[TRG_COLUMNS_MAX] = {NULL};

        if (!from->is_there)
            continue;
        if (s >= WIRE_DECLARED || from->is_encoded) {
            add_columns(m, c, pool, r, from);
            continue;
        }
        for (uint32_t i = 0; i < kind_info(from->kind)->n_columns; i++)
            column[i] = pool_column(pool, from->kind, from, i);
        set_collection(m, c, from->kind, from->n, column);
    }
}

/* ---------------------------------------------------------------- products */

struct product { /* of one message; points into the pool */
    Trigd__V1__Product message;
    Trigd__V1__Columns columns;
    ProtobufCBinaryData column[TRG_COLUMNS_MAX];
};

static uint32_t count_products(const struct roi_content *c, const struct roi *r)
{
    uint32_t n = 0;

    for (uint64_t left = c->products & r->done; left; left &= left - 1)
        n += c->menu->steps[__builtin_ctzll(left)].plugin->n_outputs;
    return n;
}

/* Lists what the steps made; returns how many there are of at most count_products. */
static size_t list_products(const struct pool *pool, const struct roi *r,
                            const struct roi_content *c, struct product *p,
                            Trigd__V1__Product **list)
{
    size_t n = 0;

    for (uint64_t left = c->products & r->done; left; left &= left - 1) {
        const uint32_t step = (uint32_t)__builtin_ctzll(left);
        const struct plugin *plugin = c->menu->steps[step].plugin;

        for (uint32_t k = 0; k < plugin->n_outputs; k++) {
            const struct roi_collection *from = &pool_steps(pool, r)[step].product[k];

            if (!from->is_there)
                continue;
            trigd__v1__product__init(&p[n].message);
            p[n].message.step = step;
            p[n].message.columns = &p[n].columns;
            fill_columns(&p[n].columns, pool, plugin->produces[k], from, p[n].column);
            list[n] = &p[n].message;
            n++;
        }
    }
    return n;
}

/* ---------------------------------------------------------------- the whole */

static int pack(Trigd__V1__Roi *m, struct roi_message **ret_message)
{
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    struct roi_message *p;
    size_t bytes;

    batch.n_rois = 1;
    batch.rois = &m;
    bytes = trigd__v1__roi_batch__get_packed_size(&batch);
    p = malloc(sizeof *p + bytes);
    if (!p)
        return -ENOMEM;
    *p = (struct roi_message){.bytes = bytes, .run = m->run, .lumi_block = m->lumi_block};
    trigd__v1__roi_batch__pack(&batch, p->packed);
    *ret_message = p;
    return 0;
}

int roi_message_pack(const struct pool *pool, const struct roi *r,
                     const struct roi_content *content, struct roi_message **ret_message)
{
    const uint32_t n = content->kept ? count_products(content, r) : 0;
    Trigd__V1__Roi m = TRIGD__V1__ROI__INIT;
    Trigd__V1__Product **list = NULL;
    struct product *products = NULL;
    struct collections c;
    int result = 0;

    if (n) {
        products = calloc(n, sizeof *products);
        list = calloc(n, sizeof *list);
        if (!products || !list)
            result = -ENOMEM;
        else
            content->kept->n_products = list_products(pool, r, content, products, list);
        if (content->kept)
            content->kept->products = list;
    }
    fill_roi(&m, r);
    m.kept = content->kept;
    if (content->has_payload)
        fill_collections(&m, &c, pool, r);
    if (result == 0)
        result = pack(&m, ret_message);
    if (n) {
        content->kept->n_products = 0;
        content->kept->products = NULL;
    }
    free(products);
    free(list);
    return result;
}
