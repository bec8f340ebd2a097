/* SPDX-License-Identifier: Apache-2.0 */
#include "simulation.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "inner.h"
#include "lattice.program.h"
#include "lattice16.program.h"

const int lattice_cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
const int lattice_cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
const int lattice_opposite[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
const double lattice_weight[9] = {4.0 / 9,  1.0 / 9,  1.0 / 9,  1.0 / 9, 1.0 / 9,
                                  1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36};

#define STRIDE_EXTRA 160u /* so that the nine arrays do not fall on the same sets of a cache */
#define SUMS_WORDS   ((size_t)3 * LT_SPREAD * LT_SLICE_MAX)

void lattice_write(struct lattice *l, struct launcher *to, struct trg_buffer *device, size_t at,
                   const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes; done += LATTICE_PIECE) {
        const size_t n = bytes - done < LATTICE_PIECE ? bytes - done : LATTICE_PIECE;

        memcpy(trg_buffer_host(l->piece), (const unsigned char *)data + done, n);
        launcher_write_at(to, device, at + done, l->piece, n);
        if (launcher_finish(to) < 0)
            return;
    }
}

/* ---------------------------------------------------------------- tuning */

/* What was fastest on an H200 (docs/lattice.md): blocks, and for small grids more steps of smaller
 * tiles, so that there is one for each multiprocessor.  A guest takes less at once where several
 * groups share one.  Where OpenCL is threads on a CPU, and there, in place. */
static void choose(const struct lattice *l, struct lattice_tuning *t)
{
    const bool is_small = l->n_cells <= 32768;
    const bool is_short = t->is_guest && l->n_cells > 65536;
    const uint32_t row = (l->setup.nx + 31u) / 32u * 32u;

    if (t->way == LATTICE_WAY_AUTO)
        t->way = l->info.pci[0] ? LATTICE_WAY_BLOCKS : LATTICE_WAY_INPLACE;
    if (!t->block_steps)
        t->block_steps = is_small ? 8 : is_short ? 2 : 4;
    if (!t->tile_rows && is_short)
        t->tile_rows = 16;
    if (!t->tile_rows)
        t->tile_rows = is_small && t->block_steps < 12 ? 24 : LT_TILE_H_MAX;
    if (!t->group_size && t->way == LATTICE_WAY_BLOCKS)
        t->group_size = l->n_cells <= 65536 ? 512 : 256;
    if (!t->group_size)
        t->group_size = 128;
    if (t->way == LATTICE_WAY_INPLACE && t->group_size > row)
        t->group_size = row;
}

/* Groups of the launches that have the most. */
static uint64_t most_groups(const struct lattice *l)
{
    const struct lattice_tuning *t = &l->tuning;
    const uint64_t w = LT_TILE_W - 2 * t->block_steps, h = t->tile_rows - 2 * t->block_steps;

    if (t->way == LATTICE_WAY_BLOCKS)
        return (l->setup.nx + w - 1) / w * ((l->setup.ny + h - 1) / h);
    return (uint64_t)(l->setup.nx + t->group_size - 1) / t->group_size * l->setup.ny;
}

static int tune(struct lattice *l, const struct lattice_tuning *wanted, struct lattice_why *why)
{
    struct lattice_tuning *t = &l->tuning;

    if (wanted)
        *t = *wanted;
    choose(l, t);
    if (t->way > LATTICE_WAY_BLOCKS || t->block_steps % 2 || t->block_steps > LT_BLOCK_MAX ||
        t->tile_rows > LT_TILE_H_MAX || t->tile_rows <= 2 * t->block_steps || t->group_size % 32)
        return lattice_refuse(why,
                              "tuning: %u steps of tiles of %u rows, groups of %u: steps are even "
                              "and up to %u, rows more than twice that and up to %u, groups a "
                              "multiple of 32",
                              t->block_steps, t->tile_rows, t->group_size, LT_BLOCK_MAX,
                              LT_TILE_H_MAX);
    if (most_groups(l) > LT_GROUPS_MAX)
        return lattice_refuse(why, "tuning: %llu groups a step; %u are allowed",
                              (unsigned long long)most_groups(l), LT_GROUPS_MAX);
    return 0;
}

