/* SPDX-License-Identifier: Apache-2.0 */
#include "lane.h"

#include <stdlib.h>
#include <string.h>

#include "components.program.h"
#include "place.h"
#include "runs.h"
#include "take.program.h"
#include "voxels.program.h"

#define ALIGN        16u
#define DEPTH_MAX    32u /* planes of a group */
#define GROUPS_UNIT  16u /* groups that a multiprocessor should get of a batch */
#define PLACE_STRIDE 4u  /* stretches of eight bytes that a work-item places, about */
#define WORDS_STRIDE 16u /* four times the words of labels that a work-item looks at for runs */

struct slot {
    struct trg_buffer *in, *in_dev, *bricks, *bricks_dev, *placed, *labels, *labels_host, *sums,
        *sums_host, *runs, *tables, *tables_host;
    uint32_t n;
    size_t in_bytes, label_bytes;
    struct vox_place_par place;
    struct vox_label_par label;
    struct vox_runs_par join;
};

enum { BEGIN, JOIN, COUNT, LARGEST, RUN_KERNELS };

struct vox_lane {
    struct vox_setup s;
    struct trg_device_info info;
    struct trg_module *module, *components, *taking;
    struct trg_kernel *take, *place, *label, *runs[RUN_KERNELS];
    struct trg_buffer *tables;
    uint32_t n_slots;
    struct slot slot[VOX_SLOTS_MAX];
};

/* ---------------------------------------------------------------- sizes */

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static uint64_t placed_bytes(const uint32_t *n)
{
    return (uint64_t)vox_pitch(n[0]) * (n[1] + 2u) * (n[2] + 2u);
}

static uint32_t row_bytes(enum vox_labels labels, uint32_t nx)
{
    const uint32_t chunks = (nx + VOX_CHUNK - 1u) / VOX_CHUNK;

    return labels == VOX_LABELS_BYTES ? chunks * VOX_CHUNK : chunks;
}

static uint64_t label_bytes(enum vox_labels labels, const uint32_t *n)
{
    return round_up((uint64_t)row_bytes(labels, n[0]) * n[1] * n[2]);
}

/* Parents of its runs, and then sizes. */
static uint64_t run_words(const uint32_t *n)
{
    const uint64_t row = (n[0] + 31u) / 32u;

    return 64u * row * n[1] * n[2];
}

static uint32_t has(uint32_t halo, uint32_t side)
{
    return halo & side ? 1u : 0u;
}

size_t vox_piece_bytes(const struct vox_piece *p, uint32_t value_bytes)
{
    size_t bytes = value_bytes;

    for (uint32_t axis = 0; axis < 3; axis++)
        bytes *= p->n[axis] + has(p->halo, VOX_HALO_X_LOW << (2 * axis)) +
                 has(p->halo, VOX_HALO_X_HIGH << (2 * axis));
    return bytes;
}

/* ---------------------------------------------------------------- opening */

/* A buffer that the host and the device use: on the CPU they are one. */
static int shared_buffer(struct vox_lane *l, size_t bytes, struct trg_buffer **ret_host,
                         struct trg_buffer **ret_dev)
{
    int r = trg_buffer_new(l->s.device, TRG_MEM_PINNED, bytes, ret_host);

    if (r == 0 && l->info.is_host)
        *ret_dev = *ret_host;
    else if (r == 0)
        r = trg_buffer_new(l->s.device, TRG_MEM_DEVICE, bytes, ret_dev);
    return r;
}

