/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/raw.h"

#include <string.h>

#include "exec/pull.h"

static size_t begin_of(uint32_t kind, uint32_t n_rois)
{
    return stage_head_bytes(n_rois) + pull_bytes(kind, n_rois);
}

static size_t column_bytes(uint32_t kind, const struct stage_source *s, uint32_t c)
{
    return s->n * encoding_item_bytes(kind, s->is_encoded, c);
}

bool raw_is_worth(uint32_t kind, uint32_t n_rois, const struct stage_source *sources, size_t room)
{
    const uint32_t n_columns = kind_info(kind)->n_columns;
    size_t bytes = begin_of(kind, n_rois), values = 0;
    bool has_encoded = false;

    for (uint32_t r = 0; r < n_rois; r++) {
        has_encoded |= sources[r].is_encoded && sources[r].n;
        values += sources[r].n * kind_item_size(kind);
        for (uint32_t c = 0; c < n_columns; c++)
            bytes += arena_align(column_bytes(kind, &sources[r], c));
    }
    return has_encoded && values >= PULL_LEAST && bytes <= room;
}

void raw_fill(uint32_t kind, uint32_t n_rois, const struct stage_source *sources,
              unsigned char *block, struct arena_source *ret_to)
{
    const uint32_t n_columns = kind_info(kind)->n_columns;
    size_t at = begin_of(kind, n_rois);

    for (uint32_t r = 0; r < n_rois; r++) {
        ret_to[r].at = at;
        ret_to[r].place = ARENA_BLOCK;
        ret_to[r].capacity = sources[r].n;
        ret_to[r].region = ret_to[r].epoch = 0;
        for (uint32_t c = 0; sources[r].n && c < n_columns; c++) {
            const size_t bytes = column_bytes(kind, &sources[r], c);

            memcpy(block + at, sources[r].column[c], bytes);
            at += arena_align(bytes);
        }
    }
}
