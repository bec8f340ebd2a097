/* SPDX-License-Identifier: Apache-2.0 */
/* raw.h - columns that no worker reaches, in the block of an input as they came: the front copies
 * them once, and the device of a lane, or its runner, makes floats of the encoded ones.
 *
 *     [head and tables, which the runner writes] [column 0 of RoI 0] [column 1 of RoI 0] ...
 *
 * Columns begin at multiples of 64 bytes of the block. */
#ifndef TRIGD_RAW_H
#define TRIGD_RAW_H
#include <stdbool.h>

#include "exec/arena.h"
#include "exec/stage.h"

/* Whether to leave an input so: columns of an RoI are encoded, it is more than a few bytes, and
 * there is room for it. */
bool raw_is_worth(uint32_t kind, uint32_t n_rois, const struct stage_source *sources, size_t room);
/* Copies the columns into the block and says in ret_to[n_rois] where they lie. */
void raw_fill(uint32_t kind, uint32_t n_rois, const struct stage_source *sources,
              unsigned char *block, struct arena_source *ret_to);
#endif