static int open_slot(struct vox_lane *l, struct slot *s)
{
    const struct vox_piece most = {.n = {l->s.max_n[0], l->s.max_n[1], l->s.max_n[2]}, .halo = 63u};
    const size_t bricks = l->s.max_bricks;
    int r;

    if (l->s.tables) {
        s->in_bytes = bricks * vox_piece_bytes(&most, l->s.value_bytes);
        r = shared_buffer(l, s->in_bytes + VOX_SLACK, &s->in, &s->in_dev);
    } else {
        r = shared_buffer(l, 4 * VOX_TABLES_MAX, &s->tables_host, &s->tables);
    }
    if (r == 0)
        r = shared_buffer(l, bricks * sizeof(struct vox_brick), &s->bricks, &s->bricks_dev);
    if (r == 0)
        r = shared_buffer(l, bricks * label_bytes(l->s.labels, l->s.max_n), &s->labels_host,
                          &s->labels);
    if (r == 0)
        r = shared_buffer(l, bricks * sizeof(struct vox_sums), &s->sums_host, &s->sums);
    if (r == 0 && l->s.components)
        r = trg_buffer_new(l->s.device, TRG_MEM_DEVICE, 4 * bricks * run_words(l->s.max_n),
                           &s->runs);
    if (r == 0)
        r = trg_buffer_new(l->s.device, TRG_MEM_DEVICE,
                           bricks * placed_bytes(l->s.max_n) + VOX_SLACK, &s->placed);
    return r;
}

static int upload_tables(struct vox_lane *l, const struct vox_tables *t)
{
    const size_t bytes = t->n_words * sizeof *t->words;
    struct trg_buffer *host = NULL;
    struct trg_queue *q = NULL;
    int r = trg_buffer_new(l->s.device, TRG_MEM_PINNED, bytes, &host);

    if (r == 0)
        r = trg_buffer_new(l->s.device, TRG_MEM_DEVICE, bytes, &l->tables);
    if (r == 0)
        r = trg_queue_new(l->s.device, &q);
    if (r == 0) {
        memcpy(trg_buffer_host(host), t->words, bytes);
        r = trg_write(q, l->tables, 0, host, 0, bytes);
    }
    if (r == 0)
        r = trg_finish(q);
    trg_queue_free(q);
    trg_buffer_free(host);
    return r;
}

/* Offsets of a batch are 32 bits. */
static bool is_allowed(const struct vox_setup *s)
{
    const uint64_t most = UINT32_MAX;
    uint64_t in = s->value_bytes;

    if (!s->slots || s->slots > VOX_SLOTS_MAX || !s->max_bricks || !s->max_n[0] || !s->max_n[1] ||
        !s->max_n[2])
        return false;
    if (s->value_bytes != 1 && (s->value_bytes != 2 || !s->width))
        return false;
    if (s->components &&
        (s->labels == VOX_LABELS_BYTES || run_words(s->max_n) * s->max_bricks > most))
        return false;
    for (uint32_t axis = 0; axis < 3; axis++) {
        in *= s->max_n[axis] + 2ull;
        if (in > most)
            return false;
    }
    return placed_bytes(s->max_n) <= most && in * s->max_bricks <= most &&
           label_bytes(s->labels, s->max_n) * s->max_bricks <= most;
}

static int open_components(struct vox_lane *l)
{
    static const char *const names[] = {"vox_runs_begin", "vox_runs_join", "vox_runs_count",
                                        "vox_runs_largest"};
    int r = trg_module_new(l->s.device, &components_program, NULL, &l->components);

    for (uint32_t i = 0; r == 0 && i < RUN_KERNELS; i++)
        r = trg_kernel_get(l->components, names[i], &l->runs[i]);
    return r;
}

static int open_take(struct vox_lane *l)
{
    const int r = trg_module_new(l->s.device, &take_program, NULL, &l->taking);

    return r ? r : trg_kernel_get(l->taking, "vox_take", &l->take);
}

static void use_tables(const struct vox_lane *l, struct slot *s, const struct vox_tables *t)
{
    s->label = (struct vox_label_par){.uses = t->uses,
                                      .s_steps = t->s_steps,
                                      .extent = {t->extent[0], t->extent[1], t->extent[2]},
                                      .steps = t->steps,
                                      .as_bytes = l->s.labels == VOX_LABELS_BYTES};
}

