/* SPDX-License-Identifier: Apache-2.0 */
/* addresses.h - large RoIs by address: addresses that supervisors give in a second, and what an RoI
 * costs a supervisor by address and by body. */
#ifndef TRIGD_BENCH_ADDRESSES_H
#define TRIGD_BENCH_ADDRESSES_H
#include <stdio.h>

/* Prints figures and appends them to `json`, unless it is NULL.  Negative errno. */
int addresses_measure(const char *folder, unsigned supervisors, unsigned nodes, double seconds,
                      unsigned rounds, FILE *json);
#endif
