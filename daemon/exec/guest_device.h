/* SPDX-License-Identifier: Apache-2.0 */
/* guest_device.h - a device as a guest has it: memory up to a budget, queues without a waiting
 * thread.
 *
 * What is made of it belongs to the real device.  Memory counts from the time that it is asked for
 * until the device is closed. */
#ifndef TRIGD_GUEST_DEVICE_H
#define TRIGD_GUEST_DEVICE_H
#include "trigd/device.h"

/* `real` and `host` outlive it. */
int guest_device_new(struct trg_device *real, const struct trg_host *host, uint64_t most_bytes,
                     struct trg_device **ret_device);
uint64_t guest_device_bytes(const struct trg_device *d); /* asked for so far */
/* trg_device_close frees it, and leaves the real one open. */
#endif
