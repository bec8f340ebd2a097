/* SPDX-License-Identifier: Apache-2.0 */
/* lane_inner.h - what lane.c (running), lane_open.c (opening) and lane_warm.c share. */
#ifndef TRIGD_LANE_INNER_H
#define TRIGD_LANE_INNER_H
#include <pthread.h>

#include "exec/lane.h"
#include "exec/stage.h"

struct lane_part { /* of a slot: one member of the group */
    struct trg_batch batch;
    struct trg_output *outputs[TRG_OUTPUTS_MAX]; /* [max_rois] */
    struct trg_result *results;                  /* [max_rois] */
};

struct lane_slot {
    struct trg_queue *queue;
    struct trg_event *reached;
    struct trg_buffer *host[LANE_INPUTS_MAX], *dev[LANE_INPUTS_MAX];
    struct trg_input staged[LANE_INPUTS_MAX];
    struct lane_part part[MENU_GROUP_MAX];
    struct trg_roi_info *infos;
    uint32_t number; /* of the lane_batch in it */
    uint64_t begun_ns;
};

struct lane_source { /* where an input of a member comes from */
    bool is_staged;
    uint32_t at; /* index into the lane's inputs, or into its members */
    uint32_t product;
};

struct lane_member {
    uint32_t step;
    const struct plugin *plugin;
    struct trg_algo *algo;
    struct trg_limits limits;
    struct lane_source source[TRG_INPUTS_MAX];
};

struct lane {
    struct lane_setup s;
    uint32_t n_members;
    struct lane_member member[MENU_GROUP_MAX]; /* in the order of the menu */
    bool is_host;
    struct lane_slot slot[LANE_SLOTS_MAX];
    struct stage_source *sources; /* [max_rois], scratch of the thread */
    struct stage_guard *guards;   /* the same */
    pthread_t thread;
    bool has_thread;
    _Atomic bool stop;

    uint64_t link_at; /* in the pool */
    struct lane_link *link;
    unsigned char *batches;
    size_t batch_bytes;

    /* of dispatch, which writes them all the time: the lane reads what is above as often */
    _Alignas(LANE_ALIGN) uint32_t first; /* oldest batch out */
    uint32_t taken;                      /* batches out */
    uint32_t submitted;                  /* batches, ever */
};

struct lane_batch *lane_batch_at(struct lane *l, uint32_t number);
/* Stage and submit: everything that a slot needs to compute is enqueued. */
int lane_begin_batch(struct lane *l, struct lane_slot *slot, uint32_t number);
/* Takes the results of a batch that its queue has passed. */
int lane_collect(struct lane *l, struct lane_slot *slot, const struct lane_batch *b);
/* Runs the RoIs of setup.warm, before there is a thread.  Logs what failed. */
int lane_warm(struct lane *l);
/* The thread of a lane. */
void *lane_run(void *lane);
#endif
