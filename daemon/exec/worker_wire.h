/* SPDX-License-Identifier: Apache-2.0 */
/* worker_wire.h - messages between the front and a worker process over their socketpair
 *: requests with descriptors down, one answer up for each that asks for one.
 *
 * Both ends are the same program, so these are plain structs.  The worker believes the front; the
 * front takes nothing from an answer but numbers and text that it cuts. */
#ifndef TRIGD_WORKER_WIRE_H
#define TRIGD_WORKER_WIRE_H
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fdmessage.h"
#include "base/shards.h"
#include "exec/arena.h"
#include "exec/group.h"

#define WORKER_PATH      1024u
#define WORKER_PARAMS    4096u /* bytes of a plugin's config struct, as plugin_host allows */
#define WORKER_FDS_MAX   ((size_t)3 * SHARDS_MAX + 1) /* of a setup */
#define WORKER_LANE_NAME 64u
_Static_assert(SHARDS_MAX + ARENA_MEMBERS_MAX <= WORKER_FDS_MAX, "a lane's descriptors fit");
_Static_assert(WORKER_FDS_MAX <= FDMESSAGE_FDS_MAX, "a setup's descriptors fit");

enum worker_request {
    WORKER_PROBE = 1, /* describes a device, as SETUP has it, and opens nothing else; answered */
    WORKER_SETUP,     /* with pool, doorbell page, eventfd of each shard, and the page of its life;
                         answered */
    WORKER_LANE, /* with an arena of each shard and the plugins; answered when its runner is open */
    WORKER_REGION, /* with the memory of a client; maps it */
    WORKER_FORGET, /* unmaps it */
    WORKER_GUEST /* with a guest's page and plugin: starts its thread; says in the page what came of
                  * it */
};

struct worker_shard_message {
    uint64_t pool_at, pool_bytes; /* the part of the pool's file that holds data */
    uint64_t window_at;           /* of the first region, counted as offsets of the pool */
    uint32_t n_regions;
    uint64_t region_bytes, region_data_at, region_data_bytes;
};

struct worker_setup_message {
    char backend[16], backend_path[WORKER_PATH], cache_dir[WORKER_PATH];
    uint32_t index;
    uint32_t log_level, log_format;
    bool is_quiet; /* logs nothing until the device is open */
    bool is_spare; /* until it is asked for a lane, it makes ready for that */
    uint64_t spin_ns;
    uint32_t max_layer;
    uint32_t memory_mbytes; /* 0: no limit */
    uint32_t pinned_mbytes; /* memory of clients that the device may read */
    uint32_t n_shards;
    struct worker_shard_message shard[SHARDS_MAX];
};

struct worker_step_message { /* one member of the group */
    uint32_t step;
    char name[WORKER_LANE_NAME], plugin[WORKER_PATH];
    int32_t input[TRG_INPUTS_MAX];
    uint32_t product[TRG_INPUTS_MAX];
    uint64_t wanted;
    uint32_t n_params; /* bytes */
    _Alignas(8) unsigned char params[WORKER_PARAMS];
};

struct worker_lane_message {
    char name[WORKER_LANE_NAME];
    bool warm_up, is_quiet;
    uint32_t rank;
    bool has_cpus;
    cpu_set_t cpus;
    struct arena_shape shape;
    uint32_t head, n_inputs;
    uint64_t members;
    struct group_input input[ARENA_INPUTS_MAX];
    struct worker_step_message step[ARENA_MEMBERS_MAX]; /* the first n_members are sent */
};

struct worker_region_message {
    uint32_t shard, number, epoch;
};

struct worker_guest_message {
    char name[WORKER_LANE_NAME], plugin[WORKER_PATH], folder[WORKER_PATH];
    bool is_partition, has_cpus;
    cpu_set_t cpus;
    uint32_t percent, slice_us, checkpoint_s, memory_mbytes;
    _Alignas(8) unsigned char params[WORKER_PARAMS];
};

struct worker_message {
    enum worker_request request;
    union {
        struct worker_setup_message setup;
        struct worker_lane_message lane;
        struct worker_region_message region;
        struct worker_guest_message guest;
    };
};

struct worker_answer {
    int32_t result;
    struct trg_device_info device; /* to WORKER_SETUP */
};

/* Bytes that a request has on its way: the union up to the member that it uses. */
size_t worker_message_bytes(enum worker_request request);
#endif
