/* SPDX-License-Identifier: Apache-2.0 */
#include "shm_guard.h"

#include <string.h>

#include "check.h"
#include "log.h"

static void look_at(const struct pool *pool, struct roi *r, enum trg_kind kind, uint32_t first,
                    uint32_t n, const struct trg_span *span, unsigned char *staged)
{
    const struct trg_kind_info *info = trg_kind_info(kind);
    const void *column[TRG_COLUMNS_MAX] = {NULL};
    struct wire_error error;

    for (uint32_t c = 0; c < info->n_columns; c++)
        column[c] = staged + span->column[c] + first * trg_type_size(info->column[c].type);
    if (check_values(kind, n, column, pool->max_layer, r->token, &error) == 0)
        return;
    for (uint32_t c = 0; c < info->n_columns; c++) {
        size_t size = trg_type_size(info->column[c].type);

        memset(staged + span->column[c] + first * size, 0, n * size);
    }
    atomic_store_explicit(&r->is_spoilt, true, memory_order_relaxed);
    log_warn("lane", "a client changed an RoI after it had sent it", "run=%u l1id=%u found=\"%s\"",
             r->info.run, r->info.l1id, error.text);
}

void shm_guard(const struct pool *pool, const uint32_t *roi, uint32_t n, enum trg_kind kind,
               const struct trg_span *span, unsigned char *staged)
{
    const uint32_t *offsets = (const uint32_t *)(void *)(staged + span->offsets);

    for (uint32_t i = 0; i < n; i++)
        if (pool->rois[roi[i]].region)
            look_at(pool, &pool->rois[roi[i]], kind, offsets[i], offsets[i + 1] - offsets[i], span,
                    staged);
}
