/* SPDX-License-Identifier: Apache-2.0 */
#include "recode.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "encoding.h"

bool recode_can(uint64_t hash)
{
    const struct trg_collection *info = kind_info(kind_of_hash(hash));

    return info && encoding_count(info);
}

void recode_fini(struct recode *r)
{
    free(r->data);
    r->data = NULL;
}

/* Begins a message with the columns of another one, which fit the declaration, and takes room for
 * those with an encoding.  The items of a column; negative: -EBADMSG, -ENOMEM. */
static int64_t begin(const Trigd__V1__Columns *from, bool is_encoded, struct recode *to)
{
    const uint32_t kind = kind_of_hash(from->hash);
    const struct trg_collection *info = kind_info(kind);
    const ProtobufCBinaryData *column = is_encoded ? from->encoded : from->column;
    size_t n, values = 0, bytes;

    *to = (struct recode){.data = NULL};
    trigd__v1__columns__init(&to->columns);
    if (!info || (is_encoded ? from->n_encoded : from->n_column) != info->n_columns)
        return -EBADMSG;
    bytes = encoding_item_bytes(kind, is_encoded, 0);
    n = bytes ? column[0].len / bytes : 0; /* no declaration has a type without bytes */
    for (uint32_t c = 0; c < info->n_columns; c++) {
        if (column[c].len != n * encoding_item_bytes(kind, is_encoded, c))
            return -EBADMSG;
        values += encoding_is_there(info, c) ? n * info->column[c].length : 0;
    }
    to->data = malloc(values * sizeof(float) + 1);
    if (!to->data)
        return -ENOMEM;
    to->columns.hash = from->hash;
    memcpy(to->column, column, info->n_columns * sizeof *column);
    return (int64_t)n;
}

int recode_plain(const Trigd__V1__Columns *from, struct recode *ret_to)
{
    const struct trg_collection *info = kind_info(kind_of_hash(from->hash));
    struct trg_encoding sent[TRG_COLUMNS_MAX];
    const int64_t n = begin(from, true, ret_to);
    float *to = ret_to->data;

    if (n < 0)
        return (int)n;
    if (from->n_offset != encoding_sent(info) || from->n_step != from->n_offset)
        return -EBADMSG;
    for (size_t i = 0; i < from->n_offset; i++)
        sent[i] = (struct trg_encoding){from->offset[i], from->step[i]};
    for (uint32_t c = 0; c < info->n_columns; c++) {
        const size_t values = (size_t)n * info->column[c].length;

        if (!encoding_is_there(info, c))
            continue;
        encoding_values(encoding_of(info, sent, c), ret_to->column[c].data, values, to);
        ret_to->column[c] = (ProtobufCBinaryData){values * sizeof *to, (uint8_t *)to};
        to += values;
    }
    ret_to->columns.n_column = info->n_columns;
    ret_to->columns.column = ret_to->column;
    return 0;
}

/* Encodes one column of `values` values. */
static int encode(const struct trg_collection *info, uint32_t c, const void *from, size_t values,
                  unsigned char *numbers, struct trg_encoding *ret_encoding)
{
    float *floats = malloc(values * sizeof *floats + 1); /* the message's may be unaligned */
    size_t good = 0;
    int r = floats ? 0 : -ENOMEM;

    if (floats && values)
        memcpy(floats, from, values * sizeof *floats);
    if (r == 0 && encoding_is_sent(info, c))
        r = encoding_fit(floats, values, ret_encoding);
    else
        *ret_encoding = trg_column_encoding(info, c);
    if (r == 0)
        good = encoding_numbers(*ret_encoding, floats, values, numbers);
    if (r == 0 && good < values)
        r = isfinite(floats[good]) ? -ERANGE : -EINVAL;
    free(floats);
    return r;
}

int recode_encoded(const Trigd__V1__Columns *from, struct recode *ret_to)
{
    const struct trg_collection *info = kind_info(kind_of_hash(from->hash));
    const int64_t n = begin(from, false, ret_to);
    unsigned char *to = ret_to->data;
    Trigd__V1__Columns *m = &ret_to->columns;

    if (n < 0)
        return (int)n;
    for (uint32_t c = 0; c < info->n_columns; c++) {
        const size_t values = (size_t)n * info->column[c].length;
        struct trg_encoding e;
        int r;

        if (!encoding_is_there(info, c))
            continue;
        r = encode(info, c, ret_to->column[c].data, values, to, &e);
        if (r < 0)
            return r;
        ret_to->column[c] = (ProtobufCBinaryData){values * sizeof(uint16_t), to};
        to += values * sizeof(uint16_t);
        if (encoding_is_sent(info, c)) {
            ret_to->offset[m->n_offset++] = e.offset;
            ret_to->step[m->n_step++] = e.step;
        }
    }
    m->n_encoded = info->n_columns;
    m->encoded = ret_to->column;
    m->offset = ret_to->offset;
    m->step = ret_to->step;
    return 0;
}
