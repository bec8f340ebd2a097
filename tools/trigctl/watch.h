/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - stands between a plugin and a device: counts what is made and freed, makes a chosen
 * call fail.
 *
 * One device at a time.  Objects made while it is watched must be freed while it is watched.
 */
#ifndef TRIGCTL_WATCH_H
#define TRIGCTL_WATCH_H
#include <stdbool.h>
#include <stdint.h>

#include "trigd/device.h"

struct watch_counts {
    uint32_t
        calls; /* makings asked for since watch_fail: buffers, modules, kernels, queues, events */
    uint32_t live;      /* made and not freed (kernels belong to their module) */
    uint32_t bad_frees; /* of what was not made here or was freed before; kept from the backend */
    bool overflowed;    /* too many objects to follow: the counts are worth nothing */
    char failed_at[64]; /* the call that was made to fail, "" for none */
};

void watch_begin(struct trg_device *d);
void watch_end(void); /* the device is as it was */
/* Counts calls from 0 again; the n-th from now (1 is the next) fails with -ENOMEM; 0: none does. */
void watch_fail(uint32_t n);
struct watch_counts watch_counts(void);
#endif
