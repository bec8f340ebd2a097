/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - runs a plugin on a device as a lane does, for tests and measurements. */
#ifndef TRIGD_TEST_DRIVER_H
#define TRIGD_TEST_DRIVER_H
#include <stdbool.h>
#include <stdint.h>

#include "generator.h"
#include "plugin_host.h"

#define DRIVER_SLOTS_MAX 4u

/* The backends and plugins of the build (TRIGD_BUILD); log lines of level warn and up are printed.
 */
struct bench_host {
    struct trg_host host;
    struct backends *backends;
    struct plugin_host *plugins;
};
int bench_host_open(struct bench_host *h);
void bench_host_close(struct bench_host *h);

struct driver_setup {
    struct trg_device *device;
    const struct trg_host *host;
    const struct plugin *plugin;
    const void *params; /* outlives the driver */
    uint32_t slots, max_rois, max_items;
};

struct driver;
int driver_open(const struct driver_setup *setup, struct driver **ret_driver);
void driver_close(struct driver *d);
/* Runs all RoIs in batches of max_rois, the slots in turn.  `ret_results` has one place for each
 * RoI. */
int driver_run(struct driver *d, const struct generated *rois, uint32_t n,
               struct trg_result *ret_results);
#endif
