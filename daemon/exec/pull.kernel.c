/* SPDX-License-Identifier: Apache-2.0 */
/* pull.kernel.c - the device gathers a batch itself: it reads the columns of RoIs in the memory of
 * co-located clients over the bus, packs them, and checks every value on its own copy.
 *
 * A group takes one RoI after the other.  The columns of an RoI follow each other in that memory,
 * so a work-item reads 16 bytes at a time, several of them on their way at once whatever columns
 * they are of: the bus is what limits. */
#if defined(__CUDACC__)
#define TRG_BOUNDS __launch_bounds__(1024)
#define UNROLLED   _Pragma("unroll") /* else what is read ahead lies in memory again */
#else
#define UNROLLED
#endif
#define ALIGNED __attribute__((aligned(16)))
#include "pull_layout.h"

#define NONE 0xffffffffu
/* enum trg_type, which devices do not read */
#define U8  1u
#define U16 2u
#define F32 5u
#define I8  6u
#define I16 7u
#define F16 8u
#define I32 4u

struct chunk { /* 16 bytes that are read at once */
    trg_u32 word[4];
} ALIGNED;

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

/* Copies the values in 16 bytes of a column: the first in them that is not allowed. */
TRG_FN struct pull_verdict take(struct chunk from, TRG_GLOBAL trg_u8 *to, struct pull_column c,
                                trg_u32 first, trg_u32 values)
{
    struct pull_verdict bad = {0, 0, 0};
    const trg_u32 bytes = bytes_of(c.type), in_word = 4u / bytes;

    UNROLLED
    for (trg_u32 w = 0; w < 4u; w++)
        for (trg_u32 i = 0; i < in_word; i++) {
            const trg_u32 at = first + w * in_word + i, bits = value_of(c.type, from.word[w], i);

            if (at < values)
                store(to, bytes, at, bits);
            if (at < values && !bad.column && !is_allowed(c, bits)) {
                bad.column = 1;
                bad.at = at;
                bad.bits = bits;
            }
        }
    return bad;
}

/* Makes floats of the numbers in 16 bytes of a column: the first that is not allowed. */
TRG_FN struct pull_verdict decode(struct chunk from, TRG_GLOBAL float *to, struct pull_column c,
                                  struct pull_encoding e, trg_u32 first, trg_u32 values)
{
    struct pull_verdict bad = {0, 0, 0};

    UNROLLED
    for (trg_u32 w = 0; w < 4u; w++)
        for (trg_u32 i = 0; i < 2u; i++) {
            const trg_u32 at = first + 2u * w + i;
            const float v = e.offset + e.step * (float)(from.word[w] >> 16 * i & 0xffffu);

            if (at < values)
                to[at] = v;
            if (at < values && !bad.column && !is_allowed(c, trg_as_u32(v))) {
                bad.column = 1;
                bad.at = at;
                bad.bits = trg_as_u32(v);
            }
        }
    return bad;
}

/* Finds the first value that is not allowed among those of all work-items; the host expects none.
 */
TRG_FN void judge(TRG_LOCAL trg_u32 *worst, TRG_GLOBAL struct pull_verdict *verdict,
                  struct pull_verdict mine)
{
    TRG_BARRIER();
    if (mine.column != NONE)
        TRG_ATOMIC_MIN_LOCAL(&worst[0], mine.column);
    TRG_BARRIER();
    if (mine.column != NONE && mine.column == worst[0])
        TRG_ATOMIC_MIN_LOCAL(&worst[1], mine.at);
    TRG_BARRIER();
    if (worst[0] != NONE && mine.column == worst[0] && mine.at == worst[1])
        *verdict = mine;
}

TRG_FN void clear(TRG_GLOBAL trg_u8 *to, trg_u32 bytes, trg_u32 lid, trg_u32 lsize)
{
    for (trg_u32 i = lid; i < bytes; i += lsize)
        to[i] = 0;
}

/* Pieces of 16 bytes between the starts of a column and of the next one. */
TRG_FN trg_u32 chunks_of(trg_u32 capacity, struct pull_column c, int is_encoded)
{
    const trg_u32 bytes = is_encoded && c.encoding != PULL_PLAIN ? 2u : bytes_of(c.type);

    return (capacity * (c.length * bytes) + 63u) / 64u * 4u;
}

/* Copies the columns of an RoI and checks their values: the first value that the work-item found
 * not allowed. */
