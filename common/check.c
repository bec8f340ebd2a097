/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "values.h"

#define MAX_ANGLE 3.1416f /* pi, and what rounding may add */
#define MAX_ETA   10.0f
#define LARGEST   3.402823e38 /* just below FLT_MAX */

int check_refuse(struct wire_error *e, Trigd__V1__Error__Code code, const char *format, ...)
{
    va_list args;

    e->code = code;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    return -EBADMSG;
}

static bool is_within(float v, struct values_range r)
{
    return v >= (float)r.least && v <= (float)r.most;
}

#define RANGE_TEXT 48
/* A range that ends at the largest number there is has no upper end. */
static const char *say_range(struct values_range r, double largest, char *text)
{
    if (r.most < largest)
        snprintf(text, RANGE_TEXT, "%g to %g", r.least, r.most);
    else
        snprintf(text, RANGE_TEXT, "%g or more", r.least);
    return text;
}

static bool is_float(const struct trg_column *column)
{
    return column->type == TRG_F32 || column->type == TRG_F16;
}

static Trigd__V1__Error__Code code_of(const struct trg_column *column, double value)
{
    return !is_float(column) || isfinite(value) ? TRIGD__V1__ERROR__CODE__OUT_OF_RANGE
                                                : TRIGD__V1__ERROR__CODE__NOT_FINITE;
}

/* The first value of a column that is not allowed. */
static bool find_in_column(const struct trg_column *column, const void *bytes, size_t n,
                           uint32_t max_layer, struct check_fault *f)
{
    const struct values_range r = values_range(column, max_layer);

    if (!values_suspect(column, r, bytes, n) ||
        !values_find(column, r, bytes, n, &f->at, &f->value))
        return false;
    f->code = code_of(column, f->value);
    return true;
}

bool check_find(uint32_t kind, size_t n, const void *const *column, uint32_t max_layer,
                struct check_fault *ret_fault)
{
    const struct trg_collection *info = kind_info(kind);

    for (uint32_t c = 0; c < info->n_columns; c++) {
        struct check_fault f = {.hash = info->hash, .column = c};

        if (!column[c] || !find_in_column(&info->column[c], column[c], n, max_layer, &f))
            continue;
        *ret_fault = f;
        return true;
    }
    return false;
}

struct check_fault check_fault_of(uint32_t kind, uint32_t column, size_t at, const void *bits)
{
    const struct trg_collection *info = kind_info(kind);
    const double value = values_at(info->column[column].type, bits, 0);

    return (struct check_fault){.code = code_of(&info->column[column], value),
                                .hash = info->hash,
                                .column = column,
                                .value = value,
                                .at = at};
}

bool check_is_fault(const struct check_fault *f)
{
    const struct trg_collection *info = kind_info(kind_of_hash(f->hash));

    return info && f->column < info->n_columns &&
           (f->code == TRIGD__V1__ERROR__CODE__OUT_OF_RANGE ||
            f->code == TRIGD__V1__ERROR__CODE__NOT_FINITE);
}

int check_say(const struct check_fault *f, uint32_t max_layer, uint64_t token,
              struct wire_error *ret_error)
{
    const struct trg_collection *info = kind_info(kind_of_hash(f->hash));
    const struct trg_column *column = &info->column[f->column];

    const struct values_range r = values_range(column, max_layer);
    char text[RANGE_TEXT];

    if (column->flags & TRG_COLUMN_LAYER)
        return check_refuse(ret_error, f->code,
                            "RoI %" PRIu64 ": layer %g in its %s; %g to %g are allowed", token,
                            f->value, info->name, r.least, r.most);
    if (f->code == TRIGD__V1__ERROR__CODE__NOT_FINITE)
        return check_refuse(
            ret_error, f->code,
            "RoI %" PRIu64 ": value %zu of column %s of its %s is %s; only finite numbers "
            "are allowed",
            token, f->at, column->name, info->name, isnan(f->value) ? "not a number" : "infinite");
    return check_refuse(ret_error, f->code,
                        "RoI %" PRIu64
                        ": value %zu of column %s of its %s is %g; %s%s%s is allowed",
                        token, f->at, column->name, info->name, f->value,
                        say_range(r, is_float(column) ? LARGEST : (double)UINT32_MAX, text),
                        column->unit[0] ? " " : "", column->unit);
}

int check_count(uint32_t kind, size_t n, uint32_t max_items, uint64_t token,
                struct wire_error *ret_error)
{
    if (n <= max_items)
        return 0;
    return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__TOO_LARGE,
                        "RoI %" PRIu64 ": %zu %s; at most %u are allowed", token, n,
                        kind_info(kind)->name, max_items);
}

