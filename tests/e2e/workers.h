/* SPDX-License-Identifier: Apache-2.0 */
/* workers.h - a server with lanes of the plugin `fault`, batches of eight RoIs, and what the daemon
 * tells of its workers. */
#ifndef TRIGD_TEST_WORKERS_H
#define TRIGD_TEST_WORKERS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fakegpu.h"
#include "fault.h"
#include "harness.h"

#define WORKERS_BATCH        8u
#define DEBUG_ACCEPT(status) (uint8_t)(1u | (unsigned)(status) << 1)
#define FAILED               DEBUG_ACCEPT(TRIGD__V1__STATUS__ALGO_FAILED)
#define NOT_LATE             127u

/* Eight RoIs are one batch. */
#define ONE_BATCH "batching: {max_rois: 8, max_age_us: 500000, eager: false}\n"
/* A sanitizer takes long over a crash, while the tests' clients are silent. */
#define PATIENT_LIMITS "limits: {soft_ms: 0, hard_ms: 60000}\n"
#define PATIENT        PATIENT_LIMITS "clients: {heartbeat_ms: 20000}\n"

extern const char workers_one_lane[]; /* a configuration */
extern const char workers_menu[];

/* Starts a server with that configuration and the menu, and a client that has said Hello. */
void workers_open(struct server *s, struct link *l, const char *config);
/* GPU n of fakegpu.c is lost, or is back. */
void workers_lose_gpu(const struct server *s, int gpu, bool is_lost);
/* The same, but it opens, and is lost with the first kernel. */
void workers_lose_kernels(const struct server *s, int gpu, bool is_lost);
/* Makes the memory of GPU n of fakegpu.c; before the server is launched. */
struct fakegpu_memory *workers_gpu_memory(const struct server *s, int gpu);
/* Whether plugins with the parameter `refuse` do so. */
void workers_refuse(const struct server *s, bool refuses);
/* As server_prepare, on the CPU and those GPUs. */
void workers_prepare_gpus(struct server *s, const char *config, const char *menu);
/* Starts a server that was prepared, and does not wait. */
void workers_launch(struct server *s);
/* Waits until it is ready, and starts a client that has said Hello. */
void workers_join(struct server *s, struct link *l);
/* As workers_open, on those devices; GPU `lost` is not there at the start, -1 for none. */
void workers_open_gpus(struct server *s, struct link *l, const char *config, int lost);
/* Sends a batch in which RoI `at` has that number; WORKERS_BATCH for none. */
void workers_send(struct link *l, uint64_t first, uint32_t at, uint32_t fault);
/* Wants that answer for RoI `at` and an accept by the chain for all others. */
void workers_expect(struct link *l, uint64_t first, uint32_t at, uint8_t answer);
/* The number behind a key of the first row of `show workers json` that has that worker. */
long workers_number(struct server *s, const char *worker, const char *key);
/* Waits until it is that. */
void workers_wait(struct server *s, const char *worker, const char *key, long value);
/* Its process, once there is one: kill(2) takes 0 for all of the caller's group. */
pid_t workers_pid(struct server *s, const char *worker);
/* Stops a worker, all of its threads, as SIGSTOP does; returns its process. */
pid_t workers_stop(struct server *s, const char *worker);
/* The threads of a process, none once it has ended; fails when they are more than `most`. */
uint32_t workers_threads(pid_t pid, pid_t *ret_thread, uint32_t most);
#define WORKERS_THREADS 256u
/* Gives a worker's threads their share of the cores from now on, those too that only run where no
 * other wants one: on a busy machine that may be never. */
void workers_lift(struct server *s, const char *worker);
void workers_nap(long ms);
#endif
