/* SPDX-License-Identifier: Apache-2.0 */
/* runner_inner.h - shared by runner.c (running), runner_open.c (opening), runner_warm.c
 * and runner_conditions.c. */
#ifndef TRIGD_RUNNER_INNER_H
#define TRIGD_RUNNER_INNER_H
#include <pthread.h>

#include "exec/batch.h"
#include "exec/inbox.h"
#include "exec/pull.h"
#include "exec/runner.h"
#include "exec/stage.h"

struct runner_slot {
    struct trg_queue *queue;
    struct trg_event *reached;
    struct trg_buffer *dev[ARENA_INPUTS_MAX]; /* none on the host, where host memory is both */
    struct trg_buffer *fetched;               /* columns as clients have them; NULL: none */
    struct trg_input staged[ARENA_INPUTS_MAX];
    struct batch_table table[ARENA_CONDITIONS_MAX];
    struct trg_batch part[ARENA_MEMBERS_MAX]; /* of each member */
    struct trg_roi_info *infos;
    uint32_t shard; /* whose batch it has */
    struct inbox_batch batch;
    uint64_t begun_ns;
    bool is_staged;  /* as the arena said, */
    uint32_t raw;    /* the same */
    uint32_t pulled; /* inputs that the device gathers itself: a bit for each */
    bool is_overlapped;
};

struct runner_source { /* where an input of a member comes from */
    bool is_staged;
    uint32_t at; /* index into the group's inputs, or into its members */
    uint32_t product;
};

struct runner_member {
    uint32_t step;
    const struct plugin *plugin;
    struct trg_algo *algo;
    struct trg_limits limits;
    struct runner_source source[TRG_INPUTS_MAX];
};

struct runner {
    struct runner_setup s;
    uint32_t n_members;
    struct runner_member member[ARENA_MEMBERS_MAX]; /* in the order of the menu */
    bool is_host;
    struct pull pull;
    uint32_t encoded;       /* inputs that may be: a bit for each */
    uint32_t pullable;      /* inputs whose columns no member reads on the host: a bit for each */
    uint64_t fetched_bytes; /* of a slot; 0: the device does not copy parts */
    struct runner_slot slot[ARENA_SLOTS_MAX];
    struct stage_source *sources; /* [max_rois], scratch of the thread */
    struct stage_guard *guards;   /* the same */
    uint32_t turn;                /* the shard that is asked first for the next batch */
    struct inbox inbox[SHARDS_MAX];
    struct ring *in[SHARDS_MAX]; /* of them */
    /* pinned memory of each slot of an arena */
    struct trg_buffer *host[SHARDS_MAX][ARENA_SLOTS_MAX][ARENA_INPUTS_MAX];
    bool is_copied; /* that is not the arena's memory */
    pthread_t thread;
    bool has_thread;
    _Atomic bool stop;
};

/* The arenas of a runner have one shape. */
static inline const struct arena_shape *runner_shape(const struct runner *r)
{
    return &r->s.shard[0].arena.shape;
}
static inline const struct arena *runner_arena(const struct runner *r, uint32_t shard)
{
    return &r->s.shard[shard].arena;
}

/* Stage and submit the batch that a slot says: everything that it needs to compute is enqueued. */
int runner_begin(struct runner *r, uint32_t number);
/* Takes the results of a batch that its queue has passed. */
int runner_collect(struct runner *r, uint32_t number);
/* Memory for the conditions of a slot. */
int runner_open_conditions(struct runner *r, uint32_t number);
void runner_close_conditions(struct runner_slot *slot);
/* Has those of its batch on the device, and hands them to the members. */
int runner_load_conditions(struct runner *r, struct runner_slot *slot);
/* Runs synthetic RoIs, before there is a thread. Logs failures. */
int runner_warm(struct runner *r);
/* The answer of a plugin's function: a positive number is none of its answers (-EBADMSG,
 * logged). */
int runner_answer(const struct runner *r, const struct plugin *plugin, const char *function,
                  int answer);
/* The thread of a runner. */
void *runner_run(void *runner);
#endif
