/* SPDX-License-Identifier: Apache-2.0 */
/* faults.h - a node of four is killed, stopped, or cut off the network at half load: how long an
 * RoI waits at most. */
#ifndef TRIGD_BENCH_FAULTS_H
#define TRIGD_BENCH_FAULTS_H
#include <stdio.h>

/* The longest time from sending to decision of each round.  -EPROTO: an RoI had no decision, or
 * two.  Negative errno. */
int faults_measure(const char *folder, unsigned rounds, FILE *json);
#endif
