/* SPDX-License-Identifier: Apache-2.0 */
#include "declared.h"

#include <errno.h>

void declared_fill(uint32_t kinds, struct declared *ret_declared)
{
    struct declared *d = ret_declared;

    d->n = 0;
    for (uint32_t left = kinds; left; left &= left - 1) {
        const struct trg_collection *info = kind_info((uint32_t)__builtin_ctz(left));
        Trigd__V1__Collection *m = &d->collection[d->n];

        trigd__v1__collection__init(m);
        m->name = (char *)info->name;
        m->doc = (char *)info->doc;
        m->hash = info->hash;
        m->room = info->room;
        m->n_columns = info->n_columns;
        m->columns = d->columns[d->n];
        for (uint32_t c = 0; c < info->n_columns; c++) {
            Trigd__V1__Column *k = d->columns[d->n][c] = &d->column[d->n][c];

            trigd__v1__column__init(k);
            k->name = (char *)info->column[c].name;
            k->unit = (char *)info->column[c].unit;
            k->doc = (char *)info->column[c].doc;
            k->type = info->column[c].type;
            k->length = info->column[c].length;
            k->min = info->column[c].min;
            k->max = info->column[c].max;
            k->flags = info->column[c].flags;
            k->offset = trg_column_encoding(info, c).offset;
            k->step = trg_column_encoding(info, c).step;
        }
        d->list[d->n++] = m;
    }
}

int declared_add(const Trigd__V1__Collection *m, uint32_t *ret_kind, char *why, size_t why_bytes)
{
    struct trg_column column[TRG_COLUMNS_MAX];
    struct trg_encoding encoding[TRG_COLUMNS_MAX];
    const struct trg_collection c = {.size = sizeof c,
                                     .n_columns = (uint32_t)m->n_columns,
                                     .name = m->name,
                                     .doc = m->doc,
                                     .room = m->room,
                                     .column_size = sizeof *column,
                                     .hash = m->hash,
                                     .column = column,
                                     .encoding = encoding};

    for (size_t i = 0; i < m->n_columns && i < TRG_COLUMNS_MAX; i++) {
        const Trigd__V1__Column *k = m->columns[i];

        column[i] = (struct trg_column){.name = k->name,
                                        .unit = k->unit,
                                        .doc = k->doc,
                                        .type = k->type,
                                        .length = k->length,
                                        .min = k->min,
                                        .max = k->max,
                                        .flags = k->flags};
        encoding[i] = (struct trg_encoding){k->offset, k->step};
    }
    return kind_add(&c, ret_kind, why, why_bytes);
}
