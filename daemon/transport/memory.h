/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - how much memory the process should have, and whether it has more. */
#ifndef TRIGD_MEMORY_H
#define TRIGD_MEMORY_H
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

struct memory;
/* Logs the memory that the configuration allows for RoIs, messages and clients. */
int memory_open(const struct config *config, struct memory **ret_memory);
void memory_close(struct memory *m); /* NULL is fine */
/* Whether the memory of the process, without files and shared memory, is beyond what it had in the
 * beginning, or after the last reload, and `clients.queue_mbytes` and the messages that RoIs in
 * flight may keep.  Then gives back to the system what is free, once a second. */
bool memory_is_short(struct memory *m, uint64_t generation, uint64_t now_ns);
/* Whether there was much more of it than the time before: somebody is filling it. */
bool memory_grows(const struct memory *m);
#endif
