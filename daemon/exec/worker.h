/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - the lanes of one device and the process that runs them, or with
 * `isolation: thread` threads of the daemon.
 *
 * A worker process is this program started again (`trigd --worker`).  It maps the data of the pool
 * and of clients read-only and the arenas of its lanes; records, books and sockets of the daemon
 * are not there.  When it ends, for whatever reason, its watcher (a thread of the front) says so,
 * waits until dispatch has taken over the RoIs that were in flight, and starts it again, after
 * growing pauses when it keeps dying.
 *
 * A worker serves all shards: each has a lane of its own for every runner.  The end of a process
 * and its return are news that every shard takes by itself (worker_news); it is started again when
 * all have taken over their RoIs.
 */
#ifndef TRIGD_WORKER_H
#define TRIGD_WORKER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/shards.h"
#include "base/stats.h"
#include "config/config.h"
#include "exec/doorbell.h"
#include "exec/lane.h"
#include "exec/opening.h"
#include "plugin/plugin_host.h"

enum worker_news { WORKER_NO_NEWS, WORKER_DIED, WORKER_BACK };

struct worker_shard { /* a shard, as workers see it */
    struct pool *pool;
    struct shm_window *regions; /* NULL: no client shares memory */
    struct doorbell *bell;
    struct stats *stats;
};

struct worker_base { /* shared by all workers of a daemon */
    bool is_process;
    const struct config *config;
    uint32_t n_shards;
    struct worker_shard shard[SHARDS_MAX];
    uint64_t spin_ns;
    struct backends *backends; /* of threads */
    const struct trg_host *host;
    struct opening *opening;
};

struct worker;
struct worker_setup {
    const char *name; /* for people */
    const char *backend;
    uint32_t index;
    bool is_retry;  /* for RoIs that ended other workers: restarted without a pause */
    bool is_beside; /* a generation serves that it is to replace */
};

/* A worker for one device; its process is started, the device opened.  -ENOENT, -ENODEV: there is
 * no such device. */
int worker_open(const struct worker_base *base, const struct worker_setup *setup,
                struct worker **ret_worker);
/* Stops the runners, or kills the process when they do not end in time; frees the worker, not its
 * lanes.  NULL is fine. */
void worker_close(struct worker *w);

/* Gives it a lane of each shard: opens their runner, on the cores that the calling thread is bound
 * to.  The lanes are up when this returns 0, and get their batches there.  On failure (logged) they
 * stay with the worker, down; a process goes on with the others and tries them again after pauses,
 * but for -ENOMEM where is_beside is set: that generation is given up.  Without memory for them
 * here they have no worker. */
int worker_add(struct worker *w, struct lane *const *lanes);
/* From now on the watcher restarts it. */
int worker_watch(struct worker *w);

const struct trg_device_info *worker_device(const struct worker *w);
uint32_t worker_lanes(const struct worker *w);
struct lane *worker_lane(const struct worker *w, uint32_t shard, uint32_t i);
/* Whether it keeps ending: it is down, and pauses for a second or more before the next try. */
bool worker_is_quarantined(const struct worker *w);

/* ---- for guests, on any thread ---- */

struct worker_guest_message;
/* A number that changes when its process ends and when it is back: odd while there is none. */
uint32_t worker_life(const struct worker *w);
/* Starts the thread of a guest there.  *ret_life: in which life.  -EAGAIN: not now. */
int worker_guest(struct worker *w, const struct worker_guest_message *message, int page_fd,
                 int plugin_fd, uint32_t *ret_life);
/* Processor time of its process. */
int worker_cpu_ns(struct worker *w, uint64_t *ret_ns);

/* ---- for dispatch, on the I/O thread of a shard ---- */

/* Ends the process at once; its watcher sees it.  Without a process nothing happens: -ENOTSUP.
 * -EALREADY: it is down, or ending. */
int worker_kill(struct worker *w, const char *why);
/* A lane of it is of no use any more, the others are: no shard gives it a batch, and it is opened
 * again when all have theirs back.  -ENOTSUP: the worker has to be ended, or has no process. */
int worker_close_lane(struct worker *w, struct lane *l, int error);
void worker_count_hang(struct worker *w); /* why it was killed */
/* How its last process ended, as waitpid says, and whether worker_kill did it. */
int worker_last_end(const struct worker *w, bool *ret_was_ended);
/* An RoI was found on which processes of this worker end: the next death begins a new row of them,
 * and the pause that goes on is short. */
void worker_excuse(struct worker *w);
/* The same for a lane of it that was closed, and may still be: its row, and its pause. */
void worker_excuse_lane(struct worker *w, struct lane *l);
enum worker_news worker_news(const struct worker *w, uint32_t shard);
/* It died, and nothing of this shard refers to its lanes any more. */
void worker_emptied(struct worker *w, uint32_t shard);
/* Whether it runs, and the shard knows. */
bool worker_serves(const struct worker *w, uint32_t shard);
/* It is back: takes it into service; the caller restarts lanes that are open.  False: it is gone
 * again. */
bool worker_take(struct worker *w, uint32_t shard);
/* Lets the process map the memory of a client before a batch names it.  -EAGAIN: not now. */
int worker_share(struct worker *w, uint32_t shard, uint32_t number);
/* Lets it unmap the memory of clients that are gone, and its spare map that of all. */
void worker_tend_regions(struct worker *w, uint32_t shard);
/* Whether the shard has the worker for itself: of a retry worker, where a batch runs alone.  Nobody
 * has one that is down or ending. */
bool worker_reserve(struct worker *w, uint32_t shard);
void worker_unreserve(struct worker *w, uint32_t shard);
#endif
