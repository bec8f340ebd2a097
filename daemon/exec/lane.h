/* SPDX-License-Identifier: Apache-2.0 */
/* lane.h - the front's side of a lane: fills batches for its runner, reads results back.
 *
 * On the I/O thread of its shard only, but for opening and closing.  The runner
 * (runner.h) works on the arenas of all shards in a worker process, or in a thread of this one.
 * Batches come back in the order in which they were given.  What comes back are claims: lane_take
 * checks each before it enters an RoI's record.
 */
#ifndef TRIGD_LANE_H
#define TRIGD_LANE_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/stats.h"
#include "exec/arena.h"
#include "exec/group.h"
#include "exec/guest_page.h"
#include "exec/stage.h"
#include "memory/pool.h"
#include "memory/shm_region.h"

struct lane_cost { /* of a batch of one step on one device: a line through the last ones */
    double n, items, ns, items2, items_ns; /* sums, older batches weigh less */
    double base_ns, item_ns;               /* the line */
    double least_ns;                       /* it does not go below that */
    uint64_t used_ns;                      /* when it had the last batch */
};

struct lane_load { /* of one lane, for the lanes of other shards at the same runner */
    _Alignas(ARENA_ALIGN) _Atomic uint64_t expected_ns; /* of all batches in flight */
    _Atomic uint32_t submitted, returned;               /* batches since the runner started */
};

struct gather_threads;
struct lane_setup {
    uint32_t shard, n_shards;
    struct pool *pool;
    struct shm_window *regions; /* NULL: no client shares memory */
    const struct group *group;
    uint32_t slots, max_rois;
    uint64_t product_bytes;              /* of one slot */
    const struct conditions *conditions; /* that a fresh runner warms up with; they outlive it */
    struct guest_gate *gate;             /* of the device's guest; NULL: it has none */
    bool warm_up;
    uint32_t rank;                         /* on the device: lanes of rank 0 go first */
    struct gather_threads *gather_threads; /* of the front (gather.h); NULL: there are none */
    const uint64_t
        *guess_ns;          /* what a batch takes in the step's lanes, while none was seen there */
    struct lane_cost *cost; /* shared by the lanes of the step on this device */
    struct stats_lane *stats;
};

struct gather_job { /* a batch that waits for a gather thread */
    struct gather_job *next;
    struct lane *lane;
    uint32_t slot;
};

struct lane_batch { /* the front's books of a batch in flight */
    uint32_t n;
    uint32_t *roi; /* [max_rois] */
    uint64_t items;
    uint64_t sequence; /* which batch of the lane it is */
    uint64_t closed_ns;
    uint64_t expected_ns;      /* that it takes */
    bool is_gathered_here;     /* no worker reaches the columns of some RoI */
    uint32_t raw;              /* of its inputs, those whose values the runner checks then */
    uint64_t conditions;       /* key of the set whose tables the slot has */
    struct check_fault *fault; /* [max_rois]: found by gather.c, where no worker can write */
    struct stage_source *source[ARENA_INPUTS_MAX]; /* [max_rois], by input: of gather.c */
    struct stage_guard *guard;                     /* [max_rois], scratch of gather.c */
    struct gather_job job;
    bool is_ready;         /* gathered, and waits for those before it; under `order` */
    _Atomic bool is_ahead; /* its runner has not been given it yet */
};

struct lane_member { /* one step of the group */
    uint32_t step;
    const struct plugin *plugin;
};

struct lane_view { /* where the parts of a slot's batch lie in the arena */
    struct trg_roi_info *infos;
    struct arena_source *sources[ARENA_INPUTS_MAX];
    const struct check_fault *faults;
    const struct trg_result *results[ARENA_MEMBERS_MAX];
};

