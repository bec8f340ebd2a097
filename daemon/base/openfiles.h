/* SPDX-License-Identifier: Apache-2.0 */
/* openfiles.h - the limit of open files of the daemon; that of a login shell is 1,024. */
#ifndef TRIGD_OPENFILES_H
#define TRIGD_OPENFILES_H
#include <sys/resource.h>

/* Raises the soft limit to `wanted`, at most to the hard one; logs as `component` where that is not
 * enough.  It is never lowered. */
void openfiles_allow(const char *component, rlim_t wanted);
#endif
