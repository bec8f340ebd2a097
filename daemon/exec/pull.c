/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/pull.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "exec/pull_layout.h"
#include "exec/stage.h"
#include "pull.program.h"
#include "values.h"

/* Work-items of a group.  All groups of a batch together keep the bus busy with WORK_ITEMS; more of
 * them only wait, in places on the chip that the plugin's kernels want. */
#define GROUP_LEAST 32u
#define GROUP_MOST  1024u
#define WORK_ITEMS  8192u

#define FETCHED_ITEMS (1u << 18) /* the same, of columns that lie on the device */

#define COPIED_LEAST (16u << 10) /* bytes of an RoI, on average: a copy takes 2 us to begin */

_Static_assert(TRG_COLUMNS_MAX_DEV == TRG_COLUMNS_MAX, "all columns");

int pull_open(struct trg_device *d, uint32_t max_rois, struct pull *ret_pull)
{
    struct trg_device_info info;
    struct pull p = {0};
    int r = trg_module_new(d, &pull_program, NULL, &p.module);

    if (r < 0)
        return r;
    r = trg_kernel_get(p.module, "pull", &p.kernel);
    if (r == 0)
        r = fetch_open(max_rois, &p.fetch);
    if (r < 0) {
        pull_close(&p);
        return r;
    }
    trg_device_info(d, &info);
    p.group_max = info.group_max;
    p.work_items = WORK_ITEMS;
    *ret_pull = p;
    return 0;
}

void pull_close(struct pull *p)
{
    trg_module_free(p->module);
    fetch_close(&p->fetch);
    *p = (struct pull){0};
}

static size_t verdicts_bytes(uint32_t n_rois)
{
    return arena_align((uint64_t)n_rois * sizeof(struct pull_verdict));
}

static size_t entries_bytes(uint32_t n_rois)
{
    return arena_align((uint64_t)n_rois * sizeof(struct pull_entry));
}

size_t pull_bytes(uint32_t kind, uint32_t n_rois)
{
    return verdicts_bytes(n_rois) + entries_bytes(n_rois) +
           arena_align((uint64_t)n_rois * encoding_count(kind_info(kind)) *
                       sizeof(struct pull_encoding));
}

/* The tables follow the offsets. */
static size_t verdicts_at(const struct trg_span *span)
{
    return arena_align(span->offsets + (span->n_rois + UINT64_C(1)) * sizeof(uint32_t));
}