struct worker;
struct lane {
    struct lane_setup s;
    struct arena arena;
    uint32_t n_members;
    struct lane_member member[ARENA_MEMBERS_MAX];
    bool has_products; /* a step outside of the group reads one */
    struct lane_view view[ARENA_SLOTS_MAX];
    int fd; /* of the arena */
    struct worker *worker;
    struct lane **sibling;   /* [n_shards]: of each shard, at the same runner; this one too */
    struct lane_load load;   /* published for the others */
    bool is_retry;           /* runs again what failed elsewhere */
    _Atomic bool is_open;    /* its runner is; the worker's word, as is */
    _Atomic bool is_out;     /* it is not for a second or more, */
    _Atomic bool is_idle;    /* the shard's: it is down and no batch is out, */
    _Atomic int failed;      /* why the shard has closed it (worker_close_lane), */
    _Atomic bool is_excused; /* and that an RoI was the reason (worker_excuse_lane) */
    bool is_up;              /* takes batches */
    uint32_t failures;       /* batches that failed since the last good one */
    uint64_t rests_until_ns; /* down until then; 0: until its worker is back */
    uint64_t oldest_ns;      /* since when the oldest batch in flight could run */
    struct lane_batch batch[ARENA_SLOTS_MAX];
    uint32_t first;                  /* oldest batch out */
    uint32_t taken;                  /* batches out */
    uint64_t sequence;               /* of the last batch */
    uint64_t given_ns;               /* when it had that */
    uint64_t product_used;           /* of the batch that is filled */
    uint64_t room[ARENA_INPUTS_MAX]; /* items that it still takes */
    pthread_mutex_t order;           /* of batches on their way to the runner */
    uint32_t next_in;                /* slot that is the runner's next; under `order` */
    _Atomic bool is_void;            /* its runner is gone: nothing needs to be gathered */
};

/* The collection of an RoI that an input of its group gathers. */
static inline const struct roi_collection *
lane_collection(const struct pool *pool, const struct roi *r, const struct group_input *in)
{
    return in->from < 0 ? pool_input(r, in->kind)
                        : &pool_steps(pool, r)[in->from].product[in->product];
}

/* Makes the arena; a worker opens its runner.  -ENOMEM or what the mapping says. */
int lane_open(const struct lane_setup *setup, struct lane **ret_lane);
/* No runner may have the arena.  NULL is fine. */
void lane_close(struct lane *l);

/* Gives a slot of which no batch is in flight the tables of a set. */
void lane_put_conditions(struct lane *l, uint32_t slot, const struct conditions *set);
/* Before a runner opens: all slots have the tables of the setup. */
void lane_reset_conditions(struct lane *l);

/* Whether lane_begin may be called: it is up and a slot is free. */
bool lane_has_room(const struct lane *l);
/* Begins a batch in the next free slot. */
void lane_begin(struct lane *l);
/* Adds an RoI; false when it does not fit any more.  One RoI always fits. */
bool lane_put(struct lane *l, uint32_t roi);
/* RoIs in the batch that is filled. */
uint32_t lane_filled(const struct lane *l);
/* Hands it over. */
void lane_submit(struct lane *l, uint64_t now_ns);

struct lane_done { /* a batch that came back */
    uint32_t n;
    const uint32_t *roi;
    int error;
    bool is_lost;                           /* with -ENODEV: all lanes of the device are */
    uint64_t closed_ns, begun_ns, ended_ns; /* in order, whatever the runner claims */
};
/* The oldest batch, if it has come back.  Valid until lane_release. */
bool lane_finished(struct lane *l, struct lane_done *ret_done);
/* Moves the results of RoI number `i` of it into its record, products into its block.  -EBADMSG:
 * the runner claims what cannot be (logged with the plugin's name); -ERANGE: one claims that a
 * value of it is not allowed. */
int lane_take(struct lane *l, uint32_t i);
/* Done with that batch; `done` as lane_finished had it, whatever the runner writes since. */
void lane_release(struct lane *l, const struct lane_done *done);
/* The oldest batch of a lane whose runner is gone: as lane_finished, with -EOWNERDEAD.  Waits for
 * a gather thread that has it. */
bool lane_orphan(struct lane *l, struct lane_done *ret_done);
void lane_drop(struct lane *l); /* done with that one */
/* Starts anew with empty rings, and is up: a fresh runner has the arena. */
void lane_restart(struct lane *l);

/* Batches that its runner has still to begin, of all shards: at 0 another one would be begun at
 * once.  A lane of the host is its own device: there it counts batches that are not finished. */
uint32_t lane_ahead(const struct lane *l);
/* Slots that are taken. */
uint32_t lane_outstanding(const struct lane *l);
/* The same of another shard at its runner, as of a moment ago. */
uint32_t lane_outstanding_of(const struct lane *l, uint32_t shard);
/* When a batch of so many items would end if it were given now; from the times of earlier ones.
 * A lane whose oldest batch takes longer than expected looks worse with every moment. */
uint64_t lane_expected_end(const struct lane *l, uint64_t items, uint64_t now_ns);
/* Whether that rests on batches of this lane. */
bool lane_is_known(const struct lane *l);
/* How long batches of other shards that are in flight at the same runner are expected to take. */
uint64_t lane_others_ns(const struct lane *l);
/* How long the oldest batch in flight has been running; 0 with none. */
uint64_t lane_running_ns(const struct lane *l, uint64_t now_ns);
#endif