int vox_lane_open(const struct vox_setup *setup, struct vox_lane **ret_lane)
{
    struct vox_lane *l;
    int r;

    if (!is_allowed(setup))
        return -EINVAL;
    l = calloc(1, sizeof *l);
    if (!l)
        return -ENOMEM;
    l->s = *setup;
    trg_device_info(setup->device, &l->info);
    r = trg_module_new(setup->device, &voxels_program, NULL, &l->module);
    if (r == 0)
        r = trg_kernel_get(l->module, "vox_place", &l->place);
    if (r == 0)
        r = trg_kernel_get(l->module, "vox_label", &l->label);
    if (r == 0 && setup->components)
        r = open_components(l);
    if (r == 0)
        r = setup->tables ? upload_tables(l, setup->tables) : open_take(l);
    for (uint32_t i = 0; r == 0 && i < setup->slots; i++)
        r = open_slot(l, &l->slot[i]);
    for (uint32_t i = 0; r == 0 && setup->tables && i < setup->slots; i++) {
        l->slot[i].tables = l->tables;
        use_tables(l, &l->slot[i], setup->tables);
    }
    l->s.tables = NULL; /* the caller's */
    if (r == 0)
        *ret_lane = l;
    else
        vox_lane_close(l);
    return r;
}

void vox_lane_close(struct vox_lane *l)
{
    if (!l)
        return;
    for (uint32_t i = 0; i < VOX_SLOTS_MAX; i++) {
        struct slot *s = &l->slot[i];

        if (!l->info.is_host) {
            trg_buffer_free(s->in_dev);
            trg_buffer_free(s->bricks_dev);
            trg_buffer_free(s->labels);
            trg_buffer_free(s->sums);
            trg_buffer_free(s->tables_host ? s->tables : NULL);
        }
        trg_buffer_free(s->tables_host);
        trg_buffer_free(s->in);
        trg_buffer_free(s->bricks);
        trg_buffer_free(s->labels_host);
        trg_buffer_free(s->sums_host);
        trg_buffer_free(s->placed);
        trg_buffer_free(s->runs);
    }
    trg_buffer_free(l->tables);
    trg_module_free(l->components);
    trg_module_free(l->taking);
    trg_module_free(l->module);
    free(l);
}

unsigned char *vox_lane_input(struct vox_lane *l, uint32_t slot, size_t *ret_bytes)
{
    *ret_bytes = l->slot[slot].in_bytes;
    return trg_buffer_host(l->slot[slot].in);
}

/* ---------------------------------------------------------------- a batch */

struct extents { /* the most of any brick of a batch: chunks of a plane; planes; eight bytes, placed
                  */
    uint32_t columns, planes, eights;
};

static void extend(struct extents *most, const uint32_t *n)
{
    const uint32_t columns = (n[0] + VOX_CHUNK - 1) / VOX_CHUNK * n[1];
    const uint32_t eights = (uint32_t)(placed_bytes(n) / 8);

    most->columns = columns > most->columns ? columns : most->columns;
    most->planes = n[2] > most->planes ? n[2] : most->planes;
    most->eights = eights > most->eights ? eights : most->eights;
}

/* Fills the slot's table of bricks; the bytes of the batch's input, or an error. */
static int place_pieces(struct vox_lane *l, struct slot *s, const struct vox_piece *pieces,
                        uint32_t n, struct extents *most, size_t *ret_in)
{
    struct vox_brick *bricks = trg_buffer_host(s->bricks);
    uint64_t in = 0, placed = 0, labels = 0, runs = 0;

    if (!n || n > l->s.max_bricks)
        return -E2BIG;
    for (uint32_t i = 0; i < n; i++) {
        const struct vox_piece *p = &pieces[i];
        struct vox_brick *b = &bricks[i];

        for (uint32_t axis = 0; axis < 3; axis++) {
            if (!p->n[axis] || p->n[axis] > l->s.max_n[axis])
                return -E2BIG;
            b->n[axis] = p->n[axis];
            b->origin[axis] = p->origin[axis];
        }
        b->halo = p->halo;
        b->in = (uint32_t)in;
        b->placed = (uint32_t)(placed / VOX_MARGIN);
        b->labels = (uint32_t)labels;
        b->runs = (uint32_t)runs;
        b->bytes = l->s.value_bytes;
        b->is_signed = l->s.is_signed;
        b->low = l->s.low;
        b->width = l->s.width;
        extend(most, p->n);
        in += vox_piece_bytes(p, l->s.value_bytes);
        placed += placed_bytes(p->n);
        labels += label_bytes(l->s.labels, p->n);
        runs += run_words(p->n);
    }
    s->n = n;
    s->label_bytes = labels;
    *ret_in = in;
    return 0;
}

