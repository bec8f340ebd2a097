/* SPDX-License-Identifier: Apache-2.0 */
/* shm_region.h - the memory that the daemon shares with its co-located clients: a region for each.
 *
 * Behind the pool's mapping lies a window of addresses, and a region is mapped into a place of it:
 * a client's columns are reached from the pool's base by an offset, like all others, and lanes
 * gather it without a copy before.  The descriptor of the pool itself is never given away.
 *
 * A region outlives its client until the last RoI in it is let go.  Nothing in it is believed: the
 * positions and entries are copied once and checked, the values are checked by the lane
 * on its own copy (value_guard.h).  The file is sealed, so that no client can make it shorter.
 */
#ifndef TRIGD_SHM_REGION_H
#define TRIGD_SHM_REGION_H
#include "memory/pool.h"
#include "shm.h"

struct shm_window;
struct shm_region {
    struct shm_window *window;
    uint32_t number; /* of its place, from 1; struct roi has it as `region` */
    uint32_t epoch;  /* tells a region from the next one in the same place; from 1 */
    int fd;          /* -1: the place is free */
    struct shm_head *head;
    uint32_t up_tail, up_seen;     /* entries taken; the client's position when last looked at */
    uint64_t down_head, down_seen; /* bytes written; the client's position when last looked at */
    uint32_t n_rois;               /* that refer to its data */
    bool is_orphan;                /* its client is gone */
};

struct shm_sizes { /* of every region */
    uint32_t entries;
    uint64_t data_bytes;
};

/* Moves the pool's mapping to a place with room behind it for n regions.  Right after pool_open,
 * before anybody holds an address. */
int shm_window_open(struct pool *pool, uint32_t n, const struct shm_sizes *sizes,
                    struct shm_window **ret_window);
/* No RoI may refer to a region.  NULL is fine. */
void shm_window_close(struct shm_window *w);
/* Bytes of the data of a region, and where they are. */
uint64_t shm_window_data_bytes(const struct shm_window *w);
unsigned char *shm_region_data(const struct shm_region *r);

/* Where regions lie, as offsets of the pool's mapping: for a process that maps them as well. */
struct shm_geometry {
    uint64_t at; /* of the first one */
    uint32_t n;
    uint64_t bytes, data_at, data_bytes; /* of each; its data from its start */
};
void shm_window_geometry(const struct shm_window *w, struct shm_geometry *ret_geometry);
/* The place with that number, taken or not. */
const struct shm_region *shm_window_region(const struct shm_window *w, uint32_t number);

/* A fresh region, mapped here.  -ENOSPC: all places are taken (by clients, or by what clients that
 * are gone left in flight). */
int shm_region_new(struct shm_window *w, struct shm_region **ret_region);
/* Its client is gone: unmapped now or with its last RoI. */
void shm_region_drop(struct shm_region *r);
/* One RoI more, or less, refers to its data. */
void shm_region_hold(struct shm_region *r);
void shm_region_release(struct shm_window *w, uint32_t number);

/* Copies the next entry out: 1; 0 when there is none; -EPROTO: the client's position is nonsense.
 */
int shm_region_take(struct shm_region *r, struct shm_roi *ret_roi);
/* Tells the client how far its entries were taken. */
void shm_region_taken(struct shm_region *r);
/* Tells the client whether the daemon waits for a packet. */
void shm_region_sleep(struct shm_region *r, bool sleeps);
bool shm_region_has_entries(const struct shm_region *r);

/* Room for an answer of n bytes, to be filled and then sent.  -EAGAIN: not now; -EMSGSIZE: never;
 * -EPROTO: the client's position is nonsense. */
int shm_region_room(struct shm_region *r, uint32_t n, void **ret_bytes);
/* Whether the client sleeps and has to be woken. */
bool shm_region_send(struct shm_region *r, uint32_t n);
#endif
