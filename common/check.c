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

#define MAX_ANGLE 3.1416f /* pi, and what rounding may add */
#define MAX_ETA   10.0f

int check_refuse(struct wire_error *e, Trigd__V1__Error__Code code, const char *format, ...)
{
    va_list args;

    e->code = code;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    return -EBADMSG;
}

struct range {
    float least, most;
};

/* What a float column may hold. */
static struct range range_of(const char *name)
{
    if (!strcmp(name, "phi"))
        return (struct range){-MAX_ANGLE, MAX_ANGLE};
    if (!strcmp(name, "rho") || !strcmp(name, "var_x") || !strcmp(name, "var_tx"))
        return (struct range){0, FLT_MAX};
    return (struct range){-FLT_MAX, FLT_MAX};
}

struct extremes {     /* of the bits of floats */
    uint32_t largest; /* magnitude; that of an infinity or a NaN is over all others */
    uint32_t any;     /* all together: the sign bit tells of a negative one, or of a -0 */
};

/* One pass that vectorizes: the magnitude of a float grows with its bits. */
static inline __attribute__((always_inline)) struct extremes
look_through(const unsigned char *bytes, size_t n)
{
    struct extremes x = {0, 0};

    for (size_t i = 0; i < n; i++) {
        uint32_t u, magnitude;

        memcpy(&u, &bytes[i * sizeof u], sizeof u);
        magnitude = u & 0x7fffffffu;
        x.largest = magnitude > x.largest ? magnitude : x.largest;
        x.any |= u;
    }
    return x;
}

/* The same for the vectors that the processor has. */
#if defined(__x86_64__)
__attribute__((target("avx2"))) static struct extremes look_avx2(const unsigned char *bytes,
                                                                 size_t n)
{
    return look_through(bytes, n);
}

__attribute__((target("avx512f"))) static struct extremes look_avx512(const unsigned char *bytes,
                                                                      size_t n)
{
    return look_through(bytes, n);
}
#endif

static struct extremes extremes_of(const unsigned char *bytes, size_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return look_avx512(bytes, n);
    if (__builtin_cpu_supports("avx2"))
        return look_avx2(bytes, n);
#endif
    return look_through(bytes, n);
}

/* Whether any may lie outside the range, as every NaN and infinity does; a -0 where 0 is the least
 * looks like it.  A range goes as far to both sides or begins at 0. */
static bool may_be_outside(struct extremes x, struct range r)
{
    uint32_t most;

    memcpy(&most, &r.most, sizeof most);
    return x.largest > most || (r.least >= 0 && x.any >> 31);
}

static bool is_within(float v, struct range r)
{
    return v >= r.least && v <= r.most;
}

/* Of n bytes; on its own so that the compiler compares sixteen at a time. */
static uint8_t largest_byte(const uint8_t *b, size_t n)
{
    uint8_t most = 0;

    for (size_t i = 0; i < n; i++)
        most = b[i] > most ? b[i] : most;
    return most;
}

static uint32_t largest_layer(enum trg_type type, const void *data, size_t n)
{
    const uint8_t *b = data;
    uint32_t most = 0;

    if (type == TRG_U8)
        return largest_byte(b, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t layer = b[2 * i] | (uint32_t)b[2 * i + 1] << 8;

        most = layer > most ? layer : most;
    }
    return most;
}

#define RANGE_TEXT 48
static const char *say_range(struct range r, char *text)
{
    if (r.most < FLT_MAX)
        snprintf(text, RANGE_TEXT, "%g to %g", (double)r.least, (double)r.most);
    else
        snprintf(text, RANGE_TEXT, "%g or more", (double)r.least);
    return text;
}

/* The first value of a column of floats that is not allowed; false when all are. */
static bool find_float(const struct trg_column_info *column, const unsigned char *bytes, size_t n,
                       struct check_fault *f)
{
    const struct range r = range_of(column->name);

    if (!may_be_outside(extremes_of(bytes, n), r))
        return false;
    for (size_t i = 0; i < n; i++) {
        memcpy(&f->value, &bytes[i * sizeof f->value], sizeof f->value);
        f->at = i;
        if (!is_within(f->value, r))
            break;
    }
    f->code = isfinite(f->value) ? TRIGD__V1__ERROR__CODE__OUT_OF_RANGE
                                 : TRIGD__V1__ERROR__CODE__NOT_FINITE;
    return !is_within(f->value, r);
}

static bool find_layer(enum trg_type type, const void *data, size_t n, uint32_t max_layer,
                       struct check_fault *f)
{
    f->layer = largest_layer(type, data, n);
    f->code = TRIGD__V1__ERROR__CODE__OUT_OF_RANGE;
    return f->layer > max_layer;
}

static bool is_layer(const struct trg_column_info *column)
{
    return !strcmp(column->name, "layer");
}

bool check_find(enum trg_kind kind, size_t n, const void *const *column, uint32_t max_layer,
                struct check_fault *ret_fault)
{
    const struct trg_kind_info *info = trg_kind_info(kind);

