/* SPDX-License-Identifier: Apache-2.0 */
#include "quantized.h"

Trigd__V1__Columns *quantized_columns(const Trigd__V1__QuantizedSpacepoints *m,
                                      struct quantized *room)
{
    *room = (struct quantized){.column = {m->phi, m->rho, m->z, m->layer},
                               .offset = {m->phi0_rad, m->rho0_mm, m->z0_mm},
                               .step = {m->phi_step_rad, m->rho_step_mm, m->z_step_mm}};
    trigd__v1__columns__init(&room->columns);
    room->columns.hash = trg_spacepoints.hash;
    room->columns.n_encoded = TRG_SPACEPOINTS_COLUMNS;
    room->columns.encoded = room->column;
    room->columns.n_offset = room->columns.n_step = 3;
    room->columns.offset = room->offset;
    room->columns.step = room->step;
    return &room->columns;
}
