/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h - the same work on several threads that begin together, timed. */
#ifndef TRIGD_CREW_H
#define TRIGD_CREW_H
#include <stddef.h>
#include <stdint.h>

#define CREW_MAX 256u /* threads */

struct crew_time {
    double wall_s;    /* from the common start until the last has ended */
    double thread_s;  /* CPU time of the first thread in its work */
    double process_s; /* CPU time of all threads of the process */
};

/* Calls run(args + i * arg_bytes) for i = 0 .. n - 1 on a thread each, 1 <= n <= CREW_MAX, and
 * waits for all.  A single one runs on the calling thread.  The first error; -EAGAIN and no call at
 * all if not all threads can be made. */
int crew_run(uint32_t n, int (*run)(void *arg), void *args, size_t arg_bytes,
             struct crew_time *ret_time);
#endif
