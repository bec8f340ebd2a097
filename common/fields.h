/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h - the fields of a protobuf message, read where they lie. */
#ifndef TRIGD_FIELDS_H
#define TRIGD_FIELDS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Wire types and tags of protobuf: field number << 3 | wire type. */
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
#define TAG(field, type) ((uint32_t)(field) << 3 | (uint32_t)(type))
/* Longer varints than these are left to protobuf-c. */
#define TAG_VARINT    2u
#define LENGTH_VARINT 4u
#define VALUE_VARINT  10u

struct reader {
    const unsigned char *at, *end;
};

static inline bool read_varint(struct reader *r, uint32_t longest, uint64_t *ret_value)
{
    uint64_t v = 0;

    for (uint32_t i = 0; i < longest && r->at < r->end; i++) {
        unsigned char b = *r->at++;

        v |= (uint64_t)(b & 0x7f) << (7 * i);
        if (!(b & 0x80)) {
            *ret_value = v;
            return true;
        }
    }
    return false;
}

static inline bool read_tag(struct reader *r, uint32_t *ret_tag)
{
    uint64_t v;

    if (!read_varint(r, TAG_VARINT, &v))
        return false;
    *ret_tag = (uint32_t)v;
    return true;
}

/* A field of bytes as a reader of its own. */
static inline bool read_bytes(struct reader *r, struct reader *ret_field)
{
    uint64_t n;

    if (!read_varint(r, LENGTH_VARINT, &n) || n > (uint64_t)(r->end - r->at))
        return false;
    *ret_field = (struct reader){.at = r->at, .end = r->at + n};
    r->at += n;
    return true;
}

/* Goes past the value of a field that is not looked at. */
static inline bool skip_field(struct reader *r, uint32_t tag)
{
    struct reader field;
    uint64_t value;
    size_t n;

    if ((tag & 7) == VARINT)
        return read_varint(r, VALUE_VARINT, &value);
    if ((tag & 7) == BYTES)
        return read_bytes(r, &field);
    if ((tag & 7) != FIXED64 && (tag & 7) != FIXED32)
        return false;
    n = (tag & 7) == FIXED64 ? 8 : 4;
    if ((size_t)(r->end - r->at) < n)
        return false;
    r->at += n;
    return true;
}
#endif
