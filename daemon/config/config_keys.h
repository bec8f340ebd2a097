/* SPDX-License-Identifier: Apache-2.0 */
/* config_keys.h - every key of the configuration with one value, a line each:
 *
 *     X(of, name, kind, default, least, most, meaning)
 *
 * The struct, the reader, defaults, ranges, `trigd --keys` and the check of docs/configuration.md
 * are made from these lists; `of` is passed on from the user of the list.  Kinds: U32, U16, BOOL,
 * STRING, and PATH, a file that is relative to the folder of the configuration. */
#ifndef TRIGD_CONFIG_KEYS_H
#define TRIGD_CONFIG_KEYS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/shards.h"

/* In C. */
#define CONFIG_C_U32                       uint32_t
#define CONFIG_C_U16                       uint16_t
#define CONFIG_C_BOOL                      bool
#define CONFIG_C_STRING                    char *
#define CONFIG_C_PATH                      char *
#define CONFIG_MEMBER(of, name, kind, ...) CONFIG_C_##kind name;

/* Without a section. */
#define CONFIG_TOP(X, of)                                                         \
    X(of, backend_path, PATH, "", 0, 0,                                           \
      "folder with trigd-cpu.so and friends; empty: where trigd was built or "    \
      "installed")                                                                \
    X(of, cache_dir, PATH, "cache", 0, 0,                                         \
      "folder for compiled OpenCL programs, made if it is not there")             \
    X(of, state_dir, PATH, "state", 0, 0,                                         \
      "folder for state that outlives a restart, made if it is not there; "       \
      "empty: none does")                                                         \
    X(of, accounts_dir, PATH, "state/accounts", 0, 0,                             \
      "folder for the accounts of chains and streams by lumi block; empty: "      \
      "none are written")                                                         \
    X(of, histograms_dir, PATH, "state/histograms", 0, 0,                         \
      "folder for the histograms of the menu; empty: none are written")           \
    X(of, conditions, PATH, "", 0, 0,                                             \
      "file of conditions that plugins need, read again with the menu; empty: "   \
      "none")                                                                     \
    X(of, prescales, PATH, "", 0, 0,                                              \
      "file of prescales that hold from the start, as the operator's; empty: "    \
      "the menu's")                                                               \
    X(of, isolation, STRING, "process", 0, 0,                                     \
      "process: lanes run in worker processes, so that a plugin that crashes or " \
      "hangs costs its own batch; thread: in the daemon, for a debugger")

/* pool: memory for RoIs in flight. */
#define CONFIG_POOL(X, of)                                                      \
    X(of, rois, U32, "16384", 16, 1048576, "most RoIs in flight")               \
    X(of, mbytes, U32, "256", 16, 65536,                                        \
      "memory for their data, MiB, a power of two; kept messages take as much " \
      "again at most")

/* limits: ages of RoIs. */
#define CONFIG_LIMITS(X, of)                                                                       \
    X(of, soft_ms, U32, "500", 0, 600000, "an RoI older than this is marked late, ms; 0: none is") \
    X(of, hard_ms, U32, "2000", 0, 600000,                                                         \
      "an RoI older than this is force-accepted into the debug stream, ms; 0: "                    \
      "none is")                                                                                   \
    X(of, drain_ms, U32, "5000", 0, 600000,                                                        \
      "longest wait for RoIs in flight when the daemon stops, ms")

/* events: events of several RoIs. */
#define CONFIG_EVENTS(X, of)                                                                    \
    X(of, rois, U32, "64", 2, 255, "most RoIs of one event")                                    \
    X(of, open, U32, "4096", 16, 1048576,                                                       \
      "most events of several RoIs that are open, or remembered because RoIs may come late or " \
      "again")

