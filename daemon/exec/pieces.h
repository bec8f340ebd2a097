/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.h - which pieces of clients' memory a device can read.
 *
 * Memory is opened where RoIs lie, because opening pins it and holds up other calls of the driver:
 * a runner that meets a piece that is shut asks for it, lets the CPU gather this batch, and finds
 * it open some time later.  The first piece of a region is asked for when its client joins, before
 * there are RoIs; a process that only waits to take the place of another asks for what clients have
 * written to.  Runners ask; one other thread opens and shuts. */
#ifndef TRIGD_PIECES_H
#define TRIGD_PIECES_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "trigd/device.h"

/* Opening one waits for all that the device does, whatever its size: on an H200 host 130 pieces of
 * 2 MiB halved the throughput of the first second with ten clients. */
#define PIECE_BYTES (UINT64_C(16) << 20)

/* Opening may take a tenth of the time, so that clients which come and go do not stop the lanes of
 * others; it may borrow so much of that in advance, for clients that join together. */
#define PIECE_REST      UINT64_C(10)
#define PIECE_BORROW_NS (5 * NS_PER_S)

struct pieces_place { /* of the regions, as offsets of the window */
    uint64_t first, distance, bytes;
    uint32_t n;
    unsigned char *base; /* where the window is mapped; NULL: pages are made when they are opened */
};

struct pieces_budget {     /* shared by all pieces of a process */
    uint64_t most;         /* bytes */
    _Atomic uint64_t used; /* the same; runners look at it */
    int asked_fd;          /* eventfd that runners write */
    uint64_t owed_ns;      /* until then opening rests, */
    uint64_t borrow_ns;    /* but for what it borrows */
    bool is_told;          /* that it was not enough */
    uint32_t n_opened;     /* pieces since pieces_log */
    uint64_t opening_ns;   /* that took */
};

struct pieces {
    struct trg_buffer *window;
    struct pieces_place place;
    struct pieces_budget *budget;
    uint32_t each; /* pieces of a region */
    uint32_t next; /* to be looked at */
    _Atomic uint8_t *state;
};

/* The window is the caller's. */
int pieces_open(struct trg_buffer *window, const struct pieces_place *place,
                struct pieces_budget *budget, struct pieces *ret_pieces);
void pieces_close(struct pieces *p);

/* On a runner's thread, while an RoI refers to the region (from 0): whether all bytes there can be
 * read.  Asks for those that cannot. */
bool pieces_are_open(struct pieces *p, uint32_t region, uint64_t at, uint64_t bytes);

/* Asks for a piece of a region. */
void pieces_expect(struct pieces *p, uint32_t region, uint32_t piece);
/* How long opening has to rest. */
uint64_t pieces_rest_ns(const struct pieces_budget *b, uint64_t now_ns);
/* Opens one piece that was asked for: whether there was one.  Its memory is mapped. */
bool pieces_step(struct pieces *p);
/* Logs what was opened, when nothing more is asked for. */
void pieces_log(struct pieces_budget *b);
/* Shuts a region, to which no RoI refers. */
void pieces_shut(struct pieces *p, uint32_t region);
#endif
