/* SPDX-License-Identifier: Apache-2.0 */
/* top.h - `trigctl top`: a daemon or a farm in a terminal, each second. */
#ifndef TRIGCTL_TOP_H
#define TRIGCTL_TOP_H
#include <stdbool.h>

/* Until q; with `once`, or where stdout is no terminal, prints the lines once.  0, or a negative
 * errno of talk(): nothing answered at the beginning. */
int top_run(const char *socket, bool once, int timeout_s);
#endif
