/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - the memory that a lane and its runner share: rings, batches, results, products.
 *
 * A runner has an arena with each shard of the front.
 *
 * The front (lane.h) fills batches and reads results; the runner (runner.h), in a worker process or
 * a thread of this one, reads batches and writes results.  Nothing in the arena is believed by the
 * front: what the runner writes there are claims, checked like a client's message, and the front's
 * own books lie elsewhere.  A batch is back when it has its number in `done`: who writes over the
 * arena cannot pass one off as another.  The runner sees that something did (inbox.h) and ends its
 * process.
 *
 *     [link] [batch 0] [batch 1] ... [products of slot 0] ... [inputs of slot 0] ... [tables of
 * slot 0] ...
 *
 * A batch: head, then arrays for at most max_rois RoIs (arena_infos and the others below).
 */
#ifndef TRIGD_ARENA_H
#define TRIGD_ARENA_H
#include <stddef.h>
#include <stdint.h>

#include "base/ring.h"
#include "check_fault.h"
#include "encoding.h"
#include "trigd/plugin.h"

#define ARENA_SLOTS_MAX      TRG_SLOTS_MAX
#define ARENA_MEMBERS_MAX    8u /* steps that share batches */
#define ARENA_INPUTS_MAX     (TRG_INPUTS_MAX + 3u)
#define ARENA_CONDITIONS_MAX 8u   /* of all members together */
#define ARENA_ALIGN          128u /* distance of data written by different threads */

struct arena_shape { /* both sides compute the same layout from it */
    uint32_t slots, max_rois, n_inputs, n_members;
    uint32_t n_outputs[ARENA_MEMBERS_MAX];
    uint64_t product_bytes; /* room of one slot for the products that the front wants */
    uint64_t staged_bytes[ARENA_INPUTS_MAX]; /* room of one slot for each input: stage_bytes,
                                                pull_bytes */
    uint32_t n_conditions;
    uint64_t condition_bytes[ARENA_CONDITIONS_MAX]; /* room of one slot for each */
};

struct arena_condition { /* a table of a slot, in force for its batch */
    uint64_t key;        /* 0: it is not given */
    uint64_t bytes;
    struct trg_span span;
};

struct arena_link {
    struct ring in;             /* numbers of slots, to the runner */
    _Atomic uint32_t begun;     /* batches that the runner's thread is through with: the device has
                                 * them */
    _Atomic uint32_t bell;      /* of shard 0 alone: the futex of a runner that sleeps */
    _Atomic uint32_t takes_raw; /* the runner's: inputs that it takes as raw.h has them, a bit for
                                 * each */
};

struct arena_input { /* what stage_fill said of an input that the front has gathered */
    struct trg_span span;
    uint64_t bytes;
};

struct arena_batch {
    uint64_t sequence;     /* the front's number of it: no two batches of a lane have the same */
    _Atomic uint64_t done; /* that number once more, from the runner, when the rest is there */
    uint32_t n;
    int32_t error;               /* 0, or the negative errno that failed the whole batch */
    uint32_t is_lost;            /* -ENODEV is the word of the device too, not of a plugin alone */
    uint64_t begun_ns, ended_ns; /* the time that it was in the runner */
    uint64_t items;              /* of its first input */
    uint32_t is_overlapped;      /* another batch was in flight when it began */
    uint32_t is_pulled;          /* the device read columns of clients itself */
    uint32_t is_staged;          /* the front has gathered the inputs: they lie as `input` says, */
    uint32_t raw; /* or, those with a bit here, in their blocks as they came (raw.h) */
    struct arena_input input[ARENA_INPUTS_MAX];
};

enum arena_place {
    ARENA_POOL,     /* columns follow each other from offset `at` of the pool's mapping on, as
                     * pool_column has it */
    ARENA_BLOCK,    /* the same, from offset `at` of the slot's room for the input on */
    ARENA_ADDRESSES /* `at` is the address of a table with the columns' addresses: of RoIs that a
                     * runner makes up itself */
};

struct arena_source { /* where a collection of one RoI lies, when the runner gathers it */
    uint64_t at;
    uint32_t place;    /* enum arena_place */
    uint32_t capacity; /* items between the starts of columns */
    uint32_t n;
    uint32_t region; /* of a co-located client, from 1: the values are checked on the copy; or 0 */
    uint32_t epoch;  /* which client's region of that number */
    uint32_t is_encoded;
    uint64_t encodings; /* what came with it then: offset in the pool's mapping */
};

struct arena_output { /* room for a product of one RoI */
    uint64_t at;      /* from the start of the slot's products; columns are 64-byte aligned */
    uint32_t capacity;
    uint32_t n; /* a claim of the runner */
};

struct arena { /* a mapping of it */
    struct arena_shape shape;
    unsigned char *base;
    uint64_t infos, sources, faults, results, outputs; /* in a batch, from its start */
    uint64_t batch_bytes, products;                    /* of a batch; where products begin */
    uint64_t staged, staged_bytes;                     /* where inputs begin; of one slot */
    uint64_t conditions, condition_bytes;              /* the same of conditions */
};

/* A file (memfd) of an arena, sealed against a change of its size.  The caller closes it. */
int arena_file(const struct arena_shape *s, int *ret_fd);
/* Maps it.  -EBADMSG: the file is too short for the shape. */
int arena_map(const struct arena_shape *s, int fd, struct arena *ret_arena);
void arena_unmap(struct arena *a); /* one that is empty is fine */
/* Empties the rings, when no runner has it. */
void arena_reset(struct arena *a);

struct arena_link *arena_link(const struct arena *a);
struct arena_batch *arena_batch(const struct arena *a, uint32_t slot);
struct trg_roi_info *arena_infos(const struct arena *a, uint32_t slot);
struct arena_source *arena_sources(const struct arena *a, uint32_t slot, uint32_t input);
struct check_fault *arena_faults(const struct arena *a, uint32_t slot);
struct trg_result *arena_results(const struct arena *a, uint32_t slot, uint32_t member);
struct arena_output *arena_outputs(const struct arena *a, uint32_t slot, uint32_t member,
                                   uint32_t output);
unsigned char *arena_products(const struct arena *a, uint32_t slot);
/* Page-aligned: staged_bytes of the input's room for stage_fill. */
unsigned char *arena_staged(const struct arena *a, uint32_t slot, uint32_t input);
/* What the tables of a slot are, from batch to batch. */
struct arena_condition *arena_conditions(const struct arena *a, uint32_t slot);
unsigned char *arena_table(const struct arena *a, uint32_t slot, uint32_t condition);

static inline uint64_t arena_align(uint64_t n)
{
    return (n + 63) & ~(uint64_t)63;
}
/* Bytes of a product of so many items, and where its column c begins. */
uint64_t arena_product_bytes(uint32_t kind, uint32_t items);
uint64_t arena_column_at(uint32_t kind, uint32_t capacity, uint32_t column);
#endif
