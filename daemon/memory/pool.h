/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - the RoIs in flight: one shared mapping (memfd) that holds their records and data.
 *
 * Everything in the mapping is addressed by offset, so another process can be given the descriptor
 * and map it elsewhere.  The I/O thread alone takes and gives back records; a lane reads inputs and
 * writes the results of its own step while it holds a batch with the RoI.
 */
#ifndef TRIGD_POOL_H
#define TRIGD_POOL_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "encoding.h"
#include "trigd/plugin.h"
#include "wire.h"

#define POOL_NONE UINT32_MAX

struct roi_collection {
    uint64_t at;       /* offset of its first column; the others follow, 64-byte aligned; or of
                        * the addresses of its columns, unaligned, outside the pool */
    bool is_table;     /* the latter */
    bool is_encoded;   /* its columns are as encoding.h says; of `in` alone */
    uint8_t kind;      /* of `in` alone, when it is there */
    uint8_t first;     /* the same, when it is encoded: what came with it, see pool_sent */
    uint32_t capacity; /* items that the columns have room for */
    uint32_t n;
    bool is_there;
};

/* The answer of one step of the menu to an RoI, written by the lane.  There are up to 64 of them,
 * of which most RoIs need few, so all but `product` is unset before. */
struct roi_step {
    struct trg_result result;
    struct roi_collection product[TRG_OUTPUTS_MAX]; /* no room in those without a reader */
};

enum roi_end {                     /* why an RoI goes to the debug stream */
               ROI_END_CHAIN,      /* a chain writes it there */
               ROI_END_HARD_LIMIT, /* past the hard limit */
               ROI_END_DEADLINE,   /* past its own deadline; number: us */
               ROI_END_SHUTDOWN,   /* the daemon stopped first */
               ROI_END_KNOWN,      /* it ended a worker before (flow/poison.h) */
               ROI_END_EVENT,      /* another RoI of its event failed */
               ROI_END_MISSING,    /* others did not come in time */
               ROI_END_ABANDONED,  /* nor will they: its client left */
               ROI_END_AFTER,      /* it came itself when its event was over */
               /* those that follow have a step */
               ROI_END_TOO_LATE, /* could not make its own deadline; number: us */
               ROI_END_STATUS,   /* the plugin said so */
               ROI_END_CLAIM,    /* the plugin claimed what cannot be */
               ROI_END_BATCH,    /* its batch failed, alone as well; number: errno */
               ROI_END_SIGNAL,   /* it ended its worker alone; number: the signal */
               ROI_END_EXIT,     /* the same; number: the exit code */
               ROI_END_HANG,     /* its batch took too long, alone as well */
               ROI_END_KILLED,   /* somebody else killed its worker */
               ROI_END_NO_LANE   /* no lane served its step */
};

struct conditions;
struct roi_why {
    uint8_t what; /* enum roi_end */
    uint8_t step;
    int32_t number;
};

struct roi {
    struct trg_roi_info info;
    uint64_t token;
    uint64_t block;   /* offset of the data of this RoI; BUDDY_NONE for none */
    uint64_t steps;   /* offset of struct roi_step[menu steps] */
    uint64_t chains;  /* offset of the state of the chains (chains.h) */
    uint32_t region;  /* whose memory `in` lies in (shm_region.h); 0: the pool's */
    uint32_t message; /* kept message that `in` lies in (held.h); 0: none */
    uint32_t unseen;  /* 1 << kind for each of `in` whose values are not checked yet */
    uint32_t kinds;   /* 1 << kind for each of `in` that is there */
    uint32_t account; /* its place in accounts.h */
    uint64_t prescale_key;
    const struct conditions *conditions; /* of its account; not once it is decided */
    uint64_t conditions_key;
    uint8_t type;
    uint8_t event_rois; /* of its event, as it says; 0: it is alone */
    uint8_t event_slot; /* which of its event's RoIs it is */
    uint32_t event;     /* its number in event_table.h; 0: it is alone */

