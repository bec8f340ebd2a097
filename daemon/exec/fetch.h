/* SPDX-License-Identifier: Apache-2.0 */
/* fetch.h - which parts of clients' memory a copy engine fetches for a batch, and where they lie
 * then.
 *
 * A kernel that reads over the bus leaves the kernels beside it a third of their speed; the copy
 * engine leaves them all of it, if parts are large: the driver has the CPU copy what is smaller
 * than FETCH_LEAST (docs/zfinder-performance.md).  So parts that follow each other become one, and
 * more is fetched than asked for where an RoI is small, unless it is too much. */
#ifndef TRIGD_FETCH_H
#define TRIGD_FETCH_H
#include <stdbool.h>

#include "exec/arena.h"
#include "trigd/device.h"

#define FETCH_LEAST (UINT64_C(28) << 10) /* bytes of a part */
#define FETCH_MORE  4u                   /* so many times as much as asked for, at most */
/* Bytes of a batch that are worth it: the kernel alone is soon done with fewer. */
#define FETCH_BATCH (UINT64_C(1) << 20)

struct fetch_window {                /* where parts can be read, as offsets of a window */
    uint64_t first, distance, whole; /* regions begin at first + i * distance, */
    uint64_t bytes;                  /* each opened in pieces: no part may be of two */
};

struct fetch {
    uint64_t least, batch; /* FETCH_LEAST, FETCH_BATCH */
    uint32_t max_rois, max_parts;
    uint64_t *at; /* of each RoI, where parts are fetched to */
    struct trg_copy_part *parts;
    uint32_t n_parts;
    uint64_t bytes; /* to the end of the last part */
};

int fetch_open(uint32_t max_rois, struct fetch *ret_fetch);
void fetch_close(struct fetch *f);

/* Room for what a batch may fetch whose columns take so many bytes. */
uint64_t fetch_room(uint32_t max_rois, uint64_t bytes);

/* Bytes from `at` on that one part may have. */
uint64_t fetch_left(const struct fetch_window *w, uint64_t at);

/* Plans to fetch the columns of a collection: false when they are not worth it, or do not fit in
 * `room`. */
bool fetch_plan(struct fetch *f, const struct fetch_window *w, uint32_t kind, uint32_t n_rois,
                const struct arena_source *sources, uint64_t room);
#endif
