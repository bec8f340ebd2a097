/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h - a study: the chains of a menu on 64 RoIs at once.  The state is by chain, with a bit
 * for each RoI, where the daemon has it by RoI, with a bit for each chain (menu/chains.h).
 *
 * Of menus without combinations and multiplicities, RoIs that are alone, and steps that all have
 * lanes.
 */
#ifndef TRIGD_BENCH_GROUPS_H
#define TRIGD_BENCH_GROUPS_H
#include "menu/chains.h"

#define GROUP_ROIS 64u

struct groups; /* one group of RoIs, used again and again */

/* -ENOMEM.  The plan must outlive it. */
int groups_new(const struct menu *m, struct groups **ret_groups);
void groups_free(struct groups *g); /* NULL is fine */
/* Decides a group, all lanes being at once.  `state` of each RoI is as chains_select left it, and
 * becomes what chains_conclude would make of it, as far as sets of chains go; so do the streams. */
void groups_decide(struct groups *g, const struct roi_step *const steps[GROUP_ROIS],
                   void *const state[GROUP_ROIS], uint64_t ret_streams[GROUP_ROIS]);
#endif
