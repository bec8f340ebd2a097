/* SPDX-License-Identifier: Apache-2.0 */
/* slow.h - trigsup with four nodes of which one is four times slower: p99 in service times. */
#ifndef TRIGD_BENCH_SLOW_H
#define TRIGD_BENCH_SLOW_H
#include "result.h"

#define SLOW_NODES 4u
#define SLOW_TIMES 4.0

/* Runs it for some seconds at a load.  Negative errno. */
int slow_measure(const char *folder, double load, int is_random, double seconds, double *ret_p99);
#endif
