/* SPDX-License-Identifier: Apache-2.0 */
#include "lane.h"

#include <stdlib.h>
#include <string.h>

#include "brick.program.h"
#include "components.program.h"
#include "place.h"
#include "take.program.h"
#include "trigd/common/lane.h"
#include "voxels.program.h"

#define ALIGN        16u
#define DEPTH_MAX    32u /* planes of a group */
#define GROUPS_UNIT  4u  /* groups that a multiprocessor has at once */
#define PLACE_STRIDE 4u  /* stretches of eight bytes that a work-item places, about */

struct twin { /* on the CPU the host and the device use one buffer */
    struct trg_buffer *host, *dev;
};

struct slot {
    struct twin in;
    struct twin out;    /* the table of the batch's bricks, and behind it their labels */
    struct twin tables; /* a fed lane's; others use those of the lane */
    struct trg_buffer *placed, *runs;
    uint32_t n;
    size_t in_bytes, out_bytes; /* at most; of the batch */
    struct vox_place_par place;
    struct vox_label_par label;
    struct vox_runs_par join;
};

enum { BEGIN, JOIN, COUNT, RUN_KERNELS };

struct vox_lane {
    struct vox_setup s;
    struct trg_device_info info;
    struct trg_module *module, *components, *brick, *taking;
    struct trg_kernel *take, *place, *label, *runs[RUN_KERNELS];
    struct trg_kernel *runs_brick; /* instead of those; NULL: bricks are too large */
    struct buffers buffers;
    struct slot slot[TRG_SLOTS_MAX];
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

static size_t table_bytes(size_t n_bricks)
{
    return round_up(n_bricks * sizeof(struct vox_brick));
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

static int open_twin(struct vox_lane *l, size_t bytes, struct twin *ret_twin)
{
    const struct buffer_wish wish[] = {
        {TRG_MEM_PINNED, bytes, &ret_twin->host},
        {TRG_MEM_DEVICE, l->info.is_host ? 0 : bytes, &ret_twin->dev},
    };
    const int r = buffers_new(&l->buffers, l->s.device, wish, 2);

    if (l->info.is_host)
        ret_twin->dev = ret_twin->host;
    return r;
}

static int open_slot(struct vox_lane *l, struct slot *s)
{
    const struct vox_piece most = {.n = {l->s.max_n[0], l->s.max_n[1], l->s.max_n[2]}, .halo = 63u};
    const size_t bricks = l->s.max_bricks;
    const size_t in_bytes = l->s.tables ? bricks * vox_piece_bytes(&most, l->s.value_bytes) : 0;
    const bool by_parts = l->s.is_filled_by_parts && !l->info.is_host;
    const struct {
        size_t bytes;
        struct twin *twin;
    } twins[] = {
        {in_bytes && !by_parts ? in_bytes + VOX_SLACK : 0, &s->in},
        {l->s.tables ? 0 : 4 * VOX_TABLES_MAX, &s->tables},
        {table_bytes(bricks) + bricks * label_bytes(l->s.labels, l->s.max_n), &s->out},
    };
    const struct buffer_wish own[] = {
        {TRG_MEM_DEVICE, in_bytes && by_parts ? in_bytes + VOX_SLACK : 0, &s->in.dev},
        {TRG_MEM_DEVICE, l->s.components ? 4 * bricks * run_words(l->s.max_n) : 0, &s->runs},
        {TRG_MEM_DEVICE, bricks * placed_bytes(l->s.max_n) + VOX_SLACK, &s->placed},
    };

    s->in_bytes = in_bytes;
    for (size_t i = 0; i < sizeof twins / sizeof twins[0]; i++) {
        const int r = open_twin(l, twins[i].bytes, twins[i].twin);

        if (r < 0)
            return r;
    }
    return buffers_new(&l->buffers, l->s.device, own, sizeof own / sizeof own[0]);
}

/* Offsets of a batch are 32 bits. */
static bool is_allowed(const struct vox_setup *s)
{
    const uint64_t most = UINT32_MAX;
    uint64_t in = s->value_bytes;

    if (!s->slots || s->slots > TRG_SLOTS_MAX || !s->max_bricks || !s->max_n[0] || !s->max_n[1] ||
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
           table_bytes(s->max_bricks) + label_bytes(s->labels, s->max_n) * s->max_bricks <= most;
}

static int open_module(struct vox_lane *l, const struct trg_program *program,
                       struct trg_module **ret_module, const struct kernel_wish *kernels, size_t n)
{
    const int r = trg_module_new(l->s.device, program, NULL, ret_module);

    return r ? r : kernels_get(*ret_module, kernels, n);
}

/* Whether one group is enough for the components of a brick.  A CPU's core is one anyway. */
static bool is_small_brick(const struct vox_lane *l)
{
    return !l->info.is_host && run_words(l->s.max_n) / 64 <= VOX_BRICK_WORDS;
}

static int open_kernels(struct vox_lane *l)
{
    const struct kernel_wish labelling[] = {{"vox_place", &l->place}, {"vox_label", &l->label}};
    const struct kernel_wish components[] = {{"vox_runs_begin", &l->runs[BEGIN]},
                                             {"vox_runs_join", &l->runs[JOIN]},
                                             {"vox_runs_count", &l->runs[COUNT]}};
    const struct kernel_wish runs_brick = {"vox_runs_brick", &l->runs_brick};
    const struct kernel_wish take = {"vox_take", &l->take};
    int r = open_module(l, &voxels_program, &l->module, labelling, 2);

    if (r == 0 && l->s.components && is_small_brick(l))
        r = open_module(l, &brick_program, &l->brick, &runs_brick, 1);
    else if (r == 0 && l->s.components)
        r = open_module(l, &components_program, &l->components, components, RUN_KERNELS);
    if (r == 0 && !l->s.tables)
        r = open_module(l, &take_program, &l->taking, &take, 1);
    return r;
}

static void use_tables(const struct vox_lane *l, struct slot *s, const struct vox_tables *t)
{
    s->label = (struct vox_label_par){.uses = t->uses,
                                      .s_steps = t->s_steps,
                                      .extent = {t->extent[0], t->extent[1], t->extent[2]},
                                      .steps = t->steps,
                                      .as_bytes = l->s.labels == VOX_LABELS_BYTES};
}

/* The tables of a lane that is not fed, for all its slots. */
static int open_tables(struct vox_lane *l, const struct vox_tables *t)
{
    struct trg_buffer *tables = NULL;
    const int r =
        buffers_upload(&l->buffers, l->s.device, t->words, t->n_words * sizeof *t->words, &tables);

    for (uint32_t i = 0; r == 0 && i < l->s.slots; i++) {
        l->slot[i].tables.dev = tables;
        use_tables(l, &l->slot[i], t);
    }
    return r;
}

static int open_parts(struct vox_lane *l)
{
    int r = open_kernels(l);

    for (uint32_t i = 0; r == 0 && i < l->s.slots; i++)
        r = open_slot(l, &l->slot[i]);
    return r == 0 && l->s.tables ? open_tables(l, l->s.tables) : r;
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
    r = open_parts(l);
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
    buffers_free(&l->buffers);
    trg_module_free(l->components);
    trg_module_free(l->brick);
    trg_module_free(l->taking);
    trg_module_free(l->module);
    free(l);
}

unsigned char *vox_lane_input(struct vox_lane *l, uint32_t slot, size_t *ret_bytes)
{
    *ret_bytes = l->slot[slot].in_bytes;
    return l->slot[slot].in.host ? trg_buffer_host(l->slot[slot].in.host) : NULL;
}

struct trg_buffer *vox_lane_buffer(struct vox_lane *l, uint32_t slot)
{
    return l->slot[slot].in.dev;
}

/* ---------------------------------------------------------------- a batch */

struct extents {      /* the most of any brick of a batch */
    uint32_t columns; /* chunks of a plane */
    uint32_t planes;
    uint32_t eights; /* stretches of eight bytes, placed */
    uint32_t words;  /* of labels, as runs are in */
};

static void extend(struct extents *most, const uint32_t *n)
{
    const uint32_t columns = (n[0] + VOX_CHUNK - 1) / VOX_CHUNK * n[1];
    const uint32_t eights = (uint32_t)(placed_bytes(n) / 8);
    const uint32_t words = (uint32_t)(run_words(n) / 64);

    most->columns = columns > most->columns ? columns : most->columns;
    most->planes = n[2] > most->planes ? n[2] : most->planes;
    most->eights = eights > most->eights ? eights : most->eights;
    most->words = words > most->words ? words : most->words;
}

/* Fills the slot's table of bricks; the bytes of the batch's input, or an error. */
static int place_pieces(struct vox_lane *l, struct slot *s, const struct vox_piece *pieces,
                        uint32_t n, struct extents *most, size_t *ret_in)
{
    struct vox_brick *bricks = trg_buffer_host(s->out.host);
    uint64_t in = 0, placed = 0, labels = table_bytes(n), runs = 0;

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
    s->out_bytes = labels;
    *ret_in = in;
    return 0;
}

/* Of what is done before and after: a work-item has one stretch or word, but for large batches. */
static void choose_small_grids(const struct vox_lane *l, struct slot *s, struct extents most)
{
    const uint32_t stretches = most.eights / VOX_GROUP_SIZE + 1u;
    const bool is_small = stretches * s->n <= l->info.units * 2 * GROUPS_UNIT;

    s->place.groups_each = s->join.groups_each = 1;
    s->join.most_runs = VOX_BRICK_RUNS;
    if (l->info.is_host)
        return;
    s->place.groups_each = is_small ? stretches : stretches / PLACE_STRIDE + 1u;
    s->join.groups_each = most.words / VOX_GROUP_SIZE + 1u;
}

/* How a batch is cut into groups: on the CPU a brick is one, elsewhere there are enough of them for
 * all multiprocessors, with as many planes each as that leaves. */
static void choose_grid(const struct vox_lane *l, struct slot *s, struct extents most)
{
    const uint32_t columns = most.columns, planes = most.planes;
    uint32_t tiles = 1, parts;

    s->label.tile = l->info.is_host && columns ? columns : VOX_GROUP_SIZE;
    if (columns)
        tiles = (columns + s->label.tile - 1) / s->label.tile;
    s->label.depth = planes ? planes : 1u;
    if (!l->info.is_host && planes) {
        parts = l->info.units * GROUPS_UNIT / (tiles * s->n);
        s->label.depth = parts ? (planes + parts - 1) / parts : DEPTH_MAX;
        s->label.depth = s->label.depth > DEPTH_MAX ? DEPTH_MAX : s->label.depth;
    }
    s->label.groups_each = tiles * ((planes + s->label.depth - 1) / s->label.depth);
    choose_small_grids(l, s, most);
}

/* The kernels of a batch whose bricks are placed. */
static void label_bricks(struct vox_lane *l, struct slot *s, struct launcher *to)
{
    LAUNCH(to, l->label, s->n * s->label.groups_each, VOX_GROUP_SIZE, s->label, s->placed,
           s->out.dev, s->tables.dev, s->out.dev);
    if (l->runs_brick)
        LAUNCH(to, l->runs_brick, s->n,
               l->info.group_max < VOX_BRICK_GROUP ? l->info.group_max : VOX_BRICK_GROUP, s->join,
               s->out.dev, s->out.dev, s->runs);
    for (uint32_t i = BEGIN; l->s.components && !l->runs_brick && i < RUN_KERNELS; i++)
        LAUNCH(to, l->runs[i], s->n * s->join.groups_each, VOX_GROUP_SIZE, s->join, s->out.dev,
               s->out.dev, s->runs);
}

/* The kernels of a batch whose voxels are in the slot's input. */
static void label_input(struct vox_lane *l, struct slot *s, struct launcher *to)
{
    LAUNCH(to, l->place, s->n * s->place.groups_each, VOX_GROUP_SIZE, s->place, s->in.dev,
           s->out.dev, s->placed);
    label_bricks(l, s, to);
}

static void copy_in(const struct vox_lane *l, struct launcher *to, const struct twin *t,
                    size_t bytes)
{
    if (!l->info.is_host)
        launcher_write(to, t->dev, t->host, bytes);
}

static void copy_out(const struct vox_lane *l, struct launcher *to, const struct twin *t,
                     size_t bytes)
{
    if (!l->info.is_host)
        launcher_read(to, t->host, t->dev, bytes);
}

int vox_lane_again(struct vox_lane *l, uint32_t slot, struct trg_queue *q)
{
    struct launcher to = launcher_on(q, &l->info);

    label_input(l, &l->slot[slot], &to);
    return to.result;
}

int vox_lane_submit(struct vox_lane *l, uint32_t slot, const struct vox_piece *pieces, uint32_t n,
                    struct trg_queue *q)
{
    struct slot *s = &l->slot[slot];
    struct launcher to = launcher_on(q, &l->info);
    struct extents most = {0};
    size_t in = 0;
    const int r = place_pieces(l, s, pieces, n, &most, &in);

    if (r < 0)
        return r;
    choose_grid(l, s, most);
    if (s->in.host)
        copy_in(l, &to, &s->in, in);
    copy_in(l, &to, &s->out, n * sizeof(struct vox_brick));
    label_input(l, s, &to);
    copy_out(l, &to, &s->out, l->s.labels == VOX_LABELS_NONE ? table_bytes(n) : s->out_bytes);
    return to.result;
}

/* ---------------------------------------------------------------- a batch of RoIs */

int vox_lane_tables(struct vox_lane *l, uint32_t slot, const struct vox_tables *tables,
                    struct trg_queue *q)
{
    struct slot *s = &l->slot[slot];
    struct launcher to = launcher_on(q, &l->info);
    const size_t bytes = tables->n_words * sizeof *tables->words;

    memcpy(trg_buffer_host(s->tables.host), tables->words, bytes);
    use_tables(l, s, tables);
    copy_in(l, &to, &s->tables, bytes);
    return to.result;
}

int vox_lane_feed(struct vox_lane *l, uint32_t slot, const struct trg_input *rows,
                  const struct trg_input *values, bool with_labels, struct trg_queue *q)
{
    struct slot *s = &l->slot[slot];
    struct launcher to = launcher_on(q, &l->info);
    struct vox_take_par par = {.rows = rows->span,
                               .values = values->span,
                               .max_edge = l->s.max_n[0],
                               .placed = (uint32_t)(placed_bytes(l->s.max_n) / VOX_MARGIN),
                               .first_labels = (uint32_t)table_bytes(rows->span.n_rois),
                               .labels = (uint32_t)label_bytes(l->s.labels, l->s.max_n),
                               .runs = (uint32_t)run_words(l->s.max_n)};
    struct extents most = {0};

    s->n = rows->span.n_rois;
    extend(&most, l->s.max_n);
    choose_grid(l, s, most);
    par.groups_each = s->place.groups_each;
    LAUNCH(&to, l->take, s->n * par.groups_each, VOX_GROUP_SIZE, par, rows->dev, values->dev,
           s->out.dev, s->placed);
    label_bricks(l, s, &to);
    copy_out(l, &to, &s->out, par.first_labels + (with_labels ? (size_t)par.labels * s->n : 0));
    return to.result;
}

void vox_lane_answer(struct vox_lane *l, uint32_t slot, uint32_t i, struct vox_answer *ret_answer)
{
    struct slot *s = &l->slot[slot];
    const unsigned char *out = trg_buffer_host(s->out.host);
    const struct vox_brick *b = (const struct vox_brick *)(const void *)out + i;
    const struct vox_sums *sums = &b->sums;

    *ret_answer = (struct vox_answer){.brick = b,
                                      .count = sums->count,
                                      .components = sums->components,
                                      .largest = sums->largest,
                                      .labels = l->s.labels ? out + b->labels : NULL,
                                      .row_bytes = row_bytes(l->s.labels, b->n[0])};
    for (uint32_t axis = 0; axis < 3; axis++) {
        ret_answer->low[axis] = ~sums->not_low[axis];
        ret_answer->high[axis] = sums->high[axis];
    }
}
