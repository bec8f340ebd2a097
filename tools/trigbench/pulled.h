/* SPDX-License-Identifier: Apache-2.0 */
/* pulled.h - RoIs in memory laid out as that of co-located clients, which a device reads itself
 * (exec/pull.h). */
#ifndef TRIGBENCH_PULLED_H
#define TRIGBENCH_PULLED_H
#include "drive.h"
#include "lanes.h"

struct pulled;
/* Lays out the inputs of the RoIs and opens them to the device.  -ENOTSUP: it cannot read them. */
int pulled_open(const struct lanes_setup *setup, struct pulled **ret_pulled);
void pulled_close(struct pulled *p); /* NULL is allowed */
/* Enqueues that the device gathers a batch of consecutive RoIs, whose infos are in the slot. */
int pulled_copy_in(struct pulled *p, const struct drive *d, struct drive_slot *s, uint32_t first,
                   uint32_t n);
#endif
