/* SPDX-License-Identifier: Apache-2.0 */
/* lattice - a lattice Boltzmann flow as a guest: slices of steps on a device that no batch needs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "means.h"
#include "scene.h"
#include "trigd/plugin.h"

struct trg_algo {
    const struct trg_host *host;
    struct lattice_config config;
    struct lattice *flow;
    struct lattice_means means;
    struct trg_queue *queue; /* the daemon's */
    uint32_t in_slice;       /* steps that the slice in flight completes */
    double speed;            /* mean, after the last of them */
    double us;               /* in slices since it was opened */
    uint64_t opened_at;      /* step at which that was */
    double mean[LT_SLICE_MAX];
    char checkpoint[4096], vtk[4096];
};

static uint64_t steps_of(const struct trg_algo *a)
{
    struct lattice_cost cost;

    lattice_cost(a->flow, &cost);
    return cost.steps;
}

static bool is_done(const struct trg_algo *a)
{
    return a->config.steps && steps_of(a) >= a->config.steps;
}

/* Says why, if there is a sentence. */
static int failed(const struct trg_host *host, int r, const struct lattice_why *why)
{
    if (r < 0 && why->text[0])
        trg_log(host, TRG_ERROR, why->text);
    return r;
}

/* ---------------------------------------------------------------- opening */

static const struct lattice_tuning tuning = {.is_guest = true};

static bool is_same(const struct lattice_setup *a, const struct lattice_setup *b)
{
    return a->nx == b->nx && a->ny == b->ny && a->density == b->density && a->accel == b->accel &&
           a->omega == b->omega && a->omega_odd == b->omega_odd && a->force_x == b->force_x &&
           a->force_y == b->force_y && a->lid == b->lid && a->storage == b->storage;
}

/* A checkpoint goes on only with the parameters and obstacles that it was written with. */
static int resume(struct trg_algo *a, struct trg_device *device, const struct lattice_setup *setup,
                  const unsigned char *kind, struct lattice_why *why)
{
    struct lattice_setup was;
    int r = lattice_resume(device, a->queue, a->checkpoint, &tuning, &a->flow, why);

    if (r < 0)
        return r;
    lattice_setup_of(a->flow, &was);
    if (is_same(&was, setup) &&
        memcmp(lattice_kind(a->flow), kind, (size_t)setup->nx * setup->ny) == 0)
        return 0;
    snprintf(why->text, sizeof why->text,
             "checkpoint %.100s is of another flow (%u x %u cells, omega %g): remove it, or give "
             "the guest its parameters",
             a->checkpoint, was.nx, was.ny, was.omega);
    return -EINVAL;
}

static int open_flow(struct trg_algo *a, struct trg_device *device, const char *folder,
                     struct lattice_why *why)
{
    struct lattice_setup setup;
    unsigned char *kind;
    int r = lattice_scene(&a->config, folder, &setup, &kind, why);

    if (r < 0)
        return r;
    r = access(a->checkpoint, F_OK) == 0
            ? resume(a, device, &setup, kind, why)
            : lattice_open(device, &setup, kind, &tuning, &a->flow, why);
    free(kind);
    if (r == 0) {
        a->opened_at = steps_of(a);
        r = lattice_means_open(folder, a->config.mean_every, a->opened_at, &a->means, why);
    }
    return r;
}

static void lattice_guest_close(struct trg_algo *a)
{
    if (!a)
        return;
    lattice_means_close(&a->means);
    lattice_close(a->flow);
    free(a);
}

static int lattice_guest_open(const struct trg_host *host, const void *config,
                              struct trg_device *device, struct trg_queue *queue,
                              const struct trg_guest_setup *setup, struct trg_algo **ret_algo)
{
    struct trg_algo *a = calloc(1, sizeof *a);
    struct lattice_why why = {""};
    int r;

    if (!a)
        return -ENOMEM;
    a->host = host;
    a->queue = queue;
    a->config = *(const struct lattice_config *)config;
    snprintf(a->checkpoint, sizeof a->checkpoint, "%.4000s/checkpoint", setup->folder);
    snprintf(a->vtk, sizeof a->vtk, "%.4000s/flow.vtk", setup->folder);
    r = open_flow(a, device, setup->folder, &why);
    if (r < 0) {
        lattice_guest_close(a);
        return failed(host, r, &why);
    }
    *ret_algo = a;
    return is_done(a) ? TRG_GUEST_DONE : TRG_GUEST_MORE;
}

/* ---------------------------------------------------------------- slices */

static int lattice_guest_submit(struct trg_algo *a, struct trg_queue *queue, double us)
{
    const uint64_t left = a->config.steps ? a->config.steps - steps_of(a) : LT_SLICE_MAX;

    return lattice_submit_in(a->flow, queue, us,
                             left < LT_SLICE_MAX ? (uint32_t)left : LT_SLICE_MAX, &a->in_slice);
}

/* What collecting the steps of the slice said; keeps their mean speeds. */
static int take_steps(struct trg_algo *a, int r)
{
    const uint64_t before = steps_of(a) - a->in_slice;
    struct lattice_why why = {""};

    if (r == -ERANGE)
        snprintf(why.text, sizeof why.text,
                 "the flow is lost after step %llu: a cell was faster than half a cell a step; "
                 "smaller lid, force or accel, or omega further from 2",
                 (unsigned long long)before);
    if (r < 0)
        return failed(a->host, r, &why);
    a->speed = a->mean[a->in_slice - 1];
    return lattice_means_add(&a->means, before, a->mean, a->in_slice);
}

