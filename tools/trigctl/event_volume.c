/* SPDX-License-Identifier: Apache-2.0 */
#include "event_volume.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kinds.h"
#include "png.h"
#include "trigd/collection.h"

#define STEPS_MAX 8u
#define MARGIN    24.0

static const uint32_t right[3] = {1, 0, 0},
                      up[3] = {2, 2, 1}; /* axes of the slice across x, y, z */

struct brick {
    uint32_t n[3], origin[3], volume[3]; /* voxels without halo */
    uint32_t type, width;
    int32_t low;
};

/* ---------------------------------------------------------------- reading */

/* The column of that name of a collection called `of`; NULL: it is another, or has none. */
static const ProtobufCBinaryData *column(const Trigd__V1__Columns *m, const char *of,
                                         const char *name)
{
    const struct trg_collection *c = kind_info(kind_of_hash(m->hash));

    if (!c || strcmp(c->name, of) != 0)
        return NULL;
    for (uint32_t i = 0; i < c->n_columns && i < m->n_column; i++)
        if (!strcmp(c->column[i].name, name))
            return &m->column[i];
    return NULL;
}

static bool read_three(const Trigd__V1__Columns *m, const char *of, const char *name,
                       uint32_t ret[3])
{
    const ProtobufCBinaryData *d = column(m, of, name);

    for (uint32_t i = 0; d && d->len == 6 && i < 3; i++)
        ret[i] = (uint32_t)d->data[2u * (size_t)i] | (uint32_t)d->data[2u * (size_t)i + 1] << 8;
    return d && d->len == 6;
}

/* Where a brick lies: of `bricks` or `labelled_bricks`. */
static bool read_place(const Trigd__V1__Columns *m, const char *of, struct brick *b)
{
    if (!read_three(m, of, "n", b->n) || !read_three(m, of, "origin", b->origin) ||
        !read_three(m, of, "volume", b->volume))
        return false;
    for (uint32_t i = 0; i < 3; i++)
        if (!b->n[i] || b->origin[i] + b->n[i] > b->volume[i])
            return false;
    return true;
}

static bool read_window(const Trigd__V1__Columns *m, struct brick *b)
{
    const ProtobufCBinaryData *type = column(m, "bricks", "type"),
                              *low = column(m, "bricks", "low"),
                              *width = column(m, "bricks", "width");

    if (!type || !low || !width || type->len != 1 || low->len != 4 || width->len != 4)
        return false;
    b->type = type->data[0];
    memcpy(&b->low, low->data, 4);
    memcpy(&b->width, width->data, 4);
    return b->type < 3 && b->width;
}

/* ---------------------------------------------------------------- slices */

/* Takes the size of the first brick's volume; others have to agree. */
static int open_slices(struct event_volume *v, const struct brick *b)
{
    if (v->n[0])
        return memcmp(v->n, b->volume, sizeof v->n) == 0 ? 0 : -EBADMSG;
    memcpy(v->n, b->volume, sizeof v->n);
    for (uint32_t a = 0; a < 3; a++) {
        struct event_slice *s = &v->slice[a];

        s->n_u = v->n[right[a]];
        s->n_v = v->n[up[a]];
        s->value = calloc((size_t)s->n_u * s->n_v, 1);
        s->label = calloc((size_t)s->n_u * s->n_v, 1);
        if (!s->value || !s->label)
            return -ENOMEM;
    }
    return 0;
}

