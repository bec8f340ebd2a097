/* SPDX-License-Identifier: Apache-2.0 */
/* shm.h - what the daemon and a co-located client keep in the memory that they share: one region
 * for each client, made by the daemon, mapped by both.
 *
 *     struct shm_head | up: struct shm_roi[entries] | down: bytes | data: columns of RoIs
 *
 * Up: the client writes an RoI's columns into `data`, an entry for it, and then up_head.  Down: the
 * daemon writes packed FromDaemon messages.  Both are rings with one writer and one reader whose
 * positions only grow.  Each side keeps its own position for itself and only tells it here; of the
 * other side's it believes nothing that it has not checked.  docs/protocol.md has the rules.
 */
#ifndef TRIGD_SHM_H
#define TRIGD_SHM_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "encoding.h"
#include "kinds.h"

#define SHM_MAGIC        "TRGSHM1" /* and a zero; another layout has another number */
#define SHM_SCHEME       "shm://"
#define SHM_ALIGN        64u        /* of every column */
#define SHM_KINDS        3u         /* kinds with places of their own: spacepoints, hits, tracks */
#define SHM_PLACES       4u         /* collections of one RoI */
#define SHM_LISTED       (1u << 30) /* in `kinds`: each place tells its collection by hash */
#define SHM_ENCODED_AT   16u        /* in `kinds`: for each place, whether it is encoded */
#define SHM_ENCODED      (((1u << SHM_PLACES) - 1) << SHM_ENCODED_AT)
#define SHM_QUANTIZED    (1u << 31) /* in `kinds` of older clients: the spacepoints are encoded */
#define SHM_REPEAT       (1u << 29) /* in `kinds`: the RoI was sent before */
#define SHM_EVENT_AT     8u         /* in `kinds`: RoIs of its event; 0: it is alone */
#define SHM_EVENT        (0xffu << SHM_EVENT_AT)
#define SHM_DEADLINE     (1u << 28) /* in `kinds`: the RoI has a deadline, beside its type */
#define SHM_DEADLINE_AT  6u         /* in `type`: the bit where that begins */
#define SHM_DEADLINE_MAX ((1u << (32 - SHM_DEADLINE_AT)) - 1) /* us */
#define SHM_DOWN_BYTES   (1u << 20)                           /* of the ring of answers */
#define SHM_ANSWER_MAX   (1u << 19)                           /* bytes of one answer */
#define SHM_PACKET_MAX   131072u    /* bytes of one packet on the socket: a large menu's Welcome */
#define SHM_WRAP         UINT32_MAX /* instead of a length: the next answer is at the start */
#define SHM_ANSWER_ALIGN 8u         /* each answer begins with its length, a uint32_t */

struct shm_head {
    /* told by the daemon before it hands the region out, and never read by it again */
    char magic[8];
    uint32_t entries; /* of the ring up; a power of two */
    uint32_t down_bytes;
    uint64_t up_at, down_at, data_at, data_bytes; /* offsets in the region */

    _Alignas(64) _Atomic uint32_t up_head; /* client: entries written */
    _Alignas(64) _Atomic uint32_t up_tail; /* daemon: entries taken */
    _Alignas(64) _Atomic uint32_t
        daemon_sleeps;                       /* daemon: send a packet of one byte after up_head */
    _Alignas(64) _Atomic uint64_t down_head; /* daemon: bytes written */
    _Alignas(64) _Atomic uint64_t down_tail; /* client: bytes read */
    _Alignas(64) _Atomic uint32_t client_sleeps; /* client sets, daemon clears and sends a packet */
};

/* One RoI on its way up.  Column c of a collection of n items begins at the offset that
 * shm_column gives for it; an encoded one begins with the offsets that come with it, then the
 * steps. */
struct shm_roi {
    uint64_t token;
    struct trg_roi_info info;
    uint32_t kinds; /* 1 << kind for each collection that is there, which may be empty; or
                     * SHM_LISTED; SHM_ENCODED, SHM_REPEAT, SHM_DEADLINE; SHM_EVENT */
    uint32_t type;  /* of the RoI; 0 to 63; SHM_DEADLINE: | us << SHM_DEADLINE_AT */
    struct shm_collection {
        uint64_t at;   /* in `data`; a multiple of SHM_ALIGN */
        uint32_t n;    /* items */
        uint32_t hash; /* SHM_LISTED: the lower half of the declaration's; 0: nothing is here */
    } in[SHM_PLACES];  /* by kind, TRG_SPACEPOINTS first; listed: in any order */
};
_Static_assert(sizeof(struct shm_roi) == 128, "the layout is a promise");
_Static_assert(TRG_SPACEPOINTS == 1 && TRG_HITS == 2 && TRG_TRACKS == 3, "kinds by number");

static inline uint64_t shm_align(uint64_t n)
{
    return (n + SHM_ALIGN - 1) & ~(uint64_t)(SHM_ALIGN - 1);
}

/* Where column `column` of n items begins, from the collection's `at`; with the number of columns:
 * the bytes of the collection. */
static inline uint64_t shm_column(uint32_t kind, bool is_encoded, uint32_t n, uint32_t column)
{
    uint64_t at = is_encoded ? shm_align(2 * sizeof(float) * encoding_sent(kind_info(kind))) : 0;

    for (uint32_t c = 0; c < column; c++)
        at += shm_align(n * (uint64_t)encoding_item_bytes(kind, is_encoded, c));
    return at;
}

static inline uint64_t shm_collection_bytes(uint32_t kind, bool is_encoded, uint32_t n)
{
    return shm_column(kind, is_encoded, n, kind_info(kind)->n_columns);
}

/* Bytes that an answer takes in the ring, with its length. */
static inline uint32_t shm_answer_room(uint32_t n)
{
    return (n + (uint32_t)sizeof(uint32_t) + SHM_ANSWER_ALIGN - 1) & ~(SHM_ANSWER_ALIGN - 1);
}

/* Sends one packet without waiting, with a descriptor if fd >= 0.  0, -EAGAIN (no room), or another
 * negative errno: the other end is gone. */
int shm_packet_send(int socket, const void *bytes, size_t n, int fd);
/* Takes one packet without waiting.  Its bytes (> 0); -EAGAIN: none is there; -EMSGSIZE: it was
 * longer than `room` and is lost; -ECONNRESET: the other end is gone.  A descriptor in it goes to
 * *ret_fd (-1 when there is none), or is closed when ret_fd is NULL. */
int shm_packet_receive(int socket, void *bytes, size_t room, int *ret_fd);
#endif
