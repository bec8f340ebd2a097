/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config_table.h"
#include "base/shards.h"

#include <stdio.h>

#include "config/config.h"

#define AT(member)          offsetof(struct config, member)
#define IN_BATCHING(member) offsetof(struct config_batching, member)
#define IN_DEVICE(member)   offsetof(struct config_device, member)

const struct config_key config_keys[] = {
    {"backend_path", CONFIG_STRING, AT(backend_path), "", 0, 0,
     "folder with trigd-cpu.so and friends; empty: where trigd was built or installed"},
    {"cache_dir", CONFIG_STRING, AT(cache_dir), "cache", 0, 0,
     "folder for compiled OpenCL programs, made if it is not there"},
    {"state_dir", CONFIG_STRING, AT(state_dir), "state", 0, 0,
     "folder for what outlives a restart, made if it is not there; empty: nothing does"},
    {"pool.rois", CONFIG_U32, AT(pool.rois), "16384", 16, 1048576, "most RoIs in flight"},
    {"pool.mbytes", CONFIG_U32, AT(pool.mbytes), "256", 16, 65536,
     "memory for their data, MiB, a power of two; kept messages take as much again at most"},
    {"limits.soft_ms", CONFIG_U32, AT(limits.soft_ms), "500", 0, 600000,
     "an RoI older than this is marked late, ms; 0: none is"},
    {"limits.hard_ms", CONFIG_U32, AT(limits.hard_ms), "2000", 0, 600000,
     "an RoI older than this is force-accepted into the debug stream, ms; 0: none is"},
    {"limits.drain_ms", CONFIG_U32, AT(limits.drain_ms), "5000", 0, 600000,
     "longest wait for RoIs in flight when the daemon stops, ms"},
    {"clients.max", CONFIG_U32, AT(clients.max), "256", 1, 1024, "clients connected at a time"},
    {"clients.credits", CONFIG_U32, AT(clients.credits), "512", 1, 65536,
     "most unanswered RoIs of one client"},
    {"clients.heartbeat_ms", CONFIG_U32, AT(clients.heartbeat_ms), "2000", 100, 60000,
     "a client silent for three times this is gone, ms"},
    {"clients.max_message_kbytes", CONFIG_U32, AT(clients.max_message_kbytes), "16384", 1, 65536,
     "largest message, KiB"},
    {"clients.max_rois", CONFIG_U32, AT(clients.max_rois), "256", 1, 4096, "RoIs in one message"},
    {"clients.max_items", CONFIG_U32, AT(clients.max_items), "262144", 1, 4194304,
     "items of one collection of one RoI"},
    {"clients.max_layer", CONFIG_U32, AT(clients.max_layer), "31", 0, 255,
     "highest layer number of the detector"},
    {"clients.shm_mbytes", CONFIG_U32, AT(clients.shm_mbytes), "64", 1, 65536,
     "memory for the RoIs of each co-located client (shm://), MiB"},
    {"clients.remember", CONFIG_U32, AT(clients.remember), "65536", 0, 16777216,
     "last RoIs of clients with a key, of each shard: sent again they get the same decision; 0: "
     "none "
     "are kept"},
    {"clients.queue_mbytes", CONFIG_U32, AT(clients.queue_mbytes), "256", 16, 65536,
     "memory for messages on their way in or out, MiB; beyond it connections are cut off whose "
     "messages do not end"},
    {"clients.truncated_per_s", CONFIG_U32, AT(clients.truncated_per_s), "100", 0, 1000000,
     "RoIs of one client, in a second, that chains accept although their cuts do not hold, because "
     "a limit cut the data short; beyond, the cuts decide; 0: none"},
    {"clients.weights", CONFIG_STRING, AT(clients.weights), "", 0, 0,
     "shares of the credits by client, as in `hlt-*=4, calib=2`: the first pattern that fits the "
     "name; else 1"},
    {"isolation", CONFIG_STRING, AT(isolation), "process", 0, 0,
     "process: lanes run in worker processes, so that a plugin that crashes or hangs costs its own "
     "batch; thread: in the daemon, for a debugger"},
    {"workers.hang_ms", CONFIG_U32, AT(workers.hang_ms), "0", 0, 600000,
     "a batch that takes longer than this, and eight times longer than expected, ends its worker, "
     "ms; 0: half of limits.hard_ms"},
    {"workers.remember", CONFIG_U32, AT(workers.remember), "1024", 0, 65536,
     "last RoIs that ended a worker, kept in state_dir: sent again they are answered at once; 0: "
     "none are kept"},
    {"control.socket", CONFIG_STRING, AT(control.socket), "trigd.sock", 0, 0,
     "Unix socket of the operator, mode 0660; empty: none"},
    {"control.act_group", CONFIG_STRING, AT(control.act_group), "", 0, 0,
     "group whose members may act on the socket, as root and the daemon's user may; others may "
     "look; empty: all who can connect may act"},
    {"security.key_file", CONFIG_STRING, AT(security.key_file), "", 0, 0,
     "the daemon's CURVE keys (`trigctl keygen`): tcp endpoints ask for keys; empty: they do not"},
    {"security.clients_file", CONFIG_STRING, AT(security.clients_file), "", 0, 0,
     "clients that may connect over tcp, a line each: public key and name; read again when "
     "changed"},
    {"security.allow_plain_tcp", CONFIG_BOOL, AT(security.allow_plain_tcp), "0", 0, 1,
     "allow tcp endpoints without keys that are not on loopback"},
    {"http.address", CONFIG_STRING, AT(http.address), "127.0.0.1", 0, 0,
     "IPv4 address of /metrics, /healthz and /readyz; empty: no HTTP"},
    {"http.port", CONFIG_U16, AT(http.port), "9700", 0, 65535,
     "its port; 0: any free one, told in the log"},
    {"threads.pin", CONFIG_STRING, AT(threads.pin), "auto", 0, 0,
     "auto: on 4 cores and more every thread gets its core, lanes near their device; none"},
    {"threads.io", CONFIG_STRING, AT(threads.io), "", 0, 0,
     "cores for I/O threads, as in 0,2-3; empty: the first"},
    {"threads.zmq", CONFIG_STRING, AT(threads.zmq), "", 0, 0,
     "cores for the threads of ZeroMQ; empty: the next, one each, a quarter of all at most"},
    {"threads.lanes", CONFIG_STRING, AT(threads.lanes), "", 0, 0,
     "cores for lanes, one each in turn; empty: all others"},
    {"threads.shards", CONFIG_U32, AT(threads.shards), "0", 0, SHARDS_MAX,
     "I/O threads, each with its part of the pool and its own clients; shard k listens at "
     "ipc://PATH.k "
     "and the k-th port after that of a tcp endpoint; 0: one for each core of threads.io, or "
     "planned"},
    {"threads.zmq_threads", CONFIG_U32, AT(threads.zmq_threads), "1", 1, 16,
     "threads that ZeroMQ moves messages with, of all shards"},
    {"threads.spin_us", CONFIG_U32, AT(threads.spin_us), "50", 0, 1000000,
     "I/O thread and lanes look for work this long before they sleep, us; on fewer than 4 cores 0"},
    {"log.level", CONFIG_STRING, AT(log.level), "info", 0, 0, "error, warn, info or debug"},
    {"debug_stream.folder", CONFIG_STRING, AT(debug_stream.folder), "state/debug", 0, 0,
     "folder for the files of the debug stream, made if it is not there; empty: none are kept"},
    {"debug_stream.max_mbytes", CONFIG_U32, AT(debug_stream.max_mbytes), "1024", 0, 1048576,
     "most that one run writes there, MiB"},
    {"debug_stream.free_mbytes", CONFIG_U32, AT(debug_stream.free_mbytes), "256", 0, 1048576,
     "left free on that disk, MiB: nothing is written beyond"},
    {"debug_stream.wait_mbytes", CONFIG_U32, AT(debug_stream.wait_mbytes), "64", 1, 65536,
     "memory for RoIs that wait to be written there, MiB"},
    {0},
};

