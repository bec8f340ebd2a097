/* SPDX-License-Identifier: Apache-2.0 */
/* rig.h - one device with a queue, the test kernels and some memory: what most tests begin with.
 * All of it fails the test on any error. */
#ifndef TESTS_DEVICE_RIG_H
#define TESTS_DEVICE_RIG_H
#include "device_test.program.h"
#include "devices.h"

struct rig {
    struct device *device;
    struct trg_queue *queue;
    struct trg_module *module;
    struct trg_buffer *pinned; /* for rig_put and rig_get */
};

#define RIG_BYTES ((size_t)1 << 20)

void rig_begin(struct rig *r, struct device *device);
void rig_end(struct rig *r);
/* Runs a test on each device of the backend, with a rig of its own. */
void rig_each(void (*test)(struct rig *));

struct trg_buffer *rig_buffer(struct rig *r, enum trg_mem mem, size_t bytes);
struct trg_kernel *rig_kernel(struct rig *r, const char *name);

/* Copies up to RIG_BYTES to or from the beginning of a buffer and waits. */
void rig_put(struct rig *r, struct trg_buffer *dst, const void *from, size_t bytes);
void rig_get(struct rig *r, struct trg_buffer *src, void *to, size_t bytes);

/* Launches and waits. */
void rig_run(struct rig *r, const char *kernel, uint32_t groups, uint32_t group_size,
             const struct trg_arg *args, uint32_t n_args);
#endif
