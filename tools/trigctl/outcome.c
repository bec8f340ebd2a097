/* SPDX-License-Identifier: Apache-2.0 */
#include "outcome.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "values.h"

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

static size_t column_bytes(const struct trg_column *column, uint32_t capacity)
{
    return ((size_t)capacity * trg_column_bytes(column) + 3) & ~(size_t)3;
}

static int init_product(struct outcome *o, uint32_t k, uint32_t kind, uint32_t capacity,
                        unsigned char garbage)
{
    const struct trg_collection *info = kind_info(kind);
    size_t at = 0;

    for (uint32_t c = 0; c < info->n_columns; c++)
        at += column_bytes(&info->column[c], capacity) + GUARD_BYTES;
    o->data[k] = malloc(at);
    if (!o->data[k])
        return -ENOMEM;
    memset(o->data[k], garbage, at);
    o->output[k].capacity = capacity;
    at = 0;
    for (uint32_t c = 0; c < info->n_columns; c++) {
        o->output[k].column[c] = o->data[k] + at;
        at += column_bytes(&info->column[c], capacity);
        memset(o->data[k] + at, GUARD, GUARD_BYTES);
        at += GUARD_BYTES;
    }
    return 0;
}

int outcome_init(struct outcome *o, const struct plugin *p, const uint32_t *capacity,
                 unsigned char garbage)
{
    memset(o, 0, sizeof *o);
    for (uint32_t k = 0; k < p->n_outputs; k++) {
        int r = init_product(o, k, p->produces[k], capacity[k], garbage);

        if (r < 0) {
            outcome_fini(o);
            return r;
        }
    }
    return 0;
}

void outcome_fini(struct outcome *o)
{
    for (uint32_t k = 0; k < TRG_OUTPUTS_MAX; k++) {
        free(o->data[k]);
        o->data[k] = NULL;
    }
}

/* ---------------------------------------------------------------- one answer */

static bool is_guarded(const struct outcome *o, uint32_t k, const struct trg_collection *info,
                       char *why, size_t bytes)
{
    const struct trg_output *out = &o->output[k];

    for (uint32_t c = 0; c < info->n_columns; c++) {
        const unsigned char *end =
            (const unsigned char *)out->column[c] + column_bytes(&info->column[c], out->capacity);

        if (end < o->data[k])
            return no(why, bytes, "the pointer to column %s was changed", info->column[c].name);
        for (uint32_t i = 0; i < GUARD_BYTES; i++)
            if (end[i] != GUARD)
                return no(why, bytes, "column %s of %s is written past its capacity of %u items",
                          info->column[c].name, info->name, out->capacity);
    }
    return true;
}

static bool has_finite_columns(const struct trg_output *out, const struct trg_collection *info,
                               char *why, size_t bytes)
{
    for (uint32_t c = 0; c < info->n_columns; c++) {
        const float *f = out->column[c];

        for (uint32_t i = 0; info->column[c].type == TRG_F32 && i < out->n; i++)
            if (!isfinite(f[i]))
                return no(why, bytes, "item %u of column %s is %g", i, info->column[c].name,
                          (double)f[i]);
    }
    return true;
}

static bool is_product_valid(const struct outcome *o, const struct plugin *p, uint32_t k, char *why,
                             size_t bytes)
{
    const struct trg_collection *info = kind_info(p->produces[k]);
    const struct trg_output *out = &o->output[k];

    if (!is_guarded(o, k, info, why, bytes))
        return false;
    if (out->n > out->capacity)
        return no(why, bytes, "%u %s, but there is room for %u", out->n, info->name, out->capacity);
    return has_finite_columns(out, info, why, bytes);
}

bool outcome_is_valid(const struct outcome *o, const struct plugin *p, char *why, size_t bytes)
{
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
    for (uint32_t k = 0; k < p->n_outputs; k++)
        if (!is_product_valid(o, p, k, why, bytes))
            return false;
    return true;
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

static bool near_column(const struct trg_output *a, const struct trg_output *b,
                        const struct trg_column *info, uint32_t c, double tolerance, char *why,
                        size_t bytes)
{
    const size_t size = trg_type_size(info->type);
    const char *x = a->column[c], *y = b->column[c];

    for (size_t i = 0; i < (size_t)a->n * info->length; i++) {
        double u, v;

        if (!memcmp(x + i * size, y + i * size, size))
            continue;
        if (info->type != TRG_F32 && info->type != TRG_F16)
            return no(why, bytes, "item %zu of column %s differs", i / info->length, info->name);
        u = values_at(info->type, x, i);
        v = values_at(info->type, y, i);
        if (!is_near((float)u, (float)v, tolerance))
            return no(why, bytes, "item %zu of column %s is %.9g and %.9g", i / info->length,
                      info->name, u, v);
    }
    return true;
}

/* Whether two products are: the same integers, and floats as in outcome_is_close. */
static bool is_near_product(const struct trg_output *a, const struct trg_output *b, uint32_t kind,
                            double tolerance, char *why, size_t bytes)
{
    const struct trg_collection *info = kind_info(kind);

    if (a->n != b->n)
        return no(why, bytes, "there are %u and %u %s", a->n, b->n, info->name);
    for (uint32_t c = 0; c < info->n_columns; c++)
        if (!near_column(a, b, &info->column[c], c, tolerance, why, bytes))
            return false;
    return true;
}

bool outcome_is_close(const struct outcome *a, const struct outcome *b, const struct plugin *p,
                      double tolerance, char *why, size_t bytes)
{
    if (!same_numbers(&a->result, &b->result, why, bytes))
        return false;
    for (uint32_t i = 0; i < p->n_values; i++)
        if (!is_near(a->result.value[i], b->result.value[i], tolerance))
            return no(why, bytes, "value %s is %.9g and %.9g", p->d.values[i].name,
                      (double)a->result.value[i], (double)b->result.value[i]);
    for (uint32_t k = 0; k < p->n_outputs; k++)
        if (!is_near_product(&a->output[k], &b->output[k], p->produces[k], tolerance, why, bytes))
            return false;
    return true;
}

bool outcome_is_same(const struct outcome *a, const struct outcome *b, const struct plugin *p,
                     char *why, size_t bytes)
{
    return outcome_is_close(a, b, p, 0, why, bytes);
}