const struct config_key config_batching_keys[] = {
    {"max_rois", CONFIG_U32, IN_BATCHING(max_rois), "64", 1, 65536,
     "a batch closes with this many RoIs"},
    {"max_kbytes", CONFIG_U32, IN_BATCHING(max_kbytes), "4096", 1, 1048576,
     "a batch closes with this much data of its first input, KiB; one RoI always fits"},
    {"max_age_us", CONFIG_U32, IN_BATCHING(max_age_us), "200", 0, 10000000,
     "a batch closes when its oldest RoI waited this long, us (with eager: sooner)"},
    {"eager", CONFIG_BOOL, IN_BATCHING(eager), "1", 0, 1,
     "close a batch as soon as a lane can begin it; with half of the slots taken, at the pace at "
     "which they come back"},
    {0},
};

const struct config_key config_device_keys[] = {
    {"index", CONFIG_U32, IN_DEVICE(index), "0", 0, 63, "number of the device within its backend"},
    {"lanes", CONFIG_U32, IN_DEVICE(lanes), "1", 0, 512,
     "instances that every step gets on it; 0: one for each core (cpu only)"},
    {"all", CONFIG_BOOL, IN_DEVICE(all), "0", 0, 1,
     "all devices of the backend, with lanes each; index is not used then"},
    {"slots", CONFIG_U32, IN_DEVICE(slots), "2", 1, 8, "batches in flight in one lane"},
    {"warm_up", CONFIG_BOOL, IN_DEVICE(warm_up), "1", 0, 1,
     "its lanes run made-up RoIs before the daemon is ready, so that no kernel is compiled later"},
    {"required", CONFIG_BOOL, IN_DEVICE(required), "0", 0, 1,
     "refuse to start without it; else the other devices serve"},
    {0},
};

static void print_table(const char *prefix, const struct config_key *table)
{
    for (const struct config_key *k = table; k->name; k++) {
        const char *dflt =
            k->type == CONFIG_BOOL ? (k->dflt[0] == '1' ? "true" : "false") : k->dflt;

        printf("| `%s%s` | %s | ", prefix, k->name, dflt[0] ? dflt : "empty");
        if (k->type == CONFIG_U32 || k->type == CONFIG_U16)
            printf("%lu .. %lu", k->min, k->max);
        else
            printf("%s", k->type == CONFIG_BOOL ? "true, false" : "text");
        printf(" | %s |\n", k->help);
    }
}

void config_print_keys(void)
{
    printf("| key | default | allowed | meaning |\n| --- | --- | --- | --- |\n");
    printf("| `endpoints` | tcp://127.0.0.1:5700 | list | to bind: tcp, ipc (ZeroMQ), shm (shared "
           "memory) |\n");
    printf("| `menu` | must be given | text | file of the trigger menu |\n");
    printf(
        "| `plugin_path` | where trigd was built or installed | list | folders with plugins; the "
        "first match wins; `+FOLDER` comes before the default, which stays |\n");
    print_table("", config_keys);
    print_table("batching.", config_batching_keys);
    printf("| `devices[].backend` | cpu | text | `cpu`, `opencl` or `cuda` |\n");
    print_table("devices[].", config_device_keys);
    printf(
        "| `steps[].step` | must be given | text | a step of the menu, for its own settings |\n");
    printf("| `steps[].backends` | all | list | backends it may use |\n");
    printf("| `steps[].batching` | as `batching` | keys as there | its own batching |\n");
}
