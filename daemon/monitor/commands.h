/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h - the operator's commands. */
#ifndef TRIGD_COMMANDS_H
#define TRIGD_COMMANDS_H
#include <stdio.h>

#include "monitor/view.h"
#include "monitor/who.h"

struct control_wait { /* for a reload, or a command of run control */
    /* As hooks.look_reload; NULL: the answer is whole. */
    int (*look)(void *ctx, uint64_t number, char *text, size_t bytes);
    uint64_t number;
};
/* One command line to one answer; what the socket's thread and the fuzzer call.  Commands that act
 * are logged with their user, refused ones too.  The answer is NUL-terminated text on the heap,
 * owned by the caller; NULL only when memory is out.  *ret_wait: what the line asked for
 * and is not over, whose end is the rest of the answer. */
char *control_command(const struct control_view *view, const struct control_who *who,
                      const char *line, struct control_wait *ret_wait);
/* All commands as a member "control" of a JSON object, for man pages and shell completion: a
 * daemon's, or those of a supervisor with `extra`. */
void control_describe(const struct control_extra *extra, uint32_t n_extra, FILE *out);
#endif
