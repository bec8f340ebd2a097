/* SPDX-License-Identifier: Apache-2.0 */
/* inputs.h - RoIs with all inputs of a plugin: generated collections, and products of other
 * plugins that run before. */
#ifndef TRIGBENCH_INPUTS_H
#define TRIGBENCH_INPUTS_H
#include "lanes.h"

struct inputs_setup { /* borrowed until inputs_close */
    const struct trg_host *host;
    struct plugin_host *plugins;
    struct trg_device *device; /* on which the other plugins run, with their defaults */
    const struct plugin *plugin;
    const char *preset; /* of the generator */
    uint64_t seed;
    uint32_t n_rois;
    const char *const *after; /* names of the other plugins, in the order in which they run */
    uint32_t n_after;
};

struct inputs;
/* Makes the RoIs.  On failure `why` holds a sentence. */
int inputs_open(const struct inputs_setup *setup, struct inputs **ret_inputs, char *why,
                size_t why_bytes);
void inputs_close(struct inputs *in); /* NULL is allowed */
const struct lanes_roi *inputs_rois(const struct inputs *in);
#endif
