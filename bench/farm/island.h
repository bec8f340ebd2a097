/* SPDX-License-Identifier: Apache-2.0 */
/* island.h - a network of its own (a network namespace) whose addresses can be cut off: packets
 * from and to them are lost without notice, as when a cable is pulled. */
#ifndef TRIGD_BENCH_ISLAND_H
#define TRIGD_BENCH_ISLAND_H
#include <stdbool.h>

/* Runs the program again within a namespace (`unshare -rn`), with the same arguments; returns in
 * there, and also where the machine allows no namespaces. */
void island_enter(char **argv);
/* Whether it is in there: else there is nothing that could be cut. */
bool island_is_there(void);
/* Gives it the address 10.9.0.`number`, or cuts it off.  -errno. */
int island_join(unsigned number);
int island_cut(unsigned number);
#endif
