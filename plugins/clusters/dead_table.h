/* SPDX-License-Identifier: Apache-2.0 */
/* dead_table.h - the condition `dead_channels`, sorted for the kernels. */
#ifndef CLUSTERS_DEAD_TABLE_H
#define CLUSTERS_DEAD_TABLE_H
#include "dead.h"
#include "trigd/plugin.h"

struct dead_row {
    uint32_t sensor;
    struct cl_dead dead;
};

/* Sorts the rows of sensors that are there into dead[]; first[n_sensors + 1] says where those of
 * each begin, and the map which columns they have.  `rows` is room for CL_DEAD_ROWS, as dead[] is.
 */
void dead_fill(const struct trg_input *table, const struct cl_par *par, struct dead_row *rows,
               uint32_t *first, uint32_t *map, struct cl_dead *dead);
#endif