    for (uint32_t c = 0; c < info->n_columns; c++) {
        struct check_fault f = {.kind = kind, .column = c};

        if (!column[c])
            continue;
        if (info->column[c].type == TRG_F32
                ? !find_float(&info->column[c], column[c], n, &f)
                : !is_layer(&info->column[c]) ||
                      !find_layer(info->column[c].type, column[c], n, max_layer, &f))
            continue;
        *ret_fault = f;
        return true;
    }
    return false;
}

bool check_is_fault(const struct check_fault *f)
{
    const struct trg_kind_info *info = trg_kind_info(f->kind);

    return info && f->column < info->n_columns &&
           (f->code == TRIGD__V1__ERROR__CODE__OUT_OF_RANGE ||
            f->code == TRIGD__V1__ERROR__CODE__NOT_FINITE);
}

int check_say(const struct check_fault *f, uint32_t max_layer, uint64_t token,
              struct wire_error *ret_error)
{
    const struct trg_kind_info *info = trg_kind_info(f->kind);
    const struct trg_column_info *column = &info->column[f->column];

    if (is_layer(column))
        return check_refuse(ret_error, f->code,
                            "RoI %" PRIu64 ": layer %u in its %s; 0 to %u are allowed", token,
                            f->layer, info->name, max_layer);
    if (f->code == TRIGD__V1__ERROR__CODE__NOT_FINITE)
        return check_refuse(
            ret_error, f->code,
            "RoI %" PRIu64 ": value %zu of column %s of its %s is %s; only finite numbers "
            "are allowed",
            token, f->at, column->name, info->name, isnan(f->value) ? "not a number" : "infinite");
    return check_refuse(ret_error, f->code,
                        "RoI %" PRIu64 ": value %zu of column %s of its %s is %g; %s %s is allowed",
                        token, f->at, column->name, info->name, (double)f->value,
                        say_range(range_of(column->name), (char[RANGE_TEXT]){0}), column->unit);
}

int check_count(enum trg_kind kind, size_t n, uint32_t max_items, uint64_t token,
                struct wire_error *ret_error)
{
    if (n <= max_items)
        return 0;
    return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__TOO_LARGE,
                        "RoI %" PRIu64 ": %zu %s; at most %u are allowed", token, n,
                        trg_kind_info(kind)->name, max_items);
}

bool check_copy(enum trg_kind kind, uint32_t column, void *dst, const void *src, size_t n,
                uint32_t max_layer)
{
    const struct trg_column_info *info = &trg_kind_info(kind)->column[column];
    const size_t bytes = n * trg_type_size(info->type);

    memcpy(dst, src, bytes); /* a column fits the second cache, so looking at it costs little */
    if (info->type == TRG_F32)
        return may_be_outside(extremes_of(dst, n), range_of(info->name));
    return is_layer(info) && largest_layer(info->type, dst, n) > max_layer;
}

int check_values(enum trg_kind kind, size_t n, const void *const *column, uint32_t max_layer,
                 uint64_t token, struct wire_error *ret_error)
{
    struct check_fault f;

    return check_find(kind, n, column, max_layer, &f) ? check_say(&f, max_layer, token, ret_error)
                                                      : 0;
}

/* A value is between those of the least and the largest number, as rounding keeps order. */
static int check_quantum(const struct trg_column_info *column, const struct quantum *q, uint32_t c,
                         uint64_t token, struct wire_error *e)
{
    const struct range r = range_of(column->name);
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
                        say_range(r, (char[RANGE_TEXT]){0}), column->unit);
}

int check_quantized(const struct quantum *q, size_t n, const void *layer, uint32_t max_layer,
                    uint64_t token, struct wire_error *ret_error)
{
    const struct trg_kind_info *info = trg_kind_info(TRG_SPACEPOINTS);
    struct check_fault f;

    for (uint32_t c = 0; c < QUANTUM_COLUMNS; c++)
        if (check_quantum(&info->column[c], q, c, token, ret_error) < 0)
            return -EBADMSG;
    f = (struct check_fault){.kind = TRG_SPACEPOINTS, .column = QUANTUM_COLUMNS};
    return find_layer(info->column[QUANTUM_COLUMNS].type, layer, n, max_layer, &f)
               ? check_say(&f, max_layer, token, ret_error)
               : 0;
}

int check_window(const struct trg_roi_info *info, uint64_t token, struct wire_error *ret_error)
{
    const struct {
        const char *name;
        float value;
        struct range range;
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
                            say_range(table[i].range, (char[RANGE_TEXT]){0}));
    }
    if (info->z_min_mm <= info->z_max_mm)
        return 0;
    return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__OUT_OF_RANGE,
                        "RoI %" PRIu64 ": z_min_mm of its window is %g and z_max_mm %g; z_min_mm "
                        "<= z_max_mm is allowed",
                        token, (double)info->z_min_mm, (double)info->z_max_mm);
}