TRG_FN struct pull_verdict pull_roi(TRG_GLOBAL const trg_u8 *window, TRG_GLOBAL trg_u8 *block,
                                    struct pull_par par, TRG_GLOBAL const struct pull_entry *entry,
                                    trg_u32 first, trg_u32 n, trg_u32 lid, trg_u32 lsize)
{
    const int is_encoded = entry->encodings != PULL_PLAIN;
    TRG_GLOBAL const struct pull_encoding *encodings =
        (TRG_GLOBAL const struct pull_encoding *)(block + par.encodings) +
        (is_encoded ? entry->encodings : 0);
    TRG_GLOBAL const struct chunk *from =
        (TRG_GLOBAL const struct chunk *)(window + ((trg_u64)entry->at_high << 32 | entry->at_low));
    struct pull_verdict mine = {NONE, 0, 0};
    trg_u32 chunks = 0, c = 0, begin = 0, end; /* of all; of column c */

    for (trg_u32 k = 0; n && k < par.n_columns; k++)
        chunks += chunks_of(entry->capacity, par.column[k], is_encoded);
    end = chunks_of(entry->capacity, par.column[0], is_encoded);
    for (trg_u32 q = lid; q < chunks; q += PULL_AHEAD * lsize) {
        struct chunk chunk[PULL_AHEAD];

        UNROLLED
        for (trg_u32 k = 0; k < PULL_AHEAD; k++)
            chunk[k] = from[q + k * lsize < chunks ? q + k * lsize : q];
        UNROLLED
        for (trg_u32 k = 0; k < PULL_AHEAD; k++) {
            const trg_u32 at = q + k * lsize;
            struct pull_column column;
            struct pull_verdict bad;
            TRG_GLOBAL trg_u8 *to;

            if (at >= chunks)
                continue;
            for (; at >= end; c++) {
                begin = end;
                end += chunks_of(entry->capacity, par.column[c + 1u], is_encoded);
            }
            column = par.column[c];
            to = block + par.span.column[c] +
                 (trg_u64)first * (column.length * bytes_of(column.type));
            if (is_encoded && column.encoding != PULL_PLAIN)
                bad = decode(chunk[k], (TRG_GLOBAL float *)to, column, encodings[column.encoding],
                             8u * (at - begin), n * column.length);
            else
                bad = take(chunk[k], to, column, 16u / bytes_of(column.type) * (at - begin),
                           n * column.length);
            if (bad.column && mine.column == NONE) {
                mine = bad;
                mine.column = c + 1u;
            }
        }
    }
    return mine;
}

/* Copies what the host wrote of RoIs `begin` to `end` to the block of the device.  A work-item has
 * a word of each table on its way at once: the bus takes longer to answer than to carry them. */
TRG_FN void copy_head(TRG_GLOBAL const trg_u32 *head, TRG_GLOBAL trg_u32 *block,
                      struct pull_par par, trg_u32 begin, trg_u32 end, trg_u32 lid, trg_u32 lsize)
{
    const trg_u32 info = sizeof(struct trg_roi_info) / 4u, entry = sizeof(struct pull_entry) / 4u;
    const trg_u32 encodings = par.n_encodings * (sizeof(struct pull_encoding) / 4u);
    const trg_u32 n = end - begin;
    const trg_u32 at[4] = {par.span.rois / 4u + begin * info, par.span.offsets / 4u + begin,
                           par.entries / 4u + begin * entry,
                           par.encodings / 4u + begin * encodings};
    const trg_u32 words[4] = {n * info, n + 1u, n * entry, n * encodings};

    for (trg_u32 i = lid; i < words[0] || i < words[3]; i += lsize) {
        trg_u32 word[4];

        UNROLLED
        for (trg_u32 k = 0; k < 4u; k++)
            word[k] = i < words[k] ? head[at[k] + i] : 0;
        UNROLLED
        for (trg_u32 k = 0; k < 4u; k++)
            if (i < words[k])
                block[at[k] + i] = word[k];
    }
}

TRG_KERNEL3(pull, (const trg_u8, window), (trg_u8, host), (trg_u8, block), (struct pull_par, par))
{
    TRG_SHARED trg_u32 worst[2]; /* column; number in it */
    const trg_u32 begin = (trg_u32)((trg_u64)par.span.n_rois * TRG_GID / TRG_GROUPS);
    const trg_u32 end = (trg_u32)((trg_u64)par.span.n_rois * (TRG_GID + 1u) / TRG_GROUPS);

    copy_head((TRG_GLOBAL const trg_u32 *)host, (TRG_GLOBAL trg_u32 *)block, par, begin, end,
              TRG_LID, TRG_LSIZE);
    for (trg_u32 roi = begin; roi < end; roi++) {
        trg_u32 first, n;
        struct pull_verdict mine;

        TRG_BARRIER(); /* the head is there, and all have read what the last RoI left here */
        if (TRG_LID == 0)
            worst[0] = worst[1] = NONE;
        first = TRG_BEGIN(block, par.span, roi);
        n = TRG_END(block, par.span, roi) - first;
        mine = pull_roi(window, block, par,
                        (TRG_GLOBAL const struct pull_entry *)(block + par.entries) + roi, first, n,
                        TRG_LID, TRG_LSIZE);
        judge(worst, (TRG_GLOBAL struct pull_verdict *)(host + par.verdicts) + roi, mine);
        if (worst[0] != NONE)
            for (trg_u32 k = 0; k < par.n_columns; k++) { /* no algorithm gets to see it */
                const trg_u32 bytes = par.column[k].length * bytes_of(par.column[k].type);

                clear(block + par.span.column[k] + (trg_u64)first * bytes, n * bytes, TRG_LID,
                      TRG_LSIZE);
            }
    }
}
