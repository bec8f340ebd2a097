/* SPDX-License-Identifier: Apache-2.0 */
/* runmenu.h - operators' commands on the running menu: prescales, conditions; and the
 * accounts of all shards on their way to a file.  Not on the thread of a shard. */
#ifndef TRIGD_RUNMENU_H
#define TRIGD_RUNMENU_H
#include "runcontrol.h"

/* The prescales of the configuration's file ("": none), before the first RoI.  -EINVAL (logged):
 * the file is invalid, or names a chain that is not in the menu. */
int runmenu_start_prescales(const char *path, const struct menu *m, struct change_book *book);
/* Whether it would do. */
int runmenu_check_prescales(const char *path, const struct menu *m);

/* For struct control_hooks: the context is the struct runcontrol. */
int runmenu_change(void *runcontrol, const struct change_order *order, char *text, size_t bytes);
int runmenu_conditions(void *runcontrol, struct control_condition *list);

/* The histograms of all shards, added up; the caller drops them.  -ETIMEDOUT. */
int runmenu_histograms(void *runcontrol, struct histogram_list *ret_list);

/* Takes the accounts of all shards away, as far as no RoI is in them; adds the number of shards
 * that did not answer to *ret_missing.  With `is_over` writes the histograms as well. */
struct account *runmenu_take_accounts(const struct runcontrol *r, bool is_over,
                                      uint32_t *ret_missing);
/* Takes the accounts of all shards away, as far as no RoI is in them, and histograms; writes them.
 */
void runmenu_write_accounts(void *runcontrol);
/* The same when the threads of the shards have ended. */
void runmenu_end_accounts(const struct runcontrol *r);
#endif