/* clients: limits and shares. */
#define CONFIG_CLIENTS(X, of)                                                         \
    X(of, max, U32, "256", 1, 1024, "clients connected at a time")                    \
    X(of, credits, U32, "512", 1, 65536, "most unanswered RoIs of one client")        \
    X(of, heartbeat_ms, U32, "2000", 100, 60000,                                      \
      "a client silent for three times this is gone, ms")                             \
    X(of, max_message_kbytes, U32, "16384", 1, 65536, "largest message, KiB")         \
    X(of, max_rois, U32, "256", 1, 4096, "RoIs in one message")                       \
    X(of, max_items, U32, "262144", 1, 4194304, "items of one collection of one RoI") \
    X(of, max_layer, U32, "31", 0, 255, "highest layer number of the detector")       \
    X(of, shm_mbytes, U32, "64", 1, 65536,                                            \
      "memory for the RoIs of each co-located client (shm://), MiB")                  \
    X(of, remember, U32, "65536", 0, 16777216,                                        \
      "last RoIs of clients with a key, of each shard: sent again they get the "      \
      "same decision; 0: none are kept")                                              \
    X(of, queue_mbytes, U32, "256", 16, 65536,                                        \
      "memory for messages on their way in or out, MiB; beyond it connections are "   \
      "cut off whose messages do not end")                                            \
    X(of, truncated_per_s, U32, "100", 0, 1000000,                                    \
      "RoIs of one client, in a second, that chains accept although their cuts do "   \
      "not hold, because a limit cut the data short; beyond, the cuts decide; 0: "    \
      "none")                                                                         \
    X(of, weights, STRING, "", 0, 0,                                                  \
      "shares of the credits by client, as in `hlt-*=4, calib=2`: the first "         \
      "pattern that fits the name; else 1")

/* workers: worker processes. */
#define CONFIG_WORKERS(X, of)                                                      \
    X(of, hang_ms, U32, "0", 0, 600000,                                            \
      "a batch that takes longer than this, and twice as long as expected, "       \
      "ends its worker, ms; 0: half of limits.hard_ms")                            \
    X(of, memory_mbytes, U32, "0", 0, 1048576,                                     \
      "private memory of a worker process, plugins and drivers together, MiB; "    \
      "allocations beyond it fail; 0: no limit")                                   \
    X(of, pinned_mbytes, U32, "4096", 0, 1048576,                                  \
      "memory of co-located clients that a GPU reads itself over the bus, pinned " \
      "by its worker, MiB; of one client at most clients.shm_mbytes; RoIs of "     \
      "clients beyond it are gathered by the lanes")                               \
    X(of, remember, U32, "1024", 0, 65536,                                         \
      "last RoIs that ended a worker, kept in state_dir: sent again they are "     \
      "answered at once; 0: none are kept")                                        \
    X(of, spare, BOOL, "0", 0, 1,                                                  \
      "beside each worker a process waits with its device and the memory of "      \
      "co-located clients open, and takes its place when it ends")

/* control: the operator's socket. */
#define CONFIG_CONTROL(X, of)                                                                      \
    X(of, audit, PATH, "", 0, 0,                                                                   \
      "file that every action is appended to, a JSON object a line; empty: audit.jsonl in "        \
      "state_dir")                                                                                 \
    X(of, socket, PATH, "trigd.sock", 0, 0, "Unix socket of the operator, mode 0660; empty: none") \
    X(of, act_group, STRING, "", 0, 0,                                                             \
      "group whose members may act on the socket, as root and the daemon's user "                  \
      "may; others may look; empty: all who can connect may act")                                  \
    X(of, gpus, STRING, "auto", 0, 0,                                                              \
      "a process that reads use, memory, temperature, power and energy of NVIDIA GPUs (NVML): "    \
      "auto: where a device has a PCI address; on; off")

/* runs: run control. */
#define CONFIG_RUNS(X, of)                                                                     \
    X(of, control, BOOL, "0", 0, 1,                                                            \
      "RoIs are taken only in a run that an operator has started (`trigctl run start`)")       \
    X(of, numbers, BOOL, "0", 0, 1,                                                            \
      "RoIs get the run's number and lumi block; else they keep those that the client gives")  \
    X(of, lumi_block_s, U32, "60", 0, 86400,                                                   \
      "with numbers: a lumi block ends after this time, s; 0: with `trigctl run block` alone") \
    X(of, dir, PATH, "state/runs", 0, 0,                                                       \
      "folder for the documents of the beginning and the end of runs; empty: none are written")

