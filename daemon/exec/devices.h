/* SPDX-License-Identifier: Apache-2.0 */
/* devices.h - the devices of all backends, as the front knows them: it loads no driver itself.
 *
 * With `isolation: process` a short-lived process for each backend opens and describes them, so
 * that a driver that crashes costs that backend; with threads the backends are opened here. */
#ifndef TRIGD_DEVICES_H
#define TRIGD_DEVICES_H
#include "exec/worker.h"

#define DEVICES_MAX 64u /* of a backend */

struct devices;
int devices_open(const struct worker_base *base, struct devices **ret_devices);
void devices_close(struct devices *d); /* NULL is fine */
/* Backends, and the devices of each. */
uint32_t devices_backends(const struct devices *d);
const char *devices_backend(const struct devices *d, uint32_t i, uint32_t *ret_devices);
/* Devices of a backend; 0 where there is no such backend. */
uint32_t devices_count(const struct devices *d, const char *backend);
/* -ENOENT: no such backend; -ENODEV: it has no such device. */
int devices_info(const struct devices *d, const char *backend, uint32_t index,
                 struct trg_device_info *ret_info);
#endif
