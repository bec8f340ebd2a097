/* SPDX-License-Identifier: Apache-2.0 */
/* shard.h - one I/O thread with all that is its own: clients, pool, books, dispatch, egress.
 *
 * Nothing on the way of an RoI is shared between shards.  They meet at the workers, whose runners
 * serve all of them, and in the directory, which says where clients belong. */
#ifndef TRIGD_SHARD_H
#define TRIGD_SHARD_H
#include <stdbool.h>

#include "base/mailbox.h"
#include "config/config.h"
#include "exec/engine.h"
#include "flow/dispatch.h"
#include "stream/streams.h"
#include "transport/directory.h"

struct shard_setup {
    const struct config *config; /* the daemon's */
    struct affinity *affinity;
    struct directory *directory;
    struct streams *streams;
    struct dispatch_shared shared;
    uint32_t number, n; /* of how many */
    uint64_t spin_ns;   /* looking for work before sleeping */
};

struct shard;
/* Opens the pool and the sockets. Logs failures. */
int shard_open(const struct shard_setup *setup, struct shard **ret_shard);
/* Ends the way of RoIs: its engines, empty or not, go to `retire`. */
void shard_end(struct shard *s);
/* After that.  NULL is fine. */
void shard_close(struct shard *s);
/* The part that workers need. */
void shard_describe(struct shard *s, struct worker_shard *ret_description);
struct stats *shard_stats(struct shard *s);
/* From here on it can take RoIs.  `e` is taken over. */
int shard_begin(struct shard *s, struct engine *e, void (*retire)(void *ctx, struct engine *e),
                void *ctx);

/* Other threads ask the I/O thread to do something. */
struct mailbox *shard_mailbox(struct shard *s);
struct dispatch *shard_dispatch(struct shard *s);
/* Whether it turned within the last second. */
bool shard_is_live(const struct shard *s);

/* ---- on its I/O thread ---- */

/* From here on the calling thread is its I/O thread. */
void shard_enter(struct shard *s);
struct shard_order { /* from run control */
    bool is_taking;  /* RoIs, else they are answered Busy */
    bool is_ending;  /* stop with what is in flight, by then at the latest: */
    uint64_t stop_by_ns;
    int fd; /* wakes it as well; -1: none */
};
/* One turn: takes messages and results, sends decisions; without any it sleeps until the next event
 * or tick.  Returns whether the order's descriptor became readable. */
bool shard_turn(struct shard *s, const struct shard_order *order);
/* With is_ending: nothing is left to do, or its time is over.  Any thread. */
bool shard_is_done(const struct shard *s);
/* Whether its last turn took RoIs.  Any thread. */
bool shard_is_taking(const struct shard *s);
/* Whether no lane has a batch and no RoI is in flight, once the thread has stopped. */
bool shard_is_idle(const struct shard *s);
#endif
