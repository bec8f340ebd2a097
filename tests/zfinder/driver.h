/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - runs generated RoIs through the z-finder. */
#ifndef ZFINDER_TEST_DRIVER_H
#define ZFINDER_TEST_DRIVER_H
#include "algohost.h"
#include "batches.h"
#include "generator.h"

/* `ret_results` and `products` as in struct batches_work. */
int zfinder_run(struct batches *b, const struct generated *rois, uint32_t n,
                struct trg_result *ret_results, struct products *products);
/* The same on one core, in batches of their own; opens and closes them. */
int zfinder_run_on_cpu(const struct algo_host *host, const void *config,
                       const struct generated *rois, uint32_t n, struct trg_result *ret_results);
#endif