/* security: keys and access. */
#define CONFIG_SECURITY(X, of)                                                     \
    X(of, key_file, PATH, "", 0, 0,                                                \
      "the daemon's CURVE keys (`trigctl keygen`): tcp endpoints ask for keys; "   \
      "empty: they do not; read again when changed")                               \
    X(of, clients_file, PATH, "", 0, 0,                                            \
      "clients that may connect over tcp, a line each: public key and name; read " \
      "again when changed")                                                        \
    X(of, allow_plain_tcp, BOOL, "0", 0, 1,                                        \
      "allow tcp endpoints without keys that are not on loopback")                 \
    X(of, allow_writable_plugins, BOOL, "0", 0, 1,                                 \
      "load plugins and backends that other users can write to")

/* http: metrics and health. */
#define CONFIG_HTTP(X, of)                                                            \
    X(of, address, STRING, "127.0.0.1", 0, 0,                                         \
      "IPv4 address of the page, /metrics, /healthz and /readyz; empty: none")        \
    X(of, port, U16, "9700", 0, 65535, "its port; 0: any free one, named in the log") \
    X(of, socket, PATH, "", 0, 0, "Unix socket with the same pages, mode 0660; empty: none")

/* threads: threads and their cores. */
#define CONFIG_THREADS(X, of)                                                                     \
    X(of, pin, STRING, "auto", 0, 0,                                                              \
      "auto: on 4 cores and more every thread gets its core, lanes near their "                   \
      "device; none")                                                                             \
    X(of, io, STRING, "", 0, 0, "cores for I/O threads, as in 0,2-3; empty: the first")           \
    X(of, zmq, STRING, "", 0, 0,                                                                  \
      "cores for the threads of ZeroMQ; empty: the next, one each, a quarter of "                 \
      "all at most")                                                                              \
    X(of, lanes, STRING, "", 0, 0, "cores for lanes, one each in turn; empty: all others")        \
    X(of, gather, STRING, "", 0, 0, "cores for gather threads; empty: those of lanes")            \
    X(of, shards, U32, "0", 0, SHARDS_MAX,                                                        \
      "I/O threads, each with its part of the pool and its own clients; shard k "                 \
      "listens at ipc://PATH.k and the k-th port after that of a tcp endpoint; 0: "               \
      "one for each core of threads.io, or planned")                                              \
    X(of, zmq_threads, U32, "1", 1, 16, "threads that ZeroMQ moves messages with, of all shards") \
    X(of, gather_threads, U32, "0", 0, 16,                                                        \
      "threads that gather batches of socket messages, for all shards; 0: I/O "                   \
      "threads do")                                                                               \
    X(of, spin_us, U32, "50", 0, 1000000,                                                         \
      "I/O, gather and lane threads look for work this long before they sleep, us; on "           \
      "fewer than 4 cores 0")

/* supervisor: the daemon as a node of a farm. */
#define CONFIG_SUPERVISOR(X, of)                                                                \
    X(of, endpoints, STRING, "", 0, 0,                                                          \
      "where supervisors enlist nodes, as in tcp://10.0.0.1:5710, tcp://10.0.0.2:5710; empty: " \
      "it is no node of a farm")                                                                \
    X(of, name, STRING, "", 0, 0, "of this node; empty: the name of the host")                  \
    X(of, reach, STRING, "", 0, 0,                                                              \
      "endpoint at which supervisors reach this daemon; empty: its first tcp or ipc endpoint")  \
    X(of, key_file, PATH, "", 0, 0,                                                             \
      "public CURVE key that all of its supervisors over tcp have; the node shows its own, "    \
      "security.key_file; empty: they ask for none")

