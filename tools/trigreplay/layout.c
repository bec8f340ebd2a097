/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include <errno.h>
#include <string.h>

bool layout_find(const char *name, enum layout *ret_layout)
{
    if (!strcmp(name, "plain"))
        *ret_layout = LAYOUT_PLAIN;
    else if (!strcmp(name, "encoded"))
        *ret_layout = LAYOUT_ENCODED;
    else
        return false;
    return true;
}

void layout_room_fini(struct layout_room *room)
{
    for (uint32_t i = 0; i < LAYOUT_PARTS; i++)
        recode_fini(&room->part[i]);
    room->n = 0;
}

/* Spacepoints as Columns. */
static Trigd__V1__Columns *as_columns(const Trigd__V1__Spacepoints *s, struct layout_room *room)
{
    const size_t n = sizeof(float);

    room->column[0] = (ProtobufCBinaryData){n * s->n_phi_rad, (uint8_t *)s->phi_rad};
    room->column[1] = (ProtobufCBinaryData){n * s->n_rho_mm, (uint8_t *)s->rho_mm};
    room->column[2] = (ProtobufCBinaryData){n * s->n_z_mm, (uint8_t *)s->z_mm};
    room->column[3] = s->layer;
    trigd__v1__columns__init(&room->columns);
    room->columns.hash = trg_spacepoints.hash;
    room->columns.n_column = TRG_SPACEPOINTS_COLUMNS;
    room->columns.column = room->column;
    return &room->columns;
}

/* Lists one, in the layout that is wanted. */
static int add(enum layout layout, Trigd__V1__Columns *m, struct layout_room *room)
{
    struct recode *part = &room->part[room->n];
    int r = 0;

    if (room->n == LAYOUT_PARTS)
        return -E2BIG;
    room->list[room->n++] = m;
    if (!recode_can(m->hash) || (m->n_encoded > 0) == (layout == LAYOUT_ENCODED))
        return 0;
    r = layout == LAYOUT_ENCODED ? recode_encoded(m, part) : recode_plain(m, part);
    room->list[room->n - 1] = &part->columns;
    return r;
}

int layout_apply(enum layout layout, Trigd__V1__Roi *roi, struct layout_room *room)
{
    int r = 0;

    if (layout == LAYOUT_AS_MADE)
        return 0;
    layout_room_fini(room);
    if (layout == LAYOUT_ENCODED && roi->spacepoints) {
        r = add(layout, as_columns(roi->spacepoints, room), room);
        roi->spacepoints = NULL;
    }
    if (r == 0 && roi->quantized_spacepoints) {
        r = add(layout, quantized_columns(roi->quantized_spacepoints, &room->quantized), room);
        roi->quantized_spacepoints = NULL;
    }
    for (size_t i = 0; r == 0 && i < roi->n_columns; i++)
        r = add(layout, roi->columns[i], room);
    roi->n_columns = room->n;
    roi->columns = room->list;
    return r;
}