/* ---------------------------------------------------------------- opening */

/* The nearest multiple of 2^-bits. */
static double rounded(double x, int bits)
{
    return ldexp(nearbyint(ldexp(x, bits)), -bits);
}

/* Numbers of the collision that are floats and add up exactly as those of theory do: rest + 4
 * even_1 + 4 even_2 = omega, 2 even = 1 - omega, 2 odd + odd_omega = 1.  So mass and momentum stay.
 */
static struct lt_numbers numbers(const struct lattice_setup *s)
{
    const double omega = rounded(s->omega, 23);
    const double odd = s->omega_odd == 0 ? omega : rounded(s->omega_odd, 23);
    const double even_1 = rounded(omega / 9, 26), even_2 = rounded(omega / 36, 26);

    return (struct lt_numbers){.density = (float)s->density,
                               .keep = (float)(1 - omega),
                               .rest = (float)(omega - 4 * (even_1 + even_2)),
                               .even = (float)(0.5 * (1 - omega)),
                               .even_1 = (float)even_1,
                               .even_2 = (float)even_2,
                               .odd = (float)(0.5 * (1 - odd)),
                               .odd_omega = (float)odd,
                               .force_x = (float)s->force_x,
                               .force_y = (float)s->force_y,
                               .accel_1 = (float)(s->density * s->accel / 9),
                               .accel_2 = (float)(s->density * s->accel / 36),
                               .shift_1 = (float)(s->density / 9),
                               .shift_2 = (float)(s->density / 36),
                               .lid = (float)(s->density * s->lid / 6)};
}

static void set_par(struct lattice *l)
{
    const struct lattice_setup *s = &l->setup;
    struct lt_par *p = &l->par;

    p->n = numbers(s);
    p->nx = s->nx;
    p->ny = s->ny;
    p->stride = ((uint32_t)l->n_cells + 31u) / 32u * 32u + STRIDE_EXTRA;
    p->span = l->info.is_host ? s->nx : l->tuning.group_size;
    p->parts = (s->nx + p->span - 1) / p->span;
    p->accel_row = s->accel > 0 ? s->ny - 2 : s->ny;
    p->lid_row = s->lid != 0 ? s->ny - 1 : s->ny;
    p->tile_h = l->tuning.tile_rows;
    p->fast_at = (uint32_t)SUMS_WORDS;
}

static int make_buffers(struct lattice *l)
{
    const size_t array = (size_t)9 * l->par.stride * lattice_number_bytes(l);
    const bool blocks = l->tuning.way == LATTICE_WAY_BLOCKS;
    const struct buffer_wish wish[] = {
        {TRG_MEM_DEVICE, array, &l->g},
        {TRG_MEM_DEVICE, blocks ? array : 0, &l->other},
        {TRG_MEM_DEVICE, l->n_cells, &l->kind},
        {TRG_MEM_DEVICE, 4 * (SUMS_WORDS + 1), &l->sums},
        {TRG_MEM_DEVICE, (size_t)8 * LT_SLICE_MAX, &l->totals},
        {TRG_MEM_PINNED, (size_t)8 * LT_SLICE_MAX, &l->totals_host},
        {TRG_MEM_PINNED, 4, &l->fast_host},
        {TRG_MEM_PINNED, LATTICE_PIECE, &l->piece},
    };

    for (size_t i = 0; i < sizeof wish / sizeof wish[0]; i++)
        *(wish[i].mem == TRG_MEM_DEVICE ? &l->device_bytes : &l->pinned_bytes) += wish[i].bytes;
    return buffers_new(&l->buffers, l->device, wish, sizeof wish / sizeof wish[0]);
}

static int make_kernels(struct lattice *l)
{
    const struct kernel_wish wish[] = {{"lt_pull", &l->pull},
                                       {"lt_local", &l->local},
                                       {"lt_block", &l->block},
                                       {"lt_accelerate", &l->accelerate},
                                       {"lt_total", &l->total}};
    const struct trg_program *p =
        l->setup.storage == LATTICE_STORE_HALF ? &lattice16_program : &lattice_program;
    int r = trg_module_new(l->device, p, NULL, &l->module);

    return r == 0 ? kernels_get(l->module, wish, sizeof wish / sizeof wish[0]) : r;
}

