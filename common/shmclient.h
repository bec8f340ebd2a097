/* SPDX-License-Identifier: Apache-2.0 */
/* shmclient.h - the client's end of the memory that it shares with a daemon (shm.h): control
 * messages over a Unix socket, RoIs up and answers down through the region that comes with the
 * Welcome.
 *
 * What is sent and received is the same protobuf as over ZeroMQ, except RoIs; their meaning is the
 * caller's.  One thread uses one client.
 */
#ifndef TRIGD_SHMCLIENT_H
#define TRIGD_SHMCLIENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm.h"
#include "trigd.pb-c.h"

struct shmclient;

/* Connects to the daemon's socket; `path` may begin with shm://.  -ENOENT, -ECONNREFUSED:
 * nobody is there. */
int shmclient_open(const char *path, struct shmclient **ret_client);
void shmclient_close(struct shmclient *c); /* NULL is fine */
/* The region, or NULL before the Welcome; for those who look closer than this interface does. */
struct shm_head *shmclient_head(struct shmclient *c);
/* To be polled for reading, between shmclient_sleep and shmclient_awake. */
int shmclient_fd(const struct shmclient *c);

/* Sends a control message.  -EAGAIN: the socket is full; -EMSGSIZE; others: the daemon is gone. */
int shmclient_tell(struct shmclient *c, const Trigd__V1__ToDaemon *m);
/* The next FromDaemon message, packed, borrowed until the next call: its bytes; 0: none is there;
 * -ECONNRESET: the daemon closed the connection and all that it had written is read; -EPROTO: it
 * speaks another layout.  The region is there once the Welcome has been received. */
int shmclient_receive(struct shmclient *c, const void **ret_bytes);
/* Before waiting: false when there is something to receive already. */
bool shmclient_sleep(struct shmclient *c);
void shmclient_awake(struct shmclient *c);

/* Room for `bytes` of columns: its place for struct shm_collection and its address, aligned to
 * SHM_ALIGN.  -ENOSPC: not now (free what was answered); -EMSGSIZE: never; -ENOTCONN. */
int shmclient_take(struct shmclient *c, uint64_t bytes, uint64_t *ret_at, void **ret_address);
/* Most bytes that shmclient_take ever gives at a time; 0 before the Welcome. */
uint64_t shmclient_most(const struct shmclient *c);
/* Gives the room back, once the RoI in it has had its end. */
void shmclient_give(struct shmclient *c, uint64_t at, uint64_t bytes);

/* Writes an entry.  -EAGAIN: the ring is full; -ENOTCONN. */
int shmclient_put(struct shmclient *c, const struct shm_roi *roi);
/* Lets the daemon see the entries written since the last call. */
void shmclient_send(struct shmclient *c);
#endif
