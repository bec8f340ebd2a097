/* SPDX-License-Identifier: Apache-2.0 */
/* pull.kernel.c - the device gathers a batch itself: it reads the columns of RoIs in the memory of
 * co-located clients over the bus, packs them, and checks every value on its own copy.
 *
 * A group for each RoI.  Reads are whole aligned words, neighbours by neighbours, four for each
 * work-item in flight: the bus is what limits. */
#if defined(__CUDACC__)
#define TRG_BOUNDS __launch_bounds__(1024)
#endif
#include "pull_layout.h"

#define AHEAD 4u
#define NONE  0xffffffffu
/* enum trg_type, which devices do not read */
#define U8  1u
#define U16 2u
#define F32 5u
#define I8  6u
#define I16 7u
#define F16 8u
#define I32 4u

TRG_FN trg_u32 bytes_of(trg_u32 type)
{
    return type == U8 || type == I8 ? 1u : type == U16 || type == I16 || type == F16 ? 2u : 4u;
}

/* Value number `i` of a word; with its sign where it has one. */
TRG_FN trg_u32 value_of(trg_u32 type, trg_u32 word, trg_u32 i)
{
    const trg_u32 bytes = bytes_of(type);

    if (bytes == 4)
        return word;
    if (bytes == 2) {
        const trg_u32 v = word >> 16 * i & 0xffffu;

        return type == I16 ? (trg_u32)(trg_i32)(trg_i16)v : v;
    }
    return type == I8 ? (trg_u32)(trg_i32)(trg_i8)(word >> 8 * i & 0xffu) : word >> 8 * i & 0xffu;
}

TRG_FN int is_allowed(struct pull_column c, trg_u32 bits)
{
    if (c.type == F32 || c.type == F16) {
        const float v = c.type == F32 ? trg_as_f32(bits) : trg_f16_value((trg_f16)bits);

        return v >= trg_as_f32(c.least) && v <= trg_as_f32(c.most); /* no NaN is */
    }
    if (c.type == I8 || c.type == I16 || c.type == I32)
        return (trg_i32)bits >= (trg_i32)c.least && (trg_i32)bits <= (trg_i32)c.most;
    return bits >= c.least && bits <= c.most;
}

TRG_FN void store(TRG_GLOBAL trg_u8 *to, trg_u32 bytes, trg_u32 at, trg_u32 bits)
{
    if (bytes == 4)
        ((TRG_GLOBAL trg_u32 *)to)[at] = bits;
    else if (bytes == 2)
        ((TRG_GLOBAL trg_u16 *)to)[at] = (trg_u16)bits;
    else
        to[at] = (trg_u8)bits;
}

/* Copies this work-item's part of a column: the first value in it that is not allowed. */
TRG_FN struct pull_verdict take(TRG_GLOBAL const trg_u32 *from, TRG_GLOBAL trg_u8 *to,
                                struct pull_column c, trg_u32 values, trg_u32 lid, trg_u32 lsize)
{
    struct pull_verdict bad = {0, 0, 0};
    const trg_u32 bytes = bytes_of(c.type), in_word = 4u / bytes;
    const trg_u32 words = (values + in_word - 1u) / in_word;

    for (trg_u32 w = lid; w < words; w += AHEAD * lsize) {
        trg_u32 word[AHEAD];

        for (trg_u32 k = 0; k < AHEAD; k++)
            word[k] = w + k * lsize < words ? from[w + k * lsize] : 0;
        for (trg_u32 k = 0; k < AHEAD; k++) {
            const trg_u32 first = (w + k * lsize) * in_word;

            for (trg_u32 i = 0; i < in_word && first + i < values; i++) {
                const trg_u32 bits = value_of(c.type, word[k], i);

                store(to, bytes, first + i, bits);
                if (!bad.column && !is_allowed(c, bits)) {
                    bad.column = 1;
                    bad.at = first + i;
                    bad.bits = bits;
                }
            }
        }
    }
    return bad;
}

