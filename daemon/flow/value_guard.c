/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/value_guard.h"

bool value_guard_find(const struct pool *pool, const struct roi *r, uint32_t kinds,
                      struct check_fault *ret_fault)
{
    for (; kinds; kinds &= kinds - 1) {
        const uint32_t kind = (uint32_t)__builtin_ctz(kinds);
        const struct roi_collection *c = pool_input(r, kind);
        const void *column[TRG_COLUMNS_MAX] = {NULL};

        for (uint32_t i = 0; i < kind_info(kind)->n_columns; i++)
            column[i] = pool_column(pool, kind, c, i);
        if (c->is_encoded ? check_find_encoded(kind, c->n, column, pool->max_layer, ret_fault)
                          : check_find(kind, c->n, column, pool->max_layer, ret_fault))
            return true;
    }
    return false;
}
