/* SPDX-License-Identifier: Apache-2.0 */
/* inspector.h - a process that loads plugins to describe them and to run their checks, so that
 * the daemon itself runs no code of theirs.
 *
 * It is started at first need.  If a plugin ends it or keeps it busy, that plugin is refused and
 * the next question starts another.  Any thread may ask; one question is asked at a time.
 */
#ifndef TRIGD_INSPECTOR_H
#define TRIGD_INSPECTOR_H
#include <stddef.h>

#include "plugin/plugin_host.h"

#define INSPECTOR_ANSWER_MS 20000u /* for a file to be read and loaded, or its check to run */

struct inspector;
/* A plugin that takes longer than `answer_ms` to answer is refused. */
int inspector_new(uint32_t answer_ms, struct inspector **ret_inspector);
void inspector_free(struct inspector *i); /* NULL is fine */

/* Loads the private copy `fd` of the file p->path there, and fills the descriptor, without
 * functions.  The caller frees the block that the descriptor points to.  -EINVAL: it cannot be
 * used, and `why` says in one sentence what is wrong; -errno. */
int inspector_describe(struct inspector *i, int fd, struct plugin *p, void **ret_block, char *why,
                       size_t why_bytes);
/* Runs the plugin's check on a config struct.  -EINVAL with one sentence. */
int inspector_check(struct inspector *i, const struct plugin *p, const void *config, char *why,
                    size_t why_bytes);

/* The process itself, until its socket ends.  Returns its exit code. */
int inspector_main(void);
#endif