static int lattice_guest_collect(struct trg_algo *a, double us)
{
    int r = 0;

    lattice_took(a->flow, a->in_slice, us);
    a->us += us;
    if (a->in_slice)
        r = take_steps(a, lattice_collect(a->flow, a->mean));
    if (r < 0)
        return r;
    return is_done(a) ? TRG_GUEST_DONE : TRG_GUEST_MORE;
}

/* Completes the steps that slices have begun. */
static int end_launch(struct trg_algo *a, struct trg_queue *queue)
{
    uint32_t steps;
    int r = lattice_end_launch(a->flow, queue, a->mean, &steps);

    if (r == 0 && !steps)
        return 0;
    a->in_slice = steps;
    return take_steps(a, r);
}

/* Rows and picture come before the checkpoint that says that they are there. */
static int lattice_guest_save(struct trg_algo *a, struct trg_queue *queue)
{
    struct lattice_why why = {""};
    int r = end_launch(a, queue);

    if (r < 0)
        return r;
    r = lattice_means_sync(&a->means);
    if (r == 0 && a->config.vtk)
        r = lattice_write_vtk(a->flow, queue, a->vtk, &why);
    if (r == 0)
        r = lattice_save(a->flow, queue, a->checkpoint, &why);
    return failed(a->host, r, &why);
}

static void lattice_guest_progress(const struct trg_algo *a, char *text, size_t bytes)
{
    const uint64_t steps = steps_of(a);
    const double cells = (double)a->config.nx * a->config.ny;
    const double rate = a->us > 0 ? (double)(steps - a->opened_at) * cells / a->us : 0;
    char of[32] = "";

    if (a->config.steps)
        snprintf(of, sizeof of, " of %u", a->config.steps);
    snprintf(text, bytes, "step %llu%s, %.1f M updates/s in its slices, mean speed %.6f",
             (unsigned long long)steps, of, rate, a->speed);
}

/* ---------------------------------------------------------------- the descriptor */

static int lattice_guest_check(const void *config, char *why, size_t why_bytes)
{
    struct lattice_setup setup;
    struct lattice_why sentence = {"there is no memory for its grid"};
    unsigned char *kind;
    int r = lattice_scene(config, NULL, &setup, &kind, &sentence);

    if (r == 0)
        free(kind);
    else
        snprintf(why, why_bytes, "%s", sentence.text);
    return r < 0 ? -EINVAL : 0;
}

#define AT(member) offsetof(struct lattice_config, member)
static const struct trg_param params[] = {
    {"scene", TRG_PARAM_CHOICE, AT(scene), "cavity", 0, 0, "", "cavity|channel|stream|obstacles",
     "what flows: under a sliding lid; between walls by a force; past an accelerated row; the same "
     "with the obstacles of obstacles.txt in its folder"},
    {"nx", TRG_PARAM_U32, AT(nx), "256", 3, 65536, "cells", NULL, "grid along x"},
    {"ny", TRG_PARAM_U32, AT(ny), "256", 3, 65536, "cells", NULL, "grid along y"},
    {"steps", TRG_PARAM_U32, AT(steps), "100000", 0, 1000000000, "", NULL,
     "steps to take; 0: no end"},
    {"density", TRG_PARAM_F32, AT(density), "1", 1e-6, 1000, "", NULL, "at rest"},
    {"omega", TRG_PARAM_F32, AT(omega), "1.7", 0.01, 1.99, "", NULL,
     "relaxation: the viscosity is (2 / omega - 1) / 6"},
    {"accel", TRG_PARAM_F32, AT(accel), "0.005", 0, 0.5, "", NULL,
     "of row ny - 2 (stream, obstacles)"},
    {"lid", TRG_PARAM_F32, AT(lid), "0.1", -0.49, 0.49, "cells/step", NULL,
     "speed of the lid (cavity)"},
    {"force", TRG_PARAM_F32, AT(force), "0.00001", -0.1, 0.1, "", NULL,
     "momentum that a cell gets in a step (channel)"},
    {"storage", TRG_PARAM_CHOICE, AT(storage), "float", 0, 0, "", "float|half",
     "of distributions: 32 or 16 bits"},
    {"mean_every", TRG_PARAM_U32, AT(mean_every), "100", 0, 1000000, "steps", NULL,
     "rows of means.txt: the mean speed after every so many steps; 0: no file"},
    {"vtk", TRG_PARAM_BOOL, AT(vtk), "true", 0, 0, "", NULL,
     "write flow.vtk, for ParaView, with every checkpoint"},
    {0}};

static const struct trg_guest guest = {.size = sizeof guest,
                                       .open = lattice_guest_open,
                                       .submit = lattice_guest_submit,
                                       .collect = lattice_guest_collect,
                                       .save = lattice_guest_save,
                                       .progress = lattice_guest_progress,
                                       .close = lattice_guest_close};

TRG_PLUGIN_EXPORT const struct trg_plugin trg_plugin;
const struct trg_plugin trg_plugin = {TRG_PLUGIN_INIT,
                                      .name = "lattice",
                                      .version = "1.0.0",
                                      .summary = "Boltzmann flows in slices (a guest)",
                                      .backends = "cpu opencl cuda",
                                      .params = params,
                                      .config_size = sizeof(struct lattice_config),
                                      .flags = TRG_PLUGIN_GUEST,
                                      .check = lattice_guest_check,
                                      .guest = &guest};
