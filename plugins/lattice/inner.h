/* SPDX-License-Identifier: Apache-2.0 */
/* inner.h - a simulation from inside, for simulation.c, flow.c and checkpoint.c. */
#ifndef LATTICE_INNER_H
#define LATTICE_INNER_H
#include "simulation.h"
#include "trigd/common/lane.h"

struct lattice {
    struct trg_device *device;
    struct trg_device_info info;
    struct lattice_setup setup;
    struct lattice_tuning tuning; /* nothing is 0 */
    unsigned char *kind_host;     /* [ny][nx] */
    uint64_t n_cells, n_free;
    struct lt_par par;

    struct trg_module *module;
    struct trg_kernel *pull, *local, *block, *accelerate, *total;
    struct buffers buffers;
    struct trg_buffer *g, *other; /* lt_number [9][stride]; other: where blocks write, else NULL */
    struct trg_buffer *kind;
    struct trg_buffer *sums, *totals, *totals_host, *fast_host;
    struct trg_buffer *piece; /* pinned, for copies */
    uint64_t device_bytes, pinned_bytes;

    uint64_t steps;     /* taken, those in flight included */
    uint32_t in_flight; /* steps of the submission that was not collected */
    uint32_t state;     /* of g, once what was submitted has run */
    double step_us;

    uint32_t tile;    /* of the launch in parts: the next one; 0: there is none */
    uint32_t n_tiles; /* in the part in flight; 0: it is none */
    double tile_us;   /* of the last parts; 0 before the first */
    double parts_us;  /* of the launch so far */
};

/* Whether the flow is not at the end of a step. */
static inline bool lattice_is_busy(const struct lattice *l)
{
    return l->in_flight || l->tile;
}

#define LATTICE_PIECE ((size_t)4 << 20) /* bytes of `piece` */

/* From the host to an offset of a device buffer, piece by piece; waits for each. */
void lattice_write(struct lattice *l, struct launcher *to, struct trg_buffer *device, size_t at,
                   const void *data, size_t bytes);

extern const int lattice_cx[9], lattice_cy[9], lattice_opposite[9];
extern const double lattice_weight[9];

static inline size_t lattice_number_bytes(const struct lattice *l)
{
    return l->setup.storage == LATTICE_STORE_HALF ? 2 : 4;
}

/* At the start of a checkpoint. */
struct lattice_header {
    char magic[16];
    uint32_t version, header_bytes;
    uint64_t steps;
    struct lattice_setup setup;
};

static inline uint64_t lattice_checkpoint_bytes(const struct lattice_setup *s)
{
    const uint64_t cells = (uint64_t)s->nx * s->ny;

    return sizeof(struct lattice_header) + cells +
           9 * cells * (s->storage == LATTICE_STORE_HALF ? 2 : 4) + sizeof(uint64_t);
}

/* Writes a sentence and returns -EINVAL. */
int lattice_refuse(struct lattice_why *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Between numbers as they are stored and floats. */
void lattice_from_half(const uint16_t *from, float *to, size_t n);
void lattice_to_half(const float *from, uint16_t *to, size_t n);
#endif
