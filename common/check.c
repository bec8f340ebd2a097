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

/* ---------------------------------------------------------------- encoded ones */

/* The first value that is not allowed in a column whose encoding the declaration gives. */
static bool find_in_encoded(const struct trg_collection *info, uint32_t c, const void *numbers,
                            size_t n, struct check_fault *f)
{
    const struct trg_column *column = &info->column[c];
    const struct trg_encoding e = trg_column_encoding(info, c);
    const struct values_range r = values_range(column, 0);

    if (encoding_is_within(e, r) ||
        !encoding_find(e, r, numbers, n * column->length, &f->at, &f->value))
        return false;
    f->code = code_of(column, f->value);
    return true;
}

bool check_find_encoded(uint32_t kind, size_t n, const void *const *column, uint32_t max_layer,
                        struct check_fault *ret_fault)
{
    const struct trg_collection *info = kind_info(kind);

    for (uint32_t c = 0; c < info->n_columns; c++) {
        struct check_fault f = {.hash = info->hash, .column = c};

        if (encoding_is_sent(info, c))
            continue; /* check_encodings has looked at all of its numbers */
        if (encoding_is_there(info, c)
                ? !find_in_encoded(info, c, column[c], n, &f)
                : !find_in_column(&info->column[c], column[c], n, max_layer, &f))
            continue;
        *ret_fault = f;
        return true;
    }
    return false;
}

int check_encoded(uint32_t kind, size_t n, const void *const *column, uint32_t max_layer,
                  uint64_t token, struct wire_error *ret_error)
{
    struct check_fault f;

    return check_find_encoded(kind, n, column, max_layer, &f)
               ? check_say(&f, max_layer, token, ret_error)
               : 0;
}

bool check_decode(uint32_t kind, uint32_t column, struct trg_encoding encoding, void *dst,
                  const void *src, size_t n)
{
    const struct trg_column *info = &kind_info(kind)->column[column];
    const struct values_range r = values_range(info, 0);

    encoding_values(encoding, src, n * info->length, dst);
    return !encoding_is_within(encoding, r) && values_suspect(info, r, dst, n);
}

static int check_encoding(const struct trg_collection *info, uint32_t c, struct trg_encoding x,
                          uint64_t token, struct wire_error *e)
{
    const struct trg_column *column = &info->column[c];
    const struct values_range r = values_range(column, 0);
    const double least = (double)x.offset, most = (double)encoding_value(x, ENCODING_MOST);

    if (!isfinite(x.offset) || !isfinite(x.step))
        return check_refuse(
            e, TRIGD__V1__ERROR__CODE__NOT_FINITE,
            "RoI %" PRIu64 ": %s of column %s of its encoded %s is not finite; only "
            "finite numbers are allowed",
            token, isfinite(x.offset) ? "the step" : "the offset", column->name, info->name);
    if (encoding_is_within(x, r))
        return 0;
    if (!isfinite(most))
        return check_refuse(e, TRIGD__V1__ERROR__CODE__NOT_FINITE,
                            "RoI %" PRIu64 ": column %s of its encoded %s reaches from %g to an "
                            "infinite value; only finite numbers are allowed",
                            token, column->name, info->name, least);
    return check_refuse(
        e, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
        "RoI %" PRIu64 ": column %s of its encoded %s reaches from %g to %g; %s%s%s is allowed",
        token, column->name, info->name, least, most, say_range(r, LARGEST, (char[RANGE_TEXT]){0}),
        column->unit[0] ? " " : "", column->unit);
}

int check_encodings(uint32_t kind, const struct trg_encoding *sent, uint64_t token,
                    struct wire_error *ret_error)
{
    const struct trg_collection *info = kind_info(kind);

    for (uint32_t c = 0; c < info->n_columns; c++)
        if (encoding_is_sent(info, c) && check_encoding(info, c, *sent++, token, ret_error) < 0)
            return -EBADMSG;
    return 0;
}

/* ---------------------------------------------------------------- RoIs */

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
