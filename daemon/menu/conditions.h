/* SPDX-License-Identifier: Apache-2.0 */
/* conditions.h - a set of conditions: a table for each condition that the plugins of a menu need,
 * with a key.
 *
 * Equal sets have equal keys, in every daemon and every run (docs/conditions.md).
 */
#ifndef TRIGD_CONDITIONS_H
#define TRIGD_CONDITIONS_H
#include "menu/menu.h"

struct conditions { /* of one menu, by number of the condition there */
    uint64_t key;   /* 0: none is given */
    uint32_t n;
    struct condition *of[CONDITIONS_MAX]; /* NULL: an optional one that is not given */
};

/* Reads the conditions of the configuration's file into m->base; "" for no file.  As
 * conditions_read. */
int conditions_load(struct menu *m, const char *path, struct plugin_host *plugins);
/* Takes a use of each table; `of` as in the struct, in the order of the menu. */
void conditions_init(const struct menu *m, struct condition *const *of, struct conditions *ret_set);
void conditions_drop(struct conditions *set); /* one that is zero is fine */
/* A condition that the menu needs and the set has not; NULL: none. */
const char *conditions_lacking(const struct conditions *set, const struct menu *m);
#endif
