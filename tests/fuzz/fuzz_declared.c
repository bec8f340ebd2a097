/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes at all as the declaration of a collection (Hello, headers of files), as they are and
 * with the hash that its columns have: a refusal has a sentence; what was taken is bounded, is
 * found by its hash, and says the same when it is written again. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "declared.h"
#include "kinds.h"
#include "want.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* All numbers of an encoding that was taken are finite. */
static void check_encoding(const struct trg_collection *c, uint32_t i)
{
    const struct trg_encoding e = trg_column_encoding(c, i);

    WANT(isfinite(e.offset + e.step * 65535.0f) && e.step >= 0);
    WANT(e.step == 0 ? e.offset == 0 : c->column[i].flags & TRG_COLUMN_ENCODED);
    if (c->column[i].flags & TRG_COLUMN_ENCODED)
        WANT(c->column[i].type == TRG_F32);
}

static void check_taken(const Trigd__V1__Collection *m, uint32_t kind)
{
    const struct trg_collection *c = kind_info(kind);
    struct declared again;

    WANT(c && !strcmp(c->name, m->name) && c->hash == m->hash && kind_of_hash(m->hash) == kind);
    WANT(c->n_columns >= 1 && c->n_columns <= TRG_COLUMNS_MAX && c->n_columns == m->n_columns);
    WANT(trg_collection_hash(c) == c->hash);
    WANT(kind_item_size(kind) >= 1 &&
         kind_item_size(kind) <= 4u * TRG_LENGTH_MAX * TRG_COLUMNS_MAX);
    for (uint32_t i = 0; i < c->n_columns; i++) {
        WANT(trg_column_bytes(&c->column[i]) >= 1);
        WANT(c->column[i].min <= c->column[i].max);
        check_encoding(c, i);
    }
    declared_fill(1u << kind, &again);
    WANT(again.n == 1 && again.list[0]->n_columns == m->n_columns);
    for (size_t i = 0; i < m->n_columns; i++)
        WANT(!strcmp(again.list[0]->columns[i]->name, m->columns[i]->name) &&
             again.list[0]->columns[i]->type == m->columns[i]->type &&
             again.list[0]->columns[i]->step == trg_column_encoding(c, (uint32_t)i).step);
}

static void offer(const Trigd__V1__Collection *m)
{
    char why[512];
    uint32_t kind = 0;
    int r;

    memset(why, 0x55, sizeof why);
    r = declared_add(m, &kind, why, sizeof why);
    if (r == 0) {
        check_taken(m, kind);
        return;
    }
    WANT(r == -EINVAL || r == -ENOSPC);
    WANT(memchr(why, '\0', sizeof why) != NULL && strlen(why) >= 20);
}

/* The hash that the columns have, where there are as many as a collection may have. */
static uint64_t own_hash(const Trigd__V1__Collection *m)
{
    struct trg_column column[TRG_COLUMNS_MAX];
    struct trg_encoding encoding[TRG_COLUMNS_MAX];
    const struct trg_collection c = {.size = sizeof c,
                                     .n_columns = (uint32_t)m->n_columns,
                                     .name = m->name,
                                     .column = column,
                                     .encoding = encoding};

    if (m->n_columns > TRG_COLUMNS_MAX)
        return m->hash;
    for (size_t i = 0; i < m->n_columns; i++) {
        encoding[i] = (struct trg_encoding){m->columns[i]->offset, m->columns[i]->step};
        column[i] = (struct trg_column){.name = m->columns[i]->name,
                                        .unit = m->columns[i]->unit,
                                        .type = m->columns[i]->type,
                                        .length = m->columns[i]->length,
                                        .min = m->columns[i]->min,
                                        .max = m->columns[i]->max,
                                        .flags = m->columns[i]->flags};
    }
    return trg_collection_hash(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    Trigd__V1__Collection *m = trigd__v1__collection__unpack(NULL, n, data);

    if (!m)
        return 0;
    offer(m);
    m->hash = own_hash(m);
    offer(m);
    trigd__v1__collection__free_unpacked(m, NULL);
    return 0;
}
