/* SPDX-License-Identifier: Apache-2.0 */
/* resident.h - one batch of events that stays in the device's memory, as when the step before has
 * made the tracks there: what a lane takes for the kernels, the way back and collecting. */
#ifndef VX_RESIDENT_H
#define VX_RESIDENT_H
#include "driver.h"

struct resident;
/* Stages and copies the events; what `h` and `config` point to outlives it. */
int resident_open(const struct algo_host *h, struct trg_device *device,
                  const struct vx_config *config, const struct event *events, uint32_t n,
                  struct resident **ret_resident);
void resident_close(struct resident *r);
/* The batch `times` times, several in flight. */
int resident_run(struct resident *r, uint32_t times);
#endif
