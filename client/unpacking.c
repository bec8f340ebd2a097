/* SPDX-License-Identifier: Apache-2.0 */
#include "unpacking.h"

#include <errno.h>
#include <string.h>

#include "fields.h"

#define LARGEST_UNPACKED 64u /* times the bytes of the message: a decision without results */
#define SCRATCH_LEAST    4096u
#define LONGEST32        5u /* bytes of a number of 32 bits */

/* ---------------------------------------------------------------- fields */

static bool read_number(struct reader *r, uint32_t *ret_value)
{
    uint64_t v;

    if (!read_varint(r, LONGEST32, &v))
        return false;
    *ret_value = (uint32_t)v;
    return true;
}

static bool read_bool(struct reader *r, protobuf_c_boolean *ret_value)
{
    uint64_t v;

    if (!read_varint(r, LONGEST32, &v))
        return false;
    *ret_value = v != 0;
    return true;
}

static bool read_key(struct reader *r, uint64_t *ret_key)
{
    uint64_t key = 0;

    if (r->end - r->at < 8)
        return false;
    for (uint32_t i = 0; i < 8; i++)
        key |= (uint64_t)r->at[i] << 8 * i;
    r->at += 8;
    *ret_key = key;
    return true;
}

/* A packed list that has not come before. */
static bool read_list(struct scratch *s, struct reader *r, size_t *n, uint32_t **list)
{
    struct reader field;
    size_t most = 0;

    if (*list || !read_bytes(r, &field))
        return false;
    for (const unsigned char *at = field.at; at < field.end; at++)
        most += !(*at & 0x80);
    *list = scratch_take(s, most * sizeof **list);
    if (!*list)
        return false;
    while (*n < most)
        if (!read_number(&field, &(*list)[(*n)++]))
            return false;
    return field.at == field.end;
}

/* How many fields of bytes with a tag follow each other: this one, whose tag is read, and more. */
static size_t count_alike(struct reader r, uint32_t tag)
{
    struct reader field;
    uint32_t next = tag;
    size_t n = 0;

    while (next == tag && read_bytes(&r, &field)) {
        n++;
        if (!read_tag(&r, &next))
            break;
    }
    return n;
}

/* ---------------------------------------------------------------- a decision's parts */

static bool read_values(struct scratch *s, struct reader *r, Trigd__V1__StepResult *m)
{
    struct reader field;
    size_t bytes;

    if (m->values || !read_bytes(r, &field))
        return false;
    bytes = (size_t)(field.end - field.at);
    m->n_values = bytes / sizeof *m->values;
    m->values = scratch_take(s, bytes);
    if (!m->values || bytes % sizeof *m->values)
        return false;
    memcpy(m->values, field.at, bytes);
    return true;
}

static bool read_result(struct scratch *s, struct reader r, Trigd__V1__StepResult *m)
{
    bool ok = true;

    trigd__v1__step_result__init(m);
    while (ok && r.at < r.end) {
        uint32_t tag;

        ok = read_tag(&r, &tag) && (tag == TAG(1, VARINT)  ? read_number(&r, &m->step)
                                    : tag == TAG(2, BYTES) ? read_values(s, &r, m)
                                                           : false);
    }
    return ok;
}

static bool read_name(struct scratch *s, struct reader *r, char **name)
{
    struct reader field;
    size_t n;

    if (!read_bytes(r, &field))
        return false;
    n = (size_t)(field.end - field.at);
    *name = scratch_take(s, n + 1);
    if (!*name)
        return false;
    memcpy(*name, field.at, n);
    (*name)[n] = '\0';
    return true;
}

static bool read_missing(struct scratch *s, struct reader r, Trigd__V1__Missing *m)
{
    bool ok = true;

    trigd__v1__missing__init(m);
    while (ok && r.at < r.end) {
        uint32_t tag;

        ok = read_tag(&r, &tag) &&
             (tag == TAG(1, BYTES)   ? read_name(s, &r, &m->collection)
              : tag == TAG(2, BYTES) ? read_list(s, &r, &m->n_chains, &m->chains)
                                     : false);
    }
    return ok;
}

/* All results of a decision, which follow each other; the tag of the first is read. */
static bool read_results(struct scratch *s, struct reader *r, Trigd__V1__Decision *d)
{
    const uint32_t own = TAG(11, BYTES);
    const size_t n = d->n_results ? 0 : count_alike(*r, own);
    Trigd__V1__StepResult *all = n ? scratch_take(s, n * sizeof *all) : NULL;
    struct reader field;
    uint32_t tag;

    d->results = n ? scratch_take(s, n * sizeof *d->results) : NULL;
    if (!all || !d->results)
        return false;
    for (size_t i = 0; i < n; i++) {
        if ((i && !read_tag(r, &tag)) || !read_bytes(r, &field) || !read_result(s, field, &all[i]))
            return false;
        d->results[d->n_results++] = &all[i];
    }
    return true;
}

static bool read_all_missing(struct scratch *s, struct reader *r, Trigd__V1__Decision *d)
{
    const uint32_t own = TAG(20, BYTES);
    const size_t n = d->n_missing ? 0 : count_alike(*r, own);
    Trigd__V1__Missing *all = n ? scratch_take(s, n * sizeof *all) : NULL;
    struct reader field;
    uint32_t tag;

    d->missing = n ? scratch_take(s, n * sizeof *d->missing) : NULL;
    if (!all || !d->missing)
        return false;
    for (size_t i = 0; i < n; i++) {
        if ((i && !read_tag(r, &tag)) || !read_bytes(r, &field) || !read_missing(s, field, &all[i]))
            return false;
        d->missing[d->n_missing++] = &all[i];
    }
    return true;
}

