/* SPDX-License-Identifier: Apache-2.0 */
#include "shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trigd.pb-c.h"

struct columns { /* of one RoI; they lie in its unpacked message */
    Trigd__V1__Roi *message;
    struct shm_roi entry;      /* places are from the RoI's own start */
    uint32_t kind[SHM_PLACES]; /* TRG_KIND_NONE: nothing is there */
    const void *column[SHM_PLACES][TRG_COLUMNS_MAX];
    struct quantum quantum; /* of its spacepoints, with SHM_QUANTIZED */
    uint64_t bytes;
};

struct shared {
    uint32_t n;
    struct columns roi[];
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

static void give_quantized(const Trigd__V1__QuantizedSpacepoints *s, struct given *g,
                           struct quantum *ret_quantum)
{
    const ProtobufCBinaryData *const numbers[QUANTUM_COLUMNS] = {&s->phi, &s->rho, &s->z};

    for (uint32_t c = 0; c < QUANTUM_COLUMNS; c++) /* half a number makes the lengths unequal */
        give(g, c, numbers[c]->len / 2 + numbers[c]->len % 2, numbers[c]->data);
    give(g, QUANTUM_COLUMNS, s->layer.len, s->layer.data);
    *ret_quantum = (struct quantum){.offset = {s->phi0_rad, s->rho0_mm, s->z0_mm},
                                    .step = {s->phi_step_rad, s->rho_step_mm, s->z_step_mm}};
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

static bool is_quantized(const struct columns *r, uint32_t kind)
{
    return kind == TRG_SPACEPOINTS && r->entry.kinds & SHM_QUANTIZED;
}

/* Lays one collection out behind those before it, at its own place or in the list. */
static int add_collection(struct columns *r, uint32_t kind, const struct given *g)
{
    const bool is_listed = r->entry.kinds & SHM_LISTED;
    uint32_t place = is_listed ? 0 : kind - TRG_SPACEPOINTS;
    struct shm_collection *c;

    while (is_listed && place < SHM_PLACES && r->kind[place])
        place++;
    if (place == SHM_PLACES)
        return -E2BIG;
    for (uint32_t i = 0; i < kind_info(kind)->n_columns; i++) {
        if (g->n[i] != g->n[0] || g->n[i] > UINT32_MAX)
            return -EBADMSG;
        r->column[place][i] = g->data[i];
    }
    if (!is_listed)
        r->entry.kinds |= 1u << kind;
    r->kind[place] = kind;
    c = &r->entry.in[place];
    c->hash = is_listed ? (uint32_t)kind_info(kind)->hash : 0;
    c->at = r->bytes;
    c->n = (uint32_t)g->n[0];
    r->bytes += shm_collection_bytes(kind, is_quantized(r, kind), c->n);
    return 0;
}

static int add_declared(struct columns *r, const Trigd__V1__Columns *m)
{
    const uint32_t kind = kind_of_hash(m->hash);
    const struct trg_collection *info = kind_info(kind);
    struct given g;

    if (!info || m->n_column != info->n_columns)
        return -EBADMSG; /* the file's header does not declare it so */
    for (uint32_t c = 0; c < info->n_columns; c++) {
        const size_t size = trg_column_bytes(&info->column[c]);

        if (!size || m->column[c].len % size)
            return -EBADMSG;
        give(&g, c, m->column[c].len / size, m->column[c].data);
    }
    return add_collection(r, kind, &g);
}

static int add_all(struct columns *r)
{
    const Trigd__V1__Roi *m = r->message;
    struct given g;
    int error = 0;

    r->entry.kinds = m->n_columns ? SHM_LISTED : 0;
    if (m->spacepoints) {
        give_spacepoints(m->spacepoints, &g);
        error = add_collection(r, TRG_SPACEPOINTS, &g);
    }
    if (error == 0 && m->quantized_spacepoints) {
        r->entry.kinds |= SHM_QUANTIZED;
        give_quantized(m->quantized_spacepoints, &g, &r->quantum);
        error = add_collection(r, TRG_SPACEPOINTS, &g);
    }
    if (error == 0 && m->hits) {
        give_hits(m->hits, &g);
        error = add_collection(r, TRG_HITS, &g);
    }
    if (error == 0 && m->tracks) {
        give_tracks(m->tracks, &g);
        error = add_collection(r, TRG_TRACKS, &g);
    }
    for (size_t i = 0; error == 0 && i < m->n_columns; i++)
        error = add_declared(r, m->columns[i]);
    return error;
}

static int unpack(const struct source_roi *from, struct columns *r)
{
    const Trigd__V1__Roi *m;
    int error;

    r->message = trigd__v1__roi__unpack(NULL, from->n, from->bytes);
    if (!r->message)
        return -EBADMSG;
    m = r->message;
    r->entry.type = m->type;
    r->entry.info = (struct trg_roi_info){.run = m->run,
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
    error = add_all(r);
    if (m->deadline_us) {
        r->entry.kinds |= SHM_DEADLINE;
        r->entry.type |= (m->deadline_us < SHM_DEADLINE_MAX ? m->deadline_us : SHM_DEADLINE_MAX)
                         << SHM_DEADLINE_AT;
    }
    r->entry.kinds |= (m->event_rois < 255 ? m->event_rois : 255) << SHM_EVENT_AT;
    return error;
}

int shared_new(const struct source *s, struct shared **ret_shared)
{
    struct shared *all = calloc(1, sizeof *all + s->n * sizeof all->roi[0]);

    if (!all)
        return -ENOMEM;
    all->n = s->n;
    for (uint32_t i = 0; i < s->n; i++) {
        int r = unpack(&s->roi[i], &all->roi[i]);

        if (r < 0) {
            shared_free(all);
            return r;
        }
    }
    *ret_shared = all;
    return 0;
}

void shared_free(struct shared *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->roi[i].message)
            trigd__v1__roi__free_unpacked(s->roi[i].message, NULL);
    free(s);
}

/* ---------------------------------------------------------------- to memory */

uint64_t shared_bytes(const struct shared *s, uint32_t which)
{
    return s->roi[which].bytes;
}

void shared_write(const struct shared *s, uint32_t which, uint64_t at, void *dst,
                  struct shm_roi *ret_roi)
{
    const struct columns *r = &s->roi[which];

    *ret_roi = r->entry;
    for (uint32_t k = 0; k < SHM_PLACES; k++) {
        const uint32_t kind = r->kind[k];
        const struct trg_collection *info = kind_info(kind);
        const struct shm_collection *c = &r->entry.in[k];

        if (!kind)
            continue;
        if (is_quantized(r, kind))
            memcpy((unsigned char *)dst + c->at, &r->quantum, sizeof r->quantum);
        for (uint32_t i = 0; c->n && i < info->n_columns; i++)
            memcpy((unsigned char *)dst + c->at + shm_column(kind, is_quantized(r, kind), c->n, i),
                   r->column[k][i], c->n * quantum_item_bytes(kind, is_quantized(r, kind), i));
        ret_roi->in[k].at = at + c->at;
    }
}
