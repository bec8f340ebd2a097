/* SPDX-License-Identifier: Apache-2.0 */
/* condition_file.h - conditions from a YAML file, checked against the declarations of plugins. */
#ifndef TRIGD_CONDITION_FILE_H
#define TRIGD_CONDITION_FILE_H
#include "conditions/condition.h"
#include "plugin/plugin_host.h"

#define CONDITIONS_MAX 32u /* of one menu, and in one file */
#define NEEDS_MAX      (2 * CONDITIONS_MAX)

struct condition_list {
    uint32_t n;
    struct condition *of[CONDITIONS_MAX];
};

/* The conditions of a host's plugins, at most `most`; returns their number.  If two plugins declare
 * different columns for one condition, the first counts. */
uint32_t conditions_needed(struct plugin_host *plugins, struct condition_need *needs,
                           uint32_t most);
/* Reads a file with some of those.  -EINVAL with every problem logged, and the first one in
 * yamlfile_why(); -errno.  The caller releases the list. */
int conditions_read(const char *path, const struct condition_need *needs, uint32_t n_needs,
                    struct condition_list *ret_list);
void conditions_release(struct condition_list *list);
#endif
