/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/collection.h - a collection is a set of columns of equal length with type, unit and
 * allowed range.  Declarations are YAML files (docs/collections.md); headers made from them hold
 * the structs below as constants, and named accessors for hosts and kernels.
 */
#ifndef TRG_COLLECTION_H
#define TRG_COLLECTION_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRG_COLUMNS_MAX 16 /* columns in one collection */
#define TRG_LENGTH_MAX  64 /* values of one item in a column */

enum trg_type {
    TRG_U8 = 1,
    TRG_U16 = 2,
    TRG_U32 = 3,
    TRG_I32 = 4,
    TRG_F32 = 5,
    TRG_I8 = 6,
    TRG_I16 = 7,
    TRG_F16 = 8 /* IEEE 754 binary16, as uint16_t: trg_f16_value */
};

enum trg_column_flag {
    TRG_COLUMN_ENCODED = 1, /* of TRG_F32: may travel as 16-bit numbers, see struct trg_encoding */
    TRG_COLUMN_LAYER = 2    /* at most max_layer of the configuration */
};

struct trg_column {
    const char *name;
    const char *unit; /* "mm", "rad", "GeV", "ns", or "" for a plain number */
    const char *doc;  /* one line */
    uint32_t type;    /* enum trg_type */
    uint32_t length;  /* values of one item, side by side; 1, or that of a vector */
    double min, max;  /* allowed range, both ends included; NaN and infinity never */
    uint32_t flags;   /* of enum trg_column_flag */
};

/* How a column travels as uint16_t: value = offset + step * number, rounded to single precision
 * after the product and after the sum.  In a declaration step is above 0, or both are 0: then they
 * come with each RoI. */
struct trg_encoding {
    float offset, step;
};

/* Made by trg_declare.py.  Append only: the sizes tell which members it has. */
struct trg_collection {
    uint32_t size; /* sizeof(struct trg_collection) */
    uint32_t n_columns;
    const char *name; /* as config, menu and messages spell it */
    const char *doc;
    uint32_t room;        /* items that an RoI usually has room for */
    uint32_t column_size; /* sizeof(struct trg_column) */
    uint64_t hash;        /* trg_collection_hash */
    const struct trg_column *column;
    const struct trg_encoding *encoding; /* of each column; NULL: all of them are 0 */
};

/* Bytes of one value; 0 for an unknown type. */
static inline size_t trg_type_size(uint32_t type)
{
    switch (type) {
    case TRG_U8:
    case TRG_I8:
        return 1;
    case TRG_U16:
    case TRG_I16:
    case TRG_F16:
        return 2;
    case TRG_U32:
    case TRG_I32:
    case TRG_F32:
        return 4;
    default:
        return 0;
    }
}

/* Bytes of one item in a column. */
static inline size_t trg_column_bytes(const struct trg_column *column)
{
    return trg_type_size(column->type) * column->length;
}

/* The encoding that the declaration gives for a column; 0, 0 where it gives none. */
static inline struct trg_encoding trg_column_encoding(const struct trg_collection *c,
                                                      uint32_t column)
{
    const struct trg_encoding none = {0, 0};

    return c->size > offsetof(struct trg_collection, encoding) && c->encoding ? c->encoding[column]
                                                                              : none;
}

/* FNV-1a of the properties that a reader needs: names, types, lengths, units, ranges, flags,
 * encodings. */
static inline uint64_t trg_collection_hash(const struct trg_collection *c)
{
    uint64_t hash = 0xcbf29ce484222325u;
    char text[256];

    for (const char *p = c->name; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;
    for (uint32_t i = 0; i < c->n_columns; i++) {
        const struct trg_column *k = &c->column[i];

        const struct trg_encoding e = trg_column_encoding(c, i);
        int n = snprintf(text, sizeof text, "\n%s %u %u %s %.9g %.9g %u", k->name, k->type,
                         k->length, k->unit, k->min, k->max, k->flags);

        if (e.step > 0 && n > 0 && (size_t)n < sizeof text)
            snprintf(text + n, sizeof text - (size_t)n, " %.9g %.9g", (double)e.offset,
                     (double)e.step);
        for (const char *p = text; *p; p++)
            hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;
    }
    return hash;
}

/* The value of a TRG_F16; kernels have the same function from trigd/kernel.h. */
static inline float trg_f16_value(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, magnitude = half & 0x7fffu;
    uint32_t bits = (magnitude << 13) + (112u << 23);
    float value;

    if (magnitude >= 0x7c00u) /* infinite or not a number */
        bits += 112u << 23;
    if (magnitude < 0x0400u) { /* 2^-24 each */
        value = (float)magnitude * 5.9604644775390625e-8f;
        memcpy(&bits, &value, sizeof bits);
    }
    bits |= sign;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#ifdef __cplusplus
}
#endif
#endif