/* ---------------------------------------------------------------- a decision */

static bool read_status(struct reader *r, Trigd__V1__Status *ret_status)
{
    uint32_t v;

    if (!read_number(r, &v))
        return false;
    *ret_status = (Trigd__V1__Status)v;
    return true;
}

static bool read_lists(struct scratch *s, struct reader *r, uint32_t tag, Trigd__V1__Decision *d)
{
    switch (tag) {
    case TAG(8, BYTES):
        return read_list(s, r, &d->n_chains_raw, &d->chains_raw);
    case TAG(9, BYTES):
        return read_list(s, r, &d->n_chains, &d->chains);
    case TAG(10, BYTES):
        return read_list(s, r, &d->n_streams, &d->streams);
    case TAG(11, BYTES):
        return read_results(s, r, d);
    case TAG(20, BYTES):
        return read_all_missing(s, r, d);
    case TAG(21, BYTES):
        return read_list(s, r, &d->n_unfinished, &d->unfinished);
    case TAG(22, BYTES):
        return read_list(s, r, &d->n_skipped, &d->skipped);
    default:
        return false;
    }
}

static bool read_field(struct scratch *s, struct reader *r, uint32_t tag, Trigd__V1__Decision *d)
{
    switch (tag) {
    case TAG(1, VARINT):
        return read_varint(r, VALUE_VARINT, &d->token);
    case TAG(2, VARINT):
        return read_number(r, &d->run);
    case TAG(3, VARINT):
        return read_number(r, &d->l1id);
    case TAG(4, VARINT):
        return read_number(r, &d->roi_id);
    case TAG(5, VARINT):
        return read_bool(r, &d->accept);
    case TAG(6, VARINT):
        return read_status(r, &d->status);
    case TAG(7, VARINT):
        return read_bool(r, &d->late);
    case TAG(12, VARINT):
        return read_number(r, &d->latency_us);
    case TAG(13, VARINT):
        return read_number(r, &d->wanted);
    case TAG(14, VARINT):
        return read_number(r, &d->kept);
    case TAG(15, VARINT):
        return read_number(r, &d->menu_generation);
    case TAG(16, VARINT):
        return read_number(r, &d->lane_us);
    case TAG(17, VARINT):
        return read_bool(r, &d->repeated);
    case TAG(18, FIXED64):
        return read_key(r, &d->menu_key);
    case TAG(19, FIXED64):
        return read_key(r, &d->prescale_key);
    case TAG(24, FIXED64):
        return read_key(r, &d->conditions_key);
    default:
        return read_lists(s, r, tag, d);
    }
}

static bool read_decision(struct scratch *s, struct reader r, Trigd__V1__Decision *d)
{
    uint32_t tag;

    trigd__v1__decision__init(d);
    while (r.at < r.end)
        if (!read_tag(&r, &tag) || !read_field(s, &r, tag, d))
            return false;
    return true;
}

/* ---------------------------------------------------------------- a message */

struct answer { /* its parts, in one piece */
    Trigd__V1__FromDaemon message;
    Trigd__V1__DecisionBatch batch;
};

/* Decisions and nothing else, as the daemon writes them; NULL: it is something else, or cannot be
 * read. */
static Trigd__V1__FromDaemon *read_batch(struct scratch *s, struct reader r)
{
    struct answer *a = scratch_take(s, sizeof *a);
    Trigd__V1__Decision *all;
    struct reader batch, field;
    uint32_t tag;
    size_t n;

    if (!a || !read_tag(&r, &tag) || tag != TAG(2, BYTES) || !read_bytes(&r, &batch) ||
        r.at != r.end || !read_tag(&batch, &tag) || tag != TAG(1, BYTES))
        return NULL;
    trigd__v1__from_daemon__init(&a->message);
    trigd__v1__decision_batch__init(&a->batch);
    a->message.body_case = TRIGD__V1__FROM_DAEMON__BODY_DECISIONS;
    a->message.decisions = &a->batch;
    n = count_alike(batch, tag);
    all = scratch_take(s, n * sizeof *all);
    a->batch.decisions = scratch_take(s, n * sizeof *a->batch.decisions);
    if (!all || !a->batch.decisions)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if ((i && !read_tag(&batch, &tag)) || !read_bytes(&batch, &field) ||
            !read_decision(s, field, &all[i]))
            return NULL;
        a->batch.decisions[a->batch.n_decisions++] = &all[i];
    }
    return batch.at == batch.end ? &a->message : NULL;
}

static void *take_memory(void *memory, size_t bytes)
{
    return scratch_take(memory, bytes);
}

static void keep_memory(void *memory, void *bytes)
{
    (void)memory, (void)bytes;
}

int unpacking_unpack(struct scratch *s, const void *bytes, size_t n,
                     Trigd__V1__FromDaemon **ret_message)
{
    const size_t limit = LARGEST_UNPACKED * n + SCRATCH_LEAST;
    const struct reader all = {.at = bytes, .end = (const unsigned char *)bytes + n};
    ProtobufCAllocator allocator = {take_memory, keep_memory, s};

    if (scratch_reset(s, limit) < 0)
        return -ENOMEM;
    *ret_message = read_batch(s, all);
    if (*ret_message)
        return 0;
    scratch_reset(s, limit); /* has the room now */
    *ret_message = trigd__v1__from_daemon__unpack(&allocator, n, bytes);
    return *ret_message ? 0 : -EBADMSG;
}