/* Everything at rest: nothing differs from it. */
static int fill_rest(struct lattice *l)
{
    const size_t array = (size_t)9 * l->par.stride * lattice_number_bytes(l);
    struct trg_queue *q;
    struct launcher to;
    int r = trg_queue_new(l->device, &q);

    if (r < 0)
        return r;
    to = launcher_on(q, &l->info);
    launcher_clear(&to, l->g, array);
    if (l->other)
        launcher_clear(&to, l->other, array);
    launcher_clear(&to, l->sums, 4 * (SUMS_WORDS + 1));
    lattice_write(l, &to, l->kind, 0, l->kind_host, l->n_cells);
    r = launcher_finish(&to);
    trg_queue_free(q);
    return r;
}

static int open_parts(struct lattice *l, const struct lattice_tuning *tuning,
                      struct lattice_why *why)
{
    int r = tune(l, tuning, why);

    if (r < 0)
        return r;
    set_par(l);
    r = make_kernels(l);
    if (r == 0)
        r = make_buffers(l);
    return r ? r : fill_rest(l);
}

int lattice_open(struct trg_device *device, const struct lattice_setup *setup,
                 const unsigned char *kind, const struct lattice_tuning *tuning,
                 struct lattice **ret_lattice, struct lattice_why *why)
{
    struct lattice *l;
    int r = lattice_check(setup, kind, why);

    if (r < 0)
        return r;
    l = calloc(1, sizeof *l);
    if (!l)
        return -ENOMEM;
    l->device = device;
    l->setup = *setup;
    l->n_cells = (uint64_t)setup->nx * setup->ny;
    trg_device_info(device, &l->info);
    l->kind_host = malloc(l->n_cells);
    if (!l->kind_host) {
        lattice_close(l);
        return -ENOMEM;
    }
    memcpy(l->kind_host, kind, l->n_cells);
    for (size_t i = 0; i < l->n_cells; i++)
        l->n_free += kind[i] == LATTICE_FREE;
    r = open_parts(l, tuning, why);
    if (r == 0)
        *ret_lattice = l;
    else
        lattice_close(l);
    return r;
}

void lattice_close(struct lattice *l)
{
    if (!l)
        return;
    buffers_free(&l->buffers);
    trg_module_free(l->module);
    free(l->kind_host);
    free(l);
}

/* ---------------------------------------------------------------- steps */

/* One step in place. */
static void enqueue_step(struct lattice *l, struct launcher *to, struct lt_par par)
{
    const uint32_t row = (par.nx + 31u) / 32u * 32u;
    const uint32_t size = row < l->tuning.group_size ? row : l->tuning.group_size;

    LAUNCH(to, l->state ? l->local : l->pull, par.parts * par.ny, size, par, l->g, l->kind,
           l->sums);
    l->state = !l->state;
}

static uint32_t tiles_across(const struct lt_par *par)
{
    const uint32_t w = LT_TILE_W - 2 * par->steps;

    return (par->nx + w - 1) / w;
}

static uint32_t tiles_of(const struct lt_par *par)
{
    const uint32_t h = par->tile_h - 2 * par->steps;

    return tiles_across(par) * ((par->ny + h - 1) / h);
}

/* par.steps steps of n tiles, from one array to the other. */
static void enqueue_tiles(struct lattice *l, struct launcher *to, struct lt_par par, uint32_t n)
{
    par.tiles_x = tiles_across(&par);
    LAUNCH(to, l->block, n, l->tuning.group_size, par, l->g, l->other, l->kind, l->sums);
}

static void change_arrays(struct lattice *l)
{
    struct trg_buffer *from = l->g;

    l->g = l->other;
    l->other = from;
}

static void enqueue_block(struct lattice *l, struct launcher *to, struct lt_par par)
{
    enqueue_tiles(l, to, par, tiles_of(&par));
    change_arrays(l);
}