static uint8_t grey(const struct brick *b, const uint8_t *data, size_t i)
{
    int64_t value;

    if (b->type == 0)
        return data[i];
    value = data[2 * i] | data[2 * i + 1] << 8;
    if (b->type == 2 && value >= 32768)
        value -= 65536;
    value = (value - b->low) * 255 / b->width;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* Calls for each voxel of a brick that lies in a slice: its place in the brick, and in the slice.
 */
typedef void voxel_fn(void *ctx, struct event_slice *s, size_t at, const uint32_t in_brick[3]);
static void each_voxel(struct event_volume *v, const struct brick *b, voxel_fn *fn, void *ctx)
{
    for (uint32_t a = 0; a < 3; a++) {
        struct event_slice *s = &v->slice[a];
        const uint32_t cut = v->n[a] / 2;
        uint32_t at[3];

        if (cut < b->origin[a] || cut >= b->origin[a] + b->n[a])
            continue;
        at[a] = cut - b->origin[a];
        for (at[up[a]] = 0; at[up[a]] < b->n[up[a]]; at[up[a]]++)
            for (at[right[a]] = 0; at[right[a]] < b->n[right[a]]; at[right[a]]++)
                fn(ctx, s,
                   (size_t)(b->origin[up[a]] + at[up[a]]) * s->n_u + b->origin[right[a]] +
                       at[right[a]],
                   at);
    }
}

struct values {
    const struct brick *b;
    const uint8_t *data;
    uint32_t low[3]; /* planes of halo in front */
    size_t size[3];  /* with halo */
};

static void take_value(void *ctx, struct event_slice *s, size_t at, const uint32_t in_brick[3])
{
    const struct values *w = ctx;
    const size_t x = in_brick[0] + w->low[0], y = in_brick[1] + w->low[1],
                 z = in_brick[2] + w->low[2];

    s->value[at] = grey(w->b, w->data, (z * w->size[1] + y) * w->size[0] + x);
}

static int add_values(struct event_volume *v, const struct brick *b,
                      const ProtobufCBinaryData *data)
{
    struct values w = {.b = b, .data = data->data};
    size_t n = b->type ? 2 : 1;
    int r;

    for (uint32_t i = 0; i < 3; i++) {
        w.low[i] = b->origin[i] > 0;
        w.size[i] = (size_t)b->n[i] + w.low[i] + (b->origin[i] + b->n[i] < b->volume[i]);
        n *= w.size[i];
    }
    if (n != data->len)
        return -EBADMSG;
    r = open_slices(v, b);
    if (r == 0) {
        v->bricks++;
        each_voxel(v, b, take_value, &w);
    }
    return r;
}

/* ---------------------------------------------------------------- labels */

struct labels {
    const struct brick *b;
    const uint8_t *bits;
    uint8_t mark;
};

static void take_label(void *ctx, struct event_slice *s, size_t at, const uint32_t in_brick[3])
{
    const struct labels *l = ctx;
    const size_t row = (l->b->n[0] + 7u) / 8,
                 byte = (in_brick[2] * (size_t)l->b->n[1] + in_brick[1]) * row + in_brick[0] / 8;

    if (l->bits[byte] >> in_brick[0] % 8 & 1)
        s->label[at] |= l->mark;
}

/* The bit of a step; 0: there are more steps than colours. */
static uint8_t mark_of(struct event_volume *v, uint32_t step)
{
    for (uint32_t i = 0; i < v->n_steps; i++)
        if (v->step[i] == step)
            return (uint8_t)(1u << i);
    if (v->n_steps == STEPS_MAX)
        return 0;
    v->step[v->n_steps] = step;
    return (uint8_t)(1u << v->n_steps++);
}

/* The labels that a step made, in two products: where, and which. */
static int add_labels(struct event_volume *v, const Trigd__V1__Kept *kept, uint32_t step)
{
    const ProtobufCBinaryData *bits = NULL;
    struct brick b = {.type = 0};
    bool has_place = false;
    struct labels l = {.b = &b};
    int r;

    for (size_t i = 0; i < kept->n_products; i++) {
        const Trigd__V1__Product *p = kept->products[i];

        if (p->step != step || !p->columns)
            continue;
        has_place |= read_place(p->columns, "labelled_bricks", &b);
        if (column(p->columns, "brick_labels", "bits"))
            bits = column(p->columns, "brick_labels", "bits");
    }
    if (!has_place || !bits)
        return 0;
    if (bits->len != (b.n[0] + 7u) / 8 * (size_t)b.n[1] * b.n[2])
        return -EBADMSG;
    r = open_slices(v, &b);
    l.bits = bits->data;
    l.mark = mark_of(v, step);
    v->labelled++;
    if (r == 0)
        each_voxel(v, &b, take_label, &l);
    return r;
}

static uint64_t voxels(const uint32_t n[3])
{
    return (uint64_t)n[0] * n[1] * n[2];
}

uint64_t event_volume_part(const Trigd__V1__Roi *roi, uint64_t *ret_whole)
{
    struct brick b;
    bool is_there = false;

    for (size_t i = 0; !is_there && i < roi->n_columns; i++)
        is_there = read_place(roi->columns[i], "bricks", &b);
    for (size_t i = 0; !is_there && roi->kept && i < roi->kept->n_products; i++)
        is_there = roi->kept->products[i]->columns &&
                   read_place(roi->kept->products[i]->columns, "labelled_bricks", &b);
    *ret_whole = is_there ? voxels(b.volume) : 0;
    return is_there ? voxels(b.n) : 0;
}

int event_volume_add(struct event_volume *v, const Trigd__V1__Roi *roi)
{
    const ProtobufCBinaryData *data = NULL;
    struct brick b;
    bool has_brick = false;
    int r = 0;

    for (size_t i = 0; i < roi->n_columns; i++) {
        if (read_place(roi->columns[i], "bricks", &b))
            has_brick = read_window(roi->columns[i], &b);
        if (column(roi->columns[i], "brick_values", "byte"))
            data = column(roi->columns[i], "brick_values", "byte");
    }
    if (has_brick && data)
        r = add_values(v, &b, data);
    for (size_t i = 0; r == 0 && roi->kept && i < roi->kept->n_products; i++) {
        const Trigd__V1__Product *p = roi->kept->products[i];

        if (p->columns && column(p->columns, "labelled_bricks", "n"))
            r = add_labels(v, roi->kept, p->step);
    }
    return r;
}

/* ---------------------------------------------------------------- drawing */

/* Grey, and a label's colour half through it. */
static void paint(const struct event_slice *s, uint8_t *rgb)
{
    static const uint8_t colour[STEPS_MAX][3] = {{255, 200, 0},  {40, 120, 255}, {230, 40, 60},
                                                 {40, 200, 90},  {200, 90, 255}, {0, 200, 220},
                                                 {255, 120, 30}, {150, 150, 150}};

    for (uint32_t y = 0; y < s->n_v; y++)
        for (uint32_t x = 0; x < s->n_u; x++) {
            const size_t from = (size_t)(s->n_v - 1 - y) * s->n_u + x; /* rows from the top */
            uint8_t *to = rgb + 3 * ((size_t)y * s->n_u + x);

            memset(to, s->value[from], 3);
            for (uint32_t k = 0; k < STEPS_MAX; k++)
                for (uint32_t i = 0; s->label[from] >> k & 1 && i < 3; i++)
                    to[i] = (uint8_t)((to[i] + colour[k][i]) / 2);
        }
}

static int draw_slice(const struct event_slice *s, double left, double top, double scale, FILE *out)
{
    uint8_t *rgb = malloc(3 * (size_t)s->n_u * s->n_v);
    int r = rgb ? 0 : -ENOMEM;

    if (r == 0) {
        paint(s, rgb);
        fprintf(out,
                "<image x='%.1f' y='%.1f' width='%.1f' height='%.1f' preserveAspectRatio='none' "
                "style='image-rendering:pixelated' href='data:image/png;base64,",
                left, top, scale * s->n_u, scale * s->n_v);
        r = png_write_base64(rgb, s->n_u, s->n_v, out);
        fputs("'/>\n", out);
    }
    free(rgb);
    return r;
}

int event_volume_draw(const struct event_volume *v, double width, double height, FILE *out)
{
    static const char axis[] = "xyz";
    uint32_t wide = 0, high = 0;
    double scale, left = MARGIN;
    int r = 0;

    for (uint32_t a = 0; a < 3; a++) {
        wide += v->slice[a].n_u;
        high = v->slice[a].n_v > high ? v->slice[a].n_v : high;
    }
    scale = (width - 4 * MARGIN) / wide;
    if (scale * high > height - 3 * MARGIN)
        scale = (height - 3 * MARGIN) / high;
    for (uint32_t a = 0; r == 0 && a < 3; a++) {
        const struct event_slice *s = &v->slice[a];

        r = draw_slice(s, left, 2 * MARGIN, scale, out);
        fprintf(out,
                "<text x='%.1f' y='%.1f'>%c = %u: %c to the right, %c upwards [voxels]</text>\n",
                left + scale * s->n_u / 2, 2 * MARGIN + scale * s->n_v + 14, axis[a], v->n[a] / 2,
                axis[right[a]], axis[up[a]]);
        left += scale * s->n_u + MARGIN;
    }
    return r;
}

void event_volume_fini(struct event_volume *v)
{
    for (uint32_t a = 0; a < 3; a++) {
        free(v->slice[a].value);
        free(v->slice[a].label);
    }
    *v = (struct event_volume){.bricks = 0};
}
