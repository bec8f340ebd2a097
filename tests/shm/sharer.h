/* SPDX-License-Identifier: Apache-2.0 */
/* sharer.h - a daemon with a shm:// endpoint beside its ZeroMQ one, and a client that shares memory
 * with it.  Everything that fails here fails the test. */
#ifndef TRIGD_TEST_SHARER_H
#define TRIGD_TEST_SHARER_H
#include "harness.h"
#include "shmclient.h"

struct sharer {
    struct shmclient *client;
    Trigd__V1__FromDaemon *last; /* what sharer_receive returned */
};

/* As server_start; the client's socket is `shm` in the folder. */
void sharer_server(struct server *s, const char *config, const char *menu);
/* Writes the files only; `third` is one more endpoint, or NULL. */
void sharer_prepare(struct server *s, const char *third, const char *config, const char *menu);
/* As sharer_server, on the made-up GPUs (workers.h), and waits until it is ready. */
void sharer_gpu_server(struct server *s, const char *config, const char *menu);
/* Batches that a lane has read from the memory of clients. */
uint64_t sharer_pulled(struct server *s, const char *lane);
/* A tcp port of loopback that is free now, as are the two behind it: a port for each of three
 * shards. */
uint16_t sharer_free_port(void);

void sharer_open(struct sharer *c, const struct server *s);
void sharer_close(struct sharer *c);
void sharer_tell(struct sharer *c, const Trigd__V1__ToDaemon *m);
/* The next message, or NULL after `limit_ms` and when the daemon hung up (*ret_gone). */
Trigd__V1__FromDaemon *sharer_receive(struct sharer *c, int limit_ms, bool *ret_gone);
Trigd__V1__FromDaemon *sharer_expect(struct sharer *c, Trigd__V1__FromDaemon__BodyCase kind);
/* Waits until the daemon hangs up. */
void sharer_expect_gone(struct sharer *c);
/* Hello and Welcome; returns the credits. */
uint32_t sharer_hello(struct sharer *c, const char *name, uint32_t want);

/* Writes an RoI of good spacepoints, and returns its entry and its columns. */
struct shm_roi sharer_write(struct sharer *c, const struct roi_spec *spec, float **ret_phi);
/* Writes and sends RoIs. */
void sharer_send_rois(struct sharer *c, const struct roi_spec *specs, uint32_t n);
void sharer_put(struct sharer *c, const struct shm_roi *entry);
/* As link_collect. */
void sharer_collect(struct sharer *c, uint64_t first, uint32_t n, uint8_t *ret_by_token);
#endif