/* How a batch is cut into groups: on the CPU a brick is one, elsewhere there are enough of them for
 * all multiprocessors, with as many planes each as that leaves. */
static void choose_grid(const struct vox_lane *l, struct slot *s, struct extents most)
{
    const uint32_t columns = most.columns, planes = most.planes, eights = most.eights;
    uint32_t tiles = 1, parts;

    s->label.tile = l->info.is_host && columns ? columns : VOX_GROUP_SIZE;
    if (columns)
        tiles = (columns + s->label.tile - 1) / s->label.tile;
    s->label.depth = planes ? planes : 1u;
    if (!l->info.is_host) {
        parts = (l->info.units * GROUPS_UNIT + tiles * s->n - 1) / (tiles * s->n);
        s->label.depth = (planes + parts - 1) / parts;
        s->label.depth = s->label.depth < 4 ? 4 : s->label.depth;
        s->label.depth = s->label.depth > DEPTH_MAX ? DEPTH_MAX : s->label.depth;
    }
    s->label.groups_each = tiles * ((planes + s->label.depth - 1) / s->label.depth);
    s->place.groups_each = l->info.is_host ? 1u : eights / (VOX_GROUP_SIZE * PLACE_STRIDE) + 1u;
    s->join.groups_each = l->info.is_host ? 1u : eights / (VOX_GROUP_SIZE * WORDS_STRIDE) + 1u;
}

static int find_components(struct vox_lane *l, struct slot *s, struct trg_queue *q)
{
    const struct trg_range range = {s->n * s->join.groups_each, VOX_GROUP_SIZE};
    const struct trg_arg args[] = {TRG_BUF(s->labels), TRG_BUF(s->bricks_dev), TRG_BUF(s->runs),
                                   TRG_VAL(s->join)};
    const struct trg_arg last[] = {TRG_BUF(s->labels), TRG_BUF(s->bricks_dev), TRG_BUF(s->runs),
                                   TRG_BUF(s->sums), TRG_VAL(s->join)};
    int r = 0;

    for (uint32_t i = BEGIN; r == 0 && i < LARGEST; i++)
        r = trg_launch(q, l->runs[i], range, args, 4);
    return r ? r : trg_launch(q, l->runs[LARGEST], range, last, 5);
}

/* The kernels of a batch whose voxels are in a buffer. */
static int launch(struct vox_lane *l, struct slot *s, struct trg_buffer *in, struct trg_queue *q)
{
    const struct trg_arg place[] = {TRG_BUF(in), TRG_BUF(s->bricks_dev), TRG_BUF(s->placed),
                                    TRG_BUF(s->sums), TRG_VAL(s->place)};
    const struct trg_arg label[] = {TRG_BUF(s->placed), TRG_BUF(s->bricks_dev), TRG_BUF(s->tables),
                                    TRG_BUF(s->labels), TRG_BUF(s->sums),       TRG_VAL(s->label)};
    int r = trg_launch(q, l->place, (struct trg_range){s->n * s->place.groups_each, VOX_GROUP_SIZE},
                       place, 5);

    if (r == 0)
        r = trg_launch(q, l->label, (struct trg_range){s->n * s->label.groups_each, VOX_GROUP_SIZE},
                       label, 6);
    if (r == 0 && l->s.components)
        r = find_components(l, s, q);
    return r;
}

int vox_lane_again(struct vox_lane *l, uint32_t slot, struct trg_queue *q)
{
    return launch(l, &l->slot[slot], l->slot[slot].in_dev, q);
}

int vox_lane_submit(struct vox_lane *l, uint32_t slot, const struct vox_piece *pieces, uint32_t n,
                    struct trg_queue *q)
{
    struct slot *s = &l->slot[slot];
    const bool copies = !l->info.is_host;
    struct extents most = {0};
    size_t in = 0;
    int r = place_pieces(l, s, pieces, n, &most, &in);

