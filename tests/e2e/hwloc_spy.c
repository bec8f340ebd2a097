/* SPDX-License-Identifier: Apache-2.0 */
/* hwloc_spy - a plugin of hwloc that does nothing, as hwloc's own for OpenCL and CUDA, which bring
 * the libraries of devices along. */
#include <stddef.h>

#include <hwloc.h>
#include <hwloc/plugins.h>

static struct hwloc_disc_component spy = {.name = "spy", .phases = HWLOC_DISC_PHASE_MISC};

__attribute__((visibility("default"))) extern const struct hwloc_component hwloc_spy_component;
const struct hwloc_component hwloc_spy_component = {
    .abi = HWLOC_COMPONENT_ABI, .type = HWLOC_COMPONENT_TYPE_DISC, .data = &spy};
