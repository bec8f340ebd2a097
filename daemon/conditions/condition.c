/* SPDX-License-Identifier: Apache-2.0 */
#include "conditions/condition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "values.h"

int condition_new(const struct condition_need *need, uint32_t n, struct condition **ret_condition)
{
    struct condition *c = calloc(1, sizeof *c);

    if (!c)
        return -ENOMEM;
    atomic_store(&c->users, 1);
    strncpy(c->name, need->name, sizeof c->name - 1);
    c->table = need->table;
    c->n = n;
    for (uint32_t k = 0; k < c->table->n_columns; k++) {
        c->column[k] = calloc(n + 1u, trg_column_bytes(&c->table->column[k]));
        if (!c->column[k]) {
            condition_release(c);
            return -ENOMEM;
        }
    }
    *ret_condition = c;
    return 0;
}

void condition_seal(struct condition *c)
{
    uint64_t key =
        hash_more(hash_bytes(&c->table->hash, sizeof c->table->hash), &c->n, sizeof c->n);

    for (uint32_t k = 0; k < c->table->n_columns; k++)
        key = hash_more(key, c->column[k], c->n * trg_column_bytes(&c->table->column[k]));
    c->key = key;
}

struct condition *condition_use(struct condition *c)
{
    if (c)
        atomic_fetch_add(&c->users, 1);
    return c;
}

void condition_release(struct condition *c)
{
    if (!c || atomic_fetch_sub(&c->users, 1) != 1)
        return;
    for (uint32_t k = 0; k < TRG_COLUMNS_MAX; k++)
        free(c->column[k]);
    free(c);
}

/* ---------------------------------------------------------------- for plugins */

static size_t align64(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

size_t condition_bytes(const struct trg_collection *table, uint32_t n)
{
    size_t bytes = align64(sizeof(struct trg_roi_info)) + align64(2 * sizeof(uint32_t));

    for (uint32_t k = 0; k < table->n_columns; k++)
        bytes += align64(n * trg_column_bytes(&table->column[k]));
    return bytes;
}

size_t condition_lay_out(const struct condition *c, unsigned char *dst, struct trg_span *ret_span)
{
    const uint32_t offsets[2] = {0, c->n};
    struct trg_span span = {.n_rois = 1, .n_items = c->n};
    size_t at = align64(sizeof(struct trg_roi_info));

    memset(dst, 0, at);
    span.offsets = (uint32_t)at;
    memcpy(dst + at, offsets, sizeof offsets);
    at += align64(sizeof offsets);
    for (uint32_t k = 0; k < c->table->n_columns; k++) {
        const size_t bytes = c->n * trg_column_bytes(&c->table->column[k]);

        span.column[k] = (uint32_t)at;
        memcpy(dst + at, c->column[k], bytes);
        at += align64(bytes);
    }
    *ret_span = span;
    return at;
}

/* ---------------------------------------------------------------- for people */

static void print_value(const struct trg_column *column, const void *values, size_t at, FILE *out)
{
    fprintf(out, column->type == TRG_F32 ? "%.9g" : "%.0f", values_at(column->type, values, at));
}

static void print_column(const struct condition *c, uint32_t k, FILE *out)
{
    const struct trg_column *column = &c->table->column[k];

    fprintf(out, "    %s: [", column->name);
    for (uint32_t i = 0; i < c->n; i++) {
        fputs(i ? ", " : "", out);
        if (column->length > 1)
            fputc('[', out);
        for (uint32_t v = 0; v < column->length; v++) {
            fputs(v ? ", " : "", out);
            print_value(column, c->column[k], (size_t)i * column->length + v, out);
        }
        if (column->length > 1)
            fputc(']', out);
    }
    fputs("]\n", out);
}

void condition_print(const struct condition *c, FILE *out)
{
    fprintf(out, "  %s:\n", c->name);
    for (uint32_t k = 0; k < c->table->n_columns; k++)
        print_column(c, k, out);
}
