/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_inner.h - between the files of the plugin host. */
#ifndef TRIGD_PLUGIN_INNER_H
#define TRIGD_PLUGIN_INNER_H
#include <stdbool.h>
#include <stddef.h>

#include "plugin/plugin_host.h"

/* Lower-case letters, digits and _; at most 63. */
bool plugin_is_name(const char *s);
/* The functions that every plugin has.  -EINVAL with one sentence in `why`. */
int plugin_check_code(const struct trg_plugin *d, char *why, size_t bytes);
/* Names and tables, each of which the daemon walks later; fills the counts and kinds of `p`.  The
 * plugin's own check, where its code is here, has to take the defaults. */
int plugin_check_tables(struct plugin *p, char *why, size_t bytes);
#endif