bool check_copy(uint32_t kind, uint32_t column, void *dst, const void *src, size_t n,
                uint32_t max_layer)
{
    const struct trg_column *info = &kind_info(kind)->column[column];

    memcpy(dst, src,
           n * trg_column_bytes(info)); /* it fits the second cache: a look costs little */
    return values_suspect(info, values_range(info, max_layer), dst, n);
}

int check_values(uint32_t kind, size_t n, const void *const *column, uint32_t max_layer,
                 uint64_t token, struct wire_error *ret_error)
{
    struct check_fault f;

    return check_find(kind, n, column, max_layer, &f) ? check_say(&f, max_layer, token, ret_error)
                                                      : 0;
}

/* A value is between those of the least and the largest number, as rounding keeps order. */
static int check_quantum(const struct trg_column *column, const struct quantum *q, uint32_t c,
                         uint64_t token, struct wire_error *e)
{
    const struct values_range r = values_range(column, 0);
    const float least = q->offset[c], most = quantum_value(q, c, QUANTUM_MOST);

    if (!isfinite(least) || !isfinite(q->step[c]))
        return check_refuse(e, TRIGD__V1__ERROR__CODE__NOT_FINITE,
                            "RoI %" PRIu64
                            ": %s of column %s of its quantized spacepoints is not finite; only "
                            "finite numbers are allowed",
                            token, isfinite(least) ? "the step" : "the offset", column->name);
    if (is_within(least, r) && is_within(most, r))
        return 0;
    if (!isfinite(most))
        return check_refuse(e, TRIGD__V1__ERROR__CODE__NOT_FINITE,
                            "RoI %" PRIu64
                            ": column %s of its quantized spacepoints reaches from %g to an "
                            "infinite value; only finite numbers are allowed",
                            token, column->name, (double)least);
    return check_refuse(e, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
                        "RoI %" PRIu64
                        ": column %s of its quantized spacepoints reaches from %g to %g; "
                        "%s %s is allowed",
                        token, column->name, (double)least, (double)most,
                        say_range(r, LARGEST, (char[RANGE_TEXT]){0}), column->unit);
}

int check_quantized(const struct quantum *q, size_t n, const void *layer, uint32_t max_layer,
                    uint64_t token, struct wire_error *ret_error)
{
    const struct trg_collection *info = kind_info(TRG_SPACEPOINTS);
    struct check_fault f;

    for (uint32_t c = 0; c < QUANTUM_COLUMNS; c++)
        if (check_quantum(&info->column[c], q, c, token, ret_error) < 0)
            return -EBADMSG;
    f = (struct check_fault){.hash = info->hash, .column = QUANTUM_COLUMNS};
    return find_in_column(&info->column[QUANTUM_COLUMNS], layer, n, max_layer, &f)
               ? check_say(&f, max_layer, token, ret_error)
               : 0;
}

int check_type(uint32_t type, uint64_t token, struct wire_error *ret_error)
{
    if (type < ROI_TYPES)
        return 0;
    return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
                        "RoI %" PRIu64 ": its type is %u; 0 to %u are allowed", token, type,
                        ROI_TYPES - 1);
}

int check_window(const struct trg_roi_info *info, uint64_t token, struct wire_error *ret_error)
{
    const struct {
        const char *name;
        float value;
        struct values_range range;
    } table[] = {
        {"eta", info->eta, {-MAX_ETA, MAX_ETA}},
        {"phi_rad", info->phi_rad, {-MAX_ANGLE, MAX_ANGLE}},
        {"eta_half", info->eta_half, {0, FLT_MAX}},
        {"phi_half_rad", info->phi_half_rad, {0, FLT_MAX}},
        {"z_min_mm", info->z_min_mm, {-FLT_MAX, FLT_MAX}},
        {"z_max_mm", info->z_max_mm, {-FLT_MAX, FLT_MAX}},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (is_within(table[i].value, table[i].range))
            continue;
        if (!isfinite(table[i].value))
            return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__NOT_FINITE,
                                "RoI %" PRIu64
                                ": %s of its window is not finite; only finite numbers are "
                                "allowed",
                                token, table[i].name);
        return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
                            "RoI %" PRIu64 ": %s of its window is %g; %s is allowed", token,
                            table[i].name, (double)table[i].value,
                            say_range(table[i].range, LARGEST, (char[RANGE_TEXT]){0}));
    }
    if (info->z_min_mm <= info->z_max_mm)
        return 0;
    return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
                        "RoI %" PRIu64 ": z_min_mm of its window is %g and z_max_mm %g; z_min_mm "
                        "<= z_max_mm is allowed",
                        token, (double)info->z_min_mm, (double)info->z_max_mm);
}
