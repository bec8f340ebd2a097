/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples.collections.h"

const struct wire_limits sample_limits = {
    .max_message_bytes = 1u << 20, .max_rois = 8, .max_items = 1000, .max_layer = 31};

static void init_spacepoints(struct sample *s, uint32_t n)
{
    Trigd__V1__Spacepoints *p = &s->spacepoints;

    trigd__v1__spacepoints__init(p);
    p->n_phi_rad = p->n_rho_mm = p->n_z_mm = p->layer.len = n;
    p->phi_rad = s->value[0];
    p->rho_mm = s->value[1];
    p->z_mm = s->value[2];
    p->layer.data = s->sp_layer;
}

static void init_quantized(struct sample *s, uint32_t n)
{
    Trigd__V1__QuantizedSpacepoints *q = &s->quantized;

    trigd__v1__quantized_spacepoints__init(q);
    q->phi0_rad = -3.125f;
    q->phi_step_rad = 0x1p-14f; /* up to 0.875 */
    q->rho0_mm = 25;
    q->rho_step_mm = 0x1p-6f;
    q->z0_mm = -500;
    q->z_step_mm = 0x1p-6f;
    q->phi = (ProtobufCBinaryData){2 * (size_t)n, s->number[0]};
    q->rho = (ProtobufCBinaryData){2 * (size_t)n, s->number[1]};
    q->z = (ProtobufCBinaryData){2 * (size_t)n, s->number[2]};
    q->layer = (ProtobufCBinaryData){n, s->sp_layer};
}

void sample_encode(struct sample *s)
{
    s->roi.spacepoints = NULL;
    s->is_encoded = true;
    s->columns_list[s->roi.n_columns++] = quantized_columns(&s->quantized, &s->encoded);
    s->roi.columns = s->columns_list;
}

void sample_quantize(struct sample *s)
{
    s->roi.spacepoints = NULL;
    s->roi.quantized_spacepoints = &s->quantized;
}

static void init_hits(struct sample *s, uint32_t n)
{
    Trigd__V1__Hits *h = &s->hits;

    trigd__v1__hits__init(h);
    h->n_x_mm = h->n_y_mm = h->n_z_mm = h->n_id = n;
    h->layer.len = 2 * (size_t)n;
    h->x_mm = s->value[3];
    h->y_mm = s->value[4];
    h->z_mm = s->value[5];
    h->layer.data = s->hit_layer;
    h->id = s->id;
}

static void init_tracks(struct sample *s, uint32_t n)
{
    Trigd__V1__Tracks *t = &s->tracks;

    trigd__v1__tracks__init(t);
    t->n_x_mm = t->n_y_mm = t->n_z_mm = t->n_tx = t->n_ty = t->n_var_x_mm2 = t->n_var_tx =
        t->n_cov_x_tx_mm = t->n_chi2 = t->n_qop_per_gev = t->n_n_hits = n;
    t->x_mm = s->value[6];
    t->y_mm = s->value[7];
    t->z_mm = s->value[8];
    t->tx = s->value[9];
    t->ty = s->value[10];
    t->var_x_mm2 = s->value[11];
    t->var_tx = s->value[12];
    t->cov_x_tx_mm = s->value[13];
    t->chi2 = s->value[14];
    t->qop_per_gev = s->value[15];
    t->n_hits = s->n_hits;
}

static void init_roi(struct sample *s)
{
    trigd__v1__roi__init(&s->roi);
    s->roi.token = 7;
    s->roi.run = 1;
    s->roi.l1id = 2;
    s->roi.eta = 0.5f;
    s->roi.phi_rad = 1;
    s->roi.eta_half = 0.1f;
    s->roi.phi_half_rad = 0.1f;
    s->roi.z_min_mm = -200;
    s->roi.z_max_mm = 200;
    s->roi.spacepoints = &s->spacepoints;
    s->roi.hits = &s->hits;
    s->roi.tracks = &s->tracks;
}

static void wrap(struct sample *s)
{
    trigd__v1__to_daemon__init(&s->message);
    trigd__v1__roi_batch__init(&s->batch);
    s->list[0] = &s->roi;
    s->batch.n_rois = 1;
    s->batch.rois = s->list;
    s->message.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
    s->message.batch = &s->batch;
}

void sample_init(struct sample *s, uint32_t n)
{
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < SAMPLE_ITEMS; i++) {
        for (uint32_t c = 0; c < 16; c++)
            s->value[c][i] = (float)i / SAMPLE_ITEMS;
        for (uint32_t c = 0; c < 3; c++) {
            s->number[c][2 * i] = (uint8_t)i;
            s->number[c][2 * i + 1] = (uint8_t)(i >> 8);
        }
        s->sp_layer[i] = (uint8_t)(i % 20);
        s->hit_layer[2 * i] = (uint8_t)(i % 32);
        s->id[i] = i;
        s->n_hits[i] = 8;
    }
    init_spacepoints(s, n);
    init_quantized(s, n);
    init_hits(s, n);
    init_tracks(s, n);
    init_roi(s);
    wrap(s);
}

