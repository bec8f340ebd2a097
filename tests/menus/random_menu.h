/* SPDX-License-Identifier: Apache-2.0 */
/* random_menu.h - a random menu as a table and as a file, and random events. */
#ifndef TRIGD_TEST_RANDOM_MENU_H
#define TRIGD_TEST_RANDOM_MENU_H
#include <stdbool.h>
#include <stdint.h>

#include "memory/pool.h"
#include "menu/menu.h"

#define RANDOM_CUTS  3u
#define RANDOM_NODES 15u
#define RANDOM_ROIS  6u /* of an event, at most */

struct random_step {
    char kind;      /* one of random_menu.c */
    int32_t from;   /* step whose product it takes; -1: none */
    uint32_t reads; /* 1 << kind: collections that it takes from the RoI itself */
    uint32_t head;  /* step in whose batches it runs */
};
struct random_cut {
    uint32_t value;
    bool absolute, has_min, has_max;
    float min, max;
};
struct random_chain {
    uint32_t id, l1_mask, n_legs, streams;
    uint64_t types;     /* 0: all */
    uint32_t n_regions; /* 0: everywhere */
    struct random_region {
        bool has_eta, has_phi;
        double eta_min, eta_max, phi_min, phi_max;
    } region[2];
    double prescale;
    bool pass_through, cuts_truncated, skips;
    uint32_t multiplicity;
    uint32_t n_nodes; /* of a combination, its root last; 0: it has legs */
    struct random_node {
        char op;       /* '&', '|', '!', or 'c': a chain */
        uint32_t a, b; /* nodes, or the chain */
    } node[RANDOM_NODES];
    struct random_leg {
        uint32_t step, n_cuts;
        struct random_cut cut[RANDOM_CUTS];
    } leg[MENU_CHAIN_STEPS_MAX];
};
struct random_menu {
    uint32_t n_steps, n_chains;
    struct random_step step[MENU_STEPS_MAX];
    struct random_chain chain[MENU_CHAINS_MAX];
};

/* A menu of so many chains and steps, whose chains have `seeds` level-1 items of 32 at most (0: all
 * chains are always seeded). */
void random_menu_make(uint64_t *state, uint32_t n_chains, uint32_t n_steps, uint32_t seeds,
                      struct random_menu *ret_menu);
/* Has some of its chains look at regions only. */
void random_menu_place(uint64_t *state, struct random_menu *m);
/* Has some of its chains ask for several RoIs, and others combine chains. */
void random_menu_combine(uint64_t *state, struct random_menu *m);
/* Its file; the caller frees it. */
char *random_menu_text(const struct random_menu *m);
/* Loads that file, with the plugins of tests/config; the caller frees the menu. */
int random_menu_load(const struct random_menu *m, struct plugin_host *host, struct menu **ret_menu);

struct random_event {
    struct trg_roi_info info;
    uint32_t type, kinds;
    struct roi_step step[MENU_STEPS_MAX]; /* what the steps find, if they run */
    uint64_t gone;                        /* heads that no lane serves */
};
/* `fired` level-1 items on average; `share_missing`: of RoIs that lack a collection. */
void random_event_make(uint64_t *state, const struct random_menu *m, double fired,
                       double share_missing, struct random_event *ret_event);
#endif