/* farm: of trigsup, the supervisor; a daemon does not look at it. */
#define CONFIG_FARM(X, of)                                                                   \
    X(of, name, STRING, "", 0, 0, "of this supervisor; empty: the name of the host")         \
    X(of, endpoint, STRING, "tcp://127.0.0.1:5710", 0, 0, "where nodes enlist")              \
    X(of, nodes_file, PATH, "", 0, 0,                                                        \
      "names of the nodes of the farm, a line each; others are refused; empty: all may "     \
      "enlist")                                                                              \
    X(of, keys_file, PATH, "", 0, 0,                                                         \
      "nodes that may enlist over tcp, a line each: public key and name of the node; read "  \
      "again when changed; with it the supervisor shows nodes its own keys, "                \
      "security.key_file; empty: nodes have no keys")                                        \
    X(of, heartbeat_ms, U32, "20", 1, 10000, "a node says that it lives so often, ms")       \
    X(of, lost_beats, U32, "4", 2, 1000,                                                     \
      "a node silent for so many heartbeats is lost: its RoIs are given to others")          \
    X(of, again_ms, U32, "1000", 0, 600000,                                                  \
      "an RoI that a node has had for so long is given to another as well, once, ms; 0: "    \
      "none is")                                                                             \
    X(of, forget_ms, U32, "10000", 100, 3600000, "a node lost for so long is forgotten, ms") \
    X(of, clock_ms, U32, "1000", 1, 3600000,                                                 \
      "a node's clock may differ by so much from the supervisor's without a warning, ms")    \
    X(of, address_kbytes, U32, "32", 0, 1048576,                                             \
      "clients that reach the nodes send them batches of so many KiB and more themselves; "  \
      "0: none")                                                                             \
    X(of, address_ms, U32, "500", 10, 600000,                                                \
      "such a batch that has not come to its node after so long is sent through the "        \
      "supervisor, ms")

/* log: the log. */
#define CONFIG_LOG(X, of)                                            \
    X(of, level, STRING, "info", 0, 0, "error, warn, info or debug") \
    X(of, format, STRING, "logfmt", 0, 0,                            \
      "of its lines: logfmt, json, or journald: entries of the systemd journal, with fields")

/* debug_stream: files of the debug stream. */
#define CONFIG_DEBUG_STREAM(X, of)                                                    \
    X(of, folder, PATH, "state/debug", 0, 0,                                          \
      "folder for the files of the debug stream, made if it is not there; empty: "    \
      "none are kept")                                                                \
    X(of, max_mbytes, U32, "1024", 0, 1048576, "most that one run writes there, MiB") \
    X(of, free_mbytes, U32, "256", 0, 1048576,                                        \
      "left free on that disk, MiB: nothing is written beyond")                       \
    X(of, wait_mbytes, U32, "64", 1, 65536, "memory for RoIs that wait to be written there, MiB")

/* Files of a stream of the menu. */
#define CONFIG_STREAM(X, of)                                                                    \
    X(of, folder, PATH, "state/streams", 0, 0, "folder for its files, made if it is not there") \
    X(of, level, U32, "1", 0, 19, "of compression (zstd); 0: none")                             \
    X(of, file_mbytes, U32, "1024", 1, 1048576, "the next file begins with this size, MiB")     \
    X(of, file_s, U32, "600", 0, 86400, "or when the file is this old, s; 0: at no age")        \
    X(of, by_lumi_block, BOOL, "0", 0, 1, "a file holds RoIs of one lumi block only")           \
    X(of, quota_mbytes, U32, "0", 0, 1073741824,                                                \
      "most that all its files in the folder take, those of earlier runs included, MiB; 0: no " \
      "quota")                                                                                  \
    X(of, free_mbytes, U32, "256", 0, 1073741824, "left free on that disk, MiB")                \
    X(of, when_full, STRING, "drop", 0, 0,                                                      \
      "drop: RoIs beyond quota, free space or wait_mbytes are not written, and counted; stop: " \
      "the daemon accepts no RoIs until they are written")                                      \
    X(of, wait_mbytes, U32, "64", 1, 65536, "memory for RoIs that wait to be written, MiB")     \
    X(of, flush_ms, U32, "1000", 0, 60000,                                                      \
      "RoIs go to the file in blocks of 1 MiB, or after this time, ms; 0: each RoI is a block") \
    X(of, sync_ms, U32, "5000", 0, 3600000,                                                     \
      "time from writing to fsync, ms; 0: when the file is complete")

