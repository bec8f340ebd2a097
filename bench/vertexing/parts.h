/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - what bench_vertexing measures, each part on one device; `serial` is measured once and
 * kept for the other devices. */
#ifndef VX_PARTS_H
#define VX_PARTS_H
#include "driver.h"
#include "measure.h"

int bench_adjacency(const struct bench *b, struct trg_device *device);
int bench_histogram(const struct bench *b, struct trg_device *device);
int bench_components(const struct bench *b, struct trg_device *device);
int bench_chain(const struct bench *b, const struct algo_host *h, struct trg_device *device);
#endif
