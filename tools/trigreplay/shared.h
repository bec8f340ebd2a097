/* SPDX-License-Identifier: Apache-2.0 */
/* shared.h - the RoIs of a source as columns, for a daemon that shares memory: sending one is a
 * copy of its columns. */
#ifndef TRIGD_SHARED_H
#define TRIGD_SHARED_H
#include "shmclient.h"
#include "source.h"

struct shared; /* all RoIs of a source, unpacked; read by all threads */

/* -EBADMSG: an RoI whose columns differ in length, which only a message can carry. */
int shared_new(const struct source *s, struct shared **ret_shared);
void shared_free(struct shared *s); /* NULL is fine */

/* Bytes that an RoI takes in the memory. */
uint64_t shared_bytes(const struct shared *s, uint32_t which);
/* Copies its columns to `dst`, which is `at` in the data, and fills its entry but for the token
 * and the L1 id. */
void shared_write(const struct shared *s, uint32_t which, uint64_t at, void *dst,
                  struct shm_roi *ret_roi);
#endif
