/* SPDX-License-Identifier: Apache-2.0 */
#include "outcome.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES 64u
#define GUARD       0xa5u

static bool no(char *why, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool no(char *why, size_t bytes, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, bytes, format, args);
    va_end(args);
    return false;
}

static size_t column_bytes(enum trg_type type, uint32_t capacity)
{
    return ((size_t)capacity * trg_type_size(type) + 3) & ~(size_t)3;
}

int outcome_init(struct outcome *o, enum trg_kind kind, uint32_t capacity, unsigned char garbage)
{
    const struct trg_kind_info *info = trg_kind_info(kind);
    size_t at = 0;

    memset(o, 0, sizeof *o);
    if (!info)
        return 0;
    for (uint32_t c = 0; c < info->n_columns; c++)
        at += column_bytes(info->column[c].type, capacity) + GUARD_BYTES;
    o->data = malloc(at);
    if (!o->data)
        return -ENOMEM;
    memset(o->data, garbage, at);
    o->output.capacity = capacity;
    at = 0;
    for (uint32_t c = 0; c < info->n_columns; c++) {
        o->output.column[c] = o->data + at;
        at += column_bytes(info->column[c].type, capacity);
        memset(o->data + at, GUARD, GUARD_BYTES);
        at += GUARD_BYTES;
    }
    return 0;
}

void outcome_fini(struct outcome *o)
{
    free(o->data);
    o->data = NULL;
}

/* ---------------------------------------------------------------- one answer */

static bool is_guarded(const struct outcome *o, const struct trg_kind_info *info, char *why,
                       size_t bytes)
{
    for (uint32_t c = 0; info && c < info->n_columns; c++) {
        const unsigned char *end = (const unsigned char *)o->output.column[c] +
                                   column_bytes(info->column[c].type, o->output.capacity);

        if (end < o->data)
            return no(why, bytes, "the pointer to column %s was changed", info->column[c].name);
        for (uint32_t i = 0; i < GUARD_BYTES; i++)
            if (end[i] != GUARD)
                return no(why, bytes, "column %s is written past its capacity of %u items",
                          info->column[c].name, o->output.capacity);
    }
    return true;
}

static bool has_finite_columns(const struct outcome *o, const struct trg_kind_info *info, char *why,
                               size_t bytes)
{
    for (uint32_t c = 0; info && c < info->n_columns; c++) {
        const float *f = o->output.column[c];

        for (uint32_t i = 0; info->column[c].type == TRG_F32 && i < o->output.n; i++)
            if (!isfinite(f[i]))
                return no(why, bytes, "item %u of column %s is %g", i, info->column[c].name,
                          (double)f[i]);
    }
    return true;
}

bool outcome_is_valid(const struct outcome *o, const struct plugin *p, char *why, size_t bytes)
{
    const struct trg_kind_info *info = trg_kind_info(p->d.produces);
    const struct trg_result *r = &o->result;

    if (r->status > TRG_FAILED)
        return no(why, bytes, "status %u does not exist", r->status);
    if (r->status == TRG_FAILED)
        return no(why, bytes, "status FAILED for an RoI that is allowed");
    if (r->status == TRG_TRUNCATED && r->kept >= r->wanted)
        return no(why, bytes, "TRUNCATED with kept %u and wanted %u", r->kept, r->wanted);
    for (uint32_t i = 0; i < TRG_VALUES_MAX; i++) {
        if (i >= p->n_values && r->value[i] != 0)
            return no(why, bytes, "value %u is set, but there are %u values", i, p->n_values);
        if (!isfinite(r->value[i]))
            return no(why, bytes, "value %s is %g", p->d.values[i].name, (double)r->value[i]);
    }
    if (!is_guarded(o, info, why, bytes))
        return false;
    if (o->output.n > o->output.capacity)
        return no(why, bytes, "%u items, but output_items allowed %u", o->output.n,
                  o->output.capacity);
    return has_finite_columns(o, info, why, bytes);
}

/* ---------------------------------------------------------------- two answers */

static bool is_near(float a, float b, double tolerance)
{
    double scale = fmax(1, fmax(fabs((double)a), fabs((double)b)));

    if (!memcmp(&a, &b, sizeof a))
        return true;
    return tolerance > 0 && fabs((double)a - (double)b) <= tolerance * scale;
}

static bool same_numbers(const struct trg_result *a, const struct trg_result *b, char *why,
                         size_t bytes)
{
    if (a->status != b->status)
        return no(why, bytes, "status is %u and %u", a->status, b->status);
    if (a->wanted != b->wanted || a->kept != b->kept)
        return no(why, bytes, "wanted, kept are %u, %u and %u, %u", a->wanted, a->kept, b->wanted,
                  b->kept);
    return true;
}

static bool near_column(const struct outcome *a, const struct outcome *b,
                        const struct trg_column_info *info, uint32_t c, double tolerance, char *why,
                        size_t bytes)
{
    const size_t size = trg_type_size(info->type);
    const char *x = a->output.column[c], *y = b->output.column[c];

    for (uint32_t i = 0; i < a->output.n; i++) {
        if (!memcmp(x + i * size, y + i * size, size))
            continue;
        if (info->type != TRG_F32)
            return no(why, bytes, "item %u of column %s differs", i, info->name);
        if (!is_near(((const float *)(const void *)x)[i], ((const float *)(const void *)y)[i],
                     tolerance))
            return no(why, bytes, "item %u of column %s is %.9g and %.9g", i, info->name,
                      (double)((const float *)(const void *)x)[i],
                      (double)((const float *)(const void *)y)[i]);
    }
    return true;
}

bool outcome_is_close(const struct outcome *a, const struct outcome *b, const struct plugin *p,
                      double tolerance, char *why, size_t bytes)
{
    const struct trg_kind_info *info = trg_kind_info(p->d.produces);

    if (!same_numbers(&a->result, &b->result, why, bytes))
        return false;
    for (uint32_t i = 0; i < p->n_values; i++)
        if (!is_near(a->result.value[i], b->result.value[i], tolerance))
            return no(why, bytes, "value %s is %.9g and %.9g", p->d.values[i].name,
                      (double)a->result.value[i], (double)b->result.value[i]);
    if (a->output.n != b->output.n)
        return no(why, bytes, "there are %u and %u items", a->output.n, b->output.n);
    for (uint32_t c = 0; info && c < info->n_columns; c++)
        if (!near_column(a, b, &info->column[c], c, tolerance, why, bytes))
            return false;
    return true;
}

bool outcome_is_same(const struct outcome *a, const struct outcome *b, const struct plugin *p,
                     char *why, size_t bytes)
{
    return outcome_is_close(a, b, p, 0, why, bytes);
}
