/* SPDX-License-Identifier: Apache-2.0 */
/* threadname.h - names of threads, as `ps`, `top -H`, perf and debuggers show them. */
#ifndef TRIGD_THREADNAME_H
#define TRIGD_THREADNAME_H

/* Names the calling thread.  The kernel keeps 15 characters: of a longer name the last ones, since
 * names of lanes end with device and number. */
void threadname_set(const char *name);
#endif