    if (r < 0)
        return r;
    choose_grid(l, s, most);
    if (copies)
        r = trg_write(q, s->in_dev, 0, s->in, 0, in);
    if (r == 0 && copies)
        r = trg_write(q, s->bricks_dev, 0, s->bricks, 0, n * sizeof(struct vox_brick));
    if (r == 0)
        r = vox_lane_again(l, slot, q);
    if (r == 0 && copies)
        r = trg_read(q, s->sums_host, 0, s->sums, 0, n * sizeof(struct vox_sums));
    if (r == 0 && copies && l->s.labels != VOX_LABELS_NONE)
        r = trg_read(q, s->labels_host, 0, s->labels, 0, s->label_bytes);
    return r;
}

/* ---------------------------------------------------------------- a batch of RoIs */

int vox_lane_tables(struct vox_lane *l, uint32_t slot, const struct vox_tables *tables,
                    struct trg_queue *q)
{
    struct slot *s = &l->slot[slot];
    const size_t bytes = tables->n_words * sizeof *tables->words;

    memcpy(trg_buffer_host(s->tables_host), tables->words, bytes);
    use_tables(l, s, tables);
    return l->info.is_host ? 0 : trg_write(q, s->tables, 0, s->tables_host, 0, bytes);
}

int vox_lane_feed(struct vox_lane *l, uint32_t slot, const struct trg_input *rows,
                  const struct trg_input *values, bool with_labels, struct trg_queue *q)
{
    struct slot *s = &l->slot[slot];
    const bool copies = !l->info.is_host;
    const struct vox_take_par par = {.rows = rows->span,
                                     .values = values->span,
                                     .n_rois = rows->span.n_rois,
                                     .max_edge = l->s.max_n[0],
                                     .placed = (uint32_t)(placed_bytes(l->s.max_n) / VOX_MARGIN),
                                     .labels = (uint32_t)label_bytes(l->s.labels, l->s.max_n),
                                     .runs = (uint32_t)run_words(l->s.max_n)};
    const struct trg_arg take[] = {TRG_BUF(rows->dev), TRG_BUF(values->dev), TRG_BUF(s->bricks_dev),
                                   TRG_VAL(par)};
    struct extents most = {0};
    int r;

    s->n = par.n_rois;
    extend(&most, l->s.max_n);
    choose_grid(l, s, most);
    r = trg_launch(q, l->take, (struct trg_range){1, VOX_GROUP_SIZE}, take, 4);
    if (r == 0)
        r = launch(l, s, values->dev, q);
    if (r == 0 && copies)
        r = trg_read(q, s->bricks, 0, s->bricks_dev, 0, s->n * sizeof(struct vox_brick));
    if (r == 0 && copies)
        r = trg_read(q, s->sums_host, 0, s->sums, 0, s->n * sizeof(struct vox_sums));
    if (r == 0 && copies && with_labels)
        r = trg_read(q, s->labels_host, 0, s->labels, 0, (size_t)par.labels * s->n);
    return r;
}

void vox_lane_answer(struct vox_lane *l, uint32_t slot, uint32_t i, struct vox_answer *ret_answer)
{
    struct slot *s = &l->slot[slot];
    const struct vox_brick *b = (const struct vox_brick *)trg_buffer_host(s->bricks) + i;
    const struct vox_sums *sums = (const struct vox_sums *)trg_buffer_host(s->sums_host) + i;
    const unsigned char *labels = trg_buffer_host(s->labels_host);

    *ret_answer = (struct vox_answer){.brick = b,
                                      .count = sums->count,
                                      .components = sums->components,
                                      .largest = sums->largest,
                                      .labels = l->s.labels ? labels + b->labels : NULL,
                                      .row_bytes = row_bytes(l->s.labels, b->n[0])};
    for (uint32_t axis = 0; axis < 3; axis++) {
        ret_answer->low[axis] = ~sums->not_low[axis];
        ret_answer->high[axis] = sums->high[axis];
    }
}
