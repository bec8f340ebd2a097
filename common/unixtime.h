/* SPDX-License-Identifier: Apache-2.0 */
/* unixtime.h - the time of day, for records that people and other hosts read.  It may jump:
 * deadlines use clock.h. */
#ifndef TRIGD_UNIXTIME_H
#define TRIGD_UNIXTIME_H
#include <stdint.h>
#include <time.h>

/* Nanoseconds since 1970. */
static inline uint64_t unix_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}
#endif