    /* the I/O thread's own books */
    uint64_t received_ns;
    uint64_t deadline_ns;            /* its client's; 0: none, the hard limit is tighter */
    uint32_t deadline_at;            /* its place in deadlines.h */
    uint32_t latency_us;             /* from receipt to decision, once there is one */
    uint64_t lane_ns, lane_until_ns; /* time in lanes; the end of the last batch */
    uint32_t client;                 /* its number in clients.h */
    uint32_t client_epoch;           /* tells a client from the next one with the same number */
    uint32_t engine;                 /* which menu generation decides */
    uint32_t next, prev;             /* list by arrival */
    uint64_t asked, done;            /* bits: steps that it was queued for, steps that returned */
    uint32_t pending;                /* steps that it is queued or running in */
    uint8_t status;                  /* Trigd__V1__Status so far */
    uint8_t losses;                  /* devices that were lost while it ran there alone */
    struct roi_why why;
    bool is_last_trial;    /* it took too long alone, and goes on as long as `workers.hang_ms` */
    bool is_ended;         /* its chains have ended, and it waits for its event's decision */
    bool is_decided;       /* the decision is made; results that still come are late */
    bool is_early;         /* decided before all of its chains had ended */
    bool is_late;          /* past the soft limit, or its deadline */
    bool is_leaving;       /* the decision waits for the flush */
    bool is_repeat;        /* it was sent before */
    uint32_t recall;       /* its entry in recall.h, from 1; 0: none */
    uint32_t wanted, kept; /* TRUNCATED */
    uint64_t streams;
    bool accept;

    /* where its data lies: read when it is queued and gathered only */
    struct roi_collection in[WIRE_SLOTS]; /* by place, as in struct wire_roi */
    uint64_t encodings; /* offset of the offsets and steps that came with encoded ones */
};

struct pool {
    int fd;
    unsigned char *base;
    size_t bytes;     /* of the mapping */
    uint64_t data_at; /* offset of the allocator's part */
    uint32_t n_rois, n_used;
    uint32_t n_reserved; /* places for RoIs that open events wait for */
    uint32_t max_layer;  /* of what is checked where it is gathered */
    struct roi *rois;
    uint32_t *free_rois;
    struct buddy *data;
};

int pool_open(uint32_t n_rois, uint64_t data_bytes, struct pool **ret_pool);
void pool_close(struct pool *p); /* NULL is fine */

/* Whether a status means that the RoI, or the event, went to the debug stream undecided. */
static inline bool roi_has_failed(uint8_t status)
{
    return status > TRIGD__V1__STATUS__TRUNCATED && status != TRIGD__V1__STATUS__SKIPPED;
}

/* A zeroed record, or POOL_NONE when all are in use or reserved. */
uint32_t pool_take(struct pool *p);
/* Gives back a record and its block. */
void pool_put(struct pool *p, uint32_t roi);
/* Offset of `bytes` of data, 64-byte aligned, contents undefined; BUDDY_NONE when full. */
uint64_t pool_alloc(struct pool *p, uint64_t bytes);
void pool_release(struct pool *p, uint64_t at);
uint64_t pool_used_bytes(const struct pool *p);

static inline void *pool_at(const struct pool *p, uint64_t at)
{
    return p->base + at;
}
static inline struct roi_step *pool_steps(const struct pool *p, const struct roi *r)
{
    return pool_at(p, r->steps);
}

/* Has the processor fetch what is read of a record and of its block when its batch is back:
 * thousands are in flight, and each would be waited for.  The record first, the block when that has
 * come: what `step` writes, and the state of the chains. */
static inline void pool_fetch(const void *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 64)
        __builtin_prefetch((const char *)from + at, 1);
}
static inline void pool_prefetch(const struct pool *p, uint32_t roi)
{
    pool_fetch(&p->rois[roi], offsetof(struct roi, in));
}
static inline void pool_prefetch_block(const struct pool *p, uint32_t roi, uint32_t step,
                                       size_t chains_bytes)
{
    pool_fetch(&pool_steps(p, &p->rois[roi])[step], sizeof(struct roi_step));
    pool_fetch(pool_at(p, p->rois[roi].chains), chains_bytes);
}
static inline uint64_t pool_align(uint64_t n)
{
    return (n + 63) & ~(uint64_t)63;
}

/* The collection of a kind that an RoI came with; is_there is false where there is none. */
static inline const struct roi_collection *pool_input(const struct roi *r, uint32_t kind)
{
    if (kind < WIRE_DECLARED)
        return &r->in[kind];
    for (uint32_t s = WIRE_DECLARED; s < WIRE_SLOTS; s++)
        if (r->in[s].is_there && r->in[s].kind == kind)
            return &r->in[s];
    return &r->in[TRG_KIND_NONE];
}

/* The offsets and steps that came with an encoded collection. */
static inline const struct trg_encoding *pool_sent(const struct pool *p, const struct roi *r,
                                                   const struct roi_collection *c)
{
    return (const struct trg_encoding *)pool_at(p, r->encodings) + c->first;
}

/* Bytes that a collection of so many items takes in a block; less when it is encoded. */
uint64_t pool_collection_bytes(uint32_t kind, uint32_t items);
/* Where column c of a collection lies. */
void *pool_column(const struct pool *p, uint32_t kind, const struct roi_collection *c,
                  uint32_t column);
#endif
