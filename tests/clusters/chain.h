/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h - generated banks through clusters and hough, with all that was made on the way. */
#ifndef CLUSTERS_CHAIN_H
#define CLUSTERS_CHAIN_H
#include "algohost.h"
#include "conditions/condition_file.h"
#include "truth.h"

struct chain {
    uint32_t n;
    struct clusters_config config;
    struct generated *generated; /* [n] and so on */
    struct banks *banks;         /* their columns belong to `generated` */
    struct products *hits, *tracks;
    struct event *events; /* the hits with their truth */
    struct algo_host hough;
};

/* RoIs 0 .. n - 1 of a preset with banks; `clusters` is the host of that plugin.  Negative errno.
 */
int chain_open(struct chain *c, const struct algo_host *clusters, struct trg_device *device,
               const char *preset, uint64_t seed, uint32_t n);
void chain_close(struct chain *c);
/* The same events with other banks ([n]) and conditions of `clusters`; NULL: none.  Negative errno.
 */
int chain_again(const struct chain *c, const struct algo_host *clusters, struct trg_device *device,
                struct banks *banks, const struct condition_list *conditions, struct match *ret);
/* The tracks that hough finds in events on the CPU, with its defaults.  Negative errno. */
int chain_tracks(const struct algo_host *hough, const struct event *events, uint32_t n,
                 struct products *ret_tracks);
#endif
