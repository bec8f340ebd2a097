/* SPDX-License-Identifier: Apache-2.0 */
/* shm_peers.h - co-located clients: Unix sockets for their control messages, a region of shared
 * memory for each (shm_region.h).
 *
 * Beside the ROUTER socket of clients.h, on the I/O thread only.  Knows the connections and moves
 * bytes; ingress interprets them.
 */
#ifndef TRIGD_SHM_PEERS_H
#define TRIGD_SHM_PEERS_H
#include <sys/types.h>

#include "config/config.h"
#include "memory/shm_region.h"
#include "transport/directory.h"

#define SHM_PEER_NONE UINT32_MAX

struct shm_peers;
struct shm_peer {              /* one connection */
    int fd;                    /* -1: the place is free */
    uint32_t client;           /* its number in clients.h, or SHM_PEER_NONE before its Hello */
    struct shm_region *region; /* from its Hello on */
    uint32_t active;           /* place in the list of those with a region */
    uint64_t since_ns;
    uid_t uid; /* of the process at the other end */
};

/* Whether an endpoint is shm://. */
bool shm_peers_are_wanted(const struct config *config);
/* Makes room for regions behind the pool; shard 0 listens on the configured shm:// endpoints,
 * others are handed connections.  Without such an endpoint *ret_peers is NULL, which every function
 * here takes.  Logs failures. */
int shm_peers_open(const struct config *config, struct pool *pool, struct directory *directory,
                   uint32_t shard, struct shm_peers **ret_peers);
void shm_peers_close(struct shm_peers *s);

/* To be polled for reading beside the sockets; -1 for NULL. */
int shm_peers_fd(const struct shm_peers *s);
/* The loop is about to wait: false when there is something to take, so that it must not. */
bool shm_peers_sleep(struct shm_peers *s);
/* It waited; `readable` tells what the poll found for shm_peers_fd. */
void shm_peers_awake(struct shm_peers *s, bool readable);

/* The next control message: its bytes (> 0), borrowed until the next call; 0: none now;
 * -ECONNRESET: the peer is gone, to be hung up by the caller; -EMSGSIZE: it sent too long a packet.
 * New connections are taken in on the way, packets that only wake are dropped.  Looks at the
 * sockets at most every `LOOK_NS` when nothing is known to be there. */
int shm_peers_packet(struct shm_peers *s, uint64_t now_ns, struct shm_peer **ret_peer,
                     const void **ret_bytes);
/* Closes connections that never said Hello. */
void shm_peers_tick(struct shm_peers *s, uint64_t now_ns);

/* Those with a region, in turn: the `i`-th of shm_peers_active(). */
uint32_t shm_peers_active(const struct shm_peers *s);
struct shm_peer *shm_peers_at(struct shm_peers *s, uint32_t i);

/* Gives the peer a region and notes its number.  -ENOSPC, -ENOMEM. */
int shm_peer_join(struct shm_peers *s, struct shm_peer *p, uint32_t client);
/* Hands the connection of the last packet, and that packet, to another shard, before it has a
 * region. false: that shard takes no more now, the peer stays. */
bool shm_peer_hand(struct shm_peers *s, struct shm_peer *p, uint32_t shard);
/* Closes the connection; the region goes when its last RoI is let go. */
void shm_peer_hang_up(struct shm_peers *s, struct shm_peer *p);
/* Sends a packet, with the region's descriptor or without.  0, -EAGAIN, or negative: it is gone. */
int shm_peer_packet(const struct shm_peer *p, const void *bytes, size_t n, bool with_region);
/* Wakes a client that sleeps. */
void shm_peer_wake(const struct shm_peer *p);
/* The windows's bookkeeping of RoIs whose data lies in a region. */
struct shm_window *shm_peers_window(struct shm_peers *s);
#endif