/* The sections, in the order of the documentation: S(name, list) */
#define CONFIG_SECTIONS(S)           \
    S(pool, CONFIG_POOL)             \
    S(limits, CONFIG_LIMITS)         \
    S(events, CONFIG_EVENTS)         \
    S(clients, CONFIG_CLIENTS)       \
    S(workers, CONFIG_WORKERS)       \
    S(control, CONFIG_CONTROL)       \
    S(runs, CONFIG_RUNS)             \
    S(security, CONFIG_SECURITY)     \
    S(http, CONFIG_HTTP)             \
    S(threads, CONFIG_THREADS)       \
    S(supervisor, CONFIG_SUPERVISOR) \
    S(farm, CONFIG_FARM)             \
    S(log, CONFIG_LOG)               \
    S(debug_stream, CONFIG_DEBUG_STREAM)

/* When a batch of a step closes, for all steps or for one: the first of these. */
#define CONFIG_BATCHING(X, of)                                                      \
    X(of, max_rois, U32, "64", 1, 65536, "a batch closes with this many RoIs")      \
    X(of, max_kbytes, U32, "4096", 1, 1048576,                                      \
      "a batch closes with this much data of its first input, KiB; one RoI always " \
      "fits")                                                                       \
    X(of, max_age_us, U32, "200", 0, 10000000,                                      \
      "a batch closes when its oldest RoI waited this long, us (with eager: "       \
      "sooner; while two batches wait before the lane: later)")                     \
    X(of, eager, BOOL, "1", 0, 1,                                                   \
      "close a batch as soon as a lane can begin it; with half of the slots "       \
      "taken, at the pace at which they come back")                                 \
    X(of, overtake_ms, U32, "100", 0, 600000,                                       \
      "RoIs of one priority go before those of the next lower one that came up to " \
      "this much earlier, ms; 0: by arrival alone")

/* Lanes to open for every step, unless the step names its own backends. */
#define CONFIG_DEVICE(X, of)                                                        \
    X(of, index, U32, "0", 0, 63, "number of the device within its backend")        \
    X(of, lanes, U32, "1", 0, 512,                                                  \
      "instances that every step gets on it; 0: one for each core (cpu only)")      \
    X(of, all, BOOL, "0", 0, 1,                                                     \
      "all devices of the backend, with lanes each; index is not used then")        \
    X(of, slots, U32, "2", 1, 8, "batches in flight in one lane")                   \
    X(of, warm_up, BOOL, "1", 0, 1,                                                 \
      "its lanes run synthetic RoIs before the daemon is ready, so that no kernel " \
      "is compiled later")                                                          \
    X(of, required, BOOL, "0", 0, 1, "refuse to start without it; else the other devices serve")

/* Guests: plugins that get slices of work on a device, beside the lanes. */
#define CONFIG_GUEST(X, of)                                                                     \
    X(of, index, U32, "0", 0, 63, "number of the device within its backend")                    \
    X(of, when, STRING, "idle", 0, 0,                                                           \
      "idle: slices only while no batch is in the lanes of the device; partition: at any time " \
      "on a part of the chip (cuda), or on cores that no other thread wants (cpu)")             \
    X(of, percent, U32, "10", 1, 100, "that part of the multiprocessors, at least; cuda only")  \
    X(of, slice_us, U32, "50", 1, 10000, "length of a slice, us")                               \
    X(of, hang_ms, U32, "1000", 10, 600000,                                                     \
      "a slice that takes longer disables the guest and ends its worker, ms; on a CPU, of a "   \
      "core's time")                                                                            \
    X(of, memory_mbytes, U32, "1024", 1, 1048576,                                               \
      "device and pinned memory that it may have, MiB")                                         \
    X(of, checkpoint_s, U32, "60", 0, 86400,                                                    \
      "time between two checkpoints, s; 0: only when it stops")                                 \
    X(of, folder, PATH, "state/guests", 0, 0,                                                   \
      "it has the folder of its name in this one for input, results and checkpoints")           \
    X(of, start, BOOL, "1", 0, 1, "it starts with the daemon; else with `trigctl guest start`")
#endif
