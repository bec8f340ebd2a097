/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h - the operator's commands. */
#ifndef TRIGD_COMMANDS_H
#define TRIGD_COMMANDS_H
#include "monitor/view.h"
#include "monitor/who.h"

/* One command line to one answer; what the socket's thread and the fuzzer call.  Commands that act
 * are logged with their user, refused ones too.  The answer is NUL-terminated text on the heap,
 * owned by the caller; NULL only when memory is out.  *ret_reload: the number of a reload that the
 * line asked for, whose end is the rest of the answer (hooks.look_reload); 0: the answer is whole.
 */
char *control_command(const struct control_view *view, const struct control_who *who,
                      const char *line, uint64_t *ret_reload);
#endif
