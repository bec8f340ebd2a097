/* SPDX-License-Identifier: Apache-2.0 */
/* group.h - a group of steps, and the collections gathered for its batches.
 *
 * A group is a step and those that run in its batches (on_device in the menu): they take what the
 * earlier ones of the group made where it lies on the device.  Most groups are a step alone. */
#ifndef TRIGD_GROUP_H
#define TRIGD_GROUP_H
#include <stdint.h>

#include "exec/arena.h"
#include "menu/menu.h"

_Static_assert(MENU_GROUP_MAX <= ARENA_MEMBERS_MAX, "an arena has room for every group");

struct group_input {        /* a collection that is gathered and copied to the device */
    uint32_t kind;          /* in this process */
    uint32_t user, at;      /* step that consumes it, and its number there */
    int32_t from;           /* step that made it; -1: the RoI came with it */
    uint32_t product;       /* which of that step's */
    uint32_t max_items;     /* in one batch */
    uint32_t max_items_roi; /* in one RoI */
};

struct group_condition { /* a condition that members need */
    const char *name;
    const struct trg_collection *table;
};

struct group {               /* of one menu; its lanes and their runners have the same */
    const struct menu *menu; /* in a worker only the steps of the group are filled in */
    uint32_t step;           /* the head */
    uint32_t n_inputs;
    struct group_input input[ARENA_INPUTS_MAX]; /* [0] is the head's first */
    uint32_t n_conditions;
    struct group_condition condition[ARENA_CONDITIONS_MAX];
};

/* Lists the conditions of the members.  -ENOSPC: there are too many. */
int group_list_conditions(struct group *g);
/* The number of a condition that is listed. */
uint32_t group_find_condition(const struct group *g, const char *name);

/* The shape of an arena for a group's lane. */
void group_shape(const struct group *g, uint32_t slots, uint32_t max_rois, uint64_t product_bytes,
                 struct arena_shape *ret_shape);
#endif