static void enqueue_steps(struct lattice *l, struct launcher *to, uint32_t steps)
{
    for (uint32_t done = 0; done < steps;) {
        const uint32_t left = steps - done, most = l->tuning.block_steps;
        struct lt_par par = l->par;

        par.step = done;
        par.steps = left < most ? left & ~1u : most;
        if (l->tuning.way == LATTICE_WAY_INPLACE || l->state || !par.steps)
            par.steps = 1;
        done += par.steps;
        par.accelerate = done < steps;
        if (par.steps == 1)
            enqueue_step(l, to, par);
        else
            enqueue_block(l, to, par);
    }
}

static void enqueue_push(struct lattice *l, struct launcher *to)
{
    struct lt_par par = l->par;

    par.state = l->state;
    LAUNCH(to, l->accelerate, (par.nx + 127u) / 128u, 128, par, l->g, l->kind);
}

static void enqueue_totals(struct lattice *l, struct launcher *to, uint32_t steps)
{
    struct lt_par par = l->par;

    par.steps = steps;
    LAUNCH(to, l->total, (steps + 63u) / 64u, 64, par, l->sums, l->totals);
    launcher_read(to, l->totals_host, l->totals, (size_t)8 * steps);
    launcher_read_at(to, l->fast_host, l->sums, 4 * SUMS_WORDS, 4);
}

static void begin_steps(struct lattice *l, struct launcher *to, uint32_t steps)
{
    launcher_clear(to, l->sums, (size_t)12 * LT_SPREAD * steps);
    if (l->setup.accel > 0)
        enqueue_push(l, to);
}

static int end_steps(struct lattice *l, struct launcher *to, uint32_t steps)
{
    enqueue_totals(l, to, steps);
    if (to->result < 0)
        return to->result;
    l->in_flight = steps;
    l->steps += steps;
    return trg_flush(to->q);
}

int lattice_submit(struct lattice *l, struct trg_queue *q, uint32_t steps)
{
    struct launcher to = launcher_on(q, &l->info);

    if (!steps || steps > LT_SLICE_MAX || lattice_is_busy(l))
        return -EINVAL;
    begin_steps(l, &to, steps);
    enqueue_steps(l, &to, steps);
    return end_steps(l, &to, steps);
}

int lattice_collect(struct lattice *l, double *ret_mean)
{
    const uint32_t *total = trg_buffer_host(l->totals_host);
    const double scale = 0x1p-32 / (double)l->n_free;
    const uint32_t steps = l->in_flight;

    if (!steps)
        return -EINVAL;
    l->in_flight = 0;
    for (uint32_t i = 0; ret_mean && i < steps; i++)
        ret_mean[i] =
            ((double)total[2 * (size_t)i] + 0x1p32 * (double)total[2 * (size_t)i + 1]) * scale;
    return *(const uint32_t *)trg_buffer_host(l->fast_host) ? -ERANGE : 0;
}

/* Waits for the steps in flight. */
static int finish_steps(struct lattice *l, struct trg_queue *q, double *ret_mean)
{
    const int r = trg_finish(q);

    return r ? r : lattice_collect(l, ret_mean);
}