uint32_t sample_declare(struct sample *s, uint32_t n)
{
    unsigned char *at = s->values;
    char why[256];
    uint32_t kind;

    if (kind_add(&trg_samples, &kind, why, sizeof why) < 0) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    trigd__v1__columns__init(&s->columns);
    s->columns.hash = trg_samples.hash;
    s->columns.n_column = trg_samples.n_columns;
    s->columns.column = s->column;
    for (uint32_t c = 0; c < trg_samples.n_columns; c++) {
        const struct trg_column *column = &trg_samples.column[c];

        s->column[c] = (ProtobufCBinaryData){n * trg_column_bytes(column), at};
        for (uint32_t i = 0; i < n * column->length; i++, at += trg_type_size(column->type)) {
            const uint32_t value = column->type == TRG_F32   ? 0x3f800000 /* 1 */
                                   : column->type == TRG_F16 ? 0x3c00     /* 1 */
                                                             : 10 + i % 10;

            memcpy(at, &value, trg_type_size(column->type));
        }
    }
    s->columns_list[0] = &s->columns;
    s->columns_list[1] = &s->encoded.columns;
    s->roi.n_columns = s->is_encoded ? 2 : 1;
    s->roi.columns = s->columns_list;
    return kind;
}

void *sample_pack(const struct sample *s, size_t *ret_bytes)
{
    size_t n = trigd__v1__to_daemon__get_packed_size(&s->message);
    void *bytes = malloc(n ? n : 1);

    if (!bytes) {
        perror("sample_pack");
        exit(1);
    }
    *ret_bytes = trigd__v1__to_daemon__pack(&s->message, bytes);
    return bytes;
}

/* ---------------------------------------------------------------- at random */

uint64_t sample_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0 to n, small numbers and n itself often. */
static uint32_t random_count(uint64_t *state, uint32_t n)
{
    switch (sample_random(state) % 4) {
    case 0:
        return (uint32_t)(sample_random(state) % 4);
    case 1:
        return n;
    default:
        return (uint32_t)(sample_random(state) % (n + 1));
    }
}

/* Any finite value >= 0, of any size down to the subnormal ones. */
static float random_float(uint64_t *state)
{
    uint32_t bits = (uint32_t)sample_random(state) & 0x7fffffffu;
    float v;

    if ((bits & 0x7f800000u) == 0x7f800000u)
        bits &= ~0x00800000u;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static void random_values(struct sample *s, uint64_t *state)
{
    for (uint32_t i = 0; i < SAMPLE_ITEMS; i++) {
        for (uint32_t c = 0; c < 16; c++)
            s->value[c][i] = random_float(state);
        s->value[0][i] = (float)((double)(sample_random(state) >> 11) * 0x1p-53 * 6.28 - 3.14);
        s->value[2][i] = -s->value[2][i];
        s->value[15][i] = -s->value[15][i];
        for (uint32_t c = 0; c < 3; c++)
            memcpy(&s->number[c][2 * i], &(uint16_t){(uint16_t)sample_random(state)}, 2);
        s->sp_layer[i] = (uint8_t)(sample_random(state) % 32);
        s->hit_layer[2 * i] = (uint8_t)(sample_random(state) % 32);
        s->id[i] = (uint32_t)sample_random(state);
        s->n_hits[i] = (uint32_t)sample_random(state);
    }
}

void sample_init_random(struct sample *s, uint64_t *state)
{
    sample_init(s, 0);
    random_values(s, state);
    init_spacepoints(s, random_count(state, sample_limits.max_items));
    init_quantized(s, random_count(state, sample_limits.max_items));
    init_hits(s, random_count(state, sample_limits.max_items));
    init_tracks(s, random_count(state, sample_limits.max_items));
    s->roi.token = sample_random(state);
    s->roi.run = (uint32_t)sample_random(state);
    s->roi.l1id = (uint32_t)sample_random(state);
    s->roi.roi_id = (uint32_t)sample_random(state);
    s->roi.bcid = (uint32_t)sample_random(state);
    s->roi.lumi_block = (uint32_t)sample_random(state);
    s->roi.l1_bits = (uint32_t)sample_random(state);
    s->roi.type = sample_random(state) % ROI_TYPES;
    s->roi.event_rois = sample_random(state) % 2 ? 0 : (uint32_t)sample_random(state);
    s->roi.deadline_us = sample_random(state) % 3 ? 0 : (uint32_t)sample_random(state);
    s->message.batch->deadline_us = sample_random(state) % 3 ? 0 : (uint32_t)sample_random(state);
    s->roi.phi_half_rad = random_float(state);
    s->roi.z_max_mm = s->roi.z_min_mm + (float)(sample_random(state) % 1000);
    if (sample_random(state) % 3 == 0)
        sample_encode(s);
    else if (sample_random(state) % 4 == 0)
        s->roi.spacepoints = NULL;
    if (sample_random(state) % 4 == 0)
        s->roi.hits = NULL;
    if (sample_random(state) % 4 == 0)
        s->roi.tracks = NULL;
}