/* Makes floats of this work-item's part of a column of numbers, two in a word.  None of them gives
 * a value that is not allowed. */
TRG_FN void decode(TRG_GLOBAL const trg_u32 *from, TRG_GLOBAL float *to, float offset, float step,
                   trg_u32 values, trg_u32 lid, trg_u32 lsize)
{
    const trg_u32 words = (values + 1u) / 2u;

    for (trg_u32 w = lid; w < words; w += AHEAD * lsize) {
        trg_u32 word[AHEAD];

        for (trg_u32 k = 0; k < AHEAD; k++)
            word[k] = w + k * lsize < words ? from[w + k * lsize] : 0;
        for (trg_u32 k = 0; k < AHEAD; k++) {
            const trg_u32 first = 2u * (w + k * lsize);

            if (first < values)
                to[first] = offset + step * (float)(word[k] & 0xffffu);
            if (first + 1u < values)
                to[first + 1u] = offset + step * (float)(word[k] >> 16);
        }
    }
}

TRG_KERNEL2(pull, (const trg_u8, window), (trg_u8, block), (struct pull_par, par))
{
    TRG_SHARED trg_u32 worst_column, worst_at;
    TRG_GLOBAL const struct pull_entry *entry =
        (TRG_GLOBAL const struct pull_entry *)(block + par.entries) + TRG_GID;
    TRG_GLOBAL struct pull_verdict *verdict =
        (TRG_GLOBAL struct pull_verdict *)(block + par.verdicts) + TRG_GID;
    const trg_u32 first = TRG_BEGIN(block, par.span, TRG_GID);
    const trg_u32 n = TRG_END(block, par.span, TRG_GID) - first;
    trg_u64 at = (trg_u64)entry->at_high << 32 | entry->at_low;
    struct pull_verdict mine = {NONE, 0, 0};

    if (TRG_LID == 0)
        worst_column = worst_at = NONE;
    for (trg_u32 c = 0; c < par.n_columns; c++) {
        const struct pull_column column = par.column[c];
        const trg_u32 values = n * column.length;
        const int is_number = entry->is_quantized && c < PULL_ENCODED;
        const trg_u32 bytes = column.length * bytes_of(column.type);
        TRG_GLOBAL trg_u8 *to = block + par.span.column[c] + (trg_u64)first * bytes;

        TRG_GLOBAL const trg_u32 *from = (TRG_GLOBAL const trg_u32 *)(window + at);

        if (is_number) {
            decode(from, (TRG_GLOBAL float *)to, entry->offset[c], entry->step[c], values, TRG_LID,
                   TRG_LSIZE);
        } else {
            const struct pull_verdict bad = take(from, to, column, values, TRG_LID, TRG_LSIZE);

            if (bad.column && mine.column == NONE) {
                mine = bad;
                mine.column = c + 1u;
            }
        }
        at += ((trg_u64)entry->capacity * (is_number ? 2u : bytes) + 63u) & ~(trg_u64)63u;
    }
    TRG_BARRIER();
    if (mine.column != NONE)
        TRG_ATOMIC_MIN_LOCAL(&worst_column, mine.column);
    TRG_BARRIER();
    if (mine.column != NONE && mine.column == worst_column)
        TRG_ATOMIC_MIN_LOCAL(&worst_at, mine.at);
    TRG_BARRIER();
    if (worst_column == NONE) {
        if (TRG_LID == 0)
            verdict->column = 0;
    } else {
        if (mine.column == worst_column && mine.at == worst_at)
            *verdict = mine;
        for (trg_u32 c = 0; c < par.n_columns; c++) { /* no algorithm gets to see it */
            const struct pull_column column = par.column[c];
            const trg_u32 bytes = bytes_of(column.type);

            for (trg_u32 i = TRG_LID; i < n * column.length; i += TRG_LSIZE)
                store(block + par.span.column[c] + (trg_u64)first * column.length * bytes, bytes, i,
                      0);
        }
    }
}
