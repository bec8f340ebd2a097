/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.h - which steps an RoI needs, the batchers of the steps, the lanes; deadlines.
 *
 * On the I/O thread only.  An RoI enters with dispatch_roi and leaves through decide, when its
 * chains have ended or its hard limit has passed, whichever is first.
 */
#ifndef TRIGD_DISPATCH_H
#define TRIGD_DISPATCH_H
#include "exec/engine.h"
#include "flow/accounts.h"
#include "flow/decide.h"
#include "flow/histograms.h"
#include "flow/poison.h"

struct dispatch;
struct dispatch_shared { /* by all shards */
    struct change_book *book;
    struct poison *poison;           /* NULL: none is remembered */
    struct event_registry *registry; /* NULL: there is one shard */
    const _Atomic uint64_t *lumi;    /* run << 32 | lumi block that RoIs get; 0: they keep theirs */
};
struct dispatch_retire { /* takes engines that are empty */
    void (*call)(void *ctx, struct engine *e);
    void *ctx;
};
/* `engine` is taken over: dispatch closes engines through `retire` once they are empty. */
int dispatch_open(const struct config *config, struct pool *pool, struct stats *stats,
                  struct egress *out, const struct dispatch_shared *shared, struct engine *engine,
                  const struct dispatch_retire *retire, struct dispatch **ret_dispatch);
/* Gives back the engines that it still has, empty or not, through `retire`.  NULL is fine. */
void dispatch_close(struct dispatch *d);

/* The running engine, which gets the next RoI. */
struct engine *dispatch_engine(struct dispatch *d);
/* Prepares for another engine, which it takes over: nothing of dispatch_swap can fail then.
 * -EBUSY: two older ones are not empty yet; -ENOMEM. */
int dispatch_prepare(struct dispatch *d, struct engine *e);
/* Makes the prepared engine the running one. */
void dispatch_swap(struct dispatch *d);
/* Instead of that: gives the prepared engine back to the caller. */
void dispatch_abandon(struct dispatch *d);
/* The books of its RoIs. */
struct accounts *dispatch_accounts(struct dispatch *d);
struct histograms *dispatch_histograms(struct dispatch *d);

/* Takes an RoI whose record and block are complete. */
void dispatch_roi(struct dispatch *d, uint32_t roi);
/* Keeps the deadlines and takes results back; whether there were some. */
bool dispatch_take(struct dispatch *d, uint64_t now_ns);
/* Closes batches and hands them out, which takes as long as gathering them; whether it did
 * something. */
bool dispatch_give(struct dispatch *d, uint64_t now_ns);
/* Looks for batches that hang and for steps that no lane serves.  Every few milliseconds. */
void dispatch_tick(struct dispatch *d, uint64_t now_ns);
/* When both have to be called again at the latest; UINT64_MAX for never. */
uint64_t dispatch_due_ns(const struct dispatch *d, uint64_t now_ns);
/* Decides all RoIs in flight: SHUTDOWN. */
void dispatch_force_all(struct dispatch *d);
/* Whether no lane has a batch and no RoI refers to an engine. */
bool dispatch_is_idle(const struct dispatch *d);
/* Whether a turn would find something to do: a finished batch, or RoIs that a lane could begin with
 * at once. */
bool dispatch_has_work(const struct dispatch *d, uint64_t now_ns);
/* Whether RoIs wait for a batch. */
bool dispatch_has_waiting(const struct dispatch *d);
#endif
