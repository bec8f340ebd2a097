/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/packing.h"

#include <string.h>

#include "fields.h"

#define NUMBER ((size_t)5) /* most bytes of a number of 32 bits, and of a length */
#define HEAD   24u         /* most bytes before the first decision */
/* What a decision takes without its lists: 11 numbers with tags of two bytes at most, the token,
 * three keys of ten, and a tag and a length for itself and five lists. */
#define DECISION (11 * (2 + NUMBER) + 12 + 30 + 6 * (2 + NUMBER))
#define RESULT   (3 * (1 + NUMBER) + NUMBER) /* without its values */
#define MISSING  (3 * (2 + NUMBER))          /* without name and chains */

/* Decisions of RoIs and nothing else. */
static bool is_of_rois(const Trigd__V1__FromDaemon *m)
{
    return m->body_case == TRIGD__V1__FROM_DAEMON__BODY_DECISIONS && !m->decisions->n_events;
}

/* ---------------------------------------------------------------- how much at most */

static size_t decision_bound(const Trigd__V1__Decision *d)
{
    size_t n = DECISION + NUMBER * (d->n_chains_raw + d->n_chains + d->n_streams + d->n_unfinished +
                                    d->n_skipped);

    for (size_t i = 0; i < d->n_results; i++)
        n += RESULT + sizeof(float) * d->results[i]->n_values;
    for (size_t i = 0; i < d->n_missing; i++)
        n += MISSING + strlen(d->missing[i]->collection) + NUMBER * d->missing[i]->n_chains;
    return n;
}

size_t packing_bound(const Trigd__V1__FromDaemon *m)
{
    size_t n = HEAD;

    if (!is_of_rois(m))
        return trigd__v1__from_daemon__get_packed_size(m);
    for (size_t i = 0; i < m->decisions->n_decisions; i++)
        n += decision_bound(m->decisions->decisions[i]);
    return n;
}

/* ---------------------------------------------------------------- fields */

static unsigned char *put_varint(unsigned char *at, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *at++ = (unsigned char)(v | 0x80);
    *at++ = (unsigned char)v;
    return at;
}

/* A number that is 0 is left out. */
static unsigned char *put_number(unsigned char *at, uint32_t field, uint64_t v)
{
    return v ? put_varint(put_varint(at, TAG(field, VARINT)), v) : at;
}

static unsigned char *put_key(unsigned char *at, uint32_t field, uint64_t key)
{
    if (!key)
        return at;
    at = put_varint(at, TAG(field, FIXED64));
    for (uint32_t i = 0; i < sizeof key; i++)
        *at++ = (unsigned char)(key >> 8 * i);
    return at;
}

/* Begins a field of bytes: they follow the place of a length of one byte. */
static unsigned char *begin_bytes(unsigned char *at, uint32_t field)
{
    return put_varint(at, TAG(field, BYTES)) + 1;
}

/* Ends it; a longer length moves what it is of. */
static unsigned char *end_bytes(unsigned char *begin, unsigned char *at)
{
    const size_t n = (size_t)(at - begin);
    size_t more = 0;

    for (size_t left = n >> 7; left; left >>= 7)
        more++;
    if (more)
        memmove(begin + more, begin, n);
    put_varint(begin - 1, n);
    return at + more;
}

static unsigned char *put_list(unsigned char *at, uint32_t field, const uint32_t *v, size_t n)
{
    unsigned char *begin;

    if (!n)
        return at;
    at = begin = begin_bytes(at, field);
    for (size_t i = 0; i < n; i++)
        at = put_varint(at, v[i]);
    return end_bytes(begin, at);
}

/* ---------------------------------------------------------------- a decision */

static unsigned char *put_result(unsigned char *at, const Trigd__V1__StepResult *r)
{
    const size_t n = r->n_values * sizeof *r->values;
    unsigned char *begin = at = begin_bytes(at, 11);

    at = put_number(at, 1, r->step);
    if (n) {
        at = put_varint(put_varint(at, TAG(2, BYTES)), n);
        memcpy(at, r->values, n);
        at += n;
    }
    return end_bytes(begin, at);
}

static unsigned char *put_missing(unsigned char *at, const Trigd__V1__Missing *m)
{
    const size_t n = strlen(m->collection);
    unsigned char *begin = at = begin_bytes(at, 20);

    if (n) {
        at = put_varint(put_varint(at, TAG(1, BYTES)), n);
        memcpy(at, m->collection, n);
        at += n;
    }
    return end_bytes(begin, put_list(at, 2, m->chains, m->n_chains));
}

/* In the order of their numbers, as protobuf-c does. */
static unsigned char *put_decision(unsigned char *at, const Trigd__V1__Decision *d)
{
    unsigned char *begin = at = begin_bytes(at, 1);

    at = put_number(at, 1, d->token);
    at = put_number(at, 2, d->run);
    at = put_number(at, 3, d->l1id);
    at = put_number(at, 4, d->roi_id);
    at = put_number(at, 5, d->accept != 0);
    at = put_number(at, 6, (uint64_t)d->status);
    at = put_number(at, 7, d->late != 0);
    at = put_list(at, 8, d->chains_raw, d->n_chains_raw);
    at = put_list(at, 9, d->chains, d->n_chains);
    at = put_list(at, 10, d->streams, d->n_streams);
    for (size_t i = 0; i < d->n_results; i++)
        at = put_result(at, d->results[i]);
    at = put_number(at, 12, d->latency_us);
    at = put_number(at, 13, d->wanted);
    at = put_number(at, 14, d->kept);
    at = put_number(at, 15, d->menu_generation);
    at = put_number(at, 16, d->lane_us);
    at = put_number(at, 17, d->repeated != 0);
    at = put_key(at, 18, d->menu_key);
    at = put_key(at, 19, d->prescale_key);
    for (size_t i = 0; i < d->n_missing; i++)
        at = put_missing(at, d->missing[i]);
    at = put_list(at, 21, d->unfinished, d->n_unfinished);
    at = put_list(at, 22, d->skipped, d->n_skipped);
    at = put_key(at, 24, d->conditions_key);
    return end_bytes(begin, at);
}

size_t packing_pack(const Trigd__V1__FromDaemon *m, unsigned char *dst)
{
    unsigned char *begin, *at;

    if (!is_of_rois(m))
        return trigd__v1__from_daemon__pack(m, dst);
    at = begin = begin_bytes(dst, 2);
    for (size_t i = 0; i < m->decisions->n_decisions; i++)
        at = put_decision(at, m->decisions->decisions[i]);
    return (size_t)(end_bytes(begin, at) - dst);
}
