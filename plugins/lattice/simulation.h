/* SPDX-License-Identifier: Apache-2.0 */
/* simulation.h - a lattice Boltzmann flow on one device, in slices: so many steps at a time, with
 * checkpoints between them.  A step is that of the public exercise UoB-HPC/advanced-hpc-lbm:
 * acceleration of row ny - 2, propagation on the periodic grid, bounce-back in obstacles, BGK
 * collision, mean speed of the free cells.
 *
 * What a slice costs is known before it runs (lattice_cost): device memory, steps in a given time,
 * bytes of a checkpoint.  On a GPU no group runs longer than the steps of its tile or its stretch
 * of a row.
 *
 * Threads: a simulation and its queue belong to one thread at a time.
 * Errors:  0 or a negative errno; where there is a `struct lattice_why`, one sentence for the user.
 */
#ifndef LATTICE_SIMULATION_H
#define LATTICE_SIMULATION_H
#include <stdbool.h>

#include "lattice.h"
#include "trigd/device.h"

struct lattice_why {
    char text[256];
};

enum lattice_storage { LATTICE_STORE_FLOAT, LATTICE_STORE_HALF };

enum lattice_way { /* how steps are taken; all give the same bits, but for halves: blocks round less
                    */
                   LATTICE_WAY_AUTO, /* what was measured to be fastest for the device and the size
                                      */
                   LATTICE_WAY_INPLACE, /* one array, a launch a step */
                   LATTICE_WAY_BLOCKS   /* two arrays, several steps of a tile a launch */
};

struct lattice_setup {
    uint32_t nx, ny; /* cells; 3 to 65536 each, 2^28 together */
    double density;  /* at rest, > 0 */
    double accel;    /* acceleration of row ny - 2; 0: none */
    double omega;    /* relaxation of the even part, 0 < omega < 2; viscosity (2 / omega - 1) / 6 */
    double omega_odd;        /* of the odd part; 0: as omega (BGK) */
    double force_x, force_y; /* momentum that each free cell gets in a step */
    double lid;              /* speed along x of the cells LATTICE_LID, which are in row ny - 1 */
    uint32_t storage;        /* enum lattice_storage */
    uint32_t none;           /* 0: checkpoints have all bytes of the struct */
};

struct lattice_tuning {   /* 0: as measured */
    uint32_t way;         /* enum lattice_way */
    uint32_t block_steps; /* of LATTICE_WAY_BLOCKS: even, up to LT_BLOCK_MAX */
    uint32_t tile_rows;   /* above 2 * block_steps, up to LT_TILE_H_MAX */
    uint32_t group_size;  /* a multiple of 32 */
    bool is_guest;        /* no group of a kernel takes 10 us on an H200 (docs/lattice.md) */
};

struct lattice_cost {
    uint64_t device_bytes, pinned_bytes, checkpoint_bytes;
    uint64_t steps;       /* taken so far */
    double step_us;       /* of the last slices; 0 before the first */
    uint32_t least_steps; /* of a slice that wastes nothing: the steps of one launch */
};

struct lattice;

/* Checks a setup and its grid: `kind` [ny][nx].  -EINVAL with a sentence. */
int lattice_check(const struct lattice_setup *setup, const unsigned char *kind,
                  struct lattice_why *why);

/* A flow at rest.  Copies what it needs of setup, kind and tuning (NULL: as measured).  The device
 * outlives it.  -EINVAL: see lattice_check, or a tuning that is not possible. */
int lattice_open(struct trg_device *device, const struct lattice_setup *setup,
                 const unsigned char *kind, const struct lattice_tuning *tuning,
                 struct lattice **ret_lattice, struct lattice_why *why);
void lattice_close(struct lattice *l); /* NULL is fine */

/* Enqueues up to LT_SLICE_MAX steps, and returns without waiting.  Nothing else is submitted before
 * lattice_collect. */
int lattice_submit(struct lattice *l, struct trg_queue *q, uint32_t steps);
/* After the queue has passed the submission: the mean speed after each of its steps (before
 * the force), to `ret_mean`
 * [steps] (NULL: nobody wants it).  -ERANGE: a cell was faster than 1/2 a step, or its density is
 * not a number; the flow is lost. */
int lattice_collect(struct lattice *l, double *ret_mean);

/* Submits, waits and collects any number of steps. */
int lattice_run(struct lattice *l, struct trg_queue *q, uint64_t steps, double *ret_mean);

/* Steps that fit into `us` by what slices took so far, at most LT_SLICE_MAX and at least one
 * launch's; so many before the first. */
uint32_t lattice_steps_in(const struct lattice *l, double us);
/* Enqueues what fits into `us`, as lattice_submit: up to `most` steps, or, where one launch of
 * blocks takes longer, some of its tiles.  *ret_steps: the steps that are complete then; 0: the
 * launch goes on with the next call, there is nothing to collect, and the flow is between two
 * steps: lattice_end_launch before it is read, written or saved. */
int lattice_submit_in(struct lattice *l, struct trg_queue *q, double us, uint32_t most,
                      uint32_t *ret_steps);
/* Completes a launch that has begun in parts; waits and collects.  *ret_steps is 0 if none has. */
int lattice_end_launch(struct lattice *l, struct trg_queue *q, double *ret_mean,
                       uint32_t *ret_steps);
/* Keeps what a slice of so many steps took, for the next one. */
void lattice_took(struct lattice *l, uint32_t steps, double us);
/* One slice: up to `most` steps that fit into `us`.  Waits, keeps the time, and gives the steps
 * taken. */
int lattice_slice(struct lattice *l, struct trg_queue *q, double us, uint32_t most,
                  double *ret_mean, uint32_t *ret_steps);
void lattice_cost(const struct lattice *l, struct lattice_cost *ret_cost);
void lattice_setup_of(const struct lattice *l, struct lattice_setup *ret_setup);
const unsigned char *lattice_kind(const struct lattice *l); /* [ny][nx] */

/* Sets the flow: densities and velocities [ny][nx] of all cells, in equilibrium. */
int lattice_set_flow(struct lattice *l, struct trg_queue *q, const double *density,
                     const double *ux, const double *uy);
/* The flow now; of cells that are not free, rest.  With a force, velocities have half of a step's.
 */
int lattice_get_flow(struct lattice *l, struct trg_queue *q, double *ret_density, double *ret_ux,
                     double *ret_uy);
/* The distributions g in state 0 as they are stored, [9][ny][nx] floats or halves. */
int lattice_get(struct lattice *l, struct trg_queue *q, void *ret_g);
int lattice_put(struct lattice *l, struct trg_queue *q, const void *g, uint64_t steps);

/* Writes a checkpoint that holds all that is needed to go on: the file appears complete or not at
 * all. */
int lattice_save(struct lattice *l, struct trg_queue *q, const char *path, struct lattice_why *why);
/* Writes the flow as a legacy VTK file (structured points: density, velocity, kind), for ParaView.
 */
int lattice_write_vtk(struct lattice *l, struct trg_queue *q, const char *path,
                      struct lattice_why *why);

/* Opens the simulation of a checkpoint, on any device: it goes on with the same bits. */
int lattice_resume(struct trg_device *device, struct trg_queue *q, const char *path,
                   const struct lattice_tuning *tuning, struct lattice **ret_lattice,
                   struct lattice_why *why);
#endif
