/* SPDX-License-Identifier: Apache-2.0 */
#include "layouts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "layouts.pb-c.h"

#define PHI_STEP  1e-5f /* of Varints */
#define MM_STEP   1e-2f
#define PHI_SHORT (3.14159265f / 32768) /* of Shorts */
#define MM_SHORT  (1.0f / 32)
#define ROW       13u /* bytes of a point: three floats and a layer */

static void *pack(const ProtobufCMessage *m, size_t *ret_bytes)
{
    void *bytes = malloc(protobuf_c_message_get_packed_size(m));

    if (bytes)
        *ret_bytes = protobuf_c_message_pack(m, bytes);
    return bytes;
}

static void copy_floats(struct points *dst, const float *phi, const float *rho, const float *z)
{
    memcpy(dst->phi, phi, dst->n * sizeof(float));
    memcpy(dst->rho, rho, dst->n * sizeof(float));
    memcpy(dst->z, z, dst->n * sizeof(float));
}

/* ---------------------------------------------------------------- columns */

static void *pack_columns(const struct points *p, size_t *ret_bytes)
{
    Trigd__Layouts__Columns m = TRIGD__LAYOUTS__COLUMNS__INIT;

    m.n_phi = m.n_rho = m.n_z = m.layer.len = p->n;
    m.phi = p->phi;
    m.rho = p->rho;
    m.z = p->z;
    m.layer.data = p->layer;
    return pack(&m.base, ret_bytes);
}

static void read_columns(const ProtobufCMessage *base, struct points *dst)
{
    const Trigd__Layouts__Columns *m = (const void *)base;

    copy_floats(dst, m->phi, m->rho, m->z);
    memcpy(dst->layer, m->layer.data, dst->n);
}

/* ---------------------------------------------------------------- layers as integers */

static void *pack_ints(const struct points *p, size_t *ret_bytes)
{
    Trigd__Layouts__ColumnsInts m = TRIGD__LAYOUTS__COLUMNS_INTS__INIT;
    uint32_t *layer = calloc(p->n, sizeof *layer);
    void *bytes;

    if (!layer)
        return NULL;
    for (uint32_t i = 0; i < p->n; i++)
        layer[i] = p->layer[i];
    m.n_phi = m.n_rho = m.n_z = m.n_layer = p->n;
    m.phi = p->phi;
    m.rho = p->rho;
    m.z = p->z;
    m.layer = layer;
    bytes = pack(&m.base, ret_bytes);
    free(layer);
    return bytes;
}

static void read_ints(const ProtobufCMessage *base, struct points *dst)
{
    const Trigd__Layouts__ColumnsInts *m = (const void *)base;

    copy_floats(dst, m->phi, m->rho, m->z);
    for (uint32_t i = 0; i < dst->n; i++)
        dst->layer[i] = (uint8_t)m->layer[i];
}

/* ---------------------------------------------------------------- one field of bytes */

static void *pack_fixed(const struct points *p, size_t *ret_bytes)
{
    Trigd__Layouts__Fixed m = TRIGD__LAYOUTS__FIXED__INIT;
    size_t column = p->n * sizeof(float);
    void *bytes;

    m.n = p->n;
    m.data.len = (size_t)ROW * p->n;
    m.data.data = malloc(m.data.len);
    if (!m.data.data)
        return NULL;
    memcpy(m.data.data, p->phi, column);
    memcpy(m.data.data + column, p->rho, column);
    memcpy(m.data.data + 2 * column, p->z, column);
    memcpy(m.data.data + 3 * column, p->layer, p->n);
    bytes = pack(&m.base, ret_bytes);
    free(m.data.data);
    return bytes;
}

static void read_fixed(const ProtobufCMessage *base, struct points *dst)
{
    const Trigd__Layouts__Fixed *m = (const void *)base;
    size_t column = dst->n * sizeof(float);

    memcpy(dst->phi, m->data.data, column);
    memcpy(dst->rho, m->data.data + column, column);
    memcpy(dst->z, m->data.data + 2 * column, column);
    memcpy(dst->layer, m->data.data + 3 * column, dst->n);
}

/* ---------------------------------------------------------------- quantized */

static void *pack_varints(const struct points *p, size_t *ret_bytes)
{
    Trigd__Layouts__Varints m = TRIGD__LAYOUTS__VARINTS__INIT;
    int32_t *q = calloc(3 * (size_t)p->n, sizeof *q);
    void *bytes;

    if (!q)
        return NULL;
    m.n_phi = m.n_rho = m.n_z = m.layer.len = p->n;
    m.phi = q;
    m.rho = q + p->n;
    m.z = q + 2 * (size_t)p->n;
    m.layer.data = p->layer;
    for (uint32_t i = 0; i < p->n; i++) {
        m.phi[i] = (int32_t)lrintf(p->phi[i] / PHI_STEP);
        m.rho[i] = (int32_t)lrintf(p->rho[i] / MM_STEP);
        m.z[i] = (int32_t)lrintf(p->z[i] / MM_STEP);
    }
    bytes = pack(&m.base, ret_bytes);
    free(q);
    return bytes;
}

static void scale(const int32_t *q, float step, uint32_t n, float *dst)
{
    for (uint32_t i = 0; i < n; i++)
        dst[i] = (float)q[i] * step;
}

