/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/stage.h"

#include <string.h>

#include "check.h"

static size_t align64(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

size_t stage_head_bytes(uint32_t n_rois)
{
    return align64((size_t)n_rois * sizeof(struct trg_roi_info)) +
           align64(((size_t)n_rois + 1) * sizeof(uint32_t));
}

size_t stage_bytes(uint32_t kind, uint32_t n_rois, uint32_t n_items)
{
    const struct trg_collection *info = kind_info(kind);
    size_t bytes = stage_head_bytes(n_rois);

    for (uint32_t c = 0; info && c < info->n_columns; c++)
        bytes += align64((size_t)n_items * trg_column_bytes(&info->column[c]));
    return bytes;
}

static void decode_column(uint32_t kind, uint32_t c, const struct stage_source *s, void *dst)
{
    const struct trg_collection *info = kind_info(kind);
    const struct trg_encoding e = encoding_of(info, s->sent, c);

    if (s->guard && !encoding_is_sent(info, c)) /* those that were sent were checked at the door */
        s->guard->is_suspect |= check_decode(kind, c, e, dst, s->column[c], s->n);
    else
        encoding_values(e, s->column[c], (size_t)s->n * info->column[c].length, dst);
}

static size_t fill_column(uint32_t kind, uint32_t n_rois, const struct stage_source *sources,
                          uint32_t c, unsigned char *dst)
{
    const struct trg_collection *info = kind_info(kind);
    const size_t size = trg_column_bytes(&info->column[c]);
    const bool has_encoding = encoding_is_there(info, c);
    size_t at = 0;

    for (uint32_t r = 0; r < n_rois; r++) {
        const struct stage_source *s = &sources[r];
        size_t bytes = s->n * size;

        if (bytes && has_encoding && s->is_encoded)
            decode_column(kind, c, s, dst + at);
        else if (bytes && s->guard)
            s->guard->is_suspect |=
                check_copy(kind, c, dst + at, s->column[c], s->n, s->guard->max_layer);
        else if (bytes)
            memcpy(dst + at, s->column[c], bytes);
        at += bytes;
    }
    return at;
}

/* Looks closely at the copy of one collection that may be wrong. */
static void judge(uint32_t kind, const struct trg_span *span, uint32_t first, uint32_t n,
                  struct stage_guard *guard, unsigned char *dst)
{
    const struct trg_collection *info = kind_info(kind);
    const void *column[TRG_COLUMNS_MAX] = {NULL};

    for (uint32_t c = 0; c < info->n_columns; c++)
        column[c] = dst + span->column[c] + first * trg_column_bytes(&info->column[c]);
    if (!check_find(kind, n, column, guard->max_layer, &guard->fault))
        return;
    for (uint32_t c = 0; c < info->n_columns; c++) {
        size_t size = trg_column_bytes(&info->column[c]);

        memset(dst + span->column[c] + first * size, 0, n * size);
    }
}

static void judge_all(uint32_t kind, const struct trg_span *span,
                      const struct stage_source *sources, unsigned char *dst)
{
    uint32_t first = 0; /* not read from `dst`, which others may write to */

    for (uint32_t r = 0; r < span->n_rois; r++) {
        if (sources[r].guard && sources[r].guard->is_suspect)
            judge(kind, span, first, sources[r].n, sources[r].guard, dst);
        first += sources[r].n;
    }
}

size_t stage_head(uint32_t n_rois, const struct trg_roi_info *rois, unsigned char *dst,
                  struct trg_span *ret_span)
{
    const size_t at = align64(n_rois * sizeof *rois);

    memcpy(dst, rois, n_rois * sizeof *rois);
    *ret_span = (struct trg_span){.n_rois = n_rois, .offsets = (uint32_t)at};
    return stage_head_bytes(n_rois);
}

size_t stage_fill(uint32_t kind, uint32_t n_rois, const struct trg_roi_info *rois,
                  const struct stage_source *sources, unsigned char *dst, struct trg_span *ret_span)
{
    const struct trg_collection *info = kind_info(kind);
    struct trg_span span;
    size_t at = stage_head(n_rois, rois, dst, &span);
    uint32_t *offsets = (uint32_t *)(void *)(dst + span.offsets);

    for (uint32_t r = 0; r < n_rois; r++) {
        offsets[r] = span.n_items;
        span.n_items += sources[r].n;
    }
    offsets[n_rois] = span.n_items;
    for (uint32_t c = 0; c < info->n_columns; c++) {
        span.column[c] = (uint32_t)at;
        at += align64(fill_column(kind, n_rois, sources, c, dst + at));
    }
    judge_all(kind, &span, sources, dst);
    *ret_span = span;
    return at;
}
