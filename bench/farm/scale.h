/* SPDX-License-Identifier: Apache-2.0 */
/* scale.h - how large a farm may be: what an RoI costs a supervisor with more and more nodes, real
 * ones and for the choice alone, and farms of up to 1,000 nodes simulated with these costs. */
#ifndef TRIGD_BENCH_SCALE_H
#define TRIGD_BENCH_SCALE_H
#include "result.h"

/* Negative errno. */
int scale_measure(const char *folder, double seconds, unsigned rounds, FILE *json);
/* Supervisors side by side, each with clients and nodes of its own: RoIs of all in a second. */
int scale_supervisors(const char *folder, unsigned supervisors, unsigned clients, unsigned nodes,
                      double seconds, unsigned rounds, FILE *json);
#endif
