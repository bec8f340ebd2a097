/* SPDX-License-Identifier: Apache-2.0 */
#include "points.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recode.h"
#include "trigd.pb-c.h"

/* A number from 0 to 1 (splitmix64). */
static float draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (float)(z >> 40) * 0x1p-24f;
}

static void fill(struct points *p)
{
    static const float radius[8] = {50.5f, 88.5f, 122.5f, 299, 371, 443, 514, 554};
    uint64_t state = 1;

    for (uint32_t i = 0; i < p->n; i++) {
        p->layer[i] = (uint8_t)(i % 8);
        p->rho[i] = radius[i % 8] + draw(&state);
        p->phi[i] = 0.9f + 0.2f * draw(&state);
        p->z[i] = 400 * draw(&state) - 200;
    }
}

int points_new(uint32_t n, struct points *ret_points)
{
    struct points p = {.n = n,
                       .phi = calloc(n, sizeof(float)),
                       .rho = calloc(n, sizeof(float)),
                       .z = calloc(n, sizeof(float)),
                       .layer = calloc(n, 1)};

    if (!p.phi || !p.rho || !p.z || !p.layer) {
        points_free(&p);
        return -ENOMEM;
    }
    fill(&p);
    *ret_points = p;
    return 0;
}

void points_free(struct points *p)
{
    free(p->phi);
    free(p->rho);
    free(p->z);
    free(p->layer);
    memset(p, 0, sizeof *p);
}

static void *pack(Trigd__V1__Roi *roi, uint64_t token, size_t *ret_bytes)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    void *bytes;

    roi->token = token;
    roi->run = 1;
    roi->l1id = (uint32_t)token; /* an event of its own */
    roi->l1_bits = 1;
    roi->phi_rad = 1;
    roi->eta_half = roi->phi_half_rad = 0.1f;
    roi->z_min_mm = -200;
    roi->z_max_mm = 200;
    batch.n_rois = 1;
    batch.rois = &roi;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_BATCH;
    m.batch = &batch;
    bytes = malloc(trigd__v1__to_daemon__get_packed_size(&m));
    if (bytes)
        *ret_bytes = trigd__v1__to_daemon__pack(&m, bytes);
    return bytes;
}

void *points_message(const struct points *p, uint64_t token, size_t *ret_bytes)
{
    Trigd__V1__Roi roi = TRIGD__V1__ROI__INIT;
    Trigd__V1__Spacepoints s = TRIGD__V1__SPACEPOINTS__INIT;

    s.n_phi_rad = s.n_rho_mm = s.n_z_mm = s.layer.len = p->n;
    s.phi_rad = p->phi;
    s.rho_mm = p->rho;
    s.z_mm = p->z;
    s.layer.data = p->layer;
    roi.spacepoints = &s;
    return pack(&roi, token, ret_bytes);
}

void *points_encoded_message(const struct points *p, uint64_t token, size_t *ret_bytes)
{
    const size_t n = p->n * sizeof(float);
    Trigd__V1__Roi roi = TRIGD__V1__ROI__INIT;
    Trigd__V1__Columns plain = TRIGD__V1__COLUMNS__INIT, *list;
    ProtobufCBinaryData column[TRG_SPACEPOINTS_COLUMNS] = {
        {n, (uint8_t *)p->phi}, {n, (uint8_t *)p->rho}, {n, (uint8_t *)p->z}, {p->n, p->layer}};
    struct recode encoded;
    void *bytes = NULL;

    plain.hash = trg_spacepoints.hash;
    plain.n_column = TRG_SPACEPOINTS_COLUMNS;
    plain.column = column;
    list = &encoded.columns;
    roi.n_columns = 1;
    roi.columns = &list;
    if (recode_encoded(&plain, &encoded) == 0)
        bytes = pack(&roi, token, ret_bytes);
    recode_fini(&encoded);
    return bytes;
}
