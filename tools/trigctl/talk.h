/* SPDX-License-Identifier: Apache-2.0 */
/* talk.h - one command to the daemon's control socket, and its answer. */
#ifndef TRIGCTL_TALK_H
#define TRIGCTL_TALK_H
#include <stdbool.h>
#include <stddef.h>

/* Sends one line (without its newline) and takes the whole answer, without the empty line that ends
 * it.  Lines of progress ("# ...") before it go to stderr as they come.  The caller frees
 * *ret_answer.  Negative errno: connecting, sending or receiving failed; -ETIMEDOUT: nothing came
 * for `timeout_s`; -EPROTO: the daemon hung up before its answer ended. */
int talk(const char *socket_path, const char *line, int timeout_s, char **ret_answer);
/* Whether a line of the answer says that a command failed. */
bool talk_is_error(const char *answer);
#endif
