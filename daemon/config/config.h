/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - the daemon's settings (YAML, checked against a schema with libcyaml). */
#ifndef TRIGD_CONFIG_H
#define TRIGD_CONFIG_H
#include <stdbool.h>
#include <stdint.h>

struct config_batching { /* when a batch of a step closes: the first of */
    uint32_t max_rois;
    uint32_t max_kbytes; /* bytes of its first input, KiB; one RoI always fits */
    uint32_t max_age_us; /* age of its oldest RoI; with `eager`, only while no lane can begin it */
    bool eager;          /* close as soon as a lane can begin it */
};

struct config_device { /* lanes to open for every step, unless the step names its own */
    char *backend;     /* "cpu", "opencl", "cuda" */
    uint32_t index;    /* device within its backend */
    uint32_t lanes;    /* plugin instances a step gets on it; 0 = one for each core (cpu only) */
    uint32_t slots;    /* batches in flight in one lane */
    bool all;          /* all devices of the backend, and not only `index` */
    bool warm_up;      /* its lanes run made-up RoIs before they get others */
    bool required;     /* refuse to start without it; else one log line, and the others serve */
};

struct config_step { /* overrides for one step of the menu */
    char *step;
    char **backends; /* subset of the backends in `devices`; n_backends 0 = all */
    uint32_t n_backends;
    struct config_batching *batching; /* NULL: the default */
};

struct config {
    char **endpoints; /* to bind: tcp:// and ipc:// (ZeroMQ), shm:// (shared memory) */
    uint32_t n_endpoints;
    char *menu;         /* file of the trigger menu; relative to the config file */
    char **plugin_path; /* folders with plugins; first match wins */
    uint32_t n_plugin_path;
    char *backend_path; /* folder with trigd-cpu.so and friends */
    char *cache_dir;    /* OpenCL binaries */
    char *state_dir;    /* what outlives a restart; "" = nothing does */
    struct {
        uint32_t rois;   /* most RoIs in flight */
        uint32_t mbytes; /* shared mapping for their data, MiB, a power of two */
    } pool;
    struct {
        uint32_t soft_ms, hard_ms; /* limits on one RoI; 0 = none */
        uint32_t drain_ms;         /* longest wait for RoIs in flight at the end */
    } limits;
    struct {
        uint32_t max;          /* connected at a time */
        uint32_t credits;      /* most unanswered RoIs of one client */
        uint32_t heartbeat_ms; /* a client silent for three of these is gone */
        uint32_t max_message_kbytes;
        uint32_t max_rois;  /* in one message */
        uint32_t max_items; /* of one collection of one RoI */
        uint32_t max_layer;
        uint32_t shm_mbytes;      /* shared with each co-located client */
        uint32_t truncated_per_s; /* accepts of one client's RoIs only because they are TRUNCATED */
        uint32_t remember;     /* RoIs whose decisions are kept for clients that send them again */
        uint32_t queue_mbytes; /* messages that have not ended, or wait to be taken or sent */
        char *weights;         /* of their shares of the credits (weights.h) */
    } clients;
    struct config_batching batching;
    char *isolation; /* "process" or "thread": where lanes run */
    struct {
        uint32_t remember; /* RoIs that ended a worker */
        uint32_t hang_ms; /* a batch that takes longer ends its worker; 0: half of the hard limit */
    } workers;
    struct config_device *devices;
    uint32_t n_devices;
    struct config_step *steps;
    uint32_t n_steps;
    struct {
        char *socket;    /* Unix socket of the operator; "" = none */
        char *act_group; /* whose members may act, besides root and the daemon's user; "" = all */
    } control;
    struct {
        char *key_file;       /* the daemon's CURVE keys; "" = tcp without keys */
        char *clients_file;   /* public keys of clients */
        bool allow_plain_tcp; /* without keys, beyond loopback */
    } security;
    struct {
        char *address; /* "127.0.0.1"; "" = no HTTP */
        uint16_t port; /* 0: any free one, told in the log */
    } http;
    struct {
        char *pin;              /* "auto" or "none" */
        char *io, *zmq, *lanes; /* lists of cores; "" = planned by the daemon */
        uint32_t shards;        /* I/O threads; 0: planned (affinity_shards) */
        uint32_t zmq_threads;
        uint32_t
            spin_us; /* looking for work before sleeping; affinity_spin_ns tells if it is done */
    } threads;
    struct {
        char *level;
    } log;
    struct {
        char *folder;         /* debug stream files; "" = none are kept */
        uint32_t max_mbytes;  /* all files of this run together */
        uint32_t free_mbytes; /* left free on the disk */
        uint32_t wait_mbytes; /* memory for RoIs on their way there */
    } debug_stream;
};

/* Reads, checks and completes a file; paths come out absolute (relative ones are taken from the
 * file's own folder).  0, or -EINVAL with every problem found logged as file, line, key, what is
 * allowed. */
int config_load(const char *path, struct config **ret_config);
void config_free(struct config *c); /* NULL is fine */
/* The overrides for a step of the menu; NULL: none. */
const struct config_step *config_find_step(const struct config *c, const char *name);
#endif
