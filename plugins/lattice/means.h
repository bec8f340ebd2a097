/* SPDX-License-Identifier: Apache-2.0 */
/* means.h - the file of mean speeds: rows of one length, "STEP SPEED", which a flow that goes on
 * from a checkpoint continues where the checkpoint was written. */
#ifndef LATTICE_MEANS_H
#define LATTICE_MEANS_H
#include <stdio.h>

#include "simulation.h"

struct lattice_means {
    FILE *file;     /* NULL: none is written */
    uint32_t every; /* steps from one row to the next */
};

/* Opens `folder`/means.txt for a flow of so many steps; rows beyond them go.  every 0: no file.
 * -EINVAL with a sentence: it lacks rows, or cannot be opened. */
int lattice_means_open(const char *folder, uint32_t every, uint64_t steps,
                       struct lattice_means *ret_means, struct lattice_why *why);
/* The mean speeds of `n` steps that follow step `from`.  -EIO. */
int lattice_means_add(struct lattice_means *m, uint64_t from, const double *mean, uint32_t n);
/* Has all rows on the disk.  -errno. */
int lattice_means_sync(struct lattice_means *m);
void lattice_means_close(struct lattice_means *m);
#endif
