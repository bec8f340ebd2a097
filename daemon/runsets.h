/* SPDX-License-Identifier: Apache-2.0 */
/* runsets.h - the running menu, its prescale set and its conditions as texts: dumps for an
 * operator, and files under `state_dir`/sets that keep each set under its key:
 *
 *     menu-KEY.yaml  prescales-KEY.yaml  conditions-KEY.yaml
 *
 * So the keys in decisions, streams and accounts lead to what decided.  A file is never changed. */
#ifndef TRIGD_RUNSETS_H
#define TRIGD_RUNSETS_H
#include "runcontrol.h"

/* For struct control_hooks: the context is the struct runcontrol.  The caller frees it; NULL: the
 * loop did not answer. */
char *runsets_dump(void *runcontrol, enum control_dump what);
/* Keeps the sets in force, and those that wait for a lumi block.  Not on the thread of a shard;
 * logs failures. */
void runsets_keep(const struct runcontrol *r);
/* The same on the thread of shard 0, before it turns. */
void runsets_keep_last(const struct runcontrol *r);
#endif