int lattice_run(struct lattice *l, struct trg_queue *q, uint64_t steps, double *ret_mean)
{
    uint32_t n;

    for (uint64_t done = 0; done < steps; done += n) {
        int r;

        n = steps - done < LT_SLICE_MAX ? (uint32_t)(steps - done) : LT_SLICE_MAX;
        r = lattice_submit(l, q, n);
        if (r == 0)
            r = finish_steps(l, q, ret_mean ? ret_mean + done : NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---------------------------------------------------------------- slices */

static uint32_t launch_steps(const struct lattice *l)
{
    return l->tuning.way == LATTICE_WAY_BLOCKS ? l->tuning.block_steps : 2;
}

uint32_t lattice_steps_in(const struct lattice *l, double us)
{
    const uint32_t least = launch_steps(l);
    const double n = l->step_us > 0 ? us / l->step_us : least;

    if (n >= LT_SLICE_MAX)
        return LT_SLICE_MAX;
    return n > least ? (uint32_t)n / least * least : least;
}

void lattice_took(struct lattice *l, uint32_t steps, double us)
{
    if (l->n_tiles) {
        l->tile_us += 0.25 * (us / l->n_tiles - l->tile_us);
        l->n_tiles = 0;
        l->parts_us += us;
        if (!steps)
            return;
        us = l->parts_us;
        l->parts_us = 0;
    }
    if (l->step_us > 0)
        l->step_us += 0.25 * (us / steps - l->step_us);
    else
        l->step_us = us / steps;
}

/* The next part of a launch: as many tiles as fit into `us`, so that parts are equal. */
static int submit_part(struct lattice *l, struct trg_queue *q, double us, uint32_t *ret_steps)
{
    struct launcher to = launcher_on(q, &l->info);
    struct lt_par par = l->par;
    uint32_t left, fit;

    par.steps = l->tuning.block_steps;
    par.first_tile = l->tile;
    left = tiles_of(&par) - l->tile;
    fit = us < l->tile_us ? 1 : us / l->tile_us < left ? (uint32_t)(us / l->tile_us) : left;
    l->n_tiles = left / ((left + fit - 1) / fit);
    if (!l->tile)
        begin_steps(l, &to, par.steps);
    enqueue_tiles(l, &to, par, l->n_tiles);
    l->tile += l->n_tiles;
    if (l->n_tiles == left) {
        *ret_steps = par.steps;
        l->tile = 0;
        change_arrays(l);
        return end_steps(l, &to, par.steps);
    }
    *ret_steps = 0;
    return to.result < 0 ? to.result : trg_flush(q);
}

int lattice_submit_in(struct lattice *l, struct trg_queue *q, double us, uint32_t most,
                      uint32_t *ret_steps)
{
    const uint32_t n = lattice_steps_in(l, us), launch = launch_steps(l);
    struct lt_par par = l->par;

    if (!most || l->in_flight)
        return -EINVAL;
    if (!l->tile && (l->tuning.way != LATTICE_WAY_BLOCKS || l->state || most < launch ||
                     launch * l->step_us <= us)) {
        *ret_steps = n < most ? n : most;
        return lattice_submit(l, q, *ret_steps);
    }
    par.steps = launch;
    if (!(l->tile_us > 0))
        l->tile_us = launch * l->step_us / tiles_of(&par);
    return submit_part(l, q, us, ret_steps);
}

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

int lattice_slice(struct lattice *l, struct trg_queue *q, double us, uint32_t most,
                  double *ret_mean, uint32_t *ret_steps)
{
    const double start = now_us();
    uint32_t n = lattice_steps_in(l, us);
    int r;

    if (!most)
        return -EINVAL;
    n = n < most ? n : most;
    r = lattice_submit(l, q, n);
    if (r == 0)
        r = trg_finish(q);
    if (r < 0)
        return r;
    lattice_took(l, n, now_us() - start);
    *ret_steps = n;
    return lattice_collect(l, ret_mean);
}

int lattice_end_launch(struct lattice *l, struct trg_queue *q, double *ret_mean,
                       uint32_t *ret_steps)
{
    const double start = now_us();
    int r;

    *ret_steps = 0;
    if (!l->tile)
        return 0;
    r = submit_part(l, q, INFINITY, ret_steps);
    if (r == 0)
        r = trg_finish(q);
    if (r < 0)
        return r;
    lattice_took(l, *ret_steps, now_us() - start);
    return lattice_collect(l, ret_mean);
}

void lattice_cost(const struct lattice *l, struct lattice_cost *ret_cost)
{
    *ret_cost = (struct lattice_cost){.device_bytes = l->device_bytes,
                                      .pinned_bytes = l->pinned_bytes,
                                      .checkpoint_bytes = lattice_checkpoint_bytes(&l->setup),
                                      .steps = l->steps,
                                      .step_us = l->step_us,
                                      .least_steps = launch_steps(l)};
}

void lattice_setup_of(const struct lattice *l, struct lattice_setup *ret_setup)
{
    *ret_setup = l->setup;
}

const unsigned char *lattice_kind(const struct lattice *l)
{
    return l->kind_host;
}
