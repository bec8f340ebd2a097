/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "quantum.h"

bool layout_find(const char *name, enum layout *ret_layout)
{
    if (!strcmp(name, "floats"))
        *ret_layout = LAYOUT_FLOATS;
    else if (!strcmp(name, "quantized"))
        *ret_layout = LAYOUT_QUANTIZED;
    else
        return false;
    return true;
}

void layout_room_fini(struct layout_room *room)
{
    free(room->data);
    room->data = NULL;
}

static void *make_room(struct layout_room *room, size_t bytes)
{
    void *data = realloc(room->data, bytes ? bytes : 1);

    if (data)
        room->data = data;
    return data;
}

static int to_quantized(const Trigd__V1__Spacepoints *s, struct layout_room *room)
{
    Trigd__V1__QuantizedSpacepoints *m = &room->quantized;
    const float *const values[QUANTUM_COLUMNS] = {s->phi_rad, s->rho_mm, s->z_mm};
    ProtobufCBinaryData *const numbers[QUANTUM_COLUMNS] = {&m->phi, &m->rho, &m->z};
    const size_t n = s->n_phi_rad;
    unsigned char *data;
    struct quantum q = {.offset = {0}};

    if (s->n_rho_mm != n || s->n_z_mm != n || s->layer.len != n)
        return -EBADMSG;
    data = make_room(room, (size_t)2 * QUANTUM_COLUMNS * n);
    if (!data)
        return -ENOMEM;
    trigd__v1__quantized_spacepoints__init(m);
    for (uint32_t c = 0; c < QUANTUM_COLUMNS; c++) {
        int r = quantum_fit(values[c], n, c, &q);

        if (r < 0)
            return r;
        *numbers[c] = (ProtobufCBinaryData){.len = 2 * n, .data = data + 2 * n * c};
        quantum_numbers(&q, c, values[c], n, numbers[c]->data);
    }
    m->phi0_rad = q.offset[0];
    m->phi_step_rad = q.step[0];
    m->rho0_mm = q.offset[1];
    m->rho_step_mm = q.step[1];
    m->z0_mm = q.offset[2];
    m->z_step_mm = q.step[2];
    m->layer = s->layer;
    return 0;
}

static int to_floats(const Trigd__V1__QuantizedSpacepoints *m, struct layout_room *room)
{
    const struct quantum q = {.offset = {m->phi0_rad, m->rho0_mm, m->z0_mm},
                              .step = {m->phi_step_rad, m->rho_step_mm, m->z_step_mm}};
    Trigd__V1__Spacepoints *s = &room->floats;
    const size_t n = m->layer.len;
    float *data;

    if (m->phi.len != 2 * n || m->rho.len != 2 * n || m->z.len != 2 * n)
        return -EBADMSG;
    data = make_room(room, QUANTUM_COLUMNS * n * sizeof *data);
    if (!data)
        return -ENOMEM;
    trigd__v1__spacepoints__init(s);
    s->n_phi_rad = s->n_rho_mm = s->n_z_mm = n;
    s->phi_rad = data;
    s->rho_mm = data + n;
    s->z_mm = data + 2 * n;
    quantum_values(&q, 0, m->phi.data, n, s->phi_rad);
    quantum_values(&q, 1, m->rho.data, n, s->rho_mm);
    quantum_values(&q, 2, m->z.data, n, s->z_mm);
    s->layer = m->layer;
    return 0;
}

int layout_apply(enum layout layout, Trigd__V1__Roi *roi, struct layout_room *room)
{
    int r = 0;

    if (layout == LAYOUT_QUANTIZED && roi->spacepoints) {
        r = to_quantized(roi->spacepoints, room);
        if (r == 0) {
            roi->spacepoints = NULL;
            roi->quantized_spacepoints = &room->quantized;
        }
    } else if (layout == LAYOUT_FLOATS && roi->quantized_spacepoints) {
        r = to_floats(roi->quantized_spacepoints, room);
        if (r == 0) {
            roi->quantized_spacepoints = NULL;
            roi->spacepoints = &room->floats;
        }
    }
    return r;
}
