/* SPDX-License-Identifier: Apache-2.0 */
/* events.h - generated pixel events through the plugin doublets, for measurements. */
#ifndef DOUBLETS_BENCH_EVENTS_H
#define DOUBLETS_BENCH_EVENTS_H
#include "devices.h"
#include "generator.h"
#include "parameters.h"

struct lane; /* the plugin on one device, with one batch of events */

/* Makes a batch of n events and copies it to the device.  NULL: it failed, and said why. */
struct lane *lane_open(const struct device *device, const struct doublets_config *c,
                       const struct generated *events, uint32_t n);
void lane_close(struct lane *l);

/* Copies the events in, makes their doublets, waits; with to_host the doublets are copied out as
 * well.  < 0: an error. */
int lane_run(struct lane *l, bool to_host);

/* Of event i of the last run with to_host. */
const struct trg_result *lane_result(const struct lane *l, uint32_t i);
const struct trg_output *lane_output(const struct lane *l, uint32_t i);

/* The defaults of the parameters. */
void events_config(struct doublets_config *c);
#endif
