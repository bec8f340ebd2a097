/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - runs the plugin on a device as a lane does, for tests and measurements. */
#ifndef HOUGH_DRIVER_H
#define HOUGH_DRIVER_H
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "events.h"
#include "plugin_host.h"

#define DRIVER_SLOTS_MAX 4u

/* The backends and the plugin of the build (TRIGD_BUILD); log lines of level warn and up are
 * printed. */
struct driver_host {
    struct trg_host host;
    struct backends *backends;
    struct plugin_host *plugins;
    const struct plugin *plugin; /* hough */
};
int driver_host_open(struct driver_host *h);
void driver_host_close(struct driver_host *h);

/* A config from a preset (NULL: none) and "key", "value", ..., NULL.  -EINVAL with a printed
 * sentence. */
int driver_configure(const struct driver_host *h, struct hough_config *c, const char *preset,
                     const char *const *settings);

struct driver_setup {
    struct trg_device *device;
    const struct driver_host *host;
    const struct hough_config *config; /* outlives the driver */
    uint32_t slots, max_rois, max_items;
    bool no_output; /* nobody wants the products on the host */
};

struct found { /* of one RoI: tracks, and the hits of each */
    uint32_t n, room;
    float *column[10];   /* x y z tx ty var_x var_tx cov_x_tx chi2 qop */
    uint32_t *n_hits;    /* column 10 */
    uint32_t n_doublets; /* sum of n_hits - 1 */
    uint32_t *inner, *outer;
};
void found_free(struct found *f, uint32_t n);

struct driver;
int driver_open(const struct driver_setup *setup, struct driver **ret_driver);
void driver_close(struct driver *d);
/* Runs all events in batches of max_rois, the slots in turn.  `ret_results` has one place for each
 * event; so has `ret_found`, which may be NULL, is zero or of a run before, and is the
 * caller's. */
int driver_run(struct driver *d, const struct event *events, uint32_t n,
               struct trg_result *ret_results, struct found *ret_found);
#endif