static void read_varints(const ProtobufCMessage *base, struct points *dst)
{
    const Trigd__Layouts__Varints *m = (const void *)base;

    scale(m->phi, PHI_STEP, dst->n, dst->phi);
    scale(m->rho, MM_STEP, dst->n, dst->rho);
    scale(m->z, MM_STEP, dst->n, dst->z);
    memcpy(dst->layer, m->layer.data, dst->n);
}

static void *pack_shorts(const struct points *p, size_t *ret_bytes)
{
    Trigd__Layouts__Shorts m = TRIGD__LAYOUTS__SHORTS__INIT;
    int16_t *q = calloc(3 * (size_t)p->n, sizeof *q);
    void *bytes;

    if (!q)
        return NULL;
    for (uint32_t i = 0; i < p->n; i++) {
        q[i] = (int16_t)lrintf(p->phi[i] / PHI_SHORT);
        q[p->n + i] = (int16_t)lrintf(p->rho[i] / MM_SHORT);
        q[2 * (size_t)p->n + i] = (int16_t)lrintf(p->z[i] / MM_SHORT);
    }
    m.phi.len = m.rho.len = m.z.len = p->n * sizeof *q;
    m.layer.len = p->n;
    m.phi.data = (uint8_t *)q;
    m.rho.data = (uint8_t *)(q + p->n);
    m.z.data = (uint8_t *)(q + 2 * (size_t)p->n);
    m.layer.data = p->layer;
    bytes = pack(&m.base, ret_bytes);
    free(q);
    return bytes;
}

static void widen(const uint8_t *bytes, float step, uint32_t n, float *dst)
{
    for (uint32_t i = 0; i < n; i++) {
        int16_t q;

        memcpy(&q, bytes + 2 * (size_t)i, sizeof q);
        dst[i] = (float)q * step;
    }
}

static void read_shorts(const ProtobufCMessage *base, struct points *dst)
{
    const Trigd__Layouts__Shorts *m = (const void *)base;

    widen(m->phi.data, PHI_SHORT, dst->n, dst->phi);
    widen(m->rho.data, MM_SHORT, dst->n, dst->rho);
    widen(m->z.data, MM_SHORT, dst->n, dst->z);
    memcpy(dst->layer, m->layer.data, dst->n);
}

/* ---------------------------------------------------------------- one record a value */

static void *pack_unpacked(const struct points *p, size_t *ret_bytes)
{
    Trigd__Layouts__Unpacked m = TRIGD__LAYOUTS__UNPACKED__INIT;

    m.n_phi = m.n_rho = m.n_z = m.layer.len = p->n;
    m.phi = p->phi;
    m.rho = p->rho;
    m.z = p->z;
    m.layer.data = p->layer;
    return pack(&m.base, ret_bytes);
}

static void read_unpacked(const ProtobufCMessage *base, struct points *dst)
{
    const Trigd__Layouts__Unpacked *m = (const void *)base;

    copy_floats(dst, m->phi, m->rho, m->z);
    memcpy(dst->layer, m->layer.data, dst->n);
}

static void *pack_nested(const struct points *p, size_t *ret_bytes)
{
    Trigd__Layouts__Nested m = TRIGD__LAYOUTS__NESTED__INIT;
    Trigd__Layouts__Point *point = calloc(p->n, sizeof *point);
    Trigd__Layouts__Point **list = calloc(p->n, sizeof *list);
    void *bytes = NULL;

    for (uint32_t i = 0; point && list && i < p->n; i++) {
        trigd__layouts__point__init(&point[i]);
        point[i].phi = p->phi[i];
        point[i].rho = p->rho[i];
        point[i].z = p->z[i];
        point[i].layer = p->layer[i];
        list[i] = &point[i];
    }
    m.n_points = p->n;
    m.points = list;
    if (point && list)
        bytes = pack(&m.base, ret_bytes);
    free(point);
    free(list);
    return bytes;
}

static void read_nested(const ProtobufCMessage *base, struct points *dst)
{
    const Trigd__Layouts__Nested *m = (const void *)base;

    for (uint32_t i = 0; i < dst->n; i++) {
        dst->phi[i] = m->points[i]->phi;
        dst->rho[i] = m->points[i]->rho;
        dst->z[i] = m->points[i]->z;
        dst->layer[i] = (uint8_t)m->points[i]->layer;
    }
}

#define LAYOUT(name) &trigd__layouts__##name##__descriptor
const struct layout layouts[] = {
    {"packed floats, bytes for layers (ours)", LAYOUT(columns), pack_columns, read_columns, 0},
    {"packed floats, packed integers for layers", LAYOUT(columns_ints), pack_ints, read_ints, 0},
    {"one field of bytes, columns in it", LAYOUT(fixed), pack_fixed, read_fixed, 0},
    {"quantized, packed sint32", LAYOUT(varints), pack_varints, read_varints, MM_STEP},
    {"quantized, 16-bit numbers in bytes", LAYOUT(shorts), pack_shorts, read_shorts, MM_SHORT},
    {"unpacked repeated floats", LAYOUT(unpacked), pack_unpacked, read_unpacked, 0},
    {"a message for each spacepoint", LAYOUT(nested), pack_nested, read_nested, 0},
    {NULL, NULL, NULL, NULL, 0},
};
