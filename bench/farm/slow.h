/* SPDX-License-Identifier: Apache-2.0 */
/* slow.h - trigsup with four nodes of which one is four times slower: p99 in service times. */
#ifndef TRIGD_BENCH_SLOW_H
#define TRIGD_BENCH_SLOW_H
#include "result.h"

#define SLOW_NODES      4u
#define SLOW_TIMES      4.0
#define SLOW_SERVICE_US 20000.0 /* of the others */

/* Rounds of some seconds at a load.  Negative errno. */
int slow_measure(const char *folder, double load, int is_random, double seconds, unsigned rounds,
                 struct result *ret_p99);
#endif