static uint32_t bits_of(float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* The range of a column; infinity is never in it. */
static struct pull_column describe_column(const struct trg_column *column, uint32_t max_layer)
{
    const struct values_range r = values_range(column, max_layer);
    struct pull_column c = {.type = column->type, .length = column->length};

    if (column->type == TRG_F32 || column->type == TRG_F16) {
        c.least = bits_of(fmaxf((float)r.least, -FLT_MAX));
        c.most = bits_of(fminf((float)r.most, FLT_MAX));
    } else { /* declared within what the type holds */
        c.least = (uint32_t)(int64_t)r.least;
        c.most = (uint32_t)(int64_t)r.most;
    }
    return c;
}

/* Writes what the encoded columns of an RoI have. */
static void fill_encodings(const struct pull_input *in, const struct arena_source *from,
                           struct pull_encoding *to)
{
    const struct trg_collection *info = kind_info(in->kind);
    const struct trg_encoding *sent =
        (const struct trg_encoding *)(const void *)(in->pool + from->encodings);

    for (uint32_t c = 0; c < info->n_columns; c++) {
        struct trg_encoding e;

        if (!encoding_is_there(info, c))
            continue;
        e = encoding_of(info, sent, c);
        *to++ = (struct pull_encoding){e.offset, e.step};
    }
}

/* Writes the tables and the offsets.  `at`: where the columns lie; NULL: where the sources are. */
static void fill_tables(const struct pull_input *in, const uint64_t *at, unsigned char *host,
                        struct pull_par *par)
{
    struct pull_entry *entries = (struct pull_entry *)(void *)(host + par->entries);
    struct pull_encoding *encodings = (struct pull_encoding *)(void *)(host + par->encodings);
    uint32_t *offsets = (uint32_t *)(void *)(host + par->span.offsets);
    const uint32_t n_encodings = encoding_count(kind_info(in->kind));

    memset(host + par->verdicts, 0, in->n_rois * sizeof(struct pull_verdict));
    for (uint32_t i = 0; i < in->n_rois; i++) {
        const struct arena_source *from = &in->sources[i];
        const uint64_t begin = at ? at[i] : from->at;

        offsets[i] = par->span.n_items;
        par->span.n_items += from->n;
        entries[i] =
            (struct pull_entry){.at_low = (uint32_t)begin,
                                .at_high = (uint32_t)(begin >> 32),
                                .capacity = from->capacity,
                                .encodings = from->is_encoded ? i * n_encodings : PULL_PLAIN};
        if (!from->is_encoded)
            continue;
        fill_encodings(in, from, &encodings[(size_t)i * n_encodings]);
        par->n_encodings = n_encodings;
    }
    offsets[in->n_rois] = par->span.n_items;
}

/* Writes the head of the block and the tables, and says where the rest will lie. */
static void write_head(const struct pull_input *in, const uint64_t *to, unsigned char *host,
                       struct pull_par *ret_par)
{
    const struct trg_collection *info = kind_info(in->kind);
    struct pull_par par = {.n_columns = info->n_columns};
    size_t at = stage_head(in->n_rois, in->rois, host, &par.span);
    uint32_t n_encoded = 0;

    par.verdicts = (trg_u32)at;
    par.entries = par.verdicts + (trg_u32)verdicts_bytes(in->n_rois);
    par.encodings = par.entries + (trg_u32)entries_bytes(in->n_rois);
    fill_tables(in, to, host, &par);
    at += pull_bytes(in->kind, in->n_rois);
    for (uint32_t c = 0; c < info->n_columns; c++) {
        par.column[c] = describe_column(&info->column[c], in->max_layer);
        par.column[c].encoding = encoding_is_there(info, c) ? n_encoded++ : PULL_PLAIN;
        par.span.column[c] = (uint32_t)at;
        at += arena_align((uint64_t)par.span.n_items * trg_column_bytes(&info->column[c]));
    }
    *ret_par = par;
}

static uint32_t group_size(const struct pull *p, const struct pull_input *in, uint32_t work_items,
                           uint32_t n_items)
{
    const uint64_t bytes = n_items * kind_item_size(in->kind) / in->n_rois;
    const uint32_t most = GROUP_MOST < p->group_max ? GROUP_MOST : p->group_max;
    uint32_t size = GROUP_LEAST;

    while (size < most && size * in->n_rois < work_items &&
           size * UINT64_C(16) * PULL_AHEAD < bytes)
        size *= 2;
    return size < most ? size : most;
}

/* Whether a column may hold any bits. */
static bool is_free(const struct trg_column *column, uint32_t max_layer)
{
    const struct values_range r = values_range(column, max_layer);

    switch (column->type) {
    case TRG_U8:
        return r.least <= 0 && r.most >= UINT8_MAX;
    case TRG_U16:
        return r.least <= 0 && r.most >= UINT16_MAX;
    case TRG_U32:
        return r.least <= 0 && r.most >= UINT32_MAX;
    case TRG_I8:
        return r.least <= INT8_MIN && r.most >= INT8_MAX;
    case TRG_I16:
        return r.least <= INT16_MIN && r.most >= INT16_MAX;
    case TRG_I32:
        return r.least <= INT32_MIN && r.most >= INT32_MAX;
    default:
        return false; /* no NaN is allowed */
    }
}

/* Whether nothing can be wrong with the values of a collection. */
static bool needs_no_check(uint32_t kind, uint32_t max_layer)
{
    const struct trg_collection *info = kind_info(kind);

    for (uint32_t c = 0; c < info->n_columns; c++)
        if (!is_free(&info->column[c], max_layer) || encoding_is_there(info, c))
            return false;
    return true;
}

/* Whether copies will do. */
static bool is_copied(const struct pull_input *in)
{
    uint64_t n_items = 0;

    if (!needs_no_check(in->kind, in->max_layer))
        return false;
    for (uint32_t i = 0; i < in->n_rois; i++)
        n_items += in->sources[i].n;
    return n_items * kind_item_size(in->kind) >= (uint64_t)COPIED_LEAST * in->n_rois;
}

uint64_t pull_fetched_bytes(uint32_t kind, uint32_t max_layer, uint32_t max_rois, uint64_t bytes)
{
    const uint64_t few = (uint64_t)COPIED_LEAST * max_rois; /* with more they are copied in place */

    return fetch_room(max_rois, few < bytes && needs_no_check(kind, max_layer) ? few : bytes);
}

static int copy_column(const struct pull_input *in, struct trg_queue *q, uint64_t to, uint64_t at,
                       uint64_t bytes)
{
    int r = 0;

    while (r == 0 && bytes) {
        const uint64_t left = fetch_left(&in->open, at), n = bytes < left ? bytes : left;

        r = trg_copy(q, in->dev, to, in->window, at, n);
        to += n;
        at += n;
        bytes -= n;
    }
    return r;
}

/* Copies the head and the columns of all RoIs; nothing can be wrong with them. */
static int copy_columns(const struct pull_input *in, struct trg_queue *q,
                        const struct pull_par *par)
{
    const struct trg_collection *info = kind_info(in->kind);
    uint64_t first = 0;
    int r = trg_write(q, in->dev, 0, in->host, 0, stage_head_bytes(in->n_rois));

    for (uint32_t i = 0; i < in->n_rois; i++) {
        const struct arena_source *from = &in->sources[i];
        uint64_t at = from->at;

        for (uint32_t c = 0; r == 0 && c < info->n_columns; c++) {
            const uint64_t size = trg_column_bytes(&info->column[c]);

            r = copy_column(in, q, par->span.column[c] + first * size, at, from->n * size);
            at += arena_align(from->capacity * size);
        }
        first += from->n;
    }
    return r;
}

/* Has the kernel pack the columns of all RoIs, which lie in `from`. */
static int launch_kernel(const struct pull *p, const struct pull_input *in, struct trg_queue *q,
                         struct trg_buffer *from, uint32_t work_items, const struct pull_par *par)
{
    const uint32_t size = group_size(p, in, work_items, par->span.n_items);
    const uint32_t enough = work_items / size;
    const struct trg_range range = {.groups = in->n_rois < enough ? in->n_rois : enough,
                                    .group_size = size};
    const struct trg_arg args[] = {TRG_BUF(from), TRG_BUF(in->host), TRG_BUF(in->dev),
                                   TRG_VAL(*par)};

    return trg_launch(q, p->kernel, range, args, sizeof args / sizeof *args);
}

/* Packs the columns of all RoIs and checks their values, on the device once they are there. */
static int pack_columns(const struct pull *p, const struct pull_input *in, struct trg_queue *q,
                        bool is_fetched, const struct pull_par *par)
{
    int r;

    if (!is_fetched)
        return launch_kernel(p, in, q, in->window, p->work_items, par);
    r = trg_copy_parts(q, in->fetched, in->window, p->fetch.parts, p->fetch.n_parts);
    return r < 0 ? r : launch_kernel(p, in, q, in->fetched, FETCHED_ITEMS, par);
}

int pull_enqueue(struct pull *p, struct trg_queue *q, const struct pull_input *in,
                 struct trg_span *ret_span)
{
    const bool copied = is_copied(in);
    const bool is_fetched =
        !copied && in->fetched &&
        fetch_plan(&p->fetch, &in->open, in->kind, in->n_rois, in->sources, in->fetched_bytes);
    struct pull_par par;
    int r;

    write_head(in, is_fetched ? p->fetch.at : NULL, trg_buffer_host(in->host), &par);
    r = copied ? copy_columns(in, q, &par) : pack_columns(p, in, q, is_fetched, &par);
    if (r == 0)
        *ret_span = par.span;
    return r;
}

struct check_fault pull_fault(uint32_t kind, const struct trg_span *span, const void *host,
                              uint32_t i)
{
    const struct trg_collection *info = kind_info(kind);
    struct pull_verdict v;

    memcpy(&v, (const unsigned char *)host + verdicts_at(span) + i * sizeof v, sizeof v);
    if (!v.column || v.column > info->n_columns)
        return (struct check_fault){0};
    return check_fault_of(kind, v.column - 1, v.at, &v.bits);
}
